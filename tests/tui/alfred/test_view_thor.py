"""The View of a player in AI2-THOR, whose frames have one size and which cannot be copied: its client on our player."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from housequest.agent.episodes.drawing import draw_episode
from housequest.agent.episodes.events import Started
from housequest.tui.episode.view_drawing import ViewArtist
from housequest.worlds.alfred.world import AlfredWorld
from tests.agent.episodes.acting import acted
from tests.tui.episode.pane import after
from tests.tui.episode.test_view import wish, words
from tests.worlds.alfred.simulator.played import InThor

pytest.importorskip("ai2thor", reason="needs AI2-THOR's client: pip install 'housequest[thor]'")

pytestmark = pytest.mark.slow

PLAYER = f"{sys.executable} -P -m housequest.worlds.alfred.player"
SCENE = "example:1"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AlfredWorld]:
    """The client writes its log below the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    yield InThor(engine="thor", player=PLAYER)


def test_what_pictures_have_shown_is_drawn_and_what_is_in_the_middle_is_told(world: AlfredWorld) -> None:
    task = world.task(SCENE)
    state = after(*(event.body for event in acted(world, task, ("RotateLeft", "LookDown"))))
    artist = ViewArtist((world, task))
    for drawing in ("camera", "eyes", "house"):
        drawn = artist.draw(replace(wish(state, "house", size=(60, 24)), drawing=drawing, acting=True))
        assert [strip.cell_length for strip in drawn.picture] == [60] * 24, words(drawn)
        assert drawn.reach is not None
    assert "sees  " in words(artist.draw(wish(state, None, size=(90, 40))))
    artist.close()
    started = next(event.body for event in acted(world, task, ()) if isinstance(event.body, Started))
    drawing = draw_episode(started, None, (world, task))
    scene = drawing.known_scene([], None)
    assert scene.camera is not None and scene.camera.frame((150, 150)).size == (150, 150)
    assert drawing.states is not None
    drawing.states.close()
