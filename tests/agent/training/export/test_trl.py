"""TRL's trainers on exported files, as they stand: one step of a tiny random model on the processor."""

from __future__ import annotations

import asyncio
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Proceed
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder
from housequest.agent.training.lora.games import Lessons, demonstrated
from housequest.worlds.registry import make_world
from tests.agent.episodes.attending import Back, Person
from tests.agent.integrations.trl.test_env import tiny
from tests.agent.training.export.test_export import Telling, refused

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("trl") is None, reason="needs TRL: pip install trl")]

STEP: dict[str, Any] = {
    "use_cpu": True,
    "bf16": False,
    "max_steps": 1,
    "max_length": None,
    "per_device_train_batch_size": 2,
    "learning_rate": 0.01,
    "save_strategy": "no",
    "report_to": [],
    "logging_steps": 1,
}


def played(folder: Path) -> list[str]:
    """Record a won game of react in which a reply was unreadable and a person rewound once. Returns the expert's replies."""
    (conversation,) = demonstrated(Lessons(("react",), houses=1, epsilon=0.0))
    right = [conversation.messages[place].content for place in conversation.learned]
    world, person = make_world("alfworld"), Person(words=[Proceed(), Proceed(), Back(1)])
    player = make_agent("react", world=world, model=Telling(["what?", right[0], "Action: inventory", *right[1:]]), seed=1)
    with EpisodeRecorder(folder / "won.jsonl") as recorder:

        def listen(event: Any) -> None:
            if isinstance(event, Event):
                recorder(event)
            person.hear(event)

        env = world.open(world.task("generated:0"))
        asyncio.run(run_episode(env, player, EpisodeConfig(world, max_turns=40), listen, person))
    return right


def exported(folder: Path, *arguments: str) -> Any:
    """The file that the command writes, read as the page on training data reads it."""
    from datasets import load_dataset

    file = folder / "data.jsonl"
    assert refused(*arguments, "--out", str(file)) == 0
    return load_dataset("json", data_files=str(file), split="train", cache_dir=str(folder / "cache"))


def trained(trainer: Any) -> bool:
    """Whether the one step changed the model; its loss must be a number."""
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    trainer.train()
    assert math.isfinite(trainer.state.log_history[0]["loss"])
    return any(not old.equal(new) for old, new in zip(before, trainer.model.parameters(), strict=True))


def test_one_step_of_dpo_on_what_was_done_over(tmp_path: Path) -> None:
    from trl import DPOConfig, DPOTrainer

    right = played(tmp_path)
    data = exported(tmp_path, str(tmp_path), "--format", "dpo")
    model, tokenizer, _ = tiny()
    model.save_pretrained(tmp_path / "model")  # which the trainer reads twice
    trainer = DPOTrainer(
        str(tmp_path / "model"), args=DPOConfig(str(tmp_path), **STEP), train_dataset=data, processing_class=tokenizer
    )
    found = [
        {name: tokenizer.decode(pair[f"{name}_ids"]) for name in ("prompt", "chosen", "rejected")}
        for pair in trainer.train_dataset
    ]
    for pair, chosen, rejected in zip(found, right, ("what?", "Action: inventory"), strict=False):
        assert data[0]["prompt"][-1]["content"] in pair["prompt"]
        assert chosen in pair["chosen"] and rejected not in pair["chosen"]
        assert rejected in pair["rejected"] and chosen not in pair["rejected"]
    assert len(found) == 2
    assert trained(trainer)


def test_one_step_of_supervised_learning_of_the_replies_alone(tmp_path: Path) -> None:
    from trl import SFTConfig, SFTTrainer

    data = exported(tmp_path, "--prompts-of", "react", "--split", "generated", "--games", "3")
    data = data.filter(lambda line: all(message.get("weight") != 0 for message in line["messages"]))
    model, tokenizer, _ = tiny()
    args = SFTConfig(str(tmp_path), assistant_only_loss=True, **STEP)
    trainer = SFTTrainer(model, args=args, train_dataset=data, processing_class=tokenizer)
    for line, tokens in zip(data, trainer.train_dataset, strict=True):
        learned = tokenizer.decode([token for token in tokens["labels"] if token != -100])
        for message in line["messages"]:
            assert (message["content"] in learned) == (message["role"] == "assistant")
    assert trained(trainer)
