"""A policy that plays household graphs in every agent's format, told nothing but the prompt.

It reads a goal sentence as things to fetch and a place for them. Who acts is given a plan or a sub-task, and does that alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from housequest.agent.skills.controller import Controller, Execute
from housequest.worlds.base import Observation, Transition
from housequest.worlds.graphs.goals import read_sentence
from housequest.worlds.graphs.household import HOUSEHOLD
from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import Skill
from tests.backends import prompts
from tests.backends.lota import a
from tests.backends.planners import PAIR, TRIPLE, Doing, told_line, without
from tests.backends.server import Messages
from tests.reading import read

_COUNTS = HOUSEHOLD.counts()
_KINDS = (*_COUNTS.objects(), *_COUNTS.rooms["apartment"].receptacles)
_TASKS = re.compile(r"^Task(?: description)?: (?P<goal>.+)$|for the task: (?P<again>.+)$", re.MULTILINE)
_INSTRUCTION = re.compile(r"^Human: (.+)$", re.MULTILINE)
_QUOTED = re.compile(r'"(?P<task>[^"]*)"')
_STEP = re.compile(
    r"(?:(?P<take>take)|(?P<put>put)|(?P<close>close)|(?P<use>turn on)) (?:an?|the) (?P<thing>\w+)"
    r"(?: in or on the (?P<place>\w+))?"
)
_FIELD = re.compile(r"^(?P<name>Last action|Current objective): (?P<value>.*)$", re.MULTILINE)
_TOLD = {"take": "You grab the {}", "put": "You put the {}", "close": "You close the {}", "turn": "You switch on the {}"}
_PAIRS = {"take": "PickupObject", "put": "PutObject", "close": "CloseObject", "use": "ToggleObject"}
_TRIPLES = {"take": "Pickup", "put": "Put", "close": "Close", "use": "Toggle"}


@dataclass(frozen=True)
class GraphSolver:
    """Plays every role. With ``wrong_first_plan`` the first plan grabs what nobody can carry, until it is asked again."""

    wrong_first_plan: bool = False

    def __call__(self, messages: Messages) -> str:
        system, asked = prompts.said_by(messages, "system")[0], prompts.said_by(messages, "user")
        last = next(text for text in reversed(asked) if "could not be read" not in text)
        first = len([text for text in asked if "could not be read" not in text]) == 1
        match re.split(r"[.,]\s", system)[0]:
            case "You are the planner of a robot in a household":
                return self._pairs(last)
            case "You take household tasks apart for a robot":
                return "Q1: What does it take?\nA1: One thing after the other is brought."
            case "You stand beside a robot in a household":
                return "Valid: no" if "Valid: yes or no" in last else "Cause: nobody can carry that."
            case "You plan household tasks for a robot that carries out your subgoals one by one":
                return self._triples(asked[0], last, first=first)
            case "You plan for a robot that does household tasks":
                return self._subtasks(last, first=first)
            case "You help a robot that does household tasks to keep in mind what matters":
                return "Observation: All is as it was told."
            case "You control a robot in a household":
                return _call(messages)
            case "You break household tasks into sub-tasks for someone who acts in a household that is described in text":
                return ", ".join(map(_words, doings(_QUOTED.findall(last)[-1])))
            case "You know where things are kept in a household and what they are used for":
                return _judged(last)
            case "You watch somebody act in a household that is described in text":
                return "Yes" if _finished(last) else "No"
            case "Robot: Good day":
                return self._skill(asked)
            case "You plan for someone who acts in a household that is described in text":
                return self._reason(messages, last, first=first)
            case _ if "where to look for things" in system:
                return told_line(last, "Left: ")
            case _:
                return _act(messages)

    def _wrong(self, first: bool) -> bool:
        return first and self.wrong_first_plan

    def _pairs(self, text: str) -> str:
        told = told_line(text, "Completed plan: ")
        if self._wrong(told in {"", "nothing yet"} and "Failed: " not in text):
            return "Navigation sofa, PickupObject sofa"
        pairs = [(_PAIRS[doing[0]], doing[-1]) for doing in doings(_goal(text))]
        left = without(pairs, [pair for pair in PAIR.findall(told) if pair[0] != "Navigation"])
        return ", ".join(f"Navigation {thing}, {action} {thing}" for action, thing in left)

    def _triples(self, task: str, text: str, *, first: bool) -> str:
        if self._wrong(first):
            return "Plan:\n1. (Pickup, sofa)"
        done = [tuple(part for part in found if part) for found in TRIPLE.findall(told_line(text, "Carried out so far: "))]
        left = without([(_TRIPLES[doing[0]], *doing[1:]) for doing in doings(_goal(task))], done)
        plan = "\n".join(f"{number}. ({', '.join(doing)})" for number, doing in enumerate(left, 1))
        return f"Plan:\n{plan}" if first else f"Change: what is left is done in order\nPlan:\n{plan}"

    def _skill(self, asked: Sequence[str]) -> str:
        """The skill that comes next, one a message: LoTa-Bench's format."""
        goal = _INSTRUCTION.findall(asked[0])[-1]
        skills = [skill for doing in doings(goal) for skill in _listed(doing)]
        return f"{[*skills, 'done'][min(len(asked) - 1, len(skills))]},"

    def _subtasks(self, text: str, *, first: bool) -> str:
        steps = ["take a sofa"] if self._wrong(first) else list(map(_words, doings(_goal(text))))
        listed = "\n".join(f"{number}. {step}" for number, step in enumerate(steps))
        return f"Task type: put food in the fridge\nThought: this is what it takes.\nPlan:\n{listed}\n<END_OF_PLAN>"

    def _reason(self, messages: Messages, last: str, *, first: bool) -> str:
        if not first and "stuck" not in last:
            return "Thought: it goes well.\nPlan: keep"
        steps = ["take a sofa"] if self._wrong(first) else list(map(_words, doings(prompts.goal(messages))))
        listed = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
        return f"Thought: this is what it takes.\nPlan:\n{listed}"


