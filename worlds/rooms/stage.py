"""The boxes of a room as far as a situation knows it: open receptacles stand open, with the things known to be there. A closed
receptacle is a solid box, so its contents are hidden by construction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import cos, radians, sin

from housequest.worlds.rooms.room import AHEAD, Box, Colour, Fixture, Holder, Kind, Point, Pose, Room, Side, Situation, kind_of

MAX_CONTENTS = 200  # things in one receptacle that are drawn
BOARD = 0.02  # the thickness of a receptacle's boards, in metres
_THINNEST = 0.02
_RIM = 0.14
_RIMMED = ("cupboard", "drawer", "basin")
_FINE = tuple(share / 20 for share in range(18, 1, -1))
_SPOTS = (((0.72, 0.45, 0.2), (0.5, 0.3, 0.7, 0.12, 0.88)), (_FINE, _FINE))
"""The spots of things in a receptacle, as shares from its back and left; finer if these are not enough."""


def laid_in(room: Room, fixture: Fixture, holder: Holder, situation: Situation) -> Iterator[tuple[str, Box]]:
    """The things in or on a receptacle, each where it lay at the start, or else at the first free spot."""
    laid: list[Box] = []
    moved: list[str] = []
    for name in dict.fromkeys(holder.contents[:MAX_CONTENTS]):
        if name in situation.carried:
            continue
        home = room.homes.get((name, fixture.name))
        if home is None:
            moved.append(name)
            continue
        laid.append(_inside(_raised(box_at(name, home), fixture), room.walls))
        yield name, laid[-1]
    for name in moved:
        box = _inside(_raised(_spot(fixture, box_of(kind_of(name)), laid), fixture), room.walls)
        laid.append(box)
        yield name, box


def box_of(kind: Kind) -> Box:
    """A thing at the origin, never too thin to be seen."""
    width, height, depth = (max(_THINNEST, size) for size in (kind.width, kind.height, kind.depth))
    return Box(-width / 2, 0.0, -depth / 2, width / 2, height, depth / 2)


def box_at(name: str, point: Point) -> Box:
    """The box of a thing of this name, whose id has this point."""
    kind = kind_of(name)
    return box_of(kind).moved(point.x, point.y - kind.pivot * kind.height, point.z)


def pivot(name: str, x: float, low: float, z: float) -> Point:
    """The point in the id of a thing of this name that lies at (x, z), ``low`` at its bottom."""
    kind = kind_of(name)
    return Point(x, low + kind.pivot * kind.height, z)


def _raised(box: Box, fixture: Fixture) -> Box:
    """Raise a thing in a basin to near its rim, and one that furniture would swallow onto that, so that it can be seen."""
    kind, around = fixture.kind, fixture.box
    match kind.form:
        case "basin":
            return box.moved(y=max(0.0, around.y1 - _RIM - box.y0))
        case "solid" | "table" | "counter":
            under = [piece for piece in fixture.pieces or (around,) if piece.meets(box)]
            top = max((piece.y0 + kind.surface * (piece.y1 - piece.y0) for piece in under), default=0.0)
            lowest = top - 0.2 if kind.form == "table" else 0.0
            return box.moved(y=top - box.y0) if lowest < box.y0 < top else box
        case _:
            return box


def _inside(box: Box, walls: Box) -> Box:
    """The box moved to within the walls."""
    return box.moved(
        max(0.0, walls.x0 + 0.01 - box.x0) - max(0.0, box.x1 - walls.x1 + 0.01),
        max(0.0, 0.002 - box.y0),
        max(0.0, walls.z0 + 0.01 - box.z0) - max(0.0, box.z1 - walls.z1 + 0.01),
    )


def _spot(fixture: Fixture, thing: Box, laid: list[Box]) -> Box:
    """The first free spot for a thing, by rows from the front. If all are taken, it goes on top of the thing in the middle, or
    among the things there if the receptacle has a rim."""
    kind, box, front = fixture.kind, fixture.box, fixture.front
    if kind.form in _RIMMED:
        level = box.y0 + BOARD
    elif kind.form == "counter" and fixture.pieces:
        box = max(fixture.pieces, key=lambda piece: (piece.x1 - piece.x0) * (piece.z1 - piece.z0))
        level = box.y1
    else:
        level = box.y0 + kind.surface * (box.y1 - box.y0)
    for backs, lefts in _SPOTS:
        for back, left in product(backs, lefts):
            centre = box.part(front, left, 0, back, left, 1, back).centre
            found = _raised(thing.moved(centre.x, level, centre.z), fixture)
            if not any(found.meets(other) and abs(found.y0 - other.y0) < 0.3 for other in laid):
                return found
    middle = thing.moved(box.centre.x, level, box.centre.z)
    below = () if kind.form in _RIMMED else (one for one in laid if one._replace(y0=middle.y0, y1=middle.y1).meets(middle))
    return middle.moved(y=max((one.y1 - level for one in below), default=0.0))


def holding(box: Box, things: list[tuple[str, Box]]) -> tuple[Box, list[tuple[str, Box]]]:
    """The box of an opened receptacle, enlarged for its contents, and these moved in as far as it is still too small."""
    most = box.grown(0.3)._replace(y0=box.y0 - 0.3, y1=box.y1 + 0.3)
    kept: list[tuple[str, Box]] = []
    for name, lain in things:
        thing = lain.moved(
            max(0.0, most.x0 - lain.x0) - max(0.0, lain.x1 - most.x1),
            max(0.0, most.y0 - lain.y0) - max(0.0, lain.y1 - most.y1),
            max(0.0, most.z0 - lain.z0) - max(0.0, lain.z1 - most.z1),
        )
        kept.append((name, thing))
        box = box.united(thing.grown(BOARD)._replace(y0=max(0.0, thing.y0 - BOARD), y1=min(thing.y1, most.y1)))
    return box, kept


MAX_BOXES = 6_000  # boxes that are drawn; no published game comes near, and a hostile one is cut off
AGENT = "you"
States = frozenset[tuple[str, str]]
"""As in `Situation`."""
MAX_HOLLOWS = 60  # open receptacles that are cut out of the furniture around them
_SWING = 0.42
_AIR = 0.06
_NEAR_WALL = 0.35
_SLIM = 0.85
_REACH = 0.6
_PALER = 0.45
_PAPER = (236, 232, 224)
_FLOOR = (171, 150, 124)
_WALL = (214, 209, 198)
_CEILING = (238, 236, 230)
_BASE = (120, 84, 54)
_DARK = (58, 50, 44)
WHITE = (244, 246, 248)
_TONES = (("on", (255, 240, 150), 0.85), ("cool", (206, 232, 250), 0.6))
_STEAM = tuple(
    Box(x - 0.02, y, z - 0.02, x + 0.02, y + 0.12, z + 0.02)
    for x, y, z in ((-0.05, 0.04, 0.02), (0.03, 0.08, 0.05), (0.05, 0.02, -0.05))
)
"""Wisps above a thing that is hot."""
_BODY = (226, 88, 52)
_OTHERS = ((170, 92, 190), (64, 128, 208), (72, 150, 84))
_PATH = (240, 196, 72)


@dataclass(frozen=True, slots=True)
class Part:
    """A box to draw; ``name`` is its owner's, None for the room itself."""

    box: Box
    colour: Colour
    name: str | None = None


