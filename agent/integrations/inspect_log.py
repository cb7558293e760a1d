"""Exports a run as a log of inspect_ai, for its viewer and other tools. Needs the extra ``inspect``.

One sample is one finished episode. It is scored ``C`` if it was won and ``I`` otherwise, also if it errored, so that
inspect_ai's accuracy is this run's success; an assisted episode is included but not scored. inspect_ai computes the metrics
itself. Fields that a run does not record (the time of a call) are left out.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from agent.episodes.events import Event, ModelCall, Proposed, Started, Stepped, Thought, branch
from agent.episodes.record import read_episode
from agent.evaluation.render.report import read_results
from agent.evaluation.runs.folder import RunFolder
from agent.evaluation.runs.result import Result, SelectedTask
from agent.evaluation.runs.spec import Manifest
from agent.roles.base import reply_message
from worlds.errors import ConfigurationError, shown

FORMATS = (".eval", ".json")
SCORER = "won"
_METRICS = ("inspect_ai/accuracy", "inspect_ai/stderr")
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}
"""How a reply ended, in inspect_ai's words; anything else is ``unknown``."""


@dataclass(frozen=True, slots=True)
class ChatLine:
    """One message of a conversation."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class CallTranscript:
    """One call of a model: the whole prompt and its reply."""

    called: ModelCall
    prompt: tuple[ChatLine, ...]
    reply: ChatLine


@dataclass(frozen=True, slots=True)
class EpisodeTranscript:
    """A recorded episode as conversations. ``chat`` is that of the player who acts."""

    started: Started
    calls: tuple[CallTranscript, ...]
    chat: tuple[ChatLine, ...]
    met: int | None = None
    conditions: int | None = None


@dataclass(slots=True)
class _Reader:
    """Rebuilds the roles' conversations, event by event."""

    started: Started | None = None
    by_role: dict[str, tuple[ChatLine, ...]] = field(default_factory=dict[str, tuple[ChatLine, ...]])
    calls: list[CallTranscript] = field(default_factory=list[CallTranscript])
    acting: str | None = None
    played: list[ChatLine] = field(default_factory=list[ChatLine])
    thoughts: list[str] = field(default_factory=list[str])
    last: Stepped | None = None

    def read(self, event: Event) -> None:
        match event.body:
            case Started() as started:
                self.started = started
            case ModelCall() as called:
                self._call(called)
            case Thought() as thought:
                self.thoughts.append(thought.text)
            case Proposed() if self.calls:
                self.acting = self.calls[-1].called.role
            case Stepped() as stepped:
                self.last = stepped
                told = stepped.observation if stepped.explanation is None else f"{stepped.observation} {stepped.explanation}"
                self.played += [ChatLine("assistant", "\n".join([*self.thoughts, stepped.command])), ChatLine("user", told)]
                self.thoughts.clear()
            case _:
                pass

    def _call(self, called: ModelCall) -> None:
        added = (ChatLine(message.role, message.content) for message in called.added)
        prompt = (*self.by_role.get(called.role, ())[: called.kept], *added)
        reply = ChatLine("assistant", reply_message(called.reply).content)
        self.by_role[called.role] = (*prompt, reply)
        self.calls.append(CallTranscript(called, prompt, reply))

    def episode(self) -> EpisodeTranscript | None:
        """The whole episode; None if it has no beginning."""
        if self.started is None:
            return None
        acting = self.acting or (self.calls[-1].called.role if self.calls else None)
        chat = self.by_role[acting] if acting is not None else (ChatLine("user", self.started.opening), *self.played)
        met, conditions = (self.last.met, self.last.conditions) if self.last is not None else (None, None)
        return EpisodeTranscript(self.started, tuple(self.calls), chat, met, conditions)


def read_conversations(events: Iterable[Event]) -> EpisodeTranscript | None:
    """The final branch of the episode in ``events`` as conversations; None if it has no beginning."""
    reader = _Reader()
    for event in branch(tuple(events)):
        reader.read(event)
    return reader.episode()


