from __future__ import annotations

from pathlib import Path

import pytest

from worlds.errors import ConfigurationError
from worlds.paths import alfworld_data, atomic_write, cache_folder


def test_the_homes_are_moved_by_their_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOUSEQUEST_HOME", str(tmp_path))
    monkeypatch.setenv("ALFWORLD_DATA", "~/games")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "cache"
    assert alfworld_data() == tmp_path / "games"
    monkeypatch.setenv("ALFWORLD_DATA", "")
    assert alfworld_data() == tmp_path / ".cache" / "alfworld"


def test_the_home_of_nobody_is_named_with_the_variable_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSEQUEST_HOME", "~no such user/here")
    with pytest.raises(ConfigurationError, match=r"~no such user/here.*HOUSEQUEST_HOME"):
        cache_folder()
    monkeypatch.setenv("ALFWORLD_DATA", "~no such user/here")
    with pytest.raises(ConfigurationError, match=r"~no such user/here.*ALFWORLD_DATA"):
        alfworld_data()


def test_a_write_leaves_the_whole_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    for content in (b"first", b""):
        atomic_write(path, content)
        assert path.read_bytes() == content
    path.with_name("folder").mkdir()
    with pytest.raises(OSError, match=r"directory"):
        atomic_write(path.with_name("folder"), b"lost")
    assert {found.name for found in path.parent.iterdir()} == {"file", "folder"}
