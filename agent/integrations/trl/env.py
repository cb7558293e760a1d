"""ALFWorld for TRL: use `ToolEnvironment` in ``GRPOTrainer(environment_factory=...)``. TRL itself is not needed here.

TRL makes one environment for each rollout, gives its model the public methods as tools, adds the result of ``reset`` to the
prompt, and calls ``get_reward`` when the model stops calling tools. The dataset's column ``task`` (`dataset_rows`) names the
game, so that all rollouts of a group play the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from housequest.agent.evaluation.runs.spec import select
from housequest.agent.integrations.tools import CommandTools
from housequest.worlds.base import Env, World
from housequest.worlds.env import StepLimit
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world
from housequest.worlds.tasks import TRAINED

WON = "The task is done."
OUT_OF_STEPS = "There are no steps left."
OVER = "The game is over."


def dataset_rows(split: str, instruction: str = "", *, world: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Make a row for each game of ``split``.

    Args:
        split: The split of the games.
        instruction: The beginning of the ``prompt``; TRL adds the game's opening.
        world: Options of the world.

    Raises:
        ConfigurationError: The split or an option is unknown.
    """
    text = f"{instruction}\n\n" if instruction else ""
    tasks = select(make_world(**world or {}), split, usual=TRAINED).tasks
    return [{"prompt": [{"role": "user", "content": text}], "task": task.reference} for task in tasks]


class ToolEnvironment(CommandTools):
    """Plays one game at a time by calls of its methods.

    Your own reward functions get the environments from TRL and can use ``won``, ``steps``, ``refused`` commands, and the number
    of goal conditions ``met`` of all ``conditions``.

    Args:
        max_steps: Steps after which a game ends.
        world: Options of the world, such as ``{"goals": "human:1"}``.

    Raises:
        ConfigurationError: An option is unknown.
    """

    def __init__(self, max_steps: int = 50, world: Mapping[str, Any] | None = None) -> None:
        self._world = _shared_world(tuple(sorted((world or {}).items())))
        self._limit = max_steps
        self._env: Env | None = None
        self._begin()

    def _begin(self) -> None:
        self.won = self.over = False
        self.steps = self.refused = self.met = self.conditions = 0

    def reset(self, task: str | None = None, **row: Any) -> str:
        """Begin the game of a dataset's row, named by its column ``task``: the opening. Raises ``ConfigurationError``."""
        if task is None:
            raise ConfigurationError(
                f"A row names its game in a column 'task', such as train:1, and this one has {', '.join(row) or 'nothing'}; "
                "make the dataset of housequest.agent.integrations.trl.env.dataset_rows."
            )
        self._begin()
        self._env = StepLimit(self._world.open(self._world.task(task)), self._limit)
        opening = self._env.reset().observation.text
        self._count(self._env)
        return opening

    def get_reward(self) -> float:
        """Return 1.0 for a won game, else 0.0."""
        return float(self.won)

    def _play(self, command: str) -> str:
        if self.over or self._env is None:
            return OVER
        step = self._env.step(command)
        self.steps += 1
        self.refused += not step.observation.accepted
        self.won, self.over = step.won, step.done
        self._count(self._env)
        if not step.done:
            return step.observation.text
        return f"{step.observation.text}\n\n{WON if step.won else OUT_OF_STEPS}"

    def _count(self, env: Env) -> None:
        self.met, self.conditions = env.goal_conditions() or (0, 0)


@cache
def _shared_world(options: tuple[tuple[str, Any], ...]) -> World:
    """Share one world among a trainer's hundreds of environments."""
    return make_world(**dict(options))
