"""Models by name, ``KIND:REST``, and the contract of the provider of a kind.

A role may have its own model: ``NAME,ROLE=NAME``. To add a kind, such as ``openai`` in ``openai:NAME``, declare an entry point
in the group ``housequest.models`` with the kind as its name and a subclass of `ModelProvider` as its value. Keep that module
light: it is imported just to parse a model's name.
"""

from __future__ import annotations

import dataclasses
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import parse_qsl, quote

from housequest.agent.models.base import Model, RoleModels, Watch
from housequest.agent.models.keys import KeyRing
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.options import read_options
from housequest.worlds.registry import load_plugin, outs, plugins

if TYPE_CHECKING:
    from housequest.agent.models.rate_limiter import Limiter

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallOptions:
    """Options for calling a model.

    Args:
        timeout: The limit of one attempt, in seconds.
        retries: The number of retries after a temporary failure.
        wait: Multiplies the pauses between retries.
        keys: The user's API keys; None reads the configuration.
        watch: Gets each reply while it comes, for a person who waits and may cancel.
        limiter: Replaces the model's own rate limiter.
    """

    timeout: float = 60.0
    retries: int = 6
    wait: float = 1.0
    keys: KeyRing | None = None
    watch: Watch | None = None
    limiter: Limiter | None = None


class ModelProvider(ABC):
    """A model's parsed name, from which the model is made; a kind of model is a subclass. Nothing is opened yet.

    Args:
        rest: What follows ``KIND:`` in the name, which may be empty; as an attribute, in its usual form.

    Raises:
        ConfigurationError: It names nothing that can exist.
    """

    forms: ClassVar[tuple[str, ...]]
    """Forms of names, such as ``openai:NAME``."""

    brief: ClassVar[bool] = False
    """True if its models read only the short prompts of ``housequest.agent.roles.brief``."""

    images: ClassVar[bool] = False
    """True if some of its models may accept images; see `Model.capabilities`."""

    free: ClassVar[bool] = False
    """True if calls cost nothing unless prices are configured, so that a budget in money can count them."""

    def __init__(self, rest: str) -> None:
        self.rest = rest

    @abstractmethod
    def make(self, *, name: str, options: CallOptions) -> Model:
        """Make the model without calling it.

        Args:
            name: The whole name, for messages and records.
            options: Time limits, retries and keys.

        Returns:
            The model.

        Raises:
            ConfigurationError: A file or a key is missing.
        """

    def portable(self) -> str:
        """Return ``rest`` without host and folder, as recorded in runs.

        Returns:
            The part of the name that means the same on another machine.
        """
        return self.rest

    def digest(self) -> str | None:
        """Identify the model's file.

        Returns:
            A digest; None if it has no file.

        Raises:
            ConfigurationError: The file cannot be read.
        """
        return None

    def learned_from(self) -> tuple[str, ...]:
        """Tell the splits that the model was trained on, so that no figure is measured on them unsaid.

        Returns:
            The splits as far as known, with seeds of made-up houses (`housequest.worlds.tasks.read_split`).
        """
        return ()

    def elsewhere(self) -> str | None:
        """Describe the server and the key that get the prompts.

        Returns:
            A phrase for people; None if prompts stay on this machine.

        Raises:
            ConfigurationError: The address or the key's name cannot be read.
        """
        return None

    def computes(self) -> str | None:
        """Tell about the threads that it uses here.

        Returns:
            A sentence; None if the user chose them or they do not matter.
        """
        return None

    @classmethod
    @abstractmethod
    def about(cls) -> str:
        """Describe the kind for the list of models.

        Returns:
            A line: what it is, and if this machine has what it needs.
        """


def file_name(rest: str) -> str:
    """Return ``rest`` if it can be the name of a file. Raises ``ConfigurationError``."""
    if not rest or "\0" in rest:
        raise ConfigurationError(f"{shown(rest, 60)} is not the name of a file.")
    return rest


