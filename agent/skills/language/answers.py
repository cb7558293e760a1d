"""Answers a person's questions from what an agent knows: in one line, and from nothing else."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

from housequest.agent.skills import naming
from housequest.agent.skills.language import grounding
from housequest.agent.skills.language.sentences import Question, QuestionKind, Surroundings
from housequest.worlds.household.belief import Belief, Item, by_name, kind
from housequest.worlds.household.goals import APPLIANCES, PLACES

_SHORT = 3
_MOST = 4
"""Names in one answer, before it says "and others"."""


@dataclass(frozen=True, slots=True)
class Mind:
    """An agent's mind, as far as there is one.

    Args:
        plan: Its plan.
        step: The current step, from 0.
        aim: Its next aim, if it has no plan.
        reason: The reason for its next command.
        told: The person's words that it follows.
        advice: All advice that still counts.
        turns: The turns left.
        barred: The commands that it may not give now.
    """

    plan: Sequence[str] = ()
    step: int = 0
    aim: str = ""
    reason: str = ""
    told: str = ""
    advice: str = ""
    turns: int | None = None
    barred: Collection[str] = ()


def answer(question: Question, scene: Surroundings, mind: Mind) -> str:
    """Answer a question.

    Args:
        question: The question, as `housequest.agent.skills.language.sentences.read` reads it.
        scene: What is known of the house, the goal and the commands so far.
        mind: The agent's plan and reasons.

    Returns:
        A sentence or two.
    """
    belief, about = scene.belief, question.about
    if (told := answer_of_mind(question.kind, scene.goal, mind)) is not None:
        return told
    match question.kind:
        case "holding":
            return f"I hold {_listed(belief.carried)}." if belief.carried else "I hold nothing."
        case "here":
            return _here(belief)
        case "unseen":
            unseen = [one.name for one in belief.unsearched]
            return f"I have not looked into {_listed(ranges(unseen))} yet." if unseen else "I have looked everywhere."
        case "seen" if about is None:
            return _seen(belief)
        case "seen":
            named = dict.fromkeys((about, *question.besides))
            return " ".join(dict.fromkeys(_about_place(one, belief) or _whereabouts(one, belief) for one in named if one))
        case "where":
            return _here(belief) if about is None else _about_place(about, belief) or _whereabouts(about, belief)
        case "state":
            return _state(about, belief)
        case "can" if question.verb in ("go", "search", "examine") and (told := _about_place(about, belief)) is not None:
            return told
        case "how" | "can":
            device = (one for one, used in APPLIANCES.items() if about is not None and used == kind(about))
            return _how(question.verb or next(device, None), scene)
        case _:
            return "I cannot answer that. Ask why, what next, where a thing is, what I hold or saw, or how to do something."


def answer_of_mind(kind_of: QuestionKind, goal: str, mind: Mind) -> str | None:
    """The answer to a question about the task and an agent's mind; None to one about the house."""
    match kind_of:
        case "plan":
            return _at_work(mind)
        case "why":
            if mind.told:
                return f'Because you said: "{mind.told}".'
            if mind.reason:
                return f"Because {mind.reason}."
            # A plan says why a command is given only together with the thought about it.
            return f"{_aiming(mind)} {_at_work(mind)}" if mind.plan else _at_work(mind)
        case "told":
            return f"You told me {mind.advice}." if mind.advice else "You have told me nothing that still counts."
        case "turns":
            return f"There are {mind.turns} turns left." if mind.turns is not None else "I do not count the turns."
        case "goal":
            return f"The task: {goal.rstrip('.')}."
        case "left":
            left = "; ".join(mind.plan[mind.step :])
            return f"Left to do: {left}." if left else f"The task is not done yet: {goal.rstrip('.')}."
        case _:
            return None


def _aiming(mind: Mind) -> str:
    return f"My next aim: {mind.aim.rstrip('.')}." if mind.aim else "My plan says so."


def _at_work(mind: Mind) -> str:
    if mind.told:
        return f'I do what you said: "{mind.told}".'
    if mind.plan:
        return f"I am at step {mind.step + 1}: {mind.plan[mind.step]}."
    return _aiming(mind) if mind.aim else "I have no plan yet."


