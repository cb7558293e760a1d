"""The widgets of home: where games come from, the games of one source, and who plays and how."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from random import choice
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from housequest.agent.agents.spec import AgentSpec, resolve_settings, shipped_model
from housequest.agent.config import pairs
from housequest.tui.home.catalogue import LONGEST, LONGEST_QUERY, NEWEST, OLDER, GameIndex, GameRow, GameSource, PlayerChoice
from housequest.tui.keymap import Equipped, keys_of
from housequest.tui.screens import MODES, GameMode
from housequest.tui.text import TextLayout, one_line, plural, printable, words
from housequest.tui.widgets.lines import ChoiceBar, FramedList
from housequest.worlds.errors import ConfigurationError

GRANTS: Mapping[str, str] = words("grants")
_NAMED = "openai:NAME@http://HOST:PORT/v1"
WIDTH = 24
"""Columns of a line; where the window is `BROAD`, at least as many, elsewhere at most. Between, the longest line decides."""
BROAD = 100
_FRAME = 4
USUAL = "nothing changed"
ALL = "all"
_EMPTY: Mapping[str, str] = words("no_games")
_NO_MATCH = "No game here fits. Escape leaves the search, and once more clears it; t shows other types."
LONGEST_COLUMN = 60
NARROWEST_ASIDE = 20
"""Columns of an aside below which it is left out."""


class SourceList(FramedList, inherit_bindings=False):
    """Lists sources of games, each with its key as the option's id."""

    # Without those of a scroll view: left and right change the pane.
    BINDINGS: ClassVar[list[BindingType]] = OptionList.BINDINGS
    BORDER_TITLE = "housequest"

    _shown: tuple[Sequence[GameSource], GameSource] | None = None
    _width = WIDTH

    def on_resize(self) -> None:
        if self._shown is not None and self._room(self._shown[0]) != self._width:
            self.show(*self._shown)

    def _room(self, places: Sequence[GameSource]) -> int:
        longest = max((cell_len(printable(place.title)) + len(_count(place)) + _FRAME for place in places), default=WIDTH)
        return (max if self.app.size.width >= BROAD else min)(WIDTH, longest)  # pyright: ignore[reportUnknownMemberType]

    def show(self, places: Sequence[GameSource], at: GameSource) -> None:
        """List ``places``, with the cursor on ``at``; nothing is posted."""
        self._shown, self._width = (places, at), self._room(places)
        self.styles.width = self._width + _FRAME
        options: list[Option | None] = []
        for number, place in enumerate(places):
            before = places[number - 1]
            if number and not place.name and (before.name or place.world != before.world):
                options.append(None)
            options.append(Option(_line(place, place.key == at.key, self._width), id=place.key))
            last = [each for each in places if each.kind == "missing" and each.world == place.world][-1:]
            if [place] == last and (command := re.search("`([^`]+)`", place.missing)):
                options.append(Option(Content.styled(printable(command[1])[: self._width], "$goal"), disabled=True))
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(options)
            if at.key in {place.key for place in places}:
                self.highlighted = self.get_option_index(at.key)


def _count(place: GameSource) -> str:
    """The number of games, if it helps to choose one."""
    if place.count is None or place.kind in {"daily", "ladder", "unfinished"}:
        return {"made-up": "" if place.name else "endless", "missing": "not here"}.get(place.kind, "")
    return plural(place.count, "day") if place.kind == "household" else f"{place.count:,}"


def _line(place: GameSource, here: bool, width: int) -> Content:
    count, title = _count(place), Content(printable(place.title))
    if place.kind == "made-up" and title.cell_length > width - 3 - len(count):
        count = ""  # the name says more
    title = title.truncate(width - 3 - len(count), ellipsis=True)
    gap = " " * max(1, width - 2 - title.cell_length - len(count))
    style = "$quiet" if place.kind == "missing" else "$foreground"
    return Content.assemble((f"{'▸ ' if here else '  '}{title.plain}", style), gap, (count, "$quiet"))


