"""README and docs/ say what is so: sessions are what is shown, and commands, options, settings, targets and links are there."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.reference import stale
from tui.cli import main
from worlds.registry import make_world

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in (README, *sorted((ROOT / "docs").rglob("*.md")))}
GENERATED = {"docs/reference/commands.md", "docs/reference/settings.md"}
GROUPS = {"data", "models", "rules"}
"""Commands that have commands of their own."""
_FENCED = re.compile(r"^```(\w+).*?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(language: str) -> list[tuple[str, str]]:
    """The blocks in a language, with their pages."""
    return [(page, code) for page, text in PAGES.items() for word, code in _FENCED.findall(text) if word == language]


def housequest(folder: Path, *arguments: str) -> str:
    program = "import sys; from tui.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.heavy
def test_the_session_is_what_is_shown(tmp_path: Path) -> None:
    found = [re.search(r"<!-- session -->\n```text\n(.*?)\n```\n<!-- /session -->", text, re.DOTALL) for text in PAGES.values()]
    (block,) = filter(None, found)
    shown = iter(housequest(tmp_path, "play").splitlines())
    for line in block[1].splitlines():
        assert line == "..." or line in shown, f"not shown, or not in this order: {line!r}"


def test_what_the_first_game_tells_to_type_wins() -> None:
    told = re.search(r"This wins:\n\n((?:    .*\n)+)", PAGES["docs/tutorials/player.md"])
    task = re.search(r"play (generated:\d+) --agent human", PAGES["docs/tutorials/player.md"])
    assert told is not None and task is not None
    world = make_world("alfworld")
    with contextlib.closing(world.open(world.task(task[1]))) as env:
        env.reset()
        steps = [env.step(command.strip()) for command in told[1].splitlines()]
    assert [step.won for step in steps] == [False] * (len(steps) - 1) + [True]


def commands() -> list[str]:
    found = [
        command
        for page, text in PAGES.items()
        if page not in GENERATED
        for command in re.findall(r"^\$ (?:\w+=\S+ )*(?:\.venv/bin/)?housequest (.*?)(?:\s+#.*)?$", text, re.MULTILINE)
    ]
    return list(dict.fromkeys(found))


def test_there_are_commands_to_check() -> None:
    assert len(commands()) > 8


_help: dict[tuple[str, ...], str] = {}


def help_of(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command says of itself, asked for once, within this process."""
    if path not in _help:
        monkeypatch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit) as end:
            main((*path, "--help"))
        assert not end.value.code
        _help[path] = capsys.readouterr().out
    return _help[path]


def test_commands_and_options_are_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands():
        words = command.split()
        text = help_of((words[0], *(word for word in words[1:2] if words[0] in GROUPS)), monkeypatch, capsys)
        for option in re.findall(r"(?<=\s)--[a-z-]+", command):
            assert option in text, command


def test_the_reference_says_what_the_code_does() -> None:
    assert stale() == [], "`python -m scripts.reference` writes them anew"


def test_python_blocks_parse() -> None:
    for page, code in blocks("python"):
        try:
            ast.parse(code)
        except SyntaxError as error:
            pytest.fail(f"{page}: {error}")


def test_make_targets_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for text in PAGES.values():
        for target in set(re.findall(r"(?:`|\$ )make ([a-z-]+)", text)):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_site_has_every_page() -> None:
    site = (ROOT / "zensical.toml").read_text("utf-8")
    assert [page for page in PAGES if page.startswith("docs/") and f'"{page.removeprefix("docs/")}"' not in site] == []


def test_links_lead_somewhere() -> None:
    # The site's strict build looks at docs/ alone, anchors included.
    for page, text in PAGES.items():
        for link in re.findall(r'(?:\]\(|src=")([^)"\s]+)[)"]', _FENCED.sub("", text)):
            if not re.match(r"[a-z]+:", link):
                path, _, anchor = link.partition("#")
                target = (ROOT / page).parent / path if path else ROOT / page
                assert target.exists(), f"{page}: {link}"
                if anchor:
                    assert anchor in anchors(target), f"{page}: {link}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
