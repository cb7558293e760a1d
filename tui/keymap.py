"""What widgets get from files: their style sheets, and their keys, with ids by which a person may choose others."""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

LEAVE = "leave"  # the action by which a screen is left
_TABLES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("keys.toml").read_text("utf-8"))

PROMPTS: Mapping[str, tuple[Any, str, Mapping[str, str]]] = _TABLES["prompts"]
"""What the prompt of a live game says by what it waits for: its kind, its text, and what keys do."""
TEACHING: Mapping[str, Any] = _TABLES["teaching"]  # what who is new to a screen is told there
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
    """Gives each widget the style sheet beside its module, if it is about it, and the ``keys`` of a table in ``keys.toml``."""

    BINDINGS: ClassVar[list[BindingType]]
    KEYS: ClassVar[tuple[Binding, ...]] = ()
    """Its keys, where they are from the file."""
    EXPLAINED: ClassVar[bool] = False
    """Whether each of them also runs ``explain``, where it does nothing else."""
    GROUP: ClassVar[str] = ""
    """The group of the palette that its keys belong to, if it is not the screen's."""
    GROUPS: ClassVar[Mapping[str, str]] = {}
    """Other groups, each with the actions of its keys."""

    def __init_subclass__(cls, keys: str = "", **how: Any) -> None:
        styles = _styles(cls.__module__)
        found: dict[str, Any] = {"DEFAULT_CSS": styles} if re.search(rf"^{cls.__name__}\b", styles, re.MULTILINE) else {}
        if keys:
            named = named_keys(keys)
            bound = with_explanations(named) if cls.EXPLAINED else list(named)
            groups = {**PALETTE_GROUPS.get(keys, {}), **cls.GROUPS}
            found |= {"BINDINGS": bound, "KEYS": named, "GROUP": _TABLES["group"].get(keys, ""), "GROUPS": groups}
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


def action_name(action: str) -> str:
    return action.partition("(")[0]


def with_explanations(keys: Sequence[Binding]) -> list[Binding]:
    """``keys``, each followed by a binding to ``explain``, which runs where the key itself does nothing."""
    return [
        binding
        for key in keys
        for binding in (key, replace(key, action=f"explain('{action_name(key.action)}')", description="", show=False))
    ]


def unmet_need(screen: str, action: str, facts: Callable[[], Mapping[str, object]], agent: str) -> str | None:
    """What is said of the first need of ``action`` that is not among the ``facts``; None where there is none."""
    needs = [(need, why) for need, actions, why in _TABLES[f"{screen}_needs"] if action in actions.split()]
    return next((why.format(agent) for need, why in needs if not facts()[need]), None)


def name_of(key: Binding, screen: Any) -> str:
    """What ``key`` is called on ``screen`` now; the one that leaves it says so where the program ends with it."""
    ends: Callable[[Any], bool] | None = getattr(screen.app, "ends_with", None)
    return "Quit" if key.action == LEAVE and screen.leads_out and ends is not None and ends(screen) else key.description


def action_anywhere(key: Binding) -> str:
    """The action of ``key``, a screen's or the app's, as any widget names it."""
    return key.action if key.action.startswith("app.") else f"screen.{key.action}"


(PALETTE_KEY,) = keys_of("palette")
