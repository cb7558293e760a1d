"""The environment server as its clients see it, the worst included: OpenEnv's messages, and AgentGym's requests."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.integrations.env_server.server import LARGEST_REQUEST, EnvServer
from housequest.agent.integrations.names import OwnNames
from housequest.agent.integrations.sessions import ServedTasks, Sessions
from tests.agent.integrations.test_sessions import DEMO, SCRIPTED, WAY
from tests.tui.conftest import COMMAND, environment
from tests.waiting import PATIENCE, ending

ADDRESS = re.compile(r"Serving \w+, \w+, at (http://127\.0\.0\.1:\d+) until you press Ctrl-C\.\n")
SCRIPTED_WORLD = ("--world", "scripted")
Client = Any


def within(served: ServedTasks, play: Callable[[Client], Awaitable[None]]) -> None:
    """Play against the server's application, over sockets in this process."""

    async def run() -> None:
        async with (
            asyncio.timeout(PATIENCE),
            Sessions(served) as sessions,
            TestClient(TestServer(EnvServer(sessions, OwnNames("127.0.0.1")).app)) as client,
        ):
            await play(client)

    asyncio.run(run())


async def say(socket: Any, type: str, **data: Any) -> dict[str, Any]:
    """What is answered to one message of OpenEnv's client; a state and a close have no data."""
    await socket.send_str(json.dumps({"type": type} if type in {"state", "close"} else {"type": type, "data": data}))
    return await socket.receive_json()


async def ask(client: Client, path: str, **said: Any) -> Any:
    async with client.post(path, json=said) as answer:
        assert answer.status == 200
        return await answer.json()


async def told(client: Client, path: str, id: object) -> Any:
    async with client.get(path, params={"id": str(id)}) as answer:
        return await answer.json()


def test_an_episode_over_openenvs_messages() -> None:
    async def play(client: Client) -> None:
        async with client.ws_connect("/ws") as socket:
            opening = await say(socket, "reset", task="demo:1", episode_id="mine", difficulty="ignored")
            assert opening["type"] == "observation"
            assert (opening["data"]["reward"], opening["data"]["done"]) == (None, False)
            seen = opening["data"]["observation"]
            assert seen["text"].endswith(seen["goal"])
            assert WAY[0] in seen["admissible_commands"]
            *_, last = [await say(socket, "step", command=command) for command in WAY]
            assert (last["data"]["reward"], last["data"]["done"], last["data"]["observation"]["won"]) == (1.0, True, True)
            state = await say(socket, "state")
            assert state == {"type": "state", "data": {"episode_id": "mine", "step_count": 6, "task": "demo:1", "seed": None}}
            refused = await say(socket, "step", command="look")
            assert refused["data"]["code"] == "EXECUTION_ERROR"
            assert "over" in refused["data"]["message"]
            await socket.send_str('{"type": "close"}')
            assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE

    within(DEMO, play)


def test_what_is_sent_fits_the_schema_that_is_told() -> None:
    jsonschema = pytest.importorskip("jsonschema")

    async def play(client: Client) -> None:
        async with client.get("/schema") as answer:
            schema = await answer.json()
        async with client.ws_connect("/ws") as socket:
            for message in (await say(socket, "reset"), await say(socket, "step", command="look")):
                data = message["data"]
                seen = {**data["observation"], "reward": data["reward"], "done": data["done"]}
                jsonschema.validate(seen, schema["observation"])
            jsonschema.validate((await say(socket, "state"))["data"], schema["state"])
        jsonschema.validate({"command": "look"}, schema["action"])

    within(DEMO, play)


def test_an_episode_over_agentgyms_requests() -> None:
    async def play(client: Client) -> None:
        id = (await ask(client, "/create"))["id"]
        assert (await told(client, "/observation", id))["error"].startswith("No episode is being played")
        opening = await ask(client, "/reset", id=id, game=0, world_type="Text")
        assert set(opening) == {"id", "observation", "available_actions", "task_type"}
        assert (opening["id"], opening["task_type"]) == (id, "")
        assert "\n\n" not in opening["observation"]
        assert WAY[0] in opening["available_actions"] == await told(client, "/available_actions", id)
        assert await told(client, "/observation", id) == opening["observation"]
        *before, last = [await ask(client, "/step", id=id, action=command) for command in WAY]
        assert all((one["reward"], one["done"]) == (0.0, False) for one in before)
        assert (last["reward"], last["done"], set(last)) == (
            1.0,
            True,
            {"observation", "reward", "available_actions", "done"},
        )
        assert await told(client, "/detail", id) == last
        assert "over" in (await ask(client, "/step", id=id, action="look"))["error"]
        assert await ask(client, "/close", id=id) == {"closed": True}
        for answer in (await ask(client, "/step", id=id, action="look"), await ask(client, "/close", id=id)):
            assert answer["error"].startswith(f"There is no session {id} here")

    within(DEMO, play)


