"""Probes that find out which parameters beyond those of a plain chat an endpoint honours.

Servers ignore parameters that they do not know, so each is tried: a probe asks for a reply that no model would give unasked.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from housequest.agent.models.base import Capabilities, Completion, Image, Message, PromptToken, Request
from housequest.agent.models.forms import Choice, grammar_of
from housequest.agent.models.openai.requests import extra_parameters, scoring_parameters
from housequest.agent.models.openai.shapes import at
from housequest.agent.models.text import shared_prefix

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


class Probe(Protocol):
    """Asks a question with parameters, a text as the reply's beginning, and a limit of tokens; None where that was refused."""

    async def __call__(
        self, wanted: Mapping[str, Any], said: str, tokens: int, question: Message = READY, /
    ) -> Completion | None: ...


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


async def probe_holding(ask: Probe) -> Capabilities:
    """What the replies of an endpoint can be held to: two calls."""
    held = await ask(extra_parameters(Request((), choices=_WORDS)), "", PROBE_TOKENS)
    spelt = await ask(extra_parameters(Request((), grammar=grammar_of(Choice(_WORDS)))), "", PROBE_TOKENS)
    by_schema = held is not None and parse_choice(held.text, _WORDS) is not None
    by_grammar = spelt is not None and spelt.text in _WORDS
    return Capabilities(choices=by_schema or by_grammar, schema=by_schema, grammar=by_grammar)


async def probe_continuing(ask: Probe) -> Capabilities:
    """Whether an endpoint continues plain text, and is held to a grammar then: two calls, or one where it does not."""
    if await ask({}, "", 1) is None:
        return Capabilities()
    spelt = await ask(extra_parameters(Request((), grammar=grammar_of(Choice(_WORDS)))), "", PROBE_TOKENS)
    return Capabilities(completions=True, grammar=spelt is not None and spelt.text in _WORDS)


async def probe_capabilities(ask: Probe, holding: Capabilities) -> Capabilities:
    """What an endpoint can do with a chat, beside ``holding``: four calls, or six where it gives prompt log-probabilities."""
    likely = await ask(extra_parameters(Request((), top_logprobs=2)), "", PROBE_TOKENS)
    pushed = await ask(extra_parameters(Request((), bias={_WORDS[0]: 100.0})), "", PROBE_TOKENS)
    scored = await _scores(ask)
    looked = await ask({}, "", PROBE_TOKENS, picture_question())
    return replace(
        holding,
        log_probabilities=likely is not None and any(token.alternatives for token in likely.tokens),
        scoring=scored,
        singly=scored,
        bias=pushed is not None and spells(pushed.text, _WORDS[0]),
        images=looked is not None and names_colours(looked.text),
    )


async def _scores(ask: Probe) -> bool:
    """Whether texts can be scored: a text must be read as the prefix of a longer one, with no end of turn after it."""
    alone = await ask(scoring_parameters(""), "", 1)
    if alone is None or not alone.read:
        return False
    shorter, longer = [await ask(scoring_parameters(text), text, 1) for text in (_WORDS[0], " ".join(_WORDS))]
    if shorter is None or longer is None or score_gain(alone.read, shorter.read) is None:
        return False
    return _shared(shorter.read, longer.read) == len(shorter.read) < len(longer.read)


def _shared(one: Sequence[PromptToken], other: Sequence[PromptToken]) -> int:
    """How many tokens both begin with, whatever their log-probabilities."""
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
