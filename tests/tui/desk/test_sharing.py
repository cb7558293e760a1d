"""A book is shared as one file: a stranger sees its rules and replays their witnesses, and a hostile file writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from housequest.agent.episodes.moments import recorded_moments
from housequest.agent.episodes.record import read_episode
from housequest.knowledge.mining import mine, place_rule
from housequest.knowledge.rulebook import Rulebook, library, read_book, save
from housequest.knowledge.rules import Evidence, Origin, Rule
from housequest.tui.desk import witnesses
from housequest.tui.desk.witnesses import FoundWitness, MissingWitness, archives, find_witnesses, import_book, packed_book
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.errors import KnowledgeError
from tests.tui.conftest import Run
from tests.tui.recorded import play

BOOK = "format: 0.2\nrules:\n- id: fly\n  statement: You can fly.\n  evidence: {supports: 1, witnesses: [WITNESS]}\n"


@pytest.fixture
def shared(tmp_path: Path) -> tuple[Rulebook, Path, Path]:
    """A mined book with a rule whose record is gone, its run, and the file in which it is shared."""
    run = play(tmp_path / "runs" / "lived", limit=6)
    locations = mine(recorded_moments([run]), HOUSEHOLD.commands).locations
    rules = [place_rule(each, Origin("run", "lived")) for each in locations]
    gone = Rule("gone", "Nobody has seen it.", evidence=Evidence(1, witnesses=("gone/e/1",)))
    book = save(Rulebook(tmp_path / "kitchen.yaml").put([*rules, gone]))
    content, missing = packed_book(book, [run])
    assert missing == ("gone/e/1",)
    file = tmp_path / "kitchen.zip"
    file.write_bytes(content)
    return book, run, file


@pytest.mark.heavy
def test_a_stranger_sees_the_rules_and_replays_their_witnesses(shared: tuple[Rulebook, Path, Path]) -> None:
    book, run, file = shared
    came, records = import_book(file)
    assert (came.path, came.text, came.read) == (library().own / "kitchen.yaml", book.text, read_book(came.path).read)
    origins = [origin for rule in book.rules for origin in (*rule.evidence.witnesses, *rule.evidence.against)]
    assert records == len({origin.rpartition("/")[0] for origin in origins}) - 1
    here, there = find_witnesses(origins, [run]), find_witnesses(origins, [], archives(came))
    for one, other in zip(here, there, strict=True):
        if isinstance(one, MissingWitness):
            assert isinstance(other, MissingWitness)
        else:
            assert isinstance(other, FoundWitness)
            assert (one.event, one.command, one.observation) == (other.event, other.command, other.observation)
            # The record ends with the last step that the book names.
            last = max(event.id for event in read_episode(other.path))
            assert f"{other.origin.rpartition('/')[0]}/{last}" in origins
    assert packed_book(came, []) == (file.read_bytes(), ("gone/e/1",))


def test_what_came_with_a_book_is_shown_even_if_ones_own_run_has_that_name(shared: tuple[Rulebook, Path, Path]) -> None:
    book, run, file = shared
    came, _ = import_book(file, "theirs")
    origin = book.rules[0].evidence.witnesses[0]
    (theirs,) = find_witnesses([origin], [run], archives(came))
    assert isinstance(theirs, FoundWitness)
    assert not theirs.path.is_relative_to(run)


def test_a_name_that_is_taken_and_a_book_alone(shared: tuple[Rulebook, Path, Path], tmp_path: Path) -> None:
    book, _, file = shared
    import_book(file)
    for again in (file, book.path):
        with pytest.raises(KnowledgeError, match="already; give this one another name with --name"):
            import_book(again)
    with pytest.raises(KnowledgeError, match="not the name of a rulebook"):
        import_book(file, "../up")
    alone, records = import_book(book.path, "alone")
    assert (alone.rules, records, archives(alone)) == (book.rules, 0, archives(alone)[-1:])


def packed(path: Path, members: Mapping[str, str]) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, "no shared rulebook"),
        ({"a.yaml": BOOK, "b.yaml": BOOK}, "no shared rulebook"),
        ({"up/a.yaml": BOOK}, "no shared rulebook"),
        ({"a.yaml": "- ["}, "a.yaml:1"),
        ({"..yaml": BOOK}, "not the name of a rulebook"),
        ({"a.yaml": " " * 1_000_001}, "too large"),
        ({"a.yaml": BOOK} | {f"r/{number}.jsonl": "" for number in range(10_000)}, "at most 10,000 records"),
    ],
)
def test_what_is_no_shared_book_is_refused(members: dict[str, str], reason: str, tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match=reason):
        import_book(packed(tmp_path / "f.zip", members))
    assert not library().own.exists()


@pytest.mark.parametrize(
    "record", ["../../../../up/t", "..\\..\\up/t", "/etc/t", "r/../t", "C:/t", "r/.t", "r/s/t", "\x01/t", "r/" + "t" * 250]
)
def test_a_record_that_leads_elsewhere_is_dropped(record: str, tmp_path: Path) -> None:
    text = BOOK.replace("WITNESS", "'" + record.replace("\x01", "") + "/3'")
    book, records = import_book(packed(tmp_path / "f.zip", {"a.yaml": text, f"{record}.jsonl": "{}\n", "x.sh": "rm"}))
    assert records == 0
    (found,) = find_witnesses(book.rules[0].evidence.witnesses, [], archives(book))
    assert isinstance(found, MissingWitness)


def test_a_huge_record_is_dropped_and_a_damaged_one_says_so(tmp_path: Path) -> None:
    text = BOOK.replace("WITNESS", "r/huge/3, r/bad/3")
    members = {"a.yaml": text, "r/huge.jsonl": " " * (witnesses.LARGEST_RECORD + 1), "r/bad.jsonl": "nonsense\n"}
    book, records = import_book(packed(tmp_path / "f.zip", members))
    assert records == 1
    huge, bad = find_witnesses(book.rules[0].evidence.witnesses, [], archives(book))
    assert isinstance(huge, MissingWitness) and "not on disk" in huge.reason
    assert isinstance(bad, MissingWitness) and "not a recorded event" in bad.reason


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0), put=st.binary(max_size=8), left_out=st.integers(0, 8))
@example(at=271, put=b"\0", left_out=1)
def test_any_bytes_are_a_book_or_a_knowledge_error(at: int, put: bytes, left_out: int, tmp_path: Path) -> None:
    whole = packed(tmp_path / "f.zip", {"a.yaml": BOOK.replace("WITNESS", "r/t/3"), "r/t.jsonl": "{}\n"}).read_bytes()
    at %= len(whole) + 1
    file = tmp_path / "g.zip"
    file.write_bytes(whole[:at] + put + whole[at + left_out :])
    try:
        book, _ = import_book(file, f"b{len(library().names())}")
    except KnowledgeError:
        return
    find_witnesses(book.rules[0].evidence.witnesses if book.rules else (), [], archives(book))


@pytest.mark.heavy
def test_a_book_travels_by_two_commands(call: Run, tmp_path: Path) -> None:
    assert call("eval", "--agent", "expert", "--split", "generated:0..29", "--out", "runs/lived").returncode == 0
    call("rules", "mine", "runs/lived", "--into", "mine")
    done = call("rules", "export", "mine", "ours.zip")
    assert done.returncode == 0
    assert "Saved ours.zip" in done.stderr
    assert call("rules", "export", "mine", "ours.txt").returncode == 2
    assert call("rules", "import", "ours.zip").returncode == 2
    done = call("rules", "import", "ours.zip", "--name", "theirs")
    assert done.returncode == 0
    assert "housequest rules desk theirs" in done.stderr
    assert read_book(library().find("theirs")).text == read_book(library().find("mine")).text
