"""Several runs in one folder: sweeps and series.

In a series each task is played several times (``repeat``), or lost ones are played again (``retry_lost``). Each run
is one like any other, in its own folder below the series', so whatever holds for runs holds for it; the first is the run that
the same command would play without repeats or retries. A sweep has several agents, models, rulebooks and seeds, read as one
table. Its file is YAML::

    common:                           # settings of every arm, named as in housequest.toml
      split: valid_seen
    arms:                             # what is compared: a name and its settings
      react:
        agent: react
      reasoner-actor with rules:
        agent: reasoner-actor
        rules: rules.yaml             # a file beside this one, or the name of a rulebook
        set: {on_subgoal: off}
      reasoner-actor without:
        agent: reasoner-actor
        rules: null                   # none, even if the user's configuration names some
      llm-planner:
        agent: llm-planner
        grid: {shots: [1, 9], pool: [50, 100]}   # an arm for each choice: "llm-planner, shots 1, pool 50" and so on
    seeds: [0, 1, 2]                  # each arm is played once with each seed; default: [0]
    repeat: 3                         # or: each arm is played so often, from its one seed on; an arm may have its own
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import islice, product
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import Field

from housequest.agent.agents.spec import DEFAULT_AGENT
from housequest.agent.base import Attempt
from housequest.agent.config import Settings, SettingsSource, configure
from housequest.agent.episodes.events import ParseFailed, Stepped, Thought, branch
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.runs.files import Frozen, SelectedTask, file_of, parsed, read_bytes
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import COMPANY, FIRST, RunSpec, SeriesPosition, make_run_spec, slug
from housequest.agent.models.registry import beside
from housequest.agent.setup import read_player
from housequest.knowledge.choosing import RuleBudget
from housequest.worlds.base import Transition
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.paths import FORMAT, Format, atomic_write, remove_unfinished
from housequest.worlds.validation import parse_yaml

REFLECTION = "reflection"
"""The role whose thought says what went wrong in the attempt before."""
LARGEST_FILE = 1 << 18
MOST_RUNS = 1_000
LONGEST_NAME = 60
MOST_IN_MATRIX = 12
SETTINGS = (
    *("world", "engine", "split", "type", "limit", "sample", "sample_seed", "goals", "agent", "model"),
    *("protocol", "repeat", "timeout", "rules", "rules_budget", "grant", "max_steps", "set"),
)
"""The settings of an arm; seeds belong to the sweep."""


@dataclass(frozen=True)
class ArmRun:
    """One arm with one seed: a run in its own ``folder`` below the sweep's, at its ``place`` in a series.

    ``rules`` take the place of those of its settings; ``made`` is the run, if it was resolved before.
    """

    arm: str
    seed: int
    folder: str
    settings: Settings
    place: SeriesPosition = field(default=FIRST, kw_only=True)
    rules: RuleBudget | None = field(default=None, kw_only=True)
    made: RunSpec | None = field(default=None, kw_only=True)

    @cached_property
    def spec(self) -> RunSpec:
        """The run, resolved when first asked for. Raises ``ConfigurationError`` and ``KnowledgeError``."""
        return self.made or make_run_spec(self.settings, rules=self.rules, place=self.place)


class ArmRecord(Frozen):
    """One run of a sweep in ``sweep.json``."""

    arm: str
    seed: int
    folder: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,200}$")]


SeriesKind = Literal["repeats", "attempts"]
"""The kinds of series (`housequest.agent.evaluation.runs.sweep`)."""


class SweepManifest(Frozen):
    """The content of ``sweep.json``; ``series`` is set if its runs are one, ``matrix`` names the players that it pairs."""

    format: Format = FORMAT
    matrix: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    series: SeriesKind | None = Field(default=None, exclude_if=operator.not_)
    runs: tuple[ArmRecord, ...]


class SweepFolder:
    """The folder of a sweep: ``sweep.json``, and a run folder for each arm and seed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / "sweep.json"

    @property
    def begun(self) -> bool:
        """True if the folder holds a sweep."""
        return self.file.is_file()

    def begin(self, trials: Sequence[ArmRun], series: SeriesKind | None = None, matrix: Sequence[str] = ()) -> None:
        """Write ``sweep.json``. Raises ``ConfigurationError`` where the folder holds something else."""
        runs = tuple(ArmRecord(arm=trial.arm, seed=trial.seed, folder=trial.folder) for trial in trials)
        self._begin(file_of(SweepManifest(series=series, matrix=tuple(matrix), runs=runs)))

    def _begin(self, content: bytes) -> None:
        remove_unfinished(self.path, self.file.name)
        if self.path.is_dir() and not self.begun and any(self.path.iterdir()):
            raise ConfigurationError(f"{self.path} is not empty and holds no sweep; give --out a new folder.")
        atomic_write(self.file, content)

    def copy(self, other: SweepFolder) -> None:
        """Begin with what ``other`` lists. Raises ``ConfigurationError`` where the folder holds something else."""
        self._begin(read_bytes(other.file, LARGEST_FILE))

    def run(self, folder: str) -> RunFolder:
        """The folder of one run."""
        return RunFolder(self.path / folder)

    def begun_runs(self, flag: str) -> list[RunFolder]:
        """The runs that have begun. Raises ``ConfigurationError``, also where none has; ``flag`` plays them."""
        found = [run for each in self.contents().runs if (run := self.run(each.folder)).manifest_file.exists()]
        if not found:
            raise ConfigurationError(f"No run in {self.path} has begun; play it with `housequest eval {flag}`.")
        return found

    def contents(self) -> SweepManifest:
        """Read ``sweep.json``. Raises ``ConfigurationError``."""
        content = read_bytes(self.file, LARGEST_FILE, f"{self.path} is not the folder of a sweep; it has no sweep.json.")
        return parsed(SweepManifest, content, str(self.file))


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep as read from its file: the settings of each arm, by its name; no ``seeds`` where it lists none."""

    file: Path
    arms: Mapping[str, Mapping[str, object]]
    seeds: tuple[int, ...]

    @property
    def default_folder(self) -> Path:
        """The default folder of its runs."""
        return Path("runs") / slug(self.file.stem, 80)


def read_sweep(file: Path) -> Sweep:
    """Read a sweep file. Raises ``ConfigurationError`` with the file and the place."""
    content = read_bytes(file, LARGEST_FILE, f"There is no sweep's file {file}.")
    top = _values(parse_yaml(content, str(file)), str(file), ("common", "arms", "seeds", "repeat"))
    common = _values(top.get("common", {}), f"{file}: common")
    if "repeat" in top and "repeat" in common:
        raise ConfigurationError(f"{file}: repeat stands in common, too; leave one out.")
    common |= {key: top[key] for key in ("repeat",) if key in top}
    arms = top.get("arms")
    if not isinstance(arms, dict) or not arms:
        raise ConfigurationError(f"{file} has no arms; list what to compare below arms:, each with a name.")
    listed_arms = cast("dict[object, object]", arms).items()
    named = [arm for name, value in listed_arms for arm in _arms(file, str(name), value, common)]
    listed = top.get("seeds")
    seeds = tuple(cast("list[int]", listed)) if isinstance(listed, list) else ()
    sound = all(type(seed) is int and 0 <= seed < 1 << 32 for seed in seeds)
    if "seeds" in top and (not seeds or not sound or len(set(seeds)) < len(seeds)):
        raise ConfigurationError(f"{file}: seeds: {shown(top['seeds'])} is not a list of seeds; write it like [0, 1, 2].")
    if (runs := max(1, len(seeds)) * len(named)) > MOST_RUNS:
        raise ConfigurationError(f"{file} has {runs} runs; a sweep has at most {MOST_RUNS}.")
    folders = [slug(name, LONGEST_NAME) for name, _ in named]
    for (name, _), folder in zip(named, folders, strict=True):
        if folders.count(folder) > 1:
            raise ConfigurationError(f"{file}: the arm {shown(name)} would share its folder with another arm; rename one.")
    return Sweep(file, dict(named), seeds)


def plan_sweep(sweep: Sweep, flags: Mapping[str, object], folder: Path | None = None) -> Iterator[ArmRun]:
    """The runs of a sweep, arm by arm; ``flags`` apply to all. Raises ``ConfigurationError``."""
    given = {key: value for key, value in flags.items() if value is not None and value not in ([], ())}
    for arm, values in sweep.arms.items():
        for key in given:
            if (key == "seed" and sweep.seeds) or key in values:
                place = "seeds" if key == "seed" else f"the arm {shown(arm)}"
                raise ConfigurationError(
                    f"--{key.replace('_', '-')} is given, and {place} of {sweep.file} sets it too; leave one out."
                )
        for seed in sweep.seeds or (cast("int", given.get("seed", 0)),):
            source = SettingsSource(f"the arm {shown(arm)} of {sweep.file}", {**values, "seed": seed}, sweep.file.parent)
            settings = configure({key: value for key, value in given.items() if key != "seed"}, folder, source)
            repeat, name = settings.repeat, f"{slug(arm, LONGEST_NAME)}-seed{seed}"
            if settings.retry_lost:
                raise ConfigurationError(
                    f"retry_lost is set by {settings.origin('retry_lost')}, and a sweep does not play lost games again; "
                    f"evaluate the arm {shown(arm)} by itself."
                )
            if repeat > 1 and len(sweep.seeds) > 1:
                raise ConfigurationError(
                    f"repeat is set by {settings.origin('repeat')}, and {sweep.file} lists seeds, too, each of which "
                    "repeats once; leave one of them out."
                )
            for number in range(1, repeat + 1):
                folder_of = f"{name}-{number}" if repeat > 1 else name
                yield ArmRun(arm, seed + number - 1, folder_of, settings, place=SeriesPosition(repeat=number))


def alone(player: str) -> str:
    """The arm in which a player of a matrix plays alone."""
    return f"{player} alone"


def beside_partner(player: str, partner: str) -> str:
    """The arm in which a player of a matrix plays with a partner."""
    return f"{player} with {partner}"


def judged(players: Sequence[str]) -> list[str]:
    """The judged players of a matrix: all but the held-out partners, which have a manner."""
    return [player for player in players if read_player(player)[1] is None]


def plan_matrix(named: Sequence[str], flags: Mapping[str, object]) -> Iterator[ArmRun]:
    """The runs of a partner matrix: each judged player alone, and once with each other player and itself. Raises
    ``ConfigurationError``.
    """
    players = matrix_players(named)
    arms: dict[str, Mapping[str, object]] = {}
    for player in judged(players):
        agent, _, model = read_player(player)
        arms[alone(player)] = {"agent": agent, **({"model": model} if model else {}), **dict.fromkeys(COMPANY)}
        for partner in players:
            if beside_partner(partner, player) not in arms:
                arms[beside_partner(player, partner)] = {"players": [f"{player},{partner}"]}
    for number, (arm, values) in enumerate(arms.items()):
        settings = configure({**flags, **values})
        if settings.repeat > 1 or settings.retry_lost:
            raise ConfigurationError("--matrix plays each pair once; leave out --repeat and --retry-lost.")
        yield ArmRun(arm, settings.seed or 0, f"{number:02d}-{slug(arm, LONGEST_NAME)}", settings)


def matrix_players(named: Sequence[str]) -> tuple[str, ...]:
    """The players that ``--matrix`` names. Raises ``ConfigurationError``."""
    players = tuple(dict.fromkeys(one.strip() for text in named for one in text.split(",")))
    if not judged(players):
        raise ConfigurationError("--matrix judges players without a manner, and none is named; add one, such as expert.")
    if len(players) > MOST_IN_MATRIX:
        raise ConfigurationError(f"--matrix names {len(players)} players; give at most {MOST_IN_MATRIX}.")
    return players


def matrix_folder(players: Sequence[str]) -> Path:
    """The default folder of a matrix."""
    return Path("runs") / f"matrix-{slug('-'.join(players), 80)}"


def _arms(file: Path, name: str, value: object, common: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The arm ``name``, or the arms of its grid."""
    where = f"{file}: the arm {shown(name)}"
    values = _values(value, where, (*SETTINGS, "grid"))
    points = _grid(values.pop("grid", {}), where)
    given = cast("dict[str, object]", values.get("set", {}))
    for point in points:
        if (twice := next(filter(given.__contains__, point), None)) is not None:
            raise ConfigurationError(f"{where}: {twice} stands in set and in grid; leave one out.")
        settings = {**values, "set": {**given, **point}} if point else values
        title = ", ".join([name, *(f"{key} {choice}" for key, choice in point.items())])
        yield title, _joined(file, title, settings, common)


