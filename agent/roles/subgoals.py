"""High-level plans: sequences of subgoals, as LLM-Planner (section 1) and the Socratic Planner (section 3.1) write them.

A subgoal is an action with its object and an optional receptacle. Text worlds heat, cool and clean in one command, so these are
separate actions, as in ALFRED's ground-truth plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast, get_args

from housequest.agent.roles.base import ReplyError
from housequest.agent.roles.reading import found_json
from housequest.knowledge.examples import Example
from housequest.worlds.base import World
from housequest.worlds.errors import shown
from housequest.worlds.household.goals import GoalStep

Action = Literal["navigate", "pick", "put", "open", "close", "toggle", "slice", "heat", "cool", "clean"]

MOST_SUBGOALS = 40
"""Twice the longest ground-truth plan of ALFRED's train split, which has 19."""

LONGEST_NAME = 60

PAIR_NAMES: dict[Action, str] = {
    **{action: f"{action.capitalize()}Object" for action in get_args(Action)},
    **{"navigate": "Navigation", "pick": "PickupObject"},
}
"""The actions' names in LLM-Planner's prompts."""

TRIPLE_NAMES: dict[Action, str] = {
    action: name.removesuffix("Object") for action, name in PAIR_NAMES.items() if action != "navigate"
}
"""The actions' names in the Socratic Planner's prompts; the controller goes to places by itself."""

TREATING = frozenset({"slice", "heat", "cool", "clean"})
"""The actions that only households have in which things are treated."""

_OTHER_WORDS: dict[Action, str] = {
    "navigate": "navigate navigateto goto gotolocation find go",
    "pick": "pick pickup take grab",
    "put": "put putdown place move",
    "toggle": "toggleon toggleobjecton turnon switchon use",
    "slice": "cut",
    "cool": "chill",
    "clean": "wash rinse",
}
_WORDS: dict[str, Action] = {
    **{name.lower(): action for names in (PAIR_NAMES, TRIPLE_NAMES) for action, name in names.items()},
    **{word: action for action, words in _OTHER_WORDS.items() for word in words.split()},
}

_LISTED = frozenset(PAIR_NAMES.values())

_LABEL = re.compile(r"(?im)^[\W_]{0,40}(?:(?:next|high-level|revised|new|detailed|the)\s{1,8}){0,8}plan\b[\s*_`]*:")
_ITEM = re.compile(r"(?im)^\s{0,40}(?:(?:step|subgoal)?\s{0,8}\d{1,3}\s{0,8}[.):]|[-*•>])\s*")
_BREAK = re.compile(r"[;\n)\]]|->|→")
_COMMA = re.compile(r"[,(\[]")
_WORD = re.compile(r"[A-Za-z][\w'-]*|\d{1,6}")
_SMALL = frozenset({"the", "a", "an", "to", "up", "down", "some", "of"})
_INTO = frozenset({"in", "into", "on", "onto", "to", "inside", "with", "using", "from"})


@dataclass(frozen=True, slots=True)
class Subgoal:
    """An action with its object, in the planner's own words; in a ``put`` without a receptacle, the held one's place."""

    action: Action
    object: str
    receptacle: str | None = None

    @property
    def place(self) -> str:
        """Where the agent has to be for this."""
        return self.receptacle or self.object


def names_in(names: Mapping[Action, str], world: World) -> tuple[str, ...]:
    """Those ``names`` whose actions are possible in ``world``."""
    treats = world.household is None or world.household.commands.treat is not None
    return tuple(name for action, name in names.items() if treats or action not in TREATING)


def as_pair(subgoal: Subgoal) -> str:
    """``PickupObject potato``; a receptacle that is not the place of a ``put`` is left out."""
    return f"{PAIR_NAMES[subgoal.action]} {subgoal.place if subgoal.action == 'put' else subgoal.object}"


def as_triple(subgoal: Subgoal) -> str:
    """``(Put, pan, fridge)``."""
    name = TRIPLE_NAMES.get(subgoal.action, "Find")
    return f"({', '.join((name, subgoal.object, *([subgoal.receptacle] if subgoal.receptacle else [])))})"


