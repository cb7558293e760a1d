"""What the tool server and the rewards share of a game."""

import verifiers.v1 as vf


class GameState(vf.State):
    """How far the game is; ``met`` of the goal's ``conditions`` hold."""

    won: bool = False
    steps: int = 0
    refused: int = 0
    met: int = 0
    conditions: int = 0


class GameData(vf.TaskData):
    """A task: the reference of its game, such as ``train:1``, and when it ends."""

    game: str
    max_steps: int
