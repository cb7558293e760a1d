"""Replies that mean harm, or are just broken: nothing is run or lost, the book can be read, the report says why."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.config import configure
from housequest.agent.evaluation.runs.batch import RunOptions
from housequest.agent.evaluation.runs.budget import BudgetTracker
from housequest.agent.explorer.explore import ExploreTarget, explore
from housequest.agent.explorer.plan import ExplorationReport, ExploreOptions, plan_exploration
from housequest.knowledge.rulebook import read_book
from housequest.tui.explorer import report_lines
from tests.backends.server import Server, saying, serve, status
from tests.backends.teacher import GOOD, LESSON, Teacher, rule

BOMB = "a: &a [x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a]\nrules: &c [*b, *b, *b, *b, *b, *b, *b]\n"
HOSTILE = {
    "a megabyte": "Rule: " + "x" * 1_000_000,
    "a megabyte of rules": "\n\n".join(rule(f"Rule number {n} of many.", steps="1") for n in range(12_000)),
    "markup": rule("[bold red]Open[/] the <script>alert(1)</script> {{config}} $$ ${HOME} %s", steps="1"),
    "control": rule("Be\x1b[2J quick\x00 and \u202e backwards.", steps="1"),
    "surrogates": rule("Be quick \ud800 \udfff now.", steps="1"),
    "a bomb": BOMB * 50,
    "python": "!!python/object/apply:os.system ['touch pwned']",
    "json": "[" * 100_000,
    "numbers": f'[{{"rule": "Be quick.", "steps": {"9" * 5_000}}}]',
    "yaml in a rule": rule("- {id: *a, statement: !!binary x} # not a comment: '\"", steps="1", objects="*a, !x, &b, mug"),
    "empty": "",
    "checks": "\n\n".join(
        rule(f"Check {n} is odd.", steps="1", check=check)
        for n, check in enumerate(
            ["then " * 200, '{x}; then says "' + "...a" * 200 + '"', "open {__class__}; then refused", "\u202e"]
        )
    ),
}


def learn(folder: Path, server: Server, book: Path) -> ExplorationReport:
    """Explore with what is in ``folder`` already, so that nothing is played twice."""
    flags = configure({"agent": "expert", "split": "generated"}, folder)
    exploration = plan_exploration(flags, ExploreOptions(episodes=2, distiller=server.model()))
    (folder / "run" / "report.json").unlink(missing_ok=True)
    (folder / "run" / "calls.jsonl").unlink(missing_ok=True)
    return asyncio.run(explore(exploration, folder / "run", ExploreTarget(str(book), "filter"), RunOptions(), BudgetTracker()))


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.reset()
    running.policy = Teacher(lessons=["\n\n".join(LESSON)])
    return running


@pytest.mark.heavy
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_replies(name: str, tmp_path: Path, server: Server) -> None:
    server.behave(saying(HOSTILE[name]))
    report = learn(tmp_path, server, tmp_path / "book.yaml")
    text = "\n".join(report_lines(report, tmp_path))
    assert all(line.isprintable() for line in text.splitlines())
    assert len(text) < 100_000
    assert not (tmp_path / "pwned").exists()
    assert report.proposed == len(report.found) + len(report.dropped)
    if (tmp_path / "book.yaml").exists():
        assert {each.id for each in read_book(tmp_path / "book.yaml").rules} == {each.id for each in report.found}
    if name in {"a bomb", "python", "json", "empty"}:
        assert GOOD in {each.statement for each in report.found}, "it was asked again"


@pytest.mark.heavy
def test_any_statements_become_a_book_that_can_be_read(tmp_path: Path, server: Server) -> None:
    book, teacher = tmp_path / "book.yaml", Teacher()
    server.policy = teacher

    @settings(max_examples=10, deadline=None)
    @given(statements=st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=8))
    def holds(statements: list[str]) -> None:
        book.unlink(missing_ok=True)
        teacher.lessons = ["\n\n".join(rule(each, steps="1, 2", objects=each) for each in statements) or "Rules: none"]
        report = learn(tmp_path, server, book)
        written = read_book(book).rules if book.exists() else ()
        assert [each.statement for each in written] == [each.statement for each in report.found]

    holds()


def test_judges_that_cannot_be_understood_leave_it_to_a_person(tmp_path: Path, server: Server) -> None:
    server.behave(saying("\n\n".join(LESSON)), *[saying("I would rather not.")] * 2)
    report = learn(tmp_path, server, tmp_path / "book.yaml")
    assert [lost.what for lost in report.lost] == ["judgement 1"]
    assert not report.lost[0].again
    assert len(report.found) > 7, "nothing counts as the same, or as contrary"


def test_a_reply_that_fills_the_context_is_told_before_the_error_that_came_of_it(tmp_path: Path, server: Server) -> None:
    full = {"error": {"message": "the request exceeds the context of 4096 tokens", "code": 400}}
    looping = "Look at the shelf. " * 60
    server.behave(saying(looping, finish="length"), *[status(400, full)] * 3)
    report = learn(tmp_path, server, tmp_path / "book.yaml")
    (lost,) = report.lost
    assert lost.why.startswith("Its reply could not be read: there is no line that begins")
    assert "Asked again, it failed: " in lost.why
    assert "exceeds the context" in lost.why
    assert len(server.requests[1].messages[2]["content"]) < 300, "only the beginning of it stays in the conversation"
