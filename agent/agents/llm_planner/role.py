"""The high-level planner of LLM-Planner (section 4.2): a task with examples of others to a plan of (action, object) pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from agent.roles.base import ReplyError, Role, load_prompt
from agent.roles.shots import Shot
from agent.roles.subgoals import MOST_SUBGOALS, PAIR_NAMES, Action, Subgoal, as_pair, read_plan
from worlds.errors import ConfigurationError, nearest, shown

Wording = Literal["pairs", "lines"]
WORDINGS: tuple[Wording, ...] = get_args(Wording)
"""How plans are written in the prompt: all pairs on one line, or each on a numbered line of its own."""

_NAMES = tuple(PAIR_NAMES.values())
_ACTIONS: dict[str, Action] = {name: action for action, name in PAIR_NAMES.items()}


def wording_named(name: str) -> Wording:
    """The wording of that name. Raises ``ConfigurationError``."""
    for known in WORDINGS:
        if known == name:
            return known
    raise ConfigurationError(f"A plan is worded in {' or '.join(WORDINGS)}, not {shown(name)}.{nearest(name, WORDINGS)}")


def written(plan: Sequence[Subgoal], wording: Wording) -> str:
    """A plan as the prompt shows it and as the model shall write it."""
    if wording == "pairs":
        return ", ".join(as_pair(subgoal) for subgoal in plan)
    return "".join(f"\n{number}. {as_pair(subgoal)}" for number, subgoal in enumerate(plan, 1))


def system_text(wording: Wording) -> str:
    """What the planner is told before any task."""
    prompt = load_prompt("llm_planner")
    return prompt.render("system", actions=", ".join(_NAMES), form=prompt.render(wording))


def request_text(
    goal: str, shots: Sequence[Shot], wording: Wording, *, added: str = "", grounding: tuple[str, str] | None = None
) -> str:
    """What the planner is asked: examples, what is ``added`` (rules, hints), the task, and "Next plan:" (figure 2).

    ``grounding`` are the completed subgoals and the objects seen, for dynamic planning (section 4.4).
    """
    prompt = load_prompt("llm_planner")
    parts = [prompt.render("example", goal=shot.goal, plan=written(shot.plan, wording)) for shot in shots]
    task = [prompt.render("task", goal=goal)]
    if grounding is not None:
        completed, objects = grounding
        task.append(prompt.render("grounding", completed=completed, objects=objects))
    return "\n\n".join([*parts, *([added] if added else []), "\n".join([*task, prompt.render("ask")])])


def _strict(text: str) -> tuple[Subgoal, ...]:
    pairs = [pair.partition(" ") for pair in text.split(", ")]
    if len(pairs) > MOST_SUBGOALS or not all(name in _ACTIONS and thing.isalnum() for name, _, thing in pairs):
        raise ReplyError("the plan is not one line of allowed actions, each with an object.")
    return tuple(Subgoal(_ACTIONS[name], thing) for name, _, thing in pairs)


def _lenient(text: str) -> tuple[Subgoal, ...]:
    return read_plan(text, _NAMES)


LLM_PLANNER: Role[tuple[Subgoal, ...]] = Role("planner", _strict, _lenient, stop=("\nTask description:",))
