"""`housequest eval` and `report` for programs: play a run into a folder, and read the report of whatever a folder holds.

That is a run, a series, a sweep, or one of these without episodes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from housequest.agent.config import configure
from housequest.agent.evaluation.analysis import series
from housequest.agent.evaluation.analysis.run import PriceList, Run, Watcher, read_for_comparison
from housequest.agent.evaluation.analysis.series import AttemptsReport, SeedsReport, SweepReport
from housequest.agent.evaluation.parts import family_of, family_of_sweep
from housequest.agent.evaluation.render.comparison import Side
from housequest.agent.evaluation.render.report import EpisodesReport, RunReport
from housequest.agent.evaluation.render.table import Report
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.evaluation.runs.sweep import SweepFolder, series_folder, series_kind
from housequest.agent.evaluation.runs.sweep import series as series_runs
from housequest.worlds.errors import ConfigurationError


def evaluate(*, out: Path | str | None = None, retry_errors: bool = False, **settings: Any) -> Path:
    """Play a run, or what is left of it, and return its folder. ``settings`` are settings of the configuration by name
    (``housequest.agent.config.Settings``: world, split, agent, model, limit, workers, ...); they come before the user's own.
    ``out`` is the folder; without it, the settings determine the folder. Raises ``ConfigurationError``, ``KnowledgeError`` and
    ``housequest.agent.evaluation.runs.budget.Stopped``, with the messages of ``housequest eval``. It runs its own event loop.
    """
    configuration = configure(settings)
    options = RunOptions(workers=configuration.settings.workers, retry_errors=retry_errors)
    kind, spec, folder = series_kind(configuration.settings), make_run_spec(configuration), None if out is None else Path(out)
    if kind is not None:
        place = series_folder(kind, spec, folder)
        for trial in series_runs(configuration, place, retry_errors=retry_errors):
            asyncio.run(run_batch(trial.spec, place.path / trial.folder, options))
        return place.path
    folder = folder or spec.default_folder
    asyncio.run(run_batch(spec, folder, options))
    return folder


def report(run: Path | str) -> dict[str, object]:
    """The figures of a run, a series or a sweep in a folder, as ``housequest report --json`` prints them. Raises
    ``ConfigurationError``.
    """
    return read_report([Path(run)], configure(uses=()).settings.prices_of).data()


def read_report(places: Sequence[Path], prices: PriceList, watcher: Watcher | None = None) -> Report:
    """The report of one folder, or of several runs that differ only in their seed. Raises ``ConfigurationError``."""
    if len(places) > 1:
        return SeedsReport(series.read_seeds([RunFolder(place) for place in places], prices, watcher))
    (place,) = places
    if (family := family_of(place)) is not None:
        return family.report(place)
    folder = SweepFolder(place)
    if not folder.begun:
        return RunReport(read_for_comparison(RunFolder(place), prices, watcher))
    if (family := family_of_sweep(folder)) is not None:
        return family.sweep_report(folder)
    match folder.contents().series:
        case None:
            return SweepReport(series.read_arms(folder, prices))
        case "attempts":
            return AttemptsReport(series.read_attempts(folder, prices, watcher))
        case "repeats":
            return SeedsReport(series.read_seeds(folder.begun_runs("--repeat N"), prices, watcher))


def read_side(place: Path, prices: PriceList) -> Run | Side:
    """What ``housequest compare`` takes: a run, retries as the run that they come to, or repeats. Raises
    ``ConfigurationError``.
    """
    folder = SweepFolder(place)
    kind = folder.contents().series if folder.begun else ""
    match kind:
        case "":
            return read_for_comparison(RunFolder(place), prices)
        case "attempts":
            return series.read_attempts(folder, prices)
        case "repeats":
            repeats = SeedsReport(series.read_seeds(folder.begun_runs("--repeat N"), prices))
            return Side(place.resolve().name, repeats.parts, repeats.card)
        case _:
            raise ConfigurationError(f"{place} is a sweep; name two of its runs, which have folders of their own.")


def errors_of(report: Report) -> int:
    """How many episodes errored; what runs without episodes met, their own command tells."""
    match report:
        case SweepReport():
            return sum(arm.errors for arm in report.arms)
        case EpisodesReport():
            return sum(run.summary.overall.errors for run in report.parts)
        case _:
            return 0
