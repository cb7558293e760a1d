"""Which tasks a run selects."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.evaluation.runs.spec import find_types, make_run_spec, select
from housequest.agent.integrations.games import HostOptions
from housequest.agent.integrations.sessions import ServedTasks
from housequest.worlds.errors import ConfigurationError, TaskNotFound, Unsupported
from housequest.worlds.household.goals import TASK_TYPES
from housequest.worlds.registry import make_world
from tests.parts import needs


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("heat", "pick_heat_then_place_in_recep"),
        ("Cool", "pick_cool_then_place_in_recep"),
        ("clean", "pick_clean_then_place_in_recep"),
        ("light", "look_at_obj_in_light"),
        ("two", "pick_two_obj_and_place"),
        ("simple", "pick_and_place_simple"),
        ("pick_two_obj_and_place", "pick_two_obj_and_place"),
    ],
)
def test_short_names_of_types(word: str, found: str) -> None:
    assert find_types([word], TASK_TYPES) == (found,)


@pytest.mark.parametrize("word", ["pick", "heating", "", "\x1b[31m", "x" * 10_000, "\udcff"])
def test_a_word_that_names_no_single_type(word: str) -> None:
    with pytest.raises(ConfigurationError, match="--type"):
        find_types([word], TASK_TYPES)


def test_the_limit_takes_the_first_and_the_sample_is_seeded() -> None:
    world = make_world("scripted")
    assert [task.number for task in select(world, "demo", limit=2).tasks] == [1, 2]
    samples = {tuple(task.number for task in select(world, "demo", sample=2, seed=seed).tasks) for seed in range(20)}
    assert samples == {(1, 2), (1, 3), (2, 3)}
    assert select(world, "demo", sample=2, seed=7) == select(world, "demo", sample=2, seed=7)
    assert str(select(world, "demo", limit=2)) == "2 of the split's 3"
    assert list(select(world, "demo", limit=3).warnings) == []


def test_limit_and_sample_exclude_each_other() -> None:
    with pytest.raises(ConfigurationError, match="--limit and --sample"):
        select(make_world("scripted"), "demo", limit=1, sample=1)


def test_an_unknown_split() -> None:
    with pytest.raises(TaskNotFound):
        select(make_world("scripted"), "nowhere")


def test_a_published_split_that_is_not_whole_is_warned_of(tmp_path: Path) -> None:
    trial = tmp_path / "json_2.1.1" / "valid_seen" / "pick_and_place_simple-Mug-None-Shelf-1" / "trial_1"
    trial.mkdir(parents=True)
    (trial / "traj_data.json").write_text("{}")
    house = Path(__file__).parents[3] / "worlds" / "alfworld" / "golden" / "houses" / "numbering.json"
    (trial / "game.tw-pddl").write_bytes(house.read_bytes())
    world = make_world("alfworld", data=tmp_path)
    selection = select(world, "valid_seen")
    assert (selection.here, selection.of) == (1, 140)
    assert str(selection) == "1 of the split's 140"
    assert "140" in next(selection.warnings)


@pytest.mark.heavy
def test_of_a_split_without_end_the_first_are_taken_or_some_drawn() -> None:
    world = make_world("alfworld")
    first = select(world, "generated", limit=3)
    assert [task.number for task in first.tasks] == [1_000_000, 1_000_001, 1_000_002], "from which nothing has learned"
    assert str(first) == "3 of a split without end"
    drawn = [select(world, "generated", sample=4, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    numbers = [task.number for task in drawn[0].tasks]
    assert numbers == sorted(set(numbers))
    heating = select(world, "generated", ["heat", "light"], limit=5)
    assert {task.type for task in heating.tasks} == {"pick_heat_then_place_in_recep", "look_at_obj_in_light"}
    assert len(select(world, "generated", ["two"], sample=2).tasks) == 2


def test_houses_are_named_by_their_seeds() -> None:
    world = make_world("alfworld")
    some = select(world, "generated:7..11")
    assert ([task.number for task in some.tasks], some.of, str(some)) == ([7, 8, 9, 10, 11], 5, "5 of the range's 5")
    assert [task.number for task in select(world, "generated:7..11", limit=2).tasks] == [7, 8]
    assert [task.number for task in select(world, "generated:50000", limit=2).tasks] == [50_000, 50_001]
    drawn = [task.number for task in select(world, "generated:7..26", sample=6).tasks]
    assert len(drawn) == 6 and set(drawn) <= set(range(7, 27))
    for found in (select(world, "generated:7..11", sample=50), select(world, "generated:7..11", limit=50)):
        assert [task.number for task in found.tasks] == [7, 8, 9, 10, 11]
    for wrong in ("generated:", "generated:-1", "generated:x", "generated:1..2..3"):
        with pytest.raises(ConfigurationError, match="is no split; give generated"):
            select(world, wrong, limit=1)
    with pytest.raises(ConfigurationError, match=r"5 is above 4; did you mean generated:4\.\.5"):
        select(world, "generated:5..4", limit=1)
    with pytest.raises(ConfigurationError, match="has 100,000 tasks, too many for one run"):
        select(world, "generated:0..99999")


@pytest.mark.parametrize(("limit", "sample"), [(None, 12), (12, None)])
def test_where_there_are_fewer_than_wanted_all_are_played(limit: int | None, sample: int | None) -> None:
    world = make_world("alfworld")
    found = select(world, "generated:700000..700039", ["heat"], limit, sample)
    assert 0 < len(found.tasks) < 12
    assert found.tasks == select(world, "generated:700000..700039", ["heat"]).tasks
    with pytest.raises(ConfigurationError, match="has no tasks of the type pick_heat"):
        select(world, f"generated:700000..{found.tasks[0].number - 1}", ["heat"], limit, sample)


@pytest.mark.heavy
def test_a_sample_has_of_each_type_its_share() -> None:
    world = make_world("alfworld")
    there = Counter(task.type for task in select(world, "generated:700000..700099").tasks)
    drawn = Counter(task.type for task in select(world, "generated:700000..700099", sample=12).tasks)
    types = world.info.types_in("generated")
    assert all(abs(drawn[kind] - 12 * there[kind] / 100) < 1 for kind in types)
    assert {task.type for task in select(world, "generated", sample=24).tasks} == {*types}
    assert select(world, "chores:60000..60004").missing == ()
    # Listed ones by their shares: 3 tasks, of which the larger type gets its own.
    demo = make_world("scripted")
    assert select(demo, "demo", sample=2, seed=3).tasks == select(demo, "demo", sample=2, seed=3).tasks


def test_types_that_are_missing_are_told_of() -> None:
    first = select(make_world("alfworld"), "generated", limit=2)
    assert len(first.missing) == 4
    assert f"none of {', '.join(first.missing)}; --sample N draws from all types" in next(first.warnings)
    assert not list(select(make_world("alfworld"), "generated", limit=1).warnings), "one task has one type"


def test_types_that_a_range_has_none_of_are_not_missed() -> None:
    world = make_world("alfworld")
    whole = select(world, "generated:700000..700004")
    assert len({task.type for task in whole.tasks}) < len(world.info.task_types)
    assert list(whole.warnings) == list(select(world, "generated:700000..700004", sample=4, seed=1).warnings) == []
    begun = select(world, "generated:700000..700004", limit=2)
    assert set(begun.missing) == {task.type for task in whole.tasks} - {task.type for task in begun.tasks}
    few = select(world, "generated:700000..700019", sample=2)
    assert few.missing and "--sample" not in next(few.warnings), "it was given"


def test_a_seed_of_no_draw_is_refused(tmp_path: Path) -> None:
    given = {"world": "scripted", "agent": "expert", "sample_seed": 7}
    with pytest.raises(ConfigurationError, match="sample_seed is set by --sample-seed, and no sample is drawn"):
        make_run_spec(configure({**given, "limit": 2}, tmp_path))
    assert make_run_spec(configure({**given, "sample": 2}, tmp_path)).config.sample_seed == 7


@pytest.mark.parametrize("given", [{"order": "at-once"}, {"talk": "off"}, {"obey": "people"}])
def test_a_setting_of_company_is_refused_to_one_player(tmp_path: Path, given: dict[str, object]) -> None:
    alone = {"agent": "expert", "split": "chores:60001..60002", **given}
    with pytest.raises(ConfigurationError, match=r"is set by --(order|talk|obey), and expert plays alone; name several by"):
        make_run_spec(configure(alone, tmp_path))
    together = {**alone, "agent": None, "players": ["expert*2"]}
    assert make_run_spec(configure(together, tmp_path)).config.model_dump()[next(iter(given))] == next(iter(given.values()))


@pytest.mark.parametrize(
    ("limit", "sample", "reason"),
    [
        (None, None, "is endless; say how many tasks to play with --limit N or --sample N"),
        (0, None, "give 1 to"),
        (None, 10**12, "give 1 to"),
        (1_000_000, None, "1,000,000 tasks .* are too many for one run; give 1 to 10,000"),
    ],
)
def test_a_split_without_end_is_not_gone_through(limit: int | None, sample: int | None, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        select(make_world("alfworld"), "generated", limit=limit, sample=sample)


@pytest.mark.games
def test_the_published_split_is_whole(alfworld_games: Path) -> None:
    world = make_world("alfworld", data=alfworld_games)
    selection = select(world, "valid_seen", ["heat"], limit=5)
    assert str(selection) == "5 of the split's 140"
    assert list(selection.warnings) == []
    assert {task.type for task in selection.tasks} == {"pick_heat_then_place_in_recep"}


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        pytest.param(
            {"world": "household-graph", "grant": ["diagnosis"]},
            "The world 'household-graph' has no diagnosis of refused commands",
            marks=needs("graphs"),
        ),
        ({"world": "scripted", "grant": ["diagnosis"]}, "The world 'scripted' has no diagnosis of refused commands"),
        pytest.param(
            {"world": "alfred", "split": "example", "grant": ["diagnosis"]},
            "The world 'alfred' has no diagnosis of refused commands",
            marks=needs("alfred"),
        ),
        pytest.param(
            {"world": "alfred", "split": "example", "grant": ["plan"], "agent": "opex", "set": {"planner": "oracle"}},
            "There is no annotated plan for example:1; play one of a split that has them",
            marks=needs("alfred", "opex"),
        ),
    ],
)
def test_a_grant_that_the_world_cannot_give_is_refused_before_the_run(
    flags: dict[str, object], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(Unsupported, match=sentence):
        make_run_spec(configure({"agent": "expert", **flags}, tmp_path))


def test_a_grant_that_the_world_can_give_is_granted(tmp_path: Path) -> None:
    given = {"agent": "expert", "split": "example", "grant": ["diagnosis"]}
    assert make_run_spec(configure(given, tmp_path)).config.grants == ("diagnosis",)


@needs("graphs")
def test_clients_are_not_offered_what_the_world_cannot_give() -> None:
    world, diagnosis = make_world("household-graph"), frozenset({"diagnosis"})
    for offer in (lambda: HostOptions(world, grants=diagnosis), lambda: ServedTasks(world, "example", grants=diagnosis)):
        with pytest.raises(Unsupported, match="has no diagnosis of refused commands"):
            offer()
