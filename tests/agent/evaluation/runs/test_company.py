"""Runs in which several players share each house: who played is recorded, and a killed run goes on to the same bytes."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.episodes.record import part_of, read_episode
from housequest.agent.evaluation.library import evaluate, read_report, report
from housequest.agent.evaluation.render.pages.render import episode_page
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.budget import Budget
from housequest.agent.evaluation.runs.estimate import estimate
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.roles.base import whole_prompts
from housequest.tui.commands.running import announce
from housequest.worlds.errors import ConfigurationError
from tests.backends.server import Server
from tests.parts import installed


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((folder / "episodes").iterdir())}


@pytest.mark.heavy
def test_different_agents_and_models_play_in_one_house(tmp_path: Path) -> None:
    run = evaluate(out=tmp_path / "run", players="expert,builtin", split="generated:60000..60002", concurrency=2)
    found = report(run)
    players = found["players"]
    assert isinstance(players, dict)
    assert set(players) == {"Ann", "Bob"}
    assert sum(each["share"] for each in players.values()) == pytest.approx(1)
    (manifest, results) = RunFolder(run).manifest(), RunFolder(run).mend(RunFolder(run).manifest().tasks)[0]
    assert [(one.name, one.agent, one.model) for one in manifest.configuration.players] == [
        ("Ann", "expert", None),
        ("Bob", "reasoner-actor", "builtin"),
    ]
    for result in results:
        assert result.players is not None
        assert sum(each.steps for each in result.players.values()) == result.steps
        assert sum(each.refused for each in result.players.values()) == result.refused
        assert (result.players["Ann"].calls, result.players["Bob"].calls) == (0, result.calls)
        assert result.turns <= result.steps + sum(each.idle for each in result.players.values())


def test_a_run_of_several_models_has_no_price_and_says_who_has_which(tmp_path: Path, server: Server) -> None:
    players = f"react={server.model('small')},react={server.model('large')}"
    run = evaluate(out=tmp_path / "run", players=players, split="generated:60000..60000", max_steps=3, talk="off")
    assert {each.body["model"] for each in server.requests} == {"small", "large"}
    assert RunFolder(run).manifest().configuration.model is None
    text = read_report([run], lambda _: None).text()
    assert re.search(r"Ann: react with openai:small; Bob: react with\s+openai:large", " ".join(text.split()))
    assert "Cost: not known" in text


@pytest.mark.heavy
@pytest.mark.parametrize("order", ["turns", "at-once"])
def test_a_killed_run_of_two_goes_on_to_the_same_bytes(tmp_path: Path, server: Server, order: str) -> None:
    settings = configure(
        {"players": [f"react={server.model()}*2"], "split": "generated:60000..60001", "order": order, "max_steps": 12}
    )
    spec = make_run_spec(settings)
    asyncio.run(run_batch(spec, tmp_path / "whole"))
    whole = bytes_of(tmp_path / "whole")
    asyncio.run(run_batch(spec, tmp_path / "killed"))
    run = RunFolder(tmp_path / "killed")
    for task, cut in zip(spec.manifest.tasks, (9, 30), strict=True):
        lines = run.episode(task).read_bytes().splitlines(keepends=True)
        part_of(run.episode(task)).write_bytes(b"".join(lines[:cut]) + lines[cut][:20])
        run.episode(task).unlink()
    run.index_file.write_bytes(b"")
    asyncio.run(run_batch(spec, tmp_path / "killed"))
    assert bytes_of(tmp_path / "killed") == whole
    assert all(list(read_episode(file)) for file in (tmp_path / "killed" / "episodes").iterdir())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"players": "expert"}, "give two to 4"),
        ({"players": "expert*5"}, "give two to 4"),
        ({"players": "expert,human"}, "needs a screen"),
        ({"players": "expert,nobody"}, "nobody"),
        ({"players": "expert*0,expert"}, "is no player"),
        ({"players": "expert*2", "agent": "react"}, "--agent is of one player"),
        ({"players": "expert*2", "grant": "diagnosis"}, "for one player alone"),
        ({"players": "expert*2", "retry_lost": 1}, "for one player alone"),
        ({"players": "expert*2", "world": "scripted"}, "for one player alone"),
        ({"players": "expert*2", "talk": "loud"}, "talk"),
    ],
)
def test_a_wrong_company_is_refused_in_words(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make_run_spec(configure({"split": "example", **settings}))


@pytest.mark.heavy
def test_what_was_said_to_each_model_is_read_back_from_the_record(tmp_path: Path, server: Server) -> None:
    players = f"react={server.model('small')},react={server.model('large')}"
    run = RunFolder(evaluate(out=tmp_path / "run", players=players, split="generated:60000..60000", max_steps=4))
    (record,) = run.episodes.iterdir()
    recorded = list(read_episode(record))
    sent = [[message["content"] for message in each.messages] for each in server.requests]
    assert len(sent) == 8
    told = [[message.content for message in prompt] for prompt in whole_prompts(recorded).values()]
    assert told == sent
    page = episode_page(record).decode()
    assert "<b>1 Ann</b>" in page
    assert "<b>4 Bob</b>" in page
    if installed("training"):
        from housequest.agent.training.export import RecordedEpisodes

        found = RecordedEpisodes([run.path], lost=True)
        assert list(found) == []
        assert found.left_out == {"of several players, whose answers do not show what the others changed": 1}


@pytest.mark.heavy
def test_what_is_left_of_several_players_costs_as_much_as_what_they_played(tmp_path: Path, server: Server) -> None:
    settings = {"players": [f"react={server.model()}*2"], "split": "chores:60000..60003", "max_steps": 3, "limit": 2}
    runs, new = tmp_path / "runs", tmp_path / "new"
    asyncio.run(run_batch(make_run_spec(configure(settings)), runs / "two"))
    whole = make_run_spec(configure({**settings, "limit": None}))
    found = estimate(whole, new, runs=runs)
    assert found is not None
    assert found.calls[0] <= 24 <= found.calls[1]
    assert "as in 2 finished ones" in found.basis
    one = {"agent": "react", "model": server.model(), "split": "chores:60000..60003", "max_steps": 3}
    told = estimate(make_run_spec(configure(one)), new, runs=runs)
    assert told is None or "two" not in told.basis
    mixed = make_run_spec(configure({**settings, "players": [f"react={server.model()},expert"]}))
    assert estimate(mixed, new, runs=runs) is None
    with pytest.raises(ConfigurationError, match="no price"):
        announce([make_run_spec(configure({**settings, "players": ["react=openai:one,react=openai:two"]}))], Budget(money=1))
