"""A sweep: several agents, models, rulebooks and seeds, each a run of its own, read as one table.

The file is YAML::

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
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import Field

from housequest.agent.config import Configuration, SettingsSource, configure
from housequest.agent.evaluation.runs.files import file_of, parsed, read_bytes
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.result import Frozen
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec, slug
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.paths import FORMAT, Format, atomic_write, remove_unfinished

LARGEST_FILE = 1 << 18
MOST_RUNS = 1_000
LONGEST_NAME = 60

SETTINGS = (
    *("world", "engine", "split", "type", "limit", "sample", "goals", "agent", "model"),
    *("protocol", "timeout", "rules", "rules_budget", "grant", "max_steps", "set"),
)
"""What an arm can set; seeds belong to the sweep."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep as read from its file: the settings of each arm, by its name."""

    file: Path
    arms: Mapping[str, Mapping[str, object]]
    seeds: tuple[int, ...]

    @property
    def default_folder(self) -> Path:
        """The default folder of its runs."""
        return Path("runs") / slug(self.file.stem, 80)


@dataclass(frozen=True, slots=True)
class ConfiguredArm:
    """One arm with one seed, configured: a run in its own ``folder`` below the sweep's."""

    arm: str
    seed: int
    folder: str
    configuration: Configuration


@dataclass(frozen=True, slots=True)
class ArmRun(ConfiguredArm):
    """One arm with one seed, whose episodes can begin."""

    spec: RunSpec


class ArmRecord(Frozen):
    """One run of a sweep in ``sweep.json``."""

    arm: str
    seed: int
    folder: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,200}$")]


SeriesKind = Literal["repeats", "attempts"]
"""What the runs of a series are (`housequest.agent.evaluation.runs.series`)."""


class SweepManifest(Frozen):
    """The content of ``sweep.json``; ``series`` is set where its runs are one."""

    format: Format = FORMAT
    series: SeriesKind | None = Field(default=None, exclude_if=operator.not_)
    runs: tuple[ArmRecord, ...]


