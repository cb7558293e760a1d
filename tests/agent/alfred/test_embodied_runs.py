"""Runs of ALFRED's tasks: the same seed gives the same bytes, in two processes, for any number of workers, killed or not."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from housequest.worlds.registry import make_world
from tests.agent.alfred.demonstrator import demonstrator
from tests.agent.evaluation.runs.test_killed import episodes, finish, start
from tests.backends.prompts import said_by
from tests.backends.server import Messages, Server, seeing, serve
from tests.waiting import ending

pytestmark = pytest.mark.heavy

SEEING = ("--set", "seeing=noisy:miss=0.2,confuse=0.1,depth=0.02,seed=3")
LINES = {
    "by camera": ("--agent", "opex", *SEEING, "--max-steps", "60"),
    "with its pictures shown": ("--agent", "opex", *SEEING, "--grant", "view", "--max-steps", "40"),
    "oracle skills": ("--agent", "lota", "--world-option", "skills=oracle", "--set", "shots=2"),
    "low-level commands": ("--agent", "react", "--max-steps", "12"),
}
WALK = ("RotateRight", "MoveAhead", "LookDown", "OpenObject fridge 1", "MoveAhead", "RotateLeft", "PickupObject egg 1", "say")


def policy(messages: Messages) -> str:
    """The demonstrator, or for an agent that gives commands itself, a walk with mistakes."""
    known = demonstrator(*(make_world("alfred").task(f"example:{number}") for number in (1, 2, 3)))
    if re.match("You are the planner|You plan for a robot|You help|You control|Robot:", said_by(messages, "system")[0]):
        return known(messages)
    turn = len(said_by(messages, "assistant"))
    return f"Thought: on.\nAction: {WALK[turn % len(WALK)]}"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(policy) as running:
        running.probing = seeing
        yield running


def command(server: Server, what: str, out: Path, workers: int) -> tuple[str, ...]:
    size = ("--split", "example", "--concurrency", str(workers), "--out", str(out))
    return ("eval", "--world", "alfred", "--model", server.model(), *LINES[what], *size)


def holds_a_picture(path: Path, shown: Collection[bytes]) -> bool:
    """Whether a file has a PNG in it, as bytes or as text, one of those that were ``shown``, or a word as long as a frame."""
    content = path.read_bytes()
    marks = (b"\x89PNG", b"iVBOR", b"data:image", *shown, *map(b64encode, shown))
    return any(mark in content for mark in marks) or re.search(rb"\S{5000}", content) is not None


@pytest.mark.parametrize(
    "what", ["by camera", *(pytest.param(each, marks=pytest.mark.slow) for each in LINES if each != "by camera")]
)
def test_workers_processes_and_kills_leave_no_trace(server: Server, tmp_path: Path, what: str) -> None:
    server.requests.clear()
    finish(command(server, what, tmp_path / "one", 1))
    calls = len(server.requests)
    shown = frozenset(png for request in server.requests for png in request.pngs)
    finish(command(server, what, tmp_path / "eight", 8))
    server.requests.clear()
    line = command(server, what, tmp_path / "killed", 2)
    with ending(start(tmp_path, line)) as process:
        server.await_requests(max(2, calls // 2), process)
        process.kill()
    assert not (tmp_path / "killed" / "index.jsonl").exists() or episodes(tmp_path / "killed") != episodes(tmp_path / "one")
    with ending(start(tmp_path, line)) as process:
        assert process.wait() == 0
    whole = episodes(tmp_path / "one")
    assert len(whole) == 3
    assert episodes(tmp_path / "eight") == whole
    assert episodes(tmp_path / "killed") == whole
    assert shown or "view" not in LINES[what]
    for folder in ("one", "eight", "killed"):
        # They are rendered again at a replay.
        assert not [path for path in (tmp_path / folder).rglob("*") if path.is_file() and holds_a_picture(path, shown)]
    index = (tmp_path / "one" / "index.jsonl").read_bytes()
    assert sorted((tmp_path / "killed" / "index.jsonl").read_bytes().splitlines()) == sorted(index.splitlines())
