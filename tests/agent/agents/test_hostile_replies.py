"""What no model should say: each agent's episode ends in bounds, is in its record as it was, and is classed for what it was.

Rubbish to every role over a connection is in `test_endpoint_play`; here are replies that can be read, and lead nowhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from housequest.agent.agents.spec import agent_spec, make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall, ParseFailed, TurnSpent
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, read_episode
from housequest.agent.evaluation.analysis.failures import FailureKind, failure_of
from housequest.agent.models.base import Capabilities, Message, Scores
from housequest.worlds.base import World
from housequest.worlds.registry import make_world
from tests.agent.golden import Answering
from tests.backends.server import Messages
from tests.parts import needs

TURNS = 12
MEGABYTE = 1 << 20
CONTROL = "\x00\x07\x1b[2J\u202e\u2028\ufeff\ud800"

Reply = str | Callable[[Messages], str]

SANE: dict[str, Reply] = {
    "You plan for a robot": "Task type: heat\nThought: so\nPlan:\n0. find an egg\n1. heat it",
    "You control a robot": "Thought: so\nAction: Play[NavigateTo, egg]",
    "You help a robot": "Observation: a kitchen",
    "You break household tasks": "take the egg, heat the egg",
    "You know where": "fridge 1: 0.9",
    "You watch somebody": "No",
    "You are the planner": "Navigation egg, PickupObject egg",
    "You take household": "Q1: What?\nA1: An egg.",
    "You plan household": "Plan:\n1. (Pickup, egg)",
    "You stand beside": lambda messages: "Valid: yes" if "Valid: yes or no" in messages[-1]["content"] else "Cause: bad luck",
    "Robot:": "find an egg,",
}
"""What a role answers, by how its instructions begin, where nothing else is said."""


@dataclass(frozen=True)
class Case:
    """An agent, of which one role answers ``reply``, and what that must be called."""

    agent: str
    what: str
    role: str
    reply: Reply
    kind: FailureKind
    most: int
    can: Capabilities = field(default_factory=Capabilities)
    settings: Mapping[str, str] = field(default_factory=dict[str, str])

    def __call__(self, messages: Messages) -> str:
        system = messages[0]["content"]
        reply = (
            self.reply
            if system.startswith(self.role)
            else next((sane for start, sane in SANE.items() if system.startswith(start)), "Thought: so\nAction: look")
        )
        return reply if isinstance(reply, str) else reply(messages)


def endless(item: str, between: str = "\n") -> str:
    return between.join(item.replace("#", str(number)) for number in range(5_000))


EXECUTOR, PLANNER, SOCRATIC, LOTA = "You control a robot", "You are the planner", "You plan household", "Robot:"
SCORES = Capabilities(scoring=True)
CIRCLE = "OpenObject fridge, CloseObject fridge"


def advised(reply: str) -> Reply:
    """A Socratic Planner whose plan always fails, and whose advisor says that."""

    def answer(messages: Messages) -> str:
        system = messages[0]["content"]
        if system.startswith("You take household"):
            return "Q1: What?\nA1: An egg."
        return reply if system.startswith("You stand beside") else "Plan:\n1. (Pickup, fridge)"

    return answer


def by_turns(*replies: str) -> Reply:
    return lambda messages: replies[len(messages) // 2 % len(replies)]


def order(skill: str) -> str:
    return f"Thought: so\nAction: Play[{skill}]"


CASES = (
    Case("opex", "an endless plan", "You plan for a robot", f"Plan:\n{endless('#. find an egg')}", "unreadable", 24),
    Case("opex", "an unknown thing", EXECUTOR, order("Pick, unicorn 7"), "gave_up", 28),
    Case("opex", "control characters", EXECUTOR, order(f"Pick, {CONTROL}"), "gave_up", 28),
    Case("opex", "the same plan again", EXECUTOR, order("RequireReplan, None"), "gave_up", 16),
    Case("opex", "the same skill again", EXECUTOR, order("LookAround, None"), "looped", 25),
    Case("opex", "a skill that is done again", EXECUTOR, order("NavigateTo, countertop 1"), "gave_up", 30),
    Case("opex", "two skills by turns", EXECUTOR, by_turns(order("Use, microwave"), order("Pick, unicorn")), "gave_up", 64),
    Case("opex", "finished at once", EXECUTOR, "Thought: so\nAction: Finish[yes]", "gave_up", 40),
    Case("opex", "an observer that says nothing", "You help a robot", "", "gave_up", 60),
    Case("pet", "an endless plan", "You break household tasks", endless("take the egg", ", "), "looped", 40),
    Case("pet", "an unknown thing", "You break household tasks", "take the unicorn", "looped", 40),
    Case("pet", "an unknown command", "You act", "Thought: so\nAction: take unicorn 1 from moon 2", "looped", 40),
    Case("pet", "all masked", "You know where", lambda messages: endless("fridge #: 0"), "looped", 40),
    Case("pet", "a tracker that cannot be read", "You watch somebody", CONTROL, "looped", 60),
    Case("pet", "control characters", "You break household tasks", f"take {CONTROL}, heat it", "looped", 40),
    Case("llm-planner", "an endless plan", PLANNER, endless("Navigation egg", ", "), "unreadable", 24),
    Case("llm-planner", "an unknown thing", PLANNER, "Navigation unicorn, PickupObject unicorn", "out_of_turns", 6),
    Case("llm-planner", "the same plan again", PLANNER, "PickupObject fridge", "gave_up", 2),
    Case("llm-planner", "a plan in circles", PLANNER, ", ".join([CIRCLE] * 20), "looped", 1),
    Case("llm-planner", "some progress, then the same plan", PLANNER, f"{CIRCLE}, HeatObject egg", "looped", 11),
    Case("llm-planner", "control characters", PLANNER, f"Navigation {CONTROL}, PickupObject egg", "out_of_turns", 11),
    Case("llm-planner", "JSON", PLANNER, '[{"action": "Pickup", "object": {"a": [1]}}, 7, null]' * 400, "unreadable", 24),
    Case("socratic", "endless questions", "You take household", endless("Q#: Why?\nA#: So."), "unreadable", 24),
    Case("socratic", "an endless plan", SOCRATIC, f"Plan:\n{endless('#. (Pickup, egg)')}", "unreadable", 25),
    Case("socratic", "an unknown thing", SOCRATIC, "Plan:\n1. (Pickup, unicorn)", "out_of_turns", 32),
    Case("socratic", "the same plan again", SOCRATIC, "Plan:\n1. (Pickup, fridge)", "gave_up", 42),
    Case("socratic", "a plan in circles", SOCRATIC, "Plan:\n" + "1. (Open, fridge)\n2. (Close, fridge)\n" * 20, "looped", 2),
    Case("socratic", "an advisor of a megabyte", "You ", advised("x" * MEGABYTE), "gave_up", 60),
    Case("socratic", "control characters", SOCRATIC, f"Plan:\n1. (Pickup, {CONTROL})", "out_of_turns", 32),
    Case("lota", "an unknown thing", LOTA, "find a unicorn,", "unreadable", 24),
    Case("lota", "a skill that fails", LOTA, "pick up the mug,", "looped", 12),
    Case("lota", "the same skill again", LOTA, "find a fridge,", "gave_up", 4),
    Case("lota", "an endless list", LOTA, endless("find an egg,", " "), "gave_up", 1),
    Case("lota", "control characters", LOTA, f"find {CONTROL},", "unreadable", 24),
    Case("lota", "no list at all", LOTA, "I cannot know that.", "gave_up", 2, settings={"asking": "list"}),
    Case("saycan", "a skill that fails", LOTA, "pick up the mug,", "looped", 12, SCORES),
    Case("saycan", "the same skill again", LOTA, "find a fridge,", "gave_up", 4, SCORES),
)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def played(world: World, case: Case, model: Answering, path: Path) -> list[Event]:
    """The episode of ``case`` as it was told; the record at ``path`` has the same."""
    told: list[Event] = []
    settings = {"shots": "1", **({"search": "counts"} if agent_spec(case.agent).searches else {}), **case.settings}
    agent = make_agent(case.agent, world=world, model=model, settings=settings)
    with EpisodeRecorder(path) as recorder:

        def listen(event: Event | CallTiming) -> None:
            recorder(event)
            if isinstance(event, Event):
                told.append(event)

        asyncio.run(run_episode(world.open(world.task("example:1")), agent, EpisodeConfig(world, max_turns=TURNS), listen))
    assert list(read_episode(path)) == told
    return told


@pytest.mark.heavy
@pytest.mark.parametrize("case", CASES, ids=[f"{case.agent}: {case.what}" for case in CASES])
def test_a_reply_that_leads_nowhere_is_bounded_recorded_and_classed(world: World, tmp_path: Path, case: Case) -> None:
    told = played(world, case, Answering(case, case.can), tmp_path / "e.jsonl")
    ended = told[-1].body
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.boundary) == ("lost", None)
    assert ended.turns <= TURNS
    failure = failure_of(told)
    assert failure is not None and failure.kind == case.kind, failure
    assert sum(isinstance(event.body, ModelCall) for event in told) <= case.most
    # A turn counts as unreadable only where a reply of it was.
    unread = {event.parent for event in told if isinstance(event.body, TurnSpent) and event.body.reason is None}
    assert not unread or any(isinstance(event.body, ParseFailed) and event.body.final for event in told)


@dataclass
class Miscounting(Answering):
    """Answers with scores that are none."""

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        return Scores((float("nan"),) * len(continuations))


@needs("lota")
def test_scores_that_are_none_are_the_models_failure(world: World, tmp_path: Path) -> None:
    case = Case("saycan", "scores that are none", LOTA, "", "model", 0, SCORES)
    failure = failure_of(played(world, case, Miscounting(case, SCORES), tmp_path / "e.jsonl"))
    assert failure is not None and failure.kind == "model"
