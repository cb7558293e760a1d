"""The contract of a language model, and what its several kinds do with texts and tokens alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from housequest.worlds.errors import Unsupported

T = TypeVar("T")
Bias = Mapping[int | str, float]
"""What is added to logits, in nats: by the number of a token, or by a text for each of its tokens."""
Speaker = Literal["system", "user", "assistant"]
Held = Literal["kept", "cut", "broken", "refused"]
"""What came of holding a reply to a form: it kept it, its budget cut it off, it broke it, or the model refused the form."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a message, as a PNG.

    Images are equal if their digests are. ``digest`` is a SHA-256 over size and pixels, since another zlib may write the same
    picture as other bytes. ``about`` says what pictures of this kind show; it is sent with the first one of a conversation.
    """

    png: bytes = field(repr=False, compare=False)
    digest: str
    about: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation: a text, perhaps with a picture after it, or with what a model thought before it.

    Few servers want that ``thinking`` back; to the others it is not sent.
    """

    role: Speaker
    content: str
    image: Image | None = None
    thinking: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as the model counted them; None where it did not say, or said what cannot be (`believed`).

    Those of its ``thinking`` are among those of the completion.
    """

    prompt: int | None = None
    completion: int | None = None
    thinking: int | None = None


OWN_TEMPERATURE = "temperature not taken: the server's default holds"
"""What is learned of a server that lets nobody choose."""
MOST_TOKENS = 1 << 32
"""Tokens that one call, or one scoring of many texts, is believed to have used: thousands of times what any model reads."""


def believed(count: int | None) -> int | None:
    """A count of tokens that a model stated; None where it is negative or more than `MOST_TOKENS`, and so a fault or a lie."""
    return count if count is not None and 0 <= count <= MOST_TOKENS else None


class Waste(NamedTuple):
    """Calls, and the tokens that they read and wrote."""

    calls: int = 0
    prompt: int = 0
    completion: int = 0

    def plus(self, calls: int, usage: Usage = Usage()) -> Waste:
        """This and so many calls with their usage in all."""
        return Waste(self.calls + calls, self.prompt + (usage.prompt or 0), self.completion + (usage.completion or 0))

    @classmethod
    def joined(cls, parts: Iterable[Waste | None]) -> Waste | None:
        """Several as one; None if there is none."""
        known = [part for part in parts if part is not None]
        return cls(*map(sum, zip(*known, strict=True))) if known else None


@dataclass(frozen=True, slots=True)
class Timing:
    """What differs between two equal calls: wall seconds, attempts made, prompt tokens that a cache served.

    ``at`` is when it was answered, in seconds since the epoch, and ``served`` what its server calls the model and itself, and
    where that is; None of a model on this machine. ``wasted`` was paid for since the call before and brought no reply: probes,
    and replies that had to be asked for again.
    """

    seconds: float = 0.0
    attempts: int = 1
    cached: int | None = None
    wasted: Waste | None = None
    at: int | None = None
    served: str | None = None


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

    ``read`` are the tokens of the prompt, if they were asked for, without the first one, which nothing precedes. ``held`` is
    what came of the form that was asked for, if the model knows: ``refused`` if it replied freely, ``broken`` or ``cut`` if
    ``text`` is none of the choices. A recorded reply knows. ``thinking`` is what the model thought before it replied, if its
    server tells that apart. ``learned`` says how the
    server had to be asked, other than at first: what it does not take, and what it needs.
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
    """The log-probabilities (nats) of given texts, in their order, with the calls, tokens and time that they took in all."""

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
    """What a model can do beyond completing a chat; an agent that needs more says so before its first call.

    ``chats`` is False if the model is known to have no chat template. ``completions``: it can continue plain text.
    ``singly``: to score several texts, it takes one call for each, and one more for the prompt. ``grammar``: it takes grammars
    in GBNF, llama.cpp's form.
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
    """Asks a model for one reply to the conversation ``messages``.

    The reply ends before the first of the texts in ``stop``, and after at most ``max_tokens`` tokens. ``seed`` fixes the
    sampling if ``temperature`` is above 0. Each of the others needs the capability of its name: ``top_logprobs`` asks for that
    many alternatives for each token, ``choices`` for one of these texts (see `Completion` for what a server may make of that),
    ``schema`` for JSON, ``grammar`` for a text of that grammar, and ``bias`` changes the odds of tokens. Messages with pictures
    need ``images``. With ``raw``, the model continues the contents of the messages, joined, as plain text; that needs
    ``completions``.
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
        """Raise ``Unsupported`` if this needs a capability that ``model`` lacks."""
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
        """Whether the reply is to be held to a form: to a schema, a grammar or one of the choices."""
        return self.schema is not None or self.grammar is not None or self.choices is not None

    @property
    def has_images(self) -> bool:
        """Whether a message has a picture."""
        return any(message.image is not None for message in self.messages)


@dataclass(frozen=True, slots=True)
class ReplyProgress:
    """How a call goes that a person waits for: the reply ``heard`` so far, and why it is being tried again (``trouble``)."""

    heard: str = ""
    trouble: str = ""


Watch = Callable[[ReplyProgress], None]
"""Called, in any thread, as a reply comes, and with nothing in it once a call is over."""


def unwatched(progress: ReplyProgress) -> None:
    """Takes a reply in pieces and shows none of them."""
    del progress


class Model(Protocol):
    """A language model; safe for many calls at once. A subclass needs ``name`` and ``complete``.

    Each thing that only some models can do is a protocol of its own, one of `ABILITIES`. `ability` finds it, also where the
    model is wrapped.
    """

    name: str
    """The model as a person named it, without any secret."""

    async def capabilities(self) -> Capabilities:
        """What this model can do. It is found out once."""
        return Capabilities()

    async def complete(self, request: Request) -> Completion:
        """One reply to ``request``. Cancelling the call ends it.

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
"""A part of the capabilities: what replies are held to and whether there is a chat, or if plain text is continued."""


