"""One game that a client plays: an ordinary episode, whose agent waits for the client's commands."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import nullcontext
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from housequest.agent.base import Decision, Emitter, Grants, Turn
from housequest.agent.episodes.emitter import EventListener
from housequest.agent.episodes.events import CallTiming, Ended, Event, Outcome, Started, Stepped
from housequest.agent.episodes.loop import EpisodeConfig, run_episode
from housequest.agent.episodes.record import EpisodeRecorder
from housequest.agent.roles.base import clean
from housequest.worlds.base import Env, Observation
from housequest.worlds.errors import ConfigurationError

_log = logging.getLogger("housequest")


class RemoteAgent:
    """The agent of one game, whose decisions a client makes.

    ``waiting`` is set while the next decision can be made, and once the game is over.
    """

    name = "mcp"

    def __init__(self) -> None:
        self.turn: Turn | None = None
        self.waiting = asyncio.Event()
        self._decisions: asyncio.Queue[Decision] = asyncio.Queue()

    def begin(self, goal: str, observation: Observation, grants: Grants) -> None:
        del goal, observation, grants

    async def decide(self, memory: None, turn: Turn, emit: Emitter) -> tuple[Decision, None]:
        del memory, emit
        self.turn = turn
        self.waiting.set()
        return await self._decisions.get(), None

    def say(self, decision: Decision) -> None:
        """Make this the next decision; call it only while the agent is ``waiting``."""
        self.waiting.clear()
        self._decisions.put_nowait(decision)


class HostedGame:
    """One game in play, or one that has ended. ``client`` is who began it, None where there is only one client.

    ``listener`` gets every event.
    """

    def __init__(
        self,
        id: str,
        env: Env,
        config: EpisodeConfig,
        record: Path | None,
        client: str | None = None,
        listener: EventListener | None = None,
    ) -> None:
        self.id = id
        self.client = client
        self.config = config
        self.agent = RemoteAgent()
        self.used = time.monotonic()
        self.played = False
        self.started: Started | None = None
        self.last: Stepped | None = None
        self.ended: Ended | None = None
        self._env = env
        self._listener = listener
        self._turn = asyncio.Lock()
        self.episode = asyncio.create_task(self._play(record))
        self.episode.add_done_callback(self._over)

    async def _play(self, path: Path | None) -> None:
        try:
            with nullcontext() if path is None else EpisodeRecorder(path) as recorder:

                def listen(event: Event | CallTiming) -> None:
                    if recorder is not None:
                        recorder(event)
                    if self._listener is not None:
                        self._listener(event)
                    match event:
                        case Event(body=Started() as started):
                            self.started = started
                        case Event(body=Stepped() as stepped):
                            self.last = stepped
                        case _:
                            pass

                self.ended = await run_episode(self._env, self.agent, self.config, listen)
        finally:
            if self.config.inline:
                self._env.close()
            else:
                await asyncio.to_thread(self._env.close)

    def _over(self, episode: asyncio.Task[None]) -> None:
        if not episode.cancelled() and (error := episode.exception()) is not None:
            _log.error("A game broke off: %s", clean(str(error)))
        elif self.ended is not None and self.ended.outcome == "error":
            _log.error("A game ended with an error: %s", self.ended.message)
        self.agent.waiting.set()

    async def say(self, decision: Decision) -> CommandResult:
        """Play ``decision``, one at a time, and return its result. Raises ``ConfigurationError`` if the game is over."""
        async with self._turn:
            await self.agent.waiting.wait()
            self.used = time.monotonic()
            if self.episode.done():
                raise ConfigurationError(f"This game is over: {self.reason}. Begin a new one.")
            self.last = None
            self.played = True
            self.agent.say(decision)
            await self.agent.waiting.wait()
            over, last = self.episode.done(), self.last
            left = self.agent.turn.left if self.agent.turn is not None else self.config.max_turns
            return CommandResult(
                observation=last.observation if last is not None else "",
                accepted=last is not None and last.accepted,
                explanation=last.explanation if last is not None else None,
                turns_left=0 if over else left,
                over=over,
                outcome=self.outcome if over else None,
                reason=self.reason if over else None,
            )

    @property
    def outcome(self) -> Outcome:
        return self.ended.outcome if self.ended is not None else "error"

    @property
    def reason(self) -> str:
        """Why the game is over. Errors name files, which clients must not see; the log has them."""
        if self.ended is None or self.ended.outcome == "error":
            return "the game broke; whoever runs this server finds why in its log"
        return f"won in {self.ended.turns} turns" if self.ended.outcome == "won" else self.ended.reason


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True)


class ListedTask(_Reply):
    """One task: the name to play it by and its goal; its type where that is granted."""

    task: str
    goal: str
    type: str | None = None


class TaskListing(_Reply):
    """Some tasks of a split, and where to go on; ``next`` is None after the last one."""

    split: str
    splits: tuple[str, ...]
    tasks: tuple[ListedTask, ...]
    next: int | None


class GameOpening(_Reply):
    """A game that has begun: what its player is told. ``type`` is None where it is not granted."""

    game: str
    goal: str
    observation: str
    turns_left: int
    grants: tuple[str, ...]
    type: str | None = None


class CommandResult(_Reply):
    """What a command came to. ``outcome`` and ``reason`` are None until the game is over."""

    observation: str
    accepted: bool
    explanation: str | None = None
    turns_left: int
    over: bool = False
    outcome: Outcome | None = None
    reason: str | None = None


class PossibleCommands(_Reply):
    """The commands that would be accepted now."""

    commands: tuple[str, ...]
