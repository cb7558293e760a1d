"""A run read back: its results, what is known beside them, and its card, which says under what conditions it was measured.

Known beside them is what a world's expert and planner reach on its tasks, computed once and kept in its folder. Both use hidden
state, after the episodes; no agent sees it. It is not part of what must be equal between equal runs.

L*, the best path length of each task, is kept in ``paths.jsonl``. The ceiling of a planner's run, in ``ceilings.jsonl``, is
what the world's expert reaches on the same tasks with the same location prior. A planner's commands come from a controller that
searches by a prior of its own, so part of its success is the controller's. The expert has no model and needs none: it is told
the goal in the template's words, searches by the planner's prior, and carries it out in as few commands as it can. Where a
planner's model names the places itself (``search=llm``), there are two marks: the expert that draws places at random is what
can be reached without anybody's word on them, and the one that searches by counts is what good knowledge of places reaches. A
random order is one order, drawn by the run's seed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from housequest.agent.agents.spec import WEIGHTS, agent_spec, learned_prior
from housequest.agent.config import Prices, changed_options
from housequest.agent.evaluation.analysis.metrics import Ceiling, Extras, Figures, PathLengths, Summary, summarise
from housequest.agent.evaluation.runs.files import Frozen, Number, SelectedTask, kept_lines, lines_of
from housequest.agent.evaluation.runs.folder import Result, RunFolder
from housequest.agent.evaluation.runs.spec import MANY, Manifest, RunConfig, selection_text
from housequest.agent.evaluation.runs.usage import timings_of
from housequest.agent.protocols import PROTOCOLS
from housequest.worlds.base import Demonstrated, Metric, Solvable, Task, World
from housequest.worlds.env import expert_of, sandbox, steps_of
from housequest.worlds.errors import ConfigurationError, HousequestError, Unsupported, unquoted
from housequest.worlds.paths import atomic_write
from housequest.worlds.registry import DEFAULT_WORLD, info_of, make_world, metrics_of
from housequest.worlds.shared import Shareable

K = TypeVar("K")

Watcher = Callable[[int, int], None]
"""Gets how many tasks are done and how many there are."""
TURNS = 50
"""The expert's turn limit: the default of an episode."""
PRIORS = ("counts", "random", "name")
"""The priors that the expert can search by too."""
_PRIORS: Mapping[object, str] = {
    "llm": "the agent's own model",
    "random": "none, places are searched at random",
    "name": "none, places are searched by name",
}
"""The knowledge of places before anything was seen, by the setting for searching; but for counts."""
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
        return card(self.manifest, self.summary.overall)

    @property
    def label(self) -> str:
        """The player in a few words: agent, model, rules and seed."""
        config = self.manifest.configuration
        rules = f"rules {config.rules.file} {config.rules.part}".rstrip() if config.rules else ""
        who = [" and ".join(one.words for one in config.players)] if config.players else [config.agent, config.model or ""]
        parts = [*who, rules, *config.grants]
        parts += [f"curiosity {config.curiosity}"] if config.curiosity else []
        return ", ".join(part for part in parts if part) + f", seed {config.seed}"


def read_for_comparison(run: RunFolder, prices: PriceList | None = None, watcher: Watcher | None = None) -> Run:
    """Read the run in a folder, with timings, costs, and the lengths of paths where the world's data is here. ``watcher``
    gets how many paths are found and how many are missing. Raises ``ConfigurationError``.
    """
    manifest = run.manifest()
    config, results = manifest.configuration, run.results(manifest.tasks)
    played = {result.task for result in results}
    tasks = [task for task in manifest.tasks if task.id in played]
    metrics: tuple[Metric, ...] = ()
    with suppress(HousequestError):  # of a world that cannot be made here, what its benchmark computes is left out
        metrics = make_world(config.world, **config.world_options, **changed_options(engine=config.engine)).info.metrics
    metrics += metrics_of(config.world)
    lengths = paths_of(run, manifest, tasks, watcher)
    ceiling = ceiling_of(run, manifest, tasks, watcher)
    priced = prices(config.model) if prices and config.model else None
    return Run(run, manifest, tuple(results), Extras(lengths, timings_of(run, manifest.tasks), priced, ceiling, metrics))


