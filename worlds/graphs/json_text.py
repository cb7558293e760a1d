"""JSON of the user's, read value by value: what is wrong in it is refused with its line, the task and the key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from housequest.worlds.errors import GameError, shown
from housequest.worlds.paths import read_file

MOST_BYTES = 512 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
_KEY = re.compile(r"[A-Za-z0-9_-]{1,120}", re.ASCII)
_DECODER = json.JSONDecoder()

Keys = tuple[str | int, ...]
"""The way to a value through tables and lists."""


class Fault(ValueError):
    """What is wrong, and at which key or index of the JSON."""

    def __init__(self, where: Keys, what: str) -> None:
        super().__init__(what)
        self.where = where


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value begins in a text, and what it is ``called`` in errors, such as "task 3"; "" for all of the text."""

    at: int
    called: str = ""


@dataclass(frozen=True, slots=True)
class JsonText:
    """A text, and its ``origin`` for errors."""

    origin: str
    text: str

    def elements(self, called: str) -> Iterator[tuple[Place, Any]]:
        """The elements of a list, ``called`` by this word and their number, or the one value that the text is, without a name.

        Raises ``GameError`` with the line.
        """
        at = self._skip(0)
        if self.text[at : at + 1] != "[":
            yield self.whole()
            return
        at, number = self._skip(at + 1), 1
        while self.text[at : at + 1] != "]":
            place = Place(at, f"{called} {number}")
            value, end = self._decoded(place)
            yield place, value
            end, number = self._skip(end), number + 1
            if self.text[end : end + 1] not in (",", "]"):
                raise self._broken(end, place, "a comma or the end of the list is missing")
            at = self._skip(end + 1) if self.text[end] == "," else end
            if self.text[end] == "," and self.text[at : at + 1] == "]":
                raise self._broken(end, place, "a comma comes before the end of the list")
        self._ends(at + 1)

    def whole(self) -> tuple[Place, Any]:
        """The one value that the text is. Raises ``GameError`` with the line."""
        place = Place(self._skip(0))
        value, end = self._decoded(place)
        self._ends(end)
        return place, value

    def value(self, place: Place) -> Any:
        """The value at a place where one was read before."""
        return _DECODER.raw_decode(self.text, place.at)[0]

    def refused(self, place: Place, fault: Fault) -> GameError:
        """The error that something is wrong in the value at a place."""
        return self._error(self._at(place.at, fault.where), (place.called, _path(fault.where)), str(fault))

    def _ends(self, at: int) -> None:
        if (rest := self._skip(at)) < len(self.text):
            raise self._broken(rest, Place(0), "there is more after the end")

    def _decoded(self, place: Place) -> tuple[Any, int]:
        try:
            return _DECODER.raw_decode(self.text, place.at)
        except json.JSONDecodeError as error:
            raise self._broken(error.pos, place, f"this is not JSON: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            what = "it is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
            raise self._error(place.at, (place.called,), what) from None

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return at if found is None else found.end()

    def _at(self, at: int, where: Keys) -> int:
        """Where the value begins to which these keys lead, or the nearest around it that is there."""
        text = self.text
        for step in where:
            start, at = at, self._skip(at + 1)
            count = 0
            while text[at] not in "]}":
                key: object = count
                if text[start] == "{":
                    key, at = _DECODER.raw_decode(text, at)
                    at = self._skip(self._skip(at) + 1)
                if key == step:
                    break
                _, at = _DECODER.raw_decode(text, at)
                at = self._skip(at)
                at = self._skip(at + 1) if text[at] == "," else at
                count += 1
            else:
                return start
        return at

    def _broken(self, at: int, place: Place, what: str) -> GameError:
        """The error that this is no JSON from ``at`` on, within or after the value at a place."""
        return self._error(at, (f"column {at - self.text.rfind(chr(10), 0, at)}", place.called), what)

    def _error(self, at: int, names: tuple[str, ...], what: str) -> GameError:
        line = f"line {self.text.count(chr(10), 0, at) + 1}"
        return GameError(f"{', '.join((shown(self.origin, 400), line, *filter(None, names)))}: {what}.")


def _path(where: Keys) -> str:
    """A way as people write it: ``init_graph.nodes[3].id``."""
    parts = (f"[{one}]" if isinstance(one, int) else f".{one}" if _KEY.fullmatch(one) else f"[{shown(one)}]" for one in where)
    return "".join(parts).removeprefix(".")


def read_text(path: Path) -> str:
    """The text of a file. Raises ``GameError``."""
    try:
        content = read_file(path, MOST_BYTES + 1)
    except OSError as error:
        raise GameError(f"{shown(str(path), 400)} cannot be read: {error.strerror}.") from error
    if len(content) > MOST_BYTES:
        raise GameError(
            f"{shown(str(path), 400)} has more than {MOST_BYTES:,} bytes, so it is not a file of tasks or of a graph."
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise GameError(f"{shown(str(path), 400)}, line {line}: this is not UTF-8 text; save it as UTF-8.") from error


def table_at(value: object, where: Keys) -> dict[str, Any]:
    """``value`` as a table. Raises ``Fault``."""
    if not isinstance(value, dict):
        raise Fault(where, _other(value, where, "table"))
    return cast("dict[str, Any]", value)


def list_at(value: object, where: Keys, most: int) -> list[object]:
    """``value`` as a list of ``most`` entries at most. Raises ``Fault``."""
    if not isinstance(value, list):
        raise Fault(where, _other(value, where, "list"))
    listed = cast("list[object]", value)
    if len(listed) > most:
        raise Fault(where, f"it has {len(listed):,} entries, and at most {most:,} are read")
    return listed


def _other(value: object, where: Keys, wanted: str) -> str:
    return f"{where[-1]!r} is missing" if value is None and where else f"{shown(value)} is not a {wanted}"
