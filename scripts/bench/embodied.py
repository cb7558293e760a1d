"""The simulator of boxes: which of ALFRED's annotated actions it accepts, what a step costs, and how OPEx plays in it.

Each action meets the state to which earlier ones of its annotation lead: what is refused is counted and then forced, so that
nothing is counted twice. The ceiling is played without force: episodes whose goal is met at the end of their own annotation.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any

from housequest.worlds.alfred.engine import EnactedEnv, scene_in
from housequest.worlds.alfred.scenes import scene_at
from housequest.worlds.alfred.simulator.base import Scene, SimulatorEvent, closest
from housequest.worlds.alfred.simulator.boxes import Boxes
from housequest.worlds.alfred.tasks import goal_of, read_trajectory
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.env import expert_of
from housequest.worlds.rooms.room import AHEAD, GRID
from scripts.bench.seeing import heuristics, noise, oracle

TRAIN = 500
WANTED = {
    "MoveAhead": 97,
    "PickupObject": 90,
    "PutObject": 90,
    "OpenObject": 90,
    "CloseObject": 90,
    "ToggleObjectOn": 90,
    "ToggleObjectOff": 90,
    "SliceObject": 90,
}
"""Per cent of the annotated actions that are to be accepted."""
CLIENT_SCENE, CLIENT_SIZES, CLIENT_STEPS = "example:1", (150, 300), 100
CLIENT_WALK = ("RotateRight", "MoveAhead", "LookDown", "LookUp")
"""What AI2-THOR's client does over and over while it is timed."""
_MISSING = "annotated trajectories: not here, so not measured (set ALFWORLD_DATA)"


def run(data: Path | None) -> Iterator[str]:
    """All parts one after the other; lines to print."""
    for name, part in PARTS.items():
        for line in part(data):
            yield f"{name}: {line}"


def actions(data: Path | None) -> Iterator[str]:
    """Annotated low-level actions that are accepted, by action."""
    for name, paths in samples(data):
        accepted, asked = Counter[str](), Counter[str]()
        for path in paths:
            for action, event in replayed(path, forced=True):
                accepted[action] += event.ok
                asked[action] += 1
        yield f"{name}: {len(paths)} trajectories, {asked.total():,} annotated actions"
        for action, number in sorted(asked.items()):
            wanted = f" (wanted: at least {WANTED[action]}%)" if action in WANTED else ""
            yield f"{name}: {action} {_share(accepted[action], number)}{wanted}"
    if data is None:
        yield _MISSING


def ceiling(data: Path | None) -> Iterator[str]:
    """Episodes that end with all conditions met by their own annotation: nobody who acts like it can win more."""
    for name, paths in samples(data):
        whole = met = total = 0
        for path in paths:
            *_, (_, last) = replayed(path, forced=False)
            goal = goal_of(json.loads(path.read_bytes()))
            done, of = goal.seen(last), goal.total
            met, total, whole = met + done, total + of, whole + (done == of)
        yield f"{name}: all conditions met at the end {_share(whole, len(paths))}; conditions met {_share(met, total)}"
    if data is None:
        yield _MISSING


