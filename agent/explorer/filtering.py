"""Filters candidate rules, to "eliminate contradictory and duplicated world knowledge" (OPEx, section 3).

Two rules about one thing always meet, however they are worded. Duplicates are merged. Contradictions between candidates are
resolved by evidence, then by the model, or left to a person. A candidate that says what the book says is dropped, and so is one
that contradicts a rule with better evidence. Counted rules with less evidence than a candidate give way to it; other
contradictions of the book are left to a person.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal, TypeVar, get_args

from housequest.agent.base import AgentEvent
from housequest.agent.episodes.events import ParseFailed
from housequest.agent.evaluation.runs.batch import run_workers
from housequest.agent.evaluation.runs.budget import BudgetTracker, Ledger, LedgerModel, RunHalted
from housequest.agent.explorer.distiller import CandidateRule, Candidates, CitedStep, named_steps
from housequest.agent.explorer.plan import DropCause, DroppedRule, FailedCall
from housequest.agent.models.base import Message, Model, Timing
from housequest.agent.models.forms import LONGEST_THOUGHT, THOUGHT, Choice, Form, Words
from housequest.agent.roles.base import ReplyError, Role, Sampling, ask, clean, load_prompt, room_beside
from housequest.agent.roles.reading import json_fields
from housequest.agent.skills.contrary import Kinds, contrary, held_by_person, strength, subjects
from housequest.knowledge.judging import Moment, examine
from housequest.knowledge.rulebook import is_counted
from housequest.knowledge.rules import Rule
from housequest.worlds.errors import ModelError

T = TypeVar("T")
TOGETHER = 20  # Pairs judged in one call.
SHOWN_STEPS = 3
LONGEST_STEP = 400


@dataclass
class LearningModel:
    """Asks ``model`` in the roles of learning, through the ledger; failed calls are kept in ``lost``. ``name`` is the model's
    name without its address, and ``longest`` the most tokens of a reply."""

    model: Model
    name: str
    ledger: Ledger
    budget: BudgetTracker
    concurrency: int
    seed: int
    longest: int
    lost: list[FailedCall] = field(default_factory=list[FailedCall])

    @property
    def _sampling(self) -> Sampling:
        return Sampling(max_tokens=self.longest, seed=self.seed, form="auto")

    async def context_left(self, role: Role[T], system: str, text: str) -> int | None:
        """The tokens that this question leaves of the model's context; None if that is unknown. Raises ``ModelError``."""
        return await room_beside(role, self.model, (Message("system", system), Message("user", text)), self._sampling)

    async def ask(
        self,
        role: Role[T],
        system: str,
        questions: Mapping[str, str],
        done: Callable[[int], None] | None = None,
        forms: Mapping[str, Form] | None = None,
    ) -> list[T | None]:
        """Ask ``questions``, which have names for people. If the budget runs out, wait for calls already sent, which are paid
        for, and raise the reason.

        Args:
            done: Called with the number of answers so far.
            forms: The forms of replies that differ from the role's, by the question's name.

        Returns:
            The parsed replies; None for a call that failed or a reply that stayed unreadable."""
        remembered = LedgerModel(self.model, self.name, role.name, self.ledger)
        sampling, before = self._sampling, (Message("system", system),)
        replies, failed = dict[str, T](), dict[str, FailedCall]()
        waiting = iter(questions.items())

        async def work() -> None:
            for what, text in waiting:
                unread = list[ParseFailed]()  # the ledger records all other events

                def hear(body: AgentEvent, timing: Timing | None = None, unread: list[ParseFailed] = unread) -> None:
                    del timing
                    unread += [body] if isinstance(body, ParseFailed) else []

                try:
                    held = role.held_to((forms or {}).get(what, role.form))
                    answer = await ask(held, remembered, before, text, hear, sampling)
                except RunHalted:
                    return
                except ModelError as error:
                    # An unreadable reply that filled the context is the cause of the error, so name it first.
                    why = [f"Its reply could not be read: {one.reason} Asked again, it failed:" for one in unread[-1:]]
                    failed[what] = FailedCall(what=what, why=" ".join(filter(None, (*why, clean(error.recorded)))), again=True)
                else:
                    if answer.value is None:
                        failed[what] = FailedCall(what=what, why=answer.reason, again=False)
                    else:
                        replies[what] = answer.value
                if done is not None:
                    done(len(replies) + len(failed))

        await run_workers([work() for _ in range(max(1, min(self.concurrency, len(questions))))], self.budget.ring())
        if len(replies) + len(failed) < len(questions):
            raise self.budget.ended()
        self.lost += [failed[what] for what in questions if what in failed]
        return [replies.get(what) for what in questions]


