"""Hosts games that clients outside the process play by the game's id, one command at a time.

Each game is an ordinary episode with an ordinary record; its agent is a `RemoteAgent`, which waits for the client's commands.
The host decides what is granted; a client may ask for less, never for more. No answer contains a task's id or path, hidden
state, or a win before the game has ended.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from housequest.agent.base import Act, GiveUp, Leave
from housequest.agent.episodes.loop import EpisodeConfig
from housequest.agent.evaluation.runs.spec import select, slug
from housequest.agent.integrations.hosted import (
    CommandResult,
    GameOpening,
    HostedGame,
    ListedTask,
    PossibleCommands,
    RemoteAgent,
    TaskListing,
)
from housequest.agent.integrations.offered import LONGEST_COMMAND, OfferedTasks
from housequest.agent.roles.base import clean
from housequest.worlds.base import Task
from housequest.worlds.errors import ConfigurationError, HousequestError, shown

MOST_OPEN = 16
"""Games in play at once; one more replaces a game that has been idle for long, if there is one."""

MOST_EACH = 8
"""Games that one of several clients may have in play at once."""

MOST_OVER = 64
"""Ended games that are kept, so that clients can still read their end."""

MOST_LISTED = 50
IDLE = 600.0
"""Seconds after which an idle game makes room for another."""

UNPLAYED = 60.0
"""The same for a game in which nobody has played a command yet: a client that only opens games keeps nobody out for long."""

PATIENCE = 5.0
"""Seconds in which games must end when the server is closed."""

_LOOKED_AT = 40
"""Tasks examined for each one listed, to find one of an offered type."""


@dataclass(frozen=True, slots=True)
class HostOptions(OfferedTasks):
    """What clients may play. ``records`` is the folder for episodes, None for none."""

    split: str | None = None
    records: Path | None = None


@dataclass(frozen=True, slots=True)
class GameRequest:
    """A client's request: a ``task`` by name (``split:number``) or a drawn one; ``grants`` of None takes all."""

    task: str | None = None
    split: str | None = None
    type: str | None = None
    seed: int | None = None
    grants: tuple[str, ...] | None = None


