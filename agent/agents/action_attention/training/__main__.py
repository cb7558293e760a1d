"""``python -m housequest.agent.agents.action_attention.training``: a command for each step from games to the file that ships.

::

    plays     play games with the expert           plays/*.npz
    train     train, or resume training            run/checkpoint.pt
    export    write the file that ships            action-attention.weights
    evaluate  measure a file, or the one that ships
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from housequest.agent.agents.action_attention import ActionAttentionSettings
from housequest.agent.agents.action_attention.agent import ActionAttention
from housequest.agent.agents.action_attention.network import SHIPPED, load_policy
from housequest.agent.models.embeddings import make_embedder
from housequest.worlds.alfworld.text import HOUSEHOLD

try:
    from housequest.agent.agents.action_attention.training.plays import make_words, save_plays
    from housequest.agent.training.corpus import made_up_games, people_of_train, train_games
    from housequest.agent.training.evaluate import game_sets
    from housequest.agent.training.steps import Steps, print_figures
except ModuleNotFoundError as error:
    if error.name != "housequest.agent.training":
        raise
    sys.exit("`training` is not installed here, and so nothing can be trained.")

SETS = ("seen", "human", "houses", "habits")
"""The games of ``valid_seen`` with the templates' goals and with each annotator's, and made-up houses of two kinds."""

ARMS = {
    "alone": ActionAttentionSettings(plan=False, eliminate=False, again=True),
    "eliminate": ActionAttentionSettings(plan=False, again=True),
    "plan-track": ActionAttentionSettings(eliminate=False, again=True),
    "pet": ActionAttentionSettings(again=True),
    "alone-not-again": ActionAttentionSettings(plan=False, eliminate=False),
    "default": ActionAttentionSettings(),
}
"""The modules that are on: the rows of the paper's table 3; then none and all of them, without repeated commands."""


def evaluate(
    file: Path,
    sets: Sequence[str] = SETS,
    arms: Sequence[str] = tuple(ARMS),
    data: Path | None = None,
    limit: int | None = None,
    embedder: str = "",
) -> Iterator[dict[str, Any]]:
    """Yield the figures of each of ``sets`` with each of ``arms`` beside the expert's, as soon as they are measured."""
    policy = load_policy(file, embedder)
    for name in sets:
        for games in game_sets(name, data, limit):
            expert = games.expert()
            for arm in arms:
                yield games.measured(arm, ActionAttention(policy, HOUSEHOLD, ARMS[arm]), ("admissible",), expert)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one step; an error ends the program with status 2."""
    package, about = "housequest.agent.agents.action_attention.training", "Train the Action Attention agent."
    steps = Steps(package, about, "plays", "folder of the expert's plays")
    plays = steps.add_playing("plays", _plays, houses=3500)
    plays.add_argument("--embedder", help="learn by this model's vectors of texts: openai:NAME@URL or local:FOLDER")
    train = steps.add_training(_train, steps=3000)
    train.add_argument("--made-up", type=float, default=0.3, help="share of plays in made-up houses")
    train.add_argument("--human", type=float, default=0.5, help="share of people's words among whole goals")
    train.add_argument("--limit", type=int, help="at most so many plays of each kind")
    steps.add_export(_export)
    evaluating = steps.add_evaluation(_evaluate, SETS)
    evaluating.add_argument("--arms", nargs="+", choices=ARMS, default=tuple(ARMS), help="which modules are on; all by default")
    evaluating.add_argument("--embedder", default="", help="the embedding model that the file was trained with, if it was")
    steps.run(arguments)


def _plays(given: argparse.Namespace) -> None:
    words = make_words(people_of_train(given.games_folder) if given.human else ())
    games = train_games(given.games_folder, given.games, human=given.human)
    parts = {"train": games, "made-up": made_up_games(0, given.houses, given.seed)}
    embedder = make_embedder(given.embedder) if given.embedder else None
    counted = save_plays(given.plays, words, parts, passes=given.passes, seed=given.seed, embedder=embedder)
    print(json.dumps(counted, indent=1))


def _train(given: argparse.Namespace) -> None:
    from housequest.agent.agents.action_attention.training.optimise import AttentionRecipe, train

    shares = {"train": 1 - given.made_up, "made-up": given.made_up}
    recipe = AttentionRecipe(shares, given.steps, seed=given.seed, device=given.device, limit=given.limit, human=given.human)
    train(given.plays, given.run_folder, recipe)


def _export(given: argparse.Namespace) -> None:
    from housequest.agent.agents.action_attention.training.optimise import export

    export(given.plays, given.run_folder, given.file)


def _evaluate(given: argparse.Namespace) -> None:
    found = evaluate(given.file or SHIPPED, given.sets, given.arms, given.games_folder, given.limit, embedder=given.embedder)
    print_figures(found, given.out)


if __name__ == "__main__":
    main()
