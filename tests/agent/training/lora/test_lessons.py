"""What an adapter learns from, without PyTorch: the expert's games in an agent's own prompts."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent.agents.lota.selector import DONE
from agent.agents.reasoner_actor.roles import ACTOR, REASONER
from agent.agents.registry import kept_settings, make_agent, resolve_settings
from agent.episodes.events import CallTiming, Event, ModelCall, ParseFailed, Stepped
from agent.episodes.loop import EpisodeConfig, run_episode
from agent.episodes.record import EpisodeRecorder
from agent.episodes.splits import EVALUATION_SEEDS
from agent.export.conversations import Call, Conversation, joined, load, save
from agent.models.base import Capabilities, Completion, Message, Model, Request
from agent.models.registry import make_model
from agent.models.scripted import ReplyRule, ScriptedModel
from agent.roles.base import plain_text
from agent.roles.reading import read_command
from agent.training.lora.base_model import BaseModel, base_model
from agent.training.lora.games import Demonstrations, Lessons, demonstrated
from agent.training.lora.knowing import Knowing, watched
from agent.training.lora.recipe import AdapterFolder, Recipe
from agent.training.lora.run import Listener, Training, folder_name, of_sizes, prepare, prepare_all, recorded
from agent.training.lora.teacher import LIKE_LLAMA, Teacher
from agent.training.lora.tokens import encode, encoded
from agent.training.lora.worked import worked_examples
from tests.agent.models.llama.tiny import write_tiny
from tui.cli import main
from worlds.alfworld.text.goals import read_goal
from worlds.errors import ConfigurationError, KnowledgeError
from worlds.options import Scalar
from worlds.registry import make_world


def learned(conversation: Conversation) -> list[str]:
    return [conversation.messages[place].content for place in conversation.learned]


@pytest.fixture(scope="module")
def skills() -> list[Conversation]:
    return list(demonstrated(Lessons(("lota",), {"shots": 1}, houses=6)))


@pytest.fixture(scope="module")
def commands() -> list[Conversation]:
    return list(demonstrated(Lessons(("react",), houses=6, missteps=0.3)))


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
    conversations = list(demonstrated(Lessons(("reasoner-actor",), houses=3, missteps=0.0)))
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


@pytest.mark.parametrize(("agent", "settings", "grants"), TAUGHT, ids=str)
def test_the_expert_replies_in_the_form_that_a_model_is_held_to(
    agent: str, settings: Mapping[str, Scalar], grants: Sequence[str]
) -> None:
    world = make_world("alfworld")
    task = world.task("generated:0")
    goal = read_goal(task.goal)
    assert goal
    env = watched(world.open(task))
    teacher = Teacher(Knowing(world, env, goal, Random(0), missteps=0.0), replace(LIKE_LLAMA, grammar=True))
    player = make_agent(agent, world=world, model=teacher, settings=settings)
    calls: list[ModelCall] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event) and isinstance(event.body, ModelCall):
            calls.append(event.body)

    assert asyncio.run(run_episode(env, player, EpisodeConfig(world.engine, frozenset(grants)), listen)).outcome == "won"
    env.close()
    held = [call for call in calls if call.held is not None]
    assert held or agent == "lota"  # which chooses among texts
    assert [call.reply for call in held if call.held != "kept"] == []


@pytest.mark.parametrize(("agent", "settings", "grants"), TAUGHT, ids=str)
def test_a_model_that_learned_it_by_heart_wins_with_the_prompts_of_the_real_agent(
    agent: str, settings: Mapping[str, Scalar], grants: Sequence[str]
) -> None:
    world, terms = make_world("alfworld"), frozenset(grants)
    found = list(Demonstrations(agent, "generated:0", 6, settings, grants=terms))
    assert len(found) >= 5
    for episode in found:
        model = Repeating(episode.conversations)
        player = make_agent(agent, world=world, model=model, settings=settings, seed=1, worked=worked_examples)
        config = EpisodeConfig(world.engine, terms, seed=1)
        heard: list[Event | CallTiming] = []
        ended = asyncio.run(run_episode(config.open(world, world.task(episode.origin)), player, config, heard.append))
        assert (ended.outcome, ended.message) == ("won", None)
        bodies = [event.body for event in heard if isinstance(event, Event)]
        assert not [body for body in bodies if isinstance(body, ParseFailed)]
        assert [body.command for body in bodies if isinstance(body, Stepped)] == [step.command for step in episode.steps]


def test_every_probability_of_the_expert_is_sure() -> None:
    settings = {"scores": "probability", "eliminate": False}
    (episode,) = Demonstrations("pet", "generated:0", 1, settings)
    verdicts = [each.messages[-1].content for each in episode.conversations if len(each.messages) == 3]
    assert {"Yes", "No"} <= set(verdicts)


@pytest.mark.heavy
def test_processes_change_nothing() -> None:
    shots = {"shots": 0}
    alone, many = (Demonstrations("lota", "generated:0", 40, shots, workers=workers) for workers in (1, 3))
    assert list(many) == list(alone)
    assert many.left_out == alone.left_out


def test_won_runs_are_learned_from_but_for_those_that_evaluate(tmp_path: Path) -> None:
    world = make_world("alfworld")
    (conversation,) = demonstrated(Lessons(("react",), houses=1, missteps=0.0))
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
            asyncio.run(run_episode(env, player, EpisodeConfig(world.engine, max_turns=40), recorder))
    (found,) = recorded([tmp_path], Listener())
    assert found == conversation
    (tmp_path / "learned.jsonl").unlink()
    with pytest.raises(KnowledgeError, match="no won episode"):
        list(recorded([tmp_path], Listener()))


def test_the_short_prompts_of_the_built_in_model_are_not_learned(tmp_path: Path) -> None:
    world = make_world("alfworld")
    (conversation,) = demonstrated(Lessons(("react",), houses=1, missteps=0.0))
    for agent, model in (("reasoner-actor", make_model("builtin")), ("react", Repeating([conversation]))):
        player = make_agent(agent, world=world, model=model, seed=1)
        with EpisodeRecorder(tmp_path / f"{agent}.jsonl") as recorder:
            asyncio.run(run_episode(world.open(world.task("generated:0")), player, EpisodeConfig(world.engine), recorder))
    listener = Listener()
    assert list(recorded([tmp_path], listener)) == [conversation]
    assert "conversations of builtin are left out" in listener.said[0]
    (tmp_path / "react.jsonl").unlink()
    with pytest.raises(KnowledgeError, match="builtin played there"):
        list(recorded([tmp_path], listener))


def test_runs_say_whose_prompts_and_settings_they_teach_and_no_house_is_played(
    base: BaseModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world, settings = make_world("alfworld"), {"window": 3}
    kept = kept_settings("react", resolve_settings("react", settings))
    run, out = tmp_path / "won.jsonl", tmp_path / "made"
    conversations = list(demonstrated(Lessons(("react",), settings, houses=1, missteps=0.0)))

    def play(file: Path) -> None:
        env = world.open(world.task("generated:0"))
        player = make_agent("react", world=world, model=Repeating(conversations), settings=settings, seed=1)
        with EpisodeRecorder(file) as recorder:
            asyncio.run(run_episode(env, player, EpisodeConfig(world.engine, settings=kept), recorder))

    def train(*more: str) -> object:
        with pytest.raises(SystemExit) as end:
            main(("train", str(base.path), "--from", str(run), "--out", str(out), "--dry-run", *more))
        return end.value.code

    play(run)
    assert train("--agent", "lota") == 2
    assert "what is learned is what was played, by react; leave --agent out" in capsys.readouterr().err
    assert not train()
    recipe = AdapterFolder(out).recipe()
    assert recipe["lessons"] | {"agents": ["react"], "settings": {"window": "3"}, "houses": 0} == recipe["lessons"]
    assert {each.agent for each in load(out / "conversations.jsonl")} == {"react"}
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


def test_a_prompt_that_grows_is_one_conversation() -> None:
    first, other = (Message("user", "1."),), (Message("user", "another"),)
    grown = (*first, Message("assistant", "find a mug,"), Message("user", "2."))
    calls = [Call(first, "find a mug,"), Call(other, "stay", learned=False), Call(grown, "done.")]
    assert list(joined("train:1", "lota", calls)) == [
        Conversation("train:1", "lota", (*grown, Message("assistant", "done.")), (1, 3))
    ]


def test_conversations_are_kept_a_line_each(skills: list[Conversation], tmp_path: Path) -> None:
    assert save(skills, tmp_path / "lessons.jsonl") == len(skills)
    assert load(tmp_path / "lessons.jsonl") == skills


class Letters:
    """A tokenizer whose tokens are letters, with a template of a line a message."""

    chat_template = "there is one"
    bos_token_id, bos_token = 1, "\1"

    def apply_chat_template(self, messages: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool) -> str:
        del tokenize
        text = "".join(f"<{one['role']}>{one['content']}|\n" for one in messages)
        return text + ("<assistant>" if add_generation_prompt else "")

    def __call__(
        self, text: str, *, add_special_tokens: bool = True, return_offsets_mapping: bool = False
    ) -> dict[str, list[Any]]:
        del return_offsets_mapping
        begin = [1] * add_special_tokens
        return {
            "input_ids": begin + list(map(ord, text)),
            "offset_mapping": [(0, 0) for _ in begin] + [(at, at + 1) for at in range(len(text))],
        }


def test_replies_and_the_mark_that_ends_them_are_learned() -> None:
    messages = (Message("user", "1."), Message("assistant", "no"), Message("user", "2."), Message("assistant", "go"))
    sample = encode(Conversation("", "", messages, (1, 3)), Letters())
    assert "".join(map(chr, sample.tokens)) == "\1<user>1.|\n<assistant>no|\n<user>2.|\n<assistant>go|\n"
    assert "".join(chr(sample.tokens[place]) for place in sample.learned) == "no|go|"
    only = encode(Conversation("", "", messages, (3,)), Letters())
    assert only.tokens == sample.tokens
    assert "".join(chr(only.tokens[place]) for place in only.learned) == "go|"


@pytest.mark.parametrize(
    ("settings", "begins"),
    [({"exemplars": "own"}, " think: To do this I "), ({"form": "completion"}, " Thought: ")],
    ids=str,
)
def test_lines_of_plain_text_are_learned_without_the_template(settings: Mapping[str, Scalar], begins: str) -> None:
    (episode,) = Demonstrations("react", "generated:0", 1, settings)
    (conversation,) = episode.conversations
    assert Conversation.read(str(conversation)) == conversation
    sample = encode(conversation, Letters())
    text = "".join(map(chr, sample.tokens[1:]))
    assert text == plain_text(conversation.messages)
    learned = "".join(chr(sample.tokens[place]) for place in sample.learned)
    assert learned.startswith(begins)


def test_what_is_too_long_teaches_its_beginning() -> None:
    messages = (Message("user", "1."), Message("assistant", "no"), Message("user", "2."), Message("assistant", "go"))
    conversation = Conversation("", "", messages, (1, 3))
    samples, cut = encoded([conversation], Letters(), 30)
    assert cut == 1
    assert [len(sample.tokens) for sample in samples] == [30]
    assert encoded([conversation], Letters(), 5) == ([], 1)


def test_a_template_that_rewrites_the_past_is_refused() -> None:
    class Forgetful(Letters):
        def apply_chat_template(self, messages: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool) -> str:
            return super().apply_chat_template(messages[-1:], tokenize=tokenize, add_generation_prompt=add_generation_prompt)

    messages = (Message("user", "1."), Message("assistant", "no"))
    with pytest.raises(ConfigurationError, match="anew with every message"):
        encode(Conversation("", "", messages, (1,)), Forgetful())


@pytest.fixture
def base(tmp_path: Path) -> BaseModel:
    return base_model(write_tiny(tmp_path / "tiny.gguf"))


def test_a_tokenizer_that_joins_a_prompt_and_its_reply_is_refused() -> None:
    class Pairs(Letters):
        def __call__(
            self, text: str, *, add_special_tokens: bool = True, return_offsets_mapping: bool = False
        ) -> dict[str, list[Any]]:
            del add_special_tokens, return_offsets_mapping
            places = range(0, len(text), 2)
            return {"input_ids": list(places), "offset_mapping": [(at, at + 2) for at in places]}

    for asked, joins in (("1", False), ("12", True)):
        conversation = Conversation("", "", (Message("user", asked), Message("assistant", "no")), (1,))
        if joins:
            with pytest.raises(ConfigurationError, match="joins the end of a prompt with the beginning of the reply"):
                encode(conversation, Pairs())
        else:
            assert len(encode(conversation, Pairs()).learned) == 2


def test_folders_are_named_as_their_models(base: BaseModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folder_name(base, ("lota", "react")) == "tiny-lota-react"
    model = tmp_path / "Some2.5-0.5B"
    model.mkdir()
    (model / "config.json").write_text("{}", "utf-8")
    monkeypatch.chdir(model)
    for path in (model, Path()):
        assert folder_name(base_model(path), ("lota",)) == "Some2.5-0.5B-lota"


def test_games_that_teach_nothing_are_told(base: BaseModel, tmp_path: Path) -> None:
    listener = Listener()
    lessons = Lessons(("react",), houses=6, missteps=0.9)
    conversations = prepare(Training(base, lessons, Recipe()), AdapterFolder(tmp_path / "made"), listener)
    lost = 6 - len({each.origin for each in conversations})
    assert [f"{lost} game{'s' * (lost != 1)} that the expert does not win: left out"] == listener.said


def test_a_folder_is_gone_on_with_by_the_same_command_alone(base: BaseModel, tmp_path: Path) -> None:
    training = Training(base, Lessons(houses=2), Recipe())
    folder = AdapterFolder(tmp_path / "made")
    first = prepare(training, folder, Listener())
    written = (folder.path / "conversations.jsonl").stat().st_mtime_ns
    assert prepare(training, folder, Listener()) == first
    assert (folder.path / "conversations.jsonl").stat().st_mtime_ns == written
    (folder.path / "checkpoint.pt").touch()
    with pytest.raises(ConfigurationError, match=r"another recipe\.rank"):
        prepare(replace(training, recipe=Recipe(rank=4)), folder, Listener())
    other = base_model(write_tiny(tmp_path / "other.gguf", seed=1))
    with pytest.raises(ConfigurationError, match=r"another base\.name, base\.digest"):
        prepare(replace(training, base=other), folder, Listener())


def test_another_command_may_begin_anew_where_nothing_was_learned_yet(base: BaseModel, tmp_path: Path) -> None:
    one, two = (Training(base, Lessons(houses=houses), Recipe()) for houses in (1, 2))
    first, second = AdapterFolder(tmp_path / "first"), AdapterFolder(tmp_path / "second")
    assert prepare(two, first, Listener()) != prepare(one, first, Listener()) == prepare(one, second, Listener())
    assert first.recipe() == second.recipe()


def test_an_adapter_stays_with_what_it_was_made_of(base: BaseModel, tmp_path: Path) -> None:
    one, two = (Training(base, Lessons(houses=houses), Recipe()) for houses in (1, 2))
    folder, adapter = AdapterFolder(tmp_path / "made"), {"file": "adapter.gguf"}
    prepare(one, folder, Listener())
    folder.record(folder.recipe() | {"adapter": adapter})
    (folder.path / "conversations.jsonl").unlink()
    prepare(one, folder, Listener())
    assert folder.recipe()["adapter"] == adapter
    prepare(two, folder, Listener())
    assert "adapter" not in folder.recipe()


def test_several_sizes_are_beginnings_of_the_largest_whose_games_are_played_once(base: BaseModel, tmp_path: Path) -> None:
    class Counting(Listener):
        games = 0

        def played(self, games: int, of: int) -> None:
            self.games += 1

    training, heard = Training(base, Lessons(settings={"shots": 0}), Recipe()), Counting()
    planned = of_sizes(training, (3, 1, 2), tmp_path / "made")
    found = prepare_all(planned, heard)
    assert heard.games == 3
    for size, each, conversations in zip((1, 2, 3), planned, found, strict=True):
        assert each.folder.path == tmp_path / "made" / f"houses-{size}"
        alone = AdapterFolder(tmp_path / str(size))
        assert prepare(each.training, alone, Listener()) == conversations
        assert each.folder.recipe() == alone.recipe()
    assert prepare_all(planned, heard) == found
    assert heard.games == 3


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--houses -5", "--houses: -5 is too few; give 0 or more."),
        ("--houses 25,many", "--houses: '25,many' is not a number of houses;"),
        ("--houses 1,-2", "--houses: -2 is too few; give 0 or more."),
        ("--houses 0", "nothing to learn from: give --houses, --games or --from RUN."),
        ("--games -1", "--games: -1 is too few; give 0 or more."),
        ("--missteps 2", "--missteps: 2 is not a probability; give 0 to 1."),
        ("--missteps -0.1", "--missteps: -0.1 is not a probability; give 0 to 1."),
        ("--people", "give --games N."),
        ("--epochs 0", "--epochs: 0 is too few; give at least 1."),
        ("--rank -1", "--rank: -1 is too few; give at least 1."),
        ("--from empty", "holds no recorded episodes"),
    ],
)
def test_what_cannot_be_learned_is_refused_before_anything_is_played_or_written(
    flags: str, told: str, base: BaseModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    given = flags.replace("empty", str(tmp_path / "empty")).split()
    with pytest.raises(SystemExit) as end:
        main(("train", str(base.path), *given, "--out", str(tmp_path / "made"), "--dry-run"))
    assert end.value.code == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_the_command_writes_what_it_would_learn_from(
    base: BaseModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made"
    arguments = ("train", str(base.path), "--houses", "2", "--set", "shots=0", "--out", str(out), "--dry-run", "--json")
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert not end.value.code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["conversations"] == len(load(out / "conversations.jsonl")) == 2
    recipe = json.loads((out / "recipe.json").read_text("utf-8"))
    assert recipe["base"] == {"name": "tiny.gguf", "digest": base.digest}
    assert recipe["lessons"]["settings"] == {"shots": "0"}


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no model's folder"):
        base_model(tmp_path)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        base_model(tmp_path / "missing.gguf")


@pytest.mark.skipif(find_spec("peft") is not None, reason="the extra is installed")
def test_what_is_missing_is_said_before_anything_is_played(
    base: BaseModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(("train", str(base.path), "--out", str(tmp_path / "made")))
    assert end.value.code == 2
    assert 'pip install "housequest[train]"' in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
