"""Continues an episode that broke off: replays its record exactly, then plays on.

The real loop runs with the real env. The model answers with its recorded replies until they are used up, the overseer repeats
what the person did, and each event must equal the recorded one. So at the end of the record everything is as it was, and the
next call to the model is the one that would have been made.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, islice, takewhile

from housequest.agent import base
from housequest.agent.base import Agent, AskPerson, Turn, Watcher
from housequest.agent.episodes import events
from housequest.agent.episodes.emitter import FILLED, EpisodeOver, EventListener
from housequest.agent.episodes.events import CallTiming, Ended, Event
from housequest.agent.episodes.loop import EpisodeConfig, run_episode
from housequest.agent.models import base as models
from housequest.worlds.base import Env, Step
from housequest.worlds.env import Wrapper
from housequest.worlds.errors import ConfigurationError, ModelError, shown

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
    script = _Script(recorded, overseer or base.Unattended(), listing)
    agent = script.agent = make_agent(
        None if model is None else _RecordedModel(script, model),
        None if question is None else _recorded_question(script, question),
    )

    def listen(event: Event | CallTiming) -> None:
        if (event.of if isinstance(event, CallTiming) else event.id) >= len(recorded):
            listener(event)
        elif isinstance(event, Event):
            script.enact(event)

    try:
        played = _RecordedEnv(env, script)
        ended = await run_episode(played, agent, config, listen, script, watcher=watcher, halt=halt)
        if script.next is not None:
            raise script.misfit("the episode was over before it")
    except _Misfit as misfit:
        raise RecordMisfit(str(misfit), misfit.event) from None
    return ended


_NO_ANSWER = (events.ModelFailed, events.Intervened, events.Proposed, events.Stepped, events.TurnSpent, Ended)
"""One of these comes next if a call was not answered; the call after it is another one."""


class _Misfit(BaseException):
    """The episode differs from the record. Not an ``Exception``, so that neither agent nor world is blamed for it."""

    def __init__(self, message: str, event: int) -> None:
        super().__init__(message)
        self.event = event


class _Script:
    """The recorded events, and a position in them. As an overseer it repeats what the person did, then asks the ``live`` one.
    If nobody intervened and nobody attends, replaying takes no longer than playing. ``agent`` is the one that plays. ``free``:
    replies were not held to a form.
    """

    agent: Agent

    def __init__(self, recorded: Sequence[Event], live: base.Overseer, listing: CommandsListener | None) -> None:
        self._recorded = recorded
        self._bodies = [event.body for event in recorded]
        self._live = live
        self._listing = listing
        self._at = 0
        self._touched = any(isinstance(body, events.Intervened | events.ModelFailed) for body in self._bodies)
        self._back: events.Body | None = None
        started = self._bodies[0] if recorded else None
        self.free = not isinstance(started, events.Started) or started.settings.get("form", "free") == "free"
        # Set while the next event is an interruption, and at the end of the record.
        self._called_off = asyncio.Event()
        self._look()

    @property
    def next(self) -> events.Body | None:
        """The next recorded event; None at the end of the record."""
        return self._bodies[self._at] if self._at < len(self._bodies) else None

    def calls(self) -> tuple[events.ModelCall | None, events.ModelCall | None]:
        """The recorded answer to the present call, if there is one, and the nearest answered call."""
        called, other = events.ModelCall, _NO_ANSWER
        coming = next((one for one in islice(self._bodies, self._at, None) if isinstance(one, (called, *other))), None)
        bodies = chain(islice(self._bodies, self._at, None), reversed(self._bodies[: self._at]))
        return coming if isinstance(coming, called) else None, next((one for one in bodies if isinstance(one, called)), None)

    def read(self, step: Step) -> Step:
        """Add to ``step`` the belief of its recorded answer, if there is one; a different answer is a misfit anyway."""
        belief = self._recorded[self._at].belief if self.next is not None else None
        return step if belief is None else replace(step, observation=replace(step.observation, belief=belief))

    def enact(self, event: Event) -> None:
        """Move to the next event. Raises ``_Misfit`` if ``event`` is not the recorded one."""
        recorded = self._recorded[self._at]
        if event != recorded:
            raise self.misfit(_difference(event, recorded))
        self._at += 1
        self._look()

    def _look(self) -> None:
        called_off = self.next is None or (isinstance(self.next, events.Intervened) and self.next.action == "interrupt")
        (self._called_off.set if called_off else self._called_off.clear)()

    async def missing(self, what: str) -> BaseException:
        """The error for ``what``, which has no recorded answer. If the call was interrupted, wait to be cancelled instead."""
        match self.next:
            case events.Intervened(action="interrupt"):
                await asyncio.Event().wait()
            case events.ModelFailed(message=message):
                return ModelError(message)
            case _:
                self.break_off()
        return self.misfit(f"{what} comes first")

    def break_off(self) -> None:
        if isinstance(self.next, Ended) and (self.next.outcome == "error" or self.next.reason == FILLED):
            raise EpisodeOver(self.next.outcome, self.next.reason, self.next.boundary, self.next.message)

    def misfit(self, how: str) -> _Misfit:
        event = self._recorded[self._at]
        return _Misfit(
            f"The record does not fit: at event {event.id} ({event.body.kind}) {how}. Go on with the task, agent, settings, "
            "rules and version that it was recorded with, or play the task anew.",
            event.id,
        )

    @property
    def attended(self) -> bool:
        return self._live.attended or (self._touched and self.next is not None)

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
        await self._called_off.wait()
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
                raise self.misfit("what to do about a failure comes first")

    async def over(self, ended: Ended) -> base.Rewind | None:
        if self.next is None:
            return await self._live.over(ended)
        return self._rewind() if isinstance(self.next, events.Intervened) and self.next.action == "rewind" else None

    def _hints(self, *, after: int = 0) -> tuple[str, ...]:
        coming = (body if isinstance(body, events.Intervened) else None for body in self._bodies[self._at + after :])
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
                raise self.misfit("the turn comes first")

    def _rewind(self) -> base.Rewind:
        """The recorded rewind that comes next. A second request for it means that it led nowhere."""
        if self._back is self.next:
            raise self.misfit("a rewind to a place where no turn began comes first")
        self._back = self.next
        return base.Rewind(self._recorded[self._at].parent or 0)


def _difference(event: Event, recorded: Event) -> str:
    if (event.id, event.parent) != (recorded.id, recorded.parent):
        return f"there is event {event.id} after {event.parent} where {recorded.id} after {recorded.parent} is recorded"
    now, then = event.body, recorded.body
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

    async def ask(turn: Turn) -> str | None:
        match script.next:
            case None:
                return await live(turn)
            case events.Proposed(command=command):
                return command
            case Ended(outcome="stopped"):
                return None
            case _:
                raise await script.missing("a question to the player")

    return ask


class _RecordedEnv(Wrapper):
    """The real env. It fails where a failure is recorded, and its recorded answers are not read again."""

    def __init__(self, env: Env, script: _Script) -> None:
        super().__init__(env)
        self._script = script

    def reset(self) -> Step:
        self._break()
        return self._script.read(super().reset())

    def step(self, command: str) -> Step:
        self._break()
        return self._script.read(super().step(command))

    def _break(self) -> None:
        if isinstance(self._script.next, Ended) and self._script.next.boundary == "world":
            self._script.break_off()
