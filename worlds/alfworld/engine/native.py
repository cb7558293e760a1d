"""The native ALFWorld engine: the same text, commands and outcome as alfworld + textworld, without a planner. The game is three
pure functions over an immutable ``Game`` and ``State``: ``commands`` lists the possible commands with their actions,
``perform`` does one and answers, ``won`` judges the result. A command is accepted exactly if it is listed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TypeVar

from housequest.worlds.alfworld.engine.game import NOTHING, NOWHERE, Game, GroundAction, State, WinCondition
from housequest.worlds.base import Observation, Step, Task
from housequest.worlds.env import StateEnv

_T = TypeVar("_T")
_action = cache(GroundAction)
"""Actions are few, and many games are played at once: one object for each takes less time and memory than new ones."""
VERSION = "native 1"  # the engine with its version, for records
REFUSED = "Nothing happens."
HELP = Path(__file__).with_name("help.txt").read_text("utf-8")


def commands(game: Game, state: State) -> dict[str, GroundAction]:
    """Every command that is accepted in ``state``, with its action."""
    found = dict(game.always)
    for here in game.receptacles_at[state.place]:
        del found[f"go to {game.receptacles[here]}"]
    return found | at_hand(game, state)


def at_hand(game: Game, state: State) -> dict[str, GroundAction]:
    """The commands that are accepted because of the present place and what is held."""
    objects, receptacles, held = game.objects, game.receptacles, state.held
    found: dict[str, GroundAction] = {}
    for here in game.receptacles_at[state.place]:
        name = receptacles[here]
        found[f"examine {name}"] = _action("examine receptacle", NOTHING, here)
        contents = state.contents[here]
        for thing in contents:
            if thing in game.toggleable:
                found[f"use {objects[thing]}"] = _action("use", thing, here)
        if _is_open(game, state, here):
            if here in game.openable:
                found[f"close {name}"] = _action("close", NOTHING, here)
            if held == NOTHING:
                for thing in contents:
                    if thing in game.pickupable:
                        found[f"take {objects[thing]} from {name}"] = _action("take", thing, here)
            elif game.object_types[held] in game.accepts[here]:
                found[f"move {objects[held]} to {name}"] = _action("move", held, here)
        else:
            found[f"open {name}"] = _action("open", NOTHING, here)
        if held == NOTHING:
            continue
        if here in game.heaters and held in game.heatable:
            found[f"heat {objects[held]} with {name}"] = _action("heat", held, here)
        if here in game.coolers and held in game.coolable:
            found[f"cool {objects[held]} with {name}"] = _action("cool", held, here)
        if here in game.basins and held in game.cleanable:
            found[f"clean {objects[held]} with {name}"] = _action("clean", held, here)
    if held != NOTHING:
        found[f"examine {objects[held]}"] = _action("examine object", held, NOWHERE)
        if held in game.knives:
            for thing in state.lying[state.place] & game.sliceable:
                found[f"slice {objects[thing]} with {objects[held]}"] = _action("slice", thing, NOWHERE)
    return found


def perform(game: Game, state: State, action: GroundAction) -> tuple[State, str]:
    """The state after ``action``, one that ``commands`` lists in ``state``, and the text that answers it."""
    verb, thing, place = action
    match verb:
        case "go":
            # Three times as fast as _replace, in the most frequent command.
            state = tuple.__new__(State, (game.place_of[place], *state[1:]))  # pyright: ignore[reportUnknownMemberType]
            return state, f"You arrive at {game.receptacles[place]}. {_contents(game, state, place)}"
        case "look":
            return state, _look(game, state)
        case "inventory":
            if state.held == NOTHING:
                return state, "You are not carrying anything."
            return state, f"You are carrying: a {game.objects[state.held]}."
        case "help":
            return state, HELP
        case "examine receptacle":
            return state, _contents(game, state, place)
        case "examine object":
            return state, _describe(game, state, thing)
        case "open":
            state = state._replace(opened=state.opened | {place})
            return state, f"You open the {game.receptacles[place]}. {_contents(game, state, place)}"
        case "close":
            return state._replace(opened=state.opened - {place}), f"You close the {game.receptacles[place]}."
        case "slice":
            text = f"You sliced the {game.objects[thing]} with the {game.objects[state.held]}."
            return state._replace(sliced=state.sliced | {thing}), text
        case "use":
            return state._replace(lit=state.lit | {thing}), f"You turn on the {game.objects[thing]}."
        case "take":
            left = tuple(other for other in state.contents[place] if other != thing)
            changed = state._replace(
                held=thing,
                contents=_with(state.contents, place, left),
                lying=_with(state.lying, state.place, state.lying[state.place] - {thing}),
                taken=state.taken | {(thing, place)},
            )
            return changed, f"You pick up the {game.objects[thing]} from the {game.receptacles[place]}."
        case "move":
            changed = state._replace(
                held=NOTHING,
                contents=_with(state.contents, place, tuple(sorted({*state.contents[place], thing}))),
                lying=_with(state.lying, state.place, state.lying[state.place] | {thing}),
                taken=state.taken - {(thing, place)},
            )
            return changed, f"You move the {game.objects[thing]} to the {game.receptacles[place]}."
        case "heat":
            changed = state._replace(hot=state.hot | {thing}, cool=state.cool - {thing})
        case "cool":
            changed = state._replace(cool=state.cool | {thing}, hot=state.hot - {thing})
        case _:
            changed = state._replace(clean=state.clean | {thing})
    return changed, f"You {verb} the {game.objects[thing]} using the {game.receptacles[place]}."


def opening(game: Game) -> str:
    """The first text: the room, and the task sentence."""
    state = game.start
    if game.receptacles_at[state.place]:
        scene = _look(game, state)
    else:
        listed = _listed(f"a {name}" for name, place in zip(game.receptacles, game.place_of, strict=True) if place >= 0)
        scene = f"You are in the middle of a room. Looking quickly around you, you see {listed}."
    return f"-= Welcome to TextWorld, ALFRED! =-\n\n{scene}\n\nYour task is to: {game.sentence}"


def won(game: Game, state: State) -> bool:
    """True if the goal holds now; it can cease to."""
    met, total = conditions(game, state)
    return met == total


def conditions(game: Game, state: State) -> tuple[int, int]:
    """(met, total) of the goal's conditions: ALFRED's goal-condition success (Shridhar et al., CVPR 2020), best over objects.
    ``place``, 1: an object of the type is in a receptacle of the type. ``heat``, ``cool``, ``clean``, 3: such an object is in
    the receptacle; one is hot (cool, clean) wherever it is; one is both. ``two``, 2: the most such objects in any one
    receptacle. ``light``, 2: such an object is held; a lamp that is on is at the present place. Of chores, each goal is one
    condition; those are met that can be at once, each with things of its own."""
    goal = game.goal
    if game.more:
        goals = (goal, *game.more)
        return _most([sorted(_meeting(state, one)) for one in goals], frozenset()), len(goals)
    if goal.form == "light":
        here = game.receptacles_at[state.place]
        lit = any(thing in state.lit and thing in goal.lamps for place in here for thing in state.contents[place])
        return (state.held in goal.objects) + lit, 2
    counts = [[thing for thing in state.contents[place] if thing in goal.objects] for place in goal.receptacles]
    if goal.form == "two":
        return min(2, max(map(len, counts), default=0)), 2
    placed = {thing for things in counts for thing in things}
    if goal.form == "place":
        return int(bool(placed)), 1
    changed = goal.objects & {"heat": state.hot, "cool": state.cool, "clean": state.clean}[goal.form]
    return bool(placed) + bool(changed) + bool(placed & changed), 3


def _meeting(state: State, goal: WinCondition) -> set[tuple[int, ...]]:
    """The sets of things, each of one or two, with any of which a goal of chores is met."""
    treated = {"clean": state.clean, "heat": state.hot, "cool": state.cool}.get(goal.form, goal.objects)
    settled = ([thing for thing in state.contents[place] if thing in goal.objects & treated] for place in goal.receptacles)
    return {things for there in settled for things in combinations(there, 2 if goal.form == "two" else 1)}


def _most(ways: Sequence[Sequence[tuple[int, ...]]], used: frozenset[int]) -> int:
    """The most goals that can be met at once, each by one of its ``ways`` and with things that are not ``used``."""
    if not ways:
        return 0
    first, rest = ways[0], ways[1:]
    others = {thing for each in rest for things in each for thing in things}
    found = 0
    for things in first:
        if used.isdisjoint(things):
            found = max(found, 1 + _most(rest, used | {*things}))
            if others.isdisjoint(things):
                return found
    return max(found, _most(rest, used))


def _is_open(game: Game, state: State, receptacle: int) -> bool:
    return receptacle not in game.openable or receptacle in state.opened


def _with(values: tuple[_T, ...], position: int, value: _T) -> tuple[_T, ...]:
    return (*values[:position], value, *values[position + 1 :])


def _listed(items: Iterable[str]) -> str:
    """The game's way of listing: "nothing", "a x", or "a x, and a y"."""
    *others, last = list(items) or ["nothing"]
    return f"{', '.join(others)}, and {last}" if others else last


