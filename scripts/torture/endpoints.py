"""Endpoints that fail for ever, for a while or for one prompt, and endpoints whose answers are odd."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.torture import lies
from scripts.torture.endpoint import Call, Endpoint, Lie
from scripts.torture.lies import FAILURES, FAITHFUL, FOOLISH
from scripts.torture.trial import ERRED, FINISHED, STOPPED, Trial
from scripts.torture.whole import CROWD, REACT, Play, compare_index, lines

MOMENTS = ("first call", "mid-run", "last call")
CREWS = (1, 2, 16)
WHILE = 2.0
"""Seconds for which an endpoint fails for a while."""

PATIENCE = 300.0
"""A dead endpoint is asked again for half a minute, and one that hangs for a time-out more each time."""

TIMEOUT = 3.0
POISONS = ("400", "500", "408", "html", "cut-json", "empty-200", "no-choices", "half")
FATAL_AT_FIRST = frozenset({"dead", "401", "403", "404", "redirect"})
"""What is fatal before anything was answered."""


@dataclass(frozen=True)
class Variant:
    """Which failure, when it begins, and how many workers meet it."""

    name: str
    moment: int
    workers: int

    @classmethod
    def of(cls, number: int) -> Variant:
        """Over three times as many trials as there are failures, each failure begins at each moment."""
        turn, place = divmod(number, len(FAILURES))
        return cls(tuple(FAILURES)[place], (turn + place) % len(MOMENTS), CREWS[(turn + place // len(MOMENTS)) % len(CREWS)])

    def __str__(self) -> str:
        return f"{self.name} at the {MOMENTS[self.moment]}, {self.workers} workers"

    @property
    def lie(self) -> Lie:
        return FAILURES[self.name].lie

    @property
    def play(self) -> Play:
        return CROWD if self.workers == max(CREWS) else REACT

    def begins(self, trial: Trial) -> int:
        """After how many honest answers."""
        total = len(trial.goldens[self.play].prompts)
        return (0, trial.chance.randrange(1, total - 1), total - 1)[self.moment]


async def dying(trial: Trial) -> None:
    """An endpoint that fails from some moment on: the run stops with no episode spoiled, and goes on once it is back."""
    variant = Variant.of(trial.number)
    begins, play, workers = variant.begins(trial), variant.play, variant.workers
    trial.about = f"{variant}, for ever"
    async with trial.endpoint() as endpoint:
        endpoint.lie = lambda call: variant.lie if endpoint.paid.total() >= begins else None
        done = await trial.program.run(play.arguments("run", workers, endpoint, _timeout(variant.name)), PATIENCE)
        trial.expect(done, STOPPED, naming="goes on")
        _no_error(trial, play)
        await _mended(endpoint)
        await trial.finish(play, workers, endpoint)
        trial.check_paid(play, endpoint, workers)


async def flaky(trial: Trial) -> None:
    """An endpoint that fails for a while, or once: what is tried again is not noticed, and nothing is ever spoiled."""
    variant = Variant.of(trial.number)
    begins, play, workers, once = variant.begins(trial), variant.play, variant.workers, trial.number % 2 == 1
    trial.about = f"{variant}, {'once' if once else f'for {WHILE:g} seconds'}"
    fatal = variant.moment == 0 and variant.name in FATAL_AT_FIRST
    unnoticed = (once or FAILURES[variant.name].retried) and not fatal
    failed = False
    async with trial.endpoint() as endpoint:

        def lie(call: Call) -> Lie | None:
            nonlocal failed
            if endpoint.paid.total() < begins or (once and failed):
                return None
            if not failed and (not once or variant.lie is lies.dead):
                mended.append(asyncio.ensure_future(_mended(endpoint, WHILE)))
            failed = True
            return variant.lie

        mended: list[asyncio.Future[None]] = []
        endpoint.lie = lie
        line = play.arguments("run", workers, endpoint, _timeout(variant.name))
        done = await trial.program.run(line, PATIENCE)
        trial.expect(done, *((FINISHED,) if unnoticed else (FINISHED, STOPPED)))
        _no_error(trial, play)
        await asyncio.gather(*mended)
        if done.code == FINISHED:
            trial.check(play, done)
        else:
            await _mended(endpoint)
            await trial.finish(play, workers, endpoint)
        trial.check_paid(play, endpoint, 0 if done.code == FINISHED else workers)


async def poison(trial: Trial) -> None:
    """One prompt that always fails at a good endpoint: its episode errs, the others do not."""
    name = POISONS[trial.number % len(POISONS)]
    golden, workers = trial.goldens[REACT], trial.chance.choice((1, 4))
    prompt = trial.chance.choice(golden.prompts[len(golden.prompts) // 2 :])
    trial.about = f"{name} for one prompt, {workers} workers"
    async with trial.endpoint() as endpoint:
        endpoint.lie = lambda call: FAILURES[name].lie if call.prompt == prompt else None
        line = REACT.arguments("run", workers, endpoint, _timeout(name))
        trial.expect(await trial.program.run(line, PATIENCE), ERRED)
        wrong = _otherwise(trial, REACT)
        if len(wrong) != 1 or wrong[0].get("outcome") != "error":
            trial.fault("miscounted", f"one episode was to err, and these did: {[line.get('task') for line in wrong]}")
        endpoint.honest()
        await trial.finish(REACT, workers, endpoint, "--retry-errors")
        trial.check_paid(REACT, endpoint, trial.goldens[REACT].longest)


async def odd_reply(trial: Trial) -> None:
    """Completions that are none the worse for what stands in or beside them."""
    kinds = {**FAITHFUL, **FOOLISH}
    name = tuple(kinds)[trial.number % len(kinds)]
    trial.about = name
    async with trial.endpoint() as endpoint:
        endpoint.lie = lambda call: kinds[name]
        line = REACT.arguments("run", 2, endpoint)
        done = await trial.program.run(line)
        if not trial.expect(done, FINISHED):
            return
        outcomes = {line["task"]: _course(line) for line in lines(trial.run / "index.jsonl")}
        right = {line["task"]: _course(line) for line in lines(trial.goldens[REACT].folder / "index.jsonl")}
        if outcomes != right if name in FAITHFUL else outcomes.keys() != right.keys():
            trial.fault("miscounted", f"the games went otherwise: {outcomes}")
        paid = endpoint.paid.total()
        again = await trial.program.run(line)
        if trial.expect(again, FINISHED) and again.out != done.out:
            trial.fault("miscounted", "the same command again reports something else")
        if endpoint.paid.total() != paid:
            trial.fault("paid twice", "the same command again asked again")


def _timeout(name: str) -> float:
    return TIMEOUT if FAILURES[name].lie in {lies.hang, lies.dribble} else 60.0


async def _mended(endpoint: Endpoint, seconds: float = 0.0) -> None:
    """The endpoint is as it should be, after so many seconds."""
    await asyncio.sleep(seconds)
    endpoint.honest()
    endpoint.shut()
    await endpoint.open()


def _no_error(trial: Trial, play: Play) -> None:
    trial.faults(compare_index(trial.goldens[play], trial.run, whole=False))


def _otherwise(trial: Trial, play: Play) -> Sequence[Mapping[str, Any]]:
    """The lines of the index that an undisturbed run has otherwise."""
    right = lines(trial.goldens[play].folder / "index.jsonl")
    return [line for line in lines(trial.run / "index.jsonl") if line not in right]


def _course(line: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(line.get(name) for name in ("outcome", "turns", "steps", "calls"))
