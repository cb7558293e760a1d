"""Reads the header of a GGUF file before a runtime loads it, so that a wrong file is refused with a reason.

The format: github.com/ggml-org/ggml, docs/gguf.md. Little-endian files of versions 2 and 3.
"""

from __future__ import annotations

import struct
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.paths import open_file

MOST_KEYS = 10_000
LONGEST_KEY = 1 << 16
LONGEST_TEXT = 1 << 22
LONGEST_ARRAY = 1 << 26
SAMPLE = 1 << 22
"""Bytes at each end of a file that its fingerprint covers: hashing several gigabytes takes longer than a game."""

_CONVERT = (
    "Models of other formats are converted with llama.cpp's convert_hf_to_gguf.py, or served by an OpenAI-compatible server."
)
_CUT_OFF = "ends within its header: it is cut off. Download it again."
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class Header(NamedTuple):
    """The facts about a model in its header. ``context`` is the number of tokens it was trained for, if given."""

    architecture: str
    name: str
    context: int | None
    template: str | None
    vocabulary: int
    tensors: int


def read_header(path: Path) -> Header:
    """Read the header of the model at ``path``. Raises ``ConfigurationError`` if it is not a model with weights."""
    tensors, values = _entries(path, "", "Name a GGUF file as llama:/path/to/model.gguf.", _CONVERT)
    architecture, name, template = (
        value if isinstance(value := values.get(key), str) else ""
        for key in ("general.architecture", "general.name", "tokenizer.chat_template")
    )
    vocabulary = values.get("tokenizer.ggml.tokens")
    if not architecture:
        raise _error(path, "does not say what architecture it has, so it is not a language model. Take another file.")
    if tensors == 0:
        raise _error(path, "holds a vocabulary and no weights. Take the whole model's file.")
    if not isinstance(vocabulary, range) or not vocabulary:
        what = "holds no vocabulary: it is part of a model (an adapter or a projector). Take the whole model's file."
        raise _error(path, what)
    context = values.get(f"{architecture}.context_length")
    context = context if type(context) is int and context > 0 else None
    return Header(architecture, name, context, template or None, len(vocabulary), tensors)


def check_adapter(path: Path, model: Header) -> None:
    """Raise ``ConfigurationError`` unless ``path`` holds a LoRA adapter for a model of this architecture."""
    way_out = "Name one that was made for this model: ?lora=FILE; `housequest train` makes one."
    _, values = _entries(path, "The adapter ", way_out, way_out)
    if values.get("general.type") != "adapter":
        raise _error(path, f"is not an adapter. {way_out}")
    if (made_for := values.get("general.architecture")) != model.architecture:
        raise ConfigurationError(
            f"The adapter {shown(str(path), 200)} was made for the architecture {shown(str(made_for), 40)}, and the model has "
            f"{shown(model.architecture, 40)}. {way_out}"
        )


def fingerprint(path: Path) -> str:
    """The SHA-256 of a file's size and of ``SAMPLE`` bytes at each end, in hex. Raises ``ConfigurationError``."""
    try:
        with open_file(path) as file:
            digest = sha256(str(size := path.stat().st_size).encode())
            digest.update(file.read(SAMPLE))
            file.seek(max(file.tell(), size - SAMPLE))
            digest.update(file.read(SAMPLE))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{shown(str(path), 200)} cannot be read: {error}.") from None
    return digest.hexdigest()


def _entries(path: Path, what: str, way_out: str, otherwise: str) -> tuple[int, dict[str, object]]:
    """The number of tensors and the values of the header; ``otherwise`` is the advice if it is not a GGUF file."""
    try:
        with open_file(path) as file:
            return _Reader(path, file).entries(otherwise)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "that is not the name of a file"
        raise ConfigurationError(f"{what}{shown(str(path), 200)} cannot be read: {reason}. {way_out}") from None


def _error(path: Path, what: str) -> ConfigurationError:
    return ConfigurationError(f"{shown(str(path), 200)} {what}")


class _Reader:
    """Reads values from an untrusted file, never beyond its end."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file, self._size = path, file, path.stat().st_size

    def entries(self, otherwise: str) -> tuple[int, dict[str, object]]:
        if self._file.read(4) != b"GGUF":
            raise _error(self._path, f"is not a GGUF file. {otherwise}")
        version = self._number("I")
        if version not in {2, 3}:
            raise _error(self._path, f"is GGUF of version {version}, or of the other byte order; versions 2 and 3 are read.")
        tensors, keys = self._number("Q"), self._number("Q")
        if keys > MOST_KEYS:
            raise _error(self._path, f"claims {keys:,} entries in its header, more than {MOST_KEYS:,}: it is damaged.")
        return tensors, {self._text(LONGEST_KEY): self._value() for _ in range(keys)}

    def _number(self, form: str) -> Any:
        size = struct.calcsize(f"<{form}")
        return struct.unpack(f"<{form}", self._bytes(size))[0]

    def _text(self, longest: int) -> str:
        length = self._number("Q")
        if length > longest:
            raise _error(self._path, f"claims a text of {length:,} bytes in its header: it is damaged.")
        return self._bytes(length).decode("utf-8", "replace")

    def _value(self) -> object:
        """A text or a number; for an array, whose elements are skipped, the range of its indices."""
        kind = self._number("I")
        if kind == _STRING:
            return self._text(LONGEST_TEXT)
        if kind != _ARRAY:
            return self._number(self._form(kind))
        kind, length = self._number("I"), self._number("Q")
        if length > LONGEST_ARRAY:
            raise _error(self._path, f"claims an array of {length:,} in its header: it is damaged.")
        if kind == _STRING:
            for _ in range(length):
                self._skip(self._number("Q"))
        else:
            self._skip(length * struct.calcsize(f"<{self._form(kind)}"))
        return range(length)

    def _form(self, kind: int) -> str:
        if kind not in _NUMBERS:
            raise _error(
                self._path, f"holds a value of an unknown kind ({kind}) in its header: it is damaged, or newer than this."
            )
        return _NUMBERS[kind]

    def _skip(self, length: int) -> None:
        if self._file.tell() + length > self._size:
            raise _error(self._path, _CUT_OFF)
        self._file.seek(length, 1)

    def _bytes(self, length: int) -> bytes:
        found = self._file.read(length)
        if len(found) < length:
            raise _error(self._path, _CUT_OFF)
        return found
