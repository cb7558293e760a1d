"""Reads the line of a person who plays as commands, an answer that costs no turn, or a question back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from housequest.agent.skills import naming
from housequest.agent.skills.language import grounding, sentences, wording
from housequest.agent.skills.language.answers import Mind, answer
from housequest.agent.skills.language.directions import Directions
from housequest.agent.skills.language.sentences import Control, Surroundings
from housequest.worlds.household.belief import Belief, Item

MOST_FORESEEN = 60
CONTROLLED: dict[Control, str] = {
    "stop": "Nothing more is sent.",
    "wait": "Nothing is sent until you say so.",
    "no": "Nothing is sent. What instead?",
    "forget": "Nothing is sent.",
    "go on": "It is your turn: say what to do.",
    "undo": "No command takes that back.",
}
"""The answers to words that steer a game, if a person plays alone."""


@dataclass(frozen=True, slots=True)
class PlayersLine:
    """The meaning of the line that a person has typed.

    ``commands`` are those that can be foreseen, and ``orders`` bring the next ones. ``says`` answers, asks back or says why no
    more is done; it costs no turn. The person picks one of ``choices`` by its number. ``asked`` is True if there is nothing to
    say in other words.
    """

    said: str
    commands: tuple[str, ...] = ()
    orders: Directions | None = None
    says: str = ""
    choices: tuple[str, ...] = ()
    control: Control | None = None
    asked: bool = False

    @property
    def shown(self) -> str:
        """The meaning in one line: the commands after an arrow, and the answer."""
        numbered = (f"{number} {one}" for number, one in enumerate(self.choices, start=1))
        says = f"{self.says} {' · '.join(numbered)}" if self.choices else self.says
        return "  ".join(part for part in (f"→ {' · '.join(self.commands)}" if self.commands else "", says) if part)


def read_line(said: str, scene: Surroundings, mind: Mind, *, thing: str | None = None, alone: bool = True) -> PlayersLine:
    """Read a person's line. A command of the world is sent as it is, unless it names a place that is not there.

    Args:
        said: Any text at all.
        scene: The context in which it is read.
        mind: The turns left and, if an agent plays too, its plan.
        thing: The thing or place that the person picked, after they were asked which one they mean.
        alone: True if the person plays without an agent, so that answers speak of "you".

    Returns:
        The commands to send, or the answer.
    """
    if scene.commands.reads(present := scene.household.canonical(said)):
        missing = grounding.no_place_of(present, scene.belief)
        return PlayersLine(said, says=missing) if missing else PlayersLine(said, (present,))
    reading = sentences.read(said, scene, player=True, spoken_of=thing)
    if reading.control == "undo" and grounding.verb_of(scene.last, scene.commands) in _TAKEN_BACK:
        reading = replace(reading, control=None, acts=tuple(sentences.undone(scene)))
    own = _to_person if alone else str
    if reading.question is not None and alone and reading.question.kind in ("why", "plan"):
        return PlayersLine(
            said, says=f"No agent plays here: what is done is up to you. The task: {scene.goal.rstrip('.')}.", asked=True
        )
    if reading.question is not None:
        return PlayersLine(said, says=own(answer(reading.question, scene, mind)), asked=True)
    if reading.control is not None:
        return PlayersLine(said, says=CONTROLLED[reading.control], control=reading.control, asked=True)
    if reading.chat:
        return PlayersLine(said, says="All right.", asked=True)
    orders = Directions(said, scene.commands, acts=reading.acts, wanted=reading.wanted)
    if not reading.acts:
        unseen = {one.name for one in scene.belief.unsearched}
        text = grounding.in_names_of_the_house(wording.plain(said), scene.belief)
        named = list(dict.fromkeys(naming.named_places([*unseen], text)))
        if len(named) != 1 or reading.wanted is None:
            kept = "You decide where to look." if reading.avoid else "Nothing is sent." if reading.bans else UNREAD
            says = reading.refused or kept
            return PlayersLine(said, says=own(says), choices=reading.choices)
        # A thing that was not seen yet may be where the person says.
        orders = replace(orders, places=(named[0],))
    foreseen, hindered = _foreseen(orders, scene.belief)
    if not foreseen or (step := orders.next(scene.belief, "")) is None:
        return PlayersLine(said, says=own(hindered or _done(reading.acts[-1:], scene)))
    hoped = f"then the {reading.wanted.kind}, if it is there" if reading.wanted is not None else reading.refused or ""
    return PlayersLine(said, foreseen, step[1], own(hindered or hoped))


_TAKEN_BACK = ("take", "put", "open", "close")
UNREAD = "That is not understood. Nothing is sent."


def _done(acts: Sequence[str], scene: Surroundings) -> str:
    act = next(iter(acts), "")
    names = grounding.names_of(act)
    if names and act == scene.commands.go.format(place=names[-1]):
        return f"I am at {names[-1]} already."
    return f"That is done already: {act}."


def _foreseen(orders: Directions, belief: Belief) -> tuple[tuple[str, ...], str]:
    """The commands that carry out ``orders`` if nothing unforeseen happens, and the reason if some cannot be carried out."""
    found = list[str]()
    left = orders
    while len(found) < MOST_FORESEEN and (step := left.next(belief, "")) is not None:
        command, left = step
        verb = grounding.verb_of(command, orders.commands)
        if verb == "take" and len(belief.carried) >= belief.hands:
            return tuple(found), f"My hands are full: I hold {' and '.join(belief.carried)}."
        found.append(command)
        belief = _after(command, verb, belief)
    return tuple(found), ""


def _after(command: str, verb: str | None, belief: Belief) -> Belief:
    """The belief after a command that succeeds."""
    names = grounding.names_of(command)
    if not names:
        return belief
    name, there = names[0], names[-1]
    match verb:
        case "go":
            return replace(belief, at=there if there in belief.places else belief.at)
        case "open" | "close":
            become = "open" if verb == "open" else "closed"
            rows = (replace(one, openness=become) if one.name == name else one for one in belief.receptacles)
            return replace(belief, receptacles=tuple(rows))
        case "take":
            return replace(belief, carried=(name, *belief.carried), items=_moved(belief, name, None))
        case "put":
            return replace(
                belief, carried=tuple(one for one in belief.carried if one != name), items=_moved(belief, name, there)
            )
        case _:
            return belief


def _moved(belief: Belief, name: str, where: str | None) -> tuple[Item, ...]:
    return tuple(replace(one, where=where) if one.name == name else one for one in belief.items)


def _to_person(text: str) -> str:
    """An answer in the first person, turned to the player."""
    text = re.sub(r"\bI am\b", "I are", text)
    text = re.sub(r"(^|[.?!] )I\b", r"\1You", text)
    return re.sub(r"\bI\b", "you", re.sub(r"\bmy\b", "your", re.sub(r"\bMy\b", "Your", text)))
