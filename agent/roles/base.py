"""Shared by every role: loading its prompt template, asking a model and reading the reply.

A role's prompt only grows: each call's messages begin with those of the role's previous call and its reply, so that a server's
prefix cache lasts the whole episode. For a model without a chat template, a conversation is one plain text with marks around
each message. That prompt only grows, too, and the recorded messages are the text that was sent.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib import resources
from string import Template
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from housequest.agent.base import Emitter
from housequest.agent.episodes import events
from housequest.agent.models.base import (
    Capabilities,
    Completion,
    Held,
    Image,
    Message,
    Model,
    Request,
    context_left,
    encodable,
    in_role,
    probe,
    roles_of,
)
from housequest.agent.models.forms import Form, FormChoice, grammar_of, longest_of, schema_of
from housequest.agent.models.thoughts import split_thoughts
from housequest.worlds.errors import ModelError, Unsupported

T = TypeVar("T")
Conversation = tuple[Message, ...]
LONGEST_REPLY = 20_000
STUB = 200
"""Characters of an unreadable reply that stay in its conversation: a few whole ones would fill a small model's context."""
ROOM_WITHOUT_THOUGHT = 256
"""A reply that is asked for again without its thought has at least this many tokens: enough for a command or a short plan."""
_CUT = " [the rest of this reply is left out]"
SECTION = re.compile(r"^=== (\w+) ===\n", re.MULTILINE)
Exchange = tuple[str, str]
Examples = Callable[[str], Sequence[Exchange]]
"""Examples of a role's messages and replies in other tasks, in its own form; may be empty, and may take a second."""


class ReplyError(Exception):
    """A reply does not have the form that its role asks for. The message says what is missing, and is shown to the model."""


class Prompt(NamedTuple):
    """A prompt template: named sections with ``$names`` to fill in, from a file beside the role."""

    sections: Mapping[str, str]

    @property
    def digest(self) -> str:
        return sha256("".join(f"=== {name} ===\n{body}" for name, body in self.sections.items()).encode()).hexdigest()

    def render(self, section: str, **values: str) -> str:
        """Fill in one section. Values are never read as templates."""
        return Template(self.sections[section]).substitute(values).strip()


Templates = Mapping[tuple[str, str], Prompt]
"""Prompts by package and name."""
OWN: ContextVar[Templates] = ContextVar("OWN", default=MappingProxyType({}))
"""The user's own templates, while an agent that has them plays (`housequest.agent.roles.own`)."""


def load_prompt(package: str, name: str) -> Prompt:
    """Load the template ``NAME.txt`` of a role's ``package``, or the user's own in its place."""
    return OWN.get().get((package, name)) or shipped_prompt(package, name)


@cache
def shipped_prompt(package: str, name: str) -> Prompt:
    text = resources.files(package).joinpath(f"{name}.txt").read_text("utf-8")
    _, *parts = SECTION.split(text)
    return Prompt(dict(zip(parts[::2], parts[1::2], strict=True)))


def template_hashes(package: str) -> dict[str, str]:
    """The SHA-256 of each prompt template in ``package`` by name, sorted; for a user's own, that of all its sections."""
    files = {file.name: file.read_bytes() for file in resources.files(package).iterdir() if file.name.endswith(".txt")}
    hashes = {name.removesuffix(".txt"): sha256(files[name]).hexdigest() for name in sorted(files)}
    return hashes | {name: own.digest for (where, name), own in OWN.get().items() if where == package}


