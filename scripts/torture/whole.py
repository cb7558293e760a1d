"""Undisturbed runs, and what another run's folder has lost, doubled or miscounted beside one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from scripts.torture.endpoint import Endpoint
from scripts.torture.program import Program

Fault = Literal["lost", "doubled", "miscounted", "paid twice", "hung", "grown", "wrong class", "outside"]
"""What went wrong. Outside: a file outside the run's folder was changed, or somebody was told a key."""

Found = tuple[Fault, str]

BOOK = "book.yaml"
"""The rulebook that an exploration writes, beside its folder."""

PROMISED = ("run.json", "index.jsonl", "explore.json", "report.json", f"../{BOOK}")
"""What is equal byte for byte, beside the episodes, where there is such a thing."""

SERIES = "sweep.json"
"""The file of a series, which lists its runs."""

LARGEST = 16 << 20


@dataclass(frozen=True)
class Play:
    """What is played. Equal ones are equal byte for byte, whatever the workers and the endpoint's port."""

    agent: str
    tasks: int
    turns: int
    explored: bool = False
    """Whether a model also writes a rulebook from what the agent did."""
    more: tuple[str, ...] = ()
    """Further flags, such as those of a series."""
    probed: bool = False
    """Whether the endpoint is asked at each start what it can do."""

    @property
    def asks(self) -> bool:
        """Whether it calls a model."""
        return self.explored or self.agent != "expert"

    def arguments(self, out: str, workers: int, endpoint: Endpoint | None = None, timeout: float = 60.0) -> tuple[str, ...]:
        """The command that plays it into ``out``."""
        if self.explored and endpoint is not None:
            size = ("--split", "generated", "--episodes", str(self.tasks), "--max-steps", str(self.turns), "--chunk-steps", "8")
            distiller = ("--distiller", endpoint.model, "--into", BOOK, "--accept", "filter")
            return ("explore", "--agent", self.agent, *distiller, *size, "--concurrency", str(workers), "--out", out, "--json")
        size = ("--split", "generated", "--limit", str(self.tasks), "--max-steps", str(self.turns))
        free = ("--grant", "admissible", *(() if self.probed else ("--set", "form=free")), "--timeout", f"{timeout:g}")
        model = () if endpoint is None else ("--model", endpoint.model, *free)
        return ("eval", "--agent", self.agent, *model, *size, *self.more, "--concurrency", str(workers), "--out", out, "--json")


EXPERT = Play("expert", 8, 30)
MANY = Play("expert", 120, 30)
REACT = Play("react", 5, 12)
CROWD = Play("react", 16, 8)
REPEATED = Play("react", 4, 8, more=("--repeat", "3"))
RETRIED = Play("react", 4, 8, more=("--retry-lost", "2"))
PROBED = Play("react", 5, 12, probed=True)
EXPLORED = Play("expert", 8, 20, explored=True)


