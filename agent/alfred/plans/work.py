"""Runs over ALFRED's instructions: their configuration, their execution, the classes of failed plans, and their folders.

::

    run.json         the frozen manifest
    calls.jsonl      every answered call of the model, with its prompt
    results.jsonl    one line per instruction, in task order

During a run only answered calls are saved. Resuming computes the rest from them: answered calls are not repeated, and failed
ones are tried once more.

A failed plan gets one of LoTa-Bench's six classes (table 1), by rules over plan, goal and instruction. An object or place other
than the goal's comes first, as people would notice it first: the class is a misunderstood instruction if a word of it could
mean both ("lamp"), an ambiguous or incorrect one if the person named another object or none, and an object selection failure
otherwise. Next, the refused step decides. A plan without a refusal left a step out.
"""

from __future__ import annotations

import asyncio
import platform
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

from housequest.agent.alfred.plans import planners
from housequest.agent.config import Prices, Settings
from housequest.agent.episodes.record import with_digest
from housequest.agent.evaluation.analysis.failures import LotaClass
from housequest.agent.evaluation.runs import budget, files
from housequest.agent.evaluation.runs.batch import RunOptions, RunProgress, run_workers, stopped_when_full
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.shard import Verification
from housequest.agent.evaluation.runs.spec import check_one_limit, default_folder, find_types, installed_version
from housequest.agent.models.embeddings import make_embedder
from housequest.agent.models.registry import file_digest, make_model, parse_model, portable_name
from housequest.agent.roles.base import template_hashes
from housequest.worlds.alfred import PLANS
from housequest.worlds.alfred.model import Cause, Plan
from housequest.worlds.alfred.tasks import TASK_TYPES, Demonstration, Level, PlanScore, level, read_split, score
from housequest.worlds.errors import ConfigurationError, ModelError, nearest, shown
from housequest.worlds.household.goals import KNIVES, SYNONYMS
from housequest.worlds.options import Scalar, read_options
from housequest.worlds.paths import FORMAT, Format, atomic_write
from housequest.worlds.registry import outs

TRAIN = "train"


class PlanConfig(files.Frozen):
    """The resolved configuration of a run. ``model`` has no host or folder."""

    world: Literal["alfred-plans"] = "alfred-plans"
    split: str
    types: tuple[str, ...]
    limit: int | None
    sample: int | None
    seed: int
    agent: str
    settings: planners.PlannerSettings
    model: str | None
    script_sha256: str | None


class PlanManifest(files.Frozen):
    """The manifest of a run. ``of`` is the size of the split; ``tasks`` are ids, ``.../trial#annotator``."""

    format: Format = FORMAT
    family: Literal["alfred-plans"] = "alfred-plans"
    housequest: str
    configuration: PlanConfig
    data: str
    prompts: dict[str, str]
    of: int
    tasks: tuple[str, ...]
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class PlanRun:
    """A run that can begin. ``timeout`` limits one attempt at a model call, in seconds; ``prices`` are the model's."""

    manifest: PlanManifest
    tasks: tuple[planners.PlanTask, ...]
    pool: planners.ExamplePool
    model: str | None
    timeout: float = 60.0
    prices: Prices | None = None

    @property
    def config(self) -> PlanConfig:
        return self.manifest.configuration

    @property
    def default_folder(self) -> Path:
        """The default folder; equal runs get the same name."""
        config = self.config
        return default_folder(self.manifest, PLANS, config.split, config.agent, (config.model or "").partition(":")[2])


