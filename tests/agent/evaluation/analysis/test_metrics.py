"""What episodes come to, one and many."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.config import Prices
from housequest.agent.episodes.events import Ended, Event, Intervened, ModelCall, ParseFailed
from housequest.agent.evaluation.analysis.failures import FailureKind
from housequest.agent.evaluation.analysis.metrics import Extras, Figures, PathLengths, summarise
from housequest.agent.evaluation.analysis.statistics import wilson
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result, result_of
from housequest.agent.evaluation.runs.usage import EpisodeTiming

TASKS = tuple(SelectedTask(number=n, id=f"demo/{n}", type=kind) for n, kind in enumerate(("heat", "heat", "light", "light"), 1))


def result(number: int, outcome: str, *, steps: int = 5, assisted: bool = False, **more: object) -> Result:
    return Result.model_validate(
        {
            "number": number,
            "task": f"demo/{number}",
            "type": TASKS[number - 1].type,
            "outcome": outcome,
            "reason": "because",
            "assisted": assisted,
            "turns": steps,
            "steps": steps,
            "refused": 1,
            **more,
        }
    )


def test_errors_count_as_not_won_and_unfinished_tasks_not_at_all() -> None:
    summary = summarise(TASKS, [result(1, "won", steps=4), result(2, "error", steps=2, boundary="model", message="gone")])
    overall = summary.overall
    assert (overall.episodes, overall.won, overall.lost, overall.errors, overall.unfinished) == (4, 1, 0, 1, 2)
    assert overall.success == 0.5
    assert overall.interval == wilson(1, 2)
    assert overall.so_far == "2 of 4"
    begun, left = summary.by_type["heat"], summary.by_type["light"]
    assert (begun.success, left.success, left.interval, left.goal.mean) == (0.5, None, None, None)
    assert overall.commands.mean == 3.0
    assert overall.mean_steps_won == 4.0
    assert [each.task for each in summary.errored] == ["demo/2"]
    assert {kind: count.episodes for kind, count in summary.by_type.items()} == {"heat": 2, "light": 2}


def test_an_assisted_episode_is_left_out_by_name() -> None:
    summary = summarise(TASKS, [result(1, "won", assisted=True), result(2, "lost"), result(3, "stopped"), result(4, "won")])
    assert summary.assisted == ("demo/1",)
    assert (summary.overall.episodes, summary.overall.won, summary.overall.lost) == (3, 1, 2)
    assert summary.by_type["heat"].episodes == 1


def test_tokens_are_unknown_until_one_call_counts_them() -> None:
    assert summarise(TASKS, [result(1, "won")]).overall.prompt_tokens is None
    counted = summarise(TASKS, [result(1, "won"), result(2, "won", prompt_tokens=7, completion_tokens=2, calls=3)]).overall
    assert (counted.prompt_tokens, counted.completion_tokens, counted.calls) == (7, 2, 3)


def test_nothing_selected_divides_by_nothing() -> None:
    overall = summarise((), ()).overall
    assert (overall.success, overall.interval, overall.commands.mean, overall.mean_steps_won) == (None, None, None, None)


def test_a_result_counts_calls_tokens_and_unreadable_replies() -> None:
    events: list[Event] = []
    called = ModelCall(role="react", kept=0, added=(), reply="x", finish="stop", prompt_tokens=10, completion_tokens=None)
    bodies = (called, called, ParseFailed(role="react", reply="x", reason="no", final=False))
    for number, body in enumerate(bodies):
        events.append(Event(id=number, parent=number - 1 if number else None, body=body))
    assert result_of(TASKS[0], events) is None
    events.append(Event(id=3, parent=2, body=Ended(outcome="won", reason="done", turns=2, steps=1, refused=0)))
    counted = result_of(TASKS[0], events)
    assert counted is not None
    assert (counted.calls, counted.unreadable, counted.prompt_tokens, counted.completion_tokens) == (2, 1, 20, None)


def test_only_the_branch_that_was_played_on_counts() -> None:
    events: list[Event] = []
    called = ModelCall(role="react", kept=0, added=(), reply="x", finish="stop", prompt_tokens=10, completion_tokens=1)
    ended = Ended(outcome="lost", reason="", turns=1, steps=1, refused=0)
    for id, parent, body in (
        (0, None, called),
        (1, 0, called),
        (2, 1, ended),
        (3, 0, Intervened(action="rewind")),
    ):
        events.append(Event(id=id, parent=parent, body=body))
    assert result_of(TASKS[0], events) is None, "it is being played again"
    events.append(Event(id=4, parent=3, body=called))
    events.append(Event(id=5, parent=4, body=ended))
    result = result_of(TASKS[0], events)
    assert result is not None
    assert (result.calls, result.prompt_tokens, result.completion_tokens) == (2, 20, 2)


PATHS = {"demo/1": PathLengths(9, 4), "demo/2": PathLengths(expert=5), "demo/3": PathLengths(8, 8)}


def hand_made(**more: Mapping[str, object]) -> Figures:
    """A task won in 5 of 4 commands, one lost in 10 of 5 with half of its goal, one that broke after 2 of 8, one unfinished."""
    results = [
        result(1, "won", steps=5, met=2, conditions=2),
        result(2, "lost", steps=10, met=1, conditions=2),
        result(3, "error", steps=2, met=2, conditions=4, boundary="model", message="gone"),
    ]
    return summarise(TASKS, results, Extras(**{"paths": PATHS, **more})).overall  # pyright: ignore[reportArgumentType]


def test_goal_conditions_and_path_weights_by_hand() -> None:
    overall = hand_made()
    assert overall.success == 1 / 3
    assert [value for value, _ in overall.goal.terms] == [1.0, 0.5, 0.5]
    assert overall.goal.mean == pytest.approx(2 / 3)
    assert overall.success_by_path.mean == pytest.approx(4 / 5 / 3)
    # The errored one took fewer commands than the shortest way: its share counts in full.
    assert overall.goal_by_path.mean == pytest.approx((4 / 5 + 5 / 10 * 0.5 + 0.5) / 3)
    assert overall.paths == {"planner": 2, "expert": 1, "unknown": 0}


def test_without_a_path_that_matters_the_weighted_share_is_not_told() -> None:
    overall = hand_made(paths={"demo/1": PathLengths(9, 4)})
    assert overall.success_by_path.mean == pytest.approx(4 / 5 / 3), "what was not won weighs nothing, whatever its path"
    assert (overall.goal_by_path.mean, overall.goal_by_path.interval, overall.goal_by_path.missing) == (None, None, 2)
    assert hand_made(paths={}).success_by_path.missing == 1


def test_goal_conditions_are_told_by_the_world_alone() -> None:
    untold = summarise(TASKS[:2], [result(1, "lost"), result(2, "won")]).overall
    assert (untold.goal.mean, untold.goal.missing) == (None, 1)
    idle = summarise(TASKS[:1], [result(1, "lost", steps=0)]).overall
    assert idle.goal.mean == 0.0, "without a command nothing was reached"


def test_a_task_that_takes_nothing_weighs_in_full() -> None:
    overall = summarise(TASKS[:1], [result(1, "won", steps=0)], Extras(paths={"demo/1": PathLengths(0, 0)})).overall
    assert overall.success_by_path.mean == 1.0


def test_tokens_seconds_and_cost_by_hand() -> None:
    results = [
        result(1, "won", calls=2, prompt_tokens=1_000, completion_tokens=100),
        result(2, "lost", calls=1, prompt_tokens=500, completion_tokens=50),
        result(3, "won"),
    ]
    clocks = {
        "demo/1": EpisodeTiming(model=3.0, cached=600, wall=4.0),
        "demo/2": EpisodeTiming(model=1.0, wall=2.0),
        "demo/3": EpisodeTiming(wall=0.5),
    }
    prices = Prices(input=2, cached=1, output=10)
    overall = summarise(TASKS[:3], results, Extras(clocks=clocks, prices=prices)).overall
    assert (overall.prompt_tokens, overall.completion_tokens) == (1_500, 150)
    assert (overall.fresh_tokens, overall.cached_tokens) == (900, 600)
    assert (overall.model_seconds.total, overall.wall_seconds.total) == (4.0, 6.5)
    assert overall.cost.total == pytest.approx((900 * 2 + 600 * 1 + 150 * 10) / 1_000_000)
    assert summarise(TASKS[:3], results).overall.cost.total is None
    uncounted = [*results[:2], result(3, "won", calls=1)]
    assert summarise(TASKS[:3], uncounted, Extras(prices=prices)).overall.cost.missing == 1


def test_intervals_hold_their_means() -> None:
    interval = hand_made().goal.interval
    assert interval is not None
    assert 0 <= interval.low <= 0.5 <= interval.high <= 1


def test_failures_are_classes_in_one_order() -> None:
    def lost(number: int, kind: str) -> Result:
        return result(number, "lost", failure={"kind": kind, "turn": number, "words": "So."})

    results = [lost(1, "looped"), lost(2, "not_found"), result(3, "won"), lost(4, "looped")]
    failures = summarise(TASKS, results).failures
    found = [(kind, [one.number for one in results]) for kind, results in failures.items()]
    assert found == [("not_found", [2]), ("looped", [1, 4])]
    assert next(iter(failures)).label == "never found the object"


def test_goals_are_counted_by_whose_sentence_they_are() -> None:
    results = [result(1, "won", wording="human:2"), result(2, "lost", wording="human:0"), result(3, "won", wording="template")]
    by_wording = summarise(TASKS, results).by_wording
    assert {wording: (count.won, count.episodes) for wording, count in by_wording.items()} == {
        "human": (1, 2),
        "template": (1, 1),
        "unknown": (0, 1),
    }


_KINDS = st.sampled_from(["heat", "light", "cool"])
_COUNTS = st.integers(0, 40)
_TOKENS = st.none() | st.integers(0, 9_999)


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[SelectedTask], list[Result], Extras]:
    """Any run at all: tasks, results of some of them, and whatever is known besides."""
    kinds = draw(st.lists(_KINDS, max_size=8))
    tasks = [SelectedTask(number=n, id=f"t{n}", type=kind, wording="template") for n, kind in enumerate(kinds)]
    results: list[Result] = []
    for task in draw(st.permutations(tasks)):
        if not draw(st.booleans()):
            continue
        outcome = draw(st.sampled_from(["won", "lost", "error", "stopped"]))
        failure = None if outcome == "won" else {"kind": draw(st.sampled_from(sorted(FailureKind))), "turn": 1, "words": "."}
        fields = {name: draw(_COUNTS) for name in ("turns", "steps", "refused", "repeated", "calls", "unreadable")}
        conditions = draw(st.none() | st.integers(1, 5))
        results.append(
            Result.model_validate(
                {
                    "number": task.number,
                    "task": task.id,
                    "type": task.type,
                    "wording": draw(st.sampled_from(["template", "human:0", "human:1"])),
                    "outcome": outcome,
                    "reason": "",
                    "assisted": draw(st.booleans()),
                    **fields,
                    "conditions": conditions,
                    "met": None if conditions is None else draw(st.integers(0, conditions)),
                    "prompt_tokens": draw(_TOKENS),
                    "completion_tokens": draw(_TOKENS),
                    "failure": failure,
                }
            )
        )
    paths = {task.id: PathLengths(draw(st.none() | _COUNTS), draw(st.none() | _COUNTS)) for task in tasks}
    seconds = st.none() | st.floats(0, 100)
    clocks = {task.id: EpisodeTiming(draw(seconds), draw(_TOKENS), draw(seconds)) for task in tasks}
    return tasks, results, Extras(paths, clocks, draw(st.none() | st.just(Prices(input=1, cached=0.1, output=4))))


@given(runs())
def test_the_parts_of_a_run_add_up_to_it(run: tuple[list[SelectedTask], list[Result], Extras]) -> None:
    summary = summarise(*run)
    overall = summary.overall
    sums = (
        "episodes",
        "won",
        "lost",
        "errors",
        "unfinished",
        "finished",
        "steps",
        "refused",
        "repeated",
        "unreadable",
        "calls",
    )
    tokens = ("prompt_tokens", "completion_tokens", "fresh_tokens", "cached_tokens")
    samples = ("goal", "success_by_path", "goal_by_path", "commands", "model_seconds", "wall_seconds", "cost")
    for parts in (summary.by_type.values(), summary.by_wording.values()):
        for name in (*sums, *tokens):
            values = [getattr(part, name) for part in parts]
            assert sum(value or 0 for value in values) == (getattr(overall, name) or 0), name
            assert (getattr(overall, name) is None) == (name in tokens and all(value is None for value in values)), name
        for name in samples:
            found = [getattr(part, name) for part in parts]
            assert sum(each.missing for each in found) == getattr(overall, name).missing, name
            assert sorted(value for each in found for value in each.terms) == sorted(getattr(overall, name).terms), name
    assert overall.episodes + len(summary.assisted) == len(run[0])
    assert sum(len(lost) for lost in summary.failures.values()) == overall.lost + overall.errors
    for sample in (overall.goal, overall.success_by_path, overall.goal_by_path):
        assert all(0 <= value <= 1 for value, _ in sample.terms)
    if overall.goal_by_path.mean is not None and overall.goal.mean is not None:
        assert overall.success_by_path.mean is not None
        assert overall.success_by_path.mean <= overall.success + 1e-9
        assert overall.success_by_path.mean <= overall.goal_by_path.mean + 1e-9 <= overall.goal.mean + 2e-9
    if overall.fresh_tokens is not None and overall.prompt_tokens is not None:
        assert overall.fresh_tokens + (overall.cached_tokens or 0) == overall.prompt_tokens
