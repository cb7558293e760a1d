"""ALFWorld's texts as a `housequest.worlds.household.base.Household`: observations and goal sentences read into its values.

Only the agent changes a house, so what was seen stays true until a command undoes it. Two oddities: an object may be in two
receptacles at once, so taking it from one says nothing about the other; and examining a movable receptacle shows its contents
but not whether it is hot or clean.

A published game states its goal in one of twelve wordings, two per task type, which ``read_goal`` reads. For free English,
``guess_goal`` looks for names of things and verbs, and returns None if something is missing or ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

from housequest.worlds.base import Observation
from housequest.worlds.household import goals
from housequest.worlds.household.base import Commands, Household, Terms
from housequest.worlds.household.belief import MAX_TEXT, NAME, Belief, BeliefBuilder, Heat, Openness, Receptacle, names
from housequest.worlds.household.counts import Counts, read_counts
from housequest.worlds.household.goals import TASK_TYPES, TYPES, Goal, Skill, Topic, Treatment

REFUSAL = "Nothing happens."
MAX_NAMES = 1_000
MAX_PAIRS = 100_000
_MAX_COMMAND = 1_000
_MAX_SENTENCE = 1_000


def refused(observation: Observation) -> bool:
    """True if the world did not take the command."""
    return not observation.accepted or observation.text.strip() == REFUSAL


def begin(opening: Observation) -> Belief:
    """The belief after the opening text, but for the goal sentence, which is no observation: receptacles, and a free hand."""
    text = opening.text[:MAX_TEXT].partition("Your task is to:")[0]
    # Matched at the first place of each phrase: a regex search would try every place and take quadratic time.
    found = _ROOM.match(text, max(0, text.find("Looking quickly")))
    listed = _names(found["list"]) if found else ()
    reading = _Reading(Belief(receptacles=tuple(Receptacle(name, place=name) for name in listed)))
    if faced := _FACING.match(text, max(0, text.find("You are facing"))):
        reading.facing(faced)
    return reading.belief()


def update(belief: Belief, command: str, observation: Observation) -> Belief:
    """The belief after ``command`` was answered with ``observation``; any text at all gives a belief. The facts come from the
    text, not from the command. Only a refused ``go to`` is read from the command: among existing receptacles, the game refuses
    only those at the agent's location."""
    reading = _Reading(belief)
    if refused(observation):
        verb, _, name = command.strip().partition("go to ")
        if verb or belief.at is None or belief.receptacle(name) is None:
            return belief
        reading.here(name)
        return reading.belief()
    text = observation.text[:MAX_TEXT].strip()
    for pattern, read in _READERS:
        if found := pattern.match(text):
            read(reading, found)
            return reading.belief()
    return belief


_OLDER = re.compile(r"put (?P<object>[^ ]+ [0-9]+) (?:in/on|into|onto|in|on|to) (?P<receptacle>[^ ]+ [0-9]+)")


def canonical(command: str) -> str:
    """``put X in Y`` (also ``on``, ``in/on``), the form of older games, as ``move X to Y``; other commands unchanged."""
    found = _OLDER.fullmatch(command.strip()) if len(command) <= _MAX_COMMAND else None
    return f"move {found['object']} to {found['receptacle']}" if found else command


_LIST = r"(?P<list>[^.\n]*)"
_ROOM = re.compile(rf"Looking quickly around you, you see {_LIST}\.")
_FACING = re.compile(rf"You are facing the (?P<faced>[^.\n]*)\. Next to it, you see {_LIST}\.")
_VIEW = re.compile(
    rf"On the (?P<surface>{NAME}), you see (?P<on>[^.\n]*)\.|"
    rf"The (?P<open>{NAME}) is open\. In it, you see (?P<inside>[^.\n]*)\.|"
    rf"The (?P<closed>{NAME}) is closed\.",
    re.ASCII,
)


def _names(text: str) -> tuple[str, ...]:
    return names(text)[:MAX_NAMES]


