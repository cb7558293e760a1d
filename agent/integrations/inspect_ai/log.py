"""Exports a run as a log of inspect_ai, for its viewer and other tools. Needs the extra ``inspect``.

A sample is a finished episode. It is scored ``C`` if won and else ``I``, also after an error, so that inspect_ai's accuracy is
the run's success; an assisted episode is included but not scored. inspect_ai computes the metrics itself. Each model call and
each command is an event. A run records the duration of calls, not their start: here they follow each other without gaps from
the beginning of their episode.
"""

from __future__ import annotations

import importlib
import operator
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from housequest.agent.episodes.events import Event, ModelCall, Proposed, Started, Stepped, Thought, branch
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result, RunFolder, episode_name
from housequest.agent.evaluation.runs.usage import EpisodeTiming, call_seconds, timings_of
from housequest.agent.models.base import Message
from housequest.agent.roles.base import reply_message, whole_prompts
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.systems import replace_file

FORMATS = (".eval", ".json")
SCORER = "won"
_METRICS = ("inspect_ai/accuracy", "inspect_ai/stderr")
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}

_KEPT = {
    *("number", "type", "outcome", "reason", "assisted", "turns", "steps", "refused"),
    *("calls", "unreadable", "boundary", "message"),
}


class EpisodeTranscript(NamedTuple):
    """A recorded episode: its steps, and its calls with their prompts, by event id, and the chat of the acting role."""

    started: Started
    happened: Mapping[int, Stepped | tuple[ModelCall, tuple[Message, ...]]]
    chat: tuple[Message, ...]


def read_conversations(events: Iterable[Event]) -> EpisodeTranscript | None:
    """Read the final branch of an episode as conversations; None if it has no beginning."""
    started: Started | None = None
    by_role: dict[str, tuple[Message, ...]] = {}
    happened: dict[int, Stepped | tuple[ModelCall, tuple[Message, ...]]] = {}
    asked: str | None = None
    acting: str | None = None
    played: list[Message] = []
    thoughts: list[str] = []
    recorded = tuple(events)
    prompts = whole_prompts(recorded)
    for event in branch(recorded):
        match event.body:
            case Started() as started:
                pass
            case ModelCall() as called:
                asked = called.role
                prompt = tuple(Message(message.role, message.text) for message in prompts[event.id])
                by_role[asked] = (*prompt, reply_message(called.reply))
                happened[event.id] = (called, prompt)
            case Thought() as thought:
                thoughts.append(thought.text)
            case Proposed():
                acting = asked or acting
            case Stepped() as step:
                played += [Message("assistant", "\n".join([*thoughts, step.command])), Message("user", _told(step))]
                thoughts.clear()
                happened[event.id] = step
            case _:
                pass
    if started is None:
        return None
    acting = acting or asked
    chat = by_role[acting] if acting is not None else (Message("user", started.opening), *played)
    return EpisodeTranscript(started, happened, chat)


def _told(step: Stepped) -> str:
    return step.observation if step.explanation is None else f"{step.observation} {step.explanation}"


