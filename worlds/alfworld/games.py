"""The index of the games under a data folder. The user's cache folder keeps the facts about each game by path, size and
modification time, so only new and changed files are read. A missing or damaged cache is rebuilt."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from housequest.worlds.alfworld.engine.game import DOMAINS, GRAMMARS, MAX_FILE, read_published
from housequest.worlds.base import Purpose
from housequest.worlds.errors import GameError, shown
from housequest.worlds.household.goals import TASK_TYPES
from housequest.worlds.household.world import EXAMPLE, GENERATED
from housequest.worlds.paths import cache_folder, read_file, sha256_of
from housequest.worlds.tasks import joined_sentences, plain_sentence
from housequest.worlds.validation import read_cache, write_cache

PUBLISHED = {"train": 3553, "valid_train": 200, "valid_seen": 140, "valid_unseen": 134}
"""The number of games in each published split, in the order in which splits are shown."""
EVALUATED, TRAINING = "valid_seen", "train"  # the splits that are evaluated and learned from if none is named
DEFAULT_SPLITS: dict[Purpose, str] = {"evaluate": EVALUATED, "play": EXAMPLE, "explore": TRAINING}
FILE = "file"  # the unlisted split of games named by a path outside the data folder
LAYOUT = "json_2.1.1"
GAME_FILE = "game.tw-pddl"
TRAJECTORY_FILE = "traj_data.json"
MAX_TRAJECTORY = 32 << 20  # bytes of one ``traj_data.json``; every published one is well below
GET_DATA = "Fetch the games with `housequest data download`, or set ALFWORLD_DATA to the folder that holds json_2.1.1."


def splits_of(folders: Iterable[str]) -> tuple[str, ...]:
    """The splits in folders of these names, in order, without names that would make a reference ambiguous."""
    ours = (EXAMPLE, FILE, GENERATED)
    return in_order(name for name in folders if name not in ours and ":" not in name and name.isprintable())


def in_order(splits: Iterable[str]) -> tuple[str, ...]:
    """The splits in the order of ``PUBLISHED``, then all others by name."""
    known = list(PUBLISHED)
    return tuple(sorted(splits, key=lambda split: (known.index(split) if split in PUBLISHED else len(known), split)))


def type_of_trial(trial: str) -> str:
    """The start of ``<task>/<trial>``, up to the first hyphen: a task type, or anything else."""
    return trial.partition("/")[0].partition("-")[0]


def game_at(reference: str) -> Path | None:
    """The game file at the path ``reference``, or in that folder; None if there is none."""
    try:
        path = Path(os.path.abspath(Path(reference).expanduser()))  # noqa: PTH100 (links stay as they are called)
        path = path / GAME_FILE if path.is_dir() else path
        return path if path.is_file() and str(path).isprintable() else None
    except (OSError, RuntimeError, ValueError):  # a name too long, an unknown user's home, a null character: no such file
        return None


_MOST_STEPS = 60


def sentences_of(trajectory: Path, *, steps: bool = False) -> tuple[str, ...]:
    """The annotators' goals in ``traj_data.json`` in order, with or without ``steps``; "" for an annotator who wrote none. A
    missing or damaged file gives no goals: the game is playable without."""
    try:
        if not trajectory.is_file() or trajectory.stat().st_size > MAX_TRAJECTORY:
            return ()
        content: Any = json.loads(read_file(trajectory))
        annotations: Any = content["turk_annotations"]["anns"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ()
    if not isinstance(annotations, list):
        return ()
    return tuple(_sentence(one, steps=steps) for one in cast("list[Any]", annotations))


def _sentence(annotation: Any, *, steps: bool) -> str:
    written = cast("dict[str, Any]", annotation) if isinstance(annotation, dict) else {}
    goal, steps_given = written.get("task_desc"), written.get("high_descs")
    sentence = plain_sentence(goal) if isinstance(goal, str) else ""
    if not (steps and sentence and isinstance(steps_given, list)):
        return sentence
    described = [plain_sentence(step) for step in cast("list[Any]", steps_given)[:_MOST_STEPS] if isinstance(step, str)]
    return joined_sentences((sentence, *described))


_VERSION = " ".join(("2", *DOMAINS, *GRAMMARS))  # changes with the columns of an entry and with the accepted games
Status = Literal["playable", "left out", "refused"]


class Entry(NamedTuple):
    """One game file of a split. ``trial`` is ``<task>/<trial>``, its place under the split; ``digest`` the SHA-256 of its
    content. ``status`` is ``left out`` for games that ALFWorld itself leaves out (movable receptacles, sliced objects, no known
    solution) and ``refused`` for those that should be playable and are not (damaged, another grammar), with the ``reason``. A
    refused game stays among its split's tasks, so that it is counted; one that is left out does not."""

    trial: str
    size: int
    changed: int
    digest: str
    type: str
    goal: str
    status: Status
    reason: str


