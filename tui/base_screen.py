"""The base of every screen and dialog: work in threads, keys that say why they do nothing, ways to other screens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from math import inf
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.messages import Prune
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from housequest.tui.keymap import Equipped, unmet_need
from housequest.tui.text import printable

T = TypeVar("T")

LONGEST = 4_000  # characters of what is typed in a dialog
RUNS = Path("runs")  # the folder with the runs that screens show, unless they are given another
ANSWERED = 5.0  # seconds within which pressing a key once more is an answer


async def in_thread(work: Callable[[], T]) -> T:
    """The result of ``work`` in a daemon thread, for which, unlike ``asyncio.to_thread``'s, the program's end does not wait."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # cancelling the waiter does not stop the thread

    def run() -> None:
        try:
            future.set_result(work())
        except StopIteration as error:  # which no future takes
            future.set_exception(RuntimeError(f"StopIteration: {error}"))
        except BaseException as error:  # noqa: BLE001 (raised where it is awaited)
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(future)


@dataclass
class OpenScreen(Message):
    """Show a screen; ``awaited``: keys waited for it, and count from now on. ``instead``: in place of the one that asks."""

    name: str
    arguments: tuple[Any, ...] = ()
    awaited: bool = False
    instead: bool = False


class AppScreen(Equipped, Screen[None]):
    """A screen that can be closed at any moment, even while it loads."""

    class Left(Message):
        """The user leaves this screen."""

    OPENS_LINE: ClassVar[frozenset[str]] = frozenset()
    """Actions that open a line: they run before the next key is looked at, which belongs to that line."""
    TAKES_LATE: ClassVar[frozenset[str]] = frozenset()
    """Actions whose keys count even if they were pressed before the screen was ready."""

    ready_since = -inf
    """The time at which it last became ready, by ``monotonic``."""
    _awaited = ""
    _asked_at = -inf
    _last_key = ""

    @property
    def at_stake(self) -> str:
        """A sentence about what would be lost if the app ended now; empty where nothing would."""
        return ""

    @property
    def awaited(self) -> str:
        """A sentence about what the screen waits for before keys count; empty once they do."""
        return self._awaited

    @awaited.setter
    def awaited(self, what: str) -> None:
        if self._awaited and not what:
            self.ready_since = monotonic()
        self._awaited = what

    def facts(self) -> Mapping[str, object]:
        """The facts that actions need by ``keys.toml``, each by its name: a value, or a function where it takes a while."""
        return {}

    def refusal(self, action: str) -> str | None:
        """The reason why ``action`` does nothing now, and what to do instead; None where it does something."""
        return unmet_need(self.NEEDS, action, self.facts())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.refusal(f"{action}({', '.join(map(repr, parameters))})" if parameters else action) is None

    def say(self, note: str) -> None:
        """Show ``note``; an empty one takes the last one away."""
        raise NotImplementedError

    def takes_early(self, action: str) -> bool:
        """Return whether a key that does ``action``, or nothing, counts even while something is awaited."""
        return action == "app.command_palette"

    def ask(self, dialog: Dialog[T | None], answered: Callable[[T], object]) -> None:
        """Show ``dialog``; its answer goes to ``answered``, unless it is left without one."""

        def closed(answer: T | None) -> None:
            if answer is not None:
                answered(answer)

        self.app.push_screen(dialog, closed)  # pyright: ignore[reportUnknownMemberType]

    def hear(self, key: str) -> None:
        """Take back a question that `confirmed` asked, if ``key`` is another than the one that it was asked for."""
        if key != self._last_key and monotonic() - self._asked_at <= ANSWERED:
            self._asked_at = -inf
            self.app.clear_notifications()  # pyright: ignore[reportUnknownMemberType]
        self._last_key = key

    def begins_line(self, key: Key) -> bool:
        """Return True if ``key`` goes on with a word that a person types without having gone to a line, which takes it."""
        del key
        return False

    def action_rules(self) -> None:
        self.post_message(OpenScreen("books"))

    def action_leave(self) -> None:
        self.post_message(self.Left())

    @property
    def leads_out(self) -> bool:
        """True if leaving leads out of this screen now, rather than back to another part of it."""
        return True

    def confirmed(self, question: str) -> bool:
        """Ask ``question``; return True if the same key is pressed again within some seconds and no other one before."""
        asked, self._asked_at = self._asked_at, monotonic()
        if self._asked_at - asked <= ANSWERED:
            return True
        self.app.clear_notifications()  # pyright: ignore[reportUnknownMemberType]
        self.notify(question, timeout=ANSWERED, markup=False)
        return False

    @on(Prune)
    def _pruned(self) -> None:
        self.end_workers()

    def end_workers(self) -> None:
        """Cancel the workers before the widgets go, which they would otherwise look for in vain."""
        self.workers.cancel_node(self)  # pyright: ignore[reportUnknownMemberType]

    async def in_thread(self, work: Callable[[], T]) -> T:
        """As the function `in_thread`; raises ``CancelledError`` if the screen was closed meanwhile."""
        try:
            return await in_thread(work)
        finally:
            if not self.is_attached:  # when the app exits, nothing is pruned
                raise asyncio.CancelledError


class Dialog(Equipped, ModalScreen[T]):
    """A framed box in the middle, over a darkened screen; `Vertical` is the box."""


class PickDialog(Dialog[str | None], keys="pick"):
    """Asks for one of ``options``; typing narrows them, and with ``free`` what is typed may also stand for itself."""

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
            yield Static("Nothing here has all of these words.", id="nothing")
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
