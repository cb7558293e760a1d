"""Listening to a person beside an agent: what they said is followed, remembered, answered, or left to a model as words."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain, islice, repeat
from typing import NamedTuple

from housequest.agent.skills import naming
from housequest.agent.skills.language import grounding, sentences, wording
from housequest.agent.skills.language.answers import Mind, answer, ranges
from housequest.agent.skills.language.bans import Ban, Barred, unmet
from housequest.agent.skills.language.directions import Directions, directed
from housequest.agent.skills.language.sentences import Surroundings, Understood
from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import APPLIANCES
from housequest.worlds.text import cut_at_word

PASSED_ON = " I pass it on to the model."
"""An agent that has a model says this of a hint that it did not understand."""

_ADDS = wording.SHAPES["adds"]
_WHY_NOT = wording.SHAPES["why_not"]
_QUOTED, _PLACES = 40, 3
NOTHING_SAID = "You have said nothing about that."
FORGOTTEN = "I forget what you said about that."
NOTHING_LEFT = "You ruled out all that is left ({}). Take that back, or tell me what to do."


@dataclass(frozen=True, slots=True)
class Advice:
    """All that a person has told an agent: the ``directions`` that it follows now, places that it does not search, and acts
    that it leaves out. ``last`` is their last hint, and ``spoken`` the thing or place last mentioned."""

    directions: Directions | None = None
    avoided: frozenset[str] = frozenset()
    bans: tuple[Ban, ...] = ()
    last: Understood | None = field(default=None, compare=False)
    spoken: str | None = field(default=None, compare=False)

    @property
    def words(self) -> str:
        """All that still counts, in words; empty if nothing does."""
        told = list[str]()
        if self.directions is not None and self.directions.places:
            told.append(f"to look in {', '.join(self.directions.places)}")
        if self.directions is not None and self.directions.acts:
            told.append(f"to {', then '.join(self.directions.acts)}")
        return "; ".join((*told, *([self.ruled_out] if self.ruled_out else ())))

    @property
    def ruled_out(self) -> str:
        """All that a person ruled out, in words; empty if nothing."""
        acts = [f"not to {' or '.join(dict.fromkeys(ban.said for ban in self.bans))}"] if self.bans else []
        return "; ".join((*([f"not to search {', '.join(ranges(self.avoided))}"] if self.avoided else ()), *acts))

    def is_about(self, named: str) -> bool:
        """True if the person ruled out something of this kind or name."""
        return any(naming.matches(one, named) for one in self.avoided) or any(ban.is_about((named,)) for ban in self.bans)

    def rules_out(self, reading: Understood, scene: Surroundings) -> bool:
        """True if the person ruled out what they speak of now."""
        acts = (*reading.acts, *(f"open {place}" for place in reading.look))
        banned = any(ban.forbids(act, scene.commands) for ban in self.bans for act in acts)
        return banned or not self.avoided.isdisjoint(reading.look)

    def without(self, names: Collection[str]) -> Advice:
        """The advice without what was said about these things and places."""
        left, avoided = self.directions, self.avoided.difference(names)
        if left is not None:
            places = tuple(place for place in left.places if place not in names)
            acts = tuple(act for act in left.acts if not set(grounding.names_of(act)).intersection(names))
            left = replace(left, places=places, acts=acts) if places or acts else None
        return replace(self, directions=left, avoided=avoided, bans=tuple(one for one in self.bans if not one.is_about(names)))

    @property
    def retracted(self) -> Advice:
        """The advice without the last hint."""
        last = self.last or Understood("")
        directions = None if self.directions is not None and self.directions.hint == last.said else self.directions
        bans = tuple(one for one in self.bans if one not in last.bans)
        return Advice(directions, self.avoided - last.avoid, bans, spoken=self.spoken)

    def after(self, reading: Understood, scene: Surroundings) -> Advice:
        """The advice with a hint: it adds to earlier ones, and contradicts them where it names the same places and acts."""
        directions = directed(reading, scene)
        if directions is not None and self.directions is not None and _ADDS.match(reading.said.lower()):
            directions = self.directions.then(directions)
        places = directions.places if directions is not None else ()
        opened = (*reading.acts, *(f"open {place}" for place in places))
        bans = tuple(one for one in self.bans if not any(one.forbids(act, scene.commands) for act in opened))
        return replace(
            self,
            directions=directions or self.without(reading.avoid).directions,
            avoided=(self.avoided | reading.avoid).difference(places, grounding.names_of(" ".join(reading.acts))),
            bans=tuple(dict.fromkeys((*bans, *reading.bans))),
            last=reading if directions is not None or reading.avoid or reading.bans else self.last,
        )

    def barred(self, scene: Surroundings, declined: Iterable[str] = ()) -> Barred:
        """The commands that a person ruled out, and those ``declined``. With a thing in hand, one may go where it belongs."""
        belief, commands = scene.belief, scene.commands
        goals = scene.household.read_goals(scene.goal, sorted(belief.kinds)) if belief.held is not None else ()
        needed = {place for goal in goals for place in (goal.receptacle, goal.treatment and APPLIANCES[goal.treatment])}
        places = [place for place in self.avoided if kind(place) not in needed]
        listed = {pattern.format(place=place) for place in places for pattern in (commands.go, "open {place}")}
        # To walk to what may not be opened finds nothing.
        shut = [one.name for one in belief.receptacles if one.openness == "closed" and belief.held is None]
        shut = [name for name in shut if any(ban.forbids(f"open {name}", commands) for ban in self.bans)]
        listed |= {pattern.format(place=place) for place in shut for pattern in (commands.go, "examine {place}")}
        return Barred(frozenset({*listed, *declined}), self.bans, commands)


class Heard(NamedTuple):
    """The outcome of hints: all that was ``told`` so far, the ``answers`` to give, and the hints ``left`` to a model."""

    told: Advice
    answers: tuple[str, ...]
    left: tuple[str, ...]


def hear(
    hints: Iterable[str], told: Advice, scene: Surroundings, mind: Mind, answered: int = 0, proposed: Iterable[str] = ()
) -> Heard:
    """Read hints one after the other; later ones add to earlier ones, and contradict them where they name the same places.

    Args:
        hints: The person's words.
        told: The earlier advice.
        scene: The context in which the words are read.
        mind: The agent's mind, for its answers.
        answered: How many of the hints it has already answered.
        proposed: The command that it had proposed at each of the hints; empty for none.

    Returns:
        All advice so far, the answers, and what was not understood.
    """
    hints, left = tuple(hints), list[str]()
    every = [list[str]() for _ in hints]
    for hint, answers, about in zip(hints, every, islice(chain(proposed, repeat("")), len(hints)), strict=True):
        reading = sentences.read(hint, replace(scene, proposed=about), spoken_of=told.spoken)
        # Words that a person sent and then declined are not why it does the next thing.
        follows = told.directions is not None and told.directions.next(scene.belief, scene.goal, mind.barred) is not None
        now = replace(mind, told=told.directions.hint if told.directions and follows else "", advice=told.words)
        told = replace(told, spoken=_spoken_of(reading, scene) or told.spoken)
        if reading.question is not None:
            asked = reading.question
            skipped = asked.kind == "why" and asked.about is not None and told.is_about(asked.about)
            answers.append(f"Because you told me {told.ruled_out}." if skipped else answer(asked, scene, now))
        elif (replied := _control(reading)) is not None:
            answers.append(replied)
            if reading.control == "forget":
                told = Advice()
            elif reading.control != "go on":
                told = replace(told, directions=None)
        elif reading.unsaid or reading.retracts:
            left_over = told.retracted if reading.retracts else told.without(reading.unsaid)
            answers.append(NOTHING_SAID if left_over == told else "I forget that." if reading.retracts else FORGOTTEN)
            told = left_over
        elif reading.empty:
            answers.append(f"{cannot_follow(hint, scene)}{PASSED_ON}")
            left.append(hint)
        elif _WHY_NOT.match(hint.lower()) and told.rules_out(reading, scene):
            answers.append(f"Because you told me {told.ruled_out}.")
        else:
            told = told.after(reading, scene)
            goals = scene.household.read_goals(scene.goal, sorted(scene.belief.kinds))
            answers.extend(filter(None, (reading.refused, unmet(reading.bans, goals))))
    return Heard(told, tuple(chain.from_iterable(every[answered:])), tuple(left))


def _spoken_of(reading: Understood, scene: Surroundings) -> str | None:
    """The thing that "it" means after these words, if it was seen."""
    named = [name for name in grounding.names_of(" ".join(reading.acts)) if name not in scene.belief.places]
    about = reading.question.about if reading.question is not None else None
    named += grounding.Grounder(scene.belief, scene.household).alike(about) if about is not None else []
    return next(iter(named), None)


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
    """Say in a line that nothing was found to do in ``hint``, and some places that there are."""
    kinds = sorted(scene.belief.kinds)
    places = f" There are: {', '.join(kinds[:_PLACES])}{' and others' if len(kinds) > _PLACES else ''}." if kinds else ""
    return f'I find nothing to do in "{cut_at_word(hint, _QUOTED)}".{places}'
