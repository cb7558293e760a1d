"""``housequest explore`` against an endpoint whose replies hold good, false, duplicate, contradictory and malformed rules."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from housequest.agent.episodes.record import with_digest
from housequest.knowledge.rulebook import library
from housequest.knowledge.rules import Rule
from tests.backends.server import Server, serve, status, together
from tests.backends.teacher import CABINETS, DRAWERS, FALSE, GOOD, LESSON, NO_SHELVES, NOT_THERE, SHELVES, THERE, Teacher
from tests.tui.conftest import COMMAND, Run, environment
from tests.waiting import ending

PLAY = ("explore", "--agent", "expert", "--split", "generated", "--episodes", "6", "--out", "run")
LAMPS = "Lamps give light."


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.reset()
    running.policy = Teacher()
    return running


def rules(book: str) -> dict[str, Rule]:
    return {rule.statement: rule for rule in library().open(book).rules}


def command(server: Server, *more: str) -> tuple[str, ...]:
    return (*PLAY, "--distiller", server.model(), *more)


@pytest.mark.heavy
def test_the_book_under_each_acceptance_and_what_was_dropped_and_why(call: Run, tmp_path: Path, server: Server) -> None:
    done = call(*command(server, "--into", "mine", "--json"))
    assert done.returncode == 0, done.stderr
    calls = len(server.requests)
    assert calls == 1 + 1 + 2, "a chunk, the pairs that look alike, and two disputes"
    left = {GOOD, FALSE, THERE, CABINETS, SHELVES, NO_SHELVES, LAMPS}

    mine = rules("mine")
    assert mine.keys() == left
    assert {rule.status for rule in mine.values()} == {"candidate"}
    assert mine[GOOD].standing == mine[THERE].standing == "supported"
    assert mine[FALSE].standing == "contradicted"
    assert mine[FALSE].evidence.against
    assert mine[LAMPS].check is None
    assert mine[CABINETS].evidence.supports == 0
    assert len(mine[CABINETS].evidence.witnesses) == 2, "the steps that it was read from"
    assert mine[CABINETS].standing == "undecided"
    assert [edit.was for edit in mine[SHELVES].history] == [mine[NO_SHELVES].id]
    assert [edit.did for edit in mine[GOOD].history] == ["merged"]

    report = json.loads(done.stdout)
    assert report["proposed"] == len(LESSON) == len(report["found"]) + len(report["dropped"])
    why = {dropped["statement"][:40]: (dropped["cause"], dropped["why"]) for dropped in report["dropped"]}
    good, there, cabinets = (mine[statement].id for statement in (GOOD, THERE, CABINETS))
    assert why["Opening the receptacle makes it OPEN"] == ("duplicate", f"{good} says it in the same words")
    assert why["A receptacle is open once you have opene"] == ("duplicate", f"{good} says it in other words, the model says")
    assert why[NOT_THERE][0] == "contradiction"
    assert why[NOT_THERE][1].startswith(f"{there} excludes it and has the evidence (0 for, ")
    assert why[DRAWERS[:40]] == ("contradiction", f"{cabinets} excludes it and is right, the model says")
    assert why["Nothing shows this."] == why["This is not of here."] == ("malformed", "it names no step that it was read from")
    assert why["x" * 40 if "x" * 40 in why else "'" + "x" * 39] == ("malformed", "it has more than 400 characters")
    assert why["..."] == ("malformed", "it is not a statement in words")
    (bad,) = report["checks"]
    assert (bad["statement"], "a check is COMMAND" in bad["why"]) == (LAMPS, True)
    notes = {found["statement"]: found["note"] for found in report["found"] if found["note"]}
    assert notes[FALSE] == "the records contradict it"
    assert notes.keys() == {FALSE, SHELVES, NO_SHELVES}
    written = json.loads((tmp_path / "run" / "report.json").read_text())
    assert written == {**report, "sha256": written["sha256"]}

    assert call(*command(server, "--into", "filtered", "--accept", "filter")).returncode == 0
    filtered = {statement: rule.status for statement, rule in rules("filtered").items()}
    assert filtered == dict.fromkeys(left, "accepted") | {SHELVES: "candidate", NO_SHELVES: "candidate"}

    assert call(*command(server, "--into", "proven", "--accept", "evidence")).returncode == 0
    proven = {statement: rule.status for statement, rule in rules("proven").items()}
    supported = {GOOD: "accepted", THERE: "accepted", FALSE: "rejected"}
    assert proven == dict.fromkeys(left, "candidate") | supported
    assert {rule.by for rule in rules("proven").values() if rule.status != "candidate"} == {"evidence"}

    text = call(*command(server, "--into", "mine"))
    assert "Dropped, since another one excludes them (2):" in text.stdout
    assert f"{mine[FALSE].id}: the records contradict it" in text.stdout
    assert len(server.requests) == calls, "no call is made twice"


@pytest.mark.heavy
def test_a_book_of_a_persons_keeps_all_that_is_in_it(call: Run, tmp_path: Path, server: Server) -> None:
    mine = "# my own\nformat: 0.2\nrules:\n- id: hands\n  statement: One thing fits into a hand.  # sure\n"
    mine += "- opening a receptacle makes it open\n"
    book = tmp_path / "mine.yaml"
    against = f"- id: shelves\n  statement: {SHELVES.replace('wise', 'very wise')}\n"
    book.write_text(mine + against)
    teacher = Teacher(like={frozenset({SHELVES.replace("wise", "very wise"), NO_SHELVES}): "contrary"})
    server.policy = teacher
    done = call(*command(server, "--into", "mine.yaml", "--accept", "filter"))
    assert done.returncode == 0, done.stderr
    text = book.read_text()
    assert text.startswith(mine + against)
    assert "the book has it in the same words: rule-2 (accepted)" in done.stdout
    added = {rule.statement: rule for rule in library().open("mine.yaml").rules}
    assert GOOD not in added
    assert added[NO_SHELVES].status == "candidate"
    assert added[NO_SHELVES].history[-1].was == "shelves"
    # What a person then does to a rule of the exploration stays, whatever is accepted later.
    book.write_text(text.replace(f"statement: {CABINETS}", "statement: Cabinets first!"))
    edited = book.read_text()
    again = call(*command(server, "--into", "mine.yaml", "--accept", "evidence"))
    assert again.returncode == 0, again.stderr
    assert book.read_text().startswith(mine + against)
    assert "Cabinets first!" in book.read_text()
    assert book.read_text() == edited


@pytest.mark.heavy
def test_candidates_of_an_exploration_are_accepted_by_evidence_later(call: Run, server: Server) -> None:
    assert call(*command(server)).returncode == 0
    calls = len(server.requests)
    assert call(*command(server, "--accept", "evidence")).returncode == 0
    assert len(server.requests) == calls
    assert {statement for statement, rule in rules("explored").items() if rule.status == "accepted"} == {GOOD, THERE}


@pytest.mark.heavy
def test_the_book_that_it_names_is_there(call: Run) -> None:
    # Nothing was found, a folder has the name, and the book was taken away after it was reported.
    play = ("explore", "--agent", "expert", "--split", "generated", "--into", "expl", "--out", "expl")
    for _ in range(2):
        done = call(*play, "--episodes", "1")
        assert done.returncode == 0, done.stderr
        path = library().find("expl")
        assert f"book      expl, in {path}" in done.stdout
        assert path.is_file()
        assert call("rules", "list", "expl").returncode == 0
        path.unlink()


@pytest.mark.heavy
def test_killed_when_the_book_was_saved_and_the_report_was_not(call: Run, tmp_path: Path, server: Server) -> None:
    line = command(server, "--into", "mine.yaml", "--accept", "evidence")
    whole = call(*line)
    book = (tmp_path / "mine.yaml").read_bytes()
    (tmp_path / "run" / "report.json").unlink()
    calls = len(server.requests)
    again = call(*line)
    assert (again.returncode, again.stdout) == (0, whole.stdout)
    assert (tmp_path / "mine.yaml").read_bytes() == book
    assert len(server.requests) == calls


@pytest.mark.heavy
def test_other_runs_are_evidence_but_none_of_a_split_for_evaluation(call: Run, tmp_path: Path, server: Server) -> None:

    few = (
        "explore",
        "--agent",
        "expert",
        "--split",
        "generated",
        "--episodes",
        "1",
        "--distiller",
        server.model(),
        "--out",
        "few",
    )
    play = ("eval", "--agent", "expert", "--split", "generated:500100..500119", "--out", "more")
    held_out = ("eval", "--agent", "expert", "--split", "generated", "--limit", "1", "--out", "held-out")
    assert [call(*line).returncode for line in (few, play, held_out)] == [0, 0, 0]
    assert rules("explored")[GOOD].standing == "undecided"
    done = call(*few, "--evidence", "more", "--accept", "evidence")
    assert (done.returncode, "evidence  from more too" in done.stdout) == (0, True)
    assert rules("explored")[GOOD].status == "accepted"
    assert rules("explored")[GOOD].evidence.witnesses[0].startswith("more/")
    manifest = tmp_path / "more" / "run.json"
    forged = json.loads(manifest.read_text().replace('"split": "generated"', '"split": "valid_seen"'))
    # With a digest of its own, so that nothing else is wrong with it.
    del forged["sha256"]
    manifest.write_text(with_digest(f"{json.dumps(forged, indent=2)}\n"))
    refused = call(*few, "--evidence", "more")
    assert (refused.returncode, "--evidence: 'valid_seen' is for evaluation" in refused.stderr) == (2, True)
    assert [call(*few, "--evidence", place).returncode for place in ("nowhere", "held-out")] == [2, 2]


@pytest.mark.heavy
def test_a_budget_stops_it_at_any_call_and_the_same_command_goes_on(call: Run, tmp_path: Path, server: Server) -> None:
    server.policy = Teacher(lessons=["\n\n".join(LESSON)])
    flags = ("--chunk-steps", "9", "--concurrency", "2")
    # Free replies, so that nothing is asked of the model beside them.
    play = ("explore", "--agent", "react", "--set", "form=free", "--model", server.model(), "--split", "generated")
    flags += ("--episodes", "2")
    assert call(*play, *flags, "--out", "whole", "--into", "whole.yaml").returncode == 0
    calls = len(server.requests)
    learned = len((tmp_path / "whole" / "calls.jsonl").read_text().splitlines())
    server.requests.clear()
    assert learned > 4
    stops = [3, *range(calls - learned, calls)]
    for allowed in stops:
        done = call(*play, *flags, "--out", "again", "--into", "again.yaml", "--budget", f"calls={allowed}")
        assert done.returncode == 130, done.stderr
        assert f"budget of {allowed} calls is used up" in done.stderr
        assert len(server.requests) == allowed
        assert not (tmp_path / "again.yaml").exists()
    assert call(*play, *flags, "--out", "again", "--into", "again.yaml", "--budget", f"calls={calls}").returncode == 0
    assert len(server.requests) == calls
    told = (tmp_path / "whole.yaml").read_text().replace("over whole", "over again").replace("whole/", "again/")
    assert (tmp_path / "again.yaml").read_text() == told


@pytest.mark.heavy
def test_any_number_of_workers_comes_to_the_same(call: Run, tmp_path: Path, server: Server) -> None:
    books: list[str] = []
    server.policy = Teacher(lessons=["\n\n".join(LESSON)])
    for workers in ("1", "4"):
        out = tmp_path / workers / "run"
        flags = ("--out", str(out), "--into", f"{workers}.yaml", "--concurrency", workers, "--chunk-steps", "7")
        assert call(*command(server, *flags)).returncode == 0
        books.append((tmp_path / f"{workers}.yaml").read_text())
    assert books[0] == books[1]
    one, other = (json.loads((tmp_path / each / "run" / "report.json").read_text()) for each in ("1", "4"))
    own = {"into": "", "sha256": ""}
    assert one | own == other | own


@pytest.mark.heavy
def test_without_a_model_it_counts_and_says_so(call: Run, tmp_path: Path) -> None:
    play = ("explore", "--agent", "expert", "--split", "generated", "--episodes", "30", "--curiosity", "0.5")
    done = call(*play, "--accept", "evidence", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "by counting alone: no model was named that could distil" in done.stdout
    assert {rule.by for rule in rules("explored").values() if rule.standing == "supported"} == {"evidence"}
    assert "chance's" in done.stdout
    record = "".join(file.read_text() for file in (tmp_path / "run" / "episodes").iterdir())
    assert '"by":"curiosity"' in record
    assert '"curiosity":0.5' in record
    before = (tmp_path / "run" / "report.json").read_bytes()
    assert call(*play, "--accept", "evidence", "--out", "run").stdout == done.stdout
    assert (tmp_path / "run" / "report.json").read_bytes() == before
    refused = call(*play, "--accept", "filter", "--out", "run")
    assert (refused.returncode, "--distiller" in refused.stderr) == (2, True)


@pytest.mark.heavy
def test_a_changed_configuration_is_refused_with_the_difference(call: Run, tmp_path: Path, server: Server) -> None:
    call(*command(server))
    for flags, told in (
        (("--chunk-steps", "5"), "chunk_steps: 80 is now 5"),
        (("--curiosity", "0"), "configuration.curiosity: 0.2 is now None"),
        (("--distiller", "none"), "distiller: 'openai:tester' is now None"),
    ):
        done = call(*command(server), *flags)
        assert (done.returncode, told in done.stderr, done.stdout) == (2, True, ""), done.stderr


def test_a_dry_run_says_what_rules_the_agent_is_told(call: Run, tmp_path: Path) -> None:
    (tmp_path / "told.yaml").write_text("format: 0.2\nrules:\n- mugs lie in cabinets\n")
    asked = ("explore", "--split", "generated", "--episodes", "2", "--rules", "told.yaml", "--rules-budget", "77", "--dry-run")
    model = "openai:x@http://127.0.0.1:9/v1"
    assert "at most about 77 tokens" in call(*asked, "--agent", "react", "--model", model).stdout
    told = call(*asked, "--agent", "expert")
    assert "The agent 'expert' takes none of these rules" in told.stderr
    assert "Rules: " not in told.stdout


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--curiosity", "2"), "probability"),
        (("--curiosity", "nan"), "probability"),
        (("--episodes", "0"), "episodes"),
        (("--chunk-tokens", "0"), "chunk-tokens"),
        (("--accept", "everyone"), "person"),
        (("--accept", "evidense"), "Did you mean 'evidence'?"),
        (("--split", "valid_seen"), "for evaluation"),
        (("--into", "broken.yaml"), "broken.yaml:1"),
        (("--into", "."), "it is a folder"),
        (("--into", "no-such/\0"), "not the name of a rulebook"),
        (("--into", ""), "not the name of a rulebook"),
        (("--distiller", "scripted:nowhere.yaml"), "nowhere.yaml"),
        (("--budget", "money=1", "--distiller", "openai:x@http://127.0.0.1:9/v1"), "price"),
    ],
)
def test_wrong_usage(flags: tuple[str, ...], told: str, call: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("!!python/object:os.system {}")
    done = call(*PLAY, *flags)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_chunk_that_failed_is_an_exit_code_and_tried_again(call: Run, server: Server) -> None:
    server.behave(status(413), status(413))
    done = call(*command(server))
    assert done.returncode == 1
    assert "chunk 1: The model answered 413" in done.stdout
    assert "The same command tries it again." in done.stdout
    assert call(*command(server)).returncode == 0
    assert GOOD in rules("explored")


@pytest.mark.heavy
def test_a_book_that_became_read_only_costs_no_call(call: Run, tmp_path: Path, server: Server) -> None:
    book = tmp_path / "mine.yaml"
    book.write_text("format: 0.2\nrules:\n- be quick\n")
    book.chmod(0o444)
    refused = call(*command(server, "--into", "mine.yaml"))
    assert (refused.returncode, "read-only" in refused.stderr) == (2, True)
    assert book.read_text() == "format: 0.2\nrules:\n- be quick\n"
    calls = len(server.requests)
    book.chmod(0o644)
    assert call(*command(server, "--into", "mine.yaml")).returncode == 0
    assert len(server.requests) == calls


def killed(folder: Path, server: Server, line: tuple[str, ...], at: int) -> None:
    """Start the command, and kill it once ``at`` more requests have come, of which the last is never answered."""
    before = len(server.requests)
    if at > 1:
        server.behave(*[server.otherwise] * (at - 1))
    otherwise = server.otherwise
    server.behave(otherwise=together(1_000))
    with ending(subprocess.Popen([*COMMAND, *line], cwd=folder, env=environment(), stderr=subprocess.DEVNULL)) as process:
        server.await_requests(before + at, process)
        process.kill()
    server.behave(otherwise=otherwise)


def go_on_after_kills(folder: Path, call: Run, server: Server, kills: list[int]) -> None:
    line = (*command(server, "--chunk-steps", "9", "--into", "run.yaml"),)
    assert call(*line, "--into", "whole.yaml").returncode == 0
    calls = len(server.requests)
    (folder / "run").rename(folder / "whole")
    server.requests.clear()
    server.policy = Teacher()
    for at in kills:
        killed(folder, server, line, at)
    assert call(*line).returncode == 0
    assert len(server.requests) == calls + len(kills), "what was in flight is asked again, and nothing else"
    assert (folder / "run.yaml").read_text() == (folder / "whole.yaml").read_text()


@pytest.mark.heavy
def test_killed_while_it_learns(call: Run, tmp_path: Path, server: Server) -> None:
    go_on_after_kills(tmp_path, call, server, [2])


@pytest.mark.slow
def test_killed_at_every_call(call: Run, tmp_path: Path, server: Server) -> None:
    go_on_after_kills(tmp_path, call, server, [1, 2, 2, 2, 1])


@pytest.mark.games
def test_train_is_explored_unless_told_otherwise(alfworld_games: Path, call: Run) -> None:
    flags = ("--agent", "expert", "--episodes", "12", "--seed", "3", "--out", "run", "--json")
    done = call("explore", *flags, ALFWORLD_DATA=str(alfworld_games))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["distiller"], report["played"]["episodes"]) == (None, 12)
    assert report["found"]
    assert {rule.origin.source for rule in rules("explored").values()} == {"run"}


@pytest.mark.heavy
def test_shards_play_what_one_machine_learns_from(call: Run, server: Server) -> None:
    *line, _ = PLAY
    asked = ("--distiller", server.model(), "--into")
    assert call(*line, "one", *asked, "one-book").returncode == 0
    calls = len(server.requests)
    for number in (1, 2):
        done = call(*line, f"part-{number}", *asked, "book", "--shard", f"{number}/2")
        assert done.returncode == 0, done.stderr
        assert "learns from it" in done.stdout
    assert len(server.requests) == calls, "a shard plays, and learns nothing"
    assert call("merge", "part-1", "part-2", "--out", "merged").returncode == 0
    done = call(*line, "merged", *asked, "book")
    assert done.returncode == 0, done.stderr
    assert rules("book").keys() == rules("one-book").keys() != set()
