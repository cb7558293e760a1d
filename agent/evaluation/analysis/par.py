"""What a task can be done in: the measure that an episode's turns are held against.

L* of the path-weighted metrics (Shridhar et al., CVPR 2020, section 5) is `Par.best`; a screen shows both figures at the end of
a game. All of it is hidden knowledge: it never reaches an agent.
"""

from __future__ import annotations

from dataclasses import dataclass

from worlds.base import Task, World
from worlds.errors import Unsupported

TURNS = 50
"""After as many commands the expert is stopped: as many as an episode has by default."""


@dataclass(frozen=True, slots=True)
class Par:
    """Commands that a task takes: by the world's ``expert``, who sees no more than a player, and on the ``shortest`` way.

    None: the expert gave up or was not done in time; the shortest way is not known.
    """

    expert: int | None = None
    shortest: int | None = None

    @property
    def best(self) -> int | None:
        """L*: the shortest way where it is known, else the expert's; None where neither is."""
        return self.expert if self.shortest is None else self.shortest


def par_of(world: World, task: Task, *, turns: int = TURNS, seconds: float | None = None) -> Par:
    """What ``task`` can be done in; ``seconds`` limits the search for the shortest way beyond the world's own limit.

    Plays and plans in the caller's thread, for up to a second or two: an event loop calls it in a thread of its own. Without
    ``seconds`` the same task gives the same figures everywhere. Raises ``GameError`` where the task cannot be played.
    """
    return Par(expert_turns(world, task, turns), world.shortest(task, seconds=seconds))


def expert_turns(world: World, task: Task, turns: int = TURNS) -> int | None:
    """After how many commands the world's expert has won ``task``; None where it has not within ``turns``, or there is none.

    Raises ``GameError`` where the task cannot be played.
    """
    try:
        expert, env = world.expert(), world.rehearse(task)
    except Unsupported:
        return None
    try:
        taken, step = 0, env.reset()
        memory = expert.begin(task.goal, step.observation)
        while not step.done and taken < turns:
            command, _, memory = expert.decide(memory)
            if command is None:
                break
            taken, step = taken + 1, env.step(command)
            memory = expert.observe(memory, command, step.observation)
        return taken if step.won else None
    except Unsupported:
        # The expert's own word for a goal that is beyond it.
        return None
    finally:
        env.close()
