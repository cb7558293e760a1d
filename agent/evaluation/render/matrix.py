"""The report of a partner matrix: the gain of each player beside each partner, the worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from housequest.agent.evaluation.analysis.arms import Arm
from housequest.agent.evaluation.analysis.gain import Gain
from housequest.agent.evaluation.render.series import ArmsReport
from housequest.agent.evaluation.render.table import WIDTH, Section, Strong, Table, wrapped
from housequest.agent.evaluation.runs.sweep import alone, beside_partner, judged


class Cell(NamedTuple):
    """The gain of a ``player`` with a ``partner`` over itself alone; None until both have finished a task."""

    player: str
    partner: str
    gain: Gain | None


class MatrixReport(ArmsReport):
    """Each judged player with each of ``players``: their gain over the player alone, on the same tasks."""

    def __init__(self, players: Sequence[str], arms: Sequence[Arm]) -> None:
        super().__init__(arms)
        self.players = players
        # Rows and columns name the players; all pairs share talk and order.
        configs = (arm.runs[0].manifest.configuration for arm in arms if arm.runs)
        company = next((config for config in configs if config.players), None)
        told = {"talk": (company and company.talk) or "", "order": (company and company.order) or ""}
        shown = [(name, told.get(name, value)) for name, value in self.heading if name not in ("agent", "model", "players")]
        self.heading = [(name, value) for name, value in shown if value]
        known = {arm.name: arm for arm in arms if arm.runs}
        self.cells = [_cell(player, partner, known) for player in judged(players) for partner in players]
        found = [(cell.gain.value, cell) for cell in self.cells if cell.gain is not None]
        # The worst cell; None before any is played.
        self.worst = min(found, key=lambda each: each[0])[1] if found else None

    def data(self) -> dict[str, object]:
        cells = [
            {"player": cell.player, "partner": cell.partner, "gain": cell.gain and cell.gain.data()} for cell in self.cells
        ]
        worst = self.worst and {"player": self.worst.player, "partner": self.worst.partner}
        return {"matrix": {"players": list(self.players), "worst": worst, "cells": cells}, **super().data()}

    def sections(self) -> Iterator[Section]:
        yield map(Strong, wrapped(self.headline))
        yield from super().sections()

    @property
    def headline(self) -> str:
        """The worst cell in words."""
        worst = self.worst
        if worst is None or worst.gain is None:
            return "No pair has finished a task yet."
        ends = worst.gain.interval
        within = f", 95 % interval {ends.low:.2f} to {ends.high:.2f}" if ends is not None else ""
        return f"Worst cell: {worst.player} with {worst.partner}, gain {worst.gain.value:.2f}{within}."

    def tables(self) -> Iterator[Table]:
        """The gains, and the arms."""
        rows: dict[str, list[str]] = {}
        for cell in self.cells:
            rows.setdefault(cell.player, []).append("-" if cell.gain is None else f"{cell.gain.value:.2f}")
        heads = [str(number) for number, _ in enumerate(self.players, 1)] if self._wide else self.players
        yield Table(("gain of, beside", *heads), tuple((name, *cells) for name, cells in rows.items()), total=None)
        yield from super().tables()

    @property
    def _wide(self) -> bool:
        """True if the names of all partners do not fit on one line."""
        return sum(len(player) + 2 for player in self.players) > WIDTH - max(map(len, judged(self.players)))

    def sentences(self) -> Iterator[str]:
        if self._wide:
            yield f"Beside: {'; '.join(f'{number} {player}' for number, player in enumerate(self.players, 1))}."
        yield (
            "Gain: the rounds of the row's player alone over those of both, as a ratio of sums over the same tasks; a lost "
            "task counts all its rounds. docs/explanation/together.md says how partners play."
        )
        yield from super().sentences()


def _cell(player: str, partner: str, known: dict[str, Arm]) -> Cell:
    pair = known.get(beside_partner(player, partner)) or known.get(beside_partner(partner, player))
    single = known.get(alone(player))
    if pair is None or single is None:
        return Cell(player, partner, None)
    return Cell(player, partner, Gain.of(single, pair))
