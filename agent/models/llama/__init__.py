"""``llama:FILE``: models in GGUF files, run on this machine by llama.cpp in their own process.

A name may have options: ``llama:/path/model.gguf?slots=8&context=4096``. Code that both runtimes share is here too: chat
templates, grammars for choices, and errors.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

from housequest.agent.models.base import Model, Request
from housequest.agent.models.forms import Choice, grammar_of
from housequest.agent.models.registry import CallOptions, ModelProvider, file_name, split_options, with_options
from housequest.agent.processes import processors
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.options import option
from housequest.worlds.paths import given_path, read_file
from housequest.worlds.workers import Refused

LESS_MEMORY = "If memory ran out, try a smaller model, or fewer slots or a smaller context: ?slots=1&context=2048."
LARGEST = 1 << 20
ATTENDED_BATCH = 64
"""Tokens of a prompt evaluated at once while a person watches: a call can be cancelled between two batches."""

# The marks of ChatML, which many models were trained with: https://github.com/openai/openai-python/blob/v0.28.1/chatml.md
_CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

RuntimeName = Literal["auto", "llama-cpp-python", "xllamacpp"]
_MODULES: Mapping[RuntimeName, str] = {"llama-cpp-python": "llama_cpp", "xllamacpp": "xllamacpp"}
INSTALL = 'pip install "housequest[xllamacpp]"'
_WAY_OUT = f'Install one: {INSTALL}, which needs no compiler, or "housequest[llama]", which does.'


@dataclass(frozen=True, slots=True)
class LlamaOptions:
    """Options of a GGUF model. ``flash`` attention is faster, but makes scores depend on the cache."""

    context: int | None = option(
        None, "tokens of one conversation [what the model was trained for, at most 8192]", least=1, most=1 << 24
    )
    slots: int = option(4, "conversations decoded at once", least=1, most=256)
    threads: int | None = option(None, "threads of the processor [one less than there are cores for it]", least=1, most=1_024)
    gpu_layers: int = option(-1, "layers on a GPU; -1 for all that fit", least=-1, most=10_000)
    batch: int = option(512, "tokens of a prompt evaluated at once", least=1, most=1 << 16)
    cache: bool = option(True, "cache shared prompt prefixes")
    exact: bool = option(True, "score each text alone; off: in batches, faster on a GPU")
    template: str | None = option(None, "the file of a chat template in place of the model's own, or chatml")
    lora: str | None = option(None, "the file of an adapter")
    cache_type: Literal["f16", "f32"] = "f16"
    flash: Literal["auto", "on", "off"] = option("auto", "flash attention [auto: none where texts are scored exactly]")
    runtime: RuntimeName = "auto"

    @property
    def computing(self) -> int:
        """The number of threads: by default one less than the available processors. A model's threads wait for each other at
        every layer, so if one of them shares its core, all are slow."""
        return self.threads or max(1, processors() - 1)

    @property
    def said_threads(self) -> str:
        """The number of threads, in words."""
        return f"{self.computing} thread{'' if self.computing == 1 else 's'}"


def installed() -> tuple[RuntimeName, ...]:
    """The installed runtimes, the preferred one first, without importing them."""
    return tuple(name for name, module in _MODULES.items() if importlib.util.find_spec(module) is not None)


def chosen_runtime(options: LlamaOptions) -> RuntimeName:
    """The runtime to use. Raises ``ConfigurationError`` if it is not installed."""
    there, wanted = installed(), options.runtime
    if wanted != "auto" and wanted not in there:
        raise ConfigurationError(f"The runtime {wanted} is not installed. {_WAY_OUT}")
    if not there:
        raise ConfigurationError(f"A llama: model needs a runtime, and this Python has none. {_WAY_OUT}")
    return there[0] if wanted == "auto" else wanted


class LlamaProvider(ModelProvider):
    """A GGUF ``file`` with its ``options``."""

    forms = ("llama:FILE.gguf",)

    def __init__(self, rest: str) -> None:
        self.file, self.options = split_options(rest, LlamaOptions, "A llama: model")
        super().__init__(with_options(file_name(self.file), self.options))

    def make(self, *, name: str, options: CallOptions) -> Model:
        from housequest.agent.models.llama.model import LlamaModel

        how = replace(self.options, runtime=chosen_runtime(self.options))
        if options.watch:
            # A watched game makes one call at a time, and each slot needs memory for a whole context.
            how = replace(how, slots=1, batch=min(how.batch, ATTENDED_BATCH))
        return LlamaModel(given_path(self.file), how, name=name, timeout=options.timeout, watch=options.watch)

    def portable(self) -> str:
        # The runtime is recorded, since replies may differ between them.
        options = self.options
        template, lora = (each and Path(each).name for each in (options.template, options.lora))
        settled = replace(options, runtime=chosen_runtime(options), template=template, lora=lora)
        return with_options(Path(self.file).name, settled)

    def digest(self) -> str:
        """A digest of the model and its adapter; also checks the template, so that no run begins without its files."""
        from housequest.agent.models.gguf import check_adapter, fingerprint, read_header

        path, options = given_path(self.file), self.options
        header = read_header(path)
        if options.template not in (None, "chatml"):
            try:
                load_template(str(given_path(options.template)))
            except Refused as refused:
                raise ConfigurationError(f"llama:{self.file} {refused}. {refused.way_out}") from None
        digest = fingerprint(path)
        # Two adapters of one name make two models.
        if options.lora is None:
            return digest
        check_adapter(given_path(options.lora), header)
        return sha256(f"{digest} {fingerprint(given_path(options.lora))}".encode()).hexdigest()

    def learned_from(self) -> tuple[str, ...]:
        # `housequest train` writes a recipe beside its adapter.
        try:
            recipe = json.loads(read_file(given_path(self.options.lora or "").with_name("recipe.json"), LARGEST))
            lessons, runs = recipe["lessons"], map(str, recipe.get("conversations", {}).get("from", ()))
            houses = (f"generated:0..{int(lessons['houses']) - 1}",) if lessons["houses"] else ()
            return tuple(dict.fromkeys((*houses, *(("train",) if lessons["games"] else ()), *runs)))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return ()  # no adapter, or not made by us

    def computes(self) -> str | None:
        options = self.options
        told = f"The model computes with {options.said_threads}, one less than it may use; ?threads=N changes that."
        return told if options.threads is None else None

    @classmethod
    def about(cls) -> str:
        names = installed()
        return f"a model on this machine (by {names[0]})" if names else f"a model on this machine ({INSTALL})"


def load_template(named: str) -> str:
    """Load a chat template (Jinja): ``chatml`` or a file. Raises ``Refused``."""
    if named == "chatml":
        return _CHATML
    try:
        return read_file(Path(named), LARGEST).decode("utf-8")
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        way_out = "Name a file with ?template=FILE, or ?template=chatml."
        raise Refused(f"has no chat template {named!r} ({reason})", way_out, fatal=True) from None


def empty_prompt() -> Refused:
    """The error for a template that writes nothing."""
    return Refused("has a chat template that writes nothing for this conversation", "Name another: ?template=FILE.")


def too_long(tokens: object, room: object) -> Refused:
    """The error for a prompt of ``tokens`` in a context of ``room`` tokens."""
    # Enough for a reply and some more turns.
    enough = f"{-(-(tokens + 1_024) // 1_024) * 1_024}" if isinstance(tokens, int) else "TOKENS"
    return Refused(
        f"has a context of {room} tokens, and the prompt has {tokens}",
        f"Give it more with ?context={enough} after the file, or let the agent see less.",
        overflow=True,
    )


def grammar_for(request: Request) -> str | None:
    """The grammar (GBNF) of a request or of its choices; None if it has neither."""
    return request.grammar if request.choices is None else grammar_of(Choice(tuple(request.choices)))
