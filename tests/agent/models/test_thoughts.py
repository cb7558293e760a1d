"""What was thought, and what was said, wherever marks stand in a text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.models.thoughts import split_thoughts

CHANNEL = "<|channel|>{}<|message|>"
MARKS = [
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "Thought", "REASONING", "seed:think", "longcat_think")),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    *(("<|channel>thought", "<channel|>"), ("<|inner_prefix|>", "<|inner_suffix|>")),
    (CHANNEL.format("analysis"), f"<|end|><|start|>assistant{CHANNEL.format('final')}"),
]
BEGUN, OVER = st.sampled_from([begun for begun, _ in MARKS]), st.sampled_from([over for _, over in MARKS])
WORDS = st.text("ab \n<>/|[", max_size=12)
SAID = WORDS.filter(str.strip)


@given(WORDS, st.sampled_from(MARKS), WORDS, WORDS)
def test_a_thought_before_a_reply_is_taken_from_it(space: str, marks: tuple[str, str], thought: str, reply: str) -> None:
    begun, over = marks
    expected = (reply.lstrip(), thought.strip())
    assert split_thoughts(f"{' ' * len(space)}{begun}{thought}{over}{reply}") == expected
    assert split_thoughts(f"{thought}{over}{reply}") == expected
    assert split_thoughts(f"\n{begun}{thought}") == ("", thought.strip())


@given(SAID, st.sampled_from(MARKS), WORDS, WORDS)
def test_a_thought_in_the_midst_goes_where_that_is_asked(before: str, marks: tuple[str, str], thought: str, after: str) -> None:
    begun, over = marks
    text = f"{before}{begun}{thought}{over}{after}"
    assert split_thoughts(text) == (text, "")
    assert split_thoughts(text, midst=True) == ((before + after).lstrip(), thought.strip())
    assert split_thoughts(before + begun + thought) == (before + begun + thought, "")


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", " b\n"])).map("".join))
def test_blocks_go_first_and_then_all_before_an_end(text: str) -> None:
    without = re.sub(r"<think>.*?(</think>|\Z)", "", text, flags=re.DOTALL)
    assert split_thoughts(text, midst=True)[0].strip() == re.sub(r"\A.*</think>", "", without, flags=re.DOTALL).strip()


@given(st.text() | st.lists(BEGUN | OVER | WORDS).map("".join), st.booleans())
def test_any_text_is_split(text: str, midst: bool) -> None:
    reply, thinking = split_thoughts(text, midst=midst)
    assert len(reply) + len(thinking) <= len(text)
    assert (reply, thinking) == (text, "") or set(text) & {*"<[◁"}


def test_what_stands_around_a_reply_goes_with_the_thought() -> None:
    text = "<|begin_of_thought|>\nHm.\n<|end_of_thought|>\n\n<|begin_of_solution|>\nlook\n<|end_of_solution|>"
    assert split_thoughts(text) == ("look\n", "Hm.")
    assert split_thoughts("<think>Hm.</think><answer>look</answer><|im_end|>") == ("look", "Hm.")
    assert split_thoughts("look<end_of_turn>") == ("look", "")
    assert split_thoughts(f"{CHANNEL.format('final')}look<|return|>") == ("look", "")
    assert split_thoughts("[Thought] a [Action] look") == ("[Thought] a [Action] look", "")


@pytest.mark.parametrize("piece", ["<think>", "</think>", "<think>a</think>", "<", "\n", "<|end|><|start|>assistant", "a" * 9])
@pytest.mark.parametrize("midst", [False, True])
def test_long_texts_take_no_long_time(piece: str, midst: bool) -> None:
    text = piece * 30_000
    assert len("".join(split_thoughts(text, midst=midst))) <= len(text)
