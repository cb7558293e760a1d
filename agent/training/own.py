"""The model playing its own games, for DAgger (Ross et al., AISTATS 2011): the expert says what it should have done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from housequest.agent.agents.reasoner_actor.agent import ACTOR
from housequest.agent.models.base import Message, Request
from housequest.agent.models.builtin.model import load_builtin
from housequest.agent.processes import in_processes
from housequest.agent.roles.base import ReplyError
from housequest.agent.roles.demonstrations import STUCK
from housequest.agent.training.corpus import made_up_game, spread, train_game
from housequest.agent.training.demonstrations import MISSTEPS, TrainingSample, demonstrate
from housequest.worlds.alfworld.world import AlfworldWorld


class OwnGame(NamedTuple):
    """A game to play: its number among all, a published game's reference, or None and the seed of a made-up ``house``."""

    number: int
    reference: str | None
    house: int = 0


def own_samples(
    file: Path, data: Path | None, seed: int, games: int | None, first: int, houses: int, processes: int
) -> Iterator[TrainingSample]:
    """The model of ``file`` plays ``games`` of ``train`` (None: all), and so many made-up ``houses`` from ``first`` on."""
    tasks = spread(AlfworldWorld(data=data).tasks("train"), games)
    published = [OwnGame(number, task.reference) for number, task in enumerate(tasks)]
    made_up = [OwnGame(len(published) + at, None, first + at) for at in range(houses)]
    for samples in in_processes(partial(_Player, file, data, seed), [*published, *made_up], processes):
        yield from samples


class _Player:
    """Plays one game after another."""

    def __init__(self, file: Path, data: Path | None, seed: int) -> None:
        self._seed, self._world = seed, AlfworldWorld(data=data)
        self._model, self._loop = load_builtin(file), asyncio.new_event_loop()

    def __call__(self, item: OwnGame) -> list[TrainingSample]:
        if item.reference is None:
            game = made_up_game(item.house, self._seed)
        else:
            game = train_game(self._world, self._world.task(item.reference), human=False)
        if game is None:
            return []
        # With fewer missteps than the expert's games, since the model makes its own.
        random = Random(f"own {self._seed} {item.number}")
        return list(demonstrate(game.env, game.goal, random, self._command, missteps=MISSTEPS / 4))

    def close(self) -> None:
        self._loop.close()

    def _command(self, prompt: str) -> str:
        """The command that the model gives; ``look`` if its reply cannot be read."""
        asked = Request((Message("user", prompt),), max_tokens=96)
        reply = self._loop.run_until_complete(self._model.complete(asked)).text
        try:
            return ACTOR.read(reply).command or STUCK
        except ReplyError:
            return "look"
