"""Measures how well a built-in model plays, for the figures of its card, from the exported file.

The games are ordinary episodes of the agent reasoner-actor. The hints, goals in other words and houses with other habits in
``held_out.toml`` are never trained on.
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice, takewhile
from pathlib import Path
from random import Random
from statistics import fmean
from time import perf_counter
from typing import Any

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Agent, Overseer, Proceed, Unattended
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Model
from housequest.agent.setup import read_rules
from housequest.agent.training.corpus import people_of_train, spread
from housequest.agent.training.wordings import FURNITURE, OBJECTS, Names, plural
from housequest.knowledge.choosing import RuleBudget
from housequest.knowledge.examples import EVALUATION_SEEDS
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.houses.house import GeneratedHouses, make_house, placing
from housequest.worlds.alfworld.text import begin, load_counts
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Env, Task, World
from housequest.worlds.household.belief import Receptacle, kind
from housequest.worlds.household.counts import Counts
from housequest.worlds.household.goals import TYPES, Goal, GoalForm

SETS = ("seen", "admissible", "houses", "human", "wordings", "hints", "rules")  # The sets of `evaluate_model`.

HOUSES, HABIT_GAMES, RULE_GAMES = 500, 60, 40
SEARCHING = 5  # The commands, up to the first "take", that must avoid a place where a hint says that there is nothing.

TOLD = ("none", "learned", "true", "false")
"""No rules; the accepted rules of the book that ships; one true sentence; one false sentence."""

_HELD_OUT = tomllib.loads(Path(__file__).with_name("held_out.toml").read_text("utf-8"))
HINTS: list[str] = _HELD_OUT["hints"]
LEARNER_HINTS: dict[str, dict[str, list[str]]] = _HELD_OUT["learners"]
GOALS: dict[GoalForm, list[str]] = _HELD_OUT["goals"]
HABITS: dict[str, dict[str, str]] = _HELD_OUT["habits"]


@dataclass(frozen=True, slots=True)
class GameResult:
    """The result of one game, with its steps, calls, plans and commands."""

    task: str
    type: str
    outcome: str
    steps: int
    refused: int
    unreadable: int
    calls: int
    plans: tuple[tuple[str, ...], ...]
    goal: str
    commands: tuple[str, ...] = ()

    @property
    def won(self) -> bool:
        return self.outcome == "won"


@dataclass(frozen=True, slots=True)
class GameSet:
    """A set of games. The expert reads only goals of templates, so it plays the same tasks in the world ``plain``. ``known``
    are the references of tasks whose sentence occurs in ``train``; None if all sentences are templates."""

    title: str
    world: AlfworldWorld
    tasks: Sequence[Task]
    plain: AlfworldWorld
    known: frozenset[str] | None = None

    def measured(self, arm: str, agent: Agent, grants: Collection[str], expert: Sequence[GameResult]) -> dict[str, Any]:
        """The figures of ``agent`` beside those of the `expert`, with every lost game."""
        config, title = EpisodeConfig(self.world, frozenset(grants)), f"{self.title}, {arm}" if arm else self.title
        games, figures = measured(title, (_play(self.world.open(task), agent, config) for task in self.tasks), expert)
        if (known := self.known) is not None:
            pairs = list(zip(games, expert, strict=True))
            figures["sentences"] = {
                name: _figures([pair for pair in pairs if (pair[0].task in known) == here])
                for name, here in (("in train", True), ("new", False))
            }
        return figures | {"lost": _lost(games)}

    def expert(self) -> list[GameResult]:
        """The results of the expert, which uses counts from ``train``."""
        config, agent = EpisodeConfig(self.plain), make_agent("expert", world=self.plain)
        return [_play(self.plain.open(self.plain.task(task.reference)), agent, config) for task in self.tasks]


def game_sets(name: str, data: Path | None, limit: int | None) -> Iterator[GameSet]:
    """The sets called ``name``, each with at most ``limit`` games: ``houses`` are made up, in those of ``habits`` objects lie
    where they never were in ``train``, ``human`` is ``valid_seen`` with each annotator's goals, and others ``valid_seen``."""
    plain = AlfworldWorld(data=data)
    if name == "houses":
        tasks = [plain.task(f"generated:{EVALUATION_SEEDS + number}") for number in range(HOUSES)]
        yield GameSet(f"{HOUSES} made-up houses", plain, spread(tasks, limit), plain)
    elif name == "habits":
        for about, altered in ((about, altered) for about, altered in HABITS.items() if altered):
            habits = _habits(altered)
            world = AlfworldWorld(habits=habits)
            tasks = [task for task, _, _ in islice(houses_with_one_place(GeneratedHouses(habits), altered), HABIT_GAMES)]
            yield GameSet(f"{HABIT_GAMES} made-up houses, {about}", world, spread(tasks, limit), world)
    elif name == "human":
        said = {_letters(sentence) for sentence in people_of_train(data)}
        for annotator in (1, 2, 3):
            world = AlfworldWorld(data=data, goals=f"human:{annotator}")
            tasks = spread(world.tasks("valid_seen"), limit)
            known = frozenset(task.reference for task in tasks if _letters(task.goal) in said)
            yield GameSet(f"valid_seen, annotator {annotator}", world, tasks, plain, known)
    else:
        yield GameSet("valid_seen", plain, spread(plain.tasks("valid_seen"), limit), plain)


