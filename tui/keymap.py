"""The ids of keys, by which a person may choose others, and those that were chosen."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual.binding import Binding

from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.paths import config_folder, read_file

if TYPE_CHECKING:
    from textual.binding import Binding


TABLE = "keys"
_MODIFIERS = ("ctrl", "alt", "shift", "super", "meta", "hyper")
_HEADER = re.compile(r"\s*\[\s*(?P<name>[^\[\]]+?)\s*\]")
_ENTRY = re.compile(r"\s*(?P<name>[^=#]+?)\s*=")


def all_keys() -> dict[str, tuple[Binding, ...]]:
    """The keys of the app and of every screen that can be changed; imports them all."""
    from textual.binding import Binding

    from housequest.tui.app import HousequestApp
    from housequest.tui.screens import SCREENS, screen_class

    places = {"app": HousequestApp, **{name: screen_class(name) for name in SCREENS}}
    return {name: tuple(Binding.make_bindings(each.BINDINGS)) for name, each in places.items()}


def read_keymap() -> dict[str, str]:
    """The chosen keys by id, empty where none are. Raises ``ConfigurationError`` naming file and line."""
    from housequest.agent.config import FILE_NAME

    path = config_folder() / FILE_NAME
    try:
        text = read_file(path).decode()
        table = tomllib.loads(text).get(TABLE, {})
    except (OSError, ValueError):  # there is none; or reading the settings has said what is wrong with it
        return {}
    if not isinstance(table, dict):
        raise ConfigurationError(
            f'{path}:{_line_of(text, "")}: {TABLE} is a table: [keys], then lines such as play.step = "s".'
        )
    chosen = dict(_flat(cast("Mapping[str, object]", table)))
    if chosen:
        _check(chosen, path, text)
    return {name: str(key) for name, key in chosen.items()}


def _flat(table: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """The entries of a table and of the tables in it: ``[keys.play]`` and ``play.step`` mean the same."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(cast("Mapping[str, object]", value), f"{before}{name}.")
        else:
            yield before + name, value


def _check(chosen: Mapping[str, object], path: Path, text: str) -> None:
    places = all_keys()
    known = {key.id for keys in places.values() for key in keys if key.id}
    for name, key in chosen.items():
        where = f"{path}:{_line_of(text, name)}: {name}"
        if name not in known:
            raise ConfigurationError(
                f"{where}: there is no such key.{nearest(name, sorted(known))} docs/reference/keys.md lists them all."
            )
        if not isinstance(key, str) or not all(map(_is_key, key.split(","))):
            raise ConfigurationError(f"{where}: {shown(str(key))} is not a key; give one such as s, ?, f5, ctrl+s or shift+up.")
    for keys in places.values():
        holders: dict[str, Binding] = {}
        # A key of the app counts on every screen.
        for binding in dict.fromkeys((*keys, *places["app"])):
            for one in _normal(str(chosen.get(binding.id or "", binding.key))):
                other = holders.setdefault(one, binding)
                clash = [each.id for each in (other, binding) if each.id and each.id in chosen]
                if other.action != binding.action and not _explains(other, binding) and clash:
                    name = min(clash)
                    rival = binding if other.id == name else other
                    raise ConfigurationError(
                        f"{path}:{_line_of(text, name)}: {name}: the key {shown(one)} is taken by {rival.id or rival.action}; "
                        "give another key, or change that one too."
                    )


def _explains(one: Binding, other: Binding) -> bool:
    """Whether one of two keys only says why the other does nothing now."""
    return any(each.action.startswith("explain(") for each in (one, other))


def _normal(keys: str) -> list[str]:
    from textual.keys import _character_to_key  # pyright: ignore[reportPrivateUsage]

    parts = [part.strip() for part in keys.split(",")] if keys != "," else [","]
    return [_character_to_key(part) if len(part) == 1 else part for part in parts]


def _is_key(text: str) -> bool:
    from textual.keys import Keys

    *modifiers, key = text.strip().split("+") if text.strip() != "+" else ["+"]
    named_key = key in {each.value for each in Keys} or re.fullmatch("[a-z]+(_[a-z]+)+|f[0-9]{1,2}", key) is not None
    return all(each in _MODIFIERS for each in modifiers) and (len(key) == 1 or named_key)


def _line_of(text: str, name: str) -> int:
    """The number of the line that sets ``name``; 1 where it stands in a form that is not read here."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _bare(header["name"])
        elif (entry := _ENTRY.match(line)) and f"{table}.{_bare(entry['name'])}" == f"{TABLE}.{name}":
            return number
    return 1


def _bare(name: str) -> str:
    """A name without the quotes in which TOML may have it, whole or part by part."""
    return ".".join(part.strip().strip("\"'") for part in name.strip().strip("\"'").split("."))


LEAVE = "leave"
"""The action by which a screen is left."""
PALETTE_KEY = Binding("slash", "app.command_palette", "Palette", key_display="/")
LAST_KEYS = (PALETTE_KEY, Binding("q", LEAVE, "Back"), Binding("escape", LEAVE, "Back", show=False))
"""The keys that most screens have last."""

APP = "app"
"""The group of the palette that comes last."""
EPISODE_GROUPS = {
    "house": "view true_state house",
    "panes": "fold pane next_pane large widen",
    "rules": "teach",
    APP: "leave",
}
"""The groups of keys that screens with an episode share, each with its actions."""


def group_of(action: str, node: Any, screen: Any) -> str:
    """The group of the palette for the ``action``, without parameters, of a key of ``node``, which is ``screen`` or in it."""
    if node is not screen and (group := getattr(node, "GROUP", "")):
        return group
    groups: Mapping[str, str] = getattr(screen, "GROUPS", {})
    return next((group for group, actions in groups.items() if action in actions.split()), getattr(screen, "GROUP", ""))


def named(screen: str, *keys: Binding) -> tuple[Binding, ...]:
    """``keys`` with ids such as ``play.take-over``, from their descriptions; the second of two that are alike gets none."""
    seen = Counter[str]()
    found: list[Binding] = []
    for key in keys:
        words = "-".join(re.findall("[a-z0-9]+", key.description.lower()))
        seen[words] += 1
        found.append(replace(key, id=f"{screen}.{words}") if words and seen[words] == 1 else key)
    return tuple(found)


def name_of(key: Binding, screen: Any) -> str:
    """What ``key`` is called on ``screen`` now; the one that leaves it says so where the program ends with it."""
    ends: Callable[[Any], bool] | None = getattr(screen.app, "ends_with", None)
    return "Quit" if key.action == LEAVE and screen.leads_out and ends is not None and ends(screen) else key.description


def chosen_keys(app: Any) -> Mapping[str, str]:
    """The keys that the person of ``app`` chose, by id."""
    return cast("Mapping[str, str]", getattr(app, "chosen_keys", {}))
