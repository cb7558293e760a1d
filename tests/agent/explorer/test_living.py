"""Lives in homes: what a book says of places, how it is searched by, who lingers, and a life that goes on where it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.config import configure
from housequest.agent.episodes.events import Stepped
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.runs.batch import RunOptions
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, Stopped
from housequest.agent.evaluation.runs.shard import Shard
from housequest.agent.explorer.curves import CEILING, FLOOR, curves_chart, curves_page, found_habits, read_curves, verify_lives
from housequest.agent.explorer.living import LEARNT, RANDOM, Life, Lives, diary, live, plan_lives, true_rules
from housequest.agent.skills.searching import EARLIER, SIMILAR, SPARE, ToldPrior, linger, look_for
from housequest.knowledge.mining import Mined
from housequest.knowledge.rulebook import read_book
from housequest.knowledge.rules import LONGEST_STATEMENT, Origin, Rule, wilson
from housequest.knowledge.sentences import LOOKED, Location, PlaceShare, looked_rule, read_looked, read_sentence
from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.household.belief import Belief, Item, Receptacle
from housequest.worlds.household.goals import Goal
from tests.backends.policy import react
from tests.backends.server import answer, serve, status

PLACES = ("cabinet 1", "cabinet 2", "countertop 1", "drawer 1", "drawer 7", "fridge 1")
BELIEF = Belief(receptacles=tuple(Receptacle(name, place=name) for name in PLACES))
HOME = "household-light:1001"


def at_home(thing: str, seen: Mapping[str, tuple[int, int]]) -> Location:
    places = [
        PlaceShare(place, days, days / looks, wilson(days, looks), (), looks, days) for place, (days, looks) in seen.items()
    ]
    ranked = sorted(places, key=lambda one: (-one.share, -one.seen, one.receptacle))
    return Location(thing, sum(place.seen for place in places), tuple(ranked))


def rules(looked: Mapping[str, int], *locations: Location) -> tuple[Rule, ...]:
    return Mined(locations, scope="household", looked=looked).rules("home", ("household:7:1..9",))


@given(st.dictionaries(st.sampled_from(PLACES), st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1))
def test_what_was_seen_in_a_home_is_said_and_read_back(drawn: dict[str, tuple[int, int]]) -> None:
    seen = {place: (days, days + more) for place, (days, more) in drawn.items()}
    location = at_home("mug", seen)
    read = read_sentence(location.sentence)
    assert read is not None and {one.receptacle: (one.seen, one.looks) for one in read.places} == seen
    looks = {place: looks for place, (_, looks) in seen.items()}
    assert read_looked(looked_rule(looks, Origin()).statement) == looks


@given(st.text(max_size=120) | st.from_regex(r"Looked into on \d days?: [a-z 0-9,;:.]*", fullmatch=True))
def test_any_sentence_says_where_was_looked_or_nothing(statement: str) -> None:
    assert all(days >= 0 for days in read_looked(statement).values())


def test_a_book_that_counts_looks_is_searched_by_them() -> None:
    """The formula of two steps: first all places of a kind, then the place itself."""
    counts, looked = load_counts(), {"drawer 7": 5, "drawer 1": 4, "fridge 1": 3}
    told = ToldPrior(counts, counts, rules(looked, at_home("mug", {"drawer 7": (4, 5)})), BELIEF)
    before = counts.chance("mug", "drawer 7", "kitchen")
    alike = (SIMILAR * before + 4) / (SIMILAR + 9)
    assert told.chance("mug", "drawer 7", "kitchen") == pytest.approx((EARLIER * alike + 4) / (EARLIER + 5))
    assert told.chance("mug", "drawer 1", "kitchen") == pytest.approx(EARLIER * alike / (EARLIER + 4))
    # Not there three times, and of a thing that nobody has seen yet.
    for thing in ("mug", "egg"):
        never = counts.chance(thing, "fridge 1", "kitchen")
        assert told.chance(thing, "fridge 1", "kitchen") == pytest.approx(never * SIMILAR / (SIMILAR + 3) / (1 + 3))
    assert told.about(["egg"]) and not told.about([])
    assert told.says("mug", "drawer 7") is not None and told.says("egg", "drawer 7") is None
    assert look_for(("mug",), BELIEF, told, counts, ()) == ("drawer 7", "go to drawer 7")


def test_habits_alone_leave_out_what_was_seen_once() -> None:
    seen = Mined((at_home("mug", {"drawer 7": (4, 5), "shelf 1": (1, 1)}),), scope="household", looked={"drawer 7": 5})
    (rule,) = seen.habits.rules("home")
    assert rule.statement == "To find a mug, try drawer 7 first (there on 4 of 5 days)."
    assert [each.id for each in seen.rules("home")] == ["where-mug", LOOKED]


def test_who_lingers_looks_where_was_looked_least_with_all_in_hand() -> None:
    counts, goal = load_counts(), Goal("pick_and_place_simple", "mug", "countertop")
    book = rules({place: 2 for place in PLACES if place != "cabinet 2"})
    held = replace(BELIEF, items=(Item("mug 1"),), carried=("mug 1",))
    assert linger(goal, held, book, counts, 30, ()) == "go to cabinet 2"
    assert linger(goal, held, book, counts, 30, ["go to cabinet 2"]) not in {None, "go to cabinet 2"}
    for now, left, wanted in (
        (BELIEF, 30, goal),
        (held, 3 + SPARE, goal),  # go, open, put
        (held, 30, None),
        (held, 30, replace(goal, type="look_at_obj_in_light", lamp="desklamp", receptacle=None)),
        (held, 30, replace(goal, type="pick_two_obj_and_place", count=2)),
    ):
        assert linger(wanted, now, book, counts, left, ()) is None
    heating = replace(goal, type="pick_heat_then_place_in_recep")
    assert linger(goal, held, book, counts, 4 + SPARE, ()) and linger(heating, held, book, counts, 4 + SPARE, ()) is None


def lives(ways: tuple[str, ...], days: int = 3, frozen: int = 2, tried: tuple[int, ...] = (2,), agent: str = "expert") -> Lives:
    return plan_lives(configure({"agent": agent}), [HOME], ways, days, tried, frozen)


def lived(wanted: Lives, folder: Path, options: RunOptions | None = None, tracker: BudgetTracker | None = None) -> int:
    return asyncio.run(live(wanted, folder, options or RunOptions(), tracker or BudgetTracker()))


def files_in(folder: Path) -> dict[str, bytes]:
    """All files but the clocks."""
    clocks = {"walls.jsonl", "timing.jsonl"}
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in clocks)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lives")
    lived(lives(("counts", "explore", "mine", "memory")), folder)
    return folder


@pytest.mark.heavy
def test_a_life_is_a_run_a_day_with_the_book_of_each_evening(whole: Path) -> None:
    one = whole / "household-light-1001"
    assert {each.name for each in one.iterdir()} == {FLOOR, RANDOM, CEILING, "counts", "explore", "mine", "memory"}
    assert {each.name for each in (one / "counts").iterdir()} == {"day-001", "day-002", "day-003", "tried-002"}
    first, last = (read_book(one / "counts" / day / "book.yaml").rules for day in ("day-001", "day-003"))
    assert last[-1].id == LOOKED and len(last) > len(first)
    before, after = (read_looked(book[-1].statement) for book in (first, last))
    assert before and all(before[place] <= after[place] for place in before)
    assert all(rule.scope == "household" and rule.status == "accepted" for rule in last)
    memory = read_book(one / "memory" / "day-003" / "book.yaml").rules
    assert all("The last time that" in rule.statement for rule in memory) and memory


@pytest.mark.heavy
def test_an_explorer_sees_more_in_its_first_days(whole: Path) -> None:
    def seen(who: str) -> int:
        book = read_book(whole / "household-light-1001" / who / "day-001" / "book.yaml").rules
        return sum(read_looked(book[-1].statement).values())

    def lingered(who: str, day: str) -> bool:
        (record,) = (whole / "household-light-1001" / who / day / "episodes").glob("*.jsonl")
        return any(isinstance(event.body, Stepped) and event.body.by == "curiosity" for event in read_episode(record))

    assert seen("explore") > seen("counts")
    assert lingered("explore", "day-001") and not lingered("counts", "day-001") and not lingered("explore", "day-003")


@pytest.mark.heavy
def test_an_explorer_finds_a_habit_that_nobody_expects(tmp_path: Path) -> None:
    habits = tmp_path / "habits.yaml"
    habits.write_text("mug: {safe 1: 1}\n")
    wanted = plan_lives(configure({"agent": "expert", "habits": str(habits)}), ["household-light:1010"], ["explore"], 6, (), 0)
    lived(wanted, tmp_path / "lives")
    book = read_book(tmp_path / "lives" / "household-light-1010" / "explore" / "day-006" / "book.yaml")
    told = read_sentence(book.rule("where-mug").statement)
    assert told is not None and told.places[0].receptacle == "safe 1" and told.is_habit(told.places[0])


@pytest.mark.heavy
def test_the_curves_stand_between_floor_and_ceiling(whole: Path) -> None:
    report = read_curves(whole)
    assert report.homes == (HOME,)
    arms: Any = report.data()["arms"]
    assert set(arms) == {"counts", "explore", "mine", "memory"}
    # One home has no interval over homes.
    assert [each["interval"] for each in arms["counts"]["tried"]] == [None]
    assert report.reference(CEILING)[1] < report.reference(FLOOR)[1]
    assert report.reference(CEILING)[1] < report.reference(RANDOM)[1]
    text = report.text()
    assert "days 1 to 3" in text and "tried on 2 days" in text and "habits found" in text
    page, chart = curves_page(report).decode(), str(curves_chart(report))
    assert all(f">{arm}</text>" in chart for arm in ("floor", "ceiling", *report.arms)) and chart in page
    found = verify_lives(whole)
    assert found.whole and found.finished == found.tasks


@pytest.mark.heavy
def test_a_life_that_was_stopped_goes_on_to_the_same_bytes(whole: Path, tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def stopping(after: int) -> RunOptions:
        told = iter(range(after))

        def watch(_: object) -> None:
            if next(told, None) is None:
                raise Enough

        return RunOptions(watcher=watch)

    wanted = lives(("counts", "explore", "mine", "memory"))
    for after in (1, 4, 9, 14):
        with pytest.raises(Enough):
            lived(wanted, tmp_path, stopping(after))
    lived(wanted, tmp_path)
    assert files_in(tmp_path) == files_in(whole)


@pytest.mark.heavy
def test_shards_make_what_one_process_makes(whole: Path, tmp_path: Path) -> None:
    wanted = lives(("counts", "explore", "mine", "memory"))
    for number in (1, 2, 3):
        lived(wanted, tmp_path, RunOptions(shard=Shard(number=number, of=3)))
    assert files_in(tmp_path) == files_in(whole)


def test_other_lives_in_the_folder_are_refused(whole: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds a run of another configuration"):
        lived(lives(("counts",)), whole)


@pytest.mark.heavy
def test_the_past_days_are_shown_to_a_model_as_they_were(tmp_path: Path) -> None:
    with serve() as server:
        settings = configure({"agent": "react", "model": server.model(), "set": {"form": "free"}, "max_steps": 40})
        wanted = plan_lives(settings, [HOME], ["context"], 2, (2,), 1)
        lived(wanted, tmp_path)
        (record,) = (tmp_path / "household-light-1001" / "context" / "day-001" / "episodes").glob("*.jsonl")
        told = diary(1, record)
        assert told[0].startswith("Day 1: ") and told[1].startswith("Day 1, continued: > ") and "> " in told[0]
        # A long day is more than one rule can hold.
        assert all(len(part) <= LONGEST_STATEMENT and part in server.requests[-1].text for part in told)
        assert sum(part.count("> look: ") for part in told) == 40


@pytest.mark.heavy
def test_a_model_that_believes_what_it_is_told_lives_better_by_any_book(tmp_path: Path) -> None:
    with serve(react) as server:
        settings = configure({"agent": "react", "model": server.model(), "set": {"form": "free"}})
        lived(plan_lives(settings, ["household:1000"], ["counts", "groups", "memory", "context"], 5, (5,), 4), tmp_path)
    report = read_curves(tmp_path)
    curves = {arm: report.curve(arm)[-1] for arm in report.arms}
    assert all(each.turns < report.reference(FLOOR)[1] for each in curves.values())
    # Who counts over the past days itself finds as much, and reads more.
    assert curves["context"].turns == curves["counts"].turns
    used = {arm: each.used or 0 for arm, each in curves.items()}
    assert 0 < used["counts"] < used["context"]
    assert "tokens a day" in report.text()


def test_the_true_habits_are_what_a_book_is_measured_by() -> None:
    habits = {"mug": {"drawer 7": 0.7, "shelf 1": 0.25, "fridge 1": 0.05}, "egg": {"fridge 1": 0.95, "shelf 1": 0.05}}
    found = found_habits([rule.statement for rule in true_rules(habits)], habits)
    assert found is not None
    assert (found.named, found.right, found.true, found.found) == (3, 3, 3, 3)
    assert (found.things, found.main) == (2, 2)
    wrong = [at_home("mug", {"fridge 1": (3, 3), "drawer 7": (1, 3)}).sentence]
    once = found_habits(wrong, habits)
    assert once is not None and (once.named, once.right, once.found, once.main) == (1, 0, 0, 0)
    assert found_habits(["Mugs are in the fridge."], habits) is None


@pytest.mark.parametrize(
    ("homes", "ways", "why"),
    [
        (["generated:7"], ["counts"], "is no home"),
        (["household:x"], ["counts"], "is no home"),
        (["household:9..7"], ["counts"], "the first seed first"),
        ([HOME], ["dreams"], "no way to learn"),
        ([HOME], ["context"], "no model that could read"),
        (["household:7", HOME], ["counts"], "two lengths"),
    ],
)
def test_what_cannot_be_lived_is_refused(homes: list[str], ways: list[str], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        plan_lives(configure({"agent": "expert"}), homes, ways, 3, (2,), 1)


@pytest.mark.parametrize(("days", "tried", "frozen"), [(0, 1, 1), (501, 1, 1), (3, 0, 1), (3, 1, -1)])
def test_days_out_of_range_are_refused(days: int, tried: int, frozen: int) -> None:
    with pytest.raises(ConfigurationError, match="is out of range; give "):
        plan_lives(configure({"agent": "expert"}), [HOME], ["counts"], days, (tried,), frozen)


def test_a_budget_stops_all_lives(tmp_path: Path) -> None:
    with serve() as server:
        settings = configure({"agent": "react", "model": server.model(), "set": {"form": "free"}, "max_steps": 2})
        wanted = plan_lives(settings, [HOME], ["counts"], 3, (2,), 1)
        with pytest.raises(Stopped):
            lived(wanted, tmp_path, tracker=BudgetTracker(Budget(calls=5)))
        assert len(server.requests) == 5


@pytest.mark.heavy
def test_a_life_stops_at_a_day_that_ended_in_an_error_and_goes_on_with_it(tmp_path: Path) -> None:
    with serve() as server:
        settings = configure({"agent": "react", "model": server.model(), "set": {"form": "free"}, "max_steps": 2})
        lived(plan_lives(settings, [HOME], [], 2, (2,), 1), tmp_path / "references")
        calls = len(server.requests)
        server.reset()
        wanted = plan_lives(settings, [HOME], ["counts"], 2, (2,), 1)
        server.behave(*[answer] * calls, status(413), status(413))
        with pytest.raises(Stopped, match="Day 1 in household-light:1001 ended in an error"):
            lived(wanted, tmp_path / "lives")
        assert lived(wanted, tmp_path / "lives") == 0
        assert read_curves(tmp_path / "lives").homes == (HOME,)
        assert not verify_lives(tmp_path / "lives").faults


def test_every_way_is_described() -> None:
    wanted = plan_lives(configure({"agent": "expert"}), ["household-light:7..9"], [], 0 + 1, (), 0)
    assert wanted.manifest.homes == tuple(f"household-light:{seed}" for seed in (7, 8, 9))
    assert wanted.manifest.lives[0] == Life("household-light:7", FLOOR)
    assert set(LEARNT) == {"counts", "explore", "groups", "mine", "memory", "context"}
