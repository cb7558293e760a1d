"""``housequest daily``: one try at the same house for everyone."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from housequest.agent.episodes.events import Stepped
from housequest.agent.episodes.record import read_episode
from housequest.tui.play.game import daily_game, daily_result, first_try
from housequest.worlds.paths import state_folder
from tests.tui.conftest import Run


def won_by_expert(call: Run, day: date) -> list[str]:
    """The commands that win the house of the day."""
    call("play", f"generated:{day:%Y%m%d}", "--agent", "expert", "--plain")
    (record,) = (state_folder() / "episodes").glob("*-expert.jsonl")
    return [event.body.command for event in read_episode(record) if isinstance(event.body, Stepped)]


def test_there_is_one_try_and_a_result_to_share(call: Run) -> None:
    day = date.today()
    commands = won_by_expert(call, day)
    first = call("daily", input="\n".join(["use fridge 99", *commands]) + "\n")
    assert first.returncode == 0
    result = first.stdout.partition(f"housequest daily {day:%Y-%m-%d}\n")[2].splitlines()
    assert result[0] == daily_game(day).task.goal
    assert result[1].startswith(f"won in {len(commands) + 1} turns (it can be done in ")
    assert "".join(result[2:]).startswith("×·")
    assert "".join(result[2:]).endswith("✦")
    again = call("daily", input="look\n")
    assert again.stdout.splitlines()[1:] == result
    assert "For practice" in again.stderr


def test_days_won_in_a_row_are_counted(call: Run) -> None:
    day = date.today()
    commands = won_by_expert(call, day)
    call("daily", input="\n".join(commands) + "\n")
    tried = first_try(day)
    assert tried is not None
    for before in (day - timedelta(days=1), day - timedelta(days=3)):
        copy_to(tried.record, day, before)
    assert "2 days in a row" in daily_result(day, tried, daily_game(day).world)[0]
    copy_to(tried.record, day, day - timedelta(days=2))
    assert daily_result(day, tried, daily_game(day).world) == ([*call("daily").stdout.splitlines()], [])
    assert "4 days in a row" in call("daily").stdout


def copy_to(record: Path, day: date, other: date) -> None:
    name = record.name.replace(f"{day:%Y%m%d}", f"{other:%Y%m%d}")
    record.with_name(name).write_bytes(record.read_bytes())


def test_everyone_gets_the_same_house_whatever_is_configured(call: Run, tmp_path: Path) -> None:
    (tmp_path / "housequest.toml").write_text('world = "scripted"\n')
    day = date.today()
    told = call("daily", input="look\n")
    assert daily_game(day).task.goal in told.stdout
    assert daily_game(day).task.reference == f"generated:{day:%Y%m%d}"


def test_the_first_game_of_a_day_counts(call: Run) -> None:
    call("daily", input="look\n:quit\n")
    assert "not won, 1 turn (" in call("daily", input="look\n").stdout


def test_an_empty_pipe_spends_nothing(call: Run) -> None:
    for nothing in ("", "?\n", ":quit\n"):
        assert "still to be played" in call("daily", "--plain", input=nothing).stderr
    assert "not won, 1 turn (" in call("daily", "--plain", input="look\n").stdout
