"""``housequest compare``: two runs on the same tasks, paired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agent.evaluation.analysis.compare import Comparison


def compare(
    runs: Annotated[list[str], typer.Argument(metavar="FIRST SECOND", help="The folders of two runs on the same tasks.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Also write a page with the tasks that only one of them won.")
    ] = None,
    show: Annotated[
        str | None, typer.Option("--show", metavar="TASK", help="Show how both played one task, beside each other.")
    ] = None,
) -> None:
    """Compare two runs task by task: who won what, and whether the difference is more than chance."""
    from agent.config import configure
    from agent.evaluation.analysis.compare import compare as paired
    from agent.evaluation.analysis.compare import read_for_comparison
    from agent.evaluation.render.comparison import ComparisonReport
    from agent.evaluation.runs.folder import RunFolder
    from tui import terminal
    from tui.commands.page import page_file, write_page
    from tui.text import printable
    from worlds.errors import ConfigurationError
    from worlds.paths import given_path

    if len(runs) != 2:
        raise ConfigurationError(f"compare takes two runs, and was given {len(runs)}; compare them two by two.")
    page = page_file(html)
    prices = configure().settings.prices_of
    comparison = paired(*(read_for_comparison(RunFolder(given_path(run)), prices) for run in runs))
    if show is not None:
        _show(comparison, show)
    else:
        terminal.show(printable(ComparisonReport(comparison).render(as_json=as_json)).splitlines())
    if page is not None:
        from agent.evaluation.render.pages.render import comparison_page

        write_page(page, comparison_page(comparison, page))


def _show(comparison: Comparison, reference: str) -> None:
    from agent.evaluation.analysis.compare import find_task
    from agent.evaluation.analysis.transcript import read_transcript
    from tui import terminal
    from tui.commands.beside import beside

    pair = comparison.pair(reference)
    first, second = (
        read_transcript(run.folder.episode(task))
        for run in (comparison.first, comparison.second)
        if (task := find_task(run.manifest.tasks, pair.first.task)) is not None
    )
    names = (f"first, {comparison.first.name}", f"second, {comparison.second.name}")
    terminal.show(beside(first, second, names, terminal.wide_look()))
