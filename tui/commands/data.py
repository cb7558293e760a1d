"""``housequest data``: where the games are; check, download, import or export them."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands import options

if TYPE_CHECKING:
    from worlds.alfworld.data.archives import Imported
    from worlds.alfworld.data.download import Progress
    from worlds.alfworld.data.index import SplitReport

data_app = typer.Typer(help="Where the games are; check, download, import or export them.", no_args_is_help=True)

To = Annotated[
    Path | None, typer.Option("--to", metavar="DIR", help="The folder to hold json_2.1.1 [$ALFWORLD_DATA, ~/.cache/alfworld].")
]
Force = Annotated[bool, typer.Option("--force", help="Write files anew that are there already.")]


@data_app.command("path")
def path() -> None:
    """Print the folder in which the games are looked for."""
    from tui import terminal
    from tui.text import printable
    from worlds.paths import alfworld_data

    terminal.show([printable(str(alfworld_data()))])


@data_app.command("check")
def check(
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Another folder that holds json_2.1.1.")] = None,
) -> None:
    """Read every game anew: how many there are, what is left out, what is wrong. Exits with 1 where something is."""
    from tui import terminal
    from worlds.alfworld.data.index import check_data
    from worlds.alfworld.data.tasks import GET_DATA, LAYOUT
    from worlds.paths import alfworld_data

    data = alfworld_data() if folder is None else folder
    reports = check_data(data)
    for report in reports:
        terminal.show(_lines(report))
    if not reports:
        terminal.note(f"housequest: {data} holds no split under {LAYOUT}. {GET_DATA}")
    if not reports or not all(report.sound for report in reports):
        raise typer.Exit(1)


@data_app.command("download")
def download(
    to: To = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="URL", help="Where else the official archives lie, under their own names.")
    ] = None,
    url: Annotated[
        list[str] | None,
        typer.Option("--url", metavar="URL", help="Fetch this archive instead of the official ones; repeatable."),
    ] = None,
    force: Force = False,
) -> None:
    """Fetch ALFWorld's official archives (about 110 MB, 2 GB unpacked), check every game in them, and import them."""
    from tui import terminal
    from worlds.alfworld.data.archives import import_games
    from worlds.alfworld.data.download import download, official
    from worlds.errors import ConfigurationError, WorldError
    from worlds.paths import alfworld_data, cache_folder

    if source and url:
        raise ConfigurationError("--source and --url both say where to fetch from; give one of them.")
    data = alfworld_data() if to is None else to
    refused = False
    for address in url or official(source):
        meter = _Meter()
        archive = download(address, cache_folder() / "downloads", report=meter.download)
        try:
            done = import_games(archive, data, force=force, report=meter.files)
        except WorldError as error:
            raise WorldError(f"What {meter.name} sent is no use: {error}") from error
        finally:
            archive.unlink(missing_ok=True)
            meter.end()
        refused |= _tell(done, data)
    terminal.note("Look it all over with `housequest data check`.")
    if refused:
        raise typer.Exit(1)


@data_app.command("import")
def import_(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A zip, a tar, or a folder that holds json_2.1.1.")],
    to: To = None,
    force: Force = False,
) -> None:
    """Bring in games from an archive that you have, or from a folder."""
    from worlds.alfworld.data.archives import import_games
    from worlds.paths import alfworld_data

    data = alfworld_data() if to is None else to
    meter = _Meter()
    try:
        done = import_games(source, data, force=force, report=meter.files)
    finally:
        meter.end()
    if _tell(done, data):
        raise typer.Exit(1)


@data_app.command("export")
def export(
    task: Annotated[str, typer.Argument(metavar="TASK", help="generated:SEED, split:number, an id or a path.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE|DIR", help="A file that ends in .tw-pddl, or the folder to hold it [.].")
    ] = Path(),
    habits: options.Habits = None,
    force: Force = False,
) -> None:
    """Write a task as a game.tw-pddl that alfworld plays, with a shortest walkthrough. Needs alfworld installed."""
    from agent.config import check_habits
    from tui import terminal
    from tui.text import printable
    from worlds.alfworld.houses.export import export_task, write
    from worlds.alfworld.houses.habits import read_habits
    from worlds.alfworld.world import AlfworldWorld
    from worlds.paths import given_path

    world = AlfworldWorld(habits=None if habits is None else read_habits(given_path(habits)))
    check_habits(habits, world.task(task).split, world)
    exported = export_task(world, task)
    path = write(exported, out, force=force)
    terminal.show([printable(str(path))])
    terminal.note(f"It is won in {len(exported.walkthrough)} commands at best.")


