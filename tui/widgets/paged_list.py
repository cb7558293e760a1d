"""A list of options whose page keys do nothing before it was drawn."""

from __future__ import annotations

from contextlib import suppress

from textual.widgets import OptionList


class PagedList(OptionList):
    """An ``OptionList`` that may be filled anew at any time.

    Textual counts the lines of the options when it draws them, so until then there is no page to move by, and it raises.
    """

    def action_page_up(self) -> None:
        with suppress(KeyError):
            super().action_page_up()  # pyright: ignore[reportUnknownMemberType]

    def action_page_down(self) -> None:
        with suppress(KeyError):
            super().action_page_down()  # pyright: ignore[reportUnknownMemberType]
