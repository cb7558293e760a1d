"""The screen of a live game, and the guide through a first one: watch an agent play, and step in at any moment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widget import Widget

from housequest.agent.agents.spec import agent_spec
from housequest.agent.episodes.events import Ended
from housequest.agent.models.registry import model_forms
from housequest.agent.skills.language.directions import Directions
from housequest.agent.skills.language.playing import PlayersLine
from housequest.agent.skills.language.sentences import Control, read, read_alone
from housequest.tui.base_screen import OpenScreen, PickDialog
from housequest.tui.desk.rule_dialog import teach
from housequest.tui.episode.branches_dialog import BranchChoice, BranchesDialog
from housequest.tui.episode.recording import OUTCOME_WORDS, game_branches
from housequest.tui.episode.stage import EpisodePanes
from housequest.tui.episode.state import EpisodeMoment, ViewState
from housequest.tui.episode.story import Story
from housequest.tui.home.catalogue import able_agents, load_recent, remember_guided
from housequest.tui.keymap import PROMPTS, TEACHING, Equipped, unmet_need
from housequest.tui.play import live_screen
from housequest.tui.play.company import PATIENCE, SharedPar, shares, words_in
from housequest.tui.play.game import FORGET, ChosenGame, next_game
from housequest.tui.play.line import CommandLine
from housequest.tui.play.session import PlayMode, Session, Waiting
from housequest.tui.play.typed import HELP, forms_of
from housequest.tui.screens import MODES
from housequest.tui.text import plural, printable
from housequest.worlds.base import CommandKey
from housequest.worlds.env import enacted_game
from housequest.worlds.errors import HousequestError

LONGEST_HEARD = 56
"""Characters of a reply that are shown while it is written: its end, which has to fit into a line of the prompt."""
_WORDS = {"watch": "AUTO", "step": "STEP", "you": "YOU"}
LONG = 3  # seconds after which the prompt says how long something takes
_HINT_STEP = 2  # the step of the guide that is about hints


def world_keys(keys: Sequence[CommandKey]) -> tuple[Binding, ...]:
    """Bindings for the keys of a world, without those that the screen itself has a use for."""
    taken = {name for key in PlayScreen.KEYS for name in key.key.split(",")}
    bound = (Binding(each.key, f"command({each.command!r})", each.about, key_display=_shown(each)) for each in keys)
    return tuple(key for key in bound if key.key not in taken)


def _shown(key: CommandKey) -> str:
    names = {"pageup": "⇞", "pagedown": "⇟", "shift": "⇧", "up": "↑", "down": "↓", "left": "←", "right": "→"}
    return "".join(names.get(part, part) for part in key.key.split("+"))


class GameView(live_screen.LiveGame):
    """A live game with the turn looked at (``cursor`` is its event, None at the present), which keys work, and the prompt."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.cursor: int | None = None
        self._end: int | None = None

    @property
    def shown(self) -> ViewState:
        """The branch that the person looks at, as far as it went: the present one unless they went to another."""
        return self.state if self.cursor is None or self._end is None else self.state.at(self._end)

    @property
    def moment(self) -> EpisodeMoment:
        return self.state.moment if self.cursor is None else self.state.moments[self.cursor]

    def look_at(self, event: int | None, end: int | None = None) -> None:
        """Look at the moment after this event, on the branch that ends with ``end``; that of the last turn is the present."""
        self._end = end if end is not None else None if self.cursor is None else self._end
        self.cursor = None if event == self._present else event

    def move(self, by: int) -> None:
        """Look ``by`` turns further on, or back where it is negative; after the last turn comes the present."""
        stops = self._stops()
        here = stops.index(self.cursor) if self.cursor in stops else len(stops) - (self._present is not None)
        place = max(0, here + by)
        self.look_at(stops[place] if place < len(stops) else None)

    def branch(self) -> None:
        """Play on from the turn looked at; at the present, look at the turn at which the game was lost."""
        if self.cursor is None:
            self.look_at(self.missed)
        else:
            self.session.rewind(self.cursor)
            self.cursor = None

    @property
    def _present(self) -> int | None:
        """The event of the last turn, unless the game ended later than with it."""
        last, anchor = self.events[-1] if self.events else None, self.state.moment.anchor
        later = last is not None and isinstance(last.body, Ended) and last.parent != anchor
        return None if later else anchor

    def _stops(self) -> list[int]:
        """The events that one can look back to, from the start on."""
        start = next(iter(self.state.moments))
        return [start, *(entry.id for entry in self.shown.moment.story)]

    @property
    def missed(self) -> int | None:
        """The event before the turn at which the game was lost."""
        moment = self.state.moment
        if self.failure is None or moment.ended is None or not 0 < self.failure.turn <= len(moment.story):
            return None
        return self._stops()[self.failure.turn - 1]

    def refusal(self, action: str) -> str | None:
        """The reason why ``action`` does nothing in this game now; None where the game allows it."""
        return unmet_need(PlayScreen.NEEDS, action, self.facts())

    def facts(self) -> dict[str, object]:
        """The facts about the game that actions need by ``keys.toml``."""
        status, past, agent = self.status, self.cursor is not None, not self.session.human
        over, watching = status.waiting == "over", status.mode == "watch"
        return {
            "own": self.session.own,
            "opened": status.waiting != "opening",
            "open": status.waiting != "closed",
            "going on": not over,
            "over": over,
            "agent": agent,
            "name": self.session.game.agent,
            "hears": lambda: self.session.game.hears_hints,
            "model": lambda: "model" in agent_spec(self.session.game.agent).needs,
            "camera": self.session.glimpses,
            "watching": watching,
            "shown": over or watching,
            "shown or agent": over or watching or agent,
            "proposed": status.waiting == "verdict",
            "keys": self.session.game.world.info.keys,
            "beside": self.session.game.beside,
            "apart": not self.session.game.beside,
            "listed": status.possible is not None,
            "begun": self.state.moment.last,
            "played": any(entry.command is not None for entry in self.moment.story),
            "past": past,
            "turn": past or (over and self.missed is not None),
            "away": past or (status.waiting == "deciding" and agent),
            "rewound": self.rewound,
            "stuck": status.waiting in {"failed", "closed"},
        }

    def prompt(self, *, typing: bool = False) -> live_screen.PromptContent:
        """The prompt, with those of its keys that do something; while ``typing`` letters are no keys."""
        waiting = self.status.waiting if self.cursor is None else "past"
        kind, text, words = PROMPTS[waiting]
        played = {_shown(key): key.about.lower() for key in self.session.game.world.info.keys if waiting == "turn"}
        keys = live_screen.hints((*PlayScreen.KEYS, *world_keys(self.session.game.world.info.keys)), {**played, **words})
        held = [key for key in keys if self.refusal(key.action) is None]
        if typing:
            # In the line already: what leads there is left out.
            kept = {"g", "t", *played} if kind == "yours" else {key.key_display for key in held} - {"e", "?"}
            held = [key for key in held if key.key_display in kept]
            held = [*live_screen.hints((), live_screen.THEN), *held] if held else held
        return live_screen.PromptContent(kind, text.format(**self._said()), tuple(held))

    def _said(self) -> dict[str, str]:
        moment, shown, pace = self.state.moment, self.shown, self.status.pace
        agent = self.session.partners or self.session.game.agent
        hinted = "; your hint goes with the next turn" if self.status.hints else ""
        doing = f"{agent} is deciding{hinted}"
        patience = "" if self.status.patience is None else f" · goes on after {self.status.patience:g} s, unless you type"
        if self.session.reply.trouble:
            doing = f"{agent} tries again; the model {self.session.reply.trouble}"
        elif words := live_screen.end_of(self.session.reply.heard, LONGEST_HEARD):
            doing = f"{agent}: {words}"
        # Beside a story there is no other place to say why there is no game.
        over, word = moment.ended, "round" if self.session.game.beside else "turn"
        closed = self.status.trouble if moment.last or not self.session.own else ""
        return {
            "agent": agent,
            "at": f"{moment.turn + 1} of {moment.started.max_turns}{patience}" if moment.started else "",
            "closed": closed or "there is no game to play here",
            "doing": doing,
            "ended": f": {OUTCOME_WORDS[over.outcome].partition(' ')[2]} {plural(over.turns, word)}" if over else "",
            "failure": self.status.failure or moment.failure or "",
            "hinted": hinted,
            "past": f"{self.moment.turn} of {shown.moment.turn}{'' if shown is self.state else ' of another branch'}",
            "proposal": f"{moment.proposal or ''}{' (the same again)' if self.status.repeated else ''}",
            "speed": "as fast as it goes" if pace > 50 else f"at most {pace:g} turn{'' if pace == 1 else 's'} a second",
        }


