"""Action Attention trained and played with an embedding model behind an endpoint, in place of words of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from housequest.agent.agents.action_attention.network import SHIPPED, WordEmbedding, read_weights  # noqa: E402
from housequest.agent.agents.action_attention.training.__main__ import main  # noqa: E402
from housequest.agent.agents.action_attention.training.optimise import AttentionRecipe, TorchFrozen, export, train  # noqa: E402
from housequest.agent.agents.action_attention.training.plays import load_embedder, make_words, save_plays  # noqa: E402
from housequest.agent.config import configure  # noqa: E402
from housequest.agent.episodes.config import EpisodeConfig  # noqa: E402
from housequest.agent.episodes.events import Event  # noqa: E402
from housequest.agent.episodes.loop import run_episode  # noqa: E402
from housequest.agent.models.embeddings import make_embedder  # noqa: E402
from housequest.agent.setup import set_up  # noqa: E402
from housequest.agent.training.corpus import made_up_games  # noqa: E402
from housequest.worlds.errors import ConfigurationError, ModelError  # noqa: E402
from housequest.worlds.registry import make_world  # noqa: E402
from tests.backends.policy import Solver  # noqa: E402
from tests.backends.server import Server, raw, serve  # noqa: E402

pytestmark = pytest.mark.heavy

LETTERS = 11
"""The numbers of a vector of the endpoint's."""
RECIPE = AttentionRecipe({"made-up": 1.0}, steps=12, plays=4, warmup=2)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(Solver()) as running:
        yield running


