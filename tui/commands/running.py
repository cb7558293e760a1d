"""Runs played from the command line: what is checked and said before, the progress line, how they may end early, and what is
printed in the end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import typer

from housequest.agent.config import Prices, Settings, configure
from housequest.agent.evaluation.parts import family_named, read_cluster
from housequest.agent.evaluation.render.comparison import measured
from housequest.agent.evaluation.render.worth import WorthReport
from housequest.agent.evaluation.runs import sweep as sweeps
from housequest.agent.evaluation.runs.batch import RunOptions, RunProgress, run_batch
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, Interrupted, Stopped, read_budget
from housequest.agent.evaluation.runs.estimate import estimate
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.measurement import plan_each, plan_measurement
from housequest.agent.evaluation.runs.shard import read_shard
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.evaluation.runs.usage import money, price_tables
from housequest.agent.processes import Pool, processors
from housequest.knowledge.choosing import estimated_tokens, topic_of
from housequest.knowledge.rulebook import library
from housequest.knowledge.rulebook import save as save_book
from housequest.knowledge.rules import RuleStatus
from housequest.tui import terminal
from housequest.tui.text import percentage, plural
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.systems import on_signals

T = TypeVar("T")
GRACE = 30.0
"""Seconds that the answers to calls in flight are waited for after the first Ctrl-C."""
BEAT = 0.5
"""Seconds between two updates of a progress line while no episode finishes."""


class EvalCall(NamedTuple):
    """The options of a command that plays runs: its budget, its way of playing, its folder, and what it prints."""

    flags: Mapping[str, object]
    budget: Budget
    how: RunOptions
    out: Path | None
    dry_run: bool
    as_json: bool

    @property
    def of_shard(self) -> str:
        """The part of a run that is played, in words; empty for a whole one."""
        return f", shard {self.how.shard} of it" if self.how.shard is not None else ""

    def folder(self, own: Path) -> Path:
        """The folder of a run whose own is ``own``: the given one, or one named after the shard."""
        return self.out or (self.how.shard.folder(own) if self.how.shard is not None else own)

    def print_shard(self, does: str) -> None:
        """Say what to do once all shards are played, so that the command ``does`` what it does with the whole run."""
        again = f"the same command without --shard, and\nwith --out for that folder, {does}."
        terminal.print_lines([f"Shard {self.how.shard} is played. `housequest merge` puts all shards into one folder; {again}"])


def read_how(budget: list[str] | None, retry_errors: bool, shard: str | None, cluster: str | None) -> tuple[Budget, RunOptions]:
    """The budget of runs and the way they are played, by a command's options. Raises ``ConfigurationError``."""
    part, players = read_shard(shard) if shard is not None else None, read_cluster(cluster) if cluster is not None else None
    return read_budget(budget or ()), RunOptions(retry_errors=retry_errors, shard=part, cluster=players)


def evaluate_run(call: EvalCall) -> None:
    """Play the configured run, a series of it, or what a family of runs has instead, or go on; print the figures."""
    settings = configure(call.flags)
    if (family := family_named(settings.world)) is not None and family.commands:
        import_module(family.commands).evaluate(settings, call.out, call)
        return
    kind, spec = sweeps.series_kind(settings), make_run_spec(settings)
    if call.how.shard is not None and settings.retry_lost:
        raise ConfigurationError(
            "--shard: --retry-lost plays again what the whole run lost, which no shard knows; leave one of them out, or "
            "play it with --cluster."
        )
    folder = call.folder(sweeps.series_folder(kind, spec, call.out).path if kind is not None else spec.default_folder)
    announce([spec], call.budget, settings.rules)
    most = settings.repeat if settings.repeat > 1 else 1 + settings.retry_lost
    if call.dry_run:
        series = (f"Would play this up to {most} times, into folders of {folder}", "") if kind is not None else ()
        lines = (*series, *_would_play(settings, spec, folder))
        terminal.print_result(spec.manifest.model_dump(mode="json"), lines, as_json=call.as_json)
        return
    if kind is not None:

        def opening(number: int, trial: sweeps.ArmRun) -> str:
            return f"{number} of up to {most}: {trial.spec.selection}{call.of_shard}, seed {trial.seed}"

        runs = sweeps.series(settings, sweeps.SweepFolder(folder), retry_errors=call.how.retry_errors)
        _show_all(_play_all(runs, opening, folder, call), folder, call)
        return
    about = f"{spec.config.split}: {spec.selection}{call.of_shard}, into {folder}"
    line = play_run(spec, folder, BudgetTracker(call.budget), replace(call.how, concurrency=settings.concurrency), about)
    if line.left == 0:
        terminal.note("All of them were played before; nothing was left to play.")
    _show_all([folder], folder, call)


