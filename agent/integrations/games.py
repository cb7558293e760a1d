"""Games that clients outside the process play, one command at a time, by the game's id.

Each game is an ordinary episode with an ordinary record; its agent is a `RemoteAgent`, which waits for the client's commands.
The host decides what is granted; a client may ask for less, never for more. No answer names a task by its id or path, shows
hidden state, or says that a game is won before it has ended.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from agent.base import Act, GiveUp, Leave
from agent.episodes.loop import EpisodeConfig
from agent.evaluation.runs.selection import MANY, find_types, select
from agent.evaluation.runs.spec import slug
from agent.integrations.hosted import (
    CommandResult,
    GameOpening,
    HostedGame,
    ListedTask,
    PossibleCommands,
    RemoteAgent,
    TaskListing,
)
from agent.roles.base import clean
from worlds.base import Task, World
from worlds.errors import ConfigurationError, HousequestError, TaskNotFound, nearest, shown

if TYPE_CHECKING:
    from types import TracebackType

MOST_OPEN = 16
"""Games in play at once; one more is let in only where another has lain idle for long."""

MOST_OVER = 64
"""Games that have ended and whose end can still be asked for."""

MOST_LISTED = 50
IDLE = 1_800.0
"""Seconds after which a game that nobody plays makes room for another."""

LONGEST_COMMAND = 2_000
PATIENCE = 5.0
"""Seconds that a game has to end in when the door is closed."""

_LOOKED_AT = 40
"""Tasks looked at for each that is listed, until one of the type is found."""


@dataclass(frozen=True, slots=True)
class HostOptions:
    """What may be played. ``split`` of None offers all; ``records`` is where episodes go, None for nowhere.

    ``grants`` are what a game can be granted at most; ``seed`` makes the draws the same each time.
    """

    world: World
    split: str | None = None
    types: tuple[str, ...] = ()
    grants: frozenset[str] = frozenset()
    max_turns: int = 50
    seed: int | None = None
    records: Path | None = None


@dataclass(frozen=True, slots=True)
class GameRequest:
    """Which game a client would like: a ``task`` by name (``split:number``), or one drawn; ``grants`` of None takes all."""

    task: str | None = None
    split: str | None = None
    type: str | None = None
    seed: int | None = None
    grants: tuple[str, ...] | None = None


class GameHost:
    """The games of one door. Use it in an ``async with``, which ends whatever is still in play."""

    def __init__(self, offer: HostOptions, *, most: int = MOST_OPEN, idle: float = IDLE) -> None:
        self.offer = offer
        self._most = most
        self._idle = idle
        self._dice = Random(offer.seed)
        self._games: OrderedDict[str, HostedGame] = OrderedDict()
        # A world is asked by one thread at a time.
        self._asking = asyncio.Lock()

    async def __aenter__(self) -> GameHost:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End whatever is still in play: it counts as stopped."""
        playing = [game for game in self._games.values() if not game.episode.done()]
        for game in playing:
            game.guest.say(Leave("the server was closed"))
        if playing:
            _, late = await asyncio.wait([game.episode for game in playing], timeout=PATIENCE)
            for episode in late:
                episode.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    @property
    def splits(self) -> tuple[str, ...]:
        """What can be played, the one that is drawn from first."""
        world = self.offer.world
        if self.offer.split is not None:
            return (self.offer.split,)
        return (*world.endless_splits, *world.splits())

    async def tasks(self, split: str | None = None, first: int = 1, count: int = MOST_LISTED) -> TaskListing:
        """At most ``count`` tasks of ``split``, from its ``first`` on, counted from 1. Raises ``ConfigurationError``."""
        async with self._asking:
            return await asyncio.to_thread(self._listing, self._split(split), first, min(count, MOST_LISTED))

    async def new(self, wish: GameRequest) -> GameOpening:
        """Begin a game. Raises ``ConfigurationError``, and ``GameError`` where it cannot be played."""
        # A client that goes away meanwhile leaves a game behind, as one that goes away later does.
        return await asyncio.shield(asyncio.create_task(self._new(wish)))

    async def act(self, id: str, command: str) -> CommandResult:
        """Play one command, any text at all. Raises ``ConfigurationError`` for an unknown game and one that is over."""
        if len(command) > LONGEST_COMMAND:
            raise ConfigurationError(f"A command has at most {LONGEST_COMMAND} characters, not {len(command)}.")
        return await asyncio.shield(asyncio.create_task(self._game(id).say(Act(clean(command)))))

    async def give_up(self, id: str) -> CommandResult:
        """End a game as lost."""
        return await asyncio.shield(asyncio.create_task(self._game(id).say(GiveUp("the player saw no way"))))

    async def commands(self, id: str) -> PossibleCommands:
        """What would be accepted now, where that was granted. Raises ``ConfigurationError``, also where the game is over."""
        game = self._game(id)
        if "admissible" not in game.terms.grants:
            raise ConfigurationError("This game was begun without the grant 'admissible': its player works the commands out.")
        await game.begun()
        if game.episode.done() or game.guest.turn is None:
            raise ConfigurationError(f"This game is over: {game.reason}. Begin a new one.")
        return PossibleCommands(commands=game.guest.turn.admissible or ())

    def _listing(self, split: str, first: int, count: int) -> TaskListing:
        every = self.offer.world.tasks(split)
        types = self._types(every)
        numbers = range(first - 1, min(len(every), first - 1 + count * _LOOKED_AT))
        found = tuple(islice(((n, every[n]) for n in numbers if not types or every[n].type in types), count))
        end = found[-1][0] + 1 if len(found) == count else numbers.stop
        granted = "type" in self.offer.grants
        tasks = tuple(ListedTask(task=task.reference, goal=task.goal, type=task.type if granted else None) for _, task in found)
        return TaskListing(split=split, splits=self.splits, tasks=tasks, next=end + 1 if end < len(every) else None)

    async def _new(self, wish: GameRequest) -> GameOpening:
        grants = self._granted(wish)
        async with self._asking:
            self._make_room()
            seed = self._dice.randrange(1 << 32) if wish.seed is None else wish.seed
            task = await asyncio.to_thread(self._task, wish, seed)
            world = self.offer.world
            terms = EpisodeConfig(world.engine, grants, self.offer.max_turns, seed, inline=world.inline)
            env = await asyncio.to_thread(terms.open, world, task)
            id = secrets.token_hex(6)
            game = self._games[id] = HostedGame(id, env, terms, self._record(task, id))
        await game.begun()
        if game.started is None or (game.episode.done() and game.outcome == "error"):
            raise HousequestError(game.reason)
        return GameOpening(
            game=id,
            goal=game.started.goal,
            observation=game.started.opening,
            turns_left=terms.max_turns,
            grants=tuple(sorted(grants)),
            type=game.started.type if "type" in grants else None,
        )

    def _granted(self, wish: GameRequest) -> frozenset[str]:
        if wish.grants is None:
            return self.offer.grants
        for grant in wish.grants:
            if grant not in self.offer.grants:
                offered = ", ".join(sorted(self.offer.grants)) or "none"
                raise ConfigurationError(
                    f"This server does not grant {shown(grant)}; it grants: {offered}. Whoever runs it can add --grant."
                )
        return frozenset(wish.grants)

    def _task(self, wish: GameRequest, seed: int) -> Task:
        if wish.task is None:
            if wish.type is not None and "type" not in self._granted(wish):
                raise ConfigurationError("To choose a type is to know it, which is not granted here; leave it out.")
            types = self.offer.types if wish.type is None else (wish.type,)
            task = select(self.offer.world, self._split(wish.split), types, sample=1, seed=seed).tasks[0]
        else:
            if (wish.split, wish.type, wish.seed) != (None, None, None):
                raise ConfigurationError("A task is named and is to be drawn: leave out the task, or split, type and seed.")
            task = self._named(wish.task)
        types = self._types(self.offer.world.tasks(task.split))
        if types and task.type not in types:
            raise TaskNotFound("That task is of a type that this server does not offer.")
        return task

    def _named(self, reference: str) -> Task:
        """The task ``split:number``: an id would tell the goal's solution, and a path is none of a client's business."""
        split, _, number = reference.partition(":")
        if not (number.isascii() and number.isdecimal() and len(number) < 20):
            raise TaskNotFound(f"There is no task {shown(reference)}; name one as {self.splits[0]}:1.")
        return self.offer.world.task(f"{self._split(split)}:{int(number)}")

    def _split(self, split: str | None) -> str:
        splits = self.splits
        if split is not None and split not in splits:
            raise TaskNotFound(f"There is no split {shown(split)} here; there is: {', '.join(splits)}.{nearest(split, splits)}")
        return splits[0] if split is None else split

    def _types(self, every: Sequence[Task]) -> tuple[str, ...]:
        """The types that are offered, of those in a split."""
        if not self.offer.types:
            return ()
        if len(every) <= MANY:
            return find_types(self.offer.types, sorted({task.type for task in every}))
        return find_types(self.offer.types, tuple(self.offer.world.task_types))

    def _game(self, id: str) -> HostedGame:
        game = self._games.get(id)
        if game is None:
            raise ConfigurationError(f"There is no game {shown(id, 40)}; begin one, and give the id that it is told with.")
        return game

    def _make_room(self) -> None:
        """Let the longest ended ones be forgotten; raises ``ConfigurationError`` where all that may be are in play."""
        over = [game for game in self._games.values() if game.episode.done()]
        for game in over[: max(0, len(over) - MOST_OVER + 1)]:
            del self._games[game.id]
        playing = [game for game in self._games.values() if not game.episode.done()]
        if len(playing) < self._most:
            return
        idlest = min(playing, key=lambda game: game.used)
        if time.monotonic() - idlest.used < self._idle or not idlest.guest.waiting.is_set():
            raise ConfigurationError(f"{len(playing)} games are in play, which is all that may be; end or give up one first.")
        idlest.guest.say(Leave("nobody played on"))

    def _record(self, task: Task, id: str) -> Path | None:
        if self.offer.records is None:
            return None
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(task.reference)}-{RemoteAgent.name}-{id}.jsonl"
        return self.offer.records / name
