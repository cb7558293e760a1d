"""What goes between a model and the process that runs it: a JSON object a line, either way.

The process first says that it is ready, or why it cannot be. Then each request has a number and is answered under it, in any
order; ``{"cancel": NUMBER}`` ends one, which is not answered any more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, Protocol, cast

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
class Asked:
    """One call, as `Model.complete` or, with ``continuations``, `Model.score` has it.

    ``bias`` has pairs of a token, or a text for all of its tokens, and what is added to their logits.
    """

    messages: tuple[tuple[str, str], ...]
    stop: tuple[str, ...] = ()
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int | None = None
    top_logprobs: int = 0
    choices: tuple[str, ...] | None = None
    schema: Mapping[str, Any] | None = None
    bias: tuple[tuple[int | str, float], ...] = ()
    continuations: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A generated token with its log-probability and the likeliest others, as the runtime has them."""

    text: str
    logprob: float
    others: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a call: a reply with the tokens read, written and found in the cache; or ``scores``, in nats."""

    text: str = ""
    finish: str = "stop"
    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    tokens: tuple[Token, ...] = ()
    scores: tuple[float, ...] = field(default=())


class Refused(Exception):
    """The runtime cannot do what was asked; ``way_out`` says what would help. ``fatal``: nor anything else."""

    def __init__(self, what: str, way_out: str, *, fatal: bool = False) -> None:
        super().__init__(what)
        self.way_out = way_out
        self.fatal = fatal


class Runtime(Protocol):
    """What decodes: safe for many threads at once, each of which waits for its own answer."""

    @property
    def ready(self) -> Ready:
        """What was loaded, by what."""
        ...

    def answer(self, asked: Asked, cancelled: Cancelled) -> Answered:
        """Do what was asked. Raises ``Refused``. Once it is cancelled, what comes back does not matter."""
        ...

    def close(self) -> None:
        """Give back what was taken."""
        ...


class Cancelled(Protocol):
    """Whether nobody waits for an answer any more."""

    def is_set(self) -> bool: ...


def line(value: object) -> str:
    """A line of the protocol: what a dataclass or a mapping says."""
    content: Any = asdict(cast("Any", value)) if is_dataclass(value) else value
    return json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n"


def read_load(values: Mapping[str, Any]) -> Load:
    """The first line, read in the process."""
    return Load(values["path"], values["context"], LlamaOptions(**values["options"]))


def read_asked(values: Mapping[str, Any]) -> Asked:
    """A request, read in the process."""
    return Asked(
        messages=_pairs(values["messages"]),
        stop=tuple(values["stop"]),
        max_tokens=values["max_tokens"],
        temperature=values["temperature"],
        seed=values["seed"],
        top_logprobs=values["top_logprobs"],
        choices=None if values["choices"] is None else tuple(values["choices"]),
        schema=values["schema"],
        bias=_pairs(values["bias"]),
        continuations=None if values["continuations"] is None else tuple(values["continuations"]),
    )


def read_answered(values: Mapping[str, Any]) -> Answered:
    """An answer, read where it was asked for."""
    tokens = tuple(Token(each["text"], each["logprob"], _pairs(each["others"])) for each in values["tokens"])
    return Answered(
        values["text"],
        values["finish"],
        values["prompt"],
        values["completion"],
        values["cached"],
        tokens,
        tuple(values["scores"]),
    )


def _pairs(values: Sequence[Sequence[Any]]) -> tuple[tuple[Any, Any], ...]:
    return tuple((first, second) for first, second in values)
