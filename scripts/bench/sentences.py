"""Everyday sentences of players and of people beside an agent, and the share that is understood.

The sentences were written from transcripts alone, without a look at the reader; since then it was developed on them.
Those marked as fresh were written for a player's line before a look at which verbs the reader knows: it read 51 of the 75.
An act counts without the walking, opening and taking on the way to it, and a coach's "go there" like "look there".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from ruamel.yaml import YAML

from housequest.agent.skills.language.sentences import Surroundings, Understood, read
from housequest.worlds.household.base import with_belief
from housequest.worlds.registry import make_world

SENTENCES = Path(__file__).parents[2] / "tests" / "agent" / "skills" / "language" / "sentences.yaml"
_KITCHEN = ("go to fridge 1", "open fridge 1", "go to countertop 1", "go to cabinet 1", "open cabinet 1", "go to sinkbasin 1")
SITUATIONS: Mapping[str, tuple[str, str, Sequence[str]]] = {
    "kitchen": ("alfworld", "generated:15", _KITCHEN),
    "at first": ("alfworld", "generated:15", ()),
    "carrying": ("alfworld", "generated:15", (*_KITCHEN, "take egg 2 from sinkbasin 1", "go to fridge 1")),
    "bedroom": (
        "alfworld",
        "generated:12",
        ("go to bed 1", "go to drawer 1", "open drawer 1", "go to dresser 1", "go to dresser 2"),
    ),
    "apartment": (
        "household-graph",
        "generated:1",
        ("walk to kitchencounter 2", "walk to kitchencounter 1", "grab apple 1", "walk to kitchentable 1"),
    ),
}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, how it was read, and whether that is what was meant. ``moved``: a question that moves somebody."""

    said: str
    groups: tuple[str, ...]
    reading: Understood
    right: bool
    moved: bool


def run(data: Path | None) -> Iterator[str]:
    """The shares by kind, speaker, voice and situation, and each sentence that is read otherwise."""
    del data
    every = list(sentences())
    total, right = Counter[str](), Counter[str]()
    for one in every:
        total.update(one.groups)
        right.update(one.groups if one.right else ())
    for group in total:
        yield f"{group}: {right[group]} of {total[group]} ({right[group] / total[group]:.0%})"
    yield f"{sum(one.moved for one in every)} questions move somebody (wanted: 0)"
    for one in every:
        if not one.right:
            yield f'{one.groups[1]}: "{one.said}" is read as {_shown(one.reading)}'


def sentences() -> Iterator[Sentence]:
    """Read every sentence in its situation."""
    entries: list[dict[str, Any]] = YAML(typ="safe").load(SENTENCES.read_text("utf-8"))  # pyright: ignore[reportUnknownMemberType]
    for entry in entries:
        player = entry["as"] == "player"
        reading = read(entry["say"], scene(entry["in"]), player=player)
        means: Any = entry["means"]
        meanings = cast("list[dict[str, Any]]", means if isinstance(means, list) else [means])
        groups = ("all", entry["kind"], f"as {entry['as']}", f"by {entry['voice']}", f"in {entry['in']}")
        if entry.get("fresh"):
            groups += ("fresh", f"fresh {entry['kind']}")
        right = any(_fits(meant, reading, player=player) for meant in meanings)
        moved = all("ask" in meant for meant in meanings) and bool(reading.acts)
        yield Sentence(entry["say"], groups, reading, right, moved)


@cache
def scene(name: str) -> Surroundings:
    """The situation of this name, as the player knows it."""
    world_name, task, commands = SITUATIONS[name]
    world = make_world(world_name)
    assert world.household is not None
    env = world.open(world.task(task))
    seen = with_belief(world.household, env.reset().observation)
    goal = seen.text.rpartition("Your task is to: ")[2]
    for command in commands:
        seen = with_belief(world.household, env.step(command).observation, seen.belief, command)
    assert seen.belief is not None
    return Surroundings(seen.belief, world.household, goal, tuple(commands))


def _fits(meant: Mapping[str, Any], reading: Understood, *, player: bool) -> bool:
    acts = reading.acts
    if set(meant) == {"look"} and player:
        # A player walks to the first of the places.
        return bool(acts) and any(acts[0].endswith(f" {place}") for place in meant["look"][:2])
    if set(meant) == {"do"} and not player and not acts and len(meant["do"]) == 1:
        there = re.fullmatch(r"(?:go|walk) to (.*)", meant["do"][0])
        return there is not None and reading.look == (there[1],)
    if meant.get("chat"):
        return not acts and (reading.chat or reading.empty or reading.control == "go on")
    moves = ("do" not in meant and acts) or (reading.look and not {"do", "look", "know", "avoid"}.intersection(meant))
    return not moves and all(_agrees(key, value, reading) for key, value in meant.items())


def _agrees(key: str, value: Any, reading: Understood) -> bool:
    match key:
        case "do":
            return _lean(reading.acts) == _lean(value)
        case "look":
            known = [place for _, place in reading.known]
            return set(reading.look or known) == set(value)
        case "avoid":
            return set(reading.avoid) == set(value)
        case "know":
            return {thing.split()[0]: place for thing, place in reading.known} == {
                thing.split()[0]: place for thing, place in value.items()
            } or list(reading.look) == list(value.values())
        case "ask":
            return reading.question is not None and reading.question.kind == value
        case "control":
            return reading.control == value
        case "cannot" | "choose":
            return not reading.acts and not reading.look and reading.refused is not None
        case "about":
            return True
        case _:
            return False


def _lean(acts: Sequence[str]) -> list[str]:
    """Commands without those that only lead to later ones."""
    lean = list[str]()
    for at, act in enumerate(acts):
        name = next(iter(re.findall(r"[a-z]\w* \d+", act)), "")
        leads = re.match(r"(?:go to|walk to|open|take|grab) ", act) is not None
        if not (leads and name and any(name in later for later in acts[at + 1 : at + 4])):
            lean.append(act)
    return lean


def _shown(reading: Understood) -> str:
    parts = {
        "do": ", ".join(reading.acts),
        "look": ", ".join(reading.look),
        "avoid": ", ".join(sorted(reading.avoid)),
        "know": ", ".join(f"{thing} in {place}" for thing, place in reading.known),
        "ask": "" if reading.question is None else reading.question.kind,
        "control": reading.control or "",
        "refused": reading.refused or "",
    }
    return "; ".join(f"{name}: {text}" for name, text in parts.items() if text) or "nothing"
