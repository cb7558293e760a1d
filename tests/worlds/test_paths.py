from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import (
    IrregularFile,
    RefusedFile,
    alfworld_data,
    atomic_write,
    cache_folder,
    open_file,
    read_file,
    remove_unfinished,
)


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


def test_a_write_without_room_names_its_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "file"
    _, most = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
    try:
        with pytest.raises(OSError) as raised:
            atomic_write(path, bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert raised.value.filename == str(path)
    assert not list(tmp_path.iterdir())


def test_an_ordinary_file_is_read_written_and_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for mode, content, after in (("wb", b"first", b"first"), ("ab", b"more", b"firstmore"), ("wb", b"x", b"x")):
        with open_file(path, mode) as file:  # pyright: ignore[reportArgumentType]
            file.write(content)
        assert read_file(path) == after
    with open_file(path, "r+b") as file:
        file.truncate(0)
    assert (read_file(path), path.stat().st_mode & 0o111) == (b"", 0)
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def made(kind: str, folder: Path) -> Path:
    """Something at a path that is no regular file, or leads to none."""
    path = folder / "odd"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "link to a pipe":
            os.mkfifo(folder / "pipe")
            path.symlink_to(folder / "pipe")
        case "device":
            path.symlink_to("/dev/zero")
        case "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(os.path.relpath(path))
        case _:
            path.mkdir()
    return path


ODD = ("pipe", "link to a pipe", "device", "socket", "folder")


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("mode", ["rb", "wb", "ab", "r+b"])
def test_what_is_no_regular_file_is_refused_at_once(kind: str, mode: str, tmp_path: Path) -> None:
    path = made(kind, tmp_path)
    word = "link" if mode != "rb" and path.is_symlink() else kind.rpartition(" ")[2]
    with pytest.raises(IrregularFile, match=f"it is a {word}, and only a regular file is used here"):
        open_file(path, mode)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("mode", ["wb", "ab", "r+b"])
@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link"])
def test_nothing_is_written_through_a_link(kind: str, mode: str, tmp_path: Path) -> None:
    outside, path = tmp_path / "outside", tmp_path / "path"
    if kind != "dangling link":
        outside.write_bytes(b"kept")
    if kind == "hard link":
        path.hardlink_to(outside)
    else:
        path.symlink_to(outside)
    with pytest.raises(IrregularFile, match="link"):
        open_file(path, mode)  # pyright: ignore[reportArgumentType]
    assert outside.read_bytes() == b"kept" if kind != "dangling link" else not outside.exists()
    if kind != "dangling link":
        assert read_file(path, 4) == b"kept"
        with pytest.raises(RefusedFile, match="it has more than 3 bytes"):
            read_file(path, 3)
    # What is replaced as a whole leaves the other file alone.
    atomic_write(path, b"new")
    assert (path.read_bytes(), path.is_symlink()) == (b"new", False)
    assert outside.read_bytes() == b"kept" if kind != "dangling link" else not outside.exists()


def test_what_a_killed_write_left_is_removed(tmp_path: Path) -> None:
    left = [tmp_path / ".index.jsonl.0123abcd.part", tmp_path / ".run.json.0123abcd.part"]
    others = [tmp_path / "x.jsonl.part", tmp_path / ".hidden", tmp_path / ".part"]
    for file in (*left, *others):
        file.touch()
    remove_unfinished(tmp_path, "index.jsonl")
    assert [file.exists() for file in left] == [False, True]
    remove_unfinished(tmp_path)
    assert set(tmp_path.iterdir()) == set(others)


def test_a_link_to_itself_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "index.jsonl"
    path.symlink_to(path.name)
    atomic_write(path, b"new")
    assert not path.is_symlink()
    assert path.read_bytes() == b"new"
