"""llama.cpp's functions through llama-cpp-python, for one model and one context.

Imports llama-cpp-python: import it on first use. The package's names are untyped.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from housequest.agent.models.base import Message, Request
from housequest.agent.models.llama import LESS_MEMORY, LlamaOptions, empty_prompt, load_template
from housequest.worlds.workers import Refused

CANDIDATES = 64
KEPT = 4
"""Cached conversations for each decoded one: an agent's roles have one each and take turns."""
lib: Any = import_module("llama_cpp")
_WARNING = 3


def _log(level: int, text: bytes, _: object) -> None:
    # Warnings only, since the last lines must explain why a process died.
    if level >= _WARNING:
        os.write(2, text)


_LOG: Any = lib.llama_log_callback(_log)
Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sampler:
    """Samples a reply's tokens.

    A token is drawn freely first. Only if the ``rules`` of a grammar forbid it, another is drawn from the allowed ones, since
    checking the whole vocabulary takes longer than a small model does. The distribution is the same.
    """

    free: Any
    held: Any
    rules: Any

    def sample(self, context: Any, place: int) -> int:
        """Sample the token after the one at ``place`` of the last batch."""
        token = int(lib.llama_sampler_sample(self.free, context, place))
        if self.rules is None:
            return token
        one = (lib.llama_token_data * 1)(lib.llama_token_data(token, 1.0, 0.0))
        lib.llama_sampler_apply(self.rules, ctypes.byref(lib.llama_token_data_array(one, 1, -1, False)))
        if one[0].logit == -math.inf:
            return int(lib.llama_sampler_sample(self.held, context, place))
        lib.llama_sampler_accept(self.held, token)
        return token

    def close(self) -> None:
        """Free the memory; a chain owns its grammar."""
        lib.llama_sampler_free(self.free)
        if self.rules is not None:
            lib.llama_sampler_free(self.held)


