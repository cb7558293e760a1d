"""Finding labelled lines and commands in what a language model wrote."""

from __future__ import annotations

import json
import re
from typing import cast

from agent.roles.base import ReplyError

LONGEST_COMMAND = 200
LONGEST_THOUGHT = 2_000

_LABEL = re.compile(r"^[\W_]{0,8}(?P<label>[A-Za-z]{2,12})[\s*_`]{0,4}[:=][\s*_`]{0,4}(?P<rest>.*)$")
_PLAIN = re.compile(r"[A-Za-z][\w '/-]{0,79}")
_FENCE = re.compile(r"^\s*```\w*\s*$")
_DRESS = " \t*_`\"'>$"


def labelled(text: str) -> list[tuple[str, str]]:
    """The lines of ``text`` that read ``Label: rest``, as (lowercased label, rest), other lines joined to the one before."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        match = _LABEL.match(line)
        if match:
            found.append((match["label"].lower(), match["rest"].strip()))
        elif found and line.strip() and not _FENCE.match(line):
            label, rest = found[-1]
            found[-1] = (label, f"{rest}\n{line.strip()}".strip())
    return found


def undress(command: str) -> str:
    """A command without the quotes, backticks, prompts and full stop that models put round it."""
    return command.strip().strip(_DRESS).rstrip(".").strip(_DRESS)


def checked(command: str) -> str:
    """``command`` if it can be one: a single line, neither empty nor endless. Raises ``ReplyError``."""
    if not command:
        raise ReplyError("the action is empty.")
    if len(command) > LONGEST_COMMAND:
        raise ReplyError(f"the action is longer than {LONGEST_COMMAND} characters.")
    if not command.isprintable():
        raise ReplyError("the action is not one line of plain text.")
    return command


def lone_line(text: str) -> str | None:
    """The only line of ``text``, if there is but one and it could be a command: a few plain words."""
    lines = [line for line in text.splitlines() if line.strip() and not _FENCE.match(line)]
    line = undress(lines[0]) if len(lines) == 1 else ""
    return line if _PLAIN.fullmatch(line) and len(line.split()) <= 8 else None


def json_fields(text: str) -> dict[str, str]:
    """The string fields of the one JSON object in ``text`` (lowercased names), or nothing."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return {}
    try:
        value: object = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    fields = cast("dict[object, object]", value)
    return {str(key).lower(): str(item) for key, item in fields.items() if isinstance(item, (str, int))}


def thought(text: str) -> str:
    """A thought as it is shown and recorded."""
    return text.strip()[:LONGEST_THOUGHT]
