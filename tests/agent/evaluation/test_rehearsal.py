"""What a rehearsal says of a model is what play does with it: through polite servers, odd ones, and those that fail."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from starlette.responses import JSONResponse, Response

from housequest.agent.config import Settings, world_of
from housequest.agent.evaluation.rehearsal import Rehearsal, rehearse
from housequest.agent.models.base import Learning, Message, Request, ability
from housequest.agent.models.registry import make_model
from housequest.agent.setup import set_up
from housequest.worlds.paths import config_folder
from tests.backends.dialects import Dialect, dialects, no_temperature
from tests.backends.policy import Solver
from tests.backends.server import Behaviour, Messages, Policy, Recorded, Server, answer, raw, saying, status


def talking(policy: Callable[[Messages], str]) -> Callable[[Messages], str]:
    """A policy that also finds a password in a prompt, and says something to whatever else it is asked."""

    def say(messages: Messages) -> str:
        text = messages[-1]["content"]
        if "What is the password?" in text:
            return "axolotl" if "password is axolotl" in text else "I do not know."
        return policy(messages) if messages[0]["role"] == "system" or "Task:" in text else "hello there"

    return say


def rehearsed(server: Server, agent: str = "react", behaviour: Behaviour | None = None, **settings: object) -> Rehearsal:
    server.policy = talking(Solver())
    if behaviour is not None:
        server.otherwise = server.probing = behaviour
    given = Settings.model_validate({"model": server.model(), "agent": agent, "timeout": 20.0, **settings})
    setup = set_up(given, world_of(given))
    return asyncio.run(rehearse(setup, setup.world.task("example:1")))


@pytest.fixture(scope="module")
def systems(running_server: Server) -> frozenset[str]:
    """The system messages of the agent, as a polite server gets them."""
    running_server.reset()
    rehearsed(running_server)
    return frozenset(one.messages[0]["content"] for one in running_server.requests if one.messages[0]["role"] == "system")


@pytest.mark.heavy
def test_a_polite_server_is_found_fit(server: Server) -> None:
    seen = rehearsed(server)
    assert (seen.faults, seen.learned, seen.alike) == ((), (), True)
    assert [(each.attended, len(each.calls), each.unreadable) for each in seen.passes] == [(False, 2, ()), (True, 2, ())]
    assert seen.context == "keeps at least 16,000 tokens of a prompt"
    assert "2 calls" in seen.passes[0].words


@pytest.mark.heavy
@pytest.mark.parametrize("name", dialects())
def test_what_plays_is_found_fit_whatever_its_dialect(name: str, systems: frozenset[str], server: Server) -> None:
    seen = rehearsed(server, behaviour=replace(dialects()[name], knows=systems))
    assert seen.faults == ()
    assert all(not each.unreadable for each in seen.passes)


@pytest.mark.heavy
def test_what_was_learned_is_known_to_the_next_model_of_that_name(server: Server) -> None:
    odd = dialects()["the limit has another name"]
    assert rehearsed(server, behaviour=odd).learned
    odd.asked.clear()
    asyncio.run(make_model(server.model()).complete(Request([Message("user", "What is the password?")])))
    assert [body.keys() & {"max_tokens", "temperature"} for body in odd.asked] == [set()]


def learned(server: Server) -> tuple[str, ...]:
    found = ability(make_model(server.model()), Learning)
    assert found is not None
    return found.learned()


@pytest.mark.heavy
def test_a_second_check_forgets_what_the_first_learned(server: Server) -> None:
    assert rehearsed(server, behaviour=Dialect("changes", refuse=no_temperature)).learned
    seen = rehearsed(server, behaviour=Dialect("changes"))
    assert seen.learned == learned(server) == ()


def test_what_was_learned_is_of_one_body_alone(server: Server) -> None:
    folder = config_folder()
    folder.mkdir(parents=True)
    assert rehearsed(server, behaviour=Dialect("refuses", refuse=no_temperature)).learned
    table = f'[endpoints."127.0.0.1:{server.port}"]\nextra_body = {{ top_k = 2 }}\n'
    (folder / "housequest.toml").write_text(table)
    assert learned(server) == ()


def test_a_prompt_that_is_cut_in_silence_is_a_fault(server: Server) -> None:
    seen = rehearsed(server, behaviour=Dialect("cuts", context=3_000))
    assert "cuts longer ones in silence" in seen.context
    assert any("Long episodes lose their beginning" in fault for fault in seen.faults)


Count = Callable[[str], int | None]
UNCOUNTED: tuple[Count, ...] = (lambda text: None, lambda text: 0)


def standing(text: str) -> int:
    """No more than is read."""
    return min(1_500, len(text.split()))


def shrinking(text: str) -> int:
    """What no cache served, perhaps."""
    return 9_000 - len(text) // 9


def counting(count: Count, most: int = 10**6) -> Behaviour:
    """Reads the last ``most`` words of a long prompt, and counts by ``count``; 0 and None are no counts."""

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        def read(messages: Messages) -> str:
            words = messages[0]["content"].split()
            return policy([{"role": "user", "content": " ".join(words[-most:])}] if len(words) > most else messages)

        told = json.loads(bytes((await answer(recorded, read)).body))
        tokens = count(" ".join(message["content"] for message in recorded.messages))
        told["usage"] = (
            None if tokens is None else {"prompt_tokens": tokens, "completion_tokens": 9, "total_tokens": tokens + 9}
        )
        return JSONResponse(told)

    return behave


@pytest.mark.heavy
def test_a_word_that_is_found_was_kept_whatever_is_counted(server: Server) -> None:
    for count in (*UNCOUNTED, standing, shrinking):
        seen = rehearsed(server, behaviour=counting(count))
        assert (seen.context, seen.faults) == ("keeps at least 16,000 tokens of a prompt", ())


def test_a_word_that_is_lost_while_the_count_stands_still_was_cut(server: Server) -> None:
    seen = rehearsed(server, behaviour=counting(standing, 1_500))
    assert seen.context == "keeps about 2,000 tokens of a prompt, and cuts longer ones in silence"
    assert len(seen.faults) == 1


@pytest.mark.parametrize("count", UNCOUNTED)
def test_a_word_that_is_lost_uncounted_may_have_been_cut(count: Count, server: Server) -> None:
    seen = rehearsed(server, behaviour=counting(count, 1_500))
    assert seen.context.startswith("keeps about 2,000 tokens of a prompt; of a longer one it did not find the beginning")
    assert seen.faults == ()


def test_a_word_that_is_lost_though_it_was_counted_is_told_and_no_fault(server: Server) -> None:
    seen = rehearsed(server, behaviour=counting(lambda text: len(text.split()), 1_500))
    assert re.fullmatch(r"counts 2,\d\d\d tokens of a prompt and does not find a word at its beginning", seen.context)
    assert seen.faults == ()


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("The maximum context length is small.", "refuses longer ones"),
        ("Not today.", "a prompt of some {} tokens was refused: "),
    ],
)
@pytest.mark.parametrize(
    ("most", "last", "size", "faults"), [(600, "0", "1,000", 1), (900, "1,000", "2,000", 1), (1_500, "2,000", "4,000", 0)]
)
def test_a_long_prompt_that_is_refused(
    message: str, told: str, most: int, last: str, size: str, faults: int, server: Server
) -> None:
    def refuse(recorded: Recorded) -> Response | None:
        asks = "What is the password?" in recorded.text and len(recorded.text.split()) > most
        return JSONResponse({"error": {"message": message}}, 400) if asks else None

    seen = rehearsed(server, behaviour=Dialect("refuses", refuse=refuse))
    assert seen.context.startswith(f"keeps about {last} tokens of a prompt, and {told.format(size)}")
    assert (message in seen.context) == (message == "Not today.")
    assert len(seen.faults) == faults
    assert all(fault.startswith("Episodes would end after some turns: start the server with a larg") for fault in seen.faults)


def test_tokens_that_are_not_counted_are_not_told(server: Server) -> None:
    for count in UNCOUNTED:
        seen = rehearsed(server, behaviour=counting(count))
        assert all(each.words.startswith("2 calls, tokens not counted, ") for each in seen.passes)


def test_a_server_that_only_streams_is_tried_in_pieces(server: Server) -> None:
    def streams_games(recorded: Recorded) -> Response | None:
        plays = recorded.messages[0]["role"] == "system"
        return Response("<html>", media_type="text/html") if plays and not recorded.body.get("stream") else None

    seen = rehearsed(server, behaviour=Dialect("streams games", refuse=streams_games))
    whole, pieces = seen.passes
    assert not whole.calls
    assert (len(pieces.calls), pieces.fault) == (2, "")
    assert seen.context == "keeps at least 16,000 tokens of a prompt"
    assert len(seen.faults) == 1
    assert seen.faults[0].startswith("whole: ")
    assert "not JSON" in seen.faults[0]


def test_replies_that_cannot_be_read_in_pieces_are_a_fault_of_these(server: Server) -> None:
    async def mute_in_pieces(recorded: Recorded, policy: Policy) -> Response:
        polite = saying("I would rather not.") if recorded.body.get("stream") else answer
        return await polite(recorded, policy)

    [fault] = rehearsed(server, behaviour=mute_in_pieces).faults
    assert fault.startswith("in pieces: None of its ")


@pytest.mark.parametrize(
    ("behaviour", "fault"),
    [
        (status(401), "refused access with 401"),
        (status(400, {"message": "no such model"}), "no such model"),
        (raw(b"<html>", content_type="text/html"), "not JSON"),
        (saying("I would rather talk about the weather."), "replies could be read: "),
        (saying(None, finish="length", reasoning="Hmm. " * 9_000), "of its reply on thinking"),
    ],
)
def test_what_would_fail_in_play_is_a_fault(behaviour: Behaviour, fault: str, server: Server) -> None:
    faults = rehearsed(server, behaviour=behaviour).faults
    assert any(each.startswith("whole and in pieces: ") and fault in each for each in faults)
