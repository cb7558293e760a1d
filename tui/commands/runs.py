"""The commands about runs, which play them, put their shards together, and show their figures and whether they are whole.

What playing takes is in `housequest.tui.commands.running`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.play import show_screen
from housequest.tui.text import TextLayout, printable, table, words
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import atomic_write, given_path
from housequest.worlds.registry import load_plugin

if TYPE_CHECKING:
    from housequest.agent.episodes.events import Event
    from housequest.agent.evaluation.parts import ReportFormat
    from housequest.agent.evaluation.runs.shard import Verification

WIDEST = 200
NARROW = 100
"""Columns below which the second episode's turn stands under the first's."""
_BETWEEN = " | "


@options.takes(
    *options.TASKS, "limit", "sample", "sample_seed", *options.PLAYER, *options.COMPANY, "concurrency", *options.MEASUREMENT
)
def evaluate(
    flags: options.Flags,
    retry_errors: bool = False,
    budget: list[str] | None = None,
    sweep: Path | None = None,
    matrix: list[str] | None = None,
    shard: str | None = None,
    cluster: str | None = None,
    out: Path | None = None,
    dry_run: bool = False,
    as_json: bool = False,
) -> None:
    """Play many tasks with one agent, or several in one house, and print a report. If interrupted, the same command resumes."""
    from housequest.tui.commands.running import EvalCall, evaluate_matrix, evaluate_run, evaluate_sweep, read_how

    if sweep is not None and matrix:
        raise ConfigurationError("--sweep and --matrix both say what is played; give one of them.")
    call = EvalCall(flags, *read_how(budget, retry_errors, shard, cluster), out, dry_run, as_json)
    if matrix:
        evaluate_matrix(matrix, call)
    elif sweep is None:
        evaluate_run(call)
    else:
        evaluate_sweep(sweep, call)


@options.takes(
    *options.TASKS, "limit", "sample", "sample_seed", *(name for name in options.PLAYER if name != "rules"), "concurrency"
)
def measure(
    flags: options.Flags,
    book: str,
    ids: list[str] | None = None,
    alone: bool = False,
    each: bool = False,
    status: str | None = None,
    games: int | None = None,
    save: bool = False,
    accept: str = "person",
    retry_errors: bool = False,
    budget: list[str] | None = None,
    shard: str | None = None,
    cluster: str | None = None,
    out: Path | None = None,
    dry_run: bool = False,
    as_json: bool = False,
) -> None:
    """Measure what rules are worth in success and in steps. The same tasks are played without and with them.

    Both runs get the other accepted rules of the book, unless --alone is given. With --each, every rule is measured by itself,
    over games that it can change; --status candidate tries candidates before you accept them. If interrupted, the same command
    resumes.
    """
    from housequest.tui.commands.running import EachRules, EvalCall, measure_each, measure_rules, read_how

    judge = accept == "evidence"
    given = {"--status": status, "--games": games, "--save": save, "--accept": judge}
    if not each and (flag := next((flag for flag, value in given.items() if value), None)) is not None:
        raise ConfigurationError(f"{flag} is for --each, which measures every rule by itself; give --each too.")
    if each and alone:
        raise ConfigurationError("--alone: --each measures every rule alone, too; leave --alone out.")
    if alone and not ids:
        raise ConfigurationError("--alone: no rule is named; give its id, or leave it out to measure the whole book.")
    call = EvalCall(flags, *read_how(budget, retry_errors, shard, cluster), out, dry_run, as_json)
    if each:
        measure_each(EachRules(book, tuple(ids or ()), status, games, save, judge), call)
    else:
        measure_rules(book, ids or (), call, alone=alone)


@options.described
def merge(shards: list[Path], out: Path | None = None, as_json: bool = False) -> None:
    """Put the shards of a run together and print its report. The result is byte for byte the run that one machine would write.

    If shards are of different runs, or episodes are missing or there twice, nothing is written.
    """
    from housequest.agent.evaluation.runs import shard

    folder = out if out is not None else shard.merged_folder(shards)
    terminal.note(f"{shard.merge(shards, folder)} episodes of {len(shards)} shards, into {folder}")
    terminal.finish(1 if terminal.show_report(folder, as_json=as_json) else 0)


@options.described
def runs(folder: Path | None = None, plain: bool = False) -> None:
    """Look through runs on the screen. Tasks by outcome, charts, replays, and two side by side.

    Without a terminal, or with --plain, it lists the runs.
    """
    if folder is not None and not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder; name one that holds runs, or a run's folder.")
    path = folder or Path("runs")
    if terminal.has_screen() and not plain:
        from housequest.tui.runs.screen import RunsScreen

        show_screen(lambda: RunsScreen(path))
        return
    from housequest.agent.evaluation.analysis.metrics import CeilingFigures
    from housequest.agent.evaluation.analysis.run import kept_ceiling, prior_of
    from housequest.agent.evaluation.render.table import percent, percents
    from housequest.agent.evaluation.runs.folder import RunFolder
    from housequest.tui.runs.data import RunGroup, RunSnapshot, grouped, read_overview, run_folders

    rows: list[tuple[str, ...]] = []
    left_out: list[str] = []
    for run in grouped(map(read_overview, run_folders(path))):
        if isinstance(run, Path):
            continue
        if not isinstance(run, RunSnapshot):
            left_out.append(f"{run.path.name} is left out: {run.reason}")
            continue
        config, overall, done = run.manifest.configuration, run.summary.overall, f"{run.done}/{len(run.cells)}"
        first = run.members[0] if isinstance(run, RunGroup) else run
        kept = kept_ceiling(RunFolder(first.path), config)
        ceiling = CeilingFigures.of([(kept, result.task) for result in overall.results])
        unknown = "?" if prior_of(config) else "-"
        figures = (done, percent(overall.success), percents(overall.interval), percent(ceiling.success) if ceiling else unknown)
        errors = str(overall.errors) if overall.finished else "-"
        rows.append((run.name, config.who, config.with_what or "-", config.split, *figures, errors))
    if rows:
        terminal.show(table([("run", "agent", "model", "split", "done", "success", "95 %", "ceiling", "err"), *rows]))
    else:
        terminal.note(f"No runs in {path}; `housequest eval` makes one.")
    if any(row[-2] != "-" for row in rows):
        terminal.note(words("texts")["ceiling"])
    for line in left_out:
        terminal.note(line)


@options.described
def verify(runs: list[Path], as_json: bool = False) -> None:
    """Check that runs are whole. Every episode and every line must be as it was written, and nothing may be missing.

    Exits with 1 if a run is not whole.
    """
    found = [each for run in runs for each in _verified(run)]
    lines = (line for each in found for line in each.lines())
    terminal.print_result([each.data() for each in found], lines, as_json=as_json)
    if not all(each.whole for each in found):
        if any(each.tasks and not each.whole for each in found):
            terminal.note("The same `housequest eval` sets damaged episodes aside and plays them again.")
        terminal.finish(1)


def _verified(path: Path) -> list[Verification]:
    from housequest.agent.evaluation.parts import family_of, family_of_sweep
    from housequest.agent.evaluation.runs.folder import RunFolder
    from housequest.agent.evaluation.runs.shard import verify_run, verify_sweep
    from housequest.agent.evaluation.runs.sweep import SweepFolder

    folder = SweepFolder(path)
    if not folder.begun:
        family = family_of(path)
        return [family.verify(path) if family else verify_run(RunFolder(path))]
    if family_of_sweep(folder) is None:
        return verify_sweep(folder)
    places = [path / each.folder for each in folder.contents().runs]
    return [family.verify(place) for place in places if (family := family_of(place)) is not None]


@options.writes
def report(
    formats: Mapping[str, Path | None],
    runs: list[Path],
    as_json: bool = False,
    markdown: bool = False,
    csv: str | None = None,
    against: str | None = None,
    baseline: str | None = None,
    html: Path | None = None,
) -> None:
    """Show the results of runs, success first.

    For one run: success by task type with 95 % intervals, goal conditions, paths, tokens, cost, and why tasks were lost. For
    several, or a sweep: a row for each agent, and how it differs from the baseline.
    """
    from housequest.agent.config import configure
    from housequest.agent.evaluation.library import read_report
    from housequest.agent.evaluation.render import export
    from housequest.agent.evaluation.render.report import EpisodesReport
    from housequest.agent.evaluation.render.series import ArmsReport
    from housequest.agent.evaluation.render.table import TabledReport

    if as_json + markdown + (csv == "-") > 1 or (against and csv == "-"):
        raise ConfigurationError("--json, --markdown and --csv - print one thing each, the last without --against; give one.")
    prices = configure(uses=()).prices_of
    figures = read_report(runs, prices, terminal.searching, baseline)
    wanted = {**formats, "markdown": markdown, "csv": csv, "against": against, "html": html}
    first = next((name for name, given in wanted.items() if given), None)
    if first is not None and not isinstance(figures, TabledReport):
        raise ConfigurationError(f"--{first} is for runs with episodes; runs of plans have their figures and --json.")
    if against and not isinstance(figures, EpisodesReport):
        raise ConfigurationError("--against sets one agent beside published figures; name its run or its series alone.")
    if not isinstance(figures, TabledReport):
        terminal.print_report(figures, as_json=as_json)
        return
    parts = figures.runs if isinstance(figures, ArmsReport | EpisodesReport) else ()
    for name, file in formats.items():
        if file is not None:
            form: ReportFormat = load_plugin("housequest.reports", name, "format of reports")
            for run, place in zip(parts, distinct_files(file, [run.folder.path for run in parts]), strict=True):
                terminal.note(f"{form.write(run.folder, place)} episodes written to {place}")
    published = export.PublishedReport(figures) if against and isinstance(figures, EpisodesReport) else None
    if csv not in (None, "-"):
        table = given_path(csv)
        atomic_write(table, (rows := export.as_csv(figures)).encode())
        what = "arms" if isinstance(figures, ArmsReport) else "plays" if len(parts) > 1 else "tasks"
        terminal.note(f"Wrote {table}, a row for each of {len(rows.splitlines()) - 1} {what}.")
    if as_json:
        terminal.print_json({**figures.data(), **({"published": published.data()} if published else {})})
    elif csv == "-":
        terminal.print_lines([export.as_csv(figures).rstrip("\n")])
    elif markdown:
        terminal.print_lines([export.as_markdown(figures).rstrip("\n")])
        if published:
            terminal.print_lines(["", published.markdown().rstrip("\n")])
    else:
        terminal.print_report(figures)
        if published:
            terminal.print_lines([""])
            terminal.print_report(published)
    if html is None:
        return
    from housequest.agent.evaluation.render.pages.render import MOST_ON_ONE, arms_page, figures_pages

    if isinstance(figures, ArmsReport):
        terminal.write_pages(0, [(html, arms_page(figures))])
    elif isinstance(figures, EpisodesReport):
        turns = [result.turns for run in figures.runs for result in run.results]
        terminal.write_pages(sum(turns) if len(turns) <= MOST_ON_ONE else 0, figures_pages(figures, html))


def distinct_files(file: Path, runs: Sequence[Path]) -> list[Path]:
    """The file for each of these ``runs``: ``file`` itself, or with several, one beside it with the run's name in it."""
    from housequest.agent.evaluation.analysis.arms import distinct_names

    if len(runs) == 1:
        return [file]
    return [file.with_name(f"{file.stem}-{name.replace('/', '-')}{file.suffix}") for name in distinct_names(runs)]