def _grid(value: object, where: str) -> list[dict[str, object]]:
    """Every choice of one value of each setting; one empty choice for no grid."""
    table = cast("dict[str, object]", value if isinstance(value, dict) else {"": None})
    lists = [cast("list[object]", each) for each in table.values() if isinstance(each, list)]
    if len(lists) < len(table) or not all(lists) or any(isinstance(each, list | dict) for row in lists for each in row):
        raise ConfigurationError(f"{where}: grid is not a table of lists; write it like {{shots: [1, 9], pool: [50, 100]}}.")
    return [dict(zip(table, point, strict=True)) for point in islice(product(*lists), MOST_RUNS + 1)]


def _joined(file: Path, name: str, own: Mapping[str, object], common: Mapping[str, object]) -> dict[str, object]:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise ConfigurationError(
            f"{file}: arms: {shown(name)} cannot name an arm; give it up to {LONGEST_NAME} plain characters."
        )
    both = {**common, **own}
    if "model" in own:
        both["model"] = beside(common.get("model"), own["model"])
    if "set" in common and "set" in own:
        both["set"] = {**cast("dict[str, object]", common["set"]), **cast("dict[str, object]", own["set"])}
    return both


def _values(value: object, where: str, known: tuple[str, ...] = SETTINGS) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ConfigurationError(f"{where} is not a table of settings; known: {', '.join(known)}.")
    table = cast("dict[str, object]", value)
    for key, item in table.items():
        if key not in known:
            hint = nearest(str(key), known) or f" Known: {', '.join(known)}."
            raise ConfigurationError(f"{where} has {shown(key)}, which is unknown.{hint}")
        if item is None and key != "rules":  # null unsets the rules
            raise ConfigurationError(f"{where}: {key} has no value; give it one or take it out.")
        if key == "set" and not isinstance(item, dict):
            raise ConfigurationError(f"{where}: set is not a table; write it like {{on_subgoal: off}}.")
    return {key: [item] if key in ("type", "grant") and isinstance(item, str) else item for key, item in table.items()}


