"""What an episode has to give: its steps, the turns that were done over, and conversations of its agent to learn from.

A file has one conversation a line, as JSON: its messages, and which of them are learned.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from housequest.agent.models.base import Message
from housequest.agent.roles.base import reply_message


@dataclass(frozen=True, slots=True)
class Call:
    """A prompt with the reply to it; ``learned``: whether that is one to learn, ``plain``: whether it continued plain text."""

    messages: tuple[Message, ...]
    reply: str
    learned: bool = True
    plain: bool = False

    @property
    def whole(self) -> tuple[Message, ...]:
        """The prompt and the reply, as they stand in the next prompt."""
        return (*self.messages, reply_message(self.reply))


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages, and the places of the replies among them that are ``learned``; ``origin`` says where they were played.

    ``plain``: they were sent as one plain text (`housequest.agent.roles.base.plain_text`), which the model continued.
    """

    origin: str
    agent: str
    messages: tuple[Message, ...]
    learned: tuple[int, ...]
    plain: bool = False

    def __str__(self) -> str:
        messages = [{"role": one.role, "content": one.content} for one in self.messages]
        fields = {"origin": self.origin, "agent": self.agent, "messages": messages, "learned": self.learned}
        return json.dumps(fields | ({"plain": True} if self.plain else {}), ensure_ascii=False)

    @classmethod
    def read(cls, line: str) -> Conversation:
        """The conversation of a line."""
        fields = json.loads(line)
        messages = tuple(Message(one["role"], one["content"]) for one in fields["messages"])
        return cls(fields["origin"], fields["agent"], messages, tuple(fields["learned"]), fields.get("plain", False))


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """A command with the observation that followed; ``by``: who chose it."""

    command: str
    observation: str
    by: str = "agent"


@dataclass(frozen=True, slots=True)
class Preference:
    """Two replies to one prompt, of which the first is the better."""

    prompt: tuple[Message, ...]
    chosen: str
    rejected: str


@dataclass(frozen=True, slots=True)
class ExportedEpisode:
    """A played episode. ``origin`` is its task as ``split:number``, and ``model`` what answered; None where nothing did."""

    world: str
    origin: str
    agent: str
    model: str | None
    won: bool
    opening: str
    steps: tuple[PlayedStep, ...]
    conversations: tuple[Conversation, ...]
    preferences: tuple[Preference, ...] = ()


def joined(origin: str, agent: str, calls: Iterable[Call]) -> Iterator[Conversation]:
    """The conversations of an episode's ``calls``: one that begins with another and its reply goes on with that.

    Prompts that only grow are then learned in one pass, and each token of them is computed once.
    """
    threads: list[_Thread] = []
    for call in calls:
        grown = (thread for thread in threads if call.messages[: len(thread.whole)] == thread.whole)
        thread = max(grown, key=lambda each: len(each.whole), default=None)
        if thread is None:
            threads.append(_Thread([call], call.whole))
        else:
            thread.calls.append(call)
            thread.whole = call.whole
    for thread in threads:
        learned = tuple(len(call.messages) for call in thread.calls if call.learned)
        if learned:
            yield Conversation(origin, agent, thread.whole, learned, thread.calls[0].plain)


@dataclass(slots=True)
class _Thread:
    """Calls of which each goes on with the one before, and the last one's prompt and reply."""

    calls: list[Call]
    whole: tuple[Message, ...]


def save(conversations: Iterable[Conversation], file: Path) -> int:
    """Write ``conversations``, one a line; how many they are."""
    number = 0
    with file.open("w", encoding="utf-8") as lines:
        for conversation in conversations:
            lines.write(f"{conversation}\n")
            number += 1
    return number


def load(file: Path) -> list[Conversation]:
    """The conversations of a file."""
    with file.open(encoding="utf-8") as lines:
        return [Conversation.read(line) for line in lines]
