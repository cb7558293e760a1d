"""The frame that all dialogs share, and a dialog to pick one of several options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from housequest.tui.text import printable
from housequest.tui.theme import style_sheet

LONGEST = 4_000
NOTHING = "Nothing here has all of these words."


Answer = TypeVar("Answer")


_STYLES = style_sheet(__file__)


class Dialog(ModalScreen[Answer]):
    """A framed box in the middle, over a darkened screen; `Vertical` is the box."""

    DEFAULT_CSS = _STYLES

    GROUP = "dialogs"
    """The group of the palette that its keys belong to."""

    @property
    def at_stake(self) -> str:
        """What would be lost if the app ended now, as a sentence; empty where nothing would."""
        return ""


class PickDialog(Dialog[str | None]):
    """Asks for one of ``options``; typing narrows them, and with ``free`` what is typed may also stand for itself.

    The answer is the text that was chosen, None where nothing was.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Leave"),
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
    ]
    DEFAULT_CSS = _STYLES

    def __init__(self, title: str, options: Sequence[str], *, free: bool = False, about: str = "") -> None:
        super().__init__()
        self._title = title
        self._options = tuple(options)
        self._found = self._options
        self._free = free
        self._about = about

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Content(self._title)
            box.border_subtitle = "enter choose · esc leave"
            yield Input(placeholder="type a name" if self._free else "type to narrow", compact=True, max_length=LONGEST)
            yield OptionList()
            yield Static(NOTHING, id="nothing")
            if self._about:
                yield Static(Content(self._about))

    def on_mount(self) -> None:
        field = self.query_one(Input)
        field.cursor_blink = False
        self.query_one(OptionList).can_focus = False
        self._narrow()
        field.focus()

    @on(Input.Changed)
    def _narrow(self) -> None:
        words = self.query_one(Input).value.lower().split()
        self._found = tuple(one for one in self._options if all(word in one.lower() for word in words))
        listed = self.query_one(OptionList)
        listed.set_options(Option(Content(printable(one))) for one in self._found)
        listed.display = bool(self._found)
        self.query_one("#nothing").display = bool(words) and not self._found and not self._free
        # What is typed stands for itself until an option is moved to.
        listed.highlighted = 0 if self._found and not (self._free and words) else None

    def action_move(self, by: int) -> None:
        listed = self.query_one(OptionList)
        if self._found:
            now = listed.highlighted
            listed.highlighted = (0 if now is None else now + by) % len(self._found)

    @on(Input.Submitted)
    def _chosen(self, message: Input.Submitted) -> None:
        message.stop()
        at = self.query_one(OptionList).highlighted
        typed = message.value.strip()
        if at is not None:
            self.dismiss(self._found[at])
        elif self._free and typed:
            self.dismiss(typed)

    @on(OptionList.OptionSelected)
    def _clicked(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        self.dismiss(self._found[message.option_index])
