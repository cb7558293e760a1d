"""What an episode has to give: its steps, the conversations of its agent, and the turns that were done over."""

from __future__ import annotations

from dataclasses import dataclass

from housequest.agent.models.base import Message
from housequest.agent.training.export.conversations import Conversation


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
