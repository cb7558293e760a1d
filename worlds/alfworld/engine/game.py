"""A game as the engine plays it: read once, immutable, shared by all its episodes.

Objects, receptacles and places are numbered by their raw ids in string order, the order in which the game lists things, so
numbers sort like ids. Names are ALFWorld's: what precedes ``_bar_`` in the id, with ``basin`` added if the id has it, and a
number counting down from the lowest id.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from worlds.alfworld.engine.pddl import Problem, parse_problem
from worlds.errors import GameError, shown
from worlds.household.goals import GoalForm

#: SHA-256 of the known domains and grammars (without the task sentence). The first of each is that of every published game; the
#: second is what alfworld 0.4.2 installs and writes into games. The grammars are equivalent. The domains differ in one thing:
#: in the first, anything called a sink cleans; in the second, only a basin does.
PUBLISHED_DOMAIN = "0af55e7f92d12b09d28515aa730e4d03fddd17228ef1fd7b18a3ee8ba49b27b9"
DOMAINS = (PUBLISHED_DOMAIN, "f1473041ed01da514de1f87adfd7ef0804862361f83ccf63c75e43633b0eb280")
GRAMMARS = (
    "10da93e13b58e1a6039723f5d4a59ceae7c60772515bfab9fc603bafa7f8ee06",
    "c294eb280206a4428664cdb4e2037e267e86de5b7fa862212718a961513a7de4",
)

#: Published games have at most 140 kB; allocating a buffer for the largest allowed file would take longer than reading one.
MAX_FILE = 8_000_000
_USUAL_FILE = 200_000
MAX_GOAL = 2_000
MAX_WALKTHROUGH = 10_000

NOWHERE = -1
NOTHING = -1


class State(NamedTuple):
    """Everything in a running game that can change. A named tuple, because each step makes one.

    Things are numbers of the ``Game``. ``contents`` holds a sorted tuple of objects for each receptacle and ``lying`` a
    set of objects for each place; the two can disagree, as they do in the published games. ``taken`` holds each
    (object, receptacle) where the object was taken out and not put back.
    """

    place: int
    held: int
    contents: tuple[tuple[int, ...], ...]
    lying: tuple[frozenset[int], ...]
    opened: frozenset[int]
    hot: frozenset[int]
    cool: frozenset[int]
    clean: frozenset[int]
    sliced: frozenset[int]
    lit: frozenset[int]
    taken: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Goal:
    """What wins: one of six forms, with the objects and receptacles that satisfy it.

    For ``light``, ``objects`` are what must be held and ``lamps`` what must be on; otherwise ``lamps`` is empty.
    """

    form: GoalForm
    objects: frozenset[int]
    receptacles: tuple[int, ...]
    lamps: frozenset[int]


class Action(NamedTuple):
    """What a command does: a verb of the domain with its object and receptacle, by number."""

    verb: str
    object: int = NOTHING
    receptacle: int = NOWHERE


@dataclass(frozen=True, slots=True)
class Game:
    """The constant part of a game. Never mutated; safe to share between episodes and threads.

    ``objects`` and ``receptacles`` are names by number; ``sentence`` is the goal as the player reads it. ``receptacles_at``
    lists the receptacles of each place and ``place_of`` is its inverse (``NOWHERE`` for one without a place). ``accepts`` are
    the types of object that each receptacle takes; an object without a type has the empty one, which nothing takes.
    ``inside`` lists what movable receptacles show. ``always`` holds the commands that do not depend on the state: the three
    bare ones and a ``go to`` for every receptacle that has a place.
    """

    origin: str
    sentence: str
    goal: Goal
    objects: tuple[str, ...]
    receptacles: tuple[str, ...]
    place_of: tuple[int, ...]
    receptacles_at: tuple[tuple[int, ...], ...]
    object_types: tuple[str, ...]
    accepts: tuple[frozenset[str], ...]
    openable: frozenset[int]
    heaters: frozenset[int]
    coolers: frozenset[int]
    basins: frozenset[int]
    knives: frozenset[int]
    pickupable: frozenset[int]
    heatable: frozenset[int]
    coolable: frozenset[int]
    cleanable: frozenset[int]
    sliceable: frozenset[int]
    toggleable: frozenset[int]
    inside: Mapping[int, tuple[int, ...]]
    always: Mapping[str, Action]
    start: State
    walkthrough: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """The content of a published game file.

    ``solvable``: its makers found a solution. ``sinks_clean``: its domain lets plain sinks clean, not only basins.
    """

    problem: str
    sentence: str
    solvable: bool
    walkthrough: tuple[str, ...] | None
    sinks_clean: bool


def load_game(path: Path, goal: str | None = None) -> Game:
    """Read a published game (``game.tw-pddl``) or one of our own houses (``*.json`` with ``pddl_problem`` and ``goal``).

    ``goal`` replaces the goal sentence (a person's wording of it); what wins stays the same. Raises ``GameError`` naming the
    file and the reason.
    """
    origin = shown(str(path), 400)[1:-1]
    content = _read(path, origin)
    if path.suffix == ".json":
        return _load_house(_decode(content, origin), goal, origin)
    game = read_published(content, origin)
    sentence = game.sentence if goal is None else goal
    return parse_game(game.problem, sentence, origin, walkthrough=game.walkthrough, sinks_clean=game.sinks_clean)


def house_source(path: Path) -> tuple[str, str]:
    """The PDDL problem and the goal sentence of a game file of either kind. Raises ``GameError``."""
    origin = shown(str(path), 400)[1:-1]
    content = _read(path, origin)
    if path.suffix == ".json":
        data = _decode(content, origin)
        return _text(data, "pddl_problem", origin), _text(data, "goal", origin)
    game = read_published(content, origin)
    return game.problem, game.sentence


def read_published(content: bytes, origin: str, *, whole: bool = False) -> Published:
    """Read a published game and check its domain and grammar; ``origin`` names it in errors.

    With ``whole``, its problem is checked too, which takes three times as long. Raises ``GameError``.
    """
    data = _decode(content, origin)
    game = Published(
        problem=_text(data, "pddl_problem", origin),
        sentence=_sentence(data, origin),
        solvable=data.get("solvable") is True,
        walkthrough=_walkthrough(data, origin),
        sinks_clean=_fingerprint(_text(data, "pddl_domain", origin)) == PUBLISHED_DOMAIN,
    )
    if whole:
        parse_game(game.problem, game.sentence, origin)
    return game


def parse_game(
    problem: str, goal: str, origin: str, *, walkthrough: tuple[str, ...] | None = None, sinks_clean: bool = False
) -> Game:
    """Make a game of a PDDL problem and a goal sentence; ``origin`` names them in errors. Raises ``GameError``."""
    sentence = _line(goal, origin)
    return _Maker(parse_problem(problem, origin), origin, sinks_clean).game(sentence, walkthrough)


def _line(goal: str, origin: str) -> str:
    sentence = " ".join(goal.split())
    if not sentence or len(sentence) > MAX_GOAL or not sentence.isprintable():
        raise GameError(f"{origin}: its goal {shown(goal)} is no line of printable text of 1 to {MAX_GOAL:,} characters.")
    return sentence


def _read(path: Path, origin: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_USUAL_FILE)
            if len(content) == _USUAL_FILE:
                content += file.read(MAX_FILE + 1 - _USUAL_FILE)
    except (OSError, ValueError) as error:
        raise GameError(f"{origin}: the game cannot be read: {error}") from error
    if len(content) > MAX_FILE:
        raise GameError(f"{origin}: the file has more than {MAX_FILE:,} bytes; no game is that large.")
    return content


def _decode(content: bytes, origin: str) -> dict[str, Any]:
    try:
        data: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise GameError(f"{origin}: the file is no JSON ({shown(str(error))}); fetch it again.") from error
    if not isinstance(data, dict):
        raise GameError(f"{origin}: the file holds no JSON object, so it is no game.")
    return cast("dict[str, Any]", data)


def _text(data: dict[str, Any], key: str, origin: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise GameError(f"{origin}: it has no text under {key!r}, so it is no game.")
    return value


def _load_house(data: dict[str, Any], goal: str | None, origin: str) -> Game:
    if set(data) != {"pddl_problem", "goal"}:
        keys = ", ".join(shown(key, 40) for key in sorted(data)[:8])
        raise GameError(f"{origin}: a house has exactly 'pddl_problem' and 'goal', not {keys or 'nothing'}.")
    problem, sentence = _text(data, "pddl_problem", origin), _text(data, "goal", origin)
    return parse_game(problem, sentence if goal is None else goal, origin)


def _sentence(data: dict[str, Any], origin: str) -> str:
    """The goal sentence in the grammar, after checking that grammar and domain are known."""
    grammar = _text(data, "grammar", origin)
    before, marker, rest = grammar.partition('"Your task is to: ')
    sentence, quote, after = rest.partition('"')
    update = (
        "Update with `housequest data download`, or with alfworld 0.4 or later and `alfworld-download`; "
        "the older `put X in/on Y` games are not played."
    )
    if '"put {o} in/on {r}"' in grammar:
        raise GameError(f"{origin}: this game speaks the older grammar (`put X in/on Y`). {update}")
    if not quote or _fingerprint(before + marker + quote + after) not in GRAMMARS:
        raise GameError(f"{origin}: its grammar is none that is known, so its text could not be vouched for. {update}")
    if _fingerprint(_text(data, "pddl_domain", origin)) not in DOMAINS:
        raise GameError(f"{origin}: its domain is none that is known, so its rules could not be vouched for. {update}")
    if re.search(r"[\\#{}\[\]|]", sentence):
        raise GameError(f"{origin}: its goal {shown(sentence)} would be read as grammar.")
    return _line(sentence, origin)


def _walkthrough(data: dict[str, Any], origin: str) -> tuple[str, ...] | None:
    steps: object = data.get("walkthrough")
    if steps is None:
        return None
    listed = cast("list[object]", steps) if isinstance(steps, list) else []
    commands = tuple(step for step in listed if isinstance(step, str))
    if not isinstance(steps, list) or len(commands) != len(listed) or len(commands) > MAX_WALKTHROUGH:
        raise GameError(f"{origin}: its walkthrough is no list of at most {MAX_WALKTHROUGH:,} commands.")
    return commands


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _Maker:
    """Turns a problem into a game: numbers the things, then groups the facts as the engine needs them."""

    def __init__(self, problem: Problem, origin: str, sinks_clean: bool) -> None:
        self.problem = problem
        self.sinks_clean = sinks_clean
        self.origin = origin
        mentioned = sorted({thing for facts in problem.facts.values() for fact in facts for thing in fact})
        self.names = self._names(mentioned)
        self.numbers: dict[str, dict[str, int]] = {}
        for kind in ("object", "receptacle", "location"):
            ids = [thing for thing in mentioned if problem.things[thing] == kind]
            self.numbers[kind] = {thing: number for number, thing in enumerate(ids)}

    def _names(self, mentioned: list[str]) -> dict[str, str]:
        """The name of each object and receptacle, numbered among all that share its stem."""
        stems: dict[str, str] = {}
        kinds = self.problem.things
        for thing in mentioned:
            stem, bar, _ = thing.partition("_bar_")
            if bar:
                stems[thing] = f"{stem}basin" if "basin" in thing else stem
            if kinds[thing] in ("object", "receptacle") and not (bar and stem.isalnum() and stem[0].isalpha()):
                raise GameError(f"{self.origin}: the id {shown(thing)} is not of the form Name_bar_anything.")
        left = Counter(stems.values())
        names: dict[str, str] = {}
        for thing, stem in stems.items():
            names[thing] = f"{stem} {left[stem]}"
            left[stem] -= 1
        return names

    def _one_each(self, predicate: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for thing, value in self.problem.pairs(predicate):
            if found.setdefault(thing, value) != value:
                raise GameError(f"{self.origin}: {predicate} says two things of {shown(thing)}.")
        return found

    def _objects(self, predicate: str) -> frozenset[int]:
        numbers = self.numbers["object"]
        return frozenset([numbers[thing] for thing in self.problem.singles(predicate)])

    def _receptacles(self, predicate: str) -> frozenset[int]:
        numbers = self.numbers["receptacle"]
        return frozenset([numbers[thing] for thing in self.problem.singles(predicate)])

    def game(self, sentence: str, walkthrough: tuple[str, ...] | None) -> Game:
        objects, receptacles, places = (self.numbers[kind] for kind in ("object", "receptacle", "location"))
        object_types: dict[str, set[int]] = {}
        types_of = self._one_each("objecttype")
        for thing, kind in types_of.items():
            object_types.setdefault(kind, set()).add(objects[thing])
        receptacle_types: dict[str, list[int]] = {}
        for thing, kind in self._one_each("receptacletype").items():
            receptacle_types.setdefault(kind, []).append(receptacles[thing])
        names = tuple(self.names[thing] for thing in receptacles)
        place_of = [NOWHERE] * len(receptacles)
        for thing, place in self._one_each("receptacleatlocation").items():
            place_of[receptacles[thing]] = places[place]

        def typed(*kinds: str) -> frozenset[int]:
            return frozenset(number for kind in kinds for number in receptacle_types.get(kind, ()))

        return Game(
            origin=self.origin,
            sentence=sentence,
            goal=self._goal(object_types, receptacle_types),
            objects=tuple(self.names[thing] for thing in objects),
            receptacles=names,
            place_of=tuple(place_of),
            receptacles_at=_grouped(place_of, len(places)),
            object_types=tuple(types_of.get(thing, "") for thing in objects),
            accepts=self._accepts(receptacle_types),
            openable=self._receptacles("openable"),
            heaters=typed("microwavetype"),
            coolers=typed("fridgetype"),
            basins=typed("sinkbasintype", "sinktype") if self.sinks_clean else typed("sinkbasintype"),
            knives=frozenset(object_types.get("knifetype", set()) | object_types.get("butterknifetype", set())),
            pickupable=self._objects("pickupable"),
            heatable=self._objects("heatable"),
            coolable=self._objects("coolable"),
            cleanable=self._objects("cleanable"),
            sliceable=self._objects("sliceable"),
            toggleable=self._objects("toggleable"),
            inside=self._inside(),
            always={
                **{f"go to {names[r]}": Action("go", receptacle=r) for r, place in enumerate(place_of) if place != NOWHERE},
                **{bare: Action(bare) for bare in ("help", "inventory", "look")},
            },
            start=self._start(),
            walkthrough=walkthrough,
        )

    def _start(self) -> State:
        objects, receptacles, places = (self.numbers[kind] for kind in ("object", "receptacle", "location"))
        agents = [thing for thing, kind in self.problem.things.items() if kind == "agent"]
        stood = self._one_each("atlocation")
        if len(agents) != 1 or len(stood) != 1:
            raise GameError(f"{self.origin}: it has {len(agents)} agents, {len(stood)} of them somewhere; a game has one.")
        contents: list[set[int]] = [set() for _ in receptacles]
        for thing, receptacle in self.problem.pairs("inreceptacle"):
            contents[receptacles[receptacle]].add(objects[thing])
        lying: list[set[int]] = [set() for _ in places]
        for thing, place in self.problem.pairs("objectatlocation"):
            lying[places[place]].add(objects[thing])
        return State(
            place=places[next(iter(stood.values()))],
            held=NOTHING,
            contents=tuple(tuple(sorted(found)) for found in contents),
            lying=tuple(frozenset(found) for found in lying),
            opened=self._receptacles("opened"),
            hot=self._objects("ishot"),
            cool=self._objects("iscool"),
            clean=self._objects("isclean"),
            sliced=self._objects("issliced"),
            lit=self._objects("istoggled"),
            taken=frozenset(),
        )

    def _accepts(self, receptacle_types: dict[str, list[int]]) -> tuple[frozenset[str], ...]:
        taken_by: dict[str, set[str]] = {}
        for receptacle_type, object_type in self.problem.pairs("cancontain"):
            taken_by.setdefault(receptacle_type, set()).add(object_type)
        accepts: list[frozenset[str]] = [frozenset()] * len(self.numbers["receptacle"])
        for kind, numbers in receptacle_types.items():
            taken = frozenset(taken_by.get(kind, ()))
            for number in numbers:
                accepts[number] = taken
        return tuple(accepts)

    def _inside(self) -> dict[int, tuple[int, ...]]:
        """What each movable receptacle shows: static, and never itself."""
        numbers = self.numbers["object"]
        found: dict[int, set[int]] = {number: set() for number in self._objects("isreceptacleobject")}
        for inner, outer in self.problem.pairs("inreceptacleobject"):
            if inner != outer and numbers[outer] in found:
                found[numbers[outer]].add(numbers[inner])
        return {outer: tuple(sorted(inner)) for outer, inner in found.items()}

    def _goal(self, object_types: dict[str, set[int]], receptacle_types: dict[str, list[int]]) -> Goal:
        form, bound = self.problem.form, self.problem.types
        objects = frozenset(object_types.get(bound["OBJECT"], ()))
        if form in ("clean", "heat", "cool"):
            objects &= self._objects({"clean": "cleanable", "heat": "heatable", "cool": "coolable"}[form])
        receptacles = tuple(sorted(receptacle_types.get(bound.get("RECEPTACLE", ""), ())))
        lamps = object_types.get(bound.get("LAMP", ""), set()) & self._objects("toggleable")
        return Goal(form, objects, receptacles, frozenset(lamps))


def _grouped(place_of: Iterable[int], places: int) -> tuple[tuple[int, ...], ...]:
    found: list[list[int]] = [[] for _ in range(places)]
    for receptacle, place in enumerate(place_of):
        if place != NOWHERE:
            found[place].append(receptacle)
    return tuple(tuple(receptacles) for receptacles in found)
