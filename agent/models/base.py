"""The contract of a language model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from worlds.errors import Unsupported

Bias = Mapping[int | str, float]
"""What is added to logits, in nats: by the number of a token, or by a text for each of its tokens."""

Speaker = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a message, as a PNG.

    ``digest`` is a SHA-256 over its size and pixels, since equal pictures may be other bytes with another zlib: images are
    equal if their digests are. ``about`` says what pictures of this kind show; a conversation reads it with the first of them.
    """

    png: bytes = field(repr=False, compare=False)
    digest: str
    about: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation: a text, and a picture after it where there is one."""

    role: Speaker
    content: str
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as the model counted them; None where it did not say, or said what cannot be (`believed`)."""

    prompt: int | None = None
    completion: int | None = None


MOST_TOKENS = 1 << 32
"""Tokens that one call, or one scoring of many texts, is believed to have used: thousands of times what any model reads."""


def believed(count: int | None) -> int | None:
    """A count of tokens that a model stated; None where it is negative or more than `MOST_TOKENS`, and so a fault or a lie."""
    return count if count is not None and 0 <= count <= MOST_TOKENS else None


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
class PromptToken:
    """One token of a prompt by its number in the vocabulary, with its log-probability (nats) after those before it."""

    number: int
    logprob: float


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply. ``finish`` is ``stop``, ``length``, or the model's own word for why it ended.

    ``read`` are the tokens of the prompt but the first, which follows nothing, where they were asked for. ``unheld``: the model
    refused the grammar or schema that it was to be held to, and replied as it liked.
    """

    text: str
    finish: str = "stop"
    usage: Usage = Usage()
    timing: Timing = field(default=Timing(), compare=False)
    tokens: tuple[TokenChoice, ...] = ()
    read: tuple[PromptToken, ...] = ()
    unheld: bool = False


@dataclass(frozen=True, slots=True)
class Scores:
    """The log-probabilities (nats) of given texts, in their order; ``calls``, tokens and time are what they took in all."""

    logprobs: tuple[float, ...]
    calls: int = 1
    usage: Usage = Usage()
    timing: Timing = field(default=Timing(), compare=False)

    @classmethod
    def joined(cls, parts: Sequence[Scores]) -> Scores:
        """The scores of several calls as one."""
        cached = _total(part.timing.cached for part in parts)
        return cls(
            tuple(logprob for part in parts for logprob in part.logprobs),
            sum(part.calls for part in parts),
            Usage(_total(part.usage.prompt for part in parts), _total(part.usage.completion for part in parts)),
            Timing(sum(part.timing.seconds for part in parts), sum(part.timing.attempts for part in parts), cached),
        )


def _total(counts: Iterable[int | None]) -> int | None:
    """The sum; None if a part is unknown."""
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can do beyond completing a chat; an agent that needs more says so before its first call.

    ``chats`` is False where it is known that it has no chat template. ``completions``: it continues plain text, without one.
    ``singly``: it scores each of several texts by a call of its own, and the prompt alone by one more. ``grammar`` is
    llama.cpp's form of grammars, GBNF.
    """

    chats: bool = True
    completions: bool = False
    log_probabilities: bool = False
    scoring: bool = False
    singly: bool = False
    choices: bool = False
    schema: bool = False
    grammar: bool = False
    bias: bool = False
    images: bool = False
    deterministic: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What ``Model.complete`` is asked: to continue the conversation ``messages`` with one reply.

    The reply ends before the first of the texts in ``stop``, and after ``max_tokens`` tokens at the latest. ``seed`` fixes what
    is sampled where ``temperature`` is above 0. The others need the capability of their name: ``top_logprobs`` alternatives for
    each token, one of the texts in ``choices``, JSON by a ``schema``, a text by a ``grammar``, a ``bias`` on tokens, ``images``
    in messages, and with ``raw`` a reply that continues the contents of the messages, joined, as plain text.
    """

    messages: Sequence[Message]
    stop: Sequence[str] = ()
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int | None = None
    top_logprobs: int = 0
    choices: Sequence[str] | None = None
    schema: Mapping[str, Any] | None = None
    grammar: str | None = None
    bias: Bias | None = None
    raw: bool = False

    @property
    def text(self) -> str:
        """The contents of the messages, joined: the prompt of a ``raw`` request."""
        return "".join(message.content for message in self.messages)

    def check(self, model: str, capabilities: Capabilities) -> None:
        """Raise ``Unsupported`` if this needs a capability that ``model`` does not have."""
        needs = (
            ("completions of plain text", self.raw, capabilities.completions),
            ("log-probabilities", self.top_logprobs > 0, capabilities.log_probabilities),
            ("a choice among given texts", self.choices is not None, capabilities.choices),
            ("a reply by a schema", self.schema is not None, capabilities.schema),
            ("a reply by a grammar", self.grammar is not None, capabilities.grammar),
            ("a bias on tokens", self.bias is not None, capabilities.bias),
        )
        for what, needed, offered in needs:
            if needed and not offered:
                raise Unsupported(f"{model} does not offer {what}; use an agent that only needs replies.")
        if self.has_images and (self.raw or not capabilities.images):
            raise Unsupported(f"{model} takes no images; name a vision model, or leave out --grant view.")

    @property
    def has_images(self) -> bool:
        """Whether a message has a picture."""
        return any(message.image is not None for message in self.messages)


class Model(Protocol):
    """A language model; safe for many calls at once.

    A subclass needs ``name`` and ``complete``. ``complete`` and ``score`` raise ``ModelError`` when the model fails and
    ``Unsupported`` when they ask for what ``capabilities`` denies. Cancelling a call ends it.
    """

    name: str
    """The model as a person named it, without any secret."""

    brief: bool = False
    """Whether it reads only the short prompts of ``agent.roles.brief``, and is no chat model."""

    trouble: str = ""
    """What went wrong with a call that is being tried again, as "did not answer within 60 seconds"; "" where nothing did."""

    heard: str = ""
    """What it has said so far of a reply that it still writes, where somebody attends and it tells; "" between replies."""

    async def capabilities(self) -> Capabilities:
        """What this model can do; determined once."""
        return Capabilities()

    async def holding(self) -> Capabilities:
        """What its replies can be held to (choices, schema, grammar); the rest may not be found out yet."""
        return await self.capabilities()

    async def continuing(self) -> Capabilities:
        """Whether it continues plain text (completions), and by what that is held (grammar); the rest may not be found out."""
        return await self.capabilities()

    async def complete(self, request: Request) -> Completion:
        """One reply to ``request``."""
        ...

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:  # noqa: ARG002
        """log p of each continuation (nats) as the next assistant message, tokenised after the rendered prompt."""
        raise Unsupported(f"{self.name} does not score given texts; use an agent that only needs replies.")

    async def room(self, messages: Sequence[Message]) -> int | None:  # noqa: ARG002
        """Tokens that its context has beside this prompt, by its own tokenizer; None where it does not tell."""
        return None

    async def check_alive(self) -> Completion | None:
        """The answer to one short question, asked once, that tells a model that is down from a call that cannot be answered.

        None where there is nothing to ask. Raises ``ModelError``.
        """
        return None

    async def runtime(self) -> str:
        """What runs it on this machine, with its version; "" for a model elsewhere."""
        return ""

    async def aclose(self) -> None:
        """Close connections; the model is not used again."""
        return


class ModelWrapper(Model):
    """Passes every call on to ``model``; a subclass overrides what it changes."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = model.name
        self.brief = model.brief

    async def capabilities(self) -> Capabilities:
        return await self.model.capabilities()

    async def holding(self) -> Capabilities:
        return await self.model.holding()

    async def continuing(self) -> Capabilities:
        return await self.model.continuing()

    async def complete(self, request: Request) -> Completion:
        return await self.model.complete(request)

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        return await self.model.score(messages, continuations)

    async def room(self, messages: Sequence[Message]) -> int | None:
        return await self.model.room(messages)

    async def check_alive(self) -> Completion | None:
        return await self.model.check_alive()

    async def runtime(self) -> str:
        return await self.model.runtime()

    async def aclose(self) -> None:
        await self.model.aclose()
