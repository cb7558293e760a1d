"""The first lines: the goal, and to its right what is played, by whom, and in which mode."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from housequest.tui.episode.state import ViewState
from housequest.tui.widgets.lines import flat

_MOST_LINES = 3
_LEAST_GAP = 2
_DROPPED = ("world", "task", "model", "agent", "assisted", "turn")
"""What is left out where the line is narrow, in this order."""


class GameHeader(Widget):
    """One line above the game, and more for a goal that is longer than that.

    Where the last line of the goal leaves too little room, all else is dropped, the world first and the mode last.
    """

    DEFAULT_CSS = "GameHeader { height: auto; padding: 0 1; }"

    _goal = ""
    _words: Mapping[str, str] = {}
    _mode = ""

    def show(self, state: ViewState, mode: str) -> None:
        """Show what is played in ``state``; ``mode`` is the word for how (STEP, AUTO, YOU, REPLAY, RACE)."""
        goal, words = "", dict[str, str]()
        if started := state.moment.started:
            goal = flat(started.goal).removesuffix(".")
            words = {
                "world": flat(started.world),
                "task": flat(f"{started.split}:{started.number}"),
                "turn": f"turn {state.moment.turn}/{started.max_turns}",
                "agent": flat(started.agent),
                "model": flat(state.model or ""),
                "assisted": "assisted" if state.assisted else "",
            }
        if (goal, words, mode) != (self._goal, self._words, self._mode):
            # How many lines there are depends on the goal alone, so nothing moves while it is played.
            self.refresh(layout=goal != self._goal)
            self._goal, self._words, self._mode = goal, words, mode

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport
        return len(self._wrapped(width))

    def render(self) -> Content:
        *above, last = self._wrapped(self.content_size.width)
        return Content("\n").join((*above, self._with_words(last, self.content_size.width)))

    def _wrapped(self, width: int) -> list[Content]:
        """The goal in lines."""
        lines = Content.styled(self._goal, "bold").wrap(max(width, 1)) if self._goal else [Content("")]
        if len(lines) > _MOST_LINES:
            *lines, last = lines[:_MOST_LINES]
            lines.append(last.truncate(width - 1) + Content.styled("…", "bold"))
        return lines

    def _with_words(self, line: Content, width: int) -> Content:
        """A line with as many words to its right as there is room for."""
        for dropped in range(len(_DROPPED) + 1):
            kept = [(word, name) for name, word in self._words.items() if word and name not in _DROPPED[:dropped]]
            words = [Content.styled(word, "" if name == "turn" else "$quiet") for word, name in kept]
            right = Content.styled(" · ", "$quiet").join(words)
            right += Content.assemble("  " if kept else "", (f" {self._mode} ", "bold reverse"))
            gap = width - line.cell_length - right.cell_length
            if gap >= _LEAST_GAP or not self._goal:
                return (line.pad_right(max(gap, 0)) + right).truncate(width, ellipsis=True)
        return line
