"""``python -m agent.training``: the steps from games to the file that ships, one command each.

::

    data      play the expert's games              corpus/*.npz
    train     train, or go on training             run/checkpoint.pt
    own       let what was trained play (DAgger)   corpus/own-*.npz
    export    make the file that ships             builtin.weights
    evaluate  measure that file
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from agent.training.held_out import SETS
from worlds.errors import HousequestError


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one step. What cannot be done ends the program with its reason."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        given.run(given)
    except HousequestError as error:
        parser.exit(2, f"{error}\n")
    except FileNotFoundError as error:
        parser.exit(2, f"There is no {error.filename}; the steps before make it: data, train, export.\n")
    except ModuleNotFoundError as error:
        parser.exit(2, f'{error.name} is not installed: pip install "housequest[train]".\n')


def _data(given: argparse.Namespace) -> None:
    from agent.training.corpus import CorpusSize, make_corpus

    extent = CorpusSize(given.passes, given.plans, given.houses, games=given.games, human=given.human)
    print(json.dumps(make_corpus(given.corpus, given.games_folder, given.seed, extent), indent=1))


def _train(given: argparse.Namespace) -> None:
    from agent.training.optimise import Recipe, train

    recipe = Recipe(_shares(given.share, given.corpus), given.steps, rate=given.rate, seed=given.seed, threads=given.threads)
    if given.width or given.layers:
        width = given.width or recipe.shape.width
        hidden = round(width * 8 / 3 / 32) * 32
        shape = replace(recipe.shape, width=width, heads=width // 32, hidden=hidden, layers=given.layers or recipe.shape.layers)
        recipe = replace(recipe, shape=shape)
    train(given.corpus, given.run_folder, replace(recipe, begin=given.begin))


def _own(given: argparse.Namespace) -> None:
    import asyncio

    from agent.models.builtin.model import load_builtin
    from agent.training.corpus import encoded, load_vocabulary, made_up_games, train_games
    from agent.training.own import ModelPlayer, actor_samples, reasoner_samples

    vocabulary = load_vocabulary(given.corpus)
    own = ModelPlayer(load_builtin(given.file), asyncio.new_event_loop())
    train = list(train_games(given.games_folder, given.games, human=given.human))
    houses = made_up_games(given.first, given.houses, given.seed)
    actor = encoded(actor_samples(chain(train, houses), own, given.seed), vocabulary)
    actor.save(given.corpus / f"own-actor-{given.name}.npz")
    reasoner = encoded(reasoner_samples(train, own, given.seed), vocabulary)
    if len(reasoner):
        reasoner.save(given.corpus / f"own-reasoner-{given.name}.npz")
    print(json.dumps({"actor": len(actor), "reasoner": len(reasoner)}))


def _export(given: argparse.Namespace) -> None:
    from agent.training.export import export

    export(given.corpus, given.run_folder, given.file, given.besides)
    print(f"{given.file}: {given.file.stat().st_size:,} bytes")


def _evaluate(given: argparse.Namespace) -> None:
    from agent.models.builtin.model import load_builtin
    from agent.training.evaluate import evaluate

    found = evaluate(load_builtin(given.file), given.sets or SETS, data=given.games_folder, limit=given.limit)
    if given.out:
        given.out.write_text(json.dumps(found, indent=1), "utf-8")


def _shares(given: Sequence[str], corpus: Path) -> dict[str, float]:
    """The shares that were given; else the usual ones, with a third for the model's own play where there is some."""
    if given:
        return {name: float(share) for name, share in (one.split("=", 1) for one in given)}
    shares = {"actor-train": 0.33, "actor-made-up": 0.3, "reasoner-train": 0.3, "reasoner-made-up": 0.07}
    own = sorted(file.stem for file in corpus.glob("own-*.npz"))
    weights = {name: 0.4 if "actor" in name else 0.1 for name in own}
    return shares | {name: weight / max(1, len(own) / 2) for name, weight in weights.items()}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m agent.training", description="Train the built-in model.")
    steps = parser.add_subparsers(required=True)

    def step(name: str, run: object, about: str) -> argparse.ArgumentParser:
        one = steps.add_parser(name, help=about, description=about)
        one.set_defaults(run=run)
        one.add_argument("--corpus", type=Path, default=Path("corpus"), help="folder of the training data")
        one.add_argument("--run", dest="run_folder", type=Path, default=Path("run"), help="folder of checkpoint and record")
        one.add_argument("--data", dest="games_folder", type=Path, help="folder of the published games, else $ALFWORLD_DATA")
        one.add_argument("--seed", type=int, default=1)
        return one

    data = step("data", _data, "play the games of train and made-up houses with the expert")
    data.add_argument("--passes", type=int, default=2, help="how often each game of train is played")
    data.add_argument("--plans", type=int, default=5, help="how often each goal is asked for")
    data.add_argument("--houses", type=int, default=3000, help="how many made-up houses")
    data.add_argument("--games", type=int, help="only so many games of train")
    data.add_argument("--no-human", dest="human", action="store_false", help="without the annotators' goals")
    train = step("train", _train, "train, or go on with what broke off")
    train.add_argument("--steps", type=int, default=4000)
    train.add_argument("--rate", type=float, default=4e-3)
    train.add_argument("--width", type=int)
    train.add_argument("--layers", type=int)
    train.add_argument("--threads", type=int, default=2)
    train.add_argument("--share", action="append", default=[], metavar="PART=SHARE", help="how much of a part is drawn")
    train.add_argument("--begin", help="a checkpoint to begin with")
    own = step("own", _own, "let the model play, and have the expert say what it should have done")
    own.add_argument("file", type=Path)
    own.add_argument("--name", default="1")
    own.add_argument("--games", type=int, help="only so many games of train")
    own.add_argument("--first", type=int, default=100_000, help="the first made-up house")
    own.add_argument("--houses", type=int, default=2000)
    own.add_argument("--no-human", dest="human", action="store_false", help="without the annotators' goals")
    export = step("export", _export, "write the file that ships")
    export.add_argument("file", type=Path)
    export.add_argument("--besides", type=Path, action="append", default=[], metavar="RUN", help="average with this run too")
    evaluate = step("evaluate", _evaluate, "measure a file")
    evaluate.add_argument("file", type=Path, nargs="?")
    evaluate.add_argument("--sets", nargs="+", choices=SETS, help="which sets; all by default")
    evaluate.add_argument("--limit", type=int, help="only so many games of each set")
    evaluate.add_argument("--out", type=Path, help="a JSON file for all figures, with the games that were lost")
    return parser


if __name__ == "__main__":
    main()
