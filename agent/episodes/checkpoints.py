"""Where an episode can be taken back to: what the loop and the agent knew between two turns, and the house as it was."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.base import Memory
from worlds.base import Env, Transition
from worlds.errors import Unsupported, WorldError, shown

if TYPE_CHECKING:
    from worlds.household.belief import Belief


@dataclass(slots=True)
class EpisodeState:
    """Where an episode stands. It changes as the episode is played; what it holds is immutable, so a copy stays as it is.

    ``hints`` and ``untold`` are what the agent has yet to be told, ``rules`` all that it may show its model, and ``shown``
    what of them it did; ``played`` every command that was executed, with its answer, and ``belief`` what is known by then,
    where rules are chosen by it.
    """

    memory: Memory = None
    turn: int = 0
    steps: int = 0
    refused: int = 0
    hints: tuple[str, ...] = ()
    untold: tuple[Transition, ...] = ()
    rules: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    played: tuple[Transition, ...] = ()
    belief: Belief | None = None


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    stand: EpisodeState
    env: Env | None
    """A copy of the env; None where it has none to give, and the commands are played again."""


class Checkpoints:
    """The checkpoints of all branches of an episode, by the id of the event that ended the turn before, or ``Started``."""

    def __init__(self) -> None:
        self._kept: dict[int, _Checkpoint] = {}

    def __contains__(self, to: int) -> bool:
        return to in self._kept

    def keep(self, at: int, stand: EpisodeState, env: Env) -> None:
        """Keep ``stand`` and a copy of ``env`` under the id ``at``, unless they are kept there."""
        if at in self._kept:
            return
        copied: Env | None = None
        with suppress(Unsupported):
            copied = env.copy()
        self._kept[at] = _Checkpoint(copy(stand), copied)

    def stand(self, to: int) -> EpisodeState:
        """Where the episode stood at ``to``, to go on from."""
        return copy(self._kept[to].stand)

    async def house(self, to: int, env: Env, *, inline: bool) -> Env:
        """An env as it was at ``to``: a copy, which is the caller's to close, or ``env`` itself, played anew in a thread.

        Raises ``WorldError`` where the same commands do not get the same answers.
        """
        kept = self._kept[to]
        if kept.env is None:
            await asyncio.to_thread(_play_again, env, kept.stand.played)
            return env
        return kept.env.copy() if inline else await asyncio.to_thread(kept.env.copy)

    def refusal(self, to: int) -> str:
        """What a person is told who would go back to ``to``, where nothing is kept."""
        return (
            f"There is no way back to event {to}: give the id of the start, or of the end of a turn that another one followed."
        )

    def close(self) -> None:
        """Give back the copies."""
        for kept in self._kept.values():
            if kept.env is not None:
                kept.env.close()
        self._kept.clear()


def _play_again(env: Env, played: tuple[Transition, ...]) -> None:
    env.reset()
    for turn, transition in enumerate(played, 1):
        answer = env.step(transition.command).observation
        if answer != transition.observation:
            raise WorldError(
                f"The game cannot be taken back: command {turn}, {shown(transition.command)}, was answered "
                f"{shown(str(answer))} this time. Start it anew."
            )
