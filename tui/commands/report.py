"""``housequest report``: one run's figures, or those of several seeds together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from agent.evaluation.render.report import PriceList
    from agent.evaluation.runs.folder import RunFolder

Form = Literal["text", "json", "markdown", "csv"]

MANY_PATHS = 300
"""Tasks whose shortest ways take long enough to be told of: some seconds."""


def report(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="The run's folder, or a sweep's; several that differ in their seed alone."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a table to paste.")] = False,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Also write a row a task with everything; - prints that alone.")
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="published", help="Set the run beside published figures.")
    ] = None,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Also write a page with charts and every transcript.")
    ] = None,
    inspect: Annotated[
        str | None, typer.Option("--inspect", metavar="FILE", help="Also write a log of inspect_ai: FILE.eval or FILE.json.")
    ] = None,
) -> None:
    """Show a run: success by task type with 95 % intervals, goal conditions, paths, tokens, cost, and why tasks were lost."""
    from agent.config import configure
    from agent.evaluation.runs.folder import RunFolder
    from agent.evaluation.runs.sweep import SweepFolder
    from agent.plans.work import begun
    from tui.commands.alfred_plans import report_plans
    from tui.commands.page import page_file, write_run
    from tui.commands.sweep import show_standings
    from worlds.errors import ConfigurationError, shown
    from worlds.paths import given_path

    if against not in (None, "published"):
        raise ConfigurationError(f"--against: {shown(against)} is not known; give --against published.")
    if as_json + markdown + (csv == "-") > 1 or (against and csv == "-"):
        raise ConfigurationError("--json, --markdown and --csv - print one thing each, the last without --against; give one.")
    folders, prices = [RunFolder(given_path(run)) for run in runs], configure().settings.prices_of
    if len(folders) == 1 and begun(folders[0].path):
        for name, given in {
            "--markdown": markdown,
            "--csv": csv,
            "--against": against,
            "--html": html,
            "--inspect": inspect,
        }.items():
            if given:
                raise ConfigurationError(f"{name} is for runs with episodes; a run of plans has its figures and --json.")
        report_plans(folders[0].path, as_json=as_json)
        return
    swept = len(folders) == 1 and SweepFolder(folders[0].path).begun
    if swept or len(folders) > 1:
        of_one = {"--markdown": markdown, "--csv": csv, "--against": against, "--html": html, "--inspect": inspect}
        for name, given in of_one.items():
            if given:
                raise ConfigurationError(f"{name} takes one run, and was given {'a sweep' if swept else len(folders)}.")
        if swept:
            show_standings(SweepFolder(folders[0].path), as_json=as_json)
        else:
            _show_seeds(folders, prices, as_json)
        return
    folder, page = folders[0], page_file(html)
    if inspect is not None:
        _log(folder, given_path(inspect))
    form: Form = "json" if as_json else "markdown" if markdown else "csv" if csv == "-" else "text"
    _show(folder, prices, form, None if csv in (None, "-") else given_path(csv), published=against is not None)
    if page is not None:
        write_run(page, folder)


def looking(done: int, total: int) -> None:
    """Tell of a search for the shortest ways of a run's tasks that takes its time."""
    from tui import terminal

    if done == 1 and total > MANY_PATHS:
        terminal.note(f"Looking for the shortest ways of {total} tasks; they are kept in the run's folder.")


def _show(folder: RunFolder, prices: PriceList, form: Form, table: Path | None, *, published: bool) -> None:
    import json

    from agent.evaluation.analysis.published import PublishedReport
    from agent.evaluation.render import export, report
    from tui import terminal
    from worlds.paths import atomic_write

    manifest, summary = report.read_run(folder, prices, looking)
    if table is not None:
        atomic_write(table, export.as_csv(manifest, summary).encode())
        terminal.note(f"Wrote {table}, a row for each of {summary.overall.episodes} tasks.")
    match form:
        case "json":
            beside = {"published": PublishedReport(manifest, summary).data()} if published else {}
            _print(json.dumps({**report.RunReport(manifest, summary).data(), **beside}, indent=2))
        case "csv":
            _print(export.as_csv(manifest, summary))
        case "markdown":
            _print(export.as_markdown(manifest, summary))
            if published:
                _print(f"\n{export.published_markdown(manifest, summary)}")
        case "text":
            _print(report.RunReport(manifest, summary).text())
            if published:
                _print(f"\n{PublishedReport(manifest, summary).text()}")


def _show_seeds(folders: list[RunFolder], prices: PriceList, as_json: bool) -> None:
    from agent.evaluation.analysis.seeds import SeedsReport, read_seeds

    _print(SeedsReport(read_seeds(folders, prices, looking)).render(as_json=as_json))


def _log(folder: RunFolder, path: Path) -> None:
    from agent.integrations.inspect_log import write_inspect_log
    from tui import terminal

    terminal.note(f"{write_inspect_log(folder, path)} episodes written to {path}")


def _print(text: str) -> None:
    from tui import terminal
    from tui.text import printable

    terminal.show(printable(text).splitlines())
