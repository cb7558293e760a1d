"""Writes the pages of docs/reference that say what the code declares: ``python -m scripts.reference [--check]``.

Commands are as Typer has them; settings, and the options of agents and worlds, as their dataclasses do. With ``--check`` it
writes nothing, and fails where a page says something else.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"

_TABLES = {
    "agents": "Settings of an agent by its name: `[agents.lota]`, then `exact = true`.",
    "worlds": "Options of a world by its name: `[worlds.alfred]`, then `failures = 5`.",
    "prices": 'Prices for a million tokens of a model: `[prices."openai:NAME"]`, then `input`, `output` and perhaps `cached`.',
    "keys": 'In your own file alone, other keys for the screen: `[keys]`, then `play.step = "s"` ([all keys](keys.md)).',
    "endpoints": 'In your own file alone, which key goes to which host: `[endpoints."HOST:PORT"]`, then `key_env`.',
}


def commands() -> str:
    """The page of all commands."""
    import typer.main
    from typer.cli import get_docs_for_click

    from housequest.tui.cli import app

    command: Any = typer.main.get_command(app)
    context = command.context_class(command, info_name="housequest")
    text = get_docs_for_click(obj=command, ctx=context, name="housequest", title="Commands")
    return text.rstrip("\n") + "\n"


def settings() -> str:
    """The page of the configuration, and of the options of agents and worlds."""
    from housequest.agent.agents.spec import agent_names, agent_spec
    from housequest.agent.config import FILE_KEYS, Settings
    from housequest.tui.commands.options import SETTINGS
    from housequest.worlds.registry import world_class, world_names

    lines = [
        "# Settings",
        "",
        "Settings come from `housequest.toml` in your own configuration folder, then from the nearest `housequest.toml` in",
        "the working folder or above, then from `HOUSEQUEST_*` variables, then from flags. Later ones win.",
        "An unknown key is refused. A flag without a key cannot be set in a file.",
        "",
        "| key in `housequest.toml` | flag | |",
        "| --- | --- | --- |",
    ]
    for name in Settings.model_fields:
        if name in SETTINGS:
            flag = SETTINGS[name]
            spelled = f"`--{name.replace('_', '-')} {flag['metavar']}`"
            lines.append(f"| {f'`{name}`' if name in FILE_KEYS else ''} | {spelled} | {_cell(flag['help'])} |")
    lines += [f"| `{name}` | | {_cell(text)} |" for name, text in _TABLES.items()]
    lines += ["", "## Settings of agents", "", "By `--set KEY=VALUE`, or in the table `[agents.NAME]`."]
    for name in agent_names():
        lines += [*_options(name, agent_spec(name).settings)]
    lines += ["", "## Options of worlds", "", "By `--world-option KEY=VALUE`, or in the table `[worlds.NAME]`."]
    for name in world_names():
        lines += [*_options(name, world_class(name).Options)]
    return "\n".join(lines) + "\n"


def _options(name: str, declared: type[Any] | None) -> Iterator[str]:
    """The heading and the table of the options in the dataclass ``declared``."""
    fields = () if declared is None else dataclasses.fields(declared)
    yield from ("", f"### {name}", "")
    if declared is None or not fields:
        yield "None."
        return
    hints = get_type_hints(declared)
    yield from ("| | default | |", "| --- | --- | --- |")
    for field in fields:
        choices = [str(each) for each in get_args(hints[field.name]) if isinstance(each, str)]
        told = field.metadata.get("description", "") + (f" ({', '.join(choices)})" if choices else "")
        default = _shown(field.default)
        yield f"| `{field.name}` | {default} | {_cell(told)} |"


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return "`on`" if default else "`off`"
    return f"`{default}`" if default not in (None, "") else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def keys() -> str:
    """The page of the keys of every screen, by the ids that a configuration file gives them."""
    from textual.app import App

    from housequest.tui.app import all_keys

    display = App[None]().get_key_display
    lines = [
        "# Keys",
        "",
        "Every key of the screen has an id. The table `[keys]` of your own `housequest.toml` gives it another key, or several:",
        "",
        "```toml",
        "[keys]",
        'play.step = "s,enter"',
        'play.skill = "j"',
        'play.accept = "y"',
        "```",
        "",
        "A key that two things would share is refused, with the line of the file. A key is a character, or a name such as",
        "`space`, `f5`, `ctrl+s` or `shift+up`. The last line of the screen, the prompt and the palette show the keys that you",
        "chose; sentences elsewhere name the usual ones.",
    ]
    for screen, bindings in all_keys().items():
        lines += ["", f"## {screen}", "", "| id | key | |", "| --- | --- | --- |"]
        said: set[str] = set()
        for key in bindings:
            if not key.id or key.id in said:
                continue
            said.add(key.id)
            lines.append(f"| `{key.id}` | `{_cell(display(key))}` | {_cell(key.tooltip or key.description.capitalize())} |")
    return "\n".join(lines) + "\n"


PAGES = {"commands.md": commands, "settings.md": settings, "keys.md": keys}


def stale(folder: Path = REFERENCE) -> list[str]:
    """The pages in ``folder`` that say something else than the code."""
    return [
        name for name, made in PAGES.items() if not (folder / name).is_file() or (folder / name).read_text("utf-8") != made()
    ]


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(f"Out of date: {', '.join(found)}. `python -m scripts.reference` writes them." if (found := stale()) else 0)
    for _name, _made in PAGES.items():
        (REFERENCE / _name).write_text(_made(), "utf-8")
