"""Finds labelled lines, numbered steps, commands and plans of subgoals in replies; and makes the forms to which replies are
held, from the world's own forms of commands and the names seen so far.

Nobody knows which commands are possible now, so a held command may be refused; only if admissible commands are granted is it
one of those. High-level plans are sequences of subgoals, as in LLM-Planner (section 1) and the Socratic Planner (section 3.1):
an action with its object and an optional receptacle. Text worlds heat, cool and clean in one command, so these are separate
actions, as in ALFRED's ground-truth plans.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple, cast

from housequest.agent.models.forms import LONGEST_THOUGHT, THOUGHT, Choice, Either, Form, Listed, Name, Value, Words
from housequest.agent.roles.base import ReplyError
from housequest.knowledge.examples import Example
from housequest.worlds.base import World
from housequest.worlds.errors import shown
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.goals import Skill, Verb

LONGEST_COMMAND = 200
LONGEST_KEPT = 2_000
_LABEL = re.compile(
    r"^[\W\d_]{0,8}(?:(?:next|final|my|the)\s)?(?P<label>thought|think|reasoning|step|action|act|command|plan|observation)"
    r"\s?(?P<number>\d{1,2})?[\s*_`]{0,4}(?:[:=：][\s*_`]{0,4}(?P<rest>.*)|$)",
    re.IGNORECASE,
)
ACTIONS = frozenset({"action", "act", "command"})
THOUGHTS = frozenset({"thought", "think", "reasoning"})
_WITHIN = re.compile(r"\bAction\s?: *(?P<command>[^\n]+)")
_PLAIN = re.compile(r"[A-Za-z][\w '/-]{0,79}")
"""A few plain words without markup."""
_FENCE = re.compile(r"^\s*```\w*\s*$")
_MARK = re.compile(r"^(?:[-•*>]|\d{1,2}[.)])\s+")
_REMARK = re.compile(r"\s*(?:\(|#|//|<[/|]).*$")
_QUOTED = re.compile(r"(?P<mark>[`\"'])(?P<command>[^`\"']+)(?P=mark)")
_MARKS = re.compile(r"[*`\[\]]")
_DRESS = " _\"'<>$"


class CommandReply(NamedTuple):
    """A command with its thought and step; ``step`` is the text after that label, or empty."""

    thought: str
    step: str
    command: str


def read_command(text: str) -> CommandReply:
    """Read the first command of ``text``, with its thought and step; the model made up the rest. Raises ``ReplyError``."""
    said = step = ""
    for label, rest in labelled(text):
        if label in ACTIONS:
            return CommandReply(said, step, _undressed(rest.split("\n")[0]))
        if label in THOUGHTS:
            said = thought(rest)
        elif label == "step":
            step = rest
    fields = json_fields(text)
    command = fields.get("action") or fields.get("command")
    if command is not None:
        return CommandReply(thought(fields.get("thought", "")), fields.get("step", ""), _undressed(command))
    within = _WITHIN.search(text)
    command = within["command"] if within else "" if fields else _lone_line(text)
    if not command:
        raise ReplyError('there is no line that begins with "Action:".')
    return CommandReply(said.partition("Action:")[0].strip(), step, _undressed(command))


def labelled(text: str) -> list[tuple[str, str]]:
    """The lines ``Label: rest`` of ``text``, as (lowercased label, rest), with other lines joined to the one before. A number
    after a label (``Action 1:``) is dropped, unless it is the step's.
    """
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        match = _LABEL.match(line)
        if match:
            label, rest = match["label"].lower(), (match["rest"] or "").strip()
            found.append((label, match["number"] if label == "step" and match["number"] else rest))
        elif found and line.strip() and not _FENCE.match(line):
            label, rest = found[-1]
            found[-1] = (label, f"{rest}\n{line.strip()}".strip())
    return found


def _bare(command: str) -> str:
    """A command without the quotes, backticks, prompts, remarks and full stop that models add."""
    command = _MARK.sub("", " ".join(command.split()))
    quoted = _QUOTED.match(command)
    command = quoted["command"] if quoted else _REMARK.sub("", command)
    return _MARKS.sub("", command).strip(_DRESS).rstrip(".").strip(_DRESS)


def _undressed(command: str) -> str:
    command = _bare(command)
    if not command:
        raise ReplyError("the action is empty.")
    if len(command) > LONGEST_COMMAND:
        raise ReplyError(f"the action is longer than {LONGEST_COMMAND} characters.")
    if not command.isprintable():
        raise ReplyError("the action is not one line of plain text.")
    return command


def _lone_line(text: str) -> str:
    """The only line of ``text``, if it could be a command: a few plain words, not a sentence."""
    lines = [line for line in text.splitlines() if line.strip() and not _FENCE.match(line)]
    line = _bare(lines[0]) if len(lines) == 1 else ""
    sentence = bool(line) and (lines[0].rstrip().endswith(".") or line.split()[0] in {"I", "I'll", "I'm"})
    return line if _PLAIN.fullmatch(line) and len(line.split()) <= 8 and not sentence else ""


def json_fields(text: str) -> dict[str, str]:
    """The fields of the JSON object in ``text`` as text, with lowercased names and lists as numbered lines; else empty."""
    value = found_json(text, "{", "}")
    fields = cast("dict[object, object]", value) if isinstance(value, dict) else {}
    return {str(key).lower(): _text(item) for key, item in fields.items() if type(item) in {str, int, list}}


def found_json(text: str, opening: str, closing: str) -> object:
    """The JSON value in ``text`` from its first ``opening`` bracket to its last ``closing`` one; None if there is none."""
    start, end = text.find(opening), text.rfind(closing)
    try:
        return json.loads(text[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None


def _text(item: object) -> str:
    if isinstance(item, list):
        items = cast("list[object]", item)
        return "\n".join(f"{number}. {each}" for number, each in enumerate(items, 1) if isinstance(each, str))
    return str(item)


def thought(text: str) -> str:
    """A thought for display and records."""
    return text.strip()[:LONGEST_KEPT]


LONGEST_STEP = 300
MOST_STEPS = 20
_ITEM = re.compile(r"^\s*(?:(?:step\s*)?\d{1,2}\s*[.):]|[-*•])\s*(?P<step>\S.*)$", re.IGNORECASE)


def items(text: str) -> list[str]:
    """The numbered or bulleted lines of ``text``, without their numbers and marks."""
    matches = filter(None, map(_ITEM.match, text.splitlines()))
    return [step for match in matches if (step := match["step"].replace("**", "").strip(" *_`"))]


def bounded(steps: Sequence[str]) -> tuple[str, ...]:
    """``steps`` as a plan: at least one, not too many, each of limited length. Raises ``ReplyError``."""
    if not steps:
        raise ReplyError("the plan has no numbered steps.")
    if len(steps) > MOST_STEPS:
        raise ReplyError(f"the plan has more than {MOST_STEPS} steps.")
    return tuple(" ".join(step.split())[:LONGEST_STEP] for step in steps)


LONGEST_NAME = 40
MOST_ADMISSIBLE = 1_000
"""A longer list of commands is not used as a form: endpoints limit the length of lists."""
_PLACEHOLDER = re.compile(r"\b[A-Z]{3,}(?: or [A-Z]{3,})*\b")


def command_value(
    world: World, belief: Belief | None, admissible: Sequence[str] | None = None, others: tuple[str, ...] = ()
) -> Value | None:
    """The possible commands: ``admissible`` ones, else the world's forms, or ``others``; None in a world without forms."""
    if admissible is not None:
        known = tuple(dict.fromkeys((*admissible, *others)))
        return Choice(known) if known and len(known) <= MOST_ADMISSIBLE else None
    places = tuple(one.name for one in belief.receptacles) if belief else ()
    things = tuple(one.name for one in belief.items) if belief else ()
    return _by_forms(world.info.manual, places, things, others, seen=belief is not None)


