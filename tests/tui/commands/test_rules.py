"""``housequest rules`` from end to end."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest

from housequest.knowledge.rulebook import read_book
from housequest.worlds.paths import data_folder
from tests.test_imports import HEAVY, command, loaded
from tests.tui.conftest import Run

HEAD = "format: 0.2\nrules:\n"
BOOK = """\
# ours
format: 0.2
rules:
- mugs lie in cabinets  # said Anne
- id: one
  statement: one holds one thing
  kind: mechanic
  check: take {object} from {receptacle}; when holding something; then refused
- {id: go, statement: one never arrives, status: candidate, check: "go to {receptacle}; then refused"}
- {id: heat, statement: a microwave heats, objects: [egg], status: candidate}
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.yaml"
    path.write_text(BOOK, "utf-8")
    return path


@pytest.fixture
def played(call: Run) -> str:
    assert call("eval", "--agent", "expert", "--split", "generated", "--limit", "3", "--out", "runs/one").returncode == 0
    return "runs/one"


def test_rules_are_listed_and_shown(book: Path, call: Run) -> None:
    lines = call("rules", "list", "book.yaml").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["id", "rule-1", "one", "go", "heat"]
    assert len(call("rules", "list", "book.yaml", "--status", "candidate").stdout.splitlines()) == 3
    (found,) = json.loads(call("rules", "list", "book.yaml", "--kind", "mechanic", "--json").stdout)
    assert (found["id"], found["standing"]) == ("one", "undecided")
    assert "check: take {object} from" in call("rules", "show", "book.yaml", "one").stdout
    assert (
        "none counted; somebody named\n    for      books-clumsy/" in call("rules", "show", "human", "nothing-happens").stdout
    )
    assert json.loads(call("rules", "show", "book.yaml", "heat", "--json").stdout)["objects"] == ["egg"]


@pytest.mark.heavy
def test_rules_are_checked_against_runs(book: Path, call: Run, played: str) -> None:
    done = call("rules", "check", "book.yaml", played)
    assert done.returncode == 0
    first, witness, *_ = done.stdout.splitlines()
    assert first.startswith("contradicted")
    assert "go: one never arrives" in first
    assert witness.split()[0] == "against"
    assert witness.split()[1].startswith("one/")
    assert book.read_text("utf-8") == BOOK
    found = json.loads(call("rules", "check", "book.yaml", "--json").stdout)
    assert found["episodes"] == 3
    assert found["rules"][2]["contradicts"] > 0
    call("rules", "check", "book.yaml", played, "--save")
    saved = read_book(book)
    assert saved.rule("go").standing == "contradicted"
    assert "# said Anne" in saved.text


def test_what_a_check_does_not_meet_keeps_what_is_known_of_it(book: Path, call: Run, played: str) -> None:
    named = "evidence: {supports: 0, contradicts: 0, witnesses: [one/e/3]}"
    counted = "evidence: {supports: 7, contradicts: 0, witnesses: [gone/e/6]}"
    seldom = "check: slice {object} with {other}; then accepted"
    book.write_text(
        f"{HEAD}- id: taught\n  statement: knives cut\n  {seldom}\n  {named}\n"
        f"- id: counted\n  statement: knives cut well\n  {seldom}\n  {counted}\n"
    )
    before = book.read_text()
    assert call("rules", "check", "book.yaml", played, "--save").returncode == 0
    assert book.read_text() == before
    for name in ("taught", "counted"):
        assert call("rules", "edit", "book.yaml", name, "--check", "go to {receptacle}; then accepted").returncode == 0
    taught, recounted = read_book(book).rules
    assert taught.evidence.witnesses == ("one/e/3",), "a person named it"
    assert recounted.evidence.witnesses == (), "it was found for another check"


def test_a_damaged_record_does_not_end_a_check(book: Path, call: Run, played: str, tmp_path: Path) -> None:
    (tmp_path / played / "episodes" / "zz\x1b.jsonl").write_text("?\n")
    done = call("rules", "check", "book.yaml", played)
    assert done.returncode == 0
    assert "Left out: " in done.stderr
    assert "\x1b" not in done.stderr