def make_run(
    settings: Settings, data: Path | None = None, read: Callable[[str, Path | None], tuple[Demonstration, ...]] = read_split
) -> PlanRun:
    """Make a run, with defaults for everything that ``settings`` leave open. Raises ``ConfigurationError`` and
    ``GameError``."""
    agent = settings.agent or "nearest"
    if agent not in planners.PLANNERS:
        known = ", ".join(planners.PLANNERS)
        raise ConfigurationError(
            f"No planner of {PLANS} is named {shown(agent)}; known: {known}.{nearest(agent, tuple(planners.PLANNERS))}"
        )
    if planners.PLANNERS[agent].has_agent and agent in outs("housequest.agents"):
        raise ConfigurationError(f"The planner {agent!r} needs the agent of that name, which is not installed here.")
    needs_model = planners.PLANNERS[agent].needs_model
    model = settings.model if needs_model else None
    if needs_model and model is None:
        raise ConfigurationError(f"The planner {agent!r} needs a language model; name one with --model.")
    if model is not None:
        parse_model(model)  # refuses a model for each role, since a planner has only one
    own = _settings(agent, settings.set)
    split, seed = settings.split or "valid_seen", settings.seed or 0
    every = read(split, data)
    source = every if split == TRAIN else read(TRAIN, data)
    tasks = planners.plan_tasks(every)
    check_one_limit(settings.limit, settings.sample)
    types = find_types(settings.type, sorted(TASK_TYPES))
    chosen = [task for task in tasks if not types or task.demonstration.type in types][: settings.limit]
    if settings.sample is not None and settings.sample < len(chosen):
        chosen = [chosen[place] for place in sorted(random.Random(seed).sample(range(len(chosen)), settings.sample))]
    if not chosen:
        raise ConfigurationError("No instruction is left of the split; ask for fewer types.")
    examples = planners.drawn(planners.plan_tasks(source), own.pool, seed)
    digest = sha256()
    for one in (*every, *(source if split != TRAIN else ())):
        told = [(each.annotator, each.goal, each.steps) for each in one.instructions]
        lying = [(thing.kind, thing.place) for thing in one.scene.things]
        digest.update(repr((one.id, one.goal, one.plan, told, lying)).encode("utf-8", "backslashreplace"))
    config = PlanConfig(
        split=split,
        types=types,
        limit=settings.limit,
        sample=settings.sample,
        seed=seed,
        agent=agent,
        settings=own,
        model=portable_name(model) if model else None,
        script_sha256=file_digest(model) if model else None,
    )
    manifest = PlanManifest(
        housequest=installed_version("housequest") or "0",
        configuration=config,
        data=digest.hexdigest(),
        prompts=_prompts(agent, own) if model else {},
        of=len(tasks),
        tasks=tuple(task.id for task in chosen),
        versions={"python": platform.python_version()},
    )
    prices = settings.prices_of(model) if model else None
    embedder = make_embedder(own.embedder) if own.choose == "embeddings" else None
    pool = planners.ExamplePool(examples, stepwise=own.steps, embedder=embedder)
    return PlanRun(manifest, tuple(chosen), pool, model, settings.timeout, prices)


def _settings(agent: str, given: Mapping[str, Scalar]) -> planners.PlannerSettings:
    owner, sort = f"The planner {agent!r}", planners.PLANNERS[agent]
    for field in fields(planners.PlannerSettings):
        takers = [name for name, other in planners.PLANNERS.items() if field.name in other.takes]
        if field.name in given and takers and agent not in takers:
            raise ConfigurationError(f"{owner} has no setting {field.name!r}; it is one of {', '.join(takers)}.")
    values = {key: None if (key, value) == ("pool", "all") else value for key, value in {**sort.defaults, **given}.items()}
    own = read_options(planners.PlannerSettings, values, owner=owner, word="setting")
    if own.choose == "embeddings" and not own.embedder:
        raise ConfigurationError(f"{owner} chooses by embeddings and has no embedding model; give --set embedder=openai:NAME.")
    if own.embedder and own.choose != "embeddings":
        raise ConfigurationError(f"{owner} has an embedder, which only choose=embeddings asks; give that too, or leave it out.")
    return own


def _prompts(agent: str, own: planners.PlannerSettings) -> dict[str, str]:
    plans, again = template_hashes(planners.PACKAGE), {"again": template_hashes("housequest.agent.roles")["again"]}
    match agent:
        case "lota":
            return template_hashes("housequest.agent.agents.lota") | again
        case "socratic" if own.decompose != "none":
            theirs, names = template_hashes("housequest.agent.agents.socratic"), ("alfred_plan", "alfred_found")
        case _:
            theirs, names = {}, ("alfred_plan", *(("alfred_grounding",) if own.replanning else ()))
    return theirs | {name: plans[name] for name in names} | again


PlanOutcome = Literal["planned", "unreadable", "error"]


