"""What an endpoint does besides chatting is tried on it, and then used."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import JSONResponse, Response

from housequest.agent.models.base import Capabilities, Message, Request
from housequest.agent.models.openai.model import PROBED_AGAIN, OpenAIModel, spells
from housequest.agent.models.openai.protocol import parse_choice, token_choices
from housequest.agent.models.registry import make_model
from housequest.worlds.errors import ModelError, Unsupported
from tests.backends import server as backend
from tests.backends.server import Policy, Recorded, Server, serve

HELLO = [Message("user", "hello")]


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(lambda messages: "ready") as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    """The endpoint of all these tests, as if nobody had asked it anything."""
    running.reset()
    return running


async def able(recorded: Recorded, policy: Policy) -> Response:
    """Does all that can be asked of it."""
    if recorded.pngs:
        return await backend.seeing(recorded, policy)
    asked, text = recorded.body, policy(recorded.messages)
    if bias := asked.get("logit_bias"):
        text = " ".join(word for word, _ in bias)
    if form := asked.get("response_format"):
        choices = form["json_schema"]["schema"]["properties"]
        text = json.dumps({name: what["enum"][-1] for name, what in choices.items()})
    said = backend.completion(text, recorded)
    if asked.get("logprobs"):
        tops = [{"token": "ready", "logprob": -0.1}, {"token": "no", "logprob": -2.5}][: asked["top_logprobs"]]
        said["choices"][0]["logprobs"] = {"content": [{"token": "ready", "logprob": -0.1, "top_logprobs": tops}]}
    return JSONResponse(said)


def model(server: Server) -> OpenAIModel:
    made = make_model(server.model(), timeout=5, wait=0.001)
    assert isinstance(made, OpenAIModel)
    return made


def test_a_server_that_does_more_is_found_out_once_and_used(server: Server) -> None:
    server.probing, server.otherwise = able, able

    async def run() -> None:
        asked = model(server)
        both = await asyncio.gather(asked.capabilities(), asked.capabilities())
        assert set(both) == {Capabilities(log_probabilities=True, choices=True, schema=True, bias=True, images=True)}
        assert (len(server.probes), len(server.requests)) == (7, 0)
        likely = await asked.complete(Request(HELLO, top_logprobs=2))
        assert likely.tokens[0].alternatives == (("ready", -0.1), ("no", -2.5))
        assert (await asked.complete(Request(HELLO, choices=["go to fridge 1", "look"]))).text == "look"
        form = {"type": "object", "properties": {"n": {"enum": [3]}}}
        assert json.loads((await asked.complete(Request(HELLO, schema=form))).text) == {"n": 3}
        assert "mug" in (await asked.complete(Request(HELLO, bias={"mug": 2.0}))).text
        assert (len(server.probes), len(server.requests)) == (7, 4)
        await asked.aclose()

    asyncio.run(run())


@pytest.mark.parametrize("keeps_both", [False, True])
def test_a_model_that_thinks_is_held_where_it_can_do_both(server: Server, keeps_both: bool) -> None:
    async def thinking(recorded: Recorded, policy: Policy) -> Response:
        answered = await able(recorded, policy)
        said = json.loads(bytes(answered.body))
        if keeps_both or "response_format" not in recorded.body:
            said["choices"][0]["message"]["reasoning_content"] = "They want a word."
        return JSONResponse(said)

    server.probing = server.otherwise = thinking

    async def run() -> None:
        asked = model(server)
        assert await asked.probe("forms") == Capabilities(choices=keeps_both, schema=keeps_both)
        await asked.aclose()

    asyncio.run(run())


def test_completions_of_plain_text_are_found_out_and_used(server: Server) -> None:
    server.policy = lambda messages: f" four\nfive ({len(messages)} {messages[0]['content']})"
    request = Request([Message("user", "one two"), Message("assistant", " three")], stop=("\n",), raw=True)

    async def run() -> None:
        asked = model(server)
        with pytest.raises(Unsupported, match="completions of plain text"):
            await asked.complete(request)
        await asked.aclose()
        server.continues = True
        asked = model(server)
        assert await asked.capabilities() == Capabilities(completions=True)
        server.requests.clear()
        reply = await asked.complete(request)
        assert (reply.text, reply.usage.prompt) == (" four", 3)
        (asking,) = server.requests
        assert asking.path == "/v1/completions"
        assert asking.body["prompt"] == "one two three"
        assert "messages" not in asking.body
        await asked.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("otherwise", "times"),
    [
        (backend.saying("ready"), 1),
        (backend.status(400, {"error": {"message": "no"}}), 1),
        (backend.status(500), 1 + PROBED_AGAIN),
        (backend.raw(b"{}"), 1),
    ],
    ids=["passes over them", "refuses", "breaks", "says nothing"],
)
def test_a_server_that_only_chats_is_promised_nothing(server: Server, otherwise: backend.Behaviour, times: int) -> None:
    plain: list[Recorded] = []

    async def probed(recorded: Recorded, policy: Policy) -> Response:
        if not (
            recorded.pngs or recorded.body.keys() & {"logprobs", "response_format", "grammar", "logit_bias", "prompt_logprobs"}
        ):
            plain.append(recorded)
            return await backend.saying("ready")(recorded, policy)
        return await otherwise(recorded, policy)

    server.probing = probed

    async def run() -> None:
        asked = model(server)
        assert await asked.capabilities() == Capabilities()
        with pytest.raises(Unsupported, match="a choice among given texts"):
            await asked.complete(Request(HELLO, choices=["a"]))
        assert (len(server.probes) - len(plain), len(server.requests)) == (6 * times, 0)
        await asked.aclose()

    asyncio.run(run())


@pytest.mark.parametrize("trouble", [backend.status(500), backend.raw(b"{}"), backend.cut_off], ids=["breaks", "{}", "resets"])
def test_a_server_that_does_not_even_chat_is_an_error_and_no_lack(server: Server, trouble: backend.Behaviour) -> None:
    server.probing = trouble

    async def run() -> None:
        asked = model(server)
        with pytest.raises(ModelError):
            await asked.capabilities()
        server.probing = able
        assert (await asked.capabilities()).choices
        await asked.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(
    "trouble", [backend.status(503), backend.status(500), backend.cut_off], ids=["busy", "breaks", "resets"]
)
def test_a_server_that_breaks_once_is_probed_again(server: Server, trouble: backend.Behaviour) -> None:
    tries = iter([trouble, able, trouble, trouble])

    async def probing(recorded: Recorded, policy: Policy) -> Response:
        return await next(tries, able)(recorded, policy)

    server.probing = probing

    async def run() -> None:
        asked = model(server)
        assert (await asked.probe("forms")).choices
        await asked.aclose()

    asyncio.run(run())


def test_what_a_server_breaks_at_each_time_is_not_asked_for_and_said(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    async def probing(recorded: Recorded, policy: Policy) -> Response:
        behave = backend.status(503) if "response_format" in recorded.body else able
        return await behave(recorded, policy)

    server.probing = probing

    async def run() -> None:
        asked = model(server)
        assert not (await asked.probe("forms")).choices
        await asked.aclose()

    asyncio.run(run())
    asked_for = sum("response_format" in probe.body for probe in server.probes)
    assert asked_for == 1 + PROBED_AGAIN
    assert "503" in caplog.text
    assert "response_format" in caplog.text


def test_a_server_that_breaks_at_plain_text_is_said_to(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    async def probing(recorded: Recorded, policy: Policy) -> Response:
        return await (backend.status(503) if "prompt" in recorded.body else able)(recorded, policy)

    server.probing, server.continues = probing, True

    async def run() -> None:
        asked = model(server)
        await asked.complete(Request(HELLO))
        assert not (await asked.probe("completions")).completions
        await asked.aclose()

    asyncio.run(run())
    assert "when asked for a completion of plain text, and is not asked for that again" in caplog.text


def test_a_choice_that_its_budget_cuts_off_breaks_nothing(server: Server) -> None:
    server.probing = able
    server.behave(backend.saying("", finish="length"))

    async def run() -> None:
        asked = model(server)
        assert (await asked.complete(Request(HELLO, choices=["look"]))).held == "cut"
        await asked.aclose()

    asyncio.run(run())


def test_chatting_probes_nothing(server: Server) -> None:
    async def run() -> None:
        asked = model(server)
        await asked.complete(Request(HELLO))
        assert (len(server.probes), len(server.requests)) == (0, 1)
        await asked.aclose()

    asyncio.run(run())


def test_one_that_cannot_be_reached_is_said_to_be_so(server: Server) -> None:
    name = server.model().replace(str(server.port), "1")

    async def run() -> None:
        asked = make_model(name, timeout=5)
        with pytest.raises(ModelError, match="cannot be reached"):
            await asked.capabilities()
        await asked.aclose()

    asyncio.run(run())


def test_a_server_that_keeps_grammars_writes_the_choice_itself(server: Server) -> None:
    async def spelling(recorded: Recorded, policy: Policy) -> Response:
        grammar = recorded.body.get("grammar")
        if grammar is None:
            return await able(recorded, policy)
        first = re.search(r"\"([^\"]+)\"", grammar)
        assert first
        return JSONResponse(backend.completion(first[1], recorded))

    server.probing = server.otherwise = spelling

    async def run() -> None:
        asked = model(server)
        assert (await asked.complete(Request(HELLO, choices=["look,", "go,"]))).text in {"look,", "go,"}
        (sent,) = server.requests
        assert "response_format" not in sent.body
        server.behave(backend.saying("jump,"))
        broken = await asked.complete(Request(HELLO, choices=["look,", "go,"]))
        assert (broken.text, broken.held) == ("jump,", "broken")
        await asked.aclose()

    asyncio.run(run())


def test_a_choice_that_was_not_given_or_that_was_refused_is_told(server: Server) -> None:
    server.probing = able
    server.behave(backend.saying('{"choice": "jump"}'), backend.status(400, {"error": {"message": "too many"}}))
    server.otherwise = backend.saying("I would look.")

    async def run() -> None:
        asked = model(server)
        for text, held in (('{"choice": "jump"}', "broken"), ("I would look.", "refused")):
            completion = await asked.complete(Request(HELLO, choices=["look"]))
            assert (completion.text, completion.held) == (text, held)
        assert "response_format" not in server.requests[-1].body
        await asked.aclose()

    asyncio.run(run())


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
ENTRY = st.fixed_dictionaries({}, optional={"token": JSON, "logprob": JSON, "top_logprobs": JSON | st.lists(JSON)})


@given(st.fixed_dictionaries({"logprobs": st.fixed_dictionaries({"content": st.lists(ENTRY) | JSON}) | JSON}))
def test_whatever_comes_for_log_probabilities_is_read_or_left_out(choice: dict[str, object]) -> None:
    for token in token_choices(choice):
        assert isinstance(token.token, str)
        assert token.logprob == token.logprob


@given(st.text() | JSON.map(json.dumps))
def test_a_choice_is_one_of_those_given_or_none(text: str) -> None:
    assert parse_choice(text, ["a", "b"]) in {None, "a", "b"}


@pytest.mark.parametrize(
    ("text", "pushed"), [("axolotl Axolotl", True), ("oooo", True), ("ready", False), ("", False), ("1", False)]
)
def test_a_reply_that_was_pushed_is_told_from_others(text: str, pushed: bool) -> None:
    assert spells(text, "axolotl") is pushed
