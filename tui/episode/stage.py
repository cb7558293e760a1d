"""The panes of an episode, side by side or behind tabs: the header and the mind are here, house, story and View beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from housequest.agent.config import Prices, RolePrices
from housequest.agent.episodes.events import Started
from housequest.agent.evaluation.runs.usage import cost, money
from housequest.agent.setup import HUMAN
from housequest.tui.episode.chores import ChoreRow, chore_rows
from housequest.tui.episode.ending import Ending
from housequest.tui.episode.house import HousePane
from housequest.tui.episode.state import PERSON, YOU, EpisodeMoment, ViewState, you
from housequest.tui.episode.story import Story
from housequest.tui.episode.view import ViewMode, ViewPane
from housequest.tui.keymap import Equipped
from housequest.tui.text import bar_text, percentage, plural
from housequest.tui.theme import role_style
from housequest.tui.widgets.lines import LinesPane, flat, hung
from housequest.worlds.base import Task, World
from housequest.worlds.household.belief import kind
from housequest.worlds.household.weighing import Odds, Weighed

_COMING = "· "
CHORES = "To do"
"""The title of the list of goals, which takes the place of Mind."""

Pane = Literal["story", "house", "mind", "view"]
PANES: tuple[Pane, ...] = get_args(Pane)  # in the order of their keys. The last is there only while it shows something

NARROW = 100  # columns below which one pane is shown at a time
MIDDLING = 120  # columns below which the mind has no place of its own: it takes that of the house
WIDE = 160
_LEAST = 24  # columns that a pane keeps when another one is widened
_MOST_LINES = 3  # of a goal in the header
_LEAST_GAP = 2
_COUNTER = 28  # columns that the counter of rounds and the mode take at most
_COUNTED = 50  # columns of a header that keeps them clear of the goal
_DROPPED = ("world", "task", "model", "agent", "assisted", "turn")
"""The words that a narrow header leaves out, in this order."""


class MindPane(LinesPane):
    """The mind of an agent, what its model costs by ``prices``, and the ``destinations`` of what goes to another machine."""

    BORDER_TITLE = "Mind"

    _state = ViewState()

    def __init__(self, prices: Prices | None = None) -> None:
        super().__init__()
        self._prices = prices
        self.destinations: tuple[str, ...] = ()

    def show(self, state: ViewState) -> None:
        if state.moment.odds != self._state.moment.odds:
            self.scroll_home(animate=False)
        self._state = state
        if state.moment.started is not None and state.moment.started.players:
            self.border_title = CHORES
        self.relay()

    def lines(self, width: int, height: int, whole: bool) -> Sequence[Content]:
        state = self._state
        if rows := chore_rows(state.moment):
            return _chores(rows, width)
        if state.moment.started is None:
            return _quiet("The plan, the rules and the cost of thinking stand here.", width)
        plan = _plan(state.moment, width)
        totals = [*_totals(state, self._prices, width), *(line for each in self.destinations for line in _quiet(each, width))]
        odds = _odds(state.moment.odds, width)
        known = len(plan) + len(totals) + (len(odds) + 1 if odds else 0)
        if odds and not state.moment.plan and known > height and not whole:
            plan = []  # the odds say more than an empty plan
        rules = _rules(state.moment, width, None if whole else height - known - 2)
        return [line for block in (plan, odds, rules, totals) if block for line in (Content(""), *block)][1:]


def _chores(rows: Sequence[ChoreRow], width: int) -> list[Content]:
    done = sum(row.done for row in rows)
    lines = [*_quiet(f"{done} of {len(rows)} done, as far as you know", width), Content("")]
    for row in rows:
        mark, style = ("✓ ", "$quiet") if row.done else ("▸ ", "bold") if row.who else (_COMING, "")
        who = [
            part for name in row.who for part in (" · ", (flat(name), f"bold {role_style(PERSON if name == YOU else name)}"))
        ]
        lines += hung(Content.styled(mark, style), Content.styled(flat(row.text), style) + Content.assemble(*who), width)
    return lines


def _plan(moment: EpisodeMoment, width: int) -> list[Content]:
    title = Content.styled("Plan", "bold")
    if not moment.plan:
        assert moment.started is not None
        agent = flat(moment.started.agent)
        unplanned = "yours alone: no agent plays" if agent == HUMAN else f"{agent} goes from turn to turn, without a plan"
        return [title, *_quiet("no plan so far" if moment.started.model else unplanned, width)]
    if moment.revision:
        revised = Content.styled(f"revised {moment.revision}×", "$quiet")
        title = title.pad_right(max(2, width - 4 - revised.cell_length)) + revised
    lines = [title.truncate(width, ellipsis=True)]
    won = moment.ended is not None and moment.ended.outcome == "won"
    for number, step in enumerate(moment.plan):
        done, present = won or number < moment.step, number == moment.step
        mark, style = ("✓ ", "$quiet") if done else ("▸ ", "bold") if present else (_COMING, "")
        lines += hung(Content.styled(mark, style), Content.styled(flat(step), style), width)
    return lines


def _odds(weighed: Weighed | None, width: int) -> list[Content]:
    """The odds of the places in a search, as bars, the likeliest first; the next place is marked."""
    if weighed is None or weighed.next is None:
        return []
    rows = [(_places(one), one.total, one is weighed.next) for one in sorted(weighed.odds, key=lambda one: -one.total)]
    rows += [("elsewhere", weighed.rest, False)] if weighed.rest else []
    most = max(odds for _, odds, _ in rows) or 1.0
    named = min(max(len(name) for name, *_ in rows), width // 2)
    lines = [Content.styled(flat(f"Odds: {' or '.join(weighed.things)}"), "bold").truncate(width, ellipsis=True)]
    for name, odds, chosen in rows:
        label = Content.styled(("▸ " if chosen else _COMING) + flat(name), "bold" if chosen else "")
        figure = f"{percentage(odds):>3} %"
        room = max(0, width - named - 3 - len(figure))
        bar = Content.styled(bar_text(odds / most, room), "$accent" if chosen else "$quiet")
        lines.append(label.truncate(named + 2, ellipsis=True, pad=True) + " " + bar.pad_right(room - bar.cell_length) + figure)
    return lines


def _places(one: Odds) -> str:
    return f"{kind(one.place)} ×{one.alike}" if one.alike > 1 else one.place


def _rules(moment: EpisodeMoment, width: int, room: int | None) -> list[Content]:
    """The rules, first the one that decided the turn; within ``room`` lines, if that is limited, a line for each."""
    rules = sorted(moment.rules, key=lambda rule: not rule.id or rule.id != moment.decisive)
    if not rules:
        return []
    title = Content.styled("Rules", "bold")
    decided = [bool(rule.id) and rule.id == moment.decisive for rule in rules]
    marks = [Content.styled("§ " if this else _COMING, "bold" if this else "$quiet") for this in decided]
    told = [Content.styled(flat(rule.statement), "bold" if this else "") for rule, this in zip(rules, decided, strict=True)]
    whole = [line for mark, rule in zip(marks, told, strict=True) for line in hung(mark, rule, width)]
    if room is None or len(whole) < room:
        return [title, *whole]
    short = [(mark + rule).truncate(width, ellipsis=True) for mark, rule in zip(marks, told, strict=True)]
    kept = len(short) if len(short) < room else max(1, room - 2)
    more = [Content.styled(f"  +{len(rules) - kept} more", "$quiet")] if kept < len(rules) else []
    return [title, *short[:kept], *more]


def _totals(state: ViewState, prices: Prices | None, width: int) -> list[Content]:
    totals, tokens = state.totals, state.totals.tokens
    if state.model is None:
        agent = flat(state.moment.started.agent) if state.moment.started else ""
        return _quiet(f"{agent}: no model is called", width) if agent != HUMAN else []
    if not totals.calls:
        return _quiet("no call so far", width)
    figures = [f"{plural(totals.calls, 'call')} · {seconds(totals.seconds)}"]
    figures += [f"{plural(totals.images, 'picture')} shown"] if totals.images else []
    if tokens.prompt or tokens.completion:
        share = tokens.cached_share
        cached = f" · {percentage(share)}% cached" if share is not None else ""
        figures += [f"{token_text(tokens.prompt)} tokens in{cached}", f"{token_text(tokens.completion)} tokens out"]
        if prices is not None:
            paid = f"cost {money(cost(tokens, prices) or 0.0)}"
            figures.append("cost unknown: several models" if len(state.models) > 1 or isinstance(prices, RolePrices) else paid)
    else:
        figures.append("tokens not counted")
    return [line for figure in figures for line in hung(Content(""), Content(figure), width)]


def token_text(number: int) -> str:
    """A number of tokens to two or three digits: 980, 4.1k, 123k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 100 * size else f"{number // size}{unit}"
    return str(number)


