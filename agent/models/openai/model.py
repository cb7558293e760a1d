"""A model behind any OpenAI-compatible endpoint, whose abilities beyond a plain chat are probed by small calls.

Servers ignore parameters that they do not know, so each capability is tried once: a probe asks for a reply that no model would
give by chance. `calls` makes the calls.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

from housequest.agent.models.base import (
    Capabilities,
    Completion,
    Image,
    Message,
    Model,
    ProbedPart,
    PromptToken,
    Request,
    Scores,
    Usage,
    encodable,
    shared_prefix,
)
from housequest.agent.models.forms import Choice, grammar_of
from housequest.agent.models.openai.calls import EndpointCalls
from housequest.agent.models.openai.dialect import Dialect
from housequest.agent.models.openai.protocol import (
    SAID,
    extra_parameters,
    parse_choice,
    scoring_parameters,
    thought,
    with_beginning,
)
from housequest.agent.models.openai.server import Attempts, CallFailure
from housequest.agent.models.registry import CallOptions
from housequest.worlds.errors import Unsupported
from housequest.worlds.paths import atomic_write, cache_folder, read_file
from housequest.worlds.validation import Invalid, read_json

if TYPE_CHECKING:
    from housequest.agent.models.openai import OpenAIProvider

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

PROBED_AGAIN = 2
"""Retries of a probe that fails; few, since the probe may be what breaks the server."""
PROBE_TOKENS = 256
"""Tokens of a probe's reply: enough to think a little before one word."""
QUESTION = "Answer with the single word: ready"
_READY = Request([Message("user", QUESTION)], max_tokens=PROBE_TOKENS)
_WORDS = ("axolotl", "quetzal")
_PICTURE_QUESTION = (
    "The picture has an upper half of one colour and a lower half of another. Answer with two words: the upper colour, then "
    "the lower one."
)
_COLOURS = {"yellow": (255, 255, 0), "red": (255, 0, 0)}
_PIXELS = 64
"""Width and height of the probe's picture; some models refuse less than 28."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The things learned of a model until the time ``at``."""

    at: float
    dialect: Dialect
    found: dict[str, Capabilities]
    chats: bool


