"""The ceiling of a planner's run: what the world's expert reaches on the same tasks with the same location prior.

A planner's commands come from a controller that searches by a prior of its own, so part of its success is the controller's. The
expert has no model and needs none: it is told the goal in the template's words, searches by the planner's prior, and carries it
out in as few commands as it can. Where a planner's model names the places itself (``search=llm``), there are two marks: the
expert that draws places at random is what can be reached without anybody's word on them, and the one that searches by counts is
what good knowledge of places reaches. A random order is one order, drawn by the run's seed. Computed once and kept in
``ceilings.jsonl`` in the run's folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from housequest.agent.agents.registry import learned_prior
from housequest.agent.evaluation.analysis.paths import Watcher, expert_turns, world_of_run
from housequest.agent.evaluation.runs.files import kept_lines, lines_of
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.result import Frozen, Number, SelectedTask
from housequest.agent.evaluation.runs.spec import Manifest, RunConfig
from housequest.worlds.errors import HousequestError
from housequest.worlds.paths import atomic_write

PRIORS = ("counts", "random", "name")
"""The priors that the expert can search by too."""


class CeilingLine(Frozen):
    """A line of ``ceilings.jsonl``: in how many turns the expert wins ``task``; none where it does not.

    ``prior`` is by what it searches, if that is not the prior of the run.
    """

    task: str
    turns: Number | None = None
    prior: str | None = None


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the expert reaches with the location ``prior`` of a run: its turns by task, None where it does not win.

    ``counted`` is the same with the counts, where the run's model names the places.
    """

    prior: str
    turns: Mapping[str, int | None]
    counted: Mapping[str, int | None] | None = None

    def of(self, tasks: Sequence[str]) -> CeilingFigures | None:
        """The figures over those of ``tasks`` of which it is known; None where it is of none."""
        known = [self.turns[task] for task in tasks if task in self.turns]
        if not known:
            return None
        counted = None if self.counted is None else Ceiling("counts", self.counted).of(tasks)
        won = [turns for turns in known if turns is not None]
        mean = sum(won) / len(won) if won else None
        return CeilingFigures(self.prior, len(known), len(won), mean, len(tasks) - len(known), counted)


@dataclass(frozen=True, slots=True)
class CeilingFigures:
    """How many of ``tasks`` the expert won with ``prior``, and in how many turns on average of those that it won.

    ``missing`` are the tasks more of which it is not known. ``counted`` are the figures with the counts, where the run's model
    names the places.
    """

    prior: str
    tasks: int
    won: int
    turns: float | None
    missing: int = 0
    counted: CeilingFigures | None = None

    @property
    def success(self) -> float:
        """The share of tasks won, in [0, 1]."""
        return self.won / self.tasks

    @classmethod
    def joined(cls, parts: Sequence[CeilingFigures]) -> CeilingFigures:
        """The ceilings of several runs with one prior as one: each task counts as often as it was played."""
        won = sum(part.won for part in parts)
        turns = sum(part.won * part.turns for part in parts if part.turns is not None)
        counted = [part.counted for part in parts if part.counted is not None]
        return cls(
            parts[0].prior,
            sum(part.tasks for part in parts),
            won,
            turns / won if won else None,
            sum(part.missing for part in parts),
            cls.joined(counted) if len(counted) == len(parts) else None,
        )


def prior_of(config: RunConfig) -> str | None:
    """By what the expert searches that is a run's ceiling; None for one that neither has skills that search nor learned to."""
    search = config.settings.get("search")
    if config.model is None or not isinstance(search, str):
        return learned_prior(config.agent, config.settings)
    return "random" if search == "llm" else search if search in PRIORS else None


def named_by_model(config: RunConfig) -> bool:
    """Whether the agent's own model names the places to look into."""
    return config.model is not None and config.settings.get("search") == "llm"


def ceiling_of(
    run: RunFolder, manifest: Manifest, tasks: Sequence[SelectedTask], watcher: Watcher | None = None
) -> Ceiling | None:
    """The ceiling over ``tasks``: what was kept, and what can be computed here, which is then kept.

    None where the agent does not search. Computing needs the world with exactly the run's data. Blocks for a few milliseconds
    per task; ``watcher`` gets how many are done and how many there are. A read-only folder is left alone.
    """
    config, prior = manifest.configuration, prior_of(manifest.configuration)
    if prior is None:
        return None
    priors = (prior, "counts") if named_by_model(config) else (prior,)
    known = {by: _kept(run, None if by == prior else by) for by in priors}
    missing = [(by, task) for by in priors for task in tasks if task.id not in known[by]]
    world = world_of_run(manifest) if missing else None
    if world is not None:
        for number, (by, task) in enumerate(missing, start=1):
            settings = {"search": by, **({"seed": config.seed} if by == "random" else {})}
            with suppress(HousequestError):  # a missing or damaged game, or a world whose expert has no such prior
                known[by][task.id] = expert_turns(world, world.task(task.id), config.max_turns, settings)
            if watcher is not None:
                watcher(number, len(missing))
        lines = [
            CeilingLine(task=task, turns=turns, prior=None if by == prior else by)
            for by in priors
            for task, turns in known[by].items()
        ]
        with suppress(OSError):  # a read-only folder
            atomic_write(run.ceilings_file, lines_of(lines))
    return Ceiling(prior, known[prior], known["counts"] if named_by_model(config) else None)


def kept_ceiling(run: RunFolder, config: RunConfig) -> Ceiling | None:
    """The ceiling as far as an earlier report has kept it; None where the agent does not search."""
    prior = prior_of(config)
    return None if prior is None else Ceiling(prior, _kept(run, None))


def _kept(run: RunFolder, prior: str | None) -> dict[str, int | None]:
    """The kept turns by task. What is damaged counts as not kept, since it can be computed again."""
    return {line.task: line.turns for line in kept_lines(CeilingLine, run.ceilings_file) if line.prior == prior}
