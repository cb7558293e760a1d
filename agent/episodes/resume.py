"""Continues an episode that broke off: replays its record exactly, then plays on.

The real loop runs with the real env. The model answers with its recorded replies until they are used up, the overseer repeats
what the person did, and each event must equal the recorded one. So at the end of the record everything is as it was, and the
next call to the model is the one that would have been made.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, takewhile

from housequest.agent import base
from housequest.agent.base import Agent, AskPerson, Turn, Watcher
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.emitter import FILLED, EpisodeOver, EventListener
from housequest.agent.episodes.events import CallTiming, Ended, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.together import PERSON, Partner, TogetherConfig, run_together
from housequest.agent.models import base as models
from housequest.worlds.base import Env, Observation, Step
from housequest.worlds.env import SharedWrapper, Wrapper
from housequest.worlds.errors import ConfigurationError, ModelError, shown
from housequest.worlds.shared import Shared

AgentFactory = Callable[[models.Model | None, AskPerson | None], Agent]
"""Makes the agent from a model and a way to ask a person; each is None if the agent plays without it."""

CommandsListener = Callable[[tuple[str, ...] | None], None]
"""Called with the commands that would be accepted at a turn; None if the world cannot list them or nobody attends."""


class RecordMisfit(ConfigurationError):
    """The episode differs from its record from this ``event`` on."""

    def __init__(self, message: str, event: int) -> None:
        super().__init__(message)
        self.event = event


async def resume_episode(
    env: Env,
    make_agent: AgentFactory,
    config: EpisodeConfig,
    recorded: Sequence[Event],
    listener: EventListener,
    overseer: base.Overseer | None = None,
    *,
    model: models.Model | None = None,
    question: AskPerson | None = None,
    listing: CommandsListener | None = None,
    watcher: Watcher | None = None,
    halt: Callable[[ModelError], None] = lambda _: None,
) -> Ended:
    """Play on from the end of ``recorded``, and return how the episode ended.

    Args:
        env: A new env for the same task.
        make_agent: Makes the agent.
        config: The configuration of the record.
        listener: Gets only new events.
        overseer: Used once the record is used up, as are ``model`` (the last one) and ``question``.
        listing: Gets the possible commands at each replayed turn, since a review may come before a new turn.
        watcher: Sees the replayed pictures, too, which are drawn again.
        halt: As in `run_episode`.

    Raises ``RecordMisfit`` that names the first event that differs.
    """
    cursor = _Cursor(recorded)
    script = _Script(cursor, overseer or base.Unattended(), listing)
    agent = script.make_agent(make_agent, model, question)
    played = _RecordedEnv(env, cursor)
    return await cursor.through(
        listener, lambda listen: run_episode(played, agent, config, listen, script, watcher=watcher, halt=halt)
    )


@dataclass(frozen=True, slots=True)
class ResumedPartner:
    """A player of a recorded game of several, like `housequest.agent.episodes.together.Partner` in a new game. Its agent plays
    the recorded replies, and then goes on with ``model`` and ``question``.
    """

    name: str
    make_agent: AgentFactory
    config: EpisodeConfig
    overseer: base.Overseer = field(default_factory=base.Unattended)
    model: models.Model | None = None
    question: AskPerson | None = None


async def resume_together(
    house: Shared,
    partners: Sequence[ResumedPartner],
    recorded: Sequence[Event],
    listener: EventListener,
    company: TogetherConfig | None = None,
    *,
    halt: Callable[[ModelError], None] = lambda _: None,
) -> Ended:
    """Play on from the end of a ``recorded`` game of several players, and return how it ended.

    Args:
        house: A new house of the same task.
        partners: Those who play, as they were.
        recorded: The events so far.
        listener: Gets only new events.
        company: The settings of the record.
        halt: As in `run_episode`.

    Raises ``RecordMisfit`` that names the first event that differs, and what `run_together` raises.
    """
    cursor, company = _Cursor(recorded), company or TogetherConfig()
    seated = list[Partner]()
    for one in partners:
        script = _Script(cursor, one.overseer, None, one.name, at_once=company.order == "at-once")
        agent = script.make_agent(one.make_agent, one.model, one.question)
        seated.append(Partner(one.name, agent, one.config, script))
    played = _RecordedHouse(house, cursor)
    return await cursor.through(listener, lambda listen: run_together(played, seated, listen, company, halt=halt))


_NO_ANSWER = (events.ModelFailed, events.Intervened, events.Proposed, events.Stepped, events.TurnSpent, Ended)
"""One of these comes next if a call was not answered; the call after it is another one."""


class _Misfit(BaseException):
    """The episode differs from the record. Not an ``Exception``, so that neither agent nor world is blamed for it."""

    def __init__(self, message: str, event: int) -> None:
        super().__init__(message)
        self.event = event


class _Cursor:
    """The recorded events, and a position in them: what the loop plays must be the next one."""

    def __init__(self, recorded: Sequence[Event]) -> None:
        self.recorded = recorded
        self.bodies = [event.body for event in recorded]
        self.at = 0
        self.touched = any(isinstance(body, events.Intervened | events.ModelFailed) for body in self.bodies)
        self.called = Counter[str | None]()
        # Set while the next event is an interruption, and at the end of the record; and while it is the end of the episode.
        self.called_off, self.ending = asyncio.Event(), asyncio.Event()
        self._look()

    @property
    def next(self) -> events.Body | None:
        """The next recorded event; None at the end of the record."""
        return self.bodies[self.at] if self.at < len(self.bodies) else None

    async def through(self, listener: EventListener, play: Callable[[EventListener], Awaitable[Ended]]) -> Ended:
        """Play with a listener that compares recorded events, and passes new ones on. Raises ``RecordMisfit``."""

        def listen(event: Event | CallTiming) -> None:
            if (event.of if isinstance(event, CallTiming) else event.id) >= len(self.recorded):
                listener(event)
            elif isinstance(event, Event):
                self.enact(event)

        try:
            ended = await play(listen)
            if self.next is not None:
                raise self.misfit("the episode was over before it")
        except _Misfit as misfit:
            raise RecordMisfit(str(misfit), misfit.event) from None
        return ended

    def read(self, step: Step) -> Step:
        """Add to ``step`` the belief of its recorded answer, if there is one; a different answer is a misfit anyway."""
        belief = self.recorded[self.at].belief if self.next is not None else None
        return step if belief is None else replace(step, observation=replace(step.observation, belief=belief))

    def enact(self, event: Event) -> None:
        """Move to the next event. Raises ``_Misfit`` if ``event`` is not the recorded one."""
        recorded = self.recorded[self.at]
        if event != recorded:
            raise self.misfit(_difference(event, recorded))
        self.at += 1
        self.called[event.player] += isinstance(event.body, events.ModelCall)
        self._look()

    def _look(self) -> None:
        called_off = self.next is None or (isinstance(self.next, events.Intervened) and self.next.action == "interrupt")
        (self.called_off.set if called_off else self.called_off.clear)()
        (self.ending.set if isinstance(self.next, Ended) else self.ending.clear)()

    def break_off(self) -> None:
        """Raise ``EpisodeOver`` if an error ends the episode here."""
        if isinstance(self.next, Ended) and (self.next.outcome == "error" or self.next.reason == FILLED):
            raise EpisodeOver(self.next.outcome, self.next.reason, self.next.boundary, self.next.message)

    def misfit(self, how: str) -> _Misfit:
        event = self.recorded[self.at]
        return _Misfit(
            f"The record does not fit: at event {event.id} ({event.body.kind}) {how}. Go on with the task, agent, settings, "
            "rules and version that it was recorded with, or play the task anew.",
            event.id,
        )


class _Script:
    """The record of one ``player``. As an overseer it repeats what the person did, then asks the ``live`` one. If nobody
    intervened and nobody attends, replaying takes no longer than playing. ``agent`` is the one that plays. ``free``: replies
    were not held to a form. Where players decided ``at_once``, each goes ahead in its own events, which are compared later.
    """

    agent: Agent

    def __init__(
        self,
        cursor: _Cursor,
        live: base.Overseer,
        listing: CommandsListener | None,
        player: str | None = None,
        *,
        at_once: bool = False,
    ) -> None:
        self.cursor = cursor
        self._live = live
        self._listing = listing
        self.player = player
        self._at_once = at_once
        self.emitted = 0
        self._back: events.Body | None = None
        started = cursor.bodies[0] if cursor.bodies else None
        settings = started.settings if isinstance(started, events.Started) else {}
        if isinstance(started, events.Started):
            settings = next((one.settings for one in started.players or () if one.name == player), settings)
        self.free = settings.get("form", "free") == "free"

    def make_agent(self, make: AgentFactory, model: models.Model | None, question: AskPerson | None) -> Agent:
        """Make the agent that plays."""
        agent = make(
            None if model is None else _RecordedModel(self, model),
            None if question is None else _recorded_question(self, question),
        )
        self.agent = _Ahead(agent, self) if self._at_once else agent
        return self.agent

    @property
    def coming(self) -> Event | None:
        """The next recorded event that is not a person's return; None at the end of the record."""
        ahead = self.cursor.recorded[self.cursor.at : self.cursor.at + 2]
        return next((one for one in ahead if not (isinstance(one.body, events.Joined) and one.body.agent == PERSON)), None)

    @property
    def plays_for_them(self) -> bool:
        """True if an agent decides next in place of this person."""
        own = (one for one in events.branch(self.cursor.recorded[: self.cursor.at + 1]) if one.player == self.player)
        joined = [one.body.agent for one in own if isinstance(one.body, events.Joined)]
        called_off = isinstance(self.next, events.Intervened) and self.next.action == "interrupt"
        return bool(joined) and joined[-1] != PERSON and not called_off

    @property
    def next(self) -> events.Body | None:
        """The next recorded event of this player; None at the end of its record."""
        if not self._at_once:
            return self.cursor.next
        ahead = self.emitted - self.cursor.called[self.player]
        for one in self._own():
            if isinstance(one, events.ModelCall) and ahead:
                ahead -= 1
            elif isinstance(one, (events.ModelCall, *_NO_ANSWER)):
                return one
        return None

    def _own(self) -> Iterator[events.Body]:
        """This player's recorded events from here on, and the end."""
        coming = islice(self.cursor.recorded, self.cursor.at, None)
        return (event.body for event in coming if event.player in {self.player, None})

    def calls(self) -> tuple[events.ModelCall | None, events.ModelCall | None]:
        """The recorded answer to the present call, if there is one, and the nearest answered call."""
        called = events.ModelCall
        coming = next((one for one in self._own() if isinstance(one, (called, *_NO_ANSWER))), None)
        before = (one.body for one in reversed(self.cursor.recorded[: self.cursor.at]) if one.player == self.player)
        near = next((one for one in chain(self._own(), before) if isinstance(one, called)), None)
        return coming if isinstance(coming, called) else None, near

    async def missing(self, what: str) -> BaseException:
        """The error for ``what``, which has no recorded answer. If the call was interrupted, wait to be cancelled instead."""
        match self.next:
            case events.Intervened(action="interrupt"):
                await asyncio.Event().wait()
            case events.ModelFailed(message=message):
                return ModelError(message)
            case Ended() if self._at_once:
                # Another player's step may have ended the episode before this answer was recorded.
                await self.cursor.ending.wait()
            case _:
                pass
        self.cursor.break_off()
        return self.cursor.misfit(f"{what} comes first")

    @property
    def attended(self) -> bool:
        return self._live.attended or (self.cursor.touched and self.cursor.next is not None)

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> base.TurnAnswer:
        possible = possible if self._live.attended else None
        if self._listing is not None:
            self._listing(possible)
        match self.next:
            case None:
                return await self._live.before(turn, possible)
            case events.Intervened() as did if did.action not in {"interrupt", "hint"}:
                return self._turn_answer(did)
            case _:
                return base.Proceed(self._hints())

    async def review(self, turn: int, proposal: str) -> base.ProposalAnswer:
        match self.next:
            case None:
                return await self._live.review(turn, proposal)
            case events.Intervened(action="rewind"):
                return self._rewind()
            case events.Intervened(action="another"):
                return base.Another()
            case events.Intervened(action="replace" | "again" | "stop" as action, text=text):
                return {"replace": base.Replace, "again": base.Again, "stop": base.Stop}[action](text)
            case _:
                return base.Accept()

    async def interruption(self) -> None:
        await self.cursor.called_off.wait()
        if self.next is None:
            await self._live.interruption()

    async def failed(self, turn: int, message: str) -> base.TurnAnswer:
        match self.next:
            case None:
                return await self._live.failed(turn, message)
            case events.Intervened(action="retry"):
                return base.Proceed(self._hints(after=1))
            case events.Intervened() as did:
                return self._turn_answer(did)
            case _:
                raise self.cursor.misfit("what to do about a failure comes first")

    async def over(self, ended: Ended) -> base.Rewind | None:
        if self.next is None:
            return await self._live.over(ended)
        return self._rewind() if isinstance(self.next, events.Intervened) and self.next.action == "rewind" else None

    def _hints(self, *, after: int = 0) -> tuple[str, ...]:
        coming = (
            body if isinstance(body, events.Intervened) else None for body in self.cursor.bodies[self.cursor.at + after :]
        )
        return tuple(body.text for body in takewhile(lambda body: body and body.action == "hint", coming) if body)

    def _turn_answer(self, did: events.Intervened) -> base.TurnAnswer:
        match did.action:
            case "play":
                return base.Play(did.text)
            case "stop":
                return base.Stop(did.text)
            case "model":
                # At the end of the record the present agent uses the live model anyway.
                return base.SwitchModel(self.agent, did.text)
            case "rewind":
                return self._rewind()
            case _:
                raise self.cursor.misfit("the turn comes first")

    def _rewind(self) -> base.Rewind:
        """The recorded rewind that comes next. A second request for it means that it led nowhere."""
        if self._back is self.next:
            raise self.cursor.misfit("a rewind to a place where no turn began comes first")
        self._back = self.next
        return base.Rewind(self.cursor.recorded[self.cursor.at].parent or 0)


