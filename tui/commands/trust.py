"""``housequest trust``: which folders' configuration may say where data goes, and the question that other commands ask."""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import print_lines
from housequest.worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from housequest.agent.trust import Trust


_QUESTION = "Do you trust it with that, until it changes?"


def trust(
    folder: Annotated[
        Path | None, options.path_argument("FOLDER", "A folder with a housequest.toml [the nearest, here or above].")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Trust it without being asked.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List what you trust.")] = False,
    revoke: Annotated[Path | None, options.file("--revoke", "FOLDER", "Trust this folder no longer.")] = None,
) -> None:
    """Trust a folder's housequest.toml. It may then say where prompts go, and name your own rules and files.

    It shows what the file would do, and asks. A file that changes is asked about again.
    """
    from housequest.agent import trust as store
    from housequest.agent.config import FILE_NAME, folder_file

    if listed:
        print_lines([_line(each) for each in store.trusted_files()] or ["You trust no folder."])
        return
    if revoke is not None:
        named = _folder(revoke)
        if not store.revoke(named / FILE_NAME):
            raise ConfigurationError(f"You do not trust {named}; `housequest trust --list` shows what you trust.")
        terminal.note(f"{named} is no longer trusted.")
        return
    file = folder_file(folder and _folder(folder))
    if file is None:
        where = f"{folder} has no {FILE_NAME} of its own" if folder else f"There is no {FILE_NAME} here or above but your own"
        raise ConfigurationError(f"{where}; there is nothing to trust.")
    if not file.demands:
        print_lines([f"{file.path} needs no trust: nothing in it says where data goes, or names files outside its folder."])
        return
    print_lines([f"{file.path} says:", file.story])
    if store.is_trusted(file):
        terminal.note("You trust it already.")
        return
    agreed = True if yes else terminal.confirm(_QUESTION)
    if agreed is None:
        raise ConfigurationError("Nobody is here to ask; give --yes to trust it.")
    if not agreed:
        raise ConfigurationError("It is not trusted.")
    store.trust_file(file)
    terminal.note("It is trusted until it changes.")


def asked_to_trust(error: ConfigurationError) -> bool | None:
    """Whether a person trusts the folder that ``error`` is about, so that the command can be tried again.

    None where it is about something else, or nobody is there to ask.
    """
    from housequest.agent.trust import Untrusted, trust_file

    if not isinstance(error, Untrusted):
        return None
    about = f"{error.file.path} may have come with its folder. It says:\n{error.file.story}"
    agreed = terminal.confirm(_QUESTION, about)
    if agreed:
        trust_file(error.file)
    elif agreed is not None:
        terminal.note(error.file.way_out)
    return agreed


def _folder(given: Path) -> Path:
    """The folder that a person named, be it by its file, as ``--list`` does."""
    from housequest.agent.config import FILE_NAME

    # Not the folder that a linked file lies in.
    by_file = given.name == FILE_NAME and not given.is_dir()
    return Path(os.path.realpath(given.parent if by_file else given))


def _line(trust: Trust) -> str:
    from housequest.agent.config import folder_file

    try:
        file = folder_file(Path(trust.path).parent)
    except ConfigurationError:
        file = None
    if file is None:
        return f"{trust.path} (gone, or no configuration any more)"
    return trust.path if trust.covers(file) else f"{trust.path} (changed since, so you will be asked again)"