def read_subgoals(text: str, names: Sequence[str]) -> tuple[Subgoal, ...]:
    """The subgoals that ``text`` lists, in any form: pairs, parentheses, numbered lines, JSON.

    Text before the last label "plan:" or before the first subgoal is ignored, and text after an empty line that is no
    subgoal. Raises ``ReplyError``, which says the allowed ``names``, if there is no plan, it is too long, or something in it
    is no subgoal.
    """
    body = _LABEL.split(text)[-1]
    found: list[Subgoal] = []
    for paragraph in (_json_lines(body) or body).split("\n\n"):
        for at, (subgoal, words) in enumerate(_pieces(paragraph)):
            if subgoal is not None:
                found.append(subgoal)
            elif found and at:
                raise ReplyError(f"{shown(words, 60)} is no subgoal; the allowed actions are {', '.join(names)}.")
            elif found:
                break
        if len(found) > MOST_SUBGOALS:
            raise ReplyError(f"the plan has more than {MOST_SUBGOALS} subgoals.")
    if not found:
        raise ReplyError(f"there is no plan of subgoals; the allowed actions are {', '.join(names)}.")
    return tuple(found)


def name_of(words: str) -> str:
    """A name without articles, marks and extra spaces: "Desk Lamp 2" for "the `Desk Lamp` 2."."""
    return " ".join(word for word in _WORD.findall(words) if word.lower() not in _SMALL)[:LONGEST_NAME]


def _pieces(text: str) -> Iterator[tuple[Subgoal | None, str]]:
    for segment in _BREAK.split(_ITEM.sub("", text)):
        action: Action | None = None
        names: list[str] = []
        bare = False
        for piece in _COMMA.split(segment):
            words = _WORD.findall(piece)
            if not words:
                continue
            said, rest = _action(words)
            if action and bare and (not names or (said is None and len(names) < 2)):
                # A comma followed the action, so this is another part of its subgoal.
                names.append(name_of(piece))
                continue
            if action:
                yield _finished(action, names), segment.strip()
            if said is None:
                yield None, piece.strip()
            action, names, bare = said, _parted(rest), not rest
        if action:
            yield _finished(action, names), segment.strip()


def _finished(action: Action, names: Sequence[str]) -> Subgoal | None:
    given = [name for name in names if name]
    if any(name in _LISTED for name in given):
        # The list of allowed actions said back is no plan of actions on actions.
        return None
    return Subgoal(action, given[0], given[1] if len(given) > 1 else None) if given else None


def _action(words: list[str]) -> tuple[Action | None, list[str]]:
    for size in (2, 1):
        action = _WORDS.get("".join(words[:size]).lower())
        if action is not None:
            return action, words[size:]
    return None, words


def _parted(words: list[str]) -> list[str]:
    """Split the words after an action, such as "the pan in the fridge", into object and receptacle."""
    lowered = [word.lower() for word in words]
    at = next((at for at, word in enumerate(lowered) if at and word in _INTO), len(words))
    first = [word for word in words[:at] if word.lower() not in _INTO]
    return [name for name in (name_of(" ".join(first)), name_of(" ".join(words[at + 1 :]))) if name]


def _json_lines(text: str) -> str:
    value = found_json(text, "[", "]")
    return "\n".join(_entry(entry) for entry in cast("list[object]", value)) if isinstance(value, list) else ""


def _entry(entry: object) -> str:
    if isinstance(entry, dict):
        entry = list(cast("dict[object, object]", entry).values())
    if isinstance(entry, list):
        return ", ".join(part for part in cast("list[object]", entry) if isinstance(part, str))
    return entry if isinstance(entry, str) else ""


class PlanExample(NamedTuple):
    """A goal sentence and the high-level plan that solves it."""

    goal: str
    plan: tuple[Subgoal, ...]


def plan_example(example: Example) -> PlanExample:
    """An example for a planner's prompt: the subgoals that won, of kinds; one elsewhere follows a navigation to its object."""
    return PlanExample(example.goal, tuple(map(as_subgoal, example.subgoals())))


def without_navigation(plan: Iterable[Subgoal]) -> tuple[Subgoal, ...]:
    """The plan as the Socratic Planner writes it: the controller goes to places by itself."""
    return tuple(subgoal for subgoal in plan if subgoal.action != "navigate")


def as_subgoal(deed: GoalStep) -> Subgoal:
    """A part of a task as a planner's subgoal."""
    thing, place = deed.object or "", deed.place
    match deed.action:
        case "find" | "go":
            return Subgoal("navigate", place or thing)
        case "use":
            return Subgoal("toggle", thing)
        case "put":
            return Subgoal("put", thing, place)
        case "open" | "close" as action:
            return Subgoal(action, place or thing)
        case action:
            return Subgoal(action, thing)
