"""``housequest compare``: two runs on the same tasks, paired; or how both played one task, beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import drawing, print_report, write_page
from housequest.tui.text import TextLayout, TextStyle, cut, printable
from housequest.worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from housequest.agent.evaluation.analysis.transcript import Transcript, TranscriptNote, TranscriptTurn

WIDEST = 200
NARROW = 100
"""Columns below which the second episode's turn stands under the first's."""

LONGEST_ASIDE = 600

_BETWEEN = " | "

StyledLine = tuple[TextStyle | None, str]
_BLANK: StyledLine = (None, "")


def compare(
    runs: Annotated[list[Path], options.path_argument("FIRST SECOND", "The folders of two runs or series on the same tasks.")],
    as_json: options.JsonOption = False,
    html: Annotated[Path | None, options.page("Also write a page with the tasks that only one of them won.")] = None,
    show: Annotated[str | None, options.value("--show", "TASK", "Show how both played one task.")] = None,
) -> None:
    """Compare two runs task by task. Who won what, and is the difference more than chance?"""
    from housequest.agent.config import configure
    from housequest.agent.evaluation.analysis.run import Run, find_task
    from housequest.agent.evaluation.render.comparison import ComparisonReport
    from housequest.agent.evaluation.render.comparison import compare as paired
    from housequest.agent.evaluation.render.reading import read_side
    from housequest.agent.evaluation.render.repeats import RepeatsComparison, Side

    if len(runs) != 2:
        raise ConfigurationError(f"compare takes two runs, and was given {len(runs)}; compare them two by two.")
    prices = configure(uses=()).settings.prices_of
    one, other = (read_side(run, prices) for run in runs)
    if not isinstance(one, Run) or not isinstance(other, Run):
        if show is not None or html is not None:
            raise ConfigurationError("--show and --html take two runs; name one of each series, such as its run-1.")
        sides = (each if isinstance(each, Side) else Side(each.name, (each,), each.card) for each in (one, other))
        print_report(RepeatsComparison(*sides), as_json=as_json)
        return
    comparison = paired(one, other)
    if show is not None:
        from housequest.agent.evaluation.analysis.transcript import read_transcript

        task = comparison.pair(show).first.task
        sides = (comparison.first, comparison.second)
        episodes = (side.episode(found) for side in sides if (found := find_task(side.manifest.tasks, task)) is not None)
        first, second = map(read_transcript, episodes)
        names = (f"first, {comparison.first.name}", f"second, {comparison.second.name}")
        terminal.show(side_by_side(first, second, names, terminal.look(WIDEST)))
    else:
        print_report(ComparisonReport(comparison), as_json=as_json)
    if html is not None:
        from housequest.agent.evaluation.render.pages.render import comparison_page

        drawing(sum(result.turns for pair in comparison.flipped for result in (pair.first, pair.second)))
        write_page(html, comparison_page(comparison, html))


def side_by_side(first: Transcript, second: Transcript, names: tuple[str, str], look: TextLayout) -> Iterator[str]:
    """Two episodes of one task, called by ``names``, turn by turn; where ``look`` is narrow, one below the other."""
    from rich.cells import cell_len

    from housequest.agent.evaluation.analysis.transcript import aligned

    start = first.started or second.started
    if start is not None:
        goal = _fitted(start.goal.strip(), look, "", "", "goal")
        opening = _fitted(start.opening.strip(), look, "", "", None)
        yield from (_painted(line, look) for line in [*goal, _BLANK, *opening, _BLANK])
    wide = look.width >= NARROW
    column = TextLayout((look.width - len(_BETWEEN)) // 2, look.colour) if wide else look
    heads = [printable(name) for name in names]
    rows: list[tuple[list[StyledLine], ...]] = [tuple([("goal", head)] for head in heads)] if wide else []
    rows += [(_turn(one, column), _turn(other, column)) for one, other in aligned(first, second)]
    rows += [(_end(first, column), _end(second, column))]
    if not wide:
        for row in rows:
            for head, lines in zip(heads, row, strict=True):
                if lines:
                    yield from (look.paint("dim", f"-- {head}"), *(_painted(line, look) for line in lines))
            yield ""
        return
    for row in rows:
        for one, other in zip_longest(*row, fillvalue=_BLANK):
            fill = " " * max(0, column.width - cell_len(one[1]))
            yield f"{_painted(one, column)}{fill}{_BETWEEN}{_painted(other, column)}".rstrip()
        yield f"{' ' * column.width}{_BETWEEN}".rstrip()


def _painted(line: StyledLine, look: TextLayout) -> str:
    style, text = line
    return look.paint(style, text) if style else text


def _turn(turn: TranscriptTurn | None, look: TextLayout) -> list[StyledLine]:
    if turn is None:
        return []
    lines = [line for aside in turn.asides for line in _aside(aside, look)]
    if turn.command is None:
        return [*lines, ("dim", f"{turn.number:>2}   (no command)")]
    by = {"agent": "", "person": " (by a person)", "curiosity": " (by chance)"}[turn.by]
    lines += _fitted(f"{turn.command}{by}", look, f"{turn.number:>2} > ", "     ", "command")
    answer = f"{turn.observation.strip()} {turn.explanation or ''}".strip()
    return lines + _fitted(answer, look, "     ", "     ", None if turn.accepted else "dim")


def _end(transcript: Transcript, look: TextLayout) -> list[StyledLine]:
    from housequest.agent.evaluation.analysis.transcript import notes

    won = transcript.ended is not None and transcript.ended.outcome == "won"
    lines = [line for aside in notes(transcript.after) for line in _aside(aside, look)]
    outcome = transcript.outcome
    return [*lines, *_fitted(f"{outcome[:1].upper()}{outcome[1:]}.", look, "", "", "good" if won else "bad")]


def _aside(aside: TranscriptNote, look: TextLayout) -> list[StyledLine]:
    text = " ".join(cut(aside.text, LONGEST_ASIDE).split())
    return _fitted(f"{aside.who}: {text}", look, "     ", "       ", "dim")


def _fitted(text: str, look: TextLayout, first: str, rest: str, style: TextStyle | None) -> list[StyledLine]:
    from rich.cells import cell_len

    lines = look.wrapped(text, first, rest)
    if any(cell_len(line) > look.width for line in lines):
        # Some characters are two columns wide: half as many fit.
        lines = TextLayout(look.width // 2, look.colour).wrapped(text, first, rest)
    return [(style, line) for line in lines]
