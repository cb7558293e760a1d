"""The reference engine: its protocol with a worker over the native engine, then the real one where it is installed."""

from __future__ import annotations

import fcntl
import gc
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.worlds.alfworld.engine.game import read_game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Env, Task
from housequest.worlds.dropin.reference import TextworldEnv, Workers
from housequest.worlds.errors import ConfigurationError, GameError, OrderError, Unsupported, WorldError
from tests.waiting import PATIENCE, ending, wait_until
from tests.worlds.alfworld.play import BUNDLED, GOLDEN, any_commands, env_of, loaded, name_of
from tests.worlds.dropin.reference.native_worker import MISDEEDS

WORKER = "tests.worlds.dropin.reference.native_worker"
QUICK = "scripts.parity.quick"
ROOT = Path(__file__).parents[4]
KITCHEN = next(path for path in BUNDLED if path.stem == "kitchen")
INSTALLED = all(importlib.util.find_spec(name) for name in ("alfworld", "textworld", "fast_downward"))

reference = pytest.mark.skipif(not INSTALLED, reason='needs the real game: pip install "housequest[alfworld]"')


def task_at(path: Path, wording: str = "template") -> Task:
    return Task(path.stem, "alfworld", "test", 1, "", loaded(path).sentence, wording, path)


def opened(workers: Workers, path: Path = KITCHEN) -> TextworldEnv:
    return TextworldEnv(task_at(path), loaded(path), read_game(path), workers)


@pytest.fixture(scope="module")
def workers() -> Workers:
    """A pool that tests share, as episodes of one run do."""
    return Workers(WORKER)


def same(env: Env, path: Path, commands: list[str]) -> None:
    """Both say the same to all of ``commands``."""
    native = env_of(loaded(path))
    assert env.reset() == native.reset()
    assert env.admissible_commands() == native.admissible_commands()
    for command in commands:
        assert env.step(command) == native.step(command), command
        assert env.admissible_commands() == native.admissible_commands(), command


@pytest.mark.parametrize("house", [*BUNDLED, *GOLDEN[:3]], ids=name_of)
def test_a_game_is_handed_on_as_it_is_played(workers: Workers, house: Path, capfd: pytest.CaptureFixture[str]) -> None:
    env = opened(workers, house)
    same(env, house, list(any_commands(env_of_started(house), 1, 30)))
    env.close()
    assert capfd.readouterr() == ("", "")


def env_of_started(house: Path) -> NativeEnv:
    env = env_of(loaded(house))
    env.reset()
    return env


ANY = st.text(st.characters(exclude_categories=())) | st.sampled_from(["look", "look\n", " look", "Look"])


# Hypothesis also tries texts that stand in the code, such as those at which the worker misbehaves.
@given(command=ANY.filter(lambda command: command not in MISDEEDS))
@settings(max_examples=40)
def test_any_text_is_a_command(workers: Workers, command: str) -> None:
    env = opened(workers)
    env.reset()
    assert env.step(command).observation.accepted == (command.strip() in env.admissible_commands())
    assert env.step("look").observation.accepted
    env.close()


def test_a_reset_starts_again(workers: Workers) -> None:
    env = opened(workers)
    first = env.reset()
    env.step("go to fridge 1")
    assert env.reset() == first
    assert "open fridge 1" not in env.admissible_commands()
    env.close()


def test_it_is_not_used_out_of_order(workers: Workers) -> None:
    env = opened(workers)
    for use in (lambda: env.step("look"), env.admissible_commands, env.copy):
        with pytest.raises(OrderError):
            use()
    env.reset()
    env.close()
    env.close()
    with pytest.raises(OrderError):
        env.step("look")
    assert env.reset() == opened(workers).reset()
    env.close()


def test_what_the_reference_does_not_tell_is_not_made_up(workers: Workers) -> None:
    env = opened(workers)
    env.reset()
    assert env.goal_conditions() is None
    with pytest.raises(Unsupported, match="play its commands again"):
        env.copy()
    env.close()


