"""Counting again renews what counting wrote, and leaves what a person wrote or decided, by whatever editor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from housequest.knowledge.checks import parse_check
from housequest.knowledge.rulebook import Renewal, Rulebook, is_counted, parse_book, renew
from housequest.knowledge.rules import Evidence, Origin, Rule

MUG = Rule("where-mug", "A mug is most often in cabinet.", "location", (), ("mug",), "candidate", evidence=Evidence(12))
TAKE = Rule(
    "take-needs-holding-nothing", "`take` works only if holding nothing.", "mechanic", status="candidate",
    evidence=Evidence(3, 0, ("r/t/1",)),
    check=parse_check("take {object} from {receptacle}; when holding something; then refused"),
)  # fmt: skip


def counted(*rules: Rule, over: str = "one") -> list[Rule]:
    return [replace(rule, origin=Origin("run", over)) for rule in rules]


def again(book: Rulebook, *, accept: bool = False) -> Renewal:
    """What another count makes of ``book``, read anew from its text."""
    more = [replace(rule, statement=f"{rule.statement[:-1]}, n=99.", evidence=Evidence(99)) for rule in (MUG, TAKE)]
    return renew(parse_book(book.path, book.text.encode()), counted(*more, over="two"), accept=accept)


@pytest.fixture
def first() -> Rulebook:
    return renew(Rulebook(Path("book.yaml")), counted(MUG, TAKE), accept=False).book


def test_what_is_counted_is_a_candidate_until_evidence_accepts_it(first: Rulebook) -> None:
    assert [(rule.status, is_counted(rule)) for rule in first.rules] == [("candidate", True)] * 2
    accepted = again(first, accept=True)
    assert accepted.renewed == (MUG.id, TAKE.id)
    assert [(rule.status, rule.by, rule.evidence.supports) for rule in accepted.book.rules] == [
        ("accepted", "evidence", 99)
    ] * 2
    same = again(accepted.book)
    assert (same.same, same.book.text) == ((MUG.id, TAKE.id), accepted.book.text)


def test_evidence_accepts_only_what_it_supports() -> None:
    few = [replace(each, evidence=Evidence(1)) for each in counted(MUG, TAKE)]
    book = renew(Rulebook(Path("book.yaml")), few, accept=True).book
    assert [rule.status for rule in book.rules] == ["candidate", "accepted"]
    at_home = renew(Rulebook(Path("book.yaml")), [replace(few[0], scope="household")], accept=True).book
    assert [rule.status for rule in at_home.rules] == ["accepted"]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("in cabinet", "in the cabinet"),
        ("objects: [mug]", "objects: [mug, cup]"),
        ("status: candidate", "status: rejected"),
        ("kind: location", "kind: strategy"),
    ],
)
def test_what_a_person_changed_by_hand_stays(first: Rulebook, was: str, now: str) -> None:
    text = f"# ours\n{first.text.replace(was, now, 1)}"
    after = again(parse_book(first.path, text.encode()), accept=True)
    assert (after.left, after.renewed) == ((MUG.id,), (TAKE.id,))
    assert after.book.text.startswith(text.partition("- id: take")[0])


@pytest.mark.parametrize("status", ["accepted", "rejected"])
def test_what_a_person_judged_stays(first: Rulebook, status: str) -> None:
    judged = first.rule(MUG.id).judged("accepted" if status == "accepted" else "rejected")
    after = again(first.put([judged]), accept=True)
    assert after.left == (MUG.id,)
    assert after.book.rule(MUG.id) == judged


def test_what_the_book_says_in_other_words_is_not_added() -> None:
    mine = parse_book(
        Path("book.yaml"),
        b"format: 0.2\nrules:\n- {id: one, statement: one thing at a time, check: '%s'}" % str(TAKE.check).encode(),
    )
    after = renew(mine, counted(MUG, TAKE), accept=True)
    assert (after.added, after.known) == ((MUG.id,), (TAKE.id,))
    assert [rule.id for rule in after.book.rules] == ["one", MUG.id]
