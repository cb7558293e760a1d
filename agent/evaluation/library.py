"""`housequest eval` and `report` for programs: play a run into a folder, and read its figures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any


def evaluate(*, out: Path | str | None = None, retry_errors: bool = False, **settings: Any) -> Path:
    """Play a run, or what is left of it, and return its folder.

    ``settings`` are settings of the configuration by name (``housequest.agent.config.Settings``: world, split, agent, model,
    limit, workers, ...); they come before the user's own. ``out`` is the folder; without it, the settings determine the folder.
    Raises
    ``ConfigurationError``, ``KnowledgeError`` and ``housequest.agent.evaluation.runs.budget.Stopped``, with the messages of
    ``housequest eval``. It runs its own event loop.
    """
    from housequest.agent.config import configure
    from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
    from housequest.agent.evaluation.runs.spec import make_run_spec
    from housequest.agent.evaluation.runs.sweep import series, series_folder, series_kind

    configuration = configure(settings)
    options = RunOptions(workers=configuration.settings.workers, retry_errors=retry_errors)
    kind, spec, folder = series_kind(configuration.settings), make_run_spec(configuration), None if out is None else Path(out)
    if kind is not None:
        place = series_folder(kind, spec, folder)
        for trial in series(configuration, place, retry_errors=retry_errors):
            asyncio.run(run_batch(trial.spec, place.path / trial.folder, options))
        return place.path
    folder = folder or spec.default_folder
    asyncio.run(run_batch(spec, folder, options))
    return folder


def report(run: Path | str) -> dict[str, object]:
    """The figures of a run, a series or a sweep in a folder, as ``housequest report --json`` prints them.

    Raises ``ConfigurationError``.
    """
    from housequest.agent.config import configure
    from housequest.agent.evaluation.render.reading import read_report

    return read_report([Path(run)], configure(uses=()).settings.prices_of).data()
