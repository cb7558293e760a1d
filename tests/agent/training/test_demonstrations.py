"""What the built-in model learns from, without PyTorch."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from random import Random

import pytest

np = pytest.importorskip("numpy")

from housequest.agent.agents.reasoner_actor.agent import ACTOR, REASONER, SearchOrder, plan_of  # noqa: E402
from housequest.agent.models.builtin.network import Vocabulary  # noqa: E402
from housequest.agent.roles.demonstrations import STUCK  # noqa: E402
from housequest.agent.training import wordings  # noqa: E402
from housequest.agent.training.__main__ import main  # noqa: E402
from housequest.agent.training.corpus import (  # noqa: E402
    CorpusPart,
    TrainingSample,
    actor_samples,
    encoded,
    made_up_games,
    reasoner_samples,
    spread,
    word_pieces,
    wrong_goal,
)
from housequest.agent.training.evaluate import GOALS, HINTS, LEARNER_HINTS  # noqa: E402
from housequest.agent.training.wordings import goal_wording, plural  # noqa: E402
from housequest.knowledge.examples import EVALUATION_SEEDS  # noqa: E402
from housequest.worlds.alfworld.text import begin  # noqa: E402
from housequest.worlds.base import Observation  # noqa: E402
from housequest.worlds.errors import ConfigurationError  # noqa: E402
from housequest.worlds.household.goals import TYPES, Goal  # noqa: E402

GOALS_OF_EACH_TYPE = (
    Goal("pick_and_place_simple", "mug", "desk"),
    Goal("pick_clean_then_place_in_recep", "mug", "desk"),
    Goal("look_at_obj_in_light", "mug", lamp="desklamp"),
    Goal("pick_two_obj_and_place", "mug", "desk", count=2),
)


def acted(houses: int = 8) -> list[TrainingSample]:
    return list(actor_samples(made_up_games(0, houses, 1), 1, 1))


def test_a_seed_gives_the_same_samples() -> None:
    assert acted(3) == acted(3)


def test_each_reply_is_one_that_its_role_reads_strictly() -> None:
    samples = acted()
    assert len(samples) > 40
    for sample in samples:
        assert re.fullmatch(r"Thought: .*\nStep: \d{1,2}\nAction: [a-z0-9 ]+", sample.reply)
        assert ACTOR.read(sample.reply)
    for sample in reasoner_samples(made_up_games(0, 8, 1), 2, 1):
        assert re.fullmatch(r"Thought: .*\nPlan:(\n\d{1,2}\. \S.*)+", sample.reply)
        assert REASONER.read(sample.reply).steps


def test_what_was_tried_is_not_taught_again() -> None:
    samples = [sample for sample in acted(30) if "Tried: " in sample.prompt]
    assert samples
    for sample in samples:
        tried = sample.prompt.rpartition("Tried: ")[2].split("; ")
        assert (ACTOR.read(sample.reply).command or STUCK) not in tried


@pytest.mark.parametrize(("most", "taken"), [(None, 7), (9, 7), (7, 7), (4, 4), (1, 1)])
def test_a_limit_takes_no_more_and_spreads_them(most: int | None, taken: int) -> None:
    found = spread(range(7), most)
    assert len(set(found)) == len(found) == taken
    assert found[0] == 0
    assert max(found) <= 6


def test_half_of_all_is_every_other() -> None:
    assert list(spread(range(3553), 1777)) == list(range(3553))[::2]


def test_houses_for_evaluation_are_not_trained_on() -> None:
    with pytest.raises(ConfigurationError, match="for evaluation"):
        next(iter(made_up_games(EVALUATION_SEEDS - 1, 2, 1)))


@pytest.mark.parametrize(
    ("goal", "plan"),
    [
        (
            Goal("pick_heat_then_place_in_recep", "egg", "desk"),
            ("find and take an egg, first in the safe or the drawer 3", "heat it with the microwave", "put it in the desk"),
        ),
        (
            Goal("pick_two_obj_and_place", "mug", "desk", count=2),
            (
                "find and take a mug, first in the safe or the drawer 3",
                "put it in the desk",
                "find and take another mug",
                "put it in the desk too",
            ),
        ),
        (
            Goal("look_at_obj_in_light", "pen", lamp="desklamp"),
            ("find and take a pen, first in the safe or the drawer 3", "find a desklamp and use it"),
        ),
    ],
)
def test_a_plan_says_what_was_told_of_the_house(goal: Goal, plan: tuple[str, ...]) -> None:
    assert plan_of(goal, SearchOrder(("safe", "drawer 3"))) == plan


def test_a_goal_is_misread_as_another() -> None:
    opening = Observation("You are in the middle of a room. Looking quickly around you, you see a desk 1, and a shelf 1.")
    goal = Goal("pick_and_place_simple", "mug", "desk")
    wrong = {wrong_goal(Random(seed), goal, begin(opening)) for seed in range(30)}
    assert goal not in wrong
    assert len(wrong) > 3


def test_hints_and_rules_tell_where() -> None:
    random = Random(1)
    hints = [wordings.hint(random, "mug", ("drawer 3", "shelf")) for _ in range(200)]
    assert {hint.order for hint in hints} == {
        SearchOrder(),
        SearchOrder(("drawer 3", "shelf")),
        SearchOrder((), ("drawer 3", "shelf")),
    }
    assert all("{" not in one.text for one in (*hints, *(wordings.rule(random, "mug", ("safe",)) for _ in range(50))))


def test_held_out_hints_are_none_of_those_trained_on() -> None:
    trained = {text.lower().strip(" .!?") for text in wordings.texts() if len(text.split()) > 1}
    assert len(HINTS) == 40
    assert all(hint.format(place="").lower().strip(" .!?,") not in trained for hint in HINTS)
    learners = [hint for places in LEARNER_HINTS.values() for hints in places.values() for hint in hints]
    assert len(learners) == len({*learners}) == 40
    assert all(hint.lower().strip(" .!?,") not in trained for hint in learners)


def test_a_counted_rule_tells_where_to_look_first_only_if_most_are_there() -> None:
    random = Random(1)
    told = [wordings.rule(random, "mug", ("safe", "desk")) for _ in range(400)]
    counted = [one for one in told if "%" in one.text]
    assert len(counted) > 60
    for one in counted:
        shares = {place: int(share) for place, share in re.findall(r"(safe|desk) (\d+) %", one.text)}
        assert sum(shares.values()) <= 101
        assert one.order == SearchOrder(tuple(place for place, share in shares.items() if share >= 50))


@pytest.mark.heavy
def test_a_game_begins_with_a_wrong_plan_until_it_is_stuck() -> None:
    stuck = [sample.prompt for sample in acted(60) if sample.reply.endswith("Action: stuck")]
    assert len(stuck) > 10


@pytest.mark.parametrize("goal", GOALS_OF_EACH_TYPE)
def test_a_goal_is_told_in_many_words(goal: Goal) -> None:
    told = [goal_wording(Random(seed), goal, ("desk", "shelf")) for seed in range(300)]
    assert len(set(told)) > 270
    assert not any(mark in sentence for sentence in told for mark in "[]{}|")
    assert told[:50] == [goal_wording(Random(seed), goal, ("desk", "shelf")) for seed in range(50)]


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("mug", "mugs"),
        ("bar of soap", "bars of soap"),
        ("knife", "knives"),
        ("potato", "potatoes"),
        ("keys", "keys"),
        ("box", "boxes"),
    ],
)
def test_names_have_a_plural(one: str, several: str) -> None:
    assert plural(one) == several


def test_goals_in_other_words_are_none_of_those_trained_on() -> None:
    holes = {"x": "", "xs": "", "r": "", "lamp": ""}
    assert {*GOALS} == {*TYPES}
    trained = {goal_wording(Random(seed), goal, ("shelf",)).lower() for seed in range(40) for goal in GOALS_OF_EACH_TYPE}
    for form, sentences in GOALS.items():
        assert len(sentences) == 6, form
        assert all(sentence.format(**holes).lower() not in trained for sentence in sentences)


def test_pieces_are_the_commonest_pairs_whatever_the_order_of_words() -> None:
    words = ["low", "lower", "newer", "wider", "new"]
    assert word_pieces(words, 4) == word_pieces(words[::-1], 4) == ["#er", "#ew", "#lo", "#low"]
    assert word_pieces(["ab"], 10) == ["#ab"]


def test_some_words_that_people_say_are_spelt_though_they_are_known() -> None:
    known = Vocabulary(["goal:", "put", "the", "mug", "away"])
    sample = TrainingSample("Goal: put the mug away", "put")
    parts = [encoded([sample] * 100, known, seed) for seed in (1, 1, 2)]
    assert np.array_equal(parts[0].tokens, parts[1].tokens)
    assert not np.array_equal(parts[0].tokens, parts[2].tokens)
    spelt = int((parts[0].tokens == known.spell).sum())
    assert 5 < spelt < 60
    for at in range(100):
        tokens = parts[0].tokens[parts[0].starts[at] : parts[0].starts[at + 1]].tolist()
        assert known.decode(tokens) == "Goal: put the mug away put"


def test_tokens_are_kept_and_read_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    samples = list(islice(acted(2), 5))
    known = Vocabulary(["action:"])
    part = encoded(samples, known)
    file = tmp_path_factory.mktemp("parts") / "part.npz"
    part.save(file)
    again = CorpusPart.load(file)
    assert len(again) == 5
    assert np.array_equal(again.tokens, part.tokens)
    first = again.tokens[: int(again.starts[1])].tolist()
    assert first[0] == known.user
    assert first[int(again.replies[0]) - 1] == known.reply
    assert first[-1] == known.end


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("evaluate", "nowhere.weights"), "nowhere.weights"),
        (("evaluate", "--sets", "sean"), "sean"),
    ],
)
def test_a_step_that_cannot_be_taken_says_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


def test_a_step_names_the_steps_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(("own", "nowhere.weights", "--corpus", "nowhere"))
    assert "There is no nowhere/vocabulary.json; the steps before make it: data, train, own, export." in capsys.readouterr().err
