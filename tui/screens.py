"""The screens by name, and the ways to play that they bring. A screen is imported when it is shown.

All else about a screen is in its folder: its keys, with the groups of the palette that they belong to, are in its class. Where
games are played on it, ``MODES`` in the folder's ``__init__`` are the ways to do so; it is then made from the game, the name of
the mode, and the record to continue or None.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from housequest.tui.base_screen import AppScreen
    from housequest.tui.play.game import GameConfig

SCREENS = {
    "home": "housequest.tui.home.screen:HomeScreen",
    "play": "housequest.tui.play.screen:PlayScreen",
    "race": "housequest.tui.race.screen:RaceScreen",
    "replay": "housequest.tui.replay.screen:ReplayScreen",
    "runs": "housequest.tui.runs.screen:RunsScreen",
    "books": "housequest.tui.desk.books_screen:BooksScreen",
    "desk": "housequest.tui.desk.screen:DeskScreen",
}
"""Where the class of each screen is, in the order of the reference."""


@dataclass(frozen=True, slots=True)
class GameMode:
    """A way to play a game, which home offers.

    ``key`` chooses it there and ``title`` names that key, ``tooltip`` says what it does, ``about`` what one does in it;
    ``sentence`` what comes of it, of an ``{agent}`` and a ``{game}``. ``again`` is the tooltip of the same key in another game,
    which is then played so from its beginning; empty where there is no such key. ``resumes``: a game that broke off goes on so.
    """

    name: str
    key: str
    title: str
    tooltip: str
    about: str
    sentence: str
    again: str = ""
    resumes: bool = True


def screen_class(name: str) -> type[Any]:
    module, _, attribute = SCREENS[name].partition(":")
    return getattr(import_module(module), attribute)


@cache
def _screens_by_mode() -> dict[GameMode, str]:
    folders = {name: place.rpartition(".")[0] for name, place in SCREENS.items()}
    return {mode: name for name, folder in folders.items() for mode in getattr(import_module(folder), "MODES", ())}


def game_modes() -> tuple[GameMode, ...]:
    return tuple(_screens_by_mode())


def screen_for(mode: str) -> str:
    """The name of the screen on which games are played in ``mode``."""
    return next(screen for each, screen in _screens_by_mode().items() if each.name == mode)


def game_screen(game: GameConfig, mode: str, resume: Path | None = None) -> AppScreen:
    """The screen on which ``game`` is played in ``mode``; ``resume`` is the record of an unfinished game to continue."""
    return screen_class(screen_for(mode))(game, mode, resume)
