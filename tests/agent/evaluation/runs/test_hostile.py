"""A whole run against an endpoint that does everything wrong: each episode ends for the right reason, and no key is written."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.episodes.events import Ended, Started
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.models.keys import KeyRing
from housequest.agent.models.registry import make_model
from housequest.agent.roles.messages import opening_text
from housequest.worlds.paths import config_folder
from housequest.worlds.registry import make_world
from tests.backends import prompts
from tests.backends import server as backend
from tests.backends.server import Behaviour, Policy, Recorded, Response, Server, serve
from tests.environments import ROOT
from tests.tui.conftest import COMMAND, environment
from tests.waiting import ending

KEY = "sk-precious-0123456789-abcdefgh"
TURNS = 3
TASKS = 140

LONG = "Thought: let me see\nAction: look " + "x" * 900_000


@dataclass(frozen=True)
class Trouble:
    """What the endpoint does to an episode's calls, and what must become of it: lost like any other, or errored with words.

    ``times``: how often it is done before the right answer is given; None: always.
    """

    behaviour: Behaviour
    expected: str
    times: int | None = None


def told(code: int, **headers: str) -> Behaviour:
    """An error that says the key back."""

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        error = {"error": {"message": f"Incorrect: {recorded.headers['authorization']}", "code": None}}
        return await backend.status(code, error, **headers)(recorded, policy)

    return behave


async def echo(recorded: Recorded, policy: Policy) -> Response:
    """A reply that says the key back."""
    return await backend.saying(f"Thought: {recorded.headers['authorization']}\nAction: look")(recorded, policy)


async def escaped_echo(recorded: Recorded, policy: Policy) -> Response:
    """The same, written as JSON may write any character."""
    escaped = "".join(f"\\u{ord(each):04x}" for each in recorded.headers["authorization"])
    body = f'{{"choices": [{{"message": {{"content": "Thought: {escaped}\\nAction: look"}}, "finish_reason": "{escaped}"}}]}}'
    return await backend.raw(body.encode())(recorded, policy)


TROUBLES: Mapping[str, Trouble] = {
    "none": Trouble(backend.answer, "lost"),
    "429": Trouble(told(429), "lost", 1),
    "429, wait": Trouble(told(429, retry_after="0.01"), "lost", 2),
    "500": Trouble(told(500), "lost", 2),
    "reset": Trouble(backend.cut_off, "lost", 2),
    "echo": Trouble(echo, "lost"),
    "escaped echo": Trouble(escaped_echo, "lost"),
    "a long reply": Trouble(backend.saying(LONG), "lost"),
    "an empty reply": Trouble(backend.saying(""), "lost"),
    "429 without end": Trouble(told(429), "answered 429"),
    "a wait of an hour": Trouble(told(429, retry_after="3600"), "asks to wait 3600 seconds"),
    "500 without end": Trouble(told(500), "answered 500"),
    "resets without end": Trouble(backend.cut_off, "dropped the connection"),
    "refused": Trouble(told(400), "answered 400"),
    "a stall": Trouble(backend.slow(120), "did not answer within"),
    "a dribble": Trouble(backend.endless(b" ", 0.02), "did not answer within"),
    "half a JSON": Trouble(backend.half_json, "that are not JSON"),
    "a page": Trouble(backend.raw(b"<html>Welcome</html>", content_type="text/html"), "text/html that are not JSON"),
    "no choices": Trouble(backend.raw(b'{"choices": []}'), "no choices"),
    "a flood": Trouble(backend.endless(b" " * 65_536), "more than 1 MiB"),
    "a large error": Trouble(backend.raw(b"x" * (2 << 20), code=500), "more than 1 MiB"),
}


def trouble_of(number: int) -> str:
    """The trouble of the task with this number: each has its turn."""
    return list(TROUBLES)[number % len(TROUBLES)]


@dataclass
class Hostile:
    """Does to each episode, known by its opening and goal, what is its trouble."""

    names: Mapping[tuple[str, str], str]
    done: Counter[str] = field(default_factory=Counter[str])

    async def __call__(self, recorded: Recorded, policy: Policy) -> Response:
        trouble = TROUBLES[self.names[prompts.opening(recorded.messages).text, prompts.goal(recorded.messages)]]
        self.done[recorded.text] += 1
        if trouble.times is not None and self.done[recorded.text] > trouble.times:
            return await backend.answer(recorded, policy)
        return await trouble.behaviour(recorded, policy)


def houses() -> dict[tuple[str, str], str]:
    """The trouble of each house, by its opening and goal as they stand in prompts."""
    world = make_world("alfworld")
    tasks = islice(world.tasks("generated"), TASKS)
    openings = ((task, opening_text(world.open(task).reset().observation, task.goal)) for task in tasks)
    return {(opening, task.goal): trouble_of(task.number) for task, opening in openings}


@pytest.fixture(scope="module")
def names() -> dict[tuple[str, str], str]:
    return houses()


@pytest.fixture
def server(names: dict[tuple[str, str], str]) -> Iterator[Server]:
    with serve(lambda messages: "Thought: let me see\nAction: look") as running:
        running.behave(otherwise=Hostile(names))
        yield running


def check(run: Path, tasks: int) -> Counter[str]:
    """Each episode came to what its trouble makes of it, and no file holds the key; which troubles there were."""
    seen = Counter[str]()
    for file in (run / "episodes").iterdir():
        events = list(read_episode(file))
        started, ended = events[0].body, events[-1].body
        assert isinstance(started, Started)
        assert isinstance(ended, Ended), f"{file.name} did not end"
        name = trouble_of(started.number)
        seen[name] += 1
        expected = TROUBLES[name].expected
        if expected == "lost":
            assert (ended.outcome, ended.boundary) == ("lost", None), (name, ended)
        else:
            assert (ended.outcome, ended.boundary) == ("error", "model"), (name, ended)
            assert expected in (ended.message or ""), (name, ended)
    assert seen.total() == tasks
    assert len((run / "index.jsonl").read_text().splitlines()) == tasks
    holding = [file for file in run.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert holding == []
    return seen


def planned(folder: Path, server: Server, tasks: int) -> RunSpec:
    flags = {"split": f"generated:0..{tasks - 1}", "max_steps": TURNS, "agent": "react", "model": server.model()}
    return make_run_spec(configure(flags, folder))


@pytest.mark.heavy
def test_each_episode_ends_for_its_own_reason(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRECIOUS_KEY", KEY)
    keys = KeyRing({f"127.0.0.1:{server.port}": {"key_env": "PRECIOUS_KEY"}})

    async def play() -> None:
        model = make_model(server.model(), keys=keys, timeout=4.0, retries=3, wait=0.002)
        try:
            await run_batch(planned(tmp_path, server, 40), tmp_path / "run", RunOptions(concurrency=40, model=model))
        finally:
            await model.aclose()

    asyncio.run(play())
    assert check(tmp_path / "run", 40).keys() == TROUBLES.keys()
    assert server.sent("authorization") == {f"Bearer {KEY}"}


_TELLING = (
    "import atexit, pathlib; from scripts.memory import peak; "
    "atexit.register(lambda: pathlib.Path('memory.txt').write_text(str(peak()))); "
)
"""Has a program leave how much memory it held. What a parent is told of a child counts the parent's own."""


