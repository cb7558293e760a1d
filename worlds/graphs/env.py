"""One running task of the world ``household-graph``, played by commands or by LoTa-Bench's skills for VirtualHome.

Skills (find, pick up, put down, open, close and switch on) each name a class of thing in the apartment. The robot that executes
them knows where everything is, as LoTa-Bench's does ("we assume that the agent is fully aware of object locations", section
4.2). So results measure planning and not searching.

The search for a shortest way to a goal sees the whole apartment, so it is for proofs and metrics alone. It tries only actions
that can help: walking to rooms, to wanted things, to the things that hold these and to their targets; opening the latter two;
grabbing and putting wanted things. It closes only things to be switched on, and takes the first of equal things in one place.
Every way found can be played; it is the shortest as long as no other action helps. The estimate of the remaining actions uses
the cheapest set of places that have everything missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import chain
from typing import Literal, NamedTuple, cast

from housequest.worlds.base import Observation, Step, Task
from housequest.worlds.env import StateEnv
from housequest.worlds.graphs import household
from housequest.worlds.graphs.goals import GraphGoal, met, spoken
from housequest.worlds.graphs.graph import Action, Apartment, Graph, Verb, after, problem
from housequest.worlds.household.goals import skill_words
from housequest.worlds.household.planner import SearchProblem, shortest_way


class GraphState(NamedTuple):
    """An apartment now, and the things that the robot knows of; commands can name only these."""

    graph: Graph
    seen: frozenset[int]

    def looked(self, *ids: int) -> GraphState:
        """The state after a look at these things, or at the robot's room."""
        return self._replace(seen=self.seen.union(*(household.shown_by(self.graph, id) for id in ids)))


def begun(graph: Graph) -> GraphState:
    """A task's first state; the robot knows the rooms and the things in its hands."""
    here = graph.room_of(graph.robot)
    assert here is not None
    return GraphState(graph, frozenset((*graph.apartment.rooms, *graph.held))).looked(here, *graph.held)


def advance(state: GraphState, action: Action) -> GraphState:
    """The state after an action that is possible."""
    now = state._replace(graph=after(state.graph, action))
    return now.looked(action.thing) if action.verb in ("walk to", "open") else now


class GraphEnv(StateEnv[GraphState]):
    """One running task. Its texts show the robot's room, and the contents of what it looks at; commands can name only things
    from the texts."""

    def __init__(self, task: Task, graph: Graph, goal: GraphGoal) -> None:
        self.task, self.goal, self._start = task, goal, graph

    def reset(self) -> Step:
        self._state = begun(self._start)
        return Step(Observation(f"{self._opening(self._state)}\n\nYour task is to: {self.task.goal}"))

    def step(self, command: str) -> Step:
        state, read = self.state, household.read_command(command)
        if read is None:
            return self._answer(household.NO_COMMAND, accepted=False)
        graph, (verb, *names) = state.graph, read
        ids = [graph.apartment.named.get(name) for name in names]
        if unseen := next((name for name, id in zip(names, ids, strict=True) if id not in state.seen), None):
            # The answer does not tell if there is such a thing somewhere.
            return self._answer(f"You have seen no {unseen}.", accepted=False)
        known = cast("list[int]", ids)
        match verb:
            case "look":
                here = graph.room_of(graph.robot)
                assert here is not None
                return self._look(state, here)
            case "inventory":
                return self._answer(household.told_held(graph))
            case "examine" if not household.examinable(graph, frozenset(known)):
                return self._answer(f"You are not close to the {names[0]}; go to it first.", accepted=False)
            case "examine":
                return self._look(state, known[0])
            case _:
                return self._act(state, Action(cast("Verb", verb), *known))

    def admissible_commands(self) -> tuple[str, ...]:
        graph, near = self.state.graph, household.examinable(self.state.graph, self.state.seen)
        acts = (household.written(graph, action) for action in possible(self.believed(), self.state.seen, near))
        return tuple(sorted(("look", "inventory", *(f"examine {graph.apartment.names[id]}" for id in near), *acts)))

    def goal_conditions(self) -> tuple[int, int]:
        return met(self.goal, self.state.graph)

    def believed(self) -> Graph:
        """The graph by which commands are listed: the true one, since nobody else changes it."""
        return self.state.graph

    def _opening(self, state: GraphState) -> str:
        return household.told_opening(state.graph)

    def _look(self, state: GraphState, id: int) -> Step:
        self._state = state.looked(id)
        return self._answer(household.told_thing(state.graph, id))

    def _act(self, state: GraphState, action: Action) -> Step:
        if (wrong := problem(state.graph, action)) is not None:
            return self._answer(f"{wrong}.", accepted=False)
        self._state = advance(state, action)
        return self._answer(household.told_done(state.graph, action, self._state.graph))

    def _answer(self, told: str, *, accepted: bool = True) -> Step:
        reached, total = self.goal_conditions()
        return Step(Observation(told, accepted), won=reached == total, terminated=reached == total)


