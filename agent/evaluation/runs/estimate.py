"""Estimate what runs will use before they are played: calls, tokens and cost, as a range.

For task types with finished episodes of the same agent and model under the same conditions, these give the range. For all
others, the agent plays some tasks with its own prompts. The built-in model replies itself; in another model's place the world's
expert does, if there is one. That gives the length of prompts, and the calls of a model that makes no mistake; a model that
makes many uses all turns. Episodes of another model may widen the range, but never narrow it.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple, TypeVar

from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result, RunFolder
from housequest.agent.evaluation.runs.spec import RunConfig, RunSpec
from housequest.agent.evaluation.runs.usage import Tokens, cost, money
from housequest.agent.models.base import Model
from housequest.agent.models.registry import parse_models
from housequest.agent.models.scripted import ReplyRule, ScriptedModel
from housequest.agent.roles.base import whole_prompts
from housequest.worlds.base import Env
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.registry import DEFAULT_WORLD, load_plugin, make_world, plugins
from housequest.worlds.tasks import split_tasks
from housequest.worlds.text import many

MOST_LOOKED_AT = 1_000
"""Folders that are searched for a similar run."""
REHEARSED = 4
"""Tasks that are played to see how long prompts are."""
CHARACTERS = 4
"""Characters counted as one token: a rough estimate for English in any model's vocabulary."""
THOUGHT = (100, 1_000)
"""Tokens that a model which thinks writes for a reply beside it, about."""
WORDY = 60
"""Tokens that a model may write for a reply which the expert gives in fewer."""
GROWTH = 100
"""Tokens by which a prompt grows at each call, at most about, where nothing was seen of that."""
_SPARE = 1.5
"""The factor by which other episodes may differ from the one that was seen."""
_APART = 2
"""The factor by which tasks of unseen types may differ from what is likely."""
_ELSEWHERE = ("data",)
"""Options of worlds that change nothing that is played."""
T = TypeVar("T")
Range = tuple[float, float]
Amounts = Sequence[Range]
"""Calls, tokens read and written, and their cost."""


class Estimate(NamedTuple):
    """The estimated use of the ``left`` tasks, from least to most: calls, tokens ``read`` and ``written``, and the cost,
    None where no price is known. ``basis`` says what that was seen of.
    """

    left: int
    basis: str
    calls: Range
    read: Range
    written: Range
    cost: Range | None

    def __str__(self) -> str:
        if not self.left:
            return "Nothing is left to play, so it costs nothing more."
        counted = self.read[1] or self.written[1]
        tokens = (
            f"{_span(self.read)} tokens read and {_span(self.written)} written" if counted else "tokens that were not counted"
        )
        ends = dict.fromkeys(map(money, self.cost or ()))
        priced = f" About {' to '.join(ends)} at your prices, if no cache serves any of it." if ends else ""
        return f"About {_span(self.calls)} calls and {tokens} for {many(self.left, 'task')}, {self.basis}.{priced}"

    def with_retries(self, retries: int) -> Estimate:
        """The same where lost tasks are played up to so many times again: the least if none is lost, the most if all are."""
        calls, read, written = ((least, most * (1 + retries)) for least, most in (self.calls, self.read, self.written))
        paid = self.cost and (self.cost[0], self.cost[1] * (1 + retries))
        basis = f"from none lost to all lost in {many(retries + 1, 'attempt')}, {self.basis}"
        return Estimate(self.left, basis, calls, read, written, paid)


def _span(ends: Range) -> str:
    """A range in two digits of each end."""
    said = dict.fromkeys(f"{float(f'{end:.2g}'):,.0f}" for end in ends)
    return " to ".join(said)


class _Like(NamedTuple):
    """A run like the one that is planned: its folder, what differs, and its results that count, with the task of each."""

    run: RunFolder
    same_model: bool
    unlike: list[str]
    results: list[tuple[SelectedTask, Result]]

    @property
    def where(self) -> str:
        differs = f", which had another {'; '.join(self.unlike)}" if self.unlike else ""
        return f"{many(len(self.results), 'finished one')} of {self.run.path}{differs}"


