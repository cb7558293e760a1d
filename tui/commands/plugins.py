"""``housequest plugins``: the worlds, agents and models that are installed here, with the packages that bring them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import finish, print_result
from housequest.tui.desk.rule_text import table
from housequest.worlds.errors import HousequestError

if TYPE_CHECKING:
    from housequest.worlds.registry import Group

GROUPS: dict[str, Group] = {"world": "housequest.worlds", "agent": "housequest.agents", "model": "housequest.models"}


def plugins(as_json: options.JsonOption = False) -> None:
    """List the installed worlds, agents and kinds of models. --world, --agent and --model take these names."""
    from housequest.worlds.registry import load_plugin
    from housequest.worlds.registry import plugins as installed

    rows: list[tuple[str, str, str, str]] = []
    failed = False
    for kind, group in GROUPS.items():
        try:
            points = installed(group)
        except HousequestError as error:
            terminal.note(f"housequest: {error}")
            failed = True
            continue
        for name, point in points.items():
            try:
                plugin = load_plugin(group, name, kind)
                # What it says of itself, else the beginning of its documentation.
                own = getattr(plugin, "about", None)
                about = own if isinstance(own, str) else (inspect.getdoc(plugin) or "").partition("\n")[0].rstrip(".")
            except HousequestError as error:
                failed, about = True, str(error)
            rows.append((kind, name, about, f"{point.dist.name} {point.dist.version}" if point.dist is not None else "unknown"))
    head = ("kind", "name", "about", "package")
    print_result([dict(zip(head, row, strict=True)) for row in rows], table([head, *rows]), as_json=as_json)
    if not as_json:
        terminal.note("`pip install` adds others; docs/guides/extending.md says how to write one.")
    finish(1 if failed else 0)
