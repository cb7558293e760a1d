"""The contract of agents: every shipped one keeps it, and an outsider's that breaks it is told what is wrong."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, cast

import pytest

from housequest.agent.agents.checking import check_agent
from housequest.agent.agents.spec import CORE, AgentParts, agent_names, agent_spec, declare_agent, make_agent
from housequest.agent.base import Act, Decision, Emitter, Grants, Turn
from housequest.agent.models.base import Message, Request
from housequest.worlds.base import Observation
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world, ships
from tests.agent.golden import SCENES, Answering, Scene


@pytest.mark.heavy
@pytest.mark.parametrize("scene", SCENES, ids=[scene.name for scene in SCENES])
def test_every_shipped_agent_keeps_the_contract(scene: Scene) -> None:
    world = make_world(scene.world)
    model = Answering(scene.policy, scene.can)
    report = asyncio.run(check_agent(scene.agent, world, world.task(scene.house), model, settings=scene.settings))
    assert report.broken == ()
    assert len(report.demands) > 8


def test_the_expert_keeps_the_contract() -> None:
    world = make_world("scripted")
    assert asyncio.run(check_agent("expert", world, world.task("demo:1"))).broken == ()
    assert asyncio.run(check_agent(agent_spec("expert"), "scripted", "demo:1")).broken == ()
    assert make_agent(agent_spec("expert"), world="scripted").name == "expert"
    for wrong in (object(), make_agent("expert", world=world)):
        with pytest.raises(ConfigurationError, match="is no name of an agent"):
            asyncio.run(check_agent(cast("Any", wrong), world, "demo:1"))


def test_what_ships_is_declared_and_comes_first() -> None:
    shipped = [name for name in agent_names() if ships("housequest.agents", name)]
    assert agent_names()[: len(shipped)] == (*CORE, *sorted(set(shipped).difference(CORE)))
    assert {scene.agent for scene in SCENES} == {name for name in shipped if "model" in agent_spec(name).needs}


class Careless:
    """Keeps its state in itself, swallows cancellation, and starts each prompt anew."""

    name = "careful"

    def __init__(self, model: Any) -> None:
        self.model = model
        self.number = 0

    def begin(self, goal: str, observation: Observation, grants: Grants) -> list[str]:
        return [goal]

    async def decide(self, memory: list[str], turn: Turn, emit: Emitter) -> tuple[Decision, list[str]]:
        self.number += 1
        memory.append("another turn")
        emit("a thought")  # pyright: ignore[reportArgumentType]
        with suppress(asyncio.CancelledError):
            await self.model.complete(Request([Message("system", "You play."), Message("user", f"Turn {self.number}.")]))
        return Act("look"), memory


@declare_agent("careless", "breaks every demand")
def careless(parts: AgentParts[Any]) -> Careless:
    return Careless(parts.given_model)


def test_an_agent_that_breaks_the_contract_is_told_so() -> None:
    world = make_world("scripted")
    report = asyncio.run(check_agent(careless, world, world.task("demo:1"), Answering(lambda _: "look")))
    assert [line.partition(":")[0] for line in report.broken] == [
        "the agent has the name of its spec",
        "a missing model is refused with ConfigurationError",
        "only events of AgentEvent are emitted, each with a Timing or None",
        "a memory is never changed",
        "the same memory and turn give the same decision, memory, events and requests",
        "a role's prompts are appended to, unless the spec says rerenders",
        "a decision can be cancelled, and leaves the memory as it was",
    ]
