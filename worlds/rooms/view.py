"""The pictures of a room: the player's view, the doll's house, and the plan."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import replace
from math import atan2, cos, radians, sin
from typing import Literal, NamedTuple

from housequest.worlds.rooms.light import lighten
from housequest.worlds.rooms.plans import WALL
from housequest.worlds.rooms.render import Camera, Frame, Size, field, render
from housequest.worlds.rooms.room import EYE, GRID, Box, Holder, Point, Pose, Room, Situation, kind_of, way
from housequest.worlds.rooms.stage import WHITE, agent, bystanders, furniture, inner, laid_in, outer, path, toned

Drawing = Literal["house", "eyes", "plan"]
"""The doll's house, the agent's view from where it stands, and the plan."""
FIELD = 90.0  # degrees that a camera sees from top to bottom, as in ALFRED
_TILT = 50.0
ELSE = "@"  # another player, in characters
_LIGHTENED = 160  # the doll's house has sunlight from this many rows and columns of pixels on
_LOWERED = 0.35
_CORNER = 0.4
_KEYS = (string.ascii_letters + string.digits).replace("v", "")
_TURNS = (0.0, -15.0, 15.0, -30.0, 30.0, -45.0, 45.0)
_TILTS = (-15.0, 0.0, 15.0, 30.0, 45.0, 60.0)


def picture(
    drawing: Drawing, room: Room, situation: Situation, size: Size, came: Pose | None = None, aspect: float = 1.0
) -> Frame:
    """The ``drawing`` of a room, with the path from where the agent ``came``; ``aspect`` is a pixel's width divided by its
    height."""
    if drawing == "eyes":
        return draw(room, situation, gaze(room, situation), size, aspect=aspect)
    cells = way(room.floor, came.cell, situation.pose.cell) if came else ()
    way_marks = path(tuple((x * GRID, z * GRID) for x, z in cells))
    if drawing == "plan":
        # Turned to fit best.
        yaw, pitch = 90.0 * _lies(room.walls, size[0] * aspect > size[1]), 90.0
        parts = [*outer(room, ()), *way_marks]
    else:
        yaw, pitch = _corner(room), _TILT
        near = tuple(side for side in range(4) if cos(radians(side * 90 - yaw)) < 0)
        # A window in a wall that is cut away would hang in the air, and walls between rooms would hide them.
        hung = (one for one in room.scenery if not (one.kind.stands == "wall" and cos(radians(one.front * 90 - yaw)) > 0))
        lowered = (replace(one, box=one.box._replace(y1=_LOWERED)) if one.name == WALL else one for one in hung)
        room = replace(room, scenery=tuple(lowered))
        parts = [*outer(room, near), *way_marks]
    parts += furniture(room, situation, pale=True)
    parts += [*agent(situation.pose, situation.carried, situation.states), *bystanders(situation)]
    camera = _above(room.walls, yaw, pitch, size, aspect)
    frame = render(parts, camera, size)
    # In blocks, shadows would hide more than they show.
    return lighten(frame, parts, camera, room.walls) if drawing == "house" and min(size) >= _LIGHTENED else frame


def draw(room: Room, situation: Situation, pose: Pose, size: Size, *, aspect: float = 1.0) -> Frame:
    """The view from ``pose``; things held are drawn over it, in colours alone."""
    camera = Camera(Point(pose.x, EYE, pose.z), pose.yaw, pose.pitch, field(FIELD), aspect=aspect)
    frame = render([*inner(room), *furniture(room, situation), *bystanders(situation)], camera, size)
    return _with_held(frame, situation, aspect) if situation.carried else frame


def gaze(room: Room, situation: Situation) -> Pose:
    """The pose, turned a little from a place's own, that shows most of the receptacle and of its known contents."""
    fixture = room.fixture(situation.at)
    if fixture is None or fixture.place is None:
        return situation.pose
    pose = fixture.place
    seen_into = (one for one in situation.holders if one.name == fixture.name and one.openness != "closed")
    wanted = [box.centre for holder in seen_into for _, box in laid_in(room, fixture, holder, situation)]
    half = radians(FIELD / 2 - 4)

    def shown(pose: Pose) -> float:
        right, up, ahead = Camera(Point(pose.x, EYE, pose.z), pose.yaw, pose.pitch, 1.0).axes()
        total = 0.0
        for weight, point in ((0.9, fixture.box.centre), *((1.0, point) for point in wanted)):
            away = (point.x - pose.x, point.y - EYE, point.z - pose.z)
            u, v, depth = (sum(a * b for a, b in zip(away, axis, strict=True)) for axis in (right, up, ahead))
            total += weight * (depth > 0 and atan2(abs(u), depth) < half and atan2(abs(v), depth) < half)
        return total

    turned = [replace(pose, yaw=pose.yaw + turn, pitch=tilt) for turn in _TURNS for tilt in (pose.pitch, *_TILTS)]
    return max(turned, key=lambda one: (shown(one), -abs(one.yaw - pose.yaw) - abs(one.pitch - pose.pitch) / 2))