@dataclass(frozen=True, slots=True)
class Role(Generic[T]):
    """One job for a language model: its name, and the reader of its reply, which raises ``ReplyError``.

    ``reply_tokens`` limits this role's replies unless `Sampling` has ``max_tokens``; ``first_tokens`` limits the first of
    two in any case. With ``reasoning`` the reader also sees the part in ``<think>`` marks. Replies are held to the ``form``,
    if the model can be; if it changes with each call, use `held_to`."""

    name: str
    reader: Callable[[str], T]
    stop: tuple[str, ...] = ()
    reply_tokens: int | None = None
    reasoning: bool = False
    first_tokens: int | None = None
    form: Form | None = None

    def held_to(self, form: Form | None) -> Role[T]:
        return replace(self, form=form)

    def read(self, reply: str) -> T:
        return self.reader(reply if self.reasoning else split_thoughts(reply, midst=True)[0].strip())


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters of a call; ``bias`` favours the tokens of texts, for models that take one (`Capabilities`).

    ``max_tokens`` limits every reply, except one that is asked for again without its thought (`ask`). Without it the role's
    own limit holds, or ``usual_tokens``. ``form`` says if replies are held to their forms. ``examples`` are for a model that
    continues plain text."""

    max_tokens: int | None = None
    temperature: float = 0.0
    seed: int | None = None
    bias: tuple[tuple[str, float], ...] = ()
    usual_tokens: int = 512
    form: FormChoice = "free"
    examples: Examples = lambda _: ()

    def reply_tokens(self, role: int | None = None) -> int:
        """The limit of a reply in tokens; ``role`` is the role's own limit."""
        return self.max_tokens or role or self.usual_tokens

    def request(self, messages: Sequence[Message], most: int, *, plain: bool = False, **more: Any) -> Request:
        """A call with ``messages``, as one text if ``plain``, for a reply of at most ``most`` tokens."""
        sent = (Message("user", plain_text(messages)),) if plain else tuple(messages)
        return Request(sent, max_tokens=most, temperature=self.temperature, seed=self.seed, raw=plain, **more)


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The result of `ask`: ``value``, or None with the ``reason``. ``alternatives`` are possible first words, if requested. In
    company, ``says`` goes to the other players."""

    value: T | None
    reason: str
    conversation: Conversation
    alternatives: tuple[tuple[str, float], ...] = ()
    says: tuple[str, ...] = ()


def clean(text: str) -> str:
    """Make ``text`` fit for a record: of limited length and without lone surrogates, which cannot be encoded."""
    return encodable(text[:LONGEST_REPLY])


def reply_message(reply: str, thinking: str | None = None) -> Message:
    """A reply as a message of the conversation; never empty, since servers refuse that."""
    return Message("assistant", reply if reply.strip() else "(nothing)", thinking=thinking or "")


def spoken(call: events.ModelCall) -> Message:
    """A recorded reply as it is in the role's next prompt; in plain text, without outer spaces."""
    return reply_message(call.reply.strip() if call.plain else call.reply, call.thinking)


def plain_text(conversation: Sequence[Message]) -> str:
    """A conversation as one text, for a model that continues it. Each reply follows its sign, on the same line."""
    return "".join(f" {message.content}\n" if message.role == "assistant" else message.content for message in conversation)


async def _as_sent(role: str, conversation: Conversation, sampling: Sampling, *, plain: bool) -> Conversation:
    """The messages as they are sent and recorded; a ``plain`` text has examples and marks."""
    return as_continued(conversation, await asyncio.to_thread(sampling.examples, role)) if plain else conversation


async def room_beside(role: Role[T], model: Model, conversation: Conversation, sampling: Sampling) -> int | None:
    """The number of tokens that ``conversation`` leaves in the model's context; None if unknown. Raises ``ModelError``."""
    model = in_role(model, role.name)
    plain = await continues(model, sampling)
    said = await _as_sent(role.name, conversation, sampling, plain=plain)
    return await context_left(model, (Message("user", plain_text(said)),) if plain else said, raw=plain)


def call_event(
    role: str,
    prompt: Conversation,
    completion: Completion,
    candidates: Iterable[tuple[str, float]] = (),
    *,
    kept: int | None = None,
    **told: Any,
) -> events.ModelCall:
    """The event of a call, with the part of ``prompt`` after the last reply or ``kept`` messages, and what is ``told``."""
    if kept is None:
        # A stub differs from the recorded reply, so it is recorded as part of this prompt.
        last = max((i for i, message in enumerate(prompt) if message.role == "assistant"), default=-1)
        kept = last if last >= 0 and prompt[last].content.endswith(_CUT) else last + 1
    further: dict[str, Any] = {name: value or None for name, value in told.items()}
    return events.ModelCall(
        role=role,
        kept=kept,
        added=tuple(map(events.PromptMessage.of, prompt[kept:])),
        reply=clean(completion.text),
        finish=completion.finish,
        prompt_tokens=completion.usage.prompt,
        completion_tokens=completion.usage.completion,
        thinking=clean(completion.thinking) or None,
        thinking_tokens=completion.usage.thinking,
        learned=completion.learned or None,
        candidates=tuple(events.Candidate(text=text, logprob=logprob) for text, logprob in candidates) or None,
        **further,
    )


