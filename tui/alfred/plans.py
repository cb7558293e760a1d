"""``housequest eval --world alfred-plans``: score whole plans for ALFRED's instructions, without episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from housequest.agent.alfred.plans.report import plan_arms
from housequest.agent.alfred.plans.work import PlanRun, make_run, score_plans
from housequest.agent.config import Settings
from housequest.agent.evaluation.runs.batch import RunOptions
from housequest.agent.evaluation.runs.budget import BudgetTracker
from housequest.agent.evaluation.runs.sweep import ArmRun, SweepFolder
from housequest.agent.models.embeddings import texts_go_to
from housequest.agent.models.registry import destination
from housequest.tui import terminal
from housequest.tui.commands.running import EvalCall, ProgressLine, carry_out, check_price
from housequest.worlds.errors import ConfigurationError

_FOR_GAMES = ("engine", "goals", "habits", "world_option", "rules", "grant", "max_steps", "repeat", "retry_lost")
"""Settings of games, whose flags are refused."""


def evaluate(settings: Settings, out: Path | None, call: EvalCall) -> None:
    """Ask a planner for its plans, score them and print the figures. The same command resumes after an interruption."""
    _check(call, [settings])
    run = make_run(settings)
    _announce([run])
    place = out or run.default_folder
    if call.dry_run:
        tasks = (f"{task.id}  {task.instruction.goal}" for task in run.tasks)
        lines = [f"Would ask for {_asked(run)}, into {place}", "", run.config.model_dump_json(indent=2), "", *tasks]
        terminal.print_result(run.manifest.model_dump(mode="json"), lines, as_json=call.as_json)
        return
    opening = f"{len(run.tasks)} of {run.manifest.of} instructions ({run.config.split})"
    _score([(opening, run, settings, place)], place, call)


def sweep(arms: Sequence[ArmRun], folder: SweepFolder, call: EvalCall) -> None:
    """Score the plans of every arm of a sweep, or resume that, and print its table."""
    trials = plan_arms(arms)
    _check(call, [each.settings for each in arms])
    _announce([run for _, run in trials])
    if call.dry_run:
        runs = [{"arm": each.arm, "seed": each.seed, **run.manifest.model_dump(mode="json")} for each, run in trials]
        told = [f"Would score {len(trials)} runs into {folder.path}", ""]
        told += [f"{each.arm}, seed {each.seed}: {_asked(run)}" for each, run in trials]
        terminal.print_result({"runs": runs}, told, as_json=call.as_json)
        return
    folder.begin(arms)
    counted = enumerate(trials, start=1)
    openings = [(f"{number} of {len(trials)}: {each.arm}, seed {each.seed}", each, run) for number, (each, run) in counted]
    _score([(opening, run, each.settings, folder.path / each.folder) for opening, each, run in openings], folder.path, call)


def _check(call: EvalCall, configured: Sequence[Settings]) -> None:
    if call.how.shard is not None or call.how.cluster is not None:
        flag = "--shard" if call.how.shard is not None else "--cluster"
        raise ConfigurationError(f"{flag} is for games; plans take one call each, which --concurrency has in flight by itself.")
    for settings in configured:
        for flag in map(settings.origin, _FOR_GAMES):
            if flag.startswith("--"):
                raise ConfigurationError(f"{flag} is for games, and plans are only scored; leave it out.")
        check_price(call.budget, settings.model, settings.prices_of(settings.model) if settings.model else None)


def _asked(run: PlanRun) -> str:
    return f"{len(run.tasks)} plans ({run.config.split}), with {len(run.pool.examples)} examples"


def _announce(runs: Sequence[PlanRun]) -> None:
    for line in dict.fromkeys(line for run in runs for line in _destinations(run)):
        terminal.note(line)


def _destinations(run: PlanRun) -> Iterator[str]:
    if run.model is not None and (where := destination(run.model)) is not None:
        yield f"Prompts go to {where}."
    embedder = run.config.settings.embedder
    if embedder and (where := texts_go_to(embedder)) is not None:
        yield f"Goals go to {where}, for choosing examples."


def _score(runs: Sequence[tuple[str, PlanRun, Settings, Path]], whole: Path, call: EvalCall) -> None:
    """Score runs, each with its opening and its folder, and print the report of the ``whole`` folder."""
    tracker, errors = BudgetTracker(call.budget), 0
    for opening, run, settings, place in runs:
        terminal.note(f"{opening}, into {place}")
        line = ProgressLine()
        work = score_plans(run, place, RunOptions(settings.concurrency, watcher=line), tracker)
        with closing(line):
            rows = carry_out(work, tracker, line.say, lambda line=line, run=run: f"{line.done} of {len(run.tasks)} finished")
        errors += sum(row.outcome == "error" for row in rows)
    terminal.show_report(whole, as_json=call.as_json)
    if errors:
        terminal.note("Some calls of the model failed; the same command asks for those plans again.")
        terminal.finish(1)
