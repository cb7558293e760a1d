"""The specification of a run over ALFRED's instructions: its fully resolved configuration, frozen once the run begins."""

from __future__ import annotations

import platform
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Literal

from housequest.agent.alfred.plans.planners import PACKAGE, PLANNERS, PlannerSettings
from housequest.agent.alfred.plans.pool import PlanTask, Pool, drawn, plan_tasks
from housequest.agent.config import Prices, Settings
from housequest.agent.evaluation.runs.files import Frozen
from housequest.agent.evaluation.runs.spec import check_one_limit, find_types, installed_version, slug
from housequest.agent.models.embeddings import make_embedder
from housequest.agent.models.registry import file_digest, portable_name
from housequest.agent.roles.base import template_hashes
from housequest.worlds.alfred import PLANS
from housequest.worlds.alfred.scoring import TASK_TYPES
from housequest.worlds.alfred.tasks import Demonstration, read_split
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.options import Scalar, read_options
from housequest.worlds.paths import FORMAT, Format

TRAIN = "train"


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

    format: Format = FORMAT
    family: Literal["alfred-plans"] = "alfred-plans"
    housequest: str
    configuration: PlanConfig
    data: str
    prompts: dict[str, str]
    of: int
    tasks: tuple[str, ...]
    versions: dict[str, str]


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


SplitReader = Callable[[str, Path | None], tuple[Demonstration, ...]]
"""Reads the demonstrations of a split from a data folder."""


def make_run(settings: Settings, data: Path | None = None, read: SplitReader = read_split) -> PlanRun:
    """Resolve every choice that ``settings`` leave open. Raises ``ConfigurationError`` and ``GameError``."""
    agent = settings.agent or "nearest"
    if agent not in PLANNERS:
        known = ", ".join(PLANNERS)
        raise ConfigurationError(
            f"No planner of {PLANS} is named {shown(agent)}; known: {known}.{nearest(agent, tuple(PLANNERS))}"
        )
    needs_model = PLANNERS[agent].needs_model
    model = settings.model if needs_model else None
    if needs_model and model is None:
        raise ConfigurationError(f"The planner {agent!r} needs a language model; name one with --model.")
    own = _settings(agent, settings.set)
    split, seed = settings.split or "valid_seen", settings.seed or 0
    every = read(split, data)
    source = every if split == TRAIN else read(TRAIN, data)
    tasks = plan_tasks(every)
    check_one_limit(settings.limit, settings.sample)
    types = find_types(settings.type, sorted(TASK_TYPES))
    chosen = [task for task in tasks if not types or task.demonstration.type in types][: settings.limit]
    if settings.sample is not None and settings.sample < len(chosen):
        chosen = [chosen[place] for place in sorted(random.Random(seed).sample(range(len(chosen)), settings.sample))]
    if not chosen:
        raise ConfigurationError("No instruction is left of the split; ask for fewer types.")
    examples = drawn(plan_tasks(source), own.pool, seed)
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
        prompts=_prompts(agent, own) if model else {},
        of=len(tasks),
        tasks=tuple(task.id for task in chosen),
        versions={"python": platform.python_version()},
    )
    prices = settings.prices_of(model) if model else None
    embedder = make_embedder(own.embedder) if own.choose == "embeddings" else None
    pool = Pool(examples, stepwise=own.steps, embedder=embedder)
    return PlanRun(manifest, tuple(chosen), pool, model, settings.timeout, prices)


def _settings(agent: str, given: Mapping[str, Scalar]) -> PlannerSettings:
    """The settings of a planner: those ``given``, else its own defaults. Raises ``ConfigurationError``."""
    owner, sort = f"The planner {agent!r}", PLANNERS[agent]
    for field in fields(PlannerSettings):
        takers = [name for name, other in PLANNERS.items() if field.name in other.takes]
        if field.name in given and takers and agent not in takers:
            raise ConfigurationError(f"{owner} has no setting {field.name!r}; it is one of {', '.join(takers)}.")
    values = {key: None if (key, value) == ("pool", "all") else value for key, value in {**sort.defaults, **given}.items()}
    own = read_options(PlannerSettings, values, owner=owner, word="setting")
    if own.choose == "embeddings" and not own.embedder:
        raise ConfigurationError(f"{owner} chooses by embeddings and has no embedding model; give --set embedder=openai:NAME.")
    if own.embedder and own.choose != "embeddings":
        raise ConfigurationError(f"{owner} has an embedder, which only choose=embeddings asks; give that too, or leave it out.")
    return own


def _prompts(agent: str, own: PlannerSettings) -> dict[str, str]:
    """The digests of the templates that the planner's prompts are made of."""
    plans, again = template_hashes(PACKAGE), {"again": template_hashes("housequest.agent.roles")["again"]}
    match agent:
        case "lota":
            return template_hashes("housequest.agent.agents.lota") | again
        case "socratic" if own.decompose != "none":
            theirs, names = template_hashes("housequest.agent.agents.socratic"), ("alfred_plan", "alfred_found")
        case _:
            theirs, names = {}, ("alfred_plan", *(("alfred_grounding",) if own.replanning else ()))
    return theirs | {name: plans[name] for name in names} | again


def _digest(demonstrations: Iterable[Demonstration]) -> str:
    digest = sha256()
    for one in demonstrations:
        told = [(each.annotator, each.goal, each.steps) for each in one.instructions]
        lying = [(thing.kind, thing.place) for thing in one.scene.things]
        digest.update(repr((one.id, one.goal, one.plan, told, lying)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()
