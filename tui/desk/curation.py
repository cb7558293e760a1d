"""A desk over its file: what is done is saved before it counts, one deed after the other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from knowledge.rulebook import Rulebook, read_book, save
from tui.background import aside
from tui.desk.state import Desk


class SavedDesk:
    """The ``desk`` as it stands in its file. What is looked at or marked may change at any moment, the book by ``do`` alone."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._turn = asyncio.Lock()

    async def do(self, deed: Callable[[Desk], Desk]) -> bool:
        """Do ``deed`` and save the book; whether it changed anything.

        Raises ``HousequestError`` where either is refused, and then the desk is as it was.
        """
        async with self._turn:
            before = self.desk
            after = await aside(partial(deed, before))
            if after.book is before.book:
                return False
            saved = after.saved(await aside(partial(save, after.book)))
            now = self.desk
            # What was looked at or marked meanwhile stays so, but for what the deed itself moved.
            self.desk = replace(
                saved,
                filter=now.filter,
                at=now.at if saved.at == before.at else saved.at,
                chosen=now.chosen if saved.chosen == before.chosen else saved.chosen,
            )
            return True

    async def read_again(self) -> None:
        """Take the book as it is in its file now. Raises ``KnowledgeError``."""
        async with self._turn:
            book = await aside(partial(_again, self.desk.book))
            self.desk = self.desk.reloaded(book)


def _again(book: Rulebook) -> Rulebook:
    """``book`` as its file says now; one that was never saved, and that nobody else made meanwhile, as it is."""
    unmade = book.read is None and not os.path.lexists(book.path)
    return book if unmade else read_book(book.path)
