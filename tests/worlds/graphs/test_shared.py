"""Several players in one apartment: alone nothing differs; together nothing is doubled, and no answer tells what is unseen."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.worlds.base import Observation, Task
from housequest.worlds.env import expert_of, shared_house, unwrapped
from housequest.worlds.errors import Unsupported
from housequest.worlds.graphs.env import GraphEnv
from housequest.worlds.graphs.files import parse_apartment
from housequest.worlds.graphs.goals import Condition, GraphGoal
from housequest.worlds.graphs.graph import Graph
from housequest.worlds.graphs.household import HOUSEHOLD, visible
from housequest.worlds.graphs.houses import make_apartment
from housequest.worlds.graphs.shared import SharedGraph
from housequest.worlds.graphs.world import GraphWorld
from housequest.worlds.household.talk import Claimed, Dropped, Saw, Talk, quoted
from housequest.worlds.registry import make_world
from housequest.worlds.shared import WAIT, Companion, Seat
from scripts.bench.together import FREE, MOST_ROUNDS, SILENT, WAYS, Way, played_by
from tests.worlds.graphs.apartments import random_graph
from tests.worlds.graphs.tables import home, written

PLAYERS = ("Ann", "Bob", "Cleo", "Dan")
NEVER = GraphGoal((Condition("on", "unicorn", "sofa", 1),))


def shared_graph(graph: Graph, number: int) -> SharedGraph:
    return SharedGraph(Task("t", "household-graph", "x", 1, "setup_table", "do it."), graph, NEVER, PLAYERS[:number])


def any_graph(seed: int) -> Graph:
    return random_graph(Random(seed)) if seed % 2 else make_apartment(seed).graph


def drawn(shared: SharedGraph, player: str, dice: Random) -> str:
    """A command: mostly one that does something, now and then a plausible one that may be refused."""
    listed = shared.admissible_commands(player) or ()
    if dice.random() < 0.15:
        names = sorted(shared.envs[player].state.graph.apartment.named)
        return f"{dice.choice(('grab', 'walk to', 'open', 'examine', 'switch on'))} {dice.choice(names)}"
    acting = [one for one in listed if not one.startswith(("walk to", "examine", "look", "inventory"))]
    return dice.choice(acting if acting and dice.random() < 0.6 else listed)


@pytest.mark.heavy
@given(seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_one_player_plays_the_game_of_before(seed: int) -> None:
    same_alone(seed, 40)


@pytest.mark.heavy
def test_one_player_plays_the_game_of_before_for_20000_steps() -> None:
    for seed in range(200):
        same_alone(seed, 100)


def same_alone(seed: int, steps: int) -> None:
    graph, dice = any_graph(seed), Random(seed)
    shared = shared_graph(graph, 1)
    env, seat = GraphEnv(shared.task, graph, NEVER), Seat(shared, "Ann")
    assert seat.reset() == env.reset()
    for _ in range(steps):
        command = drawn(shared, "Ann", dice)
        assert seat.step(command) == env.step(command), command
    assert seat.admissible_commands() == env.admissible_commands()
    assert shared.envs["Ann"].state.seen == env.state.seen


@pytest.mark.heavy
@pytest.mark.parametrize("number", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_what_somebody_holds_is_nobody_elses(seed: int, number: int) -> None:
    shared, dice = shared_graph(any_graph(seed), number), Random(seed)
    shared.reset()
    for turn in range(60):
        player = shared.players[turn % number]
        before = {one: shared.figure(one).carried for one in shared.players}
        command = drawn(shared, player, dice)
        step = shared.step(player, command)
        graphs = {one: env.state.graph for one, env in shared.envs.items()}
        held = [id for graph in graphs.values() for id in graph.held]
        assert len(held) == len(set(held))
        for one, graph in graphs.items():
            theirs = {id for other in graphs.values() if other is not graph for id in (*other.held, *map_load(other))}
            assert theirs.isdisjoint(visible(graph))
            assert graph.states == graphs[player].states
            shown = {id: graph.placed[id] for id in graph.placed if id not in graph.held}
            assert all(graphs[player].placed[id] == where for id, where in shown.items() if id in graphs[player].placed)
            if one != player and shared.figure(one).carried != before[one]:
                assert re.fullmatch(rf"give \S+ \d+ to {one}", command)
        if step.observation.accepted and command.startswith("give"):
            assert len(shared.figure(player).carried) == len(before[player]) - 1


def map_load(graph: Graph) -> set[int]:
    return {id for one in graph.held for id in graph.load(one)}


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(4))
def test_listed_commands_are_accepted_in_company(seed: int) -> None:
    shared, dice = shared_graph(any_graph(seed), 3), Random(seed)
    shared.reset()
    for turn in range(20):
        player = shared.players[turn % 3]
        listed = shared.admissible_commands(player) or ()
        for command in dice.sample(listed, min(8, len(listed))):
            answer = shared.copy().step(player, command).observation
            assert answer.accepted, (command, answer.text)
        shared.step(player, drawn(shared, player, dice))


def rooms(shared: SharedGraph) -> dict[str, str | None]:
    return {player: shared.figure(player).room for player in shared.players}


@pytest.mark.heavy
def test_what_happens_out_of_sight_changes_nothing_for_a_player() -> None:
    """While Bob is never in Ann's room, neither news, nor lists, nor refusals, nor where Ann walks to tell of it."""
    moved = 0
    for seed in range(0, 12, 2):
        shared, dice = shared_graph(make_apartment(seed).graph, 2), Random(seed)
        shared.reset()
        for _ in range(30):  # both look round, and Ann sees things
            for player in PLAYERS[:2]:
                walks = [one for one in shared.admissible_commands(player) or () if one.startswith(("walk to", "open"))]
                shared.step(player, dice.choice(walks))
        if rooms(shared)["Ann"] == rooms(shared)["Bob"]:
            continue
        shared.step("Ann", WAIT)
        still, ann = shared.copy(), shared.envs["Ann"].state.graph
        names = sorted(ann.apartment.named)
        for _ in range(30):
            tried = shared.copy()
            command = drawn(tried, "Bob", dice)
            tried.step("Bob", command)
            if rooms(tried)["Bob"] != rooms(shared)["Ann"]:
                shared = tried
        placed = (one.envs["Bob"].state.graph.placed for one in (shared, still))
        before, after = placed
        changed = {id for id in ann.apartment.names if before.get(id) != after.get(id)}
        assert shared.news("Ann") == still.news("Ann") == ()
        assert shared.admissible_commands("Ann") == still.admissible_commands("Ann")
        for name in dice.sample(names, 20):
            for command in (f"grab {name}", f"open {name}", f"examine {name}", f"put {name} on {names[0]}"):
                assert shared.copy().step("Ann", command) == still.copy().step("Ann", command), command
            there, as_it_was = shared.copy(), still.copy()
            answers = [one.step("Ann", f"walk to {name}").observation for one in (there, as_it_was)]
            assert answers[0].accepted == answers[1].accepted
            assert rooms(there)["Ann"] == rooms(as_it_was)["Ann"], "where it is walked to is where it was last seen"
        moved += len(changed)
    assert moved > 5


