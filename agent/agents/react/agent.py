"""ReAct: one role that thinks and acts (Yao et al., ReAct, ICLR 2023), as three players.

`React` has no in-context examples (section 3). `FewShotReact` has exemplars, as the authors played ALFWorld (section 4 and
their released notebook). The prompt of `WindowReact` has only the goal and the last few steps (Feng et al., GiGPO, 2025:
verl-agent's prompts), in our words or in those of a user's copy of verl-agent's file, for models that were trained on them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from housequest.agent.agents.spec import AgentParts, ModelSettings
from housequest.agent.base import Act, Attempt, Decision, Emitter, Grants, Idle, ParseFailure, Turn
from housequest.agent.episodes.events import ModelCall, ParseFailed, Thought
from housequest.agent.models.base import Message, Model, Request, in_role
from housequest.agent.models.forms import LONGEST_THOUGHT, THOUGHT, Either, Form, Value, Words, longest_of
from housequest.agent.roles import base as roles
from housequest.agent.roles import company, messages, reading
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, asked, left_in_words, shown_part
from housequest.knowledge import examples
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Transition
from housequest.worlds.errors import ConfigurationError, Unsupported, shown
from housequest.worlds.household.base import Household
from housequest.worlds.household.goals import TASK_TYPES
from housequest.worlds.options import Scalar
from housequest.worlds.paths import given_path, read_file

if TYPE_CHECKING:
    from housequest.agent.agents.react import ReactSettings

NAME = "react"
REACT: roles.Role[reading.CommandReply] = roles.Role("react", reading.read_command, stop=("\nObservation:",))


@dataclass(frozen=True, slots=True)
class ReactMemory:
    """The goal and opening, the conversation so far, and the last command."""

    goal: str
    opening: Observation
    grants: Grants
    role: messages.RoleMemory
    last: str | None = None


class React:
    """Answers each turn with a thought and a command. Calls a step: 1; needs a chat model."""

    name = "react"

    def __init__(self, parts: AgentParts[ModelSettings]) -> None:
        self._model, self._sampling, self._world = parts.model, parts.sampling, parts.world
        self._prompt = roles.load_prompt("housequest.agent.agents.react", "react")
        self._system = messages.system_message(self._prompt, parts.world, plans=True, manual=parts.world.info.manual)

    def begin(self, goal: str, observation: Observation, grants: Grants) -> ReactMemory:
        return ReactMemory(goal, observation, grants, messages.RoleMemory((self._system,)))

    async def decide(self, memory: ReactMemory, turn: Turn, emit: Emitter) -> tuple[Decision, ReactMemory]:
        if memory.role.started:
            text = self._prompt.render("turn", observation=messages.transcript(turn.transitions, own=memory.last))
        else:
            text = messages.opening(self._prompt, memory.opening, memory.goal, turn.transitions)
        command = reading.command_value(self._world, turn.belief, turn.admissible, company.commands(turn))
        reply = REACT.held_to(reading.acting_form(command))
        answer, role = await memory.role.ask(
            reply, self._model, text, turn, memory.grants, emit, self._sampling, company=company.ACTS
        )
        memory = replace(memory, role=role, last=None)
        if answer.value is None:
            return ParseFailure(REACT.name, answer.reason), memory
        messages.emit_thought(REACT.name, answer.value.thought, emit)
        return Act(answer.value.command, answer.says), replace(memory, last=answer.value.command)


MOST_THOUGHTS = 8  # Thoughts in a row that take no turn; the next one takes it.
REFUSED = "Nothing happens."  # The answer to a line that is neither a thought nor a command, as the game gives it.
PROMPT = ">"
NOTHING = "(nothing)"  # An empty line, which servers refuse.
REFLECTION = "reflection"
MOST_NOTES = 3  # Only the last reflections are shown (Reflexion's number).
NOTE_TOKENS = 256
_SAID_ALOUD = re.compile(r"say\s*:\s*(?P<said>.*)", re.IGNORECASE)
_SAID_THOUGHT = re.compile(r"(?:think|thought)\s*:\s*(?P<thought>.*)", re.IGNORECASE)
_LABEL = re.compile(r"(?:>\s*|act(?:ion)?(?:\s\d{1,2})?\s*:\s*)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FewShotMemory:
    """The goal and opening, and the dialogue: lines by turns of the world and of the model. ``notes`` are its reflections on
    earlier attempts. ``answer`` follows the model's last line if that was no command; ``last`` is its last command.
    ``trimmed``: its last line is only a part of its last reply."""

    goal: str
    opening: Observation
    grants: Grants
    said: roles.Conversation = ()
    shown_rules: tuple[Rule, ...] = ()
    answer: str | None = None
    last: str | None = None
    notes: tuple[str, ...] = ()
    trimmed: bool = False


class FewShotReact:
    """Answers with a line: a thought, answered with "OK.", or a command. Calls a step: 1, and 1 for each thought.

    The exemplars are those of the granted task type, else of the type that the goal states, else those of ``put``. The prompt
    is the text of the exemplars and of the episode so far, and the model continues it up to the end of a line. If the model has
    no completions of plain text, the same lines are a chat, which a thought at the start says. With ``thoughts=turns`` a
    thought takes a turn, as in the released notebook, which plays 49. ``put X in/on Y`` is read as today's ``move X to Y``, in
    replies and in exemplars. With ``reflect`` the model is first asked why it did not win this task before (Shinn et al.,
    Reflexion, 2023), and its last answers are shown before the task. Unlike theirs, the sentences around the exemplars are
    ours.
    """

    name = NAME

    def __init__(self, parts: AgentParts[ReactSettings]) -> None:
        self._model, self._sampling = in_role(parts.model, NAME), parts.sampling
        self._reflecting = in_role(parts.model, REFLECTION)
        self._exemplars = read_exemplars(parts.settings.exemplars, parts.world.household)
        if parts.settings.thoughts == "none":
            self._exemplars = {word: [*map(examples.without_thoughts, texts)] for word, texts in self._exemplars.items()}
        self._household, self._world = parts.household, parts.world
        self._thinks = parts.settings.thoughts != "none"
        self._pair = tuple(map(int, parts.settings.pair.split("-")))
        for word, texts in self._exemplars.items():
            if len(texts) <= max(self._pair):
                raise Unsupported(
                    f"These exemplars have no react_{word}_{max(self._pair)}, which pair={parts.settings.pair} asks for; take "
                    "pair=1-0 or pair=0-1."
                )
        if parts.settings.window:
            raise ConfigurationError("Exemplars need the whole story in the prompt; give exemplars or window, not both.")
        self._reflect = parts.settings.reflect
        self._counted = parts.settings.thoughts != "free"
        self._completions = parts.settings.completions
        self._prompt = roles.load_prompt(_PACKAGE, "frame")

    async def check(self) -> None:
        if self._completions == "on" and not (await self._model.capabilities()).completions:
            raise Unsupported(f"{self._model.name} has no completions of plain text; leave completions at auto, for a chat.")

    def begin(self, goal: str, observation: Observation, grants: Grants) -> FewShotMemory:
        return FewShotMemory(goal, observation, grants)

    async def decide(self, memory: FewShotMemory, turn: Turn, emit: Emitter) -> tuple[Decision, FewShotMemory]:
        if not memory.said and self._reflect and memory.grants.attempts:
            memory = await self._reflected(memory, emit)
        if not memory.said and self._completions == "auto" and not await self._raw():
            messages.emit_thought("model", "it has no completions of plain text, and is asked as a chat", emit)
        text = self._opening(memory, turn) if not memory.said else self._heard(memory, turn)
        text += messages.additions(turn, memory.shown_rules, replace(memory.grants, task_type=None), first=False)
        text += company.told(turn, () if memory.said else (*company.HEARS, "commands", "line"))
        messages.emit_rules(turn.rules, memory.shown_rules, emit)
        memory = replace(memory, shown_rules=messages.rules_after(turn, memory.shown_rules), answer=None, last=None)
        command = reading.command_value(self._world, turn.belief, turn.admissible, company.commands(turn))
        cut, says = False, ()
        for left in range(MOST_THOUGHTS, -1, -1):
            # After a thought that was cut off, leave room for a command alone.
            thinks = self._thinks and (self._counted or (left > 0 and not cut))
            before = memory
            line, call, memory = await self._ask(before, text, emit, _line_form(command, thinks=thinks))
            if call.held == "cut" and not _SAID_THOUGHT.fullmatch(line):
                # It may be the beginning of another command: "cabinet 1" of "cabinet 12".
                emit(_endless(call, final=False))
                line, call, memory = await self._ask(before, text, emit, _line_form(command, thinks=False), whole=True)
            cut = call.finish == "length"
            if turn.player and (aloud := _SAID_ALOUD.fullmatch(line)):
                says = (*says, *filter(None, (company.spoken(aloud["said"]),)))
            elif (found := _SAID_THOUGHT.fullmatch(line)) is None:
                decision, memory = self._command(line, call, memory, emit)
                return (replace(decision, says=says) if isinstance(decision, Act) else decision), memory
            else:
                messages.emit_thought(NAME, reading.thought(found["thought"]), emit)
            memory = replace(memory, answer=examples.ANSWER)
            if self._counted or left == 0:
                break
            text = examples.ANSWER
        return Idle("a thought" if self._counted else f"{MOST_THOUGHTS + 1} thoughts in a row"), memory

    async def _raw(self, model: Model | None = None) -> bool:
        """True if the next call is for a completion of plain text."""
        return self._completions != "off" and (await (model or self._model).capabilities()).completions

    async def _reflected(self, memory: FewShotMemory, emit: Emitter) -> FewShotMemory:
        """Ask the model about its last attempt at this task, and add the answer to the memory."""
        raw = await self._raw(self._reflecting)
        attempts = memory.grants.attempts
        noted = tuple(each.reflection for each in attempts if each.reflection)[-MOST_NOTES:]
        story = "\n".join([examples.without_welcome(memory.opening.text), *_story(attempts[-1])])
        text = self._prompt.render("reflect", story=story, notes=self._notes(noted))
        asked = (Message("user", roles.clean(text)),)
        most = max(NOTE_TOKENS, self._sampling.reply_tokens())
        completion = await self._reflecting.complete(self._sampling.request(asked, most, plain=raw))
        call = roles.call_event(REFLECTION, asked, completion, kept=0, plain=raw)
        emit(call, completion.timing)
        note = reading.thought(" ".join(call.reply.split()))
        messages.emit_thought(REFLECTION, note, emit)
        return replace(memory, notes=(*noted, note)[-MOST_NOTES:] if note else noted)

    def _notes(self, notes: tuple[str, ...]) -> str:
        return self._prompt.render("notes", notes="\n".join(f"- {note}" for note in notes)) + "\n\n" if notes else ""

    async def _ask(
        self, memory: FewShotMemory, text: str, emit: Emitter, form: Form | None, *, whole: bool = False
    ) -> tuple[str, ModelCall, FewShotMemory]:
        """Get the line that follows ``text``, its call, and the memory after it. ``whole``: again, with room for a command."""
        raw = await self._raw()
        way = await roles.held_by(NAME, form, self._model, self._sampling, plain=raw)
        said = (*memory.said, Message("user", roles.clean(f"{text}\n{PROMPT}")))
        sampling = self._sampling
        most = sampling.reply_tokens()
        if whole and form is not None:
            most = max(most, min(longest_of(form), roles.ROOM_WITHOUT_THOUGHT))
        request = sampling.request(said, most, plain=raw, stop=("\n",))
        completion, held = await roles.complete_held(self._model, request, form, way)
        # A trimmed line is recorded as part of this prompt, since the record has the reply.
        kept_before = len(memory.said) - (memory.trimmed and not whole)
        call = roles.call_event(NAME, said, completion, kept=kept_before, plain=raw, held=held)
        emit(call, completion.timing)
        roles.found_unheld(NAME, held, self._model, sampling, emit)
        first = next((line for line in call.reply.splitlines() if line.strip()), "")
        line = _LABEL.sub("", first.strip(), count=1).strip()
        kept = Message("assistant", line or NOTHING, thinking=call.thinking or "")
        return line, call, replace(memory, said=(*said, kept), trimmed=kept != roles.spoken(call))

    def _command(self, line: str, call: ModelCall, memory: FewShotMemory, emit: Emitter) -> tuple[Decision, FewShotMemory]:
        if call.held == "cut":
            failed = _endless(call, final=True)
            emit(failed)
            return ParseFailure(NAME, failed.reason), replace(memory, answer=REFUSED)
        command = self._household.canonical(line)
        if command and len(command) <= reading.LONGEST_COMMAND and command.isprintable():
            return Act(command), replace(memory, last=command)
        reason = (
            "the line is empty." if not command else f"the line is no command of {reading.LONGEST_COMMAND} characters at most."
        )
        emit(ParseFailed(role=NAME, reply=roles.clean(line), reason=reason, final=True))
        return ParseFailure(NAME, reason), replace(memory, answer=REFUSED)

    def _opening(self, memory: FewShotMemory, turn: Turn) -> str:
        stated = memory.grants.task_type
        if stated is None:
            places = memory.opening.belief.kinds if memory.opening.belief else ()
            stated = examples.type_of_goal(memory.goal, places, self._household)
        word = next((examples.KEYS[name] for name in TASK_TYPES if name == stated), examples.KEYS[TASK_TYPES[0]])
        shown = "\n\n".join(self._exemplars[word][number] for number in self._pair)
        text = self._prompt.render(
            "opening",
            exemplars=shown,
            notes=self._notes(memory.notes),
            observation=examples.without_welcome(memory.opening.text),
        )
        return "\n".join([text, *_lines(turn.transitions)])

    def _heard(self, memory: FewShotMemory, turn: Turn) -> str:
        transitions = turn.transitions
        if memory.last is not None and transitions and transitions[0].command == memory.last:
            return "\n".join([examples.without_arrival(str(transitions[0].observation)), *_lines(transitions[1:])])
        return "\n".join([memory.answer or "", *_lines(transitions)]).strip() or REFUSED


def _endless(call: ModelCall, *, final: bool) -> ParseFailed:
    """The error for a held line that was cut off."""
    tokens = "" if call.completion_tokens is None else f" after {call.completion_tokens} tokens"
    return ParseFailed(role=NAME, reply=call.reply, reason=f"it has no end. It was cut off{tokens}.", final=final)


def _line_form(command: Value | None, *, thinks: bool) -> Form | None:
    """A line as the exemplars have them: a command, or a thought if it ``thinks``."""
    if command is None:
        return None
    line = Either((Form(("think: ", (THOUGHT, Words(LONGEST_THOUGHT)))), command)) if thinks else command
    return Form((("line", line),))


def _lines(transitions: tuple[Transition, ...]) -> list[str]:
    return [f"{PROMPT} {each.command}\n{examples.without_arrival(str(each.observation))}" for each in transitions]


def _story(attempt: Attempt) -> list[str]:
    """An attempt as its prompts showed it: its lines, each with its answer."""
    lines: list[str] = []
    for each in attempt.played:
        match each:
            case Transition():
                lines += _lines((each,))
            case Thought(role=role, text=text) if role == NAME:
                lines.append(f"{PROMPT} think: {text}\n{examples.ANSWER}")
            case ParseFailed(role=role, reply=reply, final=True) if role == NAME:
                lines.append(f"{PROMPT} {reply or NOTHING}\n{REFUSED}")
            case _:
                pass
    return lines


OWN = "own"
_PACKAGE = "housequest.agent.agents.react.exemplars"


def read_exemplars(name: str, household: Household | None) -> examples.Exemplars:
    """Load the exemplars ``own``, of the examples that ship, or of a file. Raises ``KnowledgeError`` and ``Unsupported``."""
    if household is None:
        raise Unsupported("Exemplars are episodes in households; leave exemplars out, or play a household.")
    return (
        examples.exemplars_of(examples.shipped(), household)
        if name == OWN
        else examples.load_exemplars(given_path(name), household)
    )


def exemplar_digests(settings: Mapping[str, Scalar], household: Household | None) -> dict[str, str]:
    """The SHA-256 of the exemplars in react's ``settings``, and of the templates that they show. Raises as `read_exemplars`."""
    name, shown = settings.get("exemplars"), dict[str, str]()
    if isinstance(name, str) and name:
        text = examples.written_exemplars(read_exemplars(name, household))
        shown = {"exemplars": sha256(text.encode()).hexdigest(), "exemplars/frame": roles.template_hashes(_PACKAGE)["frame"]}
    elif settings.get("window"):
        shown = {"window": roles.template_hashes("housequest.agent.agents.react.window")["window"]}
        if isinstance(theirs := settings.get("window_prompt"), str) and theirs:
            templates = read_templates(given_path(theirs))
            shown = {"window_prompt": sha256(f"{templates.first}\0{templates.later}".encode()).hexdigest()}
    return shown


