"""Charts as inline SVG, without libraries or scripts. Every chart has a text description.

Colours come from the page's style by class, and nothing depends on colour alone. ``xml.etree`` escapes all text and attributes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from markupsafe import Markup

from housequest.agent.evaluation.analysis.statistics import Interval
from housequest.worlds.text import cut, printable

WIDTH = 720
_LEFT = 236
_RIGHT = 138
_ROW = 20
_LONGEST_LABEL = 34
_LONGEST_WORDS = 8_000
_REACHES = (0.04, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Ranges of a difference chart: each and its half are round numbers."""


@dataclass(frozen=True, slots=True)
class RateBar:
    """A rate in [0, 1] with its interval; ``note`` is its text label."""

    value: float
    interval: Interval
    note: str


RateGroup = tuple[str, tuple[RateBar, ...]]
"""The name of a group (a task type) and its rates, one per series."""


def rates_chart(title: str, groups: Sequence[RateGroup], series: Sequence[str] = ()) -> Markup:
    """Success by group: a bar for each series, with a whisker for the 95 % interval."""
    each = max((len(rates) for _, rates in groups), default=1)
    step = each * _ROW + 12
    legend = 24 if len(series) > 1 else 0
    height = legend + len(groups) * step + 28
    words = "; ".join(f"{label}: {', '.join(rate.note for rate in rates)}" for label, rates in groups)
    svg = _svg(title, words, height)
    if legend:
        _legend(svg, series)
    span = WIDTH - _LEFT - _RIGHT
    for share in (0, 25, 50, 75, 100):
        x = _LEFT + span * share / 100
        _add(svg, "line", {"class": "grid"}, x1=x, x2=x, y1=legend, y2=height - 24)
        _text(svg, x, height - 8, f"{share} %", "tick middle")
    for row, (label, rates) in enumerate(groups):
        top = legend + row * step + 6
        _text(svg, _LEFT - 10, top + each * _ROW / 2 + 4, _short(label), "label end")
        for place, rate in enumerate(rates):
            y = top + place * _ROW + 2
            low, high = (_LEFT + span * min(1.0, max(0.0, end)) for end in (rate.interval.low, rate.interval.high))
            _add(svg, "rect", {"class": f"bar s{place % 2}"}, x=_LEFT, y=y, width=span * rate.value, height=_ROW - 5)
            middle = y + (_ROW - 5) / 2
            _whisker(svg, low, high, middle, 4)
            _text(svg, WIDTH - _RIGHT + 10, middle + 4, rate.note, "value")
    return _markup(svg)


def counts_chart(title: str, amounts: Sequence[tuple[str, int]]) -> Markup:
    """Counts by name as horizontal bars; all but the first share a colour."""
    svg = _svg(title, "; ".join(f"{label}: {value}" for label, value in amounts), len(amounts) * (_ROW + 6) + 8)
    most = max((value for _, value in amounts), default=0) or 1
    for row, (label, value) in enumerate(amounts):
        y = row * (_ROW + 6) + 6
        width = (WIDTH - _LEFT - _RIGHT) * value / most
        _text(svg, _LEFT - 10, y + 14, _short(label), "label end")
        _add(svg, "rect", {"class": f"bar s{min(row, 1)}"}, x=_LEFT, y=y, width=width, height=_ROW)
        _text(svg, _LEFT + width + 8, y + 14, str(value), "value")
    return _markup(svg)


def histogram_chart(title: str, bins: Sequence[tuple[str, tuple[int, ...]]], series: Sequence[str], unit: str) -> Markup:
    """How many episodes lie in each bin, by its label; the series are stacked from the bottom up."""
    height, top, bottom, left = 240, 30, 40, 48
    words = "; ".join(
        f"{label} {unit}: " + ", ".join(f"{value} {name}" for name, value in zip(series, values, strict=True))
        for label, values in bins
    )
    svg = _svg(title, words, height)
    _legend(svg, series)
    most = max((sum(values) for _, values in bins), default=0) or 1
    span = height - top - bottom
    for count in ticks(most):
        y = height - bottom - span * count / most
        _add(svg, "line", {"class": "grid"}, x1=left, x2=WIDTH - 8, y1=y, y2=y)
        _text(svg, left - 8, y + 4, str(count), "tick end")
    step = (WIDTH - left - 16) / max(1, len(bins))
    for place, (label, values) in enumerate(bins):
        x, y = left + 6 + place * step, float(height - bottom)
        for tone, value in enumerate(values):
            tall = span * value / most
            y -= tall
            if value:
                _add(svg, "rect", {"class": f"bar s{tone % 2}"}, x=x, y=y, width=max(2.0, step - 4), height=tall)
        _text(svg, x + (step - 4) / 2, height - bottom + 16, label, "tick middle")
    _text(svg, (WIDTH + left) / 2, height - 6, unit, "tick middle")
    return _markup(svg)


