"""The published documentation: its list of versions, and the page that leads to the newest."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scripts.versions import newest_first, write

ROOT = Path(__file__).parents[1]


def test_versions_are_ordered_by_number_and_previews_come_last() -> None:
    names = ["v0.9.0", "v0.10.0", "v1.0.0rc1", "assets", "v0.10.0", "latest", "v0.2.11"]
    assert newest_first(names) == ["v0.10.0", "v0.9.0", "v0.2.11", "v1.0.0rc1"]


def test_the_menu_and_the_first_page_are_written(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.versions", str(tmp_path), "v0.1.0", ".nojekyll", "v0.2.0"]
    subprocess.run(command, cwd=ROOT, check=True)
    assert json.loads((tmp_path / "versions.json").read_text()) == [
        {"version": "v0.2.0", "title": "v0.2.0", "aliases": ["latest"]},
        {"version": "v0.1.0", "title": "v0.1.0", "aliases": []},
    ]
    page = (tmp_path / "index.html").read_text()
    assert 'content="0; url=v0.2.0/"' in page
    assert page.index('href="v0.2.0/"') < page.index('href="v0.1.0/"')
    assert "nojekyll" not in page


def test_a_list_without_versions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no version"):
        write(tmp_path, ["assets"])
    assert not list(tmp_path.iterdir())


def test_the_theme_shows_the_menu_and_a_release_writes_what_it_reads() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    assert site["extra"]["version"]["provider"] == "mike"
    assert "-m scripts.versions build/pages" in (ROOT / ".github" / "workflows" / "release.yml").read_text()
