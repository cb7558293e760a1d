"""Runs in several processes: a player, the command or all are killed, and of each episode at most a call is paid for again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from scripts.torture.kills import moment, until
from scripts.torture.program import PATIENCE, Process
from scripts.torture.trial import FINISHED, Trial
from scripts.torture.whole import CROWD, REACT, compare_index


async def kill_cluster(trial: Trial) -> None:
    """Kill players and commands when a random call has arrived; then go on with as many processes, or with one."""
    play, processes = (REACT, 2) if trial.number % 2 else (CROWD, 3)
    workers, allowed = trial.chance.choice((1, 2, 4, 8)), 0
    victims = [trial.chance.choice(("player", "command", "all")) for _ in range(trial.chance.randint(1, 3))]
    trial.about = f"{workers} workers in {processes} processes, killed: {', '.join(victims)}"
    more = ("--cluster", f"processes:{processes}")
    async with trial.endpoint() as endpoint:
        for victim in victims:
            endpoint.slow = trial.chance.choice((0.0, 0.01, 0.05, 0.3))
            process = await trial.program.start((*play.arguments("run", workers, endpoint), *more))
            await moment(trial, process, endpoint, trial.goldens[play])
            allowed += workers
            if victim == "player" and (playing := _players(process)):
                with suppress(ProcessLookupError):
                    os.kill(trial.chance.choice(playing), signal.SIGKILL)
                await moment(trial, process, endpoint, trial.goldens[play])
                allowed += workers
            left, over = _players(process), process.over
            if victim == "all":
                process.send(signal.SIGKILL)
            else:
                process.kill()
                await _left(trial, left)
            done = await process.outcome()
            if over:
                trial.expect(done, FINISHED)
            trial.faults(compare_index(trial.goldens[play], trial.run, whole=False))
        endpoint.honest()
        await trial.finish(play, workers, endpoint, *trial.chance.choice((more, ())))
        trial.check_paid(play, endpoint, allowed)


def _players(process: Process) -> list[int]:
    """The processes that the command has started; none where the system does not tell."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process.pid and b"spawn_main" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


async def _left(trial: Trial, players: Sequence[int]) -> None:
    """Wait for players to leave by themselves, whose command is gone."""
    try:
        async with asyncio.timeout(PATIENCE):
            await until(lambda: not any(map(_is_running, players)))
    except TimeoutError:
        trial.fault("hung", "players outlive their command")


def _is_running(player: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{player}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    return False
