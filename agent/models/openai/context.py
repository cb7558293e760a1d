"""How much of an endpoint's context a prompt leaves, counted by the server itself: vLLM's and llama.cpp's can be asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from housequest.agent.models.openai.shapes import at, count, listed

AskServer = Callable[[str, Mapping[str, Any] | None], Awaitable[object]]
"""POSTs a body to a path below a server's root, or GETs it without one; the JSON that it answers, None where it has none."""


async def room_at(ask: AskServer, model: str, said: str | Sequence[Mapping[str, Any]]) -> int | None:
    """Tokens that the context has beside this prompt, a text or the messages of a chat; None where the server does not tell."""
    plain = isinstance(said, str)
    # vLLM counts a text or a conversation, and says how much its model reads.
    prompt = {"prompt": said} if plain else {"messages": said, "add_generation_prompt": True}
    counted = await ask("/tokenize", {"model": model, **prompt})
    used, size = count(counted, "count"), count(counted, "max_model_len")
    if used is not None and size is not None:
        return size - used
    # llama.cpp's server writes the conversation as a text, and counts the tokens of texts. ``n_ctx`` is that of a slot.
    size = count(await ask("/props", None), "default_generation_settings", "n_ctx")
    if size is None:
        return None
    written = said if plain else at(await ask("/apply-template", {"messages": said}), "prompt")
    if not isinstance(written, str):
        return None
    tokens = at(await ask("/tokenize", {"content": written, "add_special": True, "parse_special": not plain}), "tokens")
    return None if tokens is None else size - len(listed(tokens))
