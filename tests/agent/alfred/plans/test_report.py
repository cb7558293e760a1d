"""The figures of a run over plans."""

from __future__ import annotations

from housequest.agent.alfred.plans.report import PlanFigures
from housequest.agent.alfred.plans.work import PlanResult
from housequest.agent.evaluation.analysis.statistics import clustered, wilson


def row(task: str, *, exact: bool) -> PlanResult:
    return PlanResult(task=task, type="pick_and_place_simple", level="easy", outcome="planned", exact=exact, conditions=1)


def test_instructions_of_one_demonstration_count_as_one() -> None:
    """An annotator says of the same demonstration what another one said, and a seed asks what another one asked."""
    right, wrong = ("valid_seen/a/t", "valid_seen/b/t"), ("valid_seen/c/t", "valid_seen/d/t")
    once = [*(row(f"{one}#0", exact=True) for one in right), *(row(f"{one}#0", exact=False) for one in wrong)]
    said = [each.model_copy(update={"task": each.task.replace("#0", f"#{annotator}")}) for each in once for annotator in "012"]
    exact = PlanFigures(once).exact
    assert (exact.value, exact.interval) == (0.5, wilson(2, 4))
    for rows in (said, once * 3):
        exact = PlanFigures(rows).exact
        assert (exact.value, exact.interval) == (0.5, clustered([(3, 3)] * 2 + [(0, 3)] * 2))
    apart = [row(f"{one}#{annotator}", exact=annotator == 0) for one in (*right, *wrong) for annotator in (0, 1)]
    assert PlanFigures(apart).exact.interval == clustered([(1, 2)] * 4)
    assert PlanFigures([]).exact.interval is None
