"""Requests among players are read as they are meant, in wordings that the reader was not made on, too."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.skills.language import wording
from housequest.agent.skills.language.sentences import read
from housequest.worlds.registry import make_world
from scripts.bench.requests import opening, reads, wordings

SCENE = opening(make_world("alfworld"), 62_001)
LEAST, LEAST_HELD_OUT = 0.97, 0.9


@pytest.mark.heavy
def test_most_wordings_are_read_as_they_were_meant() -> None:
    for held_out, least in ((False, LEAST), (True, LEAST_HELD_OUT)):
        some = [one for one in wordings() if one.held_out is held_out]
        assert sum(reads(one, read(one.said, SCENE, company=True)) for one in some) >= least * len(some)


def test_no_kind_is_read_in_one_wording_alone() -> None:
    right = Counter(one.kind for one in wordings() if reads(one, read(one.said, SCENE, company=True)))
    assert len(right) == 22
    assert min(right.values()) >= 6


def test_several_requests_in_one_sentence_are_read_in_their_order() -> None:
    asked = read("Put the bowl on the countertop, and then come here.", SCENE, company=True).requests
    assert [one.kind for one in asked] == ["move", "come"]
    (split,) = read("I take the drawers and the fridge, you take the cabinets", SCENE, company=True).requests
    assert (split.places, split.theirs) == (("cabinet",), ("drawer", "fridge"))


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("you find the bread, I'll get the cups", ["hand bread", "keep cup"]),
        ("swap: you take the bread and I take the cups", ["hand bread", "keep cup"]),
        ("I'll put both forks in the drawer, you handle everything else", ["keep fork", "hand rest"]),
        ("I'll get the rest, you find the bread", ["hand bread", "keep rest"]),
        ("I'll cook the egg, you sort out the potato", ["keep egg", "hand potato"]),
        ("shall I take the cups or do you want to?", ["keep cup"]),
        ("bring me the bowl and the fork", ["bring bowl", "bring fork"]),
        ("put the bowl and the fork on the countertop", ["move bowl", "move fork"]),
        ("I'll do the bread and the cups", ["keep bread", "keep cup"]),
        ("don't put the fork in the sink, bring me the bowl", ["nothing fork", "bring bowl"]),
        ("no wait, do bring the bowl after all", ["bring bowl"]),
        ("there's a cup on the counter, can you take it?", ["found cup", "hand cup"]),
        ("don't bother with the bread, it's done", ["keep bread", "done bread"]),
        ("don't forget the bread", ["hand bread"]),
        ("look for the bread", ["hand bread"]),
        ("look for the bread in the fridge", ["split"]),
        ("can you check whether there is a cup in cabinet 2?", ["split"]),
        ("let's meet at the sink", ["stay"]),
        ("I don't need the bowl any more", ["nothing bowl"]),
        ("is the bread yours or mine?", ["who bread"]),
        ("how many cups are still missing?", ["who cup"]),
        ("which chores are mine?", ["left"]),
        ("do you need help?", ["left"]),
        ("take a break until I call you", ["wait"]),
        ("ok you can work again", ["go on"]),
        ("take the bread, heat it and throw it away", ["move bread"]),
        ("heat the bread and put it in the fridge", ["move bread"]),
        ("when will you be done with the bread?", ["who bread"]),
        ("how long will you need?", ["intent"]),
        ("are you following me?", ["intent"]),
        ("you can have the bread", ["hand bread"]),
        ("finish without me", ["go on"]),
        ("I'll open the fridge", ["own"]),
        ("let me carry that", ["own it"]),
        ("I'm going to the sink", ["own"]),
        ("I'll open the fridge and you take the bread", ["hand bread"]),
        ("I suggest that I do the cups", ["keep cup"]),
        ("I am holding the bread", ["keep bread"]),
        ("what happened to the bread?", ["who bread"]),
        ("I don't know what to do", ["left"]),
        ("I need to know where the bread is", ["where bread"]),
        ("not that one, the other one", ["correct"]),
        ("no, bowl 2", ["correct bowl 2"]),
    ],
)
def test_everyday_sentences_are_read_as_they_are_meant(said: str, kinds: list[str]) -> None:
    asked = read(said, SCENE, company=True)
    assert [f"{one.kind} {one.thing}".strip() for one in asked.requests] == kinds
    assert asked.refused is None


@pytest.mark.parametrize("said", ["stop following me", "quit following", "stop copying"])
def test_who_follows_is_stopped(said: str) -> None:
    assert [one.kind for one in read(said, SCENE, company=True).requests] == ["stop"]


def test_who_is_asked_where_they_are_tells_where_they_stand() -> None:
    assert [one.kind for one in read("where are you?", SCENE, company=True).requests] == ["here"]


@pytest.mark.heavy
def test_to_somebody_alone_nothing_is_a_request() -> None:
    assert all(not read(one.said, SCENE).requests for one in wordings())


@given(st.text(max_size=200) | st.lists(st.sampled_from(sorted(wording.everyday())), max_size=12).map(" ".join))
def test_any_text_is_read_among_players(said: str) -> None:
    for one in read(said, SCENE, company=True).requests:
        assert one.kind
