"""Parameters beyond a plain chat, and probes that find out whether an endpoint honours them.

Servers ignore parameters that they do not know, so each is tried: a probe asks for a reply that no model would give unasked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol, cast

from agent.models.base import Capabilities, Completion, PromptToken, Request, TokenChoice

MOST_ALTERNATIVES = 20
_MOST_TOKENS = 4_096
_LONGEST_TOKEN = 200
_WORDS = ("axolotl", "quetzal")

_LONGEST_NUMBER = 10
PROBE_TOKENS = 256
"""Tokens of a probe: enough to think a little before answering with a word."""

QUESTION = "Answer with the single word: ready"


class Probe(Protocol):
    """Asks `QUESTION` with the ``wanted`` parameters, and ``said`` as the reply's beginning; None where that was refused."""

    async def __call__(
        self, wanted: Mapping[str, Any], /, *, said: str = "", tokens: int = PROBE_TOKENS
    ) -> Completion | None: ...


def extra_parameters(request: Request) -> dict[str, Any]:
    """The parameters for what not every server takes. One of given texts is asked for as JSON by a schema."""
    found: dict[str, Any] = {}
    if request.top_logprobs:
        found |= {"logprobs": True, "top_logprobs": min(request.top_logprobs, MOST_ALTERNATIVES)}
    wanted = _one_of(request.choices) if request.choices is not None else request.schema
    if wanted is not None:
        found["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": wanted}}
    if request.bias:
        found["logit_bias"] = [[token, value] for token, value in request.bias.items()]
    return found


def scoring_parameters(text: str) -> dict[str, Any]:
    """The parameters that ask for the log-probability of each token of a prompt.

    With ``text``, the prompt's last message is the beginning of the model's reply. As vLLM's chat completions have it:
    ``prompt_logprobs`` (0: no alternatives), ``continue_final_message``, ``add_generation_prompt``.
    """
    return {"prompt_logprobs": 0, "add_generation_prompt": not text, **({"continue_final_message": True} if text else {})}


def read_tokens(reply: Mapping[str, object]) -> tuple[PromptToken, ...]:
    """The tokens of the prompt but the first, as an answer to `scoring` tells them; none where one cannot be read."""
    told = reply.get("prompt_logprobs")
    # Nothing comes before the first, which has no probability.
    found = [_read(_fields(entry)) for entry in cast("list[object]", told)[1:]] if isinstance(told, list) else []
    tokens = tuple(token for token in found if token is not None)
    return tokens if len(tokens) == len(found) else ()


def score_gain(alone: Sequence[PromptToken], whole: Sequence[PromptToken]) -> float | None:
    """log p (nats) of ``whole`` less that of the prompt ``alone``; None where ``whole`` adds no token.

    The shared prefix cancels out. Where the prompt's last tokens merge with the text's first, the log-probability of those
    tokens of the prompt is subtracted, for every text alike.
    """
    shared = _shared(alone, whole)
    if shared == len(whole):
        return None
    return math.fsum(token.logprob for token in whole[shared:]) - math.fsum(token.logprob for token in alone[shared:])


def parse_choice(text: str, choices: Sequence[str]) -> str | None:
    """The one of ``choices`` that the reply to `extra_parameters` names; None where it names none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    named = cast("dict[str, object]", value).get("choice") if isinstance(value, dict) else None
    return next((choice for choice in choices if choice == named), None)


def token_choices(choice: Mapping[str, object]) -> tuple[TokenChoice, ...]:
    """The tokens of one choice of a completion with their log-probabilities; malformed ones are left out."""
    content = _fields(choice.get("logprobs")).get("content")
    entries = cast("list[object]", content)[:_MOST_TOKENS] if isinstance(content, list) else []
    return tuple(token for entry in entries if (token := _token(_fields(entry))) is not None)


async def probe_capabilities(ask: Probe) -> Capabilities:
    """What an endpoint can do besides chatting: four calls, and two more where it gives prompt log-probabilities."""
    likely = await ask(extra_parameters(Request((), top_logprobs=2)))
    held = await ask(extra_parameters(Request((), choices=_WORDS)))
    pushed = await ask(extra_parameters(Request((), bias={_WORDS[0]: 100.0})))
    scored = await _scores(ask)
    by_schema = held is not None and parse_choice(held.text, _WORDS) is not None
    return Capabilities(
        log_probabilities=likely is not None and any(token.alternatives for token in likely.tokens),
        scoring=scored,
        singly=scored,
        choices=by_schema,
        schema=by_schema,
        bias=pushed is not None and spells(pushed.text, _WORDS[0]),
    )


async def _scores(ask: Probe) -> bool:
    """Whether texts can be scored: a text must be read as the prefix of a longer one, with no end of turn after it."""
    alone = await ask(scoring_parameters(""), tokens=1)
    if alone is None or not alone.read:
        return False
    one, both = _WORDS[0], " ".join(_WORDS)
    shorter, longer = (
        await ask(scoring_parameters(one), said=one, tokens=1),
        await ask(scoring_parameters(both), said=both, tokens=1),
    )
    if shorter is None or longer is None or score_gain(alone.read, shorter.read) is None:
        return False
    return _shared(shorter.read, longer.read) == len(shorter.read) < len(longer.read)


def spells(text: str, word: str) -> bool:
    """Whether ``text`` has no letters but those of ``word``, as a reply has that was biased towards its tokens."""
    letters = {letter for letter in text.lower() if letter.isalpha()}
    return bool(letters) and letters <= set(word)


def _one_of(choices: Sequence[str]) -> dict[str, Any]:
    named = {"choice": {"type": "string", "enum": list(dict.fromkeys(choices))}}
    return {"type": "object", "properties": named, "required": ["choice"], "additionalProperties": False}


def _shared(one: Sequence[PromptToken], other: Sequence[PromptToken]) -> int:
    """How many tokens both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0].number == pair[1].number, zip(one, other, strict=False)))


def _read(entry: Mapping[str, object]) -> PromptToken | None:
    # The token that stands there comes first; likelier ones, which were not asked for, would follow.
    number = next(iter(entry), "")
    logprob = _fields(entry.get(number)).get("logprob")
    if not (number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER):
        return None
    if not isinstance(logprob, int | float) or isinstance(logprob, bool) or not _finite(logprob):
        return None
    return PromptToken(int(number), float(logprob))


def _finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number that no float holds
        return False


def _token(entry: Mapping[str, object]) -> TokenChoice | None:
    here = _likely(entry)
    alternatives = entry.get("top_logprobs")
    listed = cast("list[object]", alternatives)[:MOST_ALTERNATIVES] if isinstance(alternatives, list) else []
    others = [other for each in listed if (other := _likely(_fields(each))) is not None]
    return None if here is None else TokenChoice(*here, tuple(others))


def _likely(entry: Mapping[str, object]) -> tuple[str, float] | None:
    token, logprob = entry.get("token"), entry.get("logprob")
    if not isinstance(token, str) or not isinstance(logprob, int | float) or isinstance(logprob, bool):
        return None
    if not _finite(logprob):
        return None
    return token[:_LONGEST_TOKEN].encode("utf-8", "replace").decode("utf-8"), float(logprob)


def _fields(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