class Guide(Equipped, Widget):
    """Leads through somebody's first game: a step for each turn, or until it is left. ``hints``: the agent hears them."""

    BORDER_TITLE = "Your first game"
    BORDER_SUBTITLE = "i ends this guide"

    _step = 0

    def __init__(self, *, hints: bool) -> None:
        super().__init__()
        self._steps: list[str] = [*TEACHING["guide"]]
        if not hints:
            self._steps[_HINT_STEP] = TEACHING["without_hints"]

    def show(self, turn: int | None) -> None:
        """Show the step after ``turn`` commands; None: the game is over."""
        if turn is None or turn >= len(self._steps):
            self.display = False
        elif turn != self._step:
            self._step = turn
            self.refresh(layout=True)

    def render(self) -> Content:
        return Content(f"{self._step + 1}/{len(self._steps)}  {self._steps[self._step]}")


class PlayScreen(live_screen.PaneScreen, live_screen.LiveScreen, keys="play"):
    """Plays a game, or continues the record ``resume``; ``guided`` leads through a first game, stopping at each turn."""

    AUTO_FOCUS = "Story"

    def __init__(self, game: ChosenGame, mode: PlayMode = "watch", resume: Path | None = None, guided: bool = False) -> None:
        hints = game.hears_hints
        super().__init__(game, hints=hints)
        self._mode: PlayMode = "step" if guided else mode
        self._guide = Guide(hints=hints)
        self._guide.display = guided
        self._resume = resume
        self._begin(game)
        self._waiting: Waiting = "opening"
        self._since = monotonic()
        alone = self.session.human
        teaching = TEACHING["together" if game.beside else "alone" if alone else self.session.status.mode]
        prices = game.settings.prices_of(game.model) if game.model else None
        self.panes = EpisodePanes(teaching, prices, (game.world, game.task), alone=alone and not game.beside)
        self.view = self.panes.view
        self.enacted = ""
        self._queued = (-1, "")  # the turn after which a command waits for the next one
        self._shares: tuple[str, ...] = ()
        for key in world_keys(game.world.info.keys):
            self._bindings.bind(key.key, key.action, key.description, key.show, key.key_display)

    def compose(self) -> ComposeResult:
        yield self.panes
        yield self._guide
        yield from self.compose_controls()

    def on_mount(self) -> None:
        if self._guide.display:
            self._remember_guide()
        self.set_interval(0.25, self._show_prompt)  # what the model says comes some tokens a second

    def _begin(self, game: ChosenGame) -> None:
        self.play_state = GameView(self.new_session(game, self._mode, self._resume))  # the game, and what of it is looked at
        self.games = (self.play_state,)
        self.session.typing = lambda: bool(self._line.value)

    def facts(self) -> Mapping[str, object]:
        return {**super().facts(), **self.play_state.facts(), "guide": self._guide.display}

    def prompt(self) -> live_screen.PromptContent:
        return self.play_state.prompt(typing=self._line.has_focus_within)

    def focus_story(self) -> None:
        self.panes.show_pane("story")

    def show(self) -> None:
        view, status = self.play_state, self.session.status
        self.panes.mind.destinations = status.destinations
        watched, acting = view.refusal("true_state") is None, view.refusal("interact") is None
        self.view.glimpses, self.view.pace = self.session.glimpses, status.pace
        self._guide.show(None if status.waiting in {"over", "closed"} else view.state.moment.turn)
        word = "TOGETHER" if view.session.game.beside else _WORDS[status.mode]
        mode = word if status.waiting != "over" else "OVER"
        self.panes.show(view.shown, mode, view.cursor, watched=watched, acting=acting)
        self.panes.ending.show(view.state, self.par, view.failure, self.enacted, self._shares)
        if status.waiting == "closed":
            self.panes.story.teach(status.trouble or "This game is closed.")
        super().show()

    def submit(self, command: str, orders: Directions | None = None) -> None:
        self.play_state.cursor = None
        said = None
        beside = self.session.game.beside
        if beside and command.lower() == HELP:
            forms = forms_of(self._game.world, company=True)
            self.ask(
                PickDialog("What you can type", forms),
                lambda form: self._line.prefill(re.split("[A-Z(]", form)[0]),
            )
            return
        if beside and command not in (self.session.status.possible or ()):
            said = words_in(command, self._game.world.household)
        if said is None:
            if beside and self.session.status.waiting == "deciding":
                turn, (queued, before) = self.play_state.state.moment.turn, self._queued
                instead = f", instead of {before}" if queued == turn and before != command else ""
                self._line.tell(PlayersLine(command, says=f"it is played in your turn{instead}."))
                self._queued = turn, command
            super().submit(command, orders)
        elif said:
            self.session.say(said)
        self._leave_line()

    def ended(self) -> None:
        if self.session.game.beside:
            self._share()
        else:
            self.measure()
        if self.session.game.world.info.enacts:
            self._enact()

    @work(group="shares", exclusive=True)
    async def _share(self) -> None:
        """Say who did what, and then how few rounds it takes."""
        parts = tuple(shares(self.session.told, self.session.me))
        self._shares = parts
        self.show()
        par = await self.in_thread(partial(SharedPar.of, self._game.world, self._game.task))
        self._shares = (*parts, *([par.words] if par.words else []))
        self.show()

    @work(group="enacted", exclusive=True)
    async def _enact(self) -> None:
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

    def steer(self, control: Control) -> str:
        session, waiting = self.session, self.session.status.waiting
        if session.human:
            return super().steer(control)
        session.drop_orders()
        self.play_state.cursor = None
        agent = session.game.agent
        match control:
            case "no" | "undo":
                if (refusal := self.refusal("other")) is not None:
                    return refusal
                session.ask_for_another()
                return f"The {agent} proposes something else."
            case "stop" | "wait":
                session.hold()
                return "It waits: say go on, or press space."
            case "go on":
                session.accept() if waiting == "verdict" else session.proceed()
                return f"The {agent} goes on."
            case "forget":
                session.hint(FORGET)
                return "Your hints are forgotten."

    def on_command_line_hinted(self, message: CommandLine.Hinted) -> None:
        self._leave_line()
        if self.session.game.beside:
            self.session.say(message.text)
            return
        control = (read_alone(message.text) if self.scene is None else read(message.text, self.scene)).control
        if control is not None and self.refusal("take_over") is None:
            self._line.tell(PlayersLine(message.text, says=self.steer(control)))
        elif (refusal := self.refusal("hint")) is not None:
            self.say(refusal)
        else:
            self.session.hint(message.text)

    @work(group="guide")
    async def _remember_guide(self) -> None:
        if trouble := await self.in_thread(remember_guided):
            self.say(trouble)

    def action_end_guide(self) -> None:
        """Take the guide away; it does not come again."""
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
        """Play a command by its key: that takes over, and the person goes on with keys."""
        self.play_state.cursor = None
        self.focus_story()
        self._typing = True  # the line takes no letters from now on
        self.session.set_mode("you")
        self.session.play(command)
        self.show()

    @work(group="interact", exclusive=True)
    async def action_interact(self, choosing: bool) -> None:
        """Do the likeliest with what is in the middle of the picture, or let the person choose what."""
        self._to_present()
        await self.view.settle()
        reach = self.view.reach
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

    def action_patience(self) -> None:
        """Let rounds go on while the person thinks, or wait."""
        self.session.set_patience(PATIENCE if self.session.status.patience is None else None)
        self.show()

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
        self.post_message(OpenScreen(MODES[mode].screen, (replace(self.session.game), mode), instead=True))

    def action_teach(self) -> None:
        teach(self, self.play_state.moment, self.session.record)

    def action_model(self) -> None:
        models = load_recent().recent.used(self.session.game.model or "").models
        about = f"A model is named {model_forms()}."
        self.ask(PickDialog("Another model", models, free=True, about=about), self._change_model)

    @work(group="partner", exclusive=True)
    async def action_partner(self) -> None:
        """Begin this task anew beside an agent that the person picks."""
        game = self.session.game
        names = await self.in_thread(partial(able_agents, game.world, game.settings))
        about = "The task begins anew; this game is kept as far as it went."
        self.ask(PickDialog("Play beside another agent", names, about=about), self._play_beside)

    def _play_beside(self, agent: str) -> None:
        game = self.session.game
        settings = game.settings.model_copy(update={"agent": agent, "set": {}})
        self.post_message(OpenScreen("play", (replace(game, agent=agent, settings=settings), self._mode), instead=True))

    async def action_retry(self) -> None:
        if self.session.status.waiting == "closed":
            await self._restart(replace(self.session.game))
        else:
            self.session.proceed()

    @work(group="next", exclusive=True)
    async def action_next(self) -> None:
        self.awaited = "Another game is being looked for."
        try:
            game = await self.in_thread(partial(next_game, self.session.game))
        except HousequestError as error:
            self.awaited = ""
            self.notify(str(error), severity="warning", markup=False)
        else:
            self.post_message(OpenScreen("play", (game, self._mode), instead=True))

    async def _restart(self, game: ChosenGame) -> None:
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
        if self.session.status.mode != "you" or self.session.game.world.info.keys:
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
