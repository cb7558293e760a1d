"""The specification of a run: its fully resolved configuration, its tasks, and the data it uses. Frozen once the run begins.

It leaves out when, where and how fast a run is played: two runs of the same spec must be equal byte for byte.
"""

from __future__ import annotations

import operator
import platform
import random
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from housequest.agent.base import Attempt
from housequest.agent.config import Grant, Settings, check_habits
from housequest.agent.episodes.config import VIEW
from housequest.agent.episodes.events import Curiosity, Deciding, Manner, Obeying, Talking
from housequest.agent.evaluation.runs.files import Frozen, SelectedTask, differences
from housequest.agent.models.registry import file_digest
from housequest.agent.protocols import PROTOCOLS
from housequest.agent.setup import HUMAN, Setup, set_up, taken
from housequest.knowledge.choosing import RuleBudget
from housequest.worlds.base import Task, World
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.options import Scalar
from housequest.worlds.paths import FORMAT, Format, given_path
from housequest.worlds.registry import DEFAULT_WORLD
from housequest.worlds.tasks import HELD_OUT, MadeUpTasks, covers, read_split, split_tasks

MANY = 1_000_000
"""A split with more tasks than this counts as endless and is never enumerated."""
_MOST = 10_000
"""The most tasks of an endless split in one run: all are generated and checked before the first is played."""
_DRAWS = 10_000
"""Tasks of an endless split that are tried for each wanted one, to find its type."""
_POOL, _LEAST_POOL = 4, 100
"""A sample of made-up tasks is drawn by its shares of types from so many for each wanted one, and from at least so many."""
SEARCHED = 1_000
"""A range of more made-up tasks than this is never gone through, and taken to have all types."""


class PlayerConfig(Frozen):
    """One of several players of a run; ``sha256`` identifies the file of its model."""

    name: str
    agent: str
    settings: dict[str, Scalar]
    model: str | None
    sha256: str | None
    manner: Manner | None = Field(default=None, exclude_if=operator.not_)

    @classmethod
    def of(cls, name: str, setup: Setup) -> PlayerConfig:
        digest = file_digest(setup.model) if setup.model else None
        return cls(
            name=name,
            agent=setup.agent,
            settings=dict(setup.settings),
            model=setup.recorded_model,
            sha256=digest,
            manner=setup.manner,
        )

    @property
    def played_by(self) -> str:
        """The agent, with its manner."""
        return f"{self.agent}/{self.manner}" if self.manner else self.agent

    @property
    def words(self) -> str:
        """The player in a few words."""
        return f"{self.name}: {self.played_by}{f' with {self.model}' if self.model else ''}"


class RunConfig(Frozen):
    """The resolved configuration of a run.

    ``houses`` are the first and the last seed that tasks of a split without end are of. ``model`` has no host or folder, which
    belong to the machine; ``script_sha256`` identifies the file of a scripted, llama or built-in model. ``habits`` is the name
    of their file, whose content is part of the manifest's ``data``. ``curiosity`` is the share of random turns in an
    exploration. ``repeat`` and ``attempt`` count from 1, which is not kept, so that the first run of a series is the run that
    it would be by itself; ``earlier`` is a digest of the episodes of the attempts before. In company there are ``players``;
    ``agent`` and ``settings`` are those of the first, and ``model`` is named if all have the same.
    """

    world: str
    engine: str
    split: str
    houses: tuple[int, int] | None = Field(default=None, exclude_if=operator.not_)
    types: tuple[str, ...]
    limit: int | None
    sample: int | None
    sample_seed: int | None = Field(default=None, exclude_if=operator.not_)
    goals: str
    habits: str | None = None
    world_options: dict[str, Scalar] = Field(default_factory=dict[str, Scalar], exclude_if=operator.not_)
    seed: int
    agent: str
    settings: dict[str, Scalar]
    model: str | None
    script_sha256: str | None
    rules: RuleBudget | None
    grants: tuple[Grant, ...]
    max_turns: int
    curiosity: Curiosity | None = None
    protocol: str | None = Field(default=None, exclude_if=operator.not_)
    repeat: int | None = Field(default=None, exclude_if=operator.not_)
    attempt: int | None = Field(default=None, exclude_if=operator.not_)
    earlier: str | None = Field(default=None, exclude_if=operator.not_)
    players: tuple[PlayerConfig, ...] = Field(default=(), exclude_if=operator.not_)
    talk: Talking | None = Field(default=None, exclude_if=operator.not_)
    order: Deciding | None = Field(default=None, exclude_if=operator.not_)
    obey: Obeying | None = Field(default=None, exclude_if=operator.not_)

    @property
    def who(self) -> str:
        """The agent, or those of several players."""
        return "+".join(player.played_by for player in self.players) or self.agent

    @property
    def with_what(self) -> str:
        """The model, or those of several players; "" for none."""
        return self.model or "+".join(dict.fromkeys(player.model for player in self.players if player.model))

    @property
    def ranged(self) -> bool:
        """True if the made-up tasks to select from are those of a range, which ends."""
        return self.houses is not None and self.houses[1] < HELD_OUT.stop - 1