def test_rules_are_accepted_rejected_edited_and_merged(book: Path, call: Run) -> None:
    day = date.today()
    assert call("rules", "accept", "book.yaml", "heat", "go").returncode == 0
    assert call("rules", "reject", "book.yaml", "go").returncode == 0
    assert call("rules", "edit", "book.yaml", "heat", "--statement", "it  heats", "--kind", "mechanic").returncode == 0
    assert call("rules", "edit", "book.yaml", "heat", "--check", "look; then accepted", "--object", "mug").returncode == 0
    assert call("rules", "edit", "book.yaml", "heat", "--scope", "household").returncode == 0
    assert call("rules", "merge", "book.yaml", "one", "rule-1", "--statement", "one thing").returncode == 0
    rules = read_book(book)
    assert [rule.status for rule in rules.rules] == ["rejected", "accepted", "rejected", "accepted"]
    assert (rules.rule("heat").statement, rules.rule("heat").objects) == ("it heats", ("mug",))
    edits = [(edit.did, edit.field, edit.was) for edit in rules.rule("heat").history]
    assert edits == [
        ("accepted", None, ""),
        ("edited", "statement", "a microwave heats"),
        ("edited", "kind", ""),
        ("edited", "objects", "egg"),
        ("edited", "check", ""),
        ("edited", "scope", "world"),
    ]
    assert {edit.date for edit in rules.rule("heat").history} <= {day, date.today()}
    assert (
        f"edited objects by a person on {rules.rule('heat').history[-1].date}, was egg"
        in call("rules", "show", "book.yaml", "heat").stdout
    )
    assert [edit.did for edit in rules.rule("one").history] == ["merged", "edited"]
    assert rules.rule("rule-1").history[-1].was == "one"
    assert rules.text.startswith("# ours\n")
    assert "# said Anne" in rules.text


def test_two_books_are_compared(book: Path, call: Run) -> None:
    book.with_name("other.yaml").write_text(
        BOOK.replace("a microwave heats", "a fridge heats").replace("- {id: go", "- {id: gone")
    )
    done = call("rules", "compare", "book.yaml", "other.yaml")
    assert [line.split(maxsplit=1) for line in done.stdout.splitlines()[1:]] == [
        ["go", "only in book.yaml"],
        ["heat", "statement"],
        ["gone", "only in other.yaml"],
    ]
    found = json.loads(call("rules", "compare", "book.yaml", "other.yaml", "--json").stdout)
    assert found[1] == {"id": "heat", "fields": ["statement"], "one": True, "other": True}
    assert "They say the same." in call("rules", "compare", "book.yaml", "book.yaml").stderr


def test_what_evidence_accepted_is_a_candidate_again_when_its_check_or_words_change(book: Path, call: Run) -> None:
    judged = "status: accepted, by: evidence, evidence: {supports: 9, contradicts: 0, witnesses: [one/e/3]}"
    texts = [f"- {{id: {name}, statement: a, check: look; then accepted, {judged}}}\n" for name in ("words", "check", "things")]
    book.write_text("".join([HEAD, *texts, f"- {{id: bare, statement: a, {judged}}}\n"]))
    assert call("rules", "edit", "book.yaml", "bare", "--statement", "b").returncode == 0
    assert not read_book(book).rule("bare").evidence, "what was counted was counted for its words"
    assert call("rules", "edit", "book.yaml", "things", "--object", "mug").stderr == "Saved book.yaml\n"
    assert "words is a candidate again, for evidence" in call("rules", "edit", "book.yaml", "words", "--statement", "b").stderr
    told = call("rules", "edit", "book.yaml", "check", "--check", "look; then refused").stderr
    assert "`housequest rules accept book.yaml check` accepts it" in told
    words, check, things, _ = read_book(book).rules
    assert [rule.status for rule in (words, check, things)] == ["candidate", "candidate", "accepted"]
    assert [bool(rule.evidence) for rule in (words, check, things)] == [True, False, True]
    assert [(edit.field, edit.was) for edit in check.history] == [
        ("check", "look; then accepted"),
        ("evidence", "9 for, 0 against"),
        ("status", "accepted by evidence"),
    ]
    assert call("rules", "accept", "book.yaml", "check").returncode == 0
    assert "again" not in call("rules", "edit", "book.yaml", "check", "--statement", "c").stderr
    assert read_book(book).rule("check").status == "accepted"


@pytest.mark.heavy
def test_the_users_own_books_have_names(call: Run) -> None:
    assert "ships" in call("rules", "list").stdout or "no rulebooks yet" in call("rules", "list").stderr
    folder = data_folder() / "rulebooks"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("format: 0.2\nrules:\n- a\n")
    (folder / "bad.yaml").write_text("[")
    done = call("rules", "list")
    assert any(line.split()[:5] == ["mine", "alfworld", "1", "0", "0"] for line in done.stdout.splitlines())
    assert "bad is left out: " in done.stderr
    assert any(each["name"] == "mine" for each in json.loads(call("rules", "list", "--json").stdout))
    assert call("rules", "reject", "mine", "rule-1").returncode == 0
    assert read_book(folder / "mine.yaml").rules[0].status == "rejected"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("list", "nowhere"), "There is no rulebook 'nowhere'"),
        (("list", "book.yaml", "--status", "candidat"), "Did you mean 'candidate'"),
        (("show", "book.yaml", "hea"), "Did you mean 'heat'"),
        (("accept", "book.yaml", "\x1b"), "has no rule"),
        (("show", "book.yaml", "nope"), "The rulebook book has no rule 'nope'. The nearest ids are "),
        (("edit", "book.yaml", "heat"), "No change is given"),
        (("edit", "book.yaml", "heat", "--check", "fly"), "--check: "),
        (("edit", "book.yaml", "heat", "--statement", "a\x07"), "heat in book.yaml stays as it is. --statement: "),
        (("edit", "book.yaml", "heat", "--statement", " "), "in a sentence. To drop the rule, `housequest rules reject"),
        (("merge", "book.yaml", "heat", "heat"), "into itself"),
        (("check", "book.yaml"), "Nothing was recorded yet"),
        (("check", "book.yaml", "gone"), "gone"),
        (("check", "book.yaml", "."), "no recorded episodes"),
    ],
    ids=range(13),
)
def test_what_cannot_be_done_is_told(arguments: tuple[str, ...], reason: str, book: Path, call: Run) -> None:
    done = call("rules", *arguments)
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr
    assert book.read_text("utf-8") == BOOK
    assert done.returncode == 2


