"""``llama:FILE``: a language model from a GGUF file, run on this machine by llama.cpp in its own process."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from housequest.agent.models.base import (
    Capabilities,
    Completion,
    Message,
    Model,
    ProbedPart,
    ReplyProgress,
    Request,
    Scores,
    Watch,
    encodable,
    printable_line,
    unwatched,
)
from housequest.agent.models.gguf import Header, check_adapter, read_header
from housequest.worlds.errors import ConfigurationError, ModelError, Unsupported
from housequest.worlds.paths import given_path
from housequest.worlds.workers import Refused, WorkerError, WorkerProcess

if TYPE_CHECKING:
    from housequest.agent.models.llama import LlamaOptions

CONTEXT = 8_192
"""The default context of a slot in tokens, enough for an episode of 50 turns with rules."""
CHATML_MARKS = ("<|im_end|>", "<|im_start|>")
"""Ends of a ChatML turn, used as stop texts: a model without special tokens for them writes them as text."""
WORKER = "housequest.agent.models.llama.worker"
_COMPLETION, _SCORES = TypeAdapter(Completion), TypeAdapter(Scores)
STARTS = 3


class LlamaModel(Model):
    """A model in a GGUF file. Nothing is read or started before the first call.

    ``options`` name an installed runtime. ``timeout`` limits each call in seconds, without loading and waiting for a slot.
    ``watch`` gets the reply while it comes.
    """

    def __init__(
        self, path: Path, options: LlamaOptions, *, name: str, timeout: float = 60.0, watch: Watch | None = None
    ) -> None:
        self._path, self._options, self.name = path, options, name
        self._timeout, self._watch = timeout, watch
        self._process: WorkerProcess | None = None
        self._starts = STARTS
        self._header: Header | None = None
        self._starting = threading.RLock()
        self._slots = asyncio.Semaphore(options.slots)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def capabilities(self) -> Capabilities:
        # Batches and caches change the order in which floats are added, and so the replies.
        options = self._options
        scores = options.runtime == "llama-cpp-python"
        alike = options.slots == 1 and not options.cache and options.gpu_layers == 0
        everything = dict.fromkeys(("completions", "log_probabilities", "choices", "schema", "grammar", "bias"), True)
        return Capabilities(**everything, scoring=scores, deterministic=alike)

    async def probe(self, part: ProbedPart) -> Capabilities:
        """Read the chat template from the file for "forms". Raises ``ConfigurationError`` for another file."""
        if part == "completions":
            return await self.capabilities()
        header = self._header or await asyncio.to_thread(self._read_header)
        chats = header.template is not None or self._options.template is not None
        return replace(await self.capabilities(), chats=chats)

    def _read_header(self) -> Header:
        with self._starting:
            self._header = self._header or read_header(self._path)
            return self._header

    @property
    def pid(self) -> int | None:
        """The id of its process; None if it is not running."""
        return None if self._process is None else self._process.pid

    async def runtime(self) -> str:
        """Load the model if needed; return the runtime and its device. Raises ``ModelError`` or ``ConfigurationError``."""
        process = self._alive or await asyncio.to_thread(self._running)
        try:
            return str(await asyncio.wrap_future(process.ready()))
        except (Refused, WorkerError) as error:
            raise self._error(error) from None

    async def complete(self, request: Request) -> Completion:
        request.check(self.name, await self.capabilities())
        started = time.perf_counter()
        # JSON has no numbers as keys, so the bias is sent as pairs.
        marks = CHATML_MARKS if self._options.template == "chatml" and not request.raw else ()
        plain = {"stop": [word for word in (*request.stop, *marks) if word], "bias": list((request.bias or {}).items())}
        asked = asdict(request) | plain | {"attended": self._watch is not None}
        completion = _COMPLETION.validate_python(await self._ask(request.messages, asked))
        timing = replace(completion.timing, seconds=time.perf_counter() - started)
        return replace(completion, text=encodable(completion.text), timing=timing)

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        if not (await self.capabilities()).scoring:
            raise Unsupported(
                f"{self.name} does not score given texts in {self._options.runtime}; install llama-cpp-python, or use an agent "
                "that only needs replies."
            )
        started = time.perf_counter()
        scores = _SCORES.validate_python(await self._ask(messages, {"texts": list(continuations)}))
        return replace(scores, timing=replace(scores.timing, seconds=time.perf_counter() - started))

    async def context_left(self, messages: Sequence[Message], *, raw: bool = False) -> int | None:
        if not raw and (await self.probe("forms")).chats:
            return await self._ask(messages, {"room": True})
        return await self._ask((Message("user", Request(messages).text),), {"room": True, "raw": True})

    async def aclose(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await asyncio.to_thread(process.stop)

    async def _ask(self, messages: Sequence[Message], asked: Mapping[str, object]) -> Any:
        whole = json.dumps({**asked, "messages": [asdict(message) for message in messages]}, ensure_ascii=False)
        watch = self._watch or unwatched
        if self._loop is not (loop := asyncio.get_running_loop()):
            # A semaphore belongs to the loop that first waited for it; the process does not.
            self._loop, self._slots = loop, asyncio.Semaphore(self._options.slots)
        async with self._slots:
            process = self._alive or await asyncio.to_thread(self._running)
            if not (asked.get("raw") or (await self.probe("forms")).chats):
                raise ConfigurationError(
                    f"{self.name} has no chat template, so its prompts cannot be written. Name one after the "
                    "file: ?template=FILE, or ?template=chatml if it was trained with that; or have it continue plain text, "
                    "in play, eval and explore: --set form=completion."
                )
            try:
                await asyncio.wrap_future(process.ready())
                async with asyncio.timeout(self._timeout):
                    asking = process.ask(json.loads(encodable(whole)), lambda heard: watch(ReplyProgress(heard)))
                    return await asyncio.wrap_future(asking)
            except TimeoutError:
                way_out = "Give it longer with --timeout SECONDS, or use a smaller model or fewer slots."
                raise self._failure(f"did not answer within {self._timeout:g} seconds", way_out) from None
            except (Refused, WorkerError) as error:
                raise self._error(error) from None
            finally:
                watch(ReplyProgress())

    @property
    def _alive(self) -> WorkerProcess | None:
        return self._process if self._process is not None and self._process.alive else None

    def _running(self) -> WorkerProcess:
        """The process, which is started if need be: call this in a thread."""
        with self._starting:
            if (process := self._alive) is not None:
                return process
            if self._starts == 0:
                way_out = "Try a smaller model or context, or another runtime."
                raise self._failure(f"has died {STARTS} times", way_out, fatal=True)
            header = self._read_header()
            lora, template = self._options.lora and given_path(self._options.lora), self._options.template
            if lora:
                check_adapter(lora, header)
            self._starts -= 1
            context = self._options.context or min(header.context or CONTEXT, CONTEXT)
            template = template if template in (None, "chatml") else str(given_path(template))
            options = asdict(self._options) | {"lora": lora and str(lora), "template": template}
            self._process = WorkerProcess(WORKER, {"path": str(self._path), "context": context, "options": options})
            return self._process

    def _error(self, error: Refused | WorkerError) -> ModelError:
        if isinstance(error, Refused):
            return self._failure(str(error), error.way_out, fatal=error.fatal, overflow=error.overflow)
        way_out = "It is started again with the next call; a smaller context takes less memory."
        return self._failure(f"is gone: its process {error}", way_out)

    def _failure(self, what: str, way_out: str, *, fatal: bool = False, overflow: bool = False) -> ModelError:
        failure = f"{printable_line(what, 400)}. {way_out}"
        return ModelError(f"{self.name} {failure}", recorded=f"The model {failure}", fatal=fatal, overflow=overflow)
