"""Series: tasks played several times, and lost ones again; equal bytes for any number of workers, stopped or not."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, count
from pathlib import Path

import pytest
from starlette.responses import Response

from housequest.agent.config import Settings, configure
from housequest.agent.episodes.events import ModelCall, Outcome, Thought
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis.arms import Arm, in_the_end, read_arms, read_attempts
from housequest.agent.evaluation.analysis.metrics import Ceiling, Extras
from housequest.agent.evaluation.analysis.run import Run
from housequest.agent.evaluation.analysis.statistics import clustered, deviation, pass_at
from housequest.agent.evaluation.library import evaluate
from housequest.agent.evaluation.render.export import PublishedReport, as_csv, as_markdown, compare_published
from housequest.agent.evaluation.render.pages.render import figures_page
from housequest.agent.evaluation.render.report import ceiling_data
from housequest.agent.evaluation.render.series import AttemptsReport, SeedsReport
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, Stopped
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.shard import verify_sweep
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.evaluation.runs.sweep import SweepFolder, series, series_folder, series_kind
from housequest.agent.models.registry import make_model
from housequest.knowledge.rules import wilson
from housequest.worlds.errors import ConfigurationError
from tests.agent.evaluation.recorded import Lived, run
from tests.backends.few_shot import Continuing, text_of
from tests.backends.server import Messages, Policy, Recorded, Server, answer, serve, status

NOTE = "I should not have looked about. I go to the places where it may be."


def learner(messages: Messages) -> str:
    """Looks about until it has noted that this leads nowhere; the longest task needs two notes."""
    text = text_of(messages)
    if text.rstrip().endswith("Your plan:"):
        return NOTE
    hard = "soapbar" in text.partition("Now it is your turn.")[2]
    return Continuing(thinking=False)(messages) if text.count(NOTE) > hard else "look"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(learner) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.reset()
    running.continues = True
    return running


def retrying(server: Server, retries: int = 2, **more: object) -> Settings:
    settings = {"exemplars": "own", "thoughts": "turns", "reflect": "on"}
    flags = {
        "agent": "react",
        "model": server.model(),
        "split": "example",
        "max_steps": 30,
        "set": settings,
        "retry_lost": retries,
    }
    return configure({**flags, **more})


def played(settings: Settings, out: Path, **options: object) -> SweepFolder:
    kind = series_kind(settings)
    assert kind is not None
    folder = series_folder(kind, make_run_spec(settings), out)
    given = RunOptions(**options)  # pyright: ignore[reportArgumentType]
    for trial in series(settings, folder, retry_errors=given.retry_errors):
        asyncio.run(run_batch(trial.spec, folder.path / trial.folder, given))
    return folder


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a series but its clocks and what a report adds."""
    left_out = {"timing.jsonl", "walls.jsonl", "paths.jsonl", ".lock"}
    files = (file for file in folder.rglob("*") if file.is_file() and file.name not in left_out)
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def repeating(repeat: int = 3, **more: object) -> Settings:
    flags = {"agent": "expert", "split": "generated", "sample": 4, "seed": 5, "max_steps": 12, "set": {"search": "name"}}
    return configure({**flags, "repeat": repeat, **more})


@pytest.mark.heavy
def test_each_task_is_played_several_times_and_the_first_run_is_the_plain_one(tmp_path: Path) -> None:
    folder = played(repeating(), tmp_path / "three")
    assert [each.seed for each in folder.contents().runs] == [5, 6, 7]
    (arm,) = read_arms([folder.path])
    runs = arm.runs
    assert len({tuple(task.id for task in each.manifest.tasks) for each in runs}) == 1, "a draw is that of the first seed"
    assert [each.manifest.configuration.repeat for each in runs] == [None, 2, 3]
    plain = make_run_spec(repeating(1))
    asyncio.run(run_batch(plain, tmp_path / "plain"))
    assert content(tmp_path / "plain") == content(folder.path / "run-1")
    assert all(each.whole for each in verify_sweep(folder))