@pytest.mark.slow
def test_the_command_itself_with_its_own_waits(tmp_path: Path, server: Server) -> None:
    config_folder().mkdir(parents=True)
    (config_folder() / "housequest.toml").write_text(f'[endpoints."127.0.0.1:{server.port}"]\nkey_env = "PRECIOUS_KEY"\n')
    size = ("--split", f"generated:0..{TASKS - 1}", "--max-steps", str(TURNS), "--concurrency", str(TASKS))
    python, option, program = COMMAND
    arguments = ("eval", "--agent", "react", "--model", server.model(), *size, "--timeout", "10", "--out", "run", "--json")
    line = (python, option, _TELLING + program, *arguments)
    said, told = tmp_path / "said.json", tmp_path / "told.txt"
    with said.open("wb") as out, told.open("wb") as error:
        more = environment(PRECIOUS_KEY=KEY, PYTHONPATH=f"{ROOT / 'src'}{os.pathsep}{ROOT}")
        process = subprocess.Popen(line, cwd=tmp_path, env=more, stdout=out, stderr=error)
        with ending(process, 570):
            pass
    assert process.returncode == 1, told.read_text()
    assert json.loads(said.read_text())["errors"] > 0
    assert KEY not in said.read_text() + told.read_text()
    assert check(tmp_path / "run", TASKS).keys() == TROUBLES.keys()
    assert int((tmp_path / "memory.txt").read_text()) < 600 << 10, "memory is bounded by what is in flight"


@pytest.mark.slow
@pytest.mark.parametrize("kill_at", [40, 150])
def test_no_key_is_left_by_a_run_that_was_killed(tmp_path: Path, server: Server, kill_at: int) -> None:
    config_folder().mkdir(parents=True)
    (config_folder() / "housequest.toml").write_text(f'[endpoints."127.0.0.1:{server.port}"]\nkey_env = "PRECIOUS_KEY"\n')
    size = ("--split", f"generated:0..{TASKS - 1}", "--max-steps", str(TURNS), "--concurrency", "64", "--timeout", "5")
    line = (*COMMAND, "eval", "--agent", "react", "--model", server.model(), *size, "--out", "run")
    with (tmp_path / "said.txt").open("wb") as said:
        process = subprocess.Popen(line, cwd=tmp_path, env=environment(PRECIOUS_KEY=KEY), stdout=said, stderr=said)
    with ending(process):
        server.await_requests(kill_at, process)
        process.kill()
    holding = [file for file in tmp_path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert holding == []
