"""The metrics of a run's report, each defined where it is computed.

The denominator is every task that was played to its end; errored episodes count as not won. Tasks that are not played yet are
counted apart, and in no rate. Episodes where a person intervened are left out, by name.

Path weights. Anderson et al., "On Evaluation of Embodied Navigation Agents" (2018), weight each success by L* / max(L, L*),
where L is the length of the path taken and L* of the shortest; ALFRED (Shridhar et al., CVPR 2020, section 5) takes the
expert's for L*, and weights goal conditions alike (PLWSR and PLWGC in OPEx, section 4). Here L counts executed commands, also
refused ones, and L* is `PathLengths.best`: the shortest path where the planner found it, else the expert's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from operator import attrgetter
from statistics import fmean
from typing import Any, NamedTuple

from housequest.agent.config import Prices
from housequest.agent.evaluation.analysis.failures import FailureKind
from housequest.agent.evaluation.analysis.statistics import Interval, bootstrap_mean, bootstrap_ratio, clustered, ratio, wilson
from housequest.agent.evaluation.runs.files import SelectedTask, total
from housequest.agent.evaluation.runs.folder import Result, joined_roles
from housequest.agent.evaluation.runs.usage import EpisodeTiming, Tokens, cost
from housequest.agent.models.base import Waste
from housequest.worlds.base import Metric, Played


class PathLengths(NamedTuple):
    """Commands that a task takes: the world's ``expert``, who sees what a player sees, and the ``shortest`` path. None
    where the expert failed or ran out of turns, or where the shortest path is unknown. Where the world's benchmark has
    demonstrations, ``annotated`` is the length of its own, which is then the expert's, and ``conditions`` how many goal
    conditions it counts. ``together`` are the most rounds that the run's players need if they know everything.
    """

    expert: int | None = None
    shortest: int | None = None
    annotated: int | None = None
    conditions: int | None = None
    together: int | None = None

    @property
    def best(self) -> int | None:
        """L*: the shortest path where known, else the expert's; None where neither is."""
        return self.expert if self.shortest is None else self.shortest


class Ceiling(NamedTuple):
    """The expert's result with the location ``prior`` of a run: its turns by task, None where it does not win. ``counted``
    is the same with the counts, where the run's model names the places.
    """

    prior: str
    turns: Mapping[str, int | None]
    counted: Mapping[str, int | None] | None = None


