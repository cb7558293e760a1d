"""Witnesses are found in the records that name them, and one that is not there says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.episodes.moments import recorded_moments
from housequest.knowledge.rulebook import WITNESSES, library
from housequest.tui.desk.witnesses import FoundWitness, MissingWitness, archives, find_witnesses
from housequest.tui.episode.recording import read_recording
from tests.tui.recorded import Said, play, rewound, started, write


def test_every_moment_is_found_again_where_its_replay_stops(tmp_path: Path) -> None:
    run = play(tmp_path / "run", limit=2)
    # Nothing reads the texts of the scripted world, so this record says that it is of one whose texts are read.
    _, *rest = rewound()
    lone = write(tmp_path / "lone" / "e.jsonl", [Said(None, started(world="alfworld")), *rest])
    moments = list(recorded_moments([run, lone]))
    found = find_witnesses([moment.origin for moment in moments], [run, lone])
    assert len(found) == len(moments) > 10
    for witness, moment in zip(found, moments, strict=True):
        assert isinstance(witness, FoundWitness)
        assert (witness.command, witness.observation) == (moment.command, moment.observation.text)
        assert read_recording(witness.path).spot(witness.event) is not None


def test_one_whose_record_is_gone_or_has_no_such_step_names_the_way_out(tmp_path: Path) -> None:
    lone = write(tmp_path / "e.jsonl", rewound())
    gone, no_step, no_event, odd = find_witnesses(["run/t/3", "played/e/1", "played/e/99", "\x1b[31m"], [lone])
    for witness, words in ((gone, "put the run run back"), (no_step, "no command"), (no_event, "no command"), (odd, "mend it")):
        assert isinstance(witness, MissingWitness)
        assert words in witness.reason


def test_a_damaged_record_still_gives_what_comes_before_the_damage(tmp_path: Path) -> None:
    lone = write(tmp_path / "e.jsonl", rewound())
    lone.write_bytes(lone.read_bytes() + b"\x00{")
    assert all(isinstance(each, FoundWitness) for each in find_witnesses(["played/e/3", "played/e/4"], [lone]))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=4))
def test_any_origin_is_answered(origins: list[str]) -> None:
    assert [each.origin for each in find_witnesses(origins, [])] == origins


@pytest.mark.heavy
def test_each_witness_of_the_books_that_ship_plays_where_nothing_was_recorded() -> None:
    shelf = library()
    for name in ("human", "learned"):
        for rule in shelf.open(name).rules:
            origins = (*rule.evidence.witnesses, *rule.evidence.against)
            for witness in find_witnesses(origins, [], archives()):
                assert isinstance(witness, FoundWitness), witness.reason
                assert rule.check is None or witness.command.partition(" ")[0] == rule.check.command.partition(" ")[0]
    assert (shelf.shipped / WITNESSES).stat().st_size < 2_000_000


def test_a_record_that_was_spoilt_in_the_cache_is_written_again() -> None:
    shelf = library()
    origin = shelf.open("human").rule("one-hand").evidence.witnesses[0]
    (found,) = find_witnesses([origin], [], archives())
    assert isinstance(found, FoundWitness)
    found.path.write_text("spoilt")
    assert find_witnesses([origin], [], archives()) == (found,)
