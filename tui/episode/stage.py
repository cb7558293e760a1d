"""The four regions of an episode as the window has room for them: header, house, story and mind."""

from __future__ import annotations

from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from agent.config import Prices
from tui.episode.ending import Ending
from tui.episode.header import GameHeader
from tui.episode.house import HousePane
from tui.episode.mind import MindPane
from tui.episode.state import State
from tui.episode.story import Story

Pane = Literal["story", "house", "mind"]
PANES: tuple[Pane, ...] = ("story", "house", "mind")

NARROW = 100
"""Columns below which one region is shown at a time."""
WIDE = 160


class Tabs(Widget):
    """The names of the regions with their keys, where one is shown at a time; a click picks one."""

    DEFAULT_CSS = """
    Tabs { height: 1; padding: 0 1; color: $quiet; }
    """

    class Picked(Message):
        """A region is to be shown."""

        def __init__(self, pane: Pane) -> None:
            super().__init__()
            self.pane: Pane = pane

    def __init__(self) -> None:
        super().__init__()
        self._pane: Pane = "story"

    def show(self, pane: Pane) -> None:
        """Mark ``pane`` as the one that is shown."""
        self._pane = pane
        self.refresh()

    def render(self) -> Content:
        """The names, the shown one in brackets."""
        return Content.assemble(*(self._label(pane) for pane in PANES))

    def _label(self, pane: Pane) -> tuple[str, str]:
        key, name = PANES.index(pane) + 1, pane.capitalize()
        return (f"[{key} {name}]", "$foreground bold") if pane == self._pane else (f" {key} {name} ", "$quiet")

    def on_click(self, event: events.Click) -> None:
        """Find the name under the pointer."""
        place = event.x - 1
        for pane in PANES:
            place -= len(self._label(pane)[0])
            if place < 0:
                self.post_message(self.Picked(pane))
                return


class Stage(Vertical):
    """An episode in its regions: side by side where there is room, else one at a time behind tabs.

    Below 100 columns one region is shown, from 100 on all three, and from 160 on the house gets more room. ``teaching`` is what
    the story says before anything happened, ``prices`` are those of the model, for the mind. ``ending`` stands below the story,
    and is the screen's to show.
    """

    DEFAULT_CSS = """
    Stage {
        height: 1fr;
        background: $background;
        & > Horizontal { height: 1fr; }
        & #middle { width: 1fr; height: 1fr; }
        & Story {
            height: 1fr;
            padding: 0 1;
            background: $background;
            border: round $frame;
            border-title-color: $quiet;
            border-subtitle-color: $quiet;
            scrollbar-color: $frame;
            scrollbar-background: $background;
            &:focus { border: round $foreground; border-title-color: $foreground; border-title-style: bold; }
        }
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

    def __init__(self, teaching: str = "", prices: Prices | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="-story")
        self.pane: Pane = "story"
        self.story = Story(teaching)
        self.story.border_title = "Story"
        self.house = HousePane()
        self.mind = MindPane(prices)
        self.ending = Ending()
        self._header = GameHeader()
        self._tabs = Tabs()

    @property
    def narrow(self) -> bool:
        """Whether one region is shown at a time."""
        return self.has_class("-narrow")

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._tabs
        with Horizontal():
            yield self.house
            with Vertical(id="middle"):
                yield self.story
                yield self.ending
            yield self.mind

    def show(self, state: State, mode: str, cursor: int | None = None) -> None:
        """Show the episode; ``mode`` is the word for how it is played.

        With ``cursor``, house and mind are what they were just after the event of this id, which the story marks.
        """
        then = state if cursor is None else state.at(cursor)
        self._header.show(state, mode)
        self.house.show(then)
        self.mind.show(then)
        self.story.show(state)
        self.story.select(cursor)

    def turn_to(self, pane: Pane) -> None:
        """Show ``pane`` where one is shown at a time, and give it the keys that scroll."""
        self.pane = pane
        self._fold()
        {"story": self.story, "house": self.house, "mind": self.mind}[pane].focus()

    def turn_on(self) -> None:
        """Go to the next region."""
        self.turn_to(PANES[(PANES.index(self.pane) + 1) % len(PANES)])

    def on_resize(self, event: events.Resize) -> None:
        """Fold or unfold."""
        self.set_class(event.size.width < NARROW, "-narrow")
        self.set_class(event.size.width >= WIDE, "-wide")
        self._fold()

    def _fold(self) -> None:
        # Where all regions are shown nothing is touched: a class costs a layout of the whole stage.
        if self.narrow:
            for one in PANES:
                self.set_class(one == self.pane, f"-{one}")
            self._tabs.show(self.pane)

    def on_tabs_picked(self, message: Tabs.Picked) -> None:
        """Show the region whose name was clicked."""
        message.stop()
        self.turn_to(message.pane)
