"""The games to learn from, played by agents whose model is the expert. Never one of ``valid_seen`` or ``valid_unseen``."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from random import Random

from agent.agents.registry import make_agent, resolve_settings
from agent.episodes.loop import EpisodeConfig, run_episode
from agent.episodes.splits import EVALUATION_SEEDS, LEARNT_FROM
from agent.export.conversations import Conversation, joined
from agent.export.episode import ExportedEpisode, PlayedStep
from agent.training.lora.teacher import MOST_STEPS, Teacher, replies_of, watched
from worlds.alfworld.data.annotations import sentences_of
from worlds.alfworld.data.tasks import GENERATED, TRAJECTORY_FILE
from worlds.alfworld.text.goals import read_goal
from worlds.alfworld.world import AlfworldWorld
from worlds.base import Task
from worlds.errors import ConfigurationError, shown
from worlds.household.goals import Goal
from worlds.options import Scalar

DEFAULT_HOUSES = 1_000
"""Made-up houses that are played if no number is given."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """What is played to learn from: so many made-up ``houses``, and games of ``train``, by these ``agents`` in turn.

    With ``people`` each game of ``train`` is played once more for every annotator's goal. ``missteps`` is the share of random
    commands, whose replies are not learned, and ``settings`` are the agents'.
    """

    agents: tuple[str, ...] = ("lota",)
    settings: Mapping[str, Scalar] | None = None
    houses: int = 400
    games: int = 0
    people: bool = False
    missteps: float = 0.1
    seed: int = 1

    def check(self) -> None:
        """Raise ``ConfigurationError`` for what cannot be played."""
        if self.houses > EVALUATION_SEEDS:
            raise ConfigurationError(
                f"Houses from {EVALUATION_SEEDS:,} on are for evaluation; learn from fewer than {self.houses:,}."
            )
        for agent in self.agents:
            replies_of(agent)
            resolve_settings(agent, self.settings or {})


@dataclass(frozen=True, slots=True)
class _Game:
    """A task with its goal as it is meant, whoever worded it."""

    task: Task
    goal: Goal


def demonstrated(
    lessons: Lessons, data: Path | None = None, played: Callable[[int, int], None] | None = None
) -> Iterator[Conversation]:
    """The conversations of all games that the expert wins through the agents; ``played`` hears how many of how many are over.

    Raises ``ConfigurationError``.
    """
    lessons.check()
    world = AlfworldWorld(data=data)
    games = chain(_made_up(world, range(lessons.houses)), _published(world, lessons.games, people=lessons.people))
    with asyncio.Runner() as runner:
        # A run of the runner's own sets up the handling of Ctrl-C each time.
        run = runner.get_loop().run_until_complete
        for number, game in enumerate(games):
            for agent in lessons.agents:
                episode = run(_taught(world, game, agent, lessons))
                yield from episode.conversations if episode is not None else ()
            if played is not None:
                played(number + 1, max(number + 1, lessons.houses + lessons.games))


@dataclass(slots=True)
class Demonstrations:
    """The expert's games in the prompts of ``agent``, in an order drawn by ``seed``: so many of ``split``, or all.

    ``split`` is ``train``, ``example`` or ``generated``, whose houses begin at the seed in ``generated:SEED``. ``left_out``
    counts the games that are not won, by why, as these are played.
    """

    agent: str
    split: str = "train"
    games: int | None = None
    settings: Mapping[str, Scalar] | None = None
    missteps: float = 0.0
    people: bool = False
    seed: int = 1
    data: Path | None = None
    left_out: Counter[str] = field(default_factory=Counter[str])

    def __iter__(self) -> Iterator[ExportedEpisode]:
        """Raises ``ConfigurationError`` for what cannot be played or must not be learned from."""
        lessons = Lessons((self.agent,), self.settings, missteps=self.missteps, seed=self.seed)
        lessons.check()
        world = AlfworldWorld(data=self.data)
        games = self._games(world, Random(f"export {self.seed}"))
        with asyncio.Runner() as runner:
            run = runner.get_loop().run_until_complete
            for game in games:
                episode = run(_taught(world, game, self.agent, lessons))
                if episode is None:
                    self.left_out["that the expert does not win"] += 1
                else:
                    yield episode

    def _games(self, world: AlfworldWorld, random: Random) -> Iterator[_Game]:
        split, _, first = self.split.partition(":")
        if split == GENERATED and (first.isdecimal() or not first):
            begin, number = int(first or 0), DEFAULT_HOUSES if self.games is None else self.games
            if begin + number > EVALUATION_SEEDS:
                raise ConfigurationError(f"Houses from {EVALUATION_SEEDS:,} on are for evaluation; give others.")
            seeds = list(range(begin, begin + number))
            random.shuffle(seeds)
            return _made_up(world, seeds)
        if self.split not in LEARNT_FROM:
            evaluates = f"agents are evaluated on {self.split}, so nothing may be learned from it"
            why = evaluates if self.split in world.published_splits else f"there is no {shown(self.split, 40)} to learn from"
            raise ConfigurationError(f"--split: {why}; give train, example, generated or generated:SEED.")
        tasks = list(world.tasks(self.split))
        random.shuffle(tasks)
        return _worded(tasks[: self.games], people=self.people)


def _made_up(world: AlfworldWorld, seeds: Iterable[int]) -> Iterator[_Game]:
    for seed in seeds:
        task = world.task(f"{GENERATED}:{seed}")
        goal = read_goal(task.goal)
        assert goal is not None
        yield _Game(task, goal)


def _published(world: AlfworldWorld, number: int, *, people: bool) -> Iterator[_Game]:
    """So many games of ``train``, spread over it; with ``people``, each with the annotators' goals too."""
    tasks = world.tasks("train") if number else ()
    return _worded(tasks[:: max(1, len(tasks) // max(1, number))][:number], people=people)


def _worded(tasks: Iterable[Task], *, people: bool) -> Iterator[_Game]:
    """Each of the ``tasks`` whose goal can be read; with ``people``, with the annotators' goals too."""
    for task in tasks:
        goal = read_goal(task.goal)
        if goal is None:
            continue
        yield _Game(task, goal)
        written = sentences_of(task.source.with_name(TRAJECTORY_FILE)) if people and task.source else ()
        for annotator, sentence in enumerate(written, 1):
            if sentence:
                yield _Game(replace(task, goal=sentence, wording=f"human:{annotator}"), goal)


async def _taught(world: AlfworldWorld, game: _Game, agent: str, lessons: Lessons) -> ExportedEpisode | None:
    """What ``agent`` was asked and answered in ``game``; None where it did not win."""
    task = game.task
    drawn = f"{lessons.seed} {agent} {task.id} {task.wording}"
    env = watched(world.open(task))
    teacher = Teacher(agent, world, env, game.goal, Random(drawn), missteps=lessons.missteps)
    player = make_agent(agent, world=world, model=teacher, settings=lessons.settings, seed=lessons.seed)
    config = EpisodeConfig(world.engine, max_turns=MOST_STEPS, seed=lessons.seed)
    ended = await run_episode(env, player, config, lambda _: None)
    env.close()
    if ended.outcome != "won":
        return None
    steps = tuple(PlayedStep(one.command, one.observation.text) for one in env.played)
    conversations = tuple(joined(task.reference, agent, teacher.calls))
    return ExportedEpisode(world.name, task.reference, agent, teacher.name, True, env.opening.text, steps, conversations)
