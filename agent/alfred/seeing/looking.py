"""Which way to look: at a thing from where one stands, up and down, and ahead while walking."""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, degrees, hypot

from housequest.agent.alfred.seeing.walking import Aim, facing, turned
from housequest.worlds.rooms.poses import EYE, Pose

TILT = 15
PITCHES = (-30, 60)
WALKING = 30
"""Degrees by which one tilts, from where to where, and how one looks while walking."""

Look = tuple[int, int]
"""A side and a pitch to look at."""


def looks_at(aim: Aim, pose: Pose) -> Iterator[Look]:
    """The looks by which something at ``aim`` is looked for: straight at it, up and down, and beside it."""
    side = facing(pose, aim.x, aim.z)
    away = max(0.2, hypot(aim.x - pose.x, aim.z - pose.z))
    straight = degrees(atan2(EYE - (aim.height or 0.0), away))
    level = min(PITCHES[1], max(PITCHES[0], TILT * round(straight / TILT)))
    yield side, level
    yield from _tilted(side, level, (TILT, -TILT, 2 * TILT, -2 * TILT))
    bearing = degrees(atan2(aim.x - pose.x, aim.z - pose.z)) % 360
    yield (side + (1 if (bearing - 90 * side) % 360 < 180 else 3)) % 4, level


def up_and_down(pose: Pose) -> Iterator[Look]:
    """A look below and one above where somebody at ``pose`` looks, where heads go so far."""
    return _tilted(pose.quarter, round(pose.pitch), (TILT, -TILT))


def looked(pose: Pose, look: Look) -> str | None:
    """The action that brings somebody closer to such a look; None if they look there."""
    side, pitch = look
    if (turn := turned(side - pose.quarter)) is not None:
        return turn
    if abs(pose.pitch - pitch) < TILT / 2:
        return None
    return "LookDown" if pose.pitch < pitch else "LookUp"


def walking(pose: Pose, move: str) -> str:
    """The ``move``, or first to look where one goes."""
    if move == "MoveAhead" and abs(pose.pitch - WALKING) > 2 * TILT:
        return "LookUp" if pose.pitch > WALKING else "LookDown"
    return move


def _tilted(side: int, level: int, by: tuple[int, ...]) -> Iterator[Look]:
    return ((side, level + more) for more in by if PITCHES[0] <= level + more <= PITCHES[1])
