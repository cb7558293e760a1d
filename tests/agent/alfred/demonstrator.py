"""A policy that plays ALFRED's tasks as `opex`, `llm-planner`, `socratic` and `lota`: it knows what people did for each goal.

People's sentences are not read here: the plan belongs to the sentence. Beyond that it is told nothing but the prompt, and goes
on where the prompt says that the plan has come to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from housequest.worlds.alfred.env import demonstrated_skills
from housequest.worlds.alfred.model import Plan, PlanStep, skills_of
from housequest.worlds.alfred.tasks import read_demonstration
from housequest.worlds.base import Task
from housequest.worlds.household.goals import APPLIANCES, Skill
from tests.backends import prompts
from tests.backends.opex import opex
from tests.backends.planners import NAVIGATION, PAIR, TASK, TRIPLE, Doing, advice, told_line, without
from tests.backends.server import Messages

_OPEX_TASK = re.compile(r"^Task: (.+)$", re.MULTILINE)
_LOTA_TASK = re.compile(r"^Human: (.+)$", re.MULTILINE)
_COME_TO = re.compile(r"^It had come to step (\d+)\.$", re.MULTILINE)
_NUMBER = re.compile(r"(?:^|\s)(\d+)\.$")
_PAIRS = {"pick": "PickupObject", "put": "PutObject", "use": "ToggleObject", "slice": "SliceObject"}
_TREATMENTS = {"heat": "HeatObject", "cool": "CoolObject", "clean": "CleanObject"}
_UNREADABLE = "could not be read"
_AT: dict[str, str] = {**APPLIANCES}  # The place of each treatment.


@dataclass(frozen=True)
class Demonstrator:
    """Answers every prompt of the four agents. ``plans`` are annotated plans by their goals, ``skills`` LoTa-Bench's skills.

    With ``wrong_first_plan`` the first plan of an episode picks up what nobody can.
    """

    plans: Mapping[str, tuple[Skill, ...]]
    skills: Mapping[str, Sequence[str]]
    wrong_first_plan: bool = False

    def __call__(self, messages: Messages) -> str:
        system = prompts.said_by(messages, "system")[0]
        asked = [text for text in prompts.said_by(messages, "user") if _UNREADABLE not in text]
        if system.startswith("You plan for a robot"):
            return self._subtasks(asked)
        if (answer := opex(messages)) is not None:
            return answer
        if system.startswith("You are the planner of a robot"):
            return self._pairs(asked[-1])
        if system.startswith("You take household tasks apart"):
            return "Q1: What is done first?\nA1: What comes first."
        if system.startswith("You stand beside a robot"):
            return advice(asked)
        if system.startswith("You plan household tasks for a robot"):
            return self._triples(asked)
        assert system.startswith("Robot:"), system
        return self._skill(asked)

    def _plan(self, pattern: re.Pattern[str], text: str) -> tuple[Skill, ...]:
        return self.plans[pattern.findall(text)[-1]]

    def _subtasks(self, asked: Sequence[str]) -> str:
        steps = [_sentence(skill) for skill in self._plan(_OPEX_TASK, asked[0])]
        if self.wrong_first_plan and len(asked) == 1:
            steps = ["Pick up the sinkbasin."]
        elif not self.wrong_first_plan and len(asked) > 1:
            come_to = _COME_TO.search(asked[-1])
            told = re.findall(r"^\d+\. (.+)$", asked[-1], re.MULTILINE)
            steps = told[int(come_to[1]) :] if come_to else steps
        listed = "\n".join(f"{number}. {step}" for number, step in enumerate(steps))
        return f"Task type: another\nThought: this is what it takes.\nPlan:\n{listed}\n<END_OF_PLAN>"

    def _pairs(self, text: str) -> str:
        told = told_line(text, "Completed plan: ")
        if self.wrong_first_plan and told in {"", "nothing yet"} and "Failed: " not in text:
            return f"{NAVIGATION} sinkbasin, PickupObject sinkbasin"
        completed = [(action, thing) for action, thing in PAIR.findall(told) if action != NAVIGATION]
        plan = self._plan(TASK, text)
        places = {_pair(skill): _AT.get(skill.verb) or skill.receptacle or skill.object for skill in plan}
        left = without([_pair(skill) for skill in plan], completed)
        return ", ".join(f"{NAVIGATION} {places[doing]}, {' '.join(doing)}" for doing in left)

    def _triples(self, asked: Sequence[str]) -> str:
        told = told_line(asked[-1], "Carried out so far: ")
        completed = [tuple(part for part in found if part) for found in TRIPLE.findall(told)]
        left = without([_triple(skill) for skill in self._plan(TASK, asked[0])], completed)
        if self.wrong_first_plan and len(asked) == 1:
            left = [("Pickup", "sinkbasin")]
        plan = "\n".join(f"{number}. ({', '.join(doing)})" for number, doing in enumerate(left, 1))
        return f"Plan:\n{plan}" if len(asked) == 1 else f"Change: what is left is done in order\nPlan:\n{plan}"

    def _skill(self, asked: Sequence[str]) -> str:
        skills, number = self.skills[_LOTA_TASK.findall(asked[0])[-1]], _NUMBER.search(asked[-1])
        assert number is not None
        at = int(number[1]) - 1
        return f"{skills[at] if at < len(skills) else 'done'},"


_HOUSES: dict[str, Plan] = {
    "example:1": (PlanStep("PickupObject", "egg"), PlanStep("HeatObject", "egg"), PlanStep("PutObject", "egg", "diningtable")),
    "example:2": (PlanStep("PickupObject", "soapbar"), PlanStep("PutObject", "soapbar", "cabinet")) * 2,
    "example:3": (PlanStep("PickupObject", "book"), PlanStep("ToggleObject", "desklamp")),
}
"""What wins in the houses that ship, which nobody annotated."""


def demonstrator(*tasks: Task, wrong_first_plan: bool = False) -> Demonstrator:
    """The policy that knows these tasks of ALFRED's world."""
    plans: dict[str, tuple[Skill, ...]] = {}
    skills: dict[str, Sequence[str]] = {}
    for task in tasks:
        plan = _HOUSES.get(task.reference)
        if plan is None:
            assert task.source is not None
            plan = read_demonstration(task.source).plan
        plans[task.goal] = skills_of(plan)
        skills[task.goal] = demonstrated_skills(plan)
    return Demonstrator(plans, skills, wrong_first_plan)


def _sentence(skill: Skill) -> str:
    """An objective for OPEx's executor, which is told nothing else of the plan."""
    return f"{Skill(skill.verb, skill.object, skill.receptacle if skill.verb == 'put' else None).text.capitalize()}."


def _pair(skill: Skill) -> Doing:
    action = _PAIRS.get(skill.verb) or _TREATMENTS[skill.verb]
    return action, (skill.receptacle if skill.verb == "put" else skill.object) or ""


def _triple(skill: Skill) -> Doing:
    action, thing = _pair(skill)
    name = action.removesuffix("Object")
    return (name, skill.object or "", thing) if skill.verb == "put" else (name, thing)
