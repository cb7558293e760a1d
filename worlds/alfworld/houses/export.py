"""A house as a game file that alfworld itself plays, and that its collector of games takes.

Domain and grammar are those of the installed alfworld, which is looked for and never imported: importing it makes a folder. The
problem is written anew from what was read of it, so that nothing of a stranger's file but its things, facts and goal gets
into the game; the goal sentence is put into the grammar, where it must not be read as grammar. What is written is read back
by the loader and won by the planner before it is handed out.
"""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from worlds.alfworld.data.tasks import FILE, GAME_FILE, TRAJECTORY_FILE
from worlds.alfworld.engine.game import Published, parse_game, read_published
from worlds.alfworld.engine.pddl import Problem, parse_problem, problem_text
from worlds.alfworld.engine.planner import Solution, Unsolvable, plan
from worlds.errors import ConfigurationError, GameError, shown
from worlds.household.goals import TYPES
from worlds.paths import atomic_write

if TYPE_CHECKING:
    from worlds.alfworld.world import AlfworldWorld

_UNSET = "UNKNOWN GOAL."
"""Stands for the task sentence in the grammar that alfworld installs."""


@dataclass(frozen=True, slots=True)
class Logic:
    """The rules of the game in alfworld's own words: its PDDL domain and its grammar."""

    domain: str
    grammar: str


@dataclass(frozen=True, slots=True)
class Exported:
    """The two files of a game, and the folder in which alfworld's data would have them, ``<task>/<trial>``."""

    folder: str
    game: bytes
    trajectory: bytes
    walkthrough: tuple[str, ...]


def installed_logic() -> Logic:
    """What the installed alfworld plays by. Raises ``ConfigurationError`` where there is none."""
    spec = importlib.util.find_spec("alfworld")
    folders = spec.submodule_search_locations if spec else None
    if not folders:
        raise ConfigurationError(
            'Exporting needs the domain and grammar of alfworld, which is not installed: pip install "housequest[alfworld]".'
        )
    data = Path(folders[0]) / "data"
    try:
        return Logic(*((data / name).read_text("utf-8") for name in ("alfred.pddl", "alfred.twl2")))
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The alfworld in {shown(folders[0], 400)} has no domain and grammar that can be read ({error}); "
            'install it again: pip install --force-reinstall "housequest[alfworld]".'
        ) from error


def export_task(world: AlfworldWorld, reference: str) -> Exported:
    """The game of a task of ``world`` under the installed alfworld. Raises ``TaskNotFound`` and what `export` raises."""
    logic = installed_logic()
    task = world.task(reference)
    # A file's own number says only that it is the first one met, so that two would be exported to the same place.
    name = "_".join(Path(task.id).with_suffix("").parts[-2:])[-60:] if task.split == FILE else task.reference
    return export(*world.source(task), re.sub(r"\W+", "_", name, flags=re.ASCII), logic)


def export(problem: str, sentence: str, name: str, logic: Logic) -> Exported:
    """The game of a PDDL problem and a goal sentence under ``logic``; ``name`` is its own, of letters, digits and ``_``.

    Raises ``GameError`` for what is no game, or one that cannot be shown to have a solution, and ``ConfigurationError`` where
    ``logic`` is none that housequest knows.
    """
    origin = shown(name)[1:-1]
    read = parse_problem(problem, origin)
    parse_game(problem, sentence, origin)
    sentence = " ".join(sentence.split())
    if re.search(r'[\\#{}\[\]|"]', sentence):
        raise GameError(f"{origin}: its goal {shown(sentence)} would be read as grammar; write it in plain words.")
    game: dict[str, object] = {
        "pddl_domain": logic.domain,
        "grammar": logic.grammar.replace(_UNSET, sentence),
        "pddl_problem": problem_text(read, re.sub(r"[^A-Za-z0-9_]", "_", name)),
        "solvable": True,
    }
    walkthrough = _solved(_read_back(game, origin), origin)
    return Exported(
        folder=f"{_task_name(read)}/trial_{re.sub(r'[^A-Za-z0-9]+', '_', name)}",
        game=json.dumps({**game, "walkthrough": walkthrough}).encode(),
        trajectory=json.dumps(_trajectory(read, name), indent=1).encode(),
        walkthrough=walkthrough,
    )


def write(exported: Exported, to: Path, *, force: bool = False) -> Path:
    """Write the game, and return where it lies: ``to`` itself if it ends in ``.tw-pddl``, else under that folder.

    The trajectory is written beside a ``game.tw-pddl`` alone, which is what alfworld looks for; a game of another name may lie
    among others, and textworld plays it as it is. Raises ``ConfigurationError`` where files are there already, unless
    ``force``, or cannot be written.
    """
    try:
        path = to if to.suffix == Path(GAME_FILE).suffix and not to.is_dir() else to / exported.folder / GAME_FILE
        files = {path: exported.game}
        if path.name == GAME_FILE:
            files = {path.with_name(TRAJECTORY_FILE): exported.trajectory, **files}
        for file in files:
            if file.exists() and not force:
                raise ConfigurationError(f"{shown(str(file), 400)} is there already; --force writes it anew.")
        for file, content in files.items():
            atomic_write(file, content)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{shown(str(to), 400)} cannot be written: {error}.") from error
    return path


def _read_back(game: dict[str, object], origin: str) -> Published:
    try:
        return read_published(json.dumps(game).encode(), origin)
    except GameError as error:
        raise ConfigurationError(f"The installed alfworld plays by rules that are not known here: {error}") from error


def _solved(published: Published, origin: str) -> tuple[str, ...]:
    outcome = plan(parse_game(published.problem, published.sentence, origin, sinks_clean=published.sinks_clean))
    if isinstance(outcome, Solution):
        return outcome.commands
    if isinstance(outcome, Unsolvable):
        raise GameError(f"{origin}: nothing wins this game, and alfworld leaves such games out.")
    raise GameError(f"{origin}: no way to win was found within {outcome.nodes:,} states, so none can be vouched for.")


def _task_name(problem: Problem) -> str:
    """A folder's name as ALFRED makes them; its last part would be the floor plan, and is 0 for none."""
    types = {hole: kind.removesuffix("type") for hole, kind in problem.types.items()}
    target = types.get("RECEPTACLE") or types.get("LAMP", "")
    parts = (re.sub(r"[^a-z0-9]", "_", part)[:60] for part in (types["OBJECT"], "none", target))
    return "-".join((TYPES[problem.form], *parts, "0"))


def _trajectory(problem: Problem, name: str) -> dict[str, object]:
    """As much of a ``traj_data.json`` as alfworld reads: its collector the type, its expert the parameters."""
    types = {hole: kind.removesuffix("type") for hole, kind in problem.types.items()}
    return {
        "task_id": f"trial_{name}",
        "task_type": TYPES[problem.form],
        "pddl_params": {
            "object_target": types["OBJECT"],
            "parent_target": types.get("RECEPTACLE", ""),
            "toggle_target": types.get("LAMP", ""),
            "mrecep_target": "",
            "object_sliced": False,
        },
        "turk_annotations": {"anns": []},
    }
