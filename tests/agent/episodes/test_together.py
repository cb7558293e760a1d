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
from housequest.agent.agents.unaided.players import Guest
from housequest.agent.base import (
    Act,
    Agent,
    AskPerson,
    Away,
    Decision,
    Emitter,
    GiveUp,
    Grants,
    Idle,
    Overheard,
    ParseFailure,
    Say,
    Turn,
    Unattended,
)
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import (
    CallTiming,
    Ended,
    Event,
    Joined,
    ModelCall,
    Proposed,
    Said,
    Started,
    Stepped,
    Talking,
    TurnSpent,
    branch,
    with_beliefs,
)
from housequest.agent.episodes.loop import MOST_SAID
from housequest.agent.episodes.moments import moments
from housequest.agent.episodes.resume import RecordMisfit, ResumedPartner, resume_together
from housequest.agent.episodes.together import LEFT, Partner, TogetherConfig, run_together
from housequest.agent.models.base import Completion, Message, Model, Request
from housequest.knowledge.choosing import RuleBudget
from housequest.worlds.base import Observation, World
from housequest.worlds.env import shared_house
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.household.talk import LONGEST_SAID, read_talk
from housequest.worlds.registry import make_world
from housequest.worlds.shared import WAIT, Shared
from tests.agent.episodes.attending import Back, Moody, Person
from tests.backends.choosing import Choosing
from tests.backends.policy import Solver
from tests.parts import needs

B = TypeVar("B")
NAMES = ("Ann", "Bob", "Cleo")
ORDERS = (TogetherConfig(), TogetherConfig(order="at-once"))
HOME, HOUSE = "household:3:1", "generated:7"


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


WORLDS = [
    ("alfworld", "household:11:1"),
    pytest.param("household-graph", "generated:60006", marks=needs("graphs")),
]


def solver(name: str) -> Callable[[list[dict[str, str]]], str]:
    """A policy that plays every role of a world from its prompts."""
    if name == "alfworld":
        return Solver()
    from tests.worlds.graphs.solver import GraphSolver

    return GraphSolver()


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
    model = Slow(solver(world.name))
    return ResumedPartner("", lambda model, _: make_agent("react", world=world, model=model), config, model=model)


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


async def typing(turn: Turn) -> str | Say | Idle:
    """A person, who speaks before some commands and is too late for others. What was said already has taken in the answer."""
    if turn.transitions and turn.number % 2:
        return Say(f"Here is what I know in round {turn.number}.")
    return Idle("waited") if turn.number % 5 == 4 else "look" if turn.number % 3 else "go to dresser 1"


def somebody(world: World) -> ResumedPartner:
    return ResumedPartner(
        "",
        lambda _, question: make_agent("human", world=world, question=question or typing),
        EpisodeConfig(world, max_turns=30),
        question=typing,
    )


async def going(turn: Turn) -> str | Say | Overheard | Idle | Away:
    """Somebody who hears the other while they think, is late once, leaves for some rounds and comes back, twice."""
    if turn.number % 7 in (3, 4, 5):
        return Away()
    if turn.transitions and turn.number % 2:
        other = next(name for name in turn.others)
        return Overheard(other, f"I, {other}, think in round {turn.number}.")
    return Idle("away") if turn.number == 9 else "look"


def guest(agent: str) -> Maker:
    def make(world: World) -> ResumedPartner:
        def made(model: Model | None, question: AskPerson | None) -> Agent:
            return Guest(question or going, make_agent(agent, world=world, model=model))

        config = EpisodeConfig(world, max_turns=20, stand_in=agent)
        return ResumedPartner("", made, config, model=Slow(Solver()) if agent == "react" else None, question=going)

    return make


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


@pytest.mark.parametrize("talk", ["free", "turn", "off"])
def test_who_only_speaks_has_still_its_turn_where_that_is_free(world: World, talk: Talking) -> None:
    told, _ = together(world, [somebody, talking()], TogetherConfig(talk=talk))
    messages = [body.turn for player, body in of_kind(told, Said) if player == "Ann"]
    spent = [body.turn for player, body in of_kind(told, TurnSpent) if player == "Ann" and body.reason == "talked"]
    assert bool(messages) == (talk != "off")
    assert bool(spent) == (talk != "free")
    heard = [one for player, body in of_kind(told, Stepped) if player == "Bob" for one in body.news or ()]
    assert sum(" says: " in one for one in heard) == len(messages)


