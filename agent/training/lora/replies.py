"""What the expert replies to each role, whichever agent asks: the prompt says which role it is, by how it begins.

A reply follows from what the agent was told, what is left of the goal, and the next command. An agent can be taught if all of
its prompts are among these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from housequest.agent.agents.llm_planner.agent import prompted_plan
from housequest.agent.agents.lota.carrying import listed_skill
from housequest.agent.agents.lota.selector import DONE, said
from housequest.agent.agents.opex.agent import SURVEY, objective, planned_steps
from housequest.agent.agents.opex.agent import planned as answered_plan
from housequest.agent.agents.opex.roles import kinds_in
from housequest.agent.agents.socratic.roles import Exchange, dialogue_text, numbered_subgoals
from housequest.agent.models.base import Request
from housequest.agent.roles.base import load_prompt
from housequest.agent.roles.subgoals import as_subgoal, without_navigation
from housequest.agent.skills.skill import Skill, as_skill
from housequest.agent.training.demonstrations import STUCK, plan_of, planned
from housequest.agent.training.lora.knowing import Knowing, with_ways
from housequest.agent.training.wordings import SearchOrder
from housequest.knowledge.examples import subtask_words, subtasks_of_goal
from housequest.knowledge.exemplars import ANSWER, THINK
from housequest.worlds.errors import ModelError
from housequest.worlds.household.goals import GoalStep

LOOKS = 2
"""How often the expert looks into the room for a general idea of it."""
_KEPT = "Thought: The plan is right\nPlan: keep"
_SENTENCE = re.compile(r"^(Thought: |<think>|\d+\. )([a-z])", re.MULTILINE)
"""Where a thought or a step of a plan begins with a small letter."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the expert says, and whether it is to be learned."""

    text: str
    learned: bool = True


Answering = Callable[[Knowing, Request], Reply]


# Roles that name a command.


def _react(knows: Knowing, request: Request) -> Reply:
    """A thought and a command; who cannot say that it is stuck looks round."""
    lesson, learned = knows.lesson(request, _part(knows, request))
    return Reply(f"Thought: {lesson.thought}\nAction: {_playable(lesson.command)}", learned)


def _window(knows: Knowing, request: Request) -> Reply:
    """The same between marks. The prompt forgets, so a command may name what it no longer tells."""
    del request
    lesson, learned = knows.lesson()
    return Reply(f"<think>{lesson.thought}</think>\n<action>{_playable(lesson.command)}</action>", learned)


def _line(knows: Knowing, request: Request) -> Reply:
    """A line of the story: a thought before each part of the task, else a command."""
    last = _asked(request)
    thoughtful = f"> {THINK}" in request.messages[0].content
    if thoughtful and knows.advanced and not last.removesuffix("\n>").endswith(ANSWER):
        first, now = not knows.scene.seen, knows.move().thought
        return Reply(f"{THINK} To do this I {_parts(knows)}. First I {now}." if first else f"{THINK} Now I {now}.")
    lesson, learned = knows.lesson(request)
    return Reply(_playable(lesson.command), learned)


def _actor(knows: Knowing, request: Request) -> Reply:
    part = _part(knows, request)
    lesson, learned = knows.lesson(request, part)
    return Reply(f"Thought: {lesson.thought}\nStep: {1 if part else lesson.step}\nAction: {lesson.command}", learned)


def _playable(command: str) -> str:
    return "look" if command == STUCK else command


# Roles that plan.


def _reasoner(knows: Knowing, request: Request) -> Reply:
    """A plan, or that it is kept."""
    if _begun(request):
        return Reply(_KEPT)
    part = _part(knows, request)
    if part is None:
        return Reply(planned(knows.goal, SearchOrder()))
    step = plan_of(knows.goal, SearchOrder())[subtasks_of_goal(knows.goal).index(part)]
    return Reply(f"Thought: {part}\nPlan:\n1. {step}")


