"""An embedding endpoint that is down stops a run and spoils nothing; a goal that it refuses spoils its own episode."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.evaluation.analysis.metrics import Summary
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.budget import Stopped
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.models.embeddings import make_embedder
from housequest.agent.models.openai.server import SLOW_RETRIES
from housequest.agent.models.registry import CallOptions
from housequest.worlds.errors import ModelError
from tests.backends import server as backend
from tests.backends.policy import Solver
from tests.backends.server import Behaviour, Policy, Recorded, Response, Server, answer, raw, serve, status

pytestmark = pytest.mark.heavy

TASKS = 8
RETRIES = CallOptions().retries

FAULTS: Mapping[str, tuple[Behaviour, str]] = {
    "401": (status(401), "refused access with 401"),
    "404": (status(404), "answered 404"),
    "400": (status(400), "answered 400"),
    "422": (status(422), "answered 422"),
    "503": (status(503, retry_after="3600"), "asks to wait 3600 seconds"),
    "429": (status(429, retry_after="3600"), "asks to wait 3600 seconds"),
    "no vectors": (raw(b"{}"), "without usable vectors"),
    "other vectors": (raw(b'{"data": [{"embedding": [1, 2]}]}'), "vectors"),
}

BLIPS: Mapping[str, tuple[Behaviour, int]] = {
    "503": (status(503), 2),
    "429": (status(429), 2),
    "a reset": (backend.cut_off, 1),
    "an empty body": (raw(b" "), 1),
}


@dataclass
class Failing:
    """Answers ``good`` calls, does ``fault`` to the next ``bad``, and answers again."""

    good: int
    fault: Behaviour
    bad: int = 1_000_000

    def __post_init__(self) -> None:
        self._calls = count(1)

    async def __call__(self, recorded: Recorded, policy: Policy) -> Response:
        fails = self.good < next(self._calls) <= self.good + self.bad
        return await (self.fault if fails else answer)(recorded, policy)


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(Solver()) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    """The endpoint of all these tests, for chat and for embeddings, as if nobody had asked it anything."""
    running.reset()
    return running


def plan(folder: Path, server: Server, embedder: str | None = None) -> RunSpec:
    settings = ["choose=embeddings", f"embedder={embedder or server.model()}", "pool=6", "shots=2"]
    flags = {"split": "generated", "limit": TASKS, "max_steps": 3, "agent": "llm-planner", "model": server.model()}
    return make_run_spec(configure(flags | {"set": settings}, folder))


def play(run: Path, server: Server, workers: int, *, retry_errors: bool = False) -> Summary:
    options = RunOptions(concurrency=workers, retry_errors=retry_errors)
    return asyncio.run(run_batch(plan(run.parent, server), run, options))


def contents(run: Path) -> dict[str, bytes]:
    """What two equal runs have in common."""
    return {file.name: file.read_bytes() for file in (*(run / "episodes").iterdir(), run / "index.jsonl")}


@pytest.fixture(scope="module")
def whole(running: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """An undisturbed run."""
    running.reset()
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    assert play(folder, running, 4).overall.errors == 0
    assert len(running.embedded) == 1 + TASKS, "once for the store, once for each task"
    return contents(folder)


def errors(run: Path) -> list[str]:
    lines = map(json.loads, (run / "index.jsonl").read_text("utf-8").splitlines())
    return [line["message"] for line in lines if line["outcome"] == "error"]


@pytest.mark.parametrize(("good", "workers"), [(0, 8), (1 + TASKS // 2, 2)])
@pytest.mark.parametrize("fault", FAULTS)
def test_an_embedding_endpoint_that_is_down_stops_the_run_and_the_same_command_goes_on(
    fault: str, good: int, workers: int, tmp_path: Path, server: Server, whole: dict[str, bytes]
) -> None:
    behaviour, said = FAULTS[fault]
    server.embedding = Failing(good, behaviour)
    with pytest.raises(Stopped, match=r"127\.0\.0\.1") as stopped:
        play(tmp_path / "run", server, workers)
    assert said in str(stopped.value)
    assert "same command goes on" in stopped.value.way_on
    assert errors(tmp_path / "run") == []
    if good == 0:
        assert len(server.embedded) == 1, "one call serves all"
    server.reset()
    assert play(tmp_path / "run", server, workers).overall.errors == 0
    assert contents(tmp_path / "run") == whole


@pytest.mark.parametrize("code", [400, 413, 422])
def test_a_goal_that_is_refused_is_the_error_of_its_episode(
    code: int, tmp_path: Path, server: Server, whole: dict[str, bytes]
) -> None:
    goal = plan(tmp_path, server).selection.tasks[3].goal
    odd = [task for task in plan(tmp_path, server).selection.tasks if task.goal == goal]

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        return await (status(code) if goal in recorded.body["input"] else answer)(recorded, policy)

    server.embedding = behave
    summary = play(tmp_path / "run", server, 2)
    assert (summary.overall.finished, summary.overall.errors) == (TASKS, len(odd))
    assert {f"answered {code}" in message and "127.0.0.1" not in message for message in errors(tmp_path / "run")} == {True}
    server.reset()
    assert play(tmp_path / "run", server, 2, retry_errors=True).overall.errors == 0
    assert contents(tmp_path / "run") == whole


@pytest.mark.parametrize("good", [4])
@pytest.mark.parametrize("fault", BLIPS)
def test_a_failure_that_passes_by_is_nobodys_error(
    fault: str, good: int, tmp_path: Path, server: Server, whole: dict[str, bytes]
) -> None:
    behaviour, times = BLIPS[fault]
    server.embedding = Failing(good, behaviour, times)
    assert play(tmp_path / "run", server, 1).overall.errors == 0
    assert contents(tmp_path / "run") == whole
    assert len(server.embedded) == 1 + TASKS + times


def test_no_server_stops_the_run_before_anything_is_played(tmp_path: Path, server: Server) -> None:
    spec = plan(tmp_path, server, "openai:m@http://127.0.0.1:9/v1")
    with pytest.raises(Stopped, match=r"openai:m@http://127\.0\.0\.1:9/v1 cannot be reached"):
        asyncio.run(run_batch(spec, tmp_path / "run"))
    assert errors(tmp_path / "run") == []
    assert server.requests == []


def embed_all(server: Server, goals: int, *, timeout: float = 20.0) -> None:
    """Embed so many goals one by one with pauses that take no time. Raises ``ModelError``."""
    embedder = make_embedder(server.model(), CallOptions(timeout=timeout, wait=0.001))

    async def embed() -> None:
        for number in range(goals):
            await embedder.embed([f"goal {number}"])

    asyncio.run(embed())


def test_a_server_that_dies_is_fatal_once_it_was_asked_again() -> None:
    with ExitStack() as life:
        mortal = life.enter_context(serve())
        death = threading.Thread(target=life.close)

        async def die(recorded: Recorded, policy: Policy) -> Response:
            if not death.ident:
                death.start()
            return await backend.slow(120)(recorded, policy)

        mortal.embedding = Failing(3, die)
        with pytest.raises(ModelError, match=f"dropped the connection.*attempt {1 + RETRIES} of at most") as caught:
            embed_all(mortal, 9)
        death.join()
    assert caught.value.fatal
    assert "127.0.0.1" not in caught.value.recorded


def test_one_that_hangs_is_asked_less_often(server: Server) -> None:
    server.embedding = Failing(0, backend.slow(120))
    with pytest.raises(ModelError, match=f"within 0.4 seconds, attempt {1 + SLOW_RETRIES} of at most") as caught:
        embed_all(server, 1, timeout=0.4)
    assert caught.value.fatal


def test_one_that_asks_for_a_long_wait_is_not_waited_for(server: Server) -> None:
    server.embedding = status(429, retry_after="3600")
    with pytest.raises(ModelError, match="asks to wait 3600 seconds"):
        embed_all(server, 1)
    assert len(server.embedded) == 1
