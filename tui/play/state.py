"""What a screen shows of a live game, and what a person can do in it at this moment.

No widget is needed: it is computed from the game, its status and its events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent.agents.registry import needs_model
from agent.episodes.events import Ended, Event
from tui.episode.state import EpisodeMoment, ViewState, apply
from tui.play.game import HUMAN, GameConfig
from tui.play.prompt import KeyHint, PromptContent
from tui.play.session import Session, SessionUpdate
from tui.play.status import SessionStatus
from tui.text import plural

if TYPE_CHECKING:
    from agent.evaluation.analysis.failures import Failure


class LiveGame:
    """One session, with the state that its events lead to and, once it has ended, why it was not won."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = ViewState()
        self.failure: Failure | None = None
        self._events: list[Event] = []

    @property
    def status(self) -> SessionStatus:
        return self.session.status

    def apply(self, update: SessionUpdate) -> bool:
        """Apply an update of the session; True if a branch ended with it."""
        if isinstance(update, SessionStatus):
            return False
        self.state = apply(self.state, update)
        if not isinstance(update, Event):
            return False
        self._events.append(update)
        if not isinstance(update.body, Ended):
            return False
        from agent.evaluation.analysis.failures import failure_of

        self.failure = failure_of(self._events)
        return True


class GameView(LiveGame):
    """A live game with the turn that the person looks at: ``cursor`` is its event, None at the present."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.cursor: int | None = None

    @property
    def play_state(self) -> PlayState:
        return PlayState(self.session.game, self.status, self.state, self.cursor, self._missed())

    @property
    def moment(self) -> EpisodeMoment:
        """The moment that the person looks at."""
        return self.state.moment if self.cursor is None else self.state.moments[self.cursor]

    def look_at(self, event: int | None) -> None:
        """Look at the moment after this event; that of the last turn is the present."""
        self.cursor = None if event == self._present else event

    def back(self) -> None:
        """Look one turn further back."""
        stops = self._stops()
        place = stops.index(self.cursor) if self.cursor in stops else len(stops) - (self._present is not None)
        self.look_at(stops[max(0, place - 1)])

    def forward(self) -> None:
        """Look one turn further on, at last at the present."""
        stops = self._stops()
        place = stops.index(self.cursor) + 1 if self.cursor in stops else len(stops)
        self.look_at(stops[place] if place < len(stops) else None)

    def branch(self) -> None:
        """Play on from the turn looked at; at the present, look at the turn at which the game was lost."""
        if self.cursor is None:
            self.look_at(self._missed())
        else:
            self.session.rewind(self.cursor)
            self.cursor = None

    @property
    def _present(self) -> int | None:
        """The event of the last turn, unless the game ended later than with it."""
        last, anchor = self._events[-1] if self._events else None, self.state.moment.anchor
        later = last is not None and isinstance(last.body, Ended) and last.parent != anchor
        return None if later else anchor

    def _stops(self) -> list[int]:
        """The events that one can look back to, from the start on."""
        start = next(iter(self.state.moments))
        return [start, *(entry.id for entry in self.state.moment.story)]

    def _missed(self) -> int | None:
        """The event before the turn at which the game was lost."""
        moment = self.state.moment
        if self.failure is None or moment.ended is None or not 0 < self.failure.turn <= len(moment.story):
            return None
        return self._stops()[self.failure.turn - 1]


_ACCEPT = KeyHint("enter", "accept", "screen.accept")
_ASK = KeyHint("space", "ask the agent", "screen.step")
_AUTO = KeyHint("a", "auto", "screen.auto")
_BRANCH = KeyHint("b", "play on from here", "screen.branch")
_CALL_OFF = KeyHint("esc", "call it off", "screen.escape")
_EDIT = KeyHint("e", "edit", "screen.edit")
_HAND_BACK = KeyHint("t", "hand back", "screen.take_over")
_HINT = KeyHint("?", "hint", "screen.hint")
_HOME = KeyHint("q", "home", "screen.home")
_MISSED = KeyHint("b", "to what was missed", "screen.branch")
_MODEL = KeyHint("m", "another model", "screen.model")
_MOVE = KeyHint("← →", "move", "screen.back")
_NEXT = KeyHint("n", "next task", "screen.next")
_OTHER = KeyHint("o", "ask again", "screen.other")
_PACE = KeyHint("+ -", "pace", "screen.pace(1)")
_POSSIBLE = KeyHint("g", "what is possible", "screen.commands")
_PRESENT = KeyHint("esc", "to the present", "screen.escape")
_REPLAY = KeyHint("p", "replay", "screen.replay")
_RETRY = KeyHint("r", "try again", "screen.retry")
_REWIND = KeyHint("←", "rewind", "screen.back")
_STEP = KeyHint("space", "step", "screen.step")
_TAKE_OVER = KeyHint("t", "take over", "screen.take_over")
_TYPE = KeyHint(":", "type a command", "screen.line")

_CHOOSE = "First choose a turn to go back to, with ← or a click on it."


@dataclass(frozen=True, slots=True)
class PlayState:
    """A live game at one moment.

    ``cursor`` is the event that the person looks back to, None at the present; ``missed`` the one before the turn at which a
    game was lost.
    """

    game: GameConfig
    status: SessionStatus
    state: ViewState
    cursor: int | None = None
    missed: int | None = None

    @property
    def human(self) -> bool:
        """Whether a person plays without an agent."""
        return self.game.agent == HUMAN

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self.status.waiting == "over"

    def refusal(self, action: str) -> str | None:
        """Why ``action`` does nothing now, and what to do instead; None where it does something."""
        match action:
            case "step" | "auto" | "take_over":
                return self._not_running() or self._no_agent()
            case "pace":
                return self._not_running() or self._no_agent() or self._not_watching()
            case "accept" | "other":
                return self._not_running() or self._not_proposed() or (self._no_model(action) if action == "other" else None)
            case "edit" | "line" | "commands":
                return self._not_running() or (self._unlisted() if action == "commands" else None)
            case "hint":
                return self._not_running() or self._no_agent() or self._no_model(action)
            case "model":
                return self._no_agent() or self._no_model(action)
            case "back":
                return None if self.state.moment.story else "Nothing was played yet that one could go back to."
            case "teach":
                return None if self.state.moment.story else "Nothing was played yet that a rule could be made of."
            case "forward":
                return None if self.cursor is not None else "This is the present; ← goes back."
            case "branch":
                return self._no_way_back()
            case "escape":
                busy = self.status.waiting == "deciding" and not self.human
                return None if busy or self.cursor is not None else "There is nothing to call off."
            case "retry":
                return None if self.status.waiting in {"failed", "closed"} else "Nothing failed; o asks for another proposal."
            case "replay" | "next":
                return None if self.over else "The game goes on; q leaves it, and home takes it up again."
            case _:
                return None

    def prompt(self) -> PromptContent:
        """What the prompt says now, with those of its keys that do something."""
        content = self._present() if self.cursor is None else self._past(self.cursor)
        return replace(content, keys=tuple(key for key in content.keys if self.refusal(_name(key)) is None))

    def _present(self) -> PromptContent:
        moment, agent = self.state.moment, self.game.agent
        at = f"{moment.turn + 1} of {moment.started.max_turns}" if moment.started else ""
        match self.status.waiting:
            case "opening":
                return PromptContent("thinking", "opening the world", (_HOME,))
            case "closed":
                return PromptContent("message", "there is no game to play here", (_RETRY, _MODEL, _HOME))
            case "deciding":
                return PromptContent("thinking", f"{agent} is deciding{self._hints()}", (_CALL_OFF, _TAKE_OVER, _HINT))
            case "acting":
                return PromptContent("thinking", "the world answers")
            case "pace":
                text = f"{agent} plays, {_pace(self.status.pace)}{self._hints()}"
                return PromptContent("thinking", text, (_STEP, _PACE, _TAKE_OVER, _HINT))
            case "paused":
                return PromptContent("waiting", f"before turn {at}{self._hints()}", (_ASK, _AUTO, _TAKE_OVER, _HINT))
            case "verdict":
                return PromptContent("proposed", moment.proposal or "", (_ACCEPT, _EDIT, _OTHER, _TAKE_OVER, _HINT))
            case "turn":
                return PromptContent("yours", at, (_TYPE, _POSSIBLE, _HAND_BACK))
            case "failed":
                return PromptContent("failed", self.status.failure or moment.failure or "", (_RETRY, _MODEL, _TAKE_OVER))
            case "over":
                won = moment.ended is not None and moment.ended.outcome == "won"
                keys = (_REPLAY, _MISSED, _REWIND, _NEXT, _HOME)
                return PromptContent("over" if won else "message", self._ending(), keys)

    @property
    def thinks(self) -> bool:
        """Whether the agent has a language model, which takes hints and can be changed."""
        return needs_model(self.game.agent)

    def _past(self, cursor: int) -> PromptContent:
        turns, turn = self.state.moment.turn, self.state.moments[cursor].turn
        return PromptContent("selected", f"{turn} of {turns}", (_MOVE, _BRANCH, _PRESENT))

    def _hints(self) -> str:
        return "; your hint goes with the next turn" if self.status.hints else ""

    def _ending(self) -> str:
        ended = self.state.moment.ended
        if ended is None:
            return "over"
        turns = plural(ended.turns, "turn")
        match ended.outcome:
            case "won":
                return f"won in {turns}"
            case "lost":
                return f"lost after {turns}: {ended.reason}"
            case "stopped":
                return f"stopped after {turns}"
            case "error":
                return f"broken off after {turns}: {ended.message or ended.reason}"

    def _not_running(self) -> str | None:
        if self.status.waiting == "opening":
            return "The world is still being opened."
        if self.status.waiting == "closed":
            return "There is no game here: r tries to open it again, q goes home."
        return "The game is over: ← goes back into it, n plays another, q goes home." if self.over else None

    def _no_agent(self) -> str | None:
        return "You play alone, with no agent: type after :, or choose one at home (q)." if self.human else None

    def _no_model(self, action: str) -> str | None:
        if self.thinks:
            return None
        agent = self.game.agent
        match action:
            case "hint":
                return f"The {agent} hears no hints, having no model: t takes over, q goes home."
            case "other":
                return f"The {agent} would propose the same again: e edits it, t takes over."
            case _:
                return f"The {agent} has no model to change: q goes home, where agents are chosen."

    def _not_watching(self) -> str | None:
        return None if self.status.mode == "watch" else "The pace is for watching: a lets the agent play on."

    def _not_proposed(self) -> str | None:
        return None if self.status.waiting == "verdict" else "Nothing is proposed; space steps to the next proposal."

    def _unlisted(self) -> str | None:
        return None if self.status.possible is not None else "This world cannot list its commands; type after : what you mean."

    def _no_way_back(self) -> str | None:
        if not self.status.playing:
            return self._not_running()
        if self.cursor is None:
            return None if self.over and self.missed is not None else _CHOOSE
        return None


def _name(key: KeyHint) -> str:
    return key.action.removeprefix("screen.").partition("(")[0]


def _pace(pace: float) -> str:
    if pace > 50:
        return "as fast as it goes"
    return f"at most {pace:g} turn{'' if pace == 1 else 's'} a second"
