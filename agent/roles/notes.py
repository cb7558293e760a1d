"""What an episode has found out about its model, such as roles that cannot be held to their forms.

It belongs to the episode and not to the model, so that a record does not depend on the episodes beside it. A rewind forgets
what came later, and another model begins without notes.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_NOTES: ContextVar[set[str] | None] = ContextVar("NOTES", default=None)
"""Those of the present episode. A context variable, since agents ask their models at any depth."""


@contextmanager
def notes_of_model(notes: frozenset[str]) -> Generator[set[str], None, None]:
    """Inside, `note` adds to ``notes``. Yields all of them, as a set that grows."""
    known = set(notes)
    token = _NOTES.set(known)
    try:
        yield known
    finally:
        _NOTES.reset(token)


def note(what: str) -> None:
    """Keep ``what`` until the episode ends; outside an episode nothing is kept."""
    known = _NOTES.get()
    if known is not None:
        known.add(what)


def noted(what: str) -> bool:
    """Whether ``what`` was found out about the present model in this episode."""
    return what in (_NOTES.get() or ())