def split_options(rest: str, options: type[T], owner: str) -> tuple[str, T]:
    """Split ``rest`` into a name and the ``options`` after its last ``?``, as ``KEY=VALUE&KEY=VALUE``.

    A question mark without options after it belongs to the name. Raises ``ConfigurationError``.
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
    """``name`` followed by the ``options`` that differ from their defaults."""
    parts: list[str] = []
    for field in dataclasses.fields(options):
        value: object = getattr(options, field.name)
        if value != field.default:
            text = ("on" if value else "off") if isinstance(value, bool) else str(value)
            parts.append(f"{field.name}={quote(text, safe='/~:.,-_ ')}")
    return f"{name}?{'&'.join(parts)}" if parts else name


DEFAULT_MODEL = "builtin"
EXAMPLE = "openai:NAME@http://localhost:8000/v1"
_ROLE = re.compile(r"([A-Za-z][\w-]*)=")
_BETWEEN = re.compile(r",\s*(?=[A-Za-z][\w-]*=)")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed and normalised model name."""

    kind: str
    rest: str
    provider: ModelProvider = dataclasses.field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.kind}:{self.rest}" if self.rest else self.kind


def providers() -> dict[str, type[ModelProvider]]:
    """All installed providers by kind, shipped ones first."""
    return {kind: provider(kind) for kind in plugins("housequest.models")}


def provider(kind: str) -> type[ModelProvider]:
    """Load the providers of ``kind``. Raises ``ConfigurationError`` if none is installed, or it cannot be used."""
    found = load_plugin("housequest.models", kind, "kind of model")
    if not (isinstance(found, type) and issubclass(found, ModelProvider)):
        what = f"The entry point of the model kind {shown(kind)}"
        raise ConfigurationError(f"{what} is not a subclass of ModelProvider; correct its package, or uninstall it.")
    return found


def model_forms() -> str:
    """List the forms of model names, for messages."""
    *most, last = [form for kind in plugins("housequest.models") for form in _forms(kind)]
    return f"{', '.join(most)} or {last}" if most else last


def _forms(kind: str) -> tuple[str, ...]:
    try:
        return provider(kind).forms
    except ConfigurationError:
        return (f"{kind}:...",)


def models_of(*names: str) -> dict[str, str]:
    """Parse ``names`` such as ``NAME,ROLE=NAME`` into models by role; "" stands for all other roles and comes first.

    Raises ``ConfigurationError`` if a role has two models.
    """
    found: dict[str, str] = {}
    for part in (part.strip() for name in names for part in _BETWEEN.split(name)):
        role = match[1] if (match := _ROLE.match(part)) else ""
        if role in found:
            raise ConfigurationError(f"Two models are named for {f'the role {role}' if role else 'all roles'}; name one.")
        found[role] = part.removeprefix(f"{role}=")
    return dict(sorted(found.items()))


def named_models(models: Mapping[str, str]) -> str:
    """Write ``models`` as `models_of` reads them."""
    return ",".join(f"{role}={name}" if role else name for role, name in sorted(models.items()))


def beside(before: object, name: object) -> object:
    """``name``; if it names models for some roles only, the other roles keep those named ``before``."""
    if isinstance(before, str) and isinstance(name, str) and "" not in (models := models_of(name)):
        return named_models(models_of(before) | models)
    return name


def parse_models(name: str) -> dict[str, ModelName]:
    """Parse the models of all roles. Raises ``ConfigurationError``."""
    found = {role: _parsed(each) for role, each in models_of(name).items()}
    if "" not in found:
        raise ConfigurationError(f"A model is named for {' and '.join(found)} alone; name one for the other roles, too.")
    if len(found) > 1 and (brief := next((each for each in found.values() if each.provider.brief), None)):
        raise ConfigurationError(f"The model {brief} reads short prompts of its own, so it plays all roles or none.")
    return found


def parse_model(name: str) -> ModelName:
    """Parse one model's name without opening anything. Raises ``ConfigurationError``, which never contains an address."""
    if len(models := parse_models(name)) > 1:
        raise ConfigurationError(f"Only one model can be used here, but {len(models)} are named; name one without roles.")
    return models[""]


