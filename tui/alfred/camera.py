"""The view of a player with a camera: the picture with the agent's claims, its map, and its next step.

A text version is for screen readers and terminals without colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap
from math import ceil, floor
from typing import cast

import numpy as np
from numpy import bool_, int_, uint8
from numpy.typing import NDArray
from rich.style import Style
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip

from housequest.agent.alfred.robot import GroundMap, Impression, glimpses, sightings
from housequest.agent.episodes.drawing import DrawnScene
from housequest.tui.episode.view_drawing import LabelKind, Named, PicturedView, Styles, ViewWish, named_at, painted, plan_lines
from housequest.tui.widgets.blocks import ASPECT, Overlay, block_lines
from housequest.tui.widgets.lines import flat, hung
from housequest.worlds.base import Reach
from housequest.worlds.rooms.room import Pose, kind_of

FALSE, MISSED = "\u2260", "\u2212"  # Marks of false claims and of missed objects.
_ARROWS = "▲▶▼◀"
_TARGET = "✕"
_MIDDLE = "┼"
_FLOOR, _WAY, _OBSTACLE = (222, 216, 204), (52, 120, 246), (116, 118, 126)
_FAINT = 0.62  # The share of the floor's colour in that of kinds claimed from only one viewpoint.
_LEAST_WORDS = 22
_LEAST_MAP = 6
_ROOMY = 24
_LONGEST = 24
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class CameraScene:
    """The drawing of a player with a camera at one moment. ``impression`` is the agent's view of this picture, or of the last
    one that it looked at, which has no ``sightings``. ``reach`` has the actions on objects in the middle of the picture, for a
    person who plays. ``subgoal`` is the step of the agent's plan."""

    def __init__(self, scene: DrawnScene, wish: ViewWish, reach: Reach | None) -> None:
        glimpse, camera, moment = wish.glimpse, scene.camera, wish.moment
        seen = None if glimpse is None else glimpse.look()
        assert seen is None or isinstance(seen, Impression), "bodies with a camera make these"
        fresh = glimpse is not None and glimpse.at == moment.anchor
        self.scene, self.reach, self.impression = scene, reach, seen
        self.sightings = sightings(seen, camera.frame(seen.size)) if seen and fresh and camera else None
        self.subgoal = moment.plan[moment.step] if moment.step < len(moment.plan) else ""

    @property
    def pose(self) -> Pose:
        return self.scene.situation.pose