def find_task(tasks: Sequence[SelectedTask], reference: str) -> SelectedTask | None:
    """The task named by its number, its id, or ``split:number``; None if there is none."""
    return next((task for task in tasks if reference in {task.id, str(task.number), reference_of(task)}), None)


def reference_of(task: SelectedTask | Result) -> str:
    """The short name of a task, ``split:number``, as commands take it."""
    return f"{(task.id if isinstance(task, SelectedTask) else task.task).partition('/')[0]}:{task.number}"


class PathLine(Frozen):
    """A line of ``paths.jsonl``; see `PathLengths`."""

    task: str
    expert: Number | None = None
    shortest: Number | None = None
    annotated: Number | None = Field(default=None, exclude_if=operator.not_)
    conditions: Number | None = Field(default=None, exclude_if=operator.not_)
    together: Number | None = Field(default=None, exclude_if=operator.not_)


class CeilingLine(Frozen):
    """A line of ``ceilings.jsonl``: in how many turns the expert wins ``task``; none where it does not. ``prior`` is by what it
    searches, if that is not the prior of the run.
    """

    task: str
    turns: Number | None = None
    prior: str | None = None


def prior_of(config: RunConfig) -> str | None:
    """By what the expert searches that is a run's ceiling; None for one that neither has skills that search nor learned to."""
    search = config.settings.get("search")
    if config.model is None or not isinstance(search, str):
        return learned_prior(config.agent, config.settings)
    return "random" if search == "llm" else search if search in PRIORS else None


def named_by_model(config: RunConfig) -> bool:
    """True if the agent's own model names the places to look into."""
    return config.model is not None and config.settings.get("search") == "llm"


def paths_of(
    run: RunFolder, manifest: Manifest, tasks: Sequence[SelectedTask], watcher: Watcher | None = None
) -> dict[str, PathLengths]:
    """The path lengths of ``tasks`` by id: those kept, and those that can be computed here, which are then kept. Tasks without
    the world's data stay unknown and are tried again the next time. Blocks for about 10 ms per task.
    """
    known = read_paths(run)

    def compute(world: World, task: SelectedTask) -> None:
        known[task.id] = path_lengths(world, world.task(task.id), players=len(manifest.configuration.players) or 1)

    if _computed(run, manifest, [task for task in tasks if task.id not in known], compute, watcher):
        _keep(run.paths_file, [PathLine(task=task, **par._asdict()) for task, par in known.items()])
    return known


def read_paths(run: RunFolder) -> dict[str, PathLengths]:
    """The kept path lengths by task. What is damaged counts as not kept, since it can be computed again."""
    lines = kept_lines(PathLine, run.paths_file)
    return {line.task: PathLengths(**line.model_dump(exclude={"task"})) for line in lines}


def ceiling_of(
    run: RunFolder, manifest: Manifest, tasks: Sequence[SelectedTask], watcher: Watcher | None = None
) -> Ceiling | None:
    """The ceiling over ``tasks``: what was kept, and what can be computed here, which is then kept. None where the agent does
    not search. Blocks for a few milliseconds per task.
    """
    config, prior = manifest.configuration, prior_of(manifest.configuration)
    if prior is None:
        return None
    own = {by: None if by == prior else by for by in ((prior, "counts") if named_by_model(config) else (prior,))}
    known = {by: _kept(run, named) for by, named in own.items()}

    def compute(world: World, each: tuple[str, SelectedTask]) -> None:
        by, task = each
        settings = {"search": by, **({"seed": config.seed} if by == "random" else {})}
        known[by][task.id] = expert_turns(world, world.task(task.id), config.max_turns, settings)

    if _computed(run, manifest, [(by, task) for by in own for task in tasks if task.id not in known[by]], compute, watcher):
        found = [(by, task, turns) for by in own for task, turns in known[by].items()]
        _keep(run.ceilings_file, [CeilingLine(task=task, turns=turns, prior=own[by]) for by, task, turns in found])
    return Ceiling(prior, known[prior], known["counts"] if named_by_model(config) else None)


