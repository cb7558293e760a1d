"""Requests among players: the share of everyday wordings that are understood, and of requests that are carried out.

We wrote the wordings from the list of kinds alone, before the reader, and kept every third one of a kind aside while we made
the reader. Each is then played with the real engine: a scripted person says it to an agent in a house with chores, and then the
bench checks the state of the world and the answer. A silent wrong act is an act that nobody asked for, or a request left out,
without a word about it.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ruamel.yaml import YAML

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Act, Decision, Emitter, Grants, Turn
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event, Said, Stepped
from housequest.agent.episodes.together import Partner, run_together
from housequest.agent.models.registry import make_model
from housequest.agent.skills.language.requests import RequestKind
from housequest.agent.skills.language.sentences import Surroundings, Understood, read
from housequest.worlds.base import Observation, Task, World
from housequest.worlds.env import shared_house
from housequest.worlds.household.base import with_belief
from housequest.worlds.household.belief import kind
from housequest.worlds.registry import make_world
from housequest.worlds.shared import WAIT, Shared

REQUESTS = Path(__file__).parents[2] / "tests" / "agent" / "skills" / "language" / "requests.yaml"
KINDS: Mapping[str, tuple[RequestKind, ...]] = {
    "go_on": ("go on",),
    "found_what": ("report",),
    "stop": ("stop", "put_down"),
    "nothing": ("nothing", "chat", "thanks"),
    "thanks": ("thanks", "chat"),
}
"""The reader's names for kinds that it calls otherwise."""
_TREATED = {"hot": "heat", "cool": "cool", "clean": "clean"}
PERSON, AGENT = "Ann", "Bob"
AGENTS = ("expert", "builtin")


@dataclass(frozen=True, slots=True)
class Wording:
    """A wording of a kind, the names that it means by role, and True if it was kept aside."""

    kind: str
    said: str
    means: Mapping[str, str]
    held_out: bool


@cache
def wordings() -> tuple[Wording, ...]:
    """All wordings, in the order of the file."""
    read_file: Mapping[str, Sequence[str]] = YAML(typ="safe").load(REQUESTS.read_text("utf-8"))  # pyright: ignore[reportUnknownMemberType]
    found = list[Wording]()
    for name, lines in read_file.items():
        for number, line in enumerate(lines):
            said, _, means = line.partition(" | ")
            parts = re.split(r" (?=\w+=)", means) if means else []
            found.append(Wording(name, said, dict(part.split("=", 1) for part in parts), number % 3 == 2))
    return tuple(found)


def reads(one: Wording, reading: Understood) -> bool:
    """True if the reader understood a wording."""
    kinds = KINDS.get(one.kind, (one.kind,))
    if not reading.requests:
        questions = {"found_what": ("seen",), "where": ("where", "seen"), "intent": ("plan",), "left": ("left",)}
        if reading.question is not None:
            return reading.question.kind in questions.get(one.kind, ("can", "other") if one.kind == "nothing" else ())
        return one.kind in ("thanks", "nothing") and not (reading.acts or reading.look or reading.control or reading.avoid)
    if len(reading.requests) != 1 or (found := reading.requests[0]).kind not in kinds:
        return False
    means = one.means
    if one.kind == "split":
        return (found.places, found.theirs) == tuple((means[key],) if key in means else () for key in ("mine", "theirs"))
    return (
        found.thing in (means.get("thing", found.thing), "it")
        and found.places == ((means["place"],) if "place" in means else found.places)
        and (found.treatment == _TREATED[means["deed"]] if "deed" in means else True)
    )


def run(data: Path | None) -> Iterator[str]:
    """The figures, each a line."""
    for part in PARTS.values():
        yield from part(data)


def _read(data: Path | None) -> Iterator[str]:
    del data
    right, total = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    scene = opening(make_world("alfworld"), 62_001)
    missed = list[str]()
    for one in wordings():
        reading = read(one.said, scene, company=True)
        total[one.kind, one.held_out] += 1
        right[one.kind, one.held_out] += reads(one, reading)
        if not reads(one, reading):
            meant = ", ".join(each.kind for each in reading.requests) or "no request"
            missed.append(f'{one.kind}{" (held out)" if one.held_out else ""}: "{one.said}" is read as {meant}')
    for kept in (False, True):
        of = sum(number for (_, held), number in total.items() if held is kept)
        read_so = sum(number for (_, held), number in right.items() if held is kept)
        yield f"{'held out' if kept else 'developed on'}: {read_so} of {of} read rightly"
    for name in dict.fromkeys(name for name, _ in total):
        shown = (f"{right[name, kept]} of {total[name, kept]}" for kept in (False, True))
        yield f"{name}: {' and held out '.join(shown)}"
    yield from missed


def opening(world: World, seed: int) -> Surroundings:
    """A house with chores, at its beginning."""
    assert world.household is not None
    env = world.open(world.task(f"chores:{seed}"))
    seen = with_belief(world.household, env.reset().observation)
    assert seen.belief is not None
    return Surroundings(seen.belief, world.household, env.task.goal)