def inner(room: Room) -> Iterator[Part]:
    """Floor, ceiling and walls, for a camera in the room."""
    x0, y0, z0, x1, y1, z1 = room.walls
    yield Part(Box(x0 - 1, y0 - 1, z0 - 1, x1 + 1, y0, z1 + 1), _FLOOR)
    yield Part(Box(x0 - 1, y1, z0 - 1, x1 + 1, y1 + 1, z1 + 1), _CEILING)
    yield from (Part(wall, _WALL) for wall in _walls(room.walls, 1.0))


def outer(room: Room, near: tuple[Side, ...]) -> Iterator[Part]:
    """Floor and walls, for a camera outside; the walls on the sides ``near`` to it are cut away."""
    x0, y0, z0, x1, _, z1 = room.walls
    yield Part(Box(x0 - 0.08, y0 - 0.08, z0 - 0.08, x1 + 0.08, y0, z1 + 0.08), _FLOOR)
    for side, wall in enumerate(_walls(room.walls, 0.08)):
        yield Part(wall._replace(y1=y0 + 0.05) if side in near else wall, _WALL)


def _walls(room: Box, thick: float) -> tuple[Box, ...]:
    x0, y0, z0, x1, y1, z1 = room
    north, south = (Box(x0 - thick, y0, z, x1 + thick, y1, z + thick) for z in (z1, z0 - thick))
    return north, Box(x1, y0, z0, x1 + thick, y1, z1), south._replace(z1=z0), Box(x0 - thick, y0, z0, x0, y1, z1)


