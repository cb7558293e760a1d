"""What a run is: its configuration with every choice made, and what it was made of. Frozen once the run has begun.

Nothing here says when, where or how fast a run was played: two runs of the same plan are to be equal byte for byte.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict, model_validator

from agent.config import RULES_BUDGET, Configuration, Grant, Scalar, check_habits, world_of
from agent.episodes.loop import EpisodeConfig
from agent.evaluation.runs.result import Selected
from agent.evaluation.runs.selection import Selection, select
from knowledge.rules import Kind
from worlds.base import World
from worlds.errors import ConfigurationError
from worlds.paths import given_path

if TYPE_CHECKING:
    from knowledge.choosing import RuleBudget
    from knowledge.rulebook import Rulebook
    from knowledge.rules import Rule

SCHEMA = 1

_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FrozenRule(_Frozen):
    """A rule that may be told, and by what it is chosen."""

    id: str
    statement: str
    kind: Kind | None = None
    types: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


class FrozenRules(_Frozen):
    """The rules that the agent may be told: the book's name and digest, its accepted rules, and how many tokens an episode has
    for them. ``part`` says in a few words where others of its rules are meant. A run from before there was a ``budget`` has
    None, and was told all at once.
    """

    file: str
    sha256: str
    part: str = ""
    budget: int | None = None
    rules: tuple[FrozenRule, ...]

    @model_validator(mode="before")
    @classmethod
    def _earlier(cls, value: object) -> object:
        """A manifest from before rules were chosen has their statements alone."""
        if not isinstance(value, dict) or "statements" not in value:
            return cast("object", value)
        fields = cast("dict[str, object]", value)
        statements = cast("list[object]", fields["statements"]) if isinstance(fields["statements"], list) else []
        rules = [{"id": f"rule-{number}", "statement": each} for number, each in enumerate(statements, 1)]
        return {**{key: fields[key] for key in fields if key != "statements"}, "rules": rules}

    @property
    def label(self) -> str:
        """The rulebook in a word, for an episode's record."""
        return f"{self.file}@{self.sha256[:12]} {self.part}".rstrip()

    @property
    def statements(self) -> tuple[str, ...]:
        """What the rules say."""
        return tuple(rule.statement for rule in self.rules)

    @property
    def choice(self) -> RuleBudget:
        """The same as what is chosen from."""
        from knowledge.choosing import RuleBudget
        from knowledge.rules import Rule

        chosen = (Rule(each.id, each.statement, each.kind, each.types, each.objects) for each in self.rules)
        return RuleBudget(tuple(chosen), self.budget or RULES_BUDGET)


class RunConfig(_Frozen):
    """The configuration of a run, resolved. ``model`` is without its host or folder, which are the machine's;
    ``script_sha256`` tells the file of a scripted or a llama: one from another. ``habits`` is the name of their file; what it
    says is part of the manifest's ``data``. ``curiosity`` is the share of turns that chance plays, in an exploration.
    """

    world: str
    engine: str
    split: str
    types: tuple[str, ...]
    limit: int | None
    sample: int | None
    goals: str
    habits: str | None = None
    seed: int
    agent: str
    settings: dict[str, Scalar]
    model: str | None
    script_sha256: str | None
    rules: FrozenRules | None
    grants: tuple[Grant, ...]
    max_turns: int
    curiosity: float | None = None

    def terms(self, world: World) -> EpisodeConfig:
        """On what terms each episode of the run is played."""
        return EpisodeConfig(
            engine=world.engine,
            grants=frozenset(self.grants),
            max_turns=self.max_turns,
            seed=self.seed,
            model=self.model,
            rules=self.rules.label if self.rules else None,
            choice=self.rules.choice if self.rules else None,
            habits=habits_label(self.habits, world),
            settings=self.settings,
            inline=world.inline,
            curiosity=self.curiosity,
        )


class Versions(_Frozen):
    """What a run was played with that should not matter; a difference is told, not refused."""

    python: str
    openai: str | None


