"""One running task of the world ``household-graph``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from housequest.worlds.base import Observation, Step, Task
from housequest.worlds.env import StateEnv
from housequest.worlds.graphs.actions import Action, Verb, after, problem
from housequest.worlds.graphs.goals import GraphGoal, met
from housequest.worlds.graphs.graph import Graph
from housequest.worlds.graphs.sight import examinable, shown_by, visible
from housequest.worlds.graphs.text import (
    NO_COMMAND,
    read_command,
    told_done,
    told_held,
    told_opening,
    told_room,
    told_thing,
    verbs_of,
    written,
)


@dataclass(frozen=True, slots=True)
class Moment:
    """An apartment now, and what the robot has seen of it, which alone it can name."""

    graph: Graph
    seen: frozenset[int]


def begun(graph: Graph) -> Moment:
    """The moment at which a task begins; the rooms are known."""
    return Moment(graph, visible(graph) | frozenset(graph.apartment.rooms))


def advance(moment: Moment, action: Action) -> Moment:
    """The moment after an action that is possible."""
    graph = after(moment.graph, action)
    match action.verb:
        case "walk to":
            return Moment(graph, moment.seen | visible(graph))
        case "open":
            return Moment(graph, moment.seen | visible(graph) | shown_by(graph, action.thing))
        case _:
            return Moment(graph, moment.seen)


class GraphEnv(StateEnv[Moment]):
    """One running task. The robot is told what is in its room and not behind a closed door, and can name what it has seen."""

    def __init__(self, task: Task, graph: Graph, goal: GraphGoal) -> None:
        self.task = task
        self.goal = goal
        self._start = graph

    def reset(self) -> Step:
        self._state = begun(self._start)
        return Step(Observation(f"{self._opening(self._state)}\n\nYour task is to: {self.task.goal}"))

    def step(self, command: str) -> Step:
        moment, read = self.state, read_command(command)
        if read is None:
            return self._answer(NO_COMMAND, accepted=False)
        ids = [moment.graph.apartment.named.get(name) for name in read[1:]]
        for name, id in zip(read[1:], ids, strict=True):
            if id not in moment.seen:
                # Whether there is such a thing somewhere is not told.
                return self._answer(f"You have seen no {name}.", accepted=False)
        graph = moment.graph
        match read[0]:
            case "look":
                return self._answer(told_room(graph))
            case "inventory":
                return self._answer(told_held(graph))
            case "examine":
                id = cast("int", ids[0])
                if not examinable(graph, frozenset({id})):
                    return self._answer(f"You are not close to the {read[1]}; go to it first.", accepted=False)
                return self._answer(told_thing(graph, id))
            case verb:
                return self._act(moment, Action(cast("Verb", verb), *cast("list[int]", ids)))

    def admissible_commands(self) -> tuple[str, ...]:
        moment = self.state
        near = examinable(moment.graph, moment.seen)
        acts = (written(moment.graph, action) for action in possible(moment, near))
        looks = (f"examine {moment.graph.apartment.names[id]}" for id in near)
        return tuple(sorted(("look", "inventory", *looks, *acts)))

    def goal_conditions(self) -> tuple[int, int]:
        return met(self.goal, self.state.graph)

    def _opening(self, moment: Moment) -> str:
        return told_opening(moment.graph)

    def _act(self, moment: Moment, action: Action) -> Step:
        if (wrong := problem(moment.graph, action)) is not None:
            return self._answer(f"{wrong}.", accepted=False)
        self._state = advance(moment, action)
        return self._answer(told_done(moment.graph, action, self._state.graph))

    def _answer(self, text: str, *, accepted: bool = True) -> Step:
        reached, total = self.goal_conditions()
        return Step(Observation(text, accepted), won=reached == total, terminated=reached == total)


def possible(moment: Moment, near: frozenset[int]) -> Iterator[Action]:
    """The actions that are possible now, where ``near`` is in reach and in sight."""
    graph = moment.graph
    yield from (Action("walk to", id) for id in moment.seen if problem(graph, Action("walk to", id)) is None)
    for id in near:
        yield from (action for verb in verbs_of(graph, id) if problem(graph, action := Action(verb, id)) is None)
        for held in graph.held:
            puts = (Action("put in", held, id), Action("put on", held, id))
            yield from (action for action in puts if problem(graph, action) is None)
