"""The taskset in examples/verifiers plays a game in verifiers itself, installed apart, against an endpoint of ours."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.backends.caller import calling
from tests.backends.server import serve
from tests.environments import ROOT, environment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the taskset."""
    return environment(tmp_path_factory.mktemp("verifiers"), "uv", "--editable", str(ROOT / "examples" / "verifiers"))


def test_a_game_is_won_by_tools(scripts: Path, tmp_path: Path) -> None:
    with serve(lambda _: "") as server:
        server.behave(otherwise=calling)
        taskset = ["housequest-alfworld", "--env.taskset.split", "example", "-n", "1", "--no-push", "--no-rich"]
        local = ["--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess"]
        endpoint = ["-m", "tester", "--client.base-url", server.url, "--client.api-key-var", "LOCAL_API_KEY"]
        done = subprocess.run(
            [str(scripts / "vf-eval"), *taskset, *local, *endpoint],
            check=False,
            cwd=tmp_path,
            env={**os.environ, "LOCAL_API_KEY": "none", "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=900,
        )
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("outputs/*/traces.jsonl")
    (trace,) = json.loads(file.read_text("utf-8"))["traces"]
    assert trace["errors"] == []
    assert trace["rewards"]["won"]["score"] == 1
    assert trace["metrics"] == {"goal_conditions": 1, "steps": len(server.requests) - 1, "refused": 0}
