"""JSON on disk that carries its own SHA-256, so that damage is noticed wherever it is.

A digest is no signature: whoever can change a file can also give it a new digest.
"""

from __future__ import annotations

import hashlib
import os
from io import BufferedReader
from pathlib import Path
from typing import cast

from housequest.worlds.paths import open_file

_LAYOUTS = ((',\n  "sha256": "', '"\n}\n'), (',"sha256":"', '"}'))
"""What stands before and after the digest, the last entry: in a file of many lines, and in one line without its end."""


LENGTH_OF_END = sum(map(len, _LAYOUTS[0])) + 64
"""Bytes at the end of a file that are its digest."""


class Damaged(ValueError):
    """A text is not what its own digest says."""


def with_digest(text: str) -> str:
    """``text``, a JSON object, with the SHA-256 of all that stands before it as its last entry."""
    before, after = next(layout for layout in _LAYOUTS if text.endswith(layout[1][1:]))
    body = text.removesuffix(after[1:])
    return f"{body}{before}{_sha256(body.encode())}{after}"


def without_digest(content: bytes) -> bytes:
    """The object that `with_digest` was given.

    Raises ``Damaged`` where there is no digest, or that of another text, or one that is laid out otherwise.
    """
    for before, after in _LAYOUTS:
        body, _, digest = content.removesuffix(after.encode()).rpartition(before.encode())
        if body and content.endswith(after.encode()) and len(digest) == 64:
            if digest != _sha256(body).encode():
                raise Damaged("it is not what its own sha256 says")
            return body + after[1:].encode()
    if b'"sha256":' in content[-LENGTH_OF_END - 10 :]:
        raise Damaged("its sha256 does not stand where it was written; was it saved by an editor?")
    raise Damaged("its sha256 is missing: it was cut off, or written by something else")


def sha256_of(path: Path, *, sync: bool = False) -> str:
    """The SHA-256 of a file; with ``sync`` its content survives a crash of the machine from then on. Raises ``OSError``."""
    with open_file(path, "r+b" if sync else "rb") as file:
        if sync:
            os.fsync(file.fileno())
        return hashlib.file_digest(cast("BufferedReader", file), "sha256").hexdigest()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