@runtime_checkable
class Probing(Protocol):
    """A model whose capabilities take calls to find out: ``probe`` finds out no more than this part."""

    async def probe(self, part: ProbedPart) -> Capabilities: ...


@runtime_checkable
class TokenCounter(Protocol):
    """A model that counts the tokens of a prompt: how many its context leaves after it, None if it does not tell."""

    async def context_left(self, messages: Sequence[Message], *, raw: bool = False) -> int | None: ...


@runtime_checkable
class Reachable(Protocol):
    """A model elsewhere, which may be down: it answers one short question. Raises ``ModelError`` if it does not."""

    async def check_alive(self) -> Completion: ...


@runtime_checkable
class Learning(Protocol):
    """A model that finds out by calls how it wants to be asked, which changes what is sent.

    ``learned`` says it in words for people. ``keep_learned`` keeps it, and the capabilities, for another model of its name for
    some hours; ``forget_learned`` forgets it, here and there.
    """

    def learned(self) -> tuple[str, ...]: ...
    def keep_learned(self) -> None: ...
    def forget_learned(self) -> None: ...


@runtime_checkable
class Local(Protocol):
    """A model on this machine: ``runtime`` loads it, and names the program that runs it. Raises ``ModelError``."""

    async def runtime(self) -> str: ...


@runtime_checkable
class BriefReader(Protocol):
    """A model that reads no other prompts than those of ``housequest.agent.roles.brief``, on which it was trained."""

    def reads(self, prompt: str) -> bool: ...


ABILITIES: tuple[type[Any], ...] = (Scoring, Probing, TokenCounter, Reachable, Learning, Local, BriefReader)
"""The protocols that a model may have beside the contract."""


def ability(model: Model, protocol: type[T]) -> T | None:
    """``model``, or the model that it wraps, where that has the methods of ``protocol``; None where none has."""
    while not isinstance(model, protocol):
        if not isinstance(model, ModelWrapper):
            return None
        model = model.model
    return model


async def probe(model: Model, part: ProbedPart) -> Capabilities:
    """The capabilities of ``model``, of which only ``part`` need be known."""
    probing = ability(model, Probing)
    return await (model.capabilities() if probing is None else probing.probe(part))


async def score(model: Model, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
    """`Scoring.score` of ``model``. Raises ``Unsupported`` where it has none."""
    if (scoring := ability(model, Scoring)) is None:
        raise Unsupported(f"{model.name} does not score given texts; use an agent that only needs replies.")
    return await scoring.score(messages, continuations)


async def context_left(model: Model, messages: Sequence[Message], *, raw: bool = False) -> int | None:
    """`TokenCounter.context_left` of ``model``; None where it does not tell."""
    measured = ability(model, TokenCounter)
    return None if measured is None else await measured.context_left(messages, raw=raw)


class ModelWrapper(Model):
    """Passes every call on to ``model``; a subclass overrides what it changes. `ability` sees through it."""

    def __init__(self, model: Model) -> None:
        self.model, self.name = model, model.name

    def around(self, own: Model, role: str) -> Model:  # noqa: ARG002
        """This wrapper around the model of ``role``."""
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
    """``model``, and in some roles ``others`` in its place."""

    def __init__(self, model: Model, others: Mapping[str, Model]) -> None:
        super().__init__(model)
        self.others = others

    async def aclose(self) -> None:
        for each in {id(each): each for each in (self.model, *self.others.values())}.values():
            await each.aclose()


def roles_of(model: Model) -> tuple[str, ...]:
    """The roles in which ``model`` has others in its place (`in_role`)."""
    found = ability(model, RoleModels)
    return tuple(found.others) if found is not None else ()


def in_role(model: Model, role: str) -> Model:
    """The model that is asked in ``role``: ``model``, unless it has another for that, which is wrapped as ``model`` is."""
    if isinstance(model, RoleModels):
        return model.others.get(role, model) if role else model.model
    if isinstance(model, ModelWrapper) and (own := in_role(model.model, role)) is not model.model:
        return model.around(own, role)
    return model


def printable_line(text: str, limit: int) -> str:
    """``text`` on one line, without control or direction characters, cut to ``limit`` characters."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text[: limit * 4]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def encodable(text: str) -> str:
    """``text`` without lone surrogates, which no encoding takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def stop_at(text: str, stops: Sequence[str]) -> int | None:
    """Where the first of the texts in ``stops`` begins in ``text``; None where none does."""
    return min((at for stop in stops if stop and (at := text.find(stop)) >= 0), default=None)


def shared_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """How many elements both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
