"""Turns what a person chose, or a record, into a game, and finds whatever would stop it at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from pydantic import ValidationError

from housequest.agent.agents.spec import default_agent
from housequest.agent.config import Settings, pairs
from housequest.agent.episodes.events import Started
from housequest.agent.models.registry import DEFAULT_MODEL, parse_models, portable_name
from housequest.agent.setup import read_rules
from housequest.knowledge.rulebook import SUFFIX
from housequest.tui.home.catalogue import Catalogue, PlayerChoice, RecentChoices, RecordedGame, settings_in
from housequest.tui.play.game import GameConfig
from housequest.worlds.base import Task
from housequest.worlds.errors import ConfigurationError, HousequestError, shown
from housequest.worlds.registry import world_class


def make_game(catalogue: Catalogue, task: Task, player: PlayerChoice) -> GameConfig:
    """The game of ``task`` with ``player``. Raises a ``HousequestError`` if it cannot begin."""
    settings = settings_in(task.world, catalogue.settings)
    chosen = {
        "agent": player.agent,
        "model": player.model.strip() or None,
        "rules": player.rules.strip() or None,
        "grant": player.grants,
        "set": {**settings.set, **pairs(player.set.split(), "set")},
    }
    try:
        settings = Settings.model_validate({**settings.model_dump(), **chosen})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        reason = first["msg"].removeprefix("Value error, ")
        raise ConfigurationError(f"The {first['loc'][0]} {shown(first['input'])} cannot be used: {reason}.") from None
    return _checked(catalogue, task, settings)


def resume_game(catalogue: Catalogue, record: RecordedGame, settings: Settings, recent: RecentChoices) -> GameConfig:
    """The unfinished game of ``record``, as it was configured. Raises a ``HousequestError`` if it cannot go on."""
    if record.started is None:
        raise ConfigurationError(record.fault)
    settings = settings_for(record.started, settings, recent)
    return _checked(catalogue, catalogue.world(settings).task(record.started.task), settings)


def _checked(catalogue: Catalogue, task: Task, settings: Settings) -> GameConfig:
    agent = settings.agent or default_agent(settings.model, settings.world)
    game = GameConfig(catalogue.world(settings), task, agent, settings)
    check_game(game)
    return game


def check_game(game: GameConfig) -> None:
    """Raise a ``HousequestError`` if ``game`` cannot begin. Nothing is called, and nothing stays open."""
    setup = game.setup()
    if game.settings.rules and setup.rules is None:
        read_rules(game.settings.rules)  # a wrong name is an error, even if the agent takes no rules
    if setup.model is not None:
        if {each.kind for each in parse_models(setup.model).values()} & {"builtin", "scripted"}:
            setup.make_model()
    elif game.agent == "expert":
        game.world.expert(**setup.episode.settings)
    if game.world.inline:
        setup.open(game.task).close()


def settings_for(started: Started, settings: Settings, recent: RecentChoices) -> Settings:
    """The settings that an unfinished game began with; a model or rules that are not found raise ``ConfigurationError``."""
    model, rules = started.model, started.rules
    if model is not None:
        fault = f"This game was played with {model}: press m, name it with its address or options, and try again."
        names = (settings.model, *recent.models, DEFAULT_MODEL)
        model = _found(names, lambda name: portable_name(name) == started.model, fault)
    if rules is not None:
        book = rules.partition("@")[0]
        fault = f"This game was told the rules in {book}: press b, name that file, as it was, and try again."
        names = (settings.rules, recent.rules, book.removesuffix(SUFFIX))
        rules = _found(names, lambda name: read_rules(name).label == started.rules, fault)
    here = settings_in(started.world, settings)
    engine = "textworld" if started.engine.startswith("textworld") else "native"
    options = {"engine": engine, **world_class(started.world).options_of(started.engine)}
    values = {
        **here.model_dump(),
        "engine": options.pop("engine"),
        "world_option": {**here.world_option, **options},
        "goals": started.wording,
        "agent": started.agent,
        "model": model,
        "rules": rules,
        "rules_budget": started.rules_budget or settings.rules_budget,
        "grant": started.grants,
        "max_steps": started.max_turns,
        "seed": started.seed,
        "set": {key: value for key, value in started.settings.items() if value is not None},
    }
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        key = error.errors(include_url=False)[0]["loc"][0]
        raise ConfigurationError(f"This game cannot go on: its record has a {key} that nothing can be played with.") from None


def _found(names: Iterable[str | None], fits: Callable[[str], bool], fault: str) -> str:
    """The first of ``names`` that can be read and ``fits``. Raises ``ConfigurationError`` with ``fault``."""
    for name in filter(None, names):
        with suppress(HousequestError):
            if fits(name):
                return name
    raise ConfigurationError(fault)
