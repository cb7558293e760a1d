"""How far a run is, on one line: written over itself on a terminal, and now and then elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.evaluation.runs.batch import RunProgress

BEAT = 0.5
"""Seconds between two looks at a run of which nothing has finished meanwhile."""


def progress_text(progress: RunProgress, seconds: float, width: int) -> str:
    """The line, of at most ``width`` columns, ``seconds`` after the run went on: what matters least is left out first."""
    from agent.evaluation.runs.cost import money

    done, total = progress.done, progress.total
    parts = [f"{done}/{total}"]
    if done and progress.won is not None:
        parts.append(f"{100 * progress.won / done:.0f} % won")
    if progress.errors:
        parts.append(f"{progress.errors} {'error' if progress.errors == 1 else 'errors'}")
    here = done - progress.resumed
    if here and seconds > 0:
        left = seconds * (total - done) / here
        parts += [f"{duration(left)} left", f"{_rate(60 * here / seconds)} a minute"] if done < total else []
    if progress.cost:
        parts.append(f"cost {money(progress.cost)}")
    if progress.active or progress.limit is not None:
        calls = f"{progress.active} call{'s' * (progress.active != 1)}"
        parts.append(f"{calls} of {progress.limit}" if progress.limit is not None else calls)
    if progress.resumed:
        parts.append(f"{progress.resumed} from before")
    while len(parts) > 1 and len(" · ".join(parts)) > width:
        parts.pop()
    return " · ".join(parts)[:width]


def duration(seconds: float) -> str:
    """A span of time in its two largest units: 40 s, 3 min, 2 h 05 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


class ProgressLine:
    """Shows a run's progress; where no terminal is, a line for every tenth of the way.

    ``opening`` is said once the run has begun: one that is refused is not announced.
    """

    def __init__(self, opening: str = "") -> None:
        from tui.terminal import is_terminal

        self._opening = opening
        self._live = sys.stderr if is_terminal(sys.stderr) else None
        self._began: float | None = None
        self._tenth = 0
        self._written = False
        self.done = 0
        self.left: int | None = None
        """How many episodes were left to play when the run began; None before it did."""

    @property
    def beat(self) -> float | None:
        """How often it wants to be told, in seconds, though nothing has finished; None: never."""
        return BEAT if self._live is not None else None

    def __call__(self, progress: RunProgress) -> None:
        """Show ``progress``."""
        from tui import terminal

        now = time.monotonic()
        if self._began is None or self.left is None:
            self._began, self.left = now, progress.total - progress.done
            if self._opening:
                terminal.note(self._opening)
        self.done = progress.done
        seconds = now - self._began
        if self._live is not None:
            width = shutil.get_terminal_size((terminal.WIDEST, 24)).columns - 1
            self._live.write(f"\r\x1b[K{progress_text(progress, seconds, width)}")
            self._live.flush()
            self._written = True
        elif self.left and (tenth := 10 * (progress.done - progress.resumed) // self.left) > self._tenth:
            self._tenth = tenth
            terminal.note(progress_text(progress, seconds, terminal.WIDEST))

    def say(self, text: str) -> None:
        """Say something beside it."""
        from tui import terminal

        self.close()
        terminal.note(text)

    def close(self) -> None:
        """Leave the line as it is."""
        if self._live is not None and self._written:
            self._live.write("\n")
            self._live.flush()
            self._written = False