_MARKED_THOUGHT = re.compile(r"<think(?:ing)?>(?P<thought>.*?)(?:</think|\Z)", re.DOTALL | re.IGNORECASE)
_BEGIN, _END = "<action>", "</action>"
_LAST = 30  # If nothing is between the marks of an action, so many letters at the end of the reply are played.
_UNLISTED = "help"


def _read_marked(text: str) -> str:
    """Read the command of a reply as verl-agent does: in lowercase, between the marks, else the reply's end."""
    lowered = text.lower()
    start, end = lowered.find(_BEGIN), lowered.find(_END)
    said = lowered[-_LAST:] if -1 in (start, end) else lowered[start + len(_BEGIN) : end]
    command = " ".join(said.split())
    if not command or len(command) > reading.LONGEST_COMMAND or not command.isprintable():
        raise roles.ReplyError("there is no command between <action> and </action>.")
    return command


_WINDOWED: roles.Role[str] = roles.Role("react", _read_marked, reasoning=True)


@dataclass(frozen=True, slots=True)
class WindowMemory:
    """The goal and opening, and the steps, each with the text ``seen`` before it; and the text seen now."""

    goal: str
    opening: str
    grants: Grants
    seen: str
    steps: tuple[tuple[str, str], ...] = ()


class WindowReact:
    """Thinks and acts on a prompt that is rendered anew for each step. Calls a step: 1; needs a chat model.

    Replies are read as verl-agent reads them; a second one is only requested if a held one broke off. The prompt has the
    goal, the last ``window`` steps, the text seen now, and the admissible commands if they are granted, else the forms of
    commands; or it is that of a copy of verl-agent's file (``window_prompt``). Nothing else is remembered, so a model that
    was not trained on it searches places again, and only the first words of the prompt can be cached."""

    name = "react"

    def __init__(self, parts: AgentParts[ReactSettings]) -> None:
        self._model, self._sampling, self._world = parts.model, parts.sampling, parts.world
        self._window = parts.settings.window
        self._prompt = roles.load_prompt("housequest.agent.agents.react.window", "window")
        theirs = parts.settings.window_prompt
        self._templates = read_templates(given_path(theirs)) if theirs else None

    def begin(self, goal: str, observation: Observation, grants: Grants) -> WindowMemory:
        if self._templates is not None and not grants.admissible:
            raise ConfigurationError("verl-agent's prompts list what can be done; give --grant admissible with window_prompt.")
        return WindowMemory(goal, observation.text, grants, observation.text)

    async def decide(self, memory: WindowMemory, turn: Turn, emit: Emitter) -> tuple[Decision, WindowMemory]:
        for each in turn.transitions:
            memory = replace(memory, steps=(*memory.steps, (memory.seen, each.command)), seen=str(each.observation))
        command = reading.command_value(self._world, turn.belief, turn.admissible, company.commands(turn))
        begun = ("<think>", (THOUGHT, Words(LONGEST_THOUGHT)), "</think>\n<action>")
        role = _WINDOWED.held_to(Form((*begun, ("action", command), "</action>")) if command is not None else None)
        text = self._rendered(memory, turn.admissible)
        text += messages.additions(replace(turn, admissible=None), (), memory.grants, first=True)
        text += company.told(turn, company.ACTS)
        messages.emit_rules(turn.rules, (), emit)
        role = company.speaking(role, turn)
        answer = await roles.ask(role, self._model, (), text, emit, self._sampling, image=turn.image, once=True)
        if answer.value is None:
            return ParseFailure(_WINDOWED.name, answer.reason), memory
        if found := _MARKED_THOUGHT.search(answer.conversation[-1].content):
            messages.emit_thought(_WINDOWED.name, reading.thought(found["thought"]), emit)
        return Act(answer.value, company.with_lines(answer, turn).says), memory

    def _rendered(self, memory: WindowMemory, admissible: tuple[str, ...] | None) -> str:
        possible = [command for command in admissible or () if command != _UNLISTED]
        if self._templates is not None:
            return self._in_its_words(self._templates, memory, possible)
        listed = self._prompt.render("listed", commands="\n".join(possible))
        commands = self._prompt.render("manual", manual=self._world.info.manual) if admissible is None else listed
        shared = {"observation": memory.seen, "commands": commands, "form": self._prompt.render("form")}
        if not memory.steps:
            return messages.for_world(self._prompt.render("opening", **shared), self._world)
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
        return messages.for_world(text, self._world)

    def _in_its_words(self, templates: Templates, memory: WindowMemory, possible: Sequence[str]) -> str:
        """The prompt in verl-agent's words, with lists in its form."""
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


