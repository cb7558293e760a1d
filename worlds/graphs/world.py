"""Household graphs as a world: WAH-NL from the user's files, made-up apartments without end, and some of our own.

One expert plays from the goal sentence and the texts alone, carries two things at a time, and searches the likeliest places
first. The expert of LoTa-Bench's skills can find everything that it can name, so it fetches one thing after the other.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from housequest.worlds.base import Env, Metric, Observation, Policy, Purpose, Task, WorldInfo
from housequest.worlds.env import unwrapped
from housequest.worlds.errors import ConfigurationError, Unsupported, shown
from housequest.worlds.graphs import houses
from housequest.worlds.graphs.env import FORMS, TURNS, GraphEnv, GraphSkillEnv, plan, skills_in
from housequest.worlds.graphs.files import TaskFile, WahTask, read_apartment, read_tasks
from housequest.worlds.graphs.goals import GraphGoal, Wanted, modern, read_sentence, sentence, spoken
from housequest.worlds.graphs.graph import Classes, Graph, merged
from housequest.worlds.graphs.household import HOUSEHOLD, MANUAL, GraphHousehold, lies, standing_at
from housequest.worlds.graphs.shared import SharedGraph
from housequest.worlds.household.arrangement import Arrangement
from housequest.worlds.household.base import Expert, ExpertMemory, ExpertSettings, Household, Move, belief_after
from housequest.worlds.household.belief import Receptacle, by_name, kind
from housequest.worlds.household.company import (
    ALONE,
    LOOKED_AT,
    CompanyMemory,
    Work,
    believed,
    claiming,
    hearing,
    observing,
    spoken_for,
)
from housequest.worlds.household.counts import SearchPrior, drawn
from housequest.worlds.household.goals import skill_words
from housequest.worlds.household.talk import Claimed
from housequest.worlds.household.world import EXAMPLE, GENERATED, HouseholdWorld
from housequest.worlds.options import option, read_options
from housequest.worlds.paths import read_file, sha256_of
from housequest.worlds.shared import WAIT, Seat, Shared
from housequest.worlds.tasks import MadeUpTasks, parse_goal_source, plain_sentence
from housequest.worlds.text import many, with_article

if TYPE_CHECKING:
    from housequest.worlds.rooms.room import Room, Situation

METRICS = (
    Metric("sr", "SR", "SR: the share of tasks in which all subgoals are reached.", lambda played: (float(played.won), 1.0)),
    Metric(
        "subgoal_sr",
        "Subgoal SR",
        "Subgoal SR: the share of a task's wanted things that are where they should be, at the one place where most are, "
        "averaged over tasks, as LoTa-Bench computes it for WAH-NL.",
        # A task that was not played has no known goal; none of it is reached.
        lambda one: ((one.met / one.conditions if one.conditions else float(one.won)), 1.0),
    ),
)
_NAME = "household-graph"
PUBLISHED = {"train": 250, "test": 100}  # WAH-NL's numbers of tasks.
GET_DATA = (
    "WAH-NL's files come with LoTa-Bench (github.com/lbaa2022/LLMTaskPlanning): name the folder that holds wah_nl_train.json "
    "and wah_nl_test.json with --world-option data=FOLDER."
)
_PREFIX = "wah_nl_"
_KEPT = 64
_THEIRS = 4.0  # the cost of others' places, where a player's own cost 1, by trial on apartments 60000 to 60079


@dataclass(frozen=True, slots=True)
class GraphOptions:
    data: str | None = option(
        None, "A file in WAH-NL's format, or the folder that holds wah_nl_train.json and wah_nl_test.json."
    )
    apartment: str | None = option(None, "A VirtualHome graph, in which the tasks of generated:SEED take place.")
    goals: str = option("human", "Whose goal: template, human, human:N (instruction N) or human:seed=N.")
    skills: Literal["none", "oracle"] = option("none", "oracle: commands are LoTa-Bench's skills, by a robot that knows all.")


class GeneratedApartments(MadeUpTasks):
    """The split ``generated``: made-up tasks, in made-up apartments or in one of the user's."""

    what = "apartment"

    def __init__(self, apartment: Graph | None) -> None:
        super().__init__(GENERATED, range(houses.SEEDS), self._task)
        self.house = lru_cache(_KEPT)(houses.make_apartment if apartment is None else partial(houses.make_task, apartment))
        """The apartment and task of a seed. Raises ``ConfigurationError``."""

    def _task(self, seed: int) -> Task:
        house: houses.ApartmentTask = self.house(seed)
        return Task(f"{GENERATED}/{seed}", _NAME, GENERATED, seed, house.type, sentence(house.goal))


