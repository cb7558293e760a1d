"""An endpoint that is down stops a run and spoils nothing; a call that it cannot answer spoils one episode."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.evaluation.analysis.metrics import Summary
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.budget import LIKE_FAILURES, Budget, BudgetTracker, Stopped
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.models.base import Completion, Model, Request
from housequest.agent.models.registry import make_model
from tests.backends import server as backend
from tests.backends.server import Behaviour, Policy, Recorded, Response, Server, answer, raw, serve, status

pytestmark = pytest.mark.heavy

TASKS, TURNS = 16, 2
CALLS = TASKS * TURNS

FAULTS: Mapping[str, tuple[Behaviour, str]] = {
    "401": (status(401), "refused access with 401"),
    "403": (status(403), "refused access with 403"),
    "404": (status(404), "answered 404"),
    "400": (status(400), "answered 400"),
    "500": (status(500), "answered 500"),
    "429": (status(429), "answered 429"),
    "429, no wait": (status(429, retry_after="0"), "answered 429"),
    "a hang": (backend.slow(120), "did not answer within"),
    "a reset": (backend.cut_off, "dropped the connection"),
    "an empty body": (raw(b""), "an empty body"),
    "a page": (raw(b"<html>Welcome</html>", content_type="text/html"), "text/html that are not JSON"),
    "half a JSON": (backend.half_json, "that are not JSON"),
}


@dataclass
class Failing:
    """Answers ``good`` calls, and does ``fault`` to all after those, questions whether it is alive included."""

    good: int
    fault: Behaviour

    def __post_init__(self) -> None:
        self._calls = count(1)

    async def __call__(self, recorded: Recorded, policy: Policy) -> Response:
        return await (answer if next(self._calls) <= self.good else self.fault)(recorded, policy)


def plan(folder: Path, server: Server) -> RunSpec:
    play = {"split": "generated", "limit": TASKS, "max_steps": TURNS, "agent": "react", "model": server.model()}
    flags = {**play, "set": {"form": "free"}}  # without the calls that find out how it is held
    return make_run_spec(configure(flags, folder))


def play(
    folder: Path,
    server: Server,
    workers: int,
    budget: Budget | None = None,
    *,
    wrapped: type[Mute] | None = None,
    timeout: float = 20.0,
) -> Summary:
    async def run() -> Summary:
        model: Model = make_model(server.model(), timeout=timeout, retries=2, wait=0.001)
        try:
            options = RunOptions(concurrency=workers, model=wrapped(model) if wrapped else model)
            return await run_batch(plan(folder.parent, server), folder, options, BudgetTracker(budget))
        finally:
            await model.aclose()

    return asyncio.run(run())


def contents(run: Path) -> dict[str, bytes]:
    """What two equal runs have in common."""
    return {file.name: file.read_bytes() for file in (*(run / "episodes").iterdir(), run / "index.jsonl")}


@pytest.fixture(scope="module")
def whole(running: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """An undisturbed run."""
    running.reset()
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    assert play(folder, running, 4).overall.finished == TASKS
    return contents(folder)


def patience(fault: str) -> float:
    """The time limit of a call, in seconds: short where it is to run out."""
    return 0.4 if fault == "a hang" else 20.0


def spoiled(run: Path) -> int:
    return (run / "index.jsonl").read_bytes().count(b'"outcome":"error"')


@pytest.mark.parametrize(("good", "workers"), [(0, 1), (CALLS // 2, 16), (CALLS - 1, 2)])
@pytest.mark.parametrize("fault", FAULTS)
def test_an_endpoint_that_is_down_stops_the_run_and_the_same_command_goes_on(
    fault: str, good: int, workers: int, tmp_path: Path, server: Server, whole: dict[str, bytes]
) -> None:
    behaviour, said = FAULTS[fault]
    failing = Failing(good, behaviour)
    server.behave(otherwise=failing)
    server.probing = behaviour
    with pytest.raises(Stopped, match=r"127\.0\.0\.1") as stopped:
        play(tmp_path / "run", server, workers, timeout=patience(fault))
    assert said in str(stopped.value)
    assert "same command goes on" in stopped.value.way_on
    assert spoiled(tmp_path / "run") == 0
    assert len(server.probes) <= 1, "one question serves all"
    server.reset()
    assert play(tmp_path / "run", server, workers).overall.errors == 0
    # On a busy machine a short time limit also ends calls that were about to be answered.
    assert len(server.requests) == CALLS - good or fault == "a hang", "nothing is paid twice"
    assert contents(tmp_path / "run") == whole


@pytest.mark.parametrize("workers", [1, 16])
def test_a_server_that_dies_in_mid_run_too(workers: int, tmp_path: Path, server: Server, whole: dict[str, bytes]) -> None:
    with ExitStack() as life:
        mortal = life.enter_context(serve(server.policy))
        death = threading.Thread(target=life.close)

        async def die(recorded: Recorded, policy: Policy) -> Response:
            if not death.ident:
                death.start()
            return await backend.slow(120)(recorded, policy)

        mortal.behave(otherwise=Failing(CALLS // 2, die))
        with pytest.raises(Stopped, match="dropped the connection"):
            play(tmp_path / "run", mortal, workers)
        death.join()
    assert spoiled(tmp_path / "run") == 0
    assert play(tmp_path / "run", server, workers).overall.errors == 0
    assert len(server.requests) == CALLS // 2
    assert contents(tmp_path / "run") == whole


@pytest.mark.parametrize(
    ("fault", "workers"), [*((fault, 2) for fault in FAULTS if not fault.startswith("429")), ("400", 16), ("a hang", 16)]
)
def test_a_prompt_that_is_never_answered_is_the_error_of_its_episode(
    fault: str, workers: int, tmp_path: Path, server: Server, whole: dict[str, bytes]
) -> None:
    odd: list[str] = []

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        opening = recorded.messages[1]["content"]
        if not odd and len(server.requests) > CALLS // 2 and len(recorded.messages) > 2:
            odd.append(opening)
        # However it is asked for: a refusal that comes with the first reply in a prompt may be about the system message.
        told = [message["content"] for message in recorded.messages]
        return await (FAULTS[fault][0] if any(prompt in text for prompt in odd for text in told) else answer)(recorded, policy)

    server.behave(otherwise=behave)
    summary = play(tmp_path / "run", server, workers, timeout=patience(fault))
    assert (summary.overall.finished, summary.overall.errors, len(server.probes)) == (TASKS, 1, 2)
    found = contents(tmp_path / "run")
    changed = [name for name in whole if found[name] != whole[name]]
    assert len(changed) == 2, "the episode and the index"
    (message,) = [line["message"] for line in map(json.loads, found["index.jsonl"].splitlines()) if line["outcome"] == "error"]
    assert FAULTS[fault][1] in message


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_that_passes_by_is_nobodys_error(fault: str, tmp_path: Path, server: Server, whole: dict[str, bytes]) -> None:
    # As many as use up one call's own attempts, but not those of the call that is made once more.
    once = {"400", "401", "403", "404", "a page", "half a JSON"}
    tries = 6 if fault.startswith("429") else 1 if fault in once else 3
    server.behave(*[answer] * 5, *[FAULTS[fault][0]] * tries)
    assert play(tmp_path / "run", server, 1, timeout=patience(fault)).overall.errors == 0
    assert contents(tmp_path / "run") == whole
    assert len(server.probes) == 1


@pytest.mark.parametrize("workers", [1, 16])
def test_calls_that_fail_alike_one_after_another_stop_the_run(workers: int, tmp_path: Path, server: Server) -> None:
    # It answers what is short, but no prompt of an episode, as one does whose context is too small.
    server.behave(otherwise=status(413))
    with pytest.raises(Stopped, match="One call after another failed like this"):
        play(tmp_path / "run", server, workers)
    lost = spoiled(tmp_path / "run")
    assert lost == LIKE_FAILURES - 1
    server.reset()
    assert play(tmp_path / "run", server, workers).overall.errors == lost


class Mute(Model):
    """A model that cannot be asked whether it is alive."""

    def __init__(self, model: Model) -> None:
        self.name, self._model = model.name, model

    async def complete(self, request: Request) -> Completion:
        return await self._model.complete(request)

    async def aclose(self) -> None:
        await self._model.aclose()


def test_a_model_that_cannot_be_asked_stops_the_run_by_like_failures_alone(tmp_path: Path, server: Server) -> None:
    server.behave(otherwise=Failing(10, status(413)))
    with pytest.raises(Stopped, match="One call after another failed like this"):
        play(tmp_path / "run", server, 1, wrapped=Mute)
    assert (spoiled(tmp_path / "run"), len(server.requests), len(server.probes)) == (LIKE_FAILURES - 1, 13, 0)


def test_unlike_failures_and_those_with_answers_between_do_not(tmp_path: Path, server: Server) -> None:
    failures = [status(405), status(413), status(405), status(413), answer, status(405), status(405), answer, status(405)]
    server.behave(*failures)
    assert play(tmp_path / "run", server, 1, wrapped=Mute).overall.errors == 7


def test_the_question_is_a_call_of_the_budget(tmp_path: Path, server: Server) -> None:
    server.behave(*[answer] * 5, status(413))
    with pytest.raises(Stopped, match="budget of 5 calls is used up"):
        play(tmp_path / "run", server, 1, Budget(calls=5))
    assert (len(server.requests), len(server.probes)) == (5, 0)
    with pytest.raises(Stopped, match=r"budget of 8 calls is used up\. Used in all, earlier sessions included: 8 calls"):
        play(tmp_path / "run", server, 1, Budget(calls=8))
    assert (len(server.requests), len(server.probes)) == (8, 1)
    assert spoiled(tmp_path / "run") == 0