def whole_prompts(recorded: Iterable[events.Event]) -> dict[int, tuple[events.PromptMessage, ...]]:
    """The prompt of each call in ``recorded``, on all branches, by the call's id."""
    found: dict[int, tuple[events.PromptMessage, ...]] = {}
    # Each role's conversation after an event, by player; branches share their first events.
    after: dict[int | None, Mapping[tuple[str | None, str], tuple[events.PromptMessage, ...]]] = {None: {}}
    for event in recorded:
        before = after[event.parent] if event.parent in after else after[None]
        if isinstance(called := event.body, events.ModelCall):
            whose = (event.player, called.role)
            found[event.id] = prompt = (*before.get(whose, ())[: called.kept], *called.added)
            before = {**before, whose: (*prompt, events.PromptMessage.of(spoken(called)))}
        after[event.id] = before
    return found


async def ask(
    role: Role[T],
    model: Model,
    conversation: Conversation,
    text: str,
    emit: Emitter,
    sampling: Sampling,
    *,
    alternatives: int = 0,
    image: Image | None = None,
    once: bool = False,
) -> Answer[T]:
    """Send ``text`` to the role's model and read its reply, asking once more if it cannot be read.

    Args:
        conversation: The messages before, from the system message on.
        alternatives: Request and record this many possible first words of the reply.
        image: A picture for the message, unless it is the conversation's last one, or this role's model takes no images and
            another's does.
        once: Ask again only if a held reply was cut off in its thought, and then for the rest.

    The reply is held to the role's form if the model can be held and the sampling does not leave replies free. If it is cut
    off, the model is asked again without a thought, with at least `ROOM_WITHOUT_THOUGHT` tokens. A model that breaks or refuses
    a form is asked freely from then on, which a thought says. If the model continues plain text (`continues`), the conversation
    is sent and recorded as that, after examples.

    Raises ``ModelError`` if the model fails or breaks a form that it has to keep, and ``Unsupported`` if replies have to be
    held and the model cannot be.
    """
    several, model = bool(roles_of(model)), in_role(model, role.name)
    if several and image is not None and not (await model.capabilities()).images:
        image = None
    most = sampling.reply_tokens(role.reply_tokens)
    limit = min(most, role.first_tokens or most)
    form, again, unheld = role.form, False, False
    while True:
        # Checked each time: a record may end between two calls, and go on with another model.
        plain = await continues(model, sampling)
        if plain and not again and sampling.form != "completion":
            emit(events.Thought(role=FORM, text=NO_TEMPLATE))
        images = [message.image for message in conversation if message.image is not None]
        fresh = None if images[-1:] == [image] else image
        about = f"\n\n{fresh.about}" if fresh is not None and fresh.about and not images else ""
        conversation = (*conversation, Message("user", f"{clean(text)}{about}", fresh))
        way = None if unheld else await held_by(role.name, form, model, sampling, plain=plain)
        said = await _as_sent(role.name, conversation, sampling, plain=plain)
        stop, bias = (*role.stop, *ENDS) if plain else role.stop, dict[int | str, float](sampling.bias) or None
        request = sampling.request(said, limit, plain=plain, stop=stop, top_logprobs=alternatives, bias=bias)
        try:
            completion, held = await complete_held(model, request, form, way)
        except ModelError as error:
            if several and not error.recorded.endswith(said_as := f" It was asked as the {role.name}."):
                error.recorded += said_as
            raise
        if plain:
            completion = replace(completion, text=completion.text.strip())
        begun = _first_words(completion) if alternatives else ()
        call = call_event(role.name, said, completion, begun, plain=plain, held=held)
        emit(call, completion.timing)
        unheld = found_unheld(role.name, held, model, sampling, emit)
        reply = spoken(call)
        try:
            return Answer(_read(role, call, most), "", (*conversation, reply), begun)
        except ReplyError as error:
            reason = str(error)
        # After a reply was cut off, ask for one without its thought.
        shorter = form.without_thought if form is not None and held == "cut" else form
        final = again or (once and shorter is form)
        emit(events.ParseFailed(role=role.name, reply=call.reply, reason=reason, final=final))
        if sampling.form != "free" and len(reply.content) > STUB:
            reply = replace(reply, content=f"{reply.content[:STUB].rstrip()}{_CUT}")
        conversation = (*conversation, reply)
        if final:
            return Answer(None, reason, conversation, begun)
        if shorter is not None and shorter is not form:
            # The rest must fit, whatever the budget: a token has at least one character.
            form, most = shorter, max(most, min(longest_of(shorter), ROOM_WITHOUT_THOUGHT))
        limit, again = most, True
        text = load_prompt("housequest.agent.roles", "again").render("user", reason=reason)