@dataclass
class Asker:
    """A person by a script: walks to a place, says something once ``when`` it is time, and waits, or walks on."""

    says: str
    place: str
    when: Callable[[Turn], bool] = lambda turn: turn.number >= 3
    before: Mapping[int, str] = field(default_factory=dict[int, str])
    walks: Mapping[int, str] = field(default_factory=dict[int, str])
    asked: int = 0
    name: str = "human"

    def begin(self, goal: str, observation: Observation, grants: Grants) -> None:
        del goal, observation, grants

    async def decide(self, memory: None, turn: Turn, emit: Emitter) -> tuple[Decision, None]:
        del memory, emit
        says = (self.before[turn.number],) if turn.number in self.before else ()
        if not self.asked and self.when(turn):
            self.asked, says = turn.number, (self.says,)
        walk = self.walks.get(turn.number - self.asked) if self.asked else None
        command = f"go to {self.place}" if turn.number == 1 else f"go to {walk}" if walk else WAIT
        return Act(command, says), None


@dataclass(frozen=True, slots=True)
class Deed:
    """A command that a player gave in a round."""

    round: int
    player: str
    command: str
    accepted: bool


@dataclass(frozen=True, slots=True)
class Afterwards:
    """The events of a game: commands ``before`` the request and ``after`` it, and the agent's words after it."""

    before: tuple[Deed, ...]
    after: tuple[Deed, ...]
    said: tuple[str, ...]

    @property
    def mine(self) -> list[str]:
        """The agent's accepted commands after the request."""
        return [one.command for one in self.after if one.player == AGENT and one.accepted]

    @property
    def refused(self) -> list[str]:
        """The agent's refused commands after the request."""
        return [one.command for one in self.after if one.player == AGENT and not one.accepted]

    @property
    def answer(self) -> str:
        """The agent's first words after the request, unless they are a report."""
        reports = re.compile(r"At the|Goal \d|I take the .* to the .*, for goal|I leave goal")
        return next((text for text in self.said if not reports.match(text)), "")


def game(
    world: World, task: Task, asker: Asker, agent: str = "expert", rounds: int = 30, seen: Callable[[Event], None] | None = None
) -> Afterwards:
    """Play a game of the scripted person and an agent."""
    players = (PERSON, AGENT)
    house: Shared = shared_house(world, task, players)
    deeds, said, asked = list[Deed](), list[str](), list[int]()

    def listen(event: Event | CallTiming) -> None:
        if not isinstance(event, Event):
            return
        if seen is not None:
            seen(event)
        if isinstance(event.body, Stepped):
            deeds.append(Deed(event.body.turn, event.player or "", event.body.command, event.body.accepted))
        if isinstance(event.body, Said) and event.player == AGENT and asked:
            said.append(event.body.text)
        if isinstance(event.body, Said) and event.player == PERSON and event.body.text == asker.says:
            asked.append(len(deeds))

    if agent == "builtin":
        helper = make_agent("reasoner-actor", world=world, model=make_model("builtin"))
    else:
        helper = make_agent(agent, world=world)
    partners = [Partner(PERSON, asker, EpisodeConfig(world, max_turns=rounds)), Partner(AGENT, helper, EpisodeConfig(world))]
    asyncio.run(run_together(house, partners, listen))
    house.close()
    at = asked[0] if asked else len(deeds)
    return Afterwards(tuple(deeds[:at]), tuple(deeds[at:]), tuple(said))


HOUSE, ANOTHER = 60_017, 60_046
"""A kitchen with chores about bread and none about bowls, forks and eggs; one with a bowl that is on no countertop."""
_STANDS = "shelf 1"


def _holds(turn: Turn) -> bool:
    others = turn.belief.others if turn.belief is not None else ()
    return any(one.name == AGENT and one.carried for one in others)


def asker(one: Wording) -> Asker:
    """The script of the person for a wording."""
    if one.kind in ("stop", "undo"):
        return Asker(one.said, _STANDS, _holds)
    if one.kind == "go_on":
        return Asker(one.said, _STANDS, lambda turn: turn.number >= 6, before={3: "wait"})
    walks = {2: "sinkbasin 1", 5: "countertop 1"} if one.kind == "follow" else {}
    return Asker(one.said, _STANDS, walks=walks)


def _takes(commands: Sequence[str], thing: str) -> list[str]:
    return [command for command in commands if command.startswith(f"take {thing} ")]


def _first(commands: Sequence[str], *parts: str) -> int:
    return next((at for at, command in enumerate(commands) if any(part in command for part in parts)), len(commands))


def _undone(after: Afterwards) -> bool:
    taken = [one.command for one in after.before if one.player == AGENT and one.command.startswith("take ")]
    match = re.fullmatch(r"take (.*) from (.*)", taken[-1]) if taken else None
    return match is not None and f"move {match[1]} to {match[2]}" in after.mine


def _brought(after: Afterwards, thing: str) -> bool:
    return any(re.fullmatch(rf"give {thing} \d+ to {PERSON}", command) for command in after.mine)


