"""`housequest eval` and `report` for programs: play a run into a folder, and read the report of whatever a folder holds.

That is a run, a series, a sweep, or one of these without episodes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from housequest.agent.config import configure
from housequest.agent.evaluation.analysis.arms import read_arms
from housequest.agent.evaluation.analysis.run import PriceList, Watcher
from housequest.agent.evaluation.parts import family_of, family_of_sweep
from housequest.agent.evaluation.render.report import EpisodesReport
from housequest.agent.evaluation.render.series import ArmsReport, report_of
from housequest.agent.evaluation.render.table import Report
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.evaluation.runs.sweep import SweepFolder, series_folder, series_kind
from housequest.agent.evaluation.runs.sweep import series as series_runs
from housequest.worlds.errors import ConfigurationError


def evaluate(*, out: Path | str | None = None, retry_errors: bool = False, **settings: Any) -> Path:
    """Play a run, or what is left of it. It runs its own event loop.

    Args:
        out: The folder; None lets the settings determine it.
        retry_errors: Play episodes again that ended in an error.
        settings: Settings by name (``housequest.agent.config.Settings``: world, split, agent, model, limit, concurrency, ...);
            they win over the user's configuration.

    Returns:
        The folder of the run.

    Raises:
        ConfigurationError: A setting is wrong, or the folder holds another run.
        KnowledgeError: A rulebook cannot be read.
        housequest.agent.evaluation.runs.budget.Stopped: The run stopped early, with the message of ``housequest eval``.
    """
    chosen = configure(settings)
    options = RunOptions(concurrency=chosen.concurrency, retry_errors=retry_errors)
    kind, spec, folder = series_kind(chosen), make_run_spec(chosen), None if out is None else Path(out)
    if kind is not None:
        place = series_folder(kind, spec, folder)
        for trial in series_runs(chosen, place, retry_errors=retry_errors):
            asyncio.run(run_batch(trial.spec, place.path / trial.folder, options))
        return place.path
    folder = folder or spec.default_folder
    asyncio.run(run_batch(spec, folder, options))
    return folder


def report(run: Path | str) -> dict[str, object]:
    """Read the figures of a run, a series or a sweep.

    Args:
        run: Its folder.

    Returns:
        The figures, as ``housequest report --json`` prints them.

    Raises:
        ConfigurationError: The folder holds nothing to report, or is damaged.
    """
    return read_report([Path(run)], configure(uses=()).prices_of).data()


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
    swept = any(folder.begun and folder.contents().series is None for folder in sweeps)
    return report_of(read_arms(places, prices, watcher), baseline, swept=swept)


def errors_of(report: Report) -> int:
    """The number of episodes that errored; runs without episodes have a command of their own for that."""
    match report:
        case ArmsReport():
            return sum(arm.summary.overall.errors for arm in report.arms)
        case EpisodesReport():
            return sum(run.summary.overall.errors for run in report.parts)
        case _:
            return 0
