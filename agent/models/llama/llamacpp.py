"""GGUF models through llama-cpp-python, which is compiled on installation and gives access to llama.cpp's own calls.

One thread decodes for all conversations, whose next tokens share a batch (continuous batching). Shared prompt prefixes are
cached. Texts are scored exactly, in one batch over copies of their prompt's sequence.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agent.models.llama.protocol import Answer, Call, Load, Ready
from agent.models.llama.shared import choice_grammar
from worlds.workers import Refused

if TYPE_CHECKING:
    from agent.models.llama.decoding import Decoder


class LlamaCpp:
    """A loaded model. Raises ``Refused`` where it cannot be loaded."""

    def __init__(self, wanted: Load) -> None:
        try:
            from agent.models.llama.decoding import Decoder
            from agent.models.llama.library import Library
        except (ImportError, OSError) as error:
            raise Refused(f"llama-cpp-python cannot be imported ({error})", "Install it, or name ?runtime=xllamacpp.") from None
        self._library = Library(wanted)
        self._decoder: Decoder = Decoder(self._library, wanted)
        self._waiting: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._decode, daemon=True)
        self._thread.start()

    @property
    def ready(self) -> Ready:
        return Ready("llama-cpp-python", self._library.version, scoring=True, device=self._library.device)

    def answer(self, call: Call, cancelled: threading.Event) -> Answer:
        prompt = self._library.prompt(call.messages)
        answer: Future[Answer] = Future()
        if call.continuations is not None:
            continuations = tuple(self._library.tokens(text, special=False) for text in call.continuations)
            self._waiting.put(lambda: self._decoder.score(prompt, continuations, cancelled, answer))
        else:
            sampler = self._library.sampler(call, self._grammar(call))
            self._waiting.put(lambda: self._decoder.begin(prompt, call, sampler, cancelled, answer))
        return answer.result()

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join()

    def _grammar(self, call: Call) -> str | None:
        if call.choices is not None:
            return choice_grammar(call.choices)
        if call.schema is None:
            return None
        grammars: Any = import_module("llama_cpp.llama_grammar")
        try:
            return str(grammars.json_schema_to_gbnf(json.dumps(dict(call.schema))))
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError) as error:
            raise Refused(f"cannot follow the schema ({error})", "Use a plain JSON schema.") from None

    def _decode(self) -> None:
        """Start what waits, and go on a batch at a time. Only this thread calls the decoder."""
        while True:
            idle = not self._decoder.busy
            try:
                job = self._waiting.get(block=idle)
            except queue.Empty:
                self._decoder.step()
                continue
            if job is None:
                return
            job()
