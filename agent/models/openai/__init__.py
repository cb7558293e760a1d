"""``openai:NAME``: models behind any OpenAI-compatible endpoint, with keys, retries, a rate limiter and probes."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from housequest.agent.models.base import Model
from housequest.agent.models.keys import OFFICIAL_KEY, OFFICIAL_URL, Endpoint, load_keys, parse_endpoint
from housequest.agent.models.registry import CallOptions, ModelProvider, split_options, with_options
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.options import option

LONGEST_NAME = 200
_FORGOTTEN_SCHEME = re.compile(r"@(localhost|\[[0-9a-f:.]+\]|[\w.-]+:\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """What every request to a model that thinks says.

    ``thinking`` goes into the field that the server takes. ``max_completion_tokens`` counts thoughts and reply. It is a
    minimum: a role that asks for more gets more.
    """

    thinking: str | None = option(None, "how much it thinks: off, a word such as low, or a number of tokens")
    max_completion_tokens: int | None = option(None, "tokens of a reply, thoughts included", least=1)


@dataclass(frozen=True, slots=True)
class EndpointName:
    """A parsed model's name: the model at the endpoint, its options, and the endpoint."""

    model: str
    options: EndpointOptions
    endpoint: Endpoint

    def __str__(self) -> str:
        named = with_options(self.model, self.options)
        return named if self.endpoint.url == OFFICIAL_URL else f"{named}@{self.endpoint.url}"


class OpenAIProvider(ModelProvider):
    """Any OpenAI-compatible endpoint."""

    forms = ("openai:NAME", "openai:NAME@http://HOST:PORT/v1")
    images = True

    def parse(self, rest: str) -> str:
        return str(read_openai_name(rest))

    def make(self, rest: str, *, name: str, options: CallOptions) -> Model:
        from housequest.agent.models.openai.model import OpenAIModel

        return OpenAIModel(read_openai_name(rest), options, name=name)

    def portable(self, rest: str) -> str:
        parsed = read_openai_name(rest)
        return with_options(parsed.model, parsed.options)

    def elsewhere(self, rest: str) -> str | None:
        return told_destination(read_openai_name(rest).endpoint)

    def about(self) -> str:
        keys = {OFFICIAL_KEY, *load_keys().variables.values()}
        known = ", ".join(f"{key} is {'set' if os.environ.get(key) else 'not set'}" for key in sorted(keys))
        return f"the official host, or any other OpenAI-compatible server ({known})"


def told_destination(endpoint: Endpoint) -> str | None:
    """The server that is asked and the key that goes along, in words; None for this machine. Raises ``ConfigurationError``."""
    keys = load_keys()
    keys.check_private(endpoint)
    variable = keys.variable(endpoint)
    key = f"with the key in {variable}" if variable else "without a key"
    return None if endpoint.loopback else f"{'/'.join(endpoint.url.split('/')[:3])} {key}"


def read_openai_name(rest: str) -> EndpointName:
    """Read what follows ``openai:``. Raises ``ConfigurationError``, never repeating an address."""
    # A model's own name may hold slashes, colons and "@"; the address begins at the last "@http".
    at = max(rest.lower().rfind("@http://"), rest.lower().rfind("@https://"))
    named, url = (rest, OFFICIAL_URL) if at < 0 else (rest[:at], rest[at + 1 :])
    if "://" in named:
        raise ConfigurationError("The model's address begins with neither http:// nor https://.")
    model, options = split_options(named, EndpointOptions, "An openai: model")
    if not model or len(model) > LONGEST_NAME or not model.isprintable():
        raise ConfigurationError(f"{shown(model, 60)} is not the name of a model.")
    if at < 0 and _FORGOTTEN_SCHEME.search(named):
        raise ConfigurationError(f"{shown(named, 60)} would go to the official host; write http:// after the @.")
    return EndpointName(model, options, parse_endpoint(url))
