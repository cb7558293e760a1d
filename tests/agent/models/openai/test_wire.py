"""What endpoints say, read without a connection."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from housequest.agent.models.base import MOST_TOKENS, Completion, Request, Usage, printable_line
from housequest.agent.models.keys import PLACEHOLDER
from housequest.agent.models.openai.protocol import (
    LONGEST_FINISH,
    Dialect,
    NotACompletion,
    Redactor,
    Refusal,
    read_completion,
    read_refusal,
)
from housequest.agent.models.openai.server import LONGEST_BACKOFF, backoff, retry_after

PLAIN = Redactor(PLACEHOLDER)
ASKED = Request((), stop=("x",), max_tokens=5, seed=3)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
REPLIES = st.fixed_dictionaries(
    {},
    optional={
        "choices": JSON
        | st.lists(
            st.fixed_dictionaries(
                {}, optional={"message": JSON | st.fixed_dictionaries({"content": JSON}), "finish_reason": JSON}
            ),
            max_size=2,
        ),
        "usage": JSON | st.fixed_dictionaries({"prompt_tokens": JSON, "prompt_tokens_details": JSON}),
        "error": JSON | st.fixed_dictionaries({"message": JSON, "param": JSON, "code": JSON}),
    },
)


def reply(content: Any, finish: Any = "stop", **more: Any) -> bytes:
    return json.dumps({"choices": [{"message": {"content": content, **more}, "finish_reason": finish}]}).encode()


@given(st.binary() | st.one_of(JSON, REPLIES).map(lambda value: json.dumps(value).encode()))
@example(b"[" * 100_000)
@example(b"9" * 10_000)
@example(b'{"choices": [{"message": {"content": "\\ud800"}}]}')
def test_any_answer_is_a_completion_or_none(body: bytes) -> None:
    try:
        completion = read_completion(body, "application/json", PLAIN)
    except NotACompletion:
        return
    assert isinstance(completion, Completion)
    completion.text.encode()
    assert completion.finish.isprintable()
    assert 0 < len(completion.finish) <= LONGEST_FINISH
    for count in (completion.usage.prompt, completion.usage.completion, completion.timing.cached):
        assert count is None or (type(count) is int and count >= 0)


@given(st.binary() | st.one_of(JSON, REPLIES).map(lambda value: json.dumps(value).encode()))
def test_any_error_body_is_read(body: bytes) -> None:
    refusal = read_refusal(body, PLAIN)
    assert all(isinstance(word, str) for word in (refusal.message, refusal.parameter, refusal.code))


@pytest.mark.parametrize(
    ("body", "text", "finish"),
    [
        (reply("Action: look"), "Action: look", "stop"),
        (reply("Action: lo", "length"), "Action: lo", "length"),
        (reply(None, "length"), "", "length"),
        (reply(None), "", "stop"),
        (reply("", "content_filter"), "", "content_filter"),
        (reply(None, refusal="I will not."), "I will not.", "refusal"),
        (reply("a", None), "a", "stop"),
        (reply("a", 7), "a", "stop"),
        (reply("a", "x" * 100), "a", "x" * (LONGEST_FINISH - 1) + "…"),
        (reply("\u202e\x00"), "\u202e\x00", "stop"),
    ],
)
def test_what_the_model_said_is_a_reply(body: bytes, text: str, finish: str) -> None:
    completion = read_completion(body, "application/json", PLAIN)
    assert (completion.text, completion.finish) == (text, finish)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "0 bytes of text/html that are not JSON"),
        (b"<html>", "not JSON"),
        (b"[1]", "not a chat completion"),
        (b"null", "not a chat completion"),
        (b"{}", "no choices"),
        (b'{"choices": []}', "no choices"),
        (b'{"choices": {}}', "no choices"),
        (b'{"error": {"message": "overloaded"}}', "overloaded"),
        (b'{"choices": [3]}', "holds no message"),
        (b'{"choices": [{"text": "a"}]}', "holds no message"),
        (reply(["a"]), "content is not text"),
        (reply(7), "content is not text"),
    ],
)
def test_what_is_no_completion_says_why(body: bytes, complaint: str) -> None:
    with pytest.raises(NotACompletion, match=complaint):
        read_completion(body, "text/html", PLAIN)


def test_usage_is_taken_where_it_is_sound() -> None:
    def usage(**fields: Any) -> tuple[Usage, int | None]:
        body = json.dumps({"choices": [{"message": {"content": ""}}], "usage": fields}).encode()
        completion = read_completion(body, "", PLAIN)
        return completion.usage, completion.timing.cached

    assert usage(prompt_tokens=5, completion_tokens=2, prompt_tokens_details={"cached_tokens": 4}) == (Usage(5, 2), 4)
    assert usage(prompt_tokens=5) == (Usage(5, None), None)
    assert usage(prompt_tokens=-1, completion_tokens=True, prompt_tokens_details=3) == (Usage(), None)
    assert usage(prompt_tokens=math.nan, completion_tokens=1e9) == (Usage(), None)
    assert usage(prompt_tokens=MOST_TOKENS, completion_tokens=MOST_TOKENS + 1) == (Usage(MOST_TOKENS, None), None)
    assert usage(prompt_tokens=2**52, prompt_tokens_details={"cached_tokens": 2**52}) == (Usage(), None)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:02:00 GMT"}, 20.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after-ms": "0", "retry-after": "7"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "Thu, 99 Jan 99999 00:00:00 GMT"}, None),
    ],
)
def test_what_a_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=100.0) == seconds


def test_pauses_double_up_to_a_bound() -> None:
    assert [backoff(failures, 0.0) for failures in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, 4.0]
    assert backoff(1_000, 0.0) == LONGEST_BACKOFF
    assert 0.75 * LONGEST_BACKOFF <= backoff(1_000, 0.999) < LONGEST_BACKOFF


def test_a_server_that_asks_for_next_to_no_wait_uses_up_no_attempts() -> None:
    assert [backoff(failures, 0.0, asked) for failures, asked in ((1, 0.006), (4, 1.0), (4, 30.0))] == [0.5, 4.0, 30.0]


def parameters(dialect: Dialect) -> set[str]:
    return set(dialect.parameters(ASKED))


def test_a_dialect_begins_with_what_the_host_is_known_for() -> None:
    assert parameters(Dialect(official=True)) == {"max_completion_tokens", "temperature", "stop", "seed"}
    assert parameters(Dialect(official=False)) == {"max_tokens", "temperature", "stop", "seed"}
    assert set(Dialect(official=False).parameters(Request(()))) == {
        "max_tokens",
        "temperature",
    }


@pytest.mark.parametrize(
    ("refusal", "left"),
    [
        (Refusal("no", "temperature", "unsupported_value"), {"max_tokens", "stop", "seed"}),
        (Refusal("Unsupported parameter: 'stop' is not supported"), {"max_tokens", "temperature", "seed"}),
        (Refusal("`temperature` is deprecated for this model"), {"max_tokens", "stop", "seed"}),
        (
            Refusal("'max_tokens' is not supported; use 'max_completion_tokens'", "max_tokens", "unsupported_parameter"),
            {"max_completion_tokens", "temperature", "stop", "seed"},
        ),
    ],
)
def test_a_refused_parameter_is_left_out_or_renamed_from_then_on(refusal: Refusal, left: set[str]) -> None:
    dialect = Dialect(official=False)
    sent = dialect.parameters(ASKED)
    assert dialect.learn(sent, refusal)
    assert parameters(dialect) == left


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(),
        Refusal("the context is too long", "messages", "context_length_exceeded"),
        Refusal("temperature must be at most 2", "temperature", "decimal_above_max_value"),
        Refusal("max_tokens is too large: this model supports 4096", "max_tokens", "invalid_value"),
        Refusal("please stop sending unsupported things"),
    ],
)
def test_another_refusal_changes_nothing(refusal: Refusal) -> None:
    dialect = Dialect(official=False)
    sent = dialect.parameters(ASKED)
    assert dialect.learn(sent, refusal) is None
    assert parameters(dialect) == set(sent)


@given(st.lists(st.builds(Refusal, st.text(), st.sampled_from(("max_tokens", "max_completion_tokens", "seed", "")))))
def test_a_dialect_never_runs_out_of_its_limit(refusals: list[Refusal]) -> None:
    dialect = Dialect(official=False)
    learnt = 0
    for refusal in refusals:
        sent = dialect.parameters(ASKED)
        named = Refusal(refusal.message, refusal.parameter, "unsupported_parameter")
        learnt += dialect.learn(sent, named) is not None
        assert len(parameters(dialect) & {"max_tokens", "max_completion_tokens"}) == 1
    assert learnt <= 5


@given(st.text(), st.integers(1, 50))
def test_what_is_shown_is_one_printable_line(text: str, limit: int) -> None:
    line = printable_line(text, limit)
    assert line.isprintable()
    assert len(line) <= limit
