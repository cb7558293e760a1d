"""What is sent to an endpoint: the conversation, and the parameters that a model takes."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from housequest.agent.models.base import Message, Request
from housequest.agent.models.openai.replies import MOST_ALTERNATIVES, PROMPT_TOKENS, Refusal
from housequest.agent.models.text import encodable

STREAMED = {"stream": True, "stream_options": {"include_usage": True}}

LIMITS = ("max_tokens", "max_completion_tokens")
_UNSUPPORTED_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
_UNSUPPORTED = re.compile(
    r"unsupported|not support|not permitted|not allowed|unknown|unrecogni[sz]ed|unexpected|extra|deprecated", re.I
)


def conversation(request: Request) -> dict[str, Any]:
    """What the model is to answer: a chat, or a text that it continues."""
    return {"prompt": encodable(request.text)} if request.raw else {"messages": chat(request.messages)}


def chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The conversation as the protocol writes it."""
    return [{"role": message.role, "content": _content(message)} for message in messages]


def _content(message: Message) -> str | list[dict[str, Any]]:
    """A text, or a text and a picture as parts.

    No ``detail`` is asked for: the pictures are small enough to be read at one level, and not every server knows it.
    """
    text = encodable(message.content)
    if message.image is None:
        return text
    url = f"data:image/png;base64,{b64encode(message.image.png).decode()}"
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]


class Dialect:
    """The parameters that a model takes: a first guess, corrected whenever it refuses one.

    Newer official models refuse ``max_tokens``, and most other servers know nothing else; some models that think take neither a
    temperature nor stop texts.
    """

    def __init__(self, *, official: bool, reasoning_effort: str | None = None) -> None:
        self._reasoning_effort = reasoning_effort
        self._limit = LIMITS[official]
        self._refused: set[str] = set()

    def parameters(self, request: Request) -> dict[str, Any]:
        """What to send for what every model takes."""
        wanted = {
            self._limit: request.max_tokens,
            "temperature": request.temperature,
            "stop": [encodable(word) for word in request.stop] or None,
            "seed": request.seed,
            "reasoning_effort": self._reasoning_effort,
        }
        return {name: value for name, value in wanted.items() if value is not None and name not in self._refused}

    def learn(self, sent: Mapping[str, Any], refusal: Refusal) -> str | None:
        """The parameter of ``sent`` that a refusal is about, from now on left out or renamed; None where it is about none."""
        if refusal.code not in _UNSUPPORTED_CODES and not _UNSUPPORTED.search(refusal.message[:2_000]):
            return None
        for name in sent:
            other = LIMITS[name == LIMITS[0]]
            named = name == refusal.parameter or re.search(rf"['\"`]{name}['\"`]", refusal.message[:2_000])
            # A refused name of the limit is never tried again, so that the two cannot alternate.
            if not named or (name in LIMITS and other in self._refused):
                continue
            if name == "reasoning_effort":
                # The user asked for it, and the model's name says so: it is not left out in silence.
                return None
            self._refused.add(name)
            if name in LIMITS:
                self._limit = other
            return name
        return None


def extra_parameters(request: Request) -> dict[str, Any]:
    """The parameters for what not every server takes. One of given texts is asked for as JSON, for servers without grammars."""
    found: dict[str, Any] = {}
    if request.top_logprobs:
        found |= {"logprobs": True, "top_logprobs": min(request.top_logprobs, MOST_ALTERNATIVES)}
    wanted = request.schema
    if request.choices is not None:
        named = {"choice": {"type": "string", "enum": list(dict.fromkeys(request.choices))}}
        wanted = {"type": "object", "properties": named, "required": ["choice"], "additionalProperties": False}
    if wanted is not None:
        found["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": wanted}}
    if request.grammar is not None:
        # llama.cpp's server takes the one and passes over the other, and vLLM does so the other way round.
        found |= {"grammar": request.grammar, "structured_outputs": {"grammar": request.grammar}}
    if request.bias:
        found["logit_bias"] = [[token, value] for token, value in request.bias.items()]
    return found


def scoring_parameters(text: str) -> dict[str, Any]:
    """The parameters that ask for the log-probability of each token of a prompt.

    With ``text``, the prompt's last message is the beginning of the model's reply. As vLLM's chat completions have it:
    ``prompt_logprobs`` (0: no alternatives), ``continue_final_message``, ``add_generation_prompt``.
    """
    return {PROMPT_TOKENS: 0, "add_generation_prompt": not text, **({"continue_final_message": True} if text else {})}


def with_beginning(messages: Sequence[Message], text: str) -> list[Message]:
    """The conversation with ``text`` as the reply's beginning; servers refuse an empty message."""
    return [*messages, Message("assistant", text)] if text else list(messages)
