"""Code of peers on the stand-in: how it finds, reloads and calls modules, with games that ship.

`test_dropin_programs` runs whole programs beside the real alfworld.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from housequest.worlds.alfworld.engine.native import HELP
from housequest.worlds.dropin.core import EnvInfos, Filter, TextworldWrapper
from housequest.worlds.dropin.env import AlfredDemangler
from housequest.worlds.dropin.games import make_batch, shuffled_cycle, start
from housequest.worlds.dropin.peers import (
    Demangler,
    HandCodedAgentTimeout,
    HandCodedTWAgent,
    NaiveAgent,
    WalkthroughAgent,
    WalkthroughDone,
    extract_admissible_commands,
    play,
)
from housequest.worlds.errors import Unsupported
from tests.worlds.alfworld.play import BUNDLED

ROOT = Path(__file__).parents[3]
FILE = str(BUNDLED[0])
LOOKED_UP = """
import importlib, importlib.util, sys
import housequest.as_alfworld
import alfworld, alfworld.agents.environment as environment, textworld, textworld.agents
from alfworld.agents.agent import TextDAggerAgent
from alfworld.agents.expert import HandCodedTWAgent

before = environment.AlfredTWEnv
for module in (alfworld, environment, textworld, textworld.agents):
    assert importlib.reload(module) is module and importlib.util.find_spec(module.__name__).name == module.__name__
assert environment.AlfredTWEnv is before is environment.get_environment("AlfredTWEnv")
assert importlib.util.find_spec("alfworld.nothing") is None
from textworld.envs.pddl import textgen
derive, textgen.EvalSymbol.derive = textgen.EvalSymbol.derive, print  # as programs do for newer Pythons
for use in (TextDAggerAgent, lambda: importlib.import_module("alfworld.gen.constants").OBJECTS, derive):
    try:
        use()
    except (NotImplementedError, AttributeError) as error:
        print(error)
try:
    import alfworld.nothing
except ModuleNotFoundError as error:
    print(error.name)
del sys.modules["alfworld.info"]
import alfworld.info
print(alfworld.info.ALFRED_PDDL_PATH)
print(alfworld.info.BUILTIN_DATA_PATH)
"""


@pytest.mark.heavy
def test_modules_are_found_and_loaded_again_as_from_files(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOKED_UP],
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "ALFWORLD_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    agent, constants, derive, missing, path, folder = done.stdout.splitlines()
    assert agent.startswith("alfworld.agents.agent.TextDAggerAgent is not in the stand-in")
    assert constants.startswith("alfworld.gen.constants.OBJECTS is not in the stand-in")
    assert derive.startswith("textworld.envs.pddl.textgen.EvalSymbol is not in the stand-in")
    assert missing == "alfworld.nothing"
    assert path == f"{folder}/alfred.pddl"


class Renaming(TextworldWrapper):
    """Names things with a demangler of its own, at each load."""

    def load(self, path: str) -> None:
        super().load(path)
        names = Demangler(game_infos=self._entity_infos)
        for info in self._entity_infos.values():
            info.name = names.demangle_alfred_name(info.id)


def test_a_demangler_of_ones_own_names_things_as_ours_does() -> None:
    own, ours = (start(FILE, EnvInfos(admissible_commands=True), [wrapper]) for wrapper in (Renaming, AlfredDemangler))
    for _ in range(2):
        state, expected = own.reset(), ours.reset()
        assert state.feedback == expected.feedback
        for command in expected.admissible_commands[:10]:
            assert own.step(command) == ours.step(command)
    names = {info.name for info in ours._entity_infos.values()}
    assert {info.name for info in own._entity_infos.values() if info.type == "object"} <= names


def test_a_name_of_ones_own_is_what_the_game_says() -> None:
    env = start(FILE, EnvInfos(admissible_commands=True))
    thing = next(info for info in env._entity_infos.values() if info.type == "receptacle")
    assert thing.name == thing.id
    thing.name = "the place"
    assert "go to the place" in env.reset()["admissible_commands"]
    assert env.step("go to the place")[0]["feedback"].startswith("You arrive at the place. ")


def test_what_is_hidden_is_passed_on_and_refused_where_it_is_looked_at() -> None:
    env = start(FILE, EnvInfos(facts=True))
    facts = env.reset()["facts"]
    for look in (len, list, lambda facts: "holds" in facts):
        with pytest.raises(Unsupported, match="facts is hidden state"):
            look(facts)


def test_numbers_count_down_from_the_lowest_id_and_other_things_keep_their_text() -> None:
    ids = ("mug_bar_1", "mug_bar_2", "sink_bar_3_bar_sinkbasin", "agent1", "loc_minus_1_dot_5")
    names = Demangler(Counter(mug=1), {one: SimpleNamespace(id=one) for one in ids})
    assert [names.demangle_alfred_name(one) for one in ids] == ["mug 3", "mug 2", "sinkbasin 1", "agent1 ", "loc-1.5 "]


def test_every_command_that_texts_suggest_is_listed_in_alfworlds_order() -> None:
    commands = extract_admissible_commands("You see a fridge 1, and a sofa 2.", "On it, you see a mug 1 and a desklamp 1.")
    assert commands[:2] == ["go to fridge 1", "go to sof2"]
    assert commands[6:10] == [
        *("take mug 1 from fridge 1", "take desklamp 1 from fridge 1"),
        *("take mug 1 from sof2", "take desklamp 1 from sof2"),
    ]
    assert commands[14:17] == ["use desklamp 1", "cool mug 1 with fridge 1", "cool desklamp 1 with fridge 1"]
    assert commands[17:] == [
        *("inventory", "look", "help", "examine mug 1", "examine desklamp 1"),
        *("examine fridge 1", "examine sof2"),
    ]


def test_the_expert_answers_alfworlds_calls(tmp_path: Path) -> None:
    (tmp_path / "traj_data.json").touch()
    env = start(FILE, EnvInfos(won=True, admissible_commands=True, facts=True), [AlfredDemangler])
    expert = HandCodedTWAgent(max_steps=60)
    for _ in range(2):
        state = env.reset()
        expert.reset(game=str(tmp_path / "game.tw-pddl"))
        expert.observe(state.feedback)
        command, done = "", False
        while not done:
            command = expert.act(state, 0, state["won"], command)
            state, _, done = env.step(command)
        assert state["won"]
    with pytest.raises(HandCodedAgentTimeout):
        for _ in range(61):
            expert.act(state, 0, True, "look")
    with pytest.raises(FileNotFoundError):
        expert.reset()


def test_a_walkthrough_is_given_command_by_command() -> None:
    env = start(FILE, EnvInfos())
    agent = WalkthroughAgent([" look ", "help"])
    agent.reset(env)
    state = env.reset()
    assert [agent.act(state, 0, False) for _ in range(2)] == ["look", "help"]
    with pytest.raises(WalkthroughDone):
        agent.act(state, 0, False)
    agent = WalkthroughAgent()
    agent.reset(env)  # which plans, since the file has no walkthrough
    state, done = env.reset(), False
    while not done:
        state, _, done = env.step(agent.act(state, 0, False))
    assert state["won"]


def test_an_agent_plays_in_the_terminal_with_its_commands_shown(capsys: pytest.CaptureFixture[str]) -> None:
    play(FILE, WalkthroughAgent(["look", "inventory"]), max_nb_steps=2, wrappers=[AlfredDemangler()])
    opening, looked, carried = capsys.readouterr().out.split("\n> ")
    assert opening.startswith("-= Welcome to TextWorld, ALFRED! =-")
    assert looked.startswith("look\nYou are in the middle of a room.")
    assert carried == "inventory\nYou are not carrying anything.\n\nDone after None steps. Score 0/None.\n"
    play(FILE, NaiveAgent(), max_nb_steps=3, silent=True)
    assert capsys.readouterr().out == ""


def test_what_a_batch_answered_stays_as_it_was() -> None:
    batch = make_batch([FILE, FILE], wrappers=[AlfredDemangler, Filter])
    assert batch.seed(3) == [59011, 48056]  # textworld's numbers
    batch.reset()
    batch.step(["look", "help"])
    kept = batch.last
    batch.step(["inventory", "look"])
    assert [one[0] for one in kept if one] == [
        "You are in the middle of a room. Looking quickly around you, you see nothing.",
        HELP,
    ]


def test_a_cycle_starts_in_order_and_goes_on_shuffled() -> None:
    order = list(shuffled_cycle("abc", np.random.RandomState(7), nb_loops=2))
    assert order[:3] == ["a", "b", "c"]
    assert [sorted(order[at : at + 3]) for at in (3, 6)] == [["a", "b", "c"]] * 2
    assert len(order) == 9


PUTTING = """
import sys, textworld, textworld.gym
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
infos = textworld.EnvInfos(admissible_commands=True)
env = textworld.gym.make(textworld.gym.register_game(sys.argv[1], infos, wrappers=[AlfredDemangler()]))
_, infos = env.reset()
while not (moves := [command for command in infos["admissible_commands"] if command.startswith("move")]):
    # Whatever can be taken is taken; else the next place is looked at.
    able = [one for one in infos["admissible_commands"] if one.startswith(("take", "open"))]
    places = places[1:] if "places" in globals() else [one for one in infos["admissible_commands"] if one.startswith("go to")]
    _, _, _, infos = env.step(able[0] if able else places[0])