def evaluate_sweep(file: Path, call: EvalCall) -> None:
    """Play all runs of a sweep, or resume it, and print its table."""
    sweep = sweeps.read_sweep(file)
    folder = sweeps.SweepFolder(call.folder(sweep.default_folder))
    trials = tuple(sweeps.plan_sweep(sweep, call.flags))
    if family := next(filter(None, (family_named(trial.settings.world) for trial in trials)), None):
        import_module(family.commands).sweep(trials, folder, call)
        return
    _evaluate_arms(trials, folder, call)


def evaluate_matrix(named: Sequence[str], call: EvalCall) -> None:
    """Play every pair of these players, or resume, and print their table."""
    players = sweeps.matrix_players(named)
    folder = sweeps.SweepFolder(call.folder(sweeps.matrix_folder(players)))
    _evaluate_arms(tuple(sweeps.plan_matrix(players, call.flags)), folder, call, players)


def _evaluate_arms(
    trials: Sequence[sweeps.ArmRun], folder: sweeps.SweepFolder, call: EvalCall, matrix: Sequence[str] = ()
) -> None:
    announce([trial.spec for trial in trials], call.budget)
    if call.dry_run:
        runs = [{"arm": each.arm, "seed": each.seed, **each.spec.manifest.model_dump(mode="json")} for each in trials]
        lines = [f"Would play {len(trials)} runs into {folder.path}", ""]
        for trial in trials:
            spec = trial.spec
            lines.append(f"{trial.arm}, seed {trial.seed}: {spec.selection} ({spec.config.split}) with {spec.config.who}")
            lines += [f"  {line}" for line in (*about_rules(spec), about_cost(spec, folder.path / trial.folder))]
        terminal.print_result({"runs": runs}, lines, as_json=call.as_json)
        return
    folder.begin(trials, matrix=matrix)

    def opening(number: int, trial: sweeps.ArmRun) -> str:
        return f"{number} of {len(trials)}: {trial.arm}, seed {trial.seed}: {trial.spec.selection}{call.of_shard}"

    _show_all(_play_all(trials, opening, folder.path, call), folder.path, call)


def measure_rules(name: str, ids: Sequence[str], call: EvalCall, *, alone: bool) -> None:
    """Play the same tasks without and with rules of the book ``name``, or go on with that, and print what they are worth."""
    settings = configure(call.flags)
    plan = plan_measurement(settings, name, ids, alone=alone)
    rules = plan.rules
    whose = f"{rules[0].id} of {plan.book.path.name}" if len(rules) == 1 else f"{len(rules)} rules of {plan.book.path.name}"
    folder = sweeps.SweepFolder(call.folder(plan.default_folder))
    announce([trial.spec for trial in plan.trials], call.budget)
    if call.dry_run:
        lines = [f"Would play two runs into {folder.path}, which differ in {whose} alone."]
        for trial in plan.trials:
            spec, config = trial.spec, trial.spec.config
            lines += ["", f"{trial.arm}: {spec.selection} ({config.split}) with {config.agent}, {config.model}"]
            lines += [*(about_rules(spec) or ["Rules: none."]), about_cost(spec, folder.path / trial.folder)]
        manifests = {trial.arm: trial.spec.manifest.model_dump(mode="json") for trial in plan.trials}
        terminal.print_result(manifests, lines, as_json=call.as_json)
        return
    plan.begin(folder)
    _play_all(
        plan.trials, lambda _, trial: f"{trial.arm}: {trial.spec.config.split}, {trial.spec.selection}", folder.path, call
    )
    if call.how.shard is not None:
        call.print_shard("measures")
        return
    comparison, told = measured(plan, folder, settings.prices_of)
    if call.as_json:
        named = {"book": plan.book.path.name, "rules": [rule.id for rule in rules]}
        terminal.print_json({**named, "told": told, **comparison.data()})
    else:
        terminal.print_lines([f"{whose}, told in {told} of {len(comparison.pairs)} episodes", ""])
        terminal.print_report(comparison)
        runs = " ".join(str(arm.runs[0].folder.path) for arm in comparison.arms)
        terminal.print_lines(["", f"The runs: housequest compare {runs}"])
    terminal.finish(1 if any(each.outcome == "error" for side in comparison.results for each in side) else 0)


