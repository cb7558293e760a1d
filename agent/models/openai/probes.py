"""What is asked of an endpoint beyond a chat, as the protocol writes it, and how it is found out whether it is heard.

Servers pass over what they do not know, so nothing is believed that was not tried: each probe asks for what no model would
say of its own accord.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol, cast

from agent.models.base import Capabilities, Completion, ReadToken, Request, TokenChoice

MOST_ALTERNATIVES = 20
_MOST_TOKENS = 4_096
_LONGEST_TOKEN = 200
_WORDS = ("axolotl", "quetzal")

_LONGEST_NUMBER = 10
ENOUGH = 256
"""Tokens for a model that thinks a little before it answers with a word."""

QUESTION = "Answer with the single word: ready"


class Probe(Protocol):
    """Asks `QUESTION` with parameters besides, and with the beginning of the reply where something was ``said``; None where
    the endpoint refused that.
    """

    async def __call__(self, wanted: Mapping[str, Any], /, *, said: str = "", tokens: int = ENOUGH) -> Completion | None: ...


def extras(request: Request) -> dict[str, Any]:
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


def scoring(text: str) -> dict[str, Any]:
    """What tells how likely each token of a prompt is, the last message of which is ``text``, begun by the model and not ended.

    Without ``text`` it is the prompt alone. As vLLM's chat completions have it: ``prompt_logprobs`` (0: of the tokens that
    stand there and no others), ``continue_final_message``, ``add_generation_prompt``.
    """
    return {"prompt_logprobs": 0, "add_generation_prompt": not text, **({"continue_final_message": True} if text else {})}


def read_tokens(reply: Mapping[str, object]) -> tuple[ReadToken, ...]:
    """The tokens of the prompt but the first, as an answer to `scoring` tells them; none where one cannot be read."""
    told = reply.get("prompt_logprobs")
    # Nothing comes before the first, which has no probability.
    found = [_read(_fields(entry)) for entry in cast("list[object]", told)[1:]] if isinstance(told, list) else []
    tokens = tuple(token for token in found if token is not None)
    return tokens if len(tokens) == len(found) else ()


def gained(alone: Sequence[ReadToken], whole: Sequence[ReadToken]) -> float | None:
    """log p (nats) of what ``whole`` has beyond the prompt ``alone``: its sum less the other's; None where that is nothing.

    What both begin with is worth the same in either, and is left out. Where the prompt's tokens stay as they are, the sum over
    those that follow is all there is to it, as it is for a text that is tokenised by itself; where the prompt's last ones
    are merged with the text's first, what these were worth is taken off, for every text alike.
    """
    shared = _shared(alone, whole)
    if shared == len(whole):
        return None
    return math.fsum(token.logprob for token in whole[shared:]) - math.fsum(token.logprob for token in alone[shared:])


def chosen(text: str, choices: Sequence[str]) -> str | None:
    """The one of ``choices`` that the reply to `extras` names; None where it names none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    named = cast("dict[str, object]", value).get("choice") if isinstance(value, dict) else None
    return next((choice for choice in choices if choice == named), None)


def token_choices(choice: Mapping[str, object]) -> tuple[TokenChoice, ...]:
    """The tokens of one choice of a completion with their log-probabilities; what is no such thing is left out."""
    content = _fields(choice.get("logprobs")).get("content")
    entries = cast("list[object]", content)[:_MOST_TOKENS] if isinstance(content, list) else []
    return tuple(token for entry in entries if (token := _token(_fields(entry))) is not None)


async def probed(ask: Probe) -> Capabilities:
    """What an endpoint does besides chatting, by four calls, and two more where it tells how likely a prompt is."""
    likely = await ask(extras(Request((), top_logprobs=2)))
    held = await ask(extras(Request((), choices=_WORDS)))
    pushed = await ask(extras(Request((), bias={_WORDS[0]: 100.0})))
    scored = await _scores(ask)
    by_schema = held is not None and chosen(held.text, _WORDS) is not None
    return Capabilities(
        log_probabilities=likely is not None and any(token.alternatives for token in likely.tokens),
        scoring=scored,
        singly=scored,
        choices=by_schema,
        schema=by_schema,
        bias=pushed is not None and spelt_of(pushed.text, _WORDS[0]),
    )


async def _scores(ask: Probe) -> bool:
    """Whether given texts can be scored: one that another begins with is read as that one's beginning, and is not ended."""
    alone = await ask(scoring(""), tokens=1)
    if alone is None or not alone.read:
        return False
    one, both = _WORDS[0], " ".join(_WORDS)
    shorter, longer = await ask(scoring(one), said=one, tokens=1), await ask(scoring(both), said=both, tokens=1)
    if shorter is None or longer is None or gained(alone.read, shorter.read) is None:
        return False
    return _shared(shorter.read, longer.read) == len(shorter.read) < len(longer.read)


def spelt_of(text: str, word: str) -> bool:
    """Whether ``text`` is made of the letters of ``word`` alone, as a reply is that was pushed towards its tokens."""
    letters = {letter for letter in text.lower() if letter.isalpha()}
    return bool(letters) and letters <= set(word)


def _one_of(choices: Sequence[str]) -> dict[str, Any]:
    named = {"choice": {"type": "string", "enum": list(dict.fromkeys(choices))}}
    return {"type": "object", "properties": named, "required": ["choice"], "additionalProperties": False}


def _shared(one: Sequence[ReadToken], other: Sequence[ReadToken]) -> int:
    """How many tokens both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0].number == pair[1].number, zip(one, other, strict=False)))


def _read(entry: Mapping[str, object]) -> ReadToken | None:
    # The token that stands there comes first; likelier ones, which were not asked for, would follow.
    number = next(iter(entry), "")
    logprob = _fields(entry.get(number)).get("logprob")
    if not (number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER):
        return None
    if not isinstance(logprob, int | float) or isinstance(logprob, bool) or not _finite(logprob):
        return None
    return ReadToken(int(number), float(logprob))


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
