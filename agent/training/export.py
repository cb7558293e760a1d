"""Export of training data: recorded episodes, or the expert's in an agent's prompts, as JSON lines for trainers.

An exported episode has its steps, the preferences from turns that were done again, and the agent's conversations. Episodes are
read from runs (`RecordedEpisodes`) or played now (`housequest.agent.training.lora.games`). ``housequest export`` writes them,
and ``housequest train`` learns from the same conversations.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from housequest.agent.episodes.events import Event, Intervened, ModelCall, ParseFailed, PromptMessage, Started, Stepped, branch
from housequest.agent.episodes.moments import EpisodeFile, episode_files, started
from housequest.agent.episodes.record import read_episode
from housequest.agent.models.base import Message
from housequest.agent.roles.base import STUB, plain_text, reply_message, whole_prompts
from housequest.knowledge.examples import EVALUATION_SEEDS, LEARNT_FROM, may_be_learned
from housequest.worlds.errors import KnowledgeError, shown
from housequest.worlds.options import Scalar
from housequest.worlds.paths import open_file

_Prompts = Mapping[int, tuple[PromptMessage, ...]]
_NUMBER = re.compile(r"\d+\.")


@dataclass(frozen=True, slots=True)
class PromptedReply:
    """A prompt with its reply. ``learned`` marks a reply to learn from, ``plain`` one that continued plain text."""

    messages: tuple[Message, ...]
    reply: str
    learned: bool = True
    plain: bool = False

    @property
    def whole(self) -> tuple[Message, ...]:
        """The prompt and the reply, as in the next prompt."""
        return (*self.messages, reply_message(self.reply))


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages, and the places of the replies to learn (``learned``). ``origin`` is the task, as ``split:number``. ``plain``
    messages were sent as one text (`housequest.agent.roles.base.plain_text`) that the model continued."""

    origin: str
    agent: str
    messages: tuple[Message, ...]
    learned: tuple[int, ...]
    plain: bool = False

    def __str__(self) -> str:
        fields = {"origin": self.origin, "agent": self.agent, "messages": _plain(self.messages), "learned": self.learned}
        return json.dumps(fields | ({"plain": True} if self.plain else {}), ensure_ascii=False)

    @classmethod
    def read(cls, line: str) -> Conversation:
        fields = json.loads(line)
        messages = tuple(Message(one["role"], one["content"]) for one in fields["messages"])
        return cls(fields["origin"], fields["agent"], messages, tuple(fields["learned"]), fields.get("plain", False))


class PlayedStep(NamedTuple):
    """A command with the observation that followed, chosen ``by`` the agent or someone else."""

    command: str
    observation: str
    by: str = "agent"


class Preference(NamedTuple):
    """Two replies to one prompt, the better one and the other."""

    prompt: tuple[Message, ...]
    chosen: str
    rejected: str


@dataclass(frozen=True, slots=True)
class ExportedEpisode:
    """A played episode. ``origin`` is its task as ``split:number``, and ``model`` the model's name; None without one."""

    world: str
    origin: str
    agent: str
    model: str | None
    won: bool
    opening: str
    steps: tuple[PlayedStep, ...]
    conversations: tuple[Conversation, ...]
    preferences: tuple[Preference, ...] = ()


def joined(origin: str, agent: str, calls: Iterable[PromptedReply]) -> Iterator[Conversation]:
    """Join an episode's ``calls`` to conversations: a prompt that begins with an earlier one and its reply continues it. So
    prompts that only grow are learned in one pass, with each token computed once."""
    threads: list[list[PromptedReply]] = []
    for call in calls:
        grown = (thread for thread in threads if call.messages[: len(thread[-1].whole)] == thread[-1].whole)
        thread = max(grown, key=lambda each: len(each[-1].whole), default=None)
        if thread is None:
            threads.append([call])
        else:
            thread.append(call)
    for thread in threads:
        if learned := tuple(len(call.messages) for call in thread if call.learned):
            yield Conversation(origin, agent, thread[-1].whole, learned, thread[0].plain)


def save(conversations: Iterable[Conversation], file: Path) -> int:
    """Write ``conversations``, one a line, and return their number."""
    with open_file(file, "wb") as lines:
        return sum(bool(lines.write(f"{conversation}\n".encode())) for conversation in conversations)


def load(file: Path) -> list[Conversation]:
    with file.open(encoding="utf-8") as lines:
        return [Conversation.read(line) for line in lines]