@pytest.mark.heavy
@pytest.mark.parametrize("number", [2, 3, 4])
@pytest.mark.parametrize("seed", [2, 4])
def test_news_are_true_and_only_about_what_is_in_sight(seed: int, number: int) -> None:
    shared, dice = shared_graph(make_apartment(seed).graph, number), Random(seed)
    shared.reset()
    heard = set[str]()
    for turn in range(150):
        player = shared.players[turn % number]
        before = {one: shared.figure(one) for one in shared.players}
        could = {one: seen_names(shared, one) for one in shared.players}
        told = {one: () if one == player else shared.news(one) for one in shared.players}
        command = drawn(shared, player, dice)
        if dice.random() < 0.2:
            command = f"walk to {before[dice.choice(shared.players)].room}"
        shared.step(player, command)
        after = {one: shared.figure(one) for one in shared.players}
        for reader in shared.players:
            for sentence in shared.news(reader)[len(told[reader]) :]:
                who, _, rest = sentence.partition(" ")
                assert who in shared.players
                assert who != reader
                heard.add(rest.split()[0])
                if rest == "goes out of sight.":
                    assert who == player
                    assert before[who].room == before[reader].room != after[who].room
                    continue
                assert after[who].room == after[reader].room
                named = set(re.findall(r"[\w-]+ \d+", rest))
                known = could[reader] | seen_names(shared, reader) | {*before[who].carried, *after[who].carried}
                assert named <= known | {after[who].at, str(after[who].room)}
                assert "you see" not in sentence
    assert heard >= {"stands", "goes", "grabs"}


def seen_names(shared: SharedGraph, player: str) -> set[str]:
    graph = shared.envs[player].state.graph
    return {graph.apartment.names[id] for id in visible(graph)}


