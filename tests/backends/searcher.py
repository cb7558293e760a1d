"""A policy that says where to look for things, from what usually lies where and the places that the prompt says are left."""

from __future__ import annotations

import re

from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.household.belief import kind
from tests.backends.prompts import said_by
from tests.backends.server import Messages

_FIELD = re.compile(r"^(?P<name>Looking for|Looked into|Left): (?P<value>.*)$", re.MULTILINE)
_INSIDE = re.compile(r" \([^()]*\)")
_MOST = 8


def searcher(messages: Messages) -> str | None:
    """The reply; None where nobody asks where to look."""
    if "where to look for things" not in said_by(messages, "system")[0]:
        return None
    asked = next(text for text in reversed(said_by(messages, "user")) if "Looking for: " in text)
    told = {found["name"]: found["value"] for found in _FIELD.finditer(asked)}
    left, counts = told["Left"].split(", "), load_counts()
    looked = _INSIDE.sub("", told["Looked into"]).split(", ")
    room = counts.room_of(kind(name) for name in [*left, *looked])
    likeliest = sorted(left, key=lambda name: -counts.chance(told["Looking for"], kind(name), room))
    return ", ".join(likeliest[:_MOST])