def test_nobody_speaks_for_ever(world: World) -> None:
    told, _ = together(world, [talking(*[Say("and another thing")] * 30), talking()])
    said = [body.turn for player, body in of_kind(told, Said) if player == "Ann"]
    assert said.count(1) == MOST_SAID + 1, "the last one costs the turn"


def test_who_gives_up_or_cannot_be_read_leaves_the_others_alone(world: World) -> None:
    lost = [ParseFailure("actor", "no words")] * 5
    told, ended = together(world, [talking(GiveUp("tired")), talking(*lost), expert])
    assert ended.outcome == "won"
    heard = [sentence for player, body in of_kind(told, Stepped) if player == "Cleo" for sentence in body.news or ()]
    assert "Ann has left." in heard
    assert [body.turn for player, body in of_kind(told, TurnSpent) if player == "Ann"] == [1]
    told, ended = together(world, [talking(GiveUp("tired")), talking(*lost)])
    assert (ended.outcome, ended.turns) == ("lost", 5)


@pytest.mark.heavy
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


PEOPLE: dict[str, tuple[Maker, ...]] = {
    "somebody who types": (somebody, expert),
    "people who come and go": (guest("react"), guest("expert")),
}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("crowd", "company", "name", "task"),
    [
        *((crowd, one, "alfworld", HOUSE) for crowd in CROWDS for one in ORDERS),
        *((crowd, ORDERS[0], "alfworld", HOUSE) for crowd in PEOPLE),
        *(
            pytest.param("a model and the expert", one, "household-graph", "generated:60011", marks=needs("graphs"))
            for one in ORDERS
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else one.order,
)
def test_a_game_that_broke_off_anywhere_goes_on_to_the_same_bytes(
    crowd: str, company: TogetherConfig, name: str, task: str
) -> None:
    makers, world = {**CROWDS, **PEOPLE}[crowd], make_world(name)
    told, ended = together(world, makers, company, task)
    again, _ = together(world, makers, company, task)
    assert list(map(line, told)) == list(map(line, again)), "however long each answer takes"
    for cut in range(len(told) + 1):
        new: list[Event] = []

        def listen(event: Event | CallTiming, new: list[Event] = new) -> None:
            if isinstance(event, Event):
                new.append(event)

        house = house_of(world, task, len(makers))
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


def test_an_agent_plays_for_who_is_away_and_knows_all_that_they_were_told(world: World) -> None:
    told, _ = together(world, [guest("expert"), guest("expert")])
    joined = [(event.player, event.body.turn, event.body.agent) for event in told if isinstance(event.body, Joined)]
    assert {*joined[:4]} == {(name, *change) for name in ("Ann", "Bob") for change in ((3, "expert"), (6, "human"))}
    start = told[0].body
    assert isinstance(start, Started)
    assert [(one.agent, one.stand_in) for one in start.players or ()] == [("human", "expert")] * 2
    deeds = [event.body.command for event in told if isinstance(event.body, Stepped) and event.body.turn in (3, 4, 5)]
    assert deeds
    assert "look" not in deeds, "the expert plays as it would"
    for name, other in (("Ann", "Bob"), ("Bob", "Ann")):
        news = [one for event in told if event.player == name for one in getattr(event.body, "news", None) or ()]
        assert f"{other} {LEFT}" in news
        assert f"{other} is back." in news
        said = [event.body.text for event in told if isinstance(event.body, Said) and event.player == other]
        thought = f"I, {other}, think in round 1."
        assert thought in said or f"I, {other}, think in round 7." in said
        assert any(one.startswith(f'{other} says: "I, {other}, think') for one in news)


async def _leaving(turn: Turn) -> Away:
    del turn
    return Away()


def _person(world: World) -> ResumedPartner:
    """A person who asks something in the third round, and then acts."""
    asked = list[int]()

    async def asking(turn: Turn) -> str | Say:
        asked.append(turn.number)
        return Say("what are you doing?") if asked == [1, 2, 3] else "look"

    agent = make_agent("human", world=world, question=asking)
    return ResumedPartner("", lambda *_: agent, EpisodeConfig(world, max_turns=4))


def _left(world: World) -> ResumedPartner:
    config = EpisodeConfig(world, max_turns=4, stand_in="expert")
    return ResumedPartner("", lambda *_: Guest(_leaving, make_agent("expert", world=world)), config)


@pytest.mark.parametrize("partner", [expert, _left], ids=["an agent", "one that stands in"])
@pytest.mark.parametrize("talk", ["free", "turn"])
def test_a_person_is_answered_before_the_turn_is_spent_and_once(world: World, partner: Maker, talk: Talking) -> None:
    told, _ = together(world, [_person, partner], TogetherConfig(talk=talk), "chores:60001")
    asked = next(event for event in told if isinstance(event.body, Said) and event.player == "Ann")
    after = [event for event in told[asked.id + 1 :] if event.player == "Ann" or isinstance(event.body, Said)]
    answers = [event for event in after if event.player == "Bob" and read_talk(getattr(event.body, "text", "")) is None]
    assert len(answers) == 1, "it does not answer again in its own turn"
    if talk == "free":
        assert after[0] == answers[0]
        assert isinstance(after[1].body, Proposed)
        stepped = next(event.body for event in after if isinstance(event.body, Stepped))
        assert f'Bob says: "{getattr(answers[0].body, "text", "")}"' in (stepped.news or ())


def test_another_game_does_not_go_on_with_a_record(world: World) -> None:
    told, _ = together(world, [expert, react])
    with pytest.raises(RecordMisfit):
        asyncio.run(resume_together(house_of(world, HOUSE, 2), seated(world, [react, expert]), told[:12], lambda _: None))


@dataclass
class Watched:
    """An agent whose memory is looked at before each of its decisions."""

    agent: Agent
    memories: list[tuple[int, object]]
    name: str = "watched"

    def begin(self, goal: str, observation: Observation, grants: Grants) -> object:
        return self.agent.begin(goal, observation, grants)

    async def decide(self, memory: object, turn: Turn, emit: Emitter) -> tuple[Decision, object]:
        self.memories.append((turn.number, memory))
        return await self.agent.decide(memory, turn, emit)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("alfworld", HOME),
        pytest.param("household-graph", "generated:60011", marks=needs("graphs")),
    ],
)
def test_going_back_restores_everybody(name: str, task: str) -> None:
    world = make_world(name)
    kept: list[list[tuple[int, object]]] = [[], []]

    def watched(memories: list[tuple[int, object]]) -> Maker:
        agent = Watched(make_agent("expert", world=world), memories)
        return lambda world: ResumedPartner("", lambda *_: agent, EpisodeConfig(world, max_turns=30))

    makers = [watched(memories) for memories in kept]
    straight, ended = together(world, makers, task=task)
    before = [dict(memories) for memories in kept]
    for turn in range(ended.turns):
        for memories in kept:
            memories.clear()
        # Bob is attended, and goes back once at the end: all is played again as it was, by everybody.
        told, _ = together(world, makers, task=task, attending=Person(ends=[Back(turn)]))
        played = branch(told)
        assert [event.body.model_dump() for event in straight] == [
            {**event.body.model_dump(), **({"assisted": False} if isinstance(event.body, Ended) else {})}
            for event in played
            if event.body.kind != "intervened"
        ]
        assert [event.belief for event in straight] == [event.belief for event in played if event.body.kind != "intervened"]
        (back,) = [event for event in told if event.body.kind == "intervened"]
        assert back.player == "Bob"
        for memories, once in zip(kept, before, strict=True):
            assert [number for number, _ in memories].count(turn + 1) == 2 or turn + 1 not in once
            assert all(memory == once[number] for number, memory in memories)


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


