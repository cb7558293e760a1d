"""The whole way of an adapter, with a tiny random model: lessons, training, llama.cpp's file, and playing with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
pytest.importorskip("transformers")
pytest.importorskip("gguf")
llama_cpp = pytest.importorskip("llama_cpp")

import numpy as np  # noqa: E402

from housequest.agent.models.base import Message, Request  # noqa: E402
from housequest.agent.models.llama import LlamaOptions, LlamaProvider  # noqa: E402
from housequest.agent.models.llama.library import Library  # noqa: E402
from housequest.agent.models.llama.model import LlamaModel  # noqa: E402
from housequest.agent.training.export import Conversation  # noqa: E402
from housequest.agent.training.lora.games import Lessons  # noqa: E402
from housequest.agent.training.lora.optimise import Machine, TrainingProgress, train, write_adapter  # noqa: E402
from housequest.agent.training.lora.run import (  # noqa: E402
    AdapterFolder,
    BaseModel,
    Listener,
    LoraRecipe,
    TokenizedConversation,
    Training,
    base_model,
    encode,
    encoded,
    of_sizes,
    train_all,
)
from housequest.tui.cli import main  # noqa: E402
from housequest.worlds.errors import ConfigurationError  # noqa: E402
from tests.agent.models.tiny import Kind, write_tiny  # noqa: E402
from tests.agent.training.lora.making import prepare, train_adapter  # noqa: E402

pytestmark = pytest.mark.slow

RECIPE = LoraRecipe(rank=4, alpha=8, rate=3e-3, epochs=2, batch=2, seed=3)
CPU = Machine(threads=1)
SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 64}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}


@pytest.fixture
def training(tmp_path: Path) -> Training:
    base = base_model(write_tiny(tmp_path / "tiny.gguf"))
    return Training(base, Lessons(("lota", "react"), {}, houses=3), RECIPE)


class Hearing(Listener):
    def __init__(self) -> None:
        super().__init__()
        self.losses: list[float] = []

    def learned(self, progress: TrainingProgress) -> None:
        self.losses.append(progress.loss)


def merged_logits(base: BaseModel, folder: Path, tokens: list[int]) -> Any:
    """What the network says after each token, with the adapter merged into its weights."""
    network = peft.PeftModel.from_pretrained(base.network(torch.float32), folder).merge_and_unload()
    with torch.no_grad():
        return network(torch.tensor([tokens])).logits[0].numpy()


def adapted_logits(file: Path, adapter: Path | None, tokens: list[int]) -> Any:
    """What llama.cpp says after each token."""
    exact: dict[str, Any] = {"type_k": 0, "type_v": 0, "flash_attn": False}
    model = llama_cpp.Llama(
        str(file), lora_path=adapter and str(adapter), n_ctx=512, logits_all=True, n_threads=1, verbose=False, **exact
    )
    model.eval(tokens)
    return np.array(model.scores[: len(tokens)])


def test_llama_cpp_computes_what_was_trained_and_plays_with_it(training: Training, tmp_path: Path) -> None:
    folder, heard = AdapterFolder(tmp_path / "made"), Hearing()
    made = train_adapter(training, folder, heard, device="cpu", threads=1)
    assert len(heard.losses) == made["steps"] == 6
    assert heard.losses[-1] < heard.losses[0]
    assert json.loads((folder.path / "recipe.json").read_text("utf-8"))["adapter"]["sha256"] == made["sha256"]

    assert "plays as lota, react. It was learned from 3 made-up houses;" in (folder.path / "README.md").read_text("utf-8")

    tokens = [1, *range(300, 340), *range(40, 80)]
    wanted = merged_logits(training.base, folder.path, tokens)
    found = adapted_logits(training.base.path, folder.path / "adapter.gguf", tokens)
    plain = adapted_logits(training.base.path, None, tokens)
    assert abs(found - wanted).max() < 1e-3
    assert abs(plain - wanted).max() > 1e-2

    async def played() -> tuple[str, str]:
        texts: list[str] = []
        for lora in ("", f"&lora={folder.path / 'adapter.gguf'}"):
            options = LlamaProvider(f"tiny?runtime=llama-cpp-python&slots=1&threads=1&context=512{lora}").options
            model = LlamaModel(training.base.path, options, name="llama:tiny")
            try:
                reply = await model.complete(Request((Message("user", "1."),), max_tokens=24))
            finally:
                await model.aclose()
            texts.append(reply.text)
        return texts[0], texts[1]

    without, with_it = asyncio.run(played())
    assert without != with_it


def test_with_a_tokenizer_that_puts_a_space_before_a_text_what_is_learned_is_what_is_read_in_play(tmp_path: Path) -> None:
    base = base_model(write_tiny(tmp_path / "tiny.gguf", Kind(spaced=True)))
    library = Library(str(base.path), 2_048, LlamaOptions(slots=1, threads=1, runtime="llama-cpp-python"))
    said = (("user", "task"), ("assistant", "find"), ("user", "2."), ("assistant", "go"))
    messages = tuple(Message(role, text) for role, text in said)
    sample = encode(Conversation("", "", messages, (1, 3)), base.tokenizer())
    for place in (1, 3):
        read = library.prompt(messages[:place])
        assert sample.tokens[: len(read)] == read
        assert len(read) in sample.learned


def test_a_training_that_broke_off_goes_on_as_if_it_had_not(training: Training, tmp_path: Path) -> None:
    conversations = prepare(training, AdapterFolder(tmp_path / "made"), Listener())
    samples, _ = encoded(conversations, training.base.tokenizer(), RECIPE.context)
    assert samples
    losses = dict[str, float]()

    def run(name: str, until: int | None = None) -> dict[str, Any]:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        network = training.base.network(torch.float32)
        adapted = train(network, samples, folder, RECIPE, CPU, lambda each: losses.update({name: each.loss}), until=until)
        return peft.get_peft_model_state_dict(adapted)

    whole = run("whole")
    run("parts", until=2)
    again = run("parts")
    assert whole.keys() == again.keys()
    assert all(torch.equal(value, again[name]) for name, value in whole.items())
    assert losses["whole"] == losses["parts"]


def test_the_record_of_a_training_that_broke_off_has_each_step_once(training: Training, tmp_path: Path) -> None:
    folder = AdapterFolder(tmp_path / "made")
    samples, _ = encoded(prepare(training, folder, Listener()), training.base.tokenizer(), RECIPE.context)
    train(training.base.network(torch.float32), samples, folder.path, RECIPE, CPU, lambda _: None, until=2)
    record, told = folder.path / "record.jsonl", Hearing()
    before = [json.dumps({"step": step, "loss": 9.0, "seconds": 1.0}) for step in (1, 2, 3)]
    record.write_text("\n".join([*before, '{"step": 4, "lo']), "utf-8")
    train_adapter(training, folder, told, device="cpu", threads=1)
    lines = [json.loads(line) for line in record.read_text("utf-8").splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert lines[2]["loss"] < 9.0
    made = train_adapter(training, folder, told, device="cpu", threads=1)
    assert told.said[-1] == f"{folder.path} is already trained"
    assert made == folder.recipe()["adapter"]


def test_how_many_tokens_are_computed_at_once_changes_nothing(training: Training, tmp_path: Path) -> None:
    conversations = prepare(training, AdapterFolder(tmp_path / "made"), Listener())
    samples, _ = encoded(conversations, training.base.tokenizer(), RECIPE.context)
    assert samples
    losses: list[list[float]] = []
    for room in (1, 100_000):
        heard: list[float] = []
        (tmp_path / str(room)).mkdir()
        network = training.base.network(torch.float32)
        train(
            network,
            samples,
            tmp_path / str(room),
            RECIPE,
            replace(CPU, room=room),
            lambda each, heard=heard: heard.append(each.loss),
        )
        losses.append(heard)
    assert np.allclose(*losses, atol=1e-4)


def test_each_of_several_sizes_makes_what_it_makes_alone_and_is_made_once(training: Training, tmp_path: Path) -> None:
    planned, heard = of_sizes(training, (1, 2), tmp_path / "made"), Hearing()
    made = train_all(planned, heard, device="cpu", threads=1)
    alone = train_adapter(planned[0].training, AdapterFolder(tmp_path / "alone"), Listener(), device="cpu", threads=1)
    assert alone["sha256"] == made[0]["sha256"] != made[1]["sha256"]
    steps = len(heard.losses)
    assert train_all(planned, heard, device="cpu", threads=1) == made
    assert len(heard.losses) == steps


def test_the_command_shows_several_sizes_in_a_table_and_only_its_own_lines(
    training: Training, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = "--set shots=0 --houses 2,1 --epochs 1 --device cpu --threads 1"
    with pytest.raises(SystemExit) as end:
        main(("train", str(training.base.path), *given.split(), "--out", str(tmp_path / "made")))
    assert not end.value.code
    out, err = capfd.readouterr()
    head, one, two, *_ = (line.split() for line in out.splitlines())
    assert (head, one[0], two[0]) == (["houses", "tokens", "steps", "loss", "trained"], "1", "2")
    assert "packed" not in err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_a_machine_that_is_not_there_is_refused_before_anything_is_played_or_written(
    training: Training, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="finds no GPU here"):
        train_adapter(training, AdapterFolder(tmp_path / "made"), Listener(), device="cuda")
    assert not (tmp_path / "made").exists()


def test_a_model_without_a_chat_template_learns_plain_text_alone_and_is_told_so_before_anything_is_played(
    training: Training, tmp_path: Path
) -> None:
    base = base_model(write_tiny(tmp_path / "base.gguf", Kind(template=False)))
    with pytest.raises(ConfigurationError, match="no chat template"):
        train_adapter(replace(training, base=base), AdapterFolder(tmp_path / "made"), Listener(), device="cpu", threads=1)
    assert not (tmp_path / "made").exists()
    plain = replace(
        training, base=base, lessons=Lessons(("react",), {"exemplars": "own"}, houses=1), recipe=LoraRecipe(epochs=1)
    )
    assert train_adapter(plain, AdapterFolder(tmp_path / "made"), Listener(), device="cpu", threads=1)["steps"] == 1


@pytest.mark.parametrize("kind", ["llama", "qwen2", "gemma2", "granite"])
def test_a_step_has_the_loss_of_every_learned_token_whatever_stands_beside_it(kind: str, tmp_path: Path) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM

    samples = [TokenizedConversation(tuple(range(3, length)), (1, 4, length - 4)) for length in (9, 30, 17, 12)]
    recipe = replace(RECIPE, batch=len(samples), rate=0.03, epochs=8)

    def network() -> Any:
        torch.manual_seed(1)
        return AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **SMALL, **HEADS))

    lost = 0.0
    with torch.no_grad():
        for sample in samples:
            spread = network()(torch.tensor([sample.tokens])).logits[0].log_softmax(-1)
            lost -= sum(float(spread[place - 1, sample.tokens[place]]) for place in sample.learned)
    means: list[list[float]] = []
    for where in (CPU, replace(CPU, room=1), replace(CPU, bfloat16=True)):
        heard: list[TrainingProgress] = []
        (folder := tmp_path / str(len(means))).mkdir()
        train(network().to(where.dtype), samples, folder, recipe, where, heard.append)
        means.append([each.loss for each in heard])
    whole, alone, rounded = means
    assert whole[0] == pytest.approx(lost / 12, rel=1e-4)
    assert whole[-1] < whole[0] - 0.1, "it learns"
    assert alone == pytest.approx(whole, rel=1e-3)
    assert rounded == pytest.approx(whole, rel=0.02)


@pytest.mark.parametrize("kind", ["qwen2", "gemma3_text"])
def test_layers_of_other_architectures_have_names(kind: str, tmp_path: Path) -> None:
    import gguf
    from transformers import AutoConfig, AutoModelForCausalLM

    network = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **SMALL, **HEADS))
    adapted = peft.get_peft_model(network, peft.LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM"))
    write_adapter(peft.get_peft_model_state_dict(adapted), adapted.config, 2, tmp_path / "adapter.gguf")
    names = {tensor.name for tensor in gguf.GGUFReader(tmp_path / "adapter.gguf").tensors}
    layers = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    assert names == {f"blk.{at}.{layer}.weight.lora_{which}" for at in range(2) for layer in layers for which in "ab"}


@pytest.fixture
def folder_model(tmp_path: Path) -> Callable[[str], BaseModel]:
    """A tiny random model of an architecture, as a folder of Hugging Face."""

    from transformers import AutoConfig, AutoModelForCausalLM

    def make(kind: str) -> BaseModel:
        folder = tmp_path / kind
        tokenizer = base_model(write_tiny(tmp_path / "tiny.gguf")).tokenizer()
        shape = SMALL | HEADS | {"vocab_size": len(tokenizer), "max_position_embeddings": 4_096}
        AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **shape)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return base_model(folder)

    return make


def _shorter(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1_000])


def _odd_field(folder: Path) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"hidden_size": "wide"}))


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: _shorter(folder / "model.safetensors"),
        lambda folder: (folder / "model.safetensors").unlink(),
        lambda folder: (folder / "model.safetensors").write_bytes(b"odd"),
        _odd_field,
        lambda folder: (folder / "tokenizer.json").write_text("{"),
    ],
    ids=["truncated", "no weights", "no safetensors", "config", "tokenizer"],
)
def test_a_damaged_model_is_refused_before_any_game_is_played(
    folder_model: Callable[[str], BaseModel], tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    base = folder_model("llama")
    damage(base.path)
    made = AdapterFolder(tmp_path / "made")
    with pytest.raises(ConfigurationError, match=r"cannot be loaded by transformers: .+\. Give a GGUF file") as caught:
        train_adapter(Training(base, Lessons(("lota",), {}, houses=1), RECIPE), made, Listener(), threads=1)
    assert "\n" not in str(caught.value)
    assert not made.path.exists(), "nothing was played"


def test_who_gets_no_gguf_adapter_is_told_before_any_game_is_played(
    folder_model: Callable[[str], BaseModel], tmp_path: Path
) -> None:
    listener, made = Listener(), AdapterFolder(tmp_path / "made")
    training = Training(folder_model("olmo2"), Lessons(("lota",), {"shots": 0}, houses=1), replace(RECIPE, epochs=1))
    found = train_adapter(training, made, listener, threads=1)
    assert listener.said[0].startswith(
        "How llama.cpp names the layers of olmo2 is not known here, so there is no adapter.gguf."
    )
    assert "file" not in found
    assert not (made.path / "adapter.gguf").exists()
    assert (made.path / "adapter_model.safetensors").exists()
    assert train_adapter(training, made, Listener(), threads=1) == found
