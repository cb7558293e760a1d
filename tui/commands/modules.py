"""``housequest modules``: how well PET's modules did along the episodes of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands import options

if TYPE_CHECKING:
    from agent.config import Settings
    from agent.evaluation.analysis.modules import FinishedEpisode, WatchedEpisode
    from worlds.base import World


def modules(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run's folder: one of pet's, or with --model any, say an expert's.")
    ],
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="MODEL", help="A chat model, such as openai:NAME; without one nothing is asked."),
    ] = None,
    timeout: options.Timeout = None,
    set: options.Set = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the first N tasks of the run.")] = None,
    workers: Annotated[int, typer.Option("--workers", metavar="N", min=1, help="Episodes at once.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Show PET's modules at work: what is masked, whether what an expert touches is kept, whether the end is noticed.

    Without --model, what pet recorded is read. With it, pet looks on along the episodes of any run, and plays nothing.
    """
    from agent.config import configure
    from agent.evaluation.analysis.modules import ModulesReport, modules_of, read_recorded, watch_own
    from agent.evaluation.runs.folder import RunFolder
    from tui import terminal
    from tui.text import printable
    from worlds.errors import ConfigurationError
    from worlds.paths import given_path
    from worlds.registry import make_world

    folder = RunFolder(given_path(run))
    config = folder.manifest().configuration
    world = make_world(config.world)
    episodes = read_recorded(folder, limit)
    if model is not None:
        settings = configure({"agent": "pet", "model": model, "timeout": timeout, "set": set}).settings
        seen = _watched(episodes, settings, world, workers)
    elif config.agent == "pet":
        seen = [watch_own(episode, world) for episode in episodes]
    else:
        raise ConfigurationError(f"{folder.path} was played by {config.agent!r}; give --model, and pet looks on along it.")
    found = modules_of(seen)
    above = "" if as_json else f"{found.episodes} episodes of {folder.path}\n\n"
    terminal.show(printable(f"{above}{ModulesReport(found).render(as_json=as_json)}").splitlines())


def _watched(episodes: list[FinishedEpisode], settings: Settings, world: World, workers: int) -> list[WatchedEpisode]:
    """What pet with these settings thinks along the episodes."""
    import asyncio

    from agent.agents.pet.agent import Pet
    from agent.agents.registry import make_agent
    from agent.evaluation.analysis.modules import watch_all
    from agent.models.registry import make_model
    from tui import terminal

    def told(done: int, total: int) -> None:
        if done == total or done % 10 == 0:
            terminal.note(f"{done} of {total} episodes")

    async def watched() -> list[WatchedEpisode]:
        model = make_model(settings.model or "", timeout=settings.timeout)
        try:
            pet = make_agent("pet", world=world, model=model, settings=settings.settings_of("pet"), seed=settings.seed or 0)
            assert isinstance(pet, Pet)
            return await watch_all(pet, episodes, workers, told)
        finally:
            await model.aclose()

    return asyncio.run(watched())