@dataclass
class ModelJudge:
    """A model that compares rules if words and evidence do not decide. ``steps`` are the run's steps by origin; ``say`` shows a
    message before the calls."""

    asker: LearningModel
    steps: Mapping[str, CitedStep]
    say: Callable[[str], None]

    async def compare(self, pairs: Sequence[tuple[Rule, Rule]]) -> list[PairLabel]:
        """Ask for the relation of each pair of rules; a pair without an answer counts as different."""
        if pairs:
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
        unsaid: PairLabel = "different"
        whole = ((answer or {}, len(part)) for part, answer in zip(parts, answers, strict=True))
        return [said.get(place, unsaid) for said, number in whole for place in range(1, number + 1)]

    async def decide(self, one: CandidateRule, other: CandidateRule) -> ArbiterVerdict:
        """Ask which of two contradicting candidates is right."""
        prompt = load_prompt("housequest.agent.explorer", "judge")
        told = self._told("first", one) | self._told("second", other)
        what = f"the dispute of {one.rule.id} and {other.rule.id}"
        (answer,) = await self.asker.ask(ARBITER, prompt.render("arbiter"), {what: prompt.render("dispute", **told)})
        return answer or "unsure"

    def _told(self, which: str, candidate: CandidateRule) -> dict[str, str]:
        evidence = candidate.rule.evidence
        found = f"{evidence.supports} for, {evidence.contradicts} against" if evidence else "nothing that decides it"
        steps = [self.steps[step] for step in candidate.steps[:SHOWN_STEPS] if step in self.steps]
        texts = (f"> {clean(step.command)}\n{clean(step.observation)[:LONGEST_STEP]}" for step in steps)
        return {which: candidate.rule.statement, f"{which}_found": found, f"{which}_steps": "\n".join(texts)}


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
    """The form of a reply with a line for each pair."""
    word = Choice(get_args(PairLabel))
    others = ((f"\n{number}: ", (str(number), word)) for number in range(2, pairs + 1))
    return Form(("1: ", ("1", word), *chain.from_iterable(others)))


_VERDICT = Form(("Thought: ", (THOUGHT, Words(LONGEST_THOUGHT)), "\nRight: ", ("right", Choice(("A", "B", "unsure")))))
JUDGE: Role[dict[int, PairLabel]] = Role("judge", _read_pairs)
ARBITER: Role[ArbiterVerdict] = Role("arbiter", _read_answer, form=_VERDICT)


async def filter_rules(
    proposed: Sequence[CandidateRule],
    book: Sequence[Rule],
    moments: Iterable[Moment],
    judges: ModelJudge | None,
    kinds: Kinds | None = None,
) -> Candidates:
    """Filter the ``proposed`` rules for a book with the rules ``book``.

    Args:
        proposed: The candidates.
        book: All other rules of the book.
        moments: The recorded play that is evidence.
        judges: The model that compares rules; without it, only rules with equal words count as duplicates.
        kinds: The world's kinds of thing and place, to read where rules say that things are.

    Returns:
        The candidates that are kept, and those that are dropped.
    """
    rules = _Filter(book, proposed, moments, kinds or Kinds())
    await rules.reconcile(judges)
    return rules.result()


