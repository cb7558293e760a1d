"""OPEx: a planner breaks the task down, an observer describes the state, an executor picks skills (Shi et al., section 3).

The planner writes subtasks once, by chain of thought and with examples of similar tasks. For each subtask the executor picks
one skill after the other, each time from the observer's description of the state; its memory is the conversation about this
subtask, and ``Finish`` ends the subtask and clears it. A body (`housequest.agent.agents.bodies`) carries a skill out, one
command a turn without a call: in text by belief, with a camera as ALFRED's robot. The planner is asked again if the executor
asks for it or keeps repeating itself, if the plan ends before the task is done, and after a person's hint.

The paper's agent sees pixels, and its skills become motions. With a camera they do here, too; in text, observations replace the
detections, and commands the motions. The paper's planner gets the task alone; this one also the kinds of receptacle in a text's
opening. The paper has four lines on ALFWorld in table 2, and does not say how its skills were adapted to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from housequest.agent.agents.bodies import Body, BodyPlayer, SkillsMemory, SkillsPlayer, Told
from housequest.agent.agents.examples import make_example_selector
from housequest.agent.agents.opex import roles
from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Act, Decision, Emitter, GiveUp, Grants, Idle, ParseFailure, Turn
from housequest.agent.episodes import events
from housequest.agent.models.base import Message, Request
from housequest.agent.roles import company
from housequest.agent.roles.base import ask, load_prompt
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, asked, asked_before, told, with_ways
from housequest.agent.roles.messages import NOTHING, RoleMemory, emit_thought, numbered, planning
from housequest.agent.skills.controller import Done, Execute, Failed
from housequest.worlds.base import Observation, Transition
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.household.goals import Skill

if TYPE_CHECKING:
    from housequest.agent.agents.opex import OpexSettings


PACKAGE = "housequest.agent.agents.opex"
NOTHING_YET = "none yet"
AFRESH = "none since the plan was made again"
SURVEY = "explore the room to have a general idea of it"
UNSEEN = "Nothing was looked at yet."
NOTHING_NEW = "Nothing happened since."
ALREADY = "that was so already: go on to what is next, or say Finish[yes]"
CARRIED_OUT = "the plan is carried out, and the task is not done"
MOST_SAME = 3
"""After the executor says the same this many times in a row without a command, the planner is asked, or the game given up."""
GENERAL_IDEA = 3  # After this many looks into the room, the executor is told that they are enough for a general idea of it.


@dataclass(frozen=True, slots=True)
class OpexMemory:
    """The memory of OPEx. ``state`` is the body's: its knowledge, and the skill in progress. The planner and the executor have
    not seen the transitions ``unplanned`` and ``unseen``. ``note`` says how the last skill went, ``described`` is the
    observer's last description for the current objective, and ``explored`` counts the looks into the room for it. ``shown`` are
    the known facts in the executor's last message, and ``idle`` its words since the last command. The planner has not heard the
    news ``untold``, and the executor those ``unheard``; ``says`` goes with the next command."""

    goal: str
    grants: Grants
    state: Any
    planner: RoleMemory
    executor: RoleMemory
    plan: tuple[str, ...] = ()
    step: int = 0
    revision: int = -1
    asked: int = 0
    note: str = NOTHING_YET
    described: str = UNSEEN
    explored: int = 0
    shown: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    unplanned: tuple[Transition, ...] = ()
    unseen: tuple[Transition, ...] = ()
    untold: tuple[str, ...] = ()
    unheard: tuple[str, ...] = ()
    says: tuple[str, ...] = ()


class Opex(BodyPlayer):
    """Plays by subtasks and skills; needs a chat model.

    Calls: 1 for the plan and for each revision; 1 for each skill and each ``Finish``, and 1 more of the observer if anything
    happened since its last call. Steps: one for each command of a skill. Admissible commands are not shown, since the model
    names skills. The observer's prompts do not grow, and the executor's start again with each subtask; within one it is told
    only changes. If the executor repeats itself without a command, the plan is made again, and in the end the game is given
    up."""

    name = "opex"

    def __init__(self, parts: AgentParts[OpexSettings], body: Body) -> None:
        self._model, self._sampling, self._settings = parts.model, parts.sampling, parts.settings
        self._body = body
        self.picture_size = body.picture_size
        self._examples = make_example_selector(parts.world, parts.settings, parts.seed)
        offered = {"LookAround": parts.settings.look_around, "Explore": parts.settings.explore}
        treats = parts.world.household is None or parts.world.household.commands.treat is not None
        offered |= dict.fromkeys(roles.TREATING, treats)
        self._library = {name: about for name, about in roles.SKILLS.items() if offered.get(name, True)}
        self._kinds = roles.kinds_in(parts.world)
        self._calls = roles.EXECUTOR.held_to(roles.executor_form(self._library))
        self._task_planner = roles.PLANNER.held_to(roles.planner_form(self._kinds))
        skills = "\n".join(f"{name}: {about}" for name, about in self._library.items())
        kinds = "\n".join(f"- {kind}" for type, kind in self._kinds.items() if type in parts.world.info.task_types)
        self._plans, self._observes, self._executes = (
            load_prompt(PACKAGE, f"opex_{role}") for role in ("planner", "observer", "executor")
        )
        survey = self._plans.render("survey") if parts.settings.explore else self._plans.render("straight")
        self._planner = Message("system", planning(self._plans.render("system", kinds=kinds, survey=survey), parts.world))
        self._observer = Message("system", self._observes.render("system"))
        self._executor = Message("system", planning(self._executes.render("system", skills=skills), parts.world))

    def begin(self, goal: str, observation: Observation, grants: Grants) -> OpexMemory:
        state = self._body.begin(observation, goal)
        return OpexMemory(goal, grants, state, RoleMemory((self._planner,)), RoleMemory((self._executor,)))

    async def decide(self, memory: OpexMemory, turn: Turn, emit: Emitter) -> tuple[Decision, OpexMemory]:
        # The model names skills, not commands.
        turn = replace(turn, admissible=None)
        unplanned, unseen = memory.unplanned + turn.transitions, memory.unseen + turn.transitions
        untold, unheard = memory.untold + turn.news, memory.unheard + turn.news
        memory = replace(await self.attend(memory, turn), unplanned=unplanned, unseen=unseen, untold=untold, unheard=unheard)
        hinted = bool(turn.hints)
        if hinted:
            # A hint ends the running skill, so that the model sees it at once.
            memory = replace(memory, state=self._body.start(memory.state, None), idle=())
        if memory.revision < 0 or (hinted and self._settings.on_hint and self._may_replan(memory)):
            reason = "the person beside the robot gave a hint" if memory.plan else "the episode begins"
            refusal, memory = await self._plan(memory, turn, reason, emit)
            if refusal is not None:
                return refusal, memory
        for left in range(self._settings.tries, -1, -1):
            if (running := memory.state.skill) is not None:
                outcome, state = await self._body.proceed(memory.state, memory.goal, emit, turn.rules)
                memory = replace(memory, state=state)
                if isinstance(outcome, Execute):
                    return Act(outcome.command, memory.says), replace(memory, idle=(), says=())
                memory = _noted(memory, running, outcome)
            if left == 0:
                break
            if over := self._over(memory):
                if not self._may_replan(memory):
                    return GiveUp(f"{over} after {memory.asked} revisions" if over == CARRIED_OUT else over), memory
                refusal, memory = await self._plan(memory, turn, over, emit)
                if refusal is not None:
                    return refusal, memory
            refusal, memory = await self._call(memory, turn, emit)
            if refusal is not None:
                return refusal, memory
            turn = replace(turn, hints=(), image=None)
        return Idle(f"asked {self._settings.tries} times, the executor named no skill that leads to a command"), memory

    def _over(self, memory: OpexMemory) -> str | None:
        """The reason why the plan cannot go on: the executor goes round in a circle, or the plan is at its end."""
        idle = memory.idle
        if len(idle) >= self._settings.tries or (len(idle) >= MOST_SAME and len({*idle[-MOST_SAME:]}) == 1):
            return f'the executor says "{idle[-1]}" again and again, and nothing comes of it'
        return CARRIED_OUT if memory.step >= len(memory.plan) else None

    def _may_replan(self, memory: OpexMemory) -> bool:
        return self._settings.planner and memory.asked < self._settings.revisions

    async def _plan(self, memory: OpexMemory, turn: Turn, reason: str, emit: Emitter) -> tuple[ParseFailure | None, OpexMemory]:
        if not self._settings.planner:
            return None, self._planned(memory, (memory.goal,), reason, emit)
        text = self._review(memory, reason) if memory.planner.started else await self._task(memory)
        turn = replace(turn, news=memory.untold)
        answer, planner = await memory.planner.ask(
            self._task_planner, self._model, text, turn, memory.grants, emit, self._sampling, company=company.HEARS
        )
        memory = replace(memory, planner=planner, asked=memory.asked + (memory.revision >= 0), unplanned=(), untold=())
        if answer.value is None:
            # The rest of the old plan can still be followed.
            return (None if memory.step < len(memory.plan) else ParseFailure(roles.PLANNER.name, answer.reason)), memory
        kind = f"Kind of task: {answer.value.kind}. " if answer.value.kind else ""
        emit_thought(roles.PLANNER.name, f"{kind}{answer.value.thought}".rstrip(" "), emit)
        return None, self._planned(memory, answer.value.steps, reason, emit)

    def _planned(self, memory: OpexMemory, steps: tuple[str, ...], reason: str, emit: Emitter) -> OpexMemory:
        revision = memory.revision + 1
        emit(events.Planned(role=roles.PLANNER.name, steps=steps, revision=revision, reason=reason))
        note = AFRESH if revision else memory.note
        return self._next_objective(replace(memory, plan=steps, revision=revision, idle=()), 0, note)

    def _next_objective(self, memory: OpexMemory, step: int, note: str) -> OpexMemory:
        """Go to the objective ``step``: what the executor and the observer said was about another one."""
        described = memory.described if memory.described == UNSEEN else NOTHING_NEW
        executor = RoleMemory((self._executor,))
        return replace(memory, step=step, note=note, executor=executor, described=described, explored=0, shown=())

    async def _task(self, memory: OpexMemory) -> str:
        prompt, told = self._plans, self._body.told(memory.state)
        chosen = await self._examples.choose(memory.goal, told.places)
        shown: list[str] = []
        for example in chosen:
            steps = planned_steps(example.subgoals(), survey=self._settings.explore)
            answer = planned(self._kinds.get(example.type, "another"), steps)
            shown.append(prompt.render("example", goal=example.goal, **answer))
        examples = prompt.render("examples", examples="\n\n".join(shown)) + "\n" if chosen else ""
        text = prompt.render("opening", examples=examples, room=told.room, places=_places(told), goal=memory.goal)
        return f"{text}\n\n{self._body.story(memory.state, memory.unplanned)}" if memory.unplanned else text

    def _review(self, memory: OpexMemory, reason: str) -> str:
        told = self._body.told(memory.state)
        return self._plans.render(
            "review",
            story=self._body.story(memory.state, memory.unplanned),
            known=f"It holds {told.held}. Found so far: {told.found}",
            note=memory.note,
            plan=numbered(memory.plan, 0),
            step=f"step {memory.step}" if memory.step < len(memory.plan) else "the end",
            reason=reason,
            goal=memory.goal,
        )

    async def _call(self, memory: OpexMemory, turn: Turn, emit: Emitter) -> tuple[ParseFailure | None, OpexMemory]:
        told = self._body.told(memory.state)
        known, objective = {"found": told.found, "here": told.here, "held": told.held}, memory.plan[memory.step]
        description = self._body.story(memory.state, memory.unseen)
        if not memory.unseen and turn.image is None:
            description = memory.described
        elif not self._settings.observer:
            memory = replace(memory, described=NOTHING_NEW)
        else:
            note = memory.note
            text = self._observes.render("user", story=description, room=told.room, note=note, objective=objective, **known)
            seen = await ask(roles.OBSERVER, self._model, (self._observer,), text, emit, self._sampling, image=turn.image)
            # If the description cannot be read, use the observations' text.
            description = seen.value or description
            emit_thought(roles.OBSERVER.name, seen.value or "", emit)
            turn, memory = replace(turn, image=None), replace(memory, described=description)
        lines = tuple(self._executes.render(one, **{one: text}) for one, text in known.items())
        # Leave out lines that an earlier message already has.
        fresh = "".join(f"{line}\n" for line in lines if line not in memory.shown)
        text = self._executes.render("user", observation=description, known=fresh, note=memory.note, objective=objective)
        memory = replace(memory, shown=lines)
        if not memory.executor.started:
            text = f"{self._executes.render('places', places=_places(told))}\n{text}"
        turn = replace(turn, news=memory.unheard)
        answer, executor = await memory.executor.ask(
            self._calls, self._model, text, turn, Grants(), emit, self._sampling, company=company.SPEAKS
        )
        memory, call = replace(memory, executor=executor, unseen=(), unheard=(), says=memory.says + answer.says), answer.value
        if call is None:
            return ParseFailure(roles.EXECUTOR.name, answer.reason), memory
        emit_thought(roles.EXECUTOR.name, call.thought, emit)
        if call.move == "finish" and call.done:
            if not self._settings.planner and memory.asked < self._settings.revisions:
                # Without a planner nobody says what is left; but the game goes on, so the task is not done.
                return None, replace(memory, asked=memory.asked + 1, note="the task is not done yet, as the world has it")
            if memory.step + 1 < len(memory.plan):
                emit(events.Progressed(role=roles.EXECUTOR.name, step=memory.step + 1))
            note = f"the objective before is finished: {memory.plan[memory.step]}"
            return None, self._next_objective(memory, memory.step + 1, note)
        memory = replace(memory, idle=(*memory.idle, " ".join((call.skill or call.move, *call.targets))))
        if call.move != "play":
            if not self._may_replan(memory):
                return None, replace(memory, note="the plan stays as it is; go on with it as well as you can")
            why = f"the executor requires it: {call.thought or 'it did not say why'}"
            return await self._plan(memory, turn, why, emit)
        if call.skill not in self._library:
            return None, replace(memory, note=f"it failed: there is no skill {call.skill}")
        return None, replace(memory, state=self._body.start(memory.state, call.as_skill()))


def _places(told: Told) -> str:
    return ", ".join(told.places) or NOTHING


def _noted(memory: OpexMemory, skill: Skill, outcome: Done | Failed) -> OpexMemory:
    if isinstance(outcome, Failed):
        return replace(memory, note=f"it failed: {outcome.reason}")
    if skill.verb != "explore":
        return replace(memory, note=f"{outcome.said}; {ALREADY}" if memory.idle else outcome.said)
    explored = memory.explored + 1
    enough = f"; {explored} looks are enough for a general idea of the room" if explored >= GENERAL_IDEA else ""
    return replace(memory, note=f"{outcome.said}{enough}", explored=explored)


def planned_steps(skills: Iterable[Skill], *, survey: bool) -> tuple[tuple[str, Skill], ...]:
    """The steps of a plan with ``skills``, in words; with a ``survey`` it begins as the paper's does (figure 3)."""
    steps = [(SURVEY, Skill("explore"))] if survey else []
    for skill in skills:
        again = skill.verb == "find" and any(skill == other for _, other in steps)
        text = skill.text.replace(skill.text.split()[1], "another", 1) if again else skill.text
        steps += [] if skill.verb == "go" else [(text, skill)]
    return tuple(steps)


