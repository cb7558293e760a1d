"""A model behind any OpenAI-compatible endpoint.

`calls` makes the calls, and `probes` finds out what the model can do beyond a plain chat.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from housequest.agent.models.base import Capabilities, Completion, Message, Model, ProbedPart, Request, Scores, encodable
from housequest.agent.models.forms import Choice, grammar_of
from housequest.agent.models.openai.calls import EndpointCalls
from housequest.agent.models.openai.probes import Probes, score_gain
from housequest.agent.models.openai.protocol import extra_parameters, parse_choice, scoring_parameters, with_beginning
from housequest.agent.models.openai.server import CallFailure
from housequest.agent.models.rate_limiter import Limiter
from housequest.agent.models.registry import CallOptions
from housequest.worlds.errors import Unsupported
from housequest.worlds.paths import atomic_write, cache_folder, read_file

if TYPE_CHECKING:
    from housequest.agent.models.openai import EndpointName

SCORED_AT_ONCE = 16
KEPT = 24 * 3600.0
"""Seconds after which a model is probed again, since its server may have changed."""
LARGEST_KEPT = 1 << 16
_WRAPPED = 64
"""Tokens for the JSON around a choice."""
_NO_LOGPROBS = CallFailure(
    "did not return the log-probabilities of the prompt's tokens, or not in a readable form",
    "Its server does not always score texts; use another model or server, or an agent that only needs replies.",
    "no log-probabilities",
)


class OpenAIModel(Model):
    """A model behind an OpenAI-compatible endpoint. Raises ``ConfigurationError`` if the endpoint's key is missing."""

    def __init__(self, served: EndpointName, calls: CallOptions, *, name: str) -> None:
        self.name, self._calls = name, EndpointCalls(served, calls, name)
        self._probes = Probes(self._calls)
        asked = repr((name, self._calls.server.keys.extra_body(served.endpoint)))
        self._kept = cache_folder() / "models" / f"{sha256(asked.encode()).hexdigest()[:24]}.json"
        self._recall()

    @property
    def limiter(self) -> Limiter:
        """The rate limiter of the present event loop."""
        return self._calls.limiter

    def learned(self) -> tuple[str, ...]:
        # Without an answer, nothing was learned.
        return self._calls.dialect.told() if self._calls.server.answered or self._calls.dialect != self._calls.blank else ()

    def keep_learned(self) -> None:
        found = {part: asdict(can) for part, can in self._probes.found.items()}
        kept = {"at": time.time(), "dialect": self._calls.dialect.copy(), "found": found, "chats": self._probes.chats}
        with suppress(OSError):  # it will be probed again
            atomic_write(self._kept, json.dumps(kept).encode())

    def forget_learned(self) -> None:
        self._calls.dialect = self._calls.blank
        self._probes.chats, self._probes.found = True, {}
        with suppress(OSError):  # there may be nothing
            self._kept.unlink()

    def _recall(self) -> None:
        """Load what `keep_learned` wrote less than a day ago."""
        try:
            kept = json.loads(read_file(self._kept, LARGEST_KEPT))
            if time.time() - kept["at"] < KEPT:
                found = {part: Capabilities(**can) for part, can in kept["found"].items()}
                self._calls.dialect = self._calls.dialect.restored(kept["dialect"])
                self._probes.chats, self._probes.found = bool(kept["chats"]), found
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return  # missing or unreadable: it will be probed again

    async def capabilities(self) -> Capabilities:
        return await self._probes.find("everything")

    async def probe(self, part: ProbedPart) -> Capabilities:
        return await self._probes.find(part)

    async def complete(self, request: Request) -> Completion:
        choices = request.choices
        spelt = choices is not None and (await self.probe("forms")).grammar
        if choices is not None and spelt:
            # The text itself, as with local models: fine-tuned models did not learn JSON around it.
            request = replace(request, choices=None, grammar=grammar_of(Choice(tuple(choices))))
        more = extra_parameters(request)
        if request.has_images or request.top_logprobs or request.bias:
            request.check(self.name, await self.capabilities())
        elif request.raw:
            request.check(self.name, await self.probe("completions"))
        elif more:
            request.check(self.name, await self.probe("forms"))
        if choices is None:
            return await self._calls.request(self._calls.with_room(request), more)
        # A choice must not be cut off, and its length is known.
        longest = _WRAPPED + max((len(encodable(choice).encode()) for choice in choices), default=0)
        request = replace(request, max_tokens=max(request.max_tokens, longest))
        completion = await self._calls.request(self._calls.with_room(request), more)
        named = None if completion.held == "refused" else parse_choice(completion.text, choices, spelt=spelt)
        if named is not None:
            return replace(completion, text=named)
        return replace(completion, held=completion.held or ("cut" if completion.finish == "length" else "broken"))

    async def check_alive(self) -> Completion:
        return await self._probes.check_alive()

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        """Score each continuation by a call, and the prompt alone by another; see `score_gain`."""
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
                raise self._calls.error(_NO_LOGPROBS)
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
        """Get the prompt's tokens, with ``text`` at its end. Raises ``ModelError``, also if the tokens are missing."""
        completion = await self._calls.request(Request(with_beginning(messages, text), max_tokens=1), scoring_parameters(text))
        if not completion.read:
            raise self._calls.error(_NO_LOGPROBS)
        return completion

    async def context_left(self, messages: Sequence[Message], *, raw: bool = False) -> int | None:
        # vLLM's and llama.cpp's servers count with the model's own tokenizer.
        calls = self._calls
        if calls.server.endpoint.official:
            return None
        said = encodable(Request(messages).text) if raw else calls.dialect.chat(messages)
        return await calls.server.room(await calls.connected(), calls.served, said)

    async def aclose(self) -> None:
        await self._calls.aclose()