class GraphWorld(HouseholdWorld[GeneratedApartments]):
    """The tasks in the user's files and, as the splits ``example`` and ``generated``, apartments of our own. It takes the
    `GraphOptions` by name; a task without a sentence has ours. Raises ``ConfigurationError`` and ``GameError``."""

    name = _NAME
    Options = GraphOptions
    household: Household | None = HOUSEHOLD
    info = WorldInfo(
        preamble="an apartment",
        manual=MANUAL,
        metrics=METRICS,
        task_types={name: family.word for name, family in houses.FAMILIES.items()},
        published_splits=PUBLISHED,
        endless_splits=(GENERATED,),
        first_task=f"{EXAMPLE}:1",
        prior="written habits of where things lie, counted nowhere",
        get_data=GET_DATA,
    )

    def __init__(self, **given: Any) -> None:
        super().__init__()
        options = GraphOptions(**given)
        self._goals = parse_goal_source(options.goals)
        if self._goals.steps:
            raise ConfigurationError("WAH-NL's people wrote no instructions step by step; give human in place of human+steps.")
        own = {} if options.data is None else _files(Path(options.data))
        self._paths = {EXAMPLE: Path(__file__).with_name("example.json"), **own}
        self._apartment = None if options.apartment is None else Path(options.apartment)
        self._file = lru_cache(_KEPT)(read_tasks)
        self._reader = GraphHousehold(self._classes if self._apartment or len(self._paths) > 1 else None)
        self.household = self._reader
        evaluated = next((split for split in ("test", "train") if split in own), self.splits()[0])
        explored = "train" if "train" in own else EXAMPLE
        defaults: dict[Purpose, str] = {"play": EXAMPLE, "evaluate": evaluated, "explore": explored}
        self.info = replace(self.info, default_splits=defaults, first_task=f"{evaluated}:1")
        if options.skills == "oracle":
            self.info = replace(self.info, skills=FORMS, max_turns=TURNS, manual="\n".join(FORMS))

    @property
    def engine(self) -> str:
        # Told with every run, since the apartment is not quite that of its file.
        dropped = 0 if self._own is None else self._own.apartment.dropped
        left = f", without {many(dropped, 'relation')} that put fixed things inside of themselves" if dropped else ""
        return f"graphs 2{left}{', skills by an oracle that reads the graph' if self.info.skills else ''}"

    def make_generated(self) -> GeneratedApartments:
        return GeneratedApartments(self._own)

    @cached_property
    def _own(self) -> Graph | None:
        """The user's apartment, read once. Raises ``GameError``."""
        return None if self._apartment is None else read_apartment(self._apartment)

    def installed(self) -> Sequence[str]:
        own = self._paths.keys() - {EXAMPLE}
        return (*(split for split in PUBLISHED if split in own), *sorted(own - PUBLISHED.keys()))

    def listed(self, split: str) -> Iterable[Task]:
        return (self._task(split, number, one) for number, one in enumerate(self._file(self._paths[split]).tasks, start=1))

    def open(self, task: Task) -> Env:
        graph, goal = self._begun(task)
        return (GraphSkillEnv if self.info.skills else GraphEnv)(self.task(task.id), graph, goal)

    def share(self, task: Task, players: Sequence[str]) -> Shared:
        if self.info.skills:
            raise Unsupported("A robot that knows where everything is plays alone; leave skills=oracle out.")
        return SharedGraph(self.task(task.id), *self._begun(task), players)

    def par(self, task: Task, players: int) -> int | None:
        return self.shortest(task) if players == 1 else None

    def shortest(self, task: Task, *, seconds: float | None = None) -> int | None:
        if self.info.skills:
            return None
        found = plan(*self._begun(task), seconds=seconds)
        return None if found is None else len(found)

    def room(self, task: Task) -> Room:
        return plan_of(self._begun(task)[0])

    def situation(self, env: Env, room: Room) -> Situation | None:
        inner = unwrapped(env)
        if isinstance(inner, Seat) and isinstance(inner.shared, SharedGraph):
            inner = inner.shared.envs[inner.player]
        return situation(inner.state.graph, room) if isinstance(inner, GraphEnv) else None

    def skills_at(self, opening: str) -> tuple[str, ...]:
        return skills_in(opening) if self.info.skills else ()

    def expert(self, /, **settings: Any) -> Policy:
        read = read_options(ExpertSettings, settings, owner="The expert", word="setting")
        return SkillExpert() if self.info.skills else GraphExpert(self._reader, read.search, read.seed)

    def fingerprint(self, split: str) -> str:
        """A SHA-256 over the split's file and its goals; of made-up tasks over what makes them."""
        if split == GENERATED:
            apartment = b"" if self._apartment is None else read_file(self._apartment)
            return hashlib.sha256(f"{houses.VERSION} {self.engine} ".encode() + apartment).hexdigest()
        goals = [f"{task.id} {task.goal}" for task in self.tasks(split)]
        return sha256_of("\n".join((self.engine, *goals, sha256_of(self._file(self._paths[split]).source.text))))

    def _task(self, split: str, number: int, one: WahTask) -> Task:
        told = tuple(plain_sentence(said) for said in one.instructions)
        chosen = self._goals.choose(f"{split}/{one.id}", told)
        wording = "template" if chosen is None else self._goals.wording(chosen[0])
        said = sentence(one.goal) if chosen is None else chosen[1]
        return Task(f"{split}/{one.id}", _NAME, split, number, one.name, said, wording, self._paths[split])

    def _begun(self, task: Task) -> tuple[Graph, GraphGoal]:
        """Hidden: the first graph and the goal of a task. Raises ``GameError``."""
        if task.split == GENERATED:
            house = self.generated.house(task.number)
            return house.graph, house.goal
        file: TaskFile = self._file(self._paths[self.task(task.id).split])
        one = file.tasks[self.task(task.id).number - 1]
        return file.graph(one), one.goal

    def _classes(self) -> Classes:
        """The classes of all the user's apartments together: those of a single one would tell what is hidden there."""
        files = [self._file(path).properties for split, path in self._paths.items() if split != EXAMPLE]
        apartment = None if self._own is None else self._own.apartment
        own = [] if apartment is None else [apartment.properties, houses.laid_out(apartment)]
        return merged(chain.from_iterable(one.items() for one in (*files, *own)))


