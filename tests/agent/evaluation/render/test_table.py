"""Tables as text, and the cards of several arms as one."""

from __future__ import annotations

from housequest.agent.evaluation.render.series import arms_card
from housequest.agent.evaluation.render.table import WIDTH, Table

FIGURES = ("100.0 %", "20.8-93.9 %", "1,234", "1,234", "1,234", "1,234")
HEAD = ("", "success", "95 % interval", "a", "b", "c", "d")


def test_a_name_is_never_cut() -> None:
    name = "an arm whose name is far too long for its column"
    lines = Table((name, *HEAD[1:]), ((name, *FIGURES), ("another", *FIGURES))).text()
    assert [line.split("  ")[0] for line in lines] == [name, "", name, "", "another"]
    assert lines[3].split() == " ".join(FIGURES).split()
    assert max(map(len, lines)) <= WIDTH


def test_names_that_begin_alike_stay_apart() -> None:
    names = [f"llm-planner, replanning off, shots {shots}" for shots in (0, 1)]
    lines = Table(HEAD, (*((name, *FIGURES) for name in names), ("all", *FIGURES))).text()
    assert [lines[1], lines[3]] == names
    assert lines[2].startswith("   ") and lines[2].split() == " ".join(FIGURES).split()
    assert lines[5].startswith("---") and lines[6].startswith("all ")
    assert max(map(len, lines)) <= WIDTH


def test_arms_that_differ_are_named_by_what_they_have() -> None:
    cards = {"a": {"split": "seen", "shots": "1"}, "b": {"split": "seen", "shots": "9"}, "c": {"split": "seen", "shots": "1"}}
    assert arms_card(cards) == [("split", "seen"), ("shots", "differs: 1 (a, c); 9 (b)")]
    many = {str(arm): {"shots": str(arm)} for arm in range(9)}
    assert arms_card(many) == [("shots", "differs in 9 ways; --json has each arm's card")]
    assert arms_card({}) == []
