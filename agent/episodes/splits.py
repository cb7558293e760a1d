"""What may be learned from: never a split that agents are evaluated on."""

from __future__ import annotations

LEARNT_FROM = frozenset({"train", "generated", "example"})
"""Splits whose episodes may be shown to agents and learned from; all others evaluate, in any world."""

EVALUATION_SEEDS = 1_000_000
"""Made-up houses from this seed on are for evaluation."""


def may_be_learned(split: str, number: int) -> bool:
    """Whether a task of ``split`` may be learned from; ``number`` is the seed of a made-up house."""
    return split in LEARNT_FROM and not (split == "generated" and number >= EVALUATION_SEEDS)


def is_evaluation_split(split: str) -> bool:
    """Whether agents are evaluated on this split, by its name; no rule may be learned from it."""
    return split.startswith(("valid", "test"))