thing, _, place = moves[0].removeprefix("move ").partition(" to ")
for form in ("in/on", "in", "on"):
    text, _, _, infos = env.step(f"put {thing} {form} {place}")
    print(text, infos.get("extra.read_as"))
"""


@pytest.mark.parametrize(
    ("arguments", "refused", "words"),
    [
        (["--help"], False, "--accept-put   play"),
        (["--accept-put", "-h"], False, "Usage: python -m housequest.as_alfworld"),
        ([], True, "Name a script."),
        (["-m"], True, "Name a module after -m."),
        (["nope.py", "--help"], True, "There is no script 'nope.py'."),
        (["-m", "nope.at_all"], True, "There is no module 'nope.at_all' here."),
        (["-m", "json.nope"], True, "There is no module 'json.nope' here."),
        (["--acept-put", "nope.py"], True, "There is no option '--acept-put'. Did you mean '--accept-put'?"),
        (["--accept-put", "--thor", "nope.py"], True, "--thor goes first, and alone, before the script."),
    ],
)
def test_the_command_explains_itself(arguments: list[str], refused: bool, words: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "housequest.as_alfworld", *arguments],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == (2 if refused else 0)
    assert words in (done.stderr if refused else done.stdout)
    assert done.stderr.count("\n") == refused


@pytest.mark.heavy
@pytest.mark.parametrize("accepted", [False, True])
def test_the_older_put_is_refused_aloud_or_played_and_marked(accepted: bool, tmp_path: Path) -> None:
    (tmp_path / "puts.py").write_text(PUTTING, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "housequest.as_alfworld", *["--accept-put"] * accepted, "puts.py", FILE],
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "ALFWORLD_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    first, *others = done.stdout.splitlines()
    assert others == ["Nothing happens. None"] * 2
    if accepted:
        assert first.startswith("You move the ")
        assert " move " in first
        assert "1 commands `put X in/on Y` were played as `move X to Y`" in done.stderr
    else:
        assert first == "Nothing happens. None"
        assert done.stderr.count("`put X in/on Y` is refused, as in alfworld 0.4") == 1
