"""The training data of the built-in model: prompts of reasoner-actor, each with the expert's decision as the reply.

The expert plays from belief alone, so it can answer in any state, whoever led there. A plan is a goal with the knowledge of the
house; the command follows from plan and belief. Samples are drawn with a seed, and kept as tokens in a file for each part. The
games are those of ``train`` and made-up houses below seed 1,000,000; houses from there on are for evaluation.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from housequest.agent.agents.reasoner_actor.agent import ACTOR, ANYWHERE, SearchOrder, acted, plan_of, planned
from housequest.agent.models.base import Message, Request
from housequest.agent.models.builtin.model import load_builtin
from housequest.agent.models.builtin.network import PIECE, Vocabulary
from housequest.agent.processes import in_processes
from housequest.agent.roles import brief
from housequest.agent.roles.base import ReplyError
from housequest.agent.roles.demonstrations import STUCK, Lesson
from housequest.agent.training import wordings
from housequest.knowledge.examples import EVALUATION_SEEDS
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.expert import HouseholdExpert, HouseholdExpertMemory, make_expert
from housequest.worlds.alfworld.games import TRAJECTORY_FILE, sentences_of
from housequest.worlds.alfworld.houses.house import make_house, placing
from housequest.worlds.alfworld.text import HOUSEHOLD, begin, goal_sentences, load_counts, read_goal
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Env, Observation, Task, Transition
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.household.base import BelievingEnv
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.counts import Counts
from housequest.worlds.household.goals import TYPES, Goal
from housequest.worlds.household.world import GENERATED
from housequest.worlds.paths import atomic_write, open_file

MOST_STEPS = 50
EPSILON = 0.12
MISREAD = 0.3  # The share of games that begin with a wrong plan.
_SOUGHT = re.compile(r"(?P<sought>.+) is likeliest found at the (?P<place>.+); look there")
_RUBBISH = ("go to {r} 19", "open {r} 17", "take {o} 9 from {r} 1", "move {o} 1 to {r} 2", "use {o} 1", "examine {r} 12")


class TrainingSample(NamedTuple):
    """A prompt with the reply to it."""

    prompt: str
    reply: str


def demonstrate(
    env: Env, goal: Goal, random: Random, player: Callable[[str], str] | None = None, *, epsilon: float = EPSILON
) -> Iterator[TrainingSample]:
    """Play a game for up to ``MOST_STEPS`` steps, and yield the actor's prompt at each step with the expert's reply.

    Some games begin with a wrong plan, as after misreading the goal. It is followed for a while, or until it is done or
    impossible; then the actor is stuck, also after a few random commands.

    Args:
        player: Returns the command for a prompt; without it, the expert's commands are played.
        epsilon: The share of random commands."""
    expert, env = make_expert(), BelievingEnv(env, HOUSEHOLD)
    memory = expert.begin("", env.reset().observation)
    belief = memory.belief
    scene = brief.BriefState(belief)
    order = ANYWHERE
    if random.random() >= 0.5:
        _, places, lamp = _where(random, goal, belief, named=random.random() < 0.5)
        order = SearchOrder((), places, lamp) if random.random() < 0.15 else SearchOrder(places, (), lamp)
    wrong = wrong_goal(random, goal, belief) if random.random() < MISREAD else None
    patience = random.randint(2, 25) if random.random() < 0.3 else MOST_STEPS
    aim, until, astray = (wrong, patience, random.choice((0, 0, 1, 2, 4))) if wrong else (goal, 0, 0)
    for turn in range(MOST_STEPS):
        if aim is wrong and turn >= until:
            aim = goal
        belief, tried = scene.belief, scene.tried
        prompt = brief.acting(plan_of(aim, order), belief, tried)
        memory = replace(memory, goal=aim, belief=belief, failed=frozenset(tried), first=order.first, last=order.last)
        lesson = taught(expert, memory, aim)
        yield TrainingSample(prompt, acted(lesson))
        command = player(prompt) if player else lesson.command
        if epsilon and random.random() < epsilon:
            if random.random() < 0.2:
                kinds = sorted({one.kind for one in belief.receptacles}) or ["drawer"]
                command = random.choice(_RUBBISH).format(r=random.choice(kinds), o=goal.object)
            else:
                command = random.choice(env.admissible_commands() or ("look",))
        if command == STUCK:
            if aim is goal:
                return
            if not astray:
                aim = goal
                continue
            astray -= 1
            command = random.choice(env.admissible_commands() or ("look",))
        step = env.step(command)
        scene = scene.after((Transition(command, step.observation),))
        if step.done:
            return


def plans(
    goal: Goal, sentence: str, opening: Observation, random: Random, others: Sequence[tuple[str, str]] = ()
) -> TrainingSample:
    """Draw a prompt of the reasoner and its reply, with or without rules, hints and failed plans. Some prompts also have rules
    from ``others``, which are pairs of an object and a rule's text."""
    belief = begin(opening)
    rules: list[str] = []
    hints: list[str] = []
    failed: list[tuple[str, ...]] = []
    order = ANYWHERE
    draw = random.random()
    if draw < 0.55:
        said_by, sentences = (wordings.rule, rules) if draw < 0.3 else (wordings.hint, hints)
        thing, places, lamp = _where(random, goal, belief, named=draw >= 0.3)
        said = said_by(random, thing, places, lamp=lamp)
        sentences.append(said.text)
        order = said.order
    if random.random() < 0.3:
        drawn = random.sample(others, min(len(others), random.randint(1, 3)))
        rules += [text for thing, text in drawn if thing not in {goal.object, goal.lamp}]
        random.shuffle(rules)
    for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
        wrong = wrong_goal(random, goal, belief)
        plan = plan_of(wrong, order if random.random() < 0.5 else ANYWHERE) if wrong and wrong != goal else None
        if plan is not None and plan not in failed:
            failed.append(plan)
    # Rules come before hints and failed plans.
    rank = {"Goal": 0, "Places": 1, "Rule": 2, "Hint": 3, "Failed": 4}
    prompt = [*brief.planning(sentence, belief, (), hints, failed).split("\n"), *(f"Rule: {rule}" for rule in rules)]
    prompt.sort(key=lambda line: rank[line.partition(":")[0]])
    return TrainingSample("\n".join(prompt), planned(goal, order))


