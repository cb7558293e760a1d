"""Replies are held to their forms where a model can be, and what is recorded of them does not depend on how."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Proceed, SwitchModel, TurnAnswer, Unattended
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.emitter import FILLED
from housequest.agent.episodes.events import CallTiming, Ended, Event, Intervened, ModelCall, ParseFailed, Stepped, Thought
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.evaluation.analysis.failures import failure_of
from housequest.agent.models.base import Capabilities, Completion, Model, Request
from housequest.agent.models.registry import make_model
from housequest.worlds.errors import ModelError, Unsupported
from housequest.worlds.registry import make_world
from tests.backends import server as backend
from tests.backends.server import Policy, Recorded, Server, serve

TURNS = 3
WORLD = make_world("alfworld")
REPLY = "Thought: I look round.\nAction: look"


def rambling(messages: object) -> str:
    """What a small model says unless it is held."""
    return "You are in the middle of a room. You see a shelf. " * 20


def spelt(grammar: str) -> str:
    """A text that a grammar of replies allows: a thought, and the first command."""
    if grammar.startswith('root ::= " " '):
        return " " + spelt(grammar.replace(' " " ', " ", 1))
    if "<action>" in grammar:
        return f"{'<think>I look round.' if '<think>' in grammar else ''}</think>\n<action>look</action>"
    if "think: " in grammar:
        return "look"
    thought = '"Thought: "' in grammar
    return REPLY if thought else "Action: look" if '"Action: "' in grammar else "look"


@dataclass
class Holding(Model):
    """A model that is held where it is asked to be, and rambles otherwise. ``cut``: its budget ends within a thought."""

    can: Capabilities = field(default_factory=Capabilities)
    breaks: bool = False
    refuses: bool = False
    cut: bool = False
    name: str = "holding"
    at_end: bool = False
    asked: list[Request] = field(default_factory=list[Request])

    async def capabilities(self) -> Capabilities:
        return self.can

    async def complete(self, request: Request) -> Completion:
        request.check(self.name, self.can)
        self.asked.append(request)
        held = request.grammar or request.schema
        if not held or self.breaks or self.refuses:
            return Completion(rambling(()), held="refused" if held and self.refuses else None)
        begun = json.dumps(request.schema or request.grammar).lower()
        if self.at_end and "thought" in begun:
            return Completion(REPLY, "length")
        if self.cut and ("thought" in begun or "<think>" in begun):
            return Completion("Thought: I will have a", "length")
        if self.cut and "think: " in begun:
            return Completion("think: I will have a", "length")
        if request.grammar is not None:
            return Completion(spelt(request.grammar))
        said: dict[str, Any] = {"action": "look"}
        return Completion(json.dumps({"thought": "I look round.", **said} if "thought" in json.dumps(request.schema) else said))


def played(model: Model, *, agent: str = "react", settings: Mapping[str, str] | None = None) -> list[Event]:
    """The events of an episode."""
    told: list[Event] = []
    player = make_agent(agent, world=WORLD, model=model, settings=settings or {})

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            told.append(event)

    asyncio.run(run_episode(WORLD.open(WORLD.task("example:1")), player, terms(settings), listen))
    return told


def terms(settings: Mapping[str, str] | None = None) -> EpisodeConfig:
    """Those of `played`: the form is recorded, as `housequest` records it."""
    return EpisodeConfig(WORLD, max_turns=TURNS, settings={"form": "auto", **(settings or {})})


def of(kind: type[Any], told: list[Event]) -> list[Any]:
    return [event.body for event in told if isinstance(event.body, kind)]


BY_GRAMMAR, BY_SCHEMA = Capabilities(grammar=True), Capabilities(schema=True)
NO_CHAT = Capabilities(chats=False, completions=True, grammar=True, schema=True)


def test_a_model_that_can_be_held_plays_where_a_free_one_is_unreadable() -> None:
    free = played(Holding())
    assert len(of(ParseFailed, free)) == 2 * TURNS
    assert not of(Stepped, free)
    for can in (BY_GRAMMAR, BY_SCHEMA):
        held = played(Holding(can))
        assert not of(ParseFailed, held)
        assert [step.command for step in of(Stepped, held)] == ["look"] * TURNS
        assert {(call.held, call.reply) for call in of(ModelCall, held)} == {("kept", REPLY)}


def test_what_is_recorded_does_not_depend_on_how_a_reply_was_held() -> None:
    assert played(Holding(BY_GRAMMAR)) == played(Holding(BY_SCHEMA)) == played(Holding(Capabilities(schema=True, grammar=True)))


def test_a_free_model_is_never_asked_to_be_held() -> None:
    model = Holding(BY_GRAMMAR)
    told = played(model, settings={"form": "free"})
    assert all(request.grammar is None and request.schema is None for request in model.asked)
    assert {call.held for call in of(ModelCall, told)} == {None}


def test_a_model_that_breaks_its_form_is_found_out_and_asked_freely() -> None:
    model = Holding(BY_GRAMMAR, breaks=True)
    told = played(model)
    once = 2 * TURNS - 1
    assert [call.held for call in of(ModelCall, told)] == ["broken"] + [None] * once
    assert [request.grammar is None for request in model.asked] == [False] + [True] * once, "the episode remembers it"
    (thought,) = of(Thought, told)
    assert thought.role == "form"
    assert "did not keep it" in thought.text
    again = played(model)
    assert again == told, "another episode with the same model does not"


def test_a_model_that_refuses_a_form_answers_freely() -> None:
    told = played(Holding(BY_SCHEMA, refuses=True))
    assert [call.held for call in of(ModelCall, told)] == ["refused"] + [None] * (2 * TURNS - 1)
    (thought,) = of(Thought, told)
    assert "refused the form" in thought.text


def test_each_role_finds_out_for_itself() -> None:
    told = played(Holding(BY_GRAMMAR, refuses=True), agent="reasoner-actor")
    assert len(of(Thought, told)) == len({call.role for call in of(ModelCall, told) if call.held == "refused"})


@pytest.mark.parametrize("settings", [{}, {"exemplars": "own", "completions": "off"}], ids=["react", "exemplars"])
def test_who_insists_gets_an_error_where_a_form_is_not_kept(settings: dict[str, str]) -> None:
    broken = played(Holding(BY_GRAMMAR, breaks=True), settings={"form": "held", **settings})
    refused = played(Holding(BY_GRAMMAR, refuses=True), settings={"form": "held", **settings})
    for told, what in ((broken, "did not keep the form"), (refused, "refused the form")):
        assert len(of(ModelCall, told)) == 1
        (end,) = of(Ended, told)
        assert (end.outcome, end.boundary) == ("error", "model")
        assert what in (end.message or "")


def test_another_model_is_held_again() -> None:
    broken = make_agent("react", world=WORLD, model=Holding(BY_GRAMMAR, refuses=True), settings={})
    kept = make_agent("react", world=WORLD, model=Holding(BY_GRAMMAR), settings={})
    told: list[Event] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            told.append(event)

    class Changing(Unattended):
        attended = True

        async def before(self, turn: int, possible: tuple[str, ...] | None) -> TurnAnswer:
            return SwitchModel(kept, "kept") if turn == 2 and not of(Intervened, told) else Proceed()

    config = EpisodeConfig(WORLD, max_turns=TURNS)
    asyncio.run(run_episode(WORLD.open(WORLD.task("example:1")), broken, config, listen, Changing()))
    assert [call.held for call in of(ModelCall, told)] == ["refused", None, "kept", "kept"]


def test_a_thought_that_its_budget_cuts_off_still_yields_a_command() -> None:
    for can in (BY_GRAMMAR, BY_SCHEMA):
        model = Holding(can, cut=True)
        told = played(model, settings={"max_tokens": "8"})
        assert [call.held for call in of(ModelCall, told)] == ["cut", "kept"] * TURNS
        assert [step.command for step in of(Stepped, told)] == ["look"] * TURNS
        assert model.asked[1].max_tokens > 8, "a command fits whole"


def test_a_command_that_its_budget_cuts_off_is_not_carried_out_even_if_it_reads_as_one() -> None:
    model = Holding(BY_GRAMMAR, at_end=True)
    told = played(model)
    assert [call.held for call in of(ModelCall, told)] == ["cut", "kept"] * TURNS, "it may be the beginning of a longer one"
    assert [failed.reason for failed in of(ParseFailed, told)] == [
        f"it has no end. It was cut off after {model.asked[0].max_tokens} tokens."
    ] * TURNS
    assert [step.command for step in of(Stepped, told)] == ["look"] * TURNS


def replied(told: list[Event]) -> list[tuple[str, str, str | None]]:
    """What was replied, and how it was held, whatever the prompts were."""
    return [(call.role, call.reply, call.held) for call in of(ModelCall, told)]


def test_plain_text_is_held_by_a_grammar_alone_and_records_the_same_replies() -> None:
    model = Holding(NO_CHAT)
    told, chatting = played(model), played(Holding(BY_GRAMMAR))
    assert replied(told) == replied(chatting)
    assert of(Stepped, told) == of(Stepped, chatting)
    assert all(request.raw and request.schema is None for request in model.asked)
    assert {call.plain for call in of(ModelCall, told)} == {True}
    chosen = played(Holding(Capabilities(completions=True, grammar=True)), settings={"form": "completion"})
    assert of(ModelCall, chosen) == of(ModelCall, told)
    assert of(Thought, told)[0] not in of(Thought, chosen), "who chose it is not told"
    free = played(Holding(Capabilities(chats=False, completions=True)))
    assert {call.held for call in of(ModelCall, free)} == {None}


def test_a_thought_in_plain_text_that_is_cut_off_still_yields_a_command() -> None:
    told = played(Holding(NO_CHAT, cut=True), settings={"max_tokens": "8"})
    assert [call.held for call in of(ModelCall, told)] == ["cut", "kept"] * TURNS
    assert [step.command for step in of(Stepped, told)] == ["look"] * TURNS


EXEMPLARS, WINDOW = {"exemplars": "own"}, {"window": "2"}


@pytest.mark.parametrize("settings", [EXEMPLARS, EXEMPLARS | {"completions": "off"}, WINDOW], ids=["text", "chat", "window"])
def test_react_as_its_papers_play_it_is_held_too(settings: dict[str, str]) -> None:
    model = Holding(Capabilities(grammar=True, completions=True))
    told = played(model, settings=settings)
    assert {call.held for call in of(ModelCall, told)} == {"kept"}
    assert [step.command for step in of(Stepped, told)] == ["look"] * TURNS
    assert not of(ParseFailed, told)
    free = Holding(Capabilities(grammar=True, completions=True))
    played(free, settings=settings | {"form": "free"})
    assert all(request.grammar is None for request in free.asked)
    assert free.asked[0].messages == model.asked[0].messages


def test_exemplars_as_plain_text_are_not_held_to_json() -> None:
    model = Holding(Capabilities(schema=True, completions=True))
    told = played(model, settings=EXEMPLARS)
    assert {call.held for call in of(ModelCall, told)} == {None}
    (end,) = of(Ended, played(Holding(Capabilities(schema=True, completions=True)), settings=EXEMPLARS | {"form": "held"}))
    assert "completions=off" in (end.message or "")
    assert of(Stepped, played(model, settings=EXEMPLARS | {"completions": "off"}))


@pytest.mark.parametrize("settings", [EXEMPLARS, EXEMPLARS | {"completions": "off"}], ids=["text", "chat"])
def test_a_line_of_thought_that_is_cut_off_is_followed_by_a_command_alone(settings: dict[str, str]) -> None:
    told = played(Holding(Capabilities(grammar=True, completions=True), cut=True), settings=settings | {"max_tokens": "8"})
    assert [call.finish for call in of(ModelCall, told)] == ["length", "stop"] * TURNS
    assert [step.command for step in of(Stepped, told)] == ["look"] * TURNS


def test_a_held_window_whose_thought_is_cut_off_still_yields_a_command() -> None:
    model = Holding(BY_GRAMMAR, cut=True)
    told = played(model, settings=WINDOW | {"max_tokens": "8"})
    assert [call.held for call in of(ModelCall, told)] == ["cut", "kept"] * TURNS
    assert [step.command for step in of(Stepped, told)] == ["look"] * TURNS


def test_who_insists_is_told_where_a_model_cannot_be_held() -> None:
    with pytest.raises(Unsupported, match="cannot be held"):
        raise next(iter(_errors(Holding(), {"form": "held"})))
    assert of(Stepped, played(Holding(BY_SCHEMA), settings={"form": "held"}))


def _errors(model: Model, settings: Mapping[str, str]) -> Iterator[Exception]:
    from housequest.agent.config import Settings
    from housequest.agent.setup import set_up

    setup = set_up(Settings(set=dict(settings), model="openai:x@http://127.0.0.1:1/v1"), WORLD, "react")
    try:
        asyncio.run(setup.check_model(model))
    except Unsupported as error:
        yield error


@pytest.mark.heavy
@pytest.mark.parametrize(
    "model",
    [
        lambda: Holding(BY_GRAMMAR),
        lambda: Holding(BY_SCHEMA),
        lambda: Holding(BY_GRAMMAR, breaks=True),
        lambda: Holding(BY_SCHEMA, refuses=True),
        lambda: Holding(BY_SCHEMA, cut=True),
        Holding,
        lambda: Holding(NO_CHAT, cut=True),
    ],
    ids=["grammar", "schema", "broken", "refused", "cut", "free", "text"],
)
@pytest.mark.parametrize("agent", ["react", "reasoner-actor"])
def test_an_interrupted_episode_goes_on_wherever_it_stopped(model: Callable[[], Holding], agent: str) -> None:
    whole = played(model(), agent=agent)
    for end in range(1, len(whole), 3):
        more: list[Event] = []

        def listen(event: Event | CallTiming, more: list[Event] = more) -> None:
            if isinstance(event, Event):
                more.append(event)

        asyncio.run(
            resume_episode(
                WORLD.open(WORLD.task("example:1")),
                lambda live, ask: make_agent(agent, world=WORLD, model=live),
                terms(),
                whole[:end],
                listen,
                model=model(),
            )
        )
        assert [*whole[:end], *more] == whole


def test_an_unreadable_reply_leaves_a_stub_in_the_conversation_and_itself_in_the_record() -> None:
    model = Holding()
    told = played(model)
    calls = of(ModelCall, told)
    assert all(call.reply == rambling(()) for call in calls)
    longest = max(sum(len(message.content) for message in request.messages) for request in model.asked)
    assert longest < sum(len(message.content) for message in model.asked[0].messages) + 2 * TURNS * 500
    # A reader of the record can put each prompt together again.
    prompt: list[tuple[str, str]] = []
    for call, request in zip(calls, model.asked, strict=True):
        prompt = [*prompt[: call.kept], *((message.role, message.content) for message in call.added)]
        assert prompt == [(message.role, message.content) for message in request.messages]
        prompt.append(("assistant", call.reply))


def test_a_run_of_an_earlier_version_keeps_unreadable_replies_whole() -> None:
    model = Holding()
    played(model, settings={"form": "free"})
    assert [message.content for message in model.asked[-1].messages].count(rambling(())) == 2 * TURNS - 1


@dataclass
class Narrow(Model):
    """A model whose context is a few messages long, and that says ``reply``."""

    reply: str
    messages: int = 9
    name: str = "narrow"

    async def complete(self, request: Request) -> Completion:
        if len(request.messages) > self.messages:
            raise ModelError("The context is full.", overflow=True)
        return Completion(self.reply)


def test_a_game_whose_context_its_own_unreadable_replies_filled_is_lost_and_unreadable() -> None:
    told = played(Narrow(rambling(())))
    (end,) = of(Ended, told)
    assert (end.outcome, end.reason, end.boundary, end.message) == ("lost", FILLED, None, "The context is full.")
    failure = failure_of(told)
    assert failure is not None
    assert failure.kind == "unreadable"
    for whole in (told[:-1], told):
        again: list[Event] = []

        def listen(event: Event | CallTiming, again: list[Event] = again) -> None:
            if isinstance(event, Event):
                again.append(event)

        asyncio.run(
            resume_episode(
                WORLD.open(WORLD.task("example:1")),
                lambda live, ask: make_agent("react", world=WORLD, model=live),
                terms(),
                whole,
                listen,
                model=Narrow(rambling(())),
            )
        )
        assert [*whole, *again] == told
    (end,) = of(Ended, played(Narrow(REPLY, messages=3)))
    assert (end.outcome, end.boundary) == ("error", "model"), "a context may just be too short"


# An endpoint.


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(rambling) as server:
        yield server


def holding(parameter: str) -> backend.Behaviour:
    """An endpoint that can be held by one parameter and passes over all others."""

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        wanted = recorded.body.get(parameter)
        if wanted is None:
            return JSONResponse(backend.completion(policy(recorded.messages), recorded))
        if parameter == "response_format":
            properties = wanted["json_schema"]["schema"]["properties"]
            if "choice" in properties:
                text = json.dumps({"choice": properties["choice"]["enum"][-1]})
            else:
                text = json.dumps({"thought": "I look round.", "action": "look"})
            return JSONResponse(backend.completion(text, recorded))
        grammar = wanted if isinstance(wanted, str) else wanted["grammar"]
        odd = re.search(r'"(axolotl)"', grammar)
        return JSONResponse(backend.completion(odd[1] if odd else spelt(grammar), recorded))

    return behave


@pytest.mark.parametrize("parameter", ["grammar", "structured_outputs", "response_format"])
def test_an_endpoint_is_held_by_what_it_was_found_to_honour(running: Server, parameter: str) -> None:
    running.reset()
    running.probing = running.otherwise = holding(parameter)
    told = played(make_model(running.model(), timeout=5, wait=0.001))
    assert len(running.probes) == 3, "nothing else is found out than by what it can be held, and whether it thinks then"
    for call in of(ModelCall, told):
        assert (call.reply, call.held) == (REPLY, "kept")
    events = played(Holding(BY_GRAMMAR))
    assert [step.model_dump() for step in of(Stepped, told)] == [step.model_dump() for step in of(Stepped, events)]


@pytest.mark.parametrize("parameter", ["grammar", "structured_outputs"])
def test_an_endpoint_without_a_template_is_held_by_what_its_completions_honour(running: Server, parameter: str) -> None:
    running.reset()
    running.continues, running.chats = True, False
    running.probing = running.otherwise = holding(parameter)
    told = played(make_model(running.model(), timeout=5, wait=0.001))
    assert replied(told) == replied(played(Holding(BY_GRAMMAR)))
    assert {request.path for request in running.requests} == {"/v1/completions"}
    running.probing = holding("response_format")
    free = played(make_model(running.model(), timeout=5, wait=0.001), settings={"form": "auto"})
    assert {call.held for call in of(ModelCall, free)} == {None}, "a schema makes no plain text"


def test_an_endpoint_that_honours_nothing_is_free(running: Server) -> None:
    running.reset()
    told = played(make_model(running.model(), timeout=5, wait=0.001))
    assert {call.held for call in of(ModelCall, told)} == {None}
    assert all("grammar" not in request.body and "response_format" not in request.body for request in running.requests)


def test_an_endpoint_that_claims_a_form_and_does_not_keep_it_falls_back(running: Server) -> None:
    running.reset()
    running.probing = holding("grammar")
    told = played(make_model(running.model(), timeout=5, wait=0.001))
    assert [call.held for call in of(ModelCall, told)] == ["broken"] + [None] * (2 * TURNS - 1)


def test_an_endpoint_that_refuses_a_form_is_asked_without(running: Server) -> None:
    async def refusing(recorded: Recorded, policy: Policy) -> Response:
        if "grammar" in recorded.body:
            return JSONResponse({"error": {"message": "this grammar is too large"}}, 400)
        return JSONResponse(backend.completion(REPLY, recorded))

    running.reset()
    running.probing, running.otherwise = holding("grammar"), refusing
    told = played(make_model(running.model(), timeout=5, wait=0.001))
    assert [(call.held, call.reply) for call in of(ModelCall, told)] == [("refused", REPLY)] + [(None, REPLY)] * (TURNS - 1)
    assert len(running.requests) == TURNS + 1, "it is sent a grammar once"
    assert [step.command for step in of(Stepped, told)] == ["look"] * TURNS
