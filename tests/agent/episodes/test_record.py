"""Episodes on disk: what is written is what is read, whatever is in it and wherever it was cut."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Ended, Event, Thought
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, as_played, read_clocks, read_episode
from housequest.agent.roles.base import clean
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world


def recorded(path: Path) -> list[Event]:
    world = make_world("scripted")
    told: list[Event | CallTiming] = []

    def listen(event: Event | CallTiming) -> None:
        told.append(event)
        recorder(event)

    with EpisodeRecorder(path) as recorder:
        agent = make_agent("expert", world=world)
        asyncio.run(run_episode(world.open(world.task("demo:2")), agent, EpisodeConfig(world), listen))
    return [event for event in told if isinstance(event, Event)]


def test_what_was_lived_is_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "one.jsonl"
    assert recorded(path) == list(read_episode(path))
    assert [file.name for file in path.parent.iterdir()] == ["one.jsonl"]


def test_two_equal_episodes_are_equal_bytes(tmp_path: Path) -> None:
    recorded(tmp_path / "a.jsonl")
    recorded(tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_an_unfinished_record_keeps_its_name(tmp_path: Path) -> None:
    with EpisodeRecorder(tmp_path / "a.jsonl") as recorder:
        recorder(Event(id=0, parent=None, body=Thought(role="r", text="t")))
    assert not (tmp_path / "a.jsonl").exists()
    assert len(list(read_episode(tmp_path / "a.jsonl.part"))) == 1


def test_clocks_are_kept_apart(tmp_path: Path) -> None:
    clock = io.BytesIO()
    with EpisodeRecorder(tmp_path / "a.jsonl", clock=clock, label='od"d') as recorder:
        recorder(CallTiming(of=3, seconds=0.5, cached=7))
    assert json.loads(clock.getvalue()) == {"episode": 'od"d', "of": 3, "seconds": 0.5, "attempts": 1, "cached": 7}
    assert (tmp_path / "a.jsonl.part").read_bytes() == b""


@given(st.text(st.characters(exclude_categories=[]), max_size=300))
def test_any_text_survives_the_way_to_disk(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        event = Event(id=0, parent=None, body=Thought(role="r", text=clean(text)))
        end = Event(id=1, parent=0, body=Ended(outcome="lost", reason="", turns=0, steps=0, refused=0))
        with EpisodeRecorder(path) as recorder:
            recorder(event)
            recorder(end)
        assert list(read_episode(path)) == [event, end]


@given(cut=st.integers(min_value=0, max_value=4000))
def test_a_record_cut_anywhere_is_read_up_to_there(cut: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        whole = recorded(path)
        path.write_bytes(path.read_bytes()[:cut])
        read = list(read_episode(path))
        assert read == whole[: len(read)]


@given(st.binary(max_size=200))
def test_any_bytes_are_events_or_an_error_with_the_line(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_bytes(content + b"\n")
        with pytest.raises(ConfigurationError, match=r"a\.jsonl:\d+"):
            list(read_episode(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.jsonl"):
        list(read_episode(tmp_path / "nowhere.jsonl"))


def said(id: int, text: str = "t") -> Event:
    return Event(id=id, parent=None if id == 0 else id - 1, body=Thought(role="r", text=text))


def end(id: int) -> Event:
    return Event(id=id, parent=id - 1, body=Ended(outcome="lost", reason="", turns=0, steps=0, refused=0))


def test_a_branch_played_after_the_end_keeps_the_record_unfinished_until_its_own_end(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with EpisodeRecorder(path) as recorder:
        for event in (said(0), end(1), said(2)):
            recorder(event)
    assert not path.exists()
    with EpisodeRecorder(path, resume=True) as recorder:
        recorder(end(3))
    assert list(read_episode(path)) == [said(0), end(1), said(2), end(3)]


def test_a_whole_record_is_gone_on_with_under_its_unfinished_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with EpisodeRecorder(path) as recorder:
        recorder(said(0))
        recorder(end(1))
    with EpisodeRecorder(path, resume=True):
        assert not path.exists()
    assert list(read_episode(path)) == [said(0), end(1)], "nothing came of it, and the episode has still ended"
    with EpisodeRecorder(path, resume=True) as recorder:
        recorder(said(2))
    assert not path.exists()


def test_there_need_be_nothing_to_go_on_with(tmp_path: Path) -> None:
    with EpisodeRecorder(tmp_path / "a.jsonl", resume=True) as recorder:
        recorder(said(0))
    assert list(read_episode(tmp_path / "a.jsonl.part")) == [said(0)]


@given(cut=st.integers(min_value=0, max_value=400))
def test_a_line_that_was_cut_off_is_no_part_of_what_is_gone_on_with(cut: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        with EpisodeRecorder(path) as recorder:
            for number in range(4):
                recorder(said(number, "\u2028 ü " * 5))
        recorder.part.write_bytes(recorder.part.read_bytes()[:cut])
        before = list(read_episode(recorder.part))
        with EpisodeRecorder(path, resume=True) as recorder:
            recorder(end(9))
        assert list(read_episode(path)) == [*before, end(9)]


def test_clocks_are_read_back_with_their_events(tmp_path: Path) -> None:
    path, timing = tmp_path / "a.jsonl", tmp_path / "a.timing.jsonl"
    clocks = [CallTiming(of=0, seconds=0.5, cached=7), CallTiming(of=2, seconds=1.0, attempts=3), CallTiming(of=2, seconds=2.0)]
    with timing.open("wb") as file, EpisodeRecorder(path, clock=file, label="a") as recorder:
        for number in range(3):
            recorder(said(number))
        for clock in clocks:
            recorder(clock)
    with timing.open("a") as file:
        file.write('{"episode": "b", "of": 1, "seconds": 4}\n{"episode": "a", "of": 1, "sec')
    assert list(read_clocks(timing, "a")) == clocks
    assert [clock.of for clock in read_clocks(timing)] == [0, 2, 2, 1]
    timing.write_bytes(b"".join(timing.read_bytes().splitlines(keepends=True)[:3]))
    assert list(as_played(read_episode(recorder.part), timing)) == [said(0), clocks[0], said(1), said(2), clocks[2]]
    assert list(as_played(read_episode(recorder.part), tmp_path / "none")) == [said(0), said(1), said(2)]


@given(st.binary(max_size=100))
def test_any_bytes_are_clocks_or_an_error_with_the_line(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.timing.jsonl"
        path.write_bytes(content + b"\n")
        with pytest.raises(ConfigurationError, match=r"a\.timing\.jsonl:\d+"):
            list(read_clocks(path))
