"""Who plays, and with which model, where somebody leaves it open."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.agents.spec import agent_names, agent_spec, default_agent, model_for, shipped_model
from housequest.agent.config import configure
from housequest.agent.evaluation.analysis.metrics import Figures
from housequest.agent.evaluation.analysis.run import card, card_differences, prior_of
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.worlds.errors import ConfigurationError
from tests.parts import needs

"""How each model was asked."""


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
    from housequest.agent.models.builtin.network import SHIPPED

    copy = tmp_path / "mine.weights"
    copy.write_bytes(SHIPPED.read_bytes()[:-2] + b"\0\0")
    one, other = (
        make_run_spec(configure({"split": "example", "model": name})).config for name in ("builtin", f"builtin:{copy}")
    )
    assert other.model == "builtin:mine.weights"
    assert one.script_sha256 != other.script_sha256


ACTING: dict[str, dict[str, Any]] = {
    "action-attention": {"agent": "action-attention"},
    "pet": {"agent": "pet", "model": "openai:some@http://127.0.0.1:9/v1", "set": {"acting": "action-attention"}},
}


@needs("action-attention", "pet")
@pytest.mark.parametrize("agent", ACTING)
def test_a_network_of_the_same_name_is_another_run(tmp_path: Path, agent: str) -> None:
    from housequest.agent.agents.action_attention.network import SHIPPED

    flags = {"split": "example", "grant": ("admissible",), **ACTING[agent]}
    content = SHIPPED.read_bytes()
    (tmp_path / "mine").write_bytes(content)
    given = configure({**flags, "set": {**flags.get("set", {}), "weights": "mine"}})
    plain, first = make_run_spec(configure(flags)), make_run_spec(given)
    (tmp_path / "mine").write_bytes(content[:-2] + b"\0\0")
    second = make_run_spec(given)
    key = "action-attention/weights"
    assert plain.manifest.prompts[key] == first.manifest.prompts[key] == sha256(content).hexdigest()
    assert key not in first.manifest.unused_templates
    assert len({plain.default_folder, first.default_folder, second.default_folder}) == 3
    assert list(card_differences(card(first.manifest, Figures()), card(second.manifest, Figures()))) == ["weights"]
    folder = RunFolder(tmp_path / "run")
    folder.begin(first.manifest)
    folder.begin(first.manifest)
    with pytest.raises(ConfigurationError, match=r"prompts\.action-attention/weights"):
        folder.begin(second.manifest)


def test_the_digest_of_the_model_that_ships_stands_on_the_card() -> None:
    from housequest.agent.models.builtin.network import SHIPPED

    manifest = make_run_spec(configure({"split": "example"})).manifest
    assert card(manifest, Figures())["weights"] == sha256(SHIPPED.read_bytes()).hexdigest()[:12]
    assert card(make_run_spec(configure({"split": "example", "agent": "expert"})).manifest, Figures())["weights"] == "none"


@needs("pet", "action-attention")
def test_settings_of_the_network_are_for_who_has_one(tmp_path: Path) -> None:
    flags = {"split": "example", "agent": "pet", "model": "openai:some@http://127.0.0.1:9/v1"}
    for given in ({"again": "on"}, {"weights": "mine"}):
        with pytest.raises(ConfigurationError, match="Only acting=action-attention"):
            make_run_spec(configure({**flags, "set": given}))
    nowhere = {"acting": "action-attention", "weights": "nowhere"}
    with pytest.raises(ConfigurationError, match="nowhere' cannot be read"):
        make_run_spec(configure({**flags, "grant": ("admissible",), "set": nowhere}))


@needs("action-attention", "pet")
@pytest.mark.parametrize("agent", ACTING)
def test_what_a_network_learned_from_the_expert_is_its_prior(agent: str) -> None:
    manifest = make_run_spec(configure({"split": "example", "grant": ("admissible",), **ACTING[agent]})).manifest
    assert card(manifest, Figures())["prior"] == "counts of where things were in train"
    assert prior_of(manifest.configuration) == "counts"


@pytest.mark.parametrize(
    "agent", [name for name in agent_names() if "model" in agent_spec(name).needs and not shipped_model(name)]
)
def test_it_serves_no_other_agent(agent: str) -> None:
    with pytest.raises(ConfigurationError, match="needs a language model"):
        model_for(agent, None, "alfworld")
    with pytest.raises(ConfigurationError, match="only plays households"):
        model_for(agent, "builtin", "alfworld")
    assert model_for(agent, "openai:x", "alfworld") == "openai:x"


def test_nor_a_world_whose_texts_nobody_reads() -> None:
    assert default_agent(None, "scripted") == "expert"
    assert default_agent("openai:x", "scripted") == "reasoner-actor"
    with pytest.raises(ConfigurationError, match="needs a language model"):
        make_run_spec(configure({"world": "scripted"}))
    with pytest.raises(ConfigurationError, match="only plays households"):
        model_for("reasoner-actor", "builtin", "scripted")


def test_it_costs_nothing() -> None:
    prices = configure().prices_of("builtin")
    assert prices is not None
    assert (prices.input, prices.output) == (0, 0)
