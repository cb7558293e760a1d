"""Two runs side by side over the tasks they share: success and steps by type, and the tasks that only one of them won."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from housequest.tui.runs.data import MARKS, Flip, PairCounts, RunPair, RunTask
from housequest.tui.runs.matrix import Matrix, short_type
from housequest.tui.runs.run_list import bar, share_text
from housequest.tui.text import printable

BAR = 4
NAME = 22


class PairView(Vertical):
    """Shows two runs; each task with different outcomes can be replayed from either."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "open(1)", "Replay in the first"),
        Binding("2", "open(2)", "Replay in the second"),
    ]
    DEFAULT_CSS = """
    PairView {
        #pair-head { height: auto; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
        #pair-frame { height: 1fr; border: round $frame; border-title-color: $quiet; border-subtitle-color: $quiet; }
        #pair-frame:focus-within { border: round $foreground; border-title-color: $foreground; border-title-style: bold; }
        OptionList {
            height: 1fr; border: none; padding: 0; background: transparent; scrollbar-size-vertical: 1;
            &:focus { border: none; background-tint: transparent; }
            & > .option-list--option { padding: 0 1; }
        }
    }
    """

    _flips: tuple[Flip, ...] = ()
    _paths: tuple[Path, ...] = ()

    @property
    def flips(self) -> tuple[Flip, ...]:
        """The tasks that one of the two runs alone has won."""
        return self._flips

    def compose(self) -> ComposeResult:
        yield Static(id="pair-head")
        with Vertical(id="pair-frame"):
            yield OptionList(id="pair-flips")

    def show(self, pair: RunPair) -> None:
        """Show ``pair``; the highlighted task stays the same while the runs grow."""
        self.query_one("#pair-head", Static).update(Content("\n").join([*_names(pair), *_table(pair)]))
        frame, flips = self.query_one("#pair-frame"), self.query_one(OptionList)
        first = sum(flip.first.mark == "won" for flip in pair.flips)
        frame.border_title = f"{len(pair.flips)} tasks flipped · {first} won by 1 alone · {len(pair.flips) - first} by 2 alone"
        frame.border_subtitle = "enter replays it where it was not won" if pair.flips else ""
        paths = (pair.first.path, pair.second.path)
        if pair.flips == self._flips and paths == self._paths:
            return
        looked = flips.highlighted
        self._flips, self._paths = pair.flips, paths
        flips.set_options(Option(_flip(flip)) for flip in pair.flips)
        if pair.flips:
            flips.highlighted = min(looked or 0, len(pair.flips) - 1)
        else:
            flips.add_option(Option(Content.styled("No task was won by one of them alone.", "$quiet"), disabled=True))

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        """Replay the task in the run that did not win it."""
        flip = self._flips[event.option_index]
        self.post_message(Matrix.Opened(flip.second if flip.first.mark == "won" else flip.first))

    def action_open(self, side: int) -> None:
        place = self.query_one(OptionList).highlighted
        if place is not None and place < len(self._flips):
            flip = self._flips[place]
            self.post_message(Matrix.Opened(flip.first if side == 1 else flip.second))


def _names(pair: RunPair) -> list[Content]:
    lines: list[Content] = []
    for number, run in ((1, pair.first), (2, pair.second)):
        config = run.manifest.configuration
        about = f"{config.agent} · {config.model or 'no model'} · {config.split}"
        left = len(run.cells) - pair.shared
        alone = f" · {left} tasks of its own are left out" if left else ""
        name = Content.assemble((f"{number} ", "$new"), (printable(run.name), "bold"))
        lines.append(Content.assemble(name, (f"  {printable(about)}{alone}", "$quiet")))
    return lines


def _table(pair: RunPair) -> list[Content]:
    if not pair.shared:
        return [Content.styled("\nThe two runs have no task in common; there is nothing to compare.", "$goal")]
    side = f"{'':<{BAR}} {'won':>7} {'steps':>6}"
    head = Content.styled(f"\n{'':<{NAME}} {'tasks':>5}  1{side[1:]}  2{side[1:]}  {'more':>5}", "$quiet")
    rows = [_row(short_type(kind), sides) for kind, sides in pair.by_type.items()]
    return [head, *rows, _row("all", pair.overall).stylize("bold")]


def _row(name: str, sides: PairCounts) -> Content:
    first, second = sides
    more = second.won - first.won
    sign = f"{more:+d}" if more else "="
    parts: list[Content | str | tuple[str, str]] = [f"{name[:NAME]:<{NAME}} {first.episodes:>5}  "]
    for side in sides:
        steps = side.mean_steps_won
        parts += [
            bar(side.success, BAR),
            f" {share_text(side.success):>7}",
            (f" {f'{steps:.1f}' if steps else '-':>6}  ", "$quiet"),
        ]
    return Content.assemble(*parts, (f"{sign:>5}", "$foreground" if more else "$quiet"))


def _flip(flip: Flip) -> Content:
    return Content.assemble(
        _side(1, flip.first),
        "  ",
        _side(2, flip.second),
        f"  {short_type(flip.task.type):<22} ",
        (f"{flip.task.number:>5}  {printable(flip.task.id)}", "$quiet"),
    )


def _side(number: int, cell: RunTask) -> Content:
    style = "$won" if cell.mark == "won" else "$fault" if cell.mark == "error" else "$foreground"
    return Content.assemble((f"{number} ", "$quiet"), (f"{MARKS[cell.mark]} {cell.mark:<5}", style))
