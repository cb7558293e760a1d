"""Chain of thought in place of self-questioning: what the Socratic Planner is compared with (section 4.4, table 3).

The prompt is the questioner's without what it says about questions and answers, and so without its things to discover.
"""

from __future__ import annotations

from agent.roles.base import ReplyError, Role

LONGEST_REASONING = 8_000
"""Characters that the planner is shown; a reply within the default of tokens is shorter."""


def _read(text: str) -> str:
    if not any(character.isalpha() for character in text):
        raise ReplyError("nothing was thought in it.")
    return text[:LONGEST_REASONING].rstrip()


DECOMPOSER: Role[str] = Role("decomposer", _read, _read)
