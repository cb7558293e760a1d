"""The screens by name, and the ways to play on them, as ``screens.toml`` lists both. A screen is imported when it is shown."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from housequest.tui.base_screen import AppScreen
    from housequest.tui.play.game import ChosenGame

_TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SCREENS: dict[str, str] = _TABLES["screens"]


class GameMode(NamedTuple):
    """A way to play a game on a ``screen``, which home offers.

    ``about`` describes it, ``sentence`` the game of an ``{agent}`` and a ``{game}``; its keys are in ``keys.toml``.
    ``resumes``: an unfinished game can be resumed in it.
    """

    name: str
    screen: str
    about: str
    sentence: str
    resumes: bool = True


TOGETHER = "together"
"""The mode in which a person and an agent play in one house."""
MODES = {name: GameMode(name, **mode) for name, mode in _TABLES["modes"].items()}


def screen_class(name: str) -> type[Any]:
    module, _, attribute = SCREENS[name].partition(":")
    return getattr(import_module(module), attribute)


def game_screen(game: ChosenGame, mode: str, resume: Path | None = None) -> AppScreen:
    """The screen on which ``game`` is played in ``mode``; ``resume`` is the record of an unfinished game to continue."""
    return screen_class(MODES[mode].screen)(game, mode, resume)