_USES: tuple[Verb, ...] = ("grab", "open", "close", "switch on", "switch off")
_PUTS: tuple[Verb, ...] = ("put in", "put on")


def possible(graph: Graph, seen: frozenset[int], near: frozenset[int]) -> Iterator[Action]:
    """The actions that are possible now, of the things ``seen`` and of those ``near``, which are in reach and in sight."""
    tried = [Action("walk to", id) for id in seen]
    tried += [Action(verb, id) for id in near for verb in _USES]
    tried += [Action(verb, held, id) for id in near for held in graph.held for verb in _PUTS]
    yield from (action for action in tried if problem(graph, action) is None)


SkillVerb = Literal["find", "pick up", "put down", "open", "close", "switch on"]
_VERBS: Mapping[SkillVerb, tuple[str | None, Verb | None]] = {
    "find": (None, "walk to"),
    "pick up": ("GRABBABLE", "grab"),
    "put down": ("GRABBABLE", None),
    "open": ("CAN_OPEN", "open"),
    "close": ("CAN_OPEN", "close"),
    "switch on": ("HAS_SWITCH", "switch on"),
}
"""The property that each skill needs of a thing, and its action; "put down" is one of two, by the place."""
TURNS = 30  # Skills until an episode is lost, as in LoTa-Bench.
FORMS = ("find a THING", "pick up the THING", "put down the THING", "open the THING", "close the THING", "switch on the THING")
NO_SKILL = f"This is no skill of this apartment. Skills are: {', '.join(FORMS)}."
_LISTS: Mapping[str, tuple[SkillVerb, ...]] = {
    "You can find": ("find",),
    "You can pick up and put down": ("pick up", "put down"),
    "You can open and close": ("open", "close"),
    "You can switch on": ("switch on",),
}
_LIST = re.compile(rf"({'|'.join(_LISTS)}): ([^.\n]*)\.")


def skills_in(opening: str) -> tuple[str, ...]:
    """The skills of an apartment, read from the lists of classes in its opening, verb by verb."""
    found = {verb: said.split(", ") for kind, said in _LIST.findall(opening) for verb in _LISTS[kind]}
    return tuple(skill_words(verb, name) for verb in _VERBS for name in found.get(verb, ()))


def _called(apartment: Apartment) -> Mapping[str, str]:
    """The name of each class: its words, or the class itself if another one has the same words."""
    alike = Counter(map(spoken, apartment.kinds))
    return {kind: spoken(kind) if alike[spoken(kind)] == 1 else kind for kind in apartment.kinds}


def _kinds(apartment: Apartment, verb: SkillVerb) -> list[str]:
    needed, nodes = _VERBS[verb][0], apartment.nodes
    return sorted(
        kind for kind, ids in apartment.kinds.items() if not needed or any(needed in nodes[id].properties for id in ids)
    )


