"""Measurements of rules: the same tasks, played without and with them.

A `Measurement` has two runs, without and with some rules of a book or all of them. In an `EachMeasurement` each rule is left
out of its book, or a candidate added to it, and each is added alone to nothing. What an agent can be told in an episode follows
from the goal, so two arms that tell the same share the episode, and most arms are over a few tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from housequest.agent.agents.spec import DEFAULT_AGENT, agent_names, agent_spec
from housequest.agent.config import Settings, world_of
from housequest.agent.evaluation.runs.files import few
from housequest.agent.evaluation.runs.spec import RunSpec, find_types, make_run_spec, slug
from housequest.agent.evaluation.runs.sweep import ArmRun, SweepFolder
from housequest.agent.setup import taken
from housequest.knowledge.choosing import RuleBudget, topic_of
from housequest.knowledge.examples import evaluates
from housequest.knowledge.rulebook import Rulebook, library
from housequest.knowledge.rules import Beside, Rule, RuleStatus, accepted
from housequest.worlds.base import Task, World
from housequest.worlds.errors import ConfigurationError, GameError, unquoted
from housequest.worlds.household.base import with_belief
from housequest.worlds.household.goals import Topic
from housequest.worlds.tasks import EXPLORED, MadeUpTasks, covers, split_tasks

WITHOUT, WITH = "without", "with"
NOTHING, BOOK = "nothing", "book"
"""The arms that all rules are compared with: no rules, and all accepted ones."""
GAMES = 20
"""The games that are drawn for each rule, of those that it can change."""
LOOKED_AT, LEAST_LOOKED_AT = 40, 400
"""Games that are looked at for each wanted one, and at least; most are about other things."""
LIVED = 100
"""Days of a home that agents may live through or be evaluated on; rules are measured on later ones."""


@dataclass(frozen=True)
class Measurement:
    """The runs, ``trials``, that measure the ``rules`` of ``book``: two, without and with them, and alike in all else."""

    book: Rulebook
    rules: tuple[Rule, ...]
    trials: tuple[ArmRun, ...]

    @property
    def default_folder(self) -> Path:
        """The default folder; the same measurement always gets the same name."""
        manifests = (trial.spec.manifest.model_dump_json(exclude={"versions"}) for trial in self.trials)
        digest = sha256("\n".join(manifests).encode()).hexdigest()[:8]
        return Path("runs") / f"measure-{slug(self.book.path.stem, 40)}-{digest}"

    def begin(self, folder: SweepFolder) -> None:
        """Write the sweep's manifest to ``folder``. Raises ``ConfigurationError`` where it holds something else."""
        if folder.begun and {run.folder for run in folder.contents().runs} != {trial.folder for trial in self.trials}:
            raise ConfigurationError(f"{folder.path} holds a sweep of other runs; give --out a new folder.")
        folder.begin(self.trials)


def plan_measurement(settings: Settings, name: str, ids: Sequence[str] = (), *, alone: bool = False) -> Measurement:
    """Plan to measure the rules ``ids`` of the book ``name``, together with its other accepted rules or ``alone``. Without ids
    the whole book is measured against no rules. Raises ``KnowledgeError``, and ``ConfigurationError`` where the agent takes no
    rules or the book has none to show.
    """
    agent, book, measured = _measured(settings, name, ids, "accepted")
    usual = accepted(book.rules)
    others = () if alone or not ids else tuple(rule for rule in usual if rule not in measured)
    together = tuple(rule for rule in book.rules if rule in measured or rule in others)
    settings = settings.model_copy(update={"agent": agent, "rules": None})

    def trial(arm: str, rules: tuple[Rule, ...]) -> ArmRun:
        told = _told(book, rules, settings, few([unquoted(rule.id) for rule in rules]) if alone else None)
        return ArmRun(arm, settings.seed or 0, arm, settings, rules=told)

    return Measurement(book, measured, (trial(WITHOUT, others), trial(WITH, together)))


def _measured(settings: Settings, name: str, ids: Sequence[str], status: RuleStatus) -> tuple[str, Rulebook, tuple[Rule, ...]]:
    """The agent that plays, the book, and its rules that are measured: those named, or all of this ``status``."""
    agent = settings.agent or DEFAULT_AGENT
    if {"rules", "places"}.isdisjoint(agent_spec(agent).takes):
        able = ", ".join(each for each in agent_names() if not {"rules", "places"}.isdisjoint(agent_spec(each).takes))
        raise ConfigurationError(f"The agent {agent!r} takes no rules; measure with one of: {able}.")
    book = library().open(name).require_world(settings.world, "Measure a book for {world}.")
    named = tuple(dict.fromkeys(book.rule(each) for each in ids))
    measured = named or tuple(rule for rule in book.rules if rule.status == status)
    if not measured:
        seen = ", and agents see only those; accept some, or name a candidate by its id" if status == "accepted" else ""
        raise ConfigurationError(f"{book.path} has no {status} rules{seen}.")
    if "rules" not in agent_spec(agent).takes and all(rule.kind != "location" for rule in measured):
        raise ConfigurationError(f"The agent {agent!r} takes none of these rules, but those of the kind location.")
    return agent, book, measured


