"""Whole episodes over a real OpenAI-compatible connection, to a server in all its moods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from housequest.agent.episodes import events
from housequest.agent.roles.base import reply_message
from housequest.worlds.base import World
from housequest.worlds.registry import make_world
from tests.agent.playing import AGENTS, CHATTING, EVERY, PLANNERS, Played, in_turn, one_of_each_type, play
from tests.backends import server as backend
from tests.backends.policy import Solver
from tests.backends.server import Behaviour, Messages, Server

pytestmark = pytest.mark.heavy

HOUSES = ("example:1", "example:2", "example:3")
WITHOUT_REPLANNING = {"revisions": 0}


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def plans(played: Played) -> list[events.Planned]:
    return [event.body for event in played.events if isinstance(event.body, events.Planned)]


@pytest.mark.parametrize(("agent", "house"), in_turn(HOUSES))
def test_a_bundled_house_is_won(server: Server, world: World, tmp_path: Path, agent: str, house: str) -> None:
    played = play(server, world, world.task(house), agent, tmp_path / "e.jsonl")
    assert played.ended.outcome == "won"
    assert played.kinds().count("called") == len(played.clocks)
    assert played.calls == len(played.requests) == sum(clock.attempts for clock in played.clocks)


@pytest.mark.games
@pytest.mark.parametrize("agent", EVERY)
def test_a_published_game_of_each_type_is_won(server: Server, alfworld_games: Path, tmp_path: Path, agent: str) -> None:
    world = make_world("alfworld", data=alfworld_games)
    tasks = one_of_each_type(world, "valid_seen")
    assert len(tasks) == 6
    outcomes = {task.type: play(server, world, task, agent, tmp_path / f"{task.type}.jsonl").ended for task in tasks}
    assert {name: ended.outcome for name, ended in outcomes.items()} == {task.type: "won" for task in tasks}


@pytest.mark.parametrize("house", HOUSES)
def test_a_wrong_plan_loses_and_a_revised_one_wins(server: Server, world: World, tmp_path: Path, house: str) -> None:
    server.policy = Solver(wrong_first_plan=True)
    task = world.task(house)
    alone = play(server, world, task, "reasoner-actor", tmp_path / "alone.jsonl", settings=WITHOUT_REPLANNING, max_turns=25)
    assert alone.ended.outcome == "lost"
    assert len(plans(alone)) == 1
    revised = play(server, world, task, "reasoner-actor", tmp_path / "revised.jsonl")
    assert revised.ended.outcome == "won"
    assert [plan.revision for plan in plans(revised)] == [0, 1]
    assert plans(revised)[0] == plans(alone)[0]
    assert "stuck" in plans(revised)[1].reason


@pytest.mark.games
def test_wrong_and_revised_plans_in_published_games(server: Server, alfworld_games: Path, tmp_path: Path) -> None:
    world = make_world("alfworld", data=alfworld_games)
    server.policy = Solver(wrong_first_plan=True)
    for task in one_of_each_type(world, "valid_seen"):
        path = tmp_path / f"{task.type}.jsonl"
        alone = play(server, world, task, "reasoner-actor", path, settings=WITHOUT_REPLANNING, max_turns=20)
        revised = play(server, world, task, "reasoner-actor", path)
        assert (alone.ended.outcome, revised.ended.outcome) == ("lost", "won"), task.type


def test_the_actor_sees_the_goal_and_follows_the_plan_alone(server: Server, world: World, tmp_path: Path) -> None:
    def misled(messages: Messages) -> str:
        reply = Solver()(messages)
        return reply.replace("egg", "spoon") if "\nPlan:" in reply else reply

    server.policy = misled
    played = play(server, world, world.task("example:1"), "reasoner-actor", tmp_path / "e.jsonl", max_turns=20)
    assert played.ended.outcome == "lost"
    assert any("heat some egg" in request.text for request in played.requests)
    assert not any("egg" in event.body.command for event in played.events if isinstance(event.body, events.Stepped))


@pytest.mark.parametrize("agent", [agent for agent in CHATTING if agent not in {"pet", "llm-planner"}])  # rendered anew
def test_a_roles_prompt_begins_with_all_that_was_said_before(server: Server, world: World, tmp_path: Path, agent: str) -> None:
    server.policy = Solver(wrong_first_plan=True)
    server.behave(backend.answer, backend.saying(""), backend.answer, backend.saying("let me\nsee"), backend.answer)
    played = play(server, world, world.task("example:2"), agent, tmp_path / "e.jsonl", grants=frozenset({"type"}))
    assert played.ended.outcome == "won"
    calls = [event.body for event in played.events if isinstance(event.body, events.ModelCall)]
    said: dict[str, Messages] = {}
    for call, request in zip(calls, played.requests, strict=True):
        # The observer keeps nothing, and the executor nothing of another subtask: they begin anew, and say so in the record.
        anew = call.role in {"observer", "executor"} and call.kept == 0
        before = [] if anew else said.get(call.role, [])
        assert request.messages[: len(before)] == before
        assert call.kept == len(before)
        assert [(m.role, m.content) for m in call.added] == [(m["role"], m["content"]) for m in request.messages[call.kept :]]
        said[call.role] = [*request.messages, {"role": "assistant", "content": reply_message(call.reply).content}]


CALM = "calm.jsonl"


PASSING: dict[str, tuple[Behaviour, ...]] = {
    "rate-limited": (backend.status(429, retry_after="0.01"), backend.status(429)),
    "cut off": (backend.cut_off, backend.cut_off),
    "all sorts": (backend.status(503), backend.cut_off, backend.status(408)),
    "slow": (backend.slow(0.2),),
}


@pytest.mark.parametrize("agent", EVERY)
def test_passing_trouble_leaves_no_trace_in_the_record(server: Server, world: World, tmp_path: Path, agent: str) -> None:
    task = world.task("example:2")
    calm = play(server, world, task, agent, tmp_path / CALM)
    for name, trouble in PASSING.items():
        server.behave(backend.answer, *trouble)
        troubled = play(server, world, task, agent, tmp_path / f"{name}.jsonl")
        assert troubled.ended.outcome == "won", name
        assert troubled.record == calm.record, name
        assert sum(clock.attempts for clock in troubled.clocks) == len(troubled.requests), name


PLANNED = {"llm-planner": 1, "socratic": 2}
"""Calls for the first plan."""


LASTING: dict[str, tuple[Behaviour, str]] = {
    "429": (backend.status(429), "429"),
    "500": (backend.status(500), "500"),
    "401": (backend.status(401), "401"),
    "cut off": (backend.cut_off, "dropped the connection"),
    "half": (backend.half_json, "not JSON"),
    "html": (backend.raw(b"<html>", content_type="text/html"), "text/html"),
    "empty": (backend.raw(b'{"choices": []}'), "no choices"),
    "endless": (backend.endless(b" " * 9_999), "more than 1 MiB"),
    "slow": (backend.slow(30), "did not answer within 0.3 seconds"),
}


def each_agent_and_each_trouble() -> Iterator[object]:
    """All troubles to one agent of either kind, and two to every other; the whole product is slow."""
    for agent in CHATTING:
        for name, (trouble, told) in LASTING.items():
            soon = agent in {*AGENTS[:1], *PLANNERS[:1]} or name in {"500", "half"}
            yield pytest.param(agent, trouble, told, id=f"{agent}-{name}", marks=() if soon else pytest.mark.slow)


@pytest.mark.parametrize(("agent", "trouble", "told"), each_agent_and_each_trouble())
def test_lasting_trouble_ends_the_episode_as_the_models(
    server: Server, world: World, tmp_path: Path, agent: str, trouble: Behaviour, told: str
) -> None:
    # A planner is not called again before its plan fails.
    server.policy = Solver(wrong_first_plan=True)
    answered = PLANNED[agent] if agent in PLANNERS else 3
    server.behave(*[backend.answer] * answered, otherwise=trouble)
    # Short where that is what is tried: a busy machine is slow enough by itself.
    timeout = 0.3 if "0.3 seconds" in told else 20.0
    played = play(server, world, world.task("example:1"), agent, tmp_path / "e.jsonl", timeout=timeout, retries=1)
    assert (played.ended.outcome, played.ended.boundary) == ("error", "model")
    assert told in (played.ended.message or "")
    assert played.kinds().count("called") == answered


RUBBISH = ["", "\x00\x1b[2J" * 50, "\u202eenifed", "x" * 200_000, "Action:", "Plan:", "{" * 5_000, "🙂\n" * 100]


@pytest.mark.parametrize("agent", CHATTING)
@pytest.mark.parametrize("rubbish", RUBBISH, ids=range(len(RUBBISH)))
def test_rubbish_spends_turns_and_the_episode_goes_on(
    server: Server, world: World, tmp_path: Path, agent: str, rubbish: str
) -> None:
    said = backend.saying(rubbish)
    server.behave(said, said, otherwise=said)
    played = play(server, world, world.task("example:1"), agent, tmp_path / "e.jsonl", max_turns=3)
    # Who only plans has nothing else to ask.
    assert (played.ended.outcome, played.ended.turns) == ("lost", 1 if agent == "llm-planner" else 3)
    assert played.ended.boundary is None


@pytest.mark.parametrize("agent", AGENTS)
def test_one_unreadable_reply_is_asked_for_again(server: Server, world: World, tmp_path: Path, agent: str) -> None:
    server.behave(backend.answer, backend.saying("I would rather\nnot say."), backend.answer)
    played = play(server, world, world.task("example:2"), agent, tmp_path / "e.jsonl")
    assert played.ended.outcome == "won"
    assert [e.body.final for e in played.events if isinstance(e.body, events.ParseFailed)] == [False]
