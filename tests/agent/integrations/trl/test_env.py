"""TRL's trainer plays games by the environment's tools, and learns from who wins."""

from __future__ import annotations

import inspect
import typing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.integrations.tools import CommandTools
from housequest.agent.integrations.trl.env import OUT_OF_STEPS, OVER, WON, ToolEnvironment, dataset_rows
from housequest.worlds.base import World
from housequest.worlds.errors import ConfigurationError, TaskNotFound
from housequest.worlds.registry import make_world
from tests.backends.caller import tool_of

TOOLS = {
    *("go_to", "take", "put", "open", "close", "heat", "cool", "clean"),
    *("slice", "use", "examine", "look", "inventory"),
}


@pytest.fixture(scope="module")
def world() -> World:
    return make_world()


def call(environment: ToolEnvironment, command: str) -> str:
    """Play ``command`` by the tool that it belongs to."""
    verb, arguments = tool_of(command)
    return getattr(environment, verb)(*arguments)


def play_expert(environment: ToolEnvironment, world: World, task: str) -> list[str]:
    """What the expert is answered who plays ``task`` by tools."""
    env = world.open(world.task(task))
    expert, opening = world.expert(), env.reset().observation
    memory = expert.begin(env.task.goal, opening)
    assert environment.reset(task=task, prompt=[]) == opening.text
    told: list[str] = []
    while not environment.over:
        command, _, memory = expert.decide(memory)
        assert command is not None
        step = env.step(command)
        told.append(call(environment, command))
        assert told[-1].startswith(step.observation.text)
        memory = expert.observe(memory, command, step.observation)
    return told


def test_the_public_functions_are_tools_and_what_trl_asks_for() -> None:
    public = {name for name, _ in inspect.getmembers(ToolEnvironment, inspect.isfunction) if not name.startswith("_")}
    assert public == TOOLS | {"reset", "get_reward"}
    for name in TOOLS:
        tool = getattr(CommandTools, name)
        assert set(typing.get_type_hints(tool).values()) == {str}, name
        assert all(
            f"\n            {argument}: " in tool.__doc__
            for argument in inspect.signature(tool).parameters
            if argument != "self"
        )


@pytest.mark.parametrize("seed", range(1, 19))
def test_the_expert_wins_by_tools(world: World, seed: int) -> None:
    environment = ToolEnvironment()
    told = play_expert(environment, world, f"generated:{seed}")
    assert environment.won
    assert told[-1].endswith(WON)
    assert (environment.get_reward(), environment.steps) == (1.0, len(told))
    assert environment.met == environment.conditions > 0
    assert environment.look() == OVER
    assert environment.steps == len(told)


def test_a_game_ends_with_its_steps_and_a_reset_begins_anew() -> None:
    environment = ToolEnvironment(max_steps=2)
    assert environment.look() == OVER
    opening = environment.reset(task="generated:1")
    assert environment.take("mug 1", "fridge 9") == "Nothing happens."
    assert environment.inventory() == f"You are not carrying anything.\n\n{OUT_OF_STEPS}"
    assert (environment.over, environment.won, environment.refused, environment.get_reward()) == (True, False, 1, 0.0)
    assert environment.reset(task="generated:1") == opening
    assert (environment.over, environment.steps, environment.refused) == (False, 0, 0)


def test_rows_name_every_game_of_a_split(world: World) -> None:
    rows = dataset_rows("example", "Do the task with your tools.")
    assert [row["task"] for row in rows] == [task.reference for task in world.tasks("example")]
    assert rows[0]["prompt"] == [{"role": "user", "content": "Do the task with your tools.\n\n"}]
    environment = ToolEnvironment()
    assert all("Your task is to: " in environment.reset(**row) for row in rows)


def test_a_row_without_a_game_or_with_an_unknown_one_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="this one has prompt"):
        ToolEnvironment().reset(prompt=[])
    with pytest.raises(TaskNotFound):
        ToolEnvironment().reset(task="example:99")
    with pytest.raises(ConfigurationError):
        ToolEnvironment(world={"goal": "human"})


CALLS = [
    '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>',
    '<tool_call>\n{"name": "inventory", "arguments": {}}\n</tool_call>',
    '<tool_call>\n{"name": "go_to", "arguments": {"receptacle": "countertop 1"}}\n</tool_call>',
]
"""What the tiny model may say: each is a token of its own, so that a random model calls tools."""


def tiny() -> tuple[Any, Any, list[int]]:
    """A random model with a tokenizer of bytes, and the tokens that it may not say."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
    from trl.chat_template_utils import qwen3_chat_template

    letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    bytewise = Tokenizer(models.BPE(vocab=letters, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytewise, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.add_tokens(CALLS)
    tokenizer.chat_template = qwen3_chat_template
    tokenizer.padding_side = "left"
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=16,
            max_position_embeddings=32_768,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
        )
    )
    said = {tokenizer.eos_token_id, *tokenizer.convert_tokens_to_ids(CALLS)}
    return model, tokenizer, [token for token in range(len(tokenizer)) if token not in said]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("trl") is None, reason="needs TRL: pip install trl")
def test_one_step_of_grpo_with_the_real_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    import torch
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    torch.manual_seed(1)
    model, tokenizer, unsaid = tiny()
    seen: list[tuple[str, int]] = []

    def activity(environments: list[ToolEnvironment], task: list[str], **_: object) -> list[float]:
        seen.extend(zip(task, [environment.steps for environment in environments], strict=True))
        return [float(environment.steps) for environment in environments]

    before = [parameter.detach().clone() for parameter in model.parameters()]
    trainer = GRPOTrainer(
        model,
        reward_funcs=activity,
        args=GRPOConfig(
            str(tmp_path),
            use_cpu=True,
            bf16=False,
            max_steps=1,
            learning_rate=0.01,
            per_device_train_batch_size=4,
            num_generations=2,
            max_completion_length=2_000,
            max_tool_calling_iterations=3,
            generation_kwargs={"suppress_tokens": unsaid},
            save_strategy="no",
            report_to=[],
            logging_steps=1,
        ),
        train_dataset=Dataset.from_list(dataset_rows("example", "Do the task.")[:2]),
        processing_class=tokenizer,
        environment_factory=ToolEnvironment,
    )
    trainer.train()
    logged = trainer.state.log_history[0]
    assert logged["tools/call_frequency"] > 0
    assert logged["tools/failure_frequency"] == 0
    assert logged["rewards/ToolEnvironment/mean"] == 0  # nobody wins in three turns
    assert sorted(task for task, _ in seen) == ["example:1"] * 2 + ["example:2"] * 2  # a group plays one game
    assert len({steps for _, steps in seen}) > 1
    assert any(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
