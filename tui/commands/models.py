"""``housequest models``: what can be used here, and real calls to prove what each can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands import options

if TYPE_CHECKING:
    from agent.models.checking import Proof

models_app = typer.Typer(
    help="Language models: what can be used here, and real calls to prove it.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@models_app.callback()
def models(context: typer.Context) -> None:
    """Show which models can be used here; `models check MODEL` proves what one can do by real calls."""
    if context.invoked_subcommand is None:
        _list()


def _list() -> None:
    import os

    from agent.config import FILE_NAME, configure
    from agent.models.openai.keys import OFFICIAL_KEY, load_keys
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
        "  builtin                            the one that ships, and plays where no other is named",
        f"  openai:NAME                        the official host ({OFFICIAL_KEY} {key})",
        "  openai:NAME@http://HOST:PORT/v1    any other OpenAI-compatible server",
        f"  llama:FILE.gguf                    a model on this machine ({_runtimes()})",
        "  scripted:FILE                      replies from a file, for trying things out",
        "",
        f"Configured: {model} ({configuration.origin('model')})" if model else "Configured: none, so builtin plays",
        f"Your own configuration, where keys are named: {config_folder() / FILE_NAME}",
        *(f"Key for {address}: {variable} {_set(os.environ.get(variable))}" for address, variable in sorted(keys.items())),
        "",
        "Prove one with: housequest models check MODEL",
    ]
    terminal.show(printable(line) for line in lines)


def _runtimes() -> str:
    from agent.models.llama.options import installed

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
    """Show a reply, and what the model can do besides, each ability proved by a real call or two."""
    import asyncio

    from agent.config import configure
    from agent.models.registry import DEFAULT_MODEL
    from tui import terminal
    from tui.text import printable

    settings = configure({"model": model, "timeout": timeout}).settings
    name = settings.model or DEFAULT_MODEL
    proof = asyncio.run(_proof(name, settings.timeout))
    completion, usage = proof.reply, proof.reply.usage
    lines = [
        *terminal.look().wrapped(completion.text.strip() or "(an empty reply)"),
        "",
        f"{_counted(usage.prompt)} tokens read, {_counted(usage.completion)} written, {completion.timing.seconds:.2f} s, "
        f"{completion.finish}",
        *([f"by {proof.runtime}"] if proof.runtime else []),
        "",
        *(f"{found.ability:<22} {'yes' if found.works else 'no':<4} {found.seen}" for found in proof.findings),
    ]
    terminal.show(printable(line) for line in lines)


async def _proof(name: str, time_limit: float) -> Proof:
    from agent.models.checking import prove
    from agent.models.registry import make_model

    model = make_model(name, timeout=time_limit, retries=0)
    try:
        return await prove(model)
    finally:
        await model.aclose()


def _counted(tokens: int | None) -> str:
    return "uncounted" if tokens is None else str(tokens)
