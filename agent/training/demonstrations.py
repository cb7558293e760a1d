"""What the built-in model learns from: prompts of reasoner-actor, each with the expert's decision as the reply.

The expert plays from belief alone, so it can answer in any state, whoever led there. A plan is a goal with what is known of the
house; the command follows from plan and belief.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from housequest.agent.agents.reasoner_actor.demonstrations import ANYWHERE, SearchOrder, acted, plan_of, planned
from housequest.agent.roles import brief
from housequest.agent.roles.demonstrations import STUCK, Lesson
from housequest.agent.training import wordings
from housequest.worlds.alfworld.expert import HouseholdExpert, HouseholdExpertMemory, make_expert
from housequest.worlds.alfworld.text import HOUSEHOLD, begin
from housequest.worlds.base import Env, Observation, Transition
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.goals import ADJECTIVES, TYPES, Goal

MOST_STEPS = 50
MISSTEPS = 0.12
MISREAD = 0.3
"""The share of games that begin with a wrong plan."""
_SOUGHT = re.compile(r"(?P<sought>.+) is likeliest found at the (?P<place>.+); look there")
_RUBBISH = ("go to {r} 19", "open {r} 17", "take {o} 9 from {r} 1", "move {o} 1 to {r} 2", "use {o} 1", "examine {r} 12")


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """A prompt with the reply to it."""

    prompt: str
    reply: str


def demonstrate(
    env: Env, goal: Goal, random: Random, player: Callable[[str], str] | None = None, *, missteps: float = MISSTEPS
) -> Iterator[TrainingSample]:
    """Play a game, and yield the actor's prompt at each step with the reply that the expert gives.

    The commands are the expert's or those of ``player``, who reads the prompt; a share ``missteps`` of them is random. It ends
    after ``MOST_STEPS`` steps. Now and then the first plan is a wrong one, as when a goal was misread; it is followed for a
    while, or until it is done or cannot be done, and a few random commands later the actor is still stuck.
    """
    expert, opening = make_expert(), env.reset().observation
    memory = expert.begin("", opening)
    scene = brief.BriefState(HOUSEHOLD.begin(opening))
    belief = scene.belief
    order = ANYWHERE
    if random.random() >= 0.5:
        _, places, lamp = _where(random, goal, belief, named=random.random() < 0.5)
        order = SearchOrder((), places, lamp) if random.random() < 0.15 else SearchOrder(places, (), lamp)
    wrong = wrong_goal(random, goal, belief) if random.random() < MISREAD else None
    patience = random.randint(2, 25) if random.random() < 0.3 else MOST_STEPS
    aim, until, astray = (wrong, patience, random.choice((0, 0, 1, 2, 4))) if wrong else (goal, 0, 0)
    for turn in range(MOST_STEPS):
        if aim is wrong and turn >= until:
            aim = goal
        belief, tried = scene.belief, scene.tried
        prompt = brief.acting(plan_of(aim, order), belief, tried)
        memory = replace(memory, goal=aim, belief=belief, failed=frozenset(tried), first=order.first, last=order.last)
        lesson = taught(expert, memory, aim)
        yield TrainingSample(prompt, acted(lesson))
        command = player(prompt) if player else lesson.command
        if missteps and random.random() < missteps:
            if random.random() < 0.2:
                kinds = sorted({one.kind for one in belief.receptacles}) or ["drawer"]
                command = random.choice(_RUBBISH).format(r=random.choice(kinds), o=goal.object)
            else:
                command = random.choice(env.admissible_commands() or ("look",))
        if command == STUCK:
            if aim is goal:
                return
            if not astray:
                aim = goal
                continue
            astray -= 1
            command = random.choice(env.admissible_commands() or ("look",))
        step = env.step(command)
        scene = scene.after((Transition(command, step.observation),), HOUSEHOLD)
        if step.done:
            return


def plans(
    goal: Goal, sentence: str, opening: Observation, random: Random, others: Sequence[tuple[str, str]] = ()
) -> TrainingSample:
    """What the reasoner is asked and should reply: with or without rules, hints and plans that failed.

    Now and then, rules on ``others`` are added: pairs of an object and the rule's text.
    """
    belief = begin(opening)
    rules: list[str] = []
    hints: list[str] = []
    failed: list[tuple[str, ...]] = []
    order = ANYWHERE
    draw = random.random()
    if draw < 0.55:
        said_by, sentences = (wordings.rule, rules) if draw < 0.3 else (wordings.hint, hints)
        thing, places, lamp = _where(random, goal, belief, named=draw >= 0.3)
        said = said_by(random, thing, places, lamp=lamp)
        sentences.append(said.text)
        order = said.order
    if random.random() < 0.3:
        drawn = random.sample(others, min(len(others), random.randint(1, 3)))
        rules += [text for thing, text in drawn if thing not in {goal.object, goal.lamp}]
        random.shuffle(rules)
    for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
        wrong = wrong_goal(random, goal, belief)
        plan = plan_of(wrong, order if random.random() < 0.5 else ANYWHERE) if wrong and wrong != goal else None
        if plan is not None and plan not in failed:
            failed.append(plan)
    # Rules come before hints and failed plans.
    rank = {"Goal": 0, "Places": 1, "Rule": 2, "Hint": 3, "Failed": 4}
    prompt = [*brief.planning(sentence, belief, (), hints, failed).split("\n"), *(f"Rule: {rule}" for rule in rules)]
    prompt.sort(key=lambda line: rank[line.partition(":")[0]])
    return TrainingSample("\n".join(prompt), planned(goal, order))


def wrong_goal(random: Random, goal: Goal, belief: Belief) -> Goal | None:
    """A goal that ``goal`` could be misread as in this house; None if there is none."""
    kinds = sorted({one.kind for one in belief.receptacles})
    tables = wordings.WORDS["tables"].split()
    draw = random.random()
    if draw < 0.5 and goal.receptacle:
        alike = [kind for kind in kinds if goal.receptacle not in tables or kind in tables]
        others = [kind for kind in alike if kind != goal.receptacle]
        return replace(goal, receptacle=random.choice(others)) if others else None
    if draw < 0.85:
        groups = [group.split() for group in wordings.WORDS["alike"]]
        alike = next((group for group in groups if goal.object in group), [thing for group in groups for thing in group])
        return replace(goal, object=random.choice([thing for thing in alike if thing != goal.object]))
    if goal.lamp or goal.receptacle is None:
        return replace(goal, type="pick_and_place_simple", lamp=None, receptacle=random.choice(kinds)) if kinds else None
    other = random.choice([one for one in TYPES.values() if one not in {"look_at_obj_in_light", goal.type}])
    return replace(goal, type=other, count=2 if other == "pick_two_obj_and_place" else 1)


def _where(random: Random, goal: Goal, belief: Belief, *, named: bool) -> tuple[str, tuple[str, ...], bool]:
    """The object or the lamp, places for it (with ``named``, some with numbers), and whether it is the lamp."""
    lamp = bool(goal.lamp) and random.random() < 0.3
    kinds: dict[str, list[str]] = {}
    for one in belief.receptacles:
        kinds.setdefault(one.kind, []).append(one.name)
    # By kind, since one safe is as good a place as ten drawers.
    drawn = random.sample(list(kinds), min(len(kinds), random.choice((1, 1, 1, 2, 2, 3))))
    places = tuple(random.choice(kinds[kind]) if named and random.random() < 0.5 else kind for kind in drawn) or ("drawer",)
    return goal.lamp if goal.lamp and lamp else goal.object, places, lamp


def taught(expert: HouseholdExpert, memory: HouseholdExpertMemory, goal: Goal) -> Lesson:
    """What the actor should reply in any state of a game."""
    belief, tried = memory.belief, memory.failed
    command, thought, _ = expert.decide(memory)
    if command is None:
        command, thought = STUCK, "all steps are done, but the task is not over"
    elif command == "look" and thought.startswith("every place"):
        command, thought = STUCK, "every place was searched in vain"
    if command in tried:
        moves = ("look", *(f"go to {one.name}" for one in belief.receptacles if not belief.is_here(one.name)))
        command = next((move for move in moves if move not in tried), "inventory")
        thought = "that led nowhere; try something else"
    elif found := _SOUGHT.fullmatch(thought):
        thought = f"look for {found['sought']} in the {found['place']}"
    return Lesson(thought, step_of(goal, belief) + 1, command)


def step_of(goal: Goal, belief: Belief) -> int:
    """How many parts of ``goal`` are done by what is known, which is the index of the present one."""
    held = belief.item(belief.held)
    holding = held is not None and held.kind == goal.object
    if goal.count > 1:
        kept = (thing for one in belief.receptacles if one.kind == goal.receptacle for thing in belief.inside(one))
        return 2 * any(kind(thing) == goal.object for thing in kept) + holding
    if held is None or not holding or goal.treatment is None:
        return int(holding)
    done = bool(held.clean) if goal.treatment == "clean" else held.heat == ADJECTIVES[goal.treatment]
    return 1 + done
