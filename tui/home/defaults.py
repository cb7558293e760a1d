"""From what a person chose to a game that can be played: whatever would break it off at once is found here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from agent.config import Settings
    from tui.home.catalogue import Catalogue
    from tui.home.recent import RecentChoices, RecordedGame
    from tui.play.game import GameConfig
    from worlds.base import Task


@dataclass(frozen=True, slots=True)
class PlayerChoice:
    """Who plays, as it was typed: empty texts are no choice. ``rules`` is a file."""

    agent: str
    model: str = ""
    rules: str = ""
    grants: tuple[str, ...] = ()


def make_game(catalogue: Catalogue, task: Task, player: PlayerChoice) -> GameConfig:
    """The game of ``task`` with ``player``. Raises a ``HousequestError`` where it could not begin."""
    from pydantic import ValidationError

    from agent.config import Settings
    from worlds.errors import shown

    chosen = {
        "agent": player.agent,
        "model": player.model.strip() or None,
        "rules": player.rules.strip() or None,
        "grant": player.grants,
    }
    try:
        settings = Settings.model_validate({**catalogue.settings(task.world).model_dump(), **chosen})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        reason = first["msg"].removeprefix("Value error, ")
        raise ConfigurationError(f"The {first['loc'][0]} {shown(first['input'])} cannot be used: {reason}.") from None
    return _checked(catalogue, task, settings)


def resume_game(catalogue: Catalogue, record: RecordedGame, settings: Settings, recent: RecentChoices) -> GameConfig:
    """The game that broke off as ``record``, under the terms it began with. Raises a ``HousequestError``."""
    from tui.home.recent import settings_for

    if record.started is None:
        raise ConfigurationError(record.fault)
    settings = settings_for(record.started, settings, recent)
    return _checked(catalogue, catalogue.world(settings).task(record.started.task), settings)


def _checked(catalogue: Catalogue, task: Task, settings: Settings) -> GameConfig:
    from agent.agents.registry import default_agent
    from tui.play.game import GameConfig

    game = GameConfig(
        catalogue.world(settings), task, settings.agent or default_agent(settings.model, settings.world), settings
    )
    check(game)
    return game


def check(game: GameConfig) -> None:
    """Raises a ``HousequestError`` where ``game`` could not begin. Nobody is called, and nothing stays open."""
    setup = game.setup()
    if setup.model is not None:
        setup.make_model()
    elif game.agent == "expert":
        game.world.expert(**setup.episode.settings)
    if game.world.inline:
        setup.open(game.task).close()
