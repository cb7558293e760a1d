"""Other formats of a run's report: a part or a package declares each in the group ``housequest.reports``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from housequest.agent.evaluation.runs.folder import RunFolder


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """A format, whose name is an option of ``housequest report`` that takes a file; ``help`` is that option's.

    ``write`` writes the file and returns how many episodes are in it. It raises ``ConfigurationError``.
    """

    help: str
    write: Callable[[RunFolder, Path], int]
