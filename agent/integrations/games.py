"""Games that outside clients play by id, one command at a time, and the tasks offered to them.

Each game is an ordinary recorded episode, whose agent waits for the client's commands. The host sets the grants; a client may
ask for less, never for more. Clients name a task by its number, since its id gives its solution away. No answer contains a
task's id or path, hidden state, or a win before the game has ended.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from pydantic import BaseModel

from housequest.agent.base import Act, Decision, Emitter, GiveUp, Grants, Leave, Turn
from housequest.agent.episodes.config import VIEW, EpisodeConfig
from housequest.agent.episodes.emitter import EventListener
from housequest.agent.episodes.events import CallTiming, Ended, Event, Outcome, Started, Stepped
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, playing
from housequest.agent.evaluation.runs.spec import find_types, select, slug
from housequest.agent.roles.base import clean
from housequest.worlds.base import Env, Observation, Task, World
from housequest.worlds.errors import ConfigurationError, HousequestError, OrderError, TaskNotFound, Unsupported, nearest, shown
from housequest.worlds.tasks import TRAINED, covers, read_split, split_tasks

LONGEST_COMMAND = 2_000
MOST_OPEN = 16
"""The most games in play at once; a further one replaces a long idle game, if there is one."""
MOST_EACH = 8
"""The most games of one of several clients in play at once."""
MOST_OVER = 64
"""The most ended games that are kept, so that clients can still read their end."""
MOST_LISTED = 50
IDLE = 600.0
"""Seconds after which an idle game may be replaced."""
UNPLAYED = 60.0
"""The same for a game without any command: a client that only opens games must not keep others out."""
PATIENCE = 5.0
"""Seconds that games get to end when the server is closed."""
_LOOKED_AT = 40
"""Tasks examined for each one listed, to find one of an offered type."""
_log = logging.getLogger("housequest")


@dataclass(frozen=True, slots=True)
class OfferedTasks:
    """The tasks of ``split`` (None: all splits), optionally only of ``types``. ``grants`` are the most that a client can get;
    ``seed`` makes the drawn tasks repeatable. Raises ``Unsupported`` for grants that no client can use."""

    world: World
    split: str | None
    types: tuple[str, ...] = ()
    grants: frozenset[str] = frozenset()
    max_turns: int = 50
    seed: int | None = None

    def __post_init__(self) -> None:
        if VIEW in self.grants:
            raise Unsupported("A client plays by texts, so nothing can be shown to it; leave out --grant view.")
        if "diagnosis" in self.grants:
            tasks = self.tasks_of(self.split or self.world.split_for("play"))
            EpisodeConfig(self.world, self.grants).check_grants(tasks)

    @property
    def splits(self) -> tuple[str, ...]:
        """The offered splits; tasks are drawn from the first by default."""
        return (self.split,) if self.split is not None else (*self.world.info.endless_splits, *self.world.splits())

    def tasks_of(self, split: str) -> Sequence[Task]:
        """The tasks of an offered ``split``; of made-up houses the training ones, unless it names others."""
        return split_tasks(self.world, split, TRAINED)

    def split_named(self, split: str | None) -> str:
        """Check the name of an offered split; None stands for the first. Raises ``TaskNotFound``."""
        splits = self.splits
        if split is not None and split not in splits:
            raise TaskNotFound(f"There is no split {shown(split)} here; there is: {', '.join(splits)}.{nearest(split, splits)}")
        return splits[0] if split is None else split

    def types_of(self, split: str) -> tuple[str, ...]:
        """The full names of the offered types in a split; empty if all are offered."""
        if not self.types:
            return ()
        name, seeds = read_split(split, self.world.info.endless_splits)
        listed = sorted({task.type for task in self.world.tasks(name)}) if seeds is None else self.world.info.types_in(name)
        return find_types(self.types, listed)

    def named(self, reference: str) -> Task:
        """Find the task ``split:number``; ids and paths are refused. Raises ``TaskNotFound``."""
        split, _, number = reference.partition(":")
        if not (number.isascii() and number.isdecimal() and len(number) < 20):
            raise TaskNotFound(f"There is no task {shown(reference)}; name one as {self.splits[0]}:1.")
        if split not in (read_split(each, self.world.info.endless_splits)[0] for each in self.splits):
            self.split_named(split)
        return self.checked(self.world.task(f"{split}:{int(number)}"))

    def checked(self, task: Task) -> Task:
        """Return ``task`` if it is offered. Raises ``TaskNotFound``."""
        if not covers(self.splits, task.split, task.number):
            raise TaskNotFound(f"This server does not offer that task; it offers: {', '.join(self.splits)}.")
        types = self.types_of(task.split)
        if types and task.type not in types:
            raise TaskNotFound("That task is of a type that this server does not offer.")
        return task


@dataclass(frozen=True, slots=True)
class HostOptions(OfferedTasks):
    """The offered tasks; ``records`` is the folder for episodes, None to keep none."""

    split: str | None = None
    records: Path | None = None


class GameRequest(NamedTuple):
    """A client's request: a ``task`` by name (``split:number``) or a drawn one; ``grants`` of None asks for all."""

    task: str | None = None
    split: str | None = None
    type: str | None = None
    seed: int | None = None
    grants: tuple[str, ...] | None = None


