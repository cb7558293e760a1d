"""``housequest serve``: the screen in a browser, for anybody with its address; real processes and a real client."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.tui.conftest import COMMAND, Run, environment
from tests.waiting import PATIENCE, ending, wait_until

pytestmark = pytest.mark.heavy

aiohttp = pytest.importorskip("aiohttp", reason="needs the screen in a browser: pip install 'housequest[serve]'")
pytest.importorskip("textual_serve", reason="needs the screen in a browser: pip install 'housequest[serve]'")

SCRIPTED = ("--world", "scripted")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


@dataclass(frozen=True)
class Served:
    """A server, and the process it is."""

    port: int
    token: str
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def page(self) -> str:
        return f"{self.url}/?token={self.token}"


@contextmanager
def serving(folder: Path, *arguments: str, playing: Sequence[str] = SCRIPTED, told: str = "") -> Iterator[Served]:
    """A server, which says nothing but its address, and what is ``told`` as games end."""
    port = free_port()
    command = [*COMMAND, "serve", "--port", str(port), *arguments, "--", *playing]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(HOUSEQUEST_HOME=str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with ending(process, 5 * PATIENCE):  # for all tests that look at it
        assert process.stderr is not None
        said = process.stderr.readline()
        address = re.fullmatch(
            rf"The screen is at http://127\.0\.0\.1:{port}/\?token=(\S{{32}}) until you press Ctrl-C\.\n", said
        )
        assert address is not None, said
        yield Served(port, address[1], process)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert not out
        assert re.fullmatch(told, err)
        assert process.returncode in {0, -signal.SIGKILL}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as server:
        yield server


@asynccontextmanager
async def browser(server: Served) -> AsyncIterator[Any]:
    """A browser that has opened the page, so that it has the cookie."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        async with session.get(server.page) as answer:
            assert answer.status == 200
        yield session


def window(session: Any, server: Served, size: str = "width=100&height=30") -> Any:
    return session.ws_connect(f"{server.url}/ws?{size}", origin=server.url)


async def drawn(opened: Any, wanted: str = "Who plays") -> str:
    """What a window is sent until this has been drawn, which stands on its home."""
    seen = ""
    async with asyncio.timeout(PATIENCE):
        while wanted not in seen:
            message = await opened.receive()
            if message.type is aiohttp.WSMsgType.TEXT and message.data.startswith('["picture"'):
                continue
            assert message.type is aiohttp.WSMsgType.BINARY, seen
            seen += message.data.decode("utf-8", "replace")
    return seen


