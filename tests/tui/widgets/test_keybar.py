"""The row of keys: a click on one does what pressing it does, whatever key a person chose for it."""

from collections.abc import Mapping

import pytest
from textual.command import CommandPalette

from housequest.tui.app import HousequestApp
from housequest.tui.desk.screen import BooksScreen
from housequest.tui.widgets.keybar import KeyBar

pytestmark = pytest.mark.anyio


@pytest.mark.heavy
@pytest.mark.parametrize("chosen", [{}, {"books.back": "question_mark"}])
async def test_a_click_on_a_key_presses_it(chosen: Mapping[str, str]) -> None:
    app = HousequestApp(lambda: BooksScreen(tuple))
    app.choose_keys(chosen)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        bar = app.screen.query_one(KeyBar)
        at = bar.render().plain.index("palette")
        await pilot.click(KeyBar, offset=(at + 1, 0))
        await pilot.pause()
        assert isinstance(app.screen, CommandPalette)
        await pilot.press("escape")
        await pilot.pause()
        await pilot.click(KeyBar, offset=(at + len("palette") + 1, 0))
        await pilot.pause()
        assert isinstance(app.screen, BooksScreen) and app.is_running
        await pilot.click(KeyBar, offset=(bar.size.width - 3, 0))
        await pilot.pause()
    assert app.return_code == 0
