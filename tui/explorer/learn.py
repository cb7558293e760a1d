"""``housequest learn``: an agent gets to know homes day by day, and its learning curve is drawn."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.text import plural

if TYPE_CHECKING:
    from housequest.agent.explorer.curves import LivesReport

HEIGHT = 16
"""Rows of a curve in the terminal."""


@options.takes(
    "world",
    "engine",
    "habits",
    "world_option",
    "seed",
    "agent",
    "set",
    "model",
    "timeout",
    "rules_budget",
    "grant",
    "max_steps",
    "concurrency",
)
def learn(
    flags: options.Flags,
    homes: list[str],
    learn: list[str] | None = None,
    distiller: Path | None = None,
    days: int = 40,
    tried: list[int] | None = None,
    frozen: int = 20,
    budget: list[str] | None = None,
    shard: str | None = None,
    out: Path | None = None,
    html: Path | None = None,
    picture: Path | None = None,
    dry_run: bool = False,
    as_json: bool = False,
) -> None:
    """Live in homes day by day, and learn where things are kept.

    Every evening the agent's book grows by what it saw. Some books are tried on later days, from which nobody learns: that is
    the learning curve. If interrupted, the same command resumes.
    """
    from housequest.agent.config import configure
    from housequest.agent.evaluation.runs.budget import BudgetTracker
    from housequest.agent.explorer.curves import curves_chart, curves_page, read_curves
    from housequest.agent.explorer.living import LEARNT, TRIED, live, plan_lives
    from housequest.tui.commands import running

    call = running.EvalCall(
        flags, *running.read_how(budget, retry_errors=False, shard=shard, cluster=None), out, dry_run, as_json
    )
    settings = configure(flags)
    lives = plan_lives(settings, homes, learn or ("counts",), days, tried or TRIED, frozen, distiller)
    one, folder = lives.manifest, out or lives.default_folder
    part = one.lives if call.how.shard is None else call.how.shard.part(one.lives)
    total = sum(map(one.episodes, part))
    ways = ", ".join(f"{way} ({LEARNT[way]})" for way in one.ways)
    about = f"{plural(len(one.homes), 'home')} for {plural(one.days, 'day')} with {one.agent}, {total:,} days in all; {ways}"
    if dry_run:
        terminal.print_result(one.model_dump(mode="json"), [f"Would live in {about}", f"Into {folder}"], as_json=as_json)
        return
    line = running.ProgressLine(f"{about}; into {folder}")
    how = replace(call.how, concurrency=settings.concurrency, watcher=line, beat=line.beat, say=line.say)
    tracker = BudgetTracker(call.budget)
    with closing(line):
        work = live(lives, folder, how, tracker)
        errors = running.carry_out(work, tracker, line.say, lambda: f"{line.done:,} of {total:,} days played")
    if errors:
        terminal.note(f"{plural(errors, 'day')} ended in an error and count as lost; the same command plays them again.")
    if call.how.shard is not None:
        terminal.print_lines([f"Shard {call.how.shard} is lived. The same command without --shard shows the curve of all."])
        terminal.finish(1 if errors else 0)
        return
    report = read_curves(folder)
    terminal.print_report(report, as_json=as_json)
    if not as_json and report.homes and one.tried:
        terminal.print_lines(["", *curve_lines(report, min(terminal.columns(), 80))])
    if html is not None:
        terminal.write_pages(0, [(html, curves_page(report))])
    if picture is not None and report.homes and one.tried:
        from housequest.agent.evaluation.render.pages.render import picture as drawn

        terminal.write_pages(0, [(picture, drawn(curves_chart(report)))])
    terminal.finish(1 if errors else 0)


def curve_lines(report: LivesReport, width: int) -> list[str]:
    """The learning curve as lines of text, of at most ``width`` columns."""
    from rich.text import Text
    from textual_plotext import Plot

    from housequest.agent.explorer.curves import CEILING, FLOOR

    figure: Any = Plot()
    figure.theme("clear")
    figure.plot_size(width, HEIGHT)
    figure.title("success on later days, in per cent")
    days = [0, *report.manifest.tried]
    floor, ceiling = (100 * report.reference(who)[0] for who in (FLOOR, CEILING))
    for level, name, marker in ((ceiling, CEILING, "="), (floor, FLOOR, "-")):
        figure.plot([0, days[-1]], [level, level], label=name, marker=marker)
    for arm, marker in zip(report.arms, "*o+x#@", strict=False):
        figure.plot(days, [floor, *(100 * each.success for each in report.curve(arm))], label=arm, marker=marker)
    figure.ylim(0, 100)
    figure.xticks(days)
    return [line.rstrip() for line in Text.from_ansi(figure.build()).plain.splitlines()]