class Manifest(Frozen):
    """A run's own record of itself (``run.json``). ``prompts`` are digests of all prompt templates, of examples, and of an
    agent's own network. ``of`` is how many there were to select ``tasks`` from, and ``missing`` are the types of which none
    is among them. ``learned_from`` are the splits that its model, network or rules were learned from. ``versions`` should not
    affect a run; a difference in them is not refused.
    """

    format: Format = FORMAT
    housequest: str
    configuration: RunConfig
    engine: str
    data: str
    prompts: dict[str, str]
    of: int
    missing: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    learned_from: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]], exclude_if=operator.not_)
    tasks: tuple[SelectedTask, ...]
    versions: dict[str, str | None]

    @property
    def learned(self) -> dict[str, int]:
        """The number of tasks that a model or network has learned from, by its name; without those that learned from none."""
        counted = {
            name: sum(covers(parts, task.id.partition("/")[0], task.number) for task in self.tasks)
            for name, parts in self.learned_from.items()
        }
        return {name: tasks for name, tasks in counted.items() if tasks}

    @property
    def unused_templates(self) -> frozenset[str]:
        """The prompt templates that cannot reach the model of this run: those of other agents."""
        from housequest.agent.agents.spec import agent_names, prompt_hashes, used_prompts
        from housequest.agent.models.registry import reads_brief_prompts

        agent, model = self.configuration.agent, self.configuration.model
        if agent not in agent_names():  # The package it came from is no longer installed.
            return frozenset()
        used = frozenset[str]() if model is None or reads_brief_prompts(model) else used_prompts(agent)
        return frozenset(prompt_hashes(agent)) - used

    def without_prompts(self, names: frozenset[str]) -> Manifest:
        """The same without the digests of these templates."""
        return self.model_copy(update={"prompts": {name: each for name, each in self.prompts.items() if name not in names}})