def seconds(number: float) -> str:
    """A time: 1.8 s, 95 s, 12 min."""
    return f"{number:.1f} s" if number < 10 else f"{number:.0f} s" if number < 600 else f"{number / 60:.0f} min"


def _quiet(text: str, width: int) -> list[Content]:
    return hung(Content(""), Content.styled(text, "$quiet"), width)


class GameHeader(Equipped, Widget):
    """One line above the game, more for a long goal; where room is short, words are left out, the world first. A wide one keeps
    the turn."""

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
                "turn": f"{'round' if started.players else 'turn'} {state.moment.turn}/{started.max_turns}",
                "agent": flat(_player(started)),
                "model": flat(state.model or ""),
                "assisted": "assisted" if state.assisted else "",
            }
        if (goal, words, mode) != (self._goal, self._words, self._mode):
            # How many lines there are depends on the goal alone, so nothing moves while it is played.
            self.refresh(layout=goal != self._goal)
            self._goal, self._words, self._mode = goal, words, mode

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport
        return len(self._goal_lines(width))

    def render(self) -> Content:
        *above, last = self._goal_lines(self.content_size.width)
        return Content("\n").join((*above, self._with_words(last, self.content_size.width)))

    def _goal_lines(self, width: int) -> list[Content]:
        lines = Content.styled(self._goal, "bold").wrap(max(width, 1)) if self._goal else [Content("")]
        if len(lines) > _MOST_LINES:
            *lines, last = lines[:_MOST_LINES]
            lines.append(last.truncate(width - 1) + Content.styled("…", "bold"))
        if width >= _COUNTED and len(lines) < _MOST_LINES and lines[-1].cell_length > width - _COUNTER:
            lines.append(Content(""))
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


