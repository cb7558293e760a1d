"""Estimate what a run will cost from finished episodes of the same agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice, takewhile
from pathlib import Path

from housequest.agent.evaluation.runs.cost import Tokens, cost, money
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.result import Result
from housequest.agent.evaluation.runs.spec import RunSpec
from housequest.worlds.errors import ConfigurationError

MOST_LOOKED_AT = 1_000
"""How many folders are searched for a similar run."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls and tokens for the ``left`` tasks, as in ``episodes`` of ``source``; ``cost`` is None where it is unknown."""

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
        finished = f"{self.episodes} finished ones of {self.source}"
        return f"About {self.calls:,} calls and {tokens} for {self.left} tasks, as in {finished}.{priced}"


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
            one, other = manifest.configuration, spec.config
            same = (one.agent == other.agent, one.model == other.model, one.settings == other.settings)
            alike = sum(takewhile(bool, same))
            if not alike:
                continue
            results = run.indexed(manifest.tasks)
            if candidate == folder:
                done, alike = len(results), alike + 1
            usable = [result for result in results if result.calls and result.outcome != "error" and not result.assisted]
            if usable:
                found.append((alike, len(usable), candidate, usable))
    left = len(spec.manifest.tasks) - done
    if not found:
        return None
    _, episodes, source, results = max(found, key=lambda each: each[:2])

    def scaled(numbers: list[int]) -> int:
        return round(sum(numbers) / len(numbers) * left)

    read, written = [result.prompt_tokens or 0 for result in results], [result.completion_tokens or 0 for result in results]
    tokens, prices = Tokens(scaled(read), scaled(written)), spec.setup.prices
    priced = cost(tokens, prices) if prices is not None else None
    return Estimate(left, source, episodes, scaled([result.calls for result in results]), tokens, priced)


def _folders(runs: Path) -> Iterator[Path]:
    """The folders below ``runs``, and one level deeper for the runs of sweeps."""
    if not runs.is_dir():
        return
    for folder in sorted(runs.iterdir()):
        if folder.is_dir():
            yield folder
            if (folder / "sweep.json").is_file():
                yield from sorted(below for below in folder.iterdir() if below.is_dir())
