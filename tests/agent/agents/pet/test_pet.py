"""PET in conversation with the scripted model, and on real games over the local endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.pet import agent as roles
from housequest.agent.agents.pet.agent import MOST_SUBTASKS, ONE, SUBTASKS, TRACKER, VERDICT_TOKENS, bare, listing
from housequest.agent.agents.spec import make_agent
from housequest.agent.base import RequiresCapabilities
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, read_episode
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.models.base import Capabilities, Completion, Model, Request, TokenChoice
from housequest.agent.models.registry import make_model
from housequest.agent.roles.base import ReplyError, Role
from housequest.worlds.base import World
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.registry import make_world
from tests.agent.agents.test_planning_roles import blanks, read_or_refused
from tests.agent.playing import play
from tests.agent.role_forms import check_form
from tests.backends.pet import PetPolicy
from tests.backends.policy import Solver
from tests.backends.server import Server


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def bodies(played: Sequence[Event], kind: str) -> list[Any]:
    return [event.body for event in played if event.body.kind == kind]


def calls(played: Sequence[Event], role: str) -> list[events.ModelCall]:
    return [body for body in bodies(played, "called") if body.role == role]


def asked(call: events.ModelCall) -> str:
    return call.added[-1].content


# Whole games.


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("acting", "house"), [("react", "example:1"), ("reasoner-actor", "example:2"), ("reasoner-actor", "example:3")]
)
def test_a_bundled_house_is_won(server: Server, world: World, tmp_path: Path, acting: str, house: str) -> None:
    played = play(server, world, world.task(house), "pet", tmp_path / "e.jsonl", settings={"acting": acting})
    assert played.ended.outcome == "won"
    # The plan is the list of sub-tasks throughout; what a reasoner plans for one of them is a thought.
    (plan,) = bodies(played.events, "planned")
    tracked = [body.step for body in bodies(played.events, "progressed")]
    assert {body.role for body in bodies(played.events, "thought") if body.text.startswith("Plan:")} == (
        {"reasoner"} if acting == "reasoner-actor" else set()
    )
    # The last sub-task ends with the episode, so nobody is asked about it.
    assert tracked == list(range(1, len(plan.steps)))
    assert len(calls(played.events, "tracker")) == played.ended.turns - 1


@pytest.mark.games
def test_examples_are_the_nearest_tasks_of_train(server: Server, alfworld_games: Path, tmp_path: Path) -> None:
    world = make_world("alfworld", data=alfworld_games)
    task = world.task("valid_seen:1")
    played = play(server, world, task, "pet", tmp_path / "e.jsonl", settings={"examples": "train", "shots": 5})
    assert played.ended.outcome == "won"
    (call,) = calls(played.events, "subtasks")
    shown = [line for line in asked(call).splitlines() if line.startswith("What has to be done")]
    assert len(shown) == 6
    assert len(set(shown[:-1])) == 5
    goals = {bare(each.goal) for each in world.tasks("train")}
    assert all(line.split('"')[1] in goals for line in shown[:-1])


@pytest.mark.heavy
def test_what_is_masked_is_neither_shown_nor_possible(server: Server, world: World, tmp_path: Path) -> None:
    played = play(server, world, world.task("example:1"), "pet", tmp_path / "e.jsonl", grants=frozenset({"admissible"}))
    assert played.ended.outcome == "won"
    first, *_ = bodies(played.events, "judged")
    masked = [thing.name for thing in first.things if thing.masked]
    shown = asked(calls(played.events, "react")[0])
    assert "drawer 1" in masked
    assert first.target == "take an egg"
    assert not [name for name in masked if name in shown]
    assert "go to fridge 1" in shown


@pytest.mark.heavy
def test_a_name_is_judged_once_for_a_subtask_and_again_for_the_next(server: Server, world: World, tmp_path: Path) -> None:
    played = play(server, world, world.task("example:2"), "pet", tmp_path / "e.jsonl")
    pairs = [(body.target, thing.name) for body in bodies(played.events, "judged") for thing in body.things]
    assert len(pairs) == len(set(pairs))
    assert len({target for target, _ in pairs}) == len(set(bodies(played.events, "planned")[0].steps)) == 2
    alone = play(server, world, world.task("example:2"), "pet", tmp_path / "e.jsonl", settings={"judged": "task"})
    assert {body.target for body in bodies(alone.events, "judged")} == {world.task("example:2").goal.rstrip(".")}


def test_the_acting_agent_begins_anew_with_each_subtask_and_its_prompts_grow_in_between(
    server: Server, world: World, tmp_path: Path
) -> None:
    played = play(server, world, world.task("example:1"), "pet", tmp_path / "e.jsonl")
    told = [request.messages for request in server.requests if request.text.startswith("You act in a household")]
    anew = [after for before, after in pairwise(told) if after[: len(before)] != before]
    assert [prompt[1]["content"].partition("\n\nTask: ")[2].partition("\n")[0] for prompt in [told[0], *anew]] == [
        *bodies(played.events, "planned")[0].steps
    ]
    assert all(len(prompt) == 2 for prompt in anew)
    assert "> take egg" in anew[0][1]["content"]
    assert played.ended.outcome == "won"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("off", "roles"),
    [
        ({"plan": False}, {"eliminator", "react"}),
        ({"eliminate": False}, {"subtasks", "tracker", "react"}),
        ({"track": False}, {"subtasks", "eliminator", "react"}),
        ({"plan": False, "eliminate": False, "track": False}, {"react"}),
    ],
)
def test_a_module_that_is_off_is_not_asked(
    server: Server, world: World, tmp_path: Path, off: dict[str, bool], roles: set[str]
) -> None:
    played = play(server, world, world.task("example:1"), "pet", tmp_path / "e.jsonl", settings=off, max_turns=3)
    assert {body.role for body in bodies(played.events, "called")} == roles


def test_without_any_module_it_is_the_acting_agent(server: Server, world: World, tmp_path: Path) -> None:
    off = {"plan": False, "eliminate": False, "track": False}
    task = world.task("example:1")
    bare = play(server, world, task, "react", tmp_path / "react.jsonl", max_turns=5)
    wrapped = play(server, world, task, "pet", tmp_path / "pet.jsonl", settings=off, max_turns=5)
    assert [request.messages for request in wrapped.requests] == [request.messages for request in bare.requests]


def test_a_tracker_that_notices_nothing_sees_three_steps_and_no_more(server: Server, world: World, tmp_path: Path) -> None:
    server.policy = Solver(pet=PetPolicy(forgetful=True))
    played = play(server, world, world.task("example:1"), "pet", tmp_path / "e.jsonl", max_turns=6)
    assert [asked(call).count("> ") for call in calls(played.events, "tracker")] == [1, 2, 3, 3, 3]
    assert not bodies(played.events, "progressed")


# The scripted model, through failure.


def scripted(folder: Path, **replies: Sequence[str] | str) -> str:
    """A script that answers each role; a text is said again and again, and several one after the other."""
    systems = {
        "subtasks": "tasks into sub-tasks",
        "eliminator": "You know where things are kept",
        "tracker": "You watch somebody",
        "react": "You act in a",
    }
    lines = ["rules:"]
    for role, said in replies.items():
        each = [said] if isinstance(said, str) else said
        lines += [f'  - role: "{systems[role]}"', "    reply:" if isinstance(said, str) else "    replies:"]
        quoted = ['"' + reply.replace("\n", "\\n") + '"' for reply in each]
        if isinstance(said, str):
            lines[-1] += f" {quoted[0]}"
        else:
            lines += [f"      - {reply}" for reply in quoted]
    path = folder / "script.yaml"
    path.write_text("\n".join(lines), "utf-8")
    return f"scripted:{path}"


def episode(world: World, task: str, model: str, max_turns: int = 8, **settings: str) -> list[Event]:
    told: list[Event] = []
    agent = make_agent("pet", world=world, model=make_model(model), settings=settings)
    terms = EpisodeConfig(world, max_turns=max_turns)
    env = world.open(world.task(task))
    asyncio.run(run_episode(env, agent, terms, lambda event: told.append(event) if isinstance(event, Event) else None))
    return told


LOOK = "Thought: hm\nAction: look"


def test_a_list_that_ends_early_leads_back_to_the_whole_task(world: World, tmp_path: Path) -> None:
    model = scripted(tmp_path, subtasks="take a mug, heat the mug", eliminator="cabinet 1: 0.1", tracker="Yes", react=LOOK)
    told = episode(world, "example:1", model, max_turns=5)
    assert [body.step for body in bodies(told, "progressed")] == [1, 2]
    aims = [asked(call).partition("\n\nTask: ")[2].partition("\n")[0] for call in calls(told, "react")]
    assert [aim for aim in aims if aim] == ["take a mug", "heat the mug", "heat some egg and put it in diningtable."]
    assert len(calls(told, "tracker")) == 2, "there is nothing left to watch"
    assert bodies(told, "judged")[-1].target == "heat some egg and put it in diningtable"


@pytest.mark.parametrize(
    "rubbish",
    ["", "?!", "x" * 30_000, ", ".join(["take a mug"] * (MOST_SUBTASKS + 1)), "\n".join(["1. " + "x" * 500] * 3), "{" * 900],
    ids=["nothing", "marks", "one word", "endless", "long", "braces"],
)
def test_a_plan_that_cannot_be_read_spends_one_turn_and_the_task_takes_its_place(
    world: World, tmp_path: Path, rubbish: str
) -> None:
    told = episode(world, "example:1", scripted(tmp_path, subtasks=rubbish, eliminator="?", tracker="?", react=LOOK), 4)
    assert [body.final for body in bodies(told, "unreadable") if body.role == "subtasks"] == [False, True]
    assert [event.body.kind for event in told].count("spent") == 1
    assert len(bodies(told, "stepped")) == 3
    assert "Task: heat some egg" in asked(calls(told, "react")[0])
    assert not calls(told, "tracker")


def test_scores_and_verdicts_that_cannot_be_read_mask_nothing_and_finish_nothing(world: World, tmp_path: Path) -> None:
    model = scripted(tmp_path, subtasks="take a mug", eliminator="I cannot say.", tracker="Perhaps.", react=LOOK)
    told = episode(world, "example:1", model, 3)
    things = [thing for body in bodies(told, "judged") for thing in body.things]
    assert things
    assert {(thing.score, thing.masked) for thing in things} == {(None, False)}
    assert not bodies(told, "progressed")
    assert {body.role for body in bodies(told, "unreadable")} == {"eliminator", "tracker"}
    assert len(bodies(told, "stepped")) == 3
    assert len(calls(told, "eliminator")) == 2, "places, asked about twice; they are not asked about again"


def test_what_is_held_is_never_masked(world: World, tmp_path: Path) -> None:
    route = ["go to diningtable 1", "take apple 1 from diningtable 1", "look"]
    model = scripted(
        tmp_path,
        subtasks="take an apple",
        eliminator="apple 1: 0.0\ndiningtable 1: 0.0\nplate 1: 0",
        tracker="No",
        react=[f"Thought: on\nAction: {command}" for command in route],
    )
    told: list[Event] = []
    agent = make_agent("pet", world=world, model=make_model(model))
    terms = EpisodeConfig(world, frozenset({"admissible"}), max_turns=3)
    env = world.open(world.task("example:1"))
    asyncio.run(run_episode(env, agent, terms, lambda event: told.append(event) if isinstance(event, Event) else None))
    first, there, holding = map(asked, calls(told, "react"))
    assert "diningtable 1" not in first
    assert "apple 1" not in there.partition("\n\n")[0]
    assert "take apple 1" not in there
    assert "move apple 1 to diningtable 1" in holding


def test_the_scripted_world_has_nothing_to_eliminate(tmp_path: Path) -> None:
    world = make_world("scripted")
    route = ("go to study", "take key", "go to hall", "go to cellar", "unlock box", "take coin")
    commands = [f"Thought: on\nAction: {command}" for command in route]
    told = episode(world, "demo:1", scripted(tmp_path, subtasks="take the coin", tracker="No", react=commands))
    assert bodies(told, "ended")[0].outcome == "won"
    assert not bodies(told, "judged")


# What a model can do.


@dataclass
class Sure(Model):
    """A model that gives log-probabilities of yes and no, and plays by a policy."""

    able: Capabilities = field(default_factory=lambda: Capabilities(log_probabilities=True))
    name: str = "sure"
    policy: Solver = field(default_factory=Solver)
    asked: list[int] = field(default_factory=list[int])
    longest: set[int | None] = field(default_factory=set[int | None])

    async def capabilities(self) -> Capabilities:
        return self.able

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request.top_logprobs)
        reply = self.policy([{"role": message.role, "content": message.content} for message in request.messages])
        if not request.top_logprobs:
            return Completion(reply)
        self.longest.add(request.max_tokens)
        # What it says is the less likely word: probability counts, not the answer.
        other = "No" if reply == "Yes" else "Yes"
        return Completion(other, tokens=(TokenChoice(other, log(0.3), ((reply, log(0.6)), ("Perhaps", log(0.1)))),))


class ShortPrompts(Sure):
    """A model that reads short prompts of its own alone."""

    def reads(self, prompt: str) -> bool:
        return bool(prompt)


def test_probability_decides_where_the_model_gives_it_and_a_record_goes_on_with_it(world: World, tmp_path: Path) -> None:
    path, model = tmp_path / "e.jsonl", Sure()
    settings = {"scores": "probability"}
    agent = make_agent("pet", world=world, model=model, settings=settings)
    terms, task = EpisodeConfig(world), world.task("example:1")
    with EpisodeRecorder(path) as recorder:
        ended = asyncio.run(run_episode(world.open(task), agent, terms, recorder))
    told = list(read_episode(path))
    assert ended.outcome == "won"
    scores = {round(thing.score, 9) for body in bodies(told, "judged") for thing in body.things}
    assert scores == {round(1 / 3, 9), round(2 / 3, 9)}
    half, fresh = told[: len(told) // 2], list[Any]()
    again = resume_episode(
        world.open(task),
        lambda model, _: make_agent("pet", world=world, model=model, settings=settings),
        terms,
        half,
        fresh.append,
        model=Sure(),
    )
    assert asyncio.run(again) == ended
    assert [event for event in fresh if isinstance(event, Event)] == told[len(half) :]


def test_names_cost_a_call_or_two_unless_probabilities_are_asked_for(world: World) -> None:
    calls: dict[str, int] = {}
    for scores in ("answer", "auto", "probability"):
        model = Sure()
        agent = make_agent("pet", world=world, model=model, settings={"scores": scores})
        asyncio.run(run_episode(world.open(world.task("example:1")), agent, EpisodeConfig(world), lambda _: None))
        calls[scores] = len(model.asked)
        # What is read off the first word is not written on to the end of a budget.
        assert model.longest == (set() if scores == "answer" else {VERDICT_TOKENS})
    assert calls["auto"] == calls["probability"] > 2 * calls["answer"]
    free = Sure()
    agent = make_agent("pet", world=world, model=free, settings={"scores": "probability", "form": "free"})
    asyncio.run(run_episode(world.open(world.task("example:1")), agent, EpisodeConfig(world), lambda _: None))
    assert (len(free.asked), free.longest) == (calls["probability"], {VERDICT_TOKENS})
    default = Sure()
    agent = make_agent("pet", world=world, model=default)
    asyncio.run(run_episode(world.open(world.task("example:1")), agent, EpisodeConfig(world), lambda _: None))
    assert len(default.asked) == calls["answer"]


@dataclass
class Hesitant(Sure):
    """A model whose first word is neither yes nor no; ``likely`` tells whether either is likely all the same."""

    likely: bool = True

    async def complete(self, request: Request) -> Completion:
        said = await super().complete(request)
        if not request.top_logprobs:
            return said
        (choice,) = said.tokens
        return Completion(
            "Perhaps it", tokens=(TokenChoice("Perhaps", log(0.1), choice.alternatives[:1] if self.likely else ()),)
        )


def test_a_first_word_that_is_no_verdict_is_not_written_on_where_probability_decides(world: World) -> None:
    outcomes: dict[bool, list[Event]] = {}
    for likely in (True, False):
        told: list[Event] = []
        model = Hesitant(likely=likely)
        agent = make_agent("pet", world=world, model=model, settings={"scores": "probability"})
        env = world.open(world.task("example:1"))
        asyncio.run(run_episode(env, agent, EpisodeConfig(world), told.append))
        outcomes[likely] = [event for event in told if isinstance(event, Event)]
        assert model.longest == {VERDICT_TOKENS}
        assert bodies(outcomes[likely], "ended")[0].outcome == "won"
        verdicts = model.asked.count(0), len(model.asked) - model.asked.count(0)
        unread = [body for body in bodies(outcomes[likely], "unreadable") if body.role in {"eliminator", "tracker"}]
        assert len(unread) == (0 if likely else verdicts[1]), "then it is let write its answer"
    scores = {thing.score for body in bodies(outcomes[False], "judged") for thing in body.things}
    assert scores == {0.0, 1.0}


@pytest.mark.parametrize(
    ("model", "settings", "way_out"),
    [
        (ShortPrompts(), {}, "name a chat model"),
        (Sure(Capabilities()), {"scores": "probability"}, "leave that out"),
    ],
)
def test_what_the_model_lacks_is_said_before_the_first_call(
    world: World, model: Sure, settings: dict[str, str], way_out: str
) -> None:
    agent = make_agent("pet", world=world, model=model, settings=settings)
    ended = asyncio.run(run_episode(world.open(world.task("example:1")), agent, EpisodeConfig(world), lambda _: None))
    assert (ended.outcome, ended.boundary) == ("error", "configuration")
    assert way_out in (ended.message or "")
    assert isinstance(agent, RequiresCapabilities)
    with pytest.raises(Unsupported, match=way_out):
        asyncio.run(agent.check())
    assert not model.asked


@pytest.mark.parametrize(
    ("key", "value"),
    [("acting", "pet"), ("judged", "everything"), ("scores", "sure"), ("threshold", "1.5"), ("examples", "all")],
)
def test_a_wrong_setting_is_refused(world: World, key: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=key):
        make_agent("pet", world=world, model=Sure(), settings={key: value})


# Reading replies.


@pytest.mark.parametrize(
    "reply",
    [
        "take an egg, heat the egg, put the egg in or on the table",
        "Answer: take an egg, heat the egg, and put the egg in or on the table.",
        "1. take an egg\n2. heat the egg\n3. put the egg in or on the table",
        '```json\n{"subtasks": ["take an egg", "heat the egg", "put the egg in or on the table"]}\n```',
        "<think>two, no, three</think>take an egg -> heat the egg -> put the egg in or on the table",
    ],
)
def test_subtasks_are_read_however_they_are_written(reply: str) -> None:
    assert SUBTASKS.read(reply) == ("take an egg", "heat the egg", "put the egg in or on the table")


def test_scores_are_read_however_they_are_written() -> None:
    names = ["desk 1", "desk 11", "pen 2"]
    assert roles.listing(names).read("desk 1: 0.5\ndesk 11: 1\npen 2: 0") == {"desk 1": 0.5, "desk 11": 1, "pen 2": 0}
    assert roles.listing(names).read('{"desk 11": 0.25, "Pen 2": "80%", "bed 1": 1}') == {"desk 11": 0.25, "pen 2": 0.8}
    assert roles.listing(names).read("- **desk 1**: 0.3 (a desk)\n- pen 2: 7") == {"desk 1": 0.3}


@pytest.mark.parametrize(
    ("reply", "is_yes"), [("Yes", True), ("no.", False), ("**Answer: Yes**, it is", True), ("No, not yet", False)]
)
def test_a_verdict_is_read(reply: str, is_yes: bool) -> None:
    assert roles.ONE.read(reply) is is_yes


def test_a_probability_sums_the_ways_to_say_it() -> None:
    said = [("Yes", log(0.3)), (" yes", log(0.1)), ("No", log(0.1)), ("I", log(0.4)), ("", float("-inf"))]
    chance = roles.probability(said)
    assert chance is not None
    assert abs(chance - 0.8) < 1e-9
    assert roles.probability([("Maybe", 0.0)]) is None


@given(st.text(max_size=300))
def test_any_reply_is_read_or_refused(reply: str) -> None:
    for role in (SUBTASKS, roles.listing(["desk 1", "pen 2"]), roles.ONE):
        try:
            role.read(reply)
        except ReplyError:
            continue


@pytest.mark.heavy
@blanks(SUBTASKS)
def test_an_endless_blank_is_read_in_linear_time(role: Role[Any], reply: str) -> None:
    read_or_refused(role, reply)


FORMS: dict[str, Role[Any]] = {
    "subtasks": SUBTASKS,
    "tracker": TRACKER,
    "one": ONE,
    "listing": listing(["fridge 1", "shelf 2"]),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_role_reads_what_its_form_allows(name: str) -> None:
    check_form(FORMS[name], Random(name))
