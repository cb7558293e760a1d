"""``housequest daily``: one try at the same house for everyone."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from housequest.agent.episodes.events import Stepped
from housequest.agent.episodes.record import read_episode
from housequest.tui.play.game import daily_game, daily_par, daily_record, daily_result, first_try
from housequest.tui.play.ladder import story_lines
from housequest.worlds.paths import state_folder
from tests.tui.conftest import Run


def won_by_expert(call: Run, day: date) -> list[str]:
    """The commands that win the house of the day; on a Sunday beside the expert, to whom nothing is said."""
    game = daily_game(day)
    if game.beside:
        split, out = f"{game.task.reference}..{game.task.number}", state_folder() / "alone"
        call("eval", "--players", "expert/mute,expert", "--split", split, "--out", str(out))
        (record,) = (out / "episodes").rglob("*.jsonl")
    else:
        call("play", game.task.reference, "--agent", "expert", "--plain")
        (record,) = (state_folder() / "episodes").glob("*-expert.jsonl")
    steps = (event for event in read_episode(record) if event.player in (None, "Ann"))
    return [event.body.command for event in steps if isinstance(event.body, Stepped)]


def test_there_is_one_try_and_a_result_to_share(call: Run) -> None:
    day = date.today()
    commands = won_by_expert(call, day)
    # A turn in vain would make the other play otherwise.
    vain = [] if daily_game(day).beside else [commands[0].replace("go to", "open")]
    first = call("daily", input="\n".join([*vain, *commands]) + "\n")
    assert first.returncode == 0
    result = first.stdout.partition(f"housequest daily {day:%Y-%m-%d}\n")[2].splitlines()
    assert result[0] == daily_game(day).task.goal
    assert result[1].startswith(f"won in {len(vain + commands)} turns (it can be done in ")
    assert "".join(result[2:]).startswith("×·" if vain else "·")
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
        copy_to(tried.record, before)
    assert "2 days in a row" in daily_result(day, tried)[0]
    copy_to(tried.record, day - timedelta(days=2))
    assert daily_result(day, tried) == ([*call("daily").stdout.splitlines()], [])
    assert "4 days in a row" in call("daily").stdout


def copy_to(record: Path, other: date) -> None:
    daily_record(other).write_bytes(record.read_bytes())


def test_everyone_gets_the_same_house_whatever_is_configured(call: Run, tmp_path: Path) -> None:
    (tmp_path / "housequest.toml").write_text('world = "scripted"\n')
    day = date.today()
    told = call("daily", input="look\n")
    assert daily_game(day).task.goal in told.stdout
    assert daily_game(day).task.number == int(f"{day:%Y%m%d}")


def test_on_sundays_there_are_chores_for_two(call: Run) -> None:
    day = date(2026, 11, 29)
    assert [daily_game(day + timedelta(days=number)).beside for number in range(8)] == [True, *(False,) * 6, True]
    game, commands = daily_game(day), won_by_expert(call, day)
    call("play", game.task.reference, "--mode", "together", "--agent", "expert", "--plain", input="\n".join(commands) + "\n")
    (record,) = (state_folder() / "episodes").glob("*.jsonl")
    record.rename(record.with_name(f"{day:%Y%m%d}-120000-chores-{day:%Y%m%d}-expert.jsonl"))
    tried = first_try(day)
    assert tried is not None
    assert tried.me == "Ann"
    (_, goal, result, *marks), faults = daily_result(day, tried)
    assert (goal, faults) == (game.task.goal, [])
    assert result == f"won in {len(commands)} turns (it can be done in {daily_par(day)} together)"
    assert len("".join(marks)) == len(commands)
    assert story_lines(day, tried)[-1] == (
        f"Won in {len(commands)} turns beside an agent; two who know the house need {daily_par(day)}."
    )


def test_the_first_game_of_a_day_counts(call: Run) -> None:
    call("daily", input="look\n:quit\n")
    assert "not won, 1 turn (" in call("daily", input="look\n").stdout


def test_an_empty_pipe_spends_nothing(call: Run) -> None:
    for nothing in ("", "?\n", ":quit\n"):
        assert "still to be played" in call("daily", "--plain", input=nothing).stderr
    assert "not won, 1 turn (" in call("daily", "--plain", input="look\n").stdout