@options.described
def compare(runs: list[Path], as_json: bool = False, html: Path | None = None, show: str | None = None) -> None:
    """Compare runs task by task, each with the first. Who won what, and is the difference more than chance?"""
    from housequest.agent.config import configure
    from housequest.agent.evaluation.analysis.arms import read_arms
    from housequest.agent.evaluation.render.comparison import Comparison
    from housequest.agent.evaluation.render.pages.render import MOST_ON_ONE, arms_page, comparison_page
    from housequest.agent.evaluation.render.series import ArmsReport

    arms = read_arms(runs, configure(uses=()).prices_of, merged=False)
    if len(arms) < 2:
        raise ConfigurationError("compare takes two runs or more, series and sweeps too, and was given one; name another.")
    comparison = Comparison(*arms) if len(arms) == 2 else None
    if comparison is None or not comparison.single:
        if show is not None:
            raise ConfigurationError("--show takes two runs; name one of each series, such as its run-1.")
        terminal.print_report(comparison or ArmsReport(arms), as_json=as_json)
        if html is not None:
            terminal.write_pages(0, [(html, arms_page(ArmsReport(arms)))])
        return
    if show is not None:
        from housequest.agent.episodes.record import read_episode

        task = comparison.pair(show).task
        first, second = (read_episode(arm.runs[0].episode(task)) for arm in arms)
        names = (f"first, {comparison.first.name}", f"second, {comparison.second.name}")
        terminal.show(side_by_side(first, second, names, terminal.look(WIDEST)))
    else:
        terminal.print_report(comparison, as_json=as_json)
    if html is not None:
        flipped = comparison.flipped
        turns = sum(result.turns for pair in flipped for result in pair.results) if len(flipped) <= MOST_ON_ONE else 0
        terminal.write_pages(turns, ((path, comparison_page(comparison, path)) for path in [html]))


