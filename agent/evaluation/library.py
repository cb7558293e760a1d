"""`housequest eval` and `report` for programs: play a run into a folder, and read the report of whatever a folder holds.

That is a run, a series, a sweep, or one of these without episodes.
"""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Coroutine, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypedDict, TypeVar, Unpack, cast

from housequest.agent.agents.spec import AgentSpec, check_is_agent
from housequest.agent.base import Agent
from housequest.agent.config import configure
from housequest.agent.evaluation.analysis.arms import read_arms
from housequest.agent.evaluation.analysis.run import PriceList, Watcher
from housequest.agent.evaluation.notebook import ReportFigures
from housequest.agent.evaluation.parts import family_of, family_of_sweep
from housequest.agent.evaluation.render.report import EpisodesReport
from housequest.agent.evaluation.render.series import ArmsReport, MatrixReport, report_of
from housequest.agent.evaluation.render.table import Report
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.evaluation.runs.sweep import SweepFolder, series_folder, series_kind
from housequest.agent.evaluation.runs.sweep import series as series_runs
from housequest.agent.models.base import Model
from housequest.agent.models.objects import keep
from housequest.agent.models.registry import ModelProvider
from housequest.worlds.base import Metric, World
from housequest.worlds.errors import ConfigurationError, HousequestError, nearest, shown, unquoted
from housequest.worlds.options import Scalar
from housequest.worlds.registry import DEFAULT_WORLD, register_here

Registered = TypeVar("Registered", bound="AgentSpec | Metric | type[World] | type[ModelProvider]")


class RunSettings(TypedDict, total=False):
    """The settings of a run by name, as ``housequest.agent.config.Settings`` explains them; objects stand for their names."""

    world: str | type[World]
    engine: str
    split: str | None
    type: str | Sequence[str]
    limit: int | None
    sample: int | None
    sample_seed: int
    goals: str
    habits: str | None
    world_option: Mapping[str, Scalar]
    seed: int | None
    protocol: str | None
    repeat: int
    retry_lost: int
    agent: str | AgentSpec | Agent | None
    players: str | Sequence[str | AgentSpec | Agent]
    talk: str
    order: str
    obey: str
    model: str | Sequence[str] | Model | None
    timeout: float
    rules: str | None
    rules_budget: int
    grant: str | Sequence[str]
    max_steps: int | None
    concurrency: int
    set: Mapping[str, Scalar]
    agents: Mapping[str, Mapping[str, Scalar]]
    worlds: Mapping[str, Mapping[str, Scalar]]
    prices: Mapping[str, Mapping[str, float]]


def register(plugin: Registered, *, name: str | None = None, world: str = DEFAULT_WORLD) -> Registered:
    """Make something of your own known by name in this process, as installed packages are.

    Registering the same name again replaces it, so that a cell of a notebook can be run again.

    Args:
        plugin: An `AgentSpec` (``declare_agent`` makes one), a `World` class, a `ModelProvider` class, or a `Metric`.
        name: The kind of model (``NAME:REST``); others have their names with them.
        world: The world to which a metric is added.

    Returns:
        The plugin, so that this can decorate a class.

    Raises:
        ConfigurationError: An installed package has this name, or this is nothing that can be registered.
    """
    match plugin:
        case AgentSpec():
            register_here("housequest.agents", plugin.name, plugin)
        case Metric():
            register_here("housequest.metrics", f"{world}.{plugin.key}", plugin)
        case type() if issubclass(plugin, World):
            register_here("housequest.worlds", plugin.name, plugin)
        case type() if issubclass(plugin, ModelProvider) and name:
            register_here("housequest.models", name, plugin)
        case _:
            wanted = "an AgentSpec, a World class, a Metric, or a ModelProvider class with its name"
            raise ConfigurationError(f"{shown(repr(plugin))} cannot be registered; give {wanted}.")
    return plugin


async def evaluate_async(*, out: Path | str | None = None, retry_errors: bool = False, **settings: Unpack[RunSettings]) -> Path:
    """Play a run, or what is left of it, in the running event loop.

    Args:
        out: The folder; None lets the settings determine it.
        retry_errors: Play episodes again that ended in an error.
        settings: Settings by name (``housequest.agent.config.Settings``: world, split, agent, model, limit, concurrency, ...);
            they win over the user's configuration. An agent, a world and a model may be objects (an agent itself, or what
            `register` takes), which are then known by name in this process. The caller closes a model that it gave.

    Returns:
        The folder of the run.

    Raises:
        ConfigurationError: A setting is wrong, or the folder holds another run.
        KnowledgeError: A rulebook cannot be read.
        housequest.agent.evaluation.runs.budget.Stopped: The run stopped early, with the message of ``housequest eval``.
    """
    model = settings.get("model")
    given = None if model is None or isinstance(model, str | Sequence) else model
    with _of_arguments():
        if unknown := next((key for key in settings if key not in RunSettings.__annotations__), None):
            known = tuple(RunSettings.__annotations__)
            raise ConfigurationError(f"There is no argument {unknown!r}; known: {', '.join(known)}.{nearest(unknown, known)}")
        named = {key: _named(key, value) for key, value in settings.items()}
        objects = given is not None or named != settings
        chosen = configure(named if given is None else {**named, "model": keep(given)})
        kind, spec = series_kind(chosen), make_run_spec(chosen)
    options = RunOptions(concurrency=chosen.concurrency, retry_errors=retry_errors, model=given)
    folder = None if out is None else Path(out)
    if kind is not None:
        place = series_folder(kind, spec, folder)
        for trial in series_runs(chosen, place, retry_errors=retry_errors):
            await _play(trial.spec, place.path / trial.folder, options, objects=objects)
        return place.path
    folder = folder or spec.default_folder
    await _play(spec, folder, options, objects=objects)
    return folder


