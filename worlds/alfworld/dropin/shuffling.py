"""What chance decides in alfworld, decided the same way: the order of the games, and which mug is mug 1.

textworld shuffles its games with NumPy's legacy ``RandomState``. Its generator is the Mersenne Twister that Python has too,
seeded otherwise (Knuth's recurrence; Matsumoto and Nishimura, 2002), so that the order can be had without NumPy.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import SupportsIndex

from worlds.alfworld.engine.game import Game
from worlds.errors import ConfigurationError, shown

_WORDS = 624
_MASK = 0xFFFF_FFFF


def shuffled_cycle(games: Sequence[str], seed: SupportsIndex | None) -> Iterator[str]:
    """The games for ever, shuffled before each round, in textworld's own order for ``seed``; None is another each time.

    Raises ``ConfigurationError`` for a seed outside 0 to 2**32 - 1, and where there are no games.
    """
    if not games:
        raise ConfigurationError("There are no games to play; give a folder, a number and task types that leave some.")
    return _rounds(list(games), _twister(seed))


def _rounds(games: list[str], chance: random.Random) -> Iterator[str]:
    while True:
        for last in range(len(games) - 1, 0, -1):
            drawn = _up_to(last, chance)
            games[last], games[drawn] = games[drawn], games[last]
        yield from games


def _up_to(last: int, chance: random.Random) -> int:
    """A number from 0 to ``last``: as many bits as it has are drawn from a whole word, until they are no larger."""
    mask = (1 << last.bit_length()) - 1
    while (drawn := chance.getrandbits(32) & mask) > last:
        pass
    return drawn


def _twister(seed: SupportsIndex | None) -> random.Random:
    chance = random.Random()
    if seed is None:
        return chance
    try:
        word = operator.index(seed)
    except TypeError:
        word = -1
    if not 0 <= word <= _MASK:
        raise ConfigurationError(f"The seed {shown(seed)} is no whole number from 0 to {_MASK}.")
    state: list[int] = []
    for position in range(_WORDS):
        state.append(word)
        word = (1_812_433_253 * (word ^ (word >> 30)) + position + 1) & _MASK
    chance.setstate((3, (*state, _WORDS), None))
    return chance


def renumbered(game: Game, chance: random.Random) -> Game:
    """The same game where the numbers of each kind of thing are dealt out anew ("mug 2" may become "mug 1").

    What alfworld calls domain randomisation: names change, the order in which things are listed does not. The walkthrough,
    which speaks of the old names, is left out.
    """
    names = [*game.objects, *game.receptacles]
    kinds: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        kinds.setdefault(name.rpartition(" ")[0], []).append(position)
    dealt = list(names)
    for positions in kinds.values():
        for position, name in zip(positions, chance.sample([names[p] for p in positions], len(positions)), strict=True):
            dealt[position] = name
    objects, receptacles = tuple(dealt[: len(game.objects)]), tuple(dealt[len(game.objects) :])
    always = {
        f"go to {receptacles[action.receptacle]}" if action.verb == "go" else command: action
        for command, action in game.always.items()
    }
    return replace(game, objects=objects, receptacles=receptacles, always=always, walkthrough=None)
