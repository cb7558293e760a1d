"""Conversations as tokens: what of them is learned, by any tokenizer and template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from housequest.agent.models.base import Message
from housequest.agent.roles.base import plain_text
from housequest.agent.training.export import Conversation
from housequest.agent.training.lora.games import Demonstrations, Lessons
from housequest.agent.training.lora.run import encode, encoded
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.options import Scalar


class Letters:
    """A tokenizer whose tokens are letters, with a template of a line a message."""

    chat_template = "there is one"
    bos_token_id, bos_token = 1, "\1"

    def apply_chat_template(self, messages: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool) -> str:
        del tokenize
        text = "".join(f"<{one['role']}>{one['content']}|\n" for one in messages)
        return text + ("<assistant>" if add_generation_prompt else "")

    def __call__(
        self, text: str, *, add_special_tokens: bool = True, return_offsets_mapping: bool = False
    ) -> dict[str, list[Any]]:
        del return_offsets_mapping
        begin = [1] * add_special_tokens
        return {
            "input_ids": begin + list(map(ord, text)),
            "offset_mapping": [(0, 0) for _ in begin] + [(at, at + 1) for at in range(len(text))],
        }


def test_replies_and_the_mark_that_ends_them_are_learned() -> None:
    messages = (Message("user", "1."), Message("assistant", "no"), Message("user", "2."), Message("assistant", "go"))
    sample = encode(Conversation("", "", messages, (1, 3)), Letters())
    assert "".join(map(chr, sample.tokens)) == "\1<user>1.|\n<assistant>no|\n<user>2.|\n<assistant>go|\n"
    assert "".join(chr(sample.tokens[place]) for place in sample.learned) == "no|go|"
    only = encode(Conversation("", "", messages, (3,)), Letters())
    assert only.tokens == sample.tokens
    assert "".join(chr(only.tokens[place]) for place in only.learned) == "go|"


@pytest.mark.parametrize(
    ("settings", "begins"),
    [({"exemplars": "own"}, " think: To do this I "), ({"form": "completion"}, " Thought: ")],
    ids=str,
)
def test_lines_of_plain_text_are_learned_without_the_template(settings: Mapping[str, Scalar], begins: str) -> None:
    (episode,) = Demonstrations(Lessons(("react",), settings, epsilon=0.0), "generated:0", 1)
    (conversation,) = episode.conversations
    assert Conversation.read(str(conversation)) == conversation
    sample = encode(conversation, Letters())
    text = "".join(map(chr, sample.tokens[1:]))
    assert text == plain_text(conversation.messages)
    learned = "".join(chr(sample.tokens[place]) for place in sample.learned)
    assert learned.startswith(begins)


def test_what_is_too_long_teaches_its_beginning() -> None:
    messages = (Message("user", "1."), Message("assistant", "no"), Message("user", "2."), Message("assistant", "go"))
    conversation = Conversation("", "", messages, (1, 3))
    samples, cut = encoded([conversation], Letters(), 30)
    assert cut == 1
    assert [len(sample.tokens) for sample in samples] == [30]
    assert encoded([conversation], Letters(), 5) == ([], 1)


def test_a_template_that_rewrites_the_past_is_refused() -> None:
    class Forgetful(Letters):
        def apply_chat_template(self, messages: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool) -> str:
            return super().apply_chat_template(messages[-1:], tokenize=tokenize, add_generation_prompt=add_generation_prompt)

    messages = (Message("user", "1."), Message("assistant", "no"))
    with pytest.raises(ConfigurationError, match="anew with every message"):
        encode(Conversation("", "", messages, (1,)), Forgetful())


def test_a_tokenizer_that_joins_a_prompt_and_its_reply_is_refused() -> None:
    class Pairs(Letters):
        def __call__(
            self, text: str, *, add_special_tokens: bool = True, return_offsets_mapping: bool = False
        ) -> dict[str, list[Any]]:
            del add_special_tokens, return_offsets_mapping
            places = range(0, len(text), 2)
            return {"input_ids": list(places), "offset_mapping": [(at, at + 2) for at in places]}

    for asked, joins in (("1", False), ("12", True)):
        conversation = Conversation("", "", (Message("user", asked), Message("assistant", "no")), (1,))
        if joins:
            with pytest.raises(ConfigurationError, match="joins the end of a prompt with the beginning of the reply"):
                encode(conversation, Pairs())
        else:
            assert len(encode(conversation, Pairs()).learned) == 2
