"""Given texts are scored at an endpoint that tells how likely the tokens of a prompt are, and at no other."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import JSONResponse, Response

from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, MeteredModel, RunHalted
from housequest.agent.models.base import Message, PromptToken, Scores, Usage
from housequest.agent.models.checking import check_model
from housequest.agent.models.openai.model import OpenAIModel, score_gain
from housequest.agent.models.openai.protocol import read_tokens
from housequest.agent.models.registry import make_model
from housequest.worlds.errors import ModelError, Unsupported
from tests.backends import server as backend
from tests.backends.server import Behaviour, Policy, Recorded, Server, serve

ASKED = [Message("system", "you tidy"), Message("user", "1.")]
TEXTS = ("find an egg,", "find a pan,", "done.", "fin", "")


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(lambda messages: "find a pan,") as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.reset()
    running.probing = backend.answer
    return running


def model(server: Server) -> OpenAIModel:
    # A call that is tried again on a machine at a standstill would be two requests.
    made = make_model(server.model(), timeout=60, retries=1, wait=0.001)
    assert isinstance(made, OpenAIModel)
    return made


def scored(server: Server, texts: Sequence[str] = TEXTS) -> Scores:
    async def run() -> Scores:
        asked = model(server)
        try:
            return await asked.score(ASKED, texts)
        finally:
            await asked.aclose()

    return asyncio.run(run())


@dataclass(frozen=True)
class Reader:
    """A server with a template and a vocabulary; the longest piece that fits is a token, and any two neighbours have a worth.

    ``ends``: it ends a last message that was to be continued, as one does that knows nothing of that.
    """

    pieces: tuple[str, ...]
    assistant: str
    ends: bool = False

    async def __call__(self, recorded: Recorded, policy: Policy) -> Response:
        told: list[dict[str, Any] | None] = [
            {str(number): {"logprob": logprob, "rank": 2, "decoded_token": "?"}}
            for number, logprob in self.tokens(recorded.messages, begun="continue_final_message" in recorded.body)
        ]
        return JSONResponse(backend.completion("", recorded) | {"prompt_logprobs": [None, *told[1:]]})

    def tokens(self, messages: backend.Messages, *, begun: bool) -> list[tuple[int, float]]:
        text = "".join(
            (self.assistant if message["role"] == "assistant" else f"[{message['role']}] ")
            + message["content"]
            + ("" if begun and not self.ends and message is messages[-1] else "\n")
            for message in messages
        )
        text += "" if begun else self.assistant
        pieces = re.findall("|".join([*map(re.escape, sorted(self.pieces, key=len, reverse=True)), "(?s:.)"]), text)
        numbers = [sum(map(ord, piece)) * 31 + len(piece) for piece in pieces]
        return [
            (number, -((number * 7 + before * 13) % 97) / 16) for before, number in zip([0, *numbers], numbers, strict=False)
        ]

    def expected(self, text: str) -> float:
        """log p of prompt and text less log p of the prompt."""
        before = [{"role": message.role, "content": message.content} for message in ASKED]
        whole = self.tokens([*before, {"role": "assistant", "content": text}], begun=True)
        alone = self.tokens(before, begun=False)
        return sum(logprob for _, logprob in whole[1:]) - sum(logprob for _, logprob in alone[1:])


APART = Reader(("find", " an", " a", " egg", "axolotl", "fin"), "[assistant]\n")
MERGED = Reader(("\n", " find", " fin", " an", " egg", " d"), "[assistant] ")


@pytest.mark.parametrize("reader", [APART, MERGED], ids=["apart", "merged"])
def test_a_score_is_that_of_prompt_and_text_less_that_of_the_prompt(server: Server, reader: Reader) -> None:
    server.probing = server.otherwise = reader
    found = scored(server)
    assert found.logprobs == pytest.approx([*(reader.expected(text) for text in TEXTS[:-1]), 0.0])
    if reader is APART:
        # Where nothing is merged it is what follows the prompt, as a text's own tokens.
        conversation = [{"role": "user", "content": "1."}, {"role": "assistant", "content": "find an egg,"}]
        own = reader.tokens(conversation, begun=True)[-4:]
        assert found.logprobs[0] == pytest.approx(sum(logprob for _, logprob in own))


def test_each_text_is_a_request_that_is_counted(server: Server) -> None:
    server.behave(backend.answer, backend.status(503))
    found = scored(server)
    assert max(found.logprobs[:-1]) == found.logprobs[1] == -0.375
    bodies = [request.body for request in server.requests]
    assert len(bodies) == found.timing.attempts == found.calls + 1 == 1 + len(TEXTS) + 1
    prompts = [len(request.text.split()) for request in server.requests]
    once = {json.dumps(body): count for body, count in zip(bodies, prompts, strict=True)}
    assert found.usage == Usage(sum(once.values()) + once[json.dumps(bodies[0])], 0), "an empty text is the prompt once more"
    assert {(body["prompt_logprobs"], body["max_tokens"]) for body in bodies} == {(0, 1)}
    begun = [body for body in bodies if body.get("continue_final_message")]
    assert {body["messages"][-1]["content"] for body in begun} == set(TEXTS[:-1])
    assert not any(body["add_generation_prompt"] for body in begun)


def test_what_it_offers_is_proved(server: Server) -> None:
    async def run() -> None:
        asked = model(server)
        proof = await check_model(asked)
        await asked.aclose()
        assert len(server.probes) == 8
        (finding,) = (finding for finding in proof.abilities if finding.what == "exact scores of texts")
        assert finding.works
        assert "'ready' -8.00" in finding.seen

    asyncio.run(run())


async def half(recorded: Recorded, policy: Policy) -> Response:
    """Tells of a prompt, and not of one that ends in what the model said."""
    return await (backend.saying("?") if recorded.body.get("continue_final_message") else backend.answer)(recorded, policy)


async def same(recorded: Recorded, policy: Policy) -> Response:
    """Does not see the model's own message."""
    messages = [message for message in recorded.messages if message["role"] != "assistant"]
    return await backend.answer(Recorded(recorded.path, {}, {**recorded.body, "messages": messages}), policy)


