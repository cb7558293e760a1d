"""LoTa-Bench's planner takes a goal in another way where the game goes on after its plan."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.lota.selector import DONE, goes_round, said
from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Agent, Proceed, Unattended
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.models.base import Capabilities, Completion, Message, Model, Request, Scores
from housequest.agent.training.export import exported
from housequest.knowledge.choosing import RuleBudget
from housequest.knowledge.rules import Rule
from housequest.worlds.base import World
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.options import Scalar
from housequest.worlds.registry import make_world
from tests.agent.agents.test_agents import ended, prompts, steps

HOUSE = "example:1"
RIGHT = ("find an egg", "pick up the egg", "find a microwave", "heat the egg", "find a diningtable", "put down the egg")
TOMATO = (
    "find a tomato",
    "pick up the tomato",
    "find a microwave",
    "heat the tomato",
    "find a diningtable",
    "put down the tomato",
)
SINK = (*RIGHT[:4], "find a sinkbasin", "put down the egg")
WAYS = (TOMATO, SINK, RIGHT)
HINT = "Eggs are not red."


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


@dataclass
class Undecided(Model):
    """A model that knows several ways to take the goal, the likeliest first, and begins each again after its end.

    Its reply to the call number ``cut`` is cut off; it was asked so often ``before``.
    """

    ways: Sequence[Sequence[str]]
    can: Capabilities = field(default_factory=lambda: Capabilities(scoring=True, choices=True, deterministic=True))
    name: str = "undecided"
    asked: list[tuple[Message, ...]] = field(default_factory=list[tuple[Message, ...]])
    cut: int = 0
    before: int = 0

    async def capabilities(self) -> Capabilities:
        return self.can

    async def complete(self, request: Request) -> Completion:
        assert request.choices is not None
        scores = (await self.score(request.messages, request.choices)).logprobs
        if len(self.asked) + self.before == self.cut:
            return Completion("find a", "length")
        return Completion(request.choices[max(range(len(request.choices)), key=lambda place: scores[place])])

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        self.asked.append(tuple(messages))
        spoken = [message.content for message in messages if message.role == "assistant" and message.content != "find a"]
        likely: dict[str, float] = {}
        for rank, way in enumerate(self.ways, 1):
            texts = [*map(said, way)]
            rest = spoken[len(spoken) // len(texts) * len(texts) :] if spoken[: len(texts)] == texts[: len(spoken)] else [""]
            if texts[: len(rest)] == rest:
                likely.setdefault(texts[len(rest)], -float(rank))
        return Scores(tuple(likely.get(text, -50.0) for text in continuations))


class Hinting(Unattended):
    """Gives a hint before the fourth turn."""

    attended = True

    async def before(self, turn: int, possible: Sequence[str] | None) -> Proceed:
        return Proceed((HINT,) if turn == 4 else ())

    async def interruption(self) -> None:
        await asyncio.Event().wait()


@dataclass(frozen=True)
class Played:
    """How an episode is played."""

    world: World
    settings: dict[str, Scalar]
    grants: frozenset[str] = frozenset()
    rules: RuleBudget = field(default_factory=lambda: RuleBudget(()))
    hinting: bool = False

    def __call__(self, model: Model, recorded: Sequence[Event] | None = None) -> list[Event]:
        return asyncio.run(self._events(model, recorded))

    async def _events(self, model: Model, recorded: Sequence[Event] | None) -> list[Event]:
        told: list[Event | CallTiming] = []
        env = self.world.open(self.world.task(HOUSE))
        config = EpisodeConfig(self.world, self.grants, rules=self.rules)
        person = Hinting() if self.hinting else None

        def make(live: Model | None, _: object = None) -> Agent:
            return make_agent("lota", world=self.world, model=live, settings=self.settings)

        if recorded is None:
            await run_episode(env, make(model), config, told.append, person)
        else:
            await resume_episode(env, make, config, recorded, told.append, person, model=model)
        return [event for event in told if isinstance(event, Event)]


def played(world: World, model: Model, **settings: Scalar) -> list[Event]:
    return Played(world, settings)(model)


def skills(told: Sequence[Event]) -> list[str]:
    bodies = (event.body for event in told if isinstance(event.body, events.Thought))
    return [body.text for body in bodies if body.text in {*RIGHT, *TOMATO, *SINK}]


@pytest.mark.heavy
@pytest.mark.parametrize("exact", [False, True])
def test_the_likeliest_way_that_was_not_tried_is_next(world: World, exact: bool) -> None:
    model = Undecided(WAYS)
    told = played(world, model, readings=3, exact=exact)
    assert ended(told).outcome == "won"
    assert skills(told) == [*TOMATO, *TOMATO, *SINK, *SINK, *RIGHT]
    assert len(steps(told)) == ended(told).steps
    for number in (1, 2):
        assert ended(played(world, Undecided(WAYS), readings=number)).outcome == "lost"


def test_a_model_that_takes_the_task_for_done_is_told_better(world: World) -> None:
    told = played(world, Undecided(((*SINK, DONE), RIGHT)), readings=2)
    assert ended(told).outcome == "won"
    assert skills(told) == [*SINK, *RIGHT]


RULES = RuleBudget((Rule("a", "Microwaves hum.", objects=("microwave",)), Rule("b", "Tomatoes are soft.", objects=("tomato",))))
TERMS: dict[str, tuple[dict[str, Scalar], dict[str, Any]]] = {
    "plain": ({}, {}),
    "exact, with what is possible": ({"exact": True}, {"grants": frozenset({"admissible"})}),
    "told why it failed": ({"replanning": True}, {}),
    "with a hint and rules": ({}, {"hinting": True, "rules": RULES}),
    "cut off once": ({}, {}),
}


@pytest.mark.heavy
@pytest.mark.parametrize("terms", TERMS)
def test_the_record_tells_every_prompt_and_any_part_of_it_is_gone_on_with(world: World, terms: str) -> None:
    settings, other = TERMS[terms]
    play = Played(world, {"readings": 3, **settings}, **other)
    cut = 3 if terms == "cut off once" else 0
    model = Undecided(WAYS, cut=cut)
    whole = play(model)
    assert ended(whole).outcome == "won"
    assert prompts(whole, "selector") == model.asked
    assert any(isinstance(event.body, events.ParseFailed) for event in whole) == bool(cut)
    for end in range(1, len(whole), 17):
        again = Undecided(WAYS, cut=cut, before=sum(isinstance(event.body, events.ModelCall) for event in whole[:end]))
        fresh = play(again, whole[:end])
        assert [*whole[:end], *fresh] == whole
        assert len(again.asked) == sum(isinstance(event.body, events.ModelCall) for event in fresh)


def test_hints_and_rules_stay_in_the_prompt(world: World) -> None:
    play = Played(world, {"readings": 3}, hinting=True, rules=RULES)
    model = Undecided(WAYS)
    play(model)
    texts = ["\n".join(message.content for message in asked) for asked in model.asked if not asked[-1].content.endswith(" 1.")]
    for told in (HINT, "Microwaves hum.", "Tomatoes are soft."):
        last = texts[-1]
        assert last.count(told) == 1, told


def test_what_led_nowhere_is_not_learned(world: World) -> None:
    told = played(world, Undecided(WAYS), readings=3)
    learned = [
        conversation.messages[place].content for conversation in exported(told).conversations for place in conversation.learned
    ]
    assert learned == [said(skill) for skill in RIGHT[RIGHT.index("find a diningtable") + 1 :]]


def test_done_at_once_is_no_end(world: World) -> None:
    told = played(world, Undecided(((DONE,), RIGHT)), readings=2)
    assert ended(told).outcome == "won"
    assert skills(told) == list(RIGHT)


def test_what_leads_up_to_a_departure_is_not_done_again_right_after_it(world: World) -> None:
    told = played(world, Undecided(((*SINK, DONE), (*SINK, *RIGHT[:2], *RIGHT[4:]))), readings=2)
    assert ended(told).outcome == "won"
    assert skills(told) == [*SINK, *RIGHT[:2], *RIGHT[4:]]


def test_a_circle_goes_on_where_there_are_no_more_ways(world: World) -> None:
    for readings, begun in ((1, 0), (3, 2), (20, 19)):
        told = played(world, Undecided((("find a fridge",),)), readings=readings)
        assert ended(told).outcome == "lost"
        ways = [event for event in told if isinstance(event.body, events.Thought) and event.body.text.endswith("another way")]
        assert len(ways) <= begun
        assert bool(ways) == bool(begun)


@pytest.mark.parametrize(
    ("can", "exact", "told"),
    [
        (Capabilities(choices=True), False, "does not score given texts.*leave readings out"),
        (Capabilities(choices=True), True, "does not score given texts.*leave readings out"),
        (Capabilities(scoring=True), False, "cannot be held to given texts.*give exact=on"),
    ],
)
def test_a_model_that_cannot_be_scored_or_held_to_skills_is_refused(
    world: World, can: Capabilities, exact: bool, told: str
) -> None:
    end = ended(played(world, Undecided((RIGHT,), can), readings=2, exact=exact))
    assert end.outcome == "error"
    assert re.search(told, end.message or end.reason)


def test_a_model_that_scores_alone_may_take_other_ways_exactly(world: World) -> None:
    told = played(world, Undecided((SINK, RIGHT), Capabilities(scoring=True)), readings=2, exact=True)
    assert ended(told).outcome == "won"


def test_a_plan_with_the_same_twice_is_not_left(world: World) -> None:
    """Two apples and a cupcake: the skills for apples are said twice, and then others."""
    twice = ("find a mug", "pick up the mug", "find a countertop", "put down the mug")
    told = played(world, Undecided(((*twice, *twice, *RIGHT),)), readings=5)
    assert ended(told).outcome == "won"
    assert not [event for event in told if isinstance(event.body, events.ModelCall) and event.body.weighed]


def test_whole_lists_are_read_in_one_way(world: World) -> None:
    with pytest.raises(ConfigurationError, match="readings departs from single skills"):
        make_agent("lota", world=world, model=Undecided((RIGHT,)), settings={"readings": 2, "asking": "list"})


@given(st.lists(st.sampled_from("abc"), max_size=12), st.sampled_from("abc"))
def test_skills_go_round_where_they_are_repeated_and_begin_again(skills: list[str], then: str) -> None:
    size = goes_round(skills, then)
    assert not size or [*skills[-size:], then] == [*skills[-2 * size : len(skills) - size], skills[-size]]
    for shorter in range(1, size or len(skills) // 2 + 1):
        assert [*skills[-shorter:], then] != [*skills[-2 * shorter : len(skills) - shorter], skills[-shorter]]
