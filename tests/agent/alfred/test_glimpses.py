"""What an agent by a camera makes of its pictures is published while it plays, and found out again from its record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.alfred.robot import Impression, glimpses
from housequest.agent.base import Glimpse, Play, Proceed, Stop
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Ended, Event, Intervened, Proposed, Started, Stepped, TurnSpent
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Capabilities, Completion, Model, ModelWrapper, ProbedPart, Request
from housequest.worlds.errors import ModelError, Unsupported
from housequest.worlds.registry import make_world
from tests.agent.agents.opex.test_opex import PLAN, play, roles
from tests.agent.episodes.attending import Back, Person

pytestmark = pytest.mark.heavy

NOISY = {"seeing": "noisy:miss=0.2,confuse=0.2,depth=0.05,seed=3"}


@cache
def episode() -> tuple[tuple[Event, ...], dict[int, Glimpse]]:
    """The first turns of an episode by a camera, and what was published of it."""
    return played()


def played(
    overseer: Person | None = None,
    wrapper: Callable[[Model], Model] = lambda model: model,
    settings: Mapping[str, str] = NOISY,
) -> tuple[tuple[Event, ...], dict[int, Glimpse]]:
    """The same with an overseer, another model around its model, or other settings."""
    world = make_world("alfred")
    model = wrapper(roles([PLAN], [play("PickupObject", "Egg")] * 9))
    agent = make_agent("opex", world=world, model=model, settings=settings)
    told: list[Event] = []
    seen: dict[int, Glimpse] = {}

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            told.append(event)
            if overseer is not None:
                overseer.hear(event)

    config = EpisodeConfig(world, max_turns=25, model=model.name, settings=settings)
    env = world.open(world.task("example:1"))
    asyncio.run(run_episode(env, agent, config, listen, overseer, watcher=lambda one: seen.update({one.at: one})))
    return tuple(told), seen


def look(glimpse: Glimpse) -> Impression:
    found = glimpse.look()
    assert found is not None
    return found


def test_each_decision_is_published_with_what_was_claimed_and_where_it_leads() -> None:
    told, seen = episode()
    ends = [event.id for event in told if isinstance(event.body, Started | Stepped | TurnSpent)]
    assert list(seen) == ends[:-1]
    assert {one.doing for one in seen.values()} == {"pick up the egg"}
    first, last = look(next(iter(seen.values()))), look(list(seen.values())[-1])
    assert first.map is not None and last.map is not None
    assert first.map.explored.sum() < last.map.explored.sum() and set(first.map.names) < set(last.map.names)
    assert first.claims and all(one.mask.shape == (150, 150) and 0 < one.score < 1 for one in first.claims)
    assert any(one.path for one in map(look, seen.values()))


class Listening(ModelWrapper):
    """Calls ``told`` whenever the model is asked."""

    def __init__(self, model: Model, told: Callable[[], None]) -> None:
        super().__init__(model)
        self._told = told

    async def complete(self, request: Request) -> Completion:
        self._told()
        return await super().complete(request)


def test_what_it_sees_is_there_while_its_model_thinks() -> None:
    begun: list[int] = []
    seen: dict[int, Glimpse] = {}
    asked: list[bool] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event) and isinstance(event.body, Started | Stepped | TurnSpent):
            begun.append(event.id)

    def look_up() -> None:
        asked.append(begun[-1] in seen and seen[begun[-1]].look() is not None)

    world = make_world("alfred")
    model = Listening(roles([PLAN], [play("PickupObject", "Egg")] * 9), look_up)
    agent = make_agent("opex", world=world, model=model, settings=NOISY)
    config = EpisodeConfig(world, max_turns=8, model=model.name, settings=NOISY)
    env = world.open(world.task("example:1"))
    asyncio.run(run_episode(env, agent, config, listen, watcher=lambda one: seen.update({one.at: one})))
    assert asked and all(asked)


def test_a_way_begins_where_the_robot_stands_and_goes_on_in_single_steps() -> None:
    _, seen = episode()
    for one in map(look, seen.values()):
        for (x, z), (next_x, next_z) in zip(one.path, one.path[1:], strict=False):
            assert round(abs(x - next_x) + abs(z - next_z), 6) == 0.25


def test_a_record_tells_the_same_again_wherever_it_ends() -> None:
    told, seen = episode()
    proposed = [event.id for event in told if isinstance(event.body, Proposed)]
    for count in (len(told), len(told) - 1, proposed[12] + 1, proposed[12]):
        again = glimpses(told[:count])
        assert list(again) == list(seen)[: len(again)] and len(again) >= 12
        for at, glimpse in again.items():
            one, other = look(glimpse), look(seen[at])
            assert (one.skill, one.step, one.target, one.path, one.held) == (
                (other.skill, other.step, other.target, other.path, other.held)
            )
            assert [(claim.kind, claim.score) for claim in one.claims] == [(claim.kind, claim.score) for claim in other.claims]
            assert one.map is not None and other.map is not None
            assert np.array_equal(one.map.kinds, other.map.kinds) and np.array_equal(one.map.sure, other.map.sure)


class Tired(ModelWrapper):
    """Can be held to forms, and fails at its call number ``last``."""

    calls = 0
    last = 2

    async def capabilities(self) -> Capabilities:
        return Capabilities(grammar=True)

    async def probe(self, part: ProbedPart) -> Capabilities:
        del part
        return await self.capabilities()

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        if self.calls == self.last:
            raise ModelError("It is tired.")
        return replace(await super().complete(replace(request, grammar=None)), held="kept")


class TiredAtOnce(Tired):
    last = 1


@pytest.mark.parametrize("tired", [Tired, TiredAtOnce])
def test_a_record_whose_last_call_failed_tells_the_same_again(tired: type[Tired]) -> None:
    told, seen = played(wrapper=tired, settings={**NOISY, "form": "held"})
    assert isinstance(told[-1].body, Ended) and told[-1].body.boundary == "model"
    assert list(glimpses(told)) == list(seen)


def test_a_person_who_takes_over_and_goes_back_is_no_obstacle() -> None:
    person = Person([Proceed(), Proceed(), Play("RotateLeft"), Proceed(), Back(1), Proceed(), Proceed(), Stop()])
    told, seen = played(overseer=person)
    assert any(isinstance(event.body, Intervened) and event.body.action == "rewind" for event in told)
    again = glimpses(told)
    assert list(again) == list(seen)
    for at, glimpse in again.items():
        one, other = look(glimpse), look(seen[at])
        assert one.map is not None and other.map is not None
        assert np.array_equal(one.map.kinds, other.map.kinds) and one.path == other.path


def test_what_cannot_be_found_out_again_says_why() -> None:
    told, _ = episode()
    started = told[0].body
    assert isinstance(started, Started)

    def changed(**fields: str) -> list[Event]:
        return [told[0].model_copy(update={"body": started.model_copy(update=fields)}), *told[1:]]

    with pytest.raises(Unsupported, match="does not hold the rules"):
        glimpses(changed(rules="kitchen"))
    with pytest.raises(Unsupported, match="was played with 'ai2thor 5'"):
        glimpses(changed(engine="ai2thor 5"))
    with pytest.raises(Unsupported, match="does not fit"):
        glimpses([*told[:5], *told[6:]])
    assert glimpses(changed(agent="human")) == glimpses(changed(world="scripted")) == glimpses(()) == {}