def doings(goal: str) -> list[Doing]:
    """What it takes, in order, one thing after the other."""
    if step := _STEP.fullmatch(goal):
        return [_doing(step)]
    wanted = read_sentence(goal, _KINDS)
    assert wanted is not None, goal
    brought = [(("take", thing), ("put", thing, wanted.place)) * count for thing, count in wanted.things.items()]
    switched: list[Doing] = [("close", wanted.place), ("use", wanted.place)] if wanted.switched else []
    return [*chain.from_iterable(brought), *switched]


def _goal(text: str) -> str:
    found = list(_TASKS.finditer(text))[-1]
    return found["goal"] or found["again"]


def _words(doing: Doing) -> str:
    match doing:
        case ("take", thing):
            return f"take a {thing}"
        case ("put", thing, place):
            return f"put the {thing} in or on the {place}"
        case (verb, thing, *_):
            return f"{'turn on' if verb == 'use' else verb} the {thing}"
        case _:
            raise AssertionError(doing)


def _doing(step: re.Match[str]) -> Doing:
    verb = next(verb for verb in ("take", "put", "close", "use") if step[verb])
    return (verb, step["thing"], step["place"]) if step["place"] else (verb, step["thing"])


def _skills(doing: Doing) -> tuple[Skill, ...]:
    match doing:
        case ("take", thing):
            return Skill("find", thing), Skill("pick", thing)
        case ("put", thing, place):
            return (Skill("put", thing, place),)
        case ("close", thing):
            return (Skill("close", receptacle=thing),)
        case (_, thing, *_):
            return Skill("find", thing), Skill("use", thing)
        case _:
            raise AssertionError(doing)


def _listed(doing: Doing) -> tuple[str, ...]:
    match doing:
        case ("take", thing):
            return f"find {a(thing)}", f"pick up the {thing}"
        case ("put", thing, place):
            return f"find {a(place)}", f"put down the {thing}"
        case (verb, thing, *_):
            return (f"{'turn on' if verb == 'use' else verb} the {thing}",)
        case _:
            raise AssertionError(doing)


def _call(messages: Messages) -> str:
    """The executor of OPEx: one skill after the other of its objective, and then the end of that."""
    told = {one["name"]: one["value"] for one in _FIELD.finditer("\n".join(prompts.said_by(messages, "user")))}
    step, said = _STEP.fullmatch(told["Current objective"]), len(prompts.said_by(messages, "assistant"))
    assert step is not None, told
    if told["Last action"].startswith("it failed") and said:
        return "Thought: this cannot be done\nAction: Play[RequireReplan, None]"
    skills = _skills(_doing(step))
    if said >= len(skills):
        return "Thought: the objective is reached\nAction: Finish[yes]"
    one = skills[said]
    name = "NavigateTo" if one.verb == "find" else one.verb.capitalize()
    return f"Thought: on to it\nAction: Play[{name}, {one.receptacle or one.object}]"


def _judged(text: str) -> str:
    target = text.partition("What is to be done: ")[2].partition("\n")[0]
    question, *names = text.partition("\n\n")[2].splitlines()
    words = re.findall(r"[a-z]+", target)
    scores = (0.9 if "going there" in question or kind(name) in words else 0.1 for name in names)
    return "\n".join(f"{name}: {score}" for name, score in zip(names, scores, strict=True))


def _finished(text: str) -> bool:
    story, _, work = text.partition("\n\nThe work: ")
    step = _STEP.fullmatch(work.partition("\n")[0])
    assert step is not None, work
    return any(line.startswith(_TOLD[step[0].split()[0]].format(step["thing"])) for line in story.splitlines())


def _act(messages: Messages) -> str:
    """The next command for the plan that was shown last, or else for the task."""
    told = prompts.heard(messages)
    plan = next((one.plan for one in reversed(told) if one.plan), None)
    steps = plan or tuple(map(_words, doings(prompts.goal(messages))))
    since = [transition for one in told[1:] for transition in one.transitions]
    skills = [skill for step in steps if (found := _STEP.fullmatch(step)) for skill in _skills(_doing(found))]
    command = _next(prompts.opening(messages), told[0].transitions, since, skills)
    number = "\nStep: 1" if plan else ""
    return f"Thought: on with it.{number}\nAction: {command or ('stuck' if plan else 'look')}"


def _next(
    opening: Observation, before: Sequence[Transition], played: Sequence[Transition], skills: Iterable[Skill]
) -> str | None:
    """The command that goes on with ``skills``: what was played ``before`` them taught what is known, what was played since
    carried them out so far."""
    controller = Controller(HOUSEHOLD)
    opening, told = read(HOUSEHOLD, opening, (*before, *played))
    state, ahead = controller.observe(controller.begin(opening), told[: len(before)]), told[len(before) :]
    for skill in skills:
        state = controller.start(state, skill)
        while True:
            outcome, state = controller.next(state)
            if not isinstance(outcome, Execute):
                break
            if not ahead:
                return outcome.command
            state = controller.observe(state, (ahead.pop(0),))
    return None
