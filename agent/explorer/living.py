"""Lives: an agent gets to know a home day by day, and its book grows by what it saw.

Each day is a run of one episode in a folder of its own, with the book that was written that evening; the next morning the agent
gets it. After some days the book is tried on days from which nobody learns. Everything is computed from the records, so a life
goes on where it was stopped, and makes the same bytes.

::

    run.json                          the homes, the ways to learn, the days
    household-7/floor/                the agent with no book, on all days; in random/, searching in a random order
    household-7/ceiling/              told the true habits, which are hidden from every other agent
    household-7/counts/day-012/       a run of one day, with the book of its evening in book.yaml
    household-7/counts/tried-010/     the book of the tenth evening, on the days that come after all others
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from housequest.agent.agents import spec as registry
from housequest.agent.config import Settings, world_of
from housequest.agent.episodes.events import Curiosity, Ended, Started, Stepped
from housequest.agent.episodes.moments import episode_files, recorded_moments
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis.metrics import Summary
from housequest.agent.evaluation.runs import files
from housequest.agent.evaluation.runs.batch import RunOptions, RunProgress, run_batch, run_workers, unheard
from housequest.agent.evaluation.runs.budget import BudgetTracker, Stopped
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec, slug
from housequest.agent.explorer.groups import SHIPPED, GroupDistiller, read_distiller
from housequest.agent.networks import digest
from housequest.agent.setup import Setup
from housequest.knowledge.choosing import RuleBudget
from housequest.knowledge.judging import Moment
from housequest.knowledge.mining import Mined, Sightings, mine, place_rule
from housequest.knowledge.page import page_text
from housequest.knowledge.rules import LONGEST_STATEMENT, Interval, Origin, Rule
from housequest.knowledge.sentences import Location, PlaceShare, looked_rule
from housequest.worlds.base import HasHomes, World
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.household.base import Commands, Household
from housequest.worlds.paths import FORMAT, Format, atomic_write
from housequest.worlds.text import cut_at_word, with_article

Way = Literal["counts", "explore", "groups", "mine", "memory", "context"]
"""A way to learn; see `LEARNT`."""
LEARNT: dict[Way, str] = {
    "counts": "every look, counted by place",
    "explore": "the same, and the first days linger to look where was looked least",
    "groups": "as explore, in a book that a small network distils by place",
    "mine": "habits alone, as rules that a person would write",
    "memory": "where each thing was seen last",
    "context": "the past days as they were, for the model to read",
}
LINGERING: tuple[Way, ...] = ("explore", "groups")
"""The ways in which the first days linger."""
FLOOR, RANDOM, CEILING = "floor", "random", "ceiling"
"""For reference: an agent that knows nothing of the home; the same looking anywhere; and one that is told all of it."""
MANIFEST = "run.json"
MOST_DAYS = 500
TRIED = (5, 10, 20, 40)
"""The evenings after which a book is tried, by default."""
_TRUTH = 1_000
"""The looks for which the true habits count."""


class LivesManifest(files.Frozen):
    """The specification of lives (``run.json``). ``tried`` are the evenings whose book is tried, on ``frozen`` days after
    the last of the ``days``; an explorer lingers on the first ``lingering`` days. ``distiller`` is the SHA-256 of the network
    that distils groups."""

    format: Format = FORMAT
    family: Literal["lives"] = "lives"
    homes: tuple[str, ...] = Field(min_length=1)
    ways: tuple[Way, ...]
    days: int = Field(ge=1, le=MOST_DAYS)
    tried: tuple[int, ...]
    frozen: int = Field(ge=0, le=MOST_DAYS)
    lingering: int = Field(ge=0)
    distiller: str | None = None
    references: tuple[str, ...]
    world: str
    agent: str
    model: str | None
    max_turns: int
    seed: int

    @property
    def lives(self) -> tuple[Life, ...]:
        """All lives, with those for reference."""
        return tuple(Life(home, who) for home in self.homes for who in (*self.references, *self.ways))

    def episodes(self, life: Life) -> int:
        """The number of days that are played in a life."""
        return self.days + self.frozen * (len(self.tried) if life.who in self.ways else 1)


class Life(NamedTuple):
    """A home and who lives there: a `Way`, or one of the references."""

    home: str
    who: str

    @property
    def folder(self) -> Path:
        """Its folder, below that of all lives."""
        return Path(slug(self.home), self.who)


@dataclass(frozen=True, slots=True)
class Lives:
    """Lives that can begin, with the settings of every day, and the file of a ``distiller`` of one's own."""

    manifest: LivesManifest
    settings: Settings
    distiller: Path | None = None

    @property
    def default_folder(self) -> Path:
        """The default folder; equal lives get the same one."""
        one = self.manifest
        digest = sha256(f"{one.model_dump_json()}\n{self.settings.model_dump_json()}".encode()).hexdigest()[:8]
        homes = one.homes[0] if len(one.homes) == 1 else f"{len(one.homes)}-homes"
        return Path("runs") / f"learn-{slug(homes)}-{one.agent}-{digest}"