@pytest.mark.heavy
def test_more_repeats_go_on_with_those_that_there_are(tmp_path: Path) -> None:
    before = content(played(repeating(2), tmp_path / "runs").path)
    after = content(played(repeating(3), tmp_path / "runs").path)
    assert {name: each for name, each in after.items() if name in before and name != "sweep.json"} == {
        name: each for name, each in before.items() if name != "sweep.json"
    }
    assert after == content(played(repeating(3), tmp_path / "others", concurrency=3).path)


def test_repeats_and_retries_are_counted_one_at_a_time() -> None:
    with pytest.raises(ConfigurationError, match="cannot be given together"):
        series_kind(repeating(2, retry_lost=1))


@pytest.mark.heavy
def test_lost_tasks_are_played_again_with_what_was_noted(server: Server, tmp_path: Path) -> None:
    folder = played(retrying(server, retries=5), tmp_path / "run")
    runs = read_attempts(folder).attempts
    won = [[result.won for result in each.results] for each in runs]
    assert [len(each) for each in won] == [3, 3, 1], "won tasks are not played again, and it ends when all are won"
    assert [sum(each) for each in won] == [0, 2, 1]
    notes: list[int] = []
    for number, each in enumerate(runs, 1):
        for task in each.manifest.tasks:
            bodies = [event.body for event in read_episode(folder.run(f"attempt-{number}").episode(task))]
            said = [body for body in bodies if isinstance(body, Thought) and body.role == "reflection"]
            calls = [body for body in bodies if isinstance(body, ModelCall)]
            assert [body.role for body in calls].count("reflection") == len(said) == (number > 1)
            if number > 1:
                (story,) = calls[0].added
                assert story.content.count("> look") == 30
            notes.append(calls[-1 if number == 1 else 1].added[0].content.count(NOTE))
    assert notes == [0, 0, 0, 1, 1, 1, 2]


@pytest.mark.heavy
def test_what_errored_is_no_lost_attempt_and_is_played_before_the_next(server: Server, tmp_path: Path) -> None:
    refused = status(400, {"error": {"message": "too long", "type": "invalid_request_error"}})

    async def failing(recorded: Recorded, policy: Policy) -> Response:
        mine = text_of(recorded.messages).partition("Now it is your turn.")[2]
        return await (refused if "soapbar" in mine else answer)(recorded, policy)

    server.behave(otherwise=failing)
    folder = played(retrying(server), tmp_path / "run")
    (only,) = read_attempts(folder).attempts
    assert [result.outcome for result in only.results].count("error") == 1
    report = AttemptsReport(read_attempts(folder))
    assert "Attempt 1 has 1 errored episode" in " ".join(report.text().split())
    assert [(each["errors"], each["unfinished"]) for each in report.data()["after"]] == [(1, 0)]  # pyright: ignore
    server.behave(otherwise=answer)
    mended = content(played(retrying(server), folder.path, retry_errors=True).path)
    assert sum(run.summary.overall.errors for run in read_attempts(folder).attempts) == 0
    assert mended == content(played(retrying(server), tmp_path / "whole").path)


@pytest.mark.heavy
def test_what_errors_whenever_it_is_played_keeps_no_other_task_waiting(server: Server, tmp_path: Path) -> None:
    """Once it was played again in vain, it is an error of its own, and the others have their attempts."""
    refused = status(400, {"error": {"message": "too long", "type": "invalid_request_error"}})

    async def failing(recorded: Recorded, policy: Policy) -> Response:
        mine = text_of(recorded.messages).partition("Now it is your turn.")[2]
        return await (refused if "soapbar" in mine else answer)(recorded, policy)

    server.behave(otherwise=failing)
    folder = played(retrying(server), tmp_path / "run")
    assert len(read_attempts(folder).attempts) == 1
    played(retrying(server), folder.path, retry_errors=True)
    first, second = read_attempts(folder).attempts
    assert [(one.summary.overall.errors, one.summary.overall.won) for one in (first, second)] == [(1, 0), (0, 2)]
    assert len(second.manifest.tasks) == 2
    whole = content(folder.path)
    # It goes on as it went on, also once what errored can be played: the task's later attempts have begun without it.
    assert content(played(retrying(server), folder.path).path) == whole
    server.behave(otherwise=answer)
    played(retrying(server), folder.path, retry_errors=True)
    first, second = read_attempts(folder).attempts
    assert first.summary.overall.errors == 0
    assert len(second.manifest.tasks) == 2


