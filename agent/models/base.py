"""The contract of a language model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Bias = Mapping[int | str, float]
"""What is added to logits, in nats: by the number of a token, or by a text for each of its tokens."""

Speaker = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Speaker
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as the model counted them; None where it did not say."""

    prompt: int | None = None
    completion: int | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """What differs between two equal calls: wall seconds, attempts made, prompt tokens that a cache served."""

    seconds: float = 0.0
    attempts: int = 1
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class TokenChoice:
    """One generated token with its log-probability (nats) and the alternatives that were asked for."""

    token: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class ReadToken:
    """One token of a prompt by its number in the vocabulary, with its log-probability (nats) after those before it."""

    number: int
    logprob: float


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply. ``finish`` is ``stop``, ``length``, or the model's own word for why it ended.

    ``read`` are the tokens of the prompt but the first, which follows nothing, where they were asked for.
    """

    text: str
    finish: str = "stop"
    usage: Usage = Usage()
    timing: Timing = field(default=Timing(), compare=False)
    tokens: tuple[TokenChoice, ...] = ()
    read: tuple[ReadToken, ...] = ()


@dataclass(frozen=True, slots=True)
class Scores:
    """The log-probabilities (nats) of given texts, in their order; ``calls``, tokens and time are what they took in all."""

    logprobs: tuple[float, ...]
    calls: int = 1
    usage: Usage = Usage()
    timing: Timing = field(default=Timing(), compare=False)

    @classmethod
    def joined(cls, parts: Sequence[Scores]) -> Scores:
        """Those of several calls as one."""
        cached = [part.timing.cached for part in parts]
        return cls(
            tuple(logprob for part in parts for logprob in part.logprobs),
            sum(part.calls for part in parts),
            Usage(_total(part.usage.prompt for part in parts), _total(part.usage.completion for part in parts)),
            Timing(sum(part.timing.seconds for part in parts), sum(part.timing.attempts for part in parts), _total(cached)),
        )


def _total(counts: Iterable[int | None]) -> int | None:
    """The sum; None where a part is not known."""
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can do beyond completing a chat; an agent that needs more says so before its first call.

    ``singly``: it scores each of several texts by a call of its own, and the prompt alone by one more.
    """

    log_probabilities: bool = False
    scoring: bool = False
    singly: bool = False
    choices: bool = False
    schema: bool = False
    bias: bool = False
    images: bool = False
    deterministic: bool = False


class Model(Protocol):
    """A language model; safe for many calls at once.

    Both calls raise ``ModelError`` when the model fails and ``Unsupported`` when an argument asks for what
    ``capabilities`` denies. Cancelling the call ends it.
    """

    @property
    def name(self) -> str:
        """The model as a person named it, without any secret."""
        ...

    @property
    def brief(self) -> bool:
        """Whether it is no chat model, but reads the short prompts of ``agent.roles.brief``, and no others."""
        ...

    async def capabilities(self) -> Capabilities:
        """What this model can do; found out once."""
        ...

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        stop: Sequence[str] = (),
        max_tokens: int = 512,
        temperature: float = 0.0,
        seed: int | None = None,
        top_logprobs: int = 0,
        choices: Sequence[str] | None = None,
        schema: Mapping[str, Any] | None = None,
        bias: Bias | None = None,
    ) -> Completion:
        """Continue the conversation ``messages`` with one reply of at most ``max_tokens`` tokens."""
        ...

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        """log p of each continuation (nats) as the next assistant message, tokenised after the rendered prompt."""
        ...

    async def aclose(self) -> None:
        """Close connections; the model is not used again."""
        ...