class _Reading(BeliefBuilder):
    """A belief in the making, with a method for each form of text that says more than one thing."""

    def facing(self, found: re.Match[str]) -> None:
        self.here(*_names(found["faced"]))
        self.beside = _names(found["list"])
        self._see(self.beside)
        # A look lists everything at the location.
        here = self._around()
        self._part(here, [name for name in self.places if name not in here])

    def arrive(self, found: re.Match[str]) -> None:
        name, left = found["place"], self._around()
        if name in left:
            left = []
        elif left:
            self.beside = ()
        self.at = None
        self.here(name)
        # The game refuses a `go to` within a location.
        self._part(left, self._around())
        self.view(found["rest"])

    def middle(self, _: re.Match[str]) -> None:
        self.at, self.beside = None, ()

    def opened(self, found: re.Match[str]) -> None:
        self._stand(found["place"], "open" if found["how"] == "open" else "closed")
        self.view(found["rest"])

    def view(self, text: str) -> None:
        """Read the contents of a receptacle, as in "On the desk 1, you see a pen 1."."""
        found = _VIEW.match(text)
        if found is None:
            return
        if name := found["closed"]:
            self._stand(name, "closed")
            return
        name = found["surface"] or found["open"]
        contents = _names(found["on"] if found["surface"] else found["inside"])
        self._stand(name, "surface" if found["surface"] else "open")
        self._see(contents, where=name)
        self.change(name, contents=contents)

    def took(self, found: re.Match[str]) -> None:
        name, source = found["item"], found["place"]
        self.here(source)
        if (contents := self.places[source].contents) is not None:
            self.change(source, contents=tuple(one for one in contents if one != name))
        self.beside = tuple(one for one in self.beside if one != name)
        self.hold(name)

    def moved(self, found: re.Match[str]) -> None:
        name, target = found["item"], found["place"]
        self.here(target)
        self.learn(name, where=target)
        contents = self.places[target].contents
        if contents is not None and name not in contents:
            self.change(target, contents=(*contents, name))
        self.carried = ()

    def gave(self, found: re.Match[str]) -> None:
        self.carried = ()
        self.learn(found["item"], where=None)

    def carrying(self, found: re.Match[str]) -> None:
        self.carried = ()
        self.hold(*_names(found["list"])[:1])

    def treated(self, found: re.Match[str]) -> None:
        known = {"clean": {"clean": True}, "heat": {"heat": "hot"}, "cool": {"heat": "cool"}}[found["verb"]]
        self.here(found["place"])
        self.learn(found["item"], **known)

    def switched(self, found: re.Match[str]) -> None:
        self.learn(found["item"], lit=found["state"] == "on")

    def examined(self, found: re.Match[str]) -> None:
        """Read a description; an adjective that it leaves out does not apply."""
        words = set(found["words"].split())
        heat: Heat = "hot" if "hot" in words else "cool" if words & {"cool", "cold"} else "neither"
        self.learn(found["item"], clean="clean" in words, heat=heat, sliced="sliced" in words)

    def holding(self, found: re.Match[str]) -> None:
        inside = _names(found["list"])
        self.learn(found["item"], inside=inside)
        self._see(inside)

    def here(self, *names: str) -> None:
        """Record that the receptacles of these names are at the agent's location, with all others there."""
        if self.at not in self.places:
            self.at = next(iter(names), None)
        for name in names:
            self.places.setdefault(name, Receptacle(name, place=name))
        together = {one.place for one in self.places.values() if one.name == self.at or one.name in names}
        for one in [one for one in self.places.values() if one.place in together]:
            self.change(one.name, place=min(together), visited=True)

    def _stand(self, name: str, openness: Openness) -> None:
        """Record the openness of a receptacle at which the agent stands."""
        self.here(name)
        self.change(name, openness=openness)

    def _around(self) -> list[str]:
        """The receptacles known to be at the agent's location."""
        standing = self.places.get(self.at or "")
        return [] if standing is None else [name for name, one in self.places.items() if one.place == standing.place]

    def _see(self, names: Iterable[str], **where: str) -> None:
        for name in names:
            self.learn(name, **where)

    def _part(self, some: Collection[str], others: Collection[str]) -> None:
        """Record that none of ``some`` shares a location with any of ``others``; real houses stay below ``MAX_PAIRS``."""
        if len(some) * len(others) + len(self.apart) <= MAX_PAIRS:
            pairs = {pair for one in some for other in others for pair in ((one, other), (other, one))}
            self.apart = self.apart if pairs <= self.apart else self.apart | pairs