def _selector(knows: Knowing, request: Request) -> Reply:
    """The skill that comes next, ``done`` after the last; all of them where the whole list is asked for."""
    whole = load_prompt("housequest.agent.agents.lota", "selector").sections["whole"].rpartition("$skills")[2].strip()
    if whole in request.messages[0].content:
        return Reply(", ".join((*_listed(knows.left()), DONE)))
    skills, at = _listed(knows.whole), sum(message.role == "assistant" for message in request.messages)
    return Reply(said(skills[at] if at < len(skills) else DONE))


def _listed(parts: tuple[GoalStep, ...]) -> list[str]:
    """The skills of the fixed set that take these parts of the goal."""
    return [listed_skill(as_skill(one)).text for one in with_ways(parts)]


def _opex_planner(knows: Knowing, request: Request) -> Reply:
    survey = not _begun(request) and load_prompt("housequest.agent.agents.opex", "opex_planner").sections["survey"].strip()
    steps = planned_steps(_skills(knows), survey=bool(survey) and str(survey) in request.messages[0].content)
    answer = answered_plan(kinds_in(knows.world)[knows.goal.type], steps)
    return Reply(f"Task type: {answer['kind']}\nThought: {answer['thought']}\nPlan:\n{answer['plan']}")


def _llm_planner(knows: Knowing, request: Request) -> Reply:
    lines = load_prompt("housequest.agent.agents.llm_planner", "llm_planner").render("lines") in request.messages[0].content
    plan = tuple(map(as_subgoal, with_ways(knows.left())))
    return Reply(prompted_plan(plan, "lines" if lines else "pairs").strip())


def _socratic_planner(knows: Knowing, request: Request) -> Reply:
    plan = f"Plan:\n{numbered_subgoals(without_navigation(map(as_subgoal, with_ways(knows.left()))))}"
    if not _begun(request):
        return Reply(plan)
    return Reply(f"Change: What is left is to {_parts(knows)}.\n{plan}")


def _subtasks(knows: Knowing, request: Request) -> Reply:
    del request
    return Reply(", ".join(subtasks_of_goal(knows.goal)))


# Roles that think about the task or the plan.


def _questioner(knows: Knowing, request: Request) -> Reply:
    """What a plan needs to know: the parts, their order, what each is about, and how it is done."""
    del request
    goal, parts = knows.goal, _parts(knows)
    asked = [
        ("Which sub-tasks does the task consist of?", f"{_sentence(parts)}"),
        ("In which order do they have to be done, and why?", f"In this order: {parts}. Each needs what the one before did."),
        ("Which object is it about, and what else is needed?", _sentence(_needs(knows))),
    ]
    if goal.count > 1:
        asked.append(("Can both be carried at once?", f"No: one {goal.object} is put down before the other is taken."))
    ways = "; ".join(dict.fromkeys(as_skill(one).text for one in with_ways(knows.whole)))
    asked.append(("How exactly is each carried out?", _sentence(ways)))
    return Reply(dialogue_text([Exchange(question, answer) for question, answer in asked]))


def _decomposer(knows: Knowing, request: Request) -> Reply:
    del request
    ways = ", then ".join(as_skill(one).text for one in with_ways(knows.whole))
    return Reply(f"The task takes these sub-tasks: {_parts(knows)}. {_sentence(_needs(knows))} So I {ways}.")


def _advisor(knows: Knowing, request: Request) -> Reply:
    """A subgoal is valid if it is still to be done; what failed was not found yet."""
    asked = _asked(request)
    failed = _field(asked, "the subgoal (" if "It tried the subgoal (" in asked else "The subgoal (").partition(")")[0]
    still = {numbered_subgoals([as_subgoal(one)]).removeprefix("1. (").removesuffix(")") for one in with_ways(knows.left())}
    if "Valid: yes or no" in asked:
        return Reply(f"Valid: {'yes' if failed in still else 'no'}")
    unseen = sum(one.contents is None for one in knows.belief.receptacles)
    where = f"there are {unseen} places that were not looked into yet" if unseen else "every place was looked into"
    why = f"it has not come to that yet, and {where}" if failed in still else "it is done already, or not part of the task"
    return Reply(f"Cause: {why[0].upper()}{why[1:]}.")


