"""The format of what housequest writes and reads again: records, runs and rulebooks say which one they are in."""

from __future__ import annotations

import json
from typing import Any, Literal, cast

from housequest.worlds.errors import unquoted

Format = Literal["0.2"]
FORMAT: Format = "0.2"


def other_format(content: bytes) -> str | None:
    """What is wrong with ``content``, a JSON object or an event that begins a record, if it is in another format; else None."""
    try:
        entries = cast("object", json.loads(content))
    except (ValueError, RecursionError):
        return None
    if not isinstance(entries, dict):
        return None
    table = cast("dict[str, Any]", entries)
    if isinstance(table.get("body"), dict):
        table = table["body"]
    found = table.get("format", table.get("schema_version"))  # what 0.1 called it
    if found in (FORMAT, None):
        return None
    named = unquoted(str(found))
    if "format" in table:
        return f"was written in format {named}, and this version reads {FORMAT}; update housequest, or play it again"
    return f"was written in format {named} (before {FORMAT}), which this version cannot read; play it again"
