"""Models by name, ``KIND:REST``, each made by the provider of its kind. Providers are plugins of ``housequest.models``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from housequest.agent.models.base import Model
from housequest.agent.models.keys import KeyRing
from housequest.agent.models.provider import CallOptions, ModelProvider
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.registry import load_plugin, plugins

if TYPE_CHECKING:
    from housequest.agent.models.rate_limiter import Limiter

DEFAULT_MODEL = "builtin"
EXAMPLE = "openai:NAME@http://localhost:8000/v1"


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name in the one form that it is always written in."""

    kind: str
    rest: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.rest}" if self.rest else self.kind

    @property
    def provider(self) -> ModelProvider:
        """The provider of its kind."""
        return provider(self.kind)


def providers() -> dict[str, ModelProvider]:
    """All installed providers by their kind, those that ship first."""
    return {kind: provider(kind) for kind in plugins("housequest.models")}


def provider(kind: str) -> ModelProvider:
    """The provider of ``kind``. Raises ``ConfigurationError`` if none is installed, or it cannot be used."""
    found = load_plugin("housequest.models", kind, "kind of model")
    if not (isinstance(found, type) and issubclass(found, ModelProvider)):
        what = f"The entry point of the model kind {shown(kind)}"
        raise ConfigurationError(f"{what} is not a subclass of ModelProvider; correct its package, or uninstall it.")
    return found()


def model_forms() -> str:
    """How models are named, in words."""
    *most, last = [form for kind in plugins("housequest.models") for form in _forms(kind)]
    return f"{', '.join(most)} or {last}" if most else last


def _forms(kind: str) -> tuple[str, ...]:
    try:
        return provider(kind).forms
    except ConfigurationError:
        return (f"{kind}:...",)


def parse_model(name: str) -> ModelName:
    """Read a model's name without opening anything. Raises ``ConfigurationError``, never repeating an address."""
    kind, colon, rest = name.partition(":")
    kind, rest, known = kind.strip(), rest.strip(), plugins("housequest.models")
    if kind not in known:
        # A name without a kind is most often one that an endpoint has.
        suggestion = nearest(kind, tuple(known)) or ("" if colon else f" Did you mean {shown(f'openai:{kind}', 60)}?")
        raise ConfigurationError(f"There is no kind of model {shown(kind, 40)}.{suggestion} Name a model as {model_forms()}.")
    found = provider(kind)
    if not rest and (colon or kind not in found.forms):
        raise ConfigurationError(f"{kind}{colon} names nothing. Name a model as {model_forms()}.")
    try:
        return ModelName(kind, found.parse(rest))
    except ConfigurationError as error:
        raise ConfigurationError(f"{error} Name a model as {' or '.join(found.forms)}.") from None


def make_model(
    name: str,
    *,
    keys: KeyRing | None = None,
    timeout: float = 60.0,
    retries: int = 6,
    wait: float = 1.0,
    attended: bool = False,
    limiter: Limiter | None = None,
) -> Model:
    """Make the model ``name``, which is called as `CallOptions` say. Raises ``ConfigurationError``."""
    parsed = parse_model(name)
    if not (math.isfinite(timeout) and timeout > 0):
        raise ConfigurationError(f"A time limit of {timeout} seconds allows no call; give a number above 0.")
    if retries < 0 or not (math.isfinite(wait) and wait >= 0):
        raise ConfigurationError(f"{retries} retries and pauses multiplied by {wait} cannot be; give 0 or more.")
    options = CallOptions(timeout, retries, wait, keys, attended, limiter)
    return parsed.provider.make(parsed.rest, name=str(parsed), options=options)


def destination(name: str) -> str | None:
    """Where the model's prompts go and with which key, in words; None for one that runs here. Raises ``ConfigurationError``."""
    parsed = parse_model(name)
    return parsed.provider.elsewhere(parsed.rest)


def computes(name: str) -> str | None:
    """With what of this machine the model computes, in a sentence, if that is to be said. Raises ``ConfigurationError``."""
    parsed = parse_model(name)
    return parsed.provider.computes(parsed.rest)


def portable_name(name: str) -> str:
    """A model's name without host and folder, with all that its replies depend on. Raises ``ConfigurationError``."""
    parsed = parse_model(name)
    return str(ModelName(parsed.kind, parsed.provider.portable(parsed.rest)))


def file_digest(name: str) -> str | None:
    """What tells a model's file from another; None of a model without a file. Raises ``ConfigurationError``."""
    parsed = parse_model(name)
    return parsed.provider.digest(parsed.rest)


def reads_brief_prompts(name: str) -> bool:
    """Whether the model reads short prompts of its own and no templates; False where its provider is not installed."""
    kind = name.partition(":")[0].strip()
    return kind in plugins("housequest.models") and provider(kind).brief


def is_free(name: str) -> bool:
    """Whether the model's calls cost nothing where no prices are configured; False where its provider is not installed."""
    kind = name.partition(":")[0].strip()
    return kind in plugins("housequest.models") and provider(kind).free
