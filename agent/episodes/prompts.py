"""The prompts of a recorded episode, each rebuilt whole: a record holds only what each call added to the one before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from housequest.agent.episodes.events import Event, ModelCall, PromptMessage
from housequest.agent.roles.base import spoken


def whole_prompts(events: Iterable[Event]) -> dict[int, tuple[PromptMessage, ...]]:
    """The prompt of each call in ``events``, on all branches, by the call's id: the messages that were sent."""
    found: dict[int, tuple[PromptMessage, ...]] = {}
    # What each role's conversation is after an event; branches share what they began with.
    after: dict[int | None, Mapping[str, tuple[PromptMessage, ...]]] = {None: {}}
    for event in events:
        before = after[event.parent] if event.parent in after else after[None]
        if isinstance(called := event.body, ModelCall):
            found[event.id] = prompt = (*before.get(called.role, ())[: called.kept], *called.added)
            before = {**before, called.role: (*prompt, PromptMessage.of(spoken(called)))}
        after[event.id] = before
    return found
