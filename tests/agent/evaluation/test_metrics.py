"""What episodes come to, one and many."""

from __future__ import annotations

from agent.evaluation.metrics import Result, Selected, Tally, summarise
from agent.events import Called, Clocked, Ended, Event, Intervened, Unreadable

TASKS = tuple(Selected(number=n, id=f"demo/{n}", type=kind) for n, kind in enumerate(("heat", "heat", "light", "light"), 1))


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


def test_errors_and_unfinished_tasks_stay_in_the_denominator() -> None:
    summary = summarise(TASKS, [result(1, "won", steps=4), result(2, "error", steps=2, boundary="model", message="gone")])
    overall = summary.overall
    assert (overall.episodes, overall.won, overall.lost, overall.errors, overall.unfinished) == (4, 1, 0, 1, 2)
    assert overall.success == 0.25
    assert overall.mean_steps == 3.0
    assert overall.mean_steps_won == 4.0
    assert [each.task for each in summary.errored] == ["demo/2"]
    assert {kind: count.episodes for kind, count in summary.by_type.items()} == {"heat": 2, "light": 2}


def test_an_assisted_episode_is_left_out_by_name() -> None:
    summary = summarise(TASKS, [result(1, "won", assisted=True), result(2, "lost"), result(3, "stopped"), result(4, "won")])
    assert summary.assisted == ("demo/1",)
    assert (summary.overall.episodes, summary.overall.won, summary.overall.lost) == (3, 1, 2)
    assert summary.by_type["heat"].episodes == 1


def test_tokens_are_unknown_until_one_call_counts_them() -> None:
    assert summarise(TASKS, [result(1, "won")]).prompt_tokens is None
    counted = summarise(TASKS, [result(1, "won"), result(2, "won", prompt_tokens=7, completion_tokens=2, calls=3)])
    assert (counted.prompt_tokens, counted.completion_tokens, counted.calls) == (7, 2, 3)


def test_nothing_selected_divides_by_nothing() -> None:
    overall = summarise((), ()).overall
    assert (overall.success, overall.mean_steps, overall.mean_steps_won) == (0.0, None, None)


def test_a_tally_counts_calls_tokens_and_unreadable_replies() -> None:
    tally = Tally(TASKS[0])
    called = Called(role="react", kept=0, added=(), reply="x", finish="stop", prompt_tokens=10, completion_tokens=None)
    bodies = (called, called, Unreadable(role="react", reply="x", reason="no", final=False))
    for number, body in enumerate(bodies):
        tally(Event(id=number, parent=number - 1 if number else None, body=body))
    tally(Clocked(of=0, seconds=1.0))
    assert tally.result() is None
    tally(Event(id=3, parent=2, body=Ended(outcome="won", reason="done", turns=2, steps=1, refused=0)))
    counted = tally.result()
    assert counted is not None
    assert (counted.calls, counted.unreadable, counted.prompt_tokens, counted.completion_tokens) == (2, 1, 20, None)


def test_only_the_branch_that_was_played_on_counts() -> None:
    tally = Tally(TASKS[0])
    called = Called(role="react", kept=0, added=(), reply="x", finish="stop", prompt_tokens=10, completion_tokens=1)
    ended = Ended(outcome="lost", reason="", turns=1, steps=1, refused=0)
    for id, parent, body in (
        (0, None, called),
        (1, 0, called),
        (2, 1, ended),
        (3, 0, Intervened(action="rewind")),
    ):
        tally(Event(id=id, parent=parent, body=body))
    assert tally.result() is None, "it is being played again"
    tally(Event(id=4, parent=3, body=called))
    tally(Event(id=5, parent=4, body=ended))
    result = tally.result()
    assert result is not None
    assert (result.calls, result.prompt_tokens, result.completion_tokens) == (2, 20, 2)
