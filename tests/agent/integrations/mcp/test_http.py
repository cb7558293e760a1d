"""The server of the Model Context Protocol as its worst clients see it: a process of its own, and sockets."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason='needs the extra mcp: pip install "housequest[mcp]"')

from housequest.agent.integrations.games import MOST_EACH
from housequest.agent.integrations.mcp.server import LARGEST_REQUEST, MOST_WAITING, NEWEST, SESSION_HEADER
from tests.tui.conftest import COMMAND, environment
from tests.waiting import PATIENCE, ending

pytestmark = pytest.mark.heavy

IMPATIENT = """\
import asyncio
from housequest.agent.integrations.games import HostOptions
from housequest.agent.integrations.mcp.server import serve_http
from housequest.worlds.registry import make_world
asyncio.run(serve_http(HostOptions(make_world("scripted")), 0, lambda address: print(address, flush=True), patience=1))
"""
"""A server that waits a second for a request; the real one waits half a minute."""


@contextmanager
def serving(command: Sequence[str], folder: Path) -> Iterator[tuple[int, int]]:
    """The port and the process id of a server, which must say nothing but its address."""
    started = subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with ending(started, 5 * PATIENCE) as server:  # for all tests that ask it
        assert server.stdout is not None
        first = server.stdout.readline()
        port = re.search("http://127\\.0\\.0\\.1:([0-9]+)/mcp", first)
        assert port is not None, first
        yield int(port[1]), server.pid
        server.terminate()
        assert server.communicate()[0] == ""


PLAIN = [*COMMAND, "mcp", "--http", "0", "--no-record", "--world", "scripted"]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server in which no test leaves a game."""
    with serving(PLAIN, tmp_path_factory.mktemp("served")) as (port, _):
        yield port


def message(method: str, id: object = 1, **parameters: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}).encode()


