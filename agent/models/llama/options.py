"""How a GGUF model is run, written after its file: ``llama:/path/model.gguf?slots=8&context=4096``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, cast, get_args
from urllib.parse import parse_qsl, quote

from worlds.errors import ConfigurationError, nearest, shown

RuntimeName = Literal["auto", "llama-cpp-python", "xllamacpp"]
CacheType = Literal["f16", "f32"]
Flash = Literal["auto", "on", "off"]

CONTEXT = 8_192
"""Tokens of a slot where nobody says: what an episode of 50 turns with its rules needs at most, and memory for some."""

_WORDS: Mapping[str, tuple[str, ...]] = {
    "runtime": get_args(RuntimeName),
    "cache_type": get_args(CacheType),
    "flash": get_args(Flash),
}
_MOST = {"context": 1 << 24, "slots": 256, "threads": 1_024, "gpu_layers": 10_000, "batch": 1 << 16}


@dataclass(frozen=True, slots=True)
class LlamaOptions:
    """What can be chosen for a model on this machine.

    ``context``: tokens of one conversation (None: what the model was trained for, at most ``CONTEXT``); ``slots``:
    conversations decoded at once; ``threads``: of the processor (None: its cores); ``gpu_layers``: layers that lie on a GPU
    (-1: all that fit); ``batch``: tokens of a prompt evaluated at once; ``cache``: whether what two prompts begin with alike
    is evaluated once; ``template``: the file of a chat template in place of the model's own, or ``chatml``; ``lora``: an
    adapter's file; ``cache_type``: how the cache's numbers are kept; ``flash``: whether attention is computed in blocks,
    which is quicker and less exact.
    """

    context: int | None = None
    slots: int = 4
    threads: int | None = None
    gpu_layers: int = -1
    batch: int = 512
    cache: bool = True
    template: str | None = None
    lora: str | None = None
    cache_type: CacheType = "f16"
    flash: Flash = "auto"
    runtime: RuntimeName = "auto"


NAMES = tuple(field.name for field in fields(LlamaOptions))


def split_name(rest: str) -> tuple[str, str]:
    """The file and the options of what stands after ``llama:``; a question mark that no known option follows is the file's."""
    path, _, query = rest.rpartition("?")
    return (path, query) if path and "=" in query and "/" not in query.partition("=")[0] else (rest, "")


def parse_options(query: str) -> LlamaOptions:
    """Read ``KEY=VALUE&KEY=VALUE``. Raises ``ConfigurationError`` naming the key and the value."""
    values: dict[str, object] = {}
    for key, value in parse_qsl(query, keep_blank_values=True, max_num_fields=100):
        if key not in NAMES:
            raise ConfigurationError(
                f"A llama: model has no setting {shown(key, 40)}.{nearest(key, NAMES)} There are {', '.join(NAMES)}."
            )
        if key in values:
            raise ConfigurationError(f"{key} is given twice for the model.")
        values[key] = _read(key, value)
    return LlamaOptions(**cast("Mapping[str, object]", values))  # pyright: ignore[reportArgumentType]


def _read(key: str, value: str) -> object:
    if key in _MOST:
        least = -1 if key == "gpu_layers" else 1
        if not value.removeprefix("-").isdecimal() or len(value) > 9 or not least <= int(value) <= _MOST[key]:
            raise ConfigurationError(
                f"{key}={shown(value, 40)} of the model is no whole number from {least} to {_MOST[key]:,}."
            )
        return int(value)
    if key == "cache":
        if value not in {"on", "off"}:
            raise ConfigurationError(f"cache={shown(value, 40)} of the model is neither on nor off.")
        return value == "on"
    if key in _WORDS and value not in _WORDS[key]:
        raise ConfigurationError(f"{key}={shown(value, 40)} of the model is none of {', '.join(_WORDS[key])}.")
    if not value or "\0" in value:
        raise ConfigurationError(f"{key}={shown(value, 40)} of the model names nothing.")
    return value


def written(options: LlamaOptions, *, placeless: bool = False) -> str:
    """The options as they are written after a file, without those that go without saying; ``placeless``, without folders."""
    default = LlamaOptions()
    parts: list[str] = []
    for name in NAMES:
        value: object = getattr(options, name)
        if value == getattr(default, name):
            continue
        if isinstance(value, bool):
            value = "on" if value else "off"
        if placeless and name in {"template", "lora"}:
            value = Path(str(value)).name
        parts.append(f"{name}={quote(str(value), safe='/~:.,-_ ')}")
    return "&".join(parts)
