"""The House pane: what is known of the house, with the agent's place first.

"▸" marks that place, "+" what is new, "*" what the goal names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len
from textual.content import Content

from tui.episode.house_state import HouseView, ObjectView, ReceptacleGroup, ReceptacleView, house_view
from tui.episode.state import ViewState
from tui.text import printable
from tui.widgets.lines import LinesPane, flat, hung

TWO_COLUMNS = 64
"""The width from which on a long house takes two columns."""
_GAP = 3
_ANY = 1_000_000
_NARROWEST = 4
"""The fewest columns that an object takes."""

_Span = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that stay together; ``apart``: an empty line precedes them."""

    lines: list[Content]
    apart: bool = True


class HousePane(LinesPane):
    """What the agent believes of the house; never what is hidden."""

    BORDER_TITLE = "House"

    _state = ViewState()
    _house: HouseView | None = None

    def show(self, state: ViewState) -> None:
        if state.moment is self._state.moment:
            return
        seen, now = self._state.moment, state.moment
        self._state = state
        if seen.belief is now.belief and seen.before is now.before and seen.started is now.started:
            return
        self._house = house_view(now)
        self.relay()

    def lines(self, width: int, height: int, whole: bool) -> Sequence[Content]:
        house = self._house
        if house is None:
            return hung(Content(""), Content.styled(self._nothing(), "$quiet"), width)
        return laid_out(house, width, height, whole)

    def _nothing(self) -> str:
        started = self._state.moment.started
        if started is None:
            return "What is seen of the house is put together here."
        return f"No house is shown: the texts of the world {flat(started.world)} are not read. The story has all of it."


def laid_out(house: HouseView, width: int, height: int, whole: bool = False) -> list[Content]:
    """``house`` in lines of at most ``width`` columns.

    If they are more than ``height``, a wide pane uses two columns; then, unless ``whole``, places other than the agent's get
    fewer and fewer lines.
    """
    lines = _stacked(_blocks(house, width))
    column = (width - _GAP) // 2 if width >= TWO_COLUMNS else 0
    for most in (_ANY,) if whole else (_ANY, 4, 3, 2, 1):
        if len(lines) <= height:
            break
        blocks = _blocks(house, column or width, most)
        lines = _beside(*_split(blocks, height), column) if column else _stacked(blocks)
    return lines


def _blocks(house: HouseView, width: int, most: int = _ANY) -> list[_Block]:
    """The parts of the house; places other than the agent's take at most ``most`` lines if possible."""
    head = [_hand(house, width)]
    for one in house.here:
        head += _place(one, width, _ANY, "▸ ")
    if not house.here:
        head.append(Content("▸ middle of the room").truncate(width, ellipsis=True))
    blocks = [_Block(head)]
    blocks += [_Block(_place(one, width, most), apart=one is house.known[0]) for one in house.known]
    if house.stray:
        blocks.append(_Block([_title("seen somewhere"), *_things(house.stray, width, most - 1)]))
    for section in house.rest:
        tokens = [token for row in section.rows for token in _row(row)]
        blocks.append(_Block([_title(section.state), *_flowed(tokens, "    ", width)]))
    return blocks


def _stacked(blocks: Iterable[_Block]) -> list[Content]:
    lines: list[Content] = []
    for block in blocks:
        lines += [Content(""), *block.lines] if lines and block.apart else block.lines
    return lines


def _split(blocks: Sequence[_Block], height: int) -> tuple[list[Content], list[Content]]:
    """Two columns of whole blocks, the left one as full as possible."""
    count = next((count for count in range(len(blocks) - 1, 1, -1) if len(_stacked(blocks[:count])) <= height), 1)
    return _stacked(blocks[:count]), _stacked(blocks[count:])


def _beside(left: Sequence[Content], right: Sequence[Content], column: int) -> list[Content]:
    pairs = zip_longest(left, right, fillvalue=Content(""))
    return [one.truncate(column, pad=True) + Content(" " * _GAP) + other if other else one for one, other in pairs]


def _hand(house: HouseView, width: int) -> Content:
    mark: _Span = ("+ ", "$new") if house.hand_changed or (house.held and house.held.new) else ("  ", "")
    held: Sequence[_Span] = (
        _token(house.held).spans if house.held else [("nothing", "$new" if house.hand_changed else "$quiet")]
    )
    return Content.assemble(mark, ("holding ", "$quiet"), *held).truncate(width, ellipsis=True)


