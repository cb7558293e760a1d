"""GGUF models through llama-cpp-python, which is compiled on installation and gives access to llama.cpp's own calls.

One thread decodes for all conversations, whose next tokens share a batch (continuous batching). Shared prompt prefixes are
cached. Texts are scored exactly, in one batch over copies of their prompt's sequence.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agent.models.base import Completion, Message, Request, Scores
from agent.models.llama.provider import LlamaOptions
from agent.models.llama.shared import choice_grammar
from worlds.workers import Refused

if TYPE_CHECKING:
    from agent.models.llama.decoding import Decoder


class LlamaCpp:
    """A loaded model; many threads may call it at once. Raises ``Refused`` where it cannot be loaded."""

    def __init__(self, path: str, context: int, options: LlamaOptions) -> None:
        try:
            from agent.models.llama.decoding import Decoder
            from agent.models.llama.library import Library
        except (ImportError, OSError) as error:
            raise Refused(f"llama-cpp-python cannot be imported ({error})", "Install it, or name ?runtime=xllamacpp.") from None
        self._library = Library(path, context, options)
        self._decoder: Decoder = Decoder(self._library, cache=options.cache)
        self._waiting: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._decode, daemon=True)
        self._thread.start()
        self.description = self._library.description

    def complete(self, request: Request, cancelled: threading.Event) -> Completion:
        """A reply. Raises ``Refused``. Once it is cancelled, the result does not matter."""
        prompt = self._library.prompt(request.messages)
        sampler = self._library.sampler(request, self._grammar(request))
        answer: Future[Completion] = Future()
        self._waiting.put(lambda: self._decoder.begin(prompt, request, sampler, cancelled, answer))
        return answer.result()

    def score(self, messages: Sequence[Message], texts: Sequence[str], cancelled: threading.Event) -> Scores:
        """The log-probability of each text as the next message. Raises ``Refused``."""
        prompt = self._library.prompt(messages)
        continuations = tuple(self._library.tokens(text, special=False) for text in texts)
        answer: Future[Scores] = Future()
        self._waiting.put(lambda: self._decoder.score(prompt, continuations, cancelled, answer))
        return answer.result()

    def close(self) -> None:
        """End its thread."""
        self._waiting.put(None)
        self._thread.join()

    def _grammar(self, request: Request) -> str | None:
        if request.choices is not None:
            return choice_grammar(request.choices)
        if request.schema is None:
            return None
        grammars: Any = import_module("llama_cpp.llama_grammar")
        try:
            return str(grammars.json_schema_to_gbnf(json.dumps(request.schema)))
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError) as error:
            raise Refused(f"cannot follow the schema ({error})", "Use a plain JSON schema.") from None

    def _decode(self) -> None:
        """Start what waits, and go on a batch at a time. Only this thread calls the decoder."""
        while True:
            try:
                job = self._waiting.get(block=not self._decoder.busy)
            except queue.Empty:
                self._decoder.step()
                continue
            if job is None:
                return
            job()
