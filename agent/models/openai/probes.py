"""Probes the capabilities of a model behind an endpoint by small calls.

Servers ignore parameters that they do not know, so each capability is tried once: a probe asks for a reply that no model would
give by chance.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from housequest.agent.models.base import Capabilities, Completion, Image, Message, PromptToken, Request, Usage, shared_prefix
from housequest.agent.models.forms import Choice, grammar_of
from housequest.agent.models.openai.calls import EndpointCalls
from housequest.agent.models.openai.protocol import extra_parameters, parse_choice, scoring_parameters, thought, with_beginning
from housequest.agent.models.openai.server import Attempts

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
_NO_TEMPLATE = re.compile(r"chat.?template|template not found", re.IGNORECASE)
"""The error for a model without a chat template."""

_log = logging.getLogger(__name__)


class Probes:
    """The capabilities behind ``calls``, ``found`` once for each part; "everything" stands for all."""

    def __init__(self, calls: EndpointCalls) -> None:
        self._calls = calls
        self.found: dict[str, Capabilities] = {}
        self.chats = True
        """False once the server said that the model has no chat template."""

    async def find(self, part: str) -> Capabilities:
        """Return the capabilities; at least those of ``part`` are probed."""
        await self._calls.connected()
        async with self._calls.probing:
            return await self._once(part)

    async def _once(self, part: str) -> Capabilities:
        if part not in self.found:
            probes = {"forms": self._forms, "completions": self._completions, "everything": self._everything}
            self.found[part] = await probes[part]()
        return self.found[part]

    async def check_alive(self) -> Completion:
        """Ask one short question. Raises ``ModelError``."""
        # A model that continues plain text may have no chat.
        plain = "completions" in self.found and self.found["completions"].completions
        outcome, _ = await self._calls.attempt(self._calls.with_room(replace(_READY, raw=plain)), {}, first_of_all=True)
        if isinstance(outcome, Completion):
            return replace(outcome, timing=replace(outcome.timing, wasted=self._calls.spent()))
        raise self._calls.error(outcome)

    async def _forms(self) -> Capabilities:
        chosen = await self._probe(extra_parameters(Request((), choices=_WORDS)))
        by_schema = chosen is not None and parse_choice(chosen.text, _WORDS) is not None
        spelt = await self._spelt(raw=False)
        held = spelt or (chosen if by_schema else None)
        if held is not None and not thought(held) and (free := await self._probe({})) is not None and thought(free):
            # A free reply after thinking is worth more than a form without thinking.
            _log.warning("%s thinks, but not where its replies are held to a form, so they are free.", self._calls.name)
            return Capabilities(self.chats)
        return Capabilities(self.chats, choices=held is not None, schema=by_schema, grammar=spelt is not None)

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
        calls, raw = self._calls, request.raw
        request = calls.with_room(request) if request.max_tokens == PROBE_TOKENS else request
        attempts, broke = Attempts(calls.options), 0
        while True:
            outcome, made = await calls.attempt(request, wanted)
            calls.wasted = calls.wasted.plus(made, outcome.usage if isinstance(outcome, Completion) else Usage())
            if isinstance(outcome, Completion):
                return outcome
            # A busy server or a lost connection says nothing about capabilities, which are probed only once.
            wait = attempts.wait_after(outcome) if outcome.crowded or broke < PROBED_AGAIN else None
            if wait is None:
                break
            broke += not outcome.crowded
            await calls.limiter.rest(wait)
        if raw and outcome.kind == "status 404":
            return None
        if not raw and outcome.unsaid and outcome.refusal is not None and _NO_TEMPLATE.search(outcome.refusal.message[:2_000]):
            self.chats = False
            return None
        if outcome.fatal or (raw and outcome.again and not calls.server.answered):
            raise calls.error(outcome)
        if not outcome.unsaid:
            # Not a refusal of ``wanted``: either that crashes the server, or the server is down.
            if not raw:
                await self.check_alive()
            names = ", ".join((*["a completion of plain text"] * raw, *sorted(wanted))) or "a reply to a picture"
            _log.warning("%s %s when asked for %s, and is not asked for that again.", calls.name, calls.said(outcome), names)
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
