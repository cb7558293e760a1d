"""``python -m housequest.agent.training``: a command for each step from games to the file that ships.

::

    data      play games with the expert           corpus/*.npz
    train     train, or resume training            run/checkpoint.pt
    own       let the model play (DAgger)          corpus/own-*.npz
    export    write the file that ships            builtin.weights
    evaluate  measure that file
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from housequest.agent.models.builtin.model import load_builtin
from housequest.agent.processes import processors
from housequest.agent.training import corpus
from housequest.agent.training.corpus import own_samples
from housequest.agent.training.evaluate import SETS, evaluate_model
from housequest.agent.training.steps import Steps, print_figures


def main(arguments: Sequence[str] | None = None) -> None:
    steps = Steps("housequest.agent.training", "Train the built-in model.", "corpus", "folder of the training data")
    data = steps.add_playing("data", _data, houses=3000)
    data.add_argument("--plans", type=int, default=5, help="prompts of the reasoner for each goal")
    train = steps.add_training(_train, steps=4000)
    train.add_argument("--rate", type=float, default=4e-3)
    train.add_argument("--width", type=int)
    train.add_argument("--layers", type=int)
    train.add_argument("--threads", type=int, default=2)
    train.add_argument("--share", action="append", default=[], metavar="PART=SHARE", help="share of a part; repeatable")
    train.add_argument("--begin", help="a checkpoint to start from")
    own = steps.add("own", _own, "let the model play, and label its games with the expert's replies")
    own.add_argument("file", type=Path)
    own.add_argument("--name", default="1")
    own.add_argument("--games", type=int, help="the most games of train")
    own.add_argument("--first", type=int, default=100_000, help="seed of the first made-up house")
    own.add_argument("--houses", type=int, default=2000)
    own.add_argument("--processes", type=int, default=processors(), help="processes that play at once; default: all processors")
    exporting = steps.add_export(_export)
    exporting.add_argument("--besides", type=Path, action="append", default=[], metavar="RUN", help="average with this run too")
    steps.add_evaluation(_evaluate, SETS)
    steps.run(arguments)


def _data(given: argparse.Namespace) -> None:
    names = ("passes", "plans", "houses", "games", "human")
    counted = corpus.make_corpus(given.corpus, given.games_folder, given.seed, **{name: getattr(given, name) for name in names})
    print(json.dumps(counted, indent=1))


def _train(given: argparse.Namespace) -> None:
    from housequest.agent.training.optimise import Recipe, train

    options = {name: getattr(given, name) for name in ("rate", "seed", "threads", "begin", "device")}
    recipe = Recipe(_shares(given.share, given.corpus), given.steps, **options)
    if given.width or given.layers:
        width = given.width or recipe.shape.width
        hidden = round(width * 8 / 3 / 32) * 32
        shape = replace(recipe.shape, width=width, heads=width // 32, hidden=hidden, layers=given.layers or recipe.shape.layers)
        recipe = replace(recipe, shape=shape)
    train(given.corpus, given.run_folder, recipe)


def _own(given: argparse.Namespace) -> None:
    corpus.refuse_evaluation(given.first, given.houses)
    playing = (given.games, given.first, given.houses, given.processes)
    samples = own_samples(given.file, given.games_folder, given.seed, *playing)
    part = corpus.encoded(samples, corpus.load_vocabulary(given.corpus))
    part.save(given.corpus / f"own-actor-{given.name}.npz")
    print(json.dumps({"samples": len(part), "tokens": len(part.tokens)}))


def _export(given: argparse.Namespace) -> None:
    from housequest.agent.training.optimise import export_network

    export_network(given.corpus, given.run_folder, given.file, given.besides)


def _evaluate(given: argparse.Namespace) -> None:
    model = load_builtin(given.file)
    print_figures(evaluate_model(model, given.sets, data=given.games_folder, limit=given.limit), given.out)


def _shares(given: Sequence[str], folder: Path) -> dict[str, float]:
    if given:
        return {name: float(share) for name, share in (one.split("=", 1) for one in given)}
    shares = {"actor-train": 0.33, "actor-made-up": 0.3, "reasoner-train": 0.3, "reasoner-made-up": 0.07}
    return shares | {file.stem: 0.4 for file in sorted(folder.glob("own-*.npz"))}


if __name__ == "__main__":
    main()
