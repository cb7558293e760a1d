"""Listening to a person beside an agent: what they said is followed, remembered, answered, or left to a model as words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from housequest.agent.skills.language import sentences
from housequest.agent.skills.language.answers import Mind, answer
from housequest.agent.skills.language.directions import Directions, directed
from housequest.agent.skills.language.sentences import Surroundings, Understood
from housequest.worlds.household.base import Commands
from housequest.worlds.household.belief import Belief


@dataclass(frozen=True, slots=True)
class Advice:
    """All that a person has told an agent: the ``directions`` that it follows now, and places that it does not search."""

    directions: Directions | None = None
    avoided: frozenset[str] = frozenset()

    def barred(self, belief: Belief, commands: Commands) -> frozenset[str]:
        """The commands that would search a place that a person ruled out."""
        places = self.avoided if belief.held is None else ()
        return frozenset(pattern.format(place=place) for place in places for pattern in (commands.go, "open {place}"))


class Heard(NamedTuple):
    """The outcome of hints: all that was ``told`` so far, the ``answers`` to give, and the hints ``left`` to a model."""

    told: Advice
    answers: tuple[str, ...]
    left: tuple[str, ...]


def hear(hints: Iterable[str], told: Advice, scene: Surroundings, mind: Mind) -> Heard:
    """Read hints one after the other; later ones add to earlier ones, and contradict them where they name the same places.

    Args:
        hints: The person's words.
        told: What was told before.
        scene: What the words are read against.
        mind: What the agent has in mind, for its answers.

    Returns:
        What was told by now, what to answer, and what was not understood.
    """
    answers, left = list[str](), list[str]()
    for hint in hints:
        reading = sentences.read(hint, scene)
        now = replace(mind, told=told.directions.hint if told.directions is not None else "")
        if reading.question is not None:
            answers.append(answer(reading.question, scene, now))
        elif (replied := _control(reading)) is not None:
            answers.append(replied)
            if reading.control == "forget":
                told = Advice()
            elif reading.control != "go on":
                told = replace(told, directions=None)
        elif reading.empty:
            answers.append(f"{cannot_follow(hint, scene)} I pass it on to the model, which may not understand it either.")
            left.append(hint)
        else:
            directions = directed(reading, scene)
            if reading.refused is not None:
                answers.append(reading.refused)
            places = directions.places if directions is not None else ()
            told = Advice(directions or told.directions, (told.avoided | reading.avoid).difference(places))
            told = _without(told, reading.avoid)
    return Heard(told, tuple(answers), tuple(left))


def _without(told: Advice, avoided: frozenset[str]) -> Advice:
    """Directions go on without the places that were ruled out since."""
    if told.directions is None or avoided.isdisjoint(told.directions.places):
        return told
    places = tuple(place for place in told.directions.places if place not in avoided)
    left = replace(told.directions, places=places)
    return replace(told, directions=left if places or left.acts else None)


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
