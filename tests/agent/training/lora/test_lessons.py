"""What an adapter learns from, without PyTorch: the expert's games in an agent's own prompts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from housequest.agent.agents.lota.selector import DONE
from housequest.agent.agents.reasoner_actor.agent import ACTOR, REASONER
from housequest.agent.agents.spec import make_agent, resolve_settings
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event, ModelCall, ParseFailed, Stepped
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder
from housequest.agent.models.base import Capabilities, Completion, Message, Model, Request
from housequest.agent.models.llama import LlamaProvider
from housequest.agent.models.registry import make_model
from housequest.agent.models.scripted import ReplyRule, ScriptedModel
from housequest.agent.roles.base import plain_text
from housequest.agent.roles.reading import read_command
from housequest.agent.training.export import Conversation, PromptedReply, joined, load, save
from housequest.agent.training.lora.games import (
    LIKE_LLAMA,
    Demonstrations,
    Knowing,
    Lessons,
    Teacher,
    demonstrated,
    worked_examples,
)
from housequest.agent.training.lora.run import AdapterFolder, Listener, recorded
from housequest.knowledge.examples import EVALUATION_SEEDS
from housequest.tui.cli import main
from housequest.worlds.alfworld.text import read_goal
from housequest.worlds.errors import ConfigurationError, KnowledgeError
from housequest.worlds.options import Scalar
from housequest.worlds.registry import make_world
from tests.agent.models.tiny import write_tiny


def learned(conversation: Conversation) -> list[str]:
    return [conversation.messages[place].content for place in conversation.learned]


@pytest.fixture(scope="module")
def skills() -> list[Conversation]:
    return list(demonstrated(Lessons(("lota",), {"shots": 1}, houses=6)))


@pytest.fixture(scope="module")
def commands() -> list[Conversation]:
    return list(demonstrated(Lessons(("react",), houses=6, epsilon=0.3)))


@pytest.mark.heavy
def test_a_seed_gives_the_same_lessons(skills: list[Conversation]) -> None:
    assert list(demonstrated(Lessons(("lota",), {"shots": 1}, houses=6))) == skills
    assert list(demonstrated(Lessons(("lota",), {"shots": 1}, houses=6, seed=2))) != skills


def test_lota_learns_one_skill_a_reply(skills: list[Conversation]) -> None:
    assert len(skills) == 6
    for conversation in skills:
        assert conversation.messages[1].content.endswith("\nRobot: 1.")
        assert len(learned(conversation)) == sum(message.role == "assistant" for message in conversation.messages)
        assert all(reply.endswith(",") and DONE not in reply for reply in learned(conversation))


def test_react_learns_from_its_way_back_and_not_from_missteps(commands: list[Conversation]) -> None:
    replies = [message for conversation in commands for message in conversation.messages if message.role == "assistant"]
    taught = [reply for conversation in commands for reply in learned(conversation)]
    assert 0 < len(taught) < len(replies)
    for reply in taught:
        assert re.fullmatch(r"Thought: [^\n]+\nAction: [a-z0-9 ]+", reply)
        assert read_command(reply).command


def test_react_learns_to_go_on_after_a_refused_command(commands: list[Conversation]) -> None:
    refused = [
        place
        for conversation in commands
        for place, message in enumerate(conversation.messages)
        if message.content == "Nothing happens." and place - 1 not in conversation.learned and place + 1 in conversation.learned
    ]
    assert len(refused) > len(commands)


def test_both_roles_of_reasoner_actor_learn() -> None:
    conversations = list(demonstrated(Lessons(("reasoner-actor",), houses=3, epsilon=0.0)))
    plans = [each for each in conversations if each.messages[0].content.startswith("You plan")]
    acts = [each for each in conversations if each.messages[0].content.startswith("You act")]
    assert len(plans) == len(acts) == 3
    for conversation in plans:
        first, *reviews = learned(conversation)
        assert REASONER.read(first).steps
        assert all(REASONER.read(reply).steps is None for reply in reviews)
    for conversation in acts:
        assert all(ACTOR.read(reply).command and ACTOR.read(reply).step is not None for reply in learned(conversation))


@dataclass
class Repeating(Model):
    """A model that knows the replies of some conversations by heart, and no other prompt."""

    conversations: Sequence[Conversation]
    name: str = "repeating"

    def __post_init__(self) -> None:
        told = {
            (plain_text(prompt) if each.plain else prompt): each.messages[place].content
            for each in self.conversations
            for place, prompt in ((place, each.messages[:place]) for place in each.learned)
        }
        self.told: Mapping[str | tuple[Message, ...], str] = told

    async def capabilities(self) -> Capabilities:
        return Capabilities(completions=True, choices=True, bias=True)

    async def complete(self, request: Request) -> Completion:
        return Completion(self.told[request.text if request.raw else tuple(request.messages)])


TAUGHT: Sequence[tuple[str, Mapping[str, Scalar], Sequence[str]]] = [
    ("react", {}, ()),
    ("react", {}, ("admissible",)),
    ("react", {"exemplars": "own"}, ()),
    ("react", {"exemplars": "own", "thoughts": "turns", "completions": "off"}, ()),
    ("react", {"exemplars": "own", "thoughts": "none"}, ()),
    ("react", {"window": 2}, ("admissible",)),
    ("react", {"form": "completion"}, ()),
    ("reasoner-actor", {}, ()),
    ("reasoner-actor", {"form": "completion"}, ()),
    ("lota", {"shots": 1}, ()),
    ("lota", {"shots": 0, "form": "completion"}, ()),
    ("lota", {"asking": "list"}, ()),
    ("opex", {}, ()),
    ("opex", {"planner": False, "observer": False}, ()),
    ("opex", {"explore": False, "search": "counts"}, ()),
    ("pet", {}, ()),
    ("pet", {"acting": "reasoner-actor"}, ()),
    ("pet", {"track": False, "judged": "task"}, ()),
    ("llm-planner", {}, ()),
    ("llm-planner", {"wording": "lines", "search": "llm"}, ()),
    ("socratic", {}, ()),
    ("socratic", {"decompose": "chain-of-thought", "search": "random", "patience": 6}, ()),
]
"""Agents with settings that change who asks what, and grants."""


@pytest.mark.heavy
@pytest.mark.parametrize(("agent", "settings", "grants"), TAUGHT, ids=str)
def test_the_expert_replies_in_the_form_that_a_model_is_held_to(
    agent: str, settings: Mapping[str, Scalar], grants: Sequence[str]
) -> None:
    world = make_world("alfworld")
    task = world.task("generated:0")
    goal = read_goal(task.goal)
    assert goal
    env = Knowing(world, world.open(task), goal, Random(0), epsilon=0.0)
    teacher = Teacher(agent, env, replace(LIKE_LLAMA, grammar=True))
    player = make_agent(agent, world=world, model=teacher, settings=settings)
    calls: list[ModelCall] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event) and isinstance(event.body, ModelCall):
            calls.append(event.body)

    assert asyncio.run(run_episode(env, player, EpisodeConfig(world, frozenset(grants)), listen)).outcome == "won"
    env.close()
    held = [call for call in calls if call.held is not None]
    assert held or agent == "lota"  # which chooses among texts
    assert [call.reply for call in held if call.held != "kept"] == []


@pytest.mark.heavy
@pytest.mark.parametrize(("agent", "settings", "grants"), TAUGHT, ids=str)
def test_a_model_that_learned_it_by_heart_wins_with_the_prompts_of_the_real_agent(
    agent: str, settings: Mapping[str, Scalar], grants: Sequence[str]
) -> None:
    world, terms = make_world("alfworld"), frozenset(grants)
    found = list(Demonstrations(Lessons((agent,), settings, epsilon=0.0), "generated:0", 6, grants=terms))
    assert len(found) >= 5
    for episode in found:
        model = Repeating(episode.conversations)
        player = make_agent(agent, world=world, model=model, settings=settings, seed=1, worked=worked_examples)
        config = EpisodeConfig(world, terms, seed=1)
        heard: list[Event | CallTiming] = []
        ended = asyncio.run(run_episode(config.open(world.task(episode.origin)), player, config, heard.append))
        assert (ended.outcome, ended.message) == ("won", None)
        bodies = [event.body for event in heard if isinstance(event, Event)]
        assert not [body for body in bodies if isinstance(body, ParseFailed)]
        assert [body.command for body in bodies if isinstance(body, Stepped)] == [step.command for step in episode.steps]


def test_every_probability_of_the_expert_is_sure() -> None:
    settings = {"scores": "probability", "eliminate": False}
    (episode,) = Demonstrations(Lessons(("pet",), settings, epsilon=0.0), "generated:0", 1)
    verdicts = [each.messages[-1].content for each in episode.conversations if len(each.messages) == 3]
    assert {"Yes", "No"} <= set(verdicts)


@pytest.mark.heavy
def test_processes_change_nothing() -> None:
    shots = {"shots": 0}
    alone, many = (
        Demonstrations(Lessons(("lota",), shots, epsilon=0.0), "generated:0", 40, processes=processes) for processes in (1, 3)
    )
    assert list(many) == list(alone)
    assert many.left_out == alone.left_out


def test_won_runs_are_learned_from_but_for_those_that_evaluate(tmp_path: Path) -> None:
    world = make_world("alfworld")
    (conversation,) = demonstrated(Lessons(("react",), houses=1, epsilon=0.0))
    seeds = {"learned": 0, "evaluates": EVALUATION_SEEDS, "lost": 1}
    for name, seed in seeds.items():
        env = world.open(world.task(f"generated:{seed}"))
        model = (
            Repeating([conversation])
            if name == "learned"
            else ScriptedModel([ReplyRule(reply="Action: look")], name="scripted")
        )
        player = make_agent("react", world=world, model=model, seed=1)
        with EpisodeRecorder(tmp_path / f"{name}.jsonl") as recorder:
            asyncio.run(run_episode(env, player, EpisodeConfig(world, max_turns=40), recorder))
    (found,) = recorded([tmp_path], Listener())
    assert found == conversation
    (tmp_path / "learned.jsonl").unlink()
    with pytest.raises(KnowledgeError, match="no won episode"):
        list(recorded([tmp_path], Listener()))


def test_the_short_prompts_of_the_built_in_model_are_not_learned(tmp_path: Path) -> None:
    world = make_world("alfworld")
    (conversation,) = demonstrated(Lessons(("react",), houses=1, epsilon=0.0))
    for agent, model in (("reasoner-actor", make_model("builtin")), ("react", Repeating([conversation]))):
        player = make_agent(agent, world=world, model=model, seed=1)
        with EpisodeRecorder(tmp_path / f"{agent}.jsonl") as recorder:
            asyncio.run(run_episode(world.open(world.task("generated:0")), player, EpisodeConfig(world), recorder))
    listener = Listener()
    assert list(recorded([tmp_path], listener)) == [conversation]
    assert "conversations of builtin are left out" in listener.said[0]
    (tmp_path / "react.jsonl").unlink()
    with pytest.raises(KnowledgeError, match="builtin played there"):
        list(recorded([tmp_path], listener))


def test_runs_say_whose_prompts_and_settings_they_teach_and_no_house_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world, settings, base = make_world("alfworld"), {"window": 3}, write_tiny(tmp_path / "tiny.gguf")
    kept = resolve_settings("react", settings)
    run, out = tmp_path / "won.jsonl", tmp_path / "made"
    conversations = list(demonstrated(Lessons(("react",), settings, houses=1, epsilon=0.0)))

    def play(file: Path) -> None:
        env = world.open(world.task("generated:0"))
        player = make_agent("react", world=world, model=Repeating(conversations), settings=settings, seed=1)
        with EpisodeRecorder(file) as recorder:
            asyncio.run(run_episode(env, player, EpisodeConfig(world, settings=kept), recorder))

    def train(*more: str) -> object:
        with pytest.raises(SystemExit) as end:
            main(("train", str(base), "--from", str(run), "--out", str(out), "--dry-run", *more))
        return end.value.code

    play(run)
    assert train("--prompts-of", "lota") == 2
    assert "the runs were played by react; leave it out" in capsys.readouterr().err
    assert not train()
    recipe = AdapterFolder(out).recipe()
    assert recipe["lessons"] | {"agents": ["react"], "settings": {"window": "3"}, "houses": 0} == recipe["lessons"]
    assert {each.agent for each in load(out / "conversations.jsonl")} == {"react"}
    name = f"{base}?lora={out / 'adapter.gguf'}"
    assert LlamaProvider(name).learned_from() == ("generated:0..0",)
    assert not train("--houses", "3")
    assert LlamaProvider(name).learned_from() == ("generated:0..2", "generated:0..0")
    assert not train()
    (out / "checkpoint.pt").touch()
    assert not train()
    run.write_bytes(b"\n".join(run.read_bytes().splitlines()[:-1]) + b"\n")
    assert train() == 2
    assert "was begun with another runs;" in capsys.readouterr().err


def test_an_agent_without_a_language_model_cannot_be_taught() -> None:
    with pytest.raises(ConfigurationError, match="asks no language model"):
        next(demonstrated(Lessons(("action-attention",))))
    Lessons(("action-attention",), houses=0).check()  # runs are learned from, whoever won them


def test_houses_for_evaluation_are_not_learned_from() -> None:
    with pytest.raises(ConfigurationError, match="for evaluation"):
        next(demonstrated(Lessons(houses=EVALUATION_SEEDS + 1)))
    for split in ("generated:1000000", "generated:999999..1000002"):
        with pytest.raises(ConfigurationError, match="for evaluation"):
            next(iter(Demonstrations(Lessons(("react",), epsilon=0.0), split)))


def test_a_range_of_houses_is_learned_from() -> None:
    played = list(Demonstrations(Lessons(("react",), epsilon=0.0), "generated:5..8"))
    assert sorted(episode.origin for episode in played) == [f"generated:{seed}" for seed in (5, 6, 7, 8)]
    (one,) = Demonstrations(Lessons(("react",), epsilon=0.0), "generated:5..8", 1)
    assert one.origin == "generated:5"


def test_a_prompt_that_grows_is_one_conversation() -> None:
    first, other = (Message("user", "1."),), (Message("user", "another"),)
    grown = (*first, Message("assistant", "find a mug,"), Message("user", "2."))
    calls = [PromptedReply(first, "find a mug,"), PromptedReply(other, "stay", learned=False), PromptedReply(grown, "done.")]
    assert list(joined("train:1", "lota", calls)) == [
        Conversation("train:1", "lota", (*grown, Message("assistant", "done.")), (1, 3))
    ]


def test_conversations_are_kept_a_line_each(skills: list[Conversation], tmp_path: Path) -> None:
    assert save(skills, tmp_path / "lessons.jsonl") == len(skills)
    assert load(tmp_path / "lessons.jsonl") == skills