class EachRules(NamedTuple):
    """The rules of a ``book`` to measure by themselves: those with ``ids``, or of a ``status``, in so many ``games`` each.

    To ``save`` stores their worth in the book; with ``judge`` it decides which are accepted."""

    book: str
    ids: tuple[str, ...]
    status: str | None
    games: int | None
    save: bool
    judge: bool


def measure_each(wanted: EachRules, call: EvalCall) -> None:
    """Play what tells the worth of each rule, or go on with that; print it, and save it in the book if that is wanted."""
    if call.how.shard is not None:
        raise ConfigurationError("--shard: with --each most runs are of a few games; leave it out, or play with --cluster.")
    settings, status = configure(call.flags), cast("RuleStatus", wanted.status or "accepted")
    plan = plan_each(settings, wanted.book, wanted.ids, status, wanted.games)
    folder = sweeps.SweepFolder(call.folder(plan.default_folder))
    announce([trial.spec for trial in plan.trials], call.budget)
    number = sum(len(trial.spec.selection.tasks) for trial in plan.trials)
    what = f"{plural(len(plan.each), 'rule')} of {plan.book.path.name}: {plural(number, 'episode')} in {len(plan.trials)} runs"
    if call.dry_run:
        lines = [f"Would measure {what}, into {folder.path}", ""]
        for trial in plan.trials:
            lines.append(f"{trial.arm}: {trial.spec.selection} ({trial.spec.config.split})")
        lines += ["", f"The first run: {about_cost(plan.trials[0].spec, folder.path / plan.trials[0].folder)}"]
        manifests = {trial.arm: trial.spec.manifest.model_dump(mode="json") for trial in plan.trials}
        terminal.print_result(manifests, lines, as_json=call.as_json)
        return
    plan.begin(folder)
    terminal.note(f"Measuring {what}, into {folder.path}")
    of = len(plan.trials)
    _play_all(plan.trials, lambda at, trial: f"{at} of {of}, {trial.arm}: {trial.spec.selection}", folder.path, call)
    found = WorthReport(plan, folder)
    terminal.print_report(found, as_json=call.as_json)
    if wanted.save or wanted.judge:
        book = library().editable(wanted.book)
        saved = save_book(found.saved_in(book, judge=wanted.judge))
        terminal.note(f"{'Your own copy is' if book.read is None else 'Saved'} {saved.path}")
    terminal.finish(1 if found.errors else 0)


def _would_play(settings: Settings, spec: RunSpec, folder: Path) -> Iterator[str]:
    yield f"Would play {spec.selection} ({spec.config.split}) into {folder}"
    retries, repeat = settings.retry_lost, settings.repeat
    places = [folder / f"run-{number}" for number in range(1, repeat + 1)] if repeat > 1 else [folder]
    places = [folder / "attempt-1"] if retries else places
    yield from (about_cost(spec, *places, retries=retries), *about_rules(spec), "")
    yield from (json.dumps(spec.config.model_dump(mode="json"), indent=2), "")
    yield from (f"{key} is set by {place}" for key, place in sorted(settings.origins.items()))
    yield from ("", *(f"{task.number:>4}  {task.id}" for task in spec.selection.tasks))


def _play_all(
    trials: Iterable[sweeps.ArmRun], opening: Callable[[int, sweeps.ArmRun], str], folder: Path, call: EvalCall
) -> list[Path]:
    """Play runs, which ``opening`` announces by their numbers, or go on with that; return their folders."""
    tracker, places = BudgetTracker(call.budget), list[Path]()
    for number, trial in enumerate(trials, start=1):
        places.append(place := folder / trial.folder)
        session = replace(call.how, concurrency=trial.settings.concurrency)
        play_run(trial.spec, place, tracker, session, f"{opening(number, trial)}, into {place}")
    return places


def _show_all(places: Sequence[Path], whole: Path, call: EvalCall) -> None:
    """Print the figures of all runs; of a shard only what it holds, for figures are those of the whole run."""
    if (shard := call.how.shard) is None:
        errors = terminal.show_report(whole, as_json=call.as_json)
        if call.as_json and errors:
            terminal.note(f"{errors} episodes errored; --retry-errors plays them again.")
        terminal.finish(1 if errors else 0)
        return
    lines: list[str] = []
    played: list[dict[str, object]] = []
    for folder in places:
        run = RunFolder(folder)
        results = run.results(run.manifest().tasks)
        won, errors = sum(each.won for each in results), sum(each.outcome == "error" for each in results)
        played.append({"run": str(folder), "shard": str(shard), "episodes": len(results), "won": won, "errors": errors})
        lines.append(f"Shard {shard} in {folder}: {len(results)} episodes, {won} won, {errors} errors")
    lines.append("`housequest merge` makes the run of all its shards, and reports it.")
    terminal.print_result(played, lines, as_json=call.as_json)
    terminal.finish(1 if any(each["errors"] for each in played) else 0)


