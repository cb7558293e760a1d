"""In-context examples: their stores, and choosing some for a task.

Every agent that shows examples has the same settings: ``examples`` (the store), ``choose`` (the strategy), ``shots`` (the
number) and ``embedder`` (the model for the strategy ``embeddings``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from housequest.agent.episodes.events import Started, Stepped, branch
from housequest.agent.episodes.moments import episode_files
from housequest.agent.episodes.record import read_episode
from housequest.agent.models.embeddings import Embedder, EmbeddingIndex, make_embedder
from housequest.knowledge import examples
from housequest.knowledge.choosing import at_random, best, nearest_examples, of_type, stratified
from housequest.knowledge.examples import Example
from housequest.worlds.base import World
from housequest.worlds.errors import ConfigurationError, KnowledgeError, shown
from housequest.worlds.household.base import Household
from housequest.worlds.household.goals import TASK_TYPES
from housequest.worlds.paths import given_path
from housequest.worlds.registry import DEFAULT_WORLD

if TYPE_CHECKING:
    from housequest.agent.agents.spec import Strategy

MADE_UP, TRAIN = "made-up", "train"
_from_world = lru_cache(maxsize=4)(examples.from_world)  # Every resumed episode makes its agent again.


@dataclass(slots=True)
class ExampleSelector:
    """Chooses examples from a store. The same task, store and seed give the same ones. An ``embedder`` is called once for
    the store and once for each goal; these calls take no turns and are not counted. Raises ``ConfigurationError`` if the
    strategy needs one and has none."""

    store: tuple[Example, ...]
    strategy: Strategy = "bm25"
    shots: int = 0
    seed: int = 0
    embedder: Embedder | None = None
    household: Household | None = None
    _index: EmbeddingIndex | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.embedder is not None:
            self._index = EmbeddingIndex([example.goal for example in self.store], self.embedder)
        elif self.strategy == "embeddings":
            raise ConfigurationError(
                "Choosing examples by embeddings needs an embedding model; give --set embedder=openai:NAME, or "
                "--set choose=bm25, which needs none."
            )

    async def choose(self, goal: str, receptacles: Iterable[str] = (), *, without: str | None = None) -> tuple[Example, ...]:
        """Choose examples for a task, without that of the origin ``without``; the most similar comes first if the strategy
        compares. The kinds of ``receptacles`` help to read free wordings. Raises ``ModelError``, fatal unless only this goal
        was refused."""
        shots, store = self.shots, tuple(example for example in self.store if example.origin != without)
        drawn = f"{self.seed} {goal}"
        match self.strategy:
            case "random":
                return at_random(store, shots, drawn)
            case "stratified":
                return stratified(store, shots, drawn)
            case "task-type":
                stated = examples.type_of_goal(goal, receptacles, self.household) if self.household else None
                return of_type(store, stated, shots, drawn)
            case "bm25":
                return nearest_examples(store, goal, shots)
            case "embeddings":
                assert self._index is not None
                likeness = zip(self.store, await self._index.likeness(goal), strict=True)
                return best(store, [score for example, score in likeness if example.origin != without], shots)


def make_example_selector(
    world: World, settings: Any, seed: int = 0, *, store: Sequence[Example] | None = None
) -> ExampleSelector:
    """Make the example selector of an agent's ``settings``.

    ``settings.examples`` names the store: ``made-up`` (ships with the project; in another household world than the default,
    tasks of its endless split), ``train`` (drawn from that split by ``seed``), a file that scripts/make_examples.py wrote, or a
    run's folder (its episodes that were won in train or in made-up houses). Tasks of a split are played by the world's expert,
    which takes seconds. A given ``store`` replaces it. Raises ``ConfigurationError`` and ``KnowledgeError``."""
    pool: int | None = getattr(settings, "pool", None)
    if store is None:
        each = examples.EACH if pool is None else math.ceil(pool / len(TASK_TYPES))
        store = () if settings.shots == 0 else _store(world, settings.examples, seed, each)
    if pool is not None:
        store = stratified(store, pool, f"{seed} pool")
    embedder = make_embedder(settings.embedder) if settings.embedder else None
    return ExampleSelector(tuple(store), settings.choose, settings.shots, seed, embedder, world.household)


def _store(world: World, name: str, seed: int, each: int) -> tuple[Example, ...]:
    if (split := _split(world, name)) is not None:
        return _from_world(world, each=each, seed=seed, split=split)
    if name == MADE_UP:
        return examples.shipped()
    path = given_path(name)
    if path.is_dir():
        return recorded_examples(path)
    if not path.exists():
        raise ConfigurationError(f"There are no examples {shown(name)}: give {MADE_UP}, {TRAIN}, a file or a run's folder.")
    return examples.load_examples(path)


def store_digests(world: World, settings: Mapping[str, str | int | float | bool]) -> dict[str, str]:
    """The SHA-256 of the example store in an agent's ``settings``, for a run's record; empty if no examples are shown."""
    name = settings.get("examples")
    if not isinstance(name, str) or not settings.get("shots"):
        return {}
    split = _split(world, name)
    if split is None:
        return {"examples": sha256(examples.written(_store(world, name, 0, examples.EACH)).encode()).hexdigest()}
    # Without the split, making the agent fails with an error that says so.
    return {"examples": world.fingerprint(split)} if split != TRAIN or TRAIN in world.splits() else {}


def _split(world: World, name: str) -> str | None:
    """The split whose tasks are the store ``name``; None for a file."""
    if name != MADE_UP or world.household is None or world.name == DEFAULT_WORLD:
        return TRAIN if name == TRAIN else None
    if not world.info.endless_splits:
        raise ConfigurationError(
            f"The world {shown(world.name)} has no made-up tasks for examples; give --set examples=train, a file or a run's "
            "folder, or --set shots=0."
        )
    return world.info.endless_splits[0]


def recorded_examples(folder: Path) -> tuple[Example, ...]:
    """Examples from a run: its won episodes on splits that may be learned from. Raises ``KnowledgeError`` if it has none."""
    found = tuple(example for record in episode_files([folder]) if (example := _won(record.path)))
    if not found:
        allowed = ", ".join(sorted(examples.LEARNT_FROM))
        raise KnowledgeError(f"{folder} holds no won episode of a split that may be learned from ({allowed}); play some there.")
    return found


def _won(path: Path) -> Example | None:
    bodies = [event.body for event in branch(tuple(read_episode(path)))]
    steps = [body for body in bodies if isinstance(body, Stepped)]
    started = bodies[0] if bodies else None
    if not isinstance(started, Started) or started.split not in examples.LEARNT_FROM or not steps or not steps[-1].won:
        return None
    taken = examples.accepted_steps(step.transition for step in steps)
    return Example(f"{started.split}:{started.number}", started.type, started.goal, started.opening, taken)
