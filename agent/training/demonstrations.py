"""Games played for training: by the expert with missteps, and by the model itself with the expert's answer at each state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from agent.roles import brief
from agent.training import wordings
from agent.training.teacher import STUCK, SearchOrder, Teacher, plan_of, planned
from worlds.alfworld.text.household import HOUSEHOLD
from worlds.alfworld.text.reader import begin
from worlds.base import Env, Observation, Transition
from worlds.household.belief import Belief
from worlds.household.goals import TYPES, Goal

MOST_STEPS = 50
MISSTEPS = 0.12
_RUBBISH = ("go to {r} 19", "open {r} 17", "take {o} 9 from {r} 1", "move {o} 1 to {r} 2", "use {o} 1", "examine {r} 12")


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """A prompt with the reply to it."""

    prompt: str
    reply: str


Player = Callable[[str], str]
"""Replies to the actor's prompt with the command it would give."""


def play(
    env: Env, goal: Goal, teacher: Teacher, random: Random, player: Player | None = None, *, missteps: float = MISSTEPS
) -> Iterator[TrainingSample]:
    """One game as the actor sees it, an answer of the teacher's at each step.

    The commands are the teacher's, but for missteps; or ``player``'s, which a lost game keeps at for ``MOST_STEPS`` steps. Now
    and then the plan is a wrong one to begin with, as it is when a goal was misread.
    """
    scene = brief.BriefState(HOUSEHOLD.begin(env.reset().observation))
    belief = scene.belief
    room = teacher.room(belief)
    told = _told(random, goal, belief)
    wrong = wrong_goal(random, goal, belief) if random.random() < 0.15 else None
    aim, until = (wrong, random.randint(2, 25)) if wrong else (goal, 0)
    for turn in range(MOST_STEPS):
        if aim is wrong and turn >= until:
            aim = goal
        belief, tried = scene.belief, scene.tried
        prompt = brief.acting(plan_of(aim, told), belief, tried)
        reply = teacher.reply(aim, told, belief, room, tried)
        yield TrainingSample(prompt, reply)
        command = player(prompt) if player else reply.rpartition("Action: ")[2]
        if missteps and random.random() < missteps:
            command = _misstep(random, env, goal, belief)
        if command == STUCK:
            if aim is goal:
                return
            aim = goal
            continue
        step = env.step(command)
        scene = scene.after((Transition(command, step.observation),), HOUSEHOLD)
        if step.done:
            return


@dataclass(frozen=True, slots=True)
class Saying:
    """A rule on where ``thing`` lies, which tells nothing where another thing is sought."""

    thing: str
    text: str


def plans(goal: Goal, sentence: str, opening: Observation, random: Random, sayings: Sequence[Saying] = ()) -> TrainingSample:
    """What the reasoner is asked and should reply: with or without rules, hints and plans that failed.

    Of ``sayings`` those on other things are added now and then.
    """
    belief = begin(opening)
    rules: list[str] = []
    hints: list[str] = []
    failed: list[tuple[str, ...]] = []
    told = SearchOrder()
    draw = random.random()
    if draw < 0.3:
        where = _where(random, goal, belief, named=False)
        said = wordings.rule(random, where.thing, where.places, lamp=where.lamp)
        rules.append(said.text)
        told = said.told
    elif draw < 0.55:
        where = _where(random, goal, belief, named=True)
        said = wordings.hint(random, where.thing, where.places, lamp=where.lamp)
        hints.append(said.text)
        told = said.told
    if random.random() < 0.3:
        others = random.sample(sayings, min(len(sayings), random.randint(1, 3)))
        rules += [saying.text for saying in others if saying.thing not in {goal.object, goal.lamp}]
        random.shuffle(rules)
    for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
        wrong = wrong_goal(random, goal, belief)
        if wrong and wrong != goal:
            failed.append(plan_of(wrong, told if random.random() < 0.5 else SearchOrder()))
    prompt = "\n".join(
        (
            brief.planning(sentence, belief, (), hints, failed),
            *(f"Rule: {rule}" for rule in rules),
        )
    )
    return TrainingSample(_ordered(prompt), planned(goal, told))