def write_inspect_log(run: RunFolder, path: Path) -> int:
    """Write the finished episodes of ``run`` to ``path``, by its extension; returns how many. Raises ``ConfigurationError``."""
    if path.suffix not in FORMATS:
        raise ConfigurationError(f"--inspect: {shown(str(path))} should end in {' or '.join(FORMATS)}.")
    if path.is_dir():
        raise ConfigurationError(f"--inspect: {path} is a folder; name a file in it.")
    exporter = _Exporter(run)
    log = exporter.log()
    # Written atomically. The temporary file keeps the extension, which decides the format.
    part = path.with_name(f".{token_hex(4)}-{path.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        exporter.inspect.write_eval_log(log, str(part.absolute()))
        replace_file(part, path)
    finally:
        part.unlink(missing_ok=True)
    return len(log.samples)


class _Exporter:
    """Converts our records to inspect_ai's. Its classes are looked up by name, since it may not be installed."""

    def __init__(self, run: RunFolder) -> None:
        try:
            modules = [importlib.import_module(f"inspect_ai.{name}") for name in ("log", "model", "event", "scorer")]
        except ImportError as error:
            raise ConfigurationError(
                f'--inspect needs inspect_ai ({error}); install it with: pip install "housequest[inspect]"'
            ) from None
        self.inspect: Any
        self.inspect, self._model, self._event, self._scorer = modules
        self._run, self._manifest = run, run.manifest()
        config = self._manifest.configuration
        # inspect_ai names a model provider/name.
        self._name = config.model.replace(":", "/", 1) if config.model else "none/none"
        self._seconds, self._timings = call_seconds(run), timings_of(run, self._manifest.tasks)

    def log(self) -> Any:
        inspect, manifest = self.inspect, self._manifest
        finished = {result.task: result for result in self._run.results(manifest.tasks)}
        samples = [self._sample(task, finished[task.id]) for task in manifest.tasks if task.id in finished]
        began = _written(self._run.manifest_file).isoformat(timespec="seconds")
        index = self._run.index_file
        ended = _written(index).isoformat(timespec="seconds") if index.exists() else began
        usage = self._total(used for sample in samples for used in sample.model_usage.values())
        step = inspect.EvalPlanStep(solver=manifest.configuration.who, params=manifest.configuration.settings)
        log = inspect.EvalLog(
            status="success" if len(samples) == len(manifest.tasks) else "cancelled",
            eval=self._spec(began),
            plan=inspect.EvalPlan(steps=[step]),
            stats=inspect.EvalStats(started_at=began, completed_at=ended, model_usage=usage),
            samples=samples,
        )
        if any(sample.scores for sample in samples):
            inspect.recompute_metrics(log)
        log.results = log.results or inspect.EvalResults()
        log.results.total_samples = len(manifest.tasks)
        log.results.completed_samples = sum(sample.error is None for sample in samples)
        return log

    def _spec(self, created: str) -> Any:
        inspect, manifest = self.inspect, self._manifest
        config = manifest.configuration
        digest = sha256(manifest.model_dump_json().encode()).hexdigest()
        return inspect.EvalSpec(
            created=created,
            eval_id=digest[:22],
            run_id=digest[22:44],
            task_id=digest[:22],
            task=f"housequest/{config.world}",
            task_args={"split": config.split, "goals": config.goals, "seed": config.seed, "max_turns": config.max_turns},
            solver=config.who,
            solver_args=config.settings,
            dataset=inspect.EvalDataset(
                name=f"{config.world}/{config.split}",
                samples=len(manifest.tasks),
                sample_ids=[task.id for task in manifest.tasks],
                shuffled=False,
            ),
            model=self._name,
            # An errored episode does not end the run, and is scored as not won.
            config=inspect.EvalConfig(epochs=1, fail_on_error=False, score_on_error=True),
            packages={"housequest": manifest.housequest},
            scorers=[{"name": SCORER, "metrics": [{"name": name} for name in _METRICS]}],
            metadata={
                "engine": manifest.engine,
                "data": manifest.data,
                "grants": list(config.grants),
                "rules": config.rules.label if config.rules else None,
                "split_size": manifest.of,
            },
        )

    def _sample(self, task: SelectedTask, result: Result) -> Any:
        path = self._run.episode(task)
        episode = read_conversations(read_episode(path))
        ended, timing = _written(path), self._timings.get(task.id, EpisodeTiming())
        began = ended - timedelta(seconds=timing.wall or timing.model or 0.0)
        happened = self._events(episode, self._seconds.get(episode_name(task), {}), began) if episode else []
        calls = [event for event in happened if event.event == "model"]
        about = result.model_dump(include=_KEPT)
        error = self.inspect.EvalError(message=why(about), traceback="", traceback_ansi="")
        score = self._scorer.Score(value=verdict(result.outcome), explanation=why(about))
        # In most worlds the opening ends with the goal.
        goal, opening = (episode.started.goal, episode.started.opening) if episode else (None, "")
        steps = [each for each in episode.happened.values() if isinstance(each, Stepped)] if episode else []
        met, conditions = (steps[-1].met, steps[-1].conditions) if steps else (None, None)
        # None of inspect_ai's limits counts turns without model calls.
        turns = self._manifest.configuration.max_turns
        limit = self.inspect.EvalSampleLimit(type="custom", limit=float(turns))
        return self.inspect.EvalSample(
            id=result.task,
            epoch=1,
            input=opening if goal is None or goal in opening else f"{opening}\n\n{goal}",
            target=SCORER,
            messages=inspect_messages(episode.chat, self._model) if episode else [],
            output=calls[-1].output if calls else self._model.ModelOutput(),
            scores=None if result.assisted else {SCORER: score},
            metadata={**about, "goal": goal, "conditions_met": met, "conditions": conditions},
            events=happened,
            model_usage=self._total(event.output.usage for event in calls if event.output.usage is not None),
            started_at=began.isoformat(),
            completed_at=ended.isoformat(),
            total_time=timing.wall,
            working_time=timing.model,
            turn_count=result.calls,
            error=error if result.outcome == "error" else None,
            limit=limit if result.reason == f"out of turns ({turns})" else None,
        )

    def _events(self, episode: EpisodeTranscript, seconds: Mapping[int, float], began: datetime) -> list[Any]:
        events: list[Any] = []
        passed = 0.0
        for id, each in episode.happened.items():
            start, took = began + timedelta(seconds=passed), seconds.get(id)
            if isinstance(each, Stepped):
                events.append(self._stepped(id, each, start, passed + (took or 0.0)))
            else:
                events.append(self._called(*each, start, took, passed))
            passed += took or 0.0
        return events

    def _called(self, called: ModelCall, prompt: Sequence[Message], start: datetime, took: float | None, passed: float) -> Any:
        text = reply_message(called.reply).content
        reply = self._model.ChatMessageAssistant(content=text, model=self._name, source="generate")
        choice = self._model.ChatCompletionChoice(message=reply, stop_reason=_STOPS.get(called.finish, "unknown"))
        read, written = called.prompt_tokens or 0, called.completion_tokens or 0
        usage = self._model.ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written)
        usage = None if called.prompt_tokens is called.completion_tokens is None else usage
        return self._event.ModelEvent(
            model=self._name,
            role=called.role,
            input=inspect_messages(prompt, self._model),
            tools=[],
            tool_choice="none",
            config=self._model.GenerateConfig(),
            output=self._model.ModelOutput(model=self._name, choices=[choice], usage=usage, time=took),
            timestamp=start,
            completed=None if took is None else start + timedelta(seconds=took),
            working_time=took,
            working_start=passed,
        )

    def _stepped(self, id: int, step: Stepped, at: datetime, passed: float) -> Any:
        return self._event.ToolEvent(
            id=f"step-{id}",
            function="act",
            arguments={"command": step.command},
            result=_told(step),
            timestamp=at,
            completed=at,
            working_start=passed,
            metadata={"turn": step.turn, "by": step.by, "accepted": step.accepted},
        )

    def _total(self, usages: Iterable[Any]) -> dict[str, Any]:
        every = list(usages)
        return {self._name: reduce(operator.add, every)} if every else {}


def verdict(outcome: str) -> str:
    """The outcome as inspect_ai's letter."""
    return "C" if outcome == "won" else "I"


def why(about: Mapping[str, Any]) -> str:
    """The reason for an episode's end, from a sample's metadata."""
    return f"{about['boundary']}: {about['message']}" if about.get("message") else about["reason"]


def inspect_messages(chat: Sequence[Message], model: Any) -> list[Any]:
    """Convert a conversation to messages of inspect_ai's module ``model``."""
    # Equal messages in the same place have one id, so that a log stores them once.
    texts = [f"{place} {said.role} {said.content}" for place, said in enumerate(chat)]
    ids = [sha256(text.encode()).hexdigest()[:22] for text in texts]
    kinds = [getattr(model, f"ChatMessage{said.role.capitalize()}") for said in chat]
    return [kind(content=_content(said, model), id=id) for kind, id, said in zip(kinds, ids, chat, strict=True)]


def _content(said: Message, model: Any) -> Any:
    if said.image is None:
        return said.content
    picture = f"data:image/png;base64,{b64encode(said.image.png).decode()}"
    return [model.ContentText(text=said.content), model.ContentImage(image=picture)]


def _written(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
