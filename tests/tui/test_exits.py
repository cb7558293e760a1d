"""Every command where nothing can be written: it ends with a code of the table, names the place, and shows no traceback."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
import typer

from housequest.tui import terminal
from housequest.tui.cli import app, main
from scripts.torture.disk import mountable, small_disk
from tests.tui.conftest import ROOT, Done

pytestmark = [pytest.mark.heavy, pytest.mark.skipif(sys.platform == "win32", reason="limits files as POSIX does")]

BOOK = """\
format: 0.2
rules:
- {id: heat, kind: affordance, statement: a thing is heated, objects: [mug], check: look; then accepted}
- {id: cool, kind: affordance, statement: a thing is cooled, objects: [mug], check: look; then accepted}
"""
SCRIPT = 'rules: []\ndefault: "Thought: hm\\nAction: look"\n'
CALIBRATING = 'rules:\n- {role: You know where things are kept, reply: "fridge 1: 0.7"}\ndefault: "No"\n'
SMALL = ("--split", "generated:1..2")


@dataclass(frozen=True)
class Writing:
    """A command that writes at ``{out}``, to the user's own folder or to a file in the working folder."""

    line: str
    codes: tuple[int, ...] = (terminal.UNUSABLE,)
    home: bool = False
    needs: str = ""


PLAYED = (terminal.UNUSABLE, terminal.STOPPED)
"""A run stops where its disk fills, and goes on with the same command; a folder that cannot be made is refused."""
WITHOUT = (terminal.DONE, terminal.UNUSABLE)
"""A game goes on without a record if there can be none, and says so."""
WRITING: dict[str, tuple[Writing, ...]] = {
    "play": (Writing("play --world scripted --agent expert --plain", WITHOUT, home=True),),
    "daily": (Writing("daily --plain", WITHOUT, home=True),),
    "ladder": (Writing("ladder 1 --plain", WITHOUT, home=True),),
    "eval": (
        Writing("eval --agent expert --world scripted --limit 1 --out {out}", PLAYED),
        Writing("eval --sweep sweep.yaml --out {out}", PLAYED),
        Writing("eval --agent react --model scripted:script.yaml --world scripted --limit 1 --out {out}", PLAYED),
    ),
    "report": (
        Writing("report run --csv {out}.csv"),
        Writing("report run --html {out}.html"),
        Writing("report run --markdown {out}.md"),
        Writing("report run --inspect {out}.json", needs="inspect_ai"),
    ),
    "compare": (Writing("compare run other --html {out}.html"),),
    "merge": (Writing("merge shard-1 shard-2 --out {out}"),),
    "replay": (
        Writing("replay run --task 1 --frames {out}"),
        Writing("replay run --task 1 --cast {out}.cast"),
    ),
    "trust": (Writing("trust trusted --yes", home=True),),
    "models check": (
        Writing("models check scripted:script.yaml", (terminal.DONE, terminal.FAILED, terminal.UNUSABLE), home=True),
    ),
    "prompts write": (Writing("prompts write react {out}"),),
    "rules mine": (Writing("rules mine --counts --into {out}.yaml"), Writing("rules mine --counts --into mined", home=True)),
    "rules check": (Writing("rules check book.yaml run --save", WITHOUT),),
    "rules accept": (Writing("rules accept book.yaml heat"),),
    "rules reject": (Writing("rules reject book.yaml heat"),),
    "rules edit": (Writing("rules edit book.yaml heat --statement other"),),
    "rules export": (Writing("rules export book.yaml {out}.zip"),),
    "rules import": (Writing("rules import book.yaml --name theirs", home=True),),
    "rules merge": (Writing("rules merge book.yaml heat cool --statement both"),),
    "rules measure": (
        Writing(
            "rules measure accepted.yaml --agent react --model scripted:script.yaml --split example --limit 1 --out {out}",
            PLAYED,
        ),
    ),
    "data import": (Writing("data import games.zip --to {out}"),),
    "data export": (Writing("data export generated:7 --out {out}.tw-pddl", needs="alfworld"),),
    "explore": (
        Writing("explore --agent expert --split generated --episodes 1 --out {out}", PLAYED),
        Writing("explore --agent expert --split generated --episodes 1 --out {out} --into {out}.yaml", PLAYED),
    ),
    "learn": (
        Writing("learn household-light:7 --agent expert --days 1 --test-days 0 --out {out}", PLAYED),
        Writing(
            "learn household-light:7 --agent expert --days 1 --test-after 1 --test-days 1 --out {out} --html {out}.html", PLAYED
        ),
        Writing(
            "learn household-light:7 --agent expert --days 1 --test-after 1 --test-days 1 --out {out} --picture {out}.svg",
            PLAYED,
        ),
    ),
    "export": (Writing("export run --all --format steps --out {out}.jsonl"),),
    "modules": (Writing("modules run --model scripted:judge.yaml --set plan=off --calibrate {out}.json"),),
}
READING = (
    *("runs .", "plugins", "verify run", "prompts show react", "rules list", "rules show book.yaml heat", "data path"),
    *("report run", "report run --json", "compare run other", "replay run --task 1 --plain", "rules check book.yaml run"),
    "rules compare book.yaml human",
    *("export run --all --format steps", "eval --agent expert --world scripted --limit 1 --dry-run", "trust --list"),
    *("models check scripted:script.yaml", "play --world scripted --agent expert --plain", "data check games"),
)
"""Commands that print what is asked for."""
ELSEWHERE = {
    "rules desk": "needs a terminal",
    "join": "needs somebody's room",
    "data download": "asks another machine",
    "train": "needs weights",
    "serve": "writes as its clients ask",
    "mcp": "writes as its clients ask",
    "env-server": "writes nothing",
}


