"""Reads the texts of the world into a belief. Rooms are receptacles there, and hold their furniture and what lies in none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief, Openness, Receptacle
from housequest.worlds.household.reading import MAX_TEXT, Reading

MAX_NAMES = 3_000
HANDS = 2
_NAME = r"[A-Za-z0-9_-]{1,60} [0-9]{1,6}"
_ENTRY = re.compile(rf"\b(?:a|an) (?P<name>{_NAME})(?: \((?P<states>[a-z, ]{{1,30}})\))?", re.ASCII)
_FORMS = {
    word: re.compile(pattern, re.ASCII)
    for word, pattern in {
        "apartment": r"You are in an apartment with (?P<list>.*)",
        "room": rf"You are in the (?P<one>{_NAME})",
        "furniture": r"Its furniture: (?P<list>.*)",
        "loose": r"Also in it: (?P<list>.*)",
        "contents": rf"(?P<how>On|In) the (?P<one>{_NAME}), you see (?P<list>.*)",
        "walked": rf"You walk to the (?P<one>{_NAME})",
        "opened": rf"You (?P<how>open|close) the (?P<one>{_NAME})",
        "switched": rf"You switch (?P<how>on|off) the (?P<one>{_NAME})",
        "grabbed": rf"You grab the (?P<one>{_NAME})(?: from the (?P<where>{_NAME}))?",
        "put": rf"You put the (?P<one>{_NAME}) (?P<how>in|on) the (?P<where>{_NAME})",
        "state": rf"The (?P<one>{_NAME}) is (?P<list>(?:open|closed|on|off)(?: and (?:on|off))?)",
        "hold": r"You hold (?P<list>.*)",
    }.items()
}


def refused(observation: Observation) -> bool:
    """Whether the world did not take the command; its answers are in words, so the observation says it."""
    return not observation.accepted


def begin(opening: Observation) -> Belief:
    """The belief after the opening text; the goal sentence is not read."""
    return _read(Belief(hands=HANDS, in_one_place=True), opening.text.partition("Your task is to:")[0])


def update(belief: Belief, command: str, observation: Observation) -> Belief:
    """The belief after ``command`` was answered; any text at all gives a belief."""
    del command
    return belief if refused(observation) else _read(belief, observation.text)


def _read(belief: Belief, text: str) -> Belief:
    reading = _Reading(belief)
    for sentence in (one.strip().rstrip(".") for one in text[:MAX_TEXT].replace("\n", " ").split(". ")):
        for word, form in _FORMS.items():
            if (found := form.fullmatch(sentence)) is not None:
                reading.take(word, found)
                break
    return reading.belief()


class _Reading(Reading):
    """A belief in the making, which takes in sentence after sentence."""

    def __init__(self, belief: Belief) -> None:
        super().__init__(belief)
        self._carried = list(belief.carried)
        self._rooms = list(belief.rooms)
        self._told = set[str]()
        self._room: str | None = None
        self._shown: list[str] | None = None
        self._walked = False

    def belief(self) -> Belief:
        """The belief as read so far."""
        at = self.at
        if at is not None and at not in self.places:
            item = self.items.get(at)
            at = item.where if item and item.where in self.places else self._room or self.before.at
        for name in filter(None, (at, self._room)):
            self.change(name, visited=True)
        self.at = at if at is not None else self._room
        return self.whole(
            apart=self._apart(self.at) if self._walked and self.at is not None else self.before.apart,
            held=self._carried[0] if self._carried else None,
            also=tuple(self._carried[1:]),
            beside=self.before.beside if self._shown is None else tuple(self._shown),
            rooms=tuple(self._rooms),
        )

    def _apart(self, at: str) -> frozenset[tuple[str, str]]:
        """The receptacles that are elsewhere: all but what ``at`` is in or on, and furniture that is in or on that."""
        there = self.places.get(at)
        inside = there.contents or () if there and at not in self._rooms else ()
        near = {at, *inside, *(one.name for one in self.places.values() if at in (one.contents or ()))}
        return frozenset((name, at) for name in self.places if name not in near)

    def take(self, word: str, found: re.Match[str]) -> None:
        """Take in a sentence."""
        said = found.groupdict()
        one = said.get("one") or ""
        entries = _entries(said["list"]) if "list" in said and word not in ("state",) else ()
        match word:
            case "apartment":
                for name, _ in entries:
                    self._enter(name)
            case "room":
                self._room, self._shown = one, []
                self._enter(one)
                self.places[one] = replace(self.places[one], contents=())
            case "furniture":
                for name, states in entries:
                    self._stands(name, states)
            case "loose":
                for name, states in entries:
                    self._lies(name, self._room, states)
            case "contents":
                self._contents(one, entries)
            case "walked":
                self.at, self._walked = one, True
            case "opened":
                if said["how"] == "open":  # what is on and in it is told next, if anything is
                    self.change(one, openness="open", contents=())
                    self._told.add(one)
                else:
                    self.change(one, openness="closed")
            case "switched":
                self.learn(one, lit=said["how"] == "on")
            case "grabbed":
                self._grasp(one)
                self._carried.insert(0, one)
                del self._carried[HANDS:]
            case "put":
                self._carried = [name for name in self._carried if name != one]
                self._lies(one, said["where"], ())
            case "state":
                self._state(one, said["list"].split(" and "))
            case _:
                self._carried = [name for name, _ in entries][:HANDS]
                for name in self._carried:
                    self._grasp(name)

    def _grasp(self, name: str) -> None:
        self._leave(name)
        self.learn(name, where=None)

    def _enter(self, room: str) -> None:
        self.places.setdefault(room, Receptacle(room, place=room))
        if room not in self._rooms:
            self._rooms.append(room)

    def _stands(self, name: str, states: Sequence[str]) -> None:
        """Furniture of the room: all that lies on it or in it is told after it, unless it is closed."""
        openness: Openness = "closed" if "closed" in states else "open" if "open" in states else "surface"
        known = self.places.get(name) or Receptacle(name, place=name)
        contents = known.contents if openness == "closed" else ()
        self.places[name] = replace(known, openness=openness, contents=contents)
        self._told.add(name)
        for room in self._rooms:  # who carries a rug carries what stands on it
            if room != self._room and name in (there := self.places[room].contents or ()):
                self.change(room, contents=tuple(other for other in there if other != name))
        self._add(self._room, name)
        if not {"on", "off"}.isdisjoint(states):
            self.learn(name, lit="on" in states, where=self._room)

    def _state(self, name: str, states: Sequence[str]) -> None:
        if name in self.places and not {"open", "closed"}.isdisjoint(states):
            self.change(name, openness="open" if "open" in states else "closed")
        if not {"on", "off"}.isdisjoint(states):
            self.learn(name, lit="on" in states)

    def _contents(self, name: str, entries: Sequence[tuple[str, Sequence[str]]]) -> None:
        if name in self.places and not self._unknown(name):
            # What lies on a thing and what lies in it are told apart, one after the other.
            self.change(name, contents=() if name not in self._told else self.places[name].contents)
            self._told.add(name)
        elif name not in self.places and name in self.items:
            self.learn(name, inside=() if name not in self._told else self.items[name].inside)
            self._told.add(name)
        for one, states in entries:
            self._lies(one, name, states)

    def _lies(self, name: str, where: str | None, states: Sequence[str]) -> None:
        self._leave(name)
        self._add(where, name)
        if self._shown is not None:
            self._shown.append(name)
        self.learn(name, where=where if where in self.places else self._place_of(where))
        if not {"on", "off"}.isdisjoint(states):
            self.learn(name, lit="on" in states)

    def _place_of(self, name: str | None) -> str | None:
        item = self.items.get(name or "")
        return item.where if item else None

    def _leave(self, name: str) -> None:
        """A thing is no longer where it was; furniture that stands on something stays in its room."""
        for place, one in self.places.items():
            if one.contents and name in one.contents and not (name in self.places and place in self._rooms):
                self.places[place] = replace(one, contents=tuple(other for other in one.contents if other != name))
        for holder, item in self.items.items():
            if item.inside and name in item.inside:
                self.items[holder] = replace(item, inside=tuple(other for other in item.inside if other != name))

    def _add(self, where: str | None, name: str) -> None:
        place, item = self.places.get(where or ""), self.items.get(where or "")
        if place is None and item is not None and len(item.inside or ()) < MAX_NAMES:
            self.items[item.name] = replace(item, inside=(*(item.inside or ()), name))
        if place is None or self._unknown(place.name):
            return
        if name not in (place.contents or ()) and len(place.contents or ()) < MAX_NAMES:
            self.change(place.name, contents=(*(place.contents or ()), name))

    def _unknown(self, name: str) -> bool:
        """Whether nobody has looked into what is closed; what lies on top of it says nothing of that."""
        place = self.places[name]
        return place.openness == "closed" and place.contents is None


def _entries(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The names in a list such as "a plate 1 and a tv 2 (off)", each with how it is said to stand."""
    found = list(_ENTRY.finditer(text))[:MAX_NAMES]
    return tuple((one["name"], tuple((one["states"] or "").split(", "))) for one in found)
