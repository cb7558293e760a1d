"""Transcripts on a page, as many as fit; the others become links to their records.

Beside the turns stand drawings: what the player knew of the house, or what its camera saw, as small pictures with names on
them. The opening's picture stands once in the page's style, as the background of all others of its episode. Each of them holds
only what differs from it, which takes a third of the bytes.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from housequest.agent.episodes.drawing import DrawnScene, scenes
from housequest.agent.episodes.events import Event, ModelCall, PromptMessage, Stepped, TurnSpent, branch
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis.transcript import aligned, model_calls, notes, transcribe
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.rooms.render import Frame, Size
from housequest.worlds.rooms.stage import AGENT
from housequest.worlds.text import printable

SIZE = (288, 216)
"""Columns and rows of pixels before empty borders are cut off."""
_CAMERA = (160, 160)
"""Columns and rows of what a camera saw."""
_BORDER = 5
"""Pixels around the room of the opening: a door that opens may reach out of it."""
_MOST_NAMES = 8
_LONGEST_NAME = 24
_LETTER, _LINE = 6, 11
"""Pixels of a letter and of a line of names."""
_MOST_WORDS = 12
"""Things that are listed in the words for a picture."""
Box = tuple[float, float, float, float]
Spots = Mapping[str, tuple[int, int]]
"""The pixel at which each thing is (`Frame.spots`)."""
LONGEST_LINE = 160
"""The most characters of a folded thought."""
_LINK = Markup('<a href="{}">{}</a>')
MOST_SHARED = 64
LONGEST_SHARED = 40_000


class Limits(NamedTuple):
    """The most characters on a page of each part; with its tables, a page stays near 25 MB. Prompts and replies are far longer
    than the rest of a transcript. A drawing is some 2,000 characters, and takes 15 ms.
    """

    transcripts: int = 12 << 20
    calls: int = 4 << 20
    drawings: int = 6 << 20


ONE_OF_MANY = Limits(40 << 10, 16 << 10, 0)
"""Those of each page of a large run: some transcripts, and all pages of 10,000 episodes in a few seconds."""


class Episodes:
    """The transcripts of one page within its limits: after the first that does not fit, all become links and are not read. The
    next page has limits of its own."""

    def __init__(self, environment: Environment, page: Path, limits: Limits) -> None:
        filters: dict[str, Any] = {"asides": notes, "called": model_calls, "words": _call_words, "shared": self._number}
        filters |= {"fits": _fits, "line": _line}
        environment.filters.update(filters)
        self.environment = environment
        self._limits = limits
        self.begin(page)

    def begin(self, page: Path) -> None:
        """Go on with the page that will be written to ``page``."""
        self._page = page
        self._folders: dict[Path, str] = {}
        self._room = self._limits.transcripts
        self._calls = self._limits.calls
        self.shared: dict[str, int] = {}
        """The system messages that calls refer to, with their numbers, from 1."""
        self.drawings = Drawings(self.environment, self._limits.drawings)
        self.embedded = 0
        self.with_calls = 0
        self.linked = 0

    @property
    def bound(self) -> str:
        """The limits of the page and how much of them is used, in words."""
        transcripts, calls, drawings = map(_size, self._limits)
        most = f"A page holds {transcripts} transcripts, {calls} prompts and replies, and {drawings} drawings"
        some = f" {self.drawings.bound}" if self.drawings.bound else ""
        if self.linked:
            links = f"{self.linked} are links to their records, from where this page was written"
            return f"{most}: {self.embedded} are here, and {links}. {self.with_calls} show prompts and replies.{some}"
        called = f"; {self.with_calls} of them show prompts and replies" if self.with_calls < self.embedded else ""
        return f"{most}. All {self.embedded} are here{called}.{some}"

    def transcript(self, *records: Path, names: Sequence[str] = ()) -> Markup:
        """The transcript of one record, or of two beside each other under ``names``, aligned by turn; or links to them."""
        if self.linked:
            return self._link(records)
        try:
            paths = [branch(list(read_episode(record))) for record in records]
        except ConfigurationError as error:
            self.embedded += 1
            self.with_calls += 1
            return self._links(f"{error} See", records)
        told = [transcribe(path) for path in paths]
        thought = [before for each in told for before in (*(turn.before for turn in each.turns), each.after)]
        calls = [call for before in thought for call in model_calls(before)]
        for message in (message for call in calls for message in call.added):
            self._number(message)
        template = self.environment.get_template("transcript.html" if len(told) == 1 else "beside.html")
        values: dict[str, object] = {"episodes": told, "names": names, "aligned": aligned(told[0], told[-1])}
        bare = template.render(values, calls=False, left=bool(calls), drawings=[EpisodeDrawings()] * len(told))
        if len(bare) > self._room:
            return self._link(records)
        self._room -= len(bare)
        values["drawings"] = drawn = [self.drawings.of(path) for path in paths]
        if any(each.pictures for each in drawn):
            bare = template.render(values, calls=False, left=bool(calls))
        self.embedded += 1
        if not calls:
            self.with_calls += 1
        elif self._calls > 0:
            whole = template.render(values, calls=True, left=False)
            more = len(whole) - len(bare)
            # After one that does not fit, no other is tried.
            self._calls = self._calls - more if more <= self._calls else 0
            if self._calls:
                self.with_calls += 1
                return Markup(whole)  # the template escaped it
        return Markup(bare)

    def _link(self, records: Sequence[Path]) -> Markup:
        self.linked += 1
        return self._links("Too much for this page; it is recorded in", records)

    def _links(self, reason: str, records: Sequence[Path]) -> Markup:
        links = (
            _LINK.format(f"{self._address(record.parent)}/{quote(record.name, safe='')}", printable(record.name))
            for record in records
        )
        return Markup("<p>{} {}</p>").format(printable(reason), Markup(", ").join(links))

    def _address(self, folder: Path) -> str:
        """The relative URL of ``folder`` from the page, percent-encoded."""
        if folder not in self._folders:
            there = folder.resolve()
            try:
                parts = Path(os.path.relpath(there, self._page.resolve().parent)).parts
                self._folders[folder] = "/".join([".", *(quote(part, safe="") for part in parts)])
            except ValueError:  # another drive of Windows
                self._folders[folder] = there.as_uri()
        return self._folders[folder]

    def _number(self, message: PromptMessage) -> int | None:
        """The number of a system message under which the page shows it once; None for others, and for long or further ones."""
        if message.role != "system" or len(message.content) > LONGEST_SHARED:
            return None
        if message.content not in self.shared and len(self.shared) < MOST_SHARED:
            self.shared[message.content] = len(self.shared) + 1
        return self.shared.get(message.content)


def _fits(text: str) -> bool:
    """True if a note fits on one line and need not be folded."""
    return len(text) <= LONGEST_LINE and "\n" not in text


def _line(text: str) -> str:
    line = " ".join(text[: 4 * LONGEST_LINE].split())
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."


def _call_words(call: ModelCall) -> str:
    """Describe a call; its ``added`` messages are what is new in the role's prompt since its last call."""
    counts = (("read", call.prompt_tokens), ("written", call.completion_tokens))
    counted = [f"{count} tokens {what}" for what, count in counts if count is not None]
    kept = [f"after {call.kept} messages as before"] if call.kept else []
    ended = [] if call.finish == "stop" else [f"ended by {call.finish}"]
    return ", ".join(["called the model", *kept, *counted, *ended])


