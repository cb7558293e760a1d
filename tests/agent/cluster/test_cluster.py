"""Runs that are played elsewhere: whatever becomes of the players and of the command, the bytes are one machine's.

The players are real ones, in this process: who kills them is the test. `test_ray` plays on Ray.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from housequest.agent.cluster.driver import FromPlayer, Order, PlayerCluster, PlayerLost, RemoteHandle, ToPlayer
from housequest.agent.cluster.local import RemotePlayer
from housequest.agent.episodes.events import ModelCall
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.runs.batch import RunOptions, RunProgress, run_batch
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, Stopped
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.shard import verify_run
from housequest.agent.evaluation.runs.spec import RunSpec
from housequest.agent.evaluation.runs.usage import call_seconds
from housequest.worlds.errors import ConfigurationError
from tests.agent.evaluation.runs.test_batch import plan, play
from tests.agent.evaluation.runs.test_shards import kept
from tests.backends.policy import Solver
from tests.backends.server import Server, serve, status

TASKS = 6


@dataclass
class Handle(RemoteHandle):
    """A player in this process, whose messages go through pickles as they would elsewhere."""

    player: RemotePlayer
    hearing: asyncio.Task[Sequence[FromPlayer]] | None = None
    dead: bool = False

    async def tell(self, messages: Sequence[ToPlayer]) -> None:
        self._alive()
        await self.player.tell(pickle.loads(pickle.dumps(messages)))

    async def hear(self) -> Sequence[FromPlayer]:
        self._alive()
        self.hearing = asyncio.ensure_future(self.player.hear())
        try:
            return pickle.loads(pickle.dumps(await self.hearing))
        except asyncio.CancelledError:
            self._alive()
            raise

    def end(self) -> None:
        self.dead = True
        if self.hearing is not None:
            self.hearing.cancel()

    def _alive(self) -> None:
        if self.dead:
            raise PlayerLost("it was killed")


@dataclass
class Here(PlayerCluster):
    """Players in this process; after each ``every`` messages one is killed, drawn by ``chance``."""

    room: int = 3
    handles: list[Handle] = field(default_factory=list[Handle])
    order: Order | None = None

    def pool(self) -> int:
        return self.room

    async def open(self, order: Order) -> int:
        self.order = pickle.loads(pickle.dumps(order))
        return self.room

    def start(self) -> RemoteHandle:
        assert self.order is not None
        self.handles.append(Handle(RemotePlayer(self.order)))
        return self.handles[-1]

    def close(self) -> None:
        for handle in self.handles:
            handle.end()

    async def kill(self, handle: Handle) -> None:
        """Kill a player: nothing more is heard of it, and it does nothing more."""
        handle.end()
        await handle.player.aclose()


@pytest.fixture
def solving() -> Iterator[Server]:
    with serve(Solver()) as server:
        yield server


def react(folder: Path, server: Server, **more: object) -> RunSpec:
    flags = {"world": "alfworld", "split": "generated", "limit": TASKS, "agent": "react", "max_steps": 12}
    return plan(folder, **{**flags, "model": server.model(), **more})


def calls_recorded(run: Path) -> int:
    records = (run / "episodes").glob("*.jsonl*")
    return sum(isinstance(event.body, ModelCall) for file in records for event in read_episode(file))


@pytest.mark.heavy
@pytest.mark.parametrize("agent", ["expert", "react"])
def test_players_elsewhere_write_what_one_machine_writes(agent: str, tmp_path: Path, solving: Server) -> None:
    spec = react(tmp_path, solving) if agent == "react" else react(tmp_path, solving, agent="expert", model=None)
    seen: list[RunProgress] = []
    play(spec, tmp_path / "one")
    summary = play(spec, tmp_path / "many", concurrency=5, cluster=Here(), watcher=seen.append)
    assert kept(tmp_path / "many") == kept(tmp_path / "one")
    assert summary.overall.finished == TASKS
    assert seen[-1].done == TASKS
    assert verify_run(RunFolder(tmp_path / "many")).whole
    many, one = (call_seconds(RunFolder(tmp_path / name)) for name in ("many", "one"))
    assert {name: set(calls) for name, calls in many.items()} == {name: set(calls) for name, calls in one.items()}


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(3))
def test_players_and_the_command_are_killed_and_nothing_is_lost_or_doubled(seed: int, tmp_path: Path, solving: Server) -> None:
    spec, chance = react(tmp_path, solving), random.Random(seed)
    play(spec, tmp_path / "one")
    calls = len(solving.requests)
    solving.requests.clear()

    async def killed(kills: int) -> None:
        cluster = Here()
        run = asyncio.create_task(run_batch(spec, tmp_path / "many", RunOptions(concurrency=6, cluster=cluster)))
        for kill in range(kills):
            wanted = len(solving.requests) + chance.randrange(3, 12)
            while len(solving.requests) < wanted and not run.done():  # noqa: ASYNC110 (the server is another thread)
                await asyncio.sleep(0.002)
            if run.done():
                break
            if kill == kills - 1:
                run.cancel()
            else:
                await cluster.kill(chance.choice([handle for handle in cluster.handles if not handle.dead]))
        await asyncio.gather(run, return_exceptions=True)
        for handle in cluster.handles:
            await handle.player.aclose()

    for _ in range(3):
        asyncio.run(killed(3))
    play(spec, tmp_path / "many", concurrency=6, cluster=Here())
    assert kept(tmp_path / "many") == kept(tmp_path / "one")
    assert verify_run(RunFolder(tmp_path / "many")).whole
    assert calls_recorded(tmp_path / "many") <= calls


@pytest.mark.heavy
def test_a_budget_of_calls_is_kept_to_the_call(tmp_path: Path, solving: Server) -> None:
    spec, tracker = react(tmp_path, solving), BudgetTracker(Budget(calls=13))
    play(spec, tmp_path / "one")
    before = len(solving.requests)
    with pytest.raises(Stopped, match="budget of 13 calls is used up"):
        asyncio.run(run_batch(spec, tmp_path / "many", RunOptions(concurrency=6, cluster=Here()), tracker))
    # The probes of each player count, too, once its first reply has come.
    timings = map(json.loads, RunFolder(tmp_path / "many").timing_file.read_text().splitlines())
    recorded, wasted = calls_recorded(tmp_path / "many"), sum(timing.get("wasted", [0])[0] for timing in timings)
    assert recorded <= 13 <= tracker.used.calls == recorded + wasted
    probes = len(solving.requests) - before - 13
    assert play(spec, tmp_path / "many", concurrency=6, cluster=Here()).overall.finished == TASKS
    assert kept(tmp_path / "many") == kept(tmp_path / "one")
    assert probes < 40


@pytest.mark.heavy
def test_one_rate_limit_holds_for_all_players(tmp_path: Path, solving: Server) -> None:
    spec = react(tmp_path, solving)
    play(spec, tmp_path / "one")
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    limit = f'[endpoints."127.0.0.1:{solving.port}"]\nmax_connections = 2\n'
    (home / "config" / "housequest.toml").write_text(limit)
    seen: list[RunProgress] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOUSEQUEST_HOME", str(home))
        play(spec, tmp_path / "many", concurrency=6, cluster=Here(), watcher=seen.append)
    assert kept(tmp_path / "many") == kept(tmp_path / "one")
    assert {progress.limit for progress in seen} == {2}
    assert max(progress.active for progress in seen) <= 2


def test_an_endpoint_that_refuses_everything_stops_all_players(tmp_path: Path, solving: Server) -> None:
    solving.behave(otherwise=status(401))
    with pytest.raises(Stopped, match="refused access with 401"):
        play(react(tmp_path, solving, set=["form=free"]), tmp_path / "many", concurrency=6, cluster=Here())
    assert not RunFolder(tmp_path / "many").results(react(tmp_path, solving, set=["form=free"]).manifest.tasks)


def test_a_machine_with_other_data_is_refused_in_words(tmp_path: Path, solving: Server) -> None:
    spec = react(tmp_path, solving)
    other = replace(spec, manifest=spec.manifest.model_copy(update={"data": "0" * 64}))
    with pytest.raises(ConfigurationError, match=r"(?s)A player on .* cannot play: it would play another run; .*data: "):
        play(other, tmp_path / "many", concurrency=2, cluster=Here())


def test_players_that_die_one_after_another_stop_the_run(tmp_path: Path, solving: Server) -> None:
    class Dying(Here):
        def start(self) -> RemoteHandle:
            handle = super().start()
            handle.end()
            return handle

    said: list[str] = []
    with pytest.raises(Stopped, match=r"Player after player is lost before an episode ends, the last \(it was killed\)"):
        play(react(tmp_path, solving), tmp_path / "many", concurrency=2, cluster=Dying(), say=said.append)
    assert Counter(said) == {"A player was lost (it was killed); its 0 episodes continue elsewhere.": 5}
