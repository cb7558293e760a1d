"""A record read back to be scrubbed through: its branches, its clocks, and whatever may be wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from housequest.agent.episodes.events import Event
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import episode_name
from housequest.tui.episode.recording import ReplayStop, read_recording
from housequest.tui.episode.state import replayed
from housequest.worlds.errors import ConfigurationError, HousequestError
from tests.tui.recorded import Said, lines, long, rewound, started, step, write


def clocks(path: Path, *clocked: tuple[str, int, float]) -> None:
    """Write clocks: label, event and seconds."""
    path.write_text("".join(json.dumps({"episode": label, "of": of, "seconds": s}) + "\n" for label, of, s in clocked), "utf-8")


def test_each_branch_has_a_stop_for_each_of_its_turns(tmp_path: Path) -> None:
    recording = read_recording(write(tmp_path / "e.jsonl", rewound()))
    left, played = recording.branches
    assert [stop.id for stop in left.stops] == [0, 3, 4, 5, 6]
    assert [stop.id for stop in played.stops] == [0, 3, 9, 12]
    assert [stop.refused for stop in left.stops] == [False, False, True, False, False]
    assert [stop.replanned for stop in played.stops] == [False, True, True, False]
    assert left.failure is None
    assert played.failure is not None
    assert [place for place, stop in enumerate(played.stops) if stop.lost] == [played.failure.turn]
    assert recording.faults == ()


def test_the_last_stop_shows_how_it_ended(tmp_path: Path) -> None:
    recording = read_recording(write(tmp_path / "e.jsonl", rewound()))
    moments = [recording.state.at(branch.stops[-1].id).moment for branch in recording.branches]
    assert [moment.ended is not None for moment in moments] == [False, True]
    assert [[entry.command for entry in moment.story] for moment in moments] == [
        ["look", "fly", "wait", "look again"],
        ["look", "go to study", "eat coin"],
    ]


def test_the_state_is_that_of_living_it(tmp_path: Path) -> None:
    events = [Event(id=number, parent=one.parent, body=one.body) for number, one in enumerate(rewound())]
    assert read_recording(write(tmp_path / "e.jsonl", rewound())).state == replayed(events)


def test_clocks_beside_the_record_count_up_to_where_one_looks(tmp_path: Path) -> None:
    path = write(tmp_path / "e.jsonl.part", rewound())
    clocks(tmp_path / "e.timing.jsonl", ("e", 2, 1.5), ("e", 10, 2.0))
    recording = read_recording(path)
    seconds = [recording.state.at(stop.id).totals.seconds for stop in recording.branches[-1].stops]
    assert seconds == [0, 1.5, 1.5, 3.5]


def test_a_run_s_clocks_are_those_of_this_episode_and_its_last_attempt(tmp_path: Path) -> None:
    task = SelectedTask(number=2, id="demo/bring", type="bring")
    path = write(tmp_path / "episodes" / f"{episode_name(task)}.jsonl", rewound())
    label = episode_name(task)
    clocks(tmp_path / "timing.jsonl", (label, 2, 9.0), (label, 3, 9.0), ("another", 2, 7.0), (label, 2, 1.0), (label, 10, 1.0))
    assert read_recording(path).state.totals.seconds == 2.0


def test_damaged_clocks_are_told_and_do_no_harm(tmp_path: Path) -> None:
    path = write(tmp_path / "e.jsonl", rewound())
    (tmp_path / "e.timing.jsonl").write_bytes(b'{"episode": "e", "of": 2, "seconds": 1.0}\n[1]\n')
    recording = read_recording(path)
    assert recording.state.totals.seconds == 1.0
    assert "e.timing.jsonl:2" in recording.faults[0]


def test_a_record_that_broke_off_says_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl.part"
    path.write_bytes(lines(long(30)[:-1])[:-20])
    recording = read_recording(path)
    assert len(recording.branches[0].stops) == 30
    assert recording.faults == ()


def test_a_damaged_record_is_shown_up_to_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(lines(long(30)[:11]) + b"\xff\x00 junk\n" + lines(long(30)))
    recording = read_recording(path)
    assert len(recording.branches[0].stops) == 11
    assert "e.jsonl:12" in recording.faults[0]


@pytest.mark.parametrize("said", [(step(1, "look"),), (started(), started()), ()])
def test_what_does_not_begin_as_an_episode_does(said: tuple[object, ...], tmp_path: Path) -> None:
    bodies = [Said(None if not number else number - 1, body) for number, body in enumerate(said)]  # pyright: ignore[reportArgumentType]
    path = write(tmp_path / "e.jsonl", bodies)
    if len(said) == 2:
        assert read_recording(path).branches[0].stops == (ReplayStop(0),)
        return
    with pytest.raises(ConfigurationError, match=r"e\.jsonl"):
        read_recording(path)


@pytest.mark.parametrize("parent", [7, 1, None])
def test_an_event_out_of_its_place_ends_the_record(parent: int | None, tmp_path: Path) -> None:
    recording = read_recording(write(tmp_path / "e.jsonl", [Said(None, started()), Said(parent, step(1, "look"))]))
    assert recording.branches[0].stops == (ReplayStop(0),)
    assert "event 1 is not in its place" in recording.faults[0]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_recording(tmp_path / "gone.jsonl")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_nothing_in_a_file_ends_in_a_traceback(data: st.DataObject, tmp_path: Path) -> None:
    whole = lines(rewound())
    at = data.draw(st.integers(0, len(whole)))
    junk = data.draw(st.binary(max_size=40))
    (tmp_path / "e.timing.jsonl").write_bytes(data.draw(st.binary(max_size=80)))
    path = tmp_path / "e.jsonl"
    path.write_bytes(whole[:at] + junk + whole[at + data.draw(st.integers(0, 40)) :])
    try:
        recording = read_recording(path)
    except HousequestError as error:
        assert path.name in str(error)
    else:
        assert all(recording.state.at(stop.id).moment.started for branch in recording.branches for stop in branch.stops)
