"""``housequest eval --world alfred-plans``: score whole plans for ALFRED's instructions, without episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from housequest.agent.alfred.plans.report import PlansReport, PlanSweepReport, plan_arms, read_plan_arms
from housequest.agent.alfred.plans.work import PlanResult, PlanRun, make_run, score_plans
from housequest.agent.config import Settings
from housequest.agent.evaluation.runs.batch import RunOptions
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker
from housequest.agent.evaluation.runs.sweep import ConfiguredArm, SweepFolder
from housequest.agent.models.embeddings import texts_go_to
from housequest.agent.models.registry import destination
from housequest.tui import terminal
from housequest.tui.commands.running import EvalCall, ProgressLine, carry_out, check_price
from housequest.worlds.errors import ConfigurationError

_FOR_GAMES = ("engine", "goals", "habits", "world_option", "rules", "grant", "max_steps", "repeat", "retry_lost")
"""Settings of games, whose flags are refused."""


def evaluate(settings: Settings, out: Path | None, call: EvalCall) -> None:
    """Ask a planner for its plans, score them and print the figures. The same command resumes after an interruption."""
    _refuse_parts(call.how)
    _check(settings, call.budget)
    run = make_run(settings)
    for line in _destinations(run):
        terminal.note(line)
    place = out or run.default_folder
    if call.dry_run:
        tasks = (f"{task.id}  {task.instruction.goal}" for task in run.tasks)
        lines = [f"Would ask for {_asked(run)}, into {place}", "", run.config.model_dump_json(indent=2), "", *tasks]
        terminal.print_result(run.manifest.model_dump(mode="json"), lines, as_json=call.as_json)
        return
    opening = f"{len(run.tasks)} of {run.manifest.of} instructions ({run.config.split}), into {place}"
    rows = _score(run, place, BudgetTracker(call.budget), settings.concurrency, opening)
    terminal.print_report(PlansReport(run.manifest, rows), as_json=call.as_json)
    _finish(sum(row.outcome == "error" for row in rows))


def sweep(arms: Sequence[ConfiguredArm], folder: SweepFolder, call: EvalCall) -> None:
    """Score the plans of every arm of a sweep, or resume that, and print its table."""
    _refuse_parts(call.how)
    trials = plan_arms(arms)
    for trial in trials:
        _check(trial.settings, call.budget)
    for line in dict.fromkeys(line for trial in trials for line in _destinations(trial.run)):
        terminal.note(line)
    if call.dry_run:
        runs = [{"arm": each.arm, "seed": each.seed, **each.run.manifest.model_dump(mode="json")} for each in trials]
        told = [f"Would score {len(trials)} runs into {folder.path}", ""]
        told += [f"{each.arm}, seed {each.seed}: {_asked(each.run)}" for each in trials]
        terminal.print_result({"runs": runs}, told, as_json=call.as_json)
        return
    folder.begin(trials)
    tracker, errors = BudgetTracker(call.budget), 0
    for number, trial in enumerate(trials, start=1):
        place = folder.path / trial.folder
        opening = f"{number} of {len(trials)}: {trial.arm}, seed {trial.seed}, into {place}"
        rows = _score(trial.run, place, tracker, trial.settings.concurrency, opening)
        errors += sum(row.outcome == "error" for row in rows)
    terminal.print_report(PlanSweepReport(read_plan_arms(folder)), as_json=call.as_json)
    _finish(errors)


def _refuse_parts(how: RunOptions) -> None:
    if how.shard is not None or how.cluster is not None:
        flag = "--shard" if how.shard is not None else "--cluster"
        raise ConfigurationError(f"{flag} is for games; plans take one call each, which --concurrency has in flight by itself.")


def _check(settings: Settings, budget: Budget) -> None:
    for flag in map(settings.origin, _FOR_GAMES):
        if flag.startswith("--"):
            raise ConfigurationError(f"{flag} is for games, and plans are only scored; leave it out.")
    check_price(budget, settings.model, settings.prices_of(settings.model) if settings.model else None)


def _asked(run: PlanRun) -> str:
    return f"{len(run.tasks)} plans ({run.config.split}), with {len(run.pool.examples)} examples"


def _destinations(run: PlanRun) -> Iterator[str]:
    if run.model is not None and (where := destination(run.model)) is not None:
        yield f"Prompts go to {where}."
    embedder = run.config.settings.embedder
    if embedder and (where := texts_go_to(embedder)) is not None:
        yield f"Goals go to {where}, for choosing examples."


def _score(run: PlanRun, place: Path, tracker: BudgetTracker, concurrency: int, opening: str) -> list[PlanResult]:
    terminal.note(opening)
    line = ProgressLine()
    work = score_plans(run, place, RunOptions(concurrency, watcher=line), tracker)
    with closing(line):
        return carry_out(work, tracker, line.say, lambda: f"{line.done} of {len(run.tasks)} finished")


def _finish(errors: int) -> None:
    if errors:
        terminal.note("Some calls of the model failed; the same command asks for those plans again.")
        terminal.finish(1)
