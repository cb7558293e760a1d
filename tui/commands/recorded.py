"""What was recorded here, for the commands that learn from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from knowledge.moments import Moment


class Counted:
    """Moments, counted as they pass."""

    def __init__(self, moments: Iterable[Moment]) -> None:
        self._moments = moments
        self.number = 0

    def __iter__(self) -> Iterator[Moment]:
        for moment in self._moments:
            self.number += 1
            yield moment


def recorded(paths: Iterable[str] | None) -> list[Path]:
    """The ``paths`` that a person named; none named, the runs in this folder and the games that were played.

    Raises ``ConfigurationError`` where there are none.
    """
    from pathlib import Path

    from tui.runs.data import recorded_play
    from worlds.errors import ConfigurationError
    from worlds.paths import given_path

    found = [given_path(path) for path in paths] if paths else recorded_play(Path("runs"))
    if not found:
        raise ConfigurationError(
            "Nothing was recorded yet; name a run's folder, or play: `housequest play`, `housequest eval`."
        )
    return found
