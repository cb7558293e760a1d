"""``llama:FILE``: a language model from a GGUF file, run on this machine by llama.cpp in its own process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from pydantic import TypeAdapter

from agent.models.base import Capabilities, Completion, Message, Model, Request, Scores, Timing, Usage
from agent.models.llama.gguf import Header, read_header
from agent.models.llama.options import CONTEXT, LlamaOptions, chosen_runtime
from agent.models.llama.protocol import Answer, Call, Load, Ready
from agent.models.openai.wire import encodable, printable
from worlds.errors import ConfigurationError, ModelError, Unsupported
from worlds.workers import Refused, Worker, WorkerError

WORKER = "agent.models.llama.worker"
_ANSWER = TypeAdapter(Answer)
STARTS = 3
"""How often the process is started before the model is given up."""


def capabilities_of(options: LlamaOptions) -> Capabilities:
    """What a model can do in the runtime that ``options`` name.

    Equal prompts have equal replies only with ``slots=1&cache=off&gpu_layers=0``: batches and caches change the order in which
    floats are added.
    """
    return Capabilities(
        log_probabilities=True,
        scoring=options.runtime == "llama-cpp-python",
        choices=True,
        schema=True,
        bias=True,
        deterministic=options.slots == 1 and not options.cache and options.gpu_layers == 0,
    )


class LlamaModel(Model):
    """A model in a GGUF file. Nothing is read or started before the first call.

    ``timeout`` limits each call in seconds, from when a slot is free for it, and does not count loading. Raises
    ``ConfigurationError`` where no runtime is installed.
    """

    def __init__(self, path: Path, options: LlamaOptions, *, name: str, timeout: float = 60.0) -> None:
        self._path = path
        self._runtime = chosen_runtime(options)
        self._options = replace(options, runtime=self._runtime)
        self.name = name
        self._timeout = timeout
        self._process: Worker | None = None
        self._starts = STARTS
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = asyncio.Lock()
        self._slots = asyncio.Semaphore(options.slots)

    async def capabilities(self) -> Capabilities:
        return capabilities_of(self._options)

    @property
    def pid(self) -> int | None:
        """The process that runs it, where there is one."""
        return None if self._process is None else self._process.pid

    async def header(self) -> Header:
        """What the file says of itself. Raises ``ConfigurationError``, also where there is no chat template for it."""
        header = await asyncio.to_thread(read_header, self._path)
        if header.template is None and self._options.template is None:
            raise ConfigurationError(
                f"{self.name} comes without a chat template, so its prompts cannot be written. Name one after the file: "
                "?template=FILE, or ?template=chatml if it was trained with that."
            )
        return header

    async def ready(self) -> Ready:
        """Load the model if it is not loaded; by what, and on what. Raises ``ModelError`` or ``ConfigurationError``."""
        process = await self._running()
        try:
            return Ready(**await asyncio.wrap_future(process.ready()))
        except (Refused, WorkerError) as error:
            raise self._error(error) from None

    async def runtime(self) -> str:
        ready = await self.ready()
        return f"{ready.runtime} {ready.version}, {ready.device}"

    async def complete(self, request: Request) -> Completion:
        request.check(self.name, await self.capabilities())
        asked = Call(
            _conversation(request.messages),
            tuple(encodable(word) for word in request.stop if word),
            request.max_tokens,
            request.temperature,
            request.seed,
            request.top_logprobs,
            None if request.choices is None else tuple(map(encodable, request.choices)),
            request.schema,
            tuple((encodable(each) if isinstance(each, str) else each, by) for each, by in (request.bias or {}).items()),
        )
        started = time.perf_counter()
        answered = await self._ask(asked)
        return Completion(
            encodable(answered.text),
            answered.finish,
            Usage(answered.prompt, answered.completion),
            Timing(time.perf_counter() - started, cached=answered.cached),
            answered.tokens,
        )

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        if not (await self.capabilities()).scoring:
            raise Unsupported(
                f"{self.name} does not score given texts in {self._runtime}; install llama-cpp-python, or use an agent that "
                "only needs replies."
            )
        started = time.perf_counter()
        answered = await self._ask(Call(_conversation(messages), continuations=tuple(map(encodable, continuations))))
        read = None if answered.prompt is None else answered.prompt + (answered.completion or 0)
        timing = Timing(time.perf_counter() - started, cached=answered.cached)
        return Scores(answered.scores, usage=Usage(read, 0), timing=timing)

    async def aclose(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await asyncio.to_thread(process.stop)

    async def _ask(self, asked: Call) -> Answer:
        self._bind_loop()
        async with self._slots:
            process = await self._running()
            try:
                await asyncio.wrap_future(process.ready())
                async with asyncio.timeout(self._timeout):
                    return _ANSWER.validate_python(await asyncio.wrap_future(process.ask(asdict(asked))))
            except TimeoutError:
                raise self._failure(
                    f"did not answer within {self._timeout:g} seconds",
                    "Give it longer with --timeout SECONDS, or use a smaller model or fewer slots.",
                ) from None
            except (Refused, WorkerError) as error:
                raise self._error(error) from None

    def _bind_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Locks belong to the loop that they were first waited in; the process belongs to none.
            self._loop, self._starting, self._slots = loop, asyncio.Lock(), asyncio.Semaphore(self._options.slots)

    async def _running(self) -> Worker:
        self._bind_loop()
        async with self._starting:
            if self._process is None or not self._process.alive:
                if self._starts == 0:
                    raise self._failure(
                        f"has died {STARTS} times", "Try a smaller model or context, or another runtime.", fatal=True
                    )
                header = await self.header()
                self._starts -= 1
                context = self._options.context or min(header.context or CONTEXT, CONTEXT)
                wanted = Load(str(self._path), context, self._options)
                self._process = await asyncio.to_thread(Worker, WORKER, asdict(wanted))
            return self._process

    def _error(self, error: Refused | WorkerError) -> ModelError:
        if isinstance(error, Refused):
            return self._failure(str(error), error.way_out, fatal=error.fatal)
        return self._failure(
            f"is gone: its process {error}", "It is started again with the next call; a smaller context takes less memory."
        )

    def _failure(self, what: str, way_out: str, *, fatal: bool = False) -> ModelError:
        told = printable(what, 400)
        return ModelError(f"{self.name} {told}. {way_out}", recorded=f"The model {told}. {way_out}", fatal=fatal)


def _conversation(messages: Sequence[Message]) -> tuple[tuple[str, str], ...]:
    return tuple((message.role, encodable(message.content)) for message in messages)