BEGIN = message("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "x", "version": "0"})
LIST = message("tools/list")
NEW = message("tools/call", name="new_game", arguments={"task": "demo:1"})


class Caller:
    """One connection. It shows a session once it has been given one."""

    def __init__(self, port: int) -> None:
        self.connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def send(self, body: bytes, **headers: str) -> None:
        self.connection.request("POST", "/mcp", body, {**self.headers, **headers})

    def receive(self) -> tuple[HTTPResponse, bytes]:
        answer = self.connection.getresponse()
        if (session := answer.getheader(SESSION_HEADER)) is not None:
            self.headers[SESSION_HEADER] = session
        return answer, answer.read()

    def status(self, body: bytes, **headers: str) -> int:
        self.send(body, **headers)
        return self.receive()[0].status

    def ask(self, body: bytes, **headers: str) -> Mapping[str, Any]:
        self.send(body, **headers)
        answer = json.loads(self.receive()[1])
        assert "result" in answer, answer
        return answer["result"]


def head(port: int) -> bytes:
    return f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n".encode()


def whole_request(port: int) -> bytes:
    rest = f"Accept: application/json, text/event-stream\r\nContent-Length: {len(LIST)}\r\n\r\n"
    return head(port) + rest.encode() + LIST


def memory(process: int) -> int:
    """Bytes of memory that a process has in use."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_sessions_that_are_left_alone_hold_nothing(tmp_path: Path) -> None:
    with serving(PLAIN, tmp_path) as (port, process):
        Caller(port).ask(BEGIN)
        before = memory(process)
        callers = [Caller(port) for _ in range(500)]
        for caller in callers:
            assert caller.ask(BEGIN)["serverInfo"]["name"] == "housequest"
            caller.connection.close()
        assert len({caller.headers[SESSION_HEADER] for caller in callers}) == 500
        assert memory(process) - before < 8 << 20  # a session of the SDK holds 40 kB: 20 MB in all
        assert callers[0].ask(LIST)["tools"]


def test_calls_with_the_same_id_are_all_answered(port: int) -> None:
    callers = [Caller(port) for _ in range(8)]
    callers[0].ask(BEGIN)
    for caller in callers:
        caller.headers = callers[0].headers
        caller.send(message("tools/call", id=7, name="list_tasks", arguments={}))
    answers = [json.loads(caller.receive()[1]) for caller in callers]
    assert [answer["id"] for answer in answers] == [7] * 8
    assert all("result" in answer for answer in answers)


def test_a_client_that_opens_games_without_end_leaves_some_to_others(tmp_path: Path) -> None:
    with serving(PLAIN, tmp_path) as (port, _):
        greedy, other = Caller(port), Caller(port)
        greedy.ask(BEGIN)
        other.ask(BEGIN)
        assert not any(greedy.ask(NEW)["isError"] for _ in range(MOST_EACH))
        refused = greedy.ask(NEW)
        assert refused["isError"]
        assert f"{MOST_EACH} games in play, which is your limit" in refused["content"][0]["text"]
        again = Caller(port)
        again.headers = greedy.headers
        assert again.ask(NEW)["isError"], "another connection of a session has no share of its own"
        assert not other.ask(NEW)["isError"]


@pytest.mark.skipif(not NEWEST, reason="version 1 of the SDK does not know this protocol")
def test_a_client_whose_protocol_has_no_sessions_counts_by_its_connection(tmp_path: Path) -> None:
    protocol = "2026-07-28"
    names = {"protocolVersion": protocol, "clientCapabilities": {}}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in names.items()}
    new = message("tools/call", name="new_game", arguments={"task": "demo:1"}, _meta=meta)
    with serving(PLAIN, tmp_path) as (port, _):
        greedy, other = Caller(port), Caller(port)
        for caller in (greedy, other):
            caller.headers |= {"MCP-Protocol-Version": protocol, "MCP-Method": "tools/call", "MCP-Name": "new_game"}
        assert [greedy.ask(new)["isError"] for _ in range(MOST_EACH + 1)] == [*[False] * MOST_EACH, True]
        assert not other.ask(new)["isError"]
        assert SESSION_HEADER not in greedy.headers


def test_garbage_is_refused_and_the_server_goes_on(port: int) -> None:
    caller = Caller(port)
    caller.ask(BEGIN)
    bodies = (
        b"",
        b"{",
        b"[" * 100_000,
        b"\xff\xfe",
        b"1" * 100_000,
        b'"\\ud800"',
        b"[]",
        b"null",
        message("tools/call", name=5),
    )
    for protocol in ("2025-06-18", "2026-07-28"):
        for body in bodies:
            assert caller.status(body, **{"MCP-Protocol-Version": protocol}) in {200, 400}
    assert caller.status(b" " * (LARGEST_REQUEST + 1)) == 413
    for data in (b"\x00\xff\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 100_000, head(port) + b"Content-Length: x\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as opened, suppress(ConnectionError):
            opened.sendall(data)
            assert opened.recv(20).startswith(b"HTTP/1.1 400")
    assert Caller(port).ask(LIST)["tools"]


def test_only_programs_of_this_machine_that_say_so_are_served(port: int) -> None:
    assert Caller(port).status(BEGIN, Host="housequest.example") == 421
    assert Caller(port).status(BEGIN, Host=f"127.0.0.1.example:{port}") == 421
    assert Caller(port).status(BEGIN, Origin="http://housequest.example") == 403
    assert Caller(port).status(BEGIN, Host=f"localhost:{port}", Origin=f"http://localhost:{port}") == 200


def test_there_is_no_stream_to_hold_open(port: int) -> None:
    caller = Caller(port)
    caller.connection.request("GET", "/mcp", headers={"Accept": "text/event-stream"})
    assert caller.receive()[0].status == 405


def test_connections_without_end_keep_nobody_out(port: int) -> None:
    with ExitStack() as stack:
        for number in range(4 * MOST_WAITING):
            opened = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            opened.sendall((b"", b"POST /m", head(port), head(port) + b"Content-Length: 9\r\n\r\n{")[number % 4])
            if number % MOST_WAITING == 0:
                assert Caller(port).ask(LIST)["tools"]


def test_a_connection_that_keeps_the_server_waiting_is_closed(tmp_path: Path) -> None:
    with serving([sys.executable, "-c", IMPATIENT], tmp_path) as (port, _), ExitStack() as stack:
        whole = whole_request(port)
        for data in (b"", b"POST /mcp HTTP/1.1\r\nHo", whole[:-5], whole, whole + whole[:-5], whole * 2):
            opened = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            opened.sendall(data)
            answers = b""
            with suppress(ConnectionResetError):
                while received := opened.recv(1 << 16):
                    answers += received
            assert answers.count(b"HTTP/1.1 200") == data.count(LIST), "what was asked whole is answered"


def test_a_client_that_asks_far_ahead_is_left(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as opened, pytest.raises(ConnectionError):
        opened.sendall(whole_request(port) * 50_000)
    assert Caller(port).ask(LIST)["tools"]


def test_half_a_request_holds_up_nobody_who_ends_the_server(tmp_path: Path) -> None:
    with ExitStack() as sockets, serving(PLAIN, tmp_path) as (port, _):
        for _ in range(3):
            half = sockets.enter_context(socket.create_connection(("127.0.0.1", port)))
            half.sendall(f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 100\r\n\r\n{{".encode())
        assert Caller(port).status(BEGIN) == 200
