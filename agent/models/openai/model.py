"""Any OpenAI-compatible endpoint, through the official SDK: chat completions, and completions of plain text where it has them.

The SDK speaks the protocol. Retries are done here, where attempts are counted and waits are bounded. Whatever an endpoint
sends becomes a ``Completion`` (even an empty reply) or a ``ModelError`` (anything that is no chat completion).
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from housequest.agent.models.base import Capabilities, Completion, Held, Message, Model, Request, Scores
from housequest.agent.models.forms import Choice, grammar_of
from housequest.agent.models.keys import load_keys
from housequest.agent.models.openai.attempts import (
    EMPTY_BODY,
    LONGEST_WAIT,
    OVERFLOW,
    Attempts,
    Failure,
    FailureReader,
    of_images,
)
from housequest.agent.models.openai.context import room_at
from housequest.agent.models.openai.probes import (
    PROBE_TOKENS,
    READY,
    extra_parameters,
    parse_choice,
    probe_capabilities,
    probe_continuing,
    probe_holding,
    score_gain,
    scoring_parameters,
)
from housequest.agent.models.openai.redaction import Redactor
from housequest.agent.models.openai.streaming import HEAR, STREAMED
from housequest.agent.models.openai.wire import PROMPT_TOKENS, Dialect, NotACompletion, chat, read_completion
from housequest.agent.models.provider import CallOptions
from housequest.agent.models.rate_limiter import Call, Limiter, RateLimiter, Verdict
from housequest.agent.models.text import encodable, printable_line
from housequest.worlds.errors import ModelError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from housequest.agent.models.openai.connection import Clients
    from housequest.agent.models.openai.names import EndpointName

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


def _named(wanted: Mapping[str, Any]) -> str:
    """The parameters of a probe, for people."""
    return ", ".join(sorted(wanted)) or "a reply to a picture"


def _with_beginning(messages: Sequence[Message], text: str) -> list[Message]:
    """The conversation with ``text`` as the reply's beginning; servers refuse an empty message."""
    return [*messages, Message("assistant", text)] if text else list(messages)


