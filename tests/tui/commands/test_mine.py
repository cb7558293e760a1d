"""``housequest rules mine`` from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from housequest.knowledge.rulebook import library, read_book
from tests.tui.conftest import Run


@pytest.fixture
def played(call: Run) -> str:
    assert call("eval", "--agent", "expert", "--split", "generated:7..36", "--out", "runs/one").returncode == 0
    return "runs/one"


@pytest.mark.heavy
def test_runs_and_the_table_are_mined_and_mined_again(call: Run, played: str, tmp_path: Path) -> None:
    done = call("rules", "mine", played, "--into", "book.yaml")
    assert done.returncode == 0
    assert "30 episodes" in done.stdout.splitlines()[0]
    before = read_book(tmp_path / "book.yaml")
    assert before.rules
    assert {rule.status for rule in before.rules} == {"candidate"}
    call("rules", "reject", "book.yaml", before.rules[0].id)
    done = call("rules", "mine", played, "--counts", "--into", "book.yaml", "--accept", "evidence", "--json")
    found = json.loads(done.stdout)
    after = read_book(tmp_path / "book.yaml")
    assert found["left"] == [before.rules[0].id]
    assert found["games"] == 3553
    assert "where-mug" in found["added"] + found["renewed"]
    assert after.rules[0].status == "rejected"
    assert all((rule.status == "accepted") == (rule.standing == "supported") for rule in after.rules[1:])


@pytest.mark.heavy
def test_what_contradicts_a_persons_rule_is_for_the_person_to_decide(call: Run, tmp_path: Path) -> None:
    book = tmp_path / "book.yaml"
    book.write_text(
        "format: 0.2\nrules:\n- {id: mine, statement: Mugs are kept in a toilet., kind: location, objects: [mug]}\n"
    )
    again = ("rules", "mine", "--counts", "--into", "book.yaml", "--accept", "evidence", "--json")
    assert json.loads(call(*again).stdout)["retired"] == ["where-mug"]
    mug = read_book(book).rule("where-mug")
    assert (mug.status, [edit.was for edit in mug.history if edit.did == "disputed"]) == ("candidate", ["mine"])
    text = book.read_text()
    assert json.loads(call(*again).stdout)["retired"] == ["where-mug"]
    assert book.read_text() == text


def test_nothing_is_written_where_one_only_looks(call: Run) -> None:
    done = call("rules", "mine", "--counts", "--dry-run")
    assert "3,553 games of train" in done.stdout
    assert "Nothing was written" in done.stderr
    assert "mined" not in library().names()


@pytest.mark.heavy
def test_what_is_for_evaluation_is_left_out(call: Run, played: str, tmp_path: Path) -> None:
    for record in (tmp_path / played / "episodes").glob("*.jsonl"):
        record.write_text(record.read_text("utf-8").replace('"split":"generated"', '"split":"valid_seen"'), "utf-8")
    done = call("rules", "mine", played)
    assert done.returncode == 2
    assert "Left out: 30 episodes of valid_seen" in done.stderr
    assert "name a run over train or generated" in done.stderr


@pytest.mark.heavy
def test_houses_for_evaluation_are_left_out_and_what_was_mined_is_named(call: Run, tmp_path: Path) -> None:
    for name, split in (("held", "generated:1000007..1000008"), ("both", "generated:999970..1000000")):
        assert call("eval", "--agent", "expert", "--split", split, "--out", name).returncode == 0
    done = call("rules", "mine", "held", "--into", "book.yaml")
    assert done.returncode == 2
    assert "Left out: 2 episodes of generated from 1,000,000 on, which is for evaluation" in " ".join(done.stderr.split())
    done = call("rules", "mine", "both", "--into", "book.yaml", "--min-refusals", "1", "--accept", "evidence")
    assert (done.returncode, "1 episodes of generated from" in done.stderr) == (0, True)
    assert {rule.origin.splits for rule in read_book(tmp_path / "book.yaml").rules} == {("generated:999970..999999",)}


@pytest.mark.heavy
def test_a_run_says_what_its_rules_were_learned_from(call: Run, played: str) -> None:
    assert call("rules", "mine", played, "--into", "book.yaml", "--accept", "evidence").returncode == 0
    flags = ("eval", "--split", "generated:30..40", "--dry-run", "--json", "--rules")
    assert json.loads(call(*flags, "book.yaml").stdout)["learned_from"]["book.yaml"] == ["generated:7..36"]
    # What ships names its evidence by the records that saw it.
    assert json.loads(call(*flags, "learned").stdout)["learned_from"]["learned.yaml"] == ["train"]
    report = call("eval", "--split", "generated:36..37", "--rules", "book.yaml", "--max-steps", "1")
    assert "book.yaml from generated:7..36" in " ".join(report.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "Nothing was recorded yet"),
        (("gone",), "gone"),
        (("--counts", "--accept", "filter"), "--accept: 'filter' is not one of person, evidence"),
        (("--counts", "--min-refusals", "0"), "--min-refusals: 0 is out of range"),
        (("--counts", "--into", "a\x1b"), "is not the name of a rulebook"),
    ],
    ids=range(5),
)
def test_what_cannot_be_mined_is_told(call: Run, arguments: tuple[str, ...], reason: str) -> None:
    done = call("rules", "mine", *arguments)
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