def _files(data: Path) -> dict[str, Path]:
    try:
        found = sorted(data.glob(f"{_PREFIX}*.json")) if data.is_dir() else [data] if data.exists() else []
    except (OSError, ValueError):
        found = []
    names = {path.stem.removeprefix(_PREFIX): path for path in found}
    if not names:
        raise ConfigurationError(f"{shown(str(data), 400)} holds no tasks of WAH-NL. {GET_DATA}")
    for name, path in names.items():
        if not name:
            why = f"no name follows {_PREFIX}"
        elif name in (EXAMPLE, GENERATED):
            why = f"the split {shown(name)} is ours"
        elif ":" in name or not name.isprintable():
            why = "the name of a split has no ':' and nothing that cannot be printed"
        else:
            continue
        raise ConfigurationError(f"{shown(str(path), 400)} cannot be a split: {why}; rename it to {_PREFIX}NAME.json.")
    return names


def plan_of(graph: Graph) -> Room:
    """Hidden: the plan of all rooms with all their furniture, made up, since no graph says where in a room something stands."""
    from housequest.worlds.rooms.plans import Furnished, apartment

    names = graph.apartment.names
    standing: dict[int, list[str]] = {room: [] for room in graph.apartment.rooms}
    for id, name in names.items():
        room = graph.room_of(id)
        if graph.node(id).holder and room is not None:
            standing[room].append(name)
    return apartment([Furnished(names[room], tuple(furniture)) for room, furniture in standing.items()])


