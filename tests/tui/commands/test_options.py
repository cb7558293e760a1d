"""The options of all commands: a flag means the same everywhere."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, get_args

import typer.main

from housequest.agent.config import Grant
from housequest.tui.cli import app
from housequest.tui.commands.play import Drawing
from housequest.tui.screens import MODES
from housequest.tui.widgets.pixels import Pixels
from tests.parts import WHOLE

MEANINGS = {
    "--accept": "who accepts rules",
    "--dry-run": "show what would happen; train writes what would be learned from",
    "--games": "play so many games",
    "--grant": "what the agent sees beyond text",
    "--html": "also write a page",
    "--model": "the language model",
    "--out": "where the result goes",
    "--prompts-of": "the agent whose prompts the expert answers",
    "--save": "save in the book what was found",
    "--seed": "the seed of draws",
    "--status": "the rules with this status",
}
"""The flags of which `--help` says more in one command than in another, and their one meaning."""


def commands(found: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command below ``found``, with what it is called."""
    for word, each in getattr(found, "commands", {}).items():
        yield from commands(each, f"{name} {word}".strip())
    if not hasattr(found, "commands"):
        yield name, found


@WHOLE
def test_a_flag_means_the_same_in_all_commands() -> None:
    helps, kinds = defaultdict[str, set[str]](set), defaultdict[str, set[bool]](set)
    for name, command in commands(typer.main.get_command(app)):
        for each in command.params:
            for flag in (one for one in each.opts if one.startswith("--") and not getattr(each, "hidden", False)):
                assert each.help, f"{name} {flag} has no help"
                helps[flag].add(re.sub(r" \[[^]]*\](?=\.$)", "", each.help))  # without what holds where it is not given
                kinds[flag].add(each.is_flag)
    assert sorted(flag for flag, texts in helps.items() if len(texts) > 1) == sorted(MEANINGS)
    assert [flag for flag, found in kinds.items() if len(found) > 1] == []


def test_the_words_of_an_option_are_those_of_what_it_chooses() -> None:
    every = dict(commands(typer.main.get_command(app)))
    shown = {name: {each.name: each.metavar for each in every[name].params} for name in ("play", "replay")}
    assert shown["play"]["mode"] == "|".join(MODES)
    assert shown["replay"]["drawing"] == "|".join(get_args(Drawing))
    assert shown["play"]["pixels"] == shown["replay"]["pixels"] == "|".join(get_args(Pixels))


def test_the_help_of_eval_names_every_grant() -> None:
    (said,) = (each.help for each in dict(commands(typer.main.get_command(app)))["eval"].params if "--grant" in each.opts)
    assert [grant for grant in get_args(Grant) if not re.search(rf"\b{grant}\b", said)] == []
