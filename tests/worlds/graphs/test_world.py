"""The world by its contract, its splits, its sentences, its expert and its planner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from housequest.agent.roles.reading import acting_form, command_value
from housequest.agent.skills.language.directions import directed
from housequest.agent.skills.language.sentences import Surroundings, read
from housequest.worlds.base import Observation, World
from housequest.worlds.checking import check_world
from housequest.worlds.errors import ConfigurationError, GameError, TaskNotFound
from housequest.worlds.graphs.env import GraphEnv, advance, begun, plan
from housequest.worlds.graphs.files import parse_apartment
from housequest.worlds.graphs.goals import met, read_sentence, sentence
from housequest.worlds.graphs.graph import Action
from housequest.worlds.graphs.household import HOUSEHOLD
from housequest.worlds.graphs.household import written as command_of
from housequest.worlds.graphs.houses import LYING, make_apartment, written_counts
from housequest.worlds.registry import make_world
from tests.agent.models.test_forms import seen
from tests.worlds.graphs.apartments import as_table
from tests.worlds.graphs.tables import home, task, written


def world(**options: str) -> World:
    return make_world("household-graph", **options)


def play(one: World, reference: str, most: int = 100, **settings: str) -> tuple[bool, int, str]:
    """Whether the expert wins a task, in how many commands, and its last thought."""
    env, expert = one.open(one.task(reference)), one.expert(**settings)
    step = env.reset()
    memory, steps, thought = expert.begin(env.task.goal, step.observation), 0, ""
    while not step.done and steps < most:
        command, thought, memory = expert.decide(memory)
        if command is None:
            break
        step, steps = env.step(command), steps + 1
        memory = expert.observe(memory, command, step.observation)
    return step.won, steps, thought


@pytest.mark.heavy
@pytest.mark.parametrize("skills", ["none", "oracle"])
def test_it_keeps_the_contract(skills: str) -> None:
    assert check_world(world(skills=skills), split="example").broken == ()


def test_tasks_of_the_users_files_are_splits_with_an_instruction_chosen_by_number_or_seed(tmp_path: Path) -> None:
    for name in ("train", "test"):
        (tmp_path / f"wah_nl_{name}.json").write_text(written([task(task_id=number) for number in range(3)]), "utf-8")
    there = world(data=str(tmp_path))
    assert tuple(there.splits()) == ("train", "test", "example")
    assert there.split_for("evaluate") == "test"
    assert {one.wording for one in there.tasks("test")} <= {"human:1", "human:2"}
    second = world(data=str(tmp_path), goals="human:2").task("test:1")
    assert (second.goal, second.wording) == ("Put two plates in the dishwasher and turn it on.", "human:2")
    ours = world(data=str(tmp_path), goals="template").task("test:1")
    assert (ours.goal, ours.wording) == ("put two plates in the dishwasher and switch it on.", "template")
    seeded = [world(data=str(tmp_path), goals=f"human:seed={seed}").task("train/1").goal for seed in range(8)]
    assert len(set(seeded)) == 2
    assert there.info.first_task == "test:1"
    assert world().info.first_task == "example:1"
    alone = world(data=str(tmp_path / "wah_nl_test.json"))
    assert tuple(alone.splits()) == ("test", "example")
    assert play(second and world(data=str(tmp_path), goals="human:2"), "test:1")[0]


def test_tasks_are_made_in_a_graph_of_virtualhome(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    table = home()
    furniture = (20, 21, 22)
    bare = {
        "nodes": [one for one in table["nodes"] if one["id"] not in furniture],
        "edges": [one for one in table["edges"] if not {one["from_id"], one["to_id"]} & {*furniture}],
    }
    path.write_text(written(bare), "utf-8")
    with pytest.raises(ConfigurationError, match="Nothing can be wanted in this apartment"):
        world(apartment=str(path)).task("generated:1")
    table["nodes"].append({"id": 40, "class_name": "waterglass", "category": "Props", "properties": ["GRABBABLE"]})
    table["edges"].append({"from_id": 40, "relation_type": "INSIDE", "to_id": 11})
    path.write_text(written(table), "utf-8")
    there = world(apartment=str(path))
    for seed in range(5):
        assert play(there, f"generated:{seed}")[0]
    assert there.fingerprint("generated") != world().fingerprint("generated")


def test_food_and_dishes_are_laid_out_in_a_graph_with_older_names_that_has_none(tmp_path: Path) -> None:
    """VirtualHome's public example has a freezer and tables, and nothing to eat."""
    rooms = ((1, "bathroom"), (2, "dining_room"), (3, "home_office"))
    standing = (
        (10, "bathroom_cabinet", "CAN_OPEN CONTAINERS SURFACES", 1),
        (11, "table", "SURFACES MOVABLE", 2),
        (12, "kitchen_counter", "SURFACES", 2),
        (13, "freezer", "CAN_OPEN CONTAINERS HAS_SWITCH", 2),
        (14, "table", "SURFACES", 3),
        (15, "phone", "GRABBABLE HAS_SWITCH", 2),
    )
    table = {
        "nodes": [
            *({"id": id, "class_name": kind, "category": "Rooms"} for id, kind in rooms),
            *(
                {"id": id, "class_name": kind, "category": "Furniture", "properties": has.split()}
                for id, kind, has, _ in standing
            ),
        ],
        "edges": [{"from_id": id, "relation_type": "INSIDE", "to_id": room} for id, _, _, room in standing],
    }
    path = tmp_path / "older.json"
    path.write_text(written(table), "utf-8")
    there, again = world(apartment=str(path)), world(apartment=str(path))
    types, places = set[str](), set[str]()
    for seed in range(20):
        one = there.task(f"generated:{seed}")
        types.add(one.type)
        assert one.goal == again.task(one.id.replace("/", ":")).goal
        assert play(there, f"generated:{seed}")[0], one.goal
        env = there.open(one)
        env.reset()
        assert isinstance(env, GraphEnv)
        graph = env.state.graph
        for id, node in graph.apartment.nodes.items():
            if node.carried and node.kind != "phone":
                places.add(graph.node(next(other for other in graph.parents(id) if not graph.node(other).room)).kind)
    assert types == {"setup_table", "put_fridge", "prepare_food"}
    assert {"kitchen_counter", "freezer", "table"} <= places
    assert "bathroom_cabinet" not in places
    assert play(world(apartment=str(path), skills="oracle"), "generated:1", 30)[0]
    household = there.household
    assert household is not None and household.steps("put two apples in the freezer.") is not None