def _contents(game: Game, state: State, receptacle: int) -> str:
    name = game.receptacles[receptacle]
    if not _is_open(game, state, receptacle):
        return f"The {name} is closed."
    listed = _listed([f"a {game.objects[thing]}" for thing in state.contents[receptacle]])
    if receptacle in game.openable:
        return f"The {name} is open. In it, you see {listed}."
    return f"On the {name}, you see {listed}."


def _describe(game: Game, state: State, thing: int) -> str:
    name = game.objects[thing]
    if thing in game.inside:
        listed = _listed([f"a {game.objects[inner]}" for inner in game.inside[thing]])
        return f"This is a normal {name}. In it, you see {listed}."
    sliced = thing in state.sliced
    adjectives = ["hot"] if thing in state.hot else ["cool"] if thing in state.cool else []
    if thing in state.clean:
        adjectives.append("clean")
    if adjectives == ["cool"] and not sliced:
        return f"This is a cold {name}."
    if adjectives:
        return f"This is a {' and '.join(adjectives)} {'sliced ' if sliced else ''}{name}."
    if thing in game.toggleable and thing in state.lit:
        return f"This {name} is on."
    return f"This is a sliced {name}." if thing in game.sliceable and sliced else f"There's nothing special about {name}."


def _look(game: Game, state: State) -> str:
    here = game.receptacles_at[state.place]
    if not here:
        return "You are in the middle of a room. Looking quickly around you, you see nothing."
    facing = _listed([game.receptacles[place] for place in here])
    floor = [
        f"a {game.objects[thing]}"
        for thing in sorted(state.lying[state.place])
        for place in here
        if (thing, place) in state.taken
    ]
    return f"You are facing the {facing}. Next to it, you see {_listed(floor)}."


