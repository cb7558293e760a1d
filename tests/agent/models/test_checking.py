"""Each ability that a model offers is proved by a call, and what is not offered is said to be so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.models.checking import Proof, prove
from agent.models.registry import make_model
from tests.agent.models.openai.test_probing import able
from tests.backends.server import serve


def proved(name: str) -> Proof:
    async def run() -> Proof:
        model = make_model(name, timeout=5, wait=0.001)
        try:
            return await prove(model)
        finally:
            await model.aclose()

    return asyncio.run(run())


def works(proof: Proof) -> set[str]:
    return {finding.ability for finding in proof.findings if finding.works}


def test_an_endpoint_that_chats_alone() -> None:
    with serve(lambda messages: "ready") as server:
        proof = proved(server.model())
    assert proof.reply.text == "ready"
    assert works(proof) == {"tokens counted"}
    assert {finding.seen for finding in proof.findings if finding.ability == "choice among texts"} == {"not offered"}


def test_an_endpoint_that_does_more() -> None:
    with serve(lambda messages: "ready") as server:
        server.probing, server.otherwise = able, able
        proof = proved(server.model())
    more = {"log-probabilities", "choice among texts", "bias on words"}
    assert works(proof) >= more


def test_the_model_that_ships() -> None:
    proof = proved("builtin")
    assert proof.reply.text.startswith("Thought:")
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
    assert proved(f"scripted:{file}").reply.text == default
