"""Calls to an OpenAI-compatible endpoint, with retries, rate limiting and requests adapted to what the model accepts.

`protocol` writes requests and reads replies; `server` classifies failures. Every answer becomes a ``Completion`` (even an empty
reply) or a ``ModelError`` (anything that is not a chat completion).
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from housequest.agent.models.base import Completion, Held, ReplyProgress, Request, Waste, printable_line, stop_at
from housequest.agent.models.openai.dialect import THOUGHT_ROOM, Dialect, blamed
from housequest.agent.models.openai.protocol import (
    HEAR,
    LIMITS,
    PROMPT_TOKENS,
    STREAMED,
    extra_parameters,
    read_completion,
    thought,
)
from housequest.agent.models.openai.server import BROKEN, LONGEST_WAIT, OVERFLOW, Attempts, CallFailure, Server
from housequest.agent.models.rate_limiter import Call, Limiter, RateLimiter, Verdict
from housequest.agent.models.registry import CallOptions
from housequest.worlds.errors import ModelError

if TYPE_CHECKING:
    from httpx2 import Response

    from housequest.agent.models.openai import OpenAIProvider
    from housequest.agent.models.openai.server import Clients

LONGEST_MESSAGE = 700
MOST_TRIED = 24
"""Most variants of a request that are tried for one call."""
MOST_HOLLOW = 3
"""After this many replies in a row with only thinking, the error is fatal: the next call would fail too."""

_log = logging.getLogger(__name__)


class EndpointCalls:
    """Makes the calls of the model ``name``, and learns the request format that it accepts (its ``dialect``).

    Retries 408, 409, 429, 5xx, empty bodies and dropped connections, and timeouts at most `SLOW_RETRIES` times. A 429 for a
    call that was sent before the `RateLimiter` lowered its limit is not counted. Raises ``ConfigurationError`` if the
    endpoint's key is missing.
    """

    def __init__(self, served: OpenAIProvider, options: CallOptions, name: str) -> None:
        self.name, self.served, self.options = name, served.model, options
        self.server = Server(served.endpoint, options)
        self._least_tokens = served.options.max_completion_tokens or 0
        extra = {**self.server.extra, **served.body}
        self.blank = self.dialect = Dialect(served.options.thinking, extra, LIMITS[served.endpoint.official])
        self.wasted = Waste()
        """Calls and tokens since the last reply that produced none."""
        self._taken: set[str] = set()
        """Parts of requests that were answered, so a later refusal is not about them."""
        self._broken = 0
        """Streamed replies in a row that were interrupted."""
        self._hollow = 0
        """Replies in a row with only thinking."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._clients: Clients | None = None
        self._opening, self.probing = asyncio.Lock(), asyncio.Lock()
        self.limiter = self._new_limiter()
        """Limits the calls in flight after a 429. Like the lock and the clients, it belongs to one event loop."""

    async def request(self, request: Request, more: Mapping[str, Any]) -> Completion:
        """Send ``request`` with the parameters in ``more``, with retries. Raises ``ModelError``."""
        started, made, attempts, call = time.perf_counter(), 0, Attempts(self.options), Call()
        held: Held | None = None
        try:
            while True:
                streams = self.options.watch is not None and not request.raw and PROMPT_TOKENS not in more
                outcome, taken = await self.attempt(request, {**more, **STREAMED} if streams else more, call)
                made += taken
                if isinstance(outcome, Completion):
                    timing = replace(
                        outcome.timing,
                        seconds=time.perf_counter() - started,
                        attempts=made,
                        wasted=self.spent(),
                        at=round(time.time()),
                        served=f"{outcome.timing.served or 'not told'} at {self.server.endpoint.host}",
                    )
                    return self._heeded(replace(outcome, timing=timing, held=held), request)
                if outcome.unsaid and request.holds:
                    # It accepts forms, but not this one. Anything else it refused, it will refuse again.
                    request = replace(request, grammar=None, schema=None, choices=None)
                    more, held = extra_parameters(request), "refused"
                    continue
                failure = outcome.of_images if request.has_images else outcome
                wait = attempts.wait_after(failure)
                if wait is None:
                    raise self.error(failure, attempts.tried(failure, made))
                self._watch(trouble=self.said(failure))
                await self.limiter.rest(wait)
        finally:
            self._watch()

    def spent(self) -> Waste | None:
        """Return and reset `wasted`."""
        wasted, self.wasted = self.wasted, Waste()
        return wasted if wasted.calls else None

    def _heeded(self, completion: Completion, request: Request) -> Completion:
        """Cut ``completion`` at the first stop text. Raises ``ModelError`` if it contains only thinking."""
        if completion.text.strip() or completion.finish != "length" or not thought(completion):
            self._hollow = 0
            # Some servers ignore stop texts.
            end = stop_at(completion.text, request.stop)
            return completion if end is None else replace(completion, text=completion.text[:end], finish="stop")
        self._hollow += 1
        limit = max(request.max_tokens, self._least_tokens) + self.dialect.room
        what = f"spent all {min(limit, self.dialect.most or limit):,} tokens of its reply on thinking"
        ways = [f"name it with more, ?max_completion_tokens={4 * limit}"] if self.dialect.most is None else []
        ways += ["have it think less, ?thinking=off or =low"] if self.dialect.thinking != "off" else []
        way_out = f"{', or '.join(ways) or 'take a model that thinks less'}."
        way_out = f"{way_out[:1].upper()}{way_out[1:]}"
        self.wasted = (completion.timing.wasted or Waste()).plus(1, completion.usage)
        raise self.error(CallFailure(what, way_out, "nothing but thinking", fatal=self._hollow >= MOST_HOLLOW))

    def with_room(self, request: Request) -> Request:
        """Raise the token limit of ``request`` to the ``max_completion_tokens`` of the model's name."""
        return replace(request, max_tokens=max(request.max_tokens, self._least_tokens))

    async def attempt(
        self, request: Request, more: Mapping[str, Any], call: Call | None = None, *, first_of_all: bool = False
    ) -> tuple[Completion | CallFailure, int]:
        """Try variants of the request until one is answered. Each attempt waits for the limiter, ``first_of_all`` ahead of the
        queue. The dialect is learned from the variant that was answered, not from refusals.

        Returns:
            The reply or the first failure, and the number of attempts.
        """
        clients, limiter, redactor = await self.connected(), self.limiter, self.server.redactor
        call, path = call or Call(), "/completions" if request.raw else "/chat/completions"
        before = tried = self.dialect
        others: Iterator[Dialect] = iter(())
        first: CallFailure | None = None
        others_think = False
        attempts = 0

        def body_of(way: Dialect) -> dict[str, Any]:
            return way.body(self.served, request, more)

        def read(answer: Response) -> Completion:
            limit = next((body[name] for name in LIMITS if name in body), None)
            told = answer.headers.get("content-type", "")
            return read_completion(answer.content, told, redactor, raw=request.raw, limit=limit, speaks=tried.speaks)

        while True:
            attempts += 1
            body = body_of(tried)
            await limiter.enter(call, first=first_of_all)
            verdict: Verdict = "other"
            wait = 0.0
            try:
                HEAR.set(self._hear if self.options.watch is not None and "stream" in body else None)
                outcome = await self.server.ask(clients, path, body, read)
                if isinstance(outcome, Completion):
                    verdict = "answered"
                elif outcome.crowded:
                    verdict, outcome = "crowded", replace(outcome, early=await limiter.early(call))
                    asked = outcome.asked or 0.0
                    wait = asked * self.options.wait if asked <= LONGEST_WAIT else 0.0
            finally:
                limiter.leave(call, verdict, wait)
            if isinstance(outcome, Completion):
                better = self._fuller(outcome, tried)
                if better is None or body_of(better) == body:
                    return self._answered(outcome, request, body, before, tried), attempts
                self.wasted = self.wasted.plus(1, outcome.usage)
                tried = better
                continue
            thinks = outcome.refusal is not None and tried.told_to_think(outcome.refusal, body)
            # If several thinking parameters are refused, the first refusal explains best why.
            if first is None or (_complaint(outcome) != _complaint(first) and not (thinks and others_think)):
                # The complaint is new, so the last change helped: go on from there.
                first, others_think = outcome, thinks
                plain = not (first_of_all or request.has_images or more.keys() - STREAMED.keys())
                others = self._others(tried, body_of, outcome, plain=plain)
            if (following := next(others, None)) is None or attempts >= MOST_TRIED:
                return first, attempts
            tried = following

    def _others(
        self, known: Dialect, body_of: Callable[[Dialect], dict[str, Any]], failure: CallFailure, *, plain: bool
    ) -> Iterator[Dialect]:
        """Variants to try after ``known`` failed with ``failure``; ``plain``: the request needs only a chat reply."""
        sent, doubtful = body_of(known), False
        if failure.kind == BROKEN and "stream" in sent and not known.streams:
            self._broken += 1
            ways = iter([known.leaving(*STREAMED)] if self._broken > 1 else [])
        elif failure.kind == OVERFLOW:
            ways = known.smaller()
        elif failure.refusal is None:
            return
        else:
            # It may be about anything that was in no answered request.
            doubtful = failure.unsaid and plain and not _parts(sent) <= self._taken
            ways = [*known.otherwise(sent, failure.refusal, surely=not failure.unsaid, doubtful=doubtful)]
            ways += known.smaller() if failure.unsaid else ()  # servers word a short context in many ways
        tried = [sent]
        if doubtful and failure.refusal is not None and not blamed(sent, failure.refusal):
            # It may have been temporary.
            yield known
        for way in ways:
            if (body := body_of(way)) not in tried:
                tried.append(body)
                if failure.again and failure.refusal is not None:
                    # A server error that comes twice is probably about the request.
                    failure = replace(failure, again=False)
                    yield known
                yield way

    def _fuller(self, completion: Completion, tried: Dialect) -> Dialect | None:
        """The variant to retry with if the reply is only thinking, or was cut off by it; None if the reply can be kept."""
        if completion.read or not thought(completion):
            return None
        if completion.finish == "length" and not self._least_tokens and tried.room < (self.dialect.room or THOUGHT_ROOM):
            return replace(tried, room=max(self.dialect.room, THOUGHT_ROOM))
        # Stop texts also end the thinking.
        hollow = completion.finish == "stop" and not completion.text.strip()
        return tried.leaving("stop") if hollow else None

    def _answered(
        self, completion: Completion, request: Request, sent: Mapping[str, Any], before: Dialect, tried: Dialect
    ) -> Completion:
        """Learn from the variant that was answered, for all episodes, and note it in the reply."""
        self._taken |= _parts(sent)
        self._broken = 0 if "stream" in sent else self._broken
        if completion.text.strip() and completion.thinking:
            tried = replace(tried, speaks=True)
        known, self.dialect = self.dialect, self.dialect.with_learned(before, tried)
        for new in set(self.dialect.told()) - set(known.told()):
            _log.warning("%s: %s.", self.name, new)
        if not request.raw and request.max_tokens > 1 and not (request.holds and self.dialect.thinking != "off"):
            self.dialect = self.dialect.heeding(thought=thought(completion), way=tried.way)
        if not request.has_images and completion.timing.cached is None:
            self.dialect = self.dialect.reading(
                sum(len(message.content) for message in request.messages), completion.usage.prompt
            )
        return replace(completion, learned=tried.told())

    async def aclose(self) -> None:
        clients, self._clients = self._clients, None
        if clients is not None:
            await clients.aclose()

    async def connected(self) -> Clients:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # A caller may use asyncio.run for each episode.
            self._loop, self._clients, self._opening, self.probing = loop, None, asyncio.Lock(), asyncio.Lock()
            self.limiter = self._new_limiter()
        async with self._opening:
            if self._clients is None:
                self._clients = await self.server.clients()
            return self._clients

    def _new_limiter(self) -> Limiter:
        return self.options.limiter or RateLimiter(self.server.keys.max_connections(self.server.endpoint))

    def _hear(self, said: str) -> None:
        # The last word may be the beginning of a key.
        self._watch(heard=self.server.redactor.text(said[: max(said.rfind(" "), said.rfind("\n")) + 1]))

    def _watch(self, heard: str = "", trouble: str = "") -> None:
        if self.options.watch is not None:
            self.options.watch(ReplyProgress(heard, trouble))

    def said(self, failure: CallFailure) -> str:
        return self.server.said(failure, LONGEST_MESSAGE // 2)

    def error(self, failure: CallFailure, tried: str = "") -> ModelError:
        what, address = self.said(failure), self.server.endpoint.address
        head = printable_line(self.name if address in self.name else f"{self.name}: {address}", LONGEST_MESSAGE // 3)
        recorded = f"The model {what}. {failure.way_out}"
        message = f"{head} {what}{tried}. {failure.way_out}"
        overflow = failure.kind == OVERFLOW
        return ModelError(message, recorded=recorded, fatal=failure.fatal, kind=failure.kind, overflow=overflow)


def _complaint(failure: CallFailure) -> str:
    """The kind and message of a failure, without numbers and tables, which may repeat what was sent."""
    return (
        f"{failure.kind} {re.sub(r'[{].*[}]|[0-9]+', '', failure.refusal.message if failure.refusal else '', flags=re.DOTALL)}"
    )


def _parts(sent: Mapping[str, Any]) -> set[str]:
    """The parts that a server accepts if it answers this request: parameters and roles of messages."""
    return {*sent, *(message["role"] for message in sent.get("messages", ()))}
