"""The planner: names the kind of task, thinks, and writes a numbered plan (OPEx, section 3, "LLM-based Planner", figure 3).

It is shown examples of other tasks with their plans, since chain of thought is learnt from them (Wei et al., 2022).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.roles.base import ReplyError, Role
from agent.roles.lists import bounded, items
from agent.roles.reading import json_fields, thought

END = "<END_OF_PLAN>"

KINDS = {
    "pick_and_place_simple": "put one thing somewhere",
    "pick_two_obj_and_place": "put two things of a kind somewhere",
    "pick_clean_then_place_in_recep": "clean a thing and put it somewhere",
    "pick_heat_then_place_in_recep": "heat a thing and put it somewhere",
    "pick_cool_then_place_in_recep": "cool a thing and put it somewhere",
    "look_at_obj_in_light": "look at a thing under a lamp",
}
"""What the planner calls each type of task: words, since the world's own name is granted or not shown."""

_LABELS = re.compile(
    r"(?im)^[\W_]{0,40}(?P<label>task type|type of task|kind of task|thought|plan)\b[\s*_`]*[:：][ \t*_`]*(?P<rest>.*)$"
)
_STRICT = re.compile(
    r"Task type: (?P<type>[^\n]+)\nThought: (?P<thought>[^\n]+)\nPlan:\n(?P<plan>(?:\d{1,2}\. [^\n]+(?:\n|\Z))+)"
)


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The kind of task, a thought, and the subtasks."""

    kind: str
    thought: str
    steps: tuple[str, ...]


def _strict(text: str) -> Decomposition:
    match = _STRICT.fullmatch(text.removesuffix(END).strip())
    if match is None:
        raise ReplyError('there are no lines "Task type: ...", "Thought: ..." and "Plan:" with numbered steps below.')
    return Decomposition(match["type"].strip(), thought(match["thought"]), bounded(items(match["plan"])))


def _lenient(text: str) -> Decomposition:
    fields = json_fields(text)
    if "plan" in fields:
        kind = fields.get("task type", fields.get("task_type", ""))
        return Decomposition(_one_line(kind), thought(fields.get("thought", "")), bounded(items(fields["plan"])))
    found = {"type": "", "thought": "", "plan": ""}
    text = text.partition(END)[0]
    labels = list(_LABELS.finditer(text))
    for place, match in enumerate(labels):
        end = labels[place + 1].start() if place + 1 < len(labels) else len(text)
        name = match["label"].lower()
        found["type" if "task" in name else name] = f"{match['rest']}\n{text[match.end() : end]}".strip()
    steps = items(found["plan"] if labels else text)
    return Decomposition(_one_line(found["type"]), thought(found["thought"]), bounded(steps))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:80]


PLANNER: Role[Decomposition] = Role("planner", _strict, _lenient, stop=(END,))
