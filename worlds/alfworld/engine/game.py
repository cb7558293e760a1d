"""Reads games from files into the values that the engine plays: immutable, and shared by all their episodes.

The problem in a game file has the things, the facts at the start, and a goal of one of six forms; the domain is the same in
every game and is built into the engine. Problems are lowercased, as planners do; nothing recurses and every count is bounded,
since a game file is untrusted.

Objects, receptacles and places are numbered by their raw ids in string order, the order in which the game lists things, so
numbers sort like ids. Names are ALFWorld's: what precedes ``_bar_`` in the id, with ``basin`` added if the id has it, and a
number counting down from the lowest id.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from housequest.worlds.errors import GameError, nearest, shown, unquoted
from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import Goal, GoalForm
from housequest.worlds.paths import read_bounded, sha256_of

_DOMAIN: dict[str, dict[Any, str]] = json.loads(Path(__file__).with_name("domain.json").read_text("utf-8"))
_GOALS: dict[GoalForm, str] = _DOMAIN["goals"]
"""The goals as the published problems write them, with the types that vary in capitals."""
PREDICATES: dict[str, tuple[str, ...]] = {name: tuple(kinds.split()) for name, kinds in _DOMAIN["predicates"].items()}
"""The domain's predicates and the kinds of thing each takes. Some have no effect, but everything they mention is numbered."""
KINDS = ("agent", "location", "receptacle", "object", "rtype", "otype")
#: Bounds well above any published game (90 kB, 363 things, 1,144 facts), so that a hostile file stays cheap.
MAX_TEXT = 2_000_000
MAX_THINGS = 2_000
MAX_FACTS = 20_000
Fact = tuple[str, ...]
_HOLES = ("OBJECT", "RECEPTACLE", "LAMP")
_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem as written: ``things`` by id with their kind, the arguments of ``facts`` by predicate, and the goal. The goal
    is one of six ``form``s with its ``types`` under OBJECT, RECEPTACLE and LAMP, as far as the form has them."""

    things: dict[str, str]
    facts: dict[str, list[Fact]]
    form: GoalForm
    types: dict[str, str]

    def mentioned(self) -> list[str]:
        """The things that facts name, sorted."""
        return sorted({thing for facts in self.facts.values() for fact in facts for thing in fact})

    def pairs(self, predicate: str) -> list[tuple[str, str]]:
        """The facts of a predicate that takes two things."""
        return [(fact[0], fact[1]) for fact in self.facts[predicate]]


def parse_problem(text: str, origin: str) -> Problem:
    """Read a PDDL problem of the ALFWorld domain. Raises ``GameError``, which names ``origin`` and the reason."""
    if len(text) > MAX_TEXT:
        raise GameError(f"{origin}: its PDDL problem has {len(text):,} characters; at most {MAX_TEXT:,} are read.")
    text = re.sub(r";[^\n]*", "", text)
    if not text.isascii():
        odd = next(character for character in text if not character.isascii())
        raise GameError(f"{origin}: its PDDL problem holds the non-ASCII character {shown(odd)}.")
    # Each piece but the first starts with the "(" that opens it, or follows a ")".
    sections = _sections(text.lower().replace("(", ")(").split(")"), origin)
    for name in (":objects", ":init", ":goal"):
        if name not in sections:
            raise GameError(f"{origin}: its PDDL problem has no {name} section.")
    things = _things(sections[":objects"], origin)
    facts = _facts(sections[":init"], things, origin)
    # The text that was cut into pieces, its words with single spaces.
    goal = " ".join(_TOKEN.findall(")".join(sections[":goal"]).replace(")(", "(")))
    for form in _GOALS:
        if found := _goal_pattern(form).fullmatch(goal):
            types = found.groupdict()
            for hole, named in types.items():
                kind = "rtype" if hole == "RECEPTACLE" else "otype"
                if things.get(named) != kind:
                    raise GameError(f"{origin}: its goal needs a declared {kind}, which {shown(named)} is not.")
            return Problem(things, facts, form, types)
    raise GameError(f"{origin}: its goal does not have one of ALFWorld's six forms ({', '.join(_GOALS)}).")


def problem_text(problem: Problem, name: str) -> str:
    """``problem`` as PDDL, a thing or a fact a line, which ``parse_problem`` reads back; ``name`` is a PDDL name."""
    things = "".join(f"  {thing} - {kind}\n" for thing, kind in problem.things.items())
    stated = ((predicate, *fact) for predicate, found in problem.facts.items() for fact in dict.fromkeys(found))
    facts = "".join(f"  ({' '.join(fact)})\n" for fact in stated)
    words: list[str] = _TOKEN.findall(_GOALS[problem.form])
    goal = " ".join(problem.types.get(word, word) for word in words).replace("( ", "(").replace(" )", ")")
    return f"(define (problem {name})\n(:domain alfred)\n(:objects\n{things})\n(:init\n{facts})\n(:goal {goal}))\n"


def _sections(pieces: list[str], origin: str) -> dict[str, list[str]]:
    """The pieces of each section by its name, which is taken from the first."""
    head = _TOKEN.findall("".join(pieces[:2]))
    if head[:2] != ["(", "define"]:
        raise GameError(f"{origin}: its PDDL problem does not start with (define.")
    found: dict[str, list[str]] = {}
    depth, start, stray = 1, 0, head[2:]
    for position, piece in enumerate(pieces[2:], start=2):
        if piece.startswith("("):
            depth += 1
            if depth == 2:
                start = position
        else:
            depth -= 1
            if depth == 1:
                name, first, *_ = (*pieces[start][1:].split(None, 1), "", "")
                if name in found:
                    raise GameError(f"{origin}: its PDDL problem has two {shown(name)} sections.")
                found[name] = [first, *pieces[start + 1 : position]]
                stray = piece.split()
            elif depth == 0 and (position != len(pieces) - 1 or piece.strip()):
                raise GameError(f"{origin}: its PDDL problem goes on after its last bracket.")
        if stray:
            raise GameError(f"{origin}: its PDDL problem has a stray {shown(stray[0])} between sections.")
    if depth:
        raise GameError(f"{origin}: its PDDL problem is cut off: a bracket is never closed.")
    return found


def _things(pieces: list[str], origin: str) -> dict[str, str]:
    things: dict[str, str] = {}
    waiting: list[str] = []
    if len(pieces) > 1:
        raise GameError(f"{origin}: a stray bracket among the things of :objects.")
    words = iter(pieces[0].split())
    for word in words:
        if word != "-":
            waiting.append(word)
            continue
        kind = next(words, "")
        if kind not in KINDS:
            raise GameError(f"{origin}: {shown(kind)} is not a kind of thing; known: {', '.join(KINDS)}.")
        for thing in waiting:
            if thing in things:
                raise GameError(f"{origin}: {shown(thing)} is declared twice.")
            things[thing] = kind
        waiting.clear()
        if len(things) > MAX_THINGS:
            raise GameError(f"{origin}: it declares more than {MAX_THINGS:,} things.")
    if waiting:
        raise GameError(f"{origin}: {shown(waiting[0])} is declared without a kind.")
    return things


def _facts(pieces: list[str], things: dict[str, str], origin: str) -> dict[str, list[Fact]]:
    facts: dict[str, list[Fact]] = {predicate: [] for predicate in PREDICATES}
    kind_of = things.get
    for position, piece in enumerate(pieces):
        if position % 2:
            predicate, *arguments = piece[1:].split() or [""]
            fact = tuple(arguments)
            if PREDICATES.get(predicate) != tuple(map(kind_of, fact)):
                raise _fault(predicate, fact, things, origin)
            facts[predicate].append(fact)
        elif words := piece.split():  # between two facts
            raise GameError(f"{origin}: a stray {shown(words[0])} among the facts of :init.")
    if len(pieces) // 2 > MAX_FACTS:
        raise GameError(f"{origin}: it states more than {MAX_FACTS:,} facts.")
    return facts


def _fault(predicate: str, arguments: Fact, things: dict[str, str], origin: str) -> GameError:
    kinds = PREDICATES.get(predicate)
    if kinds is None:
        hint = nearest(predicate, tuple(PREDICATES))
        return GameError(f"{origin}: {shown(predicate)} is not a predicate of the domain.{hint}")
    if len(arguments) != len(kinds):
        return GameError(f"{origin}: {predicate} takes one {' and one '.join(kinds)}, not {len(arguments)} things.")
    argument, kind = next(pair for pair in zip(arguments, kinds, strict=True) if things.get(pair[0]) != pair[1])
    return GameError(f"{origin}: {predicate} needs a declared {kind}, which {shown(argument)} is not.")


@cache
def _goal_pattern(form: GoalForm) -> re.Pattern[str]:
    """A pattern for the words of a goal, its types as groups; a type that is named again must be the same."""
    pattern: list[str] = []
    named: set[str] = set()
    for word in _TOKEN.findall(_GOALS[form]):
        if word not in _HOLES:
            pattern.append(re.escape(word.lower()))
        else:
            pattern.append(f"(?P={word})" if word in named else rf"(?P<{word}>\S+)")
            named.add(word)
    return re.compile(" ".join(pattern))


#: SHA-256 of the known domains and grammars (without the task sentence). The first of each is that of every published game; the
#: second is what alfworld 0.4.2 installs and writes into games. The grammars are equivalent. The domains differ in one thing:
#: in the first, anything called a sink cleans; in the second, only a basin does.
PUBLISHED_DOMAIN = "0af55e7f92d12b09d28515aa730e4d03fddd17228ef1fd7b18a3ee8ba49b27b9"
DOMAINS = (PUBLISHED_DOMAIN, "f1473041ed01da514de1f87adfd7ef0804862361f83ccf63c75e43633b0eb280")
GRAMMARS = (
    "10da93e13b58e1a6039723f5d4a59ceae7c60772515bfab9fc603bafa7f8ee06",
    "c294eb280206a4428664cdb4e2037e267e86de5b7fa862212718a961513a7de4",
)
MAX_FILE = 8_000_000  # bytes; published games have at most 140 kB
MAX_GOAL = 2_000
MAX_WALKTHROUGH = 10_000
PLACEHOLDER = "UNKNOWN GOAL."  # the goal sentence in the grammar that alfworld installs
_PERMANENT = ("openable", "pickupable", "heatable", "coolable", "cleanable", "sliceable", "toggleable")
NOWHERE = -1
NOTHING = -1


class State(NamedTuple):
    """Everything in a running game that can change. A named tuple, because each step makes one. Things are numbers of the
    ``Game``. ``contents`` holds a sorted tuple of objects for each receptacle and ``lying`` a set of objects for each place;
    the two can disagree, as they do in the published games. ``taken`` holds each (object, receptacle) where the object was
    taken out and not put back."""

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
    """The winning condition: one of six forms with the things that satisfy it. For ``light``, ``objects`` must be held and
    ``lamps`` be on."""

    form: GoalForm
    objects: frozenset[int]
    receptacles: tuple[int, ...]
    lamps: frozenset[int]


class GroundAction(NamedTuple):
    """The action of a command: a verb of the domain with its object and receptacle, by number."""

    verb: str
    object: int = NOTHING
    receptacle: int = NOWHERE


@dataclass(frozen=True, slots=True)
class Game:
    """The constant part of a game. Never mutated; safe to share between episodes and threads. ``objects`` and ``receptacles``
    are names by number; ``sentence`` is the goal as the player reads it. ``place_of`` is ``NOWHERE`` for a receptacle without a
    place; ``receptacles_at`` is its inverse. ``accepts`` are the types of object that each receptacle takes; nothing takes an
    object without a type. ``inside`` lists what movable receptacles show. ``always`` has the commands that do not depend on the
    state: the bare ones, and ``go to`` every receptacle that has a place. ``more`` are further goals of a house with chores:
    all must hold at once, each with things of its own."""

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
    always: Mapping[str, GroundAction]
    start: State
    walkthrough: tuple[str, ...] | None = None
    more: tuple[WinCondition, ...] = ()

    def condition(self, goal: Goal) -> WinCondition:
        """The condition that a goal states in this house; it need not be possible. A lamp's is none of these."""
        form: GoalForm = goal.treatment or ("two" if goal.count == 2 else "place")
        treated = {"clean": self.cleanable, "heat": self.heatable, "cool": self.coolable}.get(form, self.pickupable)
        things = (number for number, name in enumerate(self.objects) if kind(name) == goal.object)
        places = (number for number, name in enumerate(self.receptacles) if kind(name) == goal.receptacle)
        return WinCondition(form, treated.intersection(things), tuple(places), frozenset())


