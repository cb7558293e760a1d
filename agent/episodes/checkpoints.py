"""Checkpoints of an episode, for rewinding: the state of loop and agent between two turns, with a copy of the env."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from copy import copy
from dataclasses import dataclass

from housequest.agent.base import Memory
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Env, Transition
from housequest.worlds.errors import Unsupported, WorldError, shown
from housequest.worlds.household.belief import Belief


@dataclass(slots=True)
class EpisodeState:
    """The state of an episode between two events; its values are immutable, so a shallow copy is a snapshot.

    ``hints`` and ``unseen`` are hints and transitions that the agent has not been given yet. ``rules`` are all that it may show
    its model, ``reported`` the statements of those it did show. ``notes`` are what was found out about the model
    (`housequest.agent.roles.notes`). ``played`` is every executed command with its answer; ``belief`` is what is known by then,
    if rules are selected by it.
    """

    memory: Memory = None
    turn: int = 0
    steps: int = 0
    refused: int = 0
    hints: tuple[str, ...] = ()
    unseen: tuple[Transition, ...] = ()
    rules: tuple[Rule, ...] = ()
    reported: tuple[str, ...] = ()
    notes: frozenset[str] = frozenset()
    played: tuple[Transition, ...] = ()
    belief: Belief | None = None


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    state: EpisodeState
    env: Env | None
    """A copy of the env; None if it cannot be copied, and the commands are played again instead."""


class Checkpoints:
    """The checkpoints of all branches, by the id of the event that ended the turn before, or of ``Started``."""

    def __init__(self) -> None:
        self._saved: dict[int, _Checkpoint] = {}

    def __contains__(self, to: int) -> bool:
        return to in self._saved

    def save(self, at: int, state: EpisodeState, env: Env) -> None:
        """Save ``state`` and a copy of ``env`` under the id ``at``, once."""
        if at not in self._saved:
            copied: Env | None = None
            with suppress(Unsupported):
                copied = env.copy()
            self._saved[at] = _Checkpoint(copy(state), copied)

    def forget_notes(self) -> None:
        """Another model plays from now on, wherever the person goes back to."""
        for saved in self._saved.values():
            saved.state.notes = frozenset()

    def state(self, to: int) -> EpisodeState:
        """A copy of the state at ``to``."""
        return copy(self._saved[to].state)

    async def env(self, to: int, env: Env, *, inline: bool) -> Env:
        """The env as it was at ``to``: a copy, which the caller closes, or ``env`` itself, replayed in a thread.

        Raises ``WorldError`` if a replayed command gets another answer.
        """
        saved = self._saved[to]
        if saved.env is None:
            await asyncio.to_thread(_replay, env, saved.state.played)
            return env
        return saved.env.copy() if inline else await asyncio.to_thread(saved.env.copy)

    def close(self) -> None:
        """Close the copies."""
        for saved in self._saved.values():
            if saved.env is not None:
                saved.env.close()
        self._saved.clear()


def _replay(env: Env, played: tuple[Transition, ...]) -> None:
    env.reset()
    for turn, transition in enumerate(played, 1):
        answer = env.step(transition.command).observation
        if answer != transition.observation:
            raise WorldError(
                f"The game cannot be taken back: command {turn}, {shown(transition.command)}, was answered "
                f"{shown(str(answer))} this time. Start it anew."
            )
