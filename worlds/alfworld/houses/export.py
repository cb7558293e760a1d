"""Exports a house as a game file that alfworld itself plays and collects.

Domain and grammar come from the installed alfworld, which is never imported, because importing it makes a folder. The problem
is rewritten from its parsed form, so that only things, facts and goal of a stranger's file get into the game; the goal sentence
must not be read as grammar. Before it is returned, the game is read back by the loader and won by the planner.
"""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from housequest.worlds.alfworld.engine.game import PLACEHOLDER, parse_game, read_published
from housequest.worlds.alfworld.engine.pddl import parse_problem, problem_text
from housequest.worlds.alfworld.engine.planner import Solution, plan
from housequest.worlds.alfworld.games import FILE, GAME_FILE, TRAJECTORY_FILE
from housequest.worlds.errors import ConfigurationError, GameError, shown, unquoted
from housequest.worlds.household.goals import TYPES
from housequest.worlds.household.planner import Unsolvable
from housequest.worlds.paths import atomic_write

if TYPE_CHECKING:
    from housequest.worlds.alfworld.world import AlfworldWorld


@dataclass(frozen=True, slots=True)
class Logic:
    """alfworld's PDDL domain and its grammar."""

    domain: str
    grammar: str


@dataclass(frozen=True, slots=True)
class Exported:
    """The two files of a game, and their folder in alfworld's layout, ``<task>/<trial>``."""

    folder: str
    game: bytes
    trajectory: bytes
    walkthrough: tuple[str, ...]


def installed_logic() -> Logic:
    """The installed alfworld's domain and grammar. Raises ``ConfigurationError`` if it is not installed."""
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
    """Export a task with the installed alfworld's logic. Raises ``TaskNotFound`` and what `export_game` raises."""
    logic = installed_logic()
    task = world.task(reference)
    # The number of a file depends on the order in which files were opened, so two could be exported to the same place.
    name = "_".join(Path(task.id).with_suffix("").parts[-2:])[-60:] if task.split == FILE else task.reference
    return export_game(*world.source(task), re.sub(r"\W+", "_", name, flags=re.ASCII), logic)


def export_game(problem: str, sentence: str, name: str, logic: Logic) -> Exported:
    """Make a game under ``logic``; ``name`` has letters, digits and ``_``. Raises ``GameError`` for an invalid game or one
    without a solution that was found, and ``ConfigurationError`` for unknown ``logic``.
    """
    origin = unquoted(name)
    read = parse_problem(problem, origin)
    parse_game(problem, sentence, origin)
    sentence = " ".join(sentence.split())
    if re.search(r'[\\#{}\[\]|"]', sentence):
        raise GameError(f"{origin}: its goal {shown(sentence)} would be read as grammar; write it in plain words.")
    game: dict[str, object] = {
        "pddl_domain": logic.domain,
        "grammar": logic.grammar.replace(PLACEHOLDER, sentence),
        "pddl_problem": problem_text(read, re.sub(r"[^A-Za-z0-9_]", "_", name)),
        "solvable": True,
    }
    try:
        file = read_published(json.dumps(game).encode(), origin)
    except GameError as error:
        raise ConfigurationError(f"The installed alfworld plays by rules that are not known here: {error}") from error
    outcome = plan(file.game(origin))
    if isinstance(outcome, Unsolvable):
        raise GameError(f"{origin}: nothing wins this game, and alfworld leaves such games out.")
    if not isinstance(outcome, Solution):
        raise GameError(f"{origin}: no way to win was found within {outcome.nodes:,} states, so none can be vouched for.")
    types = {hole: kind.removesuffix("type") for hole, kind in read.types.items()}
    thing, place, lamp = types["OBJECT"], types.get("RECEPTACLE", ""), types.get("LAMP", "")
    # What alfworld reads of a trajectory. The last part of a folder's name, the floor plan, is 0 for none.
    trajectory: dict[str, object] = {
        "task_id": f"trial_{name}",
        "task_type": TYPES[read.form],
        "pddl_params": {
            "object_target": thing,
            "parent_target": place,
            "toggle_target": lamp,
            "mrecep_target": "",
            "object_sliced": False,
        },
        "turk_annotations": {"anns": []},
    }
    parts = (re.sub(r"[^a-z0-9]", "_", part)[:60] for part in (thing, "none", place or lamp))
    return Exported(
        folder=f"{'-'.join((TYPES[read.form], *parts, '0'))}/trial_{re.sub(r'[^A-Za-z0-9]+', '_', name)}",
        game=json.dumps({**game, "walkthrough": outcome.commands}).encode(),
        trajectory=json.dumps(trajectory, indent=1).encode(),
        walkthrough=outcome.commands,
    )


def write_game(exported: Exported, to: Path, *, force: bool = False) -> Path:
    """Write the game to ``to``, a ``.tw-pddl`` or a folder, and return its path; beside a ``game.tw-pddl`` also the trajectory,
    which alfworld looks for. Raises ``ConfigurationError`` if files exist, unless ``force``, or cannot be written.
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