_LARGEST = 1 << 16
FIRST, LATER = "ALFWORLD_TEMPLATE_NO_HIS", "ALFWORLD_TEMPLATE"
"""The names of its two templates: for the first step, and for those after it."""
_AT_FIRST = frozenset({"current_observation", "admissible_actions"})
_LATER = _AT_FIRST | {"task_description", "step_count", "history_length", "action_history", "current_step"}
_FIELD = re.compile(r"\{(?P<name>\w*)\}|\{\{|\}\}")


class Templates(NamedTuple):
    """The prompt of the first step and of later ones, with fields in braces."""

    first: str
    later: str


def read_templates(path: Path) -> Templates:
    """The templates in a copy of verl-agent's ``prompts/alfworld.py``; it is never run. Raises ``ConfigurationError``."""
    try:
        found = _texts(ast.parse(read_file(path, _LARGEST)))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _wrong(path, f"it cannot be read: {error}.") from error
    for name, fields in ((FIRST, _AT_FIRST), (LATER, _LATER)):
        if name not in found:
            raise _wrong(path, f"it has no text {name}.")
        if unknown := {each["name"] for each in _FIELD.finditer(found[name]) if each["name"] is not None} - fields:
            raise _wrong(path, f"{name} has the field {shown(min(unknown))}; known: {', '.join(sorted(fields))}.")
    return Templates(found[FIRST], found[LATER])