def points_chart(title: str, points: Sequence[tuple[str, float, RateBar]], unit: str) -> Markup:
    """What an episode uses (x) against success with its interval (y), one point per run, by its name."""
    height, top, bottom, left = 280, 16, 44, 56
    words = "; ".join(f"{label}: {used:,.0f} {unit}, success {rate.note}" for label, used, rate in points)
    svg = _svg(title, words, height)
    most = max((used for _, used, _ in points), default=0.0) or 1.0
    across, up = WIDTH - left - 150, height - top - bottom
    for share in (0, 25, 50, 75, 100):
        y = height - bottom - up * share / 100
        _add(svg, "line", {"class": "grid"}, x1=left, x2=left + across, y1=y, y2=y)
        _text(svg, left - 8, y + 4, f"{share} %", "tick end")
    for amount in ticks(most):
        _text(svg, left + across * amount / most, height - bottom + 18, f"{amount:,}", "tick middle")
    _text(svg, left + across / 2, height - 6, unit, "tick middle")
    for place, (label, used, rate) in enumerate(points):
        x = left + across * used / most
        y, low, high = (height - bottom - up * share for share in (rate.value, rate.interval.low, rate.interval.high))
        _add(svg, "line", {"class": "whisker"}, x1=x, x2=x, y1=low, y2=high)
        _add(svg, "circle", {"class": f"bar s{place % 2}"}, cx=x, cy=y, r=6)
        _text(svg, x + 10, y + 4, label[:24], "label")
    return _markup(svg)


def difference_chart(title: str, value: float, interval: Interval) -> Markup:
    """A difference of two rates, in points, with its interval on a line through zero."""
    words = f"{value * 100:+.1f} points, 95 % interval {interval.low * 100:+.1f} to {interval.high * 100:+.1f}"
    svg = _svg(title, words, 72)
    furthest = max(abs(interval.low), abs(interval.high), abs(value))
    reach = next((each for each in _REACHES if each >= furthest), 1.0)
    middle, span = WIDTH / 2, (WIDTH - 80) / 2
    for share in (-1.0, -0.5, 0.0, 0.5, 1.0):
        x = middle + span * share
        _add(svg, "line", {"class": "zero" if share == 0 else "grid"}, x1=x, x2=x, y1=6, y2=46)
        _text(svg, x, 64, f"{share * reach * 100:+.0f}" if share else "0", "tick middle")
    low, point, high = (middle + span * share / reach for share in (interval.low, value, interval.high))
    _whisker(svg, low, high, 26, 7)
    _add(svg, "circle", {"class": "bar s0"}, cx=point, cy=26, r=7)
    return _markup(svg)


def ticks(most: float) -> list[int]:
    """About four round integers from 0 to ``most``."""
    step = max(1, 10 ** math.floor(math.log10(max(most, 1))))
    step = next((size for size in (step // 5, step // 2, step, step * 2) if size and most / size <= 5), step * 5)
    return list(range(0, math.floor(most) + 1, step))


def _svg(title: str, words: str, height: float) -> ET.Element:
    alternative = printable(cut(f"{title}: {words}", _LONGEST_WORDS))
    attributes = {"class": "chart", "role": "img", "aria-label": alternative, "viewBox": f"0 0 {WIDTH} {height:g}"}
    svg = ET.Element("svg", attributes)
    ET.SubElement(svg, "title").text = printable(title)
    return svg


def _legend(svg: ET.Element, series: Sequence[str]) -> None:
    x = float(_LEFT)
    for place, name in enumerate(series):
        label = _short(name)
        _add(svg, "rect", {"class": f"bar s{place % 2}"}, x=x, y=5, width=12, height=12)
        _text(svg, x + 18, 15, label, "label")
        x += 40 + 7.2 * len(label)


def _add(parent: ET.Element, tag: str, attributes: dict[str, str], **numbers: float) -> None:
    ET.SubElement(parent, tag, {**attributes, **{name: f"{value:.1f}".removesuffix(".0") for name, value in numbers.items()}})


def _text(parent: ET.Element, x: float, y: float, text: str, style: str) -> None:
    _add(parent, "text", {"class": style}, x=x, y=y)
    parent[-1].text = printable(text)


def _whisker(svg: ET.Element, low: float, high: float, y: float, reach: float) -> None:
    _add(svg, "line", {"class": "whisker"}, x1=low, x2=high, y1=y, y2=y)
    for end in (low, high):
        _add(svg, "line", {"class": "whisker"}, x1=end, x2=end, y1=y - reach, y2=y + reach)


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"


def _markup(svg: ET.Element) -> Markup:
    # ElementTree escaped everything in it.
    return Markup(ET.tostring(svg, encoding="unicode"))
