"""The roles of the Socratic Planner: questioner or decomposer (section 3.3), planner (3.4) and advisor (3.5)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from housequest.agent.models.forms import LONGEST_THOUGHT, Choice, Either, Form, Listed, Name, Words
from housequest.agent.roles.base import ReplyError, Role, load_prompt
from housequest.agent.roles.reading import thought
from housequest.agent.roles.subgoals import TRIPLE_NAMES, Subgoal, as_triple, read_subgoals

PACKAGE = "housequest.agent.agents.socratic"

# The questioner (section 3.3): asks itself questions about a task and answers them.

MOST_QUESTIONS = 40
LONGEST_ANSWER = 1_000

_EXACT_LINE = re.compile(r"(?P<mark>[QA])(?P<number>\d{1,2}): ?(?P<words>\S.*)")
_LABEL = re.compile(
    r"^[\W_\d]{0,8}(?P<mark>q|a|question|answer)\s?\d{0,3}[\s*_`]{0,4}[:.)：][\s*_`]{0,4}(?P<words>.*)$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question with its answer, both the model's own."""

    question: str
    answer: str


def dialogue_text(dialogue: Sequence[Exchange]) -> str:
    """The dialogue as the planner's prompt has it."""
    return "\n".join(f"Q{at}: {each.question}\nA{at}: {each.answer}" for at, each in enumerate(dialogue, 1))


