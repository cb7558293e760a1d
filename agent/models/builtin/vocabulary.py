"""The tokenizer of the built-in model: words, objects with their numbers, and pieces of words for everything else.

A name such as ``mug 2`` is one token, because a small model confuses names made of two. Text is lowercased, and unknown words
are spelt by the longest pieces that are known, which begin with ``#``; letters always are. Decoded text is canonical: one space
between words, none before a full stop.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

USER, REPLY, END, SYSTEM, SPELL, UNKNOWN = "<user>", "<reply>", "<end>", "<system>", "<spell>", "<unknown>"
SPECIAL = (USER, REPLY, END, SYSTEM, SPELL, UNKNOWN)
PIECE = "#"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789'"
MARKS = '\n.,:;!?-/()"%&'
LONGEST_TEXT = 20_000

_TOKEN = re.compile(r"\n|[a-z]+:|[a-z]+ [0-9]{1,3}(?![0-9a-z])|[a-z]+(?:'[a-z]+)?|[0-9]+|\S", re.ASCII)
_GLUED = frozenset(".,:;!?%)")


class Vocabulary:
    """Tokens by number. ``words`` are known words, labels (``goal:``), names with numbers (``mug 2``) and pieces of words
    (``#ing``), in small letters.
    """

    def __init__(self, words: Iterable[str]) -> None:
        letters = (f"{PIECE}{letter}" for letter in LETTERS)
        self.tokens: tuple[str, ...] = tuple(dict.fromkeys((*SPECIAL, *MARKS, *letters, *words)))
        self._ids = {token: id for id, token in enumerate(self.tokens)}
        self._longest = max(len(token) for token in self.tokens if token.startswith(PIECE)) - len(PIECE)
        self.user, self.reply, self.end, self.system, self.spell, self.unknown = (self._ids[name] for name in SPECIAL)

    def __len__(self) -> int:
        return len(self.tokens)

    def id(self, token: str) -> int:
        """The number of a known token."""
        return self._ids[token]

    def encode(self, text: str, spelt: Container[str] = ()) -> list[int]:
        """The tokens of ``text``, of which at most ``LONGEST_TEXT`` characters are read. The words ``spelt`` are taken for
        unknown.
        """
        found: list[int] = []
        for token in _TOKEN.findall(text[:LONGEST_TEXT].lower()):
            if token in spelt:
                self._spell(token, found)
            else:
                self._add(token, found)
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """The canonical text of tokens; special ones have none."""
        parts: list[str] = []
        bare = True  # at the beginning of a line
        for id in ids:
            token = self.tokens[id]
            if token == SPELL:
                parts.append("" if bare else " ")
                bare = False
            elif token in SPECIAL:
                continue
            elif token == "\n":
                parts.append(token)
                bare = True
            elif token.startswith(PIECE):
                parts.append(token.removeprefix(PIECE))
                bare = False
            else:
                word = token.capitalize() if bare and token.endswith(":") else token
                parts.append(word if bare or token in _GLUED else f" {word}")
                bare = False
        return "".join(parts)

    def _add(self, piece: str, found: list[int]) -> None:
        known = self._ids.get(piece)
        if known is not None:
            found.append(known)
        elif len(piece) > 1 and piece[-1] == ":":
            self._add(piece[:-1], found)
            found.append(self._ids[":"])
        elif " " in piece:
            for part in piece.split(" "):
                self._add(part, found)
        elif piece.isascii() and piece[0].isalnum():
            self._spell(piece, found)
        else:
            found.append(self.unknown)

    def _spell(self, word: str, found: list[int]) -> None:
        found.append(self.spell)
        rest = word[:40]
        while rest:
            lengths = range(min(len(rest), self._longest), 0, -1)
            length = next(length for length in lengths if f"{PIECE}{rest[:length]}" in self._ids)
            found.append(self._ids[f"{PIECE}{rest[:length]}"])
            rest = rest[length:]
