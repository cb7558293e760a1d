"""Episodes as lines of JSON, in the forms that trainers read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from housequest.agent.models.base import Message
from housequest.agent.roles.base import plain_text
from housequest.agent.training.export.conversations import Conversation, ExportedEpisode

Line = dict[str, Any]
_SPEAKERS = {"user": "human", "assistant": "gpt"}
_NUMBER = re.compile(r"\d+\.")


def messages(episode: ExportedEpisode) -> Iterator[Line]:
    """A conversation a line, as Hugging Face has them; as OpenAI has it, a reply not to be learned has the ``weight`` 0."""
    for one in episode.conversations:
        yield {"messages": _said(one, "role", "content", {}), **_about(episode)}


def sharegpt(episode: ExportedEpisode) -> Iterator[Line]:
    """A conversation a line, as ShareGPT has them."""
    for one in episode.conversations:
        yield {"conversations": _said(one, "from", "value", _SPEAKERS), **_about(episode)}


def alpaca(episode: ExportedEpisode) -> Iterator[Line]:
    """A reply a line, with its whole prompt as the instruction; a list that the model continued item by item is one line.

    The latter is the form that LoTa-Bench's planners learned from (appendix G).
    """
    for one in episode.conversations:
        if (listed := _listed(one)) is not None:
            yield {"instruction": listed[0], "input": "", "output": listed[1], **_about(episode)}
            continue
        text = plain_text if one.plain else _text
        for place in one.learned:
            instruction, reply = text(one.messages[:place]), one.messages[place].content
            yield {"instruction": instruction, "input": "", "output": f" {reply}" if one.plain else reply, **_about(episode)}


def steps(episode: ExportedEpisode) -> Iterator[Line]:
    """A command a line: what was seen before and after it, its reward (1 for the one that wins), whether it was the last."""
    seen, last = episode.opening, len(episode.steps)
    for number, step in enumerate(episode.steps, 1):
        done = number == last
        yield {
            "step": number,
            "observation": seen,
            "command": step.command,
            "next_observation": step.observation,
            "reward": float(done and episode.won),
            "done": done,
            "by": step.by,
            **_about(episode),
        }
        seen = step.observation


def dpo(episode: ExportedEpisode) -> Iterator[Line]:
    """Two replies to one prompt a line, the better one and the one that was given up, as TRL has them."""
    for pair in episode.preferences:
        yield {
            "prompt": [{"role": message.role, "content": message.content} for message in pair.prompt],
            "chosen": [{"role": "assistant", "content": pair.chosen}],
            "rejected": [{"role": "assistant", "content": pair.rejected}],
            **_about(episode),
        }


FORMATS: Mapping[str, Callable[[ExportedEpisode], Iterator[Line]]] = {
    "messages": messages,
    "sharegpt": sharegpt,
    "alpaca": alpaca,
    "steps": steps,
    "dpo": dpo,
}


def _about(episode: ExportedEpisode) -> Line:
    """Where a line comes from."""
    about = {"world": episode.world, "task": episode.origin, "agent": episode.agent, "model": episode.model}
    return {**about, "won": episode.won}


def _said(conversation: Conversation, speaker: str, text: str, speakers: Mapping[str, str]) -> list[Line]:
    """The messages, whose keys are ``speaker`` and ``text``; every reply has a weight, since a data set's lines are alike."""
    return [
        {speaker: speakers.get(one.role, one.role), text: one.content}
        | ({"weight": int(place in conversation.learned)} if one.role == "assistant" else {})
        for place, one in enumerate(conversation.messages)
    ]


def _text(prompt: Sequence[Message]) -> str:
    return "\n".join(message.content for message in prompt)


def _listed(conversation: Conversation) -> tuple[str, str] | None:
    """The instruction and the numbered list that answers it, where each message after the first ones asks for the next item."""
    first, *rest = conversation.learned
    replies = range(first, len(conversation.messages), 2)
    between = [conversation.messages[place] for place in range(first + 1, len(conversation.messages), 2)]
    if not rest or list(replies) != [first, *rest] or not all(_NUMBER.fullmatch(message.content) for message in between):
        return None
    instruction, number = _text(conversation.messages[:first]), "1."
    if not instruction.endswith(number):
        return None
    said = (message.content for message in conversation.messages[first:])
    return instruction.removesuffix(number).rstrip(), " ".join((number, *said))
