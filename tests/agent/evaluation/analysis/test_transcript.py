"""An episode, turn by turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.agent.episodes.events import Ended, Event, Intervened, Started, Stepped, Thought
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis.transcript import aligned, notes, transcribe
from housequest.worlds.errors import ConfigurationError
from tests.agent.evaluation.recorded import Lived, bodies, run


def events(lived: Lived) -> list[Event]:
    told = bodies(lived, lived.outcome or "won")
    return [Event(id=number, parent=number - 1 if number else None, body=body) for number, body in enumerate(told)]


def test_what_led_to_a_command_stands_before_it() -> None:
    transcript = transcribe(events(Lived(1, calls=True)))
    first, *_, last = transcript.turns
    assert [type(each).__name__ for each in first.before] == ["TranscriptNote", "ModelCall", "TranscriptNote", "TranscriptNote"]
    assert [aside.text for aside in notes(first.before)] == ["1. find it", "perhaps there", "now step 1, find it"]
    assert first.stepped is not None
    answered = (first.stepped.command, first.stepped.observation, first.stepped.accepted)
    assert (first.number, *answered) == (1, "look around", "You see a lamp.", False)
    assert (last.number, last.stepped) == (4, None)
    assert notes(last.before)[0].text == "its reply could not be read: no action in it (it was asked twice)"
    assert transcript.outcome == "won in 4 turns"


@pytest.mark.parametrize(
    ("lived", "outcome"),
    [
        (Lived(1, "lost"), "lost after 4 turns: because of that"),
        (Lived(1, "error", steps=0), "broken off after 1 turn by an error (model): it answered 500"),
    ],
)
def test_how_it_ended_is_a_line(lived: Lived, outcome: str) -> None:
    assert transcribe(events(lived)).outcome == outcome


def test_an_interrupted_one_and_an_empty_one_are_no_trouble() -> None:
    told = events(Lived(1))
    assert transcribe(told[:5]).outcome == "interrupted"
    empty = transcribe([])
    assert (empty.started, empty.turns, empty.outcome) == (None, (), "interrupted")


def test_what_was_taken_back_is_not_told() -> None:
    start = events(Lived(1))[0]
    assert isinstance(start.body, Started)
    told = [
        start,
        Event(id=1, parent=0, body=Thought(role="actor", text="never said")),
        Event(id=2, parent=0, body=Intervened(action="again")),
        Event(id=3, parent=2, body=Stepped(turn=1, command="look", observation="a lamp", accepted=True)),
        Event(id=4, parent=3, body=Ended(outcome="lost", reason="out of turns (1)", turns=1, steps=1, refused=0)),
    ]
    (turn,) = transcribe(told).turns
    assert [aside.text for aside in notes(turn.before)] == ["again"]


def test_turns_stand_beside_each_other_by_their_number() -> None:
    short, long = transcribe(events(Lived(1, steps=1))), transcribe(events(Lived(1, steps=3)))
    both = aligned(short, long)
    assert [(one and one.number, other and other.number) for one, other in both] == [(1, 1), (2, 2), (None, 3), (None, 4)]


def test_no_record_is_refused_by_name(tmp_path: Path) -> None:
    made = run(tmp_path / "a", [Lived(1)])
    record = made.folder.episode(made.manifest.tasks[0])
    assert len(transcribe(read_episode(record)).turns) == 4
    record.write_text("nonsense\n")
    with pytest.raises(ConfigurationError, match=f"{record.name}:1: not a recorded event"):
        transcribe(read_episode(record))