def plan_lives(
    settings: Settings,
    homes: Sequence[str],
    ways: Sequence[str],
    days: int,
    tried: Sequence[int],
    frozen: int,
    distiller: Path | None = None,
) -> Lives:
    """Fill in every default, for lives in ``homes`` such as ``household:7``, or ``household:7..12`` for several.

    Args:
        settings: Those of a run, without a split.
        ways: How the agent learns, each a `Way`.
        days: The days of a life.
        tried: The evenings after which the book is tried; those past the last day are left out.
        frozen: The days on which a book is tried, and nothing learned.
        distiller: The file of the network for the way ``groups``; None for the one that ships.

    Raises:
        ConfigurationError: There is no such home or way, or the agent cannot use what is learned.
    """
    world = world_of(settings)
    if world.household is None or not isinstance(world, HasHomes):
        raise ConfigurationError(f"The world {world.name!r} has no homes to live in.")
    named = tuple(dict.fromkeys(home for text in homes for home in _homes(text, world)))
    unknown = next((way for way in ways if way not in LEARNT), None)
    if unknown is not None:
        raise ConfigurationError(f"--learn: {shown(unknown)} is no way to learn; give {', '.join(LEARNT)}.")
    if settings.rules is not None:
        raise ConfigurationError("--rules: the agent makes its own book here; leave this out.")
    if distiller is not None and "groups" not in ways:
        raise ConfigurationError("--distiller: only --learn groups has its counts distilled by this network.")
    limits = {world.info.homes[home.partition(":")[0]] for home in named}
    if settings.max_steps is None and len(limits) > 1:
        raise ConfigurationError("Homes of two kinds have days of two lengths; learn in one kind, or give --max-steps.")
    settings = settings.model_copy(update={"max_steps": settings.max_steps or limits.pop(), "limit": None, "sample": None})
    setup = _first_day(settings, named[0]).setup
    _check_agent(setup, ways)
    for flag, number, least in (("days", days, 1), ("test-days", frozen, 0), *(("test-after", day, 1) for day in tried)):
        if not least <= number <= MOST_DAYS:
            raise ConfigurationError(f"--{flag}: {number:,} is out of range; give {least} to {MOST_DAYS}.")
    evenings = tuple(sorted({evening for evening in tried if 1 <= evening <= days})) if frozen else ()
    manifest = LivesManifest(
        homes=named,
        ways=tuple(way for way in LEARNT if way in ways),
        days=days,
        tried=evenings,
        frozen=frozen if evenings else 0,
        lingering=min(days, max(1, days // 2)) if set(LINGERING) & set(ways) else 0,
        distiller=digest(distiller or SHIPPED) if "groups" in ways else None,
        references=(FLOOR, *([RANDOM] if _searches(settings, named[0]) else ()), CEILING),
        world=world.name,
        agent=setup.agent,
        model=setup.recorded_model,
        max_turns=setup.max_turns,
        seed=setup.seed,
    )
    return Lives(manifest, settings, distiller)


def _homes(text: str, world: World) -> Iterator[str]:
    family, _, seeds = text.partition(":")
    found = re.fullmatch(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?", seeds, re.ASCII)
    if family not in world.info.homes or found is None:
        known = " or ".join(f"{each}:SEED" for each in world.info.homes)
        raise ConfigurationError(
            f"{shown(text)} is no home; give {known}, or a range such as {next(iter(world.info.homes))}:7..11."
        )
    first, last = int(found[1]), int(found[2] or found[1])
    if not 0 <= last - first < 1_000:
        raise ConfigurationError(f"{text}: give 1 to 1,000 homes, the first seed first.")
    yield from (f"{family}:{seed}" for seed in range(first, last + 1))


def _first_day(settings: Settings, home: str) -> RunSpec:
    return make_run_spec(settings.model_copy(update={"split": f"{home}:1..1"}))


def _at_random(settings: Settings) -> Settings:
    return settings.model_copy(update={"set": {**settings.set, "search": "random"}})


def _searches(settings: Settings, home: str) -> bool:
    """True if the agent can search in a random order."""
    with suppress(ConfigurationError):
        _first_day(_at_random(settings), home)
        return True
    return False


def _check_agent(setup: Setup, ways: Sequence[str]) -> None:
    spec = registry.agent_spec(setup.agent)
    if not {"rules", "places"} & set(spec.takes):
        raise ConfigurationError(f"The agent {setup.agent!r} reads no rules, so a book is of no use to it.")
    if "context" in ways and ("rules" not in spec.takes or setup.model is None):
        raise ConfigurationError(f"--learn context: {setup.agent!r} has no model that could read the past days; leave it out.")


def read_lives(folder: Path) -> LivesManifest:
    """Read the specification of the lives in ``folder``. Raises ``ConfigurationError``."""
    file = folder / MANIFEST
    return files.parsed(LivesManifest, files.read_bytes(file, files.LARGEST_MANIFEST), str(file))


async def live(
    lives: Lives, folder: Path, options: RunOptions, tracker: BudgetTracker, lasting: Sequence[Life] | None = None
) -> int:
    """Live the lives, or go on with them; with a shard in ``options`` only its part of them.

    Args:
        lives: All lives.
        folder: Where they are kept.
        options: As of a run; ``concurrency`` lives go on at once.
        tracker: The budget of all.
        lasting: Only these of them; None for all.

    Returns:
        The number of days on which a book was tried that ended in an error; the same lives play them again.

    Raises:
        ConfigurationError: ``folder`` holds others, or a run cannot be played.
        Stopped: The budget, the model, a full disk or an error on a day of a life ended them early.
    """
    kept = read_lives(folder) if (folder / MANIFEST).exists() else lives.manifest
    files.begin_run(folder / MANIFEST, lives.manifest, lambda: files.differences(kept, lives.manifest))
    every = tuple(lives.manifest.lives if lasting is None else lasting)
    every = every if options.shard is None else options.shard.part(every)
    setup = _first_day(lives.settings, every[0].home).setup if every else None
    model = None if setup is None else setup.make_model()
    try:
        shared = replace(options, model=model)
        living = _Living(lives, folder, shared, tracker, world_of(lives.settings), every)
        await living.live()
        return living.errors
    finally:
        if model is not None:
            await model.aclose()


@dataclass
class _Living:
    lives: Lives
    folder: Path
    options: RunOptions
    tracker: BudgetTracker
    world: World
    every: Sequence[Life]
    done: int = 0
    won: int = 0
    errors: int = 0

    async def live(self) -> None:
        self.total = sum(map(self.lives.manifest.episodes, self.every))
        self._tell()
        waiting = iter(self.every)
        many = min(self.options.concurrency, len(self.every))
        # Lives wait for their own days alone; what they leave free is for the days on which a book is tried.
        self.at_once = max(1, self.options.concurrency // max(1, many))

        async def work() -> None:
            for life in waiting:
                await self._live(life)

        await run_workers([work() for _ in range(many)])

    async def _live(self, life: Life) -> None:
        one, place = self.lives.manifest, self.folder / life.folder
        last = one.days + one.frozen
        if life.who not in one.ways:
            book = self._truth(life.home) if life.who == CEILING else None
            settings = _at_random(self.lives.settings) if life.who == RANDOM else self.lives.settings
            await self._play(place, settings, f"{life.home}:1..{last}", book)
            return
        book, notebook = None, Notebook(life, self._household.commands, self._distiller if life.who == "groups" else None)
        for day in range(1, one.days + 1):
            today = place / f"day-{day:03}"
            lingers: Curiosity | None = "linger" if life.who in LINGERING and day <= one.lingering else None
            summary = await self._play(today, self.lives.settings, f"{life.home}:{day}..{day}", book, lingers)
            if summary.overall.errors:
                # Later days depend on it.
                raise Stopped(f"Day {day} in {life.home} ended in an error: see {today}.", "The same command plays it again.")
            notebook.add(today)
            book = notebook.write(today / "book.yaml", one.world, self._budget(life))
            if day in one.tried:
                frozen = f"{life.home}:{one.days + 1}..{last}"
                await self._play(place / f"tried-{day:03}", self.lives.settings, frozen, book)

    async def _play(
        self, folder: Path, settings: Settings, split: str, book: RuleBudget | None, curiosity: Curiosity | None = None
    ) -> Summary:
        spec = make_run_spec(settings.model_copy(update={"split": split}), rules=book, curiosity=curiosity)
        options = replace(self.options, concurrency=self.at_once, retry_errors=True, watcher=unheard, beat=None, shard=None)
        summary = await run_batch(spec, folder, options, self.tracker)
        self.done += summary.overall.finished
        self.won += summary.overall.won
        self.errors += summary.overall.errors
        self._tell()
        return summary

    def _tell(self) -> None:
        active, cost = self.tracker.active, self.tracker.used.money
        self.options.watcher(RunProgress(self.done, self.total, self.won, self.errors, 0, active, cost=cost))

    def _budget(self, life: Life) -> int | None:
        # Past days as they are: that is what this way is about, whatever it costs.
        return None if life.who == "context" else self.lives.settings.rules_budget

    def _truth(self, home: str) -> RuleBudget:
        assert isinstance(self.world, HasHomes)
        rules = true_rules(self.world.habits(home))
        return RuleBudget(rules, None, "habits", sha256("\n".join(rule.statement for rule in rules).encode()).hexdigest())

    @cached_property
    def _distiller(self) -> GroupDistiller:
        return GroupDistiller(read_distiller(self.lives.distiller), self._household.counts())

    @property
    def _household(self) -> Household:
        assert self.world.household is not None  # `plan_lives` checks this
        return self.world.household


def true_rules(habits: Mapping[str, Mapping[str, float]]) -> tuple[Rule, ...]:
    """The true ``habits`` of a home as the rules of somebody who has looked everywhere for years."""
    places = dict.fromkeys(sorted({place for chances in habits.values() for place in chances}), _TRUTH)

    def location(thing: str) -> Location:
        kept = sorted(habits[thing].items(), key=lambda one: (-one[1], one[0]))
        told = (
            PlaceShare(place, days := round(_TRUTH * chance), chance, Interval(chance, chance), (), _TRUTH, days)
            for place, chance in kept
        )
        return Location(thing, _TRUTH, tuple(told))

    rules = (replace(place_rule(location(thing), Origin()), scope="household") for thing in habits)
    return tuple(replace(rule, status="accepted") for rule in (*rules, looked_rule(places, Origin())))


class Notebook:
    """Everything seen in a home so far, and the rules that a way of learning makes of it, ``groups`` by a ``distiller``."""

    def __init__(self, life: Life, commands: Commands, distiller: GroupDistiller | None = None) -> None:
        self._life, self._commands, self._distiller = life, commands, distiller
        self._days = 0
        self._moments: list[Moment] = []
        self._diary: list[str] = []
        self._sightings = Sightings(by_name=True)

    def add(self, day: Path) -> None:
        """Add the records of a ``day``. Raises ``ConfigurationError`` where one is damaged."""
        self._days += 1
        if self._life.who == "context":
            self._diary += (part for record in episode_files([day]) for part in diary(self._days, record.path))
            return
        for moment in recorded_moments([day]):
            self._sightings.add(moment)
            if self._life.who == "mine":
                self._moments.append(moment)

    def rules(self) -> tuple[Rule, ...]:
        """The rules of this evening, all accepted."""
        splits = (f"{self._life.home}:1..{self._days}",)
        origin = Origin("run", f"{slug(self._life.home)}-{self._life.who}", splits)
        return tuple(replace(rule, status="accepted", by="evidence") for rule in self._made(origin))

    def _made(self, origin: Origin) -> Iterable[Rule]:
        match self._life.who:
            case "context":
                return (Rule(f"diary-{number:03}", said, origin=origin) for number, said in enumerate(self._diary, start=1))
            case "memory":
                return (_last_seen(thing, day, place, origin) for thing, day, place in self._sightings.last_seen)
            case "mine":
                return mine(self._moments, self._commands, scope="household").habits.rules(origin.name, origin.splits)
            case _:
                counted = Mined(tuple(self._sightings.locations()), scope="household", looked=self._sightings.looks)
                return self._distiller.rules(counted, origin) if self._distiller else counted.rules(origin.name, origin.splits)

    def write(self, file: Path, world: str, budget: int | None) -> RuleBudget | None:
        """Write the book of this evening, and return what the agent gets of it; None while it is empty."""
        rules = self.rules()
        text = page_text(rules, world)
        atomic_write(file, text.encode())
        digest = sha256(text.encode()).hexdigest()
        learned = tuple(sorted({split for rule in rules for split in rule.origin.splits}))
        return RuleBudget(rules, budget, file.name, digest, "", learned) if rules else None


def _last_seen(thing: str, day: int, place: str, origin: Origin) -> Rule:
    said = f"The last time that {with_article(thing)} was seen, on day {day}, it was in {place}."
    return Rule(f"where-{thing}", said, "location", objects=(thing,), origin=origin, scope="household")


def diary(day: int, record: Path) -> list[str]:
    """A day as it was: the goal, each command with its answer, and how it ended; in as many parts as a rule each can hold."""
    again = f"Day {day}, continued:"
    parts = [f"Day {day}:"]
    for event in read_episode(record):
        match event.body:
            case Started() as begun:
                said = begun.goal
            case Stepped(transition=done):
                said = f"> {done.command}: {done.observation.text}"
            case Ended() as ended:
                said = f"The day was {ended.outcome}."
            case _:
                continue
        said = cut_at_word(" ".join(said.split()), LONGEST_STATEMENT - len(again) - 1)
        if len(parts[-1]) + 1 + len(said) > LONGEST_STATEMENT:
            parts.append(again)
        parts[-1] += f" {said}"
    return parts