def series_kind(settings: Settings) -> SeriesKind | None:
    """The series that ``settings`` ask for; None for a single run. Raises ``ConfigurationError`` where they ask for two."""
    if settings.repeat > 1 and settings.retry_lost:
        raise ConfigurationError("--repeat and --retry-lost cannot be given together: count one of them at a time.")
    return "repeats" if settings.repeat > 1 else "attempts" if settings.retry_lost else None


def series_folder(kind: SeriesKind, first: RunSpec, out: Path | None) -> SweepFolder:
    """The folder of a series: ``out``, or one named after its first run, however many others there are."""
    default = first.default_folder
    return SweepFolder(out if out is not None else default.with_name(f"{default.name}-{kind}"))


def series(settings: Settings, folder: SweepFolder, *, retry_errors: bool = False) -> Iterator[ArmRun]:
    """The runs of the series into ``folder``; each must have been played to its end before the next is asked for.

    An attempt is not followed by another before all of its episodes came to an end without an error: an error is no lost game,
    and playing it again would change what the next attempt is told. With ``retry_errors`` what errored was played again, and
    what errors still is left out of further attempts. Raises ``ConfigurationError`` and ``KnowledgeError``.
    """
    runs: list[ArmRun] = []
    if series_kind(settings) == "repeats":
        runs = [_run(settings, SeriesPosition(repeat=number)) for number in range(1, settings.repeat + 1)]
        folder.begin(tuple(runs), "repeats")
        yield from runs
        return
    place: SeriesPosition | None = FIRST
    while place is not None:
        runs.append(_run(settings, place))
        # A series that goes on does not lose those that follow, which are listed already.
        listed = folder.contents() if folder.begun else None
        known = [run.folder for run in listed.runs] if listed and listed.series == "attempts" else []
        if known[: len(runs)] != [run.folder for run in runs]:
            folder.begin(tuple(runs), "attempts")
        yield runs[-1]
        place = _next(folder, runs, retry_errors) if len(runs) <= settings.retry_lost else None


