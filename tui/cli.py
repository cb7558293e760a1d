"""The ``housequest`` command. A sub-command is imported when it is called, and what it needs when it runs."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from housequest.tui import terminal
from housequest.worlds.errors import ConfigurationError, GameError, HousequestError, KnowledgeError
from housequest.worlds.registry import load_plugin, outs, plugins

_COMMANDS: dict[str, str] = tomllib.loads(Path(__file__).with_name("commands").joinpath("commands.toml").read_text("utf-8"))


class _Commands(Mapping[str, Any]):
    """All commands by their names, each imported when first asked for: all took a tenth of the time to the first picture."""

    def __getitem__(self, name: str) -> Any:
        if name in _COMMANDS:
            module, _, attribute = _COMMANDS[name].partition(":")
            found = getattr(import_module(f"housequest.tui.commands.{module}"), attribute)
        elif name in (*plugins("housequest.commands"), *outs("housequest.commands")):
            found = _of_plugin(name)
        else:
            raise KeyError(name)
        holder = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
        if isinstance(found, typer.Typer):
            holder.add_typer(found, name=name)
        else:
            holder.command(name)(found)
        return typer.main.get_group(holder).commands[name]

    def __iter__(self) -> Iterator[str]:
        yield from _COMMANDS
        yield from (name for name in plugins("housequest.commands") if name not in _COMMANDS)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _of_plugin(name: str) -> Any:
    """The command ``name`` of a part or another package; one that cannot be loaded says so when it is called."""
    try:
        return load_plugin("housequest.commands", name, "command")
    except ConfigurationError as error:
        if name in outs("housequest.commands"):
            known = ", ".join(_Commands())
            raise ConfigurationError(f"The command {name!r} is not installed here; known: {known}.") from None
        reason = error

        def broken() -> None:
            raise reason

        broken.__doc__ = "(Cannot be loaded.)"
        return broken


class _Group(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()


app = typer.Typer(
    name="housequest",
    cls=_Group,
    help="Play household tasks in your terminal, alone or with an AI agent; evaluate agents; curate what they know.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Settings also come from housequest.toml and HOUSEQUEST_* variables; a flag wins.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        try:
            version = metadata.version("housequest")
        except metadata.PackageNotFoundError:
            version = "(not installed)"
        typer.echo(f"housequest {version}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit with one of the codes in `terminal`."""
    # Modules that are imported leave next to no garbage, and looking for it took an eighth of the time to the first picture.
    gc.set_threshold(100_000, 20, 20)
    terminal.prepare()
    try:
        code = _run(arguments)
    except OSError:  # standard error is gone or its disk is full, so nobody can be told
        code = terminal.UNUSABLE
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # What is still buffered would fail again when the interpreter ends, with another exit code.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


_UNWRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Typer's error for unknown words: it carries its own Click, so Click's class is another one."""


def _named(arguments: Sequence[str]) -> str:
    """The command that ``arguments`` begin with, as one calls it."""
    words, found = ["housequest"], typer.main.get_command(app)
    for word in arguments:
        found = getattr(found, "commands", {}).get(word)
        if found is None:
            break
        words.append(word)
    return " ".join(words)


def _explained(error: Any, arguments: Sequence[str]) -> str:
    """The fault in the words of a command, in the form of all other errors."""
    message, context = error.format_message(), error.ctx
    where = context.command_path if context is not None else _named(arguments)
    told = f"housequest: {message.rstrip('.')}. `{where} -h` shows what there is.".replace("?.", "?")
    return message if message.startswith("Usage:") else told  # where nothing was said, the help is the answer


def _call(arguments: Sequence[str] | None) -> int:
    """The exit code of the command, which runs once more where a person trusts its folder now."""
    try:
        code = app(arguments, prog_name="housequest", standalone_mode=False)
    except ConfigurationError as error:
        from housequest.tui.commands.available import asked_to_trust

        agreed = asked_to_trust(error)
        if agreed is None:
            raise
        return _call(arguments) if agreed else terminal.UNUSABLE
    sys.stdout.flush()
    return code if isinstance(code, int) else terminal.DONE


def _run(arguments: Sequence[str] | None) -> int:
    try:
        return _call(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else terminal.DONE
    except _UsageError as error:
        terminal.note(_explained(error, sys.argv[1:] if arguments is None else arguments))
        return terminal.UNUSABLE
    except HousequestError as error:
        terminal.note(f"housequest: {error}")
        return terminal.UNUSABLE if isinstance(error, ConfigurationError | KnowledgeError | GameError) else terminal.FAILED
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one Ctrl-C is enough
        terminal.note("Interrupted.")
        return terminal.STOPPED
    except BrokenPipeError:  # whoever read our output has left
        return terminal.FAILED
    except OSError as error:
        # A full disk, missing permissions: no bug of ours, and the file is what a person has to look at. What we write to
        # names itself, except for standard output.
        unnamed = "standard output: " if error.errno in _UNWRITTEN else ""
        where = f"{error.filename}: " if error.filename else unnamed
        terminal.note(f"housequest: {where}{error.strerror or error}")
        return terminal.UNUSABLE
