"""A run's folder: the frozen manifest, one file per episode, an index of finished episodes, and timings apart.

::

    run.json                      the manifest
    shard.json                    which shard this is, where it is one
    episodes/0017-<task>.jsonl    one episode, by the task's number in its split
    index.jsonl                   one whole line per finished episode
    timing.jsonl                  duration, attempts and cached tokens of every model call
    walls.jsonl                   the seconds of every episode, per session
    paths.jsonl                   best path lengths, computed for the first report
    ceilings.jsonl                a planner's ceiling, computed for the first report
    habits.yaml                   a copy of where things lie in its houses, if they have habits of their own

The manifest and each line of the index end with a digest of themselves; a line also has that of its episode's file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from housequest.agent.episodes.events import (
    Body,
    Ended,
    Event,
    ModelCall,
    Outcome,
    ParseFailed,
    Said,
    Started,
    Stepped,
    TurnSpent,
    branch,
)
from housequest.agent.episodes.record import read_episode, sha256_of, unfit_file
from housequest.agent.evaluation.analysis.failures import Failure, failure_of
from housequest.agent.evaluation.analysis.together import SharedWork, shared_work
from housequest.agent.evaluation.runs import files
from housequest.agent.evaluation.runs.files import Fault, Frozen, Number, SelectedTask, parsed, read_bytes, total, words_of
from housequest.agent.evaluation.runs.spec import Manifest, slug
from housequest.agent.models.registry import models_of
from housequest.worlds import paths
from housequest.worlds.errors import Boundary, ConfigurationError, shown
from housequest.worlds.locks import held
from housequest.worlds.paths import Format, IrregularFile, atomic_write, open_file, remove_unfinished
from housequest.worlds.shared import WAIT
from housequest.worlds.systems import replace_file, sync_folder
from housequest.worlds.text import printable

APPENDED = ("timing.jsonl", "walls.jsonl", "calls.jsonl")
"""Files that are written line by line; all others are replaced as a whole."""
MANIFEST_WAY_OUT = " Take it from a copy of the run, or play into a new folder."


class RunFolder:
    """The files of one run. Nothing is created before ``begin``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest_file = path / "run.json"
        self.shard_file = path / "shard.json"
        self.index_file = path / "index.jsonl"
        self.timing_file = path / "timing.jsonl"
        self.walls_file = path / "walls.jsonl"
        self.paths_file = path / "paths.jsonl"
        self.ceilings_file = path / "ceilings.jsonl"
        self.habits_file = path / "habits.yaml"
        self.episodes = path / "episodes"

    def episode(self, task: SelectedTask) -> Path:
        """The file of the finished episode of ``task``."""
        return self.episodes / f"{episode_name(task)}.jsonl"

    def part(self, task: SelectedTask) -> Path:
        """The file of the episode of ``task`` until it has finished."""
        return self.episodes / f"{episode_name(task)}.jsonl.part"

    def begin(self, manifest: Manifest) -> None:
        """Write ``manifest``; raises ``ConfigurationError`` with the differences where the folder holds another run."""
        # A template that cannot reach the model may change.
        templates = manifest.unused_templates
        now = manifest.without_prompts(templates)
        files.begin_run(
            self.manifest_file, manifest, lambda: files.differences(self.manifest().without_prompts(templates), now)
        )

    def manifest(self) -> Manifest:
        """The manifest of this run. Raises ``ConfigurationError`` where it is missing or damaged."""
        content = read_bytes(
            self.manifest_file, files.LARGEST_MANIFEST, f"{self.path} is not the folder of a run; it has no run.json."
        )
        family = parsed(_Family, content, str(self.manifest_file), MANIFEST_WAY_OUT).family
        if family is not None:
            raise ConfigurationError(
                f"{self.path} is a run of {printable(family[:40])}, which has no episodes; see it with `housequest report`."
            )
        return parsed(Manifest, content, str(self.manifest_file), MANIFEST_WAY_OUT)

    def results(self, tasks: Sequence[SelectedTask], sha256: Callable[[Path], str] = sha256_of) -> list[Result]:
        """The finished episodes of ``tasks`` in the index, in its order, without those whose file is gone. Raises
        ``ConfigurationError`` where anything is damaged that would make figures wrong.
        """
        results, faults, _ = self.examine(tasks, sha256)
        if wrong := [fault for fault in faults if fault.miscounts]:
            more = (f"and {len(wrong) - files.NAMED} more",) if len(wrong) > files.NAMED else ()
            listed = "".join(f"\n  {line}" for line in (*wrong[: files.NAMED], *more))
            raise ConfigurationError(
                f"{self.path} is damaged, and nothing of it is counted:{listed}\n"
                f"`housequest verify {self.path}` tells all; the same `housequest eval` plays again what is not whole."
            )
        return results

    def examine(
        self, tasks: Sequence[SelectedTask], sha256: Callable[[Path], str] = sha256_of
    ) -> tuple[list[Result], list[Fault], list[SelectedTask]]:
        """Look at each finished episode; ``sha256`` gives the digest of a file. Returns the results of those that are whole, in
        the order of the index, what is wrong, and the tasks whose episodes are damaged.
        """
        selected = {task.id: task for task in tasks}
        index, faults = self.index(tasks)
        results: list[Result] = []
        damaged: list[SelectedTask] = []
        for result in index.values():
            task = selected[result.task]
            path = self.episode(task)
            if not path.exists():
                faults.append(Fault(str(path), "it is gone; its task counts as unfinished", miscounts=False))
                continue
            fault = Fault(str(path), "it is not what was written, by its sha256 in the index")
            try:
                whole = sha256(path) == result.episode_sha256
            except OSError as error:
                whole, fault = False, fault_of(path, error)
            if whole:
                results.append(result)
            else:
                faults.append(fault)
                damaged.append(task)
        missing = "the index has no line of it; its task counts as unfinished"
        unknown = [self.episode(task) for task in tasks if task.id not in index]
        faults += [Fault(str(path), missing, miscounts=False) for path in unknown if path.exists()]
        return results, faults, damaged

    def index(self, tasks: Sequence[SelectedTask]) -> tuple[dict[str, Result], list[Fault]]:
        """The results in the index by task, whatever became of their episodes, and what is wrong with its lines."""
        selected = {task.id for task in tasks}
        found: dict[str, Result] = {}
        faults: list[Fault] = []
        for where, result in files.records(Result, self.index_file):
            if isinstance(result, Fault):
                faults.append(result)
                continue
            if result.task not in selected:
                faults.append(Fault(where, f"{shown(result.task)} is not a task of this run"))
            else:
                if result.task in found:
                    differs = found[result.task] != result
                    faults.append(Fault(where, f"{shown(result.task)} has a line already", miscounts=differs))
                found[result.task] = result
        numbers = [result.number for result in found.values()]
        if len(numbers) == len(selected) and numbers != sorted(numbers):
            faults.append(Fault(str(self.index_file), "its lines are not in the order of the tasks", miscounts=False))
        return found, faults

    def mend(self, tasks: Sequence[SelectedTask]) -> tuple[list[Result], list[Fault]]:
        """The finished episodes that are whole, in the index or not, and what was wrong with others, which are set aside. Their
        tasks can be played again. The index is to be written anew.
        """
        results, faults, damaged = self.examine(tasks)
        faults = [fault for fault in faults if fault.miscounts]
        unreadable = any(fault.where == str(self.index_file) for fault in faults)
        for file in (*(self.episode(task) for task in damaged), *([self.index_file] if unreadable else [])):
            self.set_aside(file)
        if self.episodes.exists() and not self.episodes.is_dir():
            self.set_aside(self.episodes)
        known = {result.task for result in results}
        for task in tasks:
            path = self.episode(task)
            if task.id in known or not path.exists():
                continue
            try:
                result = result_of(task, list(read_episode(path)))
                if result is not None:
                    results.append(result.model_copy(update={"episode_sha256": sha256_of(path, sync=True)}))
                elif not self.part(task).exists():
                    replace_file(path, self.part(task))
            except (ConfigurationError, OSError) as error:
                faults.append(fault_of(path, error))
                self.set_aside(path)
            except ValidationError as error:
                faults.append(Fault(str(path), f"{words_of(error)}."))
                self.set_aside(path)
        return results, faults

    def set_aside(self, file: Path) -> Path:
        """Rename what cannot be used, and return its new name."""
        return replace_file(file, unfit_file(file))

    def rewrite(self, results: Iterable[Result]) -> None:
        """Replace the index."""
        atomic_write(self.index_file, files.lines_of(results))

    def append(self, *results: Result) -> list[Result]:
        """Add finished episodes to the index; returns their results with the digests of their files. The episodes are synced
        first, so that no line in the index outlives one when the machine fails. Waits for the disk.
        """
        kept = [
            result.model_copy(update={"episode_sha256": sha256_of(self.episode(result.selected), sync=True)})
            for result in results
        ]
        sync_folder(self.episodes)
        with open_file(self.index_file, "ab") as file:
            file.write(files.lines_of(kept))
            file.flush()
            os.fsync(file.fileno())
        return kept

    def clock(self, task: SelectedTask, seconds: float, *, resumed: bool = False) -> None:
        """Record the ``seconds`` that a session spent on the episode of ``task``; ``resumed``: it continued an earlier one."""
        line = {"episode": episode_name(task), "seconds": round(seconds, 6), **({"resumed": True} if resumed else {})}
        with open_file(self.walls_file, "ab") as file:
            file.write(f"{json.dumps(line)}\n".encode())

    @contextmanager
    def locked(self) -> Generator[None, None, None]:
        """Lock the folder, and remove what a killed command left half written. Raises ``ConfigurationError`` if another running
        command has locked it, if it holds something else, or if a link leads what would be written out of it.
        """
        lock = self.path / ".lock"
        # A command that was killed before its run began may have left these.
        ours = {lock, self.shard_file, *self.path.glob(".run.json.*.part"), *self.path.glob(".shard.json.*.part")}
        if self.path.is_dir() and not self.manifest_file.exists() and set(self.path.iterdir()) - ours:
            raise ConfigurationError(
                f"{self.path} is not empty, and is not the folder of a run: it has no run.json; give --out a new folder."
            )
        # What is written in place must be a file, and no link.
        found = f"{self.episodes}: it is a link, and only a folder is used here" if self.episodes.is_symlink() else ""
        try:
            for file in (lock, *(self.path / name for name in APPENDED)):
                paths.refuse_irregular(file, writing=True)
        except IrregularFile as error:
            found = found or str(error)
        if found:
            raise ConfigurationError(
                f"{found}. Nothing was written; move it away, or put a copy of what it names in its place."
            )
        with held(lock, f"{self.path} is being played by another command; wait for it or stop it."):
            remove_unfinished(self.path)
            yield


