"""Rounds of DAgger: the model plays, the expert says at each state what it would have done (Ross et al., AISTATS 2011).

The reasoner's own wrong plans become plans that failed, with the right one for an answer: what to think of next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from agent.agents.reasoner_actor.roles import ACTOR, REASONER
from agent.models.base import Message, Request
from agent.models.builtin.model import BuiltinModel
from agent.roles import brief
from agent.roles.base import ReplyError
from agent.training.corpus import TrainingGame
from agent.training.demonstrations import MISSTEPS, TrainingSample, play
from agent.training.teacher import STUCK, SearchOrder, Teacher, plan_of, planned
from worlds.alfworld.expert import make_expert
from worlds.alfworld.text import reader

_MISREADINGS = 4


@dataclass(frozen=True, slots=True)
class ModelPlayer:
    """The model as a player of its own games."""

    model: BuiltinModel
    loop: asyncio.AbstractEventLoop

    def reply(self, prompt: str, *, temperature: float = 0.0, seed: int = 0) -> str:
        call = self.model.complete(Request((Message("user", prompt),), max_tokens=96, temperature=temperature, seed=seed))
        return self.loop.run_until_complete(call).text

    def command(self, prompt: str) -> str:
        """What it would do; a reply that cannot be read leads nowhere, as in a game."""
        try:
            return ACTOR.read(self.reply(prompt)).command or STUCK
        except ReplyError:
            return "look"


def actor_samples(games: Iterable[TrainingGame], own: ModelPlayer, seed: int) -> Iterator[TrainingSample]:
    """Each game once, played by the model, with fewer missteps than the expert's."""
    teacher = Teacher(make_expert())
    for number, game in enumerate(games):
        yield from play(game.env, game.goal, teacher, Random(f"own {seed} {number}"), own.command, missteps=MISSTEPS / 4)


def reasoner_samples(games: Iterable[TrainingGame], own: ModelPlayer, seed: int) -> Iterator[TrainingSample]:
    """Each goal in people's words that the model misreads when it is made to guess."""
    for game in games:
        opening = game.env.reset().observation
        belief = reader.begin(opening)
        right = plan_of(game.goal, SearchOrder())
        for sentence in game.human:
            failed: list[tuple[str, ...]] = []
            for guess in range(_MISREADINGS):
                prompt = brief.planning(sentence, belief, (), (), failed)
                try:
                    plan = REASONER.read(own.reply(prompt, temperature=1.2, seed=seed + guess)).steps
                except ReplyError:
                    continue
                if plan is None or plan == right or plan in failed:
                    continue
                failed.append(plan)
                yield TrainingSample(brief.planning(sentence, belief, (), (), failed), planned(game.goal, SearchOrder()))
