"""Turns a model's proposals into candidate rules with the steps they come from; invalid ones are dropped with a reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from agent.explorer.chunks import Chunk
from agent.explorer.distiller import LONGEST_STATEMENT, MOST_RULES, Proposals, ProposedRule
from agent.explorer.report import BadCheck, DroppedRule
from knowledge.checks import Check, parse_check
from knowledge.rules import KINDS, WITNESSES, Evidence, Origin, Rule
from worlds.errors import KnowledgeError, shown

LONGEST_ORIGIN = 300
LONGEST_SHOWN = 200

_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class CandidateRule:
    """A proposed rule, and the ``steps`` it was read from, as run/task/step.

    ``disputes`` holds the ids of rules that it contradicts, for a person to decide.
    """

    rule: Rule
    steps: tuple[str, ...] = ()
    disputes: tuple[str, ...] = ()


@dataclass
class Candidates:
    """The proposals, in order."""

    candidates: list[CandidateRule] = field(default_factory=list[CandidateRule])
    dropped: list[DroppedRule] = field(default_factory=list[DroppedRule])
    checks: list[BadCheck] = field(default_factory=list[BadCheck])

    def add(self, chunk: Chunk, proposals: Proposals, origin: Origin) -> None:
        """Add the proposals for ``chunk``."""
        for proposal in proposals.rules:
            steps = tuple(chunk.steps[number - 1].origin for number in proposal.steps if 1 <= number <= len(chunk.steps))
            fault = _fault(proposal.statement, steps)
            if fault:
                self.dropped.append(
                    DroppedRule(statement=_shown(proposal.statement), cause="malformed", why=fault, steps=steps)
                )
            else:
                rule = Rule(
                    id=_named(proposal.statement),
                    statement=proposal.statement,
                    kind=next((kind for kind in KINDS if kind == proposal.kind), None),
                    objects=proposal.objects,
                    status="candidate",
                    origin=origin,
                    check=self._check(proposal),
                    evidence=Evidence(witnesses=named(steps)),
                )
                self.candidates.append(CandidateRule(rule, steps))
        if proposals.beyond:
            what = f"({proposals.beyond} more rules of one reply)"
            why = f"a reply to chunk {chunk.number} has more than {MOST_RULES} rules; the others are not read"
            self.dropped.append(DroppedRule(statement=what, cause="malformed", why=why))

    def _check(self, proposal: ProposedRule) -> Check | None:
        if not proposal.check:
            return None
        try:
            check = parse_check(proposal.check)
            # The book stores the text of the check, which must parse to the same check.
            if parse_check(str(check)) == check:
                return check
            why = "it cannot be written down so that it reads the same."
        except KnowledgeError as error:
            why = str(error)
        self.checks.append(BadCheck(statement=proposal.statement, check=_shown(proposal.check), why=why))
        return None


def named(steps: Sequence[str]) -> tuple[str, ...]:
    """The ``steps`` that a rulebook can hold as witnesses."""
    return tuple(step for step in steps if len(step) <= LONGEST_ORIGIN and step.isprintable())[:WITNESSES]


def _fault(statement: str, steps: Sequence[str]) -> str:
    """Why ``statement`` cannot be a rule; empty if it can."""
    if not any(character.isalpha() for character in statement):
        return "it is no statement in words"
    if len(statement) > LONGEST_STATEMENT:
        return f"it has more than {LONGEST_STATEMENT} characters"
    if not statement.isprintable():
        return "it holds characters that cannot be printed"
    return "" if steps else "it names no step that it was read from"


def _named(statement: str) -> str:
    """An id that depends on ``statement`` alone."""
    words = "-".join(_WORD.findall(statement.lower())[:6])[:50].rstrip("-") or "rule"
    return f"{words}-{sha256(statement.encode('utf-8', 'replace')).hexdigest()[:6]}"


def _shown(text: str) -> str:
    return text if text.isprintable() and len(text) <= LONGEST_SHOWN else shown(text, LONGEST_SHOWN)