def steps(data: Path | None) -> Iterator[str]:
    """Annotated steps a second of processor, without and with pictures."""
    for name, paths in samples(data):
        for what, size in (("without frames", None), ("with frames of 150 x 150", 150), ("with frames of 300 x 300", 300)):
            began, number, some = process_time(), 0, paths[:: max(1, len(paths) // 20)]
            for path in some:
                for _, event in replayed(path, forced=False):
                    number += 1
                    if size:
                        event.frame((size, size))
            taken = process_time() - began
            yield f"{name}: {number / taken:,.0f} steps a second of processor {what}, scenes included"
    if data is None:
        yield _MISSING


def client(data: Path | None) -> Iterator[str]:
    """Steps a second, by the clock, of AI2-THOR's own client on our player, each with colours, depth and instances."""
    del data
    if find_spec("ai2thor") is None:
        yield "AI2-THOR's client is not installed, so it was not timed: pip install 'housequest[thor]'"
        return
    from housequest.worlds.alfred.simulator.thor import Thor

    world = AlfworldWorld()
    scene = replace(scene_in(world, world.task(CLIENT_SCENE)), floor_plan=CLIENT_SCENE)
    for size in CLIENT_SIZES:
        thor = Thor(f"{sys.executable} -P -m housequest.worlds.alfred.player", size=(size, size), starting=120)
        try:
            thor.begin(scene)
            began = perf_counter()
            for step in range(CLIENT_STEPS):
                thor.act(CLIENT_WALK[step % len(CLIENT_WALK)])
            taken = perf_counter() - began
            yield f"{CLIENT_STEPS / taken:.0f} steps a second of {thor.version} with {size} x {size} pixels, by the clock"
        finally:
            thor.close()


def enacted(data: Path | None) -> Iterator[str]:
    """Text games whose commands are carried out in boxes: low-level actions, and what the simulator does not do as the game."""
    if data is None:
        yield _MISSING
        return
    world = AlfworldWorld("boxes", data)
    expert = expert_of(world)
    total = Counter[str]()
    for task in world.tasks("valid_seen"):
        env = world.open(task)
        assert isinstance(env, EnactedEnv)
        step = env.reset()
        memory = expert.begin(task.goal, step.observation)
        for _ in range(world.info.max_turns):
            command, _, memory = expert.decide(memory)
            if command is None or step.done:
                break
            step = env.step(command)
            memory = expert.observe(memory, command, step.observation)
        done = env.enacted
        total.update(commands=done.commands, actions=done.actions, divergences=len(done.divergences), games=1)
    commands, actions = total["commands"], total["actions"]
    yield f"valid_seen: {total['games']} games by the expert, {commands:,} commands in {actions:,} low-level actions"
    yield f"valid_seen: divergences {_share(total['divergences'], commands)} (wanted: at most 2%)"


PARTS: Mapping[str, Any] = {
    "actions": actions,
    "ceiling": ceiling,
    "steps": steps,
    "client": client,
    "enacted": enacted,
    "oracle": oracle,
    "heuristics": heuristics,
    "noise": noise,
}
"""What is measured: ``make bench ARGS=embodied:actions``."""


def samples(data: Path | None) -> Iterator[tuple[str, list[Path]]]:
    """The trajectories of valid_seen, and a sample of those of train: what holds of both is no fit to one."""
    for split in ("valid_seen", "train") if data is not None else ():
        paths = sorted((Path(str(data)) / "json_2.1.1" / split).glob("*/*/traj_data.json"))
        if paths:
            yield split, paths if split == "valid_seen" else sorted(Random(0).sample(paths, min(TRAIN, len(paths))))


@dataclass(slots=True)
class _Replay:
    scene: Scene
    simulator: Boxes = field(default_factory=Boxes)

    def steps(self, annotated: Iterable[Mapping[str, str]], *, forced: bool) -> Iterator[tuple[str, SimulatorEvent]]:
        event = self.simulator.begin(self.scene)
        for low in annotated:
            ids = [one.id for one in event.objects] if len(low) > 1 else []
            targets = {key: closest(ids, low[key]) or low[key] for key in ("objectId", "receptacleObjectId") if key in low}
            before = event
            event = self.simulator.act(low["action"], **targets)
            yield low["action"], event
            if forced and not event.ok:
                event = self._forced(low["action"], targets, before)

    def _forced(self, action: str, targets: Mapping[str, str], before: SimulatorEvent) -> SimulatorEvent:
        """Carry out what was refused: go where the annotation goes, or act although nothing is seen."""
        if action == "MoveAhead":
            dx, dz = AHEAD[before.pose.quarter]
            return self.simulator.act(
                "TeleportFull", x=before.pose.x + dx * GRID, z=before.pose.z + dz * GRID, forceAction=True
            )
        return self.simulator.act(action, **targets, forceAction=True)


def replayed(path: Path, *, forced: bool) -> Iterator[tuple[str, SimulatorEvent]]:
    """Each annotated action of a trajectory with its event."""
    trial: dict[str, Any] = json.loads(path.read_bytes())
    annotated: Sequence[Mapping[str, str]] = [low["api_action"] for low in trial["plan"]["low_actions"]]
    return _Replay(scene_at(path, read_trajectory(path).room)).steps(annotated, forced=forced)


def _share(part: int, of: int) -> str:
    return f"{part:,} of {of:,} ({part / max(1, of):.1%})"
