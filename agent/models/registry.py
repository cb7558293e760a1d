"""Model names and how each is made; a model's code is imported when it is first asked for."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Literal

from agent.models.base import Model
from agent.models.llama.options import LlamaOptions, parse_options, split_name, written
from agent.models.openai.keys import OFFICIAL_URL, Endpoint, KeyRing, load_keys, parse_endpoint
from worlds.errors import ConfigurationError, nearest, shown

FORMS = "builtin, openai:NAME, openai:NAME@http://HOST:PORT/v1, llama:FILE.gguf or scripted:FILE"
LONGEST_NAME = 200
_FORGOTTEN_SCHEME = re.compile(r"@(localhost|\[[0-9a-f:.]+\]|[\w.-]+:\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name, read: ``name`` is the endpoint's word for it, or the file of the script or of the weights."""

    kind: Literal["builtin", "openai", "llama", "scripted"]
    name: str
    endpoint: Endpoint | None = None
    options: LlamaOptions = field(default_factory=LlamaOptions)

    def __str__(self) -> str:
        if self.kind == "builtin" and not self.name:
            return self.kind
        if self.kind == "llama":
            chosen = written(self.options)
            return f"llama:{self.name}{'?' if chosen else ''}{chosen}"
        official = self.endpoint is None or self.endpoint.url == OFFICIAL_URL
        return f"{self.kind}:{self.name}{'' if official or self.endpoint is None else f'@{self.endpoint.url}'}"


def parse_model(name: str) -> ModelName:
    """Read a model's name without opening anything. Raises ``ConfigurationError``, never repeating an address."""
    kind, colon, rest = name.partition(":")
    kind = kind.strip()
    if kind == "builtin" and not colon:
        return ModelName("builtin", "")
    if kind in {"builtin", "scripted"} and rest.strip():
        if "\0" in rest:
            raise ConfigurationError(f"{shown(rest)} is not the name of a file. Name a model as {FORMS}.")
        return ModelName("builtin" if kind == "builtin" else "scripted", rest.strip())
    if kind == "llama" and rest.strip():
        path, query = split_name(rest.strip())
        if not path or "\0" in path:
            raise ConfigurationError(f"{shown(rest, 60)} is not the name of a file. Name a model as {FORMS}.")
        return ModelName("llama", path, options=parse_options(query))
    if kind == "openai" and rest.strip():
        return _openai(rest.strip())
    if kind in {"builtin", "openai", "llama", "scripted"}:
        raise ConfigurationError(f"{kind}{colon} names nothing. Name a model as {FORMS}.")
    suggestion = nearest(kind, ("builtin", "openai", "llama", "scripted"))
    raise ConfigurationError(f"There is no kind of model {shown(kind, 40)}.{suggestion} Name a model as {FORMS}.")


def _openai(rest: str) -> ModelName:
    # A model's own name may hold slashes, colons and "@"; the address begins at the last "@http".
    at = max(rest.lower().rfind("@http://"), rest.lower().rfind("@https://"))
    name, url = (rest, OFFICIAL_URL) if at < 0 else (rest[:at], rest[at + 1 :])
    if "://" in name:
        raise ConfigurationError(f"The model's address begins with neither http:// nor https://. Name a model as {FORMS}.")
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise ConfigurationError(f"{shown(name, 60)} is not the name of a model. Name a model as {FORMS}.")
    if at < 0 and _FORGOTTEN_SCHEME.search(name):
        raise ConfigurationError(f"{shown(name)} would go to the official host; write the address with http:// after the @.")
    return ModelName("openai", name, parse_endpoint(url))


def make_model(name: str, *, keys: KeyRing | None = None, timeout: float = 60.0, retries: int = 6, wait: float = 1.0) -> Model:
    """Make the model ``name``; nothing is called yet.

    ``keys`` says which key goes where (None: the user's own configuration), ``timeout`` is the limit of one attempt in
    seconds, ``retries`` counts the further attempts, and ``wait`` stretches the pauses between them. Raises
    ``ConfigurationError``.
    """
    parsed = parse_model(name)
    if not (math.isfinite(timeout) and timeout > 0):
        raise ConfigurationError(f"A time limit of {timeout} seconds allows no call; give a number above 0.")
    if retries < 0 or not (math.isfinite(wait) and wait >= 0):
        raise ConfigurationError(f"{retries} retries and pauses of {wait} times their length cannot be; give 0 or more.")
    if parsed.kind == "llama":
        from agent.models.llama.model import LlamaModel
        from worlds.paths import given_path

        return LlamaModel(given_path(parsed.name), parsed.options, name=str(parsed), timeout=timeout)
    if parsed.kind == "builtin":
        from agent.models.builtin.model import load_builtin
        from worlds.paths import given_path

        return load_builtin(given_path(parsed.name) if parsed.name else None, name=str(parsed))
    if parsed.endpoint is None:
        from agent.models.scripted import load_script
        from worlds.paths import given_path

        return load_script(given_path(parsed.name), name=str(parsed))
    from agent.models.openai.model import OpenAIModel

    ring = load_keys() if keys is None else keys
    return OpenAIModel(parsed.name, parsed.endpoint, name=str(parsed), keys=ring, timeout=timeout, retries=retries, wait=wait)
