"""Carries a skill out, one text command at a time, from belief alone.

It keeps no list of future commands: each is decided from the present belief, so it does not matter who chose the one before. A
person who plays another command changes the belief, and the skill goes on from there; one who does the skill's work completes
it. A skill remembers which of its commands taught nothing, and does not repeat them.

    state = controller.begin(opening, goal)
    state = controller.start(state, Skill("find", "mug"))
    outcome, state = controller.next(state)               # Execute("go to shelf 1"), Done(...) or Failed(...)
    state = controller.observe(state, turn.transitions)   # whatever was executed, whoever chose it
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from housequest.agent.base import Emitter, Grants, Turn
from housequest.agent.models.base import Message, Model, Request
from housequest.agent.models.forms import Choice, Form, Listed
from housequest.agent.roles.base import ReplyError, Role, Sampling, ask, load_prompt
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, asked, told
from housequest.agent.roles.messages import additions, emit_rules, emit_thought, seen_in
from housequest.agent.roles.reading import found_json
from housequest.agent.skills.naming import ALIKE, kinds_ending, matches, named_places, resolve
from housequest.agent.skills.searching import ToldPrior
from housequest.agent.skills.skill import (
    ALONE,
    ControllerState,
    Done,
    Execute,
    Failed,
    GroundedSkill,
    Outcome,
    PlannerSearch,
    SkillProgress,
    TaskTerms,
)
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Transition
from housequest.worlds.errors import nearest, shown
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief, Item, kind
from housequest.worlds.household.counts import Counts, drawn, salt_of
from housequest.worlds.household.goals import APPLIANCES, AT_RECEPTACLE, Skill

MOST_COMMANDS = 100
MOST_WORDS = 200
MOST_PLACED = 200
MOST_HINTS = 8
_TWO = frozenset({"two", "both", "pair", "another"})  # Words for two of a kind, used if the task cannot be read.


class Controller:
    """Turns skills into commands, for worlds whose texts ``household`` reads.

    ``search`` is the order of places: the likeliest first, as counted over a training split; random by ``seed``; by name; or
    as answered by ``model``, which names up to `MOST_NAMED` places at a time (at random if its answer is unreadable). With
    ``near``, an action on a distant thing fails, as in LoTa-Bench (section 4); else the skill goes there first. A skill
    fails after ``most`` commands."""

    def __init__(
        self,
        household: Household,
        model: Model | None = None,
        sampling: Sampling | None = None,
        *,
        search: PlannerSearch = "counts",
        seed: int = 0,
        near: bool = False,
        most: int = MOST_COMMANDS,
    ) -> None:
        self._household, self._model, self._sampling = household, model, sampling or Sampling()
        known = household.counts()
        self._objects = frozenset(known.objects())
        self._treating = any(f"{treatment}able" in can for can in known.can.values() for treatment in APPLIANCES)
        self._places = frozenset(place for room in known.rooms.values() for place in room.receptacles)
        self._standing = self._places - frozenset(known.rooms)
        self._counts: Counts | None = known if search == "counts" else None
        self._search, self._seed = search, seed
        self._near = near
        self._most = most

    def begin(self, opening: Observation, goal: str = "") -> ControllerState:
        words = re.findall(r"[a-z]+", goal[:10_000].lower())[:MOST_WORDS]
        belief = opening.belief or Belief()
        several = self._household.read_goals(goal, sorted(belief.kinds))
        read = several[0] if len(several) == 1 and self._treating else None
        salt = salt_of(self._seed, (one.name for one in belief.receptacles)) if self._search in {"random", "llm"} else ""
        # Things stay where they are put down if nothing is treated there, or if each skill is the planner's own.
        bringing = self._near or not self._treating or not _TWO.isdisjoint(words)
        two = len(several) > 1 or (bringing if read is None else read.count > 1)
        return ControllerState(belief, TaskTerms(frozenset(words), read, two, salt))

    def observe(self, state: ControllerState, transitions: Iterable[Transition], hints: Sequence[str] = ()) -> ControllerState:
        """The state after these commands and ``hints``, which outdate the model's answers about places."""
        if hints:
            state = replace(state, guides={}, hints=(*state.hints, *hints)[-MOST_HINTS:])
        for one in transitions:
            before, after = state.belief, one.observation.belief or state.belief
            placed, put = state.placed - {*after.carried}, _put_down(before, after)
            if put and _brought(state.task, put, treating=self._treating) and len(placed) < MOST_PLACED:
                placed |= {put.name}
            progress = state.progress and self._after(state.progress, one, before, after)
            state = replace(state, belief=after, placed=placed, progress=progress)
        return state

    def _after(self, progress: SkillProgress, one: Transition, before: Belief, after: Belief) -> SkillProgress:
        if one.observation.accepted and _accomplished(progress.skill, one.command, before, after):
            return replace(progress, accomplished=True)
        if reached := self._reached(before, one):
            # From close by a refused command may work; going there again leads nowhere.
            vain = frozenset(command for command in progress.vain if not command.endswith(f" {reached}"))
            return replace(progress, vain=vain | {one.command}, explanation=None)
        if one.command == progress.issued and after == before:
            # The reason why it was refused: the diagnosis, or the world's own answer.
            answer = one.observation
            silent = answer.accepted or answer.text.strip() == self._household.commands.silence
            why = answer.explanation or (None if silent else answer.text)
            return replace(progress, vain=progress.vain | {one.command}, explanation=why)
        return progress

    def _reached(self, belief: Belief, one: Transition) -> str | None:
        """The object that the command went to, if it is beside no place."""
        reach = self._household.commands.reach
        if reach is None or not one.observation.accepted:
            return None
        gone = (item.name for item in belief.items if one.command == reach.format(thing=item.name))
        return next((name for name in gone if belief.receptacle(name) is None), None)

    def start(self, state: ControllerState, skill: Skill | None) -> ControllerState:
        """Start ``skill``, or none, in place of the one in progress. Its targets may be in a model's words."""
        if skill is None:
            return replace(state, progress=None)
        named, problem = self._named(state, skill)
        return replace(state, progress=SkillProgress(named, Failed(problem) if isinstance(problem, str) else problem))

    def next(self, state: ControllerState, told: ToldPrior | None = None) -> tuple[Outcome, ControllerState]:
        """The next step, searching by what rules ``told``; after `Done` and `Failed` the state's ``skill`` is None."""
        over, now = self.start(state, None), state.progress
        if now is None:
            return Failed("no skill is being carried out"), over
        if now.problem:
            return now.problem, over
        attempt = self._attempt(state, now, told)
        if said := attempt.done():
            place = attempt.place()
            going = now.skill.verb == "go" or (now.skill.verb == "find" and attempt.at_place())
            return Done(said), replace(over, stood=place or state.stood, sent=going and place is not None)
        if problem := attempt.problem():
            return Failed(problem), over
        if now.given >= self._most:
            return Failed(f"could not {now.skill.text} within {self._most} commands"), over
        command = next((command for command in attempt.commands() if command not in now.vain), None)
        if command is not None:
            return Execute(command), replace(state, progress=replace(now, issued=command, given=now.given + 1))
        if now.issued is None or now.issued not in now.vain:
            return Failed(attempt.nothing_left()), over
        why = f" {now.explanation}" if now.explanation else ""
        return Failed(f'could not {now.skill.text}: "{now.issued}" did nothing.{why}'), over

    def _attempt(self, state: ControllerState, progress: SkillProgress, told: ToldPrior | None = None) -> GroundedSkill:
        return GroundedSkill(state, progress, self._counts, self._near, self._household.commands, told)

    async def proceed(
        self, state: ControllerState, goal: str, emit: Emitter, rules: Sequence[Rule] = ()
    ) -> tuple[Outcome, ControllerState]:
        """Ask the model where to look if need be, showing it the ``rules`` about that; then `next`. A search by counts goes by
        the rules, too. Raises ``ModelError``."""
        now = state.progress
        if self._search == "llm" and now is not None and not now.problem and now.given < self._most:
            attempt = self._attempt(state, now)
            if places := attempt.lost():
                thing = kind(attempt.sought)
                told = [rule for rule in rules if rule.kind == "location" and thing in rule.objects]
                guide = await self._guide(state, thing, places, goal, told, emit)
                state = replace(state, guides={**state.guides, thing: guide})
        if self._counts is None or not any(rule.kind == "location" for rule in rules):
            return self.next(state)
        told = ToldPrior(self._counts, self._counts, rules, state.belief)
        outcome, after = self.next(state, told)
        if isinstance(outcome, Execute) and after.progress is not None:
            sought = kind(self._attempt(after, after.progress).sought)
            if (said := told.says_of_command(sought, outcome.command, state.belief)) is not None:
                emit_rules((said,), (), emit)
                emit_thought(NAME, f"{outcome.command}: {said.statement}", emit, said)
        return outcome, after

    async def _guide(
        self, state: ControllerState, thing: str, places: Sequence[str], goal: str, rules: Sequence[Rule], emit: Emitter
    ) -> tuple[str, ...]:
        assert self._model is not None
        prompt, turn = load_prompt(__package__ or "", NAME), Turn(0, 0, hints=state.hints, rules=tuple(rules))
        text = prompt.render("user", goal=goal, thing=thing, seen=seen_in(state.belief, places), left=", ".join(places))
        text += additions(turn, (), Grants(), first=False)
        emit_rules(rules, (), emit)
        system = Message("system", prompt.render("system", most=str(MOST_NAMED)))
        answer = await ask(reader_of(places), self._model, (system,), text, emit, self._sampling)
        if answer.value is not None:
            return answer.value
        emit_thought(NAME, f"where to look for the {thing} was not answered; it is looked for at random", emit)
        # Only a few at a time; then the model is asked again.
        return tuple(sorted(places, key=partial(drawn, state.task.salt))[:MOST_NAMED])

    # Resolving a planner's words in this house.

    def _named(self, state: ControllerState, skill: Skill) -> tuple[Skill, Failed | str | None]:
        if skill.verb in ALONE:
            return Skill(skill.verb), None
        if skill.verb == "go" and skill.receptacle is None:
            skill = replace(skill, receptacle=skill.object, object=None)
        place = self._place(state, skill.receptacle) if skill.receptacle else None
        if skill.receptacle and place is None:
            if skill.verb == "go" and self._thing(state, skill.receptacle):
                return self._named(state, Skill("find", skill.receptacle))
            what = "place or thing" if skill.verb == "go" else "place"
            return skill, self._missing(skill.receptacle, what, state.belief.kinds)
        if skill.verb in AT_RECEPTACLE:
            if place is None and skill.object:
                return self._named(state, Skill(skill.verb, receptacle=skill.object))
            return (Skill(skill.verb, receptacle=place), None) if place else (skill, f"it was not said what to {skill.verb}")
        return self._with_object(state, replace(skill, receptacle=place))

    def _with_object(self, state: ControllerState, skill: Skill) -> tuple[Skill, Failed | str | None]:
        if skill.object is None:
            if state.belief.held and skill.verb in {"put", "heat", "cool", "clean", "examine"}:
                return self._with_place(state, replace(skill, object=state.belief.held)), None
            return skill, f"it was not said what to {skill.verb}, and you hold nothing"
        thing, place = self._thing(state, skill.object), self._place(state, skill.object)
        if thing in (None, place) and place and skill.receptacle is None and skill.verb in {"put", "heat", "cool", "clean"}:
            # "put fridge" names the place and means the held object.
            return self._with_object(state, Skill(skill.verb, receptacle=place))
        named = place or thing if skill.verb in {"find", "examine"} else thing
        if named is None and place:
            return skill, _fixed(skill.verb, kind(place))
        if named is None:
            return skill, self._missing(skill.object, "thing", [one.kind for one in state.belief.items])
        return self._with_place(state, replace(skill, object=named)), None

    def _missing(self, said: str, what: str, known: Iterable[str]) -> Failed:
        if len(several := kinds_ending(said.lower(), set(known))) > 1:
            return Failed(f"{shown(said, 60)} may be the {' or the '.join(several)}; say which")
        reason = f"there is no {what} called {shown(said, 60)} here.{nearest(said.lower(), sorted(set(known)))}"
        # If the opening lists all places, a known kind of place will not be seen later.
        later = self._household.commands.reach is not None
        return Failed(reason, unknown=later or ("thing" in what and resolve(said, self._places) is None))

    def _with_place(self, state: ControllerState, skill: Skill) -> Skill:
        if skill.receptacle:
            return skill
        stood = state.stood if state.stood and state.belief.is_here(state.stood) else None
        if skill.verb in APPLIANCES and state.sent and stood:
            return replace(skill, receptacle=stood)
        return replace(skill, receptacle=stood or state.belief.at) if skill.verb == "put" else skill

    def _place(self, state: ControllerState, said: str) -> str | None:
        places, kinds = state.belief.receptacles, {*state.belief.kinds}
        # If the opening lists all places, any other is a mistake. Elsewhere the words for an unseen place may end in
        # the name of a seen one.
        hidden = self._household.commands.reach is not None and not self._near
        found = resolve(said, kinds | self._standing if hidden else kinds, {one.name for one in places})
        seen = found is not None and any(matches(one.name, found) for one in places)
        return found if seen or hidden else None

    def _thing(self, state: ControllerState, said: str) -> str | None:
        items, furniture = state.belief.items, {*state.belief.kinds}
        seen = {one.kind for one in items}
        # A goal may name a kind that no table and no text so far has.
        goal, words = state.task.goal, state.task.words
        meant = {name for name in (goal.object, goal.lamp) if name} if goal else set[str]()
        found = resolve(said, (seen | self._objects | meant) - (furniture - seen), {one.name for one in items})
        if found is None or kind(found) in words | seen:
            return found
        # If a planner says "mug" and the task "cup", the task's word counts.
        alike = [name for group in ALIKE if kind(found) in group for name in group & words]
        return alike[0] if len(alike) == 1 else found


