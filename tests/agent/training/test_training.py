"""Training in PyTorch, and that the runtime computes what was trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from housequest.agent.models.builtin.network import (  # noqa: E402
    Cache,
    NetworkInput,
    Shape,
    read_builtin,
)
from housequest.agent.training.corpus import composition, encoded, made_up_games, reasoner_samples  # noqa: E402
from housequest.agent.training.optimise import Recipe, TorchNetwork, export_network, train  # noqa: E402
from tests.agent.models.builtin.tiny import vocabulary  # noqa: E402

pytestmark = pytest.mark.slow

SHAPE = Shape(width=32, layers=2, heads=2, hidden=48, context=1536)
RECIPE = Recipe({"some": 1.0}, steps=8, batch=4, warmup=2, shape=SHAPE, threads=1)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    import json

    known = vocabulary()
    (tmp_path / "vocabulary.json").write_text(json.dumps(known.tokens), "utf-8")
    encoded(reasoner_samples(made_up_games(0, 20, 1), 4, 1), known).save(tmp_path / "some.npz")
    return tmp_path


def test_runtime_and_pytorch_agree(corpus: Path, tmp_path: Path) -> None:
    train(corpus, tmp_path / "run", RECIPE)
    file = tmp_path / "model.weights"
    export_network(corpus, tmp_path / "run", file)
    shipped = read_builtin(file)
    network = TorchNetwork(SHAPE, *composition(shipped.vocabulary))
    network.load_state_dict(torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)["model"])
    tokens = shipped.vocabulary.encode("Plan:\n1. find a mug 2 and put it in cabinet 3")
    with torch.no_grad():
        wanted = network(torch.tensor([tokens]))[0].numpy()
    (found,) = shipped.network.read([NetworkInput(tokens, Cache(SHAPE), every=True)])
    # The file has weights of 16 bits.
    assert abs(found - wanted).max() < 1e-3
    assert (found.argmax(-1) == wanted.argmax(-1)).all()


def test_a_run_that_broke_off_goes_on_as_if_it_had_not(corpus: Path, tmp_path: Path) -> None:
    whole = train(corpus, tmp_path / "whole", replace(RECIPE, steps=6))
    # A checkpoint in the midst of a run of six steps: the rate falls by the whole run's length.
    train(corpus, tmp_path / "parts", replace(RECIPE, steps=6), until=3)
    again = train(corpus, tmp_path / "parts", replace(RECIPE, steps=6))
    assert all(torch.equal(one, other) for one, other in zip(whole.parameters(), again.parameters(), strict=True))


def test_a_name_is_the_sum_of_its_word_and_its_number() -> None:
    known = vocabulary()
    network = TorchNetwork(SHAPE, *composition(known))
    table = network.table()
    mug, cabinet = ([table[known.id(f"{kind} {place}")] for place in (1, 2)] for kind in ("mug", "cabinet"))
    assert torch.allclose(mug[1] - mug[0], cabinet[1] - cabinet[0], atol=1e-6)
