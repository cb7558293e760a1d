"""The specification of an exploration: a run, and how rules are learned from it. It is frozen once it begins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from housequest.agent.config import Configuration, Prices, world_of
from housequest.agent.evaluation.runs.budget import LARGEST_LEDGER, LedgerCall
from housequest.agent.evaluation.runs.files import Fault, begin_run, differences, faults_of, parsed, read_bytes
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.explorer.report import ExplorationReport
from housequest.agent.models.registry import EXAMPLE, file_digest, parse_model, portable_name
from housequest.agent.roles.base import template_hashes
from housequest.knowledge.examples import is_evaluation_split
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.paths import FORMAT, Format

LARGEST = 256 << 20
NO_MODEL = "none"


class LearningConfig(BaseModel):
    """How rules are learned from the run (``explore.json``). ``distiller`` None: by counting."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Format = FORMAT
    distiller: str | None
    script_sha256: str | None
    chunk_steps: int
    chunk_tokens: int
    reply_tokens: int
    prompts: dict[str, str]


class LearningRoom(BaseModel):
    """Tokens of a chunk and of a reply that the model's context has room for (``room.json``).

    Kept with the first call, so that a resumed exploration makes the same calls: its server may have another context by then.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Format = FORMAT
    chunk_tokens: int
    reply_tokens: int


@dataclass(frozen=True, slots=True)
class ExploreOptions:
    """The options of an exploration beyond a run's configuration.

    ``episodes`` is how many tasks are drawn from the split. ``distiller`` is a model's name, ``none`` for counting, or None for
    the model that plays. ``reply_tokens`` is the longest reply in learning.
    """

    episodes: int = 50
    curiosity: float = 0.2
    distiller: str | None = None
    chunk_steps: int = 80
    chunk_tokens: int = 6_000
    reply_tokens: int = 2_048


@dataclass(frozen=True, slots=True)
class Exploration:
    """An exploration ready to begin. ``model`` is the distiller with its address, ``prices`` its prices per token."""

    run: RunSpec
    learning: LearningConfig
    model: str | None
    prices: Prices | None

    @property
    def default_folder(self) -> Path:
        """The default folder; the same exploration always gets the same one."""
        run = self.run.default_folder
        learning = self.learning.model_dump_json()
        digest = sha256(f"{run}\n{learning}".encode()).hexdigest()[:8]
        return run.with_name(f"explore-{run.name.rpartition('-')[0]}-{digest}")


def plan_exploration(configuration: Configuration, options: ExploreOptions) -> Exploration:
    """Fill in every default. Raises ``ConfigurationError`` and ``KnowledgeError``."""
    if not 0 <= options.curiosity <= 1:
        raise ConfigurationError(f"--curiosity: {options.curiosity:g} is not a probability; give 0 to 1.")
    for name in ("episodes", "chunk_steps", "chunk_tokens", "reply_tokens"):
        if not 1 <= (number := getattr(options, name)) <= 1_000_000:
            raise ConfigurationError(f"--{name.replace('_', '-')}: {number} is out of range; give 1 to 1000000.")
    settings = configuration.settings
    world = world_of(settings)
    if world.household is None:
        raise ConfigurationError(
            f"Rules are learned from what a world's texts tell, and nothing reads those of {world.name!r}."
        )
    split = settings.split or world.training_split
    refuse_evaluation_split(split, "--split")
    settings = settings.model_copy(update={"split": split, "limit": None, "sample": options.episodes})
    run = make_run_spec(replace(configuration, settings=settings), curiosity=options.curiosity or None)
    model = options.distiller or settings.model
    if model == NO_MODEL or (model is not None and _is_builtin(model) and options.distiller is None):
        model = None
    if model is not None and _is_builtin(model):
        raise ConfigurationError(
            f"--distiller: {shown(model, 60)} plays households and cannot distil rules. Name a chat model, for example "
            f"{EXAMPLE}, or {NO_MODEL!r} to count alone."
        )
    learning = LearningConfig(
        distiller=portable_name(model) if model else None,
        script_sha256=file_digest(model) if model else None,
        chunk_steps=options.chunk_steps,
        chunk_tokens=options.chunk_tokens,
        reply_tokens=options.reply_tokens,
        prompts=template_hashes("housequest.agent.explorer") if model else {},
    )
    return Exploration(run, learning, model, settings.prices_of(model) if model else None)


def _is_builtin(model: str) -> bool:
    return parse_model(model).provider.brief


def refuse_evaluation_split(split: str, flag: str) -> None:
    """Raise ``ConfigurationError`` for a split that agents are evaluated on."""
    if is_evaluation_split(split):
        raise ConfigurationError(
            f"{flag}: {shown(split)} is for evaluation; rules learned from it would make its results meaningless. Use train or "
            "generated."
        )


class ExplorationFolder(RunFolder):
    """A run's folder with the files of learning: its configuration, its calls and its report."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.learning_file = path / "explore.json"
        self.room_file = path / "room.json"
        self.calls_file = path / "calls.jsonl"
        self.report_file = path / "report.json"

    def report(self) -> ExplorationReport | None:
        """The report, None before the end. Raises ``ConfigurationError`` if it is damaged."""
        if not self.report_file.exists():
            return None
        way_out = " Delete the file: the same `housequest explore` makes it anew."
        return parsed(ExplorationReport, read_bytes(self.report_file, LARGEST), str(self.report_file), way_out)

    def room(self) -> LearningRoom | None:
        """The sizes that were found to fit, None before. Raises ``ConfigurationError`` if the file is damaged."""
        if not self.room_file.exists():
            return None
        way_out = " Delete the file: the sizes are found out anew, and some calls are made again."
        return parsed(LearningRoom, read_bytes(self.room_file, LARGEST), str(self.room_file), way_out)

    def begin_exploration(self, exploration: Exploration) -> None:
        """Write the configuration, or compare it with the one already there.

        Raises ``ConfigurationError`` with the differences if another exploration has begun here.
        """
        file, learning = self.learning_file, exploration.learning
        with self.locked():
            self.begin(exploration.run.manifest)
            begin_run(
                file, learning, lambda: differences(parsed(LearningConfig, read_bytes(file, LARGEST), str(file)), learning)
            )


def learning_faults(folder: Path) -> list[Fault]:
    """What is not whole in the files of learning in ``folder``; nothing where there are none."""
    place = ExplorationFolder(folder)
    files = ((LearningConfig, place.learning_file), (LearningRoom, place.room_file), (ExplorationReport, place.report_file))
    calls = faults_of(LedgerCall, place.calls_file, LARGEST_LEDGER, lines=True)
    return [*(fault for kind, file in files for fault in faults_of(kind, file, LARGEST)), *calls]
