"""The contract of a language model, and helpers that all kinds of model share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from housequest.worlds.errors import Unsupported

T = TypeVar("T")
Bias = Mapping[int | str, float]
"""Values added to logits, in nats, by token number, or by a text for each of its tokens."""
Speaker = Literal["system", "user", "assistant"]
Held = Literal["kept", "cut", "broken", "refused"]
"""The result of holding a reply to a form: kept, cut off by the token limit, broken, or the form was refused."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a message, as a PNG.

    Images are equal if their digests are. ``digest`` is a SHA-256 over size and pixels, since versions of zlib write different
    bytes. ``about`` explains pictures of this kind; it is sent with the first one of a conversation.
    """

    png: bytes = field(repr=False, compare=False)
    digest: str
    about: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation: a text, optionally with a picture after it, or with the ``thinking`` before a reply.

    Thinking is sent only to the few servers that require it.
    """

    role: Speaker
    content: str
    image: Image | None = None
    thinking: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as counted by the model; None if it gave no plausible count (`believed`).

    ``completion`` includes ``thinking``.
    """

    prompt: int | None = None
    completion: int | None = None
    thinking: int | None = None


OWN_TEMPERATURE = "temperature not taken: the server's default holds"
"""Recorded for a server that refuses the parameter."""
MOST_TOKENS = 1 << 32
"""The largest plausible count of tokens for one call: thousands of times the context of any model."""


def believed(count: int | None) -> int | None:
    """``count`` if it is plausible: not negative and at most `MOST_TOKENS`; else None."""
    return count if count is not None and 0 <= count <= MOST_TOKENS else None


class Waste(NamedTuple):
    """Calls without a usable reply, and their tokens."""

    calls: int = 0
    prompt: int = 0
    completion: int = 0

    def plus(self, calls: int, usage: Usage = Usage()) -> Waste:
        """Add ``calls`` with a total ``usage``."""
        return Waste(self.calls + calls, self.prompt + (usage.prompt or 0), self.completion + (usage.completion or 0))

    @classmethod
    def joined(cls, parts: Iterable[Waste | None]) -> Waste | None:
        """The sum of ``parts``; None if all are None."""
        known = [part for part in parts if part is not None]
        return cls(*map(sum, zip(*known, strict=True))) if known else None


@dataclass(frozen=True, slots=True)
class Timing:
    """The parts of a reply that differ between equal calls: wall seconds, attempts, and ``cached`` prompt tokens.

    ``at`` is the time of the answer in seconds since the epoch, and ``served`` the server's name for the model, with its host;
    both are None for a local model. ``wasted`` counts probes and unusable replies since the previous call.
    """

    seconds: float = 0.0
    attempts: int = 1
    cached: int | None = None
    wasted: Waste | None = None
    at: int | None = None
    served: str | None = None


@dataclass(frozen=True, slots=True)
class TokenChoice:
    """One generated token with its log-probability (nats), and the requested alternatives."""

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
    """A model's reply.

    Args:
        text: The reply, without ``thinking``.
        finish: ``stop``, ``length``, or the server's own finish reason.
        usage: Tokens, as the model counted them.
        timing: What differs between equal calls.
        tokens: The generated tokens, if alternatives were requested.
        read: The tokens of the prompt, if requested, except the first, which has no probability.
        held: The result of holding the reply to a form, if known: ``refused`` means a free reply; with ``broken`` or ``cut``,
            ``text`` is not one of the choices.
        thinking: The model's thinking, if the server returns it.
        learned: How the request had to be changed for the server.
    """

    text: str
    finish: str = "stop"
    usage: Usage = Usage()
    timing: Timing = field(default=Timing(), compare=False)
    tokens: tuple[TokenChoice, ...] = ()
    read: tuple[PromptToken, ...] = ()
    held: Held | None = None
    thinking: str = ""
    learned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scores:
    """The log-probabilities (nats) of given texts, in order, with the total calls, tokens and time."""

    logprobs: tuple[float, ...]
    calls: int = 1
    usage: Usage = Usage()
    timing: Timing = field(default=Timing(), compare=False)

    @classmethod
    def joined(cls, parts: Sequence[Scores]) -> Scores:
        """Join the scores of several calls.

        Args:
            parts: The scores, in order.

        Returns:
            All log-probabilities, with the sums of calls, tokens and time.
        """
        cached = _total(part.timing.cached for part in parts)
        return cls(
            tuple(logprob for part in parts for logprob in part.logprobs),
            sum(part.calls for part in parts),
            Usage(_total(part.usage.prompt for part in parts), _total(part.usage.completion for part in parts)),
            Timing(
                sum(part.timing.seconds for part in parts),
                sum(part.timing.attempts for part in parts),
                cached,
                Waste.joined(part.timing.wasted for part in parts),
            ),
        )


def _total(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The abilities of a model beyond completing a chat.

    Args:
        chats: False if the model has no chat template.
        completions: It continues plain text.
        log_probabilities: It tells the log-probability of each generated token.
        scoring: It scores given texts.
        singly: Scoring takes one call for each text, and one for the prompt.
        choices: It replies with one of given texts.
        schema: It replies in JSON by a schema.
        grammar: It accepts grammars in GBNF, llama.cpp's format.
        bias: It accepts values that are added to logits.
        images: It takes pictures.
        deterministic: Equal requests have equal replies.
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
    """A request for one reply to a conversation. The last fields need a capability of the model.

    Args:
        messages: The conversation so far.
        stop: The reply ends before the first of these texts.
        max_tokens: The most tokens of the reply.
        temperature: 0 takes the likeliest token.
        seed: Fixes the sampling if ``temperature`` is above 0.
        top_logprobs: The number of alternatives to return for each token.
        choices: The reply is one of these texts (see `Completion.held`).
        schema: The reply is JSON by this schema.
        grammar: The reply is a text of this grammar, in GBNF.
        bias: Changes the odds of tokens.
        raw: Continue the joined contents of the messages as plain text, which needs ``completions``.
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
        """Check the request before it is sent.

        Args:
            model: The model's name, for the error.
            capabilities: The model's abilities.

        Raises:
            Unsupported: The request needs a capability that the model lacks.
        """
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
    def holds(self) -> bool:
        """True if the reply is to be held to a schema, a grammar or choices."""
        return self.schema is not None or self.grammar is not None or self.choices is not None

    @property
    def has_images(self) -> bool:
        """True if a message has a picture."""
        return any(message.image is not None for message in self.messages)


