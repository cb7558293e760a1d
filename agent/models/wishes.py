"""What is asked of an endpoint beyond a chat, as the protocol writes it, and how it is found out whether it is heard.

Servers pass over what they do not know, so nothing is believed that was not tried: each probe asks for what no model would
say of its own accord.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from agent.models.base import Bias, Capabilities, Completion, TokenChoice

MOST_ALTERNATIVES = 20
_MOST_TOKENS = 4_096
_LONGEST_TOKEN = 200
_WORDS = ("axolotl", "quetzal")

QUESTION = "Answer with the single word: ready"

Ask = Callable[[Mapping[str, Any]], Awaitable[Completion | None]]
"""Asks `QUESTION` with these parameters besides; None where the endpoint refused them."""


def wishes(
    *,
    top_logprobs: int = 0,
    choices: Sequence[str] | None = None,
    schema: Mapping[str, Any] | None = None,
    bias: Bias | None = None,
) -> dict[str, Any]:
    """The parameters of these arguments of ``complete``. One of given texts is asked for as JSON by a schema."""
    found: dict[str, Any] = {}
    if top_logprobs:
        found |= {"logprobs": True, "top_logprobs": min(top_logprobs, MOST_ALTERNATIVES)}
    wanted = _one_of(choices) if choices is not None else schema
    if wanted is not None:
        found["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": wanted}}
    if bias:
        found["logit_bias"] = [[token, value] for token, value in bias.items()]
    return found


def chosen(text: str, choices: Sequence[str]) -> str | None:
    """The one of ``choices`` that the reply to `wishes` names; None where it names none."""
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


async def probed(ask: Ask) -> Capabilities:
    """What an endpoint does besides chatting, by three calls."""
    likely = await ask(wishes(top_logprobs=2))
    held = await ask(wishes(choices=_WORDS))
    pushed = await ask(wishes(bias={_WORDS[0]: 100.0}))
    by_schema = held is not None and chosen(held.text, _WORDS) is not None
    return Capabilities(
        log_probabilities=likely is not None and any(token.alternatives for token in likely.tokens),
        choices=by_schema,
        schema=by_schema,
        bias=pushed is not None and spelt_of(pushed.text, _WORDS[0]),
    )


def spelt_of(text: str, word: str) -> bool:
    """Whether ``text`` is made of the letters of ``word`` alone, as a reply is that was pushed towards its tokens."""
    letters = {letter for letter in text.lower() if letter.isalpha()}
    return bool(letters) and letters <= set(word)


def _one_of(choices: Sequence[str]) -> dict[str, Any]:
    named = {"choice": {"type": "string", "enum": list(dict.fromkeys(choices))}}
    return {"type": "object", "properties": named, "required": ["choice"], "additionalProperties": False}


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
    if not math.isfinite(logprob):
        return None
    return token[:_LONGEST_TOKEN].encode("utf-8", "replace").decode("utf-8"), float(logprob)


def _fields(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
