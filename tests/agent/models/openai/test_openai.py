"""The endpoint model over real connections to the local server, well-behaved and otherwise."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.responses import Response

from housequest.agent.models.base import Completion, Message, Model, Request, Usage
from housequest.agent.models.keys import KeyRing
from housequest.agent.models.openai.calls import LONGEST_MESSAGE
from housequest.agent.models.openai.dialect import ways_to_think
from housequest.agent.models.openai.model import OpenAIModel
from housequest.agent.models.openai.server import SLOW_RETRIES
from housequest.agent.models.registry import make_model, portable_name
from housequest.worlds.errors import ConfigurationError, ModelError, Unsupported
from tests.backends import server as backend
from tests.backends.dialects import Dialect, dialects, header_wanted
from tests.backends.server import Behaviour, Policy, Recorded, Server

PROMPT = [Message("system", "You act."), Message("user", "A room. \ud800")]
PRECIOUS = "sk-precious-0123456789-abcdefgh"


def model_of(server: Server, *, keys: KeyRing | None = None, timeout: float = 5.0, retries: int = 6) -> OpenAIModel:
    made = make_model(server.model(), keys=keys or KeyRing(), timeout=timeout, retries=retries, wait=0.001)
    assert isinstance(made, OpenAIModel)
    return made


async def ask(model: Model, **arguments: object) -> Completion:
    try:
        return await model.complete(Request(PROMPT, **arguments))  # type: ignore[arg-type]
    finally:
        await model.aclose()


def complete(server: Server, *, timeout: float = 5.0, retries: int = 6, **arguments: object) -> Completion:
    return asyncio.run(ask(model_of(server, timeout=timeout, retries=retries), **arguments))


def refusal(server: Server, *, timeout: float = 5.0, retries: int = 6) -> str:
    with pytest.raises(ModelError) as caught:
        complete(server, timeout=timeout, retries=retries)
    message = str(caught.value)
    assert server.model() in message
    assert message.isprintable()
    assert len(message) <= LONGEST_MESSAGE
    return message


def test_a_conversation_goes_out_and_a_reply_comes_back(server: Server) -> None:
    server.behave(backend.saying("Thought: a\nAction: look", cached=3))
    completion = complete(server, stop=["\nObservation:"], max_tokens=99, temperature=0.5, seed=7)
    assert completion == Completion("Thought: a\nAction: look", "stop", Usage(5, 4))
    assert (completion.timing.attempts, completion.timing.cached) == (1, 3)
    assert completion.timing.seconds > 0
    assert server.requests[0].body == {
        "model": "tester",
        "messages": [{"role": "system", "content": "You act."}, {"role": "user", "content": "A room. ?"}],
        "max_tokens": 99,
        "temperature": 0.5,
        "stop": ["\nObservation:"],
        "seed": 7,
    }


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("dialect", "learned"),
    [
        ("extra forbidden, bare", ("seed not taken",)),
        ("one temperature", ("temperature not taken: the server's default holds",)),
        ("a positive temperature", ("temperature not taken: the server's default holds",)),
        ("a temperature in Chinese", ("temperature not taken: the server's default holds",)),
        ("what was sent is repeated", ("seed not taken",)),
        ("another name for stop", ("stop texts not taken: replies are cut here",)),
        ("a refusal in text in text", ("temperature not taken: the server's default holds",)),
        ("an unsaid bound", ("replies of at most 256 tokens",)),
        ("no system role, as turns", ("the system message stands in the first message",)),
        ("two roles", ("the system message stands in the first message",)),
        ("the user first", ("the system message stands in the first message",)),
        ("no system role, in Chinese", ("the system message stands in the first message",)),
        ("an error of the system", ()),
        ("an error that repeats what was sent", ()),
    ],
)
def test_nothing_is_learned_but_what_a_reply_shows(dialect: str, learned: tuple[str, ...], server: Server) -> None:
    server.behave(otherwise=dialects()[dialect])

    async def ask_often() -> None:
        model = model_of(server)
        try:
            asked = Request(PROMPT, stop=("x",), seed=3)
            replies = [await model.complete(asked) for _ in range(4)]
            assert [reply.learned for reply in replies] == [learned] * 4
            assert model.learned() == learned
        finally:
            await model.aclose()

    asyncio.run(ask_often())


def test_what_one_call_tries_is_not_what_others_are_asked(server: Server) -> None:
    """One prompt is refused without a word, while others are answered as they are."""

    async def refuses_one(recorded: Recorded, policy: Policy) -> Response:
        await asyncio.sleep(0.01)
        return await (backend.status(400) if "refuse me" in recorded.text else backend.answer)(recorded, policy)

    server.behave(otherwise=refuses_one)

    async def ask_both() -> None:
        model = model_of(server)
        try:
            bad = Request([Message("user", "refuse me")], seed=3)
            outcomes = await asyncio.gather(
                model.complete(bad), *(model.complete(Request(PROMPT, seed=3)) for _ in range(20)), return_exceptions=True
            )
            assert [type(one) for one in outcomes] == [ModelError, *[Completion] * 20]
        finally:
            await model.aclose()

    asyncio.run(ask_both())
    others = [request.body for request in server.requests if "refuse me" not in request.text]
    assert all({"seed", "temperature"} <= body.keys() for body in others)


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 529])
def test_a_busy_server_is_asked_again(server: Server, code: int) -> None:
    server.behave(backend.status(code), backend.status(code, retry_after="1"))
    assert complete(server).timing.attempts == 3
    assert len(server.requests) == 3


def test_dropped_connections_are_made_again(server: Server) -> None:
    server.behave(backend.cut_off, backend.cut_off)
    assert complete(server).timing.attempts == 3


def test_retries_end(server: Server) -> None:
    server.behave(otherwise=backend.status(503))
    message = refusal(server, retries=2)
    assert "answered 503 (no luck (503)), attempt 6 of at most 6" in message
    assert len(server.requests) == 6


def test_a_time_out_and_an_empty_answer_are_tried_again(server: Server) -> None:
    server.behave(backend.slow(30), backend.raw(b""), backend.raw(b" \n"), backend.status(500))
    assert complete(server, timeout=0.5).timing.attempts == 5
    server.behave(otherwise=backend.raw(b""))
    assert "answered with an empty body, attempt 3 of at most 3" in refusal(server, retries=2)


def test_alive_is_what_answers_one_short_question(server: Server) -> None:
    async def asked() -> Completion | None:
        model = model_of(server)
        try:
            return await model.check_alive()
        finally:
            await model.aclose()

    found = asyncio.run(asked())
    assert found is not None
    assert (found.text, len(server.probes), len(server.requests)) == ("ready", 1, 0)
    server.probing = backend.status(503)
    with pytest.raises(ModelError, match="answered 503"):
        asyncio.run(asked())
    assert len(server.probes) == 2, "it is asked once"


@pytest.mark.parametrize("code", [400, 401, 403, 404, 413, 422])
def test_a_refusal_is_not_repeated(server: Server, code: int) -> None:
    server.behave(otherwise=backend.status(code))
    assert f"{code} (no luck ({code}))" in refusal(server)
    assert len(server.requests) == (5 if code in {400, 422} else 1), "a refusal that names nothing may be about anything"


def test_an_unreasonable_wait_and_a_spent_quota_end_it_at_once(server: Server) -> None:
    server.behave(backend.status(429, retry_after="3600"))
    assert "asks to wait 3600 seconds" in refusal(server)
    server.behave(backend.status(429, {"error": {"message": "You have no money", "code": "insufficient_quota"}}))
    assert "Check the account's balance and quota" in refusal(server)
    assert len(server.requests) == 2


def thinking(server: Server, options: str) -> OpenAIModel:
    made = make_model(server.model().replace("tester", f"tester?{options}"), keys=KeyRing(), timeout=5.0, wait=0.001)
    assert isinstance(made, OpenAIModel)
    return made


def test_a_model_that_thinks_is_given_its_effort_and_room_for_its_thoughts(server: Server) -> None:
    model = thinking(server, "thinking=low&max_completion_tokens=4096")
    assert portable_name(model.name) == "openai:tester?thinking=low&max_completion_tokens=4096"
    server.behave(backend.status(400, {"error": {"message": "Unsupported: 'max_tokens'. Use 'max_completion_tokens'."}}))

    async def run() -> None:
        await model.complete(Request(PROMPT, max_tokens=512))
        await model.complete(Request(PROMPT, max_tokens=9_999))
        await model.capabilities()
        await model.aclose()

    asyncio.run(run())
    sent = [request.body for request in (*server.requests, *server.probes)]
    assert {body["reasoning_effort"] for body in sent} == {"low"}
    assert sent[0]["max_tokens"] == sent[1]["max_completion_tokens"] == 4096
    assert sent[2]["max_completion_tokens"] == 9_999
    assert all(body["max_completion_tokens"] in {1, 4096} for body in sent[3:])


@pytest.mark.parametrize("field", [*dict.fromkeys(name for way in ways_to_think("off") for name in way)])
def test_thinking_is_turned_off_by_the_field_that_a_server_heeds(server: Server, field: str) -> None:
    async def obeying(recorded: Recorded, policy: Policy) -> Response:
        thought = {} if field in recorded.body else {"reasoning_content": "Hmm."}
        return await backend.saying("look", **thought)(recorded, policy)

    server.behave(otherwise=obeying)
    model = thinking(server, "thinking=off")

    async def run() -> list[str]:
        said = [(await model.complete(Request(PROMPT))).thinking for _ in range(8)]
        await model.aclose()
        return said

    said = asyncio.run(run())
    assert said == sorted(said, reverse=True), "it is found out once"
    assert not said[-1]
    assert model.learned() == (f"thinking=off by {field}",)


def test_calls_at_once_turn_thinking_off_together(server: Server) -> None:
    replies = itertools.count()

    async def obeying(recorded: Recorded, policy: Policy) -> Response:
        await asyncio.sleep(0.01)
        if recorded.body.get("reasoning_effort") != "none":
            return await backend.saying("look", reasoning_content="Hmm.")(recorded, policy)
        return await backend.saying("look" if next(replies) % 5 else "")(recorded, policy)

    server.behave(otherwise=obeying)
    model = thinking(server, "thinking=off")

    async def run() -> None:
        for _ in range(6):
            await asyncio.gather(*(model.complete(Request(PROMPT)) for _ in range(8)))
        await model.aclose()

    asyncio.run(run())
    assert model.learned() == ("thinking=off by reasoning_effort",)
    assert all(request.body.get("reasoning_effort") == "none" for request in server.requests[-16:])


def test_stop_texts_that_cut_off_thinking_are_cut_here(server: Server) -> None:
    """Once a server has told its reply from its thinking, thinking alone is no reply."""
    thought = "I could look.\nObservation: no. So I go on."

    async def thinks(recorded: Recorded, policy: Policy) -> Response:
        if len(server.requests) % 3 == 0 and "stop" in recorded.body:
            return await backend.saying("", reasoning_content=thought.split("\nObservation:", maxsplit=1)[0])(recorded, policy)
        return await backend.saying("Action: go", reasoning_content=thought)(recorded, policy)

    server.behave(otherwise=thinks)
    model = model_of(server)

    async def run() -> list[str]:
        said = [(await model.complete(Request(PROMPT, stop=("\nObservation:",)))).text for _ in range(6)]
        await model.aclose()
        return said

    assert asyncio.run(run()) == ["Action: go"] * 6
    assert model.learned() == ("stop texts not taken: replies are cut here",)


def test_who_thinks_all_the_same_says_so(server: Server) -> None:
    server.behave(otherwise=backend.saying("look", reasoning="Hmm."))
    model = thinking(server, "thinking=off")

    async def run() -> None:
        for _ in range(8):
            await model.complete(Request(PROMPT))
        await model.aclose()

    asyncio.run(run())
    assert model.learned() == ("thinking=off is not heeded",)


def test_a_reply_that_is_nothing_but_thinking_ends_the_run_after_a_few(server: Server) -> None:
    server.behave(otherwise=backend.saying(None, finish="length", reasoning_content="Hmm. " * 900))
    model = thinking(server, "max_completion_tokens=600")

    async def run() -> list[ModelError]:
        found: list[ModelError] = []
        for _ in range(3):
            with pytest.raises(
                ModelError, match=r"all 600 tokens of its reply on thinking\. .*max_completion_tokens"
            ) as raised:
                await model.complete(Request(PROMPT))
            found.append(raised.value)
        await model.aclose()
        return found

    assert [error.fatal for error in asyncio.run(run())] == [False, False, True]
    assert len(server.requests) == 3, "who names the limit has it"


def test_a_limit_that_went_into_thinking_is_raised_once_for_all(server: Server) -> None:
    async def pondering(recorded: Recorded, policy: Policy) -> Response:
        enough = recorded.body["max_tokens"] > 700
        said = backend.saying("look") if enough else backend.saying(None, finish="length", reasoning="Hmm. " * 600)
        return await said(recorded, policy)

    server.behave(otherwise=pondering)
    model = model_of(server)

    async def run() -> list[Completion]:
        found = await asyncio.gather(*(model.complete(Request(PROMPT)) for _ in range(5)))
        await model.aclose()
        return found

    found = asyncio.run(run())
    assert [one.text for one in found] == ["look"] * 5
    assert model.learned() == ("8,192 tokens more for thinking",)
    assert len(server.requests) <= 10


def test_an_effort_that_is_refused_is_not_left_out_in_silence(server: Server) -> None:
    told = {"error": {"message": "Unsupported parameter: 'reasoning_effort'", "param": "reasoning_effort"}}
    server.behave(otherwise=backend.status(400, told))
    with pytest.raises(ModelError, match=r"without \?thinking, or with another value"):
        asyncio.run(ask(thinking(server, "thinking=low")))
    assert all(request.body.keys() & {"reasoning_effort", "reasoning", "think"} for request in server.requests)


def test_a_server_that_is_not_there_is_named_at_once() -> None:
    model = make_model("openai:x@http://127.0.0.1:1/v1", keys=KeyRing())
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:1/v1 cannot be reached"):
        asyncio.run(ask(model))


@pytest.mark.parametrize(
    "behaviour",
    [backend.slow(30), backend.endless(b" ", 0.02)],
    ids=["slow", "dribbling"],
)
def test_the_time_limit_holds_for_the_whole_call(server: Server, behaviour: Behaviour) -> None:
    server.behave(otherwise=behaviour)
    assert "did not answer within 0.2 seconds, attempt 3 of at most 3" in refusal(server, timeout=0.2)
    assert len(server.requests) <= 1 + SLOW_RETRIES, "on a busy machine it may run out before it arrives"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("behaviour", "complaint"),
    [
        (backend.half_json, "that are not JSON"),
        (backend.raw(b"<html>Welcome</html>", content_type="text/html"), "20 bytes of text/html that are not JSON"),
        (backend.raw(b"{}"), "without a reply (no choices)"),
        (backend.raw(b'{"choices": []}'), "without a reply (no choices)"),
        (backend.raw(b'{"error": {"message": "upstream\\n\\u202eis down"}}'), "without a reply (upstream is down)"),
        (backend.endless(b" " * 4_096), "more than 1 MiB"),
        (backend.raw(b"x" * (2 << 20)), "more than 1 MiB"),
        (backend.raw(b"x" * (2 << 20), code=500), "more than 1 MiB"),
        (backend.raw(b"\x1f\x8b" + b"x" * 50, content_encoding="gzip"), "compressed"),
        (backend.raw(gzip.compress(bytes(2 << 20)), content_encoding="gzip"), "more than 1 MiB"),
        (backend.raw(b"{}", content_encoding="br"), "a compressed body (br)"),
        (backend.raw(bytes(range(256)), content_type="image/png"), "256 bytes of image/png"),
        (backend.status(500, {"error": "x" * 50_000}), "answered 500"),
    ],
    ids=itertools.count(),
)
def test_a_broken_answer_says_what_is_wrong(server: Server, behaviour: Behaviour, complaint: str) -> None:
    server.behave(otherwise=behaviour)
    assert complaint in refusal(server, retries=0)


@pytest.mark.parametrize(
    "text", ["", "\x00\x1b[2J\x07", "\u202etxet", "\ud800", "x" * 500_000, "🙂" * 100], ids=itertools.count()
)
def test_rubbish_is_a_reply(server: Server, text: str) -> None:
    server.behave(backend.raw(json.dumps({"choices": [{"message": {"content": text}}]}).encode()))
    assert complete(server).text == text.replace("\ud800", "?")


def test_a_length_a_refusal_and_a_wrong_content_type_are_replies(server: Server) -> None:
    server.behave(backend.saying("Action: lo", finish="length"), backend.saying(None, refusal="I will not."))
    assert complete(server).finish == "length"
    assert complete(server) == Completion("I will not.", "refusal", Usage(5))
    server.behave(backend.raw(b'{"choices": [{"message": {"content": "a"}}]}', content_type="text/plain"))
    assert complete(server).text == "a"


def test_a_parameter_that_the_model_does_not_take_is_left_out_from_then_on(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.behave(
        backend.status(400, {"error": {"message": "no", "param": "temperature", "code": "unsupported_value"}}),
        backend.status(400, {"error": {"message": "Unsupported: 'max_tokens'. Use 'max_completion_tokens'."}}),
    )
    model = model_of(server)

    async def twice() -> tuple[Completion, Completion]:
        try:
            return await model.complete(Request(PROMPT)), await model.complete(Request(PROMPT))
        finally:
            await model.aclose()

    with caplog.at_level(logging.WARNING):
        first, second = asyncio.run(twice())
    assert (first.timing.attempts, second.timing.attempts) == (3, 1)
    assert set(server.requests[-1].body) == {"model", "messages", "max_completion_tokens"}
    assert "temperature not taken" in caplog.text


@pytest.mark.heavy
def test_hundreds_of_calls_run_at_once(server: Server) -> None:
    server.behave(otherwise=backend.together(300))
    model = model_of(server, timeout=30)

    async def together() -> list[Completion]:
        try:
            return await asyncio.gather(*[model.complete(Request(PROMPT)) for _ in range(300)])
        finally:
            await model.aclose()

    assert [completion.text for completion in asyncio.run(together())] == ["Action: look"] * 300


def test_a_cancelled_call_ends_and_the_model_goes_on(server: Server) -> None:
    server.behave(backend.slow(30))
    model = model_of(server)

    async def cancelled() -> Completion:
        task = asyncio.create_task(model.complete(Request(PROMPT)))
        while not server.requests:  # noqa: ASYNC110 - the server's thread has no loop of ours to signal
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await ask(model)

    assert asyncio.run(cancelled()).text == "Action: look"


def test_a_model_outlives_an_event_loop(server: Server) -> None:
    model = model_of(server)
    for _ in range(2):
        assert asyncio.run(model.complete(Request(PROMPT))).text == "Action: look"
    asyncio.run(ask(model))


def test_what_was_tried_in_vain_is_not_offered(server: Server) -> None:
    model = model_of(server)
    for arguments in ({"top_logprobs": 1}, {"choices": ["a"]}, {"schema": {}}, {"grammar": "a"}, {"bias": {1: 1.0}}):
        with pytest.raises(Unsupported, match=model.name):
            asyncio.run(ask(model, **arguments))
    with pytest.raises(Unsupported, match="score"):
        asyncio.run(model.score(PROMPT, ["a"]))
    assert (len(server.probes), len(server.requests)) == (6, 0)


@pytest.fixture
def precious(server: Server, monkeypatch: pytest.MonkeyPatch) -> KeyRing:
    """A key ring in which a precious key belongs to the server."""
    monkeypatch.setenv("PRECIOUS_KEY", PRECIOUS)
    return KeyRing({f"127.0.0.1:{server.port}": {"key_env": "PRECIOUS_KEY"}})


def test_nothing_comes_from_the_environment_by_itself(
    server: Server, own_file: Path, precious: KeyRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET"):
        monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/canary")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer canary\nX-Api-Key: canary\nCookie: canary")
    asyncio.run(ask(make_model(server.model())))
    asyncio.run(ask(make_model(server.model(), keys=precious)))
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer unused", f"Bearer {PRECIOUS}"]
    assert "canary" not in str(server.requests)


def test_an_endpoint_gets_the_headers_and_parameters_that_its_table_names(
    server: Server, own_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_KEY", PRECIOUS)
    table = f'[endpoints."127.0.0.1:{server.port}"]\nheaders = {{ Api-Key = "TEAM_KEY" }}\nextra_body = {{ top_k = 20 }}\n'
    own_file.write_text(table)
    server.behave(otherwise=replace(Dialect("a gateway"), refuse=header_wanted("api-key", PRECIOUS)))
    name = server.model("tester?extra.top_k=1&extra.chat_template_kwargs.enable_thinking=false")
    asyncio.run(ask(make_model(server.model())))
    asyncio.run(ask(make_model(name)))
    plain, named = (request.body for request in server.requests)
    assert (plain["top_k"], named["top_k"], named["chat_template_kwargs"]) == (20, 1, {"enable_thinking": False})
    assert "authorization" not in server.requests[0].headers
    assert portable_name(server.model()) == "openai:tester?extra.top_k=20"
    assert "top_k=20" not in portable_name(name)
    assert PRECIOUS not in portable_name(name)
    with pytest.raises(ModelError) as raised:
        server.behave(backend.status(401, {"message": f"no access with {PRECIOUS}"}))
        asyncio.run(ask(make_model(server.model())))
    assert "no access with [key]). Check the key in TEAM_KEY." in str(raised.value)
    monkeypatch.delenv("TEAM_KEY")
    with pytest.raises(ConfigurationError, match="set TEAM_KEY"):
        make_model(server.model())


@pytest.mark.parametrize(
    "said",
    [
        *(
            "extra.model=1",
            "extra.messages=[]",
            "extra.=1",
            "extra..a=1",
            "extra.temperature=0.9",
            "extra.seed=1",
            "extra.stop=x",
        ),
        *("extra.max_tokens=9", "extra.max_completion_tokens=9", "extra..api_key=precious", "extra.api_key=precious"),
        *("extra.api_key=123", 'extra.a={"client_secret": "precious"}', "extra.user.env=HOME", 'extra.user={"env": "HOME"}'),
    ],
)
def test_what_every_request_says_is_not_said_again_and_no_secret_is_in_a_name(said: str) -> None:
    with pytest.raises(ConfigurationError, match="model's name") as raised:
        make_model(f"openai:x?{said}@http://127.0.0.1:1/v1")
    assert "precious" not in str(raised.value)


def test_a_key_may_go_into_the_body(server: Server, own_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BODY_KEY", PRECIOUS)
    table = 'extra_body = { top_k = 2, metadata = { keys = [{ api_key = { env = "BODY_KEY" } }] } }'
    own_file.write_text(f'[endpoints."127.0.0.1:{server.port}"]\n{table}\n')

    def wants_a_key(recorded: Recorded) -> Response | None:
        given = recorded.body.get("metadata") == {"keys": [{"api_key": PRECIOUS}]}
        told = {"error": {"message": f"No access: {recorded.body.get('metadata')}"}}
        return None if given else backend.JSONResponse(told, 401)

    server.behave(otherwise=replace(Dialect("a proxy"), refuse=wants_a_key))
    model = make_model(server.model("tester?extra.top_k=1"))
    asyncio.run(ask(model))
    assert (
        portable_name(model.name) == 'openai:tester?extra.metadata={"keys": [{"api_key": {"env": "BODY_KEY"}}]}&extra.top_k=1'
    )
    server.behave(otherwise=backend.status(401, {"message": f"no access with {PRECIOUS}"}))
    with pytest.raises(ModelError, match=r"no access with \[key\]\)\. Check the key in BODY_KEY\."):
        asyncio.run(ask(model))


@pytest.mark.parametrize("scheme", ["Bearer", "Basic"])
def test_a_header_of_the_users_own_takes_the_place_of_the_key(
    scheme: str, server: Server, own_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_KEY", f"{scheme} {PRECIOUS}")
    own_file.write_text(f'[endpoints."127.0.0.1:{server.port}"]\nheaders = {{ Authorization = "TEAM_KEY" }}\n')
    server.behave(otherwise=replace(Dialect("a gateway"), refuse=header_wanted("authorization", f"{scheme} {PRECIOUS}")))
    asyncio.run(ask(make_model(server.model())))
    server.behave(backend.status(403, {"message": f"{PRECIOUS} may not"}))
    with pytest.raises(ModelError, match=r"\[key\] may not"):
        asyncio.run(ask(make_model(server.model())))


def test_what_is_meant_for_this_machine_goes_through_no_proxy(
    server: Server, precious: KeyRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    with backend.serve() as proxy:
        for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        asyncio.run(ask(model_of(server, keys=precious)))
        assert len(server.requests) == 1
        assert not proxy.requests


@pytest.mark.heavy
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_key_is_not_carried_elsewhere(server: Server, precious: KeyRing, code: int) -> None:
    with backend.serve() as elsewhere:
        server.behave(backend.status(code, location=f"{elsewhere.url}/chat/completions"))
        with pytest.raises(ModelError, match=f"redirects to http://127.0.0.1:{elsewhere.port}"):
            asyncio.run(ask(model_of(server, keys=precious)))
        assert not elsewhere.requests


def echo(code: int, shape: Callable[[str], object]) -> Behaviour:
    """Says back the key that was sent."""

    async def behave(recorded: backend.Recorded, policy: backend.Policy) -> backend.Response:
        return await backend.status(code, shape(recorded.headers["authorization"]))(recorded, policy)

    return behave


@pytest.mark.heavy
@pytest.mark.parametrize("code", [400, 401, 404, 429, 500])
@pytest.mark.parametrize(
    "shape",
    [
        lambda sent: {"error": {"message": f"Incorrect key: {sent}"}},
        lambda sent: {"error": f"{'x' * 300} {sent}"},
        lambda sent: [sent],
    ],
)
def test_an_error_never_holds_the_key(
    server: Server, precious: KeyRing, code: int, shape: Callable[[str], object], caplog: pytest.LogCaptureFixture
) -> None:
    server.behave(otherwise=echo(code, shape))
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelError) as caught:
        asyncio.run(ask(model_of(server, keys=precious, retries=1)))
    assert PRECIOUS in server.requests[0].headers["authorization"]
    assert PRECIOUS[:20] not in str(caught.value)
    assert PRECIOUS not in caplog.text


def test_a_reply_never_holds_the_key(server: Server, precious: KeyRing) -> None:
    server.behave(echo(200, lambda sent: {"choices": [{"message": {"content": f"Action: say {sent}"}}]}))
    assert asyncio.run(ask(model_of(server, keys=precious))).text == "Action: say Bearer [key]"


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
HEADERS = st.tuples(
    st.sampled_from(
        (b"content-length", b"transfer-encoding", b"location", b"set-cookie", b"content-type", b"content-encoding")
    ),
    st.binary(max_size=12) | st.sampled_from((b"5", b"chunked", b"http://[", b"a=b; domain=", b"utf-16;charset=x", b"gzip")),
)
ANSWERS = (
    st.binary(max_size=200)
    | st.binary(max_size=100).map(lambda tail: HEAD + b"content-length: 50\r\n\r\n" + tail)
    | st.binary(max_size=100).map(lambda tail: HEAD + b"transfer-encoding: chunked\r\n\r\n" + tail)
    | st.tuples(st.integers(100, 999), st.lists(HEADERS, max_size=3), st.binary(max_size=40)).map(
        lambda parts: b"HTTP/1.1 %d X\r\n" % parts[0] + b"".join(b"%s: %s\r\n" % pair for pair in parts[1]) + b"\r\n" + parts[2]
    )
)


@pytest.mark.heavy
@settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ANSWERS, min_size=1, max_size=2))
def test_any_bytes_end_as_a_completion_or_a_model_error(answers: list[bytes]) -> None:
    with backend.serve_bytes(answers) as url:
        model = make_model(f"openai:x@{url}", keys=KeyRing(), timeout=2, retries=1, wait=0)
        try:
            assert isinstance(asyncio.run(ask(model)), Completion)
        except ModelError as error:
            assert str(error).isprintable()
            assert len(str(error)) <= LONGEST_MESSAGE
