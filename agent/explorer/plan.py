"""The specification of an exploration: a run, and how rules are learned from it. It is frozen once it begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel

from housequest.agent.config import Prices, Settings, world_of
from housequest.agent.evaluation.runs import files
from housequest.agent.evaluation.runs.budget import LARGEST_LEDGER, LedgerCall
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.explorer.groups import SHIPPED, read_distiller
from housequest.agent.models.registry import EXAMPLE, file_digest, models_of, parse_model, portable_name
from housequest.agent.networks import digest
from housequest.agent.roles.base import template_hashes
from housequest.agent.skills.contrary import strength
from housequest.knowledge.examples import evaluates
from housequest.knowledge.mining import scope_of
from housequest.knowledge.rules import Rule, RuleKind, RuleStatus, Standing
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.paths import FORMAT, Format
from housequest.worlds.tasks import EXPLORED, HELD_OUT

M = TypeVar("M", bound=BaseModel)
Acceptance = Literal["filter", "evidence", "person"]
DropCause = Literal["malformed", "known", "duplicate", "contradiction"]


class DroppedRule(files.Frozen):
    """A proposed rule that is not in the book, and ``why``. ``steps`` are those it cites, as run/task/step."""

    statement: str
    cause: DropCause
    why: str
    steps: tuple[str, ...] = ()


class BadCheck(files.Frozen):
    """A check that could not be parsed; its rule is kept without it."""

    statement: str
    check: str
    why: str


class FoundRule(files.Frozen):
    """A rule in the book with its verdict. ``note`` is a hint for a person."""

    id: str
    statement: str
    kind: RuleKind | None
    status: RuleStatus
    standing: Standing
    supports: int
    contradicts: int
    check: str | None
    note: str = ""

    @classmethod
    def of(cls, rule: Rule, disputes: Sequence[str]) -> FoundRule:
        """The entry for ``rule``, which contradicts the rules with the ids ``disputes``."""
        overruled = rule.standing == "contradicted" and rule.status != "rejected"
        note = f"excludes {' and '.join(disputes)}; a person has to decide" if disputes else ""
        return cls(
            **{name: getattr(rule, name) for name in ("id", "statement", "kind", "status", "standing")},
            supports=rule.evidence.supports,
            contradicts=rule.evidence.contradicts,
            check=str(rule.check) if rule.check else None,
            note=note or ("the records contradict it" if overruled else ""),
        )


class RetiredRule(files.Frozen):
    """A rule of the book that was accepted before, and ``why`` it no longer is."""

    id: str
    statement: str
    status: RuleStatus
    why: str

    @classmethod
    def of(cls, rule: Rule, winner: Rule) -> RetiredRule:
        """The entry for ``rule``, which ``winner`` excludes."""
        more = strength(winner) > strength(rule)
        why = f"{winner.id} excludes it and {'has more evidence' if more else 'is newer'}: {winner.statement}"
        return cls(id=rule.id, statement=rule.statement, status=rule.status, why=why)


class FailedCall(files.Frozen):
    """A call that failed. ``again``: the same command will retry it."""

    what: str
    why: str
    again: bool


class PlayTotals(files.Frozen):
    """Totals of the episodes; ``curious`` counts the steps chosen at random."""

    episodes: int
    won: int
    errors: int
    steps: int
    curious: int


class ExplorationReport(files.Frozen):
    """The report of an exploration. Without a ``distiller``, rules were counted. ``besides`` names the other runs used for
    evidence. Each of the ``proposed`` rules is found or dropped. ``calls`` and ``tokens`` are only those of learning."""

    format: Format = FORMAT
    accept: Acceptance
    into: str
    besides: tuple[str, ...] = ()
    distiller: str | None
    played: PlayTotals
    chunks: int
    proposed: int
    found: tuple[FoundRule, ...]
    dropped: tuple[DroppedRule, ...]
    retired: tuple[RetiredRule, ...] = ()
    checks: tuple[BadCheck, ...] = ()
    lost: tuple[FailedCall, ...] = ()
    calls: int = 0
    tokens: int = 0

    def left(self, *, retry_errors: bool) -> bool:
        """True if the same command would retry something."""
        return any(each.again for each in self.lost) or (retry_errors and self.played.errors > 0)


LARGEST = 256 << 20
NO_MODEL, GROUPS = "none", "groups"
"""The distillers that are no language models: counting alone, and the small network, or ``groups:FILE`` for another one."""


class LearningConfig(files.Frozen):
    """The settings for learning rules from the run (``explore.json``). Without a ``distiller``, rules are counted.
    ``script_sha256`` is the digest of its file, if it has one."""

    format: Format = FORMAT
    distiller: str | None
    script_sha256: str | None
    chunk_steps: int
    chunk_tokens: int
    reply_tokens: int
    prompts: dict[str, str]


class LearningSizes(files.Frozen):
    """The tokens of a chunk and of a reply that fit into the model's context (``sizes.json``). They are saved before the first
    call, so that a resumed exploration makes the same calls even if the server's context has changed."""

    format: Format = FORMAT
    chunk_tokens: int
    reply_tokens: int


@dataclass(frozen=True, slots=True)
class ExploreOptions:
    """The options of an exploration beyond a run's configuration. ``episodes`` is the number of tasks drawn from the split.
    ``distiller`` is a model's name, ``none`` for counting, ``groups`` for the small network, or None for the model that plays.
    ``reply_tokens`` limits the replies in learning."""

    episodes: int = 50
    curiosity: float = 0.2
    distiller: str | None = None
    chunk_steps: int = 80
    chunk_tokens: int = 6_000
    reply_tokens: int = 2_048


