"""Groups of things that are kept in one place: their sentence, how it is searched by, and the network that distils them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.config import configure
from housequest.agent.evaluation.runs.batch import RunOptions
from housequest.agent.evaluation.runs.budget import BudgetTracker
from housequest.agent.explorer.curves import found_habits, read_curves
from housequest.agent.explorer.explore import ExploreTarget, explore
from housequest.agent.explorer.groups import SHIPPED, GroupDistiller, read_distiller
from housequest.agent.explorer.living import live, plan_lives
from housequest.agent.explorer.plan import ExploreOptions, plan_exploration
from housequest.agent.skills.contrary import Kinds, contrary
from housequest.agent.skills.searching import ToldPrior, look_for
from housequest.knowledge.choosing import estimated_tokens
from housequest.knowledge.mining import Mined
from housequest.knowledge.rulebook import library, read_book
from housequest.knowledge.rules import Origin, Rule
from housequest.knowledge.sentences import LOOKED, KeptThings, read_kept
from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.errors import ConfigurationError
from tests.agent.explorer.test_living import BELIEF, at_home

SEEN = Mined(
    (
        at_home("cup", {"drawer 7": (5, 6)}),
        at_home("mug", {"cabinet 1": (1, 9), "drawer 7": (5, 6)}),
        at_home("spoon", {"drawer 7": (2, 6), "fridge 1": (3, 4)}),
    ),
    scope="household",
    looked={"cabinet 1": 9, "drawer 7": 6, "fridge 1": 4},
)
THINGS = st.sampled_from(("mug", "cup", "fork", "sometimes", "winebottle"))


def kept(group: KeptThings) -> Rule:
    name = f"kept-in-{group.place.replace(' ', '-')}"
    return Rule(name, group.sentence, "location", objects=tuple(group.shares), scope="household", status="accepted")


@given(st.lists(THINGS, unique=True, max_size=4), st.lists(THINGS, unique=True, max_size=3))
def test_a_group_is_said_and_read_back(usually: list[str], sometimes: list[str]) -> None:
    group = KeptThings("drawer 7", tuple(usually), tuple(sometimes))
    read = read_kept(group.sentence)
    assert read == group if usually or sometimes else read is None


@given(st.text(max_size=80) | st.from_regex(r"Kept in [a-z]+ \d: [a-z ,;.]*", fullmatch=True))
def test_any_sentence_tells_a_group_or_nothing(statement: str) -> None:
    read = read_kept(statement)
    assert read is None or read.sentence == statement


def test_a_group_is_searched_by() -> None:
    counts = load_counts()
    groups = [KeptThings("drawer 7", ("mug", "cup"), ("fork",)), KeptThings("fridge 1", (), ("mug",))]
    book = [kept(group) for group in groups]
    told = ToldPrior(counts, counts, book, BELIEF)
    assert look_for(("mug",), BELIEF, told, counts, ()) == ("drawer 7", "go to drawer 7")
    in_order = sorted(("cabinet 1", "drawer 7", "fridge 1"), key=lambda place: -told.chance("mug", place, "kitchen"))
    assert in_order == ["drawer 7", "fridge 1", "cabinet 1"]
    assert told.says("mug", "fridge 1") == book[1] and told.says("fork", "fridge 1") is None
    assert told.chance("fork", "drawer 7", "kitchen") < told.chance("cup", "drawer 7", "kitchen")


def test_two_groups_with_one_thing_both_stand() -> None:
    first, second = (kept(KeptThings(place, ("mug",))) for place in ("drawer 7", "shelf 1"))
    assert not contrary(first, second, Kinds.of(load_counts()))


def test_the_network_keeps_what_is_usual_and_leaves_out_a_stray() -> None:
    rules = list(GroupDistiller(read_distiller(), load_counts()).rules(SEEN, Origin("model", "groups")))
    groups = {group.place: group for rule in rules if (group := read_kept(rule.statement)) is not None}
    assert set(groups["drawer 7"].usually) == {"cup", "mug"} and "spoon" in groups["fridge 1"].shares
    assert "cabinet 1" not in groups and rules[-1].id == LOOKED
    before = SEEN.rules("home")
    tokens = [sum(estimated_tokens(rule.statement) for rule in book) for book in (rules, before)]
    assert tokens[0] < tokens[1]
    assert not list(GroupDistiller(read_distiller(), load_counts()).rules(Mined(scope="household"), Origin()))


def test_the_habits_in_groups_are_found() -> None:
    said = [group.sentence for group in (KeptThings("drawer 7", ("mug", "cup")), KeptThings("shelf 1", ("cup",), ("mug",)))]
    found = found_habits(said, {"mug": {"drawer 7": 0.7, "shelf 1": 0.25}, "cup": {"drawer 7": 0.9}, "fork": {"shelf 1": 1.0}})
    # The cup has two places where it usually is, so none is its main one.
    assert found == (4, 3, 4, 3, 1, 1)


def test_a_file_for_other_signs_is_refused(tmp_path: Path) -> None:
    head, _, values = SHIPPED.read_bytes().partition(b"\n")
    said = json.loads(head)
    other = tmp_path / "other.weights"
    other.write_bytes(json.dumps(said | {"signs": said["signs"][::-1]}).encode() + b"\n" + values)
    with pytest.raises(ConfigurationError, match="for other signs"):
        read_distiller(other)
    other.write_bytes(head + b"\n" + values[2:])
    with pytest.raises(ConfigurationError, match="not a distiller of groups: its weights do not fit"):
        read_distiller(other)


def test_groups_are_of_a_home() -> None:
    with pytest.raises(ConfigurationError, match="days of a home"):
        plan_exploration(configure({"split": "generated", "agent": "expert"}), ExploreOptions(2, distiller="groups"))


@pytest.mark.heavy
def test_an_exploration_of_a_home_is_told_in_groups(tmp_path: Path) -> None:
    settings = configure({"split": "household-light:1001", "agent": "expert"})
    exploration = plan_exploration(settings, ExploreOptions(3, distiller="groups"))
    target = ExploreTarget("home", "evidence")
    report = asyncio.run(explore(exploration, tmp_path / "run", target, RunOptions(), BudgetTracker()))
    assert report.distiller == "groups" and report.calls == 0 and not report.retired
    rules = library().open("home").rules
    assert any(read_kept(rule.statement) for rule in rules if rule.status == "accepted")
    assert all(rule.scope == "household" for rule in rules if rule.kind == "location")


@pytest.mark.heavy
def test_a_life_with_groups_lingers_and_freezes_its_network(tmp_path: Path) -> None:
    def lives(distiller: Path | None = None) -> None:
        wanted = plan_lives(configure({"agent": "expert"}), ["household-light:1001"], ["groups"], 2, (2,), 2, distiller)
        asyncio.run(live(wanted, tmp_path / "lives", RunOptions(), BudgetTracker()))

    lives()
    book = read_book(tmp_path / "lives" / "household-light-1001" / "groups" / "day-002" / "book.yaml").rules
    assert any(read_kept(rule.statement) for rule in book)
    (evening,) = read_curves(tmp_path / "lives").curve("groups")
    assert evening.precision is not None and evening.tokens > 0
    other = tmp_path / "other.weights"
    head, _, values = SHIPPED.read_bytes().partition(b"\n")
    other.write_bytes(head + b"\n" + values[:-2] + b"\0\0")
    with pytest.raises(ConfigurationError, match="distiller"):
        lives(other)
