"""Home: what to play, who plays it and how; one line says what Enter does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from importlib import import_module
from random import randrange
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from housequest.agent.agents import spec
from housequest.agent.config import DEFAULT_WORLD, Settings
from housequest.tui.base_screen import AppScreen, OpenScreen
from housequest.tui.home import catalogue
from housequest.tui.home.games import GameBrowser, GameList, PlayerPanel, SourceList
from housequest.tui.keymap import keys_of
from housequest.tui.screens import MODES, TOGETHER, GameMode
from housequest.tui.text import one_line, plural, printable
from housequest.tui.widgets.keybar import KeyBar
from housequest.worlds.errors import ConfigurationError, HousequestError

if TYPE_CHECKING:
    from housequest.worlds.base import World

SETTLED = 0.5
"""Seconds after which a game that was left has been put away."""
LONGEST = 400
"""Characters of what is said of a game."""
_TIPS = {
    False: "o shows more houses and all settings; tab goes from field to field",
    True: "o shows less; tab goes from field to field",
}
_KEYS = {"model": "m", "grant": "g", "rules": "b", "set": "x", "agent": "a"}
_OPTION = re.compile(rf"--({'|'.join(_KEYS)})\b")
"""Options in a command's errors, and home's keys for them."""
_LISTING = "The games are being listed."
_WANTED = "The game starts once it is listed."


class HomeScreen(AppScreen, keys="home"):
    """Chooses a game. The ``settings`` preselect what they name; recent choices fill the rest.

    ``record`` and ``speed`` are handed on to each ``housequest.tui.play.game.ChosenGame``. The first game that a ``newcomer``
    watches is a guided one.
    """

    TAKES_LATE = frozenset(("start",))

    def __init__(self, settings: Settings, *, record: bool = True, speed: float | None = None, newcomer: bool = False) -> None:
        super().__init__()
        self._newcomer = newcomer
        self._settings = settings
        self._record = record
        self._speed = speed
        self._catalogue = catalogue.Catalogue(settings)
        self._recent = catalogue.RecentChoices()
        # Neither the default world nor the agents are loaded before the screen is seen for the first time.
        self._places = [catalogue.before_worlds()]
        self._fault = ""
        self._unloadable = ""
        self._preselected: tuple[catalogue.PlayerChoice, GameMode] | None = None
        self._every: list[spec.AgentSpec] = []
        self._wanted = ""  # the chosen agent, even if it cannot play
        self._mode = ""  # the chosen mode, while the games have their own
        self._more = False
        self._visited: set[str] = set()
        self._world: World | None = None
        self._asked: object = None  # the last conditions for who can play
        self._suited = ""  # the source of these conditions
        self._at = ""
        self._sources = SourceList(id="places")
        self._games = GameBrowser(self._places[0], id="games")
        self._who = PlayerPanel(id="who")
        self.awaited = _LISTING

    def compose(self) -> ComposeResult:
        yield Horizontal(self._sources, self._games, id="what")
        yield self._who
        yield Static(id="enter")
        yield KeyBar(None, ("app.command_palette", "quit"), tuple(keys_of("home_line")))

    def _agents(self) -> list[spec.AgentSpec]:
        """The agents but the person, who plays by the mode, those that need nothing first; what cannot be loaded is said."""
        found: list[spec.AgentSpec] = []
        for name in spec.agent_names():
            try:
                agent = spec.agent_spec(name)
                spec.resolve_settings(name, {})
            except HousequestError as error:
                self._unloadable = str(error)
            else:
                found += [agent] if name != "human" else []
        return sorted(found, key=lambda agent: "model" in agent.needs or "admissible" in agent.needs)

    def on_mount(self) -> None:
        self._games.list.focus()
        self._tell()
        # Not before the screen is seen: loading the worlds and the agents would keep the processor from drawing it.
        self.call_after_refresh(self._begin)

    def on_screen_resume(self) -> None:
        if not self._games.busy:
            look_again = partial(self.run_worker, self._recount, group="places", exclusive=True)
            look_again()
            # A game that was left is recorded to its end a moment after this screen is back.
            self.set_timer(SETTLED, look_again)

    def facts(self) -> Mapping[str, object]:
        typing, who = isinstance(self.focused, Input), self._who
        return {
            "name": who.ready and who.agent.name,
            "away": typing or self._games.search.value,
            "games": not typing,
            "types": len(self._games.types.words) > 1,
            "settings": lambda: who.ready and who.settings,
            **{kind: any(place.kind == kind for place in self._places) for kind in ("unfinished", "played")},
        }

    @work
    async def _begin(self) -> None:
        remembered = await self.in_thread(catalogue.load_recent)
        self._every = await self.in_thread(self._agents)
        self._who.offer(self._every, "")
        recent = self._recent = remembered.recent
        self._preselect(recent)
        await self._recount()
        # First the configured world and split, else where a game was chosen last.
        world, split = self._settings.world, self._settings.split
        if split is None and world == DEFAULT_WORLD and recent.world:
            world, split = recent.world, recent.split
        there = (place for place in self._places if place.world == world and split in {place.split, None})
        self._open(next(there, None) or catalogue.first_source(), recent.task)
        if remarks := [*filter(None, (remembered.remark, self._catalogue.fault, self._unloadable))]:
            self.say(" ".join(remarks))

    def _preselect(self, recent: catalogue.RecentChoices) -> None:
        settings = self._settings
        agent = settings.agent if settings.agent != "human" else None
        chosen = recent.agent if recent.agent in spec.agent_names() else spec.default_agent(None, settings.world)
        usual = spec.DEFAULT_AGENT if settings.model else chosen
        grants = settings.grant or recent.grants
        player = catalogue.PlayerChoice(agent or usual, settings.model or "", settings.rules or recent.rules, grants)
        models = [name for name in recent.models if catalogue.is_model(name)]
        self._who.preselect(
            player, "you" if settings.agent == "human" else recent.mode if recent.mode in MODES else "watch", models
        )
        self._preselected = (self._who.player, self._who.mode)
        self._wanted = self._who.agent.name
        self._who.offer([self._who.agent], self._wanted)  # the others follow once home knows who can play here

    @property
    def offered(self) -> list[catalogue.GameSource]:
        """The listed sources: those for somebody who wants a house, those looked at, or all."""
        own = {self._settings.world} - {DEFAULT_WORLD}
        return [one for one in self._places if self._more or one.name or one.world in own or one.key in self._visited]

    async def _suit(self) -> None:
        """Offer the agents that can play here, or all of them, and choose the games' mode."""
        place, who = self._games.place, self._who
        self._asked = who.model, who.granted
        self._world = await self.in_thread(partial(self._catalogue.world_at, place))
        able = [agent for agent in self._every if not self._hindrance(agent)]
        offered = self._every if self._more else able or self._every
        names, playing = ([agent.name for agent in agents] for agents in (offered, able or offered))
        stays = self._wanted in (names if self._suited == place.key else playing)
        self._suited = place.key
        if place.mode:
            self._mode = self._mode or who.mode.name
        who.modes.offer(list(MODES), place.mode or self._mode or who.mode.name)
        self._mode = self._mode if place.mode else ""
        who.offer(offered, self._wanted if stays else playing[0])
        self._preselected = (who.player, who.mode)
        self._tell()

    def _hindrance(self, agent: spec.AgentSpec) -> str:
        """A sentence on why ``agent`` cannot play these games, if their world is known; else ""."""
        if self._world is None:
            return ""
        return catalogue.hindrance(agent, self._world, self._who.model, self._who.granted)

    async def _recount(self) -> None:
        """List the sources again; known counts are kept."""
        try:
            found = await self.in_thread(self._catalogue.places)
        except HousequestError as error:
            self.say(str(error))
            return
        known = {place.key: place.count for place in self._places}
        self._places = [replace(place, count=known.get(place.key)) if place.count is None else place for place in found]
        self._sources.show(self.offered, self._games.place)
        self._tell()
        if (self._games.place.of_records or self._games.place.kind == "ladder") and not self._games.busy:
            row = self._games.row
            self._open(self._games.place, row.key if row else "")

    def _open(self, place: catalogue.GameSource, key: str = "") -> None:
        """Show ``place``, with the cursor on the game ``key``."""
        self._at = ""
        self._games.open(place)
        self._visited.add(place.key)
        self._sources.show(self.offered, place)
        self.say("")
        self._load(place, key)

    @work(group="games", exclusive=True)
    async def _load(self, place: catalogue.GameSource, key: str) -> None:
        try:
            await self._suit()
            if place.kind == "made-up":
                # One house is quickly made, and enough to begin with.
                seed = key.removeprefix(f"{place.split}:")
                await self._make_up(int(seed) if seed.isdecimal() else catalogue.first_seed(place))
                self._have_listed()
            listing = await self.in_thread(partial(self._listing, place))
        except HousequestError as error:
            self._games.give_up()
            self._have_listed()
            self.say(str(error))
            return
        if place.kind not in {"made-up", "household"}:
            count = len(listing.rows)
            self._places = [replace(each, count=count) if each.key == place.key else each for each in self._places]
            self._sources.show(self.offered, place)
        self._games.fill(listing, key)
        self._have_listed()
        # Whatever is chosen next is drawn, and a person takes longer to choose than this.
        await self.in_thread(partial(import_module, "housequest.tui.episode.view_drawing"))

    def _listing(self, place: catalogue.GameSource) -> catalogue.GameIndex:
        if place.kind == "ladder":
            from housequest.tui.play.ladder import ladder_games

            return ladder_games()
        if place.kind != "daily":
            return self._catalogue.games(place)
        # Not before the first picture.
        from housequest.tui.play.game import daily_game, first_try

        day = date.today()
        tried = first_try(day)
        return self._catalogue.daily(day, daily_game(day).task, tried.record if tried else None)

    def _have_listed(self) -> None:
        """Let keys count, and start the game for who wanted to play before there was one."""
        wanted = self.awaited == _WANTED
        if self.awaited in {_WANTED, _LISTING}:
            self.awaited = ""
        if wanted and self.is_current:  # not over another screen that was opened meanwhile
            self.app.clear_notifications()  # pyright: ignore[reportUnknownMemberType]
            self.action_start()

    def takes_early(self, action: str) -> bool:
        return super().takes_early(action) or (action == "start" and self.awaited == _LISTING)

    async def _make_up(self, seed: int) -> None:
        place = self._games.place
        row = await self.in_thread(lambda: self._catalogue.row(place, seed))
        if place.key == self._games.place.key:
            self._games.put_first(row)

    @on(Input.Changed, "#search")
    def _searched(self, changed: Input.Changed) -> None:
        sought = changed.value.strip()
        if self._games.place.kind == "made-up" and sought.isascii() and sought.isdecimal() and len(sought) < 20:
            self._look_for(int(sought))

    @work(group="seed", exclusive=True)
    async def _look_for(self, seed: int) -> None:
        try:
            await self._make_up(seed)
        except HousequestError as error:
            self.say(str(error))

    def say(self, note: str) -> None:
        self._fault = _OPTION.sub(lambda found: f"the key {_KEYS[found[1]]}", note)
        self._tell()

    def _tell(self) -> None:
        self.refresh_bindings()
        advice = Content.styled(f"! {one_line(self._fault, LONGEST)}", "$fault") if self._fault else self._advice()
        does = Content.assemble(("enter ", "bold $goal"), self._enter_does())
        self.query_one("#enter", Static).update(Content("\n").join([does, advice]))

    def _enter_does(self) -> Content:
        if self._who.editing:
            return Content("takes what you typed and goes back to the games")
        row = self._games.row
        if row is None:
            nothing = "does nothing: there is no game to play here"
            return Content("starts the game once it is listed" if self._games.busy else nothing)
        if row.key == catalogue.OLDER:
            return Content("lists the older games, too")
        goal = Content.styled(one_line(row.text, LONGEST), "bold")
        if row.record is not None:
            if row.record.live:
                return Content.assemble(f"watches it, for it is {catalogue.LIVE}: ", goal)
            if row.record.started is None:
                return Content.assemble("does nothing, for this record is damaged: ", goal)
            return Content.assemble("goes on with it: " if row.record.unfinished else "shows it again: ", goal)
        if row.day is not None:
            return Content.assemble("begins today's house, the same for everyone, in one try: ", goal)
        if row.rung:
            return Content.assemble("plays it for its stars: ", goal)
        agent, game = self._who.agent.name, printable(row.key)
        return Content.assemble(self._who.mode.sentence.format(agent=agent, game=game), goal)

    def _advice(self) -> Content:
        row = self._games.row
        advice = ""
        if row and row.record:
            advice = one_line(row.aside, LONGEST)
        elif row and row.task and row.day is None and not row.rung and self._who.mode.name != "you":
            advice = self._hindrance(self._who.agent)
        if not advice and self._games.place.book:
            advice = f"whoever plays knows what was learned here in {plural(self._games.place.count, 'day')}"
        return Content.styled(advice or _TIPS[self._more], "$quiet")

    @on(OptionList.OptionHighlighted, "SourceList")
    def _place_chosen(self, moved: OptionList.OptionHighlighted) -> None:
        place = next((place for place in self._places if place.key == moved.option_id), self._games.place)
        if place.key != self._games.place.key:
            if self.awaited == _WANTED:
                self.awaited = _LISTING  # It was wanted where another game would have been the first.
            self._open(place)

    @on(PlayerPanel.Changed)
    def _player_changed(self) -> None:
        if not self._who.ready or (self._who.player, self._who.mode) == self._preselected:
            self._tell()  # What was preselected is no answer to what was said.
            return
        self._preselected = None
        self._wanted = self._who.agent.name
        self.say("")

    @on(GameBrowser.Changed)
    def _game_changed(self) -> None:
        row = self._games.row
        if row is not None and not self._games.busy:
            # What was wrong with another game is no more so; that games were listed meanwhile changes nothing.
            self._fault = self._fault if self._at in {"", row.key} else ""
            self._at = row.key
        self._tell()

    def on_descendant_focus(self) -> None:
        if self._world is not None and not self._who.editing and self._asked != (self._who.model, self._who.granted):
            self.run_worker(self._suit(), group="suit", exclusive=True)
        self._tell()

    @on(GameList.Picked)
    def action_start(self) -> None:
        row = self._games.row
        if self._who.editing:
            self._games.list.focus()
        elif row and row.record and row.record.started and not row.record.unfinished:
            self.post_message(OpenScreen("replay", (row.record.path,)))
        elif row is not None and row.key == catalogue.OLDER:
            self._games.unfold()
        elif row is not None:
            self.awaited = "The game is being prepared."
            self._start(row)
        elif self._games.busy:
            self.awaited = _WANTED
            self.notify(_WANTED, markup=False)

    @work(group="start", exclusive=True)
    async def _start(self, row: catalogue.GameRow) -> None:
        # Not on the way to the first picture: it takes the loop of episodes.
        from housequest.agent.episodes.record import is_played
        from housequest.tui.play import ladder
        from housequest.tui.play.game import daily_game, daily_record, make_game, resume_game

        self.say("")
        player, mode = self._who.player, self._who.mode.name if row.day is None else "you"
        record, task, place = row.record, row.task, self._games.place
        resume = record.path if record is not None else None
        recent = self._recent.used(self._who.model)
        try:
            if record is not None and record.unfinished and await self.in_thread(partial(is_played, record.path)):
                self.post_message(OpenScreen("replay", (record.path,), awaited=True))
                return
            if record is not None:
                known = replace(recent, rules=player.rules or recent.rules)
                game = await self.in_thread(lambda: resume_game(self._catalogue, record, self._settings, known))
            elif row.day is not None:
                game = await self.in_thread(partial(daily_game, row.day))
                resume = await self.in_thread(partial(daily_record, row.day))
                mode = TOGETHER if game.beside else "you"
            elif row.rung:
                game = ladder.rungs()[row.rung - 1].game
                await self.in_thread(game.open)
                mode = TOGETHER if game.beside else "you"
            else:
                assert task is not None
                if mode != "you" and not player.model and (fault := self._hindrance(self._who.agent)):
                    raise ConfigurationError(fault)
                beside, player = mode == TOGETHER, player._replace(rules=player.rules or place.book)
                game = await self.in_thread(lambda: make_game(self._catalogue, task, player, beside=beside))
        except HousequestError as error:
            self.awaited = ""
            self.say(str(error))
            return
        if record is None:
            said = (place.world, place.split, row.key, self._wanted, self._mode or mode, self._who.player.rules, player.grants)
            chosen = self._recent = catalogue.RecentChoices(*said, self._recent.used(player.model).models)

            def keep() -> str:
                now = catalogue.load_recent().recent  # what the View shows is chosen during games
                return catalogue.save_recent(replace(chosen, view=now.view, camera=now.camera))

            self.say(await self.in_thread(keep))
        elif game.beside or not self._who.mode.resumes:
            mode = TOGETHER if game.beside else "watch"
        game.record, game.speed = self._record, self._speed
        guided, self._newcomer = self._newcomer and mode == "watch", False
        arguments = (game, mode, resume, *([True] if guided else []))
        self.post_message(OpenScreen(MODES[mode].screen, arguments, awaited=True))

    def action_quit(self) -> None:
        if self.confirmed("q once more leaves housequest."):
            self.app.exit()  # pyright: ignore[reportUnknownMemberType]

    def action_search(self) -> None:
        self._games.search.focus()

    def action_type(self) -> None:
        self._games.types.next()

    def action_random(self) -> None:
        """Go to any of the games listed, or to any made-up house."""
        if self._games.place.kind == "made-up":
            self._games.show_all()
            self._look_for(randrange(catalogue.LARGEST_SEED))
        else:
            self._games.draw()

    async def action_place(self, kind: str) -> None:
        await self._recount()
        if place := next((place for place in self._places if place.kind == kind), None):
            self._games.list.focus()
            self._open(place)

    def action_runs(self) -> None:
        self.post_message(OpenScreen("runs"))

    def action_agent(self) -> None:
        self._who.agents.next()

    def action_more(self) -> None:
        """Show every source and setting, or only those for somebody who wants a house."""
        self._show_more(not self._more)

    def _show_more(self, more: bool) -> None:
        if more == self._more:
            return
        self._more, self._visited = more, {self._games.place.key}
        self._games.list.focus()  # the focused widget may be hidden
        self._who.show_more(more)
        self._sources.show(self.offered, self._games.place)
        self.run_worker(self._suit(), group="suit", exclusive=True)

    def action_edit(self, field: str) -> None:
        self._show_more(True)
        self._who.lines[field].focus()

    def action_grants(self) -> None:
        self._show_more(True)
        self._who.grants.focus()

    def action_mode(self, mode: str) -> None:
        self._who.modes.choose(mode)

    @property
    def leads_out(self) -> bool:
        return False

    def action_leave(self) -> None:
        """Go back to the list of games; there, clear the search."""
        if self._games.list.has_focus:
            self._games.search.value = ""
        self._games.list.focus()
        self.refresh_bindings()

    def action_move(self, by: int) -> None:
        """Move in the list while the search line is typed in."""
        if self._games.search.has_focus:
            self._games.list.action_move(by)

    def action_side(self, id: str) -> None:
        self.query_one(f"#{id}").focus()
