"""Household graphs: microseconds a step, tasks a second, skills a task, and `lota` against `saycan` in calls and tokens."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Capabilities, Completion, Message, Model, Request, Scores
from housequest.worlds.base import World
from housequest.worlds.env import expert_of
from housequest.worlds.graphs.env import begun, possible, skills_in
from housequest.worlds.graphs.graph import after, problem
from housequest.worlds.graphs.household import visible
from housequest.worlds.graphs.houses import make_apartment
from housequest.worlds.registry import make_world
from scripts.bench.prompts import counter
from tests.backends.knowing import Knowing

HOUSES = range(50)
EXPERTS = range(1_000)
PLANNED = range(10)
MOST_COMMANDS = 200


def run(data: Path | None) -> Iterator[str]:
    """The figures, each a line."""
    del data
    yield from _steps()
    yield from _expert()
    yield _skills()
    yield from _planners()


def _steps() -> Iterator[str]:
    dice, acted, spent = random.Random(0), 0, 0.0
    for seed in HOUSES:
        graph = make_apartment(seed).graph
        for _ in range(40):
            moment = begun(graph)
            near = frozenset(id for id in visible(graph) if graph.reached(id))
            action = dice.choice(list(possible(graph, moment.seen, near)))
            start = time.perf_counter()
            assert problem(graph, action) is None
            graph = after(graph, action)
            spent, acted = spent + time.perf_counter() - start, acted + 1
    yield f"a step of the graph: {spent / acted * 1e6:.0f} us ({acted:,} random actions in {len(HOUSES)} made-up apartments)"
    env = (world := make_world("household-graph")).open(world.task("generated:0"))
    env.reset()
    start = time.perf_counter()
    for _ in range(10_000):
        env.copy()
    yield f"a copy of the env: {(time.perf_counter() - start) / 10_000 * 1e6:.1f} us"
    start = time.perf_counter()
    for number in range(1_000):
        env.step("walk to fridge 1" if number % 2 else "walk to kitchen 1")
    yield f"a command of the env, answered in words: {(time.perf_counter() - start) / 1_000 * 1e6:.0f} us"


def _expert() -> Iterator[str]:
    world, steps, lost, start = make_world("household-graph"), list[int](), list[str](), time.perf_counter()
    for seed in EXPERTS:
        played, why = _ended(world, f"generated:{seed}")
        steps += [len(played)] if why is None else []
        lost += [] if why is None else [f"generated:{seed}: {why}"]
    seconds, number = time.perf_counter() - start, len(EXPERTS)
    yield (
        f"the expert: {number / seconds:.0f} tasks a second, {len(steps):,} of {number:,} won in {mean(steps):.1f} commands on "
        f"average and at most {max(steps)}; {len(lost)} lost"
    )
    yield from (f"  {one}" for one in lost)


def _skills() -> str:
    world = make_world("household-graph", skills="oracle")
    numbers = [len(skills_in(world.open(world.task(f"generated:{seed}")).reset().observation.text)) for seed in HOUSES]
    return f"skills a task: {mean(numbers):.1f} ({min(numbers)} to {max(numbers)}), composed from the apartment's classes"


@dataclass(slots=True)
class _Counting(Model):
    """Likes what the policy says, and counts calls and the texts that it was given."""

    policy: Knowing
    calls: int = 0
    given: list[str] | None = None
    name: str = "bench"

    async def capabilities(self) -> Capabilities:
        return Capabilities(scoring=True, choices=True, deterministic=True)

    async def complete(self, request: Request) -> Completion:
        self._take(request.messages)
        return Completion(self.policy(_plain(request.messages)))

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        self._take(messages)
        best = self.policy(_plain(messages))
        return Scores(tuple(-0.5 if text == best else -9.0 for text in continuations))

    def _take(self, messages: Sequence[Message]) -> None:
        self.calls += 1
        self.given = [*(self.given or []), "\n".join(message.content for message in messages)]


def _plain(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def _planners() -> Iterator[str]:
    world = make_world("household-graph", skills="oracle")
    counting = counter()
    for agent in ("lota", "saycan"):
        calls, tokens, skills = list[int](), list[int](), list[int]()
        for seed in PLANNED:
            won = _played(world, f"generated:{seed}")
            model = _Counting(Knowing(won))
            player = make_agent(agent, world=world, model=model)
            config = EpisodeConfig(world, frozenset({"admissible"}), max_turns=world.info.max_turns)
            asyncio.run(run_episode(world.open(world.task(f"generated:{seed}")), player, config, lambda _: None))
            calls.append(model.calls)
            skills.append(len(won))
            lengths = {text: counting[0](text) if counting else len(text) // 4 for text in set(model.given or [])}
            tokens.append(sum(lengths[text] for text in model.given or []))
        unit = f"tokens by {counting[1]}" if counting else "tokens (a quarter of the characters)"
        yield (
            f"{agent}: {mean(calls):.0f} calls and {mean(tokens):,.0f} prompt {unit} a task of {mean(skills):.1f} skills, "
            "without a prefix cache"
        )


def _played(world: World, reference: str) -> tuple[str, ...]:
    """The commands by which the expert wins a task."""
    commands, why = _ended(world, reference)
    assert why is None, f"{reference}: {why}"
    return commands


def _ended(world: World, reference: str) -> tuple[tuple[str, ...], str | None]:
    """The commands that the expert gives in a task, and why it is lost; None if it is won."""
    env, expert, commands = world.open(world.task(reference)), expert_of(world), list[str]()
    step = env.reset()
    memory = expert.begin(env.task.goal, step.observation)
    while not step.done:
        command, thought, memory = expert.decide(memory)
        if command is None:
            return tuple(commands), f"gave up: {thought}"
        if len(commands) == MOST_COMMANDS:
            return tuple(commands), f"{MOST_COMMANDS} commands were not enough"
        step = env.step(command)
        memory = expert.observe(memory, command, step.observation)
        commands += [command] if step.observation.accepted else []
    return tuple(commands), None
