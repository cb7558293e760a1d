"""A streamed reply put together: its processor time in events of a word each, and as if they came in one piece."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from housequest.agent.models.keys import PLACEHOLDER
from housequest.agent.models.openai.protocol import StreamedReply, read_completion
from housequest.agent.models.openai.redaction import Redactor

EVENTS = (4_000, 32_000)
WANTED = 2.0
ROUNDS = 5


def run(data: Path | None) -> Iterator[str]:
    """Lines to print."""
    del data
    for number in EVENTS:
        events = [_event({"content": "word "}, None)] * number + [_event({}, "stop"), b"data: [DONE]\n\n"]
        apart, joined = (min(_seconds(pieces) for _ in range(ROUNDS)) for pieces in (events, [b"".join(events)]))
        yield (
            f"{number:,} events: {apart:.3f} s one by one, {joined:.3f} s in one piece: {apart / joined:.2f} times as long "
            f"(wanted: at most {WANTED})"
        )


def _event(delta: object, finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'id': 'chatcmpl-0', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n".encode()


def _seconds(pieces: Sequence[bytes]) -> float:
    began = time.process_time()
    reply = StreamedReply(lambda _: None)
    for piece in pieces:
        reply.take(piece)
    whole = reply.whole()
    assert whole is not None
    read_completion(whole, "application/json", Redactor(PLACEHOLDER))
    return time.process_time() - began
