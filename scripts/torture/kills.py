"""Ends at any moment: kill -9 of the whole process group, Ctrl-C once and twice, and two commands at one folder."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from scripts.torture import lies
from scripts.torture.endpoint import Endpoint
from scripts.torture.program import Process
from scripts.torture.trial import FINISHED, REFUSED, STOPPED, Trial
from scripts.torture.whole import CROWD, EXPLORED, MANY, PROBED, REACT, REPEATED, RETRIED, Golden, Play, compare_index

LOOKED_AT = 3
"""Of so many killed runs, one is reported and verified before it goes on."""

AT_ONCE = 25.0
"""Seconds in which a second Ctrl-C must have ended a command; calls that come home may take longer."""


async def kill(trial: Trial) -> None:
    """Kill a run with a model several times, when a random call has arrived."""
    play = (CROWD, REACT, PROBED)[trial.number % 3]
    workers, kills = trial.chance.choice((1, 2, 4, 8, 16)), trial.chance.randint(1, 3)
    async with trial.endpoint() as endpoint:
        made = await _killed(trial, play, endpoint, workers, kills)
        trial.about = f"{workers} workers, {made} kills"
        await _look(trial, play)
        await trial.finish(play, workers, endpoint)
        trial.check_paid(play, endpoint, workers * made)


async def _killed(trial: Trial, play: Play, endpoint: Endpoint, workers: int, kills: int) -> int:
    """Start the command so many times and kill it; how often it was killed before it was through."""
    for made in range(kills):
        endpoint.slow = trial.chance.choice((0.0, 0.01, 0.05))
        process = await trial.program.start(play.arguments("run", workers, endpoint))
        await moment(trial, process, endpoint, trial.goldens[play])
        over = process.over
        process.send(trial.chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
        done = await process.outcome()
        trial.faults(compare_index(trial.goldens[play], trial.run, whole=False))
        if over:
            trial.expect(done, FINISHED)
            return made
    return kills


async def kill_series(trial: Trial) -> None:
    """Kill a series of repeats, or of further attempts at lost tasks, in any of its runs and between two of them."""
    play = REPEATED if trial.number % 2 else RETRIED
    workers, kills = trial.chance.choice((1, 2, 4)), trial.chance.randint(1, 4)
    async with trial.endpoint() as endpoint:
        made = await _killed(trial, play, endpoint, workers, kills)
        trial.about = f"{' '.join(play.more)}, {workers} workers, {made} kills"
        await trial.finish(play, workers, endpoint)
        trial.check_paid(play, endpoint, workers * made)


async def kill_expert(trial: Trial) -> None:
    """Kill a quick run without a model at a random moment of its second."""
    golden, made = trial.goldens[MANY], 0
    workers, kills = trial.chance.choice((1, 4, 16)), trial.chance.randint(1, 4)
    for _ in range(kills):
        process = await trial.program.start(MANY.arguments("run", workers))
        await asyncio.sleep(trial.chance.uniform(0.3, 1.1) * golden.seconds)
        made += not process.over
        process.send(signal.SIGKILL)
        await process.outcome()
        trial.faults(compare_index(golden, trial.run, whole=False))
    trial.about = f"{workers} workers, {made} kills"
    await _look(trial, MANY)
    await trial.finish(MANY, workers)


async def kill_explore(trial: Trial) -> None:
    """Kill an exploration while it plays and while a model writes rules."""
    workers, kills = trial.chance.choice((1, 2, 8)), trial.chance.randint(1, 3)
    async with trial.endpoint() as endpoint:
        made = await _killed(trial, EXPLORED, endpoint, workers, kills)
        trial.about = f"{workers} workers, {made} kills"
        await trial.finish(EXPLORED, workers, endpoint)
        trial.check_paid(EXPLORED, endpoint, workers * made)


async def interrupt(trial: Trial) -> None:
    """Ctrl-C once: what was asked for comes home, and nothing is paid for twice."""
    play, workers = (REACT, trial.chance.choice((1, 2, 4))) if trial.number % 2 else (CROWD, 16)
    trial.about = f"{workers} workers"
    async with trial.endpoint() as endpoint:
        endpoint.slow = trial.chance.choice((0.05, 0.3, 1.0))
        process = await trial.program.start(play.arguments("run", workers, endpoint))
        await moment(trial, process, endpoint, trial.goldens[play])
        process.send(signal.SIGINT)
        done = await process.outcome()
        trial.expect(done, STOPPED, FINISHED)
        trial.faults(compare_index(trial.goldens[play], trial.run, whole=False))
        endpoint.honest()
        await trial.finish(play, workers, endpoint)
        trial.check_paid(play, endpoint, 0)


async def interrupt_twice(trial: Trial) -> None:
    """Ctrl-C twice while no call is answered: the command leaves at once."""
    play, workers = (REACT, trial.chance.choice((1, 4))) if trial.number % 2 else (CROWD, 16)
    golden = trial.goldens[play]
    answered = trial.chance.randrange(len(golden.prompts) - workers)
    trial.about = f"{workers} workers, no answer after {answered}"
    async with trial.endpoint() as endpoint:
        endpoint.lie = lambda call: lies.hang if endpoint.paid.total() >= answered else None
        process = await trial.program.start(play.arguments("run", workers, endpoint))
        await reached(process, endpoint, answered + 1)
        process.send(signal.SIGINT)
        # Two that come at once are one: a person presses again having read that this leaves at once.
        await until(lambda: "again leaves at once" in process.heard or process.over)
        await asyncio.sleep(trial.chance.choice((0.0, 0.05, 0.5, 2.0)))
        process.send(signal.SIGINT)
        trial.expect(await process.outcome(AT_ONCE), STOPPED)
        trial.faults(compare_index(golden, trial.run, whole=False))
        endpoint.honest()
        await trial.finish(play, workers, endpoint)
        trial.check_paid(play, endpoint, workers)


async def twins(trial: Trial) -> None:
    """Two equal commands at once: one plays, the other is refused, and nothing is played twice."""
    async with trial.endpoint() as endpoint:
        endpoint.slow = 0.05
        line = REACT.arguments("run", 2, endpoint)
        pair = [await trial.program.start(line) for _ in range(2)]
        ends = [await process.outcome() for process in pair]
        if sorted(done.code if done.code is not None else -1 for done in ends) != [FINISHED, REFUSED]:
            for done in ends:
                # Both may finish where the second began only when the first was through.
                trial.expect(done, FINISHED)
        endpoint.honest()
        await trial.finish(REACT, 2, endpoint)
        trial.check_paid(REACT, endpoint, 0)


async def moment(trial: Trial, process: Process, endpoint: Endpoint, golden: Golden) -> None:
    """A random moment: now and then once the run has a folder, mostly when a call arrives, up to the last one and after."""
    if trial.chance.random() < 0.1:
        await until(lambda: trial.run.exists() or process.over)
        await asyncio.sleep(trial.chance.random() / 2)
        return
    left = max(1, len(golden.prompts) - endpoint.paid.total())
    await reached(process, endpoint, endpoint.calls + trial.chance.randint(1, left))
    await asyncio.sleep(trial.chance.choice((0.0, 0.002, 0.02, 0.2)))


async def reached(process: Process, endpoint: Endpoint, calls: int) -> None:
    """Wait for so many calls, or until the command is over."""
    await until(lambda: endpoint.calls >= calls or process.over)


async def _look(trial: Trial, play: Play) -> None:
    """Now and then: of what was killed nothing is counted wrongly, though an episode may have no line in the index yet."""
    if trial.number % LOOKED_AT == 0 and (trial.run / "run.json").exists():
        await trial.read(play, whole=None)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what tells nobody that it is there."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.005)
