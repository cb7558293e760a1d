"""Named protocols: each sets all that it names, and refuses one thing that is otherwise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from housequest.agent.agents.spec import agent_names, resolve_settings
from housequest.agent.config import Settings, SettingsSource, configure
from housequest.agent.evaluation.analysis.metrics import CeilingFigures, Figures
from housequest.agent.evaluation.analysis.run import card as cards
from housequest.agent.evaluation.analysis.run import card_differences, read_for_comparison
from housequest.agent.evaluation.render.report import RunReport, ceiling_words
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import Manifest, make_run_spec, select
from housequest.agent.protocols import ANY, PROTOCOLS
from housequest.knowledge.choosing import RuleBudget
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import config_folder
from housequest.worlds.registry import make_world
from scripts.protocol_cards import PAGE, page
from tests.agent.evaluation.recorded import Lived, paired, run
from tests.parts import WHOLE, needs

MODEL = {"model": "openai:x@http://localhost:1/v1"}
OTHERWISE: dict[str, object] = {
    "world": "scripted",
    "split": "train",
    "goals": "human:2",
    "grant": ["diagnosis"],
    "rules": "human",
    "retry_lost": 1,
    "max_steps": 7,
    "agent": "expert",
}
"""A value of each setting that no protocol has."""
OTHER_OWN: dict[str, object] = {
    "max_tokens": 7,
    "temperature": 0.9,
    "window": 9,
    "window_prompt": "x.py",
    "exemplars": "x.json",
    "pair": "2-1",
    "completions": "on",
    "search": "counts",
    "judged": "task",
}
CONSTANTS: dict[str, dict[str, object]] = {
    # noahshinn/reflexion, alfworld_trial.py at 878a144a, beside the logs; exemplars react_TYPE_1 and react_TYPE_0
    "reflexion": {"max_steps": 50, "max_tokens": 100, "temperature": 0.0, "pair": "1-0", "split": "valid_unseen"},
    # ysymyth/ReAct, alfworld.ipynb
    "react": {"max_steps": 49, "max_tokens": 100, "temperature": 0.0, "pair": "1-0", "thoughts": "turns"},
    # langfengQ/DrMAS, examples/gigpo_trainer/run_alfworld.sh
    "verl-agent": {"max_steps": 50, "max_tokens": 512, "temperature": 0.4, "window": 2, "grant": ("admissible",)},
    # THUDM/AgentBench, configs/tasks/alfworld.yaml and task.py at 27369872: rounds are replies, of a chat
    "agentbench": {"max_steps": 35, "thoughts": "turns", "completions": "off", "grant": ("admissible",)},
    # ai-nikolai/StateAct, alfworld_runs/README.md (VLLMChat) and alfworld_run.py at 29dda900
    "stateact": {"pair": "1-0", "completions": "off", "thoughts": "free", "temperature": 0.0},
}
"""What public code says, by where it was read."""


PLAYED = tuple(name for name, protocol in PROTOCOLS.items() if protocol.settings["agent"][0] in agent_names())
"""Protocols whose agent is in this tree."""


PET = needs("pet", "action-attention")


def named(name: str, **more: object) -> Settings:
    return configure({"protocol": name, **MODEL, **more})


def agent_of(name: str) -> str:
    return str(PROTOCOLS[name].settings["agent"][0])


def each_setting() -> Iterator[tuple[str, str]]:
    for protocol in map(PROTOCOLS.__getitem__, PLAYED):
        yield from ((protocol.name, key) for key, values in protocol.settings.items() if ANY not in values and key != "split")


def otherwise(name: str, key: str) -> object:
    return {("reflexion", "retry_lost"): 0, ("pet-human", "goals"): "template"}.get((name, key), OTHERWISE[key])


def each_own_setting() -> Iterator[tuple[str, str]]:
    for protocol in map(PROTOCOLS.__getitem__, PLAYED):
        mine = resolve_settings(agent_of(protocol.name), {})
        yield from ((protocol.name, key) for key, values in protocol.set.items() if ANY not in values and key in mine)


@pytest.mark.parametrize("name", PLAYED)
def test_it_sets_all_that_it_names(name: str) -> None:
    protocol, settings = PROTOCOLS[name], named(name)
    for key, values in protocol.settings.items():
        assert getattr(settings, key) == values[0], key
    agent = settings.agent
    assert agent in agent_names()
    resolved = resolve_settings(agent, settings.settings_of(agent))
    pinned = {key: values[0] for key, values in protocol.set.items() if key in resolved and values != (ANY,)}
    assert {key: resolved[key] for key in pinned} == pinned
    assert protocol.seen
    assert protocol.differs
    assert all(text.endswith(".") for text in (*protocol.seen, *protocol.differs))


@pytest.mark.parametrize(("name", "key"), each_setting())
def test_one_setting_that_is_otherwise_is_refused_and_named(name: str, key: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"--{key.replace('_', '-')}.*contradicts the protocol {name}"):
        named(name, **{key: otherwise(name, key)})


@pytest.mark.parametrize(("name", "key"), each_own_setting())
def test_one_setting_of_the_agent_that_is_otherwise_is_refused_and_named(name: str, key: str) -> None:
    mine = named(name).set[key]
    other = {"turns": "free", "free": "turns"}.get(str(mine), not mine if isinstance(mine, bool) else OTHER_OWN.get(key))
    with pytest.raises(ConfigurationError, match=f"--set {key}.*contradicts the protocol {name}"):
        named(name, set={key: other})


@needs("opex", "pet")
def test_what_agrees_with_it_may_be_said_and_what_it_leaves_open_be_chosen() -> None:
    settings = named("react", split="valid_unseen", max_steps=49, set={"pair": "0-2", "thoughts": "turns"}, limit=9, seed=3)
    assert (settings.set["pair"], settings.set["thoughts"], settings.limit, settings.seed) == ("0-2", "turns", 9, 3)
    assert named("pet-human", split="valid_seen", goals="human:2").goals == "human:2"
    assert named("reflexion", max_steps=49, retry_lost=11, set={"max_tokens": 256}).retry_lost == 11
    assert named("opex", agent="reasoner-actor", rules="human").rules == "human"
    with pytest.raises(ConfigurationError, match="Did you mean 'verl-agent'"):
        named("verl_agent")


def test_it_wins_over_a_file_and_refuses_in_an_arm_what_contradicts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    config_folder().mkdir(parents=True, exist_ok=True)
    file = config_folder() / "housequest.toml"
    file.write_text('split = "train"\nmax_steps = 9\n[agents.react]\nexemplars = "mine.json"\nthoughts = "free"\n')
    monkeypatch.setenv("HOUSEQUEST_SPLIT", "train")
    settings = named("react")
    assert (settings.split, settings.max_steps) == ("valid_unseen", 49)
    own = settings.settings_of("react")
    assert (own["exemplars"], own["thoughts"]) == ("mine.json", "turns")
    arm = SettingsSource("the arm 'a' of x.yaml", {"protocol": "react", "max_steps": 9})
    with pytest.raises(ConfigurationError, match=r"max_steps in the arm 'a' of x\.yaml: 9 contradicts"):
        configure(MODEL, besides=arm)
    file.write_text('protocol = "react"\n')
    with pytest.raises(ConfigurationError, match="'protocol', which is unknown"):
        configure()


def test_it_is_tuned_on_another_split_and_the_card_says_so(tmp_path: Path) -> None:
    assert named("react", split="valid_seen").split == "valid_seen"
    played = run(tmp_path, [Lived(1)], protocol="react", split="valid_seen")
    assert played.card["protocol"] == "react, but valid_seen"
    assert run(tmp_path / "own", [Lived(1)], protocol="react", split="valid_unseen").card["protocol"] == "react"


def test_it_refuses_tasks_that_a_network_learned_from() -> None:
    other = {"protocol": "react", "split": "generated:2990..3005", "model": "builtin"}
    learned = make_run_spec(configure({**{k: v for k, v in other.items() if k != "protocol"}})).manifest
    assert learned.learned == {"builtin": 10}
    assert "builtin from train, generated:0..2999" in card(learned)["learned"]
    assert make_run_spec(configure({"split": "generated", "limit": 3, "model": "builtin"})).manifest.learned == {}


def test_the_names_of_settings_are_those_that_there_are() -> None:
    for protocol in PROTOCOLS.values():
        assert set(protocol.settings) <= set(Settings.model_fields)
        agents = [str(name) for name in protocol.settings["agent"]]
        if set(agents) <= set(agent_names()):
            assert set(protocol.set) == {key for agent in agents for key in resolve_settings(agent, {})}, "pinned, or left open"


@pytest.mark.parametrize("name", CONSTANTS)
def test_its_constants_are_those_of_public_code(name: str) -> None:
    settings = named(name)
    kept = {**settings.model_dump(), **resolve_settings("react", settings.settings_of("react"))}
    assert {key: kept[key] for key in CONSTANTS[name]} == CONSTANTS[name]


@pytest.mark.parametrize(
    ("name", "otherwise"),
    [
        pytest.param("opex", {"set": {"planner": "off"}}, marks=needs("opex")),
        pytest.param("opex", {"set": {"observer": "off"}}, marks=needs("opex")),
        pytest.param("opex", {"agent": "reasoner-actor", "set": {"temperature": 1.5}}, marks=needs("opex")),
        pytest.param("pet-human", {"goals": "template"}, marks=PET),
        pytest.param("pet-human", {"set": {"plan": "off"}}, marks=PET),
        pytest.param("pet-human", {"agent": "action-attention", "set": {"eliminate": "off"}}, marks=PET),
        ("reflexion", {"retry_lost": 0}),
        ("stateact", {"set": {"pair": "2-1"}}),
    ],
)
def test_what_its_paper_has_is_no_ablation(name: str, otherwise: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=f"contradicts the protocol {name}"):
        named(name, **otherwise)


@WHOLE
def test_the_page_says_of_each_what_the_code_does() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it again: python -m scripts.protocol_cards"


def manifest(folder: Path, **configuration: object) -> Manifest:
    plain: dict[str, object] = {"settings": {}}
    return run(folder, [Lived(1)], **{**plain, **configuration}).manifest  # pyright: ignore[reportArgumentType]


def test_agentbench_has_its_fifty_games_and_no_others() -> None:
    games = PROTOCOLS["agentbench"].tasks("valid_unseen")
    assert games is not None
    parts = [re.fullmatch(r"valid_unseen/(\w+?)-\w+-None-\w+-\d+/trial_T\d{8}_\d{6}_\d{6}", game) for game in games]
    assert sorted(Counter(part[1] for part in parts if part).values()) == [8, 8, 8, 8, 9, 9]
    assert PROTOCOLS["react"].tasks("valid_unseen") is None


def test_the_games_of_a_protocol_are_chosen_from_and_must_be_here(tmp_path: Path) -> None:
    world = make_world("scripted")
    every = [task.id for task in world.tasks("demo")]
    assert [task.id for task in select(world, "demo", only=every[1:]).tasks] == every[1:]
    assert [task.id for task in select(world, "demo", only=every[1:], limit=1).tasks] == every[1:2]
    assert select(world, "demo", only=every[1:]).of == 3
    with pytest.raises(ConfigurationError, match="1 of these 2 games are not here, such as 'demo/x'"):
        select(world, "demo", only=["demo/x", *every[:1]])
    part = manifest(tmp_path / "a", protocol="agentbench", split="valid_unseen").model_copy(update={"of": 134})
    assert card(part)["tasks"] == "1 of the split's 134: not the whole list"
    listed = part.model_copy(update={"tasks": part.tasks * 50})
    assert card(listed)["tasks"] == "50 of the split's 134"


def card(of: Manifest) -> dict[str, str]:
    return cards(of, Figures())


CHANGES: dict[str, tuple[dict[str, object], str]] = {
    "protocol": ({"protocol": "react"}, "react"),
    "split": ({"split": "valid_seen"}, "valid_seen"),
    "goals": ({"goals": "human"}, "human"),
    "turns": ({"max_turns": 49}, "at most 49"),
    "grants": ({"grants": ("admissible",)}, "admissible"),
    "retries": ({"attempt": 2}, "attempt 2"),
    "repeats": ({"repeat": 3}, "number 3"),
    "examples": ({"settings": {"exemplars": "own"}}, "2 exemplars"),
    "rules": ({"rules": RuleBudget(file="human", sha256="a" * 64, rules=())}, "human"),
    "prior": ({"settings": {"search": "counts"}}, "counts of where things were in train"),
    "learned": ({}, "builtin from train"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_one_change_is_seen_in_its_line_of_the_card(name: str, tmp_path: Path) -> None:
    plain = manifest(tmp_path / "plain")
    changed, told = CHANGES[name]
    other = manifest(tmp_path / "other", **changed)
    if name == "learned":
        other = other.model_copy(update={"learned_from": {"builtin": ("train",)}})
    differs = card_differences(card(plain), card(other))
    assert list(differs) == [name]
    assert told in differs[name][1]
    assert card_differences(card(plain), card(plain)) == {}


def test_each_line_of_the_card_is_changed_by_a_test(tmp_path: Path) -> None:
    assert set(card(manifest(tmp_path / "plain"))) == {*CHANGES, "tasks", "data", "engine", "asked", "weights", "sees"}


@needs("alfred", "opex")
def test_what_makes_things_of_pictures_is_seen_in_the_card(tmp_path: Path) -> None:
    texts = manifest(tmp_path / "texts", agent="opex", world="alfworld")
    by_truth = manifest(tmp_path / "truth", agent="opex", world="alfred")
    noisy = manifest(tmp_path / "noisy", agent="opex", world="alfred", settings={"seeing": "noisy:miss=0.2"})
    truth = "what its camera shows, by perception truth"
    assert card(texts)["sees"] == "text"
    assert card(manifest(tmp_path / "expert", agent="expert", world="alfred"))["sees"] == truth
    assert card_differences(card(by_truth), card(noisy)) == {"sees": (truth, truth.replace("truth", "noisy:miss=0.2"))}


def test_how_the_model_was_asked_is_seen_in_the_card(tmp_path: Path) -> None:
    """Two runs whose settings are equal, and whose endpoints are not."""
    plain = run(tmp_path / "a", [Lived(1, calls=True)], plain=True)
    chat = run(tmp_path / "b", [Lived(1, calls=True)])
    compared = paired(plain, chat)
    assert compared.unlike == {"asked": ("as plain text", "as a chat")}
    assert "! Not measured alike: asked (as plain text and as a chat)." in compared.text()
    assert RunReport(plain).data()["card"]["asked"] == "as plain text"  # pyright: ignore
    assert run(tmp_path / "c", [Lived(1)]).card["asked"] == "no model"


def test_other_tasks_data_and_engines_are_seen_too(tmp_path: Path) -> None:
    plain = manifest(tmp_path / "plain")
    part, data, engine = (plain.model_copy(update=each) for each in ({"of": 9}, {"data": "e" * 64}, {"engine": "other 2"}))
    assert card_differences(card(plain), card(part)) == {
        "tasks": (card(plain)["tasks"], "1 of the split's 9: not the whole split")
    }
    assert list(card_differences(card(plain), card(data))) == ["data"]
    assert card_differences(card(plain), card(engine)) == {"engine": ("scripted 1", "other 2")}


def test_thoughts_among_the_turns_and_the_prior_of_each_kind(tmp_path: Path) -> None:
    counted = manifest(tmp_path / "a", settings={"exemplars": "x.json", "thoughts": "turns"})
    assert card(counted)["turns"] == "at most 50, thoughts among them"
    assert card(counted)["examples"].endswith("from a file")
    acting = manifest(tmp_path / "acting", settings={"exemplars": "x.json", "thoughts": "none"})
    assert list(card_differences(card(counted), card(acting))) == ["examples"]
    priors = [card(manifest(tmp_path / how, settings={"search": how}))["prior"] for how in ("llm", "counts", "random", "name")]
    assert len(set(priors)) == 4
    assert card(manifest(tmp_path / "b"))["prior"] == "none but the model's"
    assert card(manifest(tmp_path / "e", model=None))["prior"] == "the player's own"
    assert card(manifest(tmp_path / "f", model=None, world="alfworld"))["prior"] == "counts of where things were in train"
    assert card(manifest(tmp_path / "c", settings={"order": "name"}))["prior"] == "none, places are searched by name"
    assert card(manifest(tmp_path / "d", settings={"shots": 5, "examples": "train"}))["examples"] == "5 of train"


@needs("graphs")
def test_a_prior_that_was_written_is_told_from_one_that_was_counted(tmp_path: Path) -> None:
    graphs = manifest(tmp_path, world="household-graph", settings={"search": "counts"})
    assert card(graphs)["prior"] == "written habits of where things lie, counted nowhere"
    nobody, run_of = CeilingFigures("counts", 4, 0, None), read_for_comparison(RunFolder(tmp_path))
    assert "searching by written habits of where things lie, counted nowhere" in ceiling_words(nobody, run_of)


def test_a_run_without_a_protocol_is_what_it_was_before_there_were_any() -> None:
    settings = configure({"agent": "expert", "split": "example"})
    kept = make_run_spec(settings).manifest.model_dump(mode="json")["configuration"]
    assert not {"protocol", "repeat", "attempt", "earlier"} & set(kept)
    under = settings.model_copy(update={"protocol": "react"})
    assert make_run_spec(under).manifest.configuration.protocol == "react"
