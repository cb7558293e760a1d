"""The Socratic Planner (Shin et al., 2024): a zero-shot plan from questions that the model asks itself, revised by feedback.

The Socratic Task Decomposer asks and answers questions about the task (section 3.3), the Task Planner makes subgoals of the
conversation (section 3.4), and a low-level controller carries them out. When one fails (Algorithm 1), the advisor gets the
scene and judges if the subgoal is valid. If so, and its target was seen, it is tried again; otherwise the advisor explains the
cause, and the planner revises the plan (section 3.5). Texts replace the paper's images: the latest observation and the known
things at the present place are the caption, and the things named so far the detected objects. The advisor is the same language
model in place of a vision-language model.

Its ablation (table 3) leaves the decomposer out, or lets it think step by step instead of questioning itself; its static
setting never plans again (table 1); in its few-shot setting, the planner is shown tasks with their plans.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from housequest.agent.agents.bodies import PLANNER, PlanFollower, PlannerMemory
from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Decision, Emitter, Grants, ParseFailure, Turn
from housequest.agent.models.base import Message, Request
from housequest.agent.models.forms import LONGEST_THOUGHT, Choice, Either, Form, Listed, Name, Words
from housequest.agent.roles import demonstrations as expert
from housequest.agent.roles import reading
from housequest.agent.roles.base import Conversation, ReplyError, Role, ask, load_prompt
from housequest.agent.roles.messages import RoleMemory, emit_thought, planning
from housequest.worlds.base import Observation
from housequest.worlds.household.goals import Skill

if TYPE_CHECKING:
    from housequest.agent.agents.socratic import SocraticSettings


PACKAGE = "housequest.agent.agents.socratic"

# The questioner (section 3.3): asks itself questions about a task and answers them.

MOST_QUESTIONS = 40
LONGEST_ANSWER = 1_000

_LABEL = re.compile(
    r"^[\W_\d]{0,8}(?P<mark>q|a|question|answer)\s?\d{0,3}[\s*_`]{0,4}[:.)：][\s*_`]{0,4}(?P<words>.*)$", re.IGNORECASE
)


class Exchange(NamedTuple):
    """A question with its answer, both the model's own."""

    question: str
    answer: str


def dialogue_text(dialogue: Sequence[Exchange]) -> str:
    return "\n".join(f"Q{at}: {each.question}\nA{at}: {each.answer}" for at, each in enumerate(dialogue, 1))


def _read_dialogue(text: str) -> tuple[Exchange, ...]:
    said: list[tuple[str, str]] = []
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

LONGEST_REASONING = 8_000  # The most characters shown to the planner; a reply within the default token limit is shorter.


def _read_reasoning(text: str) -> str:
    if not any(character.isalpha() for character in text):
        raise ReplyError("nothing was thought in it.")
    return text[:LONGEST_REASONING].rstrip()


DECOMPOSER: Role[str] = Role("decomposer", _read_reasoning)

# The planner (sections 3.4 and 3.5): turns a dialogue into subgoals, and revises them.

_NAMES = tuple(reading.TRIPLE_NAMES.values())
_CHANGE = re.compile(r"(?im)^[\W_]{0,40}change\b[\s*_`]*[:：][\s*_`]*(?P<words>.*)$")


class SubgoalPlan(NamedTuple):
    """A plan, and its change to the one before, in the model's words; may be empty."""

    change: str
    subgoals: tuple[Skill, ...]


def numbered_subgoals(plan: Sequence[Skill]) -> str:
    """A plan as numbered lines, in the form in which the planner writes it."""
    return "\n".join(f"{number}. {reading.as_triple(subgoal)}" for number, subgoal in enumerate(plan, 1))


def _read_plan(text: str) -> SubgoalPlan:
    change = _CHANGE.search(text)
    return SubgoalPlan(reading.thought(change["words"]) if change else "", reading.read_subgoals(text, _NAMES))