def kept_ceiling(run: RunFolder, config: RunConfig) -> Ceiling | None:
    """The ceiling as far as an earlier report has kept it; None where the agent does not search."""
    prior = prior_of(config)
    return None if prior is None else Ceiling(prior, _kept(run, None))


def _kept(run: RunFolder, prior: str | None) -> dict[str, int | None]:
    return {line.task: line.turns for line in kept_lines(CeilingLine, run.ceilings_file) if line.prior == prior}


def _computed(
    run: RunFolder, manifest: Manifest, missing: Sequence[K], compute: Callable[[World, K], None], watcher: Watcher | None
) -> bool:
    """Compute what is ``missing``, where the world with exactly the run's data is here; whether it is."""
    world = world_of_run(run, manifest) if missing else None
    if world is None:
        return False
    for number, each in enumerate(missing, start=1):
        with suppress(HousequestError):  # a missing or damaged game, or a world whose expert has no such prior: not known
            compute(world, each)
        if watcher is not None:
            watcher(number, len(missing))
    return True


def _keep(file: Path, lines: Iterable[Frozen]) -> None:
    with suppress(OSError):  # a read-only folder is left alone
        atomic_write(file, lines_of(lines))


def world_of_run(run: RunFolder, manifest: Manifest) -> World | None:
    """The world of a run in a folder, None where its data is not here. A household has template goals, which its expert can
    read."""
    config = manifest.configuration
    habits = str(run.habits_file) if run.habits_file.exists() else None
    try:
        options = {**config.world_options, **changed_options(habits=habits)}
        goals = changed_options(goals=config.goals)
        world = make_world(config.world, **options, **goals)
        if world.fingerprint(config.split) != manifest.data:
            # Where what simulates is part of the data, it takes the same one.
            world = make_world(config.world, **options, **goals, engine=config.engine)
            if world.fingerprint(config.split) != manifest.data:
                return None
        return world if world.household is None else make_world(config.world, **options)
    except HousequestError:
        return None


def path_lengths(world: World, task: Task, *, players: int = 1) -> PathLengths:
    """Compute the path lengths of ``task``, with par for so many ``players``. Blocks for up to a second or two: call it in a
    thread from an event loop. Raises ``GameError`` where the task cannot be played.
    """
    if isinstance(world, Demonstrated) and (annotated := world.annotated(task)) is not None:
        return PathLengths(annotated.actions, annotated=annotated.actions, conditions=annotated.conditions)
    try:
        expert = expert_turns(world, task)
    except Unsupported:
        expert = None
    shortest = world.shortest(task) if isinstance(world, Solvable) else None
    together = world.par(task, players) if players > 1 and isinstance(world, Shareable) else None
    return PathLengths(expert, shortest, together=together)


def expert_turns(world: World, task: Task, turns: int = TURNS, settings: Mapping[str, Any] | None = None) -> int | None:
    """The number of commands that the world's expert needs to win ``task``; None if more than ``turns``. Raises ``GameError``,
    ``Unsupported`` where the world has no expert or no house for it to play in, and ``ConfigurationError`` for ``settings``
    that the expert does not have.
    """
    expert, env = expert_of(world, **(settings or {})), sandbox(world, task)
    try:
        steps = [env.reset()]
        steps += (step for _, step in steps_of(expert, task, env, steps[0], turns))
        return len(steps) - 1 if steps[-1].won else None
    except Unsupported:
        # The expert says this where it cannot reach the goal.
        return None
    finally:
        env.close()