def _tracker(knows: Knowing, request: Request) -> Reply:
    """A part is finished where no more is left of the goal than what comes after it."""
    work = _field(_asked(request), "The work: ")
    parts, rest = subtasks_of_goal(knows.goal), len(knows.left())
    return Reply("Yes" if any(part == work and rest == len(parts) - at for at, part in enumerate(parts, 1)) else "No")


def _eliminator(knows: Knowing, request: Request) -> Reply:
    """What matters for the sub-task, or for the task: a number for each name, or a word for one."""
    asked = _asked(request)
    target, (question, *names) = _field(asked, "What is to be done: "), asked.partition("\n\n")[2].splitlines()
    parts = [one for one in knows.whole if subtask_words(one) == target]
    place = "going there" in question
    verdicts = {name: knows.matters(name, tuple(parts) or knows.whole, place=place) for name in names}
    if question.startswith("How likely"):
        return Reply("\n".join(f"{name}: {int(matters)}" for name, matters in verdicts.items()))
    return Reply("Yes" if any(verdicts.values()) else "No")


def _searcher(knows: Knowing, request: Request) -> Reply:
    asked = _asked(request)
    places = _field(asked, "Left: ").split(", ")
    return Reply(", ".join(knows.searched(_field(asked, "Looking for: "), places)[:8]))


# OPEx's observer and executor.


def _observer(knows: Knowing, request: Request) -> Reply:
    """Where the robot is, what it holds, where the things are that the objective names, and how it went."""
    del knows
    asked = _asked(request)
    room, here, held, note = (
        _field(asked, label) for label in ("Room type: ", "In front of the robot: ", "Holding: ", "Last action: ")
    )
    aim = _field(asked, "Objective: ")
    wanted = set(re.findall(r"[a-z]+", aim))
    found = [each.rstrip(")") for each in _field(asked, "Found so far: ").split("), ") if wanted.intersection(each.split())]
    at = here if aim == objective(SURVEY) else here.partition(":")[0]
    known = f" {', '.join(f'{each})' for each in found)}." if found else ""
    return Reply(f"Observation: The robot is in a {room} at {at}, holding {held}.{known} Its last action: {note}.")


def _executor(knows: Knowing, request: Request) -> Reply:
    """The skill that the objective names, until it is done; the plan is made again where it fails."""
    asked = _asked(request)
    aim, failed = _field(asked, "Current objective: "), _field(asked, "Last action: ").startswith("it failed")
    before = [message.content for message in request.messages if message.role == "assistant"]
    steps = {objective(step): skill for step, skill in planned_steps(map(as_skill, with_ways(knows.whole)), survey=False)}
    if aim == objective(SURVEY):
        skill = Skill("explore") if len(before) < LOOKS and not failed else None
    elif aim in steps:
        if before and failed:
            return Reply(f"Thought: {_field(asked, 'Last action: ')}\nAction: Play[RequireReplan, None]")
        skill = None if before else steps[aim]
    else:
        # The whole task is the objective. What was found or reached is not looked for again.
        left = [skill for skill in _skills(knows) if not before or _called(skill) != before[-1]]
        skill = next(iter(left), None)
    return Reply(_called(skill) if skill else "Thought: This objective is reached\nAction: Finish[yes]")


def _called(skill: Skill) -> str:
    """The executor's call of a skill."""
    target = skill.receptacle if skill.verb in {"put", "go"} else skill.object
    name = {"find": "NavigateTo", "go": "NavigateTo"}.get(skill.verb, skill.verb.capitalize())
    return f"Thought: For this I {skill.text}\nAction: Play[{name}, {target}]"