def test_nothing_is_told_that_was_not_granted() -> None:
    async def play(client: Client) -> None:
        async with client.ws_connect("/ws") as socket:
            seen = (await say(socket, "reset"))["data"]["observation"]
            assert (seen["admissible_commands"], seen["type"], seen["explanation"]) == (None, None, None)
        id = (await ask(client, "/create"))["id"]
        assert (await ask(client, "/reset", id=id, game=0))["available_actions"] == []
        assert await told(client, "/available_actions", id) == []

    within(ServedTasks(SCRIPTED, "demo"), play)


def test_sessions_are_limited_and_a_refused_one_is_told_why() -> None:
    async def play(client: Client) -> None:
        async with client.ws_connect("/ws") as socket:
            await say(socket, "reset")
            second = await ask(client, "/create")
            async with client.ws_connect("/ws") as third:
                refused = await third.receive_json()
                assert (await third.receive()).type is aiohttp.WSMsgType.CLOSE
            assert refused["data"] == {
                "message": "2 sessions are open, which is the limit: close one, or start the server with --sessions N.",
                "code": "CAPACITY_REACHED",
                "active_sessions": 2,
                "max_sessions": 2,
            }
            async with client.post("/create") as answer:
                assert (answer.status, (await answer.json())["error"][:19]) == (503, "2 sessions are open")
            await ask(client, "/close", **second)
            assert (await ask(client, "/create"))["id"] != second["id"]

    within(ServedTasks(SCRIPTED, "demo", sessions=2), play)


def test_an_idle_session_is_closed_and_told_so() -> None:
    async def play(client: Client) -> None:
        async with client.ws_connect("/ws") as socket:
            last = await socket.receive_json()
            assert last["data"]["code"] == "SESSION_ERROR"
            assert last["data"]["message"].startswith("Nobody used this session for 0 seconds")
            assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE

    within(ServedTasks(SCRIPTED, "demo", idle=0.01), play)


MESSAGES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["reset", "step", "state"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "data", "command", "seed", "task", "id", "game", "action"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)
GARBAGE = st.one_of(st.binary(max_size=80), MESSAGES.map(lambda said: json.dumps(said).encode()))
LONG = [b"", b"{", b"[" * 100_000, b"1" * 100_000, b'"\\ud800"', b'{"type": "step", "data": {"command": "\\ud800"}}']


def check_garbage(garbage: Sequence[bytes]) -> None:
    """All of it is answered in words, and the session goes on."""

    async def play(client: Client) -> None:
        async with client.ws_connect("/ws") as socket:
            for one in garbage:
                await socket.send_bytes(one)
                answer = await socket.receive_json()
                assert answer["type"] in {"error", "observation", "state"}
                assert answer["type"] != "error" or len(answer["data"]["message"]) > 10
            assert (await say(socket, "reset", task="demo:1"))["type"] == "observation"
        id = (await ask(client, "/create"))["id"]
        for one in garbage:
            for path in ("/reset", "/step", "/close"):
                async with client.post(path, data=one) as answer:
                    assert answer.status in {200, 422}
                    said = await answer.json()
                    assert "error" not in said or len(said["error"]) > 10
            for query in ("/observation", "/detail"):
                async with client.get(query, params={"id": one[:99].decode("utf-8", "replace")}) as answer:
                    assert answer.status in {200, 422}
        assert (await ask(client, "/reset", id=id, game=0))["id"] == id

    within(DEMO, play)


@pytest.mark.heavy
@settings(max_examples=40, deadline=None)
@given(garbage=st.lists(GARBAGE, min_size=1, max_size=12))
def test_garbage_is_answered_in_words_and_the_session_goes_on(garbage: list[bytes]) -> None:
    check_garbage(garbage)


def test_long_and_deep_garbage_is_answered_too() -> None:
    check_garbage(LONG)


def test_what_is_too_large_is_refused() -> None:
    async def play(client: Client) -> None:
        async with client.ws_connect("/ws", max_msg_size=0) as socket:
            await socket.send_str(json.dumps({"type": "step", "data": {"command": "x" * LARGEST_REQUEST}}))
            last = await socket.receive()
            assert (last.type, last.data) == (aiohttp.WSMsgType.CLOSE, aiohttp.WSCloseCode.MESSAGE_TOO_BIG)
        async with client.post("/step", data=b" " * (LARGEST_REQUEST + 1)) as answer:
            assert answer.status == 413
        assert set(await ask(client, "/create")) == {"id"}

    within(DEMO, play)


def test_openenvs_other_addresses_say_what_they_are() -> None:
    async def play(client: Client) -> None:
        async with client.get("/health") as answer:
            assert await answer.json() == {"status": "healthy"}
        async with client.get("/metadata") as answer:
            assert (await answer.json())["description"] == "scripted, demo (3 tasks)"
        async with client.get("/openapi.json") as answer:
            assert {"/ws", "/reset", "/step", "/state", "/create"} <= set((await answer.json())["paths"])
        async with client.get("/state") as answer:
            assert answer.status == 400
        async with client.post("/mcp", data=b"{") as answer:
            assert (await answer.json())["error"]["message"].startswith("There are no tools here")
        async with client.post("/reset", json={"seed": 1}) as answer:
            assert (answer.status, "OpenEnv's clients play at /ws" in await answer.text()) == (422, True)
        async with client.get("/ws") as answer:
            assert answer.status == 400

    within(DEMO, play)


