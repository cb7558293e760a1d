"""Reads ALFWorld's texts into a belief: the only code that reads observation text.

Only the agent changes a house, so what was seen stays true until a command undoes it. Two oddities: an object may be in two
receptacles at once, so taking it from one says nothing about the other; and examining a movable receptacle shows its contents
but not whether it is hot or clean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief, Heat, Item, Receptacle

T = TypeVar("T", Item, Receptacle)

REFUSAL = "Nothing happens."
MAX_TEXT = 50_000
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
    belief = Belief(receptacles=tuple(Receptacle(name, place=name) for name in names))
    faced = _FACING.match(text, max(0, text.find("You are facing")))
    return _facing(belief, faced) if faced else belief


def update(belief: Belief, command: str, observation: Observation) -> Belief:
    """The belief after ``command`` was answered with ``observation``; any text at all gives a belief.

    The text, not the command, says what was done to what. Only a refused ``go to`` is read from the command: among existing
    receptacles, the game refuses only those at the agent's location.
    """
    if refused(observation):
        verb, _, name = command.strip().partition("go to ")
        here = not verb and belief.at is not None and belief.receptacle(name) is not None
        return _here(belief, name) if here else belief
    text = observation.text[:MAX_TEXT].strip()
    for pattern, read in _READERS:
        if found := pattern.match(text):
            return read(belief, found)
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

Reader = Callable[[Belief, "re.Match[str]"], Belief]


def _names(text: str) -> tuple[str, ...]:
    """The names in a list such as "a mug 2, a mug 1, and a pen 3", each once, at most ``MAX_NAMES``."""
    names: dict[str, None] = {}
    for found in _ANY_NAME.finditer(text):
        names[found[0]] = None
        if len(names) == MAX_NAMES:
            break
    return tuple(names)


def _facing(belief: Belief, found: re.Match[str]) -> Belief:
    beside = _names(found["list"])
    belief = replace(_see(_here(belief, *_names(found["faced"])), beside), beside=beside)
    # A look lists everything at the location.
    here = {one.name for one in belief.here()}
    return _apart(belief, here, [one.name for one in belief.receptacles if one.name not in here])


def _arrive(belief: Belief, found: re.Match[str]) -> Belief:
    name = found["receptacle"]
    left = () if belief.is_here(name) else tuple(one.name for one in belief.here())
    belief = _here(replace(belief, at=None, beside=() if left else belief.beside), name)
    # The game refuses a `go to` within a location.
    belief = _apart(belief, left, [one.name for one in belief.here()])
    return _view(belief, found["rest"])


def _view(belief: Belief, text: str) -> Belief:
    """Read the contents of a receptacle, as in "On the desk 1, you see a pen 1."."""
    found = _VIEW.match(text)
    if found is None:
        return belief
    if name := found["closed"]:
        return _stand(belief, name, openness="closed")
    name = found["surface"] or found["open"]
    contents = _names(found["on"] if found["surface"] else found["inside"])
    belief = _see(_here(belief, name), contents, where=name)
    return _change(belief, name, openness="surface" if found["surface"] else "open", contents=contents)


def _took(belief: Belief, found: re.Match[str]) -> Belief:
    name, source = found["item"], found["receptacle"]
    belief = _see(_here(belief, source), [name])
    holder = belief.receptacle(source)
    left = tuple(one for one in holder.contents if one != name) if holder and holder.contents is not None else None
    belief = _change(belief, source, contents=left)
    beside = tuple(one for one in belief.beside if one != name)
    return replace(_change_item(belief, name, where=None), held=name, beside=beside)


def _moved(belief: Belief, found: re.Match[str]) -> Belief:
    name, target = found["item"], found["receptacle"]
    belief = _see(_here(belief, target), [name], where=target)
    holder = belief.receptacle(target)
    if holder and holder.contents is not None and name not in holder.contents:
        belief = _change(belief, target, contents=(*holder.contents, name))
    return replace(belief, held=None)


def _carrying(belief: Belief, found: re.Match[str]) -> Belief:
    names = _names(found["list"])
    held = names[0] if names else None
    belief = _see(belief, names[:1])
    return replace(_change_item(belief, held, where=None) if held else belief, held=held)


def _treated(belief: Belief, found: re.Match[str]) -> Belief:
    known = {"clean": {"clean": True}, "heat": {"heat": "hot"}, "cool": {"heat": "cool"}}[found["verb"]]
    return _learn(_here(belief, found["receptacle"]), found["item"], **known)


def _switched(belief: Belief, found: re.Match[str]) -> Belief:
    return _learn(belief, found["item"], lit=found["state"] == "on")


def _examined(belief: Belief, found: re.Match[str]) -> Belief:
    """Read a description; an adjective that it leaves out does not apply."""
    words = set(found["words"].split())
    heat: Heat = "hot" if "hot" in words else "cool" if words & {"cool", "cold"} else "neither"
    return _learn(belief, found["item"], clean="clean" in words, heat=heat, sliced="sliced" in words)


def _holding(belief: Belief, found: re.Match[str]) -> Belief:
    inside = _names(found["list"])
    return _see(_learn(belief, found["item"], inside=inside), inside)


_FORMS: tuple[tuple[str, Reader], ...] = (
    (rf"You arrive at (?P<receptacle>{_NAME})\. ?(?P<rest>.*)", _arrive),
    (
        rf"You open the (?P<receptacle>{_NAME})\. ?(?P<rest>.*)",
        lambda belief, found: _view(_stand(belief, found["receptacle"], openness="open"), found["rest"]),
    ),
    (rf"You close the (?P<receptacle>{_NAME})\.", lambda belief, found: _stand(belief, found["receptacle"], openness="closed")),
    (rf"You pick up the (?P<item>{_NAME}) from the (?P<receptacle>{_NAME})\.", _took),
    (rf"You move the (?P<item>{_NAME}) to the (?P<receptacle>{_NAME})\.", _moved),
    (r"You are in the middle of a room\.", lambda belief, _: replace(belief, at=None, beside=())),
    (_FACING.pattern, _facing),
    (rf"You are carrying: {_LIST}\.", _carrying),
    (r"You are not carrying (?P<list>anything)\.", _carrying),
    (rf"You (?P<verb>heat|cool|clean) the (?P<item>{_NAME}) using the (?P<receptacle>{_NAME})\.", _treated),
    (rf"You sliced the (?P<item>{_NAME}) with the {_NAME}\.", lambda belief, found: _learn(belief, found["item"], sliced=True)),
    (rf"You turn (?P<state>on|off) the (?P<item>{_NAME})\.", _switched),
    (rf"This (?P<item>{_NAME}) is (?P<state>on|off)\.", _switched),
    (rf"This is a normal (?P<item>{_NAME})\. In it, you see {_LIST}\.", _holding),
    (rf"This is a (?P<words>(?:(?:hot|cool|cold|clean|sliced|and) ){{1,5}})(?P<item>{_NAME})\.", _examined),
    # `sliced` stays unknown: the game says it only of what can be sliced.
    (
        rf"There's nothing special about (?P<item>{_NAME})\.",
        lambda belief, found: _learn(belief, found["item"], clean=False, heat="neither"),
    ),
    (_VIEW.pattern, lambda belief, found: _view(belief, found[0])),
)
_READERS = [(re.compile(pattern, re.ASCII), read) for pattern, read in _FORMS]


def _with(one: T, **known: Any) -> T:
    """``one`` with what is now known of it; most of a house is as it was, and is kept rather than made again."""
    return one if all(getattr(one, name) == value for name, value in known.items()) else replace(one, **known)


def _change(belief: Belief, name: str, **known: Any) -> Belief:
    changed = tuple(_with(one, **known) if one.name == name else one for one in belief.receptacles)
    return replace(belief, receptacles=changed)


def _change_item(belief: Belief, name: str, **known: Any) -> Belief:
    return replace(belief, items=tuple(_with(one, **known) if one.name == name else one for one in belief.items))


def _stand(belief: Belief, name: str, **known: Any) -> Belief:
    """Record what is known of a receptacle that the agent stands at."""
    return _change(_here(belief, name), name, **known)


def _learn(belief: Belief, name: str, **known: Any) -> Belief:
    """Record what is known of an object that was seen."""
    return _change_item(_see(belief, [name]), name, **known)


def _see(belief: Belief, names: Iterable[str], where: str | None = None) -> Belief:
    """Add the objects of these names, with their place if it is known."""
    seen = dict.fromkeys(names)
    items = tuple(
        replace(one, where=where) if where and one.where != where and one.name in seen else one for one in belief.items
    )
    known = {one.name for one in items}
    return replace(belief, items=(*items, *(Item(name, where=where) for name in seen if name not in known)))


def _apart(belief: Belief, some: Collection[str], others: Collection[str]) -> Belief:
    """Record that none of ``some`` shares a location with any of ``others``; real houses stay below ``MAX_PAIRS``."""
    if len(some) * len(others) + len(belief.apart) > MAX_PAIRS:
        return belief
    pairs = {pair for one in some for other in others for pair in ((one, other), (other, one))}
    return belief if pairs <= belief.apart else replace(belief, apart=belief.apart | pairs)


def _here(belief: Belief, *names: str) -> Belief:
    """Record that the receptacles of these names are at the agent's location, with all others there."""
    known = {one.name for one in belief.receptacles}
    new = tuple(Receptacle(name, place=name) for name in dict.fromkeys(names) if name not in known)
    at = belief.at if belief.at in known else next(iter(names), None)
    receptacles = (*belief.receptacles, *new)
    places = {one.place for one in receptacles if one.name == at or one.name in names}
    joined = min(places, default="")
    receptacles = tuple(_with(one, place=joined, visited=True) if one.place in places else one for one in receptacles)
    return replace(belief, receptacles=receptacles, at=at)


_OLDER = re.compile(r"put (?P<object>[^ ]+ [0-9]+) (?:in/on|into|onto|in|on|to) (?P<receptacle>[^ ]+ [0-9]+)")


def canonical(command: str) -> str:
    """``put X in Y`` (also ``on``, ``in/on``), the form of older games, as ``move X to Y``; other commands unchanged."""
    found = _OLDER.fullmatch(command.strip()) if len(command) <= _MAX_COMMAND else None
    return f"move {found['object']} to {found['receptacle']}" if found else command
