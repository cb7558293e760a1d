"""The loop: what becomes an event, how an episode ends, and what a person may change."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import (
    Accept,
    Act,
    Again,
    Agent,
    Decision,
    Emitter,
    Grants,
    ParseFailure,
    Play,
    Proceed,
    Replace,
    Stop,
    Turn,
    Unattended,
)
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import MOST_UNREAD, play, run_episode
from housequest.agent.roles.messages import emit_rules
from housequest.worlds.base import Env, Observation, Step, World
from housequest.worlds.env import Wrapper
from housequest.worlds.errors import ConfigurationError, ModelError
from housequest.worlds.registry import make_world


@pytest.fixture
def world() -> World:
    return make_world("scripted")


@dataclass
class Reciter:
    """An agent that plays a list of decisions, shows all rules at every turn, and keeps what it was told."""

    decisions: Sequence[Decision | Exception]
    turns: list[Turn] = field(default_factory=list[Turn])
    name: str = "reciter"

    def begin(self, goal: str, observation: Observation, grants: Grants) -> int:
        return 0

    async def decide(self, memory: int, turn: Turn, emit: Emitter) -> tuple[Decision, int]:
        self.turns.append(turn)
        emit_rules(turn.rules, (), emit)
        emit(events.Thought(role="reciter", text=f"number {memory}"))
        decision = self.decisions[memory]
        if isinstance(decision, Exception):
            raise decision
        return decision, memory + 1


@dataclass
class Person(Unattended):
    """An overseer that plays lists of words and verdicts, and lets everything happen after them."""

    words: Sequence[Proceed | Play | Stop] = ()
    verdicts: Sequence[Accept | Replace | Again | Stop] = ()
    asked: int = 0

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> Proceed | Play | Stop:
        return self.words[turn - 1] if turn <= len(self.words) else Proceed()

    async def review(self, turn: int, proposal: str) -> Accept | Replace | Again | Stop:
        self.asked += 1
        return self.verdicts[self.asked - 1] if self.asked <= len(self.verdicts) else Accept()


class Watching(Person):
    attended = True


def episode(
    env: Env, agent: Agent, person: Person | None = None, *, max_turns: int = 50, grants: frozenset[str] = frozenset()
) -> list[Event]:
    told: list[Event | CallTiming] = []
    asyncio.run(run_episode(env, agent, EpisodeConfig(make_world("scripted"), grants, max_turns), told.append, person))
    return [event for event in told if isinstance(event, Event)]


def ended(told: Sequence[Event]) -> events.Ended:
    body = told[-1].body
    assert isinstance(body, events.Ended)
    return body


def of_kind(told: Sequence[Event], kind: str) -> list[Event]:
    return [event for event in told if event.body.kind == kind]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_expert_wins_and_every_event_is_told_once(world: World, number: int) -> None:
    told = episode(world.open(world.task(f"demo:{number}")), make_agent("expert", world=world))
    assert ended(told).outcome == "won"
    assert [event.id for event in told] == list(range(len(told)))
    assert [event.parent for event in told] == [None, *range(len(told) - 1)]
    steps = [event.body for event in told if isinstance(event.body, events.Stepped)]
    assert steps[-1].won
    assert steps[-1].met == steps[-1].conditions
    assert ended(told).steps == len(steps)


def test_an_unreadable_reply_spends_a_turn_and_the_limit_ends_the_episode(world: World) -> None:
    agent = Reciter([Act("look"), ParseFailure("actor", "rubbish"), Act("fly"), Act("look")])
    told = episode(world.open(world.task("demo:1")), agent, max_turns=3)
    assert ended(told).model_dump(include={"outcome", "turns", "steps", "refused"}) == {
        "outcome": "lost",
        "turns": 3,
        "steps": 2,
        "refused": 1,
    }
    assert [turn.number for turn in agent.turns] == [1, 2, 3]
    assert [turn.left for turn in agent.turns] == [3, 2, 1]
    assert [[t.command for t in turn.transitions] for turn in agent.turns] == [[], ["look"], []]
    assert of_kind(told, "stepped")[-1].body.model_dump()["truncated"]


def test_an_episode_of_which_nothing_can_be_read_is_lost_unless_a_person_looks_on(world: World) -> None:
    unread = [ParseFailure("actor", "rubbish")] * MOST_UNREAD
    decisions = [*unread[1:], Act("look"), *unread, Act("look")]
    alone = episode(world.open(world.task("demo:1")), Reciter(decisions))
    assert (ended(alone).outcome, ended(alone).steps) == ("lost", 1), "a command that is read begins the count anew"
    assert "5 turns in a row" in ended(alone).reason
    watched = episode(world.open(world.task("demo:1")), Reciter(decisions), Watching(), max_turns=len(decisions))
    assert ended(watched).steps == 2
    assert "in a row" not in ended(watched).reason


@dataclass
class Misled:
    """An agent whose `decide` gives what nobody can carry out: ``given``, or without ``later`` at once."""

    given: object
    later: bool = True
    name: str = "misled"

    def begin(self, goal: str, observation: Observation, grants: Grants) -> None:
        return None

    def decide(self, memory: None, turn: Turn, emit: Emitter) -> Any:
        async def decided() -> object:
            return self.given

        return decided() if self.later else self.given


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (Misled(("look", None)), "gave ('look', None); return a decision and the memory"),
        (Misled(Act("look")), "gave Act(command='look', says=()); return a decision and the memory"),
        (Misled((Act(cast("Any", 3)), None)), "return a decision and the memory"),
        (Misled(None), "gave None; return a decision and the memory"),
        (Misled((Act("look"), None), later=False), "write `async def decide`"),
    ],
)
def test_what_is_no_decision_ends_the_episode_with_the_words_to_mend_it(world: World, agent: Misled, words: str) -> None:
    told = ended(episode(world.open(world.task("demo:1")), agent))
    assert (told.outcome, told.boundary) == ("error", "agent")
    assert "the agent 'misled'" in str(told.message)
    assert words in str(told.message)


def test_a_game_may_be_given_by_names_alone() -> None:
    async def played(*names: Any) -> list[str]:
        return [event.body.kind async for event in play(*names, max_turns=1)]

    assert asyncio.run(played("scripted", "demo:1", "expert"))[-1] == "ended"
    for names, words in (
        (("scripted", "demo:1", Misled), "is a class"),
        (("scripted", "demo:1", object()), "it has no name, no begin, no decide"),
        ((make_world("scripted").task("demo:1"), "scripted", "expert"), "is no world"),
        (("scripted", 1, "expert"), "1 is no task"),
        (("scripted", "demo:1", "exprt"), "Did you mean 'expert'"),
        ((type(make_world("scripted")), "demo:1", "expert"), "is no world"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            asyncio.run(played(*names))


@pytest.mark.parametrize(("fault", "boundary"), [(ModelError("the endpoint is down"), "model"), (ValueError("a bug"), "agent")])
def test_a_failure_ends_the_episode_at_its_boundary(world: World, fault: Exception, boundary: str) -> None:
    told = episode(world.open(world.task("demo:1")), Reciter([Act("look"), fault]))
    assert ended(told).outcome == "error"
    assert ended(told).boundary == boundary
    assert str(fault) in (ended(told).message or "")


def test_a_listener_that_fails_is_not_the_agents_fault(world: World) -> None:
    told: list[Event | CallTiming] = []

    def listen(event: Event | CallTiming) -> None:
        told.append(event)
        if isinstance(event, Event) and isinstance(event.body, events.Thought):
            raise BrokenPipeError("nobody reads on")

    env = world.open(world.task("demo:1"))
    with pytest.raises(BrokenPipeError):
        asyncio.run(run_episode(env, make_agent("expert", world=world), EpisodeConfig(world), listen))
    assert [event.body.kind for event in told if isinstance(event, Event)] == ["started", "thought"]


class Collapsing(Wrapper):
    """An env whose house falls in at the first step."""

    def step(self, command: str) -> Step:
        raise OSError("the roof")


def test_a_broken_world_is_an_errored_episode(world: World) -> None:
    told = episode(Collapsing(world.open(world.task("demo:1"))), Reciter([Act("look")]))
    assert ended(told).boundary == "world"


def test_a_hint_and_a_replaced_command_reach_the_agent_as_they_happened(world: World) -> None:
    agent = Reciter([Act("fly"), Act("look")])
    person = Person(words=[Proceed(("mind the step",))], verdicts=[Replace("inventory")])
    told = episode(world.open(world.task("demo:1")), agent, person, max_turns=2)
    assert agent.turns[0].hints == ("mind the step",)
    assert agent.turns[1].hints == ()
    assert [t.command for t in agent.turns[1].transitions] == ["inventory"]
    first = of_kind(told, "stepped")[0].body
    assert isinstance(first, events.Stepped)
    assert first.by == "person"
    assert ended(told).assisted


def test_asking_again_rewinds_the_memory_and_branches_the_record(world: World) -> None:
    agent = Reciter([Act("fly"), Act("look")])
    told = episode(world.open(world.task("demo:1")), agent, Person(verdicts=[Again("no"), Accept()]), max_turns=1)
    assert [turn.hints for turn in agent.turns] == [(), ("no",)]
    again = next(event for event in told if isinstance(event.body, events.Intervened))
    assert again.parent == told[0].id, "what was said before the person asked again is a branch of its own"
    step = of_kind(told, "stepped")[0].body
    assert isinstance(step, events.Stepped)
    assert step.command == "fly", "the reciter says the same again from the same memory"


def test_a_person_takes_over_and_hands_back(world: World) -> None:
    agent = Reciter([Act("look")])
    person = Person(words=[Play("go to study"), Play("take key"), Proceed()])
    told = episode(world.open(world.task("demo:1")), agent, person, max_turns=3)
    assert len(agent.turns) == 1
    assert [t.command for t in agent.turns[0].transitions] == ["go to study", "take key"]
    assert ended(told).turns == 3


@pytest.mark.parametrize("person", [Person(words=[Stop("tea")]), Person(verdicts=[Stop("tea")])])
def test_a_person_stops_the_episode(world: World, person: Person) -> None:
    told = episode(world.open(world.task("demo:1")), Reciter([Act("look")]), person)
    assert (ended(told).outcome, ended(told).reason) == ("stopped", "tea")


def test_grants_are_given_and_nothing_more(world: World) -> None:
    plain, granted = Reciter([Act("look")]), Reciter([Act("look")])
    env = world.open(world.task("demo:1"))
    episode(env, plain, max_turns=1)
    episode(env, granted, max_turns=1, grants=frozenset({"admissible"}))
    assert plain.turns[0].admissible is None
    assert granted.turns[0].admissible == ("go to cellar", "go to study", "inventory", "look", "take lamp")


def test_play_yields_events_and_can_be_left_early(world: World) -> None:
    async def first_three() -> list[str]:
        kinds: list[str] = []
        stream = play(world, world.task("demo:1"), make_agent("expert", world=world))
        async for event in stream:
            kinds.append(event.body.kind)
            if len(kinds) == 3:
                break
        await stream.aclose()
        return kinds

    assert asyncio.run(first_three()) == ["started", "thought", "proposed"]
