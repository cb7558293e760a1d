"""A list that is filled anew takes page keys at any time."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from housequest.tui.theme import register_themes
from housequest.tui.widgets.lines import FramedList

pytestmark = pytest.mark.anyio


class Listing(App[None]):
    """A list that is not shown at first."""

    def __init__(self) -> None:
        super().__init__()
        register_themes(self)

    def compose(self) -> ComposeResult:
        listed = FramedList(*map(str, range(100)))
        listed.display = False
        yield listed


async def test_page_keys_do_nothing_before_a_list_is_drawn_and_turn_pages_then() -> None:
    app = Listing()
    async with app.run_test(size=(80, 24)) as pilot:
        listed = app.query_one(FramedList)
        listed.highlighted = 30
        for turn in (listed.action_page_up, listed.action_page_down):
            turn()
            assert listed.highlighted == 30
        listed.display = True
        await pilot.pause()
        listed.action_page_down()
        assert listed.highlighted > 30
