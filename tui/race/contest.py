"""A race as it stands: two games of one task, who may do what in it now, and what the prompt says.

No screen is needed to tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from textual.binding import Binding

from agent.episodes.events import Event
from agent.evaluation.analysis.failures import why
from tui.episode.state import State, apply
from tui.play.prompt import Key
from tui.play.session import PACES, Session, Status, Told
from tui.play.situation import Cue
from tui.race.finish import YOU, Runner
from tui.widgets.lines import flat

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
"""The keys of a race, in the order in which they are shown."""

Whose = Literal["you", "rival"]

_OPENING = "The world is still being opened."
_HOME = Key("q", "home", "screen.home")
_RETRY = Key("r", "try again", "screen.retry")
_MARKS = {"won": "✦ won in", "lost": "○ lost after", "stopped": "▪ stopped after", "error": "! broke off after"}


@dataclass(slots=True)
class Side:
    """One of the two games, as far as it was told; ``name`` is ``you`` for the person's."""

    name: str
    session: Session
    state: State = field(default_factory=State)
    told: list[Event] = field(default_factory=list[Event])

    @property
    def status(self) -> Status:
        """How its game stands between two events."""
        return self.session.status

    @property
    def turn(self) -> int:
        """How many turns it has spent."""
        return self.state.moment.turn

    @property
    def over(self) -> bool:
        """Whether nothing more will happen in it: it has ended, or could not go on."""
        return self.state.moment.ended is not None or self.status.waiting == "closed"

    @property
    def runner(self) -> Runner | None:
        """How it ended; None while it has not."""
        ended = self.state.moment.ended
        return Runner(self.name, ended, why(self.told)) if ended else None

    @property
    def settled(self) -> State:
        """The game as it was when the last turn ended, without what is thought since."""
        anchor = self.state.moment.anchor
        return self.state if anchor is None or self.over else self.state.at(anchor)

    def hear(self, told: Told) -> None:
        """Take in what the session told."""
        if isinstance(told, Event):
            self.told.append(told)
        if not isinstance(told, Status):
            self.state = apply(self.state, told)

    def score(self) -> str:
        """Whose game it is, how many turns it took so far, and how many of its commands were refused."""
        moment = self.state.moment
        name = self.name.capitalize() if self.name == YOU else flat(self.name)
        refused = f" · {moment.refused} refused" if moment.refused else ""
        if moment.ended is None:
            return f"{name} · turn {moment.turn}{refused}"
        return f"{name} · {_MARKS[moment.ended.outcome]} {moment.ended.turns}{refused}"

    def doing(self) -> str:
        """What an agent is at, in a word; empty where there is nothing to say."""
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
class Contest:
    """A moment of a race.

    ``free``: the other runs at its own pace. ``wide``: the house is always there. ``typing``: the person is on the line.
    """

    you: Side
    rival: Side
    free: bool = False
    wide: bool = False
    typing: bool = False

    @property
    def over(self) -> bool:
        """Whether both games are."""
        return self.you.over and self.rival.over

    @property
    def behind(self) -> bool:
        """Whether the other has proposed, and is due a turn."""
        return self.rival.status.waiting == "verdict" and self.rival.turn < self.you.turn

    def refusal(self, action: str) -> str | None:
        """Why ``action`` means nothing now, and the way out; None where it does."""
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

    def cue(self) -> Cue:
        """What the prompt says now."""
        you, rival, name = self.you, self.rival, self.rival.name
        trouble = you.status.trouble or rival.status.trouble
        if rival.status.waiting == "failed":
            return Cue("failed", f"{name}: {rival.status.failure or 'its model failed'}", (_RETRY, _HOME))
        if you.status.waiting == "closed" and you.runner is None:
            return Cue("message", trouble or "this game is closed", (_HOME,))
        if self.over:
            keys = (Key("p", "replay yours"), Key("P", f"replay {name}'s"), _HOME)
            return Cue("over", "The race is over." if rival.runner else trouble or "The race is over.", keys)
        if you.over:
            return Cue("waiting", f"you are done; {name} plays on", (Key("+ -", "its pace"), _HOME))
        if you.status.waiting == "opening":
            return Cue("thinking", "opening the world, twice", (_HOME,))
        done = f"{name} is done; play on" if rival.over else f"turn {you.turn + 1}"
        return Cue("yours", trouble or done, tuple(self._keys()))

    def _keys(self) -> list[Key]:
        run = [] if self.rival.over else ["turn for turn" if self.free else f"let {self.rival.name} run"]
        house = [] if self.wide else ["house"]
        if self.typing:
            rest = ", ".join(["g possible", *(f"h {word}" for word in house), *(f"l {word}" for word in run)])
            return [Key("esc", f"then {rest}")]
        return [
            Key(":", "type", "screen.line"),
            Key("g", "possible", "screen.commands"),
            *(Key("h", word, "screen.house") for word in house),
            *(Key("l", word, "screen.lockstep") for word in run),
        ]

    def _not_yours(self) -> str | None:
        if self.you.status.waiting == "opening":
            return _OPENING
        return "Your game is over; p shows it again when the race is, q goes home." if self.you.over else None

    def _not_theirs(self) -> str | None:
        if self.rival.status.waiting == "opening":
            return _OPENING
        return f"The game of {self.rival.name} is over." if self.rival.over else None