def test_a_goal_never_becomes_grammar(workers: Workers, tmp_path: Path) -> None:
    """The reference evaluates what stands in braces."""
    house = tmp_path / "hostile.json"
    goal = 'look. {open("pwned", "w")} #help# [x|y] \\n "}]} UNKNOWN GOAL.'
    house.write_text(json.dumps({**json.loads(KITCHEN.read_text()), "goal": goal}))
    env = opened(workers, house)
    assert env.reset().observation.text.endswith(f"\n\nYour task is to: {goal}")
    assert goal not in str(env._material)
    env.close()


BREAKING = [
    ("die", "was killed by signal 9, saying .below Python's stdout"),
    ("fail", "ended with status 1, saying .*KeyError: 'fell down'"),
    ("exit", "ended with status 1, saying 'out of eggs'"),
    ("babble", "answers with something that is not JSON"),
    ("answer otherwise", "gave an answer that cannot be read"),
    ("answer with a number", "gave an answer that cannot be read"),
    ("talk without end", "talks without end"),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("command", "reason"), BREAKING)
def test_a_worker_that_breaks_is_an_error_and_a_reset_recovers(workers: Workers, command: str, reason: str) -> None:
    env = opened(workers)
    opening = env.reset()
    with pytest.raises(WorldError, match=f"'kitchen': the reference game broke off: .*{reason}.*Reset it") as caught:
        env.step(command)
    assert str(caught.value).isprintable()
    with pytest.raises(OrderError):
        env.step("look")
    assert env.reset() == opening
    assert env.step("look").observation.accepted
    env.close()


def test_a_worker_that_hangs_is_ended() -> None:
    impatient = Workers(WORKER, answering=0.2)
    env = opened(impatient)
    opening = env.reset()
    with pytest.raises(WorldError, match=r"no answer within 0\.2 seconds"):
        env.step("hang")
    assert env.reset() == opening
    impatient.close()


def test_a_worker_that_was_killed_while_it_waited_is_not_used(workers: Workers) -> None:
    env = opened(workers)
    opening = env.reset()
    worker = env._worker
    assert worker is not None
    env.close()
    os.kill(worker.pid, signal.SIGKILL)
    wait_until(lambda: not worker.alive)
    assert env.reset() == opening
    env.close()


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("housequest.worlds.alfworld.no_such_worker", "No module named"),
        ("this", "none of ours|not JSON"),
        ("housequest.worlds.errors", "status 0"),
    ],
)
def test_a_program_that_is_no_worker_is_an_error(module: str, reason: str) -> None:
    with pytest.raises(GameError, match=f"'kitchen': the reference game broke off: .*({reason})"):
        opened(Workers(module)).reset()


def pid_of(env: TextworldEnv) -> int:
    assert env._worker is not None
    return env._worker.pid


@pytest.mark.heavy
def test_workers_are_used_again_one_game_at_a_time() -> None:
    pool = Workers(WORKER)
    one, two = opened(pool), opened(pool, BUNDLED[0])
    one.reset()
    two.reset()
    first, second = pid_of(one), pid_of(two)
    assert first != second
    assert one.step("look") != two.step("inventory")
    one.close()
    three = opened(pool, BUNDLED[0])
    three.reset()
    assert pid_of(three) == first
    del two  # an env that nobody closed
    gc.collect()
    four = opened(pool)
    four.reset()
    assert pid_of(four) == second
    pool.close()
    with pytest.raises(WorldError):
        four.step("look")


@pytest.mark.heavy
def test_a_worker_that_played_many_games_is_replaced() -> None:
    """With each game, the planner's library keeps some memory."""
    pool = Workers(WORKER)
    pids: list[int] = []
    for _ in range(160):
        env = opened(pool)
        env.reset()
        pids.append(pid_of(env))
        env.close()
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [150, 10]


def test_a_step_whose_caller_has_gone_is_ended_by_close(workers: Workers) -> None:
    env = opened(workers)
    opening = env.reset()
    ended: list[Exception] = []
    stepping = threading.Event()

    def step() -> None:
        stepping.set()
        try:
            env.step("hang")
        except WorldError as error:
            ended.append(error)

    thread = threading.Thread(target=step, daemon=True)
    thread.start()
    assert stepping.wait(PATIENCE)
    wait_until(env._stepping.locked)
    env.close()
    thread.join(PATIENCE)
    assert len(ended) == 1
    assert opened(workers).reset() == opening


