"""The replay of an agent by a camera: its claims and its map at each turn, found out again from the record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from housequest.agent.episodes.record import EpisodeRecorder
from housequest.tui.commands.cast import make_cast
from housequest.tui.commands.play import replay
from housequest.tui.episode.recording import read_recording
from housequest.tui.replay.screen import ReplayScreen
from housequest.worlds.errors import ConfigurationError
from tests.agent.alfred.test_glimpses import episode
from tests.agent.episodes.acting import recorded
from tests.tui.screen import press, running_text, screen_text, showing, until

pytestmark = [pytest.mark.anyio, pytest.mark.heavy]


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that shows every colour, wherever the tests run."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "e.jsonl"
    with EpisodeRecorder(path) as recorder:
        for event in episode()[0]:
            recorder(event)
    return path


async def test_claims_and_map_of_each_turn_are_there_again(record: Path) -> None:
    screen = ReplayScreen(record)
    async with showing(lambda: screen).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "claims  " in screen_text(pilot.app))
        first = screen_text(pilot.app)
        assert "camera and map" in first and "skill  pick up the egg" in first and "│x  " not in first
        await press(pilot, "right", "right")
        await until(pilot, lambda: screen.view.settled)
        later = screen_text(pilot.app)
        assert "claims  " in later and later != first
        await press(pilot, "s")
        assert "There is no skill further on." in running_text(pilot.app)
        await press(pilot, "S")
        await until(pilot, lambda: screen.place == 0)
        await press(pilot, "end")
        await until(pilot, lambda: screen.view.settled)
        assert "It has not looked at this picture yet." in running_text(pilot.app)


async def test_a_text_game_is_offered_no_steps_by_skill(tmp_path: Path) -> None:
    screen = ReplayScreen(recorded(tmp_path / "house.jsonl", "example:1", ("look",)))
    async with showing(lambda: screen).run_test(size=(200, 50)) as pilot:
        await until(pilot, lambda: "opening of" in screen_text(pilot.app))
        assert "f thoughts" in screen_text(pilot.app) and "next skill" not in screen_text(pilot.app)


def test_a_cast_shows_them_and_is_the_same_each_time(record: Path) -> None:
    cast = make_cast(read_recording(record), (120, 40), view="camera")
    assert cast == make_cast(read_recording(record), (120, 40), view="camera")
    assert "claims" in "".join(json.loads(line)[2] for line in cast.splitlines()[1:])


def test_who_has_no_camera_gets_no_such_cast_and_no_frame_has_words(record: Path, tmp_path: Path) -> None:
    house = recorded(tmp_path / "house.jsonl", "example:1", ())
    with pytest.raises(ConfigurationError, match="this record has no camera"):
        make_cast(read_recording(house), view="camera")
    with pytest.raises(ConfigurationError, match="PNGs have none"):
        replay(record, frames=tmp_path / "frames", drawing="camera")
    replay(record, frames=tmp_path / "eyes", drawing="eyes", size="60x40")
    assert len(list((tmp_path / "eyes").glob("*.png"))) == len(read_recording(record).branches[-1].stops)