class _Filter:
    """The rules of the book followed by the candidates; positions count through both."""

    def __init__(
        self, book: Sequence[Rule], proposed: Sequence[CandidateRule], moments: Iterable[Moment], kinds: Kinds
    ) -> None:
        self._old, self._kinds = len(book), kinds
        self._all = list(map(CandidateRule, book))
        self._gone: set[int] = set()
        self._dropped: list[DroppedRule] = []
        self._stands_for: dict[int, int] = {}
        self._disputed: list[tuple[int, int]] = []
        # Leave out candidates whose words or id exist already. Rules without a check keep the steps they cite.
        ids = {each.rule.id: place for place, each in enumerate(self._all)}
        words = {normalized(each.rule.statement): place for place, each in reversed(list(enumerate(self._all)))}
        for candidate in proposed:
            said = normalized(candidate.rule.statement)
            place = words.get(said, ids.get(candidate.rule.id))
            if place is None or (said not in words and self._renews(candidate.rule, place)):
                words[said] = len(self._all)
                self._all.append(candidate)
            else:
                self._merge(candidate, place, "in the same words")
        findings = examine([each.rule for each in self._all], moments)
        examined = [finding.rule.examined(finding.evidence) for finding in findings]
        self._all = [replace(candidate, rule=rule) for candidate, rule in zip(self._all, examined, strict=True)]

    def _renews(self, rule: Rule, place: int) -> bool:
        """True if a counted ``rule`` takes the place of the one with its id: that is as counting wrote it, and has no more
        evidence."""
        present = self._all[place].rule
        return place < self._old and is_counted(present) and is_counted(rule) and strength(rule) >= strength(present)

    async def _compare(self, judges: ModelJudge | None) -> list[tuple[int, int]]:
        """Merge rules that say the same, and return those that contradict each other."""
        rules = [each.rule for each in self._all]
        pairs = [
            (one, other) for one, other in meeting_pairs(rules, self._old, self._kinds) if rules[one].id != rules[other].id
        ]
        plain = [(one, other) for one, other in pairs if contrary(rules[one], rules[other], self._kinds)]
        asked = [pair for pair in pairs if pair not in set(plain)] if judges is not None else []
        said = await judges.compare([(rules[one], rules[other]) for one, other in asked]) if judges is not None else []
        labelled = list(zip(asked, said, strict=True))
        # All members of a group share one list.
        groups = {place: [place] for place in range(len(self._all))}
        for one, other in (pair for pair, word in labelled if word == "same"):
            if groups[one] is not groups[other]:
                groups[one].extend(groups[other])
                groups |= dict.fromkeys(groups[other], groups[one])
        for group in (sorted(members) for place, members in groups.items() if place == min(members)):
            # A rule of the book wins; among candidates, the one with the best evidence.
            best = group[0] if group[0] < self._old else max(group, key=lambda each: (self._weight(each), -each))
            for other in group:
                if other != best and other >= self._old:
                    self._stands_for[other] = best
                    self._gone.add(other)
                    self._merge(self._all[other], best, "in other words, the model says")
        against = {pair for pair, word in labelled if word == "contrary"}
        return sorted(against.union(plain), key=lambda pair: (pair[1], pair[0]))

    def _merge(self, candidate: CandidateRule, place: int, how: str) -> None:
        """Drop ``candidate``, which says the same as the rule at ``place``."""
        present = self._all[place]
        rule = present.rule
        if place < self._old:
            self._drop(candidate, "known", f"the book has it {how}: {rule.id} ({rule.status})")
            return
        self._drop(candidate, "duplicate", f"{rule.id} says it {how}")
        joined = replace(present, steps=tuple(dict.fromkeys((*present.steps, *candidate.steps))))
        if how != "in the same words":
            joined = replace(joined, rule=rule.including([candidate.rule], "filter"))
        self._all[place] = joined

    async def reconcile(self, judges: ModelJudge | None) -> None:
        """Merge duplicates. Resolve contradictions by evidence, then by the model, if any; otherwise leave them to a person."""
        done: set[tuple[int, int]] = set()
        for pair in await self._compare(judges):
            one, other = sorted(self._stands_for.get(place, place) for place in pair)
            if one == other or (one, other) in done or {one, other} & self._gone or other < self._old:
                continue
            done.add((one, other))
            first, weights = self._all[one].rule, (self._weight(one), self._weight(other))
            if one < self._old and first.status == "rejected":
                continue
            if one < self._old:
                held = held_by_person(first)
                if weights[0][:1] > weights[1][:1] or (weights[0] > weights[1] and not held):
                    self._lose(other, f"{first.id}, which is in the book, excludes it and has the evidence")
                elif held or weights[0] == weights[1]:
                    self._disputed.append((other, one))
                # Else the book's rule has less evidence, nobody holds it, and it gives way once the other one is accepted.
            elif weights[0] != weights[1]:
                loser, winner = sorted((one, other), key=self._weight)
                self._lose(loser, f"{self._all[winner].rule.id} excludes it and has the evidence")
            elif judges is None or (right := await judges.decide(self._all[one], self._all[other])) == "unsure":
                self._disputed += [(one, other), (other, one)]
            else:
                loser, winner = (other, one) if right == "first" else (one, other)
                self._lose(loser, f"{self._all[winner].rule.id} excludes it and is right, the model says")

    def _lose(self, loser: int, why: str) -> None:
        self._gone.add(loser)
        evidence = self._all[loser].rule.evidence
        found = f" ({evidence.supports} for, {evidence.contradicts} against)" if evidence else ""
        self._drop(self._all[loser], "contradiction", why + found)

    def _drop(self, candidate: CandidateRule, cause: DropCause, why: str) -> None:
        steps = named_steps(candidate.steps)
        self._dropped.append(DroppedRule(statement=candidate.rule.statement, cause=cause, why=why, steps=steps))

    def _weight(self, place: int) -> tuple[int, int]:
        return strength(self._all[place].rule)

    def result(self) -> Candidates:
        kept: list[CandidateRule] = []
        for place in sorted({*range(self._old, len(self._all))} - self._gone):
            candidate = self._all[place]
            found = candidate.rule.evidence
            evidence = replace(found, witnesses=named_steps(found.witnesses), against=named_steps(found.against))
            rule = replace(candidate.rule, evidence=evidence)
            # The contradicting rules that stay too.
            against = [self._all[other].rule for one, other in self._disputed if one == place and other not in self._gone]
            for other in against:
                rule = rule.disputed(other)
            kept.append(CandidateRule(rule, candidate.steps, tuple(other.id for other in against)))
        return Candidates(kept, self._dropped)


