"""Records and runs on disk for the tests that look at them: an episode that was rewound, and runs of the expert."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from housequest.agent.config import configure
from housequest.agent.episodes.events import Body, Ended, Event, Intervened, ModelCall, Planned, Started, Stepped
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.worlds.paths import FORMAT

OPENING = "You are in a hall. You see a key 1.\n\nYour task is to: bring the coin to the study."
REFUSAL = "Nothing happens."

_played: dict[tuple[int, int, str], dict[Path, bytes]] = {}


@dataclass(frozen=True)
class Said:
    """A body in its place in the tree."""

    parent: int | None
    body: Body


def started(**changes: object) -> Started:
    """The start of an episode of at most nine turns."""
    plain = Started(
        world="scripted", engine="native", task="demo/bring", split="demo", number=2, type="bring",
        goal="bring the coin to the study", wording="template", agent="react", model="scripted:m", max_turns=9, seed=0,
        opening=OPENING, format=FORMAT,
    )  # fmt: skip
    return plain.model_copy(update=changes)


def step(turn: int, command: str, accepted: bool = True) -> Stepped:
    """A command and its answer, which is its own name, or a refusal."""
    return Stepped(turn=turn, command=command, observation=f"You {command}." if accepted else REFUSAL, accepted=accepted)


def plan(revision: int, reason: str = "stuck") -> Planned:
    """A plan of two steps."""
    return Planned(role="reasoner", steps=("find it", "take it"), revision=revision, reason=reason)


CALL = ModelCall(role="react", kept=0, added=(), reply="x", finish="stop", prompt_tokens=10, completion_tokens=2)


def rewound() -> list[Said]:
    """Four turns, the second refused; rewound to the first, a new plan, two more turns, the last refused, and lost."""
    return [
        Said(None, started()),
        Said(0, plan(0)),
        Said(1, CALL),
        Said(2, step(1, "look")),
        Said(3, step(2, "fly", accepted=False)),
        Said(4, step(3, "wait")),
        Said(5, step(4, "look again")),
        Said(3, Intervened(action="rewind")),
        Said(7, plan(1)),
        Said(8, step(2, "go to study")),
        Said(9, CALL),
        Said(10, step(3, "eat coin", accepted=False)),
        Said(11, Ended(outcome="lost", reason="out of turns (3)", turns=3, steps=3, refused=1, assisted=True)),
    ]


def rewound_twice() -> list[Said]:
    """As ``rewound``, taken up again after the first turn of its second branch: two more turns, one of them a person's."""
    return [
        *rewound(),
        Said(9, Intervened(action="rewind")),
        Said(3, Intervened(action="rewind")),
        Said(9, Intervened(action="rewind")),
        Said(15, step(3, "take coin from the long shelf of the study 1")),
        Said(16, step(4, "go to hall").model_copy(update={"by": "person"})),
    ]


def long(turns: int) -> list[Said]:
    """An episode of so many turns, every tenth refused."""
    steps = [Said(turn - 1, step(turn, f"look {turn}", accepted=turn % 10 != 0)) for turn in range(1, turns + 1)]
    return [Said(None, started(max_turns=turns)), *steps, Said(turns, _lost(turns))]


def _lost(turns: int) -> Ended:
    return Ended(outcome="lost", reason="out of turns", turns=turns, steps=turns, refused=turns // 10)


def lines(said: Sequence[Said]) -> bytes:
    """A record of what was said, as it lies on disk."""
    events = [Event(id=number, parent=one.parent, body=one.body) for number, one in enumerate(said)]
    return b"".join(f"{event.model_dump_json(exclude_none=True)}\n".encode() for event in events)


def write(path: Path, said: Sequence[Said]) -> Path:
    """Record what was said in ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(said))
    return path


def play(folder: Path, limit: int = 12, max_steps: int = 50, split: str = "generated") -> Path:
    """A run of the expert over the first ``limit`` made-up houses; once played, it is a copy of its files."""
    terms = (limit, max_steps, split)
    if terms in _played:
        for name, content in _played[terms].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return folder
    world = "scripted" if split == "demo" else "alfworld"
    seen = "generated:0" if split == "generated" else split
    flags = {"world": world, "agent": "expert", "split": seen, "limit": limit, "max_steps": max_steps}
    # In a thread: a test may be in an event loop of its own.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, run_batch(make_run_spec(configure(flags)), folder)).result()
    _played[terms] = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return folder