class CeilingFigures(NamedTuple):
    """The number of ``tasks`` that the expert ``won`` with ``prior``, and its mean ``turns`` to win. ``missing``
    are the tasks more of which it is not known. ``counted`` are the figures with the counts, where the run's model names the
    places.
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
    def of(cls, played: Sequence[tuple[Ceiling | None, str]]) -> CeilingFigures | None:
        """The figures over tasks, each with the ceiling of its run; None where a run has none, or it is known of no task."""
        runs = [(ceiling, task) for ceiling, task in played if ceiling is not None]
        known = [ceiling.turns[task] for ceiling, task in runs if task in ceiling.turns]
        if not known or len(runs) < len(played):
            return None
        counted = cls.of([(Ceiling("counts", of.counted), task) for of, task in runs if of.counted is not None])
        won = [turns for turns in known if turns is not None]
        mean = sum(won) / len(won) if won else None
        return cls(runs[0][0].prior, len(known), len(won), mean, len(runs) - len(known), counted)


@dataclass(frozen=True, slots=True)
class Extras:
    """Facts about a run beside its results: L* and the timing of each task by id, the model's prices, a planner's
    ceiling, and what the world's benchmark computes.
    """

    paths: Mapping[str, PathLengths] = field(default_factory=dict[str, PathLengths])
    clocks: Mapping[str, EpisodeTiming] = field(default_factory=dict[str, EpisodeTiming])
    prices: Prices | None = None
    ceiling: Ceiling | None = None
    metrics: tuple[Metric, ...] = ()


@dataclass(frozen=True, slots=True)
class PlayedTask:
    """A task that counts; ``result`` is None until it is finished. Equality ignores timing and other extras."""

    task: SelectedTask
    result: Result | None = None
    par: PathLengths = field(default=PathLengths(), compare=False)
    clock: EpisodeTiming = field(default=EpisodeTiming(), compare=False)
    extras: Extras = field(default=Extras(), compare=False)

    @property
    def ceiling(self) -> int | None:
        """The turns in which the expert wins it by the prior of the run; None if it does not, or if it is not known."""
        return self.extras.ceiling.turns.get(self.task.id) if self.extras.ceiling else None

    @property
    def won(self) -> bool:
        """True if the task was won."""
        return self.result is not None and self.result.won

    @property
    def wording(self) -> str:
        """The author of the goal sentence: ``template`` or ``human``; ``unknown`` where only a result names the task."""
        said = (self.result.wording if self.result else None) or self.task.wording or "unknown"
        return said.partition(":")[0]

    @property
    def goal(self) -> float | None:
        """The share of goal conditions true at the end, in [0, 1]; None where the world does not report it, and until the task
        is finished. 1 for a won task, 0 for one that had no command executed. For an errored episode, the share when it broke.
        """
        if self.result is None:
            return None
        if self.won:
            return 1.0
        if not self.result.steps:
            return 0.0
        met, conditions = self.result.met, self.result.conditions
        return None if met is None or not conditions else min(met / conditions, 1.0)

    @property
    def weight(self) -> float | None:
        """L* / max(L*, L), in [0, 1]; None where L* is unknown, and 1 where both are 0."""
        best, taken = self.par.best, self.result.steps if self.result else 0
        if best is None:
            return None
        return best / max(best, taken) if max(best, taken) else 1.0

    def weighted(self, value: float | None) -> float | None:
        """``value`` weighted by path length; 0 stays 0 even where L* is unknown."""
        if not value:
            return value
        return None if self.weight is None else value * self.weight

    def shared(self, above: str, below: str) -> tuple[float, float] | None:
        """Two counts of `PlayerShare`, summed over all players; None if one played alone, or the episode is not finished."""
        if self.result is None or not self.result.players:
            return None
        each = self.result.players.values()
        return fsum(getattr(one, above) for one in each), fsum(getattr(one, below) for one in each)

    @property
    def measured(self) -> Played:
        """The task as the metrics of a world see it."""
        result, par = self.result, self.par
        conditions = par.conditions or (result.conditions if result else None)
        met = (conditions if self.won else result.met if result else 0) or 0
        return Played(self.won, met, conditions, result.steps if result else 0, par.annotated, result.refused if result else 0)

    @property
    def tokens(self) -> Tokens | None:
        """The model's tokens, cached ones included; None where it counted none."""
        result = self.result
        if result is None or (result.prompt_tokens is None and result.completion_tokens is None):
            return None
        return Tokens.of(result, self.clock.cached)

    @property
    def cost(self) -> float | None:
        """The cost of all tokens, wasted ones included: 0 without a call; None where prices or tokens are unknown."""
        if self.result is None or not self.result.calls:
            return 0.0
        prices = self.extras.prices
        if prices is None or self.tokens is None or (paid := cost(self.tokens, prices, self.result.roles)) is None:
            return None
        return paid + sum(cost(Tokens(*wasted), prices.of(role)) or 0.0 for role, (_, *wasted) in self.clock.wasted.items())


def wins(tries: Sequence[PlayedTask]) -> tuple[int, int]:
    """The number of tries that were won, and of all."""
    return sum(each.won for each in tries), len(tries)


@dataclass(frozen=True, slots=True)
class EpisodeFigure:
    """A figure of each finished episode, None where it is unknown. ``share``: it lies in [0, 1]. ``sums``: it is two terms, of
    whose sums the figure of several episodes is the ratio. ``short`` heads its column, if that is not the ``label``. ``by`` is
    a fact about the task that it takes, None if that is unknown: how an episode ended must not decide whether it is counted.
    """

    key: str
    label: str
    share: bool
    value: Callable[[PlayedTask], Any]
    sums: bool = False
    short: str = ""
    by: Callable[[PlayedTask], Any] = bool

    @classmethod
    def of(cls, metric: Metric) -> EpisodeFigure:
        """The figure that a world's benchmark computes."""
        return cls(metric.key, metric.label, True, lambda each: metric.terms(each.measured), True, metric.label)

    def mean(self, tries: Sequence[PlayedTask]) -> Any:
        """The figure of several tries of one task; None where one of them lacks it."""
        values = [self.value(each) for each in tries]
        if None in values:
            return None
        return tuple(map(fsum, zip(*values, strict=True))) if self.sums else fmean(values)


SUCCESS = EpisodeFigure("success", "success", True, lambda each: float(each.won))
GOAL = EpisodeFigure("goal_conditions", "goal conditions (GC)", True, lambda each: each.goal, short="GC")


def _by_path(key: str, label: str, short: str, value: Callable[[PlayedTask], float | None]) -> EpisodeFigure:
    name = f"{label} by path ({short})"
    return EpisodeFigure(key, name, True, lambda each: each.weighted(value(each)), short=short, by=attrgetter("weight"))


