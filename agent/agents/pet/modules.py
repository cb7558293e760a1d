"""PET's modules in recorded episodes, measured as in the paper's section 4.4.

Planned sub-tasks are compared with those of the task's goal: are they the same, and how similar (table 2)?

Relevance is compared with the names in an expert's accepted commands, which it touched. A name judged for several sub-tasks
counts with its highest score, which decides if it was ever shown.

The paper judges Track along the expert's own episodes, which end with the task solved and the last sub-task due. In its own
episodes PET is not asked after winning, so there Track has no recall; `watch` replays an episode and asks.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from statistics import fmean
from typing import NamedTuple

from housequest.agent.agents.pet.agent import SUBTASKS, Pet, PetMemory
from housequest.agent.base import Grants, Turn
from housequest.agent.episodes.events import Body, Judged, ParseFailed, Planned, Progressed, Started, Stepped, branch
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.render.table import Column, Report, Section, Table, named_lines, percent, plain_data, wrapped
from housequest.agent.evaluation.runs.batch import run_workers
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.models.base import Timing
from housequest.agent.models.embeddings import Embedder
from housequest.knowledge.choosing import cosines
from housequest.knowledge.examples import in_words, played
from housequest.worlds.base import Observation, Transition, World
from housequest.worlds.errors import ConfigurationError, TaskNotFound, shown
from housequest.worlds.household.base import with_belief
from housequest.worlds.household.belief import names

_WORD = re.compile(r"[a-z0-9]+")
_LITTLE = frozenset({"a", "an", "the", "in", "on", "or"})
"""Words that sub-tasks may differ in: "put the egg in/on the desk" and "put egg in or on desk" are the same."""
Likeness = Callable[[str, str], float]  # The likeness of two lists of sub-tasks, as texts: 1 if they are the same.
THRESHOLDS = tuple(tenths / 10 for tenths in range(1, 10))
LEAST_SHOWN = 0.95
"""The least share of an expert's touched names that a calibrated threshold shows: a name masked in error never comes back."""
MISSED = 3  # The text shows at most this many plans that are not the annotated ones; the JSON has all.


def annotated_subtasks(world: World, task: str) -> tuple[str, ...]:
    """The sub-tasks of the task's goal, whatever words its player was told it in; empty if the goal is not known."""
    try:
        steps = world.household.steps(world.task(task).goal) if world.household else None
    except TaskNotFound:
        return ()
    return in_words(steps or ())


def by_words(planned: str, annotated: str) -> float:
    """The cosine similarity of two texts' counts of words."""
    counts = Counter(_words(planned)), Counter(_words(annotated))
    every = sorted(counts[0].keys() | counts[1].keys())
    (likeness,) = cosines([float(counts[0][word]) for word in every], [[float(counts[1][word]) for word in every]])
    return min(likeness, 1.0)


async def by_embeddings(pairs: Iterable[PlannedSubtasks], embedder: Embedder) -> Likeness:
    """The cosine similarity of the ``embedder``'s vectors, which are requested once. Raises ``ModelError``."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.text, pair.annotated_text)))
    vectors = dict(zip(texts, await embedder.embed(texts), strict=True)) if texts else {}
    return lambda planned, annotated: cosines(vectors[planned], [vectors[annotated]])[0]


class PlannedSubtasks(NamedTuple):
    """The planned sub-tasks of a task, and the ``annotated`` ones; ``goal`` is the planner's goal sentence."""

    planned: tuple[str, ...]
    annotated: tuple[str, ...]
    goal: str = ""

    @property
    def text(self) -> str:
        return ", ".join(self.planned)

    @property
    def annotated_text(self) -> str:
        return ", ".join(self.annotated)

    @property
    def right(self) -> bool:
        """True if they are the same, one by one, except for small words."""
        return list(map(_words, self.planned)) == list(map(_words, self.annotated))


class SubtaskFigures:
    """Figures of planning: of ``planned`` tasks whose annotation is known, ``right`` had exactly its sub-tasks;
    ``similarity`` is the mean. An unreadable plan counts as empty, wrong, and not similar to anything. ``missed`` are the
    others, as in the paper's table 4."""

    def __init__(self, pairs: Sequence[PlannedSubtasks], likeness: Likeness = by_words) -> None:
        alike = [likeness(pair.text, pair.annotated_text) if pair.planned else 0.0 for pair in pairs]
        self.missed = tuple(pair for pair in pairs if not pair.right)
        self.planned, self.right = len(pairs), len(pairs) - len(self.missed)
        self.accuracy = self.right / self.planned if pairs else None
        self.similarity = fmean(alike) if alike else None


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _LITTLE]


