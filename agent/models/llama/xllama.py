"""GGUF models through xllamacpp: llama.cpp's own server within this process, from a wheel that needs no compiler.

Slots decode together (continuous batching), and shared prompt prefixes are cached. It cannot score texts: ``echo`` is ignored,
and log-probabilities are only those of generated tokens.
"""

from __future__ import annotations

import importlib
import json
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, cast

import httpx2

from housequest.agent.models.base import Completion, Message, Request
from housequest.agent.models.keys import PLACEHOLDER
from housequest.agent.models.llama import LESS_MEMORY, LlamaOptions, empty_prompt, grammar_for, load_template, too_long
from housequest.agent.models.openai.dialect import Dialect
from housequest.agent.models.openai.protocol import STREAMED, StreamedReply, at, chat, extra_parameters, read_completion
from housequest.agent.models.openai.redaction import Redactor
from housequest.worlds.workers import Refused

CACHE_MIB = 1_024


class Xllama:
    """A loaded model. Raises ``Refused`` if it cannot be loaded."""

    def __init__(self, path: str, context: int, options: LlamaOptions) -> None:
        try:
            package: Any = importlib.import_module("xllamacpp")
        except ImportError as error:
            way_out = 'Install it: pip install "housequest[xllamacpp]".'
            raise Refused(f"xllamacpp cannot be imported ({error})", way_out) from None
        parameters: Any = package.CommonParams()
        parameters.model.path = path
        parameters.n_ctx = context * options.slots
        parameters.n_parallel = options.slots
        parameters.n_batch = max(options.batch, 32)
        parameters.n_ubatch = min(parameters.n_batch, 512)
        parameters.n_gpu_layers = options.gpu_layers
        parameters.warmup = False
        parameters.verbosity = -1
        parameters.cache_prompt = options.cache
        parameters.cache_ram_mib = CACHE_MIB if options.cache else 0
        # It always opens a port on this machine; a random key keeps others out.
        parameters.hostnames = ["127.0.0.1"]
        key = secrets.token_urlsafe(32)
        parameters.api_keys = [key]
        parameters.cache_type_k = getattr(package.ggml_type, f"GGML_TYPE_{options.cache_type.upper()}")
        parameters.cache_type_v = parameters.cache_type_k
        flash = {"auto": "AUTO", "off": "DISABLED", "on": "ENABLED"}[options.flash]
        parameters.flash_attn_type = getattr(package.llama_flash_attn_type, f"LLAMA_FLASH_ATTN_TYPE_{flash}")
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = options.computing
        if options.template is not None:
            parameters.chat_template = load_template(options.template)
        if options.lora is not None:
            parameters.lora_adapters = [package.CommonAdapterLoraInfo(options.lora, 1.0)]
        self._cache, self._context = options.cache, context
        try:
            self._server: Any = package.Server(parameters)
        except (RuntimeError, ValueError, MemoryError) as error:
            raise Refused(f"cannot load the model ({error})", LESS_MEMORY) from None
        self._port = httpx2.Client(
            base_url=self._server.listening_address,
            headers={"authorization": f"Bearer {key}"},
            timeout=None,
            limits=httpx2.Limits(max_keepalive_connections=0),  # the server drops idle ones
            trust_env=False,  # no proxy for this machine
        )
        devices: Sequence[Mapping[str, Any]] = package.get_device_info()
        names = ", ".join(dict.fromkeys(str(each["description"]) for each in devices))
        self.description = f"xllamacpp {version('xllamacpp')}, {names}, {options.said_threads}"

    def complete(self, request: Request, cancelled: threading.Event, tell: Callable[[str], None] | None = None) -> Completion:
        """Return a reply; ``tell`` gets the text so far after each token. Raises ``Refused``."""
        reply = StreamedReply(tell)

        def hear(said: Any) -> bool:
            """Add pieces of the reply; True ends it."""
            for piece in cast("list[object]", said) if isinstance(said, list) else [said]:
                reply.add(piece)
            return cancelled.is_set()

        body = {**_body(request), "cache_prompt": self._cache}
        try:
            answer = self._server.handle_completions if request.raw else self._server.handle_chat_completions
            said = answer(body, hear)
        except (RuntimeError, ValueError) as error:
            raise Refused(f"failed ({error})", "Try again; if it lasts, try another runtime.") from None
        if isinstance(said, dict):
            hear(said)
        return _read(reply.whole())

    def room(self, messages: Sequence[Message], *, raw: bool) -> int:
        """Tokens left in a context after this prompt; ``raw``: without a template. Raises ``Refused``."""
        written = messages[0].content if raw else self._post("/apply-template", {"messages": chat(messages)})["prompt"]
        counted = self._post("/tokenize", {"content": written, "add_special": True, "parse_special": not raw})
        return self._context - len(counted["tokens"])

    def _post(self, path: str, body: Mapping[str, object]) -> Any:
        """Call the server over its port, since the package has no function for it."""
        try:
            return self._port.post(path, json=body).raise_for_status().json()
        except (httpx2.HTTPError, ValueError) as error:
            raise Refused(
                f"did not count the tokens of a prompt ({error})", "Name another chat template: ?template=FILE."
            ) from None


def _body(call: Request) -> dict[str, object]:
    """The request for llama.cpp's server; streamed, so that it can be cancelled between two tokens."""
    wanted = {
        **extra_parameters(replace(call, choices=None, grammar=None, schema=None)),
        "grammar": grammar_for(call),
        "json_schema": call.schema,
        **STREAMED,
        "return_progress": True,
        # Thinking stays in the reply; roles know its marks.
        "reasoning_format": "none",
    }
    return Dialect().body("", call, wanted)


def _read(whole: bytes | None) -> Completion:
    if whole is None:
        return Completion("", "cancelled")
    told: Any = json.loads(whole)
    error = told.get("error")
    if error is not None:
        if error.get("type") == "exceed_context_size_error":
            raise too_long(error.get("n_prompt_tokens"), error.get("n_ctx"))
        said = error.get("message", "no reason")
        raise Refused(f"refused the call ({said})", "Check the model's file and settings.")
    if at(told, "usage", "prompt_tokens") == 0:
        raise empty_prompt()
    return read_completion(whole, "", Redactor(PLACEHOLDER))
