"""What a person can do at a moment of a live game: which keys hold, why another does not, and what the prompt says.

No screen is needed to tell: a situation is the game, its status and its state, and where the person looks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent.agents.registry import needs_model
from tui.episode.state import State
from tui.play.game import HUMAN, GameConfig
from tui.play.prompt import Key, Kind
from tui.play.status import Status


@dataclass(frozen=True, slots=True)
class Cue:
    """What the prompt says: in what situation, in words, and the keys that come next."""

    kind: Kind
    text: str
    keys: tuple[Key, ...] = ()


_ACCEPT = Key("enter", "accept", "screen.accept")
_ASK = Key("space", "ask the agent", "screen.step")
_AUTO = Key("a", "auto", "screen.auto")
_BRANCH = Key("b", "play on from here", "screen.branch")
_CALL_OFF = Key("esc", "call it off", "screen.escape")
_EDIT = Key("e", "edit", "screen.edit")
_HAND_BACK = Key("t", "hand back", "screen.take_over")
_HINT = Key("?", "hint", "screen.hint")
_HOME = Key("q", "home", "screen.home")
_MISSED = Key("b", "to what was missed", "screen.branch")
_MODEL = Key("m", "another model", "screen.model")
_MOVE = Key("← →", "move", "screen.back")
_NEXT = Key("n", "next task", "screen.next")
_OTHER = Key("o", "ask again", "screen.other")
_PACE = Key("+ -", "pace", "screen.pace(1)")
_POSSIBLE = Key("g", "what is possible", "screen.commands")
_PRESENT = Key("esc", "to the present", "screen.escape")
_REPLAY = Key("p", "replay", "screen.replay")
_RETRY = Key("r", "try again", "screen.retry")
_REWIND = Key("←", "rewind", "screen.back")
_STEP = Key("space", "step", "screen.step")
_TAKE_OVER = Key("t", "take over", "screen.take_over")
_TYPE = Key(":", "type a command", "screen.line")

_CHOOSE = "First choose a turn to go back to, with ← or a click on it."


@dataclass(frozen=True, slots=True)
class Situation:
    """A moment of a live game. ``cursor`` is the event that the person looks back to, None at the present; ``missed`` is that
    before the turn at which a game was lost.
    """

    game: GameConfig
    status: Status
    state: State
    cursor: int | None = None
    missed: int | None = None

    @property
    def human(self) -> bool:
        """Whether a person plays without an agent."""
        return self.game.agent == HUMAN

    @property
    def over(self) -> bool:
        """Whether the branch that is played has ended."""
        return self.status.waiting == "over"

    def refusal(self, action: str) -> str | None:
        """Why ``action`` means nothing now, and the way out; None where it does."""
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

    def cue(self) -> Cue:
        """What the prompt says now, with those of its keys that hold."""
        cue = self._asked() if self.cursor is None else self._past(self.cursor)
        return replace(cue, keys=tuple(key for key in cue.keys if self.refusal(_name(key)) is None))

    def _asked(self) -> Cue:
        moment, agent = self.state.moment, self.game.agent
        at = f"{moment.turn + 1} of {moment.started.max_turns}" if moment.started else ""
        match self.status.waiting:
            case "opening":
                return Cue("thinking", "opening the world", (_HOME,))
            case "closed":
                return Cue("message", "there is no game to play here", (_RETRY, _MODEL, _HOME))
            case "deciding":
                return Cue("thinking", f"{agent} is deciding{self._hints()}", (_CALL_OFF, _TAKE_OVER, _HINT))
            case "acting":
                return Cue("thinking", "the world answers")
            case "pace":
                text = f"{agent} plays, {_pace(self.status.pace)}{self._hints()}"
                return Cue("thinking", text, (_STEP, _PACE, _TAKE_OVER, _HINT))
            case "paused":
                return Cue("waiting", f"before turn {at}{self._hints()}", (_ASK, _AUTO, _TAKE_OVER, _HINT))
            case "verdict":
                return Cue("proposed", moment.proposal or "", (_ACCEPT, _EDIT, _OTHER, _TAKE_OVER, _HINT))
            case "turn":
                return Cue("yours", at, (_TYPE, _POSSIBLE, _HAND_BACK))
            case "failed":
                return Cue("failed", self.status.failure or moment.failure or "", (_RETRY, _MODEL, _TAKE_OVER))
            case "over":
                won = moment.ended is not None and moment.ended.outcome == "won"
                keys = (_REPLAY, _MISSED, _REWIND, _NEXT, _HOME)
                return Cue("over" if won else "message", self._ending(), keys)

    @property
    def thinks(self) -> bool:
        """Whether the agent has a language model: something to hint to, ask again or change."""
        return needs_model(self.game.agent)

    def _past(self, cursor: int) -> Cue:
        turns, turn = self.state.moment.turn, self.state.moments[cursor].turn
        return Cue("selected", f"{turn} of {turns}", (_MOVE, _BRANCH, _PRESENT))

    def _hints(self) -> str:
        return "; your hint goes with the next turn" if self.status.hints else ""

    def _ending(self) -> str:
        ended = self.state.moment.ended
        if ended is None:
            return "over"
        turns = f"{ended.turns} turn{'' if ended.turns == 1 else 's'}"
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
        return None if self.status.seat == "watch" else "The pace is for watching: a lets the agent play on."

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


def _name(key: Key) -> str:
    return key.action.removeprefix("screen.").partition("(")[0]


def _pace(pace: float) -> str:
    if pace > 50:
        return "as fast as it goes"
    return f"at most {pace:g} turn{'' if pace == 1 else 's'} a second"
