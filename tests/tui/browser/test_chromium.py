"""The screen and a room in a real browser: two people finish a chore, and keys do as in a terminal."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts.chromium import PROGRAM, chromium
from scripts.films import play_two
from tests.tui.browser.test_serve import free_port, serving
from tests.tui.conftest import COMMAND, environment
from tests.waiting import PATIENCE, ending

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="needs a browser: apt-get install chromium"),
]


@contextmanager
def room(folder: Path, task: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A served room, with the addresses of its seats."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", str(free_port()), "--together", task],
        cwd=folder,
        env=environment(HOUSEQUEST_HOME=str(folder)),
        stderr=subprocess.PIPE,
        text=True,
    )
    with ending(process, 8 * PATIENCE):
        assert process.stderr is not None
        yield process, re.findall(r"http\S+", "".join(process.stderr.readline() for _ in range(3)))


async def test_two_browsers_finish_a_chore(tmp_path: Path) -> None:
    with room(tmp_path, "chores:5") as (process, (hers, his)):
        async with chromium() as browser, browser.person() as ann_herself, browser.person() as bob_himself:
            ann = await browser.open(hers, ann_herself, (1280, 800))
            await ann.until("You are invited to play as Ann .*put a hot egg in fridge")
            await ann.press("Enter")  # its only button has the focus
            await ann.until("waiting for Bob to come .*leave the line")
            bob = await browser.open(his, bob_himself, (720, 440))
            await bob.until("You are invited to play as Bob")
            await bob.click("button")
            await bob.until("round 0/50 .*leave the line")
            async with browser.person() as stranger:
                late = await browser.open(hers, stranger)
                await late.until("Somebody has taken this seat already")
            # Close the window out of turn, and come back by the same address.
            playing = "your turn" in await ann.until("your turn|Bob is deciding")
            name, address, person = ("Bob", his, bob_himself) if playing else ("Ann", hers, ann_herself)
            await (bob if playing else ann).close()
            await (ann if playing else bob).until(f"{name} has left")
            back = await browser.open(address, person, (720, 440))
            await back.until("round 0/50 .*leave the line")
            ann, bob = (ann, back) if playing else (back, bob)
            # Paste copied text as one line of words.
            granted = ["clipboardReadWrite", "clipboardSanitizedWrite"]
            await browser.call("Browser.grantPermissions", permissions=granted, browserContextId=ann_herself)
            await ann.evaluate("navigator.clipboard.writeText('say I do the egg')")
            await ann.press("Control+v")
            await ann.until("› say I do the egg")
            await ann.press("Enter")
            await bob.until('Ann says: "I do the egg"|“ Ann: I do the egg')
            # Typing works out of turn, too.
            waits = bob if playing else ann
            early = "go to diningtable 1" if playing else "go to sinkbasin 1"
            await waits.type(early)
            await waits.press("Enter")
            await waits.until("go to [a-z]+ 1: it is played in your turn")
            await (bob if playing else ann).resize(1024, 600)
            await play_two(ann, bob, sent=(early,))
            for window in (ann, bob):
                assert "Won in" in await window.until("alone it takes 23")
            await ann.press("q")
            await ann.until("This window has ended. Open it again")
            await bob.close()
            _, said = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0
            assert re.search(r"Recorded in \S+", said), said


async def test_keys_count_from_the_beginning_and_the_page_takes_none_for_itself(tmp_path: Path) -> None:
    with serving(tmp_path, playing=("--mode", "you", "generated:690"), told=r"Recorded as far as it went in \S+\n") as server:
        async with chromium() as browser:
            window = await browser.open(server.page, None, (1000, 600))
            await window.until("your turn")
            assert await window.evaluate("document.title") == "housequest"
            await window.type("go to fri")
            await window.press("Tab")
            await window.until("› go to fridge 1")
            await window.press("Backspace", "Control+u")
            await window.until("› a command")
            # Browsers use these keys to go back, search, scroll, or leave the page.
            await window.type("'/ x")
            await window.until("› '/ x")
            await window.press(*["Backspace"] * 4)
            await window.until("› a command")
            await window.type("go to fridge 1")
            await window.press("Enter")
            await window.until("You arrive at fridge 1")
            await window.press("Escape", "PageUp", "Alt+ArrowLeft", "Backspace")
            # Another window and back: keys count again without a click.
            other = await browser.open("about:blank", None)
            await other.close()
            await window.type(":open fridge 1")
            await window.press("Enter")
            await window.until("You open the fridge 1")
            await window.press("Control+q")
            await window.until("is not over")
            await window.press("Control+q")
            await window.until("This window has ended")
