"""A person beside an agent in one house, in plain text by a real process; nobody is shown what only the other saw."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from housequest.agent.episodes.events import Ended, Event, Said, Started, Stepped, TurnSpent, branch
from housequest.agent.episodes.record import read_episode
from housequest.agent.episodes.seat_view import SeatView
from housequest.tui.play.company import shares, words_in
from housequest.worlds.household.talk import quoted
from housequest.worlds.registry import household

TASK = "chores:60001"


def played(*typed: str, agent: str = "expert", task: str = TASK) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "housequest", "play", "--mode", "together", task, "--agent", agent, "--plain"]
    return subprocess.run(
        command, input="".join(f"{line}\n" for line in typed), capture_output=True, text=True, check=False, timeout=300
    )


def record_of(done: subprocess.CompletedProcess[str]) -> list[Event]:
    (found,) = re.findall(r"Recorded(?: as far as it went)? in (\S+)", done.stderr)
    return [event for event in read_episode(Path(found)) if isinstance(event, Event)]


def things_in(text: str) -> set[str]:
    return set(re.findall(r"\b[a-z]{3,} [0-9]{1,2}\b", text))


def only_seen_by(told: Sequence[Event], other: str) -> set[str]:
    """The names in the answers to ``other`` that nobody else was told."""
    seen, known = set[str](), set[str]()
    for event in told:
        match event.body:
            case Started() as started:
                known |= things_in(started.opening)
            case Stepped() | TurnSpent() as body if event.player != other:
                known |= things_in(" ".join(body.news or ()))
                known |= things_in(body.observation) if isinstance(body, Stepped) else set()
            case Stepped() as body:
                seen |= things_in(body.observation)
            case Said(text=text):
                known |= things_in(text)
            case _:
                pass
    return seen - known


@pytest.mark.heavy
@pytest.mark.parametrize(("task", "how"), [(TASK, "Won in"), ("chores-home:60001", "Lost after")])
def test_a_chore_is_played_in_plain_text_by_a_real_process(task: str, how: str) -> None:
    done = played("look", "I take the book", "say go on", *["wait"] * 70, task=task)
    assert done.returncode == 0, done.stderr
    told = record_of(done)
    ended = told[-1].body
    assert isinstance(ended, Ended)
    text = re.sub(r"\s+", " ", done.stdout)
    assert f"{how} {ended.turns} rounds" in text
    assert re.search(r"You: 0 goals, 1 command, \d+ idle, 2 messages\. Bob \(expert\): [1-9] goals?,", text)
    assert re.search(r"Knowing the house, alone it takes \d+, together \d+\.", text)
    assert 'You say: "I take the book"' in text
    said = [event.body.text for event in told if isinstance(event.body, Said) and event.player == "Ann"]
    assert said == ["I take the book", "go on"]
    told_to_ann = [one for event in told if event.player == "Ann" for one in getattr(event.body, "news", None) or ()]
    assert all(re.sub(r"\s+", " ", sentence) in text for sentence in told_to_ann)
    assert any(" says: " in one for one in told_to_ann)
    hidden = only_seen_by(told, "Bob")
    assert hidden, "Bob saw something for himself"
    assert not hidden & things_in(done.stdout)


@pytest.mark.heavy
def test_leaving_ends_the_game_for_both_and_says_who_did_what() -> None:
    done = played("wait", ":quit")
    assert done.returncode == 0
    assert "Stopped after" in done.stdout
    told = record_of(done)
    assert next(shares(told, "Ann")) == "You: 0 goals, 0 commands, 1 idle."


@pytest.mark.heavy
def test_questions_and_help_cost_no_turn_in_plain_text_and_refusals_are_explained() -> None:
    done = played("help", "what are you doing?", "give book 1 to cleo", ":quit")
    text = re.sub(r"\s+", " ", done.stdout)
    assert "other words are said to Bob" in text
    assert "give OBJECT to NAME" in text
    assert re.search(r'You say: "what are you doing\?" Bob says: "I [^"]*" 1 > give', text), "before the turn is spent"
    assert "Nothing happens. Nobody else called cleo is here, only Bob." in text
    assert "Stopped after" in text


def test_a_line_is_words_unless_it_has_the_form_of_a_command() -> None:
    reader = household("alfworld")
    for command in ("go to fridge 1", "Open drawer 2", "wait", "look", "give mug 1 to Bob", "put mug 1 in/on shelf 2"):
        assert words_in(command, reader) is None, command
    for words in ("bring me the mug", "what did you find?", "you take the drawers", "I go to fridge 1", "give me mug 1"):
        assert words_in(words, reader) == words
    assert words_in("say go to fridge 1", reader) == "go to fridge 1"


@pytest.mark.heavy
def test_a_seat_has_its_own_events_in_one_chain() -> None:
    told = record_of(played("look", "hello", *["wait"] * 3, ":quit"))
    for name in ("Ann", "Bob"):
        view = SeatView(name)
        own = [seen for event in told if (seen := view.of(event)) is not None]
        assert {event.player for event in own} == {None, name}
        assert branch(own) == tuple(own)
        start = own[0].body
        assert isinstance(start, Started)
        assert start.agent == ("human" if name == "Ann" else "expert")
    heard = [one for event in told if event.player == "Bob" for one in getattr(event.body, "news", None) or ()]
    assert quoted("Ann", "hello") in heard
