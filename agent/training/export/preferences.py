"""Pairs of replies for learning from preferences (DPO, Rafailov et al., NeurIPS 2023), from what was done over.

A turn is done over where a reply could not be read and the model was asked again, where a person asked again or for another
command, and where a person rewound. The episode's final branch has what was done in the end: that is chosen, and what was
given up is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from housequest.agent.episodes.events import Event, ModelCall, ParseFailed, PromptMessage, branch
from housequest.agent.models.base import Message
from housequest.agent.roles.base import STUB
from housequest.agent.training.export.conversations import Preference

_Prompts = Mapping[int, tuple[PromptMessage, ...]]


def preferences(events: Sequence[Event], prompts: _Prompts) -> Iterator[Preference]:
    """The pairs in an episode, whose whole ``prompts`` are known. Prompts with pictures, which are not recorded, give none."""
    final = branch(events)
    kept = {event.id for event in final}
    parents = {event.id: event.parent for event in events}
    unread = {event.parent for event in events if isinstance(event.body, ParseFailed)}
    calls = [(event.id, event.body) for event in events if isinstance(event.body, ModelCall)]
    in_the_end = [(id, call) for id, call in calls if id in kept and id not in unread and call.reply.strip()]
    for id, given_up in calls:
        if (id in kept and id not in unread) or not given_up.reply.strip():
            continue
        asked, fork = prompts[id], _fork(id, parents, kept)
        if any(message.image for message in asked):
            continue
        answers = (call for at, call in in_the_end if at > fork and _answers(call, prompts[at], given_up, asked))
        better = next(answers, None)
        if better is not None and better.reply != given_up.reply:
            yield Preference(tuple(Message(one.role, one.content) for one in asked), better.reply, given_up.reply)


def _fork(event: int, parents: Mapping[int, int | None], kept: set[int]) -> int:
    """The last event on the final branch before ``event``."""
    at = parents[event]
    while at is not None and at not in kept:
        at = parents.get(at)
    return -1 if at is None else at


def _answers(better: ModelCall, prompt: Sequence[PromptMessage], given_up: ModelCall, asked: Sequence[PromptMessage]) -> bool:
    """Whether the call ``better`` answers what the reply that was ``given_up`` was ``asked``.

    Its prompt may go on: with a hint in the last message, or with the unreadable reply and what was wrong with it.
    """
    same, rest = prompt[: len(asked)], prompt[len(asked) :]
    if better.role != given_up.role or len(same) < len(asked) or same[:-1] != tuple(asked[:-1]):
        return False
    if rest:
        repaired = rest[0].role == "assistant" and rest[0].content.startswith(given_up.reply[:STUB].rstrip())
        return same[-1] == asked[-1] and len(rest) == 2 and repaired
    return same[-1].role == asked[-1].role and same[-1].content.startswith(asked[-1].content)
