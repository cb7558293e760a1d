"""Listening to a person beside an agent: what they said is followed, remembered, answered, or left to a model as words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

from housequest.agent.skills.language import grounding, sentences
from housequest.agent.skills.language.answers import Mind, answer
from housequest.agent.skills.language.directions import Directions, directed
from housequest.agent.skills.language.sentences import Surroundings, Understood
from housequest.worlds.household.base import Commands
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.goals import APPLIANCES
from housequest.worlds.text import with_article

PASSED_ON = " I pass it on to the model, which may not understand it either."
"""An agent that has a model says this of a hint that it did not understand."""

NOTHING_SAID = "You have said nothing about that."
_USES = re.compile(r"\b(?:use|using|heat|cook|cool|chill|clean|wash|put)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Advice:
    """All that a person has told an agent: the ``directions`` that it follows now, and places that it does not search."""

    directions: Directions | None = None
    avoided: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        """All that still counts, in words; empty if nothing does."""
        told = list[str]()
        if self.directions is not None and self.directions.places:
            told.append(f"to look in {', '.join(self.directions.places)}")
        if self.directions is not None and self.directions.acts:
            told.append(f"to {', then '.join(self.directions.acts)}")
        if self.avoided:
            told.append(f"not to search {', '.join(sorted(self.avoided, key=lambda name: (kind(name), len(name), name)))}")
        return "; ".join(told)

    def without(self, names: Collection[str]) -> Advice:
        """The advice without what was said about these things and places."""
        left, avoided = self.directions, self.avoided.difference(names)
        if left is not None:
            places = tuple(place for place in left.places if place not in names)
            acts = tuple(act for act in left.acts if not set(grounding.names_of(act)).intersection(names))
            left = replace(left, places=places, acts=acts) if places or acts else None
        return Advice(left, avoided)

    def barred(self, belief: Belief, commands: Commands) -> frozenset[str]:
        """The commands that would search a place that a person ruled out."""
        places = self.avoided if belief.held is None else ()
        return frozenset(pattern.format(place=place) for place in places for pattern in (commands.go, "open {place}"))


class Heard(NamedTuple):
    """The outcome of hints: all that was ``told`` so far, the ``answers`` to give, and the hints ``left`` to a model."""

    told: Advice
    answers: tuple[str, ...]
    left: tuple[str, ...]


def hear(hints: Iterable[str], told: Advice, scene: Surroundings, mind: Mind, answered: int = 0) -> Heard:
    """Read hints one after the other; later ones add to earlier ones, and contradict them where they name the same places.

    Args:
        hints: The person's words.
        told: The earlier advice.
        scene: The context in which the words are read.
        mind: The agent's mind, for its answers.
        answered: How many of the hints it has already answered.

    Returns:
        All advice so far, the answers, and what was not understood.
    """
    hints, left = tuple(hints), list[str]()
    every = [list[str]() for _ in hints]
    for hint, answers in zip(hints, every, strict=True):
        reading = sentences.read(hint, scene)
        # Words that a person sent and then declined are not why it does the next thing.
        follows = told.directions is not None and told.directions.next(scene.belief, scene.goal, mind.barred) is not None
        now = replace(mind, told=told.directions.hint if told.directions and follows else "", advice=told.words)
        if reading.question is not None:
            answers.append(answer(reading.question, scene, now))
        elif (replied := _control(reading)) is not None:
            answers.append(replied)
            if reading.control == "forget":
                told = Advice()
            elif reading.control != "go on":
                told = replace(told, directions=None)
        elif reading.unsaid:
            answers.append("I forget what you said about that." if told.without(reading.unsaid) != told else NOTHING_SAID)
            told = told.without(reading.unsaid)
        elif reading.empty:
            answers.append(f"{cannot_follow(hint, scene)}{PASSED_ON}")
            left.append(hint)
        else:
            directions = directed(reading, scene)
            if reading.refused is not None:
                answers.append(reading.refused)
            answers.extend(_still_used(hint, reading.avoid, scene))
            places = directions.places if directions is not None else ()
            ruled_out = told.without(reading.avoid).directions
            told = Advice(directions or ruled_out, (told.avoided | reading.avoid).difference(places))
    return Heard(told, tuple(chain.from_iterable(every[answered:])), tuple(left))


def _still_used(hint: str, avoided: Collection[str], scene: Surroundings) -> Iterator[str]:
    """Say of an appliance that the person does not want to be used that the goal cannot be reached without."""
    if not avoided or not _USES.search(hint):
        return
    for goal in scene.household.read_goals(scene.goal, sorted(scene.belief.kinds)):
        if goal.treatment and (device := APPLIANCES[goal.treatment]) in map(kind, avoided):
            yield f"Only {with_article(device)} can {goal.treatment} things here, so I use it for that, but do not search it."


def _control(reading: Understood) -> str | None:
    match reading.control:
        case "go on":
            return "I go on."
        case "no":
            return "Then I try something else."
        case "forget":
            return "I forget what you told me."
        case "stop" | "wait":
            return "I stop what you told me to do. Pause the game to have me wait."
        case "undo":
            return "I do not know how to undo that."
        case None:
            return "All right." if reading.chat else None


def cannot_follow(hint: str, scene: Surroundings) -> str:
    """Say that nothing was found to do in ``hint``, and what there is."""
    kinds: Sequence[str] = sorted(scene.belief.kinds)
    places = f" The places here are: {', '.join(kinds)}." if kinds else ""
    return f'I find no place and no order for me in "{hint}".{places}'
