"""A screen that can be left at any moment, also while it still reads what it is to show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from textual import on
from textual.messages import Prune
from textual.screen import Screen

from tui.background import aside

T = TypeVar("T")


class LeavingScreen(Screen[None]):
    """Ends its workers before its widgets go: one that woke up in between would look for them in vain."""

    @on(Prune)
    def _end_workers(self) -> None:
        self.workers.cancel_node(self)  # pyright: ignore[reportUnknownMemberType]

    async def aside(self, work: Callable[[], T]) -> T:
        """What `aside` brings. Once the app was left nothing is pruned any more, but the widgets are as gone."""
        try:
            return await aside(work)
        finally:
            if not self.is_attached:
                raise asyncio.CancelledError
