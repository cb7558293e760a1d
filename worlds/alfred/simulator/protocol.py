"""AI2-THOR's FIFO protocol, as a player speaks it: fields of a type, a length and a body, up to an end of the message.

Two named pipes, whose paths stand in the environment. The client sends actions as JSON; the player answers with metadata as
MessagePack, and with images.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from typing import IO, Any, cast

SERVER_PIPE = "AI2THOR_FIFO_SERVER_PIPE_PATH"
CLIENT_PIPE = "AI2THOR_FIFO_CLIENT_PIPE_PATH"
"""The environment variables with the paths of the pipe that the player writes and of the one that it reads."""

METADATA, ACTION, RGB, DEPTH, CLASSES, IDS, END = 1, 2, 4, 5, 8, 9, 255
"""Types of field."""
LONGEST = 64_000_000
_HEADER = struct.Struct("!BI")


def read_action(pipe: IO[bytes]) -> dict[str, Any] | None:
    """The next action; None once the client has closed the pipe. Raises ``ValueError`` for what is no action."""
    action: dict[str, Any] | None = None
    while True:
        header = pipe.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return None
        field, length = _HEADER.unpack(header)
        if length > LONGEST:
            raise ValueError(f"a field of {length:,} bytes; at most {LONGEST:,} are read")
        body = pipe.read(length)
        if len(body) < length:
            return None
        if field == END:
            if action is None:
                raise ValueError("a message without an action")
            return action
        if field == ACTION:
            action = json.loads(body)
            if not isinstance(action, dict):
                raise ValueError("an action is a JSON object")


def write_answer(pipe: IO[bytes], metadata: Mapping[str, Any], images: Iterable[tuple[int, bytes]]) -> None:
    """Answer an action with metadata, and with images by their type."""
    for field, body in ((METADATA, packed(metadata)), *images, (END, b"")):
        pipe.write(_HEADER.pack(field, len(body)) + body)
    pipe.flush()


def packed(value: object) -> bytes:
    """``value`` as MessagePack: None, truth values, numbers, text, lists, tuples and mappings."""
    parts: list[bytes] = []
    _pack(value, parts)
    return b"".join(parts)


def _pack(value: object, parts: list[bytes]) -> None:
    match value:
        case None:
            parts.append(b"\xc0")
        case bool():
            parts.append(b"\xc3" if value else b"\xc2")
        case int():
            parts.append(bytes((value,)) if 0 <= value < 128 else b"\xd3" + struct.pack("!q", value))
        case float():
            parts.append(b"\xcb" + struct.pack("!d", value))
        case str():
            body = value.encode("utf-8", "surrogatepass")
            parts.append(b"\xdb" + struct.pack("!I", len(body)) + body)
        case list() | tuple():
            items = cast("list[object] | tuple[object, ...]", value)
            parts.append(b"\xdd" + struct.pack("!I", len(items)))
            for item in items:
                _pack(item, parts)
        case Mapping():
            pairs = cast("Mapping[object, object]", value)
            parts.append(b"\xdf" + struct.pack("!I", len(pairs)))
            for key, item in pairs.items():
                _pack(key, parts)
                _pack(item, parts)
        case _:
            raise TypeError(f"{type(value).__name__} cannot be packed")