class _Ahead:
    """An agent whose events are held back, and counted meanwhile."""

    def __init__(self, agent: Agent, script: _Script) -> None:
        self.name, self._agent, self._script = agent.name, agent, script

    def begin(self, goal: str, observation: Observation, grants: base.Grants) -> base.Memory:
        return self._agent.begin(goal, observation, grants)

    async def decide(self, memory: base.Memory, turn: Turn, emit: base.Emitter) -> tuple[base.Decision, base.Memory]:
        def counted(body: base.AgentEvent, timing: models.Timing | None = None) -> None:
            emit(body, timing)
            self._script.emitted += isinstance(body, events.ModelCall)

        return await self._agent.decide(memory, turn, counted)


def _difference(event: Event, recorded: Event) -> str:
    if (event.id, event.parent) != (recorded.id, recorded.parent):
        return f"there is event {event.id} after {event.parent} where {recorded.id} after {recorded.parent} is recorded"
    now, then = event.body, recorded.body
    if event.player != recorded.player:
        return f"it is {event.player}'s turn where {recorded.player}'s is recorded"
    if now.kind != then.kind:
        return f"there is another kind of event, {now.kind}"
    seen, saw = ([one.image for one in body.added] if isinstance(body, events.ModelCall) else [] for body in (now, then))
    if seen != saw:
        return "the agent sees another picture than then"
    fields = type(then).model_fields
    key = next((key for key in fields if getattr(now, key) != getattr(then, key)), "something")
    return f"{key} is {shown(getattr(now, key, None))} where {shown(getattr(then, key, None))} is recorded"