@dataclass(frozen=True, slots=True)
class GameFile:
    """The content of a game file, ``solvable`` if its makers solved it; a house of ours has no ``domain`` and ``grammar``."""

    problem: str
    sentence: str
    domain: str | None = None
    grammar: str | None = None
    solvable: bool = False
    walkthrough: tuple[str, ...] | None = None

    def game(self, origin: str, goal: str | None = None) -> Game:
        """The game; ``goal`` replaces its sentence, and ``origin`` names it in errors. Raises ``GameError``."""
        # The first domain lets plain sinks clean, not only basins.
        sinks_clean = self.domain is not None and sha256_of(self.domain) == PUBLISHED_DOMAIN
        sentence = self.sentence if goal is None else goal
        return parse_game(self.problem, sentence, origin, walkthrough=self.walkthrough, sinks_clean=sinks_clean)


def load_game(path: Path, goal: str | None = None) -> Game:
    """The game in a file; ``goal`` replaces its sentence (a person's wording of it), not what wins. Raises ``GameError``."""
    return read_game(path).game(unquoted(str(path), 400), goal)


def read_game(path: Path) -> GameFile:
    """Read a published game (``game.tw-pddl``) or one of our own houses (``*.json``). Raises ``GameError``."""
    origin = unquoted(str(path), 400)
    content = read_bounded(path, MAX_FILE, GameError, name=f"{origin}: the game")
    if path.suffix != ".json":
        return read_published(content, origin)
    data = _decode(content, origin)
    if set(data) != {"pddl_problem", "goal"}:
        keys = ", ".join(shown(key, 40) for key in sorted(data)[:8])
        raise GameError(f"{origin}: a house has exactly 'pddl_problem' and 'goal', not {keys or 'nothing'}.")
    return GameFile(_text(data, "pddl_problem", origin), _text(data, "goal", origin))


