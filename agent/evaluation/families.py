"""Families of runs that have no episodes. A part or a package declares each in the group ``housequest.runs``.

The family's name stands in the manifests of its runs, and is what ``housequest eval --world`` takes for it; it is no world.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from housequest.agent.evaluation.runs.files import LARGEST_MANIFEST, read_bytes
from housequest.worlds.registry import is_out, load_plugin, plugins

if TYPE_CHECKING:
    from housequest.agent.evaluation.render.table import Report
    from housequest.agent.evaluation.runs.sweep import SweepFolder
    from housequest.agent.evaluation.runs.verify import Verification

_FAMILY = re.compile(rb'"family": "([a-z0-9-]{1,40})"')


@dataclass(frozen=True, slots=True)
class RunFamily:
    """What is done with runs of a family. ``about`` says in words what they have in place of episodes.

    ``report`` and ``verify`` read the folder of a run, ``sweep_report`` that of a sweep; they raise ``ConfigurationError``.
    ``commands`` is the module with what ``housequest eval`` does (`housequest.tui.commands.eval.FamilyCommands`).
    """

    about: str
    report: Callable[[Path], Report]
    sweep_report: Callable[[SweepFolder], Report]
    verify: Callable[[Path], Verification]
    commands: str


def family_named(name: str) -> RunFamily | None:
    """The family ``name``; None where there is none. Raises ``ConfigurationError`` where it is of a part that is not here."""
    known = name in plugins("housequest.runs") or is_out("housequest.runs", name)
    return load_plugin("housequest.runs", name, "family of runs") if known else None


def family_of(folder: Path) -> RunFamily | None:
    """The family of the run in ``folder``, also of one that is damaged; None for a run of episodes, and for no run.

    Raises ``ConfigurationError``.
    """
    file = folder / "run.json"
    found = _FAMILY.search(read_bytes(file, LARGEST_MANIFEST)) if file.is_file() else None
    return family_named(found[1].decode()) if found else None


def family_of_sweep(folder: SweepFolder) -> RunFamily | None:
    """The family of the runs of a sweep, as far as it has begun; None for runs of episodes. Raises ``ConfigurationError``."""
    families = (family_of(folder.path / each.folder) for each in folder.contents().runs)
    return next(filter(None, families), None)
