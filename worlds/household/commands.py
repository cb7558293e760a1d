"""How the commands of a household are written, for whoever gives them in the course of a skill."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Commands:
    """Patterns with ``{thing}`` and ``{place}``; the defaults are ALFWorld's. ``puts`` are tried in their order.

    ``open``, ``close``, ``examine``, ``look`` and ``inventory`` are the same in all households.
    """

    go: str = "go to {place}"
    take: str = "take {thing} from {place}"
    puts: tuple[str, ...] = ("move {thing} to {place}",)
    use: str = "use {thing}"
    silence: str = "Nothing happens."
    """What a refused command is answered, where that does not say why."""


def verb_of(pattern: str) -> str:
    """What a command of this pattern begins with: "go to"."""
    return pattern.partition(" {")[0]
