"""A screen that can be left at any moment, also while it still reads what it is to show."""

from __future__ import annotations

from textual import on
from textual.messages import Prune
from textual.screen import Screen


class LeavingScreen(Screen[None]):
    """Ends its workers before its widgets go: one that woke up in between would look for them in vain."""

    @on(Prune)
    def _end_workers(self) -> None:
        self.workers.cancel_node(self)  # pyright: ignore[reportUnknownMemberType]
