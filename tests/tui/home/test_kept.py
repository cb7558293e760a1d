"""Records of the world ``alfred`` in two versions of its boxes: they are replayed, and gone on with in the same boxes."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.agent.config import Settings
from housequest.agent.episodes.events import Started, Stepped
from housequest.agent.episodes.record import read_episode
from housequest.tui.home.catalogue import Catalogue, RecentChoices, recorded_games
from housequest.tui.play.game import ChosenGame, resume_game, settings_for
from housequest.tui.play.screen import PlayScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.worlds.paths import state_folder
from housequest.worlds.registry import make_world
from tests.agent.evaluation.runs.test_killed import finish
from tests.tui.screen import press, running_text, screen_text, showing, until

pytestmark = [pytest.mark.anyio, pytest.mark.heavy]

KEPT = Path(__file__).parent / "kept"
"""A person's eight turns in two versions of the boxes."""


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that shows every colour, wherever the tests run."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


def left(name: str) -> tuple[Path, ChosenGame]:
    """The kept record as one of a game that was left before its end, and how that goes on."""
    lines = (KEPT / name).read_bytes().splitlines(keepends=True)
    part = state_folder() / "episodes" / f"{name}.part"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(b"".join(lines[:-1]))
    (record,) = recorded_games(unfinished=True)
    return part, resume_game(Catalogue(Settings()), record, Settings(), RecentChoices())


@pytest.mark.parametrize("name", ["boxes-1.jsonl", "boxes-3.jsonl"])
async def test_a_kept_record_is_replayed(name: str) -> None:
    screen = ReplayScreen(KEPT / name)
    async with showing(lambda: screen).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: screen.stops)
        await press(pilot, "end")
        await until(pilot, lambda: screen.view.settled)
        assert screen.place == 8
        assert "MoveAhead" in screen_text(pilot.app) and "Stopped after 8 turns" in running_text(pilot.app)
        await until(pilot, lambda: "▀" in screen_text(pilot.app))


async def test_a_game_that_was_left_goes_on_where_it_was() -> None:
    part, game = left("boxes-3.jsonl")
    before = part.read_bytes()
    screen = PlayScreen(game, "you", part)
    app = showing(lambda: screen)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: screen.session.status.waiting == "turn")
        assert len(screen.play_state.state.moment.story) == 8
        await press(pilot, "shift+right")
        await until(pilot, lambda: len(screen.play_state.state.moment.story) == 9)
        await until(pilot, lambda: screen.session.status.waiting == "turn")
        await press(pilot, "q")
        await until(pilot, lambda: not app.is_running)
    (kept,) = (state_folder() / "episodes").glob("boxes-3.jsonl*")
    assert kept.read_bytes().startswith(before)
    turns = [event.body for event in read_episode(kept) if isinstance(event.body, Stepped)]
    assert (turns[8].command, turns[8].observation[:46]) == ("RotateRight", "You stand at x 0.50, z -0.75, facing 0 degrees")


async def test_a_game_in_other_boxes_does_not_go_on_and_says_why() -> None:
    part, game = left("boxes-1.jsonl")
    before = part.read_bytes()
    screen = PlayScreen(game, "you", part)
    async with showing(lambda: screen).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "engine is 'boxes 3' where 'boxes 1'" in running_text(pilot.app))
    assert part.read_bytes() == before


def test_a_game_goes_on_with_the_options_of_its_world(tmp_path: Path) -> None:
    (started, *_) = (event.body for event in read_episode(KEPT / "boxes-3.jsonl"))
    assert isinstance(started, Started)
    for world, options in (("alfred", {"skills": "oracle"}), ("alfworld", {"engine": "boxes"})):
        played = make_world(world, **options)
        begun = started.model_copy(update={"world": world, "engine": played.engine, "task": "example/kitchen"})
        settings = settings_for(begun, Settings(), RecentChoices())
        assert Catalogue(Settings()).world(settings).engine == played.engine


def test_a_run_that_was_ended_goes_on(tmp_path: Path) -> None:
    run = tmp_path / "run"
    line = ("eval", "--world", "alfred", "--agent", "expert", "--split", "example", "--limit", "2", "--out", str(run))
    finish(line)
    index, (_, second) = (run / "index.jsonl").read_bytes(), sorted((run / "episodes").iterdir())
    (run / "index.jsonl").write_bytes(index.splitlines(keepends=True)[0])
    second.unlink()
    finish(line)
    assert (run / "index.jsonl").read_bytes() == index
    assert sorted(path.name[:4] for path in (run / "episodes").glob("*.jsonl")) == ["0001", "0002"]
