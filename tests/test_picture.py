"""The pictures in the README and in docs/ can be drawn anew, are pictures, and ask no host for anything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts.chromium import PROGRAM

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
SCREENS = ("screen.svg", "view.svg", "camera.svg")
FILM = "tour.svg"
TERMINALS, BROWSERS = "terminals.svg", "browsers.svg"
BUILTIN = "builtin.svg"
TIMED = {FILM, BUILTIN, TERMINALS, BROWSERS}
"""Films that say how long something took."""
STILLS = {
    "home.svg": "Play now",
    "race.svg": "the expert",
    "replay.svg": "never found the object",
    "runs.svg": "tasks by outcome",
    "compare.svg": "tasks flipped",
    "books.svg": "human",
    "desk.svg": "Witnesses",
    "branches.svg": "2 branches",
    "daily.svg": "won in 7 turns",
    "together.svg": "Won in 13 rounds together",
    BUILTIN: "Won in 12 rounds together",
    TERMINALS: "Won in 13 rounds together",
    **({BROWSERS: "Won in 13 rounds together"} if PROGRAM else {}),
}
"""The other screens, and what a command prints, with words that stand on each."""
SHOWN = {
    FILM: "README.md",
    "screen.svg": "docs/reference/screens.md",
    **dict.fromkeys({*STILLS} - TIMED, "docs/reference/screens.md"),
    "view.svg": "docs/guides/playing.md",
    "kitchen.png": "README.md",
    "camera.svg": "docs/guides/alfred.md",
    "branches.svg": "docs/guides/playing.md",
    "daily.svg": "docs/tutorials/player.md",
    **dict.fromkeys(("together.svg", BUILTIN, TERMINALS, BROWSERS), "docs/tutorials/together.md"),
}


def text(svg: str) -> str:
    """What a reader sees in a picture of the screen, without its gaps."""
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return " ".join("".join(root.itertext()).split())


def drawn(folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "scripts.picture", str(folder)], cwd=ROOT, check=True, timeout=500)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return drawn(tmp_path_factory.mktemp("pictures") / "first")


@pytest.mark.slow
def test_they_are_drawn_and_are_the_same_the_next_time(pictures: dict[str, bytes], tmp_path: Path) -> None:
    assert set(pictures) == {*SCREENS, *STILLS, FILM, "kitchen.png"}
    for name in SCREENS:
        assert "proposed" in text(pictures[name].decode())
    assert "doll's house" in text(pictures["view.svg"].decode())
    assert "camera and map" in text(pictures["camera.svg"].decode())
    assert pictures["kitchen.png"].startswith(b"\x89PNG")
    for name, word in STILLS.items():
        assert word in text(pictures[name].decode()), name
    again = drawn(tmp_path / "again")
    assert {name for name in pictures if pictures[name] != again[name]} <= TIMED


@pytest.mark.slow
def test_the_film_shows_a_first_game_from_home_to_its_win(pictures: dict[str, bytes]) -> None:
    for film in (pictures[FILM], (PICTURES / FILM).read_bytes()):
        assert len(film) < 1_000_000
        shown = text(film.decode())
        seen = [shown.index(words) for words in ("Play now", "Your first game", "The egg is hot", "Won. n plays the next game")]
        assert seen == sorted(seen)
        (lasts,) = re.findall(r"animation:f ([\d.]+)s", film.decode())
        assert 10 < float(lasts) < 25


def test_the_pages_show_them() -> None:
    for name, page in SHOWN.items():
        assert re.search(rf"pictures/{name}[)\"]", (ROOT / page).read_text("utf-8"))
        assert (PICTURES / name).is_file()
    for name in SCREENS:
        assert "proposed" in text((PICTURES / name).read_text("utf-8"))


@pytest.mark.slow
def test_they_ask_no_host_for_anything(pictures: dict[str, bytes]) -> None:
    for name in (*SCREENS, *STILLS, FILM):
        for svg in (pictures[name].decode(), (PICTURES / name).read_text("utf-8")):
            assert "@font-face" not in svg
            assert "/tmp" not in svg, "a place on the machine that drew it"
            assert re.findall(r"(?:url\(|href=)(?!['\"]?#).{0,40}", svg) == []
