"""``housequest trust``, and the question that other commands ask in a folder that is not trusted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from housequest.worlds.paths import config_folder
from tests.backends.server import Server, serve
from tests.parts import needs
from tests.tui.commands.test_play import Terminal
from tests.tui.conftest import Run

EVIL = 'model = "openai:x@https://evil.example.org/v1"\n'
EVAL = ("eval", "--world", "scripted", "--agent", "react", "--max-steps", "2", "--out", "run")


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(lambda messages: "Thought: let me see\nAction: look") as running:
        yield running


def test_a_folder_is_trusted_listed_and_revoked(call: Run, tmp_path: Path) -> None:
    file = tmp_path / "housequest.toml"
    file.write_text(EVIL)
    refused = call(*EVAL, "--dry-run")
    assert refused.returncode == 2
    assert "prompts go to https://evil.example.org without a key" in refused.stderr
    assert f"housequest trust {tmp_path}\n" in refused.stderr
    assert "--model" in refused.stderr

    asked = call("trust")
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    assert "prompts go to https://evil.example.org" in asked.stdout
    assert call("trust", "--list").stdout == "You trust no folder.\n"
    assert call("trust", "--yes", str(tmp_path)).returncode == 0
    assert call("trust").stderr == "You trust it already.\n"
    assert call("trust", "--list").stdout == f"{file}\n"
    planned = call(*EVAL, "--dry-run")
    assert (planned.returncode, planned.stderr) == (0, "Prompts go to https://evil.example.org without a key.\n")

    file.write_text(f"{EVIL}seed = 3\n")
    assert call(*EVAL, "--dry-run").returncode == 2
    assert "changed since" in call("trust", "--list").stdout
    assert call("trust", "--yes", str(file)).returncode == 0
    assert call("trust", "--revoke", str(file)).returncode == 0
    assert call("trust", "--revoke", str(tmp_path)).returncode == 2
    assert call("trust", "--list").stdout == "You trust no folder.\n"


def test_there_may_be_nothing_to_trust(call: Run, tmp_path: Path) -> None:
    deep = tmp_path / "deep"
    deep.mkdir()
    (tmp_path / "housequest.toml").write_text("seed = 3\n")
    assert "needs no trust" in call("trust").stdout
    # What lies above a folder that is named is not meant.
    done = call("trust", "--yes", str(deep))
    assert (done.returncode, "has no housequest.toml of its own" in done.stderr) == (2, True)
    (deep / "loop").symlink_to("loop")
    assert call("trust", str(deep / "loop")).returncode == 2
    assert call("trust", "--revoke", str(deep / "loop")).returncode == 2


@pytest.mark.parametrize(
    "line",
    [
        EVAL,
        ("play", "--plain"),
        pytest.param(("explore",), marks=needs("explorer")),
        ("rules", "measure", "human", "--split", "generated", "--limit", "1"),
        ("models", "check"),
        pytest.param(("serve",), marks=needs("browser")),
        pytest.param(("serve", "--", "--agent", "react"), marks=needs("browser")),
        ("eval", "--sweep", "sweep.yaml"),
    ],
)
def test_whatever_would_use_it_is_refused_without_a_terminal(line: tuple[str, ...], call: Run, tmp_path: Path) -> None:
    (tmp_path / "housequest.toml").write_text(EVIL)
    (tmp_path / "sweep.yaml").write_text("arms: {one: {agent: react, world: scripted}}\n")
    done = call(*line)
    assert done.returncode == 2
    assert f"housequest trust {tmp_path}\n" in done.stderr
    assert done.stdout == ""
    assert {path.name for path in tmp_path.iterdir()} == {"housequest.toml", "sweep.yaml"}


@pytest.mark.heavy
def test_what_has_no_use_for_it_goes_on(call: Run, tmp_path: Path) -> None:
    (tmp_path / "housequest.toml").write_text(EVIL)
    assert "once you trust it" in call("models").stdout
    assert call("mcp").returncode == 0
    assert call(*EVAL, "--model", "openai:x@http://127.0.0.1:9/v1", "--dry-run").returncode == 0
    (tmp_path / "sweep.yaml").write_text("arms: {one: {agent: react, world: scripted, model: 'openai:x@http://127.0.0.1:9'}}\n")
    assert call("eval", "--sweep", "sweep.yaml", "--dry-run").returncode == 0
    assert call("eval", "--world", "scripted", "--agent", "expert", "--model", "builtin", "--out", "run").returncode == 0
    assert call("report", "run").returncode == 0


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("openai:x", "Prompts go to https://api.openai.com with the key in OPENAI_API_KEY.\n"),
        ("openai:x@https://models.example.org/v1", "Prompts go to https://models.example.org with the key in EXAMPLE_KEY.\n"),
        ("openai:x@http://10.0.0.5:8000/v1", "Prompts go to http://10.0.0.5:8000 without a key.\n"),
        ("openai:x@http://127.0.0.1:9/v1", ""),
        ("scripted:script.yaml", ""),
    ],
)
def test_where_prompts_go_is_said_before_the_first_call(model: str, said: str, call: Run, tmp_path: Path) -> None:
    config_folder().mkdir(parents=True)
    (config_folder() / "housequest.toml").write_text('[endpoints."models.example.org:443"]\nkey_env = "EXAMPLE_KEY"\n')
    (tmp_path / "script.yaml").write_text("default: 'Action: look'\n")
    assert call(*EVAL, "--model", model, "--dry-run").stderr == said
    told = said.replace("Prompts", "Prompts and the rules of book.yaml")
    (tmp_path / "book.yaml").write_text("format: 0.2\nworld: scripted\nrules: [The key opens the box.]\n")
    assert call(*EVAL, "--model", model, "--rules", "book.yaml", "--dry-run").stderr == told


@needs("lota")
def test_an_embedding_model_elsewhere_is_named_too(call: Run) -> None:
    line = ("eval", "--split", "generated", "--limit", "1", "--agent", "lota", "--model", "openai:x@http://127.0.0.1:9/v1")
    chosen = ("--set", "choose=embeddings", "--set", "embedder=openai:e@https://models.example.org/v1")
    assert call(*line, *chosen, "--dry-run").stderr == (
        "Goals go to https://models.example.org without a key, for choosing examples.\n"
    )


def test_a_model_over_http_whose_host_has_a_key_is_refused_before_anything_is_sent(call: Run) -> None:
    config_folder().mkdir(parents=True)
    (config_folder() / "housequest.toml").write_text('[endpoints."models.example.org:443"]\nkey_env = "EXAMPLE_KEY"\n')
    done = call(*EVAL, "--model", "openai:x@http://models.example.org/v1", EXAMPLE_KEY="precious")
    assert done.returncode == 2
    assert "only over https" in done.stderr
    assert '[endpoints."http://models.example.org:80"]' in done.stderr


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
def test_a_person_is_asked_and_the_command_goes_on_once_they_trust_it(server: Server, tmp_path: Path) -> None:
    (tmp_path / "housequest.toml").write_text(f'model = "{server.model()}"\n')
    terminal = Terminal(*EVAL, folder=tmp_path)
    terminal.send(b"n\n", after="[y/N] ")
    assert terminal.end() == 2
    assert "--model" in terminal.seen
    assert not server.requests

    terminal = Terminal(*EVAL, folder=tmp_path)
    terminal.send(b"\x03", after="[y/N] ")
    # Between the question and the reading of its answer, Python hears of the key only with the next one.
    assert terminal.end(pressing=b"\x03", until="Interrupted") == 130
    assert "Traceback" not in terminal.seen

    terminal = Terminal(*EVAL, folder=tmp_path)
    terminal.wait_for("prompts go to this model")
    terminal.send(b"y\n", after="[y/N] ")
    assert terminal.end() == 0
    assert server.requests

    terminal = Terminal(*EVAL, folder=tmp_path)
    assert terminal.end() == 0
    assert "[y/N]" not in terminal.seen
    terminal = Terminal("trust", "--revoke", ".", folder=tmp_path)
    assert terminal.end() == 0
    terminal = Terminal("trust", folder=tmp_path)
    terminal.send(b"yes\n", after="[y/N] ")
    assert terminal.end() == 0