class GraphSkillEnv(GraphEnv):
    """One running task, played by skills. The hidden state tells it where things are, so it never searches."""

    _found: int | None = None
    _put: frozenset[int] = frozenset()
    _used: frozenset[int] = frozenset()

    def reset(self) -> Step:
        self._found, self._put, self._used = None, frozenset(), frozenset()
        return super().reset()

    def step(self, command: str) -> Step:
        state, skill = self.state, self._skills.get(" ".join(command[:200].split()))
        if skill is None:
            return self._answer(NO_SKILL, accepted=False)
        verb, kind = skill
        action = self._action(state.graph, verb, kind)
        if isinstance(action, str):
            return self._answer(action, accepted=False)
        step = self._act(state, action)
        if step.observation.accepted and verb == "find":
            self._found = action.thing
        elif step.observation.accepted and verb == "put down":
            self._put |= {action.thing}
            self._used |= {cast("int", action.where)}
        return step

    def admissible_commands(self) -> tuple[str, ...]:
        graph = self.state.graph
        actions = ((words, self._action(graph, *skill)) for words, skill in self._skills.items())
        return tuple(sorted(words for words, one in actions if not isinstance(one, str) and problem(graph, one) is None))

    def _opening(self, state: GraphState) -> str:
        apartment, called = state.graph.apartment, _called(state.graph.apartment)
        lists = {word: ", ".join(called[kind] for kind in _kinds(apartment, verbs[0])) for word, verbs in _LISTS.items()}
        known = " ".join(f"{word}: {names}." for word, names in lists.items() if names)
        return f"{household.told_opening(state.graph)} You know where everything is. {known}"

    @cached_property
    def _skills(self) -> Mapping[str, tuple[SkillVerb, str]]:
        apartment = self.state.graph.apartment
        called = _called(apartment)
        return {skill_words(verb, called[kind]): (verb, kind) for verb in _VERBS for kind in _kinds(apartment, verb)}

    def _action(self, graph: Graph, verb: SkillVerb, kind: str) -> Action | str:
        needed, done_by = _VERBS[verb]
        if done_by is not None:
            alike = (id for id in graph.apartment.kinds[kind] if needed is None or needed in graph.node(id).properties)
            return min((Action(done_by, id) for id in alike), key=lambda action: self._order(graph, action))
        held = next((id for id in graph.held if graph.node(id).kind == kind), None)
        if held is None:
            return f"You do not hold the {_called(graph.apartment)[kind]}."
        if self._found is None:
            return "You have found no place where it could be put down."
        properties = graph.node(self._found).properties
        shut = "CAN_OPEN" in properties and "OPEN" not in graph.state(self._found)
        inside = "CONTAINERS" in properties and not (shut and "SURFACES" in properties)
        return Action("put in" if inside else "put on", held, self._found)

    def _order(self, graph: Graph, action: Action) -> tuple[bool | int, ...]:
        """A sort key that chooses among things of one class. Find prefers the one where something was put down before, then one
        that nothing hides. Other skills prefer a thing with which the action is possible now, and of these the one that the
        robot went to. Things in a hand or put down before are found or picked up again only if there is no other."""
        verb, id, _ = action
        brought = id in graph.held or id in self._put
        hidden, far, away = graph.enclosed(id), not graph.reached(id), graph.room_of(id) != graph.room_of(graph.robot)
        if verb == "walk to":
            return brought, id not in self._used, hidden, far, away, id
        refused = problem(graph, action) is not None
        elsewhere = self._found is None or id not in (self._found, graph.door(self._found))
        near = graph.close.get(graph.robot, frozenset())
        return brought and verb == "grab", refused, far, elsewhere, id not in near, hidden, away, id


MOST_STATES = 8_000  # Where a search ends, equal on every machine.


def plan(graph: Graph, goal: GraphGoal, *, seconds: float | None = None, greed: float = 1.0) -> tuple[Action, ...] | None:
    """The actions of a way to ``goal``, at most ``greed`` times as long as the shortest; None if none was found in time."""
    way = shortest_way(_Search(graph, goal), most_states=MOST_STATES, seconds=seconds, greed=greed, newest_first=True)
    return tuple(step.action for step in way) if isinstance(way, tuple) else None


