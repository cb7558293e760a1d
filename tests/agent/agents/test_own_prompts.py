"""A user's own prompts: what a folder says is what is sent, and nothing of it is lost in silence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.agents.spec import agent_spec, make_agent, resolve_settings
from housequest.agent.base import Act, Decision, Emitter, Grants, Turn
from housequest.agent.config import configure
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.models.registry import make_model
from housequest.agent.roles.base import load_prompt, template_hashes
from housequest.agent.roles.own import carrying, read_own, templates
from housequest.agent.setup import worked
from housequest.worlds.base import Observation
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world
from tests.agent.playing import play
from tests.backends.policy import Solver
from tests.backends.server import serve

WORDS = "Once upon a time there was a house."


def folder(place: Path, **files: str) -> str:
    place.mkdir(exist_ok=True)
    for name, text in files.items():
        (place / f"{name}.txt").write_text(text, "utf-8")
    return str(place)


def with_rest(name: str, *sections: str, agent: str = "reasoner-actor") -> str:
    """A template with these sections, and the others as they ship."""
    shipped = load_prompt(*templates(agent_spec(agent).templates)[name]).sections
    own = {section.split()[1] for section in sections}
    return "\n".join([*sections, *(f"=== {each} ===\n{body}" for each, body in shipped.items() if each not in own)])


def spec(prompts: str, agent: str = "reasoner-actor", **more: Any) -> RunSpec:
    given = {"world": "scripted", "agent": agent, "model": "openai:NAME", "set": {"prompts": prompts}, "limit": 1}
    return make_run_spec(configure({**given, **more}))


def test_what_a_folder_says_is_sent_and_the_rest_as_it_ships(tmp_path: Path) -> None:
    additions = with_rest("additions", "=== hint ===\nPsst: $hint\n")
    own = folder(tmp_path / "own", actor=with_rest("actor", f"=== turn ===\n{WORDS} $observation\n"), additions=additions)
    with serve(Solver()) as server:
        world = make_world("alfworld")
        task = world.task("example:1")
        usual = play(server, world, task, "reasoner-actor", tmp_path / "usual.jsonl", max_turns=3).requests
        requests = play(
            server, world, task, "reasoner-actor", tmp_path / "own.jsonl", settings={"prompts": own}, max_turns=3
        ).requests
    assert [one.messages for one in requests[:2]] == [one.messages for one in usual[:2]]
    assert requests[2].messages[-1]["content"].startswith(f"{WORDS} ")
    assert usual[2].messages[-1]["content"] == requests[2].messages[-1]["content"].removeprefix(f"{WORDS} ")


def test_agents_with_prompts_of_their_own_play_at_once(tmp_path: Path) -> None:
    world = make_world("scripted")
    with serve(saying_look) as server:
        names = [
            folder(tmp_path / name, react=with_rest("react", f"=== turn ===\n{name}: $observation", agent="react"))
            for name in ("one", "two")
        ]

        async def all_at_once() -> None:
            model, task = make_model(server.model()), world.task("demo:1")
            terms = EpisodeConfig(world, max_turns=4)
            settings = [*({"prompts": name} for name in names), {}]
            players = [make_agent("react", world=world, model=model, settings=own) for own in settings]
            await asyncio.gather(*(run_episode(world.open(task), player, terms, lambda _: None) for player in players))
            await model.aclose()

        asyncio.run(all_at_once())
        told = [one.messages[-1]["content"] for one in server.requests if len(one.messages) == 4]
    assert sorted(text.partition(":")[0] for text in told if text.startswith(("one:", "two:"))) == ["one", "two"]
    assert sum(not text.startswith(("one:", "two:")) for text in told) == 1


def saying_look(messages: list[dict[str, str]]) -> str:
    return "Thought: so\nAction: look"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("actor", "=== trun ===\nx", "actor.txt: '=== trun ===' is no section.*=== turn ===.*Did you mean '=== turn ==='"),
        ("actor", "=== turn\n$observation", "actor.txt: '=== turn' is no section"),
        ("actor", "=== kept ===\n$plan\n=== kept ===\n$plan", "'=== kept ===' is no section, or a repeated one"),
        ("actor", "You act.", "actor.txt: it has no section; known: === system ==="),
        (
            "actor",
            "=== turn ===\n$observation",
            "actor.txt: the section === system === is missing; `housequest prompts write reasoner-actor FOLDER` writes all of "
            "them, and `prompts show reasoner-actor`",
        ),
        ("reasoner", "x" * (1 << 19), "it has more than 262,144 bytes"),
        ("acter", "=== turn ===\n$observation", "acter.txt: the agent 'reasoner-actor' has no prompt.*Did you mean 'actor'"),
    ],
)
def test_what_would_be_lost_is_refused(name: str, text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"(?s){told}"):
        resolve_settings("reasoner-actor", {"prompts": folder(tmp_path / "own", **{name: text})})


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("=== turn ===\n$obs $observation", r"the section turn has \$obs \$observation where \$observation is"),
        ("=== opening ===\n$goal", r"section opening has \$goal where \$goal \$observation \$plan is filled in"),
        ("=== turn ===\n$observation for $5", "a dollar sign is written"),
    ],
)
def test_names_that_would_not_be_filled_in_are_refused(section: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=told):
        resolve_settings("reasoner-actor", {"prompts": folder(tmp_path / "own", actor=with_rest("actor", section))})


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no folder.*housequest prompts write react FOLDER"):
        resolve_settings("react", {"prompts": str(tmp_path / "none")})


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    own = folder(tmp_path / "own")
    (tmp_path / "own" / "react.txt").write_bytes(b"=== turn ===\n\xff $observation")
    with pytest.raises(ConfigurationError, match=r"react\.txt cannot be read"):
        resolve_settings("react", {"prompts": own})


def test_the_card_has_the_digests_of_what_is_used_and_not_the_folder(tmp_path: Path) -> None:
    text = with_rest("actor", f"=== turn ===\n{WORDS} $observation\n")
    reasoner = with_rest("reasoner", "=== review ===\n$story $plan $reason")
    usual, one = spec(""), spec(folder(tmp_path / "one", actor=text))
    other = spec(folder(tmp_path / "other", actor=text.replace("\n", "\r\n"), reasoner=reasoner))
    same = spec(folder(tmp_path / "same", actor=f"A note.\n{text}\n\n"))
    assert "prompts" not in usual.config.settings
    assert one.manifest == same.manifest
    assert len(str(one.config.settings["prompts"])) == 12
    assert differing(usual, one) == {"actor"}
    assert differing(one, other) == {"reasoner"}


def differing(one: RunSpec, other: RunSpec) -> set[str]:
    before, now = one.manifest.prompts, other.manifest.prompts
    assert before.keys() == now.keys()
    return {name for name in now if before[name] != now[name]}


def test_a_run_goes_on_with_the_same_prompts_alone(tmp_path: Path) -> None:
    own = folder(tmp_path / "own", react=with_rest("react", f"=== turn ===\n{WORDS} $observation", agent="react"))
    with serve(saying_look) as server:
        begun = spec(own, "react", model=server.model(), max_steps=4)
        asyncio.run(run_batch(begun, tmp_path / "run"))
        assert any(WORDS in one.text for one in server.requests)
        asyncio.run(run_batch(spec(own, "react", model=server.model(), max_steps=4), tmp_path / "run"))
        folder(tmp_path / "own", react=with_rest("react", "=== turn ===\nNow: $observation", agent="react"))
        changed = spec(own, "react", model=server.model(), max_steps=4)
        with pytest.raises(ConfigurationError, match=r"(?s)another configuration.*settings\.prompts.*prompts\.react"):
            asyncio.run(run_batch(changed, tmp_path / "run"))
        # What was read when it began counts, whatever is in the folder by now.
        asyncio.run(run_batch(begun, tmp_path / "again"))
    first, second = ((tmp_path / name / "episodes") for name in ("run", "again"))
    assert [file.read_bytes() for file in sorted(first.iterdir())] == [file.read_bytes() for file in sorted(second.iterdir())]


def test_the_model_that_ships_reads_no_other_prompts(tmp_path: Path) -> None:
    own = folder(tmp_path / "own", actor=with_rest("actor", f"=== turn ===\n{WORDS} $observation"))
    for model in ("builtin", None):
        with pytest.raises(ConfigurationError, match="with its own prompts"):
            spec(own, world="alfworld", split="example", model=model)


def test_examples_for_plain_text_have_the_same_prompts(tmp_path: Path) -> None:
    text = with_rest("react", f"=== turn ===\n{WORDS} $observation", agent="react")
    own = resolve_settings("react", {"prompts": folder(tmp_path / "own", react=text)})
    if examples := worked("react", make_world("alfworld"), own, "react"):
        assert examples[1][0].startswith(WORDS)
        assert not worked("react", make_world("alfworld"), resolve_settings("react", {}), "react")[1][0].startswith(WORDS)


@dataclass(frozen=True, slots=True)
class Frozen:
    """An agent of another package, which allows nothing to be set."""

    name: str = "frozen"

    def begin(self, goal: str, observation: Observation, grants: Grants) -> Mapping[str, str]:
        return load_prompt("housequest.agent.roles", "again").sections

    async def decide(self, memory: Mapping[str, str], turn: Turn, emit: Emitter) -> tuple[Decision, Mapping[str, str]]:
        return Act(load_prompt("housequest.agent.roles", "again").render("user", reason="x")), memory


def test_any_agent_carries_its_prompts(tmp_path: Path) -> None:
    own = read_own("frozen", folder(tmp_path / "own", again="=== user ===\nOnce more: $reason"), ["housequest.agent.roles"])
    agent = carrying(own, Frozen)
    assert isinstance(agent, Frozen)
    memory = agent.begin("", Observation(""), Grants())
    decision, _ = asyncio.run(agent.decide(memory, Turn(1, 1), lambda *_: None))
    assert decision == Act("Once more: x")
    assert memory != Frozen().begin("", Observation(""), Grants())
    assert "Once more" not in json.dumps(dict(load_prompt("housequest.agent.roles", "again").sections))
    assert template_hashes("housequest.agent.roles").keys() == {"additions", "again", "company"}