async def status(url: str, **headers: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        return answer.status


def play(part: Coroutine[Any, Any, None]) -> None:
    asyncio.run(part)


def children(process: int) -> list[int]:
    """The processes that a process has started, and so on."""
    tasks = Path(f"/proc/{process}/task")
    with suppress(FileNotFoundError):
        own = [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
        return own + [one for child in own for one in children(child)]
    return []


def test_a_browser_shows_home_and_is_typed_into(served: Served) -> None:
    async def part() -> None:
        async with browser(served) as session, window(session, served) as opened:
            assert "housequest" in await drawn(opened)
            await opened.send_str(json.dumps(["ping", "1"]))
            await opened.send_str(json.dumps(["resize", {"width": 90, "height": 20}]))
            await opened.send_str(json.dumps(["focus"]))
            await opened.send_str(json.dumps(["stdin", "\x11"]))
            async with asyncio.timeout(PATIENCE):
                messages = [message async for message in opened]
            assert '["pong", "1"]' in [message.data for message in messages]
            assert opened.close_code == 1000, "ctrl+q ends the app, and with it the window"

    play(part())


@pytest.mark.skipif(shutil.which("node") is None, reason="runs the script of the page in Node.js")
def test_the_page_goes_to_the_terminals_line_itself_and_lays_pictures_over_the_terminal(served: Served) -> None:
    async def page() -> str:
        async with browser(served) as session, session.get(served.page) as answer:
            return await answer.text()

    script = re.findall(r"<script>(.*?)</script>", asyncio.run(page()), re.DOTALL)[-1]
    program = _DOCUMENT + script + _MESSAGES
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout.splitlines() == [
        "[]",
        "[first at 25% 50% 50% 25%]",
        "[second at 0% 0% 50% 25%]",  # not the one that came before and was read later
        "sent resize",
        "[]",  # until it is drawn for the other size
        "[third at 0% 0% 100% 100%]",
        "[]",
        "focused after 3",  # once, and then the keys are the person's
    ]


_DOCUMENT = """
    let looks = 0;  // The terminal is made a while after the page.
    const line = {blur: () => {}, focus: () => console.log("focused after", looks)};
    const screen = [], sleep = seconds => new Promise(done => setTimeout(done, seconds));
    globalThis.document = {querySelector: name =>
        name === ".xterm-screen" ? {append: one => screen.push(one)}
            : ++looks < 3 || name !== ".-connected .xterm-helper-textarea" ? null : line};
    globalThis.window = globalThis;
    globalThis.addEventListener = () => {};
    globalThis.Image = class {
        style = {};
        remove() { screen.splice(screen.indexOf(this), 1); }
        decode() { return sleep(this.src.endsWith("late") ? 20 : 0); }
        toString() {
            const {left, top, width, height} = this.style;
            return `${this.src.replace("data:image/png;base64,", "")} at ${left} ${top} ${width} ${height}`;
        }
    };
    globalThis.WebSocket = class {
        addEventListener(_, heard) { this.heard = heard; }
        send(text) { console.log("sent", JSON.parse(text)[0]); }
    };
"""
_MESSAGES = """
    (async () => {
        const socket = new WebSocket("ws://"), one = {type: "picture", name: "one"};
        const tell = async (told, pause = 5) => {
            socket.heard({data: JSON.stringify(["picture", {...one, ...told}])});
            await sleep(pause);
            if (pause) console.log(`[${screen}]`);
        };
        socket.heard({data: new ArrayBuffer(8)});
        socket.heard({data: '["pong", "1"]'});
        await tell({});
        await tell({at: [0.25, 0.5, 0.5, 0.25], png: "first"});
        await tell({at: [0, 0, 1, 1], png: "late"}, 0);
        await tell({at: [0, 0, 0.5, 0.25], png: "second"}, 40);
        socket.send('["resize",{"width":9,"height":9}]');
        console.log(`[${screen}]`);
        await tell({at: [0, 0, 1, 1], png: "third"});
        await tell({});
    })();
"""


def test_a_browser_gets_the_view_in_pixels_but_not_under_a_dialog(tmp_path: Path) -> None:
    async def told(opened: Any) -> dict[str, Any]:
        """The next message about a picture."""
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await opened.receive()
                assert message.type in {aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT}
                if message.type is aiohttp.WSMsgType.TEXT:
                    kind, said = json.loads(message.data)
                    assert kind == "picture" and said["type"] == "picture"
                    return said

    async def part(server: Served) -> None:
        async with browser(server) as session, window(session, server, size="width=120&height=40") as opened:
            first = await told(opened)
            assert base64.b64decode(first["png"]).startswith(b"\x89PNG")
            x, y, width, height = first["at"]
            assert x == 1 / 120 and 0 < y < y + height < 1 and width < 0.6
            await opened.send_str(json.dumps(["stdin", "/"]))
            assert await told(opened) == {"type": "picture", "name": first["name"]}
            await opened.send_str(json.dumps(["stdin", "\x1b"]))
            assert await told(opened) == first
            await opened.send_str(json.dumps(["resize", {"width": 120, "height": 40}]))
            assert await told(opened) == first, "the page has hidden it"
            await opened.send_str(json.dumps(["stdin", "\x11"]))

    with serving(tmp_path, playing=("generated:35", "--agent", "expert", "--mode", "step"), told=r"[\s\S]*") as server:
        play(part(server))


def test_a_robot_is_walked_by_its_camera_in_a_browser(tmp_path: Path) -> None:
    async def part(server: Served) -> None:
        async with browser(server) as session, window(session, server) as opened:
            assert "camera and map" in await drawn(opened, "saltshaker 1")
            await opened.send_str(json.dumps(["stdin", "\x1b[1;2D"]))
            await drawn(opened, "facing 270")
            await opened.send_str(json.dumps(["stdin", "\x11"]))
            await drawn(opened, "is not over")
            await opened.send_str(json.dumps(["stdin", "\x11"]))
            async with asyncio.timeout(PATIENCE):
                assert all([message.type is aiohttp.WSMsgType.BINARY async for message in opened])

    robot = ("--world", "alfred", "--agent", "human", "example:1")
    with serving(tmp_path, playing=robot, told=r"Recorded as far as it went in \S+\n") as server:
        play(part(server))


def test_nobody_gets_in_without_the_token(served: Served) -> None:
    async def part() -> None:
        for path in ("/", "/?token=", "/?token=wrong", "/?token=%ff%00", "/static/js/textual.js", "/ws", "/nothing"):
            assert await status(f"{served.url}{path}", Origin=served.url) == 403, path
        assert await status(f"{served.url}/", Cookie=f"housequest-{served.port}=wrong") == 403
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await window(session, served)

    play(part())


def test_the_page_leaves_a_cookie_that_only_this_site_is_shown(served: Served) -> None:
    async def part() -> None:
        async with aiohttp.ClientSession() as session, session.get(served.page) as answer:
            assert f"ws://127.0.0.1:{served.port}/ws" in await answer.text()
            assert answer.headers["Referrer-Policy"] == "same-origin"
            policy = answer.headers["Content-Security-Policy"]
            assert "style-src 'self' 'unsafe-inline'" in policy, "the page asks no other site for a font"
            cookie = answer.headers["Set-Cookie"]
            assert cookie == f"housequest-{served.port}={served.token}; HttpOnly; Path=/; SameSite=Strict"
        async with browser(served) as session, session.get(f"{served.url}/static/js/textual.js") as answer:
            assert answer.status == 200

    play(part())


FRAMES = (
    "garbage",
    "{}",
    "[]",
    "[" * 100_000,
    "1" * 10_000,
    '["stdin"]',
    '["stdin", 5]',
    '["stdin", "\\ud800"]',
    '["resize", {"width": 1e9, "height": 1}]',
    '["quit"]',
    b"bytes",
)


def test_a_message_that_no_page_sends_ends_its_window(served: Served) -> None:
    async def part() -> None:
        async with browser(served) as session:
            for frame in FRAMES:
                async with window(session, served) as opened, asyncio.timeout(PATIENCE):
                    await (opened.send_bytes(frame) if isinstance(frame, bytes) else opened.send_str(frame))
                    assert [message async for message in opened if message.type is not aiohttp.WSMsgType.BINARY] == []
                    assert opened.close_code == 1003, frame

    play(part())


def test_no_more_windows_than_were_asked_for(tmp_path: Path) -> None:
    async def part(server: Served) -> None:
        async with browser(server) as session, window(session, server) as opened:
            async with session.get(server.page) as answer:
                assert answer.status == 503
                assert "All windows are in use; there are 1." in await answer.text()
            with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
                await window(session, server)
            await drawn(opened)

    with serving(tmp_path, "--windows", "1") as server:
        play(part(server))
        wait_until(lambda: asyncio.run(status(server.page)) == 200)


@linux
@pytest.mark.parametrize("hung", [False, True])
def test_a_closed_window_ends_its_process(served: Served, hung: bool) -> None:
    async def part() -> None:
        async with browser(served) as session, window(session, served) as opened:
            await drawn(opened)
            started = children(served.process.pid)
            assert started
            if hung:
                for one in started:
                    os.kill(one, signal.SIGSTOP)

    play(part())
    wait_until(lambda: not children(served.process.pid))


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_windows_end_with_the_server(tmp_path: Path, number: int) -> None:
    async def part(server: Served) -> None:
        async with browser(server) as session, window(session, server) as one, window(session, server):
            await drawn(one)  # the other is about to begin
            started = children(server.process.pid)
            assert len(started) == 2
            os.kill(server.process.pid, number)
            await asyncio.to_thread(server.process.wait)
            if number == signal.SIGKILL:
                await asyncio.to_thread(wait_until, lambda: not any(map(running, started)))
            assert not any(map(running, started))

    with serving(tmp_path) as server:
        play(part(server))


def running(process: int) -> bool:
    """Whether a process is there and not merely unburied."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    return False


def test_connections_without_end_keep_nobody_out(served: Served) -> None:
    from housequest.agent.integrations.listening import MOST_STRANGERS

    with ExitStack() as stack:
        opened = [
            stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE))
            for _ in range(4 * MOST_STRANGERS)
        ]
        for one in opened:
            with suppress(ConnectionError):
                one.sendall(b"GET / HTTP/1.1\r\nHo")
        assert asyncio.run(status(served.page)) == 200
        with suppress(ConnectionError):
            assert opened[0].recv(1) == b"", "the oldest has been closed"


def test_garbage_is_refused(served: Served) -> None:
    for data in (b"\x00\xff\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 100_000, b"GET / HTTP/9.9\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as opened, suppress(ConnectionError):
            opened.sendall(data)
            assert opened.recv(20).startswith(b"HTTP/1.")
    assert asyncio.run(status(served.page)) == 200


def test_it_listens_at_that_one_address(served: Served) -> None:
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", served.port), timeout=5):
        pass


@pytest.mark.parametrize(
    "arguments",
    [
        ("--", "--nonsense"),
        ("--", "a", "b"),
        ("--port", "0"),
        ("--port", "x"),
        ("--windows", "0"),
        ("--public-url", "ftp://x"),
        ("--public-url", "x"),
        ("--nonsense",),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], call: Run) -> None:
    done = call("serve", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip()


def test_a_broken_configuration_is_told_before_a_browser_is_opened(call: Run, tmp_path: Path) -> None:
    (tmp_path / "housequest.toml").write_text("modle = 'x'")
    done = call("serve")
    assert done.returncode == 2
    assert "housequest.toml" in done.stderr


def test_a_port_that_is_taken_is_an_error(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--port", str(port))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"127.0.0.1:{port} is not available: " in done.stderr


def test_a_host_that_others_reach_is_warned_of(tmp_path: Path) -> None:
    command = [*COMMAND, "serve", "--host", "0.0.0.0", "--port", str(free_port())]
    with ending(subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)) as server:
        assert server.stderr is not None
        assert server.stderr.readline().startswith("Anybody with this address can play, with your models and at your cost")
        assert server.stderr.readline().startswith("The screen is at http://0.0.0.0:")
        server.terminate()
        assert server.wait() == 0


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path) -> None:
    program = "import sys; sys.modules['textual_serve'] = None; from housequest.tui.cli import main; main(['serve'])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install "housequest[serve]"' in " ".join(done.stderr.split())