SHARES = (
    GOAL,
    _by_path("success_by_path", "success", "SR/path", lambda each: float(each.won)),
    _by_path("goal_conditions_by_path", "goal conditions", "GC/path", lambda each: each.goal),
)
"""Figures of worlds whose benchmark computes no metrics of its own."""
STEPS = EpisodeFigure("steps", "steps an episode", False, lambda each: each.result and each.result.steps)
COST = EpisodeFigure("cost", "cost", False, attrgetter("cost"))
COUNTS = (
    STEPS,
    EpisodeFigure("refused", "refused commands", False, attrgetter("result.refused")),
    EpisodeFigure("repeated", "repeated commands", False, attrgetter("result.repeated")),
    EpisodeFigure("low_level", "low-level actions", False, attrgetter("result.low_level")),
    EpisodeFigure("diverged", "divergences of the simulator", False, attrgetter("result.diverged")),
)
ROUNDS = EpisodeFigure("rounds", "rounds", False, lambda each: each.result and each.result.turns)


def _shared(key: str, label: str, above: str, below: str) -> EpisodeFigure:
    return EpisodeFigure(key, label, True, lambda each: each.shared(above, below), True)


def _told(key: str) -> EpisodeFigure:
    return EpisodeFigure(key, key, False, lambda each: (found := each.shared(key, key)) and found[0])


TOGETHER = (
    ROUNDS,
    _shared("refused_share", "commands that were refused", "refused", "steps"),
    _shared("idle_share", "turns without anything to do", "idle", "turns"),
    _shared("looked_twice", "places looked into twice", "looked_twice", "looked"),
    _shared("treated_twice", "things treated twice", "treated_twice", "treated"),
    _shared("same_subgoal", "turns with another's subgoal", "alike", "aimed"),
    _shared("influence", "messages before a new subgoal", "swayed", "heard"),
    _shared("changed_unspoken", "turns that did so without any", "changed", "unspoken"),
    _told("messages"),
    _told("characters"),
)
"""The figures of several players in one house; `docs/explanation/together.md` has their sources."""
USE = (
    EpisodeFigure("calls", "calls of the model", False, attrgetter("result.calls")),
    EpisodeFigure("tokens", "tokens", False, attrgetter("result.tokens")),
    COST,
)
"""The use of a model, and its cost."""