def _skills(knows: Knowing) -> tuple[Skill, ...]:
    """The skills that are left."""
    return tuple(map(as_skill, with_ways(knows.left())))


# What prompts say.


def _asked(request: Request) -> str:
    return request.messages[-1].content


def _part(knows: Knowing, request: Request) -> str | None:
    """The part of the goal that is shown as the task (PET); None where all of it is."""
    task = _field(request.messages[1].content, "\nTask: ")
    return task if task in subtasks_of_goal(knows.goal) else None


def _begun(request: Request) -> bool:
    """Whether the role was asked before."""
    return any(message.role == "assistant" for message in request.messages)


def _field(text: str, label: str) -> str:
    """What stands behind the last ``label``, up to the end of its line."""
    return text.rpartition(label)[2].partition("\n")[0]


def _parts(knows: Knowing) -> str:
    """What is left, in words."""
    return ", then ".join(map(subtask_words, knows.left()))


def _needs(knows: Knowing) -> str:
    places = dict.fromkeys(one.place or one.object for one in with_ways(knows.whole) if one.action in {"go", "use"})
    return f"it is about the {knows.goal.object}; besides that it takes the {' and the '.join(map(str, places))}"


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


_ROLES: Mapping[tuple[str, str], Answering] = {
    ("housequest.agent.agents.react", "react"): _react,
    ("housequest.agent.agents.react.window", "window"): _window,
    ("housequest.agent.agents.react.exemplars", "frame"): _line,
    ("housequest.agent.agents.reasoner_actor", "reasoner"): _reasoner,
    ("housequest.agent.agents.reasoner_actor", "actor"): _actor,
    ("housequest.agent.agents.lota", "selector"): _selector,
    ("housequest.agent.agents.opex", "opex_planner"): _opex_planner,
    ("housequest.agent.agents.opex", "opex_observer"): _observer,
    ("housequest.agent.agents.opex", "opex_executor"): _executor,
    ("housequest.agent.agents.pet", "subtasks"): _subtasks,
    ("housequest.agent.agents.pet", "tracker"): _tracker,
    ("housequest.agent.agents.pet", "eliminator"): _eliminator,
    ("housequest.agent.agents.llm_planner", "llm_planner"): _llm_planner,
    ("housequest.agent.agents.socratic", "socratic_questioner"): _questioner,
    ("housequest.agent.agents.socratic", "socratic_decomposer"): _decomposer,
    ("housequest.agent.agents.socratic", "socratic_planner"): _socratic_planner,
    ("housequest.agent.agents.socratic", "socratic_advisor"): _advisor,
    ("housequest.agent.skills", "searcher"): _searcher,
}
"""The replies to each template of a prompt, by its package and name."""

TAUGHT = frozenset(package for package, _ in _ROLES)
"""The packages of prompts whose roles the expert can answer for."""


@cache
def _beginnings() -> tuple[tuple[str, Answering], ...]:
    """How the prompts of each role begin, the longest first."""
    found: list[tuple[str, Answering]] = []
    for (package, name), answering in _ROLES.items():
        sections = load_prompt(package, name).sections
        text = sections.get("system") or sections["opening"]
        found.append((text.partition("$")[0].strip(), answering))
    return tuple(sorted(found, key=lambda one: -len(one[0])))


def reply(knows: Knowing, request: Request) -> Reply:
    """What the expert says to ``request``. Raises ``ModelError`` where it does not know the role."""
    text = request.messages[0].content
    answering = next((answering for begins, answering in _beginnings() if text.startswith(begins)), None)
    if answering is None and "<action>" in text:
        answering = _window  # in verl-agent's words
    if answering is None:
        raise ModelError(f"The expert does not know who asks: {text[:60]!r}.")
    found = answering(knows, request)
    # A model that is held to the role's form begins thoughts and steps with a capital, so it learns to.
    return replace(found, text=_SENTENCE.sub(lambda begun: begun[1] + begun[2].upper(), found.text))
