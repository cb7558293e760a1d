"""Two runs side by side over the tasks they share: success by type, and the tasks that only one of them won."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui.runs.data import MARKS, Flip, PairCounts, RunPair, RunTask
from tui.runs.matrix import short_type
from tui.runs.run_list import bar, percent
from tui.text import printable

BAR = 11


class PairView(Vertical):
    """Shows two runs; each task with different outcomes can be replayed from either."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "open(1)", "Replay in 1"),
        Binding("2", "open(2)", "Replay in 2"),
    ]

    DEFAULT_CSS = """
    PairView {
        #pair-head { height: auto; padding: 0 1; }
        #pair-frame { height: 1fr; border: round $frame; border-title-color: $quiet; border-subtitle-color: $quiet; }
        #pair-frame:focus-within { border: round $foreground; border-title-color: $foreground; border-title-style: bold; }
        OptionList {
            height: 1fr; border: none; padding: 0; background: transparent; scrollbar-size-vertical: 1;
            &:focus { border: none; background-tint: transparent; }
            & > .option-list--option { padding: 0 1; }
            & > .option-list--option-highlighted, &:focus > .option-list--option-highlighted {
                background: $panel; color: $foreground; text-style: bold;
            }
            & > .option-list--option-hover { background: $surface; }
        }
    }
    """

    @dataclass
    class Opened(Message):
        """The replay of a task was asked for."""

        cell: RunTask

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._flips: tuple[Flip, ...] = ()
        self._paths: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield Static(id="pair-head")
        with Vertical(id="pair-frame"):
            yield OptionList(id="pair-flips")

    def show(self, pair: RunPair) -> None:
        """Show ``pair``; the highlighted task stays the same while the runs grow."""
        self.query_one("#pair-head", Static).update(Content("\n").join([*_names(pair), *_table(pair)]))
        frame, flips = self.query_one("#pair-frame"), self.query_one(OptionList)
        only = [sum(flip.first.mark == "won" for flip in pair.flips), sum(flip.second.mark == "won" for flip in pair.flips)]
        frame.border_title = f"{len(pair.flips)} tasks flipped · {only[0]} won by 1 alone · {only[1]} by 2 alone"
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

    def focus_first(self) -> None:
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Replay the task in the run that did not win it."""
        event.stop()
        flip = self._flips[event.option_index]
        self.post_message(self.Opened(flip.second if flip.first.mark == "won" else flip.first))

    def action_open(self, side: int) -> None:
        place = self.query_one(OptionList).highlighted
        if place is not None and place < len(self._flips):
            flip = self._flips[place]
            self.post_message(self.Opened(flip.first if side == 1 else flip.second))


def _names(pair: RunPair) -> list[Content]:
    lines: list[Content] = []
    for number, run in ((1, pair.first), (2, pair.second)):
        config = run.manifest.configuration
        told = f"{config.agent} · {config.model or 'no model'} · {config.split}"
        left = len(run.cells) - pair.shared
        alone = f" · {left} tasks of its own are left out" if left else ""
        name = Content.assemble((f"{number} ", "$new"), (printable(run.name), "bold"))
        lines.append(Content.assemble(name, (f"  {printable(told)}{alone}", "$quiet")))
    return lines


def _table(pair: RunPair) -> list[Content]:
    head = Content.styled(f"\n{'':<22} {'tasks':>5}  {'1':<{BAR + 8}}  {'2':<{BAR + 8}}  {'won':>5}", "$quiet")
    if not pair.shared:
        return [Content.styled("\nThe two runs have no task in common; there is nothing to compare.", "$goal")]
    rows = [_row(short_type(kind), sides) for kind, sides in pair.by_type.items()]
    return [head, *rows, _row("all", pair.overall).stylize("bold")]


def _row(name: str, sides: PairCounts) -> Content:
    more = sides.second.won - sides.first.won
    sign = "=" if more == 0 else f"{more:+d}"
    return Content.assemble(
        f"{name[:22]:<22} {sides.first.episodes:>5}  ",
        bar(sides.first.success, BAR),
        f" {percent(sides.first.success):>7}  ",
        bar(sides.second.success, BAR),
        f" {percent(sides.second.success):>7}  ",
        (f"{sign:>5}", "$quiet" if more == 0 else "$foreground"),
    )


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