def setup_of(manifest: Manifest, settings: Settings, attempts: Mapping[str, tuple[Attempt, ...]]) -> Setup:
    """The setup of a run on this machine, of its resolved ``settings`` and the ``attempts`` before, in a series. Raises
    ``ConfigurationError`` where it would be another run.
    """
    config = manifest.configuration
    setup = set_up(settings, rules=config.rules, curiosity=config.curiosity)
    digest = file_digest(setup.model) if setup.model else None
    config = config.model_copy(update={"script_sha256": digest, "settings": dict(setup.settings)})
    now = _manifest(config, setup, manifest.of, manifest.tasks, manifest.missing)
    if changes := differences(manifest, now):
        raise ConfigurationError(f"it would play another run; give it the same version, data and files:{changes}")
    return replace(setup, attempts=attempts)


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A run that can begin: its manifest, its tasks, and how they are played."""

    manifest: Manifest
    setup: Setup
    selection: Selection

    @property
    def config(self) -> RunConfig:
        """The resolved configuration."""
        return self.manifest.configuration

    @property
    def default_folder(self) -> Path:
        """The default folder; the same spec always gets the same name."""
        config = self.config
        model = config.model and (config.model.partition(":")[2] or config.model)
        return default_folder(self.manifest, config.split, config.who, model)

    def over(self, tasks: Sequence[Task], rules: RuleBudget | None) -> RunSpec:
        """The run of these ``tasks`` of its split, with the ``rules`` among these that its agent takes; this one has none."""
        rules = taken(rules, self.config.agent, self.setup.world)
        types = tuple(sorted({task.type for task in tasks})) if self.config.types else ()
        config = self.config.model_copy(update={"types": types, "limit": None, "sample": None, "rules": rules})
        manifest = self.manifest.model_copy(
            update={
                "configuration": config,
                "missing": (),
                "learned_from": self.manifest.learned_from | _learned_by(rules),
                "tasks": tuple(map(SelectedTask.of, tasks)),
            }
        )
        selection = self.selection._replace(tasks=tuple(tasks), missing=(), first=False)
        return RunSpec(manifest, replace(self.setup, rules=rules), selection)


class SeriesPosition(NamedTuple):
    """The place of a run in a series: which ``repeat`` and which ``attempt`` it is, from 1. An attempt after the first plays
    those ``tasks`` (ids) that were not won before; ``attempts`` are what was played of each, and ``earlier`` is their digest.
    """

    repeat: int = 1
    attempt: int = 1
    tasks: frozenset[str] = frozenset()
    attempts: Mapping[str, tuple[Attempt, ...]] = {}
    earlier: str | None = None


FIRST = SeriesPosition()
"""A run by itself."""
COMPANY = ("talk", "order", "obey")
"""The settings of several players, beside who they are."""


def make_run_spec(
    settings: Settings,
    *,
    curiosity: Curiosity | None = None,
    rules: RuleBudget | None = None,
    place: SeriesPosition = FIRST,
    usual: range = HELD_OUT,
) -> RunSpec:
    """Resolve every choice that ``settings`` leave open; ``curiosity`` and ``rules`` are those of
    `housequest.agent.setup.set_up`, and ``usual`` is that of `select`.

    A ``place`` in a series changes the seed of models and agents, and not that of draws of tasks. Raises ``ConfigurationError``
    and ``KnowledgeError``.
    """
    if settings.agent == HUMAN:
        raise ConfigurationError("The agent 'human' needs a terminal; use `housequest play --agent human`.")
    # Each run of a series has a seed of its own, and the tasks of the first.
    settings = settings.model_copy(update={"seed": (settings.seed or 0) + place.repeat + place.attempt - 2})
    setup = set_up(settings, rules=rules, curiosity=curiosity)
    setup = replace(setup, attempts=place.attempts)
    world = setup.world
    vain = next((name for name in COMPANY if not setup.players and name in settings.origins), None)
    if vain is not None:
        raise ConfigurationError(
            f"{vain} is set by {settings.origin(vain)}, and {setup.agent} plays alone; name several by --players, or leave it "
            "out."
        )
    split, seeds = read_split(settings.split or world.split_for("evaluate"), world.info.endless_splits, usual)
    check_habits(settings.habits, split, world)
    protocol = PROTOCOLS.get(settings.protocol or "")
    only = protocol.tasks(split) if protocol else None
    size = (settings.limit, settings.sample, settings.sample_seed)
    if settings.sample is None and settings.origin("sample_seed").startswith(("--", "the arm")):
        raise ConfigurationError(
            f"sample_seed is set by {settings.origin('sample_seed')}, and no sample is drawn; give --sample N, or leave it out."
        )
    selection = select(world, settings.split or split, settings.type, *size, only, usual)
    if place.attempt > 1:
        selection = selection._replace(tasks=tuple(task for task in selection.tasks if task.id in place.tasks))
    setup.check_grants(selection.tasks)
    config = RunConfig(
        world=settings.world,
        engine=settings.common_option("engine", world.Options),
        split=split,
        houses=None if seeds is None else (seeds.start, seeds.stop - 1),
        types=tuple(sorted({task.type for task in selection.tasks})) if settings.type else (),
        limit=settings.limit,
        sample=settings.sample,
        sample_seed=None if settings.sample is None else settings.sample_seed,
        goals=settings.common_option("goals", world.Options),
        habits=given_path(settings.habits).name if settings.habits else None,
        world_options={**settings.worlds.get(settings.world, {}), **settings.world_option},
        seed=setup.seed,
        agent=setup.agent,
        settings=dict(setup.settings),
        model=setup.recorded_model,
        script_sha256=file_digest(setup.model) if setup.model else None,
        rules=setup.rules,
        grants=tuple(sorted(set(settings.grant))),
        max_turns=setup.max_turns,
        curiosity=curiosity,
        protocol=settings.protocol,
        repeat=place.repeat if place.repeat > 1 else None,
        attempt=place.attempt if place.attempt > 1 else None,
        earlier=place.earlier,
        players=tuple(PlayerConfig.of(*player) for player in setup.players),
        talk=settings.talk if setup.players else None,
        order=settings.order if setup.players else None,
        obey=settings.obey if setup.players else None,
    )
    manifest = _manifest(config, setup, selection.of, tuple(map(SelectedTask.of, selection.tasks)), selection.missing)
    if protocol is not None and (learned := manifest.learned):
        who, tasks = next(iter(learned.items()))
        raise ConfigurationError(
            f"--protocol: {who} has learned from {tasks} of these {len(manifest.tasks)} tasks, so this would be no measurement "
            f"by the protocol {protocol.name}; name other tasks."
        )
    return RunSpec(manifest, setup, selection)


def _manifest(config: RunConfig, setup: Setup, of: int, tasks: tuple[SelectedTask, ...], missing: tuple[str, ...]) -> Manifest:
    """The manifest of a run of ``tasks`` on this machine."""
    from housequest.agent.agents.spec import data_digests, learned_from, prompt_hashes
    from housequest.agent.roles.base import template_hashes
    from housequest.agent.roles.own import using

    world = setup.world
    # Runs that see nothing are as they were before something could be seen.
    about = {"camera" if world.info.pictured else "eyes"} if VIEW in config.grants else frozenset[str]()
    seen = {name: digest for name, digest in template_hashes("housequest.agent.episodes").items() if name in about}
    prompts, learned = seen, dict[str, tuple[str, ...]]()
    for player in config.players or (config,):
        learned |= learned_from(player.agent, player.settings, setup.model if player is config else player.model)
        with using(str(player.settings.get("prompts", ""))):
            prompts = prompt_hashes(player.agent) | prompts | data_digests(player.agent, player.settings, world)
    return Manifest(
        housequest=installed_version("housequest") or "0",
        configuration=config,
        engine=world.engine,
        data=world.fingerprint(config.split),
        prompts=prompts,
        of=of,
        missing=missing,
        learned_from=(learned if config.world == DEFAULT_WORLD else {}) | _learned_by(config.rules),
        tasks=tasks,
        versions={"python": platform.python_version(), "openai": installed_version("openai")},
    )


def _learned_by(rules: RuleBudget | None) -> dict[str, tuple[str, ...]]:
    return {rules.file: rules.learned_from} if rules and rules.learned_from else {}


class Selection(NamedTuple):
    """The selected tasks in the split's order. ``of`` is how many there are to select from, ``here`` how many of them are
    installed; ``missing`` are the types of which none is selected, though there are some. The tasks are the ``first`` ones
    where there was a limit, and ``ranged`` where the seeds of made-up ones were named.
    """

    split: str
    tasks: tuple[Task, ...]
    here: int
    of: int
    missing: tuple[str, ...] = ()
    first: bool = False
    ranged: bool = False

    def __str__(self) -> str:
        return selection_text(len(self.tasks), self.of, ranged=self.ranged)

    @property
    def warnings(self) -> Iterator[str]:
        """Warnings for a reader of its figures: a published split that is incomplete here, and missing types."""
        if self.here != self.of:
            yield f"{self.split} has {self.here} games here and {self.of} where it is published: these are not its figures."
        if self.missing:
            advice = "--sample N draws from all types" if self.first else "more tasks would have them"
            yield f"These {len(self.tasks)} tasks have none of {', '.join(self.missing)}; {advice}."


def selection_text(selected: int, of: int, *, ranged: bool = False) -> str:
    """The number of tasks that were selected of a split of size ``of``, or of a range of made-up ones, in words."""
    return f"{selected} of a split without end" if of > MANY else f"{selected} of the {'range' if ranged else 'split'}'s {of:,}"


def find_types(wanted: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The task types meant by ``wanted``: full names, or words (``heat``) of exactly one. Raises ``ConfigurationError``."""
    found: list[str] = []
    for word in wanted:
        having = [word] if word in known else [kind for kind in known if word.lower() in kind.lower().split("_")]
        if len(having) != 1:
            told = "is not a task type" if not having else f"could be {' or '.join(having)}"
            raise ConfigurationError(f"--type: {shown(word)} {told}; known: {', '.join(known)}.{nearest(word, list(known))}")
        found += having
    return tuple(sorted(set(found)))


