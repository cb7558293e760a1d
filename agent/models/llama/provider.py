"""``llama:FILE``: a model in a GGUF file, and how it is run: ``llama:/path/model.gguf?slots=8&context=4096``."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

from housequest.agent.models.base import Model
from housequest.agent.models.provider import CallOptions, ModelProvider, file_name, split_options, with_options
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.options import option
from housequest.worlds.paths import given_path

RuntimeName = Literal["auto", "llama-cpp-python", "xllamacpp"]

_MODULES: Mapping[RuntimeName, str] = {"llama-cpp-python": "llama_cpp", "xllamacpp": "xllamacpp"}
ATTENDED_BATCH = 64
"""Tokens of a prompt evaluated at once while somebody attends: between two batches a call can be called off."""

_INSTALL = 'pip install "housequest[xllamacpp]"'
_WAY_OUT = f'Install one: {_INSTALL}, which needs no compiler, or "housequest[llama]", which does.'


@dataclass(frozen=True, slots=True)
class LlamaOptions:
    """How a GGUF model is run. ``flash`` attention is faster, and what is cached then changes scores."""

    context: int | None = option(
        None, "tokens of one conversation [what the model was trained for, at most 8192]", least=1, most=1 << 24
    )
    slots: int = option(4, "conversations decoded at once", least=1, most=256)
    threads: int | None = option(None, "threads of the processor [one less than there are cores for it]", least=1, most=1_024)
    gpu_layers: int = option(-1, "layers on a GPU; -1 for all that fit", least=-1, most=10_000)
    batch: int = option(512, "tokens of a prompt evaluated at once", least=1, most=1 << 16)
    cache: bool = option(True, "whether shared prompt prefixes are cached")
    exact: bool = option(True, "score each text as if it were alone; off: in batches, faster on a GPU")
    template: str | None = option(None, "the file of a chat template in place of the model's own, or chatml")
    lora: str | None = option(None, "the file of an adapter")
    cache_type: Literal["f16", "f32"] = "f16"
    flash: Literal["auto", "on", "off"] = option("auto", "flash attention [auto: none where texts are scored exactly]")
    runtime: RuntimeName = "auto"


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
        return f"a model on this machine (by {names[0]})" if names else f"a model on this machine ({_INSTALL})"


def read_llama_name(rest: str) -> tuple[str, LlamaOptions]:
    """The file and the options of what follows ``llama:``. Raises ``ConfigurationError``."""
    return split_options(rest, LlamaOptions, "A llama: model")


def installed() -> tuple[RuntimeName, ...]:
    """The installed runtimes, the preferred one first. Imports none of them."""
    return tuple(name for name, module in _MODULES.items() if importlib.util.find_spec(module) is not None)


def chosen_runtime(options: LlamaOptions) -> RuntimeName:
    """The runtime that will be used. Raises ``ConfigurationError`` where it is not installed."""
    there = installed()
    if options.runtime == "auto":
        if not there:
            raise ConfigurationError(f"A llama: model needs a runtime, and this Python has none. {_WAY_OUT}")
        return there[0]
    if options.runtime not in there:
        raise ConfigurationError(f"The runtime {options.runtime} is not installed. {_WAY_OUT}")
    return options.runtime