def plan_form(names: Sequence[str] = _NAMES) -> Form:
    """The form of a plan of these actions."""
    others = Choice(tuple(name for name in names if name != reading.TRIPLE_NAMES["put"]))
    triple = Either(
        (
            Form(("(", ("action", others), ", ", ("object", Name(40)), ")")),
            Form((f"({reading.TRIPLE_NAMES['put']}, ", ("put", Name(40)), ", ", ("place", Name(40)), ")")),
        )
    )
    return Form(("Plan:\n", ("plan", Listed(triple, 20, first=1))))


def revised_form(names: Sequence[str] = _NAMES) -> Form:
    """The form of a revised plan, which begins with the change."""
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
    found = _CAUSE.search(text)
    words = " ".join((found["words"] if found else text).split())
    if not any(character.isalpha() for character in words):
        raise ReplyError("no cause is given.")
    return words[:LONGEST_CAUSE]


VALIDITY: Role[bool] = Role("advisor", _read_validity, form=Form(("Valid: ", ("valid", Choice(("yes", "no"))))))
CAUSE: Role[str] = Role("advisor", _read_cause, form=Form(("Cause: ", ("cause", Words(LONGEST_CAUSE - 100)))))


@dataclass(frozen=True, slots=True, kw_only=True)
class SocraticMemory(PlannerMemory):
    """The latest observation (``scene``), the roles' memories, and the findings about the task."""

    scene: str
    decomposer: RoleMemory
    planner: RoleMemory
    advisor: Conversation
    found: str | None = None


