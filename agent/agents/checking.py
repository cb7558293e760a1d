"""Checks an agent's contract (`housequest.agent.base`, `housequest.agent.agents.spec`) by playing."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from housequest.agent.agents.spec import AgentParts, AgentSpec, agent_spec
from housequest.agent.base import Act, Agent, AgentEvent, Decision, Grants, Memory, Turn
from housequest.agent.episodes.drawing import camera_view
from housequest.agent.episodes.events import ModelCall, RulesShown
from housequest.agent.models.base import Completion, Message, Model, ModelWrapper, Request, Scores, Timing, score
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Env, Observation, Task, Transition, World
from housequest.worlds.checking import ContractReport
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.household.base import BelievingEnv
from housequest.worlds.registry import known_task

RULE = Rule("check", "A rule that a check of the agent shows, which no book has.")
HINT = "A hint that a check of the agent gives."
_ENDED = 10.0  # Seconds after which a cancelled decision counts as still running.


@dataclass(slots=True)
class _Asked:
    """One decision: its inputs and its result. As an emitter it collects events, and says which of them is ``wrong``."""

    memory: Memory
    turn: Turn
    decision: Decision | None = None
    after: Memory = None
    events: list[object] = field(default_factory=list[object])
    wrong: str = ""
    requests: tuple[tuple[Message, ...], ...] = ()

    def __call__(self, body: AgentEvent, timing: Timing | None = None) -> None:
        if not isinstance(body, get_args(AgentEvent)):
            self.wrong = f"{type(body).__name__} is not one of them"
        if not isinstance(timing, Timing | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            self.wrong = f"{type(timing).__name__} is not a Timing"
        self.events.append(body)


class _Recording(ModelWrapper):
    """Keeps the requests of a model. A ``silent`` one never answers them."""

    def __init__(self, model: Model, *, silent: bool = False) -> None:
        super().__init__(model)
        self.requests: list[tuple[Message, ...]] = []
        self._silent = silent

    async def _asked(self, messages: Sequence[Message]) -> None:
        self.requests.append(tuple(messages))
        if self._silent:
            await asyncio.Event().wait()

    async def complete(self, request: Request) -> Completion:
        await self._asked(request.messages)
        return await super().complete(request)

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        await self._asked(messages)
        return await score(self.model, messages, continuations)


async def check_agent(
    agent: str | AgentSpec,
    world: World | str,
    task: Task | str,
    model: Model | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    turns: int = 6,
) -> ContractReport:
    """Check an agent by playing some turns of a task, each more than once.

    Args:
        agent: Its name, or its spec.
        world: A world that it plays, or its name.
        task: The task to play, or its reference.
        model: A model that gives equal replies to equal prompts, as a scripted one does; None if the agent needs none.
        settings: The agent's settings.
        turns: The number of turns.

    Returns:
        The demands of the contract that are met and broken.

    Raises:
        HousequestError: The agent or the task cannot be used at all.
    """
    spec, (world, task) = agent_spec(agent), known_task(world, task)
    recording, given = None if model is None else _Recording(model), settings or {}
    made = _make(spec, world, recording, given)
    env = BelievingEnv(world.open(task), world.household)
    try:
        played, wrong = await _play(made, recording, env, task, turns)
    finally:
        env.close()
    again = await _again(made, recording, played)
    asking = next((asked for asked in played if asked.requests), None)
    silent = None if model is None or asking is None else _make(spec, world, _Recording(model, silent=True), given)
    return ContractReport(
        {
            "the agent has the name of its spec": "" if made.name == spec.name else f"it is {made.name!r}, not {spec.name!r}",
            "settings that it does not have are refused with ConfigurationError": _settings(spec),
            "a missing model is refused with ConfigurationError": _without_model(spec, world, given),
            **wrong,
            "the same memory and turn give the same decision, memory, events and requests": again,
            "a role's prompts are appended to, unless the spec says rerenders": ""
            if spec.roles.rerenders
            else _prefixes(played),
            "the roles that it asks in are those of its spec, if that has any": _roles(spec.roles_with(given), played),
            "rules in a prompt are reported as RulesShown": _rules(played),
            "a decision can be cancelled, and leaves the memory as it was": await _cancelled(silent, asking),
        }
    )


def _make(spec: AgentSpec, world: World, model: Model | None, settings: Mapping[str, Any]) -> Agent:
    return spec.made(AgentParts(spec.name, world, spec.read_settings(settings), given_model=model))


def _settings(spec: AgentSpec) -> str:
    with suppress(ConfigurationError):
        spec.read_settings({"no such setting": 1})
        return "an unknown one is taken" if spec.settings is not None else ""
    return ""


def _without_model(spec: AgentSpec, world: World, settings: Mapping[str, Any]) -> str:
    try:
        _make(spec, world, None, settings)
    except ConfigurationError as error:
        return "" if "model" in spec.needs else f"the spec says that it needs none, but: {error}"
    return "it is made without one; take AgentParts.model" if "model" in spec.needs else ""


async def _play(
    agent: Agent, model: _Recording | None, env: Env, task: Task, turns: int
) -> tuple[list[_Asked], dict[str, str]]:
    """Play some turns, including hints, rules, an empty list of admissible commands and a refused command."""
    declared = "only events of AgentEvent are emitted, each with a Timing or None"
    decides = "decide returns a Decision; the command of an Act is text"
    bears = "hints, rules, refused commands and no admissible command are borne"
    wrong = {declared: "", decides: "", bears: "", "a memory is never changed": ""}
    answer = env.reset().observation
    memory = agent.begin(task.goal, answer, Grants(admissible=True))
    played: list[_Asked] = []
    transitions: tuple[Transition, ...] = ()
    for number in range(1, turns + 1):
        frame, pose = camera_view(agent, env)
        turn = Turn(
            number,
            turns - number,
            transitions,
            hints=(HINT,) if number == 3 else (),
            rules=(RULE,),
            admissible=() if number == 2 else env.admissible_commands(),
            belief=answer.belief,
            frame=frame,
            pose=pose,
        )
        before = copy.deepcopy(memory)
        try:
            asked = await _ask(agent, model, memory, turn)
        except HousequestError:
            raise
        except Exception as error:  # noqa: BLE001 (a failing agent is a finding)
            wrong[bears] = f"turn {number} raised {type(error).__name__} ({error}); raise ModelError when the model fails"
            break
        wrong[declared] = wrong[declared] or asked.wrong
        if not _equal(memory, before):
            wrong["a memory is never changed"] = f"it changed in turn {number}, or does not equal its copy"
        played.append(asked)
        memory, transitions = asked.after, ()
        command: Any = asked.decision.command if isinstance(asked.decision, Act) else ""
        if not isinstance(asked.decision, get_args(Decision)) or not isinstance(command, str):
            wrong[decides] = f"turn {number} gave {asked.decision!r}"
            break
        if isinstance(asked.decision, Act) and number == 1:
            answer = Observation("Nothing happens.", accepted=False, belief=answer.belief)
            transitions = (Transition(command, answer),)
        elif isinstance(asked.decision, Act):
            step = env.step(command)
            answer = step.observation
            transitions = (Transition(command, answer),)
            if step.done:
                break
    return played, wrong


def _equal(one: Any, other: Any) -> bool:
    """Compare two memories; those of agents with a camera have arrays, which have no equality of their own."""
    if type(one) is not type(other):
        return False
    if dataclasses.is_dataclass(one):
        return all(
            _equal(getattr(one, each.name), getattr(other, each.name)) for each in dataclasses.fields(one) if each.compare
        )
    if isinstance(one, Mapping):
        first, second = cast("Mapping[Any, Any]", one), cast("Mapping[Any, Any]", other)
        return list(first) == list(second) and all(_equal(first[key], second[key]) for key in first)
    if isinstance(one, list | tuple):
        first, second = cast("list[Any]", one), cast("list[Any]", other)
        return len(first) == len(second) and all(map(_equal, first, second))
    if hasattr(one, "tobytes"):
        return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()
    return bool(one == other)


async def _ask(agent: Agent, model: _Recording | None, memory: Memory, turn: Turn) -> _Asked:
    asked = _Asked(memory, turn)
    start = len(model.requests) if model else 0
    asked.decision, asked.after = await agent.decide(memory, turn, asked)
    asked.requests = tuple(model.requests[start:]) if model else ()
    return asked


async def _again(agent: Agent, model: _Recording | None, played: Sequence[_Asked]) -> str:
    for first in reversed(played):
        second = await _ask(agent, model, first.memory, first.turn)
        for what in ("requests", "events", "decision", "after"):
            if not _equal(getattr(first, what), getattr(second, what)):
                return f"turn {first.turn.number} differs in its {'memory' if what == 'after' else what}"
    return ""


def _prefixes(played: Sequence[_Asked]) -> str:
    last: dict[Message, tuple[Message, ...]] = {}
    for asked in played:
        for prompt in asked.requests:
            before = last.get(prompt[0], ())
            if prompt[: len(before)] != before:
                return f"a prompt of turn {asked.turn.number} does not begin with the one before"
            last[prompt[0]] = prompt
    return ""


def _roles(roles: Sequence[str], played: Sequence[_Asked]) -> str:
    asked = [event.role for asked in played for event in asked.events if isinstance(event, ModelCall)]
    unknown = next((role for role in asked if roles and role not in roles), "")
    return f"{unknown!r} is none of them" if unknown else ""


def _rules(played: Sequence[_Asked]) -> str:
    for asked in played:
        added = [m.content for event in asked.events if isinstance(event, ModelCall) for m in event.added if m.role == "user"]
        reported = any(RULE.statement in event.rules for event in asked.events if isinstance(event, RulesShown))
        if any(RULE.statement in text for text in added) and not reported:
            return f"turn {asked.turn.number} shows one and emits no RulesShown"
    return ""


async def _cancelled(agent: Agent | None, asking: _Asked | None) -> str:
    """Cancel the decision ``asking`` of an ``agent`` whose model never answers."""
    if agent is None or asking is None:
        return ""
    before = copy.deepcopy(asking.memory)
    task = asyncio.ensure_future(agent.decide(asking.memory, asking.turn, _Asked(asking.memory, asking.turn)))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task], timeout=_ENDED)
    if not task.done():
        return f"it ran on for {_ENDED:g} seconds"
    if not task.cancelled():
        return "CancelledError was caught; let it through"
    return "" if _equal(asking.memory, before) else "the memory has changed"
