"""Requests in a house with chores are carried out and answered in a sentence, never wrongly without a word about it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Turn, Unattended
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Ended, Event, Said, Started, Stepped
from housequest.agent.episodes.together import Partner, TogetherConfig, run_together
from housequest.agent.skills.language import wording
from housequest.agent.skills.obliging import LONGEST_ANSWER
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.env import shared_house
from housequest.worlds.registry import make_world
from housequest.worlds.shared import WAIT
from scripts.bench.requests import AGENT, HOUSE, PERSON, Afterwards, Asker, game, played, wordings
from tests.agent.episodes.attending import Back, Person
from tests.parts import needs

WORLD = AlfworldWorld()
TASK = WORLD.task(f"chores:{HOUSE}")
KINDS = tuple(dict.fromkeys(one.kind for one in wordings()))


def asked(*said: str, rounds: int = 20, holding: bool = False, agent: str = "expert") -> Afterwards:
    """A game in which the person says the first text, at once or once the agent holds something, and the others one a round
    before it."""
    before = dict(enumerate(said[1:], start=2))

    def when(turn: Turn) -> bool:
        others = turn.belief.others if turn.belief is not None else ()
        return turn.number > len(said) and (not holding or any(one.carried for one in others))

    return game(WORLD, TASK, Asker(said[0], "shelf 1", when, before=before), agent, rounds)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_the_expert_does_what_is_asked(kind: str) -> None:
    for one in [each for each in wordings() if each.kind == kind][:2]:
        outcome = played(WORLD, one)
        assert outcome.done, (one.said, outcome.answer)
        assert not outcome.silent
        assert len(outcome.answer) <= LONGEST_ANSWER


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["split", "hand", "bring", "stay", "come", "undo", "intent"])
def test_the_builtin_model_does_what_is_asked(kind: str) -> None:
    one = next(each for each in wordings() if each.kind == kind)
    outcome = played(WORLD, one, "builtin", rounds=16)
    assert outcome.done, (one.said, outcome.answer)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_builtin_model_does_all_that_is_asked(kind: str) -> None:
    for one in [each for each in wordings() if each.kind == kind][:2]:
        outcome = played(WORLD, one, "builtin")
        assert outcome.done, (one.said, outcome.answer)
        assert not outcome.silent


@pytest.mark.heavy
def test_to_ask_why_not_changes_nothing() -> None:
    skipped, asked_why = asked("thanks", "don't look in the fridge"), asked("why not the fridge?", "don't look in the fridge")
    assert asked_why.answer == "Because you asked me to skip it."
    assert asked_why.mine == skipped.mine


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("heat the fork for me", "A fork cannot be made hot."),
        ("put the bowl in the oven", "I know of no oven here."),
        ("put the bowl on the sofa", "There is no sofa here."),
        ("wait at cabinet 40", "There is no cabinet 40 here, only cabinet 1 to 13."),
        ("put the bowl in the toaster", "A bowl does not go into a toaster."),
        ("bring me the fridge", "A fridge cannot be carried."),
        ("take the sofa, I take the drawers", "There is no sofa here."),
        ("take care of the bowl", "No chore is about the bowl; tell me what to do with it."),
        ("don't put the bowl on the countertop", "I will not."),
        ("blorp the wug", 'I do not understand that; say it in other words, such as "bring me the bowl".'),
    ],
)
def test_what_cannot_be_done_is_said_and_costs_no_turn(said: str, answer: str) -> None:
    after = asked(said)
    assert after.answer == answer
    assert after.mine == asked("thanks").mine


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (("I'll do the bread", "you do the bread"), "The bread is yours. I drop it."),
        (("you do the bread", "I'll do the bread"), "I take the bread. I forget that you do it."),
        (("bring me the bowl", "put the fork in the sink"), "I drop the errand ("),
        (("bring me the bowl", "put the egg on the countertop", "wait"), "I drop the errand"),
        (
            ("no, the other fork", "bring me the fork"),
            "I have not seen another fork yet; I look for it and bring it to you. I drop the errand (",
        ),
        (("I meant the bowl", "bring me the fork"), "I bring bowl 1 to you. "),
        (("I meant drawer 2", "open drawer 3"), "I open drawer 2. "),
        (("no, drawer 2", "wait at drawer 3"), "I wait at drawer 2. "),
        (("no, drawer 2", "go to drawer 3"), "I go to drawer 2. "),
        (("no, in the sink", "put the fork in drawer 2"), "I put fork 3 on sinkbasin 1. "),
        (("no, in the sink", "thanks"), "Tell me what to do about the sinkbasin."),
        (("I'll get the bowl", "bring me the bowl"), "No chore is about the bowl, and I leave it alone. I drop it."),
        (("I'll open the fridge", "thanks"), "Good, you do that."),
        (("put the fork in the sink instead of the drawer", "thanks"), "I put fork 3 on sinkbasin 1."),
        (("I do the bread, you do the rest", "thanks"), "The bread is yours. I take the rest."),
        (("heat the bread and throw it away", "thanks"), "I have not seen a bread yet; I look for it, heat it and put it on"),
        (("wash the fork and put it in drawer 2", "thanks"), "I clean fork 3 and put it on drawer 2."),
        (("shall we meet in the middle?", "thanks"), "I do not understand that"),
        (("come here when you are done", "bring me the bowl"), "I come to you at shelf 1."),
        (("follow me", "bring me the bowl"), 'I follow Ann. I drop the errand ("I bring bowl 1 to you").'),
        (("stop that", "bring me the bowl"), 'I stop, until you say go on. I drop the errand ("I bring bowl 1 to you").'),
        (("put the fork in the sink", "follow me"), "I no longer follow Ann."),
        (("you do the bread", "follow me"), "I take the bread. I no longer follow Ann."),
        (("wait", "follow me"), "I wait, until you say go on. I no longer follow Ann."),
        (("follow me", "follow me"), "I follow Ann."),
        (("check the drawers", "I check the drawers"), "I take the drawers."),
        (("go on", "wait"), "I go on: "),
        (("what are you doing?", "wait"), "I wait, until you say go on."),
        (("what are you doing?", "follow me"), "I follow Ann."),
        (("what did I ask you to do?", "I'll do the bread"), "The bread is yours."),
        (("who does the bread?", "I'll do the bread"), "Hot bread in fridge: not done yet (you)."),
        (("who has the bread?", "thanks"), "I have not seen it yet."),
        (("where are you?", "wait"), " I wait, until you say go on."),
        (("how many rounds are left?", "thanks"), "There are "),
        (("put the mug down", "thanks"), "I hold nothing."),
    ],
)
def test_the_newest_request_counts_and_the_older_one_is_said_to_be_dropped(said: Sequence[str], answer: str) -> None:
    assert answer in asked(*said).answer


@pytest.mark.parametrize(
    ("said", "answer", "given"),
    [
        (
            "bring me both forks",
            "I bring fork 3 to you. I have not seen another fork yet; I look for it and bring it to you.",
            ["fork 3", "fork 1"],
        ),
        ("bring me all the forks", "I bring fork 3 to you. I know of no other fork.", ["fork 3"]),
        ("bring me a fork", "I bring fork 3 to you.", ["fork 3"]),
        ("bring me the fork and a spoon", "I bring fork 3 to you. I bring spoon 2 to you.", ["fork 3"]),
        ("wash the fork and bring me the fork", "I clean fork 3 and bring it to you. I bring fork 3 to you.", ["fork 3"]),
    ],
)
def test_as_many_are_brought_as_are_asked_for(said: str, answer: str, given: list[str]) -> None:
    outcome = asked(said, rounds=24)
    taken = [
        deed.command.removeprefix("take ") for deed in outcome.after if deed.player == AGENT and "take fork" in deed.command
    ]
    assert (outcome.answer, [one.partition(" from ")[0] for one in taken]) == (answer, given)


@pytest.mark.heavy
def test_the_builtin_model_opens_the_place_it_brings_a_thing_to_before_the_place_it_shall_search() -> None:
    asker = Asker("start with the fridge", "shelf 1", lambda turn: turn.number == 3)
    after = game(WORLD, WORLD.task("chores:5"), asker, "builtin", 8)
    assert not after.refused
    assert "move fork 2 to drawer 1" in after.mine


def test_places_are_opened_and_gone_to() -> None:
    after = asked("open drawer 2")
    assert after.answer == "I open drawer 2."
    assert after.mine[:2] == ["go to drawer 2", "open drawer 2"]
    assert asked("look in the drawers").answer == "I take the drawers."
    assert asked("go to the fridge").mine[0] == "go to fridge 1"


@needs("graphs")
@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("I'll do the apple", "The apple is yours."),
        ("you do the cupcake", "I take the cupcake."),
        ("heat the apple", "There is no way to heat things in this house."),
        ("wait", "I wait, until you say go on."),
    ],
)
def test_in_an_apartment_nothing_is_promised_that_is_not_kept(said: str, answer: str) -> None:
    world = make_world("household-graph")
    assert game(world, world.task("generated:1"), Asker(said, "nowhere 1"), rounds=6).answer == answer


@needs("graphs")
def test_in_an_apartment_what_somebody_keeps_is_left_to_them() -> None:
    world = make_world("household-graph")
    after = game(world, world.task("generated:1"), Asker("I'll do the apple", "nowhere 1"), rounds=20)
    grabbed = [one for one in after.mine if one.startswith("grab ")]
    assert grabbed and not any("apple" in one for one in grabbed)


@needs("graphs")
@pytest.mark.heavy
def test_in_an_apartment_the_places_are_divided() -> None:
    world = make_world("household-graph")
    task = world.task("generated:1")
    visits = {
        said: [
            command
            for command in game(world, task, Asker(said, "nowhere 1"), rounds=12).mine
            if command.startswith("walk to kitchencabinet")
        ]
        for said in ("hello", "you take the cupboards", "I take the cupboards")
    }
    assert len(visits["you take the cupboards"]) > len(visits["hello"])
    assert not visits["I take the cupboards"]


@needs("graphs")
def test_in_an_apartment_full_hands_put_nothing_down_in_a_room() -> None:
    world = make_world("household-graph")
    before = {3: "bring me the plate"}
    asker = Asker("no, the other one", "nowhere 1", lambda turn: turn.number == 6, before=before)
    after = game(world, world.task("generated:1"), asker, rounds=14)
    assert "another plate" in after.answer
    assert not after.refused


def test_what_is_not_understood_beside_a_request_is_said() -> None:
    assert asked("I take the drawers, and grab the oven").answer == 'You take the drawers. I do not understand "grab the oven".'


def test_what_is_in_the_hand_is_put_down_first_and_never_lost() -> None:
    after = asked("bring me the bowl", holding=True)
    held = next(one.command.split(" from ")[0][5:] for one in reversed(after.before) if one.command.startswith("take "))
    assert f"First I put down {held}." in after.answer
    assert after.mine[0].startswith(("go to ", f"move {held} to "))
    assert any(one.startswith(f"move {held} to ") for one in after.mine)
    stopped = asked("stop", holding=True)
    assert "I still hold" in stopped.answer
    assert set(stopped.mine) == {WAIT}


def test_a_thing_that_the_chores_want_where_it_is_is_taken_away_only_if_asked_twice() -> None:
    after = game(WORLD, TASK, Asker("bring me the kettle", "shelf 1", lambda turn: turn.number == 12), rounds=16)
    assert "say it again" in after.answer
    assert not any(one.startswith("take kettle") for one in after.mine)
    before = {12: "bring me the kettle"}
    again = game(
        WORLD, TASK, Asker("bring me the kettle!", "shelf 1", lambda turn: turn.number == 13, before=before), rounds=24
    )
    assert any(one.startswith("give kettle") for one in again.mine)


def test_what_a_person_keeps_is_brought_to_them_if_the_agent_holds_it() -> None:
    after = game(WORLD, TASK, Asker("I'll do the kettle", "shelf 1", lambda turn: turn.number > 4), rounds=14)
    assert after.answer == "The kettle is yours; I bring you kettle 2."
    assert "give kettle 2 to Ann" in after.mine


def test_with_full_hands_the_thing_is_put_down_beside_the_person() -> None:
    walks = {1: "countertop 2", 2: "countertop 2"}
    asker = Asker("bring me the bowl", "shelf 1", lambda turn: turn.number >= 3, walks=walks)
    after = game(WORLD, TASK, asker, rounds=20)
    assert any(one.startswith(("give bowl", "move bowl")) for one in after.mine)


@pytest.mark.parametrize("agent", ["expert", pytest.param("builtin", marks=pytest.mark.heavy)])
@pytest.mark.parametrize(
    ("walks", "last"),
    [({5: "shelf 1"}, "give fork 3 to Ann"), ({}, "I cannot reach you, so I put fork 3 on ")],
    ids=["who comes", "who stays"],
)
def test_nobody_is_promised_a_thing_where_it_cannot_be_handed_over(agent: str, walks: dict[int, str], last: str) -> None:
    """The person stands in the middle of the room, at no place."""
    after = game(WORLD, TASK, Asker("bring me the fork", "nowhere 1", walks=walks), agent, 16)
    assert "bring fork 3 to you; stand at a place, where I can hand it over." in after.answer
    assert "I have fork 3; stand at a place where I see you, and I hand it over." in after.said
    assert any(one.startswith(last) for one in (*after.mine, *after.said))
    assert after.mine.count(WAIT) <= 6


@pytest.mark.parametrize("obey", ["people", "all"])
def test_agents_are_heard_and_people_are_obeyed(obey: str) -> None:
    said, deeds = list[tuple[str | None, str]](), list[tuple[str | None, str]]()
    starts = list[Started]()

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event) and isinstance(event.body, Said):
            said.append((event.player, event.body.text))
        if isinstance(event, Event) and isinstance(event.body, Stepped):
            deeds.append((event.player, event.body.command))
        if isinstance(event, Event) and isinstance(event.body, Started):
            starts.append(event.body)

    talker = Asker("wait", "shelf 1", name="talker")
    partners = [
        Partner(PERSON, talker, EpisodeConfig(WORLD, max_turns=8)),
        Partner(AGENT, make_agent("expert", world=WORLD), EpisodeConfig(WORLD)),
    ]
    company = TogetherConfig(obey="all" if obey == "all" else "people")
    ended = asyncio.run(run_together(shared_house(WORLD, TASK, (PERSON, AGENT)), partners, listen, company))
    assert ended.assisted is False
    assert starts[0].obey == obey
    assert ((AGENT, "I wait, until you say go on.") in said) == (obey == "all")
    assert ((AGENT, WAIT) in deeds) == (obey == "all")


def test_words_are_no_help_and_going_back_takes_them_back() -> None:
    told, ends = list[Event](), list[Ended]()

    def play(attending: Person | None) -> list[tuple[str | None, str]]:
        told.clear()

        def listen(event: Event | CallTiming) -> None:
            if isinstance(event, Event):
                told.append(event)
            if attending is not None:
                attending.hear(event)

        partners = [
            Partner(
                PERSON, Asker("bring me the bowl", "shelf 1"), EpisodeConfig(WORLD, max_turns=10), attending or Unattended()
            ),
            Partner(AGENT, make_agent("expert", world=WORLD), EpisodeConfig(WORLD)),
        ]
        ends.append(asyncio.run(run_together(shared_house(WORLD, TASK, (PERSON, AGENT)), partners, listen)))
        return [(one.player, one.body.command) for one in told if isinstance(one.body, Stepped) and one.player == AGENT]

    straight = play(None)
    assert not ends[0].assisted
    played_again = play(Person(ends=[Back(3)]))
    # The person asked in round 3, before the place to which it goes back: the errand is still known, and all goes on as before.
    assert played_again[-7:] == straight[-7:]
    assert played_again[:10] == straight


WORDS = st.lists(st.sampled_from(sorted(wording.everyday())), max_size=8).map(" ".join)
MIXED = st.lists(st.sampled_from([one.said for one in wordings()]), min_size=1, max_size=3).map(", ".join)


@pytest.mark.heavy
@settings(max_examples=30, deadline=None)
@given(st.text(max_size=100) | WORDS | MIXED)
def test_no_sentence_makes_an_agent_fail_or_do_what_is_impossible(said: str) -> None:
    impossible = list[str]()

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event) and isinstance(event.body, Stepped) and event.player == AGENT:
            # It may stand at a place without knowing it.
            impossible.extend({event.body.command} if not event.body.accepted and "go to " not in event.body.command else ())

    partners = [
        Partner(PERSON, Asker(said, "shelf 1"), EpisodeConfig(WORLD, max_turns=12)),
        Partner(AGENT, make_agent("expert", world=WORLD), EpisodeConfig(WORLD)),
    ]
    ended = asyncio.run(run_together(shared_house(WORLD, TASK, (PERSON, AGENT)), partners, listen))
    assert ended.outcome in ("lost", "won"), ended
    assert not impossible
