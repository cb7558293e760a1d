"""The curator's desk by keyboard: every key that changes a book, saved and undone, and refusals that lose nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from housequest.agent.episodes.moments import recorded_moments
from housequest.knowledge.checks import parse_check
from housequest.knowledge.mining import mine, place_rule
from housequest.knowledge.rulebook import Rulebook, RuleLibrary, new_book, read_book, save, saving
from housequest.knowledge.rules import Evidence, Origin, Rule
from housequest.tui.desk.rule_dialog import RuleDialog
from housequest.tui.desk.rule_view import RuleList
from housequest.tui.desk.screen import DeskScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.worlds.alfworld.text import HOUSEHOLD
from tests.parts import needs
from tests.tui.recorded import play, rewound, write
from tests.tui.screen import press, running_text, showing, type_in, until

pytestmark = pytest.mark.anyio


FLY = Rule("fly", "You can [red]fly[/].", "mechanic", evidence=Evidence(1, 2, ("run/e/6",), ("run/e/4", "gone/e/3")))
WALK = Rule("walk", "You can walk.", "affordance", types=("pick_two_obj_and_place",), status="candidate")
OPENS = Rule("opens", "All can be opened.", check=parse_check("open {receptacle}; then accepted"), status="candidate")
NEVER = Rule("never", "Nothing can be opened.", check=parse_check("open {receptacle}; then refused"), status="candidate")


def begun(folder: Path, *rules: Rule) -> Rulebook:
    write(folder / "runs" / "run" / "episodes" / "e.jsonl", rewound())
    (folder / "runs" / "run" / "run.json").write_text("{}")
    return save(Rulebook(folder / "book.yaml").put(rules or (FLY, WALK)))


@asynccontextmanager
async def at(book: Rulebook, size: tuple[int, int] = (80, 24)) -> AsyncGenerator[Pilot[Any]]:
    """The desk over ``book``, once it is shown."""
    app = showing(lambda: DeskScreen(book, book.path.parent / "runs"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: told(pilot, "Desk") and told(pilot, book.path.name))
        yield pilot


def told(pilot: Pilot[Any], text: str) -> bool:
    return text in running_text(pilot.app)


def dialog(pilot: Pilot[Any]) -> bool:
    return isinstance(pilot.app.screen, RuleDialog)


@pytest.mark.heavy
async def test_of_two_desks_the_second_reads_again_before_it_saves(tmp_path: Path) -> None:
    book = begun(tmp_path, OPENS, NEVER)
    async with at(book) as one, at(read_book(book.path)) as other:
        await press(one, "a")
        await until(one, lambda: told(one, "Accepted. Saved"))
        await press(other, "down", "x")
        await until(other, lambda: told(other, "was changed since it was read"))
        assert [rule.status for rule in read_book(book.path).rules] == ["accepted", "candidate"]
        await press(other, "r")
        await until(other, lambda: told(other, "Read again"))
        await press(other, "x")
        await until(other, lambda: told(other, "Rejected. Saved"))
    assert [rule.status for rule in read_book(book.path).rules] == ["accepted", "rejected"]


@pytest.mark.heavy
async def test_enter_on_a_witness_of_a_mined_location_replays_the_step_that_shows_the_thing_there(tmp_path: Path) -> None:
    run = play(tmp_path / "runs" / "lived", limit=12)
    most = max(mine(recorded_moments([run]), HOUSEHOLD.commands).locations, key=lambda each: each.number)
    rule = place_rule(most, Origin("run", "lived"))
    async with at(save(Rulebook(tmp_path / "book.yaml").put([rule])), (120, 40)) as pilot:
        await until(pilot, lambda: told(pilot, "enter replays it"))
        await press(pilot, "enter", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReplayScreen) and pilot.app.screen.stops)
        replay = pilot.app.screen
        assert isinstance(replay, ReplayScreen)
        assert str(replay.stops[replay.place].id) == rule.evidence.witnesses[0].rpartition("/")[2]
        assert told(pilot, f"{rule.objects[0]} 1")
        assert told(pilot, f"A step for the rule {rule.id} {rule.statement}")
        assert f"{rule.objects[0]} 1" in marked(replay)


def marked(replay: ReplayScreen) -> str:
    """All that stands out by reverse video in the story."""
    story = replay.panes.story
    strips = [story.render_line(line) for line in range(story.size.height)]
    return " ".join(part.text for strip in strips for part in strip if part.style and part.style.reverse)


@pytest.mark.heavy
async def test_a_witness_against_a_rule_says_so_and_marks_the_refusal_alone(tmp_path: Path) -> None:
    flies = replace(FLY, check=parse_check("fly; then accepted"), evidence=Evidence(1, 1, ("run/e/6",), ("run/e/4",)))
    async with at(begun(tmp_path, flies), (80, 24)) as pilot:
        await until(pilot, lambda: told(pilot, "for > look again"))
        await press(pilot, "enter", "down", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReplayScreen) and pilot.app.screen.stops)
        replay = pilot.app.screen
        assert isinstance(replay, ReplayScreen)
        assert told(pilot, "A step against the rule fly You can [red]fly[/].")
        assert marked(replay) == "Nothing happens."


async def test_counts_of_a_rule_that_name_no_step_are_said_to(tmp_path: Path) -> None:
    async with at(begun(tmp_path, replace(FLY, evidence=Evidence(3)))) as pilot:
        await until(pilot, lambda: told(pilot, "none: these counts name no recorded step"))


@pytest.mark.heavy
async def test_a_key_that_is_quicker_than_the_list_acts_on_the_rule_under_the_cursor(tmp_path: Path) -> None:
    book = begun(tmp_path)
    async with at(book) as pilot:
        desk = pilot.app.screen
        assert isinstance(desk, DeskScreen)
        for place, rule in ((1, WALK), (0, FLY)):
            desk.query_one(RuleList).highlighted = place
            desk.action_judge("rejected")
            await until(pilot, lambda rule=rule: read_book(book.path).rule(rule.id).status == "rejected")
        desk.query_one(RuleList).highlighted = 1
        desk.action_edit()
        await until(pilot, lambda: told(pilot, f"Edit {WALK.id}"))


@pytest.mark.heavy
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_curator_by_keyboard(size: tuple[int, int], tmp_path: Path) -> None:
    book = begun(tmp_path)
    before = book.path.read_bytes()
    async with at(book, size) as pilot:
        app = pilot.app
        await until(pilot, lambda: told(pilot, "for > look again"))
        assert told(pilot, "[red]fly[/]")
        await press(pilot, "enter", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen) and app.screen.stops)
        assert told(pilot, "turn 2 of")
        await press(pilot, "q", "down", "enter")
        assert told(pilot, "not on disk")
        await press(pilot, "x")
        await until(pilot, lambda: read_book(book.path).rule("fly").status == "rejected")
        await until(pilot, lambda: told(pilot, "u undoes it"))
        await press(pilot, "u")
        await until(pilot, lambda: book.path.read_bytes() == before)
        await until(pilot, lambda: told(pilot, "Undone"))
        book.path.write_bytes(b"# theirs\n" + before)
        await press(pilot, "x")
        await until(pilot, lambda: told(pilot, "was changed"))
        assert book.path.read_bytes() == b"# theirs\n" + before
        await press(pilot, "r")
        await until(pilot, lambda: told(pilot, "Read again"))
        await press(pilot, "a", "u")
        await until(pilot, lambda: told(pilot, "nothing to undo") or told(pilot, "Undone"))


@pytest.mark.heavy
async def test_filters_by_each_key(tmp_path: Path) -> None:
    async with at(begun(tmp_path, FLY, WALK, OPENS)) as pilot:
        for keys, shown in (
            ("c", "1 of 3 rules"),
            ("c", "3 rules"),
            ("s", "2 of 3 rules"),
            ("s", "1 of 3 rules"),
            ("0", "3 rules"),
            ("k", "1 of 3 rules"),
            ("0", "3 rules"),
            ("t", "2 of 3 rules"),  # two that concern all types
            ("0", "3 rules"),
        ):
            await press(pilot, keys)
            await until(pilot, lambda shown=shown: told(pilot, f"· {shown} ·"))
        await press(pilot, "f")
        await type_in(pilot, "WALK you")
        await until(pilot, lambda: told(pilot, "1 of 3 rules"))
        await press(pilot, "c")
        await until(pilot, lambda: told(pilot, "No rule fits"))
        await press(pilot, "e", "f", "escape", "c")
        await until(pilot, lambda: told(pilot, "· 3 rules ·"))


@pytest.mark.heavy
async def test_an_edit_is_refused_by_field_saved_and_undone(tmp_path: Path) -> None:
    book = begun(tmp_path)
    before = book.path.read_bytes()
    async with at(book) as pilot:
        await press(pilot, "down", "e")
        await until(pilot, lambda: dialog(pilot))
        await pilot.press("ctrl+u")
        await press(pilot, "enter")
        await until(pilot, lambda: told(pilot, "in a sentence"))
        await type_in(pilot, "One walks; [b]slowly")
        await until(pilot, lambda: not dialog(pilot))
        edited = read_book(book.path).rule("walk")
        assert edited.statement == "One walks; [b]slowly"
        await press(pilot, "e")
        await until(pilot, lambda: dialog(pilot))
        await press(pilot, "tab", "left", "tab", "tab", "ctrl+u")
        await type_in(pilot, "pick_two_obj_and_plac")
        await until(pilot, lambda: told(pilot, "Did you mean"))
        await press(pilot, "ctrl+u", "tab")
        await pilot.press(*"mug", "comma", *"cup")
        await press(pilot, "tab")
        await type_in(pilot, "fly; then refuse")
        await until(pilot, lambda: told(pilot, "is not a fact"))
        await type_in(pilot, "d")
        await until(pilot, lambda: not dialog(pilot))
        rule = read_book(book.path).rule("walk")
        assert (rule.kind, rule.types, rule.objects, str(rule.check)) == ("mechanic", (), ("mug", "cup"), "fly; then refused")
        await press(pilot, "u", "u")
        await until(pilot, lambda: book.path.read_bytes() == before)


@pytest.mark.heavy
async def test_what_evidence_accepted_is_to_be_judged_again_once_its_check_is_another(tmp_path: Path) -> None:
    judged = replace(OPENS, status="accepted", by="evidence", evidence=Evidence(7))
    book = begun(tmp_path, judged)
    before = book.path.read_bytes()
    async with at(book, (120, 40)) as pilot:
        await press(pilot, "e")
        await until(pilot, lambda: dialog(pilot))
        await press(pilot, *["tab"] * 5, "ctrl+u")
        await type_in(pilot, "open {receptacle}; then refused")
        await until(pilot, lambda: not dialog(pilot) and told(pilot, "opens is a candidate again"))
        rule = read_book(book.path).rule("opens")
        assert (rule.status, rule.evidence) == ("candidate", Evidence())
        assert [(edit.field, edit.was, edit.date is not None) for edit in rule.history] == [
            ("check", "open {receptacle}; then accepted", True),
            ("evidence", "7 for, 0 against", True),
            ("status", "accepted by evidence", True),
        ]
        assert told(pilot, "edited check by a person on ")
        await press(pilot, "u")
        await until(pilot, lambda: book.path.read_bytes() == before)


@pytest.mark.heavy
async def test_what_was_typed_is_not_lost_when_the_file_changes_or_by_one_escape(tmp_path: Path) -> None:
    book = begun(tmp_path)
    async with at(book) as pilot:
        await press(pilot, "down", "e")
        await until(pilot, lambda: dialog(pilot))
        other = replace(FLY, statement="No.")
        theirs = save(read_book(book.path).put([book.rule("walk").judged("rejected"), other]))
        await press(pilot, "ctrl+u")
        await type_in(pilot, "Mine")
        await until(pilot, lambda: told(pilot, "keeps what you typed"))
        assert read_book(book.path) == theirs
        await press(pilot, "escape")
        assert told(pilot, "Mine")
        assert told(pilot, "esc once more")
        await press(pilot, "ctrl+r")
        await until(pilot, lambda: told(pilot, "was read again"))
        assert told(pilot, "Mine")
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: not dialog(pilot))
        rules = {rule.id: (rule.statement, rule.status) for rule in read_book(book.path).rules}
        assert rules == {"fly": ("No.", "accepted"), "walk": ("Mine", "rejected")}
        await press(pilot, "e")
        await until(pilot, lambda: dialog(pilot))
        await press(pilot, "x", "escape", "escape")
        await until(pilot, lambda: not dialog(pilot))
        assert read_book(book.path).rule("walk").statement == "Mine"


@pytest.mark.heavy
async def test_a_first_rule_is_written_marked_and_merged(tmp_path: Path) -> None:
    async with at(Rulebook(tmp_path / "new.yaml")) as pilot:
        assert told(pilot, "n writes one")
        await press(pilot, "e", "x", "space", "p", "v", "m")
        await until(pilot, lambda: told(pilot, "Mark two rules"))
        for statement in ("One walks.", "One walks on feet."):
            await press(pilot, "n")
            await until(pilot, lambda: dialog(pilot))
            await type_in(pilot, statement)
            await until(pilot, lambda: not dialog(pilot))
        book = tmp_path / "new.yaml"
        assert [(rule.id, rule.status) for rule in read_book(book).rules] == [
            ("one-walks", "candidate"),
            ("one-walks-on-feet", "candidate"),
        ]
        await press(pilot, "space", "up", "space")
        assert told(pilot, "2 marked")
        before = book.read_bytes()
        await press(pilot, "m")
        await until(
            pilot, lambda: told(pilot, "Merge 2 rules into one-walks-on-feet") and told(pilot, "rejected one-walks: One")
        )
        assert told(pilot, "rejected one-walks: One walks.")
        await press(pilot, "escape", "m")
        assert book.read_bytes() == before
        await until(pilot, lambda: told(pilot, "Merge 2 rules"))
        await type_in(pilot, " Always.")
        await until(pilot, lambda: read_book(book).rule("one-walks").status == "rejected")
        assert read_book(book).rule("one-walks-on-feet").statement == "One walks on feet. Always."
        await until(pilot, lambda: told(pilot, "Merged"))
        await press(pilot, "u")
        await until(pilot, lambda: read_book(book).rule("one-walks").status == "candidate")


@pytest.mark.heavy
async def test_a_merge_of_more_rules_than_fit_is_read_to_its_end(tmp_path: Path) -> None:
    book = save(Rulebook(tmp_path / "many.yaml").put([Rule(f"r{number}", "One walks. " * 18) for number in range(9)]))
    async with at(book) as pilot:
        await press(pilot, *("space", "down") * 9, "m")
        await until(pilot, lambda: told(pilot, "pgup pgdn more"))
        assert told(pilot, "rejected r1:")
        assert not told(pilot, "rejected r8:")
        await press(pilot, *["pagedown"] * 3)
        await until(pilot, lambda: told(pilot, "rejected r8:") and told(pilot, "u undoes the merge."))
        await press(pilot, *["pageup"] * 3)
        await until(pilot, lambda: told(pilot, "rejected r1:"))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("world", "like"),
    [
        ("alfworld", "take {object} from {receptacle};"),
        pytest.param("household-graph", "when no hand is free; then refused", marks=needs("graphs")),
    ],
)
async def test_a_new_rule_is_offered_a_check_of_its_books_own_world(world: str, like: str, tmp_path: Path) -> None:
    async with at(new_book(tmp_path / "new.yaml", world)) as pilot:
        await press(pilot, "n")
        await until(pilot, lambda: dialog(pilot) and told(pilot, like))


async def test_a_book_that_ships_is_copied_by_the_first_change(tmp_path: Path) -> None:
    shelf = RuleLibrary(tmp_path / "own", tmp_path / "shipped")
    ships = save(Rulebook(shelf.shipped / "human.yaml").put([WALK]))
    book = shelf.editable("human")
    app = showing(lambda: DeskScreen(book, tmp_path / "runs", shipped=True))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: told(pilot, "ships and is read-only"))
        await press(pilot, "space", "space", "r")
        await until(pilot, lambda: told(pilot, "Read again"))
        assert not book.path.exists()
        await press(pilot, "a")
        await until(pilot, lambda: told(pilot, "u undoes it"))
        assert read_book(book.path).rule("walk").status == "accepted"
        assert read_book(ships.path) == ships
        assert shelf.find("human") == book.path


@pytest.mark.heavy
async def test_two_rules_side_by_side_are_settled_at_once(tmp_path: Path) -> None:
    book = begun(tmp_path, NEVER, FLY, OPENS)
    async with at(book, (120, 40)) as pilot:
        await press(pilot, "down", "p")
        assert told(pilot, "No rule contradicts")
        await press(pilot, "up", "p")
        await until(pilot, lambda: told(pilot, "These two contradict each other"))
        assert told(pilot, "Nothing can be opened.")
        assert told(pilot, "All can be opened.")
        await press(pilot, "right", "w")
        await until(pilot, lambda: told(pilot, "never rejected. Saved"))
        assert [rule.status for rule in read_book(book.path).rules] == ["rejected", "accepted", "accepted"]
        await press(pilot, "left", "a")
        await until(pilot, lambda: read_book(book.path).rule("never").status == "accepted")
        await press(pilot, "right", "e")
        await until(pilot, lambda: dialog(pilot))
        assert told(pilot, "Edit opens")
        await press(pilot, "escape")
        await press(pilot, "escape", "space", "down", "space", "p")
        await until(pilot, lambda: told(pilot, "The two that you marked"))
        await press(pilot, "u", "u")
        await until(pilot, lambda: read_book(book.path).rules == book.rules)


@pytest.mark.heavy
async def test_another_book_is_put_beside_and_its_rules_are_taken(tmp_path: Path) -> None:
    book = begun(tmp_path, FLY, WALK, OPENS)
    theirs = [FLY, replace(WALK, scope="household"), OPENS.judged("accepted"), NEVER]
    save(Rulebook(tmp_path / "theirs.yaml").put(theirs))
    async with at(book, (120, 40)) as pilot:
        await press(pilot, "i")
        assert told(pilot, "First put another book beside this one")
        await press(pilot, "b")
        await until(pilot, lambda: told(pilot, "A book to put beside this one"))
        await type_in(pilot, str(tmp_path / "nothing.yaml"))
        await until(pilot, lambda: told(pilot, "nothing.yaml"))
        await press(pilot, "b")
        await until(pilot, lambda: told(pilot, "A book to put beside this one"))
        await type_in(pilot, str(tmp_path / "theirs.yaml"))
        await until(pilot, lambda: told(pilot, "3 rules not as in theirs"))
        for row in ("≠ walk world | household", "≠ opens candidate | accepted", "− never only in theirs"):
            assert told(pilot, row)
        await press(pilot, "space")
        assert told(pilot, "This is a key of the list")
        await press(pilot, "i")
        await until(pilot, lambda: read_book(book.path).rule("walk").scope == "household")
        await until(pilot, lambda: told(pilot, "2 rules not as in theirs"))
        await press(pilot, "down")
        await until(pilot, lambda: told(pilot, "It is not in book."))
        await press(pilot, "a", "e")
        assert [rule.status for rule in read_book(book.path).rules] == ["accepted", "candidate", "candidate"]
        await press(pilot, "i")
        await until(pilot, lambda: len(read_book(book.path).rules) == 4)
        await press(pilot, "u", "u")
        await until(pilot, lambda: read_book(book.path).rules == book.rules)
        await press(pilot, "escape")
        await until(pilot, lambda: told(pilot, "· 3 rules ·"))
        await press(pilot, "b")
        await until(pilot, lambda: told(pilot, "A book to put beside this one"))
        await type_in(pilot, str(book.path))
        await until(pilot, lambda: told(pilot, "All rules in"))


async def test_what_is_judged_is_what_was_looked_at_when_the_key_was_pressed(tmp_path: Path) -> None:
    book = begun(tmp_path, FLY, WALK, OPENS)
    async with at(book) as pilot:
        with saving(book.path):
            await press(pilot, "x", "down", "a", "down")
            assert read_book(book.path).rules == book.rules
        await until(pilot, lambda: read_book(book.path).rule("fly").status == "rejected")
        await until(pilot, lambda: told(pilot, "Accepted. Saved"))
        assert [rule.status for rule in read_book(book.path).rules] == ["rejected", "accepted", "candidate"]


@pytest.mark.heavy
async def test_rules_are_checked_against_what_was_played(tmp_path: Path) -> None:
    play(tmp_path / "runs" / "played", limit=4)
    book = begun(tmp_path, NEVER, FLY, OPENS)
    async with at(book) as pilot:
        await press(pilot, "v")
        await until(pilot, lambda: told(pilot, "1 contradicted"))
        assert told(pilot, "of 5 episodes")
        found = read_book(book.path)
        assert found.rule("opens").standing == "supported"
        assert found.rule("never").standing == "contradicted"
        assert found.rule("fly") == FLY
        await until(pilot, lambda: told(pilot, "against > open"))
        await press(pilot, "u")
        await until(pilot, lambda: read_book(book.path).rules == book.rules)
        await press(pilot, "down", "space", "v")
        await until(pilot, lambda: told(pilot, "None of these rules has a check"))


@pytest.mark.heavy
async def test_a_check_of_what_was_counted_elsewhere_asks_before_it_takes_the_place(tmp_path: Path) -> None:
    play(tmp_path / "runs" / "played", limit=4)
    elsewhere = replace(OPENS, evidence=Evidence(100_000, 0, ("elsewhere/e/1",)))
    book = begun(tmp_path, elsewhere)
    async with at(book, (120, 40)) as pilot:
        await press(pilot, "v")
        await until(pilot, lambda: told(pilot, "1 rule keep") or told(pilot, "1 rule keeps"))
        assert read_book(book.path).rule("opens") == elsewhere
        assert told(pilot, "V takes these counts instead")
        await press(pilot, "V")
        await until(pilot, lambda: 0 < read_book(book.path).rule("opens").evidence.supports < 100_000)


@pytest.mark.heavy
async def test_a_check_that_is_cancelled_changes_nothing(tmp_path: Path) -> None:
    play(tmp_path / "runs" / "played", limit=4)
    book = begun(tmp_path, NEVER, OPENS)
    before = book.path.read_bytes()
    async with at(book) as pilot:
        await pilot.press("v", "escape")
        await until(pilot, lambda: told(pilot, "Cancelled") or told(pilot, "undoes it"))
        cancelled = told(pilot, "Cancelled")
        assert (book.path.read_bytes() == before) == cancelled
        assert isinstance(pilot.app.screen, DeskScreen)


@pytest.mark.heavy
async def test_a_rule_is_read_whole_in_its_dialog_whatever_becomes_of_the_window(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(40)]
    book = begun(tmp_path, replace(FLY, statement=" ".join(words)))
    async with at(book, (120, 40)) as pilot:
        await pilot.press("e")
        await until(pilot, lambda: dialog(pilot))
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: all(word in running_text(pilot.app).split() for word in words))
