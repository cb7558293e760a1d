"""Evidence: known rules are told apart by play, and each transition counts once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from housequest.knowledge.checks import parse_check
from housequest.knowledge.judging import Moment, deciding_words, examine
from housequest.knowledge.rulebook import read_book
from housequest.knowledge.rules import WITNESSES, Evidence, Origin, Rule
from housequest.worlds.alfworld.text import HOUSEHOLD
from scripts.walks import moments_of, walk

KNOWN = read_book(Path(__file__).with_name("known_rules.yaml")).rules
NEVER = {"t-heat-undoes", "f-heat-stays-cool"}
"""What is hot and cool is called hot, so nothing that is told decides these."""

RARE = {"t-cool-undoes", "f-cool-stays-hot", "t-heat-closed", "f-heat-open", "t-cool", "f-cool-open"}
"""What needs more luck than a few walks have."""


@cache
def walked() -> Sequence[Moment]:
    return [moment for seed in range(60) for moment in moments_of(walk(seed, 250), HOUSEHOLD, f"walks/{seed}")]


def test_there_are_forty_of_each() -> None:
    assert [sum(rule.status == status for rule in KNOWN) for status in ("accepted", "rejected")] == [40, 40]
    assert all(rule.check for rule in KNOWN)


@pytest.mark.heavy
def test_what_play_decides_is_decided_rightly() -> None:
    findings = {each.rule.id: each for each in examine(KNOWN, walked())}
    undecided = {name for name, each in findings.items() if each.standing == "undecided"}
    assert NEVER <= undecided <= NEVER | RARE
    for name in findings.keys() - undecided:
        finding = findings[name]
        assert (finding.standing == "supported") == (finding.rule.status == "accepted"), finding


@pytest.mark.heavy
def test_an_origin_counts_once_and_witnesses_are_those_that_say_so() -> None:
    rule = Rule("one", "one thing at a time", check=parse_check("take {o} from {r}; when holding something; then refused"))
    (once,) = examine([rule], walked())
    (twice,) = examine([rule], [*walked(), *walked()])
    assert once == twice
    assert once.evidence.supports > WITNESSES == len(once.evidence.witnesses)
    by_origin = {moment.origin: moment for moment in walked()}
    for origin in once.evidence.witnesses:
        assert by_origin[origin].before.held
        assert by_origin[origin].command.startswith("take ")


@pytest.mark.heavy
def test_a_rule_without_a_check_is_undecided() -> None:
    (finding,) = examine([Rule("a", "be kind")], walked())
    assert (finding.standing, finding.evidence) == ("undecided", Evidence())


@pytest.mark.parametrize(
    ("kind", "evidence", "standing"),
    [
        ("mechanic", Evidence(100, 1), "contradicted"),
        ("mechanic", Evidence(1, 0), "supported"),
        (None, Evidence(0, 0), "undecided"),
        ("location", Evidence(55, 45), "undecided"),
        ("location", Evidence(600, 400), "supported"),
        ("strategy", Evidence(40, 600), "contradicted"),
    ],
)
def test_what_is_usual_may_have_exceptions(kind: str, evidence: Evidence, standing: str) -> None:
    rule = Rule("a", "b", kind=kind, evidence=evidence)  # pyright: ignore[reportArgumentType]
    assert rule.standing == standing


ARRIVES = "You arrive at fridge 1. The fridge 1 is open. In it, you see a egg 2, and a mug 1."


@pytest.mark.parametrize(
    ("rule", "command", "answer", "words"),
    [
        (Rule("r", "Eggs: fridge.", "location", objects=("egg",)), "go to fridge 1", ARRIVES, ("fridge 1", "egg 2")),
        (
            Rule("r", "R.", check=parse_check("go to {receptacle}; then a mug is in {receptacle}")),
            "go to fridge 1",
            ARRIVES,
            ("fridge 1", "mug 1"),
        ),
        (
            Rule("r", "R.", check=parse_check('go to {receptacle}; then says "You arrive at {receptacle}. ..."')),
            "go to fridge 1",
            ARRIVES,
            ("fridge 1", "You arrive at fridge 1."),
        ),
        (Rule("r", "R.", check=parse_check("take {object} from {receptacle}; then refused")), "look", ARRIVES, ()),
        (
            Rule("r", "R.", check=parse_check("take {object} from {receptacle}; then refused")),
            "take egg 2 from fridge 1",
            "Nothing happens.",
            ("egg 2", "fridge 1", "Nothing happens."),
        ),
        (Rule("r", "A plan.", "strategy"), "go to fridge 1", ARRIVES, ()),
    ],
)
def test_the_words_that_decide_about_a_rule_are_named(rule: Rule, command: str, answer: str, words: tuple[str, ...]) -> None:
    assert deciding_words(rule, command, answer) == words


@pytest.mark.parametrize(
    ("witness", "split"),
    [
        ("day-003/0003-household-1000-day-3/27", "household:1000:3..3"),
        ("lived/0012-household-light-7-day-12/4", "household-light:7:12..12"),
        ("lived/0010-generated-10/6", "generated:10..10"),
        ("books/0004-train-look_at_obj_in_light-AlarmClock-None-DeskLamp-302-trial_T2019_298295/12", "train"),
    ],
)
def test_the_name_of_a_witness_tells_what_was_learned_from(witness: str, split: str) -> None:
    rule = Rule(
        "where", "Mugs are in drawer 7.", scope="household", origin=Origin("run", "r"), evidence=Evidence(1, 0, (witness,))
    )
    assert rule.origin.over(rule.evidence.witnesses) == (split,)
    assert replace(rule, scope="world").homes == frozenset()
    if split.startswith("household"):
        assert rule.homes == {split.rpartition(":")[0]}
