"""``housequest models``: what can be used here, and a check by real calls."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import print_lines
from housequest.worlds.paths import config_folder

if TYPE_CHECKING:
    from housequest.agent.models.checking import ModelReport

models_app = typer.Typer(
    help="Language models: list what can be used, and check one.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@models_app.callback()
def models(context: typer.Context) -> None:
    """Show which models can be used here; `models check MODEL` finds out by real calls what one can do."""
    if context.invoked_subcommand is not None:
        return
    from housequest.agent.config import FILE_NAME, configure
    from housequest.agent.models.registry import DEFAULT_MODEL, providers
    from housequest.agent.trust import Untrusted

    kinds = providers().values()
    width = max(len(form) for each in kinds for form in each.forms)
    lines = ["A model is named with --model, HOUSEQUEST_MODEL, or model = in housequest.toml:", ""]
    for each in kinds:
        *others, last = each.forms
        lines += [*(f"  {form}" for form in others), f"  {last:<{width}}  {each.about()}"]
    try:
        configuration = configure(uses=("model",))
        model = configuration.settings.model
        named = f"{model} ({configuration.origin('model')})" if model else f"none, so {DEFAULT_MODEL} plays"
    except Untrusted as error:
        named = f"by {error.file.path}, once you trust it (housequest trust)"
    lines += ["", f"Configured: {named}"]
    lines += [f"Your own configuration, where keys are named: {config_folder() / FILE_NAME}"]
    print_lines([*lines, "", "Check one by real calls: housequest models check MODEL"])


@models_app.command("check")
@options.takes("timeout")
def check(
    flags: options.Flags,
    model: Annotated[str | None, typer.Argument(metavar="MODEL", help="The model [the configured one].")] = None,
) -> None:
    """Show a reply, what else the model can do, and which demands on every model it does not meet. Makes about 15 calls."""
    import asyncio

    from housequest.agent.config import configure
    from housequest.agent.models.checking import check_model
    from housequest.agent.models.registry import DEFAULT_MODEL, destination, make_model

    settings = configure({"model": model, **flags}, uses=("model",)).settings
    where = destination(settings.model or DEFAULT_MODEL)
    if where is not None:
        terminal.note(f"Prompts go to {where}.\n")

    async def called() -> ModelReport:
        async with aclosing(make_model(settings.model or DEFAULT_MODEL, timeout=settings.timeout, retries=0)) as made:
            return await check_model(made)

    report = asyncio.run(called())
    completion, usage = report.reply, report.reply.usage
    read, written = ("uncounted" if tokens is None else str(tokens) for tokens in (usage.prompt, usage.completion))
    print_lines(
        [
            *terminal.look().wrapped(completion.text.strip() or "(an empty reply)"),
            "",
            f"{read} tokens read, {written} written, {completion.timing.seconds:.2f} s, {completion.finish}",
            *([f"by {report.runtime}"] if report.runtime else []),
            "",
            *(f"{found.what:<22} {'yes' if found.works else 'no':<4} {found.seen}" for found in report.abilities),
            *(f"Breaks the contract of a model: {demand}." for demand in report.broken),
        ]
    )
