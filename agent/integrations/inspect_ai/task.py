"""ALFWorld as a task of inspect_ai, which finds it by an entry point: ``inspect eval housequest/alfworld``.

A model plays by tools, one for each command, or one of our agents plays with that model by text; both are episodes of our own
loop. The result so far is in the sample's store from the first turn on, so a sample that a limit ends is scored like any other,
and ``inspect score`` can score a log again.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, TypeVar

from housequest.agent.base import Act, Idle, RequiresCapabilities
from housequest.agent.config import configure
from housequest.agent.episodes.events import CallTiming, Ended, Event, Started, Stepped, TurnSpent
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import result_of
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.integrations.games import HostedGame
from housequest.agent.integrations.inspect_ai.log import SCORER, inspect_messages, verdict, why
from housequest.agent.integrations.tools import CommandTools
from housequest.agent.models.base import Capabilities, Completion, Model, Request, Usage, stop_at
from housequest.agent.roles.base import clean
from housequest.agent.setup import Setup
from housequest.worlds.base import Task
from housequest.worlds.errors import ConfigurationError, HousequestError, ModelError

# By name, since the extra may not be installed where this is type-checked.
_ai: Any = import_module("inspect_ai")
_dataset: Any = import_module("inspect_ai.dataset")
_log: Any = import_module("inspect_ai.log")
_model: Any = import_module("inspect_ai.model")
_scorer: Any = import_module("inspect_ai.scorer")
_solver: Any = import_module("inspect_ai.solver")
_tool: Any = import_module("inspect_ai.tool")
T = TypeVar("T", bound=Callable[..., Any])
TOOLS = "tools"
"""The agent's name for a model that calls tools itself."""
STORE = "housequest"
MEANS = ("goal_conditions", "steps", "refused", "repeated", "unreadable")
"""Scores beside ``won``: the share of goal conditions met at the end, and counts."""

_INSTRUCTIONS = """\
You are in a household, which you know by its texts, and you have a task to do. Act by calling tools, one step at a time. \
Names carry numbers, as the texts show them. A step that is refused changes nothing. What a closed or a distant place holds \
you only see when you are there and it is open."""
_NO_CALL = "Nothing was done, because no tool was called as it should be. Call a tool."
_CUT_OFF = "not played to its end"


def _ours(made: T) -> T:
    """Register ``made`` under our distribution's name, which inspect_ai takes from the module."""
    made.__module__ = "housequest"
    return made


def _by_its_name(made: T) -> T:
    """Register ``made`` without a package name, since inspect_ai looks up scorers by the name in the log, which has none."""
    made.__module__ = ""
    return made


@_ai.task
@_ours
def alfworld(
    split: str | None = None,
    agent: str | None = None,
    protocol: str | None = None,
    type: str | list[str] | None = None,
    sample: int | None = None,
    limit: int | None = None,
    goals: str | None = None,
    grant: str | list[str] | None = None,
    max_steps: int | None = None,
    rules: str | None = None,
    seed: int | None = None,
    set: str | list[str] | Mapping[str, Any] | None = None,
    world_option: str | list[str] | Mapping[str, Any] | None = None,
) -> Any:
    """The games of a split of ALFWorld, with a sample for each.

    With the ``agent`` ``tools`` (the default without a ``protocol``), the model calls a tool for each command; other names are
    our agents, which ask the model by text. All other arguments are settings of ``housequest eval``. Raises
    ``ConfigurationError``.
    """
    given = dict(locals())
    by_tools = agent == TOOLS or (agent is None and protocol is None)
    if by_tools and (other := [name for name in ("protocol", "rules", "set") if given[name] is not None]):
        raise ConfigurationError(f"-T {other[0]} is for agents that ask a model by text; name one, such as -T agent=react.")
    # With tools no agent is needed, and the model's name here does not matter: inspect_ai has the model.
    played_by = {"agent": "expert" if by_tools else agent, "model": None if by_tools else "openai:inspect_ai"}
    lists = {name: [given[name]] for name in ("set", "world_option") if isinstance(given[name], str)}
    spec = make_run_spec(configure({**given, **played_by, **lists}))
    manifest = spec.manifest.model_dump(mode="json", exclude={"tasks"})
    manifest["configuration"] |= {**({"agent": TOOLS} if by_tools else {}), "model": None}
    games: dict[str, HostedGame] = {}
    return _ai.Task(
        dataset=_dataset.MemoryDataset(
            [_sample_of(task, spec.setup) for task in spec.selection.tasks], name=f"{spec.config.world}/{spec.config.split}"
        ),
        setup=game_with_tools(spec, games) if by_tools else None,
        solver=tool_calls(games) if by_tools else agent_by_text(spec),
        cleanup=functools.partial(_end, games),
        scorer=played(),
        config=_model.GenerateConfig() if by_tools else _model.GenerateConfig(**_sampling(spec)),
        metadata=manifest,
        version=spec.setup.world.info.version,
    )


