"""Held replies that their budget cuts off, and records of held replies that are played on with another model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import AgentEvent, Proceed, Stop
from housequest.agent.episodes.emitter import FILLED, SEVERAL, EventEmitter
from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall, ModelFailed, ParseFailed, Stepped, Thought
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.models.base import Capabilities, Completion, Message, Model, Request, Timing, Usage
from housequest.agent.models.forms import THOUGHT, Choice, Form, Listed, Words
from housequest.agent.roles.base import ROOM_WITHOUT_THOUGHT, Role, Sampling, ask
from housequest.worlds.errors import ModelError
from tests.agent.agents.test_held import (
    BY_GRAMMAR,
    BY_SCHEMA,
    EXEMPLARS,
    NO_CHAT,
    REPLY,
    TURNS,
    WORLD,
    Holding,
    of,
    played,
    spelt,
    terms,
)
from tests.agent.episodes.attending import Person
from tests.parts import needs

PLACES = Choice(tuple(f"go to cabinet {number}" for number in range(1, 40)))
LONG = Form((("list", Listed(PLACES, 200, between=", ")),))
THOUGHTFUL = Form(("Thought: ", (THOUGHT, Words(300)), "\nPlan: ", ("list", Listed(PLACES, 200, between=", "))))


@dataclass
class Endless(Model):
    """A model that is cut off whatever it is asked."""

    name: str = "endless"
    asked: list[Request] = field(default_factory=list[Request])

    async def capabilities(self) -> Capabilities:
        return BY_GRAMMAR

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        return Completion("go to cabinet 1", "length", Usage(10, request.max_tokens))


def unheard(body: AgentEvent, timing: Timing | None = None) -> None:
    del body, timing


@pytest.mark.parametrize("most", [8, 64, 600])
@pytest.mark.parametrize("once", [False, True])
def test_no_budget_grows_but_for_what_comes_after_a_thought(most: int, *, once: bool) -> None:
    for form, again in ((LONG, most), (THOUGHTFUL, max(most, ROOM_WITHOUT_THOUGHT))):
        model = Endless()
        role: Role[str] = Role("planner", str, form=form)
        before = (Message("system", "You plan."),)
        answer = asyncio.run(ask(role, model, before, "Plan.", unheard, Sampling(most, form="auto"), once=once))
        assert answer.value is None
        asked = [request.max_tokens for request in model.asked]
        assert asked == ([most] if form is LONG and once else [most, again])


@dataclass
class Whole(Holding):
    """Writes whole JSON with the last token of its budget, or a line with space around it."""

    async def complete(self, request: Request) -> Completion:
        completion = await super().complete(request)
        if request.schema is not None:
            return Completion(json.dumps({"thought": "I look round.", "action": "look"}), "length")
        return Completion(f"{completion.text}  ", completion.finish) if request.raw else completion


@pytest.mark.parametrize("can", [BY_SCHEMA, NO_CHAT], ids=["json", "text"])
def test_a_reply_that_is_whole_is_kept_and_its_record_says_the_same(can: Capabilities) -> None:
    told = played(Whole(can))
    assert {(call.held, call.reply) for call in of(ModelCall, told)} == {("kept", REPLY)}
    assert resumed(told, Whole(can)) == told


def resumed(
    recorded: list[Event],
    model: Model,
    *,
    agent: str = "react",
    settings: Mapping[str, str] | None = None,
    person: Person | None = None,
) -> list[Event]:
    """The events of a record that goes on with ``model``."""
    more: list[Event] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            more.append(event)

    asyncio.run(
        resume_episode(
            WORLD.open(WORLD.task("example:1")),
            lambda live, _: make_agent(agent, world=WORLD, model=live, settings=settings or {}),
            terms(settings),
            recorded,
            listen,
            person,
            model=model,
        )
    )
    return [*recorded, *more]


KINDS: list[Callable[[], Holding]] = [
    Holding,
    lambda: Holding(BY_GRAMMAR),
    lambda: Holding(NO_CHAT),
    lambda: Holding(BY_GRAMMAR, breaks=True),
    lambda: Holding(BY_SCHEMA, cut=True),
]


@pytest.mark.heavy
@pytest.mark.parametrize("then", KINDS, ids=["free", "grammar", "text", "broken", "cut"])
@pytest.mark.parametrize("now", KINDS[:3], ids=["free", "grammar", "text"])
@pytest.mark.parametrize("settings", [{}, EXEMPLARS], ids=["react", "exemplars"])
def test_a_record_goes_on_with_a_model_that_can_be_held_otherwise(
    then: Callable[[], Holding], now: Callable[[], Holding], settings: dict[str, str]
) -> None:
    whole = played(then(), settings=settings)
    first = next(event.id for event in whole if isinstance(event.body, ModelCall))
    for end in range(first + 1, len(whole) + 1):
        told = resumed(whole[:end], now(), settings=settings)
        assert told[:end] == whole[:end]
        assert of(Ended, told)


def filled(schema: Mapping[str, Any]) -> Any:
    """A value of ``schema``."""
    match schema:
        case {"enum": [first, *_]}:
            return first
        case {"anyOf": [first, *_]}:
            return filled(first)
        case {"properties": properties}:
            return {name: filled(value) for name, value in properties.items()}
        case {"items": items}:
            return [filled(items)] * schema["minItems"]
        case _:
            return "Mug"


@dataclass
class Failing(Model):
    """A model that is held by what it ``can``, and whose call number ``fails`` fails."""

    fails: int = -1
    can: Capabilities = BY_SCHEMA
    name: str = "failing"
    calls: int = 0

    async def capabilities(self) -> Capabilities:
        return self.can

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        if self.calls == self.fails:
            raise ModelError("It is tired.")
        if request.choices:  # another place each time, so that each skill takes one turn
            return Completion(f"find a {'fridge' if self.calls % 2 else 'shelf'},")
        if request.grammar is not None:
            return Completion(spelt(request.grammar))
        return Completion("Mug" if request.schema is None else json.dumps(filled(request.schema)))


def failed_once(fails: int, can: Capabilities, agent: str, settings: Mapping[str, str]) -> list[Event]:
    """The events of an episode in which a person tries the failed call again."""
    person, whole = Person(failures=[Proceed()]), list[Event]()

    def listen(event: Event | CallTiming) -> None:
        person.hear(event)
        if isinstance(event, Event):
            whole.append(event)

    player = make_agent(agent, world=WORLD, model=Failing(fails, can), settings=settings)
    asyncio.run(run_episode(WORLD.open(WORLD.task("example:1")), player, terms(settings), listen, person))
    assert len(of(ModelFailed, whole)) == 1
    return whole


@pytest.mark.heavy
@needs("socratic")
@pytest.mark.parametrize("fails", [1, 2, 3])
@pytest.mark.parametrize("form", ["held", "auto"])
def test_a_call_that_failed_and_was_tried_again_is_not_taken_for_the_one_after_it(fails: int, form: str) -> None:
    settings = {"form": form, "decompose": "chain-of-thought"}
    whole = failed_once(fails, BY_SCHEMA, "socratic", settings)
    for end in range(1, len(whole) + 1):
        told = resumed(whole[:end], Failing(), agent="socratic", settings=settings, person=Person(failures=[Proceed()]))
        assert told[:end] == whole[:end]


CHOOSES = Capabilities(choices=True, schema=True)


@pytest.mark.heavy
@pytest.mark.parametrize("form", ["held", "auto"])
@pytest.mark.parametrize("fails", [1, 2, 3])
@pytest.mark.parametrize(
    ("agent", "then", "now"),
    [
        ("react", BY_SCHEMA, NO_CHAT),
        ("react", NO_CHAT, BY_SCHEMA),
        pytest.param("lota", CHOOSES, BY_SCHEMA, marks=needs("lota")),
        pytest.param("lota", CHOOSES, NO_CHAT, marks=needs("lota")),
    ],
    ids=["react chat text", "react text chat", "lota chat", "lota text"],
)
def test_a_failed_call_fails_again_whatever_the_next_model_can(
    agent: str, then: Capabilities, now: Capabilities, fails: int, form: str
) -> None:
    whole = failed_once(fails, then, agent, {"form": form})
    replied = next(event.id for event in whole if isinstance(event.body, ModelCall))
    for end in range(replied + 1, len(whole) + 1):
        person = Person(failures=[Proceed(), *[Stop()] * TURNS])
        told = resumed(whole[:end], Failing(can=now), agent=agent, settings={"form": form}, person=person)
        assert told[:end] == whole[:end]


@dataclass
class Stubby(Holding):
    """Is cut off within a line that reads as a command."""

    async def complete(self, request: Request) -> Completion:
        completion = await super().complete(request)
        line = request.grammar is not None and "think: " in request.grammar
        return Completion("go to cabinet 1" if line else completion.text, "length" if line else "stop", Usage(9, 4))


@pytest.mark.parametrize("settings", [EXEMPLARS, EXEMPLARS | {"completions": "off"}], ids=["text", "chat"])
def test_a_line_that_is_cut_off_within_a_command_is_asked_for_whole(settings: dict[str, str]) -> None:
    model = Stubby(Capabilities(grammar=True, completions=True))
    settings = settings | {"max_tokens": "4"}
    told = played(model, settings=settings)
    assert [step.command for step in of(Stepped, told)] == ["look"] * TURNS
    assert [call.held for call in of(ModelCall, told)] == ["cut", "kept"] * TURNS
    assert {(failed.final, failed.reason) for failed in of(ParseFailed, told)} == {
        (False, "it has no end. It was cut off after 4 tokens.")
    }
    assert model.asked[1].max_tokens > 4
    # What was cut off is no part of what comes next, and each prompt can be put together again.
    prompt: list[str] = []
    for call, request in zip(of(ModelCall, told), model.asked, strict=True):
        prompt = [*prompt[: call.kept], *(message.content for message in call.added)]
        if not request.raw:
            assert prompt == [message.content for message in request.messages]
        assert "cabinet 1" not in prompt
        prompt.append(call.reply)
    assert resumed(told[: len(told) // 2], Stubby(model.can), settings=settings) == told


def test_a_thought_after_a_command_that_was_cut_off_is_no_command() -> None:
    class Thoughtful(Stubby):
        async def complete(self, request: Request) -> Completion:
            completion = await super().complete(request)
            return completion if completion.finish == "length" else Completion("think: I should look around here")

    told = played(Thoughtful(Capabilities(grammar=True, completions=True)), settings=EXEMPLARS)
    assert not [step for step in of(Stepped, told) if "think" in step.command]
    assert "I should look around here" in {thought.text for thought in of(Thought, told)}


def test_a_command_that_is_cut_off_twice_is_none() -> None:
    class Short(Stubby):
        async def complete(self, request: Request) -> Completion:
            completion = await super().complete(request)
            return Completion("lo", "length", completion.usage)

    told = played(Short(Capabilities(grammar=True, completions=True)), settings=EXEMPLARS)
    assert not of(Stepped, told)
    assert [failed.final for failed in of(ParseFailed, told)] == [False, True] * TURNS


@dataclass
class Full(Holding):
    """Thinks until it is cut off, and then has no room in its context."""

    calls: int = 4

    async def complete(self, request: Request) -> Completion:
        if len(self.asked) >= self.calls:
            raise ModelError("The context is full.", overflow=True)
        return await super().complete(request)


def test_thoughts_that_were_cut_off_and_mended_are_not_what_filled_a_context() -> None:
    (end,) = of(Ended, played(Full(BY_GRAMMAR, cut=True)))
    assert (end.outcome, end.boundary) == ("error", "model")
    assert end.reason != FILLED
    emitter = EventEmitter(lambda _: None)
    for _ in range(SEVERAL):
        emitter.emit(ModelCall(role="react", kept=0, added=(), reply="Thought: I", finish="length", held="cut"))
        emitter.emit(ParseFailed(role="react", reply="Thought: I", reason="it has no end.", final=False))
        emitter.emit(ModelCall(role="react", kept=0, added=(), reply="Action: look", finish="stop", held="kept"))
    assert not emitter.mostly_unread()
    for _ in range(2 * SEVERAL):
        emitter.emit(ModelCall(role="react", kept=0, added=(), reply="Action: lo", finish="length", held="cut"))
        emitter.emit(ParseFailed(role="react", reply="Action: lo", reason="it has no end.", final=True))
    assert emitter.mostly_unread()


def test_json_without_a_thought_still_says_a_command() -> None:
    @dataclass
    class Wordless(Holding):
        said: str = ""

        async def complete(self, request: Request) -> Completion:
            self.asked.append(request)
            return Completion(json.dumps({"thought": self.said, "action": "look"}))

    for said, thought in (("", "None."), ("1.", "None."), ("…", "None."), ("(looking)", "Looking)"), ("2. on", "On")):
        told = played(Wordless(BY_SCHEMA, said=said), settings={"form": "held"})
        assert {(call.held, call.reply) for call in of(ModelCall, told)} == {("kept", f"Thought: {thought}\nAction: look")}
        assert [step.command for step in of(Stepped, told)] == ["look"] * TURNS