def _player(started: Started) -> str:
    """The agent that plays; in company, the other players."""
    me = you(started)
    others = [
        one.name if one.agent == HUMAN else f"{one.name} ({one.agent})" for one in started.players or () if one.name != me
    ]
    return f"with {' and '.join(others)}" if others else started.agent


class Tabs(Equipped, Widget):
    """The names of the panes with their keys, where one is shown at a time; a click picks one."""

    pane: reactive[Pane] = reactive[Pane]("story")
    panes: reactive[tuple[Pane, ...]] = reactive[tuple[Pane, ...]](PANES)
    together: reactive[bool] = reactive[bool](False)

    def on_mount(self) -> None:
        self.auto_links = False

    def render(self) -> Content:
        return Content.assemble(*map(self._label, self.panes))

    def _label(self, pane: Pane) -> Content:
        called = CHORES if pane == "mind" and self.together else pane.capitalize()
        name, style = f"{PANES.index(pane) + 1} {called}", Style.from_meta({"@click": f"screen.pane('{pane}')"})
        shown = Content.styled(f"[{name}]", "$foreground bold") if pane == self.pane else Content.styled(f" {name} ", "$quiet")
        return shown.stylize(style)


class EpisodePanes(Equipped, Vertical):
    """An episode in one to four panes, as there is room; that of the mind is empty, and hidden, for who plays ``alone``."""

    def __init__(
        self, teaching: str, prices: Prices | None = None, game: tuple[World, Task] | None = None, *, alone: bool = False
    ) -> None:
        super().__init__(classes="-story -alone" if alone else "-story")
        self.pane: Pane = "story"
        self._large = False
        self.view = ViewPane(game)
        self.story = Story(teaching)
        self.house = HousePane()
        self.mind = MindPane(prices)
        self._panes: dict[Pane, Widget] = dict(zip(PANES, (self.story, self.house, self.mind, self.view), strict=True))
        self.ending = Ending()
        self._header = GameHeader()
        self._tabs = Tabs()
        self._left = Vertical(id="left")
        self._middle = Vertical(id="middle")

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._tabs
        with Horizontal():
            with self._left:
                yield self.view
                yield self.house
            # Mind stands beside Story or, if that is too narrow, below it.
            with Container(id="right"):
                with self._middle:
                    yield self.story
                    yield self.ending
                yield self.mind

    def show(
        self, state: ViewState, mode: str, cursor: int | None = None, *, watched: bool = False, acting: bool = False
    ) -> None:
        """Show the episode; with ``cursor``, house and mind are those after this event, which the story marks."""
        then = state if cursor is None else state.at(cursor)
        self._header.show(state, mode)
        self.house.show(then)
        self.mind.show(then)
        moment = then.moment
        if moment.started is not None:
            self._tabs.together = bool(moment.started.players)
            to_read = moment.plan or moment.rules or self.mind.destinations or moment.started.players
            self.set_class(moment.started.agent == HUMAN and not to_read, "-alone")
            self._fold()
        self.view.show(then, watched=watched, acting=acting and cursor is None)
        self.story.show(state)
        self.story.select(cursor)

    def show_pane(self, pane: Pane) -> None:
        self.pane = pane
        self._fold()
        self._panes[pane].focus()

    @property
    def panes(self) -> tuple[Pane, ...]:
        return PANES if self.view.mode != "off" else PANES[:-1]

    def draw(self, mode: ViewMode) -> None:
        """Show the View in this mode; none where it is off."""
        self.view.choose(mode)
        self.set_class(self.view.mode != "off", "-drawn")
        self.set_class(self.view.mode != "off" and self.view.pictured, "-camera")
        self._tabs.panes = self.panes
        self._left.styles.clear_rule("width")
        if self.pane not in self.panes:
            self.show_pane("story")
        self._fold()

    def enlarge(self) -> None:
        """Show one pane at a time, as large as the screen, or all that have room again."""
        self._large = not self._large
        self._lay_out()
        focused: list[Pane] = [pane for pane in self.panes if self._panes[pane].has_focus]
        self.show_pane(focused[0] if focused else self.pane)

    @property
    def has_side(self) -> bool:
        """True if there are panes to the left of the story, which can be made wider."""
        return not self.has_class("-narrow") and self._left.display

    def widen(self, by: int) -> None:
        """Make the panes at the left wider by so many columns."""
        room = self._left.outer_size.width + self._middle.outer_size.width
        self._left.styles.width = max(_LEAST, min(room - _LEAST, self._left.outer_size.width + by))

    @on(events.Resize)
    def _lay_out(self) -> None:
        width = self.size.width
        # What was widened by hand has other columns in another layout.
        self._left.styles.clear_rule("width")
        self.set_class(width < NARROW or self._large, "-narrow")
        self.set_class(NARROW <= width < MIDDLING and not self._large, "-middling")
        self.set_class(width >= WIDE and not self._large, "-wide")
        self._fold()

    def _fold(self) -> None:
        # A changed class costs a layout of everything.
        drawn = self.has_class("-drawn") and not self.has_class("-wide")
        if drawn or any(map(self.has_class, ("-narrow", "-middling", "-alone"))):
            for one in PANES:
                self.set_class(one == self.pane, f"-{one}")
            self._tabs.pane = self.pane
