"""The distiller, a role that summarises episodes as rules of the world (OPEx, section 3, "Prior Knowledge Integration").

Its proposals become candidate rules with the steps they come from; invalid ones are dropped with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, cast

from housequest.agent.episodes.events import Started, Stepped
from housequest.agent.episodes.moments import episode_files
from housequest.agent.episodes.record import read_episode
from housequest.agent.explorer.plan import BadCheck, DroppedRule
from housequest.agent.models.forms import Choice, Either, Form, Listed, Name, Words
from housequest.agent.roles.base import ReplyError, Role, clean, load_prompt
from housequest.agent.roles.reading import found_json
from housequest.knowledge.checks import Check, parse_check
from housequest.knowledge.rules import KINDS, WITNESSES, Evidence, Origin, Rule, RuleKind
from housequest.worlds.errors import KnowledgeError, shown

LONGEST_OPENING = 4_000
LONGEST_OBSERVATION = 1_500
CHARACTERS = 4  # Characters counted as one token: a rough estimate for English in any model's vocabulary.


class CitedStep(NamedTuple):
    """An executed command with its observation; ``origin`` is run/task/step."""

    origin: str
    command: str
    observation: str


class EpisodeSteps(NamedTuple):
    """An episode as an action-observation sequence (OPEx, section 3), without outcome and task id. ``curious`` counts the steps
    chosen at random."""

    opening: str
    steps: tuple[CitedStep, ...]
    curious: int


class Chunk(NamedTuple):
    """One prompt's ``text``, in which step N, counted from 1, is ``steps[N - 1]``."""

    number: int
    text: str
    steps: tuple[CitedStep, ...]


def read_steps(run: Path) -> Iterator[EpisodeSteps]:
    """Read the episodes of a run's folder, in task order. Raises ``ConfigurationError`` for a damaged record."""
    for record in episode_files([run]):
        opening, steps, curious = "", list[CitedStep](), 0
        for event in read_episode(record.path):
            match event.body:
                case Started() as started:
                    opening = started.opening
                case Stepped() as step:
                    said = f"{step.observation} {step.explanation or ''}".strip()
                    steps.append(CitedStep(f"{record.run}/{record.task}/{event.id}", step.command, said))
                    curious += step.by == "curiosity"
                case _:
                    pass
        yield EpisodeSteps(opening, tuple(steps), curious)


def chunks(episodes: Iterable[EpisodeSteps], most_steps: int = 80, most_tokens: int = 6_000) -> Iterator[Chunk]:
    """Split the steps of ``episodes`` into chunks with limits on steps and approximate tokens, at least one step each. An
    episode that continues in the next chunk is introduced again."""
    prompt = load_prompt("housequest.agent.explorer", "distiller")
    number = houses = characters = 0
    parts, steps = list[str](), list[CitedStep]()
    for episode in episodes:
        introduced = False
        for place, step in enumerate(episode.steps):
            more = characters + len(step.observation[:LONGEST_OBSERVATION])
            if steps and (len(steps) >= most_steps or more > most_tokens * CHARACTERS):
                number += 1
                yield Chunk(number, "\n".join(parts), tuple(steps))
                parts, steps, houses, characters, introduced = [], [], 0, 0, False
            if not introduced:
                introduced = True
                houses += 1
                again = ", which you have seen the beginning of" if place else ""
                opening = clean(episode.opening)[:LONGEST_OPENING]
                house = prompt.render("house", number=str(houses), again=again, opening=opening)
                parts.append(f"\n{house}" if parts else house)
                characters += len(house)
            steps.append(step)
            command, said = clean(step.command), clean(step.observation)[:LONGEST_OBSERVATION]
            parts.append(prompt.render("step", number=str(len(steps)), command=command, observation=said))
            characters += len(parts[-1])
    if steps:
        yield Chunk(number + 1, "\n".join(parts), tuple(steps))


