"""An episode of somebody who gives certain commands, as its events."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from housequest.agent.episodes.events import Body, Event, Started, Stepped, with_beliefs
from housequest.worlds.base import Task, World
from housequest.worlds.paths import FORMAT
from housequest.worlds.registry import make_world


def acted(world: World, task: Task, commands: Sequence[str], /, **changes: object) -> list[Event]:
    """The events of a game in which a person gave these commands; ``changes`` are to its start."""
    env = world.open(task)
    started = Started(
        world=world.name, engine=world.engine, task=task.id, split=task.split, number=task.number, type=task.type,
        goal=task.goal, wording=task.wording, agent="human", max_turns=50, seed=0, opening=env.reset().observation.text,
        format=FORMAT,
    )  # fmt: skip
    bodies: list[Body] = [started.model_copy(update=changes)]
    for turn, command in enumerate(commands, start=1):
        answer = env.step(command).observation
        bodies.append(Stepped(turn=turn, command=command, observation=answer.text, accepted=answer.accepted))
    chain = (Event(id=number, parent=number - 1 if number else None, body=body) for number, body in enumerate(bodies))
    return list(with_beliefs(chain))


def recorded(path: Path, reference: str, commands: Sequence[str], /, **changes: object) -> Path:
    """A record in ``path`` of such a game in the world of houses."""
    world = make_world("alfworld")
    said = acted(world, world.task(reference), commands, **changes)
    path.write_text("".join(f"{event.model_dump_json(exclude_none=True)}\n" for event in said), "utf-8")
    return path
