"""Home: what to play, who plays it and how; one line says what Enter does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from random import randrange

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
from housequest.tui.screens import MODES, GameMode
from housequest.tui.text import one_line, printable
from housequest.tui.widgets.keybar import KeyBar
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.registry import info_of

SETTLED = 0.5
"""Seconds after which a game that was left has been put away."""
LONGEST = 400
"""Characters of what is said of a game."""
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
        self._places = [catalogue.GameSource("made-up", DEFAULT_WORLD)]
        self._fault = ""
        self._unloadable = ""
        self._preselected: tuple[catalogue.PlayerChoice, GameMode] | None = None
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
            "model": who.ready and "model" in who.agent.needs,
            "settings": lambda: who.ready and who.settings,
            **{kind: any(place.kind == kind for place in self._places) for kind in ("unfinished", "played")},
        }

    @work
    async def _begin(self) -> None:
        remembered = await self.in_thread(catalogue.load_recent)
        self._who.offer(await self.in_thread(self._agents))
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
        # By a camera, the expert can only do again what somebody showed, which nobody has in a made-up house.
        alone = settings.agent == "human" or (info_of(settings.world).pictured and agent is None and not settings.model)
        self._who.preselect(player, "you" if alone else recent.mode, recent.models)
        self._preselected = (self._who.player, self._who.mode)

    async def _recount(self) -> None:
        """List the sources again; known counts are kept."""
        try:
            found = await self.in_thread(self._catalogue.places)
        except HousequestError as error:
            self.say(str(error))
            return
        known = {place.key: place.count for place in self._places}
        self._places = [replace(place, count=known.get(place.key)) if place.count is None else place for place in found]
        self._sources.show(self._places, self._games.place)
        self._tell()
        if self._games.place.of_records and not self._games.busy:
            row = self._games.row
            self._open(self._games.place, row.key if row else "")

    def _open(self, place: catalogue.GameSource, key: str = "") -> None:
        """Show ``place``, with the cursor on the game ``key``."""
        self._at = ""
        self._games.open(place)
        self._sources.show(self._places, place)
        self.say("")
        self._load(place, key)

    @work(group="games", exclusive=True)
    async def _load(self, place: catalogue.GameSource, key: str) -> None:
        try:
            if place.kind == "made-up":
                # One house is quickly made, and enough to begin with.
                seed = key.removeprefix(f"{place.split}:")
                await self._make_up(int(seed) if seed.isdecimal() else catalogue.first_seed(place))
                self._have_listed()
            listing = await self.in_thread(partial(self._catalogue.games, place))
        except HousequestError as error:
            self._games.give_up()
            self._have_listed()
            self.say(str(error))
            return
        if place.kind != "made-up":
            count = len(listing.rows)
            self._places = [replace(each, count=count) if each.key == place.key else each for each in self._places]
            self._sources.show(self._places, place)
        self._games.fill(listing, key)
        self._have_listed()

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
        self._fault = note
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
        goal = Content.styled(one_line(row.text, LONGEST), "bold")
        if row.record is not None:
            if row.record.live:
                return Content.assemble(f"watches it, for it is {catalogue.LIVE}: ", goal)
            if row.record.started is None:
                return Content.assemble("does nothing, for this record is damaged: ", goal)
            return Content.assemble("goes on with it: " if row.record.unfinished else "shows it again: ", goal)
        agent, game = self._who.agent.name, printable(row.key)
        return Content.assemble(self._who.mode.sentence.format(agent=agent, game=game), goal)

    def _advice(self) -> Content:
        row = self._games.row
        advice = "tab goes from field to field, and the arrow keys move in each"
        if row and row.record:
            advice = one_line(row.aside, LONGEST)
        elif row and row.task:
            agent, model = self._who.agent.name, self._who.player.model
            try:  # the model that is named, or the one that ships
                spec.model_for(agent, model or None, row.task.world)
            except ConfigurationError:
                other = "another" if model else "a"
                advice = f"{agent} needs {other} language model: m names one, a takes another agent"
        return Content.styled(advice, "$quiet")

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
        self._tell()

    @on(GameList.Picked)
    def action_start(self) -> None:
        row = self._games.row
        if self._who.editing:
            self._games.list.focus()
        elif row and row.record and row.record.started and not row.record.unfinished:
            self.post_message(OpenScreen("replay", (row.record.path,)))
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
        from housequest.tui.play.game import make_game, resume_game

        self.say("")
        player, mode = self._who.player, self._who.mode.name
        record, task, place = row.record, row.task, self._games.place
        recent = self._recent.used(self._who.model)
        try:
            if record is not None and record.unfinished and await self.in_thread(partial(is_played, record.path)):
                self.post_message(OpenScreen("replay", (record.path,), awaited=True))
                return
            if record is not None:
                known = replace(recent, rules=player.rules or recent.rules)
                game = await self.in_thread(lambda: resume_game(self._catalogue, record, self._settings, known))
            else:
                assert task is not None
                game = await self.in_thread(lambda: make_game(self._catalogue, task, player))
        except HousequestError as error:
            self.awaited = ""
            self.say(str(error))
            return
        if record is None:
            said = (place.world, place.split, row.key, player.agent, mode, player.rules, player.grants)
            chosen = self._recent = catalogue.RecentChoices(*said, self._recent.used(player.model).models)

            def keep() -> str:
                now = catalogue.load_recent().recent  # what the View shows is chosen during games
                return catalogue.save_recent(replace(chosen, view=now.view, camera=now.camera))

            self.say(await self.in_thread(keep))
        elif not self._who.mode.resumes:
            mode = "watch"
        game.record, game.speed = self._record, self._speed
        guided, self._newcomer = self._newcomer and mode == "watch", False
        arguments = (game, mode, record.path if record else None, *([True] if guided else []))
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

    def action_edit(self, field: str) -> None:
        self._who.lines[field].focus()

    def action_grants(self) -> None:
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