MOST_RULES = 20
LONGEST_STATEMENT = 400
MOST_OBJECTS = 12
MOST_STEPS = 20
LONGEST_ORIGIN = 300
LONGEST_SHOWN = 200
_LABELS = ("rule", "kind", "objects", "steps", "check")
_LABEL = re.compile(
    r"[\W\d_]{0,8}(?P<label>rule|statement|kind|objects?|steps?|check)\s?\d{0,3}[\s*_`]{0,4}[:=]"
    r"(?:[*_`]{1,3}(?=\s))?\s{0,4}(?P<rest>.*)",
    re.IGNORECASE,
)
_NONE = re.compile(r"[\W_]*(?:rules?\W{0,6})?(?:none|no rules|nothing)\b.{0,40}", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d{1,6}(?![\w.]*\w)")
_RANGE = re.compile(r"\b(\d{1,6})\s?[-–]\s?(\d{1,6})\b")
_WORDS = re.compile(r"[a-z0-9]+")
_OBJECT = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}")
_SAME = {"statement": "rule", "object": "objects", "step": "steps", "text": "rule"}


class ProposedRule(NamedTuple):
    """A rule in the model's words. ``steps`` are step numbers of its chunk; ``check`` is the text of its check, or empty."""

    statement: str
    kind: str = ""
    objects: tuple[str, ...] = ()
    steps: tuple[int, ...] = ()
    check: str = ""


def _read(text: str) -> tuple[ProposedRule, ...]:
    lines = text.splitlines()
    blocks = list(_from_json(text))
    if not blocks:
        for line in lines:
            match = _LABEL.match(line[:4_000])
            if match is not None:
                label = match["label"].lower()
                label = _SAME.get(label, label)
                if label == "rule":
                    blocks.append({})
                if blocks:
                    blocks[-1].setdefault(label, match["rest"])
            elif blocks and line.strip() and not line.strip().startswith("```") and (last := blocks[-1]):
                # A line without a label continues the last field.
                field = next(reversed(last))
                last[field] = f"{last[field]} {line.strip()}"
    if not blocks and not _NONE.match(text.strip()):
        raise ReplyError('there is no line that begins with "Rule:"; where nothing can be learned, answer "Rules: none".')
    return tuple(map(_proposal, blocks))


def _proposal(block: Mapping[str, str]) -> ProposedRule:
    fields = {label: " ".join(block.get(label, "").split()).strip("*` ") for label in _LABELS}
    check = "" if fields["check"].strip(" .").lower() in {"", "none", "n/a", "-"} else fields["check"]
    kind = fields["kind"].strip(" .").lower()[:40]
    return ProposedRule(fields["rule"], kind, _objects(fields["objects"]), _steps(fields["steps"]), check)


def _objects(text: str) -> tuple[str, ...]:
    words = (part.strip(" .\"'[]").lower() for part in text[:1_000].split(","))
    bare = (word.removeprefix("a ").removeprefix("an ") for word in words)
    kept = (re.sub(r" \d{1,6}$", "", word) for word in bare)
    found = dict.fromkeys(word for word in kept if _OBJECT.fullmatch(word) and word != "none")
    return tuple(found)[:MOST_OBJECTS]


def _steps(text: str) -> tuple[int, ...]:
    """The numbers in ``text``; ranges are expanded, up to ``MOST_STEPS`` numbers."""
    found: list[int] = []
    for match in _RANGE.finditer(text[:1_000]):
        low, high = int(match[1]), int(match[2])
        found += range(low, min(high, low + MOST_STEPS) + 1)
    rest = _RANGE.sub(" ", text[:1_000])
    found += [int(number) for number in cast("list[str]", _NUMBER.findall(rest))]
    return tuple(dict.fromkeys(found))[:MOST_STEPS]


def _from_json(text: str) -> Iterable[dict[str, str]]:
    """The rules of a JSON reply: a list of rules, or an object that holds one."""
    opening = next((mark for mark in text if mark in "[{"), "")
    closing = next((mark for mark in reversed(text) if mark in "]}"), "")
    value = found_json(text, opening, closing) if opening and closing else None
    if isinstance(value, dict):
        fields = _lowered(cast("dict[object, object]", value))
        lists = [cast("list[object]", each) for each in fields.values() if isinstance(each, list)]
        items: list[object] = [fields] if "rule" in fields else lists[0] if lists else []
    else:
        items = cast("list[object]", value) if isinstance(value, list) else []
    for item in items:
        if isinstance(item, dict):
            values = _lowered(cast("dict[object, object]", item))
            yield {label: _text(values[label]) for label in _LABELS if values.get(label) is not None}


def _lowered(fields: Mapping[object, object]) -> dict[str, object]:
    labels = ((str(key).lower(), each) for key, each in fields.items())
    return {_SAME.get(label, label): each for label, each in labels}


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(each) for each in cast("list[object]", value)[:100] if isinstance(each, str | int))
    return str(value) if isinstance(value, str | int) else ""


