"""The contract of a model provider: a kind of model, such as ``openai`` in ``openai:NAME``.

A package adds one by an entry point of the group ``housequest.models`` whose name is the kind and whose value is a subclass of
`ModelProvider`. Keep its module light: it is imported to read a model's name, long before the model is called.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import parse_qsl, quote

from agent.models.base import Model
from agent.models.openai.keys import KeyRing
from worlds.errors import ConfigurationError, shown
from worlds.options import read_options

if TYPE_CHECKING:
    from agent.models.openai.rate_limiter import Limiter

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallOptions:
    """How a model is called.

    ``timeout`` limits one attempt, in seconds; ``retries`` counts the further attempts after a failure that may pass, and
    ``wait`` multiplies the pauses between them. ``keys`` are the user's own (None: read from their configuration).
    ``attended``: one person waits for each reply, may call it off, and reads it as it comes (`Model.heard`). ``limiter`` holds
    calls back in place of the model's own.
    """

    timeout: float = 60.0
    retries: int = 6
    wait: float = 1.0
    keys: KeyRing | None = None
    attended: bool = False
    limiter: Limiter | None = None


class ModelProvider(ABC):
    """One kind of model. ``rest`` is what follows ``KIND:`` in a model's name; "" where nothing does."""

    forms: ClassVar[tuple[str, ...]]
    """How its models are named, such as ``openai:NAME``."""

    brief: ClassVar[bool] = False
    """Whether its models are no chat models, but read the short prompts of ``agent.roles.brief``."""

    images: ClassVar[bool] = False
    """Whether its models may take images; which of them do is asked of each (`Model.capabilities`)."""

    free: ClassVar[bool] = False
    """Whether calls cost nothing where no prices are configured, so that a budget of money can count them."""

    def parse(self, rest: str) -> str:
        """``rest`` in the one form that it is always written in. Opens nothing. Raises ``ConfigurationError``."""
        return rest

    @abstractmethod
    def make(self, rest: str, *, name: str, options: CallOptions) -> Model:
        """The model, called ``name``; nothing is called yet. Raises ``ConfigurationError``."""

    def portable(self, rest: str) -> str:
        """``rest`` without host and folder, which are a machine's own: what a run's record says."""
        return rest

    def digest(self, rest: str) -> str | None:
        """What tells the model's file from another; None where it has none. Raises ``ConfigurationError``."""
        del rest
        return None

    def elsewhere(self, rest: str) -> str | None:
        """Where prompts go if that is another machine, and which key goes along, in words; None for a model that runs here.

        Raises ``ConfigurationError`` where they may not go there.
        """
        del rest
        return None

    def computes(self, rest: str) -> str | None:
        """With what of this machine it computes, in a sentence, where nobody named it and it may matter; None otherwise."""
        del rest
        return None

    @abstractmethod
    def about(self) -> str:
        """A line for the list of models: what this kind is, and what it needs that is there or missing on this machine."""


def file_name(rest: str) -> str:
    """``rest`` where it can be the name of a file. Raises ``ConfigurationError``."""
    if not rest or "\0" in rest:
        raise ConfigurationError(f"{shown(rest, 60)} is not the name of a file.")
    return rest


def split_options(rest: str, options: type[T], owner: str) -> tuple[str, T]:
    """What stands before the last ``?``, and ``options`` read from the ``KEY=VALUE&KEY=VALUE`` after it.

    A question mark that no option follows belongs to the name. Raises ``ConfigurationError``.
    """
    name, _, query = rest.rpartition("?")
    if not name or "=" not in query or "/" in query.partition("=")[0]:
        name, query = rest, ""
    given: dict[str, object] = {}
    for key, value in parse_qsl(query, keep_blank_values=True, max_num_fields=100):
        if key in given:
            raise ConfigurationError(f"{shown(key, 40)} is given twice in the model's name.")
        if not value or not value.isprintable():
            raise ConfigurationError(f"{shown(key, 40)}={shown(value, 40)} in the model's name says nothing.")
        given[key] = value
    return name, read_options(options, given, owner=owner, word="setting")


def with_options(name: str, options: Any) -> str:
    """``name`` followed by those of ``options`` that differ from their defaults."""
    parts: list[str] = []
    for field in dataclasses.fields(options):
        value: object = getattr(options, field.name)
        if value != field.default:
            text = ("on" if value else "off") if isinstance(value, bool) else str(value)
            parts.append(f"{field.name}={quote(text, safe='/~:.,-_ ')}")
    return f"{name}?{'&'.join(parts)}" if parts else name
