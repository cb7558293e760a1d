"""Why nothing happened: what is said is true, comes from what was observed, and any text can be explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.worlds.alfworld.diagnosis import Diagnosed, explain
from housequest.worlds.alfworld.engine.game import Game
from housequest.worlds.alfworld.engine.native import REFUSED, NativeEnv
from housequest.worlds.alfworld.text import begin, canonical, update
from housequest.worlds.base import Env, Observation
from housequest.worlds.env import OrderChecked, StepLimit
from housequest.worlds.errors import OrderError
from housequest.worlds.household.belief import Belief, kind
from tests.worlds.alfworld.play import BUNDLED, HOUSES, any_commands, env_of, hidden_of, loaded, name_of, published
from tests.worlds.alfworld.text.test_belief import ANY_TEXT, OPENING


def told(*texts: str) -> Belief:
    belief = begin(OPENING)
    for text in texts:
        belief = update(belief, "", Observation(text))
    return belief


AT_DESK = told("You arrive at desk 1. On the desk 1, you see a mug 2, a pen 1, and a desklamp 1.")
HOLDING = told(
    "You arrive at desk 1. On the desk 1, you see a mug 2, a pen 1, and a desklamp 1.",
    "You pick up the mug 2 from the desk 1.",
)
AT_DRAWER = told(
    "You arrive at desk 1. On the desk 1, you see a mug 2, and a desklamp 1.",
    "You arrive at drawer 1. The drawer 1 is closed.",
)
BEHIND = told(
    "You arrive at desk 1. On the desk 1, you see a mug 2.",
    "You pick up the mug 2 from the desk 1.",
    "You are facing the desk 1, and drawer 2. Next to it, you see nothing.",
)


@pytest.mark.parametrize(
    ("belief", "command", "explanation"),
    [
        (AT_DRAWER, "take pen 1 from drawer 1", "No 'pen 1' was seen so far."),
        (AT_DRAWER, "take mug 2 from drawer 1", "The drawer 1 is closed; open it first."),
        (AT_DRAWER, "take mug 2 from desk 1", "You are at the drawer 1; go to the desk 1 first."),
        (AT_DRAWER, "use desklamp 1", "You are at the drawer 1; go to the desk 1 first."),
        (AT_DRAWER, "close drawer 1", "The drawer 1 is closed already."),
        (AT_DRAWER, "move mug 2 to drawer 1", "You do not hold the mug 2; you hold nothing."),
        (AT_DESK, "go to desk 1", "You are at the desk 1 already."),
        (AT_DESK, "go to desk 3", "No 'desk 3' is known in this house. Did you mean 'desk 1'?"),
        (AT_DESK, "go to the desk 1", "That is written `go to RECEPTACLE`, with names and numbers as the game gives them."),
        (AT_DESK, "open desk 1", "The desk 1 cannot be opened or closed."),
        (AT_DESK, "open drawer 1", "You are at the desk 1; go to the drawer 1 first."),
        (AT_DESK, "take mug from desk 1", "No 'mug' was seen so far. Did you mean 'mug 2'?"),
        (AT_DESK, "take bed 1 from desk 1", "The bed 1 is furniture; it stays where it is."),
        (AT_DESK, "take desklamp 1 from desk 1", "The desklamp 1 cannot be picked up."),
        (AT_DESK, "examine pen 1", "An object is examined in the hand: take the pen 1 first."),
        (AT_DESK, "examine bed 1", "You are at the desk 1; go to the bed 1 first."),
        (AT_DESK, "use pen 1", "The pen 1 cannot be switched on here."),
        (AT_DESK, "slice pen 1 with mug 2", "A mug does not slice; a knife or a butterknife does."),
        (AT_DESK, "slice pen 1 with knife 1", "No 'knife 1' was seen so far."),
        (
            AT_DESK,
            "Take mug 2 from  desk 1",
            "Commands are written in lower case with single spaces: `take mug 2 from desk 1`.",
        ),
        (HOLDING, "take pen 1 from desk 1", "Your hands are full: you hold the mug 2. Put it down first."),
        (HOLDING, "move pen 1 to desk 1", "You do not hold the pen 1; you hold the mug 2."),
        (HOLDING, "move mug 2 to desk 1", "The desk 1 does not take a mug."),
        (HOLDING, "put mug 2 in/on desk 1", "The desk 1 does not take a mug."),
        (HOLDING, "move mug 2 to bed 1", "You are at the desk 1; go to the bed 1 first."),
        (HOLDING, "use mug 2", "You hold the mug 2; what is switched on stands somewhere."),
        (HOLDING, "heat mug 2 with desk 1", "A desk does not heat; a microwave does."),
        (HOLDING, "clean pen 1 with desk 1", "You do not hold the pen 1; you hold the mug 2."),
        (BEHIND, "move mug 2 to drawer 2", "The drawer 2 is closed, or does not take a mug."),
        (BEHIND, "open drawer 2", "The drawer 2 cannot be opened or closed, or is open already; examine it."),
        (AT_DESK, "", "The command is empty; `look` and `inventory` always work."),
        (AT_DESK, "look around", "That is written `look`, with names and numbers as the game gives them."),
        (AT_DESK, "look", None),
        (begin(OPENING), "open desk 1", "You are in the middle of the room; go to the desk 1 first."),
    ],
)
def test_explanations(belief: Belief, command: str, explanation: str | None) -> None:
    assert explain(belief, command) == explanation


def test_an_unknown_verb_gets_the_nearest_one_and_the_list() -> None:
    found = explain(AT_DESK, "tkae mug 2 from desk 1")
    assert found and found.startswith("There is no command 'tkae'. Did you mean 'take'? Commands begin with look, ")
    assert found.endswith("slice.")


def test_a_kind_without_its_number_gets_the_choice() -> None:
    assert explain(begin(OPENING), "go to drawer") == "No 'drawer' is known in this house. Say which: drawer 1 or drawer 2."


def assert_true(explanation: str, env: NativeEnv) -> None:
    """Whatever an explanation claims for certain holds in the hidden state."""
    hidden, game = hidden_of(env), env.game
    name = r"([\w-]+ \d+)"

    def said(pattern: str) -> str:
        found = re.fullmatch(pattern, explanation)
        return found[1] if found else ""

    if closed := said(rf"The {name} is closed(?:; open it first| already)\."):
        assert closed in hidden.openable - hidden.opened
    if opened := said(rf"The {name} is open already\."):
        assert opened in hidden.opened
    if surface := said(rf"The {name} cannot be opened or closed\."):
        assert surface not in hidden.openable
    if held := said(rf"Your hands are full: you hold the {name}\. Put it down first\."):
        assert hidden.held == held
    if unheld := said(rf"You do not hold the {name}; .*"):
        assert hidden.held != unheld
    if here := said(rf"You are at the {name} already(?:: it is in the same place as the [\w-]+ \d+)?\."):
        assert here in hidden.here
    if at := said(rf"You are at the {name}; go to the .* first\."):
        assert at in hidden.here
    if missing := said(r"No '(.*?)' is known in this house\..*"):
        assert missing not in game.receptacles or game.place_of[game.receptacles.index(missing)] < 0
    if fixed := said(rf"The {name} cannot be picked up\."):
        assert game.objects.index(fixed) not in game.pickupable
    if refusing := said(rf"The {name} does not take a [\w-]+\."):
        assert hidden.held
        assert game.object_types[game.objects.index(hidden.held)] not in game.accepts[game.receptacles.index(refusing)]


def check(game: Game, seed: int, steps: int) -> int:
    inner = env_of(game)
    env = Diagnosed(inner)
    plain = env_of(game)
    plain.reset(), env.reset()
    explained = 0
    for command in any_commands(inner, seed, steps):
        step = env.step(command)
        assert step.observation.text == plain.step(canonical(command)).observation.text
        explanation = step.observation.explanation
        assert step.observation.accepted or explanation, f"{command!r} is refused without a reason"
        if explanation and not step.observation.accepted:
            assert_true(explanation, inner)
            explained += 1
    return explained


@pytest.mark.heavy
@pytest.mark.parametrize("house", HOUSES, ids=name_of)
def test_explanations_are_true_however_a_house_is_played(house: Path) -> None:
    assert sum(check(loaded(house), seed, 100) for seed in range(3)) > 10


@pytest.mark.games
def test_explanations_are_true_in_published_games(alfworld_games: Path) -> None:
    for seed, path in enumerate(published(alfworld_games, "train", 50)):
        check(loaded(path), seed, 60)


@pytest.mark.games
def test_what_is_accepted_is_never_called_impossible(alfworld_games: Path) -> None:
    """Hands, what is held and what is closed are known for certain, so they are never given as the reason against a command
    that would be accepted.
    """
    certain = ("Your hands are full", "You do not hold", "There is no command", "That is written", "Commands are written")
    for seed, path in enumerate(published(alfworld_games, "train", 20)):
        env = env_of(loaded(path))
        belief = begin(env.reset().observation)
        for command in any_commands(env, seed, 40):
            for possible in env.admissible_commands():
                reason = explain(belief, possible) or ""
                assert not reason.startswith(certain), (possible, reason)
                assert "is closed; open it first" not in reason, (possible, reason)
            belief = update(belief, command, env.step(command).observation)


def bundled(name: str) -> NativeEnv:
    return env_of(loaded(next(path for path in BUNDLED if path.stem == name)))


def test_the_older_put_is_executed_as_move_and_said_to_be() -> None:
    inner = bundled("kitchen")
    env = Diagnosed(inner)
    env.reset()
    source, thing = next(
        (name, contents[0])
        for name, contents in hidden_of(inner).contents.items()
        if contents and name not in hidden_of(inner).openable and inner.game.objects.index(contents[0]) in inner.game.pickupable
    )
    env.step(f"go to {source}")
    assert env.step(f"take {thing} from {source}").observation.accepted
    step = env.step(f"put {thing} in/on {source}")
    assert step.observation.text == f"You move the {thing} to the {source}."
    assert step.observation.explanation == f"Done as `move {thing} to {source}`."
    assert step.observation.belief and step.observation.belief.held is None
    assert env.step("look").observation.explanation is None


@pytest.mark.parametrize("word", ["in/on", "in", "on", "into", "onto", "to"])
def test_older_forms(word: str) -> None:
    assert canonical(f" put mug 1 {word} desk 2 ") == "move mug 1 to desk 2"


@pytest.mark.parametrize(
    "command",
    [
        "put mug 1",
        "put mug on desk",
        "move mug 1 to desk 2",
        "put mug 1 in desk 2 now",
        "",
        "putmug 1 in desk 1",
        "put mug 1 in desk 1" + " " * 1_000 + "now",
    ],
)
def test_anything_else_is_left_as_it_is(command: str) -> None:
    assert canonical(command) == command


def test_the_wrapper_is_an_env_and_its_copy_is_independent() -> None:
    env = Diagnosed(bundled("bedroom"))
    assert isinstance(env, Env)
    with pytest.raises(OrderError):
        env.step("look")
    known = env.reset().observation.belief
    assert known is not None
    other = env.copy()
    there, here = env.step(f"go to {known.receptacles[0].name}").observation, other.step("dance").observation
    assert there.belief and there.belief.at == known.receptacles[0].name
    assert here.belief == known
    assert here.explanation
    limited = OrderChecked(StepLimit(env.copy(), 1))
    limited.reset()
    step = limited.step("dance")
    assert (step.observation.text, step.truncated) == (REFUSED, True)
    assert step.observation.explanation


VERBS = st.sampled_from(
    [
        "go to ",
        "take ",
        "move ",
        "put ",
        "open ",
        "slice ",
        "heat ",
        "use ",
        "examine ",
        "look ",
        " from ",
        " to ",
        " with ",
        " in/on ",
        "desk 1",
        "mug 2",
    ]
)
COMMANDS = st.one_of(st.text(st.characters(), max_size=200), st.lists(st.one_of(VERBS, ANY_TEXT), max_size=6).map("".join))


@given(COMMANDS, st.sampled_from([AT_DESK, HOLDING, AT_DRAWER, BEHIND, Belief(), begin(OPENING)]))
def test_any_command_is_explained_in_one_short_printable_line(command: str, belief: Belief) -> None:
    explanation = explain(belief, command)
    assert explanation is None or (explanation.isprintable() and 0 < len(explanation) < 600)


@given(st.lists(COMMANDS, max_size=5))
@settings(max_examples=50)
def test_any_command_can_be_given_to_the_wrapper(commands: list[str]) -> None:
    env = Diagnosed(bundled("bathroom"))
    env.reset()
    for command in commands:
        env.step(command)


@pytest.mark.parametrize(
    "command",
    ["take " * 100_000, "x" * 1_000_000, "take " + "a" * 900 + " from " + "b" * 900, "\x00", "\ud800", "\u202e go to desk 1"],
)
def test_huge_and_odd_commands(command: str) -> None:
    explanation = explain(AT_DESK, command)
    assert explanation and explanation.isprintable() and len(explanation) < 600
    assert kind(command) is not None