def _told(book: Rulebook, rules: tuple[Rule, ...], settings: Settings, alone: str | None = None) -> RuleBudget | None:
    """``rules`` of ``book``, with their difference from its accepted ones in words; ``alone`` names rules that are alone."""
    usual = accepted(book.rules)
    more = [unquoted(rule.id) for rule in rules if rule not in usual]
    missing = [unquoted(rule.id) for rule in usual if rule not in rules]
    parts = (f"and {few(more)}" if more else "", f"without {few(missing)}" if missing else "")
    part = " ".join(filter(None, parts)) if alone is None else f"{alone} alone"
    return RuleBudget.of_book(book, rules, settings.rules_budget, part) if rules else None


class RuleTrials(NamedTuple):
    """A rule, or None for a whole book; the ``tasks`` that it can change; by each way of adding it, the rules without and with
    it."""

    rule: Rule | None
    tasks: tuple[Task, ...]
    ways: Mapping[Beside, tuple[RuleBudget | None, RuleBudget | None]]


@dataclass(frozen=True)
class EachMeasurement(Measurement):
    """The runs that measure each rule of ``book`` by itself, and what to compare. ``whole`` is the accepted rules of the book
    as if they were one rule. ``played_in`` is the folder of the episode of a task under rules, by their ids."""

    spec: RunSpec
    whole: RuleTrials
    each: tuple[RuleTrials, ...]
    topics: Mapping[str, Topic | None]
    played_in: Mapping[tuple[str, tuple[str, ...]], str]

    def folder_of(self, task: str, rules: RuleBudget | None) -> str:
        """The run in which ``task`` was played under ``rules``, or under others that come to the same in it."""
        return self.played_in[task, told_in(rules, self.topics[task])]


def told_in(rules: RuleBudget | None, topic: Topic | None) -> tuple[str, ...]:
    """The ids of the rules that may be told in an episode about ``topic``; of all, if that is not known."""
    if rules is None:
        return ()
    return tuple(rule.id for rule in (rules.rules if topic is None else rules.possible(topic)))


def plan_each(
    settings: Settings, name: str, ids: Sequence[str] = (), status: RuleStatus = "accepted", games: int | None = None
) -> EachMeasurement:
    """Plan to measure each of the rules ``ids`` of the book ``name``, or all of a ``status``.

    Args:
        settings: The tasks and the agent. Without a limit or a sample, games are drawn for each rule.
        name: The book's name or file.
        ids: Rules of any status.
        status: The rules that are measured if none is named.
        games: The number of games to draw for each rule, of those that it can change [20].

    Raises:
        KnowledgeError: The book cannot be read, or lacks a rule.
        ConfigurationError: The agent takes no rules, no game can be changed by them, or candidates would be chosen by games
            that agents are evaluated on.
    """
    agent, book, measured = _measured(settings, name, ids, status)
    listed = settings.limit is not None or settings.sample is not None
    if listed and games is not None:
        raise ConfigurationError("--games draws games for each rule; leave it out, or --limit and --sample.")
    if games is not None and not 1 <= games <= 1_000:
        raise ConfigurationError(f"--games: {games} is out of range; give 1 to 1000.")
    settings = settings.model_copy(
        update={"agent": agent, "rules": None, "split": settings.split or _split_for(settings, measured)}
    )
    spec = make_run_spec(settings if listed else settings.model_copy(update={"limit": 1}), usual=EXPLORED)
    tasks = spec.selection.tasks if listed else _drawn(spec, settings, measured, games or GAMES)
    held = next((task for task in tasks if evaluates(task.split, task.number)), None)
    if held is not None and any(rule.status == "candidate" for rule in measured):
        raise ConfigurationError(f"--split: {held.split} is for evaluation, so no rule may be chosen by it; leave --split out.")
    arms = _Arms(book, spec, settings, {task.id: _topic(spec, task) for task in tasks})
    usual = accepted(book.rules)
    nothing, whole = arms.played(NOTHING, (), tasks), arms.played(BOOK, usual, tasks)
    each: list[RuleTrials] = []
    for number, rule in enumerate(measured, start=1):
        alone = arms.budget((rule,), unquoted(rule.id))
        about = [task for task in tasks if told_in(alone, arms.topics[task.id])]
        others = tuple(other for other in usual if other != rule)
        both = tuple(other for other in book.rules if other == rule or other in usual)
        without = arms.played(f"{number} without {rule.id}", others, about)
        ways: dict[Beside, tuple[RuleBudget | None, RuleBudget | None]] = {
            "book": (without, arms.played(f"{number} with {rule.id}", both, about)),
            "nothing": (nothing, arms.played(f"{number} alone {rule.id}", (rule,), about, unquoted(rule.id))),
        }
        each.append(RuleTrials(rule, tuple(about), ways))
    if not any(one.tasks for one in each):
        raise ConfigurationError(
            f"None of {len(tasks)} games of {spec.config.split} is about what these rules say; name others."
        )
    total = RuleTrials(None, tuple(tasks), {"nothing": (nothing, whole)})
    return EachMeasurement(book, measured, tuple(arms.trials), spec, total, tuple(each), arms.topics, arms.played_in)