class _Family(BaseModel):
    """The part of a manifest that is the same in every kind of run. ``family`` is set for runs without episodes."""

    format: Format
    family: str | None = None


def fault_of(path: Path, error: ConfigurationError | OSError) -> Fault:
    """The ``error`` as a fault of the file ``path``, with its line where that is known."""
    if isinstance(error, OSError):
        return Fault(str(path), error.strerror or type(error).__name__)
    where, _, what = str(error).partition(": ") if str(error).startswith(f"{path}:") else (str(path), "", str(error))
    return Fault(where, what.removeprefix(f"{path} ").removeprefix("is damaged: "))


def episode_name(task: SelectedTask) -> str:
    """The name of an episode's file: the task's number, then its id as far as a file name can hold it."""
    return f"{task.number:04d}-{slug(task.id)}"


class Use(Frozen):
    """The use of a model, with the fields of `Result`."""

    calls: Number = 0
    plain: Number | None = None
    unreadable: Number = 0
    prompt_tokens: Number | None = None
    completion_tokens: Number | None = None
    thinking_tokens: Number | None = None


class TurnsOfOne(Use):
    """One player's turns in an episode of several: ``done`` commands were accepted and did more than wait; ``idle`` turns
    passed without one; ``messages`` of so many ``characters`` went to the others.
    """

    turns: Number = 0
    steps: Number = 0
    done: Number = 0
    refused: Number = 0
    idle: Number = 0
    messages: Number = 0
    characters: Number = 0


