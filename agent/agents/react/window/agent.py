"""ReAct whose prompt has the goal and the last few steps (Feng et al., GiGPO, 2025: verl-agent's prompts for ALFWorld), in our
words or in those of a user's copy of verl-agent's file, for models that were trained on them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Act, Decision, Emitter, Grants, ParseFailure, Turn
from housequest.agent.models.forms import LONGEST_THOUGHT, THOUGHT, Form, Value, Words
from housequest.agent.roles.base import ReplyError, Role, ask, load_prompt
from housequest.agent.roles.messages import additions, emit_rules, emit_thought, for_world
from housequest.agent.roles.reading import LONGEST_COMMAND, command_value, seen_after, thought
from housequest.worlds.base import Observation
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.household.belief import Belief
from housequest.worlds.paths import given_path, read_file

if TYPE_CHECKING:
    from housequest.agent.agents.react import ReactSettings

_THOUGHT = re.compile(r"<think(?:ing)?>(?P<thought>.*?)(?:</think|\Z)", re.DOTALL | re.IGNORECASE)
_BEGIN, _END = "<action>", "</action>"
_LAST = 30
"""Letters at the end of a reply that are played where nothing stands between the marks of an action."""
_UNLISTED = "help"
"""What can be done and is not listed."""


def _read(text: str) -> str:
    """The command of a reply, as verl-agent reads it: in small letters, between the marks, else the reply's end."""
    lowered = text.lower()
    start, end = lowered.find(_BEGIN), lowered.find(_END)
    said = lowered[-_LAST:] if -1 in (start, end) else lowered[start + len(_BEGIN) : end]
    command = " ".join(said.split())
    if not command or len(command) > LONGEST_COMMAND or not command.isprintable():
        raise ReplyError("there is no command between <action> and </action>.")
    return command


REACT: Role[str] = Role("react", _read, reasoning=True)


def _marked_form(command: Value | None) -> Form | None:
    if command is None:
        return None
    return Form(("<think>", (THOUGHT, Words(LONGEST_THOUGHT)), "</think>\n<action>", ("action", command), "</action>"))


@dataclass(frozen=True, slots=True)
class WindowMemory:
    """The goal and opening, the steps with what was seen before each, and what is seen now.

    ``known`` is all that was seen, whose names a held command may have.
    """

    goal: str
    opening: str
    grants: Grants
    seen: str
    steps: tuple[tuple[str, str], ...] = ()
    known: Belief | None = None


