"""The screen of a race: a person's game of a task beside an agent's, turn for turn, compared at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content

from housequest.tui.episode.ending import YOU, RaceEnding, RaceResult
from housequest.tui.episode.house import HousePane
from housequest.tui.episode.recording import OUTCOME_WORDS
from housequest.tui.episode.stage import GameHeader
from housequest.tui.episode.state import ViewState
from housequest.tui.episode.story import Story
from housequest.tui.episode.view import ViewPane
from housequest.tui.keymap import TEACHING
from housequest.tui.play import live_screen
from housequest.tui.play.game import HUMAN, ChosenGame
from housequest.tui.play.session import PACES, Session
from housequest.tui.widgets.lines import flat

BROAD = 120  # columns from which on the house stands beside both stories; below, it takes the place of the agent's
MIDDLING = 96  # columns from which on the View has a place beside both stories, without the house
WIDE = 160  # columns from which on the house is always shown
LONGEST_HEARD = 28  # characters of a reply that are shown while it is written, above a story that has a third of 120 columns

DEFAULT_RIVAL = "expert"  # who is raced where the game has no agent

_BUSY = dict[str, str].fromkeys(("opening", "deciding", "acting"), "thinking")
_DOING = {**_BUSY, "verdict": "waiting", "paused": "waiting", "failed": "its model failed"}
"""The agent's activity, by what its game waits for."""


class RaceGame(live_screen.LiveGame):
    """One of the two games; ``name`` is ``you`` for the person's."""

    def __init__(self, name: str, session: Session) -> None:
        super().__init__(session)
        self.name = name

    @property
    def over(self) -> bool:
        """True if it has ended, or could not go on."""
        return self.state.moment.ended is not None or self.status.waiting == "closed"

    @property
    def result(self) -> RaceResult | None:
        """The result; None while it goes on."""
        ended = self.state.moment.ended
        return RaceResult(self.name, ended, self.failure) if ended else None

    @property
    def settled(self) -> ViewState:
        """The game as it was when the last turn ended, without the thoughts since."""
        anchor = self.state.moment.anchor
        return self.state if anchor is None or self.over else self.state.at(anchor)

    def score(self) -> str:
        """Say whose game it is, with its turns so far and its refused commands."""
        moment = self.state.moment
        name = self.name.capitalize() if self.name == YOU else flat(self.name)
        so_far = f"{OUTCOME_WORDS[moment.ended.outcome]} {moment.ended.turns}" if moment.ended else f"turn {moment.turn}"
        return f"{name} · {so_far}{f' · {moment.refused} refused' if moment.refused else ''}"


