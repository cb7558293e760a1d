"""``openai:NAME``: models behind any OpenAI-compatible endpoint, with keys, retries, a rate limiter and probes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote, unquote

from housequest.agent.models.base import Model
from housequest.agent.models.keys import OFFICIAL_KEY, OFFICIAL_URL, check_extra, load_keys, parse_endpoint
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


class OpenAIProvider(ModelProvider):
    """A model at any OpenAI-compatible endpoint. ``extra`` holds parameters added to each request, as ``KEY.KEY=VALUE``, and
    ``body`` the same as the JSON that is sent. Error messages never contain the address."""

    forms = ("openai:NAME", "openai:NAME@http://HOST:PORT/v1")
    images = True

    def __init__(self, rest: str) -> None:
        # A model's own name may contain slashes, colons and "@"; the address begins at the last "@http".
        at = max(rest.lower().rfind("@http://"), rest.lower().rfind("@https://"))
        named, url = (rest, OFFICIAL_URL) if at < 0 else (rest[:at], rest[at + 1 :])
        if "://" in named:
            raise ConfigurationError("The model's address begins with neither http:// nor https://.")
        named, self.extra = _apart(named)
        self.model, self.options = split_options(named, EndpointOptions, "An openai: model")
        if not self.model or len(self.model) > LONGEST_NAME or not self.model.isprintable():
            raise ConfigurationError(f"{shown(self.model, 60)} is not the name of a model.")
        if at < 0 and _FORGOTTEN_SCHEME.search(named):
            raise ConfigurationError(f"{shown(named, 60)} would be sent to the official host; write http:// after the @.")
        self.body = _body(self.extra)
        self.endpoint = parse_endpoint(url)
        named = self._named(self.extra)
        super().__init__(named if self.endpoint.url == OFFICIAL_URL else f"{named}@{self.endpoint.url}")

    def _named(self, extra: Sequence[str]) -> str:
        """The name without the address."""
        named = with_options(self.model, self.options)
        quoted = "&".join(f"{_EXTRA}{quote(pair, safe=_UNQUOTED)}" for pair in extra)
        return f"{named}{'&' if '?' in named else '?'}{quoted}" if quoted else named

    def make(self, *, name: str, options: CallOptions) -> Model:
        from housequest.agent.models.openai.model import OpenAIModel

        return OpenAIModel(self, options, name=name)

    def portable(self) -> str:
        usual = load_keys().extra_body(self.endpoint)
        more = (f"{name}={json.dumps(value)}" for name, value in usual.items() if name not in self.body)
        return self._named(sorted((*more, *self.extra)))

    def elsewhere(self) -> str | None:
        keys = load_keys()
        keys.check_private(self.endpoint)
        variables = " and ".join(keys.named(self.endpoint))
        key = f"with the key in {variables}" if variables else "without a key"
        return None if self.endpoint.loopback else f"{'/'.join(self.endpoint.url.split('/')[:3])} {key}"

    @classmethod
    def about(cls) -> str:
        keys = {OFFICIAL_KEY, *(said["key_env"] for said in load_keys().tables.values() if "key_env" in said)}
        known = ", ".join(f"{key} is {'set' if os.environ.get(key) else 'not set'}" for key in sorted(keys))
        return f"the official host, or any other OpenAI-compatible server ({known})"


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