BOMB = "\n".join(["- &a0 [x, x]", *(f"- &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40))])


@pytest.mark.parametrize("command", [("accept", "book.yaml", "one"), ("mine", "--counts", "--into", "book.yaml")], ids=range(2))
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            f"{HEAD}- {{id: one, statement: a}}\n- {{id: one, statement: b}}\n",
            "book.yaml:4: .*two rules with the id 'one': line 3",
        ),
        (f"{HEAD}- {{id: one, statment: a}}\n", "book.yaml:3: .*statment: this field is not known. Did you mean 'statement'"),
        ("- !!python/object/apply:os.system [ls]\n", "book.yaml:1: .*the tag"),
        (BOMB, "book.yaml:2: .*anchors and aliases are not read"),
        ("- a\n" * 2_500_000, "cannot be read: it has more than 1,000,000 bytes"),
        ("- {id: one, statement: a, status: [}\n", "book.yaml:1: .*not valid YAML"),
    ],
    ids=["ids", "fields", "tags", "aliases", "size", "YAML"],
)
def test_a_hostile_book_is_left_as_it_is(command: tuple[str, ...], text: str, reason: str, call: Run, tmp_path: Path) -> None:
    path = tmp_path / "book.yaml"
    path.write_text(text, "utf-8")
    done = call("rules", *command)
    assert done.returncode == 2
    assert re.search(reason, done.stderr)
    assert "Traceback" not in done.stderr
    assert path.read_text("utf-8") == text
    assert [file.name for file in tmp_path.iterdir()] == ["book.yaml"]


@pytest.mark.parametrize("command", [("reject", "book.yaml", "one"), ("mine", "--counts", "--into", "book.yaml")], ids=range(2))
def test_a_read_only_book_is_left_as_it_is(command: tuple[str, ...], book: Path, call: Run) -> None:
    book.chmod(0o444)
    done = call("rules", *command)
    assert done.returncode == 2
    assert "is read-only, so nothing was written. Allow writing, or save a copy of it." in done.stderr
    assert book.read_text("utf-8") == BOOK


@pytest.mark.heavy
def test_the_books_that_ship_are_arms_of_the_example(call: Run) -> None:
    sweep = str(Path(__file__).parents[3] / "examples" / "sweeps" / "opex-table-2.yaml")
    model = "openai:any@http://127.0.0.1:9/v1"
    done = call("eval", "--sweep", sweep, "--split", "generated", "--limit", "2", "--model", model, "--dry-run")
    assert done.returncode == 0
    assert "learned.yaml" in done.stdout
    assert "human.yaml" in done.stdout


def test_an_agent_is_told_accepted_rules_alone(book: Path) -> None:
    from housequest.agent.setup import read_rules

    assert [rule.statement for rule in read_rules(str(book)).rules] == ["mugs lie in cabinets", "one holds one thing"]


@pytest.mark.heavy
def test_looking_at_rules_loads_no_screen(book: Path, tmp_path: Path) -> None:
    assert loaded(command("rules", "list", "book.yaml"), tmp_path) & ({*HEAVY} - {"ruamel"}) == set()


def test_a_dry_run_says_how_many_rules_and_tokens(book: Path, call: Run) -> None:
    asked = ("eval", "--split", "generated", "--limit", "3", "--agent", "react", "--model", "openai:NAME", "--dry-run")
    lines = call(*asked, "--rules", "book.yaml").stdout.splitlines()
    assert lines[2].startswith("Rules: 2 accepted in book.yaml, about 12 tokens; an episode is told those that matter, at most")
    assert lines[3].startswith("By its goal an episode begins with ")
    assert "Rules: " not in call(*asked, "--rules", "none").stdout
    told = call("eval", "--split", "generated", "--limit", "3", "--agent", "expert", "--rules", "book.yaml", "--dry-run")
    assert "The agent 'expert' takes none of these rules; it plays without 'book.yaml'." in told.stderr
    assert "Rules: " not in told.stdout
    frozen = json.loads(call(*asked, "--rules", "book.yaml", "--rules-budget", "77", "--json").stdout)
    assert frozen["configuration"]["rules"]["budget"] == 77
