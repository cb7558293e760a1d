"""The panes of an episode: header, house, story and mind, side by side or behind tabs."""

from __future__ import annotations

from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from housequest.agent.config import Prices
from housequest.tui.episode.ending import Ending
from housequest.tui.episode.header import GameHeader
from housequest.tui.episode.house import HousePane
from housequest.tui.episode.mind import MindPane
from housequest.tui.episode.state import ViewState
from housequest.tui.episode.story import Story
from housequest.tui.episode.view import ViewMode, ViewPane
from housequest.worlds.base import Task, World

Pane = Literal["story", "house", "mind", "view"]
PANES: tuple[Pane, ...] = ("story", "house", "mind", "view")
"""In the order of their keys. The last is there only while it shows something."""

NARROW = 100
"""Columns below which one pane is shown at a time."""
MIDDLING = 120
"""Columns below which the mind has no place of its own: it takes that of the house."""
WIDE = 160
_LEAST = 24
"""Columns that a pane keeps when another one is widened."""


class Tabs(Widget):
    """The names of the panes with their keys, where one is shown at a time; a click picks one."""

    DEFAULT_CSS = "Tabs { height: 1; padding: 0 1; color: $quiet; }"
    pane: reactive[Pane] = reactive[Pane]("story")
    panes: reactive[tuple[Pane, ...]] = reactive[tuple[Pane, ...]](PANES)

    def render(self) -> Content:
        return Content.assemble(*(self._label(pane) for pane in self.panes))

    def _label(self, pane: Pane) -> tuple[str, str]:
        key, name = PANES.index(pane) + 1, pane.capitalize()
        return (f"[{key} {name}]", "$foreground bold") if pane == self.pane else (f" {key} {name} ", "$quiet")

    async def on_click(self, event: events.Click) -> None:
        place = event.x - 1
        for pane in self.panes:
            place -= len(self._label(pane)[0])
            if place < 0:
                await self.run_action(f"screen.pane('{pane}')")
                return


