"""A client of AI2-THOR that is none of version 5 is an error of the world; a package that stands in for it says which it is."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import Ended, Event
from housequest.agent.episodes.loop import run_episode
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world
from tests.worlds.alfred.simulator.played import InThor

pytestmark = pytest.mark.heavy

SCENE = "example:1"
LIES = """
class Controller:
    def __init__(self, **options):
        self.server = self
        self.unity_proc = self
        self.last_event = self
        self.metadata = {metadata}
        self.frame = self.depth_frame = self.instance_segmentation_frame = None

    def poll(self):
        return None
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder before those of the installed packages, here and in processes that are started."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "ai2thor"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def install(folder: Path, listed: str, is_really: str, controller: str = "") -> None:
    """Put a package ``ai2thor`` there, which is another version than it is listed as, with this module ``controller``."""
    package, about = folder / "ai2thor", folder / f"ai2thor-{listed}.dist-info"
    package.mkdir()
    about.mkdir()
    (package / "__init__.py").write_text(f"__version__ = {is_really!r}\n")
    (package / "controller.py").write_text(controller)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: ai2thor\nVersion: {listed}\n")


def played() -> Ended:
    """How an episode in AI2-THOR ends."""
    world = InThor(engine="thor")
    told: list[object] = []
    env = world.open(world.task(SCENE))
    agent = make_agent("expert", world=world)
    asyncio.run(run_episode(env, agent, EpisodeConfig(world), told.append))
    env.close()
    ends = [event.body for event in told if isinstance(event, Event) and isinstance(event.body, Ended)]
    assert len(ends) == 1
    return ends[0]


@pytest.mark.parametrize(
    ("version", "controller", "why"),
    [
        ("4.3.0", "", "this is ai2thor 4.3.0, not 5.x. Install it: pip install 'housequest[thor]'."),
        ("5.0.0", "", "has no attribute 'Controller'"),
        ("5.0.0", LIES.format(metadata=[1, 2]), "its player answers with something that is not an event"),
        ("5.0.0", LIES.format(metadata={"objects": "many", "colors": None}), "its metadata is not AI2-THOR"),
    ],
)
def test_an_episode_ends_with_an_error_of_the_world(packages: Path, version: str, controller: str, why: str) -> None:
    install(packages, "5.0.0", version, controller)
    ended = played()
    assert (ended.outcome, ended.boundary) == ("error", "world")
    assert why in (ended.message or "")


def test_a_client_that_is_listed_as_another_version_is_refused_before_anything_is_played(packages: Path) -> None:
    install(packages, "4.3.0", "4.3.0")
    with pytest.raises(ConfigurationError, match=r"this is ai2thor 4\.3\.0: pip install"):
        make_world("alfred", engine="thor")
