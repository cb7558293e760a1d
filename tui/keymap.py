"""Style sheets, keys and the needs of keys, read from files; a person may choose other keys by their ids."""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

LEAVE = "leave"  # the action by which a screen is left
_TABLES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("keys.toml").read_text("utf-8"))

PROMPTS: Mapping[str, tuple[Any, str, Mapping[str, str]]] = _TABLES["prompts"]
"""The prompts of a live game by what it waits for: a kind, a text, and what keys do."""
TEACHING: Mapping[str, Any] = _TABLES["teaching"]  # for newcomers to a screen
Need = tuple[str, frozenset[str], str]
"""A fact, the actions that need it, with or without parameters, and the reason given where it does not hold."""
PALETTE_GROUPS: Mapping[str, Mapping[str, str]] = _TABLES["groups"]
"""The groups of the keys of a screen by its table, each with its actions."""
APP = "app"  # the group of the palette that comes last


def group_of(action: str, node: Any, screen: Any) -> str:
    """The group of the palette for the ``action``, without parameters, of a key of ``node``, which is ``screen`` or in it."""
    if node is not screen and (group := getattr(node, "GROUP", "")):
        return group
    groups: Mapping[str, str] = getattr(screen, "GROUPS", {})
    return next((group for group, actions in groups.items() if action in actions.split()), getattr(screen, "GROUP", ""))


class Equipped:
    """Gives a widget the style sheet beside its module, if that names it, and the ``keys`` and needs of ``keys.toml``."""

    BINDINGS: ClassVar[list[BindingType]]
    KEYS: ClassVar[tuple[Binding, ...]] = ()
    """Its keys, where they are from the file."""
    NEEDS: ClassVar[tuple[Need, ...]] = ()
    """The facts that its actions need."""
    GROUP: ClassVar[str] = ""
    """The group of the palette that its keys belong to, if it is not the screen's."""
    GROUPS: ClassVar[Mapping[str, str]] = {}
    """Other groups, each with the actions of its keys."""

    def __init_subclass__(cls, keys: str = "", **how: Any) -> None:
        styles = _styles(cls.__module__)
        found: dict[str, Any] = {"DEFAULT_CSS": styles} if re.search(rf"^{cls.__name__}\b", styles, re.MULTILINE) else {}
        if keys:
            named = named_keys(keys)
            groups = {**PALETTE_GROUPS.get(keys, {}), **cls.GROUPS}
            found |= {"BINDINGS": list(named), "KEYS": named, "GROUP": _TABLES["group"].get(keys, ""), "GROUPS": groups}
            found["NEEDS"] = tuple(_needs(keys))
        for name in found.keys() - vars(cls).keys():
            setattr(cls, name, found[name])
        super().__init_subclass__(**how)


@cache
def _styles(module: str) -> str:
    file = Path(str(getattr(sys.modules[module], "__file__", None))).with_suffix(".tcss")
    return file.read_text("utf-8") if file.exists() else ""


def named_keys(table: str) -> tuple[Binding, ...]:
    """The keys in this table of ``keys.toml``, with ids such as ``play.take-over`` from their descriptions.

    The second of two that are alike gets none.
    """
    seen = Counter[str]()
    found: list[Binding] = []
    for key in keys_of(table):
        words = "-".join(re.findall("[a-z0-9]+", key.description.lower()))
        seen[words] += 1
        found.append(replace(key, id=f"{table}.{words}") if words and seen[words] == 1 else key)
    return tuple(found)


def keys_of(table: str) -> Iterator[Binding]:
    """The keys in this table of ``keys.toml``, and in those that it names, without ids."""
    for entry in _TABLES[table]:
        if isinstance(entry, str):
            yield from keys_of(entry)
        else:
            yield Binding(**entry)


def _needs(table: str) -> Iterator[Need]:
    for row in _TABLES["needs"].get(table, ()):
        if isinstance(row, str):
            yield from _needs(row)
        else:
            need, actions, why = row
            yield need, frozenset(actions.split()), why


def unmet_need(needs: Iterable[Need], action: str, facts: Mapping[str, object]) -> str | None:
    """The reason why ``action`` does nothing while these ``facts`` hold; None where it does something.

    Args:
        needs: The needs of a screen.
        action: An action as a binding names it, such as ``step`` or ``move(1)``.
        facts: By name, whether each holds, or a function that finds out; reasons may name them. A need that is not among them
            holds.
    """
    named = {action.replace(", ", ","), action.partition("(")[0]}
    for need, actions, why in needs:
        if not named.isdisjoint(actions):
            fact = facts.get(need, True)
            if not (fact() if callable(fact) else fact):
                return why.format_map(facts)
    return None


def name_of(key: Binding, screen: Any) -> str:
    """The name of ``key`` on ``screen`` now: the one that leaves is "Quit" where the program ends with it."""
    ends: Callable[[Any], bool] | None = getattr(screen.app, "ends_with", None)
    return "Quit" if key.action == LEAVE and screen.leads_out and ends is not None and ends(screen) else key.description


def action_anywhere(key: Binding) -> str:
    """The action of ``key``, a screen's or the app's, as any widget names it."""
    return key.action if key.action.startswith("app.") else f"screen.{key.action}"


(PALETTE_KEY,) = keys_of("palette")
