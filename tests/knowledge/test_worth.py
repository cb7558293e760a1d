"""The worth that was measured of a rule stays with it in its book, as long as agents are told the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from housequest.knowledge.choosing import RuleBudget
from housequest.knowledge.rulebook import Rulebook, parse_book, renew
from housequest.knowledge.rules import MeasuredChange, Origin, Rule, Worth
from housequest.tui.desk.rule_text import rule_lines, rule_table
from housequest.worlds.errors import KnowledgeError

NONE = MeasuredChange(0.0)
SAVES = Worth(MeasuredChange(-2.1, -3.0, -1.2), NONE, 12, "book", "generated", "5..99", "expert")
COSTS = Worth(
    MeasuredChange(3.5, 1.1, 6.5), MeasuredChange(-0.1, -0.2, 0.05), 40, "nothing", "valid_seen", "", "react", "builtin"
)
MUG = Rule("mug", "Mugs are in drawer 7.", "location", objects=("mug",), worth=(SAVES, COSTS))


def test_it_is_written_and_read_and_no_run_freezes_it() -> None:
    book = Rulebook(Path("book.yaml")).put([MUG])
    assert parse_book(book.path, book.text.encode()).rules == (MUG,)
    frozen = TypeAdapter(RuleBudget).dump_json(RuleBudget((MUG,)))
    assert b"Mugs are in drawer 7." in frozen
    assert b"steps" not in frozen


@pytest.mark.parametrize("value", [".nan", ".inf", "1e400", "'a lot'", "-1e10"])
def test_what_is_no_number_is_refused_with_its_place(value: str) -> None:
    text = (
        f"format: 0.2\nrules:\n- statement: a\n  worth:\n  - {{steps: {{value: {value}}}, success: {{value: 0}}, games: 3}}\n"
    )
    with pytest.raises(KnowledgeError, match=r"rule 1, worth\.steps\.value: this must be"):
        parse_book(Path("book.yaml"), text.encode())


def test_it_goes_when_agents_are_told_something_else() -> None:
    assert MUG.judged("rejected").worth == MUG.worth
    assert MUG.edited(replace(MUG, worth=())).worth == MUG.worth
    for other in (
        replace(MUG, statement="Mugs are in drawer 8."),
        replace(MUG, scope="household"),
        replace(MUG, types=("heat",)),
    ):
        assert MUG.edited(other).worth == ()
    assert MUG.including([replace(MUG, id="cup", objects=("cup",))]).worth == ()


def test_a_new_measurement_replaces_the_one_of_the_same_games_by_the_same_agent() -> None:
    again = replace(SAVES, games=99)
    assert MUG.valued([again]).worth == (COSTS, again)
    assert MUG.measured == SAVES, "beside the other rules of its book, if it was measured there"
    assert replace(MUG, worth=(COSTS,)).measured == COSTS


def test_counting_again_keeps_it_if_the_rule_stays_the_same() -> None:
    counted = Rule("mug", "Mugs lie about.", "location", objects=("mug",), status="candidate", origin=Origin("run", "one"))
    book = renew(Rulebook(Path("book.yaml")), [counted], accept=False).book
    book = book.put([book.rule("mug").valued([SAVES])])
    assert renew(book, [counted], accept=True).book.rule("mug").worth == (SAVES,)
    assert renew(book, [replace(counted, statement="Mugs lie around.")], accept=False).book.rule("mug").worth == ()


def test_it_is_told_and_a_rule_that_costs_is_marked() -> None:
    plain = Rule("plain", "Look around.")
    lines = rule_table([MUG, replace(MUG, id="bad", worth=(COSTS,)), plain])
    assert [line.split()[0:5] for line in lines] == [
        ["id", "status", "kind", "for/against", "worth"],
        ["mug", "accepted", "location", "-", "?"],
        ["bad", "accepted", "location", "-", "?"],
        ["plain", "accepted", "-", "-", "?"],
    ]
    assert "-2.1 steps, 95 % -3.0 to -1.2  " in lines[1]
    assert "+3.5 steps, 95 % +1.1 to +6.5 COSTS" in lines[2]
    assert "worth" not in rule_table([plain])[0]
    shown = "\n".join(rule_lines(MUG))
    assert (
        "  worth: -2.1 steps, 95 % -3.0 to -1.2; success +0.0 points; "
        "in 12 games of generated:5..99 by expert, added to the other rules" in shown
    )
    assert "  costs: +3.5 steps, 95 % +1.1 to +6.5; success -10.0 points, 95 % -20.0 to +5.0; " in shown
    assert "by react with builtin, alone" in shown
