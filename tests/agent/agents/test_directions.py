"""What a person's hint tells to do is read off its words, and done."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Accept, Again, Another, ProposalAnswer, Stop, Unattended
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.skills.language import sentences
from housequest.agent.skills.language.answers import Mind, answer
from housequest.agent.skills.language.directions import Directions, directed
from housequest.agent.skills.language.listening import Advice, cannot_follow, hear
from housequest.agent.skills.language.sentences import Surroundings, Understood
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.base import Observation, Transition
from housequest.worlds.household.belief import Belief
from housequest.worlds.registry import make_world
from tests.agent.agents.test_brief import Parrot, acts, planned

OPENING = Observation(
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 3, a cabinet 2, a cabinet 1, "
    "a countertop 2, a countertop 1, a fridge 1, a microwave 1, and a sinkbasin 1.\n\nYour task is to: put a mug in cabinet."
)


def belief(*told: tuple[str, str]) -> Belief:
    seen = HOUSEHOLD.begin(OPENING)
    for one in (Transition(command, Observation(text)) for command, text in told):
        seen = HOUSEHOLD.update(seen, one.command, one.observation)
    return seen


AT_FIRST = belief()
WITH_EGG = belief(
    ("go to countertop 1", "You arrive at countertop 1. On the countertop 1, you see a egg 1, and a mug 2."),
    ("take egg 1 from countertop 1", "You pick up the egg 1 from the countertop 1."),
)


def scene(known: Belief) -> Surroundings:
    return Surroundings(known, HOUSEHOLD, "put a mug in cabinet.")


def read(hint: str, known: Belief) -> Understood:
    return sentences.read(hint, scene(known))


def told_by(hint: str, known: Belief) -> Directions:
    told = directed(read(hint, known), scene(known))
    assert told is not None
    return told


def answered(question: str, known: Belief, mind: Mind) -> str:
    asked = read(question, known).question
    assert asked is not None
    return answer(asked, scene(known), mind)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("hint", "places"),
    [
        ("look in the cabinets", ("cabinet 1", "cabinet 2", "cabinet 3")),
        ("the mug is in cabinet 3", ("cabinet 3",)),
        ("go to countertop 1", ("countertop 1",)),
        ("it's in the third cabinet, I think", ("cabinet 3",)),
        ("try cabinet number two", ("cabinet 2",)),
        ("cabinets 2 and 3", ("cabinet 2", "cabinet 3")),
        ("Don't you think the fridge is worth a look?", ("fridge 1",)),
        ("not in the fridge, try the counter top 2", ("countertop 2",)),
        ("open the fridge", ("fridge 1",)),
        ("first the sink basin and then cabinet 1", ("sinkbasin 1", "cabinet 1")),
        ("its in the frige", ("fridge 1",)),
        ("not here! the fridge!", ("fridge 1",)),
        ("lok in cabinett 2", ("cabinet 2",)),
        ("in the cold box!!", ("fridge 1",)),
        ("you must to look in the micro wave", ("microwave 1",)),
        ("i think egg is at fridge", ("fridge 1",)),
        ("stop looking in the cabinets, try the fridge", ("fridge 1",)),
        ("dont look in the fridge, look on the worktop", ("countertop 1", "countertop 2")),
        ("forget the rest and visit cabinet 3", ("cabinet 3",)),
        ("forget about the fridge, go to cabinet 3", ("cabinet 3",)),
        ("should be inside of the 2nd cabinet", ("cabinet 2",)),
        ("the last cabinet", ("cabinet 3",)),
        ("in the second to last cabinet", ("cabinet 2",)),
        ("the last two cabinets", ("cabinet 2", "cabinet 3")),
        ("the second counter top", ("countertop 2",)),
        ("thrid cabinet", ("cabinet 3",)),
        ("the first or 3rd cabinet", ("cabinet 1", "cabinet 3")),
        ("cabinets two and three", ("cabinet 2", "cabinet 3")),
        ("open the cupboards one by one", ("cabinet 1", "cabinet 2", "cabinet 3")),
        ("the cabinet with the 3 on it", ("cabinet 3",)),
        ("not the first cabinet, the second", ("cabinet 2",)),
        ("all cabinets but the last one", ("cabinet 1", "cabinet 2")),
        ("nothing but the fridge", ("fridge 1",)),
        ("why not the fridge?", ("fridge 1",)),
        ("you have not looked in the fridge yet", ("fridge 1",)),
        ("in the chest of drawers or their fridge", ("fridge 1",)),
        ("next to the fridge", ("fridge 1",)),
        ("look in the cabinets first", ("cabinet 1", "cabinet 2", "cabinet 3")),
    ],
)
def test_places_are_read_as_people_name_them(hint: str, places: tuple[str, ...]) -> None:
    told = told_by(hint, AT_FIRST)
    assert (told.places, told.acts) == (places, ())


@pytest.mark.parametrize(
    ("hint", "place", "command"),
    [
        ("put it in the fridge", "fridge 1", "move egg 1 to fridge 1"),
        ("please heat the egg", "microwave 1", "heat egg 1 with microwave 1"),
        ("wash it in the sink", "sinkbasin 1", "clean egg 1 with sinkbasin 1"),
        ("take the mug", "countertop 1", "take mug 2 from countertop 1"),
        ("You should close the fridge", "fridge 1", "close fridge 1"),
    ],
)
def test_orders_are_carried_out_where_they_can_be(hint: str, place: str, command: str) -> None:
    reading = read(hint, WITH_EGG)
    assert reading.acts == (command,)
    at_first = told_by(hint, WITH_EGG).next(WITH_EGG, "")
    assert at_first is not None
    assert at_first[0] in (command, f"go to {place}")


@pytest.mark.parametrize("hint", ["hurry up", "the mug is blue", "try the sofa", "", "put the mug away", "3"])
def test_what_names_nothing_to_go_to_is_left_to_the_model(hint: str) -> None:
    assert directed(read(hint, AT_FIRST), scene(AT_FIRST)) is None


@pytest.mark.parametrize(
    "hint",
    [
        "it is not in the cabinets",
        "dont look in cabinets",
        "no more cabinets",
        "stop opening cabinets",
        "anywhere but the cabinets",
        "look everywhere except in the cupboards",
        "don't bother with the cabinets",
        "stay away from the cabinets",
        "skip the cabinets, please",
        "there is nothing in the cabinets",
        "I already looked in the cabinets",
        "the cabinets are all empty",
        "leave the cabinets alone",
        "no cabinets!",
        "I have not seen it in the cabinets",
    ],
)
def test_where_a_thing_is_not_said_to_be_is_not_looked_into(hint: str) -> None:
    told = read(hint, AT_FIRST)
    assert (told.look, told.acts, told.avoid) == ((), (), {"cabinet 1", "cabinet 2", "cabinet 3"})


def test_several_places_that_are_denied_are_a_list() -> None:
    told = read("not in the fridge, the cabinets or the sink", AT_FIRST)
    assert told.look == ()
    assert {one.split()[0] for one in told.avoid} == {"fridge", "cabinet", "sinkbasin"}


@pytest.mark.parametrize(
    ("hint", "place"),
    [
        ("the next cabinet", "cabinet 3"),
        ("not that cabinet, the other one", "cabinet 3"),
        ("another cabinet", "cabinet 3"),
        ("the previous cabinet", "cabinet 1"),
    ],
)
def test_the_next_and_the_other_are_told_from_where_the_player_stands(hint: str, place: str) -> None:
    first = ("go to cabinet 1", "You arrive at cabinet 1. On the cabinet 1, you see nothing.")
    there = belief(first, ("go to cabinet 2", "You arrive at cabinet 2. On the cabinet 2, you see nothing."))
    told = told_by(hint, there)
    assert told.places == (place,)


@pytest.mark.parametrize(
    "hint",
    ["cabinet twelve", "the 4th cabinet", "twenty-first cupboard", "cabinet 13", "put the egg in cabinet number one hundred"],
)
def test_no_other_place_stands_in_for_one_that_the_house_does_not_have(hint: str) -> None:
    told = read(hint, WITH_EGG)
    assert (told.look, told.avoid, told.acts) == ((), frozenset(), ())
    assert told.refused is not None
    assert told.refused.endswith("only cabinet 1 to 3.")


def test_numbers_are_read_in_figures_and_in_words() -> None:
    shelves = ", ".join(f"a shelf {number}" for number in range(130, 0, -1))
    many = HOUSEHOLD.begin(Observation(f"You are in the middle of a room. Looking quickly around you, you see {shelves}."))
    said = {
        11: ("the 11th shelf", "shelf eleven", "eleventh shelf"),
        20: ("20th shelf", "shelf nr. twenty", "number twenty shelf"),
        42: ("the 42nd shelf", "forty-second shelf", "shelf number forty two"),
        103: ("shelf one hundred and three", "shelf #103"),
    }
    for number, hints in said.items():
        for hint in hints:
            told = told_by(hint, many)
            assert told.places == (f"shelf {number}",), hint


def test_what_cannot_be_followed_is_answered_with_what_can() -> None:
    why = cannot_follow("go left", scene(AT_FIRST))
    assert "There are: cabinet, countertop, fridge and others." in why
    assert read("take the egg", AT_FIRST).refused == "I have seen no egg yet."
    assert read("not in the drawers", AT_FIRST).refused == "I know of no drawer here."
    assert read("the shelf", AT_FIRST).refused == "I know of no shelf here."
    assert read("by the desk lamp", AT_FIRST).empty


def test_a_search_goes_on_until_something_wanted_is_found() -> None:
    told = told_by("look in the cabinets", AT_FIRST)
    first = told.next(AT_FIRST, "find a mug")
    assert first is not None
    assert first[0] == "go to cabinet 1"
    there = belief(("go to cabinet 1", "You arrive at cabinet 1. The cabinet 1 is closed."))
    shut = first[1].next(there, "find a mug")
    assert shut is not None
    assert shut[0] == "open cabinet 1"
    empty = HOUSEHOLD.update(
        there, "open cabinet 1", Observation("You open the cabinet 1. The cabinet 1 is open. In it, you see nothing.")
    )
    after = shut[1].next(empty, "find a mug")
    assert after is not None
    assert after[0] == "go to cabinet 2"
    found = belief(("go to cabinet 2", "You arrive at cabinet 2. On the cabinet 2, you see a mug 1."))
    assert after[1].next(found, "find a mug") is None


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Why did you go to the fridge?", "My plan says so. I am at step 2: heat it."),
        ("Where is the mug?", "I saw mug 2 in countertop 1."),
        ("where's the egg", "I hold egg 1."),
        ("why?", "My plan says so. I am at step 2: heat it."),
        ("wheres the mug", "I saw mug 2 in countertop 1."),
        ("Do you know where the mug is?", "I saw mug 2 in countertop 1."),
        ("can you tell me where the mug is now?", "I saw mug 2 in countertop 1."),
        ("Is there a mug anywhere?", "I saw mug 2 in countertop 1."),
        ("have you seen the mug yet", "I saw mug 2 in countertop 1."),
        ("Where is the fridge?", "I know of fridge 1. I have not looked into fridge 1 yet."),
        ("where is countertop 1", "In countertop 1 I saw mug 2."),
        ("where is the bed?", "I know of no bed here."),
        ("is there a bed?", "I know of no bed here."),
        ("Where have you looked?", "I have looked into countertop 1."),
        ("where am I?", "I am at countertop 1. Here I see mug 2."),
        ("where are you going?", "I am at step 2: heat it."),
    ],
)
def test_questions_are_answered_from_belief(question: str, said: str) -> None:
    assert answered(question, WITH_EGG, Mind(("find an egg", "heat it"), 1)) == said


def test_while_it_does_what_a_person_said_that_is_why() -> None:
    mind = Mind(("find an egg",), told="look in the fridge")
    assert answered("why?", WITH_EGG, mind) == 'Because you said: "look in the fridge".'


def test_who_has_no_plan_tells_what_was_weighed_and_the_next_aim() -> None:
    mind = Mind(aim="find a mug", reason="for a mug the cabinets are likelier")
    assert answered("why?", WITH_EGG, mind) == "Because for a mug the cabinets are likelier."
    assert answered("what next?", WITH_EGG, mind) == "My next aim: find a mug."


def test_declined_words_are_not_why() -> None:
    here = scene(WITH_EGG)
    followed, _, _ = hear(["look in the fridge"], Advice(), here, Mind())
    assert hear(["why?"], followed, here, Mind(aim="heat it")).answers == ('Because you said: "look in the fridge".',)
    declined = Mind(aim="heat it", barred={"go to fridge 1", "open fridge 1"})
    assert hear(["why?"], followed, here, declined).answers == ("My next aim: heat it.",)


def test_a_suggestion_that_asks_why_not_is_no_question() -> None:
    assert read("Why don't you look in the fridge?", WITH_EGG).look == ("fridge 1",)


def test_of_what_was_not_seen_it_says_where_it_has_not_looked() -> None:
    said = answered("where is the plate?", WITH_EGG, Mind())
    assert said.startswith("I have not seen it yet. I have not looked into cabinet 1")


@given(st.text(max_size=300))
def test_any_hint_at_all_is_read(hint: str) -> None:
    for known in (AT_FIRST, WITH_EGG):
        for player in (False, True):
            told = sentences.read(hint, scene(known), player=player)
            assert told.question is None or not (told.acts or told.look)
            directed(told, scene(known))


@dataclass
class Saying(Unattended):
    """Answers proposals with what stands on a list, then stops."""

    verdicts: list[ProposalAnswer]
    proposals: list[str] = field(default_factory=list[str])
    attended = True

    async def review(self, turn: int, proposal: str) -> ProposalAnswer:
        del turn
        self.proposals.append(proposal)
        return self.verdicts.pop(0) if self.verdicts else Stop()


def proposals(*verdicts: ProposalAnswer) -> tuple[list[str], list[events.Body]]:
    parrot = Parrot(lambda text: planned("find and take an egg") if text.startswith("Goal:") else acts("go to fridge 1"))
    told: list[Event | CallTiming] = []
    world = make_world("alfworld")
    person = Saying(list(verdicts))
    agent = make_agent("reasoner-actor", world=world, model=parrot)
    asyncio.run(run_episode(world.open(world.task("example:1")), agent, EpisodeConfig(world), told.append, person))
    return person.proposals, [event.body for event in told if isinstance(event, Event)]


def of_expert(*verdicts: ProposalAnswer, told: list[Event | CallTiming] | None = None, task: str = "example:1") -> list[str]:
    world, person = make_world("alfworld"), Saying(list(verdicts))
    agent, listen = make_agent("expert", world=world), [] if told is None else told
    asyncio.run(run_episode(world.open(world.task(task)), agent, EpisodeConfig(world), listen.append, person))
    return person.proposals


def test_the_expert_does_first_what_it_is_told_and_leaves_out_what_is_ruled_out() -> None:
    alone = of_expert(Accept())
    place = alone[0].removeprefix("go to ")
    assert of_expert(Again("look in cabinet 2"), Accept())[1] == "go to cabinet 2"
    assert place not in of_expert(Again(f"not the {place}"))[1]
    assert of_expert(Another())[1] != alone[0]
    # What it was told is done; then it goes on as it would have.
    told = of_expert(Again("go to cabinet 2"), Accept(), Accept(), Accept())
    assert told[1] == "go to cabinet 2" and alone[0] in told[2:]


@pytest.mark.heavy
def test_the_expert_says_when_a_ban_leaves_nothing_to_do_and_goes_on_once_it_is_taken_back() -> None:
    told: list[Event | CallTiming] = []
    said = of_expert(Again("don't open anything"), *[Accept()] * 48, told=told, task="generated:21")
    assert not any(one.startswith("open ") for one in said)
    assert said[-1] == "look"
    thoughts = [one.body.text for one in told if isinstance(one, Event) and isinstance(one.body, events.Thought)]
    assert thoughts[-1] == "You ruled out all that is left (not to open anything). Take that back, or tell me what to do."
    again = of_expert(
        Again("don't open anything"), *[Accept()] * 5, Again("take back the last hint"), Accept(), Accept(), task="generated:21"
    )
    assert any(one.startswith("open ") for one in again)


def test_why_is_answered_with_the_reason_of_this_proposal() -> None:
    told: list[Event | CallTiming] = []
    place = of_expert(Accept())[0].removeprefix("go to ")
    of_expert(Again(f"not the {place}"), Again("why?"), told=told)
    thoughts = [one.body for one in told if isinstance(one, Event) and isinstance(one.body, events.Thought)]
    answers = [one.text for one in thoughts if one.answers]
    assert answers == [f"Because {thoughts[-1].text}."]


def test_a_plan_that_was_just_made_is_told() -> None:
    _, told = proposals(Again("what is your plan?"))
    (answer,) = (one.text for one in told if isinstance(one, events.Thought) and one.answers)
    assert answer == "I am at step 1: find and take an egg."


def test_the_expert_tells_what_it_would_have_weighed_but_for_a_hint() -> None:
    told: list[Event | CallTiming] = []
    place = of_expert(Accept())[0].removeprefix("go to ")
    of_expert(Again(f"not the {place}"), told=told)
    thoughts = [one.body for one in told if isinstance(one, Event) and isinstance(one.body, events.Thought)]
    weighed = next(one.weighed for one in reversed(thoughts) if one.weighed is not None)
    assert weighed.barred is not None
    assert weighed.barred.place == place
    assert f"you ruled out the {place.removesuffix(' 1')}, " in thoughts[-1].text


def test_the_next_proposal_follows_a_hint_to_a_numbered_place() -> None:
    said, told = proposals(Again("look in cabinet 2"), Accept())
    assert said[:2] == ["go to fridge 1", "go to cabinet 2"]
    assert any(isinstance(one, events.Thought) and one.text == 'You said: "look in cabinet 2".' for one in told)


def test_a_hint_that_says_nothing_to_it_is_answered_so_and_given_to_the_model() -> None:
    said, told = proposals(Again("as grandma does"))
    assert said == ["go to fridge 1", "go to fridge 1"]
    (answer,) = (one.text for one in told if isinstance(one, events.Thought) and one.answers)
    assert answer.startswith('I find nothing to do in "as grandma does".')
    assert answer.endswith("I pass it on to the model.")
    assert any(
        "Hint: as grandma does" in message.content for one in told if isinstance(one, events.ModelCall) for message in one.added
    )


def test_a_place_that_there_is_not_is_named_so_and_the_game_goes_on() -> None:
    said, told = proposals(Again("cabinet ninety"))
    assert said == ["go to fridge 1", "go to fridge 1"]
    thoughts = [one.text for one in told if isinstance(one, events.Thought)]
    assert any(text.startswith("There is no such cabinet here") or "only cabinet" in text for text in thoughts)
    assert not any("ninety" in message.content for one in told if isinstance(one, events.ModelCall) for message in one.added)


def test_something_else_is_proposed_each_time_that_it_is_asked_for() -> None:
    said, told = proposals(Another(), Another(), Another())
    assert len(said) == len(set(said)) == 4
    last = max(place for place, one in enumerate(told) if isinstance(one, events.Intervened) and one.action == "another")
    thoughts = [one for one in told[last:] if isinstance(one, events.Thought) and one.role == "actor"]
    assert thoughts == [], "what was thought was about the command that is declined"
    assert sum(isinstance(one, events.Intervened) and one.action == "another" for one in told) == 3
