"""How a GGUF model is run, as its name says: ``llama:/path/model.gguf?slots=8&context=4096``. By which runtime, too."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from housequest.agent.models.provider import split_options
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.options import option

RuntimeName = Literal["auto", "llama-cpp-python", "xllamacpp"]

_MODULES: Mapping[RuntimeName, str] = {"llama-cpp-python": "llama_cpp", "xllamacpp": "xllamacpp"}
INSTALL = 'pip install "housequest[xllamacpp]"'
_WAY_OUT = f'Install one: {INSTALL}, which needs no compiler, or "housequest[llama]", which does.'


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