class OpenAIModel(EndpointCalls, Model):
    """A model behind an OpenAI-compatible endpoint. Raises ``ConfigurationError`` if the endpoint's key is missing."""

    def __init__(self, served: OpenAIProvider, calls: CallOptions, *, name: str) -> None:
        super().__init__(served, calls, name)
        self._found: dict[str, Capabilities] = {}
        """What was probed, once for each part; "everything" stands for all."""
        self._chats = True
        """False once the server said that the model has no chat template."""
        asked = repr((name, self.server.keys.extra_body(served.endpoint)))
        self._kept = cache_folder() / "models" / f"{sha256(asked.encode()).hexdigest()[:24]}.json"
        self._recall()

    def learned(self) -> tuple[str, ...]:
        # Without an answer, nothing was learned.
        return self.dialect.told() if self.server.answered or self.dialect != self.blank else ()

    def keep_learned(self) -> None:
        # What the user asks for may hold secrets.
        kept = _Kept(time.time(), self.dialect.asking(Dialect()), self._found, self._chats)
        with suppress(OSError):  # it will be probed again
            atomic_write(self._kept, json.dumps(asdict(kept), default=sorted).encode())

    def forget_learned(self) -> None:
        self.dialect = self.blank
        self._chats, self._found = True, {}
        with suppress(OSError):  # there may be nothing
            self._kept.unlink()

    def _recall(self) -> None:
        """Load what `keep_learned` wrote less than a day ago."""
        with suppress(OSError, Invalid):  # missing or unreadable: it will be probed again
            kept = read_json(_Kept, read_file(self._kept, LARGEST_KEPT))
            if time.time() - kept.at < KEPT:
                self.dialect = kept.dialect.asking(self.blank)
                self._chats, self._found = kept.chats, kept.found

    async def capabilities(self) -> Capabilities:
        return await self.probe("everything")

    async def probe(self, part: ProbedPart | Literal["everything"]) -> Capabilities:
        await self.connected()
        async with self.probing:
            return await self._once(part)

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
            return await self.request(self.with_room(request), more)
        # A choice must not be cut off, and its length is known.
        longest = _WRAPPED + max((len(encodable(choice).encode()) for choice in choices), default=0)
        request = replace(request, max_tokens=max(request.max_tokens, longest))
        completion = await self.request(self.with_room(request), more)
        named = None if completion.held == "refused" else parse_choice(completion.text, choices, spelt=spelt)
        if named is not None:
            return replace(completion, text=named)
        return replace(completion, held=completion.held or ("cut" if completion.finish == "length" else "broken"))

    async def check_alive(self) -> Completion:
        # A model that continues plain text may have no chat.
        plain = "completions" in self._found and self._found["completions"].completions
        outcome, _ = await self.attempt(self.with_room(replace(_READY, raw=plain)), {}, first_of_all=True)
        if isinstance(outcome, Completion):
            return replace(outcome, timing=replace(outcome.timing, wasted=self.spent()))
        raise self.error(outcome)

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
                raise self.error(_NO_LOGPROBS)
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
        completion = await self.request(Request(with_beginning(messages, text), max_tokens=1), scoring_parameters(text))
        if not completion.read:
            raise self.error(_NO_LOGPROBS)
        return completion

    async def context_left(self, messages: Sequence[Message], *, raw: bool = False) -> int | None:
        # vLLM's and llama.cpp's servers count with the model's own tokenizer.
        if self.server.endpoint.official:
            return None
        said = encodable(Request(messages).text) if raw else self.dialect.chat(messages)
        return await self.server.room(await self.connected(), self.served, said)

    async def _once(self, part: str) -> Capabilities:
        if part not in self._found:
            probes = {"forms": self._forms, "completions": self._completions, "everything": self._everything}
            self._found[part] = await probes[part]()
        return self._found[part]

    async def _forms(self) -> Capabilities:
        chosen = await self._probe(extra_parameters(Request((), choices=_WORDS)))
        by_schema = chosen is not None and parse_choice(chosen.text, _WORDS) is not None
        spelt = await self._spelt(raw=False)
        held = spelt or (chosen if by_schema else None)
        if held is not None and not thought(held) and (free := await self._probe({})) is not None and thought(free):
            # A free reply after thinking is worth more than a form without thinking.
            _log.warning("%s thinks, but not where its replies are held to a form, so they are free.", self.name)
            return Capabilities(self._chats)
        return Capabilities(self._chats, choices=held is not None, schema=by_schema, grammar=spelt is not None)

    async def _completions(self) -> Capabilities:
        """Probe plain-text completion and a grammar for it: two calls, or one if it fails."""
        if await self._probe({}, replace(_READY, max_tokens=1, raw=True)) is None:
            return Capabilities()
        return Capabilities(completions=True, grammar=await self._spelt(raw=True) is not None)

    async def _spelt(self, *, raw: bool) -> Completion | None:
        spelt = await self._probe(extra_parameters(Request((), grammar=grammar_of(Choice(_WORDS)))), replace(_READY, raw=raw))
        return spelt if spelt is not None and spelt.text in _WORDS else None

    async def _everything(self) -> Capabilities:
        """Probe everything else: four calls, or six if it returns prompt log-probabilities."""
        holding = await self._once("forms")
        likely = await self._probe(extra_parameters(Request((), top_logprobs=2)))
        pushed = await self._probe(extra_parameters(Request((), bias={_WORDS[0]: 100.0})))
        scored = await self._scoring()
        looked = await self._probe({}, replace(_READY, messages=[picture_question()]))
        return replace(
            holding,
            completions=(await self._once("completions")).completions,
            log_probabilities=likely is not None and any(token.alternatives for token in likely.tokens),
            scoring=scored,
            singly=scored,
            bias=pushed is not None and spells(pushed.text, _WORDS[0]),
            images=looked is not None and names_colours(looked.text),
        )

    async def _scoring(self) -> bool:
        """Probe scoring: a text must be tokenized as a prefix of a longer one, without an end of turn after it."""

        async def read(text: str) -> Completion | None:
            request = Request(with_beginning(_READY.messages, text), max_tokens=1)
            return await self._probe(scoring_parameters(text), request)

        alone = await read("")
        if alone is None or not alone.read:
            return False
        shorter, longer = await read(_WORDS[0]), await read(" ".join(_WORDS))
        if shorter is None or longer is None or score_gain(alone.read, shorter.read) is None:
            return False
        return _shared(shorter.read, longer.read) == len(shorter.read) < len(longer.read)

    async def _probe(self, wanted: Mapping[str, Any], request: Request = _READY) -> Completion | None:
        """Send ``request`` with ``wanted``; None if refused. Raises ``ModelError`` if every request would fail."""
        raw = request.raw
        request = self.with_room(request) if request.max_tokens == PROBE_TOKENS else request
        attempts, broke = Attempts(self.options), 0
        while True:
            outcome, made = await self.attempt(request, wanted)
            self.wasted = self.wasted.plus(made, outcome.usage if isinstance(outcome, Completion) else Usage())
            if isinstance(outcome, Completion):
                return outcome
            # A busy server or a lost connection says nothing about capabilities, which are probed only once.
            wait = attempts.wait_after(outcome) if outcome.crowded or broke < PROBED_AGAIN else None
            if wait is None:
                break
            broke += not outcome.crowded
            await self.limiter.rest(wait)
        if raw and outcome.kind == "status 404":
            return None
        if (
            not raw
            and outcome.unsaid
            and outcome.refusal is not None
            and SAID["no_chat_template"].search(outcome.refusal.message[:2_000])
        ):
            self._chats = False
            return None
        if outcome.fatal or (raw and outcome.again and not self.server.answered):
            raise self.error(outcome)
        if not outcome.unsaid:
            # Not a refusal of ``wanted``: either that crashes the server, or the server is down.
            if not raw:
                await self.check_alive()
            names = ", ".join((*["a completion of plain text"] * raw, *sorted(wanted))) or "a reply to a picture"
            _log.warning("%s %s when asked for %s, and is not asked for that again.", self.name, self.said(outcome), names)
        return None


