"""Several players in one house: rounds, news and talk, going back, going on from any place of a record, and no leaks."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import TypeVar

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Act, Decision, Emitter, GiveUp, Grants, ParseFailure, Turn, Unattended
from housequest.agent.episodes.events import (
    CallTiming,
    Ended,
    Event,
    ModelCall,
    Said,
    Started,
    Stepped,
    Talking,
    TurnSpent,
    branch,
    with_beliefs,
)
from housequest.agent.episodes.loop import EpisodeConfig, Partner, TogetherConfig, run_together
from housequest.agent.episodes.moments import moments
from housequest.agent.episodes.resume import RecordMisfit, ResumedPartner, resume_together
from housequest.agent.models.base import Completion, Request
from housequest.knowledge.choosing import RuleBudget
from housequest.worlds.base import Observation, World
from housequest.worlds.env import shared_house
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.household.talk import LONGEST_SAID
from housequest.worlds.registry import make_world
from housequest.worlds.shared import WAIT, Shared
from tests.agent.episodes.attending import Back, Moody, Person
from tests.backends.policy import Solver

B = TypeVar("B")
NAMES = ("Ann", "Bob", "Cleo")
ORDERS = (TogetherConfig(), TogetherConfig(order="at-once"))
HOME, HOUSE = "household:3:1", "generated:7"


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


class Slow(Moody):
    """Answers after a while that is another one each time, so that calls made at once end in any order."""

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(Random().random() / 500)
        return await super().complete(request)


@dataclass
class Talker:
    """Says and does what stands on a list, then waits; its memory is all that it was told."""

    decisions: Sequence[Decision] = ()
    turns: list[Turn] = field(default_factory=list[Turn])
    name: str = "talker"

    def begin(self, goal: str, observation: Observation, grants: Grants) -> tuple[str, ...]:
        return (observation.text,)

    async def decide(self, memory: tuple[str, ...], turn: Turn, emit: Emitter) -> tuple[Decision, tuple[str, ...]]:
        self.turns.append(turn)
        chosen = self.decisions[turn.number - 1] if turn.number <= len(self.decisions) else Act(WAIT)
        return chosen, (*memory, *turn.news)


Maker = Callable[[World], ResumedPartner]


def expert(world: World) -> ResumedPartner:
    return ResumedPartner("", lambda *_: make_agent("expert", world=world), EpisodeConfig(world, max_turns=30))


def react(world: World) -> ResumedPartner:
    config = EpisodeConfig(world, frozenset({"admissible"}), 30, rules=RuleBudget.of_statements(["keys lie in studies"]))
    return ResumedPartner("", lambda model, _: make_agent("react", world=world, model=model), config, model=Slow(Solver()))


def scatterbrained(world: World) -> ResumedPartner:
    """Mostly writes what cannot be read."""

    def reply(messages: list[dict[str, str]]) -> str:
        return Solver()(messages) if len(messages[-1]["content"]) % 3 else "hm"

    config = EpisodeConfig(world, max_turns=30)
    return ResumedPartner("", lambda model, _: make_agent("react", world=world, model=model), config, model=Slow(reply))


def failing(world: World) -> ResumedPartner:
    model = Slow(Solver())
    model.told, model.fails_at = (lambda: len(model.prompts)), [4]
    config = EpisodeConfig(world, max_turns=30)
    return ResumedPartner("", lambda asked, _: make_agent("react", world=world, model=asked), config, model=model)


def talking(*decisions: Decision) -> Maker:
    return lambda world: ResumedPartner("", lambda *_: Talker(decisions), EpisodeConfig(world, max_turns=30))


def seated(world: World, makers: Sequence[Maker]) -> list[ResumedPartner]:
    found = [maker(world) for maker in makers]
    return [
        ResumedPartner(name, one.make_agent, one.config, one.overseer, one.model, one.question)
        for name, one in zip(NAMES, found, strict=False)
    ]


def house_of(world: World, task: str, number: int) -> Shared:
    return shared_house(world, world.task(task), NAMES[:number])


def together(
    world: World,
    makers: Sequence[Maker],
    company: TogetherConfig | None = None,
    task: str = HOUSE,
    *,
    attending: Person | None = None,
) -> tuple[list[Event], Ended]:
    told: list[Event] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            told.append(event)
        if attending is not None:
            attending.hear(event)

    partners = [
        Partner(one.name, one.make_agent(one.model, None), one.config, (attending if number else None) or Unattended())
        for number, one in enumerate(seated(world, makers))
    ]
    ended = asyncio.run(run_together(house_of(world, task, len(makers)), partners, listen, company))
    assert [event.id for event in told] == list(range(len(told)))
    return told, ended


def line(event: Event) -> bytes:
    return event.model_dump_json(exclude_none=True).encode()


def of_kind(told: Sequence[Event], kind: type[B]) -> list[tuple[str | None, B]]:
    return [(event.player, event.body) for event in told if isinstance(event.body, kind)]


def test_all_of_a_game_is_one_chain_in_rounds(world: World) -> None:
    told, ended = together(world, [expert, react, talking(Act(WAIT, ("I wait.",)))])
    assert ended.outcome == "won"
    assert all(after.parent == before.id for before, after in pairwise(told))
    start = told[0].body
    assert isinstance(start, Started)
    assert start.players is not None
    assert [(one.name, one.agent) for one in start.players] == [("Ann", "expert"), ("Bob", "react"), ("Cleo", "talker")]
    assert (start.talk, start.order) == ("free", "turns")
    rounds = [(body.turn, player) for player, body in of_kind(told, Stepped)]
    assert rounds == sorted(rounds, key=lambda one: one[0])
    firsts = [rounds[at][1] for at in range(0, len(rounds) - 2, 3)]
    assert all(len({player for _, player in rounds[at : at + 3]}) == 3 for at in range(0, len(rounds) - 2, 3))
    assert len(set(firsts)) > 1, "the order is drawn anew in each round"
    assert sum(body.won for _, body in of_kind(told, Stepped)) == 1
    assert ended.steps == len(rounds)


def test_the_one_who_comes_later_in_a_round_is_told_what_the_first_did_unless_they_decide_at_once(world: World) -> None:
    acts = [Act("go to dresser 1"), Act(WAIT)]
    for company in ORDERS:
        told, _ = together(world, [talking(*acts), talking(*acts)], company)
        (first, one), (later, other) = of_kind(told, Stepped)[:2]
        goes = f"{first} goes to the dresser 1."
        assert goes not in (one.news or ())
        assert (goes in (other.news or ())) == (company.order == "turns")
        again = dict(of_kind(told, Stepped)[2:4])
        assert (goes in (again[later].news or ())) == (company.order == "at-once"), "nothing is lost, and nothing is told twice"


@pytest.mark.parametrize("talk", ["free", "turn", "off"])
def test_what_is_said_reaches_the_others_once_and_may_cost_a_turn(world: World, talk: Talking) -> None:
    said = Act("go to dresser 1", ("I go\x1b[31m to the dresser.", "x" * 2000, "  "))
    told, _ = together(world, [talking(said), talking()], TogetherConfig(talk=talk))
    messages = [body.text for _, body in of_kind(told, Said)]
    assert len(messages) == (0 if talk == "off" else 2)
    assert all(len(text) <= LONGEST_SAID and text.isprintable() for text in messages)
    heard = [sentence for player, body in of_kind(told, Stepped) if player == "Bob" for sentence in body.news or ()]
    assert [sentence for sentence in heard if " says: " in sentence] == [f'Ann says: "{text}"' for text in messages]
    spent = [body.reason for player, body in of_kind(told, TurnSpent) if player == "Ann"]
    assert spent == (["talked"] if talk == "turn" else [])
    assert ("go to dresser 1" in [body.command for _, body in of_kind(told, Stepped)]) == (talk != "turn")


def test_who_gives_up_or_cannot_be_read_leaves_the_others_alone(world: World) -> None:
    lost = [ParseFailure("actor", "no words")] * 5
    told, ended = together(world, [talking(GiveUp("tired")), talking(*lost), expert])
    assert ended.outcome == "won"
    heard = [sentence for player, body in of_kind(told, Stepped) if player == "Cleo" for sentence in body.news or ()]
    assert "Ann has left." in heard
    assert [body.turn for player, body in of_kind(told, TurnSpent) if player == "Ann"] == [1]
    told, ended = together(world, [talking(GiveUp("tired")), talking(*lost)])
    assert (ended.outcome, ended.turns) == ("lost", 5)


@pytest.mark.parametrize("task", [HOUSE, HOME])
@pytest.mark.parametrize("company", ORDERS, ids=["turns", "at-once"])
def test_recorded_beliefs_are_those_of_the_game(world: World, company: TogetherConfig, task: str) -> None:
    told, _ = together(world, [expert, expert], company, task)
    read = with_beliefs(Event.model_validate_json(line(event)) for event in told)
    for live, again in zip(told, read, strict=True):
        assert live.belief == again.belief, live


CROWDS: dict[str, tuple[Maker, ...]] = {
    "two agents with a model": (react, react),
    "a model and the expert": (expert, react),
    "one that is not read": (scatterbrained, react),
    "one that fails": (react, failing),
    "talkers": (talking(Act(WAIT, ("Hello.",)), GiveUp("tired")), expert, talking(Act("go to bed 1", ("I go to bed.",)))),
}


@pytest.mark.parametrize("company", ORDERS, ids=["turns", "at-once"])
@pytest.mark.parametrize("crowd", CROWDS)
def test_a_game_that_broke_off_anywhere_goes_on_to_the_same_bytes(world: World, crowd: str, company: TogetherConfig) -> None:
    makers = CROWDS[crowd]
    told, ended = together(world, makers, company)
    again, _ = together(world, makers, company)
    assert list(map(line, told)) == list(map(line, again)), "however long each answer takes"
    for cut in range(len(told) + 1):
        new: list[Event] = []

        def listen(event: Event | CallTiming, new: list[Event] = new) -> None:
            if isinstance(event, Event):
                new.append(event)

        house = house_of(world, HOUSE, len(makers))
        partners = seated(world, makers)
        asked = sum(isinstance(event.body, ModelCall) for event in told[cut:])
        for one in partners:
            if isinstance(one.model, Slow) and one.model.fails_at:
                # As one that was asked before.
                calls = sum(isinstance(event.body, ModelCall) and event.player == one.name for event in told[:cut])
                one.model.prompts.extend([()] * calls)
        before = sum(len(one.model.prompts) for one in partners if isinstance(one.model, Slow))
        finished = asyncio.run(resume_together(house, partners, told[:cut], listen, company))
        assert [*map(line, told[:cut]), *map(line, new)] == list(map(line, told)), f"cut after {cut} events"
        assert finished == ended
        if crowd == "two agents with a model" and company.order == "turns":
            asked_again = sum(len(one.model.prompts) for one in partners if isinstance(one.model, Slow)) - before
            assert asked_again == asked, "no call is made twice"


def test_another_game_does_not_go_on_with_a_record(world: World) -> None:
    told, _ = together(world, [expert, react])
    with pytest.raises(RecordMisfit):
        asyncio.run(resume_together(house_of(world, HOUSE, 2), seated(world, [react, expert]), told[:12], lambda _: None))


def test_going_back_restores_everybody(world: World) -> None:
    straight, _ = together(world, [expert, expert], task=HOME)
    for turn in (0, 2, 4):
        # Bob is attended, and goes back once at the end: all is played again as it was, by everybody.
        told, _ = together(world, [expert, expert], task=HOME, attending=Person(ends=[Back(turn)]))
        played = branch(told)
        assert [event.body.model_dump() for event in straight] == [
            {**event.body.model_dump(), **({"assisted": False} if isinstance(event.body, Ended) else {})}
            for event in played
            if event.body.kind != "intervened"
        ]
        assert [event.belief for event in straight] == [event.belief for event in played if event.body.kind != "intervened"]
        (back,) = [event for event in told if event.body.kind == "intervened"]
        assert back.player == "Bob"


def test_there_is_a_way_back_only_to_the_end_of_a_round(world: World) -> None:
    person = Person(ends=[Back(3)])
    told, _ = together(world, [talking(), expert, talking()], attending=person)
    goal = next(event.parent for event in told if event.body.kind == "intervened")
    assert goal is not None
    ends = [event.id for event in told[: goal + 1] if isinstance(event.body, Stepped) and event.body.turn == 3]
    assert goal == max(ends)


def test_nobody_attends_players_who_decide_at_once(world: World) -> None:
    with pytest.raises(ConfigurationError, match="at once"):
        together(world, [expert, expert], ORDERS[1], attending=Person())


def things_in(text: str) -> set[str]:
    return set(re.findall(r"\b[a-z]{3,} [0-9]{1,2}\b", text))


@pytest.mark.parametrize("company", ORDERS, ids=["turns", "at-once"])
@pytest.mark.parametrize("task", [HOUSE, HOME, "household:11:1"])
def test_nobody_is_told_what_only_the_other_has_seen_unless_it_was_said(
    world: World, task: str, company: TogetherConfig
) -> None:
    watching = [Talker([Act("go to shelf 1"), Act("look"), Act("go to countertop 1")]) for _ in range(2)]
    makers = [
        *CROWDS["two agents with a model"],
        lambda world: ResumedPartner("", lambda *_: watching[0], EpisodeConfig(world)),
    ]
    told, _ = together(world, makers, company, task)
    start = told[0].body
    assert isinstance(start, Started)
    for player in NAMES:
        own = start.goal + start.opening
        others_saw, here = set[str](), "nowhere"
        for event in told[1:]:
            body = event.body
            if event.player == player and isinstance(body, ModelCall):
                prompt = "".join(message.content for message in body.added if message.role == "user")
                # A place that somebody else opened shows what can be taken to whoever stands there and may see the list.
                prompt = re.sub(rf"^take [a-z]+ \d+ from {here}$", "", prompt, flags=re.MULTILINE)
                assert not (things_in(prompt) & others_saw) - things_in(own), event
            if event.player == player and isinstance(body, Stepped | TurnSpent):
                news = " ".join(body.news or ())
                # What somebody carries, and does in sight, is all that the house itself tells of things.
                seen = [one for one in body.news or () if not re.search(r" (carries|picks up|puts|moves|says|gives) ", one)]
                assert not (things_in(" ".join(seen)) & others_saw) - things_in(own + start.opening), event
                own += news
            if isinstance(body, Stepped):
                if event.player == player:
                    own += body.observation
                    if body.command.startswith("go to ") and body.accepted:
                        here = body.command.removeprefix("go to ")
                else:
                    others_saw |= things_in(body.observation)
    assert all(set(turn.others) == {"Ann", "Bob"} and turn.player == "Cleo" for turn in watching[0].turns)
    shown = [body.news or () for player, body in of_kind(told, Stepped) if player == "Cleo"]
    assert [turn.news for turn in watching[0].turns][: len(shown)] == shown, "the record has all that was shown"


def test_no_rules_are_found_in_a_game_of_several(world: World) -> None:
    told, _ = together(world, [expert, expert])
    with pytest.raises(ConfigurationError, match="played by several"):
        list(moments(told, "run", "task"))
