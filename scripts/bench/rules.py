"""Rules: whether recorded play separates true from false ones, and how long checking a hundred takes.

The play is random walks through made-up houses. Known rules are 40 true and 40 false ones, written by hand.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from housequest.agent.episodes.events import Ended, Event, Started, Stepped
from housequest.agent.episodes.moments import recorded_moments
from housequest.agent.episodes.record import EpisodeRecorder
from housequest.knowledge.judging import examine
from housequest.knowledge.rulebook import read_book
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.paths import FORMAT
from scripts.walks import Trajectory, moments_of, walk

KNOWN = Path(__file__).parents[2] / "tests" / "knowledge" / "known_rules.yaml"
HOUSES = 400
STEPS = 250
RULES = 100


def run(data: Path | None) -> list[str]:
    """Check the known rules and a hundred rules over ``HOUSES * STEPS`` commands. Lines to print."""
    del data
    known = read_book(KNOWN).rules
    walks = [walk(seed, STEPS) for seed in range(HOUSES)]
    commands = sum(len(each.transitions) for each in walks)

    # The known rules, some of them repeated under other ids.
    again = [replace(rule, id=f"again-{rule.id}") for rule in known[: RULES - len(known)]]
    hundred = [*known, *again]
    began = time.perf_counter()
    moments = (moment for number, each in enumerate(walks) for moment in moments_of(each, HOUSEHOLD, f"walks/{number}"))
    findings = examine(hundred, moments)[: len(known)]
    seconds = time.perf_counter() - began

    with TemporaryDirectory() as folder:
        for number, each in enumerate(walks):
            _record(each, Path(folder) / "episodes" / f"{number:04d}.jsonl")
        began = time.perf_counter()
        examine(hundred, recorded_moments([Path(folder)]))
        with_files = time.perf_counter() - began

    decided = [each for each in findings if each.standing != "undecided"]
    right = [each for each in decided if (each.standing == "supported") == (each.rule.status == "accepted")]
    wrong = [each.rule.id for each in decided if each not in right]
    undecided = [each.rule.id for each in findings if each.standing == "undecided"]
    return [
        f"{len(right)} of {len(decided)} decided rules are decided rightly (wanted: all){_named('; wrong', wrong)}",
        f"{len(undecided)} of {len(findings)} undecided{_named('', undecided)}",
        f"{len(hundred)} rules over {commands:,} commands in {seconds:.1f} s, with beliefs (wanted: under 10)",
        f"the same read from {len(walks)} records in {with_files:.1f} s (wanted: under 10)",
    ]


def _named(before: str, names: list[str]) -> str:
    return f"{before}: {', '.join(names)}" if names else ""


def _record(trajectory: Trajectory, path: Path) -> None:
    """A record of ``trajectory``, as of an episode."""
    start = Started(
        world="alfworld", engine="native", task=f"generated/{path.stem}", split="generated", number=0, type="",
        goal=trajectory.goal, wording="template", agent="walk", max_turns=STEPS, seed=0, opening=trajectory.opening.text,
        format=FORMAT,
    )  # fmt: skip
    steps = (
        Stepped(turn=turn, command=each.command, observation=each.observation.text, accepted=each.observation.accepted)
        for turn, each in enumerate(trajectory.transitions, 1)
    )
    end = Ended(outcome="lost", reason="the walk is over", turns=STEPS, steps=STEPS, refused=0)
    with EpisodeRecorder(path) as recorder:
        for number, body in enumerate((start, *steps, end)):
            recorder(Event(id=number, parent=number - 1 if number else None, body=body))
