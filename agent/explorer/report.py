"""The report of an exploration: rules found, rules dropped and why, and what could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from housequest.knowledge.rules import Rule, RuleKind, RuleStatus, Standing
from housequest.worlds.paths import FORMAT, Format

Acceptance = Literal["filter", "evidence", "person"]
DropCause = Literal["malformed", "known", "duplicate", "contradiction"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DroppedRule(_Frozen):
    """A proposed rule that is not in the book, and ``why``. ``steps`` are those it was read from, as run/task/step."""

    statement: str
    cause: DropCause
    why: str
    steps: tuple[str, ...] = ()


class BadCheck(_Frozen):
    """A check that could not be parsed; its rule is kept without it."""

    statement: str
    check: str
    why: str


class FoundRule(_Frozen):
    """A rule in the book with its verdict. ``note`` says what a person should look at."""

    id: str
    statement: str
    kind: RuleKind | None
    status: RuleStatus
    standing: Standing
    supports: int
    contradicts: int
    check: str | None
    note: str = ""

    @classmethod
    def of(cls, rule: Rule, disputes: Sequence[str]) -> FoundRule:
        """The entry for ``rule``, which contradicts the rules with the ids ``disputes``."""
        overruled = rule.standing == "contradicted" and rule.status != "rejected"
        note = f"excludes {' and '.join(disputes)}; a person has to decide" if disputes else ""
        return cls(
            id=rule.id,
            statement=rule.statement,
            kind=rule.kind,
            status=rule.status,
            standing=rule.standing,
            supports=rule.evidence.supports,
            contradicts=rule.evidence.contradicts,
            check=str(rule.check) if rule.check else None,
            note=note or ("the records contradict it" if overruled else ""),
        )


class FailedCall(_Frozen):
    """A call that failed. ``again``: the same command will retry it."""

    what: str
    why: str
    again: bool


class PlayTotals(_Frozen):
    """Totals of the episodes; ``curious`` counts the steps chosen at random."""

    episodes: int
    won: int
    errors: int
    steps: int
    curious: int


class ExplorationReport(_Frozen):
    """The whole report. ``distiller`` None: rules were counted, without a model.

    ``besides`` names the other runs used for evidence. Each of the ``proposed`` rules is found or dropped. ``calls`` and
    ``tokens`` are those of learning alone.
    """

    format: Format = FORMAT
    accept: Acceptance
    into: str
    besides: tuple[str, ...] = ()
    distiller: str | None
    played: PlayTotals
    chunks: int
    proposed: int
    found: tuple[FoundRule, ...]
    dropped: tuple[DroppedRule, ...]
    checks: tuple[BadCheck, ...] = ()
    lost: tuple[FailedCall, ...] = ()
    calls: int = 0
    tokens: int = 0

    def left(self, *, retry_errors: bool) -> bool:
        """Whether the same command would retry something."""
        return any(each.again for each in self.lost) or (retry_errors and self.played.errors > 0)
