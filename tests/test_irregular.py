"""Whatever reads a file that a person named refuses a pipe or a device at once: neither hangs, and neither fills the memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from housequest.agent.episodes.moments import recorded_moments
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.runs.sweep import read_sweep
from housequest.agent.models.builtin.network import read_builtin
from housequest.agent.models.gguf import fingerprint, read_header
from housequest.agent.models.keys import load_keys
from housequest.agent.models.scripted import load_script
from housequest.knowledge.examples import load_examples
from housequest.knowledge.rulebook import read_book
from housequest.worlds.alfworld.engine.game import read_game
from housequest.worlds.alfworld.houses.house import read_habits
from housequest.worlds.household.counts import read_counts
from tests.irregular import check_irregular

READERS: Mapping[str, Callable[[Path], object]] = {
    "record": lambda path: list(read_episode(path)),
    "moments": lambda path: list(recorded_moments([path])),
    "rulebook": read_book,
    "examples": load_examples,
    "script": lambda path: load_script(path, name="scripted"),
    "builtin": read_builtin,
    "gguf": read_header,
    "gguf fingerprint": fingerprint,
    "keys": load_keys,
    "sweep": read_sweep,
    "habits": read_habits,
    "counts": read_counts,
    "game": read_game,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_pipe_or_a_device_is_refused(reader: Callable[[Path], object], tmp_path: Path) -> None:
    check_irregular(reader, tmp_path)
