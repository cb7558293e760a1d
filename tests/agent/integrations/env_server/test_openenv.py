"""OpenEnv's own client and validator on the environment server; and MCP with the old SDK that openenv needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.agent.integrations.env_server.test_server import SCRIPTED_WORLD, serving
from tests.environments import ROOT, environment, run_tests, said

# Installing takes ten times as long on a busy machine.
pytestmark = pytest.mark.slow

PLAYER = Path(__file__).with_name("openenv_player.py")
DOORS = ROOT / "docs" / "guides" / "doors.md"
SESSIONS = 64


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with openenv and what tests need. Skips the tests where no index can be reached."""
    return environment(tmp_path_factory.mktemp("openenv"), "openenv>=0.10", extras="[mcp]")


def test_its_client_plays_alone_and_in_many_sessions(scripts: Path, tmp_path: Path) -> None:
    with serving(tmp_path, *SCRIPTED_WORLD, "--grant", "admissible", "--sessions", str(SESSIONS)) as (address, _):
        assert said(scripts / "python", PLAYER, address, str(SESSIONS)) == "played\n"


def test_its_validator_finds_nothing(scripts: Path, tmp_path: Path) -> None:
    with serving(tmp_path, *SCRIPTED_WORLD) as (address, _):
        report = said(scripts / "openenv", "validate", "--url", address)
        assert "Verdict: PASS" in report
        assert "FAIL" not in report


def test_the_example_in_the_docs_runs(scripts: Path, tmp_path: Path) -> None:
    block = re.search(r"```python\n(from openenv.*?)```", DOORS.read_text("utf-8"), re.DOTALL)
    assert block is not None
    with serving(tmp_path, "--grant", "admissible") as (address, _):
        program = block[1].replace("http://127.0.0.1:8000", address)
        assert program != block[1]
        reward, task = said(scripts / "python", "-c", program).split()
        assert (reward, task.partition(":")[0]) == ("0.0", "example")


def test_the_server_of_mcp_is_the_same_where_openenv_keeps_its_sdk_back(scripts: Path) -> None:
    version = said(scripts / "python", "-c", "from importlib.metadata import version; print(version('mcp'))")
    assert version.startswith("1."), "openenv takes version 2: one of the two can go"
    run_tests(scripts, Path(__file__).parents[1] / "mcp")
