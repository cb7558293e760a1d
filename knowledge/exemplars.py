"""ReAct's exemplars: whole episodes as text, with thoughts, two of which are shown before a task of the same type.

A file of them is a JSON object, in the form of the prompt file that was released with ReAct (Yao et al., 2023): the keys are
``react_TYPE_N``, where TYPE is one of `KEYS` and N counts from 0; other keys are left out. A value is an episode: its opening
and task, then lines ``> command`` or ``> think: ...``, each followed by its answer. Commands of older games become
today's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from housequest.knowledge.examples import Example, subtasks_of_goal
from housequest.worlds.base import Transition
from housequest.worlds.errors import KnowledgeError, shown
from housequest.worlds.household.base import Household
from housequest.worlds.household.goals import ADJECTIVES, TASK_TYPES, TaskType, Treatment
from housequest.worlds.paths import read_file
from housequest.worlds.text import printable

KEYS: Mapping[TaskType, str] = dict(zip(TASK_TYPES, ("put", "examine", "clean", "heat", "cool", "puttwo"), strict=True))
"""What a file calls each task type."""

EXEMPLARS_EACH = 3
"""Exemplars of each type in a file, as in the released one."""
LARGEST_EXEMPLARS = 2_000_000
LONGEST_EXEMPLAR = 20_000
"""Bytes of a file and characters of an exemplar, at most."""

THINK = "think:"
"""What a thought begins with."""
ANSWER = "OK."
"""What a thought is answered with."""

LENGTH = 10
"""Commands of an exemplar of ours, about: enough to search a little."""
_LIKELY = 4
"""Kinds of places that a thought of ours names."""

Exemplars = Mapping[str, Sequence[str]]
"""Episodes as text by the type's word of `KEYS`, in the order of their numbers."""

_KEY = re.compile(r"react_(?P<type>[a-z]+)_(?P<number>[0-9])")
_ARRIVED = re.compile(r"You arrive at [^.\n]{1,80}\. (?=\S)")
_PUT_DOWN = re.compile(r"You put the (?P<item>\S+ \d+) in/on the (?P<place>\S+ \d+)\.")


def load_exemplars(path: Path, household: Household) -> Exemplars:
    """The exemplars in a file. Raises ``KnowledgeError``."""
    try:
        content = read_file(path, LARGEST_EXEMPLARS + 1)
    except (OSError, ValueError) as error:
        raise KnowledgeError(f"{shown(str(path))}: the exemplars cannot be read: {error}") from error
    return parse_exemplars(content, str(path), household)


def parse_exemplars(content: bytes, origin: str, household: Household) -> Exemplars:
    """Read a file of exemplars; ``origin`` names it in errors. Raises ``KnowledgeError``."""

    def wrong(what: str) -> KnowledgeError:
        return KnowledgeError(f"{shown(origin)}: {what} Take ReAct's file, or make one with scripts/make_exemplars.py.")

    if len(content) > LARGEST_EXEMPLARS:
        raise wrong(f"a file of exemplars has at most {LARGEST_EXEMPLARS:,} bytes.")
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
    """An exemplar in the words of today's games, printable and without empty lines at its ends."""
    return "\n".join(_present_line(line, household) for line in printable(text).strip().splitlines())


def _present_line(line: str, household: Household) -> str:
    if line.startswith(">"):
        return f"> {household.canonical(line[1:].strip())}"
    return without_arrival(_PUT_DOWN.sub(r"You move the \g<item> to the \g<place>.", line))


def without_arrival(answer: str) -> str:
    """An answer as ReAct shows it: where somebody has arrived is not said again."""
    return _ARRIVED.sub("", answer, count=1) if answer.startswith("You arrive at ") else answer


def without_thoughts(exemplar: str) -> str:
    """An exemplar whose player only acts (ReAct's table 3, "Act")."""
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
    """The text of a file."""
    named = {f"react_{word}_{number}": text for word, texts in exemplars.items() for number, text in enumerate(texts)}
    return json.dumps(named, indent=1) + "\n"


# Exemplars of our own, from won examples.


def exemplars_of(examples: Iterable[Example], household: Household, each: int = EXEMPLARS_EACH) -> Exemplars:
    """``each`` exemplars of every type: the examples whose length is nearest to `LENGTH`, with thoughts.

    Raises ``KnowledgeError`` if there are too few.
    """
    by_type: dict[str, list[Example]] = {name: [] for name in TASK_TYPES}
    for example in examples:
        if example.type in by_type and household.read_goal(example.goal) is not None:
            by_type[example.type].append(example)
    found: dict[str, tuple[str, ...]] = {}
    for name, word in KEYS.items():
        # The goal decides between equals, so that the order of the store does not.
        nearest = sorted(by_type[name], key=lambda one: (abs(len(one.trajectory.transitions) - LENGTH), one.goal, one.origin))
        if len(nearest) < each:
            raise KnowledgeError(f"There are {len(nearest)} examples of {name}, and {each} are needed.")
        found[word] = tuple(exemplar_text(example, household) for example in nearest[:each])
    return found


def exemplar_text(example: Example, household: Household) -> str:
    """An example as an exemplar: a thought before each part of the task, and before what was found is taken.

    Raises ``KnowledgeError`` if its goal is none of the world's own sentences.
    """
    lines = [without_welcome(example.trajectory.opening.text)]
    for thought, transition in _thoughtful(example, household):
        lines += [f"> {THINK} {thought}", ANSWER] if thought else []
        lines += [f"> {transition.command}", without_arrival(transition.observation.text)]
    return "\n".join(lines)


def _thoughtful(example: Example, household: Household) -> Iterator[tuple[str, Transition]]:
    """The commands, each with the thought before it; "" where there is none."""
    goal = household.read_goal(example.goal)
    if goal is None:
        raise KnowledgeError(f"The goal {shown(example.goal)} is not one of the world's own sentences.")
    steps, thing = subtasks_of_goal(goal), goal.object
    places = _likely(example, thing, household)
    done, held = 0, ""
    before = f"To do this I {', then '.join(steps)}. {places}"
    for transition in example.trajectory.transitions:
        verb, _, rest = transition.command.partition(" ")
        thought = before
        if verb == "take":
            held = rest.partition(" from ")[0]
            thought = f"Here is {held}. I take it."
        yield thought, transition
        before = ""
        if verb in _STEPS:
            done += 1
            if done < len(steps):
                then = f"Another {thing} is still missing. {places}" if verb == "move" else f"Next I {steps[done]}."
                before = f"{_now(verb, held)} {then}"


_STEPS = frozenset({"take", "clean", "heat", "cool", "move"})
"""Commands after each of which a part of the task is done; after the lamp nothing is left."""


def _now(verb: str, held: str) -> str:
    match verb:
        case "take":
            return f"I hold {held} now."
        case "move":
            return f"The {held} is in its place."
        case _:
            return f"The {held} is {ADJECTIVES[cast('Treatment', verb)]} now."


def _likely(example: Example, thing: str, household: Household) -> str:
    """Where ``thing`` most likely is in the example's house, by the counts from ``train``, in a sentence."""
    counts = household.counts()
    kinds = sorted({one.kind for one in household.begin(example.trajectory.opening).receptacles})
    room = counts.room_of(kinds)
    likely = sorted(kinds, key=lambda place: -counts.chance(thing, place, room))[:_LIKELY]
    return f"I look for it where it most likely is: {', '.join(likely[:-1])} or {likely[-1]}."
