"""The desk as a value: what is looked at, what is chosen, and that undoing leads back to where it began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.knowledge.checks import parse_check
from housequest.knowledge.judging import RuleFinding
from housequest.knowledge.rulebook import Rulebook, read_book, save
from housequest.knowledge.rules import KINDS, STATUSES, Evidence, Rule
from housequest.tui.desk.rule_text import difference_text
from housequest.tui.desk.rule_view import distinct
from housequest.tui.desk.state import CheckOutcome, CheckProgress, Desk, RuleFilter
from housequest.worlds.errors import ConfigurationError, KnowledgeError

RULES = (
    Rule("open-first", "Open a closed thing first.", "affordance", objects=("fridge",), status="candidate"),
    Rule("mugs", "A mug is often in a cabinet.", "location", evidence=Evidence(3, 4, ("r/t/1",), ("r/t/2",))),
    Rule("one-hand", "Only one thing is carried.", "mechanic", types=("pick_two",), status="rejected"),
    Rule("mugs-too", "[red]Mugs[/] are in cabinets.", "location", status="candidate"),
)


def desk(path: Path = Path("book.yaml")) -> Desk:
    return Desk(Rulebook(path).put(RULES))


filters = st.builds(
    RuleFilter,
    st.sampled_from((None, *STATUSES)),
    st.sampled_from((None, *KINDS)),
    st.sampled_from((None, "pick_two", "nothing")),
    st.sampled_from(("", "mug", "MUG cabinet", "fridge", "pick_two", "[red]", "\x1b", "nowhere")) | st.text(max_size=5),
    st.booleans(),
)


@given(filters)
def test_a_filter_keeps_the_order_and_exactly_what_fits(wanted: RuleFilter) -> None:
    shown = replace(desk(), filter=wanted)
    assert shown.rules == tuple(rule for rule in shown.book.rules if wanted.fits(rule))
    assert shown.rule is None if not shown.rules else shown.rule in shown.rules


@pytest.mark.heavy
@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(("toggle", "accepted", "rejected", "merge", "edit")), st.integers(0, 3)), max_size=8))
def test_each_deed_is_undone_in_its_turn(deeds: list[tuple[str, int]]) -> None:
    now = desk()
    texts = [now.book.text]
    for deed, number in deeds:
        rule = now.book.rules[number]
        match deed:
            case "toggle":
                now = now.toggled(rule.id)
            case "merge" if len(now.marked) > 1:
                now = now.merged("They are in cabinets.")
            case "edit":
                now = now.put("edited", [rule.edited(replace(rule, statement=f"{rule.statement} Indeed."))])
            case "accepted" | "rejected":
                now = replace(now, at=rule.id).judged("accepted" if deed == "accepted" else "rejected")
            case _:
                pass
        if now.book.text != texts[-1]:
            texts.append(now.book.text)
    assert len(now.done) == len(texts) - 1
    for text in reversed(texts[:-1]):
        now = now.undone()
        assert now.book.text == text
    with pytest.raises(ConfigurationError, match="nothing to undo"):
        now.undone()


def test_a_saved_change_is_undone_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "book.yaml"
    begun = Desk(save(desk(path).book))
    before = path.read_bytes()
    changed = replace(begun, at="mugs").judged("rejected")
    changed = replace(changed, book=save(changed.book))
    assert read_book(path).rule("mugs").status == "rejected"
    save(changed.undone().book)
    assert path.read_bytes() == before


def test_a_file_changed_underneath_is_left_alone_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "book.yaml"
    changed = replace(Desk(save(desk(path).book)), at="mugs").judged("rejected")
    theirs = f"# mine\n{path.read_text()}"
    path.write_text(theirs)
    with pytest.raises(KnowledgeError, match="was changed since"):
        save(changed.book)
    assert path.read_text() == theirs
    again = replace(changed, book=read_book(path), done=())
    assert (again.at, again.done) == ("mugs", ())
    save(again.judged("rejected").book)
    assert path.read_text().startswith("# mine")
    assert read_book(path).rule("mugs").status == "rejected"


def test_a_rule_without_types_concerns_them_all() -> None:
    shown = replace(desk(), filter=RuleFilter(type="pick_two")).rules
    assert [rule.id for rule in shown] == ["open-first", "mugs", "one-hand", "mugs-too"]
    assert [rule.id for rule in replace(desk(), filter=RuleFilter(type="other")).rules] == ["open-first", "mugs", "mugs-too"]


def test_rules_that_exclude_each_other_are_found_from_either_side() -> None:
    refused, accepted = (parse_check(f"open {{receptacle}}; then {then}") for then in ("refused", "accepted"))
    rules = (
        Rule("never", "Nothing can be opened.", check=refused),
        Rule("always", "All can be opened.", check=accepted),
    )
    now = Desk(Rulebook(Path("book.yaml")).put([*RULES, *rules]))
    names = {rule.id: {other.id for other in now.contraries(rule)} for rule in now.book.rules}
    assert names["never"] == {"always"}
    assert names["always"] == {"never"}
    disputed = now.put("disputed", [RULES[1].disputed(RULES[0])])
    assert [other.id for other in disputed.contraries(disputed.book.rule("open-first"))] == ["mugs"]
    assert [rule.id for rule in replace(disputed, at="mugs").opposed] == ["mugs", "open-first"]
    assert disputed.another(RULES[0], disputed.book.rule("mugs")) is None
    both = disputed.put("disputed", [RULES[3].disputed(RULES[0])])
    third = both.another(RULES[0], both.book.rule("mugs"))
    assert third is not None
    assert third.id == "mugs-too"
    settled = disputed.settled("mugs", "open-first")
    assert [settled.book.rule(name).status for name in ("mugs", "open-first")] == ["accepted", "rejected"]
    assert settled.undone().book.text == disputed.book.text


def test_what_was_found_goes_only_to_rules_that_still_have_that_check() -> None:
    check = parse_check("open {receptacle}; then accepted")
    rule = replace(RULES[0], check=check)
    now = Desk(Rulebook(Path("book.yaml")).put([rule, RULES[1]]))
    found = [RuleFinding(rule, Evidence(2, 1, ("r/t/1",), ("r/t/2",))), RuleFinding(replace(rule, id="gone"), Evidence(1))]
    assert now.checked(over(found)).book.rule("open-first").evidence == found[0].evidence
    edited = now.put("edited", [rule.edited(replace(rule, check=None))])
    assert edited.checked(over(found)) == edited
    taught = now.put("edited", [replace(rule, evidence=Evidence(witnesses=("r/t/9",)))])
    assert taught.checked(over([RuleFinding(rule, Evidence())])) == taught


def over(findings: Sequence[RuleFinding], *records: str) -> CheckOutcome:
    return CheckOutcome(tuple(findings), CheckProgress(len(records)), frozenset(records))


def test_what_was_counted_elsewhere_stays_until_the_person_takes_other_counts() -> None:
    rule = replace(RULES[0], check=parse_check("open {receptacle}; then accepted"), evidence=Evidence(1668, 0, ("r/t/1",)))
    now = Desk(Rulebook(Path("book.yaml")).put([rule]))
    one = RuleFinding(rule, Evidence(1, 0, ("mine/t/3",)))
    for records in (("mine/t",), ("mine/t", "r/t")):
        beside = now.checked(over([one], *records))
        assert beside.book.rule(rule.id).evidence == rule.evidence
        assert beside.here == {rule.id: one}
    taken = beside.recounted()
    assert (taken.book.rule(rule.id).evidence, taken.here) == (one.evidence, {})
    assert taken.undone().book.rule(rule.id).evidence == rule.evidence
    with pytest.raises(ConfigurationError, match="no other counts"):
        taken.recounted()
    more = RuleFinding(rule, Evidence(1700, 2, ("r/t/1",), ("mine/t/3",)))
    again = now.checked(over([more], "mine/t", "r/t"))
    assert (again.book.rule(rule.id).evidence, again.here) == (more.evidence, {})


def test_of_two_books_each_rule_that_differs_is_named_once_and_can_be_taken() -> None:
    ours = desk()
    changed = RULES[1].edited(replace(RULES[1], scope="household", statement="Mugs: drawer 7."))
    theirs = Rulebook(Path("theirs.yaml")).put([RULES[0].judged("rejected"), changed, RULES[2], Rule("new", "New.")])
    now = replace(ours, beside=theirs)
    assert [(each.id, each.fields) for each in now.differences] == [
        ("open-first", ("status",)),
        ("mugs", ("statement", "scope")),
        ("mugs-too", ()),
        ("new", ()),
    ]
    assert [difference_text(each, "ours", "theirs") for each in now.differences] == [
        "candidate | rejected",
        "statement, world | household",
        "only in ours",
        "only in theirs",
    ]
    assert [rule.id for rule in now.rules] == ["open-first", "mugs", "mugs-too"]
    assert replace(now, at="new").rule is None
    taken = now.taken("open-first").taken("mugs").taken("new")
    assert [each.id for each in taken.differences] == ["mugs-too"]
    mug = taken.book.rule("mugs")
    assert [(edit.field, edit.was) for edit in mug.history if edit.field == "scope"] == [("scope", "world")]
    assert taken.undone().undone().undone().book.text == ours.book.text
    assert replace(ours, beside=ours.book).differences == ()


def test_where_a_judged_rule_is_filtered_out_the_next_is_looked_at() -> None:
    now = replace(desk(), filter=RuleFilter(status="candidate"), at="open-first").judged("accepted")
    assert now.rule == RULES[3]
    now = replace(now, at="mugs-too").judged("rejected")
    assert now.rule is None
    assert replace(desk(), filter=RuleFilter(kind="mechanic"), at="mugs-too").rule == RULES[2]


def test_merging_keeps_the_first_that_was_chosen() -> None:
    with pytest.raises(ConfigurationError, match="two rules"):
        desk().toggled("mugs").merged()
    merged = desk().toggled("mugs-too").toggled("mugs").merged("Mugs are in cabinets.")
    assert (merged.at, merged.chosen) == ("mugs-too", ())
    assert merged.book.rule("mugs").status == "rejected"
    assert merged.book.rule("mugs-too").statement == "Mugs are in cabinets."


def test_what_would_look_the_same_shows_where_it_differs() -> None:
    alike = ["You cannot take a thing from a closed place.", "You cannot take a thing from afar.", "Look."]
    assert distinct(alike, 80) == alike
    in_sight = ["You cannot take … from a closed place.", "You cannot take … from afar.", "Look."]
    assert distinct(alike, 28) == in_sight
    is_not = ["You cannot open a place that is not closed.", "You cannot open a place that is not a fridge."]
    assert distinct(is_not, 30) == ["You cannot open … is not closed.", "You cannot open … is not a fridge."]
    several = [f"You cannot heat a thing {which}." for which in ("you do not hold", "with what is cold", "with what is shut")]
    assert [text[:32] for text in distinct(several, 33)] == [
        "You cannot heat a thing you do n",
        "You cannot heat … what is cold.",
        "You cannot heat … what is shut.",
    ]
    assert distinct([], 20) == distinct([""], 0)[1:]
