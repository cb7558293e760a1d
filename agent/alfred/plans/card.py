"""The card of a run over ALFRED's instructions: under what conditions its plans were made, as reports begin."""

from __future__ import annotations

from housequest.agent.alfred.plans.planners import PLANNERS
from housequest.agent.alfred.plans.run import PlanManifest
from housequest.agent.evaluation.runs.selection import selection_text


def plan_card(manifest: PlanManifest) -> dict[str, str]:
    """The conditions by name; where two runs differ in one, a line differs."""
    config, own = manifest.configuration, manifest.configuration.settings
    takes, asked = PLANNERS[config.agent].takes if config.agent in PLANNERS else frozenset[str](), config.model is not None
    part = "" if len(manifest.tasks) == manifest.of else ": not the whole split"
    pool = "all of train" if own.pool is None else f"{own.pool} of train, stratified by task type"
    by = f"{own.choose} ({own.embedder})" if own.embedder else own.choose
    shown = f"{own.shots} by {by}, of {pool}" if asked else f"the nearest by {by}, of {pool}"
    again = f"where a subgoal is refused, at most {own.revisions} times"
    told = "what was done, seen, held and refused" if own.feedback else "what was done and seen"
    return {
        "planner": config.agent,
        "model": config.model or "none",
        "split": config.split,
        "tasks": f"{selection_text(len(manifest.tasks), manifest.of)} instructions{part}",
        "told": "the goal and the step-by-step instructions" if own.steps else "the goal alone",
        "examples": shown if own.shots or not asked else "none",
        "replies": f"at most {own.max_tokens} tokens, temperature {own.temperature:g}" if asked else "none",
        "taken apart": own.decompose.replace("none", "not") if "decompose" in takes else "not",
        "bias": f"{own.bias:g} nats, where the model takes one" if own.bias else "none",
        "replanning": f"{again}, told {told}" if own.replanning else "none",
        "data": manifest.data[:16],
    }
