"""PET wraps an acting agent: it plans sub-tasks, masks irrelevant names in observations, and tracks progress.

Plan, Eliminate and Track (Wu et al., 2023, section 3) guide an agent that acts; they do not act themselves. The paper's acting
agent is a network trained by imitation on the same texts (here ``action-attention``); any other also sees only names that are
not masked.

The acting agent starts a new conversation whenever the sub-task changes: its task is then the sub-task, and its first prompt
has everything that happened so far, without masked names. Within a sub-task its prompts only grow. So the prefix cache is lost
with each sub-task, two to six times an episode, at the cost of reading the history again. Plan, Eliminate and Track each ask
short questions, which share the system message.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from housequest.agent.agents.examples import TRAIN, ExampleSelector, make_example_selector
from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Agent, AgentEvent, Decision, Emitter, Grants, Memory, ParseFailure, Turn
from housequest.agent.episodes import events
from housequest.agent.models.base import BriefReader, Request, Timing, ability, in_role
from housequest.agent.models.forms import Choice, Form, Listed, Name
from housequest.agent.roles.base import Answer, ReplyError, Role, ask, continues, load_prompt
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, asked, told
from housequest.agent.roles.messages import additions, emit_rules, numbered, system_message, transcript
from housequest.agent.roles.reading import json_fields
from housequest.knowledge.examples import subtask_words, subtasks, subtasks_of_goal, tasks_of
from housequest.worlds.base import Observation, Transition
from housequest.worlds.errors import ConfigurationError, Unsupported, shown
from housequest.worlds.household.belief import Belief, masked, possible, without

if TYPE_CHECKING:
    from housequest.agent.agents.pet import PetSettings, Thresholds, Way


PACKAGE = "housequest.agent.agents.pet"

# Yes-or-no questions: reading the answer, and how sure the model was.

ALTERNATIVES = 10
"""The number of likeliest first words to request; yes and no are among them if they are an answer at all."""

_BEGUN = re.compile(r"[\W_]{0,8}(?:(?:the |my )?answer\b\W{0,8}(?:is\b\W{0,4})?)?(?P<word>yes|no)\b", re.IGNORECASE)
_ANSWER = re.compile(r"\banswer\b\W{0,8}(?:is\b\W{0,4})?(?P<word>yes|no)\b", re.IGNORECASE)


def _read_verdict(text: str) -> bool:
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
MOST_SUBTASKS = 20  # The longest task has six.

_ITEM = re.compile(r"^\s*(?:(?:step\s*|sub-?task\s*)?\d{1,3}\s*[.):]|[-*•])\s*(?P<subtask>\S.*)$", re.IGNORECASE)
_LABEL = re.compile(r"^[\W_]*(?:answer|sub-?tasks|(?:middle )?steps|plan)\b[\s*_`]*[:=]\s*", re.IGNORECASE)
_THEN = re.compile(r"^(?:and |then |and then |finally )", re.IGNORECASE)


def bare(task: str) -> str:
    """A task as part of a sentence: on one line, without its full stop."""
    return " ".join(task.split()).rstrip(".")


def _read_plan(text: str) -> tuple[str, ...]:
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

# The tracker (section 3.3): did the last few steps finish the present sub-task?

CONTEXT = 3  # The most steps to show.

_VERDICT = Form((("answer", Choice(("Yes", "No"))),))

TRACKER: Role[bool] = Role("tracker", _read_verdict, form=_VERDICT)


# The eliminator (section 3.2): how relevant are places and objects? Either each name is a yes-or-no question of its own, or one
# question lists all names and the model writes a number after each.

ELIMINATOR = "eliminator"

MOST_LISTED = 40  # Names in one question, so that the answer fits into a reply.

_LINE = re.compile(
    r"(?P<name>[A-Za-z][\w-]{0,59} \d{1,6})[\"'*`]{0,4}\s{0,3}[:=\u2013-]\s{0,3}[\"'*`]{0,4}"
    r"(?P<score>\d{1,3}(?:\.\d{1,9})?|\.\d{1,9})(?P<percent>\s?%)?(?![\w.]*\w)"
)


def listing(names: Sequence[str]) -> Role[Mapping[str, float]]:
    """The role that scores all ``names`` in one reply; a name that it leaves out has no score."""
    lines = [(f"{chr(10) if at else ''}{name}: ", (name, _TENTHS)) for at, name in enumerate(names)]
    return Role(ELIMINATOR, partial(_read_scores, names), form=Form(tuple(part for line in lines for part in line)))


_TENTHS = Choice(("0", *(f"0.{tenth}" for tenth in range(1, 10)), "1"))

ONE: Role[bool] = Role(ELIMINATOR, _read_verdict, form=_VERDICT)  # The role for a single name.


def _read_scores(names: Sequence[str], text: str) -> Mapping[str, float]:
    known, scores = {name.lower(): name for name in names}, dict[str, float]()
    for found in _LINE.finditer(text):
        score = float(found["score"]) / (100 if found["percent"] else 1)
        if (name := known.get(found["name"].lower())) is not None and score <= 1:
            scores.setdefault(name, score)
    if not scores:
        raise ReplyError("there is no line that has a name with a number between 0 and 1.")
    return scores


T = TypeVar("T")

VERDICT_TOKENS = 4  # The tokens of a verdict by its first word.

MOST_JUDGED = 500  # Names judged for one target; any further ones are shown unjudged.


@dataclass(frozen=True, slots=True)
class PetMemory:
    """PET's memory. ``plan`` is None until the planner is asked. ``step`` is the index of the present sub-task,
    ``len(plan)`` after the last one; ``since`` counts the steps since it began. ``acting`` is the memory of the acting
    agent, ``began`` its first ``step``."""

    goal: str
    opening: Observation
    grants: Grants
    belief: Belief | None
    plan: tuple[str, ...] | None = None
    step: int = 0
    since: int = 0
    played: tuple[Transition, ...] = ()
    hints: tuple[str, ...] = ()
    judged: tuple[events.Judged, ...] = ()
    acting: Memory = None
    began: int | None = None

    @property
    def subtask(self) -> str | None:
        """The present sub-task; None before the plan and after its end."""
        return self.plan[self.step] if self.plan and self.step < len(self.plan) else None


class Pet:
    """Plans, eliminates and tracks for ``acting``. Needs a chat model; uses log-probabilities if it gives them.

    Calls an episode, besides those of ``acting``: 1 for the plan; 1 a step to track; to eliminate, 1 for each name and
    sub-task with probabilities, else 1 or 2 (places, objects) whenever new names appear.

    An unreadable plan uses up the turn, and the task takes its place. A name with an unreadable score is shown; an
    unreadable verdict is a no. Without Track the acting agent gets the task with the whole list, and relevance is judged
    against the task; without Plan there is nothing to track. The held object and the present place are never masked. As in
    the paper, nothing masked in error comes back, and a sub-task finished in error is not resumed. Outside households
    nothing is eliminated."""

    name = "pet"

    def __init__(self, parts: AgentParts[PetSettings], acting: Agent, thresholds: Mapping[Way, Thresholds]) -> None:
        self._model, self._sampling, self.settings = parts.model, parts.sampling, parts.settings
        self._acting, self._thresholds = acting, thresholds
        self._world, self._household = parts.world, parts.world.household
        # The planner's examples have no trajectory, so the tasks of train need not be played.
        store = tasks_of(parts.world, TRAIN) if self.settings.plan and self.settings.examples == TRAIN else None
        examples = make_example_selector(parts.world, self.settings, parts.seed, store=store) if self.settings.plan else None
        self._examples = examples or ExampleSelector(())

    async def check(self) -> None:
        if ability(self._model, BriefReader) or self.settings.scores == "probability" or self.settings.thresholds:
            self._least(probable=await self._probable())

    def begin(self, goal: str, observation: Observation, grants: Grants) -> PetMemory:
        return PetMemory(goal, observation, grants, observation.belief)

    async def decide(self, memory: PetMemory, turn: Turn, emit: Emitter) -> tuple[Decision, PetMemory]:
        failure, memory = await self.look(memory, turn, emit)
        if failure is not None:
            return failure, memory
        return await self._act(memory, turn, emit)

    async def look(self, memory: PetMemory, turn: Turn, emit: Emitter) -> tuple[ParseFailure | None, PetMemory]:
        """Plan, track and eliminate, but do not act. A failure uses up the turn. Raises ``Unsupported`` and ``ModelError``."""
        probable = await self._probable()
        played, since = memory.played + turn.transitions, memory.since + len(turn.transitions)
        memory = replace(memory, belief=turn.belief, played=played, since=since, hints=memory.hints + turn.hints)
        if self.settings.plan and memory.plan is None:
            failure, memory = await self._plan(memory, turn, emit)
            if failure is not None:
                return failure, memory
        elif self.settings.track and turn.transitions and memory.subtask is not None:
            # Track (section 3.3).
            story = transcript(memory.played[-min(memory.since, CONTEXT) :])
            text = load_prompt(PACKAGE, TRACKER.name).render("question", story=story, subtask=memory.subtask)
            if (await self._chance(TRACKER, text, emit, probable=probable) or 0) > 0.5:
                emit(events.Progressed(role=TRACKER.name, step=memory.step + 1))
                memory = replace(memory, step=memory.step + 1, since=0)
        if self.settings.eliminate and memory.belief is not None:
            memory = await self._eliminate(memory, memory.belief, emit, probable=probable)
        return None, memory

    def _least(self, *, probable: bool) -> Thresholds:
        """The thresholds below which names are masked. Raises ``ConfigurationError`` if they are for the other way."""
        way = "probability" if probable else "answer"
        if way not in self._thresholds:
            raise ConfigurationError(
                f"{shown(self.settings.thresholds, 200)} has no thresholds of scores={way}; calibrate them with "
                f"`housequest modules RUN --model NAME --set scores={way} --calibrate FILE`."
            )
        return self._thresholds[way]

    async def _probable(self) -> bool:
        """True if questions are answered by probability. Raises ``Unsupported``."""
        if ability(self._model, BriefReader):
            raise Unsupported(
                f"{self._model.name} only reads its own short prompts, and 'pet' asks questions; "
                "name a chat model, such as openai:NAME, or another agent."
            )
        probable = self.settings.scores != "answer"
        for model in (in_role(self._model, role) for role in (TRACKER.name, ELIMINATOR)):
            able = (await model.capabilities()).log_probabilities
            able = not await continues(model, self._sampling) and able
            if self.settings.scores == "probability" and not able:
                raise Unsupported(
                    f"{model.name} gives no log-probabilities, which --set scores=probability needs; "
                    "leave that out, and 'pet' takes the model's answers."
                )
            probable = probable and able
        return probable

    # Plan (section 3.1).

    async def _plan(self, memory: PetMemory, turn: Turn, emit: Emitter) -> tuple[ParseFailure | None, PetMemory]:
        examples = await self._examples.choose(memory.goal, memory.belief.kinds if memory.belief else ())
        # The most similar example comes last, right before the question.
        shots = [(bare(example.goal), ", ".join(subtasks(example, self._household))) for example in reversed(examples)]
        prompt = load_prompt(PACKAGE, "subtasks")
        parts = [prompt.render("example", task=task, subtasks=listed) for task, listed in shots]
        text = "\n\n".join([*parts, prompt.render("question", task=bare(memory.goal))])
        text += additions(replace(turn, admissible=None), (), memory.grants, first=True)
        emit_rules(turn.rules, (), emit)
        answer = await self._ask(SUBTASKS, text, emit)
        if answer.value is None:
            return ParseFailure(SUBTASKS.name, answer.reason), replace(memory, plan=())
        emit(events.Planned(role=SUBTASKS.name, steps=answer.value, revision=0, reason="the episode begins"))
        return None, replace(memory, plan=answer.value, since=0)

    # Eliminate (section 3.2).

    def target(self, memory: PetMemory) -> str:
        subtask = memory.subtask if self.settings.track and self.settings.judged == "subtask" else None
        return bare(subtask or memory.goal)

    async def _eliminate(self, memory: PetMemory, belief: Belief, emit: Emitter, *, probable: bool) -> PetMemory:
        target, least = self.target(memory), self._least(probable=probable)
        prompt = load_prompt(PACKAGE, ELIMINATOR)
        known = {one.name for judged in memory.judged if judged.target == target for one in judged.things}
        found: list[events.Relevance] = []
        for place, everything in ((True, belief.receptacles), (False, belief.items)):
            new = [one.name for one in everything if one.name not in known][: max(0, MOST_JUDGED - len(known))]
            known.update(new)
            scores: dict[str, float | None] = {}
            # One call after the other: a resumed episode repeats them in their order.
            if probable:
                for name in new:
                    # The name comes last in the question, so that all questions share a prefix.
                    text = prompt.render("place" if place else "object", target=target, name=name)
                    scores[name] = await self._chance(ONE, text, emit, probable=True)
            else:
                for start in range(0, len(new), MOST_LISTED):
                    some = new[start : start + MOST_LISTED]
                    text = prompt.render("places" if place else "objects", target=target, names="\n".join(some))
                    answer = await self._ask(listing(some), text, emit)
                    scores |= answer.value or {}
            for name in new:
                score = scores.get(name)
                below = score is not None and score < (least.places if place else least.objects)
                found.append(events.Relevance(name=name, place=place, score=score, masked=below))
        if not found:
            return memory
        judged = events.Judged(role=ELIMINATOR, target=target, things=tuple(found))
        emit(judged)
        return replace(memory, judged=(*memory.judged, judged))

    def hidden(self, memory: PetMemory) -> frozenset[str]:
        if memory.belief is None or not self.settings.eliminate:
            return frozenset()
        target = self.target(memory)
        low = {one.name for judged in memory.judged if judged.target == target for one in judged.things if one.masked}
        return frozenset(low.difference(memory.belief.carried) - {one.name for one in memory.belief.here()})

    # Acting (section 3.4 has an agent of its own).

    async def _act(self, memory: PetMemory, turn: Turn, emit: Emitter) -> tuple[Decision, PetMemory]:
        hidden = self.hidden(memory)
        if memory.began != memory.step:
            memory = replace(memory, acting=self._begun(memory, hidden), began=memory.step)
            turn = replace(turn, transitions=memory.played, hints=memory.hints)
        seen = tuple(replace(one, observation=_without(one.observation, hidden)) for one in turn.transitions)
        admissible = None if turn.admissible is None else possible(turn.admissible, hidden)
        turn = replace(turn, transitions=seen, admissible=admissible, belief=turn.belief and without(turn.belief, hidden))
        decision, acting = await self._acting.decide(memory.acting, turn, _as_thoughts(emit) if memory.plan else emit)
        return decision, replace(memory, acting=acting)

    def _begun(self, memory: PetMemory, hidden: frozenset[str]) -> Memory:
        """The acting agent's memory at the start of its present task, which has no granted type."""
        goal = memory.goal
        if memory.plan and memory.subtask is not None:
            prompt, steps = load_prompt(PACKAGE, "subtasks"), ", ".join(memory.plan)
            whole = prompt.render("whole", goal=bare(goal), subtasks=steps)
            goal = memory.subtask if self.settings.track else whole
        # The game's opening ends with the task.
        opening = replace(memory.opening, text=memory.opening.text.replace(memory.goal or goal, goal))
        grants = memory.grants if goal == memory.goal else replace(memory.grants, task_type=None)
        return self._acting.begin(goal, _without(opening, hidden), grants)

    async def _ask(self, role: Role[T], text: str, emit: Emitter, *, alternatives: int = 0, once: bool = False) -> Answer[T]:
        system = system_message(load_prompt(PACKAGE, role.name), self._world)
        return await ask(role, self._model, (system,), text, emit, self._sampling, alternatives=alternatives, once=once)

    async def _chance(self, role: Role[bool], text: str, emit: Emitter, *, probable: bool) -> float | None:
        """p(yes) against p(no); 1 or 0 if only the answer is known, None if it cannot be read."""
        if probable and self._sampling.form != "free":
            first = await self._ask(_first_word(role), text, emit, alternatives=ALTERNATIVES, once=True)
            chance = _chance_of(first)
            if chance is not None:
                return chance
            # It may think before it answers, so let it write its answer.
            reason = "it does not begin with yes or no, and neither is likely to."
            emit(events.ParseFailed(role=role.name, reply=first.conversation[-1].content, reason=reason, final=False))
            probable = False
        # The limit keeps free replies as they were before replies had forms.
        role = replace(role, first_tokens=VERDICT_TOKENS) if probable else role
        return _chance_of(await self._ask(role, text, emit, alternatives=ALTERNATIVES if probable else 0))


