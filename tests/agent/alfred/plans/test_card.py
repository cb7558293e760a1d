"""The card of a run over plans: whatever differs is named."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from housequest.agent.alfred.plans.report import plan_card
from housequest.agent.alfred.plans.work import PlanManifest, make_run
from housequest.agent.config import Settings
from tests.worlds.alfred.annotations import small_world

MODEL = "openai:m@http://127.0.0.1:1/v1"
CHANGES: dict[str, tuple[str, str]] = {
    "pool": ("examples", "3 of train"),
    "shots": ("examples", "2 by"),
    "choose": ("examples", "random"),
    "embedder": ("examples", "(local:f)"),
    "steps": ("told", "step-by-step"),
    "max_tokens": ("replies", "99 tokens"),
    "temperature": ("replies", "0.5"),
    "bias": ("bias", "2 nats"),
    "replanning": ("replanning", "told what was done and seen"),
    "revisions": ("replanning", "at most 3 times"),
    "feedback": ("replanning", "held and refused"),
    "decompose": ("taken apart", "not"),
}
VALUES = {"pool": 3, "shots": 2, "choose": "random", "embedder": "local:f", "steps": True, "max_tokens": 99, "temperature": 0.5}
MORE = {"bias": 2.0, "replanning": True, "revisions": 3, "feedback": True, "decompose": "none"}


@pytest.fixture
def plain(tmp_path: Path) -> PlanManifest:
    return make_run(Settings(agent="socratic", model=MODEL, set={"shots": 9}), small_world(tmp_path / "data")).manifest


def changed(manifest: PlanManifest, **settings: object) -> PlanManifest:
    config = manifest.configuration
    own = replace(config.settings, **settings)  # pyright: ignore[reportArgumentType]
    return manifest.model_copy(update={"configuration": config.model_copy(update={"settings": own})})


def lines_that_differ(one: PlanManifest, other: PlanManifest) -> list[str]:
    ours, theirs = plan_card(one), plan_card(other)
    assert ours.keys() == theirs.keys()
    return [name for name in ours if ours[name] != theirs[name]]


@pytest.mark.parametrize("name", CHANGES)
def test_one_setting_is_seen_in_its_line(plain: PlanManifest, name: str) -> None:
    line, told = CHANGES[name]
    before = changed(plain, replanning=name in ("revisions", "feedback"))
    after = changed(before, **{name: {**VALUES, **MORE}[name]})
    assert lines_that_differ(before, after) == [line]
    assert told in plan_card(after)[line]


def test_every_setting_has_its_line(plain: PlanManifest) -> None:
    assert CHANGES.keys() == {field.name for field in fields(plain.configuration.settings)}


@pytest.mark.parametrize(
    ("name", "update"), [("planner", {"agent": "in-context"}), ("model", {"model": "openai:n"}), ("split", {"split": "train"})]
)
def test_another_planner_model_or_split_is_seen(plain: PlanManifest, name: str, update: dict[str, str]) -> None:
    config = plain.configuration.model_copy(update=update)
    assert name in lines_that_differ(plain, plain.model_copy(update={"configuration": config}))


def test_other_tasks_and_data_are_seen(plain: PlanManifest) -> None:
    assert lines_that_differ(plain, plain.model_copy(update={"tasks": plain.tasks[:1]})) == ["tasks"]
    assert plan_card(plain.model_copy(update={"tasks": plain.tasks[:1]}))["tasks"].endswith("not the whole split")
    assert lines_that_differ(plain, plain.model_copy(update={"data": "e" * 64})) == ["data"]