class PlayerShare(SharedWork, TurnsOfOne):
    """One player's share of an episode of several."""

    @classmethod
    def of(cls, own: Sequence[Body], beside: SharedWork) -> PlayerShare:
        """Count these events of one player; ``beside`` has its counts with the others."""
        steps = [body for body in own if isinstance(body, Stepped)]
        waited = sum(step.accepted and step.command == WAIT for step in steps)
        spent = sum(isinstance(body, TurnSpent) for body in own)
        said = [body.text for body in own if isinstance(body, Said)]
        return cls(
            turns=len(steps) + spent,
            steps=len(steps),
            done=sum(step.accepted for step in steps) - waited,
            refused=sum(not step.accepted for step in steps),
            idle=waited + spent,
            messages=len(said),
            characters=sum(map(len, said)),
            **beside.model_dump(),
            **used_in(own),
        )


class Result(Frozen):
    """One finished episode; tokens are None where the model never counted them.

    ``wording`` says who wrote the goal sentence (``template``, ``human:N``); None if the episode never started. ``met`` of
    ``conditions`` goal conditions held after the last command; None if none was executed or the world does not say.
    ``enacted`` commands were carried out in a simulator too, by ``low_level`` actions; ``diverged`` of them could not be done
    there as in the world. All three are None where none was. ``repeated`` counts as `repeats` does. ``failure`` says why it was
    not won. ``plain`` counts the ``calls`` that were of plain text and no chat. ``learned`` says how the model's server had to
    be asked. ``roles`` says what each role used, if roles had models of their own. ``players`` says what each of several did.
    ``episode_sha256`` is the digest of the
    episode's file; None before it is in the index.
    """

    number: int
    task: str
    type: str
    wording: str | None = None
    outcome: Outcome
    reason: str
    assisted: bool = False
    turns: Number
    steps: Number
    refused: Number
    repeated: Number = 0
    met: Number | None = None
    conditions: Number | None = None
    enacted: Number | None = None
    low_level: Number | None = None
    diverged: Number | None = None
    calls: Number = 0
    plain: Number | None = None
    unreadable: Number = 0
    prompt_tokens: Number | None = None
    completion_tokens: Number | None = None
    thinking_tokens: Number | None = None
    learned: tuple[str, ...] | None = None
    roles: dict[str, Use] | None = None
    players: dict[str, PlayerShare] | None = None
    boundary: Boundary | None = None
    message: str | None = None
    failure: Failure | None = None
    episode_sha256: str | None = None

    @property
    def selected(self) -> SelectedTask:
        """The task, as far as the result names it."""
        return SelectedTask(number=self.number, id=self.task, type=self.type)

    @property
    def won(self) -> bool:
        """True if the task was won."""
        return self.outcome == "won"

    @property
    def tokens(self) -> int | None:
        """Prompt and completion tokens; 0 without a call, None where the model did not count."""
        return total((self.prompt_tokens, self.completion_tokens)) if self.calls else 0


