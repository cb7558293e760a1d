"""Two charts of a run: success by task type with 95 % intervals, and the steps of its won episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from textual.color import Color
from textual_plotext import PlotextPlot

from housequest.tui.runs.data import RunSnapshot
from housequest.tui.runs.matrix import short_type

WIDTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
"""How many steps one bar of the histogram may hold."""


class Chart(PlotextPlot):
    """A chart that is redrawn when its size or the theme changes."""

    DEFAULT_CSS = """
    Chart { height: 1fr; border: round $frame; border-title-color: $quiet; background: $background; color: $quiet; }
    """

    _run: RunSnapshot | None = None

    def show(self, run: RunSnapshot) -> None:
        self._run = run
        self._redraw()

    def on_mount(self) -> None:
        super().on_mount()
        self.theme = "clear"  # no colours of plotext's own: the app's theme decides
        self.app.theme_changed_signal.subscribe(self, lambda _: self._redraw())  # pyright: ignore[reportUnknownMemberType]

    def on_resize(self) -> None:
        self._redraw()

    def shade(self, variable: str) -> tuple[int, int, int]:
        """A theme variable as plotext takes a colour."""
        return Color.parse(self.app.theme_variables[variable]).rgb  # pyright: ignore[reportUnknownMemberType]

    def draw(self, run: RunSnapshot) -> None:
        """Plot ``run`` on ``self.plt``, which is empty."""
        raise NotImplementedError

    def _redraw(self) -> None:
        if self._run is None or not self.size.width:
            return
        plt = self.plt
        plt.clear_figure()
        plt.frame(False)
        self.draw(self._run)
        self.refresh()


class SuccessChart(Chart):
    """Success by task type: a point for the rate, a line for its 95 % interval (Wilson), both in per cent."""

    BORDER_TITLE = "success by type, % with 95 % interval"

    def draw(self, run: RunSnapshot) -> None:
        plt = self.plt
        counts = run.summary.by_type
        # One line for each type, evenly spaced: plotext would round their heights unevenly.
        lines = max(2, self.size.height - 1)
        every = max(1, lines // max(1, len(counts)))
        heights = [lines - 1 - every * place - (every - 1) // 2 for place in range(len(counts))]
        for height, count in zip(heights, counts.values(), strict=True):
            ends = count.interval
            plt.plot([100 * ends.low, 100 * ends.high], [height, height], marker="─", color=self.shade("frame"))
            plt.scatter([100 * count.success], [height], marker="●", color=self.shade("won"))
        plt.xlim(-3, 102)
        plt.ylim(0, lines - 1)
        plt.xticks([0, 25, 50, 75, 100])
        plt.yticks([float(height) for height in heights], [short_type(kind) for kind in counts])


class StepsChart(Chart):
    """How many of the won episodes took how many steps."""

    BORDER_TITLE = "steps of won episodes"

    def draw(self, run: RunSnapshot) -> None:
        plt = self.plt
        bars = histogram(run.steps_won, most=max(4, (self.size.width - 8) // 7))
        if not bars:
            quiet, ground = self.shade("quiet"), self.shade("background")
            plt.text("nothing won yet", 0.5, 0.5, color=quiet, background=ground, alignment="center")
            for limit, ticks in ((plt.xlim, plt.xticks), (plt.ylim, plt.yticks)):
                limit(0, 1)
                ticks([])
            return
        starts = [start for start, _ in bars]
        width = starts[1] - starts[0] if len(starts) > 1 else 1
        places = list(range(len(bars)))
        plt.bar(places, [count for _, count in bars], color=self.shade("new"), width=0.7, marker="█")
        plt.xlim(-0.5, len(bars) - 0.5)
        labels = [str(start) if width == 1 else f"{start}-{start + width - 1}" for start in starts]
        every = -(-(max(map(len, labels)) + 2) * len(bars) // max(1, self.size.width - 8))
        named = places[:: max(1, every)]
        plt.xticks([float(place) for place in named], [labels[place] for place in named])
        top = max(count for _, count in bars)
        plt.yticks(sorted({0, (top + 1) // 2, top}))
        plt.ylim(0, top)


def histogram(values: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Bins of equal width, at most ``most``: the first value of each bin and how many ``values`` it holds."""
    if not values:
        return []
    low, high = min(values), max(values)
    width = next((width for width in WIDTHS if high // width - low // width < most), WIDTHS[-1])
    counts = Counter(value // width for value in values)
    return [(place * width, counts[place]) for place in range(low // width, high // width + 1)]
