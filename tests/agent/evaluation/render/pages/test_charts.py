"""Charts: well-formed whatever their labels, within their frame, and said in words."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.evaluation.analysis.metrics import summarise
from housequest.agent.evaluation.analysis.statistics import Interval, wilson
from housequest.agent.evaluation.render.pages.render import RateBar, chart, endings, step_bins, ticks, tokens_an_episode
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result


def result(outcome: str = "won", **fields: object) -> Result:
    told = {"number": 1, "task": "demo/1", "type": "heat", "reason": "because", "turns": 3, "steps": 3, "refused": 0}
    return Result.model_validate({**told, "outcome": outcome, **fields})


def rate(won: int, tasks: int) -> RateBar:
    return RateBar(won / tasks, wilson(won, tasks), f"{won}/{tasks}")


@pytest.mark.heavy
@given(st.text(max_size=60), st.integers(0, 9), st.integers(0, 10**9))
def test_charts_are_well_formed_and_inside_their_frame(label: str, won: int, number: int) -> None:
    each = rate(won, 9)
    charts = (
        chart("rates", label, [label], [(label, (each, each))], (label, label)),
        chart("counts", label, [label], [(label, number), (label, 0)]),
        chart("histogram", label, [label], [(label[:8], (number, won))], (label, label), label),
        chart("points", label, [label], [(label, float(number), each)], label),
        chart("difference", label, [label], won / 9 - 0.5, Interval(-0.6, 0.6)),
    )
    for drawn in charts:
        svg = ET.fromstring(drawn)
        assert svg.get("role") == "img"
        assert svg.get("aria-label")
        width, height = map(float, svg.attrib["viewBox"].split()[-2:])
        for rect in svg.iter("rect"):
            x, y, wide, tall = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
            assert x >= 0 and y >= 0 and x + wide <= width and y + tall <= height


def test_whiskers_stand_at_the_ends_of_the_interval() -> None:
    svg = ET.fromstring(chart("rates", "s", ["heat: 1/2"], [("heat", (RateBar(0.5, Interval(0.25, 0.75), "1/2"),))], ()))
    line = next(line for line in svg.iter("line") if line.get("class") == "whisker")
    (bar,) = svg.iter("rect")
    start, wide = float(bar.attrib["x"]), float(bar.attrib["width"])
    assert (float(line.attrib["x1"]), float(line.attrib["x2"])) == pytest.approx(
        (start + wide / 2, start + 1.5 * wide), abs=0.2
    )
    assert svg.attrib["aria-label"] == "s: heat: 1/2"


@given(st.floats(0, 1e12))
def test_ticks_are_few_and_round(most: float) -> None:
    marks = ticks(most)
    assert marks[0] == 0 and len(marks) <= 6 and marks[-1] <= max(most, 1)


def test_steps_fall_into_bins() -> None:
    bins = step_bins([result(steps=1), result(steps=5), result("lost", steps=50), result("error", steps=0)], 50)
    assert [label for label, _ in bins] == [f"{5 * place + 1}-{5 * place + 5}" for place in range(10)]
    assert (bins[0][1], bins[-1][1]) == ((2, 1), (0, 1))
    assert [label for label, _ in step_bins([result(steps=2)], 2)] == ["1", "2"]
    assert len(step_bins([], 1)) == 1


def test_endings_are_told_apart_by_their_class() -> None:
    tasks = [SelectedTask(number=number, id=str(number), type="heat") for number in range(5)]
    broken, looped = ({"kind": kind, "turn": 1, "words": "x"} for kind in ("model", "looped"))
    played = [
        result(task="0"),
        result("lost", task="1", failure=looped),
        result("lost", task="2", failure=looped),
        result("error", task="3", failure=broken),
    ]
    assert endings(summarise(tasks, played)) == [
        ("won", 1),
        ("went round in circles", 2),
        ("the model failed", 1),
        ("not finished", 1),
    ]


def test_tokens_are_known_of_all_or_of_none() -> None:
    assert tokens_an_episode([result(), result(calls=1, prompt_tokens=8, completion_tokens=2)]) == 5
    assert tokens_an_episode([result(), result(calls=1)]) is None
    assert tokens_an_episode([]) is None
