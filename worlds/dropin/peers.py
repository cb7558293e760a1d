"""The helpers of alfworld and textworld that other programs import: names of things, goals, lists of commands, players."""

from __future__ import annotations

import random
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import product
from json import JSONEncoder
from pathlib import Path
from typing import Any

from housequest.worlds.alfworld.expert import make_expert
from housequest.worlds.alfworld.text import goal_sentences
from housequest.worlds.dropin.core import GameState, TextworldAgent
from housequest.worlds.dropin.env import ExpertPlan
from housequest.worlds.dropin.games import start
from housequest.worlds.errors import Unsupported, shown
from housequest.worlds.household.goals import TASK_TYPES, Goal

_BAR = "_bar_"
_WRITTEN = {_BAR: "|", "_minus_": "-", "_plus_": "+", "_dot_": ".", "_comma_": ","}
_COMMANDS = (
    *(("go to {tool}", "place"), ("open {tool}", "place"), ("close {tool}", "place")),
    *(("take {thing} from {tool}", "place"), ("move {thing} to {tool}", "place"), ("use {tool}", "lamp")),
    *(("heat {thing} with {tool}", "microwave"), ("cool {thing} with {tool}", "fridge")),
    *(("clean {thing} with {tool}", "sink"), ("slice {thing} with {tool}", "knife")),
    *((bare, "") for bare in ("inventory", "look", "help", "examine {thing}")),
    ("examine {tool}", "place"),
)
"""The commands that a DAgger agent chooses from, in alfworld's order, with the kind of thing each is done at."""

_WITH_A_WORD = ("take", "drop", "eat", "attack")
_NAIVE = ("north", "south", "east", "west", "up", "down", "look", "inventory", "take all", "YES", "wait", *_WITH_A_WORD)


class Demangler:
    """The names of things by their ids, as ``{"name": "mug", "id": 1}``: numbers count down in the order of the ids, which
    ``shuffle`` draws with Python's global generator. ``obj_dict`` has the numbers that are taken already."""

    def __init__(
        self, obj_dict: Counter[str] | None = None, game_infos: Mapping[str, Any] | None = None, shuffle: bool = False
    ) -> None:
        self.obj_count: Counter[str] = Counter() if obj_dict is None else obj_dict
        self.obj_names: dict[str, dict[str, Any]] = {}
        ids = sorted(info.id for info in (game_infos or {}).values())
        if shuffle:
            random.shuffle(ids)
        self.obj_count.update(stem for stem in map(self._stem, ids) if stem)
        left = dict(self.obj_count)
        for one in ids:
            stem, name = self._stem(one), one
            for code, written in _WRITTEN.items():
                name = name.replace(code, written)
            self.obj_names[one] = {"name": stem or name, "id": left[stem] if stem else 0}
            if stem:
                left[stem] -= 1

    @staticmethod
    def _stem(one: str) -> str:
        stem, bar, _ = one.partition(_BAR)
        return "" if not bar else f"{stem}basin" if "basin" in one else stem

    def demangle_alfred_name(self, text: str) -> str:
        """The name of the thing with this id; one without a number ends in a space, as in alfworld."""
        assert text in self.obj_names, text
        name, number = self.obj_names[text].values()
        return f"{name} {number or ''}"


class NumpyArrayEncoder(JSONEncoder):
    """Writes NumPy's arrays as lists."""

    def default(self, o: Any) -> Any:
        return o.tolist() if hasattr(o, "tolist") else super().default(o)


def get_templated_task_desc(traj_data: Mapping[str, Any]) -> str:
    """One of the two sentences for the goal of a ``traj_data.json``, without a full stop."""
    given, kind = traj_data["pddl_params"], traj_data["task_type"]
    if kind not in TASK_TYPES or given["object_sliced"]:
        raise Unsupported(f"{shown(kind)}, with a sliced object or not, has no games here, and so no sentence for its goal.")
    targets = [given[key].lower() for key in ("object_target", "parent_target", "toggle_target")]
    return random.choice(goal_sentences(Goal(kind, *targets))).removesuffix(".")


def get_human_anns_task_desc(traj_data: Mapping[str, Any], rng: Any = random) -> str:
    """An annotator's sentence for the goal."""
    return rng.choice(traj_data["turk_annotations"]["anns"])["task_desc"]


def add_task_to_grammar(
    grammar_str: str, traj_data: Mapping[str, Any], goal_desc_human_anns_prob: float = 0.0, rng: Any = random
) -> str:
    """The grammar with the goal of a ``traj_data.json``, which with this probability is an annotator's."""
    by_person = rng.random() < goal_desc_human_anns_prob
    goal = get_human_anns_task_desc(traj_data, rng) if by_person else get_templated_task_desc(traj_data)
    return grammar_str.replace("UNKNOWN GOAL", goal)


def parse_objects(desc: str) -> list[str]:
    """The things in an observation's list. Like alfworld's, it takes every "a " out, so that "sofa 1" becomes "sof1"."""
    _, seen, listed = desc.lower().replace(" and", ",").partition("you see ")
    if not seen:
        return []
    plain = listed.partition("your task is to:")[0].translate(str.maketrans("", "", string.punctuation.replace(",", "")))
    return [name for name in (part.strip().replace("a ", "") for part in plain.split(",")) if name]


def extract_admissible_commands(intro: str, frame_desc: str) -> list[str]:
    """Every command that the opening and an observation suggest, possible or not, in alfworld's order."""
    places, things = parse_objects(intro), parse_objects(frame_desc or "")
    tools = {
        "": [""],
        "place": places,
        "lamp": [thing for thing in things if "lamp" in thing],
        "sink": [place for place in places if "sink" in place or "bathtub" in place],
        **{kind: [place for place in places if kind in place] for kind in ("microwave", "fridge", "knife")},
    }
    return [
        form.format(tool=tool, thing=thing)
        for form, kind in _COMMANDS
        for tool, thing in product(tools[kind], things if "{thing}" in form else [""])
    ]


