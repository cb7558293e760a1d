"""docs/guides/extending.md as written: its packages are built, installed, checked and played, with nothing else changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "guides" / "extending.md").read_text("utf-8")
PACKAGES = ("counter", "shuffle", "program")
LONGEST = {"counter": 110, "shuffle": 40, "program": 60}
"""Lines of code that a package may take: about what the page promises."""

Command = Callable[..., str]


def write_packages(folder: Path) -> None:
    """The files of the page, as they stand there."""
    files = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)\n```\n", PAGE, re.DOTALL)
    assert {name.partition("/")[0] for name, _ in files} == set(PACKAGES)
    for name, text in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", "utf-8")


def install_by_hand(folder: Path, site: Path, *packages: str) -> None:
    """What pip would make of the packages: their modules, and their entry points as metadata. No build tool is needed."""
    for package in packages:
        project = tomllib.loads((folder / package / "pyproject.toml").read_text("utf-8"))
        (module,) = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
        (site / module).symlink_to(folder / package / module)
        metadata = site / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['project']['name']}\nVersion: 1.0\n")
        lines = [
            line
            for group, points in project["project"]["entry-points"].items()
            for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
        ]
        (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")


def runner(python: str, folder: Path, **environment: str) -> Command:
    """Runs ``housequest`` by ``python`` in ``folder``, and returns what it prints."""

    def run(*arguments: str, rc: int = 0) -> str:
        done = subprocess.run(
            [python, *arguments],
            check=False,
            cwd=folder,
            env={**os.environ, "COLUMNS": "100", "HOUSEQUEST_HOME": str(folder / "home"), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == rc, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Runs Python where the three packages are installed."""
    folder, site = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("site")
    write_packages(folder)
    install_by_hand(folder, site, *PACKAGES)
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT), str(site)))
    return runner(sys.executable, tmp_path_factory.mktemp("play"), PYTHONPATH=path)


HOUSEQUEST = ("-c", "from housequest.tui.cli import main; main()")

CHECKS = """
import asyncio
from housequest import check_agent, check_model, check_world, make_model, make_world
world = make_world("counter", tasks=2)
broken = (
    check_world(world).broken
    + asyncio.run(check_agent("shuffle", world, world.task("numbers:1"))).broken
    + asyncio.run(check_model(make_model("program:cat"))).broken
)
assert broken == (), broken
"""

SCREEN = """
import asyncio, sys
from housequest.agent.config import Settings
from tests.tui.screen import press, screen_text, until
from housequest.tui.app import HousequestApp
from housequest.tui.home.screen import HomeScreen

async def main():
    app = HousequestApp(lambda: HomeScreen(Settings(world="counter", agent="shuffle", grant=("admissible",))))
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "bring the display to" in screen_text(app) and "shuffle" in screen_text(app))
        print(screen_text(app))
        await press(pilot, "enter")
        await until(pilot, lambda: "The display shows" in screen_text(app))
        print(screen_text(app))

asyncio.run(main())
"""


TEACH = """
from housequest.knowledge.rulebook import library
from housequest.tui.desk.rule_text import Draft
from housequest.tui.desk.rule_dialog import save_taught_rule
assert save_taught_rule(Draft(statement="Press three first.", book="buttons"), "", "counter") is None
assert library().open("buttons").world == "counter"
refused = save_taught_rule(Draft(statement="Open it first.", book="buttons"), "", "alfworld")
assert refused is not None and "counter" in str(refused)
"""

EVALUATE = """
from housequest import ConfigurationError, evaluate, report
run = evaluate(world="counter", agent="shuffle", grant="admissible", set={"patience": 5}, world_option={"tasks": 2}, out="py")
assert report(run)["episodes"] == 2
try:
    evaluate(modl="x")
except ConfigurationError as error:
    assert "model" in str(error)
else:
    raise AssertionError
"""


def test_the_packages_are_as_short_as_promised(tmp_path: Path) -> None:
    write_packages(tmp_path)
    for package in PACKAGES:
        (code,) = (tmp_path / package).rglob("*.py")
        assert len(code.read_text("utf-8").splitlines()) <= LONGEST[package], package


