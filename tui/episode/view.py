"""The View pane: an episode's house as a drawing, made in a thread, and anew only where what it depends on has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import chain, zip_longest
from math import inf
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, get_args

from rich.style import Style
from textual import work
from textual.app import App
from textual.content import Content
from textual.strip import Strip

from housequest.tui.base_screen import in_thread
from housequest.tui.episode.state import EpisodeMoment, ViewState
from housequest.tui.text import words
from housequest.tui.widgets.lines import LinesPane, flat
from housequest.tui.widgets.pixels import Graphics, PictureLayer, PlacedPicture, forget

if TYPE_CHECKING:
    from housequest.agent.base import Glimpse
    from housequest.tui.episode.view_drawing import Drawn, LabelKind, ViewArtist, ViewWish
    from housequest.worlds.base import Reach, Task, World
    from housequest.worlds.options import Scalar
    from housequest.worlds.rooms.view import Drawing

ViewMode = Literal["off", "camera", "house", "eyes", "plan", "text"]
"""A mode of the View: off, one of the drawings, or the plan in characters."""
CAMERA_MODES: tuple[ViewMode, ...] = get_args(ViewMode)  # the modes where somebody plays by a camera
MODES: tuple[ViewMode, ...] = tuple(mode for mode in CAMERA_MODES if mode != "camera")  # the modes anywhere else

_NAMES: Mapping[str, str] = words("views")
_CORNERS = 6  # columns of a frame that have no title
_LONGEST_MOVE = 0.12  # seconds that a move is seen, at most
STRIDE = 0.06  # the least seconds of a stride
_STRIDES = 8  # at most, in one walk
_STRIDES_IN_PIXELS = 4  # each takes four times as long to draw, and more to send
_SHARE = 0.8  # how much of a turn's time its moves take together, at most
_KINDS: tuple[LabelKind, ...] = ("goal", "new", "near", "far", "false", "quiet")


class ViewPane(LinesPane):
    """The believed house or, while ``watched``, the true one; without ``game``, the record names the task."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"view--{kind}" for kind in _KINDS}

    def __init__(self, game: tuple[World, Task] | None = None) -> None:
        super().__init__()
        self.watched = False  # whether the true state may be shown: nobody plays who would learn from it
        self.options: Mapping[str, Scalar] = {}  # the options of the world in which a record was played
        self.glimpses: Mapping[int, Glimpse] = {}
        """The camera agent's readings of its pictures, by the event after which each was seen."""
        self.pictured = game is not None and game[0].info.pictured  # whether somebody plays by a camera here
        self.drawable = game is None or self.pictured or game[0].household is not None
        """True if this world has houses."""
        self.reach: Reach | None = None
        """The commands for the thing in the middle of the picture; of the present picture once all is `settled`."""
        self._acting = False
        self.enacts = game is not None and game[0].info.enacts
        """True if commands are enacted here, so that each move of the last one is drawn in turn."""
        self.pace: float | None = None  # turns a second, which leave so much time to moves; None draws none
        self.filming: tuple[float, Callable[[], Awaitable[None]]] | None = None
        """The film's turns a second, if one is made, and the function that takes a picture of the screen."""
        self.moving = False  # whether the moves of the last command are being drawn
        self._skipped = asyncio.Event()
        self._mode: ViewMode = "off"
        self._true = False
        self._whose = ""
        self._game = game
        self._artist: ViewArtist | None = None
        self._moment = EpisodeMoment()
        self._wish: ViewWish | None = None
        self._done: ViewWish | None = None
        self._drawing = self._begins = self._begun = False
        self._drawn_out = asyncio.Event()
        self._picture: tuple[Strip, ...] = ()
        self._placed: list[PlacedPicture] = []  # the terminal's pictures: the last one shown
        self._text: tuple[Content, ...] = ()
        self._remarks: tuple[str, ...] = ()
        self._shows_true = False
        self._said = Content(""), Content("")

    @property
    def _modes(self) -> tuple[ViewMode, ...]:
        """Without colours, the plan in characters stands in place of every drawing."""
        return ("off", "text") if not self._depth else CAMERA_MODES if self.pictured else MODES

    @property
    def mode(self) -> ViewMode:
        return self._mode if self._mode in self._modes else "text"

    @property
    def next_mode(self) -> ViewMode:
        return self._modes[(self._modes.index(self.mode) + 1) % len(self._modes)]

    @property
    def settled(self) -> bool:
        """True if it shows the present moment."""
        return self._wish is self._done and not self._begins

    async def settle(self) -> None:
        while not self.settled:
            self._drawn_out.clear()
            await self._drawn_out.wait()

    def skip(self) -> None:
        """Draw no more moves of the last command."""
        self._skipped.set()

    def choose(self, mode: ViewMode) -> None:
        self._mode = mode
        self._ask()

    def toggle_true(self) -> None:
        """Show the true state, or again what is believed."""
        self._true = not self._true
        self._ask()

    def show(self, state: ViewState, *, watched: bool, whose: str = "", acting: bool = False) -> None:
        """Show the episode; of several, the title says ``whose``. ``acting``: a person may act on what is in the middle."""
        self._moment, self.watched, self._whose, self._acting = state.moment, watched, whose, acting
        self._ask()

    def lines(self, width: int, height: int, whole: bool) -> Sequence[Content]:
        del width, height, whole
        return self._text

    def relay(self) -> None:
        super().relay()
        self._ask()

    def render_line(self, y: int) -> Strip:
        if y >= len(self._picture):
            return super().render_line(y)
        width = self.scrollable_content_region.width
        # A dialog tints the colours below, which carry a picture's number; so below it, draw in blocks.
        if self._placed and self.screen.is_active and y < len(self._placed[-1].lines):
            return self._placed[-1].lines[y].crop_extend(0, width, self.visual_style.rich_style)
        return self._picture[y].crop_extend(0, width, self.visual_style.rich_style)

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self.call_after_refresh(self._ask))  # pyright: ignore[reportUnknownMemberType]
        self.watch(self._app, "app_focus", self._send_again, init=False)

    def on_unmount(self) -> None:
        self._send("".join(forget(one.id) for one in self._placed))
        self._lay(None)
        if self._artist is not None:  # whose drawing may take long, and nobody waits for it
            Thread(target=self._artist.close, daemon=True).start()

    @property
    def _app(self) -> App[Any]:
        return cast("App[Any]", self.app)  # pyright: ignore[reportUnknownMemberType]

    @property
    def colourful(self) -> bool:
        """True if the terminal has the colours for a drawing."""
        return self._depth is not None

    @property
    def _depth(self) -> Literal["truecolor", "256"] | None:
        """The terminal's abilities; None where they are too few for a drawing."""
        system = self._app.console.color_system
        return system if system in ("truecolor", "256") and not self._app.no_color else None

    @property
    def _graphics(self) -> Graphics | None:
        graphics: Graphics | None = getattr(self._app, "graphics", None)
        return graphics if self._depth == "truecolor" else None

    def _lay(self, picture: PlacedPicture | None) -> None:
        """Lay a picture over the pane, or none."""
        layer: PictureLayer | None = getattr(self._app, "layer", None)
        if layer is not None:
            layer.put(self, picture)

    def _send(self, commands: str) -> None:
        """Have the terminal do something with its pictures, after the text printed so far."""
        driver, graphics = self._app._driver, self._graphics  # pyright: ignore[reportPrivateUsage]
        if commands and driver is not None and graphics is not None:
            driver.write(graphics.wrapped(commands))

    def _send_again(self, focus: bool) -> None:
        """Send the picture again in tmux, which drops pictures while another of its windows is shown."""
        if focus and self._placed and self._graphics is not None and self._graphics.tmux:
            self._send(self._placed[-1].sent)
            self.refresh()

    def _ask(self) -> None:
        """Have drawn what is to be shown now, unless it already is."""
        size = self.scrollable_content_region.size
        if self.mode == "off" or not self.is_attached or not size.width or not size.height:
            return
        if not self._begun:
            if not self._begins:
                self._begins = True
                self.call_after_refresh(self._begin)  # load the drawing code after the first frame
            return
        from housequest.tui.episode.view_drawing import ViewWish

        mode = self.mode
        drawing: Drawing | Literal["camera"] | None = None if mode in ("off", "text") else mode
        styles: dict[LabelKind, Style] = {kind: self.get_component_rich_style(f"view--{kind}", partial=True) for kind in _KINDS}
        true, cells, paper = self._true and self.watched, (size.width, size.height), self.background_colors[1].rgb
        wish = ViewWish(
            drawing,
            self._moment,
            true,
            cells,
            self._depth or "256",
            styles,
            paper,
            self._glimpse(),
            self._acting,
            self.enacts,
            self._graphics,
        )
        if self._wish is None or wish.seen != self._wish.seen:
            self._wish = wish
            if not self._drawing:
                self._drawing = True
                self.run_worker(self._draw(), group="view", exit_on_error=True)
        self._entitle()

    @work(group="begin")
    async def _begin(self) -> None:
        # In a thread, and while the game is opened: this takes longer than a picture.
        await in_thread(partial(import_module, "housequest.tui.episode.view_drawing"))
        self._begins, self._begun = False, True
        self._ask()
        self._drawn_out.set()

    def _glimpse(self) -> Glimpse | None:
        anchor = self._moment.anchor
        if not self.glimpses or anchor is None:
            return None
        places = chain((anchor,), (entry.id for entry in reversed(self._moment.story)), self.glimpses)
        return next(self.glimpses[at] for at in places if at in self.glimpses)

    async def _draw(self) -> None:
        try:
            while self._wish is not self._done:
                # What else has changed is painted first: Python runs one thread at a time.
                painted = asyncio.Event()
                self.call_after_refresh(painted.set)
                await painted.wait()
                wish = self._wish
                assert wish is not None, "what is not done was wished for"
                await self._move(wish)
                if wish is not self._wish:
                    continue
                self._take(await in_thread(partial(self._drawn, wish)))
                self._done = wish
        finally:
            self._drawing = False
            self._drawn_out.set()

    async def _move(self, wish: ViewWish) -> None:
        """Draw the moves of the last command one after the other, if it is what follows the drawing that is there."""
        done, artist = self._done, self._artist
        if not (self.pace or self.filming) or done is None or artist is None or wish.drawing in (None, "camera"):
            return
        if not getattr(self._app, "moves", True):
            return
        if len(wish.moment.story) != len(done.moment.story) + 1 or wish.moment.started is not done.moment.started:
            return
        if not self.enacts or not self.pace:
            await self._walk(wish, artist)
            return
        moves = await in_thread(partial(artist.moves, wish))
        self._skipped.clear()
        self.moving = bool(moves)
        try:
            for number, move in enumerate(moves, start=1):
                words = f"{number} of {len(moves)}: {move.action}"
                self._take(await in_thread(partial(artist.draw_move, wish, move, words)))
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(_LONGEST_MOVE, _SHARE / self.pace / len(moves))):
                        await self._skipped.wait()
                if self._skipped.is_set() or wish is not self._wish:
                    return
        finally:
            self.moving = False

    async def _walk(self, wish: ViewWish, artist: ViewArtist) -> None:
        """Draw the walk of the last command, if the pace of the game leaves time."""
        pace, film = self.filming or (self.pace or inf, None)
        most = min(_STRIDES_IN_PIXELS if wish.graphics else _STRIDES, int(_SHARE / pace / STRIDE))
        if self.enacts or not most or wish.moment.before is None:
            return
        for pose in await in_thread(partial(artist.strides, wish, most)):
            if wish is not self._wish:
                return
            shown = monotonic()
            self._take(await in_thread(partial(artist.draw_stride, wish, pose)))
            await (film() if film else asyncio.sleep(max(0.0, STRIDE - (monotonic() - shown))))

    def _drawn(self, wish: ViewWish) -> Drawn:
        if self._artist is None:
            from housequest.tui.episode.view_drawing import ViewArtist

            self._artist = ViewArtist(self._game, self.options)
        return self._artist.draw(wish)

    def _take(self, drawn: Drawn) -> None:
        old, self._picture = self._picture, drawn.picture
        placed = drawn.placed if drawn.placed is not None and not drawn.placed.laid else None
        self._lay(None if placed is not None else drawn.placed)
        if placed is not None:
            self._send(placed.sent)
        # Keep the last picture until the next one is on the screen.
        kept = [*self._placed[-1:], placed] if placed is not None else []
        self._send("".join(forget(one.id) for one in self._placed if one not in kept))
        self._placed = kept
        self._text, self._remarks, self._shows_true = drawn.text, drawn.remarks, drawn.true
        self.reach = drawn.reach
        super().relay()
        for y, (before, now) in enumerate(zip_longest(old, drawn.picture)):
            if before != now or kept:
                self.refresh_line(y)
        self._entitle()

    def _show_hidden(self) -> None:
        super()._show_hidden()
        self._entitle()

    def _entitle(self) -> None:
        """Say in the frame what is drawn, and what the keys do next; where that is narrow, first what is not so as it looks."""
        marks = [Content.styled(" true state ", "bold reverse")] if self._shows_true else []
        marks += [Content(flat(remark)) for remark in self._remarks]
        name, room = _NAMES[self.mode], self.outer_size.width - _CORNERS
        leads = (("View", self._whose, name), (self._whose, name), (self._whose,), ())
        titles = [Content(" · ").join([*(Content(flat(word)) for word in lead if word), *marks]) for lead in leads]
        title = next((one for one in titles if one.cell_length <= room), titles[-1])
        keys = ["space skips"] if self.moving else [f"v {_NAMES[self.next_mode]}"]
        keys += [f"V {'belief' if self._true else 'true state'}"] if self.watched and not self.moving else []
        said = title, Content("  ".join((*keys, self._hidden) if self._hidden else keys))
        # A title that is set draws the whole pane again.
        if not all(old.is_same(new) for old, new in zip(self._said, said, strict=True)):
            self._said = said
            self.border_title, self.border_subtitle = said