def test_calls_at_once_are_all_answered() -> None:
    async def play(client: Client) -> None:
        async def alone() -> None:
            async with client.ws_connect("/ws") as socket:
                await say(socket, "reset", task="demo:1")
                for number, command in enumerate(WAY, 1):
                    seen = await say(socket, "step", command=command)
                    assert seen["data"]["observation"]["turns_left"] == 50 - number
                assert seen["data"]["reward"] == 1.0

        id = (await ask(client, "/create"))["id"]
        await ask(client, "/reset", id=id, game=0)
        *_, together = await asyncio.gather(
            *(alone() for _ in range(30)),
            asyncio.gather(*(ask(client, "/step", id=id, action="look") for _ in range(40))),
        )
        assert not any(answer["done"] for answer in together)
        assert (await ask(client, "/step", id=id, action="look"))["reward"] == 0.0

    within(DEMO, play)


@contextmanager
def serving(folder: Path, *arguments: str, interrupted: bool = True) -> Iterator[tuple[str, int]]:
    """The address and the process of the real command, which must say nothing else and end by itself when it is interrupted.

    Without ``interrupted`` the block stops it.
    """
    process = subprocess.Popen(
        [*COMMAND, "env-server", "--port", "0", *arguments],
        cwd=folder,
        env=environment(HOUSEQUEST_HOME=str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with ending(process, 5 * PATIENCE):
        assert process.stderr is not None
        said = process.stderr.readline()
        address = ADDRESS.fullmatch(said)
        assert address is not None, said
        yield address[1], process.pid
        if interrupted:
            os.kill(process.pid, signal.SIGINT)
        assert process.communicate(timeout=PATIENCE) == ("", "")
        assert process.returncode == 0


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Client]:
    async with asyncio.timeout(PATIENCE), aiohttp.ClientSession(address) as client:
        yield client


def play(part: Coroutine[Any, Any, None]) -> None:
    asyncio.run(part)


@pytest.mark.heavy
def test_the_command_serves_and_stops_while_sessions_are_open(tmp_path: Path) -> None:
    async def leave_open(address: str, process: int) -> None:
        async with connected(address) as client, client.ws_connect("/ws") as one, client.ws_connect("/ws") as other:
            await say(one, "reset", task="demo:1")
            await ask(client, "/create")
            os.kill(process, signal.SIGTERM)
            for socket in (one, other):
                last = await socket.receive()
                assert (last.type, last.data, last.extra) == (aiohttp.WSMsgType.CLOSE, 1001, "the server was stopped")

    with serving(tmp_path, *SCRIPTED_WORLD, "--grant", "admissible", interrupted=False) as (address, process):
        play(leave_open(address, process))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [], "nothing is written"


@pytest.mark.heavy
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_sessions_that_came_and_went_hold_nothing(tmp_path: Path) -> None:
    def memory(process: int) -> int:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096

    async def come_and_go(client: Client, number: int) -> None:
        for _ in range(number):
            async with client.ws_connect("/ws") as socket:
                await say(socket, "reset")
            await ask(client, "/close", id=(await ask(client, "/create"))["id"])

    async def measure(address: str, process: int) -> None:
        async with connected(address) as client:
            await come_and_go(client, 100)
            before = memory(process)
            await come_and_go(client, 400)
            assert memory(process) - before < 4 << 20

    with serving(tmp_path, *SCRIPTED_WORLD, "--sessions", "4") as (address, process):
        play(measure(address, process))


@pytest.mark.heavy
def test_more_clients_than_strangers_come_at_once(tmp_path: Path) -> None:
    async def all_at_once(address: str) -> None:
        async def alone() -> None:
            async with aiohttp.ClientSession(address) as client, client.ws_connect("/ws") as socket:
                await say(socket, "reset", task="demo:1")
                await barrier.wait()
                assert (await say(socket, "step", command="look"))["type"] == "observation"

        barrier = asyncio.Barrier(200)
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(alone() for _ in range(200)))

    with serving(tmp_path, *SCRIPTED_WORLD, "--sessions", "200") as (address, _):
        play(all_at_once(address))


HELLO = (
    b"GET /ws HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
ASK = b"\x81\x91\0\0\0\0" + b'{"type": "state"}'


@pytest.mark.heavy
@pytest.mark.parametrize("leaves", [True, False], ids=["leave before they are answered", "never read an answer"])
def test_the_command_serves_and_stops_quietly_whatever_clients(leaves: bool, tmp_path: Path) -> None:
    async def attack(address: str) -> None:
        port = int(address.rpartition(":")[2])
        for _ in range(60 if leaves else 2):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HELLO + ASK)
            with suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(0.01 if leaves else 2):
                    while not leaves:
                        writer.write(ASK * 1_000)
                        await writer.drain()
            if leaves:
                writer.transport.abort()
        async with connected(address) as client, client.ws_connect("/ws") as socket:
            assert (await say(socket, "reset", task="demo:1"))["type"] == "observation"

    with serving(tmp_path, *SCRIPTED_WORLD) as (address, _):
        play(attack(address))
