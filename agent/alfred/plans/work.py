"""Play a run over ALFRED's instructions, and keep its folder.

::

    run.json         the frozen manifest
    calls.jsonl      every answered call of the model, with its prompt
    results.jsonl    one line per instruction, in task order

Only answered calls are kept while a run is played. Resuming computes the rest again: answered calls are not repeated, and
failed ones are tried once more.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

from housequest.agent.alfred.plans.failures import plan_failure
from housequest.agent.alfred.plans.lota import LotaPlanner
from housequest.agent.alfred.plans.planners import InContextPlanner, NearestPlanner, Planner, PlanProposal, SocraticPlanner
from housequest.agent.alfred.plans.pool import PlanTask
from housequest.agent.alfred.plans.run import PlanManifest, PlanRun
from housequest.agent.episodes.record import with_digest
from housequest.agent.evaluation.analysis.failures import LotaClass
from housequest.agent.evaluation.runs.batch import RunOptions, RunProgress, run_workers, stopped_when_full
from housequest.agent.evaluation.runs.budget import (
    LARGEST_LEDGER,
    BudgetTracker,
    Ledger,
    LedgerCall,
    LedgerModel,
    MeteredModel,
    RunHalted,
)
from housequest.agent.evaluation.runs.files import (
    EVAL_REWRITES,
    LARGEST_MANIFEST,
    Fault,
    Frozen,
    begin_run,
    differences,
    faults_of,
    parsed,
    parsed_lines,
    read_bytes,
)
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.shard import Verification
from housequest.agent.models.base import Model
from housequest.agent.models.registry import make_model
from housequest.worlds.alfred.scoring import Level, level, score
from housequest.worlds.errors import ConfigurationError, ModelError
from housequest.worlds.paths import atomic_write

PlanOutcome = Literal["planned", "unreadable", "error"]


class PlanResult(Frozen):
    """The result of one instruction. ``cause`` and ``step`` say where the symbolic model refused the plan.

    Where the planner was asked again, ``executed`` is what was carried out of its plans, and the two below are its worth; all
    other fields are about the first plan.
    """

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
    """The manifest of the run in ``folder``. Raises ``ConfigurationError``."""
    file = folder / "run.json"
    return parsed(PlanManifest, read_bytes(file, LARGEST_MANIFEST), str(file))


def read_rows(folder: Path) -> list[PlanResult]:
    """The results in ``folder`` so far. Raises ``ConfigurationError`` naming a damaged line."""
    file = folder / "results.jsonl"
    rows = list(parsed_lines(PlanResult, file, way_out=EVAL_REWRITES))
    if len({row.task for row in rows}) < len(rows):
        raise ConfigurationError(f"{file} is damaged: a task has two lines.{EVAL_REWRITES}")
    return rows


def verify_plans(folder: Path) -> Verification:
    """Look at every file of the run in ``folder``."""
    manifest, results, calls = (folder / name for name in ("run.json", "results.jsonl", "calls.jsonl"))
    if faults := faults_of(PlanManifest, manifest, LARGEST_MANIFEST):
        return Verification(folder, faults=tuple(faults))
    try:
        finished = len(read_rows(folder))
        faults = []
    except ConfigurationError as error:
        finished, faults = 0, [Fault(str(results), str(error))]
    faults += faults_of(LedgerCall, calls, LARGEST_LEDGER, lines=True)
    return Verification(folder, len(read_manifest(folder).tasks), finished, tuple(faults))


async def score_plans(
    run: PlanRun, folder: Path, options: RunOptions | None = None, tracker: BudgetTracker | None = None
) -> list[PlanResult]:
    """Plan and score every instruction of ``run``; returns the results in task order.

    If it is cancelled or stopped, answered calls and results so far are kept. Raises ``Stopped`` where the budget, the model or
    a full disk ended the run early, and ``ConfigurationError`` where the folder holds another run.
    """
    options, tracker = options or RunOptions(), tracker or BudgetTracker()
    with stopped_when_full(folder), RunFolder(folder).locked():
        begin_run(folder / "run.json", run.manifest, lambda: differences(read_manifest(folder), run.manifest))
        model = make_model(run.model, timeout=run.timeout) if run.model else None
        rows: dict[str, PlanResult] = {}
        waiting = iter(run.tasks)

        async def work() -> None:
            while not tracker.over() and (task := next(waiting, None)) is not None:
                try:
                    rows[task.id] = await _result(planner, task)
                except RunHalted:
                    return
                if options.watcher is not None:
                    errors, cost = sum(row.outcome == "error" for row in rows.values()), tracker.used.money
                    options.watcher(RunProgress(len(rows), len(run.tasks), won=None, errors=errors, resumed=0, cost=cost))
                # A planner without a model never awaits: without this, no other task would run until the end.
                await asyncio.sleep(0)

        try:
            planner = _planner(run, folder, model, tracker)
            await run_workers([work() for _ in range(options.workers)], tracker.ring())
        finally:
            if model is not None:
                await model.aclose()
            ordered = [rows[task.id] for task in run.tasks if task.id in rows]
            lines = (f"{with_digest(row.model_dump_json(exclude_defaults=True))}\n" for row in ordered)
            atomic_write(folder / "results.jsonl", "".join(lines).encode())
    if len(ordered) < len(run.tasks):
        raise tracker.ended()
    return ordered


def _planner(run: PlanRun, folder: Path, model: Model | None, tracker: BudgetTracker) -> Planner:
    config = run.config
    if model is None:
        return NearestPlanner(run.pool, config.settings)
    ledger = Ledger(folder / "calls.jsonl")
    tracker.used += ledger.used(run.prices)
    metered = MeteredModel(model, tracker, run.prices)
    remembered = LedgerModel(metered, config.model or "", "alfred_plan", ledger)
    kind = {"socratic": SocraticPlanner, "lota": LotaPlanner}.get(config.agent, InContextPlanner)
    return kind(remembered, run.pool, config.settings, config.seed)


async def _result(planner: Planner, task: PlanTask) -> PlanResult:
    one = task.demonstration
    outcome: PlanOutcome = "error"
    try:
        proposal = await planner.plan(task)
        outcome = "unreadable" if proposal.plan is None else "planned"
    except ModelError as error:
        proposal = PlanProposal(None, error.recorded)
    # Without a plan the house stays as it is, which can meet a condition already.
    worth = score(proposal.plan or (), one)
    refusal = worth.refusal
    carried = None if proposal.executed is None else score(proposal.executed, one)
    return PlanResult(
        task=task.id,
        type=one.type,
        level=level(len(one.plan)),
        outcome=outcome,
        plan=tuple(map(str, proposal.plan or ())),
        exact=worth.exact,
        reaches=worth.reaches,
        wherever=worth.wherever,
        met=worth.met,
        conditions=worth.conditions,
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
