"""Conversations as tokens, written by the model's own chat template, each token with whether it is to be learned.

What is learned of a reply is its text and the mark that ends it, as the model would have to write them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from housequest.agent.models.base import Message
from housequest.agent.roles.base import plain_text
from housequest.agent.training.export import Conversation
from housequest.worlds.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Sample:
    """The tokens of a conversation, and the places of those that are learned."""

    tokens: tuple[int, ...]
    learned: tuple[int, ...]


def encoded(conversations: Iterable[Conversation], tokenizer: Any, context: int) -> tuple[list[Sample], int]:
    """The conversations as samples of at most ``context`` tokens, and how many were cut to that.

    One is cut at its end, so it still teaches what came before. Raises ``ConfigurationError`` where the chat template does not
    take a conversation.
    """
    samples: list[Sample] = []
    cut = 0
    for conversation in conversations:
        whole = encode(conversation, tokenizer)
        cut += len(whole.tokens) > context
        learned = tuple(place for place in whole.learned if place < context)
        if learned:
            samples.append(Sample(whole.tokens[:context], learned))
    return samples, cut


def encode(conversation: Conversation, tokenizer: Any) -> Sample:
    """One conversation, as it is read in play: as one text. Raises ``ConfigurationError``."""
    messages = conversation.messages

    def rendered(prompt: Sequence[Message], *, reply: bool) -> str:
        # Plain text is continued up to the end of a line.
        return plain_text(prompt) if conversation.plain else _rendered(tokenizer, prompt, reply=reply)

    replies: list[tuple[int, int]] = []
    written = ""
    for place in conversation.learned:
        prompt = rendered(messages[:place], reply=True)
        with_reply = rendered(messages[: place + 1], reply=False)
        if not prompt.startswith(written) or not with_reply.startswith(prompt):
            raise ConfigurationError(
                "The chat template writes a conversation anew with every message, so its replies cannot be learned in one "
                "pass. Name another template in the model's tokenizer_config.json."
            )
        said = messages[place].content.strip()
        at = with_reply.find(said, len(prompt))
        replies.append((len(prompt), at + len(said) if at >= 0 else len(with_reply)))
        written = with_reply
    # The mark with which the tokenizer begins a text, unless the template wrote it.
    mark: int | None = tokenizer.bos_token_id
    adds = list(tokenizer("a")["input_ids"][:1]) == [mark]
    begin = [mark] if mark is not None and adds and not written.startswith(tokenizer.bos_token) else []
    read = tokenizer(written, add_special_tokens=False, return_offsets_mapping=True)
    starts, ends = [start for start, _ in read["offset_mapping"]], [end for _, end in read["offset_mapping"]]
    learned: list[int] = []
    for begins, text_ends in replies:
        first = bisect_left(starts, begins)
        if first and ends[first - 1] > begins:
            raise ConfigurationError(
                "The tokenizer joins the end of a prompt with the beginning of the reply, which a model cannot do in play. "
                "Name a chat template in the model's tokenizer_config.json that ends a prompt with a mark or a new line."
            )
        # The mark that ends the reply is the first token after its text; what the template adds then is not the model's.
        last = min(bisect_left(starts, text_ends) + 1, len(starts))
        learned += range(len(begin) + first, len(begin) + last)
    return Sample((*begin, *read["input_ids"]), tuple(learned))


def _rendered(tokenizer: Any, messages: Sequence[Message], *, reply: bool) -> str:
    from jinja2 import TemplateError

    if not tokenizer.chat_template:
        raise ConfigurationError(
            "The model comes without a chat template, so its prompts cannot be written. Take its instruction-tuned "
            "version, or have it learn plain text: --set form=completion."
        )
    plain = [{"role": one.role, "content": one.content} for one in messages]
    try:
        return str(tokenizer.apply_chat_template(plain, tokenize=False, add_generation_prompt=reply))
    except (TemplateError, ValueError) as error:
        raise ConfigurationError(f"The model's chat template does not take an agent's conversation: {error}.") from None
