"""How an agent comes by its examples: stores by name, strategies, embedding models behind a real endpoint."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.agents.examples import ExampleSelector, make_example_selector, recorded_examples
from housequest.agent.agents.spec import ModelSettings, Strategy
from housequest.knowledge.examples import shipped, written
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.errors import ConfigurationError, HousequestError, KnowledgeError, ModelError
from housequest.worlds.options import option, read_options
from housequest.worlds.registry import make_world
from tests.agent.playing import play
from tests.backends.server import Server, raw, status

GOAL = "put a hot potato in fridge."


@dataclass(frozen=True)
class Showing(ModelSettings):
    """The settings of an agent that shows examples."""

    examples: str = "made-up"
    embedder: str = ""
    choose: Strategy = "stratified"
    shots: int = option(6, "examples in the prompt", most=50)


def chooser(**settings: Any) -> ExampleSelector:
    given: dict[str, Any] = {"choose": "bm25", "shots": 3, **settings}
    seed = given.pop("seed", 0)
    options = read_options(Showing, given, owner="The agent 'showing'", word="setting")
    return make_example_selector(make_world("alfworld"), options, seed)


@pytest.mark.parametrize("strategy", ["random", "task-type", "stratified", "bm25"])
def test_examples_are_chosen_alike_every_time(strategy: str) -> None:
    one, other = (asyncio.run(chooser(choose=strategy).choose(GOAL, ["fridge"])) for _ in range(2))
    assert one == other
    assert len(one) == 3
    without = asyncio.run(chooser(choose=strategy).choose(GOAL, ["fridge"], without=one[0].origin))
    assert one[0] not in without
    if strategy in {"task-type", "bm25"}:
        assert {example.type for example in one} == {"pick_heat_then_place_in_recep"}


@pytest.mark.heavy
def test_examples_are_chosen_by_an_embedding_model(server: Server) -> None:
    made = chooser(choose="embeddings", embedder=server.model())
    same = made.store[40]
    found = asyncio.run(made.choose(same.goal))
    assert found[0] == same
    # Another event loop, another choice: the store's vectors are kept.
    assert same not in asyncio.run(made.choose(same.goal, without=same.origin))


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"no", 200),
        (b"{}", 200),
        (b'{"data": [{"embedding": "x"}]}', 200),
        (b'{"data": [{"embedding": [NaN]}]}', 200),
        (b'{"error": {"message": "no such model"}}', 404),
        (b"x" * (1 << 21), 200),
    ],
)
def test_an_embedding_model_that_fails_is_named(server: Server, answer: bytes, code: int) -> None:
    server.embedding = raw(answer, code=code)
    with pytest.raises(ModelError, match="bm25") as caught:
        asyncio.run(chooser(choose="embeddings", embedder=server.model()).choose(GOAL))
    assert caught.value.fatal


def test_an_embedding_model_that_failed_can_be_asked_again(server: Server) -> None:
    made = chooser(choose="embeddings", embedder=server.model())

    async def choose_twice() -> None:
        server.embedding = status(401)
        with pytest.raises(ModelError, match="401"):
            await made.choose(GOAL)
        server.reset()
        assert len(await made.choose(GOAL)) == 3

    asyncio.run(choose_twice())


@pytest.mark.parametrize(
    "settings",
    [
        {"choose": "embeddings"},
        {"choose": "bm52"},
        {"shots": 51},
        {"examples": "nowhere"},
        {"embedder": "word2vec"},
        {"embedder": "local:"},
        {"embedder": "openai:"},
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        chooser(**settings)


def test_a_local_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    made = chooser(choose="embeddings", embedder=f"local:{tmp_path / 'none'}")
    with pytest.raises(ConfigurationError, match="local:"):
        asyncio.run(made.choose(GOAL))


def test_examples_are_chosen_by_a_model_on_this_machine(tmp_path: Path) -> None:
    model2vec, numpy = pytest.importorskip("model2vec"), pytest.importorskip("numpy")
    tokenizers = pytest.importorskip("tokenizers")
    words = sorted({word for example in shipped() for word in example.goal.replace(".", " .").split()})
    vocabulary = {word: place for place, word in enumerate(["[UNK]", "[PAD]", *words])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = numpy.eye(len(vocabulary), dtype="float32")
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(tmp_path / "tiny")
    made = chooser(choose="embeddings", embedder=f"local:{tmp_path / 'tiny'}")
    same = made.store[40]
    assert asyncio.run(made.choose(same.goal))[0].goal == same.goal


def test_no_examples_need_no_store() -> None:
    assert asyncio.run(chooser(shots=0, examples="nowhere").choose(GOAL)) == ()


def test_a_file_and_a_run_are_stores(server: Server, tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text(written(shipped()[:4]), "utf-8")
    assert chooser(examples=str(tmp_path / "own.jsonl")).store == shipped()[:4]
    world = make_world("alfworld")
    folder = tmp_path / "played"
    play(server, world, world.task("example:1"), "react", folder / "won.jsonl")
    play(server, world, world.task("example:2"), "react", folder / "lost.jsonl", max_turns=2)
    (example,) = recorded_examples(folder)
    assert example.origin == "example:1"
    assert example.subgoals()[-1].text == "put the egg in the diningtable"
    (folder / "won.jsonl").unlink()
    with pytest.raises(KnowledgeError, match="no won episode"):
        recorded_examples(folder)


def test_a_world_without_train_has_no_examples_of_it() -> None:
    with pytest.raises(HousequestError, match="train"):
        make_example_selector(make_world("scripted"), Showing(examples="train", shots=1))


@pytest.mark.heavy
def test_made_up_examples_are_the_worlds_own() -> None:
    class Other(AlfworldWorld):
        name = "other"

    class Small(AlfworldWorld):
        name = "small"
        info = replace(AlfworldWorld.info, endless_splits=())

    made = make_example_selector(Other(), Showing(shots=1))
    assert made.store
    assert all(example.origin.startswith("generated:") for example in made.store)
    with pytest.raises(ConfigurationError, match=r"'small'.*examples=train"):
        make_example_selector(Small(), Showing(shots=1))