def _place(place: ReceptacleView, width: int, most: int, mark: str = "  ") -> list[Content]:
    head = _Token(((mark, "bold"), *_name(place.name, "bold", place.wanted)))
    state = (f"+{place.state}", "$new") if place.new else (place.state, "$quiet")
    heads = [head, _Token((state,))] if place.state else [head]
    if most <= 1 and (line := _in_one(heads, place.things, width)):
        return [line]
    return [_line(heads, "", width), *_things(place.things, width, most - 1)]


def _in_one(heads: Sequence[_Token], things: Sequence[ObjectView], width: int) -> Content | None:
    """A place and its contents on one line, as far as they fit; None if that would hide what is new or wanted."""
    if any(thing.new for thing in things):
        return None
    for kept in range(min(len(things), width // _NARROWEST), -1, -1):
        if any(thing.wanted for thing in things[kept:]):
            return None
        left = len(things) - kept
        for more in (f"+{left} more", f"+{left}") if left else ("",):
            tokens = [*heads, *map(_token, things[:kept]), *([_Token(((more, "$quiet"),))] if more else [])]
            if _measured(tokens) <= width:
                return _line(tokens, "", width)
    return _line(heads, "", width)


def _title(text: str) -> Content:
    return Content.assemble("  ", (text, "italic $quiet"))


def _name(name: str, style: str, wanted: bool) -> list[_Span]:
    return [(f"*{printable(name)}", "bold $goal")] if wanted else [(printable(name), style)]


@dataclass(frozen=True, slots=True)
class _Token:
    """Text that is never wrapped; ``joined`` to the token before it by a single space."""

    spans: tuple[_Span, ...]
    joined: bool = False

    @property
    def width(self) -> int:
        return sum(cell_len(text) for text, _ in self.spans)


def _token(thing: ObjectView) -> _Token:
    known: list[_Span] = [(f" ({', '.join(thing.known)})", "$new" if thing.new else "$quiet")] if thing.known else []
    return _Token((*_name(thing.name, "$new" if thing.new else "", thing.wanted), *known))


def _row(row: ReceptacleGroup) -> Iterator[_Token]:
    first, *others = [*(f"{number}," for number in row.numbers[:-1]), *row.numbers[-1:]]
    yield _Token(tuple(_name(f"{row.kind} {first}", "$quiet", row.wanted)))
    for number in others:
        yield _Token(((number, "bold $goal" if row.wanted else "$quiet"),), joined=True)


def _things(things: Sequence[ObjectView], width: int, most: int) -> list[Content]:
    """New things first, on lines marked "+"; the others in at most ``most`` lines, but at least one."""
    new = [_token(thing) for thing in things if thing.new]
    old = [_token(thing) for thing in things if not thing.new]
    return [*_flowed(new, "+   ", width), *_counted(old, "    ", width, max(most, 1))]


def _flowed(tokens: Sequence[_Token], margin: str, width: int) -> list[Content]:
    """``tokens`` wrapped to lines."""
    lines: list[list[_Token]] = []
    used = 0
    for token in tokens:
        gap = 1 if token.joined else 2
        if lines and used + gap + token.width <= width:
            lines[-1].append(token)
            used += gap + token.width
        else:
            lines.append([token])
            used = len(margin) + token.width
    return [_line(line, margin, width) for line in lines]


def _counted(tokens: Sequence[_Token], margin: str, width: int, most: int) -> list[Content]:
    """``tokens`` in at most ``most`` lines, and how many more there are."""
    lines = _flowed(tokens, margin, width)
    if len(lines) <= most:
        return lines
    for kept in range(min(len(tokens) - 1, most * width // _NARROWEST), 0, -1):
        if len(lines) <= most:
            break
        more = _Token(((f"+{len(tokens) - kept} more", "$quiet"),))
        lines = _flowed([*tokens[:kept], more], margin, width)
    return lines[:most]


def _measured(tokens: Sequence[_Token]) -> int:
    return sum(token.width + (1 if token.joined else 2) for token in tokens) - 2


def _line(tokens: Sequence[_Token], margin: str, width: int) -> Content:
    parts: list[_Span] = [(margin, "$new")]
    for position, token in enumerate(tokens):
        gap = " " if token.joined else "  "
        parts += [(gap, ""), *token.spans] if position else token.spans
    return Content.assemble(*parts).truncate(width, ellipsis=True)
