"""The leave-one-out harness against a real endpoint: a planner that knows, one that copies, one that talks."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from scripts.leave_one_out import main
from tests.backends.policy import Solver
from tests.backends.server import Messages, Server, serve, slow

ARGUMENTS = ("--limit", "12", "--shots", "0,3", "--choose", "bm25,random")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Server]:
    with serve() as server:
        yield server


def copied(messages: Messages) -> str:
    """The plan of the first example, whatever the task."""
    found = re.search(r"^Next plan: (.+)$", messages[-1]["content"], re.MULTILINE)
    return found[1] if found else "Navigation egg"


def figures(lines: str) -> dict[tuple[str, str], list[str]]:
    """The rest of each row by strategy and number of shots."""
    rows = [line.split() for line in lines.splitlines()[1:]]
    return {(row[0], row[1]): row[2:] for row in rows}


@pytest.mark.heavy
def test_a_planner_that_knows_is_right_every_time(endpoint: Server, capsys: pytest.CaptureFixture[str]) -> None:
    endpoint.policy = Solver()
    assert main(["--model", endpoint.model(), *ARGUMENTS, "--wording", "pairs,lines", "--shots", "2"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 1 + 4
    assert all("12/12  100.0" in row for row in rows[1:])


def test_a_planner_that_copies_is_as_right_as_its_examples(endpoint: Server, capsys: pytest.CaptureFixture[str]) -> None:
    endpoint.policy = copied
    endpoint.requests.clear()
    assert main(["--model", endpoint.model(), *ARGUMENTS]) == 0
    rows = figures(capsys.readouterr().out)
    assert rows["bm25", "0"][1] == rows["random", "0"][1] == "0/12"
    assert int(rows["bm25", "3"][1].partition("/")[0]) >= int(rows["random", "3"][1].partition("/")[0])
    for request in endpoint.requests:
        tasks = re.findall(r"^Task description: (.+)$", request.messages[-1]["content"], re.MULTILINE)
        assert tasks[-1] not in tasks[:-1], "an example is planned for without itself"


def test_what_cannot_be_read_is_wrong_and_counted(endpoint: Server, capsys: pytest.CaptureFixture[str]) -> None:
    endpoint.policy = lambda messages: "I would rather not."
    assert main(["--model", endpoint.model(), "--limit", "2", "--shots", "1", "--choose", "bm25"]) == 0
    assert figures(capsys.readouterr().out)["bm25", "1"][1:3] == ["0/2", "0.0"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--choose", "nearset"),
        ("--shots", "many"),
        ("--shots", "900"),
        ("--wording", "verse"),
        ("--examples", "nowhere.jsonl"),
        ("--model", "openai:m@http://127.0.0.1:9/v1"),
    ],
)
def test_what_goes_wrong_is_said_in_a_line(
    endpoint: Server, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert main(["--model", endpoint.model(), "--limit", "1", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.strip()
    assert "Traceback" not in told


def test_an_endpoint_that_never_answers_is_waited_for_no_longer_than_said(
    endpoint: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint.behave(otherwise=slow(3_600))
    try:
        given = ("--limit", "1", "--shots", "1", "--choose", "bm25", "--timeout", "0.05")
        assert main(["--model", endpoint.model(), *given]) == 2
    finally:
        endpoint.reset()
    assert "0.05 s" in capsys.readouterr().err