class TextPlan(NamedTuple):
    """The plan in characters: ``rows`` of equal length, ``keys``, a line on each fixture with its character, and one on each of
    the ``others`` in sight."""

    rows: tuple[str, ...]
    keys: tuple[str, ...]
    others: tuple[str, ...] = ()


def text_plan(room: Room, situation: Situation, size: Size) -> TextPlan:
    """The room from above in characters, lying as in the plan, in ``size`` columns and lines: for terminals without colour and
    for screen readers. ``#`` is a wall, a space is floor, an arrow is the agent, and ``@`` somebody else; each of several rooms
    has its character in a corner."""
    lies = _lies(room.walls, size[0] > 2 * size[1])
    walls = _seen_from_above(room.walls, lies)
    shape = (walls.z1 - walls.z0) / (walls.x1 - walls.x0) / 2
    across = max(3, min(size[0] - 2, int((size[1] - 2) / shape)))
    rows = max(2, min(size[1] - 2, round(across * shape)))
    grid = [[" "] * across for _ in range(rows)]

    def column(x: float) -> int:
        return min(across - 1, max(0, int((x - walls.x0) / (walls.x1 - walls.x0) * across)))

    def row(z: float) -> int:
        return min(rows - 1, max(0, int((walls.z1 - z) / (walls.z1 - walls.z0) * rows)))

    keys = dict(zip((one.name for one in room.fixtures), _KEYS, strict=False))
    inner = [one for one in room.scenery if one.name == WALL]
    standing = [*inner, *(one for one in room.fixtures if one.name not in room.rooms)]
    for one in sorted(standing, key=lambda one: -(one.box.x1 - one.box.x0) * (one.box.z1 - one.box.z0)):
        box = _seen_from_above(one.box, lies)
        for line in range(row(box.z1 - 1e-6), row(box.z0 + 1e-6) + 1):
            for place in range(column(box.x0 + 1e-6), column(box.x1 - 1e-6) + 1):
                grid[line][place] = "#" if one.name == WALL else keys.get(one.name, "*")
    for one in (one for one in room.fixtures if one.name in room.rooms):
        box = _seen_from_above(one.box, lies).grown(-_CORNER)
        grid[row(box.z1)][column(box.x0)] = keys.get(one.name, "*")
    for pose, sign in (
        *((one.pose, ELSE) for one in situation.others),
        (situation.pose, "^>v<"[(situation.pose.quarter - lies) % 4]),
    ):
        stands = _seen_from_above(Box(pose.x, 0, pose.z, pose.x, 0, pose.z), lies)
        grid[row(stands.z0)][column(stands.x0)] = sign
    edge = "#" * (across + 2)
    known = {holder.name: holder for holder in situation.holders}
    told = (
        f"{keys.get(name, '*')} {situation.named(name)}{_told(known.get(name), situation, floor=name in room.rooms)}"
        for name in (one.name for one in room.fixtures)
    )
    others = (
        f"{ELSE} {one.name}{f' at {one.at}' if one.at else ''}{_held(one.carried, situation)}" for one in situation.others
    )
    return TextPlan((edge, *(f"#{''.join(line)}#" for line in grid), edge), tuple(told), tuple(others))