def _visits(after: Afterwards) -> list[str]:
    """The places that the agent goes to or opens, without those to which it brings something."""
    seen = list[str]()
    for at, command in enumerate(after.mine):
        visit = re.fullmatch(r"(?:go to|open) (.*)", command)
        if visit is not None and not any(
            one.endswith((f" to {visit[1]}", f" with {visit[1]}")) for one in after.mine[at + 1 : at + 3]
        ):
            seen.append(visit[1])
    return seen


def _divided(after: Afterwards, mine: str, theirs: str) -> bool:
    seen = _visits(after)
    theirs_at = _first(seen, f"{theirs} ") if theirs else len(seen)
    return _first(seen, f"{mine} ") < theirs_at if mine else theirs_at > 6


_DONE: Mapping[str, Callable[[Afterwards, Mapping[str, str]], bool]] = {
    "split": lambda after, means: _divided(after, means.get("mine", ""), means.get("theirs", "")),
    "keep": lambda after, _: not _takes(after.mine, "bread"),
    "hand": lambda after, _: _first_take(after) == "bread",
    "bring": lambda after, _: _brought(after, "bowl"),
    "move": lambda after, _: any(re.fullmatch(r"move bowl \d+ to countertop \d+", one) for one in after.mine),
    "stay": lambda after, _: "go to sinkbasin 1" in after.mine and set(after.mine[-10:]) == {WAIT},
    "stop": lambda after, _: set(after.mine[1:4]) <= {WAIT} or after.mine[0].startswith("move "),
    "wait": lambda after, _: set(after.mine[:3]) == {WAIT},
    "go_on": lambda after, _: WAIT not in after.mine[:3],
    "come": lambda after, _: f"go to {_STANDS}" in after.mine[:2],
    "found_what": lambda after, _: " in " in after.answer,
    "where": lambda after, _: bool(after.answer),
    "intent": lambda after, _: bool(after.answer),
    "left": lambda after, _: after.answer.startswith("Left: "),
    "been": lambda after, means: not any(one.startswith(means["place"]) for one in _visits(after)[:6]),
    "found": lambda after, _: _first(after.mine, "go to drawer 2") < _first(after.mine, "go to drawer 1", "go to drawer 3"),
    "done": lambda after, _: not _takes(after.mine, "bread"),
    "undo": lambda after, _: _undone(after),
    "follow": lambda after, _: _first(after.mine, "go to sinkbasin 1") < _first(after.mine, "go to countertop 1") <= 8,
    "treat": lambda after, means: (
        any(one.startswith(f"{_TREATED[means['deed']]} {means['thing']} ") for one in after.mine)
        and _brought(after, means["thing"])
    ),
    "thanks": lambda after, _: bool(after.answer),
    "nothing": lambda after, _: not _takes(after.mine, "bowl"),
}
"""For each kind, true if the request was carried out."""


def _first_take(after: Afterwards) -> str:
    return next((kind(re.split(r" from ", one[5:])[0]) for one in after.mine if one.startswith("take ")), "")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A played wording: was it carried out, was it answered, and was something else done without a word about it?"""

    wording: Wording
    done: bool
    answer: str
    silent: bool
    refused: tuple[str, ...]


def played(world: World, one: Wording, agent: str = "expert", rounds: int | None = None) -> Outcome:
    """Say a wording to an agent in a house with chores, and check the result."""
    task = world.task(f"chores:{ANOTHER if one.kind == 'move' else HOUSE}")
    after = game(world, task, asker(one), agent, rounds or (45 if agent == "builtin" else 30))
    done = bool(after.answer or one.kind in ("nothing", "thanks")) and _DONE[one.kind](after, one.means)
    return Outcome(one, done, after.answer, not done and not after.answer, tuple(after.refused))


def _played(data: Path | None) -> Iterator[str]:
    del data
    world = make_world("alfworld")
    for agent in AGENTS:
        some = [one for one in wordings() if agent == "expert" or one in _two_each()]
        outcomes = [played(world, one, agent) for one in some]
        by_kind = defaultdict[str, list[Outcome]](list)
        for outcome in outcomes:
            by_kind[outcome.wording.kind].append(outcome)
        for name, group in by_kind.items():
            yield f"{agent}, {name}: {sum(one.done for one in group)} of {len(group)} done"
        whole = [name for name, group in by_kind.items() if all(one.done for one in group[:2])]
        asked = [name for name in by_kind if name not in ("thanks", "nothing")]
        yield f"{agent}: both first wordings done in {sum(name in whole for name in asked)} of {len(asked)} kinds (at least 18)"
        yield f"{agent}: {sum(one.silent for one in outcomes)} silent wrong acts (wanted: 0)"
        yield from (f'{agent}: "{one.wording.said}" not done; it said: {one.answer}' for one in outcomes if not one.done)


def _two_each() -> list[Wording]:
    count = Counter[str]()
    found = list[Wording]()
    for one in wordings():
        count[one.kind] += 1
        found += [one] if count[one.kind] <= 2 else []
    return found


PARTS: Mapping[str, Callable[[Path | None], Iterator[str]]] = {"read": _read, "played": _played}