class _RecordedModel(models.ModelWrapper):
    """Answers with the recorded replies, held or plain as they were, then with those of the live model."""

    def __init__(self, script: _Script, live: models.Model) -> None:
        super().__init__(live)
        self._script = script

    async def capabilities(self) -> models.Capabilities:
        return self._as_then(await super().capabilities())

    async def probe(self, part: models.ProbedPart) -> models.Capabilities:
        return self._as_then(await models.probe(self.model, part))

    def _as_then(self, now: models.Capabilities) -> models.Capabilities:
        """Change the capabilities that decide how the next call is made to those of the record."""
        if self._script.next is None:
            return now
        call, near = self._script.calls()
        if near is None:
            return replace(now, grammar=True)
        plain, held = bool(near.plain), near.held is not None
        # In a free run, nothing tells a choice from a reply.
        choices = now.choices if self._script.free else held
        # A failed call is made again only to report its failure, which a model that cannot be held would prevent.
        grammar = held or call is None
        return replace(now, chats=not plain, completions=plain, grammar=grammar, schema=False, choices=choices)

    async def complete(self, request: models.Request) -> models.Completion:
        called = await self._call()
        if called is None:
            return await super().complete(request)
        begun = tuple((one.text, one.logprob) for one in called.candidates or ())
        tokens = (models.TokenChoice(*begun[0], begun),) if begun else ()
        completion = models.Completion(called.reply, called.finish, _usage(called), tokens=tokens, held=called.held)
        return replace(completion, thinking=called.thinking or "", learned=called.learned or ())

    async def score(self, messages: Sequence[models.Message], continuations: Sequence[str]) -> models.Scores:
        called = await self._call()
        if called is None:
            return await models.score(self.model, messages, continuations)
        if called.candidates is None:
            raise await self._script.missing("a call to the model")
        # A text that is not among the recorded best was not selected, so its score does not matter.
        known = {candidate.text: candidate.logprob for candidate in called.candidates}
        logprobs = tuple(known.get(text, -math.inf) for text in continuations)
        if called.reply in continuations:
            return models.Scores(logprobs, called.calls or 1, _usage(called))
        # The selected text carries the cost, however many texts were scored at once.
        return models.Scores(logprobs, 0, models.Usage(0, 0))

    async def _call(self) -> events.ModelCall | None:
        coming = self._script.next
        if coming is None or isinstance(coming, events.ModelCall):
            return coming
        raise await self._script.missing("a call to the model")