_ITEM, _PLACE = rf"(?P<item>{NAME})", rf"(?P<place>{NAME})"
_FORMS: tuple[tuple[str, Callable[[_Reading, re.Match[str]], None]], ...] = (
    (rf"You arrive at {_PLACE}\. ?(?P<rest>.*)", _Reading.arrive),
    (rf"You (?P<how>open|close) the {_PLACE}\. ?(?P<rest>.*)", _Reading.opened),
    (rf"You pick up the {_ITEM} from the {_PLACE}\.", _Reading.took),
    (rf"You move the {_ITEM} to the {_PLACE}\.", _Reading.moved),
    (rf"You give the {_ITEM} to ", _Reading.gave),
    (r"You are in the middle of a room\.", _Reading.middle),
    (_FACING.pattern, _Reading.facing),
    (rf"You are carrying: {_LIST}\.", _Reading.carrying),
    (r"You are not carrying (?P<list>anything)\.", _Reading.carrying),
    (rf"You (?P<verb>heat|cool|clean) the {_ITEM} using the {_PLACE}\.", _Reading.treated),
    (rf"You sliced the {_ITEM} with the {NAME}\.", lambda reading, found: reading.learn(found["item"], sliced=True)),
    (rf"You turn (?P<state>on|off) the {_ITEM}\.", _Reading.switched),
    (rf"This {_ITEM} is (?P<state>on|off)\.", _Reading.switched),
    (rf"This is a normal {_ITEM}\. In it, you see {_LIST}\.", _Reading.holding),
    (rf"This is a (?P<words>(?:(?:hot|cool|cold|clean|sliced|and) ){{1,5}}){_ITEM}\.", _Reading.examined),
    # `sliced` stays unknown: the game says it only of what can be sliced.
    (
        rf"There's nothing special about {_ITEM}\.",
        lambda reading, found: reading.learn(found["item"], clean=False, heat="neither"),
    ),
    (_VIEW.pattern, lambda reading, found: reading.view(found[0])),
)
_READERS = [(re.compile(pattern, re.ASCII), read) for pattern, read in _FORMS]
_OBJECT, _RECEPTACLE, _LAMP = (rf"(?P<{part}>[A-Za-z][\w-]{{0,59}})" for part in ("object", "receptacle", "lamp"))
_WORDINGS = {
    TYPES["place"]: (rf"put a {_OBJECT} in {_RECEPTACLE}", rf"put some {_OBJECT} on {_RECEPTACLE}"),
    TYPES["light"]: (rf"look at {_OBJECT} under the {_LAMP}", rf"examine the {_OBJECT} with the {_LAMP}"),
    TYPES["two"]: (rf"put two {_OBJECT} in {_RECEPTACLE}", rf"find two {_OBJECT} and put them in {_RECEPTACLE}"),
    **{
        TYPES[treatment]: (
            rf"put a {adjective} {_OBJECT} in {_RECEPTACLE}",
            rf"{treatment} some {_OBJECT} and put it in {_RECEPTACLE}",
        )
        for treatment, adjective in goals.ADJECTIVES.items()
    },
}


def read_goal(sentence: str) -> Goal | None:
    """The goal that a template sentence states, with or without "Your task is to:"; None for any other wording."""
    bare = sentence[:_MAX_SENTENCE].strip().removeprefix("Your task is to:").strip().removesuffix(".").rstrip()
    for task_type in TASK_TYPES:
        for wording in _WORDINGS[task_type]:
            if found := re.fullmatch(wording, bare, re.ASCII):
                return Goal(task_type, **found.groupdict(), count=2 if task_type == TYPES["two"] else 1)
    return None


_NEXT_CLAUSE = re.compile(r",\s+(?:and\s+)?")


def read_goals(sentence: str) -> tuple[Goal, ...]:
    """The goals of chores, from a sentence of several clauses between commas, each in one of the twelve wordings; or the only
    goal of another one. None for any other wording."""
    bare = sentence[:_MAX_SENTENCE].strip().removeprefix("Your task is to:").strip()
    read = [read_goal(clause) for clause in _NEXT_CLAUSE.split(bare)]
    return () if None in read else tuple(goal for goal in read if goal is not None)


def chores_sentence(several: Sequence[Goal]) -> str:
    """The sentence that states the goals of chores."""
    *most, last = (goal_sentences(goal)[0].removesuffix(".") for goal in several)
    return f"{', '.join(most)}, and {last}." if most else f"{last}."


def goal_sentences(goal: Goal) -> tuple[str, str]:
    """The two sentences that state ``goal`` in the published games."""
    first, second = _WORDINGS[goal.type]
    for hole, name in ((_OBJECT, goal.object), (_RECEPTACLE, goal.receptacle or ""), (_LAMP, goal.lamp or "")):
        first, second = first.replace(hole, name), second.replace(hole, name)
    return f"{first}.", f"{second}."


_DOING: dict[Treatment, str] = {
    "clean": "clean cleaned rinse rinsed rinsing wash washed washing wet",
    "heat": "cook cooked heat heated heating hot microwaved warm warmed",
    "cool": "chill chilled chilling cold cool cooled cooling refrigerated",
}
_BOTH = {"two", "2", "both", "pair"}
_AWAY = {"from", "off", "of"}
_PARTS = {"top", "back", "inside", "middle", "bottom", "center", "edge", "corner"}
_ARTICLES = {"the", "a", "an"}
_LAMPS = {"desklamp", "floorlamp"}