def test_a_table_is_set_with_what_lies_in_the_sinks_of_counters_that_are_closed_for_ever(tmp_path: Path) -> None:
    """The shape of VirtualHome's public apartments: dishes are in sinks, sinks INSIDE of counters that are CLOSED and cannot be
    opened, curtains INSIDE of each other, and furniture that holds nothing stands around."""
    rooms = {1: "bathroom", 2: "bedroom", 3: "dining_room"}
    standing: dict[int, tuple[str, str, list[str], int]] = {
        10: ("bathroom_counter", "SURFACES", ["CLOSED"], 1),
        11: ("sink", "RECIPIENT CONTAINERS", [], 1),
        20: ("table", "SURFACES MOVABLE", [], 2),
        21: ("tablelamp", "HAS_SWITCH", ["ON"], 2),
        30: ("kitchen_counter", "SURFACES", ["CLOSED"], 3),
        31: ("sink", "RECIPIENT CONTAINERS", [], 3),
        32: ("coffe_maker", "CAN_OPEN CONTAINERS HAS_SWITCH", ["CLOSED", "OFF"], 3),
        33: ("faucet", "HAS_SWITCH", ["OFF"], 3),
        **{id: ("curtain", "CAN_OPEN", ["CLOSED"], 2) for id in range(40, 52)},
    }
    placed = {11: [("INSIDE", 10)], 31: [("INSIDE", 30)], 32: [("ON", 30)], 33: [("ON", 30)], 21: [("ON", 20)]}
    placed |= {40: [("INSIDE", 41)], 41: [("INSIDE", 40)]}
    things = {60: ("water_glass", 11, 1), 61: ("cutlery_fork", 31, 3), 62: ("plate", 31, 3), 63: ("wine_glass", 11, 1)}
    table = {
        "nodes": [
            *({"id": id, "class_name": kind, "category": "Rooms"} for id, kind in rooms.items()),
            *(
                {"id": id, "class_name": kind, "category": "Furniture", "properties": has.split(), "states": states}
                for id, (kind, has, states, _) in standing.items()
            ),
            *(
                {"id": id, "class_name": kind, "category": "Props", "properties": ["GRABBABLE"]}
                for id, (kind, *_) in things.items()
            ),
        ],
        "edges": [
            *({"from_id": id, "relation_type": "INSIDE", "to_id": room} for id, (*_, room) in standing.items()),
            *({"from_id": id, "relation_type": how, "to_id": to} for id, at in placed.items() for how, to in at),
            *({"from_id": id, "relation_type": "INSIDE", "to_id": to} for id, (_, *at) in things.items() for to in at),
        ],
    }
    path = tmp_path / "public.json"
    path.write_text(written(table), "utf-8")
    there = world(apartment=str(path))
    assert there.engine == "graphs 2, without 2 relations that put fixed things inside of themselves"
    tables = [seed for seed in range(30) if there.task(f"generated:{seed}").type == "setup_table"]
    assert len(tables) > 4
    for seed in tables:
        assert play(there, f"generated:{seed}", 30)[0], there.task(f"generated:{seed}").goal


