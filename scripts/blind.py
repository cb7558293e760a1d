"""Draws thirty views through an agent's eyes and thirty doll's houses without labels, for somebody to name.

    python -m scripts.blind FOLDER

writes ``eyes.png`` and ``house.png``, sheets of six by five pictures of made-up houses, and ``answers.json``: row by row, the
piece of furniture in view, and the furniture of the house.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.household.belief import kind
from housequest.worlds.registry import make_world
from housequest.worlds.rooms.render import Frame
from housequest.worlds.rooms.view import Drawing, picture

ACROSS, DOWN = 6, 5
SIZE = (320, 240)
_GAP = 8


def draw_views(world: AlfworldWorld, split: str = "generated") -> tuple[dict[Drawing, list[Frame]], dict[Drawing, list[str]]]:
    """The pictures of each kind of drawing, and their contents; no two show the same furniture or house."""
    frames: dict[Drawing, list[Frame]] = {"eyes": [], "house": []}
    answers: dict[Drawing, list[str]] = {"eyes": [], "house": []}
    number = 0
    while len(frames["eyes"]) < ACROSS * DOWN or len(frames["house"]) < ACROSS * DOWN:
        task = world.task(f"{split}:{number}")
        room, env = world.room(task), world.open(task)
        env.reset()
        names = [one.name for one in room.fixtures]
        if len(frames["house"]) < ACROSS * DOWN and (situation := world.situation(env, room)) is not None:
            frames["house"].append(picture("house", room, situation, SIZE))
            answers["house"].append(", ".join(sorted({kind(name) for name in names})))
        for name in names:
            # First each kind once, then again: there are fewer than thirty.
            if answers["eyes"].count(kind(name)) <= number // 25 and len(frames["eyes"]) < ACROSS * DOWN:
                env.step(f"go to {name}")
                situation = world.situation(env, room)
                if situation is not None and situation.at == name:
                    frames["eyes"].append(picture("eyes", room, situation, SIZE))
                    answers["eyes"].append(kind(name))
        env.close()
        number += 1
    return frames, answers


def sheet(frames: list[Frame]) -> bytes:
    """The pictures beside and below each other, as a PNG."""
    width, height = SIZE
    blank = np.full((DOWN * (height + _GAP), ACROSS * (width + _GAP), 3), 255, np.uint8)
    for at, frame in enumerate(frames):
        top, left = at // ACROSS * (height + _GAP), at % ACROSS * (width + _GAP)
        blank[top : top + height, left : left + width] = frame.opaque((20, 22, 27)).rgb
    shape = blank.shape[:2]
    return Frame(blank, np.zeros(shape, np.float32), np.zeros(shape, np.int32), ()).png()


def main(folder: Path) -> None:
    """Write the sheets and the answers."""
    world = make_world("alfworld")
    assert isinstance(world, AlfworldWorld)
    frames, answers = draw_views(world)
    folder.mkdir(parents=True, exist_ok=True)
    for drawing, drawn in frames.items():
        (folder / f"{drawing}.png").write_bytes(sheet(drawn))
    (folder / "answers.json").write_text(json.dumps(answers, indent=1), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
