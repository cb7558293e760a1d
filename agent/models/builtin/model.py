"""The model that ships: a specialist for household text games, small enough to run anywhere in a few milliseconds a reply.

It computes in NumPy in one thread for all waiting calls together: each pass reads the prompts of new calls, and one token of
every reply in progress. Shared prefixes are cached in whole blocks. A token's values do not depend on the cache or on other
calls (`network`), so the reply to a prompt has the same bytes however many games are played at once.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar
from zlib import crc32

import numpy as np

from housequest.agent.models.base import (
    Capabilities,
    Completion,
    Message,
    Model,
    Request,
    Scores,
    Timing,
    TokenChoice,
    Usage,
    shared_prefix,
    stop_at,
)
from housequest.agent.models.builtin.network import BLOCK, SHIPPED, BuiltinFile, Cache, NetworkInput, read_builtin
from housequest.agent.networks import Floats, use_one_thread
from housequest.agent.roles.brief import is_brief_prompt
from housequest.worlds.errors import ModelError, Unsupported

T = TypeVar("T")
_CAPABILITIES = Capabilities(log_probabilities=True, scoring=True, choices=True, deterministic=True)
_CACHES = 32
_MOST_TOKENS = 512
Steps = Generator[NetworkInput, Floats, T]
"""Work on the network: a generator that yields inputs, is sent their logits, and returns its result."""


class _Call:
    """Steps of work with the future of their result, which may be cancelled."""

    def __init__(self, steps: Steps[Any]) -> None:
        self.steps = steps
        self.result: Future[Any] = Future()

    def after(self, logits: Floats | None) -> NetworkInput | None:
        """Return the next input after the ``logits`` of the last one; None if the work is over."""
        if self.result.cancelled():
            self.steps.close()
            return None
        try:
            return next(self.steps) if logits is None else self.steps.send(logits)
        except StopIteration as end:
            if self.result.set_running_or_notify_cancel():
                self.result.set_result(end.value)
        except Exception as error:  # noqa: BLE001 - raised where the result is awaited
            self.fail(error)
        return None

    def fail(self, error: Exception) -> None:
        """Make the awaited result raise ``error``."""
        if self.result.set_running_or_notify_cancel():
            self.result.set_exception(error)


class BuiltinModel(Model):
    """Replies only to the prompts of `housequest.agent.roles.brief`, on which it was trained; can continue a reply."""

    def __init__(self, file: BuiltinFile, *, name: str = "builtin") -> None:
        self.name = name
        self._vocabulary = file.vocabulary
        self._network = file.network
        self._kept: list[Cache] = []
        self._thread = ThreadPoolExecutor(1, "builtin-model", use_one_thread)
        self._lock = threading.Lock()
        self._waiting: list[_Call] = []
        self._computes = False

    async def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    def reads(self, prompt: str) -> bool:
        return is_brief_prompt(prompt)

    async def complete(self, request: Request) -> Completion:
        request.check(self.name, _CAPABILITIES)
        began = perf_counter()
        completion = await self._done(self._completed(request, self._tokens(request.messages)))
        return replace(completion, timing=replace(completion.timing, seconds=perf_counter() - began))

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        return Scores(tuple(await self._done(self._scored(self._tokens(messages), continuations))))

    async def aclose(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _done(self, steps: Steps[T]) -> T:
        """Run ``steps`` together with other calls, and return their result."""
        call = _Call(steps)
        with self._lock:
            self._waiting.append(call)
            idle, self._computes = not self._computes, True
        if idle:
            self._thread.submit(self._compute)
        return await asyncio.wrap_future(call.result)

    def _compute(self) -> None:
        going: dict[_Call, NetworkInput] = {}
        while True:
            with self._lock:
                new, self._waiting = self._waiting, []
                self._computes = bool(going or new)
            if not self._computes:
                return
            going |= _read_next(dict.fromkeys(new))
            try:
                logits = self._network.read(tuple(going.values()))
            except Exception as error:  # noqa: BLE001 - raised where the results are awaited
                for call in going:
                    call.fail(error)
                going = {}
            else:
                going = _read_next(dict(zip(going, logits, strict=True)))

    def _tokens(self, messages: Sequence[Message]) -> list[int]:
        known = self._vocabulary
        if not any(message.role == "user" and self.reads(message.content) for message in messages):
            raise Unsupported(
                f"The model {self.name} knows the prompts of the agent reasoner-actor alone; play with that agent, or name a "
                "chat model, for example openai:NAME."
            )
        tokens: list[int] = []
        for message in messages:
            mark = {"system": known.system, "user": known.user, "assistant": known.reply}[message.role]
            tokens += (mark, *known.encode(message.content))
            if message.role == "assistant" and message is not messages[-1]:
                tokens.append(known.end)
        if messages[-1].role != "assistant":
            tokens.append(known.reply)
        return tokens

    def _completed(self, asked: Request, tokens: list[int]) -> Steps[Completion]:
        known = self._vocabulary
        random = np.random.default_rng([asked.seed or 0, crc32(np.array(tokens).tobytes())])
        if asked.choices is not None:
            if not asked.choices:
                raise ModelError(f"{self.name} was given nothing to choose from; give at least one text.")
            scores = np.array((yield from self._scored(tokens, asked.choices, ended=True)))
            text = asked.choices[_sample(scores, asked.temperature, random)]
            return Completion(text, "stop", Usage(len(tokens), len(known.encode(text))), Timing(cached=0))
        with self._cache(tokens, room=1) as cache:
            cached = cache.length
            (logits,) = yield NetworkInput(tokens[cached:], cache)
            said: list[int] = []
            choices: list[TokenChoice] = []
            text, finish = "", "length"
            most = min(asked.max_tokens, _MOST_TOKENS, self._network.shape.context - len(tokens))
            while len(said) < most:
                token = _sample(logits, asked.temperature, random)
                if token == known.end:
                    finish = "stop"
                    break
                if asked.top_logprobs:
                    choices.append(self._choice(logits, token, asked.top_logprobs))
                said.append(token)
                text = known.decode(said)
                end = stop_at(text, asked.stop)
                if end is not None:
                    text, finish = text[:end], "stop"
                    break
                (logits,) = yield NetworkInput([token], cache)
        return Completion(text, finish, Usage(len(tokens), len(said)), Timing(cached=cached), tuple(choices))

    def _scored(self, tokens: list[int], continuations: Sequence[str], *, ended: bool = False) -> Steps[list[float]]:
        """log p (nats) of each continuation, with ``ended`` including the end of the reply."""
        known = self._vocabulary
        each = [known.encode(text) + [known.end] * ended for text in continuations]
        found: list[float] = []
        with self._cache(tokens, room=max((len(one) for one in each), default=0)) as cache:
            (first,) = yield NetworkInput(tokens[cache.length :], cache)
            length = cache.length
            for one in each:
                cache.length = length
                more = (yield NetworkInput(one[:-1], cache, every=True)) if len(one) > 1 else ()
                found.append(sum(float(_log_softmax(row)[token]) for row, token in zip((first, *more), one, strict=False)))
        return found

    def _choice(self, logits: Floats, token: int, top: int) -> TokenChoice:
        logs, names = _log_softmax(logits), self._vocabulary.tokens
        best = np.argsort(-logs, kind="stable")[:top]
        return TokenChoice(names[token], float(logs[token]), tuple((names[int(id)], float(logs[int(id)])) for id in best))

    @contextmanager
    def _cache(self, tokens: list[int], *, room: int) -> Generator[Cache]:
        """Lend a cache of the longest cached prefix of ``tokens``, with ``room`` for more, and keep it for other calls."""
        context = self._network.shape.context
        if len(tokens) + room > context:
            raise ModelError(
                f"The prompt of {len(tokens)} tokens is too long for the built-in model, which reads {context}; give it fewer "
                "or shorter rules and hints."
            )
        # The last block is always read, since its logits are needed; only whole blocks are cached.
        whole = (len(tokens) - 1) // BLOCK * BLOCK
        best = max(self._kept, key=lambda kept: shared_prefix(kept.tokens, tokens), default=None)
        known = 0 if best is None else min(shared_prefix(best.tokens, tokens) // BLOCK * BLOCK, whole)
        if best is not None and known == len(best.tokens):
            self._kept.remove(best)
            cache = best
        else:
            cache = Cache(self._network.shape)
            if best is not None:
                cache.keys[:, :, :known] = best.keys[:, :, :known]
                cache.values[:, :, :known] = best.values[:, :, :known]
        cache.length = known
        yield cache
        cache.tokens = tokens[:whole]
        self._kept = [*self._kept, cache][-_CACHES:]


def _read_next(after: Mapping[_Call, Floats | None]) -> dict[_Call, NetworkInput]:
    next_readings = ((call, call.after(logits)) for call, logits in after.items())
    return {call: reading for call, reading in next_readings if reading is not None}


def _sample(logits: Floats, temperature: float, random: np.random.Generator) -> int:
    if temperature <= 0:
        return int(np.argmax(logits))
    chances = np.exp(_log_softmax(logits.astype(np.float64) / temperature))
    return int(random.choice(len(logits), p=chances / chances.sum()))


def _log_softmax(logits: Floats) -> Floats:
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())


def load_builtin(file: Path | None = None, *, name: str = "builtin") -> BuiltinModel:
    """Load the model that ships, or the one in ``file``. Raises ``ConfigurationError``."""
    return BuiltinModel(read_builtin(SHIPPED if file is None else file), name=name)
