"""The screen of a race: one's own game of a task beside an agent's, turn for turn, and compared at the end."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.screen import Screen

from agent.evaluation.analysis.par import Par, par_of
from tui.background import aside
from tui.dialogs import Pick
from tui.episode.header import GameHeader
from tui.episode.house import HousePane
from tui.episode.story import Story
from tui.play.game import HUMAN, GameConfig
from tui.play.keys import LAST, explained
from tui.play.line import Line
from tui.play.prompt import Prompt
from tui.play.session import PACES, Session, Told
from tui.race.contest import KEYS, Contest, Side, Whose
from tui.race.finish import YOU, Finish
from tui.widgets.keybar import KeyBar
from worlds.errors import HousequestError

BROAD = 120
"""Columns from which on the house stands beside both stories; below, it takes the place of the other's."""
WIDE = 160
"""Columns from which on it is always there."""

DEFAULT_RIVAL = "expert"
"""Who is raced where the game has no agent."""

_YOURS = "You play: type a command and press enter; tab completes it. Both games begin alike, and neither knows of the other."
_THEIRS = "{name} plays one turn whenever you have played one; l lets it run at its own pace."


class RaceScreen(Screen[None]):
    """Races the agent of ``game``: two games of its task, each recorded for itself, the agent's untouched.

    Unless it is let run, the agent thinks ahead but plays a turn only when the person has played one, and what it thinks is
    seen with its turn.
    """

    class Left(Message):
        """The person is done here."""

    class OpenReplay(Message):
        """The record at ``path`` is to be seen again."""

        def __init__(self, path: Path) -> None:
            super().__init__()
            self.path = path

    class Heard(Message):
        """One of the sessions told something."""

        def __init__(self, session: Session, told: Told) -> None:
            super().__init__()
            self.session = session
            self.told = told

    BINDINGS: ClassVar[list[BindingType]] = [*explained(KEYS)]
    AUTO_FOCUS = "Line"
    DEFAULT_CSS = """
    RaceScreen {
        background: $background;
        & > Horizontal { height: 1fr; }
        & Story {
            width: 1fr;
            height: 1fr;
            padding: 0 0 0 1;
            background: $background;
            border: round $frame;
            border-title-color: $foreground;
            border-subtitle-color: $quiet;
            scrollbar-color: $frame;
            scrollbar-background: $background;
            &:focus { border: round $foreground; border-title-style: bold; }
        }
        & #yours { border-title-color: $role-person; border-title-style: bold; }
        & HousePane { width: 1fr; display: none; }
        &.-house HousePane { display: block; }
        &.-house #theirs { display: none; }
        &.-broad HousePane { width: 34; }
        &.-broad.-house #theirs { display: block; }
        &.-wide HousePane { display: block; width: 44; }
    }
    """

    def __init__(self, game: GameConfig) -> None:
        super().__init__()
        rival = game.agent if game.agent != HUMAN else DEFAULT_RIVAL
        self._game = game
        self._header = GameHeader()
        self._house = HousePane()
        self._finish = Finish()
        self._prompt = Prompt()
        self._line = Line(hints=False)
        # What was set on the spot is the agent's alone.
        mine = replace(game, agent=HUMAN, settings=game.settings.model_copy(update={"set": {}}))
        self._you = Side(YOU, Session(mine, self._hear))
        self._story = Story(_YOURS, id="yours")
        theirs = Session(replace(game, agent=rival), self._hear_rival, seat="step")
        name = f"the {rival}" if rival == DEFAULT_RIVAL else rival
        self._rival = Side(name, theirs)
        self._other = Story(_THEIRS.format(name=name.capitalize()), id="theirs")
        self._free = False
        self._par: Par | None = None
        self._measured = False
        self._note = ""
        self._typing = False
        self._refused: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        yield self._header
        with Horizontal():
            yield self._house
            yield self._story
            yield self._other
        yield self._finish
        yield self._prompt
        yield self._line
        yield KeyBar(KEYS, LAST)

    def on_mount(self) -> None:
        """Begin both games, in the background."""
        for side in (self._you, self._rival):
            self.run_worker(side.session.run(), name=side.name, group="race")
        self._show()

    async def on_unmount(self) -> None:
        """Leave both games where they stand."""
        for side in (self._you, self._rival):
            await side.session.close()

    def on_resize(self, event: events.Resize) -> None:
        """Make room for the house, or take it away."""
        self.set_class(event.size.width >= BROAD, "-broad")
        self.set_class(event.size.width >= WIDE, "-wide")

    @property
    def contest(self) -> Contest:
        """How the race stands."""
        return Contest(self._you, self._rival, self._free, self.has_class("-wide"), self._line.has_focus_within)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key holds now; one that does not explains itself when it is pressed."""
        del parameters
        return self.contest.refusal(action) is None

    def on_race_screen_heard(self, message: Heard) -> None:
        """Take in what one of the games told, and let the other's turn follow."""
        message.stop()
        side = self._you if message.session is self._you.session else self._rival
        side.hear(message.told)
        if side is self._you:
            self._note = ""
        self._keep_step()
        self._measure()
        self._show()

    def on_line_submitted(self, message: Line.Submitted) -> None:
        """Play what was typed."""
        message.stop()
        if (refusal := self.contest.refusal("line")) is not None:
            self._say(refusal)
            return
        self._you.session.play(message.command)

    def on_line_hinted(self, message: Line.Hinted) -> None:
        """Nobody is helped in a race."""
        message.stop()
        self._say("In a race nobody is helped: hints are for playing together. q leaves the race.")

    def on_descendant_focus(self) -> None:
        """Say which keys hold where the focus is now."""
        self._ask()

    def on_line_left(self, message: Line.Left) -> None:
        """Give the letter keys their meaning again."""
        message.stop()
        self._story.focus()
        self._show()

    def record(self, whose: Whose) -> Path | None:
        """Where this game is recorded; None where no record is kept."""
        return (self._you if whose == "you" else self._rival).session.record

    def action_explain(self, action: str) -> None:
        """Say why the key of ``action`` does nothing now."""
        self._say(self.contest.refusal(action) or "")

    def action_line(self) -> None:
        """Go to the line."""
        self._line.focus()

    def action_commands(self) -> None:
        """List what is possible; what is chosen is taken into the line."""
        pick = Pick("What is possible now", self._you.status.possible or ())
        self.app.push_screen(pick, self._chose)  # pyright: ignore[reportUnknownMemberType]

    def action_lockstep(self) -> None:
        """Let the other run at its own pace, or turn for turn again."""
        self._free = not self._free
        self._rival.session.sit("watch" if self._free else "step")
        self._note = ""
        self._show()

    def action_pace(self, by: int) -> None:
        """Faster or slower."""
        pace = self._rival.status.pace
        quicker, slower = [one for one in PACES if one > pace], [one for one in PACES if one < pace]
        if chosen := quicker[:1] if by > 0 else slower[-1:]:
            self._rival.session.set_pace(chosen[0])

    def action_house(self) -> None:
        """Show what is known of one's own house, or hide it."""
        self.toggle_class("-house")

    def action_retry(self) -> None:
        """Have the other try again."""
        self._rival.session.proceed()

    def action_replay(self, whose: Whose) -> None:
        """See one of the games again."""
        record = self.record(whose)
        if record is None:
            self._say("No record of this game is kept, so it cannot be seen again.")
        else:
            self.post_message(self.OpenReplay(record))

    def action_fold(self) -> None:
        """Open all thoughts, or fold them."""
        self._other.fold_all()

    def action_next_pane(self) -> None:
        """Go to the next region."""
        self.focus_next("Story, HousePane")

    def action_home(self) -> None:
        """Leave; what was played is kept."""
        self.post_message(self.Left())

    # Both games.

    def _hear(self, told: Told) -> None:
        self.post_message(self.Heard(self._you.session, told))

    def _hear_rival(self, told: Told) -> None:
        self.post_message(self.Heard(self._rival.session, told))

    def _keep_step(self) -> None:
        """Let the other play where it is a turn behind; once the person is done, let it run."""
        you, rival = self._you, self._rival
        if you.over and not self._free and rival.status.playing:
            self._free = True
            rival.session.sit("watch")
        elif self.contest.behind:
            rival.session.accept()

    def _measure(self) -> None:
        """What the task can be done in, once a game is over and nobody can make use of it any more."""
        if not self._measured and self.contest.over:
            self._measured = True
            self.run_worker(self._measuring(), name="par", group="par")

    async def _measuring(self) -> None:
        try:
            self._par = await aside(partial(par_of, self._game.world, self._game.task))
        except HousequestError:
            # A game that cannot be played was told of already.
            self._par = Par()
        self._show()

    # What is seen.

    def _show(self) -> None:
        """Bring everything up to the moment."""
        you, rival = self._you, self._rival
        self._header.show(you.state, "RACE")
        self._house.show(you.state)
        self._story.show(you.state)
        self._other.show(rival.state if self._free else rival.settled)
        self._story.border_title = Content(you.score())
        self._other.border_title = Content(" · ".join(filter(None, (rival.score(), rival.doing()))))
        self._ask()
        self._line.offer(you.status.possible)
        self._give_line()
        if (yours := you.runner) and (theirs := rival.runner):
            self._finish.show(yours, theirs, self._par)
        self._line.display = not you.over
        refused = tuple(key.action for key in KEYS if self.contest.refusal(key.action.partition("(")[0]) is not None)
        if refused != self._refused:
            self._refused = refused
            self.refresh_bindings()

    def _ask(self) -> None:
        cue = self.contest.cue()
        self._prompt.show("message" if self._note else cue.kind, self._note or cue.text, cue.keys)

    def _give_line(self) -> None:
        """Let the person type at once when the game begins, and take the line away when it is over."""
        yours = self._you.status.waiting == "turn"
        if yours and not self._typing:
            self._typing = True
            self._line.focus()
        elif self._you.over and self._line.has_focus_within:
            self._story.focus()

    def _chose(self, command: str | None) -> None:
        if command is not None:
            self._line.prefill(command)
            self._line.focus()

    def _say(self, note: str) -> None:
        self._note = note
        self._show()
