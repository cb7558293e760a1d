"""Selects the next skill of a fixed set by how likely a model is to write it.

LoTa-Bench (section 3, equation 1) takes the likeliest skill after the instruction and the skills before it. `Constrained` finds
it by greedy constrained decoding, `Scored` by the sum of its tokens' log-probabilities (equation 2). `Prompted` is for a model
that can do neither: its prompt lists the skills (appendix D), and its reply may name several. A skill is written with the mark
that ends it, so that none is a prefix of another: "find a pan," and "find a pancake,".
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from operator import eq
from typing import NamedTuple

from housequest.agent.base import Emitter, Turn
from housequest.agent.episodes import events
from housequest.agent.models.base import Completion, Message, Model, Request, Scores, score
from housequest.agent.models.forms import Choice, Form, Listed
from housequest.agent.roles import company
from housequest.agent.roles.base import (
    Answer,
    Conversation,
    ReplyError,
    Role,
    Sampling,
    ask,
    call_event,
    clean,
    found_unheld,
    reply_message,
    spoken,
)
from housequest.worlds.errors import ModelError, shown
from housequest.worlds.household.base import Commands, Household
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.goals import Skill, Verb

NAME = "selector"
DONE = "done"  # The skill that ends an episode.

MOST_CANDIDATES = 5  # The number of best skills recorded at each step.

LEAST = -1e9  # Nats: the score recorded for an impossible text, since a record has no infinity.

_NUMBER = re.compile(r"^(?:robot\s*:\s*)?\(?\d{1,3}\s*[.):]", re.IGNORECASE)
_FILLERS = frozenset({"a", "an", "and", "finally", "first", "next", "the", "then"})
"""Words that do not matter for the choice of a skill."""
_WORD = re.compile(r"[a-z0-9]+")
_REMARK = re.compile(r"\((?=[^()\n]*[A-Za-z])[^()\n]*\)")
VERBS: Mapping[str, Verb] = {
    **{"find": "find", "go to": "find", "pick up": "pick", "take": "pick", "put down": "put", "put": "put"},
    **{"slice": "slice", "clean": "clean", "heat": "heat", "cool": "cool", "turn on": "use", "turn off": "use"},
    **{"open": "open", "close": "close"},
}
"""The meaning of words at the start of a skill. If one is the beginning of another, the longer comes first."""
BETWEEN = re.compile(
    rf"[,;\n→]|->|(?<!\d)\.(?=\s|$)|(?=\b\d{{1,3}}[.):]\s)|\b(?:and|then)\b(?=\s+(?:then\s+)?(?:{'|'.join(VERBS)}|{DONE})\b)",
    re.IGNORECASE,
)
"""The border between two skills of a list: a mark, a number, or a word before a verb."""
_MOST_ITEMS = 100
MOST_HELD = 30  # Skills of a whole list that is held to its form.
LONGEST_LIST = 256  # Tokens of a whole list: the longest task takes some twenty skills.

Chosen = tuple[str, ...]  # The skills of a reply, in their order: at least one.

Skills = Mapping[str, bool]  # The skills in their order; True if it can be done now.


def said(skill: str) -> str:
    """The skill in a list: the mark that ends it is scored too."""
    return f"{skill}." if skill == DONE else f"{skill},"


@dataclass(frozen=True, slots=True)
class Constrained:
    """Constrained decoding: only tokens that continue a skill are possible. Calls a skill: 1; needs ``choices``."""

    model: Model
    sampling: Sampling

    async def select(self, conversation: Conversation, text: str, skills: Skills, emit: Emitter) -> Answer[Chosen] | None:
        """Add ``text`` to the conversation and select which of ``skills`` follows it. None if the model turns out not to be
        held to them, which `found_unheld` reports. Raises ``ModelError``."""
        texts = {said(skill): skill for skill, possible in skills.items() if possible}
        conversation = (*conversation, Message("user", clean(text)))
        sampling, most = self.sampling, self.sampling.reply_tokens()
        asked = Request(conversation, (), most, sampling.temperature, sampling.seed, choices=tuple(texts))
        completion = await self.model.complete(asked)
        held = completion.held
        if held is None and self.sampling.form != "free":
            held = "kept" if completion.text in texts else "cut" if completion.finish == "length" else "broken"
        call = call_event(NAME, conversation, completion, held=held)
        emit(call, completion.timing)
        if found_unheld(NAME, held, self.model, self.sampling, emit):
            return None
        conversation = (*conversation, spoken(call))
        if call.reply in texts:
            return Answer((texts[call.reply],), "", conversation)
        cut = f" It was cut off after {completion.usage.completion or most} tokens." if call.finish == "length" else ""
        reason = f"it is none of the skills that it was held to.{cut}"
        emit(events.ParseFailed(role=NAME, reply=call.reply, reason=reason, final=True))
        return Answer(None, reason, conversation)


@dataclass(frozen=True, slots=True)
class Scored:
    """Selects the possible skill with the highest probability, computed exactly. Needs ``scoring``. Calls a skill: 1 for
    all; with ``each`` one for every skill, possible or not, times its affordance, as in SayCan's implementation (LoTa-Bench,
    appendix B). A model that scores ``singly`` takes one for every skill either way, and 1 more. The first of equal skills
    wins."""

    model: Model
    each: bool = False

    async def select(self, conversation: Conversation, text: str, skills: Skills, emit: Emitter) -> Answer[Chosen]:
        conversation = (*conversation, Message("user", clean(text)))
        best, _ = (await self.scores(conversation, skills, emit))[0]
        return Answer((best,), "", (*conversation, reply_message(said(best))))

    async def scores(
        self, conversation: Conversation, skills: Skills, emit: Emitter, *, chosen: str | None = None, kept: int | None = None
    ) -> list[tuple[str, float]]:
        """The skills with their log-probabilities, the likeliest first and the impossible last. The first is recorded as the
        reply, unless another was ``chosen`` and they are just weighed; ``kept`` is that of `call_event`. Raises
        ``ModelError``."""
        asked = tuple(skills if self.each else (skill for skill, possible in skills.items() if possible))
        began = time.perf_counter()
        scores = await self._scores(conversation, tuple(map(said, asked)))
        seconds = time.perf_counter() - began
        ranked = sorted(zip(asked, scores.logprobs, strict=True), key=lambda scored: (not skills[scored[0]], -scored[1]))
        best = chosen or ranked[0][0]
        # A record must have all that decides, so the reply is among the candidates.
        told = sorted(ranked, key=lambda scored: scored[0] != best)[:MOST_CANDIDATES]
        candidates = ((said(skill), score) for skill, score in ranked if (skill, score) in told)
        calls = None if scores.calls == 1 else scores.calls
        completion = Completion(said(best), "scored", scores.usage)
        call = call_event(NAME, conversation, completion, candidates, kept=kept, calls=calls, weighed=chosen is not None)
        emit(call, replace(scores.timing, seconds=seconds))
        return ranked

    async def _scores(self, conversation: Conversation, texts: Sequence[str]) -> Scores:
        apart = self.each and not (await self.model.capabilities()).singly
        groups = [(text,) for text in texts] if apart else [texts]
        scores = Scores.joined([await score(self.model, conversation, group) for group in groups])
        if len(scores.logprobs) != len(texts) or any(math.isnan(score) for score in scores.logprobs):
            raise ModelError(f"{self.model.name} did not score every text that it was given. Try another model or runtime.")
        return replace(scores, logprobs=tuple(max(score, LEAST) for score in scores.logprobs))


_ALONE = Turn(0, 0)


@dataclass(frozen=True, slots=True)
class Prompted:
    """Takes the listed skills that a chat model's reply names. Calls a reply: 1, or 2 if the first is unreadable. ``whole``:
    the reply is the whole list, and a part that is no skill stays in it, to fail at its turn. In company (``turn``) it may also
    say something."""

    model: Model
    sampling: Sampling
    whole: bool = False
    turn: Turn = _ALONE

    async def select(self, conversation: Conversation, text: str, skills: Skills, emit: Emitter) -> Answer[Chosen]:
        possible = frozenset(skill for skill, can in skills.items() if can)
        role = company.speaking(reader_of(tuple(skills), possible, whole=self.whole), self.turn)
        answer = await ask(role, self.model, conversation, text, emit, self.sampling)
        return company.with_lines(answer, self.turn)


def reader_of(skills: Sequence[str], possible: Collection[str], *, whole: bool = False) -> Role[Chosen]:
    """The role whose replies name one or several of ``skills``. The first one named must be ``possible``. A list ends at
    ``done`` and, unless the reply is the ``whole`` list, at anything that is no skill."""
    by_key = {_key(skill): skill for skill in reversed(skills)}

    def read(reply: str) -> Chosen:
        parts = BETWEEN.split(_REMARK.sub("", reply), _MOST_ITEMS)[:_MOST_ITEMS]
        items = [part.strip() for part in parts if part.strip()]
        items = [item if _key(item) in by_key or _key(_told(item)) not in by_key else _told(item) for item in items]
        first = next((at for at, item in enumerate(items) if _key(item) in by_key), None)
        if first is None:
            named = shown(items[0], 60) if items else "an empty reply"
            raise ReplyError(f"{named} is none of the skills in the list.")
        if by_key[_key(items[first])] not in possible:
            raise ReplyError(f'"{by_key[_key(items[first])]}" cannot be done now.')
        items = _list_around(items, first) if whole else items[first:]
        listed = (by_key.get(_key(item), _bare(item) if whole else "") for item in items if _key(item))
        chosen = tuple(takewhile(bool, listed))
        return chosen[: chosen.index(DONE) + 1] if DONE in chosen else chosen

    form = None
    if whole:
        form = Form((("skills", Listed(Choice(tuple(skills)), MOST_HELD, between=", ")),))
    elif possible:
        form = Form((("skill", Choice(tuple(said(skill) for skill in skills if skill in possible))),))
    return Role(NAME, read, reply_tokens=LONGEST_LIST if whole else None, form=form)


def _list_around(items: Sequence[str], known: int) -> Sequence[str]:
    """The list that contains the item ``known``: from its first number, or from the colon after an introduction."""
    tails = [item if _NUMBER.match(item) else item.rpartition(":")[2].strip() for item in items[: known + 1]]
    numbered = next((at for at, tail in enumerate(tails) if _NUMBER.match(tail)), None)
    introduced = next((at for at in range(known - 1, -1, -1) if tails[at] != items[at]), None)
    first = introduced if numbered is None else numbered
    return items if first is None else [tails[first], *items[first + 1 :]]


def _told(item: str) -> str:
    """The end of a sentence after a colon: "the next skill is: find an egg"."""
    return item.rpartition(":")[2].strip()


def _bare(item: str) -> str:
    return "".join(each for each in _NUMBER.sub("", item) if each.isprintable())[:60].strip() or "?"


def _key(item: str) -> str:
    """A key that is equal for spellings of one skill, such as "1. Turn on a desk lamp." and "turn on the desklamp"."""
    words: list[str] = _WORD.findall(_NUMBER.sub("", item.strip()[:200]).lower())
    return "".join(word for word in words if word not in _FILLERS)


_ABLE: tuple[Verb, ...] = ("heat", "cool", "clean", "slice")
_NEEDED: dict[Verb, str] = {
    "pick": "pickupable",
    "put": "pickupable",
    **{verb: f"{verb}able" for verb in _ABLE},
    "use": "toggleable",
}
"""The property that a kind of object must have."""

_COMMAND = re.compile(r"(?P<word>[a-z]+(?: to| on)?) (?P<kind>[A-Za-z][\w-]*) \d+\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class SkillSet:
    """Skills, verb by verb and each in the order of names; ``places`` are the kinds of receptacle among their targets."""

    skills: tuple[Skill, ...]
    places: frozenset[str]
    commands: Commands

    def possible(self, belief: Belief, admissible: Iterable[str]) -> frozenset[Skill]:
        """The skills whose first command is ``admissible``, as far as belief knows. A place is found by going there, or may
        be in an unseen room. An object can be found if one was seen or some place was not searched yet."""
        commands = {(found["word"], found["kind"]) for found in map(_COMMAND.match, admissible) if found}
        seen = {item.kind for item in belief.items if item.name not in belief.carried}
        patterns: dict[Verb, str] = {"find": self.commands.go, "pick": self.commands.take, "put": self.commands.puts[0]}
        words = {verb: pattern.partition(" {")[0] for verb, pattern in (patterns | {"use": self.commands.use}).items()}
        unsearched = [one.name for one in belief.unsearched]
        exploring = not {*belief.rooms}.isdisjoint(unsearched)

        def can(skill: Skill) -> bool:
            target = skill.object or skill.receptacle or ""
            if skill.verb == "find" and target not in self.places:
                return bool(unsearched) or target in seen
            if skill.verb == "find" and exploring:
                return True
            return (words.get(skill.verb, skill.verb), target) in commands

        return frozenset(filter(can, self.skills))


def fixed_skills(household: Household) -> SkillSet:
    """The skills for the objects and receptacles that ``household`` counts: the same in every episode."""
    counts = household.counts()
    useful = [thing for thing in counts.objects() if counts.can.get(thing)]
    places = sorted({place for room in counts.rooms.values() for place in room.receptacles})
    shut = [place for place in places if counts.openable(place) > 0]
    skills = (
        *(Skill("find", thing) for thing in sorted({*useful, *places})),
        *(Skill(verb, thing) for verb, can in _NEEDED.items() for thing in useful if can in counts.can[thing]),
        *(Skill("open", receptacle=place) for place in shut),
        *(Skill("close", receptacle=place) for place in shut),
    )
    return SkillSet(skills, frozenset(places), household.commands)


# Another reading of a goal: if a plan was carried out and the game goes on, take the likeliest one that was not tried.
#
# LoTa-Bench's planner is greedy, so a model that takes "spoon" for a spoon goes round in a circle if a ladle is meant. This
# is our own addition. It departs from a plan at the place where another skill is likeliest, by the probabilities of the same
# model (Lawler, "A procedure for computing the K best solutions", 1972), and lets the model go on from there. All skills count
# there as possible, since nobody knows any more what could be done at an earlier place of the plan.

MOST_OTHERS = 3  # The number of other skills kept for each place in a plan.


class Reading(NamedTuple):
    """The beginning of a plan: its ``skills``, the request for the last of them, and their log-probability (nats)."""

    skills: tuple[str, ...] = ()
    prompt: Conversation = ()
    logprob: float = 0.0


@dataclass(frozen=True, slots=True)
class Readings:
    """The present reading, the number of those ``begun``, and the ``others``, which were not."""

    present: Reading = field(default_factory=Reading)
    begun: int = 1
    others: tuple[Reading, ...] = ()

    @property
    def conversation(self) -> Conversation:
        """The conversation of the present reading, up to where it departs from those before."""
        return (*self.present.prompt, reply_message(said(self.present.skills[-1])))


def goes_round(skills: Sequence[str], then: str) -> int:
    """The number of skills that ``then`` after ``skills`` would repeat for a second time; 0 if none. Once is no circle: a
    task about two things takes the same skills twice."""
    whole = len(skills)
    sizes = (size for size in range(1, whole // 2 + 1) if skills[-size:] == skills[-2 * size : whole - size])
    return next((size for size in sizes if skills[-size] == then), 0)


async def read_anew(
    readings: Readings, plan: Sequence[str], conversation: Conversation, skills: Skills, scored: Scored, emit: Emitter
) -> Readings | None:
    """The likeliest reading after those carried out, the last of which was ``plan``; None if there is none. The replies of
    ``conversation`` that are skills begin with the plan. The skills are scored at each place of it that was not in the
    reading's own beginning, and where it departs. Raises ``ModelError``."""
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
    """The number of messages with which both begin."""
    return sum(takewhile(bool, map(eq, one, other)))