@dataclass
class _Arms:
    """The runs as far as they are planned; a run is over those tasks that no earlier one plays under the same rules."""

    book: Rulebook
    spec: RunSpec
    settings: Settings
    topics: Mapping[str, Topic | None]
    trials: list[ArmRun] = field(default_factory=list[ArmRun])
    played_in: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict[tuple[str, tuple[str, ...]], str])

    def budget(self, rules: tuple[Rule, ...], alone: str | None = None) -> RuleBudget | None:
        """``rules`` as the agent takes them."""
        return taken(_told(self.book, rules, self.settings, alone), self.spec.config.agent, self.spec.setup.world)

    def played(self, arm: str, rules: tuple[Rule, ...], tasks: Sequence[Task], alone: str | None = None) -> RuleBudget | None:
        """Plan to play ``tasks`` under ``rules``, which are returned as the agent takes them."""
        told, folder = self.budget(rules, alone), slug(arm.replace(" ", "-"))
        keys = {task.id: (task.id, told_in(told, self.topics[task.id])) for task in tasks}
        new = [task for task in tasks if keys[task.id] not in self.played_in]
        if new:
            self.trials.append(
                ArmRun(arm, self.spec.config.seed, folder, self.settings, rules=told, made=self.spec.over(new, told))
            )
            self.played_in |= {keys[task.id]: folder for task in new}
        return told


def _topic(spec: RunSpec, task: Task) -> Topic | None:
    """The topic of ``task`` as its episode has it; None if that takes a house that is slow to open, or cannot be opened."""
    world = spec.setup.world
    household, granted = world.household, task.type if "type" in spec.config.grants else None
    if household is None or (not world.info.inline and household.topic(task.goal) is not None):
        return topic_of(task.goal, granted, None, household)
    if not world.info.inline:
        return None
    try:
        env = spec.setup.open(task)
        try:
            opening = with_belief(household, env.reset().observation)
        finally:
            env.close()
    except GameError:  # its episode will say so
        return None
    return topic_of(task.goal, granted, opening.belief, household)


def _split_for(settings: Settings, rules: Sequence[Rule]) -> str:
    """The split to measure ``rules`` in: the home that they are about, or made-up houses."""
    world = world_of(settings)
    homes = {home for rule in rules for home in rule.homes if home.partition(":")[0] in world.info.homes}
    if any(rule.scope == "household" for rule in rules):
        if len(homes) != 1:
            which = f"of {' and '.join(sorted(homes))}" if homes else "of which nobody knows the home"
            raise ConfigurationError(f"These are rules {which}; name the home where they are measured, --split HOME:SEED.")
        return homes.pop()
    return next(iter(world.info.endless_splits), world.split_for("explore"))


def _drawn(spec: RunSpec, settings: Settings, rules: Sequence[Rule], games: int) -> tuple[Task, ...]:
    """The split's first tasks, so that ``games`` of them are about each of the ``rules``, if it has that many."""
    world, budget = spec.setup.world, taken(RuleBudget(tuple(rules)), spec.config.agent, spec.setup.world)
    wanted = find_types(settings.type, tuple(world.info.task_types)) if settings.type else ()
    left, chosen = dict.fromkeys(told_in(budget, None), games), list[Task]()
    for task in islice(_unknown(world, settings.split or "", rules), max(LEAST_LOOKED_AT, games * LOOKED_AT)):
        if not any(left.values()):
            break
        topic = topic_of(task.goal, task.type if "type" in spec.config.grants else None, None, world.household)
        about = told_in(budget, topic)
        if (not wanted or task.type in wanted) and any(left[rule] for rule in about):
            chosen.append(task)
            left |= {rule: max(0, left[rule] - 1) for rule in about}
    if not chosen:
        raise ConfigurationError(f"No game of {settings.split} is about what these rules say; name another --split.")
    return tuple(chosen)


def _unknown(world: World, split: str, rules: Sequence[Rule]) -> Iterator[Task]:
    """The tasks of ``split`` in order; of made-up ones, without those that a rule was learned from."""
    every = split_tasks(world, split, EXPLORED)
    if not isinstance(every, MadeUpTasks):
        yield from every
        return
    parts = {part for rule in rules for part in rule.origin.over(rule.evidence.witnesses)}
    # Days that a person names are measured on, whichever they are.
    whole_home = split == every.split and split.partition(":")[0] in world.info.homes
    for number in every.seeds[LIVED:] if whole_home else every.seeds:
        if not covers(parts, every.split, number):
            yield every.made(number)
