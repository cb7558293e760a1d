"""Clocks: only the attempt that stands counts, and no broken line ends a report."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import JSONResponse, Response

from housequest.agent.config import configure
from housequest.agent.episodes.record import LONGEST_LINE
from housequest.agent.evaluation.analysis.run import card_differences, read_for_comparison
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import RunFolder, episode_name
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.evaluation.runs.usage import EpisodeTiming, timings_of
from tests.backends.server import Policy, Recorded, Server, completion

TASK = SelectedTask(number=1, id="demo/find", type="find")
NAME = episode_name(TASK)


def clock(folder: Path, *lines: object) -> EpisodeTiming | None:
    folder.mkdir(exist_ok=True)
    run = RunFolder(folder)
    written = (line if isinstance(line, str) else json.dumps({"episode": NAME, **line}) + "\n" for line in lines)  # pyright: ignore
    run.timing_file.write_text("".join(written))
    return timings_of(run, [TASK]).get(TASK.id)


def test_calls_are_summed(tmp_path: Path) -> None:
    lines = ({"of": 1, "seconds": 1.5, "cached": 10}, {"of": 4, "seconds": 2.0, "attempts": 3})
    assert clock(tmp_path, *lines) == EpisodeTiming(model=3.5, cached=10)


def test_only_the_attempt_that_stands_counts(tmp_path: Path) -> None:
    """An errored episode was played again; then a call was made again, for its event had been lost."""
    first = [{"of": number, "seconds": 100.0} for number in (1, 5, 9)]
    again = [{"of": 1, "seconds": 1.0}, {"of": 5, "seconds": 50.0}, {"of": 5, "seconds": 2.0}]
    assert clock(tmp_path, *first, *again) == EpisodeTiming(model=3.0)


def test_a_line_that_was_cut_off_is_no_clock(tmp_path: Path) -> None:
    """A killed command leaves half a line, and the next one went on behind it."""
    whole = {"of": 1, "seconds": 1.0}
    half = '{"episode": "0001-demo-f'
    assert clock(tmp_path, half, whole, {"of": 2, "seconds": 3.0}, half) == EpisodeTiming(model=3.0)


@pytest.mark.parametrize(
    "line",
    [
        '{"of": 1}',
        "[]",
        "[" * 100_000,
        '{"episode": "x", "of": 1, "seconds": NaN}',
        "\\ud800",
        '{"episode": "0001-demo-find", "of": 1, "seconds": 1e300}',
    ],
)
def test_nonsense_is_no_clock(line: str, tmp_path: Path) -> None:
    assert clock(tmp_path, f"{line}\n") is None


def test_the_sittings_of_the_last_attempt_count(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.clock(TASK, 7.0)
    run.clock(TASK, 2.5)
    assert timings_of(run, [TASK]) == {TASK.id: EpisodeTiming(wall=2.5)}
    run.clock(TASK, 1.5, resumed=True)
    run.clock(TASK, 1.0, resumed=True)
    assert timings_of(run, [TASK]) == {TASK.id: EpisodeTiming(wall=5.0)}
    assert timings_of(RunFolder(tmp_path / "nowhere"), [TASK]) == {}


def test_a_line_of_many_megabytes_is_no_clock_and_hides_no_other(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.clock(TASK, 2.5)
    with run.walls_file.open("ab") as file:
        file.write(b"x" * (2 * LONGEST_LINE + 7) + b"\n")
    run.clock(TASK, 1.0, resumed=True)
    assert timings_of(run, [TASK]) == {TASK.id: EpisodeTiming(wall=3.5)}


@given(st.binary(max_size=200))
def test_any_bytes_are_clocks_or_none(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    run = RunFolder(tmp_path_factory.mktemp("run"))
    run.timing_file.write_bytes(content)
    run.walls_file.write_bytes(content)
    assert timings_of(run, [TASK]).keys() <= {TASK.id}


def test_what_answered_and_when_stands_on_the_card_and_does_not_set_runs_apart(tmp_path: Path, server: Server) -> None:
    flags = {"world": "scripted", "agent": "react", "model": server.model(), "limit": 1, "max_steps": 2}
    spec = make_run_spec(configure(flags, tmp_path))

    async def named(recorded: Recorded, policy: Policy) -> Response:
        told = {"model": "tester-2026-11", "system_fingerprint": "fp_7"}
        return JSONResponse(completion(policy(recorded.messages), recorded) | told)

    server.behave(otherwise=named)
    for name in ("one", "other"):
        asyncio.run(run_batch(spec, tmp_path / name))
    one, other = (read_for_comparison(RunFolder(tmp_path / name)) for name in ("one", "other"))
    assert one.card["served"] == "tester-2026-11, fp_7 at 127.0.0.1"
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d( to .*)? UTC", one.card["called"])
    later = replace(other, extras=replace(other.extras, clocks={}))
    assert set(card_differences(one.card, {**other.card, "called": "another day"})) == set()
    assert set(card_differences(one.card, later.card)) == {"served"}
