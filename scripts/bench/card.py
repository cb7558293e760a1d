"""The builtin model's results: every figure of its card (docs/explanation/builtin.md), by type, beside the expert."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agent.models.builtin.model import load_builtin
from agent.training.evaluate import SETS, evaluate_model, lines

_WITHOUT_GAMES = ("houses", "wordings", "hints", "rules")
RULE_GAMES = 40


def run(data: Path | None) -> Iterator[str]:
    """The figures of each set; published games are included if present. Lines to print."""
    model = load_builtin()
    for name in SETS if data is not None else _WITHOUT_GAMES:
        for figures in evaluate_model(model, (name,), data=data, limit=RULE_GAMES if name == "rules" else None):
            yield from lines(figures)