def _texts(module: ast.Module) -> dict[str, str]:
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


def _labelled(knows: Demonstrator, request: Request) -> Reply:
    lesson, learned = knows.lesson(request, shown_part(knows, request))
    return Reply(f"Thought: {lesson.thought}\nAction: {lesson.playable}", learned)


def _marked(knows: Demonstrator, _request: Request) -> Reply:
    """Between marks. The prompt forgets, so a command may name something that it no longer has."""
    lesson, learned = knows.lesson()
    return Reply(f"<think>{lesson.thought}</think>\n<action>{lesson.playable}</action>", learned)


def _line(knows: Demonstrator, request: Request) -> Reply:
    """A line of the story: a thought before each part of the task, else a command."""
    thoughtful = f"> {examples.THINK}" in request.messages[0].content
    if thoughtful and knows.advanced and not asked(request).removesuffix("\n>").endswith(examples.ANSWER):
        first, now = not knows.scene.seen, knows.move().thought
        said = f"To do this I {left_in_words(knows)}. First I {now}." if first else f"Now I {now}."
        return Reply(f"{examples.THINK} {said}")
    lesson, learned = knows.lesson(request)
    return Reply(lesson.playable, learned)


ROLES = (
    DemonstratedRole("housequest.agent.agents.react", "react", _labelled),
    # A user's copy of verl-agent's prompts asks for the same marks in other words.
    DemonstratedRole("housequest.agent.agents.react.window", "window", _marked, mark="<action>"),
    DemonstratedRole("housequest.agent.agents.react.exemplars", "frame", _line),
)
