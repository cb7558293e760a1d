"""``llama:FILE``: a model in a GGUF file, and how it is run (`housequest.agent.models.llama.options`)."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from housequest.agent.models.base import Model
from housequest.agent.models.llama.options import INSTALL, chosen_runtime, installed, read_llama_name
from housequest.agent.models.provider import CallOptions, ModelProvider, file_name, with_options
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import given_path

ATTENDED_BATCH = 64
"""Tokens of a prompt evaluated at once while somebody attends: between two batches a call can be called off."""


class LlamaProvider(ModelProvider):
    """A GGUF file with its options."""

    forms = ("llama:FILE.gguf",)

    def parse(self, rest: str) -> str:
        path, options = read_llama_name(rest)
        return with_options(file_name(path), options)

    def make(self, rest: str, *, name: str, options: CallOptions) -> Model:
        from housequest.agent.models.llama.model import LlamaModel

        path, how = read_llama_name(rest)
        how = replace(how, runtime=chosen_runtime(how))
        if options.attended:
            # Nobody else asks meanwhile, and each slot takes memory for a whole context.
            how = replace(how, slots=1, batch=min(how.batch, ATTENDED_BATCH))
        return LlamaModel(given_path(path), how, name=name, timeout=options.timeout, attended=options.attended)

    def portable(self, rest: str) -> str:
        """With the runtime that plays it, since another may reply otherwise."""
        path, options = read_llama_name(rest)
        template, lora = (each and Path(each).name for each in (options.template, options.lora))
        settled = replace(options, runtime=chosen_runtime(options), template=template, lora=lora)
        return with_options(Path(path).name, settled)

    def digest(self, rest: str) -> str:
        """A digest of the model's file and its adapter; looks at the template, too, so that no run begins without its files."""
        from housequest.agent.models.gguf import check_adapter, fingerprint, read_header
        from housequest.agent.models.llama.shared import load_template
        from housequest.worlds.workers import Refused

        path, options = read_llama_name(rest)
        header = read_header(given_path(path))
        if options.template not in (None, "chatml"):
            try:
                load_template(str(given_path(options.template)))
            except Refused as refused:
                raise ConfigurationError(f"llama:{path} {refused}. {refused.way_out}") from None
        digest = fingerprint(given_path(path))
        # An adapter is half of the model: two of the same name are two models.
        if options.lora is None:
            return digest
        check_adapter(given_path(options.lora), header)
        return sha256(f"{digest} {fingerprint(given_path(options.lora))}".encode()).hexdigest()

    def computes(self, rest: str) -> str | None:
        from housequest.agent.models.llama.shared import said_threads, usual_threads

        if read_llama_name(rest)[1].threads is not None:
            return None
        return f"The model computes with {said_threads(usual_threads())}, one less than it may use; ?threads=N changes that."

    def about(self) -> str:
        names = installed()
        return f"a model on this machine (by {names[0]})" if names else f"a model on this machine ({INSTALL})"