@dataclass(slots=True)
class RecordedEpisodes:
    """The won episodes in ``folders``, or with ``lost`` all of them, but never those of evaluation splits. With a ``seed``,
    they are shuffled. ``left_out`` counts the others by reason while these are read."""

    folders: Sequence[Path]
    lost: bool = False
    seed: int | None = None
    left_out: Counter[str] = field(default_factory=Counter[str])

    def __iter__(self) -> Iterator[ExportedEpisode]:
        """Read the episodes. Raises ``ConfigurationError``, and ``KnowledgeError`` for a folder only of evaluation episodes."""
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
        allowed: list[EpisodeFile] = []
        evaluate: list[str] = []
        for file in episode_files([folder]):
            if (start := started(file)) is None:
                self.left_out["without a beginning"] += 1
            elif start.players is not None:
                self.left_out["of several players, whose answers do not show what the others changed"] += 1
            elif may_be_learned(start.split, start.number):
                allowed.append(file)
            else:
                evaluate.append(start.split)
        if evaluate and not allowed:
            splits = ", ".join(shown(split, 40) for split in sorted(set(evaluate)))
            raise KnowledgeError(
                f"{shown(str(folder), 200)}: these episodes are of {splits}. Agents are evaluated on that, so nothing may be "
                f"learned from it, only from {', '.join(sorted(LEARNT_FROM))} (houses below {EVALUATION_SEEDS:,}); play there."
            )
        self.left_out.update(f"of {shown(split, 40)}, on which agents are evaluated" for split in evaluate)
        return allowed


def players(folders: Sequence[Path]) -> dict[str, dict[str, Scalar]]:
    """The agents of the episodes in ``folders`` that are not for evaluation, each with the settings of its first episode.
    Raises ``ConfigurationError`` for a folder without records."""
    found: dict[str, dict[str, Scalar]] = {}
    for start in map(started, episode_files(folders)):
        if start is not None and start.players is None and may_be_learned(start.split, start.number):
            found.setdefault(start.agent, {key: value for key, value in start.settings.items() if value is not None})
    return found


def exported(events: Sequence[Event]) -> ExportedEpisode:
    """Convert recorded ``events`` to an episode: its final branch, and preferences from the turns that were done again."""
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
        preferences=tuple(_preferences(events, final, prompts)),
    )


def _calls(final: Sequence[Event], prompts: _Prompts) -> Iterator[PromptedReply]:
    """The calls of a branch, but those with a picture, since pictures are not recorded."""
    calls = [(event.id, event.body) for event in final if isinstance(event.body, ModelCall)]
    # A role's replies up to its last call that weighed alternatives led nowhere.
    last = {call.role: number for number, call in calls if call.weighed}
    refused = {*_refused(final), *(number for number, call in calls if number <= last.get(call.role, -1))}
    for number, called in calls:
        if not any(message.image for message in prompts[number]):
            learned = number not in refused and bool(called.reply.strip())
            # The next prompt has a line of plain text without the space around it.
            reply = called.reply.strip() if called.plain else called.reply
            yield PromptedReply(_told(prompts[number]), reply, learned, called.plain is True)


def _refused(final: Sequence[Event]) -> Iterator[int]:
    """The calls whose replies could not be parsed, or gave a command that a person replaced."""
    last: int | None = None
    for event in final:
        match event.body:
            case ModelCall():
                last = event.id
            case ParseFailed() | Intervened(action="replace") if last is not None:
                yield last
            case _:
                pass


def _preferences(events: Sequence[Event], final: Sequence[Event], prompts: _Prompts) -> Iterator[Preference]:
    """Pairs of replies for preference learning (DPO, Rafailov et al., NeurIPS 2023), from turns that were done again: after an
    unreadable reply, at a person's request for another reply or command, or after a person's rewind. The reply on the final
    branch is chosen, and the abandoned one rejected. Prompts with pictures, which are not recorded, give no pair."""
    kept = {event.id for event in final}
    parents = {event.id: event.parent for event in events}
    unread = {event.parent for event in events if isinstance(event.body, ParseFailed)}
    calls = [(event.id, event.body) for event in events if isinstance(event.body, ModelCall)]
    in_the_end = [(id, call) for id, call in calls if id in kept and id not in unread and call.reply.strip()]
    for id, given_up in calls:
        asked = prompts[id]
        if (id in kept and id not in unread) or not given_up.reply.strip() or any(message.image for message in asked):
            continue
        # The last event on the final branch before it.
        fork = parents[id]
        while fork is not None and fork not in kept:
            fork = parents.get(fork)
        after = ((at, call) for at, call in in_the_end if at > (-1 if fork is None else fork))
        better = next((call for at, call in after if _answers(call, prompts[at], given_up, asked)), None)
        if better is not None and better.reply != given_up.reply:
            yield Preference(_told(asked), better.reply, given_up.reply)


