"""The roles of OPEx: planner, observer and executor (section 3, figures 3 and 4), and belief in words for their prompts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, cast

from housequest.agent.models.forms import LONGEST_THOUGHT, THOUGHT, Choice, Either, Form, Listed, Name, Words
from housequest.agent.roles.base import ReplyError, Role
from housequest.agent.roles.reading import ACTIONS, THOUGHTS, bounded, items, json_fields, labelled, thought
from housequest.worlds.base import World
from housequest.worlds.household.goals import Skill, Verb

# The planner (section 3, "LLM-based Planner", figure 3): the kind of task, a thought, and a numbered plan.

END = "<END_OF_PLAN>"

_WORDS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("roles.toml").read_text("utf-8"))

KINDS = _WORDS["kinds"]
"""The planner's words for the types of task. It is told those of its world; the types' own names only if granted."""


def kinds_in(world: World) -> Mapping[str, str]:
    """The planner's words for the types of task in ``world``: its own if it has any."""
    return KINDS if world.household is None else world.household.terms.kinds or KINDS


_PLAN_LABELS = re.compile(
    r"(?im)^[\W_]{0,40}(?P<label>task type|type of task|kind of task|thought|plan)\b[\s*_`]*[:：][ \t*_`]*(?P<rest>.*)$"
)


class TaskPlan(NamedTuple):
    """The kind of task, a thought, and the subtasks."""

    kind: str
    thought: str
    steps: tuple[str, ...]


def _read_plan(text: str) -> TaskPlan:
    fields = json_fields(text)
    if "plan" in fields:
        kind = fields.get("task type", fields.get("task_type", ""))
        return TaskPlan(_one_line(kind), thought(fields.get("thought", "")), bounded(items(fields["plan"])))
    found = {"type": "", "thought": "", "plan": ""}
    text = text.partition(END)[0]
    labels = list(_PLAN_LABELS.finditer(text))
    for match, end in zip(labels, [*(label.start() for label in labels[1:]), len(text)], strict=False):
        name = match["label"].lower()
        found["type" if "task" in name else name] = f"{match['rest']}\n{text[match.end() : end]}".strip()
    steps = items(found["plan"] if labels else text)
    return TaskPlan(_one_line(found["type"]), thought(found["thought"]), bounded(steps))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:80]


PLANNER: Role[TaskPlan] = Role("planner", _read_plan, stop=(END,))


def planner_form(kinds: Mapping[str, str]) -> Form:
    """The form of the planner's replies, for these types of task."""
    return Form(
        (
            *("Task type: ", ("type", Choice(tuple(kinds.values())))),
            *("\nThought: ", (THOUGHT, Words(LONGEST_THOUGHT))),
            *("\nPlan:\n", ("plan", Listed(Words(120), 12, first=0))),
        )
    )


# The observer (section 3, "LLM-based Observer", figure 4): describes the state for the subtask. It gets no examples and keeps
# no conversation, which would cost more than its cached prefix saves. The paper's reads detections; this one, belief.

LONGEST_DESCRIPTION = 1_500

_DESCRIPTION_LABEL = re.compile(r"(?is)\A.*?^[\W_]{0,40}(?:observation|description)\b[\s*_`]*[:：]", re.MULTILINE)


def _read_description(text: str) -> str:
    described = json_fields(text).get("observation")
    label = None if described else _DESCRIPTION_LABEL.match(text)
    if described is None and label is None:
        raise ReplyError('there is no line that begins with "Observation:".')
    description = " ".join((described or text[label.end() if label else 0 :]).split())[:LONGEST_DESCRIPTION]
    if not description:
        raise ReplyError("the observation is empty.")
    return description


OBSERVER: Role[str] = Role(
    "observer", _read_description, stop=("\nObjective:",), form=Form(("Observation: ", ("observation", Words(800))))
)

# The executor (section 3, "LLM-based Executor"): a thought and one skill with its target. The skills are the paper's, adapted
# to a text household: heating, cooling and cleaning are one command here, and ``Use`` switches on.

CallKind = Literal["play", "finish", "replan"]
LONGEST_TARGET = 80

SKILLS = _WORDS["skills"]  # The skill library, with a description of each.
TREATING = ("Heat", "Cool", "Clean", "Slice")  # Skills that are only possible in households that treat things.

