"""The House pane: what is known of the house from the texts, never what is hidden.

The agent's place comes first, then places with known contents, then the others grouped by what is known of them; within each
part in the order of the opening, so that little moves. "▸" marks the agent's place, "+" what is new, "*" what the goal names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap, zip_longest
from typing import NamedTuple

from textual.content import Content

from housequest.agent.episodes.drawing import goal_kinds
from housequest.tui.episode.state import EpisodeMoment, ViewState
from housequest.tui.text import printable
from housequest.tui.theme import role_style
from housequest.tui.widgets.lines import LinesPane, flat, hung
from housequest.worlds.household.belief import Belief, Item, Other, Receptacle, kind

NOT_VISITED = "not visited"
TWO_COLUMNS = 64  # the width from which on a long house takes two columns
_GAP = 3
_ANY = 1_000_000
_NARROWEST = 4  # the fewest columns that an object takes


class ObjectView(NamedTuple):
    """An object: ``known`` is its known state, ``new`` that it or its place changed, ``wanted`` that the goal names it."""

    name: str
    known: tuple[str, ...] = ()
    new: bool = False
    wanted: bool = False


class ReceptacleView(NamedTuple):
    """A receptacle; its ``state`` ("closed, empty") is an empty text where its contents, new ones first, say all."""

    name: str
    state: str = ""
    things: tuple[ObjectView, ...] = ()
    new: bool = False
    wanted: bool = False


class ReceptacleGroup(NamedTuple):
    """Receptacles of one kind; ``numbers`` are single ones and ranges ("1-9")."""

    kind: str
    numbers: tuple[str, ...]
    wanted: bool = False


class HouseView(NamedTuple):
    """The house as believed; ``here`` are the receptacles at hand, none in mid-room; of ``stray`` objects no place is known.

    ``rest`` are the other receptacles by what is known of them, a group for each kind.
    """

    held: tuple[ObjectView, ...]
    hand_changed: bool
    here: tuple[ReceptacleView, ...]
    known: tuple[ReceptacleView, ...]
    stray: tuple[ObjectView, ...]
    rest: Mapping[str, tuple[ReceptacleGroup, ...]]
    others: tuple[Other, ...] = ()


def wanted_kinds(moment: EpisodeMoment) -> frozenset[str]:
    """The kinds of things that the goal of the episode names."""
    if moment.started is None:
        return frozenset()
    receptacles = moment.belief.receptacles if moment.belief is not None else ()
    return goal_kinds(moment.started.world, moment.started.goal, tuple(dict.fromkeys(one.kind for one in receptacles)))


def house_view(moment: EpisodeMoment) -> HouseView | None:
    """The house as it is believed to be at ``moment``; None before a game, and in a world that is no household."""
    if (belief := moment.belief) is None:
        return None
    before, kinds_wanted = moment.before or belief, wanted_kinds(moment)
    items, old_items = ({item.name: item for item in each.items} for each in (belief, before))
    contents, old_contents = _contents(belief), _contents(before)
    old_words = {one.name: _word(one, old_contents[one.name]) for one in before.receptacles}

    def wanted(name: str) -> bool:
        return kind(name).lower() in kinds_wanted

    def thing(item: Item, new: bool) -> ObjectView:
        known, old = _known_state(item), old_items.get(item.name)
        return ObjectView(item.name, known, new or (old is not None and _known_state(old) != known), wanted(item.name))

    def changed(one: Receptacle) -> bool:
        """True if its word has changed; its contents show what was put in or taken out."""
        old, now = old_words.get(one.name), _word(one, contents[one.name])
        return old is None or (old != now and old.partition(",")[0] != now.partition(",")[0])

    def place(one: Receptacle) -> ReceptacleView:
        old, inside = old_contents.get(one.name, ()), contents[one.name]
        things = [thing(items.get(name) or Item(name), name not in old) for name in inside]
        things.sort(key=lambda each: (not each.new, not each.wanted, kind(each.name), _number(each.name)))
        return ReceptacleView(one.name, _word(one, inside), tuple(things), changed(one), wanted(one.name))

    def group(name: str, alike: list[Receptacle]) -> ReceptacleGroup:
        return ReceptacleGroup(name, _ranges(alike), wanted(alike[0].name))

    near = {one.name for one in belief.here()}
    kinds = list(dict.fromkeys(one.kind for one in belief.receptacles))
    ordered = sorted(belief.receptacles, key=lambda one: (kinds.index(one.kind), _number(one.name), one.name))
    here = sorted((one for one in ordered if one.name in near), key=lambda one: one.name != belief.at)
    known = [one for one in ordered if one.name not in near and (contents[one.name] or changed(one))]
    shown = near.union(one.name for one in known)
    placed = {*belief.carried, *chain(*contents.values()), *chain(*(item.inside or () for item in belief.items))}
    rest: dict[str, dict[str, list[Receptacle]]] = {}
    for one in ordered:
        if one.name not in shown:
            rest.setdefault(_word(one, ()), {}).setdefault(one.kind, []).append(one)
    words = sorted(rest, key=lambda word: (word == NOT_VISITED, "empty" not in word, word))
    return HouseView(
        held=tuple(thing(items.get(name) or Item(name), name not in before.carried) for name in belief.carried),
        hand_changed=belief.carried != before.carried,
        here=tuple(map(place, here)),
        known=tuple(map(place, known)),
        stray=tuple(thing(item, item.name not in old_items) for item in belief.items if item.name not in placed),
        rest={word: tuple(starmap(group, rest[word].items())) for word in words},
        others=belief.others,
    )


def _contents(belief: Belief) -> dict[str, tuple[str, ...]]:
    put: dict[str, list[str]] = {}
    for item in belief.items:
        if item.where is not None:
            put.setdefault(item.where, []).append(item.name)
    return {one.name: tuple(put.get(one.name, ())) if one.contents is None else one.contents for one in belief.receptacles}


def _word(one: Receptacle, contents: tuple[str, ...]) -> str:
    state = one.openness if one.openness in ("open", "closed") else ""
    if contents:
        return state
    if one.contents is not None:
        return f"{state}, empty" if state else "empty"
    return state or ("visited" if one.visited else NOT_VISITED)


def _known_state(item: Item) -> tuple[str, ...]:
    """An object's known state in words; nothing for an ordinary one."""
    return (*item.state, *([f"holds {', '.join(item.inside)}"] if item.inside else []))