@pytest.mark.parametrize(
    "probing",
    [
        backend.saying("ready"),
        backend.status(400, {"error": {"message": "Unknown parameter: 'prompt_logprobs'.", "param": "prompt_logprobs"}}),
        Reader(("axolotl", " quetzal"), "[assistant]\n", ends=True),
        half,
        same,
    ],
    ids=["chats alone", "refuses", "ends the text", "half of it", "overlooks the text"],
)
def test_who_does_not_do_it_is_found_out(server: Server, probing: Behaviour) -> None:
    server.probing = probing
    with pytest.raises(Unsupported, match="does not score given texts"):
        scored(server)
    assert not server.requests


def telling(told: object) -> Behaviour:
    async def behave(recorded: Recorded, policy: Policy) -> Response:
        body = json.dumps(backend.completion("", recorded) | {"prompt_logprobs": told})
        return Response(body, media_type="application/json")

    return behave


ONE = {"logprob": -1.0}


@pytest.mark.heavy
@pytest.mark.parametrize(
    "told",
    [None, [], [None], {}, "x", 3, [None, None], [None, {}], [None, {"7": None}], [None, {"7": {}}], [None, {"seven": ONE}]]
    + [[None, {"7": {"logprob": worth}}] for worth in ("1", True, math.nan, -math.inf, 10**400, None)]
    + [[None, {"7" * 30: ONE}], [None, {"٧": ONE}], [None, {"": ONE}], [{"7": ONE}], [None, {"7": ONE}, 5]],
    ids=repr,
)
def test_what_is_no_such_answer_is_the_models_fault(server: Server, told: object) -> None:
    server.behave(otherwise=telling(told))
    with pytest.raises(ModelError, match="did not return the log-probabilities of the prompt"):
        scored(server)


def test_an_answer_that_holds_nothing_of_the_text_is_the_models_fault(server: Server) -> None:
    server.behave(otherwise=telling([None, {"7": ONE}]))
    with pytest.raises(ModelError, match="did not return the log-probabilities"):
        scored(server, ["find"])


def test_trouble_with_one_text_ends_the_others() -> None:
    # A server of its own: calls that were on their way may still arrive.
    with backend.serve() as server:
        server.probing = backend.answer
        server.behave(backend.answer, backend.status(401), otherwise=backend.answer)
        with pytest.raises(ModelError, match="401"):
            scored(server, [f"find {number}" for number in range(200)])
        assert len(server.requests) < 100


def test_a_budget_counts_every_request_and_lets_none_begin_beyond_it(server: Server) -> None:
    async def run() -> None:
        asked = model(server)
        await asked.capabilities()
        probes = len(server.probes)
        purse = BudgetTracker(Budget(calls=21 + probes))
        metered = MeteredModel(asked, purse, None)
        for _ in range(3):
            await metered.score(ASKED, TEXTS)
        # One more: the question whether it completes plain text, at an address that it has not.
        assert purse.used.calls - probes - 1 == len(server.requests) == 18
        assert purse.used.tokens.prompt > 0
        with pytest.raises(RunHalted):
            await metered.score(ASKED, TEXTS)
        assert (len(server.requests), purse.calling) == (18, 0)
        await asked.aclose()

    asyncio.run(run())


LEAF = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3)
NUMBER = st.integers(-9, 99).map(str) | st.text(max_size=3)
ENTRY = LEAF | st.dictionaries(NUMBER, LEAF | st.dictionaries(st.just("logprob"), LEAF, max_size=1), max_size=2)


@given(st.fixed_dictionaries({"prompt_logprobs": LEAF | st.lists(ENTRY, max_size=5)}))
def test_whatever_comes_is_read_as_a_whole_or_not_at_all(reply: dict[str, Any]) -> None:
    tokens = read_tokens(reply)
    told = reply["prompt_logprobs"]
    assert len(tokens) in {0, len(told) - 1 if isinstance(told, list) else 0}
    assert all(token.number >= 0 and math.isfinite(token.logprob) for token in tokens)


TOKENS = st.lists(st.builds(PromptToken, st.integers(0, 3), st.floats(-9, 0)), max_size=8)


@given(TOKENS, TOKENS)
def test_what_both_begin_with_makes_no_difference(alone: list[PromptToken], text: list[PromptToken]) -> None:
    assert score_gain(alone, [*alone, *text]) == (math.fsum(token.logprob for token in text) if text else None)
    head = [PromptToken(9, -1.0)]
    assert score_gain([*head, *alone], [*head, *text]) == score_gain(alone, text)
