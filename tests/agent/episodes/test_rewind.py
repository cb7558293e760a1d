"""What a person who attends can do: go back, interrupt, deal with a failure; and what the agent is asked afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Self

import pytest

from housequest.agent.agents.spec import agent_spec, make_agent
from housequest.agent.base import (
    Act,
    Again,
    Agent,
    Decision,
    Emitter,
    GiveUp,
    Play,
    Proceed,
    Replace,
    Rewind,
    Stop,
    SwitchModel,
    Turn,
)
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Ended, Event, Intervened, ModelCall, Stepped, branch
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Message
from housequest.agent.models.registry import make_model
from housequest.knowledge.choosing import RuleBudget
from housequest.worlds.base import Env, Step, World
from housequest.worlds.env import Wrapper
from housequest.worlds.errors import Unsupported
from housequest.worlds.registry import make_world
from tests.agent.episodes.attending import Back, Moody, Other, Person
from tests.agent.episodes.test_episode import Reciter, of_kind
from tests.agent.playing import CHATTING, PLANNERS
from tests.backends.policy import Solver
from tests.backends.server import Server

RULES = ("keys lie in studies",)


@pytest.fixture(scope="module")
def house() -> World:
    return make_world("alfworld")


@pytest.fixture
def scripted() -> World:
    return make_world("scripted")


def attend(
    env: Env, agent: Agent, person: Person, *, max_turns: int = 50, inline: bool = True, rules: tuple[str, ...] = ()
) -> list[Event]:
    world = make_world(env.task.world)
    world.info = replace(world.info, inline=inline)
    terms = EpisodeConfig(world, max_turns=max_turns, rules=RuleBudget.of_statements(rules))
    ended = asyncio.run(run_episode(env, agent, terms, person.hear, person))
    told = list(person.heard)
    assert told[-1].body == ended
    assert [event.id for event in told] == list(range(len(told)))
    return told


def did(told: Sequence[Event], action: str) -> list[Event]:
    return [event for event in told if isinstance(event.body, Intervened) and event.body.action == action]


def commands(told: Sequence[Event]) -> list[str]:
    return [event.body.command for event in told if isinstance(event.body, Stepped)]


class Uncopied(Wrapper):
    """An env that cannot be copied, and counts how often it was begun."""

    resets = 0

    def reset(self) -> Step:
        self.resets += 1
        return super().reset()

    def copy(self) -> Self:
        raise Unsupported("It cannot be copied.")


class Counted(Wrapper):
    """An env that knows which of it are open."""

    def __init__(self, env: Env, open: list[Counted]) -> None:
        super().__init__(env)
        self.open = open
        open.append(self)

    def copy(self) -> Counted:
        return Counted(self.env.copy(), self.open)

    def close(self) -> None:
        self.open.remove(self)
        super().close()


PLAYED = [Play("go to study"), Play("take key"), Play("go to hall")]


@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize(
    ("wishes", "fails_at"),
    [
        (Person(words=[*PLAYED, Back(1)]), []),
        (Person(words=PLAYED, verdicts=[Back(1)]), []),
        (Person(words=PLAYED, failures=[Back(1)]), [7]),
        (Person(words=[*PLAYED, Stop("enough")], ends=[Back(1)]), []),
    ],
    ids=["before", "review", "failed", "over"],
)
def test_one_goes_back_from_anywhere(scripted: World, wishes: Person, fails_at: list[int], copied: bool) -> None:
    person = wishes.twin()
    model = Moody(lambda _: "Thought: on\nAction: take key", fails_at, told=lambda: len(person.heard))
    env = scripted.open(scripted.task("demo:1"))
    agent = make_agent("react", world=scripted, model=model)
    told = attend(env if copied else Uncopied(env), agent, person, max_turns=4, inline=copied)
    (back,) = did(told, "rewind")
    assert back.body == Intervened(action="rewind", text="to turn 2")
    assert back.parent == 2, "the study was entered by event 2, after the start and the person's word"
    assert commands(branch(told)) == ["go to study", "take key", "take key", "take key"]
    possible = [about for name, about in person.asked if name == "before" and isinstance(about, tuple) and about[0] == 2]
    assert possible == [(2, ("go to hall", "inventory", "look", "take key"))] * 2, "the house is what it was"


def test_the_branch_that_was_played_on_is_the_episode(scripted: World) -> None:
    person = Person(words=[*PLAYED, Back(1), Play("take key"), Play("look"), Back(3), Play("go to cellar"), Stop("enough")])
    told = attend(scripted.open(scripted.task("demo:1")), Reciter([]), person)
    assert commands(told) == ["go to study", "take key", "go to hall", "take key", "look", "go to cellar"]
    assert commands(branch(told)) == ["go to study", "take key", "look", "go to cellar"]
    ended = told[-1].body
    assert isinstance(ended, Ended)
    assert (ended.turns, ended.steps, ended.refused, ended.assisted) == (4, 4, 1, True)


def test_one_goes_back_to_another_branch(scripted: World) -> None:
    person = Person(words=[Play("look"), Play("fly"), Rewind(0), Play("inventory"), Rewind(4), Stop("enough")])
    told = attend(scripted.open(scripted.task("demo:1")), Reciter([]), person)
    assert commands(branch(told)) == ["look", "fly"]
    assert did(told, "rewind")[1].body == Intervened(action="rewind", text="to turn 3")


def test_a_lost_game_is_won_after_all(scripted: World) -> None:
    person = Person(words=[Play("look")], ends=[Back(0), Back(1), None])
    told = attend(scripted.open(scripted.task("demo:1")), make_agent("expert", world=scripted), person, max_turns=7)
    assert [event.body.outcome for event in told if isinstance(event.body, Ended)] == ["won", "won", "won"]
    person = Person(words=[Play("look"), Play("look")], ends=[Back(0)])
    told = attend(scripted.open(scripted.task("demo:1")), make_agent("expert", world=scripted), person, max_turns=6)
    assert [event.body.outcome for event in told if isinstance(event.body, Ended)] == ["lost", "won"]


def test_a_way_back_to_nowhere_is_refused_and_the_game_goes_on(scripted: World) -> None:
    nowhere = Rewind(999)
    person = Person(
        words=[nowhere, Rewind(-1), Play("look")],
        verdicts=[Rewind(1), Replace("inventory"), nowhere],
        failures=[Proceed(), Proceed(), nowhere, Play("fly"), Proceed(), nowhere, Back(1)],
        ends=[nowhere, nowhere],
    )
    told = attend(scripted.open(scripted.task("demo:1")), Reciter([Act("look")] * 9), person, max_turns=5)
    refusals = [about for name, about in person.asked if name == "failed"]
    assert len(refusals) == 8
    assert all("no way back to event" in str(refusal) for refusal in refusals)
    assert not of_kind(told, "failed"), "nothing happened that an event would tell of"
    assert commands(told) == ["inventory", "fly", "look", "look", "look", "look", "look", "look", "look"]


def test_every_copy_is_closed_and_what_was_given_is_not(scripted: World) -> None:
    open: list[Counted] = []
    env = Counted(scripted.open(scripted.task("demo:1")), open)
    attend(env, Reciter([]), Person(words=[*PLAYED, Back(1), Play("look"), Back(2), Back(0), Stop("enough")]))
    assert open == [env]


def test_what_cannot_be_copied_is_played_again(scripted: World) -> None:
    env = Uncopied(scripted.open(scripted.task("demo:1")))
    attend(env, Reciter([]), Person(words=[*PLAYED, Back(2), Play("look"), Stop("enough")]), inline=False)
    assert env.resets == 2


class Forgetful(Uncopied):
    """An env that goes another way the second time."""

    def step(self, command: str) -> Step:
        return super().step("look" if self.resets == 2 else command)


def test_a_house_that_goes_another_way_errors_and_can_be_left_again(scripted: World) -> None:
    env = Forgetful(scripted.open(scripted.task("demo:1")))
    told = attend(env, Reciter([]), Person(words=[*PLAYED, Back(2), Stop("enough")], ends=[Back(2)]))
    first, second = (event.body for event in told if isinstance(event.body, Ended))
    assert (first.outcome, first.boundary) == ("error", "world")
    assert "'go to study'" in (first.message or "")
    assert (second.outcome, second.reason) == ("stopped", "enough")


def test_hints_that_were_not_yet_told_come_back(scripted: World) -> None:
    agent = Reciter([Act("look")] * 9)
    person = Person(words=[Proceed(("mind the step",)), Play("look"), Proceed(), Back(1)], interrupts=[2])
    attend(scripted.open(scripted.task("demo:1")), agent, person, max_turns=3)
    assert [turn.number for turn in agent.turns] == [1, 2, 2, 3]
    assert [turn.hints for turn in agent.turns] == [*[("mind the step",)] * 3, ()]


@pytest.mark.heavy
@pytest.mark.parametrize("agent", CHATTING)
@pytest.mark.parametrize("copied", [True, False])
def test_the_next_request_after_a_rewind_is_the_first_sent_from_that_step(
    server: Server, house: World, agent: str, copied: bool
) -> None:
    server.policy = Solver(wrong_first_plan=True)
    sent_at: dict[int, int] = {}
    # A planner is called at the beginning and when its plan fails, which is in the second turn.
    far, near, least = (1, 1, 1) if agent in PLANNERS else (5, 2, 3)
    words = [*[Proceed()] * 9, Back(far), *[Proceed()] * 4, Back(near), *[Proceed()] * 3, Back(7), Stop("enough")]
    person = Person(words=words[:-2] + words[-1:] if agent in PLANNERS else words)

    def listen(event: Event | CallTiming) -> None:
        person.hear(event)
        if isinstance(event, Event):
            sent_at[event.id] = len(server.requests)

    async def episode() -> None:
        model = make_model(server.model())
        env = house.open(house.task("example:1"))
        # As long an episode as the steps back need.
        player = make_agent(
            agent, world=house, model=model, settings={"search": "counts"} if agent_spec(agent).searches else {}
        )
        try:
            terms = EpisodeConfig(house, rules=RuleBudget.of_statements(RULES))
            await run_episode(env if copied else Uncopied(env), player, terms, listen, person)
        finally:
            await model.aclose()

    asyncio.run(episode())
    raws = [request.raw for request in server.requests]
    backs = did(person.heard, "rewind")
    named = [f"to turn {turn + 1}" for turn in ((far, near) if agent in PLANNERS else (far, near, 7))]
    assert [back.body.text for back in backs if isinstance(back.body, Intervened)] == named
    for back in backs[:2]:
        assert back.parent is not None
        first, again = sent_at[back.parent], sent_at[back.id]
        assert again - first >= least
        count = min(again - first, len(raws) - again)
        assert raws[again : again + count] == raws[first : first + count], (
            "and so is every one that follows, from equal replies"
        )
    shown = of_kind(person.heard, "consulted")
    assert len(shown) == 1, "nobody went back to before the rules were shown"


def test_rules_are_shown_once_a_branch_before_the_first_decision(scripted: World) -> None:
    person = Person(words=[Play("look"), Proceed(), Proceed(), Back(1), Proceed(), Stop("enough")], verdicts=[Again("no")])
    agent = Reciter([Act("look")] * 9)
    told = attend(scripted.open(scripted.task("demo:1")), agent, person, rules=RULES)
    assert [event.body.kind for event in told[:5]] == ["started", "intervened", "stepped", "consulted", "thought"]
    # What a proposal was made from that does not stand is on a branch of its own.
    assert len(of_kind(told, "consulted")) == 3
    assert all(tuple(rule.statement for rule in turn.rules) == RULES for turn in agent.turns)
    for one in (told[:9], told):
        assert len(of_kind(branch(one), "consulted")) == 1


def test_without_rules_nothing_is_said_of_them(scripted: World) -> None:
    told = attend(scripted.open(scripted.task("demo:1")), make_agent("expert", world=scripted), Person())
    assert not of_kind(told, "consulted")


@pytest.mark.heavy
@pytest.mark.parametrize("agent", CHATTING)
def test_an_interruption_cancels_the_call_and_the_agent_knows_nothing_of_it(house: World, agent: str) -> None:
    def played(person: Person, never_at: Sequence[int]) -> tuple[list[Event], list[tuple[Message, ...]]]:
        model = Moody(Solver(wrong_first_plan=agent in PLANNERS), never_at=never_at, told=lambda: len(person.heard))
        env = house.open(house.task("example:2"))
        return attend(env, make_agent(agent, world=house, model=model), person), model.prompts

    calm, prompts = played(Person(), ())
    # A planner calls its model after few of its turns only.
    asked_after = [one.id for one in calm if isinstance(one.body, Stepped) and _call_after(calm, one.id) is not None]
    turn = asked_after[0 if agent in PLANNERS else 2]
    call = _call_after(calm, turn)
    assert call is not None
    told, asked = played(Person(interrupts=[turn]), (call,))
    (interrupted,) = did(told, "interrupt")
    assert interrupted.parent == turn
    assert commands(told) == commands(calm)
    again = next(n for n, (one, other) in enumerate(pairwise(asked)) if one == other)
    assert [*asked[:again], *asked[again + 1 :]] == prompts


def _call_after(told: Sequence[Event], turn: int) -> int | None:
    """The first call between the turn that this event ended and the next turn."""
    for event in told[turn + 1 :]:
        if isinstance(event.body, ModelCall):
            return event.id
        if isinstance(event.body, Stepped):
            break
    return None


def test_an_interruption_that_comes_with_the_answer_comes_first(scripted: World) -> None:
    told = attend(scripted.open(scripted.task("demo:1")), Reciter([Act("look")] * 3), Person(interrupts=[1]), max_turns=1)
    assert [event.body.kind for event in told] == [
        "started",
        "thought",
        "intervened",
        "thought",
        "proposed",
        "stepped",
        "ended",
    ]
    assert told[2].parent == 0, "what was said before is a branch of its own"


def test_an_overseer_that_fails_while_the_agent_decides_is_not_swallowed(scripted: World) -> None:
    class Clumsy(Person):
        async def interruption(self) -> None:
            raise RuntimeError("dropped the coffee")

    with pytest.raises(RuntimeError, match="coffee"):
        attend(scripted.open(scripted.task("demo:1")), Reciter([Act("look")]), Clumsy())


def test_a_listener_that_fails_at_an_interruption_is_not_swallowed(scripted: World) -> None:
    class Gone(Person):
        def hear(self, event: Event | CallTiming) -> None:
            super().hear(event)
            if len(self.heard) == 2:
                raise BrokenPipeError("nobody reads on")

    with pytest.raises(BrokenPipeError):
        attend(scripted.open(scripted.task("demo:1")), Reciter([Act("look")]), Gone(interrupts=[1]))


def failing(world: World, person: Person, *fails_at: int) -> tuple[list[Event], Moody]:
    policy = lambda _: "Thought: on\nAction: look"  # noqa: E731
    model = Moody(policy, fails_at, told=lambda: len(person.heard))
    person.other = make_agent("react", world=world, model=Moody(policy, name="another"))
    env = world.open(world.task("demo:1"))
    return attend(env, make_agent("react", world=world, model=model), person, max_turns=3), model


def test_a_failure_is_told_and_tried_again(scripted: World) -> None:
    person = Person(failures=[Proceed(), Proceed(("look twice",))])
    told, model = failing(scripted, person, 5, 7)
    assert [event.body.kind for event in told[5:10]] == ["failed", "intervened", "failed", "intervened", "intervened"]
    assert [event.parent for event in told[5:10]] == [4, 4, 6, 6, 8], "a failure is a branch that was not gone on with"
    assert told[5].body == events.ModelFailed(turn=2, boundary="model", message="It is tired.")
    assert ("failed", "http://secret: it is tired.") in person.asked, "the person is told with the address, the record without"
    assert model.prompts[1] == model.prompts[2]
    assert "look twice" in model.prompts[3][-1].content
    assert told[-1].body.model_dump()["turns"] == 3


def test_after_a_failure_one_changes_the_model_and_memory_is_kept(scripted: World) -> None:
    person = Person(failures=[Other("another")])
    told, model = failing(scripted, person, 5)
    assert [event.body.text for event in did(told, "model") if isinstance(event.body, Intervened)] == ["another"]
    assert [about for name, about in person.asked if name == "before"][1:3] == [(2, POSSIBLE)] * 2, "then they are asked again"
    assert len(model.prompts) == 2
    assert commands(told) == ["look"] * 3


POSSIBLE = ("go to cellar", "go to study", "inventory", "look", "take lamp")


def test_after_a_failure_one_plays_goes_back_or_stops(scripted: World) -> None:
    told, _ = failing(scripted, Person(failures=[Play("inventory")]), 5)
    assert commands(told) == ["look", "inventory", "look"]
    told, _ = failing(scripted, Person(failures=[Back(0)]), 5)
    assert commands(branch(told)) == ["look"] * 3
    assert len(commands(told)) == 4
    told, _ = failing(scripted, Person(failures=[Stop("tea")]), 5)
    assert told[-1].body.model_dump()["reason"] == "tea"
    assert [event.body.kind for event in branch(told)][-3:] == ["failed", "intervened", "ended"]


def test_a_fault_in_the_agent_still_ends_the_branch_and_one_may_go_back(scripted: World) -> None:
    person = Person(words=[Proceed(), Proceed(), Back(1), Play("look"), Stop("enough")], ends=[Back(1)])
    told = attend(scripted.open(scripted.task("demo:1")), Reciter([Act("look"), ValueError("a bug")]), person)
    ends = [event.body for event in told if isinstance(event.body, Ended)]
    assert [end.boundary for end in ends] == ["agent", None]


def test_the_model_is_changed_before_a_turn(scripted: World) -> None:
    one, another = Reciter([Act("look")] * 3), Reciter([Act("inventory")] * 3)
    person = Person(words=[Proceed(), SwitchModel(another, "another")])
    told = attend(scripted.open(scripted.task("demo:1")), one, person, max_turns=3)
    assert commands(told) == ["look", "inventory", "inventory"]
    assert len(another.turns) == 2


def test_nobody_attending_is_asked_for_nothing(scripted: World) -> None:
    person = Person(attended=False, ends=[Back(0)])
    told = attend(scripted.open(scripted.task("demo:1")), make_agent("expert", world=scripted), person)
    assert {name for name, _ in person.asked} == {"before", "review"}
    assert {about for name, about in person.asked if name == "before"} == {(n, None) for n in range(1, 7)}
    assert told[-1].body.model_dump()["assisted"] is False


def test_one_goes_back_after_the_agent_gave_up(scripted: World) -> None:
    class Faint(Reciter):
        async def decide(self, memory: int, turn: Turn, emit: Emitter) -> tuple[Decision, int]:
            return (GiveUp("too hard"), memory) if turn.number == 2 and not turn.hints else (Act("look"), memory)

    person = Person(words=[Proceed(), Proceed(), Proceed(("try",))], ends=[Back(1)])
    told = attend(scripted.open(scripted.task("demo:1")), Faint([]), person, max_turns=2)
    assert commands(branch(told)) == ["look", "look"]