def test_what_is_not_there_is_refused_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds no tasks of WAH-NL"):
        world(data=str(tmp_path))
    refused = (
        ("generated.json", "the split 'generated' is ours"),
        ("wah_nl_a:b.json", "the name of a split has no ':'"),
        ("wah_nl_.json", "no name follows wah_nl_"),
    )
    for name, why in refused:
        (tmp_path / name).write_text(written([task()]), "utf-8")
        with pytest.raises(ConfigurationError, match=f"{name}.*{why}.*rename it"):
            world(data=str(tmp_path / name))
    with pytest.raises(ConfigurationError, match="wrote no instructions step by step; give human"):
        world(goals="human+steps")
    with pytest.raises(TaskNotFound, match="WAH-NL's files come with LoTa-Bench"):
        world().tasks("test")
    with pytest.raises(TaskNotFound, match="generated:0 to generated"):
        world().task("generated:x")
    with pytest.raises(GameError, match="cannot be read"):
        world(apartment=str(tmp_path / "none.json")).task("generated:1")


def test_our_own_sentences_are_read_as_they_are_meant() -> None:
    for seed in range(100):
        goal = make_apartment(seed).goal
        read = read_sentence(sentence(goal), [*LYING, "coffeetable", "dishwasher", "fridge", "kitchentable"])
        assert read is not None
        assert read.things == {one.kind: one.count for one in goal.conditions if one.where}
        assert (read.place, read.switched) == (goal.at.at, goal.conditions[-1].how == "turnOn")


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (
            "put the following on the kitchen table - 1 cutlery fork, 1 wine glass, 1 water glass and one plate",
            "put one cutlery fork, one wine glass, one water glass and one plate on the kitchen table",
        ),
        (
            "Please get the apple, the pancake, the pound cake and the cupcake and put them all in the fridge.",
            "put one apple, one pancake, one pound cake and one cupcake in the fridge",
        ),
        (
            "Place one wine glass and one plate in the dishwasher and turn it on.",
            "put one wine glass and one plate in the dishwasher and switch it on",
        ),
        ("Sing a song.", "None"),
    ],
)
def test_instructions_that_people_wrote_are_read_by_the_words_in_them(said: str, read: str) -> None:
    kinds = [*LYING, "coffeetable", "dishwasher", "fridge", "kitchentable"]
    assert str(read_sentence(said, kinds)) == read


def test_the_habits_are_a_table_of_chances() -> None:
    counts = written_counts()
    assert counts.chance("plate", "kitchencabinet", "apartment") > counts.chance("plate", "nightstand", "apartment")
    assert counts.openable("fridge") == 1


def solved(seed: int, greed: float) -> tuple[Action, ...]:
    """A way through a made-up apartment, walked by commands that the env takes."""
    house = make_apartment(seed)
    found = plan(house.graph, house.goal, seconds=60, greed=greed)
    assert found is not None, f"seed {seed} is not solved"
    moment = begun(house.graph)
    env = GraphEnv(world().task(f"generated:{seed}"), house.graph, house.goal)
    env.reset()
    for action in found:
        assert env.step(command_of(moment.graph, action)).observation.accepted
        moment = advance(moment, action)
    assert met(house.goal, moment.graph) == (house.goal.total, house.goal.total)
    return found


@pytest.mark.heavy
def test_made_up_apartments_can_be_solved_and_no_expert_is_shorter_than_the_shortest_way() -> None:
    for seed in range(20):
        assert len(solved(seed, greed=3)) <= play(world(), f"generated:{seed}")[1] + 10
    for seed in (3, 7):
        assert len(solved(seed, greed=1)) <= min(
            play(world(), f"generated:{seed}", search=search)[1] for search in ("counts", "name", "random")
        )


