"""Training of the Action Attention agent, from the expert's plays to the file that ships, and how well that plays.

Run as ``python -m housequest.agent.agents.action_attention.training``. Needs the extra ``[train]`` (PyTorch). Nothing here runs
while a game is played. Measured are ordinary episodes with the admissible grant, alone and with PET's modules, as in the
paper's table 3; nothing that it is measured by is trained on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from housequest.agent.agents.action_attention import ActionAttentionSettings
from housequest.agent.agents.action_attention.agent import ActionAttention
from housequest.agent.agents.action_attention.network import load_policy
from housequest.worlds.alfworld.text import HOUSEHOLD

SETS = ("seen", "human", "houses", "habits")
"""The games of ``valid_seen`` with the templates' goals and with those of each annotator, and made-up houses of two kinds."""

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
    from housequest.agent.training.evaluate import game_sets

    policy = load_policy(file, embedder)
    for name in sets:
        for games in game_sets(name, data, limit):
            expert = games.expert()
            for arm in arms:
                yield games.measured(arm, ActionAttention(policy, HOUSEHOLD, ARMS[arm]), ("admissible",), expert)