class WatchedEpisode(NamedTuple):
    """An episode's events, and the names that an expert touched. ``watched``: the modules were also asked after the last
    command. ``annotated`` are the sub-tasks of its goal; empty if not known."""

    bodies: tuple[Body, ...]
    touched: frozenset[str]
    watched: bool = False
    annotated: tuple[str, ...] = ()


class ThresholdFigures(NamedTuple):
    """The effect of a ``threshold``: the share of judgements that it masks, and of touched names that it shows."""

    threshold: float
    masked: float
    recall: float | None


class MaskingFigures:
    """Figures of masking, for places or objects. Shares lie in [0, 1]; None if the denominator is 0.

    ``judgements`` counts each name once per target, and again if its verdict changed; ``masked`` those below the threshold.
    Of the ``touched`` names that were judged, ``shown`` were not masked for some target. ``auc`` is the probability that a
    touched name scores higher than an untouched one, ties counting half (Figure 6). ``curve`` has other thresholds, to
    choose one by, and ``calibrated`` is the largest that shows enough of the touched names; 0, which masks nothing, if none
    does."""

    def __init__(self, seen: Sequence[WatchedEpisode], *, place: bool) -> None:
        said = ((number, body) for number, each in enumerate(seen) for body in each.bodies if isinstance(body, Judged))
        judged = [(number, thing) for number, body in said for thing in body.things if thing.place == place]
        used = {(number, thing.name) for number, thing in judged if thing.name in seen[number].touched}
        visible = {(number, thing.name) for number, thing in judged if not thing.masked}
        scored = [(number, thing.name, thing.score) for number, thing in judged if thing.score is not None]
        highest = {(number, name): score for number, name, score in sorted(scored, key=lambda each: each[2])}
        right = [score for key, score in highest.items() if key in used]
        wrong = [score for key, score in highest.items() if key not in used]
        self.judgements, self.masked = len(judged), sum(thing.masked for _, thing in judged)
        self.touched, self.shown = len(used), len(used & visible)
        self.share = self.masked / self.judgements if judged else None
        self.recall = self.shown / self.touched if used else None
        self.auc = auc(right, wrong)
        # A name without a score is always shown.
        self.curve = tuple(
            ThresholdFigures(
                threshold,
                sum(score < threshold for *_, score in scored) / len(judged),
                1 - sum(score < threshold for score in right) / len(used) if used else None,
            )
            for threshold in (THRESHOLDS if scored else ())
        )
        enough = (at.threshold for at in self.curve if at.recall is not None and at.recall >= LEAST_SHOWN)
        self.calibrated = max(enough, default=0.0)


class TrackingFigures:
    """Figures of tracking: the last sub-task was called finished ``finished`` times, ``rightly`` if the task had just been
    won. ``planned`` episodes had a plan, and ``won`` of them were won. ``watched`` counts those asked about after the last
    command. ``precision`` is the share of noticed ends that were right; early ones count against it. ``recall`` is that of
    won episodes whose end was noticed at once; None if nobody was asked at the end."""

    def __init__(self, seen: Iterable[WatchedEpisode]) -> None:
        marks: list[tuple[bool, bool, bool, bool]] = []
        for each in seen:
            # The number of commands until the last sub-task was called finished, and until the task was won.
            steps, length = 0, 0
            finished: int | None = None
            won: int | None = None
            for body in each.bodies:
                match body:
                    case Planned(role="subtasks", steps=plan):
                        length = len(plan)
                    case Progressed(role="tracker", step=step) if length and step >= length and finished is None:
                        finished = steps
                    case Stepped():
                        steps += 1
                        won = steps if body.won and won is None else won
                    case _:
                        pass
            if length:
                marks.append((won is not None, finished is not None, finished is not None and finished == won, each.watched))
        self.planned = len(marks)
        self.won, self.finished, self.rightly, self.watched = (sum(mark[at] for mark in marks) for at in range(4))
        self.precision = self.rightly / self.finished if self.finished else None
        self.recall = self.rightly / self.won if self.won and self.watched == self.planned else None


