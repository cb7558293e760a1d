"""Training data as ``housequest export`` writes it, timed: of runs, and of the expert in agents' prompts. See `doors`."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time

from housequest.agent.evaluation.library import evaluate
from housequest.agent.processes import processors
from housequest.agent.training.export import FORMATS, ExportedEpisode, RecordedEpisodes
from housequest.agent.training.lora.games import Demonstrations, Lessons

RECORDED = 60
PLAYED = 200
FIRST = 20
"""Episodes before the clock starts, which load what all others use."""
MANY = 2_000
"""Episodes that several processes play."""
AGENTS = ("react", "reasoner-actor", "lota", "saycan", "opex", "pet", "llm-planner", "socratic")


def exports(data: Path | None) -> Iterator[str]:
    """Episodes a minute of processor: recorded ones of the built-in model, and the expert's as each agent."""
    yield "episodes a minute of processor, one process, as messages:"
    with tempfile.TemporaryDirectory() as folder:
        run = evaluate(out=Path(folder) / "run", split="generated", limit=RECORDED, agent="reasoner-actor", model="builtin")
        yield f"  {_a_minute(RecordedEpisodes([run], lost=True)):8,.0f} recorded, of reasoner-actor with the built-in model"
    for agent in AGENTS:
        lessons = Lessons((agent,), epsilon=0.0)
        yield f"  {_a_minute(Demonstrations(lessons, 'generated', PLAYED)):8,.0f} of the expert as {agent}, made-up houses"
        if data is not None:
            found = Demonstrations(lessons, "train", PLAYED, data=data)
            yield f"  {_a_minute(found):8,.0f} of the expert as {agent}, games of train"
    yield f"episodes a minute of the clock, the expert as react, {MANY:,} made-up houses:"
    for processes in (1, processors()):
        began, before = perf_counter(), sum(os.times()[:4])
        played = Demonstrations(Lessons(("react",), epsilon=0.0), "generated", MANY, processes=processes)
        sizes = [_written(episode) for episode in played]
        took, busy = perf_counter() - began, sum(os.times()[:4]) - before
        yield (
            f"  {60 * len(sizes) / took:8,.0f} in {processes} {'process' if processes == 1 else 'processes'}, which had "
            f"{busy:.1f} s of processor in {took:.1f} s"
        )


def _a_minute(episodes: Iterable[ExportedEpisode]) -> float:
    """How many of ``episodes`` are written in a minute of processor."""
    coming = iter(episodes)
    size = sum(_written(episode) for episode in islice(coming, FIRST))
    began = process_time()
    sizes = [_written(episode) for episode in coming]
    assert size and all(sizes)
    return 60 * len(sizes) / (process_time() - began)


def _written(episode: ExportedEpisode) -> int:
    return sum(len(json.dumps(line)) for line in FORMATS["messages"](episode))
