"""A person who attends an episode by a script, and a model that fails when it is told to, for tests that step in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from housequest.agent.base import (
    Accept,
    Again,
    Agent,
    Another,
    Play,
    Proceed,
    ProposalAnswer,
    Replace,
    Rewind,
    Stop,
    SwitchModel,
    TurnAnswer,
)
from housequest.agent.episodes.events import CallTiming, Ended, Event, Started, Stepped, TurnSpent
from housequest.agent.models.base import Completion, Message, Model, Request, Usage
from housequest.worlds.errors import ModelError


@dataclass(frozen=True)
class Back:
    """Go back to the end of the latest turn of this number, or of the latest before it; 0 is the start."""

    turn: int


@dataclass(frozen=True)
class Other:
    """Change to the model of this name; who attends knows its agent."""

    model: str


Wish = Proceed | Play | SwitchModel | Stop | Accept | Replace | Again | Another | Rewind | Back | Other | None


@dataclass
class Person:
    """Says what stands on lists, one word each time they are asked, and lets everything happen after that.

    ``interrupts``: the ids of events on which they interrupt the agent.
    """

    words: Sequence[Wish] = ()
    verdicts: Sequence[Wish] = ()
    failures: Sequence[Wish] = ()
    ends: Sequence[Wish] = ()
    interrupts: Sequence[int] = ()
    other: Agent | None = None
    attended: bool = True
    heard: tuple[Event, ...] = ()
    said: Mapping[str, int] = field(default_factory=dict[str, int])
    asked: tuple[tuple[str, object], ...] = ()
    interrupting: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, event: Event | CallTiming) -> None:
        """What is told to them; give it as the episode's listener, or call it from there."""
        if isinstance(event, Event):
            self.heard = (*self.heard, event)
            if event.id in self.interrupts:
                self.interrupting.set()

    def twin(self) -> Person:
        """One who has said and heard the same, and goes on alone."""
        twin = copy(self)
        twin.interrupting = asyncio.Event()
        if self.interrupting.is_set():
            twin.interrupting.set()
        return twin

    def _say(self, name: str, wishes: Sequence[Wish], otherwise: Wish, about: object) -> Any:
        at = self.said.get(name, 0)
        self.said = {**self.said, name: at + 1}
        self.asked = (*self.asked, (name, about))
        wish = wishes[at] if at < len(wishes) else otherwise
        if isinstance(wish, Back):
            return Rewind(self.place(wish.turn))
        if isinstance(wish, Other):
            assert self.other is not None
            return SwitchModel(self.other, wish.model)
        return wish

    def place(self, turn: int) -> int:
        """The id of the latest event that ended this turn, or else the nearest one before it, or began the episode."""

        def number(event: Event) -> int:
            return event.body.turn if isinstance(event.body, Stepped | TurnSpent) else 0

        ends = [
            event for event in self.heard if isinstance(event.body, Started | Stepped | TurnSpent) and number(event) <= turn
        ]
        return max(ends, key=lambda event: (number(event), event.id)).id

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> TurnAnswer:
        return self._say("before", self.words, Proceed(), (turn, possible))

    async def review(self, turn: int, proposal: str) -> ProposalAnswer:
        return self._say("review", self.verdicts, Accept(), proposal)

    async def interruption(self) -> None:
        await self.interrupting.wait()
        self.interrupting.clear()

    async def failed(self, turn: int, message: str) -> TurnAnswer:
        return self._say("failed", self.failures, Stop(message), message)

    async def over(self, ended: Ended) -> Rewind | None:
        return self._say("over", self.ends, None, ended)


@dataclass
class Moody(Model):
    """A model in this process that answers by a policy, and fails where so many events have been told.

    With ``never`` it does not answer at all from there on, until it is cancelled.
    """

    policy: Callable[[list[dict[str, str]]], str]
    fails_at: Sequence[int] = ()
    never_at: Sequence[int] = ()
    told: Callable[[], int] = lambda: 0
    name: str = "moody"
    prompts: list[tuple[Message, ...]] = field(default_factory=list[tuple[Message, ...]])

    async def complete(self, request: Request) -> Completion:
        self.prompts.append(tuple(request.messages))
        if self.told() in self.never_at:
            await asyncio.Event().wait()
        if self.told() in self.fails_at:
            raise ModelError("http://secret: it is tired.", recorded="It is tired.")
        reply = self.policy([{"role": message.role, "content": message.content} for message in request.messages])
        return Completion(reply, usage=Usage(sum(len(message.content) for message in request.messages), len(reply)))
