"""Asks a model which similar rules say the same, which contradict each other, and which of those is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, TypeVar, get_args

from housequest.agent.base import AgentEvent
from housequest.agent.episodes.events import ParseFailed
from housequest.agent.evaluation.runs.batch import run_workers
from housequest.agent.evaluation.runs.budget import BudgetTracker, Ledger, LedgerModel, RunHalted
from housequest.agent.explorer.chunks import PlayedStep
from housequest.agent.explorer.distiller import CandidateRule
from housequest.agent.explorer.report import FailedCall
from housequest.agent.models.base import Message, Model, Timing
from housequest.agent.models.forms import LONGEST_THOUGHT, THOUGHT, Choice, Form, FormChoice, Words
from housequest.agent.roles.base import Answer, ReplyError, Role, Sampling, ask, clean, load_prompt, room_beside
from housequest.agent.roles.reading import json_fields
from housequest.knowledge.rules import Evidence, Rule
from housequest.worlds.errors import ModelError

T = TypeVar("T")

TOGETHER = 20
"""Pairs judged in one call."""

SHOWN_STEPS = 3
LONGEST_STEP = 400


@dataclass
class LearningModel:
    """Asks ``model`` in the roles of learning, through the ledger; failed calls are kept in ``lost``.

    ``name`` is the model's name without its address, ``longest`` the most tokens of a reply, and ``form`` says whether it is
    held to its form.
    """

    model: Model
    name: str
    ledger: Ledger
    budget: BudgetTracker
    workers: int
    seed: int
    longest: int
    form: FormChoice = "free"
    lost: list[FailedCall] = field(default_factory=list[FailedCall])

    @property
    def _sampling(self) -> Sampling:
        return Sampling(max_tokens=self.longest, seed=self.seed, form=self.form)

    async def room(self, role: Role[T], system: str, text: str) -> int | None:
        """How many tokens the model's context leaves beside this question; None if it does not tell. Raises ``ModelError``."""
        return await room_beside(role, self.model, (Message("system", system), Message("user", text)), self._sampling)

    async def ask(
        self,
        role: Role[T],
        system: str,
        questions: Mapping[str, str],
        done: Callable[[int], None] | None = None,
        forms: Mapping[str, Form] | None = None,
    ) -> list[T | None]:
        """The parsed replies to ``questions``, which have names for people; ``done`` gets the number answered so far.

        ``forms`` are those of questions whose replies have one of their own.

        A reply is None if the model failed or what it said stayed unreadable. If the budget runs out, waits for calls already
        sent, which are paid for, and raises the reason.
        """
        remembered = LedgerModel(self.model, self.name, role.name, self.ledger)
        sampling, before = self._sampling, (Message("system", system),)
        replies: dict[str, T] = {}
        failed: dict[str, FailedCall] = {}
        waiting = iter(questions.items())

        async def work() -> None:
            for what, text in waiting:
                unread = _Unread()
                try:
                    held = role.held_to((forms or {}).get(what, role.form))
                    answer: Answer[T] = await ask(held, remembered, before, text, unread.hear, sampling)
                except RunHalted:
                    return
                except ModelError as error:
                    # Where a reply filled the context, the error is only what came of it.
                    why = " ".join(filter(None, (unread.reason, clean(error.recorded))))
                    failed[what] = FailedCall(what=what, why=why, again=True)
                else:
                    if answer.value is None:
                        failed[what] = FailedCall(what=what, why=answer.reason, again=False)
                    else:
                        replies[what] = answer.value
                if done is not None:
                    done(len(replies) + len(failed))

        await run_workers([work() for _ in range(max(1, min(self.workers, len(questions))))], self.budget.ring())
        if len(replies) + len(failed) < len(questions):
            raise self.budget.ended()
        self.lost += [failed[what] for what in questions if what in failed]
        return [replies.get(what) for what in questions]