@pytest.mark.heavy
def test_a_series_that_goes_on_still_lists_the_attempts_that_follow(server: Server, tmp_path: Path) -> None:
    folder = played(retrying(server), tmp_path / "run")
    assert len(folder.contents().runs) == 3
    next(series(retrying(server), folder))
    assert len(folder.contents().runs) == 3


@pytest.mark.heavy
def test_a_reflection_sees_the_thoughts_and_what_could_not_be_read(server: Server, tmp_path: Path) -> None:
    lines = ("think: it is in the drawer.", "look", "look " * 99)
    stories: list[str] = []

    def thinking(messages: Messages) -> str:
        text = text_of(messages)
        if text.rstrip().endswith("Your plan:"):
            stories.append(text.partition("This is what happened:")[2])
            return NOTE
        return lines[text.partition("Now it is your turn.")[2].count("\n>") % 3 - 1]

    server.policy = thinking
    try:
        played(retrying(server, retries=1, max_steps=3, limit=1), tmp_path / "run")
    finally:
        server.policy = learner
    (story,) = stories
    assert "> think: it is in the drawer.\nOK.\n> look\n" in story
    assert story.count("\nNothing happens.") == 1
    assert f"> {('look ' * 99).strip()}\nNothing happens." in story


@pytest.mark.heavy
def test_without_reflection_it_is_only_played_again(server: Server, tmp_path: Path) -> None:
    plain = {"exemplars": "own", "thoughts": "turns"}
    folder = played(retrying(server, retries=1, set=plain), tmp_path / "run")
    first, second = read_attempts(folder).attempts
    assert len(second.results) == len(first.results) == 3
    assert not any("Your plan:" in request.text for request in server.requests)


@pytest.mark.heavy
def test_a_series_that_is_stopped_again_and_again_is_equal_to_the_last_byte(server: Server, tmp_path: Path) -> None:
    whole = content(played(retrying(server), tmp_path / "whole").path)
    assert whole == content(played(retrying(server), tmp_path / "many", concurrency=4).path)
    settings = retrying(server)
    folder = series_folder("attempts", make_run_spec(settings), tmp_path / "stopped")
    for calls in count(17, 17):
        try:
            for trial in series(settings, folder):
                tracker = BudgetTracker(Budget(calls=calls))
                options = RunOptions(concurrency=2, model=make_model(server.model(), wait=0.001))
                asyncio.run(run_batch(trial.spec, folder.path / trial.folder, options, tracker))
            break
        except Stopped:
            assert calls < 1_000
    assert content(folder.path) == whole


@pytest.mark.heavy
def test_attempts_are_told_apart_from_the_first(server: Server, tmp_path: Path) -> None:
    report = AttemptsReport(read_attempts(played(retrying(server), tmp_path / "run")))
    text = report.text()
    assert "Success: 0.0 % at the first attempt" in text
    assert "Retries: 100.0 % after 3 attempts. That is another measure" in text
    assert max(map(len, text.splitlines())) <= 80
    figures = report.data()
    assert json.loads(json.dumps(figures)) == figures
    assert [each["success"] for each in figures["after"]] == [0, 2 / 3, 1]  # pyright: ignore
    assert evaluate(out=tmp_path / "run", **retrying(server).model_dump(exclude_unset=True)) == tmp_path / "run"


