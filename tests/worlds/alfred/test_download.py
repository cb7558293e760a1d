"""The build of AI2-THOR is fetched apart from its start, from a server of our own, into the folder of the real client."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path

import pytest

from housequest.worlds.alfred.download import fetch_build, main
from housequest.worlds.errors import ConfigurationError, WorldError
from housequest.worlds.paths import cache_folder
from tests.worlds.alfworld.data.file_server import Answer, FileServer, serve

builds = pytest.importorskip("ai2thor.build", reason="needs AI2-THOR's client: pip install 'housequest[thor]'")

NAME = f"thor-CloudRendering-{builds.COMMIT_ID}"


def archive() -> bytes:
    """A build as small as can be: a program, and what it says of itself."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as file:
        file.writestr(NAME, "#!/bin/sh\nexit 3\n" + "#" * 200_000)
        file.writestr("metadata.json", '{"server_types": ["FIFO", "WSGI"]}')
    return written.getvalue()


def files(content: bytes) -> dict[str, bytes]:
    return {f"{NAME}.zip": content, f"{NAME}.sha256": hashlib.sha256(content).hexdigest().encode()}


def fetch(server: FileServer, releases: Path) -> tuple[Path, list[str]]:
    return fetch_build("CloudRendering", server.url("").rstrip("/"), releases=releases, pause=0.0)


def test_a_build_is_fetched_where_it_broke_off_and_put_where_the_client_looks(tmp_path: Path) -> None:
    releases, content = tmp_path / "home" / "releases", archive()
    with serve(**files(content)) as server:
        server.answers.extend([Answer(), *[Answer(body=1000)] * 6])
        with pytest.raises(WorldError, match=r"6 attempts.*goes on from there; --source.*player=PATH"):
            fetch(server, releases)
        program, missing = fetch(server, releases)
        assert server.ranges[-1] == "bytes=6000-"
        asked = len(server.ranges)
        assert fetch(server, releases) == (program, missing)
        assert len(server.ranges) == asked, "a build that is there is not fetched again"
    assert program == releases / NAME / NAME
    assert os.access(program, os.X_OK)
    release = builds.Build("CloudRendering", builds.COMMIT_ID, False, str(releases))
    assert (release.executable_path, release.server_types) == (str(program), ["FIFO", "WSGI"])
    assert release.exists()
    assert not list((cache_folder() / "downloads").iterdir())


@pytest.mark.parametrize("content", [b"no archive", archive()[:-9]])
def test_what_is_no_build_is_refused_and_leaves_nothing(tmp_path: Path, content: bytes) -> None:
    with serve(**files(content)) as server, pytest.raises(WorldError, match="cannot be unpacked"):
        fetch(server, tmp_path / "releases")
    changed = {**files(content), f"{NAME}.zip": content + b"!"}
    with serve(**changed) as server, pytest.raises(WorldError, match="does not match its checksum"):
        fetch(server, tmp_path / "releases")
    assert not (tmp_path / "releases" / NAME).exists()


def test_a_missing_build_and_an_unknown_platform_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serve() as server:
        with pytest.raises(WorldError, match="404"):
            fetch(server, tmp_path)
        assert main(["--platform", "CloudRendering", "--source", server.url("").rstrip("/")]) == 1
    assert "404" in capsys.readouterr().err
    with pytest.raises(ConfigurationError, match="choose from CloudRendering"):
        fetch_build("Windows")
    with pytest.raises(SystemExit):
        main(["--platform", "Windows"])


def test_what_is_missing_to_start_is_said_in_the_clients_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    name = f"thor-Linux64-{builds.COMMIT_ID}"
    (tmp_path / name).mkdir()
    program, missing = fetch_build("Linux64", releases=tmp_path)
    assert program == tmp_path / name / name
    assert any("Linux64 requires a X11 server to be running with GLX" in line for line in missing)