class HandCodedAgentTimeout(NameError):
    """The expert has played as many steps as it may."""


class HandCodedAgentFailed(NameError):
    """Nothing here raises it."""


class HandCodedTWAgent(TextworldAgent):
    """Our expert with the calls of alfworld's: `reset` with a game's path, `observe` the opening, then `act` after each step.
    It reads the texts and needs no facts; what it commands is always admissible."""

    def __init__(self, max_steps: int = 150) -> None:
        self.max_steps, self._acted = max_steps, 0
        self._plan: ExpertPlan | None = None

    def reset(self, game: Any = "INVALID") -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # as there
        """Before the first command of a game. Raises ``FileNotFoundError`` for one without ``traj_data.json``."""
        Path(game).with_name("traj_data.json").stat()
        self._plan, self._acted = None, 0

    def observe(self, obs: str) -> None:
        """Read the opening."""
        self._plan = ExpertPlan(make_expert(), obs)

    def act(self, game_state: Mapping[str, Any], reward: float, done: bool, last_action: str = "") -> str:
        """The next command, after ``last_action`` was answered. Raises ``HandCodedAgentTimeout``."""
        del reward, done
        self._acted += 1
        if self._acted > self.max_steps:
            raise HandCodedAgentTimeout
        if self._plan is None:
            self.observe(game_state["feedback"])
        elif last_action:
            self._plan.observe(last_action, game_state["feedback"])
        assert self._plan is not None
        return self._plan.next(game_state["admissible_commands"])[0]


class HumanAgent(TextworldAgent):
    """Asks the person at the terminal; ``autocompletion`` prints the commands possible now, ``oracle`` a way to win."""

    def __init__(self, autocompletion: bool = True, oracle: bool = False) -> None:
        self.autocompletion, self.oracle = autocompletion, oracle

    def reset(self, env: Any) -> None:
        env.display_command_during_render = False
        env.request_infos.admissible_commands |= self.autocompletion
        env.request_infos.policy_commands |= self.oracle

    def act(self, game_state: Mapping[str, Any], reward: float, done: bool) -> str:
        del reward
        if self.oracle and not done and game_state["policy_commands"]:
            print("Oracle:", " > ".join(game_state["policy_commands"]), end="\n\n")
        if self.autocompletion and game_state["admissible_commands"]:
            print("Available actions:", game_state["admissible_commands"], end="\n\n")
        return input("> ")


def play(
    game_file: str,
    agent: TextworldAgent | None = None,
    max_nb_steps: int = 1000,
    wrappers: Sequence[Callable[[Any], Any]] = (),
    silent: bool = False,
) -> None:
    """Play a game in the terminal by an ``agent``, or without one by a person. Raises as `start`."""
    player = agent or HumanAgent()
    env = start(game_file, wrappers=[*wrappers, *player.wrappers])
    player.reset(env)
    state, reward, done, steps = env.reset(), 0, False, 0
    show: Callable[[], object] = (lambda: None) if silent else env.render
    show()
    with suppress(KeyboardInterrupt):
        while steps < max_nb_steps and not done:
            state, reward, done = env.step(player.act(state, reward, done))
            steps += 1
            show()
    env.close()
    if not silent:
        print(f"Done after {state.moves} steps. Score {state.score}/{state.max_score}.")


class RandomCommandAgent(TextworldAgent):
    """Draws one of the commands possible now, with NumPy's generator for ``seed``."""

    def __init__(self, seed: int = 1234) -> None:
        import numpy as np

        self.seed, self.rng = seed, np.random.RandomState(seed)

    def reset(self, env: Any) -> None:
        env.request_infos.admissible_commands = env.display_command_during_render = True

    def act(self, game_state: GameState, reward: float, done: bool) -> str:
        del reward, done
        if game_state.admissible_commands is None:
            raise NameError("A random command needs the admissible ones: reset this agent with the env before the game starts.")
        possible: list[str] = game_state.admissible_commands
        return self.rng.choice(possible)


class NaiveAgent(TextworldAgent):
    """Plays simple random commands of text games, some with a word of the last answer, by NumPy's generator for ``seed``."""

    def __init__(self, seed: int = 1234) -> None:
        import numpy as np

        self.seed, self.rng = seed, np.random.RandomState(seed)

    def reset(self, env: Any) -> None:
        env.display_command_during_render = True

    def act(self, game_state: GameState, reward: float, done: bool) -> str:
        del reward, done
        action = self.rng.choice(_NAIVE)
        words = [word for word in game_state.feedback.split() if len(word) > 3] if action in _WITH_A_WORD else []
        return f"{action} {self.rng.choice(words)}" if words else action


class WalkthroughDone(NameError):
    """All commands of the walkthrough were given."""


class WalkthroughAgent(TextworldAgent):
    """Gives the ``commands``, or those of the game's own walkthrough."""

    def __init__(self, commands: Sequence[str] | None = None) -> None:
        self.commands = commands

    def reset(self, env: Any) -> None:
        env.request_infos.extras.append("walkthrough")
        env.display_command_during_render = True
        commands = env.reset().get("extra.walkthrough") if self.commands is None else self.commands
        if commands is None:
            raise NameError("This game has no walkthrough; give the commands.")
        self._left = iter(commands)

    def act(self, game_state: GameState, reward: float, done: bool) -> str:
        del game_state, reward, done
        for command in self._left:
            return command.strip()
        raise WalkthroughDone
