"""A replay as pictures: a PNG for the opening and for each turn, and what they show in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from housequest.agent.episodes.drawing import Scene, draw_episode
from housequest.tui.episode.recording import Recording
from housequest.tui.episode.state import EpisodeMoment
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import atomic_write
from housequest.worlds.rooms.render import MAX_PIXELS, Size
from housequest.worlds.rooms.stage import AGENT
from housequest.worlds.rooms.view import Drawing

FRAME_SIZE = (640, 480)  # columns and rows of pixels
CAPTIONS = "captions.json"


def write_frames(recording: Recording, folder: Path, drawing: Drawing, size: Size = FRAME_SIZE, *, true: bool = False) -> int:
    """Write the frames of the branch that was played on to ``folder``, which is new or empty; returns how many there are.

    ``turn-000.png`` is the opening, with more digits where there are more turns. A picture has no letters in it:
    ``captions.json`` says for each what was done, and at which pixel each thing is. With ``true``, the true state is drawn
    rather than what the player knew. Raises ``ConfigurationError``, and what `recorded_scenes` raises.
    """
    if size[0] * size[1] > MAX_PIXELS:
        raise ConfigurationError(f"--size: {size[0]}x{size[1]} is too large; a picture has at most {MAX_PIXELS:,} pixels.")
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"--frames: {folder} is not a folder; name a new one.")
    if folder.is_dir() and any(folder.iterdir()):
        raise ConfigurationError(f"--frames: {folder} is not empty; name a new folder, so that nothing in it is overwritten.")
    turns = list(recorded_scenes(recording, true=true))
    # A writing that breaks off leaves nothing behind, so that it can be tried again.
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as made:
        _write(Path(made), recording, turns, drawing, size, true=true)
        folder.mkdir(exist_ok=True)
        for file in Path(made).iterdir():
            file.replace(folder / file.name)
    return len(turns)


def _write(
    folder: Path, recording: Recording, turns: list[tuple[EpisodeMoment, Scene]], drawing: Drawing, size: Size, *, true: bool
) -> None:
    digits = max(3, len(str(len(turns) - 1)))
    captions: list[object] = []
    for turn, (moment, scene) in enumerate(turns):
        frame, name = scene.picture(drawing, size), f"turn-{turn:0{digits}d}.png"
        atomic_write(folder / name, frame.png(), sync=False)
        last = moment.story[-1] if turn else None
        opening = moment.started.opening if moment.started else ""
        captions.append(
            {
                "file": name,
                "turn": turn,
                "command": last.command if last else None,
                "answer": last.observation if last else opening,
                "accepted": last.accepted if last else True,
                "at": scene.situation.at,
                "holding": " and ".join(scene.situation.carried) or None,
                "new": sorted(scene.new),
                "names": {thing: spot for thing, spot in frame.spots().items() if thing != AGENT},
            }
        )
    started = recording.state.moment.started
    about = {
        "goal": started.goal.strip() if started else "",
        "task": started.task if started else "",
        "drawing": drawing,
        "size": size,
        "state": "true" if true else "believed",
        "made_up_plan": turns[0][1].room.made_up,
        "frames": captions,
    }
    atomic_write(folder / CAPTIONS, f"{json.dumps(about, ensure_ascii=False, indent=1)}\n".encode(), sync=False)


def recorded_scenes(recording: Recording, *, true: bool = False) -> Iterator[tuple[EpisodeMoment, Scene]]:
    """The opening and each turn of the branch that was played on, with its scene; with ``true``, of the true state.

    Raises ``Unsupported`` where there is nothing to draw, and ``ConfigurationError`` where the true state is not known.
    """
    moments = [recording.state.moments[stop.id] for stop in recording.branches[-1].stops]
    started = moments[0].started
    assert started is not None, "a recording begins with its start"
    drawing = draw_episode(started, options=recording.options)
    for moment in moments:
        draw: Callable[..., Scene | None] = drawing.true_scene if true else drawing.known_scene
        scene = draw(moment.transitions, moment.belief, moment.before)
        if scene is None:
            why = drawing.missing or "The game answers otherwise than the record says."
            raise ConfigurationError(
                f"--true-state: the true state is not known. {why} Leave it out to draw what the player knew."
            )
        yield moment, scene
