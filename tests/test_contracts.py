"""The contracts stay small: whoever writes a world, an agent or a model meets no more than this."""

from __future__ import annotations

from dataclasses import fields

from housequest.agent.agents.spec import AgentSpec
from housequest.agent.skills.skill import ControllerState


def test_the_spec_of_an_agent_has_few_fields() -> None:
    assert len(fields(AgentSpec)) <= 10


def test_the_state_of_a_controller_has_few_fields() -> None:
    assert len(fields(ControllerState)) <= 8
