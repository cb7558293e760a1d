from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.worlds.alfworld.exchange import MAX_TRAJECTORY, import_games
from housequest.worlds.errors import WorldError
from tests.worlds.alfworld.samples import HEAT, OLDER, PLACE, encoded, published, unpacked

OLDER_PYTHON = sys.version_info < (3, 14)
"""From 3.14 on, tarfile finds a forged header by itself, and pathlib takes a place that cannot be read for a missing one."""

TOLD = f"json_2.1.1/train/{PLACE}/traj_data.json"
GAME = f"json_2.1.1/train/{HEAT}/game.tw-pddl"
PLAIN = {TOLD: b'{"turk_annotations": {}}'}


def zipped(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(members: Mapping[str, bytes], *others: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in others:
            archive.addfile(info)
    return out.getvalue()


def files_under(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def archive(folder: Path, content: bytes) -> Path:
    file = folder / "an archive"
    file.write_bytes(content)
    return file


PACKERS: dict[str, Callable[[Mapping[str, bytes]], bytes]] = {
    "zip": zipped,
    "tar": tarred,
    "tar.gz": lambda members: gzip.compress(tarred(members)),
    "tar.bz2": lambda members: bz2.compress(tarred(members)),
    "tar.xz": lambda members: lzma.compress(tarred(members)),
}


@pytest.mark.parametrize("kind", PACKERS)
def test_every_kind_of_archive_is_read_whatever_it_is_called(tmp_path: Path, kind: str) -> None:
    done = import_games(archive(tmp_path, PACKERS[kind](PLAIN)), tmp_path / "data")
    assert files_under(tmp_path / "data") == PLAIN
    assert (done.trajectories, done.games, done.refused) == (Counter(train=1), Counter(), [])


def test_a_folder_is_read_by_its_layout_or_its_parent(tmp_path: Path) -> None:
    source = unpacked(PLAIN, tmp_path / "source")
    for number, folder in enumerate((source, source / "json_2.1.1")):
        import_games(folder, tmp_path / str(number))
        assert files_under(tmp_path / str(number)) == PLAIN


def test_other_files_are_passed_over_and_counted(tmp_path: Path) -> None:
    trial = f"json_2.1.1/train/{PLACE}"
    others = (
        f"{trial}/initial_state.pddl",
        f"{trial}/raw_images/traj_data.json",
        "README",
        "traj_data.json",
        "json_2.1.1/traj_data.json",
    )
    done = import_games(archive(tmp_path, zipped(PLAIN | dict.fromkeys(others, b"x"))), tmp_path / "data")
    assert files_under(tmp_path / "data") == PLAIN
    assert done.ignored == len(others)


def test_a_newer_layout_lands_in_the_one_that_is_read(tmp_path: Path) -> None:
    import_games(archive(tmp_path, zipped({f"./{TOLD.replace('2.1.1', '2.1.3')}": b"{}"})), tmp_path / "data")
    assert files_under(tmp_path / "data") == {TOLD: b"{}"}


@pytest.mark.parametrize(
    "name",
    [
        f"../{TOLD}",
        f"/{TOLD}",
        f"//{TOLD}",
        "json_2.1.1/train/../../../traj_data.json",
        "json_2.1.1/../train/trial/traj_data.json",
        "json_2.1.1/train/..\\..\\x/t/traj_data.json",
        "C:\\json_2.1.1\\train\\task\\trial\\traj_data.json",
        "json_2.1.1/example/task/trial/traj_data.json",
        "json_2.1.1/file/task/trial/traj_data.json",
    ],
)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str, kind: str) -> None:
    done = import_games(archive(tmp_path, PACKERS[kind](PLAIN | {name: b"evil"})), tmp_path / "in" / "data")
    assert files_under(tmp_path / "in") == {f"data/{TOLD}": PLAIN[TOLD]}
    assert [refused for refused, _ in done.refused] == [name]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes() == b"evil"]


@given(
    st.lists(
        st.sampled_from(
            ["..", ".", "", "json_2.1.1", "train", "task", "trial", "~", "a\x00b", "%2e%2e", "C:", "x\\y", "traj_data.json"]
        ),
        min_size=1,
        max_size=7,
    )
)
def test_nothing_is_ever_written_outside_the_layout(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("import")
    source = archive(folder, tarred({"/".join([*parts, "traj_data.json"]): b"x", **PLAIN}))
    import_games(source, folder / "in" / "data")
    written = [path.relative_to(folder / "in") for path in (folder / "in").rglob("*") if path.is_file()]
    assert all(path.parts[:2] == ("data", "json_2.1.1") and len(path.parts) == 6 for path in written)
    assert len(list(folder.rglob("*"))) == len(list((folder / "in").rglob("*"))) + 2


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.SYMTYPE, "a link"),
        (tarfile.LNKTYPE, "a link"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.BLKTYPE, "a device"),
        (tarfile.FIFOTYPE, "a device"),
    ],
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes, what: str) -> None:
    info = tarfile.TarInfo(TOLD)
    info.type, info.linkname = kind, "/etc/passwd"
    done = import_games(archive(tmp_path, tarred({GAME: encoded(OLDER)}, info)), tmp_path / "data")
    assert (TOLD, f"it is {what}") in done.refused
    assert not (tmp_path / "data").exists()


