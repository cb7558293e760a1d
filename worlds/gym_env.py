"""Any world as a Gymnasium environment. Needs the extra ``gym``: ``pip install "housequest[gym]"``.

Observations and actions are text; ``info["admissible_commands"]`` has the commands possible now. Importing this module
registers `ID`, so ``gymnasium.make("housequest.worlds.gym_env:housequest/ALFWorld-v0", split="train")`` works in any process,
those of ``gymnasium.make_vec`` too.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import signature
from itertools import islice
from typing import Any, NoReturn, cast

from housequest.worlds.base import Env, Step, Task, World
from housequest.worlds.env import OrderChecked, StepLimit
from housequest.worlds.errors import ConfigurationError, OrderError, WorldError, nearest, shown
from housequest.worlds.registry import known_world, world_class
from housequest.worlds.tasks import TRAINED, split_tasks

try:
    import gymnasium
    from gymnasium.error import CustomSpaceError
    from gymnasium.spaces import Text
    from gymnasium.vector import SyncVectorEnv
    from gymnasium.vector.utils import create_shared_memory  # pyright: ignore[reportUnknownVariableType]
except ImportError as error:
    raise ImportError('housequest.worlds.gym_env needs Gymnasium; install it with: pip install "housequest[gym]"') from error

ID = "housequest/ALFWorld-v0"
CHARACTERS = "".join(sorted({*string.printable} - {*"\t\r\v\f"}))
"""Printable ASCII, enough for the published games and their annotators' goals."""
_OVER: dict[str, Any] = {"over": True, "won": False, "admissible_commands": [], "task": "", "goal": ""}
LONGEST = 8_192  # the longest observation and action, in characters. Published games need 909; a custom goal may have 2,000


def register() -> str:
    """Register `HousequestEnv` with Gymnasium as `ID`, and return that; a second call changes nothing."""
    if ID not in gymnasium.registry:
        gymnasium.register(  # pyright: ignore[reportUnknownMemberType]
            ID,
            entry_point="housequest.worlds.gym_env:HousequestEnv",
            vector_entry_point="housequest.worlds.gym_env:vector_env",
        )
    return ID


def vector_env(num_envs: int = 1, **settings: Any) -> SyncVectorEnv:
    """Several `HousequestEnv` in this process, for ``gymnasium.make_vec`` without a vectorization mode. With ``ordered``, they
    share the tasks out: env i of n gets the shard (i, n)."""
    shared = settings.get("ordered") and "shard" not in settings
    each = [settings | ({"shard": (number, num_envs)} if shared else {}) for number in range(num_envs)]
    return SyncVectorEnv([partial(HousequestEnv, **own) for own in each])


def world_for(env: type, world: World | str, options: Mapping[str, Any]) -> World:
    """The world of an ``env``, with the ``options`` that are none of the env's own arguments. Raises ``ConfigurationError``."""
    known = world_class(world).Options.__dataclass_fields__ if isinstance(world, str) else options
    for name in options:
        if name not in known and (hint := nearest(name, tuple(signature(env).parameters))):
            raise ConfigurationError(f"{env.__name__} has no argument {shown(name)}.{hint}")
    return known_world(world, options)


def checked_limit(name: str, limit: int) -> int:
    """The limit, if it is one. Raises ``ConfigurationError``."""
    if not isinstance(cast("object", limit), int) or limit < 1:
        raise ConfigurationError(f"{name} is {shown(limit)}; give a whole number of at least 1.")
    return limit


def tasks_of(world: World, split: str | None, task: str | None) -> Sequence[Task]:
    """The tasks of the episodes: the named one, or those of a split. Raises ``ConfigurationError`` if there are
    none."""
    if task is not None:
        return (world.task(str(task)),)
    split = split or world.split_for("play")
    # Training must not use houses for evaluation, unless they are named.
    tasks = split_tasks(world, split, TRAINED)
    if not tasks:
        raise ConfigurationError(f"The split {shown(split)} has no tasks; there are: {', '.join(world.splits())}.")
    return tasks


def checked_text(space: Text, text: str) -> str:
    """The text, if it is in the space. Raises ``WorldError``."""
    if text not in space:
        raise WorldError(
            f"An observation is not in the space of {LONGEST:,} characters of `charset`: {shown(text)}. "
            "Give a `charset` that has all its characters."
        )
    return text


class TextSpace(Text):
    """A text space that refuses shared memory, since Gymnasium reads shared text only once; give ``shared_memory=False``."""


