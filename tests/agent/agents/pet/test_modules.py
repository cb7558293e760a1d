"""PET's modules measured along episodes: the figures from made-up events, and whole ones over the local endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.pet.agent import Pet
from housequest.agent.agents.pet.modules import (
    FinishedEpisode,
    ModulesReport,
    PlannedSubtasks,
    SubtaskFigures,
    WatchedEpisode,
    auc,
    by_embeddings,
    by_words,
    touched,
    watch,
    watch_own,
)
from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.events import Body, Event, Judged, ParseFailed, Planned, Progressed, Relevance, Started, Stepped
from housequest.agent.models.embeddings import make_embedder
from housequest.agent.models.registry import make_model
from housequest.worlds.base import World
from housequest.worlds.registry import make_world
from tests.agent.playing import play
from tests.backends.pet import PetPolicy
from tests.backends.policy import Solver
from tests.backends.server import Server, serve


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Solver()) as server:
        yield server


def judged(**scores: float | None) -> Judged:
    """Places by name; an underscore stands for the space."""
    things = tuple(
        Relevance(name=name.replace("_", " "), place=True, masked=score is not None and score < 0.4, score=score)
        for name, score in scores.items()
    )
    return Judged(role="eliminator", target="take an egg", things=things)


def stepped(command: str, *, won: bool = False, accepted: bool = True) -> Stepped:
    return Stepped(turn=1, command=command, observation="", accepted=accepted, won=won)


PLAN = Planned(role="subtasks", steps=("take an egg", "heat the egg"), revision=0, reason="the episode begins")
DONE = Progressed(role="tracker", step=2)


def test_shares_recall_and_auc_are_those_of_the_names() -> None:
    bodies: tuple[Body, ...] = (
        judged(fridge_1=0.9, desk_1=0.1, safe_1=0.3, shelf_1=None),
        judged(fridge_1=0.2, desk_1=0.5, safe_1=0.1),
    )
    places = ModulesReport([WatchedEpisode(bodies, frozenset({"fridge 1", "safe 1", "bed 1"}))]).places
    assert (places.judgements, places.masked, places.touched, places.shown) == (7, 4, 2, 1)
    assert places.recall == 0.5
    # The highest scores count: 0.9 and 0.3 were touched, 0.5 was not, and what has no score is left out.
    assert places.auc == 0.5
    curve = {point.threshold: (point.masked, point.recall) for point in places.curve}
    assert curve[0.1] == (0.0, 1.0)
    assert curve[0.4] == (4 / 7, 0.5)
    assert curve[0.9] == (5 / 7, 0.5)
    assert "threshold" in ModulesReport([WatchedEpisode(bodies, frozenset())]).text()


def test_what_is_missing_is_not_divided_by() -> None:
    figures = ModulesReport([])
    assert (figures.places.share, figures.places.recall, figures.places.auc) == (None, None, None)
    assert (figures.tracking.precision, figures.tracking.recall) == (None, None)
    assert "no plan" in figures.text()
    json.dumps(figures.data(), allow_nan=False)


def test_the_end_is_noticed_just_then_or_not() -> None:
    rightly = (PLAN, stepped("look"), stepped("look", won=True), DONE)
    early = (PLAN, stepped("look"), DONE, stepped("look", won=True))
    never = (PLAN, stepped("look"), stepped("look", won=True))
    lost = (PLAN, stepped("look"), DONE)
    figures = ModulesReport(
        [WatchedEpisode(bodies, frozenset(), watched=True) for bodies in (rightly, early, never, lost)]
    ).tracking
    assert (figures.planned, figures.won, figures.finished, figures.rightly) == (4, 3, 3, 1)
    assert figures.precision == figures.recall == 1 / 3


def test_refused_commands_touch_nothing() -> None:
    steps = (stepped("go to fridge 1"), stepped("take egg 1 from desk 2", accepted=False), stepped("look"))
    assert touched(steps) == {"fridge 1"}


scores = st.lists(st.floats(0, 1).map(lambda score: round(score, 1)), min_size=1, max_size=8)


@given(scores, scores)
def test_the_area_is_the_share_of_pairs_in_order(right: list[float], wrong: list[float]) -> None:
    pairs = [(a > b) + (a == b) / 2 for a in right for b in wrong]
    area = auc(right, wrong)
    assert area is not None
    assert abs(area - sum(pairs) / len(pairs)) < 1e-9


def recorded(events: list[Event]) -> FinishedEpisode:
    bodies = tuple(event.body for event in events)
    started = bodies[0]
    assert isinstance(started, Started)
    return FinishedEpisode(started, bodies)


def expert_episode(world: World, folder: Path, server: Server) -> FinishedEpisode:
    return recorded(play(server, world, world.task("example:1"), "react", folder / "e.jsonl").events)


@pytest.mark.heavy
@pytest.mark.parametrize(("forgetful", "recall"), [(False, 1.0), (True, 0.0)])
def test_pet_looks_on_to_the_end(server: Server, world: World, tmp_path: Path, forgetful: bool, recall: float) -> None:
    episode = expert_episode(world, tmp_path, server)
    server.policy = Solver(pet=PetPolicy(forgetful=forgetful))

    async def watched() -> WatchedEpisode:
        model = make_model(server.model())
        try:
            pet = make_agent("pet", world=world, model=model)
            assert isinstance(pet, Pet)
            return await watch(pet, episode, world)
        finally:
            await model.aclose()

    seen = asyncio.run(watched())
    figures = ModulesReport([seen])
    assert [body for body in seen.bodies if isinstance(body, Stepped)] == list(episode.steps)
    assert figures.tracking.recall == recall
    assert figures.places.recall == 1.0
    assert figures.objects.share
    assert "precision" in figures.text()
    assert (figures.plans.planned, figures.plans.right) == (1, 1)
    assert "1 of 1 plans are the annotated sub-tasks (100.0 %); the mean similarity to them is 1.00" in unwrapped(figures)


def unwrapped(figures: ModulesReport) -> str:
    return " ".join(figures.text().split())


def test_a_plan_is_right_if_it_is_the_annotated_one_but_for_small_words() -> None:
    annotated = ("take an egg", "heat the egg", "put the egg in or on the fridge")
    same = PLAN.model_copy(update={"steps": ("Take egg", "heat an egg", "put the egg in/on the fridge.")})
    lost = ParseFailed(role="subtasks", reply="?", reason="?", final=True)
    seen = [WatchedEpisode((body,), frozenset(), annotated=annotated) for body in (PLAN, same, lost)]
    plans = ModulesReport(seen).plans
    assert (plans.planned, plans.right, plans.accuracy) == (3, 1, 1 / 3)
    # The second is equal, the third says nothing, and the first leaves out the last of three sub-tasks.
    assert plans.similarity is not None and 1 / 3 < plans.similarity < 2 / 3
    assert "planned: nothing that could be read annotated: take an egg, heat the egg, put the egg" in unwrapped(
        ModulesReport(seen)
    )
    # Nothing is known where the planner was not asked, or the task has no annotation.
    unknown = [WatchedEpisode((PLAN,), frozenset()), WatchedEpisode((), frozenset(), annotated=annotated)]
    assert vars(ModulesReport(unknown).plans) == vars(SubtaskFigures(()))
    assert "look at the run where its games are" in unwrapped(ModulesReport(unknown))


def test_sub_tasks_are_compared_by_an_embedding_model(server: Server) -> None:
    pairs = (PlannedSubtasks(("take a mug",), ("take a cup",)), PlannedSubtasks(("take a cup",), ("take a cup",)))
    likeness = asyncio.run(by_embeddings(pairs, make_embedder(server.model())))
    figures = SubtaskFigures(pairs, likeness)
    assert figures.right == 1 and figures.similarity is not None and figures.similarity <= 1.0 + 1e-9
    assert likeness("take a cup", "take a cup") == pytest.approx(1.0)
    assert len(server.embedded) == 1


@given(st.text(), st.text())
def test_any_texts_are_alike_by_some_share(one: str, other: str) -> None:
    assert 0.0 <= by_words(one, other) <= 1.0


@pytest.mark.heavy
def test_pets_own_episode_is_held_against_the_expert(server: Server, world: World, tmp_path: Path) -> None:
    played = recorded(play(server, world, world.task("example:1"), "pet", tmp_path / "e.jsonl").events)
    calls = len(server.requests)
    figures = ModulesReport([watch_own(played, world)])
    assert len(server.requests) == calls
    assert figures.places.touched
    assert figures.tracking.recall is None
    assert "--model" in figures.text()
