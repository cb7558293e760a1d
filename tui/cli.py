"""The ``housequest`` command. Sub-commands import what they need when they run, so that ``--help`` is quick."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from tui.commands.compare import compare
from tui.commands.daily import daily
from tui.commands.data import data_app
from tui.commands.env_server import env_server
from tui.commands.eval import evaluate
from tui.commands.explore import explore
from tui.commands.export import export
from tui.commands.mcp import mcp
from tui.commands.measure import measure
from tui.commands.merge import merge
from tui.commands.models import models_app
from tui.commands.modules import modules
from tui.commands.play import play
from tui.commands.plugins import plugins
from tui.commands.replay import replay
from tui.commands.report import report
from tui.commands.rules import rules_app
from tui.commands.runs import runs
from tui.commands.serve import serve
from tui.commands.train import train
from tui.commands.trust import asked_to_trust, trust
from tui.commands.verify import verify
from worlds.errors import ConfigurationError, GameError, HousequestError, KnowledgeError
from worlds.paths import IrregularFile

app = typer.Typer(
    name="housequest",
    help="Play household tasks in your terminal, alone or with an AI agent; evaluate agents; curate what they know.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Settings also come from housequest.toml and HOUSEQUEST_* variables; a flag wins.",
)
app.command()(play)
app.command()(daily)
app.command("eval")(evaluate)
for _command in (
    report,
    compare,
    verify,
    merge,
    replay,
    explore,
    train,
    export,
    modules,
    runs,
    serve,
    mcp,
    env_server,
    plugins,
    trust,
):
    app.command()(_command)
rules_app.command("measure")(measure)
app.add_typer(models_app, name="models")
app.add_typer(rules_app, name="rules")
app.add_typer(data_app, name="data")


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
    """Run the command, with ``arguments`` or those of the process, and exit.

    Exit codes: 0 done, 1 something failed, 2 wrong usage, configuration or files, 130 interrupted.
    """
    from tui import terminal

    # Modules that are imported leave next to no garbage, and looking for it took an eighth of the time to the first picture.
    gc.set_threshold(100_000, 20, 20)
    terminal.prepare()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output is gone. What is still buffered would fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises for words that it does not know; it carries a Click of its own, so that Click's class is another."""


def _named(arguments: Sequence[str]) -> str:
    """The command that ``arguments`` begin with, as one calls it."""
    words, found = ["housequest"], typer.main.get_command(app)
    for word in arguments:
        found = getattr(found, "commands", {}).get(word)
        if found is None:
            break
        words.append(word)
    return " ".join(words)


def _explain(error: Any, arguments: Sequence[str]) -> None:
    """Say what is wrong with the words of a command, in the form of all other errors."""
    from tui import terminal

    message, context = error.format_message(), error.ctx
    if message.startswith("Usage:"):  # nothing was said, so the help is the answer
        terminal.note(message)
        return
    where = context.command_path if context is not None else _named(arguments)
    terminal.note(f"housequest: {message.rstrip('.')}. `{where} -h` shows what there is.".replace("?.", "?"))


def _call(arguments: Sequence[str] | None) -> None:
    """Run the command; once more where a person trusts its folder now."""
    try:
        code = app(arguments, prog_name="housequest", standalone_mode=False)
    except ConfigurationError as error:
        agreed = asked_to_trust(error)
        if agreed is None:
            raise
        if not agreed:
            raise SystemExit(2) from None
        _call(arguments)
    else:
        raise SystemExit(code)


def _run(arguments: Sequence[str] | None) -> int:
    from tui import terminal

    try:
        _call(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except _UsageError as error:
        _explain(error, sys.argv[1:] if arguments is None else arguments)
        return 2
    except HousequestError as error:
        terminal.note(f"housequest: {error}")
        return 2 if isinstance(error, ConfigurationError | KnowledgeError | GameError) else 1
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one Ctrl-C is enough
        terminal.note("Interrupted.")
        return 130
    except BrokenPipeError:
        raise
    except OSError as error:
        # A full disk, missing permissions: no bug of ours, and the file is what a person has to look at.
        where = f"{error.filename}: " if error.filename else ""
        terminal.note(f"housequest: {where}{error.strerror or error}")
        return 2 if isinstance(error, IrregularFile) else 1
    return 0
