"""The rulebooks that ship: whole, in words that help, with witnesses that name no machine, and out of `train` alone."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import Event, Stepped
from housequest.agent.episodes.loop import run_episode
from housequest.knowledge.rulebook import library
from housequest.knowledge.rules import Rule
from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.household.goals import TASK_TYPES
from housequest.worlds.registry import make_world
from scripts.clumsy import Clumsy
from scripts.make_books import MOST, main

BOOKS = ("human", "learned")
_WITNESS = re.compile(r"books-(?:expert|clumsy)/\d{4}-train-[A-Za-z0-9_.-]+/\d+", re.ASCII)


def rules(name: str) -> tuple[Rule, ...]:
    shelf = library()
    assert shelf.is_shipped(shelf.find(name))
    return shelf.open(name).rules


@pytest.mark.parametrize("name", BOOKS)
def test_a_book_that_ships_is_accepted_and_not_contradicted(name: str) -> None:
    for rule in rules(name):
        assert rule.status == "accepted"
        assert rule.standing == ("undecided" if rule.kind == "strategy" and not rule.check else "supported"), rule.id
        assert len(rule.statement) < 260


@pytest.mark.parametrize("name", BOOKS)
def test_its_witnesses_are_of_train_and_of_no_machine(name: str) -> None:
    checked = [rule for rule in rules(name) if rule.check]
    assert checked
    for rule in checked:
        assert rule.evidence.witnesses
        assert all(_WITNESS.fullmatch(each) for each in (*rule.evidence.witnesses, *rule.evidence.against))
    assert "valid_" not in library().open(name).text


def test_the_rules_of_a_person_say_what_they_concern() -> None:
    human = rules("human")
    known = {thing for room in load_counts().rooms.values() for kinds in (room.objects, room.receptacles) for thing in kinds}
    assert 15 <= len(human) <= 30
    assert {rule.kind for rule in human} == {"mechanic", "affordance", "location", "strategy"}
    assert all(set(rule.types) <= set(TASK_TYPES) and set(rule.objects) <= known for rule in human)
    assert {kind for rule in human for kind in rule.types} >= set(TASK_TYPES) - {"pick_and_place_simple"}
    assert all((rule.origin.source, rule.by) == ("person", "person") for rule in human)
    for rule in human:
        assert all(_WITNESS.fullmatch(each) for each in rule.evidence.witnesses)
        assert rule.evidence.witnesses, "advice has moments that show it"
        assert bool(rule.evidence) == bool(rule.check), "and nothing is counted for it"


def test_what_was_learned_is_of_a_size_and_says_that_no_model_was_used() -> None:
    book = library().open("learned")
    assert len(book.rules) <= MOST
    assert "no model was used" in book.text.splitlines()[0]
    assert {rule.by for rule in book.rules} == {"evidence"}


def test_clumsy_play_is_often_refused_and_the_same_again() -> None:
    world = make_world("alfworld")

    def play() -> list[Event]:
        events: list[Event] = []
        env = world.open(world.task("generated:690"))
        listen = lambda event: events.append(event) if isinstance(event, Event) else None  # noqa: E731
        asyncio.run(run_episode(env, Clumsy(world.expert()), EpisodeConfig(world), listen))
        env.close()
        return events

    once = play()
    assert play() == once
    steps = [event.body for event in once if isinstance(event.body, Stepped)]
    assert {step.accepted for step in steps} == {True, False}


@pytest.mark.slow
@pytest.mark.games
def test_the_books_are_what_the_games_make_of_them(alfworld_games: Path, tmp_path: Path) -> None:
    assert main(["--runs", str(tmp_path / "runs"), "--check"]) == 0
