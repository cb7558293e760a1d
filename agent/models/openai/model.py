"""Any OpenAI-compatible endpoint: chat completions, and completions of plain text where it has them.

What is sent is in `requests`, what comes back is read in `replies`, and `failures` says what went wrong. Here calls are made:
tried again, held back by the limiter, and without the parameters that the endpoint does not take. Whatever an endpoint sends
becomes a ``Completion`` (even an empty reply) or a ``ModelError`` (anything that is no chat completion).
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from housequest.agent.models.base import Capabilities, Completion, Held, Message, Model, Request, Scores
from housequest.agent.models.forms import Choice, grammar_of
from housequest.agent.models.keys import Endpoint
from housequest.agent.models.openai.context import room_at
from housequest.agent.models.openai.failures import LONGEST_WAIT, OVERFLOW, Attempts, Failure, NotACompletion
from housequest.agent.models.openai.probes import (
    PROBE_TOKENS,
    READY,
    parse_choice,
    probe_capabilities,
    probe_continuing,
    probe_holding,
    score_gain,
)
from housequest.agent.models.openai.replies import HEAR, read_completion
from housequest.agent.models.openai.requests import (
    PROMPT_TOKENS,
    STREAMED,
    Dialect,
    chat,
    conversation,
    extra_parameters,
    scoring_parameters,
    with_beginning,
)
from housequest.agent.models.openai.server import Server
from housequest.agent.models.provider import CallOptions
from housequest.agent.models.rate_limiter import Call, Limiter, RateLimiter, Verdict
from housequest.agent.models.text import encodable, printable_line
from housequest.worlds.errors import ModelError

if TYPE_CHECKING:
    from httpx2 import Response

    from housequest.agent.models.openai.connection import Clients

_Part = Literal["all", "holding", "continuing"]
"""What is found out of a server's capabilities by itself."""

LONGEST_MESSAGE = 700
SCORED_AT_ONCE = 16
"""Texts of one scoring that are in flight at once."""

PROBED_AGAIN = 2
"""Further attempts at a probe that broke; a server may break at each, so they are few."""

_WRAPPED = 64
"""Tokens for the JSON round a choice."""

_log = logging.getLogger(__name__)

_NO_TEMPLATE = re.compile(r"chat.?template|template not found", re.IGNORECASE)
"""What an endpoint says of a model that it cannot chat with."""

_NO_LOGPROBS = Failure(
    "was to tell how likely each token of a prompt is and did not, or not in a form that can be read",
    "Its server does not score texts at all times; use another model or server, or an agent that only needs replies.",
    "no log-probabilities",
)


