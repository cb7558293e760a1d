"""Runs: frozen, resumable, and equal byte for byte whatever the number of workers."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.responses import JSONResponse

from housequest.agent.config import configure
from housequest.agent.evaluation.analysis.metrics import Summary
from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.render.report import RunReport
from housequest.agent.evaluation.runs.batch import RunOptions, RunProgress, run_batch
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import RunFolder, episode_name
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec, slug
from housequest.agent.models.registry import portable_name
from housequest.worlds.errors import ConfigurationError, HousequestError
from tests.agent.evaluation.recorded import in_format
from tests.backends.dialects import dialects
from tests.backends.server import Policy, Recorded, Response, Server, completion, serve, status, together


def plan(folder: Path, **flags: object) -> RunSpec:
    return make_run_spec(configure({"world": "scripted", "agent": "expert", **flags}, folder))


def play(planned: RunSpec, folder: Path, **options: object) -> Summary:
    return asyncio.run(run_batch(planned, folder, RunOptions(**options)))  # pyright: ignore[reportArgumentType]


def episodes(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "episodes").iterdir()}


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(lambda messages: "Thought: let me see\nAction: look") as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    """The endpoint of all these tests, as if nobody had asked it anything."""
    running.reset()
    running.policy = lambda messages: "Thought: let me see\nAction: look"
    return running


def test_a_run_has_all_it_was_made_of(tmp_path: Path) -> None:
    summary = play(plan(tmp_path, max_steps=9), tmp_path / "run")
    assert (summary.overall.episodes, summary.overall.won) == (3, 3)
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    assert manifest["configuration"]["max_turns"] == 9
    assert [task["id"] for task in manifest["tasks"]] == ["demo/find", "demo/bring", "demo/light"]
    assert manifest["of"] == 3
    assert {"actor", "reasoner", "react"} <= manifest["prompts"].keys()
    assert set(manifest["versions"]) == {"python", "openai"}
    assert str(tmp_path) not in json.dumps(manifest)
    assert sorted(episodes(tmp_path / "run")) == ["0001-demo-find.jsonl", "0002-demo-bring.jsonl", "0003-demo-light.jsonl"]
    index = [json.loads(line) for line in (tmp_path / "run" / "index.jsonl").read_text().splitlines()]
    assert [line["outcome"] for line in index] == ["won"] * 3


@pytest.mark.heavy
def test_the_number_of_workers_changes_nothing(tmp_path: Path, server: Server) -> None:
    for agent, model in (("expert", None), ("react", server.model())):
        for workers in (1, 8):
            play(plan(tmp_path, agent=agent, model=model, max_steps=4), tmp_path / f"{agent}{workers}", concurrency=workers)
        assert episodes(tmp_path / f"{agent}1") == episodes(tmp_path / f"{agent}8")
        for name in ("run.json", "index.jsonl"):
            assert (tmp_path / f"{agent}1" / name).read_bytes() == (tmp_path / f"{agent}8" / name).read_bytes()


@pytest.mark.heavy
def test_what_a_server_does_not_take_is_said_in_its_report(tmp_path: Path, server: Server) -> None:
    for name, dialect in (("taken", None), ("untaken", "one temperature"), ("thinking", "content in parts")):
        server.reset()
        if dialect is not None:
            server.behave(otherwise=dialects()[dialect])
        play(plan(tmp_path, agent="react", model=server.model(), max_steps=2), tmp_path / name, concurrency=8)
    runs = {name: RunReport(read_for_comparison(RunFolder(tmp_path / name))) for name in ("taken", "untaken", "thinking")}
    assert runs["taken"].card["asked"] == "as a chat"
    assert runs["untaken"].card["asked"] == "as a chat; temperature not taken: the server's default holds"
    assert any("Greedy replies were asked for and not given" in line for line in runs["untaken"].sentences())
    assert any(" of them thinking)" in line for line in runs["thinking"].sentences())
    assert episodes(tmp_path / "untaken").keys() == episodes(tmp_path / "taken").keys()
    tokens = [json.loads(line)["thinking_tokens"] for line in (tmp_path / "thinking" / "index.jsonl").read_text().splitlines()]
    assert all(tokens)


def test_workers_are_episodes_in_flight(tmp_path: Path, server: Server) -> None:

    meeting = together(3)
    server.behave(meeting, meeting, meeting)
    summary = play(plan(tmp_path, agent="react", model=server.model(), max_steps=1), tmp_path / "run", concurrency=3)
    assert (summary.overall.lost, summary.overall.calls) == (3, 3)


def test_cycles_are_searched_for_less_often_while_a_batch_is_played(tmp_path: Path) -> None:
    before, seen = gc.get_threshold(), set[tuple[int, int, int]]()

    def watch(progress: RunProgress) -> None:
        seen.add(gc.get_threshold())

    play(plan(tmp_path), tmp_path / "run", watcher=watch)
    assert len(seen) == 1
    assert seen.pop()[0] > before[0]
    assert gc.get_threshold() == before


def test_clocks_lie_apart(tmp_path: Path, server: Server) -> None:
    play(plan(tmp_path, agent="react", model=server.model(), max_steps=2), tmp_path / "run")
    timing = [json.loads(line) for line in (tmp_path / "run" / "timing.jsonl").read_text().splitlines()]
    assert {line["episode"] for line in timing} == {"0001-demo-find", "0002-demo-bring", "0003-demo-light"}
    assert len(timing) == 6
    rest = b"".join(episodes(tmp_path / "run").values()) + (tmp_path / "run" / "run.json").read_bytes()
    assert b"seconds" not in rest
    assert str(server.port).encode() not in rest


def test_figures_that_cannot_be_are_not_believed_and_a_record_that_holds_them_is_read(tmp_path: Path, server: Server) -> None:
    async def lie(recorded: Recorded, policy: Policy) -> Response:
        usage = {"prompt_tokens": 2**52, "completion_tokens": 2**52}
        return JSONResponse({**completion(policy(recorded.messages), recorded), "usage": usage})

    server.behave(otherwise=lie)
    planned = plan(tmp_path, agent="react", model=server.model(), max_steps=4)
    assert play(planned, tmp_path / "run").overall.prompt_tokens is None
    # The figures stand in the episodes, whose index could not be written.
    run = RunFolder(tmp_path / "run")
    results = run.results(planned.manifest.tasks)
    said = '"prompt_tokens":4503599627370496,"completion_tokens":4503599627370496,'
    for file in run.episodes.iterdir():
        lines = file.read_text().splitlines()
        changed = [line.replace('"finish":', f'{said}"finish":') for line in lines]
        assert changed != lines
        file.write_text("".join(f"{line}\n" for line in changed))
    run.index_file.write_bytes(b"")
    assert RunReport(read_for_comparison(run)).data()["unfinished"] == 3
    assert play(planned, tmp_path / "run").overall.finished == 3
    again = run.results(planned.manifest.tasks)
    bare = {"episode_sha256": None}
    assert [each.model_copy(update=bare) for each in again] == [each.model_copy(update=bare) for each in results]


def test_a_finished_run_is_not_played_again(tmp_path: Path) -> None:
    play(plan(tmp_path), tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "episodes").iterdir()}
    seen: list[RunProgress] = []
    summary = play(plan(tmp_path), tmp_path / "run", watcher=seen.append)
    assert summary.overall.won == 3
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "episodes").iterdir()}
    assert seen == [RunProgress(done=3, total=3, won=3, errors=0, resumed=3)]


@pytest.mark.heavy
def test_an_interrupted_run_goes_on_wherever_the_server_now_is(tmp_path: Path, server: Server) -> None:
    async def interrupted() -> None:
        def stop(progress: RunProgress) -> None:
            if progress.done:
                batch.cancel()

        options = RunOptions(concurrency=2, watcher=stop)
        batch = asyncio.create_task(run_batch(first, tmp_path / "run", options))
        await batch

    first = plan(tmp_path, agent="react", model=server.model(), max_steps=3)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert 0 < len((tmp_path / "run" / "index.jsonl").read_text().splitlines()) < 3
    with serve(server.policy) as moved:
        again = plan(tmp_path, agent="react", model=moved.model(), max_steps=3)
        play(again, tmp_path / "run", concurrency=2)
        play(again, tmp_path / "whole")
    assert episodes(tmp_path / "run") == episodes(tmp_path / "whole")
    assert (tmp_path / "run" / "index.jsonl").read_bytes() == (tmp_path / "whole" / "index.jsonl").read_bytes()


@pytest.mark.heavy
@pytest.mark.parametrize("broken", ["half a line", "no line", "no file", "half an episode"])
def test_whatever_was_cut_off_is_made_whole(broken: str, tmp_path: Path) -> None:
    play(plan(tmp_path), tmp_path / "whole")
    play(plan(tmp_path), tmp_path / "run")
    index = tmp_path / "run" / "index.jsonl"
    lines = index.read_bytes().splitlines(keepends=True)
    episode = tmp_path / "run" / "episodes" / "0003-demo-light.jsonl"
    if broken == "half a line":
        index.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    elif broken == "no line":
        index.write_bytes(b"".join(lines[:2]))
    elif broken == "no file":
        episode.unlink()
    else:
        index.write_bytes(b"".join(lines[:2]))
        episode.with_name(f"{episode.name}.part").write_bytes(episode.read_bytes()[:500])
        episode.unlink()
    assert play(plan(tmp_path), tmp_path / "run").overall.won == 3
    assert episodes(tmp_path / "run") == episodes(tmp_path / "whole")
    assert index.read_bytes() == (tmp_path / "whole" / "index.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({"max_steps": 7}, "configuration.max_turns: 50 is now 7"),
        ({"limit": 1}, "tasks: 3 is now 1"),
        ({"seed": 5}, "configuration.seed: 0 is now 5"),
        ({"grant": ["type"]}, "configuration.grants"),
    ],
)
def test_a_changed_configuration_is_refused_with_the_difference(flags: dict[str, object], told: str, tmp_path: Path) -> None:
    play(plan(tmp_path), tmp_path / "run")
    before = episodes(tmp_path / "run")
    with pytest.raises(ConfigurationError) as caught:
        play(plan(tmp_path, **flags), tmp_path / "run")
    assert told in str(caught.value)
    assert str(tmp_path / "run") in str(caught.value)
    assert episodes(tmp_path / "run") == before


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("do not touch")
    with pytest.raises(ConfigurationError, match="is not the folder of a run"):
        play(plan(tmp_path), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"thesis.txt"}


def test_a_run_that_was_killed_before_it_began_can_begin(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / ".run.json.0badcafe.part").write_bytes(b"{")
    assert play(plan(tmp_path), tmp_path).overall.won == 3


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({"rules": "/dev/zero"}, "it is a device"),
        ({"agent": "react", "model": "scripted:/dev/zero"}, "it is a device"),
        ({"rules": "~nobody.of.that.name/x"}, "not known"),
    ],
)
def test_endless_files_and_unknown_homes_are_refused(flags: dict[str, object], told: str, tmp_path: Path) -> None:
    with pytest.raises(HousequestError, match=told):
        plan(tmp_path, **flags)


def test_two_commands_do_not_play_one_run(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with RunFolder(tmp_path / "run").locked(), pytest.raises(ConfigurationError, match="by another command"):
        play(plan(tmp_path), tmp_path / "run")
    assert play(plan(tmp_path), tmp_path / "run").overall.won == 3


@pytest.mark.heavy
def test_an_error_is_counted_named_and_retried_alone(tmp_path: Path, server: Server) -> None:
    server.behave(status(413), status(413))
    planned = plan(tmp_path, agent="react", model=server.model(), max_steps=2)
    summary = play(planned, tmp_path / "run")
    assert (summary.overall.episodes, summary.overall.errors, summary.overall.lost) == (3, 1, 2)
    assert [(each.task, each.boundary) for each in summary.errored] == [("demo/find", "model")]
    assert play(planned, tmp_path / "run").overall.errors == 1

    asked = len(server.requests)
    assert play(planned, tmp_path / "run", retry_errors=True).overall.errors == 0
    assert len(server.requests) == asked + 2
    play(planned, tmp_path / "whole")
    assert episodes(tmp_path / "run") == episodes(tmp_path / "whole")


@pytest.mark.parametrize(
    "flags", [{"agent": "nobody"}, {"agent": "react"}, {"agent": "human"}, {"world": "nowhere"}, {"split": "x"}]
)
def test_what_cannot_be_made_stops_the_run_before_it_begins(flags: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        play(plan(tmp_path, **flags), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_report_of_an_unfinished_run_says_so(tmp_path: Path) -> None:
    planned = plan(tmp_path)
    run = RunFolder(tmp_path / "run")
    run.begin(planned.manifest)
    report = RunReport(read_for_comparison(run))
    assert "Not finished: 3 of 3 episodes" in report.text()
    figures = report.data()
    assert (figures["episodes"], figures["unfinished"], figures["success"]) == (3, 3, None)


def test_the_json_has_what_is_promised(tmp_path: Path, server: Server) -> None:
    planned = plan(tmp_path, agent="react", model=server.model(), max_steps=2)
    play(planned, tmp_path / "run")
    figures = RunReport(read_for_comparison(RunFolder(tmp_path / "run"))).data()
    wanted = {"episodes", "won", "lost", "errors", "success", "interval", "by_type", "steps", "calls", "tokens"}
    assert wanted <= figures.keys()
    assert figures["calls"] == 6
    assert json.loads(json.dumps(figures)) == figures


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[" * 100_000, b'{"schema_version": 1}', b"null"])
def test_a_damaged_manifest_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        read_for_comparison(RunFolder(tmp_path))
    assert str(tmp_path / "run.json") in str(caught.value)


@pytest.mark.parametrize("line", [b"{}", b"\xff\xfe", b"[" * 100_000, b"nonsense"])
def test_a_damaged_index_is_named_with_its_line(line: bytes, tmp_path: Path) -> None:
    play(plan(tmp_path), tmp_path / "run")
    index = tmp_path / "run" / "index.jsonl"
    index.write_bytes(index.read_bytes() + line + b"\n")
    with pytest.raises(ConfigurationError) as caught:
        read_for_comparison(RunFolder(tmp_path / "run"))
    assert f"{index}:4" in str(caught.value)


def test_names_of_files_are_safe() -> None:
    assert episode_name(SelectedTask(number=17, id="valid_seen/a b/../\x1b\u202e/trial", type="x")).startswith(
        "0017-valid_seen-a-b-"
    )
    assert slug("../../etc/passwd") == "etc-passwd"
    assert slug("\udcff\x00") == "x"
    assert len(slug("x" * 10_000)) == 120


def test_a_model_is_recorded_without_its_place(tmp_path: Path) -> None:
    assert portable_name("openai:org/name@http://127.0.0.1:8000/v1") == "openai:org/name"
    assert portable_name("openai:name") == "openai:name"
    assert portable_name(f"scripted:{tmp_path / 'replies.yaml'}") == "scripted:replies.yaml"


@pytest.mark.games
def test_the_expert_over_a_published_split(alfworld_games: Path, tmp_path: Path) -> None:
    planned = plan(tmp_path, world="alfworld", split="valid_seen")
    first = play(planned, tmp_path / "one", concurrency=1)
    play(planned, tmp_path / "eight", concurrency=8)
    assert (first.overall.episodes, first.overall.errors) == (140, 0)
    assert episodes(tmp_path / "one") == episodes(tmp_path / "eight")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ('"format": "0.3", "colour": "blue"', "was written in format 0.3, and this version reads 0.2; update housequest"),
        ('"schema_version": 1', r"was written in format 1 \(before 0.2\), which this version cannot read; play it again"),
    ],
)
def test_a_run_of_another_format_is_refused(fields: str, told: str, tmp_path: Path) -> None:
    play(plan(tmp_path), tmp_path / "run")
    in_format(tmp_path / "run" / "run.json", fields)
    for use in (RunFolder(tmp_path / "run").manifest, lambda: play(plan(tmp_path), tmp_path / "run")):
        with pytest.raises(ConfigurationError, match=rf"run\.json {told}"):
            use()
