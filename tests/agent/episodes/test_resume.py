"""An episode that broke off anywhere is gone on with from its record, as if nothing had happened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Accept, Act, Again, Agent, Another, AskPerson, Play, Proceed, Replace, Stop, Turn
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import (
    CallTiming,
    Ended,
    Event,
    Intervened,
    ModelCall,
    ParseFailed,
    Stepped,
    Thought,
    TurnSpent,
    branch,
)
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, read_episode
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.models.base import Model
from housequest.agent.models.registry import make_model
from housequest.knowledge.choosing import RuleBudget
from housequest.worlds.base import Env, Step, World
from housequest.worlds.env import Wrapper
from housequest.worlds.errors import ConfigurationError, WorldError
from housequest.worlds.registry import make_world
from tests.agent.agents.test_agents import FIRST, KEEP, WON, planned, react_script
from tests.agent.episodes.attending import Back, Moody, Other, Person
from tests.agent.episodes.test_episode import Reciter
from tests.agent.episodes.test_rewind import Uncopied
from tests.agent.playing import ANYWHERE, CHATTING, EVERY, PLANNERS, SCORING
from tests.backends.policy import Solver
from tests.backends.server import Messages, Server, answer

RULES = ("keys lie in studies", "coins are round")


@pytest.fixture(scope="module")
def house() -> World:
    return make_world("alfworld")


@pytest.fixture(scope="module")
def scripted() -> World:
    return make_world("scripted")


@dataclass
class Setting:
    """All that an episode is played with, made anew for each time that it is played; ``None`` for nobody or nothing."""

    env: Callable[[], Env]
    agent: Callable[[Model | None, AskPerson | None], Agent]
    terms: EpisodeConfig = field(
        default_factory=lambda: EpisodeConfig(make_world("scripted"), rules=RuleBudget.of_statements(RULES))
    )
    person: Person | None = None
    model: Callable[[Person], Model] | None = None
    question: AskPerson | None = None


@dataclass
class Lived:
    """An episode that was played to its end, with the person as they were after each event (first: before any)."""

    events: list[Event]
    lines: list[bytes]
    persons: list[Person]
    ended: Ended


def line(event: Event) -> bytes:
    return event.model_dump_json(exclude_none=True).encode()


async def live(setting: Setting) -> Lived:
    person = (setting.person or Person(attended=False)).twin()
    persons = [person.twin()]
    told: list[Event] = []

    def listen(event: Event | CallTiming) -> None:
        person.hear(event)
        if isinstance(event, Event):
            told.append(event)
            persons.append(person.twin())

    model = setting.model(person) if setting.model else None
    env = setting.env()
    try:
        ended = await run_episode(env, setting.agent(model, setting.question), setting.terms, listen, person)
    finally:
        env.close()
        if model is not None:
            await model.aclose()
    return Lived(told, [line(event) for event in told], persons, ended)


async def resume(setting: Setting, recorded: list[Event], person: Person) -> tuple[list[Event | CallTiming], Ended]:
    told: list[Event | CallTiming] = []

    def listen(event: Event | CallTiming) -> None:
        person.hear(event)
        told.append(event)

    model = setting.model(person) if setting.model else None
    overseer = person if setting.person else None
    env = setting.env()
    try:
        ended = await resume_episode(
            env, setting.agent, setting.terms, recorded, listen, overseer, model=model, question=setting.question
        )
    finally:
        env.close()
        if model is not None:
            await model.aclose()
    return told, ended


def cut_everywhere(setting: Setting, *, every: int = 1) -> Lived:
    """Live the episode, then cut its record after each event (or ``every`` so many) and go on.

    There are always the same bytes, and none twice.
    """

    lives: list[Lived] = []

    async def everything() -> None:
        lived = await live(setting)
        lives.append(lived)
        for cut in range(0, len(lived.events) + 1, every):
            told, ended = await resume(setting, lived.events[:cut], lived.persons[cut].twin())
            new = [event for event in told if isinstance(event, Event)]
            assert lived.lines[:cut] + [line(event) for event in new] == lived.lines, f"cut after {cut} events"
            assert ended == lived.ended
            calls = [event.id for event in new if isinstance(event.body, ModelCall)]
            assert [event.of for event in told if isinstance(event, CallTiming)] == calls

    # Not as the coroutine's result: asyncio writes that out when it takes its signal handler away.
    asyncio.run(everything())
    return lives[0]


def agent(world: World, name: str, **settings: str) -> Callable[[Model | None, AskPerson | None], Agent]:
    return lambda model, question: make_agent(name, world=world, model=model, question=question, settings=settings)


def kinds(lived: Lived) -> set[str]:
    return {event.body.action if isinstance(event.body, Intervened) else event.body.kind for event in lived.events}


@pytest.mark.heavy
@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_expert(scripted: World, number: int) -> None:
    lived = cut_everywhere(Setting(lambda: scripted.open(scripted.task(f"demo:{number}")), agent(scripted, "expert")))
    assert lived.ended.outcome == "won"


@pytest.mark.heavy
@pytest.mark.parametrize("name", ANYWHERE)
def test_an_agent_of_the_scripted_model(scripted: World, tmp_path: Path, name: str) -> None:
    script = react_script(tmp_path) if name == "react" else planned(tmp_path, [FIRST, KEEP, KEEP], WON)
    setting = Setting(lambda: scripted.open(scripted.task("demo:1")), agent(scripted, name), model=lambda _: make_model(script))
    assert cut_everywhere(setting).ended.outcome == "won"


def rubbish_at_times(messages: Messages) -> str:
    told = messages[-1]["content"]
    # Planners are asked less often: the plan that they make anew is none.
    again = "Completed plan: Navigation" in told or any("Why it failed" in message["content"] for message in messages)
    if again or len(messages) in {4, 6, 10}:
        return "I would rather\nnot say."
    return Solver(wrong_first_plan=any(start in messages[0]["content"] for start in PLANNING))(messages)


PLANNING = ("You are the planner of a robot", "You plan household tasks for a robot")
"""How the instructions of planners begin that are called for a plan alone."""


@pytest.mark.heavy
@pytest.mark.parametrize("name", CHATTING)
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_replies_that_cannot_be_read(house: World, name: str, every: int) -> None:
    setting = Setting(
        lambda: house.open(house.task("example:2")),
        agent(house, name),
        EpisodeConfig(house, frozenset({"admissible", "type"}), 9, rules=RuleBudget.of_statements(RULES)),
        model=lambda _: Moody(rubbish_at_times),
    )
    lived = cut_everywhere(setting, every=every)
    assert {TurnSpent, ParseFailed, Stepped} <= {type(event.body) for event in lived.events}


@pytest.mark.heavy
@pytest.mark.parametrize("name", CHATTING)
def test_a_model_that_fails_where_nobody_attends(house: World, name: str) -> None:
    failing = range(6, 60) if name in PLANNERS else [9, 12, 13, 14, 15]
    setting = Setting(
        lambda: house.open(house.task("example:2")),
        agent(house, name),
        EpisodeConfig(house, rules=RuleBudget.of_statements(RULES)),
        model=lambda person: Moody(Solver(wrong_first_plan=name in PLANNERS), list(failing), told=lambda: len(person.heard)),
    )
    lived = cut_everywhere(setting)
    assert (lived.ended.outcome, lived.ended.boundary, lived.ended.message) == ("error", "model", "It is tired.")


BUSY = Person(
    words=[
        Proceed(("mind the step",)),
        Proceed(),
        Play("look"),
        Proceed(("go on",)),
        Back(2),
        Proceed(),
        Other("another"),
        Play("inventory"),
        Proceed(),
        Back(0),
        Proceed(("start anew",)),
        Play("fly"),
        Back(4),
    ],
    verdicts=[Again("are you sure?"), Replace("look"), Again(), Back(1)],
    failures=[Proceed(), Play("look"), Back(0), Other("another")],
    ends=[Back(3), Back(0), None],
    interrupts=[3, 21, 34, 50, 51, 60],
)


def test_each_hint_is_answered_once_right_below_it(house: World) -> None:
    said = ("look in the drawers", "what did I tell you?", "where am I?")
    person = Person(verdicts=[Again(said[0]), Again(said[1]), Another(), Again(said[2]), Accept(), Stop("tea")])
    player = agent(house, "expert")(None, None)
    terms = EpisodeConfig(house, max_turns=2)
    lived = cut_everywhere(Setting(lambda: house.open(house.task("example:1")), lambda *_: player, terms, person))
    told = [event.body for event in branch(lived.events)]
    told = [body for body in told if isinstance(body, Intervened) or (isinstance(body, Thought) and body.answers)]
    assert [body.text for body in told[:3]] == [
        said[0],
        said[1],
        "You told me to look in drawer 1, drawer 2, drawer 3, drawer 4.",
    ]
    assert [body.text for body in told[3:6]] == ["", said[2], "I stand in the middle of the room."]


@pytest.mark.heavy
@pytest.mark.parametrize("name", [*CHATTING, "expert"])
@pytest.mark.parametrize(
    ("copied", "every"),
    [pytest.param(True, 1, marks=pytest.mark.slow), pytest.param(False, 5, marks=pytest.mark.slow), (False, 13)],
)
def test_a_person_who_does_everything(house: World, name: str, copied: bool, every: int) -> None:
    person = replace(
        BUSY, other=agent(house, name)(Moody(Solver()), None) if name != "expert" else agent(house, name)(None, None)
    )

    def env() -> Env:
        opened = house.open(house.task("example:1"))
        return opened if copied else Uncopied(opened)

    def moody(person: Person) -> Model:
        if any(isinstance(event.body, Intervened) and event.body.action == "model" for event in person.heard):
            return Moody(Solver())
        # Lota calls its model once a skill, and so is seldom asked just then.
        tired = range(9, 30 if name == "lota" else 13)
        return Moody(Solver(wrong_first_plan=True), tired, [n + 1 for n in BUSY.interrupts], told=lambda: len(person.heard))

    world = make_world("alfworld")
    world.info = replace(world.info, inline=copied)
    terms = EpisodeConfig(world, max_turns=6, rules=RuleBudget.of_statements(RULES))
    lived = cut_everywhere(Setting(env, agent(house, name), terms, person, None if name == "expert" else moody), every=every)
    assert {"hint", "again", "replace", "play", "rewind", "interrupt", "model"} <= kinds(lived)
    # The expert calls no model, and is shown no rule.
    assert name == "expert" or {"retry", "failed", "consulted"} <= kinds(lived)


def test_a_change_of_model_goes_on_with_the_model_that_is_given(scripted: World) -> None:
    """What was said by the first model is recalled, whichever model goes on."""
    person = Person(words=[Proceed(), Other("another"), Proceed(), Proceed(), Stop("enough")])
    policy = lambda _: "Thought: on\nAction: look"  # noqa: E731
    person.other = agent(scripted, "react")(Moody(policy), None)
    setting = Setting(
        lambda: scripted.open(scripted.task("demo:1")), agent(scripted, "react"), person=person, model=lambda _: Moody(policy)
    )
    assert cut_everywhere(setting).ended.reason == "enough"


async def route(turn: Turn) -> str | None:
    commands = ("look", "go to study", "take key", None)
    return commands[turn.number - 1]


def test_a_person_who_plays(scripted: World) -> None:
    setting = Setting(lambda: scripted.open(scripted.task("demo:1")), agent(scripted, "human"), question=route)
    lived = cut_everywhere(setting)
    assert (lived.ended.outcome, lived.ended.steps) == ("stopped", 3)
    person = Person(words=[Proceed(), Proceed(), Back(1)], ends=[Back(2)], interrupts=[4])
    lived = cut_everywhere(replace(setting, person=person))
    assert {"rewind", "ended"} <= kinds(lived)


class Shaky(Wrapper):
    """A house that falls in when somebody flies."""

    def __init__(self, env: Env, error: Exception) -> None:
        super().__init__(env)
        self.error = error

    def step(self, command: str) -> Step:
        if command == "fly":
            raise self.error
        return super().step(command)

    def copy(self) -> Env:
        return Shaky(self.env.copy(), self.error)


@pytest.mark.parametrize("error", [OSError("the roof"), WorldError("no longer there")])
def test_a_house_that_fell_in_falls_in_again_even_if_it_stands(scripted: World, error: Exception) -> None:
    def sound() -> Env:
        return scripted.open(scripted.task("demo:1"))

    person = Person(words=[Play("look"), Play("fly"), Play("look"), Stop("tea")], ends=[Back(1), None])
    setting = Setting(lambda: Shaky(sound(), error), agent(scripted, "expert"), person=person)
    lived = cut_everywhere(setting)
    first, second = (event.id for event in lived.events if isinstance(event.body, Ended))
    assert (lived.events[first].body.model_dump()["boundary"], lived.ended.outcome) == ("world", "stopped")
    for cut in range(first + 1, second + 2):
        told, _ = asyncio.run(resume(replace(setting, env=sound), lived.events[:cut], lived.persons[cut].twin()))
        assert lived.lines[:cut] + [line(event) for event in told if isinstance(event, Event)] == lived.lines


def test_a_house_that_cannot_be_opened(scripted: World) -> None:
    class Closed(Wrapper):
        def reset(self) -> Step:
            raise WorldError("bricked up")

    lived = cut_everywhere(Setting(lambda: Closed(scripted.open(scripted.task("demo:1"))), agent(scripted, "expert")))
    assert [event.body.kind for event in lived.events] == ["ended"]


def test_a_fault_in_the_agent(scripted: World) -> None:
    made = lambda model, question: Reciter([Act("look"), Act("fly"), ValueError("a bug")])  # noqa: E731
    lived = cut_everywhere(Setting(lambda: scripted.open(scripted.task("demo:1")), made))
    assert lived.ended.boundary == "agent"


@pytest.mark.heavy
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    ("attended", "every"),
    [
        (False, 4),
        (True, 6),
        pytest.param(False, 1, marks=pytest.mark.slow),
        pytest.param(True, 2, marks=pytest.mark.slow),
    ],
)
def test_over_a_connection_each_request_is_made_once_and_byte_for_byte(
    server: Server, house: World, name: str, attended: bool, every: int
) -> None:
    server.policy = Solver(wrong_first_plan=True)
    server.probing = answer if name in SCORING else server.probing
    person = Person(
        words=[Proceed(), Proceed(("look well",)), Play("look"), Proceed(), Back(2), Proceed(), Stop("tea")],
        verdicts=[Again("sure?"), Another(), Replace("inventory")],
        ends=[Back(3)],
    )

    async def everything() -> None:
        sent: list[int] = []
        setting = Setting(
            lambda: house.open(house.task("example:3")),
            agent(house, name),
            EpisodeConfig(house, max_turns=5, rules=RuleBudget.of_statements(RULES)),
            person if attended else None,
            lambda _: make_model(server.model()),
        )
        lived = await live(setting)
        raws = [request.raw for request in server.requests]
        for event in lived.events:
            made = (event.body.calls or 1) if isinstance(event.body, ModelCall) else 0
            sent.append((sent[-1] if sent else 0) + made)
        assert sent[-1] == len(raws)
        # Texts are scored side by side, so that chance decides which comes first; and there are hundreds.
        in_order = sorted if name in SCORING else list
        for cut in range(1, len(lived.events) + 1, len(lived.events) // 3 if name in SCORING else every):
            server.requests.clear()
            told, _ = await resume(setting, lived.events[:cut], lived.persons[cut].twin())
            assert in_order(request.raw for request in server.requests) == in_order(raws[sent[cut - 1] :])
            assert lived.lines[:cut] + [line(event) for event in told if isinstance(event, Event)] == lived.lines

    asyncio.run(everything())


@pytest.mark.heavy
def test_a_killed_episode_ends_as_the_same_file(scripted: World, tmp_path: Path) -> None:
    setting = Setting(lambda: scripted.open(scripted.task("demo:2")), agent(scripted, "expert"))
    with EpisodeRecorder(tmp_path / "whole.jsonl") as recorder:
        asyncio.run(run_episode(setting.env(), setting.agent(None, None), setting.terms, recorder))
    whole = (tmp_path / "whole.jsonl").read_bytes()
    part = tmp_path / "e.jsonl.part"
    for cut in range(0, len(whole) + 1, 97):
        part.write_bytes(whole[:cut])
        recorded = list(read_episode(part))
        with EpisodeRecorder(tmp_path / "e.jsonl", resume=True) as recorder:
            asyncio.run(resume_episode(setting.env(), setting.agent, setting.terms, recorded, recorder))
        assert (tmp_path / "e.jsonl").read_bytes() == whole
        assert not part.exists()


def refused(setting: Setting, recorded: list[Event]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        asyncio.run(resume(setting, recorded, Person()))
    return str(caught.value)


def test_a_record_that_does_not_fit_is_refused_by_the_event(scripted: World, tmp_path: Path) -> None:
    script = react_script(tmp_path)
    setting = Setting(
        lambda: scripted.open(scripted.task("demo:1")), agent(scripted, "react"), model=lambda _: make_model(script)
    )
    recorded = asyncio.run(live(setting)).events
    other = replace(setting, env=lambda: scripted.open(scripted.task("demo:3")))
    assert "event 0 (started) task is 'demo/light' where 'demo/find' is recorded" in refused(other, recorded)
    assert "event 0 (started) model is None" not in refused(other, recorded)
    without = replace(setting, terms=replace(setting.terms, rules=None))
    assert "event 1 (consulted) there is another kind of event, called" in refused(
        without, recorded
    ) or "comes first" in refused(without, recorded)
    expert = replace(setting, agent=agent(scripted, "expert"), model=None)
    assert "agent is 'expert' where 'react' is recorded" in refused(expert, recorded)
    assert "event 8" in refused(setting, [*recorded[:8], *recorded[9:]])
    longer = Event(id=len(recorded), parent=len(recorded) - 1, body=Thought(role="x", text="and then"))
    assert "the episode was over before it" in refused(setting, [*recorded, longer])
    assert "event 0" in refused(setting, [longer])


@pytest.mark.heavy
def test_a_way_back_to_where_no_turn_began_is_refused(scripted: World) -> None:
    setting = Setting(lambda: scripted.open(scripted.task("demo:1")), agent(scripted, "expert"))
    lived = asyncio.run(live(setting)).events
    refusals: list[str] = []
    for after in range(1, len(lived)):
        for to in range(after):
            back = Event(id=after, parent=to, body=Intervened(action="rewind", text="to turn 1"))
            try:
                asyncio.run(resume(setting, [*lived[:after], back], Person()))
            except ConfigurationError as error:
                refusals.append(str(error))
    assert any("a rewind to a place where no turn began comes first" in refusal for refusal in refusals)


def test_a_reply_that_was_never_asked_for_is_refused(scripted: World, tmp_path: Path) -> None:
    script = react_script(tmp_path)
    setting = Setting(
        lambda: scripted.open(scripted.task("demo:1")), agent(scripted, "react"), model=lambda _: make_model(script)
    )
    recorded = asyncio.run(live(setting)).events
    strange = [*recorded[:2], Event(id=2, parent=1, body=Stepped(turn=1, command="x", observation="y", accepted=True))]
    assert "event 2 (stepped) a call to the model comes first" in refused(setting, strange)
    attended = [*recorded[:1], Event(id=1, parent=0, body=Intervened(action="retry"))]
    assert "event 1 (intervened) the turn comes first" in refused(setting, attended)


def test_a_failed_model_is_tried_again_after_the_record(scripted: World) -> None:
    def model(person: Person) -> Model:
        return Moody(lambda _: "Thought: on\nAction: look", [5], told=lambda: len(person.heard))

    setting = Setting(
        lambda: scripted.open(scripted.task("demo:1")),
        agent(scripted, "react"),
        EpisodeConfig(scripted, max_turns=3),
        model=model,
    )
    lived = asyncio.run(live(setting))
    assert lived.ended.outcome == "error"
    _, ended = asyncio.run(resume(setting, lived.events[:-1], Person()))
    assert ended.outcome == "lost"