def wrong_goal(random: Random, goal: Goal, belief: Belief) -> Goal | None:
    """Draw a goal that ``goal`` could be misread as in this house; None if there is none."""
    kinds = sorted({one.kind for one in belief.receptacles})
    tables = wordings.WORDS["tables"].split()
    draw = random.random()
    if draw < 0.5 and goal.receptacle:
        alike = [kind for kind in kinds if goal.receptacle not in tables or kind in tables]
        others = [kind for kind in alike if kind != goal.receptacle]
        return replace(goal, receptacle=random.choice(others)) if others else None
    if draw < 0.85:
        groups = [group.split() for group in wordings.WORDS["alike"]]
        alike = next((group for group in groups if goal.object in group), [thing for group in groups for thing in group])
        return replace(goal, object=random.choice([thing for thing in alike if thing != goal.object]))
    if goal.lamp or goal.receptacle is None:
        return replace(goal, type="pick_and_place_simple", lamp=None, receptacle=random.choice(kinds)) if kinds else None
    other = random.choice([one for one in TYPES.values() if one not in {"look_at_obj_in_light", goal.type}])
    return replace(goal, type=other, count=2 if other == "pick_two_obj_and_place" else 1)


def _where(random: Random, goal: Goal, belief: Belief, *, named: bool) -> tuple[str, tuple[str, ...], bool]:
    """Draw the object or the lamp, places for it (with ``named``, some with numbers), and True for the lamp."""
    lamp = bool(goal.lamp) and random.random() < 0.3
    kinds: dict[str, list[str]] = {}
    for one in belief.receptacles:
        kinds.setdefault(one.kind, []).append(one.name)
    # Draw by kind, since one safe is as good a place as ten drawers.
    drawn = random.sample(list(kinds), min(len(kinds), random.choice((1, 1, 1, 2, 2, 3))))
    places = tuple(random.choice(kinds[kind]) if named and random.random() < 0.5 else kind for kind in drawn) or ("drawer",)
    return goal.lamp if goal.lamp and lamp else goal.object, places, lamp


