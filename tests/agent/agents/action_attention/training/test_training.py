"""Training of Action Attention in PyTorch, and that the runtime computes what was trained."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from housequest.agent.agents.action_attention.network import AttentionShape, read_weights  # noqa: E402
from housequest.agent.agents.action_attention.training.optimise import (  # noqa: E402
    AttentionRecipe,
    StepBatches,
    TorchEmbedding,
    TorchPolicy,
    export,
    train,
)
from housequest.agent.agents.action_attention.training.plays import MOST_STEPS, Plays, load_words, make_words, play, save_plays  # noqa: E402
from housequest.agent.training import CHECKPOINT  # noqa: E402
from housequest.agent.training.corpus import made_up_games  # noqa: E402
from housequest.agent.training.optimise import RECORD  # noqa: E402
from housequest.worlds.errors import ConfigurationError  # noqa: E402

pytestmark = pytest.mark.heavy

SHAPE = AttentionShape(embedded=24, width=16, layers=2, heads=2, hidden=24)
RECIPE = AttentionRecipe({"made-up": 1.0}, steps=12, plays=4, warmup=2, shape=SHAPE)


@pytest.fixture(scope="module")
def plays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plays")
    save_plays(folder, make_words(()), {"made-up": made_up_games(0, 40, 1)}, passes=1, seed=1)
    return folder


def test_the_expert_says_what_to_do_wherever_chance_has_led() -> None:
    from random import Random

    for game in made_up_games(0, 5, 1):
        steps, ended = play(game, Random(1), epsilon=0.5)
        assert ended or len(steps) == MOST_STEPS
        assert all(0 <= step.chosen < len(step.permissible) for step in steps)
        # Sub-tasks are finished one after the other, and never resumed.
        reached = [step.subtask for step in steps]
        assert reached == sorted(reached)
        assert all("Your task is to" not in step.seen for step in steps)


def test_plays_are_drawn_by_the_seed_alone(plays: Path) -> None:
    played = Plays.load(plays / "made-up.npz")
    one, other = (StepBatches({"made-up": played}, RECIPE).pool(3) for _ in range(2))
    for first, second in zip(one, other, strict=True):
        assert all(torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(first, second, strict=True))


def test_a_batch_averages_the_observations_before_each_step(plays: Path) -> None:
    batch = StepBatches({"made-up": Plays.load(plays / "made-up.npz")}, RECIPE).pool(0)[0]
    steps = len(batch.before)
    # The first step of each play has nothing before it; the others average all from there on.
    firsts = [row for row in range(steps) if (batch.before[row] == 0).all()]
    assert len(firsts) == RECIPE.plays
    for first, last in zip(firsts, [*firsts[1:], steps], strict=True):
        for row in range(first + 1, last):
            wanted = torch.zeros(steps)
            wanted[first:row] = 1 / (row - first)
            assert torch.allclose(batch.before[row], wanted)
    assert batch.given[:, 0].all()
    assert batch.given.shape[1] <= RECIPE.commands


def test_the_embedding_has_right_gradients() -> None:
    embedding = TorchEmbedding(6, 8).double()
    tokens, text = torch.tensor([[2, 0, 1], [3, 2, 2], [4, 1, 1]]), torch.tensor([0, 0, 1])
    names = [name for name, _ in embedding.named_parameters()]

    def vectors(*values: object) -> object:
        return torch.func.functional_call(embedding, dict(zip(names, values, strict=True)), (tokens, text, 2))

    assert torch.autograd.gradcheck(vectors, tuple(value.detach().requires_grad_() for value in embedding.parameters()))


def test_runtime_and_pytorch_agree(plays: Path, tmp_path: Path) -> None:
    model = train(plays, tmp_path / "run", RECIPE)
    export(plays, tmp_path / "run", tmp_path / "a.weights")
    network, embedding = read_weights(tmp_path / "a.weights")
    texts = ["put a mug in desk.", "You are in the room.", "You arrive at desk 1.", "go to desk 2", "take mug 1 from desk 1"]
    vectors = asyncio.run(embedding.embed(texts))
    found = network.scores(vectors[0], vectors[1], vectors[2], np.stack(vectors[3:]))
    words = load_words(plays)
    read = [[(word, number, left) for (word, number), left in zip(tokens, (1, *(w for w, _ in tokens)), strict=False)]
            for tokens in map(words.read, texts)]  # fmt: skip
    flat = torch.tensor([each for tokens in read for each in tokens])
    owner = torch.repeat_interleave(torch.tensor([len(tokens) for tokens in read]))
    with torch.no_grad():
        embedded = model.embedding(flat, owner, len(texts))
        wanted = model.network(embedded[None, :3], embedded[None, 3:], torch.ones(1, 2, dtype=torch.bool))[0].numpy()
    # The file has weights of 16 bits.
    assert np.abs(embedded.numpy() - np.stack(vectors)).max() < 2e-2
    assert np.abs(found - wanted).max() < 2e-2


def test_a_run_that_broke_off_goes_on_as_if_it_had_not(plays: Path, tmp_path: Path) -> None:
    whole = train(plays, tmp_path / "whole", RECIPE)
    train(plays, tmp_path / "parts", RECIPE, until=5)
    again = train(plays, tmp_path / "parts", RECIPE)
    assert all(torch.equal(one, other) for one, other in zip(whole.parameters(), again.parameters(), strict=True))


@pytest.mark.parametrize("change", [{"seed": 2}, {"limit": 5}, {"steps": 20}, {"shape": replace(SHAPE, hidden=8)}])
def test_a_folder_holds_a_run_by_one_recipe(plays: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    train(plays, tmp_path / "run", RECIPE, until=2)
    before = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    (name,) = change
    with pytest.raises(ConfigurationError, match=f"another recipe \\({name}.*: .* is now .*--run another folder"):
        train(plays, tmp_path / "run", replace(RECIPE, **change))
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()} == before


def test_the_order_of_shares_is_part_of_a_recipe(plays: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plays"
    save_plays(folder, load_words(plays), {name: made_up_games(0, 4, 1) for name in ("one", "other")}, passes=1, seed=1)
    train(folder, tmp_path / "run", replace(RECIPE, shares={"one": 0.5, "other": 0.5}), until=1)
    with pytest.raises(ConfigurationError, match="shares"):
        train(folder, tmp_path / "run", replace(RECIPE, shares={"other": 0.5, "one": 0.5}))


def test_steps_that_leave_no_time_for_the_rate_to_fall_are_refused() -> None:
    for steps in (2, 1):
        with pytest.raises(ConfigurationError, match=f"{steps} are too few"):
            replace(RECIPE, steps=steps)
    rates = [RECIPE.rate_at(step) for step in range(RECIPE.steps)]
    assert min(rates) > 0
    assert max(rates) == rates[RECIPE.warmup] == RECIPE.rate


def test_an_export_is_of_what_was_trained(plays: Path, tmp_path: Path) -> None:
    """The checkpoint says of which shape it is, whatever stands beside it; one without a recipe is refused."""
    train(plays, tmp_path / "run", RECIPE)
    (tmp_path / "run" / "recipe.json").write_text("{}")
    export(plays, tmp_path / "run", tmp_path / "a.weights")
    assert read_weights(tmp_path / "a.weights")[0].shape == SHAPE
    kept = torch.load(tmp_path / "run" / CHECKPOINT, weights_only=True)
    del kept["recipe"]
    torch.save(kept, tmp_path / "run" / CHECKPOINT)
    with pytest.raises(ConfigurationError, match="by which recipe"):
        export(plays, tmp_path / "run", tmp_path / "b.weights")
    with pytest.raises(ConfigurationError, match="by which recipe"):
        train(plays, tmp_path / "run", RECIPE)


def test_the_record_tells_each_step_once(plays: Path, tmp_path: Path) -> None:
    """What was recorded after the last checkpoint is trained again; a line is the mean of what was summed."""
    recipe, run = replace(RECIPE, steps=120), tmp_path / "run"
    train(plays, run, recipe, until=60)
    (run / RECORD).open("a").write('{"step": 100, "loss": 9, "exact": 0, "seconds": 1}\n{"step": 1')
    train(plays, run, recipe)
    lines = [json.loads(line) for line in (run / RECORD).read_text().splitlines()]
    assert [line["step"] for line in lines] == [50, 100]
    assert all(0.5 < line["loss"] < 4 and 0 < line["exact"] < 1 for line in lines)


def test_a_run_begins_with_the_weights_of_another(plays: Path, tmp_path: Path) -> None:
    first = train(plays, tmp_path / "first", RECIPE)
    begin = str(tmp_path / "first" / CHECKPOINT)
    begun = train(plays, tmp_path / "second", replace(RECIPE, begin=begin), until=0)
    assert all(torch.equal(one, other) for one, other in zip(first.parameters(), begun.parameters(), strict=True))


def test_a_limit_spreads_over_all_plays(plays: Path) -> None:
    played = Plays.load(plays / "made-up.npz")
    for limit, wanted in ((5, 5), (len(played) - 1, len(played) - 1), (5000, len(played))):
        drawing = StepBatches({"made-up": played}, replace(RECIPE, limit=limit))
        assert len({*drawing._plays[0]}) == wanted  # pyright: ignore[reportPrivateUsage]
    seen = {int(text) for number in range(20) for text in drawing.pool(number)[0].tokens[:, 0]}
    assert len(seen) > 30


def test_a_little_training_learns_to_choose(plays: Path, tmp_path: Path) -> None:
    """Forty plays and ten seconds: in other houses it often chooses as the expert does, among all commands."""
    recipe = replace(RECIPE, steps=150, plays=8, warmup=10, shape=replace(SHAPE, embedded=64, width=32))
    learned = train(plays, tmp_path / "run", recipe)
    save_plays(tmp_path, load_words(plays), {"others": made_up_games(100, 10, 1)}, passes=1, seed=1)
    drawing = replace(recipe, shares={"others": 1.0}, commands=0)
    others = StepBatches({"others": Plays.load(tmp_path / "others.npz")}, drawing).pool(0)

    def right(model: TorchPolicy) -> float:
        with torch.no_grad():
            return float(np.mean([(model(batch).argmax(-1) == batch.chosen).float().mean().item() for batch in others]))

    assert right(TorchPolicy(len(load_words(plays)), recipe.shape)) < 0.2
    assert right(learned) > 0.3
