"""The games of a split as tasks, with their rewards."""

from collections.abc import Iterator

import verifiers.v1 as vf

from housequest.worlds.registry import make_world
from housequest_alfworld.servers.tools import AlfworldTools
from housequest_alfworld.state import GameData, GameState

INSTRUCTIONS = (
    "You are in a household, which you know by its texts. Do the task by calling tools, one step at a time, until you are told "
    "that it is done."
)


class AlfworldTaskConfig(vf.TaskConfig):
    tools: vf.ToolsetConfig = vf.ToolsetConfig()


class AlfworldTask(vf.Task[GameData, GameState, AlfworldTaskConfig]):
    """One game, won or not."""

    @classmethod
    def toolsets(cls, config: AlfworldTaskConfig) -> list[vf.Toolset]:
        return [AlfworldTools(config.tools)]

    @property
    def key(self) -> str:
        return self.data.game

    @vf.reward(weight=1.0)
    async def won(self, trace: vf.Trace) -> float:
        return float(trace.state.won)

    @vf.metric
    async def goal_conditions(self, trace: vf.Trace) -> float:
        return trace.state.met / trace.state.conditions if trace.state.conditions else 0.0

    @vf.metric
    async def steps(self, trace: vf.Trace) -> float:
        return float(trace.state.steps)

    @vf.metric
    async def refused(self, trace: vf.Trace) -> float:
        return float(trace.state.refused)


class AlfworldConfig(vf.TasksetConfig):
    split: str = "train"
    """The split whose games are tasks; ``example`` needs no download."""
    max_steps: int = 50
    """Commands until a game is lost."""
    task: AlfworldTaskConfig = AlfworldTaskConfig()


class AlfworldTaskset(vf.Taskset[AlfworldTask, AlfworldConfig]):
    def load(self) -> Iterator[AlfworldTask]:
        world = make_world()
        for task in world.tasks(self.config.split):
            env = world.open(task)
            opening = env.reset().observation.text
            env.close()
            data = GameData(
                id=task.id,
                name=task.reference,
                prompt=opening,
                system_prompt=INSTRUCTIONS,
                game=task.reference,
                max_steps=self.config.max_steps,
            )
            yield AlfworldTask(data, self.config.task)