def card(manifest: Manifest, figures: Figures) -> dict[str, str]:
    """The conditions of a run by name, with how its model was asked, and which answered when, as its ``figures`` say."""
    config = manifest.configuration
    told = config.settings.get("exemplars") and config.settings.get("thoughts") in ("turns", "none")
    counted = ", thoughts among them" if told else ""
    protocol = PROTOCOLS.get(config.protocol or "")
    listed = protocol.tasks(config.split) if protocol else None
    whole = len(manifest.tasks) == (len(listed) if listed else manifest.of) or manifest.of > MANY or config.attempt
    perception = _perception(config)
    # Skills that an oracle carries out know where all things are, whoever names them.
    told = f"text, and its {ORACLE} all there is" if f", {ORACLE} by an oracle" in manifest.engine else ""
    part = "" if whole else f": not the whole {'list' if listed else 'range' if config.ranged else 'split'}"
    among = " from all types" if not config.types else ""
    drawn = f", drawn{among} with the sample seed {config.sample_seed or 0}" if config.sample is not None else ""
    without = f"; none of {', '.join(manifest.missing)}" if manifest.missing else ""
    first, last = config.houses or (0, 0)
    houses = f", houses {first:,} to {last:,}" if config.ranged else f", houses from {first:,} on" if config.houses else ""
    only = "" if protocol is None or config.split in protocol.splits else f", but {config.split}"
    return {
        "protocol": f"{config.protocol}{only}" if config.protocol else "none named",
        "split": f"{config.split}{houses}",
        "tasks": f"{selection_text(len(manifest.tasks), manifest.of, ranged=config.ranged)}{drawn}{part}{without}",
        "goals": config.goals,
        "turns": f"at most {config.max_turns}{counted}",
        "grants": ", ".join(config.grants) or "none",
        "retries": f"attempt {config.attempt}, at tasks that were not won before" if config.attempt else "none",
        "repeats": f"several runs, of which this is number {config.repeat}" if config.repeat else "1",
        **asked(figures),
        "examples": _examples(config),
        "rules": (config.rules and config.rules.label) or "none",
        "weights": _weights(manifest),
        "sees": f"what its camera shows, by perception {perception}" if perception else told or "text",
        # Of which closed receptacle to open.
        "prior": f"all, by the oracle of its {ORACLE}" if told else counted_prior(config) if perception else _prior(config),
        "learned": "; ".join(f"{name} from {', '.join(parts)}" for name, parts in manifest.learned_from.items())
        or ("none" if config.model is None else "not known"),
        "data": manifest.data[:16],
        "engine": manifest.engine,
    }


def asked(figures: Figures) -> dict[str, str]:
    """The lines of a card that say how models were asked, and which answered when."""
    called = [datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M") for time in figures.called or ()]
    return {
        "asked": figures.asked,
        **({"served": "; ".join(figures.served)} if figures.served else {}),
        **({CALLED: f"{' to '.join(dict.fromkeys(called))} UTC"} if called else {}),
    }


ORACLE = "skills"
CALLED = "called"
"""The line of a card that no two runs have alike."""


def card_differences(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The lines in which two cards differ: each may be why the runs differ, whatever the agents are."""
    lines = [name for name in {**first, **second} if name != CALLED and first.get(name) != second.get(name)]
    return {name: (first.get(name, "-"), second.get(name, "-")) for name in lines}


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
    """The perception that an agent uses for pictures; empty for one that reads texts."""
    try:
        seeing = "camera" in agent_spec(config.agent).takes and info_of(config.world).pictured
    except ConfigurationError:  # a run of a plugin that is not here
        return ""
    return str(config.settings.get("seeing", "truth")) if seeing else ""


def counted_prior(config: RunConfig) -> str:
    """The counts that a search by counts starts from in a run's world."""
    return info_of(config.world).prior


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
