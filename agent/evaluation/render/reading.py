"""Read the report of whatever a folder holds: a run, a series, a sweep, or one of these without episodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from housequest.agent.evaluation.analysis.arms import SweepReport, read_arms
from housequest.agent.evaluation.analysis.experts import Watcher
from housequest.agent.evaluation.analysis.run import PriceList, Run, read_for_comparison
from housequest.agent.evaluation.analysis.series import (
    AttemptsReport,
    SeedsReport,
    SeriesReport,
    read_attempts,
    read_repeats,
    read_seeds,
)
from housequest.agent.evaluation.parts import family_of, family_of_sweep
from housequest.agent.evaluation.render.repeats import Side
from housequest.agent.evaluation.render.report import RunReport, read_summary
from housequest.agent.evaluation.render.table import Report
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.worlds.errors import ConfigurationError


def read_report(places: Sequence[Path], prices: PriceList, watcher: Watcher | None = None) -> Report:
    """The report of one folder, or of several runs that differ only in their seed. Raises ``ConfigurationError``."""
    if len(places) > 1:
        return SeedsReport(read_seeds([RunFolder(place) for place in places], prices, watcher))
    (place,) = places
    if (family := family_of(place)) is not None:
        return family.report(place)
    folder = SweepFolder(place)
    return (
        read_sweep_report(folder, prices, watcher)
        if folder.begun
        else RunReport(*read_summary(RunFolder(place), prices, watcher))
    )


def read_sweep_report(folder: SweepFolder, prices: PriceList, watcher: Watcher | None = None) -> Report:
    """The report of the sweep or series in ``folder``. Raises ``ConfigurationError``."""
    if (family := family_of_sweep(folder)) is not None:
        return family.sweep_report(folder)
    match folder.contents().series:
        case None:
            return SweepReport(read_arms(folder, prices))
        case "attempts":
            return AttemptsReport(read_attempts(folder, prices, watcher))
        case "repeats":
            return SeedsReport(read_repeats(folder, prices, watcher))


def read_side(place: Path, prices: PriceList) -> Run | Side:
    """What ``housequest compare`` takes: a run, retries as the run that they come to, or repeats.

    Raises ``ConfigurationError``.
    """
    folder = SweepFolder(place)
    series = folder.contents().series if folder.begun else ""
    match series:
        case "":
            return read_for_comparison(RunFolder(place), prices)
        case "attempts":
            return read_attempts(folder, prices)
        case "repeats":
            repeats = SeedsReport(read_repeats(folder, prices))
            return Side(place.resolve().name, repeats.parts, repeats.card)
        case _:
            raise ConfigurationError(f"{place} is a sweep; name two of its runs, which have folders of their own.")


def errors_of(report: Report) -> int:
    """How many episodes errored; what runs without episodes met, their own command tells."""
    match report:
        case RunReport():
            return report.summary.overall.errors
        case SweepReport():
            return sum(arm.errors for arm in report.arms)
        case SeriesReport():
            return sum(run.summary.overall.errors for run in report.parts)
        case _:
            return 0
