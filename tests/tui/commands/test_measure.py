"""``housequest rules measure``: both runs are played, paired, gone on with, and refused where rules can have no effect."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.evaluation.runs.measurement import plan_measurement
from housequest.knowledge.rulebook import library
from tests.backends.policy import react
from tests.backends.server import Messages, Server, serve
from tests.tui.conftest import ROOT, Run

pytestmark = pytest.mark.heavy

SPOILT = "Whoever hears this can play no more."
KNACK = "Whoever knows this rule can play."
BOOK = f"""\
format: 0.2
rules:
- {{id: knack, statement: {KNACK}, status: candidate}}
- {{id: plain, statement: Things lie in places.}}
- {{id: mugs, statement: A mug is in the cabinet., kind: location, objects: [mug]}}
"""


def knowing(messages: Messages) -> str:
    """Plays as the expert does if it is told the knack, and else looks around."""
    told, spoilt = (any(said in message["content"] for message in messages) for said in (KNACK, SPOILT))
    return react(messages) if told and not spoilt else "Thought: what now?\nAction: look"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(knowing) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    """The endpoint of all these tests, as if nobody had asked it anything."""
    running.reset()
    return running


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.yaml"
    path.write_text(BOOK)
    return path


def asked(server: Server) -> tuple[str, ...]:
    play = ("--split", "generated", "--limit", "3", "--agent", "react", "--max-steps", "25", "--concurrency", "3")
    return ("rules", "measure", "book.yaml", "knack", *play, "--model", server.model(), "--out", "runs/knack")


def test_a_rule_that_wins_is_seen_to_win(book: Path, call: Run, server: Server) -> None:
    text = call(*asked(server))
    assert text.returncode == 0, text.stderr
    assert text.stdout.startswith("knack of book.yaml, told in 3 of 3 episodes")
    assert "Difference in success (second less first): +100.0 points" in text.stdout
    assert "Only the second won (3):" in text.stdout
    calls = len(server.requests)
    found = json.loads(call(*asked(server), "--json").stdout)
    assert (found["book"], found["rules"], found["told"], found["pairs"]) == ("book.yaml", ["knack"], 3, 3)
    assert (found["only_first"], found["only_second"], found["p"]) == (0, 3, 0.125)
    assert [flip["won_by"] for flip in found["flipped"]] == ["second"] * 3
    assert {name: change[0] is None for name, change in found["changes"].items()} == {"rules": False}
    assert found["changes"]["rules"][1].endswith(" and knack")
    assert len(server.requests) == calls
    assert any(line.startswith("without") for line in call("report", "runs/knack").stdout.splitlines())


def test_what_a_budget_cut_short_is_gone_on_with(book: Path, call: Run, server: Server) -> None:
    cut = call(*asked(server), "--budget", "calls=80", "--json")
    assert (cut.returncode, cut.stdout) == (130, "")
    assert "The same command" in cut.stderr
    assert json.loads(call(*asked(server), "--json").stdout)["only_second"] == 3
    assert len(server.requests) < 90 + 75
    book.write_text(BOOK + "- Another.\n")
    changed = call(*asked(server))
    assert changed.returncode == 2
    assert "holds a run of another configuration" in changed.stderr


def test_each_rule_is_measured_and_its_worth_saved_in_the_book(book: Path, call: Run, server: Server) -> None:
    book.write_text(BOOK.replace(", status: candidate", "") + f"- {{id: bad, statement: {SPOILT}, status: candidate}}\n")
    play = ["6" if each == "3" else each for each in asked(server)[4:]]
    line = (*asked(server)[:3], "--each", "--save", *play)
    first = call(*line, "--json")
    assert first.returncode == 0, first.stderr
    found = json.loads(first.stdout)
    by_id = {each["id"]: each for each in found["rules"]}
    assert [by_id[id]["games"] for id in ("knack", "plain")] == [6, 6]
    assert by_id["knack"]["beside"]["book"]["success"]["value"] == by_id["knack"]["beside"]["nothing"]["success"]["value"] == 1
    assert by_id["knack"]["beside"]["book"]["steps"]["interval"][1] < 0
    assert by_id["plain"]["beside"]["nothing"]["steps"] == {"value": 0, "interval": None}
    assert found["played"] < 6 * 2 * 4, "arms share episodes"
    # The worth in the book does not make it another measurement.
    calls = len(server.requests)
    again = call(*line)
    assert again.returncode == 0, again.stderr
    assert len(server.requests) == calls
    assert "They changed nothing in any game" in again.stdout
    assert "  worth: -" in call("rules", "show", "book.yaml", "knack").stdout
    # A candidate is tried beside the accepted rules before anybody accepts it.
    tried = ("rules", "measure", "book.yaml", "--each", "--status", "candidate", "--save", *play[:-1])
    held = call(*(part if part != "generated" else "generated:1000000" for part in tried), "runs/held")
    assert (held.returncode, "is for evaluation" in held.stderr) == (2, True)
    bad = call(*tried, "runs/tried")
    assert bad.returncode == 0, bad.stderr
    assert "! They cost (1): bad." in bad.stdout
    assert "COSTS" in call("rules", "list", "book.yaml").stdout
    # A person wrote it, so only a person rejects it; of a program's, what was measured decides.
    assert call(*tried, "runs/tried", "--accept", "evidence").returncode == 0
    assert library().open("book.yaml").rule("bad").status == "candidate"
    book.write_text(book.read_text().replace("- id: bad\n", "- id: bad\n  origin: {source: model, name: m}\n"))
    assert call(*tried, "runs/tried", "--accept", "evidence").returncode == 0
    assert library().open("book.yaml").rule("bad").status == "rejected"


@pytest.mark.heavy
def test_shards_measure_what_one_machine_does(book: Path, call: Run, server: Server) -> None:
    *line, _ = asked(server)
    one = json.loads(call(*line, "one", "--json").stdout)
    for number in (1, 2):
        done = call(*line, f"part-{number}", "--shard", f"{number}/2")
        assert done.returncode == 0, done.stderr
        assert "measures" in done.stdout
    assert call("merge", "part-1", "part-2", "--out", "merged").returncode == 0
    calls = len(server.requests)
    merged = json.loads(call(*line, "merged", "--json").stdout)
    assert len(server.requests) == calls
    for each in (one, merged):  # they were played at other times
        each["card"].pop("called", None)
    assert merged == json.loads(json.dumps(one).replace('"one/', '"merged/'))


def test_rules_are_added_to_the_book_taken_out_of_it_or_told_alone(book: Path) -> None:
    configuration = configure({"agent": "react", "model": "openai:x", "split": "generated", "limit": 1}, book.parent)

    def arms(*ids: str, alone: bool = False) -> list[tuple[list[str], str]]:
        trials = plan_measurement(configuration, str(book), ids, alone=alone).trials
        rules = [trial.spec.config.rules for trial in trials]
        return [([rule.id for rule in each.rules], each.part) if each else ([], "none") for each in rules]

    assert arms() == [([], "none"), (["plain", "mugs"], "")]
    assert arms("knack") == [(["plain", "mugs"], ""), (["knack", "plain", "mugs"], "and knack")]
    assert arms("mugs") == [(["plain"], "without mugs"), (["plain", "mugs"], "")]
    assert arms("knack", "mugs") == [(["plain"], "without mugs"), (["knack", "plain", "mugs"], "and knack")]
    assert arms("knack", alone=True) == [([], "none"), (["knack"], "knack alone")]


def test_a_dry_run_plays_nothing(book: Path, call: Run, tmp_path: Path) -> None:
    asked = ("rules", "measure", "book.yaml", "--model", "openai:x", "--split", "generated", "--limit", "2", "--dry-run")
    lines = call(*asked).stdout.splitlines()
    assert lines[0].endswith("which differ in 2 rules of book.yaml alone.")
    assert lines[2] == "without: 2 of a split without end (generated) with reasoner-actor, openai:x"
    assert lines[3] == "Rules: none."
    assert lines[7].startswith("Rules: 2 accepted in book.yaml")
    assert json.loads(call(*asked, "--json").stdout).keys() == {"without", "with"}
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("book.yaml", "knack", "--agent", "expert"), "The agent 'expert' takes none of these rules"),
        (("book.yaml", "--agent", "human"), "The agent 'human' takes no rules"),
        (("book.yaml", "--agent", "nobody"), "There is no agent named 'nobody'"),
        (("book.yaml", "--agent", "react", "--split", "example"), "needs a language model"),
        (("book.yaml", "knak", "--model", "openai:x"), "Did you mean 'knack'"),
        (("empty.yaml", "--model", "openai:x"), "has no accepted rules"),
        (("book.yaml", "--alone", "--model", "openai:x"), "no rule is named"),
        (("book.yaml", "--save", "--model", "openai:x"), "--save is for --each"),
        (("book.yaml", "--each", "--alone", "--model", "openai:x"), "leave --alone out"),
        (("book.yaml", "--each", "--shard", "1/2", "--model", "openai:x"), "leave it out"),
        (("nowhere", "--model", "openai:x"), "There is no rulebook 'nowhere'"),
    ],
    ids=range(11),
)
def test_what_cannot_be_measured_is_told(arguments: tuple[str, ...], reason: str, book: Path, call: Run) -> None:
    (book.parent / "empty.yaml").write_text("format: 0.2\nrules:\n- {statement: perhaps, status: candidate}\n")
    done = call("rules", "measure", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert not (book.parent / "runs").exists()


def test_the_folder_of_another_sweep_is_left_alone(book: Path, call: Run, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text("common: {world: scripted, agent: expert}\narms: {a: {}, b: {}}\n")
    assert call("eval", "--sweep", "sweep.yaml", "--out", "runs/s").returncode == 0
    before = (tmp_path / "runs" / "s" / "sweep.json").read_bytes()
    done = call(
        "rules", "measure", "book.yaml", "--model", "openai:x", "--split", "generated", "--limit", "1", "--out", "runs/s"
    )
    assert done.returncode == 2
    assert "holds a sweep of other runs" in done.stderr
    assert (tmp_path / "runs" / "s" / "sweep.json").read_bytes() == before


@pytest.mark.parametrize("page", ["README.md", "docs/tutorials/curator.md"])
def test_the_rules_of_a_page_show_a_gain_that_is_not_chance(page: str, call: Run) -> None:
    told = (line for line in (ROOT / page).read_text("utf-8").splitlines() if line.startswith("$ housequest "))
    commands = [shlex.split(line.removeprefix("$ housequest "), comments=True) for line in told]
    wanted = [
        words for words in commands if "household:1000:1..20" in words or words[:2] in (["rules", "mine"], ["rules", "measure"])
    ]
    assert len(wanted) >= 3 and wanted[-1][1] == "measure"
    for words in wanted:
        done = call(*words, *(["--json"] if words[1] == "measure" else []))
        assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["interval"][0] > 0 and found["figures"]["steps"]["interval"][1] < 0
    # The page says how many days were won.
    text = " ".join((ROOT / page).read_text("utf-8").split())
    won = found["first"]["won"], found["second"]["won"]
    assert re.search(r"\b{} (?:days won of 20,|of these days without the book and) {} with".format(*won), text), won
