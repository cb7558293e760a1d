"""Household graphs for several players: one apartment with a body for each.

What others carry is out of everybody's sight and reach. Of what a player does not see now, commands are listed, refused and
carried out as if it were where this player saw it last; so no answer tells where somebody else has brought it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from housequest.worlds.base import Step, Task
from housequest.worlds.graphs.env import GraphEnv, GraphState
from housequest.worlds.graphs.goals import GraphGoal
from housequest.worlds.graphs.graph import ROBOT, Action, Apartment, Changes, Graph, Node, Placed, problem
from housequest.worlds.graphs.household import HANDS, examinable, standing_at, visible
from housequest.worlds.household.sharing import Figure, SharedHousehold
from housequest.worlds.shared import checked_players

_GONE: Placed = frozenset()  # the place of a thing that is no longer where it was seen


class CompanyEnv(GraphEnv):
    """The game of one player, in company once it has entered a graph. It sees ``sight`` now, and saw ``before`` until the last
    change."""

    before: frozenset[int] = frozenset()
    sight: frozenset[int] = frozenset()
    _known: Mapping[int, Placed] = {}

    def reset(self) -> Step:
        self._known = {}
        return super().reset()

    def enter(self, graph: Graph, moved: frozenset[int]) -> None:
        """Play on in this graph, in which somebody took or put down ``moved``; news tells of it if it was in sight."""
        seen = self.state.seen.union(graph.held)
        self.before, self.sight = self.sight, visible(graph) | examinable(graph, seen)
        self._state = GraphState(graph, seen | (moved & (self.before | self.sight)))
        gone = (visible(self.believed()) - self.sight) & self._known.keys()
        now = {id: _at(graph, id) for id in self.sight}
        self._known = {**self._known, **now, **dict.fromkeys(gone, _GONE)}

    def hold(self, graph: Graph) -> None:
        """Have other things in the hands, before all envs enter the graph."""
        self._state = GraphState(graph, self.state.seen)

    def believed(self) -> Graph:
        graph = self.state.graph
        if not self._known:
            return graph
        unseen = self._known.keys() - self.sight.union(*(graph.load(one) for one in graph.held))
        believed = replace(graph, placed={**graph.placed, **{id: self._known[id] for id in unseen}})
        # Whether it is within reach goes by its holders, too.
        near = graph.close.get(graph.robot, frozenset()) - unseen
        near |= {id for id in unseen if any(other in near for _, other in believed.above(id))}
        close = {id: graph.close.get(id, frozenset()) - unseen for id in near}
        return replace(believed, close={**graph.close, **close, graph.robot: near})

    def _act(self, state: GraphState, action: Action) -> Step:
        believed, graph = self.believed(), state.graph
        if (wrong := problem(believed, action)) is not None:
            return self._answer(f"{wrong}.", accepted=False)
        if action.verb == "walk to" and believed is not graph:
            # To what will be in sight there; else to where it was seen.
            above = dict.fromkeys(other for _, other in believed.above(action.thing))
            way = (action.thing, *sorted(above, key=lambda id: graph.node(id).room))
            named = (one for one in way if one in graph.apartment.names)
            there = (one for one in named if _at(believed, one) == _at(graph, one) and not graph.enclosed(one))
            action = Action("walk to", next(there))
        return super()._act(state, action)


class SharedGraph(SharedHousehold[CompanyEnv]):
    """An apartment for several players: all of a `Graph` is shared but the hands, and what lies in those of others.

    Args:
        task: The task being played.
        graph: The apartment at the start; its robot is the first player, and the others begin beside it with free hands.
        goal: The goal.
        players: Their names. Raises ``ConfigurationError``.
    """

    def __init__(self, task: Task, graph: Graph, goal: GraphGoal, players: Sequence[str]) -> None:
        starts = dict(zip(checked_players(players), _bodies(graph, len(players)), strict=True))
        super().__init__({player: CompanyEnv(task, start, goal) for player, start in starts.items()}, HANDS)
        self._placed: Mapping[int, Placed] = {}
        self._held = frozenset[int]()

    def reset(self) -> dict[str, Step]:
        self._placed = {}
        return super().reset()

    def figure(self, player: str) -> Figure:
        graph = self.envs[player].state.graph
        room = graph.room_of(graph.robot)
        assert room is not None
        names = graph.apartment.names
        return Figure(names[room], standing_at(graph), tuple(names[id] for id in graph.held))

    def notices(self, observer: str, actor: str, things: tuple[str, ...]) -> bool:
        del actor  # whoever is in a room is seen in all of it
        env = self.envs[observer]
        carried = chain.from_iterable(self.figure(one).carried for one in self.players)
        names = env.state.graph.apartment.names
        return {*things} <= {*carried, *(names[id] for id in env.before | env.sight)}

    def spread(self, actor: str) -> None:
        graph = self.envs[actor].state.graph
        whole = replace(graph, placed={**self._placed, **graph.placed})
        hands = {player: env.state.graph.held for player, env in self.envs.items()}
        loads = {player: frozenset(held).union(*map(whole.load, held)) for player, held in hands.items()}
        held = frozenset(chain.from_iterable(hands.values()))
        moved, self._held = held ^ self._held if self._placed else frozenset[int](), held
        for player, env in self.envs.items():
            hidden = frozenset[int]().union(*(load for other, load in loads.items() if other != player))
            own = env.state.graph
            placed = {id: where for id, where in whole.placed.items() if id not in hidden}
            env.enter(replace(graph, apartment=own.apartment, placed=placed, hands=own.hands), moved)
        self._placed = whole.placed

    def hand_over(self, giver: str, receiver: str, thing: str) -> None:
        env, other = self.envs[giver], self.envs[receiver]
        graph, own = env.state.graph, other.state.graph
        id = graph.apartment.named[thing]
        changes = Changes(graph)
        changes.release(id)
        changes.part(id, graph.load(id))
        changes.join(own.robot, (id,))
        env.hold(changes.graph())
        right, left = own.hands
        other.hold(replace(own, hands=(id, left) if right is None else (right, id)))

    def refusal(self, why: str) -> str:
        return f"{why}."


def _at(graph: Graph, id: int) -> Placed:
    return graph.placed.get(id, _GONE)


def _bodies(graph: Graph, number: int) -> list[Graph]:
    """The graph at the start as each of several players has it."""
    apartment, first = graph.apartment, graph.robot
    if number == 1:
        return [graph]
    ids = [first, *range(max(apartment.nodes) + 1, max(apartment.nodes) + number)]
    nodes = {**apartment.nodes, **{id: Node(id, ROBOT, "Characters") for id in ids}}
    held = frozenset(graph.held).union(*map(graph.load, graph.held))
    changes = Changes(graph)
    for id in ids[1:]:
        changes.placed[id] = graph.placed[first]
        changes.join(id, graph.close.get(first, frozenset()) - held)
    whole = changes.graph()
    others = {id: where for id, where in whole.placed.items() if id not in held}
    return [
        replace(whole, apartment=Apartment(nodes, first)),
        *(replace(whole, apartment=Apartment(nodes, id), placed=others, hands=(None, None)) for id in ids[1:]),
    ]