@pytest.mark.heavy
def test_other_episodes_before_are_another_run(server: Server, tmp_path: Path) -> None:
    settings = retrying(server, retries=1)
    folder = played(settings, tmp_path / "run")
    server.policy = lambda messages: "inventory"
    try:
        other = played(settings, tmp_path / "other")
    finally:
        server.policy = learner
    (folder.path / "attempt-1").rename(tmp_path / "kept")
    (other.path / "attempt-1").rename(folder.path / "attempt-1")
    with pytest.raises(ConfigurationError, match=r"configuration\.earlier"):
        played(settings, folder.path)


def test_pass_at_k_is_the_share_of_draws_with_a_win() -> None:
    for tries in range(1, 7):
        for won in range(tries + 1):
            for k in range(1, tries + 1):
                draws = list(combinations(range(tries), k))
                share = sum(any(one < won for one in draw) for draw in draws) / len(draws)
                assert pass_at(k, tries, won) == pytest.approx(share)
    for k, tries, won in ((0, 3, 1), (4, 3, 1), (1, 3, 4), (1, 3, -1)):
        with pytest.raises(ValueError, match="cannot be drawn"):
            pass_at(k, tries, won)
    assert deviation([0.5]) is None
    assert deviation([0.0, 1.0]) == pytest.approx(0.5**0.5)


def repeated(folder: Path, *outcomes: Sequence[Outcome | None], **more: object) -> SeedsReport:
    """The report of recorded runs of the same tasks, each with one call a turn."""
    for seed, each in enumerate(outcomes):
        lived = [Lived(number, outcome, calls=True) for number, outcome in enumerate(each, 1)]
        run(folder / str(seed), lived, seed=seed, **more)  # pyright: ignore[reportArgumentType]
    (arm,) = read_arms([folder / str(seed) for seed in range(len(outcomes))])
    return SeedsReport(arm)


def test_mean_spread_pass_at_k_and_best_are_named_apart(tmp_path: Path) -> None:
    report = repeated(
        tmp_path, ("won", "lost", "lost", "error"), ("won", "won", "lost", "lost"), ("won", "lost", "lost", "lost")
    )
    assert report.arm.pass_at() == pytest.approx({1: 1 / 3, 2: (1 + 2 / 3) / 4, 3: 0.5})
    text = " ".join(report.text().split())
    assert "Spread of success: from 25.0 % to 50.0 %, standard deviation 14.4 %." in text
    assert "pass@1 33.3 %, pass@2 41.7 %, pass@3 50.0 %" in text
    assert "Best of 3 runs: 50.0 %. That is chosen by its result, and no mean." in text
    assert "success 33.3 %" in text
    success = report.data()["spread"]
    assert isinstance(success, dict)
    assert (success["least"], success["best"], list(success["pass_at"])) == (0.25, 0.5, ["1", "2", "3"])  # pyright: ignore


def test_repeats_that_do_not_differ_have_the_interval_of_one_run(tmp_path: Path) -> None:
    """Greedy runs are equal: three of them say no more of other tasks than one."""
    outcomes: tuple[Outcome, ...] = (*["won"] * 7, *["lost"] * 3)  # pyright: ignore[reportAssignmentType]
    report = repeated(tmp_path, outcomes, outcomes, outcomes)
    success = report.data()["over_seeds"]["success"]  # pyright: ignore
    one, three = wilson(7, 10), clustered([(3, 3)] * 7 + [(0, 3)] * 3)
    assert success["interval"] is None
    assert success["over_tasks"] == pytest.approx([three.low, three.high])
    assert report.every.overall.interval == three
    assert report.runs[0].summary.overall.interval == one
    assert three.low < one.low < one.high < three.high
    assert "success 70.0 % 34.8 % to 93.3 % -" in " ".join(report.text().split())


