"""A household for several players, made of an env for each, whose states are brought into line after every step.

Players see one another within a room: where each stands and what it carries. What somebody does is noticed from the same place,
or in a world that shows whole rooms, in the room. So news come from comparing before and after, and a deed is its answer in the
third person: "You open the fridge 1. In it, you see ..." is "Bob opens the fridge 1." for the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

from housequest.worlds.base import Env, Observation, Step, Task
from housequest.worlds.household import news
from housequest.worlds.household.belief import names
from housequest.worlds.shared import WAIT, checked_players, known_player

MOST_NEWS = 50  # sentences kept for a player who does nothing; the oldest are dropped


class CopiedEnv(Env, Protocol):
    """An env whose copy is of its own class."""

    def copy(self) -> Self:
        """An independent env in the same state."""
        ...


E = TypeVar("E", bound=CopiedEnv)


class Figure(NamedTuple):
    """A player as others see it: its room, the place where it stands ("" in the middle of a room), and what it carries."""

    room: str | None
    at: str
    carried: tuple[str, ...] = ()


class SharedHousehold(ABC, Generic[E]):
    """A ``Shared`` house in which each player has an env of its own.

    Args:
        envs: The players' envs over one task, by name.
        hands: The number of things that a player can carry.
    """

    def __init__(self, envs: Mapping[str, E], hands: int) -> None:
        self.players = checked_players(tuple(envs))
        self.envs: dict[str, E] = dict(envs)
        self._hands = hands
        self._news: dict[str, tuple[str, ...]] = dict.fromkeys(self.players, ())

    @abstractmethod
    def figure(self, player: str) -> Figure:
        """A player's body now. Raises ``OrderError`` before the first reset."""

    @abstractmethod
    def notices(self, observer: str, actor: str, things: tuple[str, ...]) -> bool:
        """True if ``observer``, who is in the same room, sees what ``actor`` has just done with these things."""

    def beside(self, player: str, other: str) -> bool:
        """True if one can reach the other."""
        return self.figure(player)[:2] == self.figure(other)[:2]

    @abstractmethod
    def spread(self, actor: str) -> None:
        """Bring the other envs into line with that of ``actor``, who has just acted."""

    @abstractmethod
    def hand_over(self, giver: str, receiver: str, thing: str) -> None:
        """Move a thing from hand to hand in the envs of these two."""

    @abstractmethod
    def refusal(self, why: str) -> str:
        """The world's answer to a refused command; ``why`` has no full stop."""

    @property
    def task(self) -> Task:
        return self.envs[self.players[0]].task

    def reset(self) -> dict[str, Step]:
        openings = {player: env.reset() for player, env in self.envs.items()}
        self._news = dict.fromkeys(self.players, ())
        if len(self.players) > 1:
            self.spread(self.players[0])
            # Everybody comes in at once: those who see one another are new to each other.
            self._tell({player: Figure(None, "") for player in self.players})
        return openings

    def step(self, player: str, command: str) -> Step:
        env = self._env(player)
        if len(self.players) == 1:
            return env.step(command)
        before = {one: self.figure(one) for one in self.players}
        step = self._in_company(player, command.strip()) or env.step(command)
        self._news[player] = ()
        if step.observation.accepted:
            self.spread(player)
            self._tell(before, player, step.observation.text)
        met, total = self.goal_conditions() or (0, -1)
        return replace(step, won=met == total, terminated=step.terminated or met == total)

    def news(self, player: str) -> tuple[str, ...]:
        return self._news[known_player(self.players, player)]

    def admissible_commands(self, player: str) -> tuple[str, ...] | None:
        own = self._env(player).admissible_commands()
        if own is None or len(self.players) == 1:
            return own
        given = [(thing, other) for thing in self.figure(player).carried for other in self.players]
        gifts = (news.gift(*one) for one in given if not self._hindrance(player, *one))
        return tuple(sorted((*own, WAIT, *gifts)))

    def goal_conditions(self) -> tuple[int, int] | None:
        # What needs a body, such as to hold a thing beside a lamp, is met if anybody does it.
        return max((found for env in self.envs.values() if (found := env.goal_conditions())), default=None)

    def copy(self) -> Self:
        other = copy(self)
        other.envs = {player: env.copy() for player, env in self.envs.items()}
        other._news = dict(self._news)
        return other

    def close(self) -> None:
        for env in self.envs.values():
            env.close()

    def _env(self, player: str) -> E:
        return self.envs[known_player(self.players, player)]

    def _in_company(self, player: str, command: str) -> Step | None:
        """The answer to a command that there is only in company."""
        if command == WAIT:
            return Step(Observation("You wait."))
        if (read := news.read_gift(command)) is None:
            return None
        thing, named = read
        other = next((one for one in self.players if one.casefold() == named.casefold()), named)
        if why := self._hindrance(player, thing, other):
            return Step(Observation(self.refusal(why), accepted=False))
        self.hand_over(player, other, thing)
        return Step(Observation(f"You give the {thing} to {other}."))

    def _hindrance(self, player: str, thing: str, other: str) -> str:
        """The reason why a thing cannot be given, "" if it can be."""
        giver = self.figure(player)
        if other == player or other not in self.players:
            others = " and ".join(one for one in self.players if one != player)
            return f"Nobody else called {other} is here, only {others}"
        if thing not in giver.carried:
            return f"You do not hold the {thing}"
        receiver = self.figure(other)
        if not self.beside(player, other):
            return f"{other} is not here; go to the same place first"
        return "" if len(receiver.carried) < self._hands else f"{other} has no free hand"

    def _tell(self, before: Mapping[str, Figure], actor: str = "", answer: str = "") -> None:
        deed, now = news.deed(actor, answer), {one: self.figure(one) for one in self.players}
        for observer in self.players:
            told = tuple(self._noticed(observer, actor, deed, before, now))
            self._news[observer] = (*self._news[observer], *told)[-MOST_NEWS:]

    def _noticed(
        self, observer: str, actor: str, deed: str, before: Mapping[str, Figure], now: Mapping[str, Figure]
    ) -> Iterator[str]:
        for one in (player for player in self.players if player != observer):
            was, there = before[one], now[one]
            saw = was.room == before[observer].room is not None
            if there.room != now[observer].room:
                if saw and was.room != there.room:
                    yield news.leaving(one)
            elif saw and was.at != there.at:
                yield news.going(one, there.at)
            elif saw and one == actor and deed and self.notices(observer, actor, names(deed)):
                yield news.addressed(deed, observer)
            elif not saw or was.carried != there.carried:
                yield news.standing(one, there.room or "", there.at, there.carried)
