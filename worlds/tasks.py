"""Shared by worlds: splits without end, and the choice of whose sentence states a goal.

People's sentences come from files of the user's and are untrusted, so each is cut to one plain line.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, overload

from housequest.worlds.base import Task, World
from housequest.worlds.errors import ConfigurationError, nearest, shown

TRAINED = range(500_000)
"""Seeds of made-up tasks for training: the shipped models learned from them, and clients of servers do."""
EXPLORED = range(500_000, 1_000_000)
"""Seeds for learning rules, and never for training a model."""
HELD_OUT = range(1_000_000, 2**63 - 1)
"""Seeds of made-up tasks for evaluation: nothing may be learned from them."""
_RANGES = 20
_SEEDS = re.compile(r"(?P<first>[0-9]{1,18})(?P<more>\.\.(?P<last>[0-9]{1,18}))?", re.ASCII)


def read_split(text: str, endless: Sequence[str], usual: range = HELD_OUT) -> tuple[str, range | None]:
    """A split and, of one without end, the seeds of its tasks: ``SPLIT`` (the ``usual`` ones), ``SPLIT:FIRST`` (from there on),
    or ``SPLIT:FIRST..LAST``. Raises ``ConfigurationError``.
    """
    split = next((each for each in endless if text == each or text.startswith(f"{each}:")), None)
    if split is None:
        return text, None
    if text == split:
        return split, usual
    seeds = text.removeprefix(f"{split}:")
    if (match := _SEEDS.fullmatch(seeds)) is None:
        raise ConfigurationError(
            f"{shown(text)} is no split; give {split}, {split}:SEED to begin there, or {split}:FIRST..LAST for those houses."
        )
    first, last = int(match["first"]), int(match["last"] or HELD_OUT.stop - 1)
    if first > last:
        raise ConfigurationError(f"{text} is empty, since {first} is above {last}; did you mean {split}:{last}..{first}?")
    return split, range(first, last + 1)


WORD = "word:"
"""References to the house of a word begin with this."""
_WORDS_SEEDS = range(10**9, 10**10)
_LONGEST_WORD = 100


def seed_of_word(word: str) -> int:
    """The seed of the made-up house that a ``word`` names, the same on every machine; capitals and spaces make no difference.

    Args:
        word: One word or several, such as "harbour".

    Returns:
        A seed of ten digits.

    Raises:
        ConfigurationError: It has no letter and no digit, or is very long.
    """
    plain = " ".join(unicodedata.normalize("NFKC", word).casefold().split())
    if not any(map(str.isalnum, plain)) or len(plain) > _LONGEST_WORD:
        raise ConfigurationError(
            f"{shown(word, 60)} names no house; give a word of at most {_LONGEST_WORD} letters: word:harbour."
        )
    digest = hashlib.sha256(f"housequest\n{plain}".encode("utf-8", "replace")).digest()
    return _WORDS_SEEDS[int.from_bytes(digest) % len(_WORDS_SEEDS)]


def task_named(world: World, reference: str) -> Task:
    """The task of a ``reference``: as `World.task` reads it, or with `WORD` the made-up house of a word.

    Raises:
        ConfigurationError: The world makes up no houses, or the word names none.
        TaskNotFound: There is no such task.
    """
    if not reference.startswith(WORD):
        return world.task(reference)
    if not world.info.endless_splits:
        raise ConfigurationError(f"{world.name} makes up no houses, so no word names one; give a split and a number.")
    return world.task(f"{world.info.endless_splits[0]}:{seed_of_word(reference.removeprefix(WORD))}")


def covers(parts: Iterable[str], split: str, number: int) -> bool:
    """True if a task is among ``parts``, which are splits as `read_split` reads them."""
    found = (read_split(part, (split,), range(0)) for part in parts)
    return any(name == split and (not seeds or number in seeds) for name, seeds in found)


def as_splits(tasks: Iterable[tuple[str, int]], endless: Sequence[str]) -> tuple[str, ...]:
    """Splits and ranges that cover ``tasks``, which are splits with numbers: at most ``_RANGES`` ranges, so that between some
    there may be others.
    """
    numbers: dict[str, set[int]] = {}
    for split, number in tasks:
        numbers.setdefault(split, set()).add(number)
    found: list[str] = []
    for split, those in sorted(numbers.items()):
        if split not in endless and ":" not in split:  # a home's split has a seed, and its days are numbered
            found.append(split)
            continue
        ordered = sorted(those)
        gaps = sorted((pair for pair in pairwise(ordered) if pair[1] - pair[0] > 1), key=lambda pair: pair[0] - pair[1])
        ends = sorted([ordered[0], ordered[-1], *(end for pair in gaps[: _RANGES - 1] for end in pair)])
        found += (f"{split}:{first}..{last}" for first, last in zip(ends[::2], ends[1::2], strict=True))
    return tuple(found)


class MadeUpTasks(Sequence[Task]):
    """The tasks of ``seeds`` of a split without end, each ``made`` when it is asked for: its number is its seed, and its id
    ``SPLIT/SEED``. Errors call one a ``what``."""

    what: ClassVar[str] = "task"

    def __init__(self, split: str, seeds: range, made: Callable[[int], Task]) -> None:
        self.split, self.seeds, self.made = split, seeds, made

    @property
    def endless(self) -> bool:
        """True if no last seed was named."""
        return self.seeds.stop >= HELD_OUT.stop

    def __len__(self) -> int:
        return len(self.seeds)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Task, ...]: ...
    def __getitem__(self, index: int | slice) -> Task | tuple[Task, ...]:
        if isinstance(index, slice):
            return tuple(map(self.made, self.seeds[index]))
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no made-up {self.what} {index}")
        return self.made(self.seeds[index])

    def __contains__(self, value: object) -> bool:
        return isinstance(value, Task) and value.number in self.seeds and self.made(value.number) == value


def split_tasks(world: World, split: str, usual: range = HELD_OUT) -> Sequence[Task]:
    """The tasks of ``split`` as `read_split` reads it: made-up ones only of its seeds. Raises ``TaskNotFound`` and
    ``ConfigurationError``.
    """
    name, seeds = read_split(split, world.info.endless_splits, usual)
    every = world.tasks(name)
    return every if seeds is None else MadeUpTasks(name, seeds, every.__getitem__)


_LONGEST_SENTENCE = 400  # characters; the longest published goal has 161
_LONGEST_INSTRUCTION = 4_000  # characters of a goal with its instructions; the longest of train and valid_seen has 1,750
_SETTING = re.compile(r"human(?P<steps>\+steps)?(?::(?:(?P<number>[0-9]{1,4})|seed=(?P<seed>-?[0-9]{1,18})))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class GoalSource:
    """The goals to show: the template's (``human`` false), annotator ``number``'s, or a choice seeded with ``seed``; with
    ``steps``, the annotator's instructions follow the goal on the same line."""

    human: bool = False
    number: int | None = None
    seed: int = 0
    steps: bool = False

    def wording(self, annotator: int) -> str:
        """The setting that shows this annotator's goals."""
        return f"human{'+steps' if self.steps else ''}:{annotator}"

    def choose(self, task: str, sentences: tuple[str, ...]) -> tuple[int, str] | None:
        """One of a task's ``sentences`` with its annotator, from 1, the same on every machine; None if there is none."""
        written = [(number, sentence) for number, sentence in enumerate(sentences, start=1) if sentence]
        if not self.human or not written:
            return None
        if self.number is not None:
            return next((one for one in written if one[0] == self.number), None)
        digest = hashlib.sha256(f"{self.seed}\n{task}".encode("utf-8", "surrogatepass")).digest()
        return written[int.from_bytes(digest[:8], "big") % len(written)]


