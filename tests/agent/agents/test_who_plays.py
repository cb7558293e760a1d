"""Who plays, and with which model, where somebody leaves it open."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.agents.registry import agent_names, agent_spec, default_agent, model_for, shipped_model
from agent.config import configure
from agent.evaluation.runs.spec import make_run_spec
from worlds.errors import ConfigurationError


@pytest.fixture(autouse=True)
def nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSEQUEST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def test_the_model_that_ships_plays_where_nothing_is_named() -> None:
    config = make_run_spec(configure({"split": "example"})).config
    assert (config.agent, config.model) == ("reasoner-actor", "builtin")
    assert config.script_sha256 is not None
    assert make_run_spec(configure({"split": "example", "agent": "expert"})).config.model is None


def test_a_file_like_it_is_another_model(tmp_path: Path) -> None:
    from agent.models.builtin.file import SHIPPED

    copy = tmp_path / "mine.weights"
    copy.write_bytes(SHIPPED.read_bytes()[:-2] + b"\0\0")
    one, other = (
        make_run_spec(configure({"split": "example", "model": name})).config for name in ("builtin", f"builtin:{copy}")
    )
    assert other.model == "builtin:mine.weights"
    assert one.script_sha256 != other.script_sha256


@pytest.mark.parametrize("agent", [name for name in agent_names() if agent_spec(name).needs_model and not shipped_model(name)])
def test_it_serves_no_other_agent(agent: str) -> None:
    with pytest.raises(ConfigurationError, match="needs a language model"):
        model_for(agent, None, "alfworld")
    with pytest.raises(ConfigurationError, match="knows nothing else"):
        model_for(agent, "builtin", "alfworld")
    assert model_for(agent, "openai:x", "alfworld") == "openai:x"


def test_nor_a_world_whose_texts_nobody_reads() -> None:
    assert default_agent(None, "scripted") == "expert"
    assert default_agent("openai:x", "scripted") == "reasoner-actor"
    with pytest.raises(ConfigurationError, match="needs a language model"):
        make_run_spec(configure({"world": "scripted"}))
    with pytest.raises(ConfigurationError, match="knows nothing else"):
        model_for("reasoner-actor", "builtin", "scripted")


def test_it_cannot_distil() -> None:
    from agent.explorer.plan import ExploreOptions, plan_exploration

    mined = plan_exploration(configure({"split": "generated", "model": "builtin"}), ExploreOptions(episodes=2))
    assert mined.model is None
    with pytest.raises(ConfigurationError, match="cannot distil"):
        plan_exploration(configure({"split": "generated"}), ExploreOptions(episodes=2, distiller="builtin"))


def test_it_costs_nothing() -> None:
    prices = configure().settings.prices_of("builtin")
    assert prices is not None
    assert (prices.input, prices.output) == (0, 0)
