"""A policy behind completions of plain text: it reads the messages out of the text, and says what a chat's policy would."""

from __future__ import annotations

from dataclasses import dataclass

from housequest.agent.roles.base import MESSAGE, REPLY
from tests.backends.server import Messages, Policy

AFTER = "\nThat place is behind you."


def messages_in(text: str) -> Messages:
    """The conversation that ``text`` is, without the examples."""
    before, _, rest = text.partition(f"\n{MESSAGE}")
    system = before.partition("\nHere is how that went")[0].rstrip()
    turns = f"{MESSAGE}{rest}".partition(AFTER)[2].partition(f"\n{MESSAGE}")[2] if AFTER in text else rest
    found = [{"role": "system", "content": system}]
    for turn in turns.split(f"\n{MESSAGE}"):
        asked, _, replied = turn.partition(REPLY)
        found.append({"role": "user", "content": asked})
        if replied:
            found.append({"role": "assistant", "content": replied.strip()})
    return found


@dataclass(frozen=True)
class Completing:
    """Replies as ``policy`` does, after a space, and goes on with a message of its own, as base models do."""

    policy: Policy

    def __call__(self, messages: Messages) -> str:
        reply = self.policy(messages_in(messages[0]["content"]))
        return f" {reply}\n\n{MESSAGE}You see nothing.{REPLY} Thought: so be it.\nAction: look"
