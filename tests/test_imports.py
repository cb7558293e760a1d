"""Nothing heavy is imported before it is used; each import is looked at in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.evaluation.recorded import Lived, run

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[1]
HEAVY = (
    "textual",
    "openai",
    "numpy",
    "torch",
    "torchvision",
    "transformers",
    "peft",
    "gguf",
    "alfworld",
    "textworld",
    "httpx2",
    "ruamel",
    "mcp",
    "inspect_ai",
    "aiohttp",
)


def loaded(code: str, folder: Path) -> set[str]:
    """The top-level modules that are there after ``code`` has run."""
    code = f"import sys\ntry:\n    {code}\nexcept SystemExit as end:\n    assert not end.code, end\nprint('|', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.rpartition("|")[2].split()}


def command(*arguments: str) -> str:
    return f"sys.argv[1:] = {list(arguments)!r}; from housequest.tui.cli import main; main()"


def test_the_front_door_loads_nothing(tmp_path: Path) -> None:
    assert loaded("import housequest", tmp_path) & {*HEAVY, "pydantic", "typer", "rich"} == set()


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_the_command_alone_loads_no_pydantic_either(argument: str, tmp_path: Path) -> None:
    assert loaded(command(argument), tmp_path) & {*HEAVY, "pydantic", "rich", "asyncio"} == set()


COMMANDS = (
    "play",
    "eval",
    "report",
    "compare",
    "verify",
    "replay",
    "runs",
    "serve",
    "models",
    "prompts",
    "rules",
    "data",
    "mcp",
    "env-server",
    "explore",
    "train",
    "export",
    "modules",
)


def test_the_help_of_a_command_loads_nothing_heavy(tmp_path: Path) -> None:
    # One process for all of them: what any loads is still there at the end.
    code = f"""from housequest.tui.cli import main
    for name in {COMMANDS!r}:
        try:
            main((name, '--help'))
        except SystemExit as end:
            assert not end.code, name"""
    assert loaded(code, tmp_path) & {*HEAVY, "rich", "asyncio"} == set()


def test_an_evaluation_of_the_expert_loads_neither_screen_nor_model(tmp_path: Path) -> None:
    arguments = ("eval", "--world", "scripted", "--agent", "expert", "--out", str(tmp_path / "run"))
    assert loaded(command(*arguments), tmp_path) & set(HEAVY) == set()


def test_playing_with_the_expert_loads_no_model(tmp_path: Path) -> None:
    assert loaded(command("play", "--world", "scripted", "--agent", "expert"), tmp_path) & set(HEAVY) == set()


def test_the_templates_of_pages_are_loaded_for_a_page_alone(tmp_path: Path) -> None:
    run(tmp_path / "run", [Lived(1)])
    told = loaded(command("report", str(tmp_path / "run")), tmp_path)
    assert told & {*HEAVY, "jinja2"} == set()
    told = loaded(command("report", str(tmp_path / "run"), "--html", str(tmp_path / "page.html")), tmp_path)
    assert told & set(HEAVY) == set()


def test_what_agents_declare_loads_none_of_their_code(tmp_path: Path) -> None:
    code = "from housequest.agent.agents.spec import agent_names, agent_spec; print(*map(agent_spec, agent_names()))"
    assert loaded(code, tmp_path) & {*HEAVY, "pydantic", "rich", "asyncio"} == set()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_home_is_seen_before_what_games_take_is_loaded(tmp_path: Path) -> None:
    from scripts.bench.terminal import Terminal

    environment = {"PYTHONPROFILEIMPORTTIME": "1", "HOUSEQUEST_HOME": str(tmp_path / "home")}
    with Terminal(["housequest", "play"], tmp_path, (120, 40), environment) as terminal:
        terminal.until("plays generated:")
        before, _, after = terminal.drawn.partition("Play now")
        terminal.until("| housequest.tui.widgets.sixel")  # with the drawing, while somebody chooses
    games = (
        "housequest.agent.episodes.loop",
        "housequest.agent.setup",
        "housequest.agent.evaluation.analysis.failures",
        "housequest.worlds.rooms.room",
        "housequest.knowledge.rules",
        "numpy",
    )
    assert "housequest.tui.home.screen" in before
    assert [module for module in (*games, "housequest.worlds.alfworld") if module in before] == []
    assert "housequest.worlds.alfworld" in after
