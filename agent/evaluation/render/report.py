"""The report of a run, and what those of several runs share with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from housequest.agent.config import RolePrices
from housequest.agent.evaluation.analysis import metrics
from housequest.agent.evaluation.analysis.arms import Difference
from housequest.agent.evaluation.analysis.failures import of_games, told
from housequest.agent.evaluation.analysis.metrics import (
    TOGETHER,
    CeilingFigures,
    EpisodeFigure,
    Figures,
    Measured,
    Sample,
    Summary,
)
from housequest.agent.evaluation.analysis.run import Run, counted_prior, named_by_model, prior_of, reference_of, world_of_run
from housequest.agent.evaluation.render import table
from housequest.agent.evaluation.render.table import Column, Section, Strong, Table, TabledReport, Warned, wrapped
from housequest.agent.evaluation.runs.files import total
from housequest.agent.evaluation.runs.folder import PlayerShare, Result
from housequest.agent.evaluation.runs.spec import MANY, Manifest
from housequest.agent.evaluation.runs.usage import Tokens, cost, money, price_tables
from housequest.agent.models.base import OWN_TEMPERATURE
from housequest.agent.models.registry import models_of
from housequest.worlds.registry import outs
from housequest.worlds.text import cut_at_word, many, printable

MOST_NAMED = 20
"""Episodes that a report names per cause; the JSON has all."""
EXAMPLES = 2
"""Lost episodes of a class that are described."""


class EpisodesReport(TabledReport):
    """One run or several as one: ``runs`` in their order, whose episodes ``every`` counts, under one ``card``. ``measured`` is
    what can stand beside published figures.
    """

    def __init__(self, runs: Sequence[Run], every: Summary, card: Mapping[str, str], *measured: Measured) -> None:
        self.runs = runs
        self.manifest = runs[0].manifest
        self.every = every
        self.card = card
        self.measured = measured
        self.heading = heading(self.manifest, card)
        if len(runs) > 1:
            seeds = ("seeds", ", ".join(str(run.seed) for run in runs))
            self.heading = [*((name, value) for name, value in self.heading if name != "seed"), seeds]

    def data(self) -> dict[str, object]:
        return {"card": dict(self.card), **details(self.every), **({"by_role": roles} if (roles := self.by_role()) else {})}

    def by_role(self) -> dict[str, dict[str, Any]]:
        """The use of a model by each role, where roles have models of their own."""
        models, prices = models_of(self.manifest.configuration.model or ""), self.every.prices
        return {
            role: {
                "model": models.get(role, models[""]),
                **used.model_dump(),
                "cost": prices and cost(Tokens.of(used), prices.of(role)),
            }
            for role, used in (self.every.overall.roles or {}).items()
        }

    def between(self) -> Iterator[Section]:
        yield self.behind()
        yield ceilings_by_type(self.every)

    def behind(self) -> Iterator[str]:
        """Why tasks were not won, what errored, and what is left out; of several runs with the name of the run."""
        runs = {id(result): run.name for run in self.runs for result in run.results} if len(self.runs) > 1 else {}

        def of(result: Result) -> str:
            return f"{runs[id(result)]}, " if id(result) in runs else ""

        if failures := self.every.failures:
            yield Strong(f"Why they were not won ({sum(len(lost) for lost in failures.values())}):")
        for kind, lost in failures.items():
            yield f"  {kind.label:<34}{len(lost):>6}"
            # A task that was lost in several runs is told of once.
            for result in list({result.task: result for result in lost}.values())[:EXAMPLES]:
                if result.failure is not None and result.outcome != "error":
                    at = f"{of(result)}{reference_of(result)}, turn {result.failure.turn}: "
                    yield from wrapped(f"{at}{result.failure.words}", "    ", "      ")
        if prior_of(self.manifest.configuration) is not None:  # a planner in skills, as LoTa-Bench's is
            yield from wrapped(told(of_games(self.every.failures)), "  ")
        by_cause: dict[str, list[Result]] = {}
        for result in self.every.errored:
            cause = f"{result.boundary}: {result.message}" if result.message else result.reason
            by_cause.setdefault(cut_at_word(" ".join(cause.split()), 400), []).append(result)
        if by_cause:
            yield Warned(f"Errors, counted as not won ({len(self.every.errored)}):")
            for cause, alike in by_cause.items():
                yield from wrapped(cause, "  ")
                lines = [f"{result.number:>4}  {of(result)}{table.one_line(result.task)}" for result in alike]
                yield from first_lines(lines, "    ")
            yield "Play these again with the same `housequest eval` and --retry-errors."
        if self.every.assisted:
            yield f"Assisted by a person and left out ({len(self.every.assisted)}):"
            for task in self.every.assisted:
                yield from wrapped(table.one_line(task), "  ", "    ")

    def notes(self) -> Iterator[str]:
        """Notes that a reader of the tables needs, and what was used."""
        manifest, overall = self.manifest, self.every.overall
        if (world := manifest.configuration.world) in outs("housequest.worlds"):
            yield f"The world {world!r} is not installed here: what its own benchmark computes is missing."
        yield from learned_words(manifest)
        if overall.unfinished:
            of = many(overall.episodes, "episode")
            yield f"Not finished: {overall.unfinished} of {of}. All figures are of those that were played."
        if overall.finished:
            won = f", {overall.mean_steps_won:.1f} in a won one" if overall.mean_steps_won is not None else ""
            counted = f"{overall.refused} refused, {overall.repeated} repeated"
            yield f"{table.number(overall.commands.mean)} steps an episode{won}; {counted}."
        if manifest.configuration.players and overall.finished:
            yield "Steps and paths count the commands of all players; docs/explanation/together.md defines the rest."
        if overall.enacted:
            diverged = overall.diverged or 0
            parted = f"{many(diverged, 'command')} ({table.percent(diverged / overall.enacted)}) diverged from the game"
            yield f"Enacted in a simulator: {overall.enacted} commands by {overall.low_level} low-level actions; {parted}."
        if prior_of(manifest.configuration) is not None and overall.finished:
            yield ceiling_words(overall.ceiling, self.runs[0])
        if overall.calls:
            yield f"{_call_words(overall)}; {overall.unreadable} unreadable replies."
            for role, used in self.by_role().items():
                tokens = f"{used['prompt_tokens'] or 0:,} tokens read, {used['completion_tokens'] or 0:,} written"
                paid = "" if used["cost"] is None else f", a cost of {money(used['cost'])}"
                calls = f"{used['calls']:,} calls, {tokens}{paid}; {used['unreadable']} unreadable replies"
                yield f"As the {role}, {printable(used['model'])}: {calls}."
            yield _cost_words(manifest, self.every)
        if overall.wasted is not None:
            calls, read, written = overall.wasted
            what = "to find out what it can do, or for replies that had to be asked for again"
            yield f"Beside these, {many(calls, 'call')} {what}: {read:,} tokens read, {written:,} written."
        if OWN_TEMPERATURE in overall.learned:
            asked = "Greedy replies were" if not manifest.configuration.settings.get("temperature") else "A temperature was"
            yield f"{asked} asked for and not given: the model's server takes no temperature, so its own default holds."


class RunReport(EpisodesReport):
    """One run: rates and shares in [0, 1]; ``steps`` are executed commands, their means per episode. Bootstrap intervals are
    computed for the whole run only; for its parts they are null.
    """

    def __init__(self, run: Run) -> None:
        overall = run.summary.overall
        super().__init__((run,), run.summary, run.card, Measured("this run", overall.success, overall.interval))

    def data(self) -> dict[str, object]:
        manifest, config = self.manifest, self.manifest.configuration
        return {
            "card": self.card,
            **table.plain_data(config, "world", "split"),
            "split_size": manifest.of if manifest.of <= MANY else None,
            **table.plain_data(config, "goals", "agent", "model"),
            "engine": manifest.engine,
            "learned": manifest.learned,
            **details(self.every, whole=True),
            **({"by_role": roles} if (roles := self.by_role()) else {}),
            **({"players": shares} if (shares := work_of_each(self.every.overall.results)) else {}),
            **({"together": _together(self.every.overall)} if shares else {}),
        }

    def sections(self) -> Iterator[Section]:
        """Success, the terms that it was measured under, and what else was measured."""
        summary = self.every
        rows = list(groups(summary))
        yield Table.of("", pick("tasks", "won", "err", "success", "95 % interval", "steps"), rows)
        yield table.named_lines(self.heading, width=10)
        yield from _together_tables(summary)
        yield self.behind()
        yield _means(summary)
        yield [
            *Table.of("", [*shares(summary), *pick("refused", "repeated")], rows).text(),
            *(line for sentence in definitions(summary) for line in wrapped(sentence)),
        ]
        yield ceilings_by_type(summary)
        yield (line for sentence in self.notes() for line in wrapped(sentence))

    def tables(self) -> Iterator[Table]:
        """The types of task."""
        columns = [*pick("tasks", "won", "errors", "success", "95 % interval"), *shares(self.every), *pick("steps")]
        yield Table.of("", columns, groups(self.every))
        yield from _together_tables(self.every)

    def sentences(self) -> Iterator[str]:
        yield from definitions(self.every)
        yield from self.notes()


def of_played(value: Callable[[Figures], int]) -> Callable[[Figures], int | None]:
    """A count of finished episodes; None where no episode is."""
    return lambda count: value(count) if count.finished or not count.episodes else None


FIGURES: tuple[Column[Figures], ...] = (
    Column("tasks", lambda count: count.so_far),
    Column("played", lambda count: count.so_far),
    Column("won", of_played(lambda count: count.won), table.known),
    Column("lost", of_played(lambda count: count.lost), table.known),
    Column("err", of_played(lambda count: count.errors), table.known),
    Column("errors", of_played(lambda count: count.errors), table.known),
    Column("unfinished", lambda count: count.unfinished),
    Column("success", lambda count: count.success, table.percent),
    Column("95 % interval", lambda count: count.interval, table.percents),
    Column("steps", lambda count: count.commands.mean, table.number),
    Column("steps, won", lambda count: count.mean_steps_won, table.number),
    Column("refused", of_played(lambda count: count.refused), table.known),
    Column("repeated", of_played(lambda count: count.repeated), table.known),
    Column("calls", of_played(lambda count: count.calls), table.known),
)
"""All figures of a group of tasks. To add a figure, add a line here."""


def pick(*headings: str) -> list[Column[Figures]]:
    """The columns of `FIGURES` with these headings, in this order."""
    columns = {column.heading: column for column in FIGURES}
    return [columns[heading] for heading in headings]


def shares(summary: Summary) -> list[Column[Figures]]:
    """The columns of goal conditions and path weights: the world's own metrics where its benchmark has them."""
    main = summary.shares_of([metric for metric in summary.metrics if metric.main])
    return [Column(of.short, lambda count, of=of: count.of(of).mean, table.percent) for of in main]


