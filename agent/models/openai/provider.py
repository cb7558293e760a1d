"""``openai:NAME``: any OpenAI-compatible endpoint (`housequest.agent.models.openai.names`)."""

from __future__ import annotations

import os

from housequest.agent.models.base import Model
from housequest.agent.models.keys import OFFICIAL_KEY, load_keys
from housequest.agent.models.openai.names import read_openai_name, told_destination
from housequest.agent.models.provider import CallOptions, ModelProvider, with_options


class OpenAIProvider(ModelProvider):
    """Any OpenAI-compatible endpoint."""

    forms = ("openai:NAME", "openai:NAME@http://HOST:PORT/v1")
    images = True

    def parse(self, rest: str) -> str:
        return str(read_openai_name(rest))

    def make(self, rest: str, *, name: str, options: CallOptions) -> Model:
        from housequest.agent.models.openai.model import OpenAIModel

        return OpenAIModel(read_openai_name(rest), name=name, calls=options)

    def portable(self, rest: str) -> str:
        parsed = read_openai_name(rest)
        return with_options(parsed.model, parsed.options)

    def elsewhere(self, rest: str) -> str | None:
        return told_destination(read_openai_name(rest).endpoint)

    def about(self) -> str:
        keys = {OFFICIAL_KEY, *load_keys().variables.values()}
        known = ", ".join(f"{key} is {'set' if os.environ.get(key) else 'not set'}" for key in sorted(keys))
        return f"the official host, or any other OpenAI-compatible server ({known})"
