"""What the game asks of the person, and what the next keys do: the line or two above the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from textual.binding import Binding
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from housequest.tui.keymap import chosen_keys
from housequest.tui.text import LONGEST_TEXT, cut, printable

PromptKind = Literal["thinking", "proposed", "yours", "waiting", "failed", "replaying", "selected", "over", "message"]
"""``yours``: it is the person's turn; ``selected``: they look at a turn to go back to."""

_BROAD = 100
"""Columns from which on text and keys share a line."""
_ROOM = 40
"""Cells that a failure leaves to its keys on such a line."""
_MOST_LINES = 3
"""Lines of a failure, which ends with the way out."""


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


def hints(keys: Sequence[Binding], words: Mapping[str, str]) -> tuple[KeyHint, ...]:
    """The keys of ``words``, by how they are shown, each with what it does; a click does what ``keys`` bind to it."""
    actions: dict[str, str] = {}
    for key in keys:
        shown = key.key_display or key.key
        actions |= {shown: f"screen.{key.action}", shown.partition(" ")[0]: f"screen.{key.action}"}
    return tuple(KeyHint(key, does, actions.get(key, "")) for key, does in words.items())


THEN = {"esc": "then"}
"""What comes before the keys that are letters as long as something is typed."""


def action_name(action: str) -> str:
    """``action`` without its parameters."""
    return action.partition("(")[0]


_LOOKS: dict[PromptKind, tuple[str, str]] = {
    "thinking": ("… ", "$quiet"),
    "proposed": ("▸ proposed  ", "$new"),
    "yours": ("› your turn  ", "$role-person"),
    "waiting": ("‖ paused  ", "$quiet"),
    "failed": ("! the model failed  ", "$fault"),
    "replaying": ("▷ replay  ", "$new"),
    "selected": ("▌ turn  ", "$new"),
    "over": ("■ ", "$quiet"),
    "message": ("· ", "$quiet"),
}
"""What the text begins with, and its style."""


class PromptBar(Widget):
    """One line where the window is wide, with the keys at its end; else two. A long failure gets up to `_MOST_LINES`."""

    DEFAULT_CSS = "PromptBar { height: 2; padding: 0 1; }"

    _content = PromptContent("message", "")
    _seconds: float | None = None

    def show(self, kind: PromptKind, text: str, keys: Sequence[KeyHint] = (), seconds: float | None = None) -> None:
        """Show ``text`` and what ``keys`` do; ``seconds``: how long it has taken so far."""
        content = PromptContent(kind, text, tuple(keys))
        if (content, seconds) != (self._content, self._seconds):
            self._content, self._seconds = content, seconds
            self.on_resize()

    def on_resize(self) -> None:
        broad = self.size.width + 2 >= _BROAD
        said = self._message()
        if self._content.kind == "failed" and said.cell_length > self.content_size.width - (_ROOM if broad else 0):
            self.styles.height = 1 + len(self._lines(said))
        else:
            self.styles.height = 2 - broad
        self.refresh()

    def render(self) -> Content:
        width, height = self.content_size
        said = self._message()
        if height > 1:
            lines = self._lines(said) if self._content.kind == "failed" else [said]
            return Content("\n").join(
                [*(line.truncate(max(1, width), ellipsis=True) for line in lines), _keys(self._hints, width)]
            )
        keys = _keys(self._hints, max(width // 3, width - said.cell_length - 3))
        said = said.truncate(max(1, width - keys.cell_length - 3), ellipsis=True)
        return Content.assemble(said, " " * max(0, width - said.cell_length - keys.cell_length), keys)

    @property
    def _hints(self) -> tuple[KeyHint, ...]:
        """The keys, those that the person changed as they are now."""
        chosen = chosen_keys(self.app)  # pyright: ignore[reportUnknownMemberType]
        if not chosen:
            return self._content.keys
        keys = {f"screen.{key.action}": key for key in Binding.make_bindings(self.screen.BINDINGS) if key.id in chosen}
        return tuple(
            replace(hint, key=self.app.get_key_display(keys[hint.action])) if hint.action in keys else hint  # pyright: ignore[reportUnknownMemberType]
            for hint in self._content.keys
        )

    def _lines(self, said: Content) -> list[Content]:
        lines = list(said.wrap(max(1, self.content_size.width)))
        return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], Content(" ").join(lines[_MOST_LINES - 1 :])]

    def _message(self) -> Content:
        label, style = _LOOKS[self._content.kind]
        text = printable(" ".join(cut(self._content.text, LONGEST_TEXT).split()))
        took = "" if self._seconds is None else f"  {self._seconds:.0f} s"
        weight = "bold" if self._content.kind == "proposed" else ""
        return Content.assemble((label, f"bold {style}"), (text, weight), (took, "$quiet"))


def _keys(keys: Sequence[KeyHint], width: int) -> Content:
    """What the keys do: in full, else in a word each, else without the last ones."""
    row = Content.styled(" · ", "$quiet").join(map(_hint, keys))
    brief = [replace(key, does=key.does.partition(" ")[0]) for key in keys]
    while row.cell_length > width and brief:
        row = Content("  ").join(map(_hint, brief))
        brief.pop()
    return row.truncate(max(1, width), ellipsis=True)


def _hint(key: KeyHint) -> Content:
    hint = Content.assemble((key.key, "bold $foreground"), (f" {key.does}" if key.does else "", "$quiet"))
    return hint.stylize(Style.from_meta({"@click": key.action})) if key.action else hint
