"""What an endpoint may do instead of answering honestly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scripts.torture.endpoint import ELSEWHERE, Call, Lie


@dataclass(frozen=True)
class Failure:
    """A way not to answer. ``retried``: the same call is made again by itself, so that a short one is not noticed."""

    lie: Lie
    retried: bool


def status(code: int, retried: bool, wait: str | None = None) -> Failure:
    """An error that says the key back, as JSON escapes it."""

    async def lie(call: Call) -> None:
        error = {"error": {"message": f"no luck with {call.key}", "type": "t", "param": None, "code": None}}
        await call.send(json.dumps(error).encode(), code, headers={} if wait is None else {"retry-after": wait})

    return Failure(lie, retried)


def body(content: bytes, kind: str = "application/json", *, code: int = 200, retried: bool = False) -> Failure:
    """Exactly this body."""

    async def lie(call: Call) -> None:
        await call.send(content, code, kind)

    return Failure(lie, retried)


async def hang(call: Call) -> None:
    """No answer at all."""
    await asyncio.sleep(3_600)


async def dribble(call: Call) -> None:
    """A body that comes so slowly that it never ends."""
    await call.send(b" ", length=100_000)
    for _ in range(3_600):
        call.writer.write(b" ")
        await call.writer.drain()
        await asyncio.sleep(0.2)


async def reset(call: Call) -> None:
    """The connection is reset."""
    call.abort()


async def half(call: Call) -> None:
    """Half of the right body, and then the connection is gone."""
    whole = json.dumps(call.completion()).encode()
    await call.send(whole[: len(whole) // 2], length=len(whole))
    call.writer.close()


async def half_head(call: Call) -> None:
    """Half of a header."""
    call.writer.write(b"HTTP/1.1 200 OK\r\ncontent-ty")
    await call.writer.drain()
    call.writer.close()


async def other_protocol(call: Call) -> None:
    """Something that is no HTTP."""
    call.writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    await call.writer.drain()
    call.writer.close()


async def cut_json(call: Call) -> None:
    """Half of the right JSON, as if that were all."""
    whole = json.dumps(call.completion()).encode()
    await call.send(whole[: len(whole) // 2])


async def dead(call: Call) -> None:
    """Nothing listens any more."""
    call.endpoint.shut()
    call.abort()


async def redirect(call: Call) -> None:
    """Sent on to another address, which would answer."""
    await call.send(b"", 307, headers={"location": f"http://localhost:{call.endpoint.port}{ELSEWHERE}/chat/completions"})


FAILURES: Mapping[str, Failure] = {
    "dead": Failure(dead, retried=True),
    "400": status(400, retried=False),
    "401": status(401, retried=False),
    "403": status(403, retried=False),
    "404": status(404, retried=False),
    "408": status(408, retried=True),
    "429": status(429, retried=True),
    "429-now": status(429, retried=True, wait="0"),
    "429-past": status(429, retried=True, wait="Mon, 01 Jan 1990 00:00:00 GMT"),
    "429-negative": status(429, retried=True, wait="-5"),
    "429-absurd": status(429, retried=False, wait="86400000"),
    "429-nonsense": status(429, retried=True, wait="soon, 1e999"),
    "500": status(500, retried=True),
    "503-far": status(503, retried=False, wait="Fri, 31 Dec 9999 23:59:59 GMT"),
    "503-soon": status(503, retried=True, wait="0"),
    "hang": Failure(hang, retried=True),
    "dribble": Failure(dribble, retried=True),
    "reset": Failure(reset, retried=True),
    "half": Failure(half, retried=True),
    "half-head": Failure(half_head, retried=True),
    "other-protocol": Failure(other_protocol, retried=True),
    "empty-200": body(b"", retried=True),
    "html": body(b"<html><title>Welcome</title></html>", "text/html"),
    "cut-json": Failure(cut_json, retried=False),
    "list": body(b"[]"),
    "no-choices": body(b'{"choices": []}'),
    "null-choice": body(b'{"choices": [null]}'),
    "number-content": body(b'{"choices": [{"message": {"content": 5}}]}'),
    "deep": body(b'{"choices": ' + b"[" * 50_000),
    "huge": body(b" " * (3 << 20)),
    "huge-error": body(b"x" * (3 << 20), code=500),
    "redirect": Failure(redirect, retried=False),
}

Change = Callable[[dict[str, Any], Call], None]


def changed(change: Change, *, dumps: Callable[[Any], str] = json.dumps) -> Lie:
    """The honest answer with a ``change``, which is a completion all the same."""

    async def lie(call: Call) -> None:
        completion = call.completion()
        change(completion, call)
        call.endpoint.paid[call.prompt] += 1
        await call.send(dumps(completion).encode("utf-8", "surrogatepass"))

    return lie


def usage(*figures: object) -> Lie:
    """These figures of usage."""
    prompt, written = (figures * 2)[:2]

    def change(completion: dict[str, Any], call: Call) -> None:
        completion["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "prompt_tokens_details": {"cached_tokens": prompt},
        }

    return changed(change)


def beside(**members: object) -> Lie:
    """These members beside the right ones."""

    def change(completion: dict[str, Any], call: Call) -> None:
        completion.update(members)

    return changed(change)


def saying(text: Callable[[Call], str], escape: Callable[[str], str] = lambda text: text) -> Lie:
    """A reply with this text before the command, with JSON's escapes rewritten by ``escape``."""

    def change(completion: dict[str, Any], call: Call) -> None:
        message = completion["choices"][0]["message"]
        message["content"] = f"Thought: {text(call)}\n{message['content']}"
        completion["choices"][0]["finish_reason"] = text(call)

    return changed(change, dumps=lambda value: escape(json.dumps(value)))


def _by_codes(text: str) -> str:
    """Every letter and digit of JSON's strings as an escape; what JSON itself is made of stays."""
    inside, made, place = False, list[str](), 0
    while place < len(text):
        letter = text[place]
        if inside and letter == "\\":
            made.append(text[place : place + 2])
            place += 2
            continue
        if letter == '"':
            inside = not inside
        made.append(f"\\u{ord(letter):04x}" if inside and letter.isalnum() else letter)
        place += 1
    return "".join(made)


FAITHFUL: Mapping[str, Lie] = {
    "usage-2^52": usage(2**52),
    "usage-2^53-1": usage(2**53 - 1),
    "usage-2^63": usage(2**63),
    "usage-1e308": usage(1e308),
    "usage-negative": usage(-1),
    "usage-text": usage("12", "many"),
    "usage-null": usage(None),
    "more-members": beside(choices_too=[{"message": None}], prompt_logprobs={"a": "b"}, usages=["", 1]),
}
"""Lies beside the reply: the game goes as with an honest answer."""

FOOLISH: Mapping[str, Lie] = {
    "key": saying(lambda call: f"your key is {call.key}"),
    "key-escaped": saying(lambda call: f"your key is {call.key}", _by_codes),
    "control": saying(lambda call: "\x1b[2J\x07\x7f\x9b\u202e\u2066\x00 and on"),
    "surrogate": saying(lambda call: "\ud800\udfff\udfff"),
    "long": saying(lambda call: "x" * 400_000),
    "empty": changed(lambda completion, call: completion["choices"][0]["message"].update(content="")),
    "null": changed(lambda completion, call: completion["choices"][0]["message"].update(content=None)),
}
"""Replies that change the game or the record, and are completions."""
