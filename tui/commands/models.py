"""``housequest models``: what can be used here, and one real call to prove it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands import options

if TYPE_CHECKING:
    from agent.models.base import Completion

models_app = typer.Typer(
    help="Language models: what can be used here, and one real call to prove it.",
    invoke_without_command=True,
    rich_markup_mode=None,
)

_QUESTION = "Answer with the single word: ready"


@models_app.callback()
def models(context: typer.Context) -> None:
    """Show which models can be used here; `models check MODEL` makes one real call."""
    if context.invoked_subcommand is None:
        _list()


def _list() -> None:
    import os

    from agent.config import FILE_NAME, configure
    from agent.models.keys import OFFICIAL_KEY, load_keys
    from tui import terminal
    from tui.text import printable
    from worlds.paths import config_folder

    configuration = configure()
    model = configuration.settings.model
    key = "is set" if os.environ.get(OFFICIAL_KEY) else "is not set"
    keys = load_keys().variables
    lines = [
        "A model is named with --model, HOUSEQUEST_MODEL, or model = in housequest.toml:",
        "",
        f"  openai:NAME                        the official host ({OFFICIAL_KEY} {key})",
        "  openai:NAME@http://HOST:PORT/v1    any other OpenAI-compatible server",
        f"  llama:FILE.gguf                    a model on this machine ({_runtimes()})",
        "  scripted:FILE                      replies from a file, for trying things out",
        "",
        f"Configured: {model} ({configuration.origin('model')})" if model else "Configured: none",
        f"Your own configuration, where keys are named: {config_folder() / FILE_NAME}",
        *(f"Key for {address}: {variable} {_set(os.environ.get(variable))}" for address, variable in sorted(keys.items())),
        "",
        "Prove one with: housequest models check MODEL",
    ]
    terminal.show(printable(line) for line in lines)


def _runtimes() -> str:
    from agent.models.llama.model import installed

    names = installed()
    return f"by {names[0]}" if names else 'pip install "housequest[xllamacpp]"'


def _set(value: str | None) -> str:
    return "is set" if value else "is not set"


@models_app.command("check")
def check(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="The model [the configured one].", show_default=False)
    ] = None,
    timeout: options.Timeout = None,
) -> None:
    """Make one real call and show the reply, its tokens and how long it took."""
    import asyncio
    import time

    from agent.config import configure
    from tui import terminal
    from tui.text import printable
    from worlds.errors import ConfigurationError

    settings = configure({"model": model, "timeout": timeout}).settings
    name = settings.model
    if name is None:
        raise ConfigurationError("No model is named or configured; give one, for example openai:NAME@http://localhost:8000/v1.")
    before = time.monotonic()
    completion = asyncio.run(_call(name, settings.timeout))
    seconds = time.monotonic() - before
    usage = completion.usage
    lines = [
        *terminal.look().wrapped(completion.text.strip() or "(an empty reply)"),
        "",
        f"{_counted(usage.prompt)} tokens read, {_counted(usage.completion)} written, {seconds:.2f} s, {completion.finish}",
    ]
    terminal.show(printable(line) for line in lines)


async def _call(name: str, time_limit: float) -> Completion:
    from agent.models.base import Message
    from agent.models.registry import make_model

    model = make_model(name, timeout=time_limit, retries=0)
    try:
        return await model.complete([Message("user", _QUESTION)], max_tokens=64)
    finally:
        await model.aclose()


def _counted(tokens: int | None) -> str:
    return "uncounted" if tokens is None else str(tokens)
