"""``housequest eval`` as a sitting: budgets, estimates, a model that is not there, sweeps, and a folder of somebody else's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from housequest.worlds.paths import config_folder
from tests.backends.server import Server, raw, serve, status
from tests.tui.conftest import Run

pytestmark = pytest.mark.heavy

KEY = "sk-precious-0123456789-abcdefgh"

SWEEP = """
common: {world: scripted}
arms:
  expert: {agent: expert}
  react: {agent: react, max_steps: 4, set: {form: free}}
seeds: [0, 1]
"""


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(lambda messages: "Thought: let me see\nAction: look") as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    """The endpoint of all these tests, as if nobody had asked it anything."""
    running.reset()
    return running


def react(server: Server, *more: str) -> tuple[str, ...]:
    # Free replies, so that nothing is asked of the model beside them.
    size = ("--max-steps", "4", "--set", "form=free", "--out", "run")
    return ("eval", "--world", "scripted", "--agent", "react", "--model", server.model(), *size, *more)


def test_a_budget_ends_a_sitting_and_says_how_it_goes_on(call: Run, server: Server) -> None:
    done = call(*react(server, "--budget", "calls=5"))
    assert (done.returncode, done.stdout) == (130, "")
    assert "The budget of 5 calls is used up. Used in all, earlier sessions included: 5 calls, " in done.stderr
    assert "1 of 3 finished. The same command with a larger budget goes on with it." in done.stderr.replace("\n", " ")
    assert call("report", "run", "--json").returncode == 0
    assert call(*react(server, "--budget", "calls=12", "--budget", "time=10m")).returncode == 0
    assert len(server.requests) == 12
    assert "--budget" in call(*react(server, "--budget", "much")).stderr


def test_money_needs_prices_and_is_told_with_them(call: Run, server: Server, tmp_path: Path) -> None:
    done = call(*react(server, "--budget", "money=5"))
    assert (done.returncode, server.requests) == (2, [])
    assert '[prices."openai:tester"]' in done.stderr
    (tmp_path / "housequest.toml").write_text('[prices."openai:tester"]\ninput = 1000\noutput = 1000\n')
    done = call(*react(server, "--budget", "money=2"))
    assert done.returncode == 130
    assert "a cost of 2." in done.stderr
    assert "at your prices" in call(*react(server, "--dry-run")).stdout


def test_a_dry_run_says_about_what_it_would_cost(call: Run, server: Server) -> None:
    assert re.search(r"About [0-9]+ to [0-9]+ calls", call(*react(server, "--dry-run")).stdout)
    assert call(*react(server, "--limit", "1", "--out", "runs/one")).returncode == 0
    assert re.search(r"About [0-9]+ to [0-9]+ calls", call(*react(server, "--dry-run")).stdout)
    assert "It calls no model." in call("eval", "--world", "scripted", "--agent", "expert", "--dry-run").stdout


def test_a_model_that_is_not_there_is_told_once_and_spoils_nothing(call: Run) -> None:
    with serve() as gone:
        line = react(gone, "--concurrency", "3")
    done = call(*line)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.count("cannot be reached") == 1
    assert "0 of 3 finished. The same command goes on with it." in done.stderr


def test_a_run_that_is_refused_is_neither_announced_nor_made(call: Run, server: Server, tmp_path: Path) -> None:
    for agent in (("saycan",), ("lota", "--set", "exact=on")):
        done = call("eval", "--split", "example", "--agent", *agent, "--model", server.model())
        assert (done.returncode, done.stdout) == (2, "")
        assert "does not score given texts" in done.stderr
        assert ", into " not in done.stderr
    assert not (tmp_path / "runs").exists()
    assert not server.requests
    assert ", into " in call(*react(server)).stderr


def test_a_sweep_is_one_table_and_goes_on(call: Run, server: Server, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(SWEEP)
    line = ("eval", "--sweep", "two.yaml", "--model", server.model(), "--concurrency", "3")
    dry = call(*line, "--dry-run")
    assert dry.stdout.startswith("Would play 4 runs into runs/two")
    assert len(json.loads(call(*line, "--dry-run", "--json").stdout)["runs"]) == 4
    assert not (tmp_path / "runs").exists()
    stopped = call(*line, "--budget", "calls=17")
    assert (stopped.returncode, len(server.requests)) == (130, 17)
    unfinished = call("report", "runs/two")
    assert "Not finished: " in unfinished.stdout
    done = call(*line)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 24
    rows = [row.split()[:2] for row in done.stdout.splitlines()]
    of_arms = [row for row in rows if row and row[0] in {"expert", "react"}]
    assert of_arms == [["expert", "2"], ["react", "2"], ["expert", "100.0"], ["react", "0.0"], ["react", "3"]]
    assert call("report", "runs/two").stdout == done.stdout
    arms = json.loads(call("report", "runs/two", "--json").stdout)["arms"]
    assert [(arm["arm"], arm["success"], arm["calls"]) for arm in arms] == [("expert", 1.0, 0), ("react", 0.0, 24)]
    assert call("report", "runs/two/react-seed1").returncode == 0
    assert "| expert | 2 | 6 | 0 | 100.0 % |" in call("report", "runs/two", "--markdown").stdout


def test_a_sweep_with_errors_is_an_exit_code(call: Run, server: Server, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(SWEEP)
    line = ("eval", "--sweep", "two.yaml", "--model", server.model(), "--out", "swept")
    server.behave(status(413), raw(b"{}"))
    assert call(*line).returncode == 1
    assert call(*line, "--retry-errors", "--json").returncode == 0


def test_a_folder_of_somebody_else_gets_no_key(run: Run, server: Server, tmp_path: Path) -> None:
    """A cloned folder may name its own server as the model; it gets the placeholder, and can ask for no key."""
    config_folder().mkdir(parents=True)
    (config_folder() / "housequest.toml").write_text('[endpoints."models.example.org:443"]\nkey_env = "EXAMPLE_KEY"\n')
    keys = {"OPENAI_API_KEY": KEY, "EXAMPLE_KEY": KEY, "PRECIOUS_KEY": KEY}
    cloned = tmp_path / "cloned"
    cloned.mkdir()
    hostile = cloned / "housequest.toml"
    line = ("eval", "--world", "scripted", "--agent", "react", "--max-steps", "2", "--out", "run")

    address = f"127.0.0.1:{server.port}"
    for table in (f'[endpoints."{address}"]\nkey_env = "PRECIOUS_KEY"', 'key_env = "PRECIOUS_KEY"'):
        hostile.write_text(f'model = "{server.model()}"\n{table}\n')
        done = run(*line, folder=cloned, **keys)
        assert done.returncode == 2
        assert "says where keys go" in done.stderr
        assert not server.requests

    hostile.write_text(f'model = "{server.model()}"\n')
    done = run(*line, folder=cloned, **keys)
    assert done.returncode == 2
    assert f"housequest trust {cloned}\n" in done.stderr
    assert not server.requests

    # Even where it is trusted, no key goes along.
    assert run("trust", "--yes", folder=cloned).returncode == 0
    done = run(*line, folder=cloned, OPENAI_BASE_URL=server.url, OPENAI_CUSTOM_HEADERS=f"X-Key: {KEY}", **keys)
    assert done.returncode == 0, done.stderr
    assert server.sent("authorization") == {"Bearer unused"}
    assert KEY not in str(server.requests)
    assert KEY not in done.stdout + done.stderr
    assert [file for file in cloned.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()] == []
