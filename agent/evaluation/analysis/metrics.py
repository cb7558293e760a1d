"""What many episodes came to: every metric of a report, each defined where it is computed.

An errored episode counts as not won and is named. So does a task that a run has selected and not finished: the denominator
is every selected task. Only episodes that a person touched are left out, by name, for they say nothing of the agent.

Path weights. Anderson et al., "On Evaluation of Embodied Navigation Agents" (2018), weight each success by L* / max(L, L*),
where L is the length of the path that was taken and L* of the shortest; ALFRED (Shridhar et al., CVPR 2020, section 5) takes
the expert's for L*, and weights goal conditions alike (PLWSR and PLWGC in OPEx, section 4). Here L counts executed commands,
refused ones too, and L* is `PathLengths.best`: the shortest way where the planner found it, else the expert's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

from agent.config import Prices
from agent.evaluation.analysis.failures import LABELS, FailureKind
from agent.evaluation.analysis.paths import PathLengths
from agent.evaluation.analysis.statistics import Interval, bootstrap_mean, wilson
from agent.evaluation.runs.cost import Tokens, cost
from agent.evaluation.runs.result import Result, SelectedTask, total
from agent.evaluation.runs.timing import EpisodeTiming


@dataclass(frozen=True, slots=True)
class Extras:
    """What is known of a run beside its results: L* and the clock of each task by its id, and the model's prices."""

    paths: Mapping[str, PathLengths] = field(default_factory=dict[str, PathLengths])
    clocks: Mapping[str, EpisodeTiming] = field(default_factory=dict[str, EpisodeTiming])
    prices: Prices | None = None


