"""In-context examples: won tasks with their commands and answers, for prompts; and the splits that may be learned from.

All agents share one store. The shipped one was played by the expert in made-up houses (``scripts/make_examples.py``);
``from_world`` makes one from a world's ``train`` split. ``housequest.knowledge.choosing`` chooses examples for a task.

ReAct's exemplars are whole episodes as text, with thoughts. A file of them is a JSON object, in the form of the prompt file
that was released with ReAct (Yao et al., 2023): the keys are ``react_TYPE_N``, where TYPE is one of `KEYS` and N counts from
0; other keys are left out. A value is an episode: its opening and task, then lines ``> command`` or ``> think: ...``, each
followed by its answer. Commands of older games become today's.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, cast

from housequest.worlds.base import Observation, Task, Transition, World
from housequest.worlds.env import expert_of, steps_of
from housequest.worlds.errors import KnowledgeError, TaskNotFound, shown
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import ADJECTIVES, TASK_TYPES, Goal, Skill, TaskType
from housequest.worlds.paths import read_bounded
from housequest.worlds.tasks import HELD_OUT
from housequest.worlds.text import printable, with_article
from housequest.worlds.validation import Before, Invalid, read_json

SHIPPED = "examples.jsonl"
MAX_FILE = 20_000_000
MAX_EXAMPLES = 10_000
MAX_STEPS = 200
MAX_TEXT = 10_000
TRAIN = "train"
ENDLESS_FROM = 100_000
"""The number of the first task that is taken from an endless split."""
EACH = 10
"""Default number of examples of each task type in a store (OPEx, section 3, "Example Selector")."""


def _text(value: object) -> object:
    if isinstance(value, str) and (not value.strip() or len(value) > MAX_TEXT):
        raise ValueError(f"this is {shown(value, 60)}, not a text of at most {MAX_TEXT} characters")
    return value


_Text = Annotated[str, Before(_text)]


@dataclass(frozen=True, slots=True)
class Example:
    """A won task; ``steps`` are its commands with their answers. ``origin`` is never shown to a model, ``type`` only where
    task types are granted."""

    origin: _Text
    type: _Text
    goal: _Text
    opening: _Text
    steps: tuple[tuple[_Text, _Text], ...] = field(metadata={"min_length": 1, "max_length": MAX_STEPS})

    @property
    def commands(self) -> tuple[str, ...]:
        return tuple(command for command, _ in self.steps)

    def subgoals(self) -> tuple[Skill, ...]:
        """The things that were taken, treated, used and put, with the way there. Searching is left out, since it differs by
        house."""
        return tuple(each for command in self.commands for each in _subgoals(command))


def accepted_steps(transitions: Iterable[Transition]) -> tuple[tuple[str, str], ...]:
    """The steps of an example: the first ``MAX_STEPS`` commands that were not refused, with their answers."""
    taken = ((one.command, one.observation.text) for one in transitions if one.observation.accepted)
    return tuple(islice(taken, MAX_STEPS))


def played(world: World, task: Task, *, most: int = 50) -> Example | None:
    """Let the world's expert play ``task``; None if it does not win within ``most`` commands."""
    env, expert = world.open(task), expert_of(world)
    try:
        opening = env.reset()
        steps = list(steps_of(expert, task, env, opening, most))
    finally:
        env.close()
    if not steps or not steps[-1][1].won:
        return None
    taken = accepted_steps(Transition(command, step.observation) for command, step in steps)
    return Example(task.reference, task.type, task.goal, opening.observation.text, taken)


def from_world(world: World, *, each: int = EACH, seed: int = 0, split: str = TRAIN) -> tuple[Example, ...]:
    """``each`` examples of every task type, drawn from ``split`` by ``seed``, or the first of an endless split from the
    number ``ENDLESS_FROM`` on, and played by the world's expert. Raises ``KnowledgeError`` if the split is missing.
    """
    try:
        if split in world.info.endless_splits:
            numbers = range(ENDLESS_FROM, ENDLESS_FROM + 10 * each)
            tasks = tuple(world.task(f"{split}:{number}") for number in numbers)
        else:
            tasks = tuple(world.tasks(split))
    except TaskNotFound as error:
        raise KnowledgeError(f"Examples are made from the split {split!r}, which is not there: {error}") from error
    by_type: dict[str, list[Task]] = {}
    for task in tasks:
        by_type.setdefault(task.type, []).append(task)
    found: list[Example] = []
    for name, members in sorted(by_type.items()):
        drawn = random.Random(f"{seed} {name}").sample(members, len(members))
        won = (example for task in drawn if (example := played(world, task)) is not None)
        found.extend(islice(won, each))
    if not found:
        raise KnowledgeError(f"No task of the split {split!r} could be made into an example; check it with `housequest data`.")
    return tuple(found)


