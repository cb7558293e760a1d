"""What one episode comes to, and how an index of an earlier version is read."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from housequest.agent.config import configure
from housequest.agent.episodes.events import Event, Stepped
from housequest.agent.episodes.record import with_digest, without_digest
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.files import Number, SelectedTask, total
from housequest.agent.evaluation.runs.folder import Result, RunFolder, repeats, result_of
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.models.base import MOST_TOKENS
from housequest.worlds.errors import ConfigurationError
from tests.agent.evaluation.runs.losing import env_of, house_of, lived


def steps(*said: str) -> list[Stepped]:
    """``command`` or ``command=answer``; the answer is the command where none is given."""
    found: list[Stepped] = []
    for turn, text in enumerate(said, start=1):
        command, _, answer = text.partition("=")
        found.append(Stepped(turn=turn, command=command, observation=answer or command, accepted=True))
    return found


@pytest.mark.parametrize(
    ("said", "repeated"),
    [
        ((), 0),
        (("look",), 0),
        (("look", "look", "look"), 2),
        (("look=a", "look=b", "look=b"), 1),
        # Two places visited in turn: the second visit to b is the first that can have told nothing.
        (("a", "b", "a", "b", "a"), 2),
        # Something new between two equal commands: the first may have changed what the second meets.
        (("heat=no", "open", "heat=no"), 0),
        (("heat=no", "open", "heat=no", "open", "heat=no"), 2),
    ],
)
def test_a_repeat_is_the_same_with_nothing_new_in_between(said: tuple[str, ...], repeated: int) -> None:
    assert repeats(steps(*said)) == repeated


COUNTS = st.none() | st.integers() | st.integers(2**52 - 2, 2**53 + 2) | st.integers(MOST_TOKENS - 2, MOST_TOKENS + 2)


@given(st.lists(st.tuples(COUNTS, COUNTS, COUNTS), max_size=20))
def test_no_count_that_a_model_states_breaks_the_result(counts: list[tuple[int | None, int | None, int | None]]) -> None:
    said = [{"kind": "called", "role": "a", "kept": 0, "added": [], "reply": "", "finish": ""}] * len(counts)
    names = ("prompt_tokens", "completion_tokens", "calls")
    calls = [{**call, **dict(zip(names, stated, strict=True))} for call, stated in zip(said, counts, strict=True)]
    over = {"kind": "ended", "outcome": "lost", "reason": "", "turns": 0, "steps": 0, "refused": 0}
    events = [{"id": id, "parent": id - 1 if id else None, "body": body} for id, body in enumerate((*calls, over))]
    result = result_of(SelectedTask(number=0, id="a", type="b"), [Event.model_validate(event) for event in events])
    assert result is not None
    believable = [stated[0] for stated in counts if stated[0] is not None and 0 <= stated[0] <= MOST_TOKENS]
    assert result.prompt_tokens == (sum(believable) if believable else None)
    assert Result.model_validate_json(result.model_dump_json(exclude_none=True)) == result


@given(st.lists(st.none() | st.integers(0, 2**53), max_size=9))
def test_no_sum_is_more_than_an_index_holds(numbers: list[int | None]) -> None:
    found = total(numbers)
    assert TypeAdapter(Number | None).validate_python(found) == found


@given(st.lists(st.sampled_from(["a", "b", "c", "a=1", "b=1"]), max_size=30))
def test_repeats_are_never_more_than_what_was_said_before(said: list[str]) -> None:
    assert 0 <= repeats(steps(*said)) <= len(said) - len(set(said))
    assert repeats(steps(*said, *said[-1:], *said[-1:])) >= (2 if said else 0)


def test_a_real_episode_says_what_it_met_and_why_it_was_lost() -> None:
    house = house_of("heat")
    task = SelectedTask.of(env_of(house).task)
    won = result_of(task, lived(env_of(house), list(house.plan)))
    assert won is not None
    assert (won.outcome, won.met, won.failure, won.repeated) == ("won", won.conditions, None, 0)
    assert won.wording == task.wording == "template"
    lost = result_of(task, lived(env_of(house), list(house.plan[:-1]), turns=len(house.plan) + 9))
    assert lost is not None
    assert lost.conditions == won.conditions
    assert lost.met is not None
    assert won.conditions is not None
    assert 0 < lost.met < won.conditions
    assert lost.failure is not None
    assert 0 < lost.failure.turn <= lost.turns
    assert lost.repeated == 9


def test_an_episode_in_its_middle_comes_to_nothing_yet() -> None:
    house = house_of("heat")
    task = SelectedTask.of(env_of(house).task)
    assert result_of(task, ()) is None
    assert result_of(task, lived(env_of(house), ["look"])[:-1]) is None


def test_a_result_is_read_back_as_it_was_written() -> None:
    house = house_of("heat")
    result = result_of(SelectedTask.of(env_of(house).task), lived(env_of(house), ["look", "look"]))
    assert result is not None
    assert Result.model_validate_json(result.model_dump_json(exclude_none=True)) == result


@pytest.mark.parametrize("number", [-1, 10**400], ids=["negative", "huge"])
def test_an_episode_of_impossible_numbers_is_named(number: int, tmp_path: Path) -> None:
    """Whether it stands in the index or in the record."""
    asyncio.run(run_batch(make_run_spec(configure({"world": "scripted", "agent": "expert"})), tmp_path / "run"))
    run = RunFolder(tmp_path / "run")
    tasks, whole = run.manifest().tasks, run.index_file.read_bytes()
    wrong = without_digest(whole.splitlines()[0]).decode().replace('"steps":6', f'"steps":{number}')
    run.index_file.write_text(f"{with_digest(wrong)}\n")
    with pytest.raises(ConfigurationError, match=rf"(?s){run.index_file}:1.*steps"):
        run.results(tasks)
    run.index_file.unlink()
    file = run.episode(tasks[0])
    file.write_text(file.read_text().replace('"steps":6', f'"steps":{number}'))
    (fault,) = run.mend(tasks)[1]
    assert fault.where.startswith(str(file)) and "steps" in fault.what
