"""``housequest models``, ``plugins`` and ``trust``: what can be used here, and which folders may say where data goes."""

from __future__ import annotations

import inspect
import os.path
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.text import table
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.paths import config_folder

if TYPE_CHECKING:
    from housequest.agent.models.checking import ModelReport
    from housequest.agent.trust import Trust
    from housequest.worlds.registry import Group

_QUESTION = "Do you trust it with that, until it changes?"
models_app = typer.Typer(
    help="Language models: list what can be used, and check one.", invoke_without_command=True, rich_markup_mode=None
)


@options.described
def trust(folder: Path | None = None, yes: bool = False, listed: bool = False, revoke: Path | None = None) -> None:
    """Trust a folder's housequest.toml. It may then say where prompts go, and name your own rules and files.

    It shows what the file would do, and asks. A file that changes is asked about again.
    """
    from housequest.agent import trust as store
    from housequest.agent.config import FILE_NAME, folder_file

    if listed:
        terminal.print_lines([_line(each) for each in store.trusted_files()] or ["You trust no folder."])
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
        why = "nothing in it says where data goes, or names files outside its folder"
        terminal.print_lines([f"{file.path} needs no trust: {why}."])
        return
    terminal.print_lines([f"{file.path} says:", file.story])
    if store.is_trusted(file):
        terminal.note("You trust it already.")
        return
    agreed = yes or terminal.confirm(_QUESTION)
    if not agreed:
        raise ConfigurationError("Nobody is here to ask; give --yes to trust it." if agreed is None else "It is not trusted.")
    store.trust_file(file)
    terminal.note("It is trusted until it changes.")


def asked_to_trust(error: ConfigurationError) -> bool | None:
    """Ask if the person trusts the folder that ``error`` is about; return None if it is about none, or nobody is there."""
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
    from housequest.agent.trust import is_trusted

    with suppress(ConfigurationError):
        if file := folder_file(Path(trust.path).parent):
            return trust.path if is_trusted(file) else f"{trust.path} (changed since, so you will be asked again)"
    return f"{trust.path} (gone, or no configuration any more)"


@options.described
def plugins(as_json: bool = False) -> None:
    """List the installed worlds, agents and kinds of models. --world, --agent and --model take these names."""
    from housequest.worlds.registry import load_plugin
    from housequest.worlds.registry import plugins as installed

    groups: dict[str, Group] = {"world": "housequest.worlds", "agent": "housequest.agents", "model": "housequest.models"}
    rows: list[tuple[str, str, str, str]] = []
    failed = False
    for kind, group in groups.items():
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
    terminal.print_result([dict(zip(head, row, strict=True)) for row in rows], table([head, *rows]), as_json=as_json)
    if not as_json:
        terminal.note("`pip install` adds others; docs/guides/extending.md says how to write one.")
    terminal.finish(1 if failed else 0)


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
        settings = configure(uses=("model",))
        model = settings.model
        named = f"{model} ({settings.origin('model')})" if model else f"none, so {DEFAULT_MODEL} plays"
    except Untrusted as error:
        named = f"by {error.file.path}, once you trust it (housequest trust)"
    lines += ["", f"Configured: {named}", f"Your own configuration, where keys are named: {config_folder() / FILE_NAME}", ""]
    terminal.print_lines([*lines, "Check one by real calls: housequest models check MODEL"])


@models_app.command("check")
@options.takes("world", "timeout", "agent", "set")
def check(flags: options.Flags, model: str | None = None) -> None:
    """Play two turns of a game with the model, then show what else it can do and what is wrong with it.

    It makes some 30 calls, and exits with 1 if play would fail. Play and eval use what it learns of the model for a day.
    """
    import asyncio

    from housequest.agent.config import configure, world_of
    from housequest.agent.evaluation.rehearsal import rehearse
    from housequest.agent.models.checking import check_model
    from housequest.agent.models.registry import DEFAULT_MODEL, destination, make_model
    from housequest.agent.setup import set_up

    settings = configure({"model": model, **flags})
    name = settings.model or DEFAULT_MODEL
    if where := destination(name):
        terminal.note(f"Prompts go to {where}.\n")
    setup = set_up(settings.model_copy(update={"model": name}), world_of(settings))
    look = terminal.look()
    if setup.model is not None:
        task = setup.world.tasks(setup.world.splits()[-1])[0]
        seen = asyncio.run(rehearse(setup, task))
        ways = [f"{each.way:<11} {each.words}" for each in seen.passes if not each.wrong]
        told = {True: "have equal replies", False: "have different replies", None: ""}[seen.alike]
        terminal.print_lines(
            [
                f"{setup.agent} plays {task.reference} for two turns:",
                *ways,
                *(f"{'learned':<11} {each}" for each in seen.learned),
                *([f"{'context':<11} its server {seen.context}"] if seen.context else []),
                *([f"{'equal calls':<11} {told}"] if told else []),
                *(line for fault in seen.faults for line in look.wrapped(f"Play would fail: {fault}")),
                "",
            ]
        )
        if seen.faults:
            raise typer.Exit(terminal.FAILED)

    async def called() -> ModelReport:
        async with aclosing(make_model(name, timeout=settings.timeout)) as made:
            return await check_model(made)

    report = asyncio.run(called())
    completion, usage = report.reply, report.reply.usage
    read, written = ("uncounted" if tokens is None else tokens for tokens in (usage.prompt, usage.completion))
    terminal.print_lines(
        [
            *terminal.look().wrapped(completion.text.strip() or "(an empty reply)"),
            "",
            f"{read} tokens read, {written} written, {completion.timing.seconds:.2f} s, {completion.finish}",
            *([f"by {report.runtime}"] if report.runtime else []),
            "",
            *(f"{found.what:<22} {'yes' if found.works else 'no':<4} {found.seen}" for found in report.abilities),
            *(f"{has.__name__:<22} yes  {(has.__doc__ or '').partition('.')[0]}" for has in report.has),
            *(f"Breaks the contract of a model: {demand}." for demand in report.broken),
        ]
    )
    if report.broken:
        raise typer.Exit(terminal.FAILED)
