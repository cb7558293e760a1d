"""``housequest report``: one run's figures."""

from __future__ import annotations

from typing import Annotated

import typer


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Also write a page with charts and every transcript.")
    ] = None,
    inspect: Annotated[
        str | None, typer.Option("--inspect", metavar="FILE", help="Also write a log of inspect_ai: FILE.eval or FILE.json.")
    ] = None,
) -> None:
    """Show one run: success by task type with 95 % intervals, steps, calls, tokens, failures."""
    import json

    from agent.config import given_path
    from agent.evaluation.folder import RunFolder
    from agent.evaluation.report import as_json as figures
    from agent.evaluation.report import as_text, read_run
    from tui import terminal
    from tui.commands.page import page_file, write_run
    from tui.text import printable

    page = page_file(html)

    if inspect is not None:
        from agent.evaluation.inspect_log import write_inspect_log

        written = write_inspect_log(RunFolder(given_path(run)), given_path(inspect))
        terminal.note(f"{written} episodes written to {inspect}")
    manifest, summary = read_run(RunFolder(given_path(run)))
    text = json.dumps(figures(manifest, summary), indent=2) if as_json else as_text(manifest, summary)
    terminal.show(printable(text).splitlines())
    if page is not None:
        write_run(page, RunFolder(given_path(run)))
