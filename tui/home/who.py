"""Who plays, and how: the agent with its settings, the model, the rules, the grants, and the mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static

from tui.home.start import PlayerChoice
from tui.widgets.choice import ChoiceBar

GRANTS = ("admissible", "diagnosis", "type")
MODES: Mapping[str, str] = {
    "watch": "it plays; step in at any time",
    "step": "accept, edit or replace its commands",
    "you": "hand over to it whenever you like",
    "race": "each in a house of your own",
}
LONGEST = 4_000
_NAMED = "openai:NAME@http://HOST:PORT/v1"


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """An agent that can be chosen; ``usual`` is the model it plays with if none is named."""

    name: str
    about: str
    needs_model: bool
    usual: str = ""
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    """Its settings with their defaults."""


class PlayerPanel(Vertical):
    """Asks for the player and the mode; every change posts ``Changed``."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "recent(-1)", "Previous", show=False),
        Binding("down", "recent(1)", "Next", show=False),
    ]
    DEFAULT_CSS = """
    PlayerPanel {
        height: auto;
        border: round $frame;
        border-title-color: $foreground;
        padding: 0 1;
        &:focus-within { border: round $goal; }
        & > Horizontal { height: 1; }
        Input { width: 1fr; background: $background; color: $foreground; }
        Input:focus { background: $panel; background-tint: $background 0%; }
        #rules { max-width: 50; }
        .label { width: 10; }
        .sees { width: 9; padding-left: 1; }
        .about { width: 1fr; color: $quiet; padding-left: 2; text-wrap: nowrap; text-overflow: ellipsis; }
        #no-model { padding-left: 0; }
    }
    """

    class Changed(Message):
        """Something else is chosen."""

    def __init__(self, kinds: Sequence[AgentEntry], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._kinds = {kind.name: kind for kind in kinds}
        self._models: list[str] = []
        self.border_title = "Who plays"

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static(_label("a", "agent"), classes="label")
            yield ChoiceBar(id="agents")
            yield Static(id="agent-about", classes="about")
        with Horizontal():
            yield Static(_label("m", "model"), classes="label")
            yield _Line(_NAMED, id="model")
            yield Static(id="no-model", classes="about")
        with Horizontal(id="settings"):
            yield Static(_label("x", "set"), classes="label")
            yield _Line("", id="set")
        with Horizontal():
            yield Static(_label("b", "rules"), classes="label")
            yield _Line("none; a file", id="rules")
            yield Static(_label("g", "sees"), classes="sees")
            yield ChoiceBar(several=True, id="grants")
        with Horizontal():
            yield Static(_label("w s y R"), classes="label")
            yield ChoiceBar(id="modes")
            yield Static(id="mode-about", classes="about")

    def on_mount(self) -> None:
        self._choice("agents").offer(list(self._kinds))
        self._choice("grants").offer(GRANTS)
        self._choice("modes").offer(list(MODES))
        self._describe()

    @property
    def player(self) -> PlayerChoice:
        """The player as chosen, without a model or settings that the agent has no use for."""
        kind = self.kind
        model = self._input("model").value if kind.needs_model else ""
        given = self._input("set").value if kind.settings else ""
        return PlayerChoice(kind.name, model, self._input("rules").value, self._choice("grants").values, given)

    @property
    def typed_model(self) -> str:
        """The model that is named, whoever plays."""
        return self._input("model").value.strip()

    @property
    def kind(self) -> AgentEntry:
        return self._kinds[self._choice("agents").value]

    @property
    def mode(self) -> str:
        return self._choice("modes").value

    @property
    def editing(self) -> bool:
        """Whether something is being typed here."""
        return any(field.has_focus for field in self.query(Input))

    def preselect(self, player: PlayerChoice, mode: str, models: Sequence[str] = ()) -> None:
        """Choose what is given; the arrow keys recall ``models``."""
        self._models = list(dict.fromkeys([*filter(None, (player.model,)), *models]))
        self._choice("agents").choose(player.agent)
        self._choice("modes").choose(mode)
        if player.grants:
            self._choice("grants").offer(GRANTS, *player.grants)
        self._input("model").suggester = SuggestFromList(self._models)
        self._input("model").value = player.model or (self._models[0] if self._models else "")
        self._input("rules").value = player.rules
        self._describe()

    def choose_mode(self, mode: str) -> None:
        self._choice("modes").choose(mode)

    def next_agent(self) -> None:
        self._choice("agents").next()

    def edit(self, field: str) -> None:
        self._input(field).focus()

    def edit_grants(self) -> None:
        self._choice("grants").focus()

    def action_recent(self, by: int) -> None:
        field = self._input("model")
        if field.has_focus and self._models:
            place = self._models.index(field.value) + by if field.value in self._models else 0
            field.value = self._models[place % len(self._models)]
            field.cursor_position = len(field.value)

    @on(ChoiceBar.Changed)
    @on(Input.Changed)
    def _changed(self, changed: ChoiceBar.Changed | Input.Changed) -> None:
        changed.stop()
        self._describe()
        self.post_message(self.Changed())

    def _describe(self) -> None:
        kind, mode = self.kind, self.mode
        self.query_one("#agent-about", Static).update(Content(kind.about))
        self.query_one("#mode-about", Static).update(Content(MODES[mode]))
        self._input("model").display = kind.needs_model
        self.query_one("#settings").display = bool(kind.settings)
        self._input("set").placeholder = " ".join(f"{key}={_shown(value)}" for key, value in kind.settings.items())
        self._input("model").placeholder = f"{kind.usual}, or {_NAMED}" if kind.usual else _NAMED
        idle = self.query_one("#no-model", Static)
        idle.display = not kind.needs_model
        idle.update(Content(f"none: the agent {kind.name} plays without a language model"))

    def _choice(self, id: str) -> ChoiceBar:
        return self.query_one(f"#{id}", ChoiceBar)

    def _input(self, field: str) -> Input:
        return self.query_one(f"#{field}", Input)


class _Line(Input):
    """An input of one row."""

    def __init__(self, placeholder: str, *, id: str) -> None:
        super().__init__(placeholder=placeholder, id=id, compact=True, max_length=LONGEST, select_on_focus=False)
        self.cursor_blink = False


def _label(keys: str, word: str = "") -> Content:
    return Content.assemble((keys, "bold $goal"), " ", (word, "$quiet"))


def _shown(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