def planned_subtasks(seen: Iterable[WatchedEpisode]) -> tuple[PlannedSubtasks, ...]:
    """The plans of the episodes in which the planner was asked and whose annotation is known."""
    found: list[PlannedSubtasks] = []
    for each in seen:
        plan = next((body.steps for body in each.bodies if isinstance(body, Planned) and body.role == SUBTASKS.name), None)
        unread = any(isinstance(body, ParseFailed) and body.role == SUBTASKS.name and body.final for body in each.bodies)
        if each.annotated and (plan is not None or unread):
            goal = next((body.goal for body in each.bodies if isinstance(body, Started)), "")
            found.append(PlannedSubtasks(plan or (), each.annotated, goal))
    return tuple(found)


def touched(steps: Iterable[Stepped]) -> frozenset[str]:
    return frozenset(name for step in steps if step.accepted for name in names(step.command))


def auc(right: Collection[float], wrong: Collection[float]) -> float | None:
    """The area under the ROC curve of these scores; None if either class is empty."""
    if not right or not wrong:
        return None
    below = sorted(wrong)
    area = sum(bisect_left(below, score) + bisect_right(below, score) for score in right) / 2
    return area / (len(right) * len(wrong))


class ModulesReport(Report):
    """The figures of all modules over the episodes ``seen``, any sequences of events: a table for eliminating, sentences for
    planning and tracking. ``likeness`` compares sub-tasks; ``card`` gives the conditions of play and of judging."""

    def __init__(
        self, seen: Sequence[WatchedEpisode], likeness: Likeness = by_words, card: Mapping[str, str] | None = None
    ) -> None:
        self.episodes, self.card = len(seen), card or {}
        self.plans = SubtaskFigures(planned_subtasks(seen), likeness)
        self.places, self.objects = (MaskingFigures(seen, place=place) for place in (True, False))
        self.tracking = TrackingFigures(seen)

    def data(self) -> dict[str, object]:
        def masking(found: MaskingFigures) -> dict[str, object]:
            shares = {"share_masked": found.share, **plain_data(found, "touched", "recall", "auc")}
            curve = [plain_data(point, "threshold", "masked", "recall") for point in found.curve]
            return {"judged": found.judgements, "masked": found.masked, **shares, "curve": curve}

        missed = [plain_data(pair, "goal", "planned", "annotated") for pair in self.plans.missed]
        return {
            "card": dict(self.card),
            "episodes": self.episodes,
            "plan": plain_data(self.plans, "planned", "right", "accuracy", "similarity") | {"missed": missed},
            "places": masking(self.places),
            "objects": masking(self.objects),
            "track": plain_data(self.tracking, "planned", "won", "finished", "rightly", "precision", "recall"),
        }

    def sections(self) -> Iterator[Section]:
        yield named_lines([*self.card.items(), ("episodes", str(self.episodes))], width=10)
        yield _planned(self.plans, known=bool(self.tracking.planned))
        yield Table.of("", _MASKING, [("places", self.places), ("objects", self.objects)])
        yield _curves(self.places, self.objects)
        yield wrapped(_tracked(self.tracking))


_MASKING: tuple[Column[MaskingFigures], ...] = (
    Column("judged", lambda masking: masking.judgements),
    Column("masked", lambda masking: masking.share, percent),
    Column("touched", lambda masking: masking.touched),
    Column("recall", lambda masking: masking.recall, percent),
    Column("AUC", lambda masking: masking.auc, lambda auc: "-" if auc is None else f"{auc:.3f}"),
)


def _curves(*maskings: MaskingFigures) -> Section:
    points = [{point.threshold: (point.masked, point.recall) for point in masking.curve} for masking in maskings]
    rows = [
        (f"{threshold:.1f}", *(percent(share) for at in points for share in at.get(threshold, (None, None))))
        for threshold in THRESHOLDS
        if any(points)
    ]
    return Table(("threshold", "places masked", "recall", "objects masked", "recall"), tuple(rows)) if rows else ()