class PlanResult(files.Frozen):
    """The result of one instruction. ``cause`` and ``step`` tell where the symbolic model refused the plan. With replanning,
    the fields that begin with ``executed`` are about the steps executed of all plans; the others are about the first plan."""

    task: str
    type: str
    level: Level
    outcome: PlanOutcome
    plan: tuple[str, ...] = ()
    exact: bool = False
    reaches: bool = False
    wherever: bool = False
    met: int = 0
    conditions: int
    cause: str | None = None
    step: int | None = None
    reason: str = ""
    lota_class: LotaClass | None = None
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    executed: tuple[str, ...] | None = None
    executed_exact: bool = False
    executed_reaches: bool = False
    revisions: int = 0


def read_manifest(folder: Path) -> PlanManifest:
    """Read the manifest of the run in ``folder``. Raises ``ConfigurationError``."""
    file = folder / "run.json"
    return files.parsed(PlanManifest, files.read_bytes(file, files.LARGEST_MANIFEST), str(file))


def read_rows(folder: Path) -> list[PlanResult]:
    """Read the results in ``folder`` so far. Raises ``ConfigurationError`` naming a damaged line."""
    file = folder / "results.jsonl"
    rows = list(files.parsed_lines(PlanResult, file, way_out=files.EVAL_REWRITES))
    if len({row.task for row in rows}) < len(rows):
        raise ConfigurationError(f"{file} is damaged: a task has two lines.{files.EVAL_REWRITES}")
    return rows


def verify_plans(folder: Path) -> Verification:
    manifest, results, calls = (folder / name for name in ("run.json", "results.jsonl", "calls.jsonl"))
    if faults := files.faults_of(PlanManifest, manifest, files.LARGEST_MANIFEST):
        return Verification(folder, faults=tuple(faults))
    try:
        finished = len(read_rows(folder))
        faults = []
    except ConfigurationError as error:
        finished, faults = 0, [files.Fault(str(results), str(error))]
    faults += files.faults_of(budget.LedgerCall, calls, budget.LARGEST_LEDGER, lines=True)
    return Verification(folder, len(read_manifest(folder).tasks), finished, tuple(faults))


async def score_plans(
    run: PlanRun, folder: Path, options: RunOptions | None = None, tracker: budget.BudgetTracker | None = None
) -> list[PlanResult]:
    """Plan and score every instruction of ``run``. If it is cancelled or stopped, answered calls and results so far are kept.

    Returns:
        The results in task order.

    Raises:
        Stopped: The budget, the model or a full disk ended the run early.
        ConfigurationError: The folder holds another run."""
    options, tracker = options or RunOptions(), tracker or budget.BudgetTracker()
    with stopped_when_full(folder), RunFolder(folder).locked():
        files.begin_run(folder / "run.json", run.manifest, lambda: files.differences(read_manifest(folder), run.manifest))
        model = make_model(run.model, timeout=run.timeout) if run.model else None
        rows: dict[str, PlanResult] = {}
        waiting = iter(run.tasks)

        async def work() -> None:
            while not tracker.over() and (task := next(waiting, None)) is not None:
                try:
                    rows[task.id] = await _result(run.config.agent, planner, task)
                except budget.RunHalted:
                    return
                errors, cost = sum(row.outcome == "error" for row in rows.values()), tracker.used.money
                options.watcher(RunProgress(len(rows), len(run.tasks), won=None, errors=errors, resumed=0, cost=cost))
                # A planner without a model never awaits, so without this no other task would run.
                await asyncio.sleep(0)

        try:
            planner = planners.Planner(run.pool, run.config.settings, run.config.seed)
            if model is not None:
                ledger = budget.Ledger(folder / "calls.jsonl")
                tracker.used += ledger.used(run.prices)
                metered = budget.MeteredModel(model, tracker, run.prices)
                planner = replace(planner, model=budget.LedgerModel(metered, run.config.model or "", "alfred_plan", ledger))
            await run_workers([work() for _ in range(options.concurrency)], tracker.ring())
        finally:
            if model is not None:
                await model.aclose()
            ordered = [rows[task.id] for task in run.tasks if task.id in rows]
            lines = (f"{with_digest(row.model_dump_json(exclude_defaults=True))}\n" for row in ordered)
            atomic_write(folder / "results.jsonl", "".join(lines).encode())
    if len(ordered) < len(run.tasks):
        raise tracker.ended()
    return ordered


