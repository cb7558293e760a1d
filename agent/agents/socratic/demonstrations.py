"""What an expert replies as the roles of the Socratic Planner: questions with answers, subgoals, and why one failed."""

from __future__ import annotations

from housequest.agent.agents.socratic.roles import PACKAGE, Exchange, dialogue_text, numbered_subgoals
from housequest.agent.models.base import Request
from housequest.agent.roles.demonstrations import (
    DemonstratedRole,
    Demonstrator,
    Reply,
    asked,
    asked_before,
    left_in_words,
    sentence,
    told,
    with_ways,
)
from housequest.agent.roles.subgoals import as_subgoal, without_navigation
from housequest.agent.skills.skill import as_skill


def _questioner(knows: Demonstrator, request: Request) -> Reply:
    """What a plan needs to know: the parts, their order, what each is about, and how it is done."""
    del request
    goal, parts = knows.goal, left_in_words(knows)
    answers = {
        "Which sub-tasks does the task consist of?": sentence(parts),
        "In which order do they have to be done, and why?": f"In this order: {parts}. Each needs what the one before did.",
        "Which object is it about, and what else is needed?": sentence(_needs(knows)),
    }
    if goal.count > 1:
        answers["Can both be carried at once?"] = f"No: one {goal.object} is put down before the other is taken."
    answers["How exactly is each carried out?"] = sentence("; ".join(dict.fromkeys(_ways(knows))))
    return Reply(dialogue_text([Exchange(question, answer) for question, answer in answers.items()]))


def _decomposer(knows: Demonstrator, request: Request) -> Reply:
    del request
    parts, ways = left_in_words(knows), ", then ".join(_ways(knows))
    return Reply(f"The task takes these sub-tasks: {parts}. {sentence(_needs(knows))} So I {ways}.")


def _planner(knows: Demonstrator, request: Request) -> Reply:
    plan = f"Plan:\n{numbered_subgoals(without_navigation(map(as_subgoal, with_ways(knows.left()))))}"
    return Reply(f"Change: What is left is to {left_in_words(knows)}.\n{plan}" if asked_before(request) else plan)


def _advisor(knows: Demonstrator, request: Request) -> Reply:
    """A subgoal is valid if it is still to be done; what failed was not found yet."""
    question = asked(request)
    label = "the subgoal (" if "It tried the subgoal (" in question else "The subgoal ("
    failed = told(question, label).partition(")")[0]
    still = {numbered_subgoals([as_subgoal(one)]).removeprefix("1. (").removesuffix(")") for one in with_ways(knows.left())}
    if "Valid: yes or no" in question:
        return Reply(f"Valid: {'yes' if failed in still else 'no'}")
    unseen = sum(one.contents is None for one in knows.scene.belief.receptacles)
    where = f"there are {unseen} places that were not looked into yet" if unseen else "every place was looked into"
    why = f"it has not come to that yet, and {where}" if failed in still else "it is done already, or not part of the task"
    return Reply(f"Cause: {sentence(why)}")


def _ways(knows: Demonstrator) -> list[str]:
    """The skills that the whole goal takes, in words."""
    return [as_skill(one).text for one in with_ways(knows.goal.steps())]


def _needs(knows: Demonstrator) -> str:
    needed = (one.place or one.object for one in with_ways(knows.goal.steps()) if one.action in {"go", "use"})
    places = " and the ".join(map(str, dict.fromkeys(needed)))
    return f"it is about the {knows.goal.object}; besides that it takes the {places}"


ROLES = (
    DemonstratedRole(PACKAGE, "socratic_questioner", _questioner),
    DemonstratedRole(PACKAGE, "socratic_decomposer", _decomposer),
    DemonstratedRole(PACKAGE, "socratic_planner", _planner),
    DemonstratedRole(PACKAGE, "socratic_advisor", _advisor),
)
