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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from housequest.worlds.alfworld.engine.pddl import Problem, parse_problem
from housequest.worlds.errors import GameError, shown, unquoted
from housequest.worlds.household.goals import GoalForm
from housequest.worlds.paths import open_file

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
PLACEHOLDER = "UNKNOWN GOAL."
"""The goal sentence in the grammar that alfworld installs."""
_PERMANENT = ("openable", "pickupable", "heatable", "coolable", "cleanable", "sliceable", "toggleable")
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
class WinCondition:
    """What wins: one of six forms with what satisfies it. For ``light``, ``objects`` are to be held and ``lamps`` to be on."""

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

    ``objects`` and ``receptacles`` are names by number; ``sentence`` is the goal as the player reads it. ``place_of`` is
    ``NOWHERE`` for a receptacle without a place; ``receptacles_at`` is its inverse. ``accepts`` are the types of object that
    each receptacle takes; nothing takes an object without a type. ``inside`` lists what movable receptacles show. ``always``
    has the commands that do not depend on the state: the bare ones, and ``go to`` every receptacle that has a place.
    """

    origin: str
    sentence: str
    goal: WinCondition
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
class GameFile:
    """The content of a game file, ``solvable`` if its makers found a solution; a house of ours has no ``domain`` and
    ``grammar``.
    """

    problem: str
    sentence: str
    domain: str | None = None
    grammar: str | None = None
    solvable: bool = False
    walkthrough: tuple[str, ...] | None = None

    def game(self, origin: str, goal: str | None = None) -> Game:
        """The game; ``goal`` replaces its sentence, and ``origin`` names it in errors. Raises ``GameError``."""
        # The first domain lets plain sinks clean, not only basins.
        sinks_clean = self.domain is not None and _fingerprint(self.domain) == PUBLISHED_DOMAIN
        sentence = self.sentence if goal is None else goal
        return parse_game(self.problem, sentence, origin, walkthrough=self.walkthrough, sinks_clean=sinks_clean)


def load_game(path: Path, goal: str | None = None) -> Game:
    """The game in a file; ``goal`` replaces its sentence (a person's wording of it), not what wins. Raises ``GameError``."""
    return read_game(path).game(unquoted(str(path), 400), goal)


def read_game(path: Path) -> GameFile:
    """Read a published game (``game.tw-pddl``) or one of our own houses (``*.json``). Raises ``GameError``, which names the
    file.
    """
    origin = unquoted(str(path), 400)
    try:
        with open_file(path) as file:
            content = file.read(_USUAL_FILE)
            if len(content) == _USUAL_FILE:
                content += file.read(MAX_FILE + 1 - _USUAL_FILE)
    except (OSError, ValueError) as error:
        raise GameError(f"{origin}: the game cannot be read: {error}") from error
    if len(content) > MAX_FILE:
        raise GameError(f"{origin}: the file has more than {MAX_FILE:,} bytes; no game is that large.")
    if path.suffix != ".json":
        return read_published(content, origin)
    data = _decode(content, origin)
    if set(data) != {"pddl_problem", "goal"}:
        keys = ", ".join(shown(key, 40) for key in sorted(data)[:8])
        raise GameError(f"{origin}: a house has exactly 'pddl_problem' and 'goal', not {keys or 'nothing'}.")
    return GameFile(_text(data, "pddl_problem", origin), _text(data, "goal", origin))


def read_published(content: bytes, origin: str, *, whole: bool = False) -> GameFile:
    """Read a published game and check its domain and grammar; with ``whole`` also its problem, in thrice the time. Raises
    ``GameError``.
    """
    data = _decode(content, origin)
    problem, grammar, domain = (_text(data, key, origin) for key in ("pddl_problem", "grammar", "pddl_domain"))
    before, marker, rest = grammar.partition('"Your task is to: ')
    sentence, quote, after = rest.partition('"')
    update = (
        "Update with `housequest data download`, or with alfworld 0.4 or later and `alfworld-download`; "
        "the older `put X in/on Y` games are not played."
    )
    if '"put {o} in/on {r}"' in grammar:
        raise GameError(f"{origin}: this game speaks the older grammar (`put X in/on Y`). {update}")
    if not quote or _fingerprint(before + marker + quote + after) not in GRAMMARS:
        raise GameError(f"{origin}: its grammar is not known, so its text could not be vouched for. {update}")
    if _fingerprint(domain) not in DOMAINS:
        raise GameError(f"{origin}: its domain is not known, so its rules could not be vouched for. {update}")
    if re.search(r"[\\#{}\[\]|]", sentence):
        raise GameError(f"{origin}: its goal {shown(sentence)} would be read as grammar.")
    steps: object = data.get("walkthrough")
    listed = cast("list[object]", steps) if isinstance(steps, list) else None
    if steps is not None and (
        listed is None or len(listed) > MAX_WALKTHROUGH or not all(isinstance(step, str) for step in listed)
    ):
        raise GameError(f"{origin}: its walkthrough is not a list of at most {MAX_WALKTHROUGH:,} commands.")
    walkthrough = None if listed is None else tuple(cast("list[str]", listed))
    game = GameFile(problem, _line(sentence, origin), domain, grammar, data.get("solvable") is True, walkthrough)
    if whole:
        game.game(origin)
    return game


def parse_game(
    problem: str, goal: str, origin: str, *, walkthrough: tuple[str, ...] | None = None, sinks_clean: bool = False
) -> Game:
    """Make a game of a PDDL problem and a goal sentence; ``origin`` names them in errors. Raises ``GameError``."""
    sentence = _line(goal, origin)
    return _Maker(parse_problem(problem, origin), origin).game(sentence, walkthrough, sinks_clean)


def _line(goal: str, origin: str) -> str:
    sentence = " ".join(goal.split())
    if not sentence or len(sentence) > MAX_GOAL or not sentence.isprintable():
        raise GameError(f"{origin}: its goal {shown(goal)} is not a line of printable text of 1 to {MAX_GOAL:,} characters.")
    return sentence


def _decode(content: bytes, origin: str) -> dict[str, Any]:
    try:
        data: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise GameError(f"{origin}: the file is not JSON ({shown(str(error))}); fetch it again.") from error
    if not isinstance(data, dict):
        raise GameError(f"{origin}: the file is not a JSON object, so it is not a game.")
    return cast("dict[str, Any]", data)


def _text(data: dict[str, Any], key: str, origin: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise GameError(f"{origin}: it has no text under {key!r}, so it is not a game.")
    return value


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def numbered(problem: Problem) -> tuple[list[str], list[str], list[str]]:
    """The ids of the objects, receptacles and places of a game, in the order of its numbers."""
    mentioned = sorted({thing for facts in problem.facts.values() for fact in facts for thing in fact})
    objects, receptacles, places = (
        [thing for thing in mentioned if problem.things[thing] == kind] for kind in ("object", "receptacle", "location")
    )
    return objects, receptacles, places


class _Maker:
    """Turns a problem into a game: numbers the things, then groups the facts as the engine needs them."""

    def __init__(self, problem: Problem, origin: str) -> None:
        self.problem = problem
        self.origin = origin
        mentioned = sorted({thing for facts in problem.facts.values() for fact in facts for thing in fact})
        self.names = self._names(mentioned)
        self.objects, self.receptacles, self.places = numbered(problem)
        every = (self.objects, self.receptacles, self.places)
        self.number = {thing: number for things in every for number, thing in enumerate(things)}
        self.object_types = self._one_each("objecttype")
        self.receptacle_types = self._one_each("receptacletype")

    def _names(self, mentioned: list[str]) -> dict[str, str]:
        """The name of each object and receptacle, numbered among all that share its stem."""
        stems: dict[str, str] = {}
        for thing in mentioned:
            stem, bar, _ = thing.partition("_bar_")
            if bar:
                stems[thing] = f"{stem}basin" if "basin" in thing else stem
            if self.problem.things[thing] in ("object", "receptacle") and not (bar and stem.isalnum() and stem[0].isalpha()):
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

    def _all(self, predicate: str) -> frozenset[int]:
        """The things of which a predicate holds."""
        return frozenset([self.number[fact[0]] for fact in self.problem.facts[predicate]])

    def _typed(self, types: dict[str, str], *wanted: str | None) -> frozenset[int]:
        return frozenset([self.number[thing] for thing, kind in types.items() if kind in wanted])

    def _within(self, predicate: str, outer: list[str]) -> list[set[int]]:
        """For each of ``outer``, the things that a predicate says are in it."""
        found: list[set[int]] = [set() for _ in outer]
        for inner, holder in self.problem.pairs(predicate):
            found[self.number[holder]].add(self.number[inner])
        return found

    def game(self, sentence: str, walkthrough: tuple[str, ...] | None, sinks_clean: bool) -> Game:
        names = tuple(self.names[thing] for thing in self.receptacles)
        places = self._one_each("receptacleatlocation")
        place_of = tuple(self.number[places[thing]] if thing in places else NOWHERE for thing in self.receptacles)
        accepted: dict[str, set[str]] = {}
        for receptacle_type, object_type in self.problem.pairs("cancontain"):
            accepted.setdefault(receptacle_type, set()).add(object_type)
        holding = self._within("inreceptacleobject", self.objects)
        return Game(
            origin=self.origin,
            sentence=sentence,
            goal=self._goal(),
            objects=tuple(self.names[thing] for thing in self.objects),
            receptacles=names,
            place_of=place_of,
            receptacles_at=tuple(tuple(sorted(found)) for found in self._within("receptacleatlocation", self.places)),
            object_types=tuple(self.object_types.get(thing, "") for thing in self.objects),
            accepts=tuple(frozenset(accepted.get(self.receptacle_types.get(one, ""), ())) for one in self.receptacles),
            heaters=self._typed(self.receptacle_types, "microwavetype"),
            coolers=self._typed(self.receptacle_types, "fridgetype"),
            basins=self._typed(self.receptacle_types, "sinkbasintype", "sinktype" if sinks_clean else None),
            knives=self._typed(self.object_types, "knifetype", "butterknifetype"),
            # A movable receptacle never shows itself.
            inside={outer: tuple(sorted(holding[outer] - {outer})) for outer in self._all("isreceptacleobject")},
            always={
                **{f"go to {names[r]}": Action("go", receptacle=r) for r, place in enumerate(place_of) if place != NOWHERE},
                **{bare: Action(bare) for bare in ("help", "inventory", "look")},
            },
            start=self._start(),
            walkthrough=walkthrough,
            **{predicate: self._all(predicate) for predicate in _PERMANENT},
        )

    def _start(self) -> State:
        agents = list(self.problem.things.values()).count("agent")
        stood = self._one_each("atlocation")
        if agents != 1 or len(stood) != 1:
            raise GameError(f"{self.origin}: it has {agents} agents, {len(stood)} of them somewhere; a game has one.")
        return State(
            place=self.number[next(iter(stood.values()))],
            held=NOTHING,
            contents=tuple(tuple(sorted(found)) for found in self._within("inreceptacle", self.receptacles)),
            lying=tuple(map(frozenset, self._within("objectatlocation", self.places))),
            opened=self._all("opened"),
            hot=self._all("ishot"),
            cool=self._all("iscool"),
            clean=self._all("isclean"),
            sliced=self._all("issliced"),
            lit=self._all("istoggled"),
            taken=frozenset(),
        )

    def _goal(self) -> WinCondition:
        form, bound = self.problem.form, self.problem.types
        objects = self._typed(self.object_types, bound["OBJECT"])
        if form in ("clean", "heat", "cool"):
            objects &= self._all(f"{form}able")
        receptacles = self._typed(self.receptacle_types, bound.get("RECEPTACLE"))
        lamps = self._typed(self.object_types, bound.get("LAMP")) & self._all("toggleable")
        return WinCondition(form, objects, tuple(sorted(receptacles)), lamps)