class WindowReact:
    """Thinks and acts on a prompt that is rendered anew for each step. Calls a step: 1; needs a chat model.

    Replies are read as verl-agent reads them, and no second one is asked for, unless one that was held broke off. The prompt
    has the goal, the last ``window`` steps, what is seen now, and the admissible commands if they are granted, else the forms
    of commands; or it is that of a copy of verl-agent's file (``window_prompt``). Nothing else is remembered, so a model that
    was not trained on it searches places again; no prefix of it can be cached beyond its first words.
    """

    name = "react"

    def __init__(self, parts: AgentParts[ReactSettings]) -> None:
        self._model, self._sampling, self._world = parts.model, parts.sampling, parts.world
        self._window = parts.settings.window
        self._prompt = load_prompt("housequest.agent.agents.react.window", "window")
        theirs = parts.settings.window_prompt
        self._templates = read_templates(given_path(theirs)) if theirs else None

    def begin(self, goal: str, observation: Observation, grants: Grants) -> WindowMemory:
        if self._templates is not None and not grants.admissible:
            raise ConfigurationError("verl-agent's prompts list what can be done; give --grant admissible with window_prompt.")
        return WindowMemory(goal, observation.text, grants, observation.text)

    async def decide(self, memory: WindowMemory, turn: Turn, emit: Emitter) -> tuple[Decision, WindowMemory]:
        for each in turn.transitions:
            memory = replace(memory, steps=(*memory.steps, (memory.seen, each.command)), seen=str(each.observation))
        known = seen_after(self._world.household, memory.known, Observation(memory.opening), turn.transitions)
        memory = replace(memory, known=known)
        role = REACT.held_to(_marked_form(command_value(self._world, known, turn.admissible)))
        text = self._rendered(memory, turn.admissible)
        text += additions(replace(turn, admissible=None), (), memory.grants, first=True)
        emit_rules(turn.rules, (), emit)
        answer = await ask(role, self._model, (), text, emit, self._sampling, image=turn.image, once=True)
        if answer.value is None:
            return ParseFailure(REACT.name, answer.reason), memory
        if found := _THOUGHT.search(answer.conversation[-1].content):
            emit_thought(REACT.name, thought(found["thought"]), emit)
        return Act(answer.value), memory

    def _rendered(self, memory: WindowMemory, admissible: tuple[str, ...] | None) -> str:
        possible = [command for command in admissible or () if command != _UNLISTED]
        if self._templates is not None:
            return self._in_its_words(self._templates, memory, possible)
        listed = self._prompt.render("listed", commands="\n".join(possible))
        commands = self._prompt.render("manual", manual=self._world.manual) if admissible is None else listed
        shared = {"observation": memory.seen, "commands": commands, "form": self._prompt.render("form")}
        if not memory.steps:
            return for_world(self._prompt.render("opening", **shared), self._world)
        taken = len(memory.steps)
        first = max(0, taken - self._window)
        history = [
            self._prompt.render("step", number=str(number), observation=seen, command=command)
            for number, (seen, command) in enumerate(memory.steps[first:], first + 1)
        ]
        text = self._prompt.render(
            "turn",
            goal=memory.goal,
            taken=f"{taken} step{'' if taken == 1 else 's'}",
            number=str(taken + 1),
            history="\n".join(history),
            **shared,
        )
        return for_world(text, self._world)

    def _in_its_words(self, templates: Templates, memory: WindowMemory, possible: Sequence[str]) -> str:
        """The prompt of verl-agent, whose lists are written as it writes them."""
        listed = "\n ".join(f"'{command}'" for command in possible)
        now = {"current_observation": memory.seen, "admissible_actions": listed}
        if not memory.steps:
            return filled(templates.first, now)
        taken = len(memory.steps)
        last = list(enumerate(memory.steps, 1))[-self._window :]
        history = (f"[Observation {number}: '{seen}', Action {number}: '{command}']" for number, (seen, command) in last)
        numbers = {"step_count": taken, "history_length": len(last), "current_step": taken + 1}
        told = {"task_description": memory.goal, "action_history": "\n".join(history)}
        return filled(templates.later, {**now, **told, **{name: str(number) for name, number in numbers.items()}})


LARGEST = 1 << 16
FIRST, LATER = "ALFWORLD_TEMPLATE_NO_HIS", "ALFWORLD_TEMPLATE"
"""The names of its two templates: for the first step, and for those after it."""
_AT_FIRST = frozenset({"current_observation", "admissible_actions"})
_LATER = _AT_FIRST | {"task_description", "step_count", "history_length", "action_history", "current_step"}
_FIELD = re.compile(r"\{(?P<name>\w*)\}|\{\{|\}\}")


@dataclass(frozen=True, slots=True)
class Templates:
    """The prompt of the first step and of those after it, with fields in braces."""

    first: str
    later: str


def read_templates(path: Path) -> Templates:
    """The templates in a copy of verl-agent's ``prompts/alfworld.py``, which is never run. Raises ``ConfigurationError``."""
    try:
        content = read_file(path, LARGEST + 1)
        if len(content) > LARGEST:
            raise _wrong(path, f"a file of templates has at most {LARGEST:,} bytes.")
        found = _texts(ast.parse(content))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _wrong(path, f"it cannot be read: {error}.") from error
    for name, fields in ((FIRST, _AT_FIRST), (LATER, _LATER)):
        if name not in found:
            raise _wrong(path, f"it has no text {name}.")
        if unknown := {each["name"] for each in _FIELD.finditer(found[name]) if each["name"] is not None} - fields:
            raise _wrong(path, f"{name} has the field {shown(min(unknown))}; known: {', '.join(sorted(fields))}.")
    return Templates(found[FIRST], found[LATER])


def _texts(module: ast.Module) -> dict[str, str]:
    """The texts that a module gives names to."""
    return {
        target.id: line.value.value
        for line in module.body
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
        for target in line.targets
        if isinstance(target, ast.Name)
    }


def _wrong(path: Path, what: str) -> ConfigurationError:
    return ConfigurationError(f"{shown(str(path))}: {what} Give window_prompt a copy of verl-agent's prompts/alfworld.py.")


def filled(template: str, values: Mapping[str, str]) -> str:
    """``template`` with the fields in braces filled in. Values are never read as templates."""
    return _FIELD.sub(lambda found: values[found["name"]] if found["name"] is not None else found[0][0], template)
