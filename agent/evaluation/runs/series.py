"""Series of runs: each task played several times (``repeat``), or those that were not won played again (``retries``).

Each run of a series is a run like any other, in its own folder below the series', so that whatever holds for runs holds for it.
The first is the run that the same command would play without repeats or retries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from housequest.agent.base import Attempt
from housequest.agent.config import Configuration, Settings
from housequest.agent.episodes.events import ParseFailed, Stepped, Thought, branch
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.result import Result, SelectedTask
from housequest.agent.evaluation.runs.spec import FIRST, Place, RunSpec, make_run_spec
from housequest.agent.evaluation.runs.sweep import ArmRun, SeriesKind, SweepFolder
from housequest.worlds.base import Observation, Transition
from housequest.worlds.errors import ConfigurationError

REFLECTION = "reflection"
"""The role whose thought says what went wrong in the attempt before."""


def series_kind(settings: Settings) -> SeriesKind | None:
    """Which series ``settings`` ask for; None for a single run. Raises ``ConfigurationError`` where they ask for two."""
    if settings.repeat > 1 and settings.retries:
        raise ConfigurationError("--repeat and --retries cannot be given together: count one of them at a time.")
    return "repeats" if settings.repeat > 1 else "attempts" if settings.retries else None


def series_folder(kind: SeriesKind, first: RunSpec, out: Path | None) -> SweepFolder:
    """The folder of a series: ``out``, or one named after its first run, however many others there are."""
    default = first.default_folder
    return SweepFolder(out if out is not None else default.with_name(f"{default.name}-{kind}"))


def series(configuration: Configuration, folder: SweepFolder, *, retry_errors: bool = False) -> Iterator[ArmRun]:
    """The runs of the series into ``folder``; each must have been played to its end before the next is asked for.

    An attempt is not followed by another before all of its episodes came to an end without an error: an error is no lost game,
    and playing it again would change what the next attempt is told. With ``retry_errors`` what errored was played again, and
    what errors still is left out of further attempts.

    Raises ``ConfigurationError`` and ``KnowledgeError``.
    """
    settings = configuration.settings
    runs: list[ArmRun] = []
    if series_kind(settings) == "repeats":
        runs = [_run(configuration, Place(repeat=number)) for number in range(1, settings.repeat + 1)]
        folder.begin(tuple(runs), "repeats")
        yield from runs
        return
    place: Place | None = FIRST
    while place is not None:
        runs.append(_run(configuration, place))
        _begin(folder, runs)
        yield runs[-1]
        place = _next(folder, runs, retry_errors) if len(runs) <= settings.retries else None


def _begin(folder: SweepFolder, runs: Sequence[ArmRun]) -> None:
    """List the attempts so far, unless more are listed already: a series that goes on does not lose those that follow."""
    listed = folder.contents() if folder.begun else None
    known = [run.folder for run in listed.runs] if listed and listed.series == "attempts" else []
    if known[: len(runs)] != [run.folder for run in runs]:
        folder.begin(tuple(runs), "attempts")


def _run(configuration: Configuration, place: Place) -> ArmRun:
    spec = make_run_spec(configuration, place=place)
    name = _attempt(place.attempt) if configuration.settings.retries else f"run-{place.repeat}"
    return ArmRun(spec.config.agent, spec.config.seed, name, configuration, spec)


def _attempt(number: int) -> str:
    return f"attempt-{number}"


def _next(folder: SweepFolder, runs: Sequence[ArmRun], retried: bool) -> Place | None:
    """The place of the attempt after ``runs``, at what the last of them lost.

    None where nothing was, or errors are left that were not ``retried``.
    """
    played = [(folder.run(run.folder), run.spec.manifest.tasks) for run in runs]
    results = [run.results(tasks) for run, tasks in played]
    lost = [result for result in results[-1] if not result.won and result.outcome != "error"]
    errors = any(result.outcome == "error" for result in results[-1])
    begun = folder.run(_attempt(len(runs) + 1))
    if begun.manifest_file.exists():
        # What was left out when it began, since it errored, stays left out.
        known = {task.id for task in begun.manifest().tasks}
        lost = [result for result in lost if result.task in known]
    elif errors and not retried:
        return None
    if len(results[-1]) < len(played[-1][1]) or not lost:
        return None
    attempts = {
        result.task: tuple(
            attempt_of(run, result.selected) for (run, tasks), _ in zip(played, results, strict=True) if _has(tasks, result)
        )
        for result in lost
    }
    digest = sha256("\n".join(f"{result.task} {result.episode_sha256}" for result in lost).encode("utf-8", "surrogatepass"))
    return Place(attempt=len(runs) + 1, tasks=frozenset(attempts), attempts=attempts, earlier=digest.hexdigest())


def _has(tasks: Sequence[SelectedTask], result: Result) -> bool:
    return any(task.id == result.task for task in tasks)


def attempt_of(run: RunFolder, task: SelectedTask) -> Attempt:
    """What happened in a run's episode of ``task``, and what the agent said of the attempt before.

    Raises ``ConfigurationError``.
    """
    played: list[Transition | Thought | ParseFailed] = []
    reflection = ""
    for event in branch(tuple(read_episode(run.episode(task)))):
        match event.body:
            case Stepped() as step:
                played.append(Transition(step.command, Observation(step.observation, step.accepted)))
            case Thought(role=role, text=text) if role == REFLECTION:
                reflection = reflection or text
            case Thought() | ParseFailed() as said:
                played.append(said)
            case _:
                pass
    return Attempt(tuple(played), reflection)