def estimate(spec: RunSpec, *folders: Path, runs: Path = Path("runs")) -> Estimate | None:
    """Estimate the rest of ``spec``, which is played into each of ``folders``; None without a basis. For several players that
    is their own episodes, since one player's use says little about theirs. Else runs below ``runs`` also count, if they have
    the same world, agent, settings, grants and turn limit; the more alike the better. Unreadable folders are skipped.
    """
    unplayed = [task for folder in folders for task in _unplayed(spec, RunFolder(folder))]
    if not unplayed:
        return Estimate(0, "", (0, 0), (0, 0), (0, 0), None)
    places = dict.fromkeys(chain(folders, islice(_folders(runs), MOST_LOOKED_AT)))
    found = [like for place in places if (like := _like(spec.config, RunFolder(place))) is not None]

    def likeness(each: _Like) -> tuple[bool, bool, int, int]:
        itself = each.same_model and each.run.path in folders
        return each.same_model, itself, -len(each.unlike), len(each.results)

    like = max(found, key=likeness, default=None)
    own = like if like is not None and like.same_model else None
    known = {task.type for task, _ in own.results} if own is not None else set[str]()
    parts: list[tuple[str, Amounts]] = []
    if own is not None and (seen := [task for task in unplayed if task.type in known]):
        left = Counter(task.type for task in seen)
        used = {kind: [_used(spec, result) for task, result in own.results if task.type == kind] for kind in left}
        parts.append((f"as in {own.where}", _summed(used, left)))
    if new := [task for task in unplayed if task.type not in known]:
        if spec.setup.players:
            return None
        unseen = _by_pace(spec, new, own) if own is not None else None
        if (unseen := unseen or _unseen(spec, new, like)) is None:
            return None
        told = f"those of {', '.join(sorted({task.type for task in new}))} " if parts else ""
        parts.append((f"{told}{unseen[0]}", unseen[1]))
    calls, read, written, paid = (
        (sum(one[0] for one in each), sum(one[1] for one in each)) for each in zip(*(part for _, part in parts), strict=True)
    )
    basis = "; ".join(text for text, _ in parts)
    return Estimate(len(unplayed), basis, calls, read, written, None if spec.setup.prices is None else paid)


def _unplayed(spec: RunSpec, run: RunFolder) -> list[SelectedTask]:
    """The tasks of ``spec`` that are not finished in ``run``."""
    with suppress(ConfigurationError, OSError):
        if run.manifest_file.is_file():
            done = {result.task for result in run.index(run.manifest().tasks)[0].values()}
            return [task for task in spec.manifest.tasks if task.id not in done]
    return list(spec.manifest.tasks)


def _like(wanted: RunConfig, run: RunFolder) -> _Like | None:
    """``run`` where it is like the one that is ``wanted``, with finished episodes that called a model."""

    def conditions(config: RunConfig) -> tuple[object, ...]:
        options = {name: value for name, value in config.world_options.items() if name not in _ELSEWHERE}
        players = [(one.agent, one.settings) for one in config.players]
        alone = config.world, options, config.agent, config.settings, config.grants, config.max_turns
        return *alone, players, config.talk, config.order

    with suppress(ConfigurationError, OSError):
        if not run.manifest_file.is_file():
            return None
        manifest = run.manifest()
        config, tasks = manifest.configuration, {task.id: task for task in manifest.tasks}
        if conditions(config) != conditions(wanted):
            return None
        results = [
            (tasks[result.task], result)
            for result in run.index(manifest.tasks)[0].values()
            if result.calls and result.outcome != "error" and not result.assisted
        ]
        unlike = [
            f"{name} {was or 'none'}, here {now or 'none'}"
            for name, was, now in (
                ("model", config.with_what, wanted.with_what),
                ("split", config.split, wanted.split),
                ("goals", config.goals, wanted.goals),
                ("rules", config.rules and config.rules.label, wanted.rules and wanted.rules.label),
            )
            if was != now
        ]
        return _Like(run, config.with_what == wanted.with_what, unlike, results) if results else None
    return None


def _used(spec: RunSpec, result: Result) -> tuple[float, ...]:
    """The use of a finished episode."""
    prices = spec.setup.prices
    paid = 0.0 if prices is None else cost(Tokens.of(result), prices, result.roles) or 0.0
    return result.calls, result.prompt_tokens or 0, result.completion_tokens or 0, paid


def _summed(values: Mapping[str, Sequence[tuple[float, ...]]], left: Mapping[str, int]) -> Amounts:
    """`of_all` of each amount."""
    return [of_all({kind: [each[place] for each in those] for kind, those in values.items()}, left) for place in range(4)]


def of_all(values: Mapping[str, Sequence[float]], left: Mapping[str, int]) -> Range:
    """The range in which the sum over so many episodes of each type probably lies, from the values of others."""
    number, means = sum(left.values()), {kind: fmean(those) for kind, those in values.items()}
    total, every = sum(left[kind] * means[kind] for kind in left), [each for those in values.values() for each in those]
    if len(every) < 2:
        return total / _SPARE, total * _SPARE
    free = len(every) - len(values)
    within = math.sqrt(sum((each - means[kind]) ** 2 for kind, those in values.items() for each in those) / max(1, free))
    # Both what was seen and what comes are samples; of few of each type, types tell how far they may be apart.
    apart = within if free > len(values) else stdev(every)
    reach = 2 * apart * math.sqrt(number + sum(left[kind] ** 2 / len(values[kind]) for kind in left))
    return max(total - reach, total / 10, number * min(every)), min(total + reach, number * max(every))


