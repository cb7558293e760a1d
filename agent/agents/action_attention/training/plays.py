"""The training data of Action Attention: the expert's plays, each step with all permissible commands and the true sub-task.

The expert plays from belief alone, so it has an answer in any state. A share of the commands is random, so that the network
sees states that the expert would not have led to (as in DART; Laskey et al., CoRL 2017). The label is always the expert's
command.
"""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from housequest.agent.agents.action_attention.network import PROBE, WordVocabulary, scaled
from housequest.agent.models.embeddings import Embedder, model_alone
from housequest.agent.roles.messages import opening_text
from housequest.agent.training.corpus import Arrays, TrainingGame, step_of
from housequest.knowledge.examples import subtasks_of_goal
from housequest.worlds.alfworld.expert import make_expert
from housequest.worlds.alfworld.text import goal_sentences, load_counts
from housequest.worlds.household.goals import Goal
from housequest.worlds.paths import atomic_write

EPSILON = 0.12
MOST_STEPS = 40
WORDINGS = 3  # Wordings kept for a sub-task; the first one is the ground truth's.

MOST_HUMAN = 3
_WORD = re.compile("[a-z]+")
Ints = NDArray[np.int32]
Halves = NDArray[np.float16]
_EMBEDDER = "embedder.json"

_WORDS = tomllib.loads(Path(__file__).with_name("plays.toml").read_text("utf-8"))
_SAID: dict[str, list[str]] = _WORDS["said"]  # Other words for a sub-task, by its verb.


class ExpertStep(NamedTuple):
    """The text seen, the possible commands, the expert's choice among them, and the index of the sub-task."""

    seen: str
    permissible: tuple[str, ...]
    chosen: int
    subtask: int


def play(game: TrainingGame, random: Random, *, epsilon: float = EPSILON) -> tuple[list[ExpertStep], bool]:
    """Play ``game`` by the expert, with a share ``epsilon`` of random commands. Returns the steps; True if the game ended."""
    expert, env = make_expert(), game.env
    opening = env.reset().observation
    memory = expert.begin(goal_sentences(game.goal)[0], opening)
    seen, subtask = opening_text(opening, env.task.goal), 0
    steps: list[ExpertStep] = []
    while len(steps) < MOST_STEPS:
        permissible = tuple(env.admissible_commands() or ())
        command, _, memory = expert.decide(memory)
        if command not in permissible or command == "look":
            break
        subtask = max(subtask, step_of(game.goal, memory.belief))
        steps.append(ExpertStep(seen, permissible, permissible.index(command), subtask))
        if random.random() < epsilon:
            command = random.choice(permissible)
        step = env.step(command)
        memory = expert.observe(memory, command, step.observation)
        seen = step.observation.text
        if step.done:
            return steps, True
    return steps, False


def worded(subtask: str, goal: Goal, random: Random) -> tuple[str, ...]:
    said = _SAID[subtask.partition(" ")[0]]
    names = {"o": goal.object, "r": goal.receptacle or goal.lamp}
    return (subtask, *(random.choice(said).format(**names) for _ in range(WORDINGS - 1)))


@dataclass(frozen=True)
class Plays(Arrays):
    """Plays as numbers. Ragged lists are one array, with the start of each.

    ``texts``: the (word, number, word before) of each token; ``vectors``: by an embedding model (texts, size), else empty.
    Of each step: the text ``seen``, its ``permissible`` commands, the ``chosen`` one, its ``subtasks`` (steps, wordings). Of
    each play: its ``goals``, both templates and then ``MOST_HUMAN`` in people's words (templates if there are none), and the
    start of its ``steps``."""

    texts: Ints
    text_starts: Ints
    seen: Ints
    permissible: Ints
    permissible_starts: Ints
    chosen: Ints
    subtasks: Ints
    goals: Ints
    steps: Ints
    vectors: Halves

    def __len__(self) -> int:
        return len(self.steps) - 1


def _unembedded(texts: Sequence[str]) -> Halves:
    return np.zeros((len(texts), 0), np.float16)


