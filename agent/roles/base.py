"""What every role shares: its prompt template, and how a model is asked and its reply read.

A role's prompt only ever grows: each call's messages begin with those of the role's previous call and its reply, so that a
server's prefix cache holds over the whole episode.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from string import Template
from typing import Generic, TypeVar

from agent.base import Emitter
from agent.episodes import events
from agent.models.base import Completion, Message, Model, Request

T = TypeVar("T")

Conversation = tuple[Message, ...]

LONGEST_REPLY = 20_000
"""Characters of a reply that are kept; what a model says beyond them is noise."""

_SECTION = re.compile(r"^=== (\w+) ===\n", re.MULTILINE)
_THOUGHT_BEFORE = re.compile(r"\A.*</(think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
"""Some servers give only the end of a model's reasoning a mark: its beginning was in the prompt."""

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)


class ReplyError(Exception):
    """A reply does not have the form that its role asks for; the message says what was missing, to the model too."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A role's prompt template: named sections with ``$names`` to fill in, read from a file beside the role."""

    name: str
    sections: Mapping[str, str]

    def render(self, section: str, **values: str) -> str:
        """Fill in one section. What is filled in is never itself read as a template."""
        return Template(self.sections[section]).substitute(values).strip()


@cache
def load_prompt(package: str, name: str) -> Prompt:
    """The template ``NAME.txt`` of ``package``, which is the one that holds the role."""
    text = resources.files(package).joinpath(f"{name}.txt").read_text("utf-8")
    _, *parts = _SECTION.split(text)
    return Prompt(name, dict(zip(parts[::2], parts[1::2], strict=True)))


def template_hashes(package: str) -> dict[str, str]:
    """The SHA-256 of each prompt template in ``package`` by name, sorted."""
    files = sorted(
        (file for file in resources.files(package).iterdir() if file.name.endswith(".txt")), key=lambda file: file.name
    )
    return {file.name.removesuffix(".txt"): sha256(file.read_bytes()).hexdigest() for file in files}


@dataclass(frozen=True, slots=True)
class Role(Generic[T]):
    """One job for a language model: a name, and how its reply is read, strictly first, then leniently.

    Both readers raise ``ReplyError``. ``reply_tokens`` is the role's own budget for a reply, in place of `Sampling`'s.
    """

    name: str
    strict: Callable[[str], T]
    lenient: Callable[[str], T]
    stop: tuple[str, ...] = ()
    reply_tokens: int | None = None

    def read(self, reply: str) -> T:
        """Read ``reply``; reasoning in ``<think>`` marks and code fences are no part of it."""
        text = _THOUGHT_BEFORE.sub("", _THINKING.sub("", reply)).strip()
        try:
            return self.strict(text)
        except ReplyError:
            return self.lenient(text)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a role's model is asked; ``bias`` favours the tokens of texts, for models that take one (`Capabilities`)."""

    max_tokens: int = 512
    temperature: float = 0.0
    seed: int | None = None
    bias: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What came of asking: ``value``, or None with the ``reason``; and the conversation with all that was said.

    ``alternatives`` are the ways in which the reply could have begun, with their log-probabilities (nats), if asked for.
    """

    value: T | None
    reason: str
    conversation: Conversation
    alternatives: tuple[tuple[str, float], ...] = ()


def clean(text: str) -> str:
    """``text`` as it can be recorded: bounded, and without the lone surrogates that no encoding takes."""
    return text[:LONGEST_REPLY].encode("utf-8", "replace").decode("utf-8")


def reply_message(reply: str) -> Message:
    """A reply as it stands in the conversation afterwards; servers refuse an empty one."""
    return Message("assistant", reply if reply.strip() else "(nothing)")


def call_event(role: str, prompt: Conversation, completion: Completion, kept: int | None = None) -> events.ModelCall:
    """The event of a call; of its ``prompt`` only what was added since the role's last reply, or after ``kept`` messages."""
    if kept is None:
        kept = max((i + 1 for i, message in enumerate(prompt) if message.role == "assistant"), default=0)
    return events.ModelCall(
        role=role,
        kept=kept,
        added=tuple(events.Message(role=m.role, content=m.content) for m in prompt[kept:]),
        reply=clean(completion.text),
        finish=completion.finish,
        prompt_tokens=completion.usage.prompt,
        completion_tokens=completion.usage.completion,
    )


def first_words(completion: Completion) -> tuple[tuple[str, float], ...]:
    """The first word of a reply and what could have stood in its place, with their log-probabilities (nats); none but finite
    ones, since a record has no infinity.
    """
    first = next((one for one in completion.tokens if one.token.strip()), None)
    words = {} if first is None else {first.token: first.logprob} | dict(first.alternatives)
    return tuple((clean(word), logprob) for word, logprob in words.items() if math.isfinite(logprob))


async def ask(
    role: Role[T],
    model: Model,
    conversation: Conversation,
    text: str,
    emit: Emitter,
    sampling: Sampling,
    *,
    alternatives: int = 0,
) -> Answer[T]:
    """Say ``text`` to the role's model and read its reply, asking once more where it cannot be read.

    ``conversation`` is what was said before, beginning with the system message. ``alternatives`` asks for so many ways to begin
    the reply, which are recorded with it. Raises ``ModelError`` when the model fails.
    """
    most = role.reply_tokens or sampling.max_tokens
    reason = ""
    begun: tuple[tuple[str, float], ...] = ()
    for final in (False, True):
        conversation = (*conversation, Message("user", clean(text)))
        completion = await model.complete(
            Request(
                conversation,
                stop=role.stop,
                max_tokens=most,
                temperature=sampling.temperature,
                seed=sampling.seed,
                top_logprobs=alternatives,
                bias=dict[int | str, float](sampling.bias) or None,
            )
        )
        call = call_event(role.name, conversation, completion)
        begun = first_words(completion) if alternatives else ()
        if begun:
            noted = tuple(events.Candidate(text=word, logprob=logprob) for word, logprob in begun)
            call = call.model_copy(update={"candidates": noted})
        reply = call.reply
        emit(call, completion.timing)
        conversation = (*conversation, reply_message(reply))
        try:
            return Answer(role.read(reply), "", conversation, begun)
        except ReplyError as error:
            # A model may allow a reply more or fewer tokens than were asked for, so its own count comes first.
            length = completion.usage.completion or most
            reason = f"{error} It was cut off after {length} tokens." if completion.finish == "length" else str(error)
        emit(events.ParseFailed(role=role.name, reply=reply, reason=reason, final=final))
        text = load_prompt("agent.roles", "again").render("user", reason=reason)
    return Answer(None, reason, conversation, begun)
