"""A policy that plans as models do that are good and not perfect: it errs in one way, and recovers from what it is told alone.

The ways are those that `tests/agent/agents/test_recovery.py` has: failures of planning that a good model meets.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from housequest.worlds.alfworld.text import read_goal
from housequest.worlds.household.goals import APPLIANCES, Goal
from tests.backends import prompts
from tests.backends.lota import a, listed
from tests.backends.policy import Solver
from tests.backends.server import Messages
from tests.backends.surfaces import COUNTS, home, other, surfaces

Error = Literal["noun", "put-down", "hand", "again", "toggle", "early", "list", "finish", "explore"]
ERRORS: Mapping[str, tuple[Error, ...]] = {
    "opex": ("noun", "put-down", "hand", "again", "toggle", "finish", "explore"),
    "llm-planner": ("noun", "put-down", "hand", "again", "toggle"),
    "socratic": ("noun", "put-down", "hand", "again", "toggle"),
    "lota": ("noun", "put-down", "hand", "again", "early", "list"),
}
"""How each agent's model can err.

``noun``: an unknown word for the object. ``put-down``: a detour by a put-down. ``hand``: another thing is taken first.
``again``: the same wrong plan twice, or with `lota` a finished skill two times more. ``toggle``: a place is switched on, by the
plan, or in OPEx by the executor. ``early``: the last skill comes first. ``list``: the whole list at once, with the last skill
too early. ``finish``: OPEx's objective is finished before anything was done. ``explore``: its room is explored until it is told
that this is enough.
"""

_NONSENSE = "thingummy"
_EXPLORES = "Current objective: Explore the room"
_TASK = re.compile(r"^(?:Task(?: description)?|Human): (?P<goal>.+)$", re.MULTILINE)
_PLACES = re.compile(r"(?:Visible objects|has|There is): (?P<places>.+)")
_ROOM = re.compile(r"^Places of the room: (?P<places>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Erring:
    """Answers every planner's prompts with ``error``; ``most`` limits how often a room is explored whatever is said."""

    error: Error
    most: int = 0
    solver: Solver = field(default_factory=Solver)

    def __call__(self, messages: Messages) -> str:
        system, asked = prompts.said_by(messages, "system")[0], prompts.said_by(messages, "user")
        if system.startswith("Robot:"):
            return self._skill(messages)
        if system.startswith("You control a robot"):
            return self._call(messages)
        reply = self.solver(messages)
        planning = system.startswith(("You are the planner of a robot", "You plan household tasks", "You plan for a robot"))
        tries = sum("Failed:" in text or "failed at a subgoal" in text for text in asked)
        again = self.error == "again"
        if not planning or (len(asked) > 1 and not again) or tries > again:
            return reply
        goal, places = _goal(asked[0]), _PLACES.search(asked[-1]) or _PLACES.search(asked[0])
        kinds = places["places"].split(", ") if places else ["countertop"]
        wrong = other(goal.object, COUNTS.room_of(kinds))
        appliance = next((name for name in APPLIANCES.values() if name in kinds), kinds[0])
        if system.startswith("You plan for a robot"):
            return reply if len(asked) > 1 + again else self._steps(reply, goal.object, wrong, appliance)
        if system.startswith("You plan household tasks"):
            return self._triples(reply, goal.object, wrong, appliance)
        return self._pairs(reply, goal.object, wrong, appliance)

    def _pairs(self, plan: str, thing: str, wrong: str, place: str) -> str:
        pick = f"PickupObject {thing}"
        match self.error:
            case "noun":
                return plan.replace(f" {thing}", f" {_NONSENSE}")
            case "put-down":
                return plan.replace(pick, f"{pick}, Navigation {place}, PutObject {place}, Navigation {thing}, {pick}", 1)
            case "hand":
                return f"Navigation {wrong}, PickupObject {wrong}, {plan}"
            case "again":
                return f"PickupObject {place}, {plan}"
            case _:
                return f"ToggleObject {place}, {plan}"

    def _triples(self, plan: str, thing: str, wrong: str, place: str) -> str:
        head, label, rest = plan.rpartition("Plan:\n")
        subgoals = re.findall(r"\(.*\)", rest)
        pick = f"(Pickup, {thing})"
        match self.error:
            case "noun":
                subgoals = [subgoal.replace(f", {thing}", f", {_NONSENSE}") for subgoal in subgoals]
            case "put-down":
                subgoals = [pick, f"(Put, {thing}, {place})", *subgoals]
            case "hand":
                subgoals = [f"(Pickup, {wrong})", *subgoals]
            case "again":
                subgoals = [f"(Pickup, {place})", *subgoals]
            case _:
                subgoals = [f"(Toggle, {place})", *subgoals]
        return head + label + "\n".join(f"{number}. {subgoal}" for number, subgoal in enumerate(subgoals, 1))

    def _steps(self, plan: str, thing: str, wrong: str, place: str) -> str:
        head, label, rest = plan.rpartition("Plan:\n")
        steps = re.findall(r"^\d+\. (.*)$", rest, re.MULTILINE)
        found = next((at for at, step in enumerate(steps) if step.startswith("Find ")), 0)
        fetch = [f"Find {a(thing)}.", f"Pick up the {thing}."]
        match self.error:
            case "noun":
                steps = [step.replace(f" {thing}", f" {_NONSENSE}") for step in steps]
            case "put-down":
                steps[found:found] = [*fetch, f"Put the {thing} in the {place}."]
            case "hand":
                steps[found:found] = [f"Find {a(wrong)}.", f"Pick up the {wrong}."]
            case "again":
                steps[found:found] = [f"Turn on the {place}."]
            case _:
                pass
        return head + label + "\n".join(f"{number}. {step}" for number, step in enumerate(steps)) + "\n<END_OF_PLAN>"

    def _call(self, messages: Messages) -> str:
        """OPEx's executor, whose conversation is that of one objective; its room was explored before the first other one."""
        asked, answered = prompts.said_by(messages, "user"), prompts.said_by(messages, "assistant")
        exploring = _EXPLORES in asked[-1]
        first = "Current objective: Find " in asked[0] and re.search(r"Last action: (?:none yet|.*finished: Explore)", asked[0])
        if self.error == "explore" and exploring and (len(answered) < self.most or not (self.most or "enough" in asked[-1])):
            return "Thought: what else is there?\nAction: Play[Explore, None]"
        if self.error == "finish" and first and not answered:
            return "Thought: that was quick\nAction: Finish[yes]"
        if self.error == "toggle" and first:
            if not answered:
                return f"Thought: first this\nAction: Play[Use, {_appliance(asked[0])}]"
            # What failed was no part of the plan, so it goes on with the objective.
            rest = [each for each in messages if each["role"] == "system"] + list(messages[3:])
            return self.solver(rest)
        return self.solver(messages)

    def _skill(self, messages: Messages) -> str:
        """The next of the skills that a `lota` writes, told which of those before have failed."""
        asked = prompts.said_by(messages, "user")
        goal = _goal(asked[0])
        if self.error == "list":
            first, *rest = listed(goal)
            told = len(prompts.said_by(messages, "assistant")) > 0
            return f"{', '.join(rest if told else [first, rest[-1], *rest])}, done."
        skills = self._skills(goal)
        said = next(skills)
        for text in asked[1:]:
            said = skills.send("failed:" in text or "could not be read" in text)
        return f"{said},"

    def _skills(self, goal: Goal) -> Generator[str, bool]:
        """Skill by skill; what is sent is whether the last one failed."""
        skills, thing = list(listed(goal)), goal.object
        fetch = [f"find {a(thing)}", f"pick up the {thing}"]
        if self.error == "hand":
            yield from self._wrong_hand(thing, fetch)
        detours = {
            "noun": [f"find a {_NONSENSE}"],
            "put-down": [*fetch, f"find {a(goal.receptacle or 'desk')}", f"put down the {thing}"],
            "again": [skills[0]] * 2,
            "early": [skills[-1]],
        }
        ahead = [*detours.get(self.error, ()), *skills]
        while True:
            yield ahead.pop(0) if ahead else "done"

    def _wrong_hand(self, thing: str, fetch: list[str]) -> Generator[str, bool]:
        room, places = home(thing)
        wrong = other(thing, room)
        if (yield f"find {a(wrong)}"):
            return
        yield f"pick up the {wrong}"
        yield fetch[0]
        if (yield fetch[1]):
            for place in surfaces(wrong, places):
                if not (yield f"find {a(place)}") and not (yield f"put down the {wrong}"):
                    return


def _appliance(asked: str) -> str:
    """A place of the room that nobody switches on."""
    room = _ROOM.search(asked)
    kinds = room["places"].split(", ") if room else ["countertop"]
    return next((name for name in APPLIANCES.values() if name in kinds), kinds[0])


def _goal(text: str) -> Goal:
    goal = read_goal(list(_TASK.finditer(text))[-1]["goal"])
    assert goal is not None, "the policy reads template goals alone"
    return goal