def check_one_limit(limit: int | None, sample: int | None) -> None:
    """Raise ``ConfigurationError`` where both are given."""
    if limit is not None and sample is not None:
        raise ConfigurationError("--limit and --sample cannot be given together: take the first ones or drawn ones.")


def select(
    world: World,
    split: str,
    types: Sequence[str] = (),
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    only: Collection[str] | None = None,
    usual: range = HELD_OUT,
) -> Selection:
    """Select tasks of ``split``: those of ``types``, then the first ``limit``, or ``sample`` drawn with ``seed``, of each type
    as large a share as it has. ``only`` are the ids of those to choose from, where that is not the whole split: all of them
    must be here. ``usual`` are the seeds of a split without end that names none (`read_split`). Raises ``ConfigurationError``
    where one is not here, where no task is left, where both limit and sample are given, and where neither is given for tasks
    without end.
    """
    check_one_limit(limit, sample)
    every, number = split_tasks(world, split, usual), limit if limit is not None else sample
    made_up = isinstance(every, MadeUpTasks)
    name = every.split if made_up else split
    if made_up:
        _check_number(every, split, number)
    known = world.info.types_in(name) if made_up else sorted({task.type for task in every})
    wanted = find_types(types, known) if types else ()
    looked: Iterable[Task] = every
    if made_up and number is not None:
        looked = islice(every if sample is None else _shuffled(every, seed), number * _DRAWS)
    suitable = (task for task in looked if (not wanted or task.type in wanted) and (only is None or task.id in only))
    if only is not None and (missing := sorted(set(only) - {task.id for task in every})):
        raise ConfigurationError(f"{len(missing)} of these {len(only)} games are not here, such as {shown(missing[0])}.")
    if made_up and number is not None:
        # One has no share of a type, and many are drawn from more, as far as there are more.
        enough = max(_POOL * number, _LEAST_POOL) if sample is not None and number > 1 else number
        suitable = islice(suitable, enough)
    tasks = tuple(suitable)
    if not tasks:
        of_types = f" of the type {' or '.join(wanted)}" if wanted else ""
        raise ConfigurationError(f"The split {shown(split)} has no tasks{of_types} to play.")
    kinds = {task.type for task in tasks}
    if limit is not None:
        tasks = tasks[:limit]
        kinds |= _types_of(every, wanted or known) if made_up and limit > 1 else set()
    elif sample is not None and sample < len(tasks):
        tasks = tuple(drawn(tasks, sample, seed))
    if made_up:
        tasks = tuple(sorted(tasks, key=lambda task: task.number))
    elif not tasks:
        raise ConfigurationError(f"The split {shown(split)} has no tasks to play.")
    missing = tuple(sorted(kinds - {task.type for task in tasks})) if len(tasks) > 1 else ()
    of, ranged = max(len(every), world.info.published_splits.get(name, 0)), made_up and not every.endless
    return Selection(name, tasks, len(every), of, missing, first=limit is not None, ranged=ranged)