def objective(step: str) -> str:
    """A step of a plan as the planner writes it."""
    return f"{step[0].upper()}{step[1:]}."


def planned(kind: str, steps: Sequence[tuple[str, Skill]]) -> dict[str, str]:
    """A planner's answer: the ``kind`` of task, a thought and the plan, for its template."""
    done = ", then ".join(step for step, _ in steps if step != SURVEY)
    plan = numbered([objective(step) for step, _ in steps], 0)
    return {"kind": kind, "thought": f"The robot has to {done}.", "plan": plan}


# OPEx with a camera and the annotated plan in place of its language models, to measure the action policy alone.


class OraclePlayer(SkillsPlayer):
    """OPEx's action policy with the annotated plan in place of planner, observer and executor."""

    role = "oracle"
    reason = "people annotated it"

    def begin(self, goal: str, observation: Observation, grants: Grants) -> SkillsMemory:
        if grants.plan is None:
            raise ConfigurationError("planner=oracle carries out the annotated plan, which is hidden; give --grant plan.")
        return SkillsMemory(grants.plan, self._body.begin(observation, goal))


# The expert's replies in these roles.

LOOKS = 2  # The expert looks into the room this many times for a general idea of it.


def _planner(knows: Demonstrator, request: Request) -> Reply:
    survey = str(load_prompt(PACKAGE, "opex_planner").sections["survey"]).strip()
    surveys = not asked_before(request) and bool(survey) and survey in request.messages[0].content
    answer = planned(roles.kinds_in(knows.world)[knows.goal.type], planned_steps(with_ways(knows.left()), survey=surveys))
    return Reply(f"Task type: {answer['kind']}\nThought: {answer['thought']}\nPlan:\n{answer['plan']}")


