"""The choices made last and the games that were played, read from the state folder for the home screen."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, TypeAdapter

from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import atomic_write, read_file, state_folder

if TYPE_CHECKING:
    from housequest.agent.episodes.events import Ended, Started

FILE_NAME = "recent.json"
LARGEST_FILE = 1 << 16
LONGEST = 4_000
"""Characters of one choice."""

MODELS_KEPT = 8
RECORDS_SHOWN = 60


def _check(text: str) -> str:
    if len(text) > LONGEST or not text.isprintable():
        raise ValueError("not a choice")
    return text


_Text = Annotated[str, AfterValidator(_check)]


@dataclass(frozen=True, slots=True)
class RecentChoices:
    """The choices made last; an empty text is no choice.

    ``task`` is a reference; of ``models`` the last used comes first; ``view`` is what the View shows,
    and ``camera`` what it shows where somebody plays by a camera.
    """

    world: _Text = ""
    split: _Text = ""
    task: _Text = ""
    agent: _Text = ""
    mode: _Text = ""
    rules: _Text = ""
    grants: tuple[_Text, ...] = ()
    models: tuple[_Text, ...] = ()
    view: _Text = ""
    camera: _Text = "camera"

    def used(self, model: str) -> RecentChoices:
        """The same with ``model`` as the one used last."""
        others = (known for known in self.models if known != model)
        return replace(self, models=(model, *others)[:MODELS_KEPT]) if model else self


@dataclass(frozen=True, slots=True)
class LoadedChoices:
    """What was read; ``remark`` says what was wrong with it."""

    recent: RecentChoices = RecentChoices()
    remark: str = ""


def load_recent() -> LoadedChoices:
    """Read the choices made last. A damaged file is renamed."""
    file = state_folder() / FILE_NAME
    try:
        content = read_file(file, LARGEST_FILE + 1)
    except FileNotFoundError:
        return LoadedChoices()
    except OSError as error:
        return LoadedChoices(remark=f"{file} cannot be read ({error.strerror}), so nothing is preselected.")
    try:
        if len(content) > LARGEST_FILE:
            raise ValueError("too large")
        recent = TypeAdapter(RecentChoices).validate_json(content)
        return LoadedChoices(replace(recent, models=recent.models[:MODELS_KEPT]))
    except ValueError:
        damaged = file.with_name(f"{FILE_NAME}.damaged")
        with suppress(OSError):
            file.replace(damaged)
        return LoadedChoices(remark=f"{file} was damaged, so nothing is preselected; it is now {damaged.name}.")


def save_recent(recent: RecentChoices) -> str:
    """Save the choices; returns what went wrong, or an empty text."""
    file = state_folder() / FILE_NAME
    try:
        atomic_write(file, json.dumps(asdict(recent), indent=1).encode())
    except OSError as error:
        return f"{file} cannot be written ({error.strerror}), so this choice is not kept."
    return ""


@dataclass(frozen=True, slots=True)
class PlayerChoice:
    """Who plays, as it was typed; empty texts are no choice.

    ``rules`` names a rulebook; ``set`` has settings of the agent, KEY=VALUE with spaces between.
    """

    agent: str
    model: str = ""
    rules: str = ""
    grants: tuple[str, ...] = ()
    set: str = ""


@dataclass(frozen=True, slots=True)
class RecordedGame:
    """A recorded game as far as it went; ``fault`` says why it cannot be read."""

    path: Path
    started: Started | None = None
    ended: Ended | None = None
    turns: int = 0
    fault: str = ""

    @property
    def unfinished(self) -> bool:
        """Whether its record still has the name of one being written."""
        return self.path.suffix == ".part"


def recorded_games(*, unfinished: bool) -> list[RecordedGame]:
    """The newest unfinished games, or finished ones, newest first, including damaged records."""
    return [_recorded_game(file) for file in record_files(unfinished=unfinished)[:RECORDS_SHOWN]]


def record_files(*, unfinished: bool) -> list[Path]:
    """The files of the unfinished games, or of the finished ones, newest first."""
    found = (state_folder() / "episodes").glob("*.jsonl.part" if unfinished else "*.jsonl")
    return sorted((file for file in found if not file.name.endswith(".timing.jsonl")), key=_age, reverse=True)


def _age(file: Path) -> tuple[str, int, str]:
    """The second at which the record was begun, with which its name starts, then when it was last written."""
    try:
        return file.name[:15], file.stat().st_mtime_ns, file.name
    except OSError:  # just removed
        return file.name[:15], 0, file.name


def _recorded_game(path: Path) -> RecordedGame:
    # Not on the way to the first picture of home.
    from housequest.agent.episodes.events import Ended, Started, Stepped, TurnSpent, branch
    from housequest.agent.episodes.record import read_episode

    try:
        events = branch(list(read_episode(path)))
    except ConfigurationError as error:
        return RecordedGame(path, fault=str(error))
    first, last = (events[0].body, events[-1].body) if events else (None, None)
    if not isinstance(first, Started):
        return RecordedGame(path, fault=f"{path} holds no game: it was interrupted before it began, or damaged.")
    turns = sum(isinstance(event.body, Stepped | TurnSpent) for event in events)
    return RecordedGame(path, first, last if isinstance(last, Ended) else None, turns)