def _remarks(spec: RunSpec) -> Iterator[str]:
    yield from spec.selection.warnings
    without = [f"  {task.id}" for task in spec.selection.tasks if task.wording == "template"]
    if without and spec.config.goals != "template":
        tasks = "1 task has" if len(without) == 1 else f"{len(without)} tasks have"
        # Where all are alike, as made-up ones are, no name says more.
        listed = "." if len(without) == len(spec.selection.tasks) > 1 else "\n".join((":", *without))
        yield f"{tasks} no goal in people's words, and the template's is shown{listed}"


def about_rules(spec: RunSpec) -> list[str]:
    """The number of rules that an episode may be shown, and about how many tokens they are."""
    offered, granted = spec.config.rules, "type" in spec.config.grants
    if offered is None:
        return []
    # Many tasks have the same topic, and only the fewest and the most rules are printed.
    reader = spec.setup.world.household
    topics = {topic_of(task.goal, task.type if granted else None, None, reader) for task in spec.selection.tasks}
    first = list(map(offered.select, topics))
    numbers, costs = map(len, first), (sum(estimated_tokens(rule.statement) for rule in chosen) for chosen in first)
    return [
        f"Rules: {len(offered.rules)} accepted in {offered.file}, about {offered.cost:,} tokens; an episode is told those that "
        f"matter, at most about {offered.budget or offered.cost:,} tokens.",
        f"By its goal an episode begins with {_spread(numbers)} of them, about {_spread(costs)} tokens.",
    ]


def _spread(numbers: Iterable[int]) -> str:
    ends = sorted(numbers)
    return f"{ends[0]:,}" if ends[0] == ends[-1] else f"{ends[0]:,} to {ends[-1]:,}"


def about_cost(spec: RunSpec, *folders: Path, retries: int = 0) -> str:
    """The cost of playing ``spec`` into each of ``folders``, with so many ``retries`` of what is lost."""
    if not spec.config.with_what:
        return "It calls no model."
    if (found := estimate(spec, *folders)) is None:
        return (
            f"The cost is not known: no episode of {spec.config.who} under these conditions is finished here or below runs, "
            "and none can be tried."
        )
    return str(found.with_retries(retries) if retries and found.left else found)


def announce(specs: Sequence[RunSpec], budget: Budget, rules: str | None = None) -> None:
    """Print what a reader of the figures must know, where prompts go, and that no ``rules`` are taken; check the price."""
    for spec in specs:
        for each in spec.setup.each:
            check_price(budget, each.recorded_model, each.prices)
    for remark in dict.fromkeys(remark for spec in specs for remark in (*_remarks(spec), *spec.setup.destinations())):
        terminal.note(remark)
    if rules is not None and specs[0].config.rules is None:
        terminal.note(f"The agent {specs[0].config.agent!r} takes none of these rules; it plays without {shown(rules)}.")


def check_price(budget: Budget, model: str | None, prices: Prices | None) -> None:
    """Raise ``ConfigurationError`` if ``budget`` limits money and the price of ``model`` is not known."""
    if budget.money is not None and model is not None and prices is None:
        raise ConfigurationError(
            f"--budget money: no price of {shown(model)} is known; write {price_tables(model)} with input and output, each per "
            "million tokens, into housequest.toml, or give a budget of calls or tokens."
        )


def pool(processes: int | None, cluster: str | None) -> tuple[int, Pool | None]:
    """The processes that play demonstrations here, and the cluster in their place. Raises ``ConfigurationError``."""
    if processes is not None and cluster is not None:
        raise ConfigurationError("--processes: --cluster says how many processes play; leave out --processes or --cluster.")
    found = read_cluster(cluster).pool() if cluster is not None else processes or processors()
    return (found, None) if isinstance(found, int) else (processors(), found)


