"""A run in words and as JSON."""

from __future__ import annotations

from agent.evaluation.folder import RunFolder
from agent.evaluation.metrics import Count, Result, Summary, summarise
from agent.evaluation.plan import Manifest
from agent.evaluation.selection import MANY, counted

MOST_NAMED = 20
"""How many episodes a report names for one cause; the JSON has them all."""


def read_run(run: RunFolder) -> tuple[Manifest, Summary]:
    """The run in a folder and its figures so far. Raises ``ConfigurationError``."""
    manifest, results = read_results(run)
    return manifest, summarise(manifest.tasks, results)


def read_results(run: RunFolder) -> tuple[Manifest, list[Result]]:
    """The run in a folder and the episodes that have finished, also those not yet in its index."""
    manifest = run.manifest()
    results = run.results(manifest.tasks)
    known = {result.task for result in results}
    results += run.recovered([task for task in manifest.tasks if task.id not in known])
    return manifest, results


def as_json(manifest: Manifest, summary: Summary) -> dict[str, object]:
    """The figures as plain data. Rates lie in [0, 1]; ``steps`` are executed commands, their means an episode."""
    overall, config = summary.overall, manifest.configuration
    return {
        "world": config.world,
        "split": config.split,
        "split_size": manifest.of if manifest.of <= MANY else None,
        "agent": config.agent,
        "model": config.model,
        "engine": manifest.engine,
        **_figures(overall),
        "by_type": {kind: _figures(count) for kind, count in summary.by_type.items()},
        "refused": summary.refused,
        "unreadable": summary.unreadable,
        "calls": summary.calls,
        "tokens": {"prompt": summary.prompt_tokens, "completion": summary.completion_tokens},
        "errored": [_named(result) for result in summary.errored],
        "lost_tasks": [_named(result) for result in summary.lost],
        "assisted": list(summary.assisted),
    }


def _figures(count: Count) -> dict[str, object]:
    interval = count.interval
    return {
        "episodes": count.episodes,
        "won": count.won,
        "lost": count.lost,
        "errors": count.errors,
        "unfinished": count.unfinished,
        "success": count.success,
        "interval": [interval.low, interval.high],
        "steps": {"total": count.steps, "mean": count.mean_steps, "mean_won": count.mean_steps_won},
    }


def _named(result: Result) -> dict[str, object]:
    return result.model_dump(include={"number", "task", "type", "reason", "turns", "boundary", "message"}, exclude_none=True)


def as_text(manifest: Manifest, summary: Summary) -> str:
    """The figures as a table of at most 80 columns, then what stands behind them, line by line."""
    return "\n".join([*_heading(manifest), "", *_table(summary), "", *_remarks(summary)]).rstrip() + "\n"


def _heading(manifest: Manifest) -> list[str]:
    config = manifest.configuration
    variants = " ".join(f"{key}={value}" for key, value in sorted(config.settings.items()))
    tasks = f"{counted(len(manifest.tasks), manifest.of)} ({config.split})"
    lines = [
        ("agent", f"{config.agent}  {variants}"),
        ("model", config.model or "none"),
        ("tasks", f"{tasks}, goals: {config.goals}, at most {config.max_turns} turns, seed {config.seed}"),
        ("engine", manifest.engine),
        ("rules", config.rules.label if config.rules else ""),
        ("grants", ", ".join(config.grants)),
    ]
    return [f"{name:<8}{value.rstrip()}" for name, value in lines if value]


def _table(summary: Summary) -> list[str]:
    rows = [("", "tasks", "won", "err", "success", "95 % interval", "steps")]
    rows += [_row(kind, count) for kind, count in summary.by_type.items()]
    rows.append(_row("all", summary.overall))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(_aligned(row, widths)).rstrip() for row in rows]
    return [lines[0], *lines[1:-1], "-" * max(map(len, lines)), lines[-1]]


def _aligned(row: tuple[str, ...], widths: list[int]) -> list[str]:
    return [
        f"{cell:<{width}}" if column == 0 else f"{cell:>{width}}"
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _row(name: str, count: Count) -> tuple[str, ...]:
    interval = count.interval
    steps = "-" if count.mean_steps is None else f"{count.mean_steps:.1f}"
    return (
        name,
        str(count.episodes),
        str(count.won),
        str(count.errors),
        f"{count.success * 100:.1f} %",
        f"{interval.low * 100:.1f}-{interval.high * 100:.1f} %",
        steps,
    )


def _remarks(summary: Summary) -> list[str]:
    overall = summary.overall
    lines: list[str] = []
    if overall.unfinished:
        lines.append(f"Not finished: {overall.unfinished} of {overall.episodes} tasks; until they are, they count as not won.")
    if overall.finished:
        won = f", {overall.mean_steps_won:.1f} in a won one" if overall.mean_steps_won is not None else ""
        lines.append(f"{overall.mean_steps:.1f} steps an episode{won}; refused commands in all: {summary.refused}.")
    if summary.calls:
        tokens = (
            "tokens were not counted by the model"
            if summary.prompt_tokens is None and summary.completion_tokens is None
            else f"{summary.prompt_tokens or 0} tokens read, {summary.completion_tokens or 0} written"
        )
        lines.append(f"{summary.calls} calls of the model, {tokens}; {summary.unreadable} unreadable replies.")
    lines += _names("Errors, counted as not won", summary.errored)
    if summary.errored:
        lines.append("Play these again with the same `housequest eval` and --retry errors.")
    lines += _names("Lost", summary.lost)
    if summary.assisted:
        lines.append(f"Assisted by a person and left out ({len(summary.assisted)}):")
        lines += [f"  {task}" for task in summary.assisted]
    return lines


def _names(title: str, results: tuple[Result, ...]) -> list[str]:
    if not results:
        return []
    by_cause: dict[str, list[Result]] = {}
    for result in results:
        cause = f"{result.boundary}: {result.message}" if result.message else result.reason
        by_cause.setdefault(" ".join(cause.split())[:400], []).append(result)
    lines = [f"{title} ({len(results)}):"]
    for cause, alike in by_cause.items():
        lines.append(f"  {cause}")
        lines += [f"    {result.number:>4}  {result.task}" for result in alike[:MOST_NAMED]]
        if len(alike) > MOST_NAMED:
            lines.append(f"    and {len(alike) - MOST_NAMED} more; --json names them all")
    return lines
