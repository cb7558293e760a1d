"""What is asked of the person, and what the next keys do: the line or two above the line that is typed on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from tui.text import LONGEST_TEXT, cut, printable

Kind = Literal["thinking", "proposed", "yours", "waiting", "failed", "replaying", "selected", "over", "message"]
"""What a person is in the middle of; ``yours``: it is their turn, ``selected``: they look at a turn to go back to."""

_BROAD = 100
"""Columns from which on text and keys share a line."""
_ROOM = 40
"""Cells that a failure leaves to its keys on such a line."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key by its name, and in a word or two what it ``does``. With an ``action`` of the screen's, a click does it as well."""

    key: str
    does: str
    action: str = ""


@dataclass(frozen=True, slots=True)
class _Look:
    mark: str
    label: str
    style: str


_LOOKS: dict[Kind, _Look] = {
    "thinking": _Look("…", "", "$quiet"),
    "proposed": _Look("▸", "proposed", "$new"),
    "yours": _Look("›", "your turn", "$role-person"),
    "waiting": _Look("‖", "paused", "$quiet"),
    "failed": _Look("!", "the model failed", "$fault"),
    "replaying": _Look("▷", "replay", "$new"),
    "selected": _Look("▌", "turn", "$new"),
    "over": _Look("■", "", "$won"),
    "message": _Look("·", "", "$quiet"),
}


class Prompt(Widget):
    """Says what is asked: one line where the window is broad, with the keys at its end; else two, which keep their places.

    Only a failure that needs it gets a line more.
    """

    DEFAULT_CSS = """
    Prompt {
        height: 2;
        padding: 0 1;
        background: $background;
        color: $foreground;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._kind: Kind = "message"
        self._text = ""
        self._keys: tuple[Key, ...] = ()
        self._seconds: float | None = None

    def show(self, kind: Kind, text: str, keys: Sequence[Key] = (), seconds: float | None = None) -> None:
        """Say ``text``, which is asked in a situation of this ``kind``, and what ``keys`` do; it took ``seconds`` so far."""
        now = (kind, text, tuple(keys), seconds)
        if now != (self._kind, self._text, self._keys, self._seconds):
            self._kind, self._text, self._keys, self._seconds = now
            self._fit()

    def on_resize(self) -> None:
        """One line or two."""
        self._fit()

    def render(self) -> Content:
        """The mark, what is asked, and the keys."""
        width, height = self.content_size
        said = self._said()
        if height > 1:
            first, *rest = said.wrap(max(1, width)) if height > 2 else [said]
            lines = [first, Content(" ").join(rest)] if rest else [first]
            return Content("\n").join([*(_fitted(line, width) for line in lines), _keys(self._keys, width)])
        keys = _keys(self._keys, max(width // 3, width - said.cell_length - 3))
        said = _fitted(said, width - keys.cell_length - 3)
        return Content.assemble(said, " " * max(0, width - said.cell_length - keys.cell_length), keys)

    def _fit(self) -> None:
        broad = self.size.width + 2 >= _BROAD
        long = self._said().cell_length > self.content_size.width - (_ROOM if broad else 0)
        self.styles.height = 2 - broad + (self._kind == "failed" and long)
        self.refresh()

    def _said(self) -> Content:
        look = _LOOKS[self._kind]
        text = printable(" ".join(cut(self._text, LONGEST_TEXT).split()))
        label = f"{look.mark} {look.label}  " if look.label else f"{look.mark} "
        took = "" if self._seconds is None else f"  {self._seconds:.0f} s"
        said = Content(text).stylize("bold" if self._kind == "proposed" else "")
        return Content.assemble((label, f"bold {look.style}"), said, (took, "$quiet"))


def _fitted(text: Content, width: int) -> Content:
    return text if text.cell_length <= width else text.truncate(max(1, width), ellipsis=True)


def _keys(keys: Sequence[Key], width: int) -> Content:
    """What the keys do, as far as there is room: whole, in a word each, and at last without those at the end."""
    row = Content("")
    for row in _shortened(keys):
        if row.cell_length <= width:
            return row
    return _fitted(row, width)


def _shortened(keys: Sequence[Key]) -> Iterator[Content]:
    yield _row(keys, " · ")
    brief = [Key(key.key, key.does.split(maxsplit=1)[0] if key.does else "", key.action) for key in keys]
    for kept in range(len(brief), 0, -1):
        yield _row(brief[:kept], "  ")


def _row(keys: Sequence[Key], between: str) -> Content:
    return Content.assemble(*(part for at, key in enumerate(keys) for part in ((between if at else "", "$quiet"), _told(key))))


def _told(key: Key) -> Content:
    told = Content.assemble((key.key, "bold $foreground"), (f" {key.does}" if key.does else "", "$quiet"))
    return told.stylize(Style.from_meta({"@click": key.action})) if key.action else told
