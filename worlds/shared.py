"""The contract of a house for several players.

A world that is `Shareable` makes a `Shared` house of a task. Each player has a `Seat` there, which is an ordinary env: agents,
readers and wrappers take it as it is. What a player notices of the others is *news*: sentences in a field of their own, and
never part of an answer, since answers are believed. `housequest.worlds.checking.check_world` checks this contract, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Protocol, Self, runtime_checkable

from housequest.worlds.base import Step, Task
from housequest.worlds.errors import ConfigurationError, shown

MOST_PLAYERS = 4
WAIT = "wait"  # lets a turn pass and changes nothing; a command only in company
_PLAYER = re.compile(r"[^\W\d_]{1,20}")
_PRONOUNS = frozenset({"i", "you", "we", "they", "he", "she", "it", "the", "nobody", "everybody", "nothing"})


@runtime_checkable
class Shared(Protocol):
    """One running task with several players in it. Not thread-safe; a copy is independent of its original.

    Nobody moves but by `step`, and the same steps in the same order always give the same answers and news; so if two players
    want one thing, the first to act has it. A single player plays exactly the game of `World.open`. In company there are two
    more commands: ``give THING to NAME`` for somebody at the same place with a free hand, and `WAIT`.
    """

    @property
    def task(self) -> Task:
        """The task being played."""
        ...

    @property
    def players(self) -> tuple[str, ...]:
        """The players' names, in the order in which they were given."""
        ...

    def reset(self) -> Mapping[str, Step]:
        """Start, or start again, for everybody.

        Returns:
            The opening of each player.
        """
        ...

    def step(self, player: str, command: str) -> Step:
        """Execute a player's command, whoever acted last.

        Args:
            player: One of `players`.
            command: Any text at all.

        Returns:
            The answer, for this player alone. It is won, and over, once the goal is reached, no matter by whom.

        Raises:
            OrderError: The house was not reset.
        """
        ...

    def news(self, player: str) -> tuple[str, ...]:
        """Tell what a player noticed of the others since its own last command; reading them changes nothing.

        Args:
            player: One of `players`.

        Returns:
            Sentences, the oldest first, each beginning with the name of another player. They tell nothing that this player
            could not see from where it stands, and never what is left in a closed place.
        """
        ...

    def admissible_commands(self, player: str) -> tuple[str, ...] | None:
        """List the commands of a player that would be accepted now.

        Args:
            player: One of `players`.

        Returns:
            The commands, sorted; None if the world cannot list them.
        """

    def goal_conditions(self) -> tuple[int, int] | None:
        """Count the goal's conditions, for the recorder and never for a player.

        Returns:
            The number that are met, and the number of all; None if the world cannot tell.
        """

    def copy(self) -> Shared:
        """Copy the house.

        Returns:
            An independent house in the same state, with the same news.

        Raises:
            Unsupported: The house cannot be copied.
        """
        ...

    def close(self) -> None:
        """Release what the house holds. It is not used afterwards."""


@runtime_checkable
class Shareable(Protocol):
    """A world whose tasks can be played by several players in one house."""

    def share(self, task: Task, players: Sequence[str]) -> Shared:
        """Open a task to be played by several.

        Args:
            task: One of this world's tasks.
            players: One to four names, each one word of at most 20 letters.

        Returns:
            A new house, to be reset before its first step.

        Raises:
            GameError: The game is missing or damaged.
            ConfigurationError: The names cannot be told apart.
            Unsupported: This world's options are for one player alone.
        """
        ...

    def par(self, task: Task, players: int) -> int | None:
        """Hidden: the rounds in which players who know everything reach the goal, for metrics; call it in a thread.

        Args:
            task: One of this world's tasks.
            players: Their number. For one, this is the shortest solution, as far as it is found; for more, an upper bound.

        Returns:
            The rounds; None if they are not known.
        """


@runtime_checkable
class Companion(Protocol):
    """A policy that plays in company: it takes in news, and says something beside its command."""

    def hear(self, memory: Any, player: str, others: Sequence[str], news: Sequence[str]) -> Any:
        """Take in what happened since the last command. Call it once before each decision, also without news.

        Args:
            memory: The policy's memory.
            player: Its own name.
            others: The names of the other players.
            news: The sentences of `Shared.news`, and what others said, as `housequest.worlds.household.talk.quoted` tells it.

        Returns:
            The memory to decide by.
        """

    def says(self, memory: Any) -> tuple[str, ...]:
        """Tell what to say beside the command.

        Args:
            memory: The memory after the decision.

        Returns:
            Messages to all other players; none if there is nothing to say.
        """
        ...


class Seat:
    """A player's view of a shared house: an `Env` without a state of its own.

    Args:
        shared: The house.
        player: One of its players.

    Raises:
        ConfigurationError: Nobody of this name plays there.
    """

    def __init__(self, shared: Shared, player: str) -> None:
        self.shared, self.player = shared, known_player(shared.players, player)

    @property
    def task(self) -> Task:
        """The task being played."""
        return self.shared.task

    def reset(self) -> Step:
        """Start the house, or start it again, for everybody.

        Returns:
            This player's opening.
        """
        return self.shared.reset()[self.player]

    def step(self, command: str) -> Step:
        """Execute a command of this player.

        Args:
            command: Any text at all.

        Returns:
            The answer for this player.
        """
        return self.shared.step(self.player, command)

    def news(self) -> tuple[str, ...]:
        """Tell what this player noticed of the others since its last command.

        Returns:
            The sentences of `Shared.news`.
        """
        return self.shared.news(self.player)

    def admissible_commands(self) -> tuple[str, ...] | None:
        """List the commands that would be accepted from this player now.

        Returns:
            The commands, sorted; None if the world cannot list them.
        """
        return self.shared.admissible_commands(self.player)

    def goal_conditions(self) -> tuple[int, int] | None:
        """Count the goal's conditions that are met, and all of them.

        Returns:
            Both numbers; None if the world cannot tell.
        """
        return self.shared.goal_conditions()

    def copy(self) -> Self:
        """Copy the whole house.

        Returns:
            The same seat in the copy.
        """
        other = copy(self)
        other.shared = self.shared.copy()
        return other

    def close(self) -> None:
        """Close the house for everybody."""
        self.shared.close()


def known_player(players: Sequence[str], player: str) -> str:
    """The name, if it is one of the ``players``. Raises ``ConfigurationError``."""
    if player not in players:
        raise ConfigurationError(f"Nobody called {shown(player)} plays here; players are {', '.join(players)}.")
    return player


def checked_players(players: Sequence[str]) -> tuple[str, ...]:
    """The names, if they can be told apart in sentences. Raises ``ConfigurationError``.

    Args:
        players: One to four names of up to 20 letters each.
    """
    if not 1 <= len(players) <= MOST_PLAYERS:
        raise ConfigurationError(f"A house is for 1 to {MOST_PLAYERS} players, not {len(players)}.")
    for name in players:
        if not _PLAYER.fullmatch(name) or name.casefold() in _PRONOUNS:
            raise ConfigurationError(f"{shown(name, 40)} is not a player's name; give one word of at most 20 letters.")
    if len({name.casefold() for name in players}) < len(players):
        raise ConfigurationError(f"Two players of {', '.join(players)} have one name; each needs its own.")
    return tuple(players)