def _arranged(width: int, height: int) -> tuple[Region, Region | None, Region]:
    """The regions of picture, map and words. Picture and map are square, and the smaller one is made as large as possible."""
    said = min(6, max(3, height // 4))
    level = min(height - said, (width - 1) // 4)
    stack = min((height - 1) // 2, (width - _LEAST_WORDS - 2) // 2)
    row = min(height, (width - _LEAST_WORDS - 2) // 4)
    best = max(level, stack, row)
    if best < _LEAST_MAP:
        rows = max(1, min(height - 3, width // 2))
        return Region((width - 2 * rows) // 2, 0, 2 * rows, rows), None, Region(0, rows, width, height - rows)
    picture, across = Region(0, 0, 2 * best, best), 2 * best + 1
    if best == row:
        return picture, Region(across, 0, 2 * best, best), Region(2 * across, 0, width - 2 * across, height)
    if best == stack:
        beside = Region(across + 1, 0, width - across - 1, height)
        return picture, Region(0, best + 1, 2 * best, height - best - 1), beside
    return picture, Region(across, 0, width - across, best), Region(0, best + 1, width, height - best - 1)


def camera_picture(shown: CameraScene, wish: ViewWish) -> list[Strip]:
    width, height = wish.size
    (picture, ground, words), styles = _arranged(width, height), wish.styles
    canvas = np.empty((2 * height, 2 * width, 3), np.uint8)
    canvas[:] = wish.paper
    drawn = [(picture, _seen(shown, picture, canvas, styles))]
    if ground is not None and shown.impression is not None:
        drawn.append((ground, _mapped(shown, shown.impression, ground, canvas, styles)))
    elif ground is not None:
        # A person has no map, so show the floor plan as known from pictures.
        plan, named = painted(shown.scene, "plan", ground.size, wish)
        canvas[2 * ground.y : 2 * ground.bottom, 2 * ground.x : 2 * ground.right] = plan
        drawn.append((ground, iter(named)))
    overlays = [one._replace(x=one.x + part.x, y=one.y + part.y) for part, there in drawn for one in there]
    lines = [line for said in _words(shown) for line in _lines(said, words.width)]
    for row, (kind, lead, text) in enumerate(lines[: words.height], start=words.y):
        plain = Style(color=styles[kind].color, bold=styles[kind].bold)
        if lead.strip():
            quiet = plain if len(lead) < 4 else Style(color=styles["quiet"].color)
            overlays.append(Overlay(words.x, row, lead.rstrip(), quiet))
        overlays.append(Overlay(words.x + len(lead), row, text, plain))
    return block_lines(canvas, wish.depth, overlays, wish.paper)


def _seen(shown: CameraScene, part: Region, canvas: NDArray[uint8], styles: Styles) -> Iterator[Overlay]:
    """Draw the picture on ``canvas``, and yield its labels, relative to the corner of ``part``."""
    camera = shown.scene.camera
    if camera is None:
        return
    rows = 2 * part.height
    frame = camera.frame((2 * part.width, 2 * part.width)).resized((2 * part.width, rows))
    canvas[2 * part.y : 2 * part.y + rows, 2 * part.x : 2 * (part.x + part.width)] = frame.rgb
    if shown.sightings is not None:
        named, cells = _claims(shown, part)
    else:
        scene = shown.scene
        spots = {name: (column // 2, row // 2) for name, (column, row) in frame.spots().items() if row < rows}
        order = sorted(spots, key=lambda name: (not scene.wants(name), frame.pixels(name)))
        named = [Named(name, flat(name)[:_LONGEST], "goal" if scene.wants(name) else "near", point=True) for name in order]
        cells = spots
    middle = part.width // 2, part.height // 2
    aimed = shown.reach is not None
    yield from named_at(named, {**cells, _MIDDLE: middle} if aimed else cells, part.size, styles, kept=_MIDDLE)
    if aimed:
        yield Overlay(*middle, _MIDDLE, styles["goal"])


def _claims(shown: CameraScene, part: Region) -> tuple[list[Named], dict[str, tuple[int, int]]]:
    # On a small picture, labels would hide the objects.
    right: LabelKind = "near" if part.width >= _ROOMY else "far"
    named: list[Named] = []
    cells: dict[str, tuple[int, int]] = {}
    for number, one in enumerate(sorted(shown.sightings or (), key=lambda one: (not one.false, not one.missed))):
        key = str(number)
        cells[key] = int(one.spot[0] * part.width), int(one.spot[1] * part.height)
        wanted = one.claim is not None and shown.scene.wants(one.claim)
        kind: LabelKind = "false" if one.false else "new" if one.missed else "goal" if wanted else right
        sign = MISSED if one.claim is None else FALSE if one.false else ""
        named.append(Named(key, f"{sign}{flat(one.claim or one.name or '')}"[:_LONGEST], kind, point=True))
    return named, cells


# The map.


class _Floor:
    """The part of the floor that a map shows: the explored part with a margin, in steps of half a metre, so that the map seldom
    jumps. For each pixel, ``x`` and ``z`` are its cell, and ``inside`` is False outside the map."""

    def __init__(self, shown: Impression, pose: Pose, columns: int, rows: int) -> None:
        seen = shown.map
        xs, zs = np.nonzero(seen.explored)
        points = [(pose.x, pose.z), *shown.path, *([shown.target] if shown.target else [])]
        if len(xs):
            points += [(seen.corner[0] + xs.min() * seen.cell, seen.corner[1] + zs.min() * seen.cell)]
            points += [(seen.corner[0] + (xs.max() + 1) * seen.cell, seen.corner[1] + (zs.max() + 1) * seen.cell)]
        (x0, x1), (z0, z1) = ((floor(min(at) * 2 - 0.2) / 2, ceil(max(at) * 2 + 0.2) / 2) for at in zip(*points, strict=True))
        self._row = max((z1 - z0) / rows, (x1 - x0) / (columns * ASPECT))
        self._x0, self._z1 = (x0 + x1) / 2 - self._row * ASPECT * columns / 2, (z0 + z1) / 2 + self._row * rows / 2
        x = (self._x0 + (np.arange(columns) + 0.5) * self._row * ASPECT - seen.corner[0]) / seen.cell
        z = (self._z1 - (np.arange(rows) + 0.5) * self._row - seen.corner[1]) / seen.cell
        cells = cast("list[NDArray[int_]]", np.meshgrid(np.floor(x).astype(int), np.floor(z).astype(int)))
        across, down = cells
        self.inside: NDArray[bool_] = (
            (across >= 0) & (across < seen.kinds.shape[0]) & (down >= 0) & (down < seen.kinds.shape[1])
        )
        self.x: NDArray[int_] = np.where(self.inside, across, 0)
        self.z: NDArray[int_] = np.where(self.inside, down, 0)

    def pixel(self, x: float, z: float) -> tuple[int, int]:
        return floor((x - self._x0) / (self._row * ASPECT)), floor((self._z1 - z) / self._row)


def _mapped(
    shown: CameraScene, impression: Impression, part: Region, canvas: NDArray[uint8], styles: Styles
) -> Iterator[Overlay]:
    seen, columns, rows = impression.map, 2 * part.width, 2 * part.height
    frame = _Floor(impression, shown.pose, columns, rows)
    x, z, inside = frame.x, frame.z, frame.inside
    picture = canvas[2 * part.y : 2 * part.y + rows, 2 * part.x : 2 * part.x + columns]
    floor_colour = np.array(_FLOOR, np.float32)
    colours = np.array([kind_of(name).colour for name in seen.names] + [_OBSTACLE], np.float32)
    faint = colours * (1 - _FAINT) + floor_colour * _FAINT
    kinds, sure = seen.kinds[x, z], seen.sure[x, z]
    explored, blocked = inside & seen.explored[x, z], inside & seen.blocked[x, z]
    there = inside & (kinds >= 0)
    picture[explored] = _FLOOR
    picture[blocked] = _OBSTACLE
    picture[there] = faint[kinds[there]].astype(np.uint8)
    picture[there & sure] = colours[kinds[there & sure]].astype(np.uint8)
    for column, row in starmap(frame.pixel, impression.path[1:]):
        if 0 <= column < columns and 0 <= row < rows:
            picture[row, max(0, column - 1) : column + 1] = _WAY
    named, cells = _landmarks(shown.scene, seen, frame, part)
    column, row = frame.pixel(shown.pose.x, shown.pose.z)
    cells[_MIDDLE] = min(max(column, 0) // 2, part.width - 1), min(max(row, 0) // 2, part.height - 1)
    if impression.target is not None:
        column, row = frame.pixel(*impression.target)
        if 0 <= column < columns and 0 <= row < rows:
            cells[_TARGET] = column // 2, row // 2
    yield from named_at(named, cells, part.size, styles, kept=_MIDDLE)
    yield Overlay(*cells[_MIDDLE], _ARROWS[shown.pose.quarter % 4], styles["new"] + Style(bold=True))
    if cells.get(_TARGET, cells[_MIDDLE]) != cells[_MIDDLE]:
        yield Overlay(*cells[_TARGET], _TARGET, styles["goal"])


def _landmarks(
    scene: DrawnScene, seen: GroundMap, frame: _Floor, part: Region
) -> tuple[list[Named], dict[str, tuple[int, int]]]:
    """The objects named on a map: those of the goal, then large ones."""
    cells: dict[str, tuple[int, int]] = {}
    count: dict[str, int] = {}
    for number, name in enumerate(seen.names):
        xs, zs = np.nonzero(seen.kinds == number)
        if len(xs):
            best = int(((xs - np.median(xs)) ** 2 + (zs - np.median(zs)) ** 2).argmin())
            column, row = frame.pixel(
                seen.corner[0] + (xs[best] + 0.5) * seen.cell, seen.corner[1] + (zs[best] + 0.5) * seen.cell
            )
            if 0 <= column // 2 < part.width and 0 <= row // 2 < part.height:
                cells[name], count[name] = (column // 2, row // 2), len(xs)
    named = [Named(name, f"*{flat(name)}", "goal", point=False) for name in cells if scene.wants(name)]
    large = sorted((name for name in cells if not scene.wants(name)), key=lambda name: -count[name])
    named += [Named(name, flat(name)[:_LONGEST], "far", point=False) for name in large]
    return named, cells


# The text version.


def _lines(said: tuple[LabelKind, str, str], width: int) -> Iterator[tuple[LabelKind, str, str]]:
    kind, lead, text = said
    lead = f"{lead}  " if lead else ""
    for line in hung(Content(lead), Content(text), max(len(lead) + 4, width)):
        yield kind, line.plain[: len(lead)], line.plain[len(lead) :]


def _words(shown: CameraScene) -> Iterator[tuple[LabelKind, str, str]]:
    if shown.reach is not None:
        first, *others = map(flat, shown.reach.commands or [shown.reach.why])
        yield ("goal" if shown.reach.commands else "quiet"), "x", first
        if others and shown.impression is None:
            yield "near", "X", ", ".join(others)
        elif others:
            yield "quiet", "X", f"chooses, also among {len(others)} more"
    impression = shown.impression
    if impression is None:
        return
    if shown.subgoal and flat(shown.subgoal).rstrip(".").lower() != flat(impression.skill).lower():
        yield "near", "goal", flat(shown.subgoal)
    yield "near", "skill", flat(impression.skill) or "none"
    if impression.step:
        yield "near", "step", flat(impression.step)
    if shown.sightings is None:
        yield "quiet", "", "It has not looked at this picture yet."
        return
    yield "near", "holds", flat(impression.held) if impression.held else "nothing"
    false, missed = ([one for one in shown.sightings if one.false], [one for one in shown.sightings if one.missed])
    right = len(shown.sightings) - len(false) - len(missed)
    counts = [f"{right} right", *([f"{len(false)} false"] if false else []), *([f"{len(missed)} missed"] if missed else [])]
    yield "near", "claims", ", ".join(counts)
    for one in false:
        yield "false", FALSE, f"{flat(one.claim or '')} is {f'the {flat(one.name)}' if one.name else 'nothing'}"
    if missed:
        yield "new", MISSED, ", ".join(flat(one.name or "") for one in missed)


def camera_text(shown: CameraScene, size: tuple[int, int]) -> tuple[Content, ...]:
    """The view in words, with the map in characters."""
    width, height = size
    styles = {"goal": "bold $goal", "new": "$new", "false": "$fault", "quiet": "$quiet"}
    said = (line for one in _words(shown) for line in _lines(one, width))
    lines = [Content.assemble((lead, "$quiet"), (text, styles.get(kind, ""))) for kind, lead, text in said]
    impression, camera = shown.impression, shown.scene.camera
    if impression is None and camera is not None:
        across, down = ("left", "", "right"), ("above", "", "below")
        spots = {
            name: (down[row // 33], across[column // 33]) for name, (column, row) in camera.frame((99, 99)).spots().items()
        }
        names = [f"{flat(name)} {' '.join(filter(None, where)) or 'in the middle'}" for name, where in spots.items()]
        lines += hung(Content("sees  "), Content(", ".join(names) or "nothing"), width)
    if impression is not None:
        lines += _characters(shown, impression, width, max(8, height - len(lines) - 3))
    return tuple(lines)


def _characters(shown: CameraScene, impression: Impression, width: int, height: int) -> list[Content]:
    """The map in characters, which are twice as high as wide, and a key to its letters."""
    seen, frame = impression.map, _Floor(impression, shown.pose, width, height)
    letters = dict(zip(seen.names, _LETTERS, strict=False))

    def character(column: int, row: int) -> str:
        cell = int(frame.x[row, column]), int(frame.z[row, column])
        kind = int(seen.kinds[cell])
        if not frame.inside[row, column] or not (kind >= 0 or seen.explored[cell]):
            return " "
        return letters.get(seen.names[kind], "+") if kind >= 0 else "#" if seen.blocked[cell] else "."

    rows = [[character(column, row) for column in range(width)] for row in range(height)]
    marks: Sequence[tuple[tuple[int, int], str]] = [
        *((frame.pixel(*place), "o") for place in impression.path),
        *([(frame.pixel(*impression.target), _TARGET)] if impression.target else []),
        (frame.pixel(shown.pose.x, shown.pose.z), "^>v<"[shown.pose.quarter % 4]),
    ]
    for (column, row), mark in marks:
        if 0 <= column < width and 0 <= row < height:
            rows[row][column] = mark
    there = {character for row in rows for character in row}
    key = ", ".join(f"{letter} {flat(name)}" for name, letter in letters.items() if letter in there)
    key = f"{key}; . floor, # in the way, o its path, {_TARGET} its target".removeprefix("; ")
    drawn = [Content("".join(row).rstrip()) for row in rows]
    return [*(line for line in drawn if line.plain), *hung(Content("  "), Content.styled(key, "$quiet"), width)]


def _draw(scene: DrawnScene, wish: ViewWish, reach: Reach | None) -> tuple[tuple[Strip, ...], tuple[Content, ...]]:
    shown = CameraScene(scene, wish, reach)
    if wish.drawing == "camera":
        return tuple(camera_picture(shown, wish)), ()
    told = camera_text(shown, wish.size)
    return (), told if shown.impression else (*told, *plan_lines(scene, wish.size))


CAMERA_VIEW = PicturedView(_draw, glimpses)