def situation(graph: Graph, room: Room) -> Situation:
    """Hidden: the whole state. The robot stands before furniture that it is close to, else in the middle of its room."""
    from housequest.worlds.rooms.room import Holder, Situation

    names = graph.apartment.names
    contents: dict[str, list[str]] = {one.name: [] for one in room.fixtures}
    for id, name in names.items():
        lain, inside = lies(graph, id), graph.room_of(id)
        where = lain[1] if lain is not None else inside
        lying = not graph.node(id).room and not graph.node(id).holder
        if lying and where is not None and names[where] in contents and id not in graph.held:
            contents[names[where]].append(name)
    at = standing_at(graph)
    holders: list[Holder] = []
    for name, lying in contents.items():
        id = graph.apartment.named[name]
        known = "open" if "OPEN" in graph.state(id) else "closed" if "CLOSED" in graph.state(id) else "surface"
        holders.append(Holder(name, True, None if graph.node(id).room else known, tuple(lying)))
    states = frozenset((name, "on") for id, name in names.items() if "ON" in graph.state(id))
    return Situation(room.pose(at), at, tuple(holders), tuple(names[id] for id in graph.held), states)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphExpertMemory(ExpertMemory):
    """The memory, with the goal sentence, which is read again as more is seen, and its knowledge of other players."""

    goal: str
    company: CompanyMemory = ALONE


class GraphExpert(Expert[GraphExpertMemory]):
    """The expert of household graphs. It reads sentences about the household's kinds and about kinds that it has seen."""

    household: GraphHousehold

    def begin(self, goal: str, observation: Observation) -> GraphExpertMemory:
        belief = belief_after(self.household, observation)
        return GraphExpertMemory(belief=belief, salt=self.salt(belief), goal=goal)

    def hear(self, memory: GraphExpertMemory, player: str, others: Sequence[str], news: Sequence[str]) -> GraphExpertMemory:
        wanted, company = self._wanted(memory), replace(memory.company, player=player, others=tuple(others), says=())
        company = hearing(company, memory.belief, () if wanted is None else wanted.goals(), news)
        return replace(memory, belief=self.household.hear(memory.belief, news), company=company)

    def says(self, memory: GraphExpertMemory) -> tuple[str, ...]:
        return memory.company.says

    def arranged(self, memory: GraphExpertMemory, arrangement: Arrangement) -> GraphExpertMemory:
        return replace(memory, company=replace(memory.company, arrangement=arrangement))

    def observe(self, memory: GraphExpertMemory, command: str, observation: Observation) -> GraphExpertMemory:
        after, refused = super().observe(memory, command, observation), self.household.refused(observation)
        if not memory.company.others:
            return after
        company = observing(memory.company, command.strip(), memory.belief, after.belief, walk="walk to ", refused=refused)
        return replace(after, company=company)

    def decide(self, memory: GraphExpertMemory) -> tuple[str | None, str, GraphExpertMemory]:
        wanted, company = self._wanted(memory), memory.company
        if not company.others or wanted is None:
            return super().decide(memory)
        decision = _Decision(replace(memory, belief=believed(company, memory.belief)), wanted, self.search)
        seen = [one for one in memory.belief.receptacles if one.contents is not None and one.kind != wanted.place]
        company, says = spoken_for(decision.work, company, [one.name for one in seen if one.name not in memory.belief.rooms])
        possible = (move for move in decision.moves() if move.command not in memory.failed)
        move = next(possible, None) or self.last_resort(memory)
        company = claiming(company, decision.claims, move, says, memory.belief.hands, decision.revisits)
        return move.command, move.thought, replace(memory, chosen=move.command, company=company)

    def worth_trying_again(self, command: str, failed: str) -> bool:
        # A thing that was refused from far away may now be taken.
        return command.startswith("walk to ") and failed.endswith(command.removeprefix("walk to"))

    def moves(self, memory: GraphExpertMemory) -> Iterator[Move]:
        wanted = self._wanted(memory)
        return _Decision(memory, wanted, self.search).moves() if wanted else iter(())

    def last_resort(self, memory: GraphExpertMemory) -> Move:
        lost = "nothing is left to try" if self._wanted(memory) else "this goal is in words that the expert cannot read"
        return Move(None, lost)

    def _wanted(self, memory: GraphExpertMemory) -> Wanted | None:
        seen = (one.kind for one in (*memory.belief.receptacles, *memory.belief.items))
        return self.household.wanted(memory.goal, frozenset(seen))


