"""The contracts stay small: whoever writes a world, an agent or a model meets no more than this."""

from __future__ import annotations

import inspect
from dataclasses import fields

from housequest.agent.agents.spec import AgentSpec
from housequest.agent.models.base import Model
from housequest.agent.skills.skill import ControllerState
from housequest.worlds import base
from housequest.worlds.base import Env, World
from housequest.worlds.registry import world_class, world_names
from tests.parts import WHOLE


def members(contract: type) -> set[str]:
    """What a subclass or a caller meets: public methods, and attributes with a value or an annotation."""
    return {name for name in {*vars(contract), *inspect.get_annotations(contract)} if not name.startswith("_")}


def test_a_world_and_an_env_have_few_members() -> None:
    assert len(members(World)) <= 12, sorted(members(World))
    assert len(members(Env)) <= 8, sorted(members(Env))


@WHOLE
def test_what_only_some_worlds_have_is_no_member_of_a_world() -> None:
    protocols = (base.HasExpert, base.Solvable, base.Explaining, base.Sandboxed, base.Skilled, base.Drawable)
    for protocol in (*protocols, base.Demonstrated, base.Replayed):
        assert members(protocol) and not members(protocol) & members(World)
        assert any(issubclass(world_class(name), protocol) for name in world_names()), protocol


def test_the_spec_of_an_agent_has_few_fields() -> None:
    assert len(fields(AgentSpec)) <= 10


def test_a_model_is_its_name_and_three_calls() -> None:
    assert members(Model) == {"name", "capabilities", "complete", "aclose"}


def test_the_state_of_a_controller_has_few_fields() -> None:
    assert len(fields(ControllerState)) <= 8
