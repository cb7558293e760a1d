"""Habits of one's own: a file that says where things lie in made-up houses, instead of where they lie in ``train``."""

from __future__ import annotations

from math import gcd
from pathlib import Path

from worlds.alfworld.houses.documents import as_mapping, read_yaml
from worlds.alfworld.houses.habits import Habits, counted
from worlds.errors import ConfigurationError, shown

_LARGEST_FILE = 100_000
_SMALLEST, _LARGEST = 0.001, 1_000_000


def read_habits(path: Path) -> Habits:
    """The habits of ``train``, changed as a YAML file says: a kind of thing, and where it lies with which weight.

    ::

        mug: {safe: 1}
        book: {fridge: 3, bed: 1}

    Every mug is then in a safe, and three books in four are in the fridge; all else is as counted. A weight is a number from
    0.001 to 1,000,000 and counts by its share. Raises ``ConfigurationError`` naming the file and what in it is wrong.
    """
    name = f"The file of habits {shown(str(path), 400)}"
    said = as_mapping(read_yaml(path, name, _LARGEST_FILE))
    if not said:
        raise ConfigurationError(f"{name} names no kind of thing; a line of it is, for example, mug: {{safe: 1}}")
    habits = counted()
    # In an order of its own, so that the same habits are the same however they are written.
    for thing, places in sorted(said.items(), key=lambda item: str(item[0])):
        try:
            habits = habits.placing(_word(thing), _weights(thing, places))
        except ConfigurationError as error:
            raise ConfigurationError(f"{name}: {error}") from None
    return habits


def _weights(thing: object, places: object) -> dict[str, int]:
    """The weight of each place in whole numbers, as small as they can be."""
    said = as_mapping(places)
    if not said:
        raise ConfigurationError(
            f"{shown(thing)} has {shown(places)}, which is no place to lie in; give each its weight, for example {{safe: 1}}."
        )
    weights: dict[str, int] = {}
    for place, weight in sorted(said.items(), key=lambda item: str(item[0])):
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not _SMALLEST <= weight <= _LARGEST:
            raise ConfigurationError(
                f"{shown(thing)} lies in {shown(place)} with the weight {shown(weight)}; give a number from {_SMALLEST} to "
                f"{_LARGEST:,}."
            )
        weights[_word(place)] = round(weight / _SMALLEST)
    shared = gcd(*weights.values())
    return {place: weight // shared for place, weight in weights.items()}


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise ConfigurationError(f"{shown(value)} is no name of a kind; write it as a word.")
    return value
