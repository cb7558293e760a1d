"""``openai:NAME``: models behind any OpenAI-compatible endpoint, with keys, retries, a rate limiter and probes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import quote, unquote

from housequest.agent.models.base import Model
from housequest.agent.models.keys import OFFICIAL_KEY, OFFICIAL_URL, Endpoint, check_extra, load_keys, parse_endpoint
from housequest.agent.models.registry import CallOptions, ModelProvider, split_options, with_options
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.options import option

LONGEST_NAME = 200
_EXTRA = "extra."
_UNQUOTED = "=.,:{}[]' " + '"'
_FORGOTTEN_SCHEME = re.compile(r"@(localhost|\[[0-9a-f:.]+\]|[\w.-]+:\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """Options that are sent with every request.

    ``thinking`` is sent in the field that the server accepts. ``max_completion_tokens`` counts thinking and reply; it is a
    minimum: a role that asks for more gets more.
    """

    thinking: str | None = option(None, "how much it thinks: off, a word such as low, or a number of tokens")
    max_completion_tokens: int | None = option(None, "tokens of a reply, including thinking", least=1)


@dataclass(frozen=True, slots=True)
class EndpointName:
    """A parsed model name; ``extra`` holds the parameters added to each request, as ``KEY.KEY=VALUE``."""

    model: str
    options: EndpointOptions
    endpoint: Endpoint
    extra: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.named if self.endpoint.url == OFFICIAL_URL else f"{self.named}@{self.endpoint.url}"

    @property
    def named(self) -> str:
        """The name without the address."""
        named = with_options(self.model, self.options)
        extra = "&".join(f"{_EXTRA}{quote(pair, safe=_UNQUOTED)}" for pair in self.extra)
        return f"{named}{'&' if '?' in named else '?'}{extra}" if extra else named

    @property
    def body(self) -> dict[str, Any]:
        """``extra`` as the JSON that is sent."""
        return _body(self.extra)


class OpenAIProvider(ModelProvider):
    """Any OpenAI-compatible endpoint."""

    forms = ("openai:NAME", "openai:NAME@http://HOST:PORT/v1")
    images = True

    def __init__(self, rest: str) -> None:
        self._served = read_openai_name(rest)
        super().__init__(str(self._served))

    def make(self, *, name: str, options: CallOptions) -> Model:
        from housequest.agent.models.openai.model import OpenAIModel

        return OpenAIModel(self._served, options, name=name)

    def portable(self) -> str:
        served = self._served
        usual, own = load_keys().extra_body(served.endpoint), served.body
        more = (f"{name}={json.dumps(value)}" for name, value in usual.items() if name not in own)
        return replace(served, extra=tuple(sorted((*more, *served.extra)))).named

    def elsewhere(self) -> str | None:
        return told_destination(self._served.endpoint)

    @classmethod
    def about(cls) -> str:
        keys = {OFFICIAL_KEY, *(said["key_env"] for said in load_keys().tables.values() if "key_env" in said)}
        known = ", ".join(f"{key} is {'set' if os.environ.get(key) else 'not set'}" for key in sorted(keys))
        return f"the official host, or any other OpenAI-compatible server ({known})"


def told_destination(endpoint: Endpoint) -> str | None:
    """Describe the server and the key it gets; None if it is this machine. Raises ``ConfigurationError``."""
    keys = load_keys()
    keys.check_private(endpoint)
    variables = " and ".join(keys.named(endpoint))
    key = f"with the key in {variables}" if variables else "without a key"
    return None if endpoint.loopback else f"{'/'.join(endpoint.url.split('/')[:3])} {key}"


def read_openai_name(rest: str) -> EndpointName:
    """Parse the part after ``openai:``. Raises ``ConfigurationError``, whose message never contains the address."""
    # A model's own name may contain slashes, colons and "@"; the address begins at the last "@http".
    at = max(rest.lower().rfind("@http://"), rest.lower().rfind("@https://"))
    named, url = (rest, OFFICIAL_URL) if at < 0 else (rest[:at], rest[at + 1 :])
    if "://" in named:
        raise ConfigurationError("The model's address begins with neither http:// nor https://.")
    named, extra = _apart(named)
    model, options = split_options(named, EndpointOptions, "An openai: model")
    if not model or len(model) > LONGEST_NAME or not model.isprintable():
        raise ConfigurationError(f"{shown(model, 60)} is not the name of a model.")
    if at < 0 and _FORGOTTEN_SCHEME.search(named):
        raise ConfigurationError(f"{shown(named, 60)} would be sent to the official host; write http:// after the @.")
    _body(extra)
    return EndpointName(model, options, parse_endpoint(url), extra)


def _apart(named: str) -> tuple[str, tuple[str, ...]]:
    name, mark, query = named.rpartition("?")
    parts = query.split("&") if mark and name else []
    extra = [part for part in parts if part.startswith(_EXTRA) and "=" in part]
    rest = "&".join(part for part in parts if part not in extra)
    unquoted = tuple(sorted(unquote(part.removeprefix(_EXTRA)) for part in extra))
    return (named, ()) if not extra else (f"{name}?{rest}" if rest else name, unquoted)


def _body(extra: Sequence[str]) -> dict[str, Any]:
    """Parse ``KEY.KEY=VALUE`` into request parameters; a value that is not JSON is a string. Raises ``ConfigurationError``."""
    body: dict[str, Any] = {}
    for pair in extra:
        path, _, value = pair.partition("=")
        *tables, last = path.split(".")
        inner = body
        for table in tables:
            inner = cast("dict[str, Any]", found) if isinstance(found := inner.setdefault(table, {}), dict) else {}
        if not all((*tables, last)):
            raise ConfigurationError(f"{shown(f'{_EXTRA}{path}', 80)} in the model's name is not a parameter.")
        try:
            inner[last] = json.loads(value)
        except ValueError:
            inner[last] = value
    check_extra(body, "The model's name", named=True)
    return body
