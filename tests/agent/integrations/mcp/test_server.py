"""The real server and a real client of the MCP SDK: in one process, over a pipe, and over HTTP on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason='needs the extra mcp: pip install "housequest[mcp]"')

from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client

from housequest.agent.episodes.events import Ended, Started, Stepped
from housequest.agent.episodes.record import read_episode
from housequest.agent.integrations.games import GameHost, HostOptions
from housequest.agent.integrations.mcp.server import MANUAL, NEWEST, make_server
from housequest.worlds.registry import make_world
from tests.agent.integrations.mcp.mcp_client import Client
from tests.tui.conftest import COMMAND, environment
from tests.waiting import ending

WORLD = make_world("alfworld")


def within(offer: HostOptions, play: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        async with GameHost(offer) as games, Client(make_server(games)) as client:
            await play(client)

    asyncio.run(run())


async def call(client: Client, tool: str, **arguments: object) -> Mapping[str, Any]:
    """What a tool answers; an error is a failed test."""
    done = (await client.call_tool(tool, arguments)).model_dump(by_alias=True)
    assert not done["isError"], done["content"]
    return done["structuredContent"]


async def refused(client: Client, tool: str, **arguments: object) -> str:
    """What a tool says against its arguments."""
    done = (await client.call_tool(tool, arguments)).model_dump(by_alias=True)
    assert done["isError"]
    return done["content"][0]["text"]


async def win(client: Client, reference: str) -> Mapping[str, Any]:
    """Play a task as the expert would, from what the client is told alone."""
    opening = await call(client, "new_game", task=reference)
    expert = WORLD.expert()
    task = WORLD.task(reference)
    env = WORLD.open(task)
    memory = expert.begin(opening["goal"], env.reset().observation)
    while True:
        command, _, memory = expert.decide(memory)
        assert command is not None
        answer = await call(client, "act", game=opening["game"], command=command)
        observation = env.step(command).observation
        assert answer["observation"] == observation.text
        if answer["over"]:
            return answer
        assert answer["outcome"] is None
        memory = expert.observe(memory, command, observation)


def test_a_client_reads_the_manual_and_wins() -> None:
    async def play(client: Client) -> None:
        assert "heat OBJECT with RECEPTACLE" in (client.instructions or "")
        manual = await client.read_resource(MANUAL)
        assert manual.contents[0].text == WORLD.info.manual  # type: ignore[union-attr]
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["list_tasks", "new_game", "act", "give_up"]
        assert (await win(client, "generated:690"))["outcome"] == "won"
        assert len((await call(client, "list_tasks", split="example"))["tasks"]) == 3

    within(HostOptions(WORLD), play)


def test_commands_are_listed_only_where_they_are_granted() -> None:
    async def play(client: Client) -> None:
        assert "commands" in [tool.name for tool in (await client.list_tools()).tools]
        game = (await call(client, "new_game", task="example:1"))["game"]
        assert "look" in (await call(client, "commands", game=game))["commands"]
        bare = (await call(client, "new_game", task="example:1", grants=[]))["game"]
        assert "does not grant 'admissible'" in await refused(client, "commands", game=bare)

    within(HostOptions(WORLD, grants=frozenset({"admissible"})), play)


def test_tools_say_what_they_do_and_the_server_which_version_it_is() -> None:
    async def play(client: Client) -> None:
        assert client.server_info.version == metadata.version("housequest")
        tools = [tool.model_dump(by_alias=True) for tool in (await client.list_tools()).tools]
        said = {tool["name"]: tool["annotations"] for tool in tools}
        assert all(one["title"] and one["openWorldHint"] is False for one in said.values())
        assert [name for name, one in said.items() if one["readOnlyHint"]] == ["list_tasks", "commands"]
        assert [name for name, one in said.items() if one["destructiveHint"]] == ["give_up"]
        assert [name for name, one in said.items() if not one["idempotentHint"]] == ["new_game", "act"]

    within(HostOptions(WORLD, grants=frozenset({"admissible"})), play)


HOSTILE: tuple[tuple[str, Mapping[str, object]], ...] = (
    ("new_game", {"task": "/etc/passwd"}),
    ("new_game", {"task": "x" * 100_000}),
    ("new_game", {"task": 7}),
    ("new_game", {"task": "example:1", "seed": 1}),
    ("new_game", {"seed": -1}),
    ("new_game", {"seed": 1 << 40}),
    ("new_game", {"seed": True}),
    ("new_game", {"grants": ["admissible"]}),
    ("new_game", {"grants": ["everything"]}),
    ("new_game", {"grants": ["type"] * 1_000}),
    ("new_game", {"type": "heat"}),
    ("new_game", {"split": "nowhere"}),
    ("list_tasks", {"split": "../.."}),
    ("list_tasks", {"count": 10_000}),
    ("list_tasks", {"first": 0}),
    ("list_tasks", {"first": 1 << 80}),
    ("act", {}),
    ("act", {"game": "0"}),
    ("act", {"game": "0", "command": "look"}),
    ("act", {"game": ["0"], "command": {"a": 1}}),
    ("act", {"game": "\x1b[2J", "command": "look"}),
    ("act", {"game": "0", "command": "x" * 1_000_000}),
    ("give_up", {"game": None}),
    ("commands", {"game": "0"}),
)


@pytest.mark.heavy
@pytest.mark.parametrize(("tool", "arguments"), HOSTILE, ids=range(len(HOSTILE)))
def test_bad_arguments_are_told_and_the_server_goes_on(tool: str, arguments: Mapping[str, object]) -> None:
    async def play(client: Client) -> None:
        said = await refused(client, tool, **arguments)
        assert len(said) < 1_000
        assert "Traceback" not in said
        assert (await call(client, "new_game", task="example:1"))["turns_left"] == 50

    within(HostOptions(WORLD), play)


def test_a_broken_game_is_told_of_without_its_file(tmp_path: Path) -> None:
    house = tmp_path / "json_2.1.1" / "train" / "pick_and_place_simple-Mug-None-Desk-301" / "trial_T1"
    house.mkdir(parents=True)
    (house / "game.tw-pddl").write_text('{"solvable": true, "grammar": "x", "pddl_domain": "y", "pddl_problem": "z"}')
    annotations = '{"turk_annotations": {"anns": []}, "task_type": "pick_and_place_simple", "template": {"task_desc": "t"}}'
    (house / "traj_data.json").write_text(annotations)

    async def play(client: Client) -> None:
        said = await refused(client, "new_game", task="train:1")
        assert said.endswith("This game cannot be played; the reason is in the server's log.")

    within(HostOptions(make_world("alfworld", data=tmp_path)), play)


@pytest.mark.heavy
def test_over_a_pipe_with_a_record(tmp_path: Path) -> None:
    program, *arguments = (*COMMAND, "mcp", "--split", "generated", "--max-steps", "30")
    parameters = StdioServerParameters(
        command=program, args=arguments, cwd=tmp_path, env=environment(HOUSEQUEST_HOME=str(tmp_path))
    )

    async def play() -> None:
        async with Client(stdio_client(parameters)) as client:
            assert (await win(client, "generated:690"))["outcome"] == "won"
            assert "no split 'example' here" in await refused(client, "new_game", task="example:1")

    asyncio.run(play())
    (record,) = (tmp_path / "state" / "episodes").iterdir()
    bodies = [event.body for event in read_episode(record)]
    assert isinstance(bodies[0], Started)
    assert (bodies[0].agent, bodies[0].max_turns) == ("mcp", 30)
    assert isinstance(bodies[-1], Ended)
    assert (bodies[-1].outcome, bodies[-1].steps) == ("won", sum(isinstance(body, Stepped) for body in bodies))


@pytest.mark.heavy
def test_a_pipe_answers_every_call_whatever_is_said_between(tmp_path: Path) -> None:
    arguments = [*COMMAND, "mcp", "--no-record", "--world", "scripted"]
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}
    listing = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "list_tasks", "arguments": {}}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}).encode(),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        *(b"garbage", b"", b"[" * 100_000, b"\xff\xfe\x00", b'{"jsonrpc": "2.0", "id": null, "method": "tools/list"}'),
        *[json.dumps(listing).encode()] * 20,
    ]
    pipe = subprocess.PIPE
    with ending(subprocess.Popen(arguments, cwd=tmp_path, env=environment(), stdin=pipe, stdout=pipe, stderr=pipe)) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"".join(line + b"\n" for line in lines))
        server.stdin.flush()
        said = map(json.loads, server.stdout)
        answers = list(islice((one for one in said if NEWEST or "id" in one), 21))
        rest, log = server.communicate()
    assert [answer["id"] for answer in answers] == [1, *[7] * 20]
    assert all("result" in answer for answer in answers)
    assert (rest, log) == (b"", b"" if NEWEST else log)  # version 1 of the SDK also tells and logs what it cannot read


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="it is ended by an interrupt, which Windows has not")
def test_over_http_on_this_machine_alone(tmp_path: Path) -> None:
    arguments = [*COMMAND, "mcp", "--http", "0", "--no-record", "--world", "scripted"]
    with ending(subprocess.Popen(arguments, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)) as server:
        assert server.stderr is not None
        said = server.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:[0-9]+/mcp", said)
        assert address is not None, said

        async def play() -> None:
            async with Client(address[0]) as client:
                game = (await call(client, "new_game", task="demo:1"))["game"]
                assert (await call(client, "act", game=game, command="take lamp"))["accepted"]
            async with Client(address[0]) as other:
                assert (await call(other, "act", game=game, command="light lamp"))["observation"] == "The lamp burns."

        asyncio.run(play())
        server.send_signal(signal.SIGINT)
        assert server.wait() == 130


@pytest.mark.heavy
def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    program = "import sys; sys.modules['mcp'] = None; from housequest.tui.cli import main; main(['mcp'])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert 'pip install "housequest[mcp]"' in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.heavy
def test_a_folder_without_games_is_told_before_a_client_connects(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "mcp", "--data", str(tmp_path)],
        check=False,
        cwd=tmp_path,
        env={**os.environ, **environment()},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "holds no folder json_2.1.1" in " ".join(done.stderr.split())


@pytest.mark.heavy
def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*COMMAND, "mcp", "--http", port],
            check=False,
            cwd=tmp_path,
            env={**os.environ, **environment()},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 2
    assert f"port {port} of 127.0.0.1" in done.stderr