def test_repeats_that_are_not_finished_have_no_spread(tmp_path: Path) -> None:
    report = repeated(tmp_path, ("won", "lost", "won"), ("won", None, None))
    text = " ".join(report.text().split())
    assert "Not finished: 2 of 6 episodes. All figures are of those that were played." in text
    assert "left out until every run is finished" in text
    assert "pass@1" not in text and "Best of" not in text and "standard deviation" not in text
    assert report.data()["spread"] is None


def test_a_series_tells_what_a_run_tells(tmp_path: Path) -> None:
    report = repeated(tmp_path, ("won", "lost"), ("won", "error"))
    data, text = report.data(), " ".join(report.text().split())
    assert "Why they were not won (2):" in text
    assert "Errors, counted as not won (1):" in text
    assert "12 calls of the model, 240 tokens read" in text
    assert "Cost: not known" in text
    assert "repeats 2 " in text
    card = data["card"]
    assert isinstance(card, dict)
    assert (card["repeats"], card["asked"]) == ("2", "as a chat")
    assert (data["calls"], data["errors"]) == (12, 1)
    assert json.loads(json.dumps(data)) == data


def test_a_series_has_the_ceiling_of_its_tasks(tmp_path: Path) -> None:
    ceiling = Ceiling("counts", {"demo/1-task": 4, "demo/2-task": None, "demo/3-task": 8})

    def searching(folder: Path, *numbers: int, **more: object) -> Run:
        lived = [Lived(number, "won" if number == 1 else "lost") for number in numbers]
        return replace(run(folder, lived, settings={"search": "counts"}, **more), extras=Extras(ceiling=ceiling))  # pyright: ignore[reportArgumentType]

    first, second = (searching(tmp_path / str(seed), 1, 2, 3, seed=seed) for seed in range(2))
    text = " ".join(SeedsReport(Arm("", (first, second))).text().split())
    assert "Ceiling: without any model, the expert wins 4 of 6 (66.7 %) in 6.0 turns" in text
    again = searching(tmp_path / "again", 2, 3, attempt=2)
    report = AttemptsReport(in_the_end(RunFolder(tmp_path), [first, again]))
    assert "the expert wins 2 of 3 (66.7 %) in 6.0 turns" in " ".join(report.text().split())
    assert report.data()["ceiling"] == ceiling_data(report.every.overall.ceiling)
    plain = replace(second, extras=Extras())
    assert SeedsReport(Arm("", (first, plain))).data()["ceiling"] is None, "it is not known of all"


def test_a_series_stands_PublishedReport_figures_of_as_many_runs(tmp_path: Path) -> None:
    thrice = repeated(tmp_path, *[("won", "lost")] * 3, world="alfworld", split="valid_seen", protocol="verl-agent")
    beside = PublishedReport(thrice)
    told = {each.figure.trials: each.differs for each in compare_published(beside.manifest, beside.measured)}
    assert not any("trials" in differs for differs in told["mean of 3 seeds"])
    assert any("trials: 12 on failed games" in differs for differs in told["12 on failed games"])
    assert "50.0 %  mean of these runs: expert" in beside.text()


def test_a_series_is_exported_run_by_run(tmp_path: Path) -> None:
    report = repeated(tmp_path, ("won", "lost"), ("won", "won"))
    rows = list(csv.DictReader(io.StringIO(as_csv(report))))
    assert [(row["run"], row["number"], row["won"]) for row in rows] == [
        ("0", "1", "1"),
        ("0", "2", "0"),
        ("1", "1", "1"),
        ("1", "2", "1"),
    ]
    markdown = as_markdown(report)
    assert "- repeats: 2" in markdown
    assert "| success | 75.0 % |" in markdown
    page = figures_page(report, tmp_path / "page.html").decode()
    assert page.count('<details class="episode"') == 4
    assert "0, demo/1-task" in page and "1, demo/2-task" in page