def distilling_form(steps: int) -> Form:
    """The form of a reply: at most `MOST_RULES` rules that cite some of the ``steps``, or none."""
    numbers = Choice(tuple(map(str, range(1, steps + 1))))
    rule = Form(
        (
            *("Rule: ", ("rule", Words(LONGEST_STATEMENT))),
            *("\nKind: ", ("kind", Choice(KINDS))),
            *("\nObjects: ", ("objects", Listed(Name(40), MOST_OBJECTS, between=", "))),
            *("\nSteps: ", ("steps", Listed(numbers, MOST_STEPS, between=", "))),
            *("\nCheck: ", ("check", Words(LONGEST_STATEMENT, sentence=False))),
        )
    )
    rules = Listed(rule, MOST_RULES, between="\n\n")
    return Form((("rules", Either((Choice(("Rules: none",)), rules))),))


DISTILLER: Role[tuple[ProposedRule, ...]] = Role("distiller", _read)


@dataclass(frozen=True, slots=True)
class CandidateRule:
    """A proposed rule with the ``steps`` it cites, as run/task/step. ``disputes`` has the ids of rules that it contradicts, for
    a person to decide."""

    rule: Rule
    steps: tuple[str, ...] = ()
    disputes: tuple[str, ...] = ()


@dataclass
class Candidates:
    """Proposed rules in order, kept or dropped, and the checks that could not be parsed."""

    kept: list[CandidateRule] = field(default_factory=list[CandidateRule])
    dropped: list[DroppedRule] = field(default_factory=list[DroppedRule])
    checks: list[BadCheck] = field(default_factory=list[BadCheck])

    def add(self, chunk: Chunk, proposals: Sequence[ProposedRule], origin: Origin) -> None:
        for proposal in proposals[:MOST_RULES]:
            steps = tuple(chunk.steps[number - 1].origin for number in proposal.steps if 1 <= number <= len(chunk.steps))
            said = proposal.statement
            if fault := _fault(said, steps):
                self.dropped.append(DroppedRule(statement=_shown(said), cause="malformed", why=fault, steps=steps))
                continue
            kind: RuleKind | None = next((kind for kind in KINDS if kind == proposal.kind), None)
            check, found = self._check(proposal), Evidence(witnesses=named_steps(steps))
            rule = Rule(_named(said), said, kind, status="candidate", objects=proposal.objects, origin=origin, check=check)
            self.kept.append(CandidateRule(replace(rule, evidence=found), steps))
        if len(proposals) > MOST_RULES:
            what = f"({len(proposals) - MOST_RULES} more rules of one reply)"
            why = f"a reply to chunk {chunk.number} has more than {MOST_RULES} rules; the others are not read"
            self.dropped.append(DroppedRule(statement=what, cause="malformed", why=why))

    def _check(self, proposal: ProposedRule) -> Check | None:
        if not proposal.check:
            return None
        try:
            check = parse_check(proposal.check)
            # The book stores the check as text, which must parse to the same check.
            if parse_check(str(check)) == check:
                return check
            why = "it cannot be written down so that it reads the same."
        except KnowledgeError as error:
            why = str(error)
        self.checks.append(BadCheck(statement=proposal.statement, check=_shown(proposal.check), why=why))
        return None


def named_steps(steps: Sequence[str]) -> tuple[str, ...]:
    """The ``steps`` that a rulebook can hold as witnesses."""
    return tuple(step for step in steps if len(step) <= LONGEST_ORIGIN and step.isprintable())[:WITNESSES]


def _fault(statement: str, steps: Sequence[str]) -> str:
    if not any(character.isalpha() for character in statement):
        return "it is not a statement in words"
    if len(statement) > LONGEST_STATEMENT:
        return f"it has more than {LONGEST_STATEMENT} characters"
    if not statement.isprintable():
        return "it holds characters that cannot be printed"
    return "" if steps else "it names no step that it was read from"


def _named(statement: str) -> str:
    """An id that depends on ``statement`` alone."""
    words = "-".join(_WORDS.findall(statement.lower())[:6])[:50].rstrip("-") or "rule"
    return f"{words}-{sha256(statement.encode('utf-8', 'replace')).hexdigest()[:6]}"


def _shown(text: str) -> str:
    return text if text.isprintable() and len(text) <= LONGEST_SHOWN else shown(text, LONGEST_SHOWN)