class SweepFolder:
    """The folder of a sweep: ``sweep.json``, and a run folder for each arm and seed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / "sweep.json"

    @property
    def begun(self) -> bool:
        """Whether the folder holds a sweep."""
        return self.file.is_file()

    def begin(self, trials: Sequence[ConfiguredArm], series: SeriesKind | None = None) -> None:
        """Write ``sweep.json``. Raises ``ConfigurationError`` where the folder holds something else."""
        runs = tuple(ArmRecord(arm=trial.arm, seed=trial.seed, folder=trial.folder) for trial in trials)
        self._begin(file_of(SweepManifest(series=series, runs=runs)))

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


def read_sweep(file: Path) -> Sweep:
    """Read a sweep file. Raises ``ConfigurationError`` with the file and the place."""
    top = _table(_loaded(file), str(file), ("common", "arms", "seeds"))
    common = _values(top.get("common", {}), f"{file}: common")
    arms = top.get("arms")
    if not isinstance(arms, dict) or not arms:
        raise ConfigurationError(f"{file} has no arms; list what to compare below arms:, each with a name.")
    listed_arms = cast("dict[object, object]", arms).items()
    named = [arm for name, value in listed_arms for arm in _arms(file, str(name), value, common)]
    listed = top.get("seeds", [0])
    seeds = tuple(cast("list[int]", listed)) if isinstance(listed, list) else ()
    sound = all(type(seed) is int and 0 <= seed < 1 << 32 for seed in seeds)
    if not seeds or not sound or len(set(seeds)) < len(seeds):
        raise ConfigurationError(f"{file}: seeds: {shown(top['seeds'])} is not a list of seeds; write it like [0, 1, 2].")
    if len(seeds) * len(named) > MOST_RUNS:
        raise ConfigurationError(f"{file} has {len(seeds) * len(named)} runs; a sweep has at most {MOST_RUNS}.")
    folders = [slug(name, LONGEST_NAME) for name, _ in named]
    for (name, _), folder in zip(named, folders, strict=True):
        if folders.count(folder) > 1:
            raise ConfigurationError(f"{file}: the arm {shown(name)} would share its folder with another arm; rename one.")
    return Sweep(file, dict(named), seeds)


def plan_sweep(arms: Iterable[ConfiguredArm]) -> Iterator[ArmRun]:
    """The runs of a sweep, arm by arm. Raises ``ConfigurationError`` and ``KnowledgeError``."""
    for each in arms:
        yield ArmRun(each.arm, each.seed, each.folder, each.configuration, make_run_spec(each.configuration))


def configured_arms(sweep: Sweep, flags: Mapping[str, object], folder: Path | None = None) -> Iterator[ConfiguredArm]:
    """The arms of a sweep with each seed; ``flags`` apply to all. Raises ``ConfigurationError``."""
    given = {key: value for key, value in flags.items() if value is not None and value not in ([], ())}
    for arm, values in sweep.arms.items():
        for key in given:
            if key == "seed" or key in values:
                place = "seeds" if key == "seed" else f"the arm {shown(arm)}"
                raise ConfigurationError(
                    f"--{key.replace('_', '-')} is given, and {place} of {sweep.file} sets it too; leave one out."
                )
        for seed in sweep.seeds:
            source = SettingsSource(f"the arm {shown(arm)} of {sweep.file}", {**values, "seed": seed}, sweep.file.parent)
            configuration = configure(given, folder, source)
            if configuration.settings.repeat > 1 or configuration.settings.retries:
                again = "repeat" if configuration.settings.repeat > 1 else "retries"
                raise ConfigurationError(
                    f"{again} is set by {configuration.origin(again)}, and a sweep plays each task once with each seed; "
                    f"list more seeds, or evaluate the arm {shown(arm)} by itself."
                )
            name = f"{slug(arm, LONGEST_NAME)}-seed{seed}"
            yield ConfiguredArm(arm, seed, name, configuration)


def _arms(file: Path, name: str, value: object, common: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The arm ``name``, or the arms of its grid."""
    where = f"{file}: the arm {shown(name)}"
    own = dict(_table(value, where, (*SETTINGS, "grid")))
    points = _grid(own.pop("grid", {}), where)
    values = _values(own, where)
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
    if "set" in common and "set" in own:
        both["set"] = {**cast("dict[str, object]", common["set"]), **cast("dict[str, object]", own["set"])}
    return both


def _values(value: object, where: str) -> dict[str, object]:
    table = _table(value, where, SETTINGS)
    for key, item in table.items():
        if item is None and key != "rules":  # null unsets the rules
            raise ConfigurationError(f"{where}: {key} has no value; give it one or take it out.")
        if key == "set" and not isinstance(item, dict):
            raise ConfigurationError(f"{where}: set is not a table; write it like {{on_subgoal: off}}.")
    return {key: [item] if key in ("type", "grant") and isinstance(item, str) else item for key, item in table.items()}


def _table(value: object, where: str, known: tuple[str, ...]) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ConfigurationError(f"{where} is not a table of settings; known: {', '.join(known)}.")
    for key in cast("dict[object, object]", value):
        if key not in known:
            hint = nearest(str(key), known) or f" Known: {', '.join(known)}."
            raise ConfigurationError(f"{where} has {shown(key)}, which is unknown.{hint}")
    return cast("dict[str, object]", value)


def _loaded(file: Path) -> object:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.events import AliasEvent

    content = read_bytes(file, LARGEST_FILE, f"There is no sweep's file {file}.")
    try:
        events = YAML(typ="safe", pure=True).parse(content)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if b"*" in content and any(isinstance(event, AliasEvent) for event in events):  # pyright: ignore[reportUnknownVariableType]
            raise ConfigurationError(f"{file} uses YAML anchors and aliases, which are not supported; write each arm out.")
        return cast("object", YAML(typ="safe", pure=True).load(content))  # pyright: ignore[reportUnknownMemberType]
    except (YAMLError, ValueError, RecursionError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{file} is not YAML: {shown(' '.join(str(error).split()), 200)}.") from None
