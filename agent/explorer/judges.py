"""Asks a model which similar rules say the same, which contradict each other, and which of those is right."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeVar, cast

from agent.base import AgentEvent
from agent.evaluation.runs.budget import BudgetTracker, RunHalted
from agent.explorer.candidates import CandidateRule
from agent.explorer.chunks import PlayedStep
from agent.explorer.ledger import Ledger, LedgerModel
from agent.explorer.report import FailedCall
from agent.models.base import Message, Model, Timing
from agent.roles.base import Answer, ReplyError, Role, Sampling, ask, clean, load_prompt
from agent.roles.reading import json_fields
from knowledge.rules import Evidence, Rule
from worlds.errors import ModelError

T = TypeVar("T")

TOGETHER = 20
"""Pairs judged in one call."""

SHOWN_STEPS = 3
LONGEST_STEP = 400

RulesToCompare = tuple[Rule, Rule]


@dataclass
class LearningModel:
    """Asks ``model`` in the roles of learning, through the ledger; failed calls are kept in ``lost``.

    ``name`` is the model's name without its address, ``longest`` the most tokens of a reply.
    """

    model: Model
    name: str
    ledger: Ledger
    budget: BudgetTracker
    workers: int
    seed: int
    longest: int
    lost: list[FailedCall] = field(default_factory=list[FailedCall])

    async def ask(self, role: Role[T], system: str, text: str, what: str) -> T | FailedCall:
        """The parsed reply to ``text``; a ``FailedCall`` if the model fails or its reply stays unreadable."""
        remembered = LedgerModel(self.model, self.name, role.name, self.ledger)
        sampling = Sampling(max_tokens=self.longest, seed=self.seed)
        try:
            answer: Answer[T] = await ask(role, remembered, (Message("system", system),), text, _unheard, sampling)
        except ModelError as error:
            return FailedCall(what=what, why=clean(error.recorded), again=True)
        return answer.value if answer.value is not None else FailedCall(what=what, why=answer.reason, again=False)


class ModelJudge:
    """A model that compares pairs of rules and settles contradictions.

    ``steps`` are the run's steps by origin; ``say`` gets a message before the calls.
    """

    def __init__(self, asker: LearningModel, steps: Mapping[str, PlayedStep], say: Callable[[str], None] | None = None) -> None:
        self._asker = asker
        self._steps = steps
        self._say = say

    async def compare(self, pairs: Sequence[RulesToCompare]) -> list[PairLabel]:
        """How the two rules of each pair relate; a pair without an answer counts as different."""
        if pairs and self._say is not None:
            self._say(f"Comparing {len(pairs):,} pairs of rules that look alike.")
        parts = [pairs[start : start + TOGETHER] for start in range(0, len(pairs), TOGETHER)]
        jobs = [partial(self._judge, number, part) for number, part in enumerate(parts, 1)]
        answers = await run_jobs(jobs, self._asker.workers, self._asker.budget)
        found: list[PairLabel] = []
        unsaid: PairLabel = "different"
        for part, answer in zip(parts, answers, strict=True):
            if isinstance(answer, FailedCall):
                self._asker.lost.append(answer)
            said: Mapping[int, PairLabel] = {} if isinstance(answer, FailedCall) else answer.pairs
            found.extend(said.get(number, unsaid) for number in range(1, len(part) + 1))
        return found

    async def _judge(self, number: int, pairs: Sequence[RulesToCompare]) -> Judgement | FailedCall:
        prompt = load_prompt("agent.explorer", "judge")
        listed = [
            prompt.render("pair", number=str(place), first=one.statement, second=other.statement)
            for place, (one, other) in enumerate(pairs, 1)
        ]
        text = prompt.render("pairs", pairs="\n".join(listed), number=str(len(pairs)))
        return await self._asker.ask(JUDGE, prompt.render("system"), text, f"judgement {number}")

    async def decide(self, one: CandidateRule, other: CandidateRule) -> ArbiterVerdict:
        """Which of two contradicting candidates is right."""
        prompt = load_prompt("agent.explorer", "judge")
        text = prompt.render(
            "dispute",
            first=one.rule.statement,
            first_found=_found(one.rule.evidence),
            first_steps=self._told(one),
            second=other.rule.statement,
            second_found=_found(other.rule.evidence),
            second_steps=self._told(other),
        )
        what = f"the dispute of {one.rule.id} and {other.rule.id}"
        (answer,) = await run_jobs(
            [partial(self._asker.ask, ARBITER, prompt.render("arbiter"), text, what)], 1, self._asker.budget
        )
        if isinstance(answer, FailedCall):
            self._asker.lost.append(answer)
            return "unsure"
        return answer

    def _told(self, candidate: CandidateRule) -> str:
        steps = [self._steps[step] for step in candidate.steps[:SHOWN_STEPS] if step in self._steps]
        return "\n".join(f"> {clean(step.command)}\n{clean(step.observation)[:LONGEST_STEP]}" for step in steps)


def _found(evidence: Evidence) -> str:
    return f"{evidence.supports} for, {evidence.contradicts} against" if evidence else "nothing that decides it"


def _unheard(body: AgentEvent, timing: Timing | None = None) -> None:
    """Drop events: the ledger records the calls."""
    del body, timing


PairLabel = Literal["same", "contrary", "different"]
ArbiterVerdict = Literal["first", "second", "unsure"]

_STRICT = re.compile(r"(?P<number>\d{1,4}): (?P<word>same|contrary|different)")
_LENIENT = re.compile(
    r"^[\W_]{0,6}(?:pair\s)?(?P<number>\d{1,4})\W{1,6}(?P<word>same|duplicate|contrary|contradict\w{0,5}|different)\b",
    re.IGNORECASE | re.MULTILINE,
)
_WORDS: Mapping[str, PairLabel] = {"same": "same", "dupl": "same", "cont": "contrary", "diff": "different"}
_RIGHT: Mapping[str, ArbiterVerdict] = {"a": "first", "b": "second", "unsure": "unsure"}
_DECIDED = re.compile(r"Thought: ?(?P<thought>[^\n]*)\nRight: ?(?P<word>A|B|unsure)")
_PERHAPS = re.compile(
    r"^[\W_]{0,40}(?:(?:right|answer)[\W_]{0,40})?\b(?P<word>a|b|unsure)\b[\W_]{0,40}$", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The label of each pair in a reply, by the pair's number from 1."""

    pairs: Mapping[int, PairLabel]


