"""The user's trust in a folder's ``housequest.toml``, which may have come with a cloned repository.

Harmless settings always count. Settings that could send data to a server or open the user's files take effect only after the
user has trusted the file: by its path, its content, and its effects. Changed content, a link to another place, or a key that
would now be sent are asked about again.
"""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple, cast

from housequest.agent.models.registry import models_of, parse_model
from housequest.worlds.errors import ConfigurationError, KnowledgeError, shown, unquoted
from housequest.worlds.options import Scalar
from housequest.worlds.paths import atomic_write, open_file, state_folder
from housequest.worlds.registry import Group, plugins, ships

LARGEST_ENTRY = 1 << 20
MOST_DEMANDS = 50
"""Nobody would read more before trusting them."""

_WORD = re.compile(r"[\w+-]{1,100}", re.ASCII)
_WORDS = re.compile(r"[\w+:=-]{1,100}", re.ASCII)
"""Words such as ``human:seed=3``."""

Judge = Callable[[Path, Scalar], str | None]
"""Describes the effect of a value in a folder's file; None if it is harmless."""

_OVERRIDES = {"agents": "set", "worlds": "world_option"}
"""The setting that overrides a value of each table."""
_CHOICES = {"agents": "agent", "worlds": "world"}
"""The setting that chooses the part of each table that counts."""


class Demand(NamedTuple):
    """A setting that needs the user's trust: its place, such as ``("agents", "lota", "examples")``, and its effect."""

    place: tuple[str, ...]
    value: Scalar
    effect: str

    def __str__(self) -> str:
        return f"{'.'.join(unquoted(part) for part in self.place)} = {shown(self.value, 400)}: {self.effect}"

    @property
    def flag(self) -> str:
        key = self.place[0]
        return f"--{_OVERRIDES[key].replace('_', '-')} {self.place[-1]}=..." if key in _OVERRIDES else f"--{key}"


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A folder's configuration file with its demands for trust. Raises ``ConfigurationError`` for too many."""

    path: Path
    sha256: str
    demands: tuple[Demand, ...]

    def __post_init__(self) -> None:
        if len(self.demands) > MOST_DEMANDS:
            raise ConfigurationError(
                f"{self.path} names {len(self.demands)} models, files or servers; a file that others may trust names at most "
                f"{MOST_DEMANDS}. Take some out, or give them as flags."
            )

    @property
    def story(self) -> str:
        return "\n".join(f"  {demand}" for demand in self.demands)

    @property
    def way_out(self) -> str:
        return f"If not, give your own choice: {', '.join(dict.fromkeys(demand.flag for demand in self.demands))}"


class Untrusted(ConfigurationError):
    """A folder's configuration has effects that the user has not trusted."""

    def __init__(self, file: FolderFile) -> None:
        super().__init__(
            f"You have not trusted {file.path}, which may have come with its folder. It says:\n{file.story}\n"
            f"If you want that, trust it: housequest trust {quote(str(file.path.parent))}\n{file.way_out}"
        )
        self.file = file


@dataclass(frozen=True, slots=True)
class Trust:
    """Trust in the file at ``path`` with this digest, with the effects in ``allowed``."""

    path: str
    sha256: str
    allowed: tuple[str, ...]


def is_trusted(file: FolderFile) -> bool:
    """True if the user has trusted ``file`` with all its demands. Raises ``ConfigurationError`` for a damaged entry."""
    trust = _read(_entry(file.path))
    if trust is None or (trust.path, trust.sha256) != (str(file.path), file.sha256):
        return False
    return {str(demand) for demand in file.demands} <= set(trust.allowed)


def trust_file(file: FolderFile) -> None:
    """Record the user's trust in ``file`` with its present content."""
    trust = Trust(str(file.path), file.sha256, tuple(map(str, file.demands)))
    atomic_write(_entry(file.path), json.dumps(asdict(trust), indent=2).encode())


def revoke(path: Path) -> bool:
    """Revoke trust in the file at ``path``; False if it was not trusted."""
    entry = _entry(path)
    there = entry.exists()
    entry.unlink(missing_ok=True)
    return there


def trusted_files() -> list[Trust]:
    """All trusted files, by path. Raises ``ConfigurationError`` for a damaged entry."""
    found = map(_read, (state_folder() / "trusted").glob("*.json"))
    return sorted((trust for trust in found if trust is not None), key=lambda trust: trust.path)


def _entry(path: Path) -> Path:
    return state_folder() / "trusted" / f"{sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()}.json"


def _read(entry: Path) -> Trust | None:
    try:
        with open_file(entry) as file:
            value = json.loads(file.read(LARGEST_ENTRY))
        return Trust(str(value["path"]), str(value["sha256"]), tuple(map(str, value["allowed"])))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigurationError(
            f"{entry}, which records what you trust, is damaged ({error}); delete it and trust again."
        ) from None