def _chance_of(answer: Answer[bool] | Answer[bool | None]) -> float | None:
    chance = probability(answer.alternatives)
    return chance if chance is not None or answer.value is None else float(answer.value)


def _first_word(role: Role[bool]) -> Role[bool | None]:
    """``role`` reading only the first word of a free reply; never unreadable."""

    def read(reply: str) -> bool | None:
        with suppress(ReplyError):
            return role.read(reply)
        return None

    return Role(role.name, read, stop=role.stop, first_tokens=VERDICT_TOKENS)


def _as_thoughts(emit: Emitter) -> Emitter:
    """Emit the acting agent's events with its own plan as a thought, since the episode's plan is the list of sub-tasks."""

    def told(body: AgentEvent, timing: Timing | None = None) -> None:
        if isinstance(body, events.Planned):
            emit(events.Thought(role=body.role, text=f"Plan:\n{numbered(body.steps)}"))
        elif not isinstance(body, events.Progressed):
            emit(body, timing)

    return told


def _without(observation: Observation, hidden: frozenset[str]) -> Observation:
    belief = observation.belief and without(observation.belief, hidden)
    return replace(observation, text=masked(observation.text, hidden), belief=belief)


# The expert's replies in these roles.


def _subtasks(knows: Demonstrator, _request: Request) -> Reply:
    return Reply(", ".join(subtasks_of_goal(knows.goal)))


def _tracker(knows: Demonstrator, request: Request) -> Reply:
    """A part is finished if only the parts after it are left of the goal."""
    work = told(asked(request), "The work: ")
    parts, rest = subtasks_of_goal(knows.goal), len(knows.left())
    return Reply("Yes" if any(part == work and rest == len(parts) - at for at, part in enumerate(parts, 1)) else "No")


def _eliminator(knows: Demonstrator, request: Request) -> Reply:
    """The names that matter for the sub-task, or for the task: a number for each name, or a word for one."""
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
