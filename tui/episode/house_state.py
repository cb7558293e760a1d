"""What the House pane shows: what is known from the texts, never what is hidden.

The agent's place comes first, then places with known contents, then the others grouped by what is known of them. Within each
part the order is that of the opening, so that little moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from housequest.agent.episodes.drawing import goal_kinds
from housequest.tui.episode.state import EpisodeMoment
from housequest.worlds.household.belief import Belief, Item, Receptacle, kind

NOT_VISITED = "not visited"


@dataclass(frozen=True, slots=True)
class ObjectView:
    """An object: ``known`` is its known state, ``new`` that it or its place changed, ``wanted`` that the goal names it."""

    name: str
    known: tuple[str, ...] = ()
    new: bool = False
    wanted: bool = False


@dataclass(frozen=True, slots=True)
class ReceptacleView:
    """A receptacle with its known contents, those that are new or wanted first.

    ``state`` is a word such as "closed, empty", or empty where the contents say all; ``new``: it has changed.
    """

    name: str
    state: str = ""
    things: tuple[ObjectView, ...] = ()
    new: bool = False
    wanted: bool = False


@dataclass(frozen=True, slots=True)
class ReceptacleGroup:
    """Receptacles of one kind; ``numbers`` are single ones and ranges ("1-9")."""

    kind: str
    numbers: tuple[str, ...]
    wanted: bool = False


@dataclass(frozen=True, slots=True)
class HouseSection:
    """Receptacles of which the same is known, with a group for each kind."""

    state: str
    rows: tuple[ReceptacleGroup, ...]


@dataclass(frozen=True, slots=True)
class HouseView:
    """The house as it is believed to be.

    ``here`` are the receptacles at the agent's place, none in the middle of the room; ``stray`` objects whose place is not
    known.
    """

    held: tuple[ObjectView, ...]
    hand_changed: bool
    here: tuple[ReceptacleView, ...]
    known: tuple[ReceptacleView, ...]
    stray: tuple[ObjectView, ...]
    rest: tuple[HouseSection, ...]


def house_view(moment: EpisodeMoment) -> HouseView | None:
    """The house as it is believed to be at ``moment``; None before a game, and in a world that is no household."""
    belief = moment.belief
    if belief is None:
        return None
    return _View(belief, moment.before or belief, wanted_kinds(moment)).house()


def wanted_kinds(moment: EpisodeMoment) -> frozenset[str]:
    """The kinds of things that the goal of the episode names."""
    if moment.started is None:
        return frozenset()
    receptacles = moment.belief.receptacles if moment.belief is not None else ()
    return goal_kinds(moment.started.world, moment.started.goal, tuple(dict.fromkeys(one.kind for one in receptacles)))


class _View:
    """Indexes a belief, and that of a turn ago."""

    def __init__(self, belief: Belief, before: Belief, wanted: frozenset[str]) -> None:
        self.belief = belief
        self.before = before
        self.wanted = wanted
        self.items = {item.name: item for item in belief.items}
        self.old_items = {item.name: item for item in before.items}
        self.contents = _contents(belief)
        self.old_contents = _contents(before)
        self.old_words = {one.name: self._word(one, self.old_contents[one.name]) for one in before.receptacles}

    def house(self) -> HouseView:
        belief = self.belief
        here = {one.name for one in belief.here()}
        kinds = {name: position for position, name in enumerate(dict.fromkeys(one.kind for one in belief.receptacles))}
        ordered = sorted(belief.receptacles, key=lambda one: (kinds[one.kind], _number(one.name), one.name))
        present = sorted((one for one in ordered if one.name in here), key=lambda one: one.name != belief.at)
        known = [one for one in ordered if one.name not in here and (self.contents[one.name] or self._changed(one))]
        shown = here.union(one.name for one in known)
        held = [self.items.get(name) or Item(name) for name in belief.carried]
        hand_changed = belief.carried != self.before.carried
        placed = {name for names in self.contents.values() for name in names}
        placed.update(name for item in belief.items for name in item.inside or ())
        stray = [item for item in belief.items if item.name not in placed and item.name not in belief.carried]
        rest: dict[str, dict[str, list[Receptacle]]] = {}
        for one in ordered:
            if one.name not in shown:
                rest.setdefault(self._word(one, ()), {}).setdefault(one.kind, []).append(one)
        words = sorted(rest, key=lambda word: (word == NOT_VISITED, "empty" not in word, word))
        return HouseView(
            held=tuple(self._thing(item, item.name not in self.before.carried) for item in held),
            hand_changed=hand_changed,
            here=tuple(self._place(one) for one in present),
            known=tuple(self._place(one) for one in known),
            stray=tuple(self._thing(item, item.name not in self.old_items) for item in stray),
            rest=tuple(HouseSection(word, tuple(map(self._group, rest[word].values()))) for word in words),
        )

    def _group(self, alike: Sequence[Receptacle]) -> ReceptacleGroup:
        return ReceptacleGroup(alike[0].kind, _ranges(alike), self._wanted(alike[0].name))

    def _word(self, one: Receptacle, contents: tuple[str, ...]) -> str:
        state = one.openness if one.openness in ("open", "closed") else ""
        if contents:
            return state
        if one.contents is not None:
            return f"{state}, empty" if state else "empty"
        return state or ("visited" if one.visited else NOT_VISITED)

    def _changed(self, one: Receptacle) -> bool:
        """Whether its word has changed; what was put in or taken out shows in its contents."""
        old, now = self.old_words.get(one.name), self._word(one, self.contents[one.name])
        return old is None or (old != now and old.partition(",")[0] != now.partition(",")[0])

    def _place(self, one: Receptacle) -> ReceptacleView:
        contents = self.contents[one.name]
        old = frozenset(self.old_contents.get(one.name, ()))
        things = [self._thing(self.items.get(name) or Item(name), name not in old) for name in contents]
        things.sort(key=lambda thing: (not thing.new, not thing.wanted, kind(thing.name), _number(thing.name)))
        return ReceptacleView(one.name, self._word(one, contents), tuple(things), self._changed(one), self._wanted(one.name))

    def _thing(self, item: Item, new: bool) -> ObjectView:
        known = _known_state(item)
        old = self.old_items.get(item.name)
        return ObjectView(item.name, known, new or (old is not None and _known_state(old) != known), self._wanted(item.name))

    def _wanted(self, name: str) -> bool:
        return kind(name).lower() in self.wanted


def _contents(belief: Belief) -> dict[str, tuple[str, ...]]:
    """What is known to be in each receptacle, by name."""
    put: dict[str, list[str]] = {}
    for item in belief.items:
        if item.where is not None:
            put.setdefault(item.where, []).append(item.name)
    return {one.name: tuple(put.get(one.name, ())) if one.contents is None else one.contents for one in belief.receptacles}


def _known_state(item: Item) -> tuple[str, ...]:
    """An object's known state in words; nothing for an ordinary one."""
    words = (
        ("hot" if item.heat == "hot" else "cool", item.heat in ("hot", "cool")),
        ("clean", item.clean),
        ("sliced", item.sliced),
        ("on", item.lit),
        (f"holds {', '.join(item.inside or ())}", item.inside),
    )
    return tuple(word for word, true in words if true)


def _number(name: str) -> int:
    digits = name.rpartition(" ")[2]
    return int(digits) if digits.isdecimal() else 0


def _ranges(receptacles: Sequence[Receptacle]) -> tuple[str, ...]:
    """The numbers of receptacles of one kind, in order, neighbours joined: 1-3, 5."""
    runs: list[tuple[int, int]] = []
    for one in receptacles:
        number = _number(one.name)
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return tuple(str(first) if first == last else f"{first}-{last}" for first, last in runs)
