"""What is remembered between two games: choices, and the records of what was played."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from housequest.agent.config import Settings
from housequest.agent.episodes.events import Started
from housequest.tui.base_screen import in_thread
from housequest.tui.home.catalogue import (
    FILE_NAME,
    MODELS_KEPT,
    Catalogue,
    RecentChoices,
    load_recent,
    record_files,
    recorded_games,
    save_recent,
)
from housequest.tui.play.game import ChosenGame, PlayerChoice, make_game, resume_game, settings_for
from housequest.tui.play.plain import play_game
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.paths import state_folder
from housequest.worlds.registry import make_world
from tests.backends.server import serve

CHOSEN = RecentChoices(
    "alfworld", "generated", "generated:7", "react", "step", "rules.yaml", ("diagnosis",), ("openai:a", "openai:b")
)


def play(task: str = "demo:1", agent: str = "expert", **settings: object) -> None:
    world = make_world("scripted" if task.startswith("demo:") else "alfworld")
    play_game(
        ChosenGame(world, world.task(task), agent, Settings.model_validate({"agent": agent, "world": world.name, **settings}))
    )


def broken_off(lines: int) -> Path:
    """The one recorded game, as if it had broken off after so many lines."""
    (whole,) = record_files(unfinished=False)
    part = whole.with_name(f"{whole.name}.part")
    part.write_text("".join(whole.read_text("utf-8").splitlines(keepends=True)[:lines]), "utf-8")
    whole.unlink()
    return part


def test_nothing_is_remembered_at_first() -> None:
    assert load_recent().recent == RecentChoices()
    assert load_recent().remark == ""
    assert not state_folder().exists()


def test_choices_are_kept() -> None:
    assert save_recent(CHOSEN) == ""
    assert load_recent().recent == CHOSEN
    assert load_recent().remark == ""


def test_no_more_models_are_recalled_than_are_kept() -> None:
    models = tuple(f"openai:{number}" for number in range(MODELS_KEPT + 3))
    assert not save_recent(RecentChoices(models=models))
    assert load_recent().recent.models == models[:MODELS_KEPT]


def test_a_model_is_remembered_once_and_the_last_one_first() -> None:
    recent = RecentChoices()
    for number in (*range(20), 15):
        recent = recent.used(f"openai:{number}")
    assert recent.models[:3] == ("openai:15", "openai:19", "openai:18")
    assert len(recent.models) == len(set(recent.models)) == MODELS_KEPT
    assert recent.used("") == recent


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\x00",
        b"[]",
        b"3",
        b'{"task": 3}',
        b'{"models": "x"}',
        b'{"models": [1]}',
        b'{"task": "\\u001b[31m"}',
        b"[" * 9_999,
    ],
    ids=range(9),
)
def test_a_damaged_file_is_set_aside(content: bytes) -> None:
    state_folder().mkdir(parents=True)
    (state_folder() / FILE_NAME).write_bytes(content)
    remembered = load_recent()
    assert remembered.recent == RecentChoices()
    assert FILE_NAME in remembered.remark
    assert (state_folder() / f"{FILE_NAME}.damaged").read_bytes() == content
    assert load_recent().remark == ""
    assert save_recent(CHOSEN) == ""
    assert load_recent().recent == CHOSEN


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=60)
    | st.dictionaries(
        st.sampled_from(["world", "grants", "models", "later"]), st.integers() | st.text() | st.lists(st.text())
    ).map(lambda made: json.dumps(made).encode())
)
def test_whatever_the_file_holds_something_is_recalled(content: bytes) -> None:
    state_folder().mkdir(parents=True, exist_ok=True)
    (state_folder() / FILE_NAME).write_bytes(content)
    assert isinstance(load_recent().recent, RecentChoices)


def test_a_file_that_cannot_be_written_is_a_remark() -> None:
    state_folder().parent.mkdir(parents=True, exist_ok=True)
    state_folder().write_text("in the way")
    assert FILE_NAME in save_recent(CHOSEN)
    assert load_recent().recent == RecentChoices()
    assert recorded_games(unfinished=True) == []


def test_games_are_found_as_they_ended() -> None:
    play()
    play("generated:690", max_steps=3)
    lost, won = recorded_games(unfinished=False)
    assert (won.started and won.started.split, won.turns, won.ended and won.ended.outcome) == ("demo", 6, "won")
    assert (lost.started and lost.started.number, lost.turns, lost.ended and lost.ended.outcome) == (690, 3, "lost")
    assert recorded_games(unfinished=True) == []


def test_a_game_that_broke_off_is_found_and_its_clocks_are_none() -> None:
    play()
    part = broken_off(6)
    part.with_name(part.name.removesuffix(".jsonl.part") + ".timing.jsonl").write_text("{}\n")
    (record,) = recorded_games(unfinished=True)
    assert record.unfinished
    assert record.ended is None
    assert record.fault == ""
    assert recorded_games(unfinished=False) == []


@pytest.mark.parametrize("content", [b"", b"junk\n", b"\xff\x00\n", b'{"id": 0, "body": {"kind": "spent", "turn": 1}}\n'])
def test_a_damaged_record_is_named(content: bytes) -> None:
    folder = state_folder() / "episodes"
    folder.mkdir(parents=True)
    (folder / "x.jsonl.part").write_bytes(content)
    (record,) = recorded_games(unfinished=True)
    assert "x.jsonl.part" in record.fault
    with pytest.raises(ConfigurationError, match=r"x\.jsonl\.part"):
        resume_game(Catalogue(Settings()), record, Settings(), RecentChoices())


def test_a_game_goes_on_under_the_terms_it_began_with(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("format: 0.2\nworld: scripted\nrules:\n- open a box before you look into it\n")
    with serve(lambda messages: "Action: look") as server:
        play(agent="react", model=server.model(), rules=str(rules), max_steps=20, seed=5, set={"max_tokens": 99})
        broken_off(9)
        (record,) = recorded_games(unfinished=True)
        recent = RecentChoices(rules=str(rules), models=("nonsense", "openai:other", server.model()))
        game = resume_game(Catalogue(Settings()), record, Settings(), recent)
        assert game.task.reference == "demo:1"
        assert game.agent == "react"
        assert game.settings.model == server.model()
        assert game.settings.rules == str(rules)
        assert (game.settings.max_steps, game.settings.seed, game.settings.set) == (
            20,
            5,
            {"max_tokens": 99} | game.settings.set,
        )
        with pytest.raises(ConfigurationError, match="openai:tester"):
            resume_game(Catalogue(Settings()), record, Settings(), replace(recent, models=("openai:other",)))
        rules.write_text("format: 0.2\nworld: scripted\nrules:\n- something else\n")
        with pytest.raises(ConfigurationError, match=r"rules\.yaml"):
            resume_game(Catalogue(Settings()), record, Settings(), recent)


def test_a_record_with_terms_of_no_game_does_not_go_on() -> None:
    play()
    broken_off(4)
    (record,) = recorded_games(unfinished=True)
    started = record.started
    assert isinstance(started, Started)
    for change in ({"max_turns": -1}, {"seed": -1}, {"world": "\0"}, {"agent": ""}):
        with pytest.raises(ConfigurationError):
            settings_for(started.model_copy(update=change), Settings(), RecentChoices())


@pytest.mark.parametrize(
    ("player", "said"),
    [
        (PlayerChoice("react"), "needs a language model"),
        (PlayerChoice("react", "nonsense"), "nonsense"),
        (PlayerChoice("react", "scripted:/nowhere/at/all"), "nowhere"),
        (PlayerChoice("react", "openai:\x1b[31m"), "cannot be used"),
        (PlayerChoice("expert", rules="/nowhere.yaml"), "nowhere"),
        (PlayerChoice("expert", grants=("all",)), "grant"),
        (PlayerChoice("nobody"), "nobody"),
        (PlayerChoice("expert", grants=("diagnosis",)), "diagnosis"),
    ],
    ids=range(8),
)
def test_a_game_that_could_not_begin_is_none(player: PlayerChoice, said: str) -> None:
    catalogue = Catalogue(Settings())
    task = make_world("scripted").task("demo:1")
    with pytest.raises(HousequestError, match=said):
        make_game(catalogue, task, player)


def test_asking_for_a_game_calls_nobody() -> None:
    with serve(lambda messages: "Action: look") as server:
        task = make_world("scripted").task("demo:1")
        game = asyncio.run(in_thread(lambda: make_game(Catalogue(Settings()), task, PlayerChoice("react", server.model()))))
        assert game.settings.model == server.model()
        assert server.requests == []