async def _play(spec: RunSpec, folder: Path, options: RunOptions, *, objects: bool) -> None:
    """Play a run, and warn of what would go unnoticed: errors, and ``objects`` that may have changed since it was played."""
    index = RunFolder(folder).index_file
    before = index.stat().st_size if index.exists() else 0
    results = [each.result for each in (await run_batch(spec, folder, options)).played if each.result is not None]
    if objects and index.stat().st_size == before:
        warnings.warn(
            f"Nothing was played: {folder} has all episodes, whatever was changed in the objects since. Give another `out` to "
            "play them anew.",
            stacklevel=1,
        )
    if wrong := [each for each in results if each.outcome == "error"]:
        warnings.warn(
            f"{len(wrong)} of {len(results)} episodes ended in an error, such as: {unquoted(wrong[0].message or '', 400)}. "
            "Once that is mended, `retry_errors=True` plays them again.",
            stacklevel=1,
        )


def evaluate(*, out: Path | str | None = None, retry_errors: bool = False, **settings: Unpack[RunSettings]) -> Path:
    """Play a run, or what is left of it, and wait for its end; under a running event loop, as in a notebook, in another thread.

    Args:
        out: As in `evaluate_async`.
        retry_errors: As in `evaluate_async`.
        settings: As in `evaluate_async`.

    Returns:
        The folder of the run.

    Raises:
        ConfigurationError: A setting is wrong, or the folder holds another run.
        KnowledgeError: A rulebook cannot be read.
        housequest.agent.evaluation.runs.budget.Stopped: The run stopped early, with the message of ``housequest eval``.
    """
    playing = evaluate_async(out=out, retry_errors=retry_errors, **settings)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(playing)
    return _in_a_thread(playing)


def _in_a_thread(playing: Coroutine[None, None, Path]) -> Path:
    """Run ``playing`` in an event loop of its own; interrupting the caller cancels it."""
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Path]]] = Future()

    async def run() -> Path:
        task = asyncio.ensure_future(playing)
        begun.set_result((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(1, "evaluate") as threads:
        running = threads.submit(asyncio.run, run())
        try:
            return running.result()
        except BaseException:
            loop, task = begun.result()
            with suppress(RuntimeError):  # the loop may have ended by itself
                loop.call_soon_threadsafe(task.cancel)
            raise


@contextmanager
def _of_arguments() -> Generator[None]:
    """Let errors speak of arguments where they speak of flags; what is in backticks stays, which are commands."""
    try:
        yield
    except HousequestError as error:
        of = re.sub(r"(`[^`]*`)|--([a-z][a-z-]*)", lambda flag: flag[1] or f"`{flag[2].replace('-', '_')}`", str(error))
        error.args = (of,)
        raise


def _named(key: str, value: object) -> object:
    """The name of an agent's or a world's object, which is registered; other values as they are."""
    match value:
        case list() | tuple() if key == "players" and not all(
            isinstance(each, str) for each in cast("Sequence[object]", value)
        ):
            return [_named("agent", each) for each in cast("Sequence[object]", value)]
        case World():
            raise ConfigurationError(
                f"world: give the class {type(value).__name__}, and its options as world_option, so that records name them."
            )
        case AgentSpec():
            return register(value).name
        case type() if issubclass(value, World):
            return register(value).name
        case None | str():
            return value
        case _ if key == "agent":
            agent = check_is_agent(value)
            return register(AgentSpec(agent.name, "an object of this process", lambda _: agent, needs=())).name
        case _:
            return value


def report(run: Path | str) -> ReportFigures:
    """Read the figures of a run, a series or a sweep.

    Args:
        run: Its folder.

    Returns:
        The figures, as ``housequest report --json`` prints them; a notebook shows the page of ``--html``.

    Raises:
        ConfigurationError: The folder holds nothing to report, or is damaged.
    """
    return ReportFigures(read_report([Path(run)], configure(uses=()).prices_of))


def read_report(
    places: Sequence[Path], prices: PriceList, watcher: Watcher | None = None, baseline: str | None = None
) -> Report:
    """Read the report of what ``places`` hold: a run, a series, or the arms of sweeps and of several folders.

    Arms stand beside each other, each against the arm called ``baseline``. Raises ``ConfigurationError``.
    """
    sweeps = [SweepFolder(place) for place in places]
    for place, folder in zip(places, sweeps, strict=True):
        family = family_of_sweep(folder) if folder.begun else family_of(place)
        if family is not None:
            if len(places) > 1:
                raise ConfigurationError(f"{place} has {family.about} and no episodes; report it by itself.")
            return family.sweep_report(folder) if folder.begun and family.sweep_report else family.report(place)
    if len(sweeps) == 1 and sweeps[0].begun and (players := sweeps[0].contents().matrix):
        return MatrixReport(players, read_arms(places, prices, watcher))
    swept = any(folder.begun and folder.contents().series is None for folder in sweeps)
    return report_of(read_arms(places, prices, watcher), baseline, swept=swept)


def errors_of(report: Report) -> int:
    """The number of episodes that errored; runs without episodes have a command of their own for that."""
    match report:
        case ArmsReport():
            return sum(arm.summary.overall.errors for arm in report.arms)
        case EpisodesReport():
            return sum(run.summary.overall.errors for run in report.runs)
        case _:
            return 0