def details(summary: Summary, *, whole: bool = False) -> dict[str, object]:
    """The figures as plain data: all of them, by type and by wording, and why tasks were not won. ``whole``: of one run, with
    bootstrap intervals and the expert's ceilings by type; of several runs they are left out.
    """
    return {
        **_figures(summary, summary.overall, bootstrap=whole),
        "by_type": {
            kind: _figures(summary, count) | ({"ceiling": ceiling_data(count.ceiling)} if whole and count.ceiling else {})
            for kind, count in summary.by_type.items()
        },
        "by_wording": {wording: _figures(None, count) for wording, count in summary.by_wording.items()},
        **({"paths": summary.overall.paths} if whole else {}),
        "ceiling": ceiling_data(summary.overall.ceiling),
        "prices": summary.prices.model_dump() if summary.prices else None,
        "failures": [
            {
                "class": kind,
                "label": kind.label,
                "count": len(lost),
                "tasks": [
                    table.plain_data(each, "number", "task") | table.plain_data(each.failure, "turn", "words") for each in lost
                ],
            }
            for kind, lost in summary.failures.items()
        ],
        "lota_classes": of_games(summary.failures),
        "errored": [_named(result) for result in summary.errored],
        "lost_tasks": [_named(result) for result in summary.lost],
        "assisted": list(summary.assisted),
    }