def _put_down(before: Belief, after: Belief) -> Item | None:
    return next((after.item(name) for name in before.carried if name not in after.carried), None)


def _accomplished(skill: Skill, command: str, before: Belief, after: Belief) -> bool:
    """True if this command completed the skill, for skills that leave no trace in belief."""
    match skill.verb:
        case "put":
            item = _put_down(before, after)
            where = item.where if item else None
            right_place = where is not None and matches(where, skill.receptacle or where)
            return item is not None and matches(item.name, skill.object or item.name) and right_place
        case "slice":
            uncut = {one.name for one in before.items if not one.sliced}
            sliced = [one.name for one in after.items if one.sliced and (one.name in uncut or before.item(one.name) is None)]
            return any(matches(name, skill.object or name) for name in sliced)
        case "examine":
            verb, _, name = command.partition(" ")
            return verb == "examine" and matches(name, skill.object or name)
        case "look":
            return command.strip() == "look"
        case "explore":
            return len(after.unsearched) < len(before.unsearched)
        case _:
            return False


def _brought(task: TaskTerms, put: Item, *, treating: bool) -> bool:
    """True if this was one of two things that the task wants there, and not put there to be treated."""
    if not task.two or put.where is None:
        return False
    if task.goal is not None:
        return put.kind == task.goal.object and kind(put.where) == task.goal.receptacle
    return not treating or kind(put.where) not in APPLIANCES.values()