def _read(role: Role[T], call: events.ModelCall, most: int) -> T:
    try:
        if call.held == "cut":
            # A reader would take a part for the whole: the end of a thought, "cabinet 1" of "cabinet 12".
            raise ReplyError("it has no end.")
        return role.read(f"<think>{call.thinking}</think>{call.reply}" if call.thinking else call.reply)
    except ReplyError as error:
        if call.finish != "length":
            raise
        # The model's own count comes first: it may allow a reply more or fewer tokens than requested.
        raise ReplyError(f"{error} It was cut off after {call.completion_tokens or most} tokens.") from None


def _first_words(completion: Completion) -> tuple[tuple[str, float], ...]:
    first = next((one for one in completion.tokens if one.token.strip()), None)
    words = {first.token: first.logprob, **dict(first.alternatives)} if first else {}
    # Only finite ones: a record has no infinity.
    return tuple((clean(word), logprob) for word, logprob in words.items() if math.isfinite(logprob))


FORM = "form"
"""The role whose thoughts say that a model was not held to the form of its reply, or is not asked as a chat."""
NO_TEMPLATE = "the model has no chat template: it continues plain text after examples, as with form=completion"
"""Said once an episode, unless somebody chose it."""
_UNHELD: Mapping[Held | None, str] = {
    "broken": "the model was to be held to the form of its reply and did not keep it: from here on it answers freely",
    "refused": "the model refused the form of its reply: from here on it answers freely",
}


def is_unheld(role: str) -> bool:
    """True if replies in this ``role`` are free in the present episode, since the model broke or refused a form."""
    return noted(f"{role} unheld")


Way = Literal["grammar", "schema"]


async def continues(model: Model, sampling: Sampling) -> bool:
    """True if ``model`` continues plain text: by choice, or since it has no chat template. Raises ``Unsupported``."""
    if sampling.form == "completion":
        check_continues(model.name, await probe(model, "completions"))
        return True
    if sampling.form != "auto" or (await probe(model, "forms")).chats:
        return False
    return (await probe(model, "completions")).completions


def check_continues(model: str, can: Capabilities) -> None:
    """Raise ``Unsupported`` if ``model`` has no completions of plain text."""
    if not can.completions:
        raise Unsupported(f"{model} has no completions of plain text; leave form at auto, which asks it as a chat.")


async def held_by(role: str, form: Form | None, model: Model, sampling: Sampling, *, plain: bool = False) -> Way | None:
    """The way in which ``model`` is held to ``form`` in this ``role``; None if its reply is free. Raises ``Unsupported``."""
    if form is None or sampling.form == "free" or is_unheld(role):
        return None
    if plain:
        if sampling.form == "held" and not (await probe(model, "completions")).grammar:
            raise Unsupported(
                f"{model.name} cannot be held to forms in plain text; give form=auto, or completions=off with exemplars."
            )
        return "grammar" if (await probe(model, "completions")).grammar else None
    can = await probe(model, "forms")
    if sampling.form == "held":
        check_held(model.name, can)
    return "grammar" if can.grammar else "schema" if can.schema else None


def check_held(model: str, can: Capabilities) -> None:
    """Raise ``Unsupported`` if ``model`` cannot be held to a form."""
    if not (can.grammar or can.schema):
        raise Unsupported(f"{model} cannot be held to the form of its replies; leave form at auto, or take another model.")


async def complete_held(model: Model, request: Request, form: Form | None, way: Way | None) -> tuple[Completion, Held | None]:
    """Get the reply to ``request``, held to ``form`` (in plain text, after a space), and the result of holding it, if any."""
    if form is None or way is None:
        return await model.complete(request), None
    grammar = grammar_of(form.continued if request.raw else form)
    held = replace(request, grammar=grammar) if way == "grammar" else replace(request, schema=schema_of(form))
    return _judged(await model.complete(held), form, plain=request.raw)


