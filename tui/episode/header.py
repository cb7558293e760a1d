"""The first line: the goal, and to its right what is played, by whom, and in which mode."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget

from tui.episode.state import ViewState
from tui.widgets.lines import flat

_BETWEEN = " · "
_LEAST_GAP = 2


@dataclass(frozen=True, slots=True)
class _Part:
    """A word on the right; the one of the highest ``rank`` is dropped first."""

    text: str
    rank: int
    style: str = "$quiet"


class GameHeader(Widget):
    """One line above the game. Where it is narrow, all but the goal is dropped, the world first and the mode last."""

    DEFAULT_CSS = """
    GameHeader {
        height: 1;
        padding: 0 1;
        background: $background;
        color: $foreground;
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._goal = ""
        self._parts: tuple[_Part, ...] = ()

    def show(self, state: ViewState, mode: str) -> None:
        """Show what is played in ``state``; ``mode`` is the word for how (STEP, AUTO, YOU, REPLAY, RACE)."""
        started = state.moment.started
        goal = flat(started.goal).removesuffix(".") if started else ""
        parts = tuple(part for part in _parts(state, mode) if part.text)
        if (goal, parts) != (self._goal, self._parts):
            self._goal, self._parts = goal, parts
            self.refresh()

    def render(self) -> Content:
        return header_line(self._goal, self._parts, self.content_size.width)


def _parts(state: ViewState, mode: str) -> tuple[_Part, ...]:
    started = state.moment.started
    shown_mode = _Part(flat(mode), 0, "bold reverse")
    if started is None:
        return (shown_mode,)
    return (
        _Part(flat(started.world), 6),
        _Part(flat(f"{started.split}:{started.number}"), 5),
        _Part(f"turn {state.moment.turn}/{started.max_turns}", 1, ""),
        _Part(flat(started.agent), 3),
        _Part(flat(state.model or ""), 4),
        _Part("assisted" if state.assisted else "", 2),
        shown_mode,
    )


def header_line(goal: str, parts: tuple[_Part, ...], width: int) -> Content:
    """``goal`` to the left and as many of ``parts`` to the right as ``width`` columns leave room for."""
    title = Content.styled(goal, "bold")
    kept = sorted(parts, key=lambda part: part.rank)
    while kept:
        right = _right([part for part in parts if part in kept])
        gap = width - title.cell_length - right.cell_length
        if gap >= _LEAST_GAP or not goal:
            return (title.pad_right(max(gap, 0)) + right).truncate(width, ellipsis=True)
        kept.pop()
    return title.truncate(width, ellipsis=True)


def _right(parts: list[_Part]) -> Content:
    *others, mode = parts
    words = [Content.styled(part.text, part.style) for part in others]
    shown = Content.styled(f" {mode.text} ", mode.style) if mode.rank == 0 else Content.styled(mode.text, mode.style)
    joined = Content.styled(_BETWEEN, "$quiet").join(words)
    return joined + Content("  ") + shown if words else shown