def type_of_goal(goal: str, receptacles: Iterable[str], household: Household) -> str | None:
    """The task type that a goal sentence states; None if unclear. ``receptacles`` are the kinds in the house."""
    topic = household.topic(goal, sorted(set(receptacles)))
    return topic.type if topic else None


LEARNT_FROM = frozenset({"train", "generated", "example"})
"""Splits whose episodes may be shown to agents and learned from; all others evaluate, in any world."""
EVALUATION_SEEDS = HELD_OUT.start
"""Made-up houses from this seed on are for evaluation."""
_KEPT = ("valid", "test")


def evaluates(split: str, number: int = 0) -> bool:
    """True if agents are evaluated on this task in any world, so no rule may be learned from it; ``number`` is the seed of a
    made-up house."""
    return split.startswith(_KEPT) or (split == "generated" and number >= EVALUATION_SEEDS)


def may_be_learned(split: str, number: int) -> bool:
    """True if a task of ``split`` may be learned from; ``number`` is the seed of a made-up house."""
    return split in LEARNT_FROM and not evaluates(split, number)


# A store is a file of JSON objects, one a line.


def written(examples: Iterable[Example]) -> str:
    """The examples as a store."""
    return "".join(f"{json.dumps(asdict(example))}\n" for example in examples)


@cache
def shipped() -> tuple[Example, ...]:
    """The examples that ship, from made-up houses."""
    from importlib.resources import files

    return parse_examples(files("housequest.knowledge").joinpath(SHIPPED).read_bytes(), SHIPPED)


def load_examples(path: Path) -> tuple[Example, ...]:
    """The examples in a file. Raises ``KnowledgeError`` with file and line."""
    return parse_examples(read_bounded(path, MAX_FILE, KnowledgeError), str(path))


def parse_examples(content: bytes, origin: str) -> tuple[Example, ...]:
    """Read a store; ``origin`` names it in errors. Raises ``KnowledgeError``."""
    way_out = "Make the file with scripts/make_examples.py."
    lines = content.splitlines()
    if len(lines) > MAX_EXAMPLES:
        raise KnowledgeError(f"{shown(origin)}: a store has at most {MAX_EXAMPLES:,} examples. {way_out}")
    found: list[Example] = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(read_json(Example, line))
        except Invalid as wrong:
            raise KnowledgeError(f"{shown(origin)}:{number}: this is not an example: {wrong.with_path} {way_out}") from None
    if not found:
        raise KnowledgeError(f"{shown(origin)}: there is no example in it. {way_out}")
    return tuple(found)


# From commands to subgoals.

_DEEDS = tuple(
    (re.compile(pattern, re.ASCII), way, deed)
    for pattern, way, deed in (
        (r"take (?P<thing>.*?) from (?P<place>.*)", "find", "pick"),
        (r"grab (?P<thing>.*)", "find", "pick"),
        (r"move (?P<thing>.*?) to (?P<place>.*)", "go", "put"),
        (r"put (?P<thing>\S+ \d+) (?:in|on) (?P<place>\S+ \d+)", "go", "put"),
        (r"(?P<treatment>heat|cool|clean) (?P<thing>.*?) with (?P<place>.*)", "go", ""),
        (r"(?:use|switch on) (?P<thing>.*)", "find", "use"),
        (r"slice (?P<thing>.*?)(?: with .*)?", "", "slice"),
    )
)


def _subgoals(command: str) -> Iterator[Skill]:
    for pattern, way, deed in _DEEDS:
        if (found := pattern.fullmatch(command.strip())) is not None:
            said = found.groupdict()
            thing, place = kind(said["thing"]), kind(said["place"]) if said.get("place") else None
            if way:
                yield Skill("find", thing) if way == "find" else Skill("go", receptacle=place)
            yield Skill(cast("Any", deed or said["treatment"]), thing, place)


