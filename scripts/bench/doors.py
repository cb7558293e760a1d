"""What trainers and clusters get: many games at once, the drop-in against alfworld's own, and many episodes in flight.

**drop-in**: 1 to 1,024 games at once over textworld's interface, all different (`scripts.bench.doors_many`): steps a second of
processor with the admissible commands requested and without, and what the process grew by. Where alfworld is installed, the
same script plays few games on that too, since it takes seconds to load each. Then the same script and random agent on both
with one game (`scripts.bench.doors_agent`): they play the same games in the same order with the same commands, and their texts
are compared. An episode is a reset, which loads the next game, and steps to the end or the limit, each after the admissible
commands. Setting up, which lists all games of train, is timed separately. Each line is a process of its own.

**games**: `build_alfworld_envs` at 1 to 1,024 games, in groups of 8, as trainers have them, and of 1, where all differ. Steps a
second of processor, with admissible commands, which verl-agent's interface always has, the random agent's choices and Python's
collector. Memory is what the process grew by. Each line is a process of its own (`scripts.bench.doors_batch`).

**env-server**: `housequest env-server` in a process of its own, and 1, 64 and 256 sessions of a random player in another
(`scripts.bench.doors_client`), by OpenEnv's client where that is installed. Steps a second of wall time, the reset after 50 of
them included, and the processor time of a step on either side, that of the server with the connections and first resets. A
session's memory is what the server grew by from 64 sessions to 256.

**calls**: `scripts.bench.batch.in_flight`. **cluster**: `scripts.bench.cluster`.

**exports**: `scripts.bench.doors_export.exports`, training data in episodes a minute.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from housequest.worlds.alfworld.games import LAYOUT
from housequest.worlds.dropin.reference import check_installed, versions
from housequest.worlds.errors import ConfigurationError
from scripts.bench import cluster
from scripts.bench.batch import in_flight
from scripts.bench.doors_export import exports
from scripts.memory import peak

EPISODES = 10
STEPS = 50
GAMES = (1, 8, 64, 256, 1_024)
BATCH_STEPS = 45
THEIR_GAMES, THEIR_STEPS = (1, 8), 10
SESSIONS = 64
STAND_IN = ("housequest.as_alfworld", "-m")
OURS, THEIRS = "housequest.worlds.dropin", "alfworld.agents.environment"


@dataclass(frozen=True, slots=True)
class _Played:
    """Seconds to set up and of each episode; a digest of all texts."""

    setup: float
    episodes: list[float]
    digest: str


def run(data: Path | None) -> Iterator[str]:
    """All parts one after the other; lines to print."""
    for name, part in PARTS.items():
        for line in part(data):
            yield f"{name}: {line}"


def _drop_in(data: Path | None) -> Iterator[str]:
    """Steps a second in batches, and episodes a second, on both where alfworld is installed. Lines to print."""
    if data is None or not (data / LAYOUT / "train").is_dir():
        yield "not measured: the games of train are not here (set ALFWORLD_DATA)"
        return
    for games in GAMES:
        yield _batch(data, "ours", STAND_IN, games, episodes=max(1, 2_000 // (games * BATCH_STEPS)), steps=BATCH_STEPS)
    try:
        check_installed()
    except ConfigurationError as error:
        yield f"alfworld is not measured: {error}"
        return
    for games in THEIR_GAMES:
        yield _batch(data, "alfworld", (), games, episodes=1, steps=THEIR_STEPS)
    yield from _episodes(data)


def _batch(data: Path, whose: str, through: Sequence[str], games: int, *, episodes: int, steps: int) -> str:
    folder = str(data / LAYOUT / "train")
    program, *rest = (*through, "scripts.bench.doors_many", folder, str(games), str(episodes), str(steps))
    found = json.loads(_said(program, data, *rest))
    return (
        f"{games:5,} games, {whose}: {found['with']:9,.1f} steps a second with admissible commands, "
        f"{found['without']:9,.1f} without; {found['memory']:8,.1f} kB a game"
    )


def _episodes(data: Path) -> list[str]:
    """Episodes a second on both, by the median episode, and their ratio."""
    ours, theirs = _played(OURS, data), _played(THEIRS, data)
    fast, slow = median(ours.episodes), median(theirs.episodes)
    same = (
        "were told the same" if ours.digest == theirs.digest else "WERE TOLD DIFFERENT THINGS, so that the ratio means nothing"
    )
    return [
        f"medians over {EPISODES} train games, at most {STEPS} steps each, against {versions()}; both {same}:",
        f"  {1 / fast:8,.1f} episodes a second against {1 / slow:.3f}: {slow / fast:,.0f} times as many",
        f"  {ours.setup:8,.1f} s to set up against {theirs.setup:.1f} s",
    ]


def _games(data: Path | None) -> Iterator[str]:
    """Steps a second, resets and memory of many games at once."""
    if data is None or not (data / LAYOUT / "train").is_dir():
        yield "not measured: the games of train are not here (set ALFWORLD_DATA)"
        return
    for each in (1, 8):
        for number in GAMES:
            if number >= each:
                found = json.loads(_said("scripts.bench.doors_batch", data, str(number), str(each)))
                yield (
                    f"{number:5,} in groups of {each}: {found['steps']:9,.0f} steps a second, "
                    f"reset {found['reset']:.2f} ms a game ({found['first']:.2f} ms the first time), "
                    f"{found['memory']:6.1f} kB a game"
                )


def _env_server(data: Path | None) -> Iterator[str]:
    """Steps a second over the environment server."""
    games = data is not None and (data / LAYOUT / "train").is_dir()
    split = "train" if games else "example"
    command = [sys.executable, "-c", "from housequest.tui.cli import main; main()", "env-server"]
    command += ["--split", split, "--grant", "admissible", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=_environment(data)) as server:
        assert server.stderr is not None
        address = server.stderr.readline().split(" at ")[1].split()[0]
        grown: list[int] = []
        for sessions in (1, SESSIONS, 4 * SESSIONS):
            before = _processor(server.pid)
            found = json.loads(_said("scripts.bench.doors_client", data, address, str(sessions), str(2 * STEPS)))
            spent = _processor(server.pid)
            own = (
                ""
                if spent is None or before is None
                else f", {1e6 * (spent - before) / sessions / (2 * STEPS):,.0f} of the server"
            )
            yield (
                f"{sessions:3} sessions on {split} by {found['client']}: {found['steps']:7,.0f} steps a second; "
                f"processor a step: {found['microseconds']:,.0f} microseconds of the client{own}"
            )
            if spent is not None:
                grown.append(peak(server.pid))
        if grown:
            yield f"a session with its game: {(grown[-1] - grown[-2]) / (3 * SESSIONS):.0f} kB of the server's memory"
        server.terminate()


def _processor(process: int) -> float | None:
    """Seconds of processor that a process has taken; None where that is not known."""
    told = Path(f"/proc/{process}/stat")
    if not told.exists():
        return None
    user, system = told.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _played(module: str, data: Path) -> _Played:
    folder = str(data / LAYOUT / "train")
    return _Played(**json.loads(_said("scripts.bench.doors_agent", data, module, folder, str(EPISODES), str(STEPS))))


def _said(program: str, data: Path | None, *arguments: str) -> str:
    """The last line of a program; alfworld prints others before."""
    command = [sys.executable, "-m", program, *arguments]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=_environment(data)
    )
    return done.stdout.splitlines()[-1]


def _environment(data: Path | None) -> dict[str, str]:
    return {**os.environ, **({} if data is None else {"ALFWORLD_DATA": str(data)})}


PARTS: Mapping[str, Callable[[Path | None], Iterable[str]]] = {
    "games": _games,
    "drop-in": _drop_in,
    "env-server": _env_server,
    "calls": in_flight,
    "exports": exports,
    "cluster": cluster.run,
}
"""What is measured: ``make bench ARGS=doors:calls``."""