def result_of(task: SelectedTask, events: Sequence[Event]) -> Result | None:
    """The result on the branch that was played on; None before its end. Raises ``ValidationError`` for impossible events."""
    kept = branch(events)
    played = [event.body for event in kept]
    ended = played[-1] if played else None
    if not isinstance(ended, Ended):
        return None
    started = next((body for body in played if isinstance(body, Started)), None)
    steps = [body for body in played if isinstance(body, Stepped)]
    names = [one.name for one in started.players or ()] if started else []
    of_each = {name: [event.body for event in kept if event.player == name] for name in names or [None]}
    enacted = [step.enacted for step in steps if step.enacted is not None]
    same = {"outcome", "reason", "assisted", "turns", "steps", "refused", "boundary", "message"}
    return Result(
        number=task.number,
        task=task.id,
        type=task.type,
        wording=started.wording if started else None,
        **ended.model_dump(include=same),
        repeated=sum(repeats([body for body in own if isinstance(body, Stepped)]) for own in of_each.values()),
        met=steps[-1].met if steps else None,
        conditions=steps[-1].conditions if steps else None,
        enacted=len(enacted) or None,
        low_level=sum(enacted) if enacted else None,
        diverged=sum(step.diverged is not None for step in steps) if enacted else None,
        **used_in(played),
        learned=tuple(sorted({words for body in played if isinstance(body, ModelCall) for words in body.learned or ()}))
        or None,
        roles=by_role(played),
        players={name: PlayerShare.of(of_each[name], work) for name, work in shared_work(kept).items()} or None,
        failure=failure_of(events),
    )


