from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfworld.games import GAME_FILE, Index
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.env import open_env
from housequest.worlds.errors import ConfigurationError, GameError, HousequestError, TaskNotFound
from housequest.worlds.household.goals import TASK_TYPES
from housequest.worlds.registry import make_world
from tests.worlds.alfworld.samples import HEAT, OLDER, PLACE, encoded, published, put, unpacked


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AlfworldWorld:
    """The world where no games were ever fetched."""
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "nothing"))
    return AlfworldWorld()


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A data folder with two games that are refused, one that is left out, and what people said of one."""
    put(tmp_path, "mine", PLACE, encoded(OLDER))
    put(tmp_path, "mine", HEAT, b"damaged")
    put(tmp_path, "mine", "pick_and_place_simple-AppleSliced-None-Fridge-1/trial", b"")
    annotations = [{"task_desc": "Put a mug away. "}, {"task_desc": "\x1bmug,\nplease"}]
    put(tmp_path, "mine", PLACE, json.dumps({"turk_annotations": {"anns": annotations}}).encode(), "traj_data.json")
    return tmp_path


def test_the_registry_makes_it() -> None:
    assert isinstance(make_world("alfworld"), AlfworldWorld)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"engine": "nativ"}, "Did you mean 'native'"),
        ({"data": Path("/nowhere")}, "'/nowhere' holds no folder json_2.1.1"),
        ({"data": Path("a\0b")}, "holds no folder"),
        ({"goals": "humans"}, "Did you mean 'human'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        AlfworldWorld(**settings)  # pyright: ignore[reportArgumentType]


def test_without_data_there_are_the_examples_a_kitchen_first(empty: AlfworldWorld) -> None:
    assert empty.splits() == ("example",)
    tasks = empty.tasks("example")
    assert [task.reference for task in tasks] == [f"example:{number}" for number in range(1, len(tasks) + 1)]
    assert tasks[0].id == "example/kitchen"
    assert all(task.type in TASK_TYPES and task.wording == "template" for task in tasks)
    assert empty.task("example:1") is empty.task("example/kitchen") is tasks[0]


@pytest.mark.parametrize("split", ["train", "valid_seen", "valid_unseen"])
def test_without_data_a_published_split_says_where_to_get_it(empty: AlfworldWorld, split: str) -> None:
    with pytest.raises(TaskNotFound, match=rf"{split}.*nothing/json_2\.1\.1.*housequest data download.*ALFWORLD_DATA"):
        empty.tasks(split)
    with pytest.raises(TaskNotFound, match="housequest data download"):
        empty.task(f"{split}:17")


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("exampel:1", "Did you mean 'example'"),
        ("generatd:1", "Did you mean 'generated'"),
        ("example:0", "example:1 to example:"),
        ("example:99", "example:1 to example:"),
        ("example/kichen", "Did you mean 'example/kitchen'"),
        ("nothing", "give SPLIT:NUMBER or an id, of one of the splits example"),
        ("file:1", "file has no tasks"),
        ("", "There is no task ''"),
    ],
)
def test_a_reference_that_leads_nowhere_names_what_is_near(empty: AlfworldWorld, reference: str, reason: str) -> None:
    with pytest.raises(TaskNotFound, match=reason):
        empty.task(reference)


@given(st.text(st.characters(exclude_categories=())) | st.integers().map(lambda number: f"example:{number}"))
def test_no_reference_ends_in_anything_but_our_errors(reference: str) -> None:
    world = AlfworldWorld()
    try:
        task = world.task(reference)
    except HousequestError as error:
        str(error).encode()
    else:
        assert world.task(task.id) is task


def test_games_that_cannot_be_played_stay_in_the_split_and_say_why_when_opened(mine: Path) -> None:
    world = AlfworldWorld(data=mine)
    assert [(task.id, task.number, task.type) for task in world.tasks("mine")] == [
        (f"mine/{PLACE}", 1, "pick_and_place_simple"),
        (f"mine/{HEAT}", 2, "pick_heat_then_place_in_recep"),
    ]
    with pytest.raises(GameError, match=f"{PLACE}.*older grammar.*housequest data download"):
        world.open(world.task("mine:1"))
    with pytest.raises(GameError, match=f"{HEAT}.*not JSON"):
        world.open(world.task("mine:2"))
    entries = Index(mine).entries("mine")
    assert [entry.trial for entry in entries if entry.status == "refused"] == [PLACE, HEAT]
    assert [entry.reason for entry in entries if entry.status == "left out"] == ["its task needs a sliced object"]


def test_a_task_is_found_by_id_and_by_path(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = AlfworldWorld(data=mine)
    task = world.task("mine:1")
    folder = mine / "json_2.1.1" / "mine" / PLACE
    for reference in (task.id, f"{task.id}/", f"{task.id}/{GAME_FILE}", str(folder), str(folder / GAME_FILE)):
        assert world.task(reference) is task
    monkeypatch.chdir(folder.parent)
    assert world.task(folder.name) is task


def test_a_game_that_is_left_out_says_so_when_asked_for(mine: Path) -> None:
    folder = mine / "json_2.1.1" / "mine" / "pick_and_place_simple-AppleSliced-None-Fridge-1" / "trial"
    with pytest.raises(TaskNotFound, match="left out, as ALFWorld leaves it out: its task needs a sliced object"):
        AlfworldWorld(data=mine).task(str(folder))


def test_a_house_elsewhere_is_a_task_of_its_own(empty: AlfworldWorld, tmp_path: Path) -> None:
    house = empty.task("example:1")
    assert house.source is not None
    path = tmp_path / "mine.json"
    shutil.copy(house.source, path)
    task = empty.task(str(path))
    assert (task.id, task.split, task.goal, task.type) == (str(path), "file", house.goal, house.type)
    assert empty.task(task.reference) is empty.task(str(path)) is task
    assert empty.open(task).reset().observation == empty.open(house).reset().observation
    assert empty.fingerprint("file") != empty.fingerprint("example")
    assert empty.splits() == ("example",)


def test_a_file_that_is_no_game_is_refused_by_name(empty: AlfworldWorld, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("buy eggs")
    with pytest.raises(GameError, match=r"notes\.txt"):
        empty.task(str(tmp_path / "notes.txt"))


def test_a_persons_goal_takes_the_place_of_the_template(mine: Path) -> None:
    first, second = AlfworldWorld(data=mine, goals="human:1"), AlfworldWorld(data=mine, goals="human:2")
    assert (first.task("mine:1").goal, first.task("mine:1").wording) == ("Put a mug away.", "human:1")
    assert (second.task("mine:1").goal, second.task("mine:1").wording) == ("mug, please", "human:2")
    assert first.fingerprint("mine") != second.fingerprint("mine")


def test_tasks_that_nobody_worded_keep_their_goal_and_are_named(mine: Path) -> None:
    template, human = AlfworldWorld(data=mine), AlfworldWorld(data=mine, goals="human:2")
    assert [task.wording for task in human.tasks("mine")] == ["human:2", "template"]
    assert human.task("mine:2") == template.task("mine:2")
    assert AlfworldWorld(data=mine, goals="human:3").tasks("mine") == template.tasks("mine")
    assert {task.wording for task in human.tasks("example")} == {"template"}


def test_the_fingerprint_follows_the_content_and_not_the_clock(mine: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(mine / "json_2.1.1", copied / "json_2.1.1", copy_function=shutil.copyfile)
    before = AlfworldWorld(data=mine).fingerprint("mine")
    assert AlfworldWorld(data=copied).fingerprint("mine") == before
    put(copied, "mine", HEAT, b"otherwise damaged")
    assert AlfworldWorld(data=copied).fingerprint("mine") != before
    assert AlfworldWorld(data=copied).fingerprint("example") == AlfworldWorld(data=mine).fingerprint("example")
    with pytest.raises(TaskNotFound):
        AlfworldWorld(data=mine).fingerprint("train")


def test_episodes_share_a_game_until_its_file_changes(empty: AlfworldWorld, tmp_path: Path) -> None:
    source = empty.task("example:1").source
    assert source is not None
    path = tmp_path / "house.json"
    shutil.copy(source, path)
    task = empty.task(str(path))
    one, two = empty.open(task), empty.open(task)
    assert one.game is two.game  # pyright: ignore[reportAttributeAccessIssue]
    path.write_text(json.dumps(json.loads(path.read_text()), indent=1))
    assert empty.open(task).game is not one.game  # pyright: ignore[reportAttributeAccessIssue]
    path.unlink()
    with pytest.raises(GameError, match=r"house\.json.*is not there"):
        empty.open(task)


def test_a_task_from_a_record_is_found_again_by_its_id(empty: AlfworldWorld) -> None:
    task = replace(empty.task("example:1"), source=None)
    assert empty.open(task).task == empty.task("example:1")


def test_diagnosis_is_granted_on_request(empty: AlfworldWorld) -> None:
    task = empty.task("example:1")
    for diagnosis in (False, True):
        env = open_env(empty, task, diagnosis=diagnosis)
        env.reset()
        observation = env.step("open fridge 1").observation
        assert observation.text == "Nothing happens."
        assert (observation.explanation is not None) == diagnosis


@pytest.mark.parametrize("settings", [{"search": "counts"}, {"search": "random", "seed": 3}, {"search": "name"}])
def test_the_expert_wins_the_examples(empty: AlfworldWorld, settings: dict[str, object]) -> None:
    expert = empty.expert(**settings)
    for task in empty.tasks("example"):
        env = empty.open(task)
        step = env.reset()
        memory = expert.begin(task.goal, step.observation)
        for _ in range(50):
            if step.done:
                break
            command, _, memory = expert.decide(memory)
            step = env.step(command)
            memory = expert.observe(memory, command, step.observation)
        assert step.won


@pytest.mark.parametrize("settings", [{"order": "name"}, {"search": "size"}, {"search": 5}])
def test_the_expert_refuses_other_settings(empty: AlfworldWorld, settings: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        empty.expert(**settings)


def test_the_manual_lists_the_commands(empty: AlfworldWorld) -> None:
    assert "move OBJECT to RECEPTACLE" in empty.info.manual.splitlines()


@pytest.mark.games
def test_published_tasks_are_numbered_in_the_order_of_their_ids(alfworld_games: Path) -> None:
    world = AlfworldWorld(data=alfworld_games)
    tasks = world.tasks("valid_seen")
    assert [task.id for task in tasks] == sorted(task.id for task in tasks)
    assert [task.number for task in tasks] == list(range(1, 141))
    assert all(world.task(task.reference) is world.task(task.id) is task for task in tasks)
    assert {entry.status for entry in Index(alfworld_games).entries("valid_seen")} == {"playable"}


@pytest.mark.games
def test_an_opening_ends_with_the_goal_that_is_shown(alfworld_games: Path) -> None:
    for goals in ("template", "human:1", "human:seed=5"):
        world = AlfworldWorld(data=alfworld_games, goals=goals)
        assert (goals == "template") == any(task.wording == "template" for task in world.tasks("valid_seen"))
        for task in world.tasks("valid_seen")[::20]:
            assert world.open(task).reset().observation.text.endswith(f"\n\nYour task is to: {task.goal}")


@pytest.mark.games
def test_a_published_game_elsewhere_is_worded_by_what_lies_beside_it(alfworld_games: Path, tmp_path: Path) -> None:
    members = published(alfworld_games, 1)
    unpacked(members, tmp_path)
    (game,) = tmp_path.rglob(GAME_FILE)
    task = AlfworldWorld(data=alfworld_games, goals="human:1").task(str(game.parent))
    assert (task.split, task.wording) == ("file", "human:1")