class OpenAIModel(Model):
    """A model behind an OpenAI-compatible endpoint.

    Further attempts are made after 408, 409, 429, 5xx, an empty body and dropped connections, and `SLOW_RETRIES` after one that
    ran out of time; a 429 for a call that was sent before the `RateLimiter` lowered its limit is not counted. Raises
    ``ConfigurationError`` when the key that belongs to the endpoint is missing.
    """

    def __init__(self, served: EndpointName, *, name: str, calls: CallOptions) -> None:
        self.name = name
        self._model = served.model
        self._endpoint = served.endpoint
        self._calls = calls
        self._keys = load_keys() if calls.keys is None else calls.keys
        self._key = self._keys.key(self._endpoint)
        self._redactor = Redactor(self._key)
        self._redactor.guard_logs()
        self._least_tokens = served.options.max_completion_tokens or 0
        self._dialect = Dialect(official=self._endpoint.official, reasoning_effort=served.options.reasoning_effort)
        self._clients: Clients | None = None
        self._opening = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.limiter = self._new_limiter()
        """Holds calls back where the endpoint says that they are too many; each event loop has another."""
        self._failures = FailureReader(self._endpoint, self._keys, self._redactor, calls.timeout)
        self._streams = calls.attended
        """Whether replies are asked for in pieces; until the endpoint refuses that."""
        self._probing = asyncio.Lock()
        self._chats = True
        """False once it said that the model has no chat template."""
        self._holds: Capabilities | None = None
        self._continues: Capabilities | None = None
        self._offered: Capabilities | None = None

    async def capabilities(self) -> Capabilities:
        """What this server can do, found out by small calls the first time; see `housequest.agent.models.openai.probes`."""
        await self._connected()
        async with self._probing:
            if self._offered is None:
                chatting = await probe_capabilities(self._probe, await self._found_holding())
                self._offered = replace(chatting, completions=(await self._found_continuing()).completions)
            return self._offered

    async def holding(self) -> Capabilities:
        await self._connected()
        async with self._probing:
            return await self._found_holding()

    async def continuing(self) -> Capabilities:
        await self._connected()
        async with self._probing:
            return await self._found_continuing()

    async def _found_continuing(self) -> Capabilities:
        if self._continues is None:
            self._continues = await probe_continuing(self._probe_text)
        return self._continues

    async def _found_holding(self) -> Capabilities:
        if self._holds is None:
            holds = await probe_holding(self._probe)
            self._holds = replace(holds, chats=self._chats)
        return self._holds

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
        try:
            return await self._persistent_request(request, more)
        finally:
            self.trouble = self.heard = ""

    async def _persistent_request(self, request: Request, more: Mapping[str, Any]) -> Completion:
        started, made, attempts, call = time.perf_counter(), 0, Attempts(self._calls), Call()
        held: Held | None = None
        while True:
            streams = self._streams and not request.raw and PROMPT_TOKENS not in more
            self.heard = ""
            outcome, taken = await self._learning_attempt(request, {**more, **STREAMED} if streams else more, call)
            made += taken
            if isinstance(outcome, Completion):
                timing = replace(outcome.timing, seconds=time.perf_counter() - started, attempts=made)
                return replace(outcome, timing=timing, held=held)
            if streams and outcome.refusal is not None and "stream" in f"{outcome.refusal.parameter} {outcome.refusal.message}":
                self._streams = False
                continue
            if request.has_images:
                outcome = of_images(outcome)
            if outcome.refusal is not None and request.holds:
                # It can be held to a form, and not to this one. Whatever else it refused, it refuses again.
                request = replace(request, grammar=None, schema=None, choices=None)
                more, held = extra_parameters(request), "refused"
                continue
            wait = attempts.wait_after(outcome)
            if wait is None:
                raise self._error(outcome, attempts.tried(outcome, made))
            self.trouble = self._said(outcome)
            await self.limiter.rest(wait)

    async def check_alive(self) -> Completion:
        # Who continues plain text may have no chat.
        plain = self._continues is not None and self._continues.completions
        question = Request([READY], max_tokens=PROBE_TOKENS, raw=plain)
        outcome, _ = await self._learning_attempt(self._with_room(question), {}, first=True)
        if isinstance(outcome, Completion):
            return outcome
        raise self._error(outcome)

    async def _probe(self, wanted: Mapping[str, Any], said: str, tokens: int, question: Message = READY) -> Completion | None:
        """One attempt with ``wanted``; None where it failed. Raises ``ModelError`` where every other call would fail too."""
        outcome = await self._probed(Request(_with_beginning([question], said), max_tokens=tokens), wanted)
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
            self._warn(outcome, _named(wanted))
        return None

    async def _probe_text(
        self, wanted: Mapping[str, Any], said: str, tokens: int, question: Message = READY
    ) -> Completion | None:
        """The same of plain text. What refuses that may chat all the same."""
        outcome = await self._probed(Request(_with_beginning([question], said), max_tokens=tokens, raw=True), wanted)
        if isinstance(outcome, Completion):
            return outcome
        if outcome.kind != "status 404" and (outcome.fatal or (outcome.again and not self._failures.answered)):
            raise self._error(outcome)
        if outcome.refusal is None and outcome.kind != "status 404":
            self._warn(outcome, ", ".join(("a completion of plain text", *sorted(wanted))))
        return None

    def _warn(self, failure: Failure, wanted: str) -> None:
        _log.warning("%s %s when asked for %s, and is not asked for that again.", self.name, self._said(failure), wanted)

    async def _probed(self, request: Request, wanted: Mapping[str, Any]) -> Completion | Failure:
        request = self._with_room(request) if request.max_tokens == PROBE_TOKENS else request
        attempts, broke = Attempts(self._calls), 0
        outcome, _ = await self._learning_attempt(request, wanted)
        # Too many calls, a busy server, a lost connection: they say nothing of what it can do, which is found out only once.
        while isinstance(outcome, Failure) and (outcome.crowded or broke < PROBED_AGAIN):
            wait = attempts.wait_after(outcome)
            if wait is None:
                break
            broke += not outcome.crowded
            await self.limiter.rest(wait)
            outcome, _ = await self._learning_attempt(request, wanted)
        return outcome

    async def _learning_attempt(
        self, request: Request, more: Mapping[str, Any], call: Call | None = None, *, first: bool = False
    ) -> tuple[Completion | Failure, int]:
        """The outcome without the parameters that the endpoint does not take, and after how many attempts."""
        call = call or Call()
        said: dict[str, Any] = {"prompt": encodable(request.text)} if request.raw else {"messages": chat(request.messages)}
        attempts = 0
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
        completion = await self._request(Request(_with_beginning(messages, text), max_tokens=1), scoring_parameters(text))
        if not completion.read:
            raise self._error(_NO_LOGPROBS)
        return completion

    async def room(self, messages: Sequence[Message], *, raw: bool = False) -> int | None:
        """By the server's own tokenizer, where it can be asked: vLLM's and llama.cpp's servers."""
        if self._endpoint.official:
            return None
        said = encodable(Request(messages).text) if raw else chat(messages)
        return await room_at(self._ask_server, self._model, said)

    async def _ask_server(self, path: str, body: Mapping[str, Any] | None = None) -> object:
        """What the server answers beside OpenAI's protocol, at its root; None where it has nothing there, or no JSON."""
        import openai

        clients = await self._connected()
        url = f"{self._endpoint.url.removesuffix('/v1')}{path}"
        try:
            async with asyncio.timeout(self._calls.timeout):
                with clients.lend() as client:
                    asked = client.get(url, cast_to=object) if body is None else client.post(url, cast_to=object, body=body)
                    return await asked
        except (TimeoutError, NotACompletion, ValueError, openai.APIError) as error:
            _log.info("%s has no %s: %s", self.name, path, self._redactor.text(str(error)))
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
                self._clients = await asyncio.to_thread(self._connect)
            return self._clients

    def _new_limiter(self) -> Limiter:
        return self._calls.limiter or RateLimiter(self._keys.concurrency(self._endpoint))

    def _connect(self) -> Clients:
        # The SDK takes seconds to import, and a screen may be running meanwhile: hence in a thread, on first use.
        from housequest.agent.models.openai.connection import Clients

        return Clients(self._endpoint, self._key, self._calls.timeout)

    async def _limited_attempt(self, body: Mapping[str, Any], call: Call, *, first: bool) -> Completion | Failure:
        """One attempt at ``call``, once the limiter admits it: ``first`` before the others."""
        clients, limiter = await self._connected(), self.limiter
        await limiter.enter(call, first=first)
        verdict: Verdict = "other"
        wait = 0.0
        try:
            with clients.lend() as client:
                outcome = await self._attempt(client, body)
            if isinstance(outcome, Completion):
                verdict = "answered"
            elif outcome.crowded:
                verdict, outcome = "crowded", replace(outcome, early=await limiter.early(call))
                wait = outcome.asked * self._calls.wait if outcome.asked is not None and outcome.asked <= LONGEST_WAIT else 0.0
            return outcome
        finally:
            limiter.leave(call, verdict, wait)

    async def _attempt(self, client: AsyncOpenAI, body: Mapping[str, Any]) -> Completion | Failure:
        import openai

        from housequest.agent.models.openai.connection import post

        HEAR.set(self._hear if "stream" in body else None)
        try:
            async with asyncio.timeout(self._calls.timeout):
                path = "/completions" if "prompt" in body else "/chat/completions"
                response = await post(client, path, {"model": self._model, **body})
            self._failures.reached = True
            content = response.content
            if not content.strip():
                return EMPTY_BODY
            kind = response.headers.get("content-type", "")
            completion = read_completion(content, kind, self._redactor, raw="prompt" in body)
            self._failures.answered = True
            return completion
        except (TimeoutError, NotACompletion, openai.APIError) as error:
            return self._failures.read(error)

    def _hear(self, said: str) -> None:
        # The last word may be the beginning of a key.
        self.heard = self._redactor.text(said[: max(said.rfind(" "), said.rfind("\n")) + 1])

    def _said(self, failure: Failure) -> str:
        return printable_line(self._redactor.text(failure.what), LONGEST_MESSAGE // 2)

    def _error(self, failure: Failure, tried: str = "") -> ModelError:
        what, address = self._said(failure), self._endpoint.address
        head = printable_line(self.name if address in self.name else f"{self.name}: {address}", LONGEST_MESSAGE // 3)
        recorded = f"The model {what}. {failure.way_out}"
        message = f"{head} {what}{tried}. {failure.way_out}"
        overflow = failure.kind == OVERFLOW
        return ModelError(message, recorded=recorded, fatal=failure.fatal, kind=failure.kind, overflow=overflow)
