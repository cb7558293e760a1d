"""What ``--html FILE`` means, for every command that has it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.evaluation.runs.folder import RunFolder


def page_file(given: str | None) -> Path | None:
    """The file of ``--html``. Raises ``ConfigurationError`` unless it is named like a page: nothing else is written over."""
    if given is None:
        return None
    from worlds.errors import ConfigurationError, shown
    from worlds.paths import given_path

    path = given_path(given)
    if path.suffix.lower() not in {".html", ".htm"} or path.is_dir():
        raise ConfigurationError(f"--html: {shown(given)} is not the name of a page; give a file that ends in .html.")
    return path


def write_page(path: Path, content: bytes) -> None:
    """Write the page, and say so."""
    from tui import terminal
    from worlds.paths import atomic_write

    atomic_write(path, content)
    terminal.note(f"Wrote {path} ({max(1, len(content) >> 10)} KiB); open it in a browser.")


def write_run(path: Path, folder: RunFolder) -> None:
    """Write the page of the run in ``folder``, at its user's prices."""
    from agent.config import configure
    from agent.evaluation.analysis.compare import read_for_comparison
    from agent.evaluation.render.pages.render import run_page
    from agent.evaluation.render.report import read_run

    _, summary = read_run(folder, configure().settings.prices_of)
    write_page(path, run_page(read_for_comparison(folder), path, summary))
