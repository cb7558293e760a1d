"""How the desk, its dialog, the books and teaching look: pictures that are kept, the same on every run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from housequest.agent.episodes.moments import recorded_moments
from housequest.knowledge.checks import parse_check
from housequest.knowledge.judging import examine
from housequest.knowledge.rulebook import Rulebook, save
from housequest.knowledge.rules import Evidence, Origin, Rule
from housequest.tui.desk.screen import BooksScreen, DeskScreen
from housequest.tui.desk.state import BookSummary
from housequest.tui.replay.screen import ReplayScreen
from housequest.tui.theme import DARK, LIGHT
from tests.tui.recorded import play
from tests.tui.screen import OTHERS, USUAL, screen_text, showing, shows, until

Compare = Callable[..., bool]

pytestmark = pytest.mark.anyio

RULES = (
    Rule(
        "arrive",
        "Going to a receptacle always brings you there.",
        "mechanic",
        check=parse_check('go to {receptacle}; then says "You arrive at {receptacle}. ..."'),
    ),
    Rule(
        "one-hand",
        "Only one thing can be carried at a time: put it down before taking another.",
        "mechanic",
        status="candidate",
        check=parse_check("take {object} from {receptacle}; when holding something; then refused"),
    ),
    Rule(
        "no-key",
        "Nothing can be opened without a key.",
        "mechanic",
        status="candidate",
        origin=Origin("model", "openai:NAME"),
        check=parse_check("open {receptacle}; then refused"),
    ),
    Rule(
        "opens",
        "Whatever is closed can be opened by hand.",
        "affordance",
        status="candidate",
        check=parse_check("open {receptacle}; then accepted"),
    ),
    Rule(
        "mugs",
        "A mug is more often in a cabinet than elsewhere.",
        "location",
        types=("pick_heat_then_place_in_recep",),
        objects=("mug", "cabinet"),
        status="candidate",
        origin=Origin("run", "train"),
        evidence=Evidence(41, 22, ("train/0017/5",), ("train/0003/8",)),
    ),
    Rule("plan", "Look in the likeliest place first, and remember what you saw on the way.", "strategy"),
    Rule("sinks", "[i]Sinks[/i] are dirty.", status="rejected"),
)


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rulebook:
    """A book in a folder whose name is always the same, checked against a run beside it."""
    monkeypatch.setenv("HOUSEQUEST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    run = play(Path("runs") / "houses", limit=6)
    found = examine([rule for rule in RULES if rule.check], recorded_moments([run]))
    checked = {each.rule.id: replace(each.rule, evidence=each.evidence) for each in found}
    return save(Rulebook(Path("book.yaml")).put([checked.get(rule.id, rule) for rule in RULES]))


def after(keys: tuple[str, ...], text: str, look: str = DARK) -> Callable[[Pilot[Any]], Any]:
    """Presses ``keys`` once all is read, and waits until ``text`` stands there."""

    async def there(pilot: Pilot[Any]) -> None:
        pilot.app.theme = look
        await pilot.app.workers.wait_for_complete()
        for key in keys:
            await pilot.press(key)
            await pilot.app.workers.wait_for_complete()
            await pilot.pause()
        await until(pilot, lambda: text in screen_text(pilot.app))
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()

    return there


VIEWS = {
    "list": (("down",) * 4, "41 for"),
    "pair": (("down", "down", "p"), "These two contradict"),
}
SEEN = {
    "list": ("Desk", "7 rules", "any status", "Rules", "mugs", "41 for", "Witnesses", "a accept", "q quit"),
    "pair": ("Desk", "two rules side by side", "no-key", "opens", "w this, not that", "q back"),
}
"""What is seen of each view in any size."""


@pytest.mark.heavy
@pytest.mark.parametrize("view", VIEWS)
def test_the_desk(view: str, book: Rulebook, snap_compare: Compare) -> None:
    app = showing(lambda: DeskScreen(book, Path("runs")))
    assert snap_compare(app, terminal_size=USUAL, run_before=after(*VIEWS[view]))


@pytest.mark.heavy
@pytest.mark.parametrize("size", OTHERS)
@pytest.mark.parametrize("view", VIEWS)
async def test_the_desk_in_other_sizes(view: str, size: tuple[int, int], book: Rulebook) -> None:
    await shows(showing(lambda: DeskScreen(book, Path("runs"))), size, after(*VIEWS[view]), *SEEN[view])


@pytest.mark.heavy
def test_the_desk_in_the_light(book: Rulebook, snap_compare: Compare) -> None:
    app = showing(lambda: DeskScreen(book, Path("runs")))
    assert snap_compare(app, terminal_size=USUAL, run_before=after((*VIEWS["list"][0], "s", "s"), "of 7 rules", LIGHT))


EDITED = after((*("down",) * 4, "e", "tab", "tab", "tab", "x", "tab", "tab", *"look", "enter"), "a check is COMMAND")


@pytest.mark.heavy
def test_a_rule_that_is_edited(book: Rulebook, snap_compare: Compare) -> None:
    assert snap_compare(showing(lambda: DeskScreen(book, Path("runs"))), terminal_size=USUAL, run_before=EDITED)


@pytest.mark.heavy
@pytest.mark.parametrize("size", OTHERS)
async def test_a_rule_that_is_edited_in_other_sizes(size: tuple[int, int], book: Rulebook) -> None:
    seen = (
        "Edit mugs",
        "A mug is more often",
        "is not a task type",
        "a check is COMMAND",
        "tab next field · enter save · esc leave",
    )
    await shows(showing(lambda: DeskScreen(book, Path("runs"))), size, EDITED, *seen)


@pytest.fixture
def record(book: Rulebook) -> Path:
    """An episode of the run beside the book."""
    del book
    return next(Path("runs/houses/episodes").glob("0002-*.jsonl"))


@pytest.mark.heavy
async def test_a_rule_that_is_taught(record: Path) -> None:
    async def taught(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "opening of" in screen_text(pilot.app))
        await pilot.press("right")
        await until(pilot, lambda: "turn 1 of" in screen_text(pilot.app))
        await pilot.press("k")
        await until(pilot, lambda: "witness houses/" in screen_text(pilot.app) and "turn 1 of" in screen_text(pilot.app))

    seen = (
        "REPLAY",
        "Teach a rule",
        "> go to coffeemachine 1",
        "You arrive at coffeemachine 1.",
        "witness houses/0002-generated-2/3",
        "statement what holds in this world, in a sentence",
        "things coffeemachine",
        "book mine",
        "tab next field · enter save · esc leave",
        "turn 1 of 7",
        "q quit",
    )
    await shows(showing(lambda: ReplayScreen(record)), (80, 24), taught, *seen)


BOOKS = (
    BookSummary("human", Path("human.yaml"), shipped=True, accepted=24),
    BookSummary("learned", Path("learned.yaml"), shipped=True, accepted=118),
    BookSummary("mine", Path("mine.yaml"), shipped=False, accepted=2, candidates=4, rejected=1),
    BookSummary("spoilt", Path("spoilt.yaml"), shipped=False, fault="spoilt.yaml:1: this is not valid YAML."),
)


@pytest.mark.heavy
def test_the_books(snap_compare: Compare) -> None:
    app = showing(lambda: BooksScreen(lambda: BOOKS))
    assert snap_compare(app, terminal_size=USUAL, run_before=after((), "to judge"))


@pytest.mark.heavy
@pytest.mark.parametrize("size", OTHERS)
async def test_the_books_in_other_sizes(size: tuple[int, int]) -> None:
    seen = (
        "Rulebooks · 4 books",
        "118 accepted",
        "ships",
        "yours",
        "this is not valid YAML.",
        "k makes a rule",
        "⏎ open",
        "q quit",
    )
    await shows(showing(lambda: BooksScreen(lambda: BOOKS)), size, after((), "to judge"), *seen)