class OpenAIModel(Model):
    """A model behind an OpenAI-compatible endpoint.

    Further attempts are made after 408, 409, 429, 5xx, an empty body and dropped connections, and `SLOW_RETRIES` after one that
    ran out of time; a 429 for a call that was sent before the `RateLimiter` lowered its limit is not counted. Each reply may
    have ``least_tokens``, thoughts included. Raises ``ConfigurationError`` when the key of the endpoint is missing.
    """

    def __init__(
        self,
        model: str,
        endpoint: Endpoint,
        calls: CallOptions,
        *,
        name: str,
        reasoning_effort: str | None = None,
        least_tokens: int = 0,
    ) -> None:
        self.name = name
        self._model = model
        self._server = Server(endpoint, calls)
        self._calls = calls
        self._least_tokens = least_tokens
        self._dialect = Dialect(official=endpoint.official, reasoning_effort=reasoning_effort)
        self._clients: Clients | None = None
        self._opening = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.limiter = self._new_limiter()
        """Holds calls back where the endpoint says that they are too many; each event loop has another."""
        self._streams = calls.attended
        """Whether replies are asked for in pieces; until the endpoint refuses that."""
        self._probing = asyncio.Lock()
        self._chats = True
        """False once it said that the model has no chat template."""
        self._found: dict[_Part, Capabilities] = {}

    async def capabilities(self) -> Capabilities:
        """What this server can do, found out by small calls the first time; see `housequest.agent.models.openai.probes`."""
        return await self._find("all")

    async def holding(self) -> Capabilities:
        return await self._find("holding")

    async def continuing(self) -> Capabilities:
        return await self._find("continuing")

    async def _find(self, part: _Part) -> Capabilities:
        await self._connected()
        async with self._probing:
            return await self._found_out(part)

    async def _found_out(self, part: _Part) -> Capabilities:
        if part not in self._found:
            match part:
                case "holding":
                    self._found[part] = replace(await probe_holding(self._probe), chats=self._chats)
                case "continuing":
                    self._found[part] = await probe_continuing(self._probe_text)
                case "all":
                    chatting = await probe_capabilities(self._probe, await self._found_out("holding"))
                    completions = (await self._found_out("continuing")).completions
                    self._found[part] = replace(chatting, completions=completions)
        return self._found[part]

    async def complete(self, request: Request) -> Completion:
        choices = request.choices
        spelt = choices is not None and (await self.holding()).grammar
        if choices is not None and spelt:
            # The text itself, as with local models: JSON around it is nothing that a fine-tuned model has learned.
            request = replace(request, choices=None, grammar=grammar_of(Choice(tuple(choices))))
        more = extra_parameters(request)
        if request.has_images or request.top_logprobs or request.bias:
            request.check(self.name, await self.capabilities())
        elif request.raw:
            request.check(self.name, await self.continuing())
        elif more:
            request.check(self.name, await self.holding())
        if choices is None:
            return await self._request(self._with_room(request), more)
        # A choice that is cut off is none, and its length is known.
        longest = _WRAPPED + max((len(encodable(choice).encode()) for choice in choices), default=0)
        request = replace(request, max_tokens=max(request.max_tokens, longest))
        completion = await self._request(self._with_room(request), more)
        named = None if completion.held == "refused" else parse_choice(completion.text, choices, spelt=spelt)
        if named is not None:
            return replace(completion, text=named)
        return replace(completion, held=completion.held or ("cut" if completion.finish == "length" else "broken"))

    def _with_room(self, request: Request) -> Request:
        """The request with enough tokens for a reasoning model."""
        return replace(request, max_tokens=max(request.max_tokens, self._least_tokens))

    async def _request(self, request: Request, more: Mapping[str, Any]) -> Completion:
        """The answer to ``request`` with ``more`` parameters, by as many attempts as it takes. Raises ``ModelError``."""
        started, made, attempts, call = time.perf_counter(), 0, Attempts(self._calls), Call()
        held: Held | None = None
        try:
            while True:
                streams = self._streams and not request.raw and PROMPT_TOKENS not in more
                self.heard = ""
                outcome, taken = await self._learning_attempt(request, {**more, **STREAMED} if streams else more, call)
                made += taken
                if isinstance(outcome, Completion):
                    timing = replace(outcome.timing, seconds=time.perf_counter() - started, attempts=made)
                    return replace(outcome, timing=timing, held=held)
                refusal = outcome.refusal
                if streams and refusal is not None and "stream" in f"{refusal.parameter} {refusal.message}":
                    self._streams = False
                    continue
                if refusal is not None and request.holds:
                    # It can be held to a form, and not to this one. Whatever else it refused, it refuses again.
                    request = replace(request, grammar=None, schema=None, choices=None)
                    more, held = extra_parameters(request), "refused"
                    continue
                failure = outcome.of_images if request.has_images else outcome
                wait = attempts.wait_after(failure)
                if wait is None:
                    raise self._error(failure, attempts.tried(failure, made))
                self.trouble = self._said(failure)
                await self.limiter.rest(wait)
        finally:
            self.trouble = self.heard = ""

    async def check_alive(self) -> Completion:
        # Who continues plain text may have no chat.
        continuing = self._found.get("continuing")
        plain = continuing is not None and continuing.completions
        question = Request([READY], max_tokens=PROBE_TOKENS, raw=plain)
        outcome, _ = await self._learning_attempt(self._with_room(question), {}, first=True)
        if isinstance(outcome, Completion):
            return outcome
        raise self._error(outcome)

    async def _probe(self, wanted: Mapping[str, Any], said: str, tokens: int, question: Message = READY) -> Completion | None:
        """One attempt with ``wanted``; None where it failed. Raises ``ModelError`` where every other call would fail too."""
        outcome = await self._probed(Request(with_beginning([question], said), max_tokens=tokens), wanted)
        if isinstance(outcome, Completion):
            return outcome
        if outcome.refusal is not None and _NO_TEMPLATE.search(outcome.refusal.message[:2_000]):
            self._chats = False
            return None
        if outcome.fatal:
            raise self._error(outcome)
        if outcome.refusal is None:
            # It did not refuse ``wanted``: it may be unable to do that, or to do anything at all.
            await self.check_alive()
            self._warn(outcome, ", ".join(sorted(wanted)) or "a reply to a picture")
        return None

    async def _probe_text(
        self, wanted: Mapping[str, Any], said: str, tokens: int, question: Message = READY
    ) -> Completion | None:
        """The same of plain text. What refuses that may chat all the same."""
        outcome = await self._probed(Request(with_beginning([question], said), max_tokens=tokens, raw=True), wanted)
        if isinstance(outcome, Completion):
            return outcome
        if outcome.kind != "status 404":
            if outcome.fatal or (outcome.again and not self._server.answered):
                raise self._error(outcome)
            if outcome.refusal is None:
                self._warn(outcome, ", ".join(("a completion of plain text", *sorted(wanted))))
        return None

    def _warn(self, failure: Failure, wanted: str) -> None:
        _log.warning("%s %s when asked for %s, and is not asked for that again.", self.name, self._said(failure), wanted)

    async def _probed(self, request: Request, wanted: Mapping[str, Any]) -> Completion | Failure:
        request = self._with_room(request) if request.max_tokens == PROBE_TOKENS else request
        attempts, broke = Attempts(self._calls), 0
        while True:
            outcome, _ = await self._learning_attempt(request, wanted)
            # Too many calls, a busy server, a lost connection say nothing of what it can do, which is found out only once.
            if isinstance(outcome, Completion) or not (outcome.crowded or broke < PROBED_AGAIN):
                return outcome
            wait = attempts.wait_after(outcome)
            if wait is None:
                return outcome
            broke += not outcome.crowded
            await self.limiter.rest(wait)

    async def _learning_attempt(
        self, request: Request, more: Mapping[str, Any], call: Call | None = None, *, first: bool = False
    ) -> tuple[Completion | Failure, int]:
        """The outcome without the parameters that the endpoint does not take, and after how many attempts."""
        call, said, attempts = call or Call(), conversation(request), 0
        while True:
            parameters = self._dialect.parameters(request)
            attempts += 1
            outcome = await self._limited_attempt({**said, **parameters, **more}, call, first=first)
            if isinstance(outcome, Completion) or outcome.refusal is None:
                return outcome, attempts
            refused = self._dialect.learn(parameters, outcome.refusal)
            if refused is None:
                return outcome, attempts
            _log.warning("%s does not take %s; it is left out or renamed from here on.", self.name, refused)

    async def _limited_attempt(self, body: Mapping[str, Any], call: Call, *, first: bool) -> Completion | Failure:
        """One attempt at ``call``, once the limiter admits it: ``first`` before the others."""
        clients, limiter = await self._connected(), self.limiter
        raw, redactor = "prompt" in body, self._server.redactor
        path = "/completions" if raw else "/chat/completions"

        def read(answer: Response) -> Completion:
            return read_completion(answer.content, answer.headers.get("content-type", ""), redactor, raw=raw)

        await limiter.enter(call, first=first)
        verdict: Verdict = "other"
        wait = 0.0
        try:
            HEAR.set(self._hear if "stream" in body else None)
            with clients.lend() as client:
                outcome = await self._server.ask(client, path, {"model": self._model, **body}, read)
            if isinstance(outcome, Completion):
                verdict = "answered"
            elif outcome.crowded:
                verdict, outcome = "crowded", replace(outcome, early=await limiter.early(call))
                wait = outcome.asked * self._calls.wait if outcome.asked is not None and outcome.asked <= LONGEST_WAIT else 0.0
            return outcome
        finally:
            limiter.leave(call, verdict, wait)

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        """log p of each continuation as the next message, by a call each, and one for the prompt alone; see `score_gain`.

        What a server's template leaves out of a message, such as spaces at its ends, is not scored.
        """
        if not (await self.capabilities()).scoring:
            return await super().score(messages, continuations)
        started = time.perf_counter()
        alone = await self._read(messages, "")
        room = asyncio.Semaphore(SCORED_AT_ONCE)

        async def scored(text: str) -> Scores:
            async with room:
                whole = await self._read(messages, text)
            gain = score_gain(alone.read, whole.read) if text else 0.0
            if gain is None:
                raise self._error(_NO_LOGPROBS)
            return Scores((gain,), 1, whole.usage, whole.timing)

        tasks = [asyncio.ensure_future(scored(text)) for text in continuations]
        try:
            found = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        scores = Scores.joined([Scores((), 1, alone.usage, alone.timing), *found])
        return replace(scores, timing=replace(scores.timing, seconds=time.perf_counter() - started))

    async def _read(self, messages: Sequence[Message], text: str) -> Completion:
        """An answer with the tokens of the prompt, at whose end stands ``text``. Raises ``ModelError``, also without them."""
        completion = await self._request(Request(with_beginning(messages, text), max_tokens=1), scoring_parameters(text))
        if not completion.read:
            raise self._error(_NO_LOGPROBS)
        return completion

    async def room(self, messages: Sequence[Message], *, raw: bool = False) -> int | None:
        """By the server's own tokenizer, where it can be asked: vLLM's and llama.cpp's servers."""
        if self._server.endpoint.official:
            return None
        return await room_at(self._ask_server, self._model, encodable(Request(messages).text) if raw else chat(messages))

    async def _ask_server(self, path: str, body: Mapping[str, Any] | None) -> object:
        """What the server answers beside OpenAI's protocol, at its root; None where it has nothing there, or no JSON."""
        import httpx2

        clients = await self._connected()
        try:
            with clients.lend() as client:
                answer = await self._server.send(client, f"{self._server.endpoint.url.removesuffix('/v1')}{path}", body)
            return answer.raise_for_status().json()
        except (TimeoutError, NotACompletion, ValueError, httpx2.HTTPError) as error:
            _log.info("%s has no %s: %s", self.name, path, self._server.redactor.text(str(error)))
            return None

    async def aclose(self) -> None:
        clients, self._clients = self._clients, None
        if clients is not None:
            await clients.aclose()

    async def _connected(self) -> Clients:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Connections belong to the loop that made them, and somebody may call asyncio.run once an episode.
            self._loop, self._clients, self._opening, self._probing = loop, None, asyncio.Lock(), asyncio.Lock()
            self.limiter = self._new_limiter()
        async with self._opening:
            if self._clients is None:
                self._clients = await self._server.clients()
            return self._clients

    def _new_limiter(self) -> Limiter:
        return self._calls.limiter or RateLimiter(self._server.keys.concurrency(self._server.endpoint))

    def _hear(self, said: str) -> None:
        # The last word may be the beginning of a key.
        self.heard = self._server.redactor.text(said[: max(said.rfind(" "), said.rfind("\n")) + 1])

    def _said(self, failure: Failure) -> str:
        return self._server.said(failure, LONGEST_MESSAGE // 2)

    def _error(self, failure: Failure, tried: str = "") -> ModelError:
        what, address = self._said(failure), self._server.endpoint.address
        head = printable_line(self.name if address in self.name else f"{self.name}: {address}", LONGEST_MESSAGE // 3)
        recorded = f"The model {what}. {failure.way_out}"
        message = f"{head} {what}{tried}. {failure.way_out}"
        overflow = failure.kind == OVERFLOW
        return ModelError(message, recorded=recorded, fatal=failure.fatal, kind=failure.kind, overflow=overflow)
