"""A person and an agent in one house, on the screen and in plain text: their seats, typed words, and shares of the work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from housequest.agent.base import AskPerson, Overseer
from housequest.agent.episodes.events import Event, Started, Stepped, branch
from housequest.agent.episodes.resume import ResumedPartner
from housequest.agent.evaluation.analysis.together import shared_work
from housequest.agent.evaluation.runs.folder import PlayerShare
from housequest.agent.models.base import Model
from housequest.agent.setup import HUMAN, Setup
from housequest.tui.text import plural
from housequest.worlds.base import Solvable, Task, World
from housequest.worlds.household.base import Household
from housequest.worlds.shared import Shareable

PATIENCE = 8.0
"""After so many seconds a round goes on without the person, unless they type or it waits for them."""
SAY = "say "
"""A typed line that begins so is words, even if it has the form of a command."""


def seats(setup: Setup, person: Overseer, ask: AskPerson, partner: Overseer, model: Model | None) -> tuple[ResumedPartner, ...]:
    """The person, whom ``ask`` asks, and the agent with its ``model``; each with an overseer."""
    (name, own), (other, agent) = setup.players
    return (
        ResumedPartner(name, own.make_agent, own, person, question=ask),
        ResumedPartner(other, agent.make_agent, agent, partner, model),
    )


def words_in(typed: str, reader: Household | None) -> str | None:
    """The words to the others in a typed line: those after `SAY`, or all if it has no form of a command; None for a command."""
    if typed.lower().startswith(SAY):
        return typed[len(SAY) :].strip()
    return None if reader is None or reader.commands.reads(reader.canonical(typed), company=True) else typed


class SharedPar(NamedTuple):
    """Par: the rounds that players need who know everything, ``alone`` and as ``twos``; None if not known."""

    alone: int | None = None
    twos: int | None = None

    @classmethod
    def of(cls, world: World, task: Task) -> SharedPar:
        """Compute both; this takes a while."""
        return cls(world.par(task, 1), world.par(task, 2)) if isinstance(world, Shareable) else cls()

    @property
    def words(self) -> str:
        """Both in a sentence; "" if neither is known."""
        alone = "" if self.alone is None else f"alone it takes {self.alone}"
        twos = "" if self.twos is None else f"together {self.twos}"
        known = ", ".join(filter(None, (alone, twos)))
        return f"Knowing the house, {known}." if known else ""


def par_of(world: World, task: Task, players: int = 1) -> int | None:
    """The fewest turns, or rounds, in which ``task`` can be done; None if that is not known."""
    if players > 1:
        return SharedPar.of(world, task).twos
    return world.shortest(task) if isinstance(world, Solvable) else None


def shares(told: Iterable[Event], me: str | None = None) -> Iterator[str]:
    """A sentence on each player's part in the branch played last; the person ``me`` is called "you"."""
    played = branch(list(told))
    start = played[0].body if played else None
    finished, best, works = dict[str | None, int](), 0, shared_work(played)
    for event in played:
        if isinstance(event.body, Stepped) and (met := event.body.met or 0) > best:
            finished[event.player] = finished.get(event.player, 0) + met - best
            best = met
    for one in (start.players or ()) if isinstance(start, Started) else ():
        share = PlayerShare.of([event.body for event in played if event.player == one.name], works[one.name])
        parts = [plural(finished.get(one.name, 0), "goal"), plural(share.done, "command")]
        parts += [f"{share.refused} refused"] if share.refused else []
        parts += [f"{share.idle} idle"] if share.idle else []
        parts += [plural(share.messages, "message")] if share.messages else []
        other = one.name if one.agent == HUMAN else f"{one.name} ({one.agent})"
        yield f"{'You' if one.name == me else other}: {', '.join(parts)}."
