"""Action Attention's results: the figures of its card (docs/explanation/action-attention.md), and Eliminate's curve.

Takes some minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from housequest.agent.agents.action_attention.network import SHIPPED
from housequest.agent.agents.action_attention.training.evaluate import SETS, curve, evaluate
from housequest.agent.training.evaluate import game_sets, lines

_WITHOUT_GAMES = ("houses", "habits")


def run(data: Path | None) -> Iterator[str]:
    """The figures of each set with each arm; published games are included if present. Lines to print."""
    for figures in evaluate(SHIPPED, SETS if data is not None else _WITHOUT_GAMES, data=data):
        yield from lines(figures)
    for games in game_sets("houses" if data is None else "seen", data, None):
        yield f"Eliminate, {games.title}, along the expert's play"
        yield from curve(games.plain, games.tasks)