def read_published(content: bytes, origin: str, *, whole: bool = False) -> GameFile:
    """Read a published game with a known domain and grammar, and if ``whole`` check its problem too. Raises ``GameError``."""
    data = _decode(content, origin)
    problem, grammar, domain = (_text(data, key, origin) for key in ("pddl_problem", "grammar", "pddl_domain"))
    before, marker, rest = grammar.partition('"Your task is to: ')
    sentence, quote, after = rest.partition('"')
    update = (
        "Update with `housequest data download`, or with alfworld 0.4 or later and `alfworld-download`; "
        "the older `put X in/on Y` games are not played."
    )
    if '"put {o} in/on {r}"' in grammar:
        raise GameError(f"{origin}: this game uses the older grammar (`put X in/on Y`). {update}")
    if not quote or sha256_of(before + marker + quote + after) not in GRAMMARS:
        raise GameError(f"{origin}: its grammar is not known, so its texts may differ. {update}")
    if sha256_of(domain) not in DOMAINS:
        raise GameError(f"{origin}: its domain is not known, so its rules may differ. {update}")
    if re.search(r"[\\#{}\[\]|]", sentence):
        raise GameError(f"{origin}: its goal {shown(sentence)} would be read as grammar; write it in plain words.")
    steps: object = data.get("walkthrough")
    listed = cast("list[object]", steps) if isinstance(steps, list) else None
    bounded = listed is not None and len(listed) <= MAX_WALKTHROUGH and all(isinstance(step, str) for step in listed)
    if steps is not None and not bounded:
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


