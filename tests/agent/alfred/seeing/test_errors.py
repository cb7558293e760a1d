"""Error modes of a robot that sees, as reports class them."""

from __future__ import annotations

from typing import get_args

from housequest.agent.alfred.seeing.state import ErrorMode
from housequest.agent.episodes.events import POLICY, Ended, Event, Planned, Started, Stepped, Thought
from housequest.agent.evaluation.analysis.failures import FailureKind, failure_of
from housequest.worlds.paths import FORMAT


def lost(*thoughts: str, reason: str = "the world's own limit ended the episode") -> list[Event]:
    step = Stepped(turn=1, command="MoveAhead", by="agent", observation="", accepted=False)
    end = Ended(outcome="lost", reason=reason, turns=1, steps=1, refused=1, assisted=False)
    bodies = [*(Thought(role=POLICY, text=text) for text in thoughts), step, end]
    return [Event(id=number, parent=number - 1 if number else None, body=body) for number, body in enumerate(bodies)]


def test_what_the_last_skill_failed_for_is_the_class() -> None:
    failure = failure_of(lost("collision", "collision", "not found: no mug was found"))
    assert failure is not None and failure.kind is FailureKind.NOT_FOUND
    assert "no mug was found" in failure.words and "collision 2 times" in failure.words


def test_without_a_failed_skill_it_is_what_happened_most() -> None:
    failure = failure_of(lost("interaction failed", "collision", "interaction failed"))
    assert failure is not None and failure.kind is FailureKind.NOT_ACTED_ON


def test_each_mode_has_its_class() -> None:
    modes = get_args(ErrorMode)
    kinds = {failure.kind for mode in modes if (failure := failure_of(lost(f"{mode}: so")))}
    assert len(kinds) == len(modes) == 5
    assert FailureKind.GAVE_UP not in kinds


def replanned(*modes: str, world: str = "alfred", reason: str) -> FailureKind | None:
    """The class of an episode with these modes, in whose place a plan was made again where none is given."""
    blank = dict.fromkeys(("engine", "task", "split", "type", "goal", "wording", "opening"), "")
    started = Started(format=FORMAT, world=world, number=1, agent="opex", max_turns=9, seed=0, **blank)
    planned = Planned(role="planner", steps=("a",), revision=1, reason="the plan is carried out")
    bodies = [Thought(role=POLICY, text=mode) if mode else planned for mode in modes]
    end = Ended(outcome="lost", reason=reason, turns=1, steps=1, refused=1, assisted=False)
    told = enumerate((started, *bodies, end))
    failure = failure_of([Event(id=number, parent=number - 1 if number else None, body=body) for number, body in told])
    return failure and failure.kind


def test_who_gives_up_on_the_last_plan_has_planned_again_in_vain() -> None:
    given_up, over = "gave up: the plan is carried out, and the task is not done", "the world's own limit ended the episode"
    assert replanned("collision", "collision", "", reason=given_up) is FailureKind.REPLANNED
    assert replanned("", "not found: no mug was found", reason=given_up) is FailureKind.NOT_FOUND
    assert replanned("collision", "", reason=over) is FailureKind.COLLIDED
    assert replanned("collision", "", "", reason=over) is FailureKind.REPLANNED
    assert replanned("", world="alfworld", reason=given_up) is FailureKind.GAVE_UP
