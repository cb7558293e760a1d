"""Sessions of an environment server: each plays one episode after the other; they share only the world. Ids are random, so only
the client that was told an id can play in that session.

They are stepped like a trainer's env: without record, belief and agent. Clients see only what is granted.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from random import Random, SystemRandom
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from housequest.agent.evaluation.runs.spec import SEARCHED, select
from housequest.agent.integrations.games import LONGEST_COMMAND, OfferedTasks
from housequest.agent.roles.base import clean
from housequest.worlds.base import Env, Step, Task
from housequest.worlds.env import OrderChecked, StepLimit, open_env
from housequest.worlds.errors import ConfigurationError, OrderError, TaskNotFound
from housequest.worlds.tasks import TRAINED, MadeUpTasks

MOST_SESSIONS = 256
IDLE = 3600.0
"""Seconds after which an unused session ends: longer than a trainer's update."""
ID_BITS = 62
"""Bits of a session's id: more than anybody can guess by asking, and few enough for clients that keep it as an integer."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServedTasks(OfferedTasks):
    """The offered tasks; at most ``sessions`` at once, which end after ``idle`` unused seconds. If a client names no seed, the
    drawn task depends on ``seed`` and the number of earlier sessions."""

    split: str
    sessions: int = MOST_SESSIONS
    idle: float = IDLE


class TextObservation(BaseModel, frozen=True, extra="forbid"):
    """The observation. ``admissible_commands``, ``explanation`` and ``type`` are None if not granted."""

    text: str
    goal: str
    accepted: bool = True
    explanation: str | None = None
    admissible_commands: tuple[str, ...] | None = None
    type: str | None = None
    turns_left: int
    won: bool = False
    done: bool = False
    reward: float | None = Field(default=None, description="1 for the step that wins, else 0; null at the beginning.")
    metadata: dict[str, Any] = Field(default_factory=dict)


class SessionState(BaseModel, frozen=True, extra="forbid"):
    """The episode of a session and its progress. ``seed`` drew the task; None if the task was named."""

    episode_id: str | None = None
    step_count: int = Field(default=0, ge=0)
    task: str | None = None
    seed: int | None = None


class EnvSession:
    """One client's episodes, one after the other. Concurrent calls take turns. ``number`` counts the server's sessions."""

    def __init__(self, number: int, sessions: Sessions) -> None:
        self.id, self.state = secrets.randbits(ID_BITS), SessionState()
        self.last: TextObservation | None = None
        self.expiry: asyncio.TimerHandle | None = None
        self._sessions, self._served = sessions, sessions.served
        self._turn = asyncio.Lock()
        self._env: Env | None = None
        self._ended = False
        self._dice = SystemRandom() if self._served.seed is None else Random(f"{self._served.seed}/{number}")

    async def reset(
        self, seed: int | None = None, task: str | None = None, place: int | None = None, episode_id: str | None = None
    ) -> TextObservation:
        """Begin an episode of a ``task`` by name or ``place``, or of one drawn by ``seed``. Raises ``HousequestError``."""
        if seed is not None and task is not None:
            raise ConfigurationError("Name a task or have one drawn: leave out task or seed.")
        named = task is not None or place is not None
        drawn = None if named else self._dice.randrange(1 << 32) if seed is None else seed

        async def begin() -> TextObservation:
            async with self._turn:
                if self._ended:  # meanwhile: nobody would close a new env
                    raise ConfigurationError("This session has ended; begin another.")
                async with self._sessions.opening:  # may take a while, since a house is proved to be winnable
                    found = await asyncio.to_thread(self._sessions.found, task, place, drawn or 0)
                    diagnosis = "diagnosis" in self._served.grants
                    env = await asyncio.to_thread(open_env, self._served.world, found, diagnosis=diagnosis)
                await self._leave()  # only now, so that a mistaken reset does not end the episode
                self._env = OrderChecked(StepLimit(env, self._served.max_turns))
                step = await self._in_world(self._env.reset)
                episode = episode_id or f"{self._dice.getrandbits(64):016x}"
                self.state = SessionState(episode_id=episode, task=found.reference, seed=drawn)
                return await self._told(self._env, step, reward=None)

        # Shielded: a client that leaves meanwhile must not interrupt it halfway.
        return await asyncio.shield(begin())

    async def step(self, command: str) -> TextObservation:
        """Play a command, which may be any text. Raises ``OrderError`` outside an episode, and ``ConfigurationError``."""
        if len(command) > LONGEST_COMMAND:
            raise ConfigurationError(f"A command has at most {LONGEST_COMMAND:,} characters, not {len(command):,}.")

        async def play() -> TextObservation:
            async with self._turn:
                env = self._env
                if env is None:
                    raise OrderError("No episode is being played in this session: reset it first.")
                step = await self._in_world(lambda: env.step(clean(command)))
                self.state = self.state.model_copy(update={"step_count": self.state.step_count + 1})
                return await self._told(env, step, reward=float(step.won))

        # A client can leave meanwhile only if the world is slow.
        return await (play() if self._served.world.info.inline else asyncio.shield(play()))

    async def close(self) -> None:
        """End the session and its episode."""
        self._ended = True
        async with self._turn:
            await self._leave()

    async def _leave(self) -> None:
        env, self._env = self._env, None
        self.state, self.last = SessionState(), None
        if env is not None:
            await self._in_world(env.close)

    async def _told(self, env: Env, step: Step, reward: float | None) -> TextObservation:
        grants, task = self._served.grants, env.task
        self.last = TextObservation(
            text=step.observation.text,
            goal=task.goal,
            accepted=step.observation.accepted,
            explanation=step.observation.explanation,
            admissible_commands=await self._in_world(env.admissible_commands) if "admissible" in grants else None,
            type=task.type if "type" in grants else None,
            turns_left=self._served.max_turns - self.state.step_count,
            won=step.won,
            done=step.done,
            reward=reward,
        )
        return self.last

    async def _in_world(self, call: Callable[[], T]) -> T:
        return call() if self._served.world.info.inline else await asyncio.to_thread(call)


class Sessions(AbstractAsyncContextManager["Sessions"]):
    """The sessions of a server. Leaving its ``async with`` ends them."""

    def __init__(self, served: ServedTasks) -> None:
        self.served = served
        every = served.tasks_of(served.split)
        served.types_of(served.split)  # refuses an unknown type before a client connects
        drawn = isinstance(every, MadeUpTasks) and len(every) > SEARCHED
        self._tasks = () if drawn else select(served.world, served.split, served.types).tasks
        self._there = len(self._tasks or every)
        self._open: dict[int, EnvSession] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._begun = 0
        # Only one thread at a time may use a world.
        self.opening = asyncio.Lock()

    async def __aexit__(self, *error: object) -> None:
        for id in list(self._open):
            await self.end(id)

    def __len__(self) -> int:
        return len(self._open)

    @property
    def tasks(self) -> str:
        """The number of served tasks, in words."""
        return f"{self._there:,} tasks" if self._there < len(TRAINED) else "tasks without end"

    def found(self, name: str | None, place: int | None, seed: int) -> Task:
        """Find a task by name or by place in the split (from 0), or draw it like ``--sample 1 --sample-seed SEED``. In an
        endless split a place is a seed. Only one thread may call this at a time."""
        if name is not None:
            return self.served.named(name)
        if place is None or not self._tasks:
            by = seed if place is None else place
            return select(self.served.world, self.served.split, self.served.types, sample=1, seed=by, usual=TRAINED).tasks[0]
        if not 0 <= place < len(self._tasks):
            raise TaskNotFound(f"There is no task {place} here; there are 0 to {len(self._tasks) - 1}.")
        return self._tasks[place]

    def begin(self) -> EnvSession:
        """Open a session. Raises ``ConfigurationError`` if there are too many."""
        if len(self._open) >= self.served.sessions:
            raise ConfigurationError(
                f"{len(self._open)} sessions are open, which is the limit: close one, or start the server with --sessions N."
            )
        self._begun += 1
        session = EnvSession(self._begun, self)
        self._open[session.id] = session
        return session

    def keep(self, session: EnvSession) -> None:
        """Let clients find this session by its id until it is idle for too long."""
        if session.expiry is not None:
            session.expiry.cancel()
        session.expiry = asyncio.get_running_loop().call_later(self.served.idle, self._expire, session.id)

    def used(self, id: int) -> EnvSession:
        """Return the kept session with this id. Raises ``ConfigurationError``."""
        session = self._open.get(id)
        if session is None or session.expiry is None:
            raise ConfigurationError(
                f"There is no session {id} here: it was never created, it was closed, or nobody used it for "
                f"{self.served.idle:,.0f} seconds."
            )
        self.keep(session)
        return session

    async def end(self, id: int) -> None:
        """Close the session with this id, if it is open."""
        if (session := self._open.pop(id, None)) is not None:
            if session.expiry is not None:
                session.expiry.cancel()
            await session.close()

    def _expire(self, id: int) -> None:
        ending = asyncio.create_task(self.end(id))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