@lru_cache(maxsize=256)
def _by_forms(
    manual: str, places: tuple[str, ...], things: tuple[str, ...], others: tuple[str, ...], *, seen: bool
) -> Value | None:
    names = {"RECEPTACLE": places, "OBJECT": things, "THING": (*places, *things)} if seen else {}
    meant: dict[tuple[str, ...], Value | None] = {}
    plain, forms = list(others), list[Form]()
    for named, end in _lines(manual):
        parts: list[str | tuple[str, Value]] = []
        for before, words in named:
            if words not in meant:
                meant[words] = _name(words, names)
            value = meant[words]
            if value is None:
                break
            # In JSON a name is called by the words before it: {"take": "mug 1", "from": "shelf 2"}.
            parts += [*([before] if before else []), (before.strip() or "name", value)]
        else:
            if parts:
                forms.append(Form((*parts, *([end] if end else []))))
            elif end:
                plain.append(end)
    options = (*([Choice(tuple(plain))] if plain else []), *forms)
    return Either(options) if len(options) > 1 else next(iter(options), None)


@cache
def _lines(manual: str) -> list[tuple[list[tuple[str, tuple[str, ...]]], str]]:
    """Each form of a manual: its placeholders, each as its alternatives after the text before it, and its end."""
    lines: list[tuple[list[tuple[str, tuple[str, ...]]], str]] = []
    for line in manual.splitlines():
        named: list[tuple[str, tuple[str, ...]]] = []
        at = 0
        for found in _PLACEHOLDER.finditer(line):
            named.append((line[at : found.start()], tuple(found[0].split(" or "))))
            at = found.end()
        lines.append((named, line[at:]))
    return lines