def _size(most: int) -> str:
    """A number of characters, or that there are none."""
    return f"at most {most >> 20} MiB of" if most >> 20 else f"at most {most >> 10} KiB of" if most else "no"


class EpisodeDrawings(NamedTuple):
    """The drawings of one episode on a page, by the numbers of its turns, 0 for the opening."""

    pictures: Mapping[tuple[int, str], Markup] = {}
    made_up: bool = False


class Drawings:
    """The drawings of one page within its limit of characters: after the first that does not fit, none is drawn."""

    def __init__(self, environment: Environment, most: int) -> None:
        self._template = environment.get_template("drawing.html")
        self._left = most
        self._openings: dict[str, int] = {}
        self._drawn = 0
        self._by_camera = False
        self._full = not most

    @property
    def bound(self) -> str:
        """A description of the pictures; empty if there are none."""
        some = f" Episodes that have some: {self._drawn}; there was no room for more." if self._full else ""
        marks = "+ stands before what is new since the turn before, * before what the goal names."
        shown = "what the player's camera saw" if self._by_camera else "the house as far as the player knew it"
        return f"The pictures show {shown}; {marks}{some}" if self._drawn else ""

    @property
    def style(self) -> str:
        """The rules of the style with the pictures that others are laid over."""
        return "".join(f".r{number}{{background-image:url({picture})}}\n" for picture, number in self._openings.items())

    def of(self, path: Sequence[Event]) -> EpisodeDrawings:
        """The drawings of an episode's branch, as many as fit; none where there is nothing to draw. They are drawn one by one:
        an episode may have thousands of turns.
        """
        try:
            turns = () if self._full else [(_turn(event), event.player or "", scene) for event, scene in scenes(path)]
        except Unsupported:
            turns = ()
        if not turns:
            return EpisodeDrawings()
        *_, first = turns[0]
        whole, box = _opening(first)
        opening = _data_url(whole.png())
        number = self._openings.get(opening, len(self._openings) + 1)
        pictures: dict[tuple[int, str], Markup] = {}
        earlier: dict[str, DrawnScene] = {}
        for turn, player, scene in turns:
            # A turn that changed nothing known has none.
            if (before := earlier.get(player)) is None or scene.new or scene.situation != before.situation:
                frame, words, names = _picture(turn, scene, box)
                address = _data_url(frame.png(over=whole))
                picture = self._template.render(size=whole.size, address=address, words=words, names=names, room=number)
                length = len(picture) + (0 if opening in self._openings else len(opening))
                if length > self._left:
                    self._full = True
                    break
                self._left -= length
                self._openings[opening] = number
                pictures[turn, player] = Markup(picture)  # the template escaped it
            earlier[player] = scene
        self._drawn += bool(pictures)
        self._by_camera = box is None
        return EpisodeDrawings(pictures, first.room.made_up and bool(pictures))


