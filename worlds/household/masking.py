"""Hides things in observations and commands, as PET's Eliminate module does (section 3.2).

Only lists are shortened ("you see a mug 1, and a pen 2."); sentences about an action stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_NAME = re.compile(r"[A-Za-z][\w-]{0,59} [0-9]{1,6}", re.ASCII)
_SEEN = re.compile(r"(?<=you see )a [^.\n]*(?=\.)")


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
    every = names(listed)
    left = [f"a {name}" for name in every if name not in hidden]
    if len(left) == len(every):
        return listed
    *others, last = left or ["nothing"]
    return f"{', '.join(others)}, and {last}" if others else last
