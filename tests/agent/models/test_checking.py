"""Each ability that a model offers is proved by a call, and what is not offered is said to be so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from housequest.agent.models.base import BriefReader, Completion, Message, Model, Request, Scores, Scoring, Usage
from housequest.agent.models.checking import ModelReport, check_model
from housequest.agent.models.registry import make_model
from tests.agent.models.openai.test_probing import able
from tests.backends.server import serve


def proved(name: str) -> ModelReport:
    async def run() -> ModelReport:
        model = make_model(name, timeout=5, wait=0.001)
        try:
            return await check_model(model)
        finally:
            await model.aclose()

    return asyncio.run(run())


def works(proof: ModelReport) -> set[str]:
    return {finding.what for finding in proof.abilities if finding.works}


def test_an_endpoint_that_chats_alone() -> None:
    with serve(lambda messages: "ready") as server:
        proof = proved(server.model())
    assert proof.reply.text == "ready"
    assert works(proof) == {"tokens counted"}
    assert proof.broken == ()
    assert {finding.seen for finding in proof.abilities if finding.what == "choice among texts"} == {"not offered"}


def test_an_endpoint_that_does_more() -> None:
    with serve(lambda messages: "ready") as server:
        server.probing, server.otherwise = able, able
        proof = proved(server.model())
    more = {"log-probabilities", "choice among texts", "bias on words"}
    assert works(proof) >= more
    assert not [each for each in proof.broken if "stop text" not in each], "that server says the same whatever stops it"


@pytest.mark.heavy
def test_the_model_that_ships() -> None:
    proof = proved("builtin")
    assert proof.reply.text.startswith("Thought:")
    assert proof.broken == ()
    assert proof.has == (Scoring, BriefReader)
    assert works(proof) >= {
        "tokens counted",
        "prefix cache",
        "log-probabilities",
        "choice among texts",
        "exact scores of texts",
        "deterministic",
    }


@pytest.mark.parametrize("default", ["ready"])
def test_a_script(tmp_path: Path, default: str) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(f"default: {default}\n")
    report = proved(f"scripted:{file}")
    assert (report.reply.text, report.broken) == (default, ())


class Careless(Model):
    """A model that breaks what it can break."""

    name = "careless"

    async def complete(self, request: Request) -> Completion:
        if request.top_logprobs:
            raise KeyError("logprobs")
        try:
            await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            raise ValueError("I was not done") from None
        return Completion("well hello there", "", Usage(-1, 3))

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        return Scores(())


def test_a_broken_demand_is_said_in_words() -> None:
    broken = " / ".join(asyncio.run(check_model(Careless())).broken)
    for words in (
        "a reply says why it ended",
        "a stop text ends the reply before it: 'hello' stands in 'well hello there'",
        "raised ValueError('I was not done') in place of CancelledError",
        "it raised KeyError ('logprobs'); raise ModelError",
        "complete raises Unsupported where choices are denied: it replied as if nothing had been asked",
        "score raises Unsupported where scoring is denied: it scored",
    ):
        assert words in broken
