"""The tool server of one game: ALFWorld's commands as tools."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import verifiers.v1 as vf

from housequest.agent.integrations.tools import CommandTools
from housequest.agent.integrations.trl.env import ToolEnvironment
from housequest_alfworld.state import GameData, GameState

TOOLS = [name for name in vars(CommandTools) if not name.startswith("_")]


class AlfworldTools(vf.Toolset[vf.ToolsetConfig, GameState]):
    """Plays the game of its rollout's task."""

    TOOL_PREFIX = None

    async def setup_task(self, task: GameData) -> None:
        self.game = ToolEnvironment(task.max_steps)
        self.game.reset(task=task.game)

    def register(self, mcp: Any) -> None:
        for name in TOOLS:
            tool = getattr(self.game, name)
            mcp.add_tool(self._with_state(self._played(tool)), name=name, description=inspect.getdoc(tool))

    def _played(self, tool: Callable[..., str]) -> Callable[..., str]:
        """``tool``, after which the state says how far the game is."""

        @functools.wraps(tool)
        def play(*arguments: Any, **named: Any) -> str:
            answer = tool(*arguments, **named)
            for field in GameState.model_fields.keys() - vf.State.model_fields.keys():
                setattr(self.state, field, getattr(self.game, field))
            return answer

        play.__signature__ = inspect.signature(tool, eval_str=True)
        return play


if __name__ == "__main__":
    AlfworldTools.run()