@create_shared_memory.register(TextSpace)
def _refuse_sharing(space: TextSpace, n: int = 1, ctx: object = None) -> NoReturn:
    del space, n, ctx
    raise CustomSpaceError("Text cannot be shared between processes; give shared_memory=False.")


class HousequestEnv(gymnasium.Env[str, str]):
    """The tasks of one split, one episode a reset. A reset plays a task drawn with the env's seeded generator
    (``split="generated"`` is endless), or ``task`` if given, or ``options={"task": ...}`` for one episode; tasks are named as
    everywhere (an id, a path, ``split:number``). With ``ordered``, resets play each task of the split once, in its order; of a
    ``shard`` (i, n), counted from 0, every n-th one from the i-th on. After the last one, ``info["over"]`` is true, the text is
    empty, and each step truncates, so that a vector's other envs can play on. The reward is 1.0 for the step that wins, else
    0.0; ``max_steps`` truncates, winning terminates. ``info`` has ``over``, ``won``, ``admissible_commands`` (None if they
    cannot be listed), ``goal``, and ``task``, its short name, which no agent should see. ``charset`` has the allowed
    characters; all other options are the world's (see `make_world`). Raises ``ConfigurationError`` for invalid settings and
    ``WorldError`` for a text outside the observation space."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 (Gymnasium declares it so)

    def __init__(
        self,
        world: World | str = "alfworld",
        split: str | None = None,
        task: str | None = None,
        *,
        max_steps: int = 50,
        ordered: bool = False,
        shard: tuple[int, int] | None = None,
        render_mode: str | None = None,
        charset: str = CHARACTERS,
        **options: Any,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigurationError(f"There is no render mode {shown(render_mode)}; known: ansi, or none.")
        self.world = world_for(type(self), world, options)
        self.tasks = tasks_of(self.world, split, task)
        self.max_steps = checked_limit("max_steps", max_steps)
        match shard or (0, 1):
            case (int() as place, int() as shards) if 0 <= place < shards and (ordered or not shard):
                pass
            case _:
                raise ConfigurationError(f"shard is {shown(shard)}; give (i, n) with i from 0 to n - 1, and ordered=True.")
        self._following = islice(self.tasks, place, None, shards) if ordered else None
        self._over = False
        self.render_mode = render_mode
        self.observation_space = self._space = TextSpace(LONGEST, min_length=0, charset=charset)
        self.action_space = TextSpace(LONGEST, min_length=0, charset=charset)
        self._env: Env | None = None
        self._shown = ""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode: the opening, and ``info``."""
        super().reset(seed=seed)
        options = options or {}
        if unknown := [key for key in options if key != "task"]:
            hint = nearest(str(unknown[0]), ("task",))
            raise ConfigurationError(f"A reset has no option {shown(unknown[0])}; known: task.{hint}")
        reference = options.get("task")
        if reference is not None:
            task = self.world.task(str(reference))
        elif self._following is None:
            task = self.tasks[int(self.np_random.integers(len(self.tasks)))]
        else:
            task = next(self._following, None)
        self.close()  # the episode before, if there is one
        self._over = task is None
        if task is None:
            self._shown = ""
            return "", dict(_OVER)
        self._env = OrderChecked(StepLimit(self.world.open(task), self.max_steps))
        step = self._env.reset()
        self._shown = step.observation.text
        return self._seen(self._env, step)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Execute any text: observation, reward, terminated, truncated, ``info``. Raises ``OrderError`` outside an episode."""
        if self._over:
            return "", 0.0, False, True, dict(_OVER)
        if self._env is None:
            raise OrderError("This env was stepped before its first reset; call reset() first.")
        if not isinstance(cast("object", action), str):
            raise WorldError(f"An action is text, not {shown(action)}.")
        step = self._env.step(action)
        self._shown = f"> {action}\n{step.observation.text}"
        text, info = self._seen(self._env, step)
        return text, float(step.won), step.terminated, step.truncated, info

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The last command and its answer as text; None without a render mode."""
        return self._shown if self.render_mode == "ansi" else None

    def close(self) -> None:
        """End the episode, if there is one."""
        if self._env is not None:
            self._env.close()
            self._env = None

    def _seen(self, env: Env, step: Step) -> tuple[str, dict[str, Any]]:
        listed = env.admissible_commands()
        return checked_text(self._space, step.observation.text), {
            "over": False,
            "won": step.won,
            "admissible_commands": None if listed is None else list(listed),
            "task": env.task.reference,
            "goal": env.task.goal,
        }


register()
