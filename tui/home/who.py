"""Who plays, and how: the agent with its settings, the model, the rules, the grants, and the mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static

from housequest.agent.agents.registry import resolve_settings, shipped_model
from housequest.agent.agents.spec import AgentSpec
from housequest.tui.home.catalogue import LONGEST, PlayerChoice
from housequest.tui.screens import GameMode, game_modes
from housequest.tui.theme import style_sheet
from housequest.tui.widgets.choice import ChoiceBar

GRANTS = ("admissible", "diagnosis", "type", "view")
_NAMED = "openai:NAME@http://HOST:PORT/v1"


class PlayerPanel(Vertical):
    """Asks for the player and the mode, once agents are offered; every change posts ``Changed``."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "recent(-1)", "Previous", show=False),
        Binding("down", "recent(1)", "Next", show=False),
    ]
    DEFAULT_CSS = style_sheet(__file__)

    class Changed(Message):
        """Something else is chosen."""

    BORDER_TITLE = "Who plays"

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._specs: dict[str, AgentSpec] = {}
        self._models: list[str] = []
        self.agents = ChoiceBar(id="agents")
        self.grants = ChoiceBar(several=True, id="grants")
        self.modes = ChoiceBar(id="modes")
        placeholders = {"model": _NAMED, "set": "", "rules": "none; a file"}
        self.lines = {name: _Line(placeholder, id=name) for name, placeholder in placeholders.items()}

    def compose(self) -> ComposeResult:
        yield Horizontal(_label("a", "agent"), self.agents)
        yield Horizontal(_label("m", "model"), self.lines["model"], Static(id="no-model", classes="about"))
        yield Horizontal(_label("x", "set"), self.lines["set"], id="settings")
        yield Horizontal(_label("b", "rules"), self.lines["rules"], _label("g", "sees", "sees"), self.grants)
        yield Horizontal(
            _label(" ".join(mode.key for mode in game_modes())), self.modes, Static(id="mode-about", classes="about")
        )

    def on_mount(self) -> None:
        self.grants.offer(GRANTS)
        self.modes.offer([mode.name for mode in game_modes()])
        self._describe()

    def offer(self, agents: Sequence[AgentSpec]) -> None:
        """Offer these agents; the one that is chosen stays so."""
        self._specs = {spec.name: spec for spec in agents}
        self.agents.offer(list(self._specs), self.agents.value)
        self._describe()

    @property
    def player(self) -> PlayerChoice:
        """The player as chosen, without a model or settings that the agent has no use for."""
        model = self.model if self.agent.needs_model else ""
        given = self.lines["set"].value if self.settings else ""
        return PlayerChoice(self.agent.name, model, self.lines["rules"].value, self.grants.values, given)

    @property
    def model(self) -> str:
        """The model that is named, whoever plays."""
        return self.lines["model"].value.strip()

    @property
    def agent(self) -> AgentSpec:
        return self._specs[self.agents.value]

    @property
    def settings(self) -> Mapping[str, object]:
        return resolve_settings(self.agent.name, {})

    @property
    def mode(self) -> str:
        return self.modes.value

    @property
    def game_mode(self) -> GameMode:
        return next(mode for mode in game_modes() if mode.name == self.mode)

    @property
    def editing(self) -> bool:
        return any(line.has_focus for line in self.lines.values())

    def preselect(self, player: PlayerChoice, mode: str, models: Sequence[str] = ()) -> None:
        """Choose what is given; the arrow keys recall ``models``."""
        self._models = list(dict.fromkeys([*filter(None, (player.model,)), *models]))
        self.agents.choose(player.agent)
        self.modes.choose(mode)
        if player.grants:
            self.grants.offer(GRANTS, *player.grants)
        self.lines["model"].suggester = SuggestFromList(self._models)
        self.lines["model"].value = player.model or (self._models[0] if self._models else "")
        self.lines["rules"].value = player.rules
        self._describe()

    def action_recent(self, by: int) -> None:
        line, models = self.lines["model"], self._models
        if line.has_focus and models:
            line.value = models[(models.index(line.value) + by) % len(models) if line.value in models else 0]
            line.cursor_position = len(line.value)

    @on(ChoiceBar.Changed)
    @on(Input.Changed)
    def _changed(self, changed: ChoiceBar.Changed | Input.Changed) -> None:
        changed.stop()
        self._describe()
        self.post_message(self.Changed())

    @property
    def ready(self) -> bool:
        return bool(self._specs)

    def _describe(self) -> None:
        if not self.ready:
            self.query_one("#no-model").display = self.query_one("#settings").display = False
            return
        agent, settings, model = self.agent, self.settings, self.lines["model"]
        self.border_subtitle = Content(agent.about)
        self.query_one("#mode-about", Static).update(Content(self.game_mode.about))
        model.display = agent.needs_model
        model.suggest(f"{shipped}, or {_NAMED}" if (shipped := shipped_model(agent.name)) else _NAMED)
        self.query_one("#settings").display = bool(settings)
        words = {True: "on", False: "off"}
        shown = {key: words[value] if isinstance(value, bool) else value for key, value in settings.items()}
        self.lines["set"].suggest(" ".join(f"{key}={value}" for key, value in shown.items()))
        idle = self.query_one("#no-model", Static)
        idle.display = not agent.needs_model
        idle.update(Content(f"none: the agent {agent.name} plays without a language model"))


class _Line(Input):
    """An input of one row, whose placeholder ends in a mark where it is too long for it."""

    def __init__(self, placeholder: str, *, id: str) -> None:
        super().__init__(id=id, compact=True, max_length=LONGEST, select_on_focus=False)
        self.cursor_blink = False
        self._suggested = placeholder

    def suggest(self, placeholder: str) -> None:
        """Show ``placeholder`` while nothing is typed."""
        self._suggested = placeholder
        self.placeholder = Content(placeholder).truncate(max(1, self.content_size.width), ellipsis=True).plain

    def on_resize(self) -> None:
        self.suggest(self._suggested)


def _label(keys: str, word: str = "", kind: str = "label") -> Static:
    return Static(Content.assemble((keys, "bold $goal"), " ", (word, "$quiet")), classes=kind)