def subtasks(example: Example, household: Household | None) -> tuple[str, ...]:
    """The sub-tasks of ``example`` in PET's words (section 3.1, figure 2), an action and an object each: of its goal, or of its
    commands if the household cannot read it. Going to places, searching and opening are left out.
    """
    steps = household.steps(example.goal) if household else None
    return in_words(example.subgoals() if steps is None else steps)


def subtasks_of_goal(goal: Goal) -> tuple[str, ...]:
    """The sub-tasks of a structured goal in PET's words; for two objects they are repeated (section 4.5)."""
    return in_words(goal.steps())


def in_words(steps: Iterable[Skill]) -> tuple[str, ...]:
    """Steps as sub-tasks in PET's words, without those that they leave out."""
    return tuple(filter(None, map(subtask_words, steps)))


def subtask_words(subgoal: Skill) -> str:
    """One sub-task in PET's words; empty for what they leave out."""
    match subgoal.verb:
        case "pick":
            return f"take {with_article(str(subgoal.object))}"
        case "put":
            return f"put the {subgoal.object} in or on the {subgoal.receptacle}"
        case "use":
            return f"turn on the {subgoal.object}"
        case "heat" | "cool" | "clean" | "slice" as verb:
            return f"{verb} the {subgoal.object}"
        case _:
            return ""


def tasks_of(world: World, split: str) -> tuple[Example, ...]:
    """The tasks of ``split`` as examples without steps, each goal sentence once. Raises ``TaskNotFound``."""
    first = {task.goal: task for task in reversed(world.tasks(split)) if world.household and world.household.steps(task.goal)}
    return tuple(Example(task.reference, task.type, goal, "", ()) for goal, task in reversed(first.items()))


KEYS: Mapping[TaskType, str] = dict(zip(TASK_TYPES, ("put", "examine", "clean", "heat", "cool", "puttwo"), strict=True))
"""The name of each task type in a file."""
EXEMPLARS_EACH = 3
LARGEST_EXEMPLARS = 2_000_000
LONGEST_EXEMPLAR = 20_000
THINK = "think:"
ANSWER = "OK."
LENGTH = 10
"""Commands of an exemplar of ours, about: enough to search a little."""
_LIKELY = 4
Exemplars = Mapping[str, Sequence[str]]
"""Episodes as text by the type's word of `KEYS`, in the order of their numbers."""
_KEY = re.compile(r"react_(?P<type>[a-z]+)_(?P<number>[0-9])")
_ARRIVED = re.compile(r"You arrive at [^.\n]{1,80}\. (?=\S)")
_PUT_DOWN = re.compile(r"You put the (?P<item>\S+ \d+) in/on the (?P<place>\S+ \d+)\.")


def load_exemplars(path: Path, household: Household) -> Exemplars:
    """The exemplars in a file. Raises ``KnowledgeError``."""
    return parse_exemplars(read_bounded(path, LARGEST_EXEMPLARS, KnowledgeError), str(path), household)


