"""The drawing of the View, apart from its pane: from a wish to lines, in a thread. Imported in one, since NumPy takes long."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from threading import Lock
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy  # noqa: F401  # pyright: ignore[reportUnusedImport]  # or the first drawing would import it
from rich.cells import cell_len
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from housequest.agent.base import Glimpse
from housequest.agent.episodes.drawing import DrawnScene, EpisodeDrawing, draw_episode
from housequest.agent.episodes.emitter import fault
from housequest.tui.episode.state import EpisodeMoment
from housequest.tui.text import printable
from housequest.tui.widgets.blocks import ASPECT, ColourDepth, Overlay, block_lines
from housequest.tui.widgets.lines import flat, hung
from housequest.tui.widgets.pixels import LARGEST, Graphics, PlacedPicture, lay, place
from housequest.tui.widgets.sixel import sixels
from housequest.worlds.base import Reach, Reaching, Task, World
from housequest.worlds.env import RobotMove, moves_in_words
from housequest.worlds.errors import ConfigurationError, HousequestError, Unsupported
from housequest.worlds.household.belief import kind as kind_of_name
from housequest.worlds.options import Scalar
from housequest.worlds.registry import load_plugin
from housequest.worlds.rooms.room import Box, Pose, strides
from housequest.worlds.rooms.stage import AGENT
from housequest.worlds.rooms.view import Drawing, text_plan

if TYPE_CHECKING:
    from numpy import uint8
    from numpy.typing import NDArray

    from housequest.agent.episodes.events import Event, Started
    from housequest.worlds.rooms.render import Frame

LabelKind = Literal["goal", "new", "near", "far", "false", "quiet"]
"""Kinds of label: the goal's things, new ones, those at hand, others, those that are not so, and words beside the drawing."""

Styles = Mapping[LabelKind, Style]
_LEAST = (12, 5)  # cells of the smallest drawing
_KEYS = 24  # columns that what is known of receptacles needs to stand beside the plan in characters
_GAP = 2
_LONGEST = 24
_FEW = 3
_EFFORT = 4  # zlib's level: more effort takes longer than sending the bytes
_SHARE = 240  # cells of a drawing for each landmark that is named: more names than that hide what they name


class Named(NamedTuple):
    """A thing to be named, by the ``name`` of its cell; a ``point`` is named beside it and so stays in sight, else on it."""

    name: str
    text: str
    kind: LabelKind
    point: bool


def labels(
    scene: DrawnScene, cells: Mapping[str, tuple[int, int]], size: tuple[int, int], styles: Styles, *, hidden: bool
) -> list[Overlay]:
    """The names that have room on a drawing, none over another; with ``hidden``, also of what is known but not seen."""
    holders = {thing: one.name for one in scene.situation.holders for thing in one.contents}
    holders |= dict.fromkeys(scene.situation.carried, AGENT)
    holders |= {thing: one.name for one in scene.situation.others for thing in one.carried}
    ranked = list(_ranked(scene))
    there = {one.name: cells[holders[one.name]] for one in ranked if hidden and one.point and holders.get(one.name) in cells}
    return named_at(ranked, {**there, **cells}, size, styles, points=cells, kept=AGENT)


