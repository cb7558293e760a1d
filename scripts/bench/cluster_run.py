"""One run in players on Ray, in its own process: ``FOLDER PLAYERS EPISODES WORKERS [PORT]``. Its last line is JSON.

With PORT, `react` asks the endpoint there; else the expert plays. ``driver`` are its own seconds of processor.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from agent.config import configure
from agent.evaluation.cluster.on_ray import RayCluster
from agent.evaluation.runs.batch import RunOptions, run_batch
from agent.evaluation.runs.spec import make_run_spec

TURNS = 15


def main(folder: Path, players: int, episodes: int, workers: int, port: str | None) -> None:
    asked = {"agent": "react", "model": f"openai:bench@http://127.0.0.1:{port}/v1", "max_steps": TURNS}
    flags = asked if port else {"agent": "expert"}
    spec = make_run_spec(configure({"split": "generated", "limit": episodes, **flags}, folder))
    began = time.perf_counter()
    ray: Any = import_module("ray")
    ray.init("local", num_cpus=players, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    started, busy = time.perf_counter(), time.process_time()
    summary = asyncio.run(run_batch(spec, folder / "run", RunOptions(workers=workers, cluster=RayCluster())))
    took, busy = time.perf_counter() - started, time.process_time() - busy
    ray.shutdown()
    print(json.dumps({"start": started - began, "wall": took, "driver": busy, "calls": summary.overall.calls}))


if __name__ == "__main__":
    number, games, flying = map(int, sys.argv[2:5])
    main(Path(sys.argv[1]), number, games, flying, sys.argv[5] if len(sys.argv) > 5 else None)