class Socratic(PlanFollower[SocraticMemory]):
    """Calls an episode: 2 before the first command, and up to 3 more at each failure; needs a chat model."""

    name = "socratic"
    words = staticmethod(reading.as_triple)

    def __init__(self, parts: AgentParts[SocraticSettings]) -> None:
        super().__init__(parts)
        self._decomposition, self._retries = parts.settings.decompose, parts.settings.retries
        household = load_prompt(PACKAGE, "socratic")
        rules, subtask = household.render("rules"), household.render("subtask")
        questions = self._decomposition == "questions"
        self._decompose = load_prompt(PACKAGE, "socratic_questioner" if questions else "socratic_decomposer")
        self._advise = load_prompt(PACKAGE, "socratic_advisor")
        self._prompt = load_prompt(PACKAGE, "socratic_planner")
        names = reading.names_in(reading.TRIPLE_NAMES, parts.world)
        self._reads = SOCRATIC_PLANNER.held_to(plan_form(names)), SOCRATIC_PLANNER.held_to(revised_form(names))
        texts = (
            self._decompose.render("system", rules=rules, subtask=subtask),
            self._prompt.render("system", subtask=subtask, rules=rules, actions=", ".join(names)),
            self._advise.render("system", rules=rules),
        )
        self._decomposer, self._planner, self._advisor = (Message("system", planning(text, parts.world)) for text in texts)

    def begin(self, goal: str, observation: Observation, grants: Grants) -> SocraticMemory:
        return SocraticMemory(
            goal=goal,
            grants=grants,
            state=self._body.begin(observation, goal),
            scene=observation.text.partition("Your task is to:")[0].strip(),
            decomposer=RoleMemory((self._decomposer,)),
            planner=RoleMemory((self._planner,)),
            advisor=(self._advisor,),
        )

    async def _prepare(self, memory: SocraticMemory, turn: Turn, emit: Emitter) -> tuple[Decision | None, SocraticMemory]:
        if turn.transitions:
            memory = replace(memory, scene=str(turn.transitions[-1].observation))
        if memory.revision >= 0:
            if not (turn.hints and self._replanning):
                return None, memory
            text = self._prompt.render("hint", **self._progress(memory))
            return await self._plan(memory, turn, text, "the person beside you gave a hint", emit)
        if self._decomposition != "none" and memory.found is None:
            failure, memory = await self._discover(memory, turn, emit)
            if failure is not None:
                return failure, memory
        memory = await self._with_examples(memory)
        return await self._plan(memory, turn, self._opening(memory), "the episode begins", emit)

    async def _discover(self, memory: SocraticMemory, turn: Turn, emit: Emitter) -> tuple[Decision | None, SocraticMemory]:
        """Let the decomposer think about the task, by questions and answers or by a chain of thought."""
        text, turn = self._decompose.render("task", goal=memory.goal), replace(turn, admissible=None, image=None)
        role: Role[Any] = QUESTIONER if self._decomposition == "questions" else DECOMPOSER
        answer, decomposer = await memory.decomposer.ask(role, self._model, text, turn, memory.grants, emit, self._sampling)
        found = dialogue_text(answer.value) if answer.value and role is QUESTIONER else answer.value
        memory = replace(memory, decomposer=decomposer, found=found)
        if found is None:
            return ParseFailure(role.name, answer.reason), memory
        emit_thought(role.name, found, emit)
        return None, memory

    def _opening(self, memory: SocraticMemory) -> str:
        shots = (
            (shot.goal, numbered_subgoals(reading.without_navigation(reading.high_level_plan(shot)))) for shot in memory.shots
        )
        parts = [self._prompt.render("example", goal=goal, plan=plan) for goal, plan in shots]
        if memory.found is None:
            parts.append(self._prompt.render("bare", goal=memory.goal))
        elif self._decomposition == "questions":
            parts.append(self._prompt.render("task", goal=memory.goal, dialogue=memory.found))
        else:
            parts.append(self._prompt.render("reasoned", goal=memory.goal, reasoning=memory.found))
        return "\n\n".join(parts)

    async def _recover(
        self, memory: SocraticMemory, failed: Skill, reason: str, turn: Turn, emit: Emitter
    ) -> tuple[Decision | None, SocraticMemory]:
        """Algorithm 1, lines 9 to 18: try again after bad luck, else revise the plan."""
        subgoal, how = reading.as_triple(failed), reason.partition(" failed: ")[2]
        scene = self._body.caption(memory.state, memory.scene)
        text = self._advise.render("validity", scene=scene, subgoal=subgoal, how=how)
        judged = await ask(VALIDITY, self._model, memory.advisor, text, emit, self._sampling, image=turn.image)
        memory = replace(memory, advisor=judged.conversation)
        target = failed.object or failed.receptacle or ""
        seen = self._body.was_seen(memory.state, target)
        if judged.value and seen and memory.retried < self._retries:
            emit_thought(VALIDITY.name, f"{reason}. It is valid, and its target was seen: it is tried again.", emit)
            return None, replace(memory, retried=memory.retried + 1)
        target = self._advise.render("seen" if seen else "unseen", object=target)
        text = self._advise.render("cause", target=target, subgoal=subgoal, how=how)
        explained = await ask(CAUSE, self._model, memory.advisor, text, emit, self._sampling, image=turn.image)
        emit_thought(CAUSE.name, explained.value or "", emit)
        memory, cause = replace(memory, advisor=explained.conversation), explained.value or "It is not known."
        text = self._prompt.render("revise", subgoal=subgoal, how=how, scene=scene, cause=cause, **self._progress(memory))
        return await self._plan(memory, turn, text, reason, emit)

    async def _plan(
        self, memory: SocraticMemory, turn: Turn, text: str, reason: str, emit: Emitter
    ) -> tuple[Decision | None, SocraticMemory]:
        again, turn = memory.revision >= 0, replace(turn, admissible=None, image=None)
        role, before = self._reads[again], memory.planner
        answer, planner = await before.ask(role, self._model, text, turn, memory.grants, emit, self._sampling)
        memory = replace(memory, planner=planner, asked=memory.asked + again)
        if answer.value is None:
            return ParseFailure(PLANNER, answer.reason), memory
        emit_thought(PLANNER, answer.value.change, emit)
        return None, self._planned(memory, answer.value.subgoals, reason, emit)

    def _progress(self, memory: SocraticMemory) -> dict[str, str]:
        return {
            "objects": ", ".join(self._body.told(memory.state).seen) or "nothing yet",
            "completed": ", ".join(map(reading.as_triple, memory.completed)) or "nothing",
            "left": ", ".join(map(reading.as_triple, memory.plan[memory.at :])) or "nothing",
        }