def guess_goal(sentence: str, *, objects: Sequence[str], receptacles: Sequence[str]) -> Goal | None:
    """The goal that a free sentence most likely means, to be marked as a guess; None if it is unclear."""
    words = re.findall(r"[a-z]+|[0-9]+", sentence[:_MAX_SENTENCE].lower())
    doing: list[Treatment] = [treatment for treatment, verbs in _DOING.items() if not set(verbs.split()).isdisjoint(words)]
    treatment = doing[0] if doing else None
    portable = set(objects).difference(receptacles, _LAMPS, goals.SYNONYMS)
    named = _named(words, portable.union(receptacles, _LAMPS), receptacles)
    things, lamps, places = ({name for name, _ in named if name in of} for of in (portable, _LAMPS, receptacles))
    if len(things) != 1 or len(doing) > 1:
        return None
    (thing,) = things
    if lamps:
        return Goal(TYPES["light"], thing, lamp=lamps.pop()) if len(lamps) == 1 and not treatment else None
    if treatment and len(places) > 1:
        places.discard(goals.APPLIANCES[treatment])
    two = not _BOTH.isdisjoint(words) or (thing, True) in named
    if len(places) != 1 or (two and treatment):
        return None
    task_type = TYPES[treatment] if treatment else TYPES["two"] if two else TYPES["place"]
    return Goal(task_type, thing, places.pop(), count=2 if two else 1)


def _named(words: Sequence[str], kinds: Collection[str], receptacles: Sequence[str]) -> list[tuple[str, bool]]:
    """The things that ``words`` name, in up to three words each, and True for a plural; things to take something from are left
    out."""
    tables = [name for name in receptacles if name.endswith("table")]
    known = {name: name for name in kinds} | goals.SYNONYMS | ({"table": tables[0]} if len(tables) == 1 else {})
    found: list[tuple[str, bool]] = []
    position = 0
    while position < len(words):
        for size in (3, 2, 1):
            joined = "".join(words[position : position + size])
            form = next((form for form in (joined, joined.removesuffix("s"), joined.removesuffix("es")) if form in known), None)
            if form is None or known[form] not in kinds:
                continue
            before = [word for word in words[max(0, position - 5) : position] if word not in _ARTICLES]
            if before[-1:] == ["of"] and not _PARTS.isdisjoint(before[-2:]):
                before = before[:-2]
            if _AWAY.isdisjoint(before[-1:]) or known[form] not in receptacles:
                found.append((known[form], form != joined))
            position += size - 1
            break
        position += 1
    return found


COUNTS_FILE = Path(__file__).with_name("counts.json")  # the table of counts that ships; ``scripts/count_locations.py`` makes it


def load_counts(path: Path | None = None) -> Counts:
    """The counts of where things are in the games of ``train``: the shipped table, or the one at ``path``. Raises
    ``KnowledgeError``."""
    return _shipped_counts() if path is None else read_counts(path)


_shipped_counts = cache(lambda: read_counts(COUNTS_FILE))
COMMANDS = Commands.read(Path(__file__).with_name("commands.json"))


class _AlfworldHousehold(Household):
    task_types: tuple[str, ...] = TASK_TYPES
    commands = COMMANDS
    terms = Terms()

    def begin(self, opening: Observation, /) -> Belief:
        return begin(opening)

    def update(self, belief: Belief, command: str, observation: Observation, /) -> Belief:
        return update(belief, command, observation)

    def refused(self, observation: Observation, /) -> bool:
        return refused(observation)

    def canonical(self, command: str, /) -> str:
        return canonical(command)

    def counts(self, path: Path | None = None, /) -> Counts:
        return load_counts(path)

    def read_goal(self, sentence: str, receptacles: Sequence[str] | None = None, /) -> Goal | None:
        read = read_goal(sentence)
        if read is not None or receptacles is None:
            return read
        return guess_goal(sentence, objects=load_counts().objects(), receptacles=receptacles)

    def read_goals(self, sentence: str, receptacles: Sequence[str] | None = None, /) -> tuple[Goal, ...]:
        return read_goals(sentence) or super().read_goals(sentence, receptacles)

    def steps(self, sentence: str, /) -> tuple[Skill, ...] | None:
        return tuple(step for goal in read_goals(sentence) for step in goal.steps()) or None

    def topic(self, sentence: str, receptacles: Sequence[str] | None = None, /) -> Topic | None:
        several = self.read_goals(sentence, receptacles)
        if not several:
            return None
        named = frozenset(name.lower() for goal in several for name in (goal.object, goal.receptacle, goal.lamp) if name)
        needed = frozenset(goals.APPLIANCES[goal.treatment] for goal in several if goal.treatment)
        return Topic(several[0].type if len(several) == 1 else goals.CHORES, named, needed)


HOUSEHOLD: Household = _AlfworldHousehold()
