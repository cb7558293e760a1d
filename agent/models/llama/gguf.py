"""The header of a GGUF file, read before a runtime loads it, so that a wrong file is refused with a reason.

The format: github.com/ggml-org/ggml, docs/gguf.md. Little-endian files of versions 2 and 3.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from worlds.errors import ConfigurationError, shown

MOST_KEYS = 10_000
LONGEST_KEY = 1 << 16
LONGEST_TEXT = 1 << 22
LONGEST_ARRAY = 1 << 26
SAMPLE = 1 << 22
"""Bytes at either end of a file that its fingerprint is made of: reading all of some gigabytes takes longer than a game."""

_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

_Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Header:
    """What can be known of a model without loading it. ``context`` is the number of tokens it was trained for, if it says."""

    architecture: str
    name: str
    context: int | None
    template: str | None
    vocabulary: int
    tensors: int


class _Damaged(Exception):
    """The file is not what it begins as; the message goes on from "FILE ..."."""


def read_header(path: Path) -> Header:
    """Read the header of the model at ``path``.

    Raises ``ConfigurationError`` for what is missing, is no GGUF file, is cut off, or holds a vocabulary and no weights.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            header = _read(file, size)
    except _Damaged as error:
        raise ConfigurationError(f"{shown(str(path), 200)} {error}") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "that is not the name of a file"
        raise ConfigurationError(
            f"{shown(str(path), 200)} cannot be read: {reason}. Name a GGUF file as llama:/path/to/model.gguf."
        ) from None
    return header


def fingerprint(path: Path) -> str:
    """What tells this model's file from another: the sha256 of its size and of ``SAMPLE`` bytes at either end, in hex.

    Raises ``ConfigurationError``.
    """
    try:
        with path.open("rb") as file:
            digest = sha256(str(size := path.stat().st_size).encode())
            digest.update(file.read(SAMPLE))
            file.seek(max(file.tell(), size - SAMPLE))
            digest.update(file.read(SAMPLE))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{shown(str(path), 200)} cannot be read: {error}.") from None
    return digest.hexdigest()


def _read(file: BinaryIO, size: int) -> Header:
    if file.read(4) != b"GGUF":
        raise _Damaged(
            "is not a GGUF file. Models of other formats are converted with llama.cpp's convert_hf_to_gguf.py, or served by "
            "an OpenAI-compatible server."
        )
    reader = _Reader(file, size)
    version = reader.number("I")
    if version not in {2, 3}:
        raise _Damaged(f"is GGUF of version {version}, or of the other byte order; versions 2 and 3 are read.")
    tensors, keys = reader.number("Q"), reader.number("Q")
    if keys > MOST_KEYS:
        raise _Damaged(f"claims {keys:,} entries in its header, more than {MOST_KEYS:,}: it is damaged.")
    values: dict[str, _Value] = {}
    vocabulary = 0
    for _ in range(keys):
        key = reader.text(LONGEST_KEY)
        value, length = reader.value()
        values[key] = value
        if key == "tokenizer.ggml.tokens":
            vocabulary = length
    architecture = _text(values, "general.architecture")
    if not architecture:
        raise _Damaged("does not say what architecture it has: it is no language model.")
    if tensors == 0:
        raise _Damaged("holds a vocabulary and no weights. Take the whole model's file.")
    if vocabulary == 0:
        raise _Damaged("holds no vocabulary: it is part of a model (an adapter or a projector), not a whole one.")
    context = values.get(f"{architecture}.context_length")
    return Header(
        architecture,
        _text(values, "general.name"),
        context if type(context) is int and context > 0 else None,
        _text(values, "tokenizer.chat_template") or None,
        vocabulary,
        int(tensors),
    )


def _text(values: dict[str, _Value], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


class _Reader:
    """Reads values from an untrusted file; nothing is read or skipped beyond its end."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size

    def number(self, form: str) -> int:
        return int(struct.unpack(f"<{form}", self._bytes(struct.calcsize(f"<{form}")))[0])

    def text(self, longest: int) -> str:
        length = self.number("Q")
        if length > longest:
            raise _Damaged(f"claims a text of {length:,} bytes in its header: it is damaged.")
        return self._bytes(length).decode("utf-8", "replace")

    def value(self) -> tuple[_Value, int]:
        """A value, and its length where it is an array, whose elements are skipped."""
        kind = self.number("I")
        if kind == _ARRAY:
            return None, self._array()
        if kind == _STRING:
            return self.text(LONGEST_TEXT), 0
        form = self._form(kind)
        return struct.unpack(f"<{form}", self._bytes(struct.calcsize(f"<{form}")))[0], 0

    def _array(self) -> int:
        kind, length = self.number("I"), self.number("Q")
        if length > LONGEST_ARRAY:
            raise _Damaged(f"claims an array of {length:,} in its header: it is damaged.")
        if kind == _STRING:
            for _ in range(length):
                self._skip(self.number("Q"))
        else:
            self._skip(length * struct.calcsize(f"<{self._form(kind)}"))
        return length

    def _form(self, kind: int) -> str:
        form = _NUMBERS.get(kind)
        if form is None:
            raise _Damaged(f"holds a value of an unknown kind ({kind}) in its header: it is damaged, or newer than this.")
        return form

    def _skip(self, length: int) -> None:
        if self._file.tell() + length > self._size:
            raise _Damaged("ends within its header: it is cut off. Download it again.")
        self._file.seek(length, 1)

    def _bytes(self, length: int) -> bytes:
        found = self._file.read(length)
        if len(found) < length:
            raise _Damaged("ends within its header: it is cut off. Download it again.")
        return found