def test_every_command_is_here() -> None:
    def named(command: object, name: str) -> Iterator[str]:
        below = getattr(command, "commands", None)
        if below is None:
            yield name
            return
        for word in below:
            yield from named(below[word], f"{name} {word}".strip())

    there = set(named(typer.main.get_command(app), ""))
    said = {name for name in there for line in READING if line == name or line.startswith(f"{name} ")}
    assert there == said | WRITING.keys() | ELSEWHERE.keys()


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs" / "explanation" / "reliability.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", page.partition("## Exit codes")[2].partition("\n## ")[0], re.MULTILINE)
    assert [int(code) for code, _ in rows] == [terminal.DONE, terminal.FAILED, terminal.UNUSABLE, terminal.STOPPED]


def _prepare(folder: Path) -> None:
    """Everything that the commands read."""
    for name, content in (("book", BOOK), ("accepted", BOOK.replace("id: heat,", "id: heat, status: accepted,"))):
        (folder / f"{name}.yaml").write_text(content)
    (folder / "script.yaml").write_text(SCRIPT)
    (folder / "judge.yaml").write_text(CALIBRATING)
    (folder / "sweep.yaml").write_text("common: {world: scripted, agent: expert}\narms: {a: {}, b: {}}\n")
    (folder / "trusted").mkdir()
    (folder / "trusted" / "housequest.toml").write_text('model = "openai:x@http://127.0.0.1:1/v1"\n')
    for out, more in (
        ("run", ()), ("other", ("--seed", "1")), ("shard-1", ("--shard", "1/2")), ("shard-2", ("--shard", "2/2")),
    ):  # fmt: skip
        done = _run(folder, " ".join(("eval --agent expert", *SMALL, *more, "--out", out)), folder / "home")
        assert done.returncode == 0, done.stderr
    annotation = folder / "games" / "json_2.1.1" / "train" / "task" / "trial" / "traj_data.json"
    annotation.parent.mkdir(parents=True)
    annotation.write_text("{}")
    shutil.make_archive(str(folder / "games"), "zip", folder / "games")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read."""
    folder = tmp_path_factory.mktemp("prepared")
    _prepare(folder)
    return folder


def _run(folder: Path, line: str, home: Path, *, largest: int | None = None, full: Sequence[str] = ()) -> Done:
    """Run a command in this process; ``largest`` is the size that a file may have, and ``full`` streams have no room."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    streams = {name: TextIOWrapper(BytesIO(), "utf-8") for name in ("stdin", "stdout", "stderr")}
    with pytest.MonkeyPatch.context() as patched, ExitStack() as files:
        patched.chdir(folder)
        patched.setenv("HOUSEQUEST_HOME", str(home))
        patched.setenv("ALFWORLD_DATA", str(folder / "nothing"))
        for name, stream in streams.items():
            patched.setattr(sys, name, files.enter_context(Path("/dev/full").open("w")) if name in full else stream)
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, before[1]))
        try:
            with pytest.raises(SystemExit) as end:
                main(line.split(" "))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    out, err = (streams[name].detach().getvalue().decode() for name in ("stdout", "stderr"))  # type: ignore[attr-defined]
    assert isinstance(end.value.code, int)
    return Done(end.value.code, out, err)


