"""Whatever a server refuses, in whatever shape, it is asked as it wants to be; so the game is that through a polite one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.episodes.events import Stepped
from housequest.agent.models.base import Message, Request
from housequest.agent.models.keys import PLACEHOLDER
from housequest.agent.models.openai.dialect import Dialect, Refusal, read_refusal
from housequest.agent.models.openai.protocol import LIMITS, STREAMED
from housequest.agent.models.openai.redaction import Redactor
from housequest.worlds.registry import make_world
from housequest.worlds.validation import read_json
from tests.agent.playing import Played, installed, play
from tests.backends.dialects import dialects
from tests.backends.policy import Solver
from tests.backends.server import Server

PLAIN = Redactor(PLACEHOLDER)
ASKED = Request((Message("system", "Be brief."), Message("user", "What now?")), stop=("x",), max_tokens=512, seed=3)
SENT = ("max_tokens", "temperature", "stop", "seed", "stream", "stream_options")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("error", "detail", "message", "msg", "errors", "details", "body", "data", "reason")


def sent(dialect: Dialect) -> dict[str, Any]:
    return dialect.body("m", ASKED, STREAMED)


def refused(body: object) -> Refusal:
    return read_refusal(json.dumps(body).encode(), PLAIN)


def ways(dialect: Dialect, said: object, request: Request = ASKED, more: Mapping[str, Any] = STREAMED) -> list[Dialect]:
    """How else it asks after a server said that."""
    before = dialect.body("m", request, more)
    refusal = said if isinstance(said, Refusal) else refused(said)
    every = dialect.otherwise(before, refusal, surely=False, doubtful=False)
    return [one for one in every if one.body("m", request, more) != before]


def after(dialect: Dialect, *said: object, request: Request = ASKED) -> Dialect:
    """How it asks first after a server said each of these."""
    for each in said:
        dialect = ways(dialect, each, request)[0]
    return dialect


def wordings(name: str) -> st.SearchStrategy[object]:
    """What a server may say of a parameter: in a sentence, apart, or as the place of what is wrong."""
    sentences = (f"Unsupported parameter: '{name}'", f"`{name}` is not supported", f'Unknown name "{name}": cannot find field')
    texts = st.sampled_from((*sentences, f"invalid {name}: not allowed here", f"UnsupportedParams: ['{name}'], for model=m"))
    apart = st.fixed_dictionaries({"message": st.just("Extra inputs are not permitted"), "param": st.just(name)})
    place = st.fixed_dictionaries({"msg": st.just("Extra inputs are not permitted"), "loc": st.just(["body", name])})
    return texts | apart | place


def within(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """That, somewhere in tables and lists, or as text."""
    table = st.tuples(st.sampled_from(KEYS), inner, st.dictionaries(st.text("qvwxyz", max_size=6), JSON, max_size=2))
    tables = table.map(lambda parts: {**parts[2], parts[0]: parts[1]})
    return tables | inner.map(lambda one: [one]) | inner.map(lambda one: {"message": json.dumps(one)})


@given(st.data(), st.sampled_from(SENT))
def test_a_refusal_in_any_shape_that_names_a_parameter_is_met(data: st.DataObject, name: str) -> None:
    said = wordings(name)
    for _ in range(data.draw(st.integers(0, 3))):
        said = within(said)
    drawn = data.draw(said)
    dialect = next(one for one in ways(Dialect(), drawn) if name not in sent(one))
    assert len(sent(dialect).keys() & {*LIMITS}) == 1
    assert dialect.told() or name == "stream_options"


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_error_body_is_read(body: bytes) -> None:
    refusal = read_refusal(body, PLAIN)
    assert all(isinstance(word, str) for word in (refusal.message, refusal.words, refusal.code, *refusal.apart))
    assert all({"model", "messages"} <= sent(one).keys() for one in ways(Dialect(), refusal))


def test_what_a_server_says_is_told_to_people() -> None:
    assert refused([{"error": {"code": 400, "message": "Unknown name", "status": "INVALID"}}]).message == "Unknown name"
    detail = [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]
    assert refused({"detail": detail}).message == "Extra inputs are not permitted (seed)"
    assert refused({"statusCode": 401, "title": "Denied"}).message == "Denied"
    assert refused("no").message == "no"
    assert read_refusal(b"<h1>no</h1>", PLAIN).message == "<h1>no</h1>"


def test_a_dialect_begins_with_what_the_host_is_known_for() -> None:
    assert sent(Dialect(limit=LIMITS[1])).keys() - STREAMED.keys() == {
        *("model", "messages", "max_completion_tokens", "temperature", "stop", "seed")
    }
    assert Dialect().body("m", Request(()), {}).keys() == {"model", "messages", "max_tokens", "temperature"}


def test_one_name_of_the_limit_gives_way_to_the_other_and_never_back() -> None:
    dialect = after(Dialect(), {"error": "'max_tokens' is not supported. Use 'max_completion_tokens' instead."})
    assert sent(dialect)["max_completion_tokens"] == 512
    dialect = after(dialect, {"error": "Unknown parameter: 'max_completion_tokens'"})
    assert not sent(dialect).keys() & {*LIMITS}
    assert "no limit of a reply's tokens is taken" in dialect.told()


@pytest.mark.parametrize(
    ("said", "asked", "limit"),
    [
        ("max_tokens is too large: 512. This model supports at most 100 completion tokens; you gave 512.", 512, 100),
        ("max_tokens must be between 1 and 256", 512, 256),
        ("Invalid 'max_tokens': integer below minimum value. Expected a value >= 16, but got 1 instead.", 1, 16),
        ("max_tokens=8704 cannot be greater than max_model_len=4096. Please request fewer output tokens.", 8_704, 4_096),
        ("Range of max_tokens should be [16, 8192]", 9_000, 8_192),
        ("'max_tokens' cannot exceed 256 on the free tier (quota resets in 300 s)", 512, 256),
    ],
)
def test_a_limit_of_the_limit_is_kept(said: str, asked: int, limit: int) -> None:
    request = replace(ASKED, max_tokens=asked)
    first = ways(Dialect(), {"error": {"message": said, "param": "max_tokens", "code": 400}}, request, {})[0]
    assert first.body("m", request, {})["max_tokens"] == limit


@pytest.mark.parametrize(
    "said",
    [
        "max_tokens is too large for claude-3-haiku",
        "Error code: 400 - {'error': {'message': 'max_tokens is too large for this model.'}}. Model Group=claude-3-haiku",
        "max_tokens too large, HTTP 400. Your request must be less than 4 MB.",
    ],
)
def test_numbers_of_something_else_are_no_limit(said: str) -> None:
    found = [sent(one) for one in ways(Dialect(), {"error": {"message": said, "code": 400}})]
    assert {body.get("max_tokens", 512) for body in found} <= {512, 256}


@pytest.mark.parametrize("said", [{}, {"message": "Bad Request"}, {"error": "the model is not available", "param": "model"}])
def test_a_refusal_that_names_nothing_changes_nothing(said: object) -> None:
    assert not ways(Dialect(), said)


@pytest.mark.parametrize(
    "said",
    [
        "System role not supported",
        "Developer instruction is not enabled for models/m",
        "Only user and assistant roles are supported! role: system",
        {"detail": [{"loc": ["messages", 0, "role"], "msg": "Input should be 'user' or 'assistant'", "input": "system"}]},
    ],
)
def test_a_system_message_is_folded_where_it_is_refused(said: object) -> None:
    assert sent(after(Dialect(), said))["messages"] == [{"role": "user", "content": "Be brief.\n\nWhat now?"}]


def test_a_prompt_that_grows_while_its_tokens_stand_still_was_cut() -> None:
    dialect = Dialect()
    for characters, tokens in ((4_000, 1_000), (9_000, 2_100), (17_000, 4_096), (9_000, 2_100), (30_000, 4_090), (10, None)):
        dialect = dialect.reading(characters, tokens)
        assert not dialect.cuts
    dialect = dialect.reading(36_000, 4_096)
    assert dialect.told() == ("the beginning of prompts of more than about 4,096 tokens is dropped",)


def test_what_was_learned_is_known_again() -> None:
    said = ("unknown: 'seed'", "System role not supported", "Missing `reasoning_content` in assistant message")
    replied = (*ASKED.messages, Message("assistant", "Look."), Message("user", "And now?"))
    dialect = after(Dialect(), *said, request=replace(ASKED, messages=replied))
    other = read_json(Dialect, json.dumps(asdict(dialect), default=sorted).encode())
    assert sent(other) == sent(dialect)
    assert len(other.told()) == 3


DIALECTS = tuple(dialects())


def commands(played: Played) -> list[str]:
    return [event.body.command for event in played.events if isinstance(event.body, Stepped)]


@pytest.fixture(scope="module")
def polite(running_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Played]:
    """The game of each agent through a polite server, which is the same in every test."""

    @cache
    def played(agent: str) -> Played:
        running_server.reset()
        running_server.policy = Solver()
        world = make_world("alfworld")
        found = play(running_server, world, world.task("example:1"), agent, tmp_path_factory.mktemp("polite") / "e.jsonl")
        running_server.reset()
        return found

    return played


def through(server: Server, name: str, polite: Played, agent: str, record: Path, *, attended: bool) -> Played:
    """The game through a server that speaks the dialect."""
    systems = frozenset(one.messages[0]["content"] for one in polite.requests if one.messages[0]["role"] == "system")
    server.policy = Solver()
    server.otherwise = odd = replace(dialects()[name], knows=systems)
    world = make_world("alfworld")
    return play(server, world, world.task("example:1"), agent, record, attended=attended, probing=odd)


@pytest.mark.parametrize("attended", [False, pytest.param(True, marks=pytest.mark.heavy)], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", DIALECTS)
def test_react_plays_the_same_game_through_each(
    name: str, attended: bool, server: Server, polite: Callable[[str], Played], tmp_path: Path
) -> None:
    odd = through(server, name, polite("react"), "react", tmp_path / "e.jsonl", attended=attended)
    assert commands(odd) == commands(polite("react"))
    assert odd.ended.outcome == "won"


@pytest.mark.heavy
@pytest.mark.parametrize("attended", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "agent",
    [
        pytest.param(agent, marks=[pytest.mark.slow] * (agent != "reasoner-actor"))
        for agent in installed("reasoner-actor", "opex", "lota")
    ],
)
@pytest.mark.parametrize("name", DIALECTS)
def test_every_agent_plays_the_same_game_through_each(
    name: str, agent: str, attended: bool, server: Server, polite: Callable[[str], Played], tmp_path: Path
) -> None:
    odd = through(server, name, polite(agent), agent, tmp_path / "e.jsonl", attended=attended)
    assert commands(odd) == commands(polite(agent))
    assert odd.ended.outcome == "won"
