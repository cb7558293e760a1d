"""The guide through somebody's first game: a sentence or two for each turn, shown once and never again."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from housequest.tui.home.catalogue import record_files
from housequest.tui.keymap import Equipped
from housequest.worlds.paths import atomic_write, state_folder

STEPS = (
    "House shows what was seen of the house, and Story what happens. The agent proposes a command: space plays it.",
    "+ marks what is new, * what the task names. Beneath a command stands what the agent thought. Press space again.",
    "You can help: press ?, type where to look, such as look in the fridge, and press Enter. Or press space.",
    "t takes over, and you type the commands; t again hands back. ← looks back, and b plays on from there. Press space.",
    "v draws the house, and / lists every key. Now press a, and the agent plays on by itself. This guide does not come again.",
)
"""What is said before the first command, after it, and so on."""
WITHOUT_HINTS = "You can change what is proposed: press e, type another command, and press Enter. Or press space."
"""What is said in place of the hint, where the agent hears none."""

_HINT = 2  # the step that is about hints
_MARKER = "guided"


def is_newcomer() -> bool:
    """Whether nobody was guided here, and nothing was played."""
    played = record_files(unfinished=True) or record_files(unfinished=False)
    return not played and not (state_folder() / _MARKER).exists()


def remember() -> str:
    """Keep that somebody was guided; return what stood in the way, else an empty text."""
    try:
        atomic_write(state_folder() / _MARKER, b"", sync=False)
    except OSError as error:
        return f"The guide may come again: {state_folder() / _MARKER} cannot be written ({error.strerror})."
    return ""


class Guide(Equipped, Widget):
    """Shows the step of the turn; nothing after the last one, or once it was left. ``hints``: the agent hears them."""

    BORDER_TITLE = "Your first game"
    BORDER_SUBTITLE = "i ends this guide"

    _step = 0

    def __init__(self, *, hints: bool) -> None:
        super().__init__()
        self._steps = STEPS if hints else (*STEPS[:_HINT], WITHOUT_HINTS, *STEPS[_HINT + 1 :])

    def show(self, turn: int) -> None:
        """Show the step after ``turn`` commands."""
        if turn >= len(STEPS):
            self.display = False
        elif turn != self._step:
            self._step = turn
            self.refresh(layout=True)

    def render(self) -> Content:
        return Content(f"{self._step + 1}/{len(STEPS)}  {self._steps[self._step]}")
