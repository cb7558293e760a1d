"""GGUF models on this machine: our own runtime beside bare llama-cpp-python, prefix reuse on and off, 1, 4 and 8 slots.

The model is a tiny one of random weights whose tokens are bytes, or the one that ``BENCH_GGUF`` names, and its
replies are ignored: each episode follows the policy of the tests, whose growing conversations are sent to the model. One thread
decodes, greedily. A run with workers has a slot for each. The bare runtime is ``Llama.create_chat_completion`` with the same
conversations, in this process; it too keeps the prefix that a prompt shares with the one before, unless it is reset.
``BENCH_HOUSES`` is the number of houses [3].
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Completion, Message, Model, Request
from housequest.agent.models.gguf import read_header
from housequest.agent.models.llama import LlamaProvider, installed
from housequest.agent.models.llama.model import LlamaModel
from housequest.worlds.registry import make_world
from tests.agent.models.tiny import write_tiny
from tests.backends.policy import Solver

HOUSES = ("example:1", "example:2", "example:3")
CONVERSATIONS = 32
REPLY = 24
"""Tokens decoded at each call, about as many as a thought and a command."""
CONTEXT = 8_192
SLOTS = (1, 4, 8)


@dataclass(frozen=True, slots=True)
class _Spent:
    """What the calls of all episodes took, and the tokens that were evaluated for their prompts and written.

    ``processor`` are the seconds that a processor worked, which say more on a busy machine; 0 where they are not known.
    """

    calls: int
    seconds: float
    processor: float
    written: int
    read: int | None = None

    def __str__(self) -> str:
        read = "" if self.read is None else f" ({self.read:,} tokens of prompts evaluated)"
        worked = f" ({1000 * self.processor / self.calls:.0f} of a processor)" if self.processor else ""
        return f"{1000 * self.seconds / self.calls:.0f} ms a call{worked}, {self.written / self.seconds:.1f} tokens/s{read}"


class _Listening(Model):
    """A model that follows the policy and keeps every conversation."""

    name = "bench"

    def __init__(self) -> None:
        self.asked: list[list[Message]] = []
        self._policy = Solver()

    async def complete(self, request: Request) -> Completion:
        self.asked.append(list(request.messages))
        return Completion(self._policy([{"role": message.role, "content": message.content} for message in request.messages]))


def run(data: Path | None) -> Iterator[str]:
    """A line for each runtime and method."""
    del data
    if not installed():
        yield "not measured: no runtime is installed (housequest[xllamacpp] or housequest[llama])"
        return
    houses = HOUSES[: int(os.environ.get("BENCH_HOUSES", "3"))]
    episodes = [asyncio.run(conversations(house)) for house in houses]
    calls = [call for episode in episodes for call in episode]
    with TemporaryDirectory() as folder:
        file = named_model() or write_tiny(Path(folder) / "tiny.gguf")
        yield f"{file.name}, {len(calls)} calls of react, houses: {len(houses)}, {REPLY} tokens each, 1 thread"
        for runtime in installed():
            for cache in ("on", "off"):
                ours = asyncio.run(_called(file, runtime, cache, calls))
                yield f"{runtime}, prefix reuse {cache}, our runtime: {ours}"
                if runtime == "llama-cpp-python":
                    bare = _bare(file, calls, reuse=cache == "on")
                    share = f"ours takes {ours.seconds / bare.seconds:.2f} of its time"
                    if ours.processor:
                        share += f", {ours.processor / bare.processor:.2f} of its processor time"
                    yield f"{runtime}, prefix reuse {cache}, bare: {bare}; {share}"
            yield from asyncio.run(_crowd(file, runtime, calls[0]))


def named_model() -> Path | None:
    """The model that ``BENCH_GGUF`` names; None without one. Raises ``ConfigurationError`` if it is none."""
    named = os.environ.get("BENCH_GGUF")
    if not named:
        return None
    read_header(Path(named))
    return Path(named)


async def conversations(house: str) -> list[list[Message]]:
    """The conversations of react in a house, one for each of its calls."""
    world, model = make_world("alfworld"), _Listening()
    await run_episode(
        world.open(world.task(house)),
        make_agent("react", world=world, model=model),
        EpisodeConfig(world),
        lambda _: None,
    )
    return model.asked


async def _called(file: Path, runtime: str, cache: str, calls: Sequence[Sequence[Message]]) -> _Spent:
    # With flash attention, as the bare runtime below.
    named = f"bench?runtime={runtime}&slots=1&threads=1&gpu_layers=0&flash=on&cache={cache}&context={CONTEXT}"
    model = LlamaModel(file, LlamaProvider(named).options, name="llama:bench", timeout=600.0)
    try:
        await model.runtime()
        began, worked, read, written = time.perf_counter(), _worked(model.pid), 0, 0
        for conversation in calls:
            reply = await model.complete(Request(conversation, max_tokens=REPLY))
            read += (reply.usage.prompt or 0) - (reply.timing.cached or 0)
            written += reply.usage.completion or 0
        return _Spent(len(calls), time.perf_counter() - began, _worked(model.pid) - worked, written, read)
    finally:
        await model.aclose()


def _bare(file: Path, calls: Sequence[Sequence[Message]], *, reuse: bool) -> _Spent:
    """The same calls of llama-cpp-python itself."""
    lib: Any = import_module("llama_cpp")
    model = lib.Llama(str(file), n_gpu_layers=0, n_ctx=CONTEXT, n_threads=1, n_threads_batch=1, flash_attn=True, verbose=False)
    began, worked, written = time.perf_counter(), time.process_time(), 0
    for conversation in calls:
        if not reuse:
            model.reset()
        said = [{"role": message.role, "content": message.content} for message in conversation]
        written += model.create_chat_completion(said, max_tokens=REPLY, temperature=0.0)["usage"]["completion_tokens"]
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    model.close()
    return _Spent(len(calls), seconds, worked, written)


def _worked(pid: int | None) -> float:
    """Seconds that a processor has worked for this process and for ``pid``; 0 where that is not told (outside Linux)."""
    told = Path(f"/proc/{pid}/stat")
    if not told.exists():
        return 0.0
    user, system = told.read_text("utf-8").rpartition(")")[2].split()[11:13]
    return time.process_time() + (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def _crowd(file: Path, runtime: str, conversation: list[Message]) -> list[str]:
    talks = [[*conversation[:-1], Message("user", f"{conversation[-1].content} ({at})")] for at in range(CONVERSATIONS)]
    took: list[str] = []
    for slots in SLOTS:
        options = LlamaProvider(f"bench?runtime={runtime}&slots={slots}&threads=1&gpu_layers=0&flash=on&context=4096").options
        model = LlamaModel(file, options, name="llama:bench", timeout=600.0)
        gate = asyncio.Semaphore(slots)

        async def one(talk: list[Message], model: LlamaModel = model, gate: asyncio.Semaphore = gate) -> int:
            async with gate:
                return (await model.complete(Request(talk, max_tokens=REPLY))).usage.completion or 0

        try:
            await model.runtime()
            began = time.perf_counter()
            written = sum(await asyncio.gather(*map(one, talks)))
            seconds = time.perf_counter() - began
            took.append(f"{slots} in {seconds:.1f} s ({written / seconds:.0f} tokens/s)")
        finally:
            await model.aclose()
    return [f"{runtime}, {CONVERSATIONS} calls by as many workers as slots: {', '.join(took)}"]
