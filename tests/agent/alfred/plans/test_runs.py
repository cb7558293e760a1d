"""Runs over ALFRED's instructions: planners with and without a model, over a real endpoint in all its moods."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from housequest.agent.alfred.plans.planners import ExamplePool, PlannerSettings, drawn, plan_tasks
from housequest.agent.alfred.plans.report import FAMILY, PlansReport, failures
from housequest.agent.alfred.plans.work import (
    PlanResult,
    PlanRun,
    make_run,
    read_manifest,
    read_rows,
    score_plans,
    verify_plans,
)
from housequest.agent.config import Settings
from housequest.agent.evaluation.parts import family_of
from housequest.agent.evaluation.runs.batch import RunOptions
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, Stopped
from housequest.worlds.alfred.tasks import read_split
from housequest.worlds.errors import ConfigurationError
from tests.backends.server import Messages, Server, saying, serve, status
from tests.worlds.alfred.annotations import small_world

PLACED = "GotoLocation countertop\nPickupObject apple\nGotoLocation diningtable\nPutObject apple diningtable"


def planning(messages: Messages) -> str:
    """Plans as the examples in the prompt do, for what is asked last."""
    *_, asked = messages[1]["content"].rpartition("Task: ")
    if "potato" in asked:
        return (
            "GotoLocation fridge\nPickupObject potato\nGotoLocation microwave\nHeatObject potato\n"
            "GotoLocation diningtable\nPutObject potato diningtable"
        )
    return PLACED


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(planning) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.reset()
    return running


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return small_world(tmp_path / "data")


def play(run: PlanRun, folder: Path, *, budget: Budget | None = None, concurrency: int = 1) -> list[PlanResult]:
    return asyncio.run(score_plans(run, folder, RunOptions(concurrency=concurrency), BudgetTracker(budget)))


def in_context(server: Server, data: Path, **settings: str | int) -> PlanRun:
    return make_run(Settings(agent="in-context", model=server.model(), set={"shots": 2, **settings}), data)


def test_the_nearest_plan_is_copied(data: Path, tmp_path: Path) -> None:
    run = make_run(Settings(set={"pool": "all"}), data)
    rows = play(run, tmp_path / "run")
    assert [row.task.partition("/")[2] for row in rows] == ["task-1/trial#1", "task-1/trial#2", "task-2/trial#1"]
    assert [(row.exact, row.reaches, row.met, row.conditions) for row in rows[:2]] == [(True, True, 1, 1)] * 2
    # The nearest one heats a potato too, and puts it elsewhere.
    assert (rows[2].exact, rows[2].reaches, rows[2].met, rows[2].conditions) == (False, False, 1, 3)
    assert failures(rows) == {"conditions left unmet": 1}
    assert read_rows(tmp_path / "run") == rows == play(run, tmp_path / "run")
    assert family_of(tmp_path / "run") is FAMILY and read_manifest(tmp_path / "run") == run.manifest


def test_a_run_keeps_all_settings(data: Path) -> None:
    config = make_run(Settings(agent="in-context", model="openai:m@http://127.0.0.1:1/v1"), data).manifest.configuration
    assert config.model_dump()["settings"].keys() == {field.name for field in fields(PlannerSettings)}


def test_no_plan_is_copied_from_the_demonstration_itself(data: Path, tmp_path: Path) -> None:
    rows = play(make_run(Settings(split="train", set={"pool": "all"}), data), tmp_path / "run")
    assert [row.exact for row in rows] == [False] * 5


def test_examples_are_drawn_evenly_and_found_by_what_was_told(data: Path) -> None:
    every = plan_tasks(read_split("train", data))
    assert len(every) == 5 == len(drawn(every, None, 0))
    assert (
        sorted(one.type for one in drawn(every, 4, 1)) == ["pick_and_place_simple"] * 2 + ["pick_heat_then_place_in_recep"] * 2
    )
    assert drawn(every, 2, 1) == drawn(every, 2, 1)
    pool = ExamplePool(every)
    (mug,) = asyncio.run(pool.nearest("a mug for coffee", 1, without=""))
    assert mug.instruction.goal == "Bring a mug to the coffee machine."
    others = asyncio.run(pool.nearest("apple", 9, without="train/task-1/trial"))
    assert {one.demonstration.id for one in others} == {f"train/task-{n}/trial" for n in (2, 3, 4)}
    (egg,) = asyncio.run(ExamplePool(every, stepwise=True).nearest("HeatObject egg", 1, without=""))
    assert egg.instruction.goal.startswith("Microwave an egg")


@pytest.mark.parametrize("steps", ["off", "on"])
def test_a_model_plans_from_examples(server: Server, data: Path, tmp_path: Path, steps: str) -> None:
    run = in_context(server, data, steps=steps)
    rows = play(run, tmp_path / "run", concurrency=3)
    assert [(row.exact, row.reaches, row.calls) for row in rows] == [(True, True, 1)] * 3
    asked = {request.messages[1]["content"] for request in server.requests}
    (potato,) = (text for text in asked if text.count("Heat up a potato"))
    told = "\nInstructions: Step: GotoLocation fridge." if steps == "on" else ""
    first, second, last = potato.split("\n\n")
    # The most similar example stands nearest to the question.
    assert second.startswith(f"Task: Put a warm potato on the counter.{told}")
    plan = "\n".join(map(str, read_split("train", data)[1].plan))
    assert second.endswith(f"Plan:\n{plan}")
    assert first.startswith("Task: ") and "PutObject" in first
    assert last.startswith(f"Task: Heat up a potato and place it on the table.{told}") and last.endswith("\nPlan:")
    system = server.requests[0].messages[0]["content"]
    assert "apple" in system and "sinkbasin" in system and "$" not in system
    assert not any("trial" in text or "pick_" in text for text in {*asked, system})


def test_what_was_answered_is_not_asked_again(server: Server, data: Path, tmp_path: Path) -> None:
    run = in_context(server, data)
    with pytest.raises(Stopped, match="calls"):
        play(run, tmp_path / "run", budget=Budget(calls=2))
    assert len(server.requests) == len(read_rows(tmp_path / "run")) == 2
    assert "Not finished: 1 of 3" in PlansReport(run.manifest, read_rows(tmp_path / "run")).text()
    rows = play(run, tmp_path / "run")
    assert len(server.requests) == 3
    alone = play(in_context(server, data), tmp_path / "alone", concurrency=3)
    assert rows == alone
    assert (tmp_path / "run" / "results.jsonl").read_bytes() == (tmp_path / "alone" / "results.jsonl").read_bytes()


def test_a_full_disk_stops_it_and_with_room_it_goes_on(server: Server, data: Path, tmp_path: Path) -> None:
    run = in_context(server, data)
    with pytest.raises(Stopped):
        play(run, tmp_path / "run", budget=Budget(calls=1))
    _, most = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "run" / "calls.jsonl").stat().st_size + 9, most))
    try:
        with pytest.raises(Stopped, match="run cannot be written to: File too large") as stopped:
            play(run, tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert stopped.value.way_on.startswith("Once there is room")
    assert play(run, tmp_path / "run") == play(in_context(server, data), tmp_path / "alone")


def test_calls_that_failed_are_errors_and_asked_again(server: Server, data: Path, tmp_path: Path) -> None:
    run = in_context(server, data)
    server.behave(status(413), status(413))
    rows = play(run, tmp_path / "run")
    assert [row.outcome for row in rows] == ["error", "planned", "planned"]
    assert rows[0].reason and failures(rows) == {"model failed": 1}
    assert [row.outcome for row in play(run, tmp_path / "run")] == ["planned"] * 3
    assert len(server.requests) == 5


def test_an_endpoint_that_refuses_every_call_ends_the_run(server: Server, data: Path, tmp_path: Path) -> None:
    server.behave(otherwise=status(401))
    with pytest.raises(Stopped):
        play(in_context(server, data), tmp_path / "run", concurrency=3)
    assert read_rows(tmp_path / "run") == []


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("reply", "outcome", "failure"),
    [
        ("I would rather not.", "unreadable", "unreadable reply"),
        ("", "unreadable", "unreadable reply"),
        ("GotoLocation fridge\n" * 400, "unreadable", "unreadable reply"),
        ("x" * 50_000, "unreadable", "unreadable reply"),
        ("\x1b[31m\x00\u202e\ue000", "unreadable", "unreadable reply"),
        ("GotoLocation spaceship", "planned", "refused: unknown name"),
        ("GotoLocation bed", "planned", "refused: not in this room"),
        ("PickupObject apple", "planned", "refused: not here"),
        ("GotoLocation countertop", "planned", "conditions left unmet"),
    ],
)
def test_rubbish_is_bounded_and_classed(
    server: Server, data: Path, tmp_path: Path, reply: str, outcome: str, failure: str
) -> None:
    server.behave(otherwise=saying(reply))
    run = make_run(Settings(agent="in-context", model=server.model(), limit=1), data)
    (row,) = play(run, tmp_path / "run")
    assert (row.outcome, row.reaches) == (outcome, False)
    assert row.calls == (2 if outcome == "unreadable" else 1)
    assert failures([row]) == {failure: 1}
    figures = PlansReport(run.manifest, [row]).data()
    assert figures["failures"] == {failure: 1}


def test_a_reply_that_cannot_be_read_is_asked_for_once_more(server: Server, data: Path, tmp_path: Path) -> None:
    server.behave(saying("Let me think about the apple."))
    row = play(in_context(server, data), tmp_path / "run")[0]
    assert (row.outcome, row.exact, row.calls) == ("planned", True, 2)


def test_a_folder_holds_one_run(data: Path, tmp_path: Path) -> None:
    play(make_run(Settings(), data), tmp_path / "run")
    with pytest.raises(ConfigurationError, match=r"configuration\.settings\.steps: False is now True"):
        play(make_run(Settings(set={"steps": "on"}), data), tmp_path / "run")
    (tmp_path / "run" / "results.jsonl").write_text("{}\n")
    with pytest.raises(ConfigurationError, match=r"results\.jsonl:1 is damaged"):
        read_rows(tmp_path / "run")
    manifest = tmp_path / "run" / "run.json"
    manifest.write_text(manifest.read_text().replace('"steps"', '"stairs": 1, "steps"', 1))
    with pytest.raises(ConfigurationError, match=r"run\.json is damaged: it is not what its own sha256 says"):
        read_manifest(tmp_path / "run")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"agent": "expert"}, "known: nearest, in-context, llm-planner, socratic, lota"),
        ({"set": {"decompose": "none"}}, "The planner 'nearest' has no setting 'decompose'; it is one of socratic"),
        ({"set": {"choose": "embeddings"}}, "has no embedding model"),
        ({"set": {"embedder": "openai:e"}}, "which only choose=embeddings asks"),
        ({"agent": "in-context"}, "needs a language model"),
        ({"set": {"shot": 3}}, "Did you mean 'shots'"),
        ({"set": {"pool": "many"}}, "The setting pool of the planner 'nearest' must be a whole number, not 'many'"),
        ({"set": {"pool": 0}}, "The setting pool of the planner 'nearest' must be at least 1, not"),
        ({"split": "valid_unseen"}, "There is no split 'valid_unseen'"),
        ({"type": ("tidy",)}, "is not a task type"),
        ({"type": ("cool",)}, "No instruction is left"),
        ({"limit": 1, "sample": 1}, "cannot be given together"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(data: Path, settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make_run(Settings.model_validate(settings), data)


def test_tasks_are_selected_as_for_games(data: Path) -> None:
    assert [task.id for task in make_run(Settings(type=("heat",)), data).tasks] == ["valid_seen/task-2/trial#1"]
    sampled = make_run(Settings(sample=2, seed=5), data).tasks
    assert len(sampled) == 2 and sampled == make_run(Settings(sample=2, seed=5), data).tasks


def test_damage_is_noticed(server: Server, data: Path, tmp_path: Path) -> None:
    run, folder = in_context(server, data), tmp_path / "run"
    play(run, folder)
    assert verify_plans(folder).whole
    assert (verify_plans(folder).tasks, verify_plans(folder).finished) == (3, 3)
    for name in ("run.json", "results.jsonl", "calls.jsonl"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole.replace(b"PutObject", b"PutAObject") if name != "run.json" else whole[:-9] + b"0" * 9)
        assert next(fault.where for fault in verify_plans(folder).faults).startswith(str(folder / name))
        (folder / name).write_bytes(whole)
    rows = (folder / "results.jsonl").read_bytes()
    (folder / "results.jsonl").write_bytes(rows + rows.splitlines(keepends=True)[0])
    with pytest.raises(ConfigurationError, match="a task has two lines"):
        read_rows(folder)
    assert not verify_plans(folder).whole
    play(run, folder)
    assert (folder / "results.jsonl").read_bytes() == rows
