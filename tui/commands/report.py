"""``housequest report``: one run's figures, or those of several seeds together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import drawing, print_json, print_report, print_text, write_page
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import atomic_write, given_path
from housequest.worlds.registry import load_plugin

if TYPE_CHECKING:
    from housequest.agent.evaluation.analysis.run import PriceList
    from housequest.agent.evaluation.analysis.series import SeriesReport
    from housequest.agent.evaluation.parts import ReportFormat
    from housequest.agent.evaluation.render.report import RunReport
    from housequest.agent.evaluation.runs.folder import RunFolder

MANY_PATHS = 300
"""Tasks from which on the search for shortest solutions takes seconds, and is announced."""


@options.writes
def report(
    formats: Mapping[str, Path | None],
    runs: Annotated[
        list[Path],
        options.path_argument("RUN", "The folder of a run, a series or a sweep; or several that differ only in seed."),
    ],
    as_json: options.JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a table to paste.")] = False,
    csv: Annotated[
        str | None, options.value("--csv", "FILE", "Also write a table with a row per task; - prints only that.")
    ] = None,
    against: Annotated[str | None, options.choice("--against", "Compare with published figures.", "published")] = None,
    html: Annotated[Path | None, options.page("Also write a page with charts and every transcript.")] = None,
) -> None:
    """Show the results of a run, success first.

    By task type with 95 % intervals; goal conditions, paths, tokens, cost, and why tasks were lost.
    """
    from housequest.agent.config import configure
    from housequest.agent.evaluation.analysis.series import SeriesReport
    from housequest.agent.evaluation.render import export
    from housequest.agent.evaluation.render.reading import read_report
    from housequest.agent.evaluation.render.report import RunReport
    from housequest.agent.evaluation.runs.folder import RunFolder

    if as_json + markdown + (csv == "-") > 1 or (against and csv == "-"):
        raise ConfigurationError("--json, --markdown and --csv - print one thing each, the last without --against; give one.")
    prices = configure(uses=()).settings.prices_of
    figures = read_report(runs, prices, searching)
    wanted = {
        **{f"--{name}": file for name, file in formats.items()},
        "--markdown": markdown,
        "--csv": csv,
        "--against": against,
        "--html": html,
    }
    first = next((name for name, given in wanted.items() if given), None)
    if first is not None and not isinstance(figures, RunReport | SeriesReport):
        raise ConfigurationError(f"{first} is for runs with episodes; a sweep and runs of plans have their figures and --json.")
    for name, file in formats.items():
        if file is not None:
            if not isinstance(figures, RunReport):
                raise ConfigurationError(f"--{name} takes one run; name one of these, which has a folder of its own.")
            form: ReportFormat = load_plugin("housequest.reports", name, "format of reports")
            terminal.note(f"{form.write(RunFolder(runs[0]), file)} episodes written to {file}")
    if not isinstance(figures, RunReport | SeriesReport):
        print_report(figures, as_json=as_json)
        return
    published = export.beside_published(figures) if against else None
    if csv not in (None, "-"):
        table = given_path(csv)
        atomic_write(table, (rows := export.as_csv(figures)).encode())
        terminal.note(f"Wrote {table}, a row for each of {len(rows.splitlines()) - 1} tasks.")
    if as_json:
        print_json({**figures.data(), **({"published": published.data()} if published else {})})
    elif csv == "-":
        print_text(export.as_csv(figures))
    elif markdown:
        print_text(export.as_markdown(figures))
        if published:
            print_text(f"\n{export.published_markdown(published)}")
    else:
        print_report(figures)
        if published:
            print_text("\n")
            print_report(published)
    if html is not None:
        _write_page(figures, RunFolder(runs[0]), prices, html)


def _write_page(figures: RunReport | SeriesReport, folder: RunFolder, prices: PriceList, html: Path) -> None:
    from housequest.agent.evaluation.analysis.run import read_for_comparison
    from housequest.agent.evaluation.analysis.series import SeriesReport
    from housequest.agent.evaluation.render.pages.render import run_page, series_page

    if isinstance(figures, SeriesReport):
        drawing(sum(result.turns for run in figures.parts for result in run.results))
        write_page(html, series_page(figures, html))
        return
    run = read_for_comparison(folder, prices)
    drawing(sum(result.turns for result in run.results))
    write_page(html, run_page(run, html))


def searching(done: int, total: int) -> None:
    """Announce a long search for the shortest solutions of a run's tasks."""
    if done == 1 and total > MANY_PATHS:
        terminal.note(f"Searching for the shortest solutions of {total} tasks; they are kept in the run's folder.")


def show(place: Path, *, as_json: bool) -> int:
    """Print the report of what ``place`` holds; how many episodes errored. Raises ``ConfigurationError``."""
    from housequest.agent.config import configure
    from housequest.agent.evaluation.render.reading import errors_of, read_report

    found = read_report([place], configure(uses=()).settings.prices_of, searching)
    print_report(found, as_json=as_json)
    return errors_of(found)
