"""A key that an endpoint says back reaches no reply, error, log or record, however it is written."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.models.base import Completion, Message, Request
from housequest.agent.models.embeddings import make_embedder
from housequest.agent.models.keys import PLACEHOLDER, KeyRing, parse_endpoint
from housequest.agent.models.openai.dialect import read_refusal
from housequest.agent.models.openai.protocol import FailedInside, NotACompletion, read_completion
from housequest.agent.models.openai.redaction import SHORTEST_SECRET, Redactor
from housequest.agent.models.registry import CallOptions, make_model
from housequest.worlds.errors import ModelError
from tests.backends import server as backend
from tests.backends.server import Server

KEY = "sk-precious-0123456789/abc+DEFG="
KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=SHORTEST_SECRET, max_size=40).filter(
    lambda key: len(set(key)) > 6 and "[key]" not in key
)
AROUND = st.text(st.characters(exclude_characters="\\%&"), max_size=5)


def escaped(text: str, which: Sequence[bool]) -> str:
    """``text`` as JSON, the characters of ``which`` as ``\\uXXXX``."""
    odd = [which[place % len(which)] for place in range(len(text))]
    parts = [
        f"\\u{ord(each):04X}" if hidden and ord(each) < 1 << 16 else json.dumps(each)[1:-1]
        for each, hidden in zip(text, odd, strict=True)
    ]
    return f'"{"".join(parts)}"'


class Raw(str):
    """Text of JSON that stands in it as it is."""

    __slots__ = ()


def dumped(value: object) -> bytes:
    if isinstance(value, Raw):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, dict):
        items: dict[object, object] = value  # pyright: ignore[reportUnknownVariableType]
        return b"{" + b", ".join(dumped(name) + b": " + dumped(each) for name, each in items.items()) + b"}"
    if isinstance(value, list):
        listed: list[object] = value  # pyright: ignore[reportUnknownVariableType]
        return b"[" + b", ".join(map(dumped, listed)) + b"]"
    return json.dumps(value).encode()


def bodies(said: object) -> list[dict[str, Any]]:
    """Completions that say it in each of the fields that are read."""
    token = {"token": said, "logprob": -0.5, "top_logprobs": [{"token": said, "logprob": -0.5}]}
    return [
        {"choices": [{"message": {"content": said}}]},
        {"choices": [{"message": {"content": None, "refusal": said}}]},
        {"choices": [{"message": {"content": "a"}, "finish_reason": said}]},
        {"choices": [{"message": {"content": "a"}, "logprobs": {"content": [token]}}]},
        {"choices": [], "error": {"message": said}},
        {"choices": [], "error": said},
        {"choices": [{"message": {"content": [{"type": "text", "text": said}, {"type": "thinking", "thinking": said}]}}]},
        {"choices": [{"message": {"content": None, "reasoning_content": said}, "finish_reason": "length"}]},
    ]


def told(body: bytes, redactor: Redactor, content_type: str = "") -> str:
    """All that is kept of an answer."""
    try:
        return repr(asdict(read_completion(body, content_type, redactor)))
    except NotACompletion as error:
        return str(error)
    except FailedInside as error:
        return repr(asdict(read_refusal(error.body, redactor)))


@given(KEYS, AROUND, AROUND, st.lists(st.booleans(), min_size=1, max_size=8))
def test_a_reply_never_holds_a_key_however_json_escapes_it(key: str, before: str, after: str, which: list[bool]) -> None:
    redactor, said = Redactor(key), Raw(escaped(f"{before}{key}{after}", which))
    for body in bodies(said):
        kept = told(dumped(body), redactor)
        assert key not in kept
        assert repr(key)[1:-1] not in kept
    for refused in ({"error": {"message": said, "param": said, "code": said}}, {"detail": said}, said):
        refusal = asdict(read_refusal(dumped(refused), redactor))
        assert not [word for word in refusal.values() if key in word]


@given(KEYS, st.lists(st.integers(1, 39), max_size=6), st.integers(0, 2))
def test_a_key_is_found_when_it_is_spread_over_tokens(key: str, cuts: list[int], rank: int) -> None:
    ends = sorted({cut for cut in cuts if cut < len(key)})
    pieces = ["Bearer ", *(key[start:end] for start, end in zip([0, *ends], [*ends, len(key)], strict=True)), " is it"]
    other = [{"token": "x", "logprob": -1.0}]
    entries = [
        {
            "token": piece if rank == 0 else "y",
            "logprob": -0.1,
            "top_logprobs": other * (rank - 1) + [{"token": piece, "logprob": -2}],
        }
        for piece in pieces
    ]
    body = json.dumps({"choices": [{"message": {"content": "a"}, "logprobs": {"content": entries}}]}).encode()
    completion = read_completion(body, "", Redactor(key))
    assert len(completion.tokens) == len(pieces)
    rows = ["".join(token.token for token in completion.tokens)]
    rows += ["".join(token.alternatives[place][0] for token in completion.tokens) for place in range(max(rank, 1))]
    assert not [row for row in rows if key in row]
    assert "Bearer [key] is it" in rows


@given(KEYS, AROUND, AROUND)
def test_a_key_is_found_in_other_encodings(key: str, before: str, after: str) -> None:
    redactor, text = Redactor(key), f"{before}{key}{after}"
    hexed = [f"{ord(each):02x}" for each in key]
    forms = {
        "percent": quote(key, safe=""),
        "percent, all of it": "".join(f"%{code.upper()}" for code in hexed),
        "percent, twice": "".join(f"%25{code}" for code in hexed),
        "html": html.escape(key),
        "html by numbers": "".join(f"&#{ord(each)};" for each in key),
        "JSON within JSON": json.dumps(key)[1:-1],
        "JSON within JSON, all of it": "".join(f"\\u00{code}" for code in hexed),
        "bytes": "".join(f"\\x{code}" for code in hexed),
    }
    for name, form in forms.items():
        assert redactor.text(f"{before}{form}{after}").startswith(f"{before}[key]"), name
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        # Two characters of base64 at either end depend on what stands beside the key.
        shown = redactor.text(encode(text.encode("utf-8", "replace")).decode()).partition("[key]")
        assert shown[1], encode
        assert key[3:-3] not in str([base64.urlsafe_b64decode(shown[0][: len(shown[0]) // 4 * 4])])


def test_what_is_no_key_stays_as_it_is() -> None:
    words = "100% of R&D \\ \\u0041 &amp; %41 [key]"
    assert Redactor(KEY).text(words) == words
    assert Redactor(PLACEHOLDER).text(f"it is {PLACEHOLDER}") == f"it is {PLACEHOLDER}"


def test_a_short_key_may_be_a_word_of_a_reply_but_of_no_error() -> None:
    redactor, said = Redactor("egg"), "put the egg down"
    body = json.dumps({"choices": [{"message": {"content": said}}]}).encode()
    assert read_completion(body, "", redactor).text == said
    assert read_refusal(b'{"error": {"message": "no access for e\\u0067g"}}', redactor).message == "no access for [key]"


def test_a_long_answer_of_nothing_but_escapes_is_read_in_time() -> None:
    redactor = Redactor("s" * 39 + "k")
    for unit in ("\\", "%25", "&#", "s", "%73"):
        text = unit * 60_000
        assert redactor.text(text) == text


def hidden(text: str) -> str:
    """Each character of it as JSON escapes it."""
    return "".join(f"\\u{ord(each):04x}" for each in text)


async def asked(server: Server, keys: KeyRing) -> Completion:
    model = make_model(server.model(), keys=keys, timeout=5, retries=0, wait=0)
    try:
        return await model.complete(Request([Message("user", "A room.")]))
    finally:
        await model.aclose()


@pytest.fixture
def keys(server: Server, monkeypatch: pytest.MonkeyPatch) -> KeyRing:
    monkeypatch.setenv("PRECIOUS_KEY", KEY)
    return KeyRing({f"127.0.0.1:{server.port}": {"key_env": "PRECIOUS_KEY"}})


WAYS = {
    "plain": KEY,
    "of JSON": hidden(KEY),
    "of a URL": "".join(f"%{ord(each):02X}" for each in KEY),
}


@pytest.mark.heavy
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "answer",
    [
        lambda said: backend.raw(b'{"choices": [{"message": {"content": "look %s"}}]}' % said),
        lambda said: backend.raw(b'{"choices": [{"message": {"content": "look"}, "finish_reason": "%s"}]}' % said),
        lambda said: backend.raw(b'{"error": {"message": "%s", "param": "%s"}}' % (said, said), code=401),
        lambda said: backend.raw(b'{"error": "%s %s"}' % (b"x" * 300, said), code=400),
        lambda said: backend.raw(b"x" * 3_990 + said, code=400),
        lambda said: backend.raw(b"<html>", content_type=f"text/html; x={said.decode()}"),
        lambda said: backend.raw(b"<html>", content_type=f"text/html; {'x' * 30}={said.decode()}"),
        lambda said: backend.raw(b"", code=307, location=f"http://127.0.0.1:9/{said.decode()}", x_key=said.decode()),
    ],
    ids=range(8),
)
def test_neither_a_reply_nor_an_error_nor_a_log_holds_the_key(
    answer: Any, way: str, server: Server, keys: KeyRing, caplog: pytest.LogCaptureFixture
) -> None:
    server.behave(answer(WAYS[way].encode()))
    with caplog.at_level(logging.DEBUG):
        try:
            kept = repr(asdict(asyncio.run(asked(server, keys))))
        except ModelError as error:
            kept = f"{error} {error.recorded}"
    assert server.sent("authorization") == {f"Bearer {KEY}"}
    for secret in (KEY[:20], repr(WAYS[way])[1:-1][:60]):
        assert secret not in kept
        assert secret not in caplog.text


@pytest.mark.parametrize("way", WAYS)
def test_the_error_of_an_embedding_model_does_not_hold_the_key(
    way: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PRECIOUS_KEY", KEY)
    body = b'{"error": "%s"}' % WAYS[way].encode()
    answer = b"HTTP/1.1 400 %s\r\ncontent-length: %d\r\n\r\n%s" % (KEY.encode(), len(body), body)
    with backend.serve_bytes([answer]) as url:
        keys = KeyRing({parse_endpoint(url).address: {"key_env": "PRECIOUS_KEY"}})
        embedder = make_embedder(f"openai:x@{url}", CallOptions(keys=keys))
        with caplog.at_level(logging.DEBUG), pytest.raises(ModelError) as caught:
            asyncio.run(embedder.embed(["put an egg away"]))
    assert "[key]" in str(caught.value)
    assert "HTTP Request" in caplog.text
    for secret in (KEY, WAYS[way]):
        assert secret not in f"{caught.value} {caught.value.recorded} {caplog.text}"
