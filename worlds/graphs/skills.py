"""LoTa-Bench's skills for VirtualHome as commands: find, pick up, put down, open, close and switch on, each with a class of
thing.

They are composed of the classes in an apartment, and a robot carries them out that knows where everything is, as LoTa-Bench's
does ("we assume that the agent is fully aware of object locations", section 4.2). So figures tell what a planner is worth, and
nothing of searching.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Literal, cast

from housequest.worlds.base import Step
from housequest.worlds.graphs.actions import Action, Verb, problem
from housequest.worlds.graphs.env import GraphEnv, Moment
from housequest.worlds.graphs.graph import Apartment, Graph
from housequest.worlds.graphs.sentences import spoken
from housequest.worlds.graphs.text import told_opening
from housequest.worlds.household.skills import skill_words

SkillVerb = Literal["find", "pick up", "put down", "open", "close", "switch on"]
_NEEDED: Mapping[SkillVerb, str] = {
    "pick up": "GRABBABLE",
    "put down": "GRABBABLE",
    "open": "CAN_OPEN",
    "close": "CAN_OPEN",
    "switch on": "HAS_SWITCH",
}
_DONE_BY: Mapping[SkillVerb, Verb] = {
    "find": "walk to",
    "pick up": "grab",
    "open": "open",
    "close": "close",
    "switch on": "switch on",
}
_VERBS: tuple[SkillVerb, ...] = ("find", *_NEEDED)
TURNS = 30
"""Skills until an episode is lost, as in LoTa-Bench."""
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


def named_skills(apartment: Apartment) -> dict[str, tuple[SkillVerb, str]]:
    """The skills of an apartment by their text, each with its verb and class."""
    called = _called(apartment)
    return {skill_words(verb, called[kind]): (verb, kind) for verb in _VERBS for kind in _kinds(apartment, verb)}


def _called(apartment: Apartment) -> Mapping[str, str]:
    """What each class is called: its words, or itself where another class has the same words."""
    alike = Counter(map(spoken, apartment.kinds))
    return {kind: spoken(kind) if alike[spoken(kind)] == 1 else kind for kind in apartment.kinds}


def _kinds(apartment: Apartment, verb: SkillVerb) -> list[str]:
    needed = _NEEDED.get(verb)
    return sorted(
        kind
        for kind, ids in apartment.kinds.items()
        if needed is None or any(needed in apartment.nodes[id].properties for id in ids)
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
        return tuple(sorted(text for text, (verb, kind) in self._skills.items() if self._can(graph, verb, kind)))

    def _opening(self, moment: Moment) -> str:
        apartment, called = moment.graph.apartment, _called(moment.graph.apartment)
        lists = {word: ", ".join(called[kind] for kind in _kinds(apartment, verbs[0])) for word, verbs in _LISTS.items()}
        known = " ".join(f"{word}: {names}." for word, names in lists.items() if names)
        return f"{told_opening(moment.graph)} You know where everything is. {known}"

    @cached_property
    def _skills(self) -> Mapping[str, tuple[SkillVerb, str]]:
        return named_skills(self.state.graph.apartment)

    def _can(self, graph: Graph, verb: SkillVerb, kind: str) -> bool:
        action = self._action(graph, verb, kind)
        return not isinstance(action, str) and problem(graph, action) is None

    def _action(self, graph: Graph, verb: SkillVerb, kind: str) -> Action | str:
        """What a skill does now, or why it does nothing."""
        if verb == "put down":
            return self._putting(graph, kind)
        needed = _NEEDED.get(verb)
        alike = (id for id in graph.apartment.kinds[kind] if needed is None or needed in graph.node(id).properties)
        done_by = _DONE_BY[verb]
        return min((Action(done_by, id) for id in alike), key=lambda action: self._order(graph, action))

    def _putting(self, graph: Graph, kind: str) -> Action | str:
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
        hides; for the rest one with which it can be done now, and of these the one that the robot went to.

        What is in a hand or was put down before is neither found nor picked up again while there is another one.
        """
        verb, id, _ = action
        brought = id in graph.held or id in self._put
        hidden, far, away = graph.enclosed(id), not graph.reached(id), graph.room_of(id) != graph.room_of(graph.robot)
        if verb == "walk to":
            return brought, id not in self._used, hidden, far, away, id
        refused = problem(graph, action) is not None
        elsewhere = self._found is None or id not in (self._found, graph.door(self._found))
        near = graph.close.get(graph.robot, frozenset())
        return brought and verb == "grab", refused, far, elsewhere, id not in near, hidden, away, id