@dataclass(frozen=True)
class Golden:
    """An undisturbed run: its folder, its report, and the prompts in the order in which they were answered."""

    play: Play
    folder: Path
    report: Mapping[str, Any]
    prompts: tuple[str, ...]
    seconds: float

    @property
    def bytes(self) -> int:
        """How large its folder is."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())

    @property
    def longest(self) -> int:
        """The most calls that one episode takes; an unreadable reply costs a call and no step."""
        return max(line["calls"] for run in self.runs for line in lines(self.folder / run / "index.jsonl"))

    @property
    def runs(self) -> list[str]:
        """The runs of the folder: itself, or those of a series."""
        return sorted(str(file.parent.relative_to(self.folder)) for file in self.folder.rglob("run.json"))


CLOCKS = {"seconds", "called"}
"""What a report has from a clock: how long it took, and when the model was asked."""


def timeless(report: Any) -> Any:
    """A report without what clocks said."""
    if isinstance(report, dict):
        entries = cast("dict[str, Any]", report).items()
        return {name: timeless(value) for name, value in entries if name not in CLOCKS}
    return [timeless(value) for value in cast("list[Any]", report)] if isinstance(report, list) else report


def read_report(out: str) -> Mapping[str, Any] | None:
    """What `--json` printed; None where that is no table."""
    try:
        value: Any = json.loads(out)
    except ValueError:
        return None
    return timeless(value) if isinstance(value, dict) else None


def content(file: Path) -> bytes:
    """What is in a regular file, also through a link; nothing in anything else, or what is larger than all that is compared."""
    return file.read_bytes() if file.is_file() and file.stat().st_size <= LARGEST else b""


def lines(file: Path) -> list[dict[str, Any]]:
    """The whole lines of a file of JSON, none where it is missing; those that are no tables are left out."""
    found: list[dict[str, Any]] = []
    for line in content(file).split(b"\n")[:-1]:
        try:
            value: Any = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(cast("dict[str, Any]", value))
    return found


def episodes(folder: Path) -> dict[str, bytes]:
    """The finished episodes of a run by the name of their file."""
    return {file.name: content(file) for file in sorted((folder / "episodes").glob("*.jsonl"))}


def compare(golden: Golden, folder: Path) -> Iterator[Found]:
    """What a finished run's or series' ``folder`` has otherwise than ``golden``."""
    for run in golden.runs:
        ours, theirs = episodes(golden.folder / run), episodes(folder / run)
        for name in ours.keys() - theirs.keys():
            yield "lost", f"{run}/{name} is missing"
        for name in theirs.keys() - ours.keys():
            yield "doubled", f"{run}/{name} is too many"
        for name in sorted(ours.keys() & theirs.keys()):
            if ours[name] != theirs[name]:
                yield "lost", f"{run}/{name} differs{_place(ours[name], theirs[name])}"
        for name in PROMISED:
            if content(folder / run / name) != content(golden.folder / run / name):
                yield "miscounted", f"{run}/{name} differs"
    if content(folder / SERIES) != content(golden.folder / SERIES):
        yield "miscounted", f"{SERIES} differs"
    yield from compare_index(golden, folder, whole=True)
    for file in folder.rglob("*.part"):
        yield "lost", f"{file.relative_to(folder)} was left behind"


def compare_index(golden: Golden, folder: Path, *, whole: bool) -> Iterator[Found]:
    """What the indexes say otherwise than ``golden``'s; unless they are ``whole``, lines may be missing."""
    for run in golden.runs:
        right = {line["task"]: line for line in lines(golden.folder / run / "index.jsonl")}
        found = lines(folder / run / "index.jsonl")
        counted = Counter(str(line.get("task")) for line in found)
        for task, count in counted.items():
            if count > 1:
                yield "doubled", f"{task} is {count} times in the index of {run}"
        for line in found:
            if line != right.get(str(line.get("task"))):
                outcome = f"{line.get('outcome')}: {line.get('reason')} {line.get('message', '')}"
                yield "miscounted", f"{line.get('task')} of {run} is {outcome[:200]}"
        if whole:
            for task in right.keys() - counted.keys():
                yield "lost", f"{task} is missing from the index of {run}"


def compare_paid(golden: Golden, endpoint: Endpoint, allowed: int) -> Iterator[Found]:
    """More than ``allowed`` calls that were paid for again, or prompts that were never asked."""
    twice = (endpoint.paid - Counter(golden.prompts)).total()
    if twice > allowed:
        yield "paid twice", f"{twice} calls were paid for again, {allowed} at most may be"
    if unasked := set(golden.prompts) - endpoint.paid.keys():
        yield "lost", f"{len(unasked)} prompts were never answered"


def _place(one: bytes, other: bytes) -> str:
    """Where two episodes differ."""
    pairs = enumerate(zip(one.split(b"\n"), other.split(b"\n"), strict=False), start=1)
    number = next((number for number, (left, right) in pairs if left != right), None)
    return " in its length" if number is None else f" from line {number} on"


async def undisturbed(play: Play, program: Program) -> Golden:
    """Play a run with nothing in its way. Raises ``RuntimeError`` where even that fails."""
    import time

    endpoint = Endpoint()
    await endpoint.open()
    program.configure(endpoint.port)
    began = time.monotonic()
    done = await program.run(play.arguments("run", 2, endpoint if play.asks else None))
    seconds = time.monotonic() - began
    await endpoint.close()
    report = read_report(done.out)
    if done.code != 0 or report is None:
        raise RuntimeError(f"an undisturbed run ended with {done.code}: {done.line}\n{done.err}")
    return Golden(play, program.folder / "run", report, tuple(endpoint.paid.elements()), seconds)