def write_inspect_log(run: RunFolder, path: Path) -> int:
    """Write the finished episodes of ``run`` to ``path``, in the format of its extension; returns how many.

    Raises ``ConfigurationError`` for another extension, without the extra, and for a run that cannot be read.
    """
    if path.suffix not in FORMATS:
        raise ConfigurationError(f"--inspect: {shown(str(path))} should end in {' or '.join(FORMATS)}.")
    if path.is_dir():
        raise ConfigurationError(f"--inspect: {path} is a folder; name a file in it.")
    manifest, results = read_results(run)
    exporter = _Exporter(manifest, run)
    log = exporter.log(results)
    # Written whole or not at all. The temporary file keeps the extension, which decides the format.
    part = path.with_name(f".part-{path.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        exporter.inspect.write_eval_log(log, str(part.absolute()))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return len(log.samples)


class _Exporter:
    """Converts our records to inspect_ai's; looks its classes up by name, since it may not be installed."""

    def __init__(self, manifest: Manifest, run: RunFolder) -> None:
        try:
            self.inspect: Any = importlib.import_module("inspect_ai.log")
            self._model: Any = importlib.import_module("inspect_ai.model")
            self._event: Any = importlib.import_module("inspect_ai.event")
            self._scorer: Any = importlib.import_module("inspect_ai.scorer")
        except ImportError as error:
            raise ConfigurationError(
                f'--inspect needs inspect_ai ({error}); install it with: pip install "housequest[inspect]"'
            ) from None
        self._manifest = manifest
        self._run = run
        config = manifest.configuration
        # inspect_ai names a model provider/name.
        self._name = config.model.replace(":", "/", 1) if config.model else "none/none"

    def log(self, results: Sequence[Result]) -> Any:
        """The log of the run, with its finished episodes."""
        inspect, manifest = self.inspect, self._manifest
        finished = {result.task: result for result in results}
        samples = [self._sample(task, finished[task.id]) for task in manifest.tasks if task.id in finished]
        whole = len(samples) == len(manifest.tasks)
        usage = self._total(sample.model_usage for sample in samples)
        began = _when(self._run.manifest_file)
        ended = _when(self._run.index_file) if self._run.index_file.exists() else began
        log = inspect.EvalLog(
            status="success" if whole else "cancelled",
            eval=self._spec(began),
            plan=inspect.EvalPlan(
                steps=[inspect.EvalPlanStep(solver=manifest.configuration.agent, params=manifest.configuration.settings)]
            ),
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
            solver=config.agent,
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
        calls = [self._called(call, _when(path)) for call in episode.calls] if episode else []
        usage = self._total({self._name: event.output.usage} for event in calls if event.output.usage is not None)
        error = self.inspect.EvalError(message=_cause(result), traceback="", traceback_ansi="")
        return self.inspect.EvalSample(
            id=result.task,
            epoch=1,
            input=_input(episode.started) if episode else "",
            target=SCORER,
            messages=self._messages(episode.chat) if episode else [],
            output=calls[-1].output if calls else self._model.ModelOutput(),
            scores=None if result.assisted else {SCORER: self._score(result)},
            metadata=_metadata(result, episode),
            events=calls,
            model_usage=usage,
            turn_count=result.calls,
            error=error if result.outcome == "error" else None,
        )

    def _score(self, result: Result) -> Any:
        return self._scorer.Score(value="C" if result.outcome == "won" else "I", explanation=_cause(result))

    def _called(self, call: CallTranscript, when: str) -> Any:
        called = call.called
        reply = self._model.ChatMessageAssistant(content=call.reply.text, model=self._name, source="generate")
        choice = self._model.ChatCompletionChoice(message=reply, stop_reason=_STOPS.get(called.finish, "unknown"))
        return self._event.ModelEvent(
            model=self._name,
            role=called.role,
            input=self._messages(call.prompt),
            tools=[],
            tool_choice="none",
            config=self._model.GenerateConfig(),
            output=self._model.ModelOutput(model=self._name, choices=[choice], usage=self._usage(called)),
            timestamp=when,
            working_start=0.0,
        )

    def _usage(self, called: ModelCall) -> Any:
        read, written = called.prompt_tokens, called.completion_tokens
        if read is None and written is None:
            return None
        read, written = read or 0, written or 0
        return self._model.ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written)

    def _total(self, usages: Iterable[dict[str, Any]]) -> dict[str, Any]:
        total: dict[str, Any] = {}
        for usage in usages:
            for name, used in usage.items():
                total[name] = total[name] + used if name in total else used
        return total

    def _messages(self, chat: Sequence[ChatLine]) -> list[Any]:
        kinds: dict[str, Any] = {
            "system": self._model.ChatMessageSystem,
            "user": self._model.ChatMessageUser,
            "assistant": self._model.ChatMessageAssistant,
        }
        return [kinds[said.role](content=said.text, id=_id(place, said)) for place, said in enumerate(chat)]


def _id(place: int, said: ChatLine) -> str:
    """An id that is equal for the same message in the same place, so that a log stores it once."""
    return sha256(f"{place} {said.role} {said.text}".encode()).hexdigest()[:22]


def _input(started: Started) -> str:
    """The player's first input; the opening ends with the goal."""
    return started.opening if started.goal in started.opening else f"{started.opening}\n\n{started.goal}"


def _metadata(result: Result, episode: EpisodeTranscript | None) -> dict[str, object]:
    kept = ("number", "type", "outcome", "reason", "assisted", "turns", "steps", "refused", "calls", "unreadable", "boundary")
    return {
        **result.model_dump(include=set(kept)),
        "goal": episode.started.goal if episode else None,
        "conditions_met": episode.met if episode else None,
        "conditions": episode.conditions if episode else None,
    }


def _cause(result: Result) -> str:
    return f"{result.boundary}: {result.message}" if result.message else result.reason


def _when(path: Path) -> str:
    """When a file was last written: the only time known of every run."""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
