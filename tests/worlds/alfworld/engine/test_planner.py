"""The planner against plain breadth-first search over everything, and on real games against the engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.worlds.alfworld.engine.game import PREDICATES, Fact, Game, Problem, State, parse_game, problem_text
from housequest.worlds.alfworld.engine.native import commands, perform, won
from housequest.worlds.alfworld.engine.planner import NODES, plan
from housequest.worlds.household.goals import GoalForm
from housequest.worlds.household.planner import SearchLimitReached, Unsolvable
from tests.worlds.alfworld.play import BUNDLED, GOLDEN, loaded, name_of, published, wins

IDLE = ("look", "inventory", "help", "examine")
FORMS: tuple[GoalForm, ...] = ("place", "clean", "heat", "cool", "two", "light")


def shortest(game: Game, start: State, most: int = 60_000) -> int | None:
    """The length of a shortest plan by trying every command in every state; None where there is no plan.

    What only steers the text, and slicing, which nothing needs, tell no states apart.
    """

    def told(state: State) -> State:
        return state._replace(lying=(), taken=frozenset(), sliced=frozenset())

    seen = {told(start)}
    queue = deque([(start, 0)])
    while queue:
        state, steps = queue.popleft()
        if won(game, state):
            return steps
        for command, action in commands(game, state).items():
            if not command.startswith(IDLE):
                reached, _ = perform(game, state, action)
                if told(reached) not in seen:
                    seen.add(told(reached))
                    queue.append((reached, steps + 1))
        if len(seen) > most:
            pytest.skip("too many states to try them all")
    return None


def length(outcome: tuple[str, ...] | Unsolvable | SearchLimitReached) -> int | None:
    assert not isinstance(outcome, SearchLimitReached)
    return len(outcome) if isinstance(outcome, tuple) else None


def house(
    places: Iterable[str],
    holders: dict[str, str],
    things: dict[str, str],
    facts: Iterable[str],
    form: GoalForm,
    types: dict[str, str],
) -> Game:
    """A game of receptacles and objects, by id with their types, and of facts in words."""
    declared = {"agent1": "agent", **dict.fromkeys(places, "location")}
    declared |= {**dict.fromkeys(holders, "receptacle"), **dict.fromkeys(things, "object")}
    declared |= {**dict.fromkeys(holders.values(), "rtype"), **dict.fromkeys(things.values(), "otype")}
    declared |= {kind: "rtype" if hole == "RECEPTACLE" else "otype" for hole, kind in types.items()}
    stated: dict[str, list[Fact]] = {predicate: [] for predicate in PREDICATES}
    for one, kind in holders.items():
        stated["receptacletype"].append((one, kind))
    for thing, kind in things.items():
        stated["objecttype"].append((thing, kind))
    for fact in facts:
        predicate, *arguments = fact.split()
        stated[predicate].append(tuple(arguments))
    return parse_game(problem_text(Problem(declared, stated, form, types), "made_up"), "put it there.", "made up")


def tiny(seed: int) -> Game:
    """A house with all oddities at once: shared and missing places, objects in several receptacles or none, all conditions."""
    dice = Random(seed)

    def maybe(chance: float, *lines: str) -> list[str]:
        return list(lines) if dice.random() < chance else []

    form = dice.choice(FORMS)
    places = [f"loc_bar_{number}" for number in range(dice.randint(2, 4))]
    holders = {f"{kind}_bar_{number}": f"{kind}type" for number, kind in enumerate(dice.choices(("desk", "safe"), k=2))}
    appliance = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}.get(form, "box")
    holders[f"{appliance.removesuffix('basin')}_bar_9_bar_{appliance}" if "basin" in appliance else f"{appliance}_bar_9"] = (
        f"{appliance}type"
    )
    kinds = dice.choice((["mug", "mug", "lamp"], ["mug", "pen", "mug"], ["mug", "mug", "mug"]))
    things = {f"{kind}_bar_{number}": f"{kind}type" for number, kind in enumerate(kinds)}
    facts = [f"atlocation agent1 {dice.choice(places)}"]
    for one in holders:
        facts += maybe(0.9, f"receptacleatlocation {one} {dice.choice(places)}") + maybe(0.5, f"openable {one}")
        facts += maybe(0.2, f"opened {one}")
    for thing in things:
        for one in dice.sample(list(holders), dice.choice((0, 1, 1, 1, 1, 2, 2, 3))):
            facts.append(f"inreceptacle {thing} {one}")
        for predicate, chance in (("pickupable", 0.9), ("cleanable", 0.9), ("heatable", 0.9), ("coolable", 0.9)):
            facts += maybe(chance, f"{predicate} {thing}")
        for predicate in ("isclean", "ishot", "iscool", "istoggled", "toggleable"):
            facts += maybe(0.15 if predicate != "toggleable" else 0.6, f"{predicate} {thing}")
    for kind in sorted(set(holders.values())):
        for thing in sorted(set(things.values())):
            facts += maybe(0.7, f"cancontain {kind} {thing}")
    lamp, target = dice.choice(sorted({*things.values()})), dice.choice(sorted({*holders.values()}))
    return house(places, holders, things, facts, form, {"OBJECT": "mugtype", "RECEPTACLE": target, "LAMP": lamp})


def wandered(game: Game, seed: int, steps: int) -> State:
    dice, state = Random(seed), game.start
    for _ in range(steps):
        possible = [action for command, action in commands(game, state).items() if not command.startswith(IDLE)]
        if possible:
            state, _ = perform(game, state, dice.choice(possible))
    return state


@pytest.mark.heavy
@given(seed=st.integers(0, 2**32), steps=st.sampled_from((0, 0, 1, 3, 6)))
@settings(max_examples=150)
def test_a_plan_is_as_short_as_trying_everything_finds(seed: int, steps: int) -> None:
    game = tiny(seed)
    start = wandered(game, seed, steps)
    outcome = plan(game, start)
    assert length(outcome) == shortest(game, start)
    assert not isinstance(outcome, tuple) or wins(game, outcome, start)
    assert plan(game, start) == outcome


@pytest.mark.parametrize("path", GOLDEN, ids=name_of)
def test_golden_oddities_are_planned_as_trying_everything_does(path: Path) -> None:
    game = loaded(path)
    outcome = plan(game)
    assert length(outcome) == shortest(game, game.start, 20_000)
    assert not isinstance(outcome, tuple) or wins(game, outcome)


@pytest.mark.parametrize("path", BUNDLED, ids=name_of)
def test_the_houses_that_ship_are_solved_from_anywhere(path: Path) -> None:
    game = loaded(path)
    for seed in range(5):
        state = wandered(game, seed, 10 * seed)
        outcome = plan(game, state)
        assert isinstance(outcome, tuple)
        assert wins(game, outcome, state)
        if outcome:
            action = commands(game, state)[outcome[0]]
            after, _ = perform(game, state, action)
            assert length(plan(game, after)) == len(outcome) - 1


@pytest.mark.games
@pytest.mark.parametrize(("split", "number"), [("valid_seen", 200), ("train", 150)])
def test_published_games_are_solved_no_longer_than_as_they_were_made(split: str, number: int, alfworld_games: Path) -> None:
    for path in published(alfworld_games, split, number):
        game = loaded(path)
        outcome = plan(game)
        assert isinstance(outcome, tuple)
        assert wins(game, outcome)
        assert game.walkthrough is not None
        assert len(outcome) <= len(game.walkthrough)


def test_a_goal_that_holds_needs_no_command() -> None:
    game = tiny(0)
    won_already = next(state for seed in range(99) if won(game := tiny(seed), state := game.start))
    assert plan(game, won_already) == ()


def test_what_is_refused_or_does_not_win_is_no_proof() -> None:
    game = loaded(BUNDLED[0])
    outcome = plan(game)
    assert isinstance(outcome, tuple)
    assert not wins(game, outcome[:-1])
    assert not wins(game, ("dance", *outcome))


def crowd(things: int, receptacles: int, form: GoalForm, *, together: bool = False, goals: bool = True) -> Game:
    """A house that loads, and in which very much would do, or nothing."""
    kinds = ("desktype", "safetype")
    holders = {f"{kinds[number % 2].removesuffix('type')}_bar_{number}": kinds[number % 2] for number in range(receptacles)}
    mugs = {f"mug_bar_{number}": "mugtype" for number in range(things)}
    facts = [
        "atlocation agent1 loc_bar_none",
        "cancontain desktype mugtype",
        *(["cancontain safetype mugtype"] if goals else []),
    ]
    for number, one in enumerate(holders):
        facts += [f"receptacleatlocation {one} loc_bar_{0 if together else number}", f"openable {one}"]
    desks = [one for one, kind in holders.items() if kind == "desktype"]
    for number, mug in enumerate(mugs):
        facts += [f"inreceptacle {mug} {desks[number % len(desks)]}", f"pickupable {mug}", f"heatable {mug}"]
    places = ["loc_bar_none", *(f"loc_bar_{number}" for number in range(1 if together else receptacles))]
    types = {"OBJECT": "mugtype", "RECEPTACLE": "safetype", "LAMP": "lamptype"}
    return house(places, holders, mugs, facts, form, types)


@pytest.mark.heavy
@pytest.mark.parametrize("form", ["place", "two", "heat", "light"])
@pytest.mark.parametrize("together", [False, True])
def test_thousands_of_things_are_planned_for_or_given_up(form: GoalForm, together: bool) -> None:
    game = crowd(1_200, 300, form, together=together)
    outcome = plan(game)
    if form in ("heat", "light"):
        assert outcome == Unsolvable()
    elif isinstance(outcome, tuple):
        assert wins(game, outcome)
    else:
        assert isinstance(outcome, SearchLimitReached)
        assert outcome.nodes >= NODES


def test_what_no_receptacle_takes_cannot_be_solved() -> None:
    assert plan(crowd(40, 30, "two", goals=False)) == Unsolvable()


def test_a_limit_ends_the_search_and_the_same_limit_ends_it_the_same_way() -> None:
    game = loaded(BUNDLED[-1])
    first = plan(game, nodes=1)
    assert isinstance(first, SearchLimitReached)
    assert first == plan(game, nodes=1)
    assert isinstance(plan(game, seconds=0), SearchLimitReached)
