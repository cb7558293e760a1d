"""What every test starts from: folders of its own, no key, and the published games where they are."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from itertools import chain
from pathlib import Path
from typing import cast

import pytest
from hypothesis import settings

# Many processes run the same code: the workers, and the commands that tests start. It is compiled once for all of them.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Workers that are tests of their own are found here, as the tests are.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))))

# A smooth scroll draws the screen many times over, and no test looks at what is between.
os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")

# Most objects are modules and tests, which stay: the collector need not look at them again and again.
gc.set_threshold(50_000, 20, 50)

# How long an example takes says nothing here; how many are tried is chosen by `--hypothesis-profile`.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=200)
settings.load_profile("quick")


def pytest_collection_finish() -> None:
    """Exempt what was imported and collected from garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Keep the names of tests short, and free of bytes that differ from one run to the next; a size is its own name."""
    if argname == "size" and isinstance(val, tuple):
        return "x".join(map(str, cast("tuple[int, ...]", val)))
    if isinstance(val, str | bytes) and len(val) > 40:
        return f"{argname} of {len(val)}"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all but the first and last case of a heavy test to `make check-extras`, and give what takes minutes an hour."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("heavy") is not None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for item in chain.from_iterable(each[1:-1] for each in cases.values()):
        item.add_marker(pytest.mark.slow)
    for item in items:
        if item.get_closest_marker("slow") is not None:
            item.add_marker(pytest.mark.timeout(3600))


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own. A numbered one of pytest's takes a look at all the others, which are thousands."""
    return _folder(tmp_path_factory, "folders")


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a test away from the user's configuration, records and keys."""
    # The nearest file upwards of a test's folder: whatever lies above it is not read.
    (tmp_path_factory.getbasetemp() / "housequest.toml").touch()
    monkeypatch.setenv("HOUSEQUEST_HOME", str(_folder(tmp_path_factory, "homes")))
    # A terminal with so few colours that no house is drawn, unless a test wants one.
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM", raising=False)
    for name in list(os.environ):
        if (
            name == "OPENAI_API_KEY"
            or name.startswith("OPENAI_")
            or (name.startswith("HOUSEQUEST_") and name != "HOUSEQUEST_HOME")
        ):
            monkeypatch.delenv(name)


def _folder(tmp_path_factory: pytest.TempPathFactory, among: str) -> Path:
    folders = tmp_path_factory.getbasetemp() / among
    folders.mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(dir=folders))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop that asynchronous tests run on: the product's own."""
    return "asyncio"


@pytest.fixture(scope="session")
def alfworld_games() -> Path:
    """The folder that holds the published games' ``json_2.1.1``; the test is skipped where there is none."""
    data = os.environ.get("ALFWORLD_DATA")
    if not data or not (Path(data) / "json_2.1.1").is_dir():
        pytest.skip("needs the published games: set ALFWORLD_DATA to the folder that holds json_2.1.1")
    return Path(data)