_TAKES = {"alfworld": r"^take [a-z]+ \d+ from", "household-graph": r"^grab [a-z]+ \d+ from"}
# What somebody carries, and does in sight, is all that the house itself tells of things.
_DEEDS = re.compile(r" (carries|picks up|grabs|puts|moves|says:|gives) ")


def leaked(told: Sequence[Event]) -> tuple[list[Event], int]:
    """The events of a record that show a player what only others have seen, unless it was said; and how much others saw."""
    start = told[0].body
    assert isinstance(start, Started)
    wrong, secrets = list[Event](), 0
    for player in [one.name for one in start.players or ()]:
        own, others_saw, here = start.goal + start.opening, set[str](), "nowhere"
        for number, event in enumerate(told[1:], start=1):
            body = event.body
            if event.player == player and isinstance(body, ModelCall):
                # The news of a turn are recorded with the command that follows from them; what is wrong in them shows there.
                after = (each.body for each in told[number:] if each.player == player)
                turn = next((each for each in after if isinstance(each, Stepped | TurnSpent)), None)
                own += " ".join(turn.news or () if turn else ())
                prompt = "".join(message.content for message in body.added if message.role == "user")
                # A place that somebody else opened shows what can be taken to whoever stands there and may see the list.
                prompt = re.sub(rf"{_TAKES[start.world]} {here}$", "", prompt, flags=re.MULTILINE)
                wrong += [event] if (things_in(prompt) & others_saw) - things_in(own) else []
                secrets += len(others_saw - things_in(own))
            if event.player == player and isinstance(body, Stepped | TurnSpent):
                seen = " ".join(one for one in body.news or () if not _DEEDS.search(one))
                wrong += [event] if (things_in(seen) & others_saw) - things_in(own) else []
                own += " ".join(body.news or ())
            if isinstance(body, Stepped):
                if event.player == player:
                    own += body.observation
                    if body.command.startswith(("go to ", "walk to ")) and body.accepted:
                        here = body.command.partition(" to ")[2]
                else:
                    others_saw |= things_in(body.observation)
    return wrong, secrets


