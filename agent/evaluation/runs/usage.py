"""The use of models by episodes: seconds, calls, tokens, and their cost at the user's prices.

Seconds and what a cache served are kept apart from results, since no two runs agree on these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from pydantic import BaseModel, Field, ValidationError

from housequest.agent.config import Prices, RolePrices
from housequest.agent.episodes.events import Body
from housequest.agent.episodes.record import read_episode, recorded_lines
from housequest.agent.evaluation.runs.files import Number, SelectedTask, total
from housequest.agent.evaluation.runs.folder import Result, RunFolder, Use, by_role, episode_name, used_in
from housequest.agent.models.base import Waste
from housequest.agent.models.registry import models_of
from housequest.worlds.errors import ConfigurationError

T = TypeVar("T", bound=BaseModel)
Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens as the model counted them. ``cached`` of the prompt tokens came from a cache; None where none were reported."""

    prompt: int = 0
    completion: int = 0
    cached: int | None = None

    def __add__(self, other: Tokens) -> Tokens:
        cached = None if self.cached is other.cached is None else (self.cached or 0) + (other.cached or 0)
        return Tokens(self.prompt + other.prompt, self.completion + other.completion, cached)

    @classmethod
    def of(cls, used: Use | Result, cached: int | None = None) -> Tokens:
        """The tokens that were ``used``."""
        return cls(used.prompt_tokens or 0, used.completion_tokens or 0, cached)

    @property
    def fresh(self) -> int:
        """Prompt tokens not served by a cache; all of them where no cache was reported."""
        return self.prompt - min(self.cached or 0, self.prompt)

    @property
    def cached_share(self) -> float | None:
        """The share of prompt tokens that a cache served, in [0, 1]; None where unknown."""
        return None if self.cached is None or not self.prompt else min(self.cached / self.prompt, 1.0)


def cost(tokens: Tokens, prices: Prices, roles: Mapping[str, Use] | None = None) -> float | None:
    """The cost of ``tokens`` in the currency of ``prices``, an upper bound without cache figures; None of no tokens. Where
    roles' models have prices of their own, it is that of ``roles``, without what caches served; None without these.
    """
    if isinstance(prices, RolePrices):
        paid = [cost(Tokens.of(used), prices.of(role)) or 0.0 for role, used in (roles or {}).items()]
        return sum(paid) if any(paid) else None
    if not (tokens.prompt or tokens.completion):
        return None
    at_cached = prices.input if prices.cached is None else prices.cached
    cached = tokens.prompt - tokens.fresh
    return (tokens.fresh * prices.input + cached * at_cached + tokens.completion * prices.output) / 1_000_000


def price_tables(model: str) -> str:
    """The tables of ``housequest.toml`` that price what ``model`` names."""
    names = (name.replace("\\", "\\\\").replace('"', '\\"') for name in models_of(model).values())
    return " and ".join(dict.fromkeys(f'[prices."{name}"]' for name in names))


def money(amount: float) -> str:
    """An amount with as many digits as matter: 1.25, 0.013, 0.00042."""
    if amount >= 1:
        return f"{amount:.2f}"
    return f"{amount:.3f}" if amount >= 0.01 else f"{amount:.5f}" if amount else "0"


@dataclass(frozen=True, slots=True)
class Spending:
    """Answered calls, their tokens and their cost; None where no price is known."""

    calls: int = 0
    tokens: Tokens = Tokens()
    money: float | None = None

    @classmethod
    def priced(cls, calls: int, tokens: Tokens, prices: Prices | None, roles: Mapping[str, Use] | None = None) -> Spending:
        """The use of ``calls``, perhaps in several ``roles``, at these prices."""
        return cls(calls, tokens, (cost(tokens, prices, roles) or 0.0) if prices is not None else None)

    def __add__(self, other: Spending) -> Spending:
        priced = None if self.money is other.money is None else (self.money or 0.0) + (other.money or 0.0)
        return Spending(self.calls + other.calls, self.tokens + other.tokens, priced)

    def __str__(self) -> str:
        priced = "" if self.money is None else f", a cost of {money(self.money)}"
        return f"{self.calls:,} calls, {self.tokens.prompt + self.tokens.completion:,} tokens{priced}"