class ListedTask(BaseModel, frozen=True):
    """One task: the name to play it by and its goal; its type where that is granted."""

    task: str
    goal: str
    type: str | None = None


class TaskListing(BaseModel, frozen=True):
    """Some tasks of a split, and where to go on; ``next`` is None after the last one."""

    split: str
    splits: tuple[str, ...]
    tasks: tuple[ListedTask, ...]
    next: int | None


class GameOpening(BaseModel, frozen=True):
    """A game that has begun: what its player is told. ``type`` is None where it is not granted."""

    game: str
    goal: str
    observation: str
    turns_left: int
    grants: tuple[str, ...]
    type: str | None = None


class CommandResult(BaseModel, frozen=True):
    """The result of a command. ``outcome`` and ``reason`` are None until the game is over."""

    observation: str
    accepted: bool
    explanation: str | None = None
    turns_left: int
    over: bool = False
    outcome: Outcome | None = None
    reason: str | None = None


class PossibleCommands(BaseModel, frozen=True):
    """The commands that would be accepted now."""

    commands: tuple[str, ...]


def told_of(error: HousequestError) -> str:
    """The message for a client: its own mistake in full, but no details of a broken game, whose error names files."""
    if isinstance(error, ConfigurationError | OrderError):
        return str(error)
    _log.error("A game cannot be played: %s", error)
    return "This game cannot be played; the reason is in the server's log."


class HostedGame:
    """One game in play or ended: an episode, and its agent, whose decisions a client makes.

    ``client`` began it; None if there is only one client. ``waiting`` is set while the next decision can be made, and after the
    game is over. ``listener`` gets every event.
    """

    name = "mcp"

    def __init__(self, env: Env, config: EpisodeConfig, record: Path | None, listener: EventListener | None = None) -> None:
        self.client: str | None = None
        self.config = config
        self.turn: Turn | None = None
        self.waiting = asyncio.Event()
        self.used = time.monotonic()
        self.played = False
        self.started: Started | None = None
        self.last: Stepped | None = None
        self.ended: Ended | None = None
        self._decisions: asyncio.Queue[Decision] = asyncio.Queue()
        self._saying = asyncio.Lock()
        self.episode = asyncio.create_task(self._play(env, record, listener))
        self.episode.add_done_callback(self._over)

    def begin(self, goal: str, observation: Observation, grants: Grants) -> None:
        del goal, observation, grants

    async def decide(self, memory: None, turn: Turn, emit: Emitter) -> tuple[Decision, None]:
        del memory, emit
        self.turn = turn
        self.waiting.set()
        return await self._decisions.get(), None

    async def _play(self, env: Env, path: Path | None, listener: EventListener | None) -> None:
        try:
            with ExitStack() as files:
                recorder = None
                if path is not None:
                    files.enter_context(playing(path))
                    recorder = files.enter_context(EpisodeRecorder(path))

                def listen(event: Event | CallTiming) -> None:
                    for each in (recorder, listener):
                        if each is not None:
                            each(event)
                    match event:
                        case Event(body=Started() as started):
                            self.started = started
                        case Event(body=Stepped() as stepped):
                            self.last = stepped
                        case _:
                            pass

                self.ended = await run_episode(env, self, self.config, listen)
        finally:
            if self.config.world.info.inline:
                env.close()
            else:
                await asyncio.to_thread(env.close)

    def _over(self, episode: asyncio.Task[None]) -> None:
        if not episode.cancelled() and (error := episode.exception()) is not None:
            _log.error("A game broke off: %s", clean(str(error)))
        elif self.ended is not None and self.ended.outcome == "error":
            _log.error("A game ended with an error: %s", self.ended.message)
        self.waiting.set()

    def decided(self, decision: Decision) -> None:
        """Make ``decision`` the next; call it only while the game is ``waiting``."""
        self.waiting.clear()
        self._decisions.put_nowait(decision)

    async def say(self, decision: Decision) -> CommandResult:
        """Play ``decision`` and return its result; calls take turns. Raises ``ConfigurationError`` if the game is over."""
        async with self._saying:
            await self.waiting.wait()
            self.used = time.monotonic()
            self.check_on()
            self.last = None
            self.played = True
            self.decided(decision)
            await self.waiting.wait()
            over, last = self.episode.done(), self.last
            left = self.turn.left if self.turn is not None else self.config.max_turns
            return CommandResult(
                observation=last.observation if last is not None else "",
                accepted=last is not None and last.accepted,
                explanation=last.explanation if last is not None else None,
                turns_left=0 if over else left,
                over=over,
                outcome=self.outcome if over else None,
                reason=self.reason if over else None,
            )

    def check_on(self) -> None:
        """Raise ``ConfigurationError`` if the game is over."""
        if self.episode.done():
            raise ConfigurationError(f"This game is over: {self.reason}. Begin a new one.")

    @property
    def outcome(self) -> Outcome:
        return self.ended.outcome if self.ended is not None else "error"

    @property
    def reason(self) -> str:
        """The reason of the end. Errors name files, which clients must not see; they are in the log."""
        if self.ended is None or self.ended.outcome == "error":
            return "the game broke; the reason is in the server's log"
        return f"won in {self.ended.turns} turns" if self.ended.outcome == "won" else self.ended.reason


