"""Any OpenAI-compatible endpoint: chat completions, and completions of plain text where it has them.

Here calls are made: tried again, held back by the limiter, and without the parameters that the endpoint does not take. What is
sent, and what comes back, is in `protocol`; `server` says what went wrong. Whatever an endpoint sends becomes a ``Completion``
(even an empty reply) or a ``ModelError`` (anything that is no chat completion).

Servers ignore parameters that they do not know. So what goes beyond a plain chat is tried once: a probe asks for a reply that
no model would give unasked.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

from housequest.agent.models.base import (
    Capabilities,
    Completion,
    Held,
    Image,
    Message,
    Model,
    ProbedPart,
    PromptToken,
    ReplyProgress,
    Request,
    Scores,
    Usage,
    Waste,
    encodable,
    printable_line,
    shared_prefix,
    stop_at,
)
from housequest.agent.models.forms import Choice, grammar_of
from housequest.agent.models.openai.dialect import THOUGHT_ROOM, Dialect, blamed
from housequest.agent.models.openai.protocol import (
    HEAR,
    LIMITS,
    PROMPT_TOKENS,
    STREAMED,
    StreamedReply,
    at,
    extra_parameters,
    read_completion,
    scoring_parameters,
    with_beginning,
)
from housequest.agent.models.openai.server import BROKEN, LONGEST_WAIT, OVERFLOW, Attempts, CallFailure, Server
from housequest.agent.models.rate_limiter import Call, Limiter, RateLimiter, Verdict
from housequest.agent.models.registry import CallOptions
from housequest.worlds.errors import ModelError, Unsupported
from housequest.worlds.paths import atomic_write, cache_folder, read_file

if TYPE_CHECKING:
    from httpx2 import Response

    from housequest.agent.models.openai import EndpointName
    from housequest.agent.models.openai.server import Clients

LONGEST_MESSAGE = 700
SCORED_AT_ONCE = 16
MOST_TRIED = 24
"""Ways of asking that are tried for one call."""
PROBED_AGAIN = 2
"""Further attempts at a probe that broke; a server may break at each, so they are few."""
KEPT = 24 * 3600.0
"""Seconds after which what was learned of a model is found out again: its server may be another by then."""
LARGEST_KEPT = 1 << 16
MOST_HOLLOW = 3
"""Replies in a row that are nothing but thinking, until every other call is expected to bring the same."""
_WRAPPED = 64
"""Tokens for the JSON round a choice."""
_WORDS = ("axolotl", "quetzal")
PROBE_TOKENS = 256
"""Tokens of a probe: enough to think a little before answering with a word."""
QUESTION = "Answer with the single word: ready"
READY = Message("user", QUESTION)

_PICTURE_QUESTION = (
    "The picture has an upper half of one colour and a lower half of another. Answer with two words: the upper colour, then "
    "the lower one."
)
_COLOURS = {"yellow": (255, 255, 0), "red": (255, 0, 0)}
_PIXELS = 64
"""Columns and rows of the probe's picture; some models refuse less than 28."""
_NO_TEMPLATE = re.compile(r"chat.?template|template not found", re.IGNORECASE)
"""What an endpoint says of a model that it cannot chat with."""

_NO_LOGPROBS = CallFailure(
    "was to tell how likely each token of a prompt is and did not, or not in a form that can be read",
    "Its server does not score texts at all times; use another model or server, or an agent that only needs replies.",
    "no log-probabilities",
)

_log = logging.getLogger(__name__)


