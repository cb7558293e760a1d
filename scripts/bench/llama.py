"""GGUF models on this machine: the savings of prefix reuse over an episode, and 16 workers against 1.

The model is a tiny one of random weights whose tokens are bytes, or the one that ``HOUSEQUEST_GGUF`` names, and its
replies are ignored: each episode follows the policy of the tests, whose growing conversations are sent to the model. One thread
decodes. A run with workers has a slot for each.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from agent.agents.registry import make_agent
from agent.episodes.loop import EpisodeConfig, run_episode
from agent.models.base import Completion, Message, Model, Request
from agent.models.llama.model import LlamaModel
from agent.models.llama.provider import installed, read_llama_name
from tests.agent.models.llama.tiny import write_tiny
from tests.backends.policy import Solver
from worlds.registry import make_world

HOUSES = ("example:1", "example:2", "example:3")
CONVERSATIONS = 32
REPLY = 24
"""Tokens decoded at each call, about as many as a thought and a command."""


class _Listening(Model):
    """A model that follows the policy and keeps every conversation."""

    name = "bench"

    def __init__(self) -> None:
        self.asked: list[list[Message]] = []
        self._policy = Solver()

    async def complete(self, request: Request) -> Completion:
        self.asked.append(list(request.messages))
        return Completion(self._policy([{"role": message.role, "content": message.content} for message in request.messages]))


def run(data: Path | None) -> list[str]:
    """A line for each runtime and method."""
    del data
    if not installed():
        return ["not measured: no runtime is installed (housequest[xllamacpp] or housequest[llama])"]
    episodes = [asyncio.run(conversations(house)) for house in HOUSES]
    with TemporaryDirectory() as folder:
        named = os.environ.get("HOUSEQUEST_GGUF")
        file = Path(named) if named else write_tiny(Path(folder) / "tiny.gguf")
        lines = [f"{file.name}, {sum(map(len, episodes))} calls of react in {len(HOUSES)} houses, {REPLY} tokens each"]
        for runtime in installed():
            lines += asyncio.run(_reuse(file, runtime, episodes))
            lines += asyncio.run(_crowd(file, runtime, episodes[0][0]))
    return lines


async def conversations(house: str) -> list[list[Message]]:
    """The conversations of react in a house, one for each of its calls."""
    world, model = make_world("alfworld"), _Listening()
    await run_episode(
        world.open(world.task(house)),
        make_agent("react", world=world, model=model),
        EpisodeConfig(world.engine),
        lambda _: None,
    )
    return model.asked


async def _reuse(file: Path, runtime: str, episodes: list[list[list[Message]]]) -> list[str]:
    took: dict[str, tuple[float, int, int]] = {}
    for cache in ("on", "off"):
        model = LlamaModel(
            file, read_llama_name(f"bench?runtime={runtime}&slots=1&threads=1&cache={cache}")[1], name="llama:bench"
        )
        try:
            await model.runtime()
            began, read, kept = time.perf_counter(), 0, 0
            for conversation in (each for episode in episodes for each in episode):
                reply = await model.complete(Request(conversation, max_tokens=REPLY))
                read, kept = read + (reply.usage.prompt or 0), kept + (reply.timing.cached or 0)
            took[cache] = time.perf_counter() - began, read, kept
        finally:
            await model.aclose()
    on, off = took["on"], took["off"]
    return [
        f"{runtime}, prefix reuse: {on[0]:.2f} s with ({on[1] - on[2]:,} of {on[1]:,} prompt tokens evaluated), {off[0]:.2f} s "
        f"without ({off[1] - off[2]:,}): {off[0] / on[0]:.1f} times as long"
    ]


async def _crowd(file: Path, runtime: str, conversation: list[Message]) -> list[str]:
    talks = [[*conversation[:-1], Message("user", f"{conversation[-1].content} ({at})")] for at in range(CONVERSATIONS)]
    seconds: dict[int, float] = {}
    for workers in (1, 16):
        options = read_llama_name(f"bench?runtime={runtime}&slots={workers}&threads=1&context=4096")[1]
        model = LlamaModel(file, options, name="llama:bench")
        gate = asyncio.Semaphore(workers)

        async def one(talk: list[Message], model: LlamaModel = model, gate: asyncio.Semaphore = gate) -> None:
            async with gate:
                await model.complete(Request(talk, max_tokens=REPLY))

        try:
            await model.runtime()
            began = time.perf_counter()
            await asyncio.gather(*map(one, talks))
            seconds[workers] = time.perf_counter() - began
        finally:
            await model.aclose()
    return [
        f"{runtime}, {CONVERSATIONS} calls: {seconds[1]:.2f} s one at a time, {seconds[16]:.2f} s by 16 workers in 16 slots "
        f"({seconds[1] / seconds[16]:.1f} times as fast)"
    ]
