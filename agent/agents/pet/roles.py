"""The roles of PET: a planner of sub-tasks, an eliminator, a tracker (section 3), and how yes and no are read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import partial

from housequest.agent.models.base import Request
from housequest.agent.models.forms import Choice, Form, Listed, Name
from housequest.agent.roles.base import ReplyError, Role, load_prompt
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, asked, told
from housequest.agent.roles.reading import json_fields
from housequest.knowledge.examples import subtask_words, subtasks_of_goal

PACKAGE = "housequest.agent.agents.pet"

# Yes-or-no questions: how the answer is read, and how sure the model was.

ALTERNATIVES = 10
"""How many of the likeliest first words are requested; yes and no are among them if they are an answer at all."""

_BEGUN = re.compile(r"[\W_]{0,8}(?:(?:the |my )?answer\b\W{0,8}(?:is\b\W{0,4})?)?(?P<word>yes|no)\b", re.IGNORECASE)
_ANSWER = re.compile(r"\banswer\b\W{0,8}(?:is\b\W{0,4})?(?P<word>yes|no)\b", re.IGNORECASE)


def _read_verdict(text: str) -> bool:
    """Yes or no, at the beginning of the reply or given as its answer."""
    found = _BEGUN.match(text) or _ANSWER.search(text)
    if found is None:
        raise ReplyError('it is neither "Yes" nor "No".')
    return found["word"].lower() == "yes"


def probability(alternatives: Sequence[tuple[str, float]]) -> float | None:
    """p(yes) against p(no) from the log-probabilities (nats) of a reply's first words; None if neither is among them."""
    masses = {"yes": 0.0, "no": 0.0}
    for text, logprob in dict(alternatives).items():
        word = text.strip(" \t\r\n\"'*▁Ġ").rstrip(".,").lower()
        if word in masses and not math.isnan(logprob):
            masses[word] += math.exp(min(logprob, 0.0))
    total = sum(masses.values())
    return masses["yes"] / total if total else None


# The planner (section 3.1): turns a task into a list of sub-tasks, from examples in question-and-answer form.

LONGEST_SUBTASK = 120
MOST_SUBTASKS = 20
"""The longest task has six."""

_WORDS = re.compile(r"[A-Za-z][\w '/-]*")
_ITEM = re.compile(r"^\s*(?:(?:step\s*|sub-?task\s*)?\d{1,3}\s*[.):]|[-*•])\s*(?P<subtask>\S.*)$", re.IGNORECASE)
_LABEL = re.compile(r"^[\W_]*(?:answer|sub-?tasks|(?:middle )?steps|plan)\b[\s*_`]*[:=]\s*", re.IGNORECASE)
_THEN = re.compile(r"^(?:and |then |and then |finally )", re.IGNORECASE)


def plan_question(task: str, shots: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The planner's question: the examples, each a task with its sub-tasks, then the task."""
    prompt = load_prompt(PACKAGE, "subtasks")
    parts = [prompt.render("example", task=bare(shown), subtasks=", ".join(steps)) for shown, steps in shots]
    return "\n\n".join([*parts, prompt.render("question", task=bare(task))])


def bare(task: str) -> str:
    """A task as part of a sentence: on one line, without its full stop."""
    return " ".join(task.split()).rstrip(".")


def _read_plan(text: str) -> tuple[str, ...]:
    exact = text.removesuffix(".").split(", ")
    if all(map(_WORDS.fullmatch, exact)):
        return _bounded(exact)
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


SUBTASKS: Role[tuple[str, ...]] = Role("subtasks", _read_plan, form=Form((("subtasks", Listed(Name(60), 10, between=", ")),)))

# The tracker (section 3.3): whether the last few steps finished the present sub-task.

CONTEXT = 3
"""Steps that are shown at most."""

_VERDICT = Form((("answer", Choice(("Yes", "No"))),))

TRACKER: Role[bool] = Role("tracker", _read_verdict, form=_VERDICT)


# The eliminator (section 3.2): how relevant places and objects are. Either each name is a yes-or-no question of its own, or one
# question lists all names and the model writes a number behind each.

ELIMINATOR = "eliminator"

MOST_LISTED = 40
"""Names in one question, so that the answer fits into a reply."""

_EXACT = re.compile(r"(?P<name>.+): (?P<score>0(?:\.\d{1,9})?|1(?:\.0{1,9})?)", re.ASCII)
_LINE = re.compile(
    r"(?P<name>[A-Za-z][\w-]{0,59} \d{1,6})[\"'*`]{0,4}\s{0,3}[:=\u2013-]\s{0,3}[\"'*`]{0,4}"
    r"(?P<score>\d{1,3}(?:\.\d{1,9})?|\.\d{1,9})(?P<percent>\s?%)?(?![\w.]*\w)"
)


def listing(names: Sequence[str]) -> Role[Mapping[str, float]]:
    """The role that scores all ``names`` in one reply; a name that it leaves out has no score."""
    lines = [(f"{chr(10) if at else ''}{name}: ", (name, _TENTHS)) for at, name in enumerate(names)]
    return Role(ELIMINATOR, partial(_read_scores, names), form=Form(tuple(part for line in lines for part in line)))


_TENTHS = Choice(("0", *(f"0.{tenth}" for tenth in range(1, 10)), "1"))

ONE: Role[bool] = Role(ELIMINATOR, _read_verdict, form=_VERDICT)
"""The role that is asked about a single name."""


def _read_scores(names: Sequence[str], text: str) -> Mapping[str, float]:
    exact = [_EXACT.fullmatch(line) for line in text.splitlines()]
    scores: dict[str, float] = {line["name"]: float(line["score"]) for line in exact if line}
    if all(exact) and scores.keys() == set(names):
        return scores
    known = {name.lower(): name for name in names}
    scores = {}
    for found in _LINE.finditer(text):
        score = float(found["score"]) / (100 if found["percent"] else 1)
        if (name := known.get(found["name"].lower())) is not None and score <= 1:
            scores.setdefault(name, score)
    if not scores:
        raise ReplyError("there is no line that has a name with a number between 0 and 1.")
    return scores


# What an expert replies in these roles.


def _subtasks(knows: Demonstrator, request: Request) -> Reply:
    del request
    return Reply(", ".join(subtasks_of_goal(knows.goal)))


def _tracker(knows: Demonstrator, request: Request) -> Reply:
    """A part is finished where no more is left of the goal than what comes after it."""
    work = told(asked(request), "The work: ")
    parts, rest = subtasks_of_goal(knows.goal), len(knows.left())
    return Reply("Yes" if any(part == work and rest == len(parts) - at for at, part in enumerate(parts, 1)) else "No")


def _eliminator(knows: Demonstrator, request: Request) -> Reply:
    """What matters for the sub-task, or for the task: a number for each name, or a word for one."""
    target, (question, *names) = told(asked(request), "What is to be done: "), asked(request).partition("\n\n")[2].splitlines()
    whole = knows.goal.steps()
    parts = tuple(one for one in whole if subtask_words(one) == target) or whole
    verdicts = {name: knows.matters(name, parts, place="going there" in question) for name in names}
    if question.startswith("How likely"):
        return Reply("\n".join(f"{name}: {int(matters)}" for name, matters in verdicts.items()))
    return Reply("Yes" if any(verdicts.values()) else "No")


ROLES = (
    DemonstratedRole(PACKAGE, "subtasks", _subtasks),
    DemonstratedRole(PACKAGE, "tracker", _tracker),
    DemonstratedRole(PACKAGE, "eliminator", _eliminator),
)
