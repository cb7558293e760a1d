from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfworld.exchange import DownloadProgress, download_archive, import_games, official
from housequest.worlds.errors import ConfigurationError, HousequestError, WorldError
from tests.worlds.alfworld.data.file_server import Answer, FileServer, serve


def fetched(server: FileServer, folder: Path, name: str = "games.zip") -> tuple[bytes, list[DownloadProgress]]:
    told: list[DownloadProgress] = []
    path = download_archive(server.url(name), folder, report=told.append, pause=0.0)
    content = path.read_bytes()
    path.unlink()
    assert list(folder.iterdir()) == []
    return content, told


CONTENT = bytes(range(256)) * 1000


def test_a_file_is_fetched_with_progress(tmp_path: Path) -> None:
    with serve(**{"games.zip": CONTENT}) as server:
        content, told = fetched(server, tmp_path / "new" / "folder")
    assert content == CONTENT
    assert [progress.total for progress in told] == [len(CONTENT)] * len(told)
    assert told[-1].received == len(CONTENT)


@pytest.mark.parametrize(
    ("answers", "ranges"),
    [
        ([Answer(body=100_000)], [None, "bytes=100000-"]),
        ([Answer(body=100_000), Answer(body=50_000)], [None, "bytes=100000-", "bytes=150000-"]),
        ([Answer(body=100_000), Answer(503)], [None, "bytes=100000-", "bytes=100000-"]),
        ([Answer(body=100_000), Answer(ignore_range=True)], [None, "bytes=100000-"]),
        ([Answer(body=100_000, tag="weak")], [None, None]),
        ([Answer(body=100_000, tag="none")], [None, None]),
        ([Answer(body=0)], [None, None]),
        ([Answer(500), Answer(502), Answer(429), Answer(408)], [None] * 5),
        ([Answer(length=5), Answer()], [None, f"bytes={len(CONTENT)}-", None]),
    ],
)
def test_a_broken_transfer_is_taken_up_where_it_broke(tmp_path: Path, answers: list[Answer], ranges: list[str | None]) -> None:
    with serve(**{"games.zip": CONTENT}) as server:
        server.answers.extend(answers)
        content, told = fetched(server, tmp_path)
        assert server.ranges == ranges
    assert content == CONTENT
    assert [progress for progress in told if progress.note]


def test_an_earlier_run_is_taken_up(tmp_path: Path) -> None:
    with serve(**{"games.zip": CONTENT}) as server:
        server.answers.extend([Answer(body=1000)] * 6)
        with pytest.raises(WorldError, match="6 attempts"):
            fetched(server, tmp_path)
        content, _ = fetched(server, tmp_path)
        assert server.ranges[-1] == "bytes=6000-"
    assert content == CONTENT


def test_a_file_that_changed_meanwhile_is_fetched_from_its_start(tmp_path: Path) -> None:
    with serve(**{"games.zip": CONTENT}) as server:
        server.answers.extend([Answer(body=1000)] * 6)
        with pytest.raises(WorldError, match="go"):
            fetched(server, tmp_path)
        server.files["games.zip"] = CONTENT[::-1]
        assert fetched(server, tmp_path)[0] == CONTENT[::-1]


def test_a_length_that_is_too_short_cuts_the_archive_which_the_import_notices(tmp_path: Path) -> None:
    with serve(**{"games.zip": CONTENT}) as server:
        server.answers.append(Answer(length=-30))
        path = download_archive(server.url("games.zip"), tmp_path, pause=0.0)
    with pytest.raises(WorldError, match="damaged"):
        import_games(path, tmp_path / "data")


def test_redirections_are_followed(tmp_path: Path) -> None:
    with serve(**{"games.zip": CONTENT}) as server:
        server.answers.append(Answer(302, location=server.url("games.zip")))
        assert fetched(server, tmp_path, "elsewhere.zip")[0] == CONTENT


def test_endless_redirections_are_an_error(tmp_path: Path) -> None:
    with serve() as server:
        server.answers.extend([Answer(302, location=server.url("round"))] * 50)
        with pytest.raises(WorldError, match="cannot be fetched"):
            fetched(server, tmp_path)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 204])
def test_a_refusal_is_not_asked_again(tmp_path: Path, status: int) -> None:
    with serve(**{"games.zip": CONTENT}) as server:
        server.answers.append(Answer(status))
        with pytest.raises(WorldError, match=f"games.zip answered {status}.*--source"):
            fetched(server, tmp_path)
        assert len(server.ranges) == 1


def test_a_server_that_is_not_there_is_an_error_with_the_way_out(tmp_path: Path) -> None:
    with serve() as server:
        gone = server.url("games.zip")
    with pytest.raises(WorldError, match="data import FILE"):
        download_archive(gone, tmp_path, pause=0.0)


def test_a_password_in_an_address_is_not_repeated(tmp_path: Path) -> None:
    with serve() as server, pytest.raises(WorldError) as caught:
        download_archive(server.url("x").replace("//", "//me:secret@"), tmp_path, pause=0.0)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "games.zip", "ftp://host/x", "http://", "file:///etc/passwd", "http://[::1", "a\0b", "http://\ud800/"]
)
def test_what_is_no_web_address_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigurationError, match="not a web address"):
        download_archive(url, tmp_path, pause=0.0)


@given(st.text())
def test_no_address_ends_in_anything_but_our_errors(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    with pytest.raises(HousequestError):
        download_archive(f"nowhere:{text}", tmp_path_factory.mktemp("x"), pause=0.0)


def test_a_folder_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with serve(**{"games.zip": CONTENT}) as server, pytest.raises(WorldError, match=r"file/.* cannot be written"):
        fetched(server, tmp_path / "file")


def test_the_official_archives_may_lie_elsewhere() -> None:
    assert all(url.startswith("https://github.com/alfworld/alfworld/releases/download/0.") for url in official())
    assert official("http://mirror/a/") == ("http://mirror/a/json_2.1.2_tw-pddl.zip", "http://mirror/a/json_2.1.1_json.zip")
