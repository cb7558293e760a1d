"""The picture in the README can be drawn anew, is a picture, and asks no host for anything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "screen.svg"


def text(svg: str) -> str:
    """What a reader sees in a picture of the screen, without its gaps."""
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return " ".join("".join(root.itertext()).split())


def drawn(target: Path) -> str:
    subprocess.run([sys.executable, "-m", "scripts.picture", str(target)], cwd=ROOT, check=True, timeout=60)
    return target.read_text("utf-8")


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> str:
    return drawn(tmp_path_factory.mktemp("picture") / "screen.svg")


@pytest.mark.heavy
def test_it_is_drawn_and_is_the_same_the_next_time(picture: str, tmp_path: Path) -> None:
    assert "proposed" in text(picture)
    assert drawn(tmp_path / "again.svg") == picture


def test_the_readme_shows_one() -> None:
    assert "](docs/screen.svg)" in (ROOT / "README.md").read_text("utf-8")
    assert "proposed" in text(PICTURE.read_text("utf-8"))


@pytest.mark.heavy
def test_it_asks_no_host_for_anything(picture: str) -> None:
    for svg in (picture, PICTURE.read_text("utf-8")):
        assert "@font-face" not in svg
        assert re.findall(r"(?:url\(|href=)['\"]?(?!#)[^)]*", svg) == []