class NativeEnv(StateEnv[State]):
    """A running game. Playing on after it is won is allowed, as in the reference, and can undo the win."""

    def __init__(self, task: Task, game: Game) -> None:
        self.task = task
        self.game = game
        self._commands: dict[str, GroundAction] | None = None

    def reset(self) -> Step:
        self.enter(self.game.start)
        return self._answer(self.game.start, Observation(opening(self.game)))

    def step(self, command: str) -> Step:
        state = self.state
        action = self._possible().get(command.strip())
        if action is None:
            return self._answer(state, Observation(REFUSED, accepted=False))
        changed, text = perform(self.game, state, action)
        if changed is not state:
            self.enter(changed)
        return self._answer(changed, Observation(text))

    def admissible_commands(self) -> tuple[str, ...]:
        return tuple(sorted(self._possible()))

    def goal_conditions(self) -> tuple[int, int]:
        return conditions(self.game, self.state)

    def close(self) -> None:
        """Do nothing: the state can still be looked at."""

    def enter(self, state: State) -> None:
        """Play on in this state."""
        self._state = state
        self._commands = None

    def _possible(self) -> dict[str, GroundAction]:
        if self._commands is None:
            self._commands = commands(self.game, self.state)
        return self._commands

    def _answer(self, state: State, observation: Observation) -> Step:
        done = won(self.game, state)
        return Step(observation, won=done, terminated=done)