def _figures(summary: Summary | None, count: Figures, *, bootstrap: bool = False) -> dict[str, object]:
    """The figures of a group of tasks, and what the world's benchmark of ``summary`` computes of it."""

    def mean(sample: Sample, name: str = "mean") -> dict[str, object]:
        return {name: sample.mean, "interval": table.ends(sample.interval) if bootstrap else None, "missing": sample.missing}

    kinds = map(EpisodeFigure.of, summary.metrics if summary else ())
    own = {figure.key: {"label": figure.label, **mean(count.of(figure), "value")} for figure in kinds}
    commands = table.ends(count.commands.interval) if bootstrap else None
    return {
        **table.plain_data(count, "episodes", "won", "lost", "errors", "unfinished", "success", "interval"),
        **{figure.key: mean(count.of(figure)) for figure in metrics.SHARES},
        "steps": {"total": count.steps, "mean": count.commands.mean, "mean_won": count.mean_steps_won, "interval": commands},
        **table.plain_data(count, "refused", "repeated", "unreadable", "calls"),
        **(table.plain_data(count, "enacted", "low_level", "diverged") if count.enacted else {}),
        "tokens": {name: getattr(count, f"{name}_tokens") for name in ("prompt", "completion", "fresh", "cached")}
        | ({} if count.thinking_tokens is None else {"thinking": count.thinking_tokens}),
        "seconds": {"model": count.model_seconds.total, "wall": count.wall_seconds.total},
        "cost": count.cost.total,
        **({"metrics": own} if own else {}),
    }


