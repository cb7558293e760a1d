"""What a rehearsal says of a model is what play does with it: through polite servers, odd ones, and those that fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from housequest.agent.config import Settings, world_of
from housequest.agent.rehearsal import Rehearsal, rehearse
from housequest.agent.setup import set_up
from tests.backends.dialects import Dialect, dialects
from tests.backends.policy import Solver
from tests.backends.server import Behaviour, Messages, Server, raw, saying, status


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


def systems(server: Server) -> frozenset[str]:
    """The system messages of the agent, as a polite server got them."""
    rehearsed(server)
    found = frozenset(one.messages[0]["content"] for one in server.requests if one.messages[0]["role"] == "system")
    server.reset()
    return found


def test_a_polite_server_is_found_fit(server: Server) -> None:
    seen = rehearsed(server)
    assert (seen.faults, seen.learned, seen.alike) == ((), (), True)
    assert [(each.attended, len(each.calls), each.unreadable) for each in seen.passes] == [(False, 2, ()), (True, 2, ())]
    assert seen.context == "keeps at least 16,000 tokens of a prompt"
    assert "2 calls" in seen.passes[0].words


@pytest.mark.parametrize("name", dialects())
def test_what_plays_is_found_fit_whatever_its_dialect(name: str, server: Server) -> None:
    knows = systems(server)
    seen = rehearsed(server, behaviour=replace(dialects()[name], knows=knows))
    assert seen.faults == ()
    assert all(not each.unreadable for each in seen.passes)


def test_what_was_learned_is_known_to_the_next_model_of_that_name(server: Server) -> None:
    odd = dialects()["the limit has another name"]
    assert rehearsed(server, behaviour=odd).learned
    asked = len(odd.asked)
    refused = [body for body in odd.asked if "max_tokens" in body or "temperature" in body]
    again = rehearsed(server, behaviour=odd)
    assert again.learned
    assert [body for body in odd.asked if "max_tokens" in body or "temperature" in body] == refused
    assert len(odd.asked) < 2 * asked, "its abilities are known, too"


def test_a_prompt_that_is_cut_in_silence_is_a_fault(server: Server) -> None:
    seen = rehearsed(server, behaviour=Dialect("cuts", context=3_000))
    assert "cuts longer ones in silence" in seen.context
    assert any("long episodes lose their beginning" in fault for fault in seen.faults)


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
    assert any(fault in each for each in rehearsed(server, behaviour=behaviour).faults)