class OpenAIModel(Model):
    """A model behind an OpenAI-compatible endpoint.

    Further attempts are made after 408, 409, 429, 5xx, an empty body and dropped connections, and `SLOW_RETRIES` after one that
    ran out of time; a 429 for a call that was sent before the `RateLimiter` lowered its limit is not counted. Raises
    ``ConfigurationError`` when the key of the endpoint is missing.
    """

    def __init__(self, served: EndpointName, calls: CallOptions, *, name: str) -> None:
        self.name = name
        self._model, self._calls, self._server = served.model, calls, Server(served.endpoint, calls)
        self._least_tokens = served.options.max_completion_tokens or 0
        extra = {**self._server.extra, **served.body}
        self._dialect = Dialect(served.options.thinking, extra, LIMITS[served.endpoint.official])
        self._blank = self._dialect
        self._taken: set[str] = set()
        """What requests that were answered had in them, so that no refusal is about that."""
        self._broken = 0
        """Streamed replies in a row that broke off."""
        self._wasted = Waste()
        """What was paid for since the last reply, and brought none."""
        self._hollow = 0
        """Replies in a row that were nothing but thinking."""
        self._clients: Clients | None = None
        self._opening = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.limiter = self._new_limiter()
        """Holds calls back where the endpoint says that they are too many; each event loop has another."""
        self._probing = asyncio.Lock()
        self._chats = True
        """False once it said that the model has no chat template."""
        self._found: dict[str, Capabilities] = {}
        """Its capabilities, and those of each part."""
        asked = repr((name, self._server.keys.extra_body(served.endpoint)))
        self._kept = cache_folder() / "models" / f"{sha256(asked.encode()).hexdigest()[:24]}.json"
        self._recall()

    def learned(self) -> tuple[str, ...]:
        # What nobody answered was not learned.
        return self._dialect.told() if self._server.answered or self._dialect != self._blank else ()

    def keep_learned(self) -> None:
        found = {part: asdict(can) for part, can in self._found.items()}
        kept = {"at": time.time(), "dialect": self._dialect.copy(), "found": found, "chats": self._chats}
        with suppress(OSError):  # it is found out again
            atomic_write(self._kept, json.dumps(kept).encode())

    def forget_learned(self) -> None:
        self._dialect = self._blank
        self._chats, self._found = True, {}
        with suppress(OSError):  # there may be nothing
            self._kept.unlink()

    def _recall(self) -> None:
        """Know what was kept of this model within a day."""
        try:
            kept = json.loads(read_file(self._kept, LARGEST_KEPT))
            if time.time() - kept["at"] < KEPT:
                found = {part: Capabilities(**can) for part, can in kept["found"].items()}
                self._dialect = self._dialect.restored(kept["dialect"])
                self._chats, self._found = bool(kept["chats"]), found
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return  # nothing was kept, or nothing that can be read: it is found out again

    async def capabilities(self) -> Capabilities:
        """What this server can do, found out by small calls the first time."""
        return await self.probe("everything")

    async def probe(self, part: ProbedPart | Literal["everything"]) -> Capabilities:
        await self._connected()
        async with self._probing:
            return await self._once(part)

    async def _once(self, part: str) -> Capabilities:
        if part not in self._found:
            probes = {"forms": self._probe_forms, "completions": self._probe_completions}
            self._found[part] = await probes.get(part, self._probe_all)()
        return self._found[part]

    async def _probe_forms(self) -> Capabilities:
        chosen = await self._probe(extra_parameters(Request((), choices=_WORDS)))
        by_schema = chosen is not None and parse_choice(chosen.text, _WORDS) is not None
        spelt = await self._spelt(raw=False)
        held = spelt or (chosen if by_schema else None)
        if held is not None and not _thought(held) and (free := await self._probe({})) is not None and _thought(free):
            # What it cannot think about first is worth less than what it says in its own form.
            _log.warning("%s thinks, but not where its replies are held to a form, so they are free.", self.name)
            return Capabilities(self._chats)
        return Capabilities(self._chats, choices=held is not None, schema=by_schema, grammar=spelt is not None)

    async def _probe_completions(self) -> Capabilities:
        """Whether it continues plain text, and is held to a grammar then: two calls, or one where it does not."""
        if await self._probe({}, tokens=1, raw=True) is None:
            return Capabilities()
        return Capabilities(completions=True, grammar=await self._spelt(raw=True) is not None)

    async def _spelt(self, *, raw: bool) -> Completion | None:
        """A reply that a grammar held; None where it did not."""
        spelt = await self._probe(extra_parameters(Request((), grammar=grammar_of(Choice(_WORDS)))), raw=raw)
        return spelt if spelt is not None and spelt.text in _WORDS else None

    async def _probe_all(self) -> Capabilities:
        """What it can do with a chat, beside that: four calls, or six where it gives prompt log-probabilities."""
        holding = await self._once("forms")
        likely = await self._probe(extra_parameters(Request((), top_logprobs=2)))
        pushed = await self._probe(extra_parameters(Request((), bias={_WORDS[0]: 100.0})))
        scored = await self._probe_scoring()
        looked = await self._probe({}, question=picture_question())
        return replace(
            holding,
            completions=(await self._once("completions")).completions,
            log_probabilities=likely is not None and any(token.alternatives for token in likely.tokens),
            scoring=scored,
            singly=scored,
            bias=pushed is not None and spells(pushed.text, _WORDS[0]),
            images=looked is not None and names_colours(looked.text),
        )

    async def _probe_scoring(self) -> bool:
        """Whether texts can be scored: a text must be read as the prefix of a longer one, with no end of turn after it."""
        alone = await self._probe(scoring_parameters(""), tokens=1)
        if alone is None or not alone.read:
            return False
        texts = (_WORDS[0], " ".join(_WORDS))
        shorter, longer = [await self._probe(scoring_parameters(text), text, tokens=1) for text in texts]
        if shorter is None or longer is None or score_gain(alone.read, shorter.read) is None:
            return False
        return _shared(shorter.read, longer.read) == len(shorter.read) < len(longer.read)

    async def _probe(
        self,
        wanted: Mapping[str, Any],
        said: str = "",
        *,
        tokens: int = PROBE_TOKENS,
        question: Message = READY,
        raw: bool = False,
    ) -> Completion | None:
        """The answer to a question with ``wanted``; None where it was refused. Raises ``ModelError`` if all would fail."""
        request = Request(with_beginning([question], said), max_tokens=tokens, raw=raw)
        request = self._with_room(request) if tokens == PROBE_TOKENS else request
        attempts, broke = Attempts(self._calls), 0
        while True:
            outcome, made = await self._attempt(request, wanted)
            self._wasted = self._wasted.plus(made, outcome.usage if isinstance(outcome, Completion) else Usage())
            if isinstance(outcome, Completion):
                return outcome
            # Too many calls, a busy server, a lost connection say nothing of what it can do, which is found out only once.
            wait = attempts.wait_after(outcome) if outcome.crowded or broke < PROBED_AGAIN else None
            if wait is None:
                break
            broke += not outcome.crowded
            await self.limiter.rest(wait)
        if raw and outcome.kind == "status 404":
            return None
        if not raw and outcome.unsaid and outcome.refusal is not None and _NO_TEMPLATE.search(outcome.refusal.message[:2_000]):
            self._chats = False
            return None
        if outcome.fatal or (raw and outcome.again and not self._server.answered):
            raise self._error(outcome)
        if not outcome.unsaid:
            # It did not refuse ``wanted``: it may be unable to do that, or to do anything at all.
            if not raw:
                await self.check_alive()
            names = ", ".join((*["a completion of plain text"] * raw, *sorted(wanted))) or "a reply to a picture"
            _log.warning("%s %s when asked for %s, and is not asked for that again.", self.name, self._said(outcome), names)
        return None

    async def complete(self, request: Request) -> Completion:
        choices = request.choices
        spelt = choices is not None and (await self.probe("forms")).grammar
        if choices is not None and spelt:
            # The text itself, as with local models: JSON around it is nothing that a fine-tuned model has learned.
            request = replace(request, choices=None, grammar=grammar_of(Choice(tuple(choices))))
        more = extra_parameters(request)
        if request.has_images or request.top_logprobs or request.bias:
            request.check(self.name, await self.capabilities())
        elif request.raw:
            request.check(self.name, await self.probe("completions"))
        elif more:
            request.check(self.name, await self.probe("forms"))
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
        return replace(request, max_tokens=max(request.max_tokens, self._least_tokens))

    async def _request(self, request: Request, more: Mapping[str, Any]) -> Completion:
        started, made, attempts, call = time.perf_counter(), 0, Attempts(self._calls), Call()
        held: Held | None = None
        try:
            while True:
                streams = self._calls.watch is not None and not request.raw and PROMPT_TOKENS not in more
                outcome, taken = await self._attempt(request, {**more, **STREAMED} if streams else more, call)
                made += taken
                if isinstance(outcome, Completion):
                    wasted, self._wasted = self._wasted, Waste()
                    seconds = time.perf_counter() - started
                    timing = replace(
                        outcome.timing,
                        seconds=seconds,
                        attempts=made,
                        wasted=wasted if wasted.calls else None,
                        at=round(time.time()),
                        served=f"{outcome.timing.served or 'not told'} at {self._server.endpoint.host}",
                    )
                    return self._heeded(replace(outcome, timing=timing, held=held), request)
                if outcome.unsaid and request.holds:
                    # It can be held to a form, and not to this one. Whatever else it refused, it refuses again.
                    request = replace(request, grammar=None, schema=None, choices=None)
                    more, held = extra_parameters(request), "refused"
                    continue
                failure = outcome.of_images if request.has_images else outcome
                wait = attempts.wait_after(failure)
                if wait is None:
                    raise self._error(failure, attempts.tried(failure, made))
                self._watch(trouble=self._said(failure))
                await self.limiter.rest(wait)
        finally:
            self._watch()

    def _heeded(self, completion: Completion, request: Request) -> Completion:
        """``completion``, without what a stop text would have cut off. Raises ``ModelError`` if it is nothing but thinking."""
        if completion.text.strip() or completion.finish != "length" or not _thought(completion):
            self._hollow = 0
            # Some servers pass over stop texts.
            end = stop_at(completion.text, request.stop)
            return completion if end is None else replace(completion, text=completion.text[:end], finish="stop")
        self._hollow += 1
        limit = max(request.max_tokens, self._least_tokens) + self._dialect.room
        what = f"spent all {min(limit, self._dialect.most or limit):,} tokens of its reply on thinking"
        ways = [f"name it with more, ?max_completion_tokens={4 * limit}"] if self._dialect.most is None else []
        ways += ["have it think less, ?thinking=off or =low"] if self._dialect.thinking != "off" else []
        way_out = f"{', or '.join(ways) or 'take a model that thinks less'}."
        way_out = f"{way_out[:1].upper()}{way_out[1:]}"
        self._wasted = (completion.timing.wasted or Waste()).plus(1, completion.usage)
        raise self._error(CallFailure(what, way_out, "nothing but thinking", fatal=self._hollow >= MOST_HOLLOW))

    async def check_alive(self) -> Completion:
        # Who continues plain text may have no chat.
        continuing = self._found.get("completions")
        plain = continuing is not None and continuing.completions
        question = Request([READY], max_tokens=PROBE_TOKENS, raw=plain)
        outcome, _ = await self._attempt(self._with_room(question), {}, first_of_all=True)
        if isinstance(outcome, Completion):
            wasted, self._wasted = self._wasted, Waste()
            return replace(outcome, timing=replace(outcome.timing, wasted=wasted))
        raise self._error(outcome)

    async def _attempt(
        self, request: Request, more: Mapping[str, Any], call: Call | None = None, *, first_of_all: bool = False
    ) -> tuple[Completion | CallFailure, int]:
        """The outcome of asking as the endpoint wants it, and after how many attempts. Each is made once the limiter admits it:
        ``first_of_all`` before the others. What an endpoint takes is learned from what it answers, not from what it refuses.
        """
        clients, limiter, redactor = await self._connected(), self.limiter, self._server.redactor
        call, path = call or Call(), "/completions" if request.raw else "/chat/completions"
        before = tried = self._dialect
        others: Iterator[Dialect] = iter(())
        first: CallFailure | None = None
        others_think = False
        attempts = 0

        def read(answer: Response) -> Completion:
            limit = next((body[name] for name in LIMITS if name in body), None)
            told = answer.headers.get("content-type", "")
            return read_completion(answer.content, told, redactor, raw=request.raw, limit=limit, speaks=tried.speaks)

        while True:
            attempts += 1
            body = tried.body(self._model, request, more)
            await limiter.enter(call, first=first_of_all)
            verdict: Verdict = "other"
            wait = 0.0
            try:
                HEAR.set(self._hear if self._calls.watch is not None and "stream" in body else None)
                outcome = await self._server.ask(clients, path, body, read)
                if isinstance(outcome, Completion):
                    verdict = "answered"
                elif outcome.crowded:
                    verdict, outcome = "crowded", replace(outcome, early=await limiter.early(call))
                    asked = outcome.asked or 0.0
                    wait = asked * self._calls.wait if asked <= LONGEST_WAIT else 0.0
            finally:
                limiter.leave(call, verdict, wait)
            if isinstance(outcome, Completion):
                better = self._fuller(outcome, tried)
                if better is None or better.body(self._model, request, more) == body:
                    return self._answered(outcome, request, body, before, tried), attempts
                self._wasted = self._wasted.plus(1, outcome.usage)
                tried = better
                continue
            thinks = outcome.refusal is not None and tried.told_to_think(outcome.refusal, body)
            # Of several ways to say how much to think, the first refusal says what is wrong with that.
            if first is None or (_complaint(outcome) != _complaint(first) and not (thinks and others_think)):
                # What was changed before was not in vain.
                first, others_think = outcome, thinks
                others = self._others(tried, body, outcome, request, more, first_of_all=first_of_all)
            if (following := next(others, None)) is None or attempts >= MOST_TRIED:
                return first, attempts
            tried = following

    def _others(
        self,
        known: Dialect,
        sent: Mapping[str, Any],
        failure: CallFailure,
        request: Request,
        more: Mapping[str, Any],
        *,
        first_of_all: bool,
    ) -> Iterator[Dialect]:
        """How else to ask after a ``failure`` of what was ``sent``."""
        doubtful = False
        if failure.kind == BROKEN and "stream" in sent and not known.streams:
            self._broken += 1
            ways = iter([known.leaving(*STREAMED)] if self._broken > 1 else [])
        elif failure.kind == OVERFLOW:
            ways = known.smaller()
        elif failure.refusal is None:
            return
        else:
            # It may be about anything that no answered request had.
            new = not _parts(sent) <= self._taken
            doubtful = failure.unsaid and new and not (first_of_all or request.has_images or more.keys() - STREAMED.keys())
            ways = [*known.otherwise(sent, failure.refusal, surely=not failure.unsaid, doubtful=doubtful)]
            ways += known.smaller() if failure.unsaid else ()  # there are many words for a context that is too short
        tried = [sent]
        if doubtful and failure.refusal is not None and not blamed(sent, failure.refusal):
            # It may have been a fault that is over.
            yield known
        for way in ways:
            if (body := way.body(self._model, request, more)) not in tried:
                tried.append(body)
                if failure.again and failure.refusal is not None:
                    # An error of the server's own tells something of the request if it comes twice.
                    failure = replace(failure, again=False)
                    yield known
                yield way

    def _fuller(self, completion: Completion, tried: Dialect) -> Dialect | None:
        """How to ask for a reply again that is nothing but thinking, or was cut off because of that; None: it is as it is."""
        if completion.read or not _thought(completion):
            return None
        if completion.finish == "length" and not self._least_tokens and tried.room < (self._dialect.room or THOUGHT_ROOM):
            return replace(tried, room=max(self._dialect.room, THOUGHT_ROOM))
        # Stop texts cut off thinking, too.
        hollow = completion.finish == "stop" and not completion.text.strip()
        return tried.leaving("stop") if hollow else None

    def _answered(
        self, completion: Completion, request: Request, sent: Mapping[str, Any], before: Dialect, tried: Dialect
    ) -> Completion:
        """``completion`` with how it was asked for; what brought it is known from now on, to all episodes."""
        self._taken |= _parts(sent)
        self._broken = 0 if "stream" in sent else self._broken
        if completion.text.strip() and completion.thinking:
            tried = replace(tried, speaks=True)
        known, self._dialect = self._dialect, self._dialect.with_learned(before, tried)
        for new in set(self._dialect.told()) - set(known.told()):
            _log.warning("%s: %s.", self.name, new)
        if not request.raw and request.max_tokens > 1 and not (request.holds and self._dialect.thinking != "off"):
            self._dialect = self._dialect.heeding(thought=_thought(completion), way=tried.way)
        if not request.has_images and completion.timing.cached is None:
            self._dialect = self._dialect.reading(
                sum(len(message.content) for message in request.messages), completion.usage.prompt
            )
        return replace(completion, learned=tried.told())

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        """log p of each continuation as the next message, by a call each, and one for the prompt alone; see `score_gain`."""
        if not (await self.capabilities()).scoring:
            raise Unsupported(f"{self.name} does not score given texts; use an agent that only needs replies.")
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

    async def context_left(self, messages: Sequence[Message], *, raw: bool = False) -> int | None:
        """By the server's own tokenizer, where it can be asked: vLLM's and llama.cpp's servers."""
        if self._server.endpoint.official:
            return None
        said = encodable(Request(messages).text) if raw else self._dialect.chat(messages)
        return await self._server.room(await self._connected(), self._model, said)

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
        return self._calls.limiter or RateLimiter(self._server.keys.max_connections(self._server.endpoint))

    def _hear(self, reply: StreamedReply) -> None:
        # The last word may be the beginning of a key.
        said = reply.text
        self._watch(heard=self._server.redactor.text(said[: max(said.rfind(" "), said.rfind("\n")) + 1]))

    def _watch(self, heard: str = "", trouble: str = "") -> None:
        if self._calls.watch is not None:
            self._calls.watch(ReplyProgress(heard, trouble))

    def _said(self, failure: CallFailure) -> str:
        return self._server.said(failure, LONGEST_MESSAGE // 2)

    def _error(self, failure: CallFailure, tried: str = "") -> ModelError:
        what, address = self._said(failure), self._server.endpoint.address
        head = printable_line(self.name if address in self.name else f"{self.name}: {address}", LONGEST_MESSAGE // 3)
        recorded = f"The model {what}. {failure.way_out}"
        message = f"{head} {what}{tried}. {failure.way_out}"
        overflow = failure.kind == OVERFLOW
        return ModelError(message, recorded=recorded, fatal=failure.fatal, kind=failure.kind, overflow=overflow)


def _thought(completion: Completion) -> bool:
    """Whether it thought, by what it tells: its thinking, its count of that, or tokens, or a limit, without a text."""
    used, said = completion.usage, len(completion.text)
    cut = completion.finish == "length" and not said and used.completion is None and not completion.read
    return bool(completion.thinking or used.thinking or cut or (used.completion or 0) > 2 * said + 16)


def _complaint(failure: CallFailure) -> str:
    """What a failure is about, without the numbers and tables in it, which may be of what was sent."""
    return (
        f"{failure.kind} {re.sub(r'[{].*[}]|[0-9]+', '', failure.refusal.message if failure.refusal else '', flags=re.DOTALL)}"
    )


def _parts(sent: Mapping[str, Any]) -> set[str]:
    """What a server takes if it answers this request: the parameters, and a system message."""
    return {*sent, *(message["role"] for message in sent.get("messages", ()))}


def score_gain(alone: Sequence[PromptToken], whole: Sequence[PromptToken]) -> float | None:
    """log p (nats) of ``whole`` less that of the prompt ``alone``; None where ``whole`` adds no token.

    The shared prefix cancels out. Where the prompt's last tokens merge with the text's first, the log-probability of those
    tokens of the prompt is subtracted, for every text alike.
    """
    shared = _shared(alone, whole)
    if shared == len(whole):
        return None
    return math.fsum(token.logprob for token in whole[shared:]) - math.fsum(token.logprob for token in alone[shared:])


def parse_choice(text: str, choices: Sequence[str], *, spelt: bool = False) -> str | None:
    """The one of ``choices`` that the reply to `extra_parameters` names, or is if it was ``spelt`` out; None if it is none."""
    if spelt:
        return text if text in choices else None
    try:
        named = at(json.loads(text), "choice")
    except (ValueError, RecursionError):
        return None
    return next((choice for choice in choices if choice == named), None)


def _shared(one: Sequence[PromptToken], other: Sequence[PromptToken]) -> int:
    return shared_prefix([token.number for token in one], [token.number for token in other])


def picture_question() -> Message:
    """A question that only somebody who sees its picture can answer: servers may pass over a picture as over a parameter."""
    from housequest.worlds.rooms.render import png_file

    rows = b"".join((b"\0" + bytes([colour]) * _PIXELS) * (_PIXELS // 2) for colour in range(len(_COLOURS)))
    palette = b"".join(map(bytes, _COLOURS.values()))
    return Message("user", _PICTURE_QUESTION, Image(png_file((_PIXELS, _PIXELS), 3, rows, (b"PLTE", palette)), ""))


def names_colours(text: str) -> bool:
    """Whether the reply to `picture_question` names its colours, in their order."""
    return re.search(r"\b{}\b.*\b{}\b".format(*_COLOURS), text, re.IGNORECASE | re.DOTALL) is not None


def spells(text: str, word: str) -> bool:
    """Whether ``text`` has no letters but those of ``word``, as a reply has that was biased towards its tokens."""
    letters = {letter for letter in text.lower() if letter.isalpha()}
    return bool(letters) and letters <= set(word)
