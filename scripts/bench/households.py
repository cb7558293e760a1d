"""Homes, and what rules are worth: how well agents get to know homes, and what the books that ship do in ordinary houses.

The homes are those of the seeds 2000 to 2019, on which nothing was tuned. Lives are lived side by side, one on each processor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import NamedTuple

from housequest.agent.config import configure
from housequest.agent.evaluation.analysis.statistics import bootstrap_mean
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.budget import BudgetTracker
from housequest.agent.evaluation.runs.folder import Result, RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.explorer.curves import LivesReport, read_curves
from housequest.agent.explorer.living import CEILING, FLOOR, LEARNT, TRIED, Life, Lives, live, plan_lives
from housequest.agent.processes import processors
from housequest.knowledge.examples import EVALUATION_SEEDS
from housequest.knowledge.rulebook import SUFFIX, library
from tests.backends.policy import react
from tests.backends.server import Messages, serve

HOMES = "2000..2019"
WAYS = ("counts", "explore", "groups", "mine", "memory")
TEN, FIVE = "2000..2009", "2000..2004"
HOUSES = 200
"""Made-up houses in which books are measured."""


def run(data: Path | None) -> Iterator[str]:
    """All parts one after the other. Lines to print."""
    for name, part in PARTS.items():
        for line in part(data):
            yield f"{name}: {line}" if line else ""


def homes(data: Path | None) -> Iterator[str]:
    """The expert in homes of four rooms for 40 days, with books tried on 20 others. Lines to print."""
    del data
    report = _lived({"agent": "expert"}, f"household:{HOMES}", WAYS, 40, TRIED, 20)
    yield from report.lines()
    yield ""
    yield from _wanted(report)


def builtin(data: Path | None) -> Iterator[str]:
    """The built-in model in single rooms and in four, for five days, with books tried on five others. Lines to print."""
    del data
    for kind, seeds, wanted in (("household-light", HOMES, " (wanted: 85 % by rules)"), ("household", TEN, "")):
        report = _lived({"agent": "reasoner-actor"}, f"{kind}:{seeds}", ("explore",), 5, (5,), 5)
        yield from report.lines()
        shares = [report.reference(FLOOR)[0], report.curve("explore")[-1].success, report.reference(CEILING)[0]]
        yield "{}: success {:.0%} without rules, {:.0%} by those of five days, {:.0%} by the true habits{}".format(
            kind, *shares, wanted
        )


def endpoint(data: Path | None) -> Iterator[str]:
    """A policy behind an endpoint in homes of four rooms, with every way to learn, for ten days; books are tried on ten others.

    It reads its prompts and nothing else, believes what they say of places, counts over past days that they tell, and plays
    like the expert: so this is what is to be gained by each way, and what it costs. Words count as tokens. Lines to print.
    """
    del data
    with serve() as server:

        def follow(messages: Messages) -> str:
            server.requests.clear()  # those of long lives would fill the memory
            return react(messages)

        server.policy = follow
        settings = {"agent": "react", "model": server.model(), "set": {"form": "free"}}
        yield from _lived(settings, f"household:{FIVE}", LEARNT, 10, (5, 10), 10).lines()


def books(data: Path | None) -> Iterator[str]:
    """The expert and the built-in model in ordinary houses, without and with each book that ships. Lines to print."""
    splits = (f"generated:{EVALUATION_SEEDS}..{EVALUATION_SEEDS + HOUSES - 1}", *(["valid_seen"] if data is not None else []))
    shipped = sorted(file.stem for file in library().shipped.glob(f"*{SUFFIX}"))
    arms = [_BookArm(*arm) for arm in product(splits, ("expert", "reasoner-actor"), ("", *shipped))]
    with TemporaryDirectory() as folder, ProcessPoolExecutor(processors()) as pool:
        played = dict(zip(arms, pool.map(partial(_play, Path(folder)), arms), strict=True))
    for arm in arms:
        if arm.book:
            yield from _worth(arm, played[arm._replace(book="")], played[arm])


class _BookArm(NamedTuple):
    split: str
    agent: str
    book: str


class _Game(NamedTuple):
    """A game without or with a book; a lost one takes all its steps."""

    won: bool
    steps: int
    calls: int


def _play(folder: Path, arm: _BookArm) -> list[_Game]:
    rules = {"rules": arm.book} if arm.book else {}
    spec = make_run_spec(configure({"agent": arm.agent, "split": arm.split, **rules}))
    place = folder / "-".join(arm).replace(":", "-")
    asyncio.run(run_batch(spec, place, RunOptions(concurrency=32)))
    return [_Game(one.won, one.turns if one.won else spec.setup.max_turns, one.calls) for one in _results(place)]


def _results(folder: Path) -> list[Result]:
    run = RunFolder(folder)
    return sorted(run.results(run.manifest().tasks), key=lambda one: one.number)


def _worth(arm: _BookArm, without: Sequence[_Game], told: Sequence[_Game]) -> Iterator[str]:
    more = [after.steps - before.steps for before, after in zip(without, told, strict=True)]
    ends = bootstrap_mean(more)
    won = [sum(game.won for game in games) for games in (without, told)]
    calls = fmean(game.calls for game in told)
    yield (
        f"{arm.split}, {arm.agent}, {arm.book}: {fmean(more):+.2f} steps ({ends.low:+.2f} to {ends.high:+.2f}; wanted: at most "
        f"+0.1, and +0.3 at the end), won {won[0]} and {won[1]} of {len(told)}"
        + (f", {calls:.1f} calls a game (wanted: at most 7)" if calls else "")
    )


def _lived(
    settings: Mapping[str, object], named: str, ways: Iterable[str], days: int, tried: Sequence[int], frozen: int
) -> LivesReport:
    lives = plan_lives(configure(settings), [named], tuple(ways), days, tried, frozen)
    with TemporaryDirectory() as folder, ProcessPoolExecutor(processors()) as pool:
        list(pool.map(partial(_life, lives, Path(folder)), lives.manifest.lives))
        return read_curves(Path(folder))


def _life(lives: Lives, folder: Path, life: Life) -> None:
    asyncio.run(live(lives, folder, RunOptions(concurrency=16), BudgetTracker(), [life]))


def _wanted(report: LivesReport) -> Iterator[str]:
    curves = {arm: {each.day: each for each in report.curve(arm)} for arm in report.arms}
    explore, counts = curves["explore"], curves["counts"]
    gap = {day: each.gap or 0.0 for day, each in explore.items()}
    floor = report.reference(FLOOR)[0]
    yield f"exploring closes {gap[10]:.0%} of the gap by day 10 and {gap[20]:.0%} by day 20 (wanted: 80 and 90)"
    yield f"success at day 10: {100 * (explore[10].success - floor):+.0f} points (wanted: +30)"
    yield f"counting closes {counts[40].gap or 0.0:.0%} by day 40 (wanted: 80)"
    found = [share or 0.0 for share in (explore[20].precision, explore[20].recall, explore[20].main, explore[40].recall)]
    precision, recall, main, later = found
    yield f"habits at day 20: precision {precision:.2f}, recall {recall:.2f}, main place {main:.2f} (wanted: .9, .75, .85)"
    yield f"recall at day 40: {later:.2f} (wanted: .8)"
    for day, each in curves["groups"].items():
        part, tokens = (each.gap or 0.0) / (gap[day] or 1.0), each.tokens / explore[day].tokens
        yield f"groups at day {day}: {part:.1%} of what exploring closes, in {tokens:.0%} of its tokens (wanted: 95 and less)"


PARTS: Mapping[str, Callable[[Path | None], Iterator[str]]] = {
    "homes": homes,
    "builtin": builtin,
    "endpoint": endpoint,
    "books": books,
}
"""What is measured: ``make bench ARGS=households:books``."""