def test_links_in_a_zip_are_refused(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        info = zipfile.ZipInfo(TOLD)
        info.external_attr = 0o120777 << 16
        file.writestr(info, "/etc/passwd")
    done = import_games(archive(tmp_path, out.getvalue()), tmp_path / "data")
    assert done.refused == [(TOLD, "it is a link")]
    assert not (tmp_path / "data").exists()


def test_links_in_a_folder_are_refused(tmp_path: Path) -> None:
    source = unpacked(PLAIN, tmp_path / "source")
    link = source / GAME
    link.parent.mkdir(parents=True)
    link.symlink_to("/etc/passwd")
    done = import_games(source, tmp_path / "data")
    assert done.refused == [(GAME, "it is a link")]
    assert files_under(tmp_path / "data") == PLAIN


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["zip", "tar.xz"])
def test_a_file_larger_than_any_is_refused_whatever_its_header_says(tmp_path: Path, kind: str) -> None:
    done = import_games(archive(tmp_path, PACKERS[kind](PLAIN | {GAME: bytes(MAX_TRAJECTORY + 2)})), tmp_path / "data")
    assert done.refused == [(GAME, "it is too large")]
    assert files_under(tmp_path / "data") == PLAIN


def test_a_forged_header_does_not_fill_the_memory(tmp_path: Path) -> None:
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 1 << 32
    with pytest.raises(WorldError, match="asks for" if OLDER_PYTHON else "empty header"):
        import_games(archive(tmp_path, header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 16)), tmp_path / "data")


def test_an_archive_that_unpacks_to_more_than_there_is_is_refused(tmp_path: Path) -> None:
    bomb = tarfile.TarInfo("bomb")
    bomb.size = 1 << 40
    with pytest.raises(WorldError, match="unpacks to more"):
        import_games(archive(tmp_path, bomb.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 16)), tmp_path / "data")


def test_games_that_cannot_be_played_are_refused_with_how_to_update(tmp_path: Path) -> None:
    done = import_games(archive(tmp_path, zipped(PLAIN | {GAME: encoded(OLDER)})), tmp_path / "data")
    ((name, reason),) = done.refused
    assert name == GAME
    assert "older grammar" in reason
    assert "housequest data download" in reason
    assert files_under(tmp_path / "data") == PLAIN


def test_files_that_are_there_are_kept_unless_forced(tmp_path: Path) -> None:
    source, data = archive(tmp_path, zipped({TOLD: b"new"})), unpacked({TOLD: b"old"}, tmp_path / "data")
    assert import_games(source, data).kept == Counter(train=1)
    assert files_under(data) == {TOLD: b"old"}
    assert import_games(source, data, force=True).trajectories == Counter(train=1)
    assert files_under(data) == {TOLD: b"new"}


def test_a_truncated_archive_leaves_whole_files_and_says_so(tmp_path: Path) -> None:
    names = [f"json_2.1.1/train/task/trial_{number}/traj_data.json" for number in range(20)]
    content = tarred(dict.fromkeys(names, bytes(5000)))
    with pytest.raises(WorldError, match="fetch it again"):
        import_games(archive(tmp_path, content[:60_000]), tmp_path / "data")
    assert set(files_under(tmp_path / "data").values()) == {bytes(5000)}
    assert set(files_under(tmp_path / "data")) < set(names)


def test_a_changed_byte_in_a_zip_is_noticed(tmp_path: Path) -> None:
    content = bytearray(zipped({TOLD: bytes(range(256)) * 40}))
    content[len(TOLD) + 100] ^= 1
    with pytest.raises(WorldError, match="damaged"):
        import_games(archive(tmp_path, bytes(content)), tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.heavy
@settings(max_examples=200)
@given(st.data())
def test_no_damage_ends_in_anything_but_our_errors(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(list(PACKERS)))
    content = bytearray(PACKERS[kind]({TOLD: b'{"a": 1}' * 20, GAME: encoded(OLDER)}))
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))] + data.draw(st.binary(max_size=20))
    folder = tmp_path_factory.mktemp("damaged")
    try:
        import_games(archive(folder, bytes(content)), folder / "data")
    except WorldError as error:
        assert "an archive" in str(error)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "nothing|damaged"),
        (b"PK", "damaged"),
        (b"not an archive at all" * 100, "damaged"),
        (zipped({"x": b""}), "nothing"),
    ],
    ids=["empty", "cut off", "text", "without games"],
)
def test_what_is_no_archive_of_games_is_said_to_be_none(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(WorldError, match=reason):
        import_games(archive(tmp_path, content), tmp_path / "data")


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=r"no archive and no folder .*missing"):
        import_games(tmp_path / "missing", tmp_path / "data")
    with pytest.raises(WorldError, match=r"holds no json_2\.1\.1"):
        import_games(tmp_path, tmp_path / "data")


def test_a_place_that_cannot_be_read_is_not_called_a_damaged_archive(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=r"aaa.* cannot be read" if OLDER_PYTHON else r"aaa.* cannot be written"):
        import_games(archive(tmp_path, zipped(PLAIN)), tmp_path / ("a" * 300))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file in the way")
    with pytest.raises(WorldError, match=r"data/json_2\.1\.1.* cannot be written"):
        import_games(archive(tmp_path, zipped(PLAIN)), tmp_path / "data")


@pytest.mark.games
@pytest.mark.parametrize("kind", PACKERS)
def test_published_games_arrive_as_they_were(alfworld_games: Path, tmp_path: Path, kind: str) -> None:
    members = published(alfworld_games, 4)
    done = import_games(archive(tmp_path, PACKERS[kind](members)), tmp_path / "data")
    assert files_under(tmp_path / "data") == members
    assert (done.games, done.trajectories) == (Counter(valid_seen=4), Counter(valid_seen=4))
