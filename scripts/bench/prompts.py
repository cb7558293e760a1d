"""The prompts of react and reasoner-actor over valid_seen: prefixes kept, new tokens and all tokens.

A policy that knows the agents' formats plays in this process as a model; no endpoint is called. A call's new tokens are those
of the messages after the prefix that its prompt shares with the same role's previous prompt: what a prefix cache cannot serve.
The tokenizer is Mistral's Tekken, whose vocabulary comes with its package; other models count otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from statistics import mean
from typing import Any

from housequest.agent.agents.spec import make_agent
from housequest.agent.config import configure
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.models.base import Completion, Model, Request
from housequest.worlds.alfworld.games import LAYOUT
from tests.backends.policy import Solver

AGENTS = {"react": 1, "reasoner-actor": 2}
"""Each with its number of roles."""

VOCABULARY = "tekken_240911.json"
HOUSES = 100
"""Made-up games, used if the published ones are missing."""

Conversation = tuple[tuple[str, str], ...]
Count = Callable[[str], int]


@dataclass(slots=True)
class _Heard(Model):
    """A model that follows a policy and keeps the current episode's prompts by role (by system message)."""

    name: str = "bench"
    prompts: dict[str, list[Conversation]] = field(default_factory=dict[str, list[Conversation]])
    policy: Solver = field(default_factory=lambda: Solver(wrong_first_plan=True))

    async def complete(self, request: Request) -> Completion:
        said = tuple((message.role, message.content) for message in request.messages)
        self.prompts.setdefault(request.messages[0].content, []).append(said)
        return Completion(self.policy([{"role": role, "content": content} for role, content in said]))


@dataclass(frozen=True, slots=True)
class _Episode:
    """One episode's calls: how many have their role's previous prompt as a prefix, of those that have one; tokens."""

    won: bool
    calls: int
    later: int
    kept: int
    fresh: int
    total: int


def run(data: Path | None) -> list[str]:
    """For each agent, how many prompts keep the one before as a prefix, and their tokens. Lines to print."""
    counted = counter()
    if counted is None:
        return ["not measured: this needs a tokenizer (pip install mistral-common)"]
    count, name = counted
    there = data is not None and (data / LAYOUT / "valid_seen").is_dir()
    split, limit = ("valid_seen", None) if there else ("generated", HOUSES)
    lines = [f"tokens by {name}; the policy's first plan is wrong, so that it is revised"]
    for agent in AGENTS:
        episodes = asyncio.run(_play(agent, split, limit, count))
        later, kept = sum(each.later for each in episodes), sum(each.kept for each in episodes)
        verdict = "" if kept == later else " (WANTED: ALL OF THEM)"
        lines.append(
            f"{agent}: {len(episodes)} episodes of {split}, {sum(each.won for each in episodes)} won, "
            f"{mean(each.calls for each in episodes):.1f} calls each"
        )
        lines.append(f"  {kept:,} of {later:,} later prompts of a role have the one before as an exact prefix{verdict}")
        fresh, total = mean(each.fresh for each in episodes), mean(each.total for each in episodes)
        lines.append(
            f"  prompt tokens an episode: {fresh:,.0f} fresh of {total:,.0f}, {(1 - fresh / total) * 100:.1f} % cacheable"
        )
    return lines


async def _play(agent: str, split: str, limit: int | None, count: Count) -> list[_Episode]:
    spec = make_run_spec(
        configure({"agent": agent, "model": "openai:bench@http://127.0.0.1:9/v1", "split": split, "limit": limit})
    )
    found: list[_Episode] = []
    for selected in spec.manifest.tasks:
        model = _Heard()
        task = spec.setup.world.task(selected.id)
        player = make_agent(agent, world=spec.setup.world, model=model)
        ended = await run_episode(spec.setup.world.open(task), player, spec.setup, _unheard)
        # If a role's system message changed, it would count as another role, whose first prompt has no prefix.
        assert len(model.prompts) == AGENTS[agent], f"{agent} has other roles than are told apart here"
        found.append(_measured(ended.outcome == "won", model.prompts, count))
    return found


def _measured(won: bool, prompts: dict[str, list[Conversation]], count: Count) -> _Episode:
    calls = later = kept = fresh = total = 0
    for conversations in prompts.values():
        before: Conversation = ()
        for conversation in conversations:
            shared = _shared(before, conversation)
            later += bool(before)
            kept += bool(before) and shared == len(before)
            sizes = [count(content) for _, content in conversation]
            calls, fresh, total = calls + 1, fresh + sum(sizes[shared:]), total + sum(sizes)
            before = conversation
    return _Episode(won, calls, later, kept, fresh, total)


def _shared(one: Conversation, other: Conversation) -> int:
    """The length of the common prefix, in messages."""
    return next(
        (at for at, (ours, theirs) in enumerate(zip(one, other, strict=False)) if ours != theirs), min(len(one), len(other))
    )


def counter() -> tuple[Count, str] | None:
    """A function that counts tokens, and the name of its vocabulary; None if there is no tokenizer."""
    try:
        package: Any = import_module("mistral_common")
        tekken: Any = import_module("mistral_common.tokens.tokenizers.tekken")
    except ImportError:
        return None
    tokenizer = tekken.Tekkenizer.from_file(Path(package.__file__).parent / "data" / VOCABULARY)

    @lru_cache(maxsize=1 << 16)
    def count(text: str) -> int:
        return len(tokenizer.encode(text, bos=False, eos=False))

    return count, f"{VOCABULARY.removesuffix('.json')} of mistral-common {version('mistral-common')}"


def _unheard(event: object) -> None:
    """Drop events."""
