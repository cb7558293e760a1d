"""Conversations as plain text, for a model that continues text and has no chat template.

The system text comes first, then examples of the role's own replies, then the messages, each between marks. Every message is
written by itself, so a prompt still only grows, and a record of the written messages is the text that was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from housequest.agent.models.base import Message

MESSAGE = "### Message:\n"
REPLY = "\n\n### Reply:"
ENDS = ("\n###",)
"""Where a reply ends: a model that goes on writes the next message itself."""

_BEFORE = "\nHere is how that went in another place:\n"
_AFTER = "\nThat place is behind you. From here on it is about yours:\n"

Exchange = tuple[str, str]
"""A message with the reply to it."""


class Examples(Protocol):
    """What a role was asked elsewhere, and replied, in its own form; nothing where none are known. May take a second."""

    def __call__(self, role: str) -> Sequence[Exchange]: ...


def no_examples(role: str) -> Sequence[Exchange]:
    """No role has any."""
    del role
    return ()


def as_continued(conversation: Sequence[Message], examples: Sequence[Exchange]) -> tuple[Message, ...]:
    """``conversation`` with the marks and ``examples`` of a plain text, which `roles.base.plain_text` joins."""
    shown = _shown(examples)
    return tuple(_marked(message, "" if at else shown, first=at == 0) for at, message in enumerate(conversation))


def as_chat(text: str) -> tuple[Message, ...]:
    """The conversation that was joined to this ``text`` with its marks, without examples; nothing where it has no marks."""
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
    """``message`` as it is written, with what is ``shown`` beside the ``first`` one."""
    match message.role:
        case "system":
            return replace(message, content=f"{message.content}\n{shown}")
        case "user":
            between = f"{shown}\n" if shown or not first else ""
            return replace(message, content=f"{between}{MESSAGE}{message.content}{REPLY}")
        case "assistant":
            return message


def _shown(examples: Sequence[Exchange]) -> str:
    exchanges = (f"\n{MESSAGE}{asked}{REPLY} {replied}\n" for asked, replied in examples)
    return f"{_BEFORE}{''.join(exchanges)}{_AFTER}" if examples else ""