class GameHost(AbstractAsyncContextManager["GameHost"]):
    """The games of one server. Leaving its ``async with`` ends the games in play."""

    def __init__(self, options: HostOptions, *, most: int = MOST_OPEN, idle: float = IDLE, unplayed: float = UNPLAYED) -> None:
        self.options = options
        self._most, self._idle, self._unplayed = most, idle, unplayed
        self._dice = Random(options.seed)
        self._games: dict[str, HostedGame] = {}
        # Only one thread at a time may use a world.
        self._asking = asyncio.Lock()

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    @property
    def _playing(self) -> list[HostedGame]:
        return [game for game in self._games.values() if not game.episode.done()]

    async def close(self) -> None:
        """End the games in play; they count as stopped."""
        playing = self._playing
        for game in playing:
            game.decided(Leave("the server was closed"))
        if playing:
            _, late = await asyncio.wait([game.episode for game in playing], timeout=PATIENCE)
            for episode in late:
                episode.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def tasks(self, split: str | None = None, first: int = 1, count: int = MOST_LISTED) -> TaskListing:
        """List at most ``count`` tasks of ``split`` from number ``first`` (from 1). Raises ``ConfigurationError``."""
        async with self._asking:
            return await asyncio.to_thread(self._listing, self.options.split_named(split), first, min(count, MOST_LISTED))

    async def new(self, request: GameRequest, client: str | None = None) -> GameOpening:
        """Begin a game of ``client``, who may have `MOST_EACH`; None is the only client, without that limit. Raises
        ``ConfigurationError``, and ``HousequestError`` if the game is broken."""
        # Shielded: if the client disconnects meanwhile, the game stays.
        return await asyncio.shield(self._new(request, client))

    async def act(self, id: str, command: str) -> CommandResult:
        """Play a command, which may be any text. Raises ``ConfigurationError`` if the game is unknown or over."""
        if len(command) > LONGEST_COMMAND:
            raise ConfigurationError(f"A command has at most {LONGEST_COMMAND} characters, not {len(command)}.")
        return await asyncio.shield(self._game(id).say(Act(clean(command))))

    async def give_up(self, id: str) -> CommandResult:
        """End a game as lost."""
        return await asyncio.shield(self._game(id).say(GiveUp("the player saw no way")))

    async def commands(self, id: str) -> PossibleCommands:
        """The admissible commands, if granted. Raises ``ConfigurationError``, also if the game is over."""
        game = self._game(id)
        if "admissible" not in game.config.grants:
            raise ConfigurationError("This game does not grant 'admissible': its player has to work the commands out.")
        await game.waiting.wait()
        game.check_on()
        return PossibleCommands(commands=(game.turn and game.turn.admissible) or ())

    def _listing(self, split: str, first: int, count: int) -> TaskListing:
        every = self.options.tasks_of(split)
        types = self.options.types_of(split)
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
            config = EpisodeConfig(self.options.world, grants, self.options.max_turns, seed)
            env = await asyncio.to_thread(config.open, task)
            id = secrets.token_hex(16)
            name = f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(task.reference)}-{HostedGame.name}-{id}.jsonl"
            record = None if self.options.records is None else self.options.records / name
            game = self._games[id] = HostedGame(env, config, record)
            game.client = client
        await game.waiting.wait()
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
        return options.checked(select(options.world, split, types, sample=1, seed=seed, usual=TRAINED).tasks[0])

    def _game(self, id: str) -> HostedGame:
        game = self._games.get(id)
        if game is None:
            raise ConfigurationError(f"There is no game {shown(id, 40)}; begin one, and give the id in its answer.")
        return game

    def _make_room(self, client: str | None) -> None:
        """Drop old ended games. Raises ``ConfigurationError`` if ``client`` or all clients have too many in play."""
        over = [id for id, game in self._games.items() if game.episode.done()]
        for id in over[: max(0, len(over) - MOST_OVER + 1)]:
            del self._games[id]
        playing, now = self._playing, time.monotonic()
        own = [id for id, game in self._games.items() if game in playing and client is not None and game.client == client]
        if len(own) >= MOST_EACH:
            raise ConfigurationError(
                f"You have {len(own)} games in play, which is your limit; end or give up one first: {', '.join(own)}."
            )
        if len(playing) < self._most:
            return
        patience = {True: self._idle, False: min(self._idle, self._unplayed)}
        idle = [game for game in playing if game.waiting.is_set() and now - game.used >= patience[game.played]]
        if not idle:
            raise ConfigurationError(f"{len(playing)} games are in play, which is the limit; end or give up one first.")
        min(idle, key=lambda game: game.used).decided(Leave("nobody played on"))
