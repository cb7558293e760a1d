"""The branches of a rewound game, to be put side by side: where they part, what each played from there on, how each ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from housequest.agent.episodes.events import Ended, Event, Outcome, Player, Stepped, TurnSpent, branches
from housequest.agent.evaluation.analysis.failures import Failure, failure_of
from housequest.tui.text import plural

_WORDS: dict[Outcome, str] = {
    "won": "✦ won in",
    "lost": "○ lost after",
    "stopped": "▪ stopped after",
    "error": "! broke off after",
}


@dataclass(frozen=True, slots=True)
class BranchTurn:
    """A turn of a branch, which ``event`` ended; ``command`` is None where it brought none."""

    event: int
    turn: int
    command: str | None = None
    by: Player = "agent"
    accepted: bool = True
    answer: str = ""


@dataclass(frozen=True, slots=True)
class GameBranch:
    """One way that a game went, from ``start``, the event of its opening, to ``end``.

    Its first ``shared`` turns are those of the branch number ``origin``, from which it parts. Branches count from 1, and the
    first one has no origin. The ``current`` one was played last: it is the episode.
    """

    number: int
    start: int
    end: int
    turns: tuple[BranchTurn, ...]
    shared: int
    origin: int | None
    current: bool
    ended: Ended | None = None
    failure: Failure | None = None

    @property
    def name(self) -> str:
        """Which one it is."""
        return f"branch {self.number}{', current' if self.current else ''}"

    @property
    def refused(self) -> int:
        """The number of its refused commands."""
        return sum(not turn.accepted for turn in self.turns)

    @property
    def length(self) -> str:
        """Its turns, and how many of its commands were refused."""
        return plural(len(self.turns), "turn") + (f", {self.refused} refused" if self.refused else "")

    @property
    def outcome(self) -> str:
        """How it ended, or that it did not."""
        if self.ended is None:
            return "… not over" if self.current else "‖ left before its end"
        why = f": {self.failure.label}" if self.failure is not None and self.ended.outcome == "lost" else ""
        return f"{_WORDS[self.ended.outcome]} {plural(self.ended.turns, 'turn')}{why}"

    @property
    def parting(self) -> str:
        """Where it parts from which branch."""
        if self.origin is None:
            return "the first one"
        return f"from {self.origin} after turn {self.turns[self.shared - 1].turn if self.shared else 0}"


def game_branches(events: Sequence[Event]) -> tuple[GameBranch, ...]:
    """The branches of the episode of ``events``, in the order in which they were left; the last is the current one."""
    found: list[GameBranch] = []
    paths = branches(events)
    for number, path in enumerate(paths, 1):
        turns = tuple(_turn(event.id, event.body) for event in path if isinstance(event.body, Stepped | TurnSpent))
        origin, shared = None, 0
        for other in found:
            alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(turns, other.turns, strict=False)))
            if origin is None or alike > shared:
                origin, shared = other.number, alike
        last = path[-1].body
        found.append(
            GameBranch(
                number, path[0].id, path[-1].id, turns, shared, origin, number == len(paths),
                last if isinstance(last, Ended) else None, failure_of(path),
            )
        )  # fmt: skip
    return tuple(found)


def shared_turns(found: Sequence[GameBranch]) -> int:
    """How many turns all branches begin with."""
    return min((branch.shared for branch in found[1:]), default=len(found[0].turns) if found else 0)


def own_turns(branch: GameBranch, shared: int) -> tuple[BranchTurn, ...]:
    """The turns to show of ``branch``: those that no branch before it has, and none of the ``shared`` first ones of all."""
    return branch.turns[max(branch.shared, shared) :]


def branch_lines(found: Sequence[GameBranch]) -> Iterator[tuple[str, str, str]]:
    """The branches one after the other, in words: the indents of a line's beginning and of its rest, and the line."""
    shared = shared_turns(found)
    yield "", "", f"The game was rewound. It has {len(found)} branches, the last of which is the current one."
    for branch in found:
        parting = f", {branch.parting}" if branch.origin is not None else ""
        yield "", "  ", f"Branch {branch.number}{parting}: {branch.length}; {branch.outcome[2:]}"
        for turn in own_turns(branch, shared):
            about = [] if turn.accepted else ["refused"]
            about += [] if turn.by == "agent" else ["by a person" if turn.by == "person" else "by chance"]
            yield f"  {turn.turn:>3}  ", "       ", (turn.command or "no command") + (f" ({', '.join(about)})" if about else "")


def _turn(event: int, body: Stepped | TurnSpent) -> BranchTurn:
    if isinstance(body, TurnSpent):
        return BranchTurn(event, body.turn, answer=body.reason or "")
    answer = f"{body.observation.strip()} {body.explanation or ''}".strip()
    return BranchTurn(event, body.turn, body.command, body.by, body.accepted, answer)