def play_run(spec: RunSpec, folder: Path, tracker: BudgetTracker, options: RunOptions, opening: str) -> ProgressLine:
    """Play a run, announced by ``opening`` once it began, or go on with it; if it ends early, raise ``typer.Exit``."""
    if options.cluster is not None and options.concurrency == 1:
        terminal.note("One episode is played at once, so one process plays: give more --concurrency.")
    line = ProgressLine(opening)
    options = replace(options, watcher=line, beat=line.beat, say=line.say)
    total = len(options.shard.part(spec.selection.tasks) if options.shard is not None else spec.selection.tasks)
    with contextlib.closing(line):
        carry_out(run_batch(spec, folder, options, tracker), tracker, line.say, lambda: f"{line.done} of {total} finished")
    return line


def carry_out(
    work: Coroutine[Any, Any, T], tracker: BudgetTracker, say: Callable[[str], None], standing: Callable[[], str]
) -> T:
    """Run ``work``; interrupted, or stopped by its budget or model, say its ``standing`` and raise ``typer.Exit``."""
    try:
        return asyncio.run(_until_interrupted(work, tracker, say))
    except (KeyboardInterrupt, asyncio.CancelledError, Interrupted):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all that is left is to end other processes and leave
        say(f"Interrupted; {standing()}. The same command goes on with it.")
        raise typer.Exit(terminal.STOPPED) from None
    except Stopped as stopped:
        say(f"housequest: {stopped}\n{standing()}. {stopped.way_on}")
        raise typer.Exit(terminal.STOPPED) from None


async def _until_interrupted(work: Coroutine[Any, Any, T], tracker: BudgetTracker, say: Callable[[str], None]) -> T:
    """``work`` until Ctrl-C: the first one lets calls in flight be answered, which are paid for, and the second cancels it.

    By default a second one raises wherever the event loop is, and what the loop was about to wake then sleeps for ever.
    """
    task, loop = asyncio.ensure_future(work), asyncio.get_running_loop()
    pressed = False

    def interrupt() -> None:
        nonlocal pressed
        if pressed or not tracker.active:
            task.cancel()
            return
        pressed = True
        tracker.stop(Interrupted("Interrupted."))
        loop.call_later(GRACE, task.cancel)
        calls = plural(tracker.active, "call")
        say(f"Waiting at most {GRACE:.0f} seconds for {calls} to be answered; Ctrl-C again leaves at once.")

    with on_signals(interrupt, signal.SIGINT):
        return await task


class ProgressLine(terminal.StatusLine):
    """Shows a run's progress (without a terminal, every tenth of it) after ``opening``, once the run has begun."""

    done = 0
    left: int | None = None
    """The episodes left to play when the run began; None before it did."""
    _began = 0.0
    _tenth = 0

    def __init__(self, opening: str = "") -> None:
        super().__init__()
        self._opening = opening

    @property
    def beat(self) -> float | None:
        """The seconds between updates while nothing finishes; None: never."""
        return BEAT if self.live else None

    def __call__(self, progress: RunProgress) -> None:
        now = time.monotonic()
        if self.left is None:
            self._began, self.left = now, progress.total - progress.done
            if self._opening:
                terminal.note(self._opening)
        self.done = progress.done
        seconds = now - self._began
        if self.live:
            self.write(progress_text(progress, seconds, terminal.columns() - 1))
        elif self.left and (tenth := 10 * (progress.done - progress.resumed) // self.left) > self._tenth:
            self._tenth = tenth
            terminal.note(progress_text(progress, seconds, terminal.WIDEST))


def progress_text(progress: RunProgress, seconds: float, width: int) -> str:
    """The line, of at most ``width`` columns, ``seconds`` after the run began or was resumed; the least important is cut."""
    done, total = progress.done, progress.total
    parts = [f"{done}/{total}"]
    if done and progress.won is not None:
        parts.append(f"{percentage(progress.won / done)} % won")
    if progress.errors:
        parts.append(plural(progress.errors, "error"))
    here = done - progress.resumed
    if here and seconds > 0:
        left, rate = seconds * (total - done) / here, 60 * here / seconds
        parts += [f"{duration(left)} left", f"{rate:,.{0 if rate >= 10 else 1}f} a minute"] if done < total else []
    if progress.cost:
        parts.append(f"cost {money(progress.cost)}")
    if progress.active or progress.limit is not None:
        calls = plural(progress.active, "call")
        parts.append(f"{calls} of {progress.limit}" if progress.limit is not None else calls)
    if progress.resumed:
        parts.append(f"{progress.resumed} from before")
    while len(parts) > 1 and len(" · ".join(parts)) > width:
        parts.pop()
    return " · ".join(parts)[:width]


def duration(seconds: float) -> str:
    """A span of time in its two largest units: 40 s, 3 min, 2 h 05 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