def furniture(room: Room, situation: Situation, *, pale: bool = False) -> list[Part]:
    """Everything in the room, ``MAX_BOXES`` at most; with ``pale``, unseen receptacles are paler."""
    known = {holder.name: holder for holder in situation.holders}
    drawn: list[Part] = []
    hollows: list[Part] = []
    # The worktops of a made-up plan are no things of the game, and have no number.
    named = [(one, True) for one in room.fixtures] + [(one, " " in one.name) for one in room.scenery]
    for fixture, of_game in named:
        holder = known.get(fixture.name) or Holder(fixture.name, seen=fixture.name not in known)
        for part in _drawn(room, fixture, holder, situation, hollows):
            colour = _mixed(part.colour, _PAPER, _PALER) if pale and not holder.seen else part.colour
            drawn.append(Part(part.box, colour, part.name if of_game else None))
            if len(drawn) >= MAX_BOXES:
                return drawn
    # The furniture around an open receptacle must not fill it.
    built = {None, *(fixture.name for fixture in room.fixtures)}
    for hollow in hollows[:MAX_HOLLOWS]:
        if len(drawn) > MAX_BOXES:
            break
        left: list[Part] = []
        for part in drawn:
            if part.box.overlaps(hollow.box) and part.name in built and part.name != hollow.name:
                left += (Part(box, part.colour, part.name) for box in part.box.outside(hollow.box))
            else:
                left.append(part)
        drawn = left
    return drawn[:MAX_BOXES]


def bystanders(situation: Situation) -> Iterator[Part]:
    """The other players, each in its own colour."""
    for number, one in enumerate(situation.others):
        yield from agent(one.pose, one.carried, situation.states, one.name, _OTHERS[number % len(_OTHERS)])


def agent(pose: Pose, carried: Sequence[str], states: States, name: str = AGENT, body: Colour = _BODY) -> Iterator[Part]:
    """A player with the things that it holds; its nose and hands show the direction of view."""
    side = pose.quarter
    dx, dz = sin(radians(pose.yaw)), cos(radians(pose.yaw))
    x, z = pose.x, pose.z
    yield Part(Box(x - 0.17, 0.0, z - 0.17, x + 0.17, 1.15, z + 0.17), body, name)
    yield Part(Box(x - 0.13, 1.2, z - 0.13, x + 0.13, 1.5, z + 0.13), (244, 208, 170), name)
    yield Part(Box(x - 0.14, 1.5, z - 0.14, x + 0.14, 1.58, z + 0.14), (90, 58, 40), name)
    nose = Box(-0.05, 1.3, -0.05, 0.05, 1.38, 0.05).moved(x + 0.16 * dx, 0, z + 0.16 * dz)
    yield Part(nose, body, name)
    wide = Box(x - 0.2, 0.85, z - 0.2, x + 0.2, 0.95, z + 0.2)
    for left, right in ((0.0, 0.2), (0.8, 1.0)):
        yield Part(wide.part(side, left, 0, 0.8, right, 1, 1.4), (244, 208, 170), name)
    for number, held in enumerate(carried):
        # One thing is held before the body, two side by side.
        aside = 0.0 if len(carried) == 1 else 0.18 if number == 0 else -0.18
        thing = box_of(kind_of(held)).moved(x + 0.34 * dx + aside * dz, 0.95, z + 0.34 * dz - aside * dx)
        yield from _shaped(thing, side, kind_of(held), held, states)


