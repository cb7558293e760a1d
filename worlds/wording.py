"""Whose sentence a task's goal is: the world's own, or one that people wrote, by number or by seed.

People's sentences come from files of the user's and are untrusted, so each is cut to one plain line.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from worlds.errors import ConfigurationError, nearest, shown

_LONGEST_SENTENCE = 400
"""Characters; the longest published goal has 161."""

_LONGEST_INSTRUCTION = 4_000
"""Characters of a goal with its instructions; the longest of train and valid_seen has 1,750."""

_SETTING = re.compile(r"human(?P<steps>\+steps)?(?::(?:(?P<number>[0-9]{1,4})|seed=(?P<seed>-?[0-9]{1,18})))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class GoalSource:
    """Whose goals are shown: the template's (``human`` false), annotator ``number``'s, or a choice seeded with ``seed``.

    With ``steps``, the annotator's instructions follow the goal on the same line.
    """

    human: bool = False
    number: int | None = None
    seed: int = 0
    steps: bool = False

    def wording(self, annotator: int) -> str:
        """The setting that shows this annotator's goals."""
        return f"human{'+steps' if self.steps else ''}:{annotator}"

    def choose(self, task: str, sentences: tuple[str, ...]) -> tuple[int, str] | None:
        """One of a task's ``sentences`` (see `sentences_of`) with its annotator, from 1; None if there is none.

        A seeded choice depends only on the seed and the id ``task``, so it is the same on every machine.
        """
        written = [(number, sentence) for number, sentence in enumerate(sentences, start=1) if sentence]
        if not self.human or not written:
            return None
        if self.number is not None:
            return next((one for one in written if one[0] == self.number), None)
        digest = hashlib.sha256(f"{self.seed}\n{task}".encode("utf-8", "surrogatepass")).digest()
        return written[int.from_bytes(digest[:8], "big") % len(written)]


def parse_goal_source(setting: str) -> GoalSource:
    """Read ``template``, ``human``, ``human:N`` (N from 1) or ``human:seed=N``, or the same with ``human+steps``.

    Raises ``ConfigurationError``.
    """
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
    if sentence.isascii() and sentence.isprintable():  # nearly all are, and a look at each character takes long
        return " ".join(sentence[: 8 * _LONGEST_SENTENCE].split())[:_LONGEST_SENTENCE].rstrip()
    kept = "".join(
        " " if character.isspace() else character
        for character in sentence[: 8 * _LONGEST_SENTENCE]
        if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    return " ".join(kept.split())[:_LONGEST_SENTENCE].rstrip()


def joined_sentences(sentences: Iterable[str]) -> str:
    """A goal and its instructions on one line, each ended by a mark."""
    # Many annotators left out the final mark, without which joined sentences run together.
    every = (one if one.endswith((".", "!", "?")) else f"{one.rstrip(',;:')}." for one in sentences if one)
    return " ".join(every)[:_LONGEST_INSTRUCTION].rstrip()
