"""Games that the built-in model is measured by, and what they come to: ordinary episodes of the agent reasoner-actor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from agent.agents.registry import make_agent
from agent.base import Agent
from agent.episodes import events
from agent.episodes.events import CallTiming, Ended, Event
from agent.episodes.loop import EpisodeConfig, run_episode
from agent.episodes.overseer import Overseer, Proceed, Unattended
from agent.models.base import Model
from knowledge.choosing import RuleBudget
from worlds.base import Task, World


@dataclass(frozen=True, slots=True)
class GameResult:
    """One game: what was asked, how it ended, and what it took."""

    task: str
    type: str
    outcome: str
    steps: int
    refused: int
    unreadable: int
    calls: int
    tokens: int
    plans: tuple[tuple[str, ...], ...]
    goal: str
    commands: tuple[str, ...] = ()

    @property
    def won(self) -> bool:
        return self.outcome == "won"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the player is given besides the text: grants, rules, and a hint at first."""

    grants: frozenset[str] = frozenset()
    rules: RuleBudget | None = None
    hint: str = ""


class _Hinting(Unattended):
    """Gives one hint before the first turn."""

    def __init__(self, hint: str) -> None:
        self._hint = hint

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> Proceed:
        del possible
        return Proceed((self._hint,) if turn == 1 else ())


def play(world: World, task: Task, model: Model, given: Conditions | None = None) -> GameResult:
    """Play ``task`` to its end as reasoner-actor."""
    given = given or Conditions()
    terms = EpisodeConfig(world.engine, given.grants, rules=given.rules)
    agent = make_agent("reasoner-actor", world=world, model=model)
    return _played(world, task, agent, terms, _Hinting(given.hint) if given.hint else None)


def play_all(world: World, tasks: Iterable[Task], model: Model, given: Conditions | None = None) -> list[GameResult]:
    """Play every one of ``tasks``, one after the other."""
    return [play(world, task, model, given) for task in tasks]


def as_expert(world: World, tasks: Iterable[Task]) -> list[GameResult]:
    """The games of the world's expert, by what was counted over ``train``."""
    agent = make_agent("expert", world=world)
    return [_played(world, task, agent, EpisodeConfig(world.engine)) for task in tasks]


def _played(world: World, task: Task, agent: Agent, terms: EpisodeConfig, overseer: Overseer | None = None) -> GameResult:
    told: list[events.Body] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            told.append(event.body)

    env = world.open(task)
    ended: Ended = asyncio.run(run_episode(env, agent, terms, listen, overseer))
    env.close()
    called = [body for body in told if isinstance(body, events.ModelCall)]
    return GameResult(
        task.reference,
        task.type,
        ended.outcome,
        ended.steps,
        ended.refused,
        sum(isinstance(body, events.ParseFailed) for body in told),
        len(called),
        sum(body.completion_tokens or 0 for body in called),
        tuple(body.steps for body in told if isinstance(body, events.Planned)),
        task.goal,
        tuple(body.command for body in told if isinstance(body, events.Stepped)),
    )


def summary(name: str, games: Sequence[GameResult], seconds: float, expert: Sequence[GameResult] = ()) -> dict[str, Any]:
    """The figures of one set of games, all of it and by type, beside those of the ``expert`` in the same games."""
    types = sorted({game.type for game in games})
    beside: list[GameResult | None] = [*expert] if expert else [None] * len(games)
    pairs = list(zip(games, beside, strict=True))
    return {
        "set": name,
        **_figures(pairs),
        "refused": sum(game.refused for game in games),
        "unreadable": sum(game.unreadable for game in games),
        "seconds_a_game": round(seconds / max(1, len(games)), 3),
        "ms_a_call": round(1000 * seconds / max(1, sum(game.calls for game in games)), 2),
        "by_type": {kind: _figures([pair for pair in pairs if pair[0].type == kind]) for kind in types},
    }


def _figures(pairs: Sequence[tuple[GameResult, GameResult | None]]) -> dict[str, Any]:
    """Won and played, mean steps of the games that were won, and the expert's where both won them."""
    won = [(game, other) for game, other in pairs if game.won]
    both = [(game.steps, other.steps) for game, other in won if other is not None and other.won]
    figures: dict[str, Any] = {
        "won": len(won),
        "games": len(pairs),
        "success": round(100 * len(won) / max(1, len(pairs)), 1),
        "steps_when_won": _mean([game.steps for game, _ in won]),
    }
    return figures | ({"expert": _mean([steps for _, steps in both])} if any(other for _, other in pairs) else {})


def _mean(values: Sequence[int]) -> float | None:
    return round(fmean(values), 2) if values else None


def lines(figures: Mapping[str, Any]) -> list[str]:
    """The figures of a set as they are printed: a line for the whole, and one for each type of task."""
    whole = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in figures.items() if key not in {"set", "by_type"})
    by_type: Mapping[str, Mapping[str, Any]] = figures.get("by_type", {})
    return [
        f"{figures['set']}: {whole}",
        *(
            f"  {kind}: {each['won']}/{each['games']}"
            + (f", {each['steps_when_won']} steps when won" if each["won"] else "")
            + (f", expert {each['expert']}" if each.get("expert") else "")
            for kind, each in by_type.items()
        ),
    ]