def _ordered(prompt: str) -> str:
    """The lines of a planning prompt in their order: rules come before hints and failed plans."""
    rank = {"Goal": 0, "Places": 1, "Rule": 2, "Hint": 3, "Failed": 4}
    return "\n".join(sorted(prompt.split("\n"), key=lambda line: rank[line.partition(":")[0]]))


def wrong_goal(random: Random, goal: Goal, belief: Belief) -> Goal | None:
    """A goal that somebody could take ``goal`` for, in this house; None where there is none."""
    kinds = sorted({one.kind for one in belief.receptacles})
    tables = [kind for kind in kinds if kind in _TABLES]
    draw = random.random()
    if draw < 0.5 and goal.receptacle:
        others = [kind for kind in (tables if goal.receptacle in _TABLES else kinds) if kind != goal.receptacle]
        return replace(goal, receptacle=random.choice(others)) if others else None
    if draw < 0.85:
        alike = next((group for group in _ALIKE if goal.object in group), tuple(thing for group in _ALIKE for thing in group))
        return replace(goal, object=random.choice([thing for thing in alike if thing != goal.object]))
    if goal.lamp or goal.receptacle is None:
        return replace(goal, type="pick_and_place_simple", lamp=None, receptacle=random.choice(kinds)) if kinds else None
    other = random.choice([one for one in TYPES.values() if one not in {"look_at_obj_in_light", goal.type}])
    return replace(goal, type=other, count=2 if other == "pick_two_obj_and_place" else 1)


_TABLES = frozenset(("coffeetable", "countertop", "desk", "diningtable", "dresser", "shelf", "sidetable", "tvstand"))
_ALIKE = (
    ("mug", "cup", "bowl", "plate", "pot", "pan", "kettle", "vase", "glassbottle", "winebottle"),
    ("knife", "butterknife", "fork", "spoon", "spatula", "ladle"),
    ("apple", "tomato", "potato", "lettuce", "bread", "egg"),
    ("saltshaker", "peppershaker", "soapbottle", "spraybottle", "winebottle", "glassbottle"),
    ("cloth", "dishsponge", "handtowel", "towel", "soapbar"),
    ("pen", "pencil", "creditcard", "keychain", "watch", "cellphone", "cd", "remotecontrol"),
    ("book", "newspaper", "laptop", "box", "tissuebox", "statue", "vase"),
    ("toiletpaper", "papertowelroll", "tissuebox"),
    ("candle", "vase", "statue", "houseplant"),
    ("pillow", "alarmclock", "teddybear", "wateringcan", "plunger", "scrubbrush"),
)


def _told(random: Random, goal: Goal, belief: Belief) -> SearchOrder:
    if random.random() < 0.5:
        return SearchOrder()
    where = _where(random, goal, belief, named=random.random() < 0.5)
    return SearchOrder((), where.places, where.lamp) if random.random() < 0.15 else SearchOrder(where.places, (), where.lamp)


@dataclass(frozen=True, slots=True)
class _Where:
    thing: str
    places: tuple[str, ...]
    lamp: bool


def _where(random: Random, goal: Goal, belief: Belief, *, named: bool) -> _Where:
    """Something to say of where a thing lies; with ``named``, some places with their numbers."""
    lamp = bool(goal.lamp) and random.random() < 0.3
    names = [one.name if named and random.random() < 0.5 else one.kind for one in belief.receptacles]
    count = min(len(names), random.choice((1, 1, 1, 2, 2, 3)))
    places = tuple(dict.fromkeys(random.sample(names, count))) if names else ("drawer",)
    return _Where(goal.lamp if goal.lamp and lamp else goal.object, places, lamp)


def _misstep(random: Random, env: Env, goal: Goal, belief: Belief) -> str:
    if random.random() < 0.2:
        kinds = sorted({one.kind for one in belief.receptacles}) or ["drawer"]
        return random.choice(_RUBBISH).format(r=random.choice(kinds), o=goal.object)
    return random.choice(env.admissible_commands() or ("look",))