def _turn(event: Event) -> int:
    return event.body.turn if isinstance(event.body, Stepped | TurnSpent) else 0


def _opening(scene: DrawnScene) -> tuple[Frame, tuple[int, int, int, int] | None]:
    """The first picture of an episode, and the part that it shows of the house; None where a camera saw it."""
    if scene.camera is not None:
        return scene.picture("eyes", _CAMERA), None
    whole = scene.picture("house", SIZE)
    left, top, right, bottom = whole.extent()
    box = (max(0, left - _BORDER), max(0, top - _BORDER), min(SIZE[0], right + _BORDER), min(SIZE[1], bottom + _BORDER))
    return whole.part(*box), box


def _picture(turn: int, scene: DrawnScene, box: tuple[int, int, int, int] | None) -> tuple[Frame, str, list[_Label]]:
    """The picture of a turn, its description in words, and the names on it."""
    frame = scene.picture("house", SIZE).part(*box) if box else scene.picture("eyes", _CAMERA)
    spots, words = frame.spots(), _words(scene)
    if box is None:
        there = ", ".join(sorted(spots)[:_MOST_WORDS]) + (" and more" if len(spots) > _MOST_WORDS else "")
        words = f"What the camera sees: {there or 'nothing'}. {words}"
    elif not turn:
        words = f"{_plan_words(scene, spots, frame.size)} {words}"
    return frame, words, list(_names(scene, spots, frame.size))


class _Label(NamedTuple):
    """A name on a picture: its left end and its baseline, and what it is."""

    x: int
    y: int
    text: str
    kind: str


def _data_url(picture: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


def _words(scene: DrawnScene) -> str:
    """Describe the picture of a turn, for people who do not see it."""
    now = scene.situation
    here = next((one for one in now.holders if one.name == now.at), None)
    stands = f"at {now.at}" if now.at else "in the middle of the room"
    if here is not None and here.openness in ("open", "closed"):
        stands += f", which is {here.openness}"
    new = sorted(scene.new)
    told = [f"The player stands {stands}, and holds {' and '.join(now.carried) or 'nothing'}."]
    if new:
        told.append(f"New: {', '.join(new[:_MOST_WORDS])}{' and more' if len(new) > _MOST_WORDS else ''}.")
    return " ".join(told)


def _plan_words(scene: DrawnScene, spots: Spots, size: Size) -> str:
    """Describe the plan in words, by thirds of the picture."""
    width, height = size
    down, across = ("back", "middle", "front"), ("left", "middle", "right")
    places: list[tuple[int, int, str]] = []
    for fixture in scene.room.fixtures:
        if fixture.name in spots:
            column, row = spots[fixture.name]
            places.append((3 * row // height, 3 * column // width, fixture.name))
    places.sort(key=lambda place: place[:2])
    parts = [
        f"{down[row]} {across[column]}: {', '.join(name for _, _, name in group)}"
        for (row, column), group in groupby(places, key=lambda place: place[:2])
    ]
    plan = "a made-up plan" if scene.room.made_up else "the plan"
    return f"The house from above, {plan}. {'; '.join(parts).capitalize()}."


def _names(scene: DrawnScene, spots: Spots, size: Size) -> Iterator[_Label]:
    """Names where there is room: what the goal names and was seen, what is held, what is new, and where the player stands."""
    width, height = size
    now = scene.situation
    seen = [thing for one in now.holders if one.openness != "closed" for thing in one.contents]
    things = [*now.carried, *seen]
    order = [one for one in things if scene.wants(one)]
    order += [one for one in (*now.carried, now.at, *sorted(scene.new)) if one]
    order += [fixture.name for fixture in scene.room.fixtures if scene.wants(fixture.name)]
    taken: list[Box] = []
    if player := spots.get(AGENT):
        taken.append((player[0] - 6, player[1] - 14, player[0] + 6, player[1] + 10))
    # What is too small or behind something is named where it is known to be.
    holders = {thing: one.name for one in now.holders for thing in one.contents} | dict.fromkeys(now.carried, AGENT)
    named = [(one, spot) for one in dict.fromkeys(order) if (spot := spots.get(one) or spots.get(holders.get(one, "")))]
    for one, (x, y) in named[:_MOST_NAMES]:
        new, wanted = one in scene.new, scene.wants(one)
        text = f"{'+' if new else ''}{'*' if wanted else ''}{one[:_LONGEST_NAME]}"
        wide = _LETTER * len(text)
        corners = ((x + 5, y - 6), (x - 5 - wide, y - 6), (x - wide // 2, y - 16), (x - wide // 2, y + 5))
        for left, top in corners:
            box = (left, top, left + wide, top + _LINE)
            if (
                left < 0
                or top < 0
                or box[2] > width
                or box[3] > height
                or any(box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in taken)
            ):
                continue
            taken.append(box)
            yield _Label(left, top + _LINE - 2, text, "goal" if wanted else "new" if new else "")
            break