NEAR = 65.0  # The least similarity, up to 100, for comparing two statements.
NEIGHBOURS = 5  # Of rules about no thing, at most this many earlier ones are compared, the most similar ones.
_WORD = re.compile(r"\w+")
_ARTICLES = {"a", "an", "the"}


def normalized(statement: str) -> str:
    """The words of a statement without case, punctuation and articles; equal results count as the same statement."""
    return " ".join(word for word in _WORD.findall(statement.casefold()) if word not in _ARTICLES)


def meeting_pairs(rules: Sequence[Rule], old: int, kinds: Kinds) -> Iterator[tuple[int, int]]:
    """Pairs of positions in ``rules`` that may be duplicates or contradictions; the first ``old`` are known to differ.

    Rules about one thing meet, and those whose checks have one occasion. A rule about nothing in particular meets those of most
    similar words, by RapidFuzz's ``token_set_ratio``.
    """
    from rapidfuzz import fuzz, process

    words = [normalized(rule.statement) for rule in rules]
    about = [subjects(rule, kinds) for rule in rules]
    of_thing: dict[str, list[int]] = {}
    for place, rule in enumerate(rules):
        keys = [*about[place], *([rule.check.occasion] if rule.check else [])]
        if place >= old:
            found = {other for key in keys for other in of_thing.get(key, ()) if rules[other].id != rule.id}
            vague = {other: words[other] for other in range(place) if not (about[other] and about[place])}
            likest = process.extract(words[place], vague, scorer=fuzz.token_set_ratio, score_cutoff=NEAR, limit=NEIGHBOURS)
            yield from ((other, place) for other in sorted(found.union(other for _, _, other in likest)))
        for key in keys:
            of_thing.setdefault(key, []).append(place)
