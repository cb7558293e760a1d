"""Hides things in observations and commands, as PET's Eliminate module does (section 3.2).

Only lists are shortened ("you see a mug 1, and a pen 2."); sentences about an action stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_NAME = re.compile(r"[A-Za-z][\w-]{0,59} [0-9]{1,6}", re.ASCII)
_SEEN = re.compile(r"(?:(?<=you see )|(?<=Its furniture: )|(?<=Also in it: ))an? [^.\n]*(?=\.)")
_LISTED = re.compile(rf"(?P<listed>an? (?P<name>{_NAME.pattern})(?: \([a-z, ]*\))?)", re.ASCII)


def masked(text: str, hidden: Collection[str]) -> str:
    """``text`` without the ``hidden`` names in its lists; an empty list reads "nothing"."""
    return _SEEN.sub(lambda found: _shortened(found[0], hidden), text) if hidden else text


def possible(commands: Iterable[str], hidden: Collection[str]) -> tuple[str, ...]:
    """Those ``commands`` that name nothing ``hidden``."""
    return tuple(command for command in commands if not any(name in hidden for name in names(command)))


def names(text: str) -> tuple[str, ...]:
    """The numbered names in ``text``, each once, in order."""
    return tuple(dict.fromkeys(_NAME.findall(text)))


def _shortened(listed: str, hidden: Collection[str]) -> str:
    every = list(_LISTED.finditer(listed))
    left = [one["listed"] for one in every if one["name"] not in hidden]
    if len(left) == len(every):
        return listed
    *others, last = left or ["nothing"]
    before_last = ", and " if ", and " in listed else " and "
    return f"{', '.join(others)}{before_last}{last}" if others else last