@dataclass(frozen=True, slots=True)
class PlayedTask:
    """One task that counts; ``result`` is None while it has not been finished.

    Two are equal where what was played is: how long it took and what is known of the task besides do not matter.
    """

    task: SelectedTask
    result: Result | None = None
    par: PathLengths = field(default=PathLengths(), compare=False)
    clock: EpisodeTiming = field(default=EpisodeTiming(), compare=False)
    prices: Prices | None = field(default=None, compare=False)

    @property
    def won(self) -> bool:
        """Whether the task was won."""
        return self.result is not None and self.result.outcome == "won"

    @property
    def wording(self) -> str:
        """Whose sentence the goal was: ``template`` or ``human``; ``unknown`` where an old run has not finished the task."""
        said = (self.result.wording if self.result else None) or self.task.wording or "unknown"
        return said.partition(":")[0]

    @property
    def goal(self) -> float | None:
        """The share of the goal's conditions that were true at the end, from 0 to 1; None where the world does not tell.

        1 where the task was won. Of an errored episode it is what held when it broke. 0 where no command was executed, and of a
        task that is not finished.
        """
        if self.won:
            return 1.0
        if self.result is None or not self.result.steps:
            return 0.0
        met, conditions = self.result.met, self.result.conditions
        return None if met is None or not conditions else min(met / conditions, 1.0)

    @property
    def weight(self) -> float | None:
        """L* / max(L*, L), from 0 to 1; None where L* is not known. 1 where nothing was to be done and nothing was."""
        best, taken = self.par.best, self.result.steps if self.result else 0
        if best is None:
            return None
        return best / max(best, taken) if max(best, taken) else 1.0

    def weighted(self, value: float | None) -> float | None:
        """``value`` weighted by path length; 0 stays 0 whatever the path."""
        if not value:
            return value
        return None if self.weight is None else value * self.weight

    @property
    def tokens(self) -> Tokens | None:
        """The model's tokens, with what a cache served; None where it counted none of them."""
        result = self.result
        if result is None or (result.prompt_tokens is None and result.completion_tokens is None):
            return None
        return Tokens(result.prompt_tokens or 0, result.completion_tokens or 0, self.clock.cached)

    @property
    def cost(self) -> float | None:
        """What the model's tokens cost at the prices: 0 without a call; None where prices or tokens are not known."""
        if self.result is None or not self.result.calls:
            return 0.0
        return None if self.prices is None or self.tokens is None else cost(self.tokens, self.prices)


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure of several tasks, whose mean is only told where none of them lacks it."""

    values: tuple[float, ...] = ()
    missing: int = 0

    @property
    def total(self) -> float | None:
        """The sum; None where a task lacks the figure."""
        return None if self.missing else fsum(self.values)

    @property
    def mean(self) -> float | None:
        """The mean; None where a task lacks the figure, and of no tasks."""
        return None if self.missing or not self.values else fsum(self.values) / len(self.values)

    @property
    def interval(self) -> Interval | None:
        """The 95 % bootstrap interval of ``mean``; None where that is."""
        return None if self.mean is None else bootstrap_mean(self.values)


def _sample(values: Iterable[float | None]) -> Sample:
    every = list(values)
    known = tuple(value for value in every if value is not None)
    return Sample(known, len(every) - len(known))


@dataclass(frozen=True, slots=True)
class PathSources:
    """Of how many tasks L* is the ``planner``'s shortest way, of how many the ``expert``'s, and of how many it is not known."""

    planner: int
    expert: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Figures:
    """Tasks of one kind, and what their episodes came to."""

    played: tuple[PlayedTask, ...] = ()

    @property
    def results(self) -> list[Result]:
        """The episodes that have ended."""
        return [each.result for each in self.played if each.result is not None]

    @property
    def episodes(self) -> int:
        """The denominator: all selected tasks, finished or not, without assisted episodes."""
        return len(self.played)

    @property
    def finished(self) -> int:
        """How many episodes have ended."""
        return len(self.results)

    @property
    def unfinished(self) -> int:
        """How many have not."""
        return self.episodes - self.finished

    @property
    def won(self) -> int:
        """How many tasks were won."""
        return sum(each.won for each in self.played)

    @property
    def errors(self) -> int:
        """How many episodes errored."""
        return sum(result.outcome == "error" for result in self.results)

    @property
    def lost(self) -> int:
        """How many episodes ended otherwise."""
        return self.finished - self.won - self.errors

    @property
    def success(self) -> float:
        """SR: the share of the tasks that was won, in [0, 1] (ALFWorld, Shridhar et al., ICLR 2021, section 5)."""
        return self.won / self.episodes if self.episodes else 0.0

    @property
    def interval(self) -> Interval:
        """The 95 % interval of ``success``, Wilson's."""
        return wilson(self.won, self.episodes)

    @property
    def goal(self) -> Sample:
        """GC, goal-condition success: the mean of `PlayedTask.goal` (ALFRED, section 5: the ratio of goal conditions completed
        at the end of an episode to those necessary to have finished the task).
        """
        return _sample(each.goal for each in self.played)

    @property
    def success_by_path(self) -> Sample:
        """SR weighted by path length: 1 of every won task, weighted, and 0 of the others (Anderson et al. 2018)."""
        return _sample(each.weighted(float(each.won)) for each in self.played)

    @property
    def goal_by_path(self) -> Sample:
        """GC weighted by path length: the share of every task, weighted (ALFRED, section 5)."""
        return _sample(each.weighted(each.goal) for each in self.played)

    @property
    def paths(self) -> PathSources:
        """Where the L* of the tasks come from."""
        shortest = sum(each.par.shortest is not None for each in self.played)
        known = sum(each.par.best is not None for each in self.played)
        return PathSources(shortest, known - shortest, self.episodes - known)

    @property
    def commands(self) -> Sample:
        """Executed commands of every finished episode, refused ones too; an unreadable reply is none, but spends a turn."""
        return _sample(result.steps for result in self.results)

    @property
    def steps(self) -> int:
        """The sum of ``commands``."""
        return sum(result.steps for result in self.results)

    @property
    def mean_steps(self) -> float | None:
        """Executed commands an episode; None before one has finished."""
        return self.commands.mean

    @property
    def mean_steps_won(self) -> float | None:
        """Executed commands a won episode; None before one was won."""
        return _sample(result.steps for result in self.results if result.outcome == "won").mean

    @property
    def refused(self) -> int:
        """Commands at which nothing happened."""
        return sum(result.refused for result in self.results)

    @property
    def repeated(self) -> int:
        """Commands that only repeated, as `agent.evaluation.runs.result.repeats` counts them."""
        return sum(result.repeated or 0 for result in self.results)

    @property
    def unreadable(self) -> int:
        """Replies of the model that could not be read, also those that were asked for again with success."""
        return sum(result.unreadable for result in self.results)

    @property
    def calls(self) -> int:
        """Calls of the model, on the branch that was played on."""
        return sum(result.calls for result in self.results)

    @property
    def prompt_tokens(self) -> int | None:
        """Tokens that the model read, by its own count; None where it counted none."""
        return total(result.prompt_tokens for result in self.results)

    @property
    def completion_tokens(self) -> int | None:
        """Tokens that the model wrote, by its own count; None where it counted none."""
        return total(result.completion_tokens for result in self.results)

    @property
    def cached_tokens(self) -> int | None:
        """Prompt tokens that a cache served, where the endpoint told of them; None where it never did."""
        every = [each.tokens for each in self.played if each.tokens is not None]
        return total(None if tokens.cached is None else tokens.prompt - tokens.fresh for tokens in every)

    @property
    def fresh_tokens(self) -> int | None:
        """Prompt tokens that no cache is known to have served; None where none were counted."""
        return total(None if each.tokens is None else each.tokens.fresh for each in self.played)

    @property
    def model_seconds(self) -> Sample:
        """Seconds of the model's calls, with attempts and waits, of every finished episode; 0 without a call."""
        return _sample((each.clock.model if each.result.calls else 0.0) for each in self.played if each.result is not None)

    @property
    def wall_seconds(self) -> Sample:
        """Seconds of every finished episode in all; with several workers they run side by side, so the run took less."""
        return _sample(each.clock.wall for each in self.played if each.result is not None)

    @property
    def cost(self) -> Sample:
        """What every finished episode cost at the user's prices, in their currency (`agent.evaluation.runs.cost.cost`)."""
        return _sample(each.cost for each in self.played if each.result is not None)


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """The episodes that were not won for one reason, in the order of the tasks; each has its ``failure``."""

    kind: FailureKind
    results: tuple[Result, ...]

    @property
    def label(self) -> str:
        """The class in a few words."""
        return LABELS[self.kind]


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in figures: over all of its tasks, by their type, and by whose sentence the goal was."""

    overall: Figures
    by_type: dict[str, Figures]
    by_wording: dict[str, Figures]
    assisted: tuple[str, ...] = ()
    prices: Prices | None = field(default=None, compare=False)

    @property
    def errored(self) -> tuple[Result, ...]:
        """The episodes that errored."""
        return tuple(result for result in self.overall.results if result.outcome == "error")

    @property
    def lost(self) -> tuple[Result, ...]:
        """The episodes that were not won and did not error."""
        return tuple(result for result in self.overall.results if result.outcome not in {"won", "error"})

    @property
    def failures(self) -> tuple[FailureGroup, ...]:
        """Why episodes were not won, class by class in the order of `LABELS`; errored ones by what broke."""
        found: dict[FailureKind, list[Result]] = {kind: [] for kind in LABELS}
        for result in self.overall.results:
            if result.failure is not None:
                found[result.failure.kind].append(result)
        return tuple(FailureGroup(kind, tuple(results)) for kind, results in found.items() if results)

    @property
    def refused(self) -> int:
        """Commands at which nothing happened."""
        return self.overall.refused

    @property
    def calls(self) -> int:
        """Calls of the model."""
        return self.overall.calls

    @property
    def unreadable(self) -> int:
        """Replies that could not be read."""
        return self.overall.unreadable

    @property
    def prompt_tokens(self) -> int | None:
        """Tokens that the model read; None where it counted none."""
        return self.overall.prompt_tokens

    @property
    def completion_tokens(self) -> int | None:
        """Tokens that the model wrote; None where it counted none."""
        return self.overall.completion_tokens


def summarise(tasks: Sequence[SelectedTask], results: Iterable[Result], extras: Extras | None = None) -> Summary:
    """The figures of the selected ``tasks``; a task without a result is unfinished."""
    extras, found = extras or Extras(), {result.task: result for result in results}
    assisted = tuple(task.id for task in tasks if task.id in found and found[task.id].assisted)
    left_out = set(assisted)
    played = tuple(
        PlayedTask(
            task,
            found.get(task.id),
            extras.paths.get(task.id, PathLengths()),
            extras.clocks.get(task.id, EpisodeTiming()),
            extras.prices,
        )
        for task in tasks
        if task.id not in left_out
    )
    by_type, by_wording = _by(played, lambda each: each.task.type), _by(played, lambda each: each.wording)
    return Summary(Figures(played), by_type, by_wording, assisted, extras.prices)


def _by(played: Sequence[PlayedTask], name: Callable[[PlayedTask], str]) -> dict[str, Figures]:
    names = sorted({name(each) for each in played})
    return {of: Figures(tuple(each for each in played if name(each) == of)) for of in names}