async def _result(agent: str, planner: planners.Planner, task: planners.PlanTask) -> PlanResult:
    one = task.demonstration
    outcome: PlanOutcome = "error"
    try:
        proposal = await planners.PLANNERS[agent].plan(planner, task)
        outcome = "unreadable" if proposal.plan is None else "planned"
    except ModelError as error:
        proposal = planners.PlanProposal(None, error.recorded)
    # Even without a plan, the house may meet a condition at the start.
    worth = score(proposal.plan or (), one)
    refusal = worth.refusal
    carried = None if proposal.executed is None else score(proposal.executed, one)
    return PlanResult(
        task=task.id,
        type=one.type,
        level=level(len(one.plan)),
        outcome=outcome,
        plan=tuple(map(str, proposal.plan or ())),
        **{name: getattr(worth, name) for name in ("exact", "reaches", "wherever", "met", "conditions")},
        cause=refusal.cause if refusal else None,
        step=refusal.step if refusal else None,
        reason=proposal.reason,
        lota_class=None if proposal.plan is None else plan_failure(proposal.plan, task, worth),
        calls=len(proposal.calls),
        prompt_tokens=sum(call.prompt_tokens or 0 for call in proposal.calls),
        completion_tokens=sum(call.completion_tokens or 0 for call in proposal.calls),
        executed=None if proposal.executed is None else tuple(map(str, proposal.executed)),
        executed_exact=carried is not None and carried.exact,
        executed_reaches=carried is not None and carried.reaches,
        revisions=proposal.revisions,
    )


_LONGEST_NAME = 4  # Words of the longest name: "hand towel holder".
_SHORTEST_PART = 3  # Letters of the shortest word that may be a part of a name.
_WORD = re.compile(r"[a-z]+")
_CAUSES: dict[Cause, LotaClass] = {
    **{"unknown name": LotaClass.SELECTION, "not in this room": LotaClass.SELECTION, "not here": LotaClass.SEEING},
    **dict.fromkeys(("hand full", "does not go there", "not possible with it"), LotaClass.PHYSICS),
    **dict.fromkeys(("not in hand", "no knife in hand", "not at the appliance"), LotaClass.PLANNING),
}
"""The class of each refusal: an object is not there, the robot's body does not allow it, or an earlier step is missing."""


def plan_failure(plan: Plan, task: planners.PlanTask, worth: PlanScore) -> LotaClass | None:
    """The class of a plan that was scored ``worth``; None if it reaches its goal."""
    if worth.reaches:
        return None
    words = _WORD.findall(task.instruction.text(stepwise=True).lower())
    goal = task.demonstration.goal
    taken = [step.thing for step in plan if step.action == "PickupObject"]
    places = [step.receptacle for step in plan if step.action == "PutObject" and step.receptacle]
    lit = [step.thing for step in plan if step.action == "ToggleObject"]
    own = {goal.object, goal.receptacle, goal.movable, goal.lamp, *(KNIVES if goal.sliced else ())}
    # Each object of the goal that the plan leaves out, with the object used instead.
    for wanted, used in ((goal.object, taken), (goal.movable, [*taken, *places]), (goal.lamp, lit), (goal.receptacle, places)):
        instead = next((name for name in used if name not in own), None)
        if not wanted or not instead or wanted in used:
            continue
        if _named(wanted, words):
            return LotaClass.SELECTION
        part = _part(wanted, words)
        if not part:
            return LotaClass.AMBIGUOUS
        return LotaClass.MISUNDERSTOOD if part & _part(instead, words) else LotaClass.SELECTION
    return _CAUSES[worth.refusal.cause] if worth.refusal else LotaClass.PLANNING


def _named(kind: str, words: list[str]) -> bool:
    """True if the instruction names ``kind``: in one or more words ("desk lamp"), in the plural, or by a usual synonym."""
    spans = ("".join(words[at : at + length]) for length in range(1, _LONGEST_NAME + 1) for at in range(len(words)))
    forms = {form for span in spans for form in (span, span.removesuffix("s"), span.removesuffix("es"))}
    # A synonym that is part of the name, such as "lamp", may mean another kind.
    return kind in forms or any(SYNONYMS.get(form) == kind and form not in kind for form in forms)


def _part(kind: str, words: list[str]) -> set[str]:
    """The words that name a part of ``kind``: "lamp" of a floorlamp."""
    singular = {word.removesuffix("s") for word in words} | set(words)
    return {word for word in singular if len(word) >= _SHORTEST_PART and (kind.endswith(word) or kind.startswith(word))}
