"""Runs over ALFRED's instructions as a family of runs: they score plans, and have no episodes."""

from __future__ import annotations

from housequest.agent.alfred.plans.report import PlansReport
from housequest.agent.alfred.plans.sweep import PlanSweepReport, read_plan_arms
from housequest.agent.alfred.plans.work import read_manifest, read_rows, verify_plans
from housequest.agent.evaluation.parts import RunFamily

FAMILY = RunFamily(
    about="plans to score",
    report=lambda folder: PlansReport(read_manifest(folder), read_rows(folder)),
    sweep_report=lambda folder: PlanSweepReport(read_plan_arms(folder)),
    verify=verify_plans,
    commands="housequest.tui.alfred.plans",
)