def _run(settings: Settings, place: SeriesPosition) -> ArmRun:
    name = f"attempt-{place.attempt}" if settings.retry_lost else f"run-{place.repeat}"
    seed = (settings.seed or 0) + place.repeat + place.attempt - 2
    return ArmRun(settings.agent or DEFAULT_AGENT, seed, name, settings, place=place)


def _next(folder: SweepFolder, runs: Sequence[ArmRun], retried: bool) -> SeriesPosition | None:
    """The place of the attempt after ``runs``, at what the last of them lost. None where nothing was, or errors are left that
    were not ``retried``.
    """
    played = [(folder.run(run.folder), run.spec.manifest.tasks) for run in runs]
    results = [run.results(tasks) for run, tasks in played]
    lost = [result for result in results[-1] if not result.won and result.outcome != "error"]
    errors = any(result.outcome == "error" for result in results[-1])
    begun = folder.run(f"attempt-{len(runs) + 1}")
    if begun.manifest_file.exists():
        # What was left out when it began, since it errored, stays left out.
        known = {task.id for task in begun.manifest().tasks}
        lost = [result for result in lost if result.task in known]
    elif errors and not retried:
        return None
    if len(results[-1]) < len(played[-1][1]) or not lost:
        return None
    selected = [(run, {task.id for task in tasks}) for run, tasks in played]
    attempts = {
        result.task: tuple(attempt_of(run, result.selected) for run, ids in selected if result.task in ids) for result in lost
    }
    digest = sha256("\n".join(f"{result.task} {result.episode_sha256}" for result in lost).encode("utf-8", "surrogatepass"))
    return SeriesPosition(attempt=len(runs) + 1, tasks=frozenset(attempts), attempts=attempts, earlier=digest.hexdigest())


def attempt_of(run: RunFolder, task: SelectedTask) -> Attempt:
    """Read a run's episode of ``task``, and what the agent said of the attempt before. Raises
    ``ConfigurationError``.
    """
    played: list[Transition | Thought | ParseFailed] = []
    reflection = ""
    for event in branch(tuple(read_episode(run.episode(task)))):
        match event.body:
            case Stepped(transition=step):
                played.append(step)
            case Thought(role=role, text=text) if role == REFLECTION:
                reflection = reflection or text
            case Thought() | ParseFailed() as said:
                played.append(said)
            case _:
                pass
    return Attempt(tuple(played), reflection)
