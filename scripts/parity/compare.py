"""Compares two envs on one task, and shrinks the commands that show a difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from housequest.worlds.base import Env, Step


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference: after how many commands, in what, and what each said. Lists show what only one has."""

    after: int
    field: str
    native: str
    reference: str


@dataclass(frozen=True, slots=True)
class Played:
    """The result of a comparison. ``verbs`` counts accepted commands by first word; ``won`` is the final outcome."""

    steps: int
    refused: int
    won: bool
    verbs: dict[str, int]
    difference: Difference | None


def compare(native: Env, reference: Env, commands: Sequence[str]) -> Played:
    """Play ``commands`` on both from the start, until they differ."""
    steps, verbs = 0, dict[str, int]()
    step, other = native.reset(), reference.reset()
    difference = _differing(0, step, other, native, reference)
    while difference is None and steps < len(commands):
        command = commands[steps]
        steps += 1
        step, other = native.step(command), reference.step(command)
        if step.observation.accepted:
            verb = command.split()[0]
            verbs[verb] = verbs.get(verb, 0) + 1
        difference = _differing(steps, step, other, native, reference)
    return Played(steps, steps - sum(verbs.values()), step.won, verbs, difference)


def _differing(after: int, step: Step, other: Step, native: Env, reference: Env) -> Difference | None:
    if step.observation.text != other.observation.text:
        return Difference(after, "text", step.observation.text, other.observation.text)
    if step != other:
        return Difference(after, "outcome", str(step), str(other))
    listed, also = native.admissible_commands() or (), reference.admissible_commands() or ()
    if listed == also:
        return None
    if set(listed) == set(also):
        return Difference(after, "order of the admissible commands", str(listed), str(also))
    only = [str(sorted(set(one) - set(two))) for one, two in ((listed, also), (also, listed))]
    return Difference(after, "admissible commands, only here", *only)


def shrink(commands: Sequence[str], differs: Callable[[Sequence[str]], bool]) -> list[str]:
    """Remove commands that the difference does not need, in halves, quarters and so on down to single ones."""
    kept = list(commands)
    size = max(1, len(kept) // 2)
    while kept:
        place = 0
        before = len(kept)
        while place < len(kept):
            shorter = kept[:place] + kept[place + size :]
            if differs(shorter):
                kept = shorter
            else:
                place += size
        if size == 1 and len(kept) == before:
            break
        size = max(1, size // 2)
    return kept