@dataclass(frozen=True, slots=True)
class Exploration:
    """An exploration ready to begin. ``model`` is the distiller with its address, ``prices`` its prices per token; or
    ``network`` is the file of a small one that distils groups."""

    run: RunSpec
    learning: LearningConfig
    model: str | None
    prices: Prices | None
    network: Path | None = None

    @property
    def default_folder(self) -> Path:
        """The default folder; equal explorations get the same one."""
        run = self.run.default_folder
        learning = self.learning.model_dump_json()
        digest = sha256(f"{run}\n{learning}".encode()).hexdigest()[:8]
        return run.with_name(f"explore-{run.name.rpartition('-')[0]}-{digest}")


def plan_exploration(settings: Settings, options: ExploreOptions) -> Exploration:
    """Fill in every default. Raises ``ConfigurationError`` and ``KnowledgeError``."""
    if not 0 <= options.curiosity <= 1:
        raise ConfigurationError(f"--curiosity: {options.curiosity:g} is not a probability; give 0 to 1.")
    for name in ("episodes", "chunk_steps", "chunk_tokens", "reply_tokens"):
        if not 1 <= (number := getattr(options, name)) <= 1_000_000:
            raise ConfigurationError(f"--{name.replace('_', '-')}: {number} is out of range; give 1 to 1000000.")
    world = world_of(settings)
    if world.household is None:
        raise ConfigurationError(f"Rules are learned from a world's texts, and there is no reader for those of {world.name!r}.")
    split = settings.split or world.split_for("explore")
    refuse_evaluation(split, (), "--split")
    settings = settings.model_copy(update={"split": split, "limit": None, "sample": options.episodes})
    run = make_run_spec(settings, curiosity=options.curiosity or None, usual=EXPLORED)
    refuse_evaluation(split, run.manifest.tasks, "--split")
    kind, _, file = (options.distiller or "").partition(":")
    network = (Path(file) if file else SHIPPED) if kind == GROUPS else None
    if network is not None:
        read_distiller(network)
        if scope_of([split], world.info.homes) != "household":
            raise ConfigurationError(f"--distiller {GROUPS}: it distils the days of a home; give --split household:SEED.")
    chosen = NO_MODEL if network else options.distiller
    model = chosen or (models_of(settings.model).get("") if settings.model else None)
    brief = model is not None and model != NO_MODEL and parse_model(model).provider.brief
    if brief and options.distiller is not None:
        raise ConfigurationError(
            f"--distiller: {shown(options.distiller, 60)} plays households and cannot distil rules. Name a chat model, for "
            f"example {EXAMPLE}, or {NO_MODEL!r} to count alone."
        )
    if brief or model == NO_MODEL:
        model = None
    learning = LearningConfig(
        distiller=GROUPS if network else portable_name(model) if model else None,
        script_sha256=digest(network) if network else file_digest(model) if model else None,
        chunk_steps=options.chunk_steps,
        chunk_tokens=options.chunk_tokens,
        reply_tokens=options.reply_tokens,
        prompts=template_hashes("housequest.agent.explorer") if model else {},
    )
    return Exploration(run, learning, model, settings.prices_of(model) if model else None, network)


def refuse_evaluation(split: str, tasks: Iterable[files.SelectedTask], flag: str) -> None:
    """Raise ``ConfigurationError`` for a ``split``, or ``tasks`` of it, that agents are evaluated on."""
    if evaluates(split):
        raise ConfigurationError(
            f"{flag}: {shown(split)} is for evaluation; rules learned from it would make its results meaningless. Use train or "
            "generated."
        )
    if held := next((task.number for task in tasks if evaluates(task.id.partition("/")[0], task.number)), None):
        raise ConfigurationError(f"{flag}: houses from {HELD_OUT.start:,} on are for evaluation, as {held:,}; name others.")


class ExplorationFolder(RunFolder):
    """A run's folder with the files of learning: its configuration, its calls and its report."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.learning_file = path / "explore.json"
        self.sizes_file = path / "sizes.json"
        self.calls_file = path / "calls.jsonl"
        self.report_file = path / "report.json"

    def report(self) -> ExplorationReport | None:
        """Read the report; None before the end. Raises ``ConfigurationError`` if it is damaged."""
        return _kept(ExplorationReport, self.report_file, " Delete the file: the same `housequest explore` makes it anew.")

    def sizes(self) -> LearningSizes | None:
        """Read the sizes that fit; None if they are unknown. Raises ``ConfigurationError`` if the file is damaged."""
        way_out = " Delete the file: the sizes are found out anew, and some calls are made again."
        return _kept(LearningSizes, self.sizes_file, way_out)

    def begin_exploration(self, exploration: Exploration) -> None:
        """Write the configuration, or compare it with an existing one. Raises ``ConfigurationError`` with the differences if
        another exploration has begun here."""
        file, learning = self.learning_file, exploration.learning
        with self.locked():
            self.begin(exploration.run.manifest)
            files.begin_run(file, learning, lambda: files.differences(_kept(LearningConfig, file) or learning, learning))


def _kept(kind: type[M], file: Path, way_out: str = "") -> M | None:
    return files.parsed(kind, files.read_bytes(file, LARGEST), str(file), way_out) if file.exists() else None


def learning_faults(folder: Path) -> list[files.Fault]:
    """The faults of the files of learning in ``folder``; none without such files."""
    place = ExplorationFolder(folder)
    kept = ((LearningConfig, place.learning_file), (LearningSizes, place.sizes_file), (ExplorationReport, place.report_file))
    calls = files.faults_of(LedgerCall, place.calls_file, LARGEST_LEDGER, lines=True)
    return [*(fault for kind, file in kept for fault in files.faults_of(kind, file, LARGEST)), *calls]
