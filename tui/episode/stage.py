"""The panes of an episode: header, house, story and mind, side by side or behind tabs."""

from __future__ import annotations

from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from agent.config import Prices
from tui.episode.ending import Ending
from tui.episode.header import GameHeader
from tui.episode.house import HousePane
from tui.episode.mind import MindPane
from tui.episode.state import ViewState
from tui.episode.story import Story

Pane = Literal["story", "house", "mind"]
PANES: tuple[Pane, ...] = ("story", "house", "mind")

NARROW = 100
"""Columns below which one pane is shown at a time."""
WIDE = 160


class Tabs(Widget):
    """The names of the panes with their keys, where one is shown at a time; a click picks one."""

    DEFAULT_CSS = "Tabs { height: 1; padding: 0 1; color: $quiet; }"
    pane: reactive[Pane] = reactive[Pane]("story")

    def render(self) -> Content:
        return Content.assemble(*(self._label(pane) for pane in PANES))

    def _label(self, pane: Pane) -> tuple[str, str]:
        key, name = PANES.index(pane) + 1, pane.capitalize()
        return (f"[{key} {name}]", "$foreground bold") if pane == self.pane else (f" {key} {name} ", "$quiet")

    async def on_click(self, event: events.Click) -> None:
        place = event.x - 1
        for pane in PANES:
            place -= len(self._label(pane)[0])
            if place < 0:
                await self.run_action(f"screen.pane('{pane}')")
                return


class EpisodePanes(Vertical):
    """An episode in panes: one below 100 columns, else all three, and from 160 on with more room for the house.

    ``teaching`` is what the story says before anything happened, ``prices`` are those of the model, for the mind. The screen
    shows the ``ending``, which lies below the story.
    """

    DEFAULT_CSS = """
    EpisodePanes {
        height: 1fr;
        & > Horizontal { height: 1fr; }
        & #middle { width: 1fr; height: 1fr; }
        & HousePane { width: 34; }
        & MindPane { width: 30; }
        & > Tabs { display: none; }
        &.-wide HousePane { width: 70; }
        &.-wide MindPane { width: 42; }
        &.-narrow > Tabs { display: block; }
        &.-narrow HousePane, &.-narrow MindPane, &.-narrow #middle { width: 1fr; display: none; }
        &.-narrow.-story #middle, &.-narrow.-house HousePane, &.-narrow.-mind MindPane { display: block; }
    }
    """

    def __init__(self, teaching: str = "", prices: Prices | None = None) -> None:
        super().__init__(classes="-story")
        self.pane: Pane = "story"
        self.story = Story(teaching)
        self.house = HousePane()
        self.mind = MindPane(prices)
        self.ending = Ending()
        self._header = GameHeader()
        self._tabs = Tabs()

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._tabs
        with Horizontal():
            yield self.house
            with Vertical(id="middle"):
                yield self.story
                yield self.ending
            yield self.mind

    def show(self, state: ViewState, mode: str, cursor: int | None = None) -> None:
        """Show the episode; ``mode`` is the word for how it is played.

        With ``cursor``, house and mind are what they were just after the event of this id, which the story marks.
        """
        then = state if cursor is None else state.at(cursor)
        self._header.show(state, mode)
        self.house.show(then)
        self.mind.show(then)
        self.story.show(state)
        self.story.select(cursor)

    def show_pane(self, pane: Pane) -> None:
        """Show and focus ``pane``."""
        self.pane = pane
        self._fold()
        {"story": self.story, "house": self.house, "mind": self.mind}[pane].focus()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < NARROW, "-narrow")
        self.set_class(event.size.width >= WIDE, "-wide")
        self._fold()

    def _fold(self) -> None:
        # A changed class costs a layout of everything.
        if self.has_class("-narrow"):
            for one in PANES:
                self.set_class(one == self.pane, f"-{one}")
            self._tabs.pane = self.pane


PANE_KEYS = (
    Binding("1", "pane('story')", "Story", show=False),
    Binding("2", "pane('house')", "House", show=False),
    Binding("3", "pane('mind')", "Mind", show=False),
    Binding("tab", "next_pane", "Next region", show=False),
    Binding("slash", "app.command_palette", "Palette", key_display="/"),
)


class PaneActions:
    """The actions of a screen with ``panes``."""

    panes: EpisodePanes

    def action_fold(self) -> None:
        self.panes.story.fold_all()

    def action_pane(self, pane: Pane) -> None:
        self.panes.show_pane(pane)

    def action_next_pane(self) -> None:
        self.panes.show_pane(PANES[(PANES.index(self.panes.pane) + 1) % len(PANES)])
