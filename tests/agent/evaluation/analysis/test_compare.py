"""Two runs, paired: what is counted, what is left out, what is refused, and how it is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.episodes.events import Outcome
from housequest.agent.evaluation.analysis.arms import Arm, in_the_end, read_arms
from housequest.agent.evaluation.analysis.metrics import Extras, PathLengths
from housequest.agent.evaluation.analysis.run import find_task, reference_of
from housequest.agent.evaluation.analysis.statistics import bootstrap_mean, by_chance
from housequest.agent.evaluation.render.comparison import Comparison
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.worlds.errors import ConfigurationError
from tests.agent.evaluation.recorded import Lived, paired, run


def test_tasks_are_paired_and_the_rest_is_named(tmp_path: Path) -> None:
    first = run(
        tmp_path / "a",
        [Lived(1), Lived(2, "lost"), Lived(3), Lived(4, "error"), Lived(5, assisted=True), Lived(6, None), Lived(7)],
    )
    second = run(
        tmp_path / "b",
        [Lived(1), Lived(2), Lived(3, "stopped"), Lived(4, "lost"), Lived(5), Lived(6), Lived(8)],
    )
    comparison = paired(first, second)
    counts = comparison.counts
    assert (counts.both, counts.only_first, counts.only_second, counts.neither) == (1, 1, 1, 1)
    assert [pair.task.number for pair in comparison.flipped] == [2, 3]
    assert comparison.left_out == {
        "not selected in b": ["demo/7-task"],
        "not selected in a": ["demo/8-task"],
        "not finished in both": ["demo/6-task"],
        "assisted by a person": ["demo/5-task"],
    }
    assert comparison.difference.p == 0.75


def test_steps_are_those_of_what_both_won(tmp_path: Path) -> None:
    first = run(tmp_path / "a", [Lived(1, steps=4), Lived(2, steps=8), Lived(3, "lost", steps=50)])
    second = run(tmp_path / "b", [Lived(1, steps=2), Lived(2, steps=2), Lived(3, steps=1)])
    steps = paired(first, second).steps
    assert steps is not None
    assert (steps.tasks, steps.first, steps.second, steps.difference) == (2, 6.0, 2.0, -4.0)
    assert steps.interval == bootstrap_mean([-2, -6])
    nothing = paired(first, run(tmp_path / "c", [Lived(1, "lost"), Lived(2, "lost"), Lived(3, "lost")])).steps
    assert nothing is None


def test_what_may_make_the_difference_is_named(tmp_path: Path) -> None:
    first = run(tmp_path / "a", [Lived(1)], settings={"order": "name"}, seed=1)
    second = run(tmp_path / "b", [Lived(1)], settings={"depth": 2}, seed=2)
    changes = paired(first, second).changes
    assert changes == {"seed": (1, 2), "settings.order": ("name", None), "settings.depth": (None, 2)}


def test_what_was_granted_is_named(tmp_path: Path) -> None:
    first, second = run(tmp_path / "a", [Lived(1)], grants=("view",)), run(tmp_path / "b", [Lived(1)])
    assert paired(first, second).changes["grants"] == (["view"], [])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"world": "alfworld"}, "world: .*other tasks"),
        ({"split": "other"}, "split: .*other tasks"),
        ({"data": "e" * 64}, "data: .*games themselves differ"),
        ({"data": "e" * 64, "goals": "human", "world_options": {"table": "t"}}, "data: .*games themselves differ"),
        ({"data": "e" * 64, "simulator": "thor 5"}, "engine: .*other effects"),
        ({"data": "e" * 64, "simulator": "thor 5", "goals": "human"}, "engine: .*other effects"),
    ],
)
def test_unlike_runs_are_refused_with_the_reason(tmp_path: Path, change: dict[str, object], why: str) -> None:
    first, second = run(tmp_path / "a", [Lived(1)]), run(tmp_path / "b", [Lived(1)], **change)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=f"(?s)cannot be paired.*{why}"):
        paired(first, second)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"max_turns": 49, "protocol": "react"}, "turns (at most 50 and at most 49)"),
        ({"goals": "human", "data": "e" * 64}, "goals (template and human); data ("),
    ],
)
def test_other_turn_limits_and_wordings_are_paired_with_a_warning(tmp_path: Path, change: dict[str, object], line: str) -> None:
    first, second = run(tmp_path / "a", [Lived(1), Lived(2)]), run(tmp_path / "b", [Lived(1), Lived(2, "lost")], **change)  # type: ignore[arg-type]
    warning = " ".join(paired(first, second).text().split()).partition("! Not measured alike: ")[2].partition(". ")[0]
    assert line in warning
    assert paired(first, second).counts.only_first == 1


def test_a_run_is_not_compared_with_itself_nor_with_one_of_other_tasks(tmp_path: Path) -> None:
    first = run(tmp_path / "a", [Lived(1)])
    with pytest.raises(ConfigurationError, match="are the same run"):
        read_arms([first.folder.path] * 2)
    with pytest.raises(ConfigurationError, match="no task in common"):
        paired(first, run(tmp_path / "b", [Lived(2)]))


def test_a_task_has_three_names(tmp_path: Path) -> None:
    tasks = (SelectedTask(number=7, id="seen/coin", type="heat"), SelectedTask(number=8, id="seen/7", type="heat"))
    assert find_task(tasks, "7") == find_task(tasks, "seen:7") == find_task(tasks, "seen/coin") == tasks[0]
    assert find_task(tasks, "seen/7") == tasks[1]
    assert find_task(tasks, "9") is None
    assert reference_of(tasks[1]) == "seen:8"
    comparison = paired(run(tmp_path / "a", [Lived(1), Lived(2)]), run(tmp_path / "b", [Lived(1), Lived(2, None)]))
    assert comparison.pair("1").task.number == 1
    with pytest.raises(ConfigurationError, match="not a task of these runs"):
        comparison.pair("3")
    with pytest.raises(ConfigurationError, match="left out of the comparison: not finished in both"):
        comparison.pair("demo:2")


def test_the_figures_of_a_report_are_paired_with_what_is_known_of_paths_and_prices(tmp_path: Path) -> None:
    first = run(tmp_path / "a", [Lived(1, steps=4), Lived(2, steps=8), Lived(3, "error", steps=1)])
    second = run(tmp_path / "b", [Lived(1, steps=2), Lived(2, "lost", steps=50), Lived(3, steps=2)])
    ids = [result.task for result in first.results]
    known = Extras(paths={ids[0]: PathLengths(4, 2), ids[1]: PathLengths(8, None)})
    comparison = paired(replace(first, extras=known), replace(second, extras=known))
    found = {each.figure.key: each for each in comparison.figures}
    shares = ["success", "goal_conditions", "success_by_path", "goal_conditions_by_path"]
    assert list(found) == [*shares, "steps", "refused", "repeated"]
    weighted = found["success_by_path"]
    # Of the third task no path is known: in the first run it counts 0 whatever its path, in the second nobody can tell.
    assert (weighted.first, weighted.second, weighted.tasks, weighted.missing) == (0.75, 0.5, 2, 1)
    assert weighted.interval == bootstrap_mean([0.5, -1.0])
    assert (found["steps"].first, found["steps"].second, found["steps"].missing) == (13 / 3, 18, 0)
    assert "Without 1 task where one of them lacks the figure" in comparison.text()


def test_games_whose_path_is_unknown_are_left_out_however_they_ended(tmp_path: Path) -> None:
    # Else the few that were lost, of which it is known that they weigh 0, would be all that a figure is made of.
    first = run(tmp_path / "a", [Lived(1), Lived(2), Lived(3, "lost")])
    comparison = paired(first, run(tmp_path / "b", [Lived(1), Lived(2), Lived(3, "lost")]))
    assert not {"success_by_path", "goal_conditions_by_path"} & {each.figure.key for each in comparison.figures}
    assert "SR/path" not in comparison.text()


def test_why_either_did_not_win_is_counted(tmp_path: Path) -> None:
    first = run(tmp_path / "a", [Lived(1), Lived(2, "error"), Lived(3, "lost")])
    second = run(tmp_path / "b", [Lived(1, "lost"), Lived(2), Lived(3)])
    comparison = paired(first, second)
    total = [sum(ours for ours, _ in comparison.failures.values()), sum(theirs for _, theirs in comparison.failures.values())]
    assert total == [2, 1]
    for kind in comparison.failures:
        assert kind.label in comparison.text()


OUTCOMES = st.lists(st.tuples(*[st.sampled_from(["won", "lost", "error"])] * 2), min_size=1, max_size=6)


@pytest.mark.heavy
@given(OUTCOMES)
@settings(max_examples=15)
def test_the_other_way_round_is_the_same_with_its_sign_turned(outcomes: list[tuple[str, str]]) -> None:
    with TemporaryDirectory() as name:
        first, second = (
            run(Path(name) / str(side), [Lived(number, pair[side]) for number, pair in enumerate(outcomes)])  # type: ignore[arg-type]
            for side in (0, 1)
        )
        there, back = paired(first, second), paired(second, first)
    assert sum(there.counts) == len(outcomes)
    assert there.difference.value == -back.difference.value
    one, other = there.difference.interval, back.difference.interval
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    flips = [1.0] * there.counts.only_second + [-1.0] * there.counts.only_first
    assert there.difference.p == back.difference.p == by_chance(flips)
    assert sum(map(len, there.by_type.values())) == len(outcomes)


def test_the_text_names_the_flipped_tasks_in_eighty_columns(tmp_path: Path) -> None:
    def said(text: str) -> str:
        return f"{text} \x1b[31m<b>" + "long " * 30 + "\u202e"

    first = run(tmp_path / "a", [Lived(number, "lost") for number in range(30)], said=said)
    second = run(tmp_path / "b", [Lived(number) for number in range(29)], said=said, settings={})
    text = paired(first, second).text()
    assert all(len(line) <= 80 and line.isprintable() for line in text.splitlines())
    assert "Only the second won (29):" in text
    assert "and 9 more; --json names them all" in text
    assert "Left out, not selected in b (1):" in text
    fewer = paired(first, run(tmp_path / "c", [Lived(number) for number in range(9)], said=said)).text()
    assert "Left out, not selected in c (21):" in fewer
    assert "and 18 more; --json names them all" in " ".join(fewer.split())


def test_the_text_says_it_plainly(tmp_path: Path) -> None:
    first = run(tmp_path / "a", [*(Lived(number, "lost") for number in range(8)), Lived(8), Lived(9, "error")])
    second = run(tmp_path / "b", [Lived(number) for number in range(10)], seed=1)
    text = " ".join(paired(first, second).text().split())
    assert "Difference in success (second less first): +90.0 points, 95 % interval +48.8 to +98.2." in text
    assert "McNemar's mid-p: 0.002, over 9 tasks that only one of them won." in text
    assert "Steps on 1 task that both won: 3.0 and 3.0, difference +0.0" in text
    assert "differs seed: 0 and 1" in text
    assert "Errors, counted as not won: 1 in the first, 0 in the second." in text


def test_the_json_has_stable_keys(tmp_path: Path) -> None:
    first, second = run(tmp_path / "a", [Lived(1), Lived(2)]), run(tmp_path / "b", [Lived(1), Lived(2, "lost")], seed=1)
    comparison = paired(first, second)
    figures = json.loads(json.dumps(comparison.data()))
    assert list(figures) == [
        "first", "second", "card", "unlike", "changes", "pairs", "both", "only_first", "only_second", "neither", "difference",
        "interval", "p", "steps", "figures", "failures", "by_type", "flipped", "left_out",
    ]  # fmt: skip
    assert list(figures["first"]) == [
        "name",
        "label",
        "runs",
        "agent",
        "model",
        "learned",
        "won",
        "errors",
        "success",
        "interval",
        "ceiling",
    ]
    assert figures["changes"] == {"seed": [0, 1]}
    assert figures["by_type"]["heat"]["only_first"] == 1
    assert figures["flipped"][0]["won_by"] == "first"
    assert figures["flipped"][0]["second"] == {"outcome": "lost", "reason": "because of that", "turns": 4, "steps": 3}


def test_nothing_paired_is_still_a_comparison(tmp_path: Path) -> None:
    comparison = paired(run(tmp_path / "a", [Lived(1, None)]), run(tmp_path / "b", [Lived(1)]))
    assert sum(comparison.counts) == 0
    assert "0 tasks played by both" in comparison.text()
    assert comparison.data()["difference"] == 0.0


def repeats(folder: Path, *outcomes: Sequence[Outcome | None], **more: object) -> Arm:
    lived = [[Lived(number, outcome, calls=True) for number, outcome in enumerate(each, 1)] for each in outcomes]
    runs = [run(folder / str(seed), each, seed=seed, **more) for seed, each in enumerate(lived)]  # pyright: ignore[reportArgumentType]
    return Arm(folder.name, runs)


def test_series_of_repeats_are_paired_by_what_a_task_comes_to(tmp_path: Path) -> None:
    first = repeats(tmp_path / "a", ("won", "lost", "lost", None), ("lost", "lost", "won", "won"))
    second = repeats(tmp_path / "b", ("won", "won", "lost", "won"), ("won", "lost", "won", "won"), grants=("admissible",))
    comparison = Comparison(first, second)
    assert [pair.task.number for pair in comparison.pairs] == [1, 2, 3]
    assert comparison.left_out == {"not finished in both": ["demo/4-task"]}
    success = comparison.figures[0]
    assert (success.first, success.second) == pytest.approx((1 / 3, 2 / 3))
    assert success.interval == comparison.difference.interval
    assert success.interval.low < 0 < success.interval.high, "three tasks tell little"
    assert comparison.unlike == {"grants": ("none", "admissible")}
    text = comparison.text()
    assert "! Not measured alike: grants (none and admissible)." in text
    assert "3 tasks played by both, 2 times and 2 times" in text
    assert "alike   protocol none named;" in text
    assert "repeats 2" in " ".join(text.split())
    assert "Difference in success (second less first): +33.3 points" in text
    assert max(map(len, text.splitlines())) <= 80
    assert json.loads(json.dumps(comparison.data())) == comparison.data()
    assert {"calls", "tokens"} <= {each.figure.key for each in comparison.figures}


def test_a_series_and_a_single_run_are_paired_too_and_their_repeats_differ(tmp_path: Path) -> None:
    one = run(tmp_path / "one", [Lived(1), Lived(2)])
    comparison = Comparison(Arm("one", (one,)), repeats(tmp_path / "b", ("won", "lost"), ("won", "lost")))
    assert comparison.unlike["repeats"] == ("1", "2")
    assert comparison.figures[0].difference == -0.5
    nothing = Comparison(Arm("one", (one,)), repeats(tmp_path / "c", (None, None), (None, None)))
    assert (nothing.pairs, nothing.figures) == ((), ()) and "0 tasks played by both, 1 time and 2 times" in nothing.text()


def test_retries_are_compared_by_how_each_task_ended(tmp_path: Path) -> None:
    first = run(tmp_path / "r" / "1", [Lived(1, calls=True), Lived(2, "lost", calls=True), Lived(3, "lost", calls=True)])
    again = run(tmp_path / "r" / "2", [Lived(2, calls=True), Lived(3, "lost", calls=True)], attempt=2)
    retried = in_the_end(RunFolder(tmp_path / "r"), [first, again])
    plain = run(tmp_path / "plain", [Lived(1, calls=True), Lived(2, "lost", calls=True), Lived(3, "lost", calls=True)])
    comparison = paired(plain, retried)
    assert (comparison.counts.both, comparison.counts.only_second, comparison.counts.neither) == (1, 1, 1)
    assert comparison.unlike == {"retries": ("none", "1 more attempt at what was not won")}
    calls = next(each for each in comparison.figures if each.figure.key == "calls")
    assert (calls.first, calls.second) == (3, 5), "the calls of all attempts are counted"
    second = retried.manifest.tasks[1]
    assert comparison.second.runs[0].episode(second) == again.episode(second)
