"""Reads ALFWorld's texts into a belief: the only code that reads observation text.

Only the agent changes a house, so what was seen stays true until a command undoes it. Two oddities: an object may be in two
receptacles at once, so taking it from one says nothing about the other; and examining a movable receptacle shows its contents
but not whether it is hot or clean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief, Heat, Openness, Receptacle
from housequest.worlds.household.reading import MAX_TEXT, Reading

REFUSAL = "Nothing happens."
MAX_NAMES = 1_000
MAX_PAIRS = 100_000
_MAX_COMMAND = 1_000


def refused(observation: Observation) -> bool:
    """Whether the world did not take the command."""
    return not observation.accepted or observation.text.strip() == REFUSAL


def begin(opening: Observation) -> Belief:
    """The belief after the opening text: its receptacles, and an agent in the middle of the room with empty hands.

    The goal sentence is not read: it is not an observation.
    """
    text = opening.text[:MAX_TEXT].partition("Your task is to:")[0]
    # Matched where each phrase first occurs: a regex search would try every place and take quadratic time.
    found = _ROOM.match(text, max(0, text.find("Looking quickly")))
    names = _names(found["list"]) if found else ()
    reading = _Reading(Belief(receptacles=tuple(Receptacle(name, place=name) for name in names)))
    if faced := _FACING.match(text, max(0, text.find("You are facing"))):
        reading.facing(faced)
    return reading.belief()


def update(belief: Belief, command: str, observation: Observation) -> Belief:
    """The belief after ``command`` was answered with ``observation``; any text at all gives a belief.

    The text, not the command, says what was done to what. Only a refused ``go to`` is read from the command: among existing
    receptacles, the game refuses only those at the agent's location.
    """
    if refused(observation):
        verb, _, name = command.strip().partition("go to ")
        if verb or belief.at is None or belief.receptacle(name) is None:
            return belief
        reading = _Reading(belief)
        reading.here(name)
        return reading.belief()
    text = observation.text[:MAX_TEXT].strip()
    for pattern, read in _READERS:
        if found := pattern.match(text):
            reading = _Reading(belief)
            read(reading, found)
            return reading.belief()
    return belief


_NAME = r"[A-Za-z][\w-]{0,59} [0-9]{1,6}"
_LIST = r"(?P<list>[^.\n]*)"
_ANY_NAME = re.compile(_NAME, re.ASCII)
_ROOM = re.compile(rf"Looking quickly around you, you see {_LIST}\.")
_FACING = re.compile(rf"You are facing the (?P<faced>[^.\n]*)\. Next to it, you see {_LIST}\.")
_VIEW = re.compile(
    rf"On the (?P<surface>{_NAME}), you see (?P<on>[^.\n]*)\.|"
    rf"The (?P<open>{_NAME}) is open\. In it, you see (?P<inside>[^.\n]*)\.|"
    rf"The (?P<closed>{_NAME}) is closed\.",
    re.ASCII,
)


def _names(text: str) -> tuple[str, ...]:
    """The names in a list such as "a mug 2, a mug 1, and a pen 3", each once, at most ``MAX_NAMES``."""
    return tuple(dict.fromkeys(_ANY_NAME.findall(text)))[:MAX_NAMES]


class _Reading(Reading):
    """A belief in the making, with a method for each form of text."""

    def __init__(self, belief: Belief) -> None:
        super().__init__(belief)
        self._held, self._beside, self._apart = belief.held, belief.beside, belief.apart

    def belief(self) -> Belief:
        return self.whole(held=self._held, beside=self._beside, apart=self._apart)

    def facing(self, found: re.Match[str]) -> None:
        self.here(*_names(found["faced"]))
        self._beside = _names(found["list"])
        self._see(self._beside)
        # A look lists everything at the location.
        here = self._around()
        self._part(here, [name for name in self.places if name not in here])

    def arrive(self, found: re.Match[str]) -> None:
        name, left = found["receptacle"], self._around()
        if name in left:
            left = []
        elif left:
            self._beside = ()
        self.at = None
        self.here(name)
        # The game refuses a `go to` within a location.
        self._part(left, self._around())
        self.view(found["rest"])

    def middle(self, _: re.Match[str]) -> None:
        self.at, self._beside = None, ()

    def opened(self, found: re.Match[str]) -> None:
        self.stand(found["receptacle"], "open" if found["how"] == "open" else "closed")
        self.view(found["rest"])

    def seen(self, found: re.Match[str]) -> None:
        self.view(found[0])

    def view(self, text: str) -> None:
        """Read the contents of a receptacle, as in "On the desk 1, you see a pen 1."."""
        found = _VIEW.match(text)
        if found is None:
            return
        if name := found["closed"]:
            self.stand(name, "closed")
            return
        name = found["surface"] or found["open"]
        contents = _names(found["on"] if found["surface"] else found["inside"])
        self.stand(name, "surface" if found["surface"] else "open")
        self._see(contents, where=name)
        self.change(name, contents=contents)

    def took(self, found: re.Match[str]) -> None:
        name, source = found["item"], found["receptacle"]
        self.here(source)
        if (contents := self.places[source].contents) is not None:
            self.change(source, contents=tuple(one for one in contents if one != name))
        self._beside = tuple(one for one in self._beside if one != name)
        self._hold(name)

    def moved(self, found: re.Match[str]) -> None:
        name, target = found["item"], found["receptacle"]
        self.here(target)
        self.learn(name, where=target)
        contents = self.places[target].contents
        if contents is not None and name not in contents:
            self.change(target, contents=(*contents, name))
        self._held = None

    def carrying(self, found: re.Match[str]) -> None:
        self._held = None
        for name in _names(found["list"])[:1]:
            self._hold(name)

    def treated(self, found: re.Match[str]) -> None:
        known = {"clean": {"clean": True}, "heat": {"heat": "hot"}, "cool": {"heat": "cool"}}[found["verb"]]
        self.here(found["receptacle"])
        self.learn(found["item"], **known)

    def sliced(self, found: re.Match[str]) -> None:
        self.learn(found["item"], sliced=True)

    def switched(self, found: re.Match[str]) -> None:
        self.learn(found["item"], lit=found["state"] == "on")

    def examined(self, found: re.Match[str]) -> None:
        """Read a description; an adjective that it leaves out does not apply."""
        words = set(found["words"].split())
        heat: Heat = "hot" if "hot" in words else "cool" if words & {"cool", "cold"} else "neither"
        self.learn(found["item"], clean="clean" in words, heat=heat, sliced="sliced" in words)

    def nothing_special(self, found: re.Match[str]) -> None:
        # `sliced` stays unknown: the game says it only of what can be sliced.
        self.learn(found["item"], clean=False, heat="neither")

    def holding(self, found: re.Match[str]) -> None:
        inside = _names(found["list"])
        self.learn(found["item"], inside=inside)
        self._see(inside)

    def here(self, *names: str) -> None:
        """Take in that the receptacles of these names are at the agent's location, with all others there."""
        if self.at not in self.places:
            self.at = next(iter(names), None)
        for name in names:
            self.places.setdefault(name, Receptacle(name, place=name))
        together = {one.place for one in self.places.values() if one.name == self.at or one.name in names}
        for one in [one for one in self.places.values() if one.place in together]:
            self.change(one.name, place=min(together), visited=True)

    def stand(self, name: str, openness: Openness) -> None:
        """Take in how a receptacle is at which the agent stands."""
        self.here(name)
        self.change(name, openness=openness)

    def _around(self) -> list[str]:
        """The receptacles known to be at the agent's location."""
        standing = self.places.get(self.at or "")
        return [] if standing is None else [name for name, one in self.places.items() if one.place == standing.place]

    def _hold(self, name: str) -> None:
        self._held = name
        self.learn(name, where=None)

    def _see(self, names: Iterable[str], **where: str) -> None:
        for name in names:
            self.learn(name, **where)

    def _part(self, some: Collection[str], others: Collection[str]) -> None:
        """Take in that none of ``some`` shares a location with any of ``others``; real houses stay below ``MAX_PAIRS``."""
        if len(some) * len(others) + len(self._apart) <= MAX_PAIRS:
            pairs = {pair for one in some for other in others for pair in ((one, other), (other, one))}
            self._apart = self._apart if pairs <= self._apart else self._apart | pairs