@pytest.mark.heavy
def test_what_no_way_comes_near_makes_no_shortest_way_longer_to_find() -> None:
    house = make_apartment(1)
    table = as_table(house.graph)
    for id in (901, 902):
        table["nodes"].append({"id": id, "class_name": "wallshelf", "category": "Furniture", "properties": ["SURFACES"]})
        table["edges"].append({"from_id": id, "relation_type": "INSIDE", "to_id": house.graph.apartment.rooms[0]})
    table["edges"].append({"from_id": 901, "relation_type": "CLOSE", "to_id": 902})
    graph = parse_apartment(written(table), "decorated")
    found, bare = plan(graph, house.goal), plan(house.graph, house.goal)
    assert found is not None and bare is not None
    assert len(found) == len(bare)


@pytest.mark.slow
def test_a_thousand_made_up_apartments_can_be_solved_by_proof() -> None:
    for seed in range(1_000):
        solved(seed, greed=3)


@pytest.mark.heavy
def test_the_expert_wins_made_up_apartments() -> None:
    there = world()
    played = {seed: play(there, f"generated:{seed}", 50) for seed in (*range(100), 238, 555)}
    assert {seed: thought for seed, (won, _, thought) in played.items() if not won} == {}


def test_the_skills_of_a_task_are_composed_of_what_is_in_its_apartment_and_win_it() -> None:
    there = world(skills="oracle")
    assert there.info.max_turns == 30
    for number in range(1, 6):
        env = there.open(there.task(f"example:{number}"))
        skills = there.skills_at(env.reset().observation.text)
        assert set(env.admissible_commands() or ()) <= set(skills)
        assert {"find a kitchen table", "pick up the wine glass", "switch on the dishwasher"} <= {
            *skills,
            "pick up the wine glass",
        }
        assert play(there, f"example:{number}", 30)[0]
    first, second = (there.skills_at(there.open(there.task(f"generated:{seed}")).reset().observation.text) for seed in (0, 1))
    assert first != second


def test_classes_that_are_called_alike_have_skills_of_their_own(tmp_path: Path) -> None:
    table, kinds = home(), ("coffee_table", "coffeetable")
    for id, kind in enumerate(kinds, start=60):
        table["nodes"].append({"id": id, "class_name": kind, "category": "Furniture", "properties": ["SURFACES"]})
        table["edges"].append({"from_id": id, "relation_type": "INSIDE", "to_id": 11})
    told = ["Put a plate on the coffee table."]
    one = task(init_graph=table, task_goal={"on_plate_coffeetable": 1}, nl_instructions=told)
    (tmp_path / "wah_nl_test.json").write_text(written([one]), "utf-8")
    there = world(data=str(tmp_path), skills="oracle")
    env = there.open(there.task("test:1"))
    skills = there.skills_at(env.reset().observation.text)
    assert [one for one in skills if "coffee" in one] == ["find a coffee_table", "find a coffeetable"]
    assert len(set(skills)) == len(skills)
    for kind in reversed(kinds):
        assert env.step(f"find a {kind}").observation.text.startswith(f"You walk to the {kind} 1.")
    won = [env.step(skill).won for skill in ("find a plate", "pick up the plate", "find a coffeetable", "put down the plate")]
    assert won == [False, False, False, True]


def with_things(tmp_path: Path, things: Mapping[int, tuple[str, str]], placed: tuple[tuple[int, str, int], ...]) -> World:
    """The skills of a task that wants an apple on the kitchen table, in a home with more things: class and properties by id."""
    table = home()
    table["edges"] = [one for one in table["edges"] if one["from_id"] != 30]
    for id, (kind, has) in things.items():
        table["nodes"].append({"id": id, "class_name": kind, "category": "Props", "properties": has.split()})
    table["edges"] += [
        {"from_id": id, "relation_type": how, "to_id": to}
        for id, how, to in (*((id, "INSIDE", 10) for id in (*things, 30)), *placed)
    ]
    one = task(init_graph=table, task_goal={"on_apple_kitchentable": 1}, nl_instructions=["Put an apple on the kitchen table."])
    (tmp_path / "wah_nl_test.json").write_text(written([one]), "utf-8")
    return world(data=str(tmp_path), skills="oracle")


def test_the_expert_opens_what_is_called_as_something_else_is(tmp_path: Path) -> None:
    box = "CAN_OPEN CONTAINERS"
    there = with_things(tmp_path, {60: ("kitchencabinet", box), 61: ("kitchen_cabinet", box)}, ((30, "INSIDE", 61),))
    assert play(there, "test:1", 30) == (True, 6, "")