def _answers(better: ModelCall, prompt: Sequence[PromptMessage], given_up: ModelCall, asked: Sequence[PromptMessage]) -> bool:
    """True if the call ``better`` answers the prompt ``asked`` of the call ``given_up``. Its prompt may be longer: by a hint in
    the last message, or by the unreadable reply and its problem."""
    same, rest = prompt[: len(asked)], prompt[len(asked) :]
    if better.role != given_up.role or len(same) < len(asked) or same[:-1] != tuple(asked[:-1]):
        return False
    if rest:
        repaired = rest[0].role == "assistant" and rest[0].content.startswith(given_up.reply[:STUB].rstrip())
        return same[-1] == asked[-1] and len(rest) == 2 and repaired
    return same[-1].role == asked[-1].role and same[-1].content.startswith(asked[-1].content)


def _told(prompt: Sequence[PromptMessage]) -> tuple[Message, ...]:
    return tuple(Message(one.role, one.content) for one in prompt)


# JSON lines in the formats of trainers.

Line = dict[str, Any]


def _plain(messages: Sequence[Message]) -> list[Line]:
    return [{"role": one.role, "content": one.content} for one in messages]


def _messages(key: str, speaker: str, text: str, speakers: Mapping[str, str], episode: ExportedEpisode) -> Iterator[Line]:
    """One conversation per line under ``key``, with messages of the keys ``speaker`` and ``text``. As in OpenAI's format, a
    reply not to learn has the ``weight`` 0. All replies have a weight, since the lines of a data set need equal keys."""
    for conversation in episode.conversations:
        said: list[Line] = [
            {speaker: speakers.get(one.role, one.role), text: one.content}
            | ({"weight": int(place in conversation.learned)} if one.role == "assistant" else {})
            for place, one in enumerate(conversation.messages)
        ]
        yield {key: said}


def _alpaca(episode: ExportedEpisode) -> Iterator[Line]:
    """One reply per line, with its whole prompt as the instruction. A list that the model continued item by item is one line,
    as in the training data of LoTa-Bench's planners (appendix G)."""
    for one in episode.conversations:
        if (listed := _listed(one)) is not None:
            yield {"instruction": listed[0], "input": "", "output": listed[1]}
            continue
        text = plain_text if one.plain else _text
        for place in one.learned:
            instruction, reply = text(one.messages[:place]), one.messages[place].content
            yield {"instruction": instruction, "input": "", "output": f" {reply}" if one.plain else reply}


def _text(prompt: Sequence[Message]) -> str:
    return "\n".join(message.content for message in prompt)


def _listed(conversation: Conversation) -> tuple[str, str] | None:
    """The instruction and the numbered list that answers it; None unless each later message asks for the next item."""
    first, *rest = conversation.learned
    replies = range(first, len(conversation.messages), 2)
    between = [conversation.messages[place] for place in range(first + 1, len(conversation.messages), 2)]
    instruction, number = _text(conversation.messages[:first]), "1."
    if not rest or list(replies) != [first, *rest] or not all(_NUMBER.fullmatch(message.content) for message in between):
        return None
    if not instruction.endswith(number):
        return None
    said = (message.content for message in conversation.messages[first:])
    return instruction.removesuffix(number).rstrip(), " ".join((number, *said))


def _steps(episode: ExportedEpisode) -> Iterator[Line]:
    """One command per line, with the observations before and after it, its reward (1 for winning), and ``done`` at the end."""
    seen, last = episode.opening, len(episode.steps)
    for number, step in enumerate(episode.steps, 1):
        what = {"step": number, "observation": seen, "command": step.command, "next_observation": step.observation}
        yield {**what, "reward": float(number == last and episode.won), "done": number == last, "by": step.by}
        seen = step.observation


def _dpo(episode: ExportedEpisode) -> Iterator[Line]:
    """One pair of replies to a prompt per line, chosen and rejected, in TRL's format."""
    for pair in episode.preferences:
        replies = {"chosen": pair.chosen, "rejected": pair.rejected}
        said = {name: [{"role": "assistant", "content": reply}] for name, reply in replies.items()}
        yield {"prompt": _plain(pair.prompt), **said}


def _lines(of: Callable[[ExportedEpisode], Iterator[Line]], episode: ExportedEpisode) -> Iterator[Line]:
    about = {"world": episode.world, "task": episode.origin, "agent": episode.agent, "model": episode.model, "won": episode.won}
    return ({**line, **about} for line in of(episode))


FORMATS: Mapping[str, Callable[[ExportedEpisode], Iterator[Line]]] = {
    name: partial(_lines, of)
    for name, of in {
        # The formats of Hugging Face and of ShareGPT.
        "messages": partial(_messages, "messages", "role", "content", {}),
        "sharegpt": partial(_messages, "conversations", "from", "value", {"user": "human", "assistant": "gpt"}),
        "alpaca": _alpaca,
        "steps": _steps,
        "dpo": _dpo,
    }.items()
}
