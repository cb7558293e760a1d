"""Houses with coordinates that ship with housequest, and rooms of them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from random import Random

from housequest.worlds import alfworld
from housequest.worlds.alfworld.engine.game import Game, parse_game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.alfworld.world import room_of, situation
from housequest.worlds.base import Task
from housequest.worlds.household.belief import Belief
from housequest.worlds.rooms.room import Room, Situation

HOUSES = ("kitchen", "bedroom", "bathroom")
_FOLDER = Path(alfworld.__file__).parent / "houses"


@cache
def problem(name: str) -> str:
    return json.loads((_FOLDER / f"{name}.json").read_text("utf-8"))["pddl_problem"]


def calls(of: Callable[[], object]) -> int:
    """How many functions are called: what something costs, the same on every machine."""
    counted = count()

    def seen(frame: object, event: str, arg: object) -> None:
        del frame, arg
        if event == "call":
            next(counted)

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        of()
    finally:
        sys.setprofile(before)
    return next(counted)


def made(text: str) -> tuple[Game, Room]:
    game = parse_game(text, "put some apple in fridge.", "test")
    return game, room_of(text, game)


@cache
def house(name: str) -> tuple[Game, Room, Situation]:
    """A house with all of its state at the start."""
    game, room = made(problem(name))
    return game, room, situation(game, game.start, room)


def played(game: Game, commands: tuple[str, ...]) -> tuple[NativeEnv, Belief]:
    """The env and the belief after some commands."""
    env = NativeEnv(Task("test", "alfworld", "test", 1, "", game.sentence), game)
    belief = HOUSEHOLD.begin(env.reset().observation)
    for command in commands:
        belief = HOUSEHOLD.update(belief, command, env.step(command).observation)
    return env, belief


def hidden_things(text: str) -> Iterator[tuple[str, str]]:
    """The ids of things that are the only ones of their kind and lie in something closed, each with that."""
    opened = set(re.findall(r"\(openable (\S+)\)", text))
    inside = re.findall(r"\(inreceptacle (\S+) (\S+)\)", text)
    kinds = [thing.partition("_bar_")[0] for thing, _ in inside]
    return ((thing, holder) for thing, holder in inside if holder in opened and kinds.count(thing.partition("_bar_")[0]) == 1)


def hidden_elsewhere(text: str, thing: str, holder: str, target: str, point: tuple[int, int, int]) -> str:
    """The problem ``text``, in small letters, with a hidden thing in another receptacle, at a ``point`` in centimetres."""
    signed = (f"_{'minus' if number < 0 else 'plus'}_{abs(number) // 100:02}_dot_{abs(number) % 100:02}" for number in point)
    other = f"{thing.partition('_bar_')[0]}_bar_{'_bar_'.join(signed)}"
    changed = text.replace(f"(inreceptacle {thing} {holder})", f"(inreceptacle {thing} {target})")
    place = dict(re.findall(r"\(receptacleatlocation (\S+) (\S+)\)", text))
    changed = changed.replace(f"(objectatlocation {thing} {place[holder]})", f"(objectatlocation {thing} {place[target]})")
    return changed.replace(thing, other)


def unknown_otherwise(text: str, visited: Sequence[str], dice: Random) -> str:
    """The problem ``text``, in small letters, with all else that nobody knows who only went to ``visited``, which are ids.

    What cannot be seen from there lies elsewhere, is hot, clean or lit or not, and other receptacles stand open.
    """
    facts, goal, rest = text.partition("(:goal")
    opens, opened = (set(re.findall(rf"\({fact} (\S+)\)", facts)) for fact in ("openable", "opened"))
    place = dict(re.findall(r"\(receptacleatlocation (\S+) (\S+)\)", facts))
    hides = [one for one in place if one not in visited or one in opens - opened]
    for thing, holder in re.findall(r"\(inreceptacle (\S+) (\S+)\)", facts):
        if holder in hides:
            target = dice.choice(hides)
            facts = facts.replace(f"(inreceptacle {thing} {holder})", f"(inreceptacle {thing} {target})")
            facts = facts.replace(f"(objectatlocation {thing} {place[holder]})", f"(objectatlocation {thing} {place[target]})")
            for state in ("ishot", "iscool", "isclean", "istoggled"):
                facts = _with_fact(facts, f"({state} {thing})", dice.random() < 0.5)
    for one in sorted(opens.difference(visited)):
        facts = _with_fact(facts, f"(opened {one})", dice.random() < 0.5)
    return f"{facts}{goal}{rest}"


def _with_fact(facts: str, fact: str, holds: bool) -> str:
    facts = facts.replace(fact, "")
    return facts.replace("(:init", f"(:init {fact}", 1) if holds else facts