PARENT = """
import sys
from tests.worlds.dropin.reference.test_textworld import WORKER, Workers, opened
pool = Workers(WORKER)
env = opened(pool)
env.reset()
print("started", flush=True)
"""


ENDS = {
    "killed": "sys.stdin.readline()",
    "killed in the midst of a step": "env.step('hang')",
    "ended": "",
    "pool dropped": "del pool, env; sys.stdin.readline()",
}


@pytest.mark.heavy
@pytest.mark.parametrize("way", ENDS)
def test_no_worker_outlives_who_started_it(tmp_path: Path, way: str) -> None:
    code = PARENT + ENDS[way]
    alive = tmp_path / "alive"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "ALIVE": str(alive)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with ending(process) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"started\n"
        if way == "pool dropped":
            freed(alive)
        if way.startswith("killed"):
            parent.kill()
    freed(alive)


def freed(alive: Path) -> None:
    """Wait until nobody holds the file locked."""
    with alive.open() as file:

        def free() -> bool:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        wait_until(free)


@pytest.mark.skipif(INSTALLED, reason="the real game is installed here")
def test_without_the_packages_the_engine_says_how_to_get_them() -> None:
    with pytest.raises(ConfigurationError, match=r'needs .*alfworld.*pip install "housequest\[alfworld\]".*native'):
        AlfworldWorld(engine="textworld")
    with pytest.raises(GameError, match="ModuleNotFoundError: No module named"):
        opened(Workers()).reset()


@pytest.fixture(scope="module")
def real() -> AlfworldWorld:
    """The world over the real game; its workers are shared."""
    return AlfworldWorld(engine="textworld")


@reference
def test_the_world_names_its_engine(real: AlfworldWorld) -> None:
    assert real.engine.startswith("textworld 1.")
    assert not real.inline
    assert AlfworldWorld().info.inline


@reference
@pytest.mark.parametrize("house", BUNDLED, ids=name_of)
def test_the_real_game_says_what_the_native_engine_says(real: AlfworldWorld, house: Path) -> None:
    task = real.task(f"example/{house.stem}")
    env = real.open(task)
    commands = list(any_commands(env_of_started(house), 2, 12))
    same(env, house, [*commands, "put mug 1 in/on desk 1", "\ud800", "", " look "])
    env.close()
    explained = real.explained(real.open(task))
    explained.reset()
    assert explained.step("open fridge 77").observation.explanation
    explained.close()


@reference
def test_a_goal_never_becomes_grammar_in_the_real_game(real: AlfworldWorld, tmp_path: Path) -> None:
    house, written = tmp_path / "hostile.json", tmp_path / "pwned"
    goal = f"{{open({str(written)!r}, 'w')}} #help#"
    house.write_text(json.dumps({**json.loads(KITCHEN.read_text()), "goal": goal}))
    env = real.open(real.task(str(house)))
    assert env.reset().observation.text.endswith(f"Your task is to: {goal}")
    assert not written.exists()
    env.close()


@reference
def test_the_worker_of_long_sweeps_says_the_same(real: AlfworldWorld) -> None:
    task = real.task("example/kitchen")
    plain, quick = real.open(task), TextworldEnv(task, loaded(KITCHEN), read_game(KITCHEN), Workers(QUICK))
    commands = list(any_commands(env_of_started(KITCHEN), 3, 12))
    same(plain, KITCHEN, commands)
    same(quick, KITCHEN, [*commands, *commands])
    plain.close()
    quick.close()


@reference
@pytest.mark.games
def test_a_persons_goal_is_shown_as_the_native_engine_shows_it(alfworld_games: Path) -> None:
    worlds = [AlfworldWorld(engine, data=alfworld_games, goals="human:1") for engine in ("native", "textworld")]
    native, other = (world.open(world.task("valid_seen:1")) for world in worlds)
    assert native.task.wording == "human:1"
    assert other.reset() == native.reset()
    assert other.step("look") == native.step("look")
    other.close()
