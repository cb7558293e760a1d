"""Prompts in the terms of a household: the templates are written for ALFWorld's, and some of their sentences hold only there.

Templates stay as they are, since runs record their hashes; for another household, what does not hold in it is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from housequest.worlds.base import World
from housequest.worlds.household.base import Household

TWO_HANDS: Mapping[str, str] = {
    "and carry one thing at a time.": "and carry at most two things at a time.",
    "and only one thing can be carried at a time.": "and at most two things can be carried at a time.",
    "Only one thing can be carried at a time.": "Two things can be carried at a time.",
    "The robot holds one thing at a time.": "The robot has two hands, and can hold a thing in each.",
    "the object to take into the empty hand.": "the object to take into a free hand.",
    "The robot holds one object at a time, and opens": "The robot has two hands, can hold an object in each, and opens",
    "- The robot holds one object at a time, and has": "- The robot has two hands, can hold an object in each, and has",
    "One object can be carried at a time, so a task about two objects takes each of them in turn.": (
        "Two objects can be carried at a time. A task about several objects takes each of them and puts each of them."
    ),
}
"""What is said of one hand, and what of two."""
EXPLAINED: Mapping[str, str] = {
    'When a command is answered with "Nothing happens." it was not possible: do something else.': (
        "A command that is not possible is answered with the reason: do what that takes, or something else."
    ),
}
"""What is said where refusals are silent, and where they give the reason."""
UNTREATED: Mapping[str, str] = {
    " HeatObject, CoolObject and CleanObject, what is held; they work beside a microwave, a fridge and a sinkbasin.": "",
    "ToggleObject, a lamp. SliceObject, what is cut, with a knife in hand.": "ToggleObject, a thing to switch on.",
    ", heat, cool or clean it.\n": ".\n",
    "- A microwave heats what is held, a fridge cools it, and a sinkbasin cleans it; each takes one action and the object "
    "stays in hand.\n": "",
    "- Slicing takes a knife in hand. A lamp is switched where it stands, and shines on what the robot holds beside it.\n": "",
    "such as heating an egg, slicing bread or putting a pan in the fridge": "such as putting a pan in the fridge",
    "Toggle names a lamp": "Toggle names a thing to switch on",
    "I fetch things, clean, heat and cool them, and put": "I fetch things and put",
    "find it, pick it up, treat it, put it down.": "find it, pick it up, put it down.",
    "take it, heat, cool or clean it, put it somewhere, turn a lamp on.": "take it, put it somewhere, turn it on.",
    "what they are treated with, where they must end up": "where they must end up",
    "\nHuman: put a hot egg in garbagecan.\nRobot: 1. pick up the egg, (this skill failed: no egg was seen yet that could be "
    "reached; find one first) 2. find an egg, 3. pick up the egg, 4. find a microwave, 5. heat the egg, 6. find a garbagecan, "
    "7. put down the egg, 8. done.\nHuman: examine the mug with the desklamp.\nRobot: 1. find a book, 2. pick up the book, "
    "3. find a mug, 4. pick up the mug, (this skill failed: your hand is full: you hold the book) 5. put down the book, "
    "6. pick up the mug, 7. find a desklamp, 8. turn on the desklamp, 9. done.": "",
}
"""What is said of treatments, and what where nothing is treated."""
SEVERAL_ROOMS: Mapping[str, str] = {
    "a numbered list of two to twelve steps.": "a numbered list of as many steps as it takes.",
    "Step 0 has the robot explore the room, to have a general idea of it.": (
        "Step 0 has the robot explore the rooms, to have a general idea of the home."
    ),
    "A good plan has two to six steps.": "A good plan has as many steps as there are things to do.",
}
"""What is said of a task in one room, and what of one with many things in several."""
_WAYS = "In this household:"
_ANSWERING = re.compile(r"\n\n(?:Always a|A)nswer ")


def in_terms(text: str, world: World) -> str:
    """A template's ``text`` in the terms of a household; for ALFWorld's, and for what is no household, it is as it was."""
    if world.household is None:
        return text
    for said in _replaced(world.household):
        for one, other in said.items():
            text = text.replace(one, other)
    return text


def planning(text: str, world: World) -> str:
    """The system message of somebody who plans, in the terms of a household and with its ways."""
    return with_ways(in_terms(text, world), world)


def with_ways(text: str, world: World) -> str:
    """A system message with the household's ways, before what says how to answer."""
    ways = world.household.terms.ways if world.household else ()
    if not ways:
        return text
    found = _ANSWERING.search(text)
    at = text.rfind("\n\n") if found is None else found.start()
    return f"{text[:at]}\n\n{_WAYS}{''.join(f'{chr(10)}- {way}' for way in ways)}{text[at:]}"


def _replaced(household: Household) -> list[Mapping[str, str]]:
    said = [TWO_HANDS] if household.terms.hands == 2 else []
    said += [EXPLAINED] if household.terms.explains else []
    said += [SEVERAL_ROOMS] if household.commands.reach else []
    return said + ([UNTREATED] if household.commands.treat is None else [])
