"""The built-in model's runtime, driven by a tiny random network."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from housequest.agent.models.base import Completion, Message, Request
from housequest.agent.models.builtin.model import BuiltinModel, load_builtin
from housequest.agent.models.builtin.network import SHIPPED, Cache, Network, NetworkInput, read_builtin
from housequest.agent.networks import Floats
from housequest.worlds.errors import ModelError, Unsupported
from tests.agent.models.builtin.tiny import SHAPE, vocabulary, weights, write_tiny

PROMPT = "Plan:\n1. find a mug\nHere: cabinet 1, mug 2, mug 3"


@pytest.fixture
def model(tmp_path: Path) -> BuiltinModel:
    return load_builtin(write_tiny(tmp_path))


def asked(text: str = PROMPT) -> tuple[Message, ...]:
    return (Message("user", text),)


def test_tokens_one_by_one_give_the_logits_of_all_at_once() -> None:
    network = Network(SHAPE, weights(SHAPE, len(vocabulary())))
    tokens = list(range(40))
    (together,) = network.read([NetworkInput(tokens, Cache(SHAPE), every=True)])
    cache = Cache(SHAPE)
    apart = np.array([network.read([NetworkInput([token], cache)])[0][0] for token in tokens])
    assert np.abs(together - apart).max() < 1e-3


@pytest.mark.heavy
def test_what_is_read_beside_a_sequence_changes_no_bit_of_it() -> None:
    network, random = read_builtin(SHIPPED).network, Random(0)
    prompts = [random.choices(range(2000), k=random.randint(1, 150)) for _ in range(40)]

    def read(cache: Cache, tokens: Sequence[int]) -> NetworkInput:
        return NetworkInput(tokens, cache)

    alone = [Cache(network.shape) for _ in prompts]
    wanted = [
        [network.read([read(cache, part)])[0] for part in (prompt, *([token] for token in prompt[:9]))]
        for cache, prompt in zip(alone, prompts, strict=True)
    ]
    # Beside each other: some are at their prompts while others are at their third token, and each stands in another row.
    caches = [Cache(network.shape) for _ in prompts]
    left: list[list[list[int]]] = [[prompt, *([token] for token in prompt[:9])] for prompt in prompts]
    found: list[list[Floats]] = [[] for _ in prompts]
    while any(left):
        going = [at for at in random.sample(range(len(prompts)), len(prompts)) if left[at]][: random.randint(1, 32)]
        for at, logits in zip(going, network.read([read(caches[at], left[at].pop(0)) for at in going]), strict=True):
            found[at].append(logits)
    assert all(
        np.array_equal(one, other)
        for ours, theirs in zip(found, wanted, strict=True)
        for one, other in zip(ours, theirs, strict=True)
    )


@pytest.mark.anyio
async def test_a_reply_is_the_same_whatever_was_read_before(model: BuiltinModel) -> None:
    prompts = [f"Plan:\n{'find a mug ' * 20}\nHere: cabinet {number}" for number in range(1, 6)]
    fresh = [(await model.complete(Request(asked(prompt), max_tokens=20))) for prompt in prompts]
    again = await asyncio.gather(*(model.complete(Request(asked(prompt), max_tokens=20)) for prompt in reversed(prompts)))
    assert [one.text for one in reversed(again)] == [one.text for one in fresh]
    assert (await model.complete(Request(asked(prompts[0]), max_tokens=20))).timing.cached == 64


@pytest.mark.heavy
@pytest.mark.anyio
@pytest.mark.parametrize("workers", [8, 32])
async def test_replies_for_many_at_once_are_those_for_one_after_another(workers: int) -> None:
    prompts = [
        f"Plan:\n1. find a mug and heat it\n{'Seen: fridge 1. ' * (number % 7)}Here: cabinet {number}" for number in range(40)
    ]
    requests = [
        Request(asked(text), max_tokens=12, temperature=number % 2, top_logprobs=3) for number, text in enumerate(prompts)
    ]
    free = asyncio.Semaphore(workers)
    model = load_builtin()

    async def one(request: Request) -> Completion:
        async with free:
            return await model.complete(request)

    together = await asyncio.gather(*(one(request) for request in requests))
    # Not near: equal, with every log-probability.
    file = read_builtin(SHIPPED)
    assert together == [await BuiltinModel(file).complete(request) for request in requests]


@pytest.mark.anyio
async def test_a_call_that_cannot_be_answered_fails_alone(model: BuiltinModel) -> None:
    calls = (Request(asked(), max_tokens=9), Request(asked("Plan: " + "mug " * 2000)), Request(asked(), choices=()))
    well, long, nothing = await asyncio.gather(*(model.complete(call) for call in calls), return_exceptions=True)
    assert well == await model.complete(calls[0])
    assert isinstance(long, ModelError) and isinstance(nothing, ModelError)


@pytest.mark.anyio
async def test_a_reply_ends_where_it_is_told_to(model: BuiltinModel) -> None:
    long = await model.complete(Request(asked(), max_tokens=12))
    assert (long.finish, long.usage.completion) == ("length", 12)
    word = long.text.split()[3]
    cut = await model.complete(Request(asked(), max_tokens=12, stop=(word,)))
    assert cut.finish == "stop"
    assert long.text.startswith(cut.text)
    assert word not in cut.text


@pytest.mark.anyio
async def test_a_choice_is_the_likeliest_of_those_given(model: BuiltinModel) -> None:
    choices = ("go to cabinet 1", "take mug 2 from cabinet 1", "look")
    chosen = await model.complete(Request(asked(), choices=choices))
    assert chosen.text in choices
    assert (await model.complete(Request(asked(), choices=("look",)))).text == "look"
    with pytest.raises(ModelError, match="nothing to choose from"):
        await model.complete(Request(asked(), choices=()))


@pytest.mark.anyio
async def test_scores_are_sums_of_the_log_probabilities_of_a_reply(model: BuiltinModel) -> None:
    reply = await model.complete(Request(asked(), max_tokens=1, top_logprobs=2))
    (choice,) = reply.tokens
    assert choice.logprob == choice.alternatives[0][1] > choice.alternatives[1][1]
    together = (await model.score(asked(), ("go to", "go to cabinet 1", ""))).logprobs
    apart = [(await model.score(asked(), (text,))).logprobs[0] for text in ("go to", "go to cabinet 1", "")]
    assert np.abs(np.array(together) - np.array(apart)).max() < 1e-3
    assert together[1] < together[0] < together[2] == 0


@pytest.mark.anyio
async def test_sampling_goes_by_its_seed(model: BuiltinModel) -> None:
    def sampled(seed: int) -> Sequence[str]:
        return asyncio.run(model.complete(Request(asked(), temperature=1.0, seed=seed, max_tokens=20))).text.split()

    one, other, once_more = [await asyncio.to_thread(sampled, seed) for seed in (1, 2, 1)]
    assert one == once_more != other


@pytest.mark.anyio
async def test_what_it_was_not_trained_on_is_refused(model: BuiltinModel) -> None:
    with pytest.raises(Unsupported, match="reasoner-actor"):
        await model.complete(Request(asked("You act in a household.")))
    with pytest.raises(Unsupported, match="schema"):
        await model.complete(Request(asked(), schema={}))
    with pytest.raises(ModelError, match="too long"):
        await model.complete(Request(asked("Plan: " + "mug " * 2000)))


@pytest.mark.anyio
async def test_a_cancelled_call_ends(model: BuiltinModel) -> None:
    call = asyncio.create_task(model.complete(Request(asked(), max_tokens=200)))
    other = asyncio.create_task(model.complete(Request(asked(), max_tokens=20)))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await other).usage.completion == 20
    assert (await model.complete(Request(asked(), max_tokens=3))).usage.completion == 3


@pytest.mark.anyio
async def test_matrices_are_not_shared_out_among_threads(model: BuiltinModel) -> None:
    await model.complete(Request(asked(), max_tokens=1))
    assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} <= {1}


def test_the_card_is_of_the_shipped_file() -> None:
    card = (Path(__file__).parents[4] / "docs/explanation/builtin.md").read_text("utf-8")
    said = re.search(r"SHA-256 `(\w{8,})…(\w{8,})`", card)
    assert said is not None
    digest = hashlib.sha256(SHIPPED.read_bytes()).hexdigest()
    assert digest.startswith(said[1])
    assert digest.endswith(said[2])
