"""The planner that asks for a list of skills with the prompts of LoTa-Bench's agent, from the part lota."""

from __future__ import annotations

import re
from itertools import dropwhile, takewhile

from housequest.agent.agents.lota.selector import BETWEEN, DONE, VERBS, fixed_skills
from housequest.agent.roles.base import ReplyError, Role, load_prompt
from housequest.worlds.alfred import model as alfred
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.household.goals import Skill, Verb

LOTA = "housequest.agent.agents.lota"
_VERBS: dict[alfred.ActionName, Verb] = {
    **{"GotoLocation": "find", "PickupObject": "pick", "PutObject": "put", "SliceObject": "slice", "ToggleObject": "use"},
    **{"CleanObject": "clean", "HeatObject": "heat", "CoolObject": "cool"},
}
_ACTIONS: dict[Verb, alfred.ActionName] = {verb: action for action, verb in _VERBS.items()}
"""The action of each skill; plans leave opening and closing out."""
_VERB = "|".join(VERBS)
_SKILL = re.compile(rf"(?:robot\s*:)?\s*(?:\d{{1,3}}\s*[.):])?\s*(?P<verb>{_VERB})\s+(?P<name>.+)", re.IGNORECASE)
_NAME = re.compile(r"[a-z]+")
_ARTICLES = frozenset({"a", "an", "the"})
_BEFORE_PLACES = frozenset({"at", "from", "in", "inside", "into", "on", "onto", "with"})
_AFTER_NAMES = frozenset({"and", "beside", "by", "down", "for", "near", "next", "that", "then", "to", "until", "which"})
_LONGEST_NAME = 40
_MOST_ITEMS = 200


def skills_of(plan: alfred.Plan) -> str:
    """A plan as a list of skills, as in LoTa's examples; an object is put at the place where the robot went last."""
    skills: list[str] = []
    at: str | None = None
    for step in plan:
        if step.action == "PutObject" and step.receptacle != at:
            skills.append(Skill("find", step.receptacle).text)
        at = step.thing if step.action == "GotoLocation" else step.receptacle or at
        skills.append(Skill(_VERBS[step.action], step.thing).text)
    return " ".join(f"{number}. {skill}," for number, skill in enumerate(skills, 1)) + f" {len(skills) + 1}. {DONE}."


def read_skills(text: str) -> alfred.Plan:
    """Read a list of skills as a plan, up to "done", and skip items that are no skills. Raises ``ReplyError``."""
    plan: list[alfred.PlanStep] = []
    at = ""
    for item in BETWEEN.split(text, _MOST_ITEMS)[:_MOST_ITEMS]:
        said = item.strip()[:200]
        if len(words := _NAME.findall(said.lower())) <= 2 and words[-1:] == [DONE]:
            break
        found = _SKILL.match(said)
        action = _ACTIONS.get(VERBS[" ".join(found["verb"].lower().split())]) if found else None
        if found is None or action is None:
            continue
        # The object that a skill names, and its place if given: "the mug in the coffee machine".
        words = [word for word in _NAME.findall(found["name"].lower()) if word not in _ARTICLES]
        behind = dropwhile(_BEFORE_PLACES.__contains__, dropwhile(lambda word: word not in _BEFORE_PLACES, words))
        name, place = (
            "".join(takewhile(lambda word: word not in _BEFORE_PLACES | _AFTER_NAMES, some))[:_LONGEST_NAME]
            for some in (words, behind)
        )
        if action == "GotoLocation":
            at = name
        # Without an earlier place, the object's own name stands for one, and the step is refused later.
        plan.append(alfred.PlanStep(action, name, (place or at or name) if action == "PutObject" else None))
    if not plan:
        raise ReplyError("there is no skill of the list in it.")
    if len(plan) > alfred.LONGEST_PLAN:
        raise ReplyError(f"a list of {len(plan)} skills does not end; at most {alfred.LONGEST_PLAN} are read.")
    return tuple(plan)


SKILL_LIST: Role[alfred.Plan] = Role("skill_list", read_skills, stop=("\nHuman:",))


def list_instructions() -> str:
    """The beginning of the prompt, before all examples: the task and the known skills."""
    prompt, skills = load_prompt(LOTA, "selector"), fixed_skills(HOUSEHOLD).skills
    listed = ", ".join((*(skill.text for skill in skills), DONE))
    return f"{prompt.render('system')}\n{prompt.render('whole', skills=listed)}"