class _Decision:
    def __init__(self, memory: GraphExpertMemory, wanted: Wanted, search: SearchPrior) -> None:
        self.memory, self.belief, self.wanted = memory, memory.belief, wanted
        self.search, self.company = search, memory.company
        targets = [one for one in self.belief.receptacles if one.kind == wanted.place and one.name not in self.belief.rooms]
        self.target = max(targets, key=lambda one: (self._settled(one), one.name == self.belief.at), default=None)
        self.work = Work(memory.company, wanted.goals(), self.belief, self.target.name if self.target else None)
        self.useful = self.work.purposes()
        """The goals of the needed things in hand."""
        self.claims = tuple(self._claim(number, name) for name, number in self.useful.items())
        self.revisits = ""
        # Players divide the rooms, and the furniture of each.
        self._turns = self.work.search_order(self.belief.rooms)
        for room in self.belief.rooms:
            there = self.belief.places[room].contents or ()
            self._turns |= self.work.search_order(name for name in there if name in self.belief.places)

    def moves(self) -> Iterator[Move]:
        target, carried, useful = self.target, self.belief.carried, self.useful
        if self.company.check == self.belief.at is not None:
            yield Move(f"examine {self.belief.at}", f"that was refused; look at the {self.belief.at}")
        if self.work.done:
            yield from self._finish()
            yield from self._wait()
            return
        for name in carried:
            if name not in useful:
                yield from self._lay_down(name, f"the {name} is not needed; put it down")
        if target is None:
            yield from self._seek([self.wanted.place], f"find the {spoken(self.wanted.place)}")
        left = Counter({self.work.goals[number - 1].object: count for number, count in self.work.left.items()})
        more = left - Counter(map(kind, useful))
        full = len(carried) >= self.belief.hands
        shut = target is not None and target.openness == "closed"
        if target and useful and (full or not more or shut or self.belief.at == target.name):
            yield from self._deliver(target)
        if more and not full:
            yield from self._fetch(more)
            if target and useful and not self.company.telling.issuperset(self.company.others):
                # Nobody reports; so go and see, and bring along what it holds.
                yield from self._deliver(target)
            yield from self._seek(sorted(more), f"look for {' or '.join(with_article(spoken(one)) for one in sorted(more))}")
        if target and useful:
            yield from self._deliver(target)
        yield from self._wait(looking=bool(more))

    def _claim(self, number: int, thing: str) -> Claimed:
        return Claimed(number, thing, self.target.name if self.target else self.wanted.place)

    def _settled(self, one: Receptacle) -> int:
        there = Counter(kind(name) for name in one.contents or ())
        return sum(min(count, there[thing]) for thing, count in self.wanted.things.items())

    def _wait(self, *, looking: bool = False) -> Iterator[Move]:
        """In company, nobody leaves before the game is over."""
        if not self.company.others:
            return
        if looking or not self.company.trusts:
            for name in self.work.round_again():
                if name != self.belief.at:
                    self.revisits = name
                    yield Move(f"walk to {name}", f"look again at the {name}")
                    self.revisits = ""
        yield Move(WAIT, "the others do all that is left; wait")

    def _finish(self) -> Iterator[Move]:
        if self.wanted.switched and self.target:
            for name in self.belief.carried[: max(0, 1 + len(self.belief.carried) - self.belief.hands)]:
                yield from self._lay_down(name, "a hand must be free")
            thought = f"switch the {self.target.name} on"
            if self.target.openness == "open":
                yield from self._at(self.target, f"close {self.target.name}", thought)
            yield from self._at(self.target, f"switch on {self.target.name}", thought)
        if not self.company.others:
            yield Move(None, f"as far as the expert can tell the goal is reached ({self.wanted})")

    def _deliver(self, target: Receptacle) -> Iterator[Move]:
        name = next(iter(self.useful))
        thought = f"bring the {name} to the {target.name}"
        if target.openness == "closed" and self.wanted.how == "inside":
            if len(self.belief.carried) >= self.belief.hands:
                yield from self._lay_down(name, f"a hand must be free to open the {target.name}")
            yield from self._at(target, f"open {target.name}", thought)
        for how in ("in", "on") if self.wanted.how == "inside" else ("on", "in"):
            yield from self._at(target, f"put {name} {how} {target.name}", thought)

    def _lay_down(self, name: str, thought: str) -> Iterator[Move]:
        """Put something down anywhere but at the kind of place that is the goal's: here if that is possible."""
        places = [one for one in self.belief.receptacles if one.openness == "surface" and one.kind != self.wanted.place]
        for one in sorted(places, key=self._nearness):
            for how in ("on", "in"):
                yield from self._at(one, f"put {name} {how} {one.name}", thought)

    def _fetch(self, more: Counter[str]) -> Iterator[Move]:
        """Grab wanted things that were seen, the nearest first; those at their goal stay."""
        found: list[tuple[Receptacle, str]] = []
        for one in self.belief.receptacles:
            if self.target is not None and one.name == self.target.name:
                continue
            found += [(one, name) for name in self.belief.inside(one) if more[kind(name)] > 0]
        for item in self.belief.items:
            # The things on a plate are not listed with the table under it.
            holder = next((one for one in self.belief.items if item.name in (one.inside or ())), None)
            place = self.belief.receptacle(holder.where) if holder else None
            if place and more[item.kind] > 0 and item.name not in self.belief.carried:
                found.append((place, item.name))
        claimed, wanted = self.claims, self.work.wanted()
        found = [each for each in found if each[1] not in self.work.avoided]
        for one, name in sorted(found, key=lambda each: (*self._nearness(each[0]), each[1])):
            # A player who takes one thing somewhere can take another there, too.
            there, left = [name, *(other for place, other in found if place is one and other != name)], Counter(more)
            beside = [each for each in there if left[kind(each)] > 0 and not left.subtract([kind(each)])]
            mine = (self._claim(wanted[kind(each)][0], each) for each in beside)
            self.claims = (*claimed, *mine)[: self.belief.hands]
            thought = f"take the {name}"
            if one.openness == "closed":
                yield from self._at(one, f"open {one.name}", thought)
                continue
            if one.name not in self.belief.rooms and name in self.belief.inside(one):
                yield from self._at(one, f"grab {name}", thought)
            # From too far away it is refused once.
            yield Move(f"grab {name}", thought)
            yield Move(f"walk to {name}", thought)
        self.claims = claimed

    def _seek(self, kinds: list[str], thought: str) -> Iterator[Move]:
        unseen = [one for one in self.belief.receptacles if one.contents is None]
        arranged = self.company.arrangement.rank
        for one in sorted(
            unseen, key=lambda one: (arranged(one.name), self._turns.get(one.name) == LOOKED_AT, self._promise(one, kinds))
        ):
            if one.name in self.belief.rooms:
                yield Move(f"walk to {one.name}", thought)
            else:
                yield from self._at(one, f"open {one.name}", thought)

    def _promise(self, one: Receptacle, kinds: list[str]) -> tuple[float, tuple[str, int]]:
        """The order of a search: cost divided by chance; places that others search first cost more, since they may be
        quicker."""
        if self.search != "counts":
            return 0.0 if self.search == "name" else float(int(drawn(self.memory.salt, one.name)[:12], 16)), by_name(one.name)
        counts, place, known = houses.written_counts(), modern(one.kind), [modern(each) for each in kinds]
        chance = sum(float(houses.ROOM_OF.get(each) == place) + 0.01 for each in known if each not in houses.LYING)
        chance += sum(counts.chance(each, place, houses.APARTMENT) for each in known if each in houses.LYING)
        cost = float(self.belief.at != one.name) + float(one.name not in self.belief.rooms)
        cost *= _THEIRS if self._turns.get(one.name) else 1.0
        return cost / chance, by_name(one.name)

    def _nearness(self, one: Receptacle) -> tuple[bool, bool, bool, tuple[str, int]]:
        here = self.belief.room_of(self.belief.at)
        away = self.belief.at != one.name
        return away, self.belief.room_of(one.name) != here, one.openness == "closed", by_name(one.name)

    def _at(self, one: Receptacle, command: str, thought: str) -> Iterator[Move]:
        if command in self.memory.failed:
            return
        yield Move(command if self.belief.at == one.name else f"walk to {one.name}", thought)


