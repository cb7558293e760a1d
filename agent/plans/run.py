"""The specification of a run over ALFRED's instructions: its fully resolved configuration, frozen once the run begins."""

from __future__ import annotations

import platform
import random
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from agent.config import Prices, Settings
from agent.evaluation.runs.result import Frozen
from agent.evaluation.runs.selection import check_one_limit, find_types
from agent.evaluation.runs.spec import installed_version, slug
from agent.models.registry import file_digest, portable_name
from agent.plans.planners import PlannerSettings, Pool, drawn, worked
from agent.roles.base import template_hashes
from worlds.alfred import PLANS
from worlds.alfred.scoring import TASK_TYPES
from worlds.alfred.tasks import Demonstration, Instruction, read_split
from worlds.errors import ConfigurationError, nearest, shown
from worlds.options import read_options

AGENTS = ("nearest", "in-context")
TRAIN = "train"
SCHEMA = 1


class PlanConfig(Frozen):
    """The resolved configuration of a run. ``model`` has no host or folder."""

    world: Literal["alfred-plans"] = "alfred-plans"
    split: str
    types: tuple[str, ...]
    limit: int | None
    sample: int | None
    seed: int
    agent: str
    settings: PlannerSettings
    model: str | None
    script_sha256: str | None


class PlanManifest(Frozen):
    """A run's own record of itself. ``of`` is the size of the split; ``tasks`` are ids, ``.../trial#annotator``."""

    schema_version: int = SCHEMA
    family: Literal["alfred-plans"] = "alfred-plans"
    housequest: str
    configuration: PlanConfig
    data: str
    prompts: dict[str, str]
    of: int
    tasks: tuple[str, ...]
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class PlanTask:
    """One instruction of a demonstration."""

    demonstration: Demonstration
    instruction: Instruction

    @property
    def id(self) -> str:
        """The demonstration's id and the annotator."""
        return f"{self.demonstration.id}#{self.instruction.annotator}"


@dataclass(frozen=True, slots=True)
class PlanRun:
    """A run that can begin. ``timeout`` limits one attempt at a model call, in seconds; ``prices`` are the model's."""

    manifest: PlanManifest
    tasks: tuple[PlanTask, ...]
    pool: Pool
    model: str | None
    timeout: float = 60.0
    prices: Prices | None = None

    @property
    def config(self) -> PlanConfig:
        """The resolved configuration."""
        return self.manifest.configuration

    @property
    def default_folder(self) -> Path:
        """The default folder; the same run always gets the same name."""
        config = self.config
        digest = sha256(self.manifest.model_dump_json(exclude={"versions"}).encode()).hexdigest()[:8]
        parts = [PLANS, config.split, config.agent, config.model.partition(":")[2] if config.model else "", digest]
        return Path("runs") / "-".join(slug(part, 40) for part in parts if part)


def make_run(settings: Settings, data: Path | None = None) -> PlanRun:
    """Resolve every choice that ``settings`` leave open. Raises ``ConfigurationError`` and ``GameError``."""
    agent = settings.agent or "nearest"
    if agent not in AGENTS:
        known = ", ".join(AGENTS)
        raise ConfigurationError(f"No planner of {PLANS} is named {shown(agent)}; known: {known}.{nearest(agent, AGENTS)}")
    model = settings.model if agent == "in-context" else None
    if agent == "in-context" and model is None:
        raise ConfigurationError("The planner 'in-context' needs a language model; name one with --model.")
    given = {key: None if (key, value) == ("pool", "all") else value for key, value in settings.set.items()}
    own = read_options(PlannerSettings, given, owner=f"The planner {agent!r}", word="setting")
    split, seed = settings.split or "valid_seen", settings.seed or 0
    every = read_split(split, data)
    source = every if split == TRAIN else read_split(TRAIN, data)
    tasks = [PlanTask(one, instruction) for one in every for instruction in one.instructions]
    check_one_limit(settings.limit, settings.sample)
    types = find_types(settings.type, sorted(TASK_TYPES))
    chosen = [task for task in tasks if not types or task.demonstration.type in types][: settings.limit]
    if settings.sample is not None and settings.sample < len(chosen):
        chosen = [chosen[place] for place in sorted(random.Random(seed).sample(range(len(chosen)), settings.sample))]
    if not chosen:
        raise ConfigurationError("No instruction is left of the split; ask for fewer types.")
    examples = drawn(worked(source, stepwise=own.steps), own.pool, seed)
    config = PlanConfig(
        split=split,
        types=types,
        limit=settings.limit,
        sample=settings.sample,
        seed=seed,
        agent=agent,
        settings=own,
        model=portable_name(model) if model else None,
        script_sha256=file_digest(model) if model else None,
    )
    manifest = PlanManifest(
        housequest=installed_version("housequest") or "0",
        configuration=config,
        data=_digest((*every, *(source if split != TRAIN else ()))),
        prompts=template_hashes("agent.plans") | {"again": template_hashes("agent.roles")["again"]} if model else {},
        of=len(tasks),
        tasks=tuple(task.id for task in chosen),
        versions={"python": platform.python_version()},
    )
    prices = settings.prices_of(model) if model else None
    return PlanRun(manifest, tuple(chosen), Pool(examples), model, settings.timeout, prices)


def _digest(demonstrations: Iterable[Demonstration]) -> str:
    digest = sha256()
    for one in demonstrations:
        told = [(each.annotator, each.goal, each.steps) for each in one.instructions]
        lying = [(thing.kind, thing.place) for thing in one.scene.things]
        # The names that the two classes had when the first runs were recorded: a run goes on only with an equal digest.
        goal, plan = repr(one.goal).replace("AlfredGoal(", "Goal("), repr(one.plan).replace("PlanStep(", "Subgoal(")
        digest.update(f"({one.id!r}, {goal}, {plan}, {told!r}, {lying!r})".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()