class Sample(NamedTuple):
    """One figure of several tasks: the ratio of the sums of its two terms, which is a mean where the second are 1. It is given
    only if every task has it. A `Metric` that is a share of tasks has Wilson's interval, all else a bootstrap's.
    """

    terms: tuple[tuple[float, float], ...] = ()
    missing: int = 0
    metric: bool = False

    @property
    def total(self) -> float | None:
        """The sum of the first terms; None where a task lacks the figure, and of no tasks."""
        return None if self.missing or not self.terms else fsum(above for above, _ in self.terms)

    @property
    def mean(self) -> float | None:
        """The figure; None where a task lacks it, and of no tasks."""
        return None if self.missing or not any(below for _, below in self.terms) else ratio(self.terms)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of ``mean``; None where that is, and where a bootstrap of equal values would tell no spread."""
        if self.mean is None:
            return None
        values = [above for above, below in self.terms if below == 1]
        if len(values) < len(self.terms):
            # A resample of nothing but zeros below the line has no ratio.
            spread = len({*self.terms}) > 1 and all(below for _, below in self.terms)
            return bootstrap_ratio(self.terms) if spread else None
        if self.metric and {*values} <= {0, 1}:
            return wilson(sum(values), len(values))
        return bootstrap_mean(values) if len({*values}) > 1 else None


def sample_of(values: Iterable[float | tuple[float, float] | None], *, metric: bool = False) -> Sample:
    """The sample of these values or pairs of terms, None of those that are unknown."""
    every = list(values)
    known = tuple(value if isinstance(value, tuple) else (value, 1.0) for value in every if value is not None)
    return Sample(known, len(every) - len(known), metric)


@dataclass
class Figures:
    """A group of tasks and the figures of their episodes; equal where the tasks ``played`` are."""

    played: tuple[PlayedTask, ...] = ()

    def __post_init__(self) -> None:
        played = self.counted
        # The finished episodes, which all rates are over.
        results = self.results = [each.result for each in played if each.result is not None]
        # How many tasks are selected, without assisted episodes, and how many of them are finished.
        self.episodes, self.finished = len(self.played), len(results)
        self.unfinished = self.episodes - self.finished
        self.won = sum(each.won for each in played)
        self.errors = sum(result.outcome == "error" for result in results)
        # Episodes that were neither won nor errored.
        self.lost = self.finished - self.won - self.errors
        # SR: the share of tasks won, in [0, 1] (ALFWorld, Shridhar et al., ICLR 2021, section 5); None before one is finished.
        self.success = self.won / self.finished if self.finished else None
        # GC, goal-condition success: the mean of `PlayedTask.goal` (ALFRED, section 5: the ratio of goal conditions completed
        # at the end of an episode to those necessary to have finished the task).
        # SR weighted by path length (Anderson et al. 2018), and GC weighted by path length (ALFRED, section 5).
        self.goal, self.success_by_path, self.goal_by_path, *_ = map(self.of, SHARES)
        # Executed commands of each finished episode, also refused ones; an unreadable reply is a turn without a command.
        self.commands = self.of(STEPS)
        self.steps = sum(result.steps for result in results)
        # Executed commands per won episode; None before one was won.
        self.mean_steps_won = sample_of(result.steps for result in results if result.won).mean
        # Commands at which nothing happened.
        self.refused = sum(result.refused for result in results)
        # Repeated commands, as `housequest.agent.evaluation.runs.folder.repeats` counts them.
        self.repeated = sum(result.repeated for result in results)
        # Commands that were enacted in a simulator, by so many ``low_level`` actions; None where none was.
        self.enacted = total(result.enacted for result in results)
        self.low_level = total(result.low_level for result in results)
        # The enacted commands that the simulator could not carry out as the world did.
        self.diverged = total(result.diverged for result in results)
        # Model replies that could not be read, also those whose retry succeeded.
        self.unreadable = sum(result.unreadable for result in results)
        # Model calls on the branch that was played on.
        self.calls = sum(result.calls for result in results)
        # By the model's count, as ``completion_tokens`` are; None where it counted none.
        self.prompt_tokens = total(result.prompt_tokens for result in results)
        self.completion_tokens = total(result.completion_tokens for result in results)
        # What was paid for beside the calls: probes, and replies that had to be asked for again.
        self.wasted = Waste.joined(waste for each in played for waste in each.clock.wasted.values())
        # Of these, tokens of thinking; None where the endpoint never told them apart.
        self.thinking_tokens = total(result.thinking_tokens for result in results)
        # The models that answered, as their servers call them, and when the first and the last call was answered.
        self.served = sorted({each for played_one in played for each in played_one.clock.served})
        times = [time for played_one in played for time in played_one.clock.calls or ()]
        self.called = (min(times), max(times)) if times else None
        # How the model's server had to be asked, such as without a temperature.
        self.learned = sorted({words for result in results for words in result.learned or ()})
        # What each role used where roles have models of their own; else None.
        self.roles = joined_roles(results)
        counted = [each.tokens for each in played if each.tokens is not None]
        # Prompt tokens served by a cache; None where the endpoint never reported any.
        self.cached_tokens = total(None if tokens.cached is None else tokens.prompt - tokens.fresh for tokens in counted)
        # Prompt tokens not known to be served by a cache; None where none were counted.
        self.fresh_tokens = total(tokens.fresh for tokens in counted)
        # Seconds of model calls in finished episodes, retries and waits included; 0 without a call.
        self.model_seconds = sample_of(each.clock.model if each.result and each.result.calls else 0.0 for each in played)
        # The sum of the finished episodes' seconds; parallel workers finish the run sooner.
        self.wall_seconds = sample_of(each.clock.wall for each in played)
        # The cost of finished episodes at the user's prices, in their currency (`runs.usage.cost`).
        self.cost = self.of(COST)
        # What the expert reaches on the finished tasks.
        self.ceiling = CeilingFigures.of([(each.extras.ceiling, each.task.id) for each in played])

    @property
    def so_far(self) -> str:
        """The number of tasks, with those that the figures cover if not all are finished: ``28 of 40``."""
        return f"{self.finished} of {self.episodes}" if self.unfinished else str(self.episodes)

    @property
    def counted(self) -> tuple[PlayedTask, ...]:
        """The tasks that are finished."""
        return tuple(each for each in self.played if each.result is not None)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of ``success``, in which a task that was played several times is one task; see `clustered`."""
        return clustered([wins(tries) for tries in self.tries.values()]) if self.tries else None

    @cached_property
    def tries(self) -> dict[str, list[PlayedTask]]:
        """The finished episodes of each task."""
        found: dict[str, list[PlayedTask]] = {}
        for each in self.counted:
            found.setdefault(each.task.id, []).append(each)
        return found

    def of(self, figure: EpisodeFigure) -> Sample:
        """This figure of the finished episodes."""
        return sample_of((figure.value(each) for each in self.counted), metric=figure.sums)

    @property
    def paths(self) -> dict[str, int]:
        """For how many tasks L* is the ``planner``'s shortest path or the ``expert``'s, and for how many it is ``unknown``."""
        shortest = sum(each.par.shortest is not None for each in self.counted)
        known = sum(each.par.best is not None for each in self.counted)
        return {"planner": shortest, "expert": known - shortest, "unknown": self.finished - known}

    @property
    def asked(self) -> str:
        """The way in which the model was asked, in words."""
        plain = sum(result.plain or 0 for result in self.results)
        ways = [way for way, calls in (("as a chat", self.calls - plain), ("as plain text", plain)) if calls]
        return "; ".join((" and ".join(ways) or "no model", *self.learned))


