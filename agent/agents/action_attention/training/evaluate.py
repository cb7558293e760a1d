"""Measures how well Action Attention plays, alone and with PET's modules, as in its paper's table 3.

The games are ordinary episodes with the admissible grant. Nothing that it is measured by is trained on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from housequest.agent.agents.action_attention import ActionAttentionSettings
from housequest.agent.agents.action_attention.agent import ActionAttention, finished, relevance, subgoals
from housequest.agent.agents.action_attention.network import load_policy
from housequest.agent.training.evaluate import game_sets
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Task
from housequest.worlds.household.belief import names

SETS = ("seen", "human", "houses", "habits")
"""The games of ``valid_seen`` with the templates' goals and with those of each annotator, and made-up houses of two kinds."""

THRESHOLDS = (0.01, 0.05, 0.1, 0.2, 0.4)

ARMS = {
    "alone": ActionAttentionSettings(plan=False, eliminate=False, again=True),
    "eliminate": ActionAttentionSettings(plan=False, again=True),
    "plan-track": ActionAttentionSettings(eliminate=False, again=True),
    "pet": ActionAttentionSettings(again=True),
    "alone-not-again": ActionAttentionSettings(plan=False, eliminate=False),
    "default": ActionAttentionSettings(),
}
"""Which modules are on: the rows of the paper's table 3; then none and all of them, without going round in circles."""


def evaluate(
    file: Path,
    sets: Sequence[str] = SETS,
    arms: Sequence[str] = tuple(ARMS),
    data: Path | None = None,
    limit: int | None = None,
    embedder: str = "",
) -> Iterator[dict[str, Any]]:
    """Yield the figures of each of ``sets`` with each of ``arms`` beside the expert's, as they are measured."""
    policy = load_policy(file, embedder)
    for name in sets:
        for games in game_sets(name, data, limit):
            expert = games.expert()
            for arm in arms:
                yield games.measured(arm, ActionAttention(policy, HOUSEHOLD, ARMS[arm]), ("admissible",), expert)


def judgements(world: AlfworldWorld, task: Task) -> Iterator[tuple[bool, bool, float]]:
    """What Eliminate makes of a game along the expert's play: each name once a sub-task, and each that a command needs.

    Each with whether it is a place, whether the expert's next command could not have been without it, and its score.
    """
    expert, env = world.expert(), world.open(task)
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
