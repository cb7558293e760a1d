"""Names on a drawing: which things are named, and where there is room for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len

from housequest.agent.episodes.drawing import Scene
from housequest.tui.widgets.lines import flat
from housequest.worlds.household.belief import kind as kind_of_name
from housequest.worlds.rooms.room import Box
from housequest.worlds.rooms.stage import AGENT

LabelKind = Literal["goal", "new", "near", "far", "false", "quiet"]
"""What the goal names, what is new, what is at hand, what else there is, what is not so, and what is said beside it."""

_LONGEST = 24
_FEW = 3
_SHARE = 240
"""Cells of a drawing for each landmark that is named: more names than that hide what they name."""


@dataclass(frozen=True, slots=True)
class Label:
    """A name on a drawing, from the cell ``x`` of line ``y`` on."""

    x: int
    y: int
    text: str
    kind: LabelKind

    @property
    def end(self) -> int:
        """The cell after its last one."""
        return self.x + cell_len(self.text)


@dataclass(frozen=True, slots=True)
class Named:
    """A thing to be named, by the ``name`` under which its cell is known; a ``point`` beside it, so that it stays in sight, and
    else on it."""

    name: str
    text: str
    kind: LabelKind
    point: bool


def labels(scene: Scene, cells: Mapping[str, tuple[int, int]], size: tuple[int, int], *, hidden: bool) -> tuple[Label, ...]:
    """The names for which there is room on a drawing of ``size`` cells, of which none lies over another.

    First comes what the goal names, then what is at hand, what is new, and the other receptacles. ``cells`` are those
    where things are; with ``hidden``, what cannot be seen is named where it is known to be.
    """
    holders = {thing: one.name for one in scene.situation.holders for thing in one.contents}
    holders |= dict.fromkeys(scene.situation.carried, AGENT)
    ranked = list(_ranked(scene))
    if hidden:
        there = {one.name: cells[holders[one.name]] for one in ranked if one.point and holders.get(one.name) in cells}
    else:
        there = dict[str, tuple[int, int]]()
    return named_at(ranked, {**there, **cells}, size, points=cells, kept=AGENT)


def named_at(
    ranked: Sequence[Named],
    cells: Mapping[str, tuple[int, int]],
    size: tuple[int, int],
    *,
    points: Mapping[str, tuple[int, int]] | None = None,
    kept: str = "",
) -> tuple[Label, ...]:
    """The names of ``ranked``, the most important first, for which there is room at their ``cells``.

    ``points`` are the cells of things that are seen (if not given, all), on which no other name stands; nor does any on that of
    the thing ``kept``.
    """
    seen = cells if points is None else points
    marks = {seen[one.name] for one in ranked if one.point and one.name in seen and one.kind in ("goal", "new")}
    taken = _Taken(*size)
    for x, y in marks:
        taken.take(x, y, 1)
    if kept in cells:
        taken.take(*cells[kept], 1)
    found: list[Label] = []
    landmarks = size[0] * size[1] // _SHARE
    for one in ranked:
        if one.kind == "far" and not landmarks:
            continue
        cell = cells.get(one.name)
        if cell is None:
            continue
        width = cell_len(one.text)
        place = next((place for place in _places(cell, width, one) if taken.free(*place, width, one.kind == "far")), None)
        if place is not None:
            taken.take(*place, width)
            landmarks -= one.kind == "far"
            found.append(Label(*place, one.text, one.kind))
        elif one.kind in ("goal", "new", "false") and (cell in marks or taken.free(*cell, 1)):
            taken.take(*cell, 1)
            marks.discard(cell)
            found.append(Label(*cell, one.text[:1], one.kind))
    return tuple(found)


class _Taken:
    """Which cells have something on them."""

    def __init__(self, width: int, height: int) -> None:
        self._size = width, height
        self._lines: dict[int, list[tuple[int, int]]] = {}

    def take(self, x: int, y: int, width: int) -> None:
        self._lines.setdefault(y, []).append((x, x + width))

    def free(self, x: int, y: int, width: int, apart: bool = False) -> bool:
        """Whether nothing lies there, nor just before or after it; if ``apart``, nor above and below."""
        inside = x >= 0 and y >= 0 and x + width <= self._size[0] and y < self._size[1]
        lines = (y - 1, y, y + 1) if apart else (y,)
        return inside and all(x + width < first or last < x for line in lines for first, last in self._lines.get(line, ()))


def _places(cell: tuple[int, int], width: int, one: Named) -> Iterator[tuple[int, int]]:
    """Where the name of a thing at ``cell`` may stand, the best place first; the goal's things may be named further off."""
    x, y = cell
    if one.point:
        yield from ((x + 2, y), (x - 1 - width, y))
    else:
        yield x - width // 2, y
    for by in (1, 2, 3) if one.kind == "goal" else (1,):
        yield from ((start, line) for line in (y - by, y + by) for start in (x - width // 2, x + 1, x - width))


def _ranked(scene: Scene) -> Iterator[Named]:
    """What is to be named, the most important first, each once."""
    now = scene.situation
    here = next((one for one in now.holders if one.name == now.at), None)
    near = () if here is None or here.openness == "closed" else here.contents
    known = [thing for one in now.holders for thing in one.contents if thing not in near]
    things = [*now.carried, *near, *known]
    fixtures = [one.name for one in scene.room.fixtures]
    at = [] if now.at is None else [now.at]
    goal = [one for one in fixtures if scene.wants(one)]
    order = [one for one in things if scene.wants(one)]
    order += goal if len(goal) <= _FEW else []
    order += [*at, *things[: len(things) - len(known)]]
    order += [one for one in (*things, *fixtures) if one in scene.new]
    # A large thing says more than a small one, and a single one more than one of ten drawers.
    alike = Counter(map(kind_of_name, fixtures))
    large = sorted(scene.room.fixtures, key=lambda one: (alike[kind_of_name(one.name)], -_volume(one.box)))
    order += [*goal, *scene.room.rooms, *(one.name for one in large)]
    hand = {*at, *near, *now.carried}
    places = frozenset(fixtures)
    for name in dict.fromkeys(order):
        new, wanted = name in scene.new, scene.wants(name)
        kind: LabelKind = "goal" if wanted else "new" if new else "near" if name in hand else "far"
        text = f"{'+' if new else ''}{'*' if wanted else ''}{flat(name)[:_LONGEST]}"
        yield Named(name, text, kind, name not in places)


def _volume(box: Box) -> float:
    return (box.x1 - box.x0) * (box.y1 - box.y0) * (box.z1 - box.z0)
