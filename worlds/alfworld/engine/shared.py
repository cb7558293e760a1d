"""Games of the native engine for several players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from housequest.worlds.alfworld.engine.game import NOTHING, Game
from housequest.worlds.alfworld.engine.native import REFUSED, NativeEnv
from housequest.worlds.base import Step, Task
from housequest.worlds.household.sharing import Figure, SharedHousehold


class SharedNative(SharedHousehold[NativeEnv]):
    """A house for several players: all of a `State` is shared but the place and the hand.

    Args:
        task: The task being played.
        game: Its game.
        players: Their names. Raises ``ConfigurationError``.
        rooms: The room of each receptacle in a home of several rooms; all see one another in a house without.
    """

    def __init__(self, task: Task, game: Game, players: Sequence[str], rooms: Mapping[str, str] | None = None) -> None:
        super().__init__({player: NativeEnv(task, game) for player in players}, hands=1)
        self._game, self._rooms = game, rooms or {}
        self._went: Mapping[str, str] = {}

    def figure(self, player: str) -> Figure:
        game, state = self._game, self.envs[player].state
        here, went = self._around(player), self._went.get(player)
        at = went if went in here else next(iter(here), "")
        return Figure(self._rooms.get(at, ""), at, () if state.held == NOTHING else (game.objects[state.held],))

    def step(self, player: str, command: str) -> Step:
        verb, _, name = command.strip().partition("go to ")
        if not verb and name in self._game.receptacles and name not in self._around(player):
            # Several receptacles may be at one place: others see to which of them somebody went.
            self._went = {**self._went, player: name}
        return super().step(player, command)

    def notices(self, observer: str, actor: str, things: tuple[str, ...]) -> bool:
        del things
        return self.beside(observer, actor)

    def beside(self, player: str, other: str) -> bool:
        return self.envs[player].state.place == self.envs[other].state.place

    def _around(self, player: str) -> list[str]:
        return [self._game.receptacles[one] for one in self._game.receptacles_at[self.envs[player].state.place]]

    def spread(self, actor: str) -> None:
        house = self.envs[actor].state
        carried = {env.state.held for env in self.envs.values()}
        if any(not carried.isdisjoint(things) for things in house.contents):
            # In some published games a thing is in two places until somebody takes it; it must not be taken twice.
            house = house._replace(
                contents=tuple(tuple(one for one in things if one not in carried) for things in house.contents),
                lying=tuple(things - carried for things in house.lying),
            )
        for env in self.envs.values():
            env.enter(house._replace(place=env.state.place, held=env.state.held))

    def hand_over(self, giver: str, receiver: str, thing: str) -> None:
        del thing  # there is but one hand
        held = self.envs[giver].state.held
        for player, now in ((giver, NOTHING), (receiver, held)):
            self.envs[player].enter(self.envs[player].state._replace(held=now))

    def refusal(self, why: str) -> str:
        del why
        return REFUSED
