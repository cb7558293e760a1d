"""The room of a game, by the coordinates in its ids, and its state as a drawing takes it."""

from __future__ import annotations

from housequest.worlds.alfworld.engine.game import NOTHING, NOWHERE, Game, State, numbered
from housequest.worlds.alfworld.engine.pddl import parse_problem
from housequest.worlds.rooms.furnish import Located, furnish
from housequest.worlds.rooms.plans import make_up
from housequest.worlds.rooms.room import FAR, Holder, Point, Pose, Room, Situation, kind_of, read_place, read_point


def room_of(problem: str, game: Game) -> Room:
    """Hidden: the room of a game, made up where its ids have no coordinates that a room could have. Raises ``GameError``."""
    objects, receptacles, places = numbered(parse_problem(problem, game.origin))
    poses = [read_place(id) for id in places]
    points = [read_point(id) for id in receptacles]
    start = poses[game.start.place]
    located = [
        Located(name, point, None if place == NOWHERE else poses[place])
        for name, point, place in zip(game.receptacles, points, game.place_of, strict=True)
        if point
    ]
    placed = [poses[place] for place in game.place_of if place != NOWHERE]
    if start is None or None in placed or len(located) < len(receptacles) or not _is_room(located, placed):
        return make_up(game.receptacles, game.place_of)
    things = [read_point(id) for id in objects]
    contained = {thing for contents in game.start.contents for thing in contents}
    scenery = [
        Located(name, point)
        for number, (name, point) in enumerate(zip(game.objects, things, strict=True))
        if point and kind_of(name).scenery and number not in contained and number not in game.pickupable
    ]
    homes: dict[tuple[str, str], Point] = {}
    for receptacle, contents in zip(game.receptacles, game.start.contents, strict=True):
        for thing in contents:
            if point := things[thing]:
                homes[game.objects[thing], receptacle] = point
    return furnish(located, _within(scenery, located), start, homes)


def situation(game: Game, state: State, room: Room) -> Situation:
    """Hidden: all of a state."""
    here = game.receptacles_at[state.place]
    at = game.receptacles[here[0]] if here else None
    return Situation(
        room.pose(at),
        at,
        tuple(
            Holder(
                name,
                True,
                "surface" if number not in game.openable else "open" if number in state.opened else "closed",
                tuple(game.objects[thing] for thing in state.contents[number]),
            )
            for number, name in enumerate(game.receptacles)
        ),
        None if state.held == NOTHING else game.objects[state.held],
        frozenset(game.objects[thing] for thing in state.lit),
    )


_WIDEST = 25.0


def _is_room(located: list[Located], poses: list[Pose | None]) -> bool:
    """Whether the points lie as close together as in a room."""
    xs = [one.point.x for one in located] + [pose.x for pose in poses if pose]
    zs = [one.point.z for one in located] + [pose.z for pose in poses if pose]
    return bool(xs) and max(max(xs) - min(xs), max(zs) - min(zs)) <= _WIDEST <= FAR


def _within(scenery: list[Located], located: list[Located]) -> list[Located]:
    """The scenery that is no more than three metres outside of what the receptacles span."""
    xs, zs = [one.point.x for one in located], [one.point.z for one in located]
    return [one for one in scenery if min(xs) - 3 <= one.point.x <= max(xs) + 3 and min(zs) - 3 <= one.point.z <= max(zs) + 3]
