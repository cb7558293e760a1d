"""Takes a goal in another way: where a plan was carried out and the game goes on, the likeliest one that was not tried.

LoTa-Bench's planner is greedy, so a model that takes "spoon" for a spoon goes round in a circle where a ladle is meant. This is
our own addition. It departs from a plan at the place where another skill is likeliest, by the probabilities of the same model
(Lawler, "A procedure for computing the K best solutions", 1972), and lets the model go on from there. Whether a skill can be
done now does not count: what could be done at an earlier place of the plan is not known any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import eq

from housequest.agent.agents.lota.selector import DONE, Scored, Skills, said
from housequest.agent.base import Emitter
from housequest.agent.roles.base import Conversation, reply_message

MOST_OTHERS = 3
"""How many other skills are kept for each place in a plan."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a plan begins: its ``skills``, what asked for the last of them, and their log-probability (nats)."""

    skills: tuple[str, ...] = ()
    prompt: Conversation = ()
    logprob: float = 0.0


@dataclass(frozen=True, slots=True)
class Readings:
    """The reading that is carried out, how many were ``begun``, and the ``others``, which were not."""

    present: Reading = field(default_factory=Reading)
    begun: int = 1
    others: tuple[Reading, ...] = ()

    @property
    def conversation(self) -> Conversation:
        """The conversation of the present reading, up to where it departs from those before."""
        return (*self.present.prompt, reply_message(said(self.present.skills[-1])))


def goes_round(skills: Sequence[str], then: str) -> int:
    """How many skills are repeated for a second time if ``then`` comes after ``skills``; 0 if none are.

    Once is no circle: a task about two things takes the same skills twice.
    """
    whole = len(skills)
    sizes = (size for size in range(1, whole // 2 + 1) if skills[-size:] == skills[-2 * size : whole - size])
    return next((size for size in sizes if skills[-size] == then), 0)


async def read_anew(
    readings: Readings, plan: Sequence[str], conversation: Conversation, skills: Skills, scored: Scored, emit: Emitter
) -> Readings | None:
    """The likeliest reading after those that were carried out, the last of which was ``plan``; None if there is none.

    Those replies of ``conversation`` that are skills begin with the plan. The skills are scored at each place of it that the
    reading did not begin with, and where it departs. Raises ``ModelError``.
    """
    begun, logprob, others = len(readings.present.skills), readings.present.logprob, list(readings.others)
    replies = [place for place, message in enumerate(conversation) if message.role == "assistant"]
    known = frozenset(map(said, skills))
    places = [place for place in replies if conversation[place].content in known]
    told = conversation[: replies[-1] + 1]
    for at in range(begun, len(plan)):
        skill, prompt = plan[at], conversation[: places[at]]
        scores = await scored.scores(prompt, skills, emit, chosen=skill, kept=_same(told, prompt))
        likely = [each for each in scores if each[0] not in {skill, DONE}][:MOST_OTHERS]
        others += (Reading((*plan[:at], other), prompt, logprob + score) for other, score in likely)
        logprob += dict(scores)[skill]
        told = conversation[: places[at] + 1]
    if not others:
        return None
    best = max(others, key=lambda reading: reading.logprob)
    await scored.scores(best.prompt, skills, emit, chosen=best.skills[-1], kept=_same(told, best.prompt))
    return Readings(best, readings.begun + 1, tuple(reading for reading in others if reading is not best))


def _same(one: Conversation, other: Conversation) -> int:
    """How many messages both begin with."""
    return sum(takewhile(bool, map(eq, one, other)))
