"""A rulebook is read as rules, or refused with its file, line and field; what is changed in it leaves the rest as it was."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.knowledge.checks import parse_check
from housequest.knowledge.rulebook import LARGEST_FILE, Rulebook, parse_book, read_book
from housequest.knowledge.rules import (
    KINDS,
    STATUSES,
    DecidedBy,
    Edit,
    EditKind,
    Evidence,
    MeasuredChange,
    Origin,
    Rule,
    RuleField,
    Source,
    Worth,
)
from housequest.worlds.errors import KnowledgeError

HEAD = "format: 0.2\nrules:\n"

FULL = """\
# What we know of heat.
format: 0.2
rules:

- mugs lie
  in cabinets  # said Anne
# The next one took long to find out.
- id: heat  # never to be renamed
  # Seen in all kitchens.
  statement: >
    a microwave
    heats
  kind: mechanic
  types: [pick_heat_then_place_in_recep]
  objects: [mug,
    egg]
  status: candidate
  by: filter
  origin: {source: model, name: gpt}
  check: heat {object} with {receptacle}; when holding {object}; then {object} is hot
  evidence:
    supports: 12  # Anne counted these
    contradicts: 1
    witnesses: [run/0001/12]
    against: [run/0002/7]
  history:
  - {did: edited, was: heat heats}  # told by Anne
  - {did: edited, field: kind, was: affordance, date: 2026-01-31}

