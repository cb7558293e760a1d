"""The executor: a thought and one skill with its target, until the subtask is done (OPEx, section 3, "LLM-based Executor").

The skills are the paper's, fitted to a household in text: what ALFRED does by placing and toggling is one command here, so
that ``Heat``, ``Cool`` and ``Clean`` are skills of their own and ``Use`` stands for switching on.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from agent.roles.base import ReplyError, Role
from agent.roles.reading import json_fields, labelled, thought
from agent.skills.skill import Skill, Verb

Move = Literal["play", "finish", "replan"]
LONGEST_TARGET = 80

SKILLS: dict[str, str] = {
    "NavigateTo": "go to a place, or to a thing; one that was not found yet is looked for",
    "Explore": "look into one more place of the room; no target",
    "LookAround": "look around where you are; no target",
    "Pick": "pick up a thing",
    "Put": "put what you hold in or on a place",
    "Open": "open a place",
    "Close": "close a place",
    "Heat": "heat what you hold",
    "Cool": "cool what you hold",
    "Clean": "clean what you hold",
    "Use": "switch on a thing, such as a lamp",
    "Slice": "slice a thing with the knife that you hold",
    "RequireReplan": "ask for another plan, when this one cannot be followed; no target",
}
"""The skill library, with what is said of each."""

_VERBS: dict[str, Verb] = {
    "NavigateTo": "go",
    "Explore": "explore",
    "LookAround": "look",
    "Pick": "pick",
    "Put": "put",
    "Open": "open",
    "Close": "close",
    "Heat": "heat",
    "Cool": "cool",
    "Clean": "clean",
    "Use": "use",
    "Slice": "slice",
}
_ALSO = {
    "goto": "NavigateTo",
    "navigate": "NavigateTo",
    "find": "NavigateTo",
    "lookaround": "LookAround",
    "look": "LookAround",
    "pickup": "Pick",
    "take": "Pick",
    "place": "Put",
    "putdown": "Put",
    "move": "Put",
    "toggle": "Use",
    "toggleon": "Use",
    "turnon": "Use",
    "switchon": "Use",
    "replan": "RequireReplan",
    "requirereplanning": "RequireReplan",
}
_NAMES = {name.lower(): name for name in SKILLS} | _ALSO
_ORDER = re.compile(r"\b(?P<head>Play|Finish)\s*[\[(](?P<rest>[^\])\n]{0,200})[\])]", re.IGNORECASE)
_BARE = re.compile(
    r"[\W_]{0,40}(?P<name>[A-Za-z][A-Za-z _]{2,30}?)\s{0,8}"
    r"(?:[\[(](?P<rest>[^\])\n]{0,200})[\])]|,(?P<more>[^\n]{0,200}))?[\W_]{0,40}"
)
_STRICT = re.compile(r"Thought: (?P<thought>[^\n]+)\nAction: (?P<order>(?:Play|Finish)\[[^\]\n]+\])")
_BETWEEN = re.compile(r"\s*(?:,|\b(?:with|into|inside|onto|in|on|to|from)\b)\s*", re.IGNORECASE)
_NOTHING = frozenset({"", "none", "null", "n/a", "nothing"})


@dataclass(frozen=True, slots=True)
class Order:
    """What the executor wants: ``skill`` by its name in the library with up to two targets, or the end of the subtask.

    ``done`` is whether a subtask that is finished is said to be done.
    """

    thought: str
    move: Move
    skill: str = ""
    targets: tuple[str, ...] = ()
    done: bool = True

    def as_skill(self) -> Skill:
        """The skill that is carried out."""
        first, second = (*self.targets, None, None)[:2]
        return Skill(_VERBS[self.skill], first, second)


def library(left_out: Collection[str] = ()) -> str:
    """The skills in words, one a line."""
    return "\n".join(f"{name}: {about}" for name, about in SKILLS.items() if name not in left_out)


def _strict(text: str) -> Order:
    match = _STRICT.fullmatch(text)
    found = _ORDER.fullmatch(match["order"]) if match else None
    if match is None or found is None:
        raise ReplyError('there are no two lines "Thought: ..." and "Action: Play[skill, target]" or "Action: Finish[yes]".')
    return _order(thought(match["thought"]), found["head"], found["rest"])


def _lenient(text: str) -> Order:
    said = ""
    for label, rest in labelled(text):
        if label in {"action", "act", "command"}:
            return _said(said, rest.split("\n")[0])
        if label in {"thought", "think", "reasoning"}:
            said = thought(rest)
    fields = json_fields(text)
    if "action" in fields:
        target = fields.get("target", "")
        action = fields["action"] if "[" in fields["action"] or not target else f"Play[{fields['action']}, {target}]"
        return _said(thought(fields.get("thought", "")), action)
    found = _ORDER.search(text)
    if found:
        return _order(thought(text[: found.start()].partition("Action:")[0]), found["head"], found["rest"])
    raise ReplyError('there is no line that begins with "Action:" and holds Play[skill, target] or Finish[yes].')


def _said(said: str, action: str) -> Order:
    found = _ORDER.search(action)
    if found:
        return _order(said, found["head"], found["rest"])
    bare = _BARE.fullmatch(action.strip())
    if bare is None:
        raise ReplyError("the action is neither Play[skill, target] nor Finish[yes].")
    if bare["name"].strip().lower() == "finish":
        return _order(said, "Finish", bare["rest"] or "yes")
    return _order(said, "Play", f"{bare['name']}, {bare['rest'] or bare['more'] or ''}")


def _order(said: str, head: str, rest: str) -> Order:
    if head.lower() == "finish":
        return Order(said, "finish", done=not rest.strip().lower().startswith(("no", "fail", "false")))
    name, _, targets = rest.partition(",")
    known = _NAMES.get(re.sub(r"[\s_'\"]|object", "", name.lower()))
    if known is None:
        raise ReplyError(f"there is no skill called {name.strip()[:40]!r}; the skills are {', '.join(SKILLS)}.")
    if known == "RequireReplan":
        return Order(said, "replan")
    given = [part.strip(" '\"")[:LONGEST_TARGET] for part in _BETWEEN.split(targets)]
    return Order(said, "play", known, tuple(part for part in given if part.lower() not in _NOTHING)[:2])


EXECUTOR: Role[Order] = Role("executor", _strict, _lenient, stop=("\nObservation:",))
