"""What a run will use, before it is played: calls, tokens and cost, as a range.

Where episodes of the same agent under the same conditions are finished, they say it. Else the agent plays some of the tasks,
with its own prompts, while the world's expert replies in its model's place: so long are the prompts, and so few calls it takes
who makes no mistake. Who makes many takes all turns.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.runs.folder import Result, RunFolder
from housequest.agent.evaluation.runs.spec import RunSpec
from housequest.agent.evaluation.runs.usage import Tokens, cost, money
from housequest.agent.roles.base import whole_prompts
from housequest.worlds.base import Task
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.registry import load_plugin, plugins
from housequest.worlds.text import many

MOST_LOOKED_AT = 1_000
"""How many folders are searched for a similar run."""
REHEARSED = 4
"""Tasks that are played to see how long prompts are."""
CHARACTERS = 4
"""Characters counted as one token: a rough estimate for English in any model's vocabulary."""
THOUGHT = (100, 1_000)
"""Tokens that a model which thinks writes for a reply beside it, about."""
_SPARE = 1.5
"""How far what one episode used may be from what others do."""
Range = tuple[float, float]


class Estimate(NamedTuple):
    """What the ``left`` tasks will use, from the least to the most: calls, tokens ``read`` and ``written``, and their cost,
    None where no price is known. ``basis`` says what that was seen of.
    """

    left: int
    basis: str
    calls: Range
    read: Range
    written: Range
    cost: Range | None

    def __str__(self) -> str:
        counted = self.read[1] or self.written[1]
        tokens = (
            f"{_span(self.read)} tokens read and {_span(self.written)} written" if counted else "tokens that were not counted"
        )
        ends = dict.fromkeys(map(money, self.cost or ()))
        priced = f" About {' to '.join(ends)} at your prices, if no cache serves any of it." if ends else ""
        return f"About {_span(self.calls)} calls and {tokens} for {many(self.left, 'task')}, {self.basis}.{priced}"


def _span(ends: Range) -> str:
    """A range in two digits of each end."""
    said = dict.fromkeys(f"{float(f'{end:.2g}'):,.0f}" for end in ends)
    return " to ".join(said)


def estimate(spec: RunSpec, folder: Path, runs: Path = Path("runs")) -> Estimate | None:
    """What is left of the run in ``folder`` will use; None where nothing tells. Runs below ``runs`` tell, too, which have the
    same agent, settings, grants and turn limit; the more alike the better. Unreadable folders are skipped.
    """
    left = len(spec.manifest.tasks)
    found: list[tuple[bool, int, int, Path, list[str], list[Result]]] = []
    for candidate in dict.fromkeys(chain([folder], islice(_folders(runs), MOST_LOOKED_AT))):
        run = RunFolder(candidate)
        with suppress(ConfigurationError, OSError):
            if not run.manifest_file.is_file():
                continue
            manifest = run.manifest()
            results = list(run.index(manifest.tasks)[0].values())
            left -= len(results) * (candidate == folder)
            one, other = manifest.configuration, spec.config
            usable = [result for result in results if result.calls and result.outcome != "error" and not result.assisted]
            same = ("agent", "settings", "grants", "max_turns")
            if not usable or any(getattr(one, name) != getattr(other, name) for name in same):
                continue
            unlike = [
                f"{name} {was or 'none'}, here {now or 'none'}"
                for name, was, now in (
                    ("model", one.model, other.model),
                    ("split", one.split, other.split),
                    ("goals", one.goals, other.goals),
                    ("rules", one.rules and one.rules.label, other.rules and other.rules.label),
                )
                if was != now
            ]
            found.append((candidate == folder, -len(unlike), len(usable), candidate, unlike, usable))
    if not found:
        return _rehearsed(spec, left)
    *_, source, unlike, results = max(found, key=lambda each: each[:3])
    basis = f"as in {many(len(results), 'finished one')} of {source}"
    basis += f", which had another {'; '.join(unlike)}" if unlike else ""
    prices = spec.setup.prices
    used = [(one.calls, one.prompt_tokens or 0, one.completion_tokens or 0) for one in results]
    calls, read, written = (_of_all(each, left) for each in zip(*used, strict=True))
    paid = [cost(Tokens.of(one), prices, one.roles) or 0.0 for one in results] if prices is not None else None
    return Estimate(left, basis, calls, read, written, None if paid is None else _of_all(paid, left))


