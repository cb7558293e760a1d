"""Checks a world's contract (`housequest.worlds.base`) by playing, and states each demand in words."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from typing import Any, NamedTuple, TypeVar

from housequest.worlds.base import (
    Demonstrated,
    Drawable,
    Env,
    Explaining,
    HasExpert,
    HasHomes,
    Observation,
    Pictured,
    Policy,
    Reaching,
    Replayed,
    Sandboxed,
    Skilled,
    Solvable,
    Step,
    Task,
    World,
)
from housequest.worlds.env import sandbox, steps_of, unwrapped
from housequest.worlds.errors import ConfigurationError, OrderError, TaskNotFound, Unsupported, shown
from housequest.worlds.options import read_options
from housequest.worlds.rooms.room import reached
from housequest.worlds.shared import WAIT, Seat, Shareable, Shared

LONGEST_TEXT = 50_000  # characters of an observation at most
LONGEST_NEWS = 1_000
_EXPERT_STEPS = 100
_PLAYERS = ("Ann", "Bob", "Cleo", "Dan")
_ODD = ("", "dance wildly", "\0", "\ud800", "look " * 10_000, "..", "\u202elook")
Wrap = Callable[[Env], Env]
T = TypeVar("T")
_OF_WORLDS = (HasExpert, HasHomes, Solvable, Explaining, Sandboxed, Skilled, Drawable, Demonstrated, Replayed, Shareable)
_OF_ENVS = (Pictured, Reaching)


class ContractReport(NamedTuple):
    """The demands of a contract by name, each with its fault, "" if it is met.

    ``fulfils`` names the protocols that the world fulfils beyond it, such as ``HasExpert``.
    """

    demands: Mapping[str, str]
    fulfils: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[str, ...]:
        """The demands that are not met, in words."""
        return tuple(f"{what}: {wrong}" for what, wrong in self.demands.items() if wrong)


def check_world(world: World, *, split: str | None = None, wrap: Wrap = lambda env: env) -> ContractReport:
    """Check a world by playing one task of each type of a split.

    Args:
        world: The world to check.
        split: The split to play; None for the default split if it is installed, else the example split.
        wrap: Wraps each env, to check a wrapper as well.

    Returns:
        The demands that are met and broken; a demand whose check raises is broken.
    """
    report: dict[str, str] = {}
    check = _Check(world, split, wrap)
    for what, demand in _DEMANDS.items():
        try:
            report[what] = next(demand(check), "")
        except Exception as error:  # noqa: BLE001 (whatever a stranger's world raises is a finding)
            report[what] = f"it raised {type(error).__name__}: {shown(str(error), 300)}"
    return ContractReport(report, tuple(one.__name__ for one in _OF_WORLDS if isinstance(world, one)))


def _wander(env: Env, seed: int, steps: int = 40) -> list[tuple[str, Step]]:
    """Admissible commands at random, now and then an odd one, until the game ends."""
    dice, played = random.Random(seed), list[tuple[str, Step]]()
    while len(played) < steps and not (played and played[-1][1].done):
        command = dice.choice(env.admissible_commands() or ("look",)) if dice.random() < 0.8 else "dance wildly"
        played.append((command, env.step(command)))
    return played


def _state(shared: Shared) -> dict[str, tuple[object, ...]]:
    """The commands of each player now, and its news."""
    return {player: (shared.admissible_commands(player), shared.news(player)) for player in shared.players}


def _shared_play(shared: Shared, other: Shared, dice: random.Random, steps: int = 40) -> Iterator[str]:
    """The faults found by playing two houses alike, their players in a random order."""
    before = _state(shared)
    for _ in range(steps):
        player = dice.choice(shared.players)
        listed = shared.admissible_commands(player) or ()
        command = dice.choice((*listed, WAIT, "dance wildly")) if dice.random() < 0.8 else WAIT
        step, again = shared.step(player, command), other.step(player, command)
        after = _state(shared)
        if step != again or [other.news(one) for one in shared.players] != [after[one][1] for one in shared.players]:
            yield f"{shown(command)} has other answers or news in a second house,"
        if not step.observation.accepted and command in (*listed, WAIT):
            yield f"{shown(command)} is listed as admissible, or is {WAIT}, and refused"
        idle = not step.observation.accepted or command == WAIT
        if idle and any(after[one] != before[one] for one in shared.players if one != player):
            yield f"{shown(command)} changes what others can do or hear"
        for reader, sentence in ((one, sentence) for one in shared.players for sentence in shared.news(one)):
            others = tuple(f"{each} " for each in shared.players if each != reader)
            if not sentence.startswith(others) or not sentence.isprintable() or len(sentence) > LONGEST_NEWS:
                yield f"news are not a short sentence about another player ({shown(sentence)}),"
        if step.done:
            return
        before = after


def _raises(error: type[Exception], call: Callable[[], object]) -> str:
    """The fault if ``call`` does not raise ``error``; "" if it does."""
    try:
        call()
    except error:
        return ""
    except Exception as other:  # noqa: BLE001 (the wrong error is the finding)
        return f"raises {type(other).__name__} instead of {error.__name__}"
    return f"does not raise {error.__name__}"


def _lacks(thing: object, protocol: type) -> Iterator[str]:
    """The faults if ``thing`` has only some of the methods of ``protocol``, or others than it asks for."""
    methods = {name: method for name, method in inspect.getmembers(protocol, inspect.isroutine) if not name.startswith("_")}
    there = [name for name in methods if hasattr(thing, name)]
    for name, method in methods.items() if there else ():
        if name not in there:
            yield f"it has {there[0]}() and no {name}(), so it is not {protocol.__name__}"
            continue
        signature, found = inspect.signature(method), getattr(thing, name)
        given = [one for one in signature.parameters.values() if one.name != "self"]
        needed = [one.name for one in given if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
        named = [one.name for one in given if one.kind in (one.KEYWORD_ONLY, one.VAR_KEYWORD)]
        try:
            inspect.signature(found).bind(*needed, **dict.fromkeys(named))
        except TypeError as error:
            yield f"{name}() cannot be called as {name}{signature}, so it is not {protocol.__name__}: {error}"


def _supported(call: Callable[[], T]) -> T | None:
    try:
        return call()
    except Unsupported:
        return None


class _Check:
    """The demands on one world, each a method that yields faults, tried on one task of each type of ``split``."""

    def __init__(self, world: World, split: str | None, wrap: Wrap) -> None:
        self.world = world
        self._chosen = split
        self._wrap = wrap

    @property
    def split(self) -> str:
        default = self.world.split_for("evaluate")
        return self._chosen or (default if default in self.world.splits() else self.world.split_for("play"))

    @property
    def tasks(self) -> list[Task]:
        return list({task.type: task for task in islice(self.world.tasks(self.split), 500)}.values())

    @property
    def _expert(self) -> Policy | None:
        return self.world.expert() if isinstance(self.world, HasExpert) else None

    def open(self, task: Task) -> Env:
        return self._wrap(self.world.open(task))

    def played(self) -> Iterator[tuple[Task, Env, Step]]:
        """Each task with its env after a reset."""
        for task in self.tasks:
            env = self.open(task)
            yield task, env, env.reset()
            env.close()

    def describes_itself(self) -> Iterator[str]:
        world = self.world
        if not re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", world.name):
            yield f"the name {shown(world.name)} is not of lower-case letters, digits, - and _"
        for what, text in (("engine", world.engine), ("preamble", world.info.preamble), ("manual", world.info.manual)):
            if not text.strip() or not all(line.isprintable() and line.strip() for line in text.splitlines()):
                yield f"its {what} is empty or has an empty or unprintable line: {shown(text)}"

    def has_splits(self) -> Iterator[str]:
        world, splits = self.world, self.world.splits()
        if not splits or len(set(splits)) != len(splits):
            yield f"splits() must name at least one split, each once, not {shown(splits)}"
        for split in {self.split, splits[-1]}:
            tasks = world.tasks(split)
            if [task.number for task in tasks] != list(range(1, len(tasks) + 1)):
                yield f"the tasks of {shown(split)} are not numbered 1, 2, 3, ..."
            if len({task.id for task in tasks}) != len(tasks):
                yield f"two tasks of {shown(split)} have one id"
        if overlap := set(world.info.endless_splits) & set(splits):
            yield f"the endless split {shown(min(overlap))} must not be listed by splits()"

    def fulfils_protocols(self) -> Iterator[str]:
        for protocol in _OF_WORLDS:
            yield from _lacks(self.world, protocol)
        env = unwrapped(self.world.open(self.tasks[0]))
        for protocol in _OF_ENVS:
            yield from _lacks(env, protocol)
        if self.world.info.pictured != (shows := isinstance(env, Pictured)):
            yield f"info.pictured is {not shows}, and its envs are {'' if shows else 'not '}Pictured"
        env.close()

    def has_tasks(self) -> Iterator[str]:
        world = self.world
        for task in islice(world.tasks(self.split), 20):
            if (task.world, task.split) != (world.name, self.split):
                said = f"of the world {shown(task.world)} and the split {shown(task.split)}"
                yield f"task {shown(task.id)} says that it is {said}"
            if not task.type or not task.goal.isprintable() or not task.goal.strip():
                yield f"task {shown(task.id)} needs a type and a goal of one printable line"
            if not world.task(task.id) == world.task(task.reference) == task:
                yield f"task() does not find {shown(task.id)} by its id and by {task.reference}"

    def endless(self) -> Iterator[str]:
        world = self.world
        for split in world.info.endless_splits:
            tasks = world.tasks(split)
            for seed in (0, 1):
                task = tasks[seed]
                if world.task(f"{split}:{seed}") != task or task.number != seed:
                    yield f"{split}:{seed} is not its task number {seed}"
                if task.type not in world.info.task_types:
                    yield f"task_types lacks {shown(task.type)}"
        if world.info.first_task is not None and world.task(world.info.first_task).reference != world.info.first_task:
            yield f"first_task {shown(world.info.first_task)} is not a task's split:number"

    def refuses_references(self) -> Iterator[str]:
        world = self.world
        for what, call in (
            ("tasks('no such split')", lambda: world.tasks("no such split")),
            ("fingerprint('no such split')", lambda: world.fingerprint("no such split")),
            ("task('no such split:1')", lambda: world.task("no such split:1")),
            ("task of a number too large", lambda: world.task(f"{self.split}:{len(world.tasks(self.split)) + 1}")),
        ):
            if wrong := _raises(TaskNotFound, call):
                yield f"{what} {wrong}"

    def has_options(self) -> Iterator[str]:
        options = self.world.Options
        if not dataclasses.is_dataclass(options) or not options.__dataclass_params__.frozen:
            yield "Options must be a frozen dataclass"
        read_options(options, {}, owner="The world")
        if wrong := _raises(ConfigurationError, lambda: read_options(options, {"no such option": 1}, owner="The world")):
            yield f"an unknown option {wrong}"

    def fingerprint(self) -> Iterator[str]:
        first = self.world.fingerprint(self.split)
        if not re.fullmatch(r"[0-9a-f]{64}", first):
            yield f"it must be 64 lower-case hexadecimal digits (a SHA-256), not {shown(first)}"
        if self.world.fingerprint(self.split) != first:
            yield "it changes from call to call"

    def order(self) -> Iterator[str]:
        for task in self.tasks:
            env = self.open(task)
            if env.task != task:
                yield f"env.task is not the task {shown(task.id)} that was opened"
            copy = _supported(env.copy)
            for one in (env, *([copy] if copy else [])):
                if wrong := _raises(OrderError, lambda one=one: one.step("look")):
                    yield f"a step before the first reset {wrong}"

    def opening(self) -> Iterator[str]:
        for task, env, first in self.played():
            if not first.observation.text.endswith(f"Your task is to: {task.goal}"):
                yield f"the opening of {shown(task.id)} does not end with 'Your task is to: ' and the goal"
            if first != Step(Observation(first.observation.text)):
                yield f"the opening of {shown(task.id)} is not a plain step that is accepted and not over"
            _wander(env, 1, 5)
            if not env.reset() == first == self.open(task).reset():
                yield f"a second reset of {shown(task.id)} gives another opening"

    def accepts(self) -> Iterator[str]:
        for task, env, _ in self.played():
            _wander(env, 2, 6)
            listed = env.admissible_commands()
            if listed is None:
                continue
            if list(listed) != sorted(set(listed)):
                yield f"admissible_commands() of {shown(task.id)} is not sorted, or names a command twice"
            for command in listed:
                for form in (command, f" {command}\n"):
                    copy = _supported(env.copy)
                    if copy is not None and not copy.step(form).observation.accepted:
                        yield f"{shown(form)} is listed as admissible and refused"

    def refuses(self) -> Iterator[str]:
        for _, env, _ in self.played():
            before = (env.admissible_commands(), env.goal_conditions())
            for odd in _ODD:
                step = env.step(odd)
                if step.observation.accepted:
                    yield f"{shown(odd, 40)} is accepted, and is not a command"
                if step.done or (env.admissible_commands(), env.goal_conditions()) != before:
                    yield f"{shown(odd, 40)} is refused and changes the game"

    def deterministic(self) -> Iterator[str]:
        for task, env, _ in self.played():
            other = self.open(task)
            other.reset()
            for command, step in _wander(env, 3):
                if other.step(command) != step:
                    yield f"{shown(command)} has another answer in a second env over {shown(task.id)}"
            if env.goal_conditions() != other.goal_conditions():
                yield f"two envs over {shown(task.id)} differ after the same commands"

    def copies(self) -> Iterator[str]:
        for task, env, _ in self.played():
            _wander(env, 4, 8)
            copy, untouched = _supported(env.copy), _supported(env.copy)
            if copy is None or untouched is None:
                continue
            before = (env.admissible_commands(), env.goal_conditions())
            away = _wander(copy, 5)
            if copy.task != task or (env.admissible_commands(), env.goal_conditions()) != before:
                yield f"stepping a copy changes its original, in {shown(task.id)}"
            copy.reset()
            copy.close()
            for one in (env, untouched):
                if [(command, one.step(command)) for command, _ in away] != away:
                    yield f"a copy does not continue as its original does, in {shown(task.id)}"

    def wins(self) -> Iterator[str]:
        expert = self._expert
        for task, env, first in self.played():
            for _, step in steps_of(expert, task, env, first, _EXPERT_STEPS) if expert else _wander(env, 6):
                met, total = env.goal_conditions() or (0, -1)
                if total >= 0 and (not 0 <= met <= total or (met == total) != step.won):
                    yield f"{met} of {total} conditions are met and won is {step.won}, in {shown(task.id)}"
                if step.won and not step.terminated:
                    yield f"won is {step.won} and terminated is {step.terminated}, in {shown(task.id)}"

    def texts(self) -> Iterator[str]:
        for task, env, first in self.played():
            for step in (first, *(step for _, step in _wander(env, 7))):
                text = step.observation.text
                if not text.strip() or len(text) > LONGEST_TEXT:
                    yield f"an observation of {shown(task.id)} has {len(text):,} characters; at most {LONGEST_TEXT:,}, and some"
                if not all(line.isprintable() for line in text.split("\n")):
                    yield f"an observation of {shown(task.id)} cannot be printed: {shown(text)}"

    def hides(self) -> Iterator[str]:
        for task, env, first in self.played():
            secrets = [task.id, *([str(task.source)] if task.source else []), "(:goal"]
            for step in (first, *(step for _, step in _wander(env, 8))):
                for secret in secrets:
                    if secret in str(step.observation):
                        yield f"an observation of {shown(task.id)} tells {shown(secret)}"

    def expert(self) -> Iterator[str]:
        expert, world = self._expert, self.world
        if expert is None or not isinstance(world, HasExpert):
            return
        if wrong := _raises(ConfigurationError, lambda: world.expert(**{"no such setting": 1})):
            yield f"an unknown setting {wrong}"
        for task, env, first in self.played():
            memory: Any = expert.begin(task.goal, first.observation)
            step, walked, given_up = first, 0, False
            for command, step in _wander(env, 9, 10):
                memory, walked = expert.observe(memory, command, step.observation), walked + 1
            while not step.done and walked < _EXPERT_STEPS:
                pickle.loads(pickle.dumps(memory))
                chosen = expert.decide(memory)
                if expert.decide(memory) != chosen:
                    yield f"it decides twice differently from one memory, in {shown(task.id)}"
                if given_up := chosen[0] is None:
                    break
                step, walked = env.step(chosen[0]), walked + 1
                memory = expert.observe(chosen[2], chosen[0], step.observation)
            if not step.won and not given_up:
                yield f"it does not win {shown(task.id)} after some commands of somebody else: {shown(step.observation.text)}"

    def shortest(self) -> Iterator[str]:
        expert, world = self._expert, self.world
        if not isinstance(world, Solvable):
            return
        for task, env, first in self.played():
            shortest = world.shortest(task)
            if world.shortest(task) != shortest:
                yield f"the length for {shown(task.id)} changes from call to call"
            steps = [step for _, step in steps_of(expert, task, env, first, _EXPERT_STEPS)] if expert else []
            if shortest is not None and steps and steps[-1].won and len(steps) < shortest:
                yield f"the expert wins {shown(task.id)} in {len(steps)} commands, fewer than {shortest}"

    def diagnosis(self) -> Iterator[str]:
        world = self.world
        if not isinstance(world, Explaining):
            return
        for task, env, first in self.played():
            explained = self._wrap(world.explained(world.open(task)))
            if explained.reset() != first:
                yield f"with it, {shown(task.id)} opens otherwise"
            for command, step in _wander(env, 10):
                answer = explained.step(command)
                if replace(answer, observation=replace(answer.observation, explanation=None)) != step:
                    yield f"with it, {shown(command)} has another answer in {shown(task.id)}"

    def sandbox(self) -> Iterator[str]:
        for task, _, first in self.played():
            env = _supported(lambda task=task: sandbox(self.world, task))
            if env is None:
                return
            if env.reset() != first:
                yield f"the sandbox of {shown(task.id)} opens otherwise than the game"
            env.close()

    def alone(self) -> Iterator[str]:
        world = self.world
        if not isinstance(world, Shareable):
            return
        for task, env, first in self.played():
            shared = _supported(lambda task=task: world.share(task, _PLAYERS[:1]))
            if shared is None:
                return
            seat = self._wrap(Seat(shared, _PLAYERS[0]))
            if seat.reset() != first:
                yield f"alone in a shared house, {shown(task.id)} opens otherwise"
            for command, step in _wander(env, 13):
                if seat.step(command) != step:
                    yield f"alone in a shared house, {shown(command)} has another answer in {shown(task.id)}"
            if (
                _state(shared) != {_PLAYERS[0]: (env.admissible_commands(), ())}
                or shared.goal_conditions() != env.goal_conditions()
            ):
                yield f"alone in a shared house, {shown(task.id)} differs after the same commands"

    def company(self) -> Iterator[str]:
        world = self.world
        if not isinstance(world, Shareable):
            return
        share: Callable[[Task, Sequence[str]], Shared] = world.share
        for number, task in zip((2, 3, 4), cycle(self.tasks), strict=False):
            players, where = _PLAYERS[:number], f"in the shared house of {shown(task.id)}"
            shared, other = (_supported(partial(share, task, players)) for _ in range(2))
            if shared is None or other is None:
                return
            openings = shared.reset()
            if shared.players != players or {*openings} != {*players} or other.reset() != openings:
                yield f"the players are not those who were named, each with the same opening every time, {where}"
            yield from (f"{wrong} {where}" for wrong in _shared_play(shared, other, random.Random(number)))
            copy, before = _supported(shared.copy), _state(shared)
            for seat in (Seat(copy, player) for player in players) if copy else ():
                _wander(seat, 14, 8)
            if _state(shared) != before:
                yield f"stepping a copy changes its original, {where}"
            shared.close()

    def household(self) -> Iterator[str]:
        household = self.world.household
        if household is None:
            return
        for task, env, first in self.played():
            belief = household.begin(first.observation)
            if not belief.receptacles:
                yield f"no receptacle is read from the opening of {shown(task.id)}"
            for command, step in _wander(env, 11):
                belief = household.update(belief, command, step.observation)
                if household.refused(step.observation) == step.observation.accepted:
                    yield f"refused() says otherwise than the world of {shown(command)}"
            for odd in _ODD:
                household.update(household.begin(Observation(odd)), odd, Observation(odd))
                household.read_goal(odd)
                household.topic(odd, [])

    def room(self) -> Iterator[str]:
        household, world = self.world.household, self.world
        if not isinstance(world, Drawable):
            return
        for task, env, first in self.played():
            room = world.room(task)
            if world.room(task) != room:
                yield f"the room of {shown(task.id)} changes from call to call"
            drawn = {one.name for one in room.fixtures}
            read = [one.name for one in household.begin(first.observation).receptacles] if household else []
            if missing := [name for name in read if name not in drawn]:
                yield f"the room of {shown(task.id)} lacks {shown(missing[0])}"
            floor = reached(set(room.floor), room.start.cell)
            if unreached := [one.name for one in room.fixtures if one.place and one.place.cell not in floor]:
                yield f"nobody can walk to {shown(unreached[0])} in the room of {shown(task.id)}"
            _wander(env, 12)
            now = world.situation(env, room)
            if now is not None and (unknown := [one.name for one in now.holders if one.name not in drawn]):
                yield f"the situation of {shown(task.id)} tells of {shown(unknown[0])}, which is not in its room"


_DEMANDS: dict[str, Callable[[_Check], Iterator[str]]] = {
    "It has a name, and an engine, a preamble and a manual that can be printed": _Check.describes_itself,
    "Each protocol of which it has a method is fulfilled": _Check.fulfils_protocols,
    "Its splits are listed once, their tasks are numbered from 1 and have ids of their own": _Check.has_splits,
    "Each task has a type and a goal of one line, and is found by its id and by split:number": _Check.has_tasks,
    "Tasks of endless splits and the first task are found by split:seed": _Check.endless,
    "Unknown splits and tasks raise TaskNotFound": _Check.refuses_references,
    "Its options are a frozen dataclass with defaults, and others are refused": _Check.has_options,
    "The fingerprint of a split is a SHA-256 that stays the same": _Check.fingerprint,
    "A step before the first reset raises OrderError": _Check.order,
    "Every reset gives the same opening, which ends with the goal": _Check.opening,
    "Admissible commands are sorted and accepted, with spaces round them too": _Check.accepts,
    "Any other text is refused and changes nothing": _Check.refuses,
    "The same commands have the same answers": _Check.deterministic,
    "A copy and its original are independent": _Check.copies,
    "A game is won, and over, when all conditions of its goal are met": _Check.wins,
    "Observations can be printed and are bounded": _Check.texts,
    "Observations tell no id, path or goal in PDDL": _Check.hides,
    "The expert wins or gives up, whoever chose the commands before, and its memory can be pickled": _Check.expert,
    "No walk that wins is shorter than the shortest": _Check.shortest,
    "A diagnosis leaves the game as it is": _Check.diagnosis,
    "The sandbox plays the same game": _Check.sandbox,
    "One player alone in a shared house plays the same game": _Check.alone,
    "In company games are repeatable, copies independent, and news are sentences about others": _Check.company,
    "A household's texts are read into beliefs, whatever they are": _Check.household,
    "A room that it offers has what the household reads, and a way to each place": _Check.room,
}
