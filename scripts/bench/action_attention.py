"""Action Attention's results: the figures of its card (docs/explanation/action-attention.md), and Eliminate's curve.

Takes some minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from housequest.agent.agents.action_attention.agent import finished, relevance, subgoals
from housequest.agent.agents.action_attention.network import SHIPPED
from housequest.agent.agents.action_attention.training.__main__ import SETS, evaluate
from housequest.agent.training.evaluate import game_sets, lines
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Task
from housequest.worlds.env import expert_of
from housequest.worlds.household.belief import names

THRESHOLDS = (0.01, 0.05, 0.1, 0.2, 0.4)

_WITHOUT_GAMES = ("houses", "habits")


def run(data: Path | None) -> Iterator[str]:
    """The figures of each set with each arm; published games are included if present. Lines to print."""
    for figures in evaluate(SHIPPED, SETS if data is not None else _WITHOUT_GAMES, data=data):
        yield from lines(figures)
    for games in game_sets("houses" if data is None else "seen", data, None):
        yield f"Eliminate, {games.title}, along the expert's play"
        yield from curve(games.plain, games.tasks)


def judgements(world: AlfworldWorld, task: Task) -> Iterator[tuple[bool, bool, float]]:
    """What Eliminate makes of a game along the expert's play: each name once a sub-task, and each that a command needs.

    Each with whether it is a place, whether the expert's next command could not have been without it, and its score.
    """
    expert, env = expert_of(world), world.open(task)
    opening = env.reset().observation
    memory, belief = expert.begin(task.goal, opening), HOUSEHOLD.begin(opening)
    plan, counts = list(subgoals(task.goal, belief, HOUSEHOLD)), HOUSEHOLD.counts()
    known, done = set[str](), False
    while plan and not done:
        scores = relevance(plan[:1], belief, counts)
        places = {one.name for one in belief.receptacles}
        command, _, memory = expert.decide(memory)
        if command is None:
            return
        played = env.step(command)
        # What is held and what is here is never masked.
        needed = scores.keys() & set(names(command)) - {belief.held} - {one.name for one in belief.here()}
        yield from ((name in places, False, scores[name]) for name in scores.keys() - known)
        yield from ((name in places, True, scores[name]) for name in needed)
        known |= scores.keys()
        memory, before = expert.observe(memory, command, played.observation), belief
        belief, done = HOUSEHOLD.update(belief, command, played.observation), played.done
        if finished(plan[0], before, belief):
            plan, known = plan[1:], set[str]()


def curve(world: AlfworldWorld, tasks: Sequence[Task]) -> Iterator[str]:
    """For each of ``THRESHOLDS``: what it masks, and how often it shows what a command needs; lines to print."""
    judged = [one for task in tasks for one in judgements(world, task)]
    for threshold in THRESHOLDS:
        for what, place in (("places", True), ("objects", False)):
            low, lacked = (
                fmean(score < threshold for *kind, score in judged if kind == [place, needed]) for needed in (False, True)
            )
            yield f"threshold {threshold}: {low:.1%} of {what} masked, {1 - lacked:.1%} of the needed shown"
