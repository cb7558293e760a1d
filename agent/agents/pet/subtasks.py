"""The planner of PET: a task to a list of sub-tasks, from examples in a question-and-answer form (PET, section 3.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.roles.base import ReplyError, Role, load_prompt
from agent.roles.reading import json_fields

LONGEST_SUBTASK = 120
MOST_SUBTASKS = 20
"""The longest task has six; an endless list is no plan."""

_WORDS = re.compile(r"[A-Za-z][\w '/-]*")
_ITEM = re.compile(r"^\s*(?:(?:step\s*|sub-?task\s*)?\d{1,3}\s*[.):]|[-*•])\s*(?P<subtask>\S.*)$", re.IGNORECASE)
_LABEL = re.compile(r"^[\W_]*(?:answer|sub-?tasks|(?:middle )?steps|plan)\b[\s*_`]*[:=]\s*", re.IGNORECASE)
_THEN = re.compile(r"^(?:and |then |and then |finally )", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Shot:
    """An example: a task with its sub-tasks."""

    task: str
    subtasks: tuple[str, ...]


def question(task: str, shots: Sequence[Shot]) -> str:
    """What the planner is asked: the examples, then the task."""
    prompt = load_prompt("subtasks")
    parts = [prompt.render("example", task=bare(shot.task), subtasks=", ".join(shot.subtasks)) for shot in shots]
    return "\n\n".join([*parts, prompt.render("question", task=bare(task))])


def bare(task: str) -> str:
    """A task as part of a sentence: on one line, without its full stop."""
    return " ".join(task.split()).rstrip(".")


def _strict(text: str) -> tuple[str, ...]:
    steps = text.removesuffix(".").split(", ")
    if not all(_WORDS.fullmatch(step) for step in steps):
        raise ReplyError("there is no single line of sub-tasks with commas between them.")
    return _bounded(steps)


def _lenient(text: str) -> tuple[str, ...]:
    fields = json_fields(text)
    listed = next((fields[key] for key in ("subtasks", "sub-tasks", "steps", "plan", "answer") if key in fields), text)
    lines = [line for line in (_LABEL.sub("", line).strip() for line in listed.splitlines()) if line and "```" not in line]
    items = [match["subtask"] for match in map(_ITEM.match, lines) if match]
    if not items:
        if len(lines) != 1:
            raise ReplyError("there is no single line of sub-tasks with commas between them.")
        items = re.split(r",|;|->|→", lines[0])
    steps = [_THEN.sub("", item.strip().strip(" \t*_`\"'")).rstrip(".").strip() for item in items]
    return _bounded([step for step in steps if step])


def _bounded(steps: Sequence[str]) -> tuple[str, ...]:
    if len(steps) > MOST_SUBTASKS:
        raise ReplyError(f"there are more than {MOST_SUBTASKS} sub-tasks.")
    if not steps or not all(step.isprintable() and any(map(str.isalpha, step)) for step in steps):
        raise ReplyError("there are no sub-tasks in plain words.")
    if any(len(step) > LONGEST_SUBTASK for step in steps):
        raise ReplyError(f"a sub-task is longer than {LONGEST_SUBTASK} characters.")
    return tuple(" ".join(step.split()) for step in steps)


SUBTASKS: Role[tuple[str, ...]] = Role("subtasks", _strict, _lenient)