def side_by_side(first: Iterable[Event], second: Iterable[Event], names: tuple[str, str], look: TextLayout) -> Iterator[str]:
    """Two episodes of one task, called by ``names``, turn by turn; where ``look`` is narrow, one below the other."""
    from rich.text import Text

    from housequest.tui.play.plain import told_by_turn

    wide = look.width >= NARROW
    column = TextLayout((look.width - len(_BETWEEN)) // 2, look.colour) if wide else look
    (start, one, won), (_, other, lost) = (told_by_turn(events, column) for events in (first, second))
    if start is not None:
        yield from (*look.painted("goal", start.goal.strip()), "", *look.wrapped(start.opening.strip()), "")
    heads = [printable(name) for name in names]
    rows = [[[look.paint("goal", head)] for head in heads]] if wide else []
    for row in (*rows, *zip_longest(one, other, fillvalue=list[str]()), (won, lost)):
        if wide:
            for left, right in zip_longest(*row, fillvalue=""):
                fill = " " * max(0, column.width - Text.from_ansi(left).cell_len)
                yield f"{left}{fill}{_BETWEEN}{right}".rstrip()
            yield f"{' ' * column.width}{_BETWEEN}".rstrip()
        else:
            for head, lines in zip(heads, row, strict=True):
                if lines:
                    yield from (look.paint("dim", f"-- {head}"), *lines)
            yield ""
