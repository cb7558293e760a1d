"""How much of an endpoint's context a prompt leaves, counted by the server itself: vLLM's and llama.cpp's can be asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from housequest.agent.models.base import believed
from housequest.agent.models.openai.wire import at, listed

_STEP = 1_024

_TOO_LONG = re.compile(r"context.{0,20}(size|length|window)|exceed_context_size|maximum context", re.I)
_NUMBER = re.compile(r"\d+")


class AskServer(Protocol):
    """GETs a path below a server's root, or POSTs a body to it; the JSON that it answers, None where it has none."""

    async def __call__(self, path: str, body: Mapping[str, Any] | None = None, /) -> object: ...


async def room_at(ask: AskServer, model: str, said: str | Sequence[Mapping[str, Any]]) -> int | None:
    """Tokens that the context has beside this prompt, a text or the messages of a chat; None where the server does not tell."""
    plain = isinstance(said, str)
    # vLLM counts a text or a conversation, and says how much its model reads.
    prompt = {"prompt": said} if plain else {"messages": said, "add_generation_prompt": True}
    counted = await ask("/tokenize", {"model": model, **prompt})
    used, size = _number(counted, "count"), _number(counted, "max_model_len")
    if used is not None and size is not None:
        return size - used
    # llama.cpp's server writes the conversation as a text, and counts the tokens of texts. ``n_ctx`` is that of a slot.
    size = _number(await ask("/props"), "default_generation_settings", "n_ctx")
    if size is None:
        return None
    written = said if plain else at(await ask("/apply-template", {"messages": said}), "prompt")
    if not isinstance(written, str):
        return None
    tokens = await ask("/tokenize", {"content": written, "add_special": True, "parse_special": not plain})
    return size - len(listed(at(tokens, "tokens"))) if at(tokens, "tokens") is not None else None


def _number(value: object, *path: str) -> int | None:
    found = at(value, *path)
    return believed(found) if type(found) is int else None


def is_too_long(refusal: str) -> bool:
    """Whether a server refused a prompt because its context does not hold it."""
    return _TOO_LONG.search(refusal) is not None


def enough_context(refusal: str) -> str:
    """Tokens of context that would hold the prompt and a reply, by the largest number that the refusal names; "N" without."""
    named = [int(number) for number in _NUMBER.findall(refusal[:2_000]) if len(number) < 9]
    return str(-(-(max(named) + _STEP) // _STEP) * _STEP) if named else "N"
