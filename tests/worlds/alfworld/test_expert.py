"""The expert wins by what it is told alone, whoever interferes, and never insists on what was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfworld.engine.game import Game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.expert import HouseholdExpert, HouseholdExpertMemory, make_expert
from housequest.worlds.alfworld.text import read_goal
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Observation, Policy
from housequest.worlds.errors import ConfigurationError, KnowledgeError
from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import APPLIANCES
from tests.worlds.alfworld.play import BUNDLED, HOUSES, any_commands, env_of, loaded, name_of, published
from tests.worlds.alfworld.text.test_belief import ANY_TEXT, OPENING


def tells_all(game: Game) -> bool:
    """Whether names are types, as they are in every published game but not in all the odd houses, and the goal is readable."""
    goal = read_goal(game.sentence)
    if goal is None:
        return False
    objects = {number for number, name in enumerate(game.objects) if kind(name) == goal.object}
    receptacles = {number for number, name in enumerate(game.receptacles) if kind(name) == goal.receptacle}
    treating = {None: frozenset[int](), "heat": game.heaters, "cool": game.coolers, "clean": game.basins}[goal.treatment]
    appliances = {kind(game.receptacles[number]) for number in treating}
    plain = goal.treatment is None or appliances == {APPLIANCES[goal.treatment]}
    return objects == game.goal.objects and receptacles == set(game.goal.receptacles) and plain


READABLE = [path for path in HOUSES if tells_all(loaded(path))]


def test_enough_houses_tell_all() -> None:
    assert set(BUNDLED) <= set(READABLE)
    assert len(READABLE) >= 9


class Played:
    """One game played by the expert, after ``before`` was executed by somebody else."""

    def __init__(
        self, expert: HouseholdExpert, game: Game, limit: int = 50, before: Iterable[str] = (), env: NativeEnv | None = None
    ) -> None:
        self.env = env or env_of(game)
        self.commands: list[str] = []
        self.thoughts: list[str] = []
        self.refused: Counter[str] = Counter()
        step = self.env.reset()
        self.memory: HouseholdExpertMemory = expert.begin(game.sentence, step.observation)
        for command in before:
            step = self.env.step(command)
            self.memory = expert.observe(self.memory, command, step.observation)
        self.won = step.won
        while not self.won and len(self.commands) < limit:
            command, thought, self.memory = expert.decide(self.memory)
            if command is None:
                break
            step = self.env.step(command)
            self.won = step.won
            self.commands.append(command)
            self.thoughts.append(thought)
            self.refused[command] += not step.observation.accepted
            self.memory = expert.observe(self.memory, command, step.observation)


@pytest.mark.parametrize("order", ["counts", "random", "name"])
@pytest.mark.parametrize("house", READABLE, ids=name_of)
def test_it_wins_every_house(house: Path, order: str) -> None:
    played = Played(make_expert(order), loaded(house))
    assert played.won, played.commands
    assert all(thought.isprintable() and 5 < len(thought) < 150 for thought in played.thoughts)


@pytest.mark.parametrize("house", READABLE, ids=name_of)
def test_it_wins_after_anybody_interfered(house: Path) -> None:
    game = loaded(house)
    for seed in range(10):
        env = env_of(game)
        played = Played(make_expert(), game, limit=150, before=any_commands(env, seed, 25), env=env)
        assert played.won, (seed, played.commands)
        assert max(played.refused.values(), default=0) <= 1, played.refused


@pytest.mark.games
def test_it_wins_all_of_valid_seen(alfworld_games: Path) -> None:
    steps: list[int] = []
    for path in published(alfworld_games, "valid_seen", 140):
        played = Played(make_expert(), loaded(path))
        assert played.won, path
        steps.append(len(played.commands))
    assert len(steps) == 140
    assert sum(steps) / 140 < 7.0


@pytest.mark.games
def test_it_wins_train_games_after_anybody_interfered(alfworld_games: Path) -> None:
    for seed, path in enumerate(published(alfworld_games, "train", 60)):
        game = loaded(path)
        env = env_of(game)
        played = Played(make_expert(), game, limit=200, before=any_commands(env, seed, 40), env=env)
        assert played.won, path


def test_it_is_a_policy_and_an_old_memory_decides_as_it_did() -> None:
    expert: Policy = make_expert()
    game = loaded(BUNDLED[0])
    env = env_of(game)
    memory = expert.begin(game.sentence, env.reset().observation)
    plain = asdict(memory)
    command, _, chosen = expert.decide(memory)
    expert.observe(chosen, command, env.step(command).observation)
    assert asdict(memory) == plain
    assert expert.decide(memory)[0] == command


def test_it_looks_where_the_counted_table_says() -> None:
    opening = Observation("Looking quickly around you, you see a cabinet 1, a fridge 1, a garbagecan 1, and a stoveburner 1.")
    for goal, first in (("put a clean pan in cabinet.", "stoveburner 1"), ("put a hot lettuce in cabinet.", "fridge 1")):
        command, thought, _ = make_expert().decide(make_expert().begin(goal, opening))
        assert command == f"go to {first}"
        assert first in thought
    by_name = make_expert("name")
    assert by_name.decide(by_name.begin("put a clean pan in cabinet.", opening))[0] == "go to cabinet 1"


def test_people_are_understood_however_places_are_searched() -> None:
    opening = Observation("Looking quickly around you, you see a cabinet 1, a fridge 1, and a sinkbasin 1.")
    for search in ("counts", "random", "name"):
        expert = make_expert(search)
        memory = expert.begin("Rinse a fork and leave it in the cupboard.", opening)
        assert memory.guessed, search
        assert expert.decide(memory)[0] is not None


def test_chance_draws_one_order_for_a_seed_and_a_house() -> None:
    opening = Observation(f"Looking quickly around you, you see {', '.join(f'a drawer {n}' for n in range(1, 20))}.")

    def first(seed: int) -> str | None:
        expert = make_expert("random", seed=seed)
        return expert.decide(expert.begin("put a mug in drawer.", opening))[0]

    drawn = [first(seed) for seed in range(8)]
    assert drawn == [first(seed) for seed in range(8)]
    assert len(set(drawn)) > 3


def told(goal: str, *steps: tuple[str, str], opening: Observation = OPENING) -> tuple[str | None, str]:
    expert = make_expert()
    memory = expert.begin(goal, opening)
    for command, text in steps:
        memory = expert.observe(memory, command, Observation(text, text != "Nothing happens."))
    command, thought, _ = expert.decide(memory)
    return command, thought


DESK = ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1, a mug 2, and a desklamp 1.")


@pytest.mark.parametrize(
    ("goal", "steps", "command"),
    [
        ("put a mug in bed.", [DESK], "take mug 1 from desk 1"),
        (
            "put a pen in bed.",
            [DESK, ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1.")],
            "move mug 1 to desk 1",
        ),
        ("examine the mug with the desklamp.", [DESK, ("", "You are carrying: a mug 1.")], "use desklamp 1"),
        (
            "put a mug in drawer.",
            [("go to drawer 1", "You arrive at drawer 1. The drawer 1 is closed."), ("", "You are carrying: a mug 1.")],
            "open drawer 1",
        ),
        (
            "put two mug in bed.",
            [("go to bed 1", "You arrive at bed 1. On the bed 1, you see a mug 1."), DESK],
            "take mug 2 from desk 1",
        ),
        (
            "put two mug in drawer.",
            [
                ("", "You arrive at drawer 1. The drawer 1 is open. In it, you see nothing."),
                ("", "You arrive at drawer 2. The drawer 2 is open. In it, you see a mug 2."),
                ("", "You arrive at drawer 1. The drawer 1 is open. In it, you see nothing."),
                ("", "You are carrying: a mug 1."),
            ],
            "go to drawer 2",
        ),
    ],
)
def test_what_it_does_in_plain_cases(goal: str, steps: list[tuple[str, str]], command: str) -> None:
    assert told(goal, *steps)[0] == command


def test_it_prefers_what_is_treated_already_and_treats_what_is_not() -> None:
    kitchen = Observation("Looking quickly around you, you see a countertop 1, a fridge 1, and a table 1.")
    counter = ("", "You arrive at countertop 1. On the countertop 1, you see a pan 1, and a pan 2.")
    cooled = ("", "You cool the pan 2 using the fridge 1.")
    held = ("", "You are carrying: a pan 2.")
    assert told("put a cool pan in table.", counter, cooled, counter, opening=kitchen)[0] == "take pan 2 from countertop 1"
    assert told("put a cool pan in table.", counter, cooled, held, opening=kitchen)[0] == "go to table 1"
    assert told("put a cool pan in table.", counter, held, opening=kitchen)[0] == "go to fridge 1"


def test_a_goal_in_plain_words_is_guessed_aloud() -> None:
    command, thought = told("Move the mug to the bed!")
    assert thought.startswith("the goal seems to be: put some mug in the bed; ")
    assert command.startswith("go to ")


@pytest.mark.parametrize("goal", ["", "make everything nice", "\x1b[2J" * 1_000, "put the mug and the pen on the bed"])
def test_it_gives_up_on_a_goal_that_it_cannot_read(goal: str) -> None:
    command, thought = told(goal)
    assert command is None
    assert "cannot read" in thought


def test_it_gives_up_where_the_goal_seems_reached_already() -> None:
    command, thought = told("put a mug in bed.", ("", "You arrive at bed 1. On the bed 1, you see a mug 1."))
    assert command is None
    assert "is reached" in thought


def test_where_there_is_nothing_left_it_looks() -> None:
    opening = Observation("Looking quickly around you, you see a bed 1.")
    command, thought = told("put a mug in desk.", ("", "You arrive at bed 1. On the bed 1, you see nothing."), opening=opening)
    assert command == "look"
    assert "searched" in thought


def test_refused_every_time_it_tries_each_command_once() -> None:
    for goal in ("put a mug in bed.", "clean some mug and put it in drawer.", "look at mug under the desklamp."):
        expert = make_expert()
        memory = expert.begin(goal, OPENING)
        memory = expert.observe(
            memory, "", Observation("You arrive at desk 1. On the desk 1, you see a mug 1, and a desklamp 1.")
        )
        given_out: list[str] = []
        for _ in range(60):
            command, _, memory = expert.decide(memory)
            assert command is not None
            memory = expert.observe(memory, command, Observation("Nothing happens.", accepted=False))
            given_out.append(command)
        assert given_out[-1] == "look"
        assert max(number for command, number in Counter(given_out).items() if command != "look") == 1


@given(
    ANY_TEXT,
    ANY_TEXT,
    st.lists(st.tuples(st.none() | ANY_TEXT, ANY_TEXT, st.booleans()), max_size=8),
    st.sampled_from(["counts", "random", "name"]),
)
def test_any_text_leads_to_a_command_or_to_giving_up(
    goal: str, opening: str, steps: list[tuple[str | None, str, bool]], order: str
) -> None:
    expert = make_expert(order)
    for sentence in (goal, "put two mug in desk.", "cool some x and put it in drawer.", "look at mug under the x."):
        memory = expert.begin(sentence, Observation(opening))
        for overruled, text, accepted in steps:
            command, thought, memory = expert.decide(memory)
            assert thought and thought.isprintable()
            assert command is None or (command and command.isprintable())
            executed = overruled if overruled is not None else command or "look"
            memory = expert.observe(memory, executed, Observation(text, accepted))
        hash(memory)


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'counts'"):
        AlfworldWorld().expert(search="count")
    with pytest.raises(KnowledgeError, match="nowhere"):
        AlfworldWorld().expert(table=tmp_path / "nowhere.json")
