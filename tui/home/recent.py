"""What was chosen last and what was played: a small file and the records in the state folder, read for the home screen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from worlds.errors import ConfigurationError, HousequestError
from worlds.paths import atomic_write, state_folder

if TYPE_CHECKING:
    from agent.config import Settings
    from agent.episodes.events import Ended, Started

FILE_NAME = "recent.json"
LARGEST_FILE = 1 << 16
LONGEST = 4_000
"""Characters of one kept choice; a longer one is not kept."""

MODELS_KEPT = 8
RECORDS_SHOWN = 60


@dataclass(frozen=True, slots=True)
class RecentChoices:
    """The choices that a person made last. An empty text is no choice.

    ``task`` is a reference, ``models`` the models that were played with, the last one first.
    """

    world: str = ""
    split: str = ""
    task: str = ""
    agent: str = ""
    mode: str = ""
    rules: str = ""
    grants: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def used(self, model: str) -> RecentChoices:
        """The same with ``model`` as the one used last."""
        others = (known for known in self.models if known != model)
        return replace(self, models=(model, *others)[:MODELS_KEPT]) if model else self


@dataclass(frozen=True, slots=True)
class LoadedChoices:
    """What was read; ``remark`` says what was wrong with it, in a sentence for a person."""

    recent: RecentChoices = RecentChoices()
    remark: str = ""


def load_recent() -> LoadedChoices:
    """The choices that were kept. A file that is damaged is set aside and named, and nothing is recalled."""
    file = state_folder() / FILE_NAME
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        return LoadedChoices()
    except OSError as error:
        return LoadedChoices(remark=f"{file} cannot be read ({error.strerror}), so nothing is preselected.")
    try:
        return LoadedChoices(_read(content))
    except (ValueError, TypeError, RecursionError):
        spoilt = file.with_name(f"{FILE_NAME}.damaged")
        with suppress(OSError):
            file.replace(spoilt)
        return LoadedChoices(remark=f"{file} was damaged, so nothing is preselected; it is now {spoilt.name}.")


def save_recent(recent: RecentChoices) -> str:
    """Keep the choices for the next time; returns what went wrong, in a sentence for a person, or an empty text."""
    file = state_folder() / FILE_NAME
    try:
        atomic_write(file, json.dumps(asdict(recent), indent=1).encode())
    except OSError as error:
        return f"{file} cannot be written ({error.strerror}), so this choice is not kept."
    return ""


def _read(content: bytes) -> RecentChoices:
    """The choices in ``content``. Raises ``ValueError`` and ``TypeError`` for what is none; keys of later versions pass."""
    if len(content) > LARGEST_FILE:
        raise ValueError("too large")
    found: Any = json.loads(content)
    if not isinstance(found, dict):
        raise TypeError("no object")
    given = {**asdict(RecentChoices()), **cast("dict[str, object]", found)}
    return RecentChoices(
        world=_text(given["world"]),
        split=_text(given["split"]),
        task=_text(given["task"]),
        agent=_text(given["agent"]),
        mode=_text(given["mode"]),
        rules=_text(given["rules"]),
        grants=_list(given["grants"]),
        models=_list(given["models"]),
    )


def _list(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError("no list")
    return tuple(_text(part) for part in cast("Sequence[object]", value)[:MODELS_KEPT])


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    if len(value) > LONGEST or (value and not value.isprintable()):
        raise ValueError("no choice of ours")
    return value


@dataclass(frozen=True, slots=True)
class RecordedGame:
    """One recorded episode as far as it went; ``fault`` says why it cannot be read."""

    path: Path
    started: Started | None = None
    ended: Ended | None = None
    turns: int = 0
    fault: str = ""

    @property
    def unfinished(self) -> bool:
        """Whether the game broke off: its record still has the name of one being written."""
        return self.path.suffix == ".part"


def count_records(*, unfinished: bool) -> int:
    """How many games are recorded: those that broke off, or those that ended."""
    return len(record_files(unfinished=unfinished))


def recorded_games(*, unfinished: bool) -> list[RecordedGame]:
    """The newest recorded games, newest first: those that broke off, or those that ended. A damaged one is among them."""
    return [_record(file) for file in record_files(unfinished=unfinished)[:RECORDS_SHOWN]]


def record_files(*, unfinished: bool) -> list[Path]:
    """The files of the recorded games, the newest first."""
    found = (state_folder() / "episodes").glob("*.jsonl.part" if unfinished else "*.jsonl")
    # The clocks of a record lie beside it.
    return sorted((file for file in found if not file.name.endswith(".timing.jsonl")), key=_age, reverse=True)


def _age(file: Path) -> tuple[str, int, str]:
    """By when the record was made, to the second, with which its name begins, and then by when it was last written to."""
    try:
        return file.name[:15], file.stat().st_mtime_ns, file.name
    except OSError:  # it has just been taken away
        return file.name[:15], 0, file.name


def _record(path: Path) -> RecordedGame:
    from agent.episodes.events import Ended, Started, Stepped, TurnSpent, branch
    from agent.episodes.record import read_episode

    try:
        events = branch(list(read_episode(path)))
    except ConfigurationError as error:
        return RecordedGame(path, fault=str(error))
    first, last = (events[0].body, events[-1].body) if events else (None, None)
    if not isinstance(first, Started):
        return RecordedGame(path, fault=f"{path} holds no game: it was interrupted before it began, or damaged.")
    turns = sum(isinstance(event.body, Stepped | TurnSpent) for event in events)
    return RecordedGame(path, first, last if isinstance(last, Ended) else None, turns)


def settings_for(started: Started, settings: Settings, recent: RecentChoices) -> Settings:
    """The settings under which a game that broke off goes on: those it began with.

    A record does not say where a model or a rulebook lies on this machine, so they are looked for among ``recent`` and
    ``settings``. Raises ``ConfigurationError`` where one is not among them.
    """
    from pydantic import ValidationError

    from agent.config import Settings

    values: Mapping[str, object] = {
        **settings.model_dump(),
        "world": started.world,
        "engine": "textworld" if started.engine.startswith("textworld") else "native",
        "goals": started.wording,
        "agent": started.agent,
        "model": _model(started, settings, recent),
        "rules": _rules(started, settings, recent),
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


def _model(started: Started, settings: Settings, recent: RecentChoices) -> str | None:
    from agent.models.registry import DEFAULT_MODEL, portable_name

    if started.model is None:
        return None
    for name in _given(settings.model, *recent.models, DEFAULT_MODEL):
        with suppress(HousequestError):
            if portable_name(name) == started.model:
                return name
    raise ConfigurationError(
        f"This game was played with {started.model}: press m, name it with its address or options, and try again."
    )


def _rules(started: Started, settings: Settings, recent: RecentChoices) -> str | None:
    from agent.setup import read_rules
    from knowledge.library import SUFFIX

    if started.rules is None:
        return None
    name = started.rules.partition("@")[0]
    for file in _given(settings.rules, recent.rules, name.removesuffix(SUFFIX)):
        with suppress(HousequestError):
            if read_rules(file).label == started.rules:
                return file
    raise ConfigurationError(f"This game was told the rules in {name}: press b, name that file, as it was, and try again.")


def _given(*names: str | None) -> Iterator[str]:
    return (name for name in names if name)
