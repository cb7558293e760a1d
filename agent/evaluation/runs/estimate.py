"""Estimate what a run will cost from finished episodes of the same agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from agent.evaluation.runs.cost import Tokens, cost, money
from agent.evaluation.runs.folder import RunFolder
from agent.evaluation.runs.result import Result
from agent.evaluation.runs.spec import Manifest, RunSpec
from worlds.errors import ConfigurationError

MOST_LOOKED_AT = 1_000
"""How many folders are searched for a similar run."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls and tokens for the ``left`` tasks, at the mean of ``episodes`` finished ones of the run in ``source``.

    ``cost`` is None where prices or tokens are unknown.
    """

    left: int
    source: Path
    episodes: int
    calls: int
    tokens: Tokens
    cost: float | None

    def __str__(self) -> str:
        read = f"{self.tokens.prompt:,} tokens read and {self.tokens.completion:,} written"
        tokens = read if self.tokens.prompt or self.tokens.completion else "tokens that were not counted"
        priced = f" About {money(self.cost)} at your prices, if no cache serves any of it." if self.cost is not None else ""
        return (
            f"About {self.calls:,} calls and {tokens} for {self.left} tasks, as in {self.episodes} finished ones of "
            f"{self.source}.{priced}"
        )


def estimate(spec: RunSpec, folder: Path, runs: Path = Path("runs")) -> Estimate | None:
    """Estimate the rest of the run in ``folder``; None where no run there or below ``runs`` is similar enough.

    Takes the most similar run: this one, else one with the same agent, settings and model, else the same agent and model, else
    the same agent. Unreadable folders are skipped.
    """
    found: list[tuple[int, int, Path, list[Result]]] = []
    done = 0
    for candidate in dict.fromkeys(chain([folder], islice(_folders(runs), MOST_LOOKED_AT))):
        run = RunFolder(candidate)
        with suppress(ConfigurationError, OSError):
            if not run.manifest_file.is_file():
                continue
            manifest = run.manifest()
            alike = _alike(manifest, spec.manifest)
            if not alike:
                continue
            results = run.results(manifest.tasks)
            if candidate == folder:
                done, alike = len(results), alike + 1
            told = [result for result in results if result.calls and result.outcome != "error" and not result.assisted]
            if told:
                found.append((alike, len(told), candidate, told))
    left = len(spec.manifest.tasks) - done
    if not found:
        return None
    _, episodes, source, told = max(found, key=lambda each: each[:2])
    tokens = Tokens(
        _scaled([result.prompt_tokens or 0 for result in told], left),
        _scaled([result.completion_tokens or 0 for result in told], left),
    )
    prices = spec.setup.prices
    priced = cost(tokens, prices) if prices is not None else None
    return Estimate(left, source, episodes, _scaled([result.calls for result in told], left), tokens, priced)


def _scaled(numbers: list[int], left: int) -> int:
    return round(sum(numbers) / len(numbers) * left)


def _alike(one: Manifest, other: Manifest) -> int:
    """How similar two runs are in what their episodes cost; 0: not at all."""
    first, second = one.configuration, other.configuration
    if first.agent != second.agent:
        return 0
    if first.model != second.model:
        return 1
    return 3 if first.settings == second.settings else 2


def _folders(runs: Path) -> Iterator[Path]:
    """The folders below ``runs``, and one level deeper for the runs of sweeps."""
    if not runs.is_dir():
        return
    for folder in sorted(runs.iterdir()):
        if folder.is_dir():
            yield folder
            if (folder / "sweep.json").is_file():
                yield from sorted(below for below in folder.iterdir() if below.is_dir())