class Manifest(_Frozen):
    """A run's own record of itself (``run.json``).

    ``prompts`` are the digests of what models are shown, examples among them. ``of`` is the size of the split that ``tasks``
    were selected from.
    """

    schema_version: int = SCHEMA
    housequest: str
    configuration: RunConfig
    engine: str
    data: str
    prompts: dict[str, str]
    of: int
    tasks: tuple[Selected, ...]
    versions: Versions


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A run that can begin: its manifest, and the world, tasks and model that it is played with."""

    manifest: Manifest
    world: World
    selection: Selection
    model: str | None

    @property
    def config(self) -> RunConfig:
        """The resolved configuration."""
        return self.manifest.configuration

    @property
    def default_folder(self) -> Path:
        """Where the run goes unless told otherwise: the same plan always names the same folder."""
        config = self.config
        digest = sha256(self.manifest.model_dump_json(exclude={"versions"}).encode()).hexdigest()[:8]
        parts = [config.split, config.agent, (config.model.partition(":")[2] or config.model) if config.model else "", digest]
        return Path("runs") / "-".join(slug(part, 40) for part in parts if part)


def make_run_spec(configuration: Configuration, *, curiosity: float | None = None, rules: FrozenRules | None = None) -> RunSpec:
    """Make every choice that ``configuration`` leaves open; ``curiosity`` is an exploration's, and ``rules`` come before those
    that are configured.

    Raises ``ConfigurationError`` and ``KnowledgeError``.
    """
    from agent.agents.examples import store_digests
    from agent.agents.registry import DEFAULT_AGENT, model_for, resolve_settings, takes_rules
    from agent.roles.base import prompt_hashes

    settings = configuration.settings
    agent = settings.agent or DEFAULT_AGENT
    if agent == "human":
        raise ConfigurationError("The agent 'human' is nobody without a terminal; use `housequest play --agent human`.")
    model = model_for(agent, settings.model, settings.world)
    world = world_of(settings)
    split = settings.split or default_split(world)
    check_habits(settings.habits, split)
    seed = settings.seed or 0
    selection = select(world, split, settings.type, settings.limit, settings.sample, seed)
    if rules is None and settings.rules:
        rules = read_rules(settings.rules, settings.rules_budget)
    config = RunConfig(
        world=settings.world,
        engine=settings.engine,
        split=split,
        types=tuple(sorted({task.type for task in selection.tasks})) if settings.type else (),
        limit=settings.limit,
        sample=settings.sample,
        goals=settings.goals,
        habits=given_path(settings.habits).name if settings.habits else None,
        seed=seed,
        agent=agent,
        settings=resolve_settings(agent, settings.settings_of(agent)),
        model=portable_name(model) if model else None,
        script_sha256=file_digest(model) if model else None,
        rules=rules if takes_rules(agent) else None,
        grants=tuple(sorted(set(settings.grant))),
        max_turns=settings.max_steps,
        curiosity=curiosity,
    )
    manifest = Manifest(
        housequest=_version("housequest") or "0",
        configuration=config,
        engine=world.engine,
        data=world.fingerprint(split),
        prompts=prompt_hashes() | store_digests(world, config.settings),
        of=selection.of,
        tasks=tuple(Selected.of(task) for task in selection.tasks),
        versions=Versions(python=platform.python_version(), openai=_version("openai")),
    )
    return RunSpec(manifest, world, selection, model)


def default_split(world: World) -> str:
    """The split that is evaluated unless told otherwise: valid_seen where the world has it, else its first."""
    return "valid_seen" if world.name == "alfworld" else world.splits()[0]


def read_rules(name: str, budget: int = RULES_BUDGET) -> FrozenRules:
    """The accepted rules of the rulebook ``name``, one of the library's or a file. Raises ``KnowledgeError``."""
    from knowledge.library import library
    from knowledge.rules import accepted

    book = library().open(name)
    return frozen_rules(book, accepted(book.rules), budget)


def frozen_rules(book: Rulebook, rules: Iterable[Rule], budget: int, part: str = "") -> FrozenRules:
    """``rules`` of a ``book`` that was read, as a run keeps them."""
    listed = (
        FrozenRule(id=one.id, statement=one.statement, kind=one.kind, types=one.types, objects=one.objects) for one in rules
    )
    return FrozenRules(file=book.path.name, sha256=book.read or "", part=part, budget=budget, rules=tuple(listed))


def habits_label(file: str | None, world: World) -> str | None:
    """The habits of ``file`` that ``world`` was made with, in a word, for an episode's record."""
    return None if file is None else f"{Path(file).name}@{world.fingerprint('generated')[:12]}"


def portable_name(model: str) -> str:
    """A model's name without the host or the folder where it happens to be; of a llama: model, with the runtime that plays it,
    since another one may reply otherwise. Raises ``ConfigurationError``, also where no runtime is installed."""
    from agent.models.llama.model import chosen_runtime
    from agent.models.llama.options import written
    from agent.models.registry import parse_model

    parsed = parse_model(model)
    if not parsed.name:
        return parsed.kind
    if parsed.kind == "llama":
        settled = replace(parsed.options, runtime=chosen_runtime(parsed.options))
        return f"llama:{Path(parsed.name).name}?{written(settled, placeless=True)}"
    return f"{parsed.kind}:{parsed.name if parsed.kind == 'openai' else Path(parsed.name).name}"


def file_digest(model: str) -> str | None:
    """What tells a model's file from another: the sha256 of a script or of the built-in model's file, `fingerprint` of a GGUF
    file's weights; None of other models."""
    from agent.models.registry import parse_model

    parsed = parse_model(model)
    if parsed.kind == "builtin":
        from agent.models.builtin.file import SHIPPED, digest

        return digest(given_path(parsed.name) if parsed.name else SHIPPED)
    if parsed.kind == "llama":
        from agent.models.llama.gguf import fingerprint

        return fingerprint(given_path(parsed.name))
    if parsed.kind == "scripted":
        from agent.models.scripted import read_script

        return sha256(read_script(given_path(parsed.name))).hexdigest()
    return None


def slug(text: str, longest: int = 120) -> str:
    """``text`` as a part of a file's name on any system: letters, digits, ``_``, ``-`` and ``.``, not at the ends."""
    kept = _OTHER.sub("-", text)
    return kept.strip("-.")[:longest].rstrip("-.") or "x"


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
