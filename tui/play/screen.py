"""The screen of a live game: one watches an agent play, and at any moment steps in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen

from agent.models.registry import FORMS
from tui.desk.teaching import Teach, taught_step
from tui.dialogs import Pick
from tui.episode.stage import Pane, Stage
from tui.episode.story import Story
from tui.home.recent import recall
from tui.play.game import GameConfig, Mode
from tui.play.keys import KEYS, LAST, explained
from tui.play.line import Line
from tui.play.looking import Look
from tui.play.prompt import Prompt
from tui.play.session import Session, Told
from tui.play.situation import Situation
from tui.play.status import PACES, Status, Waiting
from tui.text import printable
from tui.widgets.keybar import KeyBar
from worlds.errors import HousequestError

if TYPE_CHECKING:
    from agent.config import Prices

_TEACHING = {
    "watch": "The agent plays and you watch. space stops it before its next command, t takes over, + and - set the pace.",
    "step": "Each command is proposed to you first: enter accepts it, e edits it, t takes over, a lets the agent play on.",
    "you": "You play: type a command and press enter; tab completes it. t hands over to the agent.",
    "alone": "You play: type a command and press enter; tab completes it, and g lists what is possible.",
}
LONG = 3
"""Seconds after which it is said how long something takes."""

_MODES = {"watch": "AUTO", "step": "STEP", "you": "YOU"}


class PlayScreen(Screen[None]):
    """Plays ``game`` in ``mode``; with ``resume``, the one that broke off as that record."""

    class Left(Message):
        """The person is done here."""

    class OpenReplay(Message):
        """The record at ``path`` is to be seen again."""

        def __init__(self, path: Path) -> None:
            super().__init__()
            self.path = path

    class Next(Message):
        """Another task like that of ``game`` is to be played in ``mode``."""

        def __init__(self, game: GameConfig, mode: Mode) -> None:
            super().__init__()
            self.game = game
            self.mode: Mode = mode

    class Race(Message):
        """The person plays the task of ``game`` themselves, beside its agent."""

        def __init__(self, game: GameConfig) -> None:
            super().__init__()
            self.game = game

    class Heard(Message):
        """The session told something."""

        def __init__(self, session: Session, told: Told) -> None:
            super().__init__()
            self.session = session
            self.told = told

    BINDINGS: ClassVar[list[BindingType]] = [*explained(KEYS)]
    AUTO_FOCUS = "Story"
    DEFAULT_CSS = """
    PlayScreen { background: $background; }
    """

    def __init__(self, game: GameConfig, mode: Mode = "watch", resume: Path | None = None) -> None:
        super().__init__()
        self._mode: Mode = mode
        self._resume = resume
        self._look = self._made(game)
        self._note = ""
        self._typing = False
        self._waiting: Waiting = "opening"
        self._since = monotonic()
        self._refused: tuple[str, ...] = ()
        self._stage = Stage(_TEACHING["alone" if self.session.human else self.session.status.seat], _prices(game))
        self._prompt = Prompt()
        self._line = Line(hints=self.situation.thinks)

    def compose(self) -> ComposeResult:
        yield self._stage
        yield self._prompt
        yield self._line
        yield KeyBar(KEYS, LAST)

    def on_mount(self) -> None:
        """Begin to play, in the background."""
        self._play()
        self._show()
        self.set_interval(1, lambda: self._ask(self.situation))

    async def on_unmount(self) -> None:
        """Leave the game where it stands."""
        await self.session.close()

    @property
    def situation(self) -> Situation:
        """What holds at this moment."""
        return self._look.situation

    @property
    def session(self) -> Session:
        """The game that is played."""
        return self._look.session

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key holds now; one that does not explains itself when it is pressed."""
        del parameters
        return self.situation.refusal(action) is None

    def on_play_screen_heard(self, message: Heard) -> None:
        """Take in what the session told, unless it was given up for another."""
        message.stop()
        if message.session is self.session:
            if self._look.hear(message.told):
                self.run_worker(self._measure(), group="par", exclusive=True)
            self._say("")

    def on_story_picked(self, message: Story.Picked) -> None:
        """Look back to a turn that was clicked."""
        message.stop()
        self._look.at(message.event_id)
        self._say("")

    def on_line_submitted(self, message: Line.Submitted) -> None:
        """Play what was typed."""
        message.stop()
        if (refusal := self.situation.refusal("line")) is not None:
            self._say(refusal)
            return
        self._look.cursor = None
        self.session.play(message.command)
        self._leave_line()

    def on_line_hinted(self, message: Line.Hinted) -> None:
        """Hand the hint on."""
        message.stop()
        refusal = self.situation.refusal("hint")
        if refusal is None:
            self.session.hint(message.text)
        self._leave_line()
        if refusal is not None:
            self._say(refusal)

    def on_line_left(self, message: Line.Left) -> None:
        """Give the letter keys their meaning again."""
        message.stop()
        self._stage.turn_to("story")
        self._show()

    def action_explain(self, action: str) -> None:
        """Say why the key of ``action`` does nothing now."""
        self._say(self.situation.refusal(action) or "")

    def action_step(self) -> None:
        """One command further."""
        self._now()
        if self.session.status.waiting == "verdict":
            self.session.accept()
        else:
            self.session.sit("step")
            self.session.proceed()

    def action_auto(self) -> None:
        """Let the agent play on."""
        self._now()
        self.session.sit("watch")
        self.session.proceed()

    def action_pace(self, by: int) -> None:
        """Faster or slower."""
        pace = self.session.status.pace
        quicker, slower = [one for one in PACES if one > pace], [one for one in PACES if one < pace]
        chosen = quicker[:1] if by > 0 else slower[-1:]
        if chosen:
            self.session.set_pace(chosen[0])

    def action_accept(self) -> None:
        """Have the proposal executed."""
        self._now()
        self.session.accept()

    def action_edit(self) -> None:
        """Take the proposal into the line."""
        self._type(self._look.state.moment.proposal or "")

    def action_other(self) -> None:
        """Have the agent propose again."""
        self._now()
        self.session.again()

    def action_take_over(self) -> None:
        """Take the agent's place, or give it back."""
        self._now()
        self.session.sit("step" if self.session.status.seat == "you" else "you")

    def action_hint(self) -> None:
        """Begin a hint in the line."""
        self._type("?")

    def action_line(self) -> None:
        """Go to the line."""
        self._line.focus()

    def action_escape(self) -> None:
        """Back to the present; there, call off what the agent is deciding."""
        if self._look.cursor is None:
            self.session.interrupt()
        self._now()

    def action_back(self) -> None:
        """Look back a turn further."""
        self._look.back()
        self._say("")

    def action_forward(self) -> None:
        """Look a turn further on, at last at the present."""
        self._look.forward()
        self._say("")

    def action_branch(self) -> None:
        """Play on from the turn that is looked at; at the end, look at the one at which the game was lost."""
        self._look.branch()
        self._say("")

    def action_race(self) -> None:
        """Play the same task oneself, beside the agent."""
        self.post_message(self.Race(self._look.game))

    def action_teach(self) -> None:
        """Make a rule of the moment that is looked at."""
        lesson = taught_step(self._look.moment, self.session.record)
        if lesson is None:
            self._say("No command was played by then; a rule is made of one.")
        else:
            self.post_message(Teach(lesson))

    def action_fold(self) -> None:
        """Open all thoughts, or fold them."""
        self._stage.story.fold_all()

    def action_commands(self) -> None:
        """List what is possible; what is chosen is taken into the line."""
        possible = self.session.status.possible or ()
        self.app.push_screen(Pick("What is possible now", possible), self._chose)  # pyright: ignore[reportUnknownMemberType]

    def action_model(self) -> None:
        """Ask for another model."""
        models = recall().recent.used(self._look.game.model or "").models
        self.app.push_screen(Pick("Another model", models, free=True, about=f"A model is named {FORMS}."), self._named)  # pyright: ignore[reportUnknownMemberType]

    async def action_retry(self) -> None:
        """Try again what failed."""
        if self.session.status.waiting == "closed":
            await self._begin_again(self._look.game)
        else:
            self.session.proceed()

    def action_replay(self) -> None:
        """See the game again."""
        record = self.session.record
        if record is None:
            self._say("No record of this game is kept, so it cannot be seen again.")
        else:
            self.post_message(self.OpenReplay(record))

    def action_next(self) -> None:
        """Another task like this one."""
        self.post_message(self.Next(self._look.game, self._mode))

    def action_home(self) -> None:
        """Leave; what was played is kept."""
        self.post_message(self.Left())

    def action_pane(self, pane: Pane) -> None:
        """Go to a region."""
        self._stage.turn_to(pane)

    def action_next_pane(self) -> None:
        """Go to the next region."""
        self._stage.turn_on()

    def _made(self, game: GameConfig) -> Look:
        def hear(told: Told) -> None:
            self.post_message(self.Heard(session, told))

        session = Session(game, hear, seat="watch" if self._mode == "race" else self._mode, resume=self._resume)
        return Look(session)

    def _play(self) -> None:
        self.run_worker(self.session.run(), name="game", group="game")

    async def _begin_again(self, game: GameConfig) -> None:
        await self.session.close()
        self._look = self._made(game)
        self._play()
        self._say("")

    async def _measure(self) -> None:
        await self._look.measure()
        self._show()

    def _show(self) -> None:
        """Bring everything up to the moment."""
        look, situation = self._look, self.situation
        status = situation.status
        self._stage.show(look.state, _MODES[status.seat], look.cursor)
        self._stage.ending.show(look.state, look.par, look.failure)
        if status.waiting == "closed":
            self._stage.story.teach(status.trouble or "This game is closed.")
        self._ask(situation)
        self._line.offer(status.possible)
        self._give_line(status)
        refused = tuple(key.action for key in KEYS if situation.refusal(key.action.partition("(")[0]) is not None)
        if refused != self._refused:
            self._refused = refused
            self.refresh_bindings()

    def _ask(self, situation: Situation) -> None:
        """Say what is waited for, and for how long it has been."""
        waiting = situation.status.waiting
        if waiting != self._waiting:
            self._waiting, self._since = waiting, monotonic()
        cue = situation.cue()
        seconds = int(monotonic() - self._since) if waiting in {"opening", "deciding", "acting"} and not self._note else 0
        kind, text = ("message", self._note) if self._note else (cue.kind, cue.text)
        self._prompt.show(kind, text, cue.keys, seconds if seconds >= LONG else None)

    def _give_line(self, status: Status) -> None:
        """Let a person whose turn has come type at once, and take the line away at the end."""
        yours = status.waiting == "turn"
        if yours and not self._typing:
            self._line.focus()
        elif status.waiting in {"over", "closed"} and self._line.has_focus_within:
            self._stage.turn_to("story")
        self._line.display = status.waiting not in {"over", "closed"}
        if yours or status.seat != "you":
            self._typing = yours

    def _leave_line(self) -> None:
        if self.session.status.seat != "you":
            self._stage.turn_to("story")

    def _type(self, text: str) -> None:
        self._line.prefill(text)
        self._line.focus()

    def _say(self, note: str) -> None:
        self._note = note
        self._show()

    def _now(self) -> None:
        """Look at the present, in which something is about to happen."""
        self._look.cursor = None
        self._say("")

    def _chose(self, command: str | None) -> None:
        if command is not None:
            self._type(command)

    def _named(self, model: str | None) -> None:
        if model is not None:
            self.run_worker(self._change_model(model), group="model", exclusive=True)

    async def _change_model(self, model: str) -> None:
        try:
            if self.session.status.waiting == "closed":
                settings = self._look.game.settings.model_copy(update={"model": model})
                await self._begin_again(replace(self._look.game, settings=settings))
            else:
                await self.session.change_model(model)
                if self.session.status.waiting == "verdict":
                    self._say(f"From the next turn on, {self.session.status.model} is asked.")
        except HousequestError as error:
            self._say(printable(str(error)))


def _prices(game: GameConfig) -> Prices | None:
    return game.settings.prices_of(game.model) if game.model else None
