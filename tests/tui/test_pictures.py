"""How the runs, a replay and a race look: pictures of the usual size that are kept, and what must be seen in the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from housequest.tui.home.catalogue import RecentChoices, save_recent
from housequest.tui.play.live_screen import ViewScreen
from housequest.tui.race.screen import RaceScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.tui.runs.data import read_overview
from housequest.tui.runs.screen import RunsScreen
from housequest.tui.theme import DARK, LIGHT
from tests.agent.episodes.acting import recorded
from tests.tui.recorded import play, rewound_twice, write
from tests.tui.screen import COIN, OTHERS, USUAL, game, screen_text, showing, shows, type_in, until

Compare = Callable[..., bool]

pytestmark = pytest.mark.anyio

VIEWS = {
    "list": ((), "pick heat then place", ("Runs", "quick", "whole", "z-notes", "success", "⏎ open", "q quit")),
    "run": (
        ("enter", "f"),
        "out of turns (8)",
        ("Runs › quick", "tasks by outcome", "out of turns (8)", "enter replay", "q back"),
    ),
    "pair": (("space", "down", "c"), "tasks flipped", ("Runs › quick and whole", "tasks flipped", "1 in the first", "q back")),
}
"""The keys that lead to each view, a text by which it is known, and what is seen of it in any size."""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs in a folder whose name is always the same."""
    monkeypatch.chdir(tmp_path)
    play(tmp_path / "runs" / "quick", max_steps=8)
    play(tmp_path / "runs" / "whole")
    (tmp_path / "runs" / "z-notes").mkdir()
    return Path("runs")


@pytest.mark.heavy
@pytest.mark.parametrize("view", VIEWS)
def test_runs(view: str, runs: Path, snap_compare: Compare) -> None:
    assert snap_compare(showing(lambda: RunsScreen(runs, poll=None)), terminal_size=USUAL, run_before=viewed(view))


@pytest.mark.heavy
@pytest.mark.parametrize("size", OTHERS)
@pytest.mark.parametrize("view", VIEWS)
async def test_runs_in_other_sizes(view: str, size: tuple[int, int], runs: Path) -> None:
    await shows(showing(lambda: RunsScreen(runs, poll=None)), size, viewed(view), *VIEWS[view][2])