def test_each_passes_its_check(run: Command) -> None:
    run("-c", CHECKS)


def played_by_name(run: Command, command: tuple[str, ...]) -> None:
    """The world, the agent and the model in every command that takes a name."""
    assert "Won in" in run(*command, "play", "--world", "counter", "--agent", "expert", "--plain")
    eval_shuffle = ("eval", "--world", "counter", "--agent", "shuffle", "--grant", "admissible", "--set", "patience=5")
    run(*command, *eval_shuffle, "--out", "shuffle")
    run(*command, "eval", "--world", "counter", "--agent", "expert", "--out", "expert")
    figures = json.loads(run(*command, "report", "expert", "--json"))
    assert (figures["episodes"], figures["won"]) == (3, 3)
    assert "shuffle" in run(*command, "compare", "shuffle", "expert")
    assert "program:COMMAND" in run(*command, "models")
    told = run(*command, "eval", "--world", "counter", "--agent", "react", "--model", "program:cat", "--out", "cat")
    assert "program:cat" in told


def test_they_are_played_evaluated_and_reported_by_name(run: Command) -> None:
    played_by_name(run, HOUSEQUEST)


def test_they_are_on_the_screen_by_name(run: Command) -> None:
    shown = run("-c", SCREEN)
    assert "numbers" in shown
    assert "The display shows 0." in shown


def test_a_world_is_told_no_rules_of_another_and_no_household_agent_plays_it(run: Command) -> None:
    refused = run(
        *HOUSEQUEST, "eval", "--world", "counter", "--agent", "react", "--model", "program:cat", "--rules", "human", rc=2
    )
    assert "human" in refused
    assert "counter" in refused
    refused = run(*HOUSEQUEST, "eval", "--world", "counter", "--agent", "opex", "--model", "program:cat", rc=2)
    assert "opex" in refused
    assert "counter" in refused


@pytest.mark.slow
def test_wheels_in_an_environment_of_their_own(tmp_path: Path) -> None:
    write_packages(tmp_path)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    sources = [str(ROOT), *(str(tmp_path / package) for package in PACKAGES)]
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path / "wheels"), *sources]
    subprocess.run(build, check=True)
    wheels = [str(wheel) for wheel in (tmp_path / "wheels").glob("*.whl")]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wheels], check=True)
    (tmp_path / "play").mkdir()
    run = runner(python, tmp_path / "play")
    run("-c", CHECKS)
    played_by_name(run, HOUSEQUEST)


def test_a_rule_that_a_game_teaches_goes_into_a_book_of_its_world(run: Command) -> None:
    run("-c", TEACH)


def test_a_broken_package_is_named_and_stops_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("class NoWorld: pass\nraise_me = 1\n")
    (tmp_path / "hostile.py").write_text("raise OSError('no server')\n")
    metadata = tmp_path / "broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    groups = ("worlds", "agents", "models")
    lines = [f"[housequest.{group}]\nodd = broken:raise_me\nhostile = hostile:Missing\n" for group in groups]
    (metadata / "entry_points.txt").write_text("".join(lines))
    other = tmp_path / "rival-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: rival\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[housequest.worlds]\nodd = rival:World\n")
    (tmp_path / "play").mkdir()
    run = runner(sys.executable, tmp_path / "play", PYTHONPATH=os.pathsep.join((str(ROOT / "src"), str(ROOT), str(tmp_path))))
    assert "Won in" in run(*HOUSEQUEST, "play", "--world", "scripted", "--agent", "expert", "--plain")
    assert "no server" in run(*HOUSEQUEST, "eval", "--world", "hostile", rc=2)
    assert "rival" in run(*HOUSEQUEST, "eval", "--world", "odd", rc=2)
    assert "broken" in run(*HOUSEQUEST, "plugins", rc=1)
    assert "ModelProvider" in run(*HOUSEQUEST, "eval", "--world", "scripted", "--agent", "react", "--model", "odd:x", rc=2)
    assert "openai:NAME" in run(*HOUSEQUEST, "eval", "--world", "scripted", "--agent", "react", "--model", "opnai:x", rc=2)


def test_evaluate_takes_settings_as_a_program_has_them(run: Command) -> None:
    run("-c", EVALUATE)