@dataclass(frozen=True, slots=True)
class ReplyProgress:
    """The progress of a call that a person waits for: the reply ``heard`` so far, or the ``trouble`` behind a retry."""

    heard: str = ""
    trouble: str = ""


Watch = Callable[[ReplyProgress], None]
"""Called from any thread while a reply comes, and with an empty progress at the end."""


def unwatched(progress: ReplyProgress) -> None:
    """Ignore ``progress``."""
    del progress


class Model(Protocol):
    """A language model that can be called concurrently. A subclass needs ``name`` and ``complete``.

    Abilities that only some models have are protocols of their own (`ABILITIES`). `ability` finds one, also in a wrapped model.
    """

    name: str
    """The name given by the user, without any secret."""

    async def capabilities(self) -> Capabilities:
        """Find out the model's abilities; they are probed once.

        Returns:
            The abilities.
        """
        return Capabilities()

    async def complete(self, request: Request) -> Completion:
        """Ask for one reply. Cancelling the call ends it.

        Args:
            request: The conversation, and how to reply.

        Returns:
            The reply, with its tokens and its time.

        Raises:
            ModelError: The model failed.
            Unsupported: The request needs a capability that the model lacks.
        """
        ...

    async def aclose(self) -> None:
        """Close connections. The model is not used afterwards."""
        return


@runtime_checkable
class Scoring(Protocol):
    """A model that scores given texts, if its capabilities have ``scoring``.

    ``score`` gives the log-probability (nats) of each continuation as the next message of the assistant. Raises ``ModelError``
    and ``Unsupported``, as ``complete`` does.
    """

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores: ...


ProbedPart = Literal["forms", "completions"]
"""A part of the capabilities: chat and forms of replies, or the completion of plain text."""


@runtime_checkable
class Probing(Protocol):
    """A model whose capabilities take calls to find out: ``probe`` checks only one part."""

    async def probe(self, part: ProbedPart) -> Capabilities: ...


@runtime_checkable
class TokenCounter(Protocol):
    """A model that can tell how many tokens its context has left after a prompt; None if unknown."""

    async def context_left(self, messages: Sequence[Message], *, raw: bool = False) -> int | None: ...