def _planned(plans: SubtaskFigures, *, known: bool) -> Iterator[str]:
    if not plans.planned:
        words = "Plan: the sub-tasks of these tasks are not known; look at the run where its games are."
        yield from wrapped(words) if known else ()
        return
    yield from wrapped(
        f"Plan: {plans.right} of {plans.planned} plans are the annotated sub-tasks ({percent(plans.accuracy)}); "
        f"the mean similarity to them is {plans.similarity:.2f}."
    )
    for pair in plans.missed[:MISSED]:
        yield from wrapped(f"told {shown(pair.goal, 200)}:", "  ", "    ")
        yield from wrapped(f"planned: {pair.text or 'nothing that could be read'}", "    ", "      ")
        yield from wrapped(f"annotated: {pair.annotated_text}", "    ", "      ")


def _tracked(tracking: TrackingFigures) -> str:
    if not tracking.planned:
        return "Track: there was no plan to track."
    finished = f"Track: {tracking.finished} of {tracking.planned} plans were said to be finished"
    if not tracking.watched:
        return f"{finished} before the task was. An expert's run with --model has Track's precision and recall."
    return (
        f"{finished}, {tracking.rightly} of them just when the task was won: precision {percent(tracking.precision)}, "
        f"recall {percent(tracking.recall)} of the {tracking.won} won."
    )


class FinishedEpisode(NamedTuple):
    """The final branch of a finished episode."""

    started: Started
    bodies: tuple[Body, ...]

    @property
    def steps(self) -> tuple[Stepped, ...]:
        return tuple(body for body in self.bodies if isinstance(body, Stepped))


def read_recorded(run: RunFolder, most: int | None = None) -> list[FinishedEpisode]:
    """The finished episodes of a run in task order. Raises ``ConfigurationError``, also if there are none."""
    found: list[FinishedEpisode] = []
    tasks = run.manifest().tasks
    finished = {result.task for result in run.results(tasks)}
    for task in tasks[:most]:
        events = list(read_episode(run.episode(task))) if task.id in finished else []
        bodies = tuple(event.body for event in branch(events))
        if started := next((body for body in bodies if isinstance(body, Started)), None):
            found.append(FinishedEpisode(started, bodies))
    if not found:
        raise ConfigurationError(f"{run.path} has no finished episode; `housequest eval` with --out {run.path} plays them.")
    return found


def watch_own(episode: FinishedEpisode, world: World) -> WatchedEpisode:
    """An episode that PET played, with the names that the world's expert touches in the same task."""
    example = played(world, world.task(episode.started.task))
    commands = () if example is None else example.commands
    used = frozenset(name for command in commands for name in names(command))
    return WatchedEpisode(episode.bodies, used, annotated=annotated_subtasks(world, episode.started.task))


async def watch(pet: Pet, episode: FinishedEpisode, world: World) -> WatchedEpisode:
    """Replay another agent's episode, and ask ``pet``'s modules before each command and after the last. Each step costs
    PET's usual calls, except for acting. Raises ``ModelError`` and ``Unsupported``."""
    told: list[Body] = [episode.started]

    def emit(body: Body, timing: Timing | None = None) -> None:
        del timing
        told.append(body)

    started = episode.started
    granted = Grants(task_type=started.type if "type" in started.grants else None)
    answer = with_belief(world.household, Observation(started.opening))
    memory: PetMemory = pet.begin(started.goal, answer, granted)
    before: tuple[Transition, ...] = ()
    for number, step in enumerate(episode.steps, 1):
        _, memory = await pet.look(memory, Turn(number, started.max_turns - number, before, belief=answer.belief), emit)
        told.append(step)
        answer = with_belief(world.household, step.transition.observation, answer.belief, step.command)
        before = (Transition(step.command, answer),)
    # Also if the player gave up before the first command: a plan is made from the goal alone.
    await pet.look(memory, Turn(len(episode.steps) + 1, 0, before, belief=answer.belief), emit)
    return WatchedEpisode(tuple(told), touched(episode.steps), True, annotated_subtasks(world, started.task))


async def watch_all(
    pet: Pet, episodes: Sequence[FinishedEpisode], world: World, concurrency: int, watcher: Callable[[int, int], None]
) -> list[WatchedEpisode]:
    """`watch` for many episodes, ``concurrency`` at once, in order; ``watcher`` gets the number done. An error ends all."""
    gate, done = asyncio.Semaphore(concurrency), count(1)

    async def one(episode: FinishedEpisode) -> WatchedEpisode:
        async with gate:
            seen = await watch(pet, episode, world)
        watcher(next(done), len(episodes))
        return seen

    return await run_workers(one(episode) for episode in episodes)