def gathered(
    games: Iterable[TrainingGame],
    passes: int,
    seed: int,
    words: WordVocabulary,
    embed: Callable[[Sequence[str]], Halves] = _unembedded,
) -> tuple[Plays, int]:
    """Each game played ``passes`` times, and the number of plays cut off before the end. Those keep their steps."""
    cut, ids = 0, dict[str, int]()
    seen, permissible, chosen = list[int](), list[int](), list[int]()
    subtasks, goals = list[list[int]](), list[list[int]]()
    starts, ends = [0], [0]

    def id(text: str) -> int:
        return ids.setdefault(text, len(ids))

    for number, game in enumerate(games):
        for time in range(passes):
            random = Random(f"{seed} {number} {time}")
            steps, ended = play(game, random)
            cut += not ended
            if not steps:
                continue
            said = [worded(one, game.goal, random) for one in subtasks_of_goal(game.goal)]
            for step in steps:
                seen.append(id(step.seen))
                permissible.extend(map(id, step.permissible))
                starts.append(len(permissible))
                chosen.append(step.chosen)
                subtasks.append([id(text) for text in said[min(step.subtask, len(said) - 1)]])
            templates = goal_sentences(game.goal)
            human = game.human[:MOST_HUMAN] or templates
            goals.append([id(text) for text in (*templates, *(human[at % len(human)] for at in range(MOST_HUMAN)))])
            ends.append(len(seen))
    read = [words.read(text) for text in ids]
    before = [(1, *(word for word, _ in tokens)) for tokens in read]
    tokens = [[(*token, left) for token, left in zip(*each, strict=False)] for each in zip(read, before, strict=True)]
    text_starts = np.cumsum([0, *map(len, tokens)])
    flat = np.array([*chain.from_iterable(tokens)], np.int32)
    lists: list[Sequence[Any]] = [seen, permissible, starts, chosen, subtasks, goals, ends]
    numbers = (np.array(one, np.int32) for one in lists)
    return Plays(flat, text_starts.astype(np.int32), *numbers, vectors=embed(tuple(ids))), cut


def make_words(sentences: Iterable[str]) -> WordVocabulary:
    """Kinds of things, words of the game's texts and of sub-tasks, and words that are three times in people's ``sentences``."""
    seen = Counter(word for sentence in sentences for word in _WORD.findall(sentence.lower()))
    people = sorted(word for word, times in seen.items() if times > 2)
    counts = load_counts()
    receptacles = sorted({kind for room in counts.rooms.values() for kind in room.receptacles})
    said = " ".join(chain.from_iterable(_SAID.values())).format(o="", r="")
    return WordVocabulary([*receptacles, *counts.objects(), *_WORDS["texts"].split(), *said.split(), *people])


def save_plays(
    folder: Path,
    words: WordVocabulary,
    parts: Mapping[str, Iterable[TrainingGame]],
    *,
    passes: int,
    seed: int,
    embedder: Embedder | None = None,
) -> dict[str, Any]:
    """Play all games, those of the first part ``passes`` times, and return counts. Vocabulary and plays are written into
    ``folder``, with the vectors of all texts if there is an ``embedder``. Raises ``ModelError`` and ``ConfigurationError``."""

    def embed(texts: Sequence[str]) -> Halves:
        if embedder is None or not texts:
            return _unembedded(texts)
        return scaled(asyncio.run(embedder.embed(texts))).astype(np.float16)

    (folder / _EMBEDDER).unlink(missing_ok=True)
    if embedder is not None:
        # Ask the model first: if it does not answer, no game is played in vain.
        probe = [float(each) for each in embed([PROBE])[0]]
        atomic_write(folder / _EMBEDDER, json.dumps({"name": model_alone(embedder.name), "probe": probe}).encode())
    atomic_write(folder / "words.json", json.dumps(words.known).encode())
    counted: dict[str, Any] = {"seed": seed, "words": len(words)}
    for number, (name, games) in enumerate(parts.items()):
        plays, cut = gathered(games, passes if number == 0 else 1, seed + number, words, embed)
        plays.save(folder / f"{name}.npz")
        counted[name] = {"plays": len(plays), "cut": cut, "steps": len(plays.seen), "texts": len(plays.text_starts) - 1}
    atomic_write(folder / "counts.json", json.dumps(counted, indent=1).encode())
    return counted


def load_words(folder: Path) -> WordVocabulary:
    return WordVocabulary(json.loads((folder / "words.json").read_text("utf-8")))


def load_embedder(folder: Path) -> tuple[str, list[float]] | None:
    """The embedding model of a folder of plays, and its vector of the probe; None if there is none."""
    file = folder / _EMBEDDER
    if not file.exists():
        return None
    said = json.loads(file.read_text("utf-8"))
    return said["name"], said["probe"]
