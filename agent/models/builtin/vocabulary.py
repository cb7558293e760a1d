"""The tokenizer of the built-in model: words, objects with their numbers, and letters for everything else.

A name such as ``mug 2`` is one token, because a small model confuses names made of two. Text is lowercased, and unknown words
are spelt. Decoded text is canonical: one space between words, none before a full stop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

USER, REPLY, END, SYSTEM, SPELL, UNKNOWN = "<user>", "<reply>", "<end>", "<system>", "<spell>", "<unknown>"
SPECIAL = (USER, REPLY, END, SYSTEM, SPELL, UNKNOWN)
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789'"
MARKS = '\n.,:;!?-/()"%&'
LONGEST_TEXT = 20_000

_PIECE = re.compile(r"\n|[a-z]+:|[a-z]+ [0-9]{1,3}(?![0-9a-z])|[a-z]+(?:'[a-z]+)?|[0-9]+|\S", re.ASCII)
_GLUED = frozenset(".,:;!?%)")


class Vocabulary:
    """Tokens by number. ``words`` are known words, labels (``goal:``) and names with numbers (``mug 2``), in small letters."""

    def __init__(self, words: Iterable[str]) -> None:
        letters = (f"#{letter}" for letter in LETTERS)
        self.tokens: tuple[str, ...] = tuple(dict.fromkeys((*SPECIAL, *MARKS, *letters, *words)))
        self._ids = {token: id for id, token in enumerate(self.tokens)}
        self.user, self.reply, self.end, self.system, self.spell, self.unknown = (self._ids[name] for name in SPECIAL)

    def __len__(self) -> int:
        return len(self.tokens)

    def id(self, token: str) -> int:
        """The number of a known token."""
        return self._ids[token]

    def encode(self, text: str) -> list[int]:
        """The tokens of ``text``, of which at most ``LONGEST_TEXT`` characters are read."""
        found: list[int] = []
        for piece in _PIECE.findall(text[:LONGEST_TEXT].lower()):
            self._add(piece, found)
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
            elif len(token) == 2 and token[0] == "#":
                parts.append(token[1])
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
            found.append(self.spell)
            found.extend(self._ids[f"#{letter}"] for letter in piece[:40])
        else:
            found.append(self.unknown)
