"""The options of the commands, as ``options.toml``, ``settings.toml`` and a file beside each module of commands tell them. An
unset setting is None, so that files and the environment count."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.paths import given_path
from housequest.worlds.registry import load_plugin, outs, plugins

Flags = dict[str, object]
"""Settings given on the command line, by their names in `housequest.agent.config.Settings`; None where one was not given."""


_TYPES = {"str": str, "int": int, "float": float, "list": list[str]}


@cache
def _table(name: str, beside: str = __file__) -> dict[str, Any]:
    """The file ``name.toml`` beside a module; empty if there is none, as beside other people's commands."""
    file = Path(beside).with_name(f"{name}.toml")
    return tomllib.loads(file.read_text("utf-8")) if file.exists() else {}


SETTINGS: dict[str, dict[str, str]] = _table("settings")
"""Settings that are flags, in the order of ``--help``, with the ``metavar``, the ``help`` and, unless ``str``, the ``type``."""
_COMMON = _table("options")

TASKS = ("world", "engine", "split", "type", "goals", "habits", "world_option", "seed")
MEASUREMENT = ("protocol", "repeat", "retry_lost")
COMPANY = ("players", "talk", "order", "obey")
PLAYER = ("agent", "set", "model", "timeout", "rules", "rules_budget", "grant", "max_steps")


def takes(*names: str, **helps: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these settings as flags, in its first argument, `Flags`; ``helps`` tells what one means here."""
    types: dict[str, Any] = {}
    for name, flag in SETTINGS.items():
        if name in names or name in helps:
            spelled, kind = f"--{name.replace('_', '-')}", _TYPES[flag.get("type", "str")]
            reader = {"parser": partial(_number, spelled, kind)} if kind in (int, float) else {}
            told: dict[str, Any] = {"metavar": flag["metavar"], "help": helps.get(name, flag["help"]), **reader}
            types[name] = Annotated[kind | None, typer.Option(spelled, **told)]
    return partial(_taking, types, first=True)


def writes(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each of the report's other formats; it gets their files as its first argument."""
    formats = ((name, load_plugin("housequest.reports", name, "format of reports")) for name in plugins("housequest.reports"))
    files = {name: _declared(f"--{name}", form.help, written=["log", *form.endings]) for name, form in formats}
    for name in outs("housequest.reports"):
        files[name] = typer.Option(f"--{name}", metavar="FILE", parser=partial(_not_here, name), hidden=True)
    return _taking({name: Annotated[Path | None, option] for name, option in files.items()}, command)


def _not_here(name: str, _file: str) -> Path:
    raise ConfigurationError(f"--{name} is not installed here; leave it out.")


def described(command: Callable[..., None]) -> Callable[..., None]:
    """Give the parameters of a command what the file beside its module says of them, or ``options.toml``."""
    return _signed(command, _parameters(command))


def _parameters(command: Callable[..., None]) -> list[inspect.Parameter]:
    """The parameters of ``command``; those that are told of in a file as it says there."""
    own = _table(command.__module__.rpartition(".")[2], inspect.getfile(command)).get(command.__name__, {})

    def annotated(each: inspect.Parameter) -> inspect.Parameter:
        name = each.name.rstrip("_")
        row = own.get(name) or _COMMON.get(name)
        if row is None:
            return each
        told: dict[str, Any] = {"flag": f"--{name.replace('_', '-')}", **row}
        return each.replace(annotation=Annotated[each.annotation, _declared(**told)])

    return [annotated(each) for each in inspect.signature(command, eval_str=True).parameters.values()]


def _declared(flag: str, help: str, argument: str = "", **more: Any) -> Any:
    """Make Typer's value for a row of ``options.toml``."""
    parser: Callable[[str], object] | None = given_path if more.pop("path", False) else None
    if words := more.pop("words", None):
        more["metavar"], parser = "|".join(words), partial(_one_of, flag, words)
    if told := more.pop("written", None):
        more["metavar"], parser = "FILE", partial(_to_write, flag, told)
    if argument:
        return typer.Argument(metavar=argument, help=help, parser=parser)
    return typer.Option(flag, help=help, parser=parser, **more)


def _taking(types: Mapping[str, Any], command: Callable[..., None], *, first: bool = False) -> Callable[..., None]:
    """``command`` with options of these types, before or after its own; their values are its first argument, by name."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    _, *others = _parameters(command)
    own = [each.replace(kind=keyword) for each in others]
    given = [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in types.items()]

    @wraps(command)
    def run(**values: Any) -> None:
        command({name: values.pop(name) for name in types}, **values)

    return _signed(run, [*given, *own] if first else [*own, *given])


def _signed(command: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """``command`` as if it had these parameters: Typer makes its options from the two attributes."""
    command.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _number(flag: str, kind: type[int] | type[float], text: str) -> float:
    try:
        return kind(text)
    except ValueError:
        wanted = "a whole number; give one such as 10" if kind is int else "a number; give one such as 2.5"
        raise ConfigurationError(f"{flag}: {shown(text)} is not {wanted}.") from None


def _one_of(flag: str, words: list[str], text: str) -> str:
    if text not in words:
        known = f"is not one of {', '.join(words)}" if len(words) > 1 else f"is not known; give {flag} {''.join(words)}"
        raise ConfigurationError(f"{flag}: {shown(text)} {known}.{nearest(text, words)}")
    return text


def _to_write(flag: str, told: Sequence[str], text: str) -> Path:
    """The file to write, of which ``told`` says what it is; only one with one of the endings after that is ever overwritten."""
    (what, *endings), given = told, given_path(text)
    if (not endings or given.suffix.lower() in endings) and not given.is_dir():
        return given
    ending = f" that ends in {' or '.join(endings)}" if endings else ", not a folder"
    raise ConfigurationError(f"{flag}: {shown(text)} is not the name of a {what}; give a file{ending}.")


def read_size(flag: str, text: str) -> tuple[int, int]:
    """The width and the height that ``text`` gives, as 640x480. Raises ``ConfigurationError``."""
    found = re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text.strip().lower())
    if found is None:
        raise ConfigurationError(f"{flag}: {shown(text)} is not a size; give a width and a height, as in 640x480.")
    return int(found[1]), int(found[2])


LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this machine by which no other can reach it."""
