"""The builtin model's results: every figure of its card (docs/explanation/builtin.md), by type, beside the expert."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from housequest.agent.models.builtin.model import load_builtin
from housequest.agent.training.evaluate import SETS, evaluate_model, lines

_OF_GAMES = ("seen", "admissible", "human")


def run(data: Path | None) -> Iterator[str]:
    """The figures of each set; published games are included if present. Lines to print."""
    if data is None:
        yield "valid_seen is left out, with and without people's goals: `housequest data download` fetches the games"
    sets = SETS if data is not None else tuple(name for name in SETS if name not in _OF_GAMES)
    for figures in evaluate_model(load_builtin(), sets, data=data):
        yield from lines(figures)
