"""Runs as logs of inspect_ai, and a task of it that plays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from housequest.agent.evaluation.parts import ReportFormat

if TYPE_CHECKING:
    from housequest.agent.evaluation.runs.folder import RunFolder


def _write(run: RunFolder, file: Path) -> int:
    from housequest.agent.integrations.inspect_ai.log import write_inspect_log  # imports everything that reads a run

    return write_inspect_log(run, file)


LOG = ReportFormat("Also write a log of inspect_ai: FILE.eval or FILE.json.", _write, (".eval", ".json"))