class _Played(NamedTuple):
    """An episode: its turns, and for each role the tokens of its prompts and replies."""

    turns: int
    calls: Mapping[str, Sequence[tuple[int, int]]]

    @property
    def used(self) -> tuple[int, int, int]:
        """The number of calls, and of tokens read and written."""
        every = list(chain.from_iterable(self.calls.values()))
        return len(every), sum(read for read, _ in every), sum(written for _, written in every)

    @property
    def begun(self) -> _Played:
        """No more than the first call of it."""
        role, calls = next(iter(self.calls.items()))
        return _Played(1, {role: calls[:1]})


def _by_pace(spec: RunSpec, left: Sequence[SelectedTask], own: _Like) -> tuple[str, Amounts] | None:
    """Estimate tasks of other types than the model played, if it takes as many times more as it did there than the expert;
    None where the expert cannot tell.
    """

    def by_expert(tasks: Sequence[SelectedTask]) -> list[float]:
        return [fmean(amounts) for amounts in zip(*(one.used for one in _plays(spec, _some(tasks), _expert)), strict=True)]

    here, there = by_expert(left), by_expert([task for task, _ in own.results])
    if not here or not there or not all(there):
        return None
    means = [fmean(amounts) for amounts in zip(*(_used(spec, result) for _, result in own.results), strict=True)]
    more = [one / other for one, other in zip(here, there, strict=True)]
    # What is read is most of what is paid.
    likely = [len(left) * mean * ratio for mean, ratio in zip(means, (*more, more[1]), strict=True)]
    amounts = [(amount / _APART, amount * _APART) for amount in likely]
    return f"at the pace of {own.where}, by what the expert takes for these and for those", amounts


def _unseen(spec: RunSpec, left: Sequence[SelectedTask], like: _Like | None) -> tuple[str, Amounts] | None:
    """Estimate tasks unlike any that this model played, and say from what; None without a basis."""
    wanted, agent, most = set(left), spec.config.agent, spec.config.max_turns
    some = _some([task for task in spec.manifest.tasks if task in wanted])
    shipped = spec.setup.model is not None and all(one.provider.brief for one in parse_models(spec.setup.model).values())
    if shipped and (own := _plays(spec, some, lambda spec, env: (env, spec.setup.make_model()))):
        return f"as in {many(len(own), 'task')} that the model played for this estimate", _as_played(spec, own, len(left))
    expert, nobody = _plays(spec, some, _expert), _plays(spec, some[:1], _nobody)
    recorded, elsewhere = [] if like is None else list(_recorded(like)), _elsewhere(spec)
    replied = expert or _plays(elsewhere, elsewhere.manifest.tasks, _expert)
    if not (replied or recorded or nobody):
        return None
    # Who makes no mistake takes the fewest turns, and who replies nothing that can be read as many as the agent lets it.
    all_turns = most if expert else elsewhere.setup.max_turns
    seen = [
        (replied, all_turns),
        (recorded, most),
        (nobody, 0),
        ([] if expert else [one.begun for one in nobody or replied], 0),
    ]
    whole = zip(*(_between(spec, each, len(left), turns) for each, turns in seen if each), strict=True)
    amounts = [(min(low for low, _ in each), max(high for _, high in each)) for each in whole]
    mean = fmean(one.turns for one in expert) if expert else 0
    few = f"{mean:.0f} turns each, which the expert takes in its place, to all {most}" if expert else "one call each"
    few += f" to {all_turns} turns, as in houses where the expert can reply" if replied and not expert else ""
    basis = f"from {few}: no episode of {agent} with this model under these conditions is finished here"
    if like is not None and recorded:
        basis += f"; seen was {like.where}"
    return f"{basis}{'' if _thinks(spec) else '; a model that thinks writes more'}", amounts


def _elsewhere(spec: RunSpec) -> RunSpec:
    """The same agent in made-up houses of the default world, where the expert can reply for most."""
    world = make_world(DEFAULT_WORLD)
    setup = replace(spec.setup, world=world, max_turns=world.info.max_turns, grants=frozenset())
    tasks = tuple(map(SelectedTask.of, split_tasks(world, world.info.endless_splits[0])[:REHEARSED]))
    return replace(spec, setup=setup, manifest=spec.manifest.model_copy(update={"tasks": tasks}))


