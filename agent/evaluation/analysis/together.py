"""Counts what several players of one house did twice and what their words changed, from an episode's events, in the same way
for agents and people. `docs/explanation/together.md` has each measure with its source.

A *deed* takes, puts down, gives or treats a thing, first shows what is in a place, or is refused. A player's subgoal in a turn
is the thing or place of its next deed. So it is known even if a player does not tell its plans, but only afterwards; what a
player *states* (the current step of its plan, or a claim) is known before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import get_args

from housequest.agent.episodes.events import Event, Planned, Progressed, Said, Started, Stepped, TurnSpent, with_beliefs
from housequest.agent.evaluation.runs.files import Frozen, Number
from housequest.worlds.household.belief import Belief, names
from housequest.worlds.household.goals import Treatment
from housequest.worlds.household.talk import Claimed, Dropped, Finished, read_talk
from housequest.worlds.shared import WAIT


class SharedWork(Frozen):
    """A player's share of the work in one house.

    Args:
        looked: Places that it looked into for the first time.
        looked_twice: Those of them that another player had looked into, and where it then did nothing.
        treated: Things that it heated, cooled or cleaned.
        treated_twice: Those of them that anybody had treated in the same way before.
        aimed: Its turns with a known subgoal: those up to its last deed, without idle ones.
        alike: Those of them in which another player had the same subgoal in that round.
        heard: Messages of others before turns in which this player states a subgoal.
        swayed: Those of them after which it stated another subgoal than in its turn before.
        unspoken: Turns of the same kind before which nobody had said anything.
        changed: Those of them in which it stated another subgoal than in its turn before.
    """

    looked: Number = 0
    looked_twice: Number = 0
    treated: Number = 0
    treated_twice: Number = 0
    aimed: Number = 0
    alike: Number = 0
    heard: Number = 0
    swayed: Number = 0
    unspoken: Number = 0
    changed: Number = 0


@dataclass(slots=True)
class _Move:
    """A player's turn: its ``round``, what its deed was about, and where the player then was."""

    round: int
    idle: bool
    at: str | None = None
    deed: str | None = None
    useful: bool = False
    looked_twice: bool = False


@dataclass(slots=True)
class _Player:
    """A player so far: what it believes, did, plans and states, the rounds of messages to it, and counts of `SharedWork`."""

    belief: Belief | None = None
    moves: list[_Move] = field(default_factory=list[_Move])
    plan: tuple[str, ...] = ()
    stated: str | None = None
    before: str | None = None
    news: list[int] = field(default_factory=list[int])
    counts: Counter[str] = field(default_factory=Counter[str])

    def state(self, event: Event) -> None:
        """Learn a player's stated subgoal from one of its own events."""
        match event.body:
            case Planned(steps=steps):
                self.plan, self.stated = steps, next(iter(steps), None)
            case Progressed(step=step) if step < len(self.plan):
                self.stated = self.plan[step]
            case Said(text=text):
                match read_talk(text):
                    case Claimed(thing=thing, target=target):
                        self.stated = f"{thing} to {target}"
                    case Dropped() | Finished() if not self.plan:
                        self.stated = None
                    case _:
                        pass
            case _:
                pass

    def turn_over(self, number: int, *, at_once: bool) -> None:
        """Compare its stated subgoal with that of a turn ago. If all decide at once, it has heard nothing of this round."""
        heard = [said for said in self.news if said < number] if at_once else self.news
        if self.moves and (self.stated is not None or self.before is not None):
            other = self.stated != self.before
            self.counts.update(heard=len(heard), swayed=len(heard) * other, unspoken=not heard, changed=other and not heard)
        self.news = [said for said in self.news if said not in heard]
        self.before = self.stated

    def step(self, step: Stepped, after: Belief | None, others: Sequence[Belief | None], treated: set[tuple[str, str]]) -> None:
        """Count a command after which ``after`` is believed; ``treated`` are the treatments of things so far, by anybody."""
        before, self.belief = self.belief, after
        named, verb = names(step.command), step.command.partition(" ")[0]
        move = _Move(step.turn, idle=step.command == WAIT, at=after.at if after else None)
        self.moves.append(move)
        if not step.accepted:
            move.deed = named[0] if named and verb not in ("go", "walk") else None
            return
        held, carried = (set[str]() if one is None else set(one.carried) for one in (before, after))
        if verb in get_args(Treatment) and named:
            move.deed, move.useful = named[0], True
            self.counts.update(treated=1, treated_twice=(verb, named[0]) in treated)
            treated.add((verb, named[0]))
        elif changed := sorted(held ^ carried):
            move.deed, move.useful = changed[0], True
        elif (place := next((name for name in named if _inside(after, name) and not _inside(before, name)), None)) is not None:
            move.deed, move.looked_twice = place, any(_inside(other, place) for other in others)
            self.counts.update(looked=1)

    def aims(self) -> dict[int, str]:
        """The things and places that the next deed is about, by the rounds of turns that were not idle."""
        found: dict[int, str] = {}
        deed: str | None = None
        for move in reversed(self.moves):
            deed = move.deed or deed
            if deed is not None and not move.idle:
                found[move.round] = deed
        return found

    def work(self, alike: Sequence[bool]) -> SharedWork:
        """All counts; ``alike`` says of each turn with a known subgoal if another player had the same."""
        twice = 0
        for at, move in enumerate(self.moves):
            stay = takewhile(lambda one, at=move.at: one.idle or one.at == at, self.moves[at:])
            twice += move.looked_twice and not any(one.useful for one in stay)
        return SharedWork(**self.counts, looked_twice=twice, aimed=len(alike), alike=sum(alike))


def shared_work(played: Iterable[Event]) -> dict[str, SharedWork]:
    """Count what each player did, in the events of the branch that was played on; {} for one player."""
    players: dict[str, _Player] = {}
    treated = set[tuple[str, str]]()
    at_once = False
    for event in with_beliefs(played):
        body = event.body
        if isinstance(body, Started):
            players = {one.name: _Player() for one in body.players or ()}
            at_once = body.order == "at-once"
        player = players.get(event.player or "")
        if player is None:
            continue
        player.state(event)
        match body:
            case Said(turn=turn):
                for name, other in players.items():
                    if name != event.player:
                        other.news.append(turn)
            case Stepped():
                player.turn_over(body.turn, at_once=at_once)
                others = [other.belief for name, other in players.items() if name != event.player]
                player.step(body, event.belief, others, treated)
            case TurnSpent(turn=turn):
                player.turn_over(turn, at_once=at_once)
                player.moves.append(_Move(turn, idle=True))
            case _:
                pass
    aims = {name: player.aims() for name, player in players.items()}
    same = Counter(aim for rounds in aims.values() for aim in rounds.items())
    return {name: player.work([same[aim] > 1 for aim in aims[name].items()]) for name, player in players.items()}


def _inside(belief: Belief | None, place: str) -> bool:
    """True if the contents of a place were seen. Entering a room shows furniture, but looks into nothing."""
    there = belief.receptacle(place) if belief is not None and place not in belief.rooms else None
    return there is not None and there.contents is not None