def _of_all(values: Sequence[float], left: int) -> Range:
    """Where the sum over ``left`` episodes probably lies, by those of others."""
    mean = fmean(values)
    if len(values) < 2:
        return left * mean / _SPARE, left * mean * _SPARE
    # Both what was seen and what comes are samples.
    reach = 2 * stdev(values) * math.sqrt(1 / len(values) + 1 / max(1, left))
    return left * max(mean - reach, mean / 10, min(values)), left * min(mean + reach, max(values))


class _Played(NamedTuple):
    """An episode that the expert replied in: its turns, and for each role the tokens of its prompts and replies."""

    turns: int
    calls: dict[str, list[tuple[int, int]]]


def _rehearsed(spec: RunSpec, left: int) -> Estimate | None:
    """By some of the tasks, played by the expert through the agent, as often as left, and by as many turns as there may be."""
    tasks, prices = spec.selection.tasks, spec.setup.prices
    played = [one for task in tasks[:: max(1, len(tasks) // REHEARSED)][:REHEARSED] for one in _play(spec, task)]
    if not played:
        return None
    turns, most, named = fmean(one.turns for one in played), spec.config.max_turns, spec.setup.model or ""
    thinks = "thinking=" in named and "thinking=off" not in named
    least, full = [0.0] * 4, [0.0] * 4
    for one in played:
        # Tokens were not counted by the model, so they may be fewer or more.
        for into, factor, spare, thought in (
            (least, 1.0, 1 / _SPARE, THOUGHT[0]),
            (full, max(1.0, most / max(1, one.turns)), _SPARE, THOUGHT[1]),
        ):
            for role, calls in one.calls.items():
                # Who is called once plans ahead; all others are at every turn, or every few, with a prompt that has grown.
                often = len(calls) * (factor if len(calls) > 1 else 1.0)
                (first, _), (last, _) = calls[0], calls[-1]
                grown = (last - first) / max(1, len(calls) - 1)
                read = (often * first + grown * often * (often - 1) / 2) * spare
                written = often * (fmean(reply for _, reply in calls) * spare + thought * thinks)
                priced = prices and cost(Tokens(round(read), round(written)), prices.of(role))
                for place, amount in enumerate((often, read, written, priced or 0.0)):
                    into[place] += amount * left / len(played)
    basis = (
        f"from {turns:.0f} turns each, which the expert takes in its place, to all {most}: no episode of {spec.config.agent} "
        f"under these conditions is finished here{'' if thinks else '; a model that thinks writes more'}"
    )
    calls, read, written, paid = zip(least, full, strict=True)
    return Estimate(left, basis, calls, read, written, None if prices is None else paid)


def _play(spec: RunSpec, task: Task) -> Iterator[_Played]:
    """``task`` played by the agent with the expert in its model's place; nothing where there is no such expert."""
    setup = spec.setup
    with suppress(HousequestError):
        env = setup.open(task)
        try:
            model = None
            for name in plugins("housequest.teachers"):
                teach = load_plugin("housequest.teachers", name, "teacher")
                env, model = teach(spec.config.agent, setup.world, env) or (env, model)
            if model is None:
                return
            heard: list[Event | CallTiming] = []
            asyncio.run(run_episode(env, setup.make_agent(model), setup.episode, heard.append, world=setup.world))
        finally:
            env.close()
        events = [event for event in heard if isinstance(event, Event)]
        prompts, calls = whole_prompts(events), defaultdict[str, list[tuple[int, int]]](list)
        for event in events:
            if isinstance(event.body, ModelCall):
                prompt = sum(len(said.text) for said in prompts[event.id]) // CHARACTERS
                calls[event.body.role].append((prompt, -(-len(event.body.reply) // CHARACTERS)))
        if calls:
            yield _Played(sum(event.body.turns for event in events if isinstance(event.body, Ended)), calls)


def _folders(runs: Path) -> Iterator[Path]:
    """The folders below ``runs``, and one level deeper for the runs of sweeps."""
    if not runs.is_dir():
        return
    for folder in sorted(runs.iterdir()):
        if folder.is_dir():
            yield folder
            if (folder / "sweep.json").is_file():
                yield from sorted(below for below in folder.iterdir() if below.is_dir())
