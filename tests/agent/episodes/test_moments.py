"""What was played becomes moments: each executed command once, believed as on its own branch, and named to be found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.agent.episodes.events import Body, Ended, Event, Intervened, Started, Stepped, Thought
from housequest.agent.episodes.moments import episode_files, moments, recorded_moments
from housequest.agent.episodes.record import EpisodeRecorder, read_episode
from housequest.knowledge.checks import parse_check
from housequest.knowledge.judging import examine
from housequest.knowledge.rules import Rule
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import FORMAT
from tests.tui.recorded import play

OPENING = "Looking quickly around you, you see a desk 1, and a bed 1.\n\nYour task is to: put pen in bed."


def started() -> Started:
    return Started(
        world="alfworld", engine="native", task="generated/1", split="generated", number=1, type="", goal="put pen in bed",
        wording="template", agent="human", max_turns=9, seed=0, opening=OPENING, format=FORMAT,
    )  # fmt: skip


def step(turn: int, command: str, text: str) -> Stepped:
    return Stepped(turn=turn, command=command, observation=text, accepted=text != "Nothing happens.")


REWOUND: list[tuple[int | None, Body]] = [
    (None, started()),
    (0, step(1, "go to desk 1", "You arrive at desk 1. On the desk 1, you see a pen 1.")),
    (1, step(2, "take pen 1 from desk 1", "You pick up the pen 1 from the desk 1.")),
    (1, Intervened(action="rewind", text="2")),
    (3, Thought(role="r", text="better not")),
    (4, step(2, "inventory", "You are not carrying anything.")),
    (5, Ended(outcome="lost", reason="", turns=2, steps=3, refused=0)),
]


def events() -> list[Event]:
    return [Event(id=number, parent=parent, body=body) for number, (parent, body) in enumerate(REWOUND)]


def record(path: Path) -> Path:
    with EpisodeRecorder(path) as recorder:
        for event in events():
            recorder(event)
    return path


def test_branches_share_what_came_before_they_parted() -> None:
    found = list(moments(events(), "run", "task"))
    assert [moment.origin for moment in found] == ["run/task/1", "run/task/2", "run/task/5"]
    gone, taken, looked = found
    assert taken.before == looked.before == gone.after
    assert taken.after.held == "pen 1"
    assert looked.after.held is None


def test_a_put_that_was_granted_is_a_move() -> None:
    body = step(1, "put pen 1 in/on desk 1", "You move the pen 1 to the desk 1.")
    refused = step(2, "put pen 1 in/on desk 1", "Nothing happens.")
    told = [Event(id=0, body=started()), Event(id=1, parent=0, body=body), Event(id=2, parent=1, body=refused)]
    assert [moment.command for moment in moments(told, "r", "t")] == ["move pen 1 to desk 1", "put pen 1 in/on desk 1"]


def test_runs_and_files_are_named_and_counted_once(tmp_path: Path) -> None:
    run = play(tmp_path / "runs" / "one", limit=2, split="generated")
    files = sorted((run / "episodes").glob("*.jsonl"))
    once = [moment.origin for moment in recorded_moments([run])]
    assert once
    assert [moment.origin for moment in recorded_moments([run, files[0], run / "episodes"])] == once
    run_name, task, event = once[0].split("/")
    assert (run_name, task) == ("one", files[0].stem)
    found = next(each for each in read_episode(files[0]) if each.id == int(event))
    assert isinstance(found.body, Stepped)


def test_two_runs_of_one_name_are_two(tmp_path: Path) -> None:
    first, second = (play(tmp_path / where / "one", limit=1, split="generated") for where in ("a", "b"))
    assert [each.run for each in episode_files([first, second])] == ["one", "one~2"]
    assert len(list(recorded_moments([first, second]))) == 2 * len(list(recorded_moments([first])))


def test_a_game_that_was_played_or_broke_off_counts(tmp_path: Path) -> None:
    whole = record(tmp_path / "episodes" / "a.jsonl")
    part = whole.with_name("b.jsonl.part")
    part.write_bytes(b"\n".join(whole.read_bytes().split(b"\n")[:3]) + b'\n{"cut')
    whole.with_name("a.timing.jsonl").write_text("{}\n")
    assert [(each.run, each.task) for each in episode_files([tmp_path / "episodes"])] == [("played", "a"), ("played", "b")]
    assert len(list(recorded_moments([tmp_path]))) == 3 + 2
    rule = Rule("r", "s", check=parse_check("take {o} from {r}; then holding {o}"))
    (finding,) = examine([rule], recorded_moments([tmp_path]))
    assert finding.evidence.witnesses == ("played/a/2", "played/b/2")


def test_a_damaged_record_is_told_and_the_others_count(tmp_path: Path) -> None:
    record(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").write_text("no record\n")
    with pytest.raises(ConfigurationError, match=r"b\.jsonl:1"):
        list(recorded_moments([tmp_path]))
    told: list[ConfigurationError] = []
    assert len(list(recorded_moments([tmp_path], told.append))) == 3
    assert len(told) == 1


def test_a_folder_without_records_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds no recorded episodes"):
        list(recorded_moments([tmp_path]))
    with pytest.raises(ConfigurationError, match="is not there"):
        list(recorded_moments([tmp_path / "gone.jsonl"]))


def test_a_world_whose_texts_nobody_reads_is_left_out_by_name(tmp_path: Path) -> None:
    run, told = play(tmp_path / "runs" / "one", limit=1, split="demo"), list[ConfigurationError]()
    with pytest.raises(ConfigurationError, match="world 'scripted'"):
        list(recorded_moments([run]))
    assert list(recorded_moments([run], told.append)) == []
    assert len(told) == 1


def test_rules_of_another_world_are_not_checked_against_a_record(tmp_path: Path) -> None:
    record(tmp_path / "a.jsonl")
    with pytest.raises(ConfigurationError, match="played in the world alfworld; these rules are for counter"):
        list(recorded_moments([tmp_path], world="counter"))
