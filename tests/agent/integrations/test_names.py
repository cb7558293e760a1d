"""Every route of every server: whoever asks under another name, from another site's page or with another client's id gets
nothing. Real processes, and requests as a browser would be made to send them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("mcp", reason="needs the extra mcp")
pytest.importorskip("textual_serve", reason="needs the extra serve")

from housequest.agent.integrations.env_server.server import EnvServer
from housequest.agent.integrations.games import GameHost, HostOptions
from housequest.agent.integrations.mcp.server import http_app, make_server
from housequest.agent.integrations.names import OwnNames
from housequest.agent.integrations.sessions import ServedTasks, Sessions
from housequest.tui.browser.server import BrowserServer
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world
from tests.tui.browser.test_serve import free_port
from tests.tui.conftest import COMMAND, environment
from tests.waiting import PATIENCE, ending

OWN = OwnNames("127.0.0.1")
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
FOREIGN_HOSTS: tuple[tuple[str, ...], ...] = (
    ("evil.example",),
    ("evil.example:{port}",),
    ("127.0.0.1.evil.example:{port}",),
    ("localhost.evil.example",),
    ("evil.example@127.0.0.1:{port}",),
    ("127.0.0.1:{port}@evil.example",),
    ("127.0.0.1:{port}", "evil.example"),
    ("127.0.0.1/evil.example",),
    ("[::1].evil.example",),
    ("[::1",),
    ("",),
    (),
)
FOREIGN_ORIGINS = (
    "http://evil.example",
    "https://evil.example:{port}",
    "null",
    "http://127.0.0.1:1",
    "http://127.0.0.1.evil.example:{port}",
    "http://[",
    "file://",
)
REFUSED = (400, 403, 421)
SAID = ("You are", "household", "session", "token=", "<html", "jsonrpc", "openapi", "healthy")
"""Words of what the servers tell their own clients."""


@dataclass(frozen=True)
class Server:
    """A server's process as a stranger finds it: its port, and all the routes that its application has."""

    port: int
    routes: Sequence[tuple[str, str]]
    token: str = ""

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        hosts: Sequence[str] | None = None,
        origins: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """The status and the body of the answer to one request."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        content = b"" if body is None else json.dumps(body).encode()
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        own = ("127.0.0.1:{port}",) if hosts is None else hosts
        kind = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        for name, value in (
            *(("Host", host) for host in own),
            *(("Origin", origin) for origin in origins),
            *{**kind, **(headers or {}), "Content-Length": str(len(content))}.items(),
        ):
            connection.putheader(name, value.replace("{port}", str(self.port)))
        connection.endheaders(content)
        answer = connection.getresponse()
        said = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, said


def _routes(app: Any) -> list[tuple[str, str]]:
    return sorted({(route.method, route.resource.canonical) for route in app.router.routes()})


@contextmanager
def _started(folder: Path, *arguments: str) -> Generator[str]:
    """What the command says once it serves."""
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    with ending(process, 10 * PATIENCE):
        assert process.stderr is not None
        yield process.stderr.readline()
        process.terminate()


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    """Each server, with its routes as its application in this process has them."""
    folder, world = tmp_path_factory.mktemp("served"), make_world("scripted")
    port = free_port()
    with (
        _started(folder, "env-server", "--world", "scripted", "--port", "0") as env,
        _started(folder, "mcp", "--world", "scripted", "--http", "0", "--no-record", "--grant", "admissible") as mcp,
        _started(folder, "serve", "--port", str(port), "--", "--world", "scripted") as browser,
    ):
        ports = [int(found[1]) for said in (env, mcp) if (found := re.search(r"127\.0\.0\.1:(\d+)", said))]
        token = re.search(r"token=(\S+)", browser)
        assert len(ports) == 2
        assert token is not None
        app: Any = http_app(make_server(GameHost(HostOptions(world))))
        routes = [(method, str(route.path)) for route in app.routes for method in METHODS]
        yield {
            "env-server": Server(ports[0], _routes(EnvServer(Sessions(ServedTasks(world, "demo")), OWN).app)),
            "mcp": Server(ports[1], routes),
            "serve": Server(port, _routes(BrowserServer([], OWN, port, most=1).app), token[1]),
        }


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["env-server", "mcp", "serve"])
def test_no_route_answers_under_a_foreign_name_or_to_a_foreign_page(name: str, servers: dict[str, Server]) -> None:
    server = servers[name]
    assert server.routes
    walked = {*server.routes, *((method, "/nothing/here") for method in METHODS)}
    walked |= {(method, path) for method in METHODS for _, path in server.routes}
    for method, path in sorted(walked):
        whole = f"{path}?token={server.token}" if server.token else path
        for hosts in FOREIGN_HOSTS:
            status, said = server.ask(method, whole, {}, hosts)
            assert status in REFUSED, (method, path, hosts, status)
            assert not any(word in said for word in SAID), (method, path, hosts, said)
        for origin in FOREIGN_ORIGINS:
            status, said = server.ask(method, whole, {}, origins=(origin,))
            assert status == 403, (method, path, origin, status)
            assert not any(word in said for word in SAID), (method, path, origin, said)
        status, _ = server.ask(method, whole, {}, origins=("http://127.0.0.1:{port}", "http://evil.example"))
        assert status == 403
    method, path = next(route for route in server.routes if route != ("GET", "/ws"))
    for host in ("localhost", "LocalHost:{port}", "127.0.0.1", "192.168.0.7:80", "[::1]:{port}"):
        assert server.ask(method, f"{path}?token={server.token}", {}, (host,))[0] not in {403, 421}, host
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    upgrade["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    for hosts, origin in ((("evil.example",), "http://evil.example"), (None, "http://evil.example")):
        status, _ = server.ask("GET", f"/ws?token={server.token}", None, hosts, (origin,), upgrade)
        assert status in REFUSED


@pytest.mark.heavy
def test_no_route_plays_another_clients_session(servers: dict[str, Server]) -> None:
    server = servers["env-server"]

    def post(path: str, **said: object) -> Any:
        return json.loads(server.ask("POST", path, said)[1])

    ids = [post("/create")["id"] for _ in range(3)]
    assert len({*ids}) == 3
    assert min(abs(one - other) for one in ids for other in ids if one != other) > 1 << 30, "they tell nothing of each other"
    mine, *others = ids
    opening = post("/reset", id=mine, game=0)["observation"]
    post("/close", id=others[0])
    guesses = [*range(20), *(id + step for id in others for step in (-1, 1)), others[0], -mine, mine + (1 << 64), str(-mine)]
    for method, path in server.routes:
        for guess in guesses:
            said = {"id": guess, "game": 1, "action": "look", "session_id": guess, "episode_id": str(guess)}
            status, answer = server.ask(method, f"{path}?id={guess}&session_id={guess}", said)
            assert opening not in answer
            asks_for_one = path in {"/reset", "/step", "/close", "/observation", "/available_actions", "/detail"}
            assert not asks_for_one or "error" in answer or status >= 400 or method == "HEAD", (method, path, guess, answer)
    assert json.loads(server.ask("GET", f"/observation?id={mine}")[1]) == opening
    assert post("/step", id=mine, action="look")["done"] is False


@pytest.mark.heavy
def test_no_tool_plays_another_clients_game(servers: dict[str, Server]) -> None:
    server = servers["mcp"]

    def call(client: str, tool: str, **arguments: object) -> Any:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        return json.loads(server.ask("POST", "/mcp", asked, headers={"mcp-session-id": client})[1])["result"]

    first, second = (call(client, "new_game")["structuredContent"]["game"] for client in ("a" * 32, "b" * 32))
    assert len(first) == 32
    assert first[:8] != second[:8]
    guesses = ["", "0", "1", second[:-1], f"{int(second, 16) + 1:032x}", f"{int(second, 16) - 1:032x}", second.upper() + " "]
    for tool in ("act", "give_up", "commands"):
        for guess in guesses:
            assert call("b" * 32, tool, game=guess, **({"command": "look"} if tool == "act" else {}))["isError"]
    assert call("a" * 32, "act", game=first, command="look")["structuredContent"]["turns_left"] == 49


@given(st.text(max_size=30), st.text(max_size=30))
def test_only_own_names_and_addresses_are_welcome(host: str, origin: str) -> None:
    names = OwnNames("127.0.0.1", "https://play.example.org/below")
    welcome = names.refusal([host], []) is None
    assert not welcome or re.fullmatch(r"(?i)(localhost|play\.example\.org|[0-9.]+|\[[0-9a-f:.]+\])(:\d{1,5})?", host)
    assert names.refusal(["play.example.org"], [origin]) is None or origin not in {"https://play.example.org"}
    assert names.refusal(["evil.example"], [origin])


def test_a_name_of_the_public_address_is_own() -> None:
    names = OwnNames("0.0.0.0", "https://play.example.org:8443")
    assert names.refusal(["play.example.org:8443"], ["https://play.example.org:8443"]) is None
    assert names.refusal(["play.example.org"], ["http://play.example.org"]) is None
    assert names.refusal(["10.0.0.3:8000"], []) is None
    assert names.refusal(["10.0.0.3:8000"], ["https://play.example.org:8443"]) is None
    assert names.refusal(["10.0.0.3:8000"], ["https://play.example.org"]) == (403, "This page is not of housequest.")
    assert OwnNames("::1").address(80) == "http://[::1]:80"


@pytest.mark.parametrize("url", ["", "x", "ftp://x", "http://", "http://[", "https://x:port", "https://x:99999"])
def test_a_public_address_is_checked(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--public-url: .* is not an address"):
        OwnNames("127.0.0.1", url)