@runtime_checkable
class Reachable(Protocol):
    """A remote model, which may be down: ``check_alive`` asks one short question. Raises ``ModelError``."""

    async def check_alive(self) -> Completion: ...


@runtime_checkable
class Learning(Protocol):
    """A model that learns from calls which request format its server accepts.

    ``learned`` describes the changes. ``keep_learned`` saves them and the capabilities for a day, for models of this name;
    ``forget_learned`` deletes them.
    """

    def learned(self) -> tuple[str, ...]: ...
    def keep_learned(self) -> None: ...
    def forget_learned(self) -> None: ...


@runtime_checkable
class Local(Protocol):
    """A model on this machine: ``runtime`` loads it and returns the name of the runtime. Raises ``ModelError``."""

    async def runtime(self) -> str: ...


@runtime_checkable
class BriefReader(Protocol):
    """A model that reads only the prompts of ``housequest.agent.roles.brief``, on which it was trained."""

    def reads(self, prompt: str) -> bool: ...


ABILITIES: tuple[type[Any], ...] = (Scoring, Probing, TokenCounter, Reachable, Learning, Local, BriefReader)
"""The optional protocols of a model."""


def ability(model: Model, protocol: type[T]) -> T | None:
    """Return ``model`` or a model inside it that implements ``protocol``; None if there is none."""
    while not isinstance(model, protocol):
        if not isinstance(model, ModelWrapper):
            return None
        model = model.model
    return model


async def probe(model: Model, part: ProbedPart) -> Capabilities:
    """Return the capabilities of ``model``; only ``part`` has to be known."""
    probing = ability(model, Probing)
    return await (model.capabilities() if probing is None else probing.probe(part))


async def score(model: Model, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
    """Call `Scoring.score` of ``model``. Raises ``Unsupported`` if it has none."""
    if (scoring := ability(model, Scoring)) is None:
        raise Unsupported(f"{model.name} does not score given texts; use an agent that only needs replies.")
    return await scoring.score(messages, continuations)


async def context_left(model: Model, messages: Sequence[Message], *, raw: bool = False) -> int | None:
    """Call `TokenCounter.context_left` of ``model``; None if it has none."""
    measured = ability(model, TokenCounter)
    return None if measured is None else await measured.context_left(messages, raw=raw)


class ModelWrapper(Model):
    """Passes every call on to ``model``; a subclass overrides what it changes. `ability` sees through it."""

    def __init__(self, model: Model) -> None:
        self.model, self.name = model, model.name

    def around(self, own: Model, role: str) -> Model:  # noqa: ARG002
        """Return a copy of this wrapper around ``own``, the model of ``role``."""
        wrapped = copy(self)
        ModelWrapper.__init__(wrapped, own)
        return wrapped

    async def capabilities(self) -> Capabilities:
        return await self.model.capabilities()

    async def complete(self, request: Request) -> Completion:
        return await self.model.complete(request)

    async def aclose(self) -> None:
        await self.model.aclose()


class RoleModels(ModelWrapper):
    """``model``, with ``others`` in its place for some roles."""

    def __init__(self, model: Model, others: Mapping[str, Model]) -> None:
        super().__init__(model)
        self.others = others

    async def aclose(self) -> None:
        for each in {id(each): each for each in (self.model, *self.others.values())}.values():
            await each.aclose()


def roles_of(model: Model) -> tuple[str, ...]:
    """The roles for which ``model`` has other models (`in_role`)."""
    found = ability(model, RoleModels)
    return tuple(found.others) if found is not None else ()


def in_role(model: Model, role: str) -> Model:
    """The model that is asked in ``role``, with the same wrappers as ``model``."""
    if isinstance(model, RoleModels):
        return model.others.get(role, model) if role else model.model
    if isinstance(model, ModelWrapper) and (own := in_role(model.model, role)) is not model.model:
        return model.around(own, role)
    return model


def printable_line(text: str, limit: int) -> str:
    """``text`` on one line of at most ``limit`` characters, without control or direction characters."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text[: limit * 4]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def encodable(text: str) -> str:
    """``text`` without lone surrogates, which no encoding takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def stop_at(text: str, stops: Sequence[str]) -> int | None:
    """The position of the first of ``stops`` in ``text``; None if there is none."""
    return min((at for stop in stops if stop and (at := text.find(stop)) >= 0), default=None)


def shared_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """The length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
