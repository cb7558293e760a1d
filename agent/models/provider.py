"""The contract of a model provider: a kind of model, such as ``openai`` in ``openai:NAME``.

To add one, declare an entry point in the group ``housequest.models``: its name is the kind, and its value a subclass of
`ModelProvider`. Keep the module light: it is imported just to read a model's name.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import parse_qsl, quote

from housequest.agent.models.base import Model
from housequest.agent.models.keys import KeyRing
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.options import read_options

if TYPE_CHECKING:
    from housequest.agent.models.rate_limiter import Limiter

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallOptions:
    """How a model is called.

    ``timeout`` limits one attempt, in seconds. ``retries`` is how often a call is tried again after a failure that may pass,
    and ``wait`` multiplies the pauses before that. ``keys`` are the user's API keys; None reads them from the configuration.
    ``attended``: a person waits for each reply, reads it as it comes (`Model.heard`), and may cancel it. ``limiter`` limits the
    rate of calls in place of the model's own limiter.
    """

    timeout: float = 60.0
    retries: int = 6
    wait: float = 1.0
    keys: KeyRing | None = None
    attended: bool = False
    limiter: Limiter | None = None


class ModelProvider(ABC):
    """One kind of model. ``rest`` is what follows ``KIND:`` in a model's name, and may be empty."""

    forms: ClassVar[tuple[str, ...]]
    """How its models are named, such as ``openai:NAME``."""

    brief: ClassVar[bool] = False
    """Whether its models read only the short prompts of ``housequest.agent.roles.brief``, as the built-in model does."""

    images: ClassVar[bool] = False
    """Whether some of its models may take images; `Model.capabilities` says which do."""

    free: ClassVar[bool] = False
    """Whether calls cost nothing unless prices are configured, so that a budget of money can count them."""

    def parse(self, rest: str) -> str:
        """``rest`` in its one normal form. Opens no file and no connection. Raises ``ConfigurationError``."""
        return rest

    @abstractmethod
    def make(self, rest: str, *, name: str, options: CallOptions) -> Model:
        """The model, called ``name``; nothing is called yet. Raises ``ConfigurationError``."""

    def portable(self, rest: str) -> str:
        """``rest`` without host and folder, which belong to this machine; runs record it."""
        return rest

    def digest(self, rest: str) -> str | None:
        """A digest of the model's file; None if it has no file. Raises ``ConfigurationError``."""
        del rest
        return None

    def elsewhere(self, rest: str) -> str | None:
        """Where prompts go and with which key; None for this machine. Raises ``ConfigurationError`` if they may not."""
        del rest
        return None

    def computes(self, rest: str) -> str | None:
        """What it computes with here, such as threads, in a sentence; None if that was named or does not matter."""
        del rest
        return None

    @abstractmethod
    def about(self) -> str:
        """A line for the list of models: what this kind is, and whether this machine has what it needs."""


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
