"""What a model is given to read: every step once, numbered, within the size, and without what no agent may see."""

from __future__ import annotations

import asyncio
from pathlib import Path

from housequest.agent.config import configure
from housequest.agent.episodes.moments import recorded_moments
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.explorer.distiller import CitedStep, EpisodeSteps, chunks, read_steps


def house(number: int, steps: int) -> EpisodeSteps:
    return EpisodeSteps(
        f"You are in room {number}.",
        tuple(CitedStep(f"r/t{number}/{n}", f"go {n}", f"You went {n}.") for n in range(steps)),
        0,
    )


def test_every_step_is_in_one_chunk_with_its_number() -> None:
    found = list(chunks([house(1, 5), house(2, 0), house(3, 4)], most_steps=4))
    assert [len(chunk.steps) for chunk in found] == [4, 4, 1]
    assert [step.origin for chunk in found for step in chunk.steps] == [
        *(f"r/t1/{n}" for n in range(5)),
        *(f"r/t3/{n}" for n in range(4)),
    ]
    assert found[1].text == (
        "House 1, which you have seen the beginning of\nYou are in room 1.\n[1] > go 4\nYou went 4.\n\n"
        "House 2\nYou are in room 3.\n[2] > go 0\nYou went 0.\n[3] > go 1\nYou went 1.\n[4] > go 2\nYou went 2."
    )
    assert "[1] > go 3\n" in found[2].text


def test_a_chunk_keeps_to_its_tokens_and_holds_a_step_at_least() -> None:
    long = EpisodeSteps("x" * 10_000, (CitedStep("a/b/1", "look", "y" * 90_000), CitedStep("a/b/2", "look \ud800", "z")), 0)
    found = list(chunks([long], most_tokens=1))
    assert [len(chunk.steps) for chunk in found] == [1, 1]
    assert all(len(chunk.text) < 6_000 for chunk in found)
    assert found[1].text.encode()
    assert list(chunks([])) == []


def test_the_steps_of_a_run_have_the_origins_that_evidence_has(tmp_path: Path) -> None:
    configuration = configure({"split": "generated", "sample": 3, "agent": "expert"}, tmp_path)
    asyncio.run(run_batch(make_run_spec(configuration, curiosity=0.3), tmp_path / "run"))
    found = list(read_steps(tmp_path / "run"))
    assert [step.origin for life in found for step in life.steps] == [
        moment.origin for moment in recorded_moments([tmp_path / "run"])
    ]
    assert sum(life.curious for life in found) > 0
    text = "".join(chunk.text for chunk in chunks(found))
    assert "generated/" not in text
    assert "Your task is to" in text