class GameList(Equipped, ScrollView, keys="games", can_focus=True, inherit_bindings=False):
    """Games, one of them under the cursor. Picking one, by a second click, posts ``Picked``."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"list--line", "list--quiet", "list--kind", "list--cursor", "list--cursor-quiet"}

    class Moved(Message):
        """Another game is under the cursor, or none any more."""

    class Picked(Message):
        """The game under the cursor was picked."""

    rows: Sequence[GameRow] = ()
    _cursor = 0
    _instead = ""
    _widths = (0, 0, 0)
    """Of the columns of numbers, of kinds and of texts with an aside."""

    @property
    def row(self) -> GameRow | None:
        return self.rows[self._cursor] if self.rows else None

    def show(self, rows: Sequence[GameRow], key: str = "", instead: str = "") -> None:
        """List these games, the cursor on the one with ``key``, else on the first; say something ``instead`` of none."""
        self.rows, self._instead = rows, instead
        numbers = max((cell_len(row.number) for row in rows), default=0)
        kinds = max((cell_len(row.kind) for row in rows), default=0)
        texts = min(LONGEST_COLUMN, max((cell_len(one_line(row.text)) for row in rows if row.aside), default=0))
        self._widths = (numbers, kinds, texts)
        self._cursor = next((number for number, row in enumerate(rows) if row.key == key), 0)
        self.virtual_size = Size(self.size.width, len(rows))
        self._follow()
        self.refresh()
        self.post_message(self.Moved())

    def action_move(self, by: int) -> None:
        place = max(0, min(len(self.rows) - 1, self._cursor + by))
        if self.rows and place != self._cursor:
            self._cursor = place
            self._follow()
            self.refresh()
            self.post_message(self.Moved())

    def action_page(self, by: int) -> None:
        self.action_move(by * max(1, self.size.height - 1))

    def on_click(self, click: events.Click) -> None:
        place = click.y + self.scroll_offset.y
        if place >= len(self.rows):
            return
        if place == self._cursor and click.chain > 1:
            self.post_message(self.Picked())
        self.action_move(place - self._cursor)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self.rows))
        self._follow()

    def _follow(self) -> None:
        height, top = self.size.height, self.scroll_offset.y
        if height and not top <= self._cursor < top + height:
            target = self._cursor if self._cursor < top else self._cursor - height + 1
            self.scroll_to(y=max(0, target), animate=False, immediate=True, force=True)

    def render_line(self, y: int) -> Strip:
        width = self.size.width - (self.scrollbar_size_vertical if self.show_vertical_scrollbar else 0)
        place = y + self.scroll_offset.y
        if place >= len(self.rows):
            return self._empty(y, width)
        row, here, (numbers, kinds, texts) = self.rows[place], place == self._cursor, self._widths
        line = self.get_component_rich_style("list--cursor" if here else "list--line")
        quiet = self.get_component_rich_style("list--cursor-quiet" if here else "list--quiet")
        kind = line if here else self.get_component_rich_style("list--kind")
        parts = [Segment("▸ " if here else "  ", line), Segment(f"{printable(row.number):>{numbers}}  ", quiet)]
        if kinds:
            parts.append(Segment(f"{set_cell_size(one_line(row.kind), kinds)}  ", kind))
        left = width - sum(segment.cell_length for segment in parts)
        if row.aside and left > texts + NARROWEST_ASIDE:
            parts.append(Segment(f"{_cut(one_line(row.text), texts)}   ", line))
            parts.append(Segment(_cut(one_line(row.aside), left - texts - 3), quiet))
        else:
            parts.append(Segment(_cut(one_line(row.text), left), line))
        return Strip(parts).crop_extend(0, width, line if here else self.rich_style)

    def _empty(self, y: int, width: int) -> Strip:
        lines = [] if self.rows else TextLayout(width).wrapped(self._instead)
        if not 1 <= y <= len(lines):
            return Strip.blank(width, self.rich_style)
        style = self.get_component_rich_style("list--quiet")
        return Strip([Segment(lines[y - 1], style)]).crop_extend(0, width, self.rich_style)


def _cut(text: str, width: int) -> str:
    """``text`` in exactly ``width`` columns, an ellipsis where it does not fit."""
    return Content(text).truncate(max(width, 0), ellipsis=True, pad=True).plain


class GameBrowser(Equipped, Vertical):
    """Lists the games of a source that match the search and are of the chosen kind."""

    class Changed(Message):
        """Another game is under the cursor, or another one may be."""

    def __init__(self, place: GameSource, *, id: str) -> None:
        super().__init__(id=id)
        self.place = place
        self.busy = True
        self.search = Input(placeholder="/ words, or a number", id="search", compact=True, max_length=LONGEST_QUERY)
        self.search.cursor_blink = False
        self.types = ChoiceBar(id="types")
        self.list = GameList(id="tasks")
        self._listing = GameIndex()
        self._folded = False

    def compose(self) -> ComposeResult:
        yield from (self.search, self.types, self.list)

    def on_mount(self) -> None:
        self._filter()

    @property
    def row(self) -> GameRow | None:
        return self.list.row

    def open(self, place: GameSource) -> None:
        """Show ``place``, whose games are being loaded."""
        self.place, self.busy, self._folded = place, True, place.kind == "unfinished"
        self._clear()
        self.types.offer(())
        self._filter(listing=GameIndex())

    def unfold(self) -> None:
        """Also list the older games, with the cursor on the first."""
        first = next((row.key for row in self._listing.rows[NEWEST:]), "")
        self._folded = False
        self._filter(first)

    def fill(self, listing: GameIndex, key: str = "") -> None:
        """Show the games, with the cursor where it is, else on the one with ``key``."""
        self.busy = False
        known = {row.key for row in listing.rows}
        before = [row for row in self._listing.rows if row.key not in known]
        self.types.offer([ALL, *listing.kinds] if listing.kinds else (), self.types.value)
        self._filter(self.row.key if self.row else key, GameIndex([*before, *listing.rows], listing.order))

    def put_first(self, row: GameRow) -> None:
        others = (each for each in self._listing.rows if each.key != row.key)
        self._filter(row.key, GameIndex([row, *others], self._listing.order))

    def give_up(self) -> None:
        self.busy = False
        self._filter()

    def show_all(self) -> None:
        self._clear()
        self.types.offer(self.types.words)
        self._filter()

    def draw(self) -> None:
        """Go to a random game of the list."""
        if self.list.rows:
            self.list.show(self.list.rows, choice(self.list.rows).key)

    def _filter(self, key: str = "", listing: GameIndex | None = None) -> None:
        self._listing = listing or self._listing
        kind, of, sought = self.types.value, len(self._listing.rows), self.search.value.strip()
        rows = self._listing.find(sought, "" if kind == ALL else kind)
        older = len(rows) - NEWEST
        if self._folded and not sought and kind in {"", ALL} and older > 1:
            self._folded = key not in {row.key for row in rows[NEWEST:]}
            if self._folded:
                rows = [*rows[:NEWEST], GameRow(OLDER, "", "", f"{older} older games")]
        empty = "" if self.busy else self.place.missing or _EMPTY.get(self.place.kind, "There is no game here.")
        self.list.show(rows, key, _NO_MATCH if of else empty)
        self.border_title = printable(self.place.title)
        count = f"{len(rows):,} of {of:,}" if len(rows) < of else plural(of, "game") if of else ""
        if self.place.kind == "made-up":
            count = f"{plural(len(rows), 'game')} · / and a number for the rest"
        self.border_subtitle = "looking" if self.busy else count

    def _clear(self) -> None:
        with self.prevent(Input.Changed):
            self.search.value = ""

    @on(Input.Changed)
    def _searched(self, changed: Input.Changed) -> None:
        self._filter(self.row.key if self.row and changed.value else "")

    @on(GameList.Moved)
    def _moved(self) -> None:
        # What the list posts while this widget fills it does not reach the screen.
        self.post_message(self.Changed())

    @on(ChoiceBar.Changed)
    def _typed(self) -> None:
        self._filter(self.row.key if self.row else "")


class PlayerPanel(Equipped, Vertical, keys="player"):
    """Asks for the player and the mode, once agents are offered; every change posts ``Changed``."""

    class Changed(Message):
        """Something else is chosen."""

    BORDER_TITLE = "Who plays"

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._specs: dict[str, AgentSpec] = {}
        self._models: list[str] = []
        self._more = False
        self.agents = ChoiceBar(id="agents")
        self.grants = ChoiceBar(several=True, id="grants")
        self.modes = ChoiceBar(id="modes")
        placeholders = {"model": _NAMED, "set": "", "rules": "none; a file"}
        self.lines = {name: _Line(placeholder, id=name) for name, placeholder in placeholders.items()}

    def compose(self) -> ComposeResult:
        yield Horizontal(_heading("a", "agent"), self.agents)
        yield Horizontal(_heading("m", "model"), self.lines["model"])
        yield Horizontal(_heading("x", "settings"), self.lines["set"])
        yield Horizontal(_heading("b", "rules"), self.lines["rules"])
        yield Horizontal(_heading("g", "also sees"), self.grants)
        yield Horizontal(
            _heading(" ".join(key.key for key in keys_of("modes"))), self.modes, Static(id="mode-about", classes="about")
        )

    def on_mount(self) -> None:
        self.grants.offer(list(GRANTS.values()))
        self.modes.offer(list(MODES))
        self._describe()

    def show_more(self, more: bool) -> None:
        """Show all choices, or only those that differ from the defaults."""
        self._more = more
        self._describe()

    def offer(self, agents: Sequence[AgentSpec], chosen: str) -> None:
        """Offer these agents, with this one chosen."""
        self._specs = {spec.name: spec for spec in agents}
        self.agents.offer(list(self._specs), chosen)
        self._describe()

    @property
    def player(self) -> PlayerChoice:
        """The player as chosen, without a model or settings that the agent has no use for."""
        model = self.model if "model" in self.agent.needs else ""
        given = self.lines["set"].value if self.settings else ""
        return PlayerChoice(self.agent.name, model, self.lines["rules"].value, self.granted, given)

    @property
    def granted(self) -> tuple[str, ...]:
        """The chosen grants, by name."""
        return tuple(grant for grant, said in GRANTS.items() if said in self.grants.values)

    @property
    def model(self) -> str:
        """The model that is named, whoever plays."""
        return self.lines["model"].value.strip()

    @property
    def agent(self) -> AgentSpec:
        return self._specs[self.agents.value]

    @property
    def settings(self) -> Mapping[str, object]:
        return resolve_settings(self.agent.name, {})

    @property
    def mode(self) -> GameMode:
        return MODES[self.modes.value]

    @property
    def editing(self) -> bool:
        return any(line.has_focus for line in self.lines.values())

    def preselect(self, player: PlayerChoice, mode: str, models: Sequence[str] = ()) -> None:
        """Choose what is given; the arrow keys recall ``models``."""
        self._models = list(dict.fromkeys([*filter(None, (player.model,)), *models]))
        self.agents.choose(player.agent)
        self.modes.choose(mode)
        if player.grants:
            self.grants.offer(list(GRANTS.values()), *(GRANTS[grant] for grant in player.grants if grant in GRANTS))
        self.lines["model"].suggester = SuggestFromList(self._models)
        self.lines["model"].value = player.model or (self._models[0] if self._models else "")
        self.lines["rules"].value = player.rules
        self._describe()

    def action_recent(self, by: int) -> None:
        line, models = self.lines["model"], self._models
        if line.has_focus and models:
            line.value = models[(models.index(line.value) + by) % len(models) if line.value in models else 0]
            line.cursor_position = len(line.value)

    def on_descendant_focus(self) -> None:
        self._describe()

    def on_descendant_blur(self) -> None:
        self._describe()

    @on(ChoiceBar.Changed)
    @on(Input.Changed)
    def _changed(self, changed: ChoiceBar.Changed | Input.Changed) -> None:
        changed.stop()
        self._describe()
        self.post_message(self.Changed())

    @property
    def ready(self) -> bool:
        return bool(self._specs)

    def _describe(self) -> None:
        settings = tuple(self.settings) if self.ready else ()
        unusual: dict[str, object] = {
            "model": self.ready and self.player.model,
            "set": settings and self.lines["set"].value,
            "rules": self.lines["rules"].value,
            "grants": self.grants.values,
        }
        for name, value in unusual.items():
            row = self.query_one(f"#{name}").parent
            assert isinstance(row, Widget)
            row.display = bool(value) or (self._more and (name != "set" or bool(settings)))
        if not self.ready:
            return
        agent, model = self.agent, self.lines["model"]
        refused = Content.styled(self.refused, "$error")
        self.border_subtitle = refused or Content(self._typed_setting() or agent.about)
        self.query_one("#mode-about", Static).update(Content(self.mode.about))
        unused = f"none: the agent {agent.name} plays without a language model"
        usual = f"{shipped}, or {_NAMED}" if (shipped := shipped_model(agent.name)) else _NAMED
        model.suggest(usual if "model" in agent.needs else unused)
        self.lines["set"].suggest(f"{USUAL}; NAME=VALUE changes {', '.join(settings)}")

    @property
    def refused(self) -> str:
        """The reason why the settings, as far as they are typed, cannot be; empty if they can."""
        given = [one for one in self.lines["set"].value.split() if one.partition("=")[2]]
        try:
            resolve_settings(self.agent.name, dict(pairs(given, "set")))
        except ConfigurationError as error:
            return printable(str(error)).replace(f" of the agent {self.agent.name!r}", "").removeprefix("The setting ")
        return ""

    def _typed_setting(self) -> str:
        """The meaning and default of the setting that is being typed; empty if none is."""
        line, usual = self.lines["set"], {True: "on", False: "off"}
        name = line.value.rpartition(" ")[2].partition("=")[0] if line.has_focus else ""
        options = fields(declared) if name and (declared := self.agent.settings) is not None else ()
        one = next((one for one in options if one.name.startswith(name)), None)
        if one is None:
            return ""
        value = usual[one.default] if isinstance(one.default, bool) else one.default
        return f"{one.name}: {one.metadata.get('description', '')} [{value}]"


class _Line(Input):
    """An input of one row, whose placeholder ends in a mark where it is too long for it."""

    def __init__(self, placeholder: str, *, id: str) -> None:
        super().__init__(id=id, compact=True, max_length=LONGEST, select_on_focus=False)
        self.cursor_blink = False
        self._suggested = placeholder

    def suggest(self, placeholder: str) -> None:
        """Show ``placeholder`` while nothing is typed."""
        self._suggested = placeholder
        self.placeholder = Content(placeholder).truncate(max(1, self.content_size.width), ellipsis=True).plain

    def on_resize(self) -> None:
        self.suggest(self._suggested)


def _heading(keys: str, word: str = "") -> Static:
    return Static(Content.assemble((keys, "bold $goal"), " ", (word, "$quiet")), classes="label")
