"""Rules about one thing that exclude each other: which do, and that a book keeps no two of them accepted."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.skills.contrary import Kinds, contrary, held_by_person, retire, retired_for, subjects
from housequest.knowledge.checks import parse_check
from housequest.knowledge.rulebook import library
from housequest.knowledge.rules import Edit, Evidence, Origin, Rule, RuleScope
from housequest.worlds.alfworld.text import load_counts

KINDS = Kinds.of(load_counts())
RUN = Origin("run", "a", ("generated:1..99",))
COUNTED = "To find a mug, try {} first ({} % are there), then {} ({} %); {} were counted."


def rule(statement: str, *objects: str, scope: RuleScope = "world", origin: Origin = RUN) -> Rule:
    return Rule(statement[:60], statement, "location", objects=objects or ("mug",), scope=scope, origin=origin)


@pytest.mark.parametrize(
    ("one", "other", "exclude"),
    [
        ("Mugs are kept in drawer 7.", "Look for the mug on the shelf.", True),
        ("Mugs are kept in drawer 7.", "Mugs are in a drawer.", False),
        ("Mugs are kept in drawer 7.", "Mugs are in drawer 3 or in drawer 4.", True),
        ("Mugs: desk, then a dresser, a sidetable, a shelf or a safe.", "Mugs: in a safe.", False),
        (COUNTED.format("a safe", 80, "a shelf", 10, 40), COUNTED.format("a shelf", 80, "a safe", 10, 40), True),
        (COUNTED.format("a safe", 60, "a shelf", 30, 10), COUNTED.format("a safe", 50, "a shelf", 40, 10), False),
        (COUNTED.format("drawer 7", 70, "drawer 3", 20, 40), COUNTED.format("drawer 3", 70, "drawer 7", 20, 40), True),
        (COUNTED.format("drawer 7", 70, "drawer 3", 20, 40), COUNTED.format("a drawer", 90, "a shelf", 9, 40), False),
        # What is told of a third place leaves little for a fourth one.
        (COUNTED.format("a safe", 70, "a shelf", 29, 90), COUNTED.format("a safe", 70, "a bed", 29, 90), True),
        (COUNTED.format("a safe", 70, "a shelf", 29, 90), "Mugs are usually on the bed.", True),
        (COUNTED.format("a safe", 30, "a shelf", 20, 90), "Mugs are usually on the bed or the desk.", False),
        ("Mugs are clean.", "Mugs are in a safe.", False),
    ],
    ids=range(12),
)
def test_places_exclude_each_other(one: str, other: str, *, exclude: bool) -> None:
    pair = rule(one, scope="household"), rule(other, scope="household")
    assert contrary(*pair, KINDS) == contrary(*reversed(pair), KINDS) == exclude


def test_only_rules_about_one_thing_in_one_home_do() -> None:
    safe, shelf = "It is in a safe.", "It is on a shelf."
    assert contrary(rule(safe, "mug", "cup"), rule(shelf, "Mugs"), KINDS)
    assert not contrary(rule(safe, "mug"), rule(shelf, "cup"), KINDS)
    assert not contrary(rule(safe, scope="household"), rule(shelf), KINDS)
    homes = [Origin("run", "a", (f"household:{seed}:1..9",)) for seed in (7, 8)]
    assert not contrary(rule(safe, scope="household", origin=homes[0]), rule(shelf, scope="household", origin=homes[1]), KINDS)
    assert contrary(rule(safe, scope="household", origin=homes[0]), rule(shelf, scope="household", origin=homes[0]), KINDS)
    opens = [Rule(name, name, check=parse_check(f"open {{x}}; then {name}")) for name in ("accepted", "refused")]
    assert contrary(*opens, KINDS)


def test_what_a_rule_is_about() -> None:
    assert subjects(rule("Mugs are in a safe."), KINDS) == {"mug"}
    assert subjects(Rule("a", "Mugs and plates are in a safe.", "location"), KINDS) == {"mug", "plate"}
    check = parse_check("heat {object} with {receptacle}; when {receptacle} is a fridge or safe; then refused")
    assert subjects(Rule("a", "Safes do not heat.", "mechanic", objects=("Desk lamp",), check=check), KINDS) == {
        "desklamp", "fridge", "safe",
    }  # fmt: skip
    assert subjects(Rule("a", "Be quick.", "strategy", objects=("receptacle", "object")), KINDS) == frozenset()


def accepted(rules: list[Rule]) -> list[Rule]:
    return [each for each in rules if each.status == "accepted"]


_PLACES = st.sampled_from(["a safe", "a shelf", "drawer 1", "drawer 2", "a drawer", "a bed"])
_SHARES = st.sampled_from([0, 5, 30, 50, 70, 100])
_STATEMENTS = st.one_of(
    st.builds("To find a mug, try {} first ({} % are there); {} were counted.".format, _PLACES, _SHARES, st.integers(1, 200)),
    st.builds("Mugs are in {}.".format, _PLACES),
    st.builds("Mugs are in {} or {}, never in {}.".format, _PLACES, _PLACES, _PLACES),
    st.text(max_size=20).map(lambda text: f"x {text}"),
)
_RULES = st.lists(
    st.builds(
        Rule,
        id=st.text("abcdefghij", min_size=1, max_size=2),
        statement=_STATEMENTS,
        kind=st.sampled_from(["location", "location", "strategy", None]),
        objects=st.sampled_from([("mug",), ("mug", "cup"), ("cup",), ()]),
        status=st.sampled_from(["accepted", "accepted", "candidate", "rejected"]),
        by=st.sampled_from(["person", "evidence", "filter"]),
        scope=st.sampled_from(["world", "household"]),
        origin=st.sampled_from([RUN, Origin("model", "m"), Origin()]),
        evidence=st.sampled_from([Evidence(), Evidence(9), Evidence(1, 9)]),
        check=st.sampled_from([None, *(parse_check(f"open {{x}}; then {said}") for said in ("accepted", "refused"))]),
        history=st.sampled_from([(), (Edit("edited"),), (Edit("accepted", by="evidence"),)]),
    ),
    max_size=8,
    unique_by=lambda rule: rule.id,
)


@pytest.mark.heavy
@given(_RULES)
def test_no_two_contrary_rules_stay_accepted_unless_a_person_holds_both(rules: list[Rule]) -> None:
    changed = {each.id: each for each in retire(rules, KINDS)}
    after = [changed.get(each.id, each) for each in rules]
    for one, other in combinations(accepted(after), 2):
        assert not contrary(one, other, KINDS) or (held_by_person(one) and held_by_person(other))
    for each in rules:
        if each.id in changed:
            assert each.status == "accepted"
            assert not held_by_person(each)
            assert retired_for(changed[each.id], {other.id: other for other in rules}) is not None
    assert retire(after, KINDS) == []


def test_more_evidence_wins_and_a_person_decides_about_the_own_rules() -> None:
    few, many = (
        replace(rule(COUNTED.format(place, 90, "a bed", 9, n)), id=f"n{n}", by="evidence")
        for place, n in (("a safe", 20), ("a shelf", 50))
    )
    for rules in ([few, many], [many, few]):
        (lost,) = retire(rules, KINDS)
        assert (lost.id, lost.status, lost.by) == ("n20", "rejected", "evidence")
        assert [(edit.did, edit.was) for edit in lost.history] == [("disputed", "n50"), ("rejected", "")]
    mine = Rule("mine", "Mugs are in drawer 1.", "location", objects=("mug",))
    (back,) = retire([many, mine], KINDS)
    assert (back.id, back.status) == ("n50", "candidate")
    assert retire([mine, Rule("too", "Mugs are in drawer 2.", "location", objects=("mug",))], KINDS) == []


@pytest.mark.parametrize("name", ["human", "learned"])
def test_a_book_that_ships_has_no_two_contrary_rules(name: str) -> None:
    assert retire(library().open(name).rules, KINDS) == []
