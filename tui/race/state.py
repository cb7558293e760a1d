"""A race at one moment: two games of one task, what can be done now, and what the prompt says. No widget is needed."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding

from tui.episode.state import ViewState
from tui.play.prompt import PromptContent, PromptKind, hints
from tui.play.session import Session
from tui.play.state import LiveGame
from tui.play.status import PACES
from tui.race.ending import YOU, RaceResult
from tui.widgets.lines import flat

_OPENING = "The world is still being opened."
_MARKS = {"won": "✦ won in", "lost": "○ lost after", "stopped": "▪ stopped after", "error": "! broke off after"}

KEYS = (
    Binding("colon", "line", "Type", key_display=":"),
    Binding("g", "commands", "Possible"),
    Binding("l", "lockstep", "Turn for turn"),
    Binding("plus,equals_sign", "pace(1)", "Pace", key_display="+ -"),
    Binding("minus", "pace(-1)", "Slower", show=False),
    Binding("h", "house", "House"),
    Binding("r", "retry", "Try again"),
    Binding("p", "replay('you')", "Replay yours"),
    Binding("P", "replay('rival')", "Replay the other's"),
    Binding("f", "fold", "Thoughts"),
    Binding("tab", "next_pane", "Next region", show=False),
    Binding("slash", "app.command_palette", "Palette", key_display="/"),
    Binding("q", "home", "Home"),
)
"""In the order in which they are shown."""


class RaceGame(LiveGame):
    """One of the two games; ``name`` is ``you`` for the person's."""

    def __init__(self, name: str, session: Session) -> None:
        super().__init__(session)
        self.name = name

    @property
    def turn(self) -> int:
        return self.state.moment.turn

    @property
    def over(self) -> bool:
        """Whether it has ended, or could not go on."""
        return self.state.moment.ended is not None or self.status.waiting == "closed"

    @property
    def result(self) -> RaceResult | None:
        """How it ended; None while it has not."""
        ended = self.state.moment.ended
        return RaceResult(self.name, ended, self.failure) if ended else None

    @property
    def settled(self) -> ViewState:
        """The game as it was when the last turn ended, without the thoughts since."""
        anchor = self.state.moment.anchor
        return self.state if anchor is None or self.over else self.state.at(anchor)

    def score(self) -> str:
        """Whose game it is, its turns so far, and its refused commands."""
        moment = self.state.moment
        name = self.name.capitalize() if self.name == YOU else flat(self.name)
        refused = f" · {moment.refused} refused" if moment.refused else ""
        if moment.ended is None:
            return f"{name} · turn {moment.turn}{refused}"
        return f"{name} · {_MARKS[moment.ended.outcome]} {moment.ended.turns}{refused}"

    def activity(self) -> str:
        """What the agent is doing, in a word or two; empty where there is nothing to say."""
        if self.over:
            return ""
        match self.status.waiting:
            case "opening" | "deciding" | "acting":
                return "thinking"
            case "verdict":
                return "waiting"
            case "pace" if self.status.pace < PACES[-1]:
                return f"{self.status.pace:g} turns a second"
            case "failed":
                return "its model failed"
            case _:
                return ""


@dataclass(frozen=True, slots=True)
class RaceState:
    """A race at one moment.

    ``free``: the agent plays at its own pace. ``wide``: the house is always shown. ``typing``: the command line has the focus.
    """

    you: RaceGame
    rival: RaceGame
    free: bool = False
    wide: bool = False
    typing: bool = False

    @property
    def over(self) -> bool:
        """Whether both games are over."""
        return self.you.over and self.rival.over

    @property
    def behind(self) -> bool:
        """Whether the agent has proposed a command and is due a turn."""
        return self.rival.status.waiting == "verdict" and self.rival.turn < self.you.turn

    def refusal(self, action: str) -> str | None:
        """Why ``action`` does nothing now, and what to do instead; None where it does something."""
        you, rival = self.you, self.rival
        match action:
            case "line":
                return self._not_yours()
            case "commands":
                unlisted = "This world cannot list its commands; its manual says their forms."
                return self._not_yours() or (None if you.status.possible is not None else unlisted)
            case "lockstep":
                done = f"You are done, so {rival.name} runs to its end; + and - set its pace."
                return self._not_theirs() or (done if you.over else None)
            case "pace":
                return self._not_theirs() or (None if self.free else f"{rival.name} plays turn for turn; l lets it run.")
            case "house":
                return "The house stands beside both stories already." if self.wide else None
            case "retry":
                return None if rival.status.waiting == "failed" else "Nothing failed."
            case "replay":
                return None if self.over else "The race is still on; q leaves it."
            case _:
                return None

    def prompt(self) -> PromptContent:
        """What the prompt says now."""
        kind, text, words = self._prompt()
        return PromptContent(kind, text, hints(KEYS, words))

    def _prompt(self) -> tuple[PromptKind, str, dict[str, str]]:
        you, rival, name = self.you, self.rival, self.rival.name
        trouble = you.status.trouble or rival.status.trouble
        if rival.status.waiting == "failed":
            return "failed", f"{name}: {rival.status.failure or 'its model failed'}", {"r": "try again", "q": "home"}
        if you.status.waiting == "closed" and you.result is None:
            return "message", trouble or "this game is closed", {"q": "home"}
        if self.over:
            text = None if rival.result else trouble
            return "over", text or "The race is over.", {"p": "replay yours", "P": f"replay {name}'s", "q": "home"}
        if you.over:
            return "waiting", f"you are done; {name} plays on", {"+ -": "its pace", "q": "home"}
        if you.status.waiting == "opening":
            return "thinking", "opening the world, twice", {"q": "home"}
        keys = {"g": "possible"}
        keys |= {} if self.wide else {"h": "house"}
        keys |= {} if rival.over else {"l": "turn for turn" if self.free else f"let {name} run"}
        if self.typing:
            keys = {"esc": f"then {', '.join(f'{key} {does}' for key, does in keys.items())}"}
        else:
            keys = {":": "type", **keys}
        done = f"{name} is done; play on" if rival.over else f"turn {you.turn + 1}"
        return "yours", trouble or done, keys

    def _not_yours(self) -> str | None:
        if self.you.status.waiting == "opening":
            return _OPENING
        return "Your game is over; p shows it again when the race is, q goes home." if self.you.over else None

    def _not_theirs(self) -> str | None:
        if self.rival.status.waiting == "opening":
            return _OPENING
        return f"The game of {self.rival.name} is over." if self.rival.over else None
