"""One run against a local endpoint, in its own process.

``python -m scripts.bench.batch_run PORT WORKERS EPISODES TURNS WHAT``: ``run`` is a run of the agent react on made-up houses,
``calls`` as many calls of the same lengths through the same client and nothing else. Prints the measurements as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from housequest.agent.agents.spec import make_agent
from housequest.agent.config import configure
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.analysis.metrics import Summary
from housequest.agent.evaluation.runs.batch import RunOptions, RunProgress, run_batch
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.models.base import Completion, Message, Model, ModelWrapper, Request
from housequest.agent.models.keys import KeyRing, parse_endpoint
from housequest.agent.models.openai.protocol import chat
from housequest.agent.models.registry import CallOptions, make_model
from scripts.bench.endpoint import REPLY
from scripts.memory import peak as peak_memory


def main(port: int, workers: int, episodes: int, turns: int, what: str) -> None:
    began = time.perf_counter()
    # A run imports this on its first call; imported here, it does not count as processor time of the calls.
    import_module("openai")

    imported = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        flags = {"agent": "react", "model": f"openai:bench@http://127.0.0.1:{port}/v1", "split": "generated"}
        spec = make_run_spec(configure({**flags, "limit": episodes, "max_steps": turns}, Path(folder)))
        memory = peak_memory()
        began, busy = time.perf_counter(), time.process_time()
        if what == "run":
            noting = _Noting(make_model(flags["model"]))
            options = RunOptions(concurrency=workers, model=noting, watcher=noting.watch)
            summary = asyncio.run(_run(spec, Path(folder) / "run", options))
            first, last, busy_calling = noting.first - began, noting.last - began, noting.busy
            calls = summary.overall.calls
            assert summary.overall.errors == 0
        else:
            first = last = busy_calling = 0.0
            calls = asyncio.run(_calls_alone(port, workers, episodes, asyncio.run(_conversations(spec))))
        took, busy = time.perf_counter() - began, time.process_time() - busy
        peak = peak_memory()
    times = {"wall": took, "first": first, "last": last, "cpu": busy, "calling": busy_calling, "imported": imported}
    print(json.dumps({"calls": calls, **times, "before": memory, "peak": peak}))


async def _run(spec: RunSpec, folder: Path, options: RunOptions) -> Summary:
    assert options.model is not None
    try:
        return await run_batch(spec, folder, options)
    finally:
        await options.model.aclose()


class _Noting(ModelWrapper):
    """Notes when the first call begins and when the last episode is on record, and the processor time between the two."""

    first = last = busy = 0.0

    async def complete(self, request: Request) -> Completion:
        if not self.first:
            self.first, self.busy = time.perf_counter(), -time.process_time()
        return await super().complete(request)

    def watch(self, progress: RunProgress) -> None:
        """Note the time once all are done."""
        if progress.done == progress.total:
            self.last = time.perf_counter()
            self.busy += time.process_time()


class _Listening(Model):
    """A model that gives the endpoint's reply and keeps its prompts."""

    name = "bench"

    def __init__(self) -> None:
        self.asked: list[Sequence[Message]] = []

    async def complete(self, request: Request) -> Completion:
        self.asked.append(tuple(request.messages))
        return Completion(REPLY)


async def _conversations(spec: RunSpec) -> list[list[dict[str, str]]]:
    """The prompts of one episode."""
    model = _Listening()
    task = spec.setup.world.task(spec.manifest.tasks[0].id)
    agent = make_agent("react", world=spec.setup.world, model=model)
    await run_episode(spec.setup.world.open(task), agent, spec.setup, _unheard)
    return [chat(messages) for messages in model.asked]


def _unheard(event: object) -> None:
    """Drop events."""


async def _calls_alone(port: int, workers: int, episodes: int, conversations: Sequence[list[dict[str, str]]]) -> int:
    import httpx2

    from housequest.agent.models.openai.server import Clients, Server

    options = CallOptions(timeout=60.0, keys=KeyRing())
    clients = Clients(Server(parse_endpoint(f"http://127.0.0.1:{port}/v1"), options))
    left = iter(range(episodes))

    async def work() -> int:
        number = 0
        for _ in left:
            for conversation in conversations:
                body = {"messages": conversation, "max_tokens": 512, "temperature": 0.0}
                with clients.lend() as client:
                    await client.post("/chat/completions", cast_to=httpx2.Response, body={"model": "bench", **body})
                number += 1
        return number

    calls = sum(await asyncio.gather(*(work() for _ in range(workers))))
    await clients.aclose()
    return calls


if __name__ == "__main__":
    endpoint, width, number, longest = map(int, sys.argv[1:5])
    main(endpoint, width, number, longest, sys.argv[5])