def _some(every: Sequence[T]) -> Sequence[T]:
    """A few of these, from all over."""
    return every[:: max(1, len(every) // REHEARSED)][:REHEARSED]


def _thinks(spec: RunSpec) -> bool:
    named = spec.setup.model or ""
    return "thinking=" in named and "thinking=off" not in named


def _between(spec: RunSpec, played: Sequence[_Played], left: int, most: int) -> Amounts:
    """Estimate so many tasks, from as many turns as in ``played`` to ``most``, with prompts that grow as they grew."""
    prices, ends = spec.setup.prices, list[list[float]]()
    every = [(one.turns, role, calls) for one in played for role, calls in one.calls.items()]
    # Tokens were not counted by the model, so they may be fewer or more.
    for turns, spare, thought, wordy, pick in ((0, 1 / _SPARE, THOUGHT[0], 0, min), (most, _SPARE, THOUGHT[1], WORDY, max)):
        amounts = [0.0] * 4
        for took, role, calls in every:
            (first, _), (last, _) = calls[0], calls[-1]
            often = len(calls) * max(1.0, turns / max(1, took))
            grown = (last - first) / (len(calls) - 1) if len(calls) > 1 else GROWTH
            read = pick(often * first + grown * often * (often - 1) / 2, sum(prompt for prompt, _ in calls)) * spare
            reply = max(fmean(reply for _, reply in calls) * spare, wordy)
            written = often * (reply + thought * _thinks(spec))
            priced = prices and cost(Tokens(round(read), round(written)), prices.of(role))
            for place, amount in enumerate((often, read, written, priced or 0.0)):
                amounts[place] += amount * left / len(played)
        ends.append(amounts)
    return list(zip(*ends, strict=True))


def _as_played(spec: RunSpec, played: Sequence[_Played], left: int) -> Amounts:
    """Estimate so many tasks, each about as large as those that the model played itself."""
    prices = spec.setup.prices

    def paid(one: _Played) -> float:
        calls = ((role, Tokens(*call)) for role, calls in one.calls.items() for call in calls)
        return sum((prices and cost(tokens, prices.of(role))) or 0.0 for role, tokens in calls)

    return _summed({"": [(*one.used, paid(one)) for one in played]}, {"": left})


Player = Callable[[RunSpec, Env], tuple[Env, Model | None]]


def _expert(spec: RunSpec, env: Env) -> tuple[Env, Model | None]:
    model = None
    for name in plugins("housequest.teachers"):
        teach = load_plugin("housequest.teachers", name, "teacher")
        env, model = teach(spec.config.agent, spec.setup.world, env) or (env, model)
    return env, model


def _nobody(_: RunSpec, env: Env) -> tuple[Env, Model | None]:
    return env, ScriptedModel([ReplyRule(reply="I cannot help with that.")], name="nobody", images=True)


def _plays(spec: RunSpec, tasks: Sequence[SelectedTask], who: Player) -> list[_Played]:
    """``tasks`` played by the agent with ``who`` as its model, as far as that is possible."""
    found: list[_Played | None] = []
    for task in tasks:
        with suppress(HousequestError):
            heard: list[Event | CallTiming] = []
            env = spec.setup.open(spec.setup.world.task(task.id))
            try:
                env, model = who(spec, env)
                if model is not None:
                    asyncio.run(_episode(spec, env, model, heard.append))
            finally:
                env.close()
            found.append(_played([event for event in heard if isinstance(event, Event)]))
    return list(filter(None, found))


async def _episode(spec: RunSpec, env: Env, model: Model, listen: Callable[[Event | CallTiming], None]) -> None:
    try:
        await run_episode(env, spec.setup.make_agent(model), spec.setup, listen)
    finally:
        await model.aclose()


def _played(events: Sequence[Event]) -> _Played | None:
    """The turns and calls of an episode; None where it called no model. Tokens that were not counted are estimated."""
    prompts, calls = whole_prompts(events), defaultdict[str, list[tuple[int, int]]](list)
    for event in events:
        if isinstance(event.body, ModelCall):
            read, written = event.body.prompt_tokens, event.body.completion_tokens
            read = read or sum(len(said.text) for said in prompts[event.id]) // CHARACTERS
            calls[event.body.role].append((read, written or -(-len(event.body.reply) // CHARACTERS)))
    return _Played(sum(event.body.turns for event in events if isinstance(event.body, Ended)), calls) if calls else None


def _recorded(like: _Like) -> Iterator[_Played]:
    """Some episodes of a run."""
    for task, _ in _some(like.results):
        with suppress(ConfigurationError, OSError):
            if (one := _played(list(read_episode(like.run.episode(task))))) is not None:
                yield one


def _folders(runs: Path) -> Iterator[Path]:
    """The folders below ``runs``, and one level deeper for the runs of sweeps."""
    if not runs.is_dir():
        return
    for folder in sorted(runs.iterdir()):
        if folder.is_dir():
            yield folder
            if (folder / "sweep.json").is_file():
                yield from sorted(below for below in folder.iterdir() if below.is_dir())