def test_what_was_taken_away_is_looked_for_where_it_was() -> None:
    graph = parse_apartment(written(home()), "home")
    shared = shared_graph(graph, 2)
    shared.reset()
    for player, command in (
        ("Ann", "walk to kitchentable 1"),
        ("Ann", "walk to livingroom 1"),
        ("Bob", "walk to kitchentable 1"),
        ("Bob", "grab plate 1"),
        ("Bob", "walk to fridge 1"),
        ("Bob", "open fridge 1"),
        ("Bob", "put plate 1 in fridge 1"),
        ("Bob", "close fridge 1"),
    ):
        assert shared.step(player, command).observation.accepted, command
    assert shared.news("Ann") == ()
    assert "walk to plate 1" in (shared.admissible_commands("Ann") or ())
    assert shared.step("Ann", "grab plate 1").observation.text == "You are not close to the plate 1; go to it first."
    told = shared.step("Ann", "walk to plate 1").observation
    assert told == Observation("You walk to the kitchentable 1 in the kitchen 1. On the kitchentable 1, you see nothing.")
    assert shared.news("Ann") == ("Bob stands at the fridge 1 and carries nothing.",)
    assert shared.step("Ann", "walk to plate 1").observation.text == "There is no way to the plate 1."
    shared.step("Bob", "open fridge 1")
    assert shared.news("Ann") == ("Bob opens the fridge 1.",)
    assert "walk to plate 1" in (shared.admissible_commands("Ann") or ())


def test_a_closed_door_does_not_tell_whether_the_thing_is_still_behind_it() -> None:
    answers = list[list[Observation]]()
    for taken in (False, True):
        shared = shared_graph(parse_apartment(written(home()), "home"), 2)
        shared.reset()
        filled = ("walk to kitchentable 1", "grab plate 1", "walk to fridge 1", "open fridge 1", "put plate 1 in fridge 1")
        hidden = ("open dishwasher 1", "put plate 1 in dishwasher 1", "close dishwasher 1")
        commands = [*(("Ann", one) for one in (*filled, "walk to livingroom 1")), ("Bob", "walk to fridge 1")]
        commands += [("Bob", "grab plate 1")] if taken else []
        commands += [("Bob", "close fridge 1"), ("Bob", "walk to dishwasher 1")]
        commands += [("Bob", one) for one in hidden] if taken else []
        for player, command in commands:
            assert shared.step(player, command).observation.accepted, (player, command)
        asked = ("grab plate 1", "walk to plate 1", "grab plate 1", "examine plate 1", "walk to plate 1")
        answers.append([shared.step("Ann", command).observation for command in asked])
    assert answers[0] == answers[1]
    assert answers[0][1].text == "You walk to the fridge 1 in the kitchen 1. The fridge 1 is closed and on."
    assert answers[0][2].text == "The plate 1 is in the fridge 1, which is closed; open that first."


def test_a_thing_is_given_with_what_lies_on_it() -> None:
    shared = shared_graph(parse_apartment(written(home()), "home"), 3)
    shared.reset()
    for command in ("walk to kitchentable 1", "grab plate 1"):
        shared.step("Ann", command)
    answers = {
        "give plate 1 to Bob": "Bob is not here; go to the same place first.",
        "give plate 2 to Bob": "You do not hold the plate 2.",
        "give plate 1 to Zed": "Nobody else called Zed is here, only Bob and Cleo.",
    }
    for command, answer in answers.items():
        assert shared.step("Ann", command).observation == Observation(answer, accepted=False)
    shared.step("Bob", "walk to kitchentable 1")
    before = HOUSEHOLD.hear(HOUSEHOLD.begin(Observation("")), shared.news("Bob"))
    assert shared.step("Ann", "give plate 1 to Bob").observation.text == "You give the plate 1 to Bob."
    assert shared.news("Bob") == ("Ann gives the plate 1 to you.",)
    assert HOUSEHOLD.hear(before, shared.news("Bob")).carried == ("plate 1",)
    assert shared.news("Cleo")[-2:] == (
        "Ann gives the plate 1 to Bob.",
        "Bob stands at the kitchentable 1 and carries a plate 1.",
    )
    assert "a cupcake 1" not in shared.step("Ann", "examine kitchentable 1").observation.text
    for command in ("walk to livingroom 1", "walk to sofa 1", "put plate 1 on sofa 1"):
        assert shared.step("Bob", command).observation.accepted
    shared.step("Ann", "walk to livingroom 1")
    assert "On the plate 1, you see a cupcake 1." in shared.step("Ann", "walk to sofa 1").observation.text


@pytest.mark.heavy
def test_no_sentence_of_news_is_read_as_an_answer() -> None:
    shared, dice = shared_graph(make_apartment(4).graph, 3), Random(4)
    belief = HOUSEHOLD.begin(shared.reset()["Ann"].observation)
    for turn in range(150):
        player = shared.players[turn % 3]
        shared.step(player, drawn(shared, player, dice))
        for sentence in shared.news("Ann"):
            assert HOUSEHOLD.update(belief, "look", Observation(sentence)) == belief


def test_copies_go_their_own_ways() -> None:
    shared, dice = shared_graph(make_apartment(8).graph, 2), Random(8)
    shared.reset()
    copy = shared.copy()
    done = [(player, drawn(copy, player, dice)) for player in PLAYERS[:2]]
    answers = []
    for player in PLAYERS[:2] * 30:
        command = drawn(copy, player, dice)
        done.append((player, command))
        answers.append((copy.step(player, command), copy.news("Bob")))
    assert [(shared.step(player, command), shared.news("Bob")) for player, command in done[2:]] == answers


