"""``openai:NAME``: any OpenAI-compatible endpoint."""

from __future__ import annotations

import os

from agent.models.base import Model
from agent.models.openai.keys import OFFICIAL_KEY, load_keys
from agent.models.openai.name import read_name
from agent.models.provider import CallOptions, ModelProvider, with_options


class OpenAIProvider(ModelProvider):
    """Any OpenAI-compatible endpoint."""

    forms = ("openai:NAME", "openai:NAME@http://HOST:PORT/v1")

    def parse(self, rest: str) -> str:
        return str(read_name(rest))

    def make(self, rest: str, *, name: str, options: CallOptions) -> Model:
        from agent.models.openai.model import OpenAIModel

        return OpenAIModel(read_name(rest), name=name, calls=options)

    def portable(self, rest: str) -> str:
        parsed = read_name(rest)
        return with_options(parsed.model, parsed.options)

    def about(self) -> str:
        keys = {OFFICIAL_KEY, *load_keys().variables.values()}
        known = ", ".join(f"{key} is {'set' if os.environ.get(key) else 'not set'}" for key in sorted(keys))
        return f"the official host, or any other OpenAI-compatible server ({known})"
