"""The curator's desk by keyboard: witnesses into the replay and back, verdicts saved and undone, refusals that lose nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from knowledge.rulebook import Rulebook, read_book, save
from knowledge.rules import Evidence, Rule
from tests.tui.recorded import rewound, write
from tests.tui.screen import press, screen_text, showing, until
from tui.screens.desk import DeskScreen
from tui.screens.replay import ReplayScreen

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def rules() -> list[Rule]:
    found = Evidence(1, 2, ("run/e/6",), ("run/e/4", "gone/e/3"))
    return [
        Rule("fly", "You can [red]fly[/].", "mechanic", evidence=found),
        Rule("walk", "You can walk.", "affordance", status="candidate"),
    ]


def begun(folder: Path) -> Rulebook:
    write(folder / "runs" / "run" / "episodes" / "e.jsonl", rewound())
    (folder / "runs" / "run" / "run.json").write_text("{}")
    return save(Rulebook(folder / "book.yaml").put(rules()))


def told(pilot: Pilot[Any], text: str) -> bool:
    return text in " ".join(screen_text(pilot.app).split())  # a long path wraps


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_curator_by_keyboard(size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSEQUEST_HOME", str(tmp_path / "home"))
    book = begun(tmp_path)
    before = book.path.read_bytes()
    app = showing(lambda: DeskScreen(book, tmp_path / "runs"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: told(pilot, "for > look again"))
        assert told(pilot, "[red]fly[/]")
        await press(pilot, "enter", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen) and app.screen.stops)
        assert told(pilot, "turn 2 of")
        await press(pilot, "q", "down", "enter")
        assert told(pilot, "not on disk")
        await press(pilot, "shift+tab", "shift+tab", "x")
        await until(pilot, lambda: read_book(book.path).rule("fly").status == "rejected")
        await until(pilot, lambda: told(pilot, "u undoes it"))
        await press(pilot, "u")
        await until(pilot, lambda: book.path.read_bytes() == before)
        await until(pilot, lambda: told(pilot, "Undone"))
        book.path.write_bytes(b"# theirs\n" + before)
        await press(pilot, "x")
        await until(pilot, lambda: told(pilot, "was changed"))
        assert book.path.read_bytes() == b"# theirs\n" + before
        await press(pilot, "r")
        await until(pilot, lambda: told(pilot, "Read again"))
        await press(pilot, "c")
        assert told(pilot, "1 of 2 rules")