@pytest.fixture(scope="module")
def plays(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plays")
    embedder = make_embedder(server.model("letters"))
    save_plays(folder, make_words(()), {"made-up": made_up_games(0, 20, 1)}, passes=1, seed=1, embedder=embedder)
    return folder


@pytest.fixture(scope="module")
def weights(plays: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    train(plays, folder, RECIPE)
    export(plays, folder, folder / "letters.weights")
    return folder / "letters.weights"


def vectors(file: Path, embedder: str, *texts: str) -> Any:
    return np.stack(list(asyncio.run(read_weights(file, embedder)[1].embed(texts))))


def test_runtime_and_pytorch_read_the_same_vectors(server: Server, plays: Path, weights: Path, tmp_path: Path) -> None:
    model = train(plays, tmp_path / "run", RECIPE)
    texts = ["put a mug in desk.", "You arrive at desk 1.", "", "go to desk 2", "take mug 1 from desk 1"]
    found = vectors(weights, server.model("letters"), *texts)
    network, _ = read_weights(weights, server.model("letters"))
    assert network.shape.embedded == LETTERS
    assert isinstance(model.embedding, TorchFrozen)
    counted = np.array([[text.count(letter) for letter in "abcdehlmopt"] for text in texts], np.float32)
    given = counted / np.sqrt((counted**2).mean(1, keepdims=True) + 1e-5)
    with torch.no_grad():
        embedded = model.embedding(torch.from_numpy(given))
        wanted = model.network(embedded[None, :3], embedded[None, 3:], torch.ones(1, 2, dtype=torch.bool))[0].numpy()
    assert np.abs(embedded.numpy() - found).max() < 1e-2
    assert np.abs(network.scores(found[0], found[1], found[2], found[3:]) - wanted).max() < 2e-2
    # Nothing but the network is learned.
    assert {name.partition(".")[0] for name, _ in model.named_parameters()} == {"network"}


def test_each_text_is_embedded_once_and_the_file_says_by_what(server: Server, plays: Path, weights: Path) -> None:
    told = load_embedder(plays)
    assert told is not None
    assert told[0] == "openai:letters"
    head = json.loads(weights.read_bytes().partition(b"\n")[0])
    assert head["embedder"] == ["openai:letters"]
    assert server.url not in weights.read_bytes().decode("latin-1")
    played = [text for call in server.embedded for text in call.body["input"]]
    assert len(played) > 200


def test_another_model_is_refused_by_its_vectors_whatever_it_is_called(server: Server, weights: Path) -> None:
    assert vectors(weights, server.model("other name"), "go to desk 1").shape == (1, LETTERS)
    for numbers in ([1] * LETTERS, [1, 2]):
        entries = [{"index": place, "embedding": numbers} for place in range(2)]
        server.embedding = raw(json.dumps({"data": entries}).encode())
        with pytest.raises(ModelError, match=r"other vectors than openai:letters") as caught:
            vectors(weights, server.model("letters"), "go to desk 1")
        assert caught.value.fatal
        server.reset()


def test_without_its_embedding_model_a_network_is_refused_before_the_run(weights: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"trained with the embedding model .*openai:letters.* setting embedder"):
        read_weights(weights)
    flags = {"agent": "action-attention", "grant": ["admissible"], "set": {"weights": str(weights)}}
    with pytest.raises(ConfigurationError, match="openai:letters"):
        set_up(configure(flags)).make_agent(None)


@pytest.mark.parametrize("agent", ["action-attention", "pet"])
def test_a_game_is_played_by_its_vectors(agent: str, server: Server, weights: Path) -> None:
    """Alone, and round it PET with a model."""
    wrapping = {"acting": "action-attention"} if agent == "pet" else {}
    given = {**wrapping, "weights": str(weights), "embedder": server.model("letters")}
    flags: dict[str, Any] = {"agent": agent, "grant": ["admissible"], "set": given}
    setup = set_up(configure(flags | ({"model": server.model()} if agent == "pet" else {})))
    server.reset()
    world, told = make_world("alfworld"), list[Any]()

    async def play() -> None:
        model = setup.make_model()
        terms = EpisodeConfig(world, frozenset({"admissible"}), 5)
        await run_episode(world.open(world.task("example:1")), setup.make_agent(model), terms, told.append)
        if model is not None:
            await model.aclose()

    asyncio.run(play())
    kinds = [event.body.kind for event in told if isinstance(event, Event)]
    assert kinds.count("stepped") == 5
    assert kinds[-1] == "ended"
    asked = [text for call in server.embedded for text in call.body["input"]]
    assert any(text.startswith("go to") for text in asked)
    assert len(asked) == len({*asked})


def test_it_is_said_where_the_texts_go(weights: Path) -> None:
    given = {"weights": str(weights), "embedder": "openai:e@https://models.example.org/v1"}
    setup = set_up(configure({"agent": "action-attention", "grant": ["admissible"], "set": given}))
    assert [*setup.destinations()] == [
        "All texts of the games go to https://models.example.org without a key, for the network to read."
    ]


def test_words_need_no_embedding_model() -> None:
    assert isinstance(read_weights(SHIPPED, "openai:e@http://127.0.0.1:9/v1")[1], WordEmbedding)


def test_plays_without_an_embedder_forget_the_one_before(server: Server, tmp_path: Path) -> None:
    for embedder in (make_embedder(server.model("letters")), None):
        save_plays(tmp_path, make_words(()), {"made-up": made_up_games(0, 2, 1)}, passes=1, seed=1, embedder=embedder)
    assert load_embedder(tmp_path) is None


def test_a_part_without_games_has_no_vectors(server: Server, tmp_path: Path) -> None:
    parts = {"one": made_up_games(0, 8, 1), "none": ()}
    save_plays(tmp_path, make_words(()), parts, passes=1, seed=1, embedder=make_embedder(server.model("letters")))
    train(tmp_path, tmp_path / "run", replace(RECIPE, shares={"one": 1.0, "none": 0.0}), until=2)


def test_an_embedding_model_that_does_not_answer_is_known_before_the_games_are_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--plays", str(tmp_path / "plays"), "--embedder", "local:nowhere", "--no-human", "--houses", "1", "--games", "1"]
    with pytest.raises(SystemExit) as ended:
        main(["plays", *given])
    assert ended.value.code == 2
    assert "local:nowhere" in capsys.readouterr().err
