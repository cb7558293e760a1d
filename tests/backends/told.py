"""Rules and past days as a prompt tells them, read as somebody who believes every word would."""

from __future__ import annotations

import re
from collections.abc import Iterator

from housequest.agent.skills.searching import ToldPrior
from housequest.knowledge.judging import Moment
from housequest.knowledge.mining import Mined, Sightings
from housequest.knowledge.rules import Rule
from housequest.knowledge.sentences import read_kept, read_looked, read_sentence
from housequest.worlds.alfworld.text import HOUSEHOLD, load_counts
from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief
from tests.backends.prompts import REFUSED, said_by
from tests.backends.server import Messages

_KNOWN = re.compile(r"^What is known about this world:\n((?:- .+(?:\n|$))+)", re.MULTILINE)
_LAST_SEEN = re.compile(r"The last time that an? (\S+) was seen, on day \d+, it was in \S+ \d+\.")
_DAY = re.compile(r"Day (\d+)(?:, continued)?: .*")
_STEP = re.compile(r"> ([^:>]+): ([^>]*?)(?= The day was |$| >)")


def statements(messages: Messages) -> tuple[str, ...]:
    """All that the conversation says is known about the world."""
    found = (block for said in said_by(messages, "user") for block in _KNOWN.findall(said))
    return tuple(line.removeprefix("- ") for block in found for line in block.splitlines())


def prior(said: tuple[str, ...], opening: Belief) -> ToldPrior | None:
    """The chances of finding things by what was ``said``; None if it says nothing of places."""
    rules = (*_rules(said), *_of_days(said, opening))
    return ToldPrior(load_counts(), load_counts(), rules, opening) if rules else None


def _rules(said: tuple[str, ...]) -> Iterator[Rule]:
    for statement in said:
        if (location := read_sentence(statement)) is not None:
            at_home = location.places[0].looks > 0
            yield Rule("", statement, "location", objects=(location.thing,), scope="household" if at_home else "world")
        elif (kept := read_kept(statement)) is not None:
            yield Rule("", statement, "location", objects=tuple(kept.shares), scope="household")
        elif (last := _LAST_SEEN.fullmatch(statement)) is not None:
            yield Rule("", statement, "location", objects=(last[1],), scope="household")
        elif read_looked(statement):
            yield Rule("", statement, "location", scope="household")


def _of_days(said: tuple[str, ...], opening: Belief) -> tuple[Rule, ...]:
    """The rules of somebody who counts over the past days that are told as they were."""
    seen, days = Sightings(by_name=True), dict[str, list[tuple[str, str]]]()
    for found in filter(None, map(_DAY.fullmatch, said)):
        days.setdefault(found[1], []).extend(_STEP.findall(found[0]))
    for day, steps in days.items():
        before = opening
        for at, (command, answer) in enumerate(steps):
            told = Observation(answer, accepted=REFUSED.fullmatch(answer) is None)
            after = HOUSEHOLD.update(before, command, told)
            seen.add(Moment(f"{day}/{at}", day, before, command, told, after, not told.accepted))
            before = after
    return Mined(tuple(seen.locations()), scope="household", looked=seen.looks).rules("days") if days else ()
