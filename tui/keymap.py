"""The ids of keys, by which a person may choose others, and those that were chosen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from textual.binding import Binding

LEAVE = "leave"
"""The action by which a screen is left."""

APP = "app"
"""The group of the palette that comes last."""
_EPISODE = {
    "house": "view true_state house",
    "panes": "fold pane next_pane large widen",
    "rules": "teach",
    APP: "leave",
}
_GROUPS: dict[str, dict[str, str]] = {
    "play": {
        "agent": "step auto skill pace accept edit other take_over hint model",
        "turns": "escape back forward branch branches",
        "commands": "line commands command interact choose",
        "games": "retry replay next race end_guide",
        **_EPISODE,
    },
    "race": {"commands": "line commands command", "agent": "lockstep pace", "games": "retry replay", **_EPISODE},
    "replay": {"turns": "play pace move go jump skill why branch branches read", **_EPISODE},
    "home": {
        "games": "start search leave type random place move side runs",
        "agent": "agent edit grants mode",
        "rules": "rules",
        APP: "quit",
    },
    "desk": {"list": "words narrow leave_words clear_words reload look", APP: "leave"},
    "runs": {"rules": "rules", APP: "leave"},
}
"""The actions of each folder's screens by the group in which the palette lists them; others are in their screen's group."""
_ITSELF = {"desk": "rules", "home": "games"}
_WIDGETS = {f"{__package__}.play.line": "commands", f"{__package__}.episode.story": "panes"}


def group_of(action: str, node: Any, screen: Any) -> str:
    """The group of the palette for the ``action``, without parameters, of a key of ``node``, which is ``screen`` or in it."""
    if (group := _WIDGETS.get(type(node).__module__)) is not None:
        return group
    place = type(screen).__module__.removeprefix(f"{__package__}.").partition(".")[0]
    found = (group for group, actions in _GROUPS.get(place, {}).items() if action in actions.split())
    return next(found, _ITSELF.get(place, place))


def named(screen: str, keys: Sequence[Binding]) -> tuple[Binding, ...]:
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