def _number(name: str) -> int:
    digits = name.rpartition(" ")[2]
    return int(digits) if digits.isdecimal() else 0


def _ranges(receptacles: Sequence[Receptacle]) -> tuple[str, ...]:
    """The numbers of receptacles of one kind, in order, neighbours joined: 1-3, 5."""
    runs: list[list[int]] = []
    for number in (_number(one.name) for one in receptacles):
        if not runs or number != runs[-1][-1] + 1:
            runs.append([])
        runs[-1].append(number)
    return tuple(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


class HousePane(LinesPane):
    """Shows what the agent believes of the house; never what is hidden."""

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
        if self._house is not None:
            return laid_out(self._house, width, height, whole)
        why = "What is seen of the house is put together here."
        if started := self._moment.started:
            world = flat(started.world)
            why = f"No house is shown: the texts of the world {world} are not read. The story has all of it."
        return hung(Content(""), Content.styled(why, "$quiet"), width)


def laid_out(house: HouseView, width: int, height: int, whole: bool = False) -> list[Content]:
    """``house`` in lines: if too many, in two columns where there is room and, unless ``whole``, with less of other places."""
    lines = _stacked(_blocks(house, width, _ANY))
    column = (width - _GAP) // 2 if width >= TWO_COLUMNS else 0
    for most in (_ANY,) if whole else (_ANY, 4, 3, 2, 1):
        if len(lines) <= height:
            break
        blocks = _blocks(house, column or width, most)
        lines = _beside(blocks, height, column) if column else _stacked(blocks)
    return lines


def _blocks(house: HouseView, width: int, most: int) -> list[list[Content]]:
    """The parts of the house, as lines that stay together; places other than the agent's take at most ``most`` if possible."""
    new = house.hand_changed or any(one.new for one in house.held)
    nothing = Content.styled("nothing", "$new" if house.hand_changed else "$quiet")
    held = Content(" and ").join(map(_thing, house.held)) if house.held else nothing
    hand = Content.assemble(("+ ", "$new") if new else "  ", ("holding ", "$quiet"), held)
    head = [hand.truncate(width, ellipsis=True), *chain(*(_place(one, width, _ANY, "▸ ") for one in house.here))]
    if not house.here:
        head.append(Content("▸ middle of the room").truncate(width, ellipsis=True))
    head += (_other(one).truncate(width, ellipsis=True) for one in house.others)
    blocks = [head, *(_place(one, width, most) for one in house.known)]
    if house.known:
        blocks[1].insert(0, Content(""))
    if house.stray:
        blocks.append([*_title("seen somewhere"), *_things(house.stray, width, most - 1)])
    for state, rows in house.rest.items():
        blocks.append([*_title(state), *_flowed(list(chain(*map(_row, rows))), "    ", width)])
    return blocks


def _other(one: Other) -> Content:
    """A line on another player, as far as the player noticed it."""
    carried = f" · {' and '.join(map(printable, one.carried))}" if one.carried else ""
    where = f"at {printable(one.at)}" if one.at else "between places"
    return Content.assemble("  ", (printable(one.name), f"bold {role_style(one.name)}"), (f" {where}", ""), carried)


def _title(text: str) -> list[Content]:
    return [Content(""), Content.assemble("  ", (text, "italic $quiet"))]


def _stacked(blocks: Iterable[list[Content]]) -> list[Content]:
    lines = list(chain(*blocks))
    return lines if lines and lines[0] else lines[1:]


def _beside(blocks: Sequence[list[Content]], height: int, column: int) -> list[Content]:
    """Two columns of whole blocks, the left one as full as possible."""
    count = next((count for count in range(len(blocks) - 1, 1, -1) if len(_stacked(blocks[:count])) <= height), 1)
    pairs = zip_longest(_stacked(blocks[:count]), _stacked(blocks[count:]), fillvalue=Content(""))
    return [left.truncate(column, pad=True) + Content(" " * _GAP) + right if right else left for left, right in pairs]


_Token = tuple[str, Content]  # text that is never wrapped, behind the gap between it and the token before it


def _token(text: Content) -> _Token:
    return "  ", text


def _place(place: ReceptacleView, width: int, most: int, mark: str = "  ") -> list[Content]:
    heads = [_token(Content.assemble((mark, "bold"), _name(place.name, "bold", place.wanted)))]
    if place.state:
        heads.append(_token(Content.styled(f"+{place.state}", "$new") if place.new else Content.styled(place.state, "$quiet")))
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
        shown = [*heads, *(_token(_thing(thing)) for thing in things[:kept])]
        for more in (f"+{left} more", f"+{left}") if left else ("",):
            line = _joined([*shown, _token(Content.styled(more, "$quiet"))] if more else shown)
            if line.cell_length <= width:
                return line
    return _line(heads, "", width)


def _name(name: str, style: str, wanted: bool) -> Content:
    return Content.styled(f"*{printable(name)}", "bold $goal") if wanted else Content.styled(printable(name), style)


def _thing(thing: ObjectView) -> Content:
    known = Content(f" ({', '.join(thing.known)})" if thing.known else "").stylize("$new" if thing.new else "$quiet")
    return _name(thing.name, "$new" if thing.new else "", thing.wanted) + known


def _row(row: ReceptacleGroup) -> Iterator[_Token]:
    first, *others = [*(f"{number}," for number in row.numbers[:-1]), row.numbers[-1]]
    yield _token(_name(f"{row.kind} {first}", "$quiet", row.wanted))
    yield from ((" ", Content.styled(number, "bold $goal" if row.wanted else "$quiet")) for number in others)


def _things(things: Sequence[ObjectView], width: int, most: int) -> list[Content]:
    """New things first, on lines marked "+"; the others in at most ``most`` lines, but at least one, with how many more."""
    new, old = ([_token(_thing(thing)) for thing in things if thing.new == wanted] for wanted in (True, False))
    most = max(most, 1)
    lines = _flowed(old, "    ", width)
    kept = min(len(old) - 1, most * width // _NARROWEST)
    while len(lines) > most and kept > 0:
        lines = _flowed([*old[:kept], _token(Content.styled(f"+{len(old) - kept} more", "$quiet"))], "    ", width)
        kept -= 1
    return [*_flowed(new, "+   ", width), *lines[:most]]


def _flowed(tokens: Sequence[_Token], margin: str, width: int) -> list[Content]:
    lines: list[list[_Token]] = []
    used = width
    for gap, text in tokens:
        used += len(gap) + text.cell_length
        if used > width:
            lines.append([])
            used = len(margin) + text.cell_length
        lines[-1].append((gap, text))
    return [_line(line, margin, width) for line in lines]


def _joined(tokens: Sequence[_Token]) -> Content:
    return Content.assemble(tokens[0][1], *chain(*tokens[1:]))


def _line(tokens: Sequence[_Token], margin: str, width: int) -> Content:
    return (Content.styled(margin, "$new") + _joined(tokens)).truncate(width, ellipsis=True)