def _check_number(every: MadeUpTasks, split: str, number: int | None) -> None:
    """Raise ``ConfigurationError`` where a run would play more of ``split`` than are made for it."""
    if number is None and len(every) > _MOST:
        first = every.seeds.start
        told = f"has {len(every):,} tasks, too many for one run" if len(every) <= MANY else "is endless"
        raise ConfigurationError(
            f"The split {shown(split)} {told}; say how many tasks to play with --limit N or --sample N, or which, as "
            f"{every.split}:{first}..{first + 99}."
        )
    number = len(every) if number is None else min(number, len(every))
    if not 0 < number <= _MOST:
        raise ConfigurationError(
            f"{number:,} tasks of the split {shown(split)} are too many for one run; "
            f"give 1 to {_MOST:,}, and draw others with --sample N --sample-seed S."
        )


def _types_of(every: Sequence[Task], types: Collection[str]) -> set[str]:
    """Those of ``types`` of which there are tasks; where there are many tasks, all."""
    found = set(types) if len(every) > SEARCHED else set[str]()
    for task in every:
        if found.issuperset(types):
            break
        found.add(task.type)
    return found.intersection(types)


def drawn(tasks: Sequence[Task], number: int, seed: int) -> Iterator[Task]:
    """So many of ``tasks`` in their order, of each type its share of the whole. Where shares are no whole numbers, chance
    rounds them up or down, so that each task is drawn as likely as any other (systematic sampling).
    """
    by_type: dict[str, list[str]] = {}
    for task in tasks:
        by_type.setdefault(task.type, []).append(task.id)
    chance, whole = random.Random(seed), len(tasks)
    passed = chance.randrange(whole)
    chosen = set[str]()
    for kind in chance.sample(sorted(by_type), len(by_type)):
        # Drawn from the sorted ids, so that the world's order does not matter.
        before, passed = passed, passed + number * len(by_type[kind])
        chosen.update(chance.sample(sorted(by_type[kind]), passed // whole - before // whole))
    return (task for task in tasks if task.id in chosen)


def _shuffled(tasks: Sequence[Task], seed: int) -> Iterator[Task]:
    """``tasks`` in an order drawn with ``seed``, each once."""
    chance, drawn = random.Random(seed), set[int]()
    while len(drawn) < len(tasks):
        if (place := chance.randrange(len(tasks))) not in drawn:
            drawn.add(place)
            yield tasks[place]


def default_folder(manifest: Frozen, *parts: str | None) -> Path:
    """The folder of a run, called after some parts of what it is and a digest of all of it but its versions."""
    digest = sha256(manifest.model_dump_json(exclude={"versions"}).encode()).hexdigest()[:8]
    return Path("runs") / "-".join(slug(part, 40) for part in (*parts, digest) if part)


def slug(text: str, longest: int = 120) -> str:
    """``text`` as part of a file name on any system: letters, digits, ``_``, ``-`` and ``.``, the last two not at the ends."""
    kept = re.sub(r"[^A-Za-z0-9_.-]+", "-", text)
    return kept.strip("-.")[:longest].rstrip("-.") or "x"


def installed_version(distribution: str) -> str | None:
    """The version of an installed distribution; None where it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