class RaceScreen(live_screen.LiveScreen, keys="race"):
    """Races the agent of a game, which thinks ahead, but until let run plays and shows a turn only after the person's."""

    AUTO_FOCUS = "CommandLine"
    ROOM = BROAD

    def __init__(self, game: ChosenGame, mode: str = "race", resume: Path | None = None) -> None:
        del mode, resume  # there is one mode, and a race begins at the beginning
        super().__init__(game, hints=False)
        rival = game.agent if game.agent != HUMAN else DEFAULT_RIVAL
        name = f"the {rival}" if rival == DEFAULT_RIVAL else rival
        # The settings of the agent are not the person's.
        mine = replace(game, agent=HUMAN, settings=game.settings.model_copy(update={"set": {}}))
        self._you = RaceGame(YOU, self.new_session(mine))
        self._rival = RaceGame(name, self.new_session(game if rival == game.agent else replace(game, agent=rival), "step"))
        self.games = self._you, self._rival
        self._free = False
        self._header = GameHeader()
        self._house = HousePane()
        self.view = ViewPane((game.world, game.task))
        self._story = Story(TEACHING["race"], id="yours")
        self._other = Story(TEACHING["rival"].format(name=name.capitalize()), id="theirs")
        self._ending = RaceEnding()

    def compose(self) -> ComposeResult:
        yield self._header
        with Horizontal():
            with Vertical(id="left"):
                yield self.view
                yield self._house
            yield self._story
            yield self._other
        yield self._ending
        yield from self.compose_controls()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(MIDDLING <= event.size.width < BROAD, "-middling")
        self.set_class(event.size.width >= BROAD, "-broad")
        self.set_class(event.size.width >= WIDE, "-wide")

    def focus_story(self) -> None:
        self._story.focus()

    def show(self) -> None:
        you, rival = self._you, self._rival
        self._keep_step()
        if self._over:
            self.measure()
        self._header.show(you.state, "RACE")
        self._house.show(you.state)
        self._story.show(you.state)
        theirs = rival.state if self._free else rival.settled
        self._other.show(theirs)
        shown, whose = (rival, rival.name) if self._other.has_focus else (you, you.name)
        state = theirs if shown is rival else you.state
        self.view.glimpses = shown.session.glimpses
        self.view.show(state, watched=self._over, whose=whose)
        self._story.border_title = Content(you.score())
        self._show_rival()
        if (yours := you.result) and (other := rival.result):
            self._ending.show(yours, other, self.par)
        super().show()

    def on_mount(self) -> None:
        self.set_interval(0.25, self._show_rival)  # what a model says comes some tokens a second

    def _show_rival(self) -> None:
        """Say above its story how far the agent is and what it says; turn for turn, that waits for its turn."""
        rival, status = self._rival, self._rival.status
        doing = live_screen.end_of(flat(rival.session.reply.heard), LONGEST_HEARD) if self._free else ""
        if not doing and status.waiting == "pace" and status.pace < PACES[-1]:
            doing = f"{status.pace:g} turns a second"
        doing = "" if rival.over else doing or _DOING.get(status.waiting, "")
        self._other.border_title = Content(" · ".join(filter(None, (rival.score(), doing))))

    def on_command_line_hinted(self) -> None:
        self.say("In a race nobody is helped: hints are for playing together. q leaves the race.")

    def on_descendant_focus(self) -> None:
        self.show()  # since the View is of the house whose story has the focus

    def action_lockstep(self) -> None:
        """Let the agent play at its own pace, or turn for turn again."""
        self._free = not self._free
        self._rival.session.set_mode("watch" if self._free else "step")
        self.show()

    def action_house(self) -> None:
        self.toggle_class("-house")

    def action_retry(self) -> None:
        self._rival.session.proceed()

    def action_fold(self) -> None:
        self._other.fold_all()

    def action_next_pane(self) -> None:
        self.focus_next("Story, HousePane, ViewPane")

    def _keep_step(self) -> None:
        """Let the agent play where it is a turn behind; once the person is done, let it run."""
        you, rival = self._you, self._rival
        if you.over and not self._free and rival.status.playing:
            self._free = True
            rival.session.set_mode("watch")
        elif rival.state.moment.turn < you.state.moment.turn:
            if rival.status.waiting == "verdict":
                rival.session.accept()
            elif rival.status.waiting == "paused":  # its last turn brought no command
                rival.session.proceed()

    @property
    def _over(self) -> bool:
        return self._you.over and self._rival.over

    def facts(self) -> Mapping[str, object]:
        you, rival = self._you, self._rival
        return {
            **super().facts(),
            "name": rival.name,
            "opened": you.status.waiting != "opening",
            "mine": not you.over,
            "listed": you.status.possible is not None,
            "theirs opened": rival.status.waiting != "opening",
            "theirs": not rival.over,
            "free": self._free,
            "folded": not self.has_class("-wide"),
            "over": self._over,
            "failed": rival.status.waiting == "failed",
        }

    def prompt(self) -> live_screen.PromptContent:
        kind, text, words = self._asked()
        return live_screen.PromptContent(kind, text, live_screen.hints(self.KEYS, words))

    def _asked(self) -> tuple[live_screen.PromptKind, str, dict[str, str]]:
        you, rival, name = self._you, self._rival, self._rival.name
        trouble = you.status.trouble or rival.status.trouble
        if rival.status.waiting == "failed":
            return "failed", f"{name}: {rival.status.failure or 'its model failed'}", {"r": "try again"}
        if you.status.waiting == "closed" and you.result is None:
            return "message", trouble or "this game is closed", {}
        if self._over:
            text = None if rival.result else trouble
            return "over", text or "The race is over.", {"p": "replay yours", "P": f"replay {name}'s"}
        if you.over:
            return "thinking", f"you are done; {name} plays on", {"+ -": "its pace"}
        if you.status.waiting == "opening":
            return "thinking", "opening the world, twice", {}
        keys = {"g": "possible"}
        if not self.has_class("-wide"):
            keys["h"] = "house"
        if not rival.over:
            keys["l"] = "turn for turn" if self._free else f"let {name} run"
        keys = {**(live_screen.THEN if self._line.has_focus_within else {":": "type"}), **keys}
        done = f"{name} is done; play on" if rival.over else f"turn {you.state.moment.turn + 1}"
        return "yours", trouble or done, keys
