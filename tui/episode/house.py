"""The House pane: what is known of the house, with the agent's place first.

"▸" marks that place, "+" what is new, "*" what the goal names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from textual.content import Content

from housequest.tui.episode.house_state import HouseView, ObjectView, ReceptacleGroup, ReceptacleView, house_view
from housequest.tui.episode.state import EpisodeMoment, ViewState
from housequest.tui.text import printable
from housequest.tui.widgets.lines import LinesPane, flat, hung

TWO_COLUMNS = 64
"""The width from which on a long house takes two columns."""
_GAP = 3
_ANY = 1_000_000
_NARROWEST = 4
"""The fewest columns that an object takes."""


class HousePane(LinesPane):
    """What the agent believes of the house; never what is hidden."""

    BORDER_TITLE = "House"

    _moment = EpisodeMoment()
    _house: HouseView | None = None

    def show(self, state: ViewState) -> None:
        seen, self._moment = self._moment, state.moment
        now = state.moment
        if not (seen.belief is now.belief and seen.before is now.before and seen.started is now.started):
            self._house = house_view(now)
            self.relay()

    def lines(self, width: int, height: int, whole: bool) -> Sequence[Content]:
        house = self._house
        if house is None:
            why = "What is seen of the house is put together here."
            if started := self._moment.started:
                world = flat(started.world)
                why = f"No house is shown: the texts of the world {world} are not read. The story has all of it."
            return hung(Content(""), Content.styled(why, "$quiet"), width)
        return laid_out(house, width, height, whole)


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


def _blocks(house: HouseView, width: int, most: int = _ANY) -> list[list[Content]]:
    """The parts of the house, as lines that stay together; places other than the agent's take at most ``most`` if possible."""
    new = house.hand_changed or any(one.new for one in house.held)
    nothing = Content.styled("nothing", "$new" if house.hand_changed else "$quiet")
    held = Content(" and ").join([_thing(one) for one in house.held]) if house.held else nothing
    hand = Content.assemble(("+ ", "$new") if new else "  ", ("holding ", "$quiet"), held)
    head = [hand.truncate(width, ellipsis=True)]
    for one in house.here:
        head += _place(one, width, _ANY, "▸ ")
    if not house.here:
        head.append(Content("▸ middle of the room").truncate(width, ellipsis=True))
    blocks = [head, *(_place(one, width, most) for one in house.known)]
    if house.known:
        blocks[1].insert(0, Content(""))
    if house.stray:
        blocks.append([*_title("seen somewhere"), *_things(house.stray, width, most - 1)])
    for section in house.rest:
        tokens = [token for row in section.rows for token in _row(row)]
        blocks.append([*_title(section.state), *_flowed(tokens, "    ", width)])
    return blocks


def _stacked(blocks: Iterable[list[Content]]) -> list[Content]:
    lines = list(chain(*blocks))
    return lines if lines and lines[0] else lines[1:]


def _split(blocks: Sequence[list[Content]], height: int) -> tuple[list[Content], list[Content]]:
    """Two columns of whole blocks, the left one as full as possible."""
    count = next((count for count in range(len(blocks) - 1, 1, -1) if len(_stacked(blocks[:count])) <= height), 1)
    return _stacked(blocks[:count]), _stacked(blocks[count:])


def _beside(left: Sequence[Content], right: Sequence[Content], column: int) -> list[Content]:
    pairs = zip_longest(left, right, fillvalue=Content(""))
    return [one.truncate(column, pad=True) + Content(" " * _GAP) + other if other else one for one, other in pairs]


def _place(place: ReceptacleView, width: int, most: int, mark: str = "  ") -> list[Content]:
    heads = [_Token(Content.assemble((mark, "bold"), _name(place.name, "bold", place.wanted)))]
    if place.state:
        heads.append(_Token(Content.styled(f"+{place.state}", "$new") if place.new else Content.styled(place.state, "$quiet")))
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
        shown = [*heads, *(_Token(_thing(thing)) for thing in things[:kept])]
        for more in (f"+{left} more", f"+{left}") if left else ("",):
            line = _joined([*shown, _Token(Content.styled(more, "$quiet"))] if more else shown)
            if line.cell_length <= width:
                return line
    return _line(heads, "", width)


def _title(text: str) -> list[Content]:
    return [Content(""), Content.assemble("  ", (text, "italic $quiet"))]


def _name(name: str, style: str, wanted: bool) -> Content:
    return Content.styled(f"*{printable(name)}", "bold $goal") if wanted else Content.styled(printable(name), style)


@dataclass(frozen=True, slots=True)
class _Token:
    """Text that is never wrapped, and the ``gap`` between it and the token before it."""

    text: Content
    gap: str = "  "


def _thing(thing: ObjectView) -> Content:
    known = Content(f" ({', '.join(thing.known)})" if thing.known else "").stylize("$new" if thing.new else "$quiet")
    return _name(thing.name, "$new" if thing.new else "", thing.wanted) + known


def _row(row: ReceptacleGroup) -> Iterator[_Token]:
    first, *others = [*(f"{number}," for number in row.numbers[:-1]), *row.numbers[-1:]]
    yield _Token(_name(f"{row.kind} {first}", "$quiet", row.wanted))
    for number in others:
        yield _Token(Content.styled(number, "bold $goal" if row.wanted else "$quiet"), gap=" ")


def _things(things: Sequence[ObjectView], width: int, most: int) -> list[Content]:
    """New things first, on lines marked "+"; the others in at most ``most`` lines, but at least one."""
    new = [_Token(_thing(thing)) for thing in things if thing.new]
    old = [_Token(_thing(thing)) for thing in things if not thing.new]
    return [*_flowed(new, "+   ", width), *_counted(old, "    ", width, max(most, 1))]


def _flowed(tokens: Sequence[_Token], margin: str, width: int) -> list[Content]:
    """``tokens`` wrapped to lines."""
    lines: list[list[_Token]] = []
    used = 0
    for token in tokens:
        room = len(token.gap) + token.text.cell_length
        if lines and used + room <= width:
            lines[-1].append(token)
            used += room
        else:
            lines.append([token])
            used = len(margin) + token.text.cell_length
    return [_line(line, margin, width) for line in lines]


def _counted(tokens: Sequence[_Token], margin: str, width: int, most: int) -> list[Content]:
    """``tokens`` in at most ``most`` lines, and how many more there are."""
    lines = _flowed(tokens, margin, width)
    if len(lines) <= most:
        return lines
    for kept in range(min(len(tokens) - 1, most * width // _NARROWEST), 0, -1):
        if len(lines) <= most:
            break
        more = _Token(Content.styled(f"+{len(tokens) - kept} more", "$quiet"))
        lines = _flowed([*tokens[:kept], more], margin, width)
    return lines[:most]


def _joined(tokens: Sequence[_Token]) -> Content:
    first, *others = tokens
    return Content.assemble(first.text, *(part for token in others for part in (token.gap, token.text)))


def _line(tokens: Sequence[_Token], margin: str, width: int) -> Content:
    return (Content.styled(margin, "$new") + _joined(tokens)).truncate(width, ellipsis=True)
