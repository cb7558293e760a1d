"""The first line: the goal, and to its right what is played, by whom, and in which mode."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content
from textual.widget import Widget

from tui.episode.state import ViewState
from tui.widgets.lines import flat

_LEAST_GAP = 2
_DROPPED = ("world", "task", "model", "agent", "assisted", "turn")
"""What is left out where the line is narrow, in this order."""


class GameHeader(Widget):
    """One line above the game. Where it is narrow, all but the goal is dropped, the world first and the mode last."""

    DEFAULT_CSS = "GameHeader { height: 1; padding: 0 1; }"

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
            self._goal, self._words, self._mode = goal, words, mode
            self.refresh()

    def render(self) -> Content:
        width = self.content_size.width
        title = Content.styled(self._goal, "bold")
        for dropped in range(len(_DROPPED) + 1):
            kept = [(word, name) for name, word in self._words.items() if word and name not in _DROPPED[:dropped]]
            words = [Content.styled(word, "" if name == "turn" else "$quiet") for word, name in kept]
            right = Content.styled(" · ", "$quiet").join(words)
            right += Content.assemble("  " if kept else "", (f" {self._mode} ", "bold reverse"))
            gap = width - title.cell_length - right.cell_length
            if gap >= _LEAST_GAP or not self._goal:
                return (title.pad_right(max(gap, 0)) + right).truncate(width, ellipsis=True)
        return title.truncate(width, ellipsis=True)
