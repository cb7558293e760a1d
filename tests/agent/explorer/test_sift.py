"""The filter: the same words, other words, contradictions decided by evidence, the model or nobody, and the book first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from housequest.agent.explorer.distiller import CandidateRule, Candidates
from housequest.agent.explorer.explore import add_to_book
from housequest.agent.explorer.filtering import ArbiterVerdict, PairLabel, filter_rules, meeting_pairs, normalized
from housequest.agent.skills.contrary import Kinds
from housequest.knowledge.checks import exclude, parse_check
from housequest.knowledge.judging import Moment
from housequest.knowledge.rulebook import Rulebook, library, save, sealed
from housequest.knowledge.rules import Evidence, Origin, Rule
from housequest.worlds.alfworld.text import HOUSEHOLD, load_counts
from housequest.worlds.base import Observation, Transition
from scripts.walks import Trajectory, moments_of

KINDS = Kinds.of(load_counts())
OPENING = "Looking quickly around you, you see a drawer 1, and a shelf 1.\n\nYour task is to: look."


def moments() -> list[Moment]:
    opened = "You open the drawer 1. The drawer 1 is open. In it, you see nothing."
    steps = (
        Transition("go to drawer 1", Observation("You arrive at drawer 1. The drawer 1 is closed.")),
        Transition("open drawer 1", Observation(opened)),
    )
    return list(moments_of(Trajectory("look", Observation(OPENING), steps), HOUSEHOLD, "run/task"))


@dataclass
class Opinion:
    """Judges by a table; what it does not know is different, and unsure. ``asked`` counts the disputes."""

    like: Mapping[frozenset[str], PairLabel] = field(default_factory=dict[frozenset[str], PairLabel])
    right: Mapping[str, ArbiterVerdict] = field(default_factory=dict[str, ArbiterVerdict])
    asked: int = 0

    async def compare(self, pairs: Sequence[tuple[Rule, Rule]]) -> list[PairLabel]:
        return [self.like.get(frozenset({one.id, other.id}), "different") for one, other in pairs]

    async def decide(self, one: CandidateRule, other: CandidateRule) -> ArbiterVerdict:
        self.asked += 1
        return self.right.get(one.rule.id, "unsure")


def rule(id: str, statement: str, check: str = "") -> Rule:
    parsed = parse_check(check) if check else None
    return Rule(id, statement, kind="mechanic", status="candidate", origin=Origin("model", "m"), check=parsed)


def sifted(rules: Sequence[Rule], opinion: Opinion | None, book: Sequence[Rule] = ()) -> Candidates:
    candidates = [CandidateRule(each, (f"run/task/{number}",)) for number, each in enumerate(rules)]
    return asyncio.run(filter_rules(candidates, book, moments(), opinion))


def kept(found: Candidates) -> list[str]:
    return [each.rule.id for each in found.kept]


def like(*pairs: tuple[str, str, PairLabel]) -> dict[frozenset[str], PairLabel]:
    return {frozenset({one, other}): word for one, other, word in pairs}


def test_equal_words_need_no_judge() -> None:
    found = sifted([rule("a", "Drawers open."), rule("b", "the drawers OPEN"), rule("c", "Drawers do not open.")], None)
    assert kept(found) == ["a", "c"]
    assert [(each.cause, each.why) for each in found.dropped] == [("duplicate", "a says it in the same words")]


def test_of_rules_that_say_the_same_the_one_with_the_evidence_speaks_for_all() -> None:
    three = [
        rule("a", "A drawer can be opened."),
        rule("b", "A drawer can be opened, always.", "open {x}; then {x} is open"),
        rule("c", "Always, a drawer can be opened by hand."),
    ]
    found = sifted(three, Opinion(like(("a", "b", "same"), ("b", "c", "same"))))
    assert kept(found) == ["b"]
    (one,) = found.kept
    assert [edit.was for edit in one.rule.history] == [three[0].statement, three[2].statement]
    assert one.rule.evidence.supports == 1


def test_evidence_decides_before_anybody_is_asked() -> None:
    opinion = Opinion()
    yes, no = "open {x}; then {x} is open", "open {x}; then not {x} is open"
    found = sifted([rule("no", "Open does not open.", no), rule("yes", "Open opens.", yes)], opinion)
    assert kept(found) == ["yes"]
    assert found.dropped[0].why == "yes excludes it and has the evidence (0 for, 1 against)"
    assert opinion.asked == 0


def test_then_the_model_and_then_a_person() -> None:
    four = [rule(name, f"Begin with the shelf number {name}, then go on.") for name in "abcd"]
    opinion = Opinion(like(("a", "b", "contrary"), ("c", "d", "contrary"), ("b", "c", "contrary")), {"a": "first"})
    found = sifted(four, opinion)
    assert kept(found) == ["a", "c", "d"]
    assert found.dropped[0].why == "a excludes it and is right, the model says"
    assert [each.disputes for each in found.kept] == [(), ("d",), ("c",)]
    assert opinion.asked == 2, "what lost already is in no further dispute"


def test_a_dispute_with_a_rule_that_loses_later_is_none() -> None:
    three = [rule(name, f"Begin with the shelf number {name}, then go on.") for name in "abc"]
    opinion = Opinion(like(("a", "b", "contrary"), ("b", "c", "contrary")), {"b": "second"})
    found = sifted(three, opinion)
    assert kept(found) == ["a", "c"]
    assert [each.disputes for each in found.kept] == [(), ()]


def test_the_book_is_never_changed_and_comes_first() -> None:
    mine = Rule("mine", "Opening opens a drawer.", check=parse_check("open {x}; then {x} is open"))
    refused = Rule("refused", "Shelves are hot all day long.", status="rejected")
    guess = Rule("guess", "Begin with the drawer, then go on.")
    new = [
        rule("same", "Opening a drawer opens it."),
        rule("again", "shelves are hot, all day long"),
        rule("false", "Opening never opens a drawer.", "open {x}; then not {x} is open"),
        rule("rival", "Begin with the shelf, then go on."),
    ]
    opinion = Opinion(like(("mine", "same", "same"), ("guess", "rival", "contrary"), ("refused", "rival", "contrary")))
    found = sifted(new, opinion, [mine, refused, guess])
    assert kept(found) == ["rival"]
    assert found.kept[0].disputes == ("guess",)
    why = [each.why for each in found.dropped]
    assert "the book has it in other words, the model says: mine (accepted)" in why
    assert "the book has it in the same words: refused (rejected)" in why
    assert "mine, which is in the book, excludes it and has the evidence (0 for, 1 against)" in why
    assert opinion.asked == 0, "nobody but a person decides against the book"


def test_the_id_of_a_rule_that_a_person_reworded_is_taken() -> None:
    found = sifted([rule("a", "Drawers open.")], None, [Rule("a", "All drawers open.")])
    assert kept(found) == []


def test_likeness() -> None:
    assert normalized("The mug is IN a fridge!") == normalized("mug is in fridge") != normalized("A mug is not in the fridge")
    rules = [rule(str(n), text) for n, text in enumerate(["A mug is hot.", "Go left.", "A mug is not hot."])]
    assert list(meeting_pairs(rules, 0, Kinds())) == [(0, 2)]
    assert list(meeting_pairs(rules, 3, Kinds())) == []
    one, other = parse_check("open {x}; then accepted"), parse_check("open {x}; then refused")
    assert exclude(one, other)
    assert not exclude(one, None)
    assert not exclude(one, parse_check("open {x}; when holding nothing; then refused"))


def test_what_cannot_be_checked_keeps_the_steps_it_was_read_from() -> None:
    unchecked = Rule("a", "Be quick.", evidence=Evidence(witnesses=("run/task/1",)))
    found = asyncio.run(filter_rules([CandidateRule(unchecked, ("run/task/1",))], (), moments(), None))
    assert found.kept[0].rule.evidence == Evidence(witnesses=("run/task/1",))
    assert found.kept[0].rule.standing == "undecided"


def where(id: str, thing: str, statement: str, **more: Any) -> Rule:
    return Rule(id, statement, "location", objects=(thing,), **{"status": "candidate", "origin": Origin("model", "m"), **more})


def test_rules_about_one_thing_meet_however_they_are_worded() -> None:
    sentence = "To find a {}, try a countertop first (50 % are there), then a fridge (30 %); 40 were counted."
    others = [where(thing, thing, sentence.format(thing)) for thing in ("egg", "apple", "mug", "plate", "fork", "knife", "pan")]
    egg = where("egg-2", "eggs", "Whoever is hungry opens the safe for an egg.")
    assert list(meeting_pairs([*others, egg], 0, KINDS)) == [(0, 7)]
    opinion = Opinion()
    found = asyncio.run(filter_rules([CandidateRule(each) for each in (*others, egg)], (), (), opinion, KINDS))
    assert found.kept[-1].disputes == ("egg",), "places exclude each other, which no model has to be asked"
    assert opinion.asked == 1


def test_without_a_model_evidence_decides_about_places() -> None:
    sentence = "To find an egg, try a {} first ({} % are there); {} were counted."
    few = where("few", "egg", sentence.format("safe", 90, 20), evidence=Evidence(18))
    many = where("many", "egg", sentence.format("fridge", 90, 200), evidence=Evidence(180))
    found = asyncio.run(filter_rules([CandidateRule(few), CandidateRule(many)], (), (), None, KINDS))
    assert kept(found) == ["many"]
    # In the book, a rule that counting wrote gives way to more evidence; one that a person wrote does not.
    by_run = replace(few, status="accepted", by="evidence", origin=Origin("run", "a"))
    assert asyncio.run(filter_rules([CandidateRule(many)], [by_run], (), None, KINDS)).kept[0].disputes == ()
    mine = replace(few, status="accepted", origin=Origin())
    assert asyncio.run(filter_rules([CandidateRule(many)], [mine], (), None, KINDS)).kept[0].disputes == ("few",)
    counted = replace(many, status="accepted", by="evidence")
    assert kept(asyncio.run(filter_rules([CandidateRule(few)], [counted], (), None, KINDS))) == []


def test_newer_counts_take_the_place_of_older_ones_and_what_they_exclude_is_retired() -> None:
    sentence = "To find an egg, try a {} first ({} % are there); {} were counted."

    def counted(place: str, number: int, run: str) -> tuple[Rule, Origin]:
        origin = Origin("run", run, ("generated:500000..500099",))
        rule = where("where-egg", "egg", sentence.format(place, 90, number), evidence=Evidence(number), origin=origin)
        return sealed(rule).judged("accepted", "evidence"), origin

    def explored(rule: Rule, origin: Origin) -> Rulebook:
        return add_to_book("eggs", [rule], origin, "alfworld", KINDS)

    model = where("by-model", "egg", "Eggs are in a bed.", status="accepted", by="filter")
    add_to_book("eggs", [model], Origin("model", "m"), "alfworld", KINDS)
    first, second = counted("safe", 20, "one"), counted("fridge", 60, "two")
    book = explored(*first)
    assert [(each.id, each.status) for each in book.rules] == [("by-model", "rejected"), ("where-egg", "accepted")]
    assert [rule.statement for rule in explored(*second).rules] == [model.statement, second[0].statement]
    # The same once more makes the same book, and fewer sightings are no news.
    text = library().open("eggs").text
    assert explored(*second).text == text
    third, origin = counted("fridge", 70, "three")
    unjudged = replace(third, status="candidate", by="person", history=())
    assert explored(unjudged, origin).rule("where-egg").judged("accepted", "evidence") == third
    fewer = asyncio.run(filter_rules([CandidateRule(first[0])], library().open("eggs").rules, (), None, KINDS))
    assert fewer.kept == []
    person = library().editable("eggs")
    save(person.put([replace(person.rule("where-egg"), statement="Eggs are where I say.")]))
    assert explored(*counted("shelf", 900, "four")).rule("where-egg").statement == "Eggs are where I say."
