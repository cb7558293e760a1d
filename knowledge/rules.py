"""A rule: one statement about the world."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One statement about the world, in words for people and models."""

    id: str
    statement: str
