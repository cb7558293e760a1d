"""The options of the commands, each declared once. An unset one is None, so that files and the environment count."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.paths import given_path
from housequest.worlds.registry import load_plugin, plugins

Flags = dict[str, object]
"""Settings given on the command line, by their names in `housequest.agent.config.Settings`; None where one was not given."""


_TYPES = {"str": str, "int": int, "float": float, "list": list[str]}


class Flag(NamedTuple):
    """How a setting is given on the command line."""

    metavar: str
    help: str
    type: str = "str"


SETTINGS = {
    name: Flag(**row) for name, row in tomllib.loads(Path(__file__).with_name("settings.toml").read_text("utf-8")).items()
}
"""Settings that are flags, in the order of ``--help``."""

TASKS = ("world", "engine", "split", "type", "goals", "habits", "world_option", "seed")
MEASUREMENT = ("protocol", "repeat", "retries")
PLAYER = ("agent", "set", "model", "timeout", "rules", "rules_budget", "grant", "max_steps")


def takes(*names: str, **helps: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these settings as flags, in its first argument, `Flags`; ``helps`` tells what one means here."""
    types: dict[str, Any] = {}
    for name, flag in SETTINGS.items():
        if name in names or name in helps:
            spelled, kind = f"--{name.replace('_', '-')}", _TYPES[flag.type]
            reader = {"parser": partial(_number, spelled, kind)} if kind in (int, float) else {}
            types[name] = Annotated[kind | None, value(spelled, flag.metavar, helps.get(name, flag.help), **reader)]
    return partial(_taking, types, first=True)


def writes(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each of the report's other formats; it gets their files as its first argument."""
    formats = ((name, load_plugin("housequest.reports", name, "format of reports")) for name in plugins("housequest.reports"))
    return _taking({name: Annotated[Path | None, file(f"--{name}", "FILE", form.help)] for name, form in formats}, command)


def _taking(types: Mapping[str, Any], command: Callable[..., None], *, first: bool = False) -> Callable[..., None]:
    """``command`` with options of these types, before or after its own; their values are its first argument, by name."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    _, *others = inspect.signature(command, eval_str=True).parameters.values()
    own = [each.replace(kind=keyword) for each in others]
    given = [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in types.items()]
    every = [*given, *own] if first else [*own, *given]

    @wraps(command)
    def run(**values: Any) -> None:
        command({name: values.pop(name) for name in types}, **values)

    # Typer makes its options from these two.
    run.__signature__ = inspect.Signature(every)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {each.name: each.annotation for each in every}
    return run


def _number(flag: str, kind: type[int] | type[float], text: str) -> float:
    try:
        return kind(text)
    except ValueError:
        wanted = "a whole number; give one such as 10" if kind is int else "a number; give one such as 2.5"
        raise ConfigurationError(f"{flag}: {shown(text)} is not {wanted}.") from None


def value(flag: str, metavar: str, help: str, **more: Any) -> Any:
    """An option that takes a value."""
    return typer.Option(flag, metavar=metavar, help=help, **more)


def choice(flag: str, help: str, *words: str) -> Any:
    """An option that takes one of ``words``."""

    def read(text: str) -> str:
        if text not in words:
            known = f"is not one of {', '.join(words)}" if len(words) > 1 else f"is not known; give {flag} {''.join(words)}"
            raise ConfigurationError(f"{flag}: {shown(text)} {known}.{nearest(text, words)}")
        return text

    return value(flag, "|".join(words), help, parser=read)


def path_argument(metavar: str, help: str) -> Any:
    """An argument that is a path, or several."""
    return typer.Argument(metavar=metavar, help=help, parser=given_path)


def file(flag: str, metavar: str, help: str) -> Any:
    """An option that is a path."""
    return value(flag, metavar, help, parser=given_path)


def page(help: str) -> Any:
    """The option ``--html``."""
    return written("--html", "page", help, ".html", ".htm")


def written(flag: str, what: str, help: str, *endings: str) -> Any:
    """An option that is a file to write, ``what`` in a word; only a file with one of these endings is ever overwritten."""

    def read(text: str) -> Path:
        given = given_path(text)
        if given.suffix.lower() in endings and not given.is_dir():
            return given
        raise ConfigurationError(f"{flag}: {shown(text)} is not the name of a {what}; give a file that ends in {endings[0]}.")

    return value(flag, "FILE", help, parser=read)


def read_size(flag: str, text: str) -> tuple[int, int]:
    """The width and the height that ``text`` gives, as 640x480. Raises ``ConfigurationError``."""
    found = re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text.strip().lower())
    if found is None:
        raise ConfigurationError(f"{flag}: {shown(text)} is not a size; give a width and a height, as in 640x480.")
    return int(found[1]), int(found[2])


BookArgument = Annotated[str, typer.Argument(metavar="BOOK", help="A rulebook's name, or its file.")]
RecordsArgument = Annotated[
    list[Path] | None, path_argument("RUN", "Runs' folders and episodes' files [all in runs/, and what you played].")
]
IntoOption = Annotated[str, value("--into", "BOOK", "The rulebook's name, or its file.")]
RetryOption = Annotated[str | None, choice("--retry", "Play errored episodes again.", "errors")]
BudgetOption = Annotated[
    list[str] | None, value("--budget", "KIND=AMOUNT", "calls=1000, tokens=2M, money=5 or time=90m; repeatable.")
]
ShardOption = Annotated[
    str | None, value("--shard", "K/N", "Play every N-th task from the K-th, into a folder for `housequest merge`.")
]
ClusterOption = Annotated[
    str | None,
    value("--cluster", "processes[:N]|ray[:ADDRESS]", "Play in N processes here [one a processor], or on a Ray cluster."),
]
WorkersOption = Annotated[
    int | None, value("--workers", "N", "How many processes play; the output is the same [all processors].", min=1)
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
PlainOption = Annotated[bool, typer.Option("--plain", help="Plain text, without the screen.")]
SpeedOption = Annotated[float | None, value("--speed", "N", "Show at most N turns a second.")]
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this machine by which no other can reach it."""
HostOption = Annotated[str, value("--host", "HOST", "The address to listen on [127.0.0.1].", show_default=False)]
RecordOption = Annotated[bool, typer.Option("--record/--no-record", help="Keep a record of each game.")]