def _observer(_knows: Demonstrator, request: Request) -> Reply:
    """The robot's place, the held object, the places of things that the objective names, and the result of the last action."""
    question = asked(request)
    room, here, held, note = (
        told(question, label) for label in ("Room type: ", "In front of the robot: ", "Holding: ", "Last action: ")
    )
    aim = told(question, "Objective: ")
    wanted = set(re.findall(r"[a-z]+", aim))
    found = [each.rstrip(")") for each in told(question, "Found so far: ").split("), ") if wanted.intersection(each.split())]
    at = here if aim == objective(SURVEY) else here.partition(":")[0]
    known = f" {', '.join(f'{each})' for each in found)}." if found else ""
    return Reply(f"Observation: The robot is in a {room} at {at}, holding {held}.{known} Its last action: {note}.")


def _executor(knows: Demonstrator, request: Request) -> Reply:
    """The skill that the objective names, until it is done; if it fails, ask for another plan."""
    aim, note = (told(asked(request), label) for label in ("Current objective: ", "Last action: "))
    failed = note.startswith("it failed")
    before = [message.content for message in request.messages if message.role == "assistant"]
    whole = planned_steps(with_ways(knows.goal.steps()), survey=False)
    steps = {objective(step): skill for step, skill in whole}
    if aim == objective(SURVEY):
        skill = Skill("explore") if len(before) < LOOKS and not failed else None
    elif aim in steps:
        if before and failed:
            return Reply(f"Thought: {note}\nAction: Play[RequireReplan, None]")
        skill = None if before else steps[aim]
    else:
        # The whole task is the objective. Things that were found or reached are not searched again.
        skill = next((skill for skill in with_ways(knows.left()) if not before or _called(skill) != before[-1]), None)
    return Reply(_called(skill) if skill else "Thought: This objective is reached\nAction: Finish[yes]")


def _called(skill: Skill) -> str:
    target = skill.receptacle if skill.verb in {"put", "go"} else skill.object
    name = {"find": "NavigateTo", "go": "NavigateTo"}.get(skill.verb, skill.verb.capitalize())
    return f"Thought: For this I {skill.text}\nAction: Play[{name}, {target}]"


ROLES = (
    DemonstratedRole(PACKAGE, "opex_planner", _planner),
    DemonstratedRole(PACKAGE, "opex_observer", _observer),
    DemonstratedRole(PACKAGE, "opex_executor", _executor),
)
