"""The values that a model and the process that runs it exchange, as JSON: see `worlds.workers`."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.models.base import TokenChoice
from agent.models.llama.options import LlamaOptions


@dataclass(frozen=True, slots=True)
class Load:
    """The first line to the process: what to run, and how. ``context``: tokens of one conversation."""

    path: str
    context: int
    options: LlamaOptions


@dataclass(frozen=True, slots=True)
class Ready:
    """The first line from the process, once the model is loaded."""

    runtime: str
    version: str
    scoring: bool
    device: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of `Model.complete` or, with ``continuations``, of `Model.score`.

    ``messages`` has pairs of role and content; ``bias`` of a token, or a text for all its tokens, and what its logit gets.
    """

    messages: Sequence[tuple[str, str]]
    stop: Sequence[str] = ()
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int | None = None
    top_logprobs: int = 0
    choices: Sequence[str] | None = None
    schema: Mapping[str, Any] | None = None
    bias: Sequence[tuple[int | str, float]] = ()
    continuations: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a call: a reply with its counts of prompt, completion and cached tokens; or ``scores``, in nats."""

    text: str = ""
    finish: str = "stop"
    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    tokens: tuple[TokenChoice, ...] = ()
    scores: tuple[float, ...] = ()


class Runtime(Protocol):
    """A loaded model. Many threads may call it at once; each waits for its own answer."""

    @property
    def ready(self) -> Ready:
        """What was loaded, by what."""
        ...

    def answer(self, call: Call, cancelled: threading.Event) -> Answer:
        """Answer one call. Raises ``Refused``. Once it is cancelled, the result does not matter."""
        ...

    def close(self) -> None:
        """Free the model."""
        ...