def taught(expert: HouseholdExpert, memory: HouseholdExpertMemory, goal: Goal) -> Lesson:
    """The actor's right reply in any state of a game."""
    belief, tried = memory.belief, memory.failed
    command, thought, _ = expert.decide(memory)
    if command is None:
        command, thought = STUCK, "all steps are done, but the task is not over"
    elif command == "look" and thought.startswith("every place"):
        command, thought = STUCK, "every place was searched in vain"
    if command in tried:
        moves = ("look", *(f"go to {one.name}" for one in belief.receptacles if not belief.is_here(one.name)))
        command = next((move for move in moves if move not in tried), "inventory")
        thought = "that led nowhere; try something else"
    elif found := _SOUGHT.fullmatch(thought):
        thought = f"look for {found['sought']} in the {found['place']}"
    return Lesson(thought, step_of(goal, belief) + 1, command)


def step_of(goal: Goal, belief: Belief) -> int:
    """The index of the present part of ``goal``, which is the number of parts known to be done."""
    held = belief.item(belief.held)
    holding = held is not None and held.kind == goal.object
    if goal.count > 1:
        kept = (thing for one in belief.receptacles if one.kind == goal.receptacle for thing in belief.inside(one))
        return 2 * any(kind(thing) == goal.object for thing in kept) + holding
    if held is None or not holding or goal.treatment is None:
        return int(holding)
    return 1 + held.treated(goal.treatment)


T = TypeVar("T")

_PROMPT_LABELS = ("goal", "places", "rule", "hint", "failed", "plan", "holding", "here", "found", "unseen", "tried")
SPELT = 0.06  # The share of the words of goals and hints that are spelled out in pieces.
PIECES = 400  # Pieces of words in the vocabulary, beside the letters.
LABELS = tuple(f"{label}:" for label in (*_PROMPT_LABELS, "thought", "step", "action"))


class Arrays:
    """A dataclass of arrays that are saved in one file."""

    def save(self, file: Path) -> None:
        arrays: Any = self
        with open_file(file, "wb") as opened:
            np.savez(opened, **{field.name: getattr(self, field.name) for field in fields(arrays)})

    @classmethod
    def load(cls, file: Path) -> Self:
        with np.load(file, allow_pickle=False) as content:
            return cls(**content)


@dataclass(frozen=True)
class CorpusPart(Arrays):
    """Samples as tokens: the ``tokens`` of all samples in a row, and the beginnings of each sample and its reply."""

    tokens: NDArray[np.uint16]
    starts: NDArray[np.int64]
    replies: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1


def encoded(samples: Iterable[TrainingSample], vocabulary: Vocabulary, seed: int = 1) -> CorpusPart:
    """Encode samples as tokens: a user's message, a reply, and an end. Some known words of goals, hints and rules are spelled
    out, so that the model learns to read words by their pieces."""
    tokens, starts, replies = list[int](), [0], list[int]()
    random = Random(f"spelt {seed}")
    for sample in samples:
        said = {word for line in _SAID.findall(sample.prompt) for word in _WORD.findall(line.lower())}
        spelt = {word for word in sorted(said) if random.random() < SPELT}
        tokens += (vocabulary.user, *vocabulary.encode(sample.prompt, spelt), vocabulary.reply)
        replies.append(len(tokens))
        tokens += (*vocabulary.encode(sample.reply), vocabulary.end)
        starts.append(len(tokens))
    return CorpusPart(np.array(tokens, np.uint16), np.array(starts, np.int64), np.array(replies, np.int64))


