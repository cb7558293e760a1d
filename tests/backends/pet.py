"""A policy that answers PET's prompts in its format, and acts on one sub-task at a time, knowing no other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from housequest.knowledge.examples import subtasks_of_goal
from housequest.worlds.alfworld.text import begin, load_counts, read_goal
from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import APPLIANCES
from tests.backends import prompts
from tests.backends.actor import follow
from tests.backends.server import Messages

_TAKE = re.compile(r"take an? (?P<thing>\w+)")
_TREAT = re.compile(r"(?P<verb>heat|cool|clean) the (?P<thing>\w+)")
_LIGHT = re.compile(r"turn on the (?P<thing>\w+)")
_SUBTASK = re.compile(r"take an? \w+|(?:heat|cool|clean) the \w+|turn on the \w+|put the \w+ in or on the \w+")
_QUOTED = re.compile(r'"(?P<task>[^"]*)"')
_DONE = {
    "take": "You pick up the {}",
    "heat": "You heat the {}",
    "cool": "You cool the {}",
    "clean": "You clean the {}",
    "put": "You move the {}",
    "turn": "You turn on the {}",
}
LEAST = 0.02
"""A place where a thing lies less often than this does not matter for it."""


@dataclass(frozen=True)
class PetPolicy:
    """Answers every prompt of PET. ``forgetful``: the tracker never notices that anything was done."""

    forgetful: bool = False

    def reply(self, messages: Messages) -> str | None:
        """The reply; None where the prompt is not PET's: the task itself is acted on by others."""
        system = prompts.said_by(messages, "system")[0]
        last = next(text for text in reversed(prompts.said_by(messages, "user")) if "could not be read" not in text)
        if system.startswith("You break household tasks"):
            return ", ".join(_plan(last))
        if system.startswith("You know where things are kept"):
            return _judge(last)
        if system.startswith("You watch somebody"):
            return "Yes" if not self.forgetful and _finished(last) else "No"
        if not _SUBTASK.fullmatch(prompts.goal(messages)):
            return None
        if system.startswith("You plan for someone"):
            return _reason(messages)
        return None if "you are given a plan" in system else _act(messages)


def _plan(text: str) -> tuple[str, ...]:
    goal = read_goal(_QUOTED.findall(text)[-1])
    assert goal is not None, "the solver reads template goals alone"
    return subtasks_of_goal(goal)


def _judge(text: str) -> str:
    target = text.partition("What is to be done: ")[2].partition("\n")[0]
    question, *names = text.partition("\n\n")[2].splitlines()
    place = "going there" in question
    if question.startswith("How likely"):
        return "\n".join(f"{name}: {0.9 if relevant(target, name, place=place) else 0.1}" for name in names)
    return "Yes" if relevant(target, names[0], place=place) else "No"


def relevant(target: str, name: str, *, place: bool) -> bool:
    """Whether a name matters for a task or sub-task, by its words and by what lies where."""
    goal = read_goal(target)
    words = set(re.findall(r"[a-z]+", target))
    if place and goal is not None:
        words |= {goal.receptacle or "", APPLIANCES.get(goal.treatment, "") if goal.treatment else ""}
    treat = _TREAT.fullmatch(target)
    if place and treat:
        return kind(name) == APPLIANCES[treat["verb"]]  # pyright: ignore[reportArgumentType]
    counts = load_counts()
    if kind(name) in words:
        return True
    things = words & set(counts.objects())
    return place and any(counts.chance(thing, kind(name), room) > LEAST for thing in things for room in counts.rooms)


def _finished(text: str) -> bool:
    work = text.partition("\n\nThe work: ")[2].partition("\n")[0]
    verb, *rest = work.split()
    done = _DONE[verb].format(rest[2] if verb == "turn" else rest[1])
    return any(line.startswith(done) for line in text.splitlines())


def _reason(messages: Messages) -> str:
    """What a reasoner says about a sub-task."""
    if len(prompts.said_by(messages, "user")) > 1:
        return "Thought: it goes well.\nPlan: keep"
    steps = enumerate(_subtask_steps(messages), 1)
    return "Thought: so it goes.\nPlan:\n" + "\n".join(f"{number}. {step}" for number, step in steps)


def _act(messages: Messages) -> str:
    steps = _subtask_steps(messages)
    told = ((one.transitions, None if number else steps) for number, one in enumerate(prompts.heard(messages)))
    reply = follow(prompts.opening(messages), list(told))
    thought, _, action = reply.split("\n")
    return f"{thought}\n{action}".replace("Action: stuck", "Action: look")


def _subtask_steps(messages: Messages) -> tuple[str, ...]:
    kinds = list(dict.fromkeys(one.kind for one in begin(prompts.opening(messages)).receptacles))
    done = (transition.command for transition in prompts.heard(messages)[0].transitions)
    return _steps(prompts.goal(messages), kinds, done)


def _steps(subtask: str, kinds: Iterable[str], done: Iterable[str]) -> tuple[str, ...]:
    """A sub-task as steps for the actor that follows plans."""
    if found := _TAKE.fullmatch(subtask):
        thing = found["thing"]
        which = "another" if any(command.startswith(f"move {thing} ") for command in done) else "a"
        return (_find(thing, kinds, which), f"take {'another' if which == 'another' else 'the'} {thing}")
    if found := _TREAT.fullmatch(subtask):
        return (f"{subtask} with the {APPLIANCES[found['verb']]}",)  # pyright: ignore[reportArgumentType]
    if found := _LIGHT.fullmatch(subtask):
        return (_find(found["thing"], kinds, "a"), f"use the {found['thing']}")
    return (subtask,)


def _find(thing: str, kinds: Iterable[str], which: str) -> str:
    counts, kinds = load_counts(), list(kinds)
    room = counts.room_of(kinds)
    order = sorted(kinds, key=lambda each: -counts.chance(thing, each, room) / (1 + counts.openable(each)))
    return f"find {which} {thing}: look in or on {', then '.join(order)}"