def _fixed(verb: str, place: str) -> str:
    """Say why a place cannot be picked up, switched on, heated or the like, and what can be done with it."""
    does = next((treatment for treatment, appliance in APPLIANCES.items() if appliance == place), None)
    can = f"hold a thing and {does} it with the {place}" if does else "things can be put there"
    doing = {"pick": "picked up", "use": "switched on", "put": "put anywhere", "slice": "sliced"}.get(verb, f"{verb}ed")
    return f"the {place} is a place that cannot be {doing}; {can}"


NAME = "searcher"
MOST_NAMED = 8  # Places to ask for in one answer; any further ones in it are not read.
REPLY_TOKENS = 512  # Room for a model that thinks before it answers; the names alone take about fifty.
_MOST_READ = 4_000
_ANSWER = re.compile(r"^[\W_]{0,20}(?:final |my )?answer\b[\s*_`]*[:：](?P<rest>.*)", re.IGNORECASE | re.MULTILINE | re.DOTALL)


def reader_of(places: Sequence[str]) -> Role[tuple[str, ...]]:
    """The role whose replies name some of ``places``; a kind of place stands for all of its kind."""
    form = Form((("places", Listed(Choice(tuple(places)), min(MOST_NAMED, len(places)), between=", ")),)) if places else None
    return Role(NAME, partial(_read, places), reply_tokens=REPLY_TOKENS, form=form)


def _read(places: Sequence[str], text: str) -> tuple[str, ...]:
    listed, said = found_json(text, "[", "]"), text[-_MOST_READ:]
    # A list that names no place, such as an empty one before the answer, says nothing.
    lists = ["\n".join(map(str, cast("list[object]", listed)))] if isinstance(listed, list) else []
    answers = (*lists, *reversed([said, *(found["rest"] for found in _ANSWER.finditer(said))]))
    found = next((named for answer in answers if (named := dict.fromkeys(named_places(places, answer)))), None)
    if not found:
        raise ReplyError("it names none of the places that are left.")
    return tuple(found)[:MOST_NAMED]


def _searcher(knows: Demonstrator, request: Request) -> Reply:
    places = told(asked(request), "Left: ").split(", ")
    return Reply(", ".join(knows.searched(told(asked(request), "Looking for: "), places)[:MOST_NAMED]))


ROLES = (DemonstratedRole("housequest.agent.skills", NAME, _searcher),)
