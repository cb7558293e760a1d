"""Where places are searched by a model's word: what it is asked, when, and what comes of any answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import AgentEvent, Proceed, Unattended
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Completion, Message, Model, Request, Timing
from housequest.agent.roles.base import ReplyError, Sampling
from housequest.agent.skills.controller import (
    MOST_NAMED,
    Controller,
    ControllerState,
    Done,
    Execute,
    Failed,
    PlannerSearch,
    reader_of,
)
from housequest.knowledge.choosing import RuleBudget
from housequest.knowledge.rules import Rule
from housequest.worlds.alfworld.expert import make_expert
from housequest.worlds.base import Observation, Step, Transition, World
from housequest.worlds.household.base import BelievingEnv, with_belief
from housequest.worlds.household.goals import Skill
from housequest.worlds.registry import household, make_world
from tests.agent.golden import Answering
from tests.agent.playing import installed
from tests.backends.policy import Solver
from tests.backends.server import Messages
from tests.parts import needs

KITCHEN = "example:1"


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


@dataclass
class Asked(Model):
    """A model that answers by ``reply`` and keeps what it was asked."""

    reply: Callable[[str], str]
    name: str = "asked"
    prompts: list[Sequence[Message]] = field(default_factory=list[Sequence[Message]])

    async def complete(self, request: Request) -> Completion:
        self.prompts.append(request.messages)
        return Completion(self.reply(request.messages[-1].content))


def seek(
    world: World, model: Model, *things: str, search: PlannerSearch = "llm", seed: int = 0
) -> tuple[list[str], list[AgentEvent]]:
    """The commands and events of finding ``things`` one after the other in a kitchen."""
    reader = household("alfworld")
    assert reader is not None
    controller = Controller(reader, model, Sampling(), search=search, seed=seed)
    env = BelievingEnv(world.open(world.task(KITCHEN)), reader)
    played: list[str] = []
    told: list[AgentEvent] = []

    def emit(body: AgentEvent, timing: Timing | None = None) -> None:
        del timing
        told.append(body)

    async def carry_out(state: ControllerState, skill: Skill) -> ControllerState:
        state = controller.start(state, skill)
        while True:
            outcome, state = await controller.proceed(state, env.task.goal, emit)
            if not isinstance(outcome, Execute):
                assert isinstance(outcome, Done | Failed)
                return state
            step: Step = env.step(outcome.command)
            played.append(outcome.command)
            state = controller.observe(state, [Transition(outcome.command, step.observation)])

    async def all_things() -> None:
        state = controller.begin(env.reset().observation, env.task.goal)
        for thing in things:
            state = await carry_out(state, Skill("find", thing))

    asyncio.run(all_things())
    return played, told


def test_the_places_that_the_model_names_are_looked_into_in_their_order(world: World) -> None:
    model = Asked(lambda _: "The garbagecan 1, fridge, CounterTop 2")
    played, told = seek(world, model, "spatula")
    went = [command for command in played if command.startswith("go to ")]
    assert went[:2] == ["go to garbagecan 1", "go to fridge 1"]
    call = next(body for body in told if isinstance(body, events.ModelCall))
    assert call.role == "searcher"
    asked = model.prompts[0][-1].content
    assert "Looking for: spatula" in asked
    assert "Looked into: none yet" in asked


def test_one_answer_serves_until_its_places_are_looked_into(world: World) -> None:
    model = Asked(lambda asked: asked.rpartition("Left: ")[2])
    seek(world, model, "pillow", "spatula")
    left = len(places_left(model.prompts[0]))
    assert len(model.prompts) == -(-left // MOST_NAMED), "no more than it was asked for is taken from an answer"
    few = Asked(lambda asked: asked.rpartition("Left: ")[2].split(", ")[0])
    played, _ = seek(world, few, "cellphone")
    places = [command for command in played if command.startswith("go to ")]
    assert 1 < len(few.prompts) <= len(places), "asked again once all that were named were looked into"


def places_left(prompt: Sequence[Message]) -> list[str]:
    return prompt[-1].content.rpartition("Left: ")[2].split(", ")


def test_what_was_seen_is_fetched_without_asking(world: World) -> None:
    model = Asked(lambda asked: asked.rpartition("Left: ")[2])
    seek(world, model, "spatula")
    before = len(model.prompts)
    seen, _ = seek(world, model, "spatula", "fridge", "spatula")
    assert len(model.prompts) == 2 * before
    assert seen.count("go to fridge 1") >= 1


def test_what_lies_where_is_told(world: World) -> None:
    model = Asked(lambda asked: asked.rpartition("Left: ")[2].split(", ")[0])
    seek(world, model, "pillow")
    looked = model.prompts[-1][-1].content.partition("Looked into: ")[2].partition("\n")[0]
    assert "countertop 1 (" in looked
    assert "(empty)" in looked


@pytest.mark.parametrize("reply", ["", "I cannot know that.", "moon 1, the roof", '["moon"]', "\x00" * 300, "Not the fridge 1"])
def test_an_answer_without_a_place_is_replaced_by_chance_for_a_while_and_said_so(world: World, reply: str) -> None:
    at_random, _ = seek(world, Asked(lambda _: reply), "pillow", search="random", seed=5)
    model = Asked(lambda _: reply)
    played, told = seek(world, model, "pillow", seed=5)
    assert played == at_random, "as the expert searches that stands beside it"
    asked = [places_left(prompt) for prompt in model.prompts[::2]]
    assert [len(left) for left in asked] == list(range(len(asked[0]), 0, -MOST_NAMED)), "asked again after a few places"
    assert any("looked for at random" in body.text for body in told if isinstance(body, events.Thought))


KITCHEN_PLACES = (
    *(f"cabinet {number}" for number in range(1, 21)),
    *("countertop 1", "countertop 2", "fridge 1", "microwave 1", "shelf 1", "shelf 2", "garbagecan 1"),
)


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        ("Fridge 1 (food is kept cold), microwave 1 (may be left there)", ("fridge 1", "microwave 1")),
        ("1. Fridge 1 - food is cold\n2. Microwave 1: maybe near the shelf", ("fridge 1", "microwave 1")),
        ("- **Fridge 1**: cold\n- **shelf 2** \u2014 dry", ("fridge 1", "shelf 2")),
        ("countertop 1 and countertop 2", ("countertop 1", "countertop 2")),
        ("cabinets 1 to 3", ("cabinet 1", "cabinet 2", "cabinet 3")),
        ("cabinet 2, 4 and 5, fridge", ("cabinet 2", "cabinet 4", "cabinet 5", "fridge 1")),
        ("fridge 1, 2. microwave 1", ("fridge 1", "microwave 1")),
        ("Shelves", ("shelf 1", "shelf 2")),
        ("The fridge 1 is not likely. Shelf 2.", ("shelf 2",)),
        ("The fridge isn't likely, shelf 2 is.", ("shelf 2",)),
        ("cabinets 1 and 2 are very unlikely; shelf 1", ("shelf 1",)),
        ("fridge 1 (unlikely), shelf 1 (not far away)", ("shelf 1",)),
        ("- fridge 1: unlikely\n- shelf 1: not searched yet", ("shelf 1",)),
        ("The fridge 1 is likelier than not, and not the shelf 1", ("fridge 1",)),
        ("I don't know, maybe the fridge 1", ("fridge 1",)),
        ("I am not sure; I do not know. I can't tell where, fridge 1", ("fridge 1",)),
        ("I cannot say where, perhaps in the fridge 1", ("fridge 1",)),
        ("Not the fridge 1; try the countertop", ("countertop 1", "countertop 2")),
        ("I would look in the cabinets 3-4, but never in the fridge.", ("cabinet 3", "cabinet 4")),
        ("The fridge keeps food, and the shelf is dry.\nAnswer: the trash can, microwave 1", ("garbagecan 1", "microwave 1")),
        ('["fridge 1", "CounterTop 2"]', ("fridge 1", "countertop 2")),
        ("cabinet", tuple(f"cabinet {number}" for number in range(1, 9))),
    ],
)
def test_answers_are_read_as_models_write_them(reply: str, named: tuple[str, ...]) -> None:
    assert reader_of(KITCHEN_PLACES).read(reply) == named


def test_a_hint_reaches_who_says_where_to_look(world: World) -> None:
    class Hinting(Unattended):
        async def before(self, turn: int, possible: tuple[str, ...] | None) -> Proceed:
            return Proceed(("it is in the fridge",) if turn == 3 else ())

    def answer(messages: Messages) -> str:
        if "where to look for things" not in messages[0]["content"]:
            return str(Solver()(messages))
        return "fridge" if "in the fridge" in messages[-1]["content"] else "garbagecan, cabinets, drawers"

    for agent in installed("opex", "socratic", "lota"):
        told: list[Event] = []
        settings = {"search": "llm", **({"explore": "off"} if agent == "opex" else {})}
        made = make_agent(agent, world=world, model=Answering(answer), settings=settings)
        env = world.open(world.task(KITCHEN))
        terms = EpisodeConfig(world, max_turns=10)
        listen = partial(_heard, told)
        asyncio.run(run_episode(env, made, terms, listen, Hinting()))
        asked = [event.body for event in told if isinstance(event.body, events.ModelCall) and event.body.role == "searcher"]
        assert "A hint from the person beside you: it is in the fridge" in asked[1].added[-1].content, agent
        commands = [event.body.command for event in told if isinstance(event.body, events.Stepped)]
        assert "go to fridge 1" in commands[2:4], (agent, commands)


def _heard(told: list[Event], event: Event | CallTiming) -> None:
    if isinstance(event, Event):
        told.append(event)


def test_other_priors_ask_nobody_and_chance_is_the_seeds(world: World) -> None:
    model = Asked(lambda _: "fridge")
    orders = {
        (search, seed): tuple(seek(world, model, "cellphone", search=search, seed=seed)[0])
        for search in ("counts", "random", "name")
        for seed in (0, 1)
    }
    assert model.prompts == []
    assert orders["random", 0] != orders["random", 1]
    assert orders["random", 0] == tuple(seek(world, model, "cellphone", search="random")[0])
    assert orders["name", 0] == orders["name", 1]
    assert orders["counts", 0] == orders["counts", 1] != orders["name", 0]


def test_chance_is_one_for_each_house_however_its_task_is_worded(world: World) -> None:
    reader = household("alfworld")
    assert reader is not None
    told = world.open(world.task(KITCHEN)).reset().observation.text.partition("Your task is to: ")[0]
    goals = ("heat some egg and put it in diningtable.", "Please serve me a warm egg at the table!")
    salts = {
        salt
        for goal in goals
        for opening in [with_belief(reader, Observation(f"{told}Your task is to: {goal}"))]
        for salt in (
            Controller(reader, search="random", seed=2).begin(opening, goal).task.salt,
            Controller(reader, search="llm", seed=2).begin(opening, goal).task.salt,
            make_expert("random", seed=2).begin(goal, opening).salt,
        )
    }
    assert len(salts) == 1, "the planner and the expert beside it search in one order"


@pytest.mark.heavy
@pytest.mark.parametrize("search", ["llm", "counts", "random", "name"])
@pytest.mark.parametrize("agent", installed("opex", "llm-planner", "socratic", "lota"))
def test_every_planner_searches_in_every_way(world: World, agent: str, search: str) -> None:
    told: list[Event] = []
    made = make_agent(agent, world=world, model=Answering(Solver()), settings={"search": search}, seed=3)
    terms = EpisodeConfig(world, max_turns=100)
    env = world.open(world.task(KITCHEN))
    ended = asyncio.run(run_episode(env, made, terms, lambda event: told.append(event) if isinstance(event, Event) else None))
    assert ended.outcome == "won"
    asked = [event for event in told if isinstance(event.body, events.ModelCall) and event.body.role == "searcher"]
    assert bool(asked) is (search == "llm")


@example("[]", ["shelf 1"])
@example("[1]", ["shelf 1"])
@given(st.text(max_size=200), st.lists(st.sampled_from(["shelf 1", "shelf 2", "drawer 10", "bed 1"]), min_size=1, unique=True))
def test_any_answer_names_places_that_are_left_or_is_refused(reply: str, places: list[str]) -> None:
    try:
        named = reader_of([*places, "shelf 9"]).read(f"{reply}\nAnswer: shelf")
    except ReplyError:
        pytest.fail("an answer that ends in a place is read")
    else:
        places = [*places, "shelf 9"]
        assert set(named) <= set(places)
        assert len(set(named)) == len(named)


@needs("opex")
def test_a_rule_about_where_the_thing_lies_is_told(world: World) -> None:
    rules = RuleBudget(
        (
            Rule("egg", "Eggs lie in fridges.", "location", objects=("egg",)),
            Rule("mug", "Mugs lie on countertops.", "location", objects=("mug",)),
            Rule("shut", "What is closed must be opened.", "mechanic"),
        ),
        500,
        "own",
    )
    told: list[Event] = []
    made = make_agent("opex", world=world, model=Answering(Solver()))
    terms = EpisodeConfig(world, rules=rules)
    env = world.open(world.task(KITCHEN))
    asyncio.run(run_episode(env, made, terms, lambda event: told.append(event) if isinstance(event, Event) else None))
    asked = [event.body for event in told if isinstance(event.body, events.ModelCall) and event.body.role == "searcher"]
    assert asked
    assert asked[0].added[-1].content.endswith("What is known about this world:\n- Eggs lie in fridges.")
