"""Drawings of an episode, live or recorded: its room, the scene of each moment, and the pictures that an agent sees.

Screen, report, frames and casts draw the same scenes. A scene is drawn from the belief, so from what the player was told; only
people who watch may see the true state. A model gets the view from where the player stands, or from its camera in a world that
shows pictures. Only ``DrawnScene.picture`` and `Eyes` draw, and they import NumPy only then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from housequest.agent.base import Agent
from housequest.agent.episodes.events import Event, Started, Stepped, TurnSpent, with_beliefs
from housequest.agent.models.base import Image
from housequest.agent.roles.base import load_prompt
from housequest.knowledge.choosing import named_kinds
from housequest.worlds.base import Drawable, Env, Pictured, Reach, Reaching, Task, Transition, World
from housequest.worlds.env import Enacted, RobotMove, enacted, sandbox, unwrapped
from housequest.worlds.errors import HousequestError, TaskNotFound, Unsupported, shown
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.options import Scalar
from housequest.worlds.registry import household, make_world, replay_options
from housequest.worlds.rooms.plans import as_known, make_up
from housequest.worlds.rooms.render import Frame
from housequest.worlds.rooms.room import Pose, Room, Situation, believed
from housequest.worlds.rooms.view import Drawing, draw, picture

SIZE = (300, 300)
"""Columns and rows of a picture: as in ALFRED; vision models read it as one tile or about a hundred patches."""
_GLANCE = (100, 100)
_STILL = (150, 150)
_LEAST = 2
"""A thing counts as seen if it has at least this many pixels in a glance."""


@dataclass(frozen=True, slots=True)
class DrawnScene:
    """One moment of an episode, ready to be drawn. ``came`` is where the last turn's move began, ``left`` its name. ``new`` has
    the names that the last turn told something new about, ``kinds`` those of the goal. ``true``: the situation is the true
    state, not the belief. ``camera`` is the player's own, if any. ``enacted`` is what a simulator did with the commands;
    ``move`` is the one to draw, None after the last one.
    """

    room: Room
    situation: Situation
    came: Pose | None = None
    new: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    true: bool = False
    camera: Pictured | None = None
    enacted: Enacted | None = None
    move: RobotMove | None = None
    left: str | None = None

    def wants(self, name: str) -> bool:
        """True if the goal names things of this kind."""
        return kind(name).lower() in self.kinds

    def picture(self, drawing: Drawing, size: tuple[int, int], aspect: float = 1.0) -> Frame:
        """Draw this moment, in ``size`` (columns, rows) of pixels that are ``aspect`` times as wide as high."""
        if drawing == "eyes" and self.camera is not None:
            # The camera's picture is square, and nothing is added at its sides.
            rows = min(size[1], round(size[0] * aspect))
            side = round(rows / aspect)
            return self.camera.frame((side, side)).resized((side, rows)).centred(size)
        if drawing == "eyes" and self.move is not None:
            return draw(self.room, self.situation, self.move.pose, size, aspect=aspect)
        return picture(drawing, self.room, self.situation, size, self.came, aspect)


@dataclass(frozen=True, slots=True)
class EpisodeDrawing:
    """The room of an episode, and its scenes. ``states`` has the true states; if there are none, ``missing`` says why."""

    room: Room
    kinds: frozenset[str]
    states: EpisodeReplay | None = None
    missing: str = ""

    def scene(self, belief: Belief, before: Belief | None = None) -> DrawnScene:
        """The scene of a ``belief``; ``before`` is the belief one turn earlier."""
        old, room = belief if before is None else before, as_known(self.room, belief)
        left, came = (None, None) if old.at == belief.at else (old.at, room.pose(old.at))
        return DrawnScene(room, believed(room, belief), came, _news(belief, old), self.kinds, left=left)

    def known_scene(self, turns: Sequence[Transition], belief: Belief | None, before: Belief | None = None) -> DrawnScene:
        """The scene of a ``belief``; if texts name no furniture, of what pictures have shown. Raises ``HousequestError``."""
        if belief is not None:
            then = self.states.after(turns) if self.states is not None and self.states.enacts else None
            return replace(self.scene(belief, before), enacted=then.enacted if then is not None else None)
        now = None if self.states is None else self.states.after(turns)
        if self.states is None or now is None or now.situation is None or now.camera is None:
            raise Unsupported("There is nothing to draw: the game here gives other answers than the episode has.")
        old = self.states.after(turns[:-1]) if turns else now
        stood = now.situation.pose if old.situation is None else old.situation.pose
        fixtures, scenery = (
            tuple(one for one in row if one.name in now.seen) for row in (self.room.fixtures, self.room.scenery)
        )
        return DrawnScene(
            replace(self.room, fixtures=fixtures, scenery=scenery),
            _shown(now.situation, now.seen),
            None if stood.cell == now.situation.pose.cell else stood,
            now.seen - old.seen,
            self.kinds,
            camera=now.camera,
        )

    def moving_scene(self, turns: Sequence[Transition], before: Belief, move: RobotMove, *, true: bool) -> DrawnScene:
        """The scene during the last of ``turns``, just after ``move``; ``before`` is the belief before that turn."""
        scene = self.scene(before)
        if true and (found := self.true_scene(turns[:-1], before)) is not None:
            scene = found
        return replace(scene, situation=replace(scene.situation, pose=move.pose), came=None, move=move)

    def walking_scene(self, scene: DrawnScene, before: Belief, pose: Pose) -> DrawnScene:
        """The scene at this ``pose`` on the way to ``scene``, whose contents are not known yet."""
        on_the_way = scene if scene.true else self.scene(before)
        situation = replace(on_the_way.situation, pose=pose, at=None)
        return replace(on_the_way, situation=situation, came=None, new=frozenset(), move=RobotMove("", pose))

    def true_scene(self, turns: Sequence[Transition], belief: Belief | None, before: Belief | None = None) -> DrawnScene | None:
        """The same scene with the true state after ``turns``; None if it is not known."""
        situation = self.states.after(turns).situation if self.states is not None else None
        if situation is None:
            return None
        scene = self.known_scene(turns, belief, before)
        return replace(scene, room=self.room, situation=situation, true=True)


class Still(NamedTuple):
    """A picture that was kept of an env that cannot be copied, with its pose and reach."""

    picture: Frame
    stood: Pose
    reached: Reach

    def frame(self, size: tuple[int, int] = (300, 300)) -> Frame:
        return self.picture.resized(size)

    def pose(self) -> Pose:
        return self.stood

    def reach(self) -> Reach:
        return self.reached


class ReplayMoment(NamedTuple):
    """The game after a turn: its true state (None if it is another game), what was enacted, the camera, and all that it saw so
    far.
    """

    situation: Situation | None
    enacted: Enacted | None
    camera: Pictured | None
    seen: frozenset[str]


class EpisodeReplay:
    """The true states of an episode, which are hidden from the player: for people who watch. They come from a second env
    that plays the same commands, since neither beliefs nor records have them."""

    def __init__(self, world: World, task: Task, room: Room) -> None:
        self._world, self._task, self._room = world, task, room
        self._states = world if isinstance(world, Drawable) else None
        self._env: Env | None = None
        self._played: list[Transition] = []
        self._moments: list[ReplayMoment] = []
        self.enacts = world.info.enacts

    def close(self) -> None:
        """Close the second env; the next call of `after` opens another."""
        env, self._env = self._env, None
        if env is not None:
            env.close()

    def after(self, turns: Sequence[Transition]) -> ReplayMoment:
        """The game after ``turns``. Raises ``HousequestError`` if the second env cannot play them."""
        turns = list(turns)
        if turns != self._played[: len(turns)] or not self._moments:
            # After a failure the next call starts again.
            env, self._env = self._env, None
            if env is None or turns[: len(self._played)] != self._played:
                # Enacting is what people watch, so the real world plays it again.
                env = env or (self._world.open(self._task) if self.enacts else sandbox(self._world, self._task))
                env.reset()
                self._played, self._moments = [], []
                self._moments.append(self._look(env, same=True))
            for turn in turns[len(self._played) :]:
                self._step(env, turn)
            self._env = env
        return self._moments[len(turns)]

    def _step(self, env: Env, turn: Transition) -> None:
        same, reader = self._moments[-1].situation is not None, self._world.household
        if same:
            # Only the diagnosis accepts older forms of a command, and a sandbox does not have it.
            command = reader.canonical(turn.command) if reader and turn.observation.accepted else turn.command
            same = env.step(command).observation.text == turn.observation.text
        self._moments.append(self._look(env, same=same))
        self._played.append(turn)

    def _look(self, env: Env, *, same: bool) -> ReplayMoment:
        situation = self._states.situation(env, self._room) if same and self._states else None
        camera, seen = None, frozenset[str]()
        if isinstance(env, Pictured):
            frame = env.frame(_GLANCE)
            try:
                camera = env.copy()
            except Unsupported:
                reach = env.reach() if isinstance(env, Reaching) else Reach((), "nothing is known of it")
                camera = Still(env.frame().resized(_STILL), env.pose(), reach)
            assert isinstance(camera, Pictured), "a copy is what it was copied from"
            seen = frozenset(name for name in frame.spots() if frame.pixels(name) >= _LEAST)
            seen = seen.union(self._moments[-1].seen if self._moments else ())
        return ReplayMoment(situation, None if situation is None else enacted(env), camera, seen)


def _shown(situation: Situation, seen: frozenset[str]) -> Situation:
    holders = (
        replace(one, contents=tuple(name for name in one.contents if name in seen))
        for one in situation.holders
        if one.name in seen
    )
    return replace(situation, holders=tuple(holders), states=frozenset(one for one in situation.states if one[0] in seen))


def draw_episode(
    started: Started,
    opening: Belief | None,
    game: tuple[World, Task] | None = None,
    options: Mapping[str, Scalar] | None = None,
) -> EpisodeDrawing:
    """Make the drawing of an episode. This may take a second, so call it in a thread.

    Args:
        started: The episode's first event.
        opening: The belief after the opening; None in a world that is not a household.
        game: The world and task; by default those that ``started`` names.
        options: Options of that world.

    If the game is not here, or has other receptacles than the ``opening``, the plan of the room is made up. Raises
    ``Unsupported``, with a sentence for people, if nothing can be drawn.
    """
    names = [one.name for one in opening.receptacles] if opening else []
    if opening is not None and not names:
        raise Unsupported(f"There is no room to draw: the texts of the world {shown(started.world)} name no furniture.")
    kinds = goal_kinds(started.world, started.goal, opening.kinds) if opening else frozenset[str]()
    room, missing = None, ""
    try:
        world, task = game or recorded_game(started, options)
        if isinstance(world, Drawable) and (opening is not None or isinstance(sandbox(world, task), Pictured)):
            room = world.room(task)
            if {one.name for one in room.fixtures}.issuperset(names):
                return EpisodeDrawing(room, kinds, EpisodeReplay(world, task, room))
    except HousequestError as error:  # the record itself can still be drawn
        missing = str(error)
    if opening is None:
        raise Unsupported(missing or f"There is no room to draw: the world {shown(started.world)} is not a household.")
    if not missing and room is None:
        missing = f"The world {shown(started.world)} does not show its state."
    plan = make_up(names, range(len(names)))
    return EpisodeDrawing(plan, kinds, missing=missing or "The house of this name is a different one here.")


def scenes(path: Sequence[Event]) -> Iterator[tuple[Event, DrawnScene]]:
    """Scenes of the opening and of each turn of a `branch`, drawn from belief. Raises ``Unsupported``, with a sentence for
    people.
    """
    drawing: EpisodeDrawing | None = None
    belief: Belief | None = None
    turns: list[Transition] = []
    for event in with_beliefs(path):
        before = belief
        match event.body:
            case Started() as started:
                drawing, before = draw_episode(started, event.belief), None
            case Stepped(transition=done):
                turns.append(done)
            case TurnSpent():
                before = None
            case _:
                continue
        belief = event.belief or belief
        if drawing is not None:
            yield event, drawing.known_scene(turns, belief, before)


def recorded_game(started: Started, options: Mapping[str, Scalar] | None = None) -> tuple[World, Task]:
    """Find the game of a record among the listed ones of its world. Somebody else wrote the id, so nothing is opened by it."""
    world = make_world(started.world, **{**replay_options(started.world, started.engine), **(options or {})})
    if started.split in world.info.endless_splits:
        return world, world.task(f"{started.split}:{started.number}")
    tasks = world.tasks(started.split) if started.split in world.splits() else ()
    for task in tasks:
        if task.id == started.task:
            return world, task
    raise TaskNotFound(f"The game {shown(started.task)} is not among those that are here.")


def _news(belief: Belief, before: Belief) -> frozenset[str]:
    """The things, and the receptacles that open and close, that are new or changed since ``before``."""
    ways = {one.name: one.openness for one in before.receptacles}
    things = {item.name for item in belief.items if before.things.get(item.name) != item}
    opened = (one for one in belief.receptacles if one.openness in ("open", "closed"))
    return frozenset(things | {one.name for one in opened if ways.get(one.name) != one.openness})


@lru_cache(maxsize=64)
def goal_kinds(world: str, goal: str, receptacles: Sequence[str]) -> frozenset[str]:
    """The kinds that ``goal`` names; if it cannot be read, every word in it. ``receptacles`` are the kinds in this house."""
    reader = household(world)
    if reader is not None and (topic := reader.topic(goal, receptacles)) is not None:
        return topic.kinds
    return named_kinds(goal)


@dataclass(slots=True)
class Eyes:
    """Looks around in a room. If nothing has changed since the last look, it returns the same image without drawing again."""

    room: Room
    _last: tuple[Situation, Image] | None = None

    async def see(self, belief: Belief) -> Image:
        """The view of somebody who knows ``belief`` and stands where it says. Drawn in a thread, in some 20 milliseconds."""
        room = as_known(self.room, belief)
        situation = believed(room, belief)
        if self._last is None or self._last[0] != situation:
            self._last = situation, await asyncio.to_thread(lambda: _image(picture("eyes", room, situation, SIZE), "eyes"))
        return self._last[1]


def camera_view(agent: Agent, env: Env) -> tuple[Frame | None, Pose | None]:
    """The frame and pose of the agent's camera; None if the agent or the world has no camera."""
    # isinstance(agent, Seeing) would take twenty times as long, at every turn.
    size: tuple[int, int] | None = getattr(agent, "picture_size", None)
    env = unwrapped(env) if size is not None else env
    return (env.frame(size), env.pose()) if size is not None and isinstance(env, Pictured) else (None, None)


def room_to_see(world: World, task: Task) -> Room:
    """The room of ``task``. Raises ``Unsupported`` if the world has none to draw."""
    if world.household is None or not isinstance(world, Drawable):
        raise Unsupported(no_rooms(world))
    return world.room(task)


def no_rooms(world: World) -> str:
    """The error that ``world`` has no rooms to draw."""
    return f"The world {shown(world.name)} has no rooms that could be seen; leave out --grant view."


def photographed(env: Env) -> Image | None:
    """The picture of the player's camera now; None in a world without one."""
    env = unwrapped(env)
    return _image(env.frame(SIZE), "camera") if isinstance(env, Pictured) else None


def _image(frame: Frame, about: str) -> Image:
    # Of the pixels: the bytes of a PNG depend on the version of zlib.
    digest = sha256("{}x{}\n".format(*SIZE).encode() + frame.rgb.tobytes()).hexdigest()
    return Image(frame.png(), digest, load_prompt(__package__ or "", about).render("about"))