def _name(words: tuple[str, ...], names: Mapping[str, tuple[str, ...]]) -> Value | None:
    """The possible values of a placeholder: the known ``names``, or any name; None if none of them is known yet."""
    if not all(word in names for word in words):  # another thing that a form may name, such as a room
        return Name(LONGEST_NAME)
    known = tuple(dict.fromkeys(name for word in words for name in names[word]))
    return Choice(known) if known else None


def acting_form(command: Value | None, steps: int = 0) -> Form | None:
    """A thought and a command, and between them the number of the plan's present step if the plan has ``steps``."""
    if command is None:
        return None
    step = ("\nStep: ", ("step", Choice(tuple(str(number) for number in range(1, steps + 1))))) if steps else ()
    return Form(("Thought: ", (THOUGHT, Words(LONGEST_THOUGHT)), *step, "\nAction: ", ("action", command)))


def planning_form(most: int, *, begun: bool) -> Form:
    """A thought and a plan of at most ``most`` steps; one that has ``begun`` may also be kept."""
    steps = Listed(Words(160), most, begin="\n", first=1)
    plan = Either((Choice((" keep",)), steps)) if begun else steps
    return Form(("Thought: ", (THOUGHT, Words(LONGEST_THOUGHT)), "\nPlan:", ("plan", plan)))


MOST_SUBGOALS = 40
"""Twice the longest ground-truth plan of ALFRED's train split, which has 19."""

LONGEST_TARGET = 60

PAIR_NAMES: dict[Verb, str] = {
    **{"go": "Navigation", "pick": "PickupObject", "put": "PutObject", "open": "OpenObject", "close": "CloseObject"},
    **{"use": "ToggleObject", "slice": "SliceObject", "heat": "HeatObject", "cool": "CoolObject", "clean": "CleanObject"},
}
"""The verbs of high-level plans, by their names in LLM-Planner's prompts."""

TRIPLE_NAMES: dict[Verb, str] = {verb: name.removesuffix("Object") for verb, name in PAIR_NAMES.items() if verb != "go"}
"""The same in the Socratic Planner's prompts; the controller goes to places by itself."""

TREATING = frozenset({"slice", "heat", "cool", "clean"})
"""Actions that are only possible in households that treat things."""

_OTHER_WORDS: dict[Verb, str] = {
    "go": "navigate navigateto goto gotolocation find go",
    "pick": "pick pickup take grab",
    "put": "put putdown place move",
    "use": "toggleon toggleobjecton turnon switchon use",
    "slice": "cut",
    "cool": "chill",
    "clean": "wash rinse",
}
_WORDS: dict[str, Verb] = {
    **{name.lower(): verb for names in (PAIR_NAMES, TRIPLE_NAMES) for verb, name in names.items()},
    **{word: verb for verb, words in _OTHER_WORDS.items() for word in words.split()},
}

_LISTED = frozenset(PAIR_NAMES.values())

_PLAN_LABEL = re.compile(r"(?im)^[\W_]{0,40}(?:(?:next|high-level|revised|new|detailed|the)\s{1,8}){0,8}plan\b[\s*_`]*:")
_MARKED = re.compile(r"(?im)^\s{0,40}(?:(?:step|subgoal)?\s{0,8}\d{1,3}\s{0,8}[.):]|[-*•>])\s*")
_BREAK = re.compile(r"[;\n)\]]|->|→")
_COMMA = re.compile(r"[,(\[]")
_WORD = re.compile(r"[A-Za-z][\w'-]*|\d{1,6}")
_SMALL = frozenset({"the", "a", "an", "to", "up", "down", "some", "of"})
_INTO = frozenset({"in", "into", "on", "onto", "to", "inside", "with", "using", "from"})


def names_in(names: Mapping[Verb, str], world: World) -> tuple[str, ...]:
    """Those ``names`` whose actions are possible in ``world``."""
    treats = world.household is None or world.household.commands.treat is not None
    return tuple(name for verb, name in names.items() if treats or verb not in TREATING)


def as_pair(subgoal: Skill) -> str:
    """``PickupObject potato``: of two names, the place of a ``put``, and else the object."""
    at_place = subgoal.verb in ("put", "open", "close")
    return f"{PAIR_NAMES[subgoal.verb]} {subgoal.receptacle if at_place else subgoal.object}"