def _named(result: Result) -> dict[str, object]:
    return result.model_dump(include={"number", "task", "type", "reason", "turns", "boundary", "message"}, exclude_none=True)


def heading(manifest: Manifest, conditions: Mapping[str, str]) -> list[tuple[str, str]]:
    """The player, and the card with its ``conditions``."""
    config = manifest.configuration
    lines = [
        *played_by(manifest).items(),
        *conditions.items(),
        ("seed", str(config.seed)),
        ("habits", config.habits or ""),
        ("curiosity", str(config.curiosity or "")),
    ]
    return [(name, value.rstrip()) for name, value in lines if value]


def played_by(manifest: Manifest) -> dict[str, str]:
    """The agent with its settings, and its model, as lines of a card."""
    config = manifest.configuration
    variants = " ".join(f"{key}={value}" for key, value in sorted(config.settings.items()) if value != "")
    if config.players:
        several = {"players": "; ".join(player.words for player in config.players), "talk": config.talk or ""}
        return {**several, "order": config.order or "", "obey": config.obey or ""}
    return {"agent": f"{config.agent}  {variants}".rstrip(), "model": config.model or "none"}


def groups(summary: Summary) -> Iterator[tuple[str, Figures]]:
    """The rows of a table: each type, all tasks, and each wording unless all goals are the template's."""
    yield from summary.by_type.items()
    yield "all", summary.overall
    if set(summary.by_wording) - {"template"}:
        yield from ((f"goals: {wording}", count) for wording, count in summary.by_wording.items())