_VERBS: dict[str, Verb] = {"NavigateTo": "go", "LookAround": "look"}
_NAMES = {name.lower(): name for name in SKILLS} | {
    word: name for name, words in _WORDS["words"].items() for word in words.split()
}
_CALL = re.compile(r"\b(?P<head>Play|Finish)\s*[\[(](?P<rest>[^\])\n]{0,200})[\])]", re.IGNORECASE)
_BARE = re.compile(
    r"[\W_]{0,40}(?P<name>[A-Za-z][A-Za-z _]{2,30}?)\s{0,8}"
    r"(?:[\[(](?P<rest>[^\])\n]{0,200})[\])]|,(?P<more>[^\n]{0,200}))?[\W_]{0,40}"
)
_EXACT_CALL = re.compile(r"Thought: (?P<thought>[^\n]+)\nAction: (?P<order>(?:Play|Finish)\[[^\]\n]{1,200}\])")
_BETWEEN = re.compile(r"\s*(?:,|\b(?:with|into|inside|onto|in|on|to|from)\b)\s*", re.IGNORECASE)
_NOTHING = frozenset({"", "none", "null", "n/a", "nothing"})


class SkillCall(NamedTuple):
    """The executor's answer: a ``skill`` of the library with up to two targets, or the end of the subtask. ``done``: the
    subtask succeeded, according to the model."""

    thought: str
    move: CallKind
    skill: str = ""
    targets: tuple[str, ...] = ()
    done: bool = True

    def as_skill(self) -> Skill:
        first, second = (*self.targets, None, None)[:2]
        return Skill(_VERBS.get(self.skill) or cast("Verb", self.skill.lower()), first, second)


def _read_call(text: str) -> SkillCall:
    # An exact reply may name anything, also with characters that end a line.
    if exact := _EXACT_CALL.fullmatch(text):
        return _read_action(thought(exact["thought"]), exact["order"])
    said = ""
    for label, rest in labelled(text):
        if label in ACTIONS:
            return _read_action(said, rest.split("\n")[0])
        if label in THOUGHTS:
            said = thought(rest)
    fields = json_fields(text)
    if "action" in fields:
        target = fields.get("target", "")
        action = fields["action"] if "[" in fields["action"] or not target else f"Play[{fields['action']}, {target}]"
        return _read_action(thought(fields.get("thought", "")), action)
    if found := _CALL.search(text):
        return _call(thought(text[: found.start()].partition("Action:")[0]), found["head"], found["rest"])
    raise ReplyError('there is no line that begins with "Action:" and holds Play[skill, target] or Finish[yes].')


def _read_action(said: str, action: str) -> SkillCall:
    if found := _CALL.search(action):
        return _call(said, found["head"], found["rest"])
    bare = _BARE.fullmatch(action.strip())
    if bare is None:
        raise ReplyError("the action is neither Play[skill, target] nor Finish[yes].")
    if bare["name"].strip().lower() == "finish":
        return _call(said, "Finish", bare["rest"] or "yes")
    return _call(said, "Play", f"{bare['name']}, {bare['rest'] or bare['more'] or ''}")


def _call(said: str, head: str, rest: str) -> SkillCall:
    if head.lower() == "finish":
        return SkillCall(said, "finish", done=not rest.strip().lower().startswith(("no", "fail", "false")))
    name, _, targets = rest.partition(",")
    known = _NAMES.get(re.sub(r"[\s_'\"]|object", "", name.lower()))
    if known is None:
        raise ReplyError(f"there is no skill called {name.strip()[:40]!r}; the skills are {', '.join(SKILLS)}.")
    if known == "RequireReplan":
        return SkillCall(said, "replan")
    given = [part.strip(" '\"")[:LONGEST_TARGET] for part in _BETWEEN.split(targets)]
    return SkillCall(said, "play", known, tuple(part for part in given if part.lower() not in _NOTHING)[:2])


EXECUTOR: Role[SkillCall] = Role("executor", _read_call, stop=("\nObservation:",))

_ALONE = ("LookAround", "Explore", "RequireReplan")  # The skills that take no target.


def executor_form(library: Collection[str]) -> Form:
    """The form of the executor's replies, with the skills of ``library``."""
    aimed = Choice(tuple(name for name in library if name not in _ALONE))
    alone = Choice(tuple(name for name in library if name in _ALONE))
    calls = Either(
        (
            Form(("Play[", ("play", aimed), ", ", ("target", Name(40)), "]")),
            Form(("Play[", ("play", alone), ", None]")),
            Form(("Finish[", ("finish", Choice(("yes", "no"))), "]")),
        )
    )
    return Form(("Thought: ", (THOUGHT, Words(LONGEST_THOUGHT)), "\nAction: ", ("action", calls)))
