"""The screen's frame: themes, the palette, and which screen follows which message. It decides nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.actions import parse
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from tui import theme
from tui.background import aside
from worlds.errors import HousequestError

if TYPE_CHECKING:
    from tui.desk.books_screen import BooksScreen
    from tui.desk.screen import DeskScreen
    from tui.desk.teaching import TaughtStep, Teach
    from tui.home.screen import HomeScreen
    from tui.play.game import GameConfig, Mode
    from tui.play.screen import PlayScreen
    from tui.race.screen import RaceScreen
    from tui.runs.screen import RunsScreen

Start = Callable[[], Screen[Any]]

RUNS = Path("runs")


class HousequestApp(App[None]):
    """``start`` makes the first screen, ``home`` the one that leaving it leads to; without one, leaving it ends the app."""

    TITLE = "housequest"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True),
        Binding("ctrl+l", "lamp", "Light or dark", show=False),
    ]

    def __init__(self, start: Start, home: Start | None = None) -> None:
        super().__init__()
        # Before any screen is made: their style sheets name the themes' variables.
        theme.register(self)
        self.animation_level = "none"
        self._start = start
        self._home = home

    def on_mount(self) -> None:
        """Put on the theme, and show the first screen."""
        self.theme = theme.LIGHT if _light(os.environ.get("COLORFGBG", "")) else theme.DARK
        self.push_screen(self._start())

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the palette lists: every key that holds on ``screen``, and what the app itself can do."""
        told: set[str] = set()
        for key in Binding.make_bindings(screen.BINDINGS):
            space, name, parameters = parse(key.action)
            holds = space != "app" and key.action not in told and screen.check_action(name, parameters)
            if key.description and holds:
                told.add(key.action)
                run = partial(self.run_action, key.action, screen)
                yield SystemCommand(key.description, f"key {self.get_key_display(key)}", run)
        if "rules" not in told and not self._curating():
            yield SystemCommand("Rules: the curator's desk", "Sit down at a rulebook", self.on_home_screen_open_rules)
        yield SystemCommand("Light or dark", "Change the colours", self.action_lamp)
        yield SystemCommand("Keys", "Show or hide all keys", self._toggle_keys)

    def _curating(self) -> bool:
        from tui.desk.books_screen import BooksScreen
        from tui.desk.screen import DeskScreen

        return any(isinstance(screen, BooksScreen | DeskScreen) for screen in self.screen_stack)

    def action_lamp(self) -> None:
        """Change between light and dark."""
        self.theme = theme.DARK if self.theme == theme.LIGHT else theme.LIGHT

    def on_home_screen_chosen(self, message: HomeScreen.Chosen) -> None:
        """Play."""
        self._play(message.game, message.mode, message.resume)

    def on_home_screen_open_replay(self, message: HomeScreen.OpenReplay) -> None:
        """Show a recorded game."""
        self._replay(message.path)

    def on_home_screen_open_runs(self) -> None:
        """Show the runs."""
        from tui.runs.screen import RunsScreen

        self.push_screen(RunsScreen(RUNS))

    def on_home_screen_open_rules(self) -> None:
        """Show the rulebooks."""
        from tui.desk.books_screen import BooksScreen

        self.push_screen(BooksScreen())

    def on_runs_screen_open_rules(self) -> None:
        """Show the rulebooks."""
        self.on_home_screen_open_rules()

    def on_books_screen_chosen(self, message: BooksScreen.Chosen) -> None:
        """Curate a rulebook."""
        from tui.desk.screen import DeskScreen

        self.push_screen(DeskScreen(message.opened.book, RUNS, shipped=message.opened.shipped))

    def on_books_screen_left(self) -> None:
        """Leave the rulebooks."""
        self._leave()

    def on_teach(self, message: Teach) -> None:
        """Make a rule of what happened in a game."""
        self.run_worker(self._teach(message.lesson), group="teach", exclusive=True)

    def on_play_screen_open_replay(self, message: PlayScreen.OpenReplay) -> None:
        """Show the game again."""
        self._replay(message.path)

    async def on_play_screen_next(self, message: PlayScreen.Next) -> None:
        """Play another task like the one that was played."""
        from tui.play.game import another

        self.run_worker(partial(self._next, partial(another, message.game), message.mode), group="next", exclusive=True)

    def on_play_screen_race(self, message: PlayScreen.Race) -> None:
        """Play the task oneself, beside the agent."""
        self._play(message.game, "race", instead=True)

    def on_play_screen_left(self) -> None:
        """Leave a game."""
        self._leave()

    def on_race_screen_left(self) -> None:
        """Leave a race."""
        self._leave()

    def on_race_screen_open_replay(self, message: RaceScreen.OpenReplay) -> None:
        """Show one of the games again."""
        self._replay(message.path)

    def on_replay_screen_left(self) -> None:
        """Leave a recorded game."""
        self._leave()

    def on_runs_screen_left(self) -> None:
        """Leave the runs."""
        self._leave()

    def on_runs_screen_open_episode(self, message: RunsScreen.OpenEpisode) -> None:
        """Show a recorded episode of a run."""
        self._replay(message.path)

    def on_desk_screen_left(self) -> None:
        """Leave the desk."""
        self._leave()

    def on_desk_screen_open_step(self, message: DeskScreen.OpenStep) -> None:
        """Show a recorded episode at a step of it."""
        self._replay(message.path, message.event)

    def _play(self, game: GameConfig, mode: Mode, resume: Path | None = None, *, instead: bool = False) -> None:
        screen = screen_of(game, mode, resume)
        if instead:
            self.switch_screen(screen)  # pyright: ignore[reportUnknownMemberType]
        else:
            self.push_screen(screen)

    def _replay(self, path: Path, at: int | None = None) -> None:
        from tui.replay.screen import ReplayScreen

        self.push_screen(ReplayScreen(path, at=at))

    async def _teach(self, lesson: TaughtStep) -> None:
        from tui.desk.teaching import dialog_for

        def told(saved: bool | None) -> None:
            if saved:
                self.notify("Saved as a candidate, for you to judge at the desk.", title="Taught", markup=False)

        try:
            self.push_screen(await dialog_for(lesson, RUNS), told)
        except (HousequestError, OSError) as error:
            self.notify(str(error), severity="warning", markup=False)

    async def _next(self, another: Callable[[], GameConfig], mode: Mode) -> None:
        try:
            self._play(await aside(another), mode, instead=True)
        except HousequestError as error:
            self.notify(str(error), severity="warning", markup=False)

    def _leave(self) -> None:
        """Back to the screen before; from the first one home, or out."""
        if len(self.screen_stack) > 2:
            self.pop_screen()
        elif self._home is not None:
            home, self._home = self._home, None
            self.switch_screen(home())  # pyright: ignore[reportUnknownMemberType]
        else:
            self.exit()

    def _toggle_keys(self) -> None:
        if self.screen.query("HelpPanel"):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()


def screen_of(game: GameConfig, mode: Mode, resume: Path | None = None) -> Screen[None]:
    """The screen on which ``game`` is played; ``resume`` is the record of one that goes on."""
    if mode == "race":
        from tui.race.screen import RaceScreen

        return RaceScreen(game)
    from tui.play.screen import PlayScreen

    return PlayScreen(game, mode, resume)


def _light(colours: str) -> bool:
    """Whether a terminal that says so in ``COLORFGBG`` ("foreground;background", numbered) has a light background."""
    return colours.rpartition(";")[2] in {"7", "15"}
