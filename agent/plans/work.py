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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.config import Prices
from agent.evaluation.runs.batch import RunProgress
from agent.evaluation.runs.budget import BudgetTracker, RunHalted
from agent.evaluation.runs.folder import LARGEST_INDEX, LARGEST_MANIFEST, RunFolder, differences, parsed, read_bytes
from agent.evaluation.runs.metered import MeteredModel
from agent.explorer.ledger import Ledger, LedgerModel
from agent.models.base import Model
from agent.models.registry import make_model
from agent.plans.planners import InContextPlanner, NearestPlanner, Planner, PlanProposal
from agent.plans.run import WORLD, Frozen, PlanManifest, PlanRun, PlanTask
from agent.roles.base import Sampling
from worlds.alfred.scoring import Level, level, score
from worlds.errors import ConfigurationError, ModelError
from worlds.paths import atomic_write

PlanOutcome = Literal["planned", "unreadable", "error"]


class PlanResult(Frozen):
    """The result of one instruction. ``cause`` and ``step`` say where the symbolic model refused the plan."""

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
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class PlanRunOptions:
    """How this session plays a run: instructions in flight, a model call's time limit in seconds, prices and watcher."""

    workers: int = 1
    time_limit: float = 60.0
    prices: Prices | None = None
    watcher: Callable[[RunProgress], None] | None = None


def begun(folder: Path) -> bool:
    """Whether ``folder`` holds a run of this family."""
    file = folder / "run.json"
    return file.is_file() and f'"family": "{WORLD}"'.encode() in read_bytes(file, LARGEST_MANIFEST)


def read_manifest(folder: Path) -> PlanManifest:
    """The manifest of the run in ``folder``. Raises ``ConfigurationError``."""
    file = folder / "run.json"
    return parsed(
        PlanManifest, read_bytes(file, LARGEST_MANIFEST, f"{folder} is no run's folder; it has no run.json."), str(file)
    )


def read_rows(folder: Path) -> list[PlanResult]:
    """The results in ``folder`` so far. Raises ``ConfigurationError`` naming a damaged line."""
    file = folder / "results.jsonl"
    lines = read_bytes(file, LARGEST_INDEX).split(b"\n")[:-1] if file.exists() else []
    way_out = " Delete the file: `housequest eval` makes it anew."
    return [parsed(PlanResult, line, f"{file}:{number}", way_out) for number, line in enumerate(lines, start=1)]


async def carry_out(
    run: PlanRun, folder: Path, options: PlanRunOptions | None = None, tracker: BudgetTracker | None = None
) -> list[PlanResult]:
    """Plan and score every instruction of ``run``; returns the results in task order.

    If it is cancelled or stopped, answered calls and results so far are kept. Raises ``Stopped`` where the budget or the model
    ended the run early, and ``ConfigurationError`` where the folder holds another run.
    """
    options, tracker = options or PlanRunOptions(), tracker or BudgetTracker()
    with RunFolder(folder).locked():
        _begin(run.manifest, folder)
        model = make_model(run.model, timeout=options.time_limit) if run.model else None
        rows: dict[str, PlanResult] = {}
        try:
            await _Work(run, _planner(run, folder, model, tracker, options), options, tracker, rows).done()
        finally:
            if model is not None:
                await model.aclose()
            ordered = [rows[task.id] for task in run.tasks if task.id in rows]
            atomic_write(folder / "results.jsonl", b"".join(_line(row) for row in ordered))
    if len(ordered) < len(run.tasks):
        raise tracker.ended()
    return ordered


def _begin(manifest: PlanManifest, folder: Path) -> None:
    if not (folder / "run.json").exists():
        atomic_write(folder / "run.json", f"{manifest.model_dump_json(indent=2)}\n".encode())
        return
    changes = differences(read_manifest(folder), manifest)
    if changes:
        listed = "\n".join(f"  {change}" for change in changes)
        raise ConfigurationError(
            f"{folder} holds a run of another configuration:\n{listed}\n"
            "Run the same command as before to go on with it, or give --out a new folder."
        )


def _planner(run: PlanRun, folder: Path, model: Model | None, tracker: BudgetTracker, options: PlanRunOptions) -> Planner:
    own = run.config.settings
    if model is None:
        return NearestPlanner(run.pool, own.steps)
    ledger = Ledger(folder / "calls.jsonl")
    tracker.add(ledger.used(options.prices))
    metered = MeteredModel(model, tracker, options.prices)
    remembered = LedgerModel(metered, run.config.model or "", "alfred_plan", ledger)
    sampling = Sampling(own.max_tokens, own.temperature, run.config.seed)
    return InContextPlanner(remembered, run.pool, own.steps, own.shots, own.choose, sampling)


class _Work:
    """Works through the instructions of a run, several at once."""

    def __init__(
        self, run: PlanRun, planner: Planner, options: PlanRunOptions, tracker: BudgetTracker, rows: dict[str, PlanResult]
    ) -> None:
        self._planner = planner
        self._options = options
        self._tracker = tracker
        self._rows = rows
        self._total = len(run.tasks)
        self._waiting: Iterator[PlanTask] = iter(run.tasks)

    async def done(self) -> None:
        """Work until no instruction is left or nothing more may begin."""
        workers = [asyncio.create_task(self._work()) for _ in range(self._options.workers)]
        ring = asyncio.create_task(self._tracker.ring())
        try:
            await asyncio.gather(*workers)
        finally:
            for task in [*workers, ring]:
                task.cancel()
            await asyncio.gather(*workers, ring, return_exceptions=True)

    async def _work(self) -> None:
        while not self._tracker.over() and (task := next(self._waiting, None)) is not None:
            try:
                self._rows[task.id] = await self._row(task)
            except RunHalted:
                return
            self._report_progress()
            # A planner without a model never awaits: without this, no other task would run until the end.
            await asyncio.sleep(0)

    async def _row(self, task: PlanTask) -> PlanResult:
        try:
            proposal = await self._planner.plan(task.instruction, without=task.demonstration.id)
        except ModelError as error:
            return _row(task, PlanProposal(None, error.recorded), "error")
        return _row(task, proposal, "unreadable" if proposal.plan is None else "planned")

    def _report_progress(self) -> None:
        if self._options.watcher is not None:
            errors = sum(row.outcome == "error" for row in self._rows.values())
            used = self._tracker.used.money
            self._options.watcher(
                RunProgress(done=len(self._rows), total=self._total, won=None, errors=errors, resumed=0, cost=used)
            )


def _row(task: PlanTask, proposal: PlanProposal, outcome: PlanOutcome) -> PlanResult:
    one = task.demonstration
    # Without a plan the house stays as it is, which can meet a condition already.
    worth = score(proposal.plan or (), one)
    refusal = worth.refusal
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
        calls=proposal.calls,
        prompt_tokens=proposal.prompt_tokens,
        completion_tokens=proposal.completion_tokens,
    )


def _line(row: PlanResult) -> bytes:
    return f"{row.model_dump_json(exclude_defaults=True)}\n".encode()
