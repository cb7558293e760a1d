"""The errors that housequest raises on purpose, each at one boundary: world, model, agent, knowledge or configuration.

Messages name the file or value and a way out; the command line prints them without a traceback.
"""

from __future__ import annotations

import sys
from typing import ClassVar, Literal

from housequest.worlds.text import cut_at_word

Boundary = Literal["world", "model", "agent", "knowledge", "configuration"]


class HousequestError(Exception):
    """An expected failure, with a message for a person.

    Args:
        message: Names the file or value, and a way out.
        recorded: The message for records, without hosts and attempts, which differ between equal runs; None for ``message``.
    """

    boundary: ClassVar[Boundary] = "world"

    def __init__(self, message: str = "", *, recorded: str | None = None) -> None:
        super().__init__(message)
        # For records, without hosts and attempts, which differ between equal runs.
        self.recorded = message if recorded is None else recorded


class WorldError(HousequestError):
    """An env could not be made or stepped."""


class GameError(WorldError):
    """A game, an archive or a folder of games cannot be used: it is damaged, too large, of another grammar, or out of reach."""


class OrderError(WorldError):
    """An env was stepped before a reset, or after the end of its episode."""


class ModelError(HousequestError):
    """A language model could not be reached, refused a call, or gave an answer that breaks its protocol.

    Args:
        message: Names the model and a way out.
        recorded: The message for records; None for ``message``.
        fatal: True if every other call would fail too, so that a run should stop: nothing answers at the address, the key or
            the model's name is refused, or the account has no credit.
        kind: Shared by failures of one sort, such as an HTTP status; None for the message for records.
        overflow: True if the prompt does not fit into the model's context.
    """

    boundary: ClassVar[Boundary] = "model"

    def __init__(
        self, message: str, *, recorded: str | None = None, fatal: bool = False, kind: str | None = None, overflow: bool = False
    ) -> None:
        super().__init__(message, recorded=recorded)
        self.fatal = fatal
        self.overflow = overflow
        self.kind = self.recorded if kind is None else kind


class KnowledgeError(HousequestError):
    """A rulebook or a table of counts cannot be read."""

    boundary: ClassVar[Boundary] = "knowledge"


class ConfigurationError(HousequestError):
    """A name, a flag, a file or a key of the configuration is wrong."""

    boundary: ClassVar[Boundary] = "configuration"


class Unsupported(ConfigurationError):
    """A world or model cannot do what is asked (copy itself, explain a refusal, score a text)."""


class TaskNotFound(ConfigurationError):
    """No task has this reference."""


def nearest(word: str, known: list[str] | tuple[str, ...]) -> str:
    """Return " Did you mean 'x'?" for the known word closest to ``word``, or an empty string."""
    import difflib

    found = difflib.get_close_matches(word[:200], known, n=1, cutoff=0.6)
    return f" Did you mean {found[0]!r}?" if found else ""


def shown(value: object, limit: int = 120) -> str:
    """Return ``repr(value)`` cut to ``limit`` characters, safe to print whatever it holds."""
    text = ascii(value) if not isinstance(value, str) else repr(value)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def unquoted(value: object, limit: int = 120) -> str:
    """Return ``value`` as `shown` does, without quotes and cut at a word."""
    text = shown(value, sys.maxsize)
    return cut_at_word(text[1:-1] if isinstance(value, str) else text, limit)