def parse_exemplars(content: bytes, origin: str, household: Household) -> Exemplars:
    """Read a file of exemplars; ``origin`` names it in errors. Raises ``KnowledgeError``."""

    def wrong(what: str) -> KnowledgeError:
        return KnowledgeError(f"{shown(origin)}: {what} Take ReAct's file, or make one with scripts/make_exemplars.py.")

    try:
        value: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise wrong(f"it is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise wrong("it is not a JSON object.")
    found: dict[str, dict[int, str]] = {}
    for key, text in cast("dict[str, object]", value).items():
        named = _KEY.fullmatch(key)
        if named is None or named["type"] not in KEYS.values():
            continue
        if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_EXEMPLAR:
            raise wrong(f"{key} is {shown(text, 60)}, not a text of at most {LONGEST_EXEMPLAR:,} characters.")
        if not text.count("\n> "):
            raise wrong(f"{key} has no line that begins with '> ', as commands and thoughts do.")
        found.setdefault(named["type"], {})[int(named["number"])] = _present(text, household)
    for word in KEYS.values():
        if sorted(found.get(word, {})) != list(range(len(found.get(word, {})))) or len(found.get(word, {})) < 2:
            raise wrong(f"it needs react_{word}_0, react_{word}_1 and so on, two at least.")
    return {word: tuple(found[word][number] for number in sorted(found[word])) for word in KEYS.values()}


def _present(text: str, household: Household) -> str:
    return "\n".join(
        f"> {household.canonical(line[1:].strip())}"
        if line.startswith(">")
        else without_arrival(_PUT_DOWN.sub(r"You move the \g<item> to the \g<place>.", line))
        for line in printable(text).strip().splitlines()
    )


def without_arrival(answer: str) -> str:
    """An answer as ReAct shows it, without the sentence that repeats the place of arrival."""
    return _ARRIVED.sub("", answer, count=1) if answer.startswith("You arrive at ") else answer


def without_thoughts(exemplar: str) -> str:
    """An exemplar without its thoughts (ReAct's table 3, "Act")."""
    kept: list[str] = []
    thought = False
    for line in exemplar.splitlines():
        answered, thought = thought and line == ANSWER, line.startswith(f"> {THINK}")
        kept += [] if answered or thought else [line]
    return "\n".join(kept)


def without_welcome(opening: str) -> str:
    """An opening as ReAct shows it: its paragraphs but the first, which greets, without empty lines between them."""
    first, *others = [paragraph.strip() for paragraph in opening.split("\n\n") if paragraph.strip()] or [""]
    return "\n".join(others or [first])


def written_exemplars(exemplars: Exemplars) -> str:
    named = {f"react_{word}_{number}": text for word, texts in exemplars.items() for number, text in enumerate(texts)}
    return json.dumps(named, indent=1) + "\n"


# Exemplars of our own, from won examples.


def exemplars_of(examples: Iterable[Example], household: Household, each: int = EXEMPLARS_EACH) -> Exemplars:
    """``each`` exemplars of every type: examples of about `LENGTH` commands, with thoughts. Raises ``KnowledgeError``."""
    by_type: dict[str, list[Example]] = {name: [] for name in TASK_TYPES}
    for example in examples:
        if example.type in by_type and household.read_goal(example.goal) is not None:
            by_type[example.type].append(example)
    found: dict[str, tuple[str, ...]] = {}
    for name, word in KEYS.items():
        # The goal decides between equals, so that the order of the store does not.
        nearest = sorted(by_type[name], key=lambda one: (abs(len(one.steps) - LENGTH), one.goal, one.origin))
        if len(nearest) < each:
            raise KnowledgeError(f"There are {len(nearest)} examples of {name}, and {each} are needed.")
        found[word] = tuple(exemplar_text(example, household) for example in nearest[:each])
    return found


def exemplar_text(example: Example, household: Household) -> str:
    """An example as an exemplar, with a thought before each part of the task. Raises ``KnowledgeError`` for unread goals."""
    lines = [without_welcome(example.opening)]
    for thought, (command, answer) in zip(_thoughts(example, household), example.steps, strict=True):
        lines += [f"> {THINK} {thought}", ANSWER] if thought else []
        lines += [f"> {command}", without_arrival(answer)]
    return "\n".join(lines)


def _thoughts(example: Example, household: Household) -> Iterator[str]:
    """The thought before each command; "" if there is none."""
    goal = household.read_goal(example.goal)
    if goal is None:
        raise KnowledgeError(f"The goal {shown(example.goal)} is not one of the world's own sentences.")
    steps, thing = subtasks_of_goal(goal), goal.object
    places = _likely(example, thing, household)
    done, held = 0, ""
    before = f"To do this I {', then '.join(steps)}. {places}"
    for command in example.commands:
        verb, _, rest = command.partition(" ")
        thought = before
        if verb == "take":
            held = rest.partition(" from ")[0]
            thought = f"Here is {held}. I take it."
        yield thought
        before = ""
        # The sentence once a part of the task is done; nothing comes after the lamp.
        now = {treatment: f"The {held} is {adjective} now." for treatment, adjective in ADJECTIVES.items()}
        said = {"take": f"I hold {held} now.", "move": f"The {held} is in its place.", **now}.get(verb)
        if said is not None:
            done += 1
            if done < len(steps):
                then = f"Another {thing} is still missing. {places}" if verb == "move" else f"Next I {steps[done]}."
                before = f"{said} {then}"


def _likely(example: Example, thing: str, household: Household) -> str:
    """A sentence with the likeliest places for ``thing`` in the example's house, by the counts from ``train``."""
    counts = household.counts()
    kinds = sorted({one.kind for one in household.begin(Observation(example.opening)).receptacles})
    room = counts.room_of(kinds)
    likely = sorted(kinds, key=lambda place: -counts.chance(thing, place, room))[:_LIKELY]
    return f"I look for it where it most likely is: {', '.join(likely[:-1])} or {likely[-1]}."
