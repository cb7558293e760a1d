"""Ways to a rulebook by keyboard: from home, from the runs and from the palette; and one that ships is never written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from housequest.agent.config import Settings
from housequest.knowledge.rulebook import Rulebook, library, read_book, save
from housequest.knowledge.rules import Rule
from housequest.tui.desk.screen import BooksScreen, DeskScreen
from housequest.tui.desk.state import FIRST, BookSummary, latest_book, list_books, open_book
from housequest.tui.home.screen import HomeScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.tui.runs.screen import RunsScreen
from housequest.worlds.errors import KnowledgeError
from tests.tui.recorded import rewound, write
from tests.tui.screen import notices_so_far, press, running_text, screen_text, showing, type_in, until, write_in
from tests.waiting import Gate

pytestmark = [pytest.mark.anyio, pytest.mark.heavy]


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def mine(*rules: Rule) -> Rulebook:
    return save(library().writable("mine").put(rules or (Rule("walk", "You can walk."),)))


def test_the_shelf_tells_books_apart_and_damaged_ones_do_not_hide_the_others() -> None:
    assert latest_book() == FIRST
    mine(Rule("a", "A."), Rule("b", "B.", status="candidate"))
    (library().own / "bad.yaml").write_text("- [")
    own = {book.name: book for book in list_books() if not book.shipped}
    assert (own["mine"].accepted, own["mine"].candidates, own["mine"].fault) == (1, 1, "")
    assert "bad.yaml" in own["bad"].fault
    assert open_book("mine")[0].rules == read_book(library().find("mine")).rules
    assert open_book("new")[0].rules == ()
    with pytest.raises(KnowledgeError, match="no rulebook"):
        open_book("mina", new=False)


async def test_a_book_is_begun_and_opened_again(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("- [")
    app = showing(BooksScreen)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Rulebooks" in screen_text(app))
        assert "k makes a rule of what just happened" in running_text(app)
        await press(pilot, "n")
        await type_in(pilot, "ours")
        await until(pilot, lambda: isinstance(app.screen, DeskScreen))
        await press(pilot, "n")
        await type_in(pilot, "One walks.")
        await until(pilot, lambda: "Written" in screen_text(app))
        await press(pilot, "q")
        await until(pilot, lambda: "ours" in screen_text(app) and "1 to judge" in screen_text(app))
        await press(pilot, "o")
        await type_in(pilot, "bad.yaml")
        await until(pilot, lambda: "bad.yaml:1" in screen_text(app))
        await press(pilot, "enter")
        await until(pilot, lambda: "One walks." in screen_text(app))


async def test_a_book_is_shared_and_added(tmp_path: Path) -> None:
    written = mine()
    app = showing(BooksScreen)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "mine" in screen_text(app) and "reading" not in screen_text(app))
        await press(pilot, *["down"] * [book.name for book in list_books()].index("mine"), "e", "enter")
        await until(pilot, lambda: "Saved mine.zip: 1 rule." in notices_so_far(app))
        written.path.unlink()
        await press(pilot, "i")
        await type_in(pilot, "nowhere.zip")
        await until(pilot, lambda: "nowhere.zip cannot be read" in screen_text(app))
        await press(pilot, "i")
        await type_in(pilot, "mine.zip")
        await until(pilot, lambda: "mine is yours now: 1 rule." in notices_so_far(app))
    assert read_book(library().find("mine")).rules == written.rules


async def test_enter_while_the_books_are_read_does_not_say_that_there_are_none() -> None:
    mine()
    gate = Gate()

    def slowly() -> Sequence[BookSummary]:
        gate.wait()
        return list_books()

    app = showing(lambda: BooksScreen(slowly))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "reading" in screen_text(app))
        await press(pilot, "enter")
        assert "no book yet" not in screen_text(app)
        gate.open()
        await until(pilot, lambda: "human" in screen_text(app) and "reading" not in screen_text(app))


@pytest.mark.parametrize("screen", ["home", "runs"])
async def test_k_leads_to_the_rules_and_q_back(screen: str, tmp_path: Path) -> None:
    mine()
    app = showing(lambda: HomeScreen(Settings()) if screen == "home" else RunsScreen(tmp_path / "runs", poll=None))
    async with app.run_test(size=(80, 24)) as pilot:
        first = app.screen
        await until(pilot, lambda: "k rules" in screen_text(app) or screen == "home")
        await press(pilot, "k")
        await until(pilot, lambda: "mine" in screen_text(app) and isinstance(app.screen, BooksScreen))
        at = [book.name for book in list_books()].index("mine")
        await press(pilot, *["down"] * at, "enter")
        await until(pilot, lambda: "You can walk." in screen_text(app))
        await press(pilot, "q", "q")
        assert app.screen is first


async def test_the_palette_leads_to_the_rules(tmp_path: Path) -> None:
    record = write(tmp_path / "e.jsonl", rewound())
    app = showing(lambda: ReplayScreen(record))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "REPLAY" in screen_text(app))
        await press(pilot, "slash")
        await write_in(pilot, "desk")
        await until(pilot, lambda: "curator's desk" in screen_text(app))
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(app.screen, BooksScreen))
