"""A rule as typed into a form: the texts, what is wrong with each, and the rule they make."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields, replace
from itertools import chain, count
from typing import Literal

from housequest.knowledge.checks import parse_check
from housequest.knowledge.reading import LONGEST_ID, LONGEST_STATEMENT, LONGEST_WORD, MOST_WORDS
from housequest.knowledge.rules import KINDS, Rule
from housequest.worlds.errors import KnowledgeError, nearest, shown
from housequest.worlds.registry import DEFAULT_WORLD, household

FormField = Literal["statement", "kind", "types", "objects", "check", "book", "form"]
"""Where something is wrong; ``form``: in none of the fields alone."""

NO_KIND = "none"
WORDS_IN_ID = 6

_JOINERS = {"\u200c", "\u200d"}  # some scripts need them
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class DraftFault:
    """What is wrong in a field, and the way out."""

    field: FormField
    reason: str


@dataclass(frozen=True, slots=True)
class Draft:
    """The contents of the form. ``types`` and ``objects`` are separated by commas, ``book`` is where a new rule goes."""

    statement: str = ""
    kind: str = NO_KIND
    types: str = ""
    objects: str = ""
    check: str = ""
    book: str = ""

    @classmethod
    def of(cls, rule: Rule) -> Draft:
        """The form filled in with ``rule``."""
        check = str(rule.check) if rule.check else ""
        return cls(rule.statement, rule.kind or NO_KIND, ", ".join(rule.types), ", ".join(rule.objects), check)

    def faults(self, world: str = DEFAULT_WORLD) -> tuple[DraftFault, ...]:
        """What is wrong, field by field, with the draft of a rule about ``world``."""
        return tuple(self._faults(task_types(world)))

    def _faults(self, known: tuple[str, ...]) -> Iterator[DraftFault]:
        statement = _line(self.statement)
        if not statement:
            yield DraftFault("statement", "Say what the rule is, in a sentence.")
        elif len(statement) > LONGEST_STATEMENT:
            yield DraftFault("statement", f"A statement has at most {LONGEST_STATEMENT:,} characters, not {len(statement):,}.")
        elif not all(character.isprintable() or character in _JOINERS for character in statement):
            yield DraftFault("statement", "This holds characters that cannot be printed; write them out.")
        lists: dict[FormField, str] = {"types": self.types, "objects": self.objects}
        for name, text in lists.items():
            words = _words(text)
            odd = next((word for word in words if len(word) > LONGEST_WORD or not word.isprintable()), None)
            if len(words) > MOST_WORDS:
                yield DraftFault(name, f"There are at most {MOST_WORDS} of them.")
            elif odd is not None:
                yield DraftFault(name, f"{shown(odd, 40)} is not a word; write short ones, with commas between them.")
        unknown = next((word for word in _words(self.types) if word not in known and nearest(word, known)), None)
        if unknown is not None:
            yield DraftFault("types", f"{shown(unknown)} is not a task type.{nearest(unknown, known)}")
        if self.check.strip():
            try:
                parse_check(_line(self.check))
            except KnowledgeError as error:
                yield DraftFault("check", str(error))

    def rebased(self, since: Draft, theirs: Draft) -> Draft:
        """``theirs``, what somebody else made of the rule, with the fields that were changed ``since`` as they are here."""
        return replace(theirs, **{name: getattr(self, name) for name in self._changed(since)})

    def _changed(self, since: Draft | None) -> set[str]:
        return {each.name for each in fields(self) if since is None or getattr(self, each.name) != getattr(since, each.name)}

    def onto(self, rule: Rule, since: Draft | None = None) -> Rule:
        """``rule`` as the draft says; with ``since``, in those fields alone that differ from what stood there at first.

        The draft has no faults. ``Rule.edited`` has what becomes of evidence and status.
        """
        changed, check = self._changed(since), _line(self.check)
        values = {
            "statement": _line(self.statement),
            "kind": next((kind for kind in KINDS if kind == self.kind), None),
            "types": _words(self.types),
            "objects": _words(self.objects),
            "check": parse_check(check) if check and "check" in changed else None,
        }
        return rule.edited(replace(rule, **{name: value for name, value in values.items() if name in changed}))

    def new(self, taken: Collection[str]) -> Rule:
        """A candidate rule that says this; its id is made of its words and differs from those ``taken``."""
        statement = _line(self.statement)
        bare = Rule(_id(statement, taken), statement, status="candidate")
        return replace(self.onto(bare), history=())


def task_types(world: str) -> tuple[str, ...]:
    """The task types of a world; none where its texts describe no household."""
    reader = household(world)
    return tuple(reader.task_types) if reader is not None else ()


def _line(text: str) -> str:
    return " ".join(text.split())


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for each in text.split(",") if (word := _line(each))))


def _id(statement: str, taken: Collection[str]) -> str:
    words = _WORD.findall(statement.casefold())[:WORDS_IN_ID]
    stem = "-".join(words)[: LONGEST_ID - 8].strip("-") or "rule"
    names = chain([stem], (f"{stem}-{number}" for number in count(2)))
    return next(name for name in names if name not in taken)
