"""What endpoints say, read without a connection."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from housequest.agent.models.base import MOST_TOKENS, Completion, Usage, printable_line
from housequest.agent.models.keys import PLACEHOLDER
from housequest.agent.models.openai.protocol import LONGEST_FINISH, FailedInside, NotACompletion, read_completion
from housequest.agent.models.openai.redaction import Redactor
from housequest.agent.models.openai.server import LONGEST_BACKOFF, backoff, retry_after

PLAIN = Redactor(PLACEHOLDER)

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
    except (NotACompletion, FailedInside):
        return
    assert isinstance(completion, Completion)
    completion.text.encode()
    assert completion.finish.isprintable()
    assert 0 < len(completion.finish) <= LONGEST_FINISH
    for count in (completion.usage.prompt, completion.usage.completion, completion.timing.cached):
        assert count is None or (type(count) is int and count >= 0)


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
        (reply("a", "max_tokens"), "a", "length"),
        (reply("a", "model_length"), "a", "length"),
        (reply("a", "token_limit"), "a", "length"),
        (reply("a", "maxOutputTokens"), "a", "length"),
        (reply("a", "model_context_window_exceeded"), "a", "length"),
        (reply("a", "eos_token"), "a", "eos_token"),
        (reply("a") + b"\n\ndata: [DONE]\n\n", "a", "stop"),
        (b"\n    \n\n" + reply("a") + b"\n", "a", "stop"),
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
        (b'{"code": 0, "message": {"role": "assistant", "content": "a"}}', "no choices"),
        (b'{"choices": [3]}', "holds no message"),
        (b'{"choices": [{"text": "a"}]}', "holds no message"),
        (reply([7]), "content is not text"),
        (reply(7), "content is not text"),
    ],
)
def test_what_is_no_completion_says_why(body: bytes, complaint: str) -> None:
    with pytest.raises(NotACompletion, match=complaint):
        read_completion(body, "text/html", PLAIN)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"choices": []}', None),
        (b'{"choices": {}}', None),
        (b'{"error": {"message": "upstream is down"}}', None),
        (b'{"error": {"message": "overloaded"}}', 429),
        (b'{"error": {"message": "overloaded", "code": 503}}', 503),
        (b'{"error": {"code": "429"}}', 429),
        (b'{"error": {"code": "rate_limit_exceeded"}}', 429),
        (b'{"choices": [{"message": {"content": ""}, "error": {"code": 529}}]}', 529),
        (reply("", "error"), None),
        (b'{"error": {"type": "overloaded_error", "message": "Overloaded"}}', 429),
        (b'{"error": {"type": "invalid_request_error", "code": "unsupported_parameter", "message": "no rate limit"}}', 400),
        (b'{"error": {"type": "invalid_request_error", "code": "invalid_api_key"}}', 401),
        (b'{"error": {"type": "insufficient_balance_error", "code": "invalid_request_error"}}', 402),
        (b'{"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}', 402),
        (b'{"error": {"message": "could not generate: invalid JSON from upstream"}}', None),
        (b'{"error": "`temperature` must be positive", "error_type": "validation"}', 400),
        (b'{"error": "no luck", "status": 503}', 503),
        (b'{"choices": null, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}', 402),
        (b'{"choices": null, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}}', 429),
        (b'{"code": 429, "message": "no", "data": null}', 429),
        (b'{"statusCode": "401", "body": {}}', 401),
        (b'{"object": "error", "code": null}', None),
        (b'{"msg": "try again"}', None),
    ],
)
def test_an_error_inside_a_success_counts_as_what_it_names(body: bytes, status: int | None) -> None:
    with pytest.raises(FailedInside) as raised:
        read_completion(body, "", PLAIN)
    assert raised.value.status == status


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}, {"type": "text", "text": "m."}]}


@pytest.mark.parametrize(
    ("body", "text", "thinking"),
    [
        (reply("look", reasoning_content="Hmm."), "look", "Hmm."),
        (reply("look", reasoning="Hmm.", reasoning_content="Hmm."), "look", "Hmm."),
        (reply("look", reasoning_details=[{"type": "reasoning.text", "text": "Hmm.", "signature": "s"}]), "look", "Hmm."),
        (reply([THOUGHT, {"type": "text", "text": "lo"}, {"type": "text", "text": "ok"}]), "look", "Hmm."),
        (reply(["lo", "ok"]), "look", ""),
        (reply("<think>\nHmm.\n</think>\n\nlook"), "look", "Hmm."),
        (reply("Hmm.\n</think>\nlook"), "look", "Hmm."),
        (reply("<think>Hmm.", "length"), "", "Hmm."),
        (reply("I say <think> and </think> it"), "I say <think> and </think> it", ""),
        (reply("", reasoning_content="look"), "look", ""),
        (reply("", reasoning_content="Hmm.</think>look"), "look", ""),
        (reply("", reasoning_content="<think>Hmm."), "", "<think>Hmm."),
        (reply("[THINK]Hmm.[/THINK]look"), "look", "Hmm."),
        (reply(None, "MAX_TOKENS", reasoning_content="Hmm."), "", "Hmm."),
        (reply(None, "length", reasoning_content="Hmm."), "", "Hmm."),
        (reply("look", reasoning_tokens=3, reasoning_signature="s", reasoning=None), "look", ""),
    ],
)
def test_thinking_is_told_apart_wherever_it_stands(body: bytes, text: str, thinking: str) -> None:
    completion = read_completion(body, "", PLAIN)
    assert (completion.text, completion.thinking) == (text, thinking)


def test_an_empty_reply_of_a_server_that_speaks_is_empty() -> None:
    completion = read_completion(reply("", reasoning_content="look"), "", PLAIN, speaks=True)
    assert (completion.text, completion.thinking) == ("", "look")


def test_a_reply_that_fills_its_limit_was_cut_off() -> None:
    def finish(told: str, tokens: int, **more: int) -> str:
        choice = {"message": {"content": "a"}, "finish_reason": told}
        usage = {"prompt_tokens": 3, "completion_tokens": tokens, **more}
        return read_completion(json.dumps({"choices": [choice], "usage": usage}).encode(), "", PLAIN, limit=512).finish

    assert [finish("stop", tokens) for tokens in (511, 512, 513)] == ["stop", "length", "stop"]
    assert finish("stop", 2, total_tokens=515) == "length"
    assert finish("content_filter", 512) == "content_filter"


def usage(text: str = "", **fields: Any) -> tuple[Usage, int | None]:
    body = json.dumps({"choices": [{"message": {"content": text}}], "usage": fields}).encode()
    completion = read_completion(body, "", PLAIN)
    return completion.usage, completion.timing.cached


def test_thinking_that_the_total_alone_counts_was_written_too() -> None:
    told = {"completion_tokens_details": {"reasoning_tokens": 400}}
    assert usage("a", prompt_tokens=5, completion_tokens=9, total_tokens=414, **told)[0] == Usage(5, 409, 400)
    assert usage("a", prompt_tokens=5, completion_tokens=9, total_tokens=414)[0] == Usage(5, 409, 400)
    assert usage("a", prompt_tokens=5, completion_tokens=9, **told)[0] == Usage(5, 409, 400)
    assert usage("a", prompt_tokens=5, completion_tokens=409, total_tokens=414, **told)[0] == Usage(5, 409, 400)
    assert usage("", prompt_tokens=5, total_tokens=405)[0] == Usage(5, 400, 400)
    assert usage("a", prompt_tokens=5, total_tokens=405)[0] == Usage(5, 400, None)
    assert usage("a", prompt_tokens=5, completion_tokens=9, total_tokens=0)[0] == Usage(5, 9, None)


def test_nothing_counted_is_not_zero() -> None:
    assert usage("a", prompt_tokens=0, completion_tokens=0, total_tokens=0)[0] == Usage()
    assert usage("", prompt_tokens=5, completion_tokens=0, total_tokens=5)[0] == Usage(5, 0)


def test_what_a_cache_served_is_found_under_each_name() -> None:
    assert usage(prompt_tokens=9, prompt_cache_hit_tokens=4, prompt_cache_miss_tokens=5) == (Usage(9), 4)
    assert usage(prompt_tokens=9, cache_read_input_tokens=4, prompt_tokens_details={"cached_tokens": 0}) == (Usage(9), 4)
    # One that leaves it out of the prompt's tokens may count it in the total.
    assert usage("a", prompt_tokens=5, completion_tokens=2, total_tokens=11, cache_read_input_tokens=4) == (Usage(5, 2), 4)


def test_usage_is_taken_where_it_is_sound() -> None:
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


@given(st.text(), st.integers(1, 50))
def test_what_is_shown_is_one_printable_line(text: str, limit: int) -> None:
    line = printable_line(text, limit)
    assert line.isprintable()
    assert len(line) <= limit