def named_at(
    ranked: Sequence[Named],
    cells: Mapping[str, tuple[int, int]],
    size: tuple[int, int],
    styles: Styles,
    *,
    points: Mapping[str, tuple[int, int]] | None = None,
    kept: str = "",
) -> list[Overlay]:
    """The first names of ``ranked`` that have room at ``cells``; none stands on what is seen (``points``) or ``kept``."""
    seen = cells if points is None else points
    marks = {seen[one.name] for one in ranked if one.point and one.name in seen and one.kind in ("goal", "new")}
    taken = defaultdict[int, list[tuple[int, int]]](list)

    def free(x: int, y: int, width: int, *, apart: bool = False) -> bool:
        """True if nothing lies there, nor just before or after it; if ``apart``, nor above and below."""
        inside = x >= 0 and y >= 0 and x + width <= size[0] and y < size[1]
        lines = (y - 1, y, y + 1) if apart else (y,)
        return inside and all(x + width < first or last < x for line in lines for first, last in taken.get(line, ()))

    for x, y in (*marks, *([cells[kept]] if kept in cells else ())):
        taken[y].append((x, x + 1))
    found: list[Overlay] = []
    landmarks = size[0] * size[1] // _SHARE
    alike = max(_FEW, landmarks // 2)  # things at hand, beside those that matter
    for one in ranked:
        cell, far = cells.get(one.name), one.kind == "far"
        small = one.kind == "near" and one.point
        if cell is None or (far and not landmarks) or (small and not alike):
            continue
        width = cell_len(one.text)
        place = next((place for place in _places(cell, width, one) if free(*place, width, apart=far)), None)
        if place is not None:
            found.append(Overlay(*place, one.text, styles[one.kind]))
            landmarks -= far
            alike -= small
        elif one.kind in ("goal", "new", "false") and (cell in marks or free(*cell, 1)):
            found.append(Overlay(*cell, one.text[:1], styles[one.kind]))
            marks.discard(cell)
        else:
            continue
        taken[found[-1].y].append((found[-1].x, found[-1].end))
    return found


def _places(cell: tuple[int, int], width: int, one: Named) -> Iterator[tuple[int, int]]:
    """List the places for the name of a thing at ``cell``, the best first; the goal's things may be named further off."""
    x, y = cell
    if one.point:
        yield from ((x + 2, y), (x - 1 - width, y))
    else:
        yield x - width // 2, y
    for by in (1, 2, 3) if one.kind == "goal" else (1,):
        yield from ((start, line) for line in (y - by, y + by) for start in (x - width // 2, x + 1, x - width))


def _ranked(scene: DrawnScene) -> Iterator[Named]:
    """List what is to be named, the most important first, each once."""
    now = scene.situation
    here = next((one for one in now.holders if one.name == now.at), None)
    near = () if here is None or here.openness == "closed" else here.contents
    known = [thing for one in now.holders for thing in one.contents if thing not in near]
    things = [*now.carried, *near, *known]
    fixtures = [one.name for one in scene.room.fixtures]
    at = [] if now.at is None else [now.at]
    goal = [one for one in fixtures if scene.wants(one)]
    others = [one.name for one in now.others]
    things += [thing for one in now.others for thing in one.carried]
    order = [*others, *(one for one in things if scene.wants(one))]
    order += goal if len(goal) <= _FEW else []
    order += [*at, *things[: len(things) - len(known)]]
    order += [one for one in (*things, *fixtures) if one in scene.new]
    # A large thing says more than a small one, and a single one more than one of ten drawers.
    alike = Counter(map(kind_of_name, fixtures))
    large = sorted(scene.room.fixtures, key=lambda one: (alike[kind_of_name(one.name)], -_volume(one.box)))
    order += [*goal, *scene.room.rooms, *(one.name for one in large)]
    hand = {*at, *near, *now.carried, *others}
    places = frozenset(fixtures)
    for name in dict.fromkeys(order):
        new, wanted = name in scene.new, scene.wants(name)
        kind: LabelKind = "goal" if wanted else "new" if new else "near" if name in hand else "far"
        text = f"{'+' if new else ''}{'*' if wanted else ''}{flat(name)[:_LONGEST]}"
        yield Named(name, text, kind, name not in places)


def _volume(box: Box) -> float:
    return (box.x1 - box.x0) * (box.y1 - box.y0) * (box.z1 - box.z0)


@dataclass(frozen=True, slots=True)
class ViewWish:
    """The inputs of a drawing. ``drawing`` is None for the plan in characters; ``size`` is in cells.

    ``styles`` are those of names; ``paper`` is the colour beside the room. ``glimpse`` is a camera agent's reading of the
    latest picture. ``acting``: a person may act on the thing in the middle of the picture. ``enacted``: a simulator also
    carries out commands, so each has its own moves. ``graphics`` lead to pixels, if possible.
    """

    drawing: Drawing | Literal["camera"] | None
    moment: EpisodeMoment
    true: bool
    size: tuple[int, int]
    depth: ColourDepth
    styles: Styles
    paper: tuple[int, int, int]
    glimpse: Glimpse | None = None
    acting: bool = False
    enacted: bool = False
    graphics: Graphics | None = None

    @property
    def seen(self) -> tuple[object, ...]:
        """Equal for wishes that come to the same drawing; of tuples, what is the same is not compared further."""
        now, way = self.moment, (self.drawing, self.true, self.size, self.depth, self.styles, self.paper, self.graphics)
        told = now.story if self.true or self.enacted or now.belief is None else None
        return (*way, now.started, now.belief, now.before, told, self.glimpse, self.acting)


class Drawn(NamedTuple):
    """A drawing, as lines of a picture or text, with a person's possible actions on the thing in its middle. ``placed`` is the
    picture in pixels."""

    picture: tuple[Strip, ...] = ()
    text: tuple[Content, ...] = ()
    remarks: tuple[str, ...] = ()
    true: bool = False
    reach: Reach | None = None
    placed: PlacedPicture | None = None


class PicturedView(NamedTuple):
    """The view of an episode in a world of pictures, which the group ``housequest.views`` names ``camera``.

    ``draw`` makes the drawing "camera" and what stands in its place in text, as lines of a picture and of text; ``glimpses``
    finds out from a record what the agent made of its pictures, by events, and raises ``Unsupported`` where it cannot.
    """

    draw: Callable[[DrawnScene, ViewWish, Reach | None], tuple[tuple[Strip, ...], tuple[Content, ...]]]
    glimpses: Callable[[Sequence[Event]], Mapping[int, Glimpse]]


def pictured_view() -> PicturedView:
    """The view of a world of pictures. Raises ``ConfigurationError`` where none is installed."""
    return load_plugin("housequest.views", "camera", "view")


class ViewArtist:
    """Draws the moments of episodes, each in one room, of a ``game``, or of a record and the ``options`` of its world."""

    def __init__(self, game: tuple[World, Task] | None = None, options: Mapping[str, Scalar] | None = None) -> None:
        self._game = game
        self._options = options
        self._episode: tuple[Started, EpisodeDrawing] | None = None
        self._busy = Lock()

    def close(self) -> None:
        """End what is played beside the episode, such as a process of AI2-THOR's. Blocks while something is drawn."""
        with self._busy:
            if self._episode is not None and self._episode[1].states is not None:
                self._episode[1].states.close()
            self._episode = None

    def draw(self, wish: ViewWish) -> Drawn:
        """Fulfil ``wish``; where nothing can be drawn, the text says why. Blocks: call it in one thread at a time."""
        if wish.size[0] < _LEAST[0] or wish.size[1] < _LEAST[1]:
            return _sentence("There is no room for a drawing here.", wish)
        try:
            with self._busy:
                return self._drawn(wish)
        except (Unsupported, ConfigurationError) as error:
            return _sentence(str(error), wish)
        except Exception as error:  # noqa: BLE001 (the world may be another package's, and the game goes on without its drawing)
            return _sentence(f"The house cannot be drawn, because of a fault in the code: {fault(error)}", wish)

    def moves(self, wish: ViewWish) -> tuple[RobotMove, ...]:
        """The low-level actions by which the last command was enacted; none where nothing can be drawn. Blocks."""
        try:
            with self._busy:
                enacted = _scene(self._drawing_of(wish.moment), wish)[0].enacted
        except Exception:  # noqa: BLE001 (the drawing that follows says what is wrong)
            return ()
        return () if enacted is None else enacted.moves

    def strides(self, wish: ViewWish, most: int) -> tuple[Pose, ...]:
        """At most so many poses on the walk of the last command; none if nothing can be drawn. Blocks."""
        try:
            with self._busy:
                scene = _scene(self._drawing_of(wish.moment), wish)[0]
        except Exception:  # noqa: BLE001 (the drawing that follows says what is wrong)
            return ()
        return () if scene.came is None else strides(scene.room, scene.came, scene.situation.pose, most)

    def draw_stride(self, wish: ViewWish, pose: Pose) -> Drawn:
        """A drawing on the walk of the last command. Blocks."""
        before = wish.moment.before
        assert before is not None and wish.drawing not in (None, "camera"), "only pictures of what is believed move"
        with self._busy:
            episode = self._drawing_of(wish.moment)
            scene = episode.walking_scene(_scene(episode, wish)[0], before, pose)
            picture, placed = _picture(scene, wish.drawing, wish)
        made_up = ("made-up plan",) if scene.room.made_up else ()
        return Drawn(picture, (), made_up, scene.true, None, placed)

    def draw_move(self, wish: ViewWish, move: RobotMove, words: str) -> Drawn:
        """The drawing just after a ``move`` of the last command; ``words`` are for the title. Blocks."""
        episode, before = self._drawing_of(wish.moment), wish.moment.before
        assert before is not None and wish.drawing not in (None, "camera"), "only pictures of what is believed move"
        scene = episode.moving_scene(wish.moment.transitions, before, move, true=wish.true)
        picture, placed = _picture(scene, wish.drawing, wish)
        return Drawn(picture, (), (words,), scene.true, None, placed)

    def _drawn(self, wish: ViewWish) -> Drawn:
        scene, missing = _scene(self._drawing_of(wish.moment), wish)
        made_up = ("made-up plan",) if scene.room.made_up else ()
        remarks = (*made_up, *missing, *((f"enacted: {scene.enacted.count}",) if scene.enacted is not None else ()))
        reach = scene.camera.reach() if wish.acting and isinstance(scene.camera, Reaching) else None
        picture: tuple[Strip, ...] = ()
        text: tuple[Content, ...] = ()
        placed: PlacedPicture | None = None
        if scene.camera is not None and wish.drawing in ("camera", None):
            picture, text = pictured_view().draw(scene, wish, reach)
        elif wish.drawing == "camera":
            raise Unsupported("There is no camera in this game; v shows other drawings.")
        elif wish.drawing is None:
            text = plan_lines(scene, wish.size)
        else:
            picture, placed = _picture(scene, wish.drawing, wish)
        return Drawn(picture, text, remarks, scene.true, reach, placed)

    def _drawing_of(self, moment: EpisodeMoment) -> EpisodeDrawing:
        if moment.started is None:
            raise Unsupported("The house is drawn here once it is open.")
        if self._episode is None or self._episode[0] != moment.started:
            self._episode = moment.started, draw_episode(moment.started, moment.opening, self._game, self._options)
        return self._episode[1]


def _scene(episode: EpisodeDrawing, wish: ViewWish) -> tuple[DrawnScene, tuple[str, ...]]:
    moment, turns = wish.moment, wish.moment.transitions
    believed = episode.known_scene(turns, moment.belief, moment.before)
    if not wish.true:
        return believed, ()
    try:
        scene = episode.true_scene(turns, moment.belief, moment.before)
    except HousequestError as error:
        return believed, (f"no true state: {error}",)
    if scene is None:
        return believed, (f"no true state: {episode.missing or 'the game here answers otherwise.'}",)
    return scene, ()


def _picture(scene: DrawnScene, drawing: Drawing, wish: ViewWish) -> tuple[tuple[Strip, ...], PlacedPicture | None]:
    """The ``drawing`` in blocks and, if the terminal has them, in pixels."""
    graphics = wish.graphics if max(wish.size) <= LARGEST else None
    across, down = graphics.drawn if graphics else (2, 2)
    frame = scene.picture(drawing, (across * wish.size[0], down * wish.size[1]), ASPECT * down / across)
    rough = frame.resized((2 * wish.size[0], 2 * wish.size[1]))
    overlays = _overlays(scene, drawing, frame, (across, down), wish)
    blocks = tuple(block_lines(rough.opaque(wish.paper).rgb, wish.depth, overlays, wish.paper))
    if graphics is None:
        return blocks, None
    if graphics.way == "kitty":
        return blocks, place(frame.png(effort=_EFFORT), wish.size, overlays, wish.paper)
    holes = [(one.x * across, one.y * down, one.end * across, (one.y + 1) * down) for one in overlays]
    whole = frame.opaque(wish.paper, holes)
    if graphics.way == "page":
        return blocks, lay(whole.png(effort=_EFFORT), blocks)
    whole = whole.resized((graphics.cell.width * wish.size[0], graphics.cell.height * wish.size[1]))
    return blocks, lay(sixels(whole.rgb, whole.depth == 0), blocks)


def painted(scene: DrawnScene, drawing: Drawing, size: tuple[int, int], wish: ViewWish) -> tuple[NDArray[uint8], list[Overlay]]:
    """The ``drawing`` of a scene in so many cells, and the names on it, in the colours of ``wish``."""
    frame = scene.picture(drawing, (2 * size[0], 2 * size[1]), ASPECT)
    return frame.opaque(wish.paper).rgb, _overlays(scene, drawing, frame, (2, 2), wish)


def _overlays(scene: DrawnScene, drawing: Drawing, frame: Frame, grain: tuple[int, int], wish: ViewWish) -> list[Overlay]:
    across, down = grain
    cells = {name: (column // across, row // down) for name, (column, row) in frame.spots().items()}
    size = frame.size[0] // across, frame.size[1] // down
    return labels(scene, cells, size, wish.styles, hidden=drawing != "eyes")


def _sentence(text: str, wish: ViewWish) -> Drawn:
    return Drawn(text=tuple(Content.styled(printable(text), "$quiet").wrap(max(1, wish.size[0]))))


def plan_lines(scene: DrawnScene, size: tuple[int, int]) -> tuple[Content, ...]:
    """The plan in characters: first where one stands, then the plan, then what is known of each receptacle."""
    width, height = size
    now = scene.situation
    middle = "in the middle of the room"
    at = f"at {now.at}" if now.at else middle
    came = f"; came from {scene.left or middle.removeprefix('in ')}" if scene.came else ""
    held = " and ".join(map(now.named, now.carried)) or "nothing"
    lines = hung(Content("  "), Content(flat(f"{at}, holding {held}{came}")), width)
    if scene.new:
        lines += hung(Content.styled("+ ", "$new"), Content.styled(", ".join(map(flat, sorted(scene.new))), "$new"), width)
    if (enacted := scene.enacted) is not None:
        said = (("moves", moves_in_words(enacted.moves)), ("so far", flat(enacted.words)))
        lines += [line for lead, text in said for line in hung(Content.styled(f"{lead}  ", "$quiet"), Content(text), width)]
    side = width >= 2 * _KEYS + _GAP
    room = (width - _KEYS - _GAP, max(5, height - len(lines))) if side else (width, max(5, height * 3 // 5))
    drawn = text_plan(scene.room, now, room)
    rows = [Content(row) for row in drawn.rows]
    margin = len(drawn.rows[0]) + _GAP if side else 0
    told = [(Content("   "), Content(flat(one))) for one in drawn.others]
    seen = {one.name for one in now.holders if one.seen or one.contents}
    named = zip((one.name for one in scene.room.fixtures), drawn.keys, strict=True)
    told += [_key(scene, *each) for each in sorted(named, key=lambda each: (each[0] != now.at, each[0] not in seen))]
    keys = [line for mark, key in told for line in hung(mark, key, width - margin)]
    if not side:
        return (*lines, *rows, *keys)
    pairs = zip_longest(rows, keys)
    return (*lines, *((row.pad_right(_GAP) if row else Content(" " * margin)) + (key or "") for row, key in pairs))


def _key(scene: DrawnScene, name: str, key: str) -> tuple[Content, Content]:
    """The marks of a receptacle, and the line on it."""
    holder = next((one for one in scene.situation.holders if one.name == name), None)
    names = {name, *(holder.contents if holder else ())}
    new, wanted = bool(names & scene.new), any(map(scene.wants, names))
    style = "bold $goal" if wanted else "$new" if new else ""
    return Content.styled(f"{'+' if new else ' '}{'*' if wanted else ' '} ", style), Content.styled(flat(key), style)
