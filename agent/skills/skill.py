"""A skill as a value, its text, and its outcomes. One decision about a running skill says whether it is done or impossible, and
gives the next commands, best first.

The verbs are those that the papers' planners share, adapted to a text household: LLM-Planner and LoTa-Bench (section 4 of
either) name the same few, and OPEx (section 3, "Skill Library") adds ``explore`` and ``look``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal

from housequest.agent.skills.naming import matches
from housequest.worlds.household.base import Commands
from housequest.worlds.household.belief import Belief, Item, Receptacle, kind
from housequest.worlds.household.counts import Counts, Prior, drawn
from housequest.worlds.household.goals import ADJECTIVES, APPLIANCES, KNIVES, Goal, Skill, Verb
from housequest.worlds.household.weighing import search_order

ALONE: frozenset[Verb] = frozenset({"look", "explore"})
PlannerSearch = Literal["llm", "counts", "random", "name"]
"""The order of searched places: asked of the agent's own model, or a prior (`SearchPrior`)."""


@dataclass(frozen=True, slots=True)
class Execute:
    """Give this command next."""

    command: str


@dataclass(frozen=True, slots=True)
class Done:
    """The skill is carried out, according to belief; ``said`` is the result in words."""

    said: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The skill failed, for the ``reason``. ``unknown``: it names something that may still turn up. ``final``: it would fail
    again in the same way."""

    reason: str
    unknown: bool = False
    final: bool = False


Outcome = Execute | Done | Failed


_Sight = tuple[Item, Receptacle]  # An object with a receptacle that is known to hold it.


@dataclass(frozen=True, slots=True)
class TaskTerms:
    """The meaning of the goal sentence; it stays the same for an episode.

    ``words`` are its words, which tell a cup from a mug. ``goal`` is None if the sentence cannot be read; ``two``: two things
    of a kind are wanted. ``salt`` draws the order of a random search.
    """

    words: frozenset[str] = frozenset()
    goal: Goal | None = None
    two: bool = False
    salt: str = ""


@dataclass(frozen=True, slots=True)
class SkillProgress:
    """The skill in progress.

    ``problem`` is why it cannot begin. ``vain`` are its commands that taught nothing, ``issued`` is the last one, ``given``
    counts them, and ``explanation`` is why the last one was refused. ``accomplished``: it is done, though belief does not show
    it.
    """

    skill: Skill
    problem: Failed | None = None
    vain: frozenset[str] = frozenset()
    issued: str | None = None
    given: int = 0
    accomplished: bool = False
    explanation: str | None = None


@dataclass(frozen=True, slots=True)
class ControllerState:
    """The knowledge and the skill in progress, if any; immutable plain data.

    ``placed`` are objects brought where a task for two wants them; they do not count in a search for another one. ``stood`` is
    the receptacle at which the last skill ended, to choose among several at one location. If that skill was to go there
    (``sent``), the next one happens there. ``guides`` are the likely places of each thing, as the model answered, and ``hints``
    are a person's, for that model.
    """

    belief: Belief
    task: TaskTerms = TaskTerms()
    progress: SkillProgress | None = None
    placed: frozenset[str] = frozenset()
    stood: str | None = None
    sent: bool = False
    guides: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    hints: tuple[str, ...] = ()

    @property
    def skill(self) -> Skill | None:
        return self.progress.skill if self.progress else None

    @property
    def given(self) -> int:
        """The number of commands that the skill in progress has given."""
        return self.progress.given if self.progress else 0


@dataclass(frozen=True, slots=True)
class GroundedSkill:
    """The skill in ``progress``, with the game's names for its targets.

    With ``counts``, places are searched by cost over chance: the cost is the number of commands until one can reach in, the
    chance is that of ``prior``, or counted over a training split. Without, the places of a guide come first, then the others in
    random order by the task's salt, or by name. With ``near``, an action on a distant thing is impossible.
    """

    state: ControllerState
    progress: SkillProgress
    counts: Counts | None
    near: bool
    words: Commands
    prior: Prior | None = None

    @property
    def belief(self) -> Belief:
        return self.state.belief

    @property
    def skill(self) -> Skill:
        return self.progress.skill

    @property
    def guide(self) -> tuple[str, ...]:
        return self.state.guides.get(kind(self.sought), ()) if self.sought else ()

    @property
    def wanted(self) -> str:
        return self.skill.object or ""

    @property
    def sought(self) -> str:
        """The thing to search for if its place is unknown: the object, or the skill's place."""
        place = self.skill.receptacle
        return self.wanted if self.skill.verb == "find" or place is None else place

    @property
    def held(self) -> Item | None:
        """The object in a hand: the wanted one if it is there, else the one taken last."""
        held = [item for name in self.belief.carried if (item := self.belief.item(name)) is not None]
        return next((item for item in held if self._is(item)), held[0] if held else None)

    def done(self) -> str | None:
        match self.skill.verb:
            case "find":
                return self._found()
            case "go":
                return next((f"you are at the {one.name}" for one in self._spots()[:1] if self._here(one)), None)
            case "pick":
                return f"you hold the {self.held.name}" if self.held and self._is(self.held) else None
            case "open" | "close" as verb:
                state = "open" if verb == "open" else "closed"
                there = (one for one in self._spots()[:1] if self._here(one) and one.openness == state)
                return next((f"the {one.name} is {state}" for one in there), None)
            case "heat" | "cool" | "clean" as verb:
                held = self.held
                return f"the {held.name} is {ADJECTIVES[verb]}" if held and held.treated(verb) and self._is(held) else None
            case "use":
                lit = (item for item, where in self._sights() if item.lit and self._here(where))
                return next((f"the {item.name} is on" for item in lit), None)
            case "explore":
                return f"looked into the {self.belief.at}" if self.progress.accomplished else None
            case _:
                return f"done: {self.skill.text}" if self.progress.accomplished else None

    def place(self) -> str | None:
        """The skill's receptacle at the present place, once it is carried out."""
        spots = self._spots() or self._spots_of(self.wanted) or [where for _, where in self._sights()]
        return next((one.name for one in spots if self._here(one)), None)

    def at_place(self) -> bool:
        """True if the wanted thing is a receptacle at the present place."""
        return any(self._here(one) for one in self._spots_of(self.wanted)[:1])

    def problem(self) -> str | None:
        """The reason why the skill cannot be carried out now, known before any command."""
        match self.skill.verb:
            case "pick" if len(held := self.belief.carried) >= self.belief.hands:
                full = "your hand is" if self.belief.hands == 1 else "your hands are"
                return f"{full} full: you hold the {' and the '.join(held)}"
            case "pick" | "use" | "slice":
                sights = self._sights(nearby=True)
                if not sights:
                    return f"no {self.wanted} was seen yet that could be reached; find one first"
                slicing = self.skill.verb == "slice" and not (self.held and self.held.kind in KNIVES)
                knife = f"slicing takes a {' or a '.join(KNIVES)} in your hand" if slicing else None
                item, where = sights[0]
                return self._far(where, item.name) or knife
            case "heat" | "cool" | "clean" as verb:
                return self._not_held() or self._unfit(APPLIANCES[verb]) or self._no_spot()
            case "put":
                return self._not_held() or self._no_spot()
            case "examine" if not self._spots_of(self.wanted):
                return self._not_held()
            case "open" | "close":
                best = next(iter(self._spots()), None)
                if best and best.openness == "surface":
                    return f"the {best.name} cannot be opened or closed"
                return self._far(best) if best else None
            case _:
                return None

    def commands(self) -> Iterator[str]:
        """The next commands, best first; those in ``vain`` may be among them."""
        if self._place_unknown():
            for one in self._likeliest():
                yield from self._look_into(one)
            return
        match self.skill.verb:
            case "find":
                yield from (self._going(one) for one in self._spots_of(self.wanted))
                yield from self._to_fetch()
                for one in self._likeliest():
                    yield from self._look_into(one)
            case "go":
                yield from (self._going(one) for one in self._spots())
            case "pick":
                yield from self._picking()
            case "put":
                yield from self._putting()
            case "open" | "close" | "heat" | "cool" | "clean" as verb:
                treating = f" {self.held.name} with" if self.held and verb in APPLIANCES else ""
                for one in self._spots():
                    yield from self._at(one, f"{verb}{treating} {one.name}")
            case "use" | "slice" as verb:
                inside = verb == "slice"
                pattern = f"slice {{thing}} with {self.belief.held}" if inside else self.words.use
                for item, where in self._sights(nearby=inside):
                    yield from self._at(where, pattern.format(thing=item.name), inside=inside)
            case "examine":
                for one in self._spots_of(self.wanted):
                    yield from self._at(one, f"examine {one.name}")
                if self.held and self._is(self.held):
                    yield f"examine {self.held.name}"
            case "look":
                yield "look"
            case "explore":
                for one in self._breadth():
                    yield from self._look_into(one)

    def _picking(self) -> Iterator[str]:
        reach = self.words.reach
        for item, where in self._sights(nearby=True):
            take = self.words.take.format(thing=item.name, place=where.name)
            itself = item.name == where.name
            # An object on the floor of a room has no place beside which it can be reached.
            if reach is None or itself or where.openness is not None:
                yield from self._at(where, take, inside=True)
            # Going to the object itself makes the controller forget that the command was refused before.
            if reach is not None and not itself:
                yield from (reach.format(thing=item.name), take)

    def _putting(self) -> Iterator[str]:
        thing, spots = self.held.name if self.held else None, self._spots()
        on = all(one.openness == "surface" for one in spots)
        for pattern in self.words.puts[::-1] if on else self.words.puts:
            moves = {one: pattern.format(thing=thing, place=one.name) for one in spots}
            if self.progress.vain.isdisjoint(moves.values()):  # If one of a kind refuses the object, all do.
                for one, move in moves.items():
                    yield from self._at(one, move, inside=True)

    def nothing_left(self) -> str:
        """The reason why there is no next command, if the last one was not refused."""
        if self.skill.verb in {"find", "explore"} or self._place_unknown():
            sought = f" and there is no {self.sought} to be found" if self.sought else ""
            return f"every place was looked into{sought}"
        return f"there is no way left to {self.skill.text}"

    # Searching.

    def lost(self) -> tuple[str, ...]:
        """The places left, if a search has neither seen the thing nor a place that the guide named."""
        if self.skill.verb == "find" and (self.done() or self._spots_of(self.wanted)):
            return ()
        if self.skill.verb == "find" and any(command not in self.progress.vain for command in self._to_fetch()):
            return ()
        if self.skill.verb != "find" and not self._place_unknown():
            return ()
        left = tuple(one.name for one in self.belief.unsearched if self._look_into(one))
        return left if set(self.guide).isdisjoint(left) else ()

    def _found(self) -> str | None:
        spots = self._spots_of(self.wanted)
        if spots:
            return next((f"you are at the {one.name}" for one in spots[:1] if self._here(one)), None)
        if self.held and self._is(self.held):
            return f"you hold the {self.held.name}"
        visible = ((item, where) for item, where in self._to_find() if self._here(where) and where.openness != "closed")
        return next((f"the {item.name} is in or on the {where.name}, where you are" for item, where in visible), None)

    def _to_find(self) -> list[_Sight]:
        """Known objects that count as found. One that was put down counts only after every other place was searched."""
        seen = self._sights()
        fresh = [(item, where) for item, where in seen if item.name not in self.state.placed or self.wanted == item.name]
        return fresh if fresh or any(map(self._look_into, self.belief.unsearched)) else seen

    def _to_fetch(self) -> Iterator[str]:
        for _, where in self._to_find():
            yield from self._at(where, f"open {where.name}")

    def _look_into(self, one: Receptacle) -> list[str]:
        """The commands up to seeing the contents of a receptacle, best first; none if they were in vain."""
        ways = [f"open {one.name}"] if self._shut_chance(one) > 0.5 else []
        ways += [f"examine {one.name}"] if one.openness != "closed" else []
        left = [command for command in ways if command not in self.progress.vain]
        if left and not self._here(one):
            left = [self._going(one)] if self._going(one) not in self.progress.vain else []
        return left

    def _sights(self, *, nearby: bool = False) -> list[_Sight]:
        """Known objects that are wanted and not held, nearest first. Fresh ones come first, but if ``nearby`` those here do."""
        sights = [
            (item, holder)
            for item in self.belief.items
            if self._is(item) and item.name not in self.belief.carried
            for holder in self._holders(item)
        ]
        order = {one.name: at for at, one in enumerate(self._nearest(where for _, where in sights))}

        def rank(sight: _Sight) -> tuple[bool, bool, int]:
            item, where = sight
            return nearby and not self._here(where), item.name in self.state.placed, order[where.name]

        return sorted(sights, key=rank)

    def _holders(self, item: Item) -> tuple[Receptacle, ...]:
        """The places where an object can be reached. A place itself, such as a machine with a switch, is reached at itself.
        If it lies on another object, go to that object's place, if possible."""
        itself = self.belief.receptacle(item.name)
        around = self.belief.receptacle(item.where) if self.words.reach else None
        return (itself,) if itself else self.belief.holders(item.name) or ((around,) if around else ())

    # Places.

    def _going(self, one: Receptacle) -> str:
        return self.words.go.format(place=one.name)

    def _place_unknown(self) -> bool:
        """True if the skill's place was not seen yet, in a world that does not list all at first."""
        named = self.skill.receptacle
        if self.words.reach is None or not named:
            return False
        return not any(matches(one.name, named) for one in self.belief.receptacles)

    def _spots(self) -> list[Receptacle]:
        appliance = next((name for verb, name in APPLIANCES.items() if verb == self.skill.verb), "")
        return self._spots_of(self.skill.receptacle or appliance)

    def _spots_of(self, wanted: str) -> list[Receptacle]:
        """The receptacles of a name or kind, best first: beside its like (two must lie together), then here, then near."""
        found = self._nearest(one for one in self.belief.receptacles if matches(one.name, wanted))
        found = [one for one in found if self._here(one) or self._going(one) not in self.progress.vain]
        held = self.held
        alike = {name for name in self.state.placed if held and name != held.name and kind(name) == held.kind}
        return sorted(found, key=lambda one: (alike.isdisjoint(self.belief.inside(one)), not self._here(one)))

    def _nearest(self, receptacles: Iterable[Receptacle]) -> list[Receptacle]:
        """``receptacles`` by the number of commands until one can reach in, then by name."""
        return sorted(receptacles, key=lambda one: ((not self._here(one)) + self._shut_chance(one), one.kind, one.number))

    def _likeliest(self) -> list[Receptacle]:
        if self.counts is None:
            named = {name: at for at, name in enumerate(self.guide)}

            def rank(one: Receptacle) -> tuple[int, bool, str, int]:
                name, number = (drawn(self.state.task.salt, one.name), 0) if self.state.task.salt else (one.kind, one.number)
                return named.get(one.name, len(named)), not self._here(one), name, number

            return sorted(self.belief.unsearched, key=rank)
        prior, room = self.prior or self.counts, self.counts.room_of({*self.belief.kinds})

        sought = kind(self.sought)
        found = search_order(self.belief, lambda one: prior.chance(sought, one.name, room), self._shut_chance)
        return [each.place for each in found]

    def _breadth(self) -> list[Receptacle]:
        """The receptacles that were not searched yet: one of each kind, then the next of each, in the opening's order."""
        seen = Counter(one.kind for one in self.belief.receptacles if one.contents is not None)
        ranked: list[tuple[int, Receptacle]] = []
        for one in self.belief.unsearched:
            ranked.append((seen[one.kind], one))
            seen[one.kind] += 1
        return [one for _, one in sorted(ranked, key=itemgetter(0))]

    def _shut_chance(self, one: Receptacle) -> float:
        """The chance that this must be opened first: as observed, else as for its kind in this house, else as counted."""
        if one.openness:
            return float(one.openness == "closed")
        if f"open {one.name}" in self.progress.vain:
            return 0.0
        alike = [other.openness != "surface" for other in self.belief.receptacles if other.openness and other.kind == one.kind]
        if alike:
            return sum(alike) / len(alike)
        return self.counts.openable(one.kind) if self.counts else 0.0

    def _at(self, one: Receptacle, command: str, *, inside: bool = False) -> Iterator[str]:
        """The commands up to ``command`` at a receptacle, opened first if it happens ``inside``; none if it was in vain."""
        if command in self.progress.vain:
            return
        if not self._here(one):
            yield self._going(one)
            return
        if inside and self._shut_chance(one) > 0.5:
            yield f"open {one.name}"
            if one.openness == "closed":
                return
        yield command

    def _here(self, one: Receptacle) -> bool:
        return self.belief.is_here(one.name)

    def _is(self, item: Item) -> bool:
        return matches(item.name, self.wanted)

    # Obstacles.

    def _not_held(self) -> str | None:
        if self.held is None:
            return f"you do not hold the {self.wanted}; your hand is empty"
        return None if self._is(self.held) else f"you do not hold the {self.wanted}; you hold the {self.held.name}"

    def _unfit(self, appliance: str) -> str | None:
        named = self.skill.receptacle
        if named is None or kind(named) == appliance:
            return None
        return f"a {kind(named)} {self.skill.verb}s nothing; that takes a {appliance}"

    def _no_spot(self) -> str | None:
        spots = self._spots()
        if spots or self.progress.vain or (self._place_unknown() and not self.near):
            return self._far(spots[0]) if spots else None
        if self.skill.verb == "put":
            return "you stand nowhere in particular; say where to put it"
        return f"there is nothing here to {self.skill.verb} it with"

    def _far(self, one: Receptacle, what: str | None = None) -> str | None:
        if not self.near or self._here(one):
            return None
        return f"you are not near the {what or one.name}; go there first"