@pytest.mark.heavy
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
    assert not leaked(told)[0]
    assert all(set(turn.others) == {"Ann", "Bob"} and turn.player == "Cleo" for turn in watching[0].turns)
    shown = [body.news or () for player, body in of_kind(told, Stepped) if player == "Cleo"]
    assert [turn.news for turn in watching[0].turns][: len(shown)] == shown, "the record has all that was shown"


@pytest.mark.heavy
@pytest.mark.parametrize("agent", ["react", "reasoner-actor", "opex", "lota", "coela"])
@pytest.mark.parametrize("company", ORDERS, ids=["turns", "at-once"])
@pytest.mark.parametrize(("name", "task"), WORLDS)
def test_no_prompt_of_an_agent_has_what_only_its_partner_saw(agent: str, company: TogetherConfig, name: str, task: str) -> None:
    world = make_world(name)
    policy = Choosing(talks=True) if agent == "coela" else solver(name)

    def asked(world: World) -> ResumedPartner:
        config = EpisodeConfig(world, max_turns=14)
        return ResumedPartner("", lambda model, _: make_agent(agent, world=world, model=model), config, model=Slow(policy))

    def mute(world: World) -> ResumedPartner:
        config = EpisodeConfig(world, max_turns=14, manner="mute")
        return ResumedPartner("", lambda *_: make_agent("expert", world=world), config)

    told, _ = together(world, [asked, mute], company, task)
    wrong, secrets = leaked(told)
    assert not wrong
    assert secrets, "the partner saw something for itself"
    # It is no leak once it is said; and it would be seen here if it reached a prompt unsaid.
    last = max(number for number, event in enumerate(told) if isinstance(event.body, ModelCall))
    body, hidden = told[last].body, only_seen_by_others(told[:last], "Ann")
    assert isinstance(body, ModelCall)
    slip = body.model_copy(update={"added": [*body.added, Message("user", f"There is {hidden}.")]})
    assert leaked([*told[:last], told[last].model_copy(update={"body": slip}), *told[last + 1 :]])[0]


def only_seen_by_others(told: Sequence[Event], player: str) -> str:
    """A thing that an answer to somebody else names, and nothing that this player was told."""
    own = " ".join(
        f"{event.body.observation} {' '.join(event.body.news or ())}"
        for event in told
        if isinstance(event.body, Stepped) and event.player == player
    )
    others = " ".join(body.observation for who, body in of_kind(told, Stepped) if who != player)
    start = told[0].body
    assert isinstance(start, Started)
    return min(things_in(others) - things_in(own + start.opening))


def test_no_rules_are_found_in_a_game_of_several(world: World) -> None:
    told, _ = together(world, [expert, expert])
    with pytest.raises(ConfigurationError, match="played by several"):
        list(moments(told, "run", "task"))
