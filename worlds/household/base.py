"""The contract of household worlds beside `housequest.worlds.base.World`: a reader of their texts, and the base of experts.

An expert keeps no plan: it decides from the current belief, also after other players' commands. It never repeats a refused
command without new information.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from housequest.worlds.base import Env, Observation, Policy, Step
from housequest.worlds.env import Wrapper, unwrapped
from housequest.worlds.household.belief import NAME, Belief
from housequest.worlds.household.counts import Counts, Prior, SearchPrior, salt_of
from housequest.worlds.household.goals import Goal, Skill, Topic
from housequest.worlds.household.news import heard, read_gift
from housequest.worlds.household.weighing import Weighed
from housequest.worlds.shared import WAIT, Seat

MAX_FAILED = 200
_BARE = "look|inventory|help"  # commands that name nothing


class CommandForm(NamedTuple):
    """Commands of one form, as checks of rules write them, such as ``take {object} from {receptacle}``; a ``{thing}`` is
    either, and with a ``{tool}`` something is done. ``types`` are the task types that the command is for; empty means all."""

    pattern: str
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Commands:
    """Patterns with ``{thing}`` and ``{place}``; ``puts`` are tried in their order, at what cannot be opened the last first.
    ``open``, ``close``, ``examine``, ``look`` and ``inventory`` are the same in all households."""

    go: str
    take: str
    puts: tuple[str, ...]
    use: str
    forms: tuple[CommandForm, ...]  # all commands that name something, one form each; the others are always accepted
    checks: tuple[str, ...]  # two example checks, for people and models: a refusal and an effect
    treat: str | None = None  # heats, cools or cleans (``{verb}``), if that is one command
    reach: str | None = None  # goes to a thing itself, if its receptacle is another place
    silence: str = "Nothing happens."  # the answer to a refused command, if it gives no reason

    def reads(self, text: str, *, company: bool = False) -> bool:
        """True for the text of a command, possible or not. Some exist only in ``company``."""
        forms = "|".join(re.sub(r"\\{\w+\\}", lambda _: f"(?:{NAME})", re.escape(form.pattern)) for form in self.forms)
        if company and (text.strip().lower() == WAIT or read_gift(text)):
            return True
        return re.fullmatch(rf"{_BARE}|{forms}", text.strip(), re.ASCII | re.IGNORECASE) is not None

    @classmethod
    def read(cls, path: Path) -> Self:
        """The commands in a JSON file, each form with its task types."""
        said: Any = json.loads(path.read_text("utf-8"))
        forms = tuple(CommandForm(pattern, tuple(types)) for pattern, types in said.pop("forms").items())
        return cls(puts=tuple(said.pop("puts")), forms=forms, checks=tuple(said.pop("checks")), **said)


@dataclass(frozen=True, slots=True)
class Terms:
    """Differences between households, for prompts: the number of ``hands``; whether a refusal ``explains`` its reason; the aim
    of each type of task (``kinds``); and other advice for planners (``ways``), a sentence each. Where ``kinds`` and ``ways``
    are empty, agents use their own words, which are about ALFWorld."""

    hands: int = 1
    explains: bool = False
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    ways: tuple[str, ...] = ()


class Household(Protocol):
    """Reads the texts of a household world into values, and knows what its houses are like."""

    task_types: tuple[str, ...]  # the types of task, in display order
    commands: Commands  # the forms of its commands
    terms: Terms  # its differences from other households, for prompts

    def begin(self, opening: Observation, /) -> Belief:
        """The belief after the opening text; the goal sentence in it is not read."""
        ...

    def update(self, belief: Belief, command: str, observation: Observation, /) -> Belief:
        """The belief after ``command`` was answered; any text at all gives a belief."""
        ...

    def hear(self, belief: Belief, news: Sequence[str], /) -> Belief:
        """The belief after a turn has brought ``news`` of other players; any text at all gives a belief."""
        return heard(belief, news)

    def refused(self, observation: Observation, /) -> bool:
        """True if the world refused the command."""
        return not observation.accepted

    def canonical(self, command: str, /) -> str:
        """``command`` in its present form, if it has an older one; else unchanged."""
        return command

    def read_goal(self, sentence: str, receptacles: Sequence[str] | None = None, /) -> Goal | None:
        """The goal that one of the world's own sentences states, or with the kinds of the ``receptacles`` in the house the one
        that a free sentence most likely means; None if it is unclear, or states several (`read_goals`)."""

    def read_goals(self, sentence: str, receptacles: Sequence[str] | None = None, /) -> tuple[Goal, ...]:
        """The goals that a sentence states, all to hold at once, each with things of its own; one as `read_goal`, none if it is
        unclear."""
        read = self.read_goal(sentence, receptacles)
        return () if read is None else (read,)

    def goal_clauses(self, sentence: str, receptacles: Sequence[str] | None = None, /) -> tuple[str, ...]:
        """A sentence for each of the `read_goals`: its clause, or if the clauses do not fit the goals, the goal in our
        words."""
        goals, said = self.read_goals(sentence, receptacles), sentence.strip().rstrip(".")
        clauses = (said,) if len(goals) == 1 else tuple(re.split(r", (?:and )?", said))
        alone = [self.read_goals(f"{one}.", receptacles) for one in clauses]
        return clauses if len(goals) == 1 or alone == [(goal,) for goal in goals] else tuple(map(str, goals))

    def steps(self, sentence: str, /) -> tuple[Skill, ...] | None:
        """The steps that a goal sentence asks for, without walking and searching; None if it is unclear."""

    def topic(self, sentence: str, receptacles: Sequence[str] | None = None, /) -> Topic | None:
        """The topic of a goal sentence, guessed from the kinds in ``receptacles`` if it is not the world's own; None if it is
        unclear."""

    def counts(self, path: Path | None = None, /) -> Counts:
        """The counts of where things lie: the shipped table, or the one at ``path``. Raises ``KnowledgeError``."""
        ...


def belief_after(household: Household, answer: Observation, before: Belief | None = None, command: str = "") -> Belief:
    """The belief that ``answer`` carries; if it has none yet, the text is read.

    Args:
        household: The reader of the world's texts.
        answer: The answer to ``command``, or the opening.
        before: The belief before the command; None at the opening.
        command: The command that was answered.
    """
    if answer.belief is not None:
        return answer.belief
    return household.begin(answer) if before is None else household.update(before, command, answer)


def with_belief(
    household: Household | None, answer: Observation, before: Belief | None = None, command: str = ""
) -> Observation:
    """``answer`` with its `belief_after`; as it is in a world that is no household."""
    return answer if household is None else replace(answer, belief=belief_after(household, answer, before, command))


class BelievingEnv(Wrapper):
    """An env whose answers carry their beliefs, for players without the episode loop."""

    def __init__(self, env: Env, household: Household | None) -> None:
        super().__init__(env)
        self.household = household
        self._before: Belief | None = None

    def reset(self) -> Step:
        self._before = None
        return self._read(self.env.reset())

    def step(self, command: str) -> Step:
        seat = unwrapped(self.env)
        if self.household and self._before and isinstance(seat, Seat):
            self._before = self.household.hear(self._before, seat.news())
        return self._read(self.env.step(command), command)

    def _read(self, step: Step, command: str = "") -> Step:
        answer = with_belief(self.household, step.observation, self._before, command)
        self._before = answer.belief
        return replace(step, observation=answer)


@runtime_checkable
class PriorSearch(Protocol):
    """A policy that looks into places by chances, and can be given others."""

    def searching_by(self, prior: Prior, /) -> Policy:
        """The same policy with these chances; memories fit both."""
        ...


@runtime_checkable
class Weighing(Protocol):
    """A policy that tells what it weighs when it searches."""

    def weighs(self, memory: Any, /) -> Weighed | None:
        """The odds behind the command that ``memory`` has chosen; None if no search chose it."""
        ...


class Move(NamedTuple):
    """A command, None to give up, and the thought behind it."""

    command: str | None
    thought: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertMemory:
    """An expert's memory, as plain data: the belief, the commands that ``failed``, the last one ``chosen``, and the ``salt`` of
    a random order."""

    belief: Belief
    failed: frozenset[str] = frozenset()
    chosen: str | None = None
    salt: str = ""


@dataclass(frozen=True, slots=True)
class ExpertSettings:
    """An expert's settings: the order in which it searches, and the ``seed`` of a random one."""

    search: SearchPrior = "counts"
    seed: int = 0


