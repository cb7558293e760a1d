"""``housequest serve``: the screen in a browser, for this machine's own pages alone."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.conftest import COMMAND, Run, environment
from tests.waiting import PATIENCE, ending

pytestmark = pytest.mark.heavy

aiohttp = pytest.importorskip("aiohttp", reason="needs the screen in a browser: pip install 'housequest[serve]'")
pytest.importorskip("textual_serve", reason="needs the screen in a browser: pip install 'housequest[serve]'")


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A port of this machine at which the scripted world is served."""
    port = free_port()
    home = str(tmp_path_factory.mktemp("served"))
    command = [*COMMAND, "serve", "--port", str(port), "--", "--world", "scripted"]
    server = subprocess.Popen(
        command, cwd=home, env=environment(HOUSEQUEST_HOME=home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with ending(server, 5 * PATIENCE):  # for all tests that look at it
        assert server.stderr is not None
        assert server.stderr.readline() == f"The screen is at http://127.0.0.1:{port} until you press Ctrl-C.\n"
        asyncio.run(_answering(port))
        yield port
        os.kill(server.pid, signal.SIGINT)
        said = server.communicate(timeout=PATIENCE)
        assert said == ("", "")
        assert server.returncode == 0


async def _answering(port: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


async def _screen(port: int, origin: str) -> str:
    """What a browser is sent until home has been drawn."""
    seen = ""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"http://127.0.0.1:{port}/ws?width=100&height=30", origin=origin) as socket,
        asyncio.timeout(PATIENCE),
    ):
        while "Who plays" not in seen:
            message = await socket.receive()
            assert message.type in {aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT}, seen
            seen += message.data.decode("utf-8", "replace") if isinstance(message.data, bytes) else message.data
    return seen


async def _page(port: int) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/") as answer:
        assert answer.status == 200
        return await answer.text()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_browser_shows_home(port: int, name: str) -> None:
    assert f"ws://127.0.0.1:{port}/ws" in asyncio.run(_page(port))
    assert "housequest" in asyncio.run(_screen(port, f"http://{name}:{port}"))


@pytest.mark.parametrize("origin", ["http://elsewhere.example", "null", "http://127.0.0.1:1"])
def test_pages_of_others_are_refused(port: int, origin: str) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
        asyncio.run(_screen(port, origin))


def test_it_listens_at_that_one_address(port: int) -> None:
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=5):
        pass


@pytest.mark.parametrize(
    "arguments",
    [
        ("--", "--nonsense"),
        ("--", "a", "b"),
        ("--port", "0"),
        ("--port", "x"),
        ("--url", "ftp://x"),
        ("--url", "x"),
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
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    assert "in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_host_that_others_reach_is_warned_of(run: Run) -> None:
    done = run("serve", "--host", "256.0.0.1", "--port", "1")
    assert done.returncode == 1
    assert "no password" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path) -> None:
    program = "import sys; sys.modules['textual_serve'] = None; from tui.cli import main; main(['serve'])"
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
