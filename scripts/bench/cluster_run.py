"""One run in players on Ray or in processes, in its own process: ``FOLDER KIND PLAYERS EPISODES WORKERS [PORT]``.

Its last line is JSON. With PORT, `react` asks the endpoint there; else the expert plays. ``driver`` are its own seconds of
processor, ``players`` theirs in processes, their start included.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from housequest.agent.cluster.local import ProcessCluster, RayCluster
from housequest.agent.config import configure
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.spec import make_run_spec

TURNS = 15


def main(folder: Path, kind: str, players: int, episodes: int, workers: int, port: str | None) -> None:
    asked = {"agent": "react", "model": f"openai:bench@http://127.0.0.1:{port}/v1", "max_steps": TURNS}
    flags = asked if port else {"agent": "expert"}
    spec = make_run_spec(configure({"split": "generated", "limit": episodes, **flags}, folder))
    began = time.perf_counter()
    if kind == "ray":
        ray: Any = import_module("ray")
        # Ray's workers would else wait for whatever runs beside them on this machine.
        same = {"_system_config": {"worker_niceness": 0}}
        ray.init("local", num_cpus=players, include_dashboard=False, log_to_driver=False, logging_level="ERROR", **same)
    started, before = time.perf_counter(), os.times()
    options = RunOptions(concurrency=workers, cluster=RayCluster() if kind == "ray" else ProcessCluster(players))
    summary = asyncio.run(run_batch(spec, folder / "run", options))
    took, after = time.perf_counter() - started, os.times()
    told = {"start": started - began, "wall": took, "calls": summary.overall.calls}
    told["driver"] = after.user + after.system - before.user - before.system
    told["players"] = after.children_user + after.children_system - before.children_user - before.children_system
    print(json.dumps(told))


if __name__ == "__main__":
    number, games, flying = map(int, sys.argv[3:6])
    main(Path(sys.argv[1]), sys.argv[2], number, games, flying, sys.argv[6] if len(sys.argv) > 6 else None)
