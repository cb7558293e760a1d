"""Helpers for texts and tokens that several kinds of model share."""

from __future__ import annotations

from collections.abc import Sequence


def printable_line(text: str, limit: int) -> str:
    """``text`` on one line, without control or direction characters, cut to ``limit`` characters."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text[: limit * 4]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def encodable(text: str) -> str:
    """``text`` without lone surrogates, which no encoding takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def stop_at(text: str, stops: Sequence[str]) -> int | None:
    """Where the first of the texts in ``stops`` begins in ``text``; None where none does."""
    return min((at for stop in stops if stop and (at := text.find(stop)) >= 0), default=None)


def shared_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """How many elements both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