def test_a_robot_that_knows_all_plays_alone() -> None:
    world = GraphWorld(skills="oracle")
    with pytest.raises(Unsupported, match="leave skills=oracle out"):
        world.share(world.task("example:1"), PLAYERS[:2])


def test_a_situation_is_of_the_body_that_sits_there() -> None:
    world = GraphWorld()
    task = world.task("example:1")
    shared, room = world.share(task, PLAYERS[:2]), world.room(task)
    shared.reset()
    shared.step("Bob", "walk to livingroom 1")
    seats = [Seat(shared, player) for player in shared.players]
    assert all(unwrapped(seat) is seat for seat in seats)
    ann, bob = (world.situation(seat, room) for seat in seats)
    assert ann is not None
    assert bob is not None
    assert ann.at != bob.at


@pytest.mark.heavy
@pytest.mark.parametrize(("way", "gain"), [(FREE, 1.5), (SILENT, 1.4)], ids=["who talk", "silent"])
def test_two_experts_divide_the_work(way: Way, gain: float) -> None:
    world = make_world("household-graph")
    assert isinstance(expert_of(world), Companion)
    tasks = [world.task(f"generated:{seed}") for seed in range(60_000, 60_012)]
    alone, two = ([played_by(world, task, number, way) for task in tasks] for number in (1, 2))
    assert sum(one.rounds for one in alone) > gain * sum(one.rounds for one in two)
    assert not any(pair.rounds > one.rounds for one, pair in zip(alone, two, strict=True))
    assert not sum(one.refused for one in two)
    assert (sum(one.messages for one in two) > 0) == (way is FREE)


@pytest.mark.heavy
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_with_any_partner_the_task_is_done(way: Way) -> None:
    world = make_world("household-graph")
    for seed in range(60_015, 60_019):
        assert played_by(world, world.task(f"generated:{seed}"), 2, way).rounds < MOST_ROUNDS


def test_a_player_with_two_hands_is_at_two_errands() -> None:
    world = make_world("household-graph")
    expert, task = expert_of(world), world.task("generated:60017")
    assert isinstance(expert, Companion)
    assert task.goal.startswith("put one cutlery fork, one wine glass, one plate and two water glasses")
    shared = shared_house(world, task, ("Ann", "Bob"))
    opening = shared.reset()["Ann"].observation
    kitchen = shared.step("Ann", walk := "walk to kitchen 1").observation

    def sought(*said: Talk) -> str:
        memory = expert.observe(expert.begin(task.goal, opening), walk, kitchen)
        return expert.decide(expert.hear(memory, "Ann", ("Bob",), [quoted("Bob", str(one)) for one in said]))[1]

    fork, glass = (Claimed(1, "cutleryfork 9", "dishwasher"), Claimed(2, "wineglass 9", "dishwasher"))
    thoughts = [sought(*claims) for claims in ((), (fork,), (fork, glass), (fork, glass, Dropped(1)))]
    assert [("cutlery fork" in one, "wine glass" in one) for one in thoughts] == [
        (True, True),
        (False, True),
        (False, False),
        (True, False),
    ], thoughts
    # Of three claims the first has been given up without a word.
    assert "cutlery fork" in sought(fork, glass, Claimed(3, "plate 9", "dishwasher"))


def test_an_expert_goes_where_it_was_told() -> None:
    world, went = make_world("household-graph"), 0
    expert = expert_of(world)
    assert isinstance(expert, Companion)
    for seed in range(60_000, 60_020):
        task = world.task(f"generated:{seed}")
        memory = expert.begin(task.goal, shared_house(world, task, ("Ann", "Bob")).reset()["Ann"].observation)
        wanted = HOUSEHOLD.wanted(task.goal)
        unseen = [one for one in memory.belief.receptacles if one.contents is None and one.name not in memory.belief.rooms]
        if wanted is None or not unseen or wanted.place not in memory.belief.kinds:
            continue
        thing, place = f"{next(iter(wanted.things))} 999", unseen[-1].name
        odd = ('Bob says: "', "Zed says: hello", quoted("Bob", "I saw everything."), quoted("Bob", str(Saw(place, (thing,)))))
        command, thought, _ = expert.decide(expert.hear(memory, "Ann", ("Bob",), odd))
        before = expert.decide(expert.hear(memory, "Ann", ("Bob",), odd[:3]))
        known = any(one.kind in wanted.things for one in memory.belief.items)
        assert known or (command in (f"walk to {place}", f"open {place}", f"grab {thing}") and thing in thought)
        went += not known and before[1] != thought
    assert went
