"""``housequest modules``: how well PET's modules did along the episodes of a run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, cast

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from housequest.agent.agents.pet import Way
    from housequest.agent.agents.pet.modules import Likeness, ModulesReport, WatchedEpisode


@options.takes(
    *("set", "timeout", "limit"),
    model="A chat model, such as openai:NAME; without one, no model is called.",
)
def modules(
    flags: options.Flags,
    run: Path,
    concurrency: int = 1,
    embedder: str | None = None,
    calibrate: Path | None = None,
    as_json: bool = False,
) -> None:
    """Show how well PET's modules work. Is the plan right, is what matters kept, and is the end of a sub-task noticed?

    Without --model, it reads what pet recorded. With it, the modules judge the episodes of any run; nothing is played.
    """
    import asyncio

    from housequest.agent.agents.pet.agent import Pet
    from housequest.agent.agents.pet.modules import ModulesReport, read_recorded, watch_all, watch_own
    from housequest.agent.agents.spec import make_agent, resolve_settings
    from housequest.agent.config import configure
    from housequest.agent.evaluation.analysis.run import read_for_comparison
    from housequest.agent.evaluation.runs.folder import RunFolder
    from housequest.agent.models.registry import destination, make_model, portable_name
    from housequest.worlds.registry import make_world

    def progress(done: int, total: int) -> None:
        if done == total or done % 10 == 0:
            terminal.note(f"{done} of {total} episodes")

    manifest = RunFolder(run).manifest()
    config = manifest.configuration
    told = {"agent": config.agent, "model": config.model or "none", **read_for_comparison(RunFolder(run)).card}
    world = make_world(config.world)
    limit = flags.pop("limit")
    assert limit is None or isinstance(limit, int)
    episodes = read_recorded(RunFolder(run), limit)
    judged = bool(flags["model"])
    settings = configure({**flags, "agent": "pet"}, uses=("agents",))
    own = settings.settings_of("pet") if judged else config.settings
    way = resolve_settings("pet", own)["scores"] if judged or config.agent == "pet" else ""
    if calibrate is not None:
        _check_calibrates(calibrate, run, config.split, way, made_up=config.split in world.info.endless_splits)
    if judged:
        where = destination(settings.model or "")
        if where is not None:
            terminal.note(f"Prompts go to {where}.")

        async def watched() -> list[WatchedEpisode]:
            async with aclosing(make_model(settings.model or "", timeout=settings.timeout)) as model:
                pet = make_agent("pet", world=world, model=model, settings=own, seed=settings.seed or 0)
                assert isinstance(pet, Pet)
                return await watch_all(pet, episodes, world, concurrency, progress)

        seen = asyncio.run(watched())
        variants = " ".join(f"{key}={value}" for key, value in sorted(own.items()))
        told["judged by"] = f"pet with {portable_name(settings.model or '')} {variants}".rstrip()
    elif config.agent == "pet":
        seen = [watch_own(episode, world) for episode in episodes]
    else:
        raise ConfigurationError(f"{run} was played by {config.agent!r}; give --model, and pet looks on along it.")
    if calibrate is not None:
        _calibrate(calibrate, ModulesReport(seen), cast("Way", way))
    terminal.print_report(ModulesReport(seen, _likeness(embedder, seen), told), as_json=as_json)


def _likeness(embedder: str | None, seen: Sequence[WatchedEpisode]) -> Likeness:
    import asyncio

    from housequest.agent.agents.pet.modules import by_embeddings, by_words, planned_subtasks
    from housequest.agent.models.embeddings import make_embedder, texts_go_to

    if embedder is None:
        return by_words
    if (where := texts_go_to(embedder)) is not None:
        terminal.note(f"Sub-tasks go to {where}, to be compared.")
    return asyncio.run(by_embeddings(planned_subtasks(seen), make_embedder(embedder)))


def _check_calibrates(file: Path, run: Path, split: str, way: object, *, made_up: bool) -> None:
    """Refuse, before a model is asked, what no thresholds follow from, and a file of something else."""
    from housequest.agent.agents.pet import read_thresholds

    if split != "train" and not made_up:
        raise ConfigurationError(f"{run} is in {split}, which is measured on; choose thresholds on a run in train.")
    if way == "auto":
        raise ConfigurationError("Thresholds are for one way of scoring; give --set scores=answer or scores=probability.")
    if file.exists():
        read_thresholds(file)


def _calibrate(file: Path, figures: ModulesReport, way: Way) -> None:
    from housequest.agent.agents.pet import Thresholds, keep_thresholds

    found = Thresholds(figures.places.calibrated, figures.objects.calibrated)
    keep_thresholds(file, way, found)
    terminal.note(f"{file}: scores={way} masks places below {found.places} and objects below {found.objects}.")
    if found == Thresholds(0, 0):
        terminal.note("No threshold shows 95 % of what the expert touched, so nothing is masked: this model cannot judge it.")
