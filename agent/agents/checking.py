"""Checks by playing whether an agent keeps its contract (`agent.base`, `agent.agents.spec`), and says each demand in words."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from agent.agents.registry import agent_spec
from agent.agents.spec import AgentParts, AgentSpec
from agent.base import Act, Agent, AgentEvent, Decision, Grants, Memory, Turn
from agent.episodes.events import ModelCall, RulesShown
from agent.models.base import Completion, Message, Model, ModelWrapper, Request, Scores, Timing
from knowledge.rules import Rule
from worlds.base import Env, Observation, Task, Transition, World
from worlds.errors import ConfigurationError, HousequestError

RULE = Rule("check", "A rule that a check of the agent shows, which no book has.")
HINT = "A hint that a check of the agent gives."
_ENDED = 10.0
"""Seconds after which a cancelled decision counts as still running."""


@dataclass(frozen=True, slots=True)
class AgentReport:
    """The demands of the contract by name, each with what is wrong, or "" if it is met."""

    demands: Mapping[str, str]

    @property
    def broken(self) -> tuple[str, ...]:
        """The demands that are not met, in words."""
        return tuple(f"{what}: {wrong}" for what, wrong in self.demands.items() if wrong)


@dataclass(slots=True)
class _Asked:
    """One decision: its inputs and its result."""

    memory: Memory
    turn: Turn
    decision: Decision
    after: Memory
    events: tuple[object, ...]
    requests: tuple[tuple[Message, ...], ...]


@dataclass(slots=True)
class _Emitted:
    """An emitter that collects events."""

    events: list[object] = field(default_factory=list[object])
    wrong: str = ""

    def __call__(self, body: AgentEvent, timing: Timing | None = None) -> None:
        if not isinstance(body, get_args(AgentEvent)):
            self.wrong = f"{type(body).__name__} is none of them"
        if not isinstance(timing, Timing | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            self.wrong = f"{type(timing).__name__} is no Timing"
        self.events.append(body)


class _Recording(ModelWrapper):
    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.requests: list[tuple[Message, ...]] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(tuple(request.messages))
        return await super().complete(request)

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        self.requests.append(tuple(messages))
        return await super().score(messages, continuations)


class _Silent(ModelWrapper):
    """A model that never answers."""

    async def complete(self, request: Request) -> Completion:
        await asyncio.Event().wait()
        return await super().complete(request)

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        await asyncio.Event().wait()
        return await super().score(messages, continuations)


async def check_agent(
    agent: str | AgentSpec,
    world: World,
    task: Task,
    model: Model | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    turns: int = 6,
) -> AgentReport:
    """Play ``turns`` of ``task`` with ``agent``, each more than once, and report which demands of the contract are not met.

    ``model`` must give equal replies to equal prompts, as a scripted one does. Raises what making the agent raises.
    """
    spec = agent_spec(agent) if isinstance(agent, str) else agent
    recording = None if model is None else _Recording(model)
    made = _make(spec, world, recording, settings or {})
    env = world.open(task)
    try:
        played, wrong = await _play(made, recording, env, task, turns)
    finally:
        env.close()
    return AgentReport(
        {
            "the agent has the name of its spec": "" if made.name == spec.name else f"it is {made.name!r}, not {spec.name!r}",
            "settings that it does not have are refused with ConfigurationError": _settings(spec),
            "a missing model is refused with ConfigurationError": _without_model(spec, world, settings or {}),
            **wrong,
            "the same memory and turn give the same decision, memory, events and requests": await _again(
                made, recording, played
            ),
            "a role's prompts are appended to, unless the spec says rerenders": _prefixes(spec, played),
            "rules in a prompt are reported as RulesShown": _rules(played),
            "a decision can be cancelled, and leaves the memory as it was": await _cancelled(
                spec, world, model, settings or {}, played
            ),
        }
    )


def _make(spec: AgentSpec, world: World, model: Model | None, settings: Mapping[str, Any]) -> Agent:
    return spec.make(AgentParts(spec.name, world, spec.read_settings(settings), given_model=model))


def _settings(spec: AgentSpec) -> str:
    if spec.settings is None:
        return ""
    try:
        spec.read_settings({"no such setting": 1})
        return "an unknown one is taken"
    except ConfigurationError:
        return ""


def _without_model(spec: AgentSpec, world: World, settings: Mapping[str, Any]) -> str:
    try:
        _make(spec, world, None, settings)
    except ConfigurationError as error:
        return "" if spec.needs_model else f"the spec says that it needs none, but: {error}"
    return "it is made without one; take AgentParts.model" if spec.needs_model else ""


async def _play(
    agent: Agent, model: _Recording | None, env: Env, task: Task, turns: int
) -> tuple[list[_Asked], dict[str, str]]:
    """Play some turns, with hints, rules, an empty list of admissible commands and a refused command among them."""
    declared = "only events of AgentEvent are emitted, each with a Timing or None"
    decides = "decide returns a Decision; the command of an Act is text"
    bears = "hints, rules, refused commands and no admissible command are borne"
    wrong = {declared: "", decides: "", bears: "", "a memory is never changed": ""}
    memory = agent.begin(task.goal, env.reset().observation, Grants(admissible=True))
    played: list[_Asked] = []
    transitions: tuple[Transition, ...] = ()
    for number in range(1, turns + 1):
        turn = Turn(
            number,
            turns - number,
            transitions,
            hints=(HINT,) if number == 3 else (),
            rules=(RULE,),
            admissible=() if number == 2 else env.admissible_commands(),
        )
        before = copy.deepcopy(memory)
        try:
            asked, said = await _ask(agent, model, memory, turn)
        except HousequestError:
            raise
        except Exception as error:  # noqa: BLE001 (a failing agent is a finding)
            wrong[bears] = f"turn {number} raised {type(error).__name__} ({error}); raise ModelError when the model fails"
            break
        wrong[declared] = wrong[declared] or said
        if memory != before:
            wrong["a memory is never changed"] = f"it changed in turn {number}, or does not equal its copy"
        played.append(asked)
        memory, transitions = asked.after, ()
        if not isinstance(asked.decision, get_args(Decision)) or (
            isinstance(asked.decision, Act) and not isinstance(asked.decision.command, str)  # pyright: ignore[reportUnnecessaryIsInstance]
        ):
            wrong[decides] = f"turn {number} gave {asked.decision!r}"
            break
        if not isinstance(asked.decision, Act):
            continue
        if number == 1:
            transitions = (Transition(asked.decision.command, Observation("Nothing happens.", accepted=False)),)
            continue
        step = env.step(asked.decision.command)
        transitions = (Transition(asked.decision.command, step.observation),)
        if step.done:
            break
    return played, wrong


async def _ask(agent: Agent, model: _Recording | None, memory: Memory, turn: Turn) -> tuple[_Asked, str]:
    emitted = _Emitted()
    start = len(model.requests) if model else 0
    decision, after = await agent.decide(memory, turn, emitted)
    requests = tuple(model.requests[start:]) if model else ()
    return _Asked(memory, turn, decision, after, tuple(emitted.events), requests), emitted.wrong


async def _again(agent: Agent, model: _Recording | None, played: Sequence[_Asked]) -> str:
    """Repeat every decision, the last one first, as after a rewind."""
    for first in reversed(played):
        second, _ = await _ask(agent, model, first.memory, first.turn)
        for what in ("requests", "events", "decision", "after"):
            if getattr(first, what) != getattr(second, what):
                return f"turn {first.turn.number} differs in its {'memory' if what == 'after' else what}"
    return ""


def _prefixes(spec: AgentSpec, played: Sequence[_Asked]) -> str:
    last: dict[Message, tuple[Message, ...]] = {}
    for asked in played if not spec.rerenders else ():
        for prompt in asked.requests:
            before = last.get(prompt[0], ())
            if prompt[: len(before)] != before:
                return f"a prompt of turn {asked.turn.number} does not begin with the one before"
            last[prompt[0]] = prompt
    return ""


def _rules(played: Sequence[_Asked]) -> str:
    for asked in played:
        added = [m.content for event in asked.events if isinstance(event, ModelCall) for m in event.added if m.role == "user"]
        reported = any(RULE.statement in event.rules for event in asked.events if isinstance(event, RulesShown))
        if any(RULE.statement in text for text in added) and not reported:
            return f"turn {asked.turn.number} shows one and emits no RulesShown"
    return ""


async def _cancelled(
    spec: AgentSpec, world: World, model: Model | None, settings: Mapping[str, Any], played: Sequence[_Asked]
) -> str:
    asking = next((asked for asked in played if asked.requests), None)
    if model is None or asking is None:
        return ""
    agent, before = _make(spec, world, _Silent(model), settings), copy.deepcopy(asking.memory)
    task = asyncio.ensure_future(agent.decide(asking.memory, asking.turn, _Emitted()))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task], timeout=_ENDED)
    if not task.done():
        return f"it ran on for {_ENDED:g} seconds"
    if not task.cancelled():
        return "CancelledError was caught; let it through"
    return "" if asking.memory == before else "the memory has changed"