def _sample_of(task: Task, setup: Setup) -> Any:
    env = setup.open(task)
    try:
        opening = env.reset().observation.text
    finally:
        env.close()
    about = {"type": task.type, "split": task.split, "number": task.number, "goal": task.goal, "wording": task.wording}
    return _dataset.Sample(id=task.id, input=opening, target="won", metadata=about)


def _sampling(spec: RunSpec) -> dict[str, Any]:
    """The agent's sampling settings, as defaults of the task, which inspect_ai's flags override."""
    return {name: spec.config.settings[name] for name in ("temperature", "max_tokens") if name in spec.config.settings}


@_scorer.scorer(
    metrics={
        "won": [_scorer.accuracy(), _scorer.stderr(), _scorer.grouped(_scorer.accuracy(), "type", all=False)],
        **{name: [_scorer.mean()] for name in MEANS},
    }
)
@_by_its_name
def played() -> Any:
    """Score the win and other results of a game."""

    async def score(state: Any, target: Any) -> Any:
        del target
        result: Mapping[str, Any] = state.store.get(STORE) or {}
        conditions = result.get("conditions") or 0
        value = {
            "won": float(result.get("outcome") == "won"),
            "goal_conditions": (result.get("met") or 0) / conditions if conditions else 0.0,
            **{name: result.get(name) or 0 for name in MEANS[1:]},
        }
        return _scorer.Score(value=value, explanation=result.get("reason", _CUT_OFF), metadata=dict(result))

    return score


@_scorer.scorer(metrics=[_scorer.accuracy(), _scorer.stderr()], name=SCORER)
@_by_its_name
def won() -> Any:
    """Score the win in the log of one of our runs; no score if a person helped."""

    async def score(state: Any, target: Any) -> Any:
        del target
        about: Mapping[str, Any] = state.metadata
        return None if about["assisted"] else _scorer.Score(value=verdict(about["outcome"]), explanation=why(about))

    return score


class _Record:
    """Keeps the result so far in a sample's store; ``told`` gets each step."""

    def __init__(self, task: Task, store: Any, told: Callable[[Stepped], None] | None = None) -> None:
        self._task, self._store, self._told = SelectedTask.of(task), store, told
        self._events: list[Event] = []

    def __call__(self, event: Event | CallTiming) -> None:
        if isinstance(event, CallTiming):
            return
        self._events.append(event)
        body = event.body
        # An error becomes the sample's error; its score is that of the turns played.
        if isinstance(body, Ended) and body.outcome != "error":
            self._keep(self._events)
        elif isinstance(body, Started | Stepped | TurnSpent):
            self._keep([*self._events, self._cut_off(event)])
            if isinstance(body, Stepped) and self._told is not None:
                self._told(body)

    def _keep(self, events: list[Event]) -> None:
        if (result := result_of(self._task, events)) is not None:
            self._store.set(STORE, result.model_dump(mode="json", exclude_none=True))

    def _cut_off(self, last: Event) -> Event:
        """The end of the episode if it stops here."""
        turns = last.body.turn if isinstance(last.body, Stepped | TurnSpent) else 0
        steps = [event.body for event in self._events if isinstance(event.body, Stepped)]
        refused = sum(not step.accepted for step in steps)
        ended = Ended(outcome="lost", reason=_CUT_OFF, turns=turns, steps=len(steps), refused=refused)
        return Event(id=last.id + 1, parent=last.id, body=ended)


# ---- by tools


class _Commands(CommandTools):
    def _play(self, command: str) -> str:
        return command


def _played_by(game: HostedGame, command: Callable[..., str]) -> Any:
    @functools.wraps(command)
    async def execute(*arguments: Any, **named: Any) -> str:
        try:
            result = await game.say(Act(clean(command(*arguments, **named))))
        except ConfigurationError as error:
            raise _tool.ToolError(str(error)) from None
        more = f"The game is over: {result.reason}." if result.over else _possible(game)
        return "\n\n".join(filter(None, (result.observation, result.explanation, more)))

    return execute


def _possible(game: HostedGame) -> str | None:
    listed = game.turn.admissible if game.turn is not None else None
    return None if listed is None else f"Possible now: {', '.join(listed)}."