class Index:
    """The splits of a data folder and the entries of each, sorted by trial. Reads a split when first asked for it."""

    def __init__(self, data: Path, *, cached: bool = True) -> None:
        """``data`` is the folder that holds ``json_2.1.1``; if not ``cached``, every game is read whole and nothing is kept."""
        self.root = data / LAYOUT
        self._cached = cached
        self._entries: dict[str, tuple[Entry, ...]] = {}

    def there(self) -> bool:
        """True if the data folder has the layout. Raises ``GameError`` if it cannot be read."""
        try:
            # Not by pathlib, which passes over every error from Python 3.14 on.
            return stat.S_ISDIR(self.root.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null character in its name
            return False
        except OSError as error:
            raise GameError(f"{shown(str(self.root), 400)} cannot be read: {error.strerror}. {GET_DATA}") from error

    def splits(self) -> tuple[str, ...]:
        """The existing split folders: train, valid_train, valid_seen, valid_unseen, then others by name."""
        return splits_of(folder.name for folder in _folders(self.root)) if self.there() else ()

    def entries(self, split: str) -> tuple[Entry, ...]:
        """Every game of ``split``, whatever its status. Raises ``GameError`` if its folder cannot be listed."""
        if split not in self._entries:
            folder = self.root / split
            key = sha256_of(str(folder.resolve()))
            file = cache_folder() / "alfworld" / f"{key[:24]}.json"
            kept = read_cache(Entry, file, _VERSION) if self._cached else ()
            known, whole = {entry.trial: entry for entry in kept}, not self._cached
            found = [_entry(folder, trial, status, known.get(trial), whole=whole) for trial, status in sorted(_sweep(folder))]
            if self._cached and tuple(found) != kept:
                write_cache(found, file, _VERSION)
            self._entries[split] = tuple(found)
        return self._entries[split]

    def path(self, split: str, trial: str) -> Path:
        """The game file of a trial."""
        return self.root / split / trial / GAME_FILE


def _folders(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if not entry.name.startswith(".") and entry.is_dir())
    except OSError as error:
        named = str(error.filename or folder)  # perhaps a dangling link in the folder
        raise GameError(f"{shown(named, 400)} cannot be listed: {error.strerror}.") from error


def _sweep(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    for task in _folders(folder):
        for trial in _folders(task.path):
            path = f"{trial.path}/{GAME_FILE}"
            try:
                status = os.stat(path)  # noqa: PTH116 (a Path for each would take longer than the rest)
            except FileNotFoundError:  # many trajectories of ALFRED have no game
                continue
            except OSError as error:
                raise GameError(f"{shown(path, 400)} cannot be read: {error.strerror}.") from error
            yield f"{task.name}/{trial.name}", status


def _entry(folder: Path, trial: str, status: os.stat_result, known: Entry | None, *, whole: bool) -> Entry:
    # A file that could not be read, for lack of permission, has no digest.
    if known is not None and known.digest and (known.size, known.changed) == (status.st_size, status.st_mtime_ns):
        return known
    kind = type_of_trial(trial)

    def entry(outcome: Status, reason: str = "", digest: str = "", goal: str = "") -> Entry:
        return Entry(trial, status.st_size, status.st_mtime_ns, digest, kind, goal, outcome, reason)

    for odd, reason in (
        (not trial.isprintable(), "its folder has a name that cannot be printed"),
        ("movable" in trial, "its task needs a movable receptacle"),
        ("Sliced" in trial, "its task needs a sliced object"),
        (kind not in TASK_TYPES, "its task is of none of the six types"),
    ):
        if odd:
            return entry("left out", reason)
    if not stat.S_ISREG(status.st_mode):
        return entry("refused", "it is not a plain file")
    if status.st_size > MAX_FILE:
        return entry("refused", f"it has more than {MAX_FILE:,} bytes")
    try:
        content = read_file(folder / trial / GAME_FILE)
    except OSError as error:
        return entry("refused", f"it cannot be read: {error.strerror}")
    digest = hashlib.sha256(content).hexdigest()
    try:
        game = read_published(content, trial, whole=whole)
    except GameError as error:
        return entry("refused", str(error).removeprefix(f"{trial}: "), digest)
    if not game.solvable:
        return entry("left out", "no solution of it is known", digest, game.sentence)
    return entry("playable", "", digest, game.sentence)


class SplitReport(NamedTuple):
    """One split: its tasks by type, the games left out or refused, and the ids of the tasks without a human goal."""

    split: str
    types: tuple[tuple[str, int], ...]
    left_out: tuple[Entry, ...]
    refused: tuple[Entry, ...]
    without_human_goal: tuple[str, ...]

    @property
    def games(self) -> int:
        """The number of tasks, including refused games."""
        return sum(count for _, count in self.types)

    @property
    def published(self) -> int | None:
        """The size of the published split; None for any other split."""
        return PUBLISHED.get(self.split)

    @property
    def sound(self) -> bool:
        """True if every game is playable and none of the published ones is missing."""
        return not self.refused and self.games == (self.published or self.games)


def check_data(data: Path) -> tuple[SplitReport, ...]:
    """Read every game under ``data`` (the folder that holds ``json_2.1.1``), ignoring the cache."""
    index = Index(data, cached=False)
    reports: list[SplitReport] = []
    for split in index.splits():
        entries = index.entries(split)
        tasks = [entry for entry in entries if entry.status != "left out"]
        counts = Counter(entry.type for entry in tasks)
        trajectories = [(entry.trial, index.path(split, entry.trial).with_name(TRAJECTORY_FILE)) for entry in tasks]
        reports.append(
            SplitReport(
                split,
                types=tuple((kind, counts[kind]) for kind in TASK_TYPES if counts[kind]),
                left_out=tuple(entry for entry in entries if entry.status == "left out"),
                refused=tuple(entry for entry in entries if entry.status == "refused"),
                without_human_goal=tuple(f"{split}/{trial}" for trial, path in trajectories if not any(sentences_of(path))),
            )
        )
    return tuple(reports)
