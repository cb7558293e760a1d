"""Skills carried out in a real house, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from housequest.agent.skills.controller import Controller, ControllerState, Done, Execute, Failed
from housequest.worlds.base import Env, Step, Transition
from housequest.worlds.household.base import BelievingEnv
from housequest.worlds.household.goals import Goal, Skill
from housequest.worlds.registry import household


@dataclass
class House:
    """A running task, what is believed of it, and what was executed in it."""

    env: Env
    controller: Controller
    state: ControllerState
    last: Step
    played: tuple[Transition, ...] = ()

    @classmethod
    def enter(cls, env: Env, controller: Controller, goal: str | None = None) -> House:
        """``goal`` is what the controller is told of the task, if not the task's own sentence."""
        env = BelievingEnv(env, household(env.task.world))
        step = env.reset()
        return cls(env, controller, controller.begin(step.observation, env.task.goal if goal is None else goal), step)

    def execute(self, command: str) -> None:
        self.last = self.env.step(command)
        transition = Transition(command, self.last.observation)
        self.played += (transition,)
        self.state = self.controller.observe(self.state, [transition])

    def carry_out(self, skill: Skill) -> Done | Failed | None:
        """Carry out ``skill``; None where the game ended on the way."""
        self.state = self.controller.start(self.state, skill)
        while not self.last.done:
            outcome, self.state = self.controller.next(self.state)
            if not isinstance(outcome, Execute):
                return outcome
            self.execute(outcome.command)
        return None


def skills(goal: Goal) -> Sequence[Skill]:
    """The skills that a planner would ask for."""
    thing = goal.object
    if goal.lamp:
        return [Skill("find", thing), Skill("pick", thing), Skill("find", goal.lamp), Skill("use", goal.lamp)]
    treating = [Skill(goal.treatment, thing)] if goal.treatment else []
    fetching = [Skill("find", thing), Skill("pick", thing), *treating]
    return [*fetching, Skill("go", receptacle=goal.receptacle), Skill("put", thing)] * goal.count
