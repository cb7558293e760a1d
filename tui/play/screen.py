"""The screen of a live game: watch an agent play, and step in at any moment."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType

from housequest.agent.agents.spec import agent_spec
from housequest.agent.models.registry import model_forms
from housequest.tui.base_screen import OpenScreen, PickDialog
from housequest.tui.desk.rule_dialog import teach
from housequest.tui.episode.branches_dialog import BranchChoice, BranchesDialog
from housequest.tui.episode.recording import game_branches
from housequest.tui.episode.stage import EpisodePanes
from housequest.tui.episode.story import Story
from housequest.tui.home.catalogue import load_recent
from housequest.tui.keymap import episode_groups
from housequest.tui.play.game import GameConfig, next_game
from housequest.tui.play.guide import STEPS, Guide, remember
from housequest.tui.play.line import CommandLine
from housequest.tui.play.live_screen import LiveScreen, PromptContent, with_explanations
from housequest.tui.play.session import PlayMode, Waiting
from housequest.tui.play.state import KEYS, GameView, world_keys
from housequest.tui.play.viewing import PaneScreen
from housequest.tui.screens import screen_for
from housequest.tui.text import printable
from housequest.worlds.env import enacted_game
from housequest.worlds.errors import HousequestError

_TEACHING = {
    "watch": "The agent plays and you watch. space stops it before its next command, t takes over, + and - set the pace.",
    "step": "Each command is proposed to you first: enter accepts it, e edits it, t takes over, a lets the agent play on.",
    "you": "You play: type a command and press enter; tab completes it. Escape and then t hands over to the agent.",
    "alone": "You play: type a command and press enter; tab completes it, and ↓ lists what is possible.",
}
_MODES = {"watch": "AUTO", "step": "STEP", "you": "YOU"}
LONG = 3  # seconds after which the prompt says how long something takes


class PlayScreen(PaneScreen, LiveScreen):
    """Plays ``game`` in ``mode``; ``resume`` is the record of an unfinished game to continue.

    ``guided``: it is somebody's first game, which stops before each command and says what there is to see and to press.
    """

    KEYS = KEYS
    GROUP = "play"
    GROUPS = episode_groups("play")
    BINDINGS: ClassVar[list[BindingType]] = [*with_explanations(KEYS)]
    AUTO_FOCUS = "Story"

    def __init__(self, game: GameConfig, mode: PlayMode = "watch", resume: Path | None = None, guided: bool = False) -> None:
        hints = agent_spec(game.agent).needs_model
        super().__init__(game, hints=hints)
        self._mode: PlayMode = "step" if guided else mode
        self._guide = Guide(hints=hints) if guided else None
        self._resume = resume
        self._begin(game)
        self._waiting: Waiting = "opening"
        self._since = monotonic()
        alone = self.session.human
        teaching = _TEACHING["alone" if alone else self.session.status.mode]
        prices = game.settings.prices_of(game.model) if game.model else None
        self.panes = EpisodePanes(teaching, prices, (game.world, game.task), alone=alone)
        self.view = self.panes.view
        self.enacted = ""
        for key in with_explanations(world_keys(game.world.keys)):
            self._bindings.bind(key.key, key.action, key.description, key.show, key.key_display)

    def compose(self) -> ComposeResult:
        yield self.panes
        if self._guide is not None:
            yield self._guide
        yield from self.compose_controls()

    def on_mount(self) -> None:
        if self._guide is not None:
            self._remember_guide()
        self.set_interval(0.25, self._show_prompt)  # what the model says comes some tokens a second

    def _begin(self, game: GameConfig) -> None:
        self.play_state = GameView(self.new_session(game, self._mode, self._resume))  # the game, and what of it is looked at
        self.games = (self.play_state,)

    def game_refusal(self, action: str) -> str | None:
        if action == "end_guide" and (self._guide is None or not self._guide.display):
            return "There is no guide here: / lists every key."
        return self.play_state.refusal(action)

    def prompt(self) -> PromptContent:
        return self.play_state.prompt(typing=self._line.has_focus_within)

    def focus_story(self) -> None:
        self.panes.show_pane("story")

    def show(self) -> None:
        view, status = self.play_state, self.session.status
        self.panes.mind.destinations = status.destinations
        watched, acting = view.refusal("true_state") is None, view.refusal("interact") is None
        self.view.glimpses, self.view.pace = self.session.glimpses, status.pace
        if self._guide is not None:
            self._guide.show(len(STEPS) if status.waiting in {"over", "closed"} else view.state.moment.turn)
        mode = _MODES[status.mode] if status.waiting != "over" else "OVER"
        self.panes.show(view.shown, mode, view.cursor, watched=watched, acting=acting)
        self.panes.ending.show(view.state, self.par, view.failure, self.enacted)
        if status.waiting == "closed":
            self.panes.story.teach(status.trouble or "This game is closed.")
        super().show()

    def submit(self, command: str) -> None:
        self.play_state.cursor = None
        super().submit(command)
        self._leave_line()

    def ended(self) -> None:
        self.measure()
        if self.session.game.world.enacts:
            self._enact()

    @work(group="enacted", exclusive=True)
    async def _enact(self) -> None:
        """Find out what became of the game in the simulator."""
        game, story = self.session.game, self.play_state.state.moment.story
        commands = [entry.command for entry in story if entry.command is not None]
        try:
            enacted = await self.in_thread(partial(enacted_game, game.world, game.task, commands))
        except HousequestError:  # the game itself has reported what is wrong with the task
            return
        self.enacted = "" if enacted is None else enacted.count
        self.say(printable(f"It was {enacted.words}.") if enacted is not None and enacted.divergences else "")

    def on_story_picked(self, message: Story.Picked) -> None:
        self.play_state.look_at(message.event_id)
        self.show()

    def on_command_line_hinted(self, message: CommandLine.Hinted) -> None:
        self._leave_line()
        if (refusal := self.refusal("hint")) is not None:
            self.say(refusal)
        else:
            self.session.hint(message.text)

    @work(group="guide")
    async def _remember_guide(self) -> None:
        if trouble := await self.in_thread(remember):
            self.say(trouble)

    def action_end_guide(self) -> None:
        """Take the guide away; it does not come again."""
        if self._guide is not None:
            self._guide.display = False
            self.refresh_bindings()

    def action_step(self) -> None:
        if self.view.moving:
            self.view.skip()
            return
        self._to_present()
        if self.session.status.waiting == "verdict":
            self.session.accept()
        else:
            self.session.set_mode("step")
            self.session.proceed()

    def action_skill(self) -> None:
        self._to_present()
        self.session.play_skill()

    def action_command(self, command: str) -> None:
        """Play a command by its key: who does so has taken over."""
        self.play_state.cursor = None
        self.session.set_mode("you")
        self.session.play(command)
        self.show()

    @work(group="interact", exclusive=True)
    async def action_interact(self, choosing: bool) -> None:
        """Do the likeliest with what is in the middle of the picture, or let the person choose what."""
        view = self.view
        if view.mode == "off":
            self.say("The View is off: v shows what is in the middle.")
            return
        self._to_present()
        await view.settle()
        reach = view.reach
        commands = [] if reach is None else list(reach.commands)
        if reach is None:
            self.say("The picture is not there yet, or cannot be drawn: type after : instead.")
        elif not commands:
            self.say(f"x does nothing here: {printable(reach.why)}.")
        elif choosing and len(commands) > 1:
            self.ask(PickDialog("What to do with what is in the middle", commands), self.action_command)
        else:
            self.action_command(commands[0])

    def action_auto(self) -> None:
        self._to_present()
        self.session.set_mode("watch")
        self.session.proceed()

    def action_accept(self) -> None:
        self._to_present()
        self.session.accept()

    def action_edit(self) -> None:
        self._line.prefill(self.play_state.state.moment.proposal or "")

    def action_other(self) -> None:
        self._to_present()
        self.session.ask_for_another()

    def action_take_over(self) -> None:
        self._to_present()
        self.session.set_mode("step" if self.session.status.mode == "you" else "you")

    def action_hint(self) -> None:
        self._line.prefill("?")

    def action_escape(self) -> None:
        if self.play_state.cursor is None:
            self.session.interrupt()
        self._to_present()

    def action_back(self) -> None:
        self.play_state.move(-1)
        self.show()

    def action_forward(self) -> None:
        self.play_state.move(1)
        self.show()

    def action_branch(self) -> None:
        self.play_state.branch()
        self.show()

    @work(group="branches", exclusive=True)
    async def action_branches(self) -> None:
        """Put the branches side by side, and look at the turn that is chosen there, from which one can play on."""
        found = await self.in_thread(partial(game_branches, tuple(self.play_state.events), self.play_state.state))
        self.ask(BranchesDialog(found, self.play_state.cursor, does="look at it"), self._to_branch)

    def _to_branch(self, chosen: BranchChoice) -> None:
        branch, event = chosen
        self.play_state.look_at(event, None if branch.current else branch.end)
        self.show()

    def action_play_as(self, mode: str) -> None:
        """Play the same task from its beginning in another mode."""
        self.post_message(OpenScreen(screen_for(mode), (self.session.game, mode), instead=True))

    def action_teach(self) -> None:
        if refusal := teach(self, self.play_state.moment, self.session.record):
            self.say(refusal)

    def action_model(self) -> None:
        models = load_recent().recent.used(self.session.game.model or "").models
        about = f"A model is named {model_forms()}."
        self.ask(PickDialog("Another model", models, free=True, about=about), self._change_model)

    async def action_retry(self) -> None:
        if self.session.status.waiting == "closed":
            await self._restart(self.session.game)
        else:
            self.session.proceed()

    def action_replay(self) -> None:
        self.open_replay(self.session)

    @work(group="next", exclusive=True)
    async def action_next(self) -> None:
        """Play the next task of the same type."""
        self.awaited = "Another game is being looked for."
        try:
            game = await self.in_thread(partial(next_game, self.session.game))
        except HousequestError as error:
            self.awaited = ""
            self.notify(str(error), severity="warning", markup=False)
        else:
            self.post_message(OpenScreen("play", (game, self._mode), instead=True))

    async def _restart(self, game: GameConfig) -> None:
        await self.session.close()
        self._begin(game)
        self.start()
        self.show()

    def _seconds(self) -> int | None:
        waiting = self.session.status.waiting
        if waiting != self._waiting:
            self._waiting, self._since = waiting, monotonic()
        busy = waiting in {"opening", "deciding", "acting"}
        seconds = int(monotonic() - self._since) if busy else 0
        return seconds if seconds >= LONG else None

    def _leave_line(self) -> None:
        if self.session.status.mode != "you" or self.session.game.world.keys:
            self.focus_story()

    def _to_present(self) -> None:
        self.play_state.cursor = None
        self.show()

    @work(group="model", exclusive=True)
    async def _change_model(self, model: str) -> None:
        game, session = self.session.game, self.session
        try:
            if session.status.waiting == "closed":
                await self._restart(replace(game, settings=game.settings.model_copy(update={"model": model})))
            else:
                await session.change_model(model)
                if session.status.waiting == "verdict":
                    self.say(f"From the next turn on, {session.status.model} is asked.")
        except HousequestError as error:
            self.say(printable(str(error)))
