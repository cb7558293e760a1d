"""Named protocols: the conditions of published ALFWorld figures as settings, with their sources.

`housequest.agent.config.configure` applies a protocol's settings and refuses contradictions. The protocols are in
``protocols.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, cast

from housequest.worlds.errors import ConfigurationError, nearest, shown

ANY = "*"
"""Stands for every value: the protocol leaves the setting open."""
_MARKS: Mapping[object, tuple[str, Callable[[object], bool]]] = {
    ANY: ("another", lambda _: True),
    ">0": ("1 or more", lambda value: isinstance(value, int) and value > 0),
    "human:*": ("human:N or human:seed=N", lambda value: str(value).startswith("human")),
}
"""Patterns for many values, with their words and a test for a value."""
Values = tuple[object, ...]
"""The values of a setting that a protocol allows; the first is the default."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """The conditions of a measurement.

    ``settings`` are those of ``housequest.agent.config.Settings`` and ``set`` those of agents, each with its `Values`. ``seen``
    lists facts with their sources; ``differs`` lists differences and unknowns. ``games`` is a file beside this one with a game
    on each line, if the protocol does not use its whole split.
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
        """The splits that it was measured on. On other splits it can be tuned, and figures are marked as such."""
        return self.settings.get("split", ())

    def tasks(self, split: str) -> frozenset[str] | None:
        """The ids of its games in ``split``; None for all games."""
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
        """The ``settings`` that it sets: the ``known`` ones that were not ``given``.

        If it allows a pattern of values, a matching one set ``before`` the protocol stays. ``place`` describes the origin of a
        setting. Raises ``ConfigurationError`` if a given setting contradicts the protocol.
        """
        for key, values in settings.items():
            # Agents are tuned on other splits than they are measured on; the card then notes it.
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
    """Find a protocol by ``name``, which was given at ``place``. Raises ``ConfigurationError``."""
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
    """A value as written in a command."""
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