def parse_goal_source(setting: str) -> GoalSource:
    """Read ``template``, ``human``, ``human:N`` (from 1), ``human:seed=N``, ``human+steps``. Raises ``ConfigurationError``."""
    if setting == "template":
        return GoalSource()
    match = _SETTING.fullmatch(setting)
    if match is None or match["number"] == "0":
        raise ConfigurationError(
            f"There are no goals {shown(setting)}; give template, human, human:N (annotator N, from 1) or human:seed=N, "
            f"or human+steps in place of human.{nearest(setting, ('template', 'human', 'human+steps'))}"
        )
    number = int(match["number"]) if match["number"] else None
    return GoalSource(human=True, number=number, seed=int(match["seed"] or 0), steps=match["steps"] is not None)


def plain_sentence(sentence: str) -> str:
    """One printable line of at most 400 characters, without control and format characters and repeated spaces."""
    if sentence.isascii() and sentence.isprintable():  # nearly all are, and checking each character takes long
        return " ".join(sentence[: 8 * _LONGEST_SENTENCE].split())[:_LONGEST_SENTENCE].rstrip()
    kept = "".join(
        " " if character.isspace() else character
        for character in sentence[: 8 * _LONGEST_SENTENCE]
        if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    return " ".join(kept.split())[:_LONGEST_SENTENCE].rstrip()


def joined_sentences(sentences: Iterable[str]) -> str:
    """A goal and its instructions on one line, each ended by a mark."""
    # Many annotators left out the final mark, so joined sentences would run together.
    every = (one if one.endswith((".", "!", "?")) else f"{one.rstrip(',;:')}." for one in sentences if one)
    return " ".join(every)[:_LONGEST_INSTRUCTION].rstrip()
