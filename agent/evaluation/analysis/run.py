"""A run read back: its results, what is known beside them, and its card.

The card says under what conditions it was measured, in the words that every report begins with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from housequest.agent.agents.spec import WEIGHTS, agent_spec, learned_prior
from housequest.agent.config import Prices, changed_options
from housequest.agent.evaluation.analysis.experts import PathLengths, Watcher, ceiling_of, paths_of
from housequest.agent.evaluation.analysis.metrics import Extras, Summary, summarise
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result, RunFolder
from housequest.agent.evaluation.runs.spec import MANY, Manifest, RunConfig, selection_text
from housequest.agent.evaluation.runs.usage import timings_of
from housequest.agent.protocols import PROTOCOLS
from housequest.worlds.base import Metric, World
from housequest.worlds.errors import ConfigurationError, HousequestError, unquoted
from housequest.worlds.registry import DEFAULT_WORLD, make_world, world_class

_PRIORS: Mapping[object, str] = {
    "llm": "the agent's own model",
    "random": "none, places are searched at random",
    "name": "none, places are searched by name",
}
"""What is known of places before anything was seen, by the setting that says how places are searched; but for counts."""


PriceList = Callable[[str], Prices | None]
"""Gives the prices of a model by name; None where none are set."""


@dataclass(frozen=True)
class Run:
    """A run to show or compare: its folder, its manifest, its results so far, and the extras known beside them."""

    folder: RunFolder
    manifest: Manifest
    results: tuple[Result, ...]
    extras: Extras = field(default=Extras(), compare=False)

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.path.resolve().name

    def episode(self, task: SelectedTask) -> Path:
        """The file of its episode of ``task``."""
        return self.folder.episode(task)

    @property
    def seed(self) -> int:
        """Its seed."""
        return self.manifest.configuration.seed

    @cached_property
    def summary(self) -> Summary:
        """Its figures."""
        return summarise(self.manifest.tasks, self.results, self.extras)

    @property
    def card(self) -> dict[str, str]:
        """Under what conditions it was measured."""
        return card(self.manifest, self.summary.overall.asked)

    @property
    def label(self) -> str:
        """Who played, in a few words: agent, model, rules and seed."""
        config = self.manifest.configuration
        rules = f"rules {config.rules.file} {config.rules.part}".rstrip() if config.rules else ""
        parts = [config.agent, config.model or "", rules, *config.grants]
        parts += [f"curiosity {config.curiosity:g}"] if config.curiosity else []
        return ", ".join(part for part in parts if part) + f", seed {config.seed}"


def read_for_comparison(
    run: RunFolder, prices: PriceList | None = None, watcher: Watcher | None = None, *, paths: bool = True
) -> Run:
    """Read the run in a folder, with timings, costs, and the lengths of ``paths`` where the world's data is here. ``watcher``
    gets how many paths are found and how many are missing. Raises ``ConfigurationError``.
    """
    manifest = run.manifest()
    config, results = manifest.configuration, run.results(manifest.tasks)
    played = {result.task for result in results}
    tasks = [task for task in manifest.tasks if task.id in played]
    metrics: tuple[Metric, ...] = ()
    with suppress(HousequestError):  # of a world that cannot be made here, what its benchmark computes is left out
        metrics = make_world(config.world, **config.world_options, **changed_options(engine=config.engine)).metrics
    # What is weighted by the tasks' lengths needs those of tasks that were not played, too.
    lengths = paths_of(run, manifest, manifest.tasks if metrics else tasks, watcher) if paths else dict[str, PathLengths]()
    ceiling = ceiling_of(run, manifest, tasks, watcher)
    priced = prices(config.model) if prices and config.model else None
    return Run(run, manifest, tuple(results), Extras(lengths, timings_of(run, manifest.tasks), priced, ceiling, metrics))


def find_task(tasks: Sequence[SelectedTask], reference: str) -> SelectedTask | None:
    """The task named by its number, its id, or ``split:number``; None where there is none."""
    return next((task for task in tasks if reference in {task.id, str(task.number), reference_of(task)}), None)


def reference_of(task: SelectedTask | Result) -> str:
    """The short name of a task, ``split:number``, as commands take it."""
    return f"{(task.id if isinstance(task, SelectedTask) else task.task).partition('/')[0]}:{task.number}"


def card(manifest: Manifest, asked: str) -> dict[str, str]:
    """The conditions of a run by name; ``asked`` is how its model was asked, as its `Figures` say."""
    config = manifest.configuration
    told = config.settings.get("exemplars") and config.settings.get("thoughts") in ("turns", "none")
    counted = ", thoughts among them" if told else ""
    protocol = PROTOCOLS.get(config.protocol or "")
    listed = protocol.tasks(config.split) if protocol else None
    whole = len(manifest.tasks) == (len(listed) if listed else manifest.of) or manifest.of > MANY or config.attempt
    perception = _perception(config)
    part = "" if whole else f": not the whole {'list' if listed else 'split'}"
    return {
        "protocol": config.protocol or "none named",
        "split": config.split,
        "tasks": f"{selection_text(len(manifest.tasks), manifest.of)}{part}",
        "goals": config.goals,
        "turns": f"at most {config.max_turns}{counted}",
        "grants": ", ".join(config.grants) or "none",
        "retries": f"attempt {config.attempt}, at tasks that were not won before" if config.attempt else "none",
        "repeats": f"several runs, of which this is number {config.repeat}" if config.repeat else "1",
        "asked": asked,
        "examples": _examples(config),
        "rules": config.rules.label if config.rules else "none",
        "weights": _weights(manifest),
        "sees": f"what its camera shows, by perception {perception}" if perception else "text",
        "prior": counted_prior(config) if perception else _prior(config),  # of which closed receptacle to open
        "data": manifest.data[:16],
        "engine": manifest.engine,
    }


def card_differences(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What two cards do not share: each may be why the runs differ, whatever the agents are."""
    return {name: (line, second[name]) for name, line in first.items() if line != second[name]}


