"""Goal sentences read into structured goals.

A published game states its goal in one of twelve wordings, two per task type, which ``read_goal`` reads. For free English,
``guess_goal`` looks for names of things and verbs, and returns None if something is missing or ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from housequest.worlds.household.goals import ADJECTIVES, APPLIANCES, SYNONYMS, TYPES, Goal, TaskType, Treatment

_KIND = r"[A-Za-z][\w-]{0,59}"
_OBJECT, _RECEPTACLE, _LAMP = (rf"(?P<{part}>{_KIND})" for part in ("object", "receptacle", "lamp"))
_WORDINGS: dict[TaskType, tuple[str, str]] = {
    "pick_and_place_simple": (rf"put a {_OBJECT} in {_RECEPTACLE}", rf"put some {_OBJECT} on {_RECEPTACLE}"),
    "look_at_obj_in_light": (rf"look at {_OBJECT} under the {_LAMP}", rf"examine the {_OBJECT} with the {_LAMP}"),
    **{
        TYPES[treatment]: (
            rf"put a {adjective} {_OBJECT} in {_RECEPTACLE}",
            rf"{treatment} some {_OBJECT} and put it in {_RECEPTACLE}",
        )
        for treatment, adjective in ADJECTIVES.items()
    },
    "pick_two_obj_and_place": (
        rf"put two {_OBJECT} in {_RECEPTACLE}",
        rf"find two {_OBJECT} and put them in {_RECEPTACLE}",
    ),
}
_MAX_SENTENCE = 1_000


def read_goal(sentence: str) -> Goal | None:
    """The goal that a template sentence states, with or without "Your task is to:"; None for any other wording."""
    bare = sentence[:_MAX_SENTENCE].strip().removeprefix("Your task is to:").strip().removesuffix(".").rstrip()
    for task_type, wordings in _WORDINGS.items():
        for wording in wordings:
            if found := re.fullmatch(wording, bare, re.ASCII):
                count = 2 if task_type == "pick_two_obj_and_place" else 1
                return Goal(task_type, **found.groupdict(), count=count)
    return None


def goal_sentences(goal: Goal) -> tuple[str, str]:
    """The two sentences that state ``goal`` in the published games."""
    first, second = _WORDINGS[goal.type]
    for hole, name in ((_OBJECT, goal.object), (_RECEPTACLE, goal.receptacle or ""), (_LAMP, goal.lamp or "")):
        first, second = first.replace(hole, name), second.replace(hole, name)
    return f"{first}.", f"{second}."


_DOING: dict[Treatment, frozenset[str]] = {
    "clean": frozenset(("clean", "cleaned", "rinse", "rinsed", "rinsing", "wash", "washed", "washing", "wet")),
    "heat": frozenset(("cook", "cooked", "heat", "heated", "heating", "hot", "microwaved", "warm", "warmed")),
    "cool": frozenset(("chill", "chilled", "chilling", "cold", "cool", "cooled", "cooling", "refrigerated")),
}
_BOTH = frozenset(("two", "2", "both", "pair"))
_AWAY = frozenset(("from", "off", "of"))
_PARTS = frozenset(("top", "back", "inside", "middle", "bottom", "center", "edge", "corner"))
_ARTICLES = frozenset(("the", "a", "an"))
_LAMPS = frozenset(("desklamp", "floorlamp"))


class _Mention(NamedTuple):
    name: str
    plural: bool


def guess_goal(sentence: str, *, objects: Sequence[str], receptacles: Sequence[str]) -> Goal | None:
    """The goal that a free sentence most likely means, by names of things and a few verbs; None if it is unclear.

    ``objects`` are all kinds of object, ``receptacles`` the kinds in this house. Callers must mark the goal as a guess.
    """
    words = re.findall(r"[a-z]+|[0-9]+", sentence[:_MAX_SENTENCE].lower())
    doing: list[Treatment] = [treatment for treatment, verbs in _DOING.items() if not verbs.isdisjoint(words)]
    portable = set(objects).difference(receptacles, _LAMPS, SYNONYMS)
    named = _named(words, portable.union(receptacles, _LAMPS), receptacles)
    things = {mention.name for mention in named if mention.name in portable}
    if len(things) != 1 or len(doing) > 1:
        return None
    (thing,) = things
    lamps = {mention.name for mention in named if mention.name in _LAMPS}
    if lamps:
        return Goal("look_at_obj_in_light", thing, lamp=lamps.pop()) if len(lamps) == 1 and not doing else None
    places = {mention.name for mention in named if mention.name in receptacles}
    if doing and len(places) > 1:
        places.discard(APPLIANCES[doing[0]])
    two = not _BOTH.isdisjoint(words) or any(mention.plural for mention in named if mention.name == thing)
    if len(places) != 1 or (two and doing):
        return None
    task_type = TYPES[doing[0]] if doing else "pick_two_obj_and_place" if two else "pick_and_place_simple"
    return Goal(task_type, thing, receptacle=places.pop(), count=2 if two else 1)


def _named(words: Sequence[str], kinds: Collection[str], receptacles: Sequence[str]) -> list[_Mention]:
    """The things that ``words`` name, in up to three words each, without receptacles that something is taken from."""
    tables = [name for name in receptacles if name.endswith("table")]
    known = {name: name for name in kinds} | SYNONYMS | ({"table": tables[0]} if len(tables) == 1 else {})
    found: list[_Mention] = []
    position = 0
    while position < len(words):
        for size in (3, 2, 1):
            joined = "".join(words[position : position + size])
            form = next((form for form in (joined, joined.removesuffix("s"), joined.removesuffix("es")) if form in known), None)
            if form is None or known[form] not in kinds:
                continue
            before = [word for word in words[max(0, position - 5) : position] if word not in _ARTICLES]
            if before[-1:] == ["of"] and not _PARTS.isdisjoint(before[-2:]):
                before = before[:-2]
            if _AWAY.isdisjoint(before[-1:]) or known[form] not in receptacles:
                found.append(_Mention(known[form], plural=form != joined))
            position += size - 1
            break
        position += 1
    return found