class TrainingGame(NamedTuple):
    """A game to learn from: its true goal, and the annotators' sentences."""

    env: Env
    goal: Goal
    human: tuple[str, ...] = ()


def spread(things: Sequence[T], most: int | None) -> Sequence[T]:
    """At most ``most`` of ``things``, spread evenly."""
    count = len(things) if most is None else min(most, len(things))
    return [things[-(-at * len(things) // count)] for at in range(count)]


def train_games(data: Path | None, limit: int | None = None, *, human: bool = True) -> Iterator[TrainingGame]:
    """The games of ``train``, with ``human`` including the annotators' sentences."""
    world = AlfworldWorld(data=data)
    for task in spread(world.tasks("train"), limit):
        if (game := train_game(world, task, human=human)) is not None:
            yield game


def train_game(world: AlfworldWorld, task: Task, *, human: bool) -> TrainingGame | None:
    """The game of ``task``; None if no template reads its goal."""
    goal = read_goal(task.goal)
    if goal is None or task.source is None:
        return None
    written = sentences_of(task.source.with_name(TRAJECTORY_FILE)) if human else ()
    return TrainingGame(world.open(task), goal, tuple(sentence for sentence in written if sentence))


def people_of_train(data: Path | None) -> Iterator[str]:
    for task in AlfworldWorld(data=data).tasks("train"):
        if task.source is not None:
            yield from sentences_of(task.source.with_name(TRAJECTORY_FILE))


def made_up_games(first: int, number: int, seed: int) -> Iterator[TrainingGame]:
    """Made-up houses; every third has other habits, with six kinds of objects in other places."""
    refuse_evaluation(first, number)
    for at in range(first, first + number):
        yield made_up_game(at, seed)


def refuse_evaluation(first: int, number: int) -> None:
    """Raise ``ConfigurationError`` if any of the ``number`` houses from ``first`` on is for evaluation."""
    if first + number > EVALUATION_SEEDS:
        beyond = f"{first:,} and {number:,} more go beyond"
        raise ConfigurationError(f"Houses from {EVALUATION_SEEDS:,} on are for evaluation; {beyond}.")


def made_up_game(at: int, seed: int) -> TrainingGame:
    """The made-up house with the seed ``at``; ``seed`` draws the other habits of every third."""
    habits = load_counts()
    house = make_house(at, _altered(habits, Random(f"habits {seed} {at}")) if at % 3 == 0 else habits)
    task = Task(f"{GENERATED}/{at}", AlfworldWorld.name, GENERATED, at, house.goal.type, house.sentence)
    return TrainingGame(NativeEnv(task, house.game), house.goal)


def _altered(habits: Counts, random: Random) -> Counts:
    known = {kind for room in habits.rooms.values() for kind, one in room.objects.items() if one.places}
    sought = {thing for room in habits.rooms.values() for things in room.goals.values() for thing in things}
    for thing in random.sample(sorted(sought & known), 6):
        places = random.sample(sorted(habits.accepts), random.randint(1, 2))
        habits = placing(habits, thing, {place: random.randint(1, 3) for place in places})
    return habits


def actor_samples(games: Iterable[TrainingGame], passes: int, seed: int) -> Iterator[TrainingSample]:
    """Let the expert play each game ``passes`` times, and the two harder task types twice as often."""
    for number, game in enumerate(games):
        harder = game.goal.type in {"pick_two_obj_and_place", "look_at_obj_in_light"}
        for time in range(passes * (2 if harder else 1)):
            yield from demonstrate(game.env, game.goal, Random(f"{seed} {number} {time}"))


def reasoner_samples(games: Iterable[TrainingGame], passes: int, seed: int) -> Iterator[TrainingSample]:
    """Each goal in words of the templates, the annotators and a grammar, ``passes`` times."""
    others: list[tuple[str, str]] = []
    things, places, drawing = sorted(set(load_counts().objects())), sorted(wordings.FURNITURE), Random(f"sayings {seed}")
    for _ in range(400):
        thing = drawing.choice(things)
        others.append((thing, wordings.rule(drawing, thing, drawing.sample(places, drawing.randint(1, 3))).text))
    for number, game in enumerate(games):
        random = Random(f"plans {seed} {number}")
        opening = game.env.reset().observation
        places = sorted({one.kind for one in begin(opening).receptacles})
        for _ in range(passes):
            said = random.choice(goal_sentences(game.goal))
            for sentence in (said, *game.human, wordings.goal_wording(random, game.goal, places)):
                yield plans(game.goal, sentence, opening, random, others)


def misread_samples(games: Iterable[TrainingGame], passes: int, seed: int) -> Iterator[TrainingSample]:
    """Goals whose literal plan failed and whose right plan is a similar one, ``passes`` times each. People write "spoon" and
    mean a ladle. A model trained only on right readings would repeat the failed plan."""
    for number, game in enumerate(games):
        random = Random(f"misread {seed} {number}")
        belief = begin(game.env.reset().observation)
        places = sorted({one.kind for one in belief.receptacles})
        for _ in range(passes):
            written = (*game.human, wordings.goal_wording(random, game.goal, places), random.choice(goal_sentences(game.goal)))
            drawn = (wrong_goal(random, game.goal, belief) for _ in range(random.choice((1, 1, 2, 2, 3))))
            others = [one for one in dict.fromkeys(drawn) if one is not None and one != game.goal]
            if others:
                failed = [plan_of(one) for one in (game.goal, *others[:-1])]
                prompt = brief.planning(random.choice(written), belief, (), (), failed)
                yield TrainingSample(prompt, planned(others[-1]))


def make_vocabulary(data: Path | None, *, human: bool = True) -> Vocabulary:
    """The words of the templates, numbered names, and with ``human`` all words that annotators of ``train`` wrote twice."""
    counts = load_counts()
    receptacles = sorted({kind for room in counts.rooms.values() for kind in room.receptacles})
    names = [f"{kind} {number}" for kind in receptacles for number in range(1, 31)]
    names += [f"{kind} {number}" for kind in counts.objects() for number in range(1, 13)]
    seen: Counter[str] = Counter()
    for sentence in people_of_train(data) if human else ():
        seen.update(_WORD.findall(sentence.lower()))
    people = sorted(word for word, times in seen.items() if times > 1)
    spoken = sorted({word for text in wordings.texts() for word in _WORD.findall(text.lower())})
    pieces = word_pieces({*spoken, *people}, PIECES)
    return Vocabulary([*LABELS, *map(str, range(100)), *receptacles, *counts.objects(), *spoken, *people, *pieces, *names])


def word_pieces(words: Collection[str], number: int) -> list[str]:
    """The ``number`` most frequent pieces of ``words`` by byte-pair encoding (Sennrich et al., 2016), as tokens. Each word
    counts once, since pieces are for words that are not in the vocabulary."""
    written = [tuple(word) for word in words]
    pieces: dict[str, None] = {}
    while len(pieces) < number:
        pairs = Counter(pair for parts in written for pair in pairwise(parts))
        if not pairs:
            break
        # Ties go to the first in the alphabet, so that the order of words does not matter.
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        pieces[PIECE + "".join(best)] = None
        written = [_merged(parts, best) for parts in written]
    return list(pieces)


def _merged(parts: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    merged: list[str] = []
    for part in parts:
        if merged and (merged[-1], part) == pair:
            merged[-1] += part
        else:
            merged.append(part)
    return tuple(merged)


_SAID = re.compile(r"^(?:Goal|Hint|Rule): (.*)$", re.MULTILINE)
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


def composition(vocabulary: Vocabulary) -> tuple[list[int], list[int]]:
    """For each token, its word (the token itself if it has no number) and its number, 0 for none."""
    named = [re.fullmatch(r"(.+) (\d+)", token) for token in vocabulary.tokens]
    base = [vocabulary.id(name[1]) if name else id for id, name in enumerate(named)]
    return base, [int(name[2]) if name else 0 for name in named]


def make_corpus(
    folder: Path, data: Path | None, seed: int, *, passes: int, plans: int, houses: int, games: int | None, human: bool
) -> dict[str, Any]:
    """Play all games, write the vocabulary and the parts, and return the counts.

    Args:
        passes: Plays of each game of ``train``.
        plans: Prompts for each goal and wording.
        houses: Made-up houses, each played once.
        games: The most games of ``train``; all for None.
        human: Include the annotators' wordings of goals."""
    vocabulary = make_vocabulary(data, human=human)
    atomic_write(folder / "vocabulary.json", json.dumps(vocabulary.tokens).encode())
    train = list(train_games(data, games, human=human))
    made_up = list(made_up_games(0, houses, seed))
    parts = {
        "actor-train": actor_samples(train, passes, seed),
        "actor-made-up": actor_samples(made_up, 1, seed + 1),
        "reasoner-train": reasoner_samples(train, plans, seed + 2),
        "reasoner-made-up": reasoner_samples(made_up, plans, seed + 3),
        "reasoner-misread": misread_samples(chain(train, made_up), plans, seed + 4),
    }
    counted: dict[str, Any] = {"seed": seed, "human": human, "vocabulary": len(vocabulary)}
    counted |= {"games": len(train), "houses": len(made_up)}
    for name, samples in parts.items():
        part = encoded(samples, vocabulary)
        part.save(folder / f"{name}.npz")
        counted[name] = {"samples": len(part), "tokens": len(part.tokens)}
    atomic_write(folder / "counts.json", json.dumps(counted, indent=1).encode())
    return counted


def load_vocabulary(folder: Path) -> Vocabulary:
    return Vocabulary(cast("Sequence[str]", json.loads((folder / "vocabulary.json").read_text("utf-8"))))


def own_samples(
    file: Path, data: Path | None, seed: int, games: int | None, first: int, houses: int, processes: int
) -> Iterator[TrainingSample]:
    """Let the model in ``file`` play ``games`` of ``train`` (None: all) and ``houses`` made-up houses from ``first`` on, for
    DAgger (Ross et al., AISTATS 2011): the expert writes the right reply to each prompt."""
    tasks = spread(AlfworldWorld(data=data).tasks("train"), games)
    items = [*(task.reference for task in tasks), *range(first, first + houses)]
    for samples in in_processes(partial(_player, file, data, seed), [*enumerate(items)], processes):
        yield from samples


@contextmanager
def _player(file: Path, data: Path | None, seed: int) -> Generator[Callable[[tuple[int, str | int]], list[TrainingSample]]]:
    """Lets the model in ``file`` play numbered games: published ones by their reference, made-up houses by their seed."""
    world, model = AlfworldWorld(data=data), load_builtin(file)
    with closing(asyncio.new_event_loop()) as loop:

        def command(prompt: str) -> str:
            """The model's command; ``look`` if its reply cannot be parsed."""
            asked = Request((Message("user", prompt),), max_tokens=96)
            reply = loop.run_until_complete(model.complete(asked)).text
            try:
                return ACTOR.read(reply).command or STUCK
            except ReplyError:
                return "look"

        def samples(item: tuple[int, str | int]) -> list[TrainingSample]:
            number, named = item
            game = made_up_game(named, seed) if isinstance(named, int) else train_game(world, world.task(named), human=False)
            if game is None:
                return []
            # Fewer random commands than in the expert's games, since the model makes mistakes itself.
            return list(demonstrate(game.env, game.goal, Random(f"own {seed} {number}"), command, epsilon=EPSILON / 4))

        yield samples