@dataclass
class Summary:
    """The figures of the tasks ``played`` in one run or several: overall, by task type, and by who wrote the goal sentence.
    ``assisted`` tasks are left out; ``metrics`` are what the world's benchmark computes.
    """

    played: tuple[PlayedTask, ...]
    assisted: tuple[str, ...] = ()
    prices: Prices | None = field(default=None, compare=False)
    metrics: tuple[Metric, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        self.overall = Figures(self.played)

    @cached_property
    def by_type(self) -> dict[str, Figures]:
        """The figures of each type of task."""
        return self._by(lambda each: each.task.type)

    @cached_property
    def by_wording(self) -> dict[str, Figures]:
        """The figures by who wrote the goal sentence."""
        return self._by(lambda each: each.wording)

    def _by(self, name: Callable[[PlayedTask], str]) -> dict[str, Figures]:
        names = sorted({name(each) for each in self.played})
        return {of: Figures(tuple(each for each in self.played if name(each) == of)) for of in names}

    @property
    def shares(self) -> tuple[EpisodeFigure, ...]:
        """The shares that say more than success: the metrics of the world's benchmark, or ours where it has none, and those
        that were added.
        """
        return self.shares_of(self.metrics)

    def shares_of(self, metrics: Sequence[Metric]) -> tuple[EpisodeFigure, ...]:
        """The shares if these are the ``metrics``."""
        own = tuple(EpisodeFigure.of(metric) for metric in metrics if not metric.added)
        usual = () if any(not metric.added for metric in self.metrics) else SHARES
        return (*own, *usual, *(EpisodeFigure.of(metric) for metric in metrics if metric.added))

    @property
    def errored(self) -> tuple[Result, ...]:
        """The episodes that errored."""
        return tuple(result for result in self.overall.results if result.outcome == "error")

    @property
    def lost(self) -> tuple[Result, ...]:
        """The episodes that were neither won nor errored."""
        return tuple(result for result in self.overall.results if result.outcome not in {"won", "error"})

    @property
    def failures(self) -> dict[FailureKind, list[Result]]:
        """The episodes that were not won, in task order, by class in the order of `FailureKind`; errored ones by what broke."""
        found: dict[FailureKind, list[Result]] = {kind: [] for kind in FailureKind}
        for result in self.overall.results:
            if result.failure is not None:
                found[result.failure.kind].append(result)
        return {kind: results for kind, results in found.items() if results}


def summarise(tasks: Sequence[SelectedTask], results: Iterable[Result], extras: Extras | None = None) -> Summary:
    """The figures of the selected ``tasks``; a task without a result is unfinished."""
    known, found = extras or Extras(), {result.task: result for result in results}
    assisted = [task.id for task in tasks if task.id in found and found[task.id].assisted]
    paths, clocks, left_out = known.paths, known.clocks, set(assisted)
    played = (
        PlayedTask(of, found.get(of.id), paths.get(of.id, PathLengths()), clocks.get(of.id, EpisodeTiming()), known)
        for of in tasks
        if of.id not in left_out
    )
    return Summary(tuple(played), tuple(assisted), known.prices, known.metrics)


def joined(summaries: Sequence[Summary]) -> Summary:
    """Several runs as one: each task counts as often as it was played. The ceiling is of all of it, None where one lacks it."""
    played = tuple(each for summary in summaries for each in summary.played)
    assisted = dict.fromkeys(task for summary in summaries for task in summary.assisted)
    prices, metrics = (summaries[0].prices, summaries[0].metrics) if summaries else (None, ())
    return Summary(played, tuple(assisted), prices, metrics)


class Measured(NamedTuple):
    """A figure of ours to set beside published ones: ``success`` with its interval, and what ``trials`` it is of, in words.
    ``single``: a figure of one trial is of the same kind. None before an episode is finished.
    """

    name: str
    success: float | None
    interval: Interval | None
    trials: str = "1"
    single: bool = True