def found_unheld(role: str, held: Held | None, model: Model, sampling: Sampling, emit: Emitter) -> bool:
    """If the form was broken or refused, emit a thought, note it, return True. Raises ``ModelError`` if it has to be kept."""
    if held not in _UNHELD:
        return False
    if sampling.form == "held":
        did = "refused the form of a reply" if held == "refused" else "did not keep the form of a reply"
        said = f"{did}, and form=held asks for it; leave form at auto, which then lets it answer freely."
        raise ModelError(f"{model.name} {said}", recorded=f"The model {said}", kind=f"form {held}")
    emit(events.Thought(role=FORM, text=_UNHELD[held]))
    note(f"{role} unheld")
    return True


def _judged(completion: Completion, form: Form, *, plain: bool) -> tuple[Completion, Held]:
    """The text of ``completion``, read from JSON if it is that, and the result of holding it to ``form``."""
    if completion.held is not None:
        return completion, completion.held
    # A line of plain text is recorded without outer spaces.
    text = completion.text.strip() if plain else form.from_json(completion.text) or completion.text
    # A whole may be the beginning of more: "cabinet 1" of "cabinet 12". JSON shows where it ends.
    ended = completion.finish != "length" or (text != completion.text and not plain) or len(text) >= longest_of(form)
    if ended and form.read(text) is not None:
        return replace(completion, text=text), "kept"
    return completion, "cut" if completion.finish == "length" else "broken"


_NOTES: ContextVar[set[str] | None] = ContextVar("NOTES", default=None)
"""Those of the present episode. A context variable, since agents ask their models at any depth."""


@contextmanager
def notes_of_model(notes: frozenset[str]) -> Generator[set[str], None, None]:
    """Collect the ``notes`` of one episode: inside, `note` adds to the set that this yields."""
    known = set(notes)
    token = _NOTES.set(known)
    try:
        yield known
    finally:
        _NOTES.reset(token)


def note(what: str) -> None:
    """Keep ``what`` until the episode ends. Does nothing outside an episode."""
    known = _NOTES.get()
    if known is not None:
        known.add(what)


def noted(what: str) -> bool:
    """True if ``what`` was found out about the present model in this episode."""
    return what in (_NOTES.get() or ())


MESSAGE = "### Message:\n"
REPLY = "\n\n### Reply:"
ENDS = ("\n###",)
"""The end of a reply: a model that goes on writes the next message itself."""
_BEFORE = "\nHere is how that went in another place:\n"
_AFTER = "\nThat place is behind you. From here on it is about yours:\n"


def as_continued(conversation: Sequence[Message], examples: Sequence[Exchange]) -> tuple[Message, ...]:
    """Add to ``conversation`` the marks and ``examples`` of a plain text, which `roles.base.plain_text` joins."""
    exchanges = (f"\n{MESSAGE}{asked}{REPLY} {replied}\n" for asked, replied in examples)
    shown = f"{_BEFORE}{''.join(exchanges)}{_AFTER}" if examples else ""
    return tuple(_marked(message, "" if at else shown, first=at == 0) for at, message in enumerate(conversation))


def as_chat(text: str) -> tuple[Message, ...]:
    """Split a plain ``text`` with marks into its conversation, without examples; empty if it has no marks."""
    system, begun, told = text.partition(_BEFORE)
    if begun:
        told = told.partition(_AFTER)[2]
    else:
        system = text.partition(MESSAGE)[0]
        told = text[len(system) :]
    found = [Message("system", system.strip())] if system.strip() else []
    for exchange in told.split(MESSAGE)[1:]:
        asked, _, replied = exchange.partition(REPLY)
        found += [Message("user", asked), *([Message("assistant", replied.strip())] if replied.strip() else [])]
    return tuple(found) if MESSAGE in told else ()


def _marked(message: Message, shown: str, *, first: bool) -> Message:
    match message.role:
        case "system":
            return replace(message, content=f"{message.content}\n{shown}")
        case "user":
            between = f"{shown}\n" if shown or not first else ""
            return replace(message, content=f"{between}{MESSAGE}{message.content}{REPLY}")
        case "assistant":
            return message
