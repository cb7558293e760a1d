"""The command line of a training, with a command for each step from games to the file that ships."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from housequest.agent.training.evaluate import lines
from housequest.worlds.errors import HousequestError
from housequest.worlds.paths import atomic_write

Run = Callable[[Namespace], None]


class Steps:
    """A parser with the commands and options that every training has: play games, train, export and evaluate. ``folder`` is the
    name of the option for the folder of training data, and ``about`` its help."""

    def __init__(self, program: str, description: str, folder: str, about: str) -> None:
        self._parser = ArgumentParser(f"python -m {program}", description=description)
        self._steps = self._parser.add_subparsers(required=True, metavar="STEP")
        self._folder, self._about = folder, about

    def add(self, name: str, run: Run, about: str) -> ArgumentParser:
        one = self._steps.add_parser(name, help=about, description=about)
        one.set_defaults(run=run)
        one.add_argument(f"--{self._folder}", type=Path, default=Path(self._folder), help=self._about)
        one.add_argument("--run", dest="run_folder", type=Path, default=Path("run"), help="folder of the checkpoint and record")
        one.add_argument("--data", dest="games_folder", type=Path, help="folder of the published games, else $ALFWORLD_DATA")
        one.add_argument("--seed", type=int, default=1)
        return one

    def add_playing(self, name: str, run: Run, *, houses: int) -> ArgumentParser:
        """Add the step that plays games."""
        one = self.add(name, run, "play the games of train and made-up houses with the expert")
        one.add_argument("--passes", type=int, default=2, help="plays of each game of train")
        one.add_argument("--houses", type=int, default=houses, help="number of made-up houses")
        one.add_argument("--games", type=int, help="the most games of train")
        one.add_argument("--no-human", dest="human", action="store_false", help="leave out the annotators' sentences")
        return one

    def add_training(self, run: Run, *, steps: int) -> ArgumentParser:
        """Add the step that trains."""
        one = self.add("train", run, "train, or resume an interrupted run")
        one.add_argument("--steps", type=int, default=steps)
        one.add_argument("--device", default="cpu", help="where PyTorch computes, for example cuda")
        return one

    def add_export(self, run: Run) -> ArgumentParser:
        """Add the step that writes a file and prints its size."""

        def export(given: Namespace) -> None:
            run(given)
            print(f"{given.file}: {given.file.stat().st_size:,} bytes")

        one = self.add("export", export, "write the file that ships")
        one.add_argument("file", type=Path)
        return one

    def add_evaluation(self, run: Run, sets: Sequence[str]) -> ArgumentParser:
        """Add the step that measures a file on ``sets`` of games."""
        one = self.add("evaluate", run, "measure a file, or the one that ships")
        one.add_argument("file", type=Path, nargs="?")
        one.add_argument("--sets", nargs="+", choices=sets, default=sets, help="the sets to measure; default: all")
        one.add_argument("--limit", type=int, help="the most games of each set")
        one.add_argument("--out", type=Path, help="write all figures and lost games to this JSON file")
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


def print_figures(found: Iterable[Mapping[str, Any]], out: Path | None) -> None:
    """Print figures as they come, and write them to ``out``."""
    kept: list[Mapping[str, Any]] = []
    for figures in found:
        print("\n".join(lines(figures)), flush=True)
        kept.append(figures)
    if out:
        atomic_write(out, json.dumps(kept, indent=1).encode())