def _read_dialogue(text: str) -> tuple[Exchange, ...]:
    exact = [_EXACT_LINE.fullmatch(line.strip()) for line in text.splitlines() if line.strip()]
    marks = [f"{line['mark']}{line['number']}" if line else "" for line in exact]
    in_turn = marks == [f"{mark}{at}" for at in range(1, len(exact) // 2 + 1) for mark in "QA"]
    said: list[tuple[str, str]] = []
    if in_turn:
        said = [(line["mark"].lower(), line["words"]) for line in exact if line]
    else:
        for line in text.splitlines():
            if label := _LABEL.match(line):
                said.append((label["mark"][0].lower(), label["words"].strip(" *_`")))
            elif said and line.strip():
                mark, words = said[-1]
                said[-1] = (mark, f"{words} {line.strip()}".strip())
    found = tuple(
        Exchange(question[:LONGEST_ANSWER], answer[:LONGEST_ANSWER])
        for (first, question), (second, answer) in pairwise(said)
        if (first, second) == ("q", "a") and question and answer
    )
    if not found:
        raise ReplyError('there is no question with its answer, as in "Q1: ..." and "A1: ...".')
    if len(found) > MOST_QUESTIONS:
        raise ReplyError(f"there are more than {MOST_QUESTIONS} questions.")
    return found


_EXCHANGE = Form(("Q#: ", ("question", Words(200)), "\nA#: ", ("answer", Words(300))))

QUESTIONER: Role[tuple[Exchange, ...]] = Role("questioner", _read_dialogue, form=Form((("dialogue", Listed(_EXCHANGE, 12)),)))

# The decomposer: chain of thought in place of questions, as in the paper's ablation (section 4.4, table 3). Its prompt is the
# questioner's without questions, answers and things to discover.

LONGEST_REASONING = 8_000
"""Characters that the planner is shown; a reply within the default token limit is shorter."""


def _read_reasoning(text: str) -> str:
    if not any(character.isalpha() for character in text):
        raise ReplyError("nothing was thought in it.")
    return text[:LONGEST_REASONING].rstrip()


DECOMPOSER: Role[str] = Role("decomposer", _read_reasoning)

# The planner (sections 3.4 and 3.5): turns a dialogue into subgoals, and revises them.

_NAMES = tuple(TRIPLE_NAMES.values())
_EXACT_PLAN = re.compile(r"(?s)Change:(?P<words>.*?)\nPlan:\n(?:\d{1,2}\. \(\w+, [\w ]{1,60}(?:, [\w ]{1,60})?\)\s*)+")
_CHANGE = re.compile(r"(?im)^[\W_]{0,40}change\b[\s*_`]*[:：][\s*_`]*(?P<words>.*)$")


@dataclass(frozen=True, slots=True)
class SubgoalPlan:
    """A plan, with what it changes about the one before, by the model's word; may be empty."""

    change: str
    subgoals: tuple[Subgoal, ...]


def numbered_subgoals(plan: Sequence[Subgoal]) -> str:
    """A plan as numbered lines, in the form that the planner shall write."""
    return "\n".join(f"{number}. {as_triple(subgoal)}" for number, subgoal in enumerate(plan, 1))


def planner_instructions(names: Sequence[str] = _NAMES) -> str:
    """The planner's system message; ``names`` are the actions that are allowed."""
    household = load_prompt(PACKAGE, "socratic")
    return load_prompt(PACKAGE, "socratic_planner").render(
        "system", subtask=household.render("subtask"), rules=household.render("rules"), actions=", ".join(names)
    )


def _read_plan(text: str) -> SubgoalPlan:
    change = _EXACT_PLAN.fullmatch(text) or _CHANGE.search(text)
    return SubgoalPlan(thought(change["words"]) if change else "", read_subgoals(text, _NAMES))


def plan_form(names: Sequence[str] = _NAMES) -> Form:
    """The form of a plan of these actions."""
    others = Choice(tuple(name for name in names if name != TRIPLE_NAMES["put"]))
    triple = Either(
        (
            Form(("(", ("action", others), ", ", ("object", Name(40)), ")")),
            Form((f"({TRIPLE_NAMES['put']}, ", ("put", Name(40)), ", ", ("place", Name(40)), ")")),
        )
    )
    return Form(("Plan:\n", ("plan", Listed(triple, 20, first=1))))


def revised_form(names: Sequence[str] = _NAMES) -> Form:
    """The form of a plan that is made anew, which says first what changes."""
    return Form(("Change: ", ("change", Words(LONGEST_THOUGHT)), "\n", *plan_form(names).parts))


SOCRATIC_PLANNER: Role[SubgoalPlan] = Role("planner", _read_plan, form=plan_form())

# The advisor (section 3.5): is a failed subgoal valid, and why did it fail? The paper asks a vision-language model about an
# image; here the same language model reads the observation's text.

LONGEST_CAUSE = 500

_VALID = re.compile(
    r"(?im)^[\W_]{0,40}(?:(?:valid\b[\s*_`]{0,8}|answer)[:：][\s*_`\"']{0,40})?(?P<word>yes|no|true|false|valid|invalid)\b"
)
_ANYWHERE = re.compile(r"\b(?P<not>in|not )?valid\b", re.IGNORECASE)
_CAUSE = re.compile(r"(?is)\bcause\b[\s*_`]*[:：][\s*_`]*(?P<words>.*)")


def _read_validity(text: str) -> bool:
    if found := _VALID.search(text):
        return found["word"].lower() in {"yes", "true", "valid"}
    words = {bool(each["not"]) for each in _ANYWHERE.finditer(text)}
    if len(words) != 1:
        raise ReplyError('the answer is neither "Valid: yes" nor "Valid: no".')
    return words == {False}


def _read_cause(text: str) -> str:
    if text.startswith("Cause: ") and "\n" not in text and len(text) <= LONGEST_CAUSE:
        return thought(text.removeprefix("Cause:"))
    found = _CAUSE.search(text)
    words = " ".join((found["words"] if found else text).split())
    if not any(character.isalpha() for character in words):
        raise ReplyError("no cause is given.")
    return words[:LONGEST_CAUSE]


VALIDITY: Role[bool] = Role("advisor", _read_validity, form=Form(("Valid: ", ("valid", Choice(("yes", "no"))))))
CAUSE: Role[str] = Role("advisor", _read_cause, form=Form(("Cause: ", ("cause", Words(LONGEST_CAUSE - 100)))))