_FORMS: tuple[tuple[str, Callable[[_Reading, re.Match[str]], None]], ...] = (
    (rf"You arrive at (?P<receptacle>{_NAME})\. ?(?P<rest>.*)", _Reading.arrive),
    (rf"You (?P<how>open|close) the (?P<receptacle>{_NAME})\. ?(?P<rest>.*)", _Reading.opened),
    (rf"You pick up the (?P<item>{_NAME}) from the (?P<receptacle>{_NAME})\.", _Reading.took),
    (rf"You move the (?P<item>{_NAME}) to the (?P<receptacle>{_NAME})\.", _Reading.moved),
    (r"You are in the middle of a room\.", _Reading.middle),
    (_FACING.pattern, _Reading.facing),
    (rf"You are carrying: {_LIST}\.", _Reading.carrying),
    (r"You are not carrying (?P<list>anything)\.", _Reading.carrying),
    (rf"You (?P<verb>heat|cool|clean) the (?P<item>{_NAME}) using the (?P<receptacle>{_NAME})\.", _Reading.treated),
    (rf"You sliced the (?P<item>{_NAME}) with the {_NAME}\.", _Reading.sliced),
    (rf"You turn (?P<state>on|off) the (?P<item>{_NAME})\.", _Reading.switched),
    (rf"This (?P<item>{_NAME}) is (?P<state>on|off)\.", _Reading.switched),
    (rf"This is a normal (?P<item>{_NAME})\. In it, you see {_LIST}\.", _Reading.holding),
    (rf"This is a (?P<words>(?:(?:hot|cool|cold|clean|sliced|and) ){{1,5}})(?P<item>{_NAME})\.", _Reading.examined),
    (rf"There's nothing special about (?P<item>{_NAME})\.", _Reading.nothing_special),
    (_VIEW.pattern, _Reading.seen),
)
_READERS = [(re.compile(pattern, re.ASCII), read) for pattern, read in _FORMS]
_OLDER = re.compile(r"put (?P<object>[^ ]+ [0-9]+) (?:in/on|into|onto|in|on|to) (?P<receptacle>[^ ]+ [0-9]+)")


def canonical(command: str) -> str:
    """``put X in Y`` (also ``on``, ``in/on``), the form of older games, as ``move X to Y``; other commands unchanged."""
    found = _OLDER.fullmatch(command.strip()) if len(command) <= _MAX_COMMAND else None
    return f"move {found['object']} to {found['receptacle']}" if found else command