def _check(done: Done, writing: Writing, *names: str) -> None:
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in writing.codes, (done.returncode, done.stderr)
    if terminal.DONE not in writing.codes:
        assert any(name in done.stderr for name in names), done.stderr


EACH = [pytest.param(each, id=each.line) for writing in WRITING.values() for each in writing]


def _there(writing: Writing) -> None:
    if writing.needs and find_spec(writing.needs) is None:
        pytest.skip(f"needs {writing.needs}")


@pytest.mark.parametrize("writing", EACH)
def test_a_full_disk(writing: Writing, prepared: Path, tmp_path: Path) -> None:
    _there(writing)
    folder = tmp_path / "work"
    shutil.copytree(prepared, folder)
    shutil.rmtree(folder / "home", ignore_errors=True)
    done = _run(folder, writing.line.replace("{out}", str(folder / "made")), folder / "home", largest=0)
    _check(done, writing, str(folder), "book.yaml")


@pytest.mark.skipif(os.geteuid() == 0 and not mountable(), reason="root can write everywhere, and nothing can be mounted")
@pytest.mark.parametrize("writing", EACH)
def test_a_folder_that_is_read_only(writing: Writing, prepared: Path, tmp_path: Path) -> None:
    _there(writing)
    folder = tmp_path / "disk"
    with ExitStack() as mounted:
        if mountable():
            mounted.enter_context(small_disk(folder, 32 << 20))
        shutil.copytree(prepared, folder / "work")
        shutil.rmtree(folder / "work" / "home", ignore_errors=True)
        if mountable():
            subprocess.run(("mount", "-o", "remount,ro", str(folder)), check=True)
        else:
            for place in (folder, *folder.rglob("*")):
                place.chmod(place.stat().st_mode & 0o555)
        folder = folder / "work"
        done = _run(folder, writing.line.replace("{out}", str(folder / "made")), folder / "home")
        _check(done, writing, str(folder), "book.yaml")


@pytest.mark.parametrize("writing", [each for each in EACH if "{out}" in each.values[0].line or each.values[0].home])  # type: ignore[union-attr]
def test_a_name_that_is_too_long(writing: Writing, prepared: Path, tmp_path: Path) -> None:
    _there(writing)
    long = tmp_path / ("n" * 300)
    folder = tmp_path / "work"
    shutil.copytree(prepared, folder)
    done = _run(folder, writing.line.replace("{out}", str(long)), long if writing.home else folder / "home")
    _check(done, writing, "n" * 90)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("line", READING)
def test_a_full_disk_for_what_is_printed(line: str, prepared: Path) -> None:
    done = _run(prepared, line, prepared / "home", full=("stdout",))
    assert done.returncode == terminal.UNUSABLE, done.stderr
    assert "standard output: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    if line == "runs .":
        assert _run(prepared, line, prepared / "home", full=("stdout", "stderr")).returncode == terminal.UNUSABLE
