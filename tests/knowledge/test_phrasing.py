"""What a command needs is said as a person would say it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from housequest.knowledge.checks import parse_check
from housequest.knowledge.sentences import refusal


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("go to {receptacle}; when at {receptacle}", "go to a place where you already are"),
        ("open {receptacle}; when not {receptacle} is closed", "open a place that is not closed"),
        ("take {object} from {receptacle}; when holding something", "take a thing while you hold something"),
        (
            "take {object} from {receptacle}; when not {object} is in {receptacle}",
            "take a thing from a place that it is not in",
        ),
        ("move {object} to {receptacle}; when not at {receptacle}", "move a thing to a place where you are not"),
        ("heat {object} with {receptacle}; when not holding {object}", "heat a thing that you are not holding"),
        ("heat {object} with {receptacle}; when {receptacle} is surface", "heat a thing with something that cannot be opened"),
        ("heat {object} with {receptacle}; when not {object} is a apple or egg", "heat a thing that is not an apple or egg"),
        ("slice {object} with {tool}; when not holding {tool}", "slice a thing with something that you are not holding"),
        ("use {object}; when not {object} is known", "use a thing that you have not seen"),
        ("grab {object}; when no hand is free", "grab a thing while no hand is free"),
        ("walk to {thing}; when at {thing}", "walk to a thing that you are already at"),
    ],
)
def test_a_refusal_is_a_sentence(check: str, said: str) -> None:
    parsed = parse_check(f"{check}; then refused")
    (fact,) = parsed.before
    assert refusal(parsed.command, replace(fact, negated=not fact.negated)) == f"You cannot {said}"


def test_commands_of_one_verb_are_told_apart() -> None:
    parsed = parse_check("put {object} on {receptacle}; when not holding {object}; then refused")
    need = replace(parsed.before[0], negated=False)
    assert refusal(parsed.command, need, whole=True) == "You cannot put a thing that you are not holding on a place"
