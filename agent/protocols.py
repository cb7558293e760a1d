"""Named protocols: under what conditions published figures of ALFWorld were measured, as settings, with what was seen of each.

`housequest.agent.config.configure` sets all that a protocol names, and refuses a setting that contradicts it. The file
``protocols.toml`` has them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, cast

from housequest.worlds.errors import ConfigurationError, nearest, shown

ANY = "*"
"""Every value: the protocol leaves the setting open."""
_MARKS: Mapping[object, tuple[str, Callable[[object], bool]]] = {
    ANY: ("another", lambda _: True),
    ">0": ("1 or more", lambda value: isinstance(value, int) and value > 0),
    "human:*": ("human:N or human:seed=N", lambda value: str(value).startswith("human")),
}
"""What stands for many values: in words, and whether a value is among them."""
Values = tuple[object, ...]
"""The values of a setting that a protocol allows; the first is the one that it has if none is given."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """The conditions of a measurement.

    ``settings`` are those of ``housequest.agent.config.Settings``, ``set`` all that its agents have, each with its `Values`.
    ``seen`` says what was read of it, and where; ``differs`` what is otherwise here, or was not to be seen. ``games`` is a file
    beside this one that lists its games, a line each, where it has not all of its split.
    """

    name: str
    about: str
    settings: Mapping[str, Values]
    set: Mapping[str, Values] = field(default_factory=dict[str, Values])
    seen: Sequence[str] = ()
    differs: Sequence[str] = ()
    games: str | None = None

    @property
    def splits(self) -> Sequence[object]:
        """The splits that it was measured on. Elsewhere it can be tuned; then its figures are marked, and none of its own."""
        return self.settings.get("split", ())

    def tasks(self, split: str) -> frozenset[str] | None:
        """The ids of its games in ``split``; None where it has all games of it."""
        if self.games is None or split not in self.splits:
            return None
        listed = resources.files("housequest.agent").joinpath(self.games).read_text("utf-8")
        return frozenset(f"{split}/{line}" for line in listed.split())

    def beside(
        self,
        settings: Mapping[str, Values],
        given: Mapping[str, Any],
        before: Mapping[str, Any],
        known: Collection[str],
        place: Callable[[str], str],
    ) -> dict[str, Any]:
        """Those of ``settings`` that it sets: all that are ``known`` but those ``given``, which must not contradict it.

        Where it leaves a choice, one from ``before`` it was named stays. ``place`` says where a setting was given. Raises
        ``ConfigurationError``.
        """
        for key, values in settings.items():
            # Agents are tuned on other splits than they are measured on; there the card says so.
            if key in given and key != "split" and not _allows(values, given[key]):
                allowed = " or ".join(said(each) for each in values)
                raise ConfigurationError(
                    f"{place(key)}: {said(given[key])} contradicts the protocol {self.name}, which has {key} {allowed}. "
                    "Leave one of them out."
                )
        free = {key for key, values in settings.items() if key in before and _chosen(values, before[key])}
        unset = {key: values[0] for key, values in settings.items() if key in known and key not in given and key not in free}
        return {key: value for key, value in unset.items() if value not in _MARKS}


def _read(file: Mapping[str, Any]) -> Iterator[Protocol]:
    for name, told in file["protocols"].items():
        exemplars: dict[str, Any] = file["exemplars"] if told.pop("exemplars", False) else {}
        of_agent: dict[str, Any] = {**file["shared"]["set"], **exemplars, **told.pop("set")}
        settings: dict[str, Any] = {**file["shared"]["settings"], **told.pop("settings")}
        yield Protocol(name, settings=_values(settings), set=_values(of_agent), **told)


def _values(table: Mapping[str, Any]) -> dict[str, Values]:
    def value(one: Any) -> object:
        return tuple(cast("list[object]", one)) if isinstance(one, list) else None if one == "none" else one

    return {key: tuple(map(value, values)) for key, values in table.items()}


_FILE = resources.files("housequest.agent").joinpath("protocols.toml")
PROTOCOLS = {protocol.name: protocol for protocol in _read(tomllib.loads(_FILE.read_text("utf-8")))}


def find_protocol(name: str, place: str) -> Protocol:
    """The protocol called ``name``, which was given at ``place``. Raises ``ConfigurationError``."""
    if name not in PROTOCOLS:
        hint = nearest(name, tuple(PROTOCOLS)) or f" Known: {', '.join(PROTOCOLS)}."
        raise ConfigurationError(f"{place}: there is no protocol {shown(name)}.{hint}")
    return PROTOCOLS[name]


def _chosen(values: Values, value: object) -> bool:
    return any(each in _MARKS and _MARKS[each][1](value) for each in values)


def _allows(values: Values, value: object) -> bool:
    return _chosen(values, value) or _plain(value) in map(_plain, values)


def _plain(value: object) -> object:
    return frozenset(cast("tuple[object, ...]", value)) if isinstance(value, tuple | list) else value


def said(value: object) -> str:
    """A value as it is written in a command."""
    match value:
        case None | () | "":
            return "none"
        case tuple() | list():
            return ", ".join(map(str, cast("tuple[object, ...]", value)))
        case str() if value in _MARKS:
            return _MARKS[value][0]
        case bool():
            return "on" if value else "off"
        case _:
            return str(value)
