"""LoTa-Bench's planner and SayCan: over a real connection, and with models that score texts or are held to them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.lota.selector import DONE, MOST_CANDIDATES, fixed_skills, reader_of, said
from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Agent
from housequest.agent.config import configure
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, Stopped
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.models.base import Capabilities, Completion, Held, Message, Model, Request, Scores
from housequest.agent.models.registry import make_model
from housequest.agent.roles.base import ReplyError, Role
from housequest.knowledge.choosing import RuleBudget
from housequest.worlds.alfworld.text import HOUSEHOLD, begin
from housequest.worlds.base import World
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.household.goals import Skill
from housequest.worlds.registry import make_world
from tests.agent.agents import test_leaks as leaks
from tests.agent.agents.test_agents import ended, prompts, steps
from tests.agent.playing import one_of_each_type, play
from tests.agent.role_forms import check_form
from tests.backends import server as backend
from tests.backends.lota import Lister
from tests.backends.server import Server

HOUSES = ("example:1", "example:2", "example:3")
SET = fixed_skills(HOUSEHOLD)
SKILLS = SET.skills
TEXTS = tuple(skill.text for skill in SKILLS)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


@dataclass
class Liking(Model):
    """A model in this process that likes best what a policy says, next best ``second``, and nothing else."""

    policy: Callable[[list[dict[str, str]]], str] = field(default_factory=Lister)
    second: str = ""
    can: Capabilities = field(default_factory=lambda: Capabilities(scoring=True, choices=True, deterministic=True))
    name: str = "liking"
    calls: int = 0

    async def capabilities(self) -> Capabilities:
        return self.can

    async def complete(self, request: Request) -> Completion:
        scores = (await self.score(request.messages, request.choices)).logprobs
        return Completion(request.choices[max(range(len(request.choices)), key=lambda place: scores[place])])

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        self.calls += 1
        best = self.policy([{"role": message.role, "content": message.content} for message in messages])
        return Scores(tuple({best: -0.5, said(self.second): -1.25}.get(text, float("-inf")) for text in continuations))


async def lived(
    world: World, model: Model, agent: str = "lota", house: str = HOUSES[0], *, most: int = 50, grant: str = "", **settings: Any
) -> list[Event]:
    """An episode of ``agent``, as its events."""
    told: list[Event | CallTiming] = []
    player = make_agent(agent, world=world, model=model, settings=settings)
    terms = EpisodeConfig(world, frozenset(filter(None, [grant])), max_turns=most)
    await run_episode(world.open(world.task(house)), player, terms, told.append)
    return [event for event in told if isinstance(event, Event)]


def episode(world: World, model: Model, *given: Any, **settings: Any) -> list[Event]:
    return asyncio.run(lived(world, model, *given, **settings))


def thoughts(told: Sequence[Event]) -> list[str]:
    return [event.body.text for event in told if isinstance(event.body, events.Thought)]


def calls(told: Sequence[Event]) -> list[events.ModelCall]:
    return [event.body for event in told if isinstance(event.body, events.ModelCall)]


# The set of skills.


def test_the_skills_are_what_was_counted_over_train_and_none_begins_another() -> None:
    assert len(set(TEXTS)) == len(SKILLS) == 265
    assert {"find an egg", "put down the mug", "turn on the desklamp", "open the fridge", "slice the tomato"} <= set(TEXTS)
    forms = sorted(map(said, (*TEXTS, DONE)))
    assert not any(after.startswith(before) for before, after in pairwise(forms))


def test_what_can_be_done_begins_with_an_admissible_command(world: World) -> None:
    env = world.open(world.task("example:1"))
    belief = begin(env.reset().observation)
    possible = SET.possible(belief, env.admissible_commands() or ())
    assert Skill("find", "fridge") in possible
    assert Skill("find", "egg") in possible
    assert Skill("find", "toilet") not in possible
    assert not any(skill.verb != "find" for skill in possible)
    assert SET.possible(belief, ("move egg 2 to fridge 1", "close fridge 1", "!?")) >= {
        Skill("put", "egg"),
        Skill("close", receptacle="fridge"),
    }


@pytest.mark.parametrize(
    ("reply", "skill"),
    [
        ("find an egg", "find an egg"),
        ("find an egg,", "find an egg"),
        ("Done.", DONE),
        ("3. Pick up the egg.", "pick up the egg"),
        ("Robot: 1. find a dining table, 2. put down the egg", "find a diningtable"),
        ("**turn on a desk lamp**", "turn on the desklamp"),
        ("<think>find a mug, perhaps</think>\nfind an egg", "find an egg"),
        ("I would say:\nfind an egg", "find an egg"),
        ("find a unicorn", None),
        ("open the safe", None),
        ("", None),
    ],
)
def test_replies_are_read_as_skills(reply: str, skill: str | None) -> None:
    role = reader_of((*TEXTS, DONE), {*TEXTS, DONE} - {"open the safe"})
    if skill is None:
        with pytest.raises(ReplyError):
            role.read(reply)
    else:
        assert role.read(reply)[0] == skill


@pytest.mark.parametrize(
    "reply",
    [
        "1. find an egg, 2. pick up the egg, 3. done.",
        "1. find an egg. 2. pick up the egg. 3. done.",
        "1. find an egg 2. pick up the egg 3. done",
        "(1) find an egg (it is cold) (2) pick up the egg (3) done",
        "find an egg -> pick up the egg -> done",
        "find an egg, then pick up the egg, and done",
        "First, find an egg. Next, pick up the egg. Finally, done.",
        "- find an egg\n- pick up the egg\n- done",
        "The plan is: find an egg, pick up the egg, done",
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_a_list_is_read_however_it_is_written(reply: str, whole: bool) -> None:
    assert reader_of((*TEXTS, DONE), {*TEXTS, DONE}, whole=whole).read(reply) == ("find an egg", "pick up the egg", DONE)


@given(st.text(max_size=300))
def test_any_reply_is_a_skill_or_is_refused(reply: str) -> None:
    role = reader_of((*TEXTS, DONE), TEXTS)
    try:
        assert set(role.read(reply)) <= {*TEXTS, DONE}
    except ReplyError as error:
        assert str(error).isprintable()


# Whole episodes.


@pytest.mark.parametrize("house", HOUSES)
def test_a_bundled_house_is_won_over_a_connection(server: Server, world: World, tmp_path: Path, house: str) -> None:
    played = play(server, world, world.task(house), "lota", tmp_path / "e.jsonl")
    assert played.ended.outcome == "won"
    assert played.kinds().count("called") == len(played.requests) < played.ended.steps
    # The policy has said so much, and the game was won by then: "done" is for a model that thinks it is.
    for before, after in pairwise(played.requests):
        assert after.messages[: len(before.messages)] == before.messages


@pytest.mark.heavy
@pytest.mark.parametrize(("agent", "grants"), [("saycan", set[str]()), ("lota", {"admissible"})])
def test_a_house_is_won_where_texts_are_scored_over_a_connection(
    server: Server, world: World, tmp_path: Path, agent: str, grants: set[str]
) -> None:
    settings = {} if agent == "saycan" else {"exact": True}
    played = play(
        server, world, world.task("example:3"), agent, tmp_path / "e.jsonl", settings=settings, grants=frozenset(grants)
    )
    assert played.ended.outcome == "won"
    made = calls(played.events)
    if not grants:
        assert {call.calls for call in made} == {len(SKILLS) + 2}, "each skill, the end, and the prompt alone"
    assert played.calls == len(played.requests) == sum(clock.attempts for clock in played.clocks)
    words = sum(len(request.text.split()) for request in played.requests)
    assert sum(call.prompt_tokens or 0 for call in made) == words
    assert [call.reply for call in made][:3] == ["find a book,", "pick up the book,", "find a desklamp,"]
    assert [candidate.logprob for candidate in made[0].candidates or ()][:2] == [-0.375, -8.0]


@pytest.mark.games
def test_a_published_game_of_each_type_is_won(server: Server, alfworld_games: Path, tmp_path: Path) -> None:
    world = make_world("alfworld", data=alfworld_games)
    for task in one_of_each_type(world, "valid_seen"):
        assert play(server, world, task, "lota", tmp_path / f"{task.type}.jsonl").ended.outcome == "won", task.type


@pytest.mark.parametrize("house", HOUSES)
def test_the_prompt_holds_the_instruction_and_the_skills_before(world: World, house: str) -> None:
    goal = world.task(house).goal
    told = episode(world, Liking(), house=house)
    *_, last = prompts(told, "selector")
    system, first, *rest = last
    assert "find a vase" not in system.content, "who is held to skills need not be shown them"
    shown, _, asked = first.content.rpartition("\nHuman: ")
    assert shown.count("Human: ") == shown.count(" done.") == 6
    assert asked == f"{goal}\nRobot: 1."
    assert [message.content for message in rest if message.role == "user"] == [f"{n}." for n in range(2, len(rest) // 2 + 2)]
    assert all(said(text) in map(said, TEXTS) for text in thoughts(told))


@pytest.mark.heavy
@pytest.mark.parametrize("house", HOUSES)
def test_a_prompt_tells_nothing_that_was_not_told(server: Server, world: World, tmp_path: Path, house: str) -> None:
    task = world.task(house)
    server.policy = Lister(hasty=True)
    leaks.check(world, task, play(server, world, task, "lota", tmp_path / "e.jsonl", settings={"replanning": True}))
    server.policy = Lister()
    leaks.test_what_wins_makes_no_difference(server, world, tmp_path / "one", "lota", house)
    leaks.test_what_was_not_told_makes_no_difference(server, world, tmp_path / "other", "lota", house, frozenset())


@pytest.mark.parametrize(("agent", "settings"), [("lota", {}), ("lota", {"exact": True}), ("saycan", {})])
def test_all_ways_select_alike(world: World, agent: str, settings: dict[str, bool]) -> None:
    model = Liking(second="open the safe")
    told = episode(world, model, agent, **settings)
    assert (ended(told).outcome, ended(told).turns) == ("won", 10)
    assert steps(told) == steps(episode(world, Liking()))
    skills = [text for text in thoughts(told) if text in TEXTS]
    assert skills[:4] == ["find an egg", "pick up the egg", "find a microwave", "heat the egg"]
    made = calls(told)
    assert model.calls == sum(call.calls or 1 for call in made) == len(made) * (len(SKILLS) + 1 if agent == "saycan" else 1)
    if not settings and agent == "lota":
        return
    assert [call.reply for call in made] == [said(skill) for skill in skills]
    for call in made:
        assert call.candidates is not None
        assert len(call.candidates) == MOST_CANDIDATES
        assert [candidate.logprob for candidate in call.candidates[:2]] == [-0.5, -1.25]
        assert call.candidates[1].text == "open the safe,"


@pytest.mark.parametrize("agent", ["lota", "saycan"])
def test_what_is_not_admissible_is_not_selected(world: World, agent: str) -> None:
    settings = {} if agent == "saycan" else {"exact": True}
    likes = Liking(lambda messages: "open the safe,", second="find an egg")
    bold = episode(world, likes, agent, most=3, **settings)
    assert (ended(bold).steps, steps(bold)) == (0, [])
    assert all(event.body.reason for event in bold if isinstance(event.body, events.TurnSpent))
    meek = episode(world, likes, agent, most=3, grant="admissible", **settings)
    assert len(steps(meek)) == 3
    assert "open the safe" not in thoughts(meek)
    alone = any("language score decides alone" in text for text in thoughts(bold))
    assert alone == (agent == "saycan")
    assert not any("language score" in text for text in thoughts(meek))


def scripted(folder: Path, replies: Sequence[str]) -> str:
    path = folder / "script.yaml"
    path.write_text("replies:\n" + "".join(f"  - {json.dumps(reply)}\n" for reply in replies), "utf-8")
    return f"scripted:{path}"


FAILING = (
    "pick up the egg,",
    "find a fridge,",
    "heat the egg",
    "find an egg",
    "2. pick up the egg",
    "open the drawer",
    "I am not sure, what do you think?",
    "find the microwave",
    "heat the egg,",
    "find a dining table",
    "put down the egg",
)


@pytest.mark.parametrize("replanning", [False, True])
def test_a_conversation_through_failures(world: World, tmp_path: Path, replanning: bool) -> None:
    replies = [*FAILING[:7], *FAILING[7:]]
    told = episode(world, make_model(scripted(tmp_path, replies)), replanning=replanning)
    assert ended(told).outcome == "won"
    *_, last = prompts(told, "selector")
    asked = [message.content for message in last if message.role == "user"]
    failures = [re.findall(r"^\(this skill failed: (.*?)\)", text) for text in asked]
    assert [bool(found) for found in failures] == [replanning and n in {1, 3, 6} for n in range(len(asked))]
    if replanning:
        assert "no egg was seen yet" in failures[1][0]
        assert "you do not hold the egg" in failures[3][0]
        assert asked[1].endswith(") 2.")
        assert asked[0].count("this skill failed") == 3, "the prompt shows what is done about it"
    spent = [event.body for event in told if isinstance(event.body, events.TurnSpent)]
    assert len(spent) == 3, "a skill that fails before anything was done takes its turn"
    assert [event.body.final for event in told if isinstance(event.body, events.ParseFailed)] == [False]
    assert [text for text in thoughts(told) if text.startswith("this skill failed")]


def test_hints_and_rules_reach_the_prompt_once(world: World) -> None:
    model = Liking()
    player = make_agent("lota", world=world, model=model)
    told: list[Event | CallTiming] = []
    terms = EpisodeConfig(world, frozenset({"type"}), rules=RuleBudget.of_statements(("Eggs lie in fridges.",)))
    asyncio.run(run_episode(world.open(world.task("example:1")), player, terms, told.append))
    first, second, *_ = prompts([event for event in told if isinstance(event, Event)], "selector")
    assert "done.\nHuman: heat some egg and put it in diningtable.\n\nKind of task: pick_heat" in first[-1].content
    assert first[-1].content.endswith("- Eggs lie in fridges.\nRobot: 1.")
    assert second[-1].content == "2."


# Replies that are lists.

LISTED = "1. find an egg, 2. pick up the egg, 3. find a microwave, 4. heat the egg, 5. find a dining table, 6. put down the egg"


def chatting(folder: Path, *replies: str) -> Model:
    return make_model(scripted(folder, replies))


def test_a_list_is_carried_out_as_one(world: World, tmp_path: Path) -> None:
    told = episode(world, chatting(tmp_path, f"{LISTED}, 7. done."))
    assert (ended(told).outcome, len(calls(told))) == ("won", 1)
    assert [text for text in thoughts(told) if text in TEXTS][:3] == ["find an egg", "pick up the egg", "find a microwave"]


def test_the_next_message_says_what_was_done(world: World, tmp_path: Path) -> None:
    model = chatting(
        tmp_path, "find an egg, pick up the egg, and then I see", "find a microwave", LISTED.partition("microwave, ")[2]
    )
    told = episode(world, model)
    assert (ended(told).outcome, len(calls(told))) == ("won", 3)
    asked = [prompt[-1].content for prompt in prompts(told, "selector")]
    assert asked[1:] == ["(taken up: 1. find an egg, 2. pick up the egg) 3.", "4."]


def test_what_failed_is_not_said_to_be_carried_out(world: World, tmp_path: Path) -> None:
    wrong = "put down the egg, find an egg, heat the egg"
    for replanning, second in (
        (False, "(taken up: 1. put down the egg, 2. find an egg, 3. heat the egg) 4."),
        (True, "(1. put down the egg failed: you do not hold the egg; your hand is empty) 2."),
    ):
        told = episode(world, chatting(tmp_path, wrong, "done"), replanning=replanning)
        assert prompts(told, "selector")[1][-1].content == second


def test_a_list_ends_where_a_skill_fails_if_that_is_told(world: World, tmp_path: Path) -> None:
    wrong = "find an egg, heat the egg, find a dining table, put down the egg, done"
    model = chatting(tmp_path, wrong, LISTED.partition("1. ")[2])
    told = episode(world, model, replanning=True)
    assert (ended(told).outcome, len(calls(told))) == ("won", 2)
    second = prompts(told, "selector")[1][-1].content
    assert second.startswith("(carried out: 1. find an egg) (2. heat the egg failed: you do not hold the egg")
    told = episode(world, chatting(tmp_path, wrong))
    assert (ended(told).reason, len(calls(told))) == ("gave up: it takes the task for done", 1)
    assert len([text for text in thoughts(told) if text.startswith("this skill failed")]) == 2, "it goes on, as in the paper"


def test_the_whole_list_is_asked_for_once(world: World, tmp_path: Path) -> None:
    told = episode(world, chatting(tmp_path, f"{LISTED}, 7. done."), asking="list")
    assert (ended(told).outcome, len(calls(told))) == ("won", 1)
    system = prompts(told, "selector")[0][0].content
    assert "the list of all skills that the task takes" in system
    assert "the one skill that comes next" not in system
    odd = LISTED.replace("3. find a microwave", "3. dance about")
    told = episode(world, chatting(tmp_path, odd), asking="list")
    assert ended(told).outcome == "lost"
    spent = [event.body.reason or "" for event in told if isinstance(event.body, events.TurnSpent)]
    assert any("'dance about' is none of the skills" in reason for reason in spent)
    assert (len(calls(told)), ended(told).reason) == (1, "gave up: the list is carried out, and the task goes on")
    for first, kept in (
        ("Sure. Here is the list:\n1. go to the kitchen, 2. find an egg, 3. dance, 4. done.", ["go to the kitchen", "dance"]),
        ("This is the list: go to the kitchen, find an egg, done", ["go to the kitchen"]),
    ):
        told = episode(world, chatting(tmp_path, first), asking="list")
        spent = [event.body.reason or "" for event in told if isinstance(event.body, events.TurnSpent)]
        assert spent == [f"{each!r} is none of the skills" for each in kept], "what comes first is not dropped either"
    again = episode(
        world,
        chatting(tmp_path, odd, LISTED.partition("2. ")[2].replace("pick up the egg, ", "")),
        asking="list",
        replanning=True,
    )
    assert (ended(again).outcome, len(calls(again))) == ("won", 2)
    with pytest.raises(ConfigurationError, match="exact=on scores single skills"):
        make_agent("lota", world=world, model=Liking(), settings={"exact": "on", "asking": "list"})


def test_who_is_told_that_a_skill_is_done_may_go_on(world: World, tmp_path: Path) -> None:
    model = chatting(tmp_path, "find an egg", "find an egg", LISTED.partition("1. ")[2])
    told = episode(world, model, replanning=True)
    assert ended(told).outcome == "won"
    assert prompts(told, "selector")[2][-1].content == "(this skill was done already, and changed nothing) 3."


# What a model cannot do, and what goes wrong.


@pytest.mark.parametrize(("agent", "settings"), [("saycan", []), ("lota", ["exact=on"])])
def test_who_needs_scores_says_so_before_the_first_call(
    server: Server, tmp_path: Path, agent: str, settings: list[str]
) -> None:
    flags = {"split": "generated", "limit": 3, "agent": agent, "model": server.model(), "set": settings}
    with pytest.raises(Unsupported, match=r"does not score given texts.*llama:FILE\.gguf"):
        asyncio.run(run_batch(make_run_spec(configure(flags, tmp_path)), tmp_path / "run"))
    assert not server.requests
    assert not (tmp_path / "run" / "run.json").exists()


@pytest.mark.heavy
@pytest.mark.parametrize("trouble", [backend.saying("find an egg,"), backend.raw(b'{"choices": []}'), backend.status(401)])
def test_an_endpoint_that_no_longer_scores_ends_the_episode_as_the_models(
    server: Server, world: World, tmp_path: Path, trouble: backend.Behaviour
) -> None:
    server.behave(*[backend.answer] * 100, otherwise=trouble)
    played = play(server, world, world.task("example:1"), "saycan", tmp_path / "e.jsonl")
    assert (played.ended.outcome, played.ended.boundary, played.ended.steps) == ("error", "model", 0)
    assert not calls(played.events)


def test_who_cannot_be_held_to_skills_is_shown_them(server: Server, world: World, tmp_path: Path) -> None:
    played = play(server, world, world.task("example:1"), "lota", tmp_path / "e.jsonl")
    assert "open the fridge, open the microwave" in played.requests[0].messages[0]["content"]
    said_first = next(event.body.text for event in played.events if isinstance(event.body, events.Thought))
    assert "it is shown the skills" in said_first


@dataclass
class Faithless(Liking):
    """A model behind a server that keeps to its choices for so many calls, and then breaks or refuses them."""

    keeps: int = 0
    held: Held = "broken"
    asked: list[Request] = field(default_factory=list[Request])

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        if request.choices is None:
            return Completion(self.policy([{"role": each.role, "content": each.content} for each in request.messages]))
        if len(self.asked) <= self.keeps:
            return await super().complete(request)
        return Completion("I would look for an egg first.", held=self.held)


@pytest.mark.heavy
@pytest.mark.parametrize("keeps", [0, 2])
@pytest.mark.parametrize("held", ["broken", "refused"])
def test_who_does_not_keep_to_the_skills_is_shown_them_from_then_on(world: World, keeps: int, held: Held) -> None:
    def played(model: Model, recorded: list[Event] | None = None, **settings: str) -> list[Event]:
        told: list[Event] = []
        config, env = EpisodeConfig(world), world.open(world.task("example:1"))

        def listen(event: Event | CallTiming) -> None:
            if isinstance(event, Event):
                told.append(event)

        def agent(live: Model | None, _: object = None) -> Agent:
            return make_agent("lota", world=world, model=live, settings=settings)

        if recorded is None:
            asyncio.run(run_episode(env, agent(model), config, listen))
        else:
            asyncio.run(resume_episode(env, agent, config, recorded, listen, model=model))
        return [*(recorded or ()), *told]

    model = Faithless(keeps=keeps, held=held)
    told = played(model)
    assert ended(told).outcome == "won"
    assert [call.held for call in calls(told)] == ["kept"] * keeps + [held] + [None] * (len(model.asked) - keeps - 1)
    assert [request.choices is None for request in model.asked] == [False] * (keeps + 1) + [True] * (
        len(model.asked) - keeps - 1
    )
    thoughts = [event.body.text for event in told if isinstance(event.body, events.Thought)]
    assert sum("it is shown the skills" in text for text in thoughts) == 1
    assert sum("answers freely" in text for text in thoughts) == 1
    listing = "These are all the skills that you have"
    for request in model.asked[keeps + 1 :]:
        assert "".join(message.content for message in request.messages).count(listing) == 1
    # Each prompt can be put together again from the record, which goes on wherever it stopped.
    prompt: list[str] = []
    for call, request in zip(calls(told), model.asked, strict=True):
        prompt = [*prompt[: call.kept], *(message.content for message in call.added)]
        assert prompt == [message.content for message in request.messages]
        prompt.append(call.reply)
    for end in range(1, len(told), 2):
        assert ended(played(Faithless(held=held, keeps=keeps), told[:end])).outcome == "won"
    assert played(Faithless(), told) == told
    with_readings = ended(played(Faithless(keeps=keeps, held=held), readings="2"))
    assert (with_readings.outcome, with_readings.boundary) == ("error", "model")
    insisting = ended(played(Faithless(keeps=keeps, held=held), form="held"))
    assert (insisting.outcome, insisting.boundary) == ("error", "model")


@pytest.mark.heavy
@pytest.mark.parametrize("chose", [True, False])
def test_a_record_goes_on_whether_or_not_its_model_can_choose_now(world: World, *, chose: bool) -> None:
    settings = {"form": "auto"}
    config, task, told = EpisodeConfig(world, settings=settings), world.task("example:1"), list[Event]()

    def model(*, chooses: bool) -> Liking:
        return Faithless(keeps=99, can=Capabilities(choices=chooses))

    def agent(live: Model | None, _: object = None) -> Agent:
        return make_agent("lota", world=world, model=live, settings=settings)

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            told.append(event)

    assert asyncio.run(run_episode(world.open(task), agent(model(chooses=chose)), config, listen)).outcome == "won"
    assert {call.held for call in calls(told)} == {"kept" if chose else None}
    first = next(event.id for event in told if isinstance(event.body, events.ModelCall))
    for end in range(first + 1, len(told) + 1):
        resuming = resume_episode(world.open(task), agent, config, told[:end], lambda _: None, model=model(chooses=not chose))
        assert asyncio.run(resuming).outcome == "won"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("reply", "unreadable"),
    [
        ("", 6),
        ("\x00\x1b[2J" * 50, 6),
        ("find a unicorn,", 6),
        ("{" * 5_000, 6),
        ("find,", 6),
        ("open the safe,", 0),
        ("x, " * 9_999, 6),
    ],
    ids=range(7),
)
def test_rubbish_and_unknown_things_spend_turns(
    server: Server, world: World, tmp_path: Path, reply: str, unreadable: int
) -> None:
    server.behave(otherwise=backend.saying(reply))
    played = play(
        server, world, world.task("example:1"), "lota", tmp_path / "e.jsonl", max_turns=3, settings={"replanning": True}
    )
    assert (played.ended.outcome, played.ended.boundary, played.ended.turns) == ("lost", None, 3)
    assert played.kinds().count("unreadable") == unreadable
    assert played.kinds().count("spent") == 3


def test_going_in_circles_is_bounded(world: World) -> None:
    told = episode(world, Liking(lambda messages: "find a fridge,"), most=4)
    assert ended(told).reason == 'gave up: it says "find a fridge" again and again, which is done'
    assert steps(told) == ["go to fridge 1"]
    assert len(calls(told)) == 4
    early = episode(world, Liking(lambda messages: "done."))
    assert (ended(early).outcome, ended(early).reason) == ("lost", "gave up: it takes the task for done")


@pytest.mark.heavy
@pytest.mark.parametrize(("agent", "settings"), [("lota", {"exact": True, "replanning": True}), ("saycan", {})])
def test_an_episode_that_broke_off_is_gone_on_with(world: World, agent: str, settings: dict[str, bool]) -> None:
    policy = Lister(hasty=bool(settings))

    def liking() -> Liking:
        return Liking(policy, second="find a safe")

    whole = episode(world, liking(), agent, **settings)
    for cut in (2, len(whole) // 2, len(whole) - 1):
        model = liking()
        fresh = asyncio.run(_resumed(world, model, agent, settings, whole[:cut]))
        assert [*whole[:cut], *fresh] == whole
        assert model.calls == sum(call.calls or 1 for call in calls(fresh))


async def _resumed(world: World, model: Model, agent: str, settings: dict[str, bool], recorded: Sequence[Event]) -> list[Event]:
    told: list[Event | CallTiming] = []

    def make(live: Model | None, _: object) -> Agent:
        return make_agent(agent, world=world, model=live, settings=settings)

    env = world.open(world.task(HOUSES[0]))
    await resume_episode(env, make, EpisodeConfig(world), recorded, told.append, model=model)
    return [event for event in told if isinstance(event, Event)]


def test_a_budget_counts_every_score(tmp_path: Path) -> None:
    flags = {"split": "example", "limit": 1, "agent": "saycan", "model": "openai:liking@http://127.0.0.1:9/v1"}
    plan, model = make_run_spec(configure(flags, tmp_path)), Liking()
    each = len(SKILLS) + 1
    with pytest.raises(Stopped, match="budget of 300 calls"):
        asyncio.run(run_batch(plan, tmp_path / "run", RunOptions(model=model), BudgetTracker(Budget(calls=300))))
    assert each < model.calls == 300
    purse = BudgetTracker(Budget(calls=100 * each))
    summary = asyncio.run(run_batch(plan, tmp_path / "run", RunOptions(model=model), purse))
    assert (summary.overall.won, summary.overall.errors) == (1, 0)
    assert purse.used.calls == summary.overall.calls == 6 * each


FORMS: dict[str, Role[Any]] = {
    "one skill": reader_of(["find a mug", "done"], ["find a mug"]),
    "a list": reader_of(["find a mug", "pick up the mug", "done"], ["find a mug", "pick up the mug", "done"], whole=True),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_role_reads_what_its_form_allows(name: str) -> None:
    check_form(FORMS[name], Random(name))
