"""Rules checked beside the screen: the same findings as over the whole, how far it is, damaged records, and calling it off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from housequest.agent.episodes.moments import recorded_moments
from housequest.knowledge.checks import parse_check
from housequest.knowledge.judging import examine
from housequest.knowledge.mining import mine
from housequest.knowledge.rules import Rule
from housequest.tui.desk.rule_text import finding_lines
from housequest.tui.desk.state import CheckProgress, check_rules
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.errors import ConfigurationError
from tests.tui.recorded import play, rewound, write

RULES = [
    Rule("arrive", "One arrives.", check=parse_check('go to {receptacle}; then says "You arrive at {receptacle}. ..."')),
    Rule("never", "Nothing opens.", check=parse_check("open {receptacle}; then refused")),
]


def test_a_check_finds_what_is_there(tmp_path: Path) -> None:
    run = play(tmp_path / "run", limit=2)
    lone = write(tmp_path / "lone" / "e.jsonl", rewound())
    lone.write_bytes(b"nonsense\n" + lone.read_bytes())
    told: list[CheckProgress] = []
    outcome = check_rules(RULES, lambda: [run, lone], told.append)
    assert outcome is not None
    assert outcome.findings == examine(RULES, recorded_moments([run]))
    assert (outcome.progress.read, outcome.progress.episodes, len(outcome.progress.damaged)) == (3, 3, 1)
    assert told[0].read == 0
    assert "1 contradicted" in str(outcome)
    assert "1 damaged record " in str(outcome)


def test_one_that_is_called_off_has_no_outcome(tmp_path: Path) -> None:
    run = play(tmp_path / "run", limit=2)
    off = Event()
    assert check_rules(RULES, lambda: [run], lambda _: off.set(), off=off) is None


def test_nothing_recorded_names_the_way_out() -> None:
    with pytest.raises(ConfigurationError, match="housequest eval"):
        check_rules(RULES, list, print)


def test_where_a_thing_lies_is_counted_anew_for_a_rule_without_a_check(tmp_path: Path) -> None:
    run = play(tmp_path / "run", limit=12)
    where = Rule("where-fork", "A fork is in a drawer.", "location", objects=("fork",))
    plan = Rule("plan", "Think first.", "strategy")
    outcome = check_rules([*RULES, where, plan], lambda: [run])
    assert outcome is not None
    counted = mine(recorded_moments([run]), HOUSEHOLD.commands).locations
    assert outcome.seen == {where.id: next(each for each in counted if each.thing == "fork")}
    assert "0 undecided, 1 counted" in str(outcome)
    told = list(finding_lines(outcome.findings, outcome.seen))
    assert sum(line.startswith("counted") for line in told) == 1
    assert told[-1].endswith("without a check, or not seen in these records: plan")


def test_a_rule_of_a_home_is_counted_there_place_by_place(tmp_path: Path) -> None:
    run = play(tmp_path / "run", split="household-light:1001:1..3", limit=3)
    mined = mine(recorded_moments([run]), HOUSEHOLD.commands, scope="household")
    rules = mined.rules("run", ("household-light:1001:1..3",))
    outcome = check_rules(rules, lambda: [run])
    assert outcome is not None
    assert outcome.seen == {f"where-{each.thing}": each for each in mined.locations}
    assert all(place.looks for each in outcome.seen.values() for place in each.places)
    elsewhere = [replace(rule, origin=replace(rule.origin, splits=("household-light:7:1..3",))) for rule in rules]
    assert (check_rules(elsewhere, lambda: [run]) or outcome).seen == {}