def used_in(happened: Iterable[Body]) -> dict[str, Any]:
    """The use of models in these events, as the fields of `Use`."""
    bodies = list(happened)
    calls = [body for body in bodies if isinstance(body, ModelCall)]
    return {
        "calls": total(call.calls or 1 for call in calls) or 0,
        "plain": sum(call.calls or 1 for call in calls if call.plain) or None,
        "unreadable": sum(isinstance(body, ParseFailed) for body in bodies),
        "prompt_tokens": total(call.prompt_tokens for call in calls),
        "completion_tokens": total(call.completion_tokens for call in calls),
        "thinking_tokens": total(call.thinking_tokens for call in calls),
    }


def by_role(happened: Sequence[Body]) -> dict[str, Use] | None:
    """The use of models by each role of an episode whose roles had models of their own; else None."""
    if not any(isinstance(body, Started) and len(models_of(body.model or "")) > 1 for body in happened):
        return None
    asked = [body for body in happened if isinstance(body, ModelCall | ParseFailed)]
    roles = dict.fromkeys(body.role for body in asked)
    return {role: Use(**used_in(body for body in asked if body.role == role)) for role in roles}


def summed(uses: Sequence[Use | Result]) -> dict[str, Any]:
    """Several as one, as the fields of `Use`."""
    return {name: total(getattr(each, name) for each in uses) for name in Use.model_fields}


def joined_roles(results: Sequence[Result]) -> dict[str, Use] | None:
    """The use of models by each role of these episodes; None where no roles had models of their own."""
    roles = dict.fromkeys(role for result in results for role in result.roles or ())
    every = {role: [result.roles[role] for result in results if result.roles and role in result.roles] for role in roles}
    return {role: Use(**summed(uses)) for role, uses in every.items()} or None


def repeats(steps: Iterable[Stepped]) -> int:
    """Count the repeats in ``steps``: the same command had the same answer before, and nothing has changed since, that is,
    every answer in between was one that its command had had before. In ``look, look`` the second is a repeat. In A, B, A, B the
    second A is not, for B was new in between; the second B is, and so is each that follows.
    """
    last: dict[tuple[str, str], int] = {}
    changed, repeated = -1, 0
    for place, step in enumerate(steps):
        said = (step.command, step.observation)
        before = last.get(said)
        if before is None:
            changed = place
        elif changed <= before:
            repeated += 1
        last[said] = place
    return repeated