- {id: cold, statement: "a fridge: cools"}
# the end
"""

HEAT = Rule(
    id="heat",
    statement="a microwave heats",
    kind="mechanic",
    types=("pick_heat_then_place_in_recep",),
    objects=("mug", "egg"),
    status="candidate",
    by="filter",
    origin=Origin("model", "gpt"),
    check=parse_check("heat {object} with {receptacle}; when holding {object}; then {object} is hot"),
    evidence=Evidence(12, 1, ("run/0001/12",), ("run/0002/7",)),
    history=(Edit("edited", was="heat heats"), Edit("edited", "kind", was="affordance", date=date(2026, 1, 31))),
)


def book(folder: Path, text: str) -> Path:
    path = folder / "book.yaml"
    path.write_bytes(text.encode())
    return path


def parsed(text: str) -> Rulebook:
    return parse_book(Path("book.yaml"), text.encode())


def listed(rules: str) -> Rulebook:
    return parsed(HEAD + rules)


def test_statements_and_whole_rules_are_read(tmp_path: Path) -> None:
    rules = (Rule("rule-1", "mugs lie in cabinets"), HEAT, Rule("cold", "a fridge: cools"))
    assert read_book(book(tmp_path, FULL)).rules == rules


def test_a_list_written_by_hand_is_accepted_by_a_person() -> None:
    (rule,) = listed("- mugs lie in cabinets\n").rules
    assert (rule.status, rule.by, rule.origin) == ("accepted", "person", Origin("person"))


def test_what_a_model_said_is_not_accepted_by_default() -> None:
    (rule,) = listed("- {statement: a, origin: {source: model}}\n").rules
    assert rule.status == "candidate"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing yet\n",
        "---\n",
        "format: 0.2",
        "format: '0.2'\n",
        "format: 0.2\nrules:  # none\n",
        "rules: []\nformat: 0.2\n",
    ],
)
def test_an_empty_book_has_no_rules_and_takes_some(text: str) -> None:
    empty = parsed(text)
    assert empty.rules == ()
    assert empty.put([HEAT]).rules == (HEAT,)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- 3", "book.yaml:3: rule 1, statement: .*in words"),
        ("- a\n- {statment: b}", "book.yaml:4: rule 2, statment: this field is not known. Did you mean 'statement'"),
        ("- {id: x}", "book.yaml:3: rule 1, statement: this is missing"),
        ("- {id: x, statement: a}\n\n- {id: x, statement: b}", "book.yaml:5: .*two rules.*line 3"),
        ("- a\n- {id: rule-1, statement: b}", "two rules"),
        ("- [", "book.yaml:.*not valid YAML"),
        ("- &a x\n- *a", "anchors"),
        ("- !!python/object:os.system x", "book.yaml:3: the tag"),
        ("- !secret x", "book.yaml:3: the tag"),
        (f"- !{'x' * 900_000} y", "book.yaml:3: the tag"),
        (f"- {'x' * 3000}", "book.yaml:3: rule 1, statement: this has at most"),
        (" " + "[" * 20_000, "nested too deep"),
        ("- " * 50 + "a", "nested too deep"),
        (" " + "[" * 2_500, "book.yaml:3: this is nested too deep"),
        ("- a\n- " + "{a: " * 2_500, "book.yaml:4: this is nested too deep"),
        ("- a\n- *b\n- [", "book.yaml:4: YAML anchors"),
        ("- a\n--- \n- b", "book.yaml:4: this is not valid YAML: 'but found another document'"),
        (
            "- id: x\n  statement: a\n  status: acepted",
            "book.yaml:5: rule 1, status: this must be one of .*, not 'acepted'. Did you mean 'accepted'",
        ),
        ("- id: x\n  statement: a\n  objects: mug", "book.yaml:5: rule 1, objects: .*list"),
        ("- id: x\n  statement: a\n  check: take it", "book.yaml:5: rule 1, check: "),
        ("- id: x\n  statement: a\n  evidence: {supports: -1}", "supports: this must be at least 0, not '-1'"),
        (
            "- id: x\n  statement: a\n  evidence: {support: 1}",
            "evidence.support: this field is not known. Did you mean 'supports'",
        ),
        ("- id: x\n  statement: a\n  history: [{by: person}]", "history.did: this is missing"),
        (
            "- id: x\n  statement: a\n  history: [{did: edited, field: checks}]",
            "field: this must be one of .*, not 'checks'. Did you mean 'check'",
        ),
        (
            "- id: x\n  statement: a\n  history:\n  - {did: edited, date: 2026-13-01}",
            "book.yaml:6: .*history.date: .*not a date such",
        ),
        ("- id: x\n  id: y\n  statement: a", "book.yaml:4: 'id' is there twice"),
        ("- id: x y\n  statement: a", "id: this must be a word of letters"),
        ('- "a\\x1bb"', "cannot be printed"),
        ('- "a\\ud800b"', "cannot be printed"),
        ('- "\\UFFFFFFFF"', "book.yaml: this is not valid YAML"),
        ("- 2020-01-01", "must be a text"),
        ("- {<<: {statement: a}}", "rule 1, <<: this field is not known"),
        ("- a\n---\n- b\n", "not valid YAML"),
        ("- id: ~\n  statement: a", "book.yaml:3: rule 1, id: this must be a text"),
        ("- statement: null", "book.yaml:3: rule 1, statement: this must be a text"),
    ],
    ids=range(35),
)
def test_a_wrong_book_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(KnowledgeError, match=reason):
        listed(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "# ours\n- mugs lie in cabinets\n",
            "2: this is a bare list; write the lines `format: 0.2` and `rules:` above its first",
        ),
        ("[]\n", "1: this is a bare list"),
        ("mugs lie in cabinets", "1: this is only a text; write the lines `format: 0.2` and `rules:`"),
        ("null\n", "1: this is only a text"),
        ("world: alfworld\nrules: [a]\n", "1: this names no format; write the line `format: 0.2` at its top."),
        (
            "rules:\n- a\nformat: 0.3",
            "3: format: this book has the format '0.3', and only 0.2 is read here; write `format: 0.2` there",
        ),
        ("format: [0.2]\nrules:\n- a", "1: format: this book has the format"),
        ("format: 0.2\nrules: x", "2: rules: this must be a list"),
        ("format: 0.2\nrule: []", "2: rule: this field is not known. Did you mean 'rules'"),
        ("format: 0.2\nworld: ~\nrules: [a]", "2: world: this must be a text"),
    ],
)
def test_what_is_no_book_of_this_format_is_refused_with_what_to_write(text: str, reason: str) -> None:
    with pytest.raises(KnowledgeError, match=rf"^book\.yaml:{re.escape(reason)}"):
        parsed(text)


def test_an_alias_bomb_is_refused_at_once() -> None:
    levels = ["- &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"- &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]" for number in range(1, 40)]
    with pytest.raises(KnowledgeError, match="anchors"):
        listed("\n".join(levels))


@pytest.mark.parametrize("size", [LARGEST_FILE + 1, 10_000_000])
def test_a_huge_book_is_refused_by_its_size(size: int, tmp_path: Path) -> None:
    path = book(tmp_path, HEAD + "- a\n" * (size // 4 + 1))
    with pytest.raises(KnowledgeError, match="it has more than 1,000,000 bytes"):
        read_book(path)


@pytest.mark.parametrize("name", ["nowhere.yaml", "", "a\0b"])
def test_what_is_no_file_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="cannot be read"):
        read_book(tmp_path / name)


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    with pytest.raises(KnowledgeError, match=r"book\.yaml:4: .*UTF-8"):
        parse_book(Path("book.yaml"), HEAD.encode() + b"- a\n- \xff\n")


@given(
    st.sampled_from([b"", HEAD.encode()]),
    st.one_of(st.binary(max_size=300), st.text("-[]{}&*!|>#:?%@`'\" \n\tab1.", max_size=120).map(str.encode)),
)
def test_any_bytes_are_rules_or_a_knowledge_error(head: bytes, content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "book.yaml"
        path.write_bytes(head + content)
        try:
            rules = read_book(path).rules
        except KnowledgeError as error:
            assert "book.yaml" in str(error)
        else:
            assert all(rule.statement for rule in rules)


# What is changed, and what is not.


def test_only_the_lines_of_a_changed_rule_change() -> None:
    before = parsed(FULL)
    after = before.put([before.rule("cold").judged("rejected")])
    kept = FULL.splitlines()[:-2]
    assert after.text.splitlines()[: len(kept)] == kept
    assert after.text.splitlines()[-1] == "# the end"
    assert after.rule("cold").status == "rejected"
    assert after.rule("cold").history == (Edit("rejected"),)


def test_comments_within_a_changed_rule_stay() -> None:
    before = parsed(FULL)
    counted = before.rule("heat").examined(Evidence(13, 0, ("run/0001/12", "run/0003/2")))
    after = before.put([counted.judged("accepted"), before.rule("rule-1").judged("rejected")])
    comments = [line.partition("#")[2] for line in FULL.splitlines() if "#" in line]
    assert [line.partition("#")[2] for line in after.text.splitlines() if "#" in line] == comments
    assert [rule.id for rule in after.rules] == ["rule-1", "heat", "cold"]


def test_a_field_that_goes_leaves_the_comments_below_it() -> None:
    before = listed(
        "- id: a\n  statement: |\n    a\n    # no comment\n  types: [x]\n  # of the evidence\n"
        "  evidence:\n    supports: 1\n  # why it was accepted\n  history:\n  - did: accepted\n- id: b\n  statement: b\n"
        "  evidence: {supports: 1}\n  # to be looked at\n"
    )
    rule, other = before.rules
    after = before.put([rule.edited(replace(rule, statement="b", types=())), other.edited(replace(other, statement="c"))])
    a, b = after.text.split("- id: b")
    assert "evidence:" not in after.text.replace("field: evidence", "")
    assert "  # of the evidence\n  # why it was accepted\n  history:" in a
    assert b.endswith("  # to be looked at\n")
    assert after.text.count("# no comment") == 1, "in what it was"


def test_what_a_person_did_is_dated_and_what_was_done_before_is_not() -> None:
    before = parsed(FULL)
    day = date(2026, 11, 21)
    heat = before.rule("heat").edited(replace(HEAT, kind=None, types=(), objects=("egg", "mug")))
    after = before.put(
        [heat.judged("accepted"), before.rule("rule-1").judged("rejected"), Rule("new", "b").judged("rejected")], day
    )
    assert after.text.count("date: 2026-11-21") == 6
    assert "  - {did: edited, field: objects, was: 'mug, egg', date: 2026-11-21}\n  - {did: accepted, date:" in after.text
    assert [edit.date for edit in after.rule("heat").history[:2]] == [None, date(2026, 1, 31)]
    assert parsed(after.text).rules == after.rules


@pytest.mark.parametrize(
    "text",
    [
        "format: 0.2\nrules: [a, {id: b, statement: c}]  # in brackets\n",
        "format: 0.2\nrules: [\n  # the first\n  a,\n  b,\n  ]\nworld: alfworld\n",
        f"{HEAD}  - a\n  # further in\n  - b\n",
        f"{HEAD}- a\n# windows\n- b\n".replace("\n", "\r\n"),
        f"\ufeff{HEAD}- a  # mark\n- b\n",
        f"{HEAD}-\n  id: x\n  statement: |\n    a\n    # no comment\n\n- b",
        f"# top\n{HEAD}- a\n-   b\n",
        f"---\n{HEAD}- a\n- b # c\n",
        "rules:\n  - {id: a, # of a\n     statement: a}  # and\n  - a: b\n# no rules\nformat: 0.2\n".replace(
            "a: b", "id: b\n    statement: b"
        ),
    ],
    ids=range(9),
)
def test_however_it_is_written_it_can_be_changed(text: str) -> None:
    before = parsed(text)
    changed = [replace(rule, statement=f"{rule.statement} indeed", status="candidate") for rule in before.rules]
    after = before.put([changed[1], Rule("new", "something: new")])
    assert after.rules == (before.rules[0], changed[1], Rule("new", "something: new"))
    both = after.put([changed[0]])
    assert both.rules == (changed[0], *after.rules[1:])
    assert parse_book(before.path, both.text.encode()).rules == both.rules
    assert both.text.count("#") == text.count("#")
    assert both.world == before.world
    assert ("\r\n" in both.text) == ("\r\n" in text)
    assert both.text.startswith("\ufeff") == text.startswith("\ufeff")


def test_a_change_of_nothing_changes_nothing() -> None:
    before = parsed(FULL)
    assert before.put(before.rules) is before


@pytest.mark.parametrize("mark", [*"?-:,[]{}#&*!|>'\"%@`~=<"])
def test_a_text_that_begins_with_a_mark_of_yaml_is_kept(mark: str) -> None:
    rule = Rule("9", f"{mark}0", objects=(f"{mark}0", mark), history=(Edit("edited", was=f"{mark}0"), Edit("edited", was=mark)))
    assert parsed("# ours\n").put([rule]).rules == (rule,)


def test_what_a_book_cannot_hold_is_refused() -> None:
    with pytest.raises(KnowledgeError, match="was not changed"):
        parsed(FULL).put([Rule("bell", "ring \x07")])
    with pytest.raises(KnowledgeError, match="was not changed"):
        parsed(FULL).put([Rule("long", "x" * 3_000)])


TEXTS = st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20), min_size=1, max_size=3).map(
    " ".join
)
WORDS = st.lists(TEXTS, max_size=3).map(tuple)
CHECKS = st.sampled_from([None, HEAT.check, parse_check('look; then says "a: b # c"')])
EVIDENCE = st.builds(Evidence, st.integers(1, 99), st.integers(0, 99), WORDS, WORDS)
NUMBERS = st.floats(-1e6, 1e6)
CHANGES = st.builds(MeasuredChange, NUMBERS) | st.builds(MeasuredChange, NUMBERS, NUMBERS, NUMBERS)
WORTHS = st.builds(Worth, CHANGES, CHANGES, st.integers(0, 99), st.sampled_from(["book", "nothing"]), TEXTS, TEXTS)
EDITS = st.builds(
    Edit,
    st.sampled_from(get_args(EditKind)),
    st.sampled_from([None, *get_args(RuleField)]),
    st.sampled_from(get_args(DecidedBy)),
    st.just("") | TEXTS,
    st.none() | st.dates(),
)
RULES = st.builds(
    Rule,
    id=st.text("abcäß-_.9", min_size=1, max_size=8),
    statement=TEXTS,
    kind=st.sampled_from([None, *KINDS]),
    types=WORDS,
    objects=WORDS,
    status=st.sampled_from(STATUSES),
    by=st.sampled_from(get_args(DecidedBy)),
    origin=st.builds(Origin, st.sampled_from(get_args(Source)), st.just("") | TEXTS),
    check=CHECKS,
    evidence=st.just(Evidence()) | EVIDENCE,
    worth=st.lists(WORTHS, max_size=2).map(tuple),
    history=st.lists(EDITS, max_size=3).map(tuple),
)


@pytest.mark.heavy
@settings(max_examples=25)
@given(st.lists(RULES, min_size=1, max_size=4, unique_by=lambda rule: rule.id), st.lists(RULES, min_size=1, max_size=2))
def test_what_is_put_is_what_is_read(first: list[Rule], second: list[Rule]) -> None:
    book = parsed("# ours\n").put(first)
    assert book.rules == tuple(first)
    changed = [replace(rule, id=first[-1].id) for rule in second][-1]
    after = book.put([changed])
    assert after.rules == (*first[:-1], changed)
    assert parse_book(book.path, after.text.encode()).rules == after.rules
    assert after.text.startswith("# ours\n")


COMMENTED = """\
# top
format: "0.2"   # of the format
rules:   # of the list
  # before the first
  - types: [a, b]  # of types
    # before the statement
    statement: 'one # is no comment'   # of the statement
    objects: # of objects
    # before x
    - x  # of x
    - y
    kind: location
    # after the first
  -   id: two
      evidence: # of evidence
        supports: 3 # of supports
        witnesses: # of witnesses
        - a/b/1
        against: [c/d/1, # of the one against
          c/d/2]
      statement: >-  # of what is folded
        # is no comment
        text
      # before history
      history:
      # before did
      - did: edited # of did
        was: old
      # after did

  - {id: three, # of three
     statement: x y}   # after three
  - four
    words # of words
  # after the last
world: alfworld # of the world
# end
"""


@pytest.mark.heavy
@settings(max_examples=40)
@given(st.lists(RULES, min_size=4, max_size=4), st.sets(st.integers(0, 3)), st.sampled_from(["\n", "\r\n"]))
def test_whatever_changes_no_comment_goes_and_no_other_rule_is_touched(rules: list[Rule], places: set[int], end: str) -> None:
    before = parsed(COMMENTED.replace("\n", end))
    changed = [replace(rules[place], id=before.rules[place].id) for place in places]
    after = before.put([*changed, Rule("new", "a: b")])
    assert before.page.listed is not None
    assert (after.world, len(after.rules)) == ("alfworld", 5)
    for comment in re.findall(r"# (?:top|end|of|before|after)[a-z ]*", COMMENTED):
        assert comment in after.text
    for at in set(range(4)) - places:
        item = before.page.listed.value[at]
        assert before.text[item.start_mark.index : item.end_mark.index].rstrip(" ") in after.text
    assert after.text.count("\n") == after.text.count(end)
