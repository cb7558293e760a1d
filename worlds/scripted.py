"""A tiny deterministic world: three rooms, a key, a lamp and a locked box. It needs no files and no engine, so try a new agent,
screen or report here first. Its state is one immutable value and `advance` a pure function, which its expert searches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from housequest.worlds.base import Observation, Step, Task, World, WorldInfo
from housequest.worlds.env import StateEnv
from housequest.worlds.errors import ConfigurationError, TaskNotFound, Unsupported, shown

_SPLIT = "demo"
_REFUSED = "Nothing happens."
_DOORS = {"cellar": ("hall",), "hall": ("cellar", "study"), "study": ("hall",)}
_HAND, _BOX = "hand", "box"


@dataclass(frozen=True, slots=True)
class ScriptedState:
    """The places of the player and the three things (a room, ``hand`` or ``box``), and what was done."""

    room: str = "hall"
    coin: str = _BOX
    key: str = "study"
    lamp: str = "hall"
    unlocked: bool = False
    lit: bool = False

    def things(self, place: str) -> tuple[str, ...]:
        """The things at ``place``, by name."""
        return tuple(name for name in ("coin", "key", "lamp") if getattr(self, name) == place)


class _Problem(NamedTuple):
    type: str
    goal: str
    wanted: Mapping[str, object]

    def conditions(self, state: ScriptedState) -> tuple[bool, ...]:
        """True for each of the goal's conditions that holds in ``state``."""
        return tuple(getattr(state, name) == value for name, value in self.wanted.items())


_PROBLEMS = (
    _Problem("find", "take the coin out of the box.", {"coin": _HAND, "unlocked": True}),
    _Problem("bring", "bring the coin to the study and leave it there.", {"coin": "study", "unlocked": True}),
    _Problem("light", "leave the burning lamp in the cellar.", {"lamp": "cellar", "lit": True}),
)


def _commands(state: ScriptedState) -> Iterator[tuple[str, str, ScriptedState]]:
    """Every command that is accepted in ``state``, with its answer and the state after it."""
    carried = state.things(_HAND)
    yield "look", describe_room(state), state
    yield "inventory", f"You carry {_listed(carried)}.", state
    for room in _DOORS[state.room]:
        after = replace(state, room=room)
        yield f"go to {room}", describe_room(after), after
    boxed = state.things(_BOX) if state.room == "cellar" and state.unlocked else ()
    for thing in state.things(state.room) + boxed:
        yield f"take {thing}", f"You take the {thing}.", replace(state, **{thing: _HAND})
    for thing in carried:
        yield f"drop {thing}", f"You put the {thing} on the floor.", replace(state, **{thing: state.room})
    if state.room == "cellar" and not state.unlocked and state.key == _HAND:
        answer = f"You unlock the box. In it, you see {_listed(state.things(_BOX))}."
        yield "unlock box", answer, replace(state, unlocked=True)
    if state.lamp == _HAND and not state.lit:
        yield "light lamp", "The lamp burns.", replace(state, lit=True)


def _listed(things: Sequence[str]) -> str:
    return " and ".join(f"a {thing}" for thing in things) or "nothing"


def describe_room(state: ScriptedState) -> str:
    """The room in words, as ``look`` gives them."""
    box = ""
    if state.room == "cellar":
        box = f" The box is open; in it, you see {_listed(state.things(_BOX))}." if state.unlocked else " The box is locked."
    doors = " and the ".join(_DOORS[state.room])
    floor = _listed(state.things(state.room))
    return f"You are in the {state.room}. On the floor, you see {floor}.{box} You can go to the {doors}."


def advance(state: ScriptedState, command: str) -> tuple[str, ScriptedState] | None:
    """The answer to ``command`` and the state after it; None if it is refused. Outer spaces are ignored."""
    command = command.strip()
    return next(((answer, after) for name, answer, after in _commands(state) if name == command), None)