def work_of_each(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """The sums of each player's `PlayerShare` over all episodes, with its ``share`` of all that was done; {} of one player."""
    names = dict.fromkeys(name for result in results for name in result.players or ())
    sums = {
        name: {key: total(getattr(own[name], key) for own in shares if name in own) for key in PlayerShare.model_fields}
        for shares in ([result.players or {} for result in results],)
        for name in names
    }
    done = sum(own["done"] or 0 for own in sums.values())
    return {name: {"share": (own["done"] or 0) / done if done else None, **own} for name, own in sums.items()}


def _shared_work(results: Sequence[Result]) -> Table:
    rows = [
        (
            name,
            table.percent(own["share"]),
            *(f"{own[key] or 0:,}" for key in ("steps", "refused", "idle", "messages", "calls")),
            f"{(own['prompt_tokens'] or 0) + (own['completion_tokens'] or 0):,}",
        )
        for name, own in work_of_each(results).items()
    ]
    columns = ("who did what", "share of work", "steps", "refused", "idle", "messages", "calls", "tokens")
    return Table(columns, tuple(rows))


def _together(overall: Figures) -> dict[str, object]:
    """The figures of several players, and par's rounds if known for every task."""
    pars = [each.par.together for each in overall.counted]
    known = [float(par) for par in pars if par is not None]
    found = {of.key: {"mean": (sample := overall.of(of)).mean, "interval": table.ends(sample.interval)} for of in TOGETHER}
    return {**found, "par": sum(known) / len(known) if known and len(known) == len(pars) else None}


def _together_tables(summary: Summary) -> Iterator[Table]:
    """Tables of each player's work, of what they did twice, and of what their words changed; none for one player."""
    overall = summary.overall
    if not any(result.players for result in overall.results):
        return
    yield _shared_work(overall.results)
    samples = [(of, overall.of(of)) for of in TOGETHER]
    rows = [_mean_row(of, sample) for of, sample in samples if sample.mean is not None]
    if (par := _together(overall)["par"]) is not None:
        rows.append(("rounds at par, at most", f"{par:.1f}", ""))
    yield Table(("together", "an episode", "95 % interval"), tuple(rows))


def _mean_row(figure: EpisodeFigure, sample: Sample) -> tuple[str, str, str]:
    mean, ends = (table.percent, table.percents) if figure.share else (table.number, table.numbers)
    return figure.label, mean(sample.mean), ends(sample.interval)


def _means(summary: Summary) -> Section:
    overall = summary.overall
    samples = [(figure, overall.of(figure)) for figure in summary.shares]
    rows = [_mean_row(figure, sample) for figure, sample in samples if sample.mean is not None]
    if overall.commands.interval is not None:
        rows.append(_mean_row(metrics.STEPS, overall.commands))
    return Table(("over all tasks", "mean", "95 % interval"), tuple(rows)) if rows else ()


def definitions(summary: Summary) -> Iterator[str]:
    """Explain the share columns, and what they lack."""
    overall = summary.overall
    yield from (metric.about for metric in summary.metrics if metric.about)
    if any(not metric.added for metric in summary.metrics):
        if lacking := max(overall.of(figure).missing for figure in summary.shares):
            yield (
                f"What the benchmark says of {lacking} tasks is not known: nobody demonstrated them, or their games are "
                "elsewhere, where the report can be made."
            )
        return
    if overall.goal.missing:
        yield f"GC: in {overall.goal.missing} tasks the world does not tell which of the goal's conditions hold."
    else:
        yield "GC: share of the goal's conditions that hold at the end."
    paths = overall.paths
    missing = max(overall.success_by_path.missing, overall.goal_by_path.missing - overall.goal.missing)
    if missing:
        yield f"/path: L* of {missing} tasks is not known; make the report where the run's games are."
    elif paths["planner"] or paths["expert"]:
        found = [f"the shortest way of {paths['planner']} tasks"] if paths["planner"] else []
        found += [f"the expert's of {paths['expert']}"] if paths["expert"] else []
        yield f"/path: times L*/max(L*, steps); L* is {' and '.join(found)}."


def ceiling_data(ceiling: CeilingFigures | None) -> dict[str, object] | None:
    """A ceiling for JSON: the expert's ``prior``, tasks, wins, share and mean turns of a win. ``missing`` are the tasks of
    which it is not known; ``counted`` is the same by counts, where the run's model names places.
    """
    if ceiling is None:
        return None
    counted = {"counted": ceiling_data(ceiling.counted)} if ceiling.counted else {}
    return {**table.plain_data(ceiling, "prior", "tasks", "won", "success", "turns", "missing"), **counted}


_SEARCHING = {"random": "in one order drawn at random", "name": "by name"}


def ceiling_words(ceiling: CeilingFigures | None, run: Run) -> str:
    """Explain how much of a planner's success its skills reach without its model."""
    manifest = run.manifest
    if ceiling is None:
        here = world_of_run(run.folder, manifest) is not None
        why = "the world's expert does not play these games" if here else "its games are not here"
        way_out = "" if here else " Make the report where they are."
        return f"No ceiling: {why}, so it is not known what its skills reach without a model.{way_out}"
    missing = f" Of {ceiling.missing} tasks it is not known: their games are not here." if ceiling.missing else ""
    by_counts = f"by {counted_prior(manifest.configuration)}"
    how = _SEARCHING.get(ceiling.prior, by_counts)
    if not named_by_model(manifest.configuration):
        return f"Ceiling: without any model, the expert wins {_reached(ceiling)}, searching {how}, as this agent does.{missing}"
    counted = ""
    if ceiling.counted is not None:
        counted = f"; it wins {_reached(ceiling.counted)}, searching {by_counts}"
    return (
        f"Without any word on places, the expert, which has no model, wins {_reached(ceiling)}, searching {how}{counted}. "
        f"This agent's model names the places: guessing reaches the first mark, knowing houses well the second.{missing}"
    )


def _reached(ceiling: CeilingFigures) -> str:
    took = f" in {ceiling.turns:.1f} turns" if ceiling.turns is not None else ""
    return f"{ceiling.won} of {ceiling.tasks} ({table.percent(ceiling.success)}){took}"


_CEILING_COLUMNS: tuple[Column[CeilingFigures], ...] = (
    Column("tasks", lambda each: each.tasks),
    Column("won", lambda each: each.won),
    Column("success", lambda each: each.success, table.percent),
    Column("turns, won", lambda each: each.turns, table.number),
)


def ceilings_by_type(summary: Summary) -> Section:
    """The expert's figures by task type; nothing where there is one type alone, which the note tells of."""
    ceilings = [(kind, of.ceiling) for kind, of in (*summary.by_type.items(), ("all", summary.overall)) if of.ceiling]
    if summary.overall.ceiling is None or len(ceilings) < 3:
        return ()
    head = {"counts": "by counts", "random": "at random", "name": "by name"}[summary.overall.ceiling.prior]
    return Table.of(f"the expert alone, {head}", _CEILING_COLUMNS, ceilings)


def _cost_words(manifest: Manifest, summary: Summary) -> str:
    amount, prices = summary.overall.cost.total, summary.prices
    if prices is None:
        tables = printable(price_tables(manifest.configuration.model or ""))
        return f"Cost: not known; set input and output of {tables} in your housequest.toml."
    cached = "" if prices.cached is None else f", {prices.cached:g} from a cache"
    at = f"at {prices.input:g} for a million tokens read{cached}, {prices.output:g} written"
    if isinstance(prices, RolePrices):
        at = "each role at the price of its model, as if no cache served any of it"
    return f"Cost: not known, for not all tokens were counted, {at}." if amount is None else f"Cost: {money(amount)}, {at}."


def _call_words(overall: Figures) -> str:
    if overall.prompt_tokens is None and overall.completion_tokens is None:
        tokens = "tokens were not counted by the model"
    else:
        cached = overall.cached_tokens
        parts = "no cache told of" if cached is None else f"{overall.fresh_tokens:,} fresh, {cached:,} cached"
        thought = "" if overall.thinking_tokens is None else f" ({overall.thinking_tokens:,} of them thinking)"
        tokens = f"{overall.prompt_tokens or 0:,} tokens read ({parts}), {overall.completion_tokens or 0:,} written{thought}"
    model, wall = overall.model_seconds.total, overall.wall_seconds.total
    seconds = "" if model is None else f", {model:,.1f} s"
    whole = "" if wall is None else f" of {wall:,.1f} s that the episodes took"
    return f"{overall.calls:,} calls of the model, {tokens}{seconds}{whole if seconds else ''}"


def learned_words(manifest: Manifest, arm: str = "") -> Iterator[str]:
    """That what plays has learned from tasks that it played, so that its figures say little of others."""
    before = f"{arm}: " if arm else ""
    for name, tasks in manifest.learned.items():
        yield (
            f"! {before}{name} has learned from {tasks} of these {len(manifest.tasks)} tasks: its figures do not say how it "
            "plays others. Made-up houses that nothing learned from begin where `--split generated` does."
        )


def chance_words(difference: Difference, corrected: float | None = None) -> Iterator[str]:
    """Explain an interval and a p that do not agree, or an interval and a p that is ``corrected`` for many tests."""
    without_zero = not difference.interval.low <= 0 <= difference.interval.high
    if without_zero and difference.p < 0.05 <= (corrected or 0.0):
        yield (
            "more than chance if it is the only arm you ask about, as its interval and p say; among so many arms, Holm's p "
            "says, one differs as much by chance."
        )
    if without_zero != (difference.p < 0.05):
        yield (
            "interval and p, which are computed in different ways, do not agree on whether this is more than chance: "
            "take it as undecided."
        )


def first_lines(lines: Sequence[str], indent: str) -> Iterator[str]:
    """The first of these lines, and how many more there are."""
    for line in lines[:MOST_NAMED]:
        yield from wrapped(line, indent, f"{indent}  ")
    if len(lines) > MOST_NAMED:
        yield f"{indent}and {len(lines) - MOST_NAMED} more; --json names them all"
