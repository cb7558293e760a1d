"""``housequest ladder``, the house of a word, the week of daily houses and the story of yesterday's."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from housequest.agent.episodes.events import Stepped
from housequest.agent.episodes.record import read_episode
from housequest.tui.play.game import daily_game, first_try
from housequest.tui.play.ladder import Rung, next_rung, rungs, stars, story_lines, week, week_lines
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import state_folder
from housequest.worlds.registry import make_world
from housequest.worlds.tasks import seed_of_word, task_named
from tests.tui.commands.test_daily import copy_to, won_by_expert
from tests.tui.conftest import Run


def test_the_ladder_gets_harder_and_ends_in_a_house_for_two() -> None:
    alone = [one.par for one in rungs() if one.players == 1]
    assert None not in alone
    assert alone == sorted(filter(None, alone))
    assert [one.players for one in rungs()] == [1] * len(alone) + [2]
    assert rungs()[-1].par is not None
    assert len({one.task for one in rungs()}) == len(rungs())


@pytest.mark.parametrize(
    ("turns", "par", "number"), [(None, 4, 0), (6, 4, 3), (7, 4, 2), (8, 4, 2), (9, 4, 1), (9, None, 1), (5, 5, 3)]
)
def test_stars_are_counted_from_par(turns: int | None, par: int | None, number: int) -> None:
    assert stars(turns, par) == number


def commands_of(call: Run, rung: Rung) -> list[str]:
    """The commands by which the expert wins a rung."""
    call("play", rung.task, "--agent", "expert", "--plain")
    (record,) = (state_folder() / "episodes").glob("*-expert.jsonl")
    return [event.body.command for event in read_episode(record) if isinstance(event.body, Stepped)]


def test_a_rung_is_played_and_its_best_game_counts(call: Run) -> None:
    first = rungs()[0]
    commands = commands_of(call, first)
    assert first.best is None  # the expert climbs no ladder
    assert "\n1  ☆☆☆  A kitchen" in call("ladder").stdout
    wordy = ["look"] * 8 + commands
    lost = call("ladder", "1", input="look\n:quit\n")
    assert "A kitchen: not won (it can be done in 4)" in lost.stdout
    worse = call("ladder", "1", "--plain", input="\n".join(wordy) + "\n")
    assert f"A kitchen: won in {len(wordy)} turns (it can be done in 4) ★☆☆" in worse.stdout
    call("ladder", "1", input="\n".join(commands) + "\n")
    assert first.best == len(commands)
    shown = call("ladder")
    assert f"\n1  {'★' * first.stars}" in shown.stdout
    assert next_rung() == 2
    assert "ladder 2" in shown.stderr


def test_a_rung_for_two_is_played_beside_an_agent(call: Run) -> None:
    number = len(rungs())
    played = call("ladder", str(number), "--plain", input="look\n:quit\n")
    assert "You: " in played.stdout
    assert "A household for two: not won" in played.stdout
    assert call("ladder", "99").stderr.startswith("housequest: The ladder has no rung 99; give 1 to ")


def test_the_week_is_a_chart_and_yesterday_a_story(call: Run, tmp_path: Path) -> None:
    day = date.today()
    commands = won_by_expert(call, day)
    call("daily", input="\n".join(commands) + "\n")
    tried = first_try(day)
    assert tried is not None
    before = day - timedelta(days=1)
    assert "was not played" in call("daily", "--yesterday").stderr
    copy_to(tried.record, before)
    lines = week_lines(week(day))
    assert len(lines) == 7
    assert lines[0].endswith("·")
    assert lines[-1].startswith(f"{day:%a %d}  █")
    assert f"{len(commands)} par " in lines[-1]
    assert lines[-1] in call("ladder").stdout
    picture = tmp_path / "house.png"
    told = call("daily", "--yesterday", "--png", str(picture))
    assert told.stdout.splitlines()[0] == f"housequest daily {before:%Y-%m-%d}, the story"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert call("daily", "--png", str(picture)).returncode == 2


def test_a_story_tells_what_was_found_done_and_put_where(call: Run) -> None:
    day = date(2026, 3, 5)
    game = daily_game(day)
    call("play", game.task.reference, "--agent", "expert", "--plain")
    (record,) = (state_folder() / "episodes").glob("*-expert.jsonl")
    commands = [event.body.command for event in read_episode(record) if isinstance(event.body, Stepped)]
    call("play", game.task.reference, "--agent", "human", "--plain", input="\n".join(["open sky 1", *commands]) + "\n")
    (record,) = (state_folder() / "episodes").glob("*-human.jsonl")
    record.rename(record.with_name(f"{day:%Y%m%d}-120000-generated-{day:%Y%m%d}-human.jsonl"))
    tried = first_try(day)
    assert tried is not None
    lines = story_lines(day, tried)
    assert lines[1] == f"I was to {game.task.goal.removesuffix('.')}."
    assert any("found a" in line for line in lines)
    assert "Once the house would not do as I said." in lines
    assert lines[-1].startswith(f"Won in {len(commands) + 1} turns; somebody who knows the house needs ")
    assert all(len(line.split()) <= 20 for line in lines[2:])


def test_a_word_is_the_same_house_on_every_machine(call: Run) -> None:
    assert (seed_of_word("harbour"), seed_of_word("Été"), seed_of_word("鸡蛋")) == (4720406731, 4868049774, 3082732509)
    assert seed_of_word(" HARBOUR\n") == seed_of_word("harbour") == seed_of_word("ｈarbour")
    assert seed_of_word("the harbour") == seed_of_word("The  Harbour") != seed_of_word("harbour")
    for wrong in ("", " ", "!?", "a" * 101):
        with pytest.raises(ConfigurationError):
            seed_of_word(wrong)
    world = make_world("alfworld")
    assert task_named(world, "word:harbour").reference == "generated:4720406731"
    assert task_named(world, "generated:7").reference == "generated:7"
    told = call("play", "word:harbour", "--agent", "expert", "--plain")
    assert "generated:4720406731" in told.stdout
    assert "'harbour' is the house generated:4720406731" in told.stderr
    assert call("play", "word:!", "--plain").returncode == 2
    assert call("play", "word:a", "--world", "scripted", "--plain").returncode == 2
