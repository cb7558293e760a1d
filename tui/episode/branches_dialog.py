"""A dialog with the branches of a rewound game side by side, turn for turn, from where they part; one of them is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Static

from housequest.tui.base_screen import Dialog
from housequest.tui.episode.recording import GameBranch, shared_turns
from housequest.tui.episode.state import TurnEntry
from housequest.tui.text import plural
from housequest.tui.widgets.lines import cut_lines, flat, hung

LEAST = 26  # columns that a branch has at least; where not all have as much, those around the chosen one are shown
MARGIN = 6  # columns for the number of the turn
HEAD = 5  # lines about each branch, and the rule below them
ANSWER = 3  # lines kept for the chosen command and its answer, as in the style sheet
FRAME = 6  # lines of the dialog other than those of the table and of the answer

BranchChoice = tuple[GameBranch, int]
"""A branch, and the event of the turn to look at there."""


class BranchTable(Widget, can_focus=True):
    """Branches in columns, a row for each turn from the last that all share on; ``moved`` and ``chosen`` hear of its cursor."""

    def __init__(
        self, found: Sequence[GameBranch], event: int | None, moved: Callable[[], None], chosen: Callable[[], None]
    ) -> None:
        super().__init__()
        self._moved, self._chosen = moved, chosen
        self._found = found
        self._shared = shared_turns(found)
        self._first = max(0, self._shared - 1)
        longest = max(len(branch.turns) for branch in found)
        self._rows = range(self._first, max(longest, self._first + 1))
        self.column = len(found) - 1  # the chosen branch, counted from 0
        self._row = self._shared
        self._top = 0
        for column, branch in enumerate(found):
            for row, turn in enumerate(branch.turns):
                if turn.id == event and row >= self._first:
                    self.column, self._row = column, row

    @property
    def branch(self) -> GameBranch:
        return self._found[self.column]

    @property
    def turn(self) -> TurnEntry | None:
        """The turn under the cursor; None on a branch without turns."""
        turns = self.branch.turns
        return turns[min(self._row, len(turns) - 1)] if turns else None

    def move(self, branches: int = 0, turns: int = 0) -> None:
        """Move the cursor by so many branches and turns, as far as there are any."""
        last = len(self.branch.turns) - 1
        row = min(self._row, max(last, 0)) if turns else self._row
        self.column = min(max(0, self.column + branches), len(self._found) - 1)
        self._row = min(max(self._first, row + turns), max(self._rows.stop - 1 if not turns else last, self._first))
        self.refresh()
        self._moved()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport, width
        return HEAD + len(self._rows)

    def render(self) -> Content:
        columns, width = self._columns()
        lines = [self._line("", [self._head(self._found[column])[at] for column in columns], width) for at in range(HEAD - 1)]
        lines.append(self._rule(columns))
        room = max(1, self.content_size.height - HEAD)
        at = self._cursor_row - self._first
        self._top = max(0, min(max(self._top, at - room + 1), at, len(self._rows) - room))
        for row in self._rows[self._top : self._top + room]:
            lines.append(self._line(str(row + 1), [self._cell(column, row) for column in columns], width))
        return Content("\n").join(lines)

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        columns, width = self._columns()
        if place is None or place.x < MARGIN:
            return
        column = columns[min((place.x - MARGIN) // width, len(columns) - 1)]
        row = self._rows[min(self._top + max(place.y - HEAD, 0), len(self._rows) - 1)] if place.y >= HEAD else self._row
        if (column, row) == (self.column, self._cursor_row):
            self._chosen()
        self.column, self._row = column, row
        self.move()

    @property
    def _cursor_row(self) -> int:
        return max(self._first, min(self._row, len(self.branch.turns) - 1))

    def _columns(self) -> tuple[range, int]:
        """The branches that have room, and the columns of each."""
        room = self.content_size.width - MARGIN
        number = min(len(self._found), max(1, room // LEAST))
        first = min(max(0, self.column - number + 1), len(self._found) - number)
        return range(first, first + number), max(1, room // number)

    def _line(self, margin: str, cells: Sequence[Content], width: int) -> Content:
        parts = [cell.truncate(width - 1, ellipsis=True).pad_right(max(0, width - 1 - cell.cell_length)) for cell in cells]
        return Content.styled(f"{margin:>{MARGIN - 2}}  ", "$quiet") + Content(" ").join(parts)

    def _rule(self, columns: range) -> Content:
        """The line below the heads, with how many branches there are further left and right."""
        before = f"─ ‹ {columns.start} more " if columns.start else ""
        after = f" {len(self._found) - columns.stop} more › ─" if columns.stop < len(self._found) else ""
        rail = "─" * (self.content_size.width - len(before) - len(after))
        return Content.styled(f"{before}{rail}{after}", "$frame" if not before + after else "$quiet")

    def _head(self, branch: GameBranch) -> list[Content]:
        chosen = branch is self.branch
        won = branch.ended is not None and branch.ended.outcome == "won"
        return [
            Content.styled(f"{'▌' if chosen else ' '}  {branch.name}", "bold $foreground" if chosen else "bold $quiet"),
            Content.styled(f"   {branch.parting}", "$quiet"),
            Content.styled(f"   {branch.length}", "$quiet"),
            Content.styled(f"   {flat(branch.outcome)}", "$won" if won else "$foreground"),
        ]

    def _cell(self, column: int, row: int) -> Content:
        branch = self._found[column]
        here = branch is self.branch and row == self._cursor_row
        mark = Content.styled("▌" if here else " ", "bold $new")
        if row >= len(branch.turns):
            return mark
        if self._shared <= row < branch.shared:
            return mark + Content.styled(f"  as {branch.origin}", "$quiet")
        turn = branch.turns[row]
        sign = "×" if not turn.observation.accepted else "»" if turn.by == "person" else " "
        quiet = row < self._shared or not turn.observation.accepted or turn.command is None
        style = "bold $foreground on $panel" if here else "$quiet" if quiet else "$foreground"
        words = Content.styled(flat(turn.command or "no command"), style)
        return Content.assemble(mark, (f"{sign} ", "$fault" if sign == "×" else "$role-person"), words)


class BranchesDialog(Dialog[BranchChoice | None], keys="branches"):
    """Shows at least two branches, with the cursor at the turn of ``event``, or where they part; the answer is the choice."""

    def __init__(self, found: Sequence[GameBranch], event: int | None = None, *, does: str) -> None:
        super().__init__()
        self._found, self._does = found, does
        self._table = BranchTable(found, event, self._tell, self.action_choose)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Content(f"{len(self._found)} branches of this game")
            box.border_subtitle = f"← → branch · ↑ ↓ turn · enter {self._does} · esc leave"
            shared = shared_turns(self._found)
            alike = f"The first {plural(shared, 'turn')} are the same." if shared else "They part at the first turn."
            alike = "The first turn is the same." if shared == 1 else alike
            yield Static(Content(f"{alike} × was refused, » a person chose."), id="branches-about")
            yield self._table
            yield Static(id="branches-turn")

    def on_mount(self) -> None:
        self._table.focus()

    def on_resize(self) -> None:
        # What is left of the box by its frame, the lines above and those below.
        self._table.styles.max_height = max(HEAD + 1, int(self.size.height * 0.96) - FRAME - ANSWER)
        self._tell()

    def action_move(self, branches: int, turns: int) -> None:
        self._table.move(branches, turns)

    def action_choose(self) -> None:
        branch, turn = self._table.branch, self._table.turn
        self.dismiss((branch, branch.start if turn is None else turn.id))

    def _tell(self) -> None:
        """Show the whole of the turn under the cursor, as far as there is room."""
        turn, width = self._table.turn, max(20, self._table.size.width or self.size.width - 8)
        lines = [Content.styled("Nothing was played on it.", "$quiet")]
        if turn is not None:
            mark = Content.styled(f"{turn.turn:>{MARGIN - 2}}  ", "$quiet")
            refused = Content.styled("" if turn.observation.accepted else "  refused", "$fault")
            lines = hung(mark, Content.styled(flat(turn.command or "no command"), "bold") + refused, width)
            answer = f"{turn.observation.text.strip()} {turn.observation.explanation or turn.spent}".strip()
            lines += hung(Content(" " * MARGIN), Content(flat(answer)), width)
        self.query_one("#branches-turn", Static).update(Content("\n").join(cut_lines(lines, ANSWER, width)))
