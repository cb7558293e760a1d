"""The room of a game, by the coordinates in its ids, and its state as a drawing takes it."""

from __future__ import annotations

from housequest.worlds.alfworld.engine.game import NOTHING, NOWHERE, Game, State, numbered, parse_problem
from housequest.worlds.rooms.furnish import Located, furnish
from housequest.worlds.rooms.plans import make_up
from housequest.worlds.rooms.room import Holder, Point, Room, Situation, kind_of, read_place, read_point

_WIDEST = 25.0  # no room is wider, in metres
_AROUND = 3.0  # scenery is no more than this far outside of what the receptacles span


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
    xs, zs = ([*(getattr(one.point, axis) for one in located)] for axis in "xz")
    every = [*zip(xs, zs, strict=True), *((pose.x, pose.z) for pose in placed if pose)]
    whole = start is not None and None not in placed and len(located) == len(receptacles)
    if start is None or not whole or not every or max(max(of) - min(of) for of in zip(*every, strict=True)) > _WIDEST:
        return make_up(game.receptacles, game.place_of)
    things = [read_point(id) for id in objects]
    contained = {thing for contents in game.start.contents for thing in contents}
    scenery = [
        Located(name, point)
        for number, (name, point) in enumerate(zip(game.objects, things, strict=True))
        if point and kind_of(name).scenery and number not in contained and number not in game.pickupable
        if min(xs) - _AROUND <= point.x <= max(xs) + _AROUND and min(zs) - _AROUND <= point.z <= max(zs) + _AROUND
    ]
    homes: dict[tuple[str, str], Point] = {}
    for receptacle, contents in zip(game.receptacles, game.start.contents, strict=True):
        for thing in contents:
            if point := things[thing]:
                homes[game.objects[thing], receptacle] = point
    return furnish(located, scenery, start, homes)


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
