"""OPEx by a camera in the simulator of boxes: the oracle planner with perfect and with noisy perception, and what each
heuristic is worth.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import process_time

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import PLAN, EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event, Stepped
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.analysis.failures import failure_of
from housequest.agent.evaluation.analysis.statistics import bootstrap_mean, by_chance, difference_interval, wilson
from housequest.worlds.base import Task, World
from housequest.worlds.registry import make_world

SAMPLE = 40
"""Tasks of valid_seen on which settings are compared, always the same ones."""
SWITCHES = ("votes", "traversable", "replay", "corners", "look_around", "adjust", "peek")
NOISE = (0.0, 0.1, 0.2, 0.3, 0.4)
"""Levels of noise: how often things are missed; half as often they are confused, and depth is off by a quarter of it."""
_MISSING = "annotated trajectories: not here, so not measured (set ALFWORLD_DATA)"


@dataclass(frozen=True, slots=True)
class Played:
    """One episode: whether it was won, its actions and seconds of processor, and why it was lost."""

    won: bool
    actions: int
    seconds: float
    why: str


def oracle(data: Path | None) -> Iterator[str]:
    """The annotated plan carried out with perfect perception, over valid_seen."""
    if data is None:
        yield _MISSING
        return
    world = make_world("alfred")
    played = [_played(world, task) for task in world.tasks("valid_seen")]
    yield f"truth, valid_seen: {_won(played)} (wanted: at least 80%)"
    yield f"{_actions(played):.0f} actions an episode"
    yield f"{sum(one.seconds for one in played) / len(played):.2f} s of processor an episode at 150 x 150 (wanted: at most 3)"
    yield f"{sum(one.seconds > 3 for one in played)} took more than 3 s, the longest {max(one.seconds for one in played):.1f}"
    for why, number in Counter(one.why for one in played if not one.won).most_common():
        yield f"lost: {number} {why}"


def heuristics(data: Path | None) -> Iterator[str]:
    """What each heuristic is worth, in tasks won and in low-level actions: the same tasks without it."""
    if data is None:
        yield _MISSING
        return
    world = make_world("alfred")
    tasks = sample(world)
    whole = [_played(world, task) for task in tasks]
    yield f"all heuristics: {_won(whole)}; {_actions(whole):.0f} actions an episode"
    for name in SWITCHES:
        without = [_played(world, task, {name: "off"}) for task in tasks]
        yield f"without {name}: {_won(without)}, {_difference(whole, without)}"
        yield f"without {name}: {_actions(without):.0f} actions an episode, {_costs(whole, without)}"


def noise(data: Path | None) -> Iterator[str]:
    """Success over levels of noise, with M' and without it."""
    if data is None:
        yield _MISSING
        return
    world = make_world("alfred")
    tasks = sample(world)
    for level in NOISE:
        seeing = f"noisy:miss={level:g},confuse={level / 2:g},depth={level / 4:g}"
        voted, unvoted = (
            [_played(world, task, {"seeing": seeing, "votes": votes}) for task in tasks] for votes in ("on", "off")
        )
        yield f"{seeing}: with M' {_won(voted)}, without {_won(unvoted)}, {_difference(voted, unvoted)}"
        actions = f"{_actions(voted):.0f} and {_actions(unvoted):.0f} actions an episode"
        yield f"{seeing}: {actions}, {_costs(voted, unvoted)}"


def sample(world: World) -> Sequence[Task]:
    """The tasks of valid_seen on which settings are compared."""
    tasks = world.tasks("valid_seen")
    return sorted(Random(0).sample(tasks, min(SAMPLE, len(tasks))), key=lambda task: task.number)


def _played(world: World, task: Task, settings: Mapping[str, str] | None = None) -> Played:
    began = process_time()
    agent = make_agent("opex", world=world, settings={"planner": "oracle", **(settings or {})})
    told: list[Event] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            told.append(event)

    terms = EpisodeConfig(world, frozenset({PLAN}), world.info.max_turns)
    env = terms.open(task)
    ended = asyncio.run(run_episode(env, agent, terms, listen))
    env.close()
    failure = failure_of(told)
    actions = sum(isinstance(event.body, Stepped) for event in told)
    return Played(ended.outcome == "won", actions, process_time() - began, failure.label if failure else "")


def _won(played: Sequence[Played]) -> str:
    won = sum(one.won for one in played)
    return f"{won} of {len(played)} won ({won / len(played):.1%})"


def _actions(played: Sequence[Played]) -> float:
    return sum(one.actions for one in played) / len(played)


def _costs(one: Sequence[Played], other: Sequence[Played]) -> str:
    """How many more actions the second takes for the same tasks; those that both win apart, since who gives up stops soon."""
    pairs = list(zip(one, other, strict=True))
    won = [(a, b) for a, b in pairs if a.won and b.won]
    return f"{_more(pairs)}; where both won ({len(won)}), {_more(won)}"


def _more(pairs: Sequence[tuple[Played, Played]]) -> str:
    """The mean of the paired differences, with its 95 % bootstrap interval."""
    if not pairs:
        return "none to compare"
    more = [b.actions - a.actions for a, b in pairs]
    interval = bootstrap_mean(more)
    return f"{sum(more) / len(more):+.1f} ({interval.low:+.1f} to {interval.high:+.1f})"


def _difference(one: Sequence[Played], other: Sequence[Played]) -> str:
    """How much more or less the second wins of the same tasks, with its 95 % interval and McNemar's mid-p."""
    before, after = ([float(each.won) for each in side] for side in (one, other))
    of_before, of_after = (wilson(int(sum(won)), len(won)) for won in (before, after))
    interval, changes = (
        difference_interval(before, of_before, after, of_after),
        [b - a for a, b in zip(before, after, strict=True)],
    )
    value, p = sum(changes) / max(1, len(changes)), by_chance(changes)
    points = f"{100 * value:+.1f} points ({100 * interval.low:+.1f} to {100 * interval.high:+.1f}, p = {p:.3f})"
    return f"{points}: {changes.count(-1.0)} lost, {changes.count(1.0)} won besides"