def _listed(names: Sequence[str]) -> str:
    some = list(names[:_MOST])
    return f"{', '.join(some)}{' and others' if len(names) > _MOST else ''}"


def _here(belief: Belief) -> str:
    if belief.at is None:
        return "I stand in the middle of the room."
    things = [name for one in belief.here() for name in belief.inside(one)]
    room = belief.room_of(belief.at)
    at = belief.at if room in (None, belief.at) else f"{belief.at} in {room}"
    rooms = f" The rooms: {', '.join(belief.rooms)}." if belief.rooms else ""
    return f"I am at {at}." + (f" Here I see {_listed(things)}." if things else "") + rooms


def ranges(places: Collection[str]) -> list[str]:
    """Places in order; many of a kind as "cabinet 1 to 8"."""
    parts = list[str]()
    for of_kind, alike in groupby(sorted(places, key=by_name), key=kind):
        names = list(alike)
        first, last = (int(name.rpartition(" ")[2]) for name in (names[0], names[-1]))
        parts += [f"{of_kind} {first} to {last}"] if len(names) > _SHORT and last - first == len(names) - 1 else names
    return parts


def _seen(belief: Belief) -> str:
    looked = [one.name for one in belief.receptacles if one.contents is not None]
    return f"I have looked into {', '.join(ranges(looked))}." if looked else "I have looked into nothing yet."


def _about_place(said: str | None, belief: Belief) -> str | None:
    """The answer about a place; None if ``said`` names none."""
    if said is None:
        return None
    named, number = kind(said), said.rpartition(" ")[2]
    there = [one for one in belief.receptacles if one.kind == named and (not number.isdigit() or one.number == int(number))]
    if not there:
        return f"I know of no {said} here." if named in PLACES and not _things(said, belief) else None
    unseen = [one.name for one in there if one.contents is None]
    known = [f"In {one.name} I saw {_listed(belief.inside(one)) or 'nothing'}." for one in there if one.contents is not None]
    left = f" I have not looked into {_listed(ranges(unseen))} yet." if unseen else ""
    if not known:
        return f"I know of {_listed(ranges([one.name for one in there]))}.{left}"
    return f"{' '.join(known[:_MOST])}{left}"


def _things(said: str, belief: Belief) -> list[Item]:
    named = naming.resolve(said, {one.kind for one in belief.items}, {one.name for one in belief.items})
    return [] if named is None else [item for item in belief.items if naming.matches(item.name, named)]


def _whereabouts(said: str, belief: Belief) -> str:
    seen = _things(said, belief)
    if seen:
        held = [f"I hold {item.name}." for item in seen if item.name in belief.carried]
        return " ".join([*held, *(f"I saw {item.name} in {item.where}." for item in seen if item.where is not None)])
    unseen = [one.name for one in belief.unsearched]
    left = f"I have not looked into {_listed(ranges(unseen))}."
    return f"I have not seen it yet. {left}" if unseen else "I have looked everywhere and not seen it."


def _state(about: str | None, belief: Belief) -> str:
    """The known properties of a thing, or whether a place is open."""
    told = [f"{item.name} is {' and '.join(item.state) or 'as I found it'}" for item in _things(about or "", belief)]
    named, _, number = (about or "").rpartition(" ") if (about or "")[-1:].isdigit() else (about or "", "", "")
    for one in belief.receptacles:
        if one.kind == named and number in ("", str(one.number)) and one.openness is not None:
            told.append(f"{one.name} is {'never closed' if one.openness == 'surface' else one.openness}")
    return f"As far as I know, {'; '.join(told[:_MOST])}." if told else "I have not seen it yet."


def _how(verb: str | None, scene: Surroundings) -> str:
    """The commands for a verb; the verbs of all commands if there are none for it."""
    used = next((device for treatment, device in APPLIANCES.items() if treatment == verb), "receptacle")
    forms = [form.pattern.replace("{receptacle}", used) for form in scene.commands.forms]
    fitting = [re.sub("[{}]", "", form) for form in forms if grounding.verb_of(form, scene.commands) == verb]
    if fitting:
        return f"The command for that: {'; or: '.join(fitting)}."
    verbs = dict.fromkeys((*(form.pattern.partition(" {")[0] for form in scene.commands.forms), "look", "inventory"))
    return f"The commands are: {', '.join(verbs)}."