@dataclass
class ModelJudge:
    """A model that compares rules where words and evidence do not decide.

    ``steps`` are the run's steps by origin; ``say`` gets a message before the calls.
    """

    asker: LearningModel
    steps: Mapping[str, PlayedStep]
    say: Callable[[str], None] | None = None

    async def compare(self, pairs: Sequence[tuple[Rule, Rule]]) -> list[PairLabel]:
        """How the two rules of each pair relate; a pair without an answer counts as different."""
        if pairs and self.say is not None:
            self.say(f"Comparing {len(pairs):,} pairs of rules that look alike.")
        prompt = load_prompt("housequest.agent.explorer", "judge")
        parts = [pairs[start : start + TOGETHER] for start in range(0, len(pairs), TOGETHER)]
        questions, forms = dict[str, str](), dict[str, Form]()
        for number, part in enumerate(parts, 1):
            listed = [
                prompt.render("pair", number=str(place), first=one.statement, second=other.statement)
                for place, (one, other) in enumerate(part, 1)
            ]
            questions[f"judgement {number}"] = prompt.render("pairs", pairs="\n".join(listed), number=str(len(part)))
            forms[f"judgement {number}"] = judging_form(len(part))
        answers = await self.asker.ask(JUDGE, prompt.render("system"), questions, forms=forms)
        found: list[PairLabel] = []
        unsaid: PairLabel = "different"
        for part, answer in zip(parts, answers, strict=True):
            said: Mapping[int, PairLabel] = answer or {}
            found.extend(said.get(place, unsaid) for place in range(1, len(part) + 1))
        return found

    async def decide(self, one: CandidateRule, other: CandidateRule) -> ArbiterVerdict:
        """Which of two contradicting candidates is right."""
        prompt = load_prompt("housequest.agent.explorer", "judge")
        text = prompt.render(
            "dispute",
            first=one.rule.statement,
            first_found=_found(one.rule.evidence),
            first_steps=self._text_of_steps(one),
            second=other.rule.statement,
            second_found=_found(other.rule.evidence),
            second_steps=self._text_of_steps(other),
        )
        what = f"the dispute of {one.rule.id} and {other.rule.id}"
        (answer,) = await self.asker.ask(ARBITER, prompt.render("arbiter"), {what: text})
        return answer or "unsure"

    def _text_of_steps(self, candidate: CandidateRule) -> str:
        steps = [self.steps[step] for step in candidate.steps[:SHOWN_STEPS] if step in self.steps]
        return "\n".join(f"> {clean(step.command)}\n{clean(step.observation)[:LONGEST_STEP]}" for step in steps)


def _found(evidence: Evidence) -> str:
    return f"{evidence.supports} for, {evidence.contradicts} against" if evidence else "nothing that decides it"


@dataclass
class _Unread:
    """Hears why a reply could not be read; all else is dropped, since the ledger records the calls."""

    reason: str = ""

    def hear(self, body: AgentEvent, timing: Timing | None = None) -> None:
        """An ``Emitter``."""
        del timing
        if isinstance(body, ParseFailed):
            self.reason = f"Its reply could not be read: {body.reason} Asked again, it failed:"


PairLabel = Literal["same", "contrary", "different"]
ArbiterVerdict = Literal["first", "second", "unsure"]

_PAIR = re.compile(
    r"^[\W_]{0,6}(?:pair\s)?(?P<number>\d{1,4})\W{1,6}(?P<word>same|duplicate|contrary|contradict\w{0,5}|different)\b",
    re.IGNORECASE | re.MULTILINE,
)
_WORDS: Mapping[str, PairLabel] = {"same": "same", "dupl": "same", "cont": "contrary", "diff": "different"}
_RIGHT: Mapping[str, ArbiterVerdict] = {"a": "first", "b": "second", "unsure": "unsure"}
_ANSWER = re.compile(
    r"^[\W_]{0,40}(?:(?:right|answer)[\W_]{0,40})?\b(?P<word>a|b|unsure)\b[\W_]{0,40}$", re.IGNORECASE | re.MULTILINE
)


def _read_pairs(text: str) -> dict[int, PairLabel]:
    found: dict[int, PairLabel] = {
        int(key): _WORDS[word.strip().lower()[:4]]
        for key, word in json_fields(text).items()
        if key.isascii() and key.isdecimal() and len(key) < 5 and word.strip().lower()[:4] in _WORDS
    }
    if not found:
        found = {int(match["number"]): _WORDS[match["word"].lower()[:4]] for match in _PAIR.finditer(text)}
    if not found:
        raise ReplyError("there is no line with a pair's number and its word.")
    return found


def _read_answer(text: str) -> ArbiterVerdict:
    said = json_fields(text).get("right")
    found = [said.strip().lower()] if said is not None else [match["word"].lower() for match in _ANSWER.finditer(text)]
    if not found or found[-1] not in _RIGHT:
        raise ReplyError('there is no line that begins with "Right:".')
    return _RIGHT[found[-1]]


def judging_form(pairs: int) -> Form:
    """A line for each of so many pairs."""
    word = Choice(get_args(PairLabel))
    others = ((f"\n{number}: ", (str(number), word)) for number in range(2, pairs + 1))
    return Form(("1: ", ("1", word), *chain.from_iterable(others)))


_VERDICT = Form(("Thought: ", (THOUGHT, Words(LONGEST_THOUGHT)), "\nRight: ", ("right", Choice(("A", "B", "unsure")))))

JUDGE: Role[dict[int, PairLabel]] = Role("judge", _read_pairs)
ARBITER: Role[ArbiterVerdict] = Role("arbiter", _read_answer, form=_VERDICT)