def _strict(text: str) -> Judgement:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    matches = [_STRICT.fullmatch(line) for line in lines]
    if not lines or not all(matches):
        raise ReplyError('there are lines other than a number with "same", "contrary" or "different".')
    return Judgement({int(match["number"]): cast("PairLabel", match["word"]) for match in matches if match})


def _lenient(text: str) -> Judgement:
    found: dict[int, PairLabel] = {
        int(key): _WORDS[word.strip().lower()[:4]]
        for key, word in json_fields(text).items()
        if key.isascii() and key.isdecimal() and len(key) < 5 and word.strip().lower()[:4] in _WORDS
    }
    if not found:
        found = {int(match["number"]): _WORDS[match["word"].lower()[:4]] for match in _LENIENT.finditer(text)}
    if not found:
        raise ReplyError("there is no line with a pair's number and its word.")
    return Judgement(found)


def _decided(text: str) -> ArbiterVerdict:
    match = _DECIDED.fullmatch(text)
    if match is None:
        raise ReplyError('there is no line "Thought: ..." followed by one line "Right: A, B or unsure".')
    return _RIGHT[match["word"].lower()]


def _perhaps(text: str) -> ArbiterVerdict:
    said = json_fields(text).get("right")
    found = [said.strip().lower()] if said is not None else [match["word"].lower() for match in _PERHAPS.finditer(text)]
    if not found or found[-1] not in _RIGHT:
        raise ReplyError('there is no line that begins with "Right:".')
    return _RIGHT[found[-1]]


JUDGE: Role[Judgement] = Role("judge", _strict, _lenient)
ARBITER: Role[ArbiterVerdict] = Role("arbiter", _decided, _perhaps)


async def run_jobs(
    jobs: Sequence[Callable[[], Awaitable[T]]], workers: int, budget: BudgetTracker, told: Callable[[int], None] | None = None
) -> list[T]:
    """Run ``jobs``, at most ``workers`` at once, and return their results in order; ``told`` gets the number done so far.

    If the budget runs out, waits for calls already sent, which are paid for, and raises the reason.
    """
    results: dict[int, T] = {}
    waiting = iter(enumerate(jobs))

    async def work() -> None:
        for number, job in waiting:
            try:
                results[number] = await job()
            except RunHalted:
                return
            if told is not None:
                told(len(results))

    tasks = [asyncio.create_task(work()) for _ in range(max(1, min(workers, len(jobs))))]
    clock = asyncio.create_task(budget.ring())
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in (*tasks, clock):
            task.cancel()
        await asyncio.gather(*tasks, clock, return_exceptions=True)
    if len(results) < len(jobs):
        raise budget.ended()
    return [results[number] for number in range(len(jobs))]