def _tell(done: Imported, data: Path) -> bool:
    """Say what an import did; return whether it refused something."""
    from tui import terminal
    from tui.text import printable
    from worlds.alfworld.data.tasks import in_order
    from worlds.paths import alfworld_data

    for split in in_order(done.games | done.trajectories | done.kept):
        counts = (
            f"{done.games[split]:,} games and {done.trajectories[split]:,} annotations written, {done.kept[split]:,} files kept"
        )
        terminal.show([printable(f"{split}: {counts}")])
    for line in _grouped((reason, name) for name, reason in done.refused):
        terminal.note(f"refused: {line}")
    if done.ignored:
        terminal.note(f"passed over: {done.ignored:,} files that are neither games nor annotations")
    terminal.note(f"The games are in {data}." if data == alfworld_data() else f"To play these games, set ALFWORLD_DATA={data}.")
    return bool(done.refused)


def _lines(report: SplitReport) -> Iterator[str]:
    from tui.text import printable

    of = f" of {report.published:,} published" if report.published is not None else ""
    yield printable(f"{report.split}: {report.games:,} games{of}")
    for kind, count in report.types:
        yield f"  {count:6,} {kind}"
    for word, entries in (("refused", report.refused), ("left out", report.left_out)):
        for line in _grouped((entry.reason, entry.trial) for entry in entries):
            yield printable(f"  {word}: {line}")
    for line in _grouped(("no person worded the goal", id) for id in report.without_human_goal):
        yield printable(f"  {line}")


def _grouped(reasons: Iterable[tuple[str, str]]) -> Iterator[str]:
    """One line a reason: how often, and the first name."""
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for reason, name in reasons:
        first.setdefault(reason, name)
        counts[reason] += 1
    for reason, count in counts.items():
        yield f"{count:,} × {reason} ({'the first: ' if count > 1 else ''}{first[reason]})"


class _Meter:
    """Progress on standard error: a line that is written over on a terminal, else a line for every tenth of the way."""

    def __init__(self) -> None:
        self.name = "the server"
        self._terminal = sys.stderr.isatty()
        self._last = ""
        self._due = 0.0

    def download(self, progress: Progress) -> None:
        """Show how far a download is."""
        self.name = progress.url
        file = progress.url.rpartition("/")[2][:60] or progress.url[:60]
        if progress.note:
            self._write(f"{file}: {progress.note}", lasting=True)
        elif progress.total:
            share = progress.received * 10 // progress.total * 10
            exact = f"{progress.received / 1e6:,.1f} of {progress.total / 1e6:,.1f} MB"
            self._write(f"{file}: {exact}" if self._terminal else f"{file}: {share} % of {progress.total / 1e6:,.1f} MB")
        else:
            self._write(f"{file}: {progress.received // 10_000_000 * 10} MB")

    def files(self, count: int) -> None:
        """Show how many files of an archive were seen."""
        if self._terminal or count % 1000 == 0:
            self._write(f"importing: {count:,} files")

    def end(self) -> None:
        """Leave the last line as it is."""
        if self._terminal and self._last:
            sys.stderr.write("\n")
        self._last = ""

    def _write(self, line: str, *, lasting: bool = False) -> None:
        from tui.text import printable

        now = time.monotonic()
        if line == self._last or (self._terminal and not lasting and now < self._due):
            return
        over = "\r\x1b[K" if self._terminal and self._last else ""
        sys.stderr.write(f"{over}{printable(line)}{'' if self._terminal and not lasting else chr(10)}")
        sys.stderr.flush()
        self._last, self._due = ("" if lasting else line), now + 0.1
