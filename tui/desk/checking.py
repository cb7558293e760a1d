"""Rules checked against recorded play, in a thread: reports progress and can be cancelled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event as Flag
from time import monotonic
from typing import get_args

from housequest.agent.episodes.moments import EpisodeFile, OtherWorld, episode_files, moments
from housequest.agent.episodes.record import read_episode
from housequest.knowledge.judging import Moment, RuleFinding, examine
from housequest.knowledge.mining import Location, Sightings
from housequest.knowledge.rules import Rule, Standing
from housequest.tui.text import plural
from housequest.worlds.errors import ConfigurationError

OFTEN = 0.1
"""Seconds between two reports of progress."""


@dataclass(slots=True)
class CheckProgress:
    """How far a check is, in ``episodes`` and commands, and which records were damaged or (``others``) of other worlds."""

    episodes: int
    read: int = 0
    commands: int = 0
    damaged: list[str] = field(default_factory=list[str])
    others: int = 0

    def __str__(self) -> str:
        return f"{self.read:,} of {self.episodes:,} episodes, {self.commands:,} commands"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The result of a check; ``findings`` are in the order of the rules, ``records`` were read, each as run/task.

    ``seen``: for rules about where a thing lies that have no check, by their ids, where it was seen to lie.
    """

    findings: tuple[RuleFinding, ...]
    progress: CheckProgress
    records: frozenset[str] = frozenset()
    seen: Mapping[str, Location] = field(default_factory=dict[str, Location])

    def __str__(self) -> str:
        standings: tuple[Standing, ...] = get_args(Standing)
        found = [finding.standing for finding in self.findings if finding.rule.check]
        counts = ", ".join(f"{found.count(each)} {each}" for each in standings)
        counts += f", {len(self.seen)} counted" if self.seen else ""
        damaged, others = len(self.progress.damaged), self.progress.others
        left = f"; {plural(damaged, 'damaged record')} left out" if damaged else ""
        left += f"; {plural(others, 'record')} of other worlds left out" if others else ""
        played = f"{plural(self.progress.commands, 'command')} of {plural(self.progress.episodes, 'episode')}"
        return f"{counts}; {played}{left}"


def located(rule: Rule) -> str:
    """The kind of thing whose place ``rule`` states without a check, so that it can be counted anew; empty for other rules."""
    return rule.objects[0] if rule.kind == "location" and rule.check is None and len(rule.objects) == 1 else ""


class RuleCheck:
    """One pass over all records under ``places`` for ``rules`` about ``world``; ``report`` is called in its thread."""

    def __init__(
        self,
        rules: Sequence[Rule],
        places: Callable[[], Sequence[Path]],
        report: Callable[[CheckProgress], object] | None = None,
        world: str | None = None,
    ) -> None:
        self._rules = rules
        self._world = world
        self._places = places
        self._report = report
        self._off = Flag()

    def call_off(self) -> None:
        """Cancel it at the next command."""
        self._off.set()

    def run(self) -> CheckOutcome | None:
        """The result; None if it was cancelled. Raises ``ConfigurationError`` where nothing is recorded."""
        found = episode_files(self._places())
        if not found:
            raise ConfigurationError(
                "Nothing was recorded yet that rules could be checked against; play, or run `housequest eval`."
            )
        progress, sightings = CheckProgress(len(found)), Sightings()

        def watched() -> Iterator[Moment]:
            for moment in self._moments(found, progress):
                sightings.add(moment)
                yield moment

        findings = examine(self._rules, watched())
        lying = {each.thing: each for each in sightings.locations()}
        seen = {rule.id: lying[thing] for rule in self._rules if (thing := located(rule)) in lying}
        records = frozenset(f"{record.run}/{record.task}" for record in found)
        return None if self._off.is_set() else CheckOutcome(findings, progress, records, seen)

    def _moments(self, found: Sequence[EpisodeFile], progress: CheckProgress) -> Iterator[Moment]:
        reported = 0.0
        for record in found:
            if self._report is not None and monotonic() - reported >= OFTEN:
                self._report(replace(progress))
                reported = monotonic()
            try:
                for moment in moments(read_episode(record.path), record.run, record.task, self._world):
                    if self._off.is_set():
                        return
                    progress.commands += 1
                    yield moment
            except OtherWorld:
                progress.others += 1
            except ConfigurationError as error:
                progress.damaged.append(str(error))
            progress.read += 1
