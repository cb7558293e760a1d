"""What an agent sees, as an image for its model: the picture from where it stands, drawn from what was told by then, or its
camera's in a world that shows pictures.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from housequest.agent.base import Agent
from housequest.agent.models.base import Image
from housequest.agent.roles.base import load_prompt
from housequest.worlds.base import Env, Pictured, Task, World
from housequest.worlds.errors import Unsupported, shown
from housequest.worlds.household.belief import Belief
from housequest.worlds.wrappers import unwrapped

if TYPE_CHECKING:
    from housequest.worlds.rooms.frame import Frame
    from housequest.worlds.rooms.poses import Pose
    from housequest.worlds.rooms.room import Room, Situation

SIZE = (300, 300)
"""Columns and rows of the picture: ALFRED's, and one tile or a hundred patches of what vision models read."""


@dataclass(slots=True)
class Eyes:
    """Looks around in a room. A look at what has not changed since the last one is the same image, and is not drawn again."""

    room: Room
    _last: tuple[Situation, Image] | None = None

    async def see(self, belief: Belief) -> Image:
        """What somebody sees who knows ``belief`` and stands where it says. Drawn in a thread, in some 20 milliseconds."""
        from housequest.worlds.rooms.apartment import as_known
        from housequest.worlds.rooms.room import believed

        room = as_known(self.room, belief)
        situation = believed(room, belief)
        if self._last is None or self._last[0] != situation:
            self._last = situation, await asyncio.to_thread(_drawn, room, situation)
        return self._last[1]


def camera_view(agent: Agent, env: Env) -> tuple[Frame | None, Pose | None]:
    """What the agent's camera sees and where it is; None where the agent or the world has no camera."""
    # What isinstance(agent, Seeing) asks, which takes twenty times as long, at every turn.
    size: tuple[int, int] | None = getattr(agent, "picture_size", None)
    env = unwrapped(env) if size is not None else env
    return (env.frame(size), env.pose()) if size is not None and isinstance(env, Pictured) else (None, None)


def room_to_see(world: World | None, task: Task) -> Room:
    """The room of ``task``. Raises ``Unsupported`` where the world has none to draw, or is not known."""
    if world is None:
        raise Unsupported("Nothing can be seen without the world; give it to run_episode, or leave out the grant 'view'.")
    room = None if world.household is None else world.room(task)
    if room is None:
        raise Unsupported(no_rooms(world))
    return room


def no_rooms(world: World) -> str:
    """The error that ``world`` has no rooms to draw."""
    return f"The world {shown(world.name)} has no rooms that could be seen; leave out --grant view."


def _drawn(room: Room, situation: Situation) -> Image:
    from housequest.worlds.rooms.view import picture

    return _image(picture("eyes", room, situation, SIZE), "eyes")


def photographed(env: Env) -> Image | None:
    """What the player's camera sees now; None in a world without one."""
    env = unwrapped(env)
    return _image(env.frame(SIZE), "camera") if isinstance(env, Pictured) else None


def _image(frame: Frame, about: str) -> Image:
    # Of the pixels: how a PNG packs them is up to the version of zlib.
    digest = sha256("{}x{}\n".format(*SIZE).encode() + frame.rgb.tobytes()).hexdigest()
    return Image(frame.png(), digest, load_prompt(__package__, about).render("about"))
