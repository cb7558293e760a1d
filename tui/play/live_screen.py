"""The base of the screens with games in progress: their sessions, the prompt, the command line and the keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message

from housequest.tui.base_screen import OpenScreen
from housequest.tui.dialogs import PickDialog
from housequest.tui.play.game import GameConfig
from housequest.tui.play.line import CommandLine
from housequest.tui.play.prompt import PromptBar, PromptContent, action_name
from housequest.tui.play.session import Session, SessionUpdate
from housequest.tui.play.status import PACES, PlayMode, SessionStatus, next_pace
from housequest.tui.play.viewing import ViewScreen
from housequest.tui.text import natural
from housequest.tui.widgets.keybar import KeyBar
from housequest.worlds.errors import HousequestError

if TYPE_CHECKING:
    from housequest.agent.evaluation.analysis.experts import PathLengths

_MEASURING = "par"
_OPENING = "The world is still being opened."
NOTICE = 8.0
"""Seconds that a notice is shown."""


def with_explanations(keys: Sequence[Binding]) -> list[Binding]:
    """``keys``, each followed by a binding to ``explain``, which runs where the key itself does nothing."""
    return [
        binding
        for key in keys
        for binding in (key, replace(key, action=f"explain('{action_name(key.action)}')", description="", show=False))
    ]


class LiveScreen(ViewScreen):
    """Runs sessions and shows them. A key that does nothing now explains why when it is pressed."""

    KEYS: ClassVar[tuple[Binding, ...]]
    OPENS_LINE: ClassVar[frozenset[str]] = frozenset(("line", "edit", "hint"))

    @dataclass
    class Updated(Message):
        """A session reports an event or a change of its status."""

        session: Session
        update: SessionUpdate

    def __init__(self, game: GameConfig, *, hints: bool) -> None:
        super().__init__()
        self._game = game
        self.par: PathLengths | None = None
        self.enacted = ""
        self._measured = False
        self._typing = False
        self._refused: tuple[str, ...] = ()
        self._prompt = PromptBar()
        reader = game.world.household
        patterns = [form.pattern for form in reader.commands.forms] if reader else []
        self._line = CommandLine(hints=hints, patterns=patterns)
        self._bar = KeyBar(self.KEYS)

    def refusal(self, action: str) -> str | None:
        """Why ``action`` does nothing now, and what to do instead; None where it does something."""
        raise NotImplementedError

    def prompt(self) -> PromptContent:
        """What the prompt says now."""
        raise NotImplementedError

    @property
    def session(self) -> Session:
        """The game that the person plays."""
        raise NotImplementedError

    @property
    def at_stake(self) -> str:
        if self._line.value:
            return "What you typed is not sent yet."
        return "The game is not over." if self.session.status.waiting not in {"opening", "over", "closed"} else ""

    @property
    def sessions(self) -> tuple[Session, ...]:
        """Every game on this screen; the pace is that of the last one."""
        return (self.session,)

    def focus_story(self) -> None:
        """Give the letter keys back their meaning."""
        raise NotImplementedError

    def show(self) -> None:
        """Update every widget."""
        self._show_prompt()
        status = self.session.status
        self._line.offer(status.possible)
        self._focus_line(status)
        refused = tuple(key.action for key in self.KEYS if self.refusal(action_name(key.action)) is not None)
        if refused != self._refused:
            self._refused = refused
            self.refresh_bindings()

    def say(self, note: str) -> None:
        """Show ``note`` for some seconds, where it hides neither what is proposed nor the line, and update every widget."""
        if note:
            self.app.clear_notifications()  # pyright: ignore[reportUnknownMemberType]
            self.notify(note, timeout=NOTICE, markup=False)
        self.show()

    def new_session(self, game: GameConfig, mode: PlayMode = "watch", resume: Path | None = None) -> Session:
        """A session whose updates come back as messages."""

        def listen(update: SessionUpdate) -> None:
            if session is self.session:
                self.awaited = _OPENING if session.status.waiting == "opening" else ""
            self.post_message(self.Updated(session, update))

        self.awaited = _OPENING
        session = Session(game, listen, mode=mode, resume=resume)
        return session

    def compose_controls(self) -> ComposeResult:
        """The prompt, the command line and the keys, below the games."""
        yield self._prompt
        yield self._line
        yield self._bar

    def on_mount(self) -> None:
        self.start()
        self.show()

    async def on_unmount(self) -> None:
        for session in self.sessions:
            await session.close()

    def end_workers(self) -> None:
        """Cancel all workers but the sessions, which `on_unmount` closes."""
        self.workers.cancel_group(self, _MEASURING)  # pyright: ignore[reportUnknownMemberType]

    def start(self) -> None:
        """Play the games in the background."""
        for session in self.sessions:
            self.run_worker(session.run(), name="game", group="game")

    def measure(self) -> None:
        """Find out, once, in how many turns the task can be won."""
        if not self._measured:
            self._measured = True
            self.run_worker(self._measure(), group=_MEASURING)

    async def _measure(self) -> None:
        from housequest.agent.evaluation.analysis.experts import PathLengths, path_lengths

        try:
            self.par = await self.in_thread(partial(path_lengths, self._game.world, self._game.task))
        except HousequestError:  # the game itself has reported what is wrong with the task
            self.par = PathLengths()
        self.show()

    def refused_text(self, action: str) -> str:
        refused = [self.refusal(name) for name in ("line", "hint") if action == f"explain('{name}')"]
        return next(filter(None, refused), "")

    def takes_early(self, action: str) -> bool:
        # The world is opened while the line takes what is typed, and the keys that do no harm.
        return self._line.has_focus_within or (bool(action) and self.refusal(action_name(action)) is None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        return self.refusal(action) is None

    def submit(self, command: str) -> None:
        """Play the command that was typed."""
        self.session.play(command)

    def on_command_line_submitted(self, message: CommandLine.Submitted) -> None:
        if (refusal := self.refusal("line")) is not None:
            if self.session.status.waiting in {"over", "closed"}:
                self.focus_story()
            else:
                self._line.prefill(message.command)
            self.say(refusal)
        else:
            self.submit(message.command)

    def on_command_line_doubted(self, message: CommandLine.Doubted) -> None:
        later = "" if message.possible else ", which is not possible yet"
        self.say(f"{message.typed}: no such command. Enter sends {message.meant}{later}; the same again is sent as it is.")

    def on_descendant_focus(self) -> None:
        self._show_prompt()  # whose keys are letters while something is typed

    def on_command_line_left(self) -> None:
        self.focus_story()
        self.show()

    def action_explain(self, action: str) -> None:
        self.say(self.refusal(action) or "")

    def action_line(self) -> None:
        self._line.focus()

    def action_commands(self) -> None:
        """List the possible commands; the chosen one is put in the command line."""

        def chosen(command: str | None) -> None:
            if command is not None:
                self._line.prefill(command)

        dialog = PickDialog("What is possible now", sorted(self.session.status.possible or (), key=natural))
        self.app.push_screen(dialog, chosen)  # pyright: ignore[reportUnknownMemberType]

    def action_pace(self, by: int) -> None:
        session = self.sessions[-1]
        if (pace := next_pace(PACES, session.status.pace, by)) != session.status.pace:
            session.set_pace(pace)

    def open_replay(self, session: Session) -> None:
        """Replay a game of this screen, if it was recorded."""
        if session.record is None:
            self.say("No record of this game is kept, so it cannot be seen again.")
        else:
            self.post_message(OpenScreen("replay", (session.record,)))

    def _show_prompt(self) -> None:
        content = self.prompt()
        self._prompt.show(content.kind, content.text, content.keys, self._seconds())
        self._bar.leave_out(key.action.removeprefix("screen.") for key in content.keys)

    def _seconds(self) -> int | None:
        """How long the game has been busy, where that is worth saying."""
        return None

    def _focus_line(self, status: SessionStatus) -> None:
        """Let a person whose turn has come type at once, and remove the command line at the end."""
        # What is typed while the world is opened is meant for the line.
        yours = status.waiting == "turn" or (status.waiting == "opening" and status.mode == "you")
        ended = status.waiting in {"over", "closed"}
        # Who is in the middle of a word when the game ends goes on typing: its other letters are no keys.
        writing = self._line.has_focus_within and bool(self._line.value)
        # Where a world has keys of its own, those are what one plays with; a colon begins a line.
        if yours and not self._typing and not self._game.world.keys:
            self._line.focus()
        elif ended and self._line.has_focus_within and not writing:
            self.focus_story()
        self._line.display = writing or not ended
        if yours or status.mode != "you":
            self._typing = yours