class ScriptedEnv(StateEnv[ScriptedState]):
    """One running task of the scripted world."""

    def __init__(self, task: Task, problem: _Problem) -> None:
        self.task = task
        self._problem = problem

    def reset(self) -> Step:
        self._state = ScriptedState()
        return self._answer(Observation(f"{describe_room(self.state)}\n\nYour task is to: {self.task.goal}"))

    def step(self, command: str) -> Step:
        answer = advance(self.state, command)
        if answer is None:
            return self._answer(Observation(_REFUSED, accepted=False))
        text, self._state = answer
        return self._answer(Observation(text))

    def admissible_commands(self) -> tuple[str, ...] | None:
        return tuple(sorted(name for name, _, _ in _commands(self.state)))

    def goal_conditions(self) -> tuple[int, int] | None:
        conditions = self._problem.conditions(self.state)
        return sum(conditions), len(conditions)

    def _answer(self, observation: Observation) -> Step:
        won = all(self._problem.conditions(self.state))
        return Step(observation, won=won, terminated=won)


_Walk = tuple[int, ScriptedState]  # the number of a problem, and the state that the commands so far led to


class ScriptedExpert:
    """Plays the shortest way, found breadth-first; it knows the start state."""

    def begin(self, goal: str, observation: Observation) -> _Walk:  # noqa: ARG002 (every house starts alike)
        number = next((number for number, problem in enumerate(_PROBLEMS) if problem.goal == goal), None)
        if number is None:
            raise Unsupported(f"The expert of the scripted world knows no goal {shown(goal)}.")
        return number, ScriptedState()

    def observe(self, memory: _Walk, command: str, observation: Observation) -> _Walk:
        answer = advance(memory[1], command) if observation.accepted else None
        return memory if answer is None else (memory[0], answer[1])

    def decide(self, memory: _Walk) -> tuple[str, str, _Walk]:
        commands = _shortest(*memory)
        return commands[0] if commands else "look", f"{max(len(commands) - 1, 0)} more to go", memory


@lru_cache(maxsize=256)
def _shortest(number: int, start: ScriptedState) -> tuple[str, ...]:
    """The commands of a shortest way to the goal of a problem, found breadth-first."""
    problem = _PROBLEMS[number]
    ways: dict[ScriptedState, tuple[str, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        if all(problem.conditions(state)):
            return ways[state]
        for name, _, after in _commands(state):
            if after not in ways:
                ways[after] = (*ways[state], name)
                queue.append(after)
    raise Unsupported(f"No commands lead from here to the goal {problem.goal!r}.")


class ScriptedWorld(World):
    """The scripted world: one split, ``demo``, of three tasks."""

    name = "scripted"
    info = WorldInfo(
        preamble="a tiny house",
        manual="look\ninventory\ngo to ROOM\ntake THING\ndrop THING\nunlock box\nlight lamp",
    )

    def splits(self) -> Sequence[str]:
        return (_SPLIT,)

    def tasks(self, split: str) -> Sequence[Task]:
        if split != _SPLIT:
            raise TaskNotFound(f"The scripted world has no split {shown(split)}; its only one is {_SPLIT!r}.")
        return tuple(
            Task(f"{_SPLIT}/{problem.type}", self.name, _SPLIT, number, problem.type, problem.goal)
            for number, problem in enumerate(_PROBLEMS, start=1)
        )

    def open(self, task: Task) -> ScriptedEnv:
        known = self.task(task.id)
        return ScriptedEnv(known, _PROBLEMS[known.number - 1])

    def shortest(self, task: Task, *, seconds: float | None = None) -> int:
        del seconds  # The search is instant.
        return len(_shortest(self.task(task.id).number - 1, ScriptedState()))

    def expert(self, /, **settings: Any) -> ScriptedExpert:
        if settings:
            raise ConfigurationError(f"The expert of the scripted world has no settings; leave out {shown(min(settings))}.")
        return ScriptedExpert()