def score_gain(alone: Sequence[PromptToken], whole: Sequence[PromptToken]) -> float | None:
    """log p (nats) of ``whole`` minus that of the prompt ``alone``; None if ``whole`` adds no token.

    The shared prefix cancels out. If the prompt's last tokens merge with the text's first, the log-probability of those prompt
    tokens is subtracted, the same for every text.
    """
    shared = _shared(alone, whole)
    if shared == len(whole):
        return None
    return math.fsum(token.logprob for token in whole[shared:]) - math.fsum(token.logprob for token in alone[shared:])


def _shared(one: Sequence[PromptToken], other: Sequence[PromptToken]) -> int:
    return shared_prefix([token.number for token in one], [token.number for token in other])


def picture_question() -> Message:
    """A question that cannot be answered without seeing its picture, since servers may ignore pictures."""
    from housequest.worlds.rooms.render import png_file

    rows = b"".join((b"\0" + bytes([colour]) * _PIXELS) * (_PIXELS // 2) for colour in range(len(_COLOURS)))
    palette = b"".join(map(bytes, _COLOURS.values()))
    return Message("user", _PICTURE_QUESTION, Image(png_file((_PIXELS, _PIXELS), 3, rows, (b"PLTE", palette)), ""))


def names_colours(text: str) -> bool:
    """True if the reply to `picture_question` names its colours in order."""
    return re.search(r"\b{}\b.*\b{}\b".format(*_COLOURS), text, re.IGNORECASE | re.DOTALL) is not None


def spells(text: str, word: str) -> bool:
    """True if ``text`` has only letters of ``word``, as after a bias towards its tokens."""
    letters = {letter for letter in text.lower() if letter.isalpha()}
    return bool(letters) and letters <= set(word)
