"""One running task of the world ``household-graph``: by commands, or by LoTa-Bench's skills for VirtualHome.

Skills (find, pick up, put down, open, close and switch on, each with a class of thing) are composed of the classes in an
apartment, and a robot carries them out that knows where everything is, as LoTa-Bench's does ("we assume that the agent is fully
aware of object locations", section 4.2). So figures tell what a planner is worth, and nothing of searching.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal, NamedTuple, cast

from housequest.worlds.base import Observation, Step, Task
from housequest.worlds.env import StateEnv
from housequest.worlds.graphs import household
from housequest.worlds.graphs.goals import GraphGoal, met, spoken
from housequest.worlds.graphs.graph import Action, Apartment, Graph, Verb, after, problem
from housequest.worlds.household.goals import skill_words


class Moment(NamedTuple):
    """An apartment now, and what the robot has seen of it, which alone it can name."""

    graph: Graph
    seen: frozenset[int]


def begun(graph: Graph) -> Moment:
    """The moment at which a task begins; the rooms are known."""
    return Moment(graph, household.visible(graph) | frozenset(graph.apartment.rooms))


def advance(moment: Moment, action: Action) -> Moment:
    """The moment after an action that is possible."""
    graph, seen = after(moment.graph, action), moment.seen
    if action.verb in ("walk to", "open"):
        seen |= household.visible(graph)
    return Moment(graph, seen | household.shown_by(graph, action.thing) if action.verb == "open" else seen)


class GraphEnv(StateEnv[Moment]):
    """One running task. The robot is told what is in its room and not behind a closed door, and can name what it has seen."""

    def __init__(self, task: Task, graph: Graph, goal: GraphGoal) -> None:
        self.task, self.goal, self._start = task, goal, graph

    def reset(self) -> Step:
        self._state = begun(self._start)
        return Step(Observation(f"{self._opening(self._state)}\n\nYour task is to: {self.task.goal}"))

    def step(self, command: str) -> Step:
        moment, read = self.state, household.read_command(command)
        if read is None:
            return self._answer(household.NO_COMMAND, accepted=False)
        graph, (verb, *names) = moment.graph, read
        ids = [graph.apartment.named.get(name) for name in names]
        if unseen := next((name for name, id in zip(names, ids, strict=True) if id not in moment.seen), None):
            # Whether there is such a thing somewhere is not told.
            return self._answer(f"You have seen no {unseen}.", accepted=False)
        known = cast("list[int]", ids)
        match verb:
            case "look":
                return self._answer(household.told_room(graph))
            case "inventory":
                return self._answer(household.told_held(graph))
            case "examine" if not household.examinable(graph, frozenset(known)):
                return self._answer(f"You are not close to the {names[0]}; go to it first.", accepted=False)
            case "examine":
                return self._answer(household.told_thing(graph, known[0]))
            case _:
                return self._act(moment, Action(cast("Verb", verb), *known))

    def admissible_commands(self) -> tuple[str, ...]:
        graph, near = self.state.graph, household.examinable(self.state.graph, self.state.seen)
        acts = (household.written(graph, action) for action in possible(self.state, near))
        return tuple(sorted(("look", "inventory", *(f"examine {graph.apartment.names[id]}" for id in near), *acts)))

    def goal_conditions(self) -> tuple[int, int]:
        return met(self.goal, self.state.graph)

    def _opening(self, moment: Moment) -> str:
        return household.told_opening(moment.graph)

    def _act(self, moment: Moment, action: Action) -> Step:
        if (wrong := problem(moment.graph, action)) is not None:
            return self._answer(f"{wrong}.", accepted=False)
        self._state = advance(moment, action)
        return self._answer(household.told_done(moment.graph, action, self._state.graph))

    def _answer(self, told: str, *, accepted: bool = True) -> Step:
        reached, total = self.goal_conditions()
        return Step(Observation(told, accepted), won=reached == total, terminated=reached == total)


_USES: tuple[Verb, ...] = ("grab", "open", "close", "switch on", "switch off")
_PUTS: tuple[Verb, ...] = ("put in", "put on")


def possible(moment: Moment, near: frozenset[int]) -> Iterator[Action]:
    """The actions that are possible now, where ``near`` is in reach and in sight."""
    graph = moment.graph
    tried = [Action("walk to", id) for id in moment.seen]
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
"""What each skill needs of a thing, and what it does with it; where something is put down says which of two it is."""
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
    """The skills of an apartment, as its opening lists what they are about, verb by verb."""
    found = {verb: said.split(", ") for kind, said in _LIST.findall(opening) for verb in _LISTS[kind]}
    return tuple(skill_words(verb, name) for verb in _VERBS for name in found.get(verb, ()))


def _called(apartment: Apartment) -> Mapping[str, str]:
    """What each class is called: its words, or itself where another class has the same words."""
    alike = Counter(map(spoken, apartment.kinds))
    return {kind: spoken(kind) if alike[spoken(kind)] == 1 else kind for kind in apartment.kinds}


def _kinds(apartment: Apartment, verb: SkillVerb) -> list[str]:
    needed, nodes = _VERBS[verb][0], apartment.nodes
    return sorted(
        kind for kind, ids in apartment.kinds.items() if not needed or any(needed in nodes[id].properties for id in ids)
    )


class SkillEnv(GraphEnv):
    """One running task, played by skills. Hidden state tells where things are, so nothing is searched for."""

    _found: int | None = None
    _put: frozenset[int] = frozenset()
    _used: frozenset[int] = frozenset()

    def reset(self) -> Step:
        self._found, self._put, self._used = None, frozenset(), frozenset()
        return super().reset()

    def step(self, command: str) -> Step:
        moment, skill = self.state, self._skills.get(" ".join(command[:200].split()))
        if skill is None:
            return self._answer(NO_SKILL, accepted=False)
        verb, kind = skill
        action = self._action(moment.graph, verb, kind)
        if isinstance(action, str):
            return self._answer(action, accepted=False)
        step = self._act(moment, action)
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

    def _opening(self, moment: Moment) -> str:
        apartment, called = moment.graph.apartment, _called(moment.graph.apartment)
        lists = {word: ", ".join(called[kind] for kind in _kinds(apartment, verbs[0])) for word, verbs in _LISTS.items()}
        known = " ".join(f"{word}: {names}." for word, names in lists.items() if names)
        return f"{household.told_opening(moment.graph)} You know where everything is. {known}"

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
        """Which of several things of one class: to go to the one where something was put down before, else to one that nothing
        hides; for the rest one with which it can be done now, and of these the one that the robot went to. What is in a hand or
        was put down before is neither found nor picked up again while there is another one."""
        verb, id, _ = action
        brought = id in graph.held or id in self._put
        hidden, far, away = graph.enclosed(id), not graph.reached(id), graph.room_of(id) != graph.room_of(graph.robot)
        if verb == "walk to":
            return brought, id not in self._used, hidden, far, away, id
        refused = problem(graph, action) is not None
        elsewhere = self._found is None or id not in (self._found, graph.door(self._found))
        near = graph.close.get(graph.robot, frozenset())
        return brought and verb == "grab", refused, far, elsewhere, id not in near, hidden, away, id
