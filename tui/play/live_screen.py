"""The bases of screens with an episode (its View and its panes), and of those with games (their prompt, line and keys)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widget import Widget

from housequest.agent.episodes.events import Ended, Event, Intervened, Stepped
from housequest.agent.skills.language.answers import Mind
from housequest.agent.skills.language.candidates import read_candidate
from housequest.agent.skills.language.directions import Directions
from housequest.agent.skills.language.playing import CONTROLLED, PlayersLine, read_line
from housequest.agent.skills.language.sentences import Control, Surroundings
from housequest.agent.skills.language.wording import is_begun
from housequest.tui.base_screen import AppScreen, OpenScreen, PickDialog
from housequest.tui.episode.stage import NARROW, EpisodePanes, Pane
from housequest.tui.episode.state import EpisodeMoment, ViewState, apply, hearing
from housequest.tui.episode.view import CAMERA_MODES, ViewMode, ViewPane
from housequest.tui.home.catalogue import load_recent, save_recent
from housequest.tui.keymap import PALETTE_GROUPS, Equipped, action_anywhere
from housequest.tui.play.company import words_in
from housequest.tui.play.game import ChosenGame
from housequest.tui.play.line import CommandCompleter, CommandLine
from housequest.tui.play.session import PACES, Noticed, PlayMode, Session, SessionStatus, SessionUpdate, next_pace
from housequest.tui.text import natural, one_line, words
from housequest.tui.widgets.keybar import PAUSE, KeyBar
from housequest.worlds.base import Explaining
from housequest.worlds.errors import HousequestError
from housequest.worlds.household.weighing import told

if TYPE_CHECKING:
    from housequest.agent.evaluation.analysis.failures import Failure
    from housequest.agent.evaluation.analysis.metrics import PathLengths

NOTICE = 8.0  # seconds that a notice is shown
_MEASURING = "par"
_OPENING = "The world is still being opened."

PromptKind = Literal["thinking", "proposed", "yours", "waiting", "failed", "selected", "over", "message"]
"""``yours``: it is the person's turn; ``selected``: they look at a turn to go back to."""

_LOOKS: Mapping[str, tuple[str, str]] = words("prompts")  # the beginning of a prompt's text, and its style
_BROAD = 100  # columns from which on text and keys share a line
_ROOM = 40  # cells that a failure leaves to its keys on such a line
_MOST_LINES = 3  # of a failure, which ends with the way out

THEN = {"esc": "then"}  # what comes before the keys that are letters as long as something is typed
SAVING = Lock()  # held while a choice is saved, so that what is saved last is what was chosen last


class ViewScreen(AppScreen):
    """A screen with a ``view``. It begins with the last drawing, and remembers the person's choice.

    By default it draws the doll's house, if the screen has ``ROOM`` and the terminal has colours.
    """

    GROUPS = PALETTE_GROUPS["episode"]
    ROOM: ClassVar[int] = NARROW  # columns
    view: ViewPane
    _chosen: ViewMode = "off"
    _usual = False  # True while nobody has chosen a drawing

    def on_screen_suspend(self) -> None:
        self.view.refresh()

    on_screen_resume = on_screen_suspend

    def show_view(self, mode: ViewMode) -> None:
        """Have the View show ``mode``, and make room for it."""
        self.view.choose(mode)
        self.set_class(self.view.mode != "off", "-drawn")

    def facts(self) -> Mapping[str, object]:
        return {"drawable": self.view.drawable, "drawn": self.view.mode != "off"}

    def on_mount(self) -> None:
        self.begin_view()

    def begin_view(self) -> None:
        """Show the last drawing in worlds of this kind, or the default; none without a house."""
        recent = load_recent().recent
        last = recent.camera if self.view.pictured else recent.view
        known: list[ViewMode] = [mode for mode in CAMERA_MODES if mode == last and self.view.drawable]
        self._usual = not last and self.view.drawable
        self.show_view(known[0] if known else "off")
        self._fit(self.app.size.width)  # pyright: ignore[reportUnknownMemberType]

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size.width)

    def _fit(self, width: int) -> None:
        """Show the default drawing if there is room for it."""
        mode: ViewMode = "house" if self._usual and self.view.colourful and width >= self.ROOM else "off"
        if self._usual and mode != self.view.mode:
            self.show_view(mode)

    def action_view(self) -> None:
        """Show the next drawing, and after the last one none."""
        self._usual = False
        self.show_view(self.view.next_mode)
        self._chosen = self.view.mode
        self.run_worker(self._keep(), group="view")
        self.say("")

    def action_true_state(self) -> None:
        self.view.toggle_true()
        self.say("")

    async def _keep(self) -> None:
        pictured = self.view.pictured

        def keep() -> str:
            with SAVING:  # the screen may be gone by now, so nothing else is asked of it
                recent, chosen = load_recent().recent, self._chosen
                return save_recent(replace(recent, camera=chosen) if pictured else replace(recent, view=chosen))

        if trouble := await self.in_thread(keep):
            self.say(trouble)