M = TypeVar("M", bound=ExpertMemory)


class Expert(ABC, Generic[M]):
    """A ``Policy`` without a model. ``search`` is the order in which it looks into places, and ``seed`` draws a random one."""

    def __init__(self, household: Household, search: SearchPrior = "counts", seed: int = 0) -> None:
        self.household = household
        self.search: SearchPrior = search
        self._seed = seed

    @abstractmethod
    def begin(self, goal: str, observation: Observation) -> M:
        """The memory before the first command."""

    @abstractmethod
    def moves(self, memory: M) -> Iterator[Move]:
        """The next moves, best first; the first that has not failed is made."""

    @abstractmethod
    def last_resort(self, memory: M) -> Move:
        """The move if all others have failed."""

    def salt(self, belief: Belief) -> str:
        """The seed of a random search order in the house of this first belief."""
        return salt_of(self._seed, (one.name for one in belief.receptacles)) if self.search == "random" else ""

    def has_failed(self, memory: M, command: str, belief: Belief) -> bool:
        """True if a command that was just refused must not be tried again; ``belief`` is the one after it."""
        del memory, command, belief
        return True

    def worth_trying_again(self, command: str, failed: str) -> bool:
        """True if the command that was just accepted makes one that ``failed`` worth another try."""
        del command, failed
        return False

    def observe(self, memory: M, command: str, observation: Observation) -> M:
        belief, failed = belief_after(self.household, observation, memory.belief, command), memory.failed
        command = command.strip()
        if not self.household.refused(observation):
            failed = frozenset(one for one in failed if not self.worth_trying_again(command, one))
        elif len(failed) < MAX_FAILED and self.has_failed(memory, command, belief):
            failed |= {command}
        return replace(memory, belief=belief, failed=failed)

    def decide(self, memory: M) -> tuple[str | None, str, M]:
        possible = (move for move in self.moves(memory) if move.command not in memory.failed)
        move = next(possible, None) or self.last_resort(memory)
        return move.command, move.thought, replace(memory, chosen=move.command)