# The expert's replies in these roles.


def _questioner(knows: expert.Demonstrator, _request: Request) -> expert.Reply:
    """Everything that a plan needs: the parts, their order, their objects, and the way to do each."""
    goal, parts = knows.goal, expert.left_in_words(knows)
    answers = {
        "Which sub-tasks does the task consist of?": expert.sentence(parts),
        "In which order do they have to be done, and why?": f"In this order: {parts}. Each needs what the one before did.",
        "Which object is it about, and what else is needed?": expert.sentence(_needs(knows)),
    }
    if goal.count > 1:
        answers["Can both be carried at once?"] = f"No: one {goal.object} is put down before the other is taken."
    answers["How exactly is each carried out?"] = expert.sentence("; ".join(dict.fromkeys(_ways(knows))))
    return expert.Reply(dialogue_text([Exchange(question, answer) for question, answer in answers.items()]))


def _decomposer(knows: expert.Demonstrator, _request: Request) -> expert.Reply:
    parts, ways = expert.left_in_words(knows), ", then ".join(_ways(knows))
    return expert.Reply(f"The task takes these sub-tasks: {parts}. {expert.sentence(_needs(knows))} So I {ways}.")


def _planner(knows: expert.Demonstrator, request: Request) -> expert.Reply:
    subgoals = map(reading.as_subgoal, expert.with_ways(knows.left()))
    plan = f"Plan:\n{numbered_subgoals(reading.without_navigation(subgoals))}"
    change = f"Change: What is left is to {expert.left_in_words(knows)}.\n" if expert.asked_before(request) else ""
    return expert.Reply(f"{change}{plan}")


def _advisor(knows: expert.Demonstrator, request: Request) -> expert.Reply:
    """A subgoal is valid if it is still to be done; it failed because its target was not found yet."""
    question = expert.asked(request)
    label = "the subgoal (" if "It tried the subgoal (" in question else "The subgoal ("
    failed = expert.told(question, label).partition(")")[0]
    still = {reading.as_triple(reading.as_subgoal(one))[1:-1] for one in expert.with_ways(knows.left())}
    if "Valid: yes or no" in question:
        return expert.Reply(f"Valid: {'yes' if failed in still else 'no'}")
    unseen = sum(one.contents is None for one in knows.scene.belief.receptacles)
    where = f"there are {unseen} places that were not looked into yet" if unseen else "every place was looked into"
    why = f"it has not come to that yet, and {where}" if failed in still else "it is done already, or not part of the task"
    return expert.Reply(f"Cause: {expert.sentence(why)}")


def _ways(knows: expert.Demonstrator) -> list[str]:
    return [one.text for one in expert.with_ways(knows.goal.steps())]


def _needs(knows: expert.Demonstrator) -> str:
    needed = (one.receptacle or one.object for one in expert.with_ways(knows.goal.steps()) if one.verb in {"go", "use"})
    places = " and the ".join(map(str, dict.fromkeys(needed)))
    return f"it is about the {knows.goal.object}; besides that it takes the {places}"


ROLES = (
    expert.DemonstratedRole(PACKAGE, "socratic_questioner", _questioner),
    expert.DemonstratedRole(PACKAGE, "socratic_decomposer", _decomposer),
    expert.DemonstratedRole(PACKAGE, "socratic_planner", _planner),
    expert.DemonstratedRole(PACKAGE, "socratic_advisor", _advisor),
)