def _lies(walls: Box, wide: bool) -> bool:
    """True if a plan is turned by a quarter, +x upwards rather than +z, to fit into a picture that is ``wide`` or not."""
    return (walls.z1 - walls.z0 > walls.x1 - walls.x0) == wide


def _seen_from_above(box: Box, lies: bool) -> Box:
    return Box(-box.z1, box.y0, box.x0, -box.z0, box.y1, box.x1) if lies else box


def _held(carried: Sequence[str], situation: Situation) -> str:
    return f", holding {' and '.join(map(situation.named, carried))}" if carried else ""


def _told(holder: Holder | None, situation: Situation, *, floor: bool) -> str:
    """The known state of a receptacle, after its name; of a floor only the things on it."""
    if holder is None or not (holder.seen or holder.contents):
        return ", not seen yet"
    state = f", {holder.openness}" if holder.openness in ("open", "closed") else ""
    things = ", ".join(map(situation.named, holder.contents))
    return state if not things and (floor or holder.openness == "closed") else f"{state}: {things or 'nothing'}"


def _corner(room: Room) -> float:
    """The diagonal, in degrees, with the least tall furniture along the near walls; a fixed one for a home that grows."""
    if room.rooms:
        return 45.0
    x0, _, z0, x1, _, z1 = room.walls

    def hidden(yaw: float) -> float:
        dx, dz = sin(radians(yaw)), cos(radians(yaw))
        total = 0.0
        for one in room.fixtures:
            middle = one.box.centre
            across, along = (middle.x - (x0 + x1) / 2) * dx / (x1 - x0), (middle.z - (z0 + z1) / 2) * dz / (z1 - z0)
            total += -(across + along) * one.box.y1
        return total

    return min((45.0, 135.0, 225.0, 315.0), key=hidden)


def _above(walls: Box, yaw: float, pitch: float, size: Size, aspect: float) -> Camera:
    """A camera far away that shows the whole room."""
    middle = walls.centre
    centred = Camera(Point(0, 0, 0), yaw, pitch, 1.0, parallel=True)
    right, up, ahead = centred.axes()
    corners = [(x, y, z) for x in (walls.x0, walls.x1) for y in (walls.y0, walls.y1) for z in (walls.z0, walls.z1)]
    us, vs = (
        [sum((a - b) * c for a, b, c in zip(corner, middle, axis, strict=True)) for corner in corners] for axis in (right, up)
    )
    scale = 1.03 * max((max(vs) - min(vs)) / 2, (max(us) - min(us)) / 2 * size[1] / (size[0] * aspect))
    eye = Point(*(part - 100 * axis for part, axis in zip(middle, ahead, strict=True)))
    return Camera(eye, yaw, pitch, scale, parallel=True, aspect=aspect)


def _with_held(frame: Frame, situation: Situation, aspect: float) -> Frame:
    """The frame with the things held: the first at the lower right, another at the lower left."""
    rgb = frame.rgb.copy()
    height, width = rgb.shape[:2]
    for number, name in enumerate(situation.carried[:2]):
        kind = kind_of(name)
        tall = round(height * min(0.3, 0.08 + kind.height / 2))
        wide = round(height / aspect * min(0.3, 0.08 + max(kind.width, kind.depth) / 2))
        left, top = width // 12 if number else width - wide - width // 12, height - tall
        rgb[max(0, top - 1) :, max(0, left - 1) : left + wide + 1] = (20, 20, 20)
        rgb[top:, left : left + wide] = toned(kind.colour, name, situation.states)
        if (name, "hot") in situation.states:
            for wisp in range(1, 4):
                rgb[top - tall // 2 : top - 2, left + wide * wisp // 4] = WHITE
    rgb.flags.writeable = False
    return replace(frame, rgb=rgb)
