"""The action policy in a house of boxes: it finds, fetches, treats and puts down by what it sees alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from housequest.agent.agents.spec import CameraSettings
from housequest.agent.agents.unaided.by_camera import CarefulSettings
from housequest.agent.alfred.seeing.perception import make_perception
from housequest.agent.alfred.seeing.policy import ActionPolicy, carried_out
from housequest.agent.alfred.seeing.semantic_map import Ground, SemanticMap, approach, corners, next_move, stand_of, turned
from housequest.agent.alfred.seeing.state import (
    LowLevelAction,
    PolicyStep,
    SeeingState,
    Spot,
    Targets,
    steps_of,
)
from housequest.agent.skills.controller import Done, Failed
from housequest.worlds.alfred.simulator.base import touched
from housequest.worlds.base import Env, Pictured
from housequest.worlds.household.goals import CONTAINERS, Skill
from housequest.worlds.registry import make_world
from housequest.worlds.rooms.room import Box, Pose
from tests.agent.alfred.seeing.frames import drawn

SIZE = (150, 150)
HOUSE = "example:1"  # heat some egg and put it in diningtable


@dataclass
class Robot:
    """A policy with its env: carries skills out as an agent does."""

    policy: ActionPolicy
    env: Env
    state: SeeingState
    actions: tuple[str, ...] = ()
    refused: int = 0

    def carry_out(self, skill: Skill) -> Done | Failed:
        self.state = self.policy.start(self.state, skill)
        while True:
            outcome, self.state = self.policy.next(self.state)
            if not isinstance(outcome, LowLevelAction):
                return outcome
            self.act(outcome)

    def act(self, action: LowLevelAction) -> None:
        assert isinstance(self.env, Pictured)
        name = action.name
        if action.mask is not None:
            name += f" {touched(self.env.frame(SIZE), action.mask)}"
        step = self.env.step(name)
        self.actions += (name,)
        self.refused += not step.observation.accepted
        frame, pose = self.env.frame(SIZE), self.env.pose()
        self.state = carried_out(self.state, action, self.policy.targets, accepted=step.observation.accepted)
        self.state = self.policy.perceived(self.state, self.policy.perceive(self.state, frame), pose)


def robot(seeing: str = "truth", heuristics: CameraSettings | None = None, house: str = HOUSE) -> Robot:
    world = make_world("alfred")
    env = world.open(world.task(house))
    env.reset()
    assert isinstance(env, Pictured)
    policy = ActionPolicy(make_perception(seeing), heuristics or CameraSettings(), lambda _, place: float(place == "fridge"))
    return Robot(policy, env, policy.begin(env.frame(SIZE), env.pose()))


@pytest.mark.heavy
def test_skills_heat_an_egg_and_serve_it() -> None:
    played = robot()
    for skill in (Skill("pick", "egg"), Skill("heat", "egg"), Skill("put", "egg", "diningtable")):
        assert isinstance(played.carry_out(skill), Done), skill
    met, total = played.env.goal_conditions() or (0, 1)
    assert met == total
    heated = [name.partition(" ")[0] for name in played.actions if "microwave" in name]
    on, off = "ToggleObjectOn", "ToggleObjectOff"
    assert heated == ["OpenObject", "PutObject", "CloseObject", on, off, "OpenObject", "CloseObject"]


@pytest.mark.heavy
def test_the_same_seed_gives_the_same_actions_and_another_one_other_mistakes() -> None:
    def played(seed: int) -> tuple[str, ...]:
        one = robot(f"noisy:miss=0.3,confuse=0.3,depth=0.05,seed={seed}")
        one.carry_out(Skill("pick", "egg"))
        return one.actions

    assert played(1) == played(1)
    assert played(1) != played(2)


def test_what_cannot_be_done_with_this_hand_is_refused_without_an_action() -> None:
    played = robot()
    for skill, reason in ((Skill("put", "egg", "diningtable"), "empty"), (Skill("slice", "apple"), "knife")):
        outcome = played.carry_out(skill)
        assert isinstance(outcome, Failed) and reason in outcome.reason
    assert played.actions == ()
    assert played.state.errors == ("planner's fault", "planner's fault")
    full = replace(played.state, held="mug")
    outcome, _ = played.policy.next(played.policy.start(full, Skill("pick", "egg")))
    assert outcome == Failed("the hand is full: it holds the mug")
    # A fridge is opened before something is put into it: that the hand is empty is known before.
    for skill in (Skill("cool", "egg"), Skill("put", "egg", "fridge")):
        assert played.carry_out(skill) == Failed("the hand is empty")
    assert played.actions == ()


def test_what_is_sliced_is_not_looked_for_to_be_sliced_again() -> None:
    played = robot()
    state = played.state
    unseen = state.map.without("apple", state.pose.x, state.pose.z, 50.0)
    played.state = replace(state, held="knife", sliced=(("apple", state.pose),), map=unseen)
    assert played.carry_out(Skill("slice", "apple")) == Failed("the apple is sliced already")
    assert played.actions == ()


def test_a_treatment_that_failed_goes_on_with_what_it_put_down() -> None:
    left = [(step.primitive, step.kind) for step in steps_of(Skill("cool", "egg"), None, left=True)]
    assert left == [("open", "fridge"), ("pick", "egg")]
    assert [step.primitive for step in steps_of(Skill("clean", "egg"), None, left=True)] == ["pick"]
    state = replace(robot().state, treated=Spot("sinkbasin", 1.0, 2.0, 0.9))
    assert [step.primitive for step in robot().policy.start(state, Skill("clean", "egg")).steps] == ["pick"]


def test_what_something_was_put_into_is_what_is_picked_up_next() -> None:
    targets, step = Targets(CameraSettings()), PolicyStep("pick", "mug")
    here, there = Spot("mug", 1.0, 1.0, 0.9), Spot("mug", 3.0, 1.0, 0.9)
    filled = replace(robot().state, filled=here)
    assert [targets.meant(filled, step, spot) for spot in (here, there)] == [True, False]
    gone = replace(filled, avoided=(here,))
    assert [targets.meant(gone, step, spot) for spot in (here, there)] == [False, True]


def test_two_of_a_kind_are_put_together() -> None:
    targets, state = Targets(CameraSettings()), replace(robot().state, held="cup")
    first = Spot("cup", 1.0, 1.0, 0.9)  # what was put down, at the receptacle's place
    for kind, far in (("drawer", 0.4), ("countertop", 1.5)):
        step = PolicyStep("put", kind)
        beside, other = Spot(kind, 1.1, 1.0, 0.9), Spot(kind, 1.0 + far, 1.0, 0.9)
        assert [targets.meant(state, step, spot) for spot in (beside, other)] == [True, True]
        one_there = replace(state, placed=(first,))
        assert [targets.meant(one_there, step, spot) for spot in (beside, other)] == [True, False]
        # What is put down to be treated is not put beside its like.
        assert targets.meant(one_there, replace(step, inside=True), other)


@pytest.mark.heavy
def test_a_careful_robot_looks_at_open_places_from_near() -> None:
    played = robot(heuristics=CarefulSettings())
    assert isinstance(played.carry_out(Skill("pick", "unicorn")), Failed)
    kinds = {spot.kind for spot in played.state.peeked}
    assert kinds <= CONTAINERS  # A place is only looked at if such things may be there.
    played.policy = ActionPolicy(make_perception("truth"), CarefulSettings(), lambda _, place: float(place == "countertop"))
    assert isinstance(played.carry_out(Skill("pick", "unicorn")), Failed)
    assert "countertop" in {spot.kind for spot in played.state.peeked}


def test_looking_round_is_four_turns_and_without_a_skill_there_is_nothing_to_do() -> None:
    played = robot()
    assert isinstance(played.carry_out(Skill("look")), Done)
    assert played.actions == ("RotateRight",) * 4
    assert isinstance(played.policy.next(played.state)[0], Failed)


@pytest.mark.heavy
def test_a_thing_that_is_nowhere_is_looked_for_and_given_up() -> None:
    played = robot()
    outcome = played.carry_out(Skill("pick", "unicorn"))
    assert isinstance(outcome, Failed) and "unicorn" in outcome.reason
    assert any(name.startswith("OpenObject") for name in played.actions)
    assert played.state.errors[-1] in ("not found", "closed receptacle")
    shut = robot(heuristics=CameraSettings(peek=False, corners=False, look_around=False))
    shut.carry_out(Skill("pick", "unicorn"))
    assert not any(name.startswith("OpenObject") for name in shut.actions)


def test_a_refused_move_blocks_a_stand_and_a_refused_action_is_tried_from_elsewhere() -> None:
    played = robot()
    ahead = LowLevelAction("MoveAhead")
    bumped = carried_out(played.state, ahead, played.policy.targets, accepted=False)
    x, z = played.state.stand
    side = played.state.pose.quarter
    assert bumped.bumped == {(x + (0, 1, 0, -1)[side], z + (1, 0, -1, 0)[side])}
    assert len(bumped.suspected) == 2 and bumped.errors == ("collision",)


# Where to stand, over maps of drawn rooms.

TABLE, MUG = Box(0.0, 0.0, 1.1, 0.8, 0.8, 1.6), Box(0.3, 0.8, 1.2, 0.4, 0.95, 1.3)


def seen_from(*poses: Pose) -> SemanticMap:
    perception = make_perception("truth")
    seen = SemanticMap.empty(poses[0])
    for pose in poses:
        seen = seen.seen(perception.see(drawn(pose, ("table 1", TABLE), ("mug 1", MUG)), 0), pose)
    return seen


@pytest.fixture(scope="module")
def looked_round() -> SemanticMap:
    return seen_from(*(Pose(0.0, 0.0, yaw, pitch) for yaw in (0, 90, 180, 270) for pitch in (0, 30, 45)))


def test_one_stands_before_a_thing_and_not_in_the_table(looked_round: SemanticMap) -> None:
    around = Ground(looked_round, (0, 0), {(0, 0)}, (), voted=False, body=0.2)
    aim = approach(around, looked_round.origin, looked_round.points("mug", voted=False), (), traversable=True)
    assert aim is not None and aim.height is not None
    x, z = aim.stand[0] * 0.25, aim.stand[1] * 0.25
    assert not TABLE.grown(0.1).over(x, z)
    assert 0.3 <= ((x - aim.x) ** 2 + (z - aim.z) ** 2) ** 0.5 <= 1.2
    into = approach(around, looked_round.origin, looked_round.points("mug", voted=False), (), traversable=False)
    assert into is not None and TABLE.over(into.stand[0] * 0.25, into.stand[1] * 0.25)
    assert approach(around, looked_round.origin, looked_round.points("spoon", voted=False), (), traversable=True) is None


def test_moves_lead_round_what_is_in_the_way(looked_round: SemanticMap) -> None:
    at, quarter, goal, moves = (1, 3), 0, (1, 7), list[str]()
    while at != goal and len(moves) < 40:
        around = Ground(looked_round, at, {(0, 0)}, (), voted=False, body=0.1)
        move = next_move(around, quarter, goal)
        assert move is not None
        moves.append(move)
        if move == "MoveAhead":
            at = at[0] + (0, 1, 0, -1)[quarter], at[1] + (1, 0, -1, 0)[quarter]
            assert not TABLE.over(at[0] * 0.25, at[1] * 0.25)
        else:
            quarter = (quarter + (1 if move == "RotateRight" else 3)) % 4
    assert at == goal
    assert next_move(Ground(looked_round, goal, (), (), voted=False, body=0.1), 0, goal) is None


def test_corners_are_four_stands_far_apart(looked_round: SemanticMap) -> None:
    around = Ground(looked_round, (0, 0), {(0, 0)}, (), voted=False, body=0.2)
    found = corners(looked_round, around)
    assert len(found) == 4
    assert {(x > 0, z > 0) for x, z in found} == {(True, True), (True, False), (False, True), (False, False)}
    assert all(around.reached(stand) for stand in found)


def test_turning_takes_the_shorter_way() -> None:
    assert [turned(quarters) for quarters in (0, 1, 2, 3, 4)] == [None, "RotateRight", "RotateRight", "RotateLeft", None]
    assert stand_of(Pose(0.5, -0.26), Pose(0.25, 0.25)) == (1, -2)


@pytest.mark.heavy
@pytest.mark.parametrize("off", ["votes", "corners", "replay", "look_around", "adjust", "peek"])
def test_each_heuristic_can_be_left_out(off: str) -> None:
    played = robot(heuristics=replace(CameraSettings(), **{off: False}))
    assert isinstance(played.carry_out(Skill("pick", "egg")), Done)


def test_without_a_traversable_goal_one_walks_to_the_thing_itself() -> None:
    played = robot(heuristics=CameraSettings(traversable=False))
    played.state = played.policy.start(played.state, Skill("go", "diningtable"))
    for _ in range(40):
        outcome, played.state = played.policy.next(played.state)
        if not isinstance(outcome, LowLevelAction) or played.state.aim is not None:
            break
        played.act(outcome)
    aim = played.state.aim
    assert aim is None or stand_of(Pose(aim.x, aim.z), played.state.map.origin) == aim.stand or aim.height is None