def shared_card(cards: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The lines that all of these cards have alike; empty for no card."""
    first = cards[0] if cards else dict[str, str]()
    return {name: line for name, line in first.items() if all(other.get(name) == line for other in cards)}


def _weights(manifest: Manifest) -> str:
    """The digests of the files of model and network, where they have one: two files of one name may play otherwise."""
    networks = [digest for name, digest in manifest.prompts.items() if name.endswith(f"/{WEIGHTS}")]
    known = (*filter(None, (manifest.configuration.script_sha256,)), *networks)
    return ", ".join(digest[:12] for digest in known) or ("none" if manifest.configuration.model is None else "not known here")


def _perception(config: RunConfig) -> str:
    """What makes things of an agent's pictures; empty for one that reads texts."""
    try:
        seeing = agent_spec(config.agent).by_camera and world_class(config.world).pictured
    except ConfigurationError:  # a run of a plugin that is not here
        return ""
    return str(config.settings.get("seeing", "truth")) if seeing else ""


def counted_prior(config: RunConfig) -> str:
    """What a search by counts knows of places in a run's world."""
    try:
        return world_class(config.world).prior
    except ConfigurationError:  # a run of a plugin that is not here
        return World.prior


def _prior(config: RunConfig) -> str:
    settings = config.settings
    how = settings.get("search", settings.get("order", learned_prior(config.agent, settings)))
    if how is None and config.model is None:
        # The expert's settings are its world's, whose defaults a run does not keep.
        return counted_prior(config) if config.world == DEFAULT_WORLD else "the player's own"
    if how == "counts":
        return counted_prior(config)
    return _PRIORS.get(how, unquoted(how)) if how is not None else "none but the model's"


def _examples(config: RunConfig) -> str:
    settings = config.settings
    exemplars = settings.get("exemplars")
    if exemplars:
        kind = "without thoughts, " if settings.get("thoughts") == "none" else ""
        return f"2 exemplars of the task's type, {kind}{'ours' if exemplars == 'own' else 'from a file'}"
    shots, source = settings.get("shots"), settings.get("examples")
    return f"{shots} of {unquoted(source)}" if shots and source else "none"