def viewed(view: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Goes to a view of the runs."""
    keys, text, _ = VIEWS[view]

    async def there(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "no run" in screen_text(pilot.app) and "reading" not in screen_text(pilot.app))
        await pilot.press(*keys)
        await until(pilot, lambda: text in screen_text(pilot.app))
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()

    return there


@pytest.mark.heavy
def test_replay(runs: Path, snap_compare: Compare) -> None:
    assert snap_compare(showing(lambda: ReplayScreen(lost(runs))), terminal_size=USUAL, run_before=to_the_end)


@pytest.mark.heavy
@pytest.mark.parametrize("size", OTHERS)
async def test_a_replay_in_other_sizes(size: tuple[int, int], runs: Path) -> None:
    seen = ("REPLAY", "Story", "turn 8 of 8", "Lost after 8 turns", "space play", "/ palette", "q quit")
    await shows(showing(lambda: ReplayScreen(lost(runs))), size, to_the_end, *seen)


def lost(runs: Path) -> Path:
    """The record of a lost game."""
    run = read_overview(runs / "quick")
    return next(cell.record for cell in run.cells if cell.mark == "lost")  # pyright: ignore[reportAttributeAccessIssue]


async def to_the_end(pilot: Pilot[Any]) -> None:
    """Goes to the end of a lost game."""
    await until(pilot, lambda: "REPLAY" in screen_text(pilot.app))
    await pilot.press("end")
    await until(pilot, lambda: "Lost after" in screen_text(pilot.app))


@pytest.mark.heavy
def test_branches(tmp_path: Path, snap_compare: Compare) -> None:
    record = write(tmp_path / "e.jsonl", rewound_twice())
    assert snap_compare(showing(lambda: ReplayScreen(record)), terminal_size=USUAL, run_before=to_the_branches)


@pytest.mark.heavy
@pytest.mark.parametrize("size", OTHERS)
async def test_branches_in_other_sizes(size: tuple[int, int], tmp_path: Path) -> None:
    record = write(tmp_path / "e.jsonl", rewound_twice())
    seen = ("3 branches of this game", "branch 3, current", "× was refused, » a person chose.", "enter go there · esc leave")
    await shows(showing(lambda: ReplayScreen(record)), size, to_the_branches, *seen)


async def to_the_branches(pilot: Pilot[Any]) -> None:
    """Puts the branches side by side."""
    await until(pilot, lambda: "REPLAY" in screen_text(pilot.app))
    await pilot.press("end", "B")
    await until(pilot, lambda: "3 branches" in screen_text(pilot.app))


async def race(pilot: Pilot[Any], commands: Sequence[str], end: str) -> None:
    """Play ``commands`` turn for turn with the other, and wait for ``end``."""
    for turn, command in enumerate(commands):
        await until(pilot, lambda turn=turn: f"turn {turn} · waiting" in screen_text(pilot.app))
        await type_in(pilot, command)
    await until(pilot, lambda: end in screen_text(pilot.app))


@pytest.mark.heavy
@pytest.mark.parametrize("look", [DARK, LIGHT])
def test_race(look: str, snap_compare: Compare) -> None:
    app = showing(lambda: RaceScreen(game()))

    async def there(pilot: Pilot[Any]) -> None:
        app.theme = look
        await raced(pilot)

    assert snap_compare(app, terminal_size=USUAL, run_before=there)


@pytest.mark.heavy
@pytest.mark.parametrize("size", OTHERS)
async def test_a_race_in_other_sizes(size: tuple[int, int]) -> None:
    seen = (
        "RACE",
        "You · turn 3 · 1 refused",
        "the expert · turn 3 · waiting",
        "your turn turn 4",
        "g possible",
        "esc leave the line",
    )
    await shows(showing(lambda: RaceScreen(game())), size, raced, *seen)


async def raced(pilot: Pilot[Any]) -> None:
    """Plays three turns, one of which is refused."""
    await race(pilot, ("go to fridge 1", "open cabinet 1", "open fridge 1"), "turn 3 · waiting")


@pytest.mark.heavy
async def test_the_end_of_a_race() -> None:
    async def there(pilot: Pilot[Any]) -> None:
        way = ("go to study", "take key", "go to hall", "go to cellar", "unlock box", "take coin")
        await race(pilot, way, "the shortest  ━")

    seen = (
        "RACE",
        "You · ✦ won in 6",
        "the expert · ✦ won in 6",
        "You take the coin.",
        "= A draw",
        "Both of you won in 6 turns.",
        "6 won · 0 refused",
        "The race is over.",
        "p replay yours · P replay the expert's",
        "q quit",
    )
    await shows(showing(lambda: RaceScreen(game(COIN))), (80, 24), there, *seen)


KITCHEN = ("go to fridge 1", "open fridge 1", "go to countertop 1")


async def drawn(pilot: Pilot[Any]) -> None:
    """Wait for the View."""
    screen = pilot.app.screen
    assert isinstance(screen, ViewScreen)
    await until(pilot, lambda: screen.view.settled)


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that shows every colour, wherever the tests run."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.heavy
@pytest.mark.usefixtures("colours")
@pytest.mark.parametrize(("mode", "look"), [("house", DARK), ("house", LIGHT), ("eyes", DARK), ("plan", DARK), ("text", DARK)])
def test_the_view_of_a_replay(mode: str, look: str, tmp_path: Path, snap_compare: Compare) -> None:
    save_recent(RecentChoices(view=mode))
    path = recorded(tmp_path / "e.jsonl", "example:1", KITCHEN)

    async def there(pilot: Pilot[Any]) -> None:
        app.theme = look
        await to_the_kitchen(pilot, "V" if mode == "plan" else "f")

    app = showing(lambda: ReplayScreen(path))
    assert snap_compare(app, terminal_size=USUAL, run_before=there)


@pytest.mark.heavy
@pytest.mark.usefixtures("colours")
@pytest.mark.parametrize("size", OTHERS)
async def test_the_view_of_a_replay_in_other_sizes(size: tuple[int, int], tmp_path: Path) -> None:
    save_recent(RecentChoices(view="house"))
    path = recorded(tmp_path / "e.jsonl", "example:1", KITCHEN)
    seen = ("doll's house", "Story", "countertop 1", "turn 3 of 3", "v view")
    await shows(showing(lambda: ReplayScreen(path)), size, to_the_kitchen, *seen)


async def to_the_kitchen(pilot: Pilot[Any], key: str = "f") -> None:
    """Goes to the end of the game in the kitchen, and presses ``key``."""
    await until(pilot, lambda: "REPLAY" in screen_text(pilot.app))
    await pilot.press("end", key)
    await until(pilot, lambda: "turn 3 of 3" in screen_text(pilot.app))
    await drawn(pilot)


@pytest.mark.heavy
@pytest.mark.usefixtures("colours")
def test_the_view_of_a_race(snap_compare: Compare) -> None:
    assert snap_compare(showing(lambda: RaceScreen(game())), terminal_size=USUAL, run_before=raced_with_a_view)


@pytest.mark.heavy
@pytest.mark.usefixtures("colours")
@pytest.mark.parametrize("size", OTHERS)
async def test_the_view_of_a_race_in_other_sizes(size: tuple[int, int]) -> None:
    seen = ("RACE", "made-up plan", "You · turn 2", "your turn turn 3", "q quit")
    await shows(showing(lambda: RaceScreen(game())), size, raced_with_a_view, *seen)


async def raced_with_a_view(pilot: Pilot[Any]) -> None:
    """Plays two turns, and shows the View."""
    await race(pilot, ("go to fridge 1", "open fridge 1"), "turn 2 · waiting")
    screen = pilot.app.screen
    assert isinstance(screen, ViewScreen)
    await pilot.press("escape", *([] if screen.view.mode == "house" else ["v"]))
    await drawn(pilot)