def as_triple(subgoal: Skill) -> str:
    """``(Put, pan, fridge)``."""
    name = TRIPLE_NAMES.get(subgoal.verb, "Find")
    return f"({', '.join(filter(None, (name, subgoal.object, subgoal.receptacle)))})"


def read_subgoals(text: str, names: Sequence[str]) -> tuple[Skill, ...]:
    """Read the subgoals that ``text`` lists, in any form: pairs, parentheses, numbered lines, JSON.

    Text before the last label "plan:" or before the first subgoal is ignored, and so is text after an empty line that is no
    subgoal. Raises ``ReplyError``, with the allowed ``names``, if there is no plan, it is too long, or a part is no subgoal.
    """
    body = _PLAN_LABEL.split(text)[-1]
    found: list[Skill] = []
    for paragraph in (_json_lines(body) or body).split("\n\n"):
        for at, (subgoal, words) in enumerate(_pieces(paragraph)):
            if subgoal is not None:
                found.append(subgoal)
            elif found and at:
                raise ReplyError(f"{shown(words, 60)} is no subgoal; the allowed actions are {', '.join(names)}.")
            elif found:
                break
        if len(found) > MOST_SUBGOALS:
            raise ReplyError(f"the plan has more than {MOST_SUBGOALS} subgoals.")
    if not found:
        raise ReplyError(f"there is no plan of subgoals; the allowed actions are {', '.join(names)}.")
    return tuple(found)


def name_of(words: str) -> str:
    """A name without articles, marks and extra spaces: "Desk Lamp 2" for "the `Desk Lamp` 2."."""
    return " ".join(word for word in _WORD.findall(words) if word.lower() not in _SMALL)[:LONGEST_TARGET]


def _pieces(text: str) -> Iterator[tuple[Skill | None, str]]:
    for segment in _BREAK.split(_MARKED.sub("", text)):
        action: Verb | None = None
        names: list[str] = []
        bare = False
        for piece in _COMMA.split(segment):
            words = _WORD.findall(piece)
            if not words:
                continue
            said, rest = _action(words)
            if action and bare and (not names or (said is None and len(names) < 2)):
                # A comma followed the action, so this is another part of its subgoal.
                names.append(name_of(piece))
                continue
            if action:
                yield _finished(action, names), segment.strip()
            if said is None:
                yield None, piece.strip()
            action, names, bare = said, _parted(rest), not rest
        if action:
            yield _finished(action, names), segment.strip()


def _finished(verb: Verb, names: Sequence[str]) -> Skill | None:
    given = [name for name in names if name]
    if not given or any(name in _LISTED for name in given):
        # A model that repeats the list of allowed actions has written no plan.
        return None
    first, second = given[0], given[1] if len(given) > 1 else None
    if verb in ("open", "close"):
        return Skill(verb, receptacle=second or first)
    return Skill(verb, None, first) if verb == "put" and second is None else Skill(verb, first, second)


def _action(words: list[str]) -> tuple[Verb | None, list[str]]:
    for size in (2, 1):
        action = _WORDS.get("".join(words[:size]).lower())
        if action is not None:
            return action, words[size:]
    return None, words


def _parted(words: list[str]) -> list[str]:
    """Split the words after an action, such as "the pan in the fridge", into object and receptacle."""
    lowered = [word.lower() for word in words]
    at = next((at for at, word in enumerate(lowered) if at and word in _INTO), len(words))
    first = [word for word in words[:at] if word.lower() not in _INTO]
    return [name for name in (name_of(" ".join(first)), name_of(" ".join(words[at + 1 :]))) if name]


def _json_lines(text: str) -> str:
    value = found_json(text, "[", "]")
    return "\n".join(_entry(entry) for entry in cast("list[object]", value)) if isinstance(value, list) else ""


def _entry(entry: object) -> str:
    if isinstance(entry, dict):
        entry = list(cast("dict[object, object]", entry).values())
    if isinstance(entry, list):
        return ", ".join(part for part in cast("list[object]", entry) if isinstance(part, str))
    return entry if isinstance(entry, str) else ""


def high_level_plan(example: Example) -> tuple[Skill, ...]:
    """The plan that solved an example, for a planner's prompt, of kinds. An object in another place is navigated to first."""
    return tuple(map(as_subgoal, example.subgoals()))


def without_navigation(plan: Iterable[Skill]) -> tuple[Skill, ...]:
    """The plan as the Socratic Planner writes it: the controller goes to places by itself."""
    return tuple(subgoal for subgoal in plan if subgoal.verb != "go")


def as_subgoal(step: Skill) -> Skill:
    """A step of a task as planners write it."""
    match step.verb:
        case "find" | "go":
            return Skill("go", step.receptacle or step.object)
        case "put" | "open" | "close":
            return step
        case verb:
            return Skill(verb, step.object)