def path(cells: tuple[tuple[float, float], ...]) -> Iterator[Part]:
    """Marks on the floor at these points."""
    for x, z in cells:
        yield Part(Box(x - 0.08, 0.0, z - 0.08, x + 0.08, 0.012, z + 0.08), _PATH)


def _drawn(room: Room, fixture: Fixture, holder: Holder, situation: Situation, hollows: list[Part]) -> Iterator[Part]:
    kind, box = fixture.kind, fixture.box
    if holder.openness == "closed" or (holder.openness is None and kind.form in ("cupboard", "drawer")):
        yield from _closed(fixture)
        return
    dx, dz = AHEAD[fixture.front]
    things = list(laid_in(room, fixture, holder, situation))
    if kind.form in ("cupboard", "drawer"):
        box, things = holding(box, things)
        # A drawer slides out as far as it is deep; one that cannot be opened is half open for ever.
        _, deep = box.spans(fixture.front)
        slid = 0.0 if kind.form == "cupboard" else deep if holder.openness == "open" else deep / 2
        box = box.moved(dx * slid, 0, dz * slid)
        things = [(name, thing.moved(dx * slid, 0, dz * slid)) for name, thing in things]
        hollows.append(Part(box, kind.colour, fixture.name))
    yield from _opened(fixture, box, holder.openness == "open")
    if kind.form in ("solid", "table", "counter"):
        yield from _supports(room, fixture, [thing for _, thing in things])
    for name, thing in things:
        yield from _shaped(thing, fixture.front, kind_of(name), name, situation.states)


def _closed(fixture: Fixture) -> Iterator[Part]:
    kind, box = fixture.kind, fixture.box
    yield Part(box, kind.colour, fixture.name)
    # A handle, so that a front is a front.
    wide, deep = box.spans(fixture.front)
    out = 1 + 0.025 / max(deep, 0.05)
    if kind.form == "drawer":
        yield Part(box.part(fixture.front, 0.35, 0.45, 1, 0.65, 0.58, out), _DARK, fixture.name)
    else:
        edge = 0.02 / max(wide, 0.05)
        yield Part(box.part(fixture.front, 0.92 - 2 * edge, 0.3, 1, 0.92, 0.7, out), _DARK, fixture.name)
        if kind.stands == "floor":
            yield Part(box.part(fixture.front, 0, 0.66, 1, 1, 0.67, out - 0.015), _DARK, fixture.name)
    if fixture.name.startswith("microwave"):
        yield Part(box.part(fixture.front, 0.06, 0.15, 1, 0.7, 0.85, 1.02), (28, 30, 34), fixture.name)


def _opened(fixture: Fixture, box: Box, door: bool) -> Iterator[Part]:
    """A receptacle whose inside or top can be seen."""
    kind, name, front = fixture.kind, fixture.name, fixture.front
    colour, inside = kind.colour, _mixed(kind.colour, (30, 30, 34), 0.35)
    x0, y0, z0, x1, y1, z1 = box
    match kind.form:
        case "cupboard" | "drawer" | "basin":
            thin = min(BOARD, (x1 - x0) / 4, (z1 - z0) / 4, (y1 - y0) / 4)
            panels = {3: box._replace(x1=x0 + thin), 1: box._replace(x0=x1 - thin)}
            panels |= {2: box._replace(z1=z0 + thin), 0: box._replace(z0=z1 - thin)}
            yield Part(box._replace(y1=y0 + thin), inside, name)
            if kind.form == "cupboard":
                yield Part(box._replace(y0=y1 - thin), colour, name)
                del panels[front]
            for panel in panels.values():
                yield Part(panel, colour if kind.form == "drawer" else _mixed(colour, inside, 0.5), name)
            if kind.form == "cupboard" and door:
                wide, deep = box.spans(front)
                share = min(_SWING, wide) / max(deep, 0.05)
                edge = thin / max(wide, 0.05)
                doors = [box.part(front, at, 0, 1, at + edge, 1, 1 + share) for at in (0.0, 1.0 - edge)]
                # On the side farther from the player, so that it hides nothing.
                at = fixture.place
                far = max(doors, key=lambda one: (one.centre.x - at.x) ** 2 + (one.centre.z - at.z) ** 2 if at else 0.0)
                yield Part(far, colour, name)
        case "table":
            top = min(0.05, (y1 - y0) / 2)
            yield Part(box._replace(y0=y1 - top), colour, name)
            dark = _mixed(colour, _DARK, 0.4)
            for left, back in ((0, 0), (1, 0), (0, 1), (1, 1)):
                leg = box._replace(y1=y1 - top)
                lx, lz = (x1 - x0) * 0.03, (z1 - z0) * 0.03
                a = x1 - lx - 0.06 if left else x0 + lx
                b = z1 - lz - 0.06 if back else z0 + lz
                yield Part(leg._replace(x0=a, x1=a + 0.06, z0=b, z1=b + 0.06), dark, name)
        case "counter":
            for piece in fixture.pieces or (box,):
                top = min(0.04, (piece.y1 - piece.y0) / 2)
                yield Part(piece._replace(y0=piece.y1 - top), colour, name)
                yield Part(piece._replace(y1=piece.y1 - top), _mixed(colour, _BASE, 0.7), name)
        case _:
            yield from _shaped(box, front, kind, name)