def _letters(sentence: str) -> str:
    return "".join(filter(str.isalpha, sentence.lower()))


def evaluate_model(
    model: Model, names: Sequence[str], data: Path | None = None, limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """Measure each of ``names`` (see ``SETS``), and yield its figures with every lost game or missed hint."""
    for name in names:
        if name == "hints":
            for title, heeded in (("hints", _free_hints(model)), ("hints, children and learners", _learners_hints(model))):
                found = list(heeded)
                missed = [said for said in found if said]
                yield {"set": title, "hints": len(found), "followed": len(found) - len(missed), "missed": missed}
        elif name == "wordings":
            yield _other_words(model, limit)
        elif name == "rules":
            yield from _worth_of_rules(model, limit or RULE_GAMES)
        else:
            arm, grants = {"seen": ("freely", ()), "admissible": ("admissible", ("admissible",))}.get(name, ("", ()))
            for games in game_sets(name, data, limit):
                yield games.measured(arm, _actor(games.world, model), grants, games.expert())


def _actor(world: World, model: Model) -> Agent:
    return make_agent("reasoner-actor", world=world, model=model)


def _free_hints(model: Model) -> Iterator[str]:
    """For each of ``HINTS``, an empty text if it is followed (one of the next two commands goes to the place), or a report."""
    world = AlfworldWorld()
    agent = _actor(world, model)
    for number, text in enumerate(HINTS):
        task = world.task(f"generated:{EVALUATION_SEEDS + number}")
        place = Random(f"hint {number}").choice(_places(world, task)).name
        hint = text.format(place=place)
        game = _play(world.open(task), agent, EpisodeConfig(world), _Hinting(hint))
        yield "" if f"go to {place}" in game.commands[:2] else f"{hint} -> {game.plans} {game.commands[:2]}"


def _learners_hints(model: Model) -> Iterator[str]:
    """For each of ``LEARNER_HINTS``, an empty text if it is followed, or a report. The house is one in which the agent plays
    differently without the hint. A hint to a place that the house does not have must not lead to one of another kind."""
    world = AlfworldWorld()
    agent, config = _actor(world, model), EpisodeConfig(world, max_turns=SEARCHING)
    tasks = (world.task(f"generated:{seed}") for seed in count(EVALUATION_SEEDS))
    told = ((meaning, at, hint) for meaning, kinds in LEARNER_HINTS.items() for at, hints in kinds.items() for hint in hints)
    for meaning, at, hint in told:
        alone = ((task, _meant(meaning, at, world, task), _play(world.open(task), agent, config).commands) for task in tasks)
        as_it_is = meaning == "no such place"
        task, places = next((task, at) for task, at, given in alone if at and _heeds(meaning, at, given) == as_it_is)
        game = _play(world.open(task), agent, config, _Hinting(hint))
        heeds = _heeds(meaning, places, game.commands)
        yield "" if heeds else f"{hint} -> {task.reference} {game.plans} {game.commands[:SEARCHING]}"


def _places(world: World, task: Task) -> tuple[Receptacle, ...]:
    return begin(world.open(task).reset().observation).receptacles


def _meant(meaning: str, place: str, world: World, task: Task) -> list[str]:
    """The receptacles of a house that a hint means by ``place``, a name or a kind."""
    names = [one.name for one in _places(world, task) if place in (one.name, one.kind)]
    return sorted(names, key=lambda one: int(one.split()[-1]))[1:][-1:] if meaning == "last" else names


def _heeds(meaning: str, places: Sequence[str], commands: Sequence[str]) -> bool:
    """True if one of the first two ``commands`` goes to one of ``places`` or, for a hint not to, if no search does."""
    going = {f"go to {place}" for place in places}
    if meaning in ("there", "last"):
        return not going.isdisjoint(commands[:2])
    searched = takewhile(lambda command: not command.startswith("take"), commands[:SEARCHING])
    return going.isdisjoint(searched)


def _other_words(model: Model, limit: int | None) -> dict[str, Any]:
    """The figures of evaluation houses whose goals are worded as in ``GOALS``, each wording twice."""
    world = AlfworldWorld()
    agent, config = _actor(world, model), EpisodeConfig(world)
    left = {TYPES[form]: [*sentences, *sentences] for form, sentences in GOALS.items()}
    most = sum(map(len, left.values())) if limit is None else limit
    asked = ((seed, house) for seed in count(EVALUATION_SEEDS) if left[(house := make_house(seed)).goal.type])
    told = ((seed, house, _told(left[house.goal.type].pop(0), house.goal)) for seed, house in islice(asked, most))
    tasks = ((replace(world.task(f"generated:{seed}"), goal=goal), house.game) for seed, house, goal in told)
    games, figures = measured(
        "made-up houses, goals in other words", (_play(NativeEnv(task, game), agent, config) for task, game in tasks)
    )
    return figures | {"lost": _lost(games)}


def _told(sentence: str, goal: Goal) -> str:
    """``sentence`` about ``goal`` with everyday names: the first of each kind that is not the game's own."""

    def named(kind: str | None, names: Names) -> str:
        return (*names.get(kind or "", ())[1:], kind or "")[0]

    thing = named(goal.object, OBJECTS)
    lamp, place = named(goal.lamp, OBJECTS), named(goal.receptacle, FURNITURE)
    return sentence.format(x=thing, xs=plural(thing), r=place, lamp=lamp)


def _worth_of_rules(model: Model, games: int) -> Iterator[dict[str, Any]]:
    """The figures of ``games`` houses of each of ``HABITS``, with each of ``TOLD``, by kind of room too."""
    for name, altered in HABITS.items():
        habits = _habits(altered)
        world, houses = AlfworldWorld(habits=habits), GeneratedHouses(habits)
        agent = _actor(world, model)
        asked = list(islice(houses_with_one_place(houses, altered), games))
        rooms = [houses.house(task.number).room for task, _, _ in asked]
        for told in TOLD:
            configs = ((task, EpisodeConfig(world, rules=_rules(told, task, *truth))) for task, *truth in asked)
            playing = (_play(world.open(task), agent, config) for task, config in configs)
            played, figures = measured(f"{name}, rules {told}", playing)
            places = list(zip(played, rooms, strict=True))
            by_room = {room: _worth([game for game, where in places if where == room]) for room in sorted({*rooms})}
            yield figures | _worth(played) | {"by_room": by_room}


def _rules(told: str, task: Task, thing: str, place: str) -> RuleBudget | None:
    """The rules of the condition ``told``, if every ``thing`` is in the ``place``, in words that were not trained on."""
    if told in ("none", "learned"):
        return read_rules("learned") if told == "learned" else None
    others = [other for other in ("drawer", "shelf", "sofa", "fridge") if other != place]
    said = place if told == "true" else Random(f"false {task.number}").choice(others)
    return RuleBudget.of_statements([f"In this house every {thing} is kept in the {said}."])


def _worth(games: Sequence[GameResult]) -> dict[str, Any]:
    return _figures([(game, None) for game in games]) | {"steps": round(fmean(game.steps for game in games), 2)}


def _habits(altered: Mapping[str, str]) -> Counts:
    habits = load_counts()
    for thing, place in altered.items():
        habits = placing(habits, thing, {place: 1})
    return habits


def houses_with_one_place(houses: GeneratedHouses, altered: Mapping[str, str]) -> Iterator[tuple[Task, str, str]]:
    """The evaluation houses whose goal's object is in only one kind of place, with the object and the place. With ``altered``
    habits, only houses that ask for a moved object."""
    for seed in count(EVALUATION_SEEDS):
        house = houses.house(seed)
        thing, game = house.goal.object, house.game
        if thing in altered:
            yield houses[seed], thing, altered[thing]
        elif not altered:
            places = {
                kind(place)
                for place, inside in zip(game.receptacles, game.start.contents, strict=True)
                if any(kind(game.objects[one]) == thing for one in inside)
            }
            if len(places) == 1:
                yield houses[seed], thing, places.pop()


@dataclass(frozen=True, slots=True)
class _Hinting(Unattended):
    hint: str

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> Proceed:
        del possible
        return Proceed((self.hint,) if turn == 1 else ())


def _play(env: Env, agent: Agent, config: EpisodeConfig, overseer: Overseer | None = None) -> GameResult:
    heard: list[Event | CallTiming] = []
    ended = asyncio.run(run_episode(env, agent, config, heard.append, overseer))
    env.close()
    seen = [event.body for event in heard if isinstance(event, Event)]
    return GameResult(
        env.task.reference,
        env.task.type,
        ended.outcome,
        ended.steps,
        ended.refused,
        sum(isinstance(body, events.ParseFailed) for body in seen),
        sum(isinstance(body, events.ModelCall) for body in seen),
        tuple(body.steps for body in seen if isinstance(body, events.Planned)),
        env.task.goal,
        tuple(body.command for body in seen if isinstance(body, events.Stepped)),
    )


def measured(
    name: str, playing: Iterable[GameResult], expert: Sequence[GameResult] = ()
) -> tuple[list[GameResult], dict[str, Any]]:
    """Play the games; return them with their figures, in total and by type, beside the ``expert``'s in the same games."""
    began = perf_counter()
    games = list(playing)
    seconds = perf_counter() - began
    beside: list[GameResult | None] = [*expert] if expert else [None] * len(games)
    pairs, calls = list(zip(games, beside, strict=True)), sum(game.calls for game in games)
    return games, {
        "set": name,
        **_figures(pairs),
        "refused": sum(game.refused for game in games),
        "unreadable": sum(game.unreadable for game in games),
        "seconds_a_game": round(seconds / max(1, len(games)), 3),
        **({"ms_a_call": round(1000 * seconds / calls, 2)} if calls else {}),
        "ms_a_step": round(1000 * seconds / max(1, sum(game.steps for game in games)), 2),
        "by_type": {
            kind: _figures([pair for pair in pairs if pair[0].type == kind]) for kind in sorted({game.type for game in games})
        },
    }


def _lost(games: Sequence[GameResult]) -> list[str]:
    return [f"{game.task} ({game.goal}) {game.outcome}: {game.plans}" for game in games if not game.won]


def _figures(pairs: Sequence[tuple[GameResult, GameResult | None]]) -> dict[str, Any]:
    """Games won and played, the mean steps of won games, and the expert's steps in those that both won."""
    won = [(game, other) for game, other in pairs if game.won]
    beside = [other for _, other in won if other is not None and other.won]
    figures: dict[str, Any] = {"won": len(won), "games": len(pairs), "success": round(100 * len(won) / max(1, len(pairs)), 1)}
    figures["steps_when_won"] = _mean([game.steps for game, _ in won])
    return figures | ({"expert": _mean([other.steps for other in beside])} if any(other for _, other in pairs) else {})


def _mean(values: Sequence[int]) -> float | None:
    return round(fmean(values), 2) if values else None


def lines(figures: Mapping[str, Any]) -> list[str]:
    """The printed figures of a set: a line for all games, and one for each type of task, sentence and room."""
    apart = {"set", "by_type", "sentences", "by_room", "lost", "missed"}
    whole = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in figures.items() if key not in apart)
    parts: Mapping[str, Mapping[str, Any]] = {
        name: each for part in ("by_type", "sentences", "by_room") for name, each in figures.get(part, {}).items()
    }
    return [
        f"{figures['set']}: {whole}",
        *(
            f"  {kind}: {each['won']}/{each['games']}"
            + (f", {each['steps_when_won']} steps when won" if each["won"] else "")
            + (f", expert {each['expert']}" if each.get("expert") else "")
            + (f", steps {each['steps']}" if "steps" in each else "")
            for kind, each in parts.items()
        ),
    ]