_SHUT = re.compile(r"The (?P<thing>.+) \d+ is (?:in the (?P<where>.+) \d+, which is )?closed; open (?:that|it) first\.")
_FAR = re.compile(r"You are not close to the (?P<thing>.+) \d+; go to it first\.")
_SO_ALREADY = re.compile(r"The .+ \d+ is (?:open|closed|on) already\.|You hold the .+ \d+ already\.")


@dataclass(frozen=True, slots=True)
class SkillExpertMemory:
    """The skills left, the ``names`` of things in skills, those gone to ``again``, and the reason to give up."""

    todo: tuple[str, ...]
    names: frozenset[str] = frozenset()
    again: frozenset[str] = frozenset()
    lost: str = "as far as the expert can tell the goal is reached"


class SkillExpert:
    """A ``Policy`` without a model."""

    def begin(self, goal: str, observation: Observation) -> SkillExpertMemory:
        found = (skill.partition(" a ")[2] or skill.partition(" an ")[2] for skill in skills_in(observation.text))
        names = frozenset(filter(None, found))
        wanted = read_sentence(goal, names)
        if wanted is None:
            return SkillExpertMemory((), names, lost="this goal is in words that the expert cannot read")
        place = wanted.place
        todo: list[tuple[str, str]] = []
        for thing, count in wanted.things.items():
            todo += [("find", thing), ("pick up", thing), ("find", place), ("put down", thing)] * count
        todo += [("close", place), ("switch on", place)] if wanted.switched else []
        return SkillExpertMemory(tuple(skill_words(*one) for one in todo), names)

    def observe(self, memory: SkillExpertMemory, command: str, observation: Observation) -> SkillExpertMemory:
        if not memory.todo or command.strip() != memory.todo[0]:
            return memory
        text = observation.text
        if observation.accepted or _SO_ALREADY.fullmatch(text):
            return replace(memory, todo=memory.todo[1:])
        found = _SHUT.fullmatch(text) or _FAR.fullmatch(text)
        if found is not None:
            kind = found.groupdict().get("where") or found["thing"]
            # Classes with the same words are named by themselves.
            name = kind if kind in memory.names else spoken(kind)
            opening = skill_words("open", name)
            if found.re is _SHUT and opening not in memory.todo[:2]:
                return replace(memory, todo=(opening, *memory.todo))
            if found.re is _FAR and name not in memory.again:
                # The robot may be close to a closet but not to a box in it.
                return replace(memory, todo=(skill_words("find", name), *memory.todo), again=memory.again | {name})
        return replace(memory, todo=(), lost=f"{memory.todo[0]} is refused: {text}")

    def decide(self, memory: SkillExpertMemory) -> tuple[str | None, str, SkillExpertMemory]:
        return (memory.todo[0], "", memory) if memory.todo else (None, memory.lost, memory)
