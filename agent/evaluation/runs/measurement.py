"""Measure what rules are worth: play the same tasks without and with them, as two runs, and compare task by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from housequest.agent.agents.registry import agent_names, agent_spec
from housequest.agent.config import Configuration
from housequest.agent.episodes.events import RulesShown
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis.compare import Comparison, PriceList, compare, read_for_comparison
from housequest.agent.evaluation.runs.spec import make_run_spec, slug
from housequest.agent.evaluation.runs.sweep import ArmRun, SweepFolder
from housequest.agent.setup import frozen_rules
from housequest.knowledge.rulebook import library
from housequest.knowledge.rules import Rule, accepted
from housequest.worlds.errors import ConfigurationError, unquoted

USUAL_AGENT = "reasoner-actor"
WITHOUT, WITH = "without", "with"

_NAMED = 3
"""How many rules a label names; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Two runs, ``trials``, without and with the ``rules`` of ``book``, and alike in everything else."""

    book: str
    rules: tuple[Rule, ...]
    trials: tuple[ArmRun, ArmRun]

    @property
    def default_folder(self) -> Path:
        """The default folder; the same measurement always gets the same name."""
        manifests = (trial.spec.manifest.model_dump_json(exclude={"versions"}) for trial in self.trials)
        digest = sha256("\n".join(manifests).encode()).hexdigest()[:8]
        return Path("runs") / f"measure-{slug(Path(self.book).stem, 40)}-{digest}"

    def begin(self, folder: SweepFolder) -> None:
        """Write the sweep's manifest to ``folder``. Raises ``ConfigurationError`` where it holds something else."""
        if folder.begun and {run.folder for run in folder.contents().runs} != {WITHOUT, WITH}:
            raise ConfigurationError(f"{folder.path} holds a sweep of other runs; give --out a new folder.")
        folder.begin(self.trials)


@dataclass(frozen=True, slots=True)
class MeasurementResult:
    """The result of a measurement; in ``told`` of the paired episodes with rules, the agent saw at least one of them."""

    measurement: Measurement
    comparison: Comparison
    told: int


def plan_measurement(configuration: Configuration, name: str, ids: Sequence[str] = (), *, alone: bool = False) -> Measurement:
    """Plan to measure the rules ``ids`` of the book ``name``, together with its other accepted rules or ``alone``.

    Without ids the whole book is measured against no rules. Raises ``KnowledgeError``, and ``ConfigurationError`` where the
    agent takes no rules or the book has none to show.
    """
    settings = configuration.settings
    agent = settings.agent or USUAL_AGENT
    if not agent_spec(agent).takes_rules:
        able = ", ".join(each for each in agent_names() if agent_spec(each).takes_rules)
        raise ConfigurationError(f"The agent {agent!r} takes no rules; measure with one of: {able}.")
    book = library().open(name).require_world(settings.world, "Measure a book for {world}.")
    measured = tuple(dict.fromkeys(book.rule(each) for each in ids)) or accepted(book.rules)
    if not measured:
        raise ConfigurationError(
            f"{book.path} has no accepted rules, and agents see only those; accept some, or name a candidate by its id."
        )
    usual = accepted(book.rules)
    others = () if alone or not ids else tuple(rule for rule in usual if rule not in measured)
    together = tuple(rule for rule in book.rules if rule in measured or rule in others)
    configuration = replace(configuration, settings=settings.model_copy(update={"agent": agent, "rules": None}))

    def trial(arm: str, rules: tuple[Rule, ...]) -> ArmRun:
        part = f"{_listed([rule.id for rule in rules])} alone" if alone else _part(rules, usual)
        spec = make_run_spec(configuration, rules=frozen_rules(book, rules, settings.rules_budget, part) if rules else None)
        return ArmRun(arm, spec.config.seed, arm, configuration, spec)

    return Measurement(book.path.name, measured, (trial(WITHOUT, others), trial(WITH, together)))


def measured(measurement: Measurement, folder: SweepFolder, prices: PriceList | None = None) -> MeasurementResult:
    """Read the result of the measurement in ``folder``. Raises ``ConfigurationError``."""
    first, second = (read_for_comparison(folder.run(trial.folder), prices) for trial in measurement.trials)
    comparison = compare(first, second)
    ids, paired = {rule.id for rule in measurement.rules}, {pair.second.task for pair in comparison.pairs}
    tasks = [task for task in second.manifest.tasks if task.id in paired]
    episodes = ((event.body for event in read_episode(second.folder.episode(task))) for task in tasks)
    told = sum(any(isinstance(body, RulesShown) and not ids.isdisjoint(body.ids) for body in bodies) for bodies in episodes)
    return MeasurementResult(measurement, comparison, told)


def _part(rules: Sequence[Rule], usual: Sequence[Rule]) -> str:
    """How ``rules`` differ from the ``usual`` rules of their book, in words."""
    more = [rule.id for rule in rules if rule not in usual]
    missing = [rule.id for rule in usual if rule not in rules]
    parts = (f"and {_listed(more)}" if more else "", f"without {_listed(missing)}" if missing else "")
    return " ".join(filter(None, parts))


def _listed(ids: Sequence[str]) -> str:
    named = ", ".join(unquoted(each) for each in ids[:_NAMED])
    return named if len(ids) <= _NAMED else f"{named} and {len(ids) - _NAMED} more"
