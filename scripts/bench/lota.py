"""LoTa-Bench's planner and SayCan on a GGUF model: tokens evaluated and seconds of a step, with and without a prefix cache.

The prompts are those of an episode that a policy plays, with six examples, one of each task type, in the form of the paper's
listing 1, the same for every method. The model is a tiny one of random weights whose tokens are bytes, or the one that
``BENCH_GGUF`` names; one thread decodes. Seconds are medians.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Capabilities, Completion, Message, Model, Request, Scores
from housequest.agent.models.gguf import read_header
from housequest.agent.models.llama import LlamaProvider, installed
from housequest.worlds.registry import make_world
from tests.agent.models.tiny import write_tiny
from tests.backends.lota import Lister

if TYPE_CHECKING:
    from housequest.agent.models.llama.decoding import LlamaCpp

HOUSE = "example:1"
STEPS = 3
"""Of the episode. Without a cache, SayCan gets only the first: it evaluates the whole prompt for every skill."""

WORST = "saycan, no prefix cache"

EXACT = "threads=1&slots=1&cache_type=f32&flash=off&runtime=llama-cpp-python"
LARGEST = 8_192

Prompt = tuple[Message, ...]


@dataclass(slots=True)
class _Listing(Model):
    """A model that follows the policy and keeps the prompts and the texts that constrained it."""

    prompts: list[Prompt] = field(default_factory=list[Prompt])
    texts: tuple[str, ...] = ()
    name: str = "bench"

    async def capabilities(self) -> Capabilities:
        return Capabilities(choices=True)

    async def complete(self, request: Request) -> Completion:
        self.prompts.append(tuple(request.messages))
        self.texts = tuple(request.choices or ())
        return Completion(Lister()([{"role": message.role, "content": message.content} for message in request.messages]))


@dataclass(frozen=True, slots=True)
class _Step:
    """The cost of selecting one skill, and the skill; ``scores`` if all were scored."""

    tokens: int
    seconds: float
    selected: str
    scores: tuple[float, ...] = ()


def run(data: Path | None) -> list[str]:
    """A line for each method of selecting a skill."""
    del data
    if "llama-cpp-python" not in installed():
        return ['not measured: this needs llama-cpp-python (pip install "housequest[llama]")']
    listing = _Listing()
    world = make_world("alfworld")
    player = make_agent("lota", world=world, model=listing)
    asyncio.run(run_episode(world.open(world.task(HOUSE)), player, EpisodeConfig(world), lambda _: None))
    with TemporaryDirectory() as folder:
        return list(_lines(listing.prompts[:STEPS], listing.texts, Path(folder)))


def _lines(prompts: Sequence[Prompt], texts: Sequence[str], folder: Path) -> Iterator[str]:
    named = os.environ.get("BENCH_GGUF")
    path = Path(named) if named else write_tiny(folder / "tiny.gguf")
    system = prompts[0][0].content
    yield (
        f"{path.name}: {path.stat().st_size / 1e6:.1f} MB; {len(texts)} skills; six examples, {len(system):,} characters; "
        f"{len(prompts)} steps"
    )
    cached, uncached = _runtime(path, cache=True), _runtime(path, cache=False)
    first = prompts[:1]
    ways: dict[str, tuple[Callable[[Prompt], _Step], Sequence[Prompt]]] = {
        "lota": (lambda prompt: _greedy(cached, prompt, texts), prompts),
        "lota exact=on": (lambda prompt: _exact(cached, prompt, texts), prompts),
        "saycan": (lambda prompt: _each(cached, prompt, texts), prompts),
        WORST: (lambda prompt: _each(uncached, prompt, texts), first),
    }
    taken: dict[str, list[_Step]] = {}
    for name, (way, given) in ways.items():
        # Each method starts from a cache that another one filled, so its first step differs from the later ones.
        cached.complete(Request((Message("user", "?"),), max_tokens=1), threading.Event())
        taken[name] = [way(prompt) for prompt in given]
    worst = taken[WORST]
    for name, steps in taken.items():
        tokens, seconds = mean(step.tokens for step in steps), median(step.seconds for step in steps)
        fewer = mean(step.tokens for step in worst) / tokens
        quicker = median(step.seconds for step in worst) / seconds
        told = "" if steps is worst else f"; {fewer:,.0f} times fewer tokens and {quicker:,.0f} times quicker than the last"
        yield f"{name}: {tokens:,.0f} tokens and {seconds:.3f} s a step{told}"
    yield _agreement(taken["lota exact=on"], taken["saycan"], texts)
    cached.close()
    uncached.close()


def _agreement(exact: Sequence[_Step], each: Sequence[_Step], texts: Sequence[str]) -> str:
    pairs = list(zip(exact, each, strict=True))
    apart = max(abs(a - b) for one, other in pairs for a, b in zip(one.scores, other.scores, strict=True))
    alike = sum(_ranked(one, texts) == _ranked(other, texts) for one, other in pairs)
    verdict = "" if apart <= 1e-3 and alike == len(pairs) else " (WANTED: 0.001 AND ALL)"
    same = f"the same ranking in {alike} of {len(pairs)} steps"
    return f"exact and saycan: scores at most {apart:.1e} nats apart, {same}{verdict}"


def _ranked(step: _Step, texts: Sequence[str]) -> list[str]:
    return [text for _, text in sorted(zip(step.scores, texts, strict=True), key=lambda pair: -pair[0])]


def _greedy(runtime: LlamaCpp, prompt: Prompt, texts: Sequence[str]) -> _Step:
    began = time.perf_counter()
    answered = runtime.complete(Request(prompt, max_tokens=64, choices=tuple(texts)), threading.Event())
    return _Step(_evaluated(answered), time.perf_counter() - began, answered.text)


def _exact(runtime: LlamaCpp, prompt: Prompt, texts: Sequence[str]) -> _Step:
    return _scored(runtime, prompt, [tuple(texts)])


def _each(runtime: LlamaCpp, prompt: Prompt, texts: Sequence[str]) -> _Step:
    return _scored(runtime, prompt, [(text,) for text in texts])


def _scored(runtime: LlamaCpp, prompt: Prompt, groups: Sequence[tuple[str, ...]]) -> _Step:
    began = time.perf_counter()
    answers = [runtime.score(prompt, group, threading.Event()) for group in groups]
    seconds = time.perf_counter() - began
    scores = tuple(score for answered in answers for score in answered.logprobs)
    texts = [text for group in groups for text in group]
    best = max(range(len(texts)), key=lambda place: scores[place])
    return _Step(sum(map(_evaluated, answers)), seconds, texts[best], scores)


def _evaluated(answered: Completion | Scores) -> int:
    return (answered.usage.prompt or 0) - (answered.timing.cached or 0) + (answered.usage.completion or 0)


def _runtime(path: Path, *, cache: bool) -> LlamaCpp:
    from housequest.agent.models.llama.decoding import LlamaCpp

    options = LlamaProvider(f"bench?{EXACT}&cache={'on' if cache else 'off'}").options
    return LlamaCpp(str(path), min(read_header(path).context or LARGEST, LARGEST), options)