class _Search(SearchProblem[GraphState, Action]):
    def __init__(self, graph: Graph, goal: GraphGoal) -> None:
        self.start = begun(graph)
        classes = graph.apartment.classes
        self.goal = goal
        self.how = {one.kind: one.how for one in goal.conditions if one.how != "turnOn"}
        self.things = tuple(id for kind in sorted(self.how) for id in classes.get(kind, ()) if graph.node(id).carried)
        self.switched = tuple(id for one in goal.conditions if one.how == "turnOn" for id in classes.get(one.kind, ()))
        self.targets = tuple(dict.fromkeys(id for one in goal.conditions for id in classes.get(one.at, ())))
        walked = {*self.targets, *self.things, *(place for id in self.things for place in _places(graph, id))}
        around = {other for id in walked for other in (*_places(graph, id), *graph.children(id, "INSIDE"))}
        # Everything that the robot can come close to by the actions tried.
        near = walked | around | graph.close.get(graph.robot, frozenset())
        self.apart = not any(graph.node(place).carried for id in self.things for place in _places(graph, id)) and all(
            graph.node(id).carried
            or all(
                graph.node(other).carried and id in graph.parents(other) for other in graph.close.get(id, frozenset()) & near
            )
            for id in near
        )
        self.kinds = tuple(sorted(self.how))
        self.numbers = tuple(sum(one.count for one in goal.conditions if one.kind == kind) for kind in self.kinds)
        self.closing = all("CAN_OPEN" in graph.node(id).properties for id in self.switched)
        rooms = {graph.room_of(id) for id in self.targets}
        self.at_room = next(iter(rooms)) if len(rooms) == 1 else None

    def estimate(self, state: GraphState) -> int:
        graph = state.graph
        reached, total = met(self.goal, graph)
        switching = int(bool(self.switched) and not any("ON" in graph.state(id) for id in self.switched))
        missing = max(0, total - reached - switching)
        held = min(missing, sum(graph.node(id).kind in self.how for id in graph.held))
        # An open thing is closed before it is switched on; a closed one may be switched on first and then opened.
        shut = [id for id in self.targets if "CLOSED" in graph.state(id)]
        switching += int(bool(switching) and self.closing and not shut)
        walks = self._walks(state, missing - held, held) if self.apart else 0
        return missing + (missing - held) + switching + walks

    def _walks(self, state: GraphState, unheld: int, held: int) -> int:
        """The walks and openings left, if nothing is within reach of two places; a trip carries two things."""
        graph = state.graph
        near = graph.close.get(graph.robot, frozenset())
        at_target = not near.isdisjoint(self.targets)
        arrivals = -(-(unheld + (0 if at_target else held)) // 2)
        offers: dict[tuple[int, bool], list[int]] = {}
        for id in self.things:
            if id not in graph.held and not self._settled(graph, id):
                for place in _places(graph, id) or (id,):
                    offer = place, graph.door(id) == place
                    offers.setdefault(offer, [0] * len(self.kinds))[self.kinds.index(graph.node(id).kind)] += 1
        here = sum(sum(counts) for (place, _), counts in offers.items() if place in near)
        known = _rooms_seen(state)
        entered = self.at_room is not None and self.at_room not in known and unheld + held > 0
        known |= {self.at_room} if entered else set()
        rooms: dict[int | None, list[_Offer]] = {}
        for (place, behind), counts in sorted(offers.items()):
            # After fetching a thing from the top of a closed one, no walk is needed for the things in it.
            cost = int(place not in near and not (behind and (place, False) in offers)) + int(behind)
            room = graph.room_of(place)
            rooms.setdefault(None if room in known else room, []).append((cost, tuple(counts)))
        # Things at some target or in a hand count as brought.
        brought = [graph.node(id).kind for id in self.things if id in graph.held or self._settled(graph, id)]
        lacking = (max(0, number - brought.count(kind)) for kind, number in zip(self.kinds, self.numbers, strict=True))
        collecting = _collecting(tuple(lacking), tuple((room is not None, tuple(sorted(of))) for room, of in rooms.items()))
        fetches = max(collecting, -(-(unheld - min(here, 2 - len(graph.held))) // 2))
        shut = [id for id in self.targets if "CLOSED" in graph.state(id)]
        opening = int(unheld + held > 0 and "inside" in self.how.values() and len(shut) == len(self.targets))
        return arrivals + fetches + opening + int(entered)

    def key(self, state: GraphState) -> Hashable:
        graph = state.graph
        near = graph.close.get(graph.robot, frozenset())
        placed = ((id, graph.placed.get(id, ()) if id not in graph.held else (("held", 0),)) for id in self.things)
        lying = tuple(sorted((graph.node(id).kind, *sorted(f"{how} {other}" for how, other in at)) for id, at in placed))
        opened = frozenset(id for id, states in graph.states.items() if "OPEN" in states)
        lit = frozenset(id for id in self.switched if "ON" in graph.state(id))
        held = tuple(sorted(graph.node(id).kind for id in graph.held))
        rooms = frozenset(room for room in graph.apartment.rooms if not state.seen.isdisjoint(graph.holds.get(room, ())))
        fixed = frozenset(id for id in near if not graph.node(id).carried)
        known = state.seen.intersection(self.things)
        return lying, fixed, opened, lit, held, rooms, known, graph.room_of(graph.robot)

    def steps(self, state: GraphState) -> Iterator[tuple[Action, int, GraphState]]:
        """The actions worth trying. A thing wanted at the only target is put there as soon as that is within reach."""
        graph = state.graph
        if len(self.targets) == 1 and (putting := next(self._puts(graph), None)) is not None:
            yield putting, 1, advance(state, putting)
            return
        useful = [id for id in self.things if id not in graph.held and not self._settled(graph, id)]
        doors = {graph.door(id) for id in useful} - {None}
        holders = {other for id in useful for other in _places(graph, id)} | cast("set[int]", doors)
        places = dict.fromkeys((*self.targets, *sorted(holders)))
        seen = _rooms_seen(state)
        rooms = (room for room in graph.apartment.rooms if room not in seen)
        walks = (*rooms, *places, *(id for id in useful if not graph.parents(id, "ON") and not graph.enclosed(id)))
        tried: list[Action] = [
            Action("walk to", id) for id in walks if id in state.seen and id not in graph.close.get(graph.robot, frozenset())
        ]
        tried += [Action("open", id) for id in places]
        tried += [Action("close", id) for id in self.switched]
        tried += [Action("switch on", id) for id in self.switched]
        first: dict[Hashable, int] = {}
        for id in useful:
            if id in state.seen and graph.reached(id):
                first.setdefault((graph.node(id).kind, graph.placed.get(id)), id)
        tried += [Action("grab", id) for id in first.values()]
        possible = chain((action for action in tried if problem(graph, action) is None), self._puts(graph))
        yield from ((action, 1, advance(state, action)) for action in possible)

    def _puts(self, graph: Graph) -> Iterator[Action]:
        """Actions that put a wanted thing in the hand at a target within reach."""
        for id in graph.held:
            if (how := self.how.get(graph.node(id).kind)) is not None:
                puts = (Action("put in" if how == "inside" else "put on", id, target) for target in self.targets)
                yield from (action for action in puts if problem(graph, action) is None)

    def _settled(self, graph: Graph, id: int) -> bool:
        how = self.how[graph.node(id).kind]
        return any(target in self.targets for target in graph.parents(id, "INSIDE" if how == "inside" else "ON"))


_Offer = tuple[int, tuple[int, ...]]  # The cost of reaching into a place, and the number of each kind there.


@lru_cache(maxsize=100_000)
def _collecting(lacking: tuple[int, ...], rooms: tuple[tuple[bool, tuple[_Offer, ...]], ...]) -> int:
    """The least cost of reaching into places that together have everything ``lacking``; an unknown room costs one more."""
    best = {lacking: 0}
    for unknown, offers in rooms:
        within = {need: cost + unknown for need, cost in best.items()}
        for price, counts in offers:
            for need, cost in list(within.items()):
                left = tuple(max(0, one - other) for one, other in zip(need, counts, strict=True))
                within[left] = min(within.get(left, cost + price), cost + price)
        for need, cost in within.items():
            best[need] = min(best.get(need, cost), cost)
    return best.get((0,) * len(lacking), 0)


def _places(graph: Graph, id: int) -> tuple[int, ...]:
    """The things that a thing is on or in, without rooms."""
    return tuple(other for other in graph.parents(id) if not graph.node(other).room)


def _rooms_seen(state: GraphState) -> set[int | None]:
    return {state.graph.room_of(id) for id in state.seen if not state.graph.node(id).room}