class PaneScreen(ViewScreen):
    """A screen with one episode in ``panes``."""

    panes: EpisodePanes

    def facts(self) -> Mapping[str, object]:
        return {**super().facts(), "side": self.panes.has_side}

    def show_view(self, mode: ViewMode) -> None:
        self.panes.draw(mode)

    def action_fold(self) -> None:
        self.panes.story.fold_all()

    def action_pane(self, pane: Pane) -> None:
        """Show a pane; the View is turned on for that."""
        if pane not in self.panes.panes:
            self.action_view()
        self.panes.show_pane(pane)

    def action_large(self) -> None:
        self.panes.enlarge()

    def action_widen(self, by: int) -> None:
        self.panes.widen(by)

    def action_next_pane(self) -> None:
        there = self.panes.panes
        self.panes.show_pane(there[(there.index(self.panes.pane) + 1) % len(there)])


class PromptContent(NamedTuple):
    """A prompt: its kind, its text, and the keys that come next, described by what they do now."""

    kind: PromptKind
    text: str
    keys: tuple[Binding, ...] = ()


def hints(keys: Sequence[Binding], words: Mapping[str, str]) -> tuple[Binding, ...]:
    """The keys of ``words``, by how they are shown, each with what it does; those that are none of ``keys`` have no action."""
    known: dict[str, Binding] = {}
    for key in keys:
        shown = key.key_display or key.key
        known |= {shown: key, shown.partition(" ")[0]: key}
    pairs = ((shown, known.get(shown, Binding(shown, "")), does) for shown, does in words.items())
    return tuple(replace(key, key_display=shown, description=does) for shown, key, does in pairs)


def end_of(heard: str, longest: int) -> str:
    """The last ``longest`` characters of a reply that is being written, on one line, behind a mark where there were more."""
    words = " ".join(heard.split())
    return words if len(words) <= longest else f"…{words[-longest:]}"


class PromptBar(Equipped, Widget):
    """The game's question and what keys do: one line in a wide window, else two, and more for a failure."""

    _content = PromptContent("message", "")
    _seconds: float | None = None

    def show(self, kind: PromptKind, text: str, keys: Sequence[Binding] = (), seconds: float | None = None) -> None:
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
            lines = (line.truncate(max(1, width), ellipsis=True) for line in self._lines(said))
            return Content("\n").join([*lines, self._keys(width)])
        keys = self._keys(max(width // 3, width - said.cell_length - 3))
        said = said.truncate(max(1, width - keys.cell_length - 3), ellipsis=True)
        return Content.assemble(said, " " * max(0, width - said.cell_length - keys.cell_length), keys)

    def _message(self) -> Content:
        label, style = _LOOKS[self._content.kind]
        text = one_line(self._content.text)
        took = "" if self._seconds is None else f"  {self._seconds:.0f} s"
        weight = "bold" if self._content.kind == "proposed" else ""
        return Content.assemble((label, f"bold {style}"), (text, weight), (took, "$quiet"))

    def _lines(self, said: Content) -> list[Content]:
        if self._content.kind != "failed":
            return [said]
        lines = list(said.wrap(max(1, self.content_size.width)))
        return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], Content(" ").join(lines[_MOST_LINES - 1 :])]

    def _keys(self, width: int) -> Content:
        """The keys with what they do: in full, else in a word each, else without the last ones."""
        keys = self._content.keys
        row = Content.styled(" · ", "$quiet").join(self._key(key, key.description) for key in keys)
        brief = [self._key(key, key.description.partition(" ")[0]) for key in keys]
        while row.cell_length > width and brief:
            row = Content("  ").join(brief)
            brief.pop()
        return row.truncate(max(1, width), ellipsis=True)

    def _key(self, key: Binding, does: str) -> Content:
        label: str = self.app.get_key_display(key)  # pyright: ignore[reportUnknownMemberType]
        hint = Content.assemble((label, "bold $foreground"), (f" {does}", "$quiet"))
        return hint.stylize(Style.from_meta({"@click": action_anywhere(key)})) if key.action else hint