class EpisodePanes(Vertical):
    """An episode in panes: one below 100 columns, two below 120, else all three, and from 160 on with more room for the house.

    The mind of a person who plays ``alone`` is empty, and takes room only while it is asked for. ``teaching`` is what the story
    says before anything happened, ``prices`` are those of the model, for the mind. The screen shows the ``ending``, which lies
    below the story.
    """

    DEFAULT_CSS = """
    EpisodePanes {
        height: 1fr;
        & > Horizontal { height: 1fr; }
        & #left { width: 34; height: 1fr; }
        & #middle { width: 1fr; height: 1fr; }
        & MindPane { width: 30; }
        & ViewPane { display: none; }
        & > Tabs { display: none; }
        &.-wide #left { width: 70; }
        &.-wide MindPane { width: 42; }
        &.-alone MindPane { display: none; }
        &.-alone.-mind MindPane { display: block; }
        &.-drawn {
            & #left { width: 64; }
            & ViewPane { display: block; }
            & HousePane { height: 10; }
            & MindPane { display: none; }
            &.-camera HousePane { display: none; }
            &.-camera #left { width: 62%; }
            &.-camera.-house HousePane { display: block; }
            &.-mind #left { display: none; }
            &.-mind MindPane { display: block; width: 50; }
            &.-wide {
                & #left { display: block; width: 84; }
                &.-camera #left { width: 104; }
                & HousePane { height: 16; }
                & MindPane { display: block; width: 42; }
                &.-alone MindPane { display: none; }
                &.-alone.-mind MindPane { display: block; }
            }
        }
        &.-middling {
            & > Tabs { display: block; }
            & MindPane { display: none; }
            &.-mind #left { display: none; }
            &.-mind MindPane { display: block; width: 34; }
            &.-drawn #left { width: 48; }
        }
        &.-narrow {
            & > Tabs { display: block; }
            & #left, & #middle, & MindPane { width: 1fr; display: none; }
            & ViewPane { display: none; }
            & HousePane { height: 1fr; }
            &.-story #middle, &.-house #left, &.-view #left, &.-mind MindPane { display: block; }
            &.-drawn {
                & #left { display: block; width: 48%; }
                & ViewPane { display: block; }
                & HousePane { display: none; }
                &.-view #left, &.-house #left { width: 1fr; }
                &.-house ViewPane { display: none; }
                &.-house HousePane { display: block; }
            }
        }
    }
    """

    def __init__(
        self,
        teaching: str = "",
        prices: Prices | None = None,
        game: tuple[World, Task] | None = None,
        *,
        alone: bool = False,
    ) -> None:
        super().__init__(classes="-story")
        self.set_class(alone, "-alone")
        self.pane: Pane = "story"
        self._large = False
        self.view = ViewPane(game)
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
            with Vertical(id="left"):
                yield self.view
                yield self.house
            with Vertical(id="middle"):
                yield self.story
                yield self.ending
            yield self.mind

    def show(
        self, state: ViewState, mode: str, cursor: int | None = None, *, watched: bool = False, acting: bool = False
    ) -> None:
        """Show the episode; ``mode`` is the word for how it is played, ``acting`` says whether a person may act.

        With ``cursor``, house and mind are what they were just after the event of this id, which the story marks.
        """
        then = state if cursor is None else state.at(cursor)
        self._header.show(state, mode)
        self.house.show(then)
        self.mind.show(then)
        if then.moment.started is not None:
            self.set_class(self.mind.empty, "-alone")
            self._fold()
        self.view.show(then, watched=watched, acting=acting and cursor is None)
        self.story.show(state)
        self.story.select(cursor)

    def show_pane(self, pane: Pane) -> None:
        """Show and focus ``pane``."""
        self.pane = pane
        self._fold()
        self._widgets[pane].focus()

    @property
    def panes(self) -> tuple[Pane, ...]:
        """The panes that there are now."""
        return PANES if self.view.mode != "off" else PANES[:-1]

    def draw(self, mode: ViewMode) -> None:
        """Show the View in this mode; none where it is off."""
        self.view.choose(mode)
        self.set_class(self.view.mode != "off", "-drawn")
        self.set_class(self.view.mode != "off" and self.view.pictured, "-camera")
        self._tabs.panes = self.panes
        self.query_one("#left").styles.clear_rule("width")
        if self.pane not in self.panes:
            self.show_pane("story")
        self._fold()

    def on_resize(self) -> None:
        self._lay_out()

    def enlarge(self) -> None:
        """Show one pane at a time, as large as the screen, or all that have room again."""
        self._large = not self._large
        self._lay_out()
        self.show_pane(self._focused)

    def widen(self, by: int) -> bool:
        """Make the panes at the left wider by so many columns; False where they do not stand beside the story."""
        left = self.query_one("#left")
        if self.has_class("-narrow") or not left.display:
            return False
        room = self.size.width - (self.mind.outer_size.width if self.mind.display else 0)
        left.styles.width = max(_LEAST, min(room - _LEAST, left.outer_size.width + by))
        return True

    def _lay_out(self) -> None:
        width = self.size.width
        # What was widened by hand has other columns in another layout.
        self.query_one("#left").styles.clear_rule("width")
        self.set_class(width < NARROW or self._large, "-narrow")
        self.set_class(NARROW <= width < MIDDLING and not self._large, "-middling")
        self.set_class(width >= WIDE and not self._large, "-wide")
        self._fold()

    @property
    def _focused(self) -> Pane:
        """The pane that has the focus, else the one shown last."""
        for pane in self.panes:
            if self._widgets[pane].has_focus:
                return pane
        return self.pane

    @property
    def _widgets(self) -> dict[Pane, Widget]:
        return {"story": self.story, "house": self.house, "mind": self.mind, "view": self.view}

    def _fold(self) -> None:
        # A changed class costs a layout of everything.
        drawn = self.has_class("-drawn") and not self.has_class("-wide")
        if drawn or any(map(self.has_class, ("-narrow", "-middling", "-alone"))):
            for one in PANES:
                self.set_class(one == self.pane, f"-{one}")
            self._tabs.pane = self.pane
