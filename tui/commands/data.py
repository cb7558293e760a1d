"""``housequest data``: where the games are; check, download, import or export them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.worlds.errors import ConfigurationError, WorldError
from housequest.worlds.paths import alfworld_data, cache_folder, given_path

if TYPE_CHECKING:
    from housequest.worlds.alfworld.exchange import DownloadProgress

data_app = typer.Typer(help="Where the games are; check, download, import or export them.", no_args_is_help=True)


@data_app.command("path")
def path() -> None:
    """Print the folder of the games."""
    terminal.print_lines([str(alfworld_data())])


@data_app.command("check")
@options.described
def check(folder: Path | None = None) -> None:
    """Read every game. Shows how many there are, what is left out and what is wrong; exits with 1 if something is wrong."""
    from housequest.worlds.alfworld.games import GET_DATA, LAYOUT, check_data

    data = folder or alfworld_data()
    reports = check_data(data)
    for report in reports:
        of = f" of {report.published:,} published" if report.published is not None else ""
        types = (f"  {count:6,} {kind}" for kind, count in report.types)
        terminal.print_lines([f"{report.split}: {report.games:,} games{of}", *types])
        for word, entries in (("refused", report.refused), ("left out", report.left_out)):
            terminal.print_lines(_grouped(((entry.reason, entry.trial) for entry in entries), f"  {word}: "))
        terminal.print_lines(_grouped((("no person worded the goal", id) for id in report.without_human_goal), "  "))
    if not reports:
        terminal.note(f"housequest: {data} holds no split under {LAYOUT}. {GET_DATA}")
    terminal.finish(0 if reports and all(report.sound for report in reports) else 1)


@data_app.command("download")
@options.described
def download(to: Path | None = None, source: str | None = None, url: list[str] | None = None, force: bool = False) -> None:
    """Fetch ALFWorld's official archives (about 110 MB, 2 GB unpacked), check every game in them, and import them."""
    from housequest.worlds.alfworld.exchange import download_archive, official

    if source and url:
        raise ConfigurationError("--source and --url both say where to fetch from; give one of them.")
    data = to or alfworld_data()
    refused = False
    for address in url or official(source):
        meter = _Meter()
        archive = download_archive(address, cache_folder() / "downloads", report=meter.download)
        try:
            refused |= _imported(archive, data, force, meter)
        except WorldError as error:
            raise WorldError(f"What {meter.name} sent cannot be used: {error}") from error
        finally:
            archive.unlink(missing_ok=True)
    terminal.note("Check them with `housequest data check`.")
    terminal.finish(1 if refused else 0)


@data_app.command("import")
@options.described
def import_(source: Path, to: Path | None = None, force: bool = False) -> None:
    """Import games from an archive or a folder that you have."""
    terminal.finish(1 if _imported(source, to or alfworld_data(), force, _Meter()) else 0)


@data_app.command("export")
@options.takes("habits")
def export(flags: options.Flags, task: str, out: Path = Path(), force: bool = False) -> None:
    """Write a task as a game.tw-pddl that alfworld plays, with a shortest walkthrough. Needs alfworld installed."""
    from housequest.agent.config import check_habits
    from housequest.worlds.alfworld.exchange import export_task, write_game
    from housequest.worlds.alfworld.houses.house import read_habits
    from housequest.worlds.alfworld.world import AlfworldWorld

    habits = None if flags["habits"] is None else str(flags["habits"])
    world = AlfworldWorld(habits=None if habits is None else read_habits(given_path(habits)))
    check_habits(habits, world.task(task).split, world)
    exported = export_task(world, task)
    terminal.print_lines([str(write_game(exported, out, force=force))])
    terminal.note(f"It is won in {len(exported.walkthrough)} commands at best.")


def _imported(source: Path, data: Path, force: bool, meter: _Meter) -> bool:
    """Import games and print what was done; return whether something was refused."""
    from housequest.worlds.alfworld.exchange import import_games
    from housequest.worlds.alfworld.games import in_order

    try:
        done = import_games(source, data, force=force, report=meter.files)
    finally:
        meter.close()
    for split in in_order(done.games | done.trajectories | done.kept):
        written = f"{done.games[split]:,} games and {done.trajectories[split]:,} annotations written"
        terminal.print_lines([f"{split}: {written}, {done.kept[split]:,} files kept"])
    for line in _grouped(((reason, name) for name, reason in done.refused), "refused: "):
        terminal.note(line)
    if done.ignored:
        terminal.note(f"passed over: {done.ignored:,} files that are neither games nor annotations")
    terminal.note(f"The games are in {data}." if data == alfworld_data() else f"To play these games, set ALFWORLD_DATA={data}.")
    return bool(done.refused)


def _grouped(reasons: Iterable[tuple[str, str]], word: str = "") -> Iterator[str]:
    grouped: dict[str, list[str]] = {}
    for reason, name in reasons:
        grouped.setdefault(reason, []).append(name)
    for reason, names in grouped.items():
        yield f"{word}{len(names):,} × {reason} ({'the first: ' if len(names) > 1 else ''}{names[0]})"


class _Meter(terminal.StatusLine):
    """The progress of a download or an import; if there is no terminal, a line for every tenth of the way."""

    name = "the server"
    _last = ""
    _due = 0.0

    def download(self, progress: DownloadProgress) -> None:
        self.name = progress.url
        file = progress.url.rpartition("/")[2][:60] or progress.url[:60]
        if progress.note:
            self.say(f"{file}: {progress.note}")
        elif progress.total:
            total, share = f"{progress.total / 1e6:,.1f} MB", progress.received * 10 // progress.total * 10
            self._update(f"{file}: {f'{progress.received / 1e6:,.1f}' if self.live else f'{share} %'} of {total}")
        else:
            self._update(f"{file}: {progress.received // 10_000_000 * 10} MB")

    def files(self, count: int) -> None:
        if self.live or count % 1000 == 0:
            self._update(f"importing: {count:,} files")

    def _update(self, line: str) -> None:
        now = time.monotonic()
        if line != self._last and not (self.live and now < self._due):
            self._last, self._due = line, now + 0.1
            (self.write if self.live else terminal.note)(line)