def numbered(problem: Problem) -> tuple[list[str], list[str], list[str]]:
    """The ids of the objects, receptacles and places of a game, in the order of its numbers."""
    kinds = ("object", "receptacle", "location")
    objects, receptacles, places = ([one for one in problem.mentioned() if problem.things[one] == kind] for kind in kinds)
    return objects, receptacles, places


class _Maker:
    """Turns a problem into a game: numbers the things, then groups the facts as the engine needs them."""

    def __init__(self, problem: Problem, origin: str) -> None:
        self.problem = problem
        self.origin = origin
        self.names = self._names(problem.mentioned())
        self.objects, self.receptacles, self.places = numbered(problem)
        every = (self.objects, self.receptacles, self.places)
        self.number = {thing: number for things in every for number, thing in enumerate(things)}
        self.object_types = self._one_each("objecttype")
        self.receptacle_types = self._one_each("receptacletype")

    def _names(self, mentioned: list[str]) -> dict[str, str]:
        """The name of each object and receptacle, numbered among those with its stem."""
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
        form, bound = self.problem.form, self.problem.types
        wanted = self._typed(self.object_types, bound["OBJECT"])
        if form in ("clean", "heat", "cool"):
            wanted &= self._all(f"{form}able")
        targets = self._typed(self.receptacle_types, bound.get("RECEPTACLE"))
        lamps = self._typed(self.object_types, bound.get("LAMP")) & self._all("toggleable")
        return Game(
            origin=self.origin,
            sentence=sentence,
            goal=WinCondition(form, wanted, tuple(sorted(targets)), lamps),
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
                **{
                    f"go to {names[r]}": GroundAction("go", receptacle=r)
                    for r, place in enumerate(place_of)
                    if place != NOWHERE
                },
                **{bare: GroundAction(bare) for bare in ("help", "inventory", "look")},
            },
            start=self._start(),
            walkthrough=walkthrough,
            more=(),
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