class Library:
    """A model with its vocabulary and one context: ``sequences`` for conversations, and more for scoring."""

    def __init__(self, path: str, context: int, options: LlamaOptions) -> None:
        lib.llama_log_set(_LOG, None)
        lib.llama_backend_init()
        most = int(lib.llama_max_parallel_sequences()) - CANDIDATES
        if options.slots > most:
            what = f"has {options.slots} slots, and llama-cpp-python decodes {most} conversations at once"
            raise Refused(what, f"Give it fewer, ?slots={most}, or name ?runtime=xllamacpp.")
        parameters = lib.llama_model_default_params()
        parameters.n_gpu_layers = options.gpu_layers
        self.model = lib.llama_model_load_from_file(os.fsencode(path), parameters)
        if not self.model:
            raise Refused("cannot be loaded by llama-cpp-python", LESS_MEMORY)
        self.vocabulary = lib.llama_model_get_vocab(self.model)
        self.size = int(lib.llama_vocab_n_tokens(self.vocabulary))
        self.sequences = min(KEPT * options.slots, most) if options.cache else options.slots
        offloads = options.gpu_layers != 0 and bool(lib.llama_supports_gpu_offload())
        self.description = f"llama-cpp-python {lib.__version__}, {'GPU' if offloads else 'CPU'}, {options.said_threads}"
        # There is room for an output of each sequence.
        self.batch = max(options.batch, self.sequences + CANDIDATES)
        self.context_size = context
        self.context = lib.llama_init_from_model(self.model, self._parameters(options))
        if not self.context:
            raise Refused("has no room for its context", LESS_MEMORY)
        self.memory = lib.llama_get_memory(self.context)
        self.rewinds = not (lib.llama_model_is_recurrent(self.model) or lib.llama_model_is_hybrid(self.model))
        if options.lora is not None:
            adapter = lib.llama_adapter_lora_init(self.model, os.fsencode(options.lora))
            if not adapter or lib.llama_set_adapter_lora(self.context, adapter, 1.0) != 0:
                way_out = "Name one that was made for this model: ?lora=FILE."
                raise Refused(f"does not take the adapter {options.lora!r}", way_out)
        if options.template is not None:
            template = load_template(options.template)
        else:
            buffer = ctypes.create_string_buffer(1 << 20)
            number = int(lib.llama_model_meta_val_str(self.model, b"tokenizer.chat_template", buffer, len(buffer)))
            template = buffer.raw[: max(number, 0)].decode("utf-8", "replace")
        formats: Any = import_module("llama_cpp.llama_chat_format")
        self._format: Any = formats.Jinja2ChatFormatter(template, self._special("eos"), self._special("bos"))

    def prompt(self, messages: Sequence[Message], *, raw: bool = False) -> tuple[int, ...]:
        """The tokens of a conversation up to the beginning of the reply. ``raw``: without a template, and special marks are
        read as text. Raises ``Refused``."""
        from jinja2 import TemplateError

        try:
            written = None if raw else self._format(messages=[asdict(message) for message in messages]).prompt
        except (TemplateError, ValueError, TypeError) as error:
            what = f"its chat template does not take this conversation ({error})"
            raise Refused(what, "Name another: ?template=FILE.") from None
        said = Request(messages).text if written is None else str(written)
        tokens = self.tokens(said, special=not raw)
        begin = int(lib.llama_vocab_bos(self.vocabulary))
        if lib.llama_vocab_get_add_bos(self.vocabulary) and tokens[:1] != (begin,):
            return (begin, *tokens)
        if not tokens:
            raise empty_prompt()
        return tokens

    def tokens(self, text: str, *, special: bool) -> tuple[int, ...]:
        """The tokens of ``text``; ``special``: marks such as the end of a turn become special tokens."""
        content = text.encode("utf-8", "replace")
        room = len(content) + 8
        buffer = (lib.llama_token * room)()
        number = int(lib.llama_tokenize(self.vocabulary, content, len(content), buffer, room, False, special))
        return tuple(buffer[: max(number, 0)])

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The bytes of ``token``; none for a special token, unless ``special`` is set."""
        buffer = ctypes.create_string_buffer(256)
        number = int(lib.llama_token_to_piece(self.vocabulary, token, buffer, 256, 0, special))
        return buffer.raw[: max(number, 0)]

    def text(self, token: int, *, special: bool = False) -> str:
        """The text of ``token``, with replacement characters for incomplete ones."""
        return self.piece(token, special=special).decode("utf-8", "replace")

    def logits(self, place: int) -> Logits:
        """The logits after the token at ``place`` of the last batch; valid until the next batch."""
        return np.ctypeslib.as_array(lib.llama_get_logits_ith(self.context, place), (self.size,))

    def sampler(self, call: Request, grammar: str | None) -> Sampler:
        """Make the sampler of a reply to ``call``. Raises ``Refused``."""
        rules = None
        if grammar is not None:
            rules = lib.llama_sampler_init_grammar(self.vocabulary, grammar.encode(), b"root")
            if not rules:
                raise Refused("cannot follow the grammar of its reply", "Leave replies free: --set form=free.")
        free = self._chain(call, None)
        return Sampler(free, free if rules is None else self._chain(call, rules), rules)

    def _chain(self, call: Request, rules: Any) -> Any:
        """Bias, grammar, then sampling by temperature, or the most likely token."""
        chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        if call.bias:
            pairs: list[tuple[int, float]] = []
            for wanted, by in call.bias.items():
                tokens = self.tokens(wanted, special=False) if isinstance(wanted, str) else (wanted,)
                pairs += [(token, by) for token in tokens]
            biases = (lib.llama_logit_bias * len(pairs))(*(lib.llama_logit_bias(*pair) for pair in pairs))
            lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_logit_bias(self.size, len(pairs), biases))
        if rules is not None:
            lib.llama_sampler_chain_add(chain, rules)
        if call.temperature > 0:
            lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_temp(call.temperature))
            seed = -1 if call.seed is None else call.seed + (rules is not None)
            lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_dist(seed & 0xFFFFFFFF))
        else:
            lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_greedy())
        return chain

    def forget(self, sequence: int, start: int) -> bool:
        """Drop ``sequence`` from position ``start`` on; False if this model can only drop whole sequences."""
        return bool(lib.llama_memory_seq_rm(self.memory, sequence, start, -1))

    def copy(self, source: int, target: int) -> None:
        """Share the tokens of ``source`` with the empty sequence ``target``."""
        lib.llama_memory_seq_cp(self.memory, source, target, -1, -1)

    def _parameters(self, options: LlamaOptions) -> Any:
        parameters = lib.llama_context_default_params()
        parameters.n_ctx = self.context_size * options.slots + self.batch
        parameters.n_batch = self.batch
        parameters.n_ubatch = min(self.batch, 512)
        parameters.n_seq_max = self.sequences + CANDIDATES
        parameters.kv_unified = True
        parameters.no_perf = True
        parameters.type_k = parameters.type_v = {"f32": lib.GGML_TYPE_F32, "f16": lib.GGML_TYPE_F16}[options.cache_type]
        # Flash attention adds in an order that depends on the cache, which would change scores.
        flash = "off" if options.flash == "auto" and options.exact else options.flash
        parameters.flash_attn_type = {"auto": -1, "off": 0, "on": 1}[flash]
        # Without layers on a GPU, keep it unused: a build for GPUs would compute long prompts there.
        parameters.op_offload = parameters.offload_kqv = options.gpu_layers != 0
        parameters.n_threads = parameters.n_threads_batch = options.computing
        return parameters

    def _special(self, which: str) -> str:
        token = int(getattr(lib, f"llama_vocab_{which}")(self.vocabulary))
        return self.text(token, special=True) if token >= 0 else ""
