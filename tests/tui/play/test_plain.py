"""Events as text, and that no text steers the terminal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.episodes.events import (
    Body,
    Ended,
    Event,
    Intervened,
    ModelCall,
    ModelFailed,
    ParseFailed,
    Planned,
    Progressed,
    Proposed,
    RulesShown,
    Started,
    Stepped,
    Thought,
    TurnSpent,
)
from housequest.tui.play.plain import EventFormatter
from housequest.tui.text import TextLayout, printable

STARTED: dict[str, Any] = {
    "format": "0.2",
    "world": "scripted",
    "engine": "scripted 1",
    "task": "demo/find",
    "split": "demo",
    "number": 1,
    "type": "find",
    "goal": "take the coin.",
    "wording": "template",
    "agent": "react",
    "max_turns": 50,
    "seed": 0,
    "opening": "You are in the hall.",
}


def told(*bodies: Body, look: TextLayout | None = None, typed: bool = False) -> list[str]:
    narrator = EventFormatter(look or TextLayout(), typed=typed)
    return [line for number, body in enumerate(bodies) for line in narrator.lines(Event(id=number, parent=None, body=body))]


def test_an_episode_reads_like_this() -> None:
    lines = told(
        Started(**STARTED, model="openai:small"),
        Planned(role="reasoner", steps=("find a key", "open the box"), revision=0, reason="it begins"),
        ModelCall(role="actor", kept=0, added=(), reply="Thought: hm", finish="stop"),
        Thought(role="actor", text="the key first"),
        Proposed(turn=1, command="go to study"),
        Stepped(turn=1, command="go to study", observation="You are in the study.", accepted=True),
        Progressed(role="actor", step=1),
        ParseFailed(role="actor", reply="?", reason="no action.", final=True),
        TurnSpent(turn=2),
        Intervened(action="hint", text="the cellar"),
        Stepped(turn=3, command="fly", by="person", observation="Nothing happens.", accepted=False, explanation="No wings."),
        Ended(outcome="won", reason="the task is done", turns=3, steps=2, refused=1, assisted=True),
    )
    assert "\n".join(lines) == (
        "take the coin.\n"
        "scripted demo:1, react, openai:small, at most 50 turns\n"
        "\n"
        "You are in the hall.\n"
        "\n"
        "     reasoner: the plan\n"
        "        1 find a key\n"
        "        2 open the box\n"
        "     actor: the key first\n"
        " 1 > go to study\n"
        "     You are in the study.\n"
        "     plan: now step 2, open the box\n"
        "     actor: its reply could not be read: no action. (asked twice)\n"
        " 2   (no command)\n"
        "     person: says “the cellar”\n"
        " 3 > fly\n"
        "     Nothing happens. No wings.\n"
        "\n"
        "Won in 3 turns.\n"
        "1 command had no effect.\n"
        "A person helped: the episode counts as assisted."
    )


def test_what_qualifies_the_engine_is_told_before_the_opening() -> None:
    engine = "graphs 2, without 4 relations that put fixed things inside of themselves"
    lines = told(Started(**{**STARTED, "engine": engine}))
    assert lines[2:4] == ["Without 4 relations that put fixed things inside of themselves", ""]


@pytest.mark.parametrize(
    ("ended", "line"),
    [
        (
            Ended(outcome="lost", reason="out of turns (50)", turns=50, steps=50, refused=0),
            "Lost after 50 turns: out of turns (50).",
        ),
        (
            Ended(outcome="stopped", reason="the player left", turns=1, steps=1, refused=0),
            "Stopped after 1 turn: the player left.",
        ),
        (
            Ended(outcome="error", reason="an error", turns=2, steps=2, refused=0, boundary="model", message="no answer"),
            "Broken off after 2 turns by an error (model): no answer",
        ),
    ],
)
def test_how_it_ends_is_plain(ended: Ended, line: str) -> None:
    step = Stepped(turn=1, command="look", observation="A hall.", accepted=True, met=1, conditions=3)
    lines = told(step, ended)
    assert line in lines
    assert ("1 of the 3 conditions of the goal held at the end." in lines) == (ended.outcome != "error")


def test_what_a_person_typed_is_not_told_again() -> None:
    step = Stepped(turn=1, command="look", observation="A hall.", accepted=True)
    assert told(step, typed=True) == ["     A hall."]


def test_colours_only_where_they_are_wanted() -> None:
    body = Ended(outcome="won", reason="done", turns=1, steps=1, refused=0)
    assert told(body)[-1] == "Won in 1 turn."
    assert told(body, look=TextLayout(colour=True))[-1] == "\x1b[1;32mWon in 1 turn.\x1b[0m"


def test_long_text_is_wrapped_and_huge_text_cut() -> None:
    lines = told(Thought(role="actor", text="word " * 100_000), Started(**STARTED | {"opening": "x" * 1_000_000}))
    assert max(map(len, lines)) <= 80
    assert sum(map(len, lines)) < 20_000
    assert any("characters more" in line for line in lines)


@given(st.text(st.characters(exclude_categories=())))
def test_printable_text_holds_nothing_that_steers(text: str) -> None:
    shown = printable(text)
    assert all(character.isprintable() or character in "\n\u200c\u200d" for character in shown)
    shown.encode("utf-8")


@given(st.text(st.characters(exclude_categories=("Cs",))), st.text(st.characters(exclude_categories=("Cs",))), st.booleans())
def test_no_event_steers_the_terminal(text: str, other: str, colour: bool) -> None:
    lines = told(
        Started(**STARTED | {"goal": text, "opening": other, "world": text, "split": other, "agent": text, "model": other}),
        Thought(role=text, text=other),
        Planned(role=text, steps=(other, text), revision=1, reason=other),
        Progressed(role=text, step=0),
        ParseFailed(role=text, reply=other, reason=text, final=False),
        Intervened(action="play", text=other),
        Stepped(turn=1, command=text, observation=other, accepted=False, explanation=text),
        Ended(outcome="error", reason=text, turns=1, steps=1, refused=1, boundary="world", message=other),
        look=TextLayout(colour=colour),
    )
    for line in lines:
        bare = line
        for code in ("1", "2", "36", "1;32", "1;31", "0") if colour else ():
            bare = bare.replace(f"\x1b[{code}m", "")
        assert all(character.isprintable() or character in "\u200c\u200d" for character in bare), ascii(line)


def test_what_a_person_who_attends_does_is_told() -> None:
    assert told(
        RulesShown(rules=("a", "b")),
        ModelFailed(turn=1, boundary="model", message="It is tired."),
        Intervened(action="retry"),
        Intervened(action="model", text="another"),
        Intervened(action="interrupt"),
        Intervened(action="rewind", text="to turn 3"),
    ) == [
        "     rules: the agent is shown 2 rules",
        "     model: It is tired.",
        "     person: tries again",
        "     person: goes on with the model another",
        "     person: cancels the agent's turn",
        "     person: goes back to turn 3",
    ]


def test_the_older_put_is_told_how_this_game_says_it() -> None:
    refused = Stepped(turn=1, command="put mug 1 in/on desk 1", observation="Nothing happens.", accepted=False)
    start = Started(**STARTED | {"world": "alfworld"})
    assert told(start, refused)[-1].split() == [
        "Nothing",
        "happens.",
        "(This",
        "game",
        "says:",
        "move",
        "mug",
        "1",
        "to",
        "desk",
        "1)",
    ]
    unknown = Stepped(turn=1, command="put it down", observation="Nothing happens.", accepted=False)
    assert told(start, unknown)[-1].strip() == "Nothing happens."
