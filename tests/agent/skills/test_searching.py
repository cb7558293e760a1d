"""Rules read as chances: the places of a sentence in their order, for one thing, with a scope."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import Event, RulesShown, Stepped, Thought
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.registry import make_model
from housequest.agent.skills.controller import Controller
from housequest.agent.skills.searching import ToldPrior, look_for, read_told
from housequest.knowledge.choosing import RuleBudget
from housequest.knowledge.rules import Rule
from housequest.tui.episode.state import replayed
from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.household.belief import Belief, Receptacle
from housequest.worlds.household.goals import Skill
from housequest.worlds.registry import household, make_world

PLACES = ("cabinet 1", "cabinet 2", "countertop 1", "drawer 1", "drawer 2", "drawer 7", "fridge 1", "sinkbasin 1")
BELIEF = Belief(receptacles=tuple(Receptacle(name, place=name) for name in PLACES))


def location(statement: str, *objects: str, **fields: str) -> Rule:
    return replace(Rule("where", statement, "location", objects=objects), **fields)


@pytest.mark.parametrize(
    ("statement", "shares"),
    [
        ("Mugs are kept in drawer 7.", {"drawer 7": 1.0}),
        ("A mug is in the fridge or on the countertop.", {"fridge 1": 0.7, "countertop 1": 0.3}),
        ("Mugs: sink, cabinets, fridge.", {"sinkbasin 1": 0.6, "cabinet 1": 0.15, "cabinet 2": 0.15, "fridge 1": 0.1}),
        (
            "To find a mug, try a cabinet first (60 % are there), then a fridge (20 %); 118 were counted.",
            {"cabinet 1": 0.3, "cabinet 2": 0.3, "fridge 1": 0.2},
        ),
        ("Mugs are in drawer 1 or 2, never in the fridge.", {"drawer 1": 0.5, "drawer 2": 0.5}),
        ("Mugs are in the safe.", None),
        ("Mugs are nice.", None),
    ],
)
def test_a_sentence_becomes_shares(statement: str, shares: dict[str, float] | None) -> None:
    told = read_told(location(statement, "mug"), PLACES)
    assert (told and dict(told.shares)) == (shares and pytest.approx(shares))


@given(st.text(max_size=200))
def test_any_sentence_gives_shares_of_places_of_the_house(statement: str) -> None:
    told = read_told(location(statement or "x", "mug"), PLACES)
    assert told is None or (told.shares.keys() <= set(PLACES) and all(0 < share <= 1 for share in told.shares.values()))


def test_other_kinds_of_rule_are_no_search_order() -> None:
    assert read_told(replace(location("Look into drawer 7.", "mug"), kind="strategy"), PLACES) is None


def test_the_scope_decides_how_much_a_rule_counts() -> None:
    counts = load_counts()
    rule = location("Mugs are kept in drawer 7.", "mug")
    world, home = (
        ToldPrior(counts, counts, [each], BELIEF).chance("mug", "drawer 7", "kitchen")
        for each in (rule, replace(rule, scope="household"))
    )
    before = counts.chance("mug", "drawer 7", "kitchen")
    assert before < world < 0.1 and home > 0.9
    # Twenty sightings by hand against two: (2 * before + 20) / 22.
    assert home == pytest.approx((2 * before + 20) / 22)
    told = ToldPrior(counts, counts, [rule], BELIEF)
    assert told.chance("egg", "drawer 7", "kitchen") == counts.chance("egg", "drawer 7", "kitchen")
    assert (told.says("mug", "drawer 7"), told.says("mug", "fridge 1"), told.says("egg", "drawer 7")) == (rule, None, None)


def test_the_next_place_is_where_the_household_keeps_it() -> None:
    counts = load_counts()
    told = ToldPrior(counts, counts, [location("Mugs are in drawer 7.", "mug", scope="household")], BELIEF)
    assert look_for(["mug"], BELIEF, told, counts, ()) == ("drawer 7", "go to drawer 7")
    found = look_for(["mug"], BELIEF, told, counts, ["go to drawer 7"])
    assert found is not None and found[0] != "drawer 7"
    seen = replace(BELIEF, receptacles=tuple(replace(one, contents=()) for one in BELIEF.receptacles))
    assert look_for(["mug"], seen, told, counts, ()) is None


def test_a_search_goes_by_a_household_rule_and_says_so() -> None:
    world = make_world("alfworld")
    task = world.task("household:1003/day:2")
    reader = household("alfworld")
    assert reader is not None
    env = world.open(task)
    opening = env.reset().observation
    belief = reader.begin(opening)
    place = belief.receptacles[-1].name
    controller = Controller(reader)
    state = controller.start(controller.begin(replace(opening, belief=belief), task.goal), Skill("find", "mug"))
    said: list[object] = []
    rule = location(f"Mugs are kept in {place}.", "mug", scope="household")
    outcome, _ = asyncio.run(controller.proceed(state, task.goal, lambda body, timing=None: said.append(body), [rule]))
    assert getattr(outcome, "command", None) == f"go to {place}"
    shown, thought = said
    assert isinstance(shown, RulesShown) and shown.ids == ("where",)
    assert isinstance(thought, Thought) and rule.statement in thought.text
    assert thought.rule == "where"


def test_the_built_in_model_searches_by_code_where_a_rule_tells() -> None:
    world = make_world("alfworld")
    told: list[Event] = []
    task = next(one for one in (world.task(f"generated:{seed}") for seed in range(1_000_000, 1_000_040)) if "egg" in one.goal)
    env = world.open(task)
    try:
        reader = household("alfworld")
        assert reader is not None
        last = sorted(one.name for one in reader.begin(env.reset().observation).receptacles)[-1]
        rule = location(f"Eggs are kept in {last}.", "egg", scope="household")
        config = EpisodeConfig(world, max_turns=3, rules=RuleBudget((rule,)))
        agent = make_agent("reasoner-actor", world=world, model=make_model("builtin"))
        asyncio.run(run_episode(env, agent, config, lambda event: told.append(event) if isinstance(event, Event) else None))
    finally:
        env.close()
    first = next(event.body for event in told if isinstance(event.body, Stepped))
    assert first.command == f"go to {last}"
    assert any(isinstance(event.body, RulesShown) and event.body.ids == ("where",) for event in told)
    assert any(isinstance(event.body, Thought) and rule.statement in event.body.text for event in told)
    assert "where" in {event.body.rule for event in told if isinstance(event.body, Thought)}
    assert "where" in {note.rule for note in replayed(told).moment.story[0].notes}


def test_the_expert_records_in_each_turn_which_rule_decided_it() -> None:
    world = make_world("alfworld")
    told: list[Event] = []
    rule = location("Eggs are in the fridge.", "egg", scope="household")
    config = EpisodeConfig(world, max_turns=3, rules=RuleBudget((rule,)))

    def listen(event: object) -> None:
        if isinstance(event, Event):
            told.append(event)

    asyncio.run(run_episode(world.open(world.task("generated:690")), make_agent("expert", world=world), config, listen))
    story = replayed(told).moment.story
    # Going there and opening it are two turns; the rule was shown once.
    assert [turn.command for turn in story[:2]] == ["go to fridge 1", "open fridge 1"]
    assert [[note.rule for note in turn.notes] for turn in story] == [["where"], ["where"], [""]]
    assert story[1].notes[0].text.startswith("by the rule where: ")
    assert sum(isinstance(event.body, RulesShown) for event in told) == 1
