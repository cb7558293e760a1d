"""Gain by company: one player's rounds divided by those of several, over the same tasks.

A lost task counts all its turns. `docs/explanation/together.md` has the measures with their sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from housequest.agent.evaluation.analysis.arms import Arm
from housequest.agent.evaluation.analysis.metrics import PlayedTask
from housequest.agent.evaluation.analysis.statistics import Interval, bootstrap_ratio, ratio


class Gain(NamedTuple):
    """The gain over ``tasks``, in which on average one player took ``alone`` rounds and several took ``together``.

    Args:
        value: The rounds of one over those of several, as a ratio of sums, with its 95 % ``interval`` over tasks
            (None if they do not differ).
        slower: The tasks in which several took more rounds than one.
        improvement: CoELA's efficiency improvement, the mean of 1 - L_multi/L_single.
        par: The least gain of players who know everything; None unless it is known for all tasks.
    """

    tasks: int
    alone: float
    together: float
    value: float
    interval: Interval | None
    slower: int
    improvement: float
    par: float | None

    @property
    def efficiency(self) -> float | None:
        """The co-operation efficiency: the share of par's gain that they reach; None if par is not known or is no gain."""
        return None if self.par is None or self.par <= 1 else (self.value - 1) / (self.par - 1)

    @classmethod
    def of(cls, single: Arm, several: Arm) -> Gain | None:
        """The gain of one arm, of a player alone, by another's company; None where they share no finished task."""
        limits = [arm.runs[0].manifest.configuration.max_turns for arm in (single, several)]
        pairs = single.pairs(several)
        terms = [(_rounds(pair.first, limits[0]), _rounds(pair.second, limits[1])) for pair in pairs]
        if not terms or not all(two for _, two in terms):
            return None
        lengths = [pair.second[0].par for pair in pairs]
        pars = [(float(each.shortest), float(each.together)) for each in lengths if each.shortest is not None and each.together]
        return cls(
            tasks=len(terms),
            alone=fmean(first for first, _ in terms),
            together=fmean(two for _, two in terms),
            value=ratio(terms),
            interval=bootstrap_ratio(terms) if len({*terms}) > 1 else None,
            slower=sum(two > first for first, two in terms),
            improvement=fmean(1 - two / first for first, two in terms if first),
            par=ratio(pars) if len(pars) == len(terms) else None,
        )

    def data(self) -> dict[str, object]:
        """The gain as plain data."""
        return {
            **self._asdict(),
            "interval": self.interval and [self.interval.low, self.interval.high],
            "efficiency": self.efficiency,
        }

    def sentences(self) -> list[str]:
        """The gain in words."""
        ends = "" if self.interval is None else f", 95 % interval {self.interval.low:.2f} to {self.interval.high:.2f}"
        slower = f"slower than alone in {self.slower} of {self.tasks} tasks"
        told = [
            f"Gain: {self.value:.2f}{ends}: {self.alone:.1f} rounds alone, {self.together:.1f} together; {slower}. "
            f"CoELA's efficiency improvement: {self.improvement:.2f}."
        ]
        if self.efficiency is not None:
            told.append(f"Co-operation efficiency: {self.efficiency:.2f}, for par allows a gain of {self.par:.2f}.")
        return told


def _rounds(tries: Sequence[PlayedTask], limit: int) -> float:
    return fmean(each.result.turns if each.result is not None and each.won else limit for each in tries)
