"""What the game asks of the person, and what the next keys do: the line or two above the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from tui.text import LONGEST_TEXT, cut, printable

PromptKind = Literal["thinking", "proposed", "yours", "waiting", "failed", "replaying", "selected", "over", "message"]
"""``yours``: it is the person's turn; ``selected``: they look at a turn to go back to."""

_BROAD = 100
"""Columns from which on text and keys share a line."""
_ROOM = 40
"""Cells that a failure leaves to its keys on such a line."""


@dataclass(frozen=True, slots=True)
class KeyHint:
    """A key, and in a word or two what it ``does``; a click runs ``action``."""

    key: str
    does: str
    action: str = ""


@dataclass(frozen=True, slots=True)
class PromptContent:
    """What the prompt says: its kind, its text, and the keys that come next."""

    kind: PromptKind
    text: str
    keys: tuple[KeyHint, ...] = ()


@dataclass(frozen=True, slots=True)
class _Look:
    mark: str
    label: str
    style: str


_LOOKS: dict[PromptKind, _Look] = {
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


class PromptBar(Widget):
    """One line where the window is wide, with the keys at its end; else two. A long failure gets one line more."""

    DEFAULT_CSS = """
    PromptBar {
        height: 2;
        padding: 0 1;
        background: $background;
        color: $foreground;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._kind: PromptKind = "message"
        self._text = ""
        self._keys: tuple[KeyHint, ...] = ()
        self._seconds: float | None = None

    def show(self, kind: PromptKind, text: str, keys: Sequence[KeyHint] = (), seconds: float | None = None) -> None:
        """Show ``text`` and what ``keys`` do; ``seconds``: how long it has taken so far."""
        now = (kind, text, tuple(keys), seconds)
        if now != (self._kind, self._text, self._keys, self._seconds):
            self._kind, self._text, self._keys, self._seconds = now
            self._fit()

    def on_resize(self) -> None:
        self._fit()

    def render(self) -> Content:
        width, height = self.content_size
        said = self._message()
        if height > 1:
            first, *rest = said.wrap(max(1, width)) if height > 2 else [said]
            lines = [first, Content(" ").join(rest)] if rest else [first]
            return Content("\n").join([*(_fitted(line, width) for line in lines), _keys(self._keys, width)])
        keys = _keys(self._keys, max(width // 3, width - said.cell_length - 3))
        said = _fitted(said, width - keys.cell_length - 3)
        return Content.assemble(said, " " * max(0, width - said.cell_length - keys.cell_length), keys)

    def _fit(self) -> None:
        broad = self.size.width + 2 >= _BROAD
        long = self._message().cell_length > self.content_size.width - (_ROOM if broad else 0)
        self.styles.height = 2 - broad + (self._kind == "failed" and long)
        self.refresh()

    def _message(self) -> Content:
        look = _LOOKS[self._kind]
        text = printable(" ".join(cut(self._text, LONGEST_TEXT).split()))
        label = f"{look.mark} {look.label}  " if look.label else f"{look.mark} "
        took = "" if self._seconds is None else f"  {self._seconds:.0f} s"
        said = Content(text).stylize("bold" if self._kind == "proposed" else "")
        return Content.assemble((label, f"bold {look.style}"), said, (took, "$quiet"))


def _fitted(text: Content, width: int) -> Content:
    return text if text.cell_length <= width else text.truncate(max(1, width), ellipsis=True)


def _keys(keys: Sequence[KeyHint], width: int) -> Content:
    """What the keys do: in full, else in a word each, else without the last ones."""
    row = Content("")
    for row in _shortened(keys):
        if row.cell_length <= width:
            return row
    return _fitted(row, width)


def _shortened(keys: Sequence[KeyHint]) -> Iterator[Content]:
    yield _row(keys, " · ")
    brief = [KeyHint(key.key, key.does.split(maxsplit=1)[0] if key.does else "", key.action) for key in keys]
    for kept in range(len(brief), 0, -1):
        yield _row(brief[:kept], "  ")


def _row(keys: Sequence[KeyHint], between: str) -> Content:
    return Content.assemble(*(part for at, key in enumerate(keys) for part in ((between if at else "", "$quiet"), _hint(key))))


def _hint(key: KeyHint) -> Content:
    hint = Content.assemble((key.key, "bold $foreground"), (f" {key.does}" if key.does else "", "$quiet"))
    return hint.stylize(Style.from_meta({"@click": key.action})) if key.action else hint