def test_of_things_of_one_class_the_one_is_opened_that_can_be_and_that_the_robot_went_to(tmp_path: Path) -> None:
    """Four boxes within reach of each other: the first is open already, and the apple is in the third."""
    things = dict.fromkeys(range(60, 64), ("box", "CAN_OPEN CONTAINERS"))
    near = tuple((one, "CLOSE", other) for one in things for other in things if one != other)
    there = with_things(tmp_path, things, ((30, "INSIDE", 62), *near))
    env = there.open(there.task("test:1"))
    env.reset()
    env.step("find a box")
    assert env.step("open the box").observation.text.startswith("You open the box 1.")
    env.step("find an apple")
    answers = [
        env.step("open the box").observation.text for _ in range(4) if "open the box" in (env.admissible_commands() or ())
    ]
    assert answers[0] == "You open the box 3. In the box 3, you see an apple 1."
    assert len(answers) == 3
    assert env.step("close the box").observation.text == "You close the box 3."


def test_the_expert_of_skills_opens_a_closet_to_open_a_box_in_it(tmp_path: Path) -> None:
    things = {id: (kind, "CAN_OPEN CONTAINERS") for id, kind in ((60, "box"), (61, "box"), (62, "closet"))}
    there = with_things(tmp_path, things, ((30, "INSIDE", 61), (61, "INSIDE", 62)))
    assert play(there, "test:1", 30)[0]


def test_of_two_tables_things_are_put_on_the_one_that_has_some(tmp_path: Path) -> None:
    """The second table is nearer to where the second thing is found."""
    table = home()
    table["nodes"].append({"id": 60, "class_name": "kitchentable", "category": "Furniture", "properties": ["SURFACES"]})
    table["edges"].append({"from_id": 60, "relation_type": "INSIDE", "to_id": 11})
    one = task(init_graph=table, task_goal={"on_apple_kitchentable": 1, "on_plate_kitchentable": 2}, nl_instructions=[])
    (tmp_path / "wah_nl_test.json").write_text(written([one]), "utf-8")
    assert play(world(data=str(tmp_path), skills="oracle"), "test:1", 30)[0]


def test_the_shortest_way_leads_to_what_lies_on_a_plate_in_a_closed_fridge(tmp_path: Path) -> None:
    table = home()
    table["edges"] = [one for one in table["edges"] if one["from_id"] != 31]
    table["edges"] += [{"from_id": 31, "relation_type": "INSIDE", "to_id": to} for to in (10, 20)]
    one = task(init_graph=table, init_room="kitchen", task_goal={"on_cupcake_kitchentable": 1}, nl_instructions=[])
    (tmp_path / "wah_nl_test.json").write_text(written([one]), "utf-8")
    there = world(data=str(tmp_path))
    assert there.shortest(there.task("test:1")) == 5
    assert play(there, "test:1")[0]


def test_the_expert_of_skills_reads_what_people_call_things() -> None:
    for said in ("Put a fork on the dinner table.", "Put one cutlery fork on the kitchen table."):
        read = read_sentence(said, ["cutlery fork", "kitchen table"])
        assert read is not None and (read.things, read.place) == ({"cutlery fork": 1}, "kitchen table")
    machine = read_sentence("Put a plate in the washing machine and turn it on.", ["plate", "washing machine"])
    assert machine is not None and (machine.how, machine.switched) == ("inside", True)


def test_a_skill_that_fails_says_why() -> None:
    there = world(skills="oracle")
    env = there.open(there.task("example:2"))
    env.reset()
    answers = {
        "dance": "This is no skill of this apartment.",
        "put down the plate": "You do not hold the plate.",
        "pick up the plate": "You are not close to the plate",
    }
    for skill, answer in answers.items():
        step = env.step(skill)
        assert step.observation.text.startswith(answer) and not step.observation.accepted


def test_what_no_belief_holds_such_as_a_room_is_any_name() -> None:
    world = make_world("household-graph")
    assert world.household is not None
    form = acting_form(command_value(world, seen()))
    assert form is not None
    assert form.read("Thought: So.\nAction: walk to kitchen 1") is not None
    assert form.read("Thought: So.\nAction: grab mug 2") is not None
    assert form.read("Thought: So.\nAction: grab moon 1") is None


def test_orders_become_commands_of_the_world_in_which_they_are_given() -> None:
    room = "You are in the kitchen 1. Its furniture: a sink 1. On the sink 1, you see a mug 1."
    opening = f"You are in an apartment with a kitchen 1. {room}"
    scene = Surroundings(HOUSEHOLD.begin(Observation(opening)), HOUSEHOLD)
    told = directed(read("take the mug", scene), scene)
    assert told is not None
    assert told.acts == ("grab mug 1",)
    assert told.next(HOUSEHOLD.begin(Observation(opening)), "") == ("walk to sink 1", told)
