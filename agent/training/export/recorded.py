"""Episodes to export from runs: won ones, of splits that may be learned from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from housequest.agent.episodes.events import Event, Intervened, ModelCall, ParseFailed, PromptMessage, Started, Stepped, branch
from housequest.agent.episodes.moments import EpisodeFile, episode_files, started
from housequest.agent.episodes.record import read_episode, whole_prompts
from housequest.agent.models.base import Message
from housequest.agent.training.export.conversations import Call, ExportedEpisode, PlayedStep, joined
from housequest.agent.training.export.preferences import preferences
from housequest.knowledge.examples import EVALUATION_SEEDS, LEARNT_FROM, may_be_learned
from housequest.worlds.errors import KnowledgeError, shown
from housequest.worlds.options import Scalar

_Prompts = Mapping[int, tuple[PromptMessage, ...]]


@dataclass(slots=True)
class RecordedEpisodes:
    """The won episodes in ``folders``, or with ``lost`` all of them; never those of splits that agents are evaluated on.

    They come in an order drawn by ``seed``, where there is one. ``left_out`` counts all others, by why, as these are read.
    """

    folders: Sequence[Path]
    lost: bool = False
    seed: int | None = None
    left_out: Counter[str] = field(default_factory=Counter[str])

    def __iter__(self) -> Iterator[ExportedEpisode]:
        """Raises ``ConfigurationError``, and ``KnowledgeError`` for a folder of which nothing may be learned from."""
        files = [file for folder in self.folders for file in self._allowed(folder)]
        if self.seed is not None:
            Random(f"export {self.seed}").shuffle(files)
        for file in files:
            episode = exported(tuple(read_episode(file.path)))
            if episode.won or self.lost:
                yield episode
            else:
                self.left_out["not won"] += 1

    def _allowed(self, folder: Path) -> list[EpisodeFile]:
        """The files in ``folder`` that may be learned from."""
        begun = [(file, started(file)) for file in episode_files([folder])]
        allowed = [file for file, start in begun if start is not None and may_be_learned(start.split, start.number)]
        evaluate = [start.split for _, start in begun if start is not None and not may_be_learned(start.split, start.number)]
        if evaluate and not allowed:
            splits = ", ".join(shown(split, 40) for split in sorted(set(evaluate)))
            raise KnowledgeError(
                f"{shown(str(folder), 200)}: these episodes are of {splits}. Agents are evaluated on that, so nothing may be "
                f"learned from it, only from {', '.join(sorted(LEARNT_FROM))} (houses below {EVALUATION_SEEDS:,}); play there."
            )
        for split in evaluate:
            self.left_out[f"of {shown(split, 40)}, on which agents are evaluated"] += 1
        if nothing := len(begun) - len(allowed) - len(evaluate):
            self.left_out["without a beginning"] += nothing
        return allowed


def players(folders: Sequence[Path]) -> dict[str, dict[str, Scalar]]:
    """The agents that played the episodes in ``folders`` that may be learned from, with the settings of their first.

    Raises ``ConfigurationError`` for a folder without records.
    """
    found: dict[str, dict[str, Scalar]] = {}
    for start in map(started, episode_files(folders)):
        if start is not None and may_be_learned(start.split, start.number):
            found.setdefault(start.agent, {key: value for key, value in start.settings.items() if value is not None})
    return found


def exported(events: Sequence[Event]) -> ExportedEpisode:
    """The episode in ``events``, the first of which is its start: its final branch, and what was done over."""
    final = branch(events)
    start = final[0].body
    assert isinstance(start, Started)
    prompts = whole_prompts(events)
    steps = [event.body for event in final if isinstance(event.body, Stepped)]
    origin = f"{start.split}:{start.number}"
    return ExportedEpisode(
        world=start.world,
        origin=origin,
        agent=start.agent,
        model=start.model,
        won=bool(steps) and steps[-1].won,
        opening=start.opening,
        steps=tuple(PlayedStep(step.command, step.observation, step.by) for step in steps),
        conversations=tuple(joined(origin, start.agent, _calls(final, prompts))),
        preferences=tuple(preferences(events, prompts)),
    )


def _calls(final: Sequence[Event], prompts: _Prompts) -> Iterator[Call]:
    """The calls of a branch. A picture is not recorded, so what was answered to it cannot be learned."""
    refused = {*_refused(final), *_left(final)}
    for event in final:
        if isinstance(called := event.body, ModelCall) and not any(message.image for message in prompts[event.id]):
            messages = tuple(Message(one.role, one.content) for one in prompts[event.id])
            learned = event.id not in refused and bool(called.reply.strip())
            # A line of plain text stands without the space around it in the next prompt.
            reply = called.reply.strip() if called.plain else called.reply
            yield Call(messages, reply, learned, called.plain is True)


def _left(final: Sequence[Event]) -> Iterator[int]:
    """The calls of each role up to the last one where it weighed what else to say: what it said led nowhere."""
    calls = [(event.id, event.body) for event in final if isinstance(event.body, ModelCall)]
    last = {call.role: number for number, call in calls if call.weighed}
    yield from (number for number, call in calls if number <= last.get(call.role, -1))


def _refused(final: Sequence[Event]) -> Iterator[int]:
    """The calls whose replies could not be read, or came to a command that a person replaced."""
    last: int | None = None
    for event in final:
        match event.body:
            case ModelCall():
                last = event.id
            case ParseFailed() | Intervened(action="replace") if last is not None:
                yield last
            case _:
                pass
