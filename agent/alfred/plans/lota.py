"""LoTa-Bench's planner on whole plans: one reply lists all skills (Choi et al., ICLR 2024, appendix D), in its own words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import dropwhile, takewhile

from housequest.agent.agents.lota.selector import BETWEEN, DONE, VERBS, fixed_skills
from housequest.agent.alfred.plans.planners import PlanProposal, PromptingPlanner
from housequest.agent.alfred.plans.pool import PlanTask
from housequest.agent.roles.base import ReplyError, Role, load_prompt
from housequest.agent.skills.skill import Skill, Verb
from housequest.worlds.alfred.plans import LONGEST_PLAN, ActionName, Plan, PlanStep
from housequest.worlds.alfworld.text import HOUSEHOLD

PACKAGE = "housequest.agent.agents.lota"

_VERBS: dict[ActionName, Verb] = {
    "GotoLocation": "find",
    "PickupObject": "pick",
    "PutObject": "put",
    "SliceObject": "slice",
    "CleanObject": "clean",
    "HeatObject": "heat",
    "CoolObject": "cool",
    "ToggleObject": "use",
}
_ACTIONS: dict[Verb, ActionName] = {verb: action for action, verb in _VERBS.items()}
"""What a skill means in a plan; opening and closing are implied there."""

_VERB = "|".join(VERBS)
_SKILL = re.compile(rf"(?:robot\s*:)?\s*(?:\d{{1,3}}\s*[.):])?\s*(?P<verb>{_VERB})\s+(?P<name>.+)", re.IGNORECASE)
_NAME = re.compile(r"[a-z]+")
_ARTICLES = frozenset({"a", "an", "the"})
_BEFORE_PLACES = frozenset({"at", "from", "in", "inside", "into", "on", "onto", "with"})
_AFTER_NAMES = frozenset({"and", "beside", "by", "down", "for", "near", "next", "that", "then", "to", "until", "which"})
_LONGEST_NAME = 40
_MOST_ITEMS = 200


def skills_of(plan: Plan) -> str:
    """A plan as the list of skills that LoTa's examples show; a thing is put where the robot went last."""
    skills: list[str] = []
    at: str | None = None
    for step in plan:
        if step.action == "PutObject" and step.receptacle != at:
            skills.append(Skill("find", step.receptacle).text)
        at = step.thing if step.action == "GotoLocation" else step.receptacle or at
        skills.append(Skill(_VERBS[step.action], step.thing).text)
    return " ".join(f"{number}. {skill}," for number, skill in enumerate(skills, 1)) + f" {len(skills) + 1}. {DONE}."


def read_skills(text: str) -> Plan:
    """Read a list of skills as a plan, up to "done"; what does not begin as a skill is left out. Raises ``ReplyError``."""
    plan: list[PlanStep] = []
    at = ""
    for item in BETWEEN.split(text, _MOST_ITEMS)[:_MOST_ITEMS]:
        said = item.strip()[:200]
        if len(words := _NAME.findall(said.lower())) <= 2 and words[-1:] == [DONE]:
            break
        found = _SKILL.match(said)
        action = _ACTIONS.get(VERBS[" ".join(found["verb"].lower().split())]) if found else None
        if found is None or action is None:
            continue
        name, place = _names(found["name"])
        if action == "GotoLocation":
            at = name
        # Before it went anywhere, what is put down goes nowhere: to a place of its own name.
        plan.append(PlanStep(action, name, (place or at or name) if action == "PutObject" else None))
    if not plan:
        raise ReplyError("there is no skill of the list in it.")
    if len(plan) > LONGEST_PLAN:
        raise ReplyError(f"a list of {len(plan)} skills does not end; at most {LONGEST_PLAN} are read.")
    return tuple(plan)


def _names(text: str) -> tuple[str, str]:
    """The thing that a skill names, and the place if it names one: "the mug in the coffee machine"."""
    words = [word for word in _NAME.findall(text.lower()) if word not in _ARTICLES]
    behind = dropwhile(_BEFORE_PLACES.__contains__, dropwhile(lambda word: word not in _BEFORE_PLACES, words))
    return _name(words), _name(behind)


def _name(words: Iterable[str]) -> str:
    return "".join(takewhile(lambda word: word not in _BEFORE_PLACES | _AFTER_NAMES, words))[:_LONGEST_NAME]


SKILL_LIST: Role[Plan] = Role("skill_list", read_skills, stop=("\nHuman:",))


class LotaPlanner(PromptingPlanner):
    """Asks for the whole list of skills at once, with examples in their words; one call, or two if it cannot be read."""

    async def plan(self, task: PlanTask) -> PlanProposal:
        own, prompt, asking = self.settings, load_prompt(PACKAGE, "selector"), self.asking()
        skills = ", ".join((*(skill.text for skill in fixed_skills(HOUSEHOLD).skills), DONE))
        system = f"{prompt.render('system')}\n{prompt.render('whole', skills=skills)}"
        shown = [
            prompt.render("example", goal=one.instruction.text(stepwise=own.steps), skills=skills_of(one.demonstration.plan))
            for one in await self.shots(task)
        ]
        goal = prompt.render("opening", goal=task.instruction.text(stepwise=own.steps))
        answer = await asking.ask(SKILL_LIST, system, "\n".join((*shown, goal, prompt.render("first"))))
        return asking.proposal(answer.value, answer.reason)
