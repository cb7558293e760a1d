"""``housequest verify``: whether the folders of runs are whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import finish, print_result

if TYPE_CHECKING:
    from housequest.agent.evaluation.runs.shard import Verification


def verify(
    runs: Annotated[list[Path], options.path_argument("RUN", "The folders of runs, or of sweeps.")],
    as_json: options.JsonOption = False,
) -> None:
    """Check that runs are whole. Every episode and every line must be what was written, and nothing may be gone.

    Exits with 1 if something is not.
    """
    found = [each for run in runs for each in _verified(run)]
    lines = (line for each in found for line in each.lines())
    print_result([each.data() for each in found], lines, as_json=as_json)
    if not all(each.whole for each in found):
        if any(each.tasks and not each.whole for each in found):
            terminal.note("The same `housequest eval` sets damaged episodes aside and plays them again.")
        finish(1)


def _verified(path: Path) -> list[Verification]:
    from housequest.agent.evaluation.parts import family_of, family_of_sweep
    from housequest.agent.evaluation.runs.folder import RunFolder
    from housequest.agent.evaluation.runs.shard import verify_run, verify_sweep
    from housequest.agent.evaluation.runs.sweep import SweepFolder

    folder = SweepFolder(path)
    if not folder.begun:
        family = family_of(path)
        return [family.verify(path) if family else verify_run(RunFolder(path))]
    if family_of_sweep(folder) is None:
        return verify_sweep(folder)
    places = [path / each.folder for each in folder.contents().runs]
    return [family.verify(place) for place in places if (family := family_of(place)) is not None]
