"""The screen of a race: a person's game of a task beside an agent's, turn for turn, compared at the end."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content

from tui.episode.header import GameHeader
from tui.episode.house import HousePane
from tui.episode.story import Story
from tui.play.game import HUMAN, GameConfig
from tui.play.live_screen import LiveScreen, with_explanations
from tui.play.session import Session
from tui.race.ending import YOU, RaceEnding
from tui.race.state import KEYS, RaceGame, RaceState

BROAD = 120
"""Columns from which on the house stands beside both stories; below, it takes the place of the agent's."""
WIDE = 160
"""Columns from which on it is always shown."""

DEFAULT_RIVAL = "expert"
"""Who is raced where the game has no agent."""

RaceSide = Literal["you", "rival"]

_YOURS = "You play: type a command and press enter; tab completes it. Both games begin alike, and neither knows of the other."
_THEIRS = "{name} plays one turn whenever you have played one; l lets it run at its own pace."


class RaceScreen(LiveScreen):
    """Races the agent of ``game``: two games of its task, each with a record of its own, the agent's without help.

    Unless it is let run, the agent thinks ahead but plays a turn only when the person has played one, and its thoughts
    are shown with its turn.
    """

    KEYS = KEYS
    BINDINGS: ClassVar[list[BindingType]] = [*with_explanations(KEYS)]
    AUTO_FOCUS = "CommandLine"
    DEFAULT_CSS = """
    RaceScreen {
        & > Horizontal { height: 1fr; }
        & Story {
            width: 1fr;
            padding: 0 0 0 1;
            border-title-color: $foreground;
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
        super().__init__(game, hints=False)
        rival = game.agent if game.agent != HUMAN else DEFAULT_RIVAL
        name = f"the {rival}" if rival == DEFAULT_RIVAL else rival
        # The settings of the agent are not the person's.
        mine = replace(game, agent=HUMAN, settings=game.settings.model_copy(update={"set": {}}))
        self._you = RaceGame(YOU, self.new_session(mine))
        self._rival = RaceGame(name, self.new_session(replace(game, agent=rival), "step"))
        self._free = False
        self._header = GameHeader()
        self._house = HousePane()
        self._story = Story(_YOURS, id="yours")
        self._other = Story(_THEIRS.format(name=name.capitalize()), id="theirs")
        self._ending = RaceEnding()

    def compose(self) -> ComposeResult:
        yield self._header
        with Horizontal():
            yield self._house
            yield self._story
            yield self._other
        yield self._ending
        yield from self.compose_controls()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= BROAD, "-broad")
        self.set_class(event.size.width >= WIDE, "-wide")

    @property
    def play_state(self) -> RaceState:
        return RaceState(self._you, self._rival, self._free, self.has_class("-wide"), self._line.has_focus_within)

    @property
    def session(self) -> Session:
        return self._you.session

    @property
    def sessions(self) -> tuple[Session, ...]:
        return self._you.session, self._rival.session

    def side(self, side: RaceSide) -> RaceGame:
        """The person's game, or the agent's."""
        return self._you if side == "you" else self._rival

    def focus_story(self) -> None:
        self._story.focus()

    def show(self) -> None:
        you, rival = self._you, self._rival
        self._header.show(you.state, "RACE")
        self._house.show(you.state)
        self._story.show(you.state)
        self._other.show(rival.state if self._free else rival.settled)
        self._story.border_title = Content(you.score())
        self._other.border_title = Content(" · ".join(filter(None, (rival.score(), rival.activity()))))
        if (yours := you.result) and (theirs := rival.result):
            self._ending.show(yours, theirs, self.par)
        super().show()

    def on_live_screen_updated(self, message: LiveScreen.Updated) -> None:
        game = self._you if message.session is self.session else self._rival
        game.apply(message.update)
        if game is self._you:
            self._note = ""
        self._keep_step()
        if self.play_state.over:
            self.measure()
        self.show()

    def on_command_line_hinted(self) -> None:
        self.say("In a race nobody is helped: hints are for playing together. q leaves the race.")

    def on_descendant_focus(self) -> None:
        self._show_prompt()

    def action_lockstep(self) -> None:
        """Let the agent play at its own pace, or turn for turn again."""
        self._free = not self._free
        self._rival.session.set_mode("watch" if self._free else "step")
        self.say("")

    def action_house(self) -> None:
        """Show or hide what is known of the person's house."""
        self.toggle_class("-house")

    def action_retry(self) -> None:
        self._rival.session.proceed()

    def action_replay(self, side: RaceSide) -> None:
        self.open_replay(self.side(side).session)

    def action_fold(self) -> None:
        self._other.fold_all()

    def action_next_pane(self) -> None:
        self.focus_next("Story, HousePane")

    def _keep_step(self) -> None:
        """Let the agent play where it is a turn behind; once the person is done, let it run."""
        you, rival = self._you, self._rival
        if you.over and not self._free and rival.status.playing:
            self._free = True
            rival.session.set_mode("watch")
        elif self.play_state.behind:
            rival.session.accept()