def _usage(called: events.ModelCall) -> models.Usage:
    return models.Usage(called.prompt_tokens, called.completion_tokens, called.thinking_tokens)


def _recorded_question(script: _Script, live: AskPerson) -> AskPerson:
    """Repeats a player's recorded commands, then asks them."""

    async def ask(turn: Turn) -> str | base.Say | base.Overheard | base.Idle | base.Away | None:
        coming = script.coming
        match coming.body if coming is not None else None:
            case None:
                return await live(turn)
            case _ if script.plays_for_them:
                return base.Away()
            case events.Said(text=text) if coming is not None and coming.player != script.player:
                return base.Overheard(coming.player or "", text)
            case events.Said(text=text):
                return base.Say(text)
            case events.TurnSpent(reason=reason):
                return base.Idle(reason or "")
            case events.Proposed(command=command):
                return command
            case Ended(outcome="stopped"):
                return None
            case _:
                raise await script.missing("a question to the player")

    return ask


class _RecordedEnv(Wrapper):
    """The real env. It fails where a failure is recorded, and its recorded answers are not read again."""

    def __init__(self, env: Env, cursor: _Cursor) -> None:
        super().__init__(env)
        self._cursor = cursor

    def reset(self) -> Step:
        _break(self._cursor)
        return self._cursor.read(super().reset())

    def step(self, command: str) -> Step:
        _break(self._cursor)
        return self._cursor.read(super().step(command))


class _RecordedHouse(SharedWrapper):
    """The real house of several. It fails where a failure is recorded."""

    def __init__(self, house: Shared, cursor: _Cursor) -> None:
        super().__init__(house)
        self._cursor = cursor

    def reset(self) -> Mapping[str, Step]:
        _break(self._cursor)
        return super().reset()

    def step(self, player: str, command: str) -> Step:
        _break(self._cursor)
        return super().step(player, command)


def _break(cursor: _Cursor) -> None:
    if isinstance(cursor.next, Ended) and cursor.next.boundary == "world":
        cursor.break_off()