def _parsed(name: str) -> ModelName:
    kind, colon, rest = name.partition(":")
    kind, rest, known = kind.strip(), rest.strip(), plugins("housequest.models")
    if kind not in (*known, *outs("housequest.models")):
        # A name without a kind is usually the name at an endpoint.
        suggestion = nearest(kind, tuple(known)) or ("" if colon else f" Did you mean {shown(f'openai:{kind}', 60)}?")
        raise ConfigurationError(f"There is no kind of model {shown(kind, 40)}.{suggestion} Name a model as {model_forms()}.")
    found = provider(kind)
    if not rest and (colon or kind not in found.forms):
        raise ConfigurationError(f"{kind}{colon} names nothing. Name a model as {model_forms()}.")
    try:
        made = found(rest)
        return ModelName(kind, made.rest, made)
    except ConfigurationError as error:
        raise ConfigurationError(f"{error} Name a model as {' or '.join(found.forms)}.") from None


def make_model(
    name: str,
    *,
    keys: KeyRing | None = None,
    timeout: float = 60.0,
    retries: int = 6,
    wait: float = 1.0,
    watch: Watch | None = None,
    limiter: Limiter | None = None,
) -> Model:
    """Make a model by name, or one with others for some roles.

    Args:
        name: ``KIND:REST``, such as ``openai:NAME@ADDRESS``; with roles ``NAME,ROLE=NAME``.
        keys: The user's API keys; None reads the configuration.
        timeout: The limit of one attempt, in seconds.
        retries: The number of retries after a temporary failure.
        wait: Multiplies the pauses between retries.
        watch: Gets each reply while it comes.
        limiter: Replaces the model's own rate limiter.

    Returns:
        The model; nothing is called yet.

    Raises:
        ConfigurationError: The name, a file, a key or a number is wrong.
    """
    models = parse_models(name)
    if not (math.isfinite(timeout) and timeout > 0):
        raise ConfigurationError(f"A time limit of {timeout} seconds is not possible; give a number above 0.")
    if retries < 0 or not (math.isfinite(wait) and wait >= 0):
        raise ConfigurationError(f"{retries} retries with pauses multiplied by {wait} are not possible; give 0 or more.")
    options = CallOptions(timeout, retries, wait, keys, watch, limiter)
    made = {each: each.provider.make(name=str(each), options=options) for each in dict.fromkeys(models.values())}
    others = {role: made[each] for role, each in models.items() if each != models[""]}
    return RoleModels(made[models[""]], others) if others else made[models[""]]


def destination(name: str) -> str | None:
    """Describe the servers and keys that get the prompts; None if the model runs here. Raises ``ConfigurationError``."""
    found = ((role, each.provider.elsewhere()) for role, each in parse_models(name).items())
    return " and ".join(f"{where}{f' (those of the {role})' if role else ''}" for role, where in found if where) or None


def computes(name: str) -> str | None:
    """A sentence about the threads that the model uses here; None if not needed. Raises ``ConfigurationError``."""
    return " ".join(filter(None, (each.provider.computes() for each in parse_models(name).values()))) or None


def portable_name(name: str) -> str:
    """A model's name without host and folder, but with all that affects its replies. Raises ``ConfigurationError``."""
    parsed = parse_models(name).items()
    return named_models({role: str(replace(each, rest=each.provider.portable())) for role, each in parsed})


def file_digest(name: str) -> str | None:
    """A digest of the models' files; None if there are no files. Raises ``ConfigurationError``."""
    found = [digest for each in parse_models(name).values() if (digest := each.provider.digest())]
    return sha256("".join(found).encode()).hexdigest() if len(found) > 1 else next(iter(found), None)


def reads_brief_prompts(name: str) -> bool:
    """True if the model reads only short prompts of its own; False if its provider is not installed."""
    return (found := _installed(name)) is not None and found.brief


def is_free(name: str) -> bool:
    """True if the model's calls are free unless prices are configured; False if its provider is not installed."""
    return (found := _installed(name)) is not None and found.free


def _installed(name: str) -> type[ModelProvider] | None:
    kind = name.partition(":")[0].strip()
    return provider(kind) if kind in plugins("housequest.models") else None