def used_before(run: RunFolder, tasks: Sequence[SelectedTask], results: Iterable[Result], prices: Prices | None) -> Spending:
    """The use of earlier sessions of a run, read from finished and unfinished episode records. The first attempt at an episode
    that was replayed after an error is no longer on record.
    """
    clocks = timings_of(run, tasks)
    finished = {result.task: result for result in results}
    used = Spending()
    for task in tasks:
        if task.id in finished:
            result, clock = finished[task.id], clocks.get(task.id, EpisodeTiming())
            used += Spending.priced(result.calls, Tokens.of(result, clock.cached), prices, result.roles)
            for role, (calls, *tokens) in clock.wasted.items():
                used += Spending.priced(calls, Tokens(*tokens), prices and prices.of(role))
    by_name = {episode_name(task): task for task in tasks}
    for part in sorted(run.episodes.glob("*.jsonl.*")):
        task = by_name.get(part.name.partition(".jsonl.")[0])
        if task is not None:
            happened: list[Body] = []
            with suppress(ConfigurationError):  # a damaged record, which is set aside when its task is played
                happened += (event.body for event in read_episode(part))
            cached = clocks[task.id].cached if part.suffix == ".part" and task.id in clocks else None
            told = Use(**used_in(happened))
            used += Spending.priced(told.calls, Tokens.of(told, cached), prices, by_role(happened))
    return used


class EpisodeTiming(NamedTuple):
    """The timing of an episode: seconds of model calls, cached prompt tokens, seconds in all, and wasted calls. ``model``
    and ``cached`` are None where no call was timed or no cache reported, ``wall`` where it was not measured. ``wall`` includes
    time spent on other episodes in flight. It sums the sessions of the episode; the time of a killed one is lost. ``wasted``
    is by role; ``served`` are the models by which calls were answered, as their servers call them, and ``calls`` when the first
    and the last were, in seconds since the epoch.
    """

    model: float | None = None
    cached: int | None = None
    wall: float | None = None
    wasted: Mapping[str, Waste] = {}
    served: frozenset[str] = frozenset()
    calls: tuple[int, int] | None = None

    @classmethod
    def joined(cls, parts: Sequence[EpisodeTiming]) -> EpisodeTiming:
        """The timing of several episodes or calls together; seconds are None where one of them lacks them."""
        wasted: dict[str, Waste] = {}
        for role, waste in (item for part in parts for item in part.wasted.items()):
            wasted[role] = Waste.joined((wasted.get(role), waste)) or waste
        model, wall = (
            None if None in seconds or not parts else sum(each for each in seconds if each is not None)
            for seconds in ([part.model for part in parts], [part.wall for part in parts])
        )
        called = [time for part in parts for time in part.calls or ()]
        served = frozenset[str]().union(*(part.served for part in parts))
        calls = (min(called), max(called)) if called else None
        return cls(model, total(part.cached for part in parts), wall, wasted, served, calls)


class _SessionLine(BaseModel):
    episode: str
    seconds: Seconds
    resumed: bool = False


class _CallLine(_SessionLine):
    of: int
    cached: Number | None = None
    at: Number | None = None
    served: str | None = None
    wasted: tuple[Number, Number, Number] | None = None
    role: str | None = None

    @property
    def timing(self) -> EpisodeTiming:
        wasted = {self.role or "": Waste(*self.wasted)} if self.wasted else {}
        served, at = frozenset(filter(None, (self.served,))), self.at
        return EpisodeTiming(self.seconds, self.cached, None, wasted, served, None if at is None else (at, at))


def timings_of(run: RunFolder, tasks: Sequence[SelectedTask]) -> dict[str, EpisodeTiming]:
    """The timing of each episode that has one, by task id. Only the last attempt counts: a second timing for the same event
    starts a new attempt there. Lines damaged by a killed command are skipped. Raises ``ConfigurationError`` for a file that
    cannot be read.
    """
    calls = _timed_calls(run)
    walls: dict[str, float] = {}
    for session in _lines(_SessionLine, run.walls_file):
        walls[session.episode] = session.seconds + (walls.get(session.episode, 0.0) if session.resumed else 0.0)
    found: dict[str, EpisodeTiming] = {}
    for task in tasks:
        name = episode_name(task)
        if name in calls or name in walls:
            timed = EpisodeTiming.joined([call.timing for call in calls.get(name, [])])
            found[task.id] = timed._replace(wall=walls.get(name))
    return found


def call_seconds(run: RunFolder) -> dict[str, dict[int, float]]:
    """The seconds of each timed model call, by the names of episodes and the ids of the calls' events. Raises
    ``ConfigurationError`` for a file that cannot be read.
    """
    return {name: {call.of: call.seconds for call in calls} for name, calls in _timed_calls(run).items()}


def _timed_calls(run: RunFolder) -> dict[str, list[_CallLine]]:
    """The calls of each episode's last attempt."""
    calls: dict[str, list[_CallLine]] = {}
    for called in _lines(_CallLine, run.timing_file):
        so_far = calls.setdefault(called.episode, [])
        while so_far and so_far[-1].of >= called.of:
            so_far.pop()
        so_far.append(called)
    return calls


def _lines(kind: type[T], path: Path) -> Iterator[T]:
    """The undamaged lines of a file; none if there is no file."""
    for _, line in recorded_lines(path, strict=False) if path.exists() else ():
        with suppress(ValidationError, RecursionError):
            yield kind.model_validate_json(line)