@_solver.solver
@_ours
def game_with_tools(spec: RunSpec, games: dict[str, HostedGame]) -> Any:
    """Begin the sample's game and give the state its tools, for any solver."""
    tasks = {task.id: task for task in spec.selection.tasks}

    async def solve(state: Any, generate: Any) -> Any:
        del generate
        task, setup = tasks[state.sample_id], spec.setup
        env = await asyncio.to_thread(setup.open, task)
        game = HostedGame(env, setup, None, _Record(task, state.store))
        games[state.uuid] = game
        await game.waiting.wait()
        _raise_error(game)
        kind = f"The task is of the type {task.type}." if "type" in setup.grants else None
        state.user_prompt.text = "\n\n".join(filter(None, (state.user_prompt.text, kind, _possible(game))))
        methods = [getattr(_Commands(), name) for name in vars(CommandTools) if not name.startswith("_")]
        state.tools = [_tool.ToolDef(_played_by(game, method)).as_tool() for method in methods]
        return state

    return solve


@_solver.solver
@_ours
def tool_calls(games: dict[str, HostedGame]) -> Any:
    """Ask the model for tool calls until the game is over; a reply without a valid call spends a turn."""

    async def solve(state: Any, generate: Any) -> Any:
        del generate
        game = games[state.uuid]
        state.messages.insert(0, _model.ChatMessageSystem(content=_INSTRUCTIONS))
        while not game.episode.done():
            turn = game.turn
            state.output = await _model.get_model().generate(state.messages, state.tools)
            state.messages.append(state.output.message)
            if state.output.message.tool_calls:
                state.messages.extend((await _model.execute_tools(state.messages, state.tools)).messages)
            if game.turn is turn and not game.episode.done():
                await game.say(Idle("no tool was called as it should be"))
                if not state.output.message.tool_calls:
                    state.messages.append(_model.ChatMessageUser(content=_NO_CALL))
        _raise_error(game)
        return state

    return solve


def _raise_error(game: HostedGame) -> None:
    if game.episode.done() and game.outcome == "error":
        raise HousequestError(game.ended.message or game.reason if game.ended is not None else game.reason)


async def _end(games: dict[str, HostedGame], state: Any) -> None:
    """End the sample's game, which a limit may have interrupted."""
    game = games.pop(state.uuid, None)
    if game is not None:
        game.episode.cancel()
        await asyncio.wait([game.episode])


# ---- by text


@_solver.solver
@_ours
def agent_by_text(spec: RunSpec) -> Any:
    """Play the sample with one of our agents, which asks inspect_ai's model."""
    sampling = {} if spec.config.protocol else _sampling(spec)
    tasks = {task.id: task for task in spec.selection.tasks}

    async def solve(state: Any, generate: Any) -> Any:
        del generate
        task = tasks[state.sample_id]
        # Each epoch has its own seed, like each repeat of a run.
        setup = replace(spec.setup, seed=spec.setup.seed + state.epoch - 1)
        model = None if setup.model is None else InspectModel(state, sampling)
        env = await asyncio.to_thread(setup.open, task)
        try:
            agent = setup.make_agent(model)
            if isinstance(agent, RequiresCapabilities):
                await agent.check()
            if model is not None:
                await setup.check_model(model)
            ended = await run_episode(env, agent, setup, _Record(task, state.store, _tell))
        finally:
            env.close()
        if model is not None and model.broke is not None:
            raise model.broke
        if ended.outcome == "error":
            raise HousequestError(ended.message or ended.reason)
        return state

    return solve


def _tell(step: Stepped) -> None:
    shown = {"turn": step.turn, "command": step.command, "observation": step.observation, "accepted": step.accepted}
    _log.transcript().info(shown, source="housequest")


class InspectModel(Model):
    """The model of an inspect_ai evaluation, for one sample. Its conversation is the sample's, so message limits count it.
    ``broke`` is the error that ended the sample, such as a limit. Parameters equal to ``sampling`` are left to inspect_ai."""

    def __init__(self, state: Any, sampling: Mapping[str, Any]) -> None:
        self.name = str(_model.get_model())
        self.broke: Exception | None = None
        self._state, self._sampling = state, sampling

    async def capabilities(self) -> Capabilities:
        return Capabilities(images=True)

    async def complete(self, request: Request) -> Completion:
        request.check(self.name, await self.capabilities())
        asked = {"temperature": request.temperature, "max_tokens": request.max_tokens}
        own = {name: value for name, value in asked.items() if self._sampling.get(name) != value}
        config = _model.GenerateConfig(stop_seqs=list(request.stop) or None, seed=request.seed, **own)
        messages = inspect_messages(request.messages, _model)
        try:
            self._state.messages = messages
            output = await _model.get_model().generate(messages, config=config)
            self._state.output = output
            self._state.messages.append(output.message)
        except Exception as error:
            # Our loop ends the episode; it is raised again later for inspect_ai, whose limits are exceptions.
            self.broke = error
            raise ModelError(f"{type(error).__name__}: {error}") from error
        text, used = output.completion, output.usage
        usage = Usage() if used is None else Usage(used.input_tokens, used.output_tokens)
        finish = "length" if output.stop_reason == "max_tokens" else str(output.stop_reason)
        return Completion(text[: stop_at(text, request.stop)], finish, usage)