class GameHost:
    """The games of one server. Use it in an ``async with``, which ends the games still in play."""

    def __init__(self, options: HostOptions, *, most: int = MOST_OPEN, idle: float = IDLE, unplayed: float = UNPLAYED) -> None:
        self.options = options
        self._most = most
        self._idle = idle
        self._unplayed = unplayed
        self._dice = Random(options.seed)
        self._games: dict[str, HostedGame] = {}
        # Only one thread at a time may use a world.
        self._asking = asyncio.Lock()

    async def __aenter__(self) -> GameHost:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the games in play; they count as stopped."""
        playing = [game for game in self._games.values() if not game.episode.done()]
        for game in playing:
            game.agent.say(Leave("the server was closed"))
        if playing:
            _, late = await asyncio.wait([game.episode for game in playing], timeout=PATIENCE)
            for episode in late:
                episode.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def tasks(self, split: str | None = None, first: int = 1, count: int = MOST_LISTED) -> TaskListing:
        """At most ``count`` tasks of ``split``, from number ``first`` (counted from 1). Raises ``ConfigurationError``."""
        async with self._asking:
            return await asyncio.to_thread(self._listing, self.options.split_named(split), first, min(count, MOST_LISTED))

    async def new(self, request: GameRequest, client: str | None = None) -> GameOpening:
        """Begin a game, one of the ``MOST_EACH`` of ``client``; None is the only client, and all places are its own.

        Raises ``ConfigurationError``, and ``GameError`` if it cannot be played.
        """
        # Shielded: if the client disconnects meanwhile, the game stays, as if it disconnected later.
        return await asyncio.shield(asyncio.create_task(self._new(request, client)))

    async def act(self, id: str, command: str) -> CommandResult:
        """Play one command, any text at all. Raises ``ConfigurationError`` for an unknown game and one that is over."""
        if len(command) > LONGEST_COMMAND:
            raise ConfigurationError(f"A command has at most {LONGEST_COMMAND} characters, not {len(command)}.")
        return await asyncio.shield(asyncio.create_task(self._game(id).say(Act(clean(command)))))

    async def give_up(self, id: str) -> CommandResult:
        """End a game as lost."""
        return await asyncio.shield(asyncio.create_task(self._game(id).say(GiveUp("the player saw no way"))))

    async def commands(self, id: str) -> PossibleCommands:
        """The admissible commands, if granted. Raises ``ConfigurationError``, also if the game is over."""
        game = self._game(id)
        if "admissible" not in game.config.grants:
            raise ConfigurationError("This game does not grant 'admissible': its player has to work the commands out.")
        await game.agent.waiting.wait()
        if game.episode.done() or game.agent.turn is None:
            raise ConfigurationError(f"This game is over: {game.reason}. Begin a new one.")
        return PossibleCommands(commands=game.agent.turn.admissible or ())

    def _listing(self, split: str, first: int, count: int) -> TaskListing:
        every = self.options.world.tasks(split)
        types = self.options.types_among(every)
        numbers = range(first - 1, min(len(every), first - 1 + count * _LOOKED_AT))
        found = tuple(islice(((n, every[n]) for n in numbers if not types or every[n].type in types), count))
        end = found[-1][0] + 1 if len(found) == count else numbers.stop
        granted = "type" in self.options.grants
        tasks = tuple(ListedTask(task=task.reference, goal=task.goal, type=task.type if granted else None) for _, task in found)
        return TaskListing(split=split, splits=self.options.splits, tasks=tasks, next=end + 1 if end < len(every) else None)

    async def _new(self, request: GameRequest, client: str | None) -> GameOpening:
        grants = self._granted(request)
        async with self._asking:
            self._make_room(client)
            seed = self._dice.randrange(1 << 32) if request.seed is None else request.seed
            task = await asyncio.to_thread(self._task, request, seed)
            world = self.options.world
            config = EpisodeConfig(world.engine, grants, self.options.max_turns, seed, inline=world.inline)
            env = await asyncio.to_thread(config.open, world, task)
            id = secrets.token_hex(6)
            name = f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(task.reference)}-{RemoteAgent.name}-{id}.jsonl"
            record = None if self.options.records is None else self.options.records / name
            game = self._games[id] = HostedGame(id, env, config, record, client)
        await game.agent.waiting.wait()
        if game.started is None or (game.episode.done() and game.outcome == "error"):
            raise HousequestError(game.reason)
        return GameOpening(
            game=id,
            goal=game.started.goal,
            observation=game.started.opening,
            turns_left=config.max_turns,
            grants=tuple(sorted(grants)),
            type=game.started.type if "type" in grants else None,
        )

    def _granted(self, request: GameRequest) -> frozenset[str]:
        granted = self.options.grants
        for grant in request.grants or ():
            if grant not in granted:
                offered = ", ".join(sorted(granted)) or "none"
                raise ConfigurationError(
                    f"This server does not grant {shown(grant)}; it grants: {offered}. Whoever runs it can add --grant."
                )
        return granted if request.grants is None else frozenset(request.grants)

    def _task(self, request: GameRequest, seed: int) -> Task:
        options = self.options
        if request.task is not None:
            if (request.split, request.type, request.seed) != (None, None, None):
                raise ConfigurationError("Name a task or have one drawn: leave out the task, or split, type and seed.")
            return options.named(request.task)
        if request.type is not None and "type" not in self._granted(request):
            raise ConfigurationError("A type cannot be chosen here, since knowing it is not granted; leave it out.")
        types = options.types if request.type is None else (request.type,)
        split = options.split_named(request.split)
        return options.checked(select(options.world, split, types, sample=1, seed=seed).tasks[0])

    def _game(self, id: str) -> HostedGame:
        game = self._games.get(id)
        if game is None:
            raise ConfigurationError(f"There is no game {shown(id, 40)}; begin one, and give the id in its answer.")
        return game

    def _make_room(self, client: str | None) -> None:
        """Forget the oldest ended games; raises ``ConfigurationError`` if too many are in play, of ``client`` or of all."""
        over = [game for game in self._games.values() if game.episode.done()]
        for game in over[: max(0, len(over) - MOST_OVER + 1)]:
            del self._games[game.id]
        playing = [game for game in self._games.values() if not game.episode.done()]
        own = [game.id for game in playing if client is not None and game.client == client]
        if len(own) >= MOST_EACH:
            raise ConfigurationError(
                f"You have {len(own)} games in play, which is your share; play on or give up one first: {', '.join(own)}."
            )
        if len(playing) < self._most:
            return
        idlest = min((game for game in playing if self._makes_room(game)), key=lambda game: game.used, default=None)
        if idlest is None:
            raise ConfigurationError(f"{len(playing)} games are in play, which is the limit; end or give up one first.")
        idlest.agent.say(Leave("nobody played on"))

    def _makes_room(self, game: HostedGame) -> bool:
        patience = self._idle if game.played else min(self._idle, self._unplayed)
        return game.agent.waiting.is_set() and time.monotonic() - game.used >= patience
