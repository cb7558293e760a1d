"""``llama:FILE``: a model in a GGUF file, with its options."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agent.models.base import Model
from agent.models.llama.options import INSTALL, chosen_runtime, installed, read_name
from agent.models.provider import CallOptions, ModelProvider, file_name, with_options
from worlds.paths import given_path


class LlamaProvider(ModelProvider):
    """A GGUF file with its options."""

    forms = ("llama:FILE.gguf",)

    def parse(self, rest: str) -> str:
        path, options = read_name(rest)
        return with_options(file_name(path), options)

    def make(self, rest: str, *, name: str, options: CallOptions) -> Model:
        from agent.models.llama.model import LlamaModel

        path, how = read_name(rest)
        return LlamaModel(given_path(path), how, name=name, timeout=options.timeout)

    def portable(self, rest: str) -> str:
        """With the runtime that plays it, since another may reply otherwise."""
        path, options = read_name(rest)
        template, lora = (each and Path(each).name for each in (options.template, options.lora))
        settled = replace(options, runtime=chosen_runtime(options), template=template, lora=lora)
        return with_options(Path(path).name, settled)

    def digest(self, rest: str) -> str:
        from agent.models.llama.gguf import fingerprint

        return fingerprint(given_path(read_name(rest)[0]))

    def about(self) -> str:
        names = installed()
        return f"a model on this machine (by {names[0]})" if names else f"a model on this machine ({INSTALL})"
