"""Export a run or a series as Markdown tables to paste, or as CSV with one row per task, and set it beside published figures.

Those cover ALFWorld's text games (``published.json``, each with its source), and stand with every difference that prevents a
direct comparison. Figures of ALFRED and LoTa-Bench, with rendered houses, low-level actions or other tasks, are not listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import BaseModel

from housequest.agent.evaluation.analysis.metrics import Measured, PlayedTask
from housequest.agent.evaluation.render import table
from housequest.agent.evaluation.render.report import EpisodesReport, RunReport
from housequest.agent.evaluation.render.series import ArmsReport
from housequest.agent.evaluation.render.table import Cell, Report, Section, Table, TabledReport, wrapped
from housequest.agent.evaluation.runs.files import Frozen, SelectedTask
from housequest.agent.evaluation.runs.spec import Manifest, selection_text

FAMILY = "Not listed: the figures of ALFRED and LoTa-Bench, which are of rendered houses or other tasks."


def as_csv(report: TabledReport) -> str:
    """One row for every task that counts, finished or not, in task order; in a series with the folder of its run first. Of
    several arms, one row for each.
    """
    if isinstance(report, ArmsReport):
        found = [_arm_row(each, report.types) for each in cast("list[dict[str, Any]]", report.data()["arms"])]
        return table.csv_text(found, found[0])
    assert isinstance(report, EpisodesReport), "reports with tables are of episodes or of arms"
    single = isinstance(report, RunReport)
    empty = PlayedTask(SelectedTask(number=0, id="", type=""))
    every = ((run, played) for run in report.runs for played in run.summary.overall.played)
    rows = [({} if single else {"run": run.name}) | _row(run.manifest, played) for run, played in every]
    return table.csv_text(rows, ({} if single else {"run": ""}) | _row(report.manifest, empty))


def _arm_row(arm: Mapping[str, Any], types: Sequence[str]) -> dict[str, Cell]:
    """The cells of an arm by column name; ends of intervals have columns of their own."""
    by_type: Mapping[str, Any] = arm["by_type"]
    difference: Mapping[str, Any] = arm["against_baseline"] or {}

    def spread(name: str, interval: Sequence[float] | None) -> dict[str, Cell]:
        return dict(zip((f"{name}_low", f"{name}_high"), interval or (None, None), strict=True))

    plain = ("arm", "seeds", "episodes", "unfinished", "errors", "won", "success")
    return {
        **{name: arm[name] for name in plain},
        **spread("success", arm["interval"]),
        **{name: arm[name] for name in ("steps", "calls", "ceiling", "cost")},
        **{kind: by_type[kind]["success"] if kind in by_type else None for kind in types},
        "difference": difference.get("value"),
        **spread("difference", difference.get("interval")),
        **{name: difference.get(name) for name in ("tasks", "p", "holm")},
    }


def _row(manifest: Manifest, played: PlayedTask) -> dict[str, Cell]:
    """The cells by column name; unknown where the task is not finished."""
    config, task, result, tokens = manifest.configuration, played.task, played.result, played.tokens
    failure = result.failure if result else None

    def recorded(*names: str) -> dict[str, Cell]:
        return {name: getattr(result, name) if result else None for name in names}

    def of_all(*names: str) -> dict[str, Cell]:
        """Sums over the players, if there are several."""
        each = result.players.values() if result and result.players else ()
        return {name: sum(getattr(one, name) for one in each) if each else None for name in names if config.players}

    return {
        "split": config.split,
        "number": task.number,
        "task": task.id,
        "type": task.type,
        "wording": (result and result.wording) or task.wording,
        "seed": config.seed,
        "outcome": result.outcome if result else "unfinished",
        "won": int(played.won) if result else None,
        **recorded("reason"),
        "failure": failure and failure.kind,
        "failure_turn": failure and failure.turn,
        "failure_words": failure and failure.words,
        **recorded("boundary", "message", "turns", "steps", "refused", "repeated", "unreadable", "met", "conditions"),
        **of_all("idle", "looked_twice", "treated_twice", "alike", "messages", "characters", "swayed"),
        "goal_conditions": played.goal,
        "shortest": played.par.shortest,
        "expert": played.par.expert,
        "ceiling": played.ceiling,
        "path_weight": played.weight if result else None,
        "success_by_path": played.weighted(float(played.won)) if result else None,
        "goal_conditions_by_path": played.weighted(played.goal),
        **recorded("calls", "prompt_tokens"),
        "fresh_tokens": tokens and tokens.fresh,
        "cached_tokens": tokens and tokens.cached,
        **recorded("completion_tokens"),
        "model_seconds": played.clock.model if result else None,
        "wall_seconds": played.clock.wall if result else None,
        "cost": played.cost if result else None,
    }


def as_markdown(report: TabledReport) -> str:
    """The figures as Markdown tables, with who played above and notes below."""
    lines = [f"- {name}: {table.escaped(value)}" for name, value in report.heading]
    lines += [line for each in report.tables() for line in ("", *each.markdown())]
    lines += ["", *(f"- {table.escaped(note)}" for note in report.sentences())]
    if isinstance(report, RunReport) and (failures := report.every.failures):
        split = report.manifest.configuration.split
        rows = tuple(
            (kind.label, str(len(lost)), f"{split}:{lost[0].number}, turn {lost[0].failure.turn if lost[0].failure else 0}")
            for kind, lost in failures.items()
        )
        lines += ["", *Table(("why not won", "tasks", "for example"), rows).markdown(numbers=(1,))]
    return "\n".join(lines) + "\n"


class PublishedFigure(Frozen):
    """One published figure: ``success`` in per cent, ``split`` None where not stated, ``trials`` in words. ``protocol`` is the
    one of `housequest.agent.protocols` under which it was measured, None if there is none of it.
    """

    method: str
    model: str
    success: float
    split: str | None
    trials: str
    goals: str
    source: str
    caveat: str
    protocol: str | None = None


class PublishedComparison(NamedTuple):
    """A published figure and how it differs from the run; no differences if everything stated agrees. ``alike``: it is of the
    same trials, and of goals in the same words.
    """

    figure: PublishedFigure
    differs: tuple[str, ...]
    alike: bool

    def lines(self) -> Iterator[str]:
        """The figure for people, below a heading that shows its split."""
        figure = self.figure
        name = ", ".join(part for part in (figure.method, figure.model) if part)
        yield from wrapped(table.one_line(name), f"{' ' if self.alike else '~'}{figure.success:>5g} %  ", " " * 10)
        protocol = f"protocol {figure.protocol}" if figure.protocol else ""
        listed = (f"trials: {figure.trials}", f"{figure.goals} goals", protocol, figure.source, figure.caveat)
        yield from wrapped("; ".join(filter(None, listed)), " " * 10)


class _File(BaseModel):
    world: str
    figures: tuple[PublishedFigure, ...]


@cache
def _file() -> _File:
    return _File.model_validate_json(Path(__file__).with_name("published.json").read_bytes())


def published() -> tuple[PublishedFigure, ...]:
    """All published figures."""
    return _file().figures


def compare_published(manifest: Manifest, measured: Sequence[Measured]) -> tuple[PublishedComparison, ...]:
    """Published figures for what was ``measured`` by ``manifest``: the same split first, then the most similar and the best."""
    split = manifest.configuration.split

    def order(each: PublishedComparison) -> tuple[bool, bool, str, int, float]:
        of = each.figure.split
        return of != split, of is None, of or "", len(each.differs), -each.figure.success

    return tuple(sorted((_compared(manifest, measured, figure) for figure in published()), key=order))


def _compared(manifest: Manifest, measured: Sequence[Measured], figure: PublishedFigure) -> PublishedComparison:
    config, differs = manifest.configuration, list[str]()
    trials, goals = any(_alike(each, figure) for each in measured), figure.goals == _wording(manifest)
    if figure.split != config.split:
        differs.append("split not stated" if figure.split is None else f"{figure.split} is not {config.split}")
    if not trials:
        differs.append(f"trials: {figure.trials}")
    if figure.protocol not in (None, config.protocol):
        differs.append(f"measured as the protocol {figure.protocol}")
    if not goals:
        differs.append("people's goals" if figure.goals == "human" else f"{figure.goals} goals")
    return PublishedComparison(figure, tuple(differs), trials and goals)


def _alike(measured: Measured, figure: PublishedFigure) -> bool:
    return figure.trials == measured.trials or (measured.single and figure.trials == "1")


def _wording(manifest: Manifest) -> str:
    return manifest.configuration.goals.partition(":")[0]


def warnings(manifest: Manifest, measured: Sequence[Measured]) -> tuple[str, ...]:
    """Everything about what was measured that prevents a direct comparison with any figure."""
    config, found = manifest.configuration, published()
    told: list[str] = []
    if config.world != _file().world:
        told.append(f"None of these figures is of the world {config.world}.")
    elif not any(figure.split == config.split for figure in found):
        told.append(f"No figure is of the split {config.split}.")
    if len(manifest.tasks) < manifest.of:
        part = selection_text(len(manifest.tasks), manifest.of, ranged=config.ranged)
        told.append(f"This run is of {part}, not of a whole published split.")
    if others := sorted({figure.split for figure in found if figure.split is not None} - {config.split}):
        told.append(f"{config.split} is not {' or '.join(others)}: those are other games.")
    if any(not _alike(each, figure) for each in measured for figure in found):
        trials = " and ".join(dict.fromkeys(each.trials for each in measured))
        told.append(f"Trials here: {trials}; figures of other trials, or of trials not stated, are another measure.")
    if config.protocol is None:
        told.append("This run names no protocol; --protocol NAME plays as a figure was measured.")
    if config.attempt is not None:
        told.append("This run is of tasks that were not won before: no figure is.")
    if _wording(manifest) != "template":
        told.append("The goals of this run are people's sentences; most figures are for the templates'.")
    return tuple(told)


class PublishedReport(Report):
    """Measured figures beside the published ones; success as a share."""

    def __init__(self, report: EpisodesReport) -> None:
        self.manifest, self.measured = report.manifest, report.measured
        self.figures = compare_published(self.manifest, self.measured)
        self.notes = (*warnings(self.manifest, self.measured), FAMILY)

    def markdown(self) -> str:
        """Both as one Markdown table."""
        config = self.manifest.configuration
        rows: list[tuple[str, ...]] = []
        for ours in self.measured:
            played = (config.who, config.with_what, config.split, ours.trials, config.goals, ours.name)
            rows.append((table.percent(ours.success), *played, f"95 % interval {table.percents(ours.interval)}"))
        for each in self.figures:
            figure = each.figure
            words = (figure.method, figure.model, figure.split or "not stated", figure.trials, figure.goals, figure.source)
            differs = "; ".join(part for part in (*each.differs, figure.caveat) if part)
            rows.append((f"{figure.success:g} %", *words, differs))
        head = ("success", "method", "model", "split", "trials", "goals", "source", "differs, caveat")
        notes = [f"- {table.escaped(note)}" for note in self.notes]
        return "\n".join([*Table(head, tuple(rows)).markdown(numbers=(0,)), "", *notes]) + "\n"

    def data(self) -> dict[str, object]:
        rows = [
            {**each.figure.model_dump(), "success": each.figure.success / 100, "differs": list(each.differs)}
            for each in self.figures
        ]
        ours = [table.plain_data(each, "name", "success", "interval", "trials") for each in self.measured]
        return {"measured": ours, "warnings": list(self.notes), "figures": rows}

    def sections(self) -> Iterator[Section]:
        config = self.manifest.configuration
        notes = (*self.notes, "~ marks figures of other trials or of goals in other words.")
        yield ["Beside published figures", *(line for note in notes for line in wrapped(note, "! " if note[0] != "~" else ""))]
        name = ", ".join(part for part in (config.who, config.with_what) if part)
        for each in self.measured:
            interval = f"95 % interval {table.percents(each.interval)}"
            terms = wrapped(f"{config.split}; trials: {each.trials}; {config.goals} goals; {interval}", " " * 10)
            yield [*wrapped(table.one_line(f"{each.name}: {name}"), f"{table.percent(each.success):>8}  ", " " * 10), *terms]
        for split, figures in groupby(self.figures, lambda each: each.figure.split):
            other = " (other games)" if split not in (None, config.split) else ""
            yield [f"{split or 'split not stated'}{other}", *(line for each in figures for line in each.lines())]