def _shaped(box: Box, front: Side, kind: Kind, name: str, states: States = frozenset()) -> Iterator[Part]:
    for share, colour in kind.parts or (((0, 0, 0, 1, 1, 1), kind.colour),):
        yield Part(box.part(front, *share), toned(colour, name, states), name)
    if (name, "hot") in states:
        x, _, z = box.centre
        for wisp in _STEAM:
            yield Part(wisp.moved(x, box.y1, z), WHITE, name)


def toned(colour: Colour, name: str, states: States) -> Colour:
    """The ``colour`` of a thing as its state changes it: a lamp that is on glows, and what is cool is covered with frost."""
    tone = next(((ink, share) for word, ink, share in _TONES if (name, word) in states), None)
    return _mixed(colour, *tone) if tone else colour


def _supports(room: Room, fixture: Fixture, things: list[Box]) -> Iterator[Part]:
    """Boards below things that would lie in the air; those of a counter stand on the floor."""
    kind, name, counter = fixture.kind, fixture.name, fixture.kind.form == "counter"
    top = fixture.box.y0 + kind.surface * (fixture.box.y1 - fixture.box.y0)
    boards: list[Box] = []
    for thing in things:
        on = any(piece.grown(0.05).over(thing.centre.x, thing.centre.z) for piece in fixture.boxes)
        if not on or thing.y0 - top > _AIR:
            board = thing.grown(0.12 if counter else 0.06)._replace(y0=max(0.0, thing.y0 - 0.04), y1=thing.y0)
            # The board of a counter goes on to walls that are near.
            sides = {"x0": 1, "z0": 1, "x1": -1, "z1": -1}.items() if counter else ()
            near = {
                one: at for one, way in sides if way * (getattr(board, one) - (at := getattr(room.walls, one))) < _NEAR_WALL
            }
            boards.append(board._replace(**near))
    stood = [pose for one in room.fixtures if (pose := one.place)]
    for board in _joined(boards, stood):
        yield Part(board, kind.colour, name)
        if counter and board.y0 > 0.2:
            yield Part(board.grown(-0.03)._replace(y0=0.0, y1=board.y0), _mixed(kind.colour, _BASE, 0.7), name)


def _joined(boards: list[Box], stood: list[Pose]) -> list[Box]:
    """Join boards at one height that are near each other, where nobody stands."""
    found: list[Box] = []
    for board in boards:
        for index, other in enumerate(found):
            both = board.united(other)
            slim = min(both.x1 - both.x0, both.z1 - both.z0) < _SLIM and abs(board.y1 - other.y1) < _AIR
            if slim and board.grown(_REACH).meets(other) and not any(both.grown(0.1).over(pose.x, pose.z) for pose in stood):
                found[index] = both._replace(y0=max(board.y0, other.y0), y1=min(board.y1, other.y1))
                found[index] = found[index]._replace(y0=min(found[index].y0, found[index].y1 - 0.01))
                break
        else:
            found.append(board)
    return found


def _mixed(one: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue
