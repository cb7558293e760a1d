"""What a model says to the process that runs it, and what comes back; the lines are those of `worlds.workers`."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.models.base import TokenChoice
from agent.models.llama.options import LlamaOptions


@dataclass(frozen=True, slots=True)
class Load:
    """The first line to the process: what to run, and how. ``context`` is that of one conversation, in tokens."""

    path: str
    context: int
    options: LlamaOptions


@dataclass(frozen=True, slots=True)
class Ready:
    """The process's first line, where the model is loaded."""

    runtime: str
    version: str
    scoring: bool
    device: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call, as `Model.complete` or, with ``continuations``, `Model.score` has it.

    ``bias`` has pairs of a token, or a text for all of its tokens, and what is added to their logits.
    """

    messages: tuple[tuple[str, str], ...]
    stop: Sequence[str] = ()
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int | None = None
    top_logprobs: int = 0
    choices: Sequence[str] | None = None
    schema: Mapping[str, Any] | None = None
    bias: tuple[tuple[int | str, float], ...] = ()
    continuations: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call: a reply with the tokens read, written and found in the cache; or ``scores``, in nats."""

    text: str = ""
    finish: str = "stop"
    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    tokens: tuple[TokenChoice, ...] = ()
    scores: tuple[float, ...] = ()


class Runtime(Protocol):
    """What decodes: safe for many threads at once, each of which waits for its own answer."""

    @property
    def ready(self) -> Ready:
        """What was loaded, by what."""
        ...

    def answer(self, call: Call, cancelled: threading.Event) -> Answer:
        """Do what was asked. Raises ``Refused``. Once it is cancelled, what comes back does not matter."""
        ...

    def close(self) -> None:
        """Give back what was taken."""
        ...


def read_load(values: Mapping[str, Any]) -> Load:
    """The first line, read in the process."""
    return Load(values["path"], values["context"], LlamaOptions(**values["options"]))


def read_call(values: Mapping[str, Any]) -> Call:
    """A request, read in the process."""
    read: dict[str, Any] = {**values, "messages": _pairs(values["messages"]), "bias": _pairs(values["bias"])}
    return Call(**read)


def read_answer(values: Mapping[str, Any]) -> Answer:
    """An answer, read where it was asked for."""
    tokens = tuple(TokenChoice(each["token"], each["logprob"], _pairs(each["alternatives"])) for each in values["tokens"])
    read: dict[str, Any] = {**values, "tokens": tokens, "scores": tuple(values["scores"])}
    return Answer(**read)


def _pairs(values: Sequence[Sequence[Any]]) -> tuple[tuple[Any, Any], ...]:
    return tuple((first, second) for first, second in values)
