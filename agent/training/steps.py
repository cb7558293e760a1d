"""The command line of a training: a command for each step from games to the file that ships."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from housequest.agent.training.evaluate import lines
from housequest.worlds.errors import HousequestError


class Steps:
    """The parser. ``folder`` is the option that names the folder of what is learned from, ``about`` its help."""

    def __init__(self, program: str, description: str, folder: str, about: str) -> None:
        self._parser = ArgumentParser(f"python -m {program}", description=description)
        self._steps = self._parser.add_subparsers(required=True, metavar="STEP")
        self._folder, self._about = folder, about

    def add(self, name: str, run: Callable[[Namespace], None], about: str) -> ArgumentParser:
        """Add the step ``name``, with the options that all have."""
        one = self._steps.add_parser(name, help=about, description=about)
        one.set_defaults(run=run)
        one.add_argument(f"--{self._folder}", type=Path, default=Path(self._folder), help=self._about)
        one.add_argument("--run", dest="run_folder", type=Path, default=Path("run"), help="folder of the checkpoint and record")
        one.add_argument("--data", dest="games_folder", type=Path, help="folder of the published games, else $ALFWORLD_DATA")
        one.add_argument("--seed", type=int, default=1)
        return one

    def run(self, arguments: Sequence[str] | None) -> None:
        """Run one step; an error ends the program with status 2."""
        given = self._parser.parse_args(arguments)
        try:
            given.run(given)
        except HousequestError as error:
            self._parser.exit(2, f"{error}\n")
        except FileNotFoundError as error:
            made_by = ", ".join(name for name in self._steps.choices if name != "evaluate")
            self._parser.exit(2, f"There is no {error.filename}; the steps before make it: {made_by}.\n")
        except ModuleNotFoundError as error:
            self._parser.exit(2, f'{error.name} is not installed: pip install "housequest[train]".\n')


def add_evaluation(step: ArgumentParser, sets: Sequence[str]) -> None:
    """Add the options that every evaluation has."""
    step.add_argument("--sets", nargs="+", choices=sets, default=sets, help="what to measure; all by default")
    step.add_argument("--limit", type=int, help="at most so many games of each set")
    step.add_argument("--out", type=Path, help="write all figures and lost games to this JSON file")


def print_figures(found: Iterable[Mapping[str, Any]], out: Path | None) -> None:
    """Print figures as they are measured, and write them to ``out``."""
    kept: list[Mapping[str, Any]] = []
    for figures in found:
        print("\n".join(lines(figures)), flush=True)
        kept.append(figures)
    if out:
        out.write_text(json.dumps(kept, indent=1), "utf-8")


def print_size(file: Path) -> None:
    """Say how large an exported file is."""
    print(f"{file}: {file.stat().st_size:,} bytes")