class LiveGame:
    """One session, with the state that its events lead to and, once it has ended, why it was not won."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = self._told = ViewState()  # with and without the news of the current turn
        self.failure: Failure | None = None
        self.events: list[Event] = []
        self.rewound = False  # whether it has several branches, or begins its second one now

    @property
    def status(self) -> SessionStatus:
        return self.session.status

    def apply(self, update: SessionUpdate) -> bool:
        """Apply an update of the session; True if a branch ended with it."""
        if isinstance(update, SessionStatus):
            return False
        if isinstance(update, Noticed):
            self.state = hearing(self._told, *update)
            return False
        self.state = self._told = apply(self._told, update)
        if not isinstance(update, Event):
            return False
        self.events.append(update)
        self.rewound = self.rewound or (isinstance(update.body, Intervened) and update.body.action == "rewind")
        if not isinstance(update.body, Ended):
            return False
        from housequest.agent.evaluation.analysis.failures import failure_of

        self.failure = failure_of(self.events)
        return True


class LiveScreen(ViewScreen):
    """Plays ``games`` and shows them: the first is the person's, the last has the pace."""

    OPENS_LINE: ClassVar[frozenset[str]] = frozenset(("line", "edit", "hint"))
    games: tuple[LiveGame, ...] = ()

    @dataclass
    class Updated(Message):
        """A session reports an event or a change of its status."""

        session: Session
        update: SessionUpdate

    def __init__(self, game: ChosenGame, *, hints: bool) -> None:
        super().__init__()
        self._game = game
        self.par: PathLengths | None = None
        self._measured = False
        self._typing = False
        self._begun = ("", -inf)
        """The letter that was just typed and is no key now, and its time."""
        self._trouble: str | None = None
        self._refused: tuple[str, ...] = ()
        self._prompt = PromptBar()
        reader = self._read_beside if game.beside else self._read_line
        self._line = CommandLine(hints=hints, reader=reader, words="words for the other" if game.beside else "")
        self._bar = KeyBar()

    def facts(self) -> Mapping[str, object]:
        return {**super().facts(), "recorded": all(game.session.record is not None for game in self.games)}

    def prompt(self) -> PromptContent:
        raise NotImplementedError

    def focus_story(self) -> None:
        """Give the letter keys back their meaning."""
        raise NotImplementedError

    def ended(self) -> None:
        """A branch of a game has ended."""

    @property
    def session(self) -> Session:
        """The game that the person plays."""
        return self.games[0].session

    @property
    def at_stake(self) -> str:
        if self._line.value:
            return "What you typed is not sent yet."
        return "The game is not over." if self.session.status.waiting not in {"opening", "over", "closed"} else ""

    def show(self) -> None:
        """Update every widget."""
        self._show_prompt()
        status = self.session.status
        self._line.offer(status.possible)
        self._focus_line(status)
        refused = tuple(key.action for key in self.KEYS if self.refusal(key.action) is not None)
        if refused != self._refused:
            self._refused = refused
            self.refresh_bindings()

    def say(self, note: str) -> None:
        """Show ``note`` for some seconds, where it hides neither what is proposed nor the line, and update every widget."""
        if note:
            self.app.clear_notifications()  # pyright: ignore[reportUnknownMemberType]
            self.notify(note, timeout=NOTICE, markup=False)
        self.show()

    def new_session(self, game: ChosenGame, mode: PlayMode = "watch", resume: Path | None = None) -> Session:
        """A session whose updates come back as messages."""

        def listen(update: SessionUpdate) -> None:
            if session is self.session:
                self.awaited = _OPENING if session.status.waiting == "opening" else ""
            self.post_message(self.Updated(session, update))

        self.awaited = _OPENING
        session = self.make_session(game, listen, mode, resume)
        return session

    def make_session(
        self, game: ChosenGame, listener: Callable[[SessionUpdate], None], mode: PlayMode, resume: Path | None
    ) -> Session:
        return Session(game, listener, mode=mode, resume=resume)

    def compose_controls(self) -> ComposeResult:
        yield from (self._prompt, self._line, self._bar)

    def on_mount(self) -> None:
        self.start()
        self.show()

    async def on_unmount(self) -> None:
        for game in self.games:
            await game.session.close()

    def end_workers(self) -> None:
        """Cancel all workers but the sessions, which `on_unmount` closes."""
        self.workers.cancel_group(self, _MEASURING)  # pyright: ignore[reportUnknownMemberType]

    def start(self) -> None:
        for game in self.games:
            self.run_worker(game.session.run(), name="game", group="game")

    def measure(self) -> None:
        """Find out, once, in how many turns the task can be won."""
        if not self._measured:
            self._measured = True
            self.run_worker(self._measure(), group=_MEASURING)

    async def _measure(self) -> None:
        from housequest.agent.evaluation.analysis.metrics import PathLengths
        from housequest.agent.evaluation.analysis.run import path_lengths

        try:
            self.par = await self.in_thread(partial(path_lengths, self._game.world, self._game.task))
        except HousequestError:  # the game itself has reported what is wrong with the task
            self.par = PathLengths()
        self.show()

    def begins_line(self, key: events.Key) -> bool:
        """A letter that is no key now, and another one that goes on with it as people's words do, go to the line."""
        (before, when), self._begun = self._begun, ("", -inf)
        letter = key.character if key.character is not None and key.character.isalpha() else ""
        if not letter or self._line.has_focus_within or not self._line.display or self.refusal("line") is not None:
            return False
        if before and key.time - when < PAUSE and is_begun(before.lower() + letter):
            self.app.clear_notifications()  # pyright: ignore[reportUnknownMemberType]
            self._line.prefill(before + letter)
            return True
        bound = self.active_bindings.get(key.key)  # pyright: ignore[reportUnknownMemberType]
        if bound is None or (bound.node is self and self.refusal(bound.binding.action) is not None):
            self._begun = letter, key.time
        return False

    def takes_early(self, action: str) -> bool:
        # The world is opened while the line takes what is typed, and the keys that do no harm.
        return self._line.has_focus_within or (bool(action) and self.refusal(action) is None)

    def submit(self, command: str, orders: Directions | None = None) -> None:
        self.session.play(command, orders)

    @property
    def scene(self) -> Surroundings | None:
        """The context in which a person's words are read; None without a household, and before the game is open."""
        moment, household = self.games[0].state.moment, self._game.world.household
        alone = moment.started is None or moment.started.players is None
        if household is None or moment.belief is None or not alone:
            return None
        return Surroundings(moment.belief, household, self._game.task.goal, tuple(one.command for one in moment.transitions))

    def _read_beside(self, said: str, picked: str | None) -> PlayersLine:
        """Read a line beside an agent: ask about one that is nearly a possible command, and send the rest unchanged."""
        del picked
        words = words_in(said, self._game.world.household)
        near = CommandCompleter(self.session.status.possible or ()).near(said) if words == said else None
        return PlayersLine(said, (near or said,))

    def _read_line(self, said: str, picked: str | None) -> PlayersLine | None:
        moment, scene = self.games[0].state.moment, self.scene
        possible, world = self.session.status.possible, self._game.world
        if scene is None and (world.household is not None or not possible):
            return None
        if self.refusal("line") is not None:
            return PlayersLine(said, (said,))
        notes = moment.notes or (moment.last.notes if moment.last else ())
        thoughts = [note.text for note in notes if note.kind == "thought"]
        left = moment.started.max_turns - moment.turn if moment.started else None
        aim = thoughts[-1] if thoughts else ""
        reason = aim if moment.odds is not None and aim == told(moment.odds) else ""
        mind = Mind(moment.plan, moment.step, aim, reason, turns=left)
        if scene is not None:
            return read_line(said, scene, mind, thing=picked, alone=self.session.human)
        if picked is None and (near := CommandCompleter(possible or ()).near(said)) is not None:
            return PlayersLine(said, (near,))
        opening = moment.started.opening if moment.started else ""
        last = moment.last.observation.text if moment.last else opening.partition("\n")[0]
        return read_candidate(said, possible or (), world.info.manual, self._game.task.goal, mind, last=last, picked=picked)

    def on_live_screen_updated(self, message: LiveScreen.Updated) -> None:
        update = message.update
        if isinstance(update, SessionStatus) and update.playing and update.trouble not in {None, self._trouble}:
            self._trouble = update.trouble
            self.notify(update.trouble or "", severity="warning", timeout=2 * NOTICE, markup=False)
        for game in self.games:
            if game.session is message.session:  # and not one that was closed for another
                if game.apply(message.update):
                    self.ended()
                self.show()
                if game is self.games[0] and isinstance(update, Event) and isinstance(update.body, Stepped):
                    self._explain(game.state.moment)

    def _explain(self, moment: EpisodeMoment) -> None:
        """Say below the line why a person's command was refused, if the answer does not."""
        turn, world = moment.last, self._game.world
        if turn is None or turn.command is None or moment.belief is None:
            return
        if turn.by != "person" and not self.session.human:
            return  # not the person's command
        if (told := self._line.meant) is not None and told.said == turn.command:
            self._line.tell(None)
        silent = not (turn.observation.accepted or turn.observation.explanation)
        if silent and isinstance(world, Explaining) and (why := world.explain(moment.belief, turn.command)):
            self._line.tell(PlayersLine(turn.command, says=why))

    def on_command_line_submitted(self, message: CommandLine.Submitted) -> None:
        if (refusal := self.refusal("line")) is not None:
            if self.session.status.waiting in {"over", "closed"}:
                self.focus_story()
            else:
                self._line.prefill(message.command)
            self.say(refusal)
        else:
            self.submit(message.command, message.orders)

    def on_command_line_controlled(self, message: CommandLine.Controlled) -> None:
        self._line.tell(PlayersLine(message.said, says=self.steer(message.word)))

    def steer(self, control: Control) -> str:
        """Carry out a control word such as "stop", and say so in a sentence."""
        self.session.drop_orders()
        return CONTROLLED[control]

    def on_descendant_focus(self) -> None:
        self._show_prompt()  # whose keys are letters while something is typed

    def on_command_line_left(self) -> None:
        self.focus_story()
        self.show()

    def action_line(self) -> None:
        self._line.focus()

    def action_commands(self) -> None:
        """List the possible commands; the chosen one is put in the command line."""
        commands = sorted(self.session.status.possible or (), key=natural)
        self.ask(PickDialog("What is possible now", commands), self._line.prefill)

    def action_pace(self, by: int) -> None:
        session = self.games[-1].session
        if (pace := next_pace(PACES, session.status.pace, by)) != session.status.pace:
            session.set_pace(pace)

    def action_replay(self, place: int = 0) -> None:
        self.post_message(OpenScreen("replay", (self.games[place].session.record,)))

    def _show_prompt(self) -> None:
        content = self.prompt()
        self._prompt.show(*content, seconds=self._seconds())
        self._bar.leave_out(key.action for key in content.keys)

    def _seconds(self) -> int | None:
        """The seconds that the game has been busy, if that is worth saying."""
        return None

    def _focus_line(self, status: SessionStatus) -> None:
        """Let a person whose turn has come type at once, and remove the command line at the end."""
        # What is typed while the world is opened is meant for the line.
        yours = status.waiting == "turn" or (status.waiting == "opening" and status.mode == "you")
        ended = status.waiting in {"over", "closed"}
        # Who is in the middle of a word when the game ends goes on typing: its other letters are no keys.
        writing = self._line.has_focus_within and bool(self._line.value)
        if yours and not self._typing:
            self._line.focus()
        elif ended and self._line.has_focus_within and not writing:
            self.focus_story()
        self._line.display = writing or not ended
        if yours or status.mode != "you":
            self._typing = yours
