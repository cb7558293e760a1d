"""A partner matrix: pairs are played and resumed like any run, partners play by their manner, and the worst comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.episodes.events import Event, Said, Stepped, TurnSpent, branch
from housequest.agent.episodes.record import part_of, read_episode
from housequest.agent.episodes.together import RESTING
from housequest.agent.evaluation.library import evaluate, read_report
from housequest.agent.evaluation.render.series import MatrixReport
from housequest.agent.evaluation.render.table import WIDTH
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.evaluation.runs.sweep import SweepFolder, matrix_players, plan_matrix
from housequest.worlds.errors import ConfigurationError

SPLIT = "chores:60000..60001"
PLAYERS = ("expert", "expert/ignorant", "expert/slow")


def play(folder: Path, players: Sequence[str] = PLAYERS) -> MatrixReport:
    trials = list(plan_matrix(players, {"split": SPLIT}))
    sweep = SweepFolder(folder)
    sweep.begin(trials, matrix=matrix_players(players))
    for trial in trials:
        asyncio.run(run_batch(trial.spec, folder / trial.folder))
    found = read_report([folder], lambda _: None)
    assert isinstance(found, MatrixReport)
    return found


@pytest.mark.heavy
def test_every_pair_is_played_and_the_worst_comes_first(tmp_path: Path) -> None:
    found = play(tmp_path / "matrix")
    assert [(cell.player, cell.partner) for cell in found.cells] == [("expert", partner) for partner in PLAYERS]
    gains = [cell.gain.value for cell in found.cells if cell.gain is not None]
    assert len(gains) == 3
    assert max(gains) == gains[0] > min(gains) > 1
    assert found.worst is not None and found.worst.gain is not None
    assert found.worst.gain.value == min(gains)
    first = found.text().splitlines()[0]
    assert first.startswith(f"Worst cell: expert with {found.worst.partner}, gain {min(gains):.2f}")
    data = found.data()["matrix"]
    assert isinstance(data, dict)
    assert data["worst"] == {"player": "expert", "partner": found.worst.partner}
    # The same command goes on where it stopped; an interrupted matrix has empty cells.
    bytes_before = {
        file: file.read_bytes() for file in sorted((tmp_path / "matrix").rglob("*.jsonl")) if "timing" not in file.name
    }
    again = play(tmp_path / "matrix")
    assert again.text() == found.text()
    assert all(file.read_bytes() == content for file, content in bytes_before.items())


def test_a_pair_of_two_judged_players_is_played_once(tmp_path: Path) -> None:
    names = [trial.arm for trial in plan_matrix(["expert,builtin"], {"split": SPLIT})]
    assert names == ["expert alone", "expert with expert", "expert with builtin", "builtin alone", "builtin with builtin"]
    trials = list(plan_matrix(["expert,builtin"], {"split": SPLIT}))
    SweepFolder(tmp_path / "begun").begin(trials, matrix=("expert", "builtin"))
    asyncio.run(run_batch(trials[0].spec, tmp_path / "begun" / trials[0].folder))
    found = read_report([tmp_path / "begun"], lambda _: None)
    assert isinstance(found, MatrixReport)
    assert found.worst is None
    assert "No pair has finished" in found.text()
    wide = MatrixReport(["expert", *(f"expert={'x' * 30}-{n}" for n in range(4))], found.arms)
    assert all(len(line) <= WIDTH for line in wide.text().splitlines() if line.startswith("gain of"))
    assert f"Beside: 1 expert; 2 expert={'x' * 30}-0;" in " ".join(wide.text().split())


@pytest.mark.parametrize(
    ("players", "flags", "words"),
    [
        (["expert/slow"], {}, "without a manner"),
        (["expert", "expert/lazy"], {}, "not a partner's manner"),
        (["expert*2"], {}, "name each by itself"),
        (["expert"], {"repeat": 2}, "plays each pair once"),
        (["nobody"], {}, "nobody"),
        ([",".join(f"expert={n}" for n in range(20))], {}, "at most"),
    ],
)
def test_a_wrong_matrix_is_refused_in_words(players: list[str], flags: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        [trial.spec for trial in plan_matrix(players, {"split": SPLIT, **flags})]


def recorded(folder: Path, players: str, order: str) -> list[Event]:
    run = evaluate(out=folder, players=players, split="chores:60000..60000", order=order, max_steps=12)
    (file,) = RunFolder(run).episodes.iterdir()
    return list(branch(list(read_episode(file))))


def of_bob(played: list[Event]) -> tuple[list[Stepped], list[TurnSpent], int]:
    bodies = [event.body for event in played if event.player == "Bob"]
    steps, spent = ([body for body in bodies if isinstance(body, kind)] for kind in (Stepped, TurnSpent))
    return [*steps], [*spent], sum(isinstance(body, Said) for body in bodies)


@pytest.mark.heavy
@pytest.mark.parametrize("order", ["turns", "at-once"])
def test_partners_play_as_they_are_called(tmp_path: Path, order: str) -> None:
    steps, _, said = of_bob(recorded(tmp_path / "ignorant", "expert,expert/ignorant", order))
    assert said == 0
    assert not any(step.news for step in steps)
    steps, _, said = of_bob(recorded(tmp_path / "mute", "expert,expert/mute", order))
    assert said == 0
    assert any("Ann says" in sentence for step in steps for sentence in step.news or ())
    played = recorded(tmp_path / "slow", "expert,expert/slow", order)
    steps, spent, said = of_bob(played)
    assert said > 0
    assert {step.turn % 2 for step in steps} == {0}
    assert {(one.turn % 2, one.reason, one.news) for one in spent} == {(1, RESTING, None)}
    # It hears of the rounds in which it rested.
    ann = [event.body for event in played if event.player == "Ann" and isinstance(event.body, Said)]
    heard = [sentence for step in steps for sentence in step.news or ()]
    assert all(f'Ann says: "{one.text}"' in heard for one in ann if one.turn < steps[-1].turn)


@pytest.mark.heavy
@pytest.mark.parametrize("order", ["turns", "at-once"])
def test_a_killed_game_with_a_slow_partner_goes_on_to_the_same_bytes(tmp_path: Path, order: str) -> None:
    settings = {"players": "expert,expert/slow,expert/ignorant", "split": "chores:60000..60000", "order": order, "max_steps": 9}
    spec = make_run_spec(configure(settings))
    asyncio.run(run_batch(spec, tmp_path / "run"))
    (file,) = RunFolder(tmp_path / "run").episodes.iterdir()
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in (5, 17, 40):
        part_of(file).write_bytes(b"".join(lines[:cut]) + lines[cut][:9])
        file.unlink()
        RunFolder(tmp_path / "run").index_file.write_bytes(b"")
        asyncio.run(run_batch(spec, tmp_path / "run"))
        assert file.read_bytes() == whole