def demands_of(folder: Path, values: Mapping[str, object], later: Sequence[Mapping[str, object]] = ()) -> Iterator[Demand]:
    """The ``values`` of ``folder``'s file, with absolute paths, that need the user's trust: those not known to be harmless,
    unless ``later`` settings override them. Values of a wrong type are refused anyway.
    """
    for key, value in values.items():
        judge = _JUDGES.get(key, _words)
        for place, each in _leaves(value, (key,), lists=key not in _JUDGES):
            known = len(place) == (3 if key in _OVERRIDES else 1) and isinstance(each, str | int | float)
            if known and not any(_overrides(other, place) for other in later):
                scalar = cast("Scalar", each)
                if (effect := judge(folder, scalar)) is not None:
                    yield Demand(place, scalar, effect)


def counts(demand: Demand, later: Sequence[Mapping[str, object]], uses: Collection[str] | None) -> bool:
    """True if ``demand`` has an effect, given the settings that the command ``uses`` and ``later`` ones that win."""
    key, *names = demand.place
    choice = _CHOICES.get(key, "")
    chosen = next((other[choice] for other in reversed(later) if choice in other), None)
    return (uses is None or key in uses) and chosen in (None, *names[:1])


def without(values: Mapping[str, object], demands: Sequence[Demand]) -> dict[str, object]:
    """``values`` without those of ``demands``."""
    kept = deepcopy(dict(values))
    for *tables, last in {demand.place for demand in demands}:
        table: Any = kept
        for name in tables:
            table = table[name]
        del table[last]
    return kept


def _leaves(value: object, place: tuple[str, ...], *, lists: bool) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, Mapping):
        for name, each in cast("Mapping[str, object]", value).items():
            yield from _leaves(each, (*place, name), lists=lists)
    elif isinstance(value, list):
        for each in cast("list[object]", value) if lists else ():
            yield from _leaves(each, place, lists=lists)
    else:
        yield place, value


def _overrides(later: Mapping[str, object], place: tuple[str, ...]) -> bool:
    key, *names = place
    if not names:
        return key in later and (key != "model" or "" in models_of(str(later[key])))
    owner, last = names
    return any(last in as_table(table) for table in (later.get(_OVERRIDES[key]), as_table(later.get(key)).get(owner)))


def as_table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _words(_folder: Path, value: Scalar) -> str | None:
    """Words and numbers are harmless; other text may mean anything to a world's split or engine."""
    return None if not isinstance(value, str) or _WORDS.fullmatch(value.strip()) else "it may name a file or a server"


def _option(_folder: Path, value: Scalar) -> str | None:
    """An option of an agent or a world: a word is harmless unless a file has that name, even if it looks like a number."""
    text = str(value).strip()
    is_word = not isinstance(value, str) or _WORD.fullmatch(text)
    return None if is_word and not os.path.lexists(text) else "it may name a file or a server"


def _model(_folder: Path, value: Scalar) -> str | None:
    found: list[str] = []
    # Each alone: later settings may replace the models of some roles only.
    for each in models_of(str(value)).values():
        with suppress(ConfigurationError):  # reported when it is used
            name = parse_model(each)
            known, where = ships("housequest.models", name.kind), name.provider.elsewhere()
            if not known or not name.provider.free or name.rest:
                found.append(where or f"this model{', on this machine' if known else ' of another package'}")
    return f"prompts go to {' and '.join(dict.fromkeys(found))}" if found else None


def _rules(folder: Path, value: Scalar) -> str | None:
    from housequest.knowledge.rulebook import is_book_name, library

    books, path = library(), Path(str(value))
    if is_book_name(str(value)):
        try:
            path = books.find(str(value))
        except KnowledgeError:
            return None
    outside = None if books.is_shipped(path) else _outside(folder, path)
    return outside and f"agents are told the rules in {outside}"


def _habits(folder: Path, value: Scalar) -> str | None:
    outside = _outside(folder, Path(str(value)))
    return outside and f"made-up houses are furnished as {outside} says"


def _outside(folder: Path, path: Path) -> str | None:
    try:
        target = Path(os.path.realpath(path))
    except ValueError:  # a name that no file has
        return None
    return None if target.is_relative_to(os.path.realpath(folder)) else shown(str(target), 400)


def _plugin(group: Group, what: str) -> Judge:
    def judge(_folder: Path, value: Scalar) -> str | None:
        name = str(value)
        return f"{what} of another installed package plays" if name in plugins(group) and not ships(group, name) else None

    return judge


_JUDGES: Mapping[str, Judge] = {
    "model": _model,
    "rules": _rules,
    "habits": _habits,
    "agent": _plugin("housequest.agents", "the agent"),
    "world": _plugin("housequest.worlds", "the world"),
    "agents": _option,
    "worlds": _option,
    "prices": lambda _folder, _value: None,
}
